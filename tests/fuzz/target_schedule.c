#include <stdlib.h>

#include "pccl/io.h"
#include "pccl/simulate.h"
#include "pccl/verify.h"
#include "targets.h"

/* A schedule that was read may be wrong, but verifying it must be safe; one that verifies must be safe to use. */
static void use_schedule(const struct pccl_topology *topology, const struct pccl_schedule *schedule)
{
    struct pccl_simulation simulation = {0};
    struct pccl_error error;
    if (pccl_verify_schedule(topology, schedule, true, &error)) {
        return;
    }
    pccl_simulate(topology, schedule, &simulation, &error);
    pccl_schedule_digest(schedule);
    for (uint32_t rank = 0; rank < schedule->demand->num_ranks; rank++) {
        struct pccl_program *program = NULL;
        if (pccl_program_create(schedule, rank, &program, &error) == PCCL_SUCCESS) {
            pccl_program_free(program);
        }
    }
}

int fuzz_schedule(const uint8_t *data, size_t size)
{
    struct fuzz_file file;
    struct pccl_topology *topology = NULL;
    struct pccl_schedule *schedule = NULL;
    struct pccl_error error;
    if (pccl_topology_create("ring:4", &topology, &error)) {
        abort();
    }
    fuzz_file_open(&file, data, size);
    if (pccl_schedule_read(file.path, topology, &schedule, &error) == PCCL_SUCCESS) {
        use_schedule(topology, schedule);
        pccl_schedule_free(schedule);
    }
    fuzz_file_close(&file);
    pccl_topology_free(topology);
    return 0;
}
