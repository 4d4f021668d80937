#include "samples.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- topology and demands ----------------------------------------------------------------------------------------- */

uint32_t sample_link(uint32_t num_devices, uint32_t source, uint32_t target)
{
    return source * (num_devices - 1) + (target > source ? target - 1 : target);
}

struct pccl_topology *sample_topology(uint32_t num_devices)
{
    struct pccl_topology_builder *builder = pccl_topology_builder_new("all pairs");
    for (uint32_t i = 0; i < num_devices; i++) {
        char name[16];
        snprintf(name, sizeof name, "d%u", i);
        pccl_topology_add_device(builder, name);
    }
    for (uint32_t i = 0; i < num_devices; i++) {
        for (uint32_t j = 0; j < num_devices; j++) {
            if (i != j) {
                pccl_topology_add_link(builder, i, j, 1000000, 1 << 20, PCCL_NONE);
            }
        }
    }
    struct pccl_topology *topology = NULL;
    int status = pccl_topology_finish(builder, &topology, NULL);
    assert(status == 0);
    (void)status;
    return topology;
}

struct pccl_demand *sample_demand(enum pccl_collective collective, uint32_t num_ranks, uint32_t pieces, int64_t bytes,
                                  bool ordered, bool uneven)
{
    uint32_t devices[64];
    int64_t blocks[64 * 64];
    assert(num_ranks <= 64);
    for (uint32_t i = 0; i < num_ranks; i++) {
        devices[i] = num_ranks - 1 - i;
    }
    for (uint32_t i = 0; i < num_ranks * num_ranks; i++) {
        blocks[i] = bytes * (i * 7 % 5) / 2;
    }
    bool one_block = collective == PCCL_BROADCAST || collective == PCCL_REDUCE || collective == PCCL_ALLREDUCE ||
                     collective == PCCL_SCAN || collective == PCCL_EXSCAN || collective == PCCL_BARRIER;
    struct pccl_request request = {
        .collective = collective,
        .num_ranks = num_ranks,
        .devices = devices,
        .bytes = bytes,
        .ordered = ordered,
        .root = pccl_collective_is_rooted(collective) ? num_ranks / 3 : 0,
        .block_bytes = uneven && !one_block ? blocks : NULL,
    };
    struct pccl_demand *demand = NULL;
    int status = pccl_demand_create(&request, pieces, &demand, NULL);
    assert(status == 0);
    (void)status;
    return demand;
}

static uint32_t random_subset(struct pccl__random *random, uint32_t num_ranks, uint32_t *holders)
{
    uint32_t count = 0;
    while (count == 0) {
        for (uint32_t i = 0; i < num_ranks; i++) {
            if (pccl__random_below(random, 3) == 0) {
                holders[count++] = i;
            }
        }
    }
    return count;
}

struct pccl_demand *sample_custom_demand(uint32_t num_ranks, bool reduces, bool ordered, struct pccl__random *random)
{
    enum { CHUNKS = 9 };
    uint32_t devices[64], holders[CHUNKS * 128], used = 0;
    struct pccl_chunk chunks[CHUNKS];
    for (uint32_t i = 0; i < num_ranks; i++) {
        devices[i] = i;
    }
    for (uint32_t i = 0; i < CHUNKS; i++) {
        chunks[i].bytes = pccl__random_below(random, 40);
        chunks[i].first_source = used;
        chunks[i].num_sources = random_subset(random, num_ranks, holders + used);
        used += chunks[i].num_sources;
        chunks[i].first_target = used;
        chunks[i].num_targets = random_subset(random, num_ranks, holders + used);
        used += chunks[i].num_targets;
    }
    struct pccl_demand pattern = {.num_ranks = num_ranks,
                                  .reduces = reduces,
                                  .ordered = ordered,
                                  .num_chunks = CHUNKS,
                                  .chunks = chunks,
                                  .num_holders = used,
                                  .holders = holders};
    struct pccl_request request = {
        .collective = PCCL_CUSTOM, .num_ranks = num_ranks, .devices = devices, .custom = &pattern};
    struct pccl_demand *demand = NULL;
    int status = pccl_demand_create(&request, 1 + pccl__random_below(random, 3), &demand, NULL);
    assert(status == 0);
    (void)status;
    return demand;
}

