#include "pccl/store.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/digest.h"
#include "base/error.h"
#include "io/demand.h"
#include "io/label.h"
#include "pccl/io.h"

/* DIRECTORY/KIND-DIGEST.json, malloc. */
static char *name_after(const struct pccl_store *store, const char *kind, uint64_t digest)
{
    size_t bytes = strlen(store->directory) + 64;
    char *path = malloc(bytes);
    if (path != NULL) {
        snprintf(path, bytes, "%s/%s-%016" PRIx64 ".json", store->directory, kind, digest);
    }
    return path;
}

static char *name_file(const struct pccl_store *store, const char *kind, const char *key)
{
    return name_after(store, kind, pccl__digest_bytes(PCCL__DIGEST_START, key, strlen(key)));
}

/* Whether there is something to read. A pipe that somebody has put there would never end. A directory that is none holds
 * nothing; who writes is told. */
static int look(const char *path, bool *found, struct pccl_error *error)
{
    struct stat file;
    *found = stat(path, &file) == 0;
    if (!*found && errno != ENOENT && errno != ENOTDIR) {
        return pccl__fail(error, PCCL_ERR_IO, "%.200s: cannot read: %s", path, strerror(errno));
    }
    if (*found && !S_ISREG(file.st_mode)) {
        return pccl__fail(error, PCCL_ERR_FORMAT, "%.200s: is not a regular file", path);
    }
    return 0;
}

/* The first thing that goes wrong for who has mistyped a name, and not what errno says of the file in it. */
static int check_directory(const struct pccl_store *store, struct pccl_error *error)
{
    struct stat directory;
    return stat(store->directory, &directory) == 0 || errno != ENOENT
               ? 0
               : pccl__fail(error, PCCL_ERR_IO, "%.200s: no such directory; it has to be made first", store->directory);
}

/* --- schedules ---------------------------------------------------------------------------------------------------- */

static bool is_same_demand(const struct pccl_demand *a, const struct pccl_demand *b)
{
    return a->collective == b->collective && a->num_ranks == b->num_ranks && a->root == b->root &&
           a->reduces == b->reduces && a->ordered == b->ordered && a->reproducible == b->reproducible &&
           a->num_chunks == b->num_chunks && a->num_holders == b->num_holders &&
           memcmp(a->devices, b->devices, a->num_ranks * sizeof *a->devices) == 0 &&
           memcmp(a->chunks, b->chunks, a->num_chunks * sizeof *a->chunks) == 0 &&
           memcmp(a->holders, b->holders, a->num_holders * sizeof *a->holders) == 0;
}

/* Whether every message goes from the only source of its chunks to a target of theirs. */
static bool is_direct(const struct pccl_schedule *schedule)
{
    const struct pccl_demand *demand = schedule->demand;
    for (uint32_t i = 0; i < schedule->num_messages; i++) {
        uint32_t count;
        const uint32_t *chunks = pccl_message_chunks(schedule, &schedule->messages[i], &count);
        uint32_t sender = schedule->paths[schedule->messages[i].path].source;
        for (uint32_t j = 0; j < count; j++) {
            const struct pccl_chunk *chunk = &demand->chunks[chunks[j]];
            if (chunk->num_sources != 1 || demand->devices[demand->holders[chunk->first_source]] != sender) {
                return false;
            }
        }
    }
    return true;
}

static int check_answer(const char *path, const struct pccl_schedule *schedule, const struct pccl_request *request,
                        struct pccl_error *error)
{
    struct pccl_demand *demand;
    int status = pccl_demand_create(request, schedule->demand->pieces, &demand, error);
    if (status != 0) {
        return status;
    }
    if (!is_same_demand(schedule->demand, demand)) {
        status = pccl__fail(error, PCCL_ERR_FORMAT, "%.200s: demand: is not that of the key", path);
    } else if (request->direct && !is_direct(schedule)) {
        status = pccl__fail(error, PCCL_ERR_FORMAT, "%.200s: steps: a message is not direct, as the key asks", path);
    }
    pccl_demand_free(demand);
    return status;
}

int pccl_store_load_schedule(const struct pccl_store *store, const char *key, const struct pccl_topology *topology,
                             const struct pccl_request *request, struct pccl_schedule **schedule,
                             struct pccl_error *error)
{
    struct pccl__label label = {store->maker, key};
    char *path = name_file(store, "plan", key);
    bool found = false;
    *schedule = NULL;
    int status = path != NULL ? look(path, &found, error) : pccl__fail_memory(error);
    if (status == 0 && found) {
        status = pccl__schedule_read(path, topology, &label, schedule, error);
    }
    if (status == 0 && found) {
        status = check_answer(path, *schedule, request, error);
    }
    if (status != 0) {
        pccl_schedule_free(*schedule);
        *schedule = NULL;
    }
    free(path);
    return status;
}

