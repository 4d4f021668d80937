/* pccl synth: makes a schedule, verifies it, simulates it, bounds it. */
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "cli.h"
#include "pccl/io.h"
#include "pccl/synth.h"

static const struct cli_option options[] = {
    {"topology", 't', "TOPOLOGY", "network: a generator such as torus:4x4, or a file (required)"},
    {"collective", 'c', "NAME", "allgather, allreduce, alltoall, ..., or a file: see below (required)"},
    {"group", 'g', "GROUP", "devices that take part, in rank order: 0-15,32 (default: all)"},
    {"size", 's', "BYTES", "size of a block, as 65536 or 64KiB (default: 1MiB)"},
    {"root", 'r', "RANK", "root of a rooted collective (default: 0)"},
    {"relays", 0, NULL, "devices outside the group may pass data on"},
    {"ordered", 0, NULL, "the operator of a reduction does not commute"},
    {"reproducible", 0, NULL, "reduce in an order that depends on nothing but the number of ranks"},
    {"method", 0, "NAME", "only methods whose name begins so; a wrong name lists them"},
    {"frugal", 0, NULL, "as few messages as can be, even if that is slower"},
    {"effort", 0, "LEVEL", "quick or thorough (default: thorough)"},
    {"seed", 0, "NUMBER", "seed of the restarts (default: 0)"},
    {"output", 'o', "FILE", "write the schedule there"},
    {"json", 0, NULL, "print one JSON object instead of the table"},
    {NULL, 0, NULL, NULL},
};

struct job {
    struct pccl_topology *topology;
    struct cli_group group;
    enum pccl_collective collective; /* of each group; the request's is custom if there are several */
    struct pccl_request request;
    struct pccl_demand *pattern; /* several groups only */
    struct pccl_demand *demand;  /* from a file only */
    struct cli_request recovered; /* the same: what the request points to */
    struct pccl_options options;
    struct pccl_result *result;
    struct pccl_bound bound;
    struct pccl_simulation simulation;
    double seconds; /* CPU time of the synthesis */
};

static int read_size(const struct cli_arguments *arguments, struct pccl_request *request)
{
    struct pccl_error error = {""};
    const char *text = cli_value(arguments, "size");
    if (cli_bytes_parse(text ? text : "1MiB", &request->bytes, &error) == PCCL_SUCCESS) {
        return CLI_OK;
    }
    cli_error("--size: %s", error.message);
    return CLI_USAGE;
}

static int read_root(const struct cli_arguments *arguments, struct pccl_request *request)
{
    const char *text = cli_value(arguments, "root");
    uint64_t root = 0;
    if (text && !pccl_collective_is_rooted(request->collective)) {
        cli_error("--root: %s has no root; expected it with broadcast, gather, reduce or scatter only",
                  pccl_collective_name(request->collective));
        return CLI_USAGE;
    }
    if (text && cli_number_parse(text, request->num_ranks - 1, &root)) {
        cli_error("--root: '%s' is no rank of the group; expected 0 to %u", text, request->num_ranks - 1);
        return CLI_USAGE;
    }
    request->root = (uint32_t)root;
    return CLI_OK;
}

static int read_options(const struct cli_arguments *arguments, struct pccl_options *chosen)
{
    const char *effort = cli_value(arguments, "effort"), *seed = cli_value(arguments, "seed");
    chosen->method = cli_value(arguments, "method");
    chosen->frugal = cli_value(arguments, "frugal") != NULL;
    chosen->effort = PCCL_EFFORT_THOROUGH;
    if (effort && strcmp(effort, "quick") == 0) {
        chosen->effort = PCCL_EFFORT_FIRST_USE;
    } else if (effort && strcmp(effort, "thorough") != 0) {
        cli_error("--effort: '%s' is unknown; expected quick or thorough", effort);
        return CLI_USAGE;
    }
    if (seed && cli_number_parse(seed, UINT64_MAX, &chosen->seed)) {
        cli_error("--seed: '%s' is no number below 2^64", seed);
        return CLI_USAGE;
    }
    return CLI_OK;
}