/* --- textbook schedules ------------------------------------------------------------------------------------------- */

struct writer {
    struct pccl_schedule *schedule;
    const struct pccl_topology *topology;
    uint32_t num_ranks, pieces;
};

static struct writer open_writer(const struct pccl_topology *topology, struct pccl_demand *demand, const char *method)
{
    struct writer writer = {.topology = topology, .num_ranks = demand->num_ranks, .pieces = demand->pieces};
    int status = pccl_schedule_create(demand, topology, method, &writer.schedule, NULL);
    assert(status == 0);
    (void)status;
    return writer;
}

static void send_chunks(struct writer *writer, uint32_t step, uint32_t from, uint32_t to, bool reduce,
                        const uint32_t *chunks, uint32_t count)
{
    const uint32_t *devices = writer->schedule->demand->devices;
    uint32_t link = sample_link(writer->topology->num_devices, devices[from], devices[to]);
    uint32_t path = pccl_schedule_path(writer->schedule, writer->topology, &link, 1);
    assert(path != PCCL_NONE);
    int status = pccl_schedule_add(writer->schedule, step, path, reduce, chunks, count);
    assert(status == 0);
    (void)status;
}

/* All pieces of `count` blocks from `first` on, wrapping round at num_ranks, in one message. */
static void send_blocks(struct writer *writer, uint32_t step, uint32_t from, uint32_t to, bool reduce, uint32_t first,
                        uint32_t count)
{
    uint32_t chunks[64 * 64], used = 0;
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t p = 0; p < writer->pieces; p++) {
            chunks[used++] = (first + i) % writer->num_ranks * writer->pieces + p;
        }
    }
    send_chunks(writer, step, from, to, reduce, chunks, used);
}

static void ring_phase(struct writer *writer, uint32_t first_step, bool reduce, uint32_t shift, uint32_t pieces)
{
    uint32_t n = writer->num_ranks;
    for (uint32_t step = 0; step + 1 < n; step++) {
        for (uint32_t rank = 0; rank < n; rank++) {
            uint32_t block = (rank + 2 * n - step - shift) % n;
            for (uint32_t p = 0; p < pieces; p++) {
                uint32_t chunk = block * pieces + p;
                send_chunks(writer, first_step + step, rank, (rank + 1) % n, reduce, &chunk, 1);
            }
        }
    }
}

static void bruck_allgather(struct writer *writer)
{
    uint32_t n = writer->num_ranks, step = 0;
    for (uint32_t distance = 1; distance < n; distance *= 2, step++) {
        for (uint32_t rank = 0; rank < n; rank++) {
            uint32_t count = distance < n - distance ? distance : n - distance;
            send_blocks(writer, step, rank, (rank + n - distance) % n, false, rank, count);
        }
    }
}

static void alltoall(struct writer *writer, bool ring)
{
    uint32_t n = writer->num_ranks;
    for (uint32_t distance = 1; distance < n; distance++) {
        for (uint32_t rank = 0; rank < n; rank++) {
            uint32_t to = (rank + distance) % n;
            for (uint32_t p = 0; p < writer->pieces; p++) {
                uint32_t chunk = (rank * n + to) * writer->pieces + p;
                for (uint32_t hop = 0; ring && hop < distance; hop++) {
                    send_chunks(writer, distance + hop, (rank + hop) % n, (rank + hop + 1) % n, false, &chunk, 1);
                }
                if (!ring) {
                    send_chunks(writer, distance, rank, to, false, &chunk, 1);
                }
            }
        }
    }
}

