/* Communicators of every origin within MPI_COMM_WORLD: same ranks, other order, subsets, grids. */
#include "tables.h"

struct named_comm comms[MAX_COMMS];
int num_comms;

static void add(const char *name, MPI_Comm comm)
{
    comms[num_comms].name = name;
    comms[num_comms].comm = comm;
    num_comms++;
}

static MPI_Comm split(int color, int key)
{
    MPI_Comm made;
    MPI_Comm_split(MPI_COMM_WORLD, color, key, &made);
    return made;
}

/* All ranks but the last, made by its members only. */
static MPI_Comm all_but_last(int rank, int size)
{
    int range[1][3] = {{0, size - 2, 1}};
    MPI_Group world, part;
    MPI_Comm made = MPI_COMM_NULL;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_range_incl(world, 1, range, &part);
    if (rank < size - 1) {
        MPI_Comm_create_group(MPI_COMM_WORLD, part, 7, &made);
    }
    MPI_Group_free(&part);
    MPI_Group_free(&world);
    return made;
}

/* Every second rank from the last down, made by all. */
static MPI_Comm every_second_down(int size)
{
    int range[1][3] = {{size - 1, 0, -2}};
    MPI_Group world, part;
    MPI_Comm made;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_range_incl(world, 1, range, &part);
    MPI_Comm_create(MPI_COMM_WORLD, part, &made);
    MPI_Group_free(&part);
    MPI_Group_free(&world);
    return made;
}

static MPI_Comm merged_halves(int rank, int size)
{
    MPI_Comm half = split(rank < size / 2, rank), between, made;
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank < size / 2 ? size / 2 : 0, 5, &between);
    MPI_Intercomm_merge(between, rank < size / 2, &made);
    MPI_Comm_free(&between);
    MPI_Comm_free(&half);
    return made;
}

static void add_grid(int size)
{
    int extents[2] = {0, 0}, periods[2] = {1, 0};
    MPI_Comm grid, part;
    MPI_Dims_create(size, 2, extents);
    MPI_Cart_create(MPI_COMM_WORLD, 2, extents, periods, 1, &grid);
    add("cart", grid);
    MPI_Cart_sub(grid, (int[]){0, 1}, &part);
    add("cart_sub rows", part);
    MPI_Cart_sub(grid, (int[]){1, 0}, &part);
    add("cart_sub columns", part);
}

void comms_make(void)
{
    int rank, size;
    MPI_Comm made;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    num_comms = 0;
    add("world", MPI_COMM_WORLD);
    MPI_Comm_dup(MPI_COMM_WORLD, &made);
    add("dup", made);
    add("odd and even", split(rank % 2, rank));
    add("reversed", split(0, -rank));
    add("shuffled", split(0, (int)(random_mix(11, (uint64_t)rank) & 0xffff)));
    add("part", split(rank % 3 == 1 ? MPI_UNDEFINED : 0, rank));
    add("all but last", all_but_last(rank, size));
    add("every second down", every_second_down(size));
    add("merged halves", merged_halves(rank, size));
    add_grid(size);
    add("alone", split(rank, 0));
}

void comms_free(void)
{
    for (int i = 1; i < num_comms; i++) {
        if (comms[i].comm != MPI_COMM_NULL) {
            MPI_Comm_free(&comms[i].comm);
        }
    }
}
