/* What a fabric file says beyond the graph: classes of links, costs inside hosts, routing rules and tables, reversal. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/random.h"
#include "open.h"
#include "pccl/io.h"
#include "pccl/place.h"
#include "pccl/simulate.h"
#include "pccl/synth.h"
#include "pccl/verify.h"
#include "samples.h"

static char path[64]; /* of the file that the tests write */

static void write_text(const char *text)
{
    FILE *stream = fopen(path, "w");
    assert_non_null(stream);
    assert_true(fputs(text, stream) >= 0);
    assert_int_equal(fclose(stream), 0);
}

static struct pccl_topology *read_text(const char *text)
{
    write_text(text);
    return open_topology(path);
}

static void check_round_trip(const struct pccl_topology *topology)
{
    struct pccl_topology *again = NULL;
    struct pccl_error error = {""};
    if (pccl_topology_write(topology, path, &error) != 0 || pccl_topology_read(path, &again, &error) != 0) {
        fail_msg("%s: %s", topology->name, error.message);
    }
    assert_int_equal(again->digest, topology->digest);
    for (uint32_t a = 0; a < topology->num_devices; a++) {
        for (uint32_t b = 0; b < topology->num_devices; b++) {
            uint32_t there[64], here[64];
            int length = pccl_topology_route(topology, a, b, there, 64);
            assert_int_equal(pccl_topology_route(again, a, b, here, 64), length);
            assert_memory_equal(there, here, length > 0 ? (size_t)length * sizeof *there : 0);
        }
    }
    pccl_topology_free(again);
}

static int64_t route_latency(const struct pccl_topology *topology, uint32_t from, uint32_t to,
                             struct pccl_endpoints *endpoints)
{
    uint32_t links[64];
    int length = pccl_topology_route(topology, from, to, links, 64);
    int64_t latency_ps = 0;
    assert_true(length > 0);
    for (int i = 0; i < length; i++) {
        latency_ps += topology->links[links[i]].latency_ps;
    }
    pccl_topology_endpoints(topology, links, (uint32_t)length, endpoints);
    return latency_ps;
}

static void check_endpoints(const struct pccl_topology *topology, uint32_t from, uint32_t to, int64_t send_ps,
                            int64_t receive_ps, int64_t eager_bytes, int64_t rendezvous_ps)
{
    struct pccl_endpoints endpoints;
    route_latency(topology, from, to, &endpoints);
    print_message("from %u to %u: %lld, %lld\n", from, to, (long long)endpoints.send_overhead_ps,
                  (long long)endpoints.receive_overhead_ps);
    assert_int_equal(endpoints.send_overhead_ps, send_ps);
    assert_int_equal(endpoints.receive_overhead_ps, receive_ps);
    assert_int_equal(endpoints.eager_bytes, eager_bytes);
    assert_int_equal(endpoints.rendezvous_ps, rendezvous_ps);
}

/* --- classes ------------------------------------------------------------------------------------------------------ */

static const char two_leaves[] =
    "{\"devices\": [\"a\", \"b\", \"c\"], \"switches\": [\"s\", \"t\"], \"overhead\": \"3us\",\n"
    " \"classes\": {\"host\": {\"latency\": \"1us\", \"bandwidth\": \"1GB/s\", \"overhead\": \"2us\",\n"
    "   \"eager_bytes\": 1000, \"rendezvous\": \"5us\",\n"
    "   \"origin\": {\"latency\": \"measured\", \"bandwidth\": \"declared\", \"eager\": \"default\"}},\n"
    "  \"up\": {\"latency_ps\": 7, \"ps_per_mib\": 9, \"send_overhead\": \"4us\", \"receive_overhead_ps\": 1,\n"
    "   \"eager_bytes\": \"2000\", \"rendezvous_ps\": 6000000, \"origin\": \"measured\"}, \"plain\": {}},\n"
    " \"links\": [{\"source\": \"a\", \"target\": \"s\", \"class\": \"host\", \"duplex\": true, \"capacity\": \"x\"},\n"
    "  {\"source\": \"b\", \"target\": \"t\", \"class\": \"host\", \"duplex\": true},\n"
    "  {\"source\": \"s\", \"target\": \"t\", \"class\": \"up\", \"duplex\": true},\n"
    "  {\"source\": \"c\", \"target\": \"s\", \"class\": \"plain\", \"duplex\": true},\n"
    "  {\"source\": \"b\", \"target\": \"s\", \"origin\": {\"latency\": \"measured\"}}]}";

