#include "meeting.h"

#include <fcntl.h>
#include <stddef.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <mpi.h>

#define START_DELAY_NS 3000000 /* long enough for every rank to have noticed that all are there */

struct meeting *meeting_join(const char *path)
{
    int file = open(path, O_RDWR | O_CREAT, 0600);
    if (file < 0 || ftruncate(file, sizeof(struct meeting)) != 0) {
        return NULL;
    }
    void *memory = mmap(NULL, sizeof(struct meeting), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    return memory == MAP_FAILED ? NULL : memory;
}

int64_t meeting_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

void meeting_wait(struct meeting *meeting, int num_ranks)
{
    int number = atomic_load(&meeting->number), flag;
    if (atomic_fetch_add(&meeting->arrived, 1) == num_ranks - 1) {
        atomic_store(&meeting->arrived, 0);
        meeting->go_ns = meeting_now_ns() + START_DELAY_NS;
        atomic_fetch_add(&meeting->number, 1);
        return;
    }
    while (atomic_load(&meeting->number) == number) {
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
    }
}

void meeting_start(struct meeting *meeting, int num_ranks)
{
    meeting_wait(meeting, num_ranks);
    const struct timespec go = {meeting->go_ns / 1000000000, meeting->go_ns % 1000000000};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &go, NULL);
}

int64_t meeting_tell(struct meeting *meeting, int num_ranks, int rank, int64_t decision)
{
    if (rank == 0) {
        meeting->decision = decision;
    }
    meeting_wait(meeting, num_ranks);
    int64_t told = meeting->decision;
    meeting_wait(meeting, num_ranks); /* nobody decides anew before all have read */
    return told;
}
