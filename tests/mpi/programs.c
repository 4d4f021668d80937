/* Random programs: each makes communicators out of communicators, calls collectives on them with datatypes and
 * operators that it makes for one call and frees right after it, keeps non-blocking collectives and messages pending
 * meanwhile, and frees what it made, or does not. What must come out is known by arithmetic.
 *
 * programs [--number N] [--calls N] [--seed S]     the program with seed S alone: --number 1 --seed S */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "typemap.h"

#define NUM_SLOTS 6 /* for communicators beside MPI_COMM_WORLD */

enum collective {
    ALLGATHER,
    ALLGATHERV,
    ALLTOALL,
    ALLTOALLV,
    BCAST,
    GATHER,
    SCATTER,
    BARRIER,
    ALLREDUCE,
    REDUCE,
    REDUCE_SCATTER,
    REDUCE_SCATTER_BLOCK,
    NUM_COLLECTIVES
};

static const char *const names[NUM_COLLECTIVES] = {
    "allgather", "allgatherv", "alltoall",  "alltoallv", "bcast",          "gather",
    "scatter",   "barrier",    "allreduce", "reduce",    "reduce_scatter", "reduce_scatter_block"};

static uint64_t program; /* seed of the one that runs */

/* One call; `shared` gives the same numbers to all ranks of the program, `own` others to each. */
struct call {
    enum collective collective;
    MPI_Comm comm;
    int rank, size, root;
    bool in_place; /* at this rank */
    uint64_t seed;
    struct random shared, own;
};

/* One side of a call that moves data. */
struct side {
    struct typemap map;
    int num_blocks; /* 0: not significant here */
    int counts[MAX_RANKS], displacements[MAX_RANKS];
    struct buffer buffer, expected;
    void *address;
};

static bool toss(struct random *random, uint32_t one_in)
{
    return random_below(random, one_in) == 0;
}

/* --- communicators ------------------------------------------------------------------------------------------------ */

static MPI_Comm slots[NUM_SLOTS]; /* MPI_COMM_NULL where this rank is no member */
static bool used[NUM_SLOTS];

/* -1 for MPI_COMM_WORLD. */
static int pick_slot(struct random *random)
{
    int slot = (int)random_below(random, NUM_SLOTS + 1) - 1;
    return slot >= 0 && !used[slot] ? -1 : slot;
}

static MPI_Comm comm_in(int slot)
{
    return slot < 0 ? MPI_COMM_WORLD : slots[slot];
}

static MPI_Comm part_of_grid(MPI_Comm parent, int size, bool rows)
{
    int extents[2] = {0, 0}, periods[2] = {1, 0}, remain[2] = {!rows, rows};
    MPI_Comm grid, part;
    MPI_Dims_create(size, 2, extents);
    MPI_Cart_create(parent, 2, extents, periods, 1, &grid);
    MPI_Cart_sub(grid, remain, &part);
    MPI_Comm_free(&grid);
    return part;
}

/* About two thirds of the ranks, last first; made by all, or by the members alone. */
static MPI_Comm part_of_group(MPI_Comm parent, int size, uint64_t seed, bool by_members)
{
    int members[MAX_RANKS], num_members = 0, own;
    MPI_Group whole, part;
    MPI_Comm made = MPI_COMM_NULL;
    for (int rank = size - 1; rank >= 0; rank--) {
        if (random_mix(seed, (uint64_t)rank) % 3 != 0) {
            members[num_members++] = rank;
        }
    }
    MPI_Comm_group(parent, &whole);
    MPI_Group_incl(whole, num_members, members, &part);
    MPI_Group_rank(part, &own);
    if (!by_members) {
        MPI_Comm_create(parent, part, &made);
    } else if (own != MPI_UNDEFINED) {
        MPI_Comm_create_group(parent, part, 3, &made);
    }
    MPI_Group_free(&part);
    MPI_Group_free(&whole);
    return made;
}

static MPI_Comm duplicate_meanwhile(MPI_Comm parent)
{
    MPI_Comm made;
    MPI_Request request;
    MPI_Comm_idup(parent, &made, &request);
    MPI_Barrier(parent);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    return made;
}

