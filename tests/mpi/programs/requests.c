#include "requests.h"

#include <string.h>

/* --- the end of one operation ------------------------------------------------------------------------------------- */

static void name(const struct requests *requests, const struct operation *operation, const char *what)
{
    check_case("%s: %s %s", requests->program, what, operation->call != NULL ? operation->call->text : "a message");
}

/* A persistent one stays. */
static void finish(struct requests *requests, struct operation *operation)
{
    name(requests, operation, "complete");
    operation->active = false;
    if (operation->message != NULL) {
        message_check(operation->message);
        message_free(operation->message);
    } else {
        call_check(operation->call);
        if (operation->call->form != PERSISTENT) {
            check_that(operation->request == MPI_REQUEST_NULL, "the request is not null");
            call_free(operation->call);
        }
    }
}

/* --- ways to complete several ------------------------------------------------------------------------------------- */

struct set {
    int count;
    struct operation *operations[MAX_PENDING + MAX_PERSISTENT];
    MPI_Request requests[MAX_PENDING + MAX_PERSISTENT];
    bool done[MAX_PENDING + MAX_PERSISTENT];
};

static void mark(struct set *set, int i)
{
    check_that(!set->done[i], "completed twice");
    set->done[i] = true;
}

static void mark_all(struct set *set)
{
    for (int i = 0; i < set->count; i++) {
        mark(set, i);
    }
}

static void wait_each(struct set *set)
{
    for (int i = 0; i < set->count; i++) {
        MPI_Wait(&set->requests[i], MPI_STATUS_IGNORE);
        mark(set, i);
    }
}

static void test_each(struct set *set)
{
    for (int left = set->count; left > 0;) {
        for (int i = 0; i < set->count; i++) {
            int flag = 0;
            if (!set->done[i]) {
                MPI_Test(&set->requests[i], &flag, MPI_STATUS_IGNORE);
            }
            if (flag) {
                mark(set, i);
                left--;
            }
        }
    }
}

static void ask_each(struct set *set)
{
    for (int i = 0; i < set->count; i++) {
        for (int flag = 0; !flag;) {
            MPI_Request_get_status(set->requests[i], &flag, MPI_STATUS_IGNORE);
        }
        MPI_Wait(&set->requests[i], MPI_STATUS_IGNORE);
        mark(set, i);
    }
}

static void wait_all(struct set *set)
{
    MPI_Waitall(set->count, set->requests, MPI_STATUSES_IGNORE);
    mark_all(set);
}

static void test_all(struct set *set)
{
    for (int flag = 0; !flag;) {
        MPI_Testall(set->count, set->requests, &flag, MPI_STATUSES_IGNORE);
    }
    mark_all(set);
}

static void wait_any(struct set *set)
{
    for (int left = set->count; left > 0; left--) {
        int index;
        MPI_Waitany(set->count, set->requests, &index, MPI_STATUS_IGNORE);
        mark(set, index);
    }
}

static void test_any(struct set *set)
{
    for (int left = set->count; left > 0;) {
        int index, flag;
        MPI_Testany(set->count, set->requests, &index, &flag, MPI_STATUS_IGNORE);
        if (flag) {
            mark(set, index);
            left--;
        }
    }
}

static void some(struct set *set, bool waits)
{
    int indices[MAX_PENDING + MAX_PERSISTENT], count;
    for (int left = set->count; left > 0; left -= count) {
        if (waits) {
            MPI_Waitsome(set->count, set->requests, &count, indices, MPI_STATUSES_IGNORE);
        } else {
            MPI_Testsome(set->count, set->requests, &count, indices, MPI_STATUSES_IGNORE);
        }
        for (int i = 0; i < count; i++) {
            mark(set, indices[i]);
        }
    }
}

static void complete(struct requests *requests, struct set *set, struct random *own)
{
    const uint32_t way = random_below(own, 9);
    if (set->count == 0) {
        return;
    }
    check_case("%s: waits in way %u for %d operations, the first: %s", requests->program, way, set->count,
               set->operations[0]->call != NULL ? set->operations[0]->call->text : "a message");
    switch (way) {
    case 0: wait_each(set); break;
    case 1: test_each(set); break;
    case 2: ask_each(set); break;
    case 3: wait_all(set); break;
    case 4: test_all(set); break;
    case 5: wait_any(set); break;
    case 6: test_any(set); break;
    default: some(set, way == 7); break;
    }
    for (int i = 0; i < set->count; i++) {
        set->operations[i]->request = set->requests[i];
        finish(requests, set->operations[i]);
    }
}

/* --- which ones --------------------------------------------------------------------------------------------------- */

static void choose(struct set *set, struct operation *operation)
{
    set->operations[set->count] = operation;
    set->requests[set->count] = operation->request;
    set->done[set->count++] = false;
}

