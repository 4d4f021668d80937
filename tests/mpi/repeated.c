/* Calls whose buffers and arrays stay where they are, while roots, counts, displacements and datatypes in the arrays
 * change from time to time: what a call before has prepared must not be taken for the next one. */
#include <stdlib.h>
#include <string.h>

#include "check.h"

#define SEED 11
#define ROUNDS 150
#define MOST_ELEMENTS 3
#define SLOT_BYTES 32 /* of a block: MOST_ELEMENTS of the largest datatype, and a gap */
#define UNTOUCHED 0xee
#define PAIR_BYTES 1000

/* One side of a call, with blocks for these peers. */
struct side {
    int num_blocks;
    const int *peers;
    int *counts, *displs; /* as v-calls have them: elements */
    int *byte_displs;
    MPI_Aint *places;
    MPI_Datatype *types;
    unsigned char *memory, *expected;
};

static int rank, size;

/* --- what is exchanged: known to all ------------------------------------------------------------------------------ */

/* How often the arrays have changed, and what they hold since. */
static int phase;

static uint64_t choice(int what, int source, int target)
{
    return random_mix(random_mix(SEED, (uint64_t)(phase * 8 + what)), (uint64_t)(source * 100 + target));
}

static int count_of(int source, int target)
{
    return (int)(choice(0, source, target) % (MOST_ELEMENTS + 1));
}

static MPI_Datatype type_of(int source, int target, bool has_types)
{
    return has_types && choice(1, source, target) % 2 == 0 ? MPI_LONG_LONG : MPI_SHORT;
}

static unsigned char byte_of(int round, int source, int target, int i)
{
    return (unsigned char)random_mix((uint64_t)(round * 64 + i), (uint64_t)(source * 100 + target));
}

/* --- sides -------------------------------------------------------------------------------------------------------- */

static struct side make_side(int num_blocks, const int *peers)
{
    size_t blocks = (size_t)num_blocks + 1;
    return (struct side){
        .num_blocks = num_blocks,
        .peers = peers,
        .counts = calloc(blocks, sizeof(int)),
        .displs = calloc(blocks, sizeof(int)),
        .byte_displs = calloc(blocks, sizeof(int)),
        .places = calloc(blocks, sizeof(MPI_Aint)),
        .types = calloc(blocks, sizeof(MPI_Datatype)),
        .memory = malloc(blocks * SLOT_BYTES),
        .expected = malloc(blocks * SLOT_BYTES),
    };
}

static void free_side(struct side *side)
{
    free(side->counts);
    free(side->displs);
    free(side->byte_displs);
    free(side->places);
    free(side->types);
    free(side->memory);
    free(side->expected);
}

/* Lays the blocks of this phase into the arrays, and the bytes of this round into them or into what is expected. all:
 * every peer sends the same block to all. */
static void fill(struct side *side, int round, bool sends, bool all, bool has_types)
{
    int shift = (int)(choice(2, rank, sends) % (uint64_t)(side->num_blocks + 1));
    memset(side->memory, UNTOUCHED, (size_t)(side->num_blocks + 1) * SLOT_BYTES);
    memset(side->expected, UNTOUCHED, (size_t)(side->num_blocks + 1) * SLOT_BYTES);
    for (int i = 0; i < side->num_blocks; i++) {
        int peer = side->peers[i], source = sends ? rank : peer, target = all ? 0 : sends ? peer : rank;
        int place = (i + shift) % (side->num_blocks + 1) * SLOT_BYTES, bytes;
        bool is_nowhere = peer == MPI_PROC_NULL;
        MPI_Datatype type = is_nowhere ? MPI_SHORT : type_of(source, target, has_types);
        MPI_Type_size(type, &bytes);
        side->counts[i] = is_nowhere ? 1 : count_of(source, target);
        side->displs[i] = place / (int)sizeof(short);
        side->byte_displs[i] = place;
        side->places[i] = place;
        side->types[i] = type;
        for (int j = 0; j < side->counts[i] * bytes && !is_nowhere; j++) {
            (sends ? side->memory : side->expected)[place + j] = byte_of(round, source, target, j);
        }
    }
}

/* --- calls -------------------------------------------------------------------------------------------------------- */

static void call_gatherv(struct side *sent, struct side *got, int root, MPI_Comm comm)
{
    MPI_Gatherv(sent->memory + sent->byte_displs[0], sent->counts[0], MPI_SHORT, got->memory, got->counts, got->displs,
                MPI_SHORT, root, comm);
}

static void call_scatterv(struct side *sent, struct side *got, int root, MPI_Comm comm)
{
    MPI_Scatterv(sent->memory, sent->counts, sent->displs, MPI_SHORT, got->memory + got->byte_displs[root],
                 got->counts[root], MPI_SHORT, root, comm);
}

static void call_allgatherv(struct side *sent, struct side *got, int root, MPI_Comm comm)
{
    (void)root;
    MPI_Allgatherv(sent->memory + sent->byte_displs[0], sent->counts[0], MPI_SHORT, got->memory, got->counts,
                   got->displs, MPI_SHORT, comm);
}

static void call_alltoallv(struct side *sent, struct side *got, int root, MPI_Comm comm)
{
    (void)root;
    MPI_Alltoallv(sent->memory, sent->counts, sent->displs, MPI_SHORT, got->memory, got->counts, got->displs, MPI_SHORT,
                  comm);
}

