/* The verifier accepts what is right and catches each kind of breakage; whatever random change it lets pass, the bytes
 * come out right all the same. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "interpreter.h"
#include "pccl/verify.h"
#include "samples.h"

/* A schedule and its programs. */
struct plan {
    struct pccl_topology *topology;
    struct pccl_schedule *schedule;
    struct pccl_program *programs[64];
    uint32_t num_ranks;
};

static void lower(struct plan *plan)
{
    struct pccl_error error = {""};
    if (pccl_programs_create(plan->schedule, plan->programs, &error) != 0) {
        fail_msg("%s: %s", plan->schedule->method, error.message);
    }
}

static struct plan open_plan(enum sample_kind kind, uint32_t num_ranks, uint32_t pieces, bool ordered)
{
    struct plan plan = {.topology = sample_topology(num_ranks), .num_ranks = num_ranks};
    plan.schedule = sample_schedule(plan.topology, kind, num_ranks, pieces, 16, ordered, false);
    assert_non_null(plan.schedule);
    lower(&plan);
    return plan;
}

static void close_plan(struct plan *plan)
{
    for (uint32_t i = 0; i < plan->num_ranks; i++) {
        pccl_program_free(plan->programs[i]);
    }
    pccl_schedule_free(plan->schedule);
    pccl_topology_free(plan->topology);
}

static int verify_schedule(const struct plan *plan, struct pccl_error *error)
{
    return pccl_verify_schedule(plan->topology, plan->schedule, false, error);
}

static int verify_programs(const struct plan *plan, struct pccl_error *error)
{
    const struct pccl_program *programs[64];
    for (uint32_t i = 0; i < plan->num_ranks; i++) {
        programs[i] = plan->programs[i];
    }
    return pccl_verify_programs(plan->schedule->demand, programs, error);
}

static void expect_accepted(const struct plan *plan, uint64_t seed)
{
    struct pccl_error error = {""};
    if (verify_schedule(plan, &error) != 0) {
        fail_msg("schedule %s, %u ranks, seed %llu: %s", plan->schedule->method, plan->num_ranks,
                 (unsigned long long)seed, error.message);
    }
    if (verify_programs(plan, &error) != 0) {
        fail_msg("programs of %s, %u ranks, seed %llu: %s", plan->schedule->method, plan->num_ranks,
                 (unsigned long long)seed, error.message);
    }
}

#define EXPECT_SCHEDULE_REJECTED(plan, part) expect_rejected(verify_schedule, plan, part, __LINE__)
#define EXPECT_PROGRAMS_REJECTED(plan, part) expect_rejected(verify_programs, plan, part, __LINE__)

static void expect_rejected(int (*verify)(const struct plan *, struct pccl_error *), const struct plan *plan,
                            const char *part, int line)
{
    struct pccl_error error = {""};
    int status = verify(plan, &error);
    if (status == 0 || strstr(error.message, part) == NULL) {
        fail_msg("line %d: \"%s\" expected, got %d: \"%s\"", line, part, status, error.message);
    }
}

/* --- what is right ------------------------------------------------------------------------------------------------ */

static void test_samples(void **state)
{
    (void)state;
    static const uint32_t sizes[] = {2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 17};
    for (uint32_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        for (uint32_t kind = 0; kind < SAMPLE_NUM_KINDS; kind++) {
            for (uint32_t variant = 0; variant < 6; variant++) {
                struct plan plan = {.topology = sample_topology(sizes[i]), .num_ranks = sizes[i]};
                plan.schedule = sample_schedule(plan.topology, (enum sample_kind)kind, sizes[i], 1 + variant % 3, 11,
                                                variant % 2 == 1, variant >= 3);
                if (plan.schedule != NULL) {
                    lower(&plan);
                    expect_accepted(&plan, variant);
                }
                close_plan(&plan);
            }
        }
    }
}

