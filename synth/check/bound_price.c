/* All-to-all and custom patterns: prices. Let capacity c cost y_c for each unit of time that it is busy. A byte from s
 * to t then costs at least the distance between them where link l has length y_c * ps_per_mib, and all that can be
 * spent until time T is T times the sum of prices: T >= sum of bytes * distance / sum of prices, whatever the prices
 * (the dual of maximum concurrent flow; Garg, Koenemann 2007). Prices start out equal, then as the rates, and rise where
 * shortest ways crowd. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "check/bounding.h"
#include "check/nearest.h"

#define MAX_ALWAYS_WORK (UINT64_C(1) << 27) /* links looked at by one evaluation: above, none is made */
#define MAX_ROUND_WORK (UINT64_C(1) << 19)  /* by each evaluation after the first two: 200 ranks of a grid of 512 */
#define MAX_TOTAL_WORK (UINT64_C(1) << 23)  /* by all of these: some tenths of a second */
#define MAX_ROUNDS 64
#define FIRST_PRICE (INT64_C(1) << 12)
#define MAX_PRICE (INT64_C(1) << 15)
#define TIME_BITS 22  /* of the longest rounded time per MiB: with the price within PCCL__MAX_LENGTH */
#define BLOCK_BITS 10 /* of the largest block, where only proportions count */

struct pricing {
    struct pccl__bounding *bounding;
    struct pccl__nearest ways;
    int64_t *length; /* [num_links] */
    int64_t *time;   /* [num_links] ps_per_mib, rounded down to TIME_BITS; 0 where the capacity does not count */
    int64_t *price;  /* [num_capacities] 0 where it does not count */
    uint64_t *busy;  /* [num_capacities] rounded time that shortest ways take */
    uint64_t *flow;  /* [num_vertices] rounded bytes on their way through a vertex */
    int64_t *farthest; /* [num_chunks] of a custom pattern, else NULL */
    int time_shift, block_shift;
};

/* Whether a way uses the capacity at most once: all its links leave, or all enter, one vertex. The simulator lets one
 * message hold a capacity for two of its links at the same time, so other shared capacities must not count. */
static bool counts_once(const struct pccl__bounding *bounding, uint32_t capacity)
{
    const struct pccl_link *links = bounding->topology->links;
    const uint32_t first = bounding->first_of_capacity[capacity], end = bounding->first_of_capacity[capacity + 1];
    bool one_source = true, one_target = true;
    for (uint32_t i = first + 1; i < end; i++) {
        const struct pccl_link *link = &links[bounding->capacity_links[i]];
        const struct pccl_link *other = &links[bounding->capacity_links[first]];
        one_source = one_source && link->source == other->source;
        one_target = one_target && link->target == other->target;
    }
    return first < end && (one_source || one_target);
}

/* --- distances --------------------------------------------------------------------------------------------------- */

static int64_t rounded(const struct pricing *pricing, int64_t bytes)
{
    int64_t units = bytes >> pricing->block_shift;
    return units > 0 || bytes == 0 ? units : 1;
}

/* Sends what has collected at the ends of shortest ways back to their start, and books the time it takes. */
static void book_flow(struct pricing *pricing)
{
    const struct pccl_topology *topology = pricing->bounding->topology;
    const struct pccl__nearest *ways = &pricing->ways;
    for (uint32_t i = ways->num_reached - 1; i > 0; i--) {
        uint32_t vertex = ways->order[i];
        const struct pccl_link *link = &topology->links[ways->last_link[vertex]];
        pricing->busy[link->capacity] += pricing->flow[vertex] * (uint64_t)pricing->time[ways->last_link[vertex]];
        pricing->flow[link->source] += pricing->flow[vertex];
        pricing->flow[vertex] = 0;
    }
    pricing->flow[ways->order[0]] = 0;
}

static unsigned __int128 spend_blocks(struct pricing *pricing, uint32_t source)
{
    const struct pccl_request *request = pricing->bounding->request;
    unsigned __int128 spent = 0;
    for (uint32_t target = 0; target < request->num_ranks; target++) {
        int64_t distance = pricing->ways.distance[request->devices[target]];
        int64_t bytes = source != target ? pccl__bound_pair_bytes(request, source, target) : 0;
        if (bytes > 0 && distance != PCCL__FAR) {
            spent += (unsigned __int128)bytes * (uint64_t)distance;
            pricing->flow[request->devices[target]] += (uint64_t)rounded(pricing, bytes);
        }
    }
    return spent;
}

/* A chunk travels at least as far as from its source to its farthest target; of a reduction, so does the contribution
 * with the longest way. Chunks that several ranks hold are left out. */
