/* The world: the topology of the job and the device of each rank of MPI_COMM_WORLD, made once in MPI_Init. */
#ifndef COLL_PCCL_WORLD_H
#define COLL_PCCL_WORLD_H

#include "component.h"

#include "pccl/place.h"
#include "pccl/topology.h"

struct coll_pccl_world {
    bool agreed; /* all ranks use pccl */
    uint32_t num_ranks;
    struct pccl_topology *topology;
    uint32_t *devices; /* [num_ranks] */
    size_t network_message; /* bytes of the largest message between hosts */
};
extern struct coll_pccl_world coll_pccl_world;

#define COLL_PCCL_HOST_BYTES 96
#define COLL_PCCL_VERSION_BYTES 48
#define COLL_PCCL_PROCESSORS 1024 /* of a host that are told apart */
#define COLL_PCCL_PROCESSOR_WORDS (COLL_PCCL_PROCESSORS / 64)

/* What each rank tells all others. Fixed size; ranks of another build or architecture are detected by what comes first.
 */
struct coll_pccl_record {
    uint64_t magic;                        /* and the number of bytes of this structure */
    char version[COLL_PCCL_VERSION_BYTES]; /* of Open MPI and pccl */
    uint64_t architecture;                 /* Open MPI's description of the sizes and byte order of types */
    uint64_t priority;
    uint64_t topology;    /* digest of the parameter's text */
    uint64_t placement;   /* digest of the parameter's text */
    uint64_t collectives; /* digest of the functions served */
    uint64_t max_ranks;
    uint64_t search_ranks;
    uint64_t message_limit;
    uint64_t network_message;
    uint64_t reproducible;
    uint64_t check;
    uint64_t selection; /* enum coll_pccl_selection, and whether there is a plan_dir */
    uint64_t fabric; /* digest of the topology made from the parameter, 0 if there is none */
    char host[COLL_PCCL_HOST_BYTES];
    uint64_t eager_bytes;    /* see coll_pccl_network_eager */
    struct pccl_place place; /* host and processor follow from all records */
    uint64_t quota;       /* processors whose time cgroups leave the rank, see quota.h; 0: no limit */
    uint64_t quota_group; /* ranks of a host with the same number share that limit */
    uint64_t processors[COLL_PCCL_PROCESSOR_WORDS]; /* a bit for each that the rank may run on; none: not known */
};

/* The fabric of coll_pccl_topology, or NULL if the parameter is not set. Errors as of pccl_topology_create. */
int coll_pccl_fabric_create(struct pccl_topology **fabric, struct pccl_error *error);
/* The device of each rank according to coll_pccl_placement: numbers, ranges or names, as many as there are ranks. */
int coll_pccl_placement_parse(const char *text, const struct pccl_topology *fabric, uint32_t num_ranks,
                              uint32_t *devices, struct pccl_error *error);
/* Sets coll_pccl_world from the records of all ranks; fabric may be NULL. Same outcome on all ranks, but for memory.
 * *unplaced: a rank whose host is no device of a fabric whose devices have names; then the world is what it is without
 * a fabric, since that one tells nothing about the hosts of this job. Else PCCL_NONE. */
int coll_pccl_world_create(const struct pccl_topology *fabric, const struct coll_pccl_record *records,
                           uint32_t num_ranks, uint32_t *unplaced, struct pccl_error *error);
void coll_pccl_world_free(void);

/* network.c: bytes that a message between hosts may have so that this process sends it without a handshake; 0: no reason
 * to keep to any, or not known. */
uint64_t coll_pccl_network_eager(void);
/* What coll_pccl_network_message says, or what all ranks can send without a handshake; SIZE_MAX: no limit. */
size_t coll_pccl_network_message(const struct coll_pccl_record *records, uint32_t num_ranks);

/* place.c: host name and position of this process in its host, in its record. */
void coll_pccl_place_find(struct coll_pccl_record *record);

/* processors.c: puts into the record the processors (hwloc's logical units) that a process bound to `bound` may run on,
 * and what time it has there, or as many as coll_pccl_processors says; none if that cannot be told. Either argument
 * may be NULL. */
void coll_pccl_processors_find(hwloc_topology_t topology, hwloc_const_bitmap_t bound, struct coll_pccl_record *record);
/* Sets the processor of each place, whose hosts are known, as if the system spread the ranks evenly, and over no more
 * processors than limits of time leave them. Returns PCCL_SUCCESS or PCCL_ERR_MEMORY. */
int coll_pccl_processors_share(const struct coll_pccl_record *records, uint32_t num_ranks, struct pccl_place *places);

#endif