int pccl_store_save_schedule(const struct pccl_store *store, const char *key, const struct pccl_topology *topology,
                             const struct pccl_schedule *schedule, struct pccl_error *error)
{
    struct pccl__label label = {store->maker, key};
    char *path = name_file(store, "plan", key);
    int status = path != NULL ? check_directory(store, error) : pccl__fail_memory(error);
    if (status == 0) {
        status = pccl__schedule_write(schedule, topology, &label, path, error);
    }
    free(path);
    return status;
}

int pccl_store_save_topology(const struct pccl_store *store, const struct pccl_topology *topology,
                             struct pccl_error *error)
{
    char *path = name_after(store, "topology", topology->digest);
    bool found = false;
    int status = path != NULL ? check_directory(store, error) : pccl__fail_memory(error);
    if (status == 0) {
        status = look(path, &found, error);
    }
    if (status == 0 && !found) {
        status = pccl_topology_write(topology, path, error);
    }
    free(path);
    return status;
}

/* --- outcomes ----------------------------------------------------------------------------------------------------- */

static const char *const way_names[] = {"plan", "frugal", "other"};
static const char *const way_keys[] = {"plan_ps", "frugal_ps", "other_ps"};

static int take_fastest(const struct pccl__json_place *top, const cJSON *root, enum pccl_way *fastest,
                        struct pccl_error *error)
{
    const char *text = NULL;
    int status = pccl__json_text(top, root, "fastest", &text, error);
    if (status != 0) {
        return status;
    }
    for (*fastest = 0; *fastest < PCCL_NUM_WAYS; (*fastest)++) {
        if (text != NULL && strcmp(text, way_names[*fastest]) == 0) {
            return 0;
        }
    }
    return text == NULL ? pccl__json_fail(top, "fastest", error, "missing")
                        : pccl__json_fail(top, "fastest", error, "is \"%.40s\"; expected plan, frugal or other", text);
}

static int take_outcome(const struct pccl__json_place *top, const cJSON *root, const struct pccl__label *label,
                        struct pccl_outcome *outcome, struct pccl_error *error)
{
    static const char *const keys[] = {"format",  "version",   "made_by",  "key",
                                       "fastest", "plan_ps", "frugal_ps", "other_ps"};
    int status = pccl__json_object(top, root, keys, sizeof keys / sizeof *keys, error);
    if (status == 0) {
        status = pccl__json_check_format(top, root, "pccl-outcome", error);
    }
    if (status == 0) {
        status = pccl__label_check(top, root, label, error);
    }
    if (status == 0) {
        status = take_fastest(top, root, &outcome->fastest, error);
    }
    for (int way = 0; way < PCCL_NUM_WAYS && status == 0; way++) {
        status = pccl__json_integer(top, root, way_keys[way], 0, INT64_MAX, &outcome->time_ps[way], error);
    }
    if (status == 0 && outcome->time_ps[outcome->fastest] < 0) {
        status = pccl__json_fail(top, way_keys[outcome->fastest], error, "missing");
    }
    return status;
}

int pccl_store_load_outcome(const struct pccl_store *store, const char *key, bool *found, struct pccl_outcome *outcome,
                            struct pccl_error *error)
{
    struct pccl__label label = {store->maker, key};
    char *path = name_file(store, "outcome", key);
    cJSON *root = NULL;
    *found = false;
    *outcome = (struct pccl_outcome){PCCL_WAY_OTHER, {-1, -1, -1}};
    int status = path != NULL ? look(path, found, error) : pccl__fail_memory(error);
    if (status == 0 && *found) {
        status = pccl__json_read(path, &root, error);
    }
    if (status == 0 && *found) {
        struct pccl__json_place top = {.path = path};
        status = take_outcome(&top, root, &label, outcome, error);
        cJSON_Delete(root);
    }
    *found = *found && status == 0;
    free(path);
    return status;
}

int pccl_store_save_outcome(const struct pccl_store *store, const char *key, const struct pccl_outcome *outcome,
                            struct pccl_error *error)
{
    struct pccl__label label = {store->maker, key};
    char *path = name_file(store, "outcome", key);
    struct pccl__json_file file;
    int status = path != NULL ? check_directory(store, error) : pccl__fail_memory(error);
    if (status == 0) {
        status = pccl__json_open(&file, path, error);
    }
    if (status == 0) {
        fprintf(file.stream, "{\n \"format\": \"pccl-outcome\",\n \"version\": 1,\n");
        pccl__label_put(file.stream, &label);
        fprintf(file.stream, " \"fastest\": \"%s\"", way_names[outcome->fastest]);
        for (int way = 0; way < PCCL_NUM_WAYS; way++) {
            if (outcome->time_ps[way] >= 0) {
                fprintf(file.stream, ",\n \"%s\": ", way_keys[way]);
                pccl__json_put_integer(file.stream, outcome->time_ps[way]);
            }
        }
        fprintf(file.stream, "\n}\n");
        status = pccl__json_close(&file, 0, error);
    }
    free(path);
    return status;
}
