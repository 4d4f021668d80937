/* Operations of one rank while its program is written: appends them, derives dependencies from the slots they read and
 * write, and packs the result into a struct pccl_program. */
#ifndef PCCL__OPERATIONS_H
#define PCCL__OPERATIONS_H

#include <stdbool.h>

#include "pccl/program.h"

/* What happened last to a slot. */
struct pccl__access {
    uint32_t writer;       /* last operation that wrote it, or PCCL_NONE */
    uint32_t first_reader; /* of a list in readers[]: operations that read it since, newest first */
};

struct pccl__reader {
    uint32_t operation, next;
};

/* All zero is an empty one. */
struct pccl__operations {
    const struct pccl_demand *demand;
    uint32_t rank;
    bool failed; /* out of memory: further calls do nothing, pccl__operations_pack reports it */
    uint32_t num_operations, num_slots, num_edges, num_readers, num_accesses;
    uint32_t operation_room, slot_room, edge_room, reader_room, access_room;
    struct pccl_operation *operations; /* successors: here its predecessors, in edges[] */
    uint32_t *steps;                   /* of each operation */
    uint32_t *marks;                   /* of each operation: the last one found to depend on it, plus 1 */
    uint32_t steps_room, marks_room;
    pccl_slot *slots;
    uint32_t *slot_chunk;
    uint32_t slot_chunk_room;
    uint32_t *edges;
    struct pccl__reader *readers;
    struct pccl__access *accesses; /* input, output, then scratch slots */
    uint32_t num_inputs, num_outputs;
    uint32_t *last_send, *last_receive; /* [num_ranks] by peer */
    uint32_t lane_room;
};

/* Begins the program of `rank`; keeps the memory of the one before. */
void pccl__operations_begin(struct pccl__operations *list, const struct pccl_demand *demand, uint32_t rank);
void pccl__operations_free(struct pccl__operations *list);

/* Appends an operation; the calls below add to the last one. Returns its number. num_slots: as in the program. */
uint32_t pccl__operations_add(struct pccl__operations *list, uint32_t kind, uint32_t peer, uint32_t step,
                              uint32_t num_slots);
/* One more slot of the last operation. All reads come before all writes. */
void pccl__operations_read(struct pccl__operations *list, pccl_slot slot, uint32_t chunk);
void pccl__operations_write(struct pccl__operations *list, pccl_slot slot, uint32_t chunk);
/* The last operation waits for `earlier`. */
void pccl__operations_wait(struct pccl__operations *list, uint32_t earlier);
/* After all its slots: drops dependencies that others imply. */
void pccl__operations_close(struct pccl__operations *list);

/* Whether nothing in `step` touches the output slot or an input slot that may lie under it. */
bool pccl__operations_untouched(const struct pccl__operations *list, uint32_t output_slot, uint32_t step);

/* The finished program, or NULL when out of memory. */
struct pccl_program *pccl__operations_pack(struct pccl__operations *list, uint32_t num_scratch_slots);

#endif
