/* Reversal: a schedule that spreads chunks along trees, read backwards, gathers or combines them along the same trees.
 * Reductions are planned this way (synthesis of the spreading form on the reversed graph, then mirroring in time). */
#include <stdlib.h>

#include "algorithms/algorithm.h"
#include "base/array.h"
#include "base/bitset.h"
#include "base/error.h"

struct mirror {
    const struct pccl_topology *topology;
    const struct pccl_schedule *forward;
    struct pccl_schedule *backward;
    struct pccl_error *error;
    bool same_links; /* the forward schedule was made on the reversed topology: link numbers stand for themselves */
    uint32_t *paths;      /* [forward paths] path in `backward`, PCCL_NONE until first used */
    uint32_t *links;      /* [max_links] scratch */
    uint32_t max_links;
    uint64_t *has;        /* device * num_chunks + chunk: the device has something to send of the chunk */
    uint64_t *sent;       /* the same numbering: it has sent its part */
    uint32_t *first_time; /* [chunks of the longest message] chunks to be copied: all, or those of a reduction that
                             find nothing at the receiver */
    uint32_t *again;      /* chunks to be combined */
};

static size_t state_bit(const struct mirror *mirror, uint32_t device, uint32_t chunk)
{
    return (size_t)device * mirror->backward->demand->num_chunks + chunk;
}

static bool test_and_set(uint64_t *words, size_t bit)
{
    uint64_t mask = UINT64_C(1) << (bit % 64);
    bool was = (words[bit / 64] & mask) != 0;
    words[bit / 64] |= mask;
    return was;
}

/* A link the other way round with the same costs if there is one, else any; PCCL_NONE if the two are joined one way. */
static uint32_t find_opposite(const struct pccl_topology *topology, uint32_t link)
{
    const struct pccl_link *there = &topology->links[link];
    uint32_t best = PCCL_NONE;
    for (uint32_t i = topology->first_out[there->target]; i < topology->first_out[there->target + 1]; i++) {
        const struct pccl_link *back = &topology->links[topology->out_links[i]];
        if (back->target != there->source) {
            continue;
        }
        if (back->latency_ps == there->latency_ps && back->ps_per_mib == there->ps_per_mib) {
            return topology->out_links[i];
        }
        if (best == PCCL_NONE) {
            best = topology->out_links[i];
        }
    }
    return best;
}

/* Fills mirror->links with the way back of a path. Returns the number of links or a negative code. Where the network
 * routes by itself, the way back is the network's own; else it is the same way, link by link, if all links have an
 * opposite. */
static int turn_links(struct mirror *mirror, const struct pccl_path *path)
{
    const struct pccl_topology *topology = mirror->topology;
    if (topology->routing == PCCL_ROUTING_NONE) {
        uint32_t n = 0;
        while (n < path->num_links) {
            uint32_t link = mirror->forward->path_links[path->first_link + path->num_links - 1 - n];
            link = mirror->same_links ? link : find_opposite(topology, link);
            if (link == PCCL_NONE) {
                break;
            }
            mirror->links[n++] = link;
        }
        if (n == path->num_links) {
            return (int)n;
        }
    }
    return pccl_topology_route(topology, path->target, path->source, mirror->links, mirror->max_links);
}

static int turn_path(struct mirror *mirror, uint32_t forward_path, uint32_t *path)
{
    if (mirror->paths[forward_path] == PCCL_NONE) {
        const struct pccl_path *there = &mirror->forward->paths[forward_path];
        int n = turn_links(mirror, there);
        if (n < 0) {
            return pccl__fail(mirror->error, PCCL_ERR_UNSUPPORTED, "no way back from device %u to device %u",
                              there->target, there->source);
        }
        mirror->paths[forward_path] =
            pccl_schedule_path(mirror->backward, mirror->topology, mirror->links, (uint32_t)n);
        if (mirror->paths[forward_path] == PCCL_NONE) {
            return pccl__fail_memory(mirror->error);
        }
    }
    *path = mirror->paths[forward_path];
    return 0;
}

/* Adds the mirror image of one message. Chunks of which the new sender has nothing are left out: they were spread to a
 * relay that did not pass them on. Chunks that find nothing at the receiver (a relay) replace instead of combine. */
