/* Figures of a topology: degree, distances, kinds of links. */
#include <stdlib.h>
#include <string.h>

#include "metrics.h"
#include "metrics_cut.h"

#define MAX_WORK UINT64_C(3000000000) /* steps of all searches together; above it distances are sampled */
#define NUM_SAMPLES 64

struct search {
    const struct pccl_topology *topology;
    uint32_t *hops;      /* [num_vertices], PCCL_NONE: not reached */
    int64_t *latency_ps; /* [num_vertices] smallest latency of any way */
    uint32_t *queue;     /* [num_vertices] */
    bool *queued;        /* [num_vertices] */
};

static void count_links(const struct pccl_topology *topology, struct metrics *metrics)
{
    for (uint32_t l = 0; l < topology->num_links; l++) {
        const struct pccl_link *link = &topology->links[l];
        uint32_t i = 0;
        while (i < metrics->num_classes && i < METRICS_MAX_CLASSES &&
               (metrics->classes[i].latency_ps != link->latency_ps ||
                metrics->classes[i].ps_per_mib != link->ps_per_mib)) {
            i++;
        }
        if (i < METRICS_MAX_CLASSES) {
            metrics->classes[i].latency_ps = link->latency_ps;
            metrics->classes[i].ps_per_mib = link->ps_per_mib;
            metrics->classes[i].count++;
        }
        if (i == metrics->num_classes) {
            metrics->num_classes++;
        }
    }
}

static int count_shared(const struct pccl_topology *topology, struct metrics *metrics)
{
    uint32_t *users = calloc((size_t)topology->num_capacities + 1, sizeof(*users));
    if (!users) {
        return PCCL_ERR_MEMORY;
    }
    for (uint32_t l = 0; l < topology->num_links; l++) {
        users[topology->links[l].capacity]++;
    }
    for (uint32_t l = 0; l < topology->num_links; l++) {
        metrics->num_shared += users[topology->links[l].capacity] > 1;
    }
    free(users);
    return PCCL_SUCCESS;
}

static void find_degrees(const struct pccl_topology *topology, struct metrics *metrics)
{
    metrics->min_degree = UINT32_MAX;
    for (uint32_t d = 0; d < topology->num_devices; d++) {
        uint32_t degree = topology->first_out[d + 1] - topology->first_out[d];
        metrics->min_degree = degree < metrics->min_degree ? degree : metrics->min_degree;
        metrics->max_degree = degree > metrics->max_degree ? degree : metrics->max_degree;
    }
}

/* Breadth first: hops from one device to all vertices. */
static void search_hops(struct search *search, uint32_t source)
{
    const struct pccl_topology *topology = search->topology;
    uint32_t head = 0, tail = 0;
    for (uint32_t v = 0; v < topology->num_vertices; v++) {
        search->hops[v] = PCCL_NONE;
    }
    search->hops[source] = 0;
    search->queue[tail++] = source;
    while (head < tail) {
        uint32_t v = search->queue[head++];
        for (uint32_t i = topology->first_out[v]; i < topology->first_out[v + 1]; i++) {
            uint32_t next = topology->links[topology->out_links[i]].target;
            if (search->hops[next] == PCCL_NONE) {
                search->hops[next] = search->hops[v] + 1;
                search->queue[tail++] = next;
            }
        }
    }
}

/* Smallest latencies from one device, by a queue of vertices whose latency has fallen (a ring; each at most once). */
static void search_latency(struct search *search, uint32_t source)
{
    const struct pccl_topology *topology = search->topology;
    uint32_t head = 0, count = 1;
    for (uint32_t v = 0; v < topology->num_vertices; v++) {
        search->latency_ps[v] = INT64_MAX;
    }
    search->latency_ps[source] = 0;
    search->queue[0] = source;
    while (count > 0) {
        uint32_t v = search->queue[head];
        head = (head + 1) % topology->num_vertices;
        count--;
        search->queued[v] = false;
        for (uint32_t i = topology->first_out[v]; i < topology->first_out[v + 1]; i++) {
            const struct pccl_link *link = &topology->links[topology->out_links[i]];
            int64_t latency_ps = search->latency_ps[v] + link->latency_ps;
            if (latency_ps >= search->latency_ps[link->target]) {
                continue;
            }
            search->latency_ps[link->target] = latency_ps;
            if (search->queued[link->target]) {
                continue;
            }
            search->queued[link->target] = true;
            search->queue[(head + count++) % topology->num_vertices] = link->target;
        }
    }
}

static void measure_from(struct search *search, uint32_t source, struct metrics *metrics, uint64_t *total_hops)
{
    search_hops(search, source);
    if (metrics->num_classes > 1) {
        search_latency(search, source);
    }
    for (uint32_t d = 0; d < search->topology->num_devices; d++) {
        uint32_t hops = search->hops[d];
        if (hops == PCCL_NONE) {
            metrics->unreachable++;
            continue;
        }
        int64_t latency_ps =
            metrics->num_classes > 1 ? search->latency_ps[d] : (int64_t)hops * metrics->classes[0].latency_ps;
        *total_hops += hops;
        metrics->diameter_hops = hops > metrics->diameter_hops ? hops : metrics->diameter_hops;
        metrics->diameter_ps = latency_ps > metrics->diameter_ps ? latency_ps : metrics->diameter_ps;
    }
}

