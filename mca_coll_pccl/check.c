/* Comparing the arguments of a call over the ranks of a communicator. */
#include "check.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report.h"
#include "view.h"

/* What a rank is about to do, as far as the standard makes it equal on all ranks; fields that do not count in a
 * collective are 0. */
struct record {
    uint64_t kind;
    uint64_t root;
    uint64_t bytes;        /* of a block, or of all blocks of a v-call together */
    uint64_t counts;       /* digest of an array that all ranks must have */
    uint64_t operator;     /* digest of a predefined operator's name, 1 for those of the application */
    uint64_t elements;     /* digest of the basic types that are reduced */
    char operator_name[24];
    char type_name[24];
};

/* A pair of ranks that do not mean the same number of bytes. */
struct disagreement {
    uint64_t found; /* 0: none */
    uint64_t sender, said_bytes, expected_bytes;
};

/* --- talking through the component below ------------------------------------------------------------------------ */

static int gather_all(const void *own, void *all, size_t bytes, struct ompi_communicator_t *comm,
                      struct coll_pccl_module *module)
{
    bool saved = module->installed[COLL_PCCL_BLOCKING] >> COLL_PCCL_ALLGATHER & 1;
    mca_coll_base_comm_coll_t *below = saved ? &module->previous : comm->c_coll;
    return below->coll_allgather(own, (int)bytes, &ompi_mpi_byte.dt, all, (int)bytes, &ompi_mpi_byte.dt, comm,
                                 below->coll_allgather_module);
}

static int exchange_sizes(const uint64_t *sent, uint64_t *received, struct ompi_communicator_t *comm,
                          struct coll_pccl_module *module)
{
    bool saved = module->installed[COLL_PCCL_BLOCKING] >> COLL_PCCL_ALLTOALL & 1;
    mca_coll_base_comm_coll_t *below = saved ? &module->previous : comm->c_coll;
    return below->coll_alltoall(sent, sizeof *sent, &ompi_mpi_byte.dt, received, sizeof *received, &ompi_mpi_byte.dt,
                                comm, below->coll_alltoall_module);
}

/* --- what all ranks must have alike ----------------------------------------------------------------------------- */

/* FNV-1a. */
static uint64_t digest_of(const void *data, size_t bytes)
{
    uint64_t digest = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < bytes; i++) {
        digest = (digest ^ ((const unsigned char *)data)[i]) * UINT64_C(0x100000001b3);
    }
    return digest;
}

static void describe_reduction(const struct coll_pccl_call *call, struct record *record)
{
    const struct ompi_datatype_t *type = call->receive_type;
    uint64_t elements[2] = {type->super.bdt_used, type->super.size};
    bool predefined = ompi_op_is_intrinsic(call->op);
    record->operator = predefined ? digest_of(call->op->o_name, strlen(call->op->o_name)) : 1;
    record->elements = digest_of(elements, sizeof elements);
    snprintf(record->operator_name, sizeof record->operator_name, "%.23s",
             predefined ? call->op->o_name : "one of the application");
    snprintf(record->type_name, sizeof record->type_name, "%.23s", type->name[0] ? type->name : "without a name");
}

static void describe(const struct coll_pccl_call *call, uint32_t num_ranks, struct record *record)
{
    const struct coll_pccl_collective *row = &coll_pccl_collectives[call->kind];
    const int *counts = call->kind == COLL_PCCL_ALLGATHERV       ? call->receive_counts
                        : call->kind == COLL_PCCL_REDUCE_SCATTER ? call->send_counts
                                                                 : NULL;
    memset(record, 0, sizeof *record);
    record->kind = call->kind;
    record->root = pccl_collective_is_rooted(row->planned_as) ? (uint64_t)call->root : 0;
    record->bytes = row->sizes_private ? 0 : call->block_bytes;
    if (counts) {
        /* Counts of unlike types differ where bytes do not, so only reductions may compare them as they are. */
        size_t size = call->op ? 1 : call->receive_type->super.size;
        uint64_t digest = 0;
        for (uint32_t i = 0; i < num_ranks; i++) {
            uint64_t pair[2] = {digest, (uint64_t)counts[i] * size};
            digest = digest_of(pair, sizeof pair);
        }
        record->counts = digest;
    }
    if (call->op) {
        describe_reduction(call, record);
    }
}

