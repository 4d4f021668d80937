/* Topologies by hand: numbering, capacities, lists of links, names, reversal, digests, and every rule a builder
 * enforces. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "base/random.h"
#include "pccl/topology.h"

/* a -> switch <-> b, c -> b; the switch is added first, so numbers differ from ids. */
static struct pccl_topology_builder *sample(void)
{
    struct pccl_topology_builder *builder = pccl_topology_builder_new("sample");
    uint32_t s = pccl_topology_add_switch(builder, "s", true);
    uint32_t a = pccl_topology_add_device(builder, "a"), b = pccl_topology_add_device(builder, "b");
    uint32_t c = pccl_topology_add_device(builder, "c");
    pccl_topology_set_overheads(builder, b, 5, 7);
    pccl_topology_add_link(builder, a, s, 10, 100, 77);
    pccl_topology_add_link(builder, s, b, 20, 200, PCCL_NONE);
    pccl_topology_add_link(builder, b, s, 30, 300, 77);
    pccl_topology_add_link(builder, c, b, 40, 400, 3);
    return builder;
}

static void test_numbering(void **state)
{
    (void)state;
    struct pccl_topology *topology = NULL;
    assert_int_equal(pccl_topology_finish(sample(), &topology, NULL), 0);
    assert_int_equal(topology->num_devices, 3);
    assert_int_equal(topology->num_vertices, 4);
    assert_int_equal(pccl_topology_find(topology, "a"), 0);
    assert_int_equal(pccl_topology_find(topology, "b"), 1);
    assert_int_equal(pccl_topology_find(topology, "c"), 2);
    assert_int_equal(pccl_topology_find(topology, "s"), 3);
    assert_int_equal(pccl_topology_find(topology, "t"), PCCL_NONE);
    assert_int_equal(topology->vertices[3].kind, PCCL_SWITCH);
    assert_true(topology->vertices[3].multicast);
    assert_int_equal(topology->vertices[1].send_overhead_ps, 5);
    assert_int_equal(topology->vertices[1].receive_overhead_ps, 7);
    assert_int_equal(topology->links[3].source, 2);
    assert_int_equal(topology->links[3].target, 1);
    const uint32_t capacities[] = {0, 1, 0, 2};
    for (int l = 0; l < 4; l++) {
        assert_int_equal(topology->links[l].capacity, capacities[l]);
        assert_int_equal(topology->links[l].bandwidth_origin, PCCL_ORIGIN_DECLARED);
    }
    assert_int_equal(topology->num_capacities, 3);
    const uint32_t in_of_b[] = {1, 3};
    assert_int_equal(topology->first_in[2] - topology->first_in[1], 2);
    assert_memory_equal(&topology->in_links[topology->first_in[1]], in_of_b, sizeof in_of_b);
    assert_int_equal(topology->first_out[4], 4);
    pccl_topology_free(topology);
}

static void test_reverse(void **state)
{
    (void)state;
    struct pccl_topology *topology = NULL, *reversed = NULL, *again = NULL, *same = NULL;
    assert_int_equal(pccl_topology_finish(sample(), &topology, NULL), 0);
    assert_int_equal(pccl_topology_finish(sample(), &same, NULL), 0);
    assert_int_equal(topology->digest, same->digest);
    assert_int_equal(pccl_topology_reverse(topology, &reversed, NULL), 0);
    pccl_topology_free(topology); /* the reverse lives on by itself */
    assert_int_equal(reversed->links[0].source, 3);
    assert_int_equal(reversed->links[0].target, 0);
    assert_int_equal(reversed->links[0].capacity, 0);
    assert_int_equal(reversed->vertices[1].send_overhead_ps, 7);
    assert_int_equal(reversed->vertices[1].receive_overhead_ps, 5);
    assert_int_not_equal(reversed->digest, same->digest);
    assert_int_equal(pccl_topology_reverse(reversed, &again, NULL), 0);
    assert_int_equal(again->digest, same->digest);
    pccl_topology_free(again);
    pccl_topology_free(reversed);
    pccl_topology_free(same);
    pccl_topology_free(NULL);
}

