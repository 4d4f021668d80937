/* Forecasts levels: each is simulated by itself, then the levels are laid one over the other, batch by batch. */
#include <stdlib.h>
#include <string.h>

#include "algorithms/hierarchy.h"
#include "algorithms/meter.h"
#include "base/array.h"
#include "base/error.h"
#include "pccl/simulate.h"
#include "topology/processors.h"

/* How long a schedule takes, and how much later the next one like it ends if they follow each other closely. */
struct pace {
    int64_t first_ps, each_ps;
};

/* What the busiest link, and the busiest CPU, have to do. load: [capacities + vertices], zero. */
static int64_t find_busiest(const struct pccl_topology *topology, const struct pccl_schedule *schedule, int64_t *load)
{
    int64_t busiest_ps = 0;
    for (uint32_t i = 0; i < schedule->num_messages; i++) {
        const struct pccl_path *path = &schedule->paths[schedule->messages[i].path];
        uint32_t count;
        const uint32_t *chunks = pccl_message_chunks(schedule, &schedule->messages[i], &count);
        int64_t bytes = 0;
        for (uint32_t j = 0; j < count; j++) {
            bytes += schedule->demand->chunks[chunks[j]].bytes;
        }
        for (uint32_t j = 0; j < path->num_links; j++) {
            const struct pccl_link *link = &topology->links[schedule->path_links[path->first_link + j]];
            int64_t *held = &load[link->capacity];
            *held = pccl__add_ps(*held, pccl_transfer_ps(bytes, link->ps_per_mib));
            busiest_ps = *held > busiest_ps ? *held : busiest_ps;
        }
        struct pccl_endpoints endpoints;
        pccl_topology_endpoints(topology, schedule->path_links + path->first_link, path->num_links, &endpoints);
        int64_t *sender = load + topology->num_capacities + pccl__processor_of(topology, path->source);
        int64_t *receiver = load + topology->num_capacities + pccl__processor_of(topology, path->target);
        *sender = pccl__add_ps(*sender, endpoints.send_overhead_ps);
        *receiver = pccl__add_ps(*receiver, endpoints.receive_overhead_ps);
        int64_t cpu_ps = *sender > *receiver ? *sender : *receiver;
        busiest_ps = cpu_ps > busiest_ps ? cpu_ps : busiest_ps;
    }
    return busiest_ps;
}

/* simulation: what is wanted beyond the makespan. */
static int find_pace(const struct pccl_topology *topology, const struct pccl_schedule *schedule,
                     struct pccl_simulation *simulation, struct pace *pace, struct pccl_error *error)
{
    *pace = (struct pace){0, 0};
    if (schedule == NULL || schedule->num_messages == 0) {
        return 0;
    }
    int64_t *load = pccl__array_new((size_t)topology->num_capacities + topology->num_vertices, sizeof *load);
    if (load == NULL) {
        return pccl__fail_memory(error);
    }
    pace->each_ps = find_busiest(topology, schedule, load);
    free(load);
    int status = pccl_simulate(topology, schedule, simulation, error);
    pace->first_ps = simulation->makespan_ps;
    return status;
}

/* A forecast under way. */
struct forecast {
    const struct pccl__hierarchy *hierarchy;
    struct pccl__levels *levels;
    const struct pccl__timing *between;
    struct pace (*inside)[PCCL__NUM_WAYS]; /* [num_shapes] */
    int64_t *before_ps, *after_ps; /* [num_steps], of one node: its earliest start from a step on, its latest arrival up
                                      to a step */
    int64_t shift_ps;              /* how much later the level between nodes begins */
    int64_t end_ps, busy_ps;       /* of the node that ends last; of the one that has most to do inside */
    int64_t apart_ps[PCCL__NUM_WAYS]; /* what each way takes if nothing happens between nodes meanwhile */
};

