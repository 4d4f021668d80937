/* How a rank's messages become operations. Step by step: first all sends, which read old states; then all receives,
 * each to its final place if nothing of the same step uses that, else to scratch; then the local work on what arrived.
 * A receive waits only for operations of earlier steps, which is what keeps every execution free of deadlock. */
#include "schedule/lower.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/error.h"

enum {
    USED_LATER = 1,    /* a later message of this rank uses the state of the chunk after this message */
    REPLACED_LATER = 2 /* a later message replaces it, so that its final place is not yet to be filled */
};

/* Where lowering stands with one rank. */
struct cursor {
    struct pccl__lowering *lowering;
    uint32_t rank, step;
    const uint32_t *sends, *receives; /* message numbers */
    uint32_t num_sends, num_receives;
    uint32_t next_send, next_receive;
    uint32_t send_flag, receive_flag; /* position in the flags */
    uint32_t paced;                   /* operations before this one are of steps for which no send has to wait any more */
};

static const struct pccl_message *message_at(const struct cursor *cursor, uint32_t number)
{
    return &cursor->lowering->schedule->messages[number];
}

/* The record of a chunk, made when this rank first meets it. */
static struct pccl__local_chunk *find_chunk(const struct cursor *cursor, uint32_t chunk)
{
    struct pccl__local_chunk *local = &cursor->lowering->chunks[chunk];
    if (local->owner != cursor->rank + 1) {
        const struct pccl_demand *demand = cursor->lowering->schedule->demand;
        bool begins_empty = demand->collective == PCCL_EXSCAN;
        uint32_t slot = begins_empty ? PCCL_NONE : pccl_demand_input_slot(demand, chunk, cursor->rank);
        *local = (struct pccl__local_chunk){
            .owner = cursor->rank + 1,
            .location = slot != PCCL_NONE ? PCCL_SLOT(PCCL_INPUT, slot) : PCCL_NONE,
            .copied = PCCL_NONE,
            .lowest = slot != PCCL_NONE ? cursor->lowering->own_number : PCCL_NONE,
        };
    }
    return local;
}

static bool is_scratch(pccl_slot slot)
{
    return slot != PCCL_NONE && PCCL_SLOT_AREA(slot) == PCCL_SCRATCH;
}

static void give_back(const struct cursor *cursor, pccl_slot slot)
{
    if (is_scratch(slot) && pccl__scratch_give(&cursor->lowering->scratch, PCCL_SLOT_INDEX(slot), cursor->step) != 0) {
        cursor->lowering->operations.failed = true;
    }
}

/* --- what happens later: one walk backwards ----------------------------------------------------------------------- */

static uint32_t count_chunks(const struct cursor *cursor, const uint32_t *numbers, uint32_t count)
{
    uint32_t total = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t num_chunks;
        pccl_message_chunks(cursor->lowering->schedule, message_at(cursor, numbers[i]), &num_chunks);
        total += num_chunks;
    }
    return total;
}

/* Flags of a message's chunks, whose last one is flags[end - 1]; returns the position of the first. */
static uint32_t flag_message(const struct cursor *cursor, const struct pccl_message *message, bool receives,
                             uint8_t *flags, uint32_t end)
{
    uint32_t count;
    const uint32_t *chunks = pccl_message_chunks(cursor->lowering->schedule, message, &count);
    for (uint32_t i = count; i-- > 0;) {
        struct pccl__local_chunk *local = find_chunk(cursor, chunks[i]);
        flags[--end] = (uint8_t)((local->needed ? USED_LATER : 0) | (local->replaced ? REPLACED_LATER : 0));
        local->needed = !receives || message->reduce;
        local->replaced = local->replaced || (receives && !message->reduce);
        local->arrives = local->arrives || receives;
    }
    return end;
}

