/* Fourth pass over programs: runs all ranks with symbolic values. Sends are synchronous and receives are posted in
 * program order. What a window of outstanding messages permits does not matter, because the lowest ready operation may
 * always be posted: a run gets stuck with some window if and only if it gets stuck here. As the third pass has found
 * all accesses ordered, one order of execution stands for all. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/bitset.h"
#include "base/error.h"
#include "check/fixed_tree.h"
#include "check/programs.h"

enum progress { WAITING, READY, POSTED, DONE };

struct machine {
    const struct pccl__programs *programs;
    const struct pccl_demand *demand;
    size_t *first_place; /* [num_ranks + 1] into values */
    struct pccl__layout *layouts; /* [num_ranks] */
    uint32_t *values;    /* of every place of every rank; 0: undefined; else chunk + 1 or expression + 1 */
    struct pccl__expressions expressions;
    struct pccl__fixed_tree tree; /* of a reproducible demand */
    uint32_t *waits;        /* [all operations] */
    uint8_t *progress;      /* [all operations] enum progress */
    uint32_t *rank_of;      /* [all operations] */
    uint32_t *next_receive; /* [num_ranks] lowest receive not yet posted, numbered through; end of the rank if none */
    uint32_t *ready;        /* stack: operations to start */
    uint32_t num_ready, num_done;
    uint64_t *known; /* barrier: [all operations * num_words] ranks known to have entered when it is done */
    size_t num_words;
};

static const struct pccl_operation *operation_at(const struct machine *machine, uint32_t number)
{
    uint32_t rank = machine->rank_of[number];
    return &machine->programs->programs[rank]->operations[number - machine->programs->first_operation[rank]];
}

static int fail_at(const struct machine *machine, uint32_t number, const char *what, uint32_t chunk)
{
    uint32_t rank = machine->rank_of[number];
    return pccl__fail(machine->programs->error, PCCL_ERR_VERIFY, "rank %u, operation %u %s chunk %u", rank,
                      number - machine->programs->first_operation[rank], what, chunk);
}

/* --- values ------------------------------------------------------------------------------------------------------- */

static uint32_t *find_value(const struct machine *machine, uint32_t rank, pccl_slot slot)
{
    return &machine->values[machine->first_place[rank] + pccl__slot_place(&machine->layouts[rank], slot)];
}

static uint32_t chunk_of(const struct machine *machine, uint32_t value)
{
    return machine->demand->reduces ? machine->expressions.nodes[value - 1].chunk : value - 1;
}

/* The operands of an operation, and the memory that they lie in. */
struct site {
    uint32_t number; /* of the operation */
    const pccl_slot *slots;
    const uint32_t *chunks;
    const struct pccl__layout *layout;
    uint32_t *values; /* of the rank's places */
};

static struct site site_of(const struct machine *machine, uint32_t number)
{
    uint32_t rank = machine->rank_of[number], first = operation_at(machine, number)->first_slot;
    const struct pccl_program *program = machine->programs->programs[rank];
    return (struct site){number, program->slots + first, program->slot_chunk + first, &machine->layouts[rank],
                         machine->values + machine->first_place[rank]};
}

static uint32_t *find_operand(const struct site *site, uint32_t index)
{
    return &site->values[pccl__slot_place(site->layout, site->slots[index])];
}

/* Reads an operand, which must hold the chunk that it is said to hold. */
static int read_operand(const struct machine *machine, const struct site *site, uint32_t index, uint32_t *value)
{
    *value = *find_operand(site, index);
    uint32_t chunk = site->chunks[index];
    if (*value == 0) {
        return fail_at(machine, site->number, "reads a slot that nothing was written to as", chunk);
    }
    return chunk_of(machine, *value) == chunk
               ? 0
               : fail_at(machine, site->number, "reads a slot that does not hold", chunk);
}

static int combine(struct machine *machine, const struct site *site, uint32_t count, uint32_t index)
{
    struct pccl__expressions *expressions = &machine->expressions;
    uint32_t left, right, chunk = site->chunks[index];
    int status = read_operand(machine, site, index, &left);
    if (status == 0) {
        status = read_operand(machine, site, count + index, &right);
    }
    if (status != 0) {
        return status;
    }
    if (pccl__expressions_overlap(expressions, left - 1, right - 1) != PCCL_NONE) {
        return fail_at(machine, site->number, "adds a contribution a second time to", chunk);
    }
    if (machine->demand->ordered && expressions->nodes[left - 1].high + 1 != expressions->nodes[right - 1].low) {
        return fail_at(machine, site->number, "combines operands that are not neighbours in rank order in", chunk);
    }
    uint32_t result = pccl__expressions_combine(expressions, left - 1, right - 1);
    if (result == PCCL_NONE) {
        return pccl__fail_memory(machine->programs->error);
    }
    *find_operand(site, 2 * count + index) = result + 1;
    return 0;
}

