/* Schedules for tests, made by simple generators that share nothing with the library's algorithms: textbook ones, and
 * random ones that deliver any demand in some odd but valid way. All run on a topology with a link between any two. */
#ifndef PCCL_TEST_SAMPLES_H
#define PCCL_TEST_SAMPLES_H

#include "base/random.h"
#include "pccl/schedule.h"

/* Devices 0 .. num_devices-1, a link from each to each other (1 us, 1 ps a byte); the caller frees it. */
struct pccl_topology *sample_topology(uint32_t num_devices);
/* The link from one device to another in it. */
uint32_t sample_link(uint32_t num_devices, uint32_t source, uint32_t target);

/* A demand of `bytes` (unequal blocks where `uneven`) among ranks 0 .. num_ranks-1, rank i on device num_ranks-1-i. */
struct pccl_demand *sample_demand(enum pccl_collective collective, uint32_t num_ranks, uint32_t pieces, int64_t bytes,
                                  bool ordered, bool uneven);

enum sample_kind {
    SAMPLE_RING_ALLGATHER,
    SAMPLE_BRUCK_ALLGATHER,
    SAMPLE_DIRECT_ALLTOALL,
    SAMPLE_RING_ALLTOALL, /* blocks travel round the ring, through all ranks between */
    SAMPLE_BINOMIAL_BROADCAST,
    SAMPLE_CHAIN_BROADCAST, /* pieces pipelined from rank to rank */
    SAMPLE_BINOMIAL_SCATTER,
    SAMPLE_LINEAR_GATHER,
    SAMPLE_BINOMIAL_REDUCE, /* contiguous intervals: valid for ordered demands */
    SAMPLE_RING_REDUCE_SCATTER,
    SAMPLE_RING_ALLREDUCE,     /* needs pieces = ranks */
    SAMPLE_DOUBLING_ALLREDUCE, /* powers of two; valid for ordered demands */
    SAMPLE_DISSEMINATION_BARRIER,
    SAMPLE_STAR_BARRIER,
    SAMPLE_CHAIN_SCAN, /* rank to rank, pieces pipelined; as the next valid for ordered demands */
    SAMPLE_CHAIN_EXSCAN,
    SAMPLE_NUM_KINDS
};

/* NULL if the kind does not serve this number of ranks. The caller frees the schedule. */
struct pccl_schedule *sample_schedule(const struct pccl_topology *topology, enum sample_kind kind, uint32_t num_ranks,
                                      uint32_t pieces, int64_t bytes, bool ordered, bool uneven);
const char *sample_name(enum sample_kind kind);

/* Delivers any demand (taken over) by random messages. */
struct pccl_schedule *sample_random(const struct pccl_topology *topology, struct pccl_demand *demand,
                                    struct pccl__random *random);

/* A custom demand with random chunks, sizes, sources and targets. */
struct pccl_demand *sample_custom_demand(uint32_t num_ranks, bool reduces, bool ordered, struct pccl__random *random);

#endif