static int flag_messages(struct cursor *cursor)
{
    struct pccl__lowering *lowering = cursor->lowering;
    uint32_t send_end = count_chunks(cursor, cursor->sends, cursor->num_sends);
    uint32_t receive_end = count_chunks(cursor, cursor->receives, cursor->num_receives);
    uint8_t *send_flags = pccl__array_grow(lowering->send_flags, &lowering->send_flag_room, send_end, 1);
    lowering->send_flags = send_flags != NULL ? send_flags : lowering->send_flags;
    uint8_t *receive_flags = pccl__array_grow(lowering->receive_flags, &lowering->receive_flag_room, receive_end, 1);
    lowering->receive_flags = receive_flags != NULL ? receive_flags : lowering->receive_flags;
    if (send_flags == NULL || receive_flags == NULL) {
        return PCCL_ERR_MEMORY;
    }
    uint32_t send = cursor->num_sends, receive = cursor->num_receives;
    while (send > 0 || receive > 0) {
        if (receive > 0 && (send == 0 || message_at(cursor, cursor->receives[receive - 1])->step >=
                                             message_at(cursor, cursor->sends[send - 1])->step)) {
            receive_end =
                flag_message(cursor, message_at(cursor, cursor->receives[--receive]), true, receive_flags, receive_end);
        } else {
            send_end = flag_message(cursor, message_at(cursor, cursor->sends[--send]), false, send_flags, send_end);
        }
    }
    return 0;
}

static void add_local(struct pccl__operations *operations, uint32_t kind, uint32_t step,
                      const struct pccl__local_step *parts, uint32_t count)
{
    if (count == 0) {
        return;
    }
    pccl__operations_add(operations, kind, PCCL_NONE, step, count);
    for (uint32_t i = 0; i < count; i++) {
        pccl__operations_read(operations, parts[i].left, parts[i].chunk);
    }
    for (uint32_t i = 0; i < count && kind == PCCL_OP_REDUCE; i++) {
        pccl__operations_read(operations, parts[i].right, parts[i].chunk);
    }
    for (uint32_t i = 0; i < count; i++) {
        pccl__operations_write(operations, parts[i].target, parts[i].chunk);
    }
    pccl__operations_close(operations);
}

/* --- sends -------------------------------------------------------------------------------------------------------- */

static int fail_absent(const struct cursor *cursor, uint32_t number, uint32_t chunk)
{
    return pccl__fail(cursor->lowering->error, PCCL_ERR_VERIFY,
                      "message %u (step %u) carries chunk %u, which its sender, rank %u, does not have", number,
                      cursor->step, chunk, cursor->rank);
}

/* Blocks that travel together are read from where they lie together: the output area, where one of them is there. */
static bool reads_only_input(const struct cursor *cursor, const uint32_t *chunks, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        pccl_slot location = find_chunk(cursor, chunks[i])->location;
        if (location != PCCL_NONE && PCCL_SLOT_AREA(location) != PCCL_INPUT) {
            return false;
        }
    }
    return true;
}

/* The last operation, a send, waits for what was received `pace` steps before. */
static void keep_pace(struct cursor *cursor)
{
    struct pccl__operations *operations = &cursor->lowering->operations;
    uint32_t pace = cursor->lowering->schedule->pace;
    if (pace == 0 || cursor->step < pace || operations->failed) {
        return;
    }
    while (operations->steps[cursor->paced] < cursor->step - pace) {
        cursor->paced++;
    }
    for (uint32_t i = cursor->paced; operations->steps[i] == cursor->step - pace; i++) {
        if (operations->operations[i].kind == PCCL_OP_RECEIVE) {
            pccl__operations_wait(operations, i);
        }
    }
}

