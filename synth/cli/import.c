/* Imports: which importer, and where its notes go. */
#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli.h"
#include "pccl/import.h"

static void print_note(void *context, const char *text)
{
    (void)context;
    cli_error("note: %s", text);
}

/* What is wrong is in a file, whatever it is called. */
static int fail(int status, const struct pccl_error *error, const char *path)
{
    int code = cli_fail(status, error, path);
    return code == CLI_USAGE ? CLI_INPUT : code;
}

/* The library reads rates as part of topologies, so one is made. */
static int read_unit(const char *text, int64_t *ps_per_mib, struct pccl_error *error)
{
    char generator[96];
    struct pccl_topology *topology;
    if (strlen(text) > 40 || strpbrk(text, ":,")) {
        snprintf(error->message, sizeof(error->message), "--speed-unit is '%.40s'; expected a rate such as 1Gbit/s",
                 text);
        return PCCL_ERR_FORMAT;
    }
    snprintf(generator, sizeof(generator), "star:1:bandwidth=%s", text);
    int status = pccl_topology_create(generator, &topology, error);
    if (status == PCCL_SUCCESS) {
        *ps_per_mib = topology->links[0].ps_per_mib;
        pccl_topology_free(topology);
    }
    return status;
}

#define TRIAL_SECONDS 60

/* Whether reading a file ends at all, well or with an error. hwloc trusts its XML: a damaged one can crash it, which is
 * why a child process reads it first. */
static bool ends(const char *path)
{
    pid_t child = fork();
    if (child == 0) {
        struct pccl_topology *topology;
        struct pccl_error error;
        struct pccl_import_options options = {.note = NULL};
        int silence = open("/dev/null", O_WRONLY);
        dup2(silence, STDERR_FILENO);
        alarm(TRIAL_SECONDS);
        pccl_import_hwloc(&path, 1, NULL, &options, &topology, &error);
        _exit(0);
    }
    int status = 0;
    return child < 0 || (waitpid(child, &status, 0) == child && status == 0);
}

static int import_hwloc(const char *const *paths, uint32_t num_paths, const char *fabric_text,
                        const struct pccl_import_options *options, struct pccl_topology **topology)
{
    struct pccl_topology *fabric = NULL;
    struct pccl_error error = {""};
    int code = fabric_text ? cli_topology_load(fabric_text, &fabric) : CLI_OK;
    for (uint32_t i = 0; i < num_paths && code == CLI_OK; i++) {
        if (!ends(paths[i])) {
            cli_error("%s: hwloc crashes when it reads this; expected XML as lstopo writes it", paths[i]);
            code = CLI_INPUT;
        }
    }
    if (code == CLI_OK) {
        int status = pccl_import_hwloc(paths, num_paths, fabric, options, topology, &error);
        code = status ? fail(status, &error, paths[0]) : CLI_OK;
    }
    pccl_topology_free(fabric);
    return code;
}

int cli_import(const char *format, const char *const *paths, uint32_t num_paths, const char *fabric,
               const char *speed_unit, struct pccl_topology **topology)
{
    struct pccl_import_options options = {.note = print_note};
    struct pccl_error error = {""};
    bool is_slurm = strcmp(format, "slurm") == 0, is_hwloc = strcmp(format, "hwloc") == 0;
    if (!is_slurm && !is_hwloc && strcmp(format, "ibnetdiscover") != 0) {
        cli_error("topology: --import is '%s'; expected slurm, ibnetdiscover or hwloc", format);
        return CLI_USAGE;
    }
    if ((fabric && !is_hwloc) || (speed_unit && !is_slurm)) {
        cli_error("topology: --%s does not go with --import=%s", fabric && !is_hwloc ? "fabric" : "speed-unit", format);
        return CLI_USAGE;
    }
    if (is_hwloc) {
        return import_hwloc(paths, num_paths, fabric, &options, topology);
    }
    if (num_paths > 1) {
        cli_error("topology: unexpected '%s'; --import=%s takes one file", paths[1], format);
        return CLI_USAGE;
    }
    if (speed_unit && read_unit(speed_unit, &options.unit_ps_per_mib, &error)) {
        cli_error("topology: %s", error.message);
        return CLI_USAGE;
    }
    int status = is_slurm ? pccl_import_slurm(paths[0], &options, topology, &error)
                          : pccl_import_ibnetdiscover(paths[0], &options, topology, &error);
    return status ? fail(status, &error, paths[0]) : CLI_OK;
}
