#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "io/demand.h"
#include "io/label.h"
#include "pccl/io.h"

#define MAX_CARRIED (UINT32_C(1) << 28) /* chunks in all messages together, so that ranges cannot fill the memory */
#define MOST_PACE 4096

struct reading {
    struct pccl__json_place top;
    const struct pccl_topology *topology;
    const struct pccl__label *label; /* that it must have, or NULL */
    struct pccl_schedule *schedule;
    struct pccl_error *error;
    uint32_t *numbers; /* links of a path, chunks of a message */
    uint32_t num_numbers, number_room;
    uint32_t *chunk_seen; /* [num_chunks] message that last carried it, plus 1 */
    uint32_t num_messages, num_carried;
};

static int fail_memory(const struct reading *reading)
{
    pccl__json_fail(&reading->top, NULL, reading->error, "out of memory");
    return PCCL_ERR_MEMORY;
}

static int append_number(struct reading *reading, uint32_t number)
{
    uint32_t *numbers =
        pccl__array_grow(reading->numbers, &reading->number_room, (uint64_t)reading->num_numbers + 1, sizeof *numbers);
    if (numbers == NULL) {
        return fail_memory(reading);
    }
    reading->numbers = numbers;
    numbers[reading->num_numbers++] = number;
    return 0;
}

/* A decimal number below `limit` at *text, which moves behind it. */
static bool scan_number(const char **text, uint32_t limit, uint32_t *number)
{
    uint64_t value = 0;
    const char *c = *text;
    for (; *c >= '0' && *c <= '9' && value < limit; c++) {
        value = 10 * value + (uint64_t)(*c - '0');
    }
    bool found = c > *text && value < limit && !(*c >= '0' && *c <= '9');
    *number = (uint32_t)value;
    *text = c;
    return found;
}

static int read_digest(const struct reading *reading, const cJSON *root, const char *key, uint64_t *digest)
{
    const char *text = NULL;
    int status = pccl__json_text(&reading->top, root, key, &text, reading->error);
    if (status != 0 || text == NULL) {
        return status;
    }
    char *end;
    *digest = strtoull(text, &end, 16);
    if (strlen(text) != 16 || *end != '\0' || strspn(text, "0123456789abcdef") != 16) {
        return pccl__json_fail(&reading->top, key, reading->error, "is \"%.40s\"; expected 16 hexadecimal digits",
                               text);
    }
    return 0;
}

/* --- paths -------------------------------------------------------------------------------------------------------- */

static int read_path(struct reading *reading, const struct pccl__json_place *place, const cJSON *item)
{
    if (!cJSON_IsString(item)) {
        return pccl__json_fail(place, NULL, reading->error, "expected a string of link numbers");
    }
    reading->num_numbers = 0;
    for (const char *text = item->valuestring; *text != '\0' || reading->num_numbers == 0;) {
        uint32_t link;
        if (!scan_number(&text, reading->topology->num_links, &link)) {
            return pccl__json_fail(place, NULL, reading->error,
                                   "expected link numbers below %" PRIu32 ", met \"%.20s\"",
                                   reading->topology->num_links, text);
        }
        int status = append_number(reading, link);
        if (status != 0) {
            return status;
        }
        text += *text == ' ' && text[1] != '\0';
    }
    uint32_t number = pccl_schedule_path(reading->schedule, reading->topology, reading->numbers, reading->num_numbers);
    if (number == PCCL_NONE) {
        return fail_memory(reading);
    }
    if (number != place->index) {
        return pccl__json_fail(place, NULL, reading->error, "is the same as path %" PRIu32, number);
    }
    return 0;
}

static int read_paths(struct reading *reading, const cJSON *root)
{
    const cJSON *list, *item;
    uint32_t count;
    int status = pccl__json_array(&reading->top, root, "paths", &list, &count, reading->error);
    struct pccl__json_place place = {reading->top.path, "paths", 0, NULL};
    cJSON_ArrayForEach(item, list)
    {
        if (status == 0) {
            status = read_path(reading, &place, item);
        }
        place.index++;
    }
    return status;
}

/* --- messages ----------------------------------------------------------------------------------------------------- */

