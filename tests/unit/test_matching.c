/* Matching: right on all kinds of topologies, and as fast as counting says it can be. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>

#include <cmocka.h>

#include <stdlib.h>

#include "pccl/simulate.h"
#include "plan.h"

static const enum pccl_collective served[] = {PCCL_ALLGATHER, PCCL_ALLREDUCE, PCCL_BARRIER, PCCL_BROADCAST, PCCL_REDUCE,
                                              PCCL_REDUCE_SCATTER};

static void serve_all(const char *text, const char *method, bool must)
{
    struct pccl_topology *topology = open_topology(text);
    for (size_t c = 0; c < sizeof served / sizeof served[0]; c++) {
        for (uint32_t pieces = 1; pieces <= 3; pieces++) {
            struct pccl_request request = plan_request(served[c], topology->num_devices, 100003);
            struct pccl_error error = {""};
            request.root = pccl_collective_is_rooted(served[c]) ? topology->num_devices - 1 : 0;
            struct pccl_schedule *schedule = plan(topology, &request, method, pieces, &error);
            if (schedule == NULL && must) {
                fail_msg("%s: %s", text, error.message);
            }
            pccl_schedule_free(schedule);
        }
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
                                         "mesh:7x6",
                                         "torus:2x3",
                                         "torus:2x2x2",
                                         "torus:3x4x5",
                                         "torus:13x2",
                                         "hypercube:4",
                                         "full:6",
                                         "full:7",
                                         "star:2",
                                         "star:5",
                                         "star:12",
                                         "fattree:3x4",
                                         "fattree:4x3:taper=3",
                                         "boxes:3x4",
                                         "boxes:2x8:bandwidth=200GB/s,25GB/s",
                                         "dragonfly:3x2x2",
                                         "torus:5x3:bandwidth=10GB/s,50GB/s",
                                         "mesh:4x4:bandwidth=1GB/s,30GB/s:latency=5us,1us",
                                         "mesh:3x3:routing=none"};
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        serve_all(shapes[i], "matching", true);
        serve_all(shapes[i], "matching:filling", false);
        serve_all(shapes[i], "matching:eager", false);
    }
}

/* A device receives n-1 blocks over its links: that many slots divided by the fewest links of any device. */
static void test_makespans(void **state)
{
    (void)state;
    assert_int_equal(plan_slots("ring:13:unit", PCCL_ALLGATHER, "matching", 1), 6);
    assert_int_equal(plan_slots("ring:12:unit", PCCL_ALLGATHER, "matching", 1), 6);
    assert_int_equal(plan_slots("full:9:unit", PCCL_ALLGATHER, "matching", 1), 1);
    assert_int_equal(plan_slots("mesh:8x8:unit", PCCL_ALLGATHER, "matching", 1), 32);
    assert_int_equal(plan_slots("mesh:32x16:unit", PCCL_ALLGATHER, "matching", 1), 256);
    assert_int_equal(plan_slots("mesh:8x8x8:unit", PCCL_ALLGATHER, "matching", 1), 171);
    assert_true(plan_slots("torus:32x16:unit", PCCL_ALLGATHER, "matching", 1) <= 129);
    assert_true(plan_slots("torus:8x8x8:unit", PCCL_ALLGATHER, "matching", 1) <= 86);
    assert_int_equal(plan_slots("mesh:8x8:unit", PCCL_REDUCE_SCATTER, "matching", 1), 32);
    assert_int_equal(plan_slots("star:7:unit", PCCL_ALLGATHER, "matching", 1), 6);
    /* Over a chain a broadcast in 8 pieces: the first arrives after 4 hops, 7 more follow; an eighth of a slot each. */
    assert_int_equal(plan_slots("mesh:5:unit", PCCL_BROADCAST, "matching", 8), 2);
}

/* Boxes whose outer links are 8 times slower: a block must cross into each other box once only. */
static void test_clusters(void **state)
{
    (void)state;
    struct pccl_topology *topology = open_topology("boxes:4x4:bandwidth=80GB/s,10GB/s:latency=0");
    struct pccl_request request = plan_request(PCCL_ALLGATHER, 16, 1 << 20);
    struct pccl_error error = {""};
    struct pccl_schedule *schedule = plan(topology, &request, "matching", 1, &error);
    assert_non_null(schedule);
    uint32_t crossings = 0;
    for (uint32_t m = 0; m < schedule->num_messages; m++) {
        const struct pccl_path *path = &schedule->paths[schedule->messages[m].path];
        crossings += path->source / 4 != path->target / 4;
    }
    assert_int_equal(crossings, 16 * 3);
    pccl_schedule_free(schedule);
    pccl_topology_free(topology);
}

