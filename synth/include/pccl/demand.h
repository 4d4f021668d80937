/* Demand: what a collective must bring about. A list of chunks, each with its size, the ranks that hold it before
 * (sources) and the ranks that must hold it after (targets). For a reduction every source contributes one operand and
 * each target must end with the combination of all; in a scan of those of the ranks up to its own, in an exscan of
 * those below it (so that rank 0 is no target and the last rank no source). Ranks are positions 0 .. num_ranks-1 in the
 * process group. */
#ifndef PCCL_DEMAND_H
#define PCCL_DEMAND_H

#include <stdbool.h>
#include <stdint.h>

#include "pccl/topology.h"

#pragma GCC visibility push(default) /* what the shared library shows */

enum pccl_collective {
    PCCL_ALLGATHER,      /* bytes: contribution of one rank */
    PCCL_ALLREDUCE,      /* bytes: the whole vector */
    PCCL_ALLTOALL,       /* bytes: one block, from one rank to one other */
    PCCL_BARRIER,        /* bytes: ignored */
    PCCL_BROADCAST,      /* bytes: the whole buffer */
    PCCL_GATHER,         /* bytes: contribution of one rank */
    PCCL_REDUCE,         /* bytes: the whole vector */
    PCCL_REDUCE_SCATTER, /* bytes: one result block (one rank's result) */
    PCCL_SCATTER,        /* bytes: one block */
    PCCL_SCAN,           /* bytes: the whole vector */
    PCCL_EXSCAN,         /* bytes: the whole vector */
    PCCL_CUSTOM,         /* any list of chunks, from a file or the caller */
    PCCL_NUM_COLLECTIVES
};

/* "allgather", "all-gather", "AllGather" ... are all understood by the second; names come out as "allgather". MPI's
 * other names (bcast, allgatherv, reduce_scatter_block ...) are understood too. */
const char *pccl_collective_name(enum pccl_collective collective);
int pccl_collective_parse(const char *text, enum pccl_collective *collective, struct pccl_error *error);
bool pccl_collective_is_rooted(enum pccl_collective collective);
bool pccl_collective_is_reduction(enum pccl_collective collective);
/* scan and exscan: each rank's result combines the operands of the ranks before it only. */
bool pccl_collective_is_prefix(enum pccl_collective collective);

/* A process group and the collective asked of it. All fields are set by the caller, who keeps the arrays alive for the
 * call only. Zero-initialise, then fill: zero is the default of every optional field. */
struct pccl_request {
    enum pccl_collective collective;
    uint32_t num_ranks;      /* >= 2 */
    const uint32_t *devices; /* [num_ranks] device of each rank, all different */
    uint32_t root;           /* rank; rooted collectives only */
    int64_t bytes;           /* >= 0, meaning as in the enum above */
    const int64_t *block_bytes; /* optional, instead of bytes: unequal blocks. allgather, gather, scatter, reduce_scatter:
                                   [num_ranks]; alltoall: [num_ranks * num_ranks], sender-major */
    bool ordered;     /* reductions: the operator does not commute; operands must combine in rank order */
    bool reproducible; /* reductions: operands must combine by the fixed tree below, whatever the topology */
    bool relays;      /* devices outside the group may hold and pass on chunks */
    bool direct;      /* every chunk goes from source to target in one message (sizes known to the two ends only) */
    const struct pccl_demand *custom; /* PCCL_CUSTOM only: the pattern. Of it num_ranks (equal to the request's),
                                         reduces, ordered, reproducible, the chunks and the pool of holders are read
                                         and checked. */
};

struct pccl_chunk {
    int64_t bytes;
    uint32_t first_source, num_sources; /* in holders[] */
    uint32_t first_target, num_targets;
};

