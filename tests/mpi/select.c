/* Who serves a collective is found out by measuring: data are right meanwhile, whoever serves, with ranks that come
 * late and threads that call on several communicators in another order on every rank; in the end all use the same.
 * select [--calls N] [--one-thread]: how often each; below 110 contests are not over, and only data are checked.
 * Without the part with threads, which takes most of the time. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

#define SEED 7
#define NUM_THREADS 4
#define MOST_INTS 40000
#define ENOUGH_CALLS 110 /* for every contest to end */

static int num_calls = ENOUGH_CALLS;
static bool has_threads = true;

/* What the calls of one communicator need. */
struct scene {
    MPI_Comm comm;
    int rank, size;
    struct random skew; /* of this rank alone */
    int *input, *output, *counts, *places;
    int wrong;
};

static void scene_make(struct scene *scene, MPI_Comm comm, int number)
{
    scene->comm = comm;
    MPI_Comm_rank(comm, &scene->rank);
    MPI_Comm_size(comm, &scene->size);
    scene->skew.state = random_mix(SEED, (uint64_t)(scene->rank + 100 * number));
    scene->input = malloc((size_t)scene->size * MOST_INTS * sizeof(int));
    scene->output = malloc((size_t)scene->size * MOST_INTS * sizeof(int));
    scene->counts = malloc((size_t)scene->size * sizeof(int));
    scene->places = malloc((size_t)scene->size * sizeof(int));
    scene->wrong = 0;
}

static void scene_free(struct scene *scene)
{
    free(scene->input);
    free(scene->output);
    free(scene->counts);
    free(scene->places);
}

/* Now and then a rank comes late. */
static void come_late(struct scene *scene)
{
    if (random_below(&scene->skew, 8) == 0) {
        struct timespec pause = {0, (long)random_below(&scene->skew, 300) * 1000};
        nanosleep(&pause, NULL);
    }
}

static int value_of(int round, int rank, int i)
{
    return round * 7919 + rank * 104729 + i;
}

static void fill(int *values, int round, int rank, int count)
{
    for (int i = 0; i < count; i++) {
        values[i] = value_of(round, rank, i);
    }
}

static void expect_block(struct scene *scene, const int *values, int round, int rank, int count)
{
    for (int i = 0; i < count; i++) {
        scene->wrong += values[i] != value_of(round, rank, i);
    }
}

/* --- calls, each checked ------------------------------------------------------------------------------------------ */

static void call_allreduce(struct scene *scene, int round, int count)
{
    fill(scene->input, round, scene->rank, count);
    MPI_Allreduce(scene->input, scene->output, count, MPI_INT, MPI_SUM, scene->comm);
    for (int i = 0; i < count; i++) {
        int sum = 0;
        for (int rank = 0; rank < scene->size; rank++) {
            sum += value_of(round, rank, i);
        }
        scene->wrong += scene->output[i] != sum;
    }
}

static void call_bcast(struct scene *scene, int round, int count)
{
    int root = round % scene->size;
    fill(scene->output, round, scene->rank, count);
    MPI_Bcast(scene->output, count, MPI_INT, root, scene->comm);
    expect_block(scene, scene->output, round, root, count);
}

static void call_reduce(struct scene *scene, int round, int count)
{
    int root = round % scene->size;
    fill(scene->input, round, scene->rank, count);
    MPI_Reduce(scene->input, scene->output, count, MPI_INT, MPI_MAX, root, scene->comm);
    if (scene->rank == root) {
        expect_block(scene, scene->output, round, scene->size - 1, count);
    }
}

static void call_allgather(struct scene *scene, int round, int count)
{
    fill(scene->input, round, scene->rank, count);
    MPI_Allgather(scene->input, count, MPI_INT, scene->output, count, MPI_INT, scene->comm);
    for (int rank = 0; rank < scene->size; rank++) {
        expect_block(scene, scene->output + rank * count, round, rank, count);
    }
}