static int lower_send(struct cursor *cursor, uint32_t number)
{
    struct pccl__lowering *lowering = cursor->lowering;
    const struct pccl_message *message = message_at(cursor, number);
    uint32_t count, peer = lowering->path_target[message->path];
    const uint32_t *chunks = pccl_message_chunks(lowering->schedule, message, &count);
    bool only_input = reads_only_input(cursor, chunks, count);
    pccl__operations_add(&lowering->operations, PCCL_OP_SEND, peer, cursor->step, count);
    for (uint32_t i = 0; i < count; i++) {
        struct pccl__local_chunk *local = find_chunk(cursor, chunks[i]);
        if (local->location == PCCL_NONE) {
            return fail_absent(cursor, number, chunks[i]);
        }
        bool from_copy = !only_input && local->copied != PCCL_NONE && PCCL_SLOT_AREA(local->location) == PCCL_INPUT;
        pccl__operations_read(&lowering->operations, from_copy ? local->copied : local->location, chunks[i]);
        if (!(lowering->send_flags[cursor->send_flag++] & USED_LATER)) {
            give_back(cursor, local->location);
        }
    }
    keep_pace(cursor);
    pccl__operations_close(&lowering->operations);
    return 0;
}

static pccl_slot find_own(const struct cursor *cursor, uint32_t chunk)
{
    uint32_t slot = pccl_demand_input_slot(cursor->lowering->schedule->demand, chunk, cursor->rank);
    return slot != PCCL_NONE ? PCCL_SLOT(PCCL_INPUT, slot) : PCCL_NONE;
}

/* Combines, for a message of an exscan, what the rank has with its own contribution, in slots from *scratch on, one for
 * each chunk; PCCL_NONE if no chunk needs it. */
static int add_contributions(struct cursor *cursor, const uint32_t *chunks, uint32_t count, uint32_t *scratch)
{
    struct pccl__lowering *lowering = cursor->lowering;
    struct pccl__local_step *sums =
        pccl__array_grow(lowering->reductions, &lowering->reduction_room, count, sizeof *sums);
    uint32_t num_sums = 0;
    *scratch = PCCL_NONE;
    if (sums == NULL) {
        return PCCL_ERR_MEMORY;
    }
    lowering->reductions = sums;
    for (uint32_t i = 0; i < count; i++) {
        const struct pccl__local_chunk *local = find_chunk(cursor, chunks[i]);
        pccl_slot own = find_own(cursor, chunks[i]);
        if (local->location == PCCL_NONE || own == PCCL_NONE) {
            continue;
        }
        if (*scratch == PCCL_NONE && (*scratch = pccl__scratch_take(&lowering->scratch, count)) == PCCL_NONE) {
            return PCCL_ERR_MEMORY;
        }
        bool own_first = cursor->rank < local->lowest;
        sums[num_sums++] = (struct pccl__local_step){.left = own_first ? own : local->location,
                                                     .right = own_first ? local->location : own,
                                                     .target = PCCL_SLOT(PCCL_SCRATCH, *scratch + i),
                                                     .chunk = chunks[i]};
    }
    add_local(&lowering->operations, PCCL_OP_REDUCE, cursor->step, sums, num_sums);
    return 0;
}

/* A send of an exscan. */
static int lower_combined_send(struct cursor *cursor, uint32_t number)
{
    struct pccl__lowering *lowering = cursor->lowering;
    const struct pccl_message *message = message_at(cursor, number);
    uint32_t count, scratch;
    const uint32_t *chunks = pccl_message_chunks(lowering->schedule, message, &count);
    int status = add_contributions(cursor, chunks, count, &scratch);
    if (status != 0) {
        return status;
    }
    pccl__operations_add(&lowering->operations, PCCL_OP_SEND, lowering->path_target[message->path], cursor->step,
                         count);
    for (uint32_t i = 0; i < count; i++) {
        const struct pccl__local_chunk *local = find_chunk(cursor, chunks[i]);
        pccl_slot own = find_own(cursor, chunks[i]), sum = PCCL_SLOT(PCCL_SCRATCH, scratch + i);
        pccl_slot carried = local->location == PCCL_NONE ? own : own == PCCL_NONE ? local->location : sum;
        if (carried == PCCL_NONE) {
            return fail_absent(cursor, number, chunks[i]);
        }
        pccl__operations_read(&lowering->operations, carried, chunks[i]);
        if (scratch != PCCL_NONE) {
            give_back(cursor, sum);
        }
        if (!(lowering->send_flags[cursor->send_flag++] & USED_LATER)) {
            give_back(cursor, local->location);
        }
    }
    pccl__operations_close(&lowering->operations);
    return 0;
}

