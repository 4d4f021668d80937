/* The verifier catches each kind of breakage of a schedule. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "pccl/verify.h"
#include "suspect.h"

static void test_schedule_indices(void **state)
{
    (void)state;
    struct suspect suspect = suspect_open(SAMPLE_BRUCK_ALLGATHER, 6, 2, false);
    struct pccl_schedule *schedule = suspect.schedule;
    struct pccl_message *last = &schedule->messages[schedule->num_messages - 1], kept = *last;
    last->path = schedule->num_paths;
    EXPECT_SCHEDULE_REJECTED(&suspect, "uses path");
    *last = kept;
    last->payload = schedule->num_lists;
    EXPECT_SCHEDULE_REJECTED(&suspect, "chunk list");
    *last = kept;
    last->list = 0;
    last->payload = schedule->demand->num_chunks;
    EXPECT_SCHEDULE_REJECTED(&suspect, "carries chunk");
    *last = kept;
    last->reduce = 1;
    EXPECT_SCHEDULE_REJECTED(&suspect, "combines");
    *last = kept;
    last->step = 0;
    EXPECT_SCHEDULE_REJECTED(&suspect, "sorted by step");
    *last = kept;
    struct pccl_chunk_list *list = &schedule->lists[last->payload], kept_list = *list;
    list->count = UINT32_MAX;
    EXPECT_SCHEDULE_REJECTED(&suspect, "chunk list");
    *list = kept_list;
    schedule->list_chunks[list->first + 1] = schedule->list_chunks[list->first];
    EXPECT_SCHEDULE_REJECTED(&suspect, "ascending");
    suspect_close(&suspect);
}

static void test_schedule_paths(void **state)
{
    (void)state;
    struct suspect suspect = suspect_open(SAMPLE_RING_ALLGATHER, 5, 1, false);
    struct pccl_schedule *schedule = suspect.schedule;
    struct pccl_path kept = schedule->paths[1];
    schedule->paths[1].num_links = 0;
    EXPECT_SCHEDULE_REJECTED(&suspect, "path 1 has 0 links");
    schedule->paths[1].num_links = schedule->num_path_links;
    EXPECT_SCHEDULE_REJECTED(&suspect, "path 1 has");
    schedule->paths[1] = kept;
    schedule->paths[1].target = schedule->paths[1].source;
    EXPECT_SCHEDULE_REJECTED(&suspect, "should lead");
    schedule->paths[1] = kept;
    schedule->paths[1].first_link = schedule->paths[0].first_link;
    EXPECT_SCHEDULE_REJECTED(&suspect, "is broken");
    schedule->paths[1] = kept;
    schedule->path_links[kept.first_link] = suspect.topology->num_links;
    EXPECT_SCHEDULE_REJECTED(&suspect, "uses link");
    schedule->topology_digest++;
    EXPECT_SCHEDULE_REJECTED(&suspect, "another topology");
    suspect_close(&suspect);
}

/* A broadcast from rank 0 of ranks 0 and 1 over a path of two links through
 * device 2, or with a stop there. */
static int verify_relay(bool stop, bool relays, struct pccl_error *error)
{
    uint32_t devices[] = {0, 1}, chunk = 0;
    struct pccl_topology *topology = sample_topology(3);
    struct pccl_request request = {.collective = PCCL_BROADCAST, .num_ranks = 2, .devices = devices, .bytes = 8};
    struct pccl_demand *demand;
    struct pccl_schedule *schedule;
    assert_int_equal(pccl_demand_create(&request, 1, &demand, NULL), 0);
    assert_int_equal(pccl_schedule_create(demand, topology, "relay", &schedule, NULL), 0);
    uint32_t links[] = {sample_link(3, 0, 2), sample_link(3, 2, 1)};
    if (stop) {
        uint32_t first = pccl_schedule_path(schedule, topology, links, 1);
        uint32_t second = pccl_schedule_path(schedule, topology, links + 1, 1);
        assert_int_equal(pccl_schedule_add(schedule, 0, first, false, &chunk, 1), 0);
        assert_int_equal(pccl_schedule_add(schedule, 1, second, false, &chunk, 1), 0);
    } else {
        uint32_t path = pccl_schedule_path(schedule, topology, links, 2);
        assert_int_equal(pccl_schedule_path(schedule, topology, links, 2), path);
        assert_int_equal(pccl_schedule_add(schedule, 0, path, false, &chunk, 1), 0);
    }
    assert_int_equal(pccl_schedule_seal(schedule), 0);
    int status = pccl_verify_schedule(topology, schedule, relays, error);
    pccl_schedule_free(schedule);
    pccl_topology_free(topology);
    return status;
}