static MPI_Comm derive(MPI_Comm parent, uint32_t way, uint64_t seed)
{
    int rank, size;
    MPI_Comm made;
    MPI_Comm_rank(parent, &rank);
    MPI_Comm_size(parent, &size);
    const uint64_t noise = random_mix(seed, (uint64_t)rank);
    switch (way) {
    case 0:
        MPI_Comm_dup(parent, &made);
        return made;
    case 1:
        MPI_Comm_split(parent, (int)(noise % 2), (int)(noise >> 20 & 0xfff), &made);
        return made;
    case 2:
        MPI_Comm_split(parent, noise % 4 == 0 ? MPI_UNDEFINED : 0, -rank, &made);
        return made;
    case 3:
        return part_of_grid(parent, size, seed % 2 == 0);
    case 4:
        return duplicate_meanwhile(parent);
    default:
        return part_of_group(parent, size, seed, way == 5);
    }
}

static void free_slot(int slot)
{
    if (slots[slot] != MPI_COMM_NULL) {
        MPI_Comm_free(&slots[slot]);
    }
    used[slot] = false;
}

static void make_comm(struct random *random)
{
    const int target = (int)random_below(random, NUM_SLOTS), parent = pick_slot(random);
    const uint32_t way = random_below(random, 7);
    const uint64_t seed = random_next(random);
    MPI_Comm made = MPI_COMM_NULL;
    check_case("program %llu: communicator made in way %u", (unsigned long long)program, way);
    if (comm_in(parent) != MPI_COMM_NULL) {
        made = derive(comm_in(parent), way, seed);
    }
    if (used[target]) {
        free_slot(target);
    }
    slots[target] = made;
    used[target] = true;
}

/* --- calls that move data ----------------------------------------------------------------------------------------- */

/* How many signatures go from one rank to another, always a multiple of 24: so every type divides it. */
struct amounts {
    int base;
    bool unequal, in_place;
    uint64_t seed;
};

static int amount(const struct amounts *amounts, int source, int target)
{
    /* In place every rank gets from a peer as much as it sends there. */
    const int pair = amounts->in_place ? source + target : source * MAX_RANKS + target;
    const int weight = amounts->unequal ? (int)(random_mix(amounts->seed, (uint64_t)pair) % 4) : 1;
    return 24 * amounts->base * weight;
}

static bool has_counts(enum collective collective)
{
    return collective == ALLGATHERV || collective == ALLTOALLV;
}

static bool is_personal(enum collective collective)
{
    return collective == ALLTOALL || collective == ALLTOALLV || collective == SCATTER;
}

/* Blocks in any order with holes between them, if the call has displacements. */
static void place_blocks(struct side *side, bool freely, struct random *random)
{
    const bool descending = freely && toss(random, 2), holes = freely && toss(random, 2);
    int next = holes ? 2 : 0;
    for (int i = 0; i < side->num_blocks; i++) {
        const int block = descending ? side->num_blocks - 1 - i : i;
        side->displacements[block] = next;
        next += side->counts[block] + (holes ? (int)random_below(random, 3) : 0);
    }
}

static void make_side(struct side *side, const struct call *call, const struct signature *signature,
                      struct random *random)
{
    static const int copies[] = {1, 2, 3, 4, 6};
    typemap_random(&side->map, signature, copies[random_below(random, 5)], random);
    for (int i = 0; i < side->num_blocks; i++) {
        side->counts[i] /= side->map.copies;
    }
    place_blocks(side, has_counts(call->collective) && side->num_blocks > 1, random);
    buffer_make(&side->buffer, side->map.type, side->num_blocks, side->counts, side->displacements, random);
    side->address = side->buffer.address;
}

static uint64_t block_seed(const struct call *call, int source, int target)
{
    return random_mix(call->seed, (uint64_t)(source * MAX_RANKS + target));
}

static void fill_block(const struct side *side, const struct buffer *buffer, int block, uint64_t seed)
{
    typemap_fill(&side->map, buffer, side->displacements[block], side->counts[block], seed);
}