static void call_alltoallw(struct side *sent, struct side *got, int root, MPI_Comm comm)
{
    (void)root;
    MPI_Alltoallw(sent->memory, sent->counts, sent->byte_displs, sent->types, got->memory, got->counts,
                  got->byte_displs, got->types, comm);
}

static void call_neighbor_alltoallv(struct side *sent, struct side *got, int root, MPI_Comm comm)
{
    (void)root;
    MPI_Neighbor_alltoallv(sent->memory, sent->counts, sent->displs, MPI_SHORT, got->memory, got->counts, got->displs,
                           MPI_SHORT, comm);
}

static void call_neighbor_alltoallw(struct side *sent, struct side *got, int root, MPI_Comm comm)
{
    (void)root;
    MPI_Neighbor_alltoallw(sent->memory, sent->counts, sent->places, sent->types, got->memory, got->counts, got->places,
                           got->types, comm);
}

static const struct call {
    const char *name;
    void (*make)(struct side *sent, struct side *got, int root, MPI_Comm comm);
    bool all; /* each rank has one block, for everybody */
    bool has_types;
    bool from_root, to_root;
    bool among_neighbors;
} calls[] = {
    {"gatherv", call_gatherv, .all = true, .to_root = true},
    {"scatterv", call_scatterv, .from_root = true},
    {"allgatherv", call_allgatherv, .all = true},
    {"alltoallv", call_alltoallv, .all = false},
    {"alltoallw", call_alltoallw, .has_types = true},
    {"neighbor_alltoallv", call_neighbor_alltoallv, .among_neighbors = true},
    {"neighbor_alltoallw", call_neighbor_alltoallw, .has_types = true, .among_neighbors = true},
};

/* What of the expected bytes comes: with a root only its part. */
static void expect(const struct call *call, struct side *got, int root)
{
    for (int i = 0; i < got->num_blocks; i++) {
        if ((call->from_root && i != root) || (call->to_root && rank != root)) {
            memset(got->expected + got->byte_displs[i], UNTOUCHED, SLOT_BYTES);
        }
    }
}

static void repeat(const struct call *call, struct side *sent, struct side *got, MPI_Comm comm)
{
    for (int round = 0; round < ROUNDS; round++) {
        phase += random_mix(SEED, (uint64_t)round) % 3 == 0;
        int root = phase % size;
        check_case("%s, round %d, phase %d", call->name, round, phase);
        fill(sent, round, true, call->all, call->has_types);
        fill(got, round, false, call->all, call->has_types);
        expect(call, got, root);
        call->make(sent, got, root, comm);
        check_that(memcmp(got->memory, got->expected, (size_t)(got->num_blocks + 1) * SLOT_BYTES) == 0,
                   "what has arrived is not what was sent");
    }
}

/* Rank 0 and another one in turn exchange blocks as neighbours, from the same buffers on communicators that look alike:
 * how large a message may be depends on who the other one is. */
static void exchange_in_pairs(void)
{
    static unsigned char sent[2 * PAIR_BYTES], got[2 * PAIR_BYTES];
    for (int round = 0; round < 2 * (size - 1); round++) {
        int other = round % (size - 1) + 1, two = 2, periodic = 0;
        MPI_Comm pair, line;
        MPI_Comm_split(MPI_COMM_WORLD, rank == 0 || rank == other ? 0 : MPI_UNDEFINED, rank, &pair);
        if (pair == MPI_COMM_NULL) {
            continue;
        }
        check_case("ranks 0 and %d as neighbours, round %d", other, round);
        MPI_Cart_create(pair, 1, &two, &periodic, 0, &line);
        memset(sent, round * 16 + rank, sizeof sent);
        memset(got, UNTOUCHED, sizeof got);
        MPI_Neighbor_alltoall(sent, PAIR_BYTES, MPI_BYTE, got, PAIR_BYTES, MPI_BYTE, line);
        int wrong = 0, mine = rank == 0 ? PAIR_BYTES : 0; /* where what the other one has sent belongs */
        for (int i = 0; i < 2 * PAIR_BYTES; i++) {
            bool is_there = i >= mine && i < mine + PAIR_BYTES;
            wrong += got[i] != (is_there ? round * 16 + (rank == 0 ? other : 0) : UNTOUCHED);
        }
        check_that(wrong == 0, "%d wrong bytes", wrong);
        MPI_Comm_free(&line);
        MPI_Comm_free(&pair);
    }
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv, "repeated");
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm line;
    int periodic = 0, *peers = malloc((size_t)size * sizeof(int)), neighbors[2];
    MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periodic, 0, &line);
    MPI_Cart_shift(line, 0, 1, &neighbors[0], &neighbors[1]);
    for (int i = 0; i < size; i++) {
        peers[i] = i;
    }
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        bool near = calls[i].among_neighbors;
        struct side sent = make_side(near ? 2 : size, near ? neighbors : peers);
        struct side got = make_side(near ? 2 : size, near ? neighbors : peers);
        repeat(&calls[i], &sent, &got, near ? line : MPI_COMM_WORLD);
        free_side(&sent);
        free_side(&got);
    }
    MPI_Comm_free(&line);
    free(peers);
    exchange_in_pairs();
    return check_finalize();
}
