/* Generators: numbers of vertices and links, who is joined with whom, costs by class, and every way to spell them
 * wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "open.h"

static uint32_t count_links(const struct pccl_topology *topology, uint32_t source, uint32_t target)
{
    uint32_t count = 0;
    for (uint32_t l = 0; l < topology->num_links; l++) {
        count += topology->links[l].source == source && topology->links[l].target == target;
    }
    return count;
}

static uint32_t degree(const struct pccl_topology *topology, uint32_t vertex)
{
    return topology->first_out[vertex + 1] - topology->first_out[vertex];
}

static void test_sizes(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint32_t devices, vertices, links;
    } cases[] = {
        {"ring:1", 1, 1, 0},
        {"ring:2", 2, 2, 2},
        {"ring:3", 3, 3, 6},
        {"ring:12", 12, 12, 24},
        {"star:16", 16, 17, 32},
        {"full:1", 1, 1, 0},
        {"full:7", 7, 7, 42},
        {"mesh:1", 1, 1, 0},
        {"mesh:5", 5, 5, 8},
        {"mesh:3x4", 12, 12, 34},
        {"mesh:2x2x2", 8, 8, 24},
        {"torus:2", 2, 2, 2},
        {"torus:2x2", 4, 4, 8},
        {"torus:3x2", 6, 6, 18},
        {"torus:4x4", 16, 16, 64},
        {"torus:1x5x1", 5, 5, 10},
        {"torus:8x8x8", 512, 512, 3072},
        {"hypercube:1", 2, 2, 2},
        {"hypercube:5", 32, 32, 160},
        {"mesh:2x1x2x1x2x1x2x1x2x1x2x1x2x1x2x1", 256, 256, 2048},
        {"fattree:4x8", 32, 44, 128},
        {"fattree:4x8:taper=4", 32, 38, 80},
        {"fattree:4x8:taper=3", 32, 39, 88},
        {"fattree:3x5:spines=2", 15, 20, 42},
        {"fattree:2x2x2", 8, 20, 48},
        {"fattree:3x2x4:spines=2,5", 24, 46, 132},
        {"fattree:4x4x4:taper=2", 64, 92, 224},
        {"dragonfly:9x4x2", 72, 108, 324},
        {"dragonfly:1x4x2", 8, 12, 28},
        {"dragonfly:3x2x1:links=2", 6, 12, 30},
        {"boxes:64x8", 512, 584, 2048},
        {"boxes:1x1", 1, 3, 4},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct pccl_topology *topology = open_topology(cases[i].text);
        print_message("%s\n", cases[i].text);
        assert_string_equal(topology->name, cases[i].text);
        assert_int_equal(topology->num_devices, cases[i].devices);
        assert_int_equal(topology->num_vertices, cases[i].vertices);
        assert_int_equal(topology->num_links, cases[i].links);
        for (uint32_t l = 0; l < topology->num_links; l++) { /* every cable has both directions, equally fast */
            const struct pccl_link *there = &topology->links[l], *back = &topology->links[l ^ 1];
            assert_int_equal(there->source, back->target);
            assert_int_equal(there->target, back->source);
            assert_int_equal(there->ps_per_mib, back->ps_per_mib);
        }
        pccl_topology_free(topology);
    }
}

/* Neighbours of grids by comparing coordinates of all pairs, apart from how the generator finds them. */
static void check_grid(const char *text, uint32_t num_dimensions, const uint32_t *extents, bool wraps)
{
    struct pccl_topology *topology = open_topology(text);
    assert_int_equal(topology->num_dimensions, num_dimensions);
    for (uint32_t a = 0; a < topology->num_devices; a++) {
        for (uint32_t b = 0; b < topology->num_devices; b++) {
            uint32_t x = a, y = b, different = 0, distance = 0;
            for (uint32_t i = num_dimensions; i-- > 0; x /= extents[i], y /= extents[i]) {
                uint32_t p = x % extents[i], q = y % extents[i], apart = p > q ? p - q : q - p;
                apart = wraps && extents[i] - apart < apart ? extents[i] - apart : apart;
                different += apart > 0;
                distance += apart;
            }
            assert_int_equal(count_links(topology, a, b), different == 1 && distance == 1);
        }
    }
    for (uint32_t i = 0; i < num_dimensions; i++) {
        assert_int_equal(topology->dimensions[i], extents[i]);
        assert_int_equal(topology->wraps[i], wraps);
    }
    assert_int_equal(topology->routing, PCCL_ROUTING_DIMENSION_ORDER);
    pccl_topology_free(topology);
}

