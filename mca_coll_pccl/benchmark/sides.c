#include "bench.h"

#include <stdio.h>

#define PRIORITY "coll_pccl_priority"
#define SELECT "coll_pccl_select"
#define SERVED_CALLS "coll_pccl_served_calls"

/* The component's priority, an int behind MPI's tool interface. Opened once, on every rank. */
struct control {
    MPI_T_cvar_handle handle;
    int value; /* as the user set it */
    bool usable;
};

static void control_open(struct control *control, char *notice, size_t notice_size)
{
    int provided, index, count;

    *control = (struct control){.usable = false};
    if (MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) != MPI_SUCCESS) {
        snprintf(notice, notice_size, "MPI's tool interface does not start, so pccl cannot be switched on and off.");
        return;
    }
    if (MPI_T_cvar_get_index(PRIORITY, &index) != MPI_SUCCESS) {
        snprintf(notice, notice_size,
                 "pccl is not loaded: Open MPI has no parameter " PRIORITY
                 ". Check `ompi_info --param coll pccl --level 9`;"
                 " a component outside Open MPI's own directory needs"
                 " --mca mca_base_component_path DIRECTORY:SYSTEM_DEFAULT.");
        return;
    }
    if (MPI_T_cvar_handle_alloc(index, NULL, &control->handle, &count) != MPI_SUCCESS || count != 1 ||
        MPI_T_cvar_read(control->handle, &control->value) != MPI_SUCCESS) {
        snprintf(notice, notice_size, "the control variable " PRIORITY " cannot be read.");
        return;
    }
    if (control->value <= 0) {
        snprintf(notice, notice_size, "pccl is loaded but off: " PRIORITY " is %d. Start with --mca " PRIORITY " 100.",
                 control->value);
        return;
    }
    control->usable = true;
}

static int control_write(struct control *control, int value)
{
    return MPI_T_cvar_write(control->handle, &value) == MPI_SUCCESS ? 0 : -1;
}

/* Who serves on communicators made from now on. Returns 0 or -1. */
static int select_write(const char *value)
{
    MPI_T_cvar_handle handle;
    int index, count, status;

    if (MPI_T_cvar_get_index(SELECT, &index) != MPI_SUCCESS ||
        MPI_T_cvar_handle_alloc(index, NULL, &handle, &count) != MPI_SUCCESS)
        return -1;
    status = MPI_T_cvar_write(handle, value);
    MPI_T_cvar_handle_free(&handle);
    return status == MPI_SUCCESS ? 0 : -1;
}

static void counter_open(struct bench_sides *sides)
{
    int index, count;

    if (MPI_T_pvar_get_index(SERVED_CALLS, MPI_T_PVAR_CLASS_COUNTER, &index) != MPI_SUCCESS ||
        MPI_T_pvar_session_create(&sides->session) != MPI_SUCCESS)
        return;
    if (MPI_T_pvar_handle_alloc(sides->session, index, NULL, &sides->served, &count) == MPI_SUCCESS)
        sides->counts = true;
    else
        MPI_T_pvar_session_free(&sides->session);
}

unsigned long bench_sides_served(const struct bench_sides *sides)
{
    unsigned long calls;

    if (!sides->counts || MPI_T_pvar_read(sides->session, sides->served, &calls) != MPI_SUCCESS)
        return 0;
    return calls;
}

static bool all_agree(bool value)
{
    int mine = value, all;

    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
    return all;
}

/* All ranks in a ring. */
static void create_ring(MPI_Comm *comm, const char *name)
{
    int num_ranks, closed = 1;

    MPI_Comm_size(MPI_COMM_WORLD, &num_ranks);
    MPI_Cart_create(MPI_COMM_WORLD, 1, &num_ranks, &closed, 0, comm);
    MPI_Comm_set_name(*comm, name); /* for coll_pccl_verbose */
}

void bench_sides_create(struct bench_sides *sides, const char *select)
{
    struct control control;
    bool lowered, selected;

    *sides = (struct bench_sides){.has_pccl = false};
    control_open(&control, sides->notice, sizeof(sides->notice));
    sides->has_pccl = all_agree(control.usable);
    lowered = sides->has_pccl && all_agree(control_write(&control, 0) == 0);
    if (sides->has_pccl && !lowered) {
        snprintf(sides->notice, sizeof(sides->notice), "the control variable " PRIORITY " cannot be written.");
        sides->has_pccl = false;
    }
    selected = sides->has_pccl && all_agree(select_write(select) == 0);
    if (sides->has_pccl && !selected) {
        snprintf(sides->notice, sizeof(sides->notice), "the control variable " SELECT " cannot be written.");
        sides->has_pccl = false;
    }
    if (!sides->has_pccl && control.usable && !sides->notice[0])
        snprintf(sides->notice, sizeof(sides->notice), "pccl is not loaded, or off, on some of the ranks.");
    create_ring(&sides->comm[BENCH_DEFAULT], "over the default");
    if (control.usable)
        control_write(&control, control.value);
    if (sides->has_pccl) {
        create_ring(&sides->comm[BENCH_PCCL], "over pccl");
        counter_open(sides);
    }
}

void bench_sides_free(struct bench_sides *sides)
{
    if (sides->counts) {
        MPI_T_pvar_handle_free(sides->session, &sides->served);
        MPI_T_pvar_session_free(&sides->session);
    }
    if (sides->has_pccl)
        MPI_Comm_free(&sides->comm[BENCH_PCCL]);
    MPI_Comm_free(&sides->comm[BENCH_DEFAULT]);
    MPI_T_finalize();
}