static int run_local(struct machine *machine, uint32_t number)
{
    const struct pccl_operation *operation = operation_at(machine, number);
    const struct site site = site_of(machine, number);
    int status = 0;
    for (uint32_t i = 0; i < operation->num_slots && status == 0; i++) {
        if (operation->kind == PCCL_OP_REDUCE) {
            status = combine(machine, &site, operation->num_slots, i);
            continue;
        }
        uint32_t value;
        status = read_operand(machine, &site, i, &value);
        if (status == 0) {
            *find_operand(&site, operation->num_slots + i) = value;
        }
    }
    return status;
}

static int transfer(struct machine *machine, uint32_t send, uint32_t receive)
{
    const struct site source = site_of(machine, send), target = site_of(machine, receive);
    uint32_t count = operation_at(machine, send)->num_slots;
    int status = 0;
    for (uint32_t i = 0; i < count && status == 0; i++) {
        uint32_t value;
        status = read_operand(machine, &source, i, &value);
        if (status == 0) {
            *find_operand(&target, i) = value;
        }
    }
    return status;
}

/* --- execution ---------------------------------------------------------------------------------------------------- */

static void learn(struct machine *machine, uint32_t number, uint32_t from)
{
    for (size_t i = 0; i < machine->num_words; i++) {
        machine->known[number * machine->num_words + i] |= machine->known[from * machine->num_words + i];
    }
}

static void release(struct machine *machine, uint32_t number)
{
    if (--machine->waits[number] == 0) {
        machine->ready[machine->num_ready++] = number;
    }
}

static void complete(struct machine *machine, uint32_t number)
{
    uint32_t rank = machine->rank_of[number];
    const struct pccl_program *program = machine->programs->programs[rank];
    const struct pccl_operation *operation = operation_at(machine, number);
    machine->progress[number] = DONE;
    machine->num_done++;
    for (uint32_t i = 0; i < operation->num_successors; i++) {
        uint32_t later = machine->programs->first_operation[rank] + program->successors[operation->first_successor + i];
        learn(machine, later, number);
        release(machine, later);
    }
}

static int post(struct machine *machine, uint32_t number)
{
    const struct pccl_operation *operation = operation_at(machine, number);
    uint32_t partner = machine->programs->partner[number];
    machine->progress[number] = POSTED;
    if (operation->next_in_lane != PCCL_NONE) {
        release(machine, machine->programs->first_operation[machine->rank_of[number]] + operation->next_in_lane);
    }
    if (machine->progress[partner] != POSTED) {
        return 0;
    }
    bool sends = operation->kind == PCCL_OP_SEND;
    uint32_t send = sends ? number : partner, receive = sends ? partner : number;
    int status = transfer(machine, send, receive);
    learn(machine, receive, send);
    complete(machine, send);
    complete(machine, receive);
    return status;
}

/* Posts the receives of a rank that are ready, up to the first that is not. */
static int post_receives(struct machine *machine, uint32_t rank)
{
    uint32_t end = machine->programs->first_operation[rank + 1];
    int status = 0;
    while (status == 0 && machine->next_receive[rank] < end) {
        uint32_t number = machine->next_receive[rank];
        if (operation_at(machine, number)->kind == PCCL_OP_RECEIVE) {
            if (machine->progress[number] != READY) {
                return 0;
            }
            status = post(machine, number);
        }
        machine->next_receive[rank]++;
    }
    return status;
}

static int start(struct machine *machine, uint32_t number)
{
    switch (operation_at(machine, number)->kind) {
    case PCCL_OP_SEND:
        return post(machine, number);
    case PCCL_OP_RECEIVE:
        machine->progress[number] = READY;
        return post_receives(machine, machine->rank_of[number]);
    default: {
        int status = run_local(machine, number);
        complete(machine, number);
        return status;
    }
    }
}

