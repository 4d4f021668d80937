#include <stdlib.h>

#include "pccl/io.h"
#include "targets.h"

/* Every chunk's holders have slots within their areas. */
static void use_demand(const struct pccl_demand *demand)
{
    for (uint32_t c = 0; c < demand->num_chunks; c++) {
        const struct pccl_chunk *chunk = &demand->chunks[c];
        for (uint32_t i = 0; i < chunk->num_sources; i++) {
            uint32_t rank = demand->holders[chunk->first_source + i];
            uint32_t slot = pccl_demand_input_slot(demand, c, rank);
            if (rank >= demand->num_ranks || (slot != PCCL_NONE && slot >= pccl_demand_num_input_slots(demand, rank))) {
                abort();
            }
        }
        for (uint32_t i = 0; i < chunk->num_targets; i++) {
            uint32_t rank = demand->holders[chunk->first_target + i];
            uint32_t slot = pccl_demand_output_slot(demand, c, rank);
            if (rank >= demand->num_ranks ||
                (slot != PCCL_NONE && slot >= pccl_demand_num_output_slots(demand, rank))) {
                abort();
            }
        }
    }
}

int fuzz_demand(const uint8_t *data, size_t size)
{
    struct fuzz_file file;
    struct pccl_topology *topology = NULL;
    struct pccl_demand *demand = NULL;
    struct pccl_error error;
    if (pccl_topology_create("ring:5", &topology, &error)) {
        abort();
    }
    fuzz_file_open(&file, data, size);
    if (pccl_demand_read(file.path, topology, &demand, &error) == PCCL_SUCCESS) {
        use_demand(demand);
        pccl_demand_free(demand);
    }
    fuzz_file_close(&file);
    pccl_topology_free(topology);
    return 0;
}
