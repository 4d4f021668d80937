#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "check/bounding.h"
#include "check/nearest.h"

#define MAX_LATENCY_WORK (UINT64_C(1) << 19) /* links looked at */

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
    case PCCL_SCAN:
    case PCCL_EXSCAN:
        return source < target && request->bytes > 0;
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

/* Bounds from the distances between one rank and all others; ways->backwards: the rank is the receiver. */
static int bound_rank(struct pccl__bounding *bounding, struct pccl__nearest *ways, uint32_t rank,
                      struct pccl_error *error)
{
    const struct pccl_request *request = bounding->request;
    const struct pccl_topology *topology = bounding->topology;
    pccl__nearest_run(ways, request->devices[rank]);
    for (uint32_t other = 0; other < request->num_ranks; other++) {
        uint32_t source = ways->backwards ? other : rank, target = ways->backwards ? rank : other;
        if (!must_reach(request, source, target)) {
            continue;
        }
        const struct pccl_vertex *from = &topology->vertices[request->devices[source]];
        const struct pccl_vertex *to = &topology->vertices[request->devices[target]];
        int64_t distance = ways->distance[request->devices[other]];
        if (distance == PCCL__FAR) {
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
static int bound_chunks(struct pccl__bounding *bounding, struct pccl__nearest *ways, uint32_t rank,
                        struct pccl_error *error)
{
    const struct pccl_request *request = bounding->request;
    const struct pccl_topology *topology = bounding->topology;
    const struct pccl_demand *custom = request->custom;
    const struct pccl_vertex *from = &topology->vertices[request->devices[rank]];
    pccl__nearest_run(ways, request->devices[rank]);
    for (uint32_t c = 0; c < custom->num_chunks; c++) {
        const struct pccl_chunk *chunk = &custom->chunks[c];
        bool is_source = chunk->bytes > 0 && pccl__bound_is_source(custom, chunk, rank);
        for (uint32_t i = 0; i < chunk->num_targets && is_source; i++) {
            uint32_t device = request->devices[custom->holders[chunk->first_target + i]];
            const struct pccl_vertex *to = &topology->vertices[device];
            if (ways->distance[device] == PCCL__FAR) {
                return pccl__fail(error, PCCL_ERR_UNREACHABLE, "no way from %.100s to %.100s for chunk %" PRIu32,
                                  from->name, to->name, c);
            }
            if (to != from) {
                pccl__bound_raise(bounding,
                                  from->send_overhead_ps + ways->distance[device] - relay_ps(bounding, device) +
                                      (bounding->multicasts ? 0 : to->receive_overhead_ps),
                                  "latency");
            }
        }
    }
    return 0;
}

/* Ranks whose distances are looked at: the root, or as many, evenly spread, as the effort allows. */
static int bound_farthest(struct pccl__bounding *bounding, struct pccl__nearest *ways, struct pccl_error *error)
{
    const struct pccl_request *request = bounding->request;
    if (pccl_collective_is_rooted(request->collective)) {
        ways->backwards = request->collective == PCCL_GATHER || request->collective == PCCL_REDUCE;
        return bound_rank(bounding, ways, request->root, error);
    }
    const uint64_t work = (uint64_t)bounding->topology->num_vertices + bounding->topology->num_links;
    uint64_t count = MAX_LATENCY_WORK / work + 2;
    count = count < request->num_ranks ? count : request->num_ranks;
    int status = 0;
    for (uint64_t i = 0; i < count && status == 0; i++) {
        uint32_t rank = (uint32_t)(i * (request->num_ranks - 1) / (count - 1));
        status = request->collective == PCCL_CUSTOM ? bound_chunks(bounding, ways, rank, error)
                                                    : bound_rank(bounding, ways, rank, error);
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
    struct pccl__heap heap = {.entries = pccl__array_new(2 * (size_t)count, sizeof *heap.entries)};
    if (heap.entries == NULL) {
        return PCCL_ERR_MEMORY;
    }
    int64_t now = 0;
    pccl__heap_push(&heap, delay_ps, 0);
    for (uint32_t known = 1; known < count; known++) {
        now = pccl__heap_pop(&heap).key; /* followed by the sender's next message, and the first of the newcomer */
        pccl__heap_push(&heap, now + gap_ps, 0);
        pccl__heap_push(&heap, now + delay_ps, 0);
    }
    free(heap.entries);
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
    int64_t direct = PCCL__FAR, enter = PCCL__FAR, leave = PCCL__FAR;
    for (uint32_t l = 0; l < topology->num_links; l++) {
        const struct pccl_link *link = &topology->links[l];
        bool from_device = link->source < topology->num_devices, to_device = link->target < topology->num_devices;
        int64_t *least = from_device ? (to_device ? &direct : &enter) : (to_device ? &leave : NULL);
        if (least != NULL && bounding->usable[l] && link->latency_ps < *least) {
            *least = link->latency_ps;
        }
    }
    int64_t through = enter == PCCL__FAR || leave == PCCL__FAR ? PCCL__FAR : enter + leave;
    return direct < through ? direct : through;
}

static int bound_tree(struct pccl__bounding *bounding)
{
    const uint32_t count = largest_audience(bounding->request);
    const int64_t latency_ps = least_latency(bounding);
    if (count < 2 || latency_ps == PCCL__FAR || bounding->multicasts) {
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
    struct pccl__nearest ways = {0};
    int64_t *length = pccl__array_new(topology->num_links, sizeof *length);
    int status = length == NULL ? pccl__fail_memory(error) : 0;
    if (status == 0) {
        for (uint32_t l = 0; l < topology->num_links; l++) {
            length[l] = topology->links[l].latency_ps + relay_ps(bounding, topology->links[l].target);
        }
        status = pccl__nearest_init(&ways, bounding, length) != 0 ? pccl__fail_memory(error) : 0;
    }
    if (status == 0) {
        status = bound_farthest(bounding, &ways, error);
    }
    if (status == 0 && bound_tree(bounding) != 0) {
        status = pccl__fail_memory(error);
    }
    pccl__nearest_free(&ways);
    free(length);
    return status;
}