/* --- receives ----------------------------------------------------------------------------------------------------- */

/* The output slot that the chunk may be received into right away, or PCCL_NONE. */
static pccl_slot find_final_place(const struct cursor *cursor, const struct pccl_message *message, uint32_t chunk)
{
    struct pccl__local_chunk *local = find_chunk(cursor, chunk);
    bool first = local->arriving != cursor->step + 1;
    local->arriving = cursor->step + 1;
    if (!first || (message->reduce && local->location != PCCL_NONE)) {
        return PCCL_NONE;
    }
    uint32_t slot = pccl_demand_output_slot(cursor->lowering->schedule->demand, chunk, cursor->rank);
    if (slot == PCCL_NONE || !pccl__operations_untouched(&cursor->lowering->operations, slot, cursor->step)) {
        return PCCL_NONE;
    }
    return PCCL_SLOT(PCCL_OUTPUT, slot);
}

static int lower_receive(struct cursor *cursor, uint32_t number)
{
    struct pccl__lowering *lowering = cursor->lowering;
    struct pccl__operations *operations = &lowering->operations;
    const struct pccl_message *message = message_at(cursor, number);
    uint32_t count, num_scratch = 0;
    const uint32_t *chunks = pccl_message_chunks(lowering->schedule, message, &count);
    struct pccl__local_step *places =
        pccl__array_grow(lowering->reductions, &lowering->reduction_room, count, sizeof *places);
    if (places == NULL) {
        return PCCL_ERR_MEMORY;
    }
    lowering->reductions = places;
    for (uint32_t i = 0; i < count; i++) {
        if (i > 0 && chunks[i] <= chunks[i - 1]) {
            return pccl__fail(lowering->error, PCCL_ERR_INVALID,
                              "message %u (step %u) does not name its chunks in ascending order: %u follows %u",
                              number, cursor->step, chunks[i], chunks[i - 1]);
        }
        places[i].target = find_final_place(cursor, message, chunks[i]);
        num_scratch += places[i].target == PCCL_NONE;
    }
    uint32_t scratch = num_scratch > 0 ? pccl__scratch_take(&lowering->scratch, num_scratch) : 0;
    if (scratch == PCCL_NONE) {
        return PCCL_ERR_MEMORY;
    }
    pccl__operations_add(operations, PCCL_OP_RECEIVE, lowering->path_source[message->path], cursor->step, count);
    for (uint32_t i = 0; i < count; i++) {
        bool final = places[i].target != PCCL_NONE;
        pccl__operations_write(operations, final ? places[i].target : PCCL_SLOT(PCCL_SCRATCH, scratch++), chunks[i]);
    }
    pccl__operations_close(operations);
    return 0;
}

/* --- local work --------------------------------------------------------------------------------------------------- */

/* What to do with a state that arrived in `place` and replaces the old one: a copy, if it could not go to its final
 * place at once. Returns the number of copies put into *copy. */
static uint32_t accept(const struct cursor *cursor, struct pccl__local_chunk *local, uint32_t chunk, pccl_slot place,
                       uint8_t flags, struct pccl__local_step *copy)
{
    uint32_t slot = is_scratch(place) && !(flags & REPLACED_LATER)
                        ? pccl_demand_output_slot(cursor->lowering->schedule->demand, chunk, cursor->rank)
                        : PCCL_NONE;
    if (slot == PCCL_NONE) {
        local->location = place;
        return 0;
    }
    local->location = PCCL_SLOT(PCCL_OUTPUT, slot);
    *copy = (struct pccl__local_step){.left = place, .target = local->location, .chunk = chunk};
    give_back(cursor, place);
    return 1;
}

