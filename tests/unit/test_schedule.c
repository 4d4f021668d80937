/* Schedules: interning of paths, sorting by step, lists, digests. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "samples.h"

enum { DEVICES = 9 };

static struct pccl_schedule *new_schedule(const struct pccl_topology *topology)
{
    struct pccl_schedule *schedule;
    struct pccl_demand *demand = sample_demand(PCCL_ALLTOALL, DEVICES, 1, 8, false, false);
    assert_int_equal(pccl_schedule_create(demand, topology, "test", &schedule, NULL), 0);
    return schedule;
}

static void test_paths(void **state)
{
    (void)state;
    struct pccl_topology *topology = sample_topology(DEVICES);
    struct pccl_schedule *schedule = new_schedule(topology);
    struct pccl__random random = {.state = 1};
    uint32_t numbers[512], links[512][3], lengths[512];
    for (uint32_t i = 0; i < 512; i++) {
        lengths[i] = 1 + pccl__random_below(&random, 3);
        for (uint32_t j = 0; j < 3; j++) {
            links[i][j] = pccl__random_below(&random, topology->num_links / (j + 3));
        }
        numbers[i] = pccl_schedule_path(schedule, topology, links[i], lengths[i]);
        uint32_t first = 0; /* the first path with the same links gave the number */
        while (lengths[first] != lengths[i] || memcmp(links[first], links[i], lengths[i] * sizeof **links) != 0) {
            first++;
        }
        assert_int_equal(numbers[i], first < i ? numbers[first] : schedule->num_paths - 1);
        const struct pccl_path *path = &schedule->paths[numbers[i]];
        assert_int_equal(path->num_links, lengths[i]);
        assert_memory_equal(schedule->path_links + path->first_link, links[i], lengths[i] * sizeof **links);
        assert_int_equal(path->source, topology->links[links[i][0]].source);
        assert_int_equal(path->target, topology->links[links[i][lengths[i] - 1]].target);
    }
    uint32_t bad = topology->num_links;
    assert_int_equal(pccl_schedule_path(schedule, topology, &bad, 1), PCCL_NONE);
    assert_int_equal(pccl_schedule_path(schedule, topology, &bad, 0), PCCL_NONE);
    pccl_schedule_free(schedule);
    pccl_topology_free(topology);
}

/* Adds messages with random steps; after sealing they must be sorted by step, and by order of adding within one: the
 * chunk tells the order. */
static void check_sorting(uint32_t num_messages, uint32_t step_limit, uint32_t stride)
{
    struct pccl_topology *topology = sample_topology(DEVICES);
    struct pccl_schedule *schedule = new_schedule(topology);
    struct pccl__random random = {.state = num_messages};
    uint32_t link = 0, path = pccl_schedule_path(schedule, topology, &link, 1), steps[81];
    for (uint32_t i = 0; i < num_messages; i++) {
        steps[i] = stride * pccl__random_below(&random, step_limit);
        assert_int_equal(pccl_schedule_add(schedule, steps[i], path, false, &i, 1), 0);
    }
    assert_int_equal(pccl_schedule_seal(schedule), 0);
    for (uint32_t i = 0; i < num_messages; i++) {
        uint32_t before = 0, distinct = 0, chunk = schedule->messages[i].payload;
        for (uint32_t j = 0; j < num_messages; j++) {
            before += steps[j] < steps[chunk] || (steps[j] == steps[chunk] && j < chunk);
            bool first = true;
            for (uint32_t k = 0; k < j; k++) {
                first = first && steps[k] != steps[j];
            }
            distinct += first && steps[j] < steps[chunk];
        }
        assert_int_equal(before, i);
        uint32_t step = schedule->messages[i].step;
        assert_true(step == steps[chunk] || step == distinct); /* far apart steps may be renumbered */
    }
    pccl_schedule_free(schedule);
    pccl_topology_free(topology);
}

static void test_sorting(void **state)
{
    (void)state;
    check_sorting(0, 1, 1);
    check_sorting(1, 7, 1);
    check_sorting(81, 1, 1);
    check_sorting(81, 10, 1);
    check_sorting(80, 300, 1);
    check_sorting(81, 20, 100000000);
    check_sorting(40, 4, UINT32_MAX / 3);
}

