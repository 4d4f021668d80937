/* List scheduling of a schedule's messages in their own order, see doc/cost-model.md. */
#include "pccl/simulate.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "check/copying.h"
#include "check/timeline.h"
#include "schedule/chunks.h"
#include "topology/processors.h"

#define FEW_ARRIVALS 16

/* A path with all that a message over it needs at hand. */
struct route {
    uint32_t source, target; /* numbers among the ends of paths */
    uint32_t first_hop, num_hops;
    int64_t latency_ps; /* of the whole path */
    int64_t bytes;      /* of the last message; hold_ps of the hops belongs to it */
    int64_t longest_ps; /* the longest hold */
    struct pccl_endpoints endpoints;
    /* Time per byte of copying at its ends, in ps per MiB; 0 where the rank has a processor of its own, which copies
     * while the message is on its way. */
    int64_t source_copy, target_copy;
};

struct hop {
    uint32_t link, capacity;
    int64_t offset_ps; /* latencies of the links before it */
    int64_t hold_ps;
};

/* Where a chunk with one source and one target is, and since when. */
struct whereabouts {
    int64_t since_ps;
    uint32_t end; /* PCCL_NONE: not moved yet */
};

/* Until when a vertex receives what a step brings it, as far as the schedule's pace needs to know. */
struct paced_step {
    uint32_t step; /* plus 1 */
    int64_t until_ps;
};

/* A message that a receiver's CPU has to deal with. */
struct arrival {
    int64_t arrival_ps;
    uint32_t message;
};

struct simulator {
    const struct pccl_topology *topology;
    const struct pccl_schedule *schedule;
    struct pccl_error *error;
    uint32_t num_ends;
    uint32_t *vertex;                   /* [num_ends] */
    struct route *routes;               /* [num_paths] */
    struct hop *hops;                   /* [num_path_links] */
    int64_t *capacity_free_ps;          /* [num_capacities] */
    struct pccl__timeline *cpus;        /* [num_ends] those of devices that share a processor are one */
    uint32_t *cpu_of;                   /* [num_ends] number among cpus */
    bool unlimited_processors;               /* see struct pccl_simulation */
    bool barrier;                       /* a message waits for all that its sender received, whatever it carries */
    uint32_t num_states;                /* of a vertex: num_chunks, or 1 for a barrier */
    int64_t *ready_ps;                  /* [num_ends * num_states], NULL if whereabouts do */
    struct whereabouts *whereabouts;    /* [num_chunks] if all chunks have one source and one target, else NULL */
    struct paced_step *paced;           /* [num_ends * pace]: of step s at s % pace */
    int64_t *finish_ps;                 /* of the messages of one step, or the caller's array for all */
    struct pccl__copying *copying;            /* of the messages of one step */
    int64_t shared_ps;                  /* see struct pccl_simulation */
    struct arrival *arrivals;           /* of one step */
    uint32_t *receivers, *arrival_ends; /* [num_ends], see sort_by_receiver */
    int64_t *start_ps, *link_bytes;     /* the caller's, or NULL */
};

/* --- preparation -------------------------------------------------------------------------------------------------- */

/* The number of a vertex among the ends of paths. */
static uint32_t number_end(struct simulator *simulator, uint32_t *end_of, uint32_t vertex)
{
    if (end_of[vertex] == PCCL_NONE) {
        simulator->vertex[simulator->num_ends] = vertex;
        end_of[vertex] = simulator->num_ends++;
    }
    return end_of[vertex];
}

/* Overheads that occupy nobody: as if the links began and ended so much later. */
static void delay_by_overheads(struct simulator *simulator, struct route *route)
{
    struct pccl_endpoints *endpoints = &route->endpoints;
    for (uint32_t i = 0; i < route->num_hops; i++) {
        struct hop *hop = &simulator->hops[route->first_hop + i];
        hop->offset_ps = pccl__add_limited(hop->offset_ps, endpoints->send_overhead_ps);
    }
    int64_t overheads_ps = endpoints->send_overhead_ps + endpoints->receive_overhead_ps;
    route->latency_ps = pccl__add_limited(route->latency_ps, overheads_ps);
    endpoints->send_overhead_ps = endpoints->receive_overhead_ps = 0;
}