static void spend_chunks(struct pricing *pricing, uint32_t source)
{
    const struct pccl_request *request = pricing->bounding->request;
    const struct pccl_demand *custom = request->custom;
    for (uint32_t c = 0; c < custom->num_chunks; c++) {
        const struct pccl_chunk *chunk = &custom->chunks[c];
        if (!pccl__bound_is_source(custom, chunk, source)) {
            continue;
        }
        uint32_t end = PCCL_NONE;
        for (uint32_t i = 0; i < chunk->num_targets; i++) {
            uint32_t device = request->devices[custom->holders[chunk->first_target + i]];
            int64_t distance = pricing->ways.distance[device];
            if (distance != PCCL__FAR && distance >= pricing->farthest[c]) {
                pricing->farthest[c] = distance;
                end = device;
            }
        }
        if (end != PCCL_NONE && chunk->bytes > 0) {
            pricing->flow[end] += (uint64_t)rounded(pricing, chunk->bytes);
        }
    }
}

/* The bound that the prices prove; busy[] then tells where shortest ways crowd. */
static void evaluate(struct pricing *pricing)
{
    const struct pccl__bounding *bounding = pricing->bounding;
    const struct pccl_topology *topology = bounding->topology;
    const struct pccl_request *request = bounding->request;
    unsigned __int128 spent = 0, budget = 0;
    memset(pricing->busy, 0, topology->num_capacities * sizeof *pricing->busy);
    pricing->ways.equal = true;
    int64_t first = -1;
    for (uint32_t l = 0; l < topology->num_links; l++) {
        pricing->length[l] = pricing->price[topology->links[l].capacity] * pricing->time[l];
        first = first < 0 && bounding->usable[l] ? pricing->length[l] : first;
        pricing->ways.equal = pricing->ways.equal &&
                              (!bounding->usable[l] || (first > 0 && pricing->length[l] == first));
    }
    for (uint32_t c = 0; c < topology->num_capacities; c++) {
        budget += (uint64_t)pricing->price[c];
    }
    for (uint32_t c = 0; pricing->farthest != NULL && c < request->custom->num_chunks; c++) {
        pricing->farthest[c] = 0;
    }
    for (uint32_t source = 0; source < request->num_ranks; source++) {
        pccl__nearest_run(&pricing->ways, request->devices[source]);
        if (pricing->farthest != NULL) {
            spend_chunks(pricing, source);
        } else {
            spent += spend_blocks(pricing, source);
        }
        book_flow(pricing);
    }
    for (uint32_t c = 0; pricing->farthest != NULL && c < request->custom->num_chunks; c++) {
        spent += (unsigned __int128)request->custom->chunks[c].bytes * (uint64_t)pricing->farthest[c];
    }
    if (budget > 0) {
        /* Lengths were rounded down by time_shift, and are for a MiB. */
        const int shift = 20 - pricing->time_shift;
        unsigned __int128 time = shift >= 0 ? spent / budget >> shift : spent / budget << -shift;
        time = shift >= 0 && (time << shift) * budget != spent ? time + 1 : time;
        pccl__bound_raise(pricing->bounding, time < PCCL__BOUND_MAX_PS ? (int64_t)time : PCCL__BOUND_MAX_PS,
                          "distance sum");
    }
}

/* --- prices ------------------------------------------------------------------------------------------------------ */

/* Equal for the time, or for the bytes: in inverse proportion to the fastest link's time. */
static void set_prices(struct pricing *pricing, bool by_bytes)
{
    const struct pccl__bounding *bounding = pricing->bounding;
    int64_t fastest_of_all = INT64_MAX;
    for (uint32_t l = 0; l < bounding->topology->num_links; l++) {
        int64_t time = pricing->time[l];
        fastest_of_all = bounding->usable[l] && time > 0 && time < fastest_of_all ? time : fastest_of_all;
    }
    for (uint32_t c = 0; c < bounding->topology->num_capacities; c++) {
        int64_t fastest = INT64_MAX;
        for (uint32_t i = bounding->first_of_capacity[c]; i < bounding->first_of_capacity[c + 1]; i++) {
            int64_t time = pricing->time[bounding->capacity_links[i]];
            fastest = time < fastest ? time : fastest;
        }
        bool counts = fastest > 0 && counts_once(bounding, c);
        int64_t price = by_bytes && counts ? FIRST_PRICE * fastest_of_all / fastest : FIRST_PRICE;
        pricing->price[c] = !counts ? 0 : price > 0 ? price : 1;
    }
}

/* Prices follow the crowd: at first in proportion to how busy shortest ways keep each capacity, with a little for all;
 * then each rises in that proportion, so that the busiest doubles. */
