/* Chooses how a collective is split over the levels. */
#include "algorithms/hierarchy.h"

#include <stdlib.h>
#include <string.h>

#include "algorithms/meter.h"
#include "base/array.h"
#include "base/error.h"

#define LARGE_BETWEEN 200000 /* messages between nodes from which on no other choice of slices is tried */
#define SMALLEST_SLICE 4096  /* bytes of a node: less is not worth a slice */
#define MOST_SLICES 4
#define MANY_NODES 256       /* above, few numbers of rails are tried */
#define MOST_OPERATIONS (1 << 17) /* of one rank */
#define SLOT_PS 10000        /* what an operand costs the executor, about; a declared number, not a measured one */

static bool has_one_vector(enum pccl_collective collective)
{
    return collective == PCCL_BROADCAST || collective == PCCL_REDUCE || collective == PCCL_ALLREDUCE;
}

/* Unequal blocks are planned as equal ones with the same sum. */
static int64_t mean_bytes(const struct pccl_request *request)
{
    if (request->block_bytes == NULL) {
        return request->collective == PCCL_BARRIER ? 0 : request->bytes;
    }
    int64_t sum = 0;
    for (uint32_t i = 0; i < request->num_ranks; i++) {
        sum = pccl__add_ps(sum, request->block_bytes[i]);
    }
    return sum / request->num_ranks;
}

int64_t pccl__hierarchy_slice_bytes(const struct pccl__hierarchy *hierarchy, uint32_t slices, uint32_t members)
{
    const struct pccl_request *request = hierarchy->request;
    int64_t bytes = (hierarchy->bytes + slices - 1) / slices;
    if (has_one_vector(request->collective)) {
        return bytes;
    }
    return bytes > INT64_MAX / 4 / members ? INT64_MAX / 4 : bytes * members;
}

/* --- the level between nodes -------------------------------------------------------------------------------------- */

int pccl__hierarchy_open_between(struct pccl__hierarchy *hierarchy, uint32_t rails)
{
    const struct pccl__nodes *nodes = &hierarchy->nodes;
    if (!nodes->shared) {
        hierarchy->between = (struct pccl_topology *)(uintptr_t)hierarchy->topology;
        for (uint32_t node = 0; node < nodes->num_nodes; node++) {
            hierarchy->between_devices[node] = hierarchy->request->devices[nodes->members[node]];
        }
        return 0;
    }
    pccl_topology_free(hierarchy->between);
    hierarchy->between = NULL;
    for (uint32_t node = 0; node < nodes->num_nodes; node++) {
        hierarchy->between_devices[node] = node;
    }
    return pccl__nodes_between(nodes, hierarchy->topology, hierarchy->request->devices, rails, &hierarchy->between,
                               hierarchy->error);
}

/* The request that one slice is to the nodes. sizes: [num_nodes], used where nodes have unequal blocks. */
static struct pccl_request between_request(const struct pccl__hierarchy *hierarchy, uint32_t slices, int64_t *sizes)
{
    const struct pccl__nodes *nodes = &hierarchy->nodes;
    const struct pccl_request *whole = hierarchy->request;
    struct pccl_request request = {
        .collective = whole->collective,
        .num_ranks = nodes->num_nodes,
        .devices = hierarchy->between_devices,
        .bytes = pccl__hierarchy_slice_bytes(hierarchy, slices, hierarchy->smallest_node),
        .ordered = whole->ordered,
    };
    if (pccl_collective_is_rooted(whole->collective)) {
        request.root = nodes->node[whole->root];
    }
    if (!has_one_vector(whole->collective) && whole->collective != PCCL_BARRIER) {
        for (uint32_t node = 0; node < nodes->num_nodes; node++) {
            uint32_t size = pccl__node_size(nodes, node);
            sizes[node] = pccl__hierarchy_slice_bytes(hierarchy, slices, size);
            request.block_bytes = size != hierarchy->smallest_node ? sizes : request.block_bytes;
        }
    }
    return request;
}

static int plan_between(struct pccl__hierarchy *hierarchy, struct pccl__levels *levels, char *method)
{
    int64_t *sizes = pccl__array_new(hierarchy->nodes.num_nodes, sizeof *sizes);
    if (sizes == NULL) {
        return pccl__fail_memory(hierarchy->error);
    }
    struct pccl_request request = between_request(hierarchy, levels->slices, sizes);
    struct pccl_options options = {.effort = PCCL_EFFORT_PART};
    struct pccl_result *result = NULL;
    int status = pccl_synthesize(hierarchy->between, &request, &options, &result, hierarchy->error);
    free(sizes);
    if (status != 0) {
        return status;
    }
    struct pccl_schedule *schedule = result->schedule;
    memcpy(method, schedule->method, sizeof schedule->method);
    result->schedule = NULL;
    pccl_result_free(result);
    return pccl__level_open(&levels->between, schedule, hierarchy->error);
}

