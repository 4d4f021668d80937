/* Reductions from spreading: see mirror.h. */
#include "algorithms/mirror.h"

#include <stdlib.h>

#include "algorithms/tournament.h"
#include "base/array.h"
#include "base/error.h"

/* Whether every link has one the other way round at the same cost: then a mirror image of a schedule on the
 * topology is as good as one planned on its reverse. */
static bool is_symmetric(const struct pccl_topology *topology)
{
    for (uint32_t l = 0; l < topology->num_links; l++) {
        const struct pccl_link *link = &topology->links[l];
        bool found = false;
        for (uint32_t i = topology->first_out[link->target]; i < topology->first_out[link->target + 1] && !found; i++) {
            const struct pccl_link *back = &topology->links[topology->out_links[i]];
            found = back->target == link->source && back->latency_ps == link->latency_ps &&
                    back->ps_per_mib == link->ps_per_mib;
        }
        if (!found) {
            return false;
        }
    }
    return true;
}

static int run(const struct pccl__problem *problem, const struct pccl_topology *topology,
               const struct pccl_request *request, uint32_t pieces, pccl__algorithm *spread,
               struct pccl_schedule **schedule, struct pccl_error *error)
{
    struct pccl__problem spreading;
    int status = pccl__problem_open(&spreading, topology, request, &problem->options, error);
    if (status == 0) {
        spreading.method = problem->method;
        spreading.variant = problem->variant;
        status = spread(&spreading, pieces, schedule, error);
    }
    pccl__problem_close(&spreading);
    return status;
}

/* The mirror image of what `spread` makes of the request on the reversed graph. forward: what it made on the graph
 * itself, or NULL. */
static int mirror(const struct pccl__problem *problem, const struct pccl_request *spreading,
                  const struct pccl_request *reducing, uint32_t pieces, pccl__algorithm *spread,
                  const struct pccl_schedule *forward, struct pccl_schedule **schedule, struct pccl_error *error)
{
    struct pccl_topology *reversed = NULL;
    struct pccl_schedule *made = NULL;
    struct pccl_demand *demand = NULL;
    int status = 0;
    if (!is_symmetric(problem->topology)) {
        status = pccl_topology_reverse(problem->topology, &reversed, error);
        if (status == 0) {
            status = run(problem, reversed, spreading, pieces, spread, &made, error);
        }
    } else if (forward == NULL) {
        status = run(problem, problem->topology, spreading, pieces, spread, &made, error);
    }
    if (status == 0) {
        status = pccl_demand_create(reducing, pieces, &demand, error);
    }
    if (status == 0) {
        status =
            pccl__schedule_reverse(problem, made != NULL ? made : forward, demand, problem->method, schedule, error);
    }
    pccl_schedule_free(made);
    pccl_topology_free(reversed);
    return status;
}

/* Block sizes of a vector cut into one block per rank. */
static void cut_vector(int64_t bytes, uint32_t num_ranks, int64_t *blocks)
{
    for (uint32_t rank = 0; rank < num_ranks; rank++) {
        int64_t begin = (int64_t)((unsigned __int128)(uint64_t)bytes * rank / num_ranks);
        blocks[rank] = (int64_t)((unsigned __int128)(uint64_t)bytes * (rank + 1) / num_ranks) - begin;
    }
}

static int join(const struct pccl__problem *problem, uint32_t pieces, pccl__algorithm *spread,
                struct pccl_schedule **schedule, struct pccl_error *error)
{
    uint64_t num_blocks = (uint64_t)problem->num_ranks * pieces;
    if (num_blocks > UINT32_MAX) {
        return pccl__reject(error, "too many pieces");
    }
    int64_t *blocks = pccl__array_new(problem->num_ranks, sizeof *blocks);
    if (blocks == NULL) {
        return pccl__fail_memory(error);
    }
    cut_vector(problem->request->bytes, problem->num_ranks, blocks);
    struct pccl_request spreading = *problem->request, reducing;
    spreading.collective = PCCL_ALLGATHER;
    spreading.block_bytes = blocks;
    reducing = spreading;
    reducing.collective = PCCL_REDUCE_SCATTER;
    struct pccl_schedule *gathered = NULL, *scattered = NULL;
    struct pccl_demand *demand = NULL;
    int status = run(problem, problem->topology, &spreading, pieces, spread, &gathered, error);
    if (status == 0) {
        status = problem->apart
                     ? run(problem, problem->topology, &reducing, pieces, pccl__tournament_algorithm, &scattered, error)
                     : mirror(problem, &spreading, &reducing, pieces, spread, gathered, &scattered, error);
    }
    if (status == 0) {
        status = pccl_demand_create(problem->request, (uint32_t)num_blocks, &demand, error);
    }
    if (status == 0) {
        status = pccl__schedule_join(problem, scattered, gathered, demand, problem->method, schedule, error);
    }
    pccl_schedule_free(gathered);
    pccl_schedule_free(scattered);
    free(blocks);
    return status;
}

