/* The portfolio as a whole: always right, never behind a classical algorithm, the same every time. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>

#include <cmocka.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "algorithms/portfolio.h"
#include "pccl/bound.h"
#include "pccl/place.h"
#include "replay.h"
#include "sanitized.h"

static struct pccl_topology *make_topology(const char *text)
{
    struct pccl_topology *topology;
    struct pccl_error error;
    if (pccl_topology_create(text, &topology, &error) != 0) {
        fail_msg("%s: %s", text, error.message);
    }
    return topology;
}

static uint32_t own_devices[64]; /* rank = device */

static struct pccl_request make_request(enum pccl_collective collective, uint32_t num_ranks, int64_t bytes)
{
    for (uint32_t i = 0; i < 64; i++) {
        own_devices[i] = i;
    }
    return (struct pccl_request){.collective = collective, .num_ranks = num_ranks, .devices = own_devices,
                                 .bytes = bytes};
}

static struct pccl_result *synthesize(const struct pccl_topology *topology, const struct pccl_request *request,
                                      enum pccl_effort effort)
{
    struct pccl_options options = {.effort = effort};
    struct pccl_result *result;
    struct pccl_error error;
    if (pccl_synthesize(topology, request, &options, &result, &error) != 0) {
        fail_msg("%s, %s, %u ranks: %s", topology->name, pccl_collective_name(request->collective), request->num_ranks,
                 error.message);
    }
    return result;
}

/* --- two ranks ---------------------------------------------------------------------------------------------------- */

static uint32_t num_steps(const struct pccl_schedule *schedule)
{
    return schedule->messages[schedule->num_messages - 1].step + 1;
}

/* What is minimal is also what comes out: one exchange, or one message from or to the root. */
static void test_two_ranks(void **state)
{
    (void)state;
    static const struct {
        enum pccl_collective collective;
        int64_t bytes;
        uint32_t messages;
    } cases[] = {
        {PCCL_ALLREDUCE, 8, 2}, {PCCL_ALLREDUCE, 1048576, 2}, {PCCL_ALLGATHER, 8, 2}, {PCCL_ALLGATHER, 1048576, 2},
        {PCCL_ALLTOALL, 8, 2}, {PCCL_ALLTOALL, 1048576, 2}, {PCCL_BARRIER, 0, 2}, {PCCL_BROADCAST, 8, 1},
        {PCCL_BROADCAST, 1048576, 1}, {PCCL_REDUCE, 8, 1}, {PCCL_GATHER, 8, 1}, {PCCL_SCATTER, 8, 1},
        {PCCL_REDUCE_SCATTER, 8, 2}, {PCCL_REDUCE_SCATTER, 1048576, 2}, {PCCL_SCAN, 8, 1}, {PCCL_SCAN, 1048576, 1},
        {PCCL_EXSCAN, 8, 1}, {PCCL_EXSCAN, 1048576, 1},
    };
    struct pccl_topology *topology = make_topology("star:2");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct pccl_request request = make_request(cases[i].collective, 2, cases[i].bytes);
        for (int ordered = 0; ordered <= pccl_collective_is_reduction(cases[i].collective); ordered++) {
            request.ordered = ordered != 0;
            struct pccl_result *result = synthesize(topology, &request, PCCL_EFFORT_FIRST_USE);
            assert_int_equal(result->schedule->num_messages, cases[i].messages);
            assert_int_equal(num_steps(result->schedule), 1);
            pccl_result_free(result);
        }
    }
    pccl_topology_free(topology);
}

/* --- never behind ------------------------------------------------------------------------------------------------- */

static const char *const topologies[] = {
    "star:17", "ring:9", "mesh:4x4", "mesh:3x3", "torus:4x4", "torus:3x2x2", "hypercube:4", "fattree:4x4:taper=2",
    "fattree:3x3",
};

static const uint32_t counts[] = {2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 17};

