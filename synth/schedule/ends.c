#include "schedule/ends.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"

int pccl__ends_find(const struct pccl_schedule *schedule, uint32_t **source, uint32_t **target,
                    struct pccl_error *error)
{
    const struct pccl_demand *demand = schedule->demand;
    uint32_t last_device = 0;
    for (uint32_t i = 0; i < demand->num_ranks; i++) {
        last_device = demand->devices[i] > last_device ? demand->devices[i] : last_device;
    }
    uint32_t *device_rank = pccl__array_new((size_t)last_device + 1, sizeof *device_rank);
    *source = pccl__array_new(schedule->num_paths, sizeof **source);
    *target = pccl__array_new(schedule->num_paths, sizeof **target);
    if (device_rank == NULL || *source == NULL || *target == NULL) {
        free(device_rank);
        return pccl__fail_memory(error);
    }
    memset(device_rank, 0xff, ((size_t)last_device + 1) * sizeof *device_rank);
    for (uint32_t i = 0; i < demand->num_ranks; i++) {
        device_rank[demand->devices[i]] = i;
    }
    for (uint32_t i = 0; i < schedule->num_paths; i++) {
        const struct pccl_path *path = &schedule->paths[i];
        (*source)[i] = path->source <= last_device ? device_rank[path->source] : PCCL_NONE;
        (*target)[i] = path->target <= last_device ? device_rank[path->target] : PCCL_NONE;
    }
    free(device_rank);
    return 0;
}

/* --- who contributed ---------------------------------------------------------------------------------------------- */

struct replay {
    const struct pccl_schedule *schedule;
    const uint32_t *source, *target; /* of paths */
    uint32_t *first, *lowest;        /* the result */
    uint32_t *state; /* [num_ranks * num_chunks] the lowest rank that contributed to each rank's state */
};

static void replay_step(struct replay *replay, uint32_t begin, uint32_t end)
{
    const struct pccl_schedule *schedule = replay->schedule;
    uint32_t num_chunks = schedule->demand->num_chunks;
    for (uint32_t i = begin; i < end; i++) {
        const struct pccl_message *message = &schedule->messages[i];
        uint32_t count, *lowest = replay->lowest + replay->first[i];
        const uint32_t *chunks = pccl_message_chunks(schedule, message, &count);
        uint32_t from = replay->source[message->path];
        const uint32_t *sender = replay->state + (size_t)from * num_chunks;
        bool adds_own = schedule->demand->collective == PCCL_EXSCAN;
        for (uint32_t j = 0; j < count; j++) {
            lowest[j] = adds_own && from < sender[chunks[j]] ? from : sender[chunks[j]];
        }
    }
    for (uint32_t i = begin; i < end; i++) {
        const struct pccl_message *message = &schedule->messages[i];
        uint32_t count, *lowest = replay->lowest + replay->first[i];
        const uint32_t *chunks = pccl_message_chunks(schedule, message, &count);
        uint32_t *receiver = replay->state + (size_t)replay->target[message->path] * num_chunks;
        for (uint32_t j = 0; j < count; j++) {
            if (!message->reduce || lowest[j] < receiver[chunks[j]]) {
                receiver[chunks[j]] = lowest[j];
            }
        }
    }
}

/* Makes room for what every message carries; false when out of memory. */
static bool place_lowest(const struct pccl_schedule *schedule, uint32_t **first, uint32_t **lowest)
{
    uint64_t total = 0;
    *first = pccl__array_new(schedule->num_messages, sizeof **first);
    if (*first == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < schedule->num_messages; i++) {
        uint32_t count;
        pccl_message_chunks(schedule, &schedule->messages[i], &count);
        (*first)[i] = (uint32_t)total;
        total += count;
    }
    *lowest = total < UINT32_MAX ? pccl__array_new((size_t)total, sizeof **lowest) : NULL;
    return *lowest != NULL;
}

int pccl__lowest_find(const struct pccl_schedule *schedule, const uint32_t *source, const uint32_t *target,
                      uint32_t **first, uint32_t **lowest, struct pccl_error *error)
{
    const struct pccl_demand *demand = schedule->demand;
    uint64_t cells = (uint64_t)demand->num_ranks * demand->num_chunks;
    uint32_t *state = cells <= SIZE_MAX / sizeof *state ? malloc((size_t)cells * sizeof *state) : NULL;
    if (state == NULL || !place_lowest(schedule, first, lowest)) {
        free(state);
        return pccl__fail_memory(error);
    }
    memset(state, 0xff, (size_t)cells * sizeof *state);
    for (uint32_t chunk = 0; chunk < demand->num_chunks && demand->collective != PCCL_EXSCAN; chunk++) {
        const uint32_t *sources = demand->holders + demand->chunks[chunk].first_source;
        for (uint32_t i = 0; i < demand->chunks[chunk].num_sources; i++) {
            state[(size_t)sources[i] * demand->num_chunks + chunk] = sources[i];
        }
    }
    struct replay replay = {schedule, source, target, *first, *lowest, state};
    for (uint32_t begin = 0, end = 0; begin < schedule->num_messages; begin = end) {
        while (end < schedule->num_messages && schedule->messages[end].step == schedule->messages[begin].step) {
            end++;
        }
        replay_step(&replay, begin, end);
    }
    free(state);
    return 0;
}
