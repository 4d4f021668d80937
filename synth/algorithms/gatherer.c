/* One all-gather, many collectives. */
#include "algorithms/tournament.h"
#include "algorithms/tree.h"
#include "base/array.h"
#include "base/error.h"

/* The blocks of the vector from the root to their ranks, over a binomial tree. */
static void scatter_from_root(struct pccl__writer *writer, enum pccl__phase phase)
{
    struct pccl__tree tree;
    struct pccl_error error;
    pccl__writer_phase(writer, phase);
    int status = pccl__tree_make(&tree, writer->problem, PCCL__BINOMIAL, writer->problem->root, NULL, &error);
    if (status != 0) {
        pccl__writer_fail(writer, status, error.message);
    } else {
        pccl__tree_scatter_blocks(writer, &tree);
    }
    pccl__tree_free(&tree);
}

void pccl__gather_to_root(struct pccl__writer *writer)
{
    scatter_from_root(writer, PCCL__MIRRORED_COPY);
}

int pccl__gatherer_serve(const struct pccl__problem *problem, uint32_t pieces, pccl__gatherer *gather, void *context,
                         struct pccl_schedule **schedule, struct pccl_error *error)
{
    bool one_block = problem->collective == PCCL_ALLREDUCE || problem->collective == PCCL_BROADCAST ||
                     problem->collective == PCCL_REDUCE;
    if (one_block && pieces > UINT32_MAX / 4 / problem->num_ranks) {
        return pccl__reject(error, "too many pieces");
    }
    struct pccl__writer writer;
    pccl__writer_open(&writer, problem, pieces, one_block ? problem->num_ranks * pieces : pieces, error);
    if (problem->collective == PCCL_BROADCAST) {
        scatter_from_root(&writer, PCCL__FORWARD);
    }
    if (problem->apart) {
        pccl__tournament_write(&writer);
    } else if (pccl_collective_is_reduction(problem->collective)) {
        pccl__writer_phase(&writer, PCCL__MIRRORED_REDUCE);
        gather(&writer, context);
    }
    if (problem->collective == PCCL_REDUCE) {
        pccl__gather_to_root(&writer);
    } else if (problem->collective != PCCL_REDUCE_SCATTER) {
        pccl__writer_phase(&writer, PCCL__FORWARD);
        gather(&writer, context);
    }
    return pccl__writer_close(&writer, schedule);
}
