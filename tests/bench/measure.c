/* Making one case and measuring it. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "algorithms/portfolio.h"
#include "algorithms/symmetry.h"
#include "bench.h"
#include "pccl/io.h"
#include "usage.h"

static uint32_t find_row(const char *method)
{
    for (uint32_t row = 0; row < pccl__num_rows; row++) {
        if (strcmp(pccl__rows[row].method, method) == 0) {
            return row;
        }
    }
    return PCCL_NONE;
}

static int open_topology(const struct bench_case *which, struct pccl_topology **topology, struct pccl_error *error)
{
    if (which->csv[0] == '\0') {
        return pccl_topology_create(which->topology, topology, error);
    }
    return pccl_topology_read_csv(which->csv, which->topology[0] != '\0' ? which->topology : NULL, which->multicast,
                                  topology, error);
}

static int make_by_row(const struct bench_case *which, const struct pccl_topology *topology,
                       const struct pccl_request *request, struct pccl_schedule **schedule, struct pccl_error *error)
{
    struct pccl__problem problem;
    struct pccl_options options = {.effort = PCCL_EFFORT_THOROUGH};
    uint32_t row = find_row(which->method);
    int status = pccl__problem_open(&problem, topology, request, &options, error);
    if (status == 0 && row == PCCL_NONE) {
        snprintf(error->message, sizeof error->message, "\"%s\" is no row of the portfolio", which->method);
        status = PCCL_ERR_INVALID;
    }
    if (status == 0) {
        status = pccl__row_make(&problem, row, which->pieces, schedule, error);
    }
    pccl__problem_close(&problem);
    return status;
}

/* The rest of the portfolio's result dies with the process. */
static int make(const struct bench_case *which, const struct pccl_topology *topology,
                const struct pccl_request *request, struct pccl_schedule **schedule, struct pccl_error *error)
{
    if (which->method != BENCH_FIRST_USE && strcmp(which->method, BENCH_THOROUGH) != 0) {
        return make_by_row(which, topology, request, schedule, error);
    }
    struct pccl_options options = {.effort = which->method == BENCH_FIRST_USE ? PCCL_EFFORT_FIRST_USE
                                                                              : PCCL_EFFORT_THOROUGH};
    struct pccl_result *result;
    int status = pccl_synthesize(topology, request, &options, &result, error);
    *schedule = status == 0 ? result->schedule : NULL;
    return status;
}

/* One rank's operations, without a schedule of the whole. */
static int measure_one_rank(const struct bench_case *which, const struct pccl_topology *topology,
                            struct bench_measure *measure, struct pccl_error *error)
{
    double before_mib = peak_mib(), begin = cpu_seconds();
    struct pccl__symmetric_plan plan;
    int status = pccl__symmetric_plan_create(topology, &plan, error);
    if (status != 0) {
        return status;
    }
    struct pccl__symmetric_operation *operations = malloc(plan.num_steps * sizeof *operations);
    if (operations == NULL) {
        return PCCL_ERR_MEMORY;
    }
    pccl__symmetric_plan_extract(&plan, 0, operations);
    measure->cpu_seconds = cpu_seconds() - begin;
    measure->mib = peak_mib() - before_mib;
    measure->num_messages = plan.num_steps;
    measure->makespan_ps = plan.num_slots * pccl_transfer_ps(which->bytes, topology->links[0].ps_per_mib);
    measure->verified = true;
    strcpy(measure->method, "symmetry, one rank");
    free(operations);
    pccl__symmetric_plan_free(&plan);
    return 0;
}

static int measure_schedule(const struct bench_case *which, const struct pccl_topology *topology,
                            const struct pccl_request *request, struct bench_measure *measure,
                            struct pccl_error *error)
{
    struct pccl_schedule *schedule = NULL;
    double before_mib = peak_mib(), begin = cpu_seconds();
    int status = make(which, topology, request, &schedule, error);
    if (status != 0) {
        return status;
    }
    measure->cpu_seconds = cpu_seconds() - begin;
    measure->mib = peak_mib() - before_mib;
    measure->num_messages = schedule->num_messages;
    measure->pieces = schedule->demand->pieces;
    strcpy(measure->method, schedule->method);
    struct pccl_simulation simulation = {0};
    status = pccl_simulate(topology, schedule, &simulation, error);
    measure->makespan_ps = simulation.makespan_ps;
    status = status == 0 ? pccl_verify_schedule(topology, schedule, which->relays, error) : status;
    measure->verified = status == 0;
    pccl_schedule_free(schedule);
    return status;
}

