/* Measures plans in levels (pccl_plan_create) as one rank of a large job makes them: time, memory, size of its program
 * and the forecast, for equal and unequal nodes and ranks in three orders, with what is required beside it. A forecast
 * may be a tenth above the slowest one for equal nodes on the same fabric, of the sizes that occur, and ranks by slot.
 *
 *     nodes_bench
 *
 * Times mean something on a quiet machine only. The exit status is 1 if something required is missed. */
#define _DEFAULT_SOURCE
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/random.h"
#include "pccl/bound.h"
#include "pccl/place.h"
#include "pccl/plan.h"
#include "usage.h"

#define MAX_MIB 64 /* of a rank of 64 nodes */
#define NUM_SIZES 4
#define SMALLEST_NODE 63
#define LARGEST_NODE 65

enum order { BY_SLOT, BY_NODE, SHUFFLED, NUM_ORDERS };

struct job {
    const char *fabric;
    uint32_t num_nodes;
    uint32_t smallest, largest; /* ranks on a node: smallest, smallest + 1 .. largest in turn */
    enum order order;
    double seconds, alltoall_seconds; /* required; 0: not run */
};

/* Those with equal nodes by slot first. */
static const struct job jobs[] = {
    {"fattree:8x8:taper=2", 64, 64, 64, BY_SLOT, 0.5, 2},  {"fattree:8x8:taper=2", 64, 63, 63, BY_SLOT, 0.5, 2},
    {"fattree:8x8:taper=2", 64, 65, 65, BY_SLOT, 0.5, 2},  {"fattree:8x8:taper=2", 64, 64, 64, BY_NODE, 0.5, 2},
    {"fattree:8x8:taper=2", 64, 64, 64, SHUFFLED, 0.5, 2}, {"fattree:8x8:taper=2", 64, 63, 65, BY_SLOT, 0.5, 2},
    {"fattree:8x8:taper=2", 64, 63, 65, BY_NODE, 0.5, 2},  {"fattree:8x8:taper=2", 64, 63, 65, SHUFFLED, 0.5, 2},
    {"torus:4x4x4", 64, 64, 64, BY_SLOT, 0.5, 2},          {"torus:4x4x4", 64, 64, 64, SHUFFLED, 0.5, 2},
    {"fattree:32x32:taper=2", 1024, 64, 64, BY_SLOT, 5, 0}, {"fattree:32x32:taper=2", 1024, 64, 64, SHUFFLED, 5, 0},
    {"fattree:32x32:taper=2", 1024, 63, 65, SHUFFLED, 5, 0}, {"torus:32x32", 1024, 64, 64, BY_SLOT, 5, 0},
    {"torus:32x32", 1024, 64, 64, SHUFFLED, 5, 0},
};

/* Forecasts for equal nodes by slot, of each size of a node, on one fabric; 0: not made. */
static struct {
    const char *fabric;
    int64_t makespan_ps[LARGEST_NODE - SMALLEST_NODE + 1][PCCL_NUM_COLLECTIVES][NUM_SIZES];
} equal;

static uint32_t node_size(const struct job *job, uint32_t node)
{
    return job->smallest + node % (job->largest - job->smallest + 1);
}

static struct pccl_place place_at(const struct job *job, uint32_t node, uint32_t slot)
{
    uint32_t size = node_size(job, node);
    int32_t package = (int32_t)(2 * slot / size);
    return (struct pccl_place){node, package, package, (int32_t)(8 * slot / size), -1, 0};
}

static uint32_t place_ranks(const struct job *job, struct pccl_place *places)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < job->num_nodes * (job->largest + 1); i++) {
        bool by_node = job->order == BY_NODE;
        uint32_t node = by_node ? i % job->num_nodes : i / (job->largest + 1);
        uint32_t slot = by_node ? i / job->num_nodes : i % (job->largest + 1);
        if (slot < node_size(job, node)) {
            places[count++] = place_at(job, node, slot);
        }
    }
    struct pccl__random random = {5};
    for (uint32_t i = count; i > 1 && job->order == SHUFFLED; i--) {
        uint32_t j = pccl__random_below(&random, i);
        struct pccl_place place = places[i - 1];
        places[i - 1] = places[j];
        places[j] = place;
    }
    return count;
}

/* The slowest forecast for equal nodes of the sizes that occur in the job, itself if it has equal nodes by slot. */
static int64_t find_equal_ps(const struct job *job, enum pccl_collective collective, size_t size, int64_t makespan_ps)
{
    int64_t slowest_ps = 0;
    if (job->order == BY_SLOT && job->smallest == job->largest) {
        equal.makespan_ps[job->smallest - SMALLEST_NODE][collective][size] = makespan_ps;
    }
    for (uint32_t node = job->smallest; node <= job->largest; node++) {
        int64_t equal_ps = equal.makespan_ps[node - SMALLEST_NODE][collective][size];
        slowest_ps = equal_ps > slowest_ps ? equal_ps : slowest_ps;
    }
    return slowest_ps;
}