static void test_digest_sees_everything(void **state)
{
    (void)state;
    uint64_t digests[8];
    for (int change = 0; change < 8; change++) {
        struct pccl_topology *topology = NULL;
        struct pccl_topology_builder *builder = pccl_topology_builder_new(change == 1 ? "other" : "name");
        uint32_t a = pccl_topology_add_device(builder, "a"),
                 b = pccl_topology_add_device(builder, change == 2 ? "c" : "b");
        uint32_t s = pccl_topology_add_switch(builder, "s", change == 3);
        pccl_topology_set_overheads(builder, a, change == 4, 0);
        pccl_topology_set_origins(builder, PCCL_ORIGIN_DECLARED,
                                  change == 5 ? PCCL_ORIGIN_MEASURED : PCCL_ORIGIN_DECLARED);
        pccl_topology_add_link(builder, a, s, 1, 2, PCCL_NONE);
        pccl_topology_add_link(builder, s, b, 1, change == 6 ? 3 : 2, PCCL_NONE);
        pccl_topology_set_routing(builder, change == 7 ? PCCL_ROUTING_SHORTEST : PCCL_ROUTING_NONE);
        assert_int_equal(pccl_topology_finish(builder, &topology, NULL), 0);
        digests[change] = topology->digest;
        for (int before = 0; before < change; before++) {
            assert_int_not_equal(digests[before], digests[change]);
        }
        pccl_topology_free(topology);
    }
}

enum breakage {
    NO_DEVICES,
    SAME_NAME,
    SWITCH_NAME,
    EMPTY_NAME,
    SELF_LINK,
    UNKNOWN_END,
    NEGATIVE_LATENCY,
    HUGE_LATENCY,
    NEGATIVE_TIME,
    OVERHEAD_OF_SWITCH,
    NEGATIVE_OVERHEAD,
    TABLE_OF_LINKS,
    ORDER_WITHOUT_GRID,
    GRID_TOO_SMALL,
    GRID_TOO_LARGE,
    GRID_OF_ZERO,
    TOO_MANY_DIMENSIONS,
    NUM_BREAKAGES
};

static void test_builder_refuses(void **state)
{
    (void)state;
    static const char *const texts[NUM_BREAKAGES] = {
        [NO_DEVICES] = "no devices", [SAME_NAME] = "\"a\"", [SWITCH_NAME] = "\"a\"", [EMPTY_NAME] = "empty name",
        [SELF_LINK] = "a to itself", [UNKNOWN_END] = "9", [NEGATIVE_LATENCY] = "-1 ps", [HUGE_LATENCY] = "latency",
        [NEGATIVE_TIME] = "per MiB", [OVERHEAD_OF_SWITCH] = "no device", [NEGATIVE_OVERHEAD] = "-5",
        [TABLE_OF_LINKS] = "does not leave it", [ORDER_WITHOUT_GRID] = "grid", [GRID_TOO_SMALL] = "grid of 1 ",
        [GRID_TOO_LARGE] = "at least 3", [GRID_OF_ZERO] = "extent 0", [TOO_MANY_DIMENSIONS] = "17 dimensions",
    };
    for (int breakage = 0; breakage < NUM_BREAKAGES; breakage++) {
        struct pccl_topology *topology = NULL;
        struct pccl_error error = {""};
        struct pccl_topology_builder *builder = pccl_topology_builder_new("broken");
        uint32_t extents[17] = {1, 1};
        bool wraps[17] = {false};
        uint32_t s = pccl_topology_add_switch(builder, breakage == SWITCH_NAME ? "a" : "s", false), a = PCCL_NONE,
                 b = PCCL_NONE;
        if (breakage != NO_DEVICES) {
            a = pccl_topology_add_device(builder, breakage == EMPTY_NAME ? "" : "a");
            b = pccl_topology_add_device(builder, breakage == SAME_NAME ? "a" : "b");
            pccl_topology_add_link(builder, a, breakage == SELF_LINK ? a : breakage == UNKNOWN_END ? 9 : b,
                                   breakage == NEGATIVE_LATENCY ? -1 : breakage == HUGE_LATENCY ? INT64_MAX : 0,
                                   breakage == NEGATIVE_TIME ? -1 : 0, PCCL_NONE);
            pccl_topology_set_overheads(builder, breakage == OVERHEAD_OF_SWITCH ? s : a, 0,
                                        breakage == NEGATIVE_OVERHEAD ? -5 : 0);
        }
        extents[0] = breakage == GRID_TOO_LARGE ? 3 : breakage == GRID_OF_ZERO ? 0 : 1;
        if (breakage >= GRID_TOO_SMALL) {
            pccl_topology_set_grid(builder, breakage == TOO_MANY_DIMENSIONS ? 17 : 2, extents, wraps);
        }
        if (breakage == TABLE_OF_LINKS) {
            pccl_topology_add_route(builder, b, a, 0);
        }
        pccl_topology_set_routing(builder, breakage == TABLE_OF_LINKS       ? PCCL_ROUTING_TABLE
                                           : breakage == ORDER_WITHOUT_GRID ? PCCL_ROUTING_DIMENSION_ORDER
                                                                            : PCCL_ROUTING_NONE);
        assert_int_equal(pccl_topology_finish(builder, &topology, &error), PCCL_ERR_INVALID);
        if (strstr(error.message, texts[breakage]) == NULL) {
            fail_msg("breakage %d: \"%s\" does not name \"%s\"", breakage, error.message, texts[breakage]);
        }
        assert_null(topology);
    }
}

