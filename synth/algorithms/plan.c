/* Plans for large groups: levels, or direct exchange, for one rank. */
#include "pccl/plan.h"

#include <stdio.h>
#include <stdlib.h>

#include "algorithms/hierarchy.h"
#include "base/array.h"
#include "base/bitset.h"
#include "base/error.h"
#include "pccl/verify.h"

#define MOST_NODES 2048 /* seconds of planning, a few hundred MiB */

/* --- the request -------------------------------------------------------------------------------------------------- */

static int check_devices(const struct pccl_topology *topology, const struct pccl_request *request,
                         struct pccl_error *error)
{
    uint64_t *taken = pccl__array_new(pccl__bitset_words(topology->num_devices), sizeof *taken);
    int status = taken != NULL ? 0 : pccl__fail_memory(error);
    for (uint32_t rank = 0; rank < request->num_ranks && status == 0; rank++) {
        uint32_t device = request->devices[rank];
        if (device >= topology->num_devices || pccl__bitset_test(taken, device)) {
            status = pccl__fail(error, PCCL_ERR_INVALID,
                                "rank %u sits on device %u; expected one below %u on which no other rank sits", rank,
                                device, topology->num_devices);
        } else {
            pccl__bitset_set(taken, device);
        }
    }
    free(taken);
    return status;
}

/* Every rank with the root directly. */
static bool is_direct_star(const struct pccl_request *request)
{
    return request->direct && (request->collective == PCCL_GATHER || request->collective == PCCL_SCATTER);
}

static int check_request(const struct pccl_topology *topology, const struct pccl_request *request, uint32_t rank,
                         struct pccl_error *error)
{
    if (request->collective != PCCL_ALLTOALL && !pccl__hierarchy_serves(request->collective)) {
        return pccl__fail(error, PCCL_ERR_UNSUPPORTED, "large groups are not served in %s",
                          (unsigned)request->collective < PCCL_NUM_COLLECTIVES
                              ? pccl_collective_name(request->collective)
                              : "a collective that does not exist");
    }
    bool reproducible = request->reproducible && pccl_collective_is_reduction(request->collective);
    if (request->block_bytes != NULL || request->relays || reproducible ||
        (request->direct && request->collective != PCCL_ALLTOALL && !is_direct_star(request))) {
        return pccl__fail(error, PCCL_ERR_UNSUPPORTED,
                          "large groups are served with equal blocks, without relays, and without the fixed tree of "
                          "reproducible reductions");
    }
    if (request->num_ranks < 2 || rank >= request->num_ranks || request->bytes < 0 ||
        (pccl_collective_is_rooted(request->collective) && request->root >= request->num_ranks)) {
        return pccl__fail(error, PCCL_ERR_INVALID,
                          "rank %u, root %u, %u ranks, %lld bytes: expected ranks below their number, which is 2 or "
                          "more, and bytes of 0 or more",
                          rank, request->root, request->num_ranks, (long long)request->bytes);
    }
    return check_devices(topology, request, error);
}

/* --- the kinds ---------------------------------------------------------------------------------------------------- */

static int plan_levels(struct pccl__hierarchy *hierarchy, uint32_t rank, struct pccl_plan *plan)
{
    if (hierarchy->nodes.num_nodes > MOST_NODES) {
        return pccl__fail(hierarchy->error, PCCL_ERR_UNSUPPORTED,
                          "%u nodes: up to %u are planned, since the schedule between them is made on every rank",
                          hierarchy->nodes.num_nodes, MOST_NODES);
    }
    int status = pccl__hierarchy_plan(hierarchy, true);
    if (status != 0) {
        return status;
    }
    const struct pccl__levels *levels = &hierarchy->levels;
    plan->pieces = levels->demand.pieces;
    plan->makespan_ps = hierarchy->makespan_ps;
    if (hierarchy->nodes.shared) {
        snprintf(plan->method, sizeof plan->method, "levels:%.30s:%u", hierarchy->method, levels->rails);
    } else {
        snprintf(plan->method, sizeof plan->method, "%.40s", hierarchy->method);
    }
    status = pccl__levels_program(levels, rank, &plan->program, hierarchy->error);
    return status == 0 ? pccl_verify_program(&levels->demand, plan->program, hierarchy->error) : status;
}

