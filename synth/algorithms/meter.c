#include "algorithms/meter.h"

#include <stdlib.h>

#include "algorithms/exchange.h"
#include "base/array.h"

bool pccl__meter_open(struct pccl__meter *meter, const struct pccl__problem *problem)
{
    uint32_t capacities = problem->topology->num_capacities;
    *meter = (struct pccl__meter){.problem = problem};
    meter->load = pccl__array_new(capacities, sizeof *meter->load);
    meter->order = pccl__array_new((size_t)problem->num_ranks + capacities, sizeof *meter->order);
    if (meter->load == NULL || meter->order == NULL ||
        pccl__order_make(problem, PCCL__VARIANT_ORDER(problem->variant), meter->order, NULL) != 0) {
        pccl__problem_starve(problem);
        return false;
    }
    meter->touched = meter->order + problem->num_ranks;
    return true;
}

void pccl__meter_close(struct pccl__meter *meter)
{
    free(meter->order);
    free(meter->load);
}

/* Adds one message; false if it has no route. */
bool pccl__meter_message(struct pccl__meter *meter, struct pccl__volley *volley, uint32_t from, uint32_t to)
{
    const struct pccl__route *route = pccl__route(meter->problem, from, to);
    if (route == NULL) {
        return false;
    }
    const uint32_t *links = pccl__route_links(meter->problem, route);
    volley->meets |= route->num_links > 1;
    for (uint32_t i = 0; i < route->num_links; i++) {
        const struct pccl_link *link = &meter->problem->topology->links[links[i]];
        int64_t *load = &meter->load[link->capacity];
        if (*load == 0) {
            meter->touched[meter->num_touched++] = link->capacity;
        }
        *load = pccl__add_ps(*load, link->ps_per_mib > 0 ? link->ps_per_mib : 1);
        volley->load_ps_per_mib = *load > volley->load_ps_per_mib ? *load : volley->load_ps_per_mib;
    }
    const struct pccl_endpoints *ends = pccl__route_endpoints(meter->problem, route);
    int64_t fixed_ps = ends->send_overhead_ps + ends->receive_overhead_ps + route->latency_ps;
    if (ends->rendezvous_ps > 0) {
        bool earlier = volley->rendezvous_ps == 0 || ends->eager_bytes < volley->eager_bytes;
        volley->eager_bytes = earlier ? ends->eager_bytes : volley->eager_bytes;
        volley->rendezvous_ps =
            ends->rendezvous_ps > volley->rendezvous_ps ? ends->rendezvous_ps : volley->rendezvous_ps;
    }
    volley->fixed_ps = fixed_ps > volley->fixed_ps ? fixed_ps : volley->fixed_ps;
    return true;
}

void pccl__meter_end(struct pccl__meter *meter)
{
    while (meter->num_touched > 0) {
        meter->load[meter->touched[--meter->num_touched]] = 0;
    }
}

int64_t pccl__volley_ps(const struct pccl__volley *volley, int64_t bytes)
{
    int64_t fixed_ps = volley->fixed_ps;
    if (volley->rendezvous_ps > 0 && bytes > volley->eager_bytes) {
        fixed_ps = pccl__add_ps(fixed_ps, volley->rendezvous_ps);
    }
    return pccl__add_ps(fixed_ps, pccl_transfer_ps(bytes, volley->load_ps_per_mib));
}

/* Round k of a pattern among the first `count` positions. */
bool pccl__meter_round(struct pccl__meter *meter, enum pccl__pattern pattern, uint32_t count, uint32_t k,
                        struct pccl__volley *volley)
{
    bool complete = true;
    *volley = (struct pccl__volley){0};
    for (uint32_t v = 0; v < count && complete; v++) {
        uint32_t peer = pccl__pattern_peer(pattern, count, v, k);
        complete = peer != PCCL_NONE &&
                   (peer == v || pccl__meter_message(meter, volley, meter->order[peer], meter->order[v]));
    }
    pccl__meter_end(meter);
    return complete;
}

/* Every position hears from the one `distance` further round the ring. */
bool pccl__meter_shift(struct pccl__meter *meter, uint32_t distance, struct pccl__volley *volley)
{
    bool complete = true;
    uint32_t n = meter->problem->num_ranks;
    *volley = (struct pccl__volley){0};
    for (uint32_t v = 0; v < n && complete; v++) {
        complete = pccl__meter_message(meter, volley, meter->order[(v + distance) % n], meter->order[v]);
    }
    pccl__meter_end(meter);
    return complete;
}

/* Bytes of one block where the collective has n of them. */
int64_t pccl__meter_block(const struct pccl__problem *problem)
{
    bool one_block = problem->collective == PCCL_ALLREDUCE || problem->collective == PCCL_BROADCAST ||
                     problem->collective == PCCL_REDUCE;
    return one_block ? (problem->block_bytes + problem->num_ranks - 1) / problem->num_ranks : problem->block_bytes;
}

/* What is to be done around an all-gather that takes gather_ps (see pccl__gatherer_serve). */
int64_t pccl__meter_gather(const struct pccl__problem *problem, int64_t gather_ps)
{
    if (gather_ps < 0 || problem->collective == PCCL_ALLGATHER || problem->collective == PCCL_BARRIER ||
        problem->collective == PCCL_REDUCE_SCATTER) {
        return gather_ps;
    }
    if (problem->collective == PCCL_ALLREDUCE) {
        return pccl__times_ps(gather_ps, 2);
    }
    uint32_t away = problem->root == 0 ? problem->num_ranks - 1 : 0;
    int64_t far = pccl__message_ps(problem, problem->root, away, 0);
    int64_t whole = pccl__message_ps(problem, problem->root, away, problem->block_bytes);
    far = pccl__times_ps(far, pccl__pattern_rounds(problem->num_ranks) - 1);
    return pccl__add_ps(gather_ps, pccl__add_ps(whole, far));
}

/* CPU time of one message at both ends together. */
int64_t pccl__overheads_ps(const struct pccl__problem *problem)
{
    const struct pccl_vertex *vertex = &problem->topology->vertices[problem->request->devices[0]];
    return vertex->send_overhead_ps + vertex->receive_overhead_ps;
}