static int run(struct machine *machine, uint32_t total)
{
    for (uint32_t i = total; i-- > 0;) {
        if (machine->waits[i] == 0) {
            machine->ready[machine->num_ready++] = i;
        }
    }
    int status = 0;
    while (machine->num_ready > 0 && status == 0) {
        status = start(machine, machine->ready[--machine->num_ready]);
    }
    for (uint32_t i = 0; i < total && status == 0; i++) {
        if (machine->progress[i] != DONE) {
            uint32_t rank = machine->rank_of[i];
            status = pccl__fail(machine->programs->error, PCCL_ERR_VERIFY,
                                "deadlock: %u of %u operations never complete, the first is operation %u of rank %u",
                                total - machine->num_done, total, i - machine->programs->first_operation[rank], rank);
        }
    }
    return status;
}

/* --- results ------------------------------------------------------------------------------------------------------ */

static int check_target(const struct machine *machine, uint32_t chunk, uint32_t rank, uint32_t *first)
{
    struct pccl_error *error = machine->programs->error;
    uint32_t slot = pccl_demand_output_slot(machine->demand, chunk, rank);
    uint32_t value = slot != PCCL_NONE ? *find_value(machine, rank, PCCL_SLOT(PCCL_OUTPUT, slot)) : 0;
    if (value == 0 || chunk_of(machine, value) != chunk) {
        return pccl__fail(error, PCCL_ERR_VERIFY, "rank %u never gets chunk %u", rank, chunk);
    }
    uint32_t wanted = pccl_demand_num_operands(machine->demand, chunk, rank);
    if (machine->demand->reduces && !pccl__expressions_is_prefix(&machine->expressions, value - 1, wanted)) {
        return pccl__fail(error, PCCL_ERR_VERIFY, "rank %u ends with %u of %u contributions to chunk %u", rank,
                          machine->expressions.nodes[value - 1].count, wanted, chunk);
    }
    *first = *first == 0 ? value : *first;
    if (value != *first && !pccl_collective_is_prefix(machine->demand->collective)) {
        return pccl__fail(error, PCCL_ERR_VERIFY, "rank %u combines chunk %u in another order than others", rank,
                          chunk);
    }
    return 0;
}

static int check_tree(struct machine *machine, uint32_t number, uint32_t first_leaf)
{
    const struct pccl_demand *demand = machine->demand;
    const struct pccl_chunk *chunk = &demand->chunks[number];
    if (!pccl__fixed_tree_grow(&machine->tree, &machine->expressions, demand, number, first_leaf)) {
        return pccl__fail_memory(machine->programs->error);
    }
    for (uint32_t i = 0; i < chunk->num_targets; i++) {
        uint32_t rank = demand->holders[chunk->first_target + i];
        pccl_slot slot = PCCL_SLOT(PCCL_OUTPUT, pccl_demand_output_slot(demand, number, rank));
        if (*find_value(machine, rank, slot) != pccl__fixed_tree_value(&machine->tree, demand, rank) + 1) {
            return pccl__fail(machine->programs->error, PCCL_ERR_VERIFY,
                              "rank %u combines chunk %u in another order than by the fixed tree of ranks",
                              rank, number);
        }
    }
    return 0;
}

static int check_results(struct machine *machine)
{
    const struct pccl_demand *demand = machine->demand;
    int status = 0;
    uint32_t first_leaf = 0; /* contributions are the first expressions, in order of chunks and sources */
    for (uint32_t chunk = 0; chunk < demand->num_chunks && status == 0; chunk++) {
        uint32_t first = 0;
        for (uint32_t i = 0; i < demand->chunks[chunk].num_targets && status == 0; i++) {
            status = check_target(machine, chunk, demand->holders[demand->chunks[chunk].first_target + i], &first);
        }
        if (status == 0 && demand->reproducible) {
            status = check_tree(machine, chunk, first_leaf);
        }
        first_leaf += demand->chunks[chunk].num_sources;
    }
    return status;
}

/* After a barrier every rank must know of every other: from what its operations waited for. */
static int check_barrier(const struct machine *machine)
{
    uint32_t num_ranks = machine->demand->num_ranks;
    uint64_t *known = pccl__array_new(machine->num_words, sizeof *known);
    if (known == NULL) {
        return pccl__fail_memory(machine->programs->error);
    }
    int status = 0;
    for (uint32_t rank = 0; rank < num_ranks && status == 0; rank++) {
        memset(known, 0, machine->num_words * sizeof *known);
        pccl__bitset_set(known, rank);
        for (uint32_t i = machine->programs->first_operation[rank]; i < machine->programs->first_operation[rank + 1];
             i++) {
            for (size_t word = 0; word < machine->num_words; word++) {
                known[word] |= machine->known[i * machine->num_words + word];
            }
        }
        uint32_t count = pccl__bitset_count(known, machine->num_words);
        if (count < num_ranks) {
            status = pccl__fail(machine->programs->error, PCCL_ERR_VERIFY,
                                "rank %u may leave the barrier when only %u of %u ranks have entered",
                                rank, count, num_ranks);
        }
    }
    free(known);
    return status;
}

