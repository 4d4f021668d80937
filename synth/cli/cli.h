/* Command line: what its files share. It uses the library through its public headers only. */
#ifndef PCCL_CLI_H
#define PCCL_CLI_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "pccl/synth.h"

/* Exit codes, documented in the man page. */
enum cli_exit {
    CLI_OK = 0,
    CLI_FAILED = 1, /* no schedule exists or was found, or a schedule is wrong */
    CLI_USAGE = 2,  /* the command line is wrong: unknown option, bad value */
    CLI_INPUT = 3,  /* a file is wrong: syntax, unknown key, impossible number */
    CLI_SYSTEM = 4  /* the operating system refused: missing file, full disk, closed pipe, no memory */
};

/* --- options.c: subcommands and their options ------------------------------------------------------------ */

#define CLI_MAX_OPTIONS 24

struct cli_option {
    const char *name;     /* without dashes; NULL ends a table */
    char letter;          /* 0: none */
    const char *argument; /* name of its value in the help; NULL: a switch */
    const char *help;
};

struct cli_arguments;

struct cli_command {
    const char *name;
    const char *summary;  /* one line of `pccl --help` */
    const char *operands; /* as in the usage line: "FILE" */
    uint32_t num_operands; /* at least */
    uint32_t max_operands; /* 0: as many as num_operands */
    const struct cli_option *options;
    const char *details; /* paragraphs and examples below the options; ends with a newline */
    int (*run)(const struct cli_arguments *arguments); /* returns an exit code */
};

struct cli_arguments {
    const struct cli_command *command;
    const char *values[CLI_MAX_OPTIONS]; /* by position in the command's table; "" for a switch; NULL: not given */
    const char *operand;         /* the first */
    const char *const *operands; /* [num_operands] */
    uint32_t num_operands;
};

extern const struct cli_command cli_command_convert, cli_command_explain, cli_command_plot, cli_command_simulate,
    cli_command_synth, cli_command_topology, cli_command_verify;

/* Runs a command on argv (argv[0] is its name); returns an exit code. */
int cli_command_run(const struct cli_command *command, int argc, char **argv);
/* Value of an option of the command, NULL if it was not given. */
const char *cli_value(const struct cli_arguments *arguments, const char *name);

/* --- errors.c -------------------------------------------------------------------------------------------- */

/* "pccl: ..." on the standard error. */
void cli_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The same for a library error about `subject` (a file or a value; NULL: none); returns the exit code that fits. */
int cli_fail(int status, const struct pccl_error *error, const char *subject);

/* --- values.c: text to numbers and back ------------------------------------------------------------------ */

struct cli_text {
    char text[40];
};

/* Decimal digits only. */
int cli_number_parse(const char *text, uint64_t maximum, uint64_t *value);
/* "65536", "64KiB", "1MB": whole bytes. */
int cli_bytes_parse(const char *text, int64_t *bytes, struct pccl_error *error);
struct cli_text cli_time_text(int64_t time_ps);    /* "4.410 us" */
struct cli_text cli_bytes_text(int64_t bytes);     /* "64 KiB" */
struct cli_text cli_rate_text(int64_t ps_per_mib); /* "50 GB/s" */
/* makespan / bound, "1.016"; "-" where the bound is 0. */
struct cli_text cli_gap_text(int64_t makespan_ps, int64_t bound_ps);

/* --- group.c --------------------------------------------------------------------------------------------- */

/* Process groups that work at the same time, disjoint: group g has the devices first[g] .. first[g + 1] - 1. */
struct cli_group {
    uint32_t num_devices;
    uint32_t *devices;
    uint32_t num_groups;
    uint32_t *first; /* [num_groups + 1] */
};

/* Groups from text ("0-15,32", names, "row:3", "row:0+row:1"; see the man page). NULL: all devices. */
int cli_group_parse(const struct pccl_topology *topology, const char *text, struct cli_group *group,
                    struct pccl_error *error);
void cli_group_free(struct cli_group *group);

/* --- ranks.c --------------------------------------------------------------------------------------------- */

/* A job on a fabric: the device of each rank. */
struct cli_ranks {
    uint32_t num_ranks, capacity;
    uint32_t *devices;
};

/* From a list of devices as coll_pccl_placement has it: "0-15", "n1,n1,n2". */
int cli_ranks_parse(const struct pccl_topology *topology, const char *list, struct cli_ranks *ranks,
                    struct pccl_error *error);
/* From a host file ("n1 slots=4") or a rank file ("rank 0=n1 slot=0") of mpirun. */
int cli_ranks_read(const struct pccl_topology *topology, const char *path, struct cli_ranks *ranks,
                   struct pccl_error *error);
void cli_ranks_free(struct cli_ranks *ranks);

/* --- draw.c ---------------------------------------------------------------------------------------------- */

/* The fabric as SVG, with the ranks of a job on it; none is fine. Returns an exit code. */
int cli_draw(FILE *stream, const struct pccl_topology *topology, const struct cli_ranks *ranks);

/* --- pattern.c ------------------------------------------------------------------------------------------- */

