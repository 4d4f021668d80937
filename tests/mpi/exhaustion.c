/* Memory that runs out inside the component, in one rank or in all, at each allocation in turn: the call fails there
 * with MPI_ERR_NO_MEM, or does what it should; it never does something else, and the next one is right. The calls are
 * persistent ones, which need no other rank until they start, so that a rank that fails keeps nobody waiting; on one
 * rank alone also non-blocking ones. Argument: how many of the allocations of a call fail in turn, the last ones always
 * among them; 0: all.
 * With the argument "contests" while blocking calls are measured and plans are compared.
 * With the arguments "init" or "blocking" and a number, that allocation of one rank fails in MPI_Init, or in the first
 * blocking calls of a program that leaves errors to MPI: the job does what it should, or ends with an error. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "heap.h"
#include "operations.h"

#define LAST 24 /* allocations of a call behind those that make its plan, and some before */

static int rank, size;
static MPI_Comm control; /* where the ranks talk about a trial */

struct trial {
    enum kind kind;
    enum form form;
    int count;
    bool gapped;
    int victim; /* whose allocation fails; size: everybody's */
};

static int agree(int own, MPI_Op op)
{
    int all;
    MPI_Allreduce(&own, &all, 1, MPI_INT, op, control);
    return all;
}

static MPI_Comm new_comm(MPI_Comm parent)
{
    MPI_Comm comm;
    MPI_Comm_dup(parent, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    return comm;
}

/* Makes the request; whether it is there. */
static bool make(struct operation *operation, const struct trial *trial, long fail_at, bool for_good)
{
    bool is_victim = trial->victim == rank || trial->victim == size;
    operation->request = MPI_REQUEST_NULL;
    heap.own = 0;
    heap.fail_at = is_victim ? fail_at : 0;
    heap.fail_for_good = for_good;
    heap.watched = true;
    operation_call(operation, trial->form);
    heap.watched = false;
    int status = operation->status, class = MPI_SUCCESS;
    if (status != MPI_SUCCESS) {
        MPI_Error_class(status, &class);
        check_that(heap.fail_at > 0 && heap.own >= heap.fail_at && class == MPI_ERR_NO_MEM,
                   "%s: error class %d after %ld allocations", kind_names[trial->kind], class, heap.own);
    }
    return status == MPI_SUCCESS;
}

static void run(struct operation *operation, const struct trial *trial)
{
    for (int i = 0; i < 2; i++) {
        if (trial->form == PERSISTENT) {
            operation_fill(operation, i);
            MPI_Start(&operation->request);
        }
        MPI_Wait(&operation->request, MPI_STATUS_IGNORE);
        operation_check(operation);
    }
    if (trial->form == PERSISTENT) {
        MPI_Request_free(&operation->request);
    }
}

/* One call in which an allocation fails, and then the same once more; returns how many allocations there are in all. */
static long try_one(const struct trial *trial, MPI_Comm parent, long fail_at, bool for_good)
{
    struct operation operation;
    check_case("%s %s of %d, allocation %ld of rank %d fails%s",
               trial->form == PERSISTENT ? "persistent" : "non-blocking", kind_names[trial->kind],
               trial->count, fail_at, trial->victim, for_good ? " and all later ones" : "");
    MPI_Comm comm = new_comm(parent);
    operation_make(&operation, trial->kind, comm, parent == MPI_COMM_SELF ? 0 : size - 1, trial->count, trial->gapped);
    bool made = make(&operation, trial, fail_at, for_good);
    bool all_made = parent == MPI_COMM_SELF ? made : agree(made, MPI_LAND);
    long count = heap.own;
    if (!all_made) {
        if (made) {
            MPI_Request_free(&operation.request);
        }
        made = make(&operation, trial, 0, false);
        check_that(made, "%s fails again, though there is memory", kind_names[trial->kind]);
    }
    if (made) {
        run(&operation, trial);
    }
    operation_free(&operation);
    MPI_Comm_free(&comm);
    agree(0, MPI_LAND); /* with coll_pccl_cache_plans 1 the plan is gone, so that the next call makes it again */
    return count;
}

static void try_all(struct trial *trial, MPI_Comm parent, long wanted)
{
    trial->victim = size;
    long count = try_one(trial, parent, 0, false);
    count = parent == MPI_COMM_SELF ? count : agree((int)count, MPI_MAX);
    long stride = wanted > 0 && count > wanted ? count / wanted : 1;
    for (long at = 1; at <= count; at += at + LAST >= count ? 1 : stride) {
        trial->victim = (int)(at % (size + 1));
        trial->victim = parent == MPI_COMM_SELF ? rank : trial->victim;
        try_one(trial, parent, at, at % 2);
    }
}

/* There is no memory for the module of a communicator: there every call of the rank is an error. */
static void test_module(void)
{
    struct trial trial = {ALLREDUCE, PERSISTENT, 1, false, size};
    MPI_Comm comm, after;
    check_case("no memory for a module");
    heap.own = 0;
    heap.fail_at = rank == size - 1 ? 1 : 0;
    heap.fail_for_good = false;
    heap.watched = true;
    MPI_Comm_dup(control, &comm);
    heap.watched = false;
    check_that(heap.own > 0, "a communicator has taken no memory of the component");
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    for (int kind = 0; kind < NUM_KINDS; kind++) {
        struct operation operation;
        int class = MPI_SUCCESS;
        operation_make(&operation, (enum kind)kind, comm, 0, 1, false);
        operation_call(&operation, PERSISTENT);
        MPI_Error_class(operation.status, &class);
        check_that(class == (rank == size - 1 ? MPI_ERR_NO_MEM : MPI_SUCCESS), "%s: error class %d", kind_names[kind],
                   class);
        if (class == MPI_SUCCESS) {
            MPI_Request_free(&operation.request);
        } else if (size > 1) {
            operation_call(&operation, BLOCKING);
            MPI_Error_class(operation.status, &class);
            check_that(class == MPI_ERR_NO_MEM, "blocking %s: error class %d", kind_names[kind], class);
        }
        operation_free(&operation);
    }
    MPI_Comm_free(&comm);
    after = new_comm(control);
    try_one(&trial, after, 0, false);
    MPI_Comm_free(&after);
}

/* The first calls of what is measured, in the second of which pccl's plans are compared. There an allocation of one
 * rank fails. Returns how many there are in that call. */
static long begin_contest(enum kind kind, long fail_at)
{
    struct operation operation;
    check_case("measured %s, allocation %ld of a rank fails", kind_names[kind], fail_at);
    MPI_Comm comm = new_comm(control);
    operation_make(&operation, kind, comm, 0, 3, false);
    heap.own = 0;
    heap.fail_at = fail_at > 0 && fail_at % size == rank ? fail_at : 0;
    heap.fail_for_good = false;
    for (int i = 0; i < 6; i++) {
        operation_fill(&operation, i);
        heap.watched = i == 1;
        operation_call(&operation, BLOCKING);
        heap.watched = false;
        check_that(operation.status == MPI_SUCCESS, "call %d: error %d", i, operation.status);
        operation_check(&operation);
    }
    operation_free(&operation);
    MPI_Comm_free(&comm);
    return heap.own;
}

/* A rank that has no memory to compare plans stays in step with the others, who must not wait for it. */
static void test_contests(void)
{
    for (int kind = 0; kind < NUM_KINDS; kind++) {
        long count = agree((int)begin_contest((enum kind)kind, 0), MPI_MIN);
        for (long at = 1; at + LAST < count; at += count / 16 + 1) {
            begin_contest((enum kind)kind, at);
        }
    }
}

/* Enough calls of each kind for what is measured to end, then freed and made anew. */
static void call_all_blocking(MPI_Comm parent)
{
    for (int kind = 0; kind < NUM_KINDS; kind++) {
        struct operation operation;
        MPI_Comm comm;
        MPI_Comm_dup(parent, &comm);
        operation_make(&operation, (enum kind)kind, comm, size - 1, 3 + 100 * (kind % 3), kind % 4 == 1);
        for (int i = 0; i < 12; i++) {
            operation_fill(&operation, i);
            operation_call(&operation, BLOCKING);
            operation_check(&operation);
        }
        operation_free(&operation);
        MPI_Comm_free(&comm);
    }
}

/* Fails allocation number `at` of one rank. Before MPI_Init a rank knows its number from its environment only. */
static int run_once(int argc, char **argv, bool in_init, long at)
{
    const char *own_rank = getenv("OMPI_COMM_WORLD_RANK"), *own_size = getenv("OMPI_COMM_WORLD_SIZE");
    bool is_victim = own_rank != NULL && own_size != NULL && atoi(own_rank) == (int)(at % atoi(own_size));
    heap.fail_at = is_victim ? at : 0;
    heap_prepare();
    heap.watched = in_init;
    check_init(&argc, &argv, "exhaustion");
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    heap.watched = !in_init;
    call_all_blocking(MPI_COMM_WORLD);
    heap.watched = false;
    if (is_victim) {
        printf("allocation %ld of %ld has failed\n", at, heap.own);
    }
    return check_finalize();
}

int main(int argc, char **argv)
{
    if (argc > 2) {
        return run_once(argc, argv, strcmp(argv[1], "init") == 0, atol(argv[2]));
    }
    check_init(&argc, &argv, "exhaustion");
    long wanted = argc > 1 ? atol(argv[1]) : 0;
    check_that(heap_prepare(), "mca_coll_pccl is not loaded");
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_dup(MPI_COMM_WORLD, &control);
    if (argc > 1 && strcmp(argv[1], "contests") == 0) {
        test_contests();
        MPI_Comm_free(&control);
        return check_finalize();
    }
    for (int kind = 0; kind < NUM_KINDS; kind++) {
        struct trial small = {(enum kind)kind, PERSISTENT, 3, kind % 2 == 0, 0};
        struct trial large = {(enum kind)kind, PERSISTENT, 5000, kind % 2 == 1, 0};
        struct trial alone = {(enum kind)kind, NONBLOCKING, 3, kind % 2 == 0, 0};
        struct trial alone_later = {(enum kind)kind, PERSISTENT, 3, kind % 2 == 1, 0};
        try_all(&small, MPI_COMM_WORLD, wanted);
        try_all(&large, MPI_COMM_WORLD, wanted);
        try_all(&alone, MPI_COMM_SELF, wanted);
        try_all(&alone_later, MPI_COMM_SELF, wanted);
    }
    test_module();
    MPI_Comm_free(&control);
    return check_finalize();
}