/* The best makespan of any row in one piece or two. */
static int64_t best_row(const struct pccl_topology *topology, const struct pccl_request *request)
{
    struct pccl__problem problem;
    struct pccl_options options = {.effort = PCCL_EFFORT_THOROUGH};
    int64_t best = INT64_MAX;
    assert_int_equal(pccl__problem_open(&problem, topology, request, &options, NULL), 0);
    for (uint32_t row = 0; row < pccl__num_rows; row++) {
        for (uint32_t pieces = 1; pieces <= (pccl__rows[row].cut == PCCL__WHOLE ? 1u : 2u); pieces++) {
            struct pccl_schedule *schedule;
            struct pccl_simulation simulation = {0};
            if (pccl__row_make(&problem, row, pieces, &schedule, NULL) == 0) {
                assert_int_equal(pccl_simulate(topology, schedule, &simulation, NULL), 0);
                best = simulation.makespan_ps < best ? simulation.makespan_ps : best;
                pccl_schedule_free(schedule);
            }
        }
    }
    pccl__problem_close(&problem);
    return best;
}

/* Sums over all cases, in thousandths. */
struct tally {
    uint64_t cases, behind, worst_behind, gap_sum, worst_gap;
    char worst_case[200];
};

static void check_case(const struct pccl_topology *topology, const struct pccl_request *request, struct tally *tally)
{
    struct pccl_result *thorough = synthesize(topology, request, PCCL_EFFORT_THOROUGH);
    struct pccl_result *first_use = synthesize(topology, request, PCCL_EFFORT_FIRST_USE);
    int64_t best = best_row(topology, request);
    const char *wrong = replay(thorough->schedule, topology->num_devices);
    if (wrong == NULL) {
        wrong = replay(first_use->schedule, topology->num_devices);
    }
    if (wrong != NULL || thorough->makespan_ps > best) {
        fail_msg("%s, %s of %" PRId64 " bytes, %u ranks: %s takes %" PRId64 " ps, a row %" PRId64 " ps; %s",
                 topology->name, pccl_collective_name(request->collective), request->bytes, request->num_ranks,
                 thorough->schedule->method, thorough->makespan_ps, best, wrong != NULL ? wrong : "data are right");
    }
    uint64_t behind = (uint64_t)(first_use->makespan_ps * 1000 / thorough->makespan_ps);
    tally->cases++;
    tally->behind += behind > 1000;
    if (behind > tally->worst_behind) {
        tally->worst_behind = behind;
        snprintf(tally->worst_case, sizeof tally->worst_case, "%s, %" PRId64 " bytes, %u ranks: %s, not %s",
                 topology->name, request->bytes, request->num_ranks, first_use->schedule->method,
                 thorough->schedule->method);
    }
    struct pccl_bound bound;
    if (pccl_bound_compute(topology, request, &bound, NULL) == 0 && bound.bound_ps > 0) {
        assert_true(bound.bound_ps <= thorough->makespan_ps);
        uint64_t gap = (uint64_t)(thorough->makespan_ps * 1000 / bound.bound_ps);
        tally->gap_sum += gap;
        tally->worst_gap = gap > tally->worst_gap ? gap : tally->worst_gap;
    }
    pccl_result_free(first_use);
    pccl_result_free(thorough);
}

/* Under a sanitizer each group of each topology has one of the sizes. */
static void check_collective(enum pccl_collective collective)
{
    static const int64_t sizes[] = {8, 4096, 262144};
    const size_t num_sizes = collective == PCCL_BARRIER ? 1 : sizeof sizes / sizeof sizes[0];
    struct tally tally = {0};
    for (size_t t = 0; t < sizeof topologies / sizeof topologies[0]; t++) {
        struct pccl_topology *topology = make_topology(topologies[t]);
        for (size_t c = 0; c < sizeof counts / sizeof counts[0] && counts[c] <= topology->num_devices; c++) {
            for (size_t s = 0; s < num_sizes; s++) {
                struct pccl_request request = make_request(collective, counts[c], sizes[s]);
                if (!is_sanitized || (t + c) % num_sizes == s) {
                    check_case(topology, &request, &tally);
                }
            }
        }
        pccl_topology_free(topology);
    }
    print_message("%s: %" PRIu64 " cases; makespan / bound %.3f on average, %.3f at worst; first use behind in %" PRIu64
                  ", worst %.3f (%s)\n",
                  pccl_collective_name(collective), tally.cases, (double)tally.gap_sum / 1000 / (double)tally.cases,
                  (double)tally.worst_gap / 1000, tally.behind, (double)tally.worst_behind / 1000, tally.worst_case);
    assert_true(tally.worst_behind <= 1500);
}

static void test_allgather(void **state)
{
    (void)state;
    check_collective(PCCL_ALLGATHER);
}

