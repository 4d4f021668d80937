/* All-to-all in rounds: who meets in one, what holds ranks in step, and what that costs in the model. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <setjmp.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "interpreter.h"
#include "pccl/io.h"
#include "plan.h"

#define BLOCK_BYTES 1000

static struct pccl_schedule *plan_rounds(const struct pccl_topology *topology, uint32_t num_ranks, uint32_t pieces)
{
    struct pccl_request request = plan_request(PCCL_ALLTOALL, num_ranks, BLOCK_BYTES);
    struct pccl_error error = {""};
    struct pccl_schedule *schedule = plan(topology, &request, "rounds", pieces, &error);
    if (schedule == NULL) {
        fail_msg("%s: %s", topology->name, error.message);
    }
    return schedule;
}

/* Messages over `link` in `step`. */
static uint32_t count_crossing(const struct pccl_schedule *schedule, uint32_t link, uint32_t step)
{
    uint32_t count = 0;
    for (uint32_t m = 0; m < schedule->num_messages; m++) {
        const struct pccl_path *path = &schedule->paths[schedule->messages[m].path];
        for (uint32_t i = 0; i < path->num_links; i++) {
            count += schedule->messages[m].step == step && schedule->path_links[path->first_link + i] == link;
        }
    }
    return count;
}

/* Between the racks of a tree with one spine every round is alike: each uplink carries a message of every host. */
static void test_balance(void **state)
{
    (void)state;
    struct pccl_topology *topology = open_topology("fattree:5x3:spines=1");
    for (uint32_t pieces = 1; pieces <= 6; pieces++) {
        struct pccl_schedule *schedule = plan_rounds(topology, 15, pieces);
        assert_int_equal(schedule->pace, pieces % 2 == 0 ? 2 : 1); /* pieces of a round */
        uint32_t num_steps = schedule->messages[schedule->num_messages - 1].step + 1;
        assert_int_equal(num_steps, 12 * pieces);
        for (uint32_t link = 0; link < topology->num_links; link++) {
            bool uplink = topology->links[link].source >= 15 && topology->links[link].target >= 15;
            for (uint32_t step = 0; step < num_steps && uplink; step++) {
                assert_int_equal(count_crossing(schedule, link, step), 3);
            }
        }
        pccl_schedule_free(schedule);
    }
    pccl_topology_free(topology);
}

/* At one switch each slice goes through all rounds before the next one does, and in each step everybody sends to one
 * and hears from one, for which the next step waits. */
static void test_slices(void **state)
{
    (void)state;
    struct pccl_topology *topology = open_topology("star:7");
    for (uint32_t pieces = 1; pieces <= 6; pieces++) {
        struct pccl_schedule *schedule = plan_rounds(topology, 7, pieces);
        assert_int_equal(schedule->pace, 1);
        assert_int_equal(schedule->num_messages, 7 * 6 * pieces);
        for (uint32_t m = 0; m < schedule->num_messages; m++) {
            const struct pccl_message *message = &schedule->messages[m];
            uint32_t count, chunk = *pccl_message_chunks(schedule, message, &count);
            assert_int_equal(count, 1);
            assert_int_equal(message->step / 6, chunk % pieces);
            assert_int_equal(message->step, m / 7);
        }
        for (uint32_t link = 0; link < topology->num_links; link++) {
            for (uint32_t step = 0; step < 6 * pieces; step++) {
                assert_int_equal(count_crossing(schedule, link, step), 1);
            }
        }
        pccl_schedule_free(schedule);
    }
    pccl_topology_free(topology);
}

/* Every send but those of the first rounds waits for what was received `pace` steps before: as many receives as there
 * are in that step. */
static void check_waits(const struct pccl_schedule *schedule, const struct pccl_program *program)
{
    uint32_t *releases = calloc(program->num_operations, sizeof *releases), num_held = 0, num_expected = 0;
    for (uint32_t i = 0; i < program->num_operations; i++) {
        const struct pccl_operation *operation = &program->operations[i];
        for (uint32_t j = 0; j < operation->num_successors && operation->kind == PCCL_OP_RECEIVE; j++) {
            releases[program->successors[operation->first_successor + j]]++;
        }
    }
    for (uint32_t i = 0; i < program->num_operations; i++) {
        num_held += program->operations[i].kind == PCCL_OP_SEND ? releases[i] : 0;
    }
    for (uint32_t m = 0; m < schedule->num_messages; m++) {
        for (uint32_t k = 0; k < m && schedule->paths[schedule->messages[m].path].source == program->rank; k++) {
            num_expected += schedule->paths[schedule->messages[k].path].target == program->rank &&
                            schedule->messages[k].step + schedule->pace == schedule->messages[m].step;
        }
    }
    assert_int_equal(num_held, num_expected);
    free(releases);
}

