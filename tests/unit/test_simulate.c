/* Simulated times against times worked out by hand, and against a slow and simple reading of doc/cost-model.md. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

#include "pccl/place.h"
#include "pccl/simulate.h"
#include "pccl/synth.h"
#include "samples.h"

static int64_t simulate(const struct pccl_topology *topology, const struct pccl_schedule *schedule)
{
    struct pccl_simulation simulation = {0};
    struct pccl_error error = {""};
    if (pccl_simulate(topology, schedule, &simulation, &error) != 0) {
        fail_msg("%s", error.message);
    }
    return simulation.makespan_ps;
}

static int64_t sample_time(uint32_t num_ranks, enum sample_kind kind, uint32_t pieces, int64_t bytes)
{
    struct pccl_topology *topology = sample_topology(num_ranks);
    struct pccl_schedule *schedule = sample_schedule(topology, kind, num_ranks, pieces, bytes, false, false);
    int64_t makespan_ps = simulate(topology, schedule);
    pccl_schedule_free(schedule);
    pccl_topology_free(topology);
    return makespan_ps;
}

/* Every link: 1 us and 1 ps a byte, no overheads. */
static void test_textbook(void **state)
{
    (void)state;
    assert_int_equal(sample_time(7, SAMPLE_RING_ALLGATHER, 1, 1000), 6 * (1000000 + 1000));
    assert_int_equal(sample_time(8, SAMPLE_BRUCK_ALLGATHER, 1, 1000), 3 * 1000000 + 7 * 1000);
    assert_int_equal(sample_time(8, SAMPLE_BINOMIAL_BROADCAST, 1, 1000), 3 * (1000000 + 1000));
    assert_int_equal(sample_time(5, SAMPLE_CHAIN_BROADCAST, 4, 8000), 4 * (1000000 + 2000) + 3 * 2000);
    assert_int_equal(sample_time(6, SAMPLE_RING_ALLREDUCE, 1, 6000), 10 * (1000000 + 1000));
    assert_int_equal(sample_time(16, SAMPLE_DOUBLING_ALLREDUCE, 1, 500), 4 * (1000000 + 500));
    assert_int_equal(sample_time(9, SAMPLE_DIRECT_ALLTOALL, 1, 500), 1000000 + 500);
    assert_int_equal(sample_time(9, SAMPLE_DISSEMINATION_BARRIER, 1, 0), 4 * 1000000);
    assert_int_equal(sample_time(4, SAMPLE_DIRECT_ALLTOALL, 1, 0), 1000000);
}

/* --- by hand ------------------------------------------------------------------------------------------------------ */

/* Devices a, b, c on a switch: links a-s 3 ps + 1 ps/B, b-s 5 ps + 2 ps/B, s-c 7 ps + 3 ps/B, s-b 11 ps + 1 ps/B. */
static struct pccl_topology *small_topology(int64_t send_ps, int64_t receive_ps, uint32_t shared)
{
    struct pccl_topology_builder *builder = pccl_topology_builder_new("small");
    uint32_t device[3], one = 1 << 20;
    static const char *const names[] = {"a", "b", "c"};
    for (uint32_t i = 0; i < 3; i++) {
        device[i] = pccl_topology_add_device(builder, names[i]);
        pccl_topology_set_overheads(builder, device[i], send_ps, receive_ps);
    }
    uint32_t hub = pccl_topology_add_switch(builder, "s", false);
    pccl_topology_add_link(builder, device[0], hub, 3, one, shared);
    pccl_topology_add_link(builder, device[1], hub, 5, 2 * one, shared);
    pccl_topology_add_link(builder, hub, device[2], 7, 3 * one, PCCL_NONE);
    pccl_topology_add_link(builder, hub, device[1], 11, one, PCCL_NONE);
    struct pccl_topology *topology;
    assert_int_equal(pccl_topology_finish(builder, &topology, NULL), 0);
    return topology;
}

enum { A_C, B_C, A_B };

