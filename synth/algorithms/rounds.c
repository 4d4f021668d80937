/* Rounds: an all-to-all in which every rank sends to one and hears from one other at a time, and does not go on before
 * it has heard.
 *
 * Ranks that send all they have at once meet at links and receivers in an order that nobody chose; what then runs dry
 * early cannot make up for it later. Here the ranks keep one another in step. Members at one switch (or on one host)
 * form a cluster. In a round all members of a cluster send to those of one other, so that the link between two clusters
 * is shared by as many messages as in any other round. What stays inside clusters, which would leave such links idle if
 * it came alone, shares the steps of other rounds.
 *
 * A rank that is late by part of a message meets another one's message at its target, both take longer, and so more
 * ranks are late. Blocks whose messages take much longer than what lies between two messages are therefore cut into
 * slices, each of which goes once through all rounds. Where clusters share links, slices are cut in two if that pays:
 * then a link has the second half of a round to carry while the first half of the next is being made ready. Between
 * hosts at one switch that would be a message more that waits at a late one. */
#include <stdlib.h>

#include "algorithms/meter.h"
#include "algorithms/portfolio.h"
#include "base/array.h"
#include "base/error.h"
#include "topology/placement.h"

/* A message of a slice takes at least so many times as long as what lies between two messages: slices cost no more than
 * such a part of the time. */
#define SLICE_TURNS 40
/* Nothing is gained by shorter ones: a new TCP connection sends 10 packets before it waits for acknowledgements, which
 * queue behind data the other way. A plan serves blocks of up to twice the size it is made for. */
#define SLICE_BYTES 8192

/* How blocks are cut: slices one after the other, of `halves` pieces each. */
struct cut {
    uint32_t slices, halves;
};

/* Everybody sends `halves` pieces from `first_piece` on to whom is so many clusters and so many members further. */
struct round {
    uint32_t first_step, first_piece, halves;
    uint32_t clusters, members;
};

/* What holds the members of a cluster together: their host, or the first switch on their way. */
static uint32_t find_root(const struct pccl__problem *problem, uint32_t rank)
{
    const struct pccl_topology *topology = problem->topology;
    const struct pccl__placement *placement = pccl__topology_placement(topology);
    uint32_t device = problem->request->devices[rank];
    if (placement != NULL) {
        return placement->places[device].host;
    }
    if (topology->first_out[device] == topology->first_out[device + 1]) {
        return device;
    }
    return topology->links[topology->out_links[topology->first_out[device]]].target;
}

/* How many ranks each cluster has; all of them together if clusters differ in size. `order` keeps clusters together. */
static uint32_t cluster_size(const struct pccl__problem *problem, const uint32_t *order)
{
    uint32_t n = problem->num_ranks, size = 1;
    while (size < n && find_root(problem, order[size]) == find_root(problem, order[0])) {
        size++;
    }
    for (uint32_t v = 0; v < n && n % size == 0; v++) {
        bool begins = v == 0 || find_root(problem, order[v]) != find_root(problem, order[v - 1]);
        if (begins != (v % size == 0)) {
            return n;
        }
    }
    return n % size == 0 ? size : n;
}

/* Whom position v sends to: so many clusters and so many members further, each round the end. */
static uint32_t find_target(uint32_t n, uint32_t size, uint32_t v, uint32_t clusters, uint32_t members)
{
    return (v / size + clusters) % (n / size) * size + (v % size + members) % size;
}

static struct cut find_cut(uint32_t num_ranks, uint32_t size, uint32_t pieces)
{
    uint32_t halves = size < num_ranks && pieces % 2 == 0 ? 2 : 1;
    return (struct cut){pieces / halves, halves};
}

static void write_round(struct pccl__writer *writer, const uint32_t *order, uint32_t size, struct round round)
{
    uint32_t n = writer->problem->num_ranks;
    for (uint32_t half = 0; half < round.halves; half++) {
        for (uint32_t v = 0; v < n; v++) {
            uint32_t from = order[v], to = order[find_target(n, size, v, round.clusters, round.members)];
            uint32_t chunk = (from * n + to) * writer->pieces + round.first_piece + half;
            pccl__writer_send(writer, round.first_step + half, from, to, &chunk, 1);
        }
    }
}