/* --- all together ------------------------------------------------------------------------------------------------- */

static int start_values(struct machine *machine)
{
    const struct pccl_demand *demand = machine->demand;
    for (uint32_t chunk = 0; chunk < demand->num_chunks; chunk++) {
        for (uint32_t i = 0; i < demand->chunks[chunk].num_sources; i++) {
            uint32_t rank = demand->holders[demand->chunks[chunk].first_source + i];
            uint32_t slot = pccl_demand_input_slot(demand, chunk, rank);
            uint32_t value = demand->reduces ? pccl__expressions_leaf(&machine->expressions, chunk, i) : chunk;
            if (value == PCCL_NONE) {
                return PCCL_ERR_MEMORY;
            }
            if (slot != PCCL_NONE) {
                *find_value(machine, rank, PCCL_SLOT(PCCL_INPUT, slot)) = value + 1;
            }
        }
    }
    return 0;
}

static int open_machine(struct machine *machine, uint32_t total)
{
    const struct pccl__programs *programs = machine->programs;
    uint32_t num_ranks = machine->demand->num_ranks;
    machine->first_place = pccl__array_new((size_t)num_ranks + 1, sizeof *machine->first_place);
    machine->layouts = pccl__array_new(num_ranks, sizeof *machine->layouts);
    machine->waits = pccl__array_new(total, sizeof *machine->waits);
    machine->progress = pccl__array_new(total, sizeof *machine->progress);
    machine->rank_of = pccl__array_new(total, sizeof *machine->rank_of);
    machine->ready = pccl__array_new(total, sizeof *machine->ready);
    machine->next_receive = pccl__array_new(num_ranks, sizeof *machine->next_receive);
    if (machine->first_place == NULL || machine->layouts == NULL || machine->waits == NULL ||
        machine->progress == NULL || machine->rank_of == NULL || machine->ready == NULL || machine->next_receive == NULL) {
        return PCCL_ERR_MEMORY;
    }
    for (uint32_t rank = 0; rank < num_ranks; rank++) {
        const struct pccl_program *program = programs->programs[rank];
        machine->layouts[rank] = pccl__layout_find(machine->demand, rank, false);
        machine->first_place[rank + 1] =
            machine->first_place[rank] + machine->layouts[rank].first[PCCL_SCRATCH] + program->num_scratch_slots;
        machine->next_receive[rank] = programs->first_operation[rank];
        for (uint32_t i = 0; i < program->num_operations; i++) {
            machine->waits[programs->first_operation[rank] + i] = program->operations[i].num_waits;
            machine->rank_of[programs->first_operation[rank] + i] = rank;
        }
    }
    machine->values = pccl__array_new(machine->first_place[num_ranks], sizeof *machine->values);
    if (machine->values == NULL) {
        return PCCL_ERR_MEMORY;
    }
    if (machine->demand->reproducible && !pccl__fixed_tree_open(&machine->tree, machine->demand)) {
        return PCCL_ERR_MEMORY;
    }
    if (machine->demand->collective != PCCL_BARRIER) {
        return start_values(machine);
    }
    machine->num_words = pccl__bitset_words(num_ranks);
    machine->known = pccl__array_new(total, machine->num_words * sizeof *machine->known);
    for (uint32_t i = 0; i < total && machine->known != NULL; i++) {
        pccl__bitset_set(machine->known + i * machine->num_words, machine->rank_of[i]);
    }
    return machine->known != NULL ? 0 : PCCL_ERR_MEMORY;
}

int pccl__programs_run(const struct pccl__programs *programs)
{
    uint32_t total = programs->first_operation[programs->demand->num_ranks];
    struct machine machine = {.programs = programs, .demand = programs->demand};
    int status = open_machine(&machine, total);
    if (status != 0) {
        pccl__fail_memory(programs->error);
    } else {
        status = run(&machine, total);
    }
    if (status == 0) {
        status = programs->demand->collective == PCCL_BARRIER ? check_barrier(&machine) : check_results(&machine);
    }
    free(machine.first_place);
    free(machine.layouts);
    free(machine.values);
    free(machine.waits);
    free(machine.progress);
    free(machine.rank_of);
    free(machine.next_receive);
    free(machine.ready);
    free(machine.known);
    pccl__fixed_tree_close(&machine.tree);
    pccl__expressions_free(&machine.expressions);
    return status;
}