static int read_collective(const struct cli_arguments *arguments, struct pccl_request *request)
{
    struct pccl_error error = {""};
    const char *text = cli_value(arguments, "collective");
    if (pccl_collective_parse(text, &request->collective, &error)) {
        cli_error("--collective: %s", error.message);
        return CLI_USAGE;
    }
    if (request->collective == PCCL_CUSTOM) {
        cli_error("--collective: a pattern of your own needs a file; expected its path or a standard collective");
        return CLI_USAGE;
    }
    request->relays = cli_value(arguments, "relays") != NULL;
    request->ordered = cli_value(arguments, "ordered") != NULL;
    request->reproducible = cli_value(arguments, "reproducible") != NULL;
    if ((request->ordered || request->reproducible) && !pccl_collective_is_reduction(request->collective)) {
        cli_error("--%s: %s does not reduce; expected it with a reduction or a scan only",
                  request->ordered ? "ordered" : "reproducible", text);
        return CLI_USAGE;
    }
    return CLI_OK;
}

static int read_group(const struct cli_arguments *arguments, struct job *job)
{
    struct pccl_error error = {""};
    int status = cli_group_parse(job->topology, cli_value(arguments, "group"), &job->group, &error);
    if (status == PCCL_ERR_INVALID) {
        cli_error("--group: %s", error.message);
    }
    if (status) {
        return status == PCCL_ERR_INVALID ? CLI_USAGE : cli_fail(status, &error, NULL);
    }
    uint32_t smallest = UINT32_MAX;
    for (uint32_t g = 0; g < job->group.num_groups; g++) {
        uint32_t size = job->group.first[g + 1] - job->group.first[g];
        smallest = size < smallest ? size : smallest;
    }
    job->request.devices = job->group.devices;
    job->request.num_ranks = smallest; /* so that the root is checked against every group */
    if (smallest >= 2) {
        return CLI_OK;
    }
    cli_error("--group: a group has one device only; expected two or more");
    return CLI_USAGE;
}

/* Several groups at once become one pattern among all their ranks. */
static int join_groups(struct job *job)
{
    struct pccl_error error = {""};
    job->collective = job->request.collective;
    if (job->group.num_groups > 1) {
        int status = cli_pattern_create(&job->request, &job->group, &job->pattern, &error);
        if (status) {
            return cli_fail(status, &error, NULL);
        }
        job->request.collective = PCCL_CUSTOM;
        job->request.custom = job->pattern;
        job->request.root = 0;
    }
    job->request.num_ranks = job->group.num_devices;
    return CLI_OK;
}

static bool is_file(const char *collective)
{
    size_t length = strlen(collective);
    return strchr(collective, '/') || (length > 5 && strcmp(collective + length - 5, ".json") == 0);
}

/* What to do from a file, which names the devices, sizes and root itself. */
static int read_demand(const struct cli_arguments *arguments, struct job *job)
{
    static const char *const excluded[] = {"group", "size", "root", "ordered", "reproducible"};
    const char *path = cli_value(arguments, "collective");
    struct pccl_error error = {""};
    for (size_t i = 0; i < sizeof(excluded) / sizeof(excluded[0]); i++) {
        if (cli_value(arguments, excluded[i])) {
            cli_error("--%s: the file '%s' tells that itself; expected one or the other", excluded[i], path);
            return CLI_USAGE;
        }
    }
    int status = pccl_demand_read(path, job->topology, &job->demand, &error);
    if (!status) {
        status = cli_request_of_demand(job->demand, &job->recovered);
    }
    job->request = job->recovered.request;
    job->request.relays = cli_value(arguments, "relays") != NULL;
    job->collective = job->request.collective;
    job->group.num_groups = 1;
    return status ? cli_fail(status, &error, path) : CLI_OK;
}

/* What to do from the options. */
static int read_request(const struct cli_arguments *arguments, struct job *job)
{
    int code = read_collective(arguments, &job->request);
    if (code == CLI_OK) {
        code = read_size(arguments, &job->request);
    }
    if (code == CLI_OK) {
        code = read_group(arguments, job);
    }
    if (code == CLI_OK) {
        code = read_root(arguments, &job->request);
    }
    return code == CLI_OK ? join_groups(job) : code;
}

