#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "check/bounding.h"

void pccl__bound_raise(struct pccl__bounding *bounding, int64_t bound_ps, const char *argument)
{
    if (bound_ps > PCCL__BOUND_MAX_PS) {
        bound_ps = PCCL__BOUND_MAX_PS;
    }
    if (bound_ps > bounding->bound_ps) {
        bounding->bound_ps = bound_ps;
        bounding->argument = argument;
    }
}

int64_t pccl__bound_block_bytes(const struct pccl_request *request, uint32_t rank)
{
    return request->block_bytes != NULL ? request->block_bytes[rank] : request->bytes;
}

int64_t pccl__bound_pair_bytes(const struct pccl_request *request, uint32_t source, uint32_t target)
{
    return request->block_bytes != NULL ? request->block_bytes[(size_t)source * request->num_ranks + target]
                                        : request->bytes;
}

bool pccl__bound_is_source(const struct pccl_demand *custom, const struct pccl_chunk *chunk, uint32_t rank)
{
    bool found = false;
    for (uint32_t i = 0; i < chunk->num_sources && (chunk->num_sources == 1 || custom->reduces); i++) {
        found = found || custom->holders[chunk->first_source + i] == rank;
    }
    return found;
}

static int check_custom(const struct pccl_request *request, struct pccl_error *error)
{
    const struct pccl_demand *custom = request->custom;
    if (custom == NULL || custom->num_ranks != request->num_ranks) {
        return pccl__fail(error, PCCL_ERR_INVALID, "a custom pattern of %" PRIu32 " ranks for a group of %" PRIu32,
                          custom != NULL ? custom->num_ranks : 0, request->num_ranks);
    }
    unsigned __int128 total = 0;
    for (uint32_t c = 0; c < custom->num_chunks; c++) {
        const struct pccl_chunk *chunk = &custom->chunks[c];
        if (chunk->bytes < 0 || chunk->num_sources == 0 ||
            (uint64_t)chunk->first_source + chunk->num_sources > custom->num_holders ||
            (uint64_t)chunk->first_target + chunk->num_targets > custom->num_holders) {
            return pccl__fail(error, PCCL_ERR_INVALID,
                              "chunk %" PRIu32 " has %" PRId64 " bytes, %" PRIu32 " sources and %" PRIu32
                              " targets, which no pattern can have",
                              c, chunk->bytes, chunk->num_sources, chunk->num_targets);
        }
        total += (uint64_t)chunk->bytes;
    }
    for (uint32_t i = 0; i < custom->num_holders; i++) {
        if (custom->holders[i] >= request->num_ranks) {
            return pccl__fail(error, PCCL_ERR_INVALID, "holder %" PRIu32 " of a group of %" PRIu32 " ranks",
                              custom->holders[i], request->num_ranks);
        }
    }
    return total <= PCCL__BOUND_MAX_PS ? 0
                                       : pccl__fail(error, PCCL_ERR_OVERFLOW, "all chunks together exceed 2^61 bytes");
}

static int check_request(const struct pccl_topology *topology, const struct pccl_request *request,
                         struct pccl_error *error)
{
    if (request->num_ranks < 2 || request->num_ranks > topology->num_devices) {
        return pccl__fail(error, PCCL_ERR_INVALID,
                          "a group of %" PRIu32 " ranks; expected 2 to %" PRIu32 ", the devices of %.100s",
                          request->num_ranks, topology->num_devices, topology->name);
    }
    if (pccl_collective_is_rooted(request->collective) && request->root >= request->num_ranks) {
        return pccl__fail(error, PCCL_ERR_INVALID, "root %" PRIu32 " in a group of %" PRIu32 " ranks", request->root,
                          request->num_ranks);
    }
    if (request->collective == PCCL_CUSTOM) {
        return check_custom(request, error);
    }
    unsigned __int128 total = 0;
    const bool by_pair = request->collective == PCCL_ALLTOALL;
    const uint64_t num_blocks = by_pair ? (uint64_t)request->num_ranks * request->num_ranks : request->num_ranks;
    for (uint64_t i = 0; i < (request->block_bytes != NULL ? num_blocks : 1); i++) {
        int64_t bytes = request->block_bytes != NULL ? request->block_bytes[i] : request->bytes;
        if (bytes < 0) {
            return pccl__fail(error, PCCL_ERR_INVALID, "a block of %" PRId64 " bytes; expected 0 or more", bytes);
        }
        total += (unsigned __int128)bytes * (request->block_bytes != NULL ? 1 : num_blocks);
    }
    if (total > PCCL__BOUND_MAX_PS) {
        return pccl__fail(error, PCCL_ERR_OVERFLOW, "the blocks of %" PRIu32 " ranks add up to more than 2^61 bytes",
                          request->num_ranks);
    }
    return 0;
}

static int find_members(struct pccl__bounding *bounding, struct pccl_error *error)
{
    const struct pccl_request *request = bounding->request;
    memset(bounding->rank_of, 0xff, bounding->topology->num_devices * sizeof *bounding->rank_of);
    for (uint32_t r = 0; r < request->num_ranks; r++) {
        uint32_t device = request->devices[r];
        if (device >= bounding->topology->num_devices || bounding->rank_of[device] != PCCL_NONE) {
            return pccl__fail(error, PCCL_ERR_INVALID,
                              "rank %" PRIu32 " is on device %" PRIu32 "; expected a device of its own below "
                              "%" PRIu32,
                              r, device, bounding->topology->num_devices);
        }
        bounding->rank_of[device] = r;
    }
    return 0;
}