static int prepare_route(struct simulator *simulator, uint32_t *end_of, uint32_t number)
{
    const struct pccl_topology *topology = simulator->topology;
    const struct pccl_schedule *schedule = simulator->schedule;
    const struct pccl_path *path = &schedule->paths[number];
    struct route *route = &simulator->routes[number];
    if (path->source >= topology->num_vertices || path->target >= topology->num_vertices || path->num_links == 0 ||
        (uint64_t)path->first_link + path->num_links > schedule->num_path_links) {
        return pccl__fail(simulator->error, PCCL_ERR_INVALID, "path %u does not fit topology \"%s\"", number,
                          topology->name);
    }
    *route = (struct route){.source = number_end(simulator, end_of, path->source),
                            .target = number_end(simulator, end_of, path->target),
                            .first_hop = path->first_link,
                            .num_hops = path->num_links,
                            .bytes = -1};
    uint32_t vertex = path->source;
    for (uint32_t i = 0; i < path->num_links; i++) {
        uint32_t link = schedule->path_links[path->first_link + i];
        if (link >= topology->num_links || topology->links[link].source != vertex) {
            return pccl__fail(simulator->error, PCCL_ERR_INVALID,
                              "path %u uses link %u from vertex %u, which topology \"%s\" does not have",
                              number, link, vertex, topology->name);
        }
        simulator->hops[path->first_link + i] =
            (struct hop){.link = link, .capacity = topology->links[link].capacity, .offset_ps = route->latency_ps};
        route->latency_ps = pccl__add_limited(route->latency_ps, topology->links[link].latency_ps);
        vertex = topology->links[link].target;
    }
    pccl_topology_endpoints(topology, schedule->path_links + path->first_link, path->num_links, &route->endpoints);
    if (simulator->unlimited_processors) {
        delay_by_overheads(simulator, route);
        return 0;
    }
    route->source_copy = pccl__processor_copies(topology, path->source);
    route->target_copy = pccl__processor_copies(topology, path->target);
    return 0;
}

static int prepare_routes(struct simulator *simulator)
{
    const struct pccl_topology *topology = simulator->topology;
    const struct pccl_schedule *schedule = simulator->schedule;
    uint32_t *end_of = pccl__array_new(topology->num_vertices, sizeof *end_of);
    simulator->vertex = pccl__array_new(topology->num_vertices, sizeof *simulator->vertex);
    simulator->routes = pccl__array_new(schedule->num_paths, sizeof *simulator->routes);
    simulator->hops = pccl__array_new(schedule->num_path_links, sizeof *simulator->hops);
    int status = 0;
    if (end_of == NULL || simulator->vertex == NULL || simulator->routes == NULL || simulator->hops == NULL) {
        status = pccl__fail_memory(simulator->error);
    } else {
        memset(end_of, 0xff, topology->num_vertices * sizeof *end_of);
    }
    for (uint32_t i = 0; i < schedule->num_paths && status == 0; i++) {
        status = prepare_route(simulator, end_of, i);
    }
    free(end_of);
    return status;
}

static bool is_unicast(const struct pccl_demand *demand)
{
    for (uint32_t i = 0; i < demand->num_chunks; i++) {
        if (demand->chunks[i].num_sources != 1 || demand->chunks[i].num_targets != 1) {
            return false;
        }
    }
    return true;
}