/* A message of the given bytes: step, which of the paths above. */
struct sent {
    uint32_t step, path;
    int64_t bytes;
};

/* Each message carries a chunk of its own. */
static void check_times_of(const struct pccl_topology *topology, const struct sent *sent, uint32_t count,
                           bool unlimited_processors, const int64_t *start_ps, const int64_t *finish_ps)
{
    static const uint32_t links[3][2] = {{0, 2}, {1, 2}, {0, 3}};
    static const uint32_t ends[3][2] = {{0, 2}, {1, 2}, {0, 1}};
    uint32_t devices[] = {0, 1, 2}, holders[16];
    struct pccl_chunk chunks[8];
    for (uint32_t i = 0; i < count; i++) {
        holders[2 * i] = ends[sent[i].path][0];
        holders[2 * i + 1] = ends[sent[i].path][1];
        chunks[i] = (struct pccl_chunk){sent[i].bytes, 2 * i, 1, 2 * i + 1, 1};
    }
    struct pccl_demand pattern = {
        .num_ranks = 3, .num_chunks = count, .chunks = chunks, .num_holders = 2 * count, .holders = holders};
    struct pccl_request request = {.collective = PCCL_CUSTOM, .num_ranks = 3, .devices = devices, .custom = &pattern};
    struct pccl_demand *demand;
    struct pccl_schedule *schedule;
    assert_int_equal(pccl_demand_create(&request, 1, &demand, NULL), 0);
    assert_int_equal(pccl_schedule_create(demand, topology, "by hand", &schedule, NULL), 0);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t path = pccl_schedule_path(schedule, topology, links[sent[i].path], 2);
        assert_int_equal(pccl_schedule_add(schedule, sent[i].step, path, false, &i, 1), 0);
    }
    assert_int_equal(pccl_schedule_seal(schedule), 0);
    int64_t start[8], finish[8], link_bytes[4], expected_bytes[4] = {0, 0, 0, 0}, last_ps = 0;
    struct pccl_simulation simulation = {.unlimited_processors = unlimited_processors,
                                         .start_ps = start,
                                         .finish_ps = finish,
                                         .link_bytes = link_bytes};
    assert_int_equal(pccl_simulate(topology, schedule, &simulation, NULL), 0);
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(start[i], start_ps[i]);
        assert_int_equal(finish[i], finish_ps[i]);
        expected_bytes[links[sent[i].path][0]] += sent[i].bytes;
        expected_bytes[links[sent[i].path][1]] += sent[i].bytes;
        last_ps = finish[i] > last_ps ? finish[i] : last_ps;
    }
    assert_int_equal(simulation.makespan_ps, last_ps);
    assert_memory_equal(link_bytes, expected_bytes, sizeof link_bytes);
    pccl_schedule_free(schedule);
}

static void check_times(const struct pccl_topology *topology, const struct sent *sent, uint32_t count,
                        const int64_t *start_ps, const int64_t *finish_ps)
{
    check_times_of(topology, sent, count, false, start_ps, finish_ps);
}

static void test_cut_through(void **state)
{
    (void)state;
    struct pccl_topology *topology = small_topology(0, 0, PCCL_NONE);
    /* 0: a-s held 0 .. 100, s-c held 3 .. 303, arrives 3 + 7 + 300.
     * 1: s-c is free at 303 = start + 5, so start 298; held 303 .. 333; arrives 298 + 12 + 30.
     * 2: a-s is free at 100; s-b from 103; arrives 100 + 14 + 50.
     * 3: a-s is free at 150, s-c at 333 = start + 3. */
    static const struct sent sent[] = {{0, A_C, 100}, {0, B_C, 10}, {0, A_B, 50}, {1, A_C, 1}};
    static const int64_t start[] = {0, 298, 100, 330}, finish[] = {310, 340, 164, 343};
    check_times(topology, sent, 4, start, finish);
    pccl_topology_free(topology);
}

