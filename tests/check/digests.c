/* Prints the digests of many schedules, one a line: what digests.sh compares between builds and runs. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "pccl/synth.h"

static const char *const topologies[] = {
    "star:7", "ring:6", "mesh:3x4", "torus:3x3", "hypercube:3", "fattree:3x3:taper=2", "dragonfly:3x2x2", "boxes:2x4",
    "torus:4x2:latency=3us,1us:bandwidth=2GB/s,1GB/s",
};
static const int64_t sizes[] = {8, 10000};
static int failures;

static void print_digest(const struct pccl_topology *topology, const struct pccl_request *request,
                         enum pccl_effort effort, const char *kind)
{
    struct pccl_options options = {.effort = effort};
    struct pccl_result *result = NULL;
    struct pccl_error error = {""};
    int status = pccl_synthesize(topology, request, &options, &result, &error);
    printf("%s %s %u ranks, root %u, %" PRId64 " bytes, %s%s: ", topology->name,
           pccl_collective_name(request->collective), request->num_ranks, request->root, request->bytes,
           effort == PCCL_EFFORT_THOROUGH ? "thorough" : "quick", kind);
    if (status == 0) {
        printf("%016" PRIx64 " %s, %u candidates\n", pccl_schedule_digest(result->schedule), result->schedule->method,
               result->num_candidates);
    } else {
        printf("%s\n", error.message);
        failures += status != PCCL_ERR_UNSUPPORTED && status != PCCL_ERR_UNREACHABLE;
    }
    pccl_result_free(result);
}

/* Both efforts, and the ways in which a collective can be asked for. (A thorough all-to-all takes very long where
 * nothing is optimised.) */
static void print_request(const struct pccl_topology *topology, struct pccl_request request)
{
    if (request.collective != PCCL_ALLTOALL || request.num_ranks < 8) {
        print_digest(topology, &request, PCCL_EFFORT_THOROUGH, "");
    }
    print_digest(topology, &request, PCCL_EFFORT_FIRST_USE, "");
    if (pccl_collective_is_reduction(request.collective)) {
        request.ordered = true;
        print_digest(topology, &request, PCCL_EFFORT_FIRST_USE, ", ordered");
        request.reproducible = true;
        print_digest(topology, &request, PCCL_EFFORT_FIRST_USE, ", reproducible");
    }
}

/* All devices in reverse, and every second of them with the others as relays. */
static void print_topology(const char *name)
{
    struct pccl_topology *topology;
    struct pccl_error error;
    uint32_t devices[64];
    if (pccl_topology_create(name, &topology, &error) != 0) {
        printf("%s\n", error.message);
        failures++;
        return;
    }
    for (int collective = 0; collective < PCCL_CUSTOM; collective++) {
        for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
            struct pccl_request request = {.collective = (enum pccl_collective)collective, .devices = devices,
                                           .num_ranks = topology->num_devices, .bytes = sizes[s]};
            for (uint32_t i = 0; i < request.num_ranks; i++) {
                devices[i] = request.num_ranks - 1 - i;
            }
            print_request(topology, request);
            request.num_ranks = (topology->num_devices + 1) / 2;
            request.relays = true;
            for (uint32_t i = 0; i < request.num_ranks; i++) {
                devices[i] = 2 * i;
            }
            if (s > 0) {
                print_digest(topology, &request, PCCL_EFFORT_THOROUGH, ", relays");
            }
        }
    }
    pccl_topology_free(topology);
}

/* Some blocks empty, none like another; chunks of every size from anywhere to anywhere. */
static void print_uneven(void)
{
    struct pccl_topology *topology;
    struct pccl_error error;
    uint32_t devices[16];
    int64_t blocks[256];
    if (pccl_topology_create("mesh:4x4", &topology, &error) != 0) {
        printf("%s\n", error.message);
        failures++;
        return;
    }
    for (uint32_t i = 0; i < 256; i++) {
        devices[i % 16] = i % 16;
        blocks[i] = i * 7919 % 31 * 1000;
    }
    static const enum pccl_collective served[] = {PCCL_ALLGATHER, PCCL_ALLTOALL, PCCL_GATHER, PCCL_REDUCE_SCATTER};
    for (size_t i = 0; i < sizeof served / sizeof served[0]; i++) {
        struct pccl_request request = {.collective = served[i], .num_ranks = 16, .devices = devices, .root = i == 2 ? 5 : 0,
                                       .block_bytes = blocks};
        print_digest(topology, &request, PCCL_EFFORT_FIRST_USE, ", uneven");
        request.direct = true;
        print_digest(topology, &request, PCCL_EFFORT_FIRST_USE, ", uneven, direct");
    }
    pccl_topology_free(topology);
}

int main(void)
{
    for (size_t i = 0; i < sizeof topologies / sizeof topologies[0]; i++) {
        print_topology(topologies[i]);
    }
    print_uneven();
    return failures > 0;
}