/* Devices on one processor get the CPU of the first of them that is an end. */
static int prepare_cpus(struct simulator *simulator)
{
    const struct pccl_topology *topology = simulator->topology;
    uint32_t *first = pccl__array_new(topology->num_vertices, sizeof *first);
    simulator->cpus = pccl__array_new(simulator->num_ends, sizeof *simulator->cpus);
    simulator->cpu_of = pccl__array_new(simulator->num_ends, sizeof *simulator->cpu_of);
    if (first == NULL || simulator->cpus == NULL || simulator->cpu_of == NULL) {
        free(first);
        return pccl__fail_memory(simulator->error);
    }
    for (uint32_t end = 0; end < simulator->num_ends; end++) {
        uint32_t *number = &first[pccl__processor_of(topology, simulator->vertex[end])];
        *number = *number == 0 ? end + 1 : *number;
        simulator->cpu_of[end] = *number - 1;
    }
    free(first);
    return 0;
}

static int prepare_state(struct simulator *simulator)
{
    const struct pccl_demand *demand = simulator->schedule->demand;
    simulator->capacity_free_ps = pccl__array_new(simulator->topology->num_capacities, sizeof(int64_t));
    simulator->receivers = pccl__array_new(simulator->num_ends, sizeof *simulator->receivers);
    simulator->arrival_ends = pccl__array_new(simulator->num_ends, sizeof *simulator->arrival_ends);
    bool complete = simulator->capacity_free_ps != NULL && simulator->receivers != NULL &&
                    simulator->arrival_ends != NULL && prepare_cpus(simulator) == 0;
    if (is_unicast(demand)) {
        simulator->whereabouts = pccl__array_new(demand->num_chunks, sizeof *simulator->whereabouts);
        complete = complete && simulator->whereabouts != NULL;
        for (uint32_t i = 0; i < demand->num_chunks && complete; i++) {
            simulator->whereabouts[i].end = PCCL_NONE;
        }
    } else {
        simulator->barrier = demand->collective == PCCL_BARRIER;
        simulator->num_states = simulator->barrier ? 1 : demand->num_chunks;
        simulator->ready_ps = pccl__array_new(simulator->num_ends, simulator->num_states * sizeof(int64_t));
        complete = complete && simulator->ready_ps != NULL;
    }
    if (simulator->schedule->pace > 0) {
        simulator->paced = pccl__array_new((size_t)simulator->num_ends * simulator->schedule->pace,
                                           sizeof *simulator->paced);
        complete = complete && simulator->paced != NULL;
    }
    return complete ? 0 : pccl__fail_memory(simulator->error);
}

/* Checks the messages and finds the largest number of them in one step. */
static int prepare_steps(struct simulator *simulator, bool keep_finish)
{
    const struct pccl_schedule *schedule = simulator->schedule;
    uint32_t in_step = 0, largest = 0;
    for (uint32_t i = 0; i < schedule->num_messages; i++) {
        const struct pccl_message *message = &schedule->messages[i];
        uint32_t step_before = i > 0 ? schedule->messages[i - 1].step : message->step;
        bool fits = message->path < schedule->num_paths && message->step >= step_before &&
                    message->payload < (message->list ? schedule->num_lists : schedule->demand->num_chunks);
        if (fits && message->list) {
            const struct pccl_chunk_list *list = &schedule->lists[message->payload];
            fits = (uint64_t)list->first + list->count <= schedule->num_list_chunks;
            for (uint32_t j = 0; fits && j < list->count; j++) {
                fits = schedule->list_chunks[list->first + j] < schedule->demand->num_chunks;
            }
        }
        if (!fits) {
            return pccl__fail(simulator->error, PCCL_ERR_INVALID,
                              "message %u names a path or chunk that does not exist, or is not in order of steps",
                              i);
        }
        in_step = message->step == step_before ? in_step + 1 : 1;
        largest = in_step > largest ? in_step : largest;
    }
    simulator->arrivals = pccl__array_new(largest, sizeof *simulator->arrivals);
    simulator->finish_ps = keep_finish ? simulator->finish_ps : pccl__array_new(largest, sizeof(int64_t));
    simulator->copying = pccl__array_new(largest, sizeof *simulator->copying);
    bool complete = simulator->arrivals != NULL && simulator->finish_ps != NULL && simulator->copying != NULL;
    return complete ? 0 : pccl__fail_memory(simulator->error);
}

