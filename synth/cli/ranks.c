/* Which device each rank of a job sits on, from a list or from a file for mpirun. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

#define MAX_RANKS (1u << 22)
#define MAX_LINE 4096

static int add_rank(struct cli_ranks *ranks, uint32_t device)
{
    if (ranks->num_ranks == ranks->capacity) {
        uint32_t capacity = ranks->capacity ? 2 * ranks->capacity : 64;
        uint32_t *grown = realloc(ranks->devices, capacity * sizeof(*grown));
        if (!grown || ranks->num_ranks >= MAX_RANKS) {
            ranks->devices = grown ? grown : ranks->devices;
            return PCCL_ERR_MEMORY;
        }
        ranks->devices = grown;
        ranks->capacity = capacity;
    }
    ranks->devices[ranks->num_ranks++] = device;
    return PCCL_SUCCESS;
}

static int refuse(struct pccl_error *error, const char *format, const char *what, const char *name)
{
    snprintf(error->message, sizeof(error->message), format, what, name);
    return PCCL_ERR_FORMAT;
}

static int find_host(const struct pccl_topology *topology, const char *host, uint32_t *device, struct pccl_error *error)
{
    bool ambiguous;
    *device = pccl_topology_find_host(topology, host, &ambiguous);
    return *device != PCCL_NONE ? PCCL_SUCCESS
           : ambiguous
               ? refuse(error, "'%.100s' fits several devices of %.100s; give its full name", host, topology->name)
               : refuse(error, "'%.100s' is no device of %.100s", host, topology->name);
}

/* A device's name, a number, or a range of them in either direction. */
static int add_word(const struct pccl_topology *topology, const char *word, struct cli_ranks *ranks,
                    struct pccl_error *error)
{
    uint64_t first, last;
    uint32_t device;
    char left[32] = "";
    const char *dash = strchr(word, '-');
    if (pccl_topology_find_host(topology, word, NULL) == PCCL_NONE) {
        size_t length = dash ? (size_t)(dash - word) : strlen(word);
        snprintf(left, sizeof(left), "%.*s", (int)(length < 20 ? length : 20), word);
        if (cli_number_parse(left, topology->num_devices - 1, &first) == 0 &&
            cli_number_parse(dash ? dash + 1 : left, topology->num_devices - 1, &last) == 0) {
            int status = add_rank(ranks, (uint32_t)first);
            while (first != last && !status) {
                first += first < last ? 1 : UINT64_MAX;
                status = add_rank(ranks, (uint32_t)first);
            }
            return status;
        }
    }
    int status = find_host(topology, word, &device, error);
    return status ? status : add_rank(ranks, device);
}

int cli_ranks_parse(const struct pccl_topology *topology, const char *list, struct cli_ranks *ranks,
                    struct pccl_error *error)
{
    char *words = strdup(list), *rest = NULL;
    int status = words ? PCCL_SUCCESS : PCCL_ERR_MEMORY;
    *ranks = (struct cli_ranks){0};
    char *word = words ? strtok_r(words, ", ", &rest) : NULL;
    while (word && !status) {
        status = add_word(topology, word, ranks, error);
        word = strtok_r(NULL, ", ", &rest);
    }
    free(words);
    if (status) {
        cli_ranks_free(ranks);
    }
    return status;
}

/* "rank 3=HOST slot=..." of a rank file; the rank must be the next one. */
static int read_rank(const struct pccl_topology *topology, char *line, struct cli_ranks *ranks,
                     struct pccl_error *error)
{
    char *equals = strchr(line, '='), *host = equals + 1;
    uint32_t device;
    uint64_t rank;
    *equals = '\0';
    if (cli_number_parse(line, MAX_RANKS, &rank) || rank != ranks->num_ranks) {
        snprintf(error->message, sizeof(error->message), "rank '%.20s'; expected %u, ranks being in order", line,
                 ranks->num_ranks);
        return PCCL_ERR_FORMAT;
    }
    host[strcspn(host, " \t")] = '\0';
    int status = find_host(topology, host, &device, error);
    return status ? status : add_rank(ranks, device);
}

/* "HOST slots=4 max_slots=8": ranks fill the slots of one host after the other. */
static int read_slots(const struct pccl_topology *topology, char *line, struct cli_ranks *ranks,
                      struct pccl_error *error)
{
    uint64_t slots = 1;
    uint32_t device;
    char *rest = NULL, *host = strtok_r(line, " \t", &rest);
    for (char *word; (word = strtok_r(NULL, " \t", &rest)) != NULL;) {
        bool is_slots = strncmp(word, "slots=", 6) == 0;
        if ((!is_slots && strncmp(word, "max", 3) != 0) || (is_slots && cli_number_parse(word + 6, 1 << 20, &slots))) {
            return refuse(error, "'%.60s'%s; expected a line such as: node01 slots=4", word, "");
        }
    }
    int status = find_host(topology, host, &device, error);
    for (; slots > 0 && !status; slots--) {
        status = add_rank(ranks, device);
    }
    return status;
}

static int read_line(const struct pccl_topology *topology, char *line, struct cli_ranks *ranks,
                     struct pccl_error *error)
{
    line[strcspn(line, "#\r\n")] = '\0';
    line += strspn(line, " \t");
    if (*line == '\0') {
        return PCCL_SUCCESS;
    }
    bool is_rank = strncmp(line, "rank ", 5) == 0 && strchr(line, '=');
    return is_rank ? read_rank(topology, line + 5, ranks, error) : read_slots(topology, line, ranks, error);
}

int cli_ranks_read(const struct pccl_topology *topology, const char *path, struct cli_ranks *ranks,
                   struct pccl_error *error)
{
    char line[MAX_LINE];
    int status = PCCL_SUCCESS;
    uint32_t number = 0;
    struct pccl_error inner = {""};
    FILE *stream = fopen(path, "r");
    *ranks = (struct cli_ranks){0};
    if (!stream) {
        snprintf(error->message, sizeof(error->message), "%.200s: cannot read: %s", path, strerror(errno));
        return PCCL_ERR_IO;
    }
    while (!status && fgets(line, sizeof(line), stream)) {
        number++;
        status = read_line(topology, line, ranks, &inner);
    }
    if (status == PCCL_ERR_FORMAT) {
        snprintf(error->message, sizeof(error->message), "%.200s:%u: %.240s", path, number, inner.message);
    }
    fclose(stream);
    if (status) {
        cli_ranks_free(ranks);
    }
    return status;
}

void cli_ranks_free(struct cli_ranks *ranks)
{
    free(ranks->devices);
    *ranks = (struct cli_ranks){0};
}