/* Fills before_ps and after_ps for a node. */
static void follow_node(struct forecast *forecast, uint32_t node)
{
    const struct pccl__level *between = &forecast->levels->between;
    uint32_t num_steps = between->num_steps;
    for (uint32_t s = 0; s < num_steps; s++) {
        forecast->before_ps[s] = INT64_MAX / 4;
        forecast->after_ps[s] = 0;
    }
    for (uint32_t i = 0; i < between->schedule->num_messages; i++) {
        const struct pccl_message *message = &between->schedule->messages[i];
        bool receives = between->target[message->path] == node, sends = between->source[message->path] == node;
        int64_t *before = &forecast->before_ps[message->step], *after = &forecast->after_ps[message->step];
        int64_t use_ps = message->reduce && receives ? forecast->between->finish_ps[i] : forecast->between->start_ps[i];
        if ((sends || (receives && message->reduce)) && use_ps < *before) {
            *before = use_ps;
        }
        if (receives && forecast->between->finish_ps[i] > *after) {
            *after = forecast->between->finish_ps[i];
        }
    }
    for (uint32_t s = 1; s < num_steps; s++) {
        int64_t *before = &forecast->before_ps[num_steps - 1 - s], *after = &forecast->after_ps[s];
        *before = before[1] < *before ? before[1] : *before;
        *after = after[-1] > *after ? after[-1] : *after;
    }
}

/* What a way takes by itself, with all its batches. */
static void note_apart(struct forecast *forecast, const struct pace *pace, uint32_t num_batches, enum pccl__way way)
{
    int64_t busy_ps = pccl__times_ps(pace->each_ps, num_batches);
    int64_t apart_ps = num_batches > 0 ? pccl__add_ps(pace->first_ps, busy_ps - pace->each_ps) : 0;
    forecast->busy_ps = busy_ps > forecast->busy_ps ? busy_ps : forecast->busy_ps;
    forecast->apart_ps[way] = apart_ps > forecast->apart_ps[way] ? apart_ps : forecast->apart_ps[way];
}

/* How much later the level between nodes has to begin for this node. */
static int bring_together(struct forecast *forecast, uint32_t node)
{
    const struct pace *pace = &forecast->inside[forecast->hierarchy->nodes.shape[node]][PCCL__UP];
    struct pccl__batches batches;
    if (pace->first_ps == 0) {
        return 0;
    }
    int status = pccl__batches_find(&batches, forecast->levels, node, PCCL__UP);
    for (uint32_t i = 0; i < batches.count && status == 0; i++) {
        int64_t ready_ps = pccl__add_ps(pace->first_ps, pccl__times_ps(pace->each_ps, i));
        int64_t late_ps = ready_ps - forecast->before_ps[batches.step[i]];
        forecast->shift_ps = late_ps > forecast->shift_ps ? late_ps : forecast->shift_ps;
    }
    note_apart(forecast, pace, batches.count, PCCL__UP);
    pccl__batches_free(&batches);
    return status;
}

/* When the node has spread everything. */
static int spread(struct forecast *forecast, uint32_t node)
{
    const struct pace *pace = &forecast->inside[forecast->hierarchy->nodes.shape[node]][PCCL__DOWN];
    struct pccl__batches batches;
    int64_t free_ps = 0, end_ps = forecast->levels->between.num_steps > 0
                                      ? forecast->after_ps[forecast->levels->between.num_steps - 1]
                                      : 0;
    int status = pace->first_ps > 0 ? pccl__batches_find(&batches, forecast->levels, node, PCCL__DOWN) : 0;
    for (uint32_t i = 0; pace->first_ps > 0 && status == 0 && i < batches.count; i++) {
        int64_t arrival_ps = forecast->after_ps[batches.step[i]];
        int64_t start_ps = arrival_ps > free_ps ? arrival_ps : free_ps;
        free_ps = pccl__add_ps(start_ps, pace->each_ps);
        end_ps = pccl__add_ps(start_ps, pace->first_ps);
    }
    if (pace->first_ps > 0) {
        note_apart(forecast, pace, batches.count, PCCL__DOWN);
        pccl__batches_free(&batches);
    }
    forecast->end_ps = end_ps > forecast->end_ps ? end_ps : forecast->end_ps;
    return status;
}

/* The node that begins first between nodes, and the one that ends last. */
static void find_extremes(const struct forecast *forecast, uint32_t *first, uint32_t *last)
{
    const struct pccl__level *between = &forecast->levels->between;
    int64_t first_ps = INT64_MAX, last_ps = -1;
    *first = *last = 0;
    for (uint32_t i = 0; i < between->schedule->num_messages; i++) {
        uint32_t path = between->schedule->messages[i].path;
        if (forecast->between->start_ps[i] < first_ps) {
            first_ps = forecast->between->start_ps[i];
            *first = between->source[path];
        }
        if (forecast->between->finish_ps[i] > last_ps) {
            last_ps = forecast->between->finish_ps[i];
            *last = between->target[path];
        }
    }
}

