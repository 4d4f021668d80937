/* What is compared: pccl, Open MPI's default, and each of the algorithms that
 * its component "tuned" can be forced to use. Each is a communicator, because
 * Open MPI decides by communicator what serves it: so all of them run in one
 * launch. */
#ifndef PCCL_TESTS_VARIANTS_H
#define PCCL_TESTS_VARIANTS_H

#include <mpi.h>

#define VARIANTS_MAX 16

struct variant {
    char name[32]; /* "pccl", "default", "forced 3" */
    MPI_Comm comm; /* MPI_COMM_NULL on ranks that take no part */
};

/* Each includes those before it. */
enum variants_wanted { VARIANTS_PCCL, VARIANTS_DEFAULT, VARIANTS_FORCED };

/* Makes the communicators for a collective, of the ranks with equal colour
 * (negative: takes no part). Needs coll_tuned_use_dynamic_rules for the forced
 * ones. Returns how many; -1, and has said why, if MPI's tool interface does
 * not let it. Collective over MPI_COMM_WORLD. */
int variants_create(struct variant *variants, const char *collective, enum variants_wanted wanted, int color);
void variants_free(struct variant *variants, int count);

#endif
