/* Rules by which a network routes, as fabric files give them: up and down, tables; and that plans keep to the routes. */
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
#include "pccl/io.h"
#include "pccl/synth.h"
#include "pccl/verify.h"
#include "text_file.h"

/* --- up and down -------------------------------------------------------------------------------------------------- */

/* The fewest links of a way that goes up, then down, by trying all ways: heights are distances from the devices, equal
 * ones in order of number. The way has to turn down as soon as that leads to the target. */
struct climber {
    const struct pccl_topology *topology;
    const uint32_t *height;
};

static bool is_up(const struct climber *climber, const struct pccl_link *link)
{
    uint32_t from = climber->height[link->source], to = climber->height[link->target];
    return to > from || (to == from && link->target < link->source);
}

static uint32_t least_way(const struct climber *climber, uint32_t at, uint32_t target, bool down)
{
    uint32_t best = PCCL_NONE;
    const struct pccl_topology *topology = climber->topology;
    for (uint32_t i = topology->first_out[at]; i < topology->first_out[at + 1]; i++) {
        const struct pccl_link *link = &topology->links[topology->out_links[i]];
        bool ends = link->target == target, is_down = !is_up(climber, link);
        if ((link->target < topology->num_devices && !ends) || is_down != down) {
            continue;
        }
        uint32_t rest = ends ? 0 : least_way(climber, link->target, target, true);
        if (rest == PCCL_NONE && !down) {
            rest = least_way(climber, link->target, target, false);
        }
        best = rest != PCCL_NONE && rest + 1 < best ? rest + 1 : best;
    }
    return best;
}

static uint32_t *find_heights(const struct pccl_topology *topology)
{
    uint32_t *height = calloc(topology->num_vertices, sizeof *height);
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t l = 0; l < topology->num_links; l++) {
            const struct pccl_link *link = &topology->links[l];
            bool near = link->target < topology->num_devices || height[link->target] > 0;
            uint32_t *above = &height[link->source];
            if (link->source >= topology->num_devices && near && (*above == 0 || height[link->target] + 1 < *above)) {
                *above = height[link->target] + 1;
                changed = true;
            }
        }
    }
    return height;
}

static void check_up_down(struct pccl_topology *topology)
{
    uint32_t *height = find_heights(topology), met = 0;
    struct climber climber = {topology, height};
    for (uint32_t a = 0; a < topology->num_devices; a++) {
        for (uint32_t b = 0; b < topology->num_devices; b++) {
            uint32_t links[64], expected;
            if (a == b) {
                continue;
            }
            int length = pccl_topology_route(topology, a, b, links, 64);
            expected = least_way(&climber, a, b, true);
            expected = expected != PCCL_NONE ? expected : least_way(&climber, a, b, false);
            assert_int_equal(length, expected != PCCL_NONE ? (int)expected : PCCL_ERR_UNREACHABLE);
            bool down = false;
            for (int i = 0; i < length; i++) {
                bool up = is_up(&climber, &topology->links[links[i]]);
                assert_false(up && down);
                down = !up;
                assert_true(i == 0 || topology->links[links[i]].source >= topology->num_devices);
                assert_int_equal(topology->links[links[i]].source, i > 0 ? topology->links[links[i - 1]].target : a);
            }
            met += length > 0;
        }
    }
    print_message("%s: %u pairs reach each other\n", topology->name, met);
    check_file(topology);
    free(height);
    pccl_topology_free(topology);
}

static void test_up_down_on_random_networks(void **state)
{
    (void)state;
    struct pccl__random random = {11};
    print_message("seed 11\n");
    for (int round = 0; round < 40; round++) {
        struct pccl_topology_builder *builder = pccl_topology_builder_new("random");
        struct pccl_topology *topology = NULL;
        const uint32_t num_devices = 2 + pccl__random_below(&random, 6),
                       num_switches = 2 + pccl__random_below(&random, 5);
        for (uint32_t v = 0; v < num_devices + num_switches; v++) {
            char name[16];
            snprintf(name, sizeof name, "%u", v);
            if (v < num_devices) {
                pccl_topology_add_device(builder, name);
            } else {
                pccl_topology_add_switch(builder, name, false);
            }
        }
        for (uint32_t l = 0; l < 2 * num_devices + 2 * num_switches; l++) {
            uint32_t a = l < num_devices ? l : num_devices + pccl__random_below(&random, num_switches);
            uint32_t b = num_devices + pccl__random_below(&random, num_switches);
            if (a != b) {
                pccl_topology_add_link(builder, a, b, pccl__random_below(&random, 3), 1, PCCL_NONE);
                pccl_topology_add_link(builder, b, a, pccl__random_below(&random, 3), 1, PCCL_NONE);
            }
        }
        pccl_topology_set_routing(builder, PCCL_ROUTING_UP_DOWN);
        assert_int_equal(pccl_topology_finish(builder, &topology, NULL), 0);
        check_up_down(topology);
    }
}

