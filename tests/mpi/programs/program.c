#include "program.h"

#include "defects.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define NUM_SLOTS 6 /* for communicators; the first two are MPI_COMM_WORLD and MPI_COMM_SELF */
#define NUM_GIVEN 2

struct program {
    uint64_t seed;
    char text[100];
    struct random shared; /* gives the same numbers to all ranks */
    struct random own;
    bool used[NUM_SLOTS];
    struct communicator communicators[NUM_SLOTS];
    struct requests requests;
};

/* --- communicators ------------------------------------------------------------------------------------------------ */

/* Mostly those that the program has made. */
static int pick_slot(struct program *program)
{
    int slot = (int)random_below(&program->shared, NUM_SLOTS + 2);
    return slot >= NUM_SLOTS || !program->used[slot] ? 0 : slot;
}

static void free_slot(struct program *program, int slot)
{
    struct communicator *communicator = &program->communicators[slot];
    check_case("%s: a communicator of %d ranks is freed", program->text, communicator->size);
    if (defect_communicator_free() && communicator->comm != MPI_COMM_NULL) {
        requests_end_on(&program->requests, communicator->comm, &program->own);
    }
    communicator_free(communicator);
    program->used[slot] = false;
}

static void make_communicator(struct program *program)
{
    const int target = NUM_GIVEN + (int)random_below(&program->shared, NUM_SLOTS - NUM_GIVEN);
    const int parent = pick_slot(program);
    struct communicator made;
    check_case("%s: a communicator is made", program->text);
    communicator_derive(&made, &program->communicators[parent == 1 ? 0 : parent], &program->shared);
    if (program->used[target]) {
        free_slot(program, target);
    }
    program->communicators[target] = made;
    program->used[target] = true;
}

static void free_some_communicator(struct program *program)
{
    const int slot = pick_slot(program);
    if (slot >= NUM_GIVEN) {
        free_slot(program, slot);
    }
}

/* --- calls -------------------------------------------------------------------------------------------------------- */

static enum collective pick_collective(const struct communicator *communicator, enum form form, uint32_t number)
{
    enum collective collective = (enum collective)(number % NUM_COLLECTIVES);
    if (communicator->has_topology && number / NUM_COLLECTIVES % 2 == 0) {
        collective = (enum collective)(NEIGHBOR_ALLGATHER + number % 5);
    }
    if ((collective_is_neighbourhood(collective) && !communicator->has_topology) ||
        defect_call(communicator, collective, form)) {
        return BARRIER;
    }
    return collective;
}

static void run_blocking(struct program *program, struct call *call)
{
    MPI_Request none = MPI_REQUEST_NULL;
    call_fill(call, call->seed);
    check_that(call_run(call, &none) == MPI_SUCCESS, "returned an error");
    call_release(call);
    call_check(call);
    call_free(call);
    (void)program;
}

static void run_pending(struct program *program, struct call *call)
{
    struct operation operation = {.call = call, .active = true};
    call_fill(call, call->seed);
    check_that(call_run(call, &operation.request) == MPI_SUCCESS, "returned an error");
    call_release(call);
    requests_add(&program->requests, operation, &program->own);
}

static void make_persistent(struct program *program, struct call *call, int slot)
{
    MPI_Request request;
    check_that(call_run(call, &request) == MPI_SUCCESS, "returned an error");
    if (!defect_type_free()) {
        call_release(call);
    }
    persistent_keep(&program->requests, slot, call, request);
}

static void make_call(struct program *program)
{
    struct random *shared = &program->shared;
    const int slot = pick_slot(program), kept_in = (int)random_below(shared, MAX_PERSISTENT);
    const struct communicator *communicator = &program->communicators[slot];
    const uint32_t number = random_below(shared, 1 << 20), eighth = random_below(shared, 8);
    const enum form form = eighth < 3 ? BLOCKING : eighth < 6 ? NONBLOCKING : PERSISTENT;
    const uint64_t seed = random_next(shared);
    struct call *call;
    if (form == PERSISTENT) { /* at all ranks, members or not: the slot must mean the same to all */
        persistent_free(&program->requests, kept_in, &program->own);
    }
    if (communicator->comm == MPI_COMM_NULL) {
        return;
    }
    call = call_make(communicator, pick_collective(communicator, form, number), form, seed);
    check_case("%s: %s", program->text, call->text);
    if (call->form == BLOCKING) {
        run_blocking(program, call);
    } else if (call->form == NONBLOCKING) {
        run_pending(program, call);
    } else {
        make_persistent(program, call, kept_in);
    }
}

static void exchange(struct program *program)
{
    const int slot = pick_slot(program);
    const uint64_t seed = random_next(&program->shared);
    if (program->communicators[slot].comm != MPI_COMM_NULL) {
        check_case("%s: messages on %d ranks", program->text, program->communicators[slot].size);
        message_exchange(&program->requests, &program->communicators[slot], seed, &program->own);
    }
}

/* --- the whole ---------------------------------------------------------------------------------------------------- */

static void make_step(struct program *program)
{
    struct random *shared = &program->shared;
    const uint32_t kind = random_below(shared, 100);
    if (kind < 10) {
        make_communicator(program);
    } else if (kind < 14) {
        free_some_communicator(program);
    } else if (kind < 62) {
        make_call(program);
    } else if (kind < 77) {
        const unsigned slots = random_below(shared, 1 << MAX_PERSISTENT);
        persistent_start(&program->requests, slots, random_next(shared), &program->own);
    } else if (kind < 85) {
        exchange(program);
    } else if (kind < 95) {
        check_case("%s: completes some", program->text);
        requests_complete_some(&program->requests, &program->own);
    } else if (random_below(&program->own, 3) == 0) {
        usleep(random_below(&program->own, 300));
    }
}

static void finish(struct program *program)
{
    bool order = random_below(&program->own, 2) == 0;
    snprintf(program->text, sizeof(program->text), "program %llu, at its end", (unsigned long long)program->seed);
    for (int slot = NUM_GIVEN; slot < NUM_SLOTS && random_below(&program->shared, 2) == 0; slot++) {
        if (program->used[slot]) {
            free_slot(program, slot);
        }
    }
    if (order) {
        requests_complete_all(&program->requests, &program->own);
    }
    for (int slot = 0; slot < MAX_PERSISTENT; slot++) {
        persistent_free(&program->requests, slot, &program->own);
    }
    requests_complete_all(&program->requests, &program->own);
    for (int slot = NUM_GIVEN; slot < NUM_SLOTS; slot++) {
        if (program->used[slot]) {
            free_slot(program, slot);
        }
    }
}

void program_run(uint64_t seed, int num_steps)
{
    struct program program;
    int rank;
    memset(&program, 0, sizeof(program));
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    program.seed = seed;
    program.shared.state = random_mix(seed, 42);
    program.own.state = random_mix(seed, 1000 + (uint64_t)rank);
    program.requests.program = program.text;
    communicator_wrap(&program.communicators[0], MPI_COMM_WORLD, "world");
    communicator_wrap(&program.communicators[1], MPI_COMM_SELF, "self");
    program.used[0] = program.used[1] = true;
    if (num_steps == 0) {
        num_steps = 5 + (int)random_below(&program.shared, 30);
    }
    for (int step = 0; step < num_steps; step++) {
        snprintf(program.text, sizeof(program.text), "program %llu, step %d", (unsigned long long)seed, step);
        make_step(&program);
    }
    finish(&program);
}