static void test_grids(void **state)
{
    (void)state;
    check_grid("mesh:3x4", 2, (const uint32_t[]){3, 4}, false);
    check_grid("torus:3x4", 2, (const uint32_t[]){3, 4}, true);
    check_grid("torus:2x5x3", 3, (const uint32_t[]){2, 5, 3}, true);
    check_grid("torus:2x2", 2, (const uint32_t[]){2, 2}, true);
    check_grid("mesh:7x1x2", 3, (const uint32_t[]){7, 1, 2}, false);
    check_grid("ring:13", 1, (const uint32_t[]){13}, true);
    check_grid("hypercube:4", 4, (const uint32_t[]){2, 2, 2, 2}, false);
}

static void test_names(void **state)
{
    (void)state;
    struct pccl_topology *topology = open_topology("torus:3x11");
    assert_int_equal(pccl_topology_find(topology, "d2.10"), 32);
    assert_int_equal(pccl_topology_find(topology, "d0.3"), 3);
    pccl_topology_free(topology);
    topology = open_topology("fattree:2x3:spines=2");
    assert_int_equal(pccl_topology_find(topology, "d5"), 5);
    assert_int_equal(pccl_topology_find(topology, "leaf1"), 7);
    assert_int_equal(pccl_topology_find(topology, "spine1"), 9);
    pccl_topology_free(topology);
}

static void test_costs(void **state)
{
    (void)state;
    struct pccl_topology *topology = open_topology("mesh:2x2:latency=1us,2us:bandwidth=1GB/s,2GB/s:overhead=3us");
    for (uint32_t l = 0; l < topology->num_links; l++) {
        bool last = (topology->links[l].source ^ topology->links[l].target) == 1;
        assert_int_equal(topology->links[l].latency_ps, last ? 2000000 : 1000000);
        assert_int_equal(topology->links[l].ps_per_mib, last ? 524288000 : 1048576000);
        assert_int_equal(topology->links[l].bandwidth_origin, PCCL_ORIGIN_DECLARED);
    }
    assert_int_equal(topology->vertices[3].send_overhead_ps, 3000000);
    assert_int_equal(topology->vertices[3].receive_overhead_ps, 3000000);
    pccl_topology_free(topology);
    topology = open_topology("star:2");
    assert_int_equal(topology->links[0].latency_ps, 500000);
    assert_int_equal(topology->links[0].ps_per_mib, 83886080);
    assert_int_equal(topology->links[0].bandwidth_origin, PCCL_ORIGIN_DEFAULT);
    assert_int_equal(topology->vertices[0].send_overhead_ps, 200000);
    assert_false(topology->vertices[2].multicast);
    pccl_topology_free(topology);
    topology = open_topology("star:2:unit:multicast:ps_per_mib=0");
    assert_int_equal(topology->links[0].latency_ps, 0);
    assert_int_equal(topology->links[0].ps_per_mib, 0);
    assert_int_equal(topology->vertices[0].send_overhead_ps, 0);
    assert_true(topology->vertices[2].multicast);
    pccl_topology_free(topology);
}

/* Bandwidth above each leaf, in units of 2^40 / ps_per_mib. */
static double uplinks(const struct pccl_topology *topology, const char *name)
{
    uint32_t vertex = pccl_topology_find(topology, name);
    double sum = 0;
    for (uint32_t i = topology->first_out[vertex]; i < topology->first_out[vertex + 1]; i++) {
        const struct pccl_link *link = &topology->links[topology->out_links[i]];
        sum += link->target > vertex ? 1048576.0 * 1048576 / (double)link->ps_per_mib : 0;
    }
    return sum;
}

