#include "interpreter.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char failure[256];

#define FAIL(...) (snprintf(failure, sizeof failure, __VA_ARGS__), failure)

enum progress { WAITING, POSTED, DONE };

struct rank_state {
    const struct pccl_program *program;
    uint8_t **input, **output; /* by slot */
    uint8_t *scratch, *memory;
    size_t scratch_bytes; /* of one slot */
    uint32_t *waits;
    enum progress *progress;
    uint32_t num_done, num_posted;
    uint32_t *posted;    /* [num_posted] operations under way, the oldest first */
    uint32_t first_open; /* all operations before it are done */
    bool entered;
};

struct machine {
    const struct pccl_demand *demand;
    struct rank_state *ranks;
    struct pccl__random *random;
    uint32_t window;
};

/* --- the operator: composition of permutations of four things, one in each byte; associative, not commutative ----- */

static void permutation(uint8_t number, uint8_t *images)
{
    uint8_t rest[4] = {0, 1, 2, 3};
    for (uint32_t i = 0; i < 4; i++) {
        static const uint8_t factorials[4] = {6, 2, 1, 1};
        uint8_t choice = (uint8_t)(number / factorials[i] % (4 - i));
        images[i] = rest[choice];
        memmove(rest + choice, rest + choice + 1, (size_t)(3 - choice));
    }
}

static uint8_t number_of(const uint8_t *images)
{
    for (uint8_t number = 0; number < 24; number++) {
        uint8_t candidate[4];
        permutation(number, candidate);
        if (memcmp(candidate, images, 4) == 0) {
            return number;
        }
    }
    return 255;
}

static uint8_t combine(const struct pccl_demand *demand, uint8_t left, uint8_t right)
{
    static uint8_t table[24][24];
    static bool filled;
    for (uint32_t i = 0; i < 576 && !filled; i++) {
        uint8_t a[4], b[4], both[4];
        permutation((uint8_t)(i / 24), a);
        permutation((uint8_t)(i % 24), b);
        for (uint32_t k = 0; k < 4; k++) {
            both[k] = b[a[k]];
        }
        table[i / 24][i % 24] = number_of(both);
    }
    filled = true;
    return demand->ordered ? table[left % 24][right % 24] : (uint8_t)(left + right);
}

static uint8_t contribution(const struct pccl_demand *demand, uint32_t chunk, uint32_t rank, int64_t byte)
{
    uint64_t x = (uint64_t)chunk * 1000003 + (demand->reduces ? rank + 1 : 0) * 7919 + (uint64_t)byte * 31 + 17;
    x ^= x >> 7;
    x *= UINT64_C(0x9e3779b97f4a7c15);
    return (uint8_t)((x >> 40) % (demand->ordered ? 24 : 256));
}

static uint8_t expected(const struct pccl_demand *demand, uint32_t chunk, uint32_t rank, int64_t byte)
{
    const uint32_t *sources = demand->holders + demand->chunks[chunk].first_source;
    uint8_t value = contribution(demand, chunk, sources[0], byte);
    uint32_t count = demand->collective == PCCL_SCAN     ? rank + 1
                     : demand->collective == PCCL_EXSCAN ? rank
                                                         : demand->chunks[chunk].num_sources;
    for (uint32_t i = 1; demand->reduces && i < count; i++) {
        value = combine(demand, value, contribution(demand, chunk, sources[i], byte));
    }
    return value;
}

/* --- buffers ------------------------------------------------------------------------------------------------------ */

static void open_rank(struct machine *machine, uint32_t rank, const struct pccl_program *program, bool in_place)
{
    const struct pccl_demand *demand = machine->demand;
    struct rank_state *state = &machine->ranks[rank];
    uint32_t num_inputs = pccl_demand_num_input_slots(demand, rank);
    uint32_t num_outputs = pccl_demand_num_output_slots(demand, rank);
    size_t total = 1;
    for (uint32_t c = 0; c < demand->num_chunks; c++) {
        size_t bytes = (size_t)demand->chunks[c].bytes;
        total += 2 * bytes;
        state->scratch_bytes = bytes > state->scratch_bytes ? bytes : state->scratch_bytes;
    }
    state->program = program;
    state->memory = malloc(total);
    state->scratch = malloc(program->num_scratch_slots * state->scratch_bytes + 1);
    state->input = calloc(num_inputs + 1, sizeof *state->input);
    state->output = calloc(num_outputs + 1, sizeof *state->output);
    state->waits = calloc(program->num_operations + 1, sizeof *state->waits);
    state->progress = calloc(program->num_operations + 1, sizeof *state->progress);
    state->posted = calloc(program->num_operations + 1, sizeof *state->posted);
    assert(state->memory && state->scratch && state->input && state->output && state->waits && state->progress &&
           state->posted);
    memset(state->memory, 0xee, total);
    uint8_t *next = state->memory;
    for (uint32_t c = 0; c < demand->num_chunks; c++) {
        uint32_t slot = pccl_demand_input_slot(demand, c, rank);
        if (slot != PCCL_NONE) {
            state->input[slot] = next;
            for (int64_t i = 0; i < demand->chunks[c].bytes; i++) {
                *next++ = contribution(demand, c, rank, i);
            }
        }
    }
    for (uint32_t c = 0; c < demand->num_chunks; c++) {
        uint32_t slot = pccl_demand_output_slot(demand, c, rank);
        if (slot != PCCL_NONE) {
            uint32_t aliased = in_place || demand->collective == PCCL_BROADCAST
                                   ? pccl_demand_aliased_input_slot(demand, slot, rank)
                                   : PCCL_NONE;
            state->output[slot] = aliased != PCCL_NONE ? state->input[aliased] : next;
            next += aliased != PCCL_NONE ? 0 : demand->chunks[c].bytes;
        }
    }
    for (uint32_t i = 0; i < program->num_operations; i++) {
        state->waits[i] = program->operations[i].num_waits;
    }
}

