/* Verifies the programs of all ranks together: the passes in order, and the first of them. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "check/programs.h"

/* One rank's program under the first pass. */
struct subject {
    const struct pccl_demand *demand;
    const struct pccl_program *program;
    struct pccl_error *error;
    uint32_t rank;
    uint32_t num_slots, num_successors; /* of the operations looked at so far */
    uint32_t *waits;                    /* [num_operations] waits found */
    uint32_t *last_send;                /* [num_ranks] last operation with each peer */
    uint32_t *last_receive;
};

struct pccl__layout pccl__layout_find(const struct pccl_demand *demand, uint32_t rank, bool in_place)
{
    uint32_t num_inputs = pccl_demand_num_input_slots(demand, rank);
    uint32_t num_outputs = pccl_demand_num_output_slots(demand, rank);
    struct pccl__layout layout = {.first = {0, num_inputs, num_inputs + num_outputs}};
    bool aliased = in_place || demand->collective == PCCL_BROADCAST;
    /* The slots that lie over others are a stretch of the output over a stretch of the input (demand.h). */
    for (uint32_t slot = 0; slot < num_outputs && aliased; slot++) {
        uint32_t input = pccl_demand_aliased_input_slot(demand, slot, rank);
        if (input != PCCL_NONE && layout.num_aliases++ == 0) {
            layout.first_alias = num_inputs + slot;
            layout.alias_base = input;
        }
    }
    return layout;
}

static int check_slot(const struct subject *subject, uint32_t operation, uint32_t position, bool written)
{
    const struct pccl_demand *demand = subject->demand;
    pccl_slot slot = subject->program->slots[position];
    uint32_t chunk = subject->program->slot_chunk[position], index = PCCL_SLOT_INDEX(slot), area = slot >> 30;
    if (chunk >= demand->num_chunks) {
        return pccl__fail(subject->error, PCCL_ERR_VERIFY, "rank %u, operation %u: chunk %u does not exist",
                          subject->rank, operation, chunk);
    }
    if (area == PCCL_SCRATCH && index < subject->program->num_scratch_slots) {
        return 0;
    }
    if (area == PCCL_INPUT && written) {
        return pccl__fail(subject->error, PCCL_ERR_VERIFY, "rank %u, operation %u writes to the input", subject->rank,
                          operation);
    }
    if (area == PCCL_INPUT && pccl_demand_input_slot(demand, chunk, subject->rank) == index) {
        return 0;
    }
    if (area == PCCL_OUTPUT && pccl_demand_output_slot(demand, chunk, subject->rank) == index) {
        return 0;
    }
    static const char *const areas[] = {"input", "output", "scratch", "unknown"};
    return pccl__fail(subject->error, PCCL_ERR_VERIFY, "rank %u, operation %u: %s slot %u is no place for chunk %u",
                      subject->rank, operation, areas[area], index, chunk);
}

static int check_operands(struct subject *subject, uint32_t number)
{
    const struct pccl_program *program = subject->program;
    const struct pccl_operation *operation = &program->operations[number];
    uint32_t lists = pccl__operand_lists(operation->kind), count = operation->num_slots;
    if (operation->first_slot != subject->num_slots ||
        (uint64_t)subject->num_slots + (uint64_t)lists * count > program->num_slots) {
        return pccl__fail(subject->error, PCCL_ERR_VERIFY,
                          "rank %u, operation %u has %u operands from entry %u of %u; entry %u is next",
                          subject->rank, number, lists * count, operation->first_slot, program->num_slots,
                          subject->num_slots);
    }
    subject->num_slots += lists * count;
    for (uint32_t list = 0; list < lists; list++) {
        for (uint32_t i = 0; i < count; i++) {
            uint32_t position = operation->first_slot + list * count + i;
            int status = check_slot(subject, number, position, pccl__operand_written(operation->kind, list));
            if (status != 0) {
                return status;
            }
            if (program->slot_chunk[position] != program->slot_chunk[operation->first_slot + i]) {
                return pccl__fail(subject->error, PCCL_ERR_VERIFY, "rank %u, operation %u mixes chunks %u and %u",
                                  subject->rank, number, program->slot_chunk[position],
                                  program->slot_chunk[operation->first_slot + i]);
            }
        }
    }
    return 0;
}

static int check_operation(struct subject *subject, uint32_t number)
{
    const struct pccl_program *program = subject->program;
    const struct pccl_operation *operation = &program->operations[number];
    if (operation->kind > PCCL_OP_REDUCE) {
        return pccl__fail(subject->error, PCCL_ERR_VERIFY, "rank %u, operation %u has kind %u", subject->rank, number,
                          operation->kind);
    }
    if (operation->kind == PCCL_OP_REDUCE && !subject->demand->reduces) {
        return pccl__fail(subject->error, PCCL_ERR_VERIFY,
                          "rank %u, operation %u combines, but nothing is to be reduced", subject->rank, number);
    }
    bool local = operation->kind == PCCL_OP_COPY || operation->kind == PCCL_OP_REDUCE;
    if (local ? operation->peer != PCCL_NONE
              : operation->peer >= subject->demand->num_ranks || operation->peer == subject->rank) {
        return pccl__fail(subject->error, PCCL_ERR_VERIFY, "rank %u, operation %u has rank %u as peer", subject->rank,
                          number, operation->peer);
    }
    if (operation->first_successor != subject->num_successors ||
        (uint64_t)subject->num_successors + operation->num_successors > program->num_successors) {
        return pccl__fail(subject->error, PCCL_ERR_VERIFY,
                          "rank %u, operation %u has %u successors from entry %u of %u; entry %u is next",
                          subject->rank, number, operation->num_successors, operation->first_successor,
                          program->num_successors, subject->num_successors);
    }
    subject->num_successors += operation->num_successors;
    for (uint32_t i = 0; i < operation->num_successors; i++) {
        uint32_t later = program->successors[operation->first_successor + i];
        if (later <= number || later >= program->num_operations) {
            return pccl__fail(subject->error, PCCL_ERR_VERIFY,
                              "rank %u, operation %u has operation %u as successor; a later one is expected",
                              subject->rank, number, later);
        }
        subject->waits[later]++;
    }
    return check_operands(subject, number);
}