/* A random collective, delivered by random messages. */
static struct plan random_plan(uint64_t seed)
{
    struct pccl__random random = {.state = seed};
    uint32_t num_ranks = 2 + pccl__random_below(&random, 6);
    enum pccl_collective collective = (enum pccl_collective)pccl__random_below(&random, PCCL_NUM_COLLECTIVES);
    bool ordered = pccl__random_below(&random, 2) == 0, other = pccl__random_below(&random, 2) == 0;
    uint32_t pieces = 1 + pccl__random_below(&random, 3);
    struct plan plan = {.topology = sample_topology(num_ranks), .num_ranks = num_ranks};
    struct pccl_demand *demand = collective == PCCL_CUSTOM
                                     ? sample_custom_demand(num_ranks, other, ordered, &random)
                                     : sample_demand(collective, num_ranks, pieces, 8, ordered, other);
    plan.schedule = sample_random(plan.topology, demand, &random);
    lower(&plan);
    return plan;
}

static void test_random(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 2000; seed++) {
        struct plan plan = random_plan(seed);
        expect_accepted(&plan, seed);
        close_plan(&plan);
    }
}

/* --- broken schedules --------------------------------------------------------------------------------------------- */

static void test_schedule_indices(void **state)
{
    (void)state;
    struct plan plan = open_plan(SAMPLE_BRUCK_ALLGATHER, 6, 2, false);
    struct pccl_schedule *schedule = plan.schedule;
    struct pccl_message *last = &schedule->messages[schedule->num_messages - 1], kept = *last;
    last->path = schedule->num_paths;
    EXPECT_SCHEDULE_REJECTED(&plan, "uses path");
    *last = kept;
    last->payload = schedule->num_lists;
    EXPECT_SCHEDULE_REJECTED(&plan, "chunk list");
    *last = kept;
    last->list = 0;
    last->payload = schedule->demand->num_chunks;
    EXPECT_SCHEDULE_REJECTED(&plan, "carries chunk");
    *last = kept;
    last->reduce = 1;
    EXPECT_SCHEDULE_REJECTED(&plan, "combines");
    *last = kept;
    last->step = 0;
    EXPECT_SCHEDULE_REJECTED(&plan, "sorted by step");
    *last = kept;
    struct pccl_chunk_list *list = &schedule->lists[last->payload], kept_list = *list;
    list->count = UINT32_MAX;
    EXPECT_SCHEDULE_REJECTED(&plan, "chunk list");
    *list = kept_list;
    schedule->list_chunks[list->first + 1] = schedule->list_chunks[list->first];
    EXPECT_SCHEDULE_REJECTED(&plan, "ascending");
    close_plan(&plan);
}

static void test_schedule_paths(void **state)
{
    (void)state;
    struct plan plan = open_plan(SAMPLE_RING_ALLGATHER, 5, 1, false);
    struct pccl_schedule *schedule = plan.schedule;
    struct pccl_path kept = schedule->paths[1];
    schedule->paths[1].num_links = 0;
    EXPECT_SCHEDULE_REJECTED(&plan, "path 1 has 0 links");
    schedule->paths[1].num_links = schedule->num_path_links;
    EXPECT_SCHEDULE_REJECTED(&plan, "path 1 has");
    schedule->paths[1] = kept;
    schedule->paths[1].target = schedule->paths[1].source;
    EXPECT_SCHEDULE_REJECTED(&plan, "should lead");
    schedule->paths[1] = kept;
    schedule->paths[1].first_link = schedule->paths[0].first_link;
    EXPECT_SCHEDULE_REJECTED(&plan, "is broken");
    schedule->paths[1] = kept;
    schedule->path_links[kept.first_link] = plan.topology->num_links;
    EXPECT_SCHEDULE_REJECTED(&plan, "uses link");
    schedule->topology_digest++;
    EXPECT_SCHEDULE_REJECTED(&plan, "another topology");
    close_plan(&plan);
}

/* A broadcast from rank 0 of ranks 0 and 1 over a path of two links through device 2, or with a stop there. */
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

/* Devices 0 and 1 and 2 round a switch: a message from 0 to the switch, then one from there to each of the others. */
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
    struct pccl_request request = {.collective = reduces ? PCCL_REDUCE : PCCL_BROADCAST, .num_ranks = 3,
                                   .devices = devices, .bytes = 8};
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

static uint32_t device_of(const struct plan *plan, uint32_t rank)
{
    return plan->schedule->demand->devices[rank];
}