static void test_tapers(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *vertex;
        double expected; /* in units of one host link */
    } cases[] = {
        {"fattree:4x8:unit", "leaf1", 8},
        {"fattree:4x8:unit:taper=4", "leaf0", 2},
        {"fattree:4x8:unit:taper=3", "leaf0", 8 / 3.0},
        {"fattree:4x8:unit:taper=1.6:spines=3", "leaf3", 5},
        {"fattree:4x8:unit:taper=0.5", "leaf3", 16},
        {"fattree:4x8:unit:spines=3", "leaf3", 3},
        {"fattree:4x8:ps_per_mib=1048576,524288:spines=3", "leaf3", 6},
        {"fattree:2x4x8:unit:taper=2", "leaf7", 4},
        {"fattree:2x4x8:unit:taper=2", "aggregation7", 2},
        {"fattree:2x4x8:unit:taper=2,4", "aggregation0", 1},
        {"fattree:2x4x8:unit:spines=2,3", "aggregation3", 3},
        {"fattree:2x4x8:unit:taper=2,1:spines=2,3", "aggregation3", 8},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct pccl_topology *topology = open_topology(cases[i].text);
        double met = uplinks(topology, cases[i].vertex) / 1048576;
        print_message("%s: %g\n", cases[i].text, met);
        assert_true(met > cases[i].expected * 0.999 && met < cases[i].expected * 1.001);
        pccl_topology_free(topology);
    }
}

static void test_three_levels(void **state)
{
    (void)state;
    struct pccl_topology *topology = open_topology("fattree:3x2x4:spines=2,5");
    for (uint32_t pod = 0; pod < 3; pod++) {
        for (uint32_t a = 0; a < 2; a++) {
            char name[24];
            snprintf(name, sizeof name, "aggregation%u", pod * 2 + a);
            uint32_t middle = pccl_topology_find(topology, name);
            assert_int_equal(degree(topology, middle), 2 + 5);
            for (uint32_t c = 0; c < 10; c++) {
                snprintf(name, sizeof name, "core%u", c);
                assert_int_equal(count_links(topology, middle, pccl_topology_find(topology, name)), c / 5 == a);
            }
        }
    }
    pccl_topology_free(topology);
}

static void test_dragonfly(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint32_t groups, routers, hosts, links;
    } cases[] = {
        {"dragonfly:9x4x2", 9, 4, 2, 1}, {"dragonfly:5x3x1:links=4", 5, 3, 1, 4}, {"dragonfly:33x8x4", 33, 8, 4, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct pccl_topology *topology = open_topology(cases[i].text);
        const uint32_t routers = cases[i].routers, hosts = topology->num_devices;
        uint32_t between[33][33] = {{0}}, least = UINT32_MAX, most = 0;
        for (uint32_t l = 0; l < topology->num_links; l++) {
            uint32_t from = topology->links[l].source, to = topology->links[l].target;
            if (from >= hosts && to >= hosts && (from - hosts) / routers != (to - hosts) / routers) {
                between[(from - hosts) / routers][(to - hosts) / routers]++;
            }
        }
        for (uint32_t a = 0; a < cases[i].groups; a++) {
            for (uint32_t b = 0; b < cases[i].groups; b++) {
                assert_int_equal(between[a][b], a == b ? 0 : cases[i].links);
            }
        }
        for (uint32_t r = hosts; r < topology->num_vertices; r++) { /* global cables are spread evenly */
            uint32_t global = degree(topology, r) - cases[i].hosts - (routers - 1);
            least = global < least ? global : least;
            most = global > most ? global : most;
        }
        assert_true(most - least <= 1);
        pccl_topology_free(topology);
    }
}