static void test_allreduce(void **state)
{
    (void)state;
    check_collective(PCCL_ALLREDUCE);
}

static void test_alltoall(void **state)
{
    (void)state;
    check_collective(PCCL_ALLTOALL);
}

static void test_scans(void **state)
{
    (void)state;
    check_collective(PCCL_SCAN);
    check_collective(PCCL_EXSCAN);
}

static void test_barrier(void **state)
{
    (void)state;
    check_collective(PCCL_BARRIER);
}

static void test_broadcast_and_reduce(void **state)
{
    (void)state;
    check_collective(PCCL_BROADCAST);
    check_collective(PCCL_REDUCE);
}

static void test_gather_and_scatter(void **state)
{
    (void)state;
    check_collective(PCCL_GATHER);
    check_collective(PCCL_SCATTER);
}

static void test_reduce_scatter(void **state)
{
    (void)state;
    check_collective(PCCL_REDUCE_SCATTER);
}

/* --- requests ----------------------------------------------------------------------------------------------------- */

static void test_direct(void **state)
{
    (void)state;
    struct pccl_topology *topology = make_topology("torus:4x3");
    const enum pccl_collective served[] = {PCCL_ALLGATHER, PCCL_ALLTOALL, PCCL_GATHER, PCCL_SCATTER,
                                           PCCL_REDUCE_SCATTER};
    for (size_t i = 0; i < sizeof served / sizeof served[0]; i++) {
        struct pccl_request request = make_request(served[i], 11, 4096);
        request.direct = true;
        struct pccl_result *result = synthesize(topology, &request, PCCL_EFFORT_FIRST_USE);
        bool rooted = pccl_collective_is_rooted(served[i]);
        assert_int_equal(result->schedule->num_messages, rooted ? 10 : 110);
        pccl_result_free(result);
    }
    pccl_topology_free(topology);
}

/* Some blocks empty, one large. */
static void test_unequal_blocks(void **state)
{
    (void)state;
    struct pccl_topology *topology = make_topology("mesh:3x3");
    int64_t blocks[81] = {0};
    blocks[1] = 100000;
    blocks[5] = 3;
    blocks[44] = 70000;
    const enum pccl_collective served[] = {PCCL_ALLGATHER, PCCL_ALLTOALL, PCCL_GATHER, PCCL_SCATTER,
                                           PCCL_REDUCE_SCATTER};
    for (size_t i = 0; i < sizeof served / sizeof served[0]; i++) {
        struct pccl_request request = make_request(served[i], 9, 0);
        request.block_bytes = blocks;
        struct pccl_result *result = synthesize(topology, &request, PCCL_EFFORT_FIRST_USE);
        assert_null(replay(result->schedule, 9));
        pccl_result_free(result);
    }
    pccl_topology_free(topology);
}

/* Ranks that only reach their neighbours; the fallback relays through members. */
static void test_no_routing(void **state)
{
    (void)state;
    struct pccl_topology_builder *builder = pccl_topology_builder_new("line");
    for (uint32_t i = 0; i < 7; i++) {
        char name[8];
        snprintf(name, sizeof name, "d%u", i);
        assert_int_equal(pccl_topology_add_device(builder, name), i);
    }
    for (uint32_t i = 0; i + 1 < 7; i++) {
        pccl_topology_add_link(builder, i, i + 1, 1000, 1000000, PCCL_NONE);
        pccl_topology_add_link(builder, i + 1, i, 1000, 1000000, PCCL_NONE);
    }
    pccl_topology_set_routing(builder, PCCL_ROUTING_NONE);
    struct pccl_topology *topology;
    assert_int_equal(pccl_topology_finish(builder, &topology, NULL), 0);
    for (int collective = 0; collective < PCCL_CUSTOM; collective++) {
        struct pccl_request request = make_request((enum pccl_collective)collective, 7, 999);
        request.root = pccl_collective_is_rooted(request.collective) ? 3 : 0;
        struct pccl_result *result = synthesize(topology, &request, PCCL_EFFORT_FIRST_USE);
        assert_null(replay(result->schedule, 7));
        pccl_result_free(result);
    }
    uint32_t apart[] = {0, 2, 4};
    struct pccl_request request = make_request(PCCL_ALLGATHER, 3, 8);
    request.devices = apart;
    struct pccl_result *result = NULL;
    struct pccl_error error = {{0}};
    int status = pccl_synthesize(topology, &request, NULL, &result, &error);
    assert_true(status == PCCL_ERR_UNSUPPORTED || status == PCCL_ERR_UNREACHABLE);
    assert_null(result);
    assert_true(error.message[0] != '\0');
    pccl_topology_free(topology);
}