/* Chunks "3,5-8" at *text, which moves behind them. Each at most once, so that their number stays bounded. */
static int read_chunks(struct reading *reading, const struct pccl__json_place *place, const char **text)
{
    uint32_t num_chunks = reading->schedule->demand->num_chunks;
    reading->num_numbers = 0;
    do {
        uint32_t first, last;
        const char *start = *text;
        bool found = scan_number(text, num_chunks, &first);
        last = first;
        if (found && **text == '-') {
            ++*text;
            found = scan_number(text, num_chunks, &last) && last > first;
        }
        if (!found) {
            return pccl__json_fail(place, NULL, reading->error,
                                   "message %" PRIu32 ": expected chunk numbers below %" PRIu32 ", met \"%.20s\"",
                                   reading->num_messages, num_chunks, start);
        }
        for (uint32_t chunk = first; chunk <= last; chunk++) {
            if (reading->chunk_seen[chunk] == reading->num_messages + 1) {
                return pccl__json_fail(place, NULL, reading->error,
                                       "message %" PRIu32 " carries chunk %" PRIu32 " twice", reading->num_messages,
                                       chunk);
            }
            reading->chunk_seen[chunk] = reading->num_messages + 1;
            int status = append_number(reading, chunk);
            if (status != 0) {
                return status;
            }
        }
    } while (*(*text)++ == ',');
    --*text;
    reading->num_carried += reading->num_numbers < MAX_CARRIED ? reading->num_numbers : MAX_CARRIED;
    return reading->num_carried <= MAX_CARRIED ? 0
                                               : pccl__json_fail(place, NULL, reading->error,
                                                                 "the messages carry more than %" PRIu32 " chunks",
                                                                 MAX_CARRIED);
}

static int read_messages(struct reading *reading, const struct pccl__json_place *place, uint32_t step, const char *text)
{
    for (const char *next = text; *next != '\0' || next == text;) {
        uint32_t path;
        const char *start = next;
        bool found = scan_number(&next, reading->schedule->num_paths, &path);
        if (!found || (*next != ':' && *next != '+')) {
            return pccl__json_fail(place, NULL, reading->error,
                                   "message %" PRIu32 ": expected PATH:CHUNKS or PATH+CHUNKS with a "
                                   "path below %" PRIu32 ", met \"%.20s\"",
                                   reading->num_messages, reading->schedule->num_paths, start);
        }
        bool reduce = *next++ == '+';
        int status = read_chunks(reading, place, &next);
        if (status != 0) {
            return status;
        }
        if (reading->num_messages == UINT32_MAX - 1 ||
            pccl_schedule_add(reading->schedule, step, path, reduce, reading->numbers, reading->num_numbers) != 0) {
            return fail_memory(reading);
        }
        reading->num_messages++;
        if (*next != '\0' && (*next++ != ' ' || *next == '\0')) {
            return pccl__json_fail(place, NULL, reading->error,
                                   "message %" PRIu32 ": expected a space and another message, met \"%.20s\"",
                                   reading->num_messages - 1, next - 1);
        }
    }
    return 0;
}

static int read_step(struct reading *reading, const struct pccl__json_place *place, const cJSON *item, int64_t *step)
{
    static const char *const keys[] = {"step", "messages"};
    int status = pccl__json_object(place, item, keys, 2, reading->error);
    if (status != 0) {
        return status;
    }
    const cJSON *messages = cJSON_GetObjectItemCaseSensitive(item, "messages");
    if (!cJSON_IsString(messages)) {
        return pccl__json_fail(place, "messages", reading->error, "expected a string");
    }
    int64_t after = *step;
    *step = -1;
    status = pccl__json_integer(place, item, "step", after + 1, UINT32_MAX - 1, step, reading->error);
    if (status == 0 && *step < 0) {
        status = pccl__json_fail(place, "step", reading->error, "missing");
    }
    return status == 0 ? read_messages(reading, place, (uint32_t)*step, messages->valuestring) : status;
}

static int read_steps(struct reading *reading, const cJSON *root)
{
    const cJSON *list, *item;
    uint32_t count;
    int64_t step = -1;
    int status = pccl__json_array(&reading->top, root, "steps", &list, &count, reading->error);
    reading->chunk_seen = pccl__array_new(reading->schedule->demand->num_chunks, sizeof *reading->chunk_seen);
    if (status == 0 && reading->chunk_seen == NULL) {
        status = fail_memory(reading);
    }
    struct pccl__json_place place = {reading->top.path, "steps", 0, NULL};
    cJSON_ArrayForEach(item, list)
    {
        if (status == 0) {
            status = read_step(reading, &place, item, &step);
        }
        place.index++;
    }
    if (status == 0 && pccl_schedule_seal(reading->schedule) != 0) {
        status = fail_memory(reading);
    }
    return status;
}

