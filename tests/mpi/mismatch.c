/* Programs that break the rules: one rank calls another collective, or with another root, size, operator, datatype or
 * count than the rest. With coll_pccl_check every rank must get an error, promptly, and the communicator must still
 * work. */
#include <stdlib.h>

#include "check.h"

#define COUNT 100

static int rank, size;
static double in[MAX_RANKS * COUNT], out[MAX_RANKS * COUNT];
static int counts[MAX_RANKS], displacements[MAX_RANKS];

static bool is_odd_one_out(void)
{
    return rank == size / 2;
}

static int other_collective(void)
{
    return is_odd_one_out() ? MPI_Barrier(MPI_COMM_WORLD) : MPI_Bcast(in, COUNT, MPI_DOUBLE, 0, MPI_COMM_WORLD);
}

static int other_root(void)
{
    return MPI_Bcast(in, COUNT, MPI_DOUBLE, is_odd_one_out() ? size - 1 : 0, MPI_COMM_WORLD);
}

static int other_size(void)
{
    return MPI_Allreduce(in, out, is_odd_one_out() ? COUNT / 2 : COUNT, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static int other_operator(void)
{
    return MPI_Reduce(in, out, COUNT, MPI_DOUBLE, is_odd_one_out() ? MPI_MAX : MPI_SUM, 0, MPI_COMM_WORLD);
}

static int other_datatype(void)
{
    return MPI_Scan(in, out, COUNT, is_odd_one_out() ? MPI_LONG : MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static int other_counts(void)
{
    if (is_odd_one_out()) { /* the same sum */
        counts[0]--;
        counts[1]++;
    }
    return MPI_Allgatherv(in, counts[rank], MPI_DOUBLE, out, counts, displacements, MPI_DOUBLE, MPI_COMM_WORLD);
}

static int other_gatherv(void)
{
    return MPI_Gatherv(in, is_odd_one_out() ? 3 : counts[rank], MPI_DOUBLE, out, counts, displacements, MPI_DOUBLE,
                       0, MPI_COMM_WORLD);
}

static int other_scatterv(void)
{
    return MPI_Scatterv(in, counts, displacements, MPI_DOUBLE, out, is_odd_one_out() ? 3 : counts[rank], MPI_DOUBLE,
                        0, MPI_COMM_WORLD);
}

static int other_alltoallv(void)
{
    int sent[MAX_RANKS];
    for (int i = 0; i < size; i++) {
        sent[i] = counts[rank];
    }
    sent[0] += is_odd_one_out();
    return MPI_Alltoallv(in, sent, displacements, MPI_DOUBLE, out, counts, displacements, MPI_DOUBLE, MPI_COMM_WORLD);
}

static void expect_error(const char *name, int class, int (*call)(void))
{
    for (int i = 0; i < size; i++) {
        counts[i] = 5;
        displacements[i] = i * COUNT;
    }
    check_case("%s", name);
    int found, status = call();
    MPI_Error_class(status, &found);
    check_that(found == class, "the call returned error class %d instead of %d", found, class);
    double one = 1, sum = 0;
    status = MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    check_that(status == MPI_SUCCESS && sum == size, "afterwards the communicator does not work");
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv, "mismatch");
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    expect_error("another collective", MPI_ERR_OTHER, other_collective);
    expect_error("another root", MPI_ERR_ROOT, other_root);
    expect_error("another size", MPI_ERR_COUNT, other_size);
    expect_error("another operator", MPI_ERR_OP, other_operator);
    expect_error("another datatype", MPI_ERR_TYPE, other_datatype);
    expect_error("other counts", MPI_ERR_COUNT, other_counts);
    expect_error("another size for the root", MPI_ERR_COUNT, other_gatherv);
    expect_error("another size from the root", MPI_ERR_COUNT, other_scatterv);
    expect_error("another size in a pair", MPI_ERR_COUNT, other_alltoallv);
    return check_finalize();
}
