/* Places of ranks inside hosts, on hwloc's synthetic machines and on XML; topologies of fabric and places. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "open.h"
#include "pccl/place.h"

/* --- finding places ---------------------------------------------------------------------------------------------- */

static hwloc_topology_t synthetic(const char *text)
{
    hwloc_topology_t machine;
    assert_int_equal(hwloc_topology_init(&machine), 0);
    assert_int_equal(hwloc_topology_set_synthetic(machine, text), 0);
    assert_int_equal(hwloc_topology_load(machine), 0);
    return machine;
}

static void check_place(hwloc_topology_t machine, const char *cpus, int32_t package, int32_t numa, int32_t l3,
                        int32_t core)
{
    struct pccl_place place = {.host = 5};
    hwloc_bitmap_t set = hwloc_bitmap_alloc();
    if (cpus != NULL) {
        hwloc_bitmap_list_sscanf(set, cpus);
    }
    pccl_place_find(machine, cpus != NULL ? set : NULL, &place);
    hwloc_bitmap_free(set);
    print_message("cpus %s: package %d, NUMA node %d, L3 %d, core %d\n", cpus != NULL ? cpus : "unbound", place.package,
                  place.numa, place.l3, place.core);
    assert_int_equal(place.host, 5);
    assert_int_equal(place.package, package);
    assert_int_equal(place.numa, numa);
    assert_int_equal(place.l3, l3);
    assert_int_equal(place.core, core);
}

static void test_full_machine(void **state)
{
    (void)state;
    /* 2 packages of 2 NUMA nodes of 2 L3 groups of 2 cores of 2 threads: 32 processors. */
    hwloc_topology_t machine = synthetic("pack:2 numa:2 l3:2 core:2 pu:2");
    check_place(machine, "0", 0, 0, 0, 0);
    check_place(machine, "2-3", 0, 0, 0, 1);
    check_place(machine, "1-2", 0, 0, 0, -1);
    check_place(machine, "4-7", 0, 0, 1, -1);
    check_place(machine, "3,4", 0, 0, -1, -1);
    check_place(machine, "7,8", 0, -1, -1, -1);
    check_place(machine, "15,16", -1, -1, -1, -1);
    check_place(machine, "31", 1, 3, 7, 15);
    check_place(machine, NULL, -1, -1, -1, -1);
    check_place(machine, "", -1, -1, -1, -1);
    check_place(machine, "100", -1, -1, -1, -1); /* no such processor: as if unbound */
    check_place(machine, "31,100", 1, 3, 7, 15);
    hwloc_topology_destroy(machine);
}

static void test_missing_levels(void **state)
{
    (void)state;
    hwloc_topology_t machine = synthetic("core:4 pu:1"); /* no package, no L3; hwloc always makes one NUMA node */
    check_place(machine, "2", -1, 0, -1, 2);
    check_place(machine, NULL, -1, 0, -1, -1);
    hwloc_topology_destroy(machine);
    machine = synthetic("pack:1 l3:3 pu:2");
    check_place(machine, "2,3", 0, 0, 1, -1);
    check_place(machine, NULL, 0, 0, -1, -1); /* one package holds all, so it holds an unbound rank too */
    hwloc_topology_destroy(machine);
}

static void test_restricted_machine(void **state)
{
    (void)state;
    hwloc_topology_t machine = synthetic("pack:2 numa:1 l3:2 core:2 pu:1"); /* 8 processors */
    hwloc_bitmap_t allowed = hwloc_bitmap_alloc();
    hwloc_bitmap_list_sscanf(allowed, "4-5,7");
    assert_int_equal(hwloc_topology_restrict(machine, allowed, 0), 0);
    check_place(machine, NULL, 0, 0, -1, -1); /* logical indices count what is left */
    check_place(machine, "0-5", 0, 0, 0, -1); /* only 4 and 5 may be used */
    check_place(machine, "7", 0, 0, 1, 2);
    hwloc_bitmap_free(allowed);
    hwloc_topology_destroy(machine);
}

