/* The verifier catches each kind of breakage of programs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "pccl/verify.h"
#include "suspect.h"

static void test_program_indices(void **state)
{
    (void)state;
    struct suspect suspect = suspect_open(SAMPLE_RING_REDUCE_SCATTER, 5, 1, false);
    struct pccl_program *program = suspect.programs[2], kept = *program;
    struct pccl_operation *operation = &program->operations[3], kept_operation = *operation;
    suspect.programs[2] = NULL;
    EXPECT_PROGRAMS_REJECTED(&suspect, "missing");
    suspect.programs[2] = program;
    program->rank = 3;
    EXPECT_PROGRAMS_REJECTED(&suspect, "missing");
    program->rank = 2;
    program->num_scratch_slots = 1u << 29;
    EXPECT_PROGRAMS_REJECTED(&suspect, "scratch slots");
    program->num_scratch_slots = 1;
    EXPECT_PROGRAMS_REJECTED(&suspect, "scratch slot");
    *program = kept;
    operation->kind = 17;
    EXPECT_PROGRAMS_REJECTED(&suspect, "kind");
    *operation = kept_operation;
    operation->peer = 5;
    EXPECT_PROGRAMS_REJECTED(&suspect, "as peer");
    *operation = kept_operation;
    operation->first_slot = UINT32_MAX;
    EXPECT_PROGRAMS_REJECTED(&suspect, "operands");
    *operation = kept_operation;
    operation->num_slots = UINT32_MAX;
    EXPECT_PROGRAMS_REJECTED(&suspect, "operands");
    *operation = kept_operation;
    operation->num_successors = UINT32_MAX;
    EXPECT_PROGRAMS_REJECTED(&suspect, "successors");
    *operation = kept_operation;
    operation->num_waits++;
    EXPECT_PROGRAMS_REJECTED(&suspect, "waits for");
    *operation = kept_operation;
    operation->next_in_lane = operation->next_in_lane == PCCL_NONE ? 0 : PCCL_NONE;
    EXPECT_PROGRAMS_REJECTED(&suspect, "lane");
    *operation = kept_operation;
    program->successors[0] = 0;
    EXPECT_PROGRAMS_REJECTED(&suspect, "a later one");
    program->successors[0] = program->num_operations;
    EXPECT_PROGRAMS_REJECTED(&suspect, "a later one");
    suspect_close(&suspect);
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
    struct suspect suspect = suspect_open(SAMPLE_RING_REDUCE_SCATTER, 5, 1, false);
    struct pccl_program *program = suspect.programs[1];
    struct pccl_operation *receive = find_kind(program, PCCL_OP_RECEIVE, 0);
    struct pccl_operation *reduce = find_kind(program, PCCL_OP_REDUCE, 0);
    pccl_slot *slot = &program->slots[receive->first_slot], kept = *slot;
    *slot = PCCL_SLOT(PCCL_INPUT, program->slot_chunk[receive->first_slot]);
    EXPECT_PROGRAMS_REJECTED(&suspect, "writes to the input");
    *slot = PCCL_SLOT(PCCL_OUTPUT, 0);
    EXPECT_PROGRAMS_REJECTED(&suspect, "no place for chunk");
    *slot = PCCL_SLOT(3, 0);
    EXPECT_PROGRAMS_REJECTED(&suspect, "no place for chunk");
    *slot = kept;
    program->slot_chunk[receive->first_slot] = 5;
    EXPECT_PROGRAMS_REJECTED(&suspect, "does not exist");
    program->slot_chunk[receive->first_slot] = (program->slot_chunk[reduce->first_slot] + 1) % 5;
    EXPECT_PROGRAMS_REJECTED(&suspect, "receives chunk");
    program->slot_chunk[receive->first_slot] = program->slot_chunk[reduce->first_slot];
    slot = &program->slots[reduce->first_slot]; /* left operand becomes the same
                                                   as the right one */
    kept = *slot;
    *slot = program->slots[reduce->first_slot + 1];
    EXPECT_PROGRAMS_REJECTED(&suspect, "second time");
    *slot = kept;
    uint32_t target = reduce->first_slot + 2; /* in scratch, where any chunk may be */
    program->slot_chunk[target] = (program->slot_chunk[target] + 1) % 5;
    EXPECT_PROGRAMS_REJECTED(&suspect, "mixes chunks");
    suspect_close(&suspect);
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

