/* Routes: chains of links that obey their rule, with lengths from references of their own; even loads; reversal. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "open.h"

#define MAX_ROUTE 64

/* Walks a route and checks that it is a chain through vertices that forward. Returns its links, or the error. */
static int check_route(const struct pccl_topology *topology, uint32_t source, uint32_t target, uint32_t *links)
{
    const bool devices_forward = topology->routing != PCCL_ROUTING_NONE && topology->routing != PCCL_ROUTING_TABLE;
    int length = pccl_topology_route(topology, source, target, links, MAX_ROUTE);
    uint32_t at = source;
    for (int i = 0; i < length; i++) {
        assert_int_equal(topology->links[links[i]].source, at);
        at = topology->links[links[i]].target;
        assert_true(i + 1 == length || devices_forward || at >= topology->num_devices);
    }
    if (length >= 0) {
        assert_int_equal(at, target);
        assert_true((uint32_t)length <= pccl_topology_route_limit(topology));
        assert_int_equal(pccl_topology_route(topology, source, target, links, (uint32_t)length - 1), PCCL_ERR_OVERFLOW);
        assert_int_equal(pccl_topology_route(topology, source, target, links, (uint32_t)length), length);
    }
    return length;
}

/* All distances by Floyd and Warshall; only vertices from `first_forwarder` on may be passed. Links, then latency. */
static int64_t *all_distances(const struct pccl_topology *topology, uint32_t first_forwarder)
{
    const size_t n = topology->num_vertices;
    int64_t *distance = malloc(n * n * sizeof *distance);
    for (size_t i = 0; i < n * n; i++) {
        distance[i] = i % (n + 1) == 0 ? 0 : INT64_MAX / 4;
    }
    for (uint32_t l = 0; l < topology->num_links; l++) {
        const struct pccl_link *link = &topology->links[l];
        int64_t *entry = &distance[link->source * n + link->target], cost = (INT64_C(1) << 40) + link->latency_ps;
        *entry = cost < *entry ? cost : *entry;
    }
    for (size_t k = first_forwarder; k < n; k++) {
        for (size_t a = 0; a < n; a++) {
            for (size_t b = 0; b < n; b++) {
                int64_t through = distance[a * n + k] + distance[k * n + b];
                distance[a * n + b] = through < distance[a * n + b] ? through : distance[a * n + b];
            }
        }
    }
    return distance;
}

static void check_shortest(struct pccl_topology *topology)
{
    struct pccl_topology *reversed = NULL;
    const size_t n = topology->num_vertices;
    const bool devices_forward = topology->routing == PCCL_ROUTING_SHORTEST;
    int64_t *distance = all_distances(topology, devices_forward ? 0 : topology->num_devices);
    print_message("%s\n", topology->name);
    assert_int_equal(pccl_topology_reverse(topology, &reversed, NULL), 0);
    for (uint32_t s = 0; s < topology->num_devices; s++) {
        for (uint32_t t = 0; t < topology->num_devices; t++) {
            uint32_t links[MAX_ROUTE], back[MAX_ROUTE];
            int length = s != t ? check_route(topology, s, t, links) : 0;
            int64_t cost = 0;
            for (int i = 0; i < length; i++) {
                cost += (INT64_C(1) << 40) + topology->links[links[i]].latency_ps;
            }
            if (length == PCCL_ERR_UNREACHABLE) {
                cost = INT64_MAX / 4;
            }
            assert_int_equal(cost, distance[s * n + t] < INT64_MAX / 4 ? distance[s * n + t] : INT64_MAX / 4);
            if (s != t) { /* the reverse has the same route, backwards */
                assert_int_equal(check_route(reversed, t, s, back), length);
                for (int i = 0; i < length; i++) {
                    assert_int_equal(back[length - 1 - i], links[i]);
                }
            }
        }
    }
    free(distance);
    pccl_topology_free(reversed);
    pccl_topology_free(topology);
}

static void test_shortest(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "star:5", "full:6", "fattree:3x4", "fattree:4x4:spines=3", "fattree:2x3x2", "fattree:3x2x2:spines=2,3",
        "dragonfly:5x2x2", "dragonfly:3x2x1:links=3", "boxes:3x4", "mesh:3x4:routing=none", "torus:4x4:routing=none",
        "torus:3x5:routing=shortest", "mesh:4x3:routing=shortest:latency=1us,5us", "hypercube:4:routing=shortest",
        "ring:7:routing=shortest",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        check_shortest(open_topology(texts[i]));
    }
}

