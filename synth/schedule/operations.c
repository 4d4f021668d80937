#include "schedule/operations.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define MAX_IMPLIED 8 /* predecessors of a predecessor looked at when dropping implied dependencies */

/* Makes room for `count` more elements of an array that has `used`; false and failed when out of memory. */
static bool make_room(struct pccl__operations *list, void *array_pointer, uint32_t *room, uint32_t used, uint32_t count,
                      size_t element_bytes)
{
    void **array = array_pointer;
    if ((uint64_t)used + count <= *room) {
        return true;
    }
    void *grown = pccl__array_grow(*array, room, (uint64_t)used + count, element_bytes);
    if (grown == NULL) {
        list->failed = true;
        return false;
    }
    *array = grown;
    return true;
}

void pccl__operations_begin(struct pccl__operations *list, const struct pccl_demand *demand, uint32_t rank)
{
    list->demand = demand;
    list->rank = rank;
    list->num_operations = list->num_slots = list->num_edges = list->num_readers = 0;
    list->num_inputs = pccl_demand_num_input_slots(demand, rank);
    list->num_outputs = pccl_demand_num_output_slots(demand, rank);
    uint64_t accesses = (uint64_t)list->num_inputs + list->num_outputs;
    uint32_t lane_room = list->lane_room;
    if (accesses > UINT32_MAX / 2 ||
        !make_room(list, &list->accesses, &list->access_room, 0, (uint32_t)accesses + 1, sizeof *list->accesses) ||
        !make_room(list, &list->last_send, &lane_room, 0, demand->num_ranks, sizeof *list->last_send) ||
        !make_room(list, &list->last_receive, &list->lane_room, 0, demand->num_ranks, sizeof *list->last_receive)) {
        list->failed = true;
        return;
    }
    list->num_accesses = (uint32_t)accesses;
    memset(list->accesses, 0xff, accesses * sizeof *list->accesses);
    memset(list->last_send, 0xff, demand->num_ranks * sizeof *list->last_send);
    memset(list->last_receive, 0xff, demand->num_ranks * sizeof *list->last_receive);
}

void pccl__operations_free(struct pccl__operations *list)
{
    free(list->operations);
    free(list->steps);
    free(list->marks);
    free(list->slots);
    free(list->slot_chunk);
    free(list->edges);
    free(list->readers);
    free(list->accesses);
    free(list->last_send);
    free(list->last_receive);
}

/* For all operands of an operation, so that reading and writing them need not ask. */
static bool make_room_for_slots(struct pccl__operations *list, uint32_t kind, uint32_t num_slots)
{
    uint32_t reads = kind == PCCL_OP_REDUCE ? 2 : kind == PCCL_OP_RECEIVE ? 0 : 1;
    uint64_t all = (uint64_t)num_slots * (kind == PCCL_OP_SEND ? 1 : reads + 1);
    if (all > UINT32_MAX) {
        list->failed = true;
        return false;
    }
    return make_room(list, &list->slots, &list->slot_room, list->num_slots, (uint32_t)all, sizeof *list->slots) &&
           make_room(list, &list->slot_chunk, &list->slot_chunk_room, list->num_slots, (uint32_t)all,
                     sizeof *list->slot_chunk) &&
           make_room(list, &list->readers, &list->reader_room, list->num_readers, reads * num_slots,
                     sizeof *list->readers);
}

uint32_t pccl__operations_add(struct pccl__operations *list, uint32_t kind, uint32_t peer, uint32_t step,
                              uint32_t num_slots)
{
    uint32_t number = list->num_operations;
    if (list->failed ||
        !make_room(list, &list->operations, &list->operation_room, number, 1, sizeof *list->operations) ||
        !make_room(list, &list->steps, &list->steps_room, number, 1, sizeof *list->steps) ||
        !make_room(list, &list->marks, &list->marks_room, number, 1, sizeof *list->marks) ||
        !make_room_for_slots(list, kind, num_slots)) {
        return 0;
    }
    list->operations[number] = (struct pccl_operation){
        .kind = kind,
        .peer = peer,
        .first_slot = list->num_slots,
        .num_slots = num_slots,
        .first_successor = list->num_edges,
        .next_in_lane = PCCL_NONE,
    };
    list->steps[number] = step;
    list->marks[number] = 0;
    if (peer != PCCL_NONE) {
        uint32_t *last = kind == PCCL_OP_SEND ? &list->last_send[peer] : &list->last_receive[peer];
        if (*last != PCCL_NONE) {
            list->operations[*last].next_in_lane = number;
            list->operations[number].num_waits = 1;
        }
        *last = number;
    }
    return list->num_operations++;
}