/* Every dependency that lowering makes is needed: without any one of them the
 * programs are rejected. */
static void test_every_dependency_counts(void **state)
{
    (void)state;
    for (uint32_t kind = 0; kind < SAMPLE_NUM_KINDS; kind++) {
        struct suspect suspect = suspect_open((enum sample_kind)kind, 4, 2, false);
        struct pccl_program *whole = suspect.programs[1];
        for (uint32_t which = 0; which < whole->num_successors; which++) {
            suspect.programs[1] = copy_program(whole);
            cut_dependency(suspect.programs[1], which);
            if (verify_programs(&suspect, NULL) == 0) {
                fail_msg("%s: dependency %u is not needed", sample_name((enum sample_kind)kind), which);
            }
            pccl_program_free(suspect.programs[1]);
        }
        suspect.programs[1] = whole;
        suspect_close(&suspect);
    }
}

/* Swaps two operations of one rank that are not the same, leaving everything
 * else as it is. */
static void test_program_messages(void **state)
{
    (void)state;
    struct suspect suspect = suspect_open(SAMPLE_DIRECT_ALLTOALL, 4, 1, false);
    struct pccl_operation *send = find_kind(suspect.programs[0], PCCL_OP_SEND, 0);
    struct pccl_operation *other = find_kind(suspect.programs[0], PCCL_OP_SEND, 1);
    uint32_t peer = send->peer;
    send->peer = other->peer;
    other->peer = peer;
    EXPECT_PROGRAMS_REJECTED(&suspect, "receives chunk");
    send->peer = peer;
    other->next_in_lane = send->next_in_lane = PCCL_NONE;
    other->peer = peer;
    send->next_in_lane = (uint32_t)(other - suspect.programs[0]->operations);
    other->num_waits++;
    EXPECT_PROGRAMS_REJECTED(&suspect, "but never");
    suspect_close(&suspect);

    suspect = suspect_open(SAMPLE_BRUCK_ALLGATHER, 4, 1, false);
    struct pccl_program *program = suspect.programs[3];
    struct pccl_operation *last = &program->operations[program->num_operations - 1];
    assert_int_equal(last->kind, PCCL_OP_RECEIVE);
    last->num_slots--;
    EXPECT_PROGRAMS_REJECTED(&suspect, "sends 2 chunks");
    suspect_close(&suspect);
}

/* Rank 0 receives from 1 before it sends to it, and 1 the other way round: each
 * waits for the other. */
static void test_deadlock(void **state)
{
    (void)state;
    struct suspect suspect = suspect_open(SAMPLE_RING_ALLGATHER, 2, 1, false);
    for (uint32_t rank = 0; rank < 2; rank++) {
        struct pccl_program *program = suspect.programs[rank];
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
    assert_int_equal(verify_programs(&suspect, NULL), 0);
    for (uint32_t rank = 0; rank < 2; rank++) {
        struct pccl_program *program = suspect.programs[rank];
        free(program->successors);
        program->successors = malloc(sizeof *program->successors);
        program->successors[0] = 1;
        program->num_successors = 1;
        program->operations[0].num_successors = 1;
        program->operations[1].first_successor = program->operations[2].first_successor = 1;
        program->operations[1].num_waits = 1;
    }
    EXPECT_PROGRAMS_REJECTED(&suspect, "deadlock");
    suspect_close(&suspect);
}

static void test_program_barrier(void **state)
{
    (void)state;
    struct suspect suspect = suspect_open(SAMPLE_STAR_BARRIER, 6, 1, false);
    struct pccl_program *root = suspect.programs[0];
    while (cut_dependency(root, 0)) {
    }
    EXPECT_PROGRAMS_REJECTED(&suspect, "may leave the barrier");
    suspect_close(&suspect);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_program_indices),
        cmocka_unit_test(test_program_slots),
        cmocka_unit_test(test_every_dependency_counts),
        cmocka_unit_test(test_program_messages),
        cmocka_unit_test(test_deadlock),
        cmocka_unit_test(test_program_barrier),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
