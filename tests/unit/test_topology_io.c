/* Topologies in files: what is written reads back to the same digest; what is wrong is refused by its key. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "open.h"
#include "pccl/io.h"
#include "pccl/place.h"
#include "text_file.h"

static void test_round_trip(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "ring:5",
        "star:3:multicast",
        "mesh:3x4:bandwidth=1GB/s,3GB/s",
        "torus:2x3x4:routing=shortest",
        "hypercube:3:unit",
        "fattree:3x4:taper=1.5",
        "fattree:2x2x2",
        "dragonfly:3x2x1",
        "boxes:2x3:overhead=0",
        "full:4:ps_per_mib=0",
        "star:2:bandwidth=1B/s",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct pccl_topology *topology = open_topology(texts[i]);
        check_file(topology);
        pccl_topology_free(topology);
    }
}

static void test_round_trip_of_oddities(void **state)
{
    (void)state;
    struct pccl_topology *topology = NULL;
    struct pccl_topology_builder *builder = pccl_topology_builder_new("a \"name\"\\\twith \xc3\xa9");
    uint32_t a = pccl_topology_add_device(builder, "a\n\"\\/ \xc3\xa9"), b = pccl_topology_add_device(builder, "b");
    uint32_t s = pccl_topology_add_switch(builder, "s", true);
    pccl_topology_set_overheads(builder, a, 1, 2);
    pccl_topology_set_origins(builder, PCCL_ORIGIN_MEASURED, PCCL_ORIGIN_MEASURED);
    pccl_topology_add_link(builder, a, s, 1, INT64_C(1048576000000000000), 9);
    pccl_topology_set_origins(builder, PCCL_ORIGIN_DEFAULT, PCCL_ORIGIN_DECLARED);
    pccl_topology_add_link(builder, s, b, (INT64_C(1) << 38), INT64_C(9007199254740993), PCCL_NONE);
    pccl_topology_add_link(builder, b, s, 0, 0, 9);
    pccl_topology_add_link(builder, b, a, 0, 0, 9);
    pccl_topology_add_link(builder, a, b, 0, 0, 4);
    pccl_topology_add_link(builder, s, a, 0, 0, 4);
    assert_int_equal(pccl_topology_finish(builder, &topology, NULL), 0);
    check_file(topology);
    pccl_topology_free(topology);
}

static void test_round_trip_of_places(void **state)
{
    (void)state;
    struct pccl_topology *fabric = open_topology("torus:2x3"), *topology = NULL;
    const struct pccl_place places[] = {
        {0, 0, 0, 0, 0, 2}, {0, 0, 0, 1, -1, 1}, {0, -1, -1, -1, -1, 2}, {4, 1, 1, 1, 1, 2}, {5, 0, 0, 0, 0, 0}};
    uint32_t *rank_device;
    assert_int_equal(pccl_topology_place(fabric, places, 5, &topology, &rank_device, NULL), 0);
    check_file(topology);
    free(rank_device);
    pccl_topology_free(topology);
    pccl_topology_free(fabric);
}

static void test_every_key(void **state)
{
    (void)state;
    struct pccl_topology *topology = read_text(
        "{\"format\": \"pccl-topology\", \"version\": 1, \"name\": \"n\", \"overhead\": \"3us\",\n"
        " \"devices\": [\"a\", {\"name\": \"b\", \"overhead\": \"1us\"}, {\"name\": \"c\", \"send_overhead\": "
        "\"2us\"},\n"
        "  {\"name\": \"d\", \"send_overhead_ps\": 5, \"receive_overhead_ps\": \"6\"}],\n"
        " \"switches\": [\"s\", {\"name\": \"t\", \"multicast\": true}],\n"
        " \"links\": [{\"source\": \"a\", \"target\": \"s\", \"latency\": \"1us\", \"bandwidth\": \"1GB/s\", "
        "\"duplex\": true,\n"
        "   \"capacity\": \"x\"}, {\"source\": \"t\", \"target\": \"b\"}, {\"source\": \"c\", \"target\": \"d\", "
        "\"latency_ps\": 7,\n"
        "   \"ps_per_mib\": 8, \"origin\": \"measured\", \"capacity\": \"x\"}, {\"source\": \"s\", \"target\": \"t\", "
        "\"duplex\": true,\n"
        "   \"latency\": \"0\"}],\n"
        " \"routing\": \"dimension-order\", \"dimensions\": [2, 2], \"wraps\": [false, true]}");
    static const struct {
        uint32_t source, target;
        int64_t latency_ps, ps_per_mib;
        uint32_t capacity, latency_origin, bandwidth_origin;
    } links[] = {
        {0, 4, 1000000, 1048576000, 0, PCCL_ORIGIN_DECLARED, PCCL_ORIGIN_DECLARED},
        {4, 0, 1000000, 1048576000, 0, PCCL_ORIGIN_DECLARED, PCCL_ORIGIN_DECLARED},
        {5, 1, 500000, 83886080, 1, PCCL_ORIGIN_DEFAULT, PCCL_ORIGIN_DEFAULT},
        {2, 3, 7, 8, 0, PCCL_ORIGIN_MEASURED, PCCL_ORIGIN_MEASURED},
        {4, 5, 0, 83886080, 2, PCCL_ORIGIN_DECLARED, PCCL_ORIGIN_DEFAULT},
        {5, 4, 0, 83886080, 3, PCCL_ORIGIN_DECLARED, PCCL_ORIGIN_DEFAULT},
    };
    static const int64_t overheads[4][2] = {{3000000, 3000000}, {1000000, 1000000}, {2000000, 3000000}, {5, 6}};
    assert_string_equal(topology->name, "n");
    assert_int_equal(topology->num_links, 6);
    for (uint32_t l = 0; l < 6; l++) {
        assert_int_equal(topology->links[l].source, links[l].source);
        assert_int_equal(topology->links[l].target, links[l].target);
        assert_int_equal(topology->links[l].latency_ps, links[l].latency_ps);
        assert_int_equal(topology->links[l].ps_per_mib, links[l].ps_per_mib);
        assert_int_equal(topology->links[l].capacity, links[l].capacity);
        assert_int_equal(topology->links[l].latency_origin, links[l].latency_origin);
        assert_int_equal(topology->links[l].bandwidth_origin, links[l].bandwidth_origin);
    }
    for (uint32_t d = 0; d < 4; d++) {
        assert_int_equal(topology->vertices[d].send_overhead_ps, overheads[d][0]);
        assert_int_equal(topology->vertices[d].receive_overhead_ps, overheads[d][1]);
    }
    assert_true(topology->vertices[5].multicast);
    assert_int_equal(topology->routing, PCCL_ROUTING_DIMENSION_ORDER);
    assert_int_equal(topology->dimensions[1], 2);
    assert_false(topology->wraps[0]);
    assert_true(topology->wraps[1]);
    pccl_topology_free(topology);
}

static void test_numbers_of_vertices(void **state)
{
    (void)state;
    struct pccl_topology *topology = read_text(
        "{\"devices\": 12, \"switches\": 2, \"links\": [{\"source\": \"d11\", \"target\": \"s1\"}]}");
    assert_int_equal(topology->num_devices, 12);
    assert_int_equal(topology->links[0].source, 11);
    assert_int_equal(topology->links[0].target, 13);
    pccl_topology_free(topology);
}

static void test_placed_text(void **state)
{
    (void)state;
    struct pccl_topology *topology = read_text("{\"fabric\": \"star:3\", \"places\": [{\"host\": \"d1\", \"package\": "
                                               "0}, {\"host\": \"d1\", \"package\": 1}, {\"host\": \"d2\"}]}");
    assert_int_equal(topology->num_devices, 3);
    assert_int_equal(topology->routing, PCCL_ROUTING_TABLE);
    pccl_topology_free(topology);
}

#define LINKED(text) "{\"devices\": 2, \"links\": [{\"source\": \"d0\", \"target\": \"d1\"" text "}]}"

static void test_refusals(void **state)
{
    (void)state;
    static const struct {
        const char *text, *names;
    } cases[] = {
        {"", ":1: not JSON"},
        {"{\n\n\"devices\": 2,\n}", ":4: not JSON"},
        {"{\"devices\": 2", "ends too early"},
        {"{\"devices\": 2} {}", "not JSON"},
        {"[1]", "expected an object"},
        {"{}", "no devices"},
        {"{\"devices\": 0}", "no devices"},
        {"{\"devices\": 2, \"device\": 3}", "unknown key \"device\""},
        {"{\"devices\": 2, \"devices\": 2}", "devices: given twice"},
        {"{\"devices\": -1}", "devices: is -1"},
        {"{\"devices\": 1.5}", "devices: is 1.5"},
        {"{\"devices\": 1e300}", "devices: is 1"},
        {"{\"devices\": \"2\"}", "devices: expected"},
        {"{\"devices\": null}", "devices: expected"},
        {"{\"devices\": 2, \"format\": \"x\"}", "format: is \"x\""},
        {"{\"devices\": 2, \"version\": 2}", "version: is 2"},
        {"{\"devices\": 2, \"name\": \"\"}", "name: is \"\""},
        {"{\"devices\": 2, \"overhead\": \"1m\"}", "overhead is \"1m\""},
        {"{\"devices\": [3]}", "devices[0]: expected an object"},
        {"{\"devices\": [\"a\", \"\"]}", "devices[1]: is \"\""},
        {"{\"devices\": [\"a\", \"a\"]}", "two vertices are named \"a\""},
        {"{\"devices\": [\"a\"], \"switches\": [\"a\"]}", "two vertices are named \"a\""},
        {"{\"devices\": [{}]}", "devices[0].name: missing"},
        {"{\"devices\": [{\"name\": \"a\", \"multicast\": true}]}", "devices[0]: unknown key \"multicast\""},
        {"{\"devices\": [{\"name\": \"a\", \"send_overhead_ps\": -1}]}", "devices[0].send_overhead_ps: is -1"},
        {"{\"devices\": 1, \"switches\": [{\"name\": \"a\", \"multicast\": 1}]}",
         "switches[0].multicast: expected true or false"},
        {"{\"devices\": 2, \"links\": {}}", "links: expected an array"},
        {"{\"devices\": 2, \"links\": [{\"source\": \"d0\"}]}", "links[0].target: missing"},
        {"{\"devices\": 2, \"links\": [{\"source\": \"d0\", \"target\": 1}]}", "links[0].target: expected a string"},
        {"{\"devices\": 2, \"links\": [{\"source\": \"d0\", \"target\": \"x\"}]}", "links[0].target: is \"x\""},
        {"{\"devices\": 2, \"links\": [{\"source\": \"d0\", \"target\": \"d0\"}]}", "links[0].target: is the source"},
        {LINKED(", \"latency\": 5"), "links[0].latency: expected a string"},
        {LINKED(", \"latency\": \"-1us\""), "latency is \"-1us\""},
        {LINKED(", \"latency\": \"5s\""), "links[0].latency: is \"5s\""},
        {LINKED(", \"latency\": \"5us\", \"latency_ps\": 3"), "links[0].latency: given together"},
        {LINKED(", \"latency_ps\": 9e15"), "links[0].latency_ps: is 9000000000000000"},
        {LINKED(", \"ps_per_mib\": \"99999999999999999999\""), "links[0].ps_per_mib: is \"9999"},
        {LINKED(", \"bandwidth\": \"0GB/s\""), "bandwidth is \"0GB/s\""},
        {LINKED(", \"origin\": \"guess\""), "links[0].origin: is \"guess\""},
        {LINKED(", \"capacity\": 3"), "links[0].capacity: expected a string"},
        {LINKED(", \"duplex\": 1"), "links[0].duplex: expected true or false"},
        {LINKED(", \"speed\": 1"), "links[0]: unknown key \"speed\""},
        {"{\"devices\": 2, \"routing\": \"table\"}", "routes: missing"},
        {"{\"devices\": 2, \"routing\": \"tables\"}", "routing: is \"tables\""},
        {"{\"devices\": 2, \"routing\": \"dimension-order\"}", "dimension-order routing needs"},
        {"{\"devices\": 2, \"dimensions\": []}", "dimensions: has 0 elements"},
        {"{\"devices\": 2, \"dimensions\": [0]}", "dimensions: element 0"},
        {"{\"devices\": 2, \"dimensions\": [2, \"1\"]}", "dimensions: element 1"},
        {"{\"devices\": 2, \"dimensions\": [3]}", "grid of at least 3"},
        {"{\"devices\": 2, \"dimensions\": [2], \"wraps\": [true, true]}", "wraps: expected"},
        {"{\"devices\": 2, \"dimensions\": [2, 1], \"wraps\": [true]}", "wraps: expected"},
        {"{\"devices\": 2, \"wraps\": true}", "wraps: given without dimensions"},
        {"{\"fabric\": \"star:0\", \"places\": []}", "extent 1"},
        {"{\"fabric\": \"star:2\", \"places\": []}", "0 ranks"},
        {"{\"fabric\": \"star:2\", \"places\": [{\"host\": \"d2\"}]}", "places[0].host"},
        {"{\"fabric\": \"star:2\", \"places\": [{\"host\": \"switch0\"}]}", "places[0].host"},
        {"{\"fabric\": \"star:2\", \"places\": [{\"host\": \"d1\", \"l3\": -2}]}", "places[0].l3: is -2"},
        {"{\"fabric\": {\"fabric\": \"star:2\"}, \"places\": []}", "unknown key \"fabric\""},
        {"{\"fabric\": 3, \"places\": []}", "expected an object"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        refuse_text(cases[i].text, cases[i].names);
    }
}

static void test_cut_short_anywhere(void **state)
{
    (void)state;
    static const char text[] = "{\"devices\": [\"a\", {\"name\": \"b\"}], \"links\": [{\"source\": \"a\", \"target\": "
                               "\"b\", \"latency_ps\": 1}]}";
    for (size_t length = 0; length < sizeof text - 1; length++) {
        struct pccl_topology *topology = NULL;
        write_file(text, length);
        assert_int_equal(pccl_topology_read(file_path, &topology, NULL), PCCL_ERR_FORMAT);
        char zeroed[sizeof text];
        memcpy(zeroed, text, sizeof text);
        zeroed[length] = '\0';
        write_file(zeroed, sizeof text - 1);
        assert_int_equal(pccl_topology_read(file_path, &topology, NULL), PCCL_ERR_FORMAT);
    }
}

static void test_files_that_cannot_be(void **state)
{
    (void)state;
    struct pccl_topology *topology = open_topology("star:2"), *none = NULL;
    struct pccl_error error;
    assert_int_equal(pccl_topology_read("/nonexistent/t.json", &none, &error), PCCL_ERR_IO);
    assert_non_null(strstr(error.message, "/nonexistent/t.json"));
    assert_int_equal(pccl_topology_read("/", &none, &error), PCCL_ERR_IO);
    assert_int_equal(pccl_topology_create("nonexistent.json", &none, &error), PCCL_ERR_IO);
    assert_int_equal(pccl_topology_write(topology, "/nonexistent/t.json", &error), PCCL_ERR_IO);
    pccl_topology_free(topology);
}

static const char csv[] = "topology,chassis,src,dst,GBps,alpha_us,src_is_switch,dst_is_switch\n"
                          "A,1,0,3,12.5,0.7,1,0\nA,1,3,0,12.5,0.7,0,1\r\nA,2,7,3,25,0.35,0,0\nB,1,0,1,50,2,0,0\n\n";

static void test_csv(void **state)
{
    (void)state;
    struct pccl_topology *topology = NULL;
    write_file(csv, sizeof csv - 1);
    assert_int_equal(pccl_topology_read_csv(file_path, "topology=A", true, &topology, NULL), 0);
    assert_int_equal(topology->num_devices, 2); /* 3 and 7 */
    assert_int_equal(topology->num_vertices, 3);
    assert_int_equal(pccl_topology_find(topology, "n7"), 1);
    assert_int_equal(pccl_topology_find(topology, "n0"), 2);
    assert_true(topology->vertices[2].multicast);
    assert_int_equal(topology->links[0].source, 2);
    assert_int_equal(topology->links[0].latency_ps, 700000);
    assert_int_equal(topology->links[0].ps_per_mib, 83886080);
    assert_int_equal(topology->links[2].latency_ps, 350000);
    assert_int_equal(topology->vertices[0].send_overhead_ps, 0);
    pccl_topology_free(topology);
    assert_int_equal(pccl_topology_read_csv(file_path, "topology=A,chassis=2", false, &topology, NULL), 0);
    assert_int_equal(topology->num_links, 1);
    assert_int_equal(topology->num_vertices, 2);
    pccl_topology_free(topology);
}