/* What this rank sends, wherever that lies, and what it must have in the end. */
static void fill_sides(const struct call *call, struct side *send, struct side *receive)
{
    const enum collective collective = call->collective;
    const bool personal = is_personal(collective);
    for (int i = 0; i < send->num_blocks; i++) {
        fill_block(send, &send->buffer, i, block_seed(call, call->rank, personal ? i : 0));
    }
    if (collective == BCAST && call->rank == call->root) {
        fill_block(receive, &receive->buffer, 0, block_seed(call, call->root, 0));
    }
    for (int i = 0; call->in_place && i < receive->num_blocks; i++) {
        if (personal || i == call->rank) {
            fill_block(receive, &receive->buffer, i, block_seed(call, call->rank, personal ? i : 0));
        }
    }
    buffer_copy(&send->expected, &send->buffer);
    buffer_copy(&receive->expected, &receive->buffer);
    for (int i = 0; i < receive->num_blocks; i++) {
        const int source = collective == BCAST || collective == SCATTER ? call->root : i;
        fill_block(receive, &receive->expected, i, block_seed(call, source, personal ? call->rank : 0));
    }
}

static void set_blocks(const struct call *call, const struct amounts *amounts, struct side *send, struct side *receive)
{
    const enum collective collective = call->collective;
    const bool at_root = call->rank == call->root, personal = is_personal(collective);
    send->num_blocks = collective == BCAST || (collective == SCATTER && !at_root) ? 0 : personal ? call->size : 1;
    receive->num_blocks = collective == BCAST || collective == SCATTER ? 1
                          : collective == GATHER && !at_root           ? 0
                                                                       : call->size;
    for (int i = 0; i < call->size; i++) {
        send->counts[i] = amount(amounts, call->rank, personal ? i : 0);
        receive->counts[i] = amount(amounts, i, personal ? call->rank : 0);
    }
    if (call->in_place && collective == SCATTER) {
        receive->num_blocks = 0;
    } else if (call->in_place) {
        send->num_blocks = 0;
    }
}

static int move(const struct call *call, const struct side *send, const struct side *receive)
{
    const MPI_Datatype send_type = send->map.type, receive_type = receive->map.type;
    const void *from = send->address;
    void *to = receive->address;
    const int send_count = send->counts[0], receive_count = receive->counts[0];
    switch (call->collective) {
    case ALLGATHER:
        return MPI_Allgather(from, send_count, send_type, to, receive_count, receive_type, call->comm);
    case ALLGATHERV:
        return MPI_Allgatherv(from, send_count, send_type, to, receive->counts, receive->displacements, receive_type,
                              call->comm);
    case ALLTOALL:
        return MPI_Alltoall(from, send_count, send_type, to, receive_count, receive_type, call->comm);
    case ALLTOALLV:
        return MPI_Alltoallv(from, send->counts, send->displacements, send_type, to, receive->counts,
                             receive->displacements, receive_type, call->comm);
    case BCAST:
        return MPI_Bcast(to, receive_count, receive_type, call->root, call->comm);
    case GATHER:
        return MPI_Gather(from, send_count, send_type, to, receive_count, receive_type, call->root, call->comm);
    default:
        return MPI_Scatter(from, send_count, send_type, to, receive_count, receive_type, call->root, call->comm);
    }
}

/* A side that is in place or does not count, or one whose type holds the address. */
static void set_address(const struct call *call, struct side *side)
{
    if (side->num_blocks == 0) {
        side->address = call->in_place ? MPI_IN_PLACE : (void *)8;
    } else if (random_mix(call->seed, (uint64_t)(16 + call->rank)) % 6 == 0) {
        typemap_set_origin(&side->map, side->buffer.address);
        side->address = MPI_BOTTOM;
    }
}

static void check_side(struct side *side, const char *name)
{
    typemap_free(&side->map);
    buffer_equal(&side->buffer, &side->expected, name);
    buffer_free(&side->buffer);
    buffer_free(&side->expected);
}