/* next_in_lane must lead from each operation to the next of its kind with its peer. Goes backwards. */
static int check_lane(const struct subject *subject, uint32_t number)
{
    const struct pccl_operation *operation = &subject->program->operations[number];
    uint32_t expected = PCCL_NONE;
    if (operation->peer != PCCL_NONE) {
        uint32_t *last = operation->kind == PCCL_OP_SEND ? subject->last_send : subject->last_receive;
        expected = last[operation->peer];
        last[operation->peer] = number;
    }
    if (operation->next_in_lane != expected) {
        return pccl__fail(subject->error, PCCL_ERR_VERIFY,
                          "rank %u, operation %u names %d as the next in its lane; %d is next", subject->rank, number,
                          (int)operation->next_in_lane, (int)expected);
    }
    if (expected != PCCL_NONE) {
        subject->waits[expected]++;
    }
    return 0;
}

static int check_program(struct subject *subject)
{
    const struct pccl_program *program = subject->program;
    if (program->num_scratch_slots > program->num_slots) {
        return pccl__fail(subject->error, PCCL_ERR_VERIFY, "rank %u has %u scratch slots, more than its %u operands",
                          subject->rank, program->num_scratch_slots, program->num_slots);
    }
    int status = 0;
    for (uint32_t i = 0; i < program->num_operations && status == 0; i++) {
        status = check_operation(subject, i);
    }
    for (uint32_t i = program->num_operations; i-- > 0 && status == 0;) {
        status = check_lane(subject, i);
    }
    for (uint32_t i = 0; i < program->num_operations && status == 0; i++) {
        if (program->operations[i].num_waits != subject->waits[i]) {
            status =
                pccl__fail(subject->error, PCCL_ERR_VERIFY, "rank %u, operation %u waits for %u, but %u lead to it",
                           subject->rank, i, program->operations[i].num_waits, subject->waits[i]);
        }
    }
    return status;
}

static int check_rank(struct pccl__programs *programs, const struct pccl_program *program)
{
    uint32_t rank = program->rank;
    uint32_t num_ranks = programs->demand->num_ranks;
    struct subject subject = {.demand = programs->demand, .program = program, .error = programs->error, .rank = rank};
    subject.waits = pccl__array_new(program->num_operations, sizeof *subject.waits);
    subject.last_send = pccl__array_new(2 * (size_t)num_ranks, sizeof *subject.last_send);
    int status;
    if (subject.waits == NULL || subject.last_send == NULL) {
        status = pccl__fail_memory(programs->error);
    } else {
        memset(subject.last_send, 0xff, 2 * (size_t)num_ranks * sizeof *subject.last_send);
        subject.last_receive = subject.last_send + num_ranks;
        status = check_program(&subject);
    }
    free(subject.waits);
    free(subject.last_send);
    return status;
}

int pccl__programs_check_structure(struct pccl__programs *programs)
{
    uint32_t num_ranks = programs->demand->num_ranks;
    uint64_t total = 0;
    programs->first_operation = pccl__array_new((size_t)num_ranks + 1, sizeof *programs->first_operation);
    if (programs->first_operation == NULL) {
        return pccl__fail_memory(programs->error);
    }
    for (uint32_t rank = 0; rank < num_ranks; rank++) {
        const struct pccl_program *program = programs->programs[rank];
        if (program == NULL || program->rank != rank) {
            return pccl__fail(programs->error, PCCL_ERR_VERIFY, "the program of rank %u is missing", rank);
        }
        total += program->num_operations;
        if (total >= UINT32_MAX) {
            return pccl__fail(programs->error, PCCL_ERR_OVERFLOW,
                              "all ranks together have more than 2^32-2 operations");
        }
        programs->first_operation[rank + 1] = (uint32_t)total;
    }
    int status = 0;
    for (uint32_t rank = 0; rank < num_ranks && status == 0; rank++) {
        status = check_rank(programs, programs->programs[rank]);
    }
    return status;
}

int pccl_verify_program(const struct pccl_demand *demand, const struct pccl_program *program, struct pccl_error *error)
{
    struct pccl__programs checked = {.demand = demand, .error = error};
    if (program->rank >= demand->num_ranks) {
        return pccl__fail(error, PCCL_ERR_VERIFY, "the program is rank %u's, of %u ranks", program->rank,
                          demand->num_ranks);
    }
    int status = check_rank(&checked, program);
    return status == 0 ? pccl__program_check_races(&checked, program) : status;
}

int pccl_verify_programs(const struct pccl_demand *demand, const struct pccl_program *const *programs,
                         struct pccl_error *error)
{
    struct pccl__programs checked = {.demand = demand, .programs = programs, .error = error};
    int status = pccl__programs_check_structure(&checked);
    if (status == 0) {
        status = pccl__programs_match(&checked);
    }
    if (status == 0) {
        status = pccl__programs_check_races(&checked);
    }
    if (status == 0) {
        status = pccl__programs_run(&checked);
    }
    free(checked.first_operation);
    free(checked.partner);
    return status;
}