/* The command line into a job; the caller frees it in every case. */
static int read_job(const struct cli_arguments *arguments, struct job *job)
{
    const char *topology = cli_value(arguments, "topology");
    int code = cli_output_check(cli_value(arguments, "output"), "json", "; 'pccl plot' draws the schedule");
    if (code) {
        return code;
    }
    if (!topology || !cli_value(arguments, "collective")) {
        cli_error("synth: --%s is missing; try 'pccl synth -t torus:4x4 -c allgather'",
                  topology ? "collective" : "topology");
        return CLI_USAGE;
    }
    code = read_options(arguments, &job->options);
    if (code == CLI_OK) {
        code = cli_topology_load(topology, &job->topology);
    }
    if (code == CLI_OK && is_file(cli_value(arguments, "collective"))) {
        code = read_demand(arguments, job);
    } else if (code == CLI_OK) {
        code = read_request(arguments, job);
    }
    if (code == CLI_OK && job->options.method) {
        code = cli_method_check(job->request.collective, job->options.method);
    }
    return code;
}

static int make(struct job *job)
{
    struct pccl_error error = {""};
    struct cli_progress progress;
    cli_progress_begin(&progress);
    job->options.progress = cli_progress_update;
    job->options.progress_context = &progress;
    double begin_seconds = cli_clock_seconds(true);
    int status = cli_synthesize(job->topology, &job->request, &job->options, &job->result, &error);
    job->seconds = cli_clock_seconds(true) - begin_seconds;
    if (!status) {
        cli_progress_update(&progress, "verifying", 0, 0);
        status = pccl_verify_schedule(job->topology, job->result->schedule, job->request.relays, &error);
    }
    if (!status) {
        status = pccl_simulate(job->topology, job->result->schedule, &job->simulation, &error);
    }
    if (!status) {
        cli_progress_update(&progress, "computing the bound", 0, 0);
        status = pccl_bound_compute(job->topology, &job->request, &job->bound, &error);
    }
    cli_progress_end(&progress);
    return status ? cli_fail(status, &error, NULL) : CLI_OK;
}

/* Sends, receives and combinations of chunks. */
static int64_t count_operations(const struct pccl_schedule *schedule)
{
    int64_t operations = 0;
    for (uint32_t i = 0; i < schedule->num_messages; i++) {
        operations += 2 + (schedule->messages[i].reduce ? 1 : 0);
    }
    return operations;
}

static int64_t peak_memory_bytes(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) == 0 ? (int64_t)usage.ru_maxrss * 1024 : 0;
}

/* As 'pccl explain' counts: of an all-reduce that combines shares, the pieces of a share. */
static uint32_t count_pieces(const struct pccl_result *result)
{
    for (uint32_t i = 0; i < result->num_candidates; i++) {
        if (result->candidates[i].rejection[0] == '\0') {
            return result->candidates[i].pieces;
        }
    }
    return result->schedule->demand->pieces;
}

static uint32_t count_steps(const struct pccl_schedule *schedule)
{
    return schedule->num_messages ? schedule->messages[schedule->num_messages - 1].step + 1 : 0;
}

static void print_json(const struct job *job)
{
    const struct pccl_schedule *schedule = job->result->schedule;
    int64_t makespan_ps = job->simulation.makespan_ps;
    char digest[20];
    snprintf(digest, sizeof(digest), "%016llx", (unsigned long long)pccl_schedule_digest(schedule));
    printf("{");
    cli_json_string(stdout, "topology", job->topology->name, true);
    cli_json_string(stdout, "collective", pccl_collective_name(job->collective), false);
    cli_json_integer(stdout, "groups", job->group.num_groups, false);
    cli_json_integer(stdout, "ranks", job->request.num_ranks, false);
    cli_json_integer(stdout, "bytes", job->request.bytes, false);
    cli_json_integer(stdout, "makespan_ps", makespan_ps, false);
    cli_json_integer(stdout, "bound_ps", job->bound.bound_ps, false);
    cli_json_string(stdout, "bound_argument", job->bound.argument ? job->bound.argument : "", false);
    if (job->bound.bound_ps > 0) {
        printf(", \"gap\": %.6f", (double)makespan_ps / (double)job->bound.bound_ps);
    } else {
        printf(", \"gap\": null");
    }
    printf(", \"synthesis_seconds\": %.6f", job->seconds);
    cli_json_integer(stdout, "operations", count_operations(schedule), false);
    cli_json_integer(stdout, "messages", schedule->num_messages, false);
    cli_json_integer(stdout, "steps", count_steps(schedule), false);
    cli_json_integer(stdout, "pieces", count_pieces(job->result), false);
    cli_json_integer(stdout, "peak_memory_bytes", peak_memory_bytes(), false);
    cli_json_string(stdout, "method", schedule->method, false);
    cli_json_string(stdout, "digest", digest, false);
    printf("}\n");
}