/* Combines the state with what arrived in `place`: into the final place if the result is final, else into `place`. */
static struct pccl__local_step combine(const struct cursor *cursor, struct pccl__local_chunk *local, uint32_t chunk,
                                       pccl_slot place, uint32_t lowest, uint8_t flags)
{
    uint32_t slot = pccl_demand_output_slot(cursor->lowering->schedule->demand, chunk, cursor->rank);
    pccl_slot old = local->location;
    local->location = slot != PCCL_NONE && !(flags & REPLACED_LATER) ? PCCL_SLOT(PCCL_OUTPUT, slot) : place;
    if (old != local->location) {
        give_back(cursor, old);
    }
    if (place != local->location) {
        give_back(cursor, place);
    }
    bool arrived_first = lowest < local->lowest;
    local->lowest = arrived_first ? lowest : local->lowest;
    return (struct pccl__local_step){.left = arrived_first ? place : old,
                                     .right = arrived_first ? old : place,
                                     .target = local->location,
                                     .chunk = chunk};
}

/* Local work on what `receive`, the operation for message `number`, brought. */
static int lower_arrival(struct cursor *cursor, uint32_t number, uint32_t receive)
{
    struct pccl__lowering *lowering = cursor->lowering;
    struct pccl__operations *operations = &lowering->operations;
    const struct pccl_message *message = message_at(cursor, number);
    uint32_t count, num_copies = 0, num_reductions = 0;
    const uint32_t *chunks = pccl_message_chunks(lowering->schedule, message, &count);
    struct pccl__local_step *copies = pccl__array_grow(lowering->copies, &lowering->copy_room, count, sizeof *copies);
    lowering->copies = copies != NULL ? copies : lowering->copies;
    if (copies == NULL || operations->failed) {
        return PCCL_ERR_MEMORY;
    }
    for (uint32_t i = 0; i < count; i++) {
        struct pccl__local_chunk *local = find_chunk(cursor, chunks[i]);
        pccl_slot place = operations->slots[operations->operations[receive].first_slot + i];
        uint32_t lowest = lowering->lowest != NULL ? lowering->lowest[lowering->first_lowest[number] + i] : PCCL_NONE;
        uint8_t flags = lowering->receive_flags[cursor->receive_flag++];
        if (message->reduce && local->location != PCCL_NONE) {
            lowering->reductions[num_reductions++] = combine(cursor, local, chunks[i], place, lowest, flags);
        } else {
            num_copies += accept(cursor, local, chunks[i], place, flags, &copies[num_copies]);
            local->lowest = lowest;
        }
        if (!(flags & USED_LATER)) {
            give_back(cursor, local->location);
        }
    }
    add_local(operations, PCCL_OP_COPY, cursor->step, copies, num_copies);
    add_local(operations, PCCL_OP_REDUCE, cursor->step, lowering->reductions, num_reductions);
    return 0;
}

/* Chunks that the rank may both have and want without a message: *first .. *end - 1. */
static void find_own_range(const struct pccl_demand *demand, uint32_t rank, uint32_t *first, uint32_t *end)
{
    uint64_t block = rank, count = 1;
    switch (demand->collective) {
    case PCCL_ALLGATHER:
        break;
    case PCCL_ALLTOALL:
        block = (uint64_t)rank * demand->num_ranks + rank;
        break;
    case PCCL_GATHER:
    case PCCL_SCATTER:
        count = rank == demand->root;
        break;
    case PCCL_SCAN:
        count = rank == 0;
        break;
    case PCCL_CUSTOM:
        block = 0;
        count = demand->num_chunks / demand->pieces;
        break;
    default: /* other reductions combine before they finish; a broadcast's root has its data in place */
        count = 0;
    }
    *first = (uint32_t)(block * demand->pieces);
    *end = (uint32_t)((block + count) * demand->pieces);
}