void pccl__operations_wait(struct pccl__operations *list, uint32_t earlier)
{
    uint32_t current = list->num_operations - 1;
    if (list->failed || earlier == current || list->marks[earlier] == current + 1 ||
        !make_room(list, &list->edges, &list->edge_room, list->num_edges, 1, sizeof *list->edges)) {
        return;
    }
    list->marks[earlier] = current + 1;
    list->edges[list->num_edges++] = earlier;
    list->operations[current].num_successors++;
}

static void append_slot(struct pccl__operations *list, pccl_slot slot, uint32_t chunk)
{
    list->slots[list->num_slots] = slot;
    list->slot_chunk[list->num_slots++] = chunk;
}

/* The record of a slot; scratch slots get theirs when first met. NULL when out of memory. */
static struct pccl__access *find_access(struct pccl__operations *list, pccl_slot slot)
{
    uint32_t index = PCCL_SLOT_INDEX(slot);
    if (PCCL_SLOT_AREA(slot) == PCCL_INPUT) {
        return &list->accesses[index];
    }
    index += list->num_inputs + (PCCL_SLOT_AREA(slot) == PCCL_SCRATCH ? list->num_outputs : 0);
    if (index >= list->num_accesses) {
        uint32_t added = index + 1 - list->num_accesses;
        if (!make_room(list, &list->accesses, &list->access_room, list->num_accesses, added, sizeof *list->accesses)) {
            return NULL;
        }
        memset(list->accesses + list->num_accesses, 0xff, added * sizeof *list->accesses);
        list->num_accesses = index + 1;
    }
    return &list->accesses[index];
}

void pccl__operations_read(struct pccl__operations *list, pccl_slot slot, uint32_t chunk)
{
    if (list->failed) {
        return;
    }
    append_slot(list, slot, chunk);
    struct pccl__access *access = find_access(list, slot);
    if (list->failed) {
        return;
    }
    if (access->writer != PCCL_NONE) {
        pccl__operations_wait(list, access->writer);
    }
    list->readers[list->num_readers] = (struct pccl__reader){list->num_operations - 1, access->first_reader};
    access->first_reader = list->num_readers++;
}

/* Waits for all readers since the last write; returns whether another operation was among them. */
static bool wait_for_readers(struct pccl__operations *list, struct pccl__access *access)
{
    bool found = false;
    for (uint32_t i = access->first_reader; i != PCCL_NONE; i = list->readers[i].next) {
        found = found || list->readers[i].operation != list->num_operations - 1;
        pccl__operations_wait(list, list->readers[i].operation);
    }
    access->first_reader = PCCL_NONE;
    return found;
}

/* Whether the last operation copies each slot onto the very bytes it has in place: that disturbs nobody. */
static bool is_own_copy(const struct pccl__operations *list, uint32_t aliased)
{
    const struct pccl_operation *operation = &list->operations[list->num_operations - 1];
    return operation->kind == PCCL_OP_COPY &&
           list->slots[list->num_slots - 1 - operation->num_slots] == PCCL_SLOT(PCCL_INPUT, aliased);
}

void pccl__operations_write(struct pccl__operations *list, pccl_slot slot, uint32_t chunk)
{
    if (list->failed) {
        return;
    }
    append_slot(list, slot, chunk);
    struct pccl__access *access = find_access(list, slot);
    if (list->failed) {
        return;
    }
    if (!wait_for_readers(list, access) && access->writer != PCCL_NONE) {
        pccl__operations_wait(list, access->writer);
    }
    access->writer = list->num_operations - 1;
    if (PCCL_SLOT_AREA(slot) == PCCL_OUTPUT) {
        uint32_t aliased = pccl_demand_aliased_input_slot(list->demand, PCCL_SLOT_INDEX(slot), list->rank);
        if (aliased != PCCL_NONE && !is_own_copy(list, aliased)) {
            wait_for_readers(list, &list->accesses[aliased]);
        }
    }
}