static void test_programs(void **state)
{
    (void)state;
    static const struct {
        const char *topology;
        uint32_t num_ranks;
    } cases[] = {{"star:2", 2}, {"star:7", 7}, {"fattree:4x4", 16}, {"fattree:4x4", 11}, {"fattree:3x5:spines=2", 15}};
    struct pccl__random random = {7};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct pccl_topology *topology = open_topology(cases[i].topology);
        for (uint32_t pieces = 1; pieces <= 4; pieces++) {
            struct pccl_schedule *schedule = plan_rounds(topology, cases[i].num_ranks, pieces);
            struct pccl_program *programs[16];
            struct pccl_error error = {""};
            assert_int_equal(pccl_programs_create(schedule, programs, &error), 0);
            for (uint32_t window = 0; window < 3; window++) {
                const char *wrong = interpret(schedule->demand, programs, false, window, &random);
                assert_string_equal(wrong != NULL ? wrong : "", "");
            }
            for (uint32_t rank = 0; rank < cases[i].num_ranks; rank++) {
                check_waits(schedule, programs[rank]);
                pccl_program_free(programs[rank]);
            }
            pccl_schedule_free(schedule);
        }
        pccl_topology_free(topology);
    }
}

static int64_t simulate(const struct pccl_topology *topology, const struct pccl_schedule *schedule)
{
    struct pccl_simulation simulation = {0};
    struct pccl_error error = {""};
    assert_int_equal(pccl_simulate(topology, schedule, &simulation, &error), 0);
    return simulation.makespan_ps;
}

/* On a switch a round in whole blocks begins when the one before has arrived, so that each costs its latency; without
 * pace only the last one's counts. */
static void test_cost(void **state)
{
    (void)state;
    struct pccl_topology *topology = open_topology("star:9:latency=500ns:overhead=0");
    struct pccl_schedule *schedule = plan_rounds(topology, 9, 1);
    int64_t block_ps = pccl_transfer_ps(BLOCK_BYTES, topology->links[0].ps_per_mib), latency_ps = 0;
    for (uint32_t i = 0; i < schedule->paths[0].num_links; i++) {
        latency_ps += topology->links[schedule->path_links[schedule->paths[0].first_link + i]].latency_ps;
    }
    assert_int_equal(simulate(topology, schedule), 8 * (latency_ps + block_ps));
    schedule->pace = 0;
    assert_int_equal(simulate(topology, schedule), latency_ps + 8 * block_ps);
    pccl_schedule_free(schedule);
    pccl_topology_free(topology);
}

/* A file keeps the pace, and its digest vouches for it. */
static void test_file(void **state)
{
    (void)state;
    char path[] = "/tmp/pccl_rounds_XXXXXX";
    struct pccl_topology *topology = open_topology("fattree:4x4");
    struct pccl_schedule *schedule = plan_rounds(topology, 16, 2), *read;
    struct pccl_error error = {""};
    close(mkstemp(path));
    assert_int_equal(pccl_schedule_write(schedule, topology, path, &error), 0);
    assert_int_equal(pccl_schedule_read(path, topology, &read, &error), 0);
    assert_int_equal(read->pace, 2);
    uint64_t digest = pccl_schedule_digest(schedule);
    assert_int_equal(pccl_schedule_digest(read), digest);
    read->pace = 0;
    assert_int_not_equal(pccl_schedule_digest(read), digest);
    unlink(path);
    pccl_schedule_free(read);
    pccl_schedule_free(schedule);
    pccl_topology_free(topology);
}

/* A first use between hosts prefers it for large blocks, and never for small ones. */
static void test_choice(void **state)
{
    (void)state;
    struct pccl_topology *topology = open_topology("fattree:4x4:spines=1:bandwidth=1.2MB/s:latency=50us");
    struct pccl_options options = {.effort = PCCL_EFFORT_FIRST_USE};
    for (int64_t bytes = 8; bytes <= 32768; bytes = bytes * 4096) {
        struct pccl_request request = plan_request(PCCL_ALLTOALL, 16, bytes);
        struct pccl_error error = {""};
        struct pccl_result *result;
        assert_int_equal(pccl_synthesize(topology, &request, &options, &result, &error), 0);
        assert_int_equal(strcmp(result->schedule->method, "rounds") == 0, bytes > 8);
        pccl_result_free(result);
    }
    pccl_topology_free(topology);
}