/* --- choosing ----------------------------------------------------------------------------------------------------- */

/* The fields of the whole that follow from the split. */
static int set_demand(const struct pccl__hierarchy *hierarchy, struct pccl__levels *levels)
{
    const struct pccl_request *request = hierarchy->request;
    uint64_t pieces = (uint64_t)levels->between.schedule->demand->pieces * levels->slices, blocks = request->num_ranks;
    if (has_one_vector(request->collective)) {
        pieces *= levels->rails;
        blocks = 1;
    }
    if (pieces * blocks > PCCL_MAX_CHUNKS) {
        return pccl__fail(hierarchy->error, PCCL_ERR_UNSUPPORTED, "%llu blocks of %llu pieces are more than %u chunks",
                          (unsigned long long)blocks, (unsigned long long)pieces, PCCL_MAX_CHUNKS);
    }
    bool reduces = pccl_collective_is_reduction(request->collective);
    levels->demand = (struct pccl_demand){
        .collective = request->collective,
        .num_ranks = request->num_ranks,
        .root = pccl_collective_is_rooted(request->collective) ? request->root : 0,
        .pieces = (uint32_t)pieces,
        .reduces = reduces,
        .ordered = reduces && request->ordered,
        .num_chunks = (uint32_t)(pieces * blocks),
    };
    return 0;
}

/* A split with its forecast. */
struct choice {
    int64_t makespan_ps; /* forecast */
    int64_t weight_ps;   /* what it is compared by */
    char method[48];     /* between nodes */
};

/* What the processes have to do for it counts as well; programs beyond all measure do not serve. */
static int64_t weigh(const struct pccl__hierarchy *hierarchy, const struct pccl__levels *levels, int64_t makespan_ps)
{
    struct pccl__work work;
    pccl__hierarchy_work(hierarchy, levels, &work);
    if (work.operations > MOST_OPERATIONS) {
        makespan_ps = pccl__times_ps(makespan_ps, 2);
    }
    return pccl__add_ps(makespan_ps, pccl__times_ps(SLOT_PS, (int64_t)work.slots));
}

/* Whether b is worth while after a: a 64th of the time is less than what further messages cost. */
static bool is_better(int64_t a_ps, int64_t b_ps)
{
    return a_ps < 0 || b_ps < a_ps - a_ps / 64;
}

/* One number of rails, slices and steps in a window (0: all that there are). *better: the best so far, and kept. */
static int try_split(struct pccl__hierarchy *hierarchy, uint32_t rails, uint32_t slices, uint32_t window, bool *better)
{
    struct pccl__levels split = {.nodes = &hierarchy->nodes, .rails = rails, .slices = slices};
    struct pccl__timing timing = {0};
    struct choice choice = {.weight_ps = -1};
    *better = false;
    int status = plan_between(hierarchy, &split, choice.method);
    uint32_t num_steps = split.between.num_steps > 0 ? split.between.num_steps : 1;
    split.window = window == 0 || window > num_steps ? num_steps : window;
    status = status == 0 ? set_demand(hierarchy, &split) : status;
    status = status == 0 ? pccl__hierarchy_time_between(hierarchy, &split.between, &timing) : status;
    status = status == 0 ? pccl__hierarchy_plan_inside(hierarchy, &split) : status;
    status = status == 0 ? pccl__hierarchy_forecast(hierarchy, &split, &timing, &choice.makespan_ps) : status;
    pccl__timing_close(&timing);
    if (status == 0) {
        choice.weight_ps = weigh(hierarchy, &split, choice.makespan_ps);
        *better = is_better(hierarchy->weight_ps, choice.weight_ps);
    }
    if (*better) {
        pccl__levels_close(&hierarchy->levels);
        hierarchy->levels = split;
        hierarchy->makespan_ps = choice.makespan_ps;
        hierarchy->weight_ps = choice.weight_ps;
        memcpy(hierarchy->method, choice.method, sizeof choice.method);
        return 0;
    }
    pccl__levels_close(&split);
    return status;
}