static void test_disallowed_processors(void **state)
{
    (void)state;
    hwloc_topology_t machine;
    hwloc_bitmap_t allowed = hwloc_bitmap_alloc();
    assert_int_equal(hwloc_topology_init(&machine), 0);
    assert_int_equal(hwloc_topology_set_flags(machine, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED), 0);
    assert_int_equal(hwloc_topology_set_synthetic(machine, "pack:2 numa:1 core:2 pu:1"), 0);
    assert_int_equal(hwloc_topology_load(machine), 0);
    hwloc_bitmap_list_sscanf(allowed, "2-3");
    assert_int_equal(hwloc_topology_allow(machine, allowed, NULL, HWLOC_ALLOW_FLAG_CUSTOM), 0);
    check_place(machine, NULL, 1, 1, -1, -1); /* unbound, but only package 1 may be used */
    check_place(machine, "0-2", 1, 1, -1, 2);
    hwloc_bitmap_free(allowed);
    hwloc_topology_destroy(machine);
}

/* Written by hand: NUMA node 0 has memory and no processors (as a CXL card or memory alone), node 1 has two. */
static const char cpuless_xml[] =
    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n<topology "
    "version=\"2.0\">\n"
    "<object type=\"Machine\" os_index=\"0\" cpuset=\"0x3\" complete_cpuset=\"0x3\" allowed_cpuset=\"0x3\" "
    "nodeset=\"0x3\" "
    "complete_nodeset=\"0x3\" allowed_nodeset=\"0x3\" gp_index=\"1\">\n"
    "<object type=\"NUMANode\" os_index=\"0\" cpuset=\"0x0\" complete_cpuset=\"0x0\" nodeset=\"0x1\" "
    "complete_nodeset=\"0x1\" "
    "gp_index=\"2\" local_memory=\"1048576\"/>\n"
    "<object type=\"Package\" os_index=\"0\" cpuset=\"0x3\" complete_cpuset=\"0x3\" nodeset=\"0x2\" "
    "complete_nodeset=\"0x2\" "
    "gp_index=\"3\">\n"
    "<object type=\"NUMANode\" os_index=\"1\" cpuset=\"0x3\" complete_cpuset=\"0x3\" nodeset=\"0x2\" "
    "complete_nodeset=\"0x2\" "
    "gp_index=\"4\" local_memory=\"1048576\"/>\n"
    "<object type=\"Core\" os_index=\"0\" cpuset=\"0x1\" complete_cpuset=\"0x1\" nodeset=\"0x2\" "
    "complete_nodeset=\"0x2\" "
    "gp_index=\"5\"><object type=\"PU\" os_index=\"0\" cpuset=\"0x1\" complete_cpuset=\"0x1\" nodeset=\"0x2\" "
    "complete_nodeset=\"0x2\" gp_index=\"6\"/></object>\n"
    "<object type=\"Core\" os_index=\"1\" cpuset=\"0x2\" complete_cpuset=\"0x2\" nodeset=\"0x2\" "
    "complete_nodeset=\"0x2\" "
    "gp_index=\"7\"><object type=\"PU\" os_index=\"1\" cpuset=\"0x2\" complete_cpuset=\"0x2\" nodeset=\"0x2\" "
    "complete_nodeset=\"0x2\" gp_index=\"8\"/></object>\n"
    "</object>\n</object>\n</topology>\n";

static void test_numa_node_without_processors(void **state)
{
    (void)state;
    hwloc_topology_t machine;
    assert_int_equal(hwloc_topology_init(&machine), 0);
    assert_int_equal(hwloc_topology_set_xmlbuffer(machine, cpuless_xml, (int)sizeof cpuless_xml), 0);
    assert_int_equal(hwloc_topology_load(machine), 0);
    assert_int_equal(hwloc_get_nbobjs_by_type(machine, HWLOC_OBJ_NUMANODE), 2);
    hwloc_obj_t node = hwloc_get_obj_by_type(machine, HWLOC_OBJ_NUMANODE, 0);
    int32_t with_processors = hwloc_bitmap_iszero(node->cpuset) ? 1 : 0;
    check_place(machine, "1", 0, with_processors, -1, 1);
    check_place(machine, NULL, 0, with_processors, -1, -1);
    hwloc_topology_destroy(machine);
}