static void test_relays(void **state)
{
    (void)state;
    struct pccl_error error;
    assert_int_equal(verify_relay(false, true, &error), PCCL_ERR_VERIFY);
    assert_non_null(strstr(error.message, "does not forward"));
    assert_int_equal(verify_relay(true, false, &error), PCCL_ERR_VERIFY);
    assert_non_null(strstr(error.message, "outside the process group"));
    assert_int_equal(verify_relay(true, true, &error), 0);
}

/* Devices 0 and 1 and 2 round a switch: a message from 0 to the switch, then
 * one from there to each of the others. */
static int verify_multicast(bool multicast, bool reduces, struct pccl_error *error)
{
    struct pccl_topology_builder *builder = pccl_topology_builder_new("hub");
    static const char *const names[] = {"a", "b", "c"};
    uint32_t device[3], devices[] = {0, 1, 2}, chunk = 0;
    for (uint32_t i = 0; i < 3; i++) {
        device[i] = pccl_topology_add_device(builder, names[i]);
    }
    uint32_t hub = pccl_topology_add_switch(builder, "s", multicast);
    for (uint32_t i = 0; i < 3; i++) {
        pccl_topology_add_link(builder, device[i], hub, 1, 1, PCCL_NONE);
        pccl_topology_add_link(builder, hub, device[i], 1, 1, PCCL_NONE);
    }
    struct pccl_topology *topology;
    struct pccl_demand *demand;
    struct pccl_schedule *schedule;
    struct pccl_request request = {
        .collective = reduces ? PCCL_REDUCE : PCCL_BROADCAST, .num_ranks = 3, .devices = devices, .bytes = 8};
    assert_int_equal(pccl_topology_finish(builder, &topology, NULL), 0);
    assert_int_equal(pccl_demand_create(&request, 1, &demand, NULL), 0);
    assert_int_equal(pccl_schedule_create(demand, topology, "multicast", &schedule, NULL), 0);
    static const uint32_t links[] = {0, 3, 5}; /* 0 to the switch, the switch to 1, to 2 */
    for (uint32_t i = 0; i < 3; i++) {
        uint32_t path = pccl_schedule_path(schedule, topology, &links[i], 1);
        assert_int_equal(pccl_schedule_add(schedule, i > 0, path, reduces, &chunk, 1), 0);
    }
    assert_int_equal(pccl_schedule_seal(schedule), 0);
    int status = pccl_verify_schedule(topology, schedule, false, error);
    pccl_schedule_free(schedule);
    pccl_topology_free(topology);
    return status;
}

static void test_multicast(void **state)
{
    (void)state;
    struct pccl_error error;
    assert_int_equal(verify_multicast(true, false, &error), 0);
    assert_int_equal(verify_multicast(false, false, &error), PCCL_ERR_VERIFY);
    assert_non_null(strstr(error.message, "can only forward"));
    assert_int_equal(verify_multicast(true, true, &error), PCCL_ERR_VERIFY);
    assert_non_null(strstr(error.message, "combines at a switch"));
}

static uint32_t device_of(const struct suspect *suspect, uint32_t rank)
{
    return suspect->schedule->demand->devices[rank];
}

static void add_message(struct suspect *suspect, uint32_t step, uint32_t from, uint32_t to, bool reduce, uint32_t chunk)
{
    uint32_t link = sample_link(suspect->topology->num_devices, device_of(suspect, from), device_of(suspect, to));
    uint32_t path = pccl_schedule_path(suspect->schedule, suspect->topology, &link, 1);
    assert_int_equal(pccl_schedule_add(suspect->schedule, step, path, reduce, &chunk, 1), 0);
    assert_int_equal(pccl_schedule_seal(suspect->schedule), 0);
}

static void test_schedule_meaning(void **state)
{
    (void)state;
    struct suspect suspect = suspect_open(SAMPLE_RING_ALLGATHER, 5, 1, false);
    suspect.schedule->num_messages--;
    EXPECT_SCHEDULE_REJECTED(&suspect, "never gets");
    suspect.schedule->num_messages++;
    for (uint32_t i = 0; i < suspect.schedule->num_messages; i++) {
        suspect.schedule->messages[i].step = 0; /* everybody sends what is not there yet */
    }
    EXPECT_SCHEDULE_REJECTED(&suspect, "does not have");
    suspect_close(&suspect);

    suspect = suspect_open(SAMPLE_RING_REDUCE_SCATTER, 5, 1, false);
    struct pccl_message *messages = suspect.schedule->messages;
    suspect.schedule->num_messages--;
    EXPECT_SCHEDULE_REJECTED(&suspect, "of 5 contributions");
    suspect.schedule->num_messages++;
    messages[suspect.schedule->num_messages - 1].reduce = 0;
    EXPECT_SCHEDULE_REJECTED(&suspect, "of 5 contributions");
    messages[suspect.schedule->num_messages - 1].reduce = 1;
    add_message(&suspect, 9, 4, 3, true, 3);
    EXPECT_SCHEDULE_REJECTED(&suspect, "a second time");
    suspect_close(&suspect);

    suspect = suspect_open(SAMPLE_RING_REDUCE_SCATTER, 5, 1, false);
    suspect.schedule->demand->ordered = true; /* a ring wraps round */
    EXPECT_SCHEDULE_REJECTED(&suspect, "not neighbours in rank order");
    suspect_close(&suspect);
}