static void test_shared_capacity(void **state)
{
    (void)state;
    struct pccl_topology *topology = small_topology(0, 0, 77);
    /* a-s and b-s are one bus: b's 10 bytes wait for a's 50. */
    static const struct sent sent[] = {{0, A_B, 50}, {0, B_C, 10}};
    static const int64_t start[] = {0, 50}, finish[] = {14 + 50, 50 + 12 + 30};
    check_times(topology, sent, 2, start, finish);
    pccl_topology_free(topology);
}

static void test_overheads(void **state)
{
    (void)state;
    struct pccl_topology *topology = small_topology(1000, 100, PCCL_NONE);
    /* a's CPU sends at 1000 and 2000, b's at 1000. At c: the message of b arrives at 1000 + 12 + 3, that of a, held up
     * at s-c until 1000 + 5 + 3 = start + 3, at 1005 + 10 + 3: c's CPU receives until 1115, then until 1215. At b: arrives
     * at 2000 + 14 + 1. */
    static const struct sent sent[] = {{0, B_C, 1}, {0, A_C, 1}, {0, A_B, 1}};
    static const int64_t start[] = {1000, 1005, 2000}, finish[] = {1115, 1215, 2115};
    check_times(topology, sent, 3, start, finish);
    /* b's CPU sends while it awaits a's message. */
    static const struct sent later[] = {{0, A_B, 1}, {1, B_C, 1}};
    static const int64_t later_start[] = {1000, 1000}, later_finish[] = {1115, 1000 + 12 + 3 + 100};
    check_times(topology, later, 2, later_start, later_finish);
    /* Processors of any width: only links are waited for. B to c as before; a's message to c follows it at s-c, that to b
     * at a-s. */
    static const int64_t wide_start[] = {1000, 1005, 1006};
    static const int64_t wide_finish[] = {1115, 1005 + 10 + 3 + 100, 1006 + 14 + 1 + 100};
    check_times_of(topology, sent, 3, true, wide_start, wide_finish);
    pccl_topology_free(topology);
}

/* Ranks 0 to n - 1 on one processor of one host, and rank n on another. */
static struct pccl_topology *crowded_topology(uint32_t n)
{
    struct pccl_topology *fabric, *topology;
    struct pccl_place places[8] = {{0}};
    uint32_t *rank_device;
    assert_int_equal(pccl_topology_create("star:1", &fabric, NULL), 0);
    for (uint32_t r = 0; r <= n; r++) {
        places[r] = (struct pccl_place){0, -1, -1, -1, -1, r < n ? 1 : 2};
    }
    assert_int_equal(pccl_topology_place(fabric, places, n + 1, &topology, &rank_device, NULL), 0);
    free(rank_device);
    pccl_topology_free(fabric);
    return topology;
}

/* Of direct messages between ranks 0 and 1, the root being 0. */
static int64_t time_of_two(const struct pccl_topology *topology, enum pccl_collective collective, int64_t bytes,
                           int64_t *shared_ps)
{
    static const uint32_t devices[] = {0, 1};
    struct pccl_request request = {.collective = collective, .num_ranks = 2, .devices = devices, .bytes = bytes};
    struct pccl_options options = {.method = collective == PCCL_ALLGATHER ? "spread" : "flat"};
    struct pccl_simulation simulation = {0};
    struct pccl_result *result;
    assert_int_equal(pccl_synthesize(topology, &request, &options, &result, NULL), 0);
    assert_int_equal(pccl_simulate(topology, result->schedule, &simulation, NULL), 0);
    if (shared_ps != NULL) {
        *shared_ps = simulation.shared_ps;
    }
    pccl_result_free(result);
    return simulation.makespan_ps;
}

/* What doc/cost-model.md says of processors that ranks share: o = 500 ns at either end, a turn of 1 us for each other
 * rank, 500 ns from rank to rank, 2^20 bytes in 52.4288 us. */