static void expect_error(const struct pccl_topology *topology, const struct pccl_request *request,
                         const struct pccl_options *options, int expected, const char *words)
{
    struct pccl_result *result = NULL;
    struct pccl_error error = {{0}};
    assert_int_equal(pccl_synthesize(topology, request, options, &result, &error), expected);
    assert_null(result);
    if (strstr(error.message, words) == NULL) {
        fail_msg("\"%s\" lacks \"%s\"", error.message, words);
    }
}

static void test_errors(void **state)
{
    (void)state;
    struct pccl_topology *topology = make_topology("star:4");
    struct pccl_request request = make_request(PCCL_BROADCAST, 4, 8);
    request.root = 4;
    expect_error(topology, &request, NULL, PCCL_ERR_INVALID, "root 4");
    request = make_request(PCCL_ALLGATHER, 1, 8);
    expect_error(topology, &request, NULL, PCCL_ERR_INVALID, "1 ranks");
    request = make_request(PCCL_ALLGATHER, 5, 8);
    expect_error(topology, &request, NULL, PCCL_ERR_INVALID, "5 ranks");
    request = make_request(PCCL_ALLGATHER, 3, -1);
    expect_error(topology, &request, NULL, PCCL_ERR_INVALID, "-1");
    uint32_t outside[] = {0, 1, 9};
    request = make_request(PCCL_ALLGATHER, 3, 8);
    request.devices = outside;
    expect_error(topology, &request, NULL, PCCL_ERR_INVALID, "device 9");
    uint32_t twice[] = {0, 1, 1};
    request.devices = twice;
    expect_error(topology, &request, NULL, PCCL_ERR_INVALID, "1");
    request = make_request(PCCL_CUSTOM, 3, 8);
    expect_error(topology, &request, NULL, PCCL_ERR_INVALID, "pattern");
    request = make_request((enum pccl_collective)99, 3, 8);
    expect_error(topology, &request, NULL, PCCL_ERR_INVALID, "99");
    request = make_request(PCCL_ALLGATHER, 3, 8);
    struct pccl_options options = {.method = "nonsense"};
    expect_error(topology, &request, &options, PCCL_ERR_UNSUPPORTED, "allgather");
    pccl_topology_free(topology);
}

/* --- results ------------------------------------------------------------------------------------------------------ */

static void test_candidates(void **state)
{
    (void)state;
    struct pccl_topology *topology = make_topology("mesh:4x4");
    struct pccl_request request = make_request(PCCL_ALLREDUCE, 16, 65536);
    struct pccl_result *result = synthesize(topology, &request, PCCL_EFFORT_THOROUGH);
    uint32_t winners = 0;
    for (uint32_t i = 0; i < result->num_candidates; i++) {
        const struct pccl_candidate *candidate = &result->candidates[i];
        if (candidate->rejection[0] == '\0') {
            winners++;
            assert_int_equal(candidate->makespan_ps, result->makespan_ps);
            assert_string_equal(candidate->method, result->schedule->method);
        }
        assert_true(candidate->makespan_ps == -1 || candidate->makespan_ps >= result->makespan_ps);
    }
    assert_int_equal(winners, 1);
    pccl_result_free(result);
    pccl_topology_free(topology);
}

static void test_method_filter(void **state)
{
    (void)state;
    struct pccl_topology *topology = make_topology("star:8");
    struct pccl_request request = make_request(PCCL_ALLGATHER, 8, 8);
    struct pccl_options options = {.effort = PCCL_EFFORT_THOROUGH, .method = "ring"};
    struct pccl_result *result;
    assert_int_equal(pccl_synthesize(topology, &request, &options, &result, NULL), 0);
    assert_true(result->num_candidates > 0);
    for (uint32_t i = 0; i < result->num_candidates; i++) {
        assert_memory_equal(result->candidates[i].method, "ring", 4);
    }
    pccl_result_free(result);
    pccl_topology_free(topology);
}