/* --- all together ------------------------------------------------------------------------------------------------- */

static int read_head(struct reading *reading, const cJSON *root)
{
    static const char *const keys[] = {"format", "version", "made_by", "key",   "topology", "topology_digest",
                                       "method", "digest",  "demand",  "paths", "steps", "pace"};
    const char *topology = "", *method = "file";
    int64_t pace = 0;
    uint64_t digest = reading->topology->digest;
    int status = pccl__json_object(&reading->top, root, keys, sizeof keys / sizeof *keys, reading->error);
    if (status == 0) {
        status = pccl__json_check_format(&reading->top, root, "pccl-schedule", reading->error);
    }
    if (status == 0 && reading->label != NULL) {
        status = pccl__label_check(&reading->top, root, reading->label, reading->error);
    }
    if (status == 0) {
        status = pccl__json_text(&reading->top, root, "topology", &topology, reading->error);
    }
    if (status == 0) {
        status = pccl__json_text(&reading->top, root, "method", &method, reading->error);
    }
    if (status == 0) {
        status = pccl__json_integer(&reading->top, root, "pace", 0, MOST_PACE, &pace, reading->error);
    }
    if (status == 0) {
        status = read_digest(reading, root, "topology_digest", &digest);
    }
    if (status == 0 && digest != reading->topology->digest) {
        status = pccl__json_fail(&reading->top, "topology_digest", reading->error,
                                 "the schedule was made for \"%.60s\" (digest "
                                 "%016" PRIx64 "), not for \"%.60s\" (digest %016" PRIx64 ")",
                                 topology, digest, reading->topology->name, reading->topology->digest);
    }
    const cJSON *object = cJSON_GetObjectItemCaseSensitive(root, "demand");
    struct pccl_demand *demand = NULL;
    if (status == 0 && object == NULL) {
        status = pccl__json_fail(&reading->top, "demand", reading->error, "missing");
    }
    if (status == 0) {
        status = pccl__demand_from_json(&reading->top, object, false, reading->topology, &demand, reading->error);
    }
    if (status == 0) {
        status = pccl_schedule_create(demand, reading->topology, method, &reading->schedule, reading->error);
    }
    if (status == 0) {
        reading->schedule->pace = (uint32_t)pace;
    }
    return status;
}

static int read_body(struct reading *reading, const cJSON *root)
{
    int status = read_paths(reading, root);
    if (status == 0) {
        status = read_steps(reading, root);
    }
    uint64_t met = status == 0 ? pccl_schedule_digest(reading->schedule) : 0, digest = met;
    if (status == 0) {
        status = read_digest(reading, root, "digest", &digest);
    }
    if (status == 0 && met != digest) {
        status = pccl__json_fail(&reading->top, "digest", reading->error,
                                 "is %016" PRIx64 "; that of the contents is %016" PRIx64, digest, met);
    }
    return status;
}

int pccl__schedule_read(const char *path, const struct pccl_topology *topology, const struct pccl__label *label,
                        struct pccl_schedule **schedule, struct pccl_error *error)
{
    struct reading reading = {.top = {.path = path}, .topology = topology, .label = label, .error = error};
    cJSON *root;
    *schedule = NULL;
    int status = pccl__json_read(path, &root, error);
    if (status != 0) {
        return status;
    }
    status = read_head(&reading, root);
    if (status == 0) {
        status = read_body(&reading, root);
    }
    cJSON_Delete(root);
    free(reading.numbers);
    free(reading.chunk_seen);
    if (status != 0) {
        pccl_schedule_free(reading.schedule);
        return status;
    }
    *schedule = reading.schedule;
    return 0;
}

int pccl_schedule_read(const char *path, const struct pccl_topology *topology, struct pccl_schedule **schedule,
                       struct pccl_error *error)
{
    return pccl__schedule_read(path, topology, NULL, schedule, error);
}