/* What comes of the rounds alone. */
static struct pccl_result *synthesize_rounds(const struct pccl_topology *topology, int64_t bytes,
                                             enum pccl_effort effort, bool frugal)
{
    struct pccl_options options = {.effort = effort, .method = "rounds", .frugal = frugal};
    struct pccl_request request = plan_request(PCCL_ALLTOALL, topology->num_devices, bytes);
    struct pccl_error error = {""};
    struct pccl_result *result;
    if (pccl_synthesize(topology, &request, &options, &result, &error) != 0) {
        fail_msg("%s: %s", topology->name, error.message);
    }
    return result;
}

#define SLOW ":bandwidth=1.2MB/s:latency=7us:overhead=20us"

/* Blocks are cut only where messages take much longer than what lies between them: the pieces cost less than a
 * fortieth of the time. Whose peers are partly near looks at the others; and there are never too many messages. */
static void test_cut(void **state)
{
    (void)state;
    static const struct {
        const char *topology;
        int64_t bytes;
        uint32_t pieces;
    } cases[] = {
        {"star:16" SLOW, 16384, 2},
        {"star:16" SLOW, 131072, 16},
        {"star:16" SLOW, 1048576, 64},
        {"star:16:bandwidth=12MB/s:latency=7us:overhead=20us", 131072, 4},
        {"star:16", 1048576, 1},
        {"fattree:4x4:spines=1:bandwidth=12.5GB/s,1.2MB/s:latency=7us:overhead=20us", 131072, 16},
        {"star:64" SLOW, 1048576, 4},
        {"star:128" SLOW, 1048576, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct pccl_topology *topology = open_topology(cases[i].topology);
        struct pccl_result *result = synthesize_rounds(topology, cases[i].bytes, PCCL_EFFORT_FIRST_USE, false);
        assert_int_equal(result->schedule->demand->pieces, cases[i].pieces);
        int64_t block_ps = pccl_transfer_ps(cases[i].bytes, topology->links[0].ps_per_mib);
        int64_t transfer_ps = (topology->num_devices - 1) * block_ps;
        bool alike = topology->num_vertices == topology->num_devices + 1;
        assert_true(cases[i].pieces == 1 || !alike || result->makespan_ps < transfer_ps + transfer_ps / 40);
        pccl_result_free(result);
        result = synthesize_rounds(topology, cases[i].bytes, PCCL_EFFORT_FIRST_USE, true);
        assert_int_equal(result->schedule->demand->pieces, 1); /* as few messages as can be */
        pccl_result_free(result);
        pccl_topology_free(topology);
    }
}

/* Who has time compares slices as they are with slices cut in two. */
static void test_candidates(void **state)
{
    (void)state;
    struct pccl_topology *topology = open_topology("fattree:4x4:spines=1" SLOW);
    struct pccl_result *result = synthesize_rounds(topology, 131072, PCCL_EFFORT_THOROUGH, false);
    assert_int_equal(result->num_candidates, 2);
    assert_int_equal(result->candidates[0].pieces + result->candidates[1].pieces, 16 + 32);
    pccl_result_free(result);
    pccl_topology_free(topology);
}

/* The forecast knows that a second half hides the time between rounds. */
static void test_forecast(void **state)
{
    (void)state;
    struct pccl_topology *topology = open_topology("fattree:5x4:spines=1:bandwidth=1.2MB/s:latency=1ms:overhead=1us");
    struct pccl_result *result = synthesize_rounds(topology, 16384, PCCL_EFFORT_FIRST_USE, false);
    assert_int_equal(result->schedule->demand->pieces, 2);
    pccl_result_free(result);
    pccl_topology_free(topology);
}

/* Where nothing is to be kept in step it says why it does not serve. */
static void test_refusals(void **state)
{
    (void)state;
    struct pccl_topology *torus = open_topology("torus:4x4");
    struct pccl_request request = plan_request(PCCL_ALLTOALL, 16, BLOCK_BYTES);
    struct pccl_error error = {""};
    assert_null(plan(torus, &request, "rounds", 1, &error));
    assert_non_null(strstr(error.message, "switches"));
    pccl_topology_free(torus);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_balance),  cmocka_unit_test(test_slices), cmocka_unit_test(test_programs),
        cmocka_unit_test(test_cost),     cmocka_unit_test(test_file),   cmocka_unit_test(test_choice),
        cmocka_unit_test(test_cut),      cmocka_unit_test(test_candidates),
        cmocka_unit_test(test_forecast), cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