/* --- one step ----------------------------------------------------------------------------------------------------- */

/* Since when a vertex has each chunk, where that is kept for each of them. */
static int64_t *find_states(const struct simulator *simulator, uint32_t end)
{
    return simulator->ready_ps + (size_t)end * simulator->num_states;
}

/* Only the last place of a chunk is remembered. From an earlier one it can go at once if that is its source; otherwise
 * the later time stands in, which is never too early. */
static int64_t find_unicast_ready(const struct simulator *simulator, uint32_t end, uint32_t chunk)
{
    const struct pccl_demand *demand = simulator->schedule->demand;
    const struct whereabouts *where = &simulator->whereabouts[chunk];
    bool at_source = demand->devices[demand->holders[demand->chunks[chunk].first_source]] == simulator->vertex[end];
    return where->end == end || !at_source ? where->since_ps : 0;
}

/* When the sender has all that the message carries; *bytes: how much that is. */
static int64_t find_ready(const struct simulator *simulator, const struct pccl_message *message, uint32_t end,
                          int64_t *bytes)
{
    const struct pccl_chunk *about = simulator->schedule->demand->chunks;
    const int64_t *states = simulator->ready_ps != NULL ? find_states(simulator, end) : NULL;
    uint32_t count;
    const uint32_t *chunks = pccl__message_chunks(simulator->schedule, message, &count);
    int64_t ready_ps = 0, sum = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t chunk = chunks[i];
        int64_t chunk_ps = states == NULL         ? find_unicast_ready(simulator, end, chunk)
                           : simulator->barrier ? states[0]
                                                  : states[chunk];
        ready_ps = chunk_ps > ready_ps ? chunk_ps : ready_ps;
        sum = sum > INT64_MAX - about[chunk].bytes ? INT64_MAX : sum + about[chunk].bytes;
    }
    *bytes = sum;
    return ready_ps;
}

/* Until when the schedule's pace holds a message of this step back at its sender. */
static int64_t find_turn(const struct simulator *simulator, uint32_t step, uint32_t end)
{
    uint32_t pace = simulator->schedule->pace;
    if (pace == 0 || step < pace) {
        return 0;
    }
    const struct paced_step *paced = &simulator->paced[(size_t)end * pace + step % pace];
    return paced->step == step - pace + 1 ? paced->until_ps : 0;
}

static void note_turn(struct simulator *simulator, uint32_t step, uint32_t end, int64_t finish_ps)
{
    uint32_t pace = simulator->schedule->pace;
    if (pace > 0) {
        struct paced_step *paced = &simulator->paced[(size_t)end * pace + step % pace];
        int64_t until_ps = paced->step == step + 1 && paced->until_ps > finish_ps ? paced->until_ps : finish_ps;
        *paced = (struct paced_step){step + 1, until_ps};
    }
}

static void set_bytes(const struct simulator *simulator, struct route *route, int64_t bytes)
{
    route->bytes = bytes;
    route->longest_ps = 0;
    for (uint32_t i = 0; i < route->num_hops; i++) {
        struct hop *hop = &simulator->hops[route->first_hop + i];
        hop->hold_ps = pccl_transfer_ps(bytes, simulator->topology->links[hop->link].ps_per_mib);
        route->longest_ps = hop->hold_ps > route->longest_ps ? hop->hold_ps : route->longest_ps;
    }
}