static void test_xml_round_trip(void **state)
{
    (void)state;
    hwloc_topology_t machine = synthetic("pack:2 l3:2 core:3 pu:2"), copy;
    char *xml;
    int length;
    assert_int_equal(hwloc_topology_export_xmlbuffer(machine, &xml, &length, 0), 0);
    assert_int_equal(hwloc_topology_init(&copy), 0);
    assert_int_equal(hwloc_topology_set_xmlbuffer(copy, xml, length), 0);
    assert_int_equal(hwloc_topology_load(copy), 0);
    check_place(machine, "13", 1, 0, 2, 6);
    check_place(copy, "13", 1, 0, 2, 6);
    hwloc_free_xmlbuffer(machine, xml);
    hwloc_topology_destroy(copy);
    hwloc_topology_destroy(machine);
}

/* --- joining with a fabric --------------------------------------------------------------------------------------- */

static struct pccl_topology *place(const struct pccl_topology *fabric, const struct pccl_place *places,
                                   uint32_t num_ranks, uint32_t **rank_device)
{
    struct pccl_topology *topology = NULL;
    struct pccl_error error = {""};
    if (pccl_topology_place(fabric, places, num_ranks, &topology, rank_device, &error) != 0) {
        fail_msg("%s", error.message);
    }
    return topology;
}

static int64_t route_latency(const struct pccl_topology *topology, uint32_t source, uint32_t target)
{
    uint32_t links[64], at = source;
    int length = pccl_topology_route(topology, source, target, links, 64);
    int64_t latency_ps = 0;
    assert_true(length > 0 && (uint32_t)length <= pccl_topology_route_limit(topology));
    for (int i = 0; i < length; i++) {
        assert_int_equal(topology->links[links[i]].source, at);
        at = topology->links[links[i]].target;
        latency_ps += topology->links[links[i]].latency_ps;
    }
    assert_int_equal(at, target);
    return latency_ps;
}

static void test_one_rank_per_host(void **state)
{
    (void)state;
    struct pccl_topology *fabric = open_topology("torus:3x3");
    const struct pccl_place places[] = {{8, 0, 0, 0, 0, 0}, {1, -1, -1, -1, -1, 0}, {4, 1, 1, 1, 1, 0}};
    const uint32_t expected[] = {8, 1, 4};
    uint32_t *rank_device;
    struct pccl_topology *topology = place(fabric, places, 3, &rank_device);
    assert_int_equal(topology->digest, fabric->digest);
    assert_memory_equal(rank_device, expected, sizeof expected);
    free(rank_device);
    pccl_topology_free(topology);
    pccl_topology_free(fabric);
}

/* Latency between two ranks of a host is twice that of the level where they meet. */
static void test_levels(void **state)
{
    (void)state;
    struct pccl_topology *fabric = open_topology("star:2");
    const struct pccl_place places[] = {
        {0, 0, 0, 0, 0, 0}, {0, 0, 0, 0, 1, 0},     {0, 0, 0, 1, 2, 0},   {0, 0, 1, 2, 3, 0},
        {0, 1, 2, 3, 4, 0}, {0, -1, -1, -1, -1, 0}, {0, 0, 0, -1, -1, 0}, {1, 0, 0, 0, 0, 0},
    };
    static const struct {
        uint32_t a, b;
        int64_t latency_ps;
    } expected[] = {
        {0, 1, 100000}, {0, 2, 200000}, {1, 2, 200000}, {0, 3, 300000}, {0, 4, 500000}, {0, 5, 500000}, {0, 6, 200000},
        {3, 6, 300000}, {4, 5, 500000}, {5, 6, 500000}, {0, 7, 250000 + 1000000}, {5, 7, 250000 + 1000000},
    };
    uint32_t *rank_device;
    struct pccl_topology *topology = place(fabric, places, 8, &rank_device);
    assert_int_equal(topology->num_devices, 8);
    assert_int_equal(topology->routing, PCCL_ROUTING_TABLE);
    assert_int_equal(topology->num_vertices,
                     8 + 3 + 3); /* package 0, its NUMA node 0, its L3 0: all others hold one rank */
    for (uint32_t r = 0; r < 8; r++) {
        assert_int_equal(rank_device[r], r);
    }
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        assert_int_equal(route_latency(topology, expected[i].a, expected[i].b), expected[i].latency_ps);
        assert_int_equal(route_latency(topology, expected[i].b, expected[i].a), expected[i].latency_ps);
    }
    free(rank_device);
    pccl_topology_free(topology);
    pccl_topology_free(fabric);
}