/* Where each device has one link, no link of a broadcast (or a reduce) carries more than the vector. */
static void test_even_load(void **state)
{
    (void)state;
    static const char *const networks[] = {"star:16:unit", "star:13:unit", "star:9:unit"};
    static const enum pccl_collective collectives[] = {PCCL_BROADCAST, PCCL_REDUCE};
    for (size_t i = 0; i < 6; i++) {
        struct pccl_topology *topology = open_topology(networks[i / 2]);
        struct pccl_request request = plan_request(collectives[i % 2], topology->num_devices, 1 << 17);
        struct pccl_error error = {""};
        request.root = (uint32_t)i;
        struct pccl_schedule *schedule = plan(topology, &request, "matching", 128, &error);
        int64_t *link_bytes = calloc(topology->num_links, sizeof *link_bytes);
        struct pccl_simulation simulation = {.link_bytes = link_bytes};
        assert_non_null(schedule);
        assert_int_equal(pccl_simulate(topology, schedule, &simulation, NULL), 0);
        for (uint32_t l = 0; l < topology->num_links; l++) {
            bool is_of_device = topology->links[l].source < topology->num_devices;
            assert_true(!is_of_device || link_bytes[l] <= request.bytes);
        }
        free(link_bytes);
        pccl_schedule_free(schedule);
        pccl_topology_free(topology);
    }
}

/* Members of a larger network that routes by itself, some of them cut off from each other by others. */
static void test_groups(void **state)
{
    (void)state;
    static const uint32_t members[] = {23, 0, 7, 9, 10, 35, 34};
    struct pccl_topology *topology = open_topology("mesh:6x6");
    for (size_t c = 0; c < sizeof served / sizeof served[0]; c++) {
        struct pccl_request request = plan_request(served[c], 7, 4099);
        struct pccl_error error = {""};
        request.devices = members;
        struct pccl_schedule *schedule = plan(topology, &request, "matching", 2, &error);
        assert_non_null(schedule);
        pccl_schedule_free(schedule);
    }
    pccl_topology_free(topology);

    topology = open_topology("mesh:6x6:routing=none");
    struct pccl_request request = plan_request(PCCL_ALLGATHER, 7, 4099);
    struct pccl_error error = {""};
    request.devices = members;
    assert_null(plan(topology, &request, "matching", 1, &error));
    assert_true(strstr(error.message, "cannot reach") != NULL);
    pccl_topology_free(topology);
}

static void test_uneven_blocks(void **state)
{
    (void)state;
    static const int64_t blocks[] = {0, 1, 1 << 20, 7, 0, 123456, 3};
    struct pccl_topology *topology = open_topology("torus:7");
    static const enum pccl_collective collectives[] = {PCCL_ALLGATHER, PCCL_REDUCE_SCATTER};
    for (size_t c = 0; c < 2; c++) {
        struct pccl_request request = plan_request(collectives[c], 7, 0);
        struct pccl_error error = {""};
        request.block_bytes = blocks;
        struct pccl_schedule *schedule = plan(topology, &request, "matching", 2, &error);
        assert_non_null(schedule);
        pccl_schedule_free(schedule);
    }
    pccl_topology_free(topology);
}

static void test_repeatable(void **state)
{
    (void)state;
    struct pccl_topology *topology = open_topology("torus:5x6");
    struct pccl_request request = plan_request(PCCL_ALLREDUCE, 30, 65537);
    struct pccl_error error = {""};
    struct pccl_schedule *one = plan(topology, &request, "matching", 2, &error);
    struct pccl_schedule *two = plan(topology, &request, "matching", 2, &error);
    assert_true(pccl_schedule_digest(one) == pccl_schedule_digest(two));
    pccl_schedule_free(one);
    pccl_schedule_free(two);
    pccl_topology_free(topology);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shapes),        cmocka_unit_test(test_makespans), cmocka_unit_test(test_clusters),
        cmocka_unit_test(test_groups),        cmocka_unit_test(test_uneven_blocks),
        cmocka_unit_test(test_even_load),     cmocka_unit_test(test_repeatable),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