/* --- custom reductions -------------------------------------------------------------------------------------------- */

/* The parts of a custom reduction: each chunk is combined at one of its targets, in turn, which then has it spread. */
struct parts {
    struct pccl_chunk *spreading, *reducing, *casting; /* [num_chunks] */
    bool single; /* no chunk has a second target: nothing is left to spread */
};

static int split_chunks(const struct pccl_demand *pattern, struct parts *parts)
{
    uint32_t count = pattern->num_chunks;
    parts->spreading = pccl__array_new((uint64_t)count * 3, sizeof *parts->spreading);
    if (parts->spreading == NULL) {
        return PCCL_ERR_MEMORY;
    }
    parts->reducing = parts->spreading + count;
    parts->casting = parts->reducing + count;
    parts->single = true;
    for (uint32_t c = 0; c < count; c++) {
        const struct pccl_chunk *chunk = &pattern->chunks[c];
        uint32_t root = chunk->first_target + (chunk->num_targets > 0 ? c % chunk->num_targets : 0);
        uint32_t num_roots = chunk->num_targets > 0;
        parts->spreading[c] =
            (struct pccl_chunk){chunk->bytes, root, num_roots, chunk->first_source, chunk->num_sources};
        parts->reducing[c] =
            (struct pccl_chunk){chunk->bytes, chunk->first_source, chunk->num_sources, root, num_roots};
        parts->casting[c] = (struct pccl_chunk){chunk->bytes, root, num_roots, chunk->first_target, chunk->num_targets};
        parts->single = parts->single && chunk->num_targets <= 1;
    }
    return 0;
}

static int reduce_custom(const struct pccl__problem *problem, uint32_t pieces, pccl__algorithm *spread,
                         struct pccl_schedule **schedule, struct pccl_error *error)
{
    const struct pccl_demand *pattern = problem->request->custom;
    struct pccl_demand patterns[3] = {*pattern, *pattern, *pattern}, *demand = NULL;
    struct pccl_request requests[3] = {*problem->request, *problem->request, *problem->request};
    struct pccl_schedule *reduced = NULL, *cast = NULL;
    struct parts parts;
    if (split_chunks(pattern, &parts) != 0) {
        return pccl__fail_memory(error);
    }
    patterns[0].chunks = parts.spreading;
    patterns[1].chunks = parts.reducing;
    patterns[2].chunks = parts.casting;
    patterns[0].reduces = patterns[2].reduces = false;
    for (uint32_t i = 0; i < 3; i++) {
        requests[i].custom = &patterns[i];
    }
    int status = mirror(problem, &requests[0], &requests[1], pieces, spread, NULL, &reduced, error);
    if (status == 0 && !parts.single) {
        status = run(problem, problem->topology, &requests[2], pieces, spread, &cast, error);
        if (status == 0) {
            status = pccl_demand_create(problem->request, pieces, &demand, error);
        }
        if (status == 0) {
            status = pccl__schedule_join(problem, reduced, cast, demand, problem->method, schedule, error);
        }
    } else if (status == 0) {
        *schedule = reduced;
        reduced = NULL;
    }
    pccl_schedule_free(cast);
    pccl_schedule_free(reduced);
    free(parts.spreading);
    return status;
}

int pccl__mirror_serve(const struct pccl__problem *problem, uint32_t pieces, pccl__algorithm *spread,
                       struct pccl_schedule **schedule, struct pccl_error *error)
{
    bool custom = problem->collective == PCCL_CUSTOM && problem->request->custom->reduces;
    if (!custom && !pccl_collective_is_reduction(problem->collective)) {
        return spread(problem, pieces, schedule, error);
    }
    if (problem->ordered && !problem->apart) {
        return pccl__reject(error, "does not combine in rank order, as the operator needs");
    }
    if (custom) {
        return reduce_custom(problem, pieces, spread, schedule, error);
    }
    if (problem->collective == PCCL_ALLREDUCE) {
        return join(problem, pieces, spread, schedule, error);
    }
    struct pccl_request spreading = *problem->request;
    spreading.collective = problem->collective == PCCL_REDUCE ? PCCL_BROADCAST : PCCL_ALLGATHER;
    return mirror(problem, &spreading, problem->request, pieces, spread, NULL, schedule, error);
}