/* What differs between two ranks, and the error code for it; MPI_SUCCESS if nothing does. */
static int compare(const struct record *first, const struct record *other, uint32_t rank, char text[160])
{
    if (first->kind != other->kind) {
        snprintf(text, 160, "rank 0 is in %s, rank %u is in %s", coll_pccl_collectives[first->kind].name, rank,
                 coll_pccl_collectives[other->kind].name);
        return MPI_ERR_OTHER;
    }
    if (first->root != other->root) {
        snprintf(text, 160, "the root is %" PRIu64 " at rank 0 and %" PRIu64 " at rank %u", first->root, other->root,
                 rank);
        return MPI_ERR_ROOT;
    }
    if (first->operator != other->operator) {
        snprintf(text, 160, "the operator is %s at rank 0 and %s at rank %u", first->operator_name,
                 other->operator_name, rank);
        return MPI_ERR_OP;
    }
    if (first->elements != other->elements) {
        snprintf(text, 160, "the datatype is %s at rank 0 and %s at rank %u", first->type_name, other->type_name, rank);
        return MPI_ERR_TYPE;
    }
    if (first->bytes != other->bytes) {
        snprintf(text, 160, "the size is %" PRIu64 " bytes at rank 0 and %" PRIu64 " bytes at rank %u", first->bytes,
                 other->bytes, rank);
        return MPI_ERR_COUNT;
    }
    if (first->counts != other->counts) {
        snprintf(text, 160, "the arrays of counts at rank 0 and rank %u are not the same", rank);
        return MPI_ERR_COUNT;
    }
    return MPI_SUCCESS;
}

static int check_records(const struct coll_pccl_call *call, struct ompi_communicator_t *comm,
                         struct coll_pccl_module *module, char text[160])
{
    uint32_t num_ranks = (uint32_t)ompi_comm_size(comm);
    struct record own, *all = malloc(num_ranks * sizeof *all);
    if (!all) {
        return MPI_ERR_NO_MEM;
    }
    describe(call, num_ranks, &own);
    int status = gather_all(&own, all, sizeof own, comm, module);
    for (uint32_t rank = 1; rank < num_ranks && status == OMPI_SUCCESS; rank++) {
        status = compare(&all[0], &all[rank], rank, text);
    }
    free(all);
    return status;
}

/* --- what only pairs know --------------------------------------------------------------------------------------- */

static uint64_t block_bytes(const struct coll_pccl_side *side, uint32_t block)
{
    uint64_t count = side->counts ? (uint64_t)side->counts[block] : side->count;
    if (count == 0) {
        return 0; /* then its type need not be one */
    }
    return count * (side->types ? side->types[block] : side->type)->super.size;
}

/* Bytes of what goes to `peer`, or comes from there. A side with one block has it for, or from, the root. */
static uint64_t bytes_with(const struct coll_pccl_call *call, const struct coll_pccl_side *side, uint32_t peer)
{
    if (side->blocks > 1) {
        return block_bytes(side, peer);
    }
    return side->blocks == 1 && peer == (uint32_t)call->root ? block_bytes(side, 0) : 0;
}

static struct disagreement find_disagreement(const uint64_t *said, const uint64_t *expected, uint32_t rank,
                                             uint32_t num_ranks)
{
    for (uint32_t peer = 0; peer < num_ranks; peer++) {
        if (peer != rank && said[peer] != expected[peer]) {
            return (struct disagreement){1, peer, said[peer], expected[peer]};
        }
    }
    return (struct disagreement){0, 0, 0, 0};
}

/* Every rank hears from every other what it will send, and all hear who expects something else. */
static int check_pairs(const struct coll_pccl_call *call, struct ompi_communicator_t *comm,
                       struct coll_pccl_module *module, char text[160])
{
    uint32_t num_ranks = (uint32_t)ompi_comm_size(comm), rank = (uint32_t)ompi_comm_rank(comm);
    uint64_t *sizes = malloc(3 * num_ranks * sizeof *sizes);
    struct disagreement *all = malloc(num_ranks * sizeof *all);
    int status = MPI_ERR_NO_MEM;
    if (sizes && all) {
        uint64_t *sent = sizes, *expected = sizes + num_ranks, *said = sizes + 2 * num_ranks;
        struct coll_pccl_view view;
        coll_pccl_view_make(call, rank, num_ranks, NULL, &view);
        for (uint32_t peer = 0; peer < num_ranks; peer++) {
            sent[peer] = bytes_with(call, &view.input, peer);
            expected[peer] = bytes_with(call, &view.output, peer);
        }
        status = exchange_sizes(sent, said, comm, module);
        struct disagreement own = find_disagreement(said, expected, rank, num_ranks);
        status = status == OMPI_SUCCESS ? gather_all(&own, all, sizeof own, comm, module) : status;
    }
    for (uint32_t i = 0; i < num_ranks && status == OMPI_SUCCESS; i++) {
        if (all[i].found) {
            snprintf(text, 160, "rank %" PRIu64 " sends %" PRIu64 " bytes to rank %u, which expects %" PRIu64,
                     all[i].sender, all[i].said_bytes, i, all[i].expected_bytes);
            status = MPI_ERR_COUNT;
        }
    }
    free(all);
    free(sizes);
    return status;
}

int coll_pccl_check(const struct coll_pccl_call *call, struct ompi_communicator_t *comm,
                    struct coll_pccl_module *module)
{
    const struct coll_pccl_collective *row = &coll_pccl_collectives[call->kind];
    char text[160] = "";
    int status = check_records(call, comm, module, text);
    if (status == OMPI_SUCCESS && row->sizes_private && row->planned_as != PCCL_CUSTOM) {
        status = check_pairs(call, comm, module, text);
    }
    if (text[0] && ompi_comm_rank(comm) == 0) {
        coll_pccl_report_mismatch(comm, row->name, text);
    }
    return status;
}