/* Ranks that nothing tells apart hang below one vertex; unbound ones below their host. */
static void test_levels_collapse(void **state)
{
    (void)state;
    struct pccl_topology *fabric = open_topology("star:2");
    const struct pccl_place together[] = {{0, 1, 1, 3, 0, 0}, {0, 1, 1, 3, 1, 0}, {0, 1, 1, 3, 2, 0}};
    const struct pccl_place unbound[] = {{1, -1, -1, -1, -1, 0}, {1, -1, -1, -1, -1, 0}};
    uint32_t *rank_device;
    struct pccl_topology *topology = place(fabric, together, 3, &rank_device);
    assert_int_equal(topology->num_vertices, 3 + 3 + 1);
    assert_int_not_equal(pccl_topology_find(topology, "d0/package1/numa1/l3-3"), PCCL_NONE);
    assert_int_equal(route_latency(topology, 0, 2), 100000);
    free(rank_device);
    pccl_topology_free(topology);
    topology = place(fabric, unbound, 2, &rank_device);
    assert_int_equal(topology->num_vertices, 2 + 3);
    assert_int_equal(route_latency(topology, 0, 1), 500000);
    free(rank_device);
    pccl_topology_free(topology);
    pccl_topology_free(fabric);
}

/* Between hosts a route is the fabric's own, link for link; reversal turns it round. */
static void check_fabric_routes(const char *text, uint32_t ranks_per_host)
{
    struct pccl_topology *fabric = open_topology(text), *reversed = NULL;
    struct pccl_place places[64];
    const uint32_t num_ranks = fabric->num_devices * ranks_per_host - 1; /* uneven: the last host has one fewer */
    uint32_t *rank_device, links[64], fabric_links[64], back[64];
    for (uint32_t r = 0; r < num_ranks; r++) { /* spread round robin */
        places[r] = (struct pccl_place){r % fabric->num_devices, (int32_t)(r % 2), (int32_t)(r % 2), -1, -1, 0};
    }
    struct pccl_topology *topology = place(fabric, places, num_ranks, &rank_device);
    assert_int_equal(pccl_topology_reverse(topology, &reversed, NULL), 0);
    for (uint32_t a = 0; a < num_ranks; a++) {
        for (uint32_t b = 0; b < num_ranks; b++) {
            uint32_t from = places[a].host, to = places[b].host, num_inner = 0;
            if (a == b) {
                continue;
            }
            int length = pccl_topology_route(topology, a, b, links, 64);
            int expected = from != to ? pccl_topology_route(fabric, from, to, fabric_links, 64) : 0;
            for (int i = 0; i < length; i++) {
                if (links[i] < fabric->num_links) {
                    assert_int_equal(links[i], fabric_links[num_inner++]);
                }
            }
            assert_int_equal(num_inner, expected);
            route_latency(topology, a, b);
            assert_int_equal(pccl_topology_route(reversed, b, a, back, 64), length);
            for (int i = 0; i < length; i++) {
                assert_int_equal(back[i], links[length - 1 - i]);
            }
            assert_int_equal(pccl_topology_route(topology, a, b, links, (uint32_t)length - 1), PCCL_ERR_OVERFLOW);
        }
    }
    free(rank_device);
    pccl_topology_free(reversed);
    pccl_topology_free(topology);
    pccl_topology_free(fabric);
}

static void test_fabric_routes(void **state)
{
    (void)state;
    check_fabric_routes("torus:3x4", 3);
    check_fabric_routes("mesh:2x3:routing=shortest", 2);
    check_fabric_routes("fattree:3x2:spines=2", 4);
    check_fabric_routes("dragonfly:3x2x1", 2);
    check_fabric_routes("star:5", 5);
}

