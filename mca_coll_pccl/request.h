/* Requests: what a non-blocking or persistent call gives to the application.
 *
 * Progress. All requests under way are in one list, in the order of their starts; opal_progress calls one function that
 * goes through it. The list's lock is held only to step from one request to the next: while a thread works on a request
 * the request is marked busy, and other threads pass over it. So threads that wait on different communicators do not
 * wait for each other. A thread that is inside this function does not enter it again, however it came back to
 * opal_progress. Requests are reported complete while no lock is held.
 *
 * Lifetime. What a call needs of the application is kept (keep.c) until the run, or the persistent request, is over;
 * the communicator until the application's Wait or Test frees the request: the end of a communicator must not happen in
 * the middle of opal_progress. */
#ifndef COLL_PCCL_REQUEST_H
#define COLL_PCCL_REQUEST_H

#include "execute.h"

struct coll_pccl_request {
    ompi_coll_base_nbc_request_t super; /* the MPI layer notes down datatypes and operators in it */
    struct coll_pccl_module *module;
    struct ompi_communicator_t *comm;      /* with a reference */
    struct coll_pccl_execution *execution; /* NULL: a persistent request that has failed */
    struct coll_pccl_request *previous, *next; /* in the list of requests under way; next: also in that of idle ones */
    bool busy;                                 /* a thread works on it; guarded by the list's lock */
};
typedef struct coll_pccl_request coll_pccl_request_t; /* Open MPI's object macros need a one-word name */
OBJ_CLASS_DECLARATION(coll_pccl_request_t);

/* A request for a bound execution, which is then the request's; NULL when out of memory. */
struct coll_pccl_request *coll_pccl_request_create(struct ompi_communicator_t *comm, struct coll_pccl_module *module,
                                                   struct coll_pccl_execution *execution, bool persistent);
/* Starts what the request stands for and does what can be done at once. False if it could be done to the end: then the
 * request is not in the list of those under way, and *status tells how it ended. */
bool coll_pccl_request_start(struct coll_pccl_request *request, int *status);
/* Gives back everything that a request holds which is not under way, and the request itself. */
void coll_pccl_request_release(struct coll_pccl_request *request);

/* At the end of the process: nothing is under way any more. */
void coll_pccl_requests_close(void);

#endif
