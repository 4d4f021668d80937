/* All-to-all, scatter, gather and patterns by earliest arrival (unicast) and by circuits. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>

#include <cmocka.h>

#include "base/random.h"
#include "plan.h"

static const char *const methods[] = {"circuits:rotated", "circuits:longest", "unicast:farthest", "unicast:shuffled",
                                      "unicast:farthest-detours", "unicast:shuffled-detours"};
#define NUM_METHODS (sizeof methods / sizeof methods[0])

static void serve(const char *text, const struct pccl_request *request, bool must)
{
    struct pccl_topology *topology = open_topology(text);
    for (size_t m = 0; m < NUM_METHODS; m++) {
        struct pccl_error error = {""};
        struct pccl_schedule *schedule = plan(topology, request, methods[m], 1 + m % 3, &error);
        if (schedule == NULL && must) {
            fail_msg("%s: %s: %s", text, methods[m], error.message);
        }
        pccl_schedule_free(schedule);
    }
    pccl_topology_free(topology);
}

static void test_shapes(void **state)
{
    (void)state;
    static const char *const shapes[] = {"ring:2",
                                         "ring:3",
                                         "ring:5",
                                         "ring:12",
                                         "ring:13",
                                         "mesh:7",
                                         "mesh:3x5",
                                         "torus:2x3",
                                         "torus:2x2x2",
                                         "torus:3x4x5",
                                         "torus:13x2",
                                         "hypercube:4",
                                         "full:7",
                                         "star:2",
                                         "star:5",
                                         "star:12",
                                         "fattree:3x4",
                                         "fattree:4x3:taper=3",
                                         "fattree:2x3x2",
                                         "dragonfly:3x2x2",
                                         "dragonfly:5x2x2:unit",
                                         "torus:5x3:bandwidth=10GB/s,50GB/s",
                                         "mesh:4x4:bandwidth=1GB/s,30GB/s:latency=5us,1us"};
    static const enum pccl_collective served[] = {PCCL_ALLTOALL, PCCL_SCATTER, PCCL_GATHER};
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        struct pccl_topology *topology = open_topology(shapes[i]);
        for (size_t c = 0; c < 3; c++) {
            struct pccl_request request = plan_request(served[c], topology->num_devices, 70001);
            request.root = c > 0 ? topology->num_devices / 2 : 0;
            serve(shapes[i], &request, true);
        }
        pccl_topology_free(topology);
    }
}

/* The sum of all distances over the number of links, or blocks over the links of a device, whichever is larger. */
static void test_makespans(void **state)
{
    (void)state;
    assert_int_equal(plan_slots("ring:5:unit", PCCL_ALLTOALL, "unicast:farthest", 1), 3);
    assert_int_equal(plan_slots("full:9:unit", PCCL_ALLTOALL, "unicast:farthest", 1), 1);
    assert_int_equal(plan_slots("star:16:unit", PCCL_ALLTOALL, "circuits:rotated", 1), 15);
    assert_int_equal(plan_slots("fattree:4x8:unit", PCCL_ALLTOALL, "circuits:rotated", 1), 31);
    assert_true(plan_slots("mesh:8x8:unit", PCCL_ALLTOALL, "unicast:farthest", 1) <= 132);   /* bisection: 128 */
    assert_true(plan_slots("mesh:16x8:unit", PCCL_ALLTOALL, "unicast:farthest", 1) <= 518);  /* bisection: 512 */
    assert_true(plan_slots("torus:8x8:unit", PCCL_ALLTOALL, "unicast:farthest", 1) <= 68);   /* distances: 64 */
    assert_true(plan_slots("mesh:8x8:unit", PCCL_ALLTOALL, "circuits:longest", 1) <= 140);
}

static void test_uneven_blocks(void **state)
{
    (void)state;
    int64_t blocks[49];
    struct pccl__random random = {7};
    for (int i = 0; i < 49; i++) {
        uint32_t kind = pccl__random_below(&random, 3);
        blocks[i] = kind == 0 ? 0 : kind == 1 ? pccl__random_below(&random, 100) : pccl__random_below(&random, 1 << 24);
    }
    struct pccl_request request = plan_request(PCCL_ALLTOALL, 7, 0);
    request.block_bytes = blocks;
    serve("mesh:7", &request, true);
    serve("star:7", &request, true);
    serve("torus:7:bandwidth=1GB/s", &request, true);
    memset(blocks, 0, sizeof blocks);
    serve("ring:7", &request, true);
}

