/* Aggregated greedy for small messages: an event loop in the LogGP model in which every free sender picks the
 * receiver that gains most new blocks per time, all in one message; or waits for its next arrival if a larger
 * message after it is worth more. Without bytes it finds Bruck's rounds and the LogP-optimal broadcast tree (Karp et
 * al., 1993), also where the number of ranks is no power of two and where distances differ; with large blocks it
 * turns into a spread. */
#include <stdlib.h>

#include "algorithms/events.h"
#include "algorithms/portfolio.h"
#include "base/array.h"
#include "base/bitset.h"
#include "base/error.h"

__extension__ typedef __int128 wide; /* products of a time and a count */

/* A message on its way. Its blocks are sets[index * words ..]. */
struct flight {
    int64_t arrival_ps;
    uint32_t step;
    uint32_t next; /* on its way to the same rank */
};

struct greedy {
    struct pccl__writer *writer;
    const struct pccl__problem *problem;
    uint32_t num_ranks, num_blocks;
    size_t words;
    int64_t block_bytes;
    uint64_t *have;    /* [ranks * words] what each rank holds now */
    uint64_t *claimed; /* the same, with what is on its way to it */
    uint64_t *outlook; /* [words] what a sender will hold after its next arrival */
    int64_t *cpu_ps;   /* [ranks] when the rank may next begin to send or receive */
    int64_t *free_ps;  /* [capacities] */
    uint32_t *pending; /* [ranks] first flight, PCCL_NONE */
    uint32_t *after_step; /* [ranks] the step a message must exceed to carry all that the rank holds */
    uint32_t *chunks;
    struct flight *flights;
    uint32_t num_flights, flights_capacity;
    uint64_t *sets;
    uint32_t sets_capacity;
    uint64_t missing; /* pairs of a rank and a block that nobody has sent there */
    uint32_t step;
    int64_t step_ps; /* time of the decisions of this step */
    struct pccl__events events;
};

/* A message that could be sent. */
struct offer {
    uint32_t to; /* PCCL_NONE: nothing to offer */
    uint32_t gain;
    int64_t finish_ps;
};

static uint32_t count_gain(const struct greedy *greedy, const uint64_t *have, uint32_t to)
{
    const uint64_t *claimed = greedy->claimed + to * greedy->words;
    uint32_t gain = 0;
    for (size_t w = 0; w < greedy->words; w++) {
        gain += (uint32_t)__builtin_popcountll(have[w] & ~claimed[w]);
    }
    return gain;
}

static const struct pccl_vertex *vertex_of(const struct greedy *greedy, uint32_t rank)
{
    return &greedy->problem->topology->vertices[greedy->problem->request->devices[rank]];
}

/* When a message that is begun at `now` finishes; hold = true occupies what it needs, the receiver's CPU excepted,
 * which may do other things until then. */
static int64_t send_ps(struct greedy *greedy, const struct pccl__route *route, uint32_t from, uint32_t to, int64_t now,
                       int64_t bytes, bool hold)
{
    const struct pccl_link *links = greedy->problem->topology->links;
    const uint32_t *route_links = pccl__route_links(greedy->problem, route);
    int64_t begin = now > greedy->cpu_ps[from] ? now : greedy->cpu_ps[from];
    int64_t start = begin + vertex_of(greedy, from)->send_overhead_ps, latency = 0;
    for (uint32_t i = 0; i < route->num_links; i++) {
        int64_t free_ps = greedy->free_ps[links[route_links[i]].capacity] - latency;
        start = free_ps > start ? free_ps : start;
        latency += links[route_links[i]].latency_ps;
    }
    int64_t arrival = start + latency + pccl_transfer_ps(bytes, route->ps_per_mib);
    int64_t finish = (arrival > greedy->cpu_ps[to] ? arrival : greedy->cpu_ps[to]) +
                     vertex_of(greedy, to)->receive_overhead_ps;
    if (hold) {
        latency = 0;
        for (uint32_t i = 0; i < route->num_links; i++) {
            const struct pccl_link *link = &links[route_links[i]];
            greedy->free_ps[link->capacity] = start + latency + pccl_transfer_ps(bytes, link->ps_per_mib);
            latency += link->latency_ps;
        }
        greedy->cpu_ps[from] = begin + vertex_of(greedy, from)->send_overhead_ps;
    }
    return finish;
}

