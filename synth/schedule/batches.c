/* Which chunks a node brings together or spreads, and when, from the schedule between the nodes. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "schedule/levels.h"

/* When a node deals with the chunks of the schedule between nodes. */
struct diary {
    uint32_t *use;     /* [num_chunks] first step in which it sends or receives the chunk, or PCCL_NONE */
    uint32_t *arrival; /* [num_chunks] last step in which it receives it, or PCCL_NONE */
};

static void keep_diary(const struct pccl__level *between, uint32_t node, struct diary *diary)
{
    const struct pccl_schedule *schedule = between->schedule;
    for (uint32_t i = 0; i < schedule->num_messages; i++) {
        const struct pccl_message *message = &schedule->messages[i];
        bool receives = between->target[message->path] == node;
        if (!receives && between->source[message->path] != node) {
            continue;
        }
        uint32_t count;
        const uint32_t *chunks = pccl_message_chunks(schedule, message, &count);
        for (uint32_t j = 0; j < count; j++) {
            diary->use[chunks[j]] = diary->use[chunks[j]] == PCCL_NONE ? message->step : diary->use[chunks[j]];
            diary->arrival[chunks[j]] = receives ? message->step : diary->arrival[chunks[j]];
        }
    }
}

/* Whether the node has (a contribution to) the chunk before, or must have it after. */
static bool is_concerned(const struct pccl_demand *demand, uint32_t chunk, uint32_t node, enum pccl__way way)
{
    const struct pccl_chunk *held = &demand->chunks[chunk];
    uint32_t first = way == PCCL__UP ? held->first_source : held->first_target;
    uint32_t count = way == PCCL__UP ? held->num_sources : held->num_targets;
    return demand->holders[first] <= node && node <= demand->holders[first + count - 1];
}

/* The step that the chunk's batch is named after: the first of its group going up, the last of it going down. A node
 * that has had a chunk from the beginning need not wait for it. */
static uint32_t find_step(const struct pccl__levels *levels, const struct diary *diary, uint32_t chunk, uint32_t node,
                          enum pccl__way way)
{
    const struct pccl_demand *demand = levels->between.schedule->demand;
    uint32_t use = diary->use[chunk] != PCCL_NONE ? diary->use[chunk] : 0;
    if (way == PCCL__UP) {
        return use / levels->window * levels->window;
    }
    bool waits =
        diary->arrival[chunk] != PCCL_NONE && (demand->reduces || !is_concerned(demand, chunk, node, PCCL__UP));
    uint32_t done = waits ? diary->arrival[chunk] : use;
    uint64_t end = (uint64_t)(done / levels->window + 1) * levels->window;
    return (uint32_t)(end < levels->between.num_steps ? end : levels->between.num_steps) - 1;
}

/* Counting sort of the concerned chunks by step. bucket: [num_steps + 1], zero. */
static void sort_chunks(struct pccl__batches *batches, const uint32_t *steps, uint32_t num_chunks, uint32_t *bucket,
                        uint32_t num_steps)
{
    for (uint32_t chunk = 0; chunk < num_chunks; chunk++) {
        if (steps[chunk] != PCCL_NONE) {
            bucket[steps[chunk] + 1]++;
        }
    }
    for (uint32_t step = 0; step < num_steps; step++) {
        if (bucket[step + 1] > 0) {
            batches->step[batches->count] = step;
            batches->first[batches->count++] = bucket[step];
        }
        bucket[step + 1] += bucket[step];
    }
    batches->first[batches->count] = bucket[num_steps];
    for (uint32_t chunk = 0; chunk < num_chunks; chunk++) {
        if (steps[chunk] != PCCL_NONE) {
            batches->chunks[bucket[steps[chunk]]++] = chunk;
        }
    }
}

int pccl__batches_find(struct pccl__batches *batches, const struct pccl__levels *levels, uint32_t node,
                       enum pccl__way way)
{
    const struct pccl_demand *demand = levels->between.schedule->demand;
    uint32_t num_chunks = demand->num_chunks, num_steps = levels->between.num_steps;
    *batches = (struct pccl__batches){0};
    uint32_t most = num_chunks < num_steps ? num_chunks : num_steps;
    uint32_t *diary_room = malloc(3 * (size_t)num_chunks * sizeof *diary_room);
    uint32_t *bucket = pccl__array_new((size_t)num_steps + 1, sizeof *bucket);
    batches->step = pccl__array_new(2 * (size_t)most + 1 + num_chunks, sizeof *batches->step);
    if (diary_room == NULL || bucket == NULL || batches->step == NULL) {
        free(diary_room);
        free(bucket);
        return PCCL_ERR_MEMORY;
    }
    batches->first = batches->step + most;
    batches->chunks = batches->first + most + 1;
    memset(diary_room, 0xff, 3 * (size_t)num_chunks * sizeof *diary_room);
    struct diary diary = {diary_room, diary_room + num_chunks};
    uint32_t *steps = diary_room + 2 * (size_t)num_chunks;
    keep_diary(&levels->between, node, &diary);
    for (uint32_t chunk = 0; chunk < num_chunks; chunk++) {
        if (is_concerned(demand, chunk, node, way)) {
            steps[chunk] = find_step(levels, &diary, chunk, node, way);
        }
    }
    sort_chunks(batches, steps, num_chunks, bucket, num_steps);
    free(diary_room);
    free(bucket);
    return 0;
}

void pccl__batches_free(struct pccl__batches *batches)
{
    free(batches->step);
    batches->step = NULL;
}