/* On a fat tree up and down is the shortest way, and the spread over spines is the same. */
static void test_up_down_on_a_tree(void **state)
{
    (void)state;
    struct pccl_topology *tree = open_topology("fattree:4x4:spines=3"), *climbed = NULL;
    struct pccl_topology_builder *builder = pccl_topology_builder_new("climbed");
    for (uint32_t v = 0; v < tree->num_vertices; v++) {
        if (v < tree->num_devices) {
            pccl_topology_add_device(builder, tree->vertices[v].name);
        } else {
            pccl_topology_add_switch(builder, tree->vertices[v].name, false);
        }
    }
    for (uint32_t l = 0; l < tree->num_links; l++) {
        const struct pccl_link *link = &tree->links[l];
        pccl_topology_add_link(builder, link->source, link->target, link->latency_ps, link->ps_per_mib, PCCL_NONE);
    }
    pccl_topology_set_routing(builder, PCCL_ROUTING_UP_DOWN);
    assert_int_equal(pccl_topology_finish(builder, &climbed, NULL), 0);
    check_routes(tree, climbed);
    pccl_topology_free(tree);
    check_up_down(climbed);
}

/* --- tables ------------------------------------------------------------------------------------------------------- */

/* a - s = t - b, c on t; the second cable between s and t carries what is for c. */
#define TABLED(routes)                                                                                                 \
    "{\"devices\": [\"a\", \"b\", \"c\"], \"switches\": [\"s\", \"t\"], \"links\": ["                                  \
    "{\"source\": \"a\", \"target\": \"s\", \"duplex\": true}, {\"source\": \"b\", \"target\": \"t\", \"duplex\": "    \
    "true},"                                                                                                           \
    "{\"source\": \"c\", \"target\": \"t\", \"duplex\": true}, {\"source\": \"s\", \"target\": \"t\", \"duplex\": "    \
    "true},"                                                                                                           \
    "{\"source\": \"s\", \"target\": \"t\"}], \"routing\": \"table\", \"routes\": " routes "}"
#define ROUTES                                                                                                         \
    "{\"a\": {\"s\": \"1-2\"}, \"s\": {\"a\": \"0\", \"#6\": [\"b\"], \"#8\": [2]}, \"t\": {\"s\": \"0\", \"b\": "     \
    "\"1\", \"c\": \"2\"}, "                                                                                           \
    "\"b\": {\"t\": \"0,2\"}}"

static void test_table(void **state)
{
    (void)state;
    struct pccl_topology *topology = read_text(TABLED(ROUTES)), *reversed = NULL;
    static const uint32_t to_b[] = {0, 6, 3}, to_c[] = {0, 8, 5}, b_to_a[] = {2, 7, 1};
    uint32_t links[8];
    assert_int_equal(topology->routing, PCCL_ROUTING_TABLE);
    assert_int_equal(pccl_topology_route(topology, 0, 1, links, 8), 3);
    assert_memory_equal(links, to_b, sizeof to_b);
    assert_int_equal(pccl_topology_route(topology, 0, 2, links, 8), 3);
    assert_memory_equal(links, to_c, sizeof to_c);
    assert_int_equal(pccl_topology_route(topology, 1, 0, links, 8), 3);
    assert_memory_equal(links, b_to_a, sizeof b_to_a);
    assert_int_equal(pccl_topology_route(topology, 2, 0, links, 8), PCCL_ERR_UNREACHABLE);
    assert_int_equal(pccl_topology_route(topology, 0, 1, links, 2), PCCL_ERR_OVERFLOW);
    assert_int_equal(pccl_topology_route_limit(topology), 3);
    check_file(topology);
    assert_int_equal(pccl_topology_reverse(topology, &reversed, NULL), 0);
    assert_int_equal(pccl_topology_route(reversed, 2, 0, links, 8), 3);
    assert_int_equal(links[0], 5);
    check_file(reversed);
    pccl_topology_free(reversed);
    pccl_topology_free(topology);
}

/* --- plans -------------------------------------------------------------------------------------------------------- */