/* Broadcast of all chunks, scatter of the subtree's blocks, or (mirrored) reduce; ranks relative to the root. */
static void binomial(struct writer *writer, enum sample_kind kind)
{
    uint32_t n = writer->num_ranks, root = writer->schedule->demand->root, top = 1;
    uint32_t step = kind == SAMPLE_BINOMIAL_REDUCE ? 40 : 0;
    while (top < n) {
        top *= 2;
    }
    for (uint32_t half = top / 2; half > 0; half /= 2) {
        for (uint32_t rank = 0; rank + half < n; rank += 2 * half) {
            uint32_t parent = (rank + root) % n, child = (rank + half + root) % n;
            uint32_t subtree = half < n - rank - half ? half : n - rank - half;
            if (kind == SAMPLE_BINOMIAL_SCATTER) {
                send_blocks(writer, step, parent, child, false, child, subtree);
            } else if (kind == SAMPLE_BINOMIAL_BROADCAST) {
                send_blocks(writer, step, parent, child, false, 0, 1);
            } else {
                send_blocks(writer, step, rank + half, rank, true, 0, 1);
            }
        }
        step += kind == SAMPLE_BINOMIAL_REDUCE ? -1u : 1u;
    }
    if (kind == SAMPLE_BINOMIAL_REDUCE && root != 0) {
        send_blocks(writer, 50, 0, root, false, 0, 1); /* combined in rank order at 0, then moved */
    }
}

static void chain_broadcast(struct writer *writer)
{
    uint32_t n = writer->num_ranks, root = writer->schedule->demand->root;
    for (uint32_t p = 0; p < writer->pieces; p++) {
        for (uint32_t hop = 0; hop + 1 < n; hop++) {
            send_chunks(writer, p + hop, (root + hop) % n, (root + hop + 1) % n, false, &p, 1);
        }
    }
}

static void linear_gather(struct writer *writer)
{
    uint32_t n = writer->num_ranks, root = writer->schedule->demand->root;
    for (uint32_t rank = 0; rank < n; rank++) {
        if (rank != root) {
            send_blocks(writer, rank % 3, rank, root, false, rank, 1);
        }
    }
}

static void doubling_allreduce(struct writer *writer)
{
    uint32_t step = 0;
    for (uint32_t distance = 1; distance < writer->num_ranks; distance *= 2, step++) {
        for (uint32_t rank = 0; rank < writer->num_ranks; rank++) {
            send_blocks(writer, step, rank, rank ^ distance, true, 0, 1);
        }
    }
}

static void barrier(struct writer *writer, bool star)
{
    uint32_t n = writer->num_ranks, step = 0;
    for (uint32_t rank = 1; rank < n && star; rank++) {
        send_blocks(writer, 0, rank, 0, false, rank, 1);
        send_blocks(writer, 1, 0, rank, false, 0, n);
    }
    for (uint32_t distance = 1; distance < n && !star; distance *= 2, step++) {
        for (uint32_t rank = 0; rank < n; rank++) {
            uint32_t count = distance < n - distance ? distance : n - distance;
            send_blocks(writer, step, rank, (rank + distance) % n, false, (rank + n + 1 - count) % n, count);
        }
    }
}

static void chain_scan(struct writer *writer)
{
    for (uint32_t rank = 1; rank < writer->num_ranks; rank++) {
        for (uint32_t piece = 0; piece < writer->pieces; piece++) {
            send_chunks(writer, rank + piece, rank - 1, rank, true, &piece, 1);
        }
    }
}