/* Whether a gains more per time since `now` than b. */
static bool is_better(const struct offer *a, const struct offer *b, int64_t now)
{
    if (a->to == PCCL_NONE || b->to == PCCL_NONE) {
        return a->to != PCCL_NONE;
    }
    wide left = (wide)a->gain * (b->finish_ps - now), right = (wide)b->gain * (a->finish_ps - now);
    return left != right ? left > right : a->finish_ps < b->finish_ps;
}

/* The best message that `from` could begin at `at` if it held `have`; ties go to the nearest rank above it. */
static struct offer find_offer(struct greedy *greedy, uint32_t from, const uint64_t *have, int64_t at, int64_t now)
{
    struct offer best = {.to = PCCL_NONE};
    for (uint32_t offset = 1; offset < greedy->num_ranks; offset++) {
        uint32_t to = from + offset < greedy->num_ranks ? from + offset : from + offset - greedy->num_ranks;
        struct offer offer = {.to = to, .gain = count_gain(greedy, have, to)};
        const struct pccl__route *route = offer.gain > 0 ? pccl__route(greedy->problem, from, to) : NULL;
        if (route == NULL) {
            continue;
        }
        /* No later look is needed if it is too late even without bytes and on an idle network. */
        offer.finish_ps = at + vertex_of(greedy, from)->send_overhead_ps + route->latency_ps;
        if (!is_better(&offer, &best, now)) {
            continue;
        }
        offer.finish_ps = send_ps(greedy, route, from, to, at, offer.gain * greedy->block_bytes, false);
        if (is_better(&offer, &best, now)) {
            best = offer;
        }
    }
    return best;
}

/* Takes in what has arrived at `rank` by `now`; returns the earliest time of the rest, or -1, and fills the outlook. */
static int64_t receive(struct greedy *greedy, uint32_t rank, int64_t now)
{
    uint64_t *have = greedy->have + rank * greedy->words;
    int64_t next_ps = -1;
    uint32_t next_flight = PCCL_NONE;
    for (uint32_t *link = &greedy->pending[rank]; *link != PCCL_NONE;) {
        struct flight *flight = &greedy->flights[*link];
        if (flight->arrival_ps > now) {
            if (next_ps < 0 || flight->arrival_ps < next_ps) {
                next_ps = flight->arrival_ps;
                next_flight = *link;
            }
            link = &flight->next;
            continue;
        }
        for (size_t w = 0; w < greedy->words; w++) {
            have[w] |= greedy->sets[*link * greedy->words + w];
        }
        int64_t overhead = vertex_of(greedy, rank)->receive_overhead_ps, arrival = flight->arrival_ps - overhead;
        greedy->cpu_ps[rank] = (greedy->cpu_ps[rank] > arrival ? greedy->cpu_ps[rank] : arrival) + overhead;
        if (flight->step > greedy->after_step[rank]) {
            greedy->after_step[rank] = flight->step;
        }
        *link = flight->next;
    }
    for (size_t w = 0; w < greedy->words && next_flight != PCCL_NONE; w++) {
        greedy->outlook[w] = have[w] | greedy->sets[next_flight * greedy->words + w];
    }
    return next_ps;
}

