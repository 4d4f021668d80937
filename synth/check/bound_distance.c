#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "check/bounding.h"

#define FAR INT64_MAX                     /* distance of what cannot be reached */
#define MAX_LENGTH (INT64_C(1) << 38)     /* of one link: 2^24 of them add up */
#define MAX_SEARCH_WORK (UINT64_C(1) << 27) /* links looked at for a sum over all pairs: about a second */
#define MAX_LATENCY_WORK (UINT64_C(1) << 19)

/* --- shortest ways ----------------------------------------------------------------------------------------------- */

struct entry {
    int64_t distance;
    uint32_t vertex;
};

/* Shortest ways from (or to) one vertex over usable links of given lengths. */
struct search {
    const struct pccl__bounding *bounding;
    const int64_t *length;  /* [num_links] 0 .. MAX_LENGTH */
    bool equal;             /* all usable links have the same length: no heap needed */
    bool backwards;         /* distances to the vertex */
    int64_t *distance;      /* [num_vertices] */
    struct entry *heap;     /* [num_links + 1], or the queue */
    uint32_t size;
};

static void push(struct search *search, int64_t distance, uint32_t vertex)
{
    uint32_t i = search->size++;
    for (; i > 0 && search->heap[(i - 1) / 2].distance > distance; i = (i - 1) / 2) {
        search->heap[i] = search->heap[(i - 1) / 2];
    }
    search->heap[i] = (struct entry){distance, vertex};
}

static struct entry pop(struct search *search)
{
    struct entry top = search->heap[0], last = search->heap[--search->size];
    uint32_t i = 0;
    for (uint32_t child; (child = 2 * i + 1) < search->size; i = child) {
        child += child + 1 < search->size && search->heap[child + 1].distance < search->heap[child].distance;
        if (search->heap[child].distance >= last.distance) {
            break;
        }
        search->heap[i] = search->heap[child];
    }
    search->heap[i] = last;
    return top;
}

static void run(struct search *search, uint32_t start)
{
    const struct pccl_topology *topology = search->bounding->topology;
    const uint32_t *first = search->backwards ? topology->first_in : topology->first_out;
    const uint32_t *list = search->backwards ? topology->in_links : topology->out_links;
    for (uint32_t v = 0; v < topology->num_vertices; v++) {
        search->distance[v] = FAR;
    }
    search->distance[start] = 0;
    search->heap[0] = (struct entry){0, start};
    search->size = 1;
    for (uint32_t head = 0; search->equal ? head < search->size : search->size > 0; head++) {
        struct entry entry = search->equal ? search->heap[head] : pop(search);
        if (entry.distance > search->distance[entry.vertex]) {
            continue;
        }
        for (uint32_t i = first[entry.vertex]; i < first[entry.vertex + 1]; i++) {
            uint32_t link = list[i],
                     next = search->backwards ? topology->links[link].source : topology->links[link].target;
            int64_t distance = entry.distance + search->length[link];
            if (distance >= search->distance[next] || !search->bounding->usable[link]) {
                continue;
            }
            search->distance[next] = distance;
            if (search->equal) {
                search->heap[search->size++] = (struct entry){distance, next};
            } else {
                push(search, distance, next);
            }
        }
    }
}

static int search_init(struct search *search, const struct pccl__bounding *bounding, const int64_t *length)
{
    *search = (struct search){.bounding = bounding, .length = length, .equal = true};
    int64_t first = -1;
    for (uint32_t l = 0; l < bounding->topology->num_links; l++) {
        if (bounding->usable[l]) {
            first = first < 0 ? length[l] : first;
            search->equal = search->equal && length[l] == first && first > 0;
        }
    }
    search->distance = pccl__array_new(bounding->topology->num_vertices, sizeof *search->distance);
    search->heap = pccl__array_new((size_t)bounding->topology->num_links + 1, sizeof *search->heap);
    return search->distance == NULL || search->heap == NULL ? PCCL_ERR_MEMORY : 0;
}

static void search_free(struct search *search)
{
    free(search->heap);
    free(search->distance);
}

/* --- latency ----------------------------------------------------------------------------------------------------- */