static void add_message(struct plan *plan, uint32_t step, uint32_t from, uint32_t to, bool reduce, uint32_t chunk)
{
    uint32_t link = sample_link(plan->topology->num_devices, device_of(plan, from), device_of(plan, to));
    uint32_t path = pccl_schedule_path(plan->schedule, plan->topology, &link, 1);
    assert_int_equal(pccl_schedule_add(plan->schedule, step, path, reduce, &chunk, 1), 0);
    assert_int_equal(pccl_schedule_seal(plan->schedule), 0);
}

static void test_schedule_meaning(void **state)
{
    (void)state;
    struct plan plan = open_plan(SAMPLE_RING_ALLGATHER, 5, 1, false);
    plan.schedule->num_messages--;
    EXPECT_SCHEDULE_REJECTED(&plan, "never gets");
    plan.schedule->num_messages++;
    for (uint32_t i = 0; i < plan.schedule->num_messages; i++) {
        plan.schedule->messages[i].step = 0; /* everybody sends what is not there yet */
    }
    EXPECT_SCHEDULE_REJECTED(&plan, "does not have");
    close_plan(&plan);

    plan = open_plan(SAMPLE_RING_REDUCE_SCATTER, 5, 1, false);
    struct pccl_message *messages = plan.schedule->messages;
    plan.schedule->num_messages--;
    EXPECT_SCHEDULE_REJECTED(&plan, "of 5 contributions");
    plan.schedule->num_messages++;
    messages[plan.schedule->num_messages - 1].reduce = 0;
    EXPECT_SCHEDULE_REJECTED(&plan, "of 5 contributions");
    messages[plan.schedule->num_messages - 1].reduce = 1;
    add_message(&plan, 9, 4, 3, true, 3);
    EXPECT_SCHEDULE_REJECTED(&plan, "a second time");
    close_plan(&plan);

    plan = open_plan(SAMPLE_RING_REDUCE_SCATTER, 5, 1, false);
    plan.schedule->demand->ordered = true; /* a ring wraps round */
    EXPECT_SCHEDULE_REJECTED(&plan, "not neighbours in rank order");
    close_plan(&plan);
}

/* A scan's results are those of the ranks up to each, not just as many. */
static void test_prefixes(void **state)
{
    (void)state;
    static const char *const counts[] = {"of 5 contributions", "never gets"};
    for (int exclusive = 0; exclusive < 2; exclusive++) {
        for (int ordered = 0; ordered < 2; ordered++) {
            struct plan plan = open_plan(exclusive ? SAMPLE_CHAIN_EXSCAN : SAMPLE_CHAIN_SCAN, 5, 1, ordered != 0);
            plan.schedule->num_messages--;
            EXPECT_SCHEDULE_REJECTED(&plan, counts[exclusive]);
            plan.schedule->num_messages++;
            plan.schedule->messages[2].step--; /* too early: it brings the contribution of rank 2 alone */
            EXPECT_SCHEDULE_REJECTED(&plan, exclusive ? "rank 3 ends with 1 of 3" : "rank 3 ends with 2 of 4");
            close_plan(&plan);

            plan = open_plan(exclusive ? SAMPLE_CHAIN_EXSCAN : SAMPLE_CHAIN_SCAN, 5, 1, ordered != 0);
            add_message(&plan, 9, 0, 4, true, 0);
            EXPECT_SCHEDULE_REJECTED(&plan, "second time");
            close_plan(&plan);
        }
    }
}

/* Both targets of an all-reduce get all contributions, but combined in different orders. */
static void test_schedule_expressions(void **state)
{
    (void)state;
    struct plan plan = {.topology = sample_topology(3), .num_ranks = 3};
    struct pccl_demand *demand = sample_demand(PCCL_ALLREDUCE, 3, 1, 8, false, false);
    assert_int_equal(pccl_schedule_create(demand, plan.topology, "unequal", &plan.schedule, NULL), 0);
    for (uint32_t rank = 0; rank < 3; rank++) {
        add_message(&plan, 0, (rank + 1) % 3, rank, true, 0);
        add_message(&plan, 0, (rank + 2) % 3, rank, true, 0);
    }
    EXPECT_SCHEDULE_REJECTED(&plan, "different orders");
    lower(&plan);
    EXPECT_PROGRAMS_REJECTED(&plan, "in another order");
    close_plan(&plan);
}