static void test_processors(void **state)
{
    (void)state;
    const int64_t o = 500000, turn = 1000000, way = 500000, mib = 52428800;
    struct pccl_topology *topology = crowded_topology(3);
    assert_int_equal(time_of_two(topology, PCCL_BROADCAST, 0, NULL), o + way + 2 * turn + o);
    /* Large: a handshake (1 us); the receiver's processor copies while the message comes, and answers (2 o). */
    int64_t handshake = 1000000, sent = o + handshake + way + 2 * turn, shared_ps;
    assert_int_equal(time_of_two(topology, PCCL_BROADCAST, 1 << 20, NULL), sent + o + mib + 2 * o);
    /* Combining goes through the bytes three times. */
    assert_int_equal(time_of_two(topology, PCCL_REDUCE, 1 << 20, NULL), sent + o + 3 * mib + 2 * o);
    /* In both directions at once: one processor, so one after the other. */
    assert_int_equal(time_of_two(topology, PCCL_ALLGATHER, 1 << 20, &shared_ps), sent + 2 * (o + mib + 2 * o));
    assert_int_equal(shared_ps, 2 * (o + o + mib + 2 * o));
    pccl_topology_free(topology);
}

static void test_small_and_large(void **state)
{
    (void)state;
    /* 16 ranks, one switch, o = 1 us, L = 0.1 us, 0.08 ns/B: Bruck needs 4 * 1.1 us + 15 * 8 * 0.08 ns. */
    struct pccl_topology_builder *builder = pccl_topology_builder_new("sixteen");
    for (uint32_t i = 0; i < 16; i++) {
        char name[8];
        snprintf(name, sizeof name, "d%u", i);
        uint32_t device = pccl_topology_add_device(builder, name);
        pccl_topology_set_overheads(builder, device, 1000000, 0);
    }
    for (uint32_t i = 0; i < 16; i++) {
        for (uint32_t j = 0; j < 16; j++) {
            if (i != j) {
                pccl_topology_add_link(builder, i, j, 100000, 80 << 20, i);
            }
        }
    }
    struct pccl_topology *topology;
    assert_int_equal(pccl_topology_finish(builder, &topology, NULL), 0);
    struct pccl_schedule *bruck = sample_schedule(topology, SAMPLE_BRUCK_ALLGATHER, 16, 1, 8, false, false);
    struct pccl_schedule *ring = sample_schedule(topology, SAMPLE_RING_ALLGATHER, 16, 1, 8, false, false);
    assert_int_equal(simulate(topology, bruck), 4409600);
    assert_int_equal(simulate(topology, ring), 15 * (1100000 + 640));
    pccl_schedule_free(bruck);
    pccl_schedule_free(ring);
    pccl_topology_free(topology);
}

static void test_refusals(void **state)
{
    (void)state;
    struct pccl_topology *topology = sample_topology(4), *other = sample_topology(3);
    struct pccl_schedule *schedule =
        sample_schedule(topology, SAMPLE_RING_ALLGATHER, 4, 1, INT64_MAX / 4, false, false);
    struct pccl_simulation simulation = {0};
    assert_int_equal(pccl_simulate(topology, schedule, &simulation, NULL), PCCL_ERR_OVERFLOW);
    assert_int_equal(pccl_simulate(other, schedule, &simulation, NULL), PCCL_ERR_INVALID);
    schedule->messages[2].path = schedule->num_paths;
    assert_int_equal(pccl_simulate(topology, schedule, &simulation, NULL), PCCL_ERR_INVALID);
    pccl_schedule_free(schedule);
    pccl_topology_free(topology);
    pccl_topology_free(other);
}

/* --- against a simple reading ------------------------------------------------------------------------------------- */

struct busy {
    uint32_t vertex;
    int64_t begin, end;
};

struct reading {
    const struct pccl_topology *topology;
    const struct pccl_schedule *schedule;
    int64_t *have; /* [vertex][chunk] since when */
    int64_t *capacity, *finish;
    struct busy *busy; /* of all CPUs, in any order */
    uint32_t num_busy;
};