/* Whether rank `source` has bytes that rank `target` must get, or that must reach it in a result. */
static bool must_reach(const struct pccl_request *request, uint32_t source, uint32_t target)
{
    const bool rooted_out = request->collective == PCCL_BROADCAST || request->collective == PCCL_SCATTER;
    if (source == target) {
        return false;
    }
    switch (request->collective) {
    case PCCL_BARRIER:
        return true;
    case PCCL_ALLTOALL:
        return pccl__bound_pair_bytes(request, source, target) > 0;
    case PCCL_BROADCAST:
    case PCCL_SCATTER:
    case PCCL_GATHER:
    case PCCL_REDUCE:
        if ((rooted_out ? source : target) != request->root) {
            return false;
        }
        return request->collective == PCCL_BROADCAST || request->collective == PCCL_REDUCE
                   ? request->bytes > 0
                   : pccl__bound_block_bytes(request, rooted_out ? target : source) > 0;
    case PCCL_ALLGATHER:
        return pccl__bound_block_bytes(request, source) > 0;
    case PCCL_REDUCE_SCATTER:
        return pccl__bound_block_bytes(request, target) > 0;
    default:
        return request->bytes > 0;
    }
}

static int64_t relay_ps(const struct pccl__bounding *bounding, uint32_t vertex)
{
    const struct pccl_vertex *device = &bounding->topology->vertices[vertex];
    return bounding->devices_forward || vertex >= bounding->topology->num_devices
               ? 0
               : device->send_overhead_ps + device->receive_overhead_ps;
}

/* Time in which one end alone, over all its links, passes on what only it has or only it lacks. */
static int64_t end_time(const struct pccl__bounding *bounding, uint32_t device, bool sends, int64_t bytes)
{
    const struct pccl_topology *topology = bounding->topology;
    const uint32_t *first = sends ? topology->first_out : topology->first_in;
    const uint32_t *list = sends ? topology->out_links : topology->in_links;
    struct pccl__rate rate = PCCL__RATE_NONE;
    for (uint32_t i = first[device]; i < first[device + 1]; i++) {
        if (bounding->usable[list[i]]) {
            pccl__rate_add(&rate, topology->links[list[i]].ps_per_mib);
        }
    }
    return pccl__rate_time(&rate, (unsigned __int128)bytes);
}

/* With one root every byte for a receiver comes the whole way: its links stand still until the first can be there. */
static int64_t rooted_time(const struct pccl__bounding *bounding, uint32_t rank)
{
    const struct pccl_request *request = bounding->request;
    switch (request->collective) {
    case PCCL_BROADCAST:
        return end_time(bounding, request->devices[rank], false, request->bytes);
    case PCCL_SCATTER:
        return end_time(bounding, request->devices[rank], false, pccl__bound_block_bytes(request, rank));
    case PCCL_REDUCE:
        return end_time(bounding, request->devices[rank], true, request->bytes);
    case PCCL_GATHER:
        return end_time(bounding, request->devices[rank], true, pccl__bound_block_bytes(request, rank));
    default:
        return 0;
    }
}

/* Bounds from the distances between one rank and all others; search->backwards: the rank is the receiver. */
static int bound_rank(struct pccl__bounding *bounding, struct search *search, uint32_t rank, struct pccl_error *error)
{
    const struct pccl_request *request = bounding->request;
    const struct pccl_topology *topology = bounding->topology;
    run(search, request->devices[rank]);
    for (uint32_t other = 0; other < request->num_ranks; other++) {
        uint32_t source = search->backwards ? other : rank, target = search->backwards ? rank : other;
        if (!must_reach(request, source, target)) {
            continue;
        }
        const struct pccl_vertex *from = &topology->vertices[request->devices[source]];
        const struct pccl_vertex *to = &topology->vertices[request->devices[target]];
        int64_t distance = search->distance[request->devices[other]];
        if (distance == FAR) {
            return pccl__fail(error, PCCL_ERR_UNREACHABLE, "no way from %.100s to %.100s%s", from->name, to->name,
                              request->relays ? "" : " without other devices as relays");
        }
        int64_t time = from->send_overhead_ps + distance - relay_ps(bounding, request->devices[target]) +
                       (bounding->multicasts ? 0 : to->receive_overhead_ps);
        pccl__bound_raise(bounding, time, "latency");
        pccl__bound_raise(bounding, time + rooted_time(bounding, other), "latency and node bandwidth");
    }
    return 0;
}