/* Sizes change from call to call; `count` is the largest. */
static void call_alltoallv(struct scene *scene, int round, int count)
{
    int now = 1 + (round * 31) % count;
    for (int rank = 0; rank < scene->size; rank++) {
        scene->counts[rank] = now;
        scene->places[rank] = rank * now;
        fill(scene->input + rank * now, round + rank, scene->rank, now);
    }
    MPI_Alltoallv(scene->input, scene->counts, scene->places, MPI_INT, scene->output, scene->counts, scene->places,
                  MPI_INT, scene->comm);
    for (int rank = 0; rank < scene->size; rank++) {
        expect_block(scene, scene->output + rank * now, round + scene->rank, rank, now);
    }
}

static void call_barrier(struct scene *scene, int round, int count)
{
    (void)round;
    (void)count;
    MPI_Barrier(scene->comm);
}

static const struct call {
    const char *name;
    void (*make)(struct scene *scene, int round, int count);
    int count;
} calls[] = {
    {"allreduce", call_allreduce, 1},       {"allreduce", call_allreduce, 1000}, {"bcast", call_bcast, 1},
    {"bcast", call_bcast, 30000},           {"reduce", call_reduce, 300},        {"allgather", call_allgather, 2},
    {"allgather", call_allgather, 3000},    {"alltoallv", call_alltoallv, 3},    {"alltoallv", call_alltoallv, 4000},
    {"barrier", call_barrier, 0},
};
#define NUM_CALLS ((int)(sizeof calls / sizeof *calls))

/* --- who serves --------------------------------------------------------------------------------------------------- */

static MPI_T_pvar_session session;
static MPI_T_pvar_handle served_handle;

static void open_counter(void)
{
    int provided, index, count;
    MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided);
    MPI_T_pvar_session_create(&session);
    if (check_that(MPI_T_pvar_get_index("coll_pccl_served_calls", MPI_T_PVAR_CLASS_COUNTER, &index) == MPI_SUCCESS,
                   "there is no variable coll_pccl_served_calls")) {
        MPI_T_pvar_handle_alloc(session, index, NULL, &served_handle, &count);
    }
}

static unsigned long served_calls(void)
{
    unsigned long served = 0;
    MPI_T_pvar_read(session, served_handle, &served);
    return served;
}

/* The variable counts from the start of the process, whenever the handle is made. */
static void test_counter(void)
{
    int index, count;
    MPI_T_pvar_handle late;
    unsigned long served = 0;
    check_case("a handle made late");
    MPI_T_pvar_get_index("coll_pccl_served_calls", MPI_T_PVAR_CLASS_COUNTER, &index);
    MPI_T_pvar_handle_alloc(session, index, NULL, &late, &count);
    MPI_T_pvar_read(session, late, &served);
    check_that(served == served_calls(), "a late handle reads %lu calls, an early one %lu", served,
               served_calls());
    MPI_T_pvar_handle_free(session, &late);
    check_that(served == served_calls(), "another handle changes the count from %lu to %lu", served, served_calls());
}

/* Whether pccl serves a call at this rank; equal on all ranks, or that is a failure. */
static bool is_served(struct scene *scene, const struct call *call)
{
    unsigned long before = served_calls();
    call->make(scene, 1, call->count);
    int mine = served_calls() > before, least = mine, most = mine, other;
    for (int rank = 1; rank < scene->size; rank++) { /* by point-to-point: nothing else may count */
        if (scene->rank == 0) {
            MPI_Recv(&other, 1, MPI_INT, rank, 0, scene->comm, MPI_STATUS_IGNORE);
            least = other < least ? other : least;
            most = other > most ? other : most;
        } else if (scene->rank == rank) {
            MPI_Send(&mine, 1, MPI_INT, 0, 0, scene->comm);
        }
    }
    check_that(least == most, "%s of %d: some ranks use pccl, others do not", call->name, call->count);
    return mine;
}

/* --- tests -------------------------------------------------------------------------------------------------------- */