/* --- broken programs ---------------------------------------------------------------------------------------------- */

static void test_program_indices(void **state)
{
    (void)state;
    struct plan plan = open_plan(SAMPLE_RING_REDUCE_SCATTER, 5, 1, false);
    struct pccl_program *program = plan.programs[2], kept = *program;
    struct pccl_operation *operation = &program->operations[3], kept_operation = *operation;
    plan.programs[2] = NULL;
    EXPECT_PROGRAMS_REJECTED(&plan, "missing");
    plan.programs[2] = program;
    program->rank = 3;
    EXPECT_PROGRAMS_REJECTED(&plan, "missing");
    program->rank = 2;
    program->num_scratch_slots = 1u << 29;
    EXPECT_PROGRAMS_REJECTED(&plan, "scratch slots");
    program->num_scratch_slots = 1;
    EXPECT_PROGRAMS_REJECTED(&plan, "scratch slot");
    *program = kept;
    operation->kind = 17;
    EXPECT_PROGRAMS_REJECTED(&plan, "kind");
    *operation = kept_operation;
    operation->peer = 5;
    EXPECT_PROGRAMS_REJECTED(&plan, "as peer");
    *operation = kept_operation;
    operation->first_slot = UINT32_MAX;
    EXPECT_PROGRAMS_REJECTED(&plan, "operands");
    *operation = kept_operation;
    operation->num_slots = UINT32_MAX;
    EXPECT_PROGRAMS_REJECTED(&plan, "operands");
    *operation = kept_operation;
    operation->num_successors = UINT32_MAX;
    EXPECT_PROGRAMS_REJECTED(&plan, "successors");
    *operation = kept_operation;
    operation->num_waits++;
    EXPECT_PROGRAMS_REJECTED(&plan, "waits for");
    *operation = kept_operation;
    operation->next_in_lane = operation->next_in_lane == PCCL_NONE ? 0 : PCCL_NONE;
    EXPECT_PROGRAMS_REJECTED(&plan, "lane");
    *operation = kept_operation;
    program->successors[0] = 0;
    EXPECT_PROGRAMS_REJECTED(&plan, "a later one");
    program->successors[0] = program->num_operations;
    EXPECT_PROGRAMS_REJECTED(&plan, "a later one");
    close_plan(&plan);
}

static struct pccl_operation *find_kind(struct pccl_program *program, uint32_t kind, uint32_t skip)
{
    for (uint32_t i = 0; i < program->num_operations; i++) {
        if (program->operations[i].kind == kind && skip-- == 0) {
            return &program->operations[i];
        }
    }
    fail_msg("no such operation");
    return NULL;
}

static void test_program_slots(void **state)
{
    (void)state;
    struct plan plan = open_plan(SAMPLE_RING_REDUCE_SCATTER, 5, 1, false);
    struct pccl_program *program = plan.programs[1];
    struct pccl_operation *receive = find_kind(program, PCCL_OP_RECEIVE, 0);
    struct pccl_operation *reduce = find_kind(program, PCCL_OP_REDUCE, 0);
    pccl_slot *slot = &program->slots[receive->first_slot], kept = *slot;
    *slot = PCCL_SLOT(PCCL_INPUT, program->slot_chunk[receive->first_slot]);
    EXPECT_PROGRAMS_REJECTED(&plan, "writes to the input");
    *slot = PCCL_SLOT(PCCL_OUTPUT, 0);
    EXPECT_PROGRAMS_REJECTED(&plan, "no place for chunk");
    *slot = PCCL_SLOT(3, 0);
    EXPECT_PROGRAMS_REJECTED(&plan, "no place for chunk");
    *slot = kept;
    program->slot_chunk[receive->first_slot] = 5;
    EXPECT_PROGRAMS_REJECTED(&plan, "does not exist");
    program->slot_chunk[receive->first_slot] = (program->slot_chunk[reduce->first_slot] + 1) % 5;
    EXPECT_PROGRAMS_REJECTED(&plan, "receives chunk");
    program->slot_chunk[receive->first_slot] = program->slot_chunk[reduce->first_slot];
    slot = &program->slots[reduce->first_slot]; /* left operand becomes the same as the right one */
    kept = *slot;
    *slot = program->slots[reduce->first_slot + 1];
    EXPECT_PROGRAMS_REJECTED(&plan, "second time");
    *slot = kept;
    uint32_t target = reduce->first_slot + 2; /* in scratch, where any chunk may be */
    program->slot_chunk[target] = (program->slot_chunk[target] + 1) % 5;
    EXPECT_PROGRAMS_REJECTED(&plan, "mixes chunks");
    close_plan(&plan);
}