static void call_movement(struct call *call, bool in_place)
{
    struct side send = {.num_blocks = 0}, receive = {.num_blocks = 0};
    struct signature signature;
    struct random *shared = &call->shared;
    const int large = toss(shared, 5) ? 100 : 4;
    struct amounts amounts = {.in_place = in_place, .seed = call->seed};
    amounts.base = toss(shared, 12) ? 0 : 1 + (int)random_below(shared, (uint32_t)large);
    amounts.unequal = has_counts(call->collective);
    signature_random(&signature, 1 + (int)random_below(shared, MAX_SIGNATURE), shared);
    check_case("program %llu: %s on %d ranks, root %d, %d x %d fields%s", (unsigned long long)program,
               names[call->collective], call->size, call->root, amounts.base, signature.count,
               in_place ? ", in place" : "");
    set_blocks(call, &amounts, &send, &receive);
    make_side(&send, call, &signature, &call->own);
    make_side(&receive, call, &signature, &call->own);
    fill_sides(call, &send, &receive);
    set_address(call, &send);
    set_address(call, &receive);
    check_that(move(call, &send, &receive) == MPI_SUCCESS, "returned an error");
    check_side(&send, "send buffer");
    check_side(&receive, "receive buffer");
}

/* --- reductions --------------------------------------------------------------------------------------------------- */

/* The datatype that the operators work on: its fields are two ints. */
static struct typemap operand;

static uint32_t get(const void *element, int field)
{
    uint32_t value;
    memcpy(&value, (const char *)element + operand.offsets[field], sizeof(value));
    return value;
}

static void set(void *element, int field, uint32_t value)
{
    memcpy((char *)element + operand.offsets[field], &value, sizeof(value));
}

/* Applies x -> a x + b first, then x -> c x + d, modulo 2^32: associative, not commutative. */
static void chain(uint32_t *a, uint32_t *b, uint32_t c, uint32_t d)
{
    *a *= c;
    *b = *b * c + d;
}

static void chain_all(void *in, void *in_out, int *count, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *count; i++) {
        void *right = (char *)in_out + i * operand.extent;
        const void *left = (const char *)in + i * operand.extent;
        uint32_t a = get(left, 0), b = get(left, 1);
        chain(&a, &b, get(right, 0), get(right, 1));
        set(right, 0, a);
        set(right, 1, b);
    }
}

static void add_all(void *in, void *in_out, int *count, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *count; i++) {
        void *right = (char *)in_out + i * operand.extent;
        const void *left = (const char *)in + i * operand.extent;
        set(right, 0, get(left, 0) + get(right, 0));
        set(right, 1, get(left, 1) ^ get(right, 1));
    }
}

/* Elements [first, first + count) of the whole vector, reduced over all ranks, to the start of the buffer. */
static void fill_result(const struct call *call, const struct buffer *buffer, int first, int count, bool commute)
{
    for (int i = 0; i < count; i++) {
        void *result = (char *)buffer->address + i * operand.extent;
        uint32_t a = 0, b = 0;
        for (int rank = 0; rank < call->size; rank++) {
            const uint64_t seed = block_seed(call, rank, 0), place = 2 * (uint64_t)(first + i);
            const uint32_t c = (uint32_t)random_mix(seed, place), d = (uint32_t)random_mix(seed, place + 1);
            if (rank == 0) {
                a = c;
                b = d;
            } else if (commute) {
                a += c;
                b ^= d;
            } else {
                chain(&a, &b, c, d);
            }
        }
        set(result, 0, a);
        set(result, 1, b);
    }
}

static int reduce(const struct call *call, const void *send, void *receive, const int *counts, int total, MPI_Op op)
{
    switch (call->collective) {
    case ALLREDUCE:
        return MPI_Allreduce(send, receive, total, operand.type, op, call->comm);
    case REDUCE:
        return MPI_Reduce(send, receive, total, operand.type, op, call->root, call->comm);
    case REDUCE_SCATTER:
        return MPI_Reduce_scatter(send, receive, counts, operand.type, op, call->comm);
    default:
        return MPI_Reduce_scatter_block(send, receive, counts[0], operand.type, op, call->comm);
    }
}

/* MPI leaves open what an in-place reduce-scatter leaves behind its result. */
static void accept_rest(const struct buffer *found, const struct buffer *expected, int first, int end)
{
    for (int i = first; i < end; i++) {
        for (int field = 0; field < operand.count; field++) {
            memcpy(typemap_field(&operand, expected, i, field), typemap_field(&operand, found, i, field),
                   sizeof(uint32_t));
        }
    }
}