static void test_shortest_on_random_graphs(void **state)
{
    (void)state;
    struct pccl__random random = {5};
    print_message("seed %llu\n", (unsigned long long)random.state);
    for (int round = 0; round < 60; round++) {
        struct pccl_topology_builder *builder = pccl_topology_builder_new(round % 2 == 0 ? "random"
                                                                                         : "random, shortest");
        struct pccl_topology *topology = NULL;
        const uint32_t num_devices = 2 + pccl__random_below(&random, 8), num_vertices = num_devices + 8;
        for (uint32_t v = 0; v < num_vertices; v++) {
            char name[16];
            snprintf(name, sizeof name, "%u", v);
            (void)(v < num_devices ? pccl_topology_add_device(builder, name)
                                   : pccl_topology_add_switch(builder, name, false));
        }
        for (uint32_t i = 0; i < 3 * num_vertices; i++) {
            uint32_t from = pccl__random_below(&random, num_vertices),
                     step = 1 + pccl__random_below(&random, num_vertices - 1);
            pccl_topology_add_link(builder, from, (from + step) % num_vertices, pccl__random_below(&random, 4), 1,
                                   PCCL_NONE);
        }
        pccl_topology_set_routing(builder, round % 2 == 0 ? PCCL_ROUTING_NONE : PCCL_ROUTING_SHORTEST);
        assert_int_equal(pccl_topology_finish(builder, &topology, NULL), 0);
        check_shortest(topology);
    }
}

/* On a grid: the first dimension that differs moves, the shorter way, up on a tie. */
static void check_dimension_order(const char *text)
{
    struct pccl_topology *topology = open_topology(text), *reversed = NULL;
    assert_int_equal(pccl_topology_reverse(topology, &reversed, NULL), 0);
    for (uint32_t s = 0; s < topology->num_devices; s++) {
        for (uint32_t t = 0; t < topology->num_devices; t++) {
            uint32_t links[MAX_ROUTE], back[MAX_ROUTE], at = s;
            int length = s != t ? check_route(topology, s, t, links) : 0;
            for (int i = 0; i < length; i++) {
                uint32_t stride = topology->num_devices, d = 0, x = 0, y = 0, extent = 0;
                for (; d < topology->num_dimensions && x == y; d++) {
                    extent = topology->dimensions[d];
                    stride /= extent;
                    x = at / stride % extent;
                    y = t / stride % extent;
                }
                bool wraps = topology->wraps[d - 1];
                uint32_t above = y > x ? y - x : y + extent - x;
                bool up = wraps ? 2 * above <= extent : y > x;
                uint32_t next = up ? (x + 1) % extent : (x + extent - 1) % extent;
                at = at - x * stride + next * stride;
                assert_int_equal(topology->links[links[i]].target, at);
            }
            assert_int_equal(at, t);
            if (s != t) {
                assert_int_equal(check_route(reversed, t, s, back), length);
                assert_int_equal(back[0], links[length - 1]);
            }
        }
    }
    pccl_topology_free(reversed);
    pccl_topology_free(topology);
}

static void test_dimension_order(void **state)
{
    (void)state;
    check_dimension_order("mesh:5x3");
    check_dimension_order("torus:4x5");
    check_dimension_order("torus:2x3x4");
    check_dimension_order("hypercube:5");
    check_dimension_order("ring:8");
    check_dimension_order("torus:1x7x1");
}

static void test_missing_link(void **state)
{
    (void)state;
    /* A line of three whose second cable is gone one way. */
    struct pccl_topology_builder *builder = pccl_topology_builder_new("broken");
    struct pccl_topology *topology = NULL;
    uint32_t d[3], links[4];
    d[0] = pccl_topology_add_device(builder, "a");
    d[1] = pccl_topology_add_device(builder, "b");
    d[2] = pccl_topology_add_device(builder, "c");
    pccl_topology_add_link(builder, d[0], d[1], 1, 1, PCCL_NONE);
    pccl_topology_add_link(builder, d[1], d[0], 1, 1, PCCL_NONE);
    pccl_topology_add_link(builder, d[2], d[1], 1, 1, PCCL_NONE);
    pccl_topology_set_grid(builder, 1, (const uint32_t[]){3}, (const bool[]){false});
    pccl_topology_set_routing(builder, PCCL_ROUTING_DIMENSION_ORDER);
    assert_int_equal(pccl_topology_finish(builder, &topology, NULL), 0);
    assert_int_equal(pccl_topology_route(topology, 0, 2, links, 4), PCCL_ERR_UNREACHABLE);
    assert_int_equal(pccl_topology_route(topology, 2, 0, links, 4), 2);
    assert_int_equal(pccl_topology_route(topology, 1, 1, links, 4), PCCL_ERR_INVALID);
    assert_int_equal(pccl_topology_route(topology, 1, 3, links, 4), PCCL_ERR_INVALID);
    pccl_topology_free(topology);
}

/* In an all-to-all on a full fat tree every link carries the same number of routes. */
static void check_even_load(const char *text, uint32_t stride)
{
    struct pccl_topology *topology = open_topology(text);
    uint32_t *load = calloc(topology->num_links, sizeof *load), links[MAX_ROUTE];
    for (uint32_t s = 0; s < topology->num_devices; s += stride) {
        for (uint32_t t = 0; t < topology->num_devices; t += stride) {
            int length = s != t ? pccl_topology_route(topology, s, t, links, MAX_ROUTE) : 0;
            for (int i = 0; i < length; i++) {
                load[links[i]]++;
            }
        }
    }
    uint32_t least[2] = {UINT32_MAX, UINT32_MAX}, most[2] = {0, 0}; /* links of devices, links between switches */
    for (uint32_t l = 0; l < topology->num_links; l++) {
        bool inner = topology->links[l].source >= topology->num_devices &&
                     topology->links[l].target >= topology->num_devices;
        least[inner] = load[l] < least[inner] ? load[l] : least[inner];
        most[inner] = load[l] > most[inner] ? load[l] : most[inner];
    }
    print_message("%s: links of devices %u to %u, others %u to %u routes\n", text, least[0], most[0], least[1],
                  most[1]);
    assert_int_equal(least[0], most[0]);
    assert_int_equal(least[1], most[1]);
    free(load);
    pccl_topology_free(topology);
}