/* At first use: each link of a switched network has one sender in each phase, where that is as fast in the model. */
static void test_one_sender(void **state)
{
    (void)state;
    static const char *const names[] = {"star:16:bandwidth=1MB/s", "star:13:bandwidth=1MB/s",
                                        "fattree:4x4:taper=4:bandwidth=1MB/s"};
    static const enum pccl_collective collectives[] = {PCCL_ALLGATHER, PCCL_REDUCE_SCATTER, PCCL_ALLREDUCE};
    for (size_t t = 0; t < sizeof names / sizeof names[0]; t++) {
        struct pccl_topology *topology = make_topology(names[t]);
        for (size_t c = 0; c < sizeof collectives / sizeof collectives[0]; c++) {
            struct pccl_request request = make_request(collectives[c], topology->num_devices, 524288);
            struct pccl_result *result = synthesize(topology, &request, PCCL_EFFORT_FIRST_USE);
            uint32_t senders[256][2] = {{0}}; /* plus 1; an all-reduce goes round one way and back the other */
            bool twice = collectives[c] == PCCL_ALLREDUCE;
            assert_true(topology->num_links <= 256);
            for (uint32_t m = 0; m < result->schedule->num_messages; m++) {
                const struct pccl_path *path = &result->schedule->paths[result->schedule->messages[m].path];
                for (uint32_t i = 0; i < path->num_links; i++) {
                    uint32_t *own = senders[result->schedule->path_links[path->first_link + i]];
                    own += twice && own[0] != 0 && own[0] != path->source + 1;
                    assert_true(*own == 0 || *own == path->source + 1);
                    *own = path->source + 1;
                }
            }
            pccl_result_free(result);
        }
        pccl_topology_free(topology);
    }
}

static void test_same_every_time(void **state)
{
    (void)state;
    struct pccl_topology *topology = make_topology("torus:4x4");
    for (int collective = 0; collective < PCCL_CUSTOM; collective++) {
        struct pccl_request request = make_request((enum pccl_collective)collective, 15, 30000);
        struct pccl_result *first = synthesize(topology, &request, PCCL_EFFORT_THOROUGH);
        struct pccl_result *second = synthesize(topology, &request, PCCL_EFFORT_THOROUGH);
        assert_true(pccl_schedule_digest(first->schedule) == pccl_schedule_digest(second->schedule));
        assert_int_equal(first->num_candidates, second->num_candidates);
        pccl_result_free(second);
        pccl_result_free(first);
    }
    pccl_topology_free(topology);
}

/* --- work of a first use ------------------------------------------------------------------------------------------ */

/* Chunks carried by all messages of all candidates that were made, which is what making, simulating and verifying them
 * costs: a measure that no load of the machine disturbs. */
static uint64_t count_work(const struct pccl_topology *topology, const struct pccl_request *request)
{
    struct pccl_options options = {.effort = PCCL_EFFORT_FIRST_USE};
    struct pccl_result *result = synthesize(topology, request, PCCL_EFFORT_FIRST_USE);
    struct pccl__problem problem;
    assert_int_equal(pccl__problem_open(&problem, topology, request, &options, NULL), 0);
    uint64_t work = 0;
    for (uint32_t i = 0; i < result->num_candidates; i++) {
        const struct pccl_candidate *candidate = &result->candidates[i];
        uint32_t row = 0;
        while (strcmp(pccl__rows[row].method, candidate->method) != 0) {
            row++;
        }
        struct pccl_schedule *schedule;
        if (candidate->makespan_ps < 0) {
            continue;
        }
        assert_int_equal(pccl__row_make(&problem, row, candidate->pieces, &schedule, NULL), 0);
        for (uint32_t m = 0; m < schedule->num_messages; m++) {
            uint32_t count;
            pccl_message_chunks(schedule, &schedule->messages[m], &count);
            work += count;
        }
        pccl_schedule_free(schedule);
    }
    pccl__problem_close(&problem);
    pccl_result_free(result);
    return work;
}

/* 64 devices: for all but the all-to-all a few all-gathers, of 64 * 63 chunks in up to six parts, twice for an
 * all-reduce. */