static void test_lists(void **state)
{
    (void)state;
    struct pccl_topology *topology = sample_topology(DEVICES);
    struct pccl_schedule *schedule = new_schedule(topology);
    uint32_t link = 3, path = pccl_schedule_path(schedule, topology, &link, 1), count;
    static const uint32_t chunks[] = {5, 9, 2, 80, 0}, sorted[] = {0, 2, 5, 9, 80};
    assert_int_equal(pccl_schedule_add(schedule, 1, path, true, chunks, 5), 0);
    assert_int_equal(pccl_schedule_add(schedule, 0, path, false, chunks + 3, 1), 0);
    static const uint32_t too_large = 81;
    assert_int_equal(pccl_schedule_add(schedule, 0, path, false, &too_large, 1), PCCL_ERR_INVALID);
    assert_int_equal(pccl_schedule_add(schedule, 0, path, false, chunks, 0), PCCL_ERR_INVALID);
    assert_int_equal(pccl_schedule_add(schedule, 0, path + 1, false, chunks, 1), PCCL_ERR_INVALID);
    assert_int_equal(pccl_schedule_seal(schedule), 0);
    assert_int_equal(schedule->num_messages, 2);
    assert_int_equal(*pccl_message_chunks(schedule, &schedule->messages[0], &count), 80);
    assert_int_equal(count, 1);
    const uint32_t *carried = pccl_message_chunks(schedule, &schedule->messages[1], &count);
    assert_int_equal(count, 5);
    assert_memory_equal(carried, sorted, sizeof sorted);
    assert_true(schedule->messages[1].reduce);
    pccl_schedule_free(schedule);
    pccl_topology_free(topology);
}

static void test_create(void **state)
{
    (void)state;
    struct pccl_topology *topology = sample_topology(DEVICES);
    struct pccl_demand *demand = sample_demand(PCCL_BROADCAST, DEVICES + 1, 1, 8, false, false);
    struct pccl_schedule *schedule;
    struct pccl_error error;
    assert_int_equal(pccl_schedule_create(demand, topology, "too large", &schedule, &error), PCCL_ERR_INVALID);
    assert_null(schedule);
    pccl_topology_free(topology);
}

/* Equal schedules have equal digests; everything that means something counts. */
static void test_digest(void **state)
{
    (void)state;
    struct pccl_topology *topology = sample_topology(DEVICES);
    uint64_t digests[64];
    uint32_t count = 0;
    for (uint32_t kind = 0; kind < SAMPLE_NUM_KINDS; kind++) {
        for (uint32_t variant = 0; variant < 3; variant++) {
            struct pccl_schedule *schedule =
                sample_schedule(topology, (enum sample_kind)kind, DEVICES, 1 + variant % 2, 16 + variant, false, false);
            struct pccl_schedule *again =
                sample_schedule(topology, (enum sample_kind)kind, DEVICES, 1 + variant % 2, 16 + variant, false, false);
            if (schedule != NULL && (variant == 0 || schedule->demand->collective != PCCL_BARRIER)) {
                digests[count++] = pccl_schedule_digest(schedule);
                assert_true(pccl_schedule_digest(again) == digests[count - 1]);
                schedule->messages[0].reduce ^= 1;
                assert_true(pccl_schedule_digest(schedule) != digests[count - 1]);
                schedule->messages[0].reduce ^= 1;
                schedule->messages[schedule->num_messages - 1].step++;
                assert_true(pccl_schedule_digest(schedule) != digests[count - 1]);
            }
            pccl_schedule_free(schedule);
            pccl_schedule_free(again);
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t j = 0; j < i; j++) {
            assert_true(digests[i] != digests[j]);
        }
    }
    pccl_topology_free(topology);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_paths),  cmocka_unit_test(test_sorting), cmocka_unit_test(test_lists),
        cmocka_unit_test(test_create), cmocka_unit_test(test_digest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