/* Copies own contributions that belong in the rank's own output. */
static int lower_own(struct cursor *cursor)
{
    struct pccl__lowering *lowering = cursor->lowering;
    const struct pccl_demand *demand = lowering->schedule->demand;
    uint32_t first, end, num_copies = 0;
    find_own_range(demand, cursor->rank, &first, &end);
    for (uint32_t chunk = first; chunk < end; chunk++) {
        uint32_t input = pccl_demand_input_slot(demand, chunk, cursor->rank);
        uint32_t output = pccl_demand_output_slot(demand, chunk, cursor->rank);
        struct pccl__local_chunk *local = find_chunk(cursor, chunk);
        if (input == PCCL_NONE || output == PCCL_NONE || local->arrives) {
            continue;
        }
        struct pccl__local_step *copies =
            pccl__array_grow(lowering->copies, &lowering->copy_room, (uint64_t)num_copies + 1, sizeof *copies);
        if (copies == NULL) {
            return PCCL_ERR_MEMORY;
        }
        lowering->copies = copies;
        local->copied = PCCL_SLOT(PCCL_OUTPUT, output);
        copies[num_copies++] =
            (struct pccl__local_step){.left = PCCL_SLOT(PCCL_INPUT, input), .target = local->copied, .chunk = chunk};
    }
    add_local(&lowering->operations, PCCL_OP_COPY, cursor->step, lowering->copies, num_copies);
    return 0;
}

/* --- steps -------------------------------------------------------------------------------------------------------- */

static uint32_t count_in_step(const struct cursor *cursor, const uint32_t *numbers, uint32_t from, uint32_t count)
{
    uint32_t end = from;
    while (end < count && message_at(cursor, numbers[end])->step == cursor->step) {
        end++;
    }
    return end - from;
}

/* Moves on to the next step in which the rank takes part; false after the last. */
static bool next_step(struct cursor *cursor, uint32_t *num_sends, uint32_t *num_receives)
{
    uint32_t send =
        cursor->next_send < cursor->num_sends ? message_at(cursor, cursor->sends[cursor->next_send])->step : PCCL_NONE;
    uint32_t receive = cursor->next_receive < cursor->num_receives
                           ? message_at(cursor, cursor->receives[cursor->next_receive])->step
                           : PCCL_NONE;
    cursor->step = send < receive ? send : receive;
    *num_sends = count_in_step(cursor, cursor->sends, cursor->next_send, cursor->num_sends);
    *num_receives = count_in_step(cursor, cursor->receives, cursor->next_receive, cursor->num_receives);
    return *num_sends + *num_receives > 0;
}

static int lower_chunks(struct cursor *cursor)
{
    struct pccl__lowering *lowering = cursor->lowering;
    uint32_t num_sends, num_receives;
    int status = flag_messages(cursor);
    bool copied = false, combines = lowering->schedule->demand->collective == PCCL_EXSCAN;
    while (status == 0 && next_step(cursor, &num_sends, &num_receives)) {
        pccl__scratch_advance(&lowering->scratch, cursor->step);
        for (uint32_t i = 0; i < num_sends && status == 0; i++) {
            uint32_t number = cursor->sends[cursor->next_send++];
            status = combines ? lower_combined_send(cursor, number) : lower_send(cursor, number);
        }
        uint32_t first = lowering->operations.num_operations;
        for (uint32_t i = 0; i < num_receives && status == 0; i++) {
            status = lower_receive(cursor, cursor->receives[cursor->next_receive + i]);
        }
        if (status == 0 && !copied) {
            status = lower_own(cursor);
            copied = true;
        }
        for (uint32_t i = 0; i < num_receives && status == 0; i++) {
            status = lower_arrival(cursor, cursor->receives[cursor->next_receive++], first + i);
        }
    }
    return status == 0 && !copied ? lower_own(cursor) : status;
}

