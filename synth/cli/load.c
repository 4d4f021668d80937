/* Loading: topologies and schedules from what the user names. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cjson/cJSON.h>

#include "cli.h"
#include "pccl/io.h"

#define MAX_FILE_BYTES (INT64_C(1) << 31)

/* A list of links: "PATH.csv[:COLUMN=VALUE,COLUMN=VALUE[:multicast]]". *rest is what follows the path. */
static bool is_csv(const char *text, const char **rest)
{
    const char *dot = strstr(text, ".csv");
    *rest = dot ? dot + strlen(".csv") : text;
    return dot && (**rest == '\0' || **rest == ':');
}

static int create_from_csv(const char *text, const char *rest, struct pccl_topology **topology,
                           struct pccl_error *error)
{
    char *copy = strdup(text);
    if (!copy) {
        return PCCL_ERR_MEMORY;
    }
    char *filter = *rest ? copy + (rest - text) : NULL, *option = filter ? strchr(filter + 1, ':') : NULL;
    int status = PCCL_SUCCESS;
    if (filter) {
        *filter++ = '\0';
    }
    if (option) {
        *option++ = '\0';
    }
    if (option && strcmp(option, "multicast") != 0) {
        snprintf(error->message, sizeof(error->message), "unknown option '%.40s' after a CSV file; expected multicast",
                 option);
        status = PCCL_ERR_INVALID;
    } else {
        status = pccl_topology_read_csv(copy, filter && *filter ? filter : NULL, option != NULL, topology, error);
    }
    free(copy);
    return status;
}

static int create_topology(const char *text, struct pccl_topology **topology, struct pccl_error *error)
{
    const char *rest;
    return is_csv(text, &rest) ? create_from_csv(text, rest, topology, error)
                               : pccl_topology_create(text, topology, error);
}

int cli_topology_load(const char *text, struct pccl_topology **topology)
{
    struct pccl_error error = {""};
    int status = create_topology(text, topology, &error);
    if (status && !strchr(text, '/') && !strstr(text, ".json") && access(text, R_OK) == 0) {
        cli_error("'%s' is no generator, but a file; names of topology files end in .json or .csv, and files of Slurm, "
                  "ibnetdiscover and hwloc become one by 'pccl topology --import=FORMAT %s -o FILE.json'", text, text);
        return CLI_USAGE;
    }
    return status ? cli_fail(status, &error, text) : CLI_OK;
}

/* The whole file as a string the caller frees; NULL with errno set. */
static char *read_text(const char *path)
{
    struct stat status;
    FILE *stream = fopen(path, "r");
    char *text = NULL;
    if (!stream) {
        return NULL;
    }
    if (fstat(fileno(stream), &status) != 0 || !S_ISREG(status.st_mode) || status.st_size > MAX_FILE_BYTES) {
        errno = S_ISDIR(status.st_mode) ? EISDIR : EFBIG;
    } else {
        text = malloc((size_t)status.st_size + 1);
    }
    if (text) {
        size_t length = fread(text, 1, (size_t)status.st_size, stream);
        text[length] = '\0';
    }
    fclose(stream);
    return text;
}

static bool is_topology(const cJSON *root)
{
    const cJSON *format = cJSON_GetObjectItemCaseSensitive(root, "format");
    bool named = cJSON_IsString(format) && strcmp(format->valuestring, "pccl-topology") == 0;
    return named || (!format && cJSON_HasObjectItem(root, "links"));
}

/* Where pccl keeps plans, their topologies lie beside them: that of this digest, if it is there, as text the caller
 * frees. */
static char *find_neighbor(const char *path, const cJSON *digest)
{
    const char *slash = strrchr(path, '/');
    int length = slash ? (int)(slash - path) : 1;
    size_t bytes = (size_t)length + 64;
    char *name = cJSON_IsString(digest) ? malloc(bytes) : NULL;
    if (name) {
        snprintf(name, bytes, "%.*s/topology-%.16s.json", length, slash ? path : ".", digest->valuestring);
    }
    if (name && access(name, R_OK) != 0) {
        free(name);
        name = NULL;
    }
    return name;
}