/* Takes away the dependency number `which` of a program, consistently. */
static bool cut_dependency(struct pccl_program *program, uint32_t which)
{
    if (which >= program->num_successors) {
        return false;
    }
    for (uint32_t i = 0; i < program->num_operations; i++) {
        struct pccl_operation *operation = &program->operations[i];
        if (which >= operation->first_successor && which < operation->first_successor + operation->num_successors) {
            operation->num_successors--;
            program->operations[program->successors[which]].num_waits--;
        } else if (operation->first_successor > which) {
            operation->first_successor--;
        }
    }
    program->num_successors--;
    memmove(program->successors + which, program->successors + which + 1,
            (program->num_successors - which) * sizeof *program->successors);
    return true;
}

static struct pccl_program *copy_program(const struct pccl_program *program)
{
    struct pccl_program *copy = malloc(sizeof *copy);
    *copy = *program;
    copy->operations = malloc(program->num_operations * sizeof *copy->operations + 1);
    copy->slots = malloc(program->num_slots * sizeof *copy->slots + 1);
    copy->slot_chunk = malloc(program->num_slots * sizeof *copy->slot_chunk + 1);
    copy->successors = malloc(program->num_successors * sizeof *copy->successors + 1);
    memcpy(copy->operations, program->operations, program->num_operations * sizeof *copy->operations);
    memcpy(copy->slots, program->slots, program->num_slots * sizeof *copy->slots);
    memcpy(copy->slot_chunk, program->slot_chunk, program->num_slots * sizeof *copy->slot_chunk);
    memcpy(copy->successors, program->successors, program->num_successors * sizeof *copy->successors);
    return copy;
}

/* Every dependency that lowering makes is needed: without any one of them the programs are rejected. */
static void test_every_dependency_counts(void **state)
{
    (void)state;
    for (uint32_t kind = 0; kind < SAMPLE_NUM_KINDS; kind++) {
        struct plan plan = open_plan((enum sample_kind)kind, 4, 2, false);
        struct pccl_program *whole = plan.programs[1];
        for (uint32_t which = 0; which < whole->num_successors; which++) {
            plan.programs[1] = copy_program(whole);
            cut_dependency(plan.programs[1], which);
            if (verify_programs(&plan, NULL) == 0) {
                fail_msg("%s: dependency %u is not needed", sample_name((enum sample_kind)kind), which);
            }
            pccl_program_free(plan.programs[1]);
        }
        plan.programs[1] = whole;
        close_plan(&plan);
    }
}

/* Swaps two operations of one rank that are not the same, leaving everything else as it is. */
static void test_program_messages(void **state)
{
    (void)state;
    struct plan plan = open_plan(SAMPLE_DIRECT_ALLTOALL, 4, 1, false);
    struct pccl_operation *send = find_kind(plan.programs[0], PCCL_OP_SEND, 0);
    struct pccl_operation *other = find_kind(plan.programs[0], PCCL_OP_SEND, 1);
    uint32_t peer = send->peer;
    send->peer = other->peer;
    other->peer = peer;
    EXPECT_PROGRAMS_REJECTED(&plan, "receives chunk");
    send->peer = peer;
    other->next_in_lane = send->next_in_lane = PCCL_NONE;
    other->peer = peer;
    send->next_in_lane = (uint32_t)(other - plan.programs[0]->operations);
    other->num_waits++;
    EXPECT_PROGRAMS_REJECTED(&plan, "but never");
    close_plan(&plan);

    plan = open_plan(SAMPLE_BRUCK_ALLGATHER, 4, 1, false);
    struct pccl_program *program = plan.programs[3];
    struct pccl_operation *last = &program->operations[program->num_operations - 1];
    assert_int_equal(last->kind, PCCL_OP_RECEIVE);
    last->num_slots--;
    EXPECT_PROGRAMS_REJECTED(&plan, "sends 2 chunks");
    close_plan(&plan);
}