static void close_rank(struct rank_state *state)
{
    free(state->memory);
    free(state->scratch);
    free(state->input);
    free(state->output);
    free(state->waits);
    free(state->progress);
    free(state->posted);
}

static uint8_t *slot_bytes(struct rank_state *state, uint32_t position)
{
    pccl_slot slot = state->program->slots[position];
    switch (PCCL_SLOT_AREA(slot)) {
    case PCCL_INPUT:
        return state->input[PCCL_SLOT_INDEX(slot)];
    case PCCL_OUTPUT:
        return state->output[PCCL_SLOT_INDEX(slot)];
    default:
        return state->scratch + PCCL_SLOT_INDEX(slot) * state->scratch_bytes;
    }
}

static size_t slot_size(const struct machine *machine, const struct rank_state *state, uint32_t position)
{
    return (size_t)machine->demand->chunks[state->program->slot_chunk[position]].bytes;
}

/* --- execution ---------------------------------------------------------------------------------------------------- */

static void complete(struct rank_state *state, uint32_t operation)
{
    const struct pccl_operation *op = &state->program->operations[operation];
    state->progress[operation] = DONE;
    state->num_done++;
    while (state->first_open < state->program->num_operations && state->progress[state->first_open] == DONE) {
        state->first_open++;
    }
    for (uint32_t i = 0; i < op->num_successors; i++) {
        state->waits[state->program->successors[op->first_successor + i]]--;
    }
}

static void run_local(struct machine *machine, struct rank_state *state, uint32_t operation)
{
    const struct pccl_operation *op = &state->program->operations[operation];
    for (uint32_t i = 0; i < op->num_slots; i++) {
        uint32_t first = op->first_slot + i;
        uint8_t *left = slot_bytes(state, first), *second = slot_bytes(state, first + op->num_slots);
        size_t size = slot_size(machine, state, first);
        if (op->kind == PCCL_OP_COPY) {
            memmove(second, left, size);
        } else {
            uint8_t *target = slot_bytes(state, first + 2 * op->num_slots);
            for (size_t k = 0; k < size; k++) {
                target[k] = combine(machine->demand, left[k], second[k]);
            }
        }
    }
    complete(state, operation);
}

static void post(struct machine *machine, struct rank_state *state, uint32_t operation)
{
    const struct pccl_operation *op = &state->program->operations[operation];
    state->progress[operation] = POSTED;
    state->posted[state->num_posted++] = operation;
    if (op->next_in_lane != PCCL_NONE) {
        state->waits[op->next_in_lane]--;
    }
    for (uint32_t i = 0; op->kind == PCCL_OP_RECEIVE && i < op->num_slots; i++) {
        memset(slot_bytes(state, op->first_slot + i), 0xdd, slot_size(machine, state, op->first_slot + i));
    }
}

/* Runs or posts one random operation of the rank that may be; false if there is none. */
static bool start_one(struct machine *machine, struct rank_state *state)
{
    uint32_t num_ready = 0, chosen = 0, lowest = PCCL_NONE;
    bool receives_may = true;
    for (uint32_t i = state->first_open; i < state->program->num_operations && state->entered; i++) {
        const struct pccl_operation *op = &state->program->operations[i];
        bool local = op->kind != PCCL_OP_SEND && op->kind != PCCL_OP_RECEIVE;
        if (state->progress[i] != WAITING) {
            continue;
        }
        bool ready = state->waits[i] == 0 && (op->kind != PCCL_OP_RECEIVE || receives_may);
        receives_may = receives_may && op->kind != PCCL_OP_RECEIVE;
        if (ready && lowest == PCCL_NONE && !local) {
            lowest = i;
        }
        bool fits = local || i == lowest || machine->window == 0 || state->num_posted < machine->window;
        if (ready && fits && pccl__random_below(machine->random, ++num_ready) == 0) {
            chosen = i;
        }
    }
    if (num_ready == 0) {
        return false;
    }
    uint32_t kind = state->program->operations[chosen].kind;
    if (kind == PCCL_OP_SEND || kind == PCCL_OP_RECEIVE) {
        post(machine, state, chosen);
    } else {
        run_local(machine, state, chosen);
    }
    return true;
}

