#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibrate.h"
#include "pccl/io.h"

const char *argp_program_version = "pccl-calibrate " PCCL_VERSION;

static const char doc[] = "Measures what messages cost on each class of links of a fabric and inside "
                          "hosts, over the transport that MPI uses, and "
                          "writes it into a fabric file, for coll_pccl_topology."
                          "\v"
                          "Start it on the hosts that jobs will use, with the same transport "
                          "parameters, on an otherwise idle network; one rank "
                          "for each host measures the network, several for each host, bound as those "
                          "of jobs, the inside of hosts too. Classes "
                          "that no two ranks are joined by, and levels at which none meet, keep the "
                          "numbers they have.\n\n"
                          "Examples:\n"
                          "  mpirun -n 64 --map-by node pccl-calibrate -t fabric.json\n"
                          "  mpirun -n 8 pccl-calibrate -o hosts.json";

static const struct argp_option descriptions[] = {
    {"topology", 't', "TOPOLOGY", 0,
     "fabric whose devices are named like the hosts: a file, or a generator "
     "(default: the hosts on one switch)",
     0},
    {"output", 'o', "FILE", 0, "write the fabric there (default: the file given with -t)", 0},
    {"quiet", 'q', NULL, 0, "do not print what was measured", 0},
    {"help", '?', NULL, 0, "print this text", -1},
    {"version", 'V', NULL, 0, "print the version", -1},
    {0}};

struct options {
    const char *topology, *output;
    bool quiet, informs;
};

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    struct options *options = state->input;
    switch (key) {
    case 't': options->topology = argument; return 0;
    case 'o': options->output = argument; return 0;
    case 'q': options->quiet = true; return 0;
    case '?':
    case 'V':
        options->informs = true;
        if (!(state->flags & ARGP_NO_ERRS) && key == '?') {
            argp_state_help(state, stdout, ARGP_HELP_LONG | ARGP_HELP_USAGE | ARGP_HELP_DOC);
        } else if (!(state->flags & ARGP_NO_ERRS)) {
            puts(argp_program_version);
        }
        return 0;
    case ARGP_KEY_ARG:
        argp_error(state, "unexpected argument '%s'; the fabric is given with -t", argument);
        return EINVAL;
    case ARGP_KEY_END:
        if (!options->informs && !options->output && !(options->topology && strchr(options->topology, '/')) &&
            !(options->topology && strstr(options->topology, ".json"))) {
            argp_error(state, "no file to write to%s%s; give -o FILE", options->topology ? ": no .json in " : "",
                       options->topology ? options->topology : "");
            return EINVAL;
        }
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

/* The fabric, each link with a class, and the host of each rank. */
static int open_fabric(const struct options *options, struct calibrate_rank *ranks, int num_ranks,
                       struct pccl_topology **fabric, struct pccl_error *error)
{
    struct pccl_topology *given = NULL;
    int status = options->topology ? pccl_topology_create(options->topology, &given, error)
                                   : calibrate_make_star(ranks, num_ranks, &given, error);
    if (status == PCCL_SUCCESS) {
        status = calibrate_find_hosts(ranks, num_ranks, given, error);
    }
    if (status == PCCL_SUCCESS) {
        status = pccl_topology_classify(given, fabric, error);
    }
    pccl_topology_free(given);
    return status;
}

static int measure_all(const struct calibrate_plan *plan, const struct pccl_topology *fabric,
                       struct calibrate_result *results, struct pccl_topology **calibrated, struct pccl_error *error)
{
    struct pccl_class inside[PCCL_NUM_LEVELS], *classes = malloc((fabric->num_classes + 1) * sizeof *classes);
    if (!classes) {
        snprintf(error->message, sizeof error->message, "out of memory");
        return PCCL_ERR_MEMORY;
    }
    memcpy(inside, fabric->inside, sizeof inside);
    memcpy(classes, fabric->classes, fabric->num_classes * sizeof *classes);
    for (int i = 0; i < plan->num_kinds; i++) {
        calibrate_measure(&plan->kinds[i], &results[i]);
    }
    calibrate_fit(plan, results, fabric->num_classes, classes, inside);
    int status = pccl_topology_set_costs(fabric, classes, inside, calibrated, error);
    free(classes);
    return status;
}

static int calibrate(const struct options *options, struct calibrate_rank *ranks, int num_ranks,
                     struct pccl_error *error)
{
    struct pccl_topology *fabric = NULL, *calibrated = NULL;
    struct calibrate_result *results = NULL;
    struct calibrate_plan plan = {0};
    double start = MPI_Wtime();
    int status = open_fabric(options, ranks, num_ranks, &fabric, error);
    if (status == PCCL_SUCCESS) {
        status = calibrate_plan_make(&plan, fabric, ranks, num_ranks, error);
    }
    if (status == PCCL_SUCCESS && plan.num_kinds == 0) {
        snprintf(error->message, sizeof error->message,
                 "there is nothing to measure: %d rank%s; start at least two. Nothing is written", num_ranks,
                 num_ranks == 1 ? "" : "s");
        status = PCCL_ERR_UNSUPPORTED;
    }
    if (status == PCCL_SUCCESS) {
        calibrate_warn_crowded(ranks, num_ranks);
        results = calloc((size_t)plan.num_kinds + 1, sizeof *results);
        status = results ? measure_all(&plan, fabric, results, &calibrated, error) : PCCL_ERR_MEMORY;
    }
    const char *file = options->output ? options->output : options->topology;
    if (status == PCCL_SUCCESS) {
        status = pccl_topology_write(calibrated, file, error);
    }
    if (status == PCCL_SUCCESS && !options->quiet) {
        printf("%d ranks, measured in %.1f s, written to %s\n\n", num_ranks, MPI_Wtime() - start, file);
        calibrate_report(&plan, results, calibrated, ranks);
    }
    if (status == PCCL_SUCCESS) {
        calibrate_warn(&plan, results, calibrated);
    }
    free(results);
    calibrate_plan_free(&plan);
    pccl_topology_free(calibrated);
    pccl_topology_free(fabric);
    return status;
}

int main(int argc, char **argv)
{
    static const struct argp argp = {descriptions, parse_option, NULL, doc, NULL, NULL, NULL};
    struct options options = {.quiet = false};
    struct pccl_error error = {""};
    int rank, num_ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &num_ranks);
    int status =
        argp_parse(&argp, argc, argv, ARGP_NO_EXIT | ARGP_NO_HELP | (rank == 0 ? 0 : ARGP_NO_ERRS), NULL, &options);
    if (status == 0 && !options.informs) {
        struct calibrate_rank *ranks = calibrate_survey();
        if (rank == 0) {
            status = calibrate(&options, ranks, num_ranks, &error);
            calibrate_stop();
        } else {
            calibrate_serve();
        }
        free(ranks);
    }
    if (rank == 0 && status != 0 && error.message[0]) {
        fprintf(stderr, "pccl-calibrate: %s\n", error.message);
    }
    MPI_Finalize();
    return status == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