/* What a schedule file tells of its topology. */
struct origin {
    char *name;      /* or the path of its file; the caller frees it; NULL: none is named */
    uint64_t digest; /* 0: none */
};

static int find_origin(const char *path, struct origin *origin)
{
    *origin = (struct origin){.name = NULL};
    char *text = read_text(path);
    if (!text) {
        cli_error("%s: cannot read: %s", path, strerror(errno));
        return CLI_SYSTEM;
    }
    cJSON *root = cJSON_Parse(text);
    free(text);
    if (is_topology(root)) {
        cli_error("%s: is a topology, not a schedule; 'pccl topology' describes it, 'pccl synth -t %s' makes a "
                  "schedule",
                  path, path);
        cJSON_Delete(root);
        return CLI_INPUT;
    }
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(root, "topology");
    if (cJSON_IsObject(item)) {
        item = cJSON_GetObjectItemCaseSensitive(item, "name");
    }
    const cJSON *digest = cJSON_GetObjectItemCaseSensitive(root, "topology_digest");
    origin->name = find_neighbor(path, digest);
    origin->digest = cJSON_IsString(digest) ? strtoull(digest->valuestring, NULL, 16) : 0;
    if (!origin->name && cJSON_IsString(item)) {
        origin->name = strdup(item->valuestring);
    }
    cJSON_Delete(root);
    return CLI_OK;
}

/* The name was that of a generator or file, but of another topology, such as one with a link less. */
static void add_hint(const struct origin *origin, const struct pccl_topology *topology, const char *option,
                     struct pccl_error *error)
{
    size_t length = strlen(error->message);
    if (origin->digest != 0 && origin->digest != topology->digest) {
        snprintf(error->message + length, sizeof(error->message) - length, "; give its file with %s FILE", option);
    }
}

int cli_schedule_load(const struct cli_arguments *arguments, const char *option, struct pccl_topology **topology,
                      struct pccl_schedule **schedule)
{
    const char *path = arguments->operand, *text = cli_value(arguments, option);
    const char *flag = strcmp(option, "topology") == 0 ? "-t" : "--from";
    struct pccl_error error = {""};
    struct origin origin = {.name = NULL};
    int code = text ? CLI_OK : find_origin(path, &origin);
    if (code) {
        return code;
    }
    int status = text || origin.name ? create_topology(text ? text : origin.name, topology, &error) : PCCL_ERR_FORMAT;
    if (status && !text) {
        cli_error("%s: made on topology '%s', which is no generator; give the topology file that pccl wrote or read "
                  "then, with '%s FILE'",
                  path, origin.name ? origin.name : "", flag);
        code = CLI_INPUT;
    } else if (status) {
        code = cli_fail(status, &error, text);
    } else {
        status = pccl_schedule_read(path, *topology, schedule, &error);
        if (status) {
            add_hint(&origin, *topology, flag, &error);
            code = cli_fail(status, &error, path);
            pccl_topology_free(*topology);
        }
    }
    free(origin.name);
    return code;
}

int64_t cli_message_bytes(const struct pccl_schedule *schedule, const struct pccl_message *message)
{
    uint32_t count;
    const uint32_t *chunks = pccl_message_chunks(schedule, message, &count);
    int64_t bytes = 0;
    for (uint32_t i = 0; i < count; i++) {
        bytes += schedule->demand->chunks[chunks[i]].bytes;
    }
    return bytes;
}

int cli_relays_count(const struct pccl_topology *topology, const struct pccl_schedule *schedule, uint32_t *count)
{
    bool *member = calloc(topology->num_devices, sizeof(*member));
    if (!member) {
        return PCCL_ERR_MEMORY;
    }
    *count = 0;
    for (uint32_t rank = 0; rank < schedule->demand->num_ranks; rank++) {
        member[schedule->demand->devices[rank]] = true;
    }
    for (uint32_t m = 0; m < schedule->num_messages; m++) {
        uint32_t target = schedule->paths[schedule->messages[m].path].target;
        if (target < topology->num_devices && !member[target]) {
            member[target] = true;
            ++*count;
        }
    }
    free(member);
    return PCCL_SUCCESS;
}