/* Chunk numbering of the standard collectives, P = pieces (a block of B bytes is cut into pieces; piece p covers bytes
 * floor(p*B/P) .. floor((p+1)*B/P)-1), n = num_ranks:
 *   allgather, gather      chunk = owner * P + p
 *   scatter, reduce_scatter chunk = destination * P + p
 *   alltoall               chunk = (source * n + destination) * P + p   (the diagonal exists; it stays at home)
 *   broadcast, reduce, allreduce, scan, exscan chunk = p                 (one block)
 *   barrier                chunk = owner, zero bytes, from owner to all
 * Slots: an area (input, output) of a rank is an array of slots, each holding one chunk; the mapping is below.
 *
 * The fixed tree of a reproducible reduction of n ranks, p being the largest power of two that is not above n: ranks 2i
 * and 2i+1 combine for i = 0 .. n-p-1, the others stand alone; the p results combine in pairs of neighbours, then those
 * results, until one is left; lower ranks are the left operand. It is the same for every chunk, size, root and
 * collective. Ranks that contribute nothing to a chunk are left out of the tree. Scans have a tree for each rank: in
 * round k = 0, 1 .. every rank r >= 2^k combines what rank r - 2^k had before the round (in an exscan, with that rank's
 * own operand on its right) with what it has itself. */
struct pccl_demand {
    enum pccl_collective collective;
    uint32_t num_ranks;
    uint32_t root;     /* 0 where there is none */
    uint32_t pieces;   /* P, >= 1 */
    bool reduces;      /* sources contribute operands */
    bool ordered;
    bool reproducible;
    uint32_t num_chunks;
    const struct pccl_chunk *chunks;
    uint32_t num_holders;
    const uint32_t *holders; /* pool of ranks, ascending within each chunk's range; ranges may share entries */
    const uint32_t *devices; /* [num_ranks], own copy */
    const uint32_t *holder_slots; /* custom only, else NULL: [num_holders] which block of the rank's own it is */
    const uint32_t *num_blocks;   /* custom only, else NULL: [2 * num_ranks] input blocks, then output blocks */
};

/* Most chunks, and most slots of an area, that a demand may have. */
#define PCCL_MAX_CHUNKS ((1u << 30) - 1)

/* Cuts a request into `pieces` per block. The caller frees *demand with pccl_demand_free. Errors: PCCL_ERR_INVALID for
 * a request that breaks a rule above, PCCL_ERR_OVERFLOW if the chunks are too many or all bytes exceed 2^63-1. */
int pccl_demand_create(const struct pccl_request *request, uint32_t pieces, struct pccl_demand **demand,
                       struct pccl_error *error);
void pccl_demand_free(struct pccl_demand *demand);

/* Number of slots of the input and output area at a rank (0 where the rank has no such buffer, e.g. a non-root's output
 * of reduce). */
uint32_t pccl_demand_num_input_slots(const struct pccl_demand *demand, uint32_t rank);
uint32_t pccl_demand_num_output_slots(const struct pccl_demand *demand, uint32_t rank);
/* Slot where `rank` (below num_ranks) finds its own (contribution to) `chunk` (below num_chunks) before, or must find it
 * after; PCCL_NONE if it does not.
 *   allgather: in p, out chunk          gather: in p, out (root) chunk
 *   scatter: in (root) chunk, out p     reduce_scatter: in chunk, out p
 *   alltoall: in destination*P+p, out source*P+p
 *   broadcast: in (root) p, out p       reduce, allreduce, scan, exscan: in p, out p     barrier: none
 *   custom: in/out = index of the chunk among the rank's own, ascending. */
uint32_t pccl_demand_input_slot(const struct pccl_demand *demand, uint32_t chunk, uint32_t rank);
uint32_t pccl_demand_output_slot(const struct pccl_demand *demand, uint32_t chunk, uint32_t rank);
/* The input slot that MPI_IN_PLACE lays over output slot `slot` at `rank` (same bytes), or PCCL_NONE. Broadcast: at the
 * root input and output are always the same buffer. Only identities that hold byte for byte: alltoall and
 * reduce_scatter have none (the binder copies there), nor has exscan, whose operand is needed beside the result. */
uint32_t pccl_demand_aliased_input_slot(const struct pccl_demand *demand, uint32_t slot, uint32_t rank);
/* Reductions: how many of a chunk's sources, the first so many, `rank` must find combined if it is a target. */
uint32_t pccl_demand_num_operands(const struct pccl_demand *demand, uint32_t chunk, uint32_t rank);

#pragma GCC visibility pop

#endif