static void test_refusals(void **state)
{
    (void)state;
    struct pccl_topology *fabric = open_topology("star:2"), *placed, *reversed = NULL, *topology = NULL;
    const struct pccl_place both[] = {{0, -1, -1, -1, -1, 0}, {0, -1, -1, -1, -1, 0}};
    const struct pccl_place wrong[] = {{2, -1, -1, -1, -1, 0}};
    uint32_t *rank_device;
    struct pccl_error error;
    assert_int_equal(pccl_topology_place(fabric, wrong, 1, &topology, &rank_device, &error), PCCL_ERR_INVALID);
    assert_non_null(strstr(error.message, "host 2"));
    assert_int_equal(pccl_topology_place(fabric, both, 0, &topology, &rank_device, &error), PCCL_ERR_INVALID);
    placed = place(fabric, both, 2, &rank_device);
    free(rank_device);
    assert_int_equal(pccl_topology_place(placed, both, 2, &topology, &rank_device, &error), PCCL_ERR_UNSUPPORTED);
    assert_int_equal(pccl_topology_reverse(fabric, &reversed, NULL), 0);
    assert_int_equal(pccl_topology_place(reversed, both, 2, &topology, &rank_device, &error), PCCL_ERR_UNSUPPORTED);
    pccl_topology_free(reversed);
    pccl_topology_free(placed);
    pccl_topology_free(fabric);
}

/* Eight ranks of a host; rank r is on processors[r]. */
static struct pccl_topology *place_on(const uint32_t *processors)
{
    struct pccl_topology *fabric = open_topology("star:2");
    struct pccl_place places[8];
    uint32_t *rank_device;
    for (uint32_t r = 0; r < 8; r++) {
        places[r] = (struct pccl_place){1, -1, -1, -1, -1, processors[r]};
    }
    struct pccl_topology *topology = place(fabric, places, 8, &rank_device);
    free(rank_device);
    pccl_topology_free(fabric);
    return topology;
}

/* Numbers of processors matter only where ranks share one. */
static void test_processors(void **state)
{
    (void)state;
    static const uint32_t none[8] = {0}, own[] = {3, 1, 2, 0, 7, 5, 4, 9}, two[] = {2, 2, 1, 2, 1, 1, 9, 0};
    static const uint32_t renamed[] = {5, 5, 3, 5, 3, 3, 4, 0}, first[] = {1, 1, 3, 1, 3, 3, 0, 0};
    struct pccl_topology *apart = place_on(none), *known = place_on(own), *shared = place_on(two);
    struct pccl_topology *again = place_on(renamed);
    assert_int_equal(known->digest, apart->digest);
    assert_int_not_equal(shared->digest, apart->digest);
    assert_int_equal(again->digest, shared->digest);
    for (uint32_t r = 0; r < 8; r++) {
        assert_int_equal(apart->vertices[r].processor, 0);
        assert_int_equal(shared->vertices[r].processor, first[r]);
        assert_int_equal(apart->vertices[r].send_overhead_ps, 200000);
        assert_int_equal(shared->vertices[r].receive_overhead_ps, 500000);
    }
    assert_int_equal(route_latency(apart, 6, 0), 500000);
    assert_int_equal(route_latency(shared, 6, 0), 500000 + 2 * 1000000); /* two others give way first */
    assert_int_equal(route_latency(shared, 0, 6), 500000);
    pccl_topology_free(apart);
    pccl_topology_free(known);
    pccl_topology_free(shared);
    pccl_topology_free(again);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_full_machine),          cmocka_unit_test(test_missing_levels),
        cmocka_unit_test(test_restricted_machine),    cmocka_unit_test(test_disallowed_processors),
        cmocka_unit_test(test_xml_round_trip),        cmocka_unit_test(test_numa_node_without_processors),
        cmocka_unit_test(test_one_rank_per_host),     cmocka_unit_test(test_levels),
        cmocka_unit_test(test_levels_collapse),       cmocka_unit_test(test_fabric_routes),
        cmocka_unit_test(test_processors),            cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