/* What a message costs its sender's CPU; the rest of what it costs shared processors is noted in passing. */
static int64_t count_sending(struct simulator *simulator, const struct pccl_message *message,
                             const struct route *route, int64_t bytes, struct pccl__copying *copying)
{
    int64_t sending_ps = route->endpoints.send_overhead_ps;
    *copying = (struct pccl__copying){0};
    if (route->source_copy == 0 && route->target_copy == 0) {
        return sending_ps;
    }
    uint32_t scattered = pccl__count_scattered(simulator->schedule, message);
    *copying = pccl__count_copying(simulator->schedule, message, &route->endpoints, route->target_copy, scattered,
                                   bytes);
    int64_t gathering_ps = pccl__count_gathering(&route->endpoints, route->source_copy, scattered, bytes);
    sending_ps = pccl__add_limited(sending_ps, gathering_ps);
    int64_t taking_ps = pccl__add_limited(route->endpoints.receive_overhead_ps, copying->in_all_ps);
    int64_t shared_ps =
        pccl__add_limited(route->source_copy > 0 ? sending_ps : 0, route->target_copy > 0 ? taking_ps : 0);
    simulator->shared_ps = pccl__add_limited(simulator->shared_ps, shared_ps);
    return sending_ps;
}

/* Sends a message as early as data, CPU and every capacity allow; *arrival_ps: when it has reached the receiver. */
static int send_message(struct simulator *simulator, uint32_t number, int64_t *arrival_ps,
                        struct pccl__copying *copying)
{
    const struct pccl_message *message = &simulator->schedule->messages[number];
    struct route *route = &simulator->routes[message->path];
    struct hop *hops = simulator->hops + route->first_hop;
    int64_t bytes, start_ps = find_ready(simulator, message, route->source, &bytes);
    if (bytes != route->bytes) {
        set_bytes(simulator, route, bytes);
    }
    int64_t turn_ps = find_turn(simulator, message->step, route->source);
    start_ps = turn_ps > start_ps ? turn_ps : start_ps;
    int64_t overhead_ps = count_sending(simulator, message, route, bytes, copying);
    struct pccl__timeline *cpu = &simulator->cpus[simulator->cpu_of[route->source]];
    if (pccl__timeline_take(cpu, start_ps, overhead_ps, &start_ps) != 0) {
        return pccl__fail_memory(simulator->error);
    }
    start_ps = pccl__add_limited(start_ps, overhead_ps);
    if (bytes > route->endpoints.eager_bytes) {
        start_ps = pccl__add_limited(start_ps, route->endpoints.rendezvous_ps);
    }
    for (uint32_t i = 0; i < route->num_hops; i++) {
        int64_t free_ps = simulator->capacity_free_ps[hops[i].capacity] - hops[i].offset_ps;
        start_ps = free_ps > start_ps ? free_ps : start_ps;
    }
    *arrival_ps = pccl__add_limited(pccl__add_limited(start_ps, route->latency_ps), route->longest_ps);
    if (*arrival_ps >= PCCL__LATEST_PS) {
        return pccl__fail(simulator->error, PCCL_ERR_OVERFLOW, "message %u would arrive later than %lld ps", number,
                          (long long)PCCL__LATEST_PS);
    }
    for (uint32_t i = 0; i < route->num_hops; i++) {
        simulator->capacity_free_ps[hops[i].capacity] = start_ps + hops[i].offset_ps + hops[i].hold_ps;
        if (simulator->link_bytes != NULL) {
            int64_t *crossed = &simulator->link_bytes[hops[i].link];
            *crossed = *crossed > INT64_MAX - bytes ? INT64_MAX : *crossed + bytes;
        }
    }
    if (simulator->start_ps != NULL) {
        simulator->start_ps[number] = start_ps + (route->num_hops > 0 ? hops[0].offset_ps : 0);
    }
    return 0;
}

static int compare_arrivals(const void *left, const void *right)
{
    const struct arrival *a = left, *b = right;
    if (a->arrival_ps != b->arrival_ps) {
        return a->arrival_ps < b->arrival_ps ? -1 : 1;
    }
    return a->message < b->message ? -1 : a->message > b->message;
}

/* As qsort, whose preparations take longer than sorting a few. */
static void sort_arrivals(struct arrival *arrivals, uint32_t count)
{
    if (count > FEW_ARRIVALS) {
        qsort(arrivals, count, sizeof *arrivals, compare_arrivals);
        return;
    }
    for (uint32_t i = 1; i < count; i++) {
        struct arrival moving = arrivals[i];
        uint32_t at = i;
        for (; at > 0 && compare_arrivals(&moving, &arrivals[at - 1]) < 0; at--) {
            arrivals[at] = arrivals[at - 1];
        }
        arrivals[at] = moving;
    }
}

