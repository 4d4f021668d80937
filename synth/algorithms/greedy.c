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

#define NEGLIGIBLE 64 /* a gain of one part in so many is not searched for */

__extension__ typedef __int128 wide; /* products of a time and a count */

/* A message on its way. Its blocks are sets[index * words ..]. */
struct flight {
    int64_t arrival_ps;
    uint32_t step, from, to;
    uint32_t next; /* on its way to the same rank */
};

struct greedy {
    const struct pccl__problem *problem;
    uint32_t num_ranks, num_blocks, pieces;
    size_t words;
    int64_t block_bytes;
    uint64_t *have;    /* [ranks * words] what each rank holds now */
    uint64_t *claimed; /* the same, with what is on its way to it */
    uint64_t *outlook; /* [words] what a sender will hold after its next arrival */
    int64_t *cpu_ps;   /* [ranks] when the rank may next begin to send or receive */
    int64_t *free_ps;  /* [capacities] */
    uint32_t *pending; /* [ranks] first flight, PCCL_NONE */
    uint32_t *after_step; /* [ranks] the step a message must exceed to carry all that the rank holds */
    struct flight *flights; /* all, in the order decided */
    uint32_t num_flights, flights_capacity;
    uint64_t *sets;
    uint32_t sets_capacity;
    uint64_t missing; /* pairs of a rank and a block that nobody has sent there */
    int64_t least_way_ps;     /* latency of any route and overhead of its receiver */
    int64_t least_block_ps;   /* that a block holds any link */
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
    const struct pccl_endpoints *ends = pccl__route_endpoints(greedy->problem, route);
    int64_t begin = now > greedy->cpu_ps[from] ? now : greedy->cpu_ps[from];
    int64_t start = begin + ends->send_overhead_ps, latency = 0;
    start += bytes > ends->eager_bytes ? ends->rendezvous_ps : 0;
    for (uint32_t i = 0; i < route->num_links; i++) {
        int64_t free_ps = greedy->free_ps[links[route_links[i]].capacity] - latency;
        start = free_ps > start ? free_ps : start;
        latency += links[route_links[i]].latency_ps;
    }
    int64_t arrival = start + latency + pccl_transfer_ps(bytes, route->ps_per_mib);
    int64_t finish = (arrival > greedy->cpu_ps[to] ? arrival : greedy->cpu_ps[to]) + ends->receive_overhead_ps;
    if (hold) {
        latency = 0;
        for (uint32_t i = 0; i < route->num_links; i++) {
            const struct pccl_link *link = &links[route_links[i]];
            greedy->free_ps[link->capacity] = start + latency + pccl_transfer_ps(bytes, link->ps_per_mib);
            latency += link->latency_ps;
        }
        greedy->cpu_ps[from] = begin + ends->send_overhead_ps;
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

/* The gain that a message must exceed to be better than `best` even over the fastest route there could be: a gain g
 * takes at least F + g * T, and g / (F + g * T) is to be more than best's gain per time, by more than a trifle. */
static uint32_t gain_to_beat(const struct greedy *greedy, const struct offer *best, int64_t begin_ps, int64_t now)
{
    wide fixed_ps = begin_ps + greedy->least_way_ps - now;
    wide rest_ps = best->finish_ps - now - (wide)best->gain * greedy->least_block_ps;
    fixed_ps += fixed_ps / NEGLIGIBLE;
    return rest_ps > fixed_ps / 2 ? (uint32_t)(best->gain * fixed_ps / rest_ps) : 0;
}

/* The best message that `from` could begin at `at` if it held `have`; ties go to the nearest rank above it. */
static struct offer find_offer(struct greedy *greedy, uint32_t from, const uint64_t *have, int64_t at, int64_t now)
{
    struct offer best = {.to = PCCL_NONE};
    int64_t begin_ps = at + vertex_of(greedy, from)->send_overhead_ps;
    uint32_t least_gain = 0, n = greedy->num_ranks, all = pccl__bitset_count(have, greedy->words);
    int64_t ideal_ps = begin_ps + greedy->least_way_ps + all * greedy->least_block_ps;
    ideal_ps += (ideal_ps - now) / NEGLIGIBLE;
    for (uint32_t offset = 1; offset < n && !(best.gain == all && best.finish_ps <= ideal_ps); offset++) {
        uint32_t to = from + offset < n ? from + offset : from + offset - n;
        struct offer offer = {.to = to, .gain = count_gain(greedy, have, to)};
        const struct pccl__route *route = offer.gain > least_gain ? pccl__route(greedy->problem, from, to) : NULL;
        if (route == NULL) {
            continue;
        }
        /* No closer look is needed if it is too late even on an idle network. */
        int64_t bytes = offer.gain * greedy->block_bytes;
        offer.finish_ps = begin_ps + route->latency_ps + pccl_transfer_ps(bytes, route->ps_per_mib) +
                          vertex_of(greedy, to)->receive_overhead_ps;
        if (!is_better(&offer, &best, now)) {
            continue;
        }
        offer.finish_ps = send_ps(greedy, route, from, to, at, bytes, false);
        if (is_better(&offer, &best, now)) {
            best = offer;
            least_gain = best.finish_ps > now ? gain_to_beat(greedy, &best, begin_ps, now) : 0;
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

/* Decides for the message and remembers it as pending. */
static int commit(struct greedy *greedy, uint32_t from, const struct offer *offer, int64_t now)
{
    uint32_t number = new_flight(greedy), to = offer->to;
    if (number == PCCL_NONE) {
        return PCCL_ERR_MEMORY;
    }
    const uint64_t *have = greedy->have + from * greedy->words;
    uint64_t *claimed = greedy->claimed + to * greedy->words, *set = greedy->sets + number * greedy->words;
    for (size_t w = 0; w < greedy->words; w++) {
        set[w] = have[w] & ~claimed[w];
        claimed[w] |= set[w];
    }
    greedy->missing -= offer->gain;
    greedy->step += now > greedy->step_ps;
    greedy->step_ps = now;
    if (greedy->step <= greedy->after_step[from]) {
        greedy->step = greedy->after_step[from] + 1;
    }
    const struct pccl__route *route = pccl__route(greedy->problem, from, to);
    int64_t arrival = send_ps(greedy, route, from, to, now, offer->gain * greedy->block_bytes, true);
    greedy->flights[number] = (struct flight){.arrival_ps = arrival, .step = greedy->step, .from = from, .to = to,
                                              .next = greedy->pending[to]};
    greedy->pending[to] = number;
    int status = pccl__events_push(&greedy->events, arrival, to, 0);
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
    greedy->pending = pccl__array_new(2 * n, sizeof *greedy->pending);
    if (greedy->have == NULL || greedy->cpu_ps == NULL || greedy->pending == NULL) {
        return PCCL_ERR_MEMORY;
    }
    greedy->claimed = greedy->have + sets;
    greedy->outlook = greedy->claimed + sets;
    greedy->free_ps = greedy->cpu_ps + n;
    greedy->after_step = greedy->pending + n;
    for (uint32_t rank = 0; rank < n; rank++) {
        greedy->pending[rank] = PCCL_NONE;
    }
    return 0;
}

/* No route is shorter than the shortest link, or two of them if switches carry everything. */
static void find_least(struct greedy *greedy)
{
    const struct pccl_topology *topology = greedy->problem->topology;
    int64_t latency_ps = INT64_MAX / 4, ps_per_mib = INT64_MAX / 4, receive_ps = INT64_MAX / 4;
    bool joined = false;
    for (uint32_t rank = 0; rank < greedy->num_ranks; rank++) {
        int64_t overhead_ps = vertex_of(greedy, rank)->receive_overhead_ps;
        receive_ps = overhead_ps < receive_ps ? overhead_ps : receive_ps;
    }
    for (uint32_t i = 0; i < topology->num_links; i++) {
        const struct pccl_link *link = &topology->links[i];
        latency_ps = link->latency_ps < latency_ps ? link->latency_ps : latency_ps;
        ps_per_mib = link->ps_per_mib < ps_per_mib ? link->ps_per_mib : ps_per_mib;
        joined = joined || (link->source < topology->num_devices && link->target < topology->num_devices);
    }
    greedy->least_way_ps = (joined ? latency_ps : 2 * latency_ps) + receive_ps;
    greedy->least_block_ps = pccl_transfer_ps(greedy->block_bytes, ps_per_mib);
}

/* Decides on all messages of an all-gather of num_ranks blocks, or, if num_blocks is 1, of a broadcast from the
 * root. */
static int decide_all(struct greedy *greedy, const struct pccl_demand *demand)
{
    for (uint32_t piece = 0; piece < greedy->pieces; piece++) {
        greedy->block_bytes += demand->chunks[piece].bytes;
    }
    find_least(greedy);
    int status = allocate(greedy);
    if (status != 0) {
        return status;
    }
    for (uint32_t block = 0; block < greedy->num_blocks; block++) {
        uint32_t owner = greedy->num_blocks > 1 ? block : greedy->problem->root;
        pccl__bitset_set(greedy->have + owner * greedy->words, block);
        pccl__bitset_set(greedy->claimed + owner * greedy->words, block);
    }
    greedy->missing = (uint64_t)greedy->num_blocks * (greedy->num_ranks - 1);
    return run(greedy);
}

static void write_flights(struct pccl__writer *writer, const struct greedy *greedy, uint32_t *chunks)
{
    for (uint32_t i = 0; i < greedy->num_flights; i++) {
        const uint64_t *set = greedy->sets + i * greedy->words;
        uint32_t count = 0;
        for (uint32_t block = pccl__bitset_next(set, greedy->words, 0); block != UINT32_MAX;
             block = pccl__bitset_next(set, greedy->words, block + 1)) {
            for (uint32_t piece = 0; piece < greedy->pieces; piece++) {
                chunks[count++] = block * greedy->pieces + piece;
            }
        }
        const struct flight *flight = &greedy->flights[i];
        pccl__writer_send(writer, flight->step, flight->from, flight->to, chunks, count);
    }
}

/* Decides when first called; an all-reduce calls twice. */
static void write_greedy(struct pccl__writer *writer, struct greedy *greedy)
{
    uint32_t *chunks = pccl__array_new((size_t)greedy->num_blocks * greedy->pieces, sizeof *chunks);
    int status = chunks != NULL ? writer->status : PCCL_ERR_MEMORY;
    if (status == 0 && greedy->num_flights == 0) {
        status = decide_all(greedy, writer->schedule->demand);
    }
    if (status == 0) {
        write_flights(writer, greedy, chunks);
    } else if (status == PCCL_ERR_UNREACHABLE) {
        pccl__writer_fail(writer, PCCL_ERR_UNSUPPORTED, "the ranks are not connected by routes");
    } else {
        pccl__writer_fail(writer, status, pccl_status_text(status));
    }
    free(chunks);
}

static struct greedy open_greedy(const struct pccl__problem *problem, uint32_t num_blocks, uint32_t pieces)
{
    return (struct greedy){.problem = problem, .num_ranks = problem->num_ranks, .num_blocks = num_blocks,
                           .pieces = pieces, .words = pccl__bitset_words(num_blocks)};
}

static void close_greedy(struct greedy *greedy)
{
    pccl__events_free(&greedy->events);
    free(greedy->sets);
    free(greedy->flights);
    free(greedy->pending);
    free(greedy->cpu_ps);
    free(greedy->have);
}

static void gather(struct pccl__writer *writer, void *context)
{
    write_greedy(writer, context);
}

int pccl__greedy_algorithm(const struct pccl__problem *problem, uint32_t pieces, struct pccl_schedule **schedule,
                           struct pccl_error *error)
{
    struct greedy greedy = open_greedy(problem, problem->num_ranks, pieces);
    int status = pccl__gatherer_serve(problem, pieces, gather, &greedy, schedule, error);
    close_greedy(&greedy);
    return status;
}

/* Broadcast, reduce, and all-reduce as both of the whole vector. */
int pccl__greedy_tree_algorithm(const struct pccl__problem *problem, uint32_t pieces, struct pccl_schedule **schedule,
                                struct pccl_error *error)
{
    struct greedy greedy = open_greedy(problem, 1, pieces);
    struct pccl__writer writer;
    pccl__writer_open(&writer, problem, pieces, pieces, error);
    if (problem->collective != PCCL_BROADCAST) {
        pccl__writer_phase(&writer, PCCL__MIRRORED_REDUCE);
        write_greedy(&writer, &greedy);
    }
    if (problem->collective != PCCL_REDUCE) {
        pccl__writer_phase(&writer, PCCL__FORWARD);
        write_greedy(&writer, &greedy);
    }
    close_greedy(&greedy);
    return pccl__writer_close(&writer, schedule);
}
