/* Schedules: growing them, sorting them, reading them. */
#include "pccl/schedule.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/digest.h"
#include "base/error.h"
#include "schedule/chunks.h"

#define MAX_PATHS (1u << 30) /* a path's number has 30 bits in a message */

/* A schedule while it grows: the public part, the room of its arrays and the table that interns paths. */
struct growing {
    struct pccl_schedule base; /* first: every struct pccl_schedule * of the library is one of these */
    uint32_t path_room, path_link_room, message_room, list_room, list_chunk_room;
    uint32_t num_links;   /* of the topology */
    uint32_t *link_path;  /* [num_links] the path that is this link alone, or PCCL_NONE */
    uint32_t *path_table; /* longer paths by digest, open addressing; NULL while there are none */
    uint32_t table_size;  /* a power of two */
    uint32_t table_used;
};

int pccl_schedule_create(struct pccl_demand *demand, const struct pccl_topology *topology, const char *method,
                         struct pccl_schedule **schedule, struct pccl_error *error)
{
    *schedule = NULL;
    for (uint32_t i = 0; i < demand->num_ranks; i++) {
        if (demand->devices[i] >= topology->num_devices) {
            int status = pccl__fail(error, PCCL_ERR_INVALID, "rank %u is on device %u, but \"%s\" has %u devices", i,
                                    demand->devices[i], topology->name, topology->num_devices);
            pccl_demand_free(demand);
            return status;
        }
    }
    struct growing *growing = pccl__array_new(1, sizeof *growing);
    uint32_t *link_path = pccl__array_new(topology->num_links, sizeof *link_path);
    if (growing == NULL || link_path == NULL) {
        free(growing);
        free(link_path);
        pccl_demand_free(demand);
        return pccl__fail_memory(error);
    }
    memset(link_path, 0xff, topology->num_links * sizeof *link_path);
    growing->num_links = topology->num_links;
    growing->link_path = link_path;
    growing->base.demand = demand;
    growing->base.topology_digest = topology->digest;
    strncpy(growing->base.method, method, sizeof growing->base.method - 1);
    *schedule = &growing->base;
    return 0;
}

void pccl_schedule_free(struct pccl_schedule *schedule)
{
    if (schedule == NULL) {
        return;
    }
    struct growing *growing = (struct growing *)(void *)schedule;
    pccl_demand_free(schedule->demand);
    free(schedule->paths);
    free(schedule->path_links);
    free(schedule->messages);
    free(schedule->lists);
    free(schedule->list_chunks);
    free(growing->link_path);
    free(growing->path_table);
    free(growing);
}

/* --- paths -------------------------------------------------------------------------------------------------------- */

static uint32_t hash_links(const uint32_t *links, uint32_t num_links)
{
    uint64_t digest = PCCL__DIGEST_START;
    for (uint32_t i = 0; i < num_links; i++) {
        digest = (digest ^ links[i]) * UINT64_C(0x100000001b3);
    }
    return (uint32_t)(digest ^ digest >> 32);
}

/* Where in the table the path is, or the free place where it belongs. The table is never full. */
static uint32_t find_place(const struct growing *growing, const uint32_t *links, uint32_t num_links)
{
    uint32_t mask = growing->table_size - 1, place = hash_links(links, num_links) & mask;
    for (;; place = (place + 1) & mask) {
        uint32_t number = growing->path_table[place];
        if (number == PCCL_NONE) {
            return place;
        }
        const struct pccl_path *path = &growing->base.paths[number];
        if (path->num_links == num_links &&
            memcmp(growing->base.path_links + path->first_link, links, num_links * sizeof *links) == 0) {
            return place;
        }
    }
}

/* Keeps the table at most half full. */
static int grow_table(struct growing *growing)
{
    if (growing->path_table != NULL && growing->table_used < growing->table_size / 2) {
        return 0;
    }
    uint32_t *old = growing->path_table, old_size = growing->table_size;
    uint32_t size = old_size > 0 ? 2 * old_size : 64;
    uint32_t *table = pccl__array_new(size, sizeof *table);
    if (table == NULL) {
        return PCCL_ERR_MEMORY;
    }
    memset(table, 0xff, size * sizeof *table);
    growing->path_table = table;
    growing->table_size = size;
    for (uint32_t i = 0; i < old_size; i++) {
        if (old[i] != PCCL_NONE) {
            const struct pccl_path *path = &growing->base.paths[old[i]];
            table[find_place(growing, growing->base.path_links + path->first_link, path->num_links)] = old[i];
        }
    }
    free(old);
    return 0;
}