/* The same for chunks: from the one source, or each contributor, to each target. */
static int bound_chunks(struct pccl__bounding *bounding, struct search *search, uint32_t rank, struct pccl_error *error)
{
    const struct pccl_request *request = bounding->request;
    const struct pccl_topology *topology = bounding->topology;
    const struct pccl_demand *custom = request->custom;
    const struct pccl_vertex *from = &topology->vertices[request->devices[rank]];
    run(search, request->devices[rank]);
    for (uint32_t c = 0; c < custom->num_chunks; c++) {
        const struct pccl_chunk *chunk = &custom->chunks[c];
        bool is_source = chunk->bytes > 0 && pccl__bound_is_source(custom, chunk, rank);
        for (uint32_t i = 0; i < chunk->num_targets && is_source; i++) {
            uint32_t device = request->devices[custom->holders[chunk->first_target + i]];
            const struct pccl_vertex *to = &topology->vertices[device];
            if (search->distance[device] == FAR) {
                return pccl__fail(error, PCCL_ERR_UNREACHABLE, "no way from %.100s to %.100s for chunk %" PRIu32,
                                  from->name, to->name, c);
            }
            if (to != from) {
                pccl__bound_raise(bounding,
                                  from->send_overhead_ps + search->distance[device] - relay_ps(bounding, device) +
                                      (bounding->multicasts ? 0 : to->receive_overhead_ps),
                                  "latency");
            }
        }
    }
    return 0;
}

/* Ranks whose distances are looked at: the root, or as many, evenly spread, as the effort allows. */
static int bound_farthest(struct pccl__bounding *bounding, struct search *search, struct pccl_error *error)
{
    const struct pccl_request *request = bounding->request;
    if (pccl_collective_is_rooted(request->collective)) {
        search->backwards = request->collective == PCCL_GATHER || request->collective == PCCL_REDUCE;
        return bound_rank(bounding, search, request->root, error);
    }
    const uint64_t work = (uint64_t)bounding->topology->num_vertices + bounding->topology->num_links;
    uint64_t count = MAX_LATENCY_WORK / work + 2;
    count = count < request->num_ranks ? count : request->num_ranks;
    int status = 0;
    for (uint64_t i = 0; i < count && status == 0; i++) {
        uint32_t rank = (uint32_t)(i * (request->num_ranks - 1) / (count - 1));
        status = request->collective == PCCL_CUSTOM ? bound_chunks(bounding, search, rank, error)
                                                    : bound_rank(bounding, search, rank, error);
    }
    return status;
}

/* --- trees of LogP ----------------------------------------------------------------------------------------------- */

/* Least time in which the news of one device can be with `count` devices, if each sends to another every gap_ps and the
 * news is there delay_ps after its sender began (Karp, Sahay, Santos, Schauser 1993). */
static int tree_time(uint32_t count, int64_t gap_ps, int64_t delay_ps, int64_t *time_ps)
{
    if (gap_ps == 0 || count < 2) {
        *time_ps = count < 2 ? 0 : delay_ps;
        return 0;
    }
    struct search heap = {.heap = pccl__array_new(2 * (size_t)count, sizeof(struct entry))};
    if (heap.heap == NULL) {
        return PCCL_ERR_MEMORY;
    }
    push(&heap, delay_ps, 0);
    int64_t now = 0;
    for (uint32_t known = 1; known < count; known++) {
        struct entry arrival = pop(&heap); /* the sender's next message, and the first of the newcomer */
        now = arrival.distance;
        push(&heap, now + gap_ps, 0);
        push(&heap, now + delay_ps, 0);
    }
    free(heap.heap);
    *time_ps = now;
    return 0;
}

/* The most ranks that one rank must tell or hear from, itself included. */
static uint32_t largest_audience(const struct pccl_request *request)
{
    uint32_t largest = 0;
    for (uint32_t c = 0; request->collective == PCCL_CUSTOM && c < request->custom->num_chunks; c++) {
        const struct pccl_chunk *chunk = &request->custom->chunks[c];
        uint32_t others = 0;
        for (uint32_t i = 0; chunk->num_sources == 1 && chunk->bytes > 0 && i < chunk->num_targets; i++) {
            others += request->custom->holders[chunk->first_target + i] !=
                      request->custom->holders[chunk->first_source];
        }
        largest = others + 1 > largest ? others + 1 : largest;
    }
    if (request->collective == PCCL_CUSTOM) {
        return largest;
    }
    const bool rooted = pccl_collective_is_rooted(request->collective);
    const bool by_pair = request->collective == PCCL_ALLTOALL && request->block_bytes != NULL;
    for (uint32_t r = rooted ? request->root : 0; r < request->num_ranks; r++) {
        uint32_t out = 1, in = 1;
        for (uint32_t other = 0; other < request->num_ranks; other++) {
            out += must_reach(request, r, other);
            in += must_reach(request, other, r);
        }
        largest = out > largest ? out : largest;
        largest = in > largest ? in : largest;
        if (rooted || (!by_pair && largest == request->num_ranks)) {
            break;
        }
    }
    return largest;
}