/* These two, and an example of each shape, stand for all. */
static int lay_over(struct forecast *forecast)
{
    const struct pccl__nodes *nodes = &forecast->hierarchy->nodes;
    uint32_t extremes[2];
    find_extremes(forecast, &extremes[0], &extremes[1]);
    int status = 0;
    for (uint32_t i = 0; i < nodes->num_shapes + 2 && status == 0; i++) {
        uint32_t node = i < 2 ? extremes[i] : nodes->example[i - 2];
        follow_node(forecast, node);
        status = bring_together(forecast, node);
        status = status == 0 ? spread(forecast, node) : status;
    }
    return status;
}

/* How much later a slice ends than the one before. A link at the gate carries what goes between nodes and inside: both,
 * where one rail carries everything. */
static int64_t pace_of_slices(const struct forecast *forecast)
{
    int64_t between_ps = forecast->between->each_ps;
    if (forecast->levels->rails == 1) {
        return pccl__add_ps(between_ps, forecast->busy_ps);
    }
    return between_ps > forecast->busy_ps ? between_ps : forecast->busy_ps;
}

/* Levels that overlap disturb each other: half of what that could save counts. */
static int64_t add_up(const struct forecast *forecast)
{
    int64_t more = forecast->levels->slices - 1;
    int64_t overlapped_ps = pccl__add_ps(pccl__add_ps(forecast->shift_ps, forecast->end_ps),
                                         pccl__times_ps(pace_of_slices(forecast), more));
    int64_t inside_ps = pccl__add_ps(forecast->apart_ps[PCCL__UP], forecast->apart_ps[PCCL__DOWN]);
    int64_t slice_ps = pccl__add_ps(forecast->between->makespan_ps, inside_ps);
    int64_t apart_ps = pccl__times_ps(slice_ps, more + 1);
    bool overlaps = more > 0 || forecast->levels->window < forecast->levels->between.num_steps;
    return overlaps && apart_ps > overlapped_ps ? overlapped_ps + (apart_ps - overlapped_ps) / 2 : overlapped_ps;
}

/* --- numbering steps ---------------------------------------------------------------------------------------------- */

#define FINEST 1000000 /* ticks in the whole, about */

static uint32_t to_ticks(int64_t ps, int64_t tick_ps)
{
    int64_t ticks = ps / tick_ps;
    return (uint32_t)(ticks < FINEST ? ticks : FINEST);
}

/* Times of the steps between nodes: when the first message of each starts, and when all up to it have ended. */
static void time_steps(const struct forecast *forecast, int64_t *start_ps, int64_t *end_ps)
{
    const struct pccl__level *between = &forecast->levels->between;
    for (uint32_t s = 0; s < between->num_steps; s++) {
        start_ps[s] = INT64_MAX / 4;
        end_ps[s] = 0;
    }
    for (uint32_t i = 0; i < between->schedule->num_messages; i++) {
        uint32_t s = between->schedule->messages[i].step;
        int64_t start = forecast->between->start_ps[i], end = forecast->between->finish_ps[i];
        start_ps[s] = start < start_ps[s] ? start : start_ps[s];
        end_ps[s] = end > end_ps[s] ? end : end_ps[s];
    }
    for (uint32_t s = 1; s < between->num_steps; s++) {
        start_ps[s] = start_ps[s] == INT64_MAX / 4 || start_ps[s] < start_ps[s - 1] ? start_ps[s - 1] : start_ps[s];
        end_ps[s] = end_ps[s] < end_ps[s - 1] ? end_ps[s - 1] : end_ps[s];
    }
}

