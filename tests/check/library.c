/* A program of somebody else: only installed headers and the installed library. It asks for the all-gather of a torus
 * and prints how good the schedule is. */
#include <stdio.h>

#include <pccl/synth.h>

int main(void)
{
    struct pccl_error error = {""};
    struct pccl_topology *topology = NULL;
    struct pccl_result *result = NULL;
    struct pccl_bound bound = {0};
    uint32_t devices[16];
    for (uint32_t rank = 0; rank < 16; rank++) {
        devices[rank] = rank;
    }
    struct pccl_request request = {.collective = PCCL_ALLGATHER, .num_ranks = 16, .devices = devices, .bytes = 65536};
    int status = pccl_topology_create("torus:4x4", &topology, &error);
    if (status == PCCL_SUCCESS) {
        status = pccl_synthesize(topology, &request, NULL, &result, &error);
    }
    if (status == PCCL_SUCCESS) {
        status = pccl_verify_schedule(topology, result->schedule, false, &error);
    }
    if (status == PCCL_SUCCESS) {
        status = pccl_bound_compute(topology, &request, &bound, &error);
    }
    if (status != PCCL_SUCCESS) {
        printf("%s: %s\n", pccl_status_text(status), error.message);
    } else {
        printf("%s: finish %lld ps, bound %lld ps\n", result->schedule->method, (long long)result->makespan_ps,
               (long long)bound.bound_ps);
    }
    pccl_result_free(result);
    pccl_topology_free(topology);
    return status != PCCL_SUCCESS;
}