/* One slice: rounds between clusters; those inside, if there are any, are spread among them and share their steps. */
static void write_slice(struct pccl__writer *writer, const uint32_t *order, uint32_t size, uint32_t slice,
                        uint32_t halves)
{
    uint32_t n = writer->problem->num_ranks, across = n - size, num_rounds = across > 0 ? across : n - 1;
    struct round round = {.first_piece = slice * halves, .halves = halves};
    for (uint32_t k = 0; k < across; k++) {
        round.first_step = (slice * num_rounds + k) * halves;
        round.clusters = 1 + k / size;
        round.members = k % size;
        write_round(writer, order, size, round);
    }
    round.clusters = 0;
    for (uint32_t k = 1; k < size; k++) {
        uint32_t number = across > 0 ? (uint32_t)((uint64_t)k * across / size) : k - 1;
        round.first_step = (slice * num_rounds + number) * halves;
        round.members = k;
        write_round(writer, order, size, round);
    }
}

static bool shares_one_host(const struct pccl__problem *problem)
{
    bool one = pccl__topology_placement(problem->topology) != NULL;
    for (uint32_t rank = 1; rank < problem->num_ranks && one; rank++) {
        one = find_root(problem, rank) == find_root(problem, 0);
    }
    return one;
}

int pccl__rounds_algorithm(const struct pccl__problem *problem, uint32_t pieces, struct pccl_schedule **schedule,
                           struct pccl_error *error)
{
    if (problem->topology->num_vertices == problem->topology->num_devices) {
        return pccl__reject(error, "only for devices at switches");
    }
    if (shares_one_host(problem)) {
        return pccl__reject(error, "only between hosts");
    }
    uint32_t *order = pccl__array_new(problem->num_ranks, sizeof *order);
    if (order == NULL) {
        return pccl__fail_memory(error);
    }
    int status = pccl__order_make(problem, PCCL__BY_PLACE, order, error);
    if (status == 0) {
        uint32_t size = cluster_size(problem, order);
        struct cut cut = find_cut(problem->num_ranks, size, pieces);
        struct pccl__writer writer;
        pccl__writer_open(&writer, problem, pieces, pieces, error);
        for (uint32_t slice = 0; slice < cut.slices; slice++) {
            write_slice(&writer, order, size, slice, cut.halves);
        }
        if (writer.status == 0) {
            writer.schedule->pace = cut.halves;
        }
        status = pccl__writer_close(&writer, schedule);
    }
    free(order);
    return status;
}

uint32_t pccl__rounds_slices_log(const struct pccl__problem *problem)
{
    int64_t longest = 0; /* in turns */
    uint32_t k = 0;
    for (uint32_t peer = 1; peer < problem->num_ranks; peer++) {
        int64_t turn_ps = pccl__message_ps(problem, 0, peer, 0);
        int64_t turns = (pccl__message_ps(problem, 0, peer, problem->block_bytes) - turn_ps) / (turn_ps + 1);
        longest = turns > longest ? turns : longest;
    }
    while (longest >> (k + 1) >= SLICE_TURNS && problem->block_bytes >> (k + 1) >= SLICE_BYTES) {
        k++;
    }
    return k;
}

/* As messages straight to everybody, but for the time from one round to the next, which a second half hides. */
static int64_t forecast(const struct pccl__problem *problem, const uint32_t *order, uint32_t pieces)
{
    struct cut cut = find_cut(problem->num_ranks, cluster_size(problem, order), pieces);
    int64_t rounds = (int64_t)(problem->num_ranks - 1) * cut.slices;
    int64_t turn_ps = pccl__message_ps(problem, 0, 1, 0), together_ps = pccl__estimate_spread(problem, pieces);
    int64_t hidden_ps = (together_ps - turn_ps) / rounds / cut.halves * (cut.halves - 1);
    int64_t gap_ps = turn_ps > hidden_ps ? turn_ps - hidden_ps : 0;
    return together_ps < 0 ? -1 : pccl__add_ps(together_ps, pccl__times_ps(gap_ps, rounds - 1));
}

int64_t pccl__estimate_rounds(const struct pccl__problem *problem, uint32_t pieces)
{
    struct pccl_error unused;
    if (problem->topology->num_vertices == problem->topology->num_devices || shares_one_host(problem)) {
        return -1;
    }
    uint32_t *order = pccl__array_new(problem->num_ranks, sizeof *order);
    bool laid = order != NULL && pccl__order_make(problem, PCCL__BY_PLACE, order, &unused) == 0;
    int64_t total_ps = laid ? forecast(problem, order, pieces) : -1;
    if (!laid) {
        pccl__problem_starve(problem);
    }
    free(order);
    return total_ps;
}