static void test_refusals(void **state)
{
    (void)state;
    static const struct {
        const char *text, *names; /* what the message must name */
        int code;
    } cases[] = {
        {"", "unknown topology", PCCL_ERR_FORMAT},
        {"torus", "0 extents", PCCL_ERR_FORMAT},
        {"torus:", "extent 1", PCCL_ERR_FORMAT},
        {"torus:4x", "extent 2", PCCL_ERR_FORMAT},
        {"torus:4xx4", "extent 2", PCCL_ERR_FORMAT},
        {"torus:0x4", "\"0\"", PCCL_ERR_FORMAT},
        {"torus:-4", "\"-4\"", PCCL_ERR_FORMAT},
        {"torus:4.5", "4.5", PCCL_ERR_FORMAT},
        {"torus:99999999999999999999", "extent 1", PCCL_ERR_FORMAT},
        {"torus:16777216x2", "more than", PCCL_ERR_OVERFLOW},
        {"torus:16777216", "links", PCCL_ERR_OVERFLOW},
        {"torus:1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1", "16 extents", PCCL_ERR_FORMAT},
        {"doughnut:4", "unknown topology", PCCL_ERR_FORMAT},
        {"ring:3x3", "2 extents", PCCL_ERR_FORMAT},
        {"fattree:4", "1 extents", PCCL_ERR_FORMAT},
        {"hypercube:17", "17 dimensions", PCCL_ERR_FORMAT},
        {"full:5000", "24995000 links", PCCL_ERR_OVERFLOW},
        {"star:4:latency", "latency", PCCL_ERR_FORMAT},
        {"star:4:latency=", "latency", PCCL_ERR_FORMAT},
        {"star:4:latency=1us,2us", "latency", PCCL_ERR_FORMAT},
        {"star:4:latency=1us:latency=2us", "twice", PCCL_ERR_FORMAT},
        {"star:4:latency=9999s", "latency", PCCL_ERR_INVALID},
        {"star:4:bandwith=1GB/s", "bandwith", PCCL_ERR_FORMAT},
        {"star:4:bandwidth=1GB/s:ps_per_mib=4", "both", PCCL_ERR_FORMAT},
        {"star:4:unit=1", "takes no value", PCCL_ERR_FORMAT},
        {"star:4:routing=shortest", "unknown option \"routing\"", PCCL_ERR_FORMAT},
        {"mesh:4:routing=dimension_order", "dimension_order", PCCL_ERR_FORMAT},
        {"mesh:4x4x4:latency=1us,2us", "2 values", PCCL_ERR_FORMAT},
        {"fattree:4x8:taper=0", "taper", PCCL_ERR_FORMAT},
        {"fattree:4x8:taper=1,2", "taper", PCCL_ERR_FORMAT},
        {"fattree:4x8:taper=2:bandwidth=1GB/s,2GB/s", "both a taper", PCCL_ERR_FORMAT},
        {"fattree:4x8:spines=0", "spines", PCCL_ERR_FORMAT},
        {"fattree:4x8:spines=2,2", "spines", PCCL_ERR_FORMAT},
        {"fattree:4x8x8:spines=2", "spines", PCCL_ERR_FORMAT},
        {"fattree:1000x1000:taper=0.001", "switches above", PCCL_ERR_OVERFLOW},
        {"dragonfly:5000x5000x1", "more than", PCCL_ERR_OVERFLOW},
        {"dragonfly:4000x1x1:links=65536", "links", PCCL_ERR_OVERFLOW},
        {"dragonfly:3x2x1:links=0", "links", PCCL_ERR_FORMAT},
        {"star:4:a:b:c:d:e:f:g:h:i:j:k:l:m:n:o:p:q", "more than 16 options", PCCL_ERR_FORMAT},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct pccl_topology *topology = NULL;
        struct pccl_error error = {""};
        int status = pccl_topology_create(cases[i].text, &topology, &error);
        print_message("%s -> %s\n", cases[i].text, error.message);
        assert_int_equal(status, cases[i].code);
        assert_non_null(strstr(error.message, cases[i].names));
        assert_null(topology);
    }
    char text[2000] = "star:";
    memset(text + 5, '1', sizeof text - 6);
    struct pccl_topology *topology = NULL;
    assert_int_equal(pccl_topology_create(text, &topology, NULL), PCCL_ERR_FORMAT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes),  cmocka_unit_test(test_grids),        cmocka_unit_test(test_names),
        cmocka_unit_test(test_costs),  cmocka_unit_test(test_tapers),       cmocka_unit_test(test_three_levels),
        cmocka_unit_test(test_dragonfly), cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