/* Steps inside nodes last as long as they do on average. Returns the longest way up in steps. */
static uint32_t set_pitches(struct forecast *forecast, int64_t tick_ps)
{
    uint32_t longest = 0;
    for (uint32_t i = 0; i < forecast->hierarchy->nodes.num_shapes * PCCL__NUM_WAYS; i++) {
        uint32_t shape = i / PCCL__NUM_WAYS, way = i % PCCL__NUM_WAYS;
        struct pccl__inside *inside = &forecast->levels->inside[shape][way];
        uint32_t num_steps = inside->level.num_steps;
        if (num_steps > 0) {
            inside->pitch = to_ticks(forecast->inside[shape][way].first_ps / num_steps, tick_ps) + 1;
            uint32_t length = num_steps * inside->pitch;
            longest = way == PCCL__UP && length > longest ? length : longest;
        }
    }
    return longest;
}

/* Everything gets the number of its time, where that does not disturb the order that data need. */
static int number_steps(struct forecast *forecast, int64_t makespan_ps)
{
    struct pccl__levels *levels = forecast->levels;
    uint32_t num_steps = levels->between.num_steps;
    int64_t tick_ps = makespan_ps / FINEST + 1, *start_ps = forecast->before_ps, *end_ps = forecast->after_ps;
    levels->between_at = pccl__array_new(2 * (size_t)num_steps, sizeof *levels->between_at);
    if (levels->between_at == NULL) {
        return PCCL_ERR_MEMORY;
    }
    levels->spread_at = levels->between_at + num_steps;
    uint32_t first = set_pitches(forecast, tick_ps);
    time_steps(forecast, start_ps, end_ps);
    for (uint32_t s = 0; s < num_steps; s++) {
        uint32_t at = first + to_ticks(start_ps[s], tick_ps);
        levels->between_at[s] = s > 0 && at <= levels->between_at[s - 1] ? levels->between_at[s - 1] + 1 : at;
        uint32_t end = first + to_ticks(end_ps[s], tick_ps);
        levels->spread_at[s] = end > levels->between_at[s] ? end : levels->between_at[s] + 1;
    }
    levels->slice_pitch = to_ticks(pace_of_slices(forecast), tick_ps) + 1;
    return 0;
}

static int simulate_inside(struct forecast *forecast)
{
    const struct pccl__hierarchy *hierarchy = forecast->hierarchy;
    int status = 0;
    for (uint32_t i = 0; i < hierarchy->nodes.num_shapes * PCCL__NUM_WAYS && status == 0; i++) {
        uint32_t shape = i / PCCL__NUM_WAYS, way = i % PCCL__NUM_WAYS;
        struct pccl_simulation simulation = {0};
        status = find_pace(hierarchy->inside[shape], forecast->levels->inside[shape][way].level.schedule, &simulation,
                           &forecast->inside[shape][way], hierarchy->error);
    }
    return status;
}

int pccl__hierarchy_time_between(const struct pccl__hierarchy *hierarchy, const struct pccl__level *between,
                                 struct pccl__timing *timing)
{
    uint32_t num_messages = between->schedule->num_messages;
    struct pace pace;
    timing->start_ps = pccl__array_new(2 * (size_t)num_messages, sizeof *timing->start_ps);
    if (timing->start_ps == NULL) {
        return pccl__fail_memory(hierarchy->error);
    }
    timing->finish_ps = timing->start_ps + num_messages;
    struct pccl_simulation simulation = {.start_ps = timing->start_ps, .finish_ps = timing->finish_ps};
    int status = find_pace(hierarchy->between, between->schedule, &simulation, &pace, hierarchy->error);
    timing->each_ps = pace.each_ps;
    timing->makespan_ps = pace.first_ps;
    return status;
}

void pccl__timing_close(struct pccl__timing *timing)
{
    free(timing->start_ps);
    timing->start_ps = NULL;
}

int pccl__hierarchy_forecast(const struct pccl__hierarchy *hierarchy, struct pccl__levels *levels,
                             const struct pccl__timing *between, int64_t *makespan_ps)
{
    struct forecast forecast = {.hierarchy = hierarchy, .levels = levels, .between = between};
    uint32_t num_steps = levels->between.num_steps;
    forecast.inside = pccl__array_new(hierarchy->nodes.num_shapes, sizeof *forecast.inside);
    forecast.before_ps = pccl__array_new(2 * (size_t)num_steps, sizeof *forecast.before_ps);
    int status;
    if (forecast.inside == NULL || forecast.before_ps == NULL) {
        status = pccl__fail_memory(hierarchy->error);
    } else {
        forecast.after_ps = forecast.before_ps + num_steps;
        status = simulate_inside(&forecast);
        if (status == 0 && lay_over(&forecast) != 0) {
            status = pccl__fail_memory(hierarchy->error);
        }
        *makespan_ps = add_up(&forecast);
        if (status == 0 && number_steps(&forecast, *makespan_ps) != 0) {
            status = pccl__fail_memory(hierarchy->error);
        }
    }
    free(forecast.inside);
    free(forecast.before_ps);
    return status;
}

