/* Thousands of communicators: made, used once, freed; memory must stay flat. Some are never freed before MPI_Finalize.
 * communicators_many [NUMBER]: default 10000. Prints the growth of the resident memory. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "check.h"

static int rank, size;

static long resident_kib(void)
{
    long total = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file == NULL || fscanf(file, "%ld %ld", &total, &resident) != 2) {
        resident = 0;
    }
    if (file != NULL) {
        fclose(file);
    }
    return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

static void use_once(MPI_Comm comm, int round)
{
    int numbers[MAX_RANKS] = {0}, mine = rank, sum = 0, members;
    MPI_Comm_size(comm, &members);
    switch (round % 4) {
    case 0:
        MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comm);
        check_that(members != size || sum == size * (size - 1) / 2, "sum %d", sum);
        break;
    case 1:
        MPI_Allgather(&mine, 1, MPI_INT, numbers, 1, MPI_INT, comm);
        check_that(members != size || numbers[size - 1] == size - 1, "last block %d", numbers[size - 1]);
        break;
    case 2: MPI_Bcast(&mine, 1, MPI_INT, round % members, comm); break;
    default: MPI_Barrier(comm);
    }
}

static void make_and_free(int number)
{
    long early = 0, late;
    for (int i = 0; i < number; i++) {
        MPI_Comm comm;
        check_case("communicator %d of %d", i, number);
        if (i % 8 == 7) {
            MPI_Comm_split(MPI_COMM_WORLD, rank % 2, i % 3 == 0 ? rank : -rank, &comm);
        } else {
            MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        }
        use_once(comm, i);
        MPI_Comm_free(&comm);
        if (i == 100) {
            early = resident_kib();
        }
    }
    late = resident_kib();
    check_case("memory after %d communicators", number);
    check_that(late - early <= 512, "grew by %ld KiB since the hundredth", late - early);
    if (rank == 0) {
        printf("resident: %ld KiB after 100, %ld KiB after %d communicators\n", early, late, number);
    }
}

/* Made and freed without any use: nothing may be planned or kept for that. */
static void make_in_vain(int number)
{
    const long early = resident_kib();
    for (int i = 0; i < number; i++) {
        MPI_Comm comm;
        check_case("unused communicator %d of %d", i, number);
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        MPI_Comm_free(&comm);
    }
    check_that(resident_kib() - early <= 512, "grew by %ld KiB", resident_kib() - early);
}

static void leave_some(void)
{
    for (int i = 0; i < 40; i++) {
        MPI_Comm comm;
        check_case("communicator %d that is never freed", i);
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        use_once(comm, i);
    }
}

/* MPI_Finalize first deletes the attributes of MPI_COMM_SELF, and there MPI still works. */
static int barrier_at_the_end(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm;
    (void)key;
    (void)value;
    (void)extra;
    return MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    int key, number;
    check_init(&argc, &argv, "communicators_many");
    number = argc > 1 ? atoi(argv[1]) : 10000;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    make_and_free(number);
    make_in_vain(2 * number);
    leave_some();
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, barrier_at_the_end, &key, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL);
    return check_finalize();
}
