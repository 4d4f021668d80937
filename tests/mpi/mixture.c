/* Non-blocking and persistent collectives on communicators made in every way, two hundred at once, among point-to-point
 * requests of both kinds; started together, and completed by every function there is in an order of each rank's own.
 * At the end much is left to MPI_Finalize.
 * Arguments: the number of rounds, and of threads, each with communicators of its own. */
#include <pthread.h>
#include <stdlib.h>

#include "operations.h"

#define NUM_COMMS 20
#define NUM_OPERATIONS 200
#define NUM_MESSAGES 20 /* to the right neighbour, and from the left one; half of them persistent */
#define NUM_REQUESTS (NUM_OPERATIONS + 2 * NUM_MESSAGES)
#define NUM_STARTS 3
#define MAX_THREADS 8

struct pool {
    MPI_Comm comms[NUM_COMMS], messages;
    int rank, size;
    struct random shared, own; /* the same on all ranks, and not */
    int num_rounds;
    struct operation operations[NUM_OPERATIONS];
    int sent[NUM_MESSAGES], received[NUM_MESSAGES];
    MPI_Request requests[NUM_REQUESTS];
    bool persistent[NUM_REQUESTS], is_over[NUM_REQUESTS];
};

/* --- communicators ------------------------------------------------------------------------------------------------ */

static MPI_Comm merge_halves(MPI_Comm parent, int rank, int size)
{
    MPI_Comm half, inter, merged;
    if (size == 1) {
        MPI_Comm_dup(parent, &merged);
        return merged;
    }
    bool low = rank < size / 2;
    MPI_Comm_split(parent, low, rank, &half);
    MPI_Intercomm_create(half, 0, parent, low ? size / 2 : 0, 7, &inter);
    MPI_Intercomm_merge(inter, low, &merged);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
    return merged;
}

static MPI_Comm make_group(MPI_Comm parent, int size, bool by_group)
{
    MPI_Group all, turned;
    MPI_Comm comm;
    int range[1][3] = {{size - 1, 0, -1}};
    MPI_Comm_group(parent, &all);
    MPI_Group_range_incl(all, 1, range, &turned);
    if (by_group) {
        MPI_Comm_create_group(parent, turned, 3, &comm);
    } else {
        MPI_Comm_create(parent, turned, &comm);
    }
    MPI_Group_free(&turned);
    MPI_Group_free(&all);
    return comm;
}

/* Rank 0 has no edge at all, the others one to themselves and two to their left. */
static MPI_Comm make_distributed(MPI_Comm parent, int rank)
{
    int left = rank > 1 ? rank - 1 : rank, targets[] = {rank, left, left}, weights[] = {1, 2, 3};
    int degree = rank == 0 ? 0 : 3;
    MPI_Comm comm;
    MPI_Dist_graph_create(parent, degree > 0, &rank, &degree, targets, weights, MPI_INFO_NULL, 1, &comm);
    return comm;
}

static MPI_Comm make_graph(MPI_Comm parent, int size)
{
    int index[MAX_RANKS], edges[2 * MAX_RANKS];
    MPI_Comm comm;
    for (int i = 0; i < size; i++) { /* to itself, and twice the same */
        index[i] = 2 * i + 2;
        edges[2 * i] = edges[2 * i + 1] = i;
    }
    MPI_Graph_create(parent, size, index, edges, 1, &comm);
    return comm;
}

static MPI_Comm make_grid(MPI_Comm parent, int size)
{
    int extents[2] = {0, 0}, closed[2] = {1, 0};
    MPI_Comm comm;
    MPI_Dims_create(size, 2, extents);
    MPI_Cart_create(parent, 2, extents, closed, 1, &comm);
    return comm;
}

