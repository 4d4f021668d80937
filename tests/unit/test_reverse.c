/* Reversal and joining of schedules. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>

#include <cmocka.h>
#include <stdlib.h>

#include "plan.h"
#include "samples.h"

static struct pccl_schedule *reverse(const struct pccl_topology *topology, const struct pccl_schedule *schedule,
                                     enum pccl_collective collective, uint32_t num_ranks, uint32_t pieces, int *status)
{
    struct pccl__problem problem = {.topology = topology};
    struct pccl_demand *demand = sample_demand(collective, num_ranks, pieces, 1000, false, false);
    struct pccl_schedule *reversed = NULL;
    struct pccl_error error = {""};
    *status = pccl__schedule_reverse(&problem, schedule, demand, "reversed", &reversed, &error);
    if (*status == 0) {
        if (pccl_verify_schedule(topology, reversed, false, &error) != 0) {
            fail_msg("%s", error.message);
        }
        const char *wrong = replay(reversed, topology->num_devices);
        if (wrong != NULL) {
            fail_msg("%s", wrong);
        }
    }
    return reversed;
}

static void test_trees(void **state)
{
    (void)state;
    static const struct {
        enum sample_kind kind;
        enum pccl_collective reversed;
    } pairs[] = {{SAMPLE_RING_ALLGATHER, PCCL_REDUCE_SCATTER},   {SAMPLE_BRUCK_ALLGATHER, PCCL_REDUCE_SCATTER},
                 {SAMPLE_BINOMIAL_BROADCAST, PCCL_REDUCE},       {SAMPLE_CHAIN_BROADCAST, PCCL_REDUCE},
                 {SAMPLE_BINOMIAL_SCATTER, PCCL_GATHER},         {SAMPLE_LINEAR_GATHER, PCCL_SCATTER},
                 {SAMPLE_RING_REDUCE_SCATTER, PCCL_ALLGATHER},   {SAMPLE_BINOMIAL_REDUCE, PCCL_BROADCAST}};
    for (uint32_t n = 2; n <= 13; n++) {
        struct pccl_topology *topology = sample_topology(n);
        for (size_t k = 0; k < sizeof pairs / sizeof pairs[0]; k++) {
            for (uint32_t pieces = 1; pieces <= 3; pieces++) {
                int status;
                struct pccl_schedule *schedule =
                    sample_schedule(topology, pairs[k].kind, n, pieces, 1000, false, false);
                if (schedule == NULL) {
                    continue;
                }
                struct pccl_schedule *reversed = reverse(topology, schedule, pairs[k].reversed, n, pieces, &status);
                assert_int_equal(status, 0);
                assert_int_equal(reversed->num_messages, schedule->num_messages);
                pccl_schedule_free(reversed);
                pccl_schedule_free(schedule);
            }
        }
        pccl_topology_free(topology);
    }
}

/* A chunk that reaches a rank twice would be counted twice. */
static void test_no_tree(void **state)
{
    (void)state;
    struct pccl_topology *topology = sample_topology(3);
    struct pccl_demand *demand = sample_demand(PCCL_BROADCAST, 3, 1, 1000, false, false);
    struct pccl_schedule *schedule = NULL;
    uint32_t root = demand->devices[demand->root], chunk = 0;
    assert_int_equal(pccl_schedule_create(demand, topology, "twice", &schedule, NULL), 0);
    uint32_t a = (root + 1) % 3, b = (root + 2) % 3;
    uint32_t ways[][2] = {{root, a}, {a, b}, {root, b}};
    for (uint32_t i = 0; i < 3; i++) {
        uint32_t link = sample_link(3, ways[i][0], ways[i][1]);
        uint32_t path = pccl_schedule_path(schedule, topology, &link, 1);
        assert_int_equal(pccl_schedule_add(schedule, i, path, false, &chunk, 1), 0);
    }
    assert_int_equal(pccl_schedule_seal(schedule), 0);
    int status;
    struct pccl_schedule *reversed = reverse(topology, schedule, PCCL_REDUCE, 3, 1, &status);
    assert_int_equal(status, PCCL_ERR_UNSUPPORTED);
    assert_null(reversed);
    pccl_schedule_free(schedule);
    pccl_topology_free(topology);
}