/* Levels that overlap: more slices, then four, sixteen ... windows of steps, as long as they make it faster. */
static int try_overlaps(struct pccl__hierarchy *hierarchy)
{
    const struct pccl__levels *levels = &hierarchy->levels;
    int64_t bytes = pccl__hierarchy_slice_bytes(hierarchy, 1, hierarchy->smallest_node);
    uint32_t rails = levels->rails;
    bool better = true;
    if (hierarchy->request->collective == PCCL_BARRIER || bytes / 2 < SMALLEST_SLICE ||
        levels->between.schedule->num_messages > LARGE_BETWEEN) {
        return 0;
    }
    int status = pccl__hierarchy_open_between(hierarchy, rails);
    for (uint32_t slices = 2; slices <= MOST_SLICES && status == 0 && better; slices *= 2) {
        if (bytes / slices < SMALLEST_SLICE || hierarchy->bytes < slices) {
            break;
        }
        status = try_split(hierarchy, rails, slices, 0, &better);
    }
    uint32_t narrow = (levels->window + 3) / 4;
    for (better = levels->window > 3; narrow > 1 && status == 0 && better; narrow = (narrow + 3) / 4) {
        status = try_split(hierarchy, rails, levels->slices, narrow, &better);
    }
    return status;
}

/* One rail, and as many as every node has members; some numbers between, where there is time for that. */
int pccl__hierarchy_plan(struct pccl__hierarchy *hierarchy, bool overlaps)
{
    bool shared = hierarchy->nodes.shared, brief = !overlaps || hierarchy->nodes.num_nodes > MANY_NODES;
    bool split = pccl__hierarchy_has_rails(hierarchy->request->collective) && shared;
    uint32_t last = split ? hierarchy->smallest_node : 1, factor = brief ? last : 8;
    int status = 0;
    for (uint32_t rails = 1; status == 0;) {
        bool better;
        status = pccl__hierarchy_open_between(hierarchy, rails);
        status = status == 0 ? try_split(hierarchy, rails, 1, 0, &better) : status;
        if (rails == last) {
            break;
        }
        rails = rails > last / factor ? last : rails * factor;
    }
    return status == 0 && overlaps && shared ? try_overlaps(hierarchy) : status;
}

int pccl__hierarchy_plan_split(struct pccl__hierarchy *hierarchy, uint32_t rails, uint32_t slices, uint32_t window)
{
    bool better;
    int status = pccl__hierarchy_open_between(hierarchy, rails);
    return status == 0 ? try_split(hierarchy, rails, slices, window, &better) : status;
}

/* --- life --------------------------------------------------------------------------------------------------------- */

static int open_inside(struct pccl__hierarchy *hierarchy)
{
    const struct pccl__nodes *nodes = &hierarchy->nodes;
    int status = 0;
    for (uint32_t s = 0; s < nodes->num_shapes && status == 0; s++) {
        if (pccl__node_size(nodes, nodes->example[s]) > 1) {
            status = pccl__nodes_inside(nodes, hierarchy->topology, hierarchy->request->devices, nodes->example[s],
                                        &hierarchy->inside[s], hierarchy->error);
        }
    }
    return status;
}

int pccl__hierarchy_open(struct pccl__hierarchy *hierarchy, const struct pccl_topology *topology,
                         const struct pccl_request *request, struct pccl_error *error)
{
    *hierarchy = (struct pccl__hierarchy){
        .topology = topology, .request = request, .error = error, .bytes = mean_bytes(request), .weight_ps = -1};
    struct pccl__nodes *nodes = &hierarchy->nodes;
    uint32_t apart = pccl_collective_is_rooted(request->collective) ? request->root : PCCL_NONE;
    bool ordered = request->ordered && pccl_collective_is_reduction(request->collective);
    hierarchy->levels.nodes = nodes;
    if (pccl__nodes_find(nodes, topology, request->devices, request->num_ranks, ordered, apart) != 0) {
        return pccl__fail_memory(error);
    }
    hierarchy->smallest_node = pccl__node_size(nodes, 0);
    for (uint32_t node = 1; node < nodes->num_nodes; node++) {
        uint32_t size = pccl__node_size(nodes, node);
        hierarchy->smallest_node = size < hierarchy->smallest_node ? size : hierarchy->smallest_node;
    }
    hierarchy->between_devices = pccl__array_new(nodes->num_nodes, sizeof *hierarchy->between_devices);
    hierarchy->inside = pccl__array_new(nodes->num_shapes, sizeof *hierarchy->inside);
    if (hierarchy->between_devices == NULL || hierarchy->inside == NULL) {
        return pccl__fail_memory(error);
    }
    return open_inside(hierarchy);
}

void pccl__hierarchy_close(struct pccl__hierarchy *hierarchy)
{
    pccl__levels_close(&hierarchy->levels);
    if (hierarchy->between != hierarchy->topology) {
        pccl_topology_free(hierarchy->between);
    }
    for (uint32_t s = 0; hierarchy->inside != NULL && s < hierarchy->nodes.num_shapes; s++) {
        pccl_topology_free(hierarchy->inside[s]);
    }
    free(hierarchy->inside);
    free(hierarchy->between_devices);
    pccl__nodes_free(&hierarchy->nodes);
}
