/* Topology: a directed multigraph of devices (hold, reduce and relay chunks) and switches (forward only), joined by
 * links with a latency and a time per byte. Immutable once made, so it may be shared between threads.
 * All quantities are integers: picoseconds, bytes, picoseconds per MiB (2^20 bytes). */
#ifndef PCCL_TOPOLOGY_H
#define PCCL_TOPOLOGY_H

#include <stdbool.h>
#include <stdint.h>

#include "pccl/error.h"

#pragma GCC visibility push(default) /* what the shared library shows */

#define PCCL_MAX_DIMENSIONS 16
#define PCCL_NONE UINT32_MAX /* "no such index", for every uint32_t index of the library */

enum pccl_vertex_kind { PCCL_DEVICE, PCCL_SWITCH };

struct pccl_vertex {
    const char *name; /* unique within the topology; owned by the topology */
    enum pccl_vertex_kind kind;
    bool multicast;              /* switch only: may copy one incoming chunk to several outgoing links */
    int64_t send_overhead_ps;    /* device only: CPU time a message costs its sender (LogGP o_s), >= 0 */
    int64_t receive_overhead_ps; /* device only: CPU time a message costs its receiver (LogGP o_r), >= 0 */
};

/* Where the numbers of a link come from. Nothing depends on it; people want to know. */
enum pccl_origin { PCCL_ORIGIN_DEFAULT, PCCL_ORIGIN_DECLARED, PCCL_ORIGIN_MEASURED };

struct pccl_link {
    uint32_t source, target; /* vertices */
    int64_t latency_ps;      /* >= 0 */
    int64_t ps_per_mib;      /* time that 2^20 bytes hold the link (LogGP G); >= 0, 0 = infinitely fast */
    uint32_t capacity;       /* links with the same number share one capacity (a NIC, a bus): one byte at a time */
    uint32_t origin;         /* enum pccl_origin */
};

/* How the network itself moves a message between two devices that are not joined by one link. */
enum pccl_routing {
    PCCL_ROUTING_NONE,            /* only switches forward; devices relay in software (accelerator fabrics) */
    PCCL_ROUTING_SHORTEST,        /* fewest links through any vertex; ties by destination, so loads spread (IP, up-down) */
    PCCL_ROUTING_DIMENSION_ORDER, /* grids: dimension 0 first, shorter way round, ties to the increasing side */
    PCCL_ROUTING_TABLE            /* given with the topology: made by pccl_topology_place only */
};

struct pccl_topology {
    const char *name; /* as the generator was spelt, or the file's "name" */
    uint32_t num_devices;    /* devices are vertices 0 .. num_devices-1 */
    uint32_t num_vertices;   /* switches follow the devices */
    uint32_t num_links;      /* directed links, numbered from 0 */
    uint32_t num_capacities; /* capacity numbers are 0 .. num_capacities-1 */
    const struct pccl_vertex *vertices;
    const struct pccl_link *links;
    const uint32_t *first_out; /* [num_vertices + 1]: out_links[first_out[v] .. first_out[v+1]-1] leave vertex v */
    const uint32_t *out_links;
    const uint32_t *first_in; /* the same for links that enter v */
    const uint32_t *in_links;
    enum pccl_routing routing;
    uint32_t num_dimensions;                   /* grids (mesh, torus, hypercube) only, else 0 */
    uint32_t dimensions[PCCL_MAX_DIMENSIONS];  /* extent of each; device = sum(coordinate[i] * product of extents after i),
                                                  so the last dimension runs fastest */
    bool wraps[PCCL_MAX_DIMENSIONS];           /* the dimension is a ring (torus) */
    uint64_t digest;                           /* of everything above: equal digest = equal topology */
};

/* --- making one ------------------------------------------------------------------------------------------------- */

/* From text: a generator ("torus:4x4", "fattree:4x8:taper=4", see doc/topologies.md) or else the path of a JSON file (any
 * text that contains '/' or ends in ".json" and does not begin with the name of a generator and a colon). The caller
 * frees *topology with pccl_topology_free. */
int pccl_topology_create(const char *text, struct pccl_topology **topology, struct pccl_error *error);
void pccl_topology_free(struct pccl_topology *topology);

/* By hand. Vertices get their final numbers at the finish (devices first, each kind in order of adding). The ids the
 * builder returns are only for add_link. A failed add is remembered; finish reports the first one. */
struct pccl_topology_builder;
struct pccl_topology_builder *pccl_topology_builder_new(const char *name);
uint32_t pccl_topology_add_device(struct pccl_topology_builder *builder, const char *name);
uint32_t pccl_topology_add_switch(struct pccl_topology_builder *builder, const char *name, bool multicast);
void pccl_topology_set_overheads(struct pccl_topology_builder *builder, uint32_t device, int64_t send_ps, int64_t receive_ps);
/* One direction. capacity: PCCL_NONE = its own; else a number the caller chooses, equal for links that share. */
void pccl_topology_add_link(struct pccl_topology_builder *builder, uint32_t source, uint32_t target, int64_t latency_ps,
                            int64_t ps_per_mib, uint32_t capacity);
void pccl_topology_set_routing(struct pccl_topology_builder *builder, enum pccl_routing routing);
/* Where the numbers of the links added from now on come from; PCCL_ORIGIN_DECLARED before the first call. */
void pccl_topology_set_origin(struct pccl_topology_builder *builder, enum pccl_origin origin);
/* Declares a grid; devices must have been added in the order given at `dimensions` above. */
void pccl_topology_set_grid(struct pccl_topology_builder *builder, uint32_t num_dimensions, const uint32_t *extents,
                            const bool *wraps);
/* Frees the builder in every case. */
int pccl_topology_finish(struct pccl_topology_builder *builder, struct pccl_topology **topology, struct pccl_error *error);

/* The same graph with every link turned round (link numbers stay); reductions are planned on it. Its route from s to t
 * is the original's route from t to s, backwards. */
int pccl_topology_reverse(const struct pccl_topology *topology, struct pccl_topology **reversed, struct pccl_error *error);

/* --- asking it ---------------------------------------------------------------------------------------------------- */

/* The links that a message between two different devices occupies, in order: one link, or a way through switches, or,
 * where the routing rule lets devices forward, the network's own route. Writes at most max_links; returns their number
 * or PCCL_ERR_UNREACHABLE / PCCL_ERR_OVERFLOW (more than max_links). Deterministic. */
int pccl_topology_route(const struct pccl_topology *topology, uint32_t source, uint32_t target, uint32_t *links,
                        uint32_t max_links);
/* An upper limit of the number of links of any route: a safe max_links. */
uint32_t pccl_topology_route_limit(const struct pccl_topology *topology);

/* Vertex by name, PCCL_NONE if there is none. */
uint32_t pccl_topology_find(const struct pccl_topology *topology, const char *name);

/* Time that `bytes` hold a link: ceil(bytes * ps_per_mib / 2^20), saturated at INT64_MAX / 4. */
int64_t pccl_transfer_ps(int64_t bytes, int64_t ps_per_mib);

#pragma GCC visibility pop

#endif