/* A barrier moves no data: every send waits for all receives of earlier steps. Where many sends would wait for many
 * receives, a copy of nothing stands between them, so that the dependencies stay linear. */
static int lower_barrier(struct cursor *cursor)
{
    struct pccl__lowering *lowering = cursor->lowering;
    struct pccl__operations *operations = &lowering->operations;
    uint32_t num_sends, num_receives, num_waits = 0;
    while (next_step(cursor, &num_sends, &num_receives)) {
        uint32_t *frontier = pccl__array_grow(lowering->frontier, &lowering->frontier_room,
                                              (uint64_t)num_waits + num_receives + 1, sizeof *frontier);
        if (frontier == NULL) {
            return PCCL_ERR_MEMORY;
        }
        lowering->frontier = frontier;
        if ((uint64_t)num_sends * num_waits > (uint64_t)num_sends + num_waits) {
            uint32_t join = pccl__operations_add(operations, PCCL_OP_COPY, PCCL_NONE, cursor->step, 0);
            for (uint32_t i = 0; i < num_waits; i++) {
                pccl__operations_wait(operations, frontier[i]);
            }
            pccl__operations_close(operations);
            frontier[0] = join;
            num_waits = 1;
        }
        for (uint32_t i = 0; i < num_sends; i++) {
            const struct pccl_message *message = message_at(cursor, cursor->sends[cursor->next_send++]);
            pccl__operations_add(operations, PCCL_OP_SEND, lowering->path_target[message->path], cursor->step, 0);
            for (uint32_t j = 0; j < num_waits; j++) {
                pccl__operations_wait(operations, frontier[j]);
            }
            pccl__operations_close(operations);
        }
        for (uint32_t i = 0; i < num_receives; i++) {
            const struct pccl_message *message = message_at(cursor, cursor->receives[cursor->next_receive++]);
            frontier[num_waits++] = pccl__operations_add(operations, PCCL_OP_RECEIVE,
                                                         lowering->path_source[message->path], cursor->step, 0);
            pccl__operations_close(operations);
        }
    }
    return 0;
}

int pccl__lower(struct pccl__lowering *lowering, uint32_t rank, struct pccl_program **program)
{
    const struct pccl_demand *demand = lowering->schedule->demand;
    struct cursor cursor = {
        .lowering = lowering,
        .rank = rank,
        .sends = lowering->sends + lowering->first_send[rank],
        .receives = lowering->receives + lowering->first_receive[rank],
        .num_sends = lowering->first_send[rank + 1] - lowering->first_send[rank],
        .num_receives = lowering->first_receive[rank + 1] - lowering->first_receive[rank],
    };
    pccl__operations_begin(&lowering->operations, demand, rank);
    pccl__scratch_reset(&lowering->scratch);
    int status = demand->collective == PCCL_BARRIER ? lower_barrier(&cursor) : lower_chunks(&cursor);
    if (status != 0) {
        return status == PCCL_ERR_MEMORY ? pccl__fail_memory(lowering->error) : status;
    }
    *program = pccl__operations_pack(&lowering->operations, lowering->scratch.num_slots);
    return *program != NULL ? 0 : pccl__fail_memory(lowering->error);
}

void pccl__lowering_close(struct pccl__lowering *lowering)
{
    free(lowering->path_source);
    free(lowering->path_target);
    free(lowering->first_send);
    free(lowering->first_receive);
    free(lowering->sends);
    free(lowering->receives);
    free(lowering->lowest);
    free(lowering->first_lowest);
    free(lowering->chunks);
    free(lowering->send_flags);
    free(lowering->receive_flags);
    free(lowering->copies);
    free(lowering->reductions);
    free(lowering->frontier);
    pccl__operations_free(&lowering->operations);
    pccl__scratch_free(&lowering->scratch);
}