static void run_reduction(struct call *call, const int *counts, int total, bool commute, MPI_Op op)
{
    const bool scatters = call->collective == REDUCE_SCATTER || call->collective == REDUCE_SCATTER_BLOCK;
    const bool receives = call->collective != REDUCE || call->rank == call->root;
    const int mine = scatters ? counts[call->rank] : total, room = call->in_place ? total : mine, none = 0;
    int first = 0;
    struct buffer send, receive, send_expected, expected;
    for (int i = 0; scatters && i < call->rank; i++) {
        first += counts[i];
    }
    buffer_make(&send, operand.type, call->in_place ? 0 : 1, &total, &none, &call->own);
    buffer_make(&receive, operand.type, receives ? 1 : 0, &room, &none, &call->own);
    typemap_fill(&operand, call->in_place ? &receive : &send, 0, total, block_seed(call, call->rank, 0));
    buffer_copy(&send_expected, &send);
    buffer_copy(&expected, &receive);
    if (receives) {
        fill_result(call, &expected, first, mine, commute);
    }
    check_that(reduce(call, call->in_place ? MPI_IN_PLACE : send.address, receives ? receive.address : NULL, counts,
                      total, op) == MPI_SUCCESS,
               "returned an error");
    if (call->in_place && scatters) {
        accept_rest(&receive, &expected, mine, total);
    }
    buffer_equal(&send, &send_expected, "send buffer");
    buffer_equal(&receive, &expected, "receive buffer");
    buffer_free(&send);
    buffer_free(&receive);
    buffer_free(&send_expected);
    buffer_free(&expected);
}

static void call_reduction(struct call *call, bool in_place)
{
    static const struct signature two_ints = {2, {2, 2}};
    const bool commute = toss(&call->shared, 2), scatters = call->collective >= REDUCE_SCATTER;
    const uint32_t large = toss(&call->shared, 4) ? 2000 : 40;
    const int base = toss(&call->shared, 12) ? 0 : 1 + (int)random_below(&call->shared, large);
    int counts[MAX_RANKS], total = 0;
    MPI_Op op;
    check_case("program %llu: %s on %d ranks, root %d, count %d, %s%s", (unsigned long long)program,
               names[call->collective], call->size, call->root, base, commute ? "commutes" : "does not commute",
               in_place ? ", in place" : "");
    for (int i = 0; i < call->size; i++) {
        const bool equal = call->collective == REDUCE_SCATTER_BLOCK;
        counts[i] = equal ? base : base * (int)(random_mix(call->seed, (uint64_t)i) % 3);
        total += counts[i];
    }
    typemap_random(&operand, &two_ints, 1, &call->shared);
    while (operand.copies != 1) {
        typemap_free(&operand);
        typemap_random(&operand, &two_ints, 1, &call->shared);
    }
    MPI_Op_create(commute ? add_all : chain_all, commute, &op);
    run_reduction(call, counts, scatters ? total : base, commute, op);
    MPI_Op_free(&op);
    typemap_free(&operand);
}

/* --- what goes on meanwhile --------------------------------------------------------------------------------------- */

struct pending {
    MPI_Request requests[3]; /* a collective, a receive, a send */
    int mine, sum, number, arrived;
};

static void begin_others(const struct call *call, struct pending *pending)
{
    pending->mine = call->rank + 1;
    pending->sum = pending->arrived = -1;
    pending->number = call->rank == call->size - 1 ? 4711 : -1;
    pending->requests[0] = pending->requests[1] = pending->requests[2] = MPI_REQUEST_NULL;
    switch (call->seed % 4) {
    case 0:
        MPI_Iallreduce(&pending->mine, &pending->sum, 1, MPI_INT, MPI_SUM, call->comm, &pending->requests[0]);
        break;
    case 1:
        MPI_Ibcast(&pending->number, 1, MPI_INT, call->size - 1, call->comm, &pending->requests[0]);
        break;
    case 2: /* from any rank it could catch the messages by which Open MPI makes communicators */
        MPI_Irecv(&pending->arrived, 1, MPI_INT, (call->rank + call->size - 1) % call->size, MPI_ANY_TAG, call->comm,
                  &pending->requests[1]);
        break;
    default:
        break;
    }
    if (toss(&((struct random){random_mix(call->seed, (uint64_t)call->rank)}), 40)) {
        usleep(500);
    }
}