/* Every message of every plan takes a single link or the network's own route, and the verifier accepts it. */
static void check_plans(const struct pccl_topology *topology)
{
    static const enum pccl_collective collectives[] = {PCCL_ALLGATHER, PCCL_ALLREDUCE, PCCL_ALLTOALL, PCCL_BROADCAST,
                                                       PCCL_REDUCE,    PCCL_GATHER,    PCCL_BARRIER};
    uint32_t devices[64], links[64];
    for (uint32_t d = 0; d < topology->num_devices; d++) {
        devices[d] = (d * 7 + 3) % topology->num_devices; /* no order that the network has */
    }
    for (size_t c = 0; c < sizeof collectives / sizeof collectives[0]; c++) {
        for (int64_t bytes = 8; bytes <= 1 << 16; bytes *= 8192) {
            struct pccl_request request = {
                .collective = collectives[c], .num_ranks = topology->num_devices, .devices = devices, .bytes = bytes};
            struct pccl_options options = {.effort = PCCL_EFFORT_FIRST_USE};
            struct pccl_result *result = NULL;
            struct pccl_error error = {""};
            if (pccl_synthesize(topology, &request, &options, &result, &error) != 0) {
                fail_msg("%s: %s", topology->name, error.message);
            }
            const struct pccl_schedule *schedule = result->schedule;
            if (pccl_verify_schedule(topology, schedule, false, &error) != 0) {
                fail_msg("%s: %s", topology->name, error.message);
            }
            for (uint32_t p = 0; p < schedule->num_paths; p++) {
                const struct pccl_path *way = &schedule->paths[p];
                int length = pccl_topology_route(topology, way->source, way->target, links, 64);
                assert_true(way->num_links == 1 || length == (int)way->num_links);
                assert_true(way->num_links == 1 ||
                            memcmp(links, schedule->path_links + way->first_link, way->num_links * sizeof *links) == 0);
            }
            print_message("%s, %lld bytes: %s, %u paths\n", pccl_collective_name(collectives[c]), (long long)bytes,
                          schedule->method, schedule->num_paths);
            pccl_result_free(result);
        }
    }
}

/* 3 leaves of 3 hosts, 2 spines, and a cable between two leaves that up-down may use only at the top of a way. */
#define LEAVES(rest)                                                                                                   \
    "{\"devices\": 9, \"switches\": 5, \"links\": [" LEAF("0", "0") LEAF("1", "0") LEAF("2", "0") LEAF("3", "1")       \
        LEAF("4", "1") LEAF("5", "1") LEAF("6", "2") LEAF("7", "2") LEAF("8", "2") UP("0", "3") UP("0", "4")           \
            UP("1", "3") UP("1", "4") UP("2", "3") UP("2", "4") "{\"source\": \"s0\", \"target\": \"s1\", "            \
                                                                "\"bandwidth\": \"1GB/s\", \"duplex\": true}], " rest  \
                                                                "}"
#define LEAF(host, leaf) "{\"source\": \"d" host "\", \"target\": \"s" leaf "\", \"duplex\": true}, "
#define UP(leaf, spine) "{\"source\": \"s" leaf "\", \"target\": \"s" spine "\", \"duplex\": true}, "

static void test_plans_take_routes(void **state)
{
    (void)state;
    static const char *const generated[] = {"torus:3x4", "mesh:4x3", "torus:4x4:bandwidth=1GB/s,5GB/s",
                                            "mesh:3x3:routing=shortest"};
    for (size_t i = 0; i < sizeof generated / sizeof generated[0]; i++) {
        struct pccl_topology *topology = open_topology(generated[i]);
        check_plans(topology);
        pccl_topology_free(topology);
    }
    struct pccl_topology *topology = read_text(LEAVES("\"routing\": \"min-hop\""));
    check_plans(topology);
    pccl_topology_free(topology);
    topology = read_text(LEAVES("\"routing\": \"up-down\""));
    check_plans(topology);
    pccl_topology_free(topology);
    /* Leaf 0 sends to leaf 1 through spine 3 and to leaf 2 through 4; leaf 1 through 4 only; leaf 2 through 3 only. */
    topology = read_text(
        LEAVES("\"routing\": \"table\", \"routes\": {\"d0\": {\"s0\": \"1-8\"}, \"d1\": {\"s0\": \"0,2-8\"}, \"d2\": "
               "{\"s0\": \"0-1,3-8\"}, \"d3\": {\"s1\": \"0-2,4-8\"}, \"d4\": {\"s1\": \"0-3,5-8\"}, \"d5\": {\"s1\": "
               "\"0-4,6-8\"}, \"d6\": {\"s2\": \"0-5,7-8\"}, \"d7\": {\"s2\": \"0-6,8\"}, \"d8\": {\"s2\": \"0-7\"}, "
               "\"s0\": {\"d0\": \"0\", \"d1\": \"1\", \"d2\": \"2\", \"s3\": \"3-5\", \"s4\": \"6-8\"}, "
               "\"s1\": {\"d3\": \"3\", \"d4\": \"4\", \"d5\": \"5\", \"s4\": \"0-2,6-8\"}, "
               "\"s2\": {\"d6\": \"6\", \"d7\": \"7\", \"d8\": \"8\", \"s3\": \"0-5\"}, "
               "\"s3\": {\"s0\": \"0-2\", \"s1\": \"3-5\", \"s2\": \"6-8\"}, "
               "\"s4\": {\"s0\": \"0-2\", \"s1\": \"3-5\", \"s2\": \"6-8\"}}"));
    check_plans(topology);
    pccl_topology_free(topology);
}