static int plan_exchange(struct pccl__hierarchy *hierarchy, uint32_t rank, struct pccl_plan *plan)
{
    const struct pccl_request *request = hierarchy->request;
    uint64_t num_chunks = (uint64_t)request->num_ranks * request->num_ranks;
    if (num_chunks > PCCL_MAX_CHUNKS) {
        return pccl__fail(hierarchy->error, PCCL_ERR_UNSUPPORTED, "%llu blocks are more than %u",
                          (unsigned long long)num_chunks, PCCL_MAX_CHUNKS);
    }
    struct pccl_demand demand = {
        .collective = PCCL_ALLTOALL,
        .num_ranks = request->num_ranks,
        .pieces = 1,
        .num_chunks = (uint32_t)num_chunks,
    };
    plan->pieces = 1;
    snprintf(plan->method, sizeof plan->method, "nodes:spread");
    int status = pccl__hierarchy_forecast_exchange(hierarchy, &plan->makespan_ps);
    if (status == 0) {
        status = pccl__alltoall_program(&hierarchy->nodes, &demand, rank, &plan->program, hierarchy->error);
    }
    return status == 0 ? pccl_verify_program(&demand, plan->program, hierarchy->error) : status;
}

/* At the root the block of a rank has the rank's number; elsewhere there is one. */
static int plan_star(const struct pccl_request *request, uint32_t rank, struct pccl_plan *plan,
                     struct pccl_error *error)
{
    bool gathers = request->collective == PCCL_GATHER, is_root = rank == request->root;
    uint32_t num_blocks = is_root ? request->num_ranks : 0;
    struct pccl_edge own = {request->root, 0}, *blocks = pccl__array_new(num_blocks, sizeof *blocks);
    if (blocks == NULL) {
        return pccl__fail_memory(error);
    }
    for (uint32_t peer = 0; peer < num_blocks; peer++) {
        blocks[peer] = (struct pccl_edge){peer, peer};
    }
    uint32_t num_sends = gathers ? 1 : num_blocks, num_receives = gathers ? num_blocks : 1;
    const struct pccl_edge *sends = gathers ? &own : blocks, *receives = gathers ? blocks : &own;
    plan->pieces = 1;
    plan->makespan_ps = -1;
    snprintf(plan->method, sizeof plan->method, "flat");
    int status = pccl_program_exchange(rank, sends, num_sends, receives, num_receives, &plan->program, error);
    if (status == 0) {
        status = pccl_verify_exchange(plan->program, sends, num_sends, receives, num_receives, error);
    }
    free(blocks);
    return status;
}

/* The others need to know which ranks share hosts. */
static int plan_by_hosts(const struct pccl_topology *topology, const struct pccl_request *request, uint32_t rank,
                         struct pccl_plan *plan, struct pccl_error *error)
{
    struct pccl__hierarchy hierarchy;
    int status = pccl__hierarchy_open(&hierarchy, topology, request, error);
    if (status == 0) {
        status = request->collective == PCCL_ALLTOALL ? plan_exchange(&hierarchy, rank, plan)
                                                      : plan_levels(&hierarchy, rank, plan);
    }
    pccl__hierarchy_close(&hierarchy);
    return status;
}

int pccl_plan_create(const struct pccl_topology *topology, const struct pccl_request *request, uint32_t rank,
                     struct pccl_plan **plan, struct pccl_error *error)
{
    *plan = NULL;
    int status = check_request(topology, request, rank, error);
    if (status != 0) {
        return status;
    }
    struct pccl_plan *made = pccl__array_new(1, sizeof *made);
    if (made == NULL) {
        return pccl__fail_memory(error);
    }
    status = is_direct_star(request) ? plan_star(request, rank, made, error)
                                     : plan_by_hosts(topology, request, rank, made, error);
    if (status != 0) {
        pccl_plan_free(made);
        return status;
    }
    *plan = made;
    return 0;
}

void pccl_plan_free(struct pccl_plan *plan)
{
    if (plan != NULL) {
        pccl_program_free(plan->program);
        free(plan);
    }
}
