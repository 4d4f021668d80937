/* All-to-all along lines: exactly at the bound where dimensions are even, near it elsewhere, right everywhere. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "algorithms/portfolio.h"
#include "open.h"
#include "pccl/verify.h"

#define MIB (INT64_C(1) << 20)

static uint32_t find_row(const char *method)
{
    uint32_t row = 0;
    while (row < pccl__num_rows && strcmp(pccl__rows[row].method, method) != 0) {
        row++;
    }
    return row;
}

/* The status of making it for the first num_ranks devices (0: all), these in reverse order; *slots: its length in
 * blocks on a link. */
static int make(const struct pccl_topology *topology, uint32_t num_ranks, int64_t *slots)
{
    struct pccl__problem problem;
    struct pccl_schedule *schedule = NULL;
    struct pccl_simulation simulation = {0};
    struct pccl_error error = {""};
    uint32_t devices[256];
    num_ranks = num_ranks > 0 ? num_ranks : topology->num_devices;
    assert_true(num_ranks <= 256);
    for (uint32_t rank = 0; rank < num_ranks; rank++) {
        devices[rank] = num_ranks - 1 - rank;
    }
    struct pccl_request request = {
        .collective = PCCL_ALLTOALL, .num_ranks = num_ranks, .devices = devices, .bytes = MIB};
    assert_int_equal(pccl__problem_open(&problem, topology, &request, NULL, &error), 0);
    int status = pccl__row_make(&problem, find_row("lines"), 1, &schedule, &error);
    pccl__problem_close(&problem);
    if (status == 0) {
        if (pccl_verify_schedule(topology, schedule, false, &error) != 0) {
            fail_msg("%s: %s", topology->name, error.message);
        }
        assert_int_equal(pccl_simulate(topology, schedule, &simulation, &error), 0);
        *slots = simulation.makespan_ps / topology->links[0].ps_per_mib;
        pccl_schedule_free(schedule);
    }
    return status;
}

/* A line of n: (n / 2) * (n - n / 2) blocks cross the middle; a mesh of a x b: b times as many over b links. */
static void test_lengths(void **state)
{
    (void)state;
    static const struct {
        const char *topology;
        int64_t least, most;
    } cases[] = {
        {"mesh:2:unit", 1, 1},
        {"mesh:7:unit", 12, 12},
        {"mesh:12:unit", 36, 36},
        {"mesh:4x4:unit", 16, 16},
        {"mesh:8x8:unit", 128, 128},
        {"mesh:12x6:unit", 216, 216},
        {"mesh:16x16:unit", 1024, 1024},
        {"mesh:5x7:unit", 60, 64},
        {"mesh:3x4x5:unit", 72, 84},
        {"hypercube:4:unit", 8, 14},
        {"mesh:1x5x1x3:unit", 18, 24},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct pccl_topology *topology = open_topology(cases[i].topology);
        int64_t slots = 0;
        assert_int_equal(make(topology, 0, &slots), 0);
        if (slots < cases[i].least || slots > cases[i].most) {
            fail_msg("%s: %lld slots", cases[i].topology, (long long)slots);
        }
        pccl_topology_free(topology);
    }
}

static void test_refusals(void **state)
{
    (void)state;
    static const char *const others[] = {"torus:4x4", "star:5", "full:4", "fattree:2x3"};
    int64_t slots;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        struct pccl_topology *topology = open_topology(others[i]);
        assert_int_equal(make(topology, 0, &slots), PCCL_ERR_UNSUPPORTED);
        pccl_topology_free(topology);
    }
    struct pccl_topology *topology = open_topology("mesh:4x4");
    assert_int_equal(make(topology, 12, &slots), PCCL_ERR_UNSUPPORTED);
    pccl_topology_free(topology);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lengths),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