/* Over the certified bound; where twice the all-gather of the blocks is what is required of an all-reduce, over that,
 * which is no bound where devices differ but what a schedule of two such halves can reach. */
static int find_gap(const struct bench_case *which, const struct pccl_topology *topology, struct pccl_request request,
                    struct bench_measure *measure, struct pccl_error *error)
{
    struct pccl_bound bound = {0};
    int status = pccl_bound_compute(topology, &request, &bound, error);
    double least_ps = (double)bound.bound_ps;
    measure->bound_ps = bound.bound_ps;
    measure->twice_gather = request.collective == PCCL_ALLREDUCE && which->gap > 0;
    if (status == 0 && measure->twice_gather) {
        request.collective = PCCL_ALLGATHER;
        request.bytes /= request.num_ranks;
        status = pccl_bound_compute(topology, &request, &bound, error);
        least_ps = 2 * (double)bound.bound_ps;
    }
    measure->gap = least_ps > 0 ? (double)measure->makespan_ps / least_ps : 0;
    return status;
}

static int measure_case(const struct bench_case *which, struct bench_measure *measure, struct pccl_error *error)
{
    struct pccl_topology *topology;
    int status = open_topology(which, &topology, error);
    if (status != 0) {
        return status;
    }
    uint32_t num_ranks = which->num_ranks > 0 ? which->num_ranks : topology->num_devices;
    uint32_t *devices = malloc(num_ranks * sizeof *devices);
    for (uint32_t rank = 0; devices != NULL && rank < num_ranks; rank++) {
        devices[rank] = rank;
    }
    struct pccl_request request = {.collective = which->collective,
                                   .num_ranks = num_ranks,
                                   .devices = devices,
                                   .bytes = which->bytes,
                                   .relays = which->relays};
    measure->num_devices = num_ranks;
    double slot_us = (double)pccl_transfer_ps(which->bytes, topology->links[0].ps_per_mib) / 1e6;
    double reference_us = which->reference_us > 0 ? which->reference_us : which->reference_slots * slot_us;
    measure->reference_ps = (int64_t)(reference_us * 1e6 + 0.5);
    if (devices == NULL) {
        status = PCCL_ERR_MEMORY;
    } else if (which->method != NULL && strcmp(which->method, BENCH_ONE_RANK) == 0) {
        status = measure_one_rank(which, topology, measure, error);
    } else {
        status = measure_schedule(which, topology, &request, measure, error);
    }
    status = status == 0 ? find_gap(which, topology, request, measure, error) : status;
    free(devices);
    pccl_topology_free(topology);
    return status;
}

static void measure_and_send(const struct bench_case *which, int stream)
{
    struct bench_measure measure = {0};
    struct pccl_error error = {{0}};
    measure.status = measure_case(which, &measure, &error);
    snprintf(measure.error, sizeof measure.error, "%.255s", error.message);
    _exit(write(stream, &measure, sizeof measure) != sizeof measure);
}

void bench_run(const struct bench_case *which, struct bench_measure *measure)
{
    int ends[2];
    *measure = (struct bench_measure){.status = PCCL_ERR_IO, .error = "the process that measures came to grief"};
    fflush(NULL);
    if (pipe(ends) != 0) {
        return;
    }
    pid_t child = fork();
    if (child == 0) {
        measure_and_send(which, ends[1]);
    }
    close(ends[1]);
    struct bench_measure sent;
    if (child > 0 && read(ends[0], &sent, sizeof sent) == sizeof sent) {
        *measure = sent;
    }
    close(ends[0]);
    if (child > 0) {
        waitpid(child, NULL, 0);
    }
}

bool bench_is_same(const struct bench_case *one, const struct bench_case *other)
{
    return strcmp(one->topology, other->topology) == 0 && strcmp(one->csv, other->csv) == 0 &&
           one->multicast == other->multicast && one->collective == other->collective &&
           one->num_ranks == other->num_ranks && one->relays == other->relays && one->bytes == other->bytes &&
           one->method == other->method && one->pieces == other->pieces;
}