/* A path through a device that does not forward is refused, by whichever rule the network routes. */
static void test_no_way_through_devices(void **state)
{
    (void)state;
    static const char *const rules[] = {"none", "min-hop", "up-down", "table", "shortest"};
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        char text[400];
        snprintf(text, sizeof text,
                 "{\"devices\": 3, \"links\": [{\"source\": \"d0\", \"target\": \"d1\"}, {\"source\": \"d1\", "
                 "\"target\": \"d2\"}], \"routing\": \"%s\"%s}",
                 rules[i], strcmp(rules[i], "table") == 0 ? ", \"routes\": {}" : "");
        struct pccl_topology *topology = read_text(text);
        const uint32_t devices[] = {0, 2}, way[] = {0, 1};
        struct pccl_request request = {.collective = PCCL_BROADCAST, .num_ranks = 2, .devices = devices, .bytes = 100};
        struct pccl_demand *demand;
        struct pccl_error error = {""};
        assert_int_equal(pccl_demand_create(&request, 1, &demand, NULL), 0);
        struct pccl_schedule *schedule = NULL;
        const uint32_t chunk = 0;
        assert_int_equal(pccl_schedule_create(demand, topology, "by hand", &schedule, NULL), 0);
        uint32_t number = pccl_schedule_path(schedule, topology, way, 2);
        assert_int_equal(pccl_schedule_add(schedule, 0, number, false, &chunk, 1), 0);
        assert_int_equal(pccl_schedule_seal(schedule), 0);
        int status = pccl_verify_schedule(topology, schedule, false, &error);
        assert_int_equal(status, strcmp(rules[i], "shortest") == 0 ? 0 : PCCL_ERR_VERIFY);
        pccl_schedule_free(schedule);
        pccl_topology_free(topology);
    }
}

/* --- refusals ----------------------------------------------------------------------------------------------------- */

static void test_refusals(void **state)
{
    (void)state;
    static const struct {
        const char *text, *names;
    } cases[] = {
        {"{\"devices\": 2, \"routes\": {}}", "routes: given, but"},
        {TABLED("3"), "routes: expected an object"},
        {TABLED("{\"x\": {}}"), "routes: has \"x\""},
        {TABLED("{\"a\": 3}"), "routes.a: expected an object"},
        {TABLED("{\"a\": {\"t\": \"1\"}}"), "routes.a.t: is no vertex that a link"},
        {TABLED("{\"a\": {\"x\": \"1\"}}"), "routes.a.x: is no vertex that a link"},
        {TABLED("{\"s\": {\"t\": \"1\"}}"), "routes.s.t: is joined to it by several"},
        {TABLED("{\"a\": {\"#1\": \"1\"}}"), "routes.a.#1: is no link that leaves"},
        {TABLED("{\"a\": {\"#99\": \"1\"}}"), "routes.a.#99: is no link"},
        {TABLED("{\"a\": {\"#\": \"1\"}}"), "routes.a.#: is no link"},
        {TABLED("{\"a\": {\"s\": 1}}"), "routes.a.s: expected a string or an array"},
        {TABLED("{\"a\": {\"s\": \"\"}}"), "routes.a.s: is \"\""},
        {TABLED("{\"a\": {\"s\": \"1-\"}}"), "routes.a.s: is \"1-\""},
        {TABLED("{\"a\": {\"s\": \"2-1\"}}"), "routes.a.s: is \"2-1\""},
        {TABLED("{\"a\": {\"s\": \"1,\"}}"), "routes.a.s: is \"1,\""},
        {TABLED("{\"a\": {\"s\": \"1-999999999\"}}"), "names device 3"},
        {TABLED("{\"a\": {\"s\": \"9999999999\"}}"), "expected device numbers"},
        {TABLED("{\"a\": {\"s\": [\"t\"]}}"), "\"t\" is no device"},
        {TABLED("{\"a\": {\"s\": [-1]}}"), "routes.a.s: is -1"},
        {TABLED("{\"a\": {\"s\": \"1,1\"}}"), "an entry for that already"},
        {TABLED("{\"a\": {\"s\": \"0\"}}"), "from a to a over link 0, itself"},
        {TABLED("{\"s\": {\"a\": \"1\"}}"), "through another device"},
        {TABLED("{\"s\": {\"#6\": \"1\"}, \"t\": {\"#7\": \"1\"}}"), "leads in a circle"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        refuse_text(cases[i].text, cases[i].names);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_up_down_on_random_networks),
        cmocka_unit_test(test_up_down_on_a_tree),
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_plans_take_routes),
        cmocka_unit_test(test_no_way_through_devices),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, make_file, remove_file);
}