static const struct {
    const char *name;
    enum pccl_collective collective;
} kinds[SAMPLE_NUM_KINDS] = {
    [SAMPLE_RING_ALLGATHER] = {"ring allgather", PCCL_ALLGATHER},
    [SAMPLE_BRUCK_ALLGATHER] = {"bruck allgather", PCCL_ALLGATHER},
    [SAMPLE_DIRECT_ALLTOALL] = {"direct alltoall", PCCL_ALLTOALL},
    [SAMPLE_RING_ALLTOALL] = {"ring alltoall", PCCL_ALLTOALL},
    [SAMPLE_BINOMIAL_BROADCAST] = {"binomial broadcast", PCCL_BROADCAST},
    [SAMPLE_CHAIN_BROADCAST] = {"chain broadcast", PCCL_BROADCAST},
    [SAMPLE_BINOMIAL_SCATTER] = {"binomial scatter", PCCL_SCATTER},
    [SAMPLE_LINEAR_GATHER] = {"linear gather", PCCL_GATHER},
    [SAMPLE_BINOMIAL_REDUCE] = {"binomial reduce", PCCL_REDUCE},
    [SAMPLE_RING_REDUCE_SCATTER] = {"ring reduce_scatter", PCCL_REDUCE_SCATTER},
    [SAMPLE_RING_ALLREDUCE] = {"ring allreduce", PCCL_ALLREDUCE},
    [SAMPLE_DOUBLING_ALLREDUCE] = {"doubling allreduce", PCCL_ALLREDUCE},
    [SAMPLE_DISSEMINATION_BARRIER] = {"dissemination barrier", PCCL_BARRIER},
    [SAMPLE_STAR_BARRIER] = {"star barrier", PCCL_BARRIER},
    [SAMPLE_CHAIN_SCAN] = {"chain scan", PCCL_SCAN},
    [SAMPLE_CHAIN_EXSCAN] = {"chain exscan", PCCL_EXSCAN},
};

const char *sample_name(enum sample_kind kind)
{
    return kinds[kind].name;
}

static void write_sample(struct writer *writer, enum sample_kind kind)
{
    switch (kind) {
    case SAMPLE_RING_ALLGATHER:
        ring_phase(writer, 0, false, 0, writer->pieces);
        break;
    case SAMPLE_BRUCK_ALLGATHER:
        bruck_allgather(writer);
        break;
    case SAMPLE_DIRECT_ALLTOALL:
    case SAMPLE_RING_ALLTOALL:
        alltoall(writer, kind == SAMPLE_RING_ALLTOALL);
        break;
    case SAMPLE_CHAIN_BROADCAST:
        chain_broadcast(writer);
        break;
    case SAMPLE_LINEAR_GATHER:
        linear_gather(writer);
        break;
    case SAMPLE_RING_REDUCE_SCATTER:
        ring_phase(writer, 0, true, 1, writer->pieces);
        break;
    case SAMPLE_RING_ALLREDUCE:
        ring_phase(writer, 0, true, 0, 1);
        ring_phase(writer, writer->num_ranks - 1, false, writer->num_ranks - 1, 1);
        break;
    case SAMPLE_DOUBLING_ALLREDUCE:
        doubling_allreduce(writer);
        break;
    case SAMPLE_DISSEMINATION_BARRIER:
    case SAMPLE_STAR_BARRIER:
        barrier(writer, kind == SAMPLE_STAR_BARRIER);
        break;
    case SAMPLE_CHAIN_SCAN:
    case SAMPLE_CHAIN_EXSCAN:
        chain_scan(writer);
        break;
    default:
        binomial(writer, kind);
    }
}

struct pccl_schedule *sample_schedule(const struct pccl_topology *topology, enum sample_kind kind, uint32_t num_ranks,
                                      uint32_t pieces, int64_t bytes, bool ordered, bool uneven)
{
    if ((kind == SAMPLE_DOUBLING_ALLREDUCE && (num_ranks & (num_ranks - 1)) != 0) ||
        (ordered && (kind == SAMPLE_RING_REDUCE_SCATTER || kind == SAMPLE_RING_ALLREDUCE))) {
        return NULL;
    }
    struct pccl_demand *demand = sample_demand(
        kinds[kind].collective, num_ranks, kind == SAMPLE_RING_ALLREDUCE ? num_ranks : pieces, bytes, ordered, uneven);
    struct writer writer = open_writer(topology, demand, kinds[kind].name);
    write_sample(&writer, kind);
    int status = pccl_schedule_seal(writer.schedule);
    assert(status == 0);
    (void)status;
    return writer.schedule;
}