/* Room for one more flight; its number or PCCL_NONE. */
static uint32_t new_flight(struct greedy *greedy)
{
    struct flight *flights = pccl__array_grow(greedy->flights, &greedy->flights_capacity,
                                              (uint64_t)greedy->num_flights + 1, sizeof *flights);
    if (flights == NULL) {
        return PCCL_NONE;
    }
    greedy->flights = flights;
    uint64_t *sets = pccl__array_grow(greedy->sets, &greedy->sets_capacity,
                                      ((uint64_t)greedy->num_flights + 1) * greedy->words, sizeof *sets);
    if (sets == NULL) {
        return PCCL_NONE;
    }
    greedy->sets = sets;
    return greedy->num_flights++;
}

/* Writes the message and remembers it as pending. */
static int commit(struct greedy *greedy, uint32_t from, const struct offer *offer, int64_t now)
{
    uint32_t number = new_flight(greedy), count = 0;
    if (number == PCCL_NONE) {
        return PCCL_ERR_MEMORY;
    }
    const uint64_t *have = greedy->have + from * greedy->words;
    uint64_t *claimed = greedy->claimed + offer->to * greedy->words, *set = greedy->sets + number * greedy->words;
    for (size_t w = 0; w < greedy->words; w++) {
        set[w] = have[w] & ~claimed[w];
        claimed[w] |= set[w];
    }
    uint32_t pieces = greedy->writer->pieces;
    for (uint32_t block = pccl__bitset_next(set, greedy->words, 0); block != UINT32_MAX;
         block = pccl__bitset_next(set, greedy->words, block + 1)) {
        for (uint32_t piece = 0; piece < pieces; piece++) {
            greedy->chunks[count++] = block * pieces + piece;
        }
    }
    greedy->step += now > greedy->step_ps;
    greedy->step_ps = now;
    if (greedy->step <= greedy->after_step[from]) {
        greedy->step = greedy->after_step[from] + 1;
    }
    greedy->missing -= offer->gain;
    const struct pccl__route *route = pccl__route(greedy->problem, from, offer->to);
    int64_t arrival = send_ps(greedy, route, from, offer->to, now, offer->gain * greedy->block_bytes, true);
    greedy->flights[number] = (struct flight){.arrival_ps = arrival, .step = greedy->step,
                                              .next = greedy->pending[offer->to]};
    greedy->pending[offer->to] = number;
    pccl__writer_send(greedy->writer, greedy->step, from, offer->to, greedy->chunks, count);
    int status = pccl__events_push(&greedy->events, arrival, offer->to, 0);
    return status != 0 ? status : pccl__events_push(&greedy->events, greedy->cpu_ps[from], from, 0);
}

/* One rank decides. */
static int decide(struct greedy *greedy, uint32_t rank, int64_t now)
{
    int64_t next_ps = receive(greedy, rank, now);
    if (greedy->cpu_ps[rank] > now) {
        return pccl__events_push(&greedy->events, greedy->cpu_ps[rank], rank, 0);
    }
    struct offer offer = find_offer(greedy, rank, greedy->have + rank * greedy->words, now, now);
    if (offer.to == PCCL_NONE) {
        return 0;
    }
    if (next_ps >= 0) {
        struct offer later = find_offer(greedy, rank, greedy->outlook, next_ps, now);
        if (is_better(&later, &offer, now)) {
            return 0;
        }
    }
    return commit(greedy, rank, &offer, now);
}

static int run(struct greedy *greedy)
{
    int status = 0;
    for (uint32_t rank = 0; rank < greedy->num_ranks && status == 0; rank++) {
        status = pccl__events_push(&greedy->events, 0, rank, 0);
    }
    while (status == 0 && greedy->missing > 0) {
        int64_t now;
        uint32_t first = pccl__events_take(&greedy->events, &now);
        if (first == PCCL_NONE) {
            return PCCL_ERR_UNREACHABLE;
        }
        for (uint32_t event = first; event != PCCL_NONE && status == 0; event = greedy->events.events[event].next) {
            status = decide(greedy, greedy->events.events[event].subject, now);
        }
        pccl__events_release(&greedy->events, first);
    }
    return status;
}

