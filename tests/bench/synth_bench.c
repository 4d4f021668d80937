/* Times the synthesizer on the cases by which it is judged and prints one line of CSV for each: what was asked, CPU
 * seconds and peak memory of the synthesis alone, makespan, certified bound and their quotient. Every schedule is
 * verified. A process per case, so that peaks of memory are its own.
 *
 *     synth_bench [TEXT]    only cases whose name contains TEXT */
#define _POSIX_C_SOURCE 200809L
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "algorithms/portfolio.h"
#include "algorithms/symmetry.h"

#define MIB (INT64_C(1) << 20)

#define ONE_RANK "one rank" /* by symmetry, only what device 0 does; verified by unit tests on smaller ones */

struct bench_case {
    const char *name;
    const char *topology;
    enum pccl_collective collective;
    uint32_t num_ranks; /* the first so many devices; 0: all */
    bool relays;
    int64_t bytes;
    const char *method; /* row of the portfolio; NULL: pccl_synthesize as in a first use; "": the same, thorough */
    uint32_t pieces;
};

/* unit: all links alike, no latency, no overhead; a makespan in slots is then makespan / (time of one block on a
 * link). */
static const struct bench_case cases[] = {
    {"alltoall mesh 32x16", "mesh:32x16:unit", PCCL_ALLTOALL, 0, false, MIB, "unicast:farthest", 1},
    {"alltoall torus 32x16", "torus:32x16:unit", PCCL_ALLTOALL, 0, false, MIB, "unicast:farthest", 1},
    {"alltoall torus 8x8x8", "torus:8x8x8:unit", PCCL_ALLTOALL, 0, false, MIB, "unicast:farthest", 1},
    {"alltoall hypercube 2^9", "hypercube:9:unit", PCCL_ALLTOALL, 0, false, MIB, "unicast:farthest", 1},
    {"alltoall torus 8x8x8 by symmetry", "torus:8x8x8:unit", PCCL_ALLTOALL, 0, false, MIB, "symmetry", 1},
    {"alltoall hypercube 2^9 by symmetry", "hypercube:9:unit", PCCL_ALLTOALL, 0, false, MIB, "symmetry", 1},
    {"alltoall torus 16x16x16 one rank", "torus:16x16x16:unit", PCCL_ALLTOALL, 0, false, MIB, ONE_RANK, 1},
    {"alltoall hypercube 2^12 one rank", "hypercube:12:unit", PCCL_ALLTOALL, 0, false, MIB, ONE_RANK, 1},
    {"alltoall fat tree 32x16, 16 spines", "fattree:32x16:spines=16:unit", PCCL_ALLTOALL, 0, false, MIB,
     "circuits:rotated", 1},
    {"alltoall dragonfly 33x8x4", "dragonfly:33x8x4:unit", PCCL_ALLTOALL, 0, false, MIB, "circuits:longest", 1},
    {"alltoall mesh 32x32", "mesh:32x32:unit", PCCL_ALLTOALL, 0, false, MIB, "unicast:farthest", 1},
    {"allgather mesh 32x16", "mesh:32x16:unit", PCCL_ALLGATHER, 0, false, MIB, "matching", 1},
    {"allgather torus 32x16", "torus:32x16:unit", PCCL_ALLGATHER, 0, false, MIB, "matching", 1},
    {"allgather torus 8x8x8", "torus:8x8x8:unit", PCCL_ALLGATHER, 0, false, MIB, "matching", 1},
    {"allgather mesh 8x8x8", "mesh:8x8x8:unit", PCCL_ALLGATHER, 0, false, MIB, "matching", 1},
    {"allgather torus 16x16x16", "torus:16x16x16:unit", PCCL_ALLGATHER, 0, false, MIB, "matching", 1},
    {"allreduce mesh 32x16", "mesh:32x16:unit", PCCL_ALLREDUCE, 0, false, 512 * MIB, "matching", 1},
    {"allreduce torus 32x16", "torus:32x16:unit", PCCL_ALLREDUCE, 0, false, 512 * MIB, "matching", 1},
    {"allreduce torus 8x8x8", "torus:8x8x8:unit", PCCL_ALLREDUCE, 0, false, 512 * MIB, "matching", 1},
    {"allreduce mesh 8x8x8", "mesh:8x8x8:unit", PCCL_ALLREDUCE, 0, false, 512 * MIB, "matching", 1},
    {"group 16 in a row of 32x16", "mesh:32x16:unit", PCCL_ALLTOALL, 16, true, MIB, "unicast:farthest-detours", 1},
    {"group 2 edge rows of 16x32", "mesh:16x32:unit", PCCL_ALLTOALL, 64, true, MIB, "unicast:shuffled-detours", 1},
    {"group 4 edge rows of 16x32", "mesh:16x32:unit", PCCL_ALLTOALL, 128, true, MIB, "unicast:shuffled-detours", 1},
    {"group 8 edge rows of 16x32", "mesh:16x32:unit", PCCL_ALLTOALL, 256, true, MIB, "unicast:shuffled-detours", 1},
    {"group plane of torus 8x8x8", "torus:8x8x8:unit", PCCL_ALLTOALL, 64, true, MIB, "unicast:farthest-detours", 1},
    {"64 boxes of 8 allgather", "boxes:64x8:bandwidth=200GB/s,50GB/s", PCCL_ALLGATHER, 0, false, 16 * MIB,
     "matching:filling", 2},
    {"64 boxes of 8 alltoall", "boxes:64x8:bandwidth=200GB/s,50GB/s", PCCL_ALLTOALL, 0, false, MIB, "unicast:shuffled",
     1},
    {"star 16 allgather 8 B", "star:16:bandwidth=12.5GB/s:latency=50ns:overhead=500ns", PCCL_ALLGATHER, 0, false, 8,
     "", 1},
    {"star 16 allgather 64 KiB", "star:16:bandwidth=12.5GB/s:latency=50ns:overhead=500ns", PCCL_ALLGATHER, 0, false,
     65536, "", 1},
    {"first use alltoall mesh 8x8", "mesh:8x8", PCCL_ALLTOALL, 0, false, 65536, NULL, 1},
    {"first use allgather mesh 8x8", "mesh:8x8", PCCL_ALLGATHER, 0, false, 65536, NULL, 1},
    {"first use allreduce mesh 8x8", "mesh:8x8", PCCL_ALLREDUCE, 0, false, MIB, NULL, 1},
    {"first use broadcast mesh 8x8", "mesh:8x8", PCCL_BROADCAST, 0, false, MIB, NULL, 1},
};