/* --- random schedules --------------------------------------------------------------------------------------------- */

/* State of a random schedule: for each rank and chunk, low and high end of what was combined (in positions among the
 * sources); high = 0: nothing. Plain chunks: 0 .. 1. */
struct state {
    uint32_t low, high;
};

static bool is_target(const struct pccl_demand *demand, uint32_t chunk, uint32_t rank)
{
    return pccl_demand_output_slot(demand, chunk, rank) != PCCL_NONE || demand->collective == PCCL_BARRIER;
}

static bool is_complete(const struct pccl_demand *demand, uint32_t chunk, struct state state)
{
    return state.low == 0 && state.high == (demand->reduces ? demand->chunks[chunk].num_sources : 1);
}

/* Unordered reductions merge sets; here counted only: high = how many contributions. */
static bool can_merge(const struct pccl_demand *demand, struct state sender, struct state receiver)
{
    return sender.high > 0 && receiver.high > 0 &&
           (!demand->ordered || sender.high == receiver.low || receiver.high == sender.low);
}

static struct state merge(const struct pccl_demand *demand, struct state a, struct state b)
{
    if (!demand->ordered) {
        return (struct state){0, a.high + b.high};
    }
    return a.low < b.low ? (struct state){a.low, b.high} : (struct state){b.low, a.high};
}

/* Chunks that may go from one rank to another in this step, a random choice of those that help or do no harm. */
static uint32_t choose_chunks(const struct pccl_demand *demand, const struct state *old, const struct state *new,
                              const uint32_t *busy, uint32_t step, uint32_t from, uint32_t to, bool reduce,
                              struct pccl__random *random, uint32_t *chunks)
{
    uint32_t count = 0, m = demand->num_chunks;
    for (uint32_t c = 0; c < m; c++) {
        struct state sender = old[from * m + c], receiver = new[to * m + c];
        bool allowed;
        if (!demand->reduces) {
            allowed = !reduce && sender.high > 0 && (receiver.high == 0 || pccl__random_below(random, 16) == 0);
        } else if (busy[from * m + c] == step + 1 || busy[to * m + c] == step + 1) {
            allowed = false;
        } else if (is_complete(demand, c, sender)) {
            allowed = !reduce && (!is_complete(demand, c, receiver) || pccl__random_below(random, 16) == 0);
        } else if (receiver.high == 0) {
            allowed = !reduce && sender.high > 0 && pccl__random_below(random, 8) == 0; /* moves a partial result */
        } else {
            allowed = reduce && can_merge(demand, sender, receiver);
        }
        if (allowed && pccl__random_below(random, 3) > 0) {
            chunks[count++] = c;
        }
    }
    return count;
}

static bool all_done(const struct pccl_demand *demand, const struct state *state)
{
    for (uint32_t rank = 0; rank < demand->num_ranks; rank++) {
        for (uint32_t c = 0; c < demand->num_chunks; c++) {
            if (is_target(demand, c, rank) && !is_complete(demand, c, state[rank * demand->num_chunks + c])) {
                return false;
            }
        }
    }
    return true;
}

static void start_state(const struct pccl_demand *demand, struct state *state)
{
    for (uint32_t c = 0; c < demand->num_chunks; c++) {
        for (uint32_t i = 0; i < demand->chunks[c].num_sources; i++) {
            uint32_t rank = demand->holders[demand->chunks[c].first_source + i];
            bool position = demand->reduces && demand->ordered;
            state[rank * demand->num_chunks + c] = (struct state){position ? i : 0, position ? i + 1 : 1};
        }
    }
}

/* Scans: the state of a rank is an interval that ends at it (exscan: before it), low[] where it begins. What joins it
 * is whatever the rank just below has, at random times, so that intervals of all lengths meet. */