static uint32_t append_path(struct growing *growing, const struct pccl_topology *topology, const uint32_t *links,
                            uint32_t num_links)
{
    struct pccl_schedule *schedule = &growing->base;
    struct pccl_path *paths =
        pccl__array_grow(schedule->paths, &growing->path_room, (uint64_t)schedule->num_paths + 1, sizeof *paths);
    if (paths == NULL || schedule->num_paths == MAX_PATHS) {
        return PCCL_NONE;
    }
    schedule->paths = paths;
    uint32_t *pool = pccl__array_grow(schedule->path_links, &growing->path_link_room,
                                      (uint64_t)schedule->num_path_links + num_links, sizeof *pool);
    if (pool == NULL) {
        return PCCL_NONE;
    }
    schedule->path_links = pool;
    memcpy(pool + schedule->num_path_links, links, num_links * sizeof *links);
    paths[schedule->num_paths] = (struct pccl_path){.source = topology->links[links[0]].source,
                                                    .target = topology->links[links[num_links - 1]].target,
                                                    .first_link = schedule->num_path_links,
                                                    .num_links = num_links};
    schedule->num_path_links += num_links;
    return schedule->num_paths++;
}

uint32_t pccl_schedule_path(struct pccl_schedule *schedule, const struct pccl_topology *topology, const uint32_t *links,
                            uint32_t num_links)
{
    struct growing *growing = (struct growing *)(void *)schedule;
    for (uint32_t i = 0; i < num_links; i++) {
        if (links[i] >= topology->num_links || links[i] >= growing->num_links) {
            return PCCL_NONE;
        }
    }
    if (num_links == 0 || (num_links > 1 && grow_table(growing) != 0)) {
        return PCCL_NONE;
    }
    uint32_t place = num_links > 1 ? find_place(growing, links, num_links) : links[0];
    uint32_t *known = num_links > 1 ? &growing->path_table[place] : &growing->link_path[place];
    if (*known == PCCL_NONE) {
        *known = append_path(growing, topology, links, num_links);
        growing->table_used += num_links > 1;
    }
    return *known;
}

/* --- messages ----------------------------------------------------------------------------------------------------- */

static int compare_u32(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return (a > b) - (a < b);
}

/* Lists are kept ascending, because neighbouring chunks are neighbours in the buffers of most collectives. */
static void copy_ascending(uint32_t *target, const uint32_t *chunks, uint32_t num_chunks)
{
    bool ascending = true;
    for (uint32_t i = 0; i < num_chunks; i++) {
        target[i] = chunks[i];
        ascending = ascending && (i == 0 || chunks[i - 1] <= chunks[i]);
    }
    if (!ascending) {
        qsort(target, num_chunks, sizeof *target, compare_u32);
    }
}

/* The number of a new list, or PCCL_NONE when out of memory. */
static uint32_t append_list(struct growing *growing, const uint32_t *chunks, uint32_t num_chunks)
{
    struct pccl_schedule *schedule = &growing->base;
    struct pccl_chunk_list *lists =
        pccl__array_grow(schedule->lists, &growing->list_room, (uint64_t)schedule->num_lists + 1, sizeof *lists);
    if (lists == NULL) {
        return PCCL_NONE;
    }
    schedule->lists = lists;
    uint32_t *pool = pccl__array_grow(schedule->list_chunks, &growing->list_chunk_room,
                                      (uint64_t)schedule->num_list_chunks + num_chunks, sizeof *pool);
    if (pool == NULL) {
        return PCCL_NONE;
    }
    schedule->list_chunks = pool;
    copy_ascending(pool + schedule->num_list_chunks, chunks, num_chunks);
    lists[schedule->num_lists] = (struct pccl_chunk_list){.first = schedule->num_list_chunks, .count = num_chunks};
    schedule->num_list_chunks += num_chunks;
    return schedule->num_lists++;
}