static int64_t max(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* The CPU's earliest free stretch of `cost` from `ready` on. Returns when it ends. */
static int64_t read_cpu(struct reading *reading, uint32_t vertex, int64_t ready, int64_t cost)
{
    for (uint32_t i = 0; i < reading->num_busy && cost > 0; i++) {
        const struct busy *busy = &reading->busy[i];
        if (busy->vertex == vertex && ready < busy->end && ready + cost > busy->begin) {
            ready = busy->end;
            i = UINT32_MAX;
        }
    }
    if (cost > 0) {
        reading->busy[reading->num_busy++] = (struct busy){vertex, ready, ready + cost};
    }
    return ready + cost;
}

static void read_send(struct reading *reading, uint32_t number)
{
    const struct pccl_schedule *schedule = reading->schedule;
    const struct pccl_message *message = &schedule->messages[number];
    const struct pccl_path *path = &schedule->paths[message->path];
    uint32_t count;
    const uint32_t *chunks = pccl_message_chunks(schedule, message, &count);
    int64_t bytes = 0, start = 0, offset = 0, longest = 0;
    for (uint32_t i = 0; i < count; i++) {
        bool barrier = schedule->demand->collective == PCCL_BARRIER;
        for (uint32_t chunk = 0; chunk < schedule->demand->num_chunks; chunk++) {
            if (barrier || chunk == chunks[i]) {
                start = max(start, reading->have[path->source * schedule->demand->num_chunks + chunk]);
            }
        }
        bytes += schedule->demand->chunks[chunks[i]].bytes;
    }
    start = read_cpu(reading, path->source, start, reading->topology->vertices[path->source].send_overhead_ps);
    for (uint32_t i = 0; i < path->num_links; i++) {
        const struct pccl_link *link = &reading->topology->links[schedule->path_links[path->first_link + i]];
        start = max(start, reading->capacity[link->capacity] - offset);
        offset += link->latency_ps;
    }
    offset = 0;
    for (uint32_t i = 0; i < path->num_links; i++) {
        const struct pccl_link *link = &reading->topology->links[schedule->path_links[path->first_link + i]];
        int64_t hold = (bytes * link->ps_per_mib + (1 << 20) - 1) >> 20;
        reading->capacity[link->capacity] = start + offset + hold;
        offset += link->latency_ps;
        longest = max(longest, hold);
    }
    reading->finish[number] = start + offset + longest;
}

/* Receives what arrived in a step: again and again the message that arrived first at any CPU. */
static void read_receives(struct reading *reading, uint32_t first, uint32_t end)
{
    const struct pccl_schedule *schedule = reading->schedule;
    int64_t *arrival = calloc(end - first, sizeof *arrival);
    for (uint32_t i = first; i < end; i++) {
        arrival[i - first] = reading->finish[i];
    }
    for (uint32_t k = first; k < end; k++) {
        uint32_t next = first;
        for (uint32_t i = first; i < end; i++) {
            next = arrival[i - first] < arrival[next - first] ? i : next;
        }
        uint32_t target = schedule->paths[schedule->messages[next].path].target;
        int64_t overhead = reading->topology->vertices[target].receive_overhead_ps;
        if (overhead > 0) {
            reading->finish[next] = read_cpu(reading, target, arrival[next - first], overhead);
        }
        arrival[next - first] = INT64_MAX;
    }
    free(arrival);
    for (uint32_t i = first; i < end; i++) {
        uint32_t count, target = schedule->paths[schedule->messages[i].path].target;
        const uint32_t *chunks = pccl_message_chunks(schedule, &schedule->messages[i], &count);
        for (uint32_t j = 0; j < count; j++) {
            int64_t *have = &reading->have[target * schedule->demand->num_chunks + chunks[j]];
            *have = schedule->messages[i].reduce || schedule->demand->collective == PCCL_BARRIER
                        ? max(*have, reading->finish[i])
                        : reading->finish[i];
        }
    }
}

static void compare_with_reading(const struct pccl_topology *topology, const struct pccl_schedule *schedule,
                                 uint64_t seed)
{
    uint32_t count = schedule->num_messages;
    struct reading reading = {.topology = topology, .schedule = schedule};
    reading.have = calloc((size_t)topology->num_vertices * schedule->demand->num_chunks, sizeof *reading.have);
    reading.busy = calloc(2 * (size_t)count + 1, sizeof *reading.busy);
    reading.capacity = calloc(topology->num_capacities, sizeof *reading.capacity);
    reading.finish = calloc(count + 1, sizeof *reading.finish);
    int64_t *finish_ps = calloc(count + 1, sizeof *finish_ps);
    for (uint32_t first = 0, end = 0; first < count; first = end) {
        for (; end < count && schedule->messages[end].step == schedule->messages[first].step; end++) {
            read_send(&reading, end);
        }
        read_receives(&reading, first, end);
    }
    struct pccl_simulation simulation = {.finish_ps = finish_ps};
    assert_int_equal(pccl_simulate(topology, schedule, &simulation, NULL), 0);
    for (uint32_t i = 0; i < count; i++) {
        if (finish_ps[i] != reading.finish[i]) {
            fail_msg("seed %llu: message %u ends at %lld, %lld expected", (unsigned long long)seed, i,
                     (long long)finish_ps[i], (long long)reading.finish[i]);
        }
    }
    free(reading.have);
    free(reading.busy);
    free(reading.capacity);
    free(reading.finish);
    free(finish_ps);
}

/* All pairs as in samples.h, with random costs and shared capacities. */
static struct pccl_topology *random_topology(uint32_t num_devices, struct pccl__random *random)
{
    struct pccl_topology_builder *builder = pccl_topology_builder_new("random");
    for (uint32_t i = 0; i < num_devices; i++) {
        char name[16];
        snprintf(name, sizeof name, "d%u", i);
        uint32_t device = pccl_topology_add_device(builder, name);
        pccl_topology_set_overheads(builder, device, pccl__random_below(random, 3) * 50,
                                    pccl__random_below(random, 3) * 70);
    }
    for (uint32_t i = 0; i < num_devices; i++) {
        for (uint32_t j = 0; j < num_devices; j++) {
            if (i != j) {
                pccl_topology_add_link(builder, i, j, pccl__random_below(random, 400),
                                       pccl__random_below(random, 20000000),
                                       pccl__random_below(random, 2) == 0 ? PCCL_NONE : pccl__random_below(random, 4));
            }
        }
    }
    struct pccl_topology *topology;
    assert_int_equal(pccl_topology_finish(builder, &topology, NULL), 0);
    return topology;
}

static void test_random(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 1500; seed++) {
        struct pccl__random random = {.state = seed};
        uint32_t num_ranks = 2 + pccl__random_below(&random, 7);
        struct pccl_topology *topology = random_topology(num_ranks, &random);
        enum pccl_collective collective = (enum pccl_collective)pccl__random_below(&random, PCCL_CUSTOM);
        bool unicast = collective == PCCL_ALLTOALL || collective == PCCL_SCATTER || collective == PCCL_GATHER;
        struct pccl_schedule *schedule;
        if (unicast) { /* random schedules send such chunks from several places; see what is approximate */
            enum sample_kind kind = seed % 2 == 0   ? SAMPLE_RING_ALLTOALL
                                    : seed % 3 == 0 ? SAMPLE_LINEAR_GATHER
                                                    : SAMPLE_BINOMIAL_SCATTER;
            schedule = sample_schedule(topology, kind, num_ranks, 2, 90, false, true);
        } else {
            schedule = sample_random(topology, sample_demand(collective, num_ranks, 2, 90, false, true), &random);
        }
        compare_with_reading(topology, schedule, seed);
        pccl_schedule_free(schedule);
        pccl_topology_free(topology);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_textbook),        cmocka_unit_test(test_cut_through),
        cmocka_unit_test(test_shared_capacity), cmocka_unit_test(test_overheads),
        cmocka_unit_test(test_small_and_large), cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_processors),      cmocka_unit_test(test_random),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
