/* What the library's own files know of a topology beyond its public header. */
#ifndef PCCL__TOPOLOGY_PRIVATE_H
#define PCCL__TOPOLOGY_PRIVATE_H

#include "base/arena.h"
#include "pccl/topology.h"

#define PCCL__MAX_VERTICES (1u << 24)
#define PCCL__MAX_LINKS (1u << 24)
#define PCCL__MAX_TABLE (1u << 26) /* entries of a routing table: 256 MiB */
#define PCCL__MAX_LATENCY_PS (INT64_C(1) << 38) /* 0.27 s: 2^24 of them still add up in 64 bits */
#define PCCL__MAX_PS_PER_MIB INT64_C(1048576000000000000) /* 1 byte per second */

/* Costs where nobody gives any; documented in doc/topologies.md. */
#define PCCL__DEFAULT_LATENCY_PS 500000   /* 500 ns */
#define PCCL__DEFAULT_PS_PER_MIB 83886080 /* 12.5 GB/s, which is 100 Gbit/s */
#define PCCL__DEFAULT_OVERHEAD_PS 200000  /* 200 ns at either end */
#define PCCL__SHARED_OVERHEAD_PS 500000   /* 500 ns at either end inside hosts where ranks share processors */
#define PCCL__TURN_PS 1000000             /* 1 us until one of them gives way to the next */

struct pccl__routes; /* routes.h */

struct pccl__topology {
    struct pccl_topology base; /* first: a struct pccl_topology * of the library is always one of these */
    struct pccl__arena arena;  /* every array of base */
    struct pccl__routes *routes;
    bool reversed; /* base is turned round; routes are those of the original, backwards */
    uint32_t *names; /* hash table of vertices by name, num_name_slots a power of two */
    uint32_t num_name_slots;
};

static inline const struct pccl__topology *pccl__topology_of(const struct pccl_topology *topology)
{
    return (const struct pccl__topology *)(const void *)topology;
}

/* Fills first_out, out_links, first_in, in_links and the names from vertices and links. */
int pccl__topology_index(struct pccl__topology *topology);
/* Fills digest; everything else must be in place. */
void pccl__topology_digest(struct pccl__topology *topology);

/* What a level inside hosts costs where nobody says, see doc/topologies.md. */
struct pccl_class pccl__inside_default(enum pccl_level level);
/* Overheads of devices all of whose links have a class that says them; everything but routes must be in place. */
void pccl__topology_set_floors(struct pccl__topology *topology);

/* The processor of a device, see struct pccl_vertex. */
void pccl__topology_set_processor(struct pccl_topology_builder *builder, uint32_t device, uint32_t processor);

/* A link with all its fields; capacity as of pccl_topology_add_link. */
void pccl__topology_add(struct pccl_topology_builder *builder, const struct pccl_link *link);

/* An equal topology of its own. */
int pccl__topology_copy(const struct pccl_topology *topology, struct pccl_topology **copy);

/* Both directions of a cable, each with a capacity of its own. */
void pccl__topology_add_cable(struct pccl_topology_builder *builder, uint32_t a, uint32_t b, int64_t latency_ps,
                              int64_t ps_per_mib);

#endif
