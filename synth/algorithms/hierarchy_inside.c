/* The level inside nodes: which collective brings data together at the gates, or spreads it from there. */
#include <stdlib.h>
#include <string.h>

#include "algorithms/hierarchy.h"
#include "base/array.h"
#include "base/error.h"

#define NOTHING PCCL_NUM_COLLECTIVES

/* What is done inside a node on one way. */
struct errand {
    enum pccl_collective collective; /* NOTHING: nothing; PCCL_CUSTOM: every member with the gate of its rail */
    enum pccl__content content;
    bool at_root; /* in the root's node only, with the root, not with a gate */
};

#define NO_ERRAND {NOTHING, PCCL__RAILS_TOGETHER, false}

/* Of one collective, by way: with one rail, with several. */
struct errands {
    enum pccl_collective collective;
    struct errand ways[PCCL__NUM_WAYS][2];
};

static const struct errands errands[] = {
    {PCCL_ALLGATHER,
     {{{PCCL_GATHER, PCCL__MEMBER_BLOCKS, false}, {PCCL_CUSTOM, PCCL__MEMBER_BLOCKS, false}},
      {{PCCL_BROADCAST, PCCL__RAILS_TOGETHER, false}, {PCCL_ALLGATHER, PCCL__RAIL_BY_GATE, false}}}},
    {PCCL_ALLREDUCE,
     {{{PCCL_REDUCE, PCCL__RAILS_TOGETHER, false}, {PCCL_REDUCE_SCATTER, PCCL__RAIL_BY_GATE, false}},
      {{PCCL_BROADCAST, PCCL__RAILS_TOGETHER, false}, {PCCL_ALLGATHER, PCCL__RAIL_BY_GATE, false}}}},
    {PCCL_BARRIER,
     {{{PCCL_GATHER, PCCL__MEMBER_BLOCKS, false}, NO_ERRAND},
      {{PCCL_BROADCAST, PCCL__RAILS_TOGETHER, false}, NO_ERRAND}}},
    {PCCL_BROADCAST,
     {{NO_ERRAND, {PCCL_SCATTER, PCCL__RAIL_BY_GATE, true}},
      {{PCCL_BROADCAST, PCCL__RAILS_TOGETHER, false}, {PCCL_ALLGATHER, PCCL__RAIL_BY_GATE, false}}}},
    {PCCL_GATHER, {{{PCCL_GATHER, PCCL__MEMBER_BLOCKS, false}, NO_ERRAND}, {NO_ERRAND, NO_ERRAND}}},
    {PCCL_REDUCE,
     {{{PCCL_REDUCE, PCCL__RAILS_TOGETHER, false}, {PCCL_REDUCE_SCATTER, PCCL__RAIL_BY_GATE, false}},
      {NO_ERRAND, {PCCL_GATHER, PCCL__RAIL_BY_GATE, true}}}},
    {PCCL_REDUCE_SCATTER,
     {{{PCCL_REDUCE, PCCL__RAILS_TOGETHER, false}, {PCCL_REDUCE_SCATTER, PCCL__RAIL_BY_GATE, false}},
      {{PCCL_SCATTER, PCCL__MEMBER_BLOCKS, false}, {PCCL_CUSTOM, PCCL__MEMBER_BLOCKS, false}}}},
    {PCCL_SCATTER, {{NO_ERRAND, NO_ERRAND}, {{PCCL_SCATTER, PCCL__MEMBER_BLOCKS, false}, NO_ERRAND}}},
};

static const struct errands *find_errands(enum pccl_collective collective)
{
    for (size_t i = 0; i < sizeof errands / sizeof errands[0]; i++) {
        if (errands[i].collective == collective) {
            return &errands[i];
        }
    }
    return NULL;
}

bool pccl__hierarchy_serves(enum pccl_collective collective)
{
    return find_errands(collective) != NULL;
}

bool pccl__hierarchy_has_rails(enum pccl_collective collective)
{
    const struct errands *found = find_errands(collective);
    return found != NULL && (found->ways[PCCL__UP][1].collective != NOTHING ||
                             found->ways[PCCL__DOWN][1].collective != NOTHING);
}

/* One way inside the nodes of one shape, while it is planned. */
struct plan {
    struct pccl__hierarchy *hierarchy;
    const struct pccl__levels *levels;
    const struct errand *errand;
    enum pccl__way way;
    uint32_t node, size;
    uint32_t *devices;    /* [size] device p is position p */
    int64_t *block_bytes; /* [size] */
    struct pccl_chunk *chunks; /* PCCL_CUSTOM: [size], and their holders */
    uint32_t *holders;         /* [2 * size] */
};

/* Bytes that go through the node in one batch, about. */
static int find_batch_bytes(const struct plan *plan, int64_t *bytes)
{
    struct pccl__batches batches;
    bool own = plan->errand->content == PCCL__MEMBER_BLOCKS;
    uint32_t members = own ? plan->size : plan->hierarchy->nodes.num_ranks;
    int status = pccl__batches_find(&batches, plan->levels, plan->node, plan->way);
    *bytes = pccl__hierarchy_slice_bytes(plan->hierarchy, plan->levels->slices, members);
    if (status == 0 && batches.count > 1) {
        *bytes = (*bytes + batches.count - 1) / batches.count;
    }
    pccl__batches_free(&batches);
    return status;
}

static bool is_gate(const struct plan *plan, uint32_t position, uint32_t *rail)
{
    *rail = (uint32_t)((((uint64_t)position + 1) * plan->levels->rails - 1) / plan->size);
    return pccl__levels_gate(plan->levels, plan->node, *rail) == position;
}