static void test_one_communicator(struct scene *scene)
{
    for (int i = 0; i < NUM_CALLS; i++) {
        check_case("%s of %d while it is measured", calls[i].name, calls[i].count);
        for (int round = 0; round < num_calls; round++) {
            come_late(scene);
            calls[i].make(scene, round, calls[i].count);
        }
        check_that(scene->wrong == 0, "%d wrong values", scene->wrong);
        scene->wrong = 0;
        check_case("%s of %d after that", calls[i].name, calls[i].count);
        if (calls[i].make != call_alltoallv) { /* its sizes change: others may be measured yet */
            is_served(scene, &calls[i]);
        }
    }
}

struct worker {
    struct scene scene;
    int number;
};

/* Collectives in an order of its own on every communicator, the same on all ranks. */
static void *work(void *argument)
{
    struct worker *worker = argument;
    for (int round = 0; round < num_calls; round++) {
        for (int i = 0; i < NUM_CALLS; i++) {
            const struct call *call = &calls[(i + worker->number) % NUM_CALLS];
            come_late(&worker->scene);
            call->make(&worker->scene, round, call->count > 1000 ? 1000 : call->count);
        }
    }
    return NULL;
}

/* Duplicates of one communicator: threads find out the same things at the same time. */
static void test_threads(void)
{
    struct worker workers[NUM_THREADS];
    pthread_t threads[NUM_THREADS];
    check_case("%d threads on duplicates", NUM_THREADS);
    for (int i = 0; i < NUM_THREADS; i++) {
        MPI_Comm comm;
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        scene_make(&workers[i].scene, comm, i);
        workers[i].number = i;
    }
    for (int i = 0; i < NUM_THREADS; i++) {
        pthread_create(&threads[i], NULL, work, &workers[i]);
    }
    for (int i = 0; i < NUM_THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    for (int i = 0; i < NUM_THREADS; i++) {
        struct scene *scene = &workers[i].scene;
        check_that(scene->wrong == 0, "thread %d: %d wrong values", i, scene->wrong);
        is_served(scene, &calls[0]);
        is_served(scene, &calls[2]);
        MPI_Comm_free(&scene->comm);
        scene_free(scene);
    }
}

/* A communicator made later takes over what is known, and need not measure. */
static void test_adoption(void)
{
    struct scene first, second;
    MPI_Comm comm;
    check_case("what is known on a duplicate");
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    scene_make(&first, MPI_COMM_WORLD, 0);
    scene_make(&second, comm, 1);
    bool is_before = is_served(&first, &calls[1]);
    for (int i = 0; i < 6; i++) { /* of the first calls half would be served by either */
        check_that(is_served(&second, &calls[1]) == is_before, "a duplicate does not use what is known");
    }
    MPI_Comm_free(&comm);
    scene_free(&first);
    scene_free(&second);
}

/* Non-blocking calls take over what the communicator knows, and persistent ones, without waiting. */
static void test_nonblocking(struct scene *scene)
{
    check_case("non-blocking");
    for (int round = 0; round < 10; round++) {
        MPI_Request request;
        int mine = scene->rank + round, sum = -1;
        MPI_Iallreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, scene->comm, &request);
        come_late(scene);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        check_that(sum == scene->size * (scene->size - 1) / 2 + scene->size * round, "%d is no sum", sum);
    }
}

int main(int argc, char **argv)
{
    struct scene scene;
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    check_start("select");
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--calls") == 0 && i + 1 < argc) {
            num_calls = atoi(argv[++i]);
        } else if (strcmp(argv[i], "--one-thread") == 0) {
            has_threads = false;
        }
    }
    check_case("start, seed %d", SEED);
    check_that(provided == MPI_THREAD_MULTIPLE, "MPI_THREAD_MULTIPLE is not provided");
    open_counter();
    scene_make(&scene, MPI_COMM_WORLD, 0);
    test_one_communicator(&scene);
    if (num_calls >= ENOUGH_CALLS) {
        test_adoption();
    }
    test_nonblocking(&scene);
    test_counter();
    if (num_calls >= ENOUGH_CALLS && has_threads) {
        test_threads();
    }
    scene_free(&scene);
    return check_finalize();
}
