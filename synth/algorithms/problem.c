/* The problem all algorithms are given, and its cache of routes between ranks. */
#include "algorithms/meter.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"

/* A row per sender, made when it first sends: most algorithms need few pairs, and a group may be large. */
struct pccl__routes {
    struct pccl__route **rows; /* [num_ranks], each NULL or [num_ranks] */
    uint32_t num_links, links_capacity;
    uint32_t *links;
    struct pccl_endpoints *endpoints; /* all that differ, as they are met */
    uint32_t num_endpoints, endpoints_capacity;
    uint32_t route_limit;
    uint32_t num_writers; /* given out so far; 0 is no writer */
    uint32_t *place;      /* see pccl__problem_place */
    struct pccl__memo memo; /* see pccl__problem_memo */
    bool starved;           /* see pccl__problem_starve */
};

static int check_request(const struct pccl_topology *topology, const struct pccl_request *request,
                         struct pccl_error *error)
{
    if ((int)request->collective < 0 || request->collective >= PCCL_NUM_COLLECTIVES) {
        return pccl__fail(error, PCCL_ERR_INVALID, "collective %d does not exist", (int)request->collective);
    }
    if (request->num_ranks < 2 || request->num_ranks > topology->num_devices || request->devices == NULL) {
        return pccl__fail(error, PCCL_ERR_INVALID,
                          "a group of %u ranks was asked for; this topology takes 2 to %u, each on its own device",
                          request->num_ranks, topology->num_devices);
    }
    if (pccl_collective_is_rooted(request->collective) && request->root >= request->num_ranks) {
        return pccl__fail(error, PCCL_ERR_INVALID, "root %u is not one of %u ranks", request->root, request->num_ranks);
    }
    if (request->collective == PCCL_CUSTOM && request->custom == NULL) {
        return pccl__fail(error, PCCL_ERR_INVALID, "a custom collective was asked for without its pattern");
    }
    if (request->bytes < 0) {
        return pccl__fail(error, PCCL_ERR_INVALID, "%" PRId64 " bytes were asked for; a size is 0 or more",
                          request->bytes);
    }
    for (uint32_t rank = 0; rank < request->num_ranks; rank++) {
        if (request->devices[rank] >= topology->num_devices) {
            return pccl__fail(error, PCCL_ERR_INVALID, "rank %u sits on device %u, but the topology has only %u", rank,
                              request->devices[rank], topology->num_devices);
        }
    }
    return 0;
}

static int64_t largest_block(const struct pccl_request *request)
{
    int64_t largest = 0;
    if (request->collective == PCCL_BARRIER) {
        return 0;
    }
    if (request->collective == PCCL_CUSTOM) {
        for (uint32_t i = 0; i < request->custom->num_chunks; i++) {
            largest = request->custom->chunks[i].bytes > largest ? request->custom->chunks[i].bytes : largest;
        }
        return largest;
    }
    if (request->block_bytes == NULL) {
        return request->bytes;
    }
    size_t count = request->num_ranks;
    if (request->collective == PCCL_ALLTOALL) {
        count *= request->num_ranks;
    }
    for (size_t i = 0; i < count; i++) {
        largest = request->block_bytes[i] > largest ? request->block_bytes[i] : largest;
    }
    return largest;
}

int pccl__problem_open(struct pccl__problem *problem, const struct pccl_topology *topology,
                       const struct pccl_request *request, const struct pccl_options *options,
                       struct pccl_error *error)
{
    *problem = (struct pccl__problem){.topology = topology, .request = request};
    int status = check_request(topology, request, error);
    if (status != 0) {
        return status;
    }
    if (options != NULL) {
        problem->options = *options;
    }
    problem->num_ranks = request->num_ranks;
    problem->collective = request->collective;
    problem->root = pccl_collective_is_rooted(request->collective) ? request->root : 0;
    problem->block_bytes = largest_block(request);
    const struct pccl_demand *custom = request->collective == PCCL_CUSTOM ? request->custom : NULL;
    if (custom != NULL ? custom->reduces : pccl_collective_is_reduction(request->collective)) {
        problem->reproducible = request->reproducible || (custom != NULL && custom->reproducible);
        problem->ordered = problem->reproducible || (custom != NULL ? custom->ordered : request->ordered);
    }
    problem->routes = pccl__array_new(1, sizeof *problem->routes);
    if (problem->routes == NULL) {
        return pccl__fail_memory(error);
    }
    problem->routes->route_limit = pccl_topology_route_limit(topology);
    problem->routes->rows = pccl__array_new(problem->num_ranks, sizeof *problem->routes->rows);
    return problem->routes->rows != NULL ? 0 : pccl__fail_memory(error);
}

void pccl__problem_close(struct pccl__problem *problem)
{
    if (problem->routes == NULL) {
        return;
    }
    for (uint32_t rank = 0; problem->routes->rows != NULL && rank < problem->num_ranks; rank++) {
        free(problem->routes->rows[rank]);
    }
    free(problem->routes->rows);
    free(problem->routes->endpoints);
    free(problem->routes->links);
    free(problem->routes->place);
    free(problem->routes);
    problem->routes = NULL;
}

