/* Where the ranks of a comparison meet: memory that all of them share, although
 * each is on a host of its own, because the hosts are namespaces of one
 * machine. So meeting, telling times and deciding put nothing on the network
 * that is measured. */
#ifndef PCCL_TESTS_MEETING_H
#define PCCL_TESTS_MEETING_H

#include <stdatomic.h>
#include <stdint.h>

#define MEETING_MAX_RANKS 1024

struct meeting {
    _Atomic int arrived;
    _Atomic int number; /* of meetings that have taken place */
    int64_t go_ns;      /* when all go on after the last meeting; CLOCK_MONOTONIC,
                           which all hosts share */
    int64_t decision;   /* what rank 0 has told the others */
    int64_t start_ns[MEETING_MAX_RANKS], end_ns[MEETING_MAX_RANKS];
    int64_t wrong[MEETING_MAX_RANKS];
};

/* Maps the file, which is made if it is not there, and must be one that no
 * launch has used before. NULL if that fails. */
struct meeting *meeting_join(const char *path);
/* Returns once all num_ranks have called it. MPI goes on meanwhile: a send that
 * has returned may still lie in the sender's memory. */
void meeting_wait(struct meeting *meeting, int num_ranks);
/* The same; all return at the same instant, as far as the clock and the
 * scheduler allow. */
void meeting_start(struct meeting *meeting, int num_ranks);
/* The decision of rank 0, which the others need not know, on all ranks. */
int64_t meeting_tell(struct meeting *meeting, int num_ranks, int rank, int64_t decision);
int64_t meeting_now_ns(void);

#endif