/* Communicator number `i`, of all ranks of the parent in some order. */
static MPI_Comm make_comm(MPI_Comm parent, int rank, int size, int i)
{
    MPI_Comm comm;
    MPI_Request request;
    switch (i % 10) {
    case 0: MPI_Comm_dup(parent, &comm); break;
    case 1: MPI_Comm_dup_with_info(parent, MPI_INFO_NULL, &comm); break;
    case 2:
        MPI_Comm_idup(parent, &comm, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        break;
    case 3: MPI_Comm_split(parent, 0, (rank * 5 + i) % size, &comm); break;
    case 4: MPI_Comm_split_type(parent, MPI_COMM_TYPE_SHARED, -rank, MPI_INFO_NULL, &comm); break;
    case 5: comm = make_group(parent, size, i > 10); break;
    case 6: comm = merge_halves(parent, rank, size); break;
    case 7: comm = make_grid(parent, size); break;
    case 8: comm = make_graph(parent, size); break;
    default: comm = make_distributed(parent, rank);
    }
    return comm;
}

/* --- one round ---------------------------------------------------------------------------------------------------- */

static void make_operations(struct pool *pool)
{
    static const int counts[] = {0, 1, 3, 40, 700, 5000};
    for (int i = 0; i < NUM_OPERATIONS; i++) {
        struct operation *operation = &pool->operations[i];
        int count = counts[random_below(&pool->shared, 6)];
        int root = (int)random_below(&pool->shared, (uint32_t)pool->size);
        operation_make(operation, (enum kind)random_below(&pool->shared, NUM_KINDS),
                       pool->comms[random_below(&pool->shared, NUM_COMMS)], root, count,
                       random_below(&pool->shared, 4) == 0);
        operation_fill(operation, i);
        pool->persistent[i] = random_below(&pool->shared, 2);
        operation_call(operation, pool->persistent[i] ? PERSISTENT : NONBLOCKING);
        pool->requests[i] = operation->request;
    }
}

static void make_messages(struct pool *pool)
{
    int right = (pool->rank + 1) % pool->size, left = (pool->rank + pool->size - 1) % pool->size;
    for (int i = 0; i < NUM_MESSAGES; i++) {
        MPI_Request *send = &pool->requests[NUM_OPERATIONS + 2 * i], *receive = send + 1;
        pool->persistent[NUM_OPERATIONS + 2 * i] = pool->persistent[NUM_OPERATIONS + 2 * i + 1] = i % 2;
        pool->sent[i] = pool->rank * 100 + i;
        if (i % 2) {
            MPI_Send_init(&pool->sent[i], 1, MPI_INT, right, i, pool->messages, send);
            MPI_Recv_init(&pool->received[i], 1, MPI_INT, left, i, pool->messages, receive);
        } else {
            MPI_Isend(&pool->sent[i], 1, MPI_INT, right, i, pool->messages, send);
            MPI_Irecv(&pool->received[i], 1, MPI_INT, left, i, pool->messages, receive);
        }
    }
}

/* Starts all persistent requests, some of them one by one, the others together with those of messages. */
static void start_all(struct pool *pool)
{
    MPI_Request together[NUM_REQUESTS];
    int places[NUM_REQUESTS], count = 0;
    for (int i = 0; i < NUM_REQUESTS; i++) {
        if (pool->persistent[i] && random_below(&pool->own, 4) == 0) {
            MPI_Start(&pool->requests[i]);
        } else if (pool->persistent[i]) {
            places[count] = i;
            together[count++] = pool->requests[i];
        }
    }
    MPI_Startall(count, together);
    for (int i = 0; i < count; i++) {
        pool->requests[places[i]] = together[i];
    }
}

static void note(struct pool *pool, int first, int count, const int *indices)
{
    for (int i = 0; i < count; i++) {
        check_that(!pool->is_over[first + indices[i]], "request %d completes twice", first + indices[i]);
        pool->is_over[first + indices[i]] = true;
    }
}

/* One call of some function that completes, on some of the requests. */
static void complete_some(struct pool *pool)
{
    int first = (int)random_below(&pool->own, NUM_REQUESTS), index, flag = 0, indices[NUM_REQUESTS];
    int count = 1 + (int)random_below(&pool->own, (uint32_t)(NUM_REQUESTS - first)), done = 0;
    MPI_Request *requests = &pool->requests[first];
    for (int i = 0; i < count; i++) {
        indices[i] = i;
    }
    switch (random_below(&pool->own, 8)) {
    case 0:
        MPI_Waitany(count, requests, &index, MPI_STATUS_IGNORE);
        note(pool, first, index != MPI_UNDEFINED, &index);
        break;
    case 1:
        MPI_Testany(count, requests, &index, &flag, MPI_STATUS_IGNORE);
        note(pool, first, flag && index != MPI_UNDEFINED, &index);
        break;
    case 2:
        MPI_Waitsome(count, requests, &done, indices, MPI_STATUSES_IGNORE);
        note(pool, first, done == MPI_UNDEFINED ? 0 : done, indices);
        break;
    case 3:
        MPI_Testsome(count, requests, &done, indices, MPI_STATUSES_IGNORE);
        note(pool, first, done == MPI_UNDEFINED ? 0 : done, indices);
        break;
    case 4: /* one that is over stays where it is until it is asked for in another way */
        MPI_Request_get_status(requests[0], &flag, MPI_STATUS_IGNORE);
        check_that(flag || !pool->is_over[first], "request %d is not over any more", first);
        break;
    case 5:
        MPI_Test(requests, &flag, MPI_STATUS_IGNORE);
        pool->is_over[first] |= flag;
        break;
    case 6:
        MPI_Wait(requests, MPI_STATUS_IGNORE);
        pool->is_over[first] = true;
        break;
    default:
        count = count < 10 ? count : 10;
        MPI_Testall(count, requests, &flag, MPI_STATUSES_IGNORE);
        for (int i = 0; i < count && flag; i++) {
            pool->is_over[first + i] = true;
        }
    }
}

static void check_all(struct pool *pool)
{
    int left = (pool->rank + pool->size - 1) % pool->size;
    for (int i = 0; i < NUM_OPERATIONS; i++) {
        operation_check(&pool->operations[i]);
    }
    for (int i = 0; i < NUM_MESSAGES; i++) {
        check_that(pool->received[i] == left * 100 + i, "message %d has %d", i, pool->received[i]);
    }
    for (int i = 0; i < NUM_REQUESTS; i++) {
        check_that((pool->requests[i] != MPI_REQUEST_NULL) == pool->persistent[i], "request %d", i);
    }
}

/* What is not persistent is over after the first turn. */
static void run_round(struct pool *pool, bool is_last)
{
    make_operations(pool);
    make_messages(pool);
    for (int turn = 0; turn < NUM_STARTS; turn++) {
        for (int i = 0; i < NUM_OPERATIONS && turn > 0; i++) {
            if (pool->persistent[i]) {
                operation_fill(&pool->operations[i], i + turn);
            }
        }
        for (int i = 0; i < NUM_REQUESTS; i++) {
            pool->is_over[i] = turn > 0 && !pool->persistent[i];
        }
        start_all(pool);
        for (int i = random_below(&pool->own, 2) ? 400 : 5; i > 0; i--) {
            complete_some(pool);
        }
        MPI_Waitall(NUM_REQUESTS, pool->requests, MPI_STATUSES_IGNORE);
        check_all(pool);
    }
    for (int i = 0; i < NUM_REQUESTS; i++) {
        if (pool->persistent[i] && (!is_last || i % 3 == 0)) {
            MPI_Request_free(&pool->requests[i]);
        }
    }
    for (int i = 0; i < NUM_OPERATIONS; i++) {
        operation_free(&pool->operations[i]);
    }
}

static void *run_pool(void *context)
{
    struct pool *pool = context;
    for (int i = 0; i < pool->num_rounds; i++) {
        run_round(pool, i == pool->num_rounds - 1);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int num_rounds = argc > 1 ? atoi(argv[1]) : 3, num_threads = argc > 2 ? atoi(argv[2]) : 1, provided;
    pthread_t threads[MAX_THREADS];
    MPI_Init_thread(&argc, &argv, num_threads > 1 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
    check_start("mixture");
    check_case("%d operations in %d threads", NUM_OPERATIONS, num_threads);
    struct pool *pools = calloc(MAX_THREADS, sizeof *pools);
    for (int t = 0; t < num_threads; t++) {
        struct pool *pool = &pools[t];
        MPI_Comm_rank(MPI_COMM_WORLD, &pool->rank);
        MPI_Comm_size(MPI_COMM_WORLD, &pool->size);
        pool->shared.state = (uint64_t)t + 1;
        pool->own.state = (uint64_t)(pool->rank + 1) * 1000 + (uint64_t)t;
        pool->num_rounds = num_rounds;
        MPI_Comm_dup(MPI_COMM_WORLD, &pool->messages);
        for (int i = 0; i < NUM_COMMS; i++) {
            pool->comms[i] = make_comm(MPI_COMM_WORLD, pool->rank, pool->size, i);
        }
    }
    for (int t = 1; t < num_threads; t++) {
        pthread_create(&threads[t], NULL, run_pool, &pools[t]);
    }
    run_pool(&pools[0]);
    for (int t = 1; t < num_threads; t++) {
        pthread_join(threads[t], NULL);
    }
    for (int t = 0; t < num_threads; t++) {
        for (int i = 0; i < NUM_COMMS; i += 2) { /* others are left to MPI_Finalize, as are requests */
            MPI_Comm_free(&pools[t].comms[i]);
        }
    }
    free(pools);
    return check_finalize();
}