/* Least latency between two devices: no more than from a device to a switch and from the nearest switch to a device. */
static int64_t least_latency(const struct pccl__bounding *bounding)
{
    const struct pccl_topology *topology = bounding->topology;
    int64_t direct = FAR, enter = FAR, leave = FAR;
    for (uint32_t l = 0; l < topology->num_links; l++) {
        const struct pccl_link *link = &topology->links[l];
        bool from_device = link->source < topology->num_devices, to_device = link->target < topology->num_devices;
        int64_t *least = from_device ? (to_device ? &direct : &enter) : (to_device ? &leave : NULL);
        if (least != NULL && bounding->usable[l] && link->latency_ps < *least) {
            *least = link->latency_ps;
        }
    }
    int64_t through = enter == FAR || leave == FAR ? FAR : enter + leave;
    return direct < through ? direct : through;
}

static int bound_tree(struct pccl__bounding *bounding)
{
    const uint32_t count = largest_audience(bounding->request);
    const int64_t latency_ps = least_latency(bounding);
    if (count < 2 || latency_ps == FAR || bounding->multicasts) {
        return 0;
    }
    const int64_t delay_ps = bounding->min_send_ps + latency_ps + bounding->min_receive_ps;
    const bool gathers = bounding->request->collective == PCCL_GATHER || bounding->request->collective == PCCL_REDUCE;
    int64_t time_ps;
    int status = tree_time(count, gathers ? bounding->min_receive_ps : bounding->min_send_ps, delay_ps, &time_ps);
    if (status == 0) {
        pccl__bound_raise(bounding, time_ps, "overhead tree");
    }
    if (status == 0 && bounding->request->direct) {
        int64_t gap_ps = gathers ? bounding->min_receive_ps : bounding->min_send_ps;
        if (gap_ps <= PCCL__BOUND_MAX_PS / count) {
            pccl__bound_raise(bounding, gap_ps * (count - 2) + delay_ps, "overhead of direct messages");
        }
    }
    return status;
}

int pccl__bound_latency(struct pccl__bounding *bounding, struct pccl_error *error)
{
    const struct pccl_topology *topology = bounding->topology;
    struct search search = {0};
    int64_t *length = pccl__array_new(topology->num_links, sizeof *length);
    int status = length == NULL ? pccl__fail_memory(error) : 0;
    if (status == 0) {
        for (uint32_t l = 0; l < topology->num_links; l++) {
            length[l] = topology->links[l].latency_ps + relay_ps(bounding, topology->links[l].target);
        }
        status = search_init(&search, bounding, length) != 0 ? pccl__fail_memory(error) : 0;
    }
    if (status == 0) {
        status = bound_farthest(bounding, &search, error);
    }
    if (status == 0 && bound_tree(bounding) != 0) {
        status = pccl__fail_memory(error);
    }
    search_free(&search);
    free(length);
    return status;
}

/* --- distance sums ----------------------------------------------------------------------------------------------- */

/* A chunk crosses at least the distance between its source and its farthest target; of a reduction, so does the
 * contribution with the longest way. Chunks that several ranks hold are left out. */
static unsigned __int128 sum_chunk_distances(const struct pccl__bounding *bounding, struct search *search)
{
    const struct pccl_request *request = bounding->request;
    const struct pccl_demand *custom = request->custom;
    int64_t *farthest = pccl__array_new(custom->num_chunks, sizeof *farthest);
    unsigned __int128 sum = 0;
    for (uint32_t rank = 0; rank < request->num_ranks && farthest != NULL; rank++) {
        run(search, request->devices[rank]);
        for (uint32_t c = 0; c < custom->num_chunks; c++) {
            const struct pccl_chunk *chunk = &custom->chunks[c];
            bool is_source = pccl__bound_is_source(custom, chunk, rank);
            for (uint32_t i = 0; i < chunk->num_targets && is_source; i++) {
                int64_t distance = search->distance[request->devices[custom->holders[chunk->first_target + i]]];
                farthest[c] = distance != FAR && distance > farthest[c] ? distance : farthest[c];
            }
        }
    }
    for (uint32_t c = 0; c < custom->num_chunks && farthest != NULL; c++) {
        sum += (unsigned __int128)custom->chunks[c].bytes * (uint64_t)farthest[c];
    }
    free(farthest);
    return sum;
}