static bool may_hold(const struct pccl__bounding *bounding, uint32_t vertex)
{
    return vertex >= bounding->topology->num_devices || bounding->request->relays || bounding->devices_forward ||
           bounding->rank_of[vertex] != PCCL_NONE;
}

/* Links that a message of the group may cross, and the same by capacity. */
static void find_links(struct pccl__bounding *bounding)
{
    const struct pccl_topology *topology = bounding->topology;
    for (uint32_t l = 0; l < topology->num_links; l++) {
        bounding->usable[l] = may_hold(bounding, topology->links[l].source) &&
                              may_hold(bounding, topology->links[l].target);
        bounding->first_of_capacity[topology->links[l].capacity + 2] += bounding->usable[l];
    }
    for (uint32_t c = 1; c < topology->num_capacities + 2; c++) {
        bounding->first_of_capacity[c] += bounding->first_of_capacity[c - 1];
    }
    for (uint32_t l = 0; l < topology->num_links; l++) {
        if (bounding->usable[l]) {
            bounding->capacity_links[bounding->first_of_capacity[topology->links[l].capacity + 1]++] = l;
        }
    }
}

/* Switches that copy hand chunks on without an overhead: then no overhead at the end of a message is certain. */
static void find_overheads(struct pccl__bounding *bounding)
{
    for (uint32_t v = bounding->topology->num_devices; v < bounding->topology->num_vertices; v++) {
        bounding->multicasts = bounding->multicasts || bounding->topology->vertices[v].multicast;
    }
    bounding->min_send_ps = bounding->min_receive_ps = INT64_MAX;
    for (uint32_t d = 0; d < bounding->topology->num_devices; d++) {
        const struct pccl_vertex *device = &bounding->topology->vertices[d];
        if (bounding->rank_of[d] == PCCL_NONE && !bounding->request->relays) {
            continue;
        }
        if (device->send_overhead_ps < bounding->min_send_ps) {
            bounding->min_send_ps = device->send_overhead_ps;
        }
        if (device->receive_overhead_ps < bounding->min_receive_ps) {
            bounding->min_receive_ps = device->receive_overhead_ps;
        }
    }
    bounding->min_receive_ps = bounding->multicasts ? 0 : bounding->min_receive_ps;
}

static int prepare(struct pccl__bounding *bounding, struct pccl_error *error)
{
    const struct pccl_topology *topology = bounding->topology;
    bounding->rank_of = pccl__array_new(topology->num_devices, sizeof *bounding->rank_of);
    bounding->usable = pccl__array_new(topology->num_links, sizeof *bounding->usable);
    bounding->first_of_capacity = pccl__array_new((size_t)topology->num_capacities + 2,
                                                  sizeof *bounding->first_of_capacity);
    bounding->capacity_links = pccl__array_new(topology->num_links, sizeof *bounding->capacity_links);
    if (bounding->rank_of == NULL || bounding->usable == NULL || bounding->first_of_capacity == NULL ||
        bounding->capacity_links == NULL) {
        return pccl__fail_memory(error);
    }
    bounding->devices_forward = pccl_topology_devices_forward(topology);
    int status = find_members(bounding, error);
    if (status == 0) {
        find_links(bounding);
        find_overheads(bounding);
    }
    return status;
}

/* All bounds on bytes; they say nothing where there are none. */
static int bound_bytes(struct pccl__bounding *bounding)
{
    bool is_grid = false;
    int status = pccl__bound_cuts(bounding);
    if (status == 0) {
        status = pccl__bound_grid(bounding, &is_grid);
    }
    /* On a whole grid with equal blocks no lengths of links prove more than the cuts do. */
    const struct pccl_request *request = bounding->request;
    bool whole = request->num_ranks == bounding->topology->num_devices && request->block_bytes == NULL;
    if (status == 0 && !(is_grid && whole)) {
        status = pccl__bound_price(bounding);
    }
    return status != 0 ? status : pccl__bound_flow(bounding);
}

int pccl_bound_compute(const struct pccl_topology *topology, const struct pccl_request *request,
                       struct pccl_bound *bound, struct pccl_error *error)
{
    struct pccl__bounding bounding = {.topology = topology, .request = request, .argument = "none"};
    int status = check_request(topology, request, error);
    if (status == 0) {
        status = prepare(&bounding, error);
        if (status == 0) {
            status = pccl__bound_latency(&bounding, error);
        }
        if (status == 0 && request->collective != PCCL_BARRIER && bound_bytes(&bounding) != 0) {
            status = pccl__fail_memory(error);
        }
    }
    if (status == 0) {
        *bound = (struct pccl_bound){bounding.bound_ps, bounding.argument};
    }
    free(bounding.capacity_links);
    free(bounding.first_of_capacity);
    free(bounding.usable);
    free(bounding.rank_of);
    return status;
}
