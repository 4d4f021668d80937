/* Packing, and all-to-all planned for few devices and unfolded to all. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <setjmp.h>

#include <cmocka.h>

#include "algorithms/packing.h"
#include "plan.h"

/* An item for each pair of one of n rows and one of n columns, `times` over. */
static uint32_t pack_pairs(uint32_t n, uint32_t times, uint32_t capacity)
{
    struct pccl__packing packing;
    assert_int_equal(pccl__packing_create(&packing, 2 * n), 0);
    for (uint32_t r = 0; r < 2 * n; r++) {
        packing.capacity[r] = capacity;
    }
    for (uint32_t i = 0; i < n * n * times; i++) {
        uint32_t uses[2] = {i / n % n, n + i % n};
        assert_int_equal(pccl__packing_add_item(&packing, uses, i == 0 ? 0 : 2), 0);
    }
    assert_int_equal(pccl__packing_solve(&packing, 3, 1 << 22), 0);
    assert_int_equal(packing.slot[0], PCCL_NONE);
    uint32_t *taken = calloc((size_t)packing.num_slots * 2 * n, sizeof *taken), num_slots = packing.num_slots;
    for (uint32_t i = 1; i < packing.num_items; i++) {
        assert_true(packing.slot[i] < num_slots);
        assert_true(++taken[packing.slot[i] * 2 * n + i / n % n] <= capacity);
        assert_true(++taken[packing.slot[i] * 2 * n + n + i % n] <= capacity);
    }
    free(taken);
    pccl__packing_free(&packing);
    return num_slots;
}

/* Edges of a bipartite graph need as many colours as its largest degree (König 1916). */
static void test_packing(void **state)
{
    (void)state;
    assert_int_equal(pack_pairs(2, 1, 1), 2);
    assert_int_equal(pack_pairs(7, 1, 1), 7);
    assert_int_equal(pack_pairs(8, 3, 2), 12);
    assert_int_equal(pack_pairs(5, 13, 13), 5);
    assert_int_equal(pack_pairs(3, 70, 1), 210);
}

/* Nothing beats one block after the other at a device, or on the cable between two groups of 8 in the third case. */
static void test_makespans(void **state)
{
    (void)state;
    static const struct {
        const char *topology;
        int64_t least, most;
    } cases[] = {
        {"dragonfly:9x4x2:unit", 71, 73},         {"dragonfly:19x6x3:unit", 341, 355},
        {"dragonfly:5x4x2:unit", 64, 65},         {"dragonfly:5x4x4:links=4:unit", 79, 81},
        {"dragonfly:33x4x1:unit", 131, 144},      {"fattree:8x4:unit", 31, 32},
        {"fattree:24x12:spines=12:unit", 287, 288},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int64_t slots = plan_slots(cases[i].topology, PCCL_ALLTOALL, "circuits:folded", 1);
        if (slots < cases[i].least || slots > cases[i].most) {
            fail_msg("%s: %ld slots", cases[i].topology, (long)slots);
        }
    }
}

/* Numbers of ranks that are not those of the devices. */
static void test_ranks(void **state)
{
    (void)state;
    struct pccl_topology *topology = open_topology("dragonfly:5x2x2");
    struct pccl_request request = plan_request(PCCL_ALLTOALL, 20, 70001);
    struct pccl_error error = {""};
    for (uint32_t i = 0; i < 20; i++) {
        plan_devices[i] = (i * 7 + 3) % 20;
    }
    struct pccl_schedule *schedule = plan(topology, &request, "circuits:folded", 1, &error);
    assert_non_null(schedule);
    pccl_schedule_free(schedule);
    request.num_ranks = 19;
    assert_null(plan(topology, &request, "circuits:folded", 1, &error));
    pccl_topology_free(topology);
}

static void test_refusals(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "mesh:4x4", "torus:2x2", "boxes:4x4", "star:8", "fattree:2x8", "dragonfly:3x2x2:bandwidth=1GB/s,3GB/s,1GB/s",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct pccl_topology *topology = open_topology(texts[i]);
        struct pccl_request request = plan_request(PCCL_ALLTOALL, topology->num_devices, 4096);
        struct pccl_error error = {""};
        assert_null(plan(topology, &request, "circuits:folded", 1, &error));
        assert_true(strstr(error.message, "only ") != NULL);
        pccl_topology_free(topology);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_packing),
        cmocka_unit_test(test_makespans),
        cmocka_unit_test(test_ranks),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