static unsigned __int128 sum_distances(const struct pccl__bounding *bounding, struct search *search)
{
    const struct pccl_request *request = bounding->request;
    if (request->collective == PCCL_CUSTOM) {
        return sum_chunk_distances(bounding, search);
    }
    unsigned __int128 sum = 0;
    for (uint32_t s = 0; s < request->num_ranks; s++) {
        run(search, request->devices[s]);
        for (uint32_t t = 0; t < request->num_ranks; t++) {
            int64_t bytes = s != t ? pccl__bound_pair_bytes(request, s, t) : 0;
            if (bytes > 0 && search->distance[request->devices[t]] != FAR) {
                sum += (unsigned __int128)bytes * (uint64_t)search->distance[request->devices[t]];
            }
        }
    }
    return sum;
}

/* Whether a way uses the capacity at most once: all its links leave, or all enter, one vertex. The simulator lets one
 * message hold a capacity for two of its links at the same time, so other shared capacities must not count. */
static bool counts_once(const struct pccl__bounding *bounding, uint32_t capacity)
{
    const struct pccl_link *links = bounding->topology->links;
    const uint32_t first = bounding->first_of_capacity[capacity], end = bounding->first_of_capacity[capacity + 1];
    bool one_source = true, one_target = true;
    for (uint32_t i = first + 1; i < end; i++) {
        const struct pccl_link *link = &links[bounding->capacity_links[i]],
                               *other = &links[bounding->capacity_links[first]];
        one_source = one_source && link->source == other->source;
        one_target = one_target && link->target == other->target;
    }
    return first < end && (one_source || one_target);
}

/* With links of length 1: every byte crosses that many links, each capacity carries bytes at its fastest link's rate.
 */
static int sum_links(struct pccl__bounding *bounding, int64_t *length)
{
    const struct pccl_topology *topology = bounding->topology;
    struct search search;
    struct pccl__rate rate = PCCL__RATE_NONE;
    for (uint32_t c = 0; c < topology->num_capacities; c++) {
        const bool counts = counts_once(bounding, c);
        int64_t fastest = FAR;
        for (uint32_t i = bounding->first_of_capacity[c]; i < bounding->first_of_capacity[c + 1]; i++) {
            uint32_t link = bounding->capacity_links[i];
            length[link] = counts;
            fastest = topology->links[link].ps_per_mib < fastest ? topology->links[link].ps_per_mib : fastest;
        }
        if (counts) {
            pccl__rate_add(&rate, fastest);
        }
    }
    int status = search_init(&search, bounding, length);
    if (status == 0) {
        pccl__bound_raise(bounding, pccl__rate_time(&rate, sum_distances(bounding, &search)), "distance sum");
    }
    search_free(&search);
    return status;
}

/* With links as long as their time per MiB: the bytes keep all capacities together busy for that long. */
static int sum_times(struct pccl__bounding *bounding, int64_t *length)
{
    const struct pccl_topology *topology = bounding->topology;
    struct search search;
    uint32_t num_used = 0;
    for (uint32_t c = 0; c < topology->num_capacities; c++) {
        const bool counts = counts_once(bounding, c);
        num_used += counts;
        for (uint32_t i = bounding->first_of_capacity[c]; i < bounding->first_of_capacity[c + 1]; i++) {
            uint32_t link = bounding->capacity_links[i];
            length[link] = counts ? topology->links[link].ps_per_mib : 0;
            if (length[link] > MAX_LENGTH) {
                return 0;
            }
        }
    }
    int status = search_init(&search, bounding, length);
    if (status == 0 && !search.equal && num_used > 0) { /* if equal it is the bound of sum_links */
        unsigned __int128 busy = sum_distances(bounding, &search), shared = (unsigned __int128)num_used << 20;
        unsigned __int128 time = busy / shared + (busy % shared != 0);
        pccl__bound_raise(bounding, time < PCCL__BOUND_MAX_PS ? (int64_t)time : PCCL__BOUND_MAX_PS, "distance sum");
    }
    search_free(&search);
    return status;
}

int pccl__bound_distance_sum(struct pccl__bounding *bounding)
{
    const struct pccl_topology *topology = bounding->topology;
    const uint64_t work = ((uint64_t)topology->num_vertices + topology->num_links) * bounding->request->num_ranks;
    const enum pccl_collective collective = bounding->request->collective;
    if ((collective != PCCL_ALLTOALL && collective != PCCL_CUSTOM) || work > MAX_SEARCH_WORK) {
        return 0;
    }
    int64_t *length = pccl__array_new(topology->num_links, sizeof *length);
    if (length == NULL) {
        return PCCL_ERR_MEMORY;
    }
    int status = sum_links(bounding, length);
    if (status == 0) {
        status = sum_times(bounding, length);
    }
    free(length);
    return status;
}
