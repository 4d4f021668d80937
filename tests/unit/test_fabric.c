/* What a fabric file says beyond the graph: classes of links, costs inside hosts, reversal. Routing is in test_routing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "open.h"
#include "pccl/io.h"
#include "pccl/place.h"
#include "pccl/simulate.h"
#include "samples.h"
#include "text_file.h"

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
    check_file(topology);
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
    check_file(changed);
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
    check_file(classified);
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
    write_file(two_leaves, strlen(two_leaves));
    check_classes(file_path, 4, (const char *[]){"host", "up", "plain", "hosts"});
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
    const struct pccl_place places[] = {{0, 0, 0, 0, 0, 0}, {0, 0, 0, 0, 1, 0}, {0, 0, 0, 1, 2, 0},
                                        {0, 0, 1, 2, 3, 0}, {0, 1, 2, 3, 4, 0}, {1, 0, 0, 0, 0, 0}};
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
    check_file(fabric);
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
    check_file(topology);
    pccl_topology_free(topology);
    pccl_topology_free(fabric);
    fabric = open_topology("star:2");
    topology = place(fabric);
    check_endpoints(topology, 0, 1, 200000, 200000, 4032, 1000000);
    check_endpoints(topology, 0, 5, 200000, 200000, INT64_MAX, 0);
    pccl_topology_free(topology);
    pccl_topology_free(fabric);
}

/* --- reversal ----------------------------------------------------------------------------------------------------- */

static void test_reversed_files(void **state)
{
    (void)state;
    static const char *const texts[] = {"torus:3x4", "fattree:3x2:spines=2", "mesh:2x3:routing=shortest"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct pccl_topology *fabric = open_topology(texts[i]), *placed = place(fabric), *reversed = NULL;
        assert_int_equal(pccl_topology_reverse(fabric, &reversed, NULL), 0);
        check_file(reversed);
        pccl_topology_free(reversed);
        assert_int_equal(pccl_topology_reverse(placed, &reversed, NULL), 0);
        check_file(reversed);
        pccl_topology_free(reversed);
        pccl_topology_free(placed);
        pccl_topology_free(fabric);
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
        {"{\"reverse_of\": 3}", "expected an object"},
        {"{\"reverse_of\": {\"devices\": 2}, \"name\": \"x\"}", "unknown key \"name\""},
        {"{\"reverse_of\": {\"reverse_of\": {\"devices\": 2}}}", "unknown key \"reverse_of\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        refuse_text(cases[i].text, cases[i].names);
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
        cmocka_unit_test(test_reversed_files),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, make_file, remove_file);
}