static void test_even_load(void **state)
{
    (void)state;
    check_even_load("fattree:4x16", 1);
    check_even_load("fattree:8x8:taper=2", 1);
    check_even_load("fattree:8x12:spines=3", 1);
}

/* With three levels, pods keep traffic inside: only links above the leaves, then above the pods, are alike. */
static void test_cores_share_evenly(void **state)
{
    (void)state;
    struct pccl_topology *topology = open_topology("fattree:4x4x4");
    uint32_t *load = calloc(topology->num_links, sizeof *load), links[MAX_ROUTE];
    for (uint32_t s = 0; s < 64; s++) {
        for (uint32_t t = 0; t < 64; t++) {
            int length = s != t ? pccl_topology_route(topology, s, t, links, MAX_ROUTE) : 0;
            assert_int_equal(length, s == t ? 0 : s / 4 == t / 4 ? 2 : s / 16 == t / 16 ? 4 : 6);
            for (int i = 0; i < length; i++) {
                load[links[i]]++;
            }
        }
    }
    const uint32_t core = pccl_topology_find(topology, "core0");
    for (uint32_t l = 0; l < topology->num_links; l++) {
        if (topology->links[l].source >= core || topology->links[l].target >= core) {
            assert_int_equal(load[l], 16 * 48 / 16); /* routes out of a pod over its links to cores */
        }
    }
    free(load);
    pccl_topology_free(topology);
}

/* Too large for a table: each call searches, with the same kind of result. */
static void test_without_table(void **state)
{
    (void)state;
    struct pccl_topology *topology = open_topology("fattree:512x2:spines=16");
    uint32_t links[MAX_ROUTE], used[16] = {0};
    const uint32_t spine = pccl_topology_find(topology, "spine0");
    for (uint32_t t = 2; t < 66; t++) {
        assert_int_equal(check_route(topology, 0, t, links), 4);
        used[topology->links[links[1]].target - spine]++;
    }
    for (int i = 0; i < 16; i++) {
        assert_int_equal(used[i], 4);
    }
    assert_int_equal(check_route(topology, 0, 1, links), 2);
    pccl_topology_free(topology);
}

static void test_parallel_links_and_two_nics(void **state)
{
    (void)state;
    /* Two devices, two switches, one of them nearer; and a slow direct link, which wins: it is fewer links. */
    struct pccl_topology_builder *builder = pccl_topology_builder_new("two ways");
    struct pccl_topology *topology = NULL;
    uint32_t a = pccl_topology_add_device(builder, "a"), b = pccl_topology_add_device(builder, "b");
    uint32_t c = pccl_topology_add_device(builder, "c"), near = pccl_topology_add_switch(builder, "near", false);
    uint32_t far = pccl_topology_add_switch(builder, "far", false), links[4];
    pccl_topology_add_link(builder, a, far, 5, 1, PCCL_NONE);  /* 0 */
    pccl_topology_add_link(builder, a, near, 1, 1, PCCL_NONE); /* 1 */
    pccl_topology_add_link(builder, far, b, 5, 1, PCCL_NONE);  /* 2 */
    pccl_topology_add_link(builder, near, b, 1, 1, PCCL_NONE); /* 3 */
    pccl_topology_add_link(builder, near, b, 1, 1, PCCL_NONE); /* 4: b is device 1, so it takes this one */
    pccl_topology_add_link(builder, a, c, 99, 1, PCCL_NONE);   /* 5 */
    pccl_topology_add_link(builder, a, c, 98, 1, PCCL_NONE);   /* 6 */
    pccl_topology_add_link(builder, near, c, 1, 1, PCCL_NONE); /* 7 */
    assert_int_equal(pccl_topology_finish(builder, &topology, NULL), 0);
    assert_int_equal(pccl_topology_route(topology, 0, 1, links, 4), 2);
    assert_int_equal(links[0], 1);
    assert_int_equal(links[1], 4);
    assert_int_equal(pccl_topology_route(topology, 0, 2, links, 4), 1);
    assert_int_equal(links[0], 6);
    assert_int_equal(pccl_topology_route(topology, 1, 0, links, 4), PCCL_ERR_UNREACHABLE);
    pccl_topology_free(topology);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shortest),      cmocka_unit_test(test_dimension_order),
        cmocka_unit_test(test_missing_link),  cmocka_unit_test(test_even_load),
        cmocka_unit_test(test_without_table), cmocka_unit_test(test_cores_share_evenly),
        cmocka_unit_test(test_parallel_links_and_two_nics), cmocka_unit_test(test_shortest_on_random_graphs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