#define MOST_LINKS ((1u << 20) - 1)
#define MOST_ENDPOINTS (1u << 12)

/* The number of the route's endpoints among those met so far. Networks have few kinds; beyond the limit the last one
 * stands in. false when out of memory. */
static bool number_endpoints(struct pccl__routes *routes, const struct pccl_endpoints *endpoints,
                             struct pccl__route *route)
{
    uint32_t number = 0;
    while (number < routes->num_endpoints &&
           memcmp(&routes->endpoints[number], endpoints, sizeof *endpoints) != 0) {
        number++;
    }
    if (number == MOST_ENDPOINTS) {
        number--;
    } else if (number == routes->num_endpoints) {
        struct pccl_endpoints *grown = pccl__array_grow(routes->endpoints, &routes->endpoints_capacity,
                                                        (uint64_t)number + 1, sizeof *grown);
        if (grown == NULL) {
            return false;
        }
        routes->endpoints = grown;
        grown[routes->num_endpoints++] = *endpoints;
    }
    route->endpoints = number & (MOST_ENDPOINTS - 1);
    return true;
}

/* Asks the topology. An unreachable pair is remembered by first_link = PCCL_NONE. */
static void find_route(const struct pccl__problem *problem, uint32_t from, uint32_t to, struct pccl__route *route)
{
    struct pccl__routes *routes = problem->routes;
    const struct pccl_topology *topology = problem->topology;
    uint32_t *grown = pccl__array_grow(routes->links, &routes->links_capacity,
                                       (uint64_t)routes->num_links + routes->route_limit, sizeof *routes->links);
    if (grown == NULL) {
        pccl__problem_starve(problem);
        return;
    }
    routes->links = grown;
    const uint32_t *devices = problem->request->devices;
    int count = pccl_topology_route(topology, devices[from], devices[to], grown + routes->num_links,
                                    routes->route_limit);
    struct pccl_endpoints endpoints;
    if (count <= 0 || (uint32_t)count > MOST_LINKS) {
        route->first_link = PCCL_NONE;
        return;
    }
    pccl_topology_endpoints(topology, grown + routes->num_links, (uint32_t)count, &endpoints);
    if (!number_endpoints(routes, &endpoints, route)) {
        pccl__problem_starve(problem);
        return;
    }
    route->first_link = routes->num_links;
    route->num_links = (uint32_t)count & MOST_LINKS;
    for (uint32_t i = 0; i < route->num_links; i++) {
        const struct pccl_link *link = &topology->links[grown[routes->num_links + i]];
        route->latency_ps += link->latency_ps;
        if (link->ps_per_mib > route->ps_per_mib) {
            route->ps_per_mib = link->ps_per_mib;
        }
    }
    routes->num_links += route->num_links;
}

struct pccl__route *pccl__route(const struct pccl__problem *problem, uint32_t from, uint32_t to)
{
    struct pccl__route **row = &problem->routes->rows[from];
    if (*row == NULL) {
        *row = pccl__array_new(problem->num_ranks, sizeof **row);
        if (*row == NULL) {
            pccl__problem_starve(problem);
            return NULL;
        }
    }
    struct pccl__route *route = &(*row)[to];
    if (route->num_links == 0 && route->first_link != PCCL_NONE) {
        find_route(problem, from, to, route);
    }
    return route->num_links > 0 ? route : NULL;
}

const uint32_t *pccl__route_links(const struct pccl__problem *problem, const struct pccl__route *route)
{
    return problem->routes->links + route->first_link;
}

const struct pccl_endpoints *pccl__route_endpoints(const struct pccl__problem *problem,
                                                   const struct pccl__route *route)
{
    return &problem->routes->endpoints[route->endpoints];
}

int64_t pccl__message_ps(const struct pccl__problem *problem, uint32_t from, uint32_t to, int64_t bytes)
{
    const struct pccl__route *route = pccl__route(problem, from, to);
    if (route == NULL) {
        return INT64_MAX / 4;
    }
    const struct pccl_endpoints *ends = pccl__route_endpoints(problem, route);
    int64_t ps = ends->send_overhead_ps + ends->receive_overhead_ps + route->latency_ps;
    ps += bytes > ends->eager_bytes ? ends->rendezvous_ps : 0;
    int64_t transfer = pccl_transfer_ps(bytes, route->ps_per_mib);
    return ps < INT64_MAX / 4 - transfer ? ps + transfer : INT64_MAX / 4;
}

uint32_t pccl__problem_next_writer(const struct pccl__problem *problem)
{
    return ++problem->routes->num_writers;
}

void pccl__problem_starve(const struct pccl__problem *problem)
{
    problem->routes->starved = true;
}

bool pccl__problem_is_starved(const struct pccl__problem *problem)
{
    return problem->routes->starved;
}

uint32_t **pccl__problem_place(const struct pccl__problem *problem)
{
    return &problem->routes->place;
}

struct pccl__memo *pccl__problem_memo(const struct pccl__problem *problem)
{
    return &problem->routes->memo;
}

int pccl__reject(struct pccl_error *error, const char *why)
{
    return pccl__fail(error, PCCL_ERR_UNSUPPORTED, "%s", why);
}