static double cpu_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static uint32_t find_row(const char *method)
{
    for (uint32_t row = 0; row < pccl__num_rows; row++) {
        if (strcmp(pccl__rows[row].method, method) == 0) {
            return row;
        }
    }
    return PCCL_NONE;
}

/* Makes the schedule of a case; *makespan_ps stays 0 if it was not simulated on the way. */
static int synthesize(const struct bench_case *which, const struct pccl_topology *topology,
                      const struct pccl_request *request, struct pccl_schedule **schedule, struct pccl_error *error)
{
    struct pccl_options options = {.effort = PCCL_EFFORT_FIRST_USE};
    if (which->method == NULL || which->method[0] == '\0') {
        struct pccl_result *result;
        options.effort = which->method == NULL ? PCCL_EFFORT_FIRST_USE : PCCL_EFFORT_THOROUGH;
        int status = pccl_synthesize(topology, request, &options, &result, error);
        *schedule = status == 0 ? result->schedule : NULL; /* the rest of the result dies with the process */
        return status;
    }
    struct pccl__problem problem;
    options.effort = PCCL_EFFORT_THOROUGH;
    int status = pccl__problem_open(&problem, topology, request, &options, error);
    if (status == 0) {
        status = pccl__row_make(&problem, find_row(which->method), which->pieces, schedule, error);
    }
    pccl__problem_close(&problem);
    return status;
}