/* Links one way round only: the plan has to be made on the reversed graph. */
static void test_one_way_links(void **state)
{
    (void)state;
    struct pccl_topology_builder *builder = pccl_topology_builder_new("one way ring");
    struct pccl_topology *topology;
    struct pccl_error error = {""};
    char name[8];
    for (uint32_t d = 0; d < 5; d++) {
        snprintf(name, sizeof name, "d%u", d);
        pccl_topology_add_device(builder, name);
    }
    for (uint32_t d = 0; d < 5; d++) {
        pccl_topology_add_link(builder, d, (d + 1) % 5, 1000, 1000000 * (1 + d), PCCL_NONE);
    }
    assert_int_equal(pccl_topology_finish(builder, &topology, &error), 0);
    static const enum pccl_collective collectives[] = {PCCL_REDUCE, PCCL_REDUCE_SCATTER, PCCL_ALLREDUCE};
    for (size_t c = 0; c < 3; c++) {
        struct pccl_request request = plan_request(collectives[c], 5, 5000);
        struct pccl_schedule *schedule = plan(topology, &request, "matching", 2, &error);
        assert_non_null(schedule);
        pccl_schedule_free(schedule);
    }
    pccl_topology_free(topology);
}

/* A pipelined reduction and the broadcast after it use opposite links: joined, they take little longer than one. */
static void test_overlap(void **state)
{
    (void)state;
    struct pccl_topology *topology = open_topology("mesh:6:unit");
    struct pccl_request request = plan_request(PCCL_ALLREDUCE, 6, INT64_C(96) << 20);
    struct pccl__problem problem;
    struct pccl_error error = {""};
    struct pccl_schedule *parts[2], *joined = NULL;
    static const enum pccl_collective phases[] = {PCCL_REDUCE, PCCL_BROADCAST};
    int64_t makespan_ps = 0;
    struct pccl_simulation simulation = {0};
    for (int i = 0; i < 2; i++) {
        request.collective = phases[i];
        parts[i] = plan(topology, &request, "matching", 96, &error);
        assert_non_null(parts[i]);
        assert_int_equal(pccl_simulate(topology, parts[i], &simulation, &error), 0);
        makespan_ps += simulation.makespan_ps;
    }
    request.collective = PCCL_ALLREDUCE;
    assert_int_equal(pccl__problem_open(&problem, topology, &request, NULL, &error), 0);
    struct pccl_demand *demand;
    assert_int_equal(pccl_demand_create(&request, 96, &demand, &error), 0);
    assert_int_equal(pccl__schedule_join(&problem, parts[0], parts[1], demand, "joined", &joined, &error), 0);
    assert_int_equal(pccl_verify_schedule(topology, joined, false, &error), 0);
    assert_null(replay(joined, 6));
    assert_int_equal(pccl_simulate(topology, joined, &simulation, &error), 0);
    assert_true(simulation.makespan_ps < makespan_ps * 6 / 10);
    uint32_t first_broadcast = PCCL_NONE, last_reduction = 0;
    for (uint32_t m = 0; m < joined->num_messages; m++) {
        if (joined->messages[m].reduce) {
            last_reduction = joined->messages[m].step;
        } else if (first_broadcast == PCCL_NONE) {
            first_broadcast = joined->messages[m].step;
        }
    }
    assert_true(first_broadcast < last_reduction / 4); /* in the order of the steps too, which is the executor's */
    pccl__problem_close(&problem);
    pccl_schedule_free(joined);
    pccl_schedule_free(parts[0]);
    pccl_schedule_free(parts[1]);
    pccl_topology_free(topology);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_trees), cmocka_unit_test(test_no_tree), cmocka_unit_test(test_one_way_links),
        cmocka_unit_test(test_overlap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