int pccl_schedule_add(struct pccl_schedule *schedule, uint32_t step, uint32_t path, bool reduce, const uint32_t *chunks,
                      uint32_t num_chunks)
{
    struct growing *growing = (struct growing *)(void *)schedule;
    if (path >= schedule->num_paths || num_chunks == 0) {
        return PCCL_ERR_INVALID;
    }
    for (uint32_t i = 0; i < num_chunks; i++) {
        if (chunks[i] >= schedule->demand->num_chunks) {
            return PCCL_ERR_INVALID;
        }
    }
    struct pccl_message *messages = pccl__array_grow(schedule->messages, &growing->message_room,
                                                     (uint64_t)schedule->num_messages + 1, sizeof *messages);
    if (messages == NULL) {
        return PCCL_ERR_MEMORY;
    }
    schedule->messages = messages;
    uint32_t payload = num_chunks == 1 ? chunks[0] : append_list(growing, chunks, num_chunks);
    if (payload == PCCL_NONE) {
        return PCCL_ERR_MEMORY;
    }
    messages[schedule->num_messages++] = (struct pccl_message){
        .step = step, .path = path & (MAX_PATHS - 1), .reduce = reduce, .list = num_chunks > 1, .payload = payload};
    return 0;
}

const uint32_t *pccl_message_chunks(const struct pccl_schedule *schedule, const struct pccl_message *message,
                                    uint32_t *count)
{
    return pccl__message_chunks(schedule, message, count);
}

/* --- sealing ------------------------------------------------------------------------------------------------------ */

static int compare_u64(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

/* Renumbers far apart steps 0, 1, 2 ..., keeping their order. */
static int compress_steps(struct pccl_schedule *schedule)
{
    uint64_t *keys = pccl__array_new(schedule->num_messages, sizeof *keys);
    if (keys == NULL) {
        return PCCL_ERR_MEMORY;
    }
    for (uint32_t i = 0; i < schedule->num_messages; i++) {
        keys[i] = (uint64_t)schedule->messages[i].step << 32 | i;
    }
    qsort(keys, schedule->num_messages, sizeof *keys, compare_u64);
    uint32_t step = 0;
    for (uint32_t i = 0; i < schedule->num_messages; i++) {
        step += i > 0 && keys[i] >> 32 != keys[i - 1] >> 32;
        schedule->messages[(uint32_t)keys[i]].step = step;
    }
    free(keys);
    return 0;
}

/* Distributes the messages to their final places in two halves, so that only half of them are there twice: the first
 * half of the result is put aside while the rest moves together at the front, then the rest goes to the back.
 * next[step] is where the next message of the step belongs. */
static void distribute(struct pccl_message *messages, uint32_t count, uint32_t *next, struct pccl_message *aside,
                       uint32_t half)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++) {
        struct pccl_message message = messages[i];
        if (next[message.step] < half) {
            aside[next[message.step]++] = message;
        } else {
            messages[kept++] = message;
        }
    }
    for (uint32_t i = 0; i < kept; i++) {
        messages[next[messages[i].step]++] = messages[i];
    }
    memcpy(messages, aside, half * sizeof *messages);
}

static int sort_messages(struct pccl_schedule *schedule, uint32_t last_step)
{
    uint32_t count = schedule->num_messages, half = count - count / 2;
    uint32_t *next = pccl__array_new((size_t)last_step + 2, sizeof *next);
    struct pccl_message *aside = malloc(half * sizeof *aside);
    if (next == NULL || aside == NULL) {
        free(next);
        free(aside);
        return PCCL_ERR_MEMORY;
    }
    for (uint32_t i = 0; i < count; i++) {
        next[schedule->messages[i].step + 1]++;
    }
    for (uint32_t step = 0; step <= last_step; step++) {
        next[step + 1] += next[step];
    }
    distribute(schedule->messages, count, next, aside, half);
    free(next);
    free(aside);
    return 0;
}

static void trim(void *array_pointer, uint32_t *room, uint32_t count, size_t element_bytes)
{
    void **array = array_pointer;
    if (*room > count) {
        void *trimmed = realloc(*array, (count > 0 ? count : 1) * element_bytes);
        *array = trimmed != NULL ? trimmed : *array;
        *room = trimmed != NULL ? count : *room;
    }
}