static void raise_prices(struct pricing *pricing, bool first)
{
    const uint32_t num_capacities = pricing->bounding->topology->num_capacities;
    uint64_t busiest = 1;
    int64_t dearest = 0;
    for (uint32_t c = 0; c < num_capacities; c++) {
        busiest = pricing->price[c] > 0 && pricing->busy[c] > busiest ? pricing->busy[c] : busiest;
    }
    for (uint32_t c = 0; c < num_capacities; c++) {
        if (pricing->price[c] > 0) {
            int64_t base = first ? FIRST_PRICE : pricing->price[c];
            int64_t rise = (int64_t)((unsigned __int128)(uint64_t)base * pricing->busy[c] / busiest);
            pricing->price[c] = rise + (first ? FIRST_PRICE / 50 : base);
            dearest = pricing->price[c] > dearest ? pricing->price[c] : dearest;
        }
    }
    for (uint32_t c = 0; c < num_capacities && dearest > MAX_PRICE / 2; c++) {
        pricing->price[c] -= pricing->price[c] / 2; /* what has a price keeps one */
    }
}

static int count_bits(int64_t value)
{
    return value > 0 ? 64 - __builtin_clzll((unsigned long long)value) : 0;
}

static int64_t largest_block(const struct pccl_request *request)
{
    int64_t largest = request->block_bytes == NULL && request->collective == PCCL_ALLTOALL ? request->bytes : 0;
    const uint64_t num_pairs = (uint64_t)request->num_ranks * request->num_ranks;
    for (uint64_t i = 0; request->block_bytes != NULL && i < num_pairs; i++) {
        largest = request->block_bytes[i] > largest ? request->block_bytes[i] : largest;
    }
    for (uint32_t c = 0; request->collective == PCCL_CUSTOM && c < request->custom->num_chunks; c++) {
        largest = request->custom->chunks[c].bytes > largest ? request->custom->chunks[c].bytes : largest;
    }
    return largest;
}

static void round_times(struct pricing *pricing)
{
    const struct pccl__bounding *bounding = pricing->bounding;
    const struct pccl_topology *topology = bounding->topology;
    int64_t longest = 0;
    for (uint32_t l = 0; l < topology->num_links; l++) {
        int64_t time = bounding->usable[l] ? topology->links[l].ps_per_mib : 0;
        longest = time > longest ? time : longest;
    }
    pricing->time_shift = count_bits(longest) > TIME_BITS ? count_bits(longest) - TIME_BITS : 0;
    int block_bits = count_bits(largest_block(bounding->request));
    pricing->block_shift = block_bits > BLOCK_BITS ? block_bits - BLOCK_BITS : 0;
    for (uint32_t l = 0; l < topology->num_links; l++) {
        pricing->time[l] = topology->links[l].ps_per_mib >> pricing->time_shift;
    }
}

static void search_prices(struct pricing *pricing, uint64_t work)
{
    uint64_t rounds = work <= MAX_ROUND_WORK ? MAX_TOTAL_WORK / work : 0;
    rounds = rounds < MAX_ROUNDS ? rounds : MAX_ROUNDS;
    set_prices(pricing, false);
    evaluate(pricing);
    set_prices(pricing, true);
    evaluate(pricing);
    for (uint64_t round = 0; round < rounds; round++) {
        raise_prices(pricing, round == 0);
        evaluate(pricing);
    }
}

int pccl__bound_price(struct pccl__bounding *bounding)
{
    const struct pccl_topology *topology = bounding->topology;
    const struct pccl_request *request = bounding->request;
    const uint64_t work = ((uint64_t)topology->num_vertices + topology->num_links) * request->num_ranks;
    if ((request->collective != PCCL_ALLTOALL && request->collective != PCCL_CUSTOM) || work > MAX_ALWAYS_WORK) {
        return 0;
    }
    struct pricing pricing = {.bounding = bounding};
    pricing.length = pccl__array_new(topology->num_links, sizeof *pricing.length);
    pricing.time = pccl__array_new(topology->num_links, sizeof *pricing.time);
    pricing.price = pccl__array_new(topology->num_capacities, sizeof *pricing.price);
    pricing.busy = pccl__array_new(topology->num_capacities, sizeof *pricing.busy);
    pricing.flow = pccl__array_new(topology->num_vertices, sizeof *pricing.flow);
    bool complete = pricing.length != NULL && pricing.time != NULL && pricing.price != NULL && pricing.busy != NULL &&
                    pricing.flow != NULL;
    if (request->collective == PCCL_CUSTOM) {
        pricing.farthest = pccl__array_new(request->custom->num_chunks, sizeof *pricing.farthest);
        complete = complete && pricing.farthest != NULL;
    }
    int status = complete ? pccl__nearest_init(&pricing.ways, bounding, pricing.length) : PCCL_ERR_MEMORY;
    if (status == 0) {
        round_times(&pricing);
        search_prices(&pricing, work);
    }
    pccl__nearest_free(&pricing.ways);
    free(pricing.farthest);
    free(pricing.flow);
    free(pricing.busy);
    free(pricing.price);
    free(pricing.time);
    free(pricing.length);
    return status;
}