static void test_relays(void **state)
{
    (void)state;
    struct pccl_request request = plan_request(PCCL_ALLTOALL, 8, 1 << 20);
    request.relays = true;
    struct pccl_topology *topology = open_topology("mesh:8x8:unit"); /* its first row; the others only pass on */
    int64_t makespan_ps[2];
    for (int k = 0; k < 2; k++) {
        struct pccl_error error = {""};
        struct pccl_simulation simulation = {0};
        struct pccl_schedule *schedule =
            plan(topology, &request, k == 0 ? "unicast:farthest" : "unicast:farthest-detours", 1, &error);
        assert_non_null(schedule);
        assert_int_equal(pccl_simulate(topology, schedule, &simulation, &error), 0);
        makespan_ps[k] = simulation.makespan_ps;
        pccl_schedule_free(schedule);
    }
    assert_true(makespan_ps[1] < makespan_ps[0]);
    pccl_topology_free(topology);
    topology = open_topology("mesh:32x16:unit"); /* its first row again: 64 blocks cross the middle each way */
    request.num_ranks = 16;
    struct pccl_error error = {""};
    struct pccl_simulation simulation = {0};
    struct pccl_schedule *schedule = plan(topology, &request, "unicast:farthest-detours", 1, &error);
    assert_non_null(schedule);
    assert_int_equal(pccl_simulate(topology, schedule, &simulation, &error), 0);
    assert_true(simulation.makespan_ps <= 22 * pccl_transfer_ps(1 << 20, topology->links[0].ps_per_mib));
    pccl_schedule_free(schedule);
    static const uint32_t members[] = {0, 1, 2, 3, 13, 7};
    request.num_ranks = 6;
    request.devices = members;
    serve("mesh:5x5", &request, false);
    request.relays = false;
    serve("mesh:5x5", &request, true);
    serve("mesh:5x5:routing=none", &request, false);
    pccl_topology_free(topology);
}

static void test_direct(void **state)
{
    (void)state;
    struct pccl_topology *topology = open_topology("torus:3x5");
    struct pccl_request request = plan_request(PCCL_ALLTOALL, 15, 1 << 16);
    struct pccl_error error = {""};
    request.direct = true;
    struct pccl_schedule *schedule = plan(topology, &request, "circuits:longest", 1, &error);
    assert_non_null(schedule);
    assert_int_equal(schedule->num_messages, 15 * 14);
    pccl_schedule_free(schedule);
    pccl_topology_free(topology);
}

/* No way for a chunk is said, not crashed on. */
static void test_unreachable(void **state)
{
    (void)state;
    struct pccl_topology *topology = open_topology("mesh:1x4:routing=none");
    static const uint32_t ends[] = {0, 3};
    struct pccl_request request = plan_request(PCCL_ALLTOALL, 2, 100);
    request.devices = ends;
    for (size_t m = 0; m < NUM_METHODS; m++) {
        struct pccl_error error = {""};
        assert_null(plan(topology, &request, methods[m], 1, &error));
        assert_true(strstr(error.message, "reach") != NULL);
    }
    pccl_topology_free(topology);
}

static void test_other_demands(void **state)
{
    (void)state;
    struct pccl_topology *topology = open_topology("ring:4");
    struct pccl_request request = plan_request(PCCL_ALLGATHER, 4, 100);
    struct pccl__problem problem;
    struct pccl_schedule *schedule;
    struct pccl_error error = {""};
    assert_int_equal(pccl__problem_open(&problem, topology, &request, NULL, &error), 0);
    for (uint32_t row = 0; row < pccl__num_rows; row++) {
        if (strncmp(pccl__rows[row].method, "unicast", 7) == 0 || strncmp(pccl__rows[row].method, "circuits", 8) == 0) {
            assert_int_equal(pccl__row_make(&problem, row, 1, &schedule, &error), PCCL_ERR_UNSUPPORTED);
        }
    }
    pccl__problem_close(&problem);
    pccl_topology_free(topology);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shapes),  cmocka_unit_test(test_makespans),   cmocka_unit_test(test_uneven_blocks),
        cmocka_unit_test(test_relays),  cmocka_unit_test(test_direct),      cmocka_unit_test(test_unreachable),
        cmocka_unit_test(test_other_demands),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