/* Rank 0 receives from 1 before it sends to it, and 1 the other way round: each waits for the other. */
static void test_deadlock(void **state)
{
    (void)state;
    struct plan plan = open_plan(SAMPLE_RING_ALLGATHER, 2, 1, false);
    for (uint32_t rank = 0; rank < 2; rank++) {
        struct pccl_program *program = plan.programs[rank];
        assert_int_equal(program->num_operations, 3); /* send, receive, own copy */
        assert_int_equal(program->num_successors, 0);
        struct pccl_operation send = program->operations[0];
        program->operations[0] = program->operations[1];
        program->operations[0].first_slot = 0;
        program->operations[1] = send;
        program->operations[1].first_slot = 1;
        pccl_slot slot = program->slots[0];
        uint32_t chunk = program->slot_chunk[0];
        program->slots[0] = program->slots[1];
        program->slot_chunk[0] = program->slot_chunk[1];
        program->slots[1] = slot;
        program->slot_chunk[1] = chunk;
    }
    assert_int_equal(verify_programs(&plan, NULL), 0);
    for (uint32_t rank = 0; rank < 2; rank++) {
        struct pccl_program *program = plan.programs[rank];
        free(program->successors);
        program->successors = malloc(sizeof *program->successors);
        program->successors[0] = 1;
        program->num_successors = 1;
        program->operations[0].num_successors = 1;
        program->operations[1].first_successor = program->operations[2].first_successor = 1;
        program->operations[1].num_waits = 1;
    }
    EXPECT_PROGRAMS_REJECTED(&plan, "deadlock");
    close_plan(&plan);
}

static void test_program_barrier(void **state)
{
    (void)state;
    struct plan plan = open_plan(SAMPLE_STAR_BARRIER, 6, 1, false);
    struct pccl_program *root = plan.programs[0];
    while (cut_dependency(root, 0)) {
    }
    EXPECT_PROGRAMS_REJECTED(&plan, "may leave the barrier");
    close_plan(&plan);
}

/* --- random changes ----------------------------------------------------------------------------------------------- */

static uint32_t odd_value(struct pccl__random *random, uint32_t value)
{
    static const uint32_t odd[] = {0, 1, UINT32_MAX, UINT32_MAX - 1, 1u << 30, 1u << 31, (1u << 30) + 1, 0x7fffffff};
    switch (pccl__random_below(random, 4)) {
    case 0:
        return value + 1;
    case 1:
        return value - 1;
    case 2:
        return odd[pccl__random_below(random, 8)];
    default:
        return pccl__random_below(random, 12);
    }
}

/* Changes a random word, or swaps two, of an array of words. */
static void change_words(void *array, size_t num_words, struct pccl__random *random)
{
    if (num_words == 0) {
        return;
    }
    uint32_t *words = array, i = pccl__random_below(random, (uint32_t)num_words);
    uint32_t j = pccl__random_below(random, (uint32_t)num_words), kept = words[i];
    if (pccl__random_below(random, 2) == 0) {
        words[i] = words[j];
        words[j] = kept;
    } else {
        words[i] = odd_value(random, kept);
    }
}

static void change_program(struct pccl_program *program, struct pccl__random *random)
{
    switch (pccl__random_below(random, 6)) {
    case 0:
        change_words(program->operations, program->num_operations * sizeof *program->operations / 4, random);
        break;
    case 1:
        change_words(program->slots, program->num_slots, random);
        break;
    case 2:
        change_words(program->slot_chunk, program->num_slots, random);
        break;
    case 3:
        change_words(program->successors, program->num_successors, random);
        break;
    case 4:
        cut_dependency(program, pccl__random_below(random, program->num_successors + 1));
        break;
    default:
        program->num_operations -= program->num_operations > 0;
    }
}