/* A scan's results are those of the ranks up to each, not just as many. */
static void test_prefixes(void **state)
{
    (void)state;
    static const char *const counts[] = {"of 5 contributions", "never gets"};
    for (int exclusive = 0; exclusive < 2; exclusive++) {
        for (int ordered = 0; ordered < 2; ordered++) {
            struct suspect suspect =
                suspect_open(exclusive ? SAMPLE_CHAIN_EXSCAN : SAMPLE_CHAIN_SCAN, 5, 1, ordered != 0);
            suspect.schedule->num_messages--;
            EXPECT_SCHEDULE_REJECTED(&suspect, counts[exclusive]);
            suspect.schedule->num_messages++;
            suspect.schedule->messages[2].step--; /* too early: it brings the contribution of rank 2 alone */
            EXPECT_SCHEDULE_REJECTED(&suspect, exclusive ? "rank 3 ends with 1 of 3" : "rank 3 ends with 2 of 4");
            suspect_close(&suspect);

            suspect = suspect_open(exclusive ? SAMPLE_CHAIN_EXSCAN : SAMPLE_CHAIN_SCAN, 5, 1, ordered != 0);
            add_message(&suspect, 9, 0, 4, true, 0);
            EXPECT_SCHEDULE_REJECTED(&suspect, "second time");
            suspect_close(&suspect);
        }
    }
}

/* Both targets of an all-reduce get all contributions, but combined in
 * different orders. */
static void test_schedule_expressions(void **state)
{
    (void)state;
    struct suspect suspect = {.topology = sample_topology(3), .num_ranks = 3};
    struct pccl_demand *demand = sample_demand(PCCL_ALLREDUCE, 3, 1, 8, false, false);
    assert_int_equal(pccl_schedule_create(demand, suspect.topology, "unequal", &suspect.schedule, NULL), 0);
    for (uint32_t rank = 0; rank < 3; rank++) {
        add_message(&suspect, 0, (rank + 1) % 3, rank, true, 0);
        add_message(&suspect, 0, (rank + 2) % 3, rank, true, 0);
    }
    EXPECT_SCHEDULE_REJECTED(&suspect, "different orders");
    suspect_lower(&suspect);
    EXPECT_PROGRAMS_REJECTED(&suspect, "in another order");
    suspect_close(&suspect);
}

/* What is right for any reduction need not be the tree of a reproducible one.
 */
static void test_fixed_tree(void **state)
{
    (void)state;
    static const struct {
        enum sample_kind kind;
        uint32_t num_ranks;
        bool accepted;
    } cases[] = {
        {SAMPLE_DOUBLING_ALLREDUCE, 8, true}, {SAMPLE_BINOMIAL_REDUCE, 8, true}, {SAMPLE_BINOMIAL_REDUCE, 6, true},
        {SAMPLE_BINOMIAL_REDUCE, 5, false},   {SAMPLE_RING_ALLREDUCE, 4, false}, {SAMPLE_RING_REDUCE_SCATTER, 3, false},
        {SAMPLE_CHAIN_SCAN, 2, true},         {SAMPLE_CHAIN_SCAN, 3, false},     {SAMPLE_CHAIN_EXSCAN, 5, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct suspect suspect = suspect_open(cases[i].kind, cases[i].num_ranks, 2, false);
        suspect.schedule->demand->reproducible = true;
        if (cases[i].accepted) {
            expect_accepted(&suspect, i);
        } else {
            EXPECT_SCHEDULE_REJECTED(&suspect, "fixed tree");
            EXPECT_PROGRAMS_REJECTED(&suspect, "fixed tree");
        }
        suspect_close(&suspect);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_schedule_indices),
        cmocka_unit_test(test_schedule_paths),
        cmocka_unit_test(test_relays),
        cmocka_unit_test(test_multicast),
        cmocka_unit_test(test_schedule_meaning),
        cmocka_unit_test(test_prefixes),
        cmocka_unit_test(test_schedule_expressions),
        cmocka_unit_test(test_fixed_tree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