static void test_classes(void **state)
{
    (void)state;
    struct pccl_topology *topology = read_text(two_leaves);
    assert_int_equal(topology->num_classes, 3);
    assert_int_equal(pccl_topology_find_class(topology, "up"), 1);
    assert_int_equal(pccl_topology_find_class(topology, "down"), PCCL_NONE);
    const struct pccl_class *host = &topology->classes[0], *up = &topology->classes[1], *plain = &topology->classes[2];
    assert_int_equal(host->latency_origin, PCCL_ORIGIN_MEASURED);
    assert_int_equal(host->bandwidth_origin, PCCL_ORIGIN_DECLARED);
    assert_int_equal(host->overhead_origin, PCCL_ORIGIN_DECLARED);
    assert_int_equal(host->eager_origin, PCCL_ORIGIN_DEFAULT);
    assert_int_equal(up->overhead_origin, PCCL_ORIGIN_MEASURED);
    assert_int_equal(up->receive_overhead_ps, 1);
    assert_int_equal(plain->latency_origin, PCCL_ORIGIN_DEFAULT);
    assert_int_equal(plain->send_overhead_ps, -1);
    assert_int_equal(plain->eager_bytes, -1);
    for (uint32_t l = 0; l < 2; l++) {
        assert_int_equal(topology->links[l].link_class, 0);
        assert_int_equal(topology->links[l].latency_ps, 1000000);
        assert_int_equal(topology->links[l].ps_per_mib, 1048576000);
        assert_int_equal(topology->links[l].latency_origin, PCCL_ORIGIN_MEASURED);
        assert_int_equal(topology->links[l].bandwidth_origin, PCCL_ORIGIN_DECLARED);
        assert_int_equal(topology->links[l].capacity, 0);
    }
    assert_int_equal(topology->links[8].link_class, PCCL_NO_CLASS);
    assert_int_equal(topology->links[8].latency_origin, PCCL_ORIGIN_MEASURED);
    assert_int_equal(topology->links[8].bandwidth_origin, PCCL_ORIGIN_DEFAULT);
    /* All links of a are of a class with overheads, not all that leave b, none of c's. */
    assert_int_equal(topology->vertices[0].send_overhead_ps, 2000000);
    assert_int_equal(topology->vertices[1].send_overhead_ps, 3000000);
    assert_int_equal(topology->vertices[1].receive_overhead_ps, 2000000);
    assert_int_equal(topology->vertices[2].send_overhead_ps, 3000000);
    check_endpoints(topology, 0, 1, 4000000, 2000000, 1000, 6000000);
    check_endpoints(topology, 0, 2, 2000000, 3000000, 1000, 5000000);
    check_round_trip(topology);
    pccl_topology_free(topology);
}

/* One message: what the model adds for its class, byte for byte around the eager limit. */
static void test_simulated_handshake(void **state)
{
    (void)state;
    struct pccl_topology *topology = read_text(
        "{\"devices\": 2, \"classes\": {\"c\": {\"latency\": \"1us\", \"ps_per_mib\": 1048576, \"overhead\": \"2us\", "
        "\"eager_bytes\": 1000, \"rendezvous\": \"5us\"}}, \"links\": [{\"source\": \"d0\", \"target\": \"d1\", "
        "\"class\": \"c\", \"duplex\": true}]}");
    for (int64_t bytes = 999; bytes < 1003; bytes++) {
        struct pccl_schedule *schedule =
            sample_schedule(topology, SAMPLE_BINOMIAL_BROADCAST, 2, 1, bytes, false, false);
        struct pccl_simulation simulation = {0};
        assert_int_equal(pccl_simulate(topology, schedule, &simulation, NULL), 0);
        assert_int_equal(simulation.makespan_ps, 2 * 2000000 + 1000000 + bytes + (bytes > 1000 ? 5000000 : 0));
        pccl_schedule_free(schedule);
    }
    pccl_topology_free(topology);
}