static int turn_message(struct mirror *mirror, const struct pccl_message *message, uint32_t step)
{
    const struct pccl_path *there = &mirror->forward->paths[message->path];
    uint32_t num_devices = mirror->topology->num_devices;
    if (there->source >= num_devices || there->target >= num_devices) {
        return pccl__fail(mirror->error, PCCL_ERR_UNSUPPORTED, "multicast in a switch cannot be reversed");
    }
    bool reduces = mirror->backward->demand->reduces;
    uint32_t count, num_first = 0, num_again = 0;
    const uint32_t *chunks = pccl_message_chunks(mirror->forward, message, &count);
    for (uint32_t i = 0; i < count; i++) {
        size_t sender = state_bit(mirror, there->target, chunks[i]);
        if (!pccl__bitset_test(mirror->has + sender / 64, sender % 64)) {
            continue;
        }
        if (test_and_set(mirror->sent, sender) && reduces) {
            return pccl__fail(mirror->error, PCCL_ERR_UNSUPPORTED,
                              "chunk %u reaches device %u twice, so its way cannot be reversed", chunks[i],
                              there->target);
        }
        if (test_and_set(mirror->has, state_bit(mirror, there->source, chunks[i])) && reduces) {
            mirror->again[num_again++] = chunks[i];
        } else {
            mirror->first_time[num_first++] = chunks[i];
        }
    }
    uint32_t path = PCCL_NONE;
    int status = num_first + num_again > 0 ? turn_path(mirror, message->path, &path) : 0;
    if (status == 0 && num_first > 0) {
        status = pccl_schedule_add(mirror->backward, step, path, false, mirror->first_time, num_first);
    }
    if (status == 0 && num_again > 0) {
        status = pccl_schedule_add(mirror->backward, step, path, true, mirror->again, num_again);
    }
    return status;
}

static void mark_sources(struct mirror *mirror)
{
    const struct pccl_demand *demand = mirror->backward->demand;
    for (uint32_t c = 0; c < demand->num_chunks; c++) {
        for (uint32_t i = 0; i < demand->chunks[c].num_sources; i++) {
            uint32_t rank = demand->holders[demand->chunks[c].first_source + i];
            test_and_set(mirror->has, state_bit(mirror, demand->devices[rank], c));
        }
    }
}

static int open_mirror(struct mirror *mirror)
{
    const struct pccl_schedule *forward = mirror->forward;
    uint32_t longest_message = 1, longest_path = pccl_topology_route_limit(mirror->topology);
    for (uint32_t i = 0; i < forward->num_lists; i++) {
        longest_message = forward->lists[i].count > longest_message ? forward->lists[i].count : longest_message;
    }
    for (uint32_t i = 0; i < forward->num_paths; i++) {
        longest_path = forward->paths[i].num_links > longest_path ? forward->paths[i].num_links : longest_path;
    }
    size_t bits = (size_t)mirror->topology->num_devices * mirror->backward->demand->num_chunks;
    mirror->max_links = longest_path;
    mirror->paths = pccl__array_new(forward->num_paths, sizeof *mirror->paths);
    mirror->links = pccl__array_new(longest_path, sizeof *mirror->links);
    mirror->has = pccl__array_new(pccl__bitset_words(bits), sizeof *mirror->has);
    mirror->sent = pccl__array_new(pccl__bitset_words(bits), sizeof *mirror->sent);
    mirror->first_time = pccl__array_new(longest_message, sizeof *mirror->first_time);
    mirror->again = pccl__array_new(longest_message, sizeof *mirror->again);
    if (mirror->paths == NULL || mirror->links == NULL || mirror->has == NULL || mirror->sent == NULL ||
        mirror->first_time == NULL || mirror->again == NULL) {
        return pccl__fail_memory(mirror->error);
    }
    for (uint32_t i = 0; i < forward->num_paths; i++) {
        mirror->paths[i] = PCCL_NONE;
    }
    mark_sources(mirror);
    return 0;
}

static void close_mirror(struct mirror *mirror)
{
    free(mirror->paths);
    free(mirror->links);
    free(mirror->has);
    free(mirror->sent);
    free(mirror->first_time);
    free(mirror->again);
}

int pccl__schedule_reverse(const struct pccl__problem *problem, const struct pccl_schedule *schedule,
                           struct pccl_demand *demand, const char *method, struct pccl_schedule **reversed,
                           struct pccl_error *error)
{
    struct mirror mirror = {.topology = problem->topology,
                            .forward = schedule,
                            .error = error,
                            .same_links = schedule->topology_digest != problem->topology->digest};
    int status = pccl_schedule_create(demand, problem->topology, method, &mirror.backward, error);
    if (status != 0) {
        return status;
    }
    uint32_t last = schedule->num_messages > 0 ? schedule->messages[schedule->num_messages - 1].step : 0;
    status = open_mirror(&mirror);
    for (uint32_t i = schedule->num_messages; i > 0 && status == 0; i--) {
        const struct pccl_message *message = &schedule->messages[i - 1];
        status = turn_message(&mirror, message, last - message->step);
    }
    if (status == 0) {
        status = pccl_schedule_seal(mirror.backward);
    }
    close_mirror(&mirror);
    if (status != 0) {
        pccl_schedule_free(mirror.backward);
        return status;
    }
    *reversed = mirror.backward;
    return 0;
}
