#include "variants.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define SEGMENT_BYTES 16384

/* How many algorithms "tuned" numbers for a collective, and the one among them
 * that only serves two ranks. */
static const struct {
    const char *collective;
    int count, two_ranks;
} algorithms[] = {
    {"allgather", 6, 6}, {"allgatherv", 5, 5}, {"allreduce", 6, 0},      {"alltoall", 5, 5},
    {"alltoallv", 2, 0}, {"barrier", 6, 5},    {"bcast", 9, 0},          {"gather", 3, 0},
    {"reduce", 7, 0},    {"scatter", 3, 0},    {"reduce_scatter", 4, 0}, {"reduce_scatter_block", 4, 0},
};

/* Writes an integer control variable and tells what it was. Returns 0, or -1 if
 * there is no such variable. */
static int set(const char *name, int value, int *before)
{
    MPI_T_cvar_handle handle;
    int index, count, status;
    if (MPI_T_cvar_get_index(name, &index) != MPI_SUCCESS ||
        MPI_T_cvar_handle_alloc(index, NULL, &handle, &count) != MPI_SUCCESS) {
        return -1;
    }
    status = MPI_T_cvar_read(handle, before) == MPI_SUCCESS && MPI_T_cvar_write(handle, &value) == MPI_SUCCESS ? 0 : -1;
    MPI_T_cvar_handle_free(&handle);
    return status;
}

/* Adds a communicator whose collectives are served as the control variables say
 * now. */
static void add(struct variant *variant, int color, const char *name, int number)
{
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    snprintf(variant->name, sizeof variant->name, number ? "%s %d" : "%s", name, number);
    MPI_Comm_split(MPI_COMM_WORLD, color < 0 ? MPI_UNDEFINED : color, rank, &variant->comm);
    if (variant->comm != MPI_COMM_NULL) {
        MPI_Comm_set_name(variant->comm, variant->name);
    }
}

static int add_forced(struct variant *variants, int count, const char *collective, int color)
{
    char choice[80], segment[96];
    int before, segment_before, i = 0;
    snprintf(choice, sizeof choice, "coll_tuned_%s_algorithm", collective);
    snprintf(segment, sizeof segment, "%s_segmentsize", choice);
    while (strcmp(algorithms[i].collective, collective) != 0) {
        i++;
    }
    bool segmented = set(segment, SEGMENT_BYTES, &segment_before) == 0;
    for (int number = 1; number <= algorithms[i].count; number++) {
        if (number != algorithms[i].two_ranks && set(choice, number, &before) == 0) {
            add(&variants[count++], color, "forced", number);
        }
    }
    set(choice, 0, &before);
    if (segmented) {
        set(segment, segment_before, &before);
    }
    return count;
}

int variants_create(struct variant *variants, const char *collective, enum variants_wanted wanted, int color)
{
    int priority, provided, ignored, count = 0;
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    add(&variants[count++], color, "pccl", 0);
    if (set("coll_pccl_priority", 0, &priority) != 0 || priority <= 0) {
        fprintf(stderr, "compare: pccl is not loaded, or off\n");
        return -1;
    }
    if (wanted >= VARIANTS_DEFAULT) {
        add(&variants[count++], color, "default", 0);
    }
    if (wanted >= VARIANTS_FORCED) {
        count = add_forced(variants, count, collective, color);
    }
    set("coll_pccl_priority", priority, &ignored);
    return count;
}

void variants_free(struct variant *variants, int count)
{
    for (int i = 0; i < count; i++) {
        if (variants[i].comm != MPI_COMM_NULL) {
            MPI_Comm_free(&variants[i].comm);
        }
    }
    MPI_T_finalize();
}