void pccl__operations_close(struct pccl__operations *list)
{
    if (list->failed) {
        return;
    }
    uint32_t current = list->num_operations - 1;
    struct pccl_operation *operation = &list->operations[current];
    uint32_t count = operation->num_successors, *waits = count > 0 ? list->edges + operation->first_successor : NULL;
    for (uint32_t i = 0; count > 1 && i < count; i++) {
        const struct pccl_operation *earlier = &list->operations[waits[i]];
        for (uint32_t j = 0; j < earlier->num_successors && j < MAX_IMPLIED; j++) {
            uint32_t implied = list->edges[earlier->first_successor + j];
            if (list->marks[implied] == current + 1) {
                list->marks[implied] = 0;
            }
        }
    }
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (list->marks[waits[i]] == current + 1) {
            waits[kept++] = waits[i];
        }
    }
    list->num_edges -= count - kept;
    operation->num_successors = kept;
    operation->num_waits += kept;
}

static bool touched(const struct pccl__operations *list, uint32_t index, uint32_t step)
{
    const struct pccl__access *access = &list->accesses[index];
    if (access->writer != PCCL_NONE && list->steps[access->writer] >= step) {
        return true;
    }
    return access->first_reader != PCCL_NONE && list->steps[list->readers[access->first_reader].operation] >= step;
}

bool pccl__operations_untouched(const struct pccl__operations *list, uint32_t output_slot, uint32_t step)
{
    if (list->failed) {
        return true;
    }
    uint32_t aliased = pccl_demand_aliased_input_slot(list->demand, output_slot, list->rank);
    return !touched(list, list->num_inputs + output_slot, step) &&
           (aliased == PCCL_NONE || !touched(list, aliased, step));
}

/* Turns predecessors into successors: counts, offsets, then fills in order of the later operation. */
static void link_successors(struct pccl__operations *list, struct pccl_program *program)
{
    uint32_t count = list->num_operations;
    uint32_t *next = list->marks;
    for (uint32_t i = 0; i < count; i++) { /* there may be no array where there is no operation */
        next[i] = 0;
    }
    for (uint32_t i = 0; i < list->num_edges; i++) {
        next[list->edges[i]]++;
    }
    uint32_t used = 0;
    for (uint32_t i = 0; i < count; i++) {
        program->operations[i].num_successors = next[i];
        program->operations[i].first_successor = used;
        next[i] = used;
        used += program->operations[i].num_successors;
    }
    for (uint32_t i = 0; i < count; i++) {
        const struct pccl_operation *later = &list->operations[i];
        for (uint32_t j = 0; j < later->num_successors; j++) {
            program->successors[next[list->edges[later->first_successor + j]]++] = i;
        }
    }
}

static void *copy_array(const void *array, uint32_t count, size_t element_bytes)
{
    void *copy = malloc(count > 0 ? count * element_bytes : 1);
    if (copy != NULL && count > 0) {
        memcpy(copy, array, count * element_bytes);
    }
    return copy;
}

struct pccl_program *pccl__operations_pack(struct pccl__operations *list, uint32_t num_scratch_slots)
{
    struct pccl_program *program = pccl__array_new(1, sizeof *program);
    if (list->failed || program == NULL) {
        free(program);
        return NULL;
    }
    *program = (struct pccl_program){
        .rank = list->rank,
        .num_operations = list->num_operations,
        .operations = copy_array(list->operations, list->num_operations, sizeof *list->operations),
        .num_slots = list->num_slots,
        .slots = copy_array(list->slots, list->num_slots, sizeof *list->slots),
        .num_successors = list->num_edges,
        .successors = copy_array(list->edges, list->num_edges, sizeof *list->edges), /* room; filled below */
        .num_scratch_slots = num_scratch_slots,
        .slot_chunk = copy_array(list->slot_chunk, list->num_slots, sizeof *list->slot_chunk),
    };
    if (program->operations == NULL || program->slots == NULL || program->successors == NULL ||
        program->slot_chunk == NULL) {
        pccl_program_free(program);
        return NULL;
    }
    link_successors(list, program);
    return program;
}