static void shuffle(struct set *set, struct random *own)
{
    for (int i = set->count - 1; i > 0; i--) {
        const int other = (int)random_below(own, (uint32_t)i + 1);
        struct operation *operation = set->operations[i];
        const MPI_Request request = set->requests[i];
        set->operations[i] = set->operations[other];
        set->requests[i] = set->requests[other];
        set->operations[other] = operation;
        set->requests[other] = request;
    }
}

static void drop_finished(struct requests *requests)
{
    int kept = 0;
    for (int i = 0; i < requests->num_pending; i++) {
        if (requests->pending[i].active) {
            requests->pending[kept++] = requests->pending[i];
        }
    }
    requests->num_pending = kept;
}

/* One in `one_in` of all, those on `comm` if that is not null. */
static void complete_chosen(struct requests *requests, uint32_t one_in, MPI_Comm comm, struct random *own)
{
    struct set set = {.count = 0};
    for (int i = 0; i < requests->num_pending + MAX_PERSISTENT; i++) {
        struct operation *operation =
            i < MAX_PERSISTENT ? &requests->persistent[i] : &requests->pending[i - MAX_PERSISTENT];
        const bool fits = comm == MPI_COMM_NULL || (operation->call != NULL && operation->call->comm == comm);
        if (operation->active && fits && random_below(own, one_in) == 0) {
            choose(&set, operation);
        }
    }
    shuffle(&set, own);
    complete(requests, &set, own);
    drop_finished(requests);
}

void requests_complete_some(struct requests *requests, struct random *own)
{
    complete_chosen(requests, 2, MPI_COMM_NULL, own);
}

void requests_complete_all(struct requests *requests, struct random *own)
{
    complete_chosen(requests, 1, MPI_COMM_NULL, own);
}

void requests_add(struct requests *requests, struct operation operation, struct random *own)
{
    if (requests->num_pending == MAX_PENDING) {
        complete_chosen(requests, 1, MPI_COMM_NULL, own);
    }
    requests->pending[requests->num_pending++] = operation;
}

/* --- persistent operations ---------------------------------------------------------------------------------------- */

static void complete_persistent(struct requests *requests, unsigned slots, struct random *own)
{
    struct set set = {.count = 0};
    for (int slot = 0; slot < MAX_PERSISTENT; slot++) {
        if (slots >> slot & 1 && requests->persistent[slot].active) {
            choose(&set, &requests->persistent[slot]);
        }
    }
    shuffle(&set, own);
    complete(requests, &set, own);
}

void persistent_keep(struct requests *requests, int slot, struct call *call, MPI_Request request)
{
    requests->persistent[slot] = (struct operation){.request = request, .call = call};
}

void persistent_start(struct requests *requests, unsigned slots, uint64_t data, struct random *own)
{
    struct set set = {.count = 0};
    complete_persistent(requests, slots, own);
    for (int slot = 0; slot < MAX_PERSISTENT; slot++) {
        if (slots >> slot & 1 && requests->persistent[slot].call != NULL) {
            call_fill(requests->persistent[slot].call, random_mix(data, (uint64_t)slot));
            choose(&set, &requests->persistent[slot]);
        }
    }
    shuffle(&set, own);
    if (set.count > 0 && random_below(own, 2) == 0) {
        name(requests, set.operations[0], "starts with others");
        check_that(MPI_Startall(set.count, set.requests) == MPI_SUCCESS, "returned an error");
    } else {
        for (int i = 0; i < set.count; i++) {
            name(requests, set.operations[i], "starts");
            check_that(MPI_Start(&set.requests[i]) == MPI_SUCCESS, "returned an error");
        }
    }
    for (int i = 0; i < set.count; i++) {
        set.operations[i]->request = set.requests[i];
        set.operations[i]->active = true;
    }
}

void requests_end_on(struct requests *requests, MPI_Comm comm, struct random *own)
{
    complete_chosen(requests, 1, comm, own);
    for (int slot = 0; slot < MAX_PERSISTENT; slot++) {
        if (requests->persistent[slot].call != NULL && requests->persistent[slot].call->comm == comm) {
            persistent_free(requests, slot, own);
        }
    }
}

void persistent_free(struct requests *requests, int slot, struct random *own)
{
    struct operation *operation = &requests->persistent[slot];
    complete_persistent(requests, 1u << slot, own);
    if (operation->call != NULL) {
        int flag = 0;
        name(requests, operation, "frees");
        MPI_Test(&operation->request, &flag, MPI_STATUS_IGNORE);
        check_that(flag, "a test of an inactive operation is not over");
        MPI_Request_free(&operation->request);
        check_that(operation->request == MPI_REQUEST_NULL, "the request is not null");
        call_free(operation->call);
        memset(operation, 0, sizeof(*operation));
    }
}