/* The forecast beside the bound and beside equal nodes. Returns whether it is too slow. */
static bool compare(const struct job *job, const struct pccl_topology *topology, const struct pccl_request *request,
                    size_t size, int64_t makespan_ps)
{
    struct pccl_bound bound = {0};
    int64_t equal_ps = find_equal_ps(job, request->collective, size, makespan_ps);
    if (pccl_bound_compute(topology, request, &bound, NULL) == 0 && bound.bound_ps > 0) {
        printf("  %5.2f of the bound", (double)makespan_ps / (double)bound.bound_ps);
    }
    printf("  %4.2f of equal nodes\n", (double)makespan_ps / (double)equal_ps);
    return makespan_ps > equal_ps + equal_ps / 10;
}

/* One plan, in a process of its own, so that peaks of memory are its own. Returns whether a requirement is missed. */
static bool measure(const struct job *job, const struct pccl_topology *topology, const struct pccl_request *request,
                    size_t size)
{
    double seconds = request->collective == PCCL_ALLTOALL ? job->alltoall_seconds : job->seconds;
    bool limited = job->num_nodes <= 64 && request->collective != PCCL_ALLTOALL;
    int64_t *makespan_ps = mmap(NULL, sizeof *makespan_ps, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (makespan_ps == MAP_FAILED) {
        return true;
    }
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        struct pccl_plan *plan = NULL;
        struct pccl_error error = {{0}};
        double mib = peak_mib(), began = cpu_seconds();
        int status = pccl_plan_create(topology, request, request->num_ranks / 3, &plan, &error);
        double took = cpu_seconds() - began;
        mib = peak_mib() - mib;
        bool missed = status != 0 || took > seconds || (limited && mib > MAX_MIB);
        printf("  %-14s %8" PRId64 "  %7.3f s %s%3.1f  %6.1f MiB  ", pccl_collective_name(request->collective),
               request->bytes, took, took > seconds ? "> " : "<=", seconds, mib);
        if (status == 0) {
            *makespan_ps = plan->makespan_ps;
            printf("%7" PRIu32 " operations  %12.1f us  %-24s", plan->program->num_operations,
                   (double)plan->makespan_ps * 1e-6, plan->method);
        } else {
            printf("%s\n", error.message);
        }
        fflush(stdout);
        _exit(missed);
    }
    int status = 1;
    bool missed = child < 0 || waitpid(child, &status, 0) != child || status != 0;
    missed |= *makespan_ps > 0 && compare(job, topology, request, size, *makespan_ps);
    munmap(makespan_ps, sizeof *makespan_ps);
    return missed;
}

static int measure_all(const struct job *job, const struct pccl_topology *topology, const uint32_t *devices,
                       uint32_t num_ranks)
{
    static const enum pccl_collective collectives[] = {PCCL_BROADCAST, PCCL_REDUCE,         PCCL_ALLREDUCE,
                                                       PCCL_BARRIER,   PCCL_ALLGATHER,      PCCL_REDUCE_SCATTER,
                                                       PCCL_GATHER,    PCCL_SCATTER,        PCCL_ALLTOALL};
    static const int64_t sizes[NUM_SIZES] = {64, 4096, 65536, 1048576};
    uint32_t count = job->num_nodes > 64 ? 5 : sizeof collectives / sizeof collectives[0];
    int num_missed = 0;
    if (equal.fabric == NULL || strcmp(equal.fabric, job->fabric) != 0) {
        memset(&equal, 0, sizeof equal);
        equal.fabric = job->fabric;
    }
    for (uint32_t i = 0; i < count; i++) {
        for (size_t j = 0; j < (collectives[i] == PCCL_BARRIER ? 1 : NUM_SIZES); j++) {
            struct pccl_request request = {.collective = collectives[i],
                                           .num_ranks = num_ranks,
                                           .devices = devices,
                                           .bytes = collectives[i] == PCCL_BARRIER ? 0 : sizes[j]};
            num_missed += measure(job, topology, &request, j);
        }
    }
    return num_missed;
}

static int run(const struct job *job)
{
    static const char *const orders[NUM_ORDERS] = {"by slot", "by node", "shuffled"};
    struct pccl_topology *fabric = NULL, *topology = NULL;
    uint32_t *devices = NULL;
    struct pccl_error error = {{0}};
    struct pccl_place *places = malloc((size_t)job->num_nodes * (job->largest + 1) * sizeof *places);
    if (places == NULL || pccl_topology_create(job->fabric, &fabric, &error) != 0) {
        fprintf(stderr, "nodes_bench: %s: %s\n", job->fabric, error.message);
        free(places);
        return 1;
    }
    uint32_t num_ranks = place_ranks(job, places);
    int num_missed = 1;
    printf("\n%s, %" PRIu32 " nodes, %" PRIu32 " ranks %s, %" PRIu32 " to %" PRIu32 " on a node\n", job->fabric,
           job->num_nodes, num_ranks, orders[job->order], job->smallest, job->largest);
    if (pccl_topology_place(fabric, places, num_ranks, &topology, &devices, &error) == 0) {
        num_missed = measure_all(job, topology, devices, num_ranks);
    }
    pccl_topology_free(topology);
    pccl_topology_free(fabric);
    free(devices);
    free(places);
    return num_missed;
}

int main(void)
{
    int num_missed = 0;
    for (size_t i = 0; i < sizeof jobs / sizeof jobs[0]; i++) {
        num_missed += run(&jobs[i]);
    }
    printf("\n%d missed\n", num_missed);
    return num_missed > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