int pccl_schedule_seal(struct pccl_schedule *schedule)
{
    struct growing *growing = (struct growing *)(void *)schedule;
    bool sorted = true;
    uint32_t last_step = 0;
    for (uint32_t i = 0; i < schedule->num_messages; i++) {
        uint32_t step = schedule->messages[i].step;
        sorted = sorted && step >= last_step;
        last_step = step > last_step ? step : last_step;
    }
    int status = 0;
    if (last_step / 4 > schedule->num_messages) {
        status = compress_steps(schedule);
        last_step = schedule->num_messages;
    }
    if (status == 0 && !sorted) {
        status = sort_messages(schedule, last_step);
    }
    if (status == 0) {
        trim(&schedule->paths, &growing->path_room, schedule->num_paths, sizeof *schedule->paths);
        trim(&schedule->path_links, &growing->path_link_room, schedule->num_path_links, sizeof *schedule->path_links);
        trim(&schedule->messages, &growing->message_room, schedule->num_messages, sizeof *schedule->messages);
        trim(&schedule->lists, &growing->list_room, schedule->num_lists, sizeof *schedule->lists);
        trim(&schedule->list_chunks, &growing->list_chunk_room, schedule->num_list_chunks,
             sizeof *schedule->list_chunks);
    }
    return status;
}

/* --- digest ------------------------------------------------------------------------------------------------------- */

static uint64_t digest_holders(uint64_t digest, const struct pccl_demand *demand, uint32_t first, uint32_t count)
{
    digest = pccl__digest_u32(digest, count);
    if (demand->collective == PCCL_CUSTOM) {
        for (uint32_t i = 0; i < count; i++) {
            digest = pccl__digest_u32(digest, demand->holders[first + i]);
        }
    }
    return digest;
}

static uint64_t digest_demand(uint64_t digest, const struct pccl_demand *demand)
{
    digest = pccl__digest_u32(digest, demand->collective);
    digest = pccl__digest_u32(digest, demand->num_ranks);
    digest = pccl__digest_u32(digest, demand->root);
    digest = pccl__digest_u32(digest, demand->pieces);
    digest = pccl__digest_u32(digest, (uint32_t)demand->reproducible << 2 | (uint32_t)demand->reduces << 1 |
                                          (uint32_t)demand->ordered);
    digest = pccl__digest_u32(digest, demand->num_chunks);
    for (uint32_t i = 0; i < demand->num_ranks; i++) {
        digest = pccl__digest_u32(digest, demand->devices[i]);
    }
    for (uint32_t i = 0; i < demand->num_chunks; i++) {
        const struct pccl_chunk *chunk = &demand->chunks[i];
        digest = pccl__digest_u64(digest, (uint64_t)chunk->bytes);
        digest = digest_holders(digest, demand, chunk->first_source, chunk->num_sources);
        digest = digest_holders(digest, demand, chunk->first_target, chunk->num_targets);
    }
    return digest;
}

uint64_t pccl_schedule_digest(const struct pccl_schedule *schedule)
{
    uint64_t digest = digest_demand(PCCL__DIGEST_START, schedule->demand);
    digest = pccl__digest_u64(digest, schedule->topology_digest);
    digest = pccl__digest_u32(digest, schedule->num_paths);
    for (uint32_t i = 0; i < schedule->num_paths; i++) {
        const struct pccl_path *path = &schedule->paths[i];
        digest = pccl__digest_u32(digest, path->num_links);
        for (uint32_t j = 0; j < path->num_links; j++) {
            digest = pccl__digest_u32(digest, schedule->path_links[path->first_link + j]);
        }
    }
    digest = pccl__digest_u32(digest, schedule->num_messages);
    for (uint32_t i = 0; i < schedule->num_messages; i++) {
        const struct pccl_message *message = &schedule->messages[i];
        uint32_t count;
        const uint32_t *chunks = pccl_message_chunks(schedule, message, &count);
        digest = pccl__digest_u32(digest, message->step);
        digest = pccl__digest_u32(digest, (uint32_t)message->path << 1 | message->reduce);
        digest = pccl__digest_u32(digest, count);
        for (uint32_t j = 0; j < count; j++) {
            digest = pccl__digest_u32(digest, chunks[j]);
        }
    }
    return schedule->pace > 0 ? pccl__digest_u32(digest, schedule->pace) : digest;
}