static void write_random_scan(struct writer *writer, struct pccl__random *random)
{
    const struct pccl_demand *demand = writer->schedule->demand;
    uint32_t n = demand->num_ranks, m = demand->num_chunks, num_open = (n - 1) * m;
    uint32_t *low = calloc((size_t)n * m * 2, sizeof *low), *chunks = calloc(m, sizeof *chunks);
    assert(low != NULL && chunks != NULL);
    uint32_t *old = low + (size_t)n * m;
    for (uint32_t i = 0; i < n * m; i++) {
        low[i] = i / m;
    }
    for (uint32_t step = 0; num_open > 0; step++) {
        memcpy(old, low, (size_t)n * m * sizeof *low);
        for (uint32_t i = 0; i < 1 + pccl__random_below(random, n); i++) {
            uint32_t to = 1 + pccl__random_below(random, n - 1), first = low[to * m + pccl__random_below(random, m)];
            uint32_t count = 0;
            for (uint32_t c = 0; c < m && first > 0; c++) {
                if (low[to * m + c] == first && pccl__random_below(random, 3) > 0) {
                    low[to * m + c] = old[(first - 1) * m + c];
                    num_open -= low[to * m + c] == 0;
                    chunks[count++] = c;
                }
            }
            if (count > 0) {
                bool reduce = demand->collective == PCCL_SCAN || first < to || pccl__random_below(random, 2) == 0;
                send_chunks(writer, step, first - 1, to, reduce, chunks, count);
            }
        }
    }
    free(low);
    free(chunks);
}

static struct pccl_schedule *seal(struct writer *writer)
{
    int status = pccl_schedule_seal(writer->schedule);
    assert(status == 0);
    (void)status;
    return writer->schedule;
}

struct pccl_schedule *sample_random(const struct pccl_topology *topology, struct pccl_demand *demand,
                                    struct pccl__random *random)
{
    uint32_t n = demand->num_ranks, m = demand->num_chunks;
    struct writer writer = open_writer(topology, demand, "random");
    if (pccl_collective_is_prefix(demand->collective)) {
        write_random_scan(&writer, random);
        return seal(&writer);
    }
    struct state *old = calloc((size_t)n * m, sizeof *old), *new = calloc((size_t)n * m, sizeof *new);
    uint32_t *busy = calloc((size_t)n * m, sizeof *busy), *chunks = calloc(m, sizeof *chunks);
    assert(old != NULL && new != NULL &&busy != NULL &&chunks != NULL);
    start_state(demand, new);
    for (uint32_t step = 0; !all_done(demand, new); step++) {
        memcpy(old, new, (size_t)n * m * sizeof *old);
        for (uint32_t i = 0; i < 1 + pccl__random_below(random, n); i++) {
            uint32_t from = pccl__random_below(random, n), to = (from + 1 + pccl__random_below(random, n - 1)) % n;
            bool reduce = demand->reduces && pccl__random_below(random, 2) == 0;
            uint32_t count = choose_chunks(demand, old, new, busy, step, from, to, reduce, random, chunks);
            for (uint32_t j = 0; j < count; j++) {
                struct state *sender = &new[from * m + chunks[j]], *receiver = &new[to * m + chunks[j]];
                bool complete = is_complete(demand, chunks[j], old[from * m + chunks[j]]);
                *receiver = reduce ? merge(demand, *sender, *receiver) : old[from * m + chunks[j]];
                busy[from * m + chunks[j]] = busy[to * m + chunks[j]] = demand->reduces ? step + 1 : 0;
                if (demand->reduces && !complete) {
                    *sender = (struct state){0, 0}; /* passed on: never to be used again */
                }
            }
            if (count > 0) {
                send_chunks(&writer, step, from, to, reduce, chunks, count);
            }
        }
    }
    free(old);
    free(new);
    free(busy);
    free(chunks);
    return seal(&writer);
}
