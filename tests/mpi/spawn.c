/* Spawned processes and inter-communicators: not pccl's, and must work as if it were not there. The merged communicator
 * reaches beyond MPI_COMM_WORLD. */
#include <stdio.h>
#include <stdlib.h>

#include "check.h"

#define NUM_CHILDREN 2

/* On the inter-communicator: each side's sum arrives at the other. */
static void test_inter(MPI_Comm inter)
{
    int mine, sum = -1, members, remote;
    MPI_Comm_rank(inter, &mine);
    MPI_Comm_size(inter, &members);
    MPI_Comm_remote_size(inter, &remote);
    check_case("allreduce on an inter-communicator %d + %d", members, remote);
    MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, inter);
    check_that(sum == remote * (remote - 1) / 2, "sum %d", sum);
    check_case("barrier on an inter-communicator");
    MPI_Barrier(inter);
}

static void test_intra(MPI_Comm comm, const char *name)
{
    int mine, members, sum, *all;
    MPI_Comm_rank(comm, &mine);
    MPI_Comm_size(comm, &members);
    all = malloc((size_t)members * sizeof(int));
    for (int root = 0; root < members; root++) {
        int number = mine == root ? root + 5 : -1;
        check_case("collectives on %s, root %d of %d", name, root, members);
        MPI_Bcast(&number, 1, MPI_INT, root, comm);
        check_that(number == root + 5, "bcast %d", number);
        MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comm);
        check_that(sum == members * (members - 1) / 2, "sum %d", sum);
        MPI_Allgather(&mine, 1, MPI_INT, all, 1, MPI_INT, comm);
        for (int i = 0; i < members; i++) {
            check_that(all[i] == i, "block %d is %d", i, all[i]);
        }
        MPI_Barrier(comm);
    }
    free(all);
}

static void test_halves(void)
{
    int rank, size;
    MPI_Comm half, inter;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_split(MPI_COMM_WORLD, rank < size / 2, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank < size / 2 ? size / 2 : 0, 5, &inter);
    test_inter(inter);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
}

int main(int argc, char **argv)
{
    MPI_Comm parent, other, merged;
    int errors[NUM_CHILDREN];
    check_init(&argc, &argv, "spawn");
    MPI_Comm_get_parent(&parent);
    if (parent == MPI_COMM_NULL) {
        test_halves();
        check_case("MPI_Comm_spawn");
        MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, NUM_CHILDREN, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &other, errors);
    } else {
        other = parent;
    }
    test_inter(other);
    MPI_Intercomm_merge(other, parent != MPI_COMM_NULL, &merged);
    test_intra(MPI_COMM_WORLD, "world");
    test_intra(merged, "merged");
    MPI_Comm_free(&merged);
    MPI_Comm_disconnect(&other);
    return check_finalize();
}
