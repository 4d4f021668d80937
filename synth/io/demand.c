#include "io/demand.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "pccl/io.h"

#define MAX_CHUNKS (INT64_C(1) << 25) /* of a demand from a file: a few characters must not fill the memory */

/* A demand while it is read. */
struct reading {
    struct pccl__json_place top;
    const cJSON *object;
    const struct pccl_topology *topology;
    struct pccl_error *error;
    struct pccl_request request;
    struct pccl_demand pattern; /* custom */
    uint32_t *devices, *holders;
    int64_t *block_bytes;
    struct pccl_chunk *chunks;
    uint32_t holder_room;
    int64_t pieces;
};

int pccl__json_check_format(const struct pccl__json_place *top, const cJSON *root, const char *format,
                            struct pccl_error *error)
{
    const char *met = format;
    int64_t version = 1;
    int status = pccl__json_text(top, root, "format", &met, error);
    if (status == 0 && strcmp(met, format) != 0) {
        status = pccl__json_fail(top, "format", error, "is \"%.40s\"; expected \"%s\"", met, format);
    }
    return status != 0 ? status : pccl__json_integer(top, root, "version", 1, 1, &version, error);
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

static int fail_memory(const struct reading *reading)
{
    return pccl__json_fail(&reading->top, NULL, reading->error, "out of memory") != 0 ? PCCL_ERR_MEMORY : 0;
}

/* A device by name or number. */
static int read_device(const struct reading *reading, const cJSON *item, uint32_t *device)
{
    if (cJSON_IsString(item)) {
        *device = pccl_topology_find(reading->topology, item->valuestring);
        if (*device >= reading->topology->num_devices) {
            return pccl__json_fail(&reading->top, "devices", reading->error, "\"%.60s\" is no device of the topology",
                                   item->valuestring);
        }
        return 0;
    }
    int64_t number = 0;
    int status = pccl__json_element(&reading->top, item, "devices", 0, (int64_t)reading->topology->num_devices - 1,
                                    &number, reading->error);
    *device = (uint32_t)number;
    return status;
}

static int read_devices(struct reading *reading)
{
    const cJSON *list, *item;
    uint32_t count, used = 0;
    int status = pccl__json_array(&reading->top, reading->object, "devices", &list, &count, reading->error);
    if (status != 0) {
        return status;
    }
    count = list != NULL ? count : reading->topology->num_devices;
    reading->devices = pccl__array_new(count, sizeof *reading->devices);
    if (reading->devices == NULL) {
        return fail_memory(reading);
    }
    for (uint32_t i = 0; i < count && list == NULL; i++) {
        reading->devices[i] = i;
    }
    cJSON_ArrayForEach(item, list)
    {
        status = read_device(reading, item, &reading->devices[used++]);
        if (status != 0) {
            return status;
        }
    }
    reading->request.devices = reading->devices;
    reading->request.num_ranks = reading->pattern.num_ranks = count;
    return 0;
}

static int read_block_bytes(struct reading *reading)
{
    const cJSON *list, *item;
    uint32_t count, used = 0;
    int status = pccl__json_array(&reading->top, reading->object, "block_bytes", &list, &count, reading->error);
    if (status != 0 || list == NULL) {
        return status;
    }
    uint64_t expected = reading->request.num_ranks;
    expected *= reading->request.collective == PCCL_ALLTOALL ? expected : 1;
    if (count != expected) {
        return pccl__json_fail(&reading->top, "block_bytes", reading->error, "has %" PRIu32 " sizes; expected %" PRIu64,
                               count, expected);
    }
    reading->request.block_bytes = reading->block_bytes = pccl__array_new(count, sizeof *reading->block_bytes);
    if (reading->block_bytes == NULL) {
        return fail_memory(reading);
    }
    cJSON_ArrayForEach(item, list)
    {
        status = pccl__json_element(&reading->top, item, "block_bytes", 0, INT64_MAX, &reading->block_bytes[used++],
                                    reading->error);
        if (status != 0) {
            return status;
        }
    }
    return 0;
}

static int compare_u32(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return (a > b) - (a < b);
}

/* The ranks that hold a chunk before or after, put into the pool in ascending order. */
static int read_holders(struct reading *reading, const struct pccl__json_place *place, const cJSON *chunk,
                        const char *key, uint32_t *first, uint32_t *count)
{
    const cJSON *list, *item;
    int status = pccl__json_array(place, chunk, key, &list, count, reading->error);
    if (status != 0) {
        return status;
    }
    if (*count == 0) {
        return pccl__json_fail(place, key, reading->error, "expected at least one rank");
    }
    uint32_t *holders = pccl__array_grow(reading->holders, &reading->holder_room,
                                         (uint64_t)reading->pattern.num_holders + *count, sizeof *holders);
    if (holders == NULL) {
        return fail_memory(reading);
    }
    reading->holders = holders;
    *first = reading->pattern.num_holders;
    cJSON_ArrayForEach(item, list)
    {
        int64_t rank = 0;
        status =
            pccl__json_element(place, item, key, 0, (int64_t)reading->request.num_ranks - 1, &rank, reading->error);
        if (status != 0) {
            return status;
        }
        holders[reading->pattern.num_holders++] = (uint32_t)rank;
    }
    qsort(holders + *first, *count, sizeof *holders, compare_u32);
    for (uint32_t i = *first + 1; i < *first + *count; i++) {
        if (holders[i] == holders[i - 1]) {
            return pccl__json_fail(place, key, reading->error, "names rank %" PRIu32 " twice", holders[i]);
        }
    }
    return 0;
}

static int read_chunk(struct reading *reading, const struct pccl__json_place *place, const cJSON *item,
                      struct pccl_chunk *chunk)
{
    static const char *const keys[] = {"bytes", "sources", "targets"};
    int status = pccl__json_object(place, item, keys, 3, reading->error);
    if (status == 0) {
        chunk->bytes = -1;
        status = pccl__json_integer(place, item, "bytes", 0, INT64_MAX, &chunk->bytes, reading->error);
    }
    if (status == 0 && chunk->bytes < 0) {
        status = pccl__json_fail(place, "bytes", reading->error, "missing");
    }
    if (status == 0) {
        status = read_holders(reading, place, item, "sources", &chunk->first_source, &chunk->num_sources);
    }
    if (status == 0) {
        status = read_holders(reading, place, item, "targets", &chunk->first_target, &chunk->num_targets);
    }
    return status;
}

static int read_chunks(struct reading *reading)
{
    const cJSON *list, *item;
    uint32_t count;
    int status = pccl__json_array(&reading->top, reading->object, "chunks", &list, &count, reading->error);
    if (status == 0) {
        status = pccl__json_bool(&reading->top, reading->object, "reduces", &reading->pattern.reduces, reading->error);
    }
    if (status != 0) {
        return status;
    }
    if ((list != NULL) != (reading->request.collective == PCCL_CUSTOM)) {
        return pccl__json_fail(&reading->top, "chunks", reading->error,
                               list != NULL ? "only a custom collective lists its chunks"
                                            : "a custom collective needs its list of chunks");
    }
    reading->chunks = pccl__array_new(count, sizeof *reading->chunks);
    if (reading->chunks == NULL) {
        return fail_memory(reading);
    }
    struct pccl__json_place place = {reading->top.path, "chunks", 0, NULL};
    cJSON_ArrayForEach(item, list)
    {
        status = read_chunk(reading, &place, item, &reading->chunks[place.index]);
        if (status != 0) {
            return status;
        }
        place.index++;
    }
    reading->pattern.num_chunks = count;
    reading->pattern.chunks = reading->chunks;
    reading->pattern.holders = reading->holders;
    reading->request.custom = &reading->pattern;
    return 0;
}

static int read_collective(struct reading *reading)
{
    const char *name = "custom";
    int status = pccl__json_text(&reading->top, reading->object, "collective", &name, reading->error);
    if (status == 0 && pccl_collective_parse(name, &reading->request.collective, NULL) != 0) {
        status = pccl__json_fail(&reading->top, "collective", reading->error, "\"%.40s\" is no collective", name);
    }
    return status;
}

static int read_scalars(struct reading *reading)
{
    int64_t root = 0;
    int status = pccl__json_integer(&reading->top, reading->object, "root", 0, (int64_t)reading->request.num_ranks - 1,
                                    &root, reading->error);
    if (status == 0) {
        status = pccl__json_integer(&reading->top, reading->object, "bytes", 0, INT64_MAX, &reading->request.bytes,
                                    reading->error);
    }
    if (status == 0) {
        status =
            pccl__json_integer(&reading->top, reading->object, "pieces", 1, 1 << 16, &reading->pieces, reading->error);
    }
    if (status == 0) {
        status = pccl__json_bool(&reading->top, reading->object, "ordered", &reading->request.ordered, reading->error);
    }
    if (status == 0) {
        status = pccl__json_bool(&reading->top, reading->object, "reproducible", &reading->request.reproducible,
                                 reading->error);
    }
    reading->request.root = (uint32_t)root;
    return status;
}

static int check_pieces(const struct reading *reading)
{
    int64_t blocks = reading->request.num_ranks;
    if (reading->request.collective == PCCL_ALLTOALL) {
        blocks *= blocks;
    } else if (reading->request.collective == PCCL_CUSTOM) {
        blocks = reading->pattern.num_chunks;
    }
    if (blocks * reading->pieces > MAX_CHUNKS) {
        return pccl__json_fail(&reading->top, "pieces", reading->error,
                               "%" PRId64 " blocks of %" PRId64 " pieces are more than %" PRId64 " chunks",
                               blocks, reading->pieces, MAX_CHUNKS);
    }
    return 0;
}

static int read_all(struct reading *reading, bool whole_file)
{
    static const char *const keys[] = {"collective", "devices", "root",         "bytes",  "block_bytes", "pieces",
                                       "ordered",    "reduces", "reproducible", "chunks", "format",      "version"};
    int status = pccl__json_object(&reading->top, reading->object, keys, whole_file ? 12 : 10, reading->error);
    if (status == 0) {
        status = read_collective(reading);
    }
    if (status == 0) {
        status = read_devices(reading);
    }
    if (status == 0) {
        status = read_scalars(reading);
    }
    if (status == 0) {
        status = read_block_bytes(reading);
    }
    if (status == 0) {
        status = read_chunks(reading);
    }
    return status == 0 ? check_pieces(reading) : status;
}

int pccl__demand_from_json(const struct pccl__json_place *top, const cJSON *object, bool whole_file,
                           const struct pccl_topology *topology, struct pccl_demand **demand, struct pccl_error *error)
{
    struct reading reading = {.top = *top, .object = object, .topology = topology, .error = error, .pieces = 1};
    *demand = NULL;
    int status = read_all(&reading, whole_file);
    if (status == 0) {
        struct pccl_error why = {""};
        status = pccl_demand_create(&reading.request, (uint32_t)reading.pieces, demand, &why);
        if (status != 0) {
            status = status == PCCL_ERR_MEMORY ? pccl__fail_memory(error)
                                               : pccl__json_fail(top, NULL, error, "%s", why.message);
        }
    }
    free(reading.devices);
    free(reading.holders);
    free(reading.block_bytes);
    free(reading.chunks);
    return status;
}

int pccl_demand_read(const char *path, const struct pccl_topology *topology, struct pccl_demand **demand,
                     struct pccl_error *error)
{
    cJSON *root;
    *demand = NULL;
    int status = pccl__json_read(path, &root, error);
    if (status != 0) {
        return status;
    }
    struct pccl__json_place top = {path, NULL, 0, NULL};
    status = cJSON_IsObject(root) ? pccl__json_check_format(&top, root, "pccl-demand", error) : 0;
    if (status == 0) {
        status = pccl__demand_from_json(&top, root, true, topology, demand, error);
    }
    cJSON_Delete(root);
    return status;
}

/* --- writing ------------------------------------------------------------------------------------------------------ */

static void put_ranks(FILE *stream, const char *key, const uint32_t *ranks, uint32_t count)
{
    fprintf(stream, "\"%s\": [", key);
    for (uint32_t i = 0; i < count; i++) {
        fprintf(stream, "%s%" PRIu32, i > 0 ? ", " : "", ranks[i]);
    }
    fputc(']', stream);
}

static void put_chunks(FILE *stream, const struct pccl_demand *demand, const int64_t *block_bytes, uint32_t num_blocks)
{
    fprintf(stream, ",\n  \"reduces\": %s,\n  \"chunks\": [", demand->reduces ? "true" : "false");
    for (uint32_t block = 0; block < num_blocks; block++) {
        const struct pccl_chunk *chunk = &demand->chunks[block * demand->pieces];
        fprintf(stream, "%s\n   {\"bytes\": ", block > 0 ? "," : "");
        pccl__json_put_integer(stream, block_bytes[block]);
        fputs(", ", stream);
        put_ranks(stream, "sources", demand->holders + chunk->first_source, chunk->num_sources);
        fputs(", ", stream);
        put_ranks(stream, "targets", demand->holders + chunk->first_target, chunk->num_targets);
        fputc('}', stream);
    }
    fprintf(stream, "\n  ]");
}

static void put_sizes(FILE *stream, const int64_t *block_bytes, uint32_t num_blocks)
{
    bool equal = true;
    for (uint32_t block = 1; block < num_blocks; block++) {
        equal = equal && block_bytes[block] == block_bytes[0];
    }
    fprintf(stream, equal ? ",\n  \"bytes\": " : ",\n  \"block_bytes\": [");
    for (uint32_t block = 0; block < (equal ? 1 : num_blocks); block++) {
        fputs(block > 0 ? ", " : "", stream);
        pccl__json_put_integer(stream, block_bytes[block]);
    }
    fputs(equal ? "" : "]", stream);
}

int pccl__demand_to_json(FILE *stream, const struct pccl_demand *demand)
{
    uint32_t num_blocks = demand->num_chunks / demand->pieces;
    int64_t *block_bytes = pccl__array_new(num_blocks, sizeof *block_bytes);
    if (block_bytes == NULL) {
        return PCCL_ERR_MEMORY;
    }
    for (uint32_t chunk = 0; chunk < demand->num_chunks; chunk++) {
        block_bytes[chunk / demand->pieces] += demand->chunks[chunk].bytes;
    }
    fprintf(stream, "{\n  \"collective\": \"%s\",\n  ", pccl_collective_name(demand->collective));
    put_ranks(stream, "devices", demand->devices, demand->num_ranks);
    if (pccl_collective_is_rooted(demand->collective)) {
        fprintf(stream, ",\n  \"root\": %" PRIu32, demand->root);
    }
    fprintf(stream, ",\n  \"pieces\": %" PRIu32 ",\n  \"ordered\": %s", demand->pieces,
            demand->ordered ? "true" : "false");
    if (demand->reproducible) {
        fprintf(stream, ",\n  \"reproducible\": true");
    }
    if (demand->collective == PCCL_CUSTOM) {
        put_chunks(stream, demand, block_bytes, num_blocks);
    } else {
        put_sizes(stream, block_bytes, num_blocks);
    }
    fprintf(stream, "\n }");
    free(block_bytes);
    return 0;
}