static void test_work_of_first_use(void **state)
{
    (void)state;
    static const char *const names[] = {"mesh:8x8", "torus:8x8", "torus:4x4x4", "star:64", "hypercube:6",
                                        "fattree:8x8"};
    static const int64_t sizes[] = {8, 1024, 65536, 1048576};
    for (size_t t = 0; t < sizeof names / sizeof names[0]; t++) {
        struct pccl_topology *topology = make_topology(names[t]);
        for (int collective = 0; collective < PCCL_CUSTOM; collective++) {
            for (size_t s = 0; s < sizeof sizes / sizeof sizes[0] && collective != PCCL_ALLTOALL; s++) {
                struct pccl_request request = make_request((enum pccl_collective)collective, 64, sizes[s]);
                uint64_t most = 64 * 63 * (collective == PCCL_ALLREDUCE ? 12 : 7);
                uint64_t work = count_work(topology, &request);
                if (work > most) {
                    fail_msg("%s, %s of %" PRId64 " bytes: %" PRIu64 " chunks carried, at most %" PRIu64, names[t],
                             pccl_collective_name(request.collective), sizes[s], work, most);
                }
            }
        }
        pccl_topology_free(topology);
    }
}

/* n ranks on a host of m processors: ranks beside each other share one. */
static struct pccl_topology *make_host(uint32_t num_ranks, uint32_t num_processors)
{
    struct pccl_topology *fabric = make_topology("star:1"), *topology;
    struct pccl_place places[64] = {{0}};
    uint32_t *rank_device;
    for (uint32_t r = 0; r < num_ranks; r++) {
        places[r] = (struct pccl_place){0, -1, -1, -1, -1, r * num_processors / num_ranks + 1};
    }
    assert_int_equal(pccl_topology_place(fabric, places, num_ranks, &topology, &rank_device, NULL), 0);
    free(rank_device);
    pccl_topology_free(fabric);
    return topology;
}

/* Where ranks take turns on processors nothing is gained by sending in many pieces: the fewest messages that a
 * collective can do with, or little more. */
static void test_processors(void **state)
{
    (void)state;
    static const struct {
        enum pccl_collective collective;
        uint32_t most_per_rank; /* messages */
    } cases[] = {{PCCL_BROADCAST, 1}, {PCCL_REDUCE, 1}, {PCCL_GATHER, 1}, {PCCL_ALLREDUCE, 14}, {PCCL_ALLGATHER, 7}};
    struct pccl_topology *roomy = make_host(8, 8), *crowded = make_host(8, 2);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct pccl_request request = make_request(cases[i].collective, 8, 1 << 20);
        struct pccl_result *wide = synthesize(roomy, &request, PCCL_EFFORT_FIRST_USE);
        struct pccl_result *narrow = synthesize(crowded, &request, PCCL_EFFORT_FIRST_USE);
        struct pccl_result *again = synthesize(crowded, &request, PCCL_EFFORT_FIRST_USE);
        assert_true(narrow->schedule->num_messages <= 8 * cases[i].most_per_rank);
        assert_true(narrow->schedule->num_messages <= wide->schedule->num_messages);
        assert_int_equal(pccl_schedule_digest(narrow->schedule), pccl_schedule_digest(again->schedule));
        struct pccl_simulation old = {0};
        assert_int_equal(pccl_simulate(crowded, wide->schedule, &old, NULL), 0);
        assert_true(narrow->makespan_ps <= old.makespan_ps);
        pccl_result_free(wide);
        pccl_result_free(narrow);
        pccl_result_free(again);
    }
    pccl_topology_free(roomy);
    pccl_topology_free(crowded);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two_ranks), cmocka_unit_test(test_allgather), cmocka_unit_test(test_allreduce),
        cmocka_unit_test(test_alltoall), cmocka_unit_test(test_scans), cmocka_unit_test(test_barrier),
        cmocka_unit_test(test_broadcast_and_reduce),
        cmocka_unit_test(test_gather_and_scatter), cmocka_unit_test(test_reduce_scatter), cmocka_unit_test(test_direct),
        cmocka_unit_test(test_unequal_blocks), cmocka_unit_test(test_no_routing), cmocka_unit_test(test_errors),
        cmocka_unit_test(test_candidates), cmocka_unit_test(test_method_filter), cmocka_unit_test(test_one_sender),
        cmocka_unit_test(test_same_every_time), cmocka_unit_test(test_processors),
        cmocka_unit_test(test_work_of_first_use),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
