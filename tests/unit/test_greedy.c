/* The aggregated greedy against figures computed by hand in the LogGP model. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pccl/synth.h"

/* One switch; o = 1 us at the sender, L = 0.1 us (half on the way to the switch), G = 0.08 ns a byte. */
static struct pccl_topology *make_switch(uint32_t num_devices)
{
    struct pccl_topology_builder *builder = pccl_topology_builder_new("loggp");
    uint32_t devices[64], middle;
    for (uint32_t i = 0; i < num_devices; i++) {
        char name[16];
        snprintf(name, sizeof name, "d%u", i);
        devices[i] = pccl_topology_add_device(builder, name);
        pccl_topology_set_overheads(builder, devices[i], 1000000, 0);
    }
    middle = pccl_topology_add_switch(builder, "switch", false);
    for (uint32_t i = 0; i < num_devices; i++) {
        pccl_topology_add_link(builder, devices[i], middle, 50000, 83886080, PCCL_NONE);
        pccl_topology_add_link(builder, middle, devices[i], 50000, 83886080, PCCL_NONE);
    }
    struct pccl_topology *topology;
    assert_int_equal(pccl_topology_finish(builder, &topology, NULL), 0);
    return topology;
}

static int64_t synthesize(const struct pccl_topology *topology, enum pccl_collective collective, int64_t bytes,
                          const char *method, enum pccl_effort effort)
{
    uint32_t devices[64];
    for (uint32_t i = 0; i < topology->num_devices; i++) {
        devices[i] = i;
    }
    struct pccl_request request = {.collective = collective, .num_ranks = topology->num_devices, .devices = devices,
                                   .bytes = bytes};
    struct pccl_options options = {.effort = effort, .method = method};
    struct pccl_result *result;
    struct pccl_error error;
    if (pccl_synthesize(topology, &request, &options, &result, &error) != 0) {
        fail_msg("%s", error.message);
    }
    int64_t makespan_ps = result->makespan_ps;
    pccl_result_free(result);
    return makespan_ps;
}

/* Four rounds of o + L, and 15 blocks of 8 bytes. */
static void test_allgather_of_8_bytes(void **state)
{
    (void)state;
    struct pccl_topology *topology = make_switch(16);
    assert_int_equal(synthesize(topology, PCCL_ALLGATHER, 8, "greedy", PCCL_EFFORT_THOROUGH), 4409600);
    assert_int_equal(synthesize(topology, PCCL_ALLGATHER, 8, "bruck", PCCL_EFFORT_THOROUGH), 4409600);
    assert_int_equal(synthesize(topology, PCCL_ALLGATHER, 8, "ring:rank", PCCL_EFFORT_THOROUGH), 16509600);
    assert_true(synthesize(topology, PCCL_ALLGATHER, 8, NULL, PCCL_EFFORT_FIRST_USE) <= 4410000);
    pccl_topology_free(topology);
}

/* One overhead, one latency, and 15 blocks of 64 KiB without a pause. */
static void test_allgather_of_64_kib(void **state)
{
    (void)state;
    struct pccl_topology *topology = make_switch(16);
    assert_int_equal(synthesize(topology, PCCL_ALLGATHER, 65536, "spread", PCCL_EFFORT_THOROUGH), 79743200);
    assert_true(synthesize(topology, PCCL_ALLGATHER, 65536, "bruck", PCCL_EFFORT_THOROUGH) > 83000000);
    assert_true(synthesize(topology, PCCL_ALLGATHER, 65536, NULL, PCCL_EFFORT_FIRST_USE) <= 79743200);
    pccl_topology_free(topology);
}

/* Most ranks that a broadcast without bytes can have reached by `units` of 0.1 us: every informed rank starts a message
 * each 1 us, which arrives 1.1 us after its start (Karp et al., 1993). */
static uint32_t reached_by(uint32_t units)
{
    uint32_t reached = 1;
    for (uint32_t first = 11; first <= units; first += 10) {
        reached += reached_by(units - first);
    }
    return reached;
}

static void test_broadcast_is_optimal(void **state)
{
    (void)state;
    for (uint32_t n = 2; n <= 40; n++) {
        struct pccl_topology *topology = make_switch(n);
        uint32_t units = 0;
        while (reached_by(units) < n) {
            units++;
        }
        int64_t optimum = units * INT64_C(100000);
        assert_int_equal(synthesize(topology, PCCL_BROADCAST, 0, "greedy:tree", PCCL_EFFORT_THOROUGH), optimum);
        assert_true(synthesize(topology, PCCL_BROADCAST, 0, NULL, PCCL_EFFORT_FIRST_USE) <= optimum);
        pccl_topology_free(topology);
    }
}

/* Any number of ranks: never more than Bruck's rounds, by more than the bytes. */
static void test_allgather_of_odd_groups(void **state)
{
    (void)state;
    for (uint32_t n = 2; n <= 33; n++) {
        struct pccl_topology *topology = make_switch(n);
        int64_t greedy = synthesize(topology, PCCL_ALLGATHER, 8, "greedy", PCCL_EFFORT_THOROUGH);
        int64_t bruck = synthesize(topology, PCCL_ALLGATHER, 8, "bruck", PCCL_EFFORT_THOROUGH);
        if (greedy > bruck) {
            print_message("%u ranks: greedy %lld ps, bruck %lld ps\n", n, (long long)greedy, (long long)bruck);
        }
        assert_true(greedy <= bruck + bruck / 8);
        int64_t better = greedy < bruck ? greedy : bruck;
        assert_true(synthesize(topology, PCCL_ALLGATHER, 8, NULL, PCCL_EFFORT_FIRST_USE) <= better);
        pccl_topology_free(topology);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_allgather_of_8_bytes), cmocka_unit_test(test_allgather_of_64_kib),
        cmocka_unit_test(test_broadcast_is_optimal), cmocka_unit_test(test_allgather_of_odd_groups),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