static int run_one_rank(const struct bench_case *which, const struct pccl_topology *topology,
                        const struct pccl_request *request, struct pccl_error *error)
{
    double begin = cpu_seconds();
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
    double seconds = cpu_seconds() - begin;
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    struct pccl_bound bound = {0};
    int64_t makespan_ps = plan.num_slots * pccl_transfer_ps(which->bytes, topology->links[0].ps_per_mib);
    status = pccl_bound_compute(topology, request, &bound, error);
    printf("%s,%" PRIu32 ",symmetry,%.4f,%.1f,%" PRIu32 ",%" PRId64 ",%" PRId64 ",%.4f,one rank\n", which->name,
           topology->num_devices, seconds, (double)usage.ru_maxrss / 1024, plan.num_steps, makespan_ps, bound.bound_ps,
           bound.bound_ps > 0 ? (double)makespan_ps / (double)bound.bound_ps : 0);
    return status;
}

static int run_case(const struct bench_case *which, struct pccl_error *error)
{
    struct pccl_topology *topology;
    int status = pccl_topology_create(which->topology, &topology, error);
    if (status != 0) {
        return status;
    }
    uint32_t num_ranks = which->num_ranks > 0 ? which->num_ranks : topology->num_devices;
    uint32_t *devices = malloc(num_ranks * sizeof *devices);
    for (uint32_t rank = 0; devices != NULL && rank < num_ranks; rank++) {
        devices[rank] = rank;
    }
    struct pccl_request request = {.collective = which->collective, .num_ranks = num_ranks, .devices = devices,
                                   .bytes = which->bytes, .relays = which->relays};
    if (which->method != NULL && strcmp(which->method, ONE_RANK) == 0) {
        return run_one_rank(which, topology, &request, error);
    }
    struct pccl_schedule *schedule = NULL;
    double begin = cpu_seconds();
    status = devices != NULL ? synthesize(which, topology, &request, &schedule, error) : PCCL_ERR_MEMORY;
    double seconds = cpu_seconds() - begin;
    if (status != 0) {
        return status;
    }
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    struct pccl_simulation simulation = {0};
    struct pccl_bound bound = {0};
    status = pccl_simulate(topology, schedule, &simulation, error);
    status = status == 0 ? pccl_bound_compute(topology, &request, &bound, error) : status;
    printf("%s,%" PRIu32 ",%s,%.4f,%.1f,%" PRIu32 ",%" PRId64 ",%" PRId64 ",%.4f", which->name, num_ranks,
           schedule->method, seconds, (double)usage.ru_maxrss / 1024, schedule->num_messages, simulation.makespan_ps,
           bound.bound_ps, bound.bound_ps > 0 ? (double)simulation.makespan_ps / (double)bound.bound_ps : 0);
    fflush(stdout);
    status = status == 0 ? pccl_verify_schedule(topology, schedule, which->relays, error) : status;
    printf(",%s\n", status == 0 ? "verified" : "WRONG");
    return status;
}

int main(int argc, char **argv)
{
    int failures = 0;
    printf("case,devices,method,cpu_seconds,peak_mib,messages,makespan_ps,bound_ps,gap,verified\n");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (argc > 1 && strstr(cases[i].name, argv[1]) == NULL) {
            continue;
        }
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) {
            struct pccl_error error = {{0}};
            int status = run_case(&cases[i], &error);
            if (status != 0) {
                printf("%s: %s: %s\n", cases[i].name, pccl_status_text(status), error.message);
            }
            fflush(stdout);
            _exit(status != 0);
        }
        int result = 1;
        if (child < 0 || waitpid(child, &result, 0) != child || result != 0) {
            failures++;
        }
    }
    return failures > 0;
}
