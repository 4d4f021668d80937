/* The MPI_T control variable coll_pccl_priority: communicators made while it is 0 use the default, those made before
 * and after use pccl. This program cannot see which; it marks the places in its output, and run.sh reads the verbose
 * lines between the marks. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

static MPI_T_cvar_handle handle;

static bool find_priority(void)
{
    int number, count, provided;
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_T_cvar_get_num(&number);
    for (int i = 0; i < number; i++) {
        char name[128];
        int length = sizeof(name), verbosity, bind, scope;
        MPI_Datatype type;
        if (MPI_T_cvar_get_info(i, name, &length, &verbosity, &type, NULL, NULL, NULL, &bind, &scope) == MPI_SUCCESS &&
            strcmp(name, "coll_pccl_priority") == 0) {
            return MPI_T_cvar_handle_alloc(i, NULL, &handle, &count) == MPI_SUCCESS;
        }
    }
    return false;
}

static void mark(const char *text)
{
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        fprintf(stderr, "MARK %s\n", text);
        fflush(stderr);
        usleep(20000);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void use(MPI_Comm comm)
{
    int mine, members, sum;
    MPI_Comm_rank(comm, &mine);
    MPI_Comm_size(comm, &members);
    MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comm);
    check_that(sum == members * (members - 1) / 2, "sum %d", sum);
}

int main(int argc, char **argv)
{
    int priority = 0, zero = 0;
    MPI_Comm plain, again;
    check_init(&argc, &argv, "lowering");
    check_case("lowering the priority");
    if (!check_that(find_priority(), "there is no control variable coll_pccl_priority")) {
        return check_finalize();
    }
    MPI_T_cvar_read(handle, &priority);
    check_that(priority > 0, "priority is %d", priority);
    check_that(MPI_T_cvar_write(handle, &zero) == MPI_SUCCESS, "cannot write the control variable");
    MPI_Comm_dup(MPI_COMM_WORLD, &plain);
    check_that(MPI_T_cvar_write(handle, &priority) == MPI_SUCCESS, "cannot write the control variable");
    MPI_Comm_dup(plain, &again);
    mark("plain");
    use(plain);
    mark("again");
    use(again);
    mark("end");
    MPI_Comm_free(&again);
    MPI_Comm_free(&plain);
    MPI_T_cvar_handle_free(&handle);
    MPI_T_finalize();
    return check_finalize();
}