static void test_shared_capacities_by_any_numbers(void **state)
{
    (void)state;
    struct pccl__random random = {7};
    for (int round = 0; round < 50; round++) {
        struct pccl_topology_builder *builder = pccl_topology_builder_new("random");
        struct pccl_topology *topology = NULL;
        uint32_t numbers[40], a = pccl_topology_add_device(builder, "a"), b = pccl_topology_add_device(builder, "b");
        for (int l = 0; l < 40; l++) {
            numbers[l] = pccl__random_below(&random, 3) == 0 ? PCCL_NONE : pccl__random_below(&random, 12) * 357913941u;
            pccl_topology_add_link(builder, a, b, 0, 0, numbers[l]);
        }
        assert_int_equal(pccl_topology_finish(builder, &topology, NULL), 0);
        uint32_t next = 0;
        for (int l = 0; l < 40; l++) {
            uint32_t expected = PCCL_NONE;
            for (int before = 0; before < l && numbers[l] != PCCL_NONE; before++) {
                expected = numbers[before] == numbers[l] ? topology->links[before].capacity : expected;
            }
            assert_int_equal(topology->links[l].capacity, expected != PCCL_NONE ? expected : next);
            next += expected == PCCL_NONE;
        }
        assert_int_equal(topology->num_capacities, next);
        pccl_topology_free(topology);
    }
}

static void test_transfer_time(void **state)
{
    (void)state;
    assert_int_equal(pccl_transfer_ps(0, 1000), 0);
    assert_int_equal(pccl_transfer_ps(1000, 0), 0);
    assert_int_equal(pccl_transfer_ps(1, 1), 1); /* rounded up */
    assert_int_equal(pccl_transfer_ps(1 << 20, 83886080), 83886080);
    assert_int_equal(pccl_transfer_ps((1 << 20) + 1, 1 << 20), (1 << 20) + 1);
    assert_int_equal(pccl_transfer_ps(INT64_MAX, INT64_MAX), INT64_MAX / 4);
    assert_int_equal(pccl_transfer_ps(INT64_C(1) << 40, INT64_C(1) << 40), INT64_C(1) << 60);
}

static void test_find_among_many(void **state)
{
    (void)state;
    struct pccl_topology_builder *builder = pccl_topology_builder_new("many");
    struct pccl_topology *topology = NULL;
    char name[16];
    for (int d = 0; d < 5000; d++) {
        snprintf(name, sizeof name, "%x", d * 7919);
        pccl_topology_add_device(builder, name);
    }
    assert_int_equal(pccl_topology_finish(builder, &topology, NULL), 0);
    for (int d = 0; d < 5000; d++) {
        snprintf(name, sizeof name, "%x", d * 7919);
        assert_int_equal(pccl_topology_find(topology, name), d);
    }
    assert_int_equal(pccl_topology_find(topology, "none"), PCCL_NONE);
    pccl_topology_free(topology);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbering),       cmocka_unit_test(test_reverse),
        cmocka_unit_test(test_builder_refuses), cmocka_unit_test(test_digest_sees_everything),
        cmocka_unit_test(test_transfer_time),   cmocka_unit_test(test_shared_capacities_by_any_numbers),
        cmocka_unit_test(test_find_among_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