/* Whether a message of the step that begins with message `first` costs its receiver time. */
static bool costs_receiver(const struct simulator *simulator, uint32_t first, uint32_t message)
{
    const struct route *route = &simulator->routes[simulator->schedule->messages[message].path];
    return route->endpoints.receive_overhead_ps > 0 || simulator->copying[message - first].in_all_ps > 0;
}

/* Lists what arrived in a step at CPUs that it costs time, by receiver; returns how many receivers[] there are. Those
 * of receivers[i] end at ends[receivers[i]] in arrivals[], where those of receivers[i + 1] begin. */
static uint32_t sort_by_receiver(struct simulator *simulator, uint32_t first, uint32_t end, const int64_t *arrival_ps)
{
    const struct pccl_message *messages = simulator->schedule->messages;
    uint32_t *ends = simulator->arrival_ends, num_receivers = 0, begin = 0;
    for (uint32_t i = first; i < end; i++) {
        const struct route *route = &simulator->routes[messages[i].path];
        if (costs_receiver(simulator, first, i) && ends[route->target]++ == 0) {
            simulator->receivers[num_receivers++] = route->target;
        }
    }
    for (uint32_t i = 0; i < num_receivers; i++) {
        uint32_t count = ends[simulator->receivers[i]];
        ends[simulator->receivers[i]] = begin;
        begin += count;
    }
    for (uint32_t i = first; i < end && num_receivers > 0; i++) {
        const struct route *route = &simulator->routes[messages[i].path];
        if (costs_receiver(simulator, first, i)) {
            simulator->arrivals[ends[route->target]++] = (struct arrival){arrival_ps[i - first], i};
        }
    }
    return num_receivers;
}

/* Receivers' CPUs take in what arrived in a step, first come, first served. What they copy they may have begun to copy
 * as soon as its first bytes came. */
static int receive_messages(struct simulator *simulator, uint32_t first, uint32_t end, int64_t *finish_ps)
{
    uint32_t num_receivers = sort_by_receiver(simulator, first, end, finish_ps), begin = 0;
    for (uint32_t i = 0; i < num_receivers; i++) {
        uint32_t target = simulator->receivers[i], last = simulator->arrival_ends[target];
        struct pccl__timeline *cpu = &simulator->cpus[simulator->cpu_of[target]];
        int64_t begin_ps;
        sort_arrivals(simulator->arrivals + begin, last - begin);
        for (; begin < last; begin++) {
            const struct arrival *arrival = &simulator->arrivals[begin];
            uint32_t path = simulator->schedule->messages[arrival->message].path;
            const struct pccl__copying *copying = &simulator->copying[arrival->message - first];
            int64_t overhead_ps = simulator->routes[path].endpoints.receive_overhead_ps;
            int64_t work_ps = pccl__add_limited(overhead_ps, copying->in_all_ps);
            int64_t first_byte_ps = arrival->arrival_ps - copying->arriving_ps;
            if (pccl__timeline_take(cpu, first_byte_ps, work_ps, &begin_ps) != 0) {
                return pccl__fail_memory(simulator->error);
            }
            finish_ps[arrival->message - first] = pccl__add_limited(begin_ps, work_ps);
        }
        simulator->arrival_ends[target] = 0;
    }
    return 0;
}