static void test_changed_costs(void **state)
{
    (void)state;
    struct pccl_topology *topology = read_text(two_leaves), *changed = NULL, *reversed = NULL, *none = NULL;
    struct pccl_error error = {""};
    struct pccl_class classes[3], inside[PCCL_NUM_LEVELS];
    memcpy(classes, topology->classes, sizeof classes);
    memcpy(inside, topology->inside, sizeof inside);
    classes[0].latency_ps = 11;
    classes[0].send_overhead_ps = 12;
    classes[0].latency_origin = PCCL_ORIGIN_DEFAULT;
    inside[PCCL_LEVEL_NUMA].eager_bytes = 13;
    assert_int_equal(pccl_topology_set_costs(topology, classes, inside, &changed, &error), 0);
    assert_int_equal(changed->links[1].latency_ps, 11);
    assert_int_equal(changed->links[1].latency_origin, PCCL_ORIGIN_DEFAULT);
    assert_int_equal(changed->links[8].latency_ps, topology->links[8].latency_ps);
    assert_int_equal(changed->vertices[0].send_overhead_ps, 12);
    assert_int_equal(changed->inside[PCCL_LEVEL_NUMA].eager_bytes, 13);
    check_round_trip(changed);
    pccl_topology_free(changed);
    assert_int_equal(pccl_topology_set_costs(topology, NULL, NULL, &changed, &error), 0);
    assert_int_equal(changed->digest, topology->digest);
    pccl_topology_free(changed);
    classes[1].name = "other";
    assert_int_equal(pccl_topology_set_costs(topology, classes, NULL, &none, &error), PCCL_ERR_INVALID);
    assert_non_null(strstr(error.message, "expected up"));
    classes[1].name = "up";
    classes[1].latency_ps = -1;
    assert_int_equal(pccl_topology_set_costs(topology, classes, NULL, &none, &error), PCCL_ERR_INVALID);
    assert_non_null(strstr(error.message, "class up has latency -1"));
    assert_int_equal(pccl_topology_reverse(topology, &reversed, NULL), 0);
    assert_int_equal(pccl_topology_set_costs(reversed, NULL, NULL, &none, &error), PCCL_ERR_UNSUPPORTED);
    assert_null(none);
    pccl_topology_free(reversed);
    pccl_topology_free(topology);
}

static void check_classes(const char *text, uint32_t count, const char *const *names)
{
    struct pccl_topology *topology = open_topology(text), *classified = NULL;
    assert_int_equal(pccl_topology_classify(topology, &classified, NULL), 0);
    assert_int_equal(classified->num_classes, count);
    for (uint32_t c = 0; c < count; c++) {
        assert_string_equal(classified->classes[c].name, names[c]);
    }
    for (uint32_t l = 0; l < topology->num_links; l++) {
        const struct pccl_link *link = &classified->links[l];
        assert_in_range(link->link_class, 0, count - 1);
        assert_int_equal(link->latency_ps, topology->links[l].latency_ps);
        assert_int_equal(link->ps_per_mib, topology->links[l].ps_per_mib);
        assert_int_equal(link->capacity, topology->links[l].capacity);
    }
    check_round_trip(classified);
    pccl_topology_free(classified);
    pccl_topology_free(topology);
}

static void test_classified(void **state)
{
    (void)state;
    check_classes("fattree:4x2x2:taper=2", 3, (const char *[]){"hosts", "level 1 to 2", "level 2 to 3"});
    check_classes("torus:3x4", 2, (const char *[]){"dimension 0", "dimension 1"});
    check_classes("dragonfly:3x2x2:bandwidth=1GB/s,2GB/s,3GB/s", 3,
                  (const char *[]){"hosts", "level 1 to 1", "level 1 to 1 (2)"});
    check_classes("full:4", 1, (const char *[]){"direct"});
    write_text(two_leaves);
    check_classes(path, 4, (const char *[]){"host", "up", "plain", "hosts"});
}

/* --- names of hosts ----------------------------------------------------------------------------------------------- */

static void test_hosts(void **state)
{
    (void)state;
    static const struct {
        const char *host;
        uint32_t device;
        bool ambiguous;
    } cases[] = {
        {"n1", 0, false},
        {"N1", 0, false},
        {"n1.example.org", 0, false},
        {"n1.", 0, false},
        {"n2.example.org", 1, false},
        {"N2.Example.Org", 1, false},
        {"n2", 1, false},
        {"n2.example.com", PCCL_NONE, false},
        {"n3", PCCL_NONE, true},
        {"n3.a", 2, false},
        {"n3.b", 3, false},
        {"n3.c", PCCL_NONE, false},
        {"x", 4, false},
        {"X", 5, false},
        {"x.any", PCCL_NONE, true},
        {"s0", PCCL_NONE, false},
        {"n", PCCL_NONE, false},
        {"n10", PCCL_NONE, false},
        {"", PCCL_NONE, false},
        {".", PCCL_NONE, false},
    };
    struct pccl_topology *topology =
        read_text("{\"devices\": [\"n1\", \"n2.example.org\", \"n3.a\", \"n3.b\", \"x\", \"X\"], \"switches\": 1}");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bool ambiguous = !cases[i].ambiguous;
        print_message("host %s\n", cases[i].host);
        assert_int_equal(pccl_topology_find_host(topology, cases[i].host, &ambiguous), cases[i].device);
        assert_int_equal(ambiguous, cases[i].ambiguous);
    }
    pccl_topology_free(topology);
}