static int allocate(struct greedy *greedy)
{
    size_t n = greedy->num_ranks, sets = n * greedy->words;
    greedy->have = pccl__array_new(2 * sets + greedy->words, sizeof *greedy->have);
    greedy->cpu_ps = pccl__array_new(n + greedy->problem->topology->num_capacities, sizeof *greedy->cpu_ps);
    greedy->pending = pccl__array_new(2 * n + (size_t)greedy->num_blocks * greedy->writer->pieces,
                                      sizeof *greedy->pending);
    if (greedy->have == NULL || greedy->cpu_ps == NULL || greedy->pending == NULL) {
        return PCCL_ERR_MEMORY;
    }
    greedy->claimed = greedy->have + sets;
    greedy->outlook = greedy->claimed + sets;
    greedy->free_ps = greedy->cpu_ps + n;
    greedy->after_step = greedy->pending + n;
    greedy->chunks = greedy->after_step + n;
    for (uint32_t rank = 0; rank < n; rank++) {
        greedy->pending[rank] = PCCL_NONE;
    }
    return 0;
}

/* All-gather of the blocks of all ranks, or, with one block, a broadcast from the root. */
static void write_greedy(struct pccl__writer *writer, uint32_t num_blocks)
{
    const struct pccl__problem *problem = writer->problem;
    struct greedy greedy = {.writer = writer, .problem = problem, .num_ranks = problem->num_ranks,
                            .num_blocks = num_blocks, .words = pccl__bitset_words(num_blocks)};
    if (writer->status != 0) {
        return;
    }
    const struct pccl_demand *demand = writer->schedule->demand;
    for (uint32_t piece = 0; piece < writer->pieces; piece++) {
        greedy.block_bytes += demand->chunks[piece].bytes;
    }
    int status = allocate(&greedy);
    if (status == 0) {
        for (uint32_t block = 0; block < num_blocks; block++) {
            uint32_t owner = num_blocks > 1 ? block : problem->root;
            pccl__bitset_set(greedy.have + owner * greedy.words, block);
            pccl__bitset_set(greedy.claimed + owner * greedy.words, block);
        }
        greedy.missing = (uint64_t)num_blocks * (greedy.num_ranks - 1);
        status = run(&greedy);
    }
    if (status != 0) {
        pccl__writer_fail(writer, status == PCCL_ERR_UNREACHABLE ? PCCL_ERR_UNSUPPORTED : status,
                          status == PCCL_ERR_UNREACHABLE ? "the ranks are not connected by routes" : "out of memory");
    }
    pccl__events_free(&greedy.events);
    free(greedy.sets);
    free(greedy.flights);
    free(greedy.pending);
    free(greedy.cpu_ps);
    free(greedy.have);
}

static void gather(struct pccl__writer *writer, void *context)
{
    (void)context;
    write_greedy(writer, writer->problem->num_ranks);
}

int pccl__greedy_algorithm(const struct pccl__problem *problem, uint32_t pieces, struct pccl_schedule **schedule,
                           struct pccl_error *error)
{
    return pccl__gatherer_serve(problem, pieces, gather, NULL, schedule, error);
}

/* Broadcast, reduce, and all-reduce as both of the whole vector. */
int pccl__greedy_tree_algorithm(const struct pccl__problem *problem, uint32_t pieces, struct pccl_schedule **schedule,
                                struct pccl_error *error)
{
    struct pccl__writer writer;
    pccl__writer_open(&writer, problem, pieces, pieces, error);
    if (problem->collective != PCCL_BROADCAST) {
        pccl__writer_phase(&writer, PCCL__MIRRORED_REDUCE);
        write_greedy(&writer, 1);
    }
    if (problem->collective != PCCL_REDUCE) {
        pccl__writer_phase(&writer, PCCL__FORWARD);
        write_greedy(&writer, 1);
    }
    return pccl__writer_close(&writer, schedule);
}