static int measure_distances(const struct pccl_topology *topology, struct metrics *metrics)
{
    struct search search = {.topology = topology};
    search.hops = malloc((size_t)topology->num_vertices * sizeof(*search.hops));
    search.latency_ps = malloc((size_t)topology->num_vertices * sizeof(*search.latency_ps));
    search.queue = malloc((size_t)topology->num_vertices * sizeof(*search.queue));
    search.queued = calloc(topology->num_vertices, sizeof(*search.queued));
    int status = search.hops && search.latency_ps && search.queue && search.queued ? PCCL_SUCCESS : PCCL_ERR_MEMORY;
    if (!status) {
        uint32_t step = 1, sources = 0;
        uint64_t total_hops = 0;
        uint64_t steps = (uint64_t)topology->num_vertices + topology->num_links; /* of one search */
        if (topology->num_devices * steps > MAX_WORK) {
            metrics->sampled = true;
            step = topology->num_devices / NUM_SAMPLES;
        }
        for (uint32_t d = 0; d < topology->num_devices; d += step, sources++) {
            measure_from(&search, d, metrics, &total_hops);
        }
        uint64_t pairs = (uint64_t)sources * (topology->num_devices - 1) - metrics->unreachable;
        metrics->mean_hops = pairs ? (double)total_hops / (double)pairs : 0;
    }
    free(search.queued);
    free(search.queue);
    free(search.latency_ps);
    free(search.hops);
    return status;
}

static int compare_hashes(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return left < right ? -1 : left > right;
}

static uint64_t mix(uint64_t value)
{
    value = (value ^ (value >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    value = (value ^ (value >> 27)) * UINT64_C(0x94d049bb133111eb);
    return value ^ (value >> 31);
}

/* One round of colour refinement: a vertex's colour becomes its own and the multiset of its neighbours'. */
static void refine(const struct pccl_topology *topology, const uint64_t *colour, uint64_t *refined)
{
    for (uint32_t v = 0; v < topology->num_vertices; v++) {
        uint64_t out = 0, in = 0;
        for (uint32_t i = topology->first_out[v]; i < topology->first_out[v + 1]; i++) {
            const struct pccl_link *link = &topology->links[topology->out_links[i]];
            out += mix(colour[link->target] + mix((uint64_t)link->latency_ps) + 3 * mix((uint64_t)link->ps_per_mib));
        }
        for (uint32_t i = topology->first_in[v]; i < topology->first_in[v + 1]; i++) {
            const struct pccl_link *link = &topology->links[topology->in_links[i]];
            in += mix(colour[link->source] + 5 * mix((uint64_t)link->latency_ps) + 7 * mix((uint64_t)link->ps_per_mib));
        }
        refined[v] = mix(colour[v] + 11 * mix(out) + 13 * mix(in));
    }
}

static uint32_t count_distinct(const uint64_t *colour, uint64_t *sorted, uint32_t count)
{
    uint32_t distinct = 0;
    memcpy(sorted, colour, (size_t)count * sizeof(*sorted));
    qsort(sorted, count, sizeof(*sorted), compare_hashes);
    for (uint32_t i = 0; i < count; i++) {
        distinct += i == 0 || sorted[i] != sorted[i - 1];
    }
    return distinct;
}

/* Refines until the number of kinds of vertex stops growing. */
static int count_kinds(const struct pccl_topology *topology, struct metrics *metrics)
{
    size_t bytes = (size_t)topology->num_vertices * sizeof(uint64_t);
    uint64_t *colour = malloc(bytes), *refined = malloc(bytes), *sorted = malloc(bytes);
    int status = colour && refined && sorted ? PCCL_SUCCESS : PCCL_ERR_MEMORY;
    if (!status) {
        uint32_t kinds = 0, before;
        for (uint32_t v = 0; v < topology->num_vertices; v++) {
            colour[v] = topology->vertices[v].kind + 2 * mix((uint64_t)topology->vertices[v].send_overhead_ps) +
                        3 * mix((uint64_t)topology->vertices[v].receive_overhead_ps);
        }
        do {
            before = kinds;
            refine(topology, colour, refined);
            memcpy(colour, refined, bytes);
            kinds = count_distinct(colour, sorted, topology->num_vertices);
        } while (kinds > before);
        metrics->num_kinds = count_distinct(colour, sorted, topology->num_devices);
    }
    free(sorted);
    free(refined);
    free(colour);
    return status;
}

int metrics_compute(const struct pccl_topology *topology, struct metrics *metrics)
{
    *metrics = (struct metrics){0};
    count_links(topology, metrics);
    find_degrees(topology, metrics);
    int status = count_shared(topology, metrics);
    if (!status) {
        status = measure_distances(topology, metrics);
    }
    if (!status) {
        status = count_kinds(topology, metrics);
    }
    if (!status) {
        status = metrics_bisect(topology, metrics);
    }
    return status;
}