/* The place in state->posted of the oldest message of a kind with a peer, or PCCL_NONE. */
static uint32_t first_posted(const struct rank_state *state, uint32_t kind, uint32_t peer)
{
    for (uint32_t i = 0; i < state->num_posted; i++) {
        const struct pccl_operation *op = &state->program->operations[state->posted[i]];
        if (op->kind == kind && op->peer == peer) {
            return i;
        }
    }
    return PCCL_NONE;
}

/* Ends the message at a place in state->posted. */
static void finish_posted(struct rank_state *state, uint32_t place)
{
    uint32_t operation = state->posted[place];
    state->num_posted--;
    memmove(state->posted + place, state->posted + place + 1, (state->num_posted - place) * sizeof *state->posted);
    complete(state, operation);
}

/* Delivers the oldest message from one rank to another if both ends are posted. */
static const char *deliver(struct machine *machine, uint32_t from, uint32_t to, bool *delivered)
{
    struct rank_state *sender = &machine->ranks[from], *receiver = &machine->ranks[to];
    uint32_t send = first_posted(sender, PCCL_OP_SEND, to), receive = first_posted(receiver, PCCL_OP_RECEIVE, from);
    *delivered = send != PCCL_NONE && receive != PCCL_NONE;
    if (!*delivered) {
        return NULL;
    }
    const struct pccl_operation *out = &sender->program->operations[sender->posted[send]],
                                *in = &receiver->program->operations[receiver->posted[receive]];
    if (out->num_slots != in->num_slots) {
        return FAIL("a message of %u slots meets a receive of %u", out->num_slots, in->num_slots);
    }
    for (uint32_t i = 0; i < out->num_slots; i++) {
        size_t size = slot_size(machine, sender, out->first_slot + i);
        if (size != slot_size(machine, receiver, in->first_slot + i)) {
            return FAIL("sizes differ");
        }
        memcpy(slot_bytes(receiver, in->first_slot + i), slot_bytes(sender, out->first_slot + i), size);
    }
    finish_posted(sender, send);
    finish_posted(receiver, receive);
    return NULL;
}

/* One random thing that can happen, tried from a random place on; *moved = false if nothing can. */
static const char *advance(struct machine *machine, bool *moved)
{
    uint32_t n = machine->demand->num_ranks, choices = n * n + n * (n / 2 + 1);
    uint32_t start = pccl__random_below(machine->random, choices);
    *moved = false;
    for (uint32_t i = 0; i < choices && !*moved; i++) {
        uint32_t choice = (start + i) % choices;
        if (choice >= n * n) {
            *moved = start_one(machine, &machine->ranks[choice % n]);
        } else if (choice / n == choice % n) {
            *moved = !machine->ranks[choice / n].entered;
            machine->ranks[choice / n].entered = true;
        } else {
            const char *wrong = deliver(machine, choice / n, choice % n, moved);
            if (wrong != NULL) {
                return wrong;
            }
        }
    }
    return NULL;
}

static const char *check_outputs(struct machine *machine)
{
    const struct pccl_demand *demand = machine->demand;
    for (uint32_t rank = 0; rank < demand->num_ranks; rank++) {
        for (uint32_t c = 0; c < demand->num_chunks; c++) {
            uint32_t slot = pccl_demand_output_slot(demand, c, rank);
            for (int64_t i = 0; slot != PCCL_NONE && i < demand->chunks[c].bytes; i++) {
                if (machine->ranks[rank].output[slot][i] != expected(demand, c, rank, i)) {
                    return FAIL("rank %u has a wrong byte %lld in chunk %u", rank, (long long)i, c);
                }
            }
        }
    }
    return NULL;
}

static const char *run(struct machine *machine)
{
    uint32_t n = machine->demand->num_ranks;
    for (bool moved = true; moved;) {
        const char *wrong = advance(machine, &moved);
        if (wrong != NULL) {
            return wrong;
        }
        uint32_t num_entered = 0, num_finished = 0;
        for (uint32_t i = 0; i < n; i++) {
            num_entered += machine->ranks[i].entered;
            num_finished += machine->ranks[i].num_done == machine->ranks[i].program->num_operations;
        }
        if (machine->demand->collective == PCCL_BARRIER && num_finished > 0 && num_entered < n) {
            return FAIL("a rank left the barrier when only %u of %u had entered", num_entered, n);
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        if (machine->ranks[i].num_done != machine->ranks[i].program->num_operations) {
            return FAIL("deadlock: rank %u did %u of %u operations", i, machine->ranks[i].num_done,
                        machine->ranks[i].program->num_operations);
        }
    }
    return check_outputs(machine);
}

const char *interpret(const struct pccl_demand *demand, struct pccl_program *const *programs, bool in_place,
                      uint32_t window, struct pccl__random *random)
{
    struct machine machine = {.demand = demand, .random = random, .window = window};
    machine.ranks = calloc(demand->num_ranks, sizeof *machine.ranks);
    assert(machine.ranks != NULL);
    for (uint32_t i = 0; i < demand->num_ranks; i++) {
        open_rank(&machine, i, programs[i], in_place);
    }
    const char *wrong = run(&machine);
    for (uint32_t i = 0; i < demand->num_ranks; i++) {
        close_rank(&machine.ranks[i]);
    }
    free(machine.ranks);
    return wrong;
}