static void end_others(const struct call *call, struct pending *pending)
{
    const int size = call->size;
    if (call->seed % 4 == 2) {
        MPI_Isend(&pending->mine, 1, MPI_INT, (call->rank + 1) % size, 9, call->comm, &pending->requests[2]);
    }
    MPI_Waitall(3, pending->requests, MPI_STATUSES_IGNORE);
    check_that(call->seed % 4 != 0 || pending->sum == size * (size + 1) / 2, "pending iallreduce: %d", pending->sum);
    check_that(call->seed % 4 != 1 || pending->number == 4711, "pending ibcast: %d", pending->number);
    check_that(call->seed % 4 != 2 || pending->arrived == (call->rank + size - 1) % size + 1, "pending message: %d",
               pending->arrived);
}

/* --- programs ----------------------------------------------------------------------------------------------------- */

static void make_call(struct random *random)
{
    struct call call;
    struct pending pending;
    const int slot = pick_slot(random);
    const uint32_t root = random_below(random, 1 << 16);
    const bool in_place = toss(random, 3);
    bool rooted;
    call.collective = (enum collective)random_below(random, NUM_COLLECTIVES);
    call.seed = random_next(random);
    call.comm = comm_in(slot);
    if (call.comm == MPI_COMM_NULL) {
        return;
    }
    MPI_Comm_rank(call.comm, &call.rank);
    MPI_Comm_size(call.comm, &call.size);
    call.root = (int)(root % (uint32_t)call.size);
    call.shared.state = call.seed;
    call.own.state = random_mix(call.seed, (uint64_t)call.rank + 1);
    rooted = call.collective == GATHER || call.collective == SCATTER || call.collective == REDUCE;
    call.in_place = in_place && call.collective != BCAST && (!rooted || call.rank == call.root);
    begin_others(&call, &pending);
    if (call.collective == BARRIER) {
        check_case("program %llu: barrier on %d ranks", (unsigned long long)program, call.size);
        check_that(MPI_Barrier(call.comm) == MPI_SUCCESS, "returned an error");
    } else if (call.collective < BARRIER) {
        call_movement(&call, in_place);
    } else {
        call_reduction(&call, in_place);
    }
    end_others(&call, &pending);
}

static void run_program(int num_calls)
{
    struct random random = {random_mix(program, 42)};
    const bool tidy = program % 7 != 0; /* others leave their communicators to MPI_Finalize */
    for (int i = 0; i < num_calls; i++) {
        if (toss(&random, 8)) {
            make_comm(&random);
        } else {
            make_call(&random);
        }
    }
    for (int slot = 0; slot < NUM_SLOTS; slot++) {
        if (used[slot] && tidy) {
            free_slot(slot);
        }
        used[slot] = false;
    }
}

/* MPI_Finalize deletes the attributes of MPI_COMM_SELF first, when everything must still work. */
static int call_at_the_end(MPI_Comm comm, int key, void *value, void *state)
{
    int one = 1, sum = 0, size;
    (void)comm;
    (void)key;
    (void)value;
    (void)state;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    if (sum != size) {
        fprintf(stderr, "WRONG sum %d of %d ranks in MPI_Finalize\n", sum, size);
        _exit(1);
    }
    return MPI_SUCCESS;
}

int main(int argc, char **argv)
{
    uint64_t seed = 20240601;
    int number = 10, num_calls = 30, rank, key;
    check_init(&argc, &argv, "programs");
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--number") == 0) {
            number = atoi(argv[i + 1]);
        } else if (strcmp(argv[i], "--calls") == 0) {
            num_calls = atoi(argv[i + 1]);
        } else if (strcmp(argv[i], "--seed") == 0) {
            seed = strtoull(argv[i + 1], NULL, 0);
        }
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        printf("programs: seeds %llu to %llu\n", (unsigned long long)seed,
               (unsigned long long)(seed + (uint64_t)number - 1));
    }
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, call_at_the_end, &key, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL);
    for (int i = 0; i < number; i++) {
        program = seed + (uint64_t)i;
        run_program(num_calls);
    }
    return check_finalize();
}
