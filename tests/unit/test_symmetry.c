/* Symmetric all-to-all: translations are discovered and checked, the plan is exact, one device's part is its part. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>

#include <cmocka.h>
#include <stdlib.h>

#include "algorithms/symmetry.h"
#include "plan.h"

/* A torus that does not say that it is one; `slow`: number of a link with half the speed, or PCCL_NONE. */
static struct pccl_topology *undeclared_torus(uint32_t rows, uint32_t columns, uint32_t slow)
{
    struct pccl_topology_builder *builder = pccl_topology_builder_new("undeclared");
    struct pccl_topology *topology;
    struct pccl_error error = {""};
    uint32_t n = rows * columns, number = 0;
    for (uint32_t d = 0; d < n; d++) {
        char name[12];
        snprintf(name, sizeof name, "d%u", d);
        pccl_topology_add_device(builder, name);
    }
    for (uint32_t d = 0; d < n; d++) {
        uint32_t row = d / columns, column = d % columns;
        uint32_t ends[] = {row * columns + (column + 1) % columns, (row + 1) % rows * columns + column};
        for (int k = 0; k < 2; k++, number += 2) {
            pccl_topology_add_link(builder, d, ends[k], 0, number == slow ? 2000000 : 1000000, PCCL_NONE);
            pccl_topology_add_link(builder, ends[k], d, 0, 1000000, PCCL_NONE);
        }
    }
    if (pccl_topology_finish(builder, &topology, &error) != 0) {
        fail_msg("%s", error.message);
    }
    return topology;
}

static void test_discovery(void **state)
{
    (void)state;
    struct pccl__translation translation;
    struct pccl_topology *topology = undeclared_torus(5, 7, PCCL_NONE);
    assert_true(pccl__translation_find(topology, &translation));
    for (uint32_t a = 0; a < 35; a++) {
        for (uint32_t b = 0; b < 35; b++) {
            uint32_t sum = pccl__translation_add(&translation, a, b);
            assert_true(sum < 35);
            assert_int_equal(sum, pccl__translation_add(&translation, b, a));
            assert_int_equal(pccl__translation_subtract(&translation, sum, b), a);
        }
    }
    pccl_topology_free(topology);

    topology = undeclared_torus(5, 7, 12);
    assert_false(pccl__translation_find(topology, &translation));
    pccl_topology_free(topology);
    static const struct {
        const char *text, *why;
    } others[] = {{"mesh:4x4", "no shift of the device numbers"},
                  {"star:5", "through switches"},
                  {"fattree:2x3", "through switches"},
                  {"torus:3x3:bandwidth=1GB/s,2GB/s", "not all equally fast"}};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        topology = open_topology(others[i].text);
        struct pccl_request request = plan_request(PCCL_ALLTOALL, topology->num_devices, 1000);
        struct pccl_error error = {""};
        assert_null(plan(topology, &request, "symmetry", 1, &error));
        assert_non_null(strstr(error.message, others[i].why));
        pccl_topology_free(topology);
    }
}

/* Blocks times distance over links, by hand: per dimension of extent k and n devices, n/k * floor(k*k/4) / 2 slots each
 * way; a dimension of two has one link. */
static void test_makespans(void **state)
{
    (void)state;
    assert_int_equal(plan_slots("ring:7:unit", PCCL_ALLTOALL, "symmetry", 1), 6);
    assert_int_equal(plan_slots("torus:5x3:unit", PCCL_ALLTOALL, "symmetry", 1), 9);
    assert_int_equal(plan_slots("torus:13x2:unit", PCCL_ALLTOALL, "symmetry", 1), 42);
    assert_int_equal(plan_slots("torus:8x8:unit", PCCL_ALLTOALL, "symmetry", 1), 64);
    assert_int_equal(plan_slots("torus:8x8x8:unit", PCCL_ALLTOALL, "symmetry", 1), 512);
    assert_int_equal(plan_slots("hypercube:6:unit", PCCL_ALLTOALL, "symmetry", 1), 32);
    assert_int_equal(plan_slots("full:9:unit", PCCL_ALLTOALL, "symmetry", 1), 1);
    assert_true(plan_slots("torus:4x6x2:unit", PCCL_ALLTOALL, "symmetry", 1) <= 38);
}

/* What is extracted for one device is what the whole schedule has it do, message by message. */
static void test_extract(void **state)
{
    (void)state;
    static const char *const shapes[] = {"torus:5x4", "hypercube:4", "torus:3x2x5", "ring:12"};
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        struct pccl_topology *topology = open_topology(shapes[i]);
        uint32_t n = topology->num_devices;
        struct pccl_request request = plan_request(PCCL_ALLTOALL, n, 1000);
        struct pccl_error error = {""};
        struct pccl_schedule *schedule = plan(topology, &request, "symmetry", 1, &error);
        struct pccl__symmetric_plan symmetric;
        assert_int_equal(pccl__symmetric_plan_create(topology, &symmetric, &error), 0);
        assert_int_equal(schedule->num_messages, symmetric.num_steps * n);
        struct pccl__symmetric_operation *operations = calloc(symmetric.num_steps, sizeof *operations);
        assert_non_null(operations);
        for (uint32_t device = 0; device < n; device++) {
            pccl__symmetric_plan_extract(&symmetric, device, operations);
            uint32_t sends = 0, receives = 0;
            for (uint32_t m = 0; m < schedule->num_messages; m++) {
                const struct pccl_message *message = &schedule->messages[m];
                const struct pccl_path *path = &schedule->paths[message->path];
                if (path->source == device) {
                    const struct pccl__symmetric_operation *sent = &operations[sends++];
                    assert_int_equal(sent->slot, message->step);
                    assert_int_equal(sent->to, path->target);
                    assert_int_equal(sent->send_source * n + sent->send_target, message->payload);
                } else if (path->target == device) {
                    const struct pccl__symmetric_operation *received = &operations[receives++];
                    assert_int_equal(received->slot, message->step);
                    assert_int_equal(received->from, path->source);
                    assert_int_equal(received->receive_source * n + received->receive_target, message->payload);
                }
            }
            assert_int_equal(sends, symmetric.num_steps);
            assert_int_equal(receives, symmetric.num_steps);
        }
        free(operations);
        pccl__symmetric_plan_free(&symmetric);
        pccl_schedule_free(schedule);
        pccl_topology_free(topology);
    }
}

/* Four thousand devices: too many messages to write down, but one device's part is exact. */
static void test_large(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint32_t slots;
    } cases[] = {{"torus:16x16x16", 8192}, {"hypercube:12", 2048}};
    for (size_t i = 0; i < 2; i++) {
        struct pccl_topology *topology = open_topology(cases[i].text);
        struct pccl__symmetric_plan symmetric;
        struct pccl_error error = {""};
        assert_int_equal(pccl__symmetric_plan_create(topology, &symmetric, &error), 0);
        assert_int_equal(symmetric.num_slots, cases[i].slots);
        struct pccl_request request = {.collective = PCCL_ALLTOALL, .num_ranks = topology->num_devices, .bytes = 1};
        uint32_t *devices = calloc(topology->num_devices, sizeof *devices);
        assert_non_null(devices);
        for (uint32_t d = 0; d < topology->num_devices; d++) {
            devices[d] = d;
        }
        request.devices = devices;
        assert_null(plan(topology, &request, "symmetry", 1, &error));
        free(devices);
        pccl__symmetric_plan_free(&symmetric);
        pccl_topology_free(topology);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_discovery), cmocka_unit_test(test_makespans), cmocka_unit_test(test_extract),
        cmocka_unit_test(test_large),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
