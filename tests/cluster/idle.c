/* A shared library to preload into ranks that share few processors: waiting ranks call sched_yield() in a loop, which keeps
 * the processors busy without bringing any message nearer. Here sched_yield() sleeps until the network's event loop has
 * something to read, one millisecond at most. Changes times of waiting, never results. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <poll.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <time.h>

#define MAX_LOOPS 8

static _Atomic int loops[MAX_LOOPS]; /* descriptor + 1 of every epoll instance of the process */
static _Atomic unsigned num_loops;

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

int sched_yield(void)
{
    struct pollfd watched[MAX_LOOPS];
    nfds_t count = 0;
    for (unsigned i = 0; i < MAX_LOOPS && i < atomic_load(&num_loops); i++) {
        watched[count++] = (struct pollfd){.fd = atomic_load(&loops[i]) - 1, .events = POLLIN};
    }
    const struct timespec limit = {.tv_nsec = 1000000};
    ppoll(watched, count, &limit, NULL);
    return 0;
}