static void test_csv_refusals(void **state)
{
    (void)state;
    static const struct {
        const char *text, *filter, *names;
    } cases[] = {
        {"", NULL, ":1: the file is empty"},
        {"src,dst\n0,1\n", NULL, ":1: the first line must name"},
        {"src,dst,GBps,src_is_switch\n", NULL, "only one of the columns"},
        {"src,dst,GBps\n", NULL, "no row passes"},
        {"src,dst,GBps\n0,1,1\n", "x=1", "no column for the filter \"x"},
        {"src,dst,GBps\n0,1,1\n", "src", "COLUMN=VALUE"},
        {"src,dst,GBps\n0,1,1\n", "src=5", "no row passes"},
        {"src,dst,GBps\n0,1,1\n0,1\n", NULL, ":3: expected as many columns"},
        {"src,dst,GBps\n0,x,1\n", NULL, ":2: dst is \"x\""},
        {"src,dst,GBps\n0,-1,1\n", NULL, ":2: dst is \"-1\""},
        {"src,dst,GBps\n0,1,0\n", NULL, ":2: GBps is \"0GB/s\""},
        {"src,dst,GBps,alpha_us\n0,1,1,-1\n", NULL, ":2: alpha_us is"},
        {"src,dst,GBps,src_is_gpu,dst_is_gpu\n0,1,1,1,2\n", NULL, ":2: expected 0 or 1, not \"2\""},
        {"src,dst,GBps,src_is_gpu,dst_is_gpu\n0,1,1,1,1\n1,0,1,0,1\n", NULL, "vertex 1 is a device in one row"},
        {"src,dst,GBps\n1,1,1\n", NULL, "to itself"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct pccl_topology *topology = NULL;
        struct pccl_error error = {""};
        write_file(cases[i].text, strlen(cases[i].text));
        assert_true(pccl_topology_read_csv(file_path, cases[i].filter, false, &topology, &error) < 0);
        if (strstr(error.message, cases[i].names) == NULL) {
            fail_msg("%s: \"%s\" does not contain \"%s\"", cases[i].text, error.message, cases[i].names);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),           cmocka_unit_test(test_round_trip_of_oddities),
        cmocka_unit_test(test_round_trip_of_places), cmocka_unit_test(test_every_key),
        cmocka_unit_test(test_numbers_of_vertices),  cmocka_unit_test(test_placed_text),
        cmocka_unit_test(test_refusals),             cmocka_unit_test(test_cut_short_anywhere),
        cmocka_unit_test(test_files_that_cannot_be), cmocka_unit_test(test_csv),
        cmocka_unit_test(test_csv_refusals),
    };
    return cmocka_run_group_tests(tests, make_file, remove_file);
}