/* A chunk for each member that is no gate, to or from the gate of its rail. Returns their number. */
static uint32_t make_pattern(const struct plan *plan, struct pccl_demand *pattern, int64_t bytes)
{
    *pattern = (struct pccl_demand){
        .collective = PCCL_CUSTOM, .num_ranks = plan->size, .chunks = plan->chunks, .holders = plan->holders};
    for (uint32_t p = 0; p < plan->size; p++) {
        uint32_t rail, first = pattern->num_holders;
        if (is_gate(plan, p, &rail)) {
            continue;
        }
        uint32_t gate = pccl__levels_gate(plan->levels, plan->node, rail);
        plan->holders[first] = plan->way == PCCL__UP ? p : gate;
        plan->holders[first + 1] = plan->way == PCCL__UP ? gate : p;
        plan->chunks[pattern->num_chunks++] = (struct pccl_chunk){bytes / plan->size, first, 1, first + 1, 1};
        pattern->num_holders += 2;
    }
    return pattern->num_chunks;
}

/* The sizes of blocks of which only gates have any. Where nearly all members are gates, all get the same, because that
 * is planned faster. */
static void set_gate_blocks(const struct plan *plan, struct pccl_request *request, int64_t bytes)
{
    uint32_t rail, rails = plan->levels->rails;
    for (uint32_t p = 0; p < plan->size; p++) {
        plan->block_bytes[p] = is_gate(plan, p, &rail) ? bytes / rails : 0;
    }
    request->block_bytes = rails < plan->size - plan->size / 8 ? plan->block_bytes : NULL;
    request->bytes = bytes / rails;
}

static int synthesize(struct plan *plan, struct pccl_schedule **schedule)
{
    const struct pccl_request *whole = plan->hierarchy->request;
    const struct pccl__nodes *nodes = &plan->hierarchy->nodes;
    struct pccl_demand pattern;
    struct pccl_request request = {
        .collective = plan->errand->collective,
        .num_ranks = plan->size,
        .devices = plan->devices,
        .root = plan->errand->at_root ? nodes->position[whole->root] : pccl__levels_gate(plan->levels, plan->node, 0),
        .ordered = whole->ordered,
    };
    int64_t bytes;
    int status = find_batch_bytes(plan, &bytes);
    if (status != 0) {
        return pccl__fail_memory(plan->hierarchy->error);
    }
    if (plan->errand->collective == PCCL_CUSTOM) {
        request.custom = &pattern;
        if (make_pattern(plan, &pattern, bytes) == 0) {
            return 0;
        }
    } else if (plan->errand->content == PCCL__RAIL_BY_GATE) {
        set_gate_blocks(plan, &request, bytes);
    } else {
        request.bytes = plan->errand->content == PCCL__MEMBER_BLOCKS ? bytes / plan->size : bytes;
    }
    struct pccl_options options = {.effort = PCCL_EFFORT_PART};
    struct pccl_result *result = NULL;
    status = pccl_synthesize(plan->hierarchy->inside[nodes->shape[plan->node]], &request, &options, &result,
                             plan->hierarchy->error);
    if (status == 0) {
        *schedule = result->schedule;
        result->schedule = NULL;
        pccl_result_free(result);
    }
    return status;
}

/* Whether there is anything to do. */
static bool is_needed(const struct plan *plan)
{
    const struct pccl__nodes *nodes = &plan->hierarchy->nodes;
    return plan->size > 1 && plan->errand->collective != NOTHING &&
           (!plan->errand->at_root || nodes->node[plan->hierarchy->request->root] == plan->node);
}

static int plan_way(struct plan *plan, struct pccl__inside *inside)
{
    inside->content = plan->errand->content;
    plan->devices = pccl__array_new(3 * (size_t)plan->size, sizeof *plan->devices);
    plan->block_bytes = pccl__array_new(plan->size, sizeof *plan->block_bytes);
    plan->chunks = pccl__array_new(plan->size, sizeof *plan->chunks);
    struct pccl_schedule *schedule = NULL;
    int status;
    if (plan->devices == NULL || plan->block_bytes == NULL || plan->chunks == NULL) {
        status = pccl__fail_memory(plan->hierarchy->error);
    } else {
        plan->holders = plan->devices + plan->size;
        for (uint32_t p = 0; p < plan->size; p++) {
            plan->devices[p] = p;
        }
        status = synthesize(plan, &schedule);
    }
    free(plan->devices);
    free(plan->block_bytes);
    free(plan->chunks);
    return status == 0 && schedule != NULL ? pccl__level_open(&inside->level, schedule, plan->hierarchy->error)
                                           : status;
}

int pccl__hierarchy_plan_inside(struct pccl__hierarchy *hierarchy, struct pccl__levels *levels)
{
    const struct pccl__nodes *nodes = &hierarchy->nodes;
    levels->inside = pccl__array_new(nodes->num_shapes, sizeof *levels->inside);
    int status = levels->inside != NULL ? 0 : pccl__fail_memory(hierarchy->error);
    for (uint32_t i = 0; i < nodes->num_shapes * PCCL__NUM_WAYS && status == 0; i++) {
        uint32_t shape = i / PCCL__NUM_WAYS, way = i % PCCL__NUM_WAYS;
        struct plan plan = {
            .hierarchy = hierarchy,
            .levels = levels,
            .errand = &find_errands(hierarchy->request->collective)->ways[way][levels->rails > 1],
            .way = (enum pccl__way)way,
            .node = nodes->example[shape],
            .size = pccl__node_size(nodes, nodes->example[shape]),
        };
        if (is_needed(&plan)) {
            status = plan_way(&plan, &levels->inside[shape][way]);
        }
    }
    return status;
}