/* --- inside hosts ------------------------------------------------------------------------------------------------- */

#define FABRIC_TAIL                                                                                                    \
    "\"links\": [{\"source\": \"d0\", \"target\": \"s0\", \"duplex\": true}, "                                         \
    "{\"source\": \"d1\", \"target\": \"s0\", \"duplex\": true}]}"

static struct pccl_topology *place(const struct pccl_topology *fabric)
{
    const struct pccl_place places[] = {{0, 0, 0, 0, 0}, {0, 0, 0, 0, 1}, {0, 0, 0, 1, 2},
                                        {0, 0, 1, 2, 3}, {0, 1, 2, 3, 4}, {1, 0, 0, 0, 0}};
    struct pccl_topology *topology = NULL;
    uint32_t *rank_device;
    assert_int_equal(pccl_topology_place(fabric, places, 6, &topology, &rank_device, NULL), 0);
    free(rank_device);
    return topology;
}

static void test_inside(void **state)
{
    (void)state;
    struct pccl_endpoints ends;
    struct pccl_topology *fabric = read_text(
        "{\"devices\": 2, \"switches\": 1, \"overhead\": \"9us\",\n"
        " \"inside\": {\"l3\": {\"latency_ps\": 101, \"overhead_ps\": 11, \"eager_bytes\": 1, \"rendezvous_ps\": 21},\n"
        "  \"numa\": {\"latency_ps\": 203, \"overhead_ps\": 12, \"eager_bytes\": 2, \"rendezvous_ps\": 22, "
        "\"bandwidth\": \"3GB/s\"},\n"
        "  \"package\": {\"latency_ps\": 150, \"overhead_ps\": 13, \"origin\": \"measured\"}, \"rank\": "
        "{\"bandwidth\": "
        "\"4GB/s\"}},\n " FABRIC_TAIL);
    check_round_trip(fabric);
    struct pccl_topology *topology = place(fabric);
    assert_int_equal(route_latency(topology, 0, 1, &ends), 101);
    assert_int_equal(route_latency(topology, 0, 2, &ends), 203);
    assert_int_equal(route_latency(topology, 2, 0, &ends), 203);
    assert_int_equal(route_latency(topology, 0, 3, &ends), 203); /* the package is as far as its NUMA nodes at least */
    assert_int_equal(route_latency(topology, 0, 4, &ends), 500000);
    check_endpoints(topology, 0, 1, 11, 11, 1, 21);
    check_endpoints(topology, 0, 2, 12, 12, 2, 22);
    check_endpoints(topology, 0, 3, 13, 13, 4032, 1000000);
    check_endpoints(topology, 0, 4, 13, 13, 4032, 1000000); /* the host says nothing, so what its packages say counts */
    check_endpoints(topology, 0, 5, 9000000, 9000000, INT64_MAX, 0);
    check_endpoints(topology, 5, 1, 9000000, 9000000, INT64_MAX, 0);
    check_round_trip(topology);
    pccl_topology_free(topology);
    pccl_topology_free(fabric);
    fabric = open_topology("star:2");
    topology = place(fabric);
    check_endpoints(topology, 0, 1, 200000, 200000, 4032, 1000000);
    check_endpoints(topology, 0, 5, 200000, 200000, INT64_MAX, 0);
    pccl_topology_free(topology);
    pccl_topology_free(fabric);
}

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
    check_round_trip(topology);
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
    for (uint32_t a = 0; a < tree->num_devices; a++) {
        for (uint32_t b = 0; b < tree->num_devices; b++) {
            uint32_t there[8], here[8];
            int length = pccl_topology_route(tree, a, b, there, 8);
            assert_int_equal(pccl_topology_route(climbed, a, b, here, 8), length);
            assert_memory_equal(there, here, length > 0 ? (size_t)length * sizeof *there : 0);
        }
    }
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
    check_round_trip(topology);
    assert_int_equal(pccl_topology_reverse(topology, &reversed, NULL), 0);
    assert_int_equal(pccl_topology_route(reversed, 2, 0, links, 8), 3);
    assert_int_equal(links[0], 5);
    check_round_trip(reversed);
    pccl_topology_free(reversed);
    pccl_topology_free(topology);
}