/* --- direct exchange ---------------------------------------------------------------------------------------------- */

/* What all members of all nodes send to each other, on the links between. */
struct exchange {
    const struct pccl__hierarchy *hierarchy;
    uint32_t *links;
    int64_t *load; /* [capacities] */
    int64_t busiest_ps, latency_ps; /* of the busiest link; of the longest way */
    int64_t overhead_ps;            /* of a message at both ends */
};

static int load_pair(struct exchange *exchange, uint32_t from, uint32_t to)
{
    const struct pccl__hierarchy *hierarchy = exchange->hierarchy;
    const struct pccl_topology *between = hierarchy->between;
    const struct pccl__nodes *nodes = &hierarchy->nodes;
    int64_t pairs = (int64_t)pccl__node_size(nodes, from) * pccl__node_size(nodes, to), way_ps = 0;
    int count = pccl_topology_route(between, hierarchy->between_devices[from], hierarchy->between_devices[to],
                                    exchange->links, pccl_topology_route_limit(between));
    if (count < 0) {
        return pccl__fail(hierarchy->error, PCCL_ERR_UNSUPPORTED, "there is no route from node %u to node %u", from,
                          to);
    }
    int64_t bytes = pccl__times_ps(hierarchy->request->bytes, pairs);
    for (int i = 0; i < count; i++) {
        const struct pccl_link *link = &between->links[exchange->links[i]];
        int64_t *held = &exchange->load[link->capacity];
        *held = pccl__add_ps(*held, pccl_transfer_ps(bytes, link->ps_per_mib));
        exchange->busiest_ps = *held > exchange->busiest_ps ? *held : exchange->busiest_ps;
        way_ps = pccl__add_ps(way_ps, link->latency_ps);
    }
    struct pccl_endpoints endpoints;
    pccl_topology_endpoints(between, exchange->links, (uint32_t)count, &endpoints);
    int64_t overhead_ps = endpoints.send_overhead_ps + endpoints.receive_overhead_ps;
    exchange->overhead_ps = overhead_ps > exchange->overhead_ps ? overhead_ps : exchange->overhead_ps;
    exchange->latency_ps = way_ps > exchange->latency_ps ? way_ps : exchange->latency_ps;
    return 0;
}

/* What the busiest link, or the CPUs, need, and once the longest way. */
int pccl__hierarchy_forecast_exchange(struct pccl__hierarchy *hierarchy, int64_t *makespan_ps)
{
    const struct pccl__nodes *nodes = &hierarchy->nodes;
    int status = pccl__hierarchy_open_between(hierarchy, hierarchy->smallest_node);
    if (status != 0) {
        return status;
    }
    struct exchange exchange = {.hierarchy = hierarchy};
    exchange.links = pccl__array_new(pccl_topology_route_limit(hierarchy->between), sizeof *exchange.links);
    exchange.load = pccl__array_new(hierarchy->between->num_capacities, sizeof *exchange.load);
    status = exchange.links != NULL && exchange.load != NULL ? 0 : pccl__fail_memory(hierarchy->error);
    for (uint32_t from = 0; from < nodes->num_nodes && status == 0; from++) {
        for (uint32_t to = 0; to < nodes->num_nodes && status == 0; to++) {
            status = from == to ? 0 : load_pair(&exchange, from, to);
        }
    }
    int64_t cpu_ps = pccl__times_ps(exchange.overhead_ps, (int64_t)hierarchy->request->num_ranks - 1);
    *makespan_ps = pccl__add_ps(cpu_ps > exchange.busiest_ps ? cpu_ps : exchange.busiest_ps, exchange.latency_ps);
    free(exchange.links);
    free(exchange.load);
    return status;
}