static void expect_right_bytes(const struct plan *plan, uint64_t seed, struct pccl__random *random)
{
    for (uint32_t i = 0; i < 4; i++) {
        const char *wrong = interpret(plan->schedule->demand, plan->programs, i % 2 == 1, i / 2, random);
        if (wrong != NULL) {
            fail_msg("seed %llu: %s of %s was accepted, but %s", (unsigned long long)seed, plan->schedule->method,
                     pccl_collective_name(plan->schedule->demand->collective), wrong);
        }
    }
}

static void test_changed_programs(void **state)
{
    (void)state;
    uint32_t num_accepted = 0;
    for (uint64_t seed = 0; seed < 4000; seed++) {
        struct plan plan = random_plan(seed % 400);
        struct pccl__random random = {.state = seed};
        for (uint32_t changes = 1 + pccl__random_below(&random, 2); changes > 0; changes--) {
            change_program(plan.programs[pccl__random_below(&random, plan.num_ranks)], &random);
        }
        if (verify_programs(&plan, NULL) == 0) {
            num_accepted++;
            expect_right_bytes(&plan, seed, &random);
        }
        close_plan(&plan);
    }
    assert_in_range(num_accepted, 1, 1500);
}

static void change_schedule(struct pccl_schedule *schedule, struct pccl__random *random)
{
    uint32_t i = pccl__random_below(random, schedule->num_messages),
             j = pccl__random_below(random, schedule->num_messages);
    struct pccl_message *messages = schedule->messages;
    switch (pccl__random_below(random, 6)) {
    case 0: { /* swap contents, keeping the steps */
        struct pccl_message kept = messages[i];
        messages[i] = messages[j];
        messages[j] = kept;
        messages[j].step = messages[i].step;
        messages[i].step = kept.step;
        break;
    }
    case 1: /* drop */
        memmove(messages + i, messages + i + 1, (schedule->num_messages - i - 1) * sizeof *messages);
        schedule->num_messages--;
        break;
    case 2:
        messages[i].reduce ^= 1;
        break;
    case 3:
        messages[i].payload = odd_value(random, messages[i].payload);
        break;
    case 4:
        messages[i].path = pccl__random_below(random, schedule->num_paths);
        break;
    default: /* later or earlier */
        messages[i].step = messages[j].step;
        pccl_schedule_seal(schedule);
    }
}

static void test_changed_schedules(void **state)
{
    (void)state;
    uint32_t num_accepted = 0;
    for (uint64_t seed = 0; seed < 4000; seed++) {
        struct plan plan = random_plan(seed % 500);
        struct pccl__random random = {.state = seed};
        for (uint32_t i = 0; i < plan.num_ranks; i++) {
            pccl_program_free(plan.programs[i]);
            plan.programs[i] = NULL;
        }
        for (uint32_t changes = 1 + pccl__random_below(&random, 2); changes > 0 && plan.schedule->num_messages > 0;
             changes--) {
            change_schedule(plan.schedule, &random);
        }
        if (verify_schedule(&plan, NULL) == 0) {
            num_accepted++;
            lower(&plan);
            expect_accepted(&plan, seed);
            expect_right_bytes(&plan, seed, &random);
        }
        close_plan(&plan);
    }
    assert_in_range(num_accepted, 1, 3000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_samples),
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_schedule_indices),
        cmocka_unit_test(test_schedule_paths),
        cmocka_unit_test(test_relays),
        cmocka_unit_test(test_multicast),
        cmocka_unit_test(test_schedule_meaning),
        cmocka_unit_test(test_schedule_expressions),
        cmocka_unit_test(test_prefixes),
        cmocka_unit_test(test_program_indices),
        cmocka_unit_test(test_program_slots),
        cmocka_unit_test(test_every_dependency_counts),
        cmocka_unit_test(test_program_messages),
        cmocka_unit_test(test_deadlock),
        cmocka_unit_test(test_program_barrier),
        cmocka_unit_test(test_changed_programs),
        cmocka_unit_test(test_changed_schedules),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
