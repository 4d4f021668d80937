/* A shared library to preload into ranks that share few processors: waiting ranks call sched_yield() in a loop, which
 * keeps the processors busy without bringing any message nearer. Here sched_yield() sleeps until the network's event loop
 * has something to read, one millisecond at most; but not right after the loop has taken something in, since Open MPI
 * yields then too, before it looks whether that was what it waits for. Changes times of waiting, never results. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <time.h>

#define MAX_LOOPS 8

static _Atomic int loops[MAX_LOOPS]; /* descriptor + 1 of every epoll instance of the process */
static _Atomic unsigned num_loops;
static _Thread_local bool has_taken_in; /* since this thread yielded last */

static int remember(int descriptor)
{
    unsigned i = atomic_fetch_add(&num_loops, 1);
    if (descriptor >= 0 && i < MAX_LOOPS) {
        atomic_store(&loops[i], descriptor + 1);
    }
    return descriptor;
}

int epoll_create(int size)
{
    int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, "epoll_create");
    return remember(real(size));
}

int epoll_create1(int flags)
{
    int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, "epoll_create1");
    return remember(real(flags));
}

int epoll_wait(int descriptor, struct epoll_event *events, int max_events, int timeout)
{
    static int (*real)(int, struct epoll_event *, int, int);
    if (!real) {
        real = (int (*)(int, struct epoll_event *, int, int))dlsym(RTLD_NEXT, "epoll_wait");
    }
    int count = real(descriptor, events, max_events, timeout);
    has_taken_in |= count > 0;
    return count;
}

int sched_yield(void)
{
    if (has_taken_in) {
        has_taken_in = false;
        return 0;
    }
    struct pollfd watched[MAX_LOOPS];
    nfds_t count = 0;
    for (unsigned i = 0; i < MAX_LOOPS && i < atomic_load(&num_loops); i++) {
        watched[count++] = (struct pollfd){.fd = atomic_load(&loops[i]) - 1, .events = POLLIN};
    }
    const struct timespec limit = {.tv_nsec = 1000000};
    ppoll(watched, count, &limit, NULL);
    return 0;
}