static void print_table(const struct job *job, const char *output)
{
    const struct pccl_schedule *schedule = job->result->schedule;
    int64_t makespan_ps = job->simulation.makespan_ps;
    bool own_sizes = job->request.block_bytes || (job->demand && job->collective == PCCL_CUSTOM);
    printf("%s", pccl_collective_name(job->collective));
    if (job->collective != PCCL_BARRIER) {
        printf(" of %s", own_sizes ? "unequal blocks" : cli_bytes_text(job->request.bytes).text);
    }
    printf(" among %u ranks", job->request.num_ranks);
    if (job->group.num_groups > 1) {
        printf(" in %u groups at once", job->group.num_groups);
    }
    printf(" on %s\n\n", job->topology->name);
    printf("finish      %s (simulated)\n", cli_time_text(makespan_ps).text);
    printf("bound       %s (no schedule is faster: %s)\n", cli_time_text(job->bound.bound_ps).text,
           job->bound.argument ? job->bound.argument : "-");
    printf("gap         %s (finish / bound)\n", cli_gap_text(makespan_ps, job->bound.bound_ps).text);
    printf("method      %s, best of %u candidates\n", schedule->method, job->result->num_candidates);
    uint32_t pieces = count_pieces(job->result);
    bool shares = pieces != schedule->demand->pieces;
    printf("messages    %u in %u steps, %u piece%s a %s\n", schedule->num_messages, count_steps(schedule), pieces,
           pieces == 1 ? "" : "s", shares ? "rank's share" : "block");
    printf("synthesis   %.3f s of CPU, %s of memory at most\n", job->seconds, cli_bytes_text(peak_memory_bytes()).text);
    printf("verified    yes\n");
    printf("digest      %016llx\n", (unsigned long long)pccl_schedule_digest(schedule));
    if (output) {
        printf("written to  %s\n", output);
    }
}

static int run(const struct cli_arguments *arguments)
{
    struct job job = {0};
    const char *output = cli_value(arguments, "output");
    int code = read_job(arguments, &job);
    if (code == CLI_OK) {
        code = make(&job);
    }
    if (code == CLI_OK && output) {
        struct pccl_error error = {""};
        int status = pccl_schedule_write(job.result->schedule, job.topology, output, &error);
        code = status ? cli_fail(status, &error, output) : CLI_OK;
    }
    if (code == CLI_OK && cli_value(arguments, "json")) {
        print_json(&job);
    } else if (code == CLI_OK) {
        print_table(&job, output);
    }
    pccl_result_free(job.result);
    cli_request_free(&job.recovered);
    pccl_demand_free(job.demand);
    cli_pattern_free(job.pattern);
    cli_group_free(&job.group);
    pccl_topology_free(job.topology);
    return code;
}

const struct cli_command cli_command_synth = {
    .name = "synth",
    .summary = "make a schedule for a collective on a topology",
    .operands = "",
    .options = options,
    .details = "A block is what one rank contributes (allgather, gather), what one rank sends\n"
               "to one other (alltoall), what one rank gets (scatter, reduce_scatter), or the\n"
               "whole buffer (broadcast, reduce, allreduce, scan, exscan). The collectives are\n"
               "allgather, allreduce, alltoall, barrier, broadcast, exscan, gather, reduce,\n"
               "reduce_scatter, scan and scatter. A name with a slash or ending in .json is the\n"
               "file of a pattern of your own.\n"
               "Examples:\n"
               "  pccl synth -t torus:4x4 -c allgather -s 1MiB -o gather.json\n"
               "  pccl synth -t mesh:8x8 -c alltoall -g row:0-1 --relays\n"
               "  pccl synth -t mesh:4x4 -c allgather -g each:row --relays\n"
               "  pccl synth -t star:16 -c broadcast -s 8 -r 3 --json\n",
    .run = run,
};