/* The same collective in every group at once, as the pattern of a custom request. `request` is that of one group, whose
 * devices and number of ranks do not matter. The caller frees *pattern with cli_pattern_free. */
int cli_pattern_create(const struct pccl_request *request, const struct cli_group *group, struct pccl_demand **pattern,
                       struct pccl_error *error);
void cli_pattern_free(struct pccl_demand *pattern);

/* --- output.c -------------------------------------------------------------------------------------------- */

/* A file that appears complete or not at all. path NULL or "-": the standard output. */
struct cli_file {
    FILE *stream;
    char *path, *temporary; /* NULL where nothing is renamed */
};

/* Refuses a name whose ending promises another format than the one that is written, given by its ending ("svg"); NULL
 * and names with no ending that is known are fine. hint: what follows "expected a name that ends in .svg". Returns an
 * exit code. */
int cli_output_check(const char *path, const char *ending, const char *hint);
int cli_file_open(struct cli_file *file, const char *path);
/* Writes out and renames if `code` is CLI_OK, else removes; returns `code` or CLI_SYSTEM. */
int cli_file_close(struct cli_file *file, int code);
/* Last step of every run: what is still buffered for the standard output. */
int cli_stdout_finish(int code);

/* Pieces of a JSON object: each prints its own comma; the object's brace is the caller's. */
void cli_json_string(FILE *stream, const char *key, const char *value, bool first);
void cli_json_integer(FILE *stream, const char *key, int64_t value, bool first);
/* A string in quotes, escaped. */
void cli_json_quote(FILE *stream, const char *text);

/* --- load.c ---------------------------------------------------------------------------------------------- */

int cli_topology_load(const char *text, struct pccl_topology **topology);
/* The topology of an import by the name of its format ("slurm", "ibnetdiscover", "hwloc"); notes go to the standard
 * error. fabric: a topology that hwloc's costs go into, or NULL; speed_unit: of speeds without one, or NULL. */
int cli_import(const char *format, const char *const *paths, uint32_t num_paths, const char *fabric,
               const char *speed_unit, struct pccl_topology **topology);
/* The schedule file that is the operand, and its topology: the value of `option`, or else what the file names. */
int cli_schedule_load(const struct cli_arguments *arguments, const char *option, struct pccl_topology **topology,
                      struct pccl_schedule **schedule);
/* Bytes a message carries. */
int64_t cli_message_bytes(const struct pccl_schedule *schedule, const struct pccl_message *message);
/* Number of devices outside the group that the schedule uses. */
int cli_relays_count(const struct pccl_topology *topology, const struct pccl_schedule *schedule, uint32_t *count);

/* --- request.c ------------------------------------------------------------------------------------------- */

/* A request with what it points to. Other arrays stay the demand's. It must not be moved. */
struct cli_request {
    struct pccl_request request;
    int64_t *block_bytes;       /* [blocks] */
    struct pccl_demand pattern; /* of a custom request: its blocks are whole, however a schedule cuts them */
};

/* The request behind a demand. The caller frees it with cli_request_free, also after an error. */
int cli_request_of_demand(const struct pccl_demand *demand, struct cli_request *recovered);
/* The request that a schedule answers; relays are allowed if it uses any. Ownership as above. */
int cli_request_recover(const struct pccl_topology *topology, const struct pccl_schedule *schedule,
                        struct cli_request *recovered);
void cli_request_free(struct cli_request *recovered);

/* --- reroute.c ------------------------------------------------------------------------------------------- */

struct cli_reroute {
    uint32_t num_rerouted; /* paths that take other links than before */
};

/* The same messages on another topology: vertices are matched by name, paths keep their way where it exists, follow the
 * new topology's own route where it does not, and where that has a gap the shortest way round, if devices forward. */
int cli_schedule_reroute(const struct pccl_schedule *schedule, const struct pccl_topology *from,
                         const struct pccl_topology *to, struct pccl_schedule **rerouted, struct cli_reroute *summary,
                         struct pccl_error *error);

/* --- synthesis.c ----------------------------------------------------------------------------------------- */

/* pccl_synthesize, but: where relays are allowed, the better of with and without; where nothing is found because
 * devices have no way between them, the error names two of those. */
int cli_synthesize(const struct pccl_topology *topology, const struct pccl_request *request,
                   const struct pccl_options *options, struct pccl_result **result, struct pccl_error *error);
/* Whether a method of the collective begins so; else reports the known ones. Returns an exit code. */
int cli_method_check(enum pccl_collective collective, const char *method);

/* --- progress.c ------------------------------------------------------------------------------------------ */

/* A line on the standard error, from the first second on, if that is a terminal. */
struct cli_progress {
    bool shown;
    double next_seconds; /* when to draw again */
    double begin_seconds;
};

void cli_progress_begin(struct cli_progress *progress);
/* The callback of struct pccl_options; context is a struct cli_progress. */
void cli_progress_update(void *context, const char *stage, uint64_t done, uint64_t total);
void cli_progress_end(struct cli_progress *progress);
double cli_clock_seconds(bool cpu);

#endif