/* From now on the receiver can send on what it got. */
static void deliver(struct simulator *simulator, const struct pccl_message *message, int64_t finish_ps)
{
    uint32_t count, end = simulator->routes[message->path].target;
    const uint32_t *chunks = pccl__message_chunks(simulator->schedule, message, &count);
    if (simulator->ready_ps == NULL) {
        for (uint32_t i = 0; i < count; i++) {
            simulator->whereabouts[chunks[i]] = (struct whereabouts){finish_ps, end};
        }
        return;
    }
    int64_t *states = find_states(simulator, end);
    if (simulator->barrier) {
        states[0] = finish_ps > states[0] ? finish_ps : states[0];
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        int64_t *ready_ps = &states[chunks[i]];
        *ready_ps = finish_ps > *ready_ps || !message->reduce ? finish_ps : *ready_ps;
    }
}

static int run_step(struct simulator *simulator, uint32_t first, uint32_t end, int64_t *finish_ps, int64_t *makespan_ps)
{
    int status = 0;
    for (uint32_t i = first; i < end && status == 0; i++) {
        status = send_message(simulator, i, &finish_ps[i - first], &simulator->copying[i - first]);
    }
    if (status != 0) {
        return status;
    }
    status = receive_messages(simulator, first, end, finish_ps);
    for (uint32_t i = first; i < end && status == 0; i++) {
        const struct pccl_message *message = &simulator->schedule->messages[i];
        deliver(simulator, message, finish_ps[i - first]);
        note_turn(simulator, message->step, simulator->routes[message->path].target, finish_ps[i - first]);
        *makespan_ps = finish_ps[i - first] > *makespan_ps ? finish_ps[i - first] : *makespan_ps;
    }
    return status;
}

static int run_steps(struct simulator *simulator, bool keep_finish, int64_t *makespan_ps)
{
    const struct pccl_schedule *schedule = simulator->schedule;
    int status = 0;
    for (uint32_t first = 0, end = 0; first < schedule->num_messages && status == 0; first = end) {
        while (end < schedule->num_messages && schedule->messages[end].step == schedule->messages[first].step) {
            end++;
        }
        status = run_step(simulator, first, end, simulator->finish_ps + (keep_finish ? first : 0), makespan_ps);
    }
    if (status == 0 && *makespan_ps >= PCCL__LATEST_PS) {
        status = pccl__fail(simulator->error, PCCL_ERR_OVERFLOW, "the schedule would end later than %lld ps",
                            (long long)PCCL__LATEST_PS);
    }
    return status;
}

int pccl_simulate(const struct pccl_topology *topology, const struct pccl_schedule *schedule,
                  struct pccl_simulation *simulation, struct pccl_error *error)
{
    struct simulator simulator = {.topology = topology,
                                  .schedule = schedule,
                                  .error = error,
                                  .unlimited_processors = simulation->unlimited_processors,
                                  .finish_ps = simulation->finish_ps,
                                  .start_ps = simulation->start_ps,
                                  .link_bytes = simulation->link_bytes};
    bool keep_finish = simulation->finish_ps != NULL;
    simulation->makespan_ps = simulation->shared_ps = 0;
    if (simulation->link_bytes != NULL) {
        memset(simulation->link_bytes, 0, topology->num_links * sizeof(int64_t));
    }
    int status = prepare_routes(&simulator);
    if (status == 0) {
        status = prepare_state(&simulator);
    }
    if (status == 0) {
        status = prepare_steps(&simulator, keep_finish);
    }
    if (status == 0) {
        status = run_steps(&simulator, keep_finish, &simulation->makespan_ps);
        simulation->shared_ps = simulator.shared_ps;
    }
    free(simulator.vertex);
    free(simulator.routes);
    free(simulator.hops);
    free(simulator.capacity_free_ps);
    for (uint32_t end = 0; end < simulator.num_ends && simulator.cpus != NULL; end++) {
        pccl__timeline_free(&simulator.cpus[end]);
    }
    free(simulator.cpus);
    free(simulator.cpu_of);
    free(simulator.copying);
    free(simulator.ready_ps);
    free(simulator.whereabouts);
    free(simulator.paced);
    free(simulator.arrivals);
    free(simulator.receivers);
    free(simulator.arrival_ends);
    if (!keep_finish) {
        free(simulator.finish_ps);
    }
    return status;
}