static void test_reversed_files(void **state)
{
    (void)state;
    static const char *const texts[] = {"torus:3x4", "fattree:3x2:spines=2", "mesh:2x3:routing=shortest"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct pccl_topology *fabric = open_topology(texts[i]), *placed = place(fabric), *reversed = NULL;
        assert_int_equal(pccl_topology_reverse(fabric, &reversed, NULL), 0);
        check_round_trip(reversed);
        pccl_topology_free(reversed);
        assert_int_equal(pccl_topology_reverse(placed, &reversed, NULL), 0);
        check_round_trip(reversed);
        pccl_topology_free(reversed);
        pccl_topology_free(placed);
        pccl_topology_free(fabric);
    }
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

#define CLASSED(text) "{\"devices\": 2, \"classes\": {\"x\": {" text "}}}"
#define INSIDE(text) "{\"devices\": 2, \"inside\": {" text "}}"
#define LINKED(text)                                                                                                   \
    "{\"devices\": 2, \"classes\": {\"x\": {}}, \"links\": [{\"source\": \"d0\", \"target\": \"d1\"" text "}]}"

static void test_refusals(void **state)
{
    (void)state;
    static const struct {
        const char *text, *names;
    } cases[] = {
        {"{\"devices\": 2, \"classes\": []}", "classes: expected an object"},
        {"{\"devices\": 2, \"classes\": {\"x\": 3}}", "classes.x: expected an object"},
        {"{\"devices\": 2, \"classes\": {\"\": {}}}", "expected a name"},
        {"{\"devices\": 2, \"classes\": {\"x\": {}, \"x\": {}}}", "two classes of links are named \"x\""},
        {CLASSED("\"speed\": 1"), "classes.x: unknown key \"speed\""},
        {CLASSED("\"latency\": \"1us\", \"latency_ps\": 3"), "classes.x.latency: given together"},
        {CLASSED("\"eager_bytes\": 5"), "classes.x.rendezvous: missing"},
        {CLASSED("\"rendezvous\": \"1us\""), "classes.x.eager_bytes: missing"},
        {CLASSED("\"eager_bytes\": -5, \"rendezvous\": \"1us\""), "classes.x.eager_bytes: is -5"},
        {CLASSED("\"origin\": \"guess\""), "classes.x.origin: is \"guess\""},
        {CLASSED("\"origin\": {\"latency\": 3}"), "classes.x.origin: is \"no string\""},
        {CLASSED("\"origin\": {\"speed\": \"measured\"}"), "classes.x: unknown key \"speed\""},
        {LINKED(", \"class\": \"y\""), "links[0].class: is \"y\""},
        {LINKED(", \"class\": 1"), "links[0].class: expected a string"},
        {LINKED(", \"class\": \"x\", \"latency\": \"1us\""), "links[0].latency: given together with class"},
        {LINKED(", \"class\": \"x\", \"origin\": \"measured\""), "links[0].origin: given together with class"},
        {LINKED(", \"origin\": {\"overhead\": \"measured\"}"), "links[0]: unknown key \"overhead\""},
        {INSIDE("\"l4\": {}"), "unknown key \"l4\""},
        {INSIDE("\"l3\": []"), "inside.l3: expected an object"},
        {INSIDE("\"rank\": {\"latency\": \"1us\"}"), "inside.rank: unknown key \"latency\""},
        {INSIDE("\"numa\": {\"overhead\": \"1 day\"}"), "overhead is \"1 day\""},
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
        {"{\"reverse_of\": 3}", "expected an object"},
        {"{\"reverse_of\": {\"devices\": 2}, \"name\": \"x\"}", "unknown key \"name\""},
        {"{\"reverse_of\": {\"reverse_of\": {\"devices\": 2}}}", "unknown key \"reverse_of\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct pccl_topology *topology = NULL;
        struct pccl_error error = {""};
        write_text(cases[i].text);
        assert_true(pccl_topology_read(path, &topology, &error) < 0);
        if (strstr(error.message, cases[i].names) == NULL) {
            fail_msg("%s: \"%s\" does not contain \"%s\"", cases[i].text, error.message, cases[i].names);
        }
        assert_null(topology);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_classes),
        cmocka_unit_test(test_simulated_handshake),
        cmocka_unit_test(test_changed_costs),
        cmocka_unit_test(test_classified),
        cmocka_unit_test(test_hosts),
        cmocka_unit_test(test_inside),
        cmocka_unit_test(test_up_down_on_random_networks),
        cmocka_unit_test(test_up_down_on_a_tree),
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_reversed_files),
        cmocka_unit_test(test_plans_take_routes),
        cmocka_unit_test(test_no_way_through_devices),
        cmocka_unit_test(test_refusals),
    };
    snprintf(path, sizeof path, "./test_fabric-%d.json", (int)getpid());
    int failures = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(path);
    return failures;
}
