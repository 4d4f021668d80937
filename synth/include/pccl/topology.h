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
    /* Device only, >= 0: the least CPU time that a message costs it as a sender (LogGP o_s) and as a receiver (o_r).
     * What classes say takes the place of what was set by hand where all links out of (into) the device have such a
     * class. */
    int64_t send_overhead_ps;
    int64_t receive_overhead_ps;
    /* Device only: 1 + the first of the devices that take turns on its processor; 0: it has one of its own. */
    uint32_t processor;
};

/* Where a number comes from. Nothing depends on it; people want to know. */
enum pccl_origin { PCCL_ORIGIN_DEFAULT, PCCL_ORIGIN_DECLARED, PCCL_ORIGIN_MEASURED };

#define PCCL_NO_CLASS UINT16_MAX
#define PCCL_MAX_CLASSES 4096

struct pccl_link {
    uint32_t source, target;  /* vertices */
    int64_t latency_ps;       /* >= 0 */
    int64_t ps_per_mib;       /* time that 2^20 bytes hold the link (LogGP G); >= 0, 0 = infinitely fast */
    uint32_t capacity;        /* links with the same number share one capacity (a NIC, a bus): one byte at a time */
    uint16_t link_class;      /* number among the classes, or PCCL_NO_CLASS */
    uint8_t latency_origin;   /* enum pccl_origin */
    uint8_t bandwidth_origin; /* enum pccl_origin */
};

/* What links of one kind cost, under a name: the numbers of a fabric file that people declare and programs measure. */
struct pccl_class {
    const char *name; /* owned by the topology */
    int64_t latency_ps, ps_per_mib;     /* of each of its links; inside hosts see `inside` below */
    /* What a message over such a link costs its sender's CPU; -1: as the device says. */
    int64_t send_overhead_ps;
    int64_t receive_overhead_ps;        /* the same of its receiver */
    int64_t eager_bytes;                /* a message of more bytes waits for a handshake first; -1: none does */
    int64_t rendezvous_ps;              /* how long that takes, >= 0 */
    enum pccl_origin latency_origin, bandwidth_origin, overhead_origin, eager_origin;
};

/* Levels of the inside of a host, from the host down. */
enum pccl_level {
    PCCL_LEVEL_HOST,
    PCCL_LEVEL_PACKAGE,
    PCCL_LEVEL_NUMA,
    PCCL_LEVEL_L3,
    PCCL_LEVEL_RANK,
    PCCL_NUM_LEVELS
};

/* How the network itself moves a message between two devices that are not joined by one link. */
enum pccl_routing {
    PCCL_ROUTING_NONE,            /* only switches forward; devices relay in software (accelerator fabrics) */
    PCCL_ROUTING_SHORTEST,        /* fewest links through any vertex; ties by destination, so loads spread (IP) */
    PCCL_ROUTING_DIMENSION_ORDER, /* grids: dimension 0 first, shorter way round, ties to the increasing side */
    PCCL_ROUTING_MIN_HOP,         /* fewest links through switches, one way for each pair; ties by destination */
    PCCL_ROUTING_UP_DOWN,         /* away from the devices, then towards them, never up again; ties as above */
    PCCL_ROUTING_TABLE            /* given with the topology, link by link, or made by pccl_topology_place */
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
    uint32_t num_classes;
    const struct pccl_class *classes;
    /* Costs inside the hosts that the devices are (pccl_topology_place), by the level at which two ranks meet:
     * latency_ps is the whole way from rank to rank, ps_per_mib what all ranks below one object share on their way up
     * to the level. PCCL_LEVEL_RANK: only ps_per_mib, of each rank's own end. Defaults where nothing was given. */
    struct pccl_class inside[PCCL_NUM_LEVELS];
    enum pccl_routing routing;
    uint32_t num_dimensions;                   /* grids (mesh, torus, hypercube) only, else 0 */
    /* Extent of each; device = sum(coordinate[i] * product of extents after i), so the last dimension runs fastest. */
    uint32_t dimensions[PCCL_MAX_DIMENSIONS];
    bool wraps[PCCL_MAX_DIMENSIONS];           /* the dimension is a ring (torus) */
    uint64_t digest;                           /* of everything above: equal digest = equal topology */
};

/* --- making one ------------------------------------------------------------------------------------------------- */

/* From text: a generator ("torus:4x4", "fattree:4x8:taper=4", see doc/topologies.md) or else the path of a JSON file
 * (any text that contains '/' or ends in ".json" and does not begin with the name of a generator and a colon). The
 * caller frees *topology with pccl_topology_free. */
int pccl_topology_create(const char *text, struct pccl_topology **topology, struct pccl_error *error);
void pccl_topology_free(struct pccl_topology *topology);

/* By hand. Vertices get their final numbers at the finish (devices first, each kind in order of adding). The ids the
 * builder returns are only for add_link. A failed add is remembered; finish reports the first one. */
struct pccl_topology_builder;
struct pccl_topology_builder *pccl_topology_builder_new(const char *name);
uint32_t pccl_topology_add_device(struct pccl_topology_builder *builder, const char *name);
uint32_t pccl_topology_add_switch(struct pccl_topology_builder *builder, const char *name, bool multicast);
void pccl_topology_set_overheads(struct pccl_topology_builder *builder, uint32_t device, int64_t send_ps,
                                 int64_t receive_ps);
/* One direction. capacity: PCCL_NONE = its own; else a number the caller chooses, equal for links that share. */
void pccl_topology_add_link(struct pccl_topology_builder *builder, uint32_t source, uint32_t target, int64_t latency_ps,
                            int64_t ps_per_mib, uint32_t capacity);
void pccl_topology_set_routing(struct pccl_topology_builder *builder, enum pccl_routing routing);
/* Where latency and bandwidth of the links added from now on come from; PCCL_ORIGIN_DECLARED before the first call. */
void pccl_topology_set_origins(struct pccl_topology_builder *builder, enum pccl_origin latency,
                               enum pccl_origin bandwidth);
/* A class of links; its name is copied and must be new. Returns its number. */
uint32_t pccl_topology_add_class(struct pccl_topology_builder *builder, const struct pccl_class *costs);
/* One direction of a link that costs what its class says. capacity: as of pccl_topology_add_link. */
void pccl_topology_add_class_link(struct pccl_topology_builder *builder, uint32_t source, uint32_t target,
                                  uint32_t link_class, uint32_t capacity);
/* Costs inside hosts, see struct pccl_topology; the name does not matter. */
void pccl_topology_set_inside(struct pccl_topology_builder *builder, enum pccl_level level,
                              const struct pccl_class *costs);
/* PCCL_ROUTING_TABLE: at `vertex`, what is for the device `target` goes on over the link with number `link` (in order
 * of adding). Twice for the same vertex and target, a link that does not leave the vertex, and a circle fail at the
 * finish. */
void pccl_topology_add_route(struct pccl_topology_builder *builder, uint32_t vertex, uint32_t target, uint32_t link);
/* Declares a grid; devices must have been added in the order given at `dimensions` above. */
void pccl_topology_set_grid(struct pccl_topology_builder *builder, uint32_t num_dimensions, const uint32_t *extents,
                            const bool *wraps);
/* Frees the builder in every case. */
int pccl_topology_finish(struct pccl_topology_builder *builder, struct pccl_topology **topology,
                         struct pccl_error *error);

/* The same graph with every link turned round (link numbers stay); reductions are planned on it. Its route from s to t
 * is the original's route from t to s, backwards. */
int pccl_topology_reverse(const struct pccl_topology *topology, struct pccl_topology **reversed,
                          struct pccl_error *error);

/* --- changing what it costs --------------------------------------------------------------------------------------- */

/* The same graph with other costs. classes: [num_classes], in order and with the names of the topology's own, or NULL
 * to keep them; inside: [PCCL_NUM_LEVELS] or NULL. All links of a class get its numbers and origins. The caller frees
 * *changed. PCCL_ERR_UNSUPPORTED for a placed or reversed topology: change the fabric. */
int pccl_topology_set_costs(const struct pccl_topology *topology, const struct pccl_class *classes,
                            const struct pccl_class *inside, struct pccl_topology **changed, struct pccl_error *error);
/* The same topology in which every link has a class: those that had none are grouped by what they join (hosts and
 * switches, by their distance from the devices; the dimension of a grid) and by their numbers. */
int pccl_topology_classify(const struct pccl_topology *topology, struct pccl_topology **classified,
                           struct pccl_error *error);

/* --- asking it ---------------------------------------------------------------------------------------------------- */

/* The links that a message between two different devices occupies, in order: one link, or a way through switches, or,
 * where the routing rule lets devices forward, the network's own route. Writes at most max_links; returns their number
 * or PCCL_ERR_UNREACHABLE / PCCL_ERR_OVERFLOW (more than max_links). Deterministic. */
int pccl_topology_route(const struct pccl_topology *topology, uint32_t source, uint32_t target, uint32_t *links,
                        uint32_t max_links);
/* Whether messages may pass through devices on their way (not only begin and end there). */
bool pccl_topology_devices_forward(const struct pccl_topology *topology);
/* An upper limit of the number of links of any route: a safe max_links. */
uint32_t pccl_topology_route_limit(const struct pccl_topology *topology);

/* Vertex by name, PCCL_NONE if there is none. */
uint32_t pccl_topology_find(const struct pccl_topology *topology, const char *name);

/* The device that a host is, whose name users write in short or in full on either side: "n1" and "n1.example.org"
 * match, "n1.example.org" and "n1.example.com" do not; case does not count. Returns PCCL_NONE if there is none, or if
 * several devices match equally well; then *ambiguous (may be NULL) is true. */
uint32_t pccl_topology_find_host(const struct pccl_topology *topology, const char *host, bool *ambiguous);
/* Class by name, PCCL_NONE if there is none. */
uint32_t pccl_topology_find_class(const struct pccl_topology *topology, const char *name);
/* "host", "package", "numa", "l3", "rank". */
const char *pccl_level_name(enum pccl_level level);

/* What a message over a path costs beyond the latencies and times per byte of its links. */
struct pccl_endpoints {
    int64_t send_overhead_ps, receive_overhead_ps; /* the largest of source or target and of all classes on the way */
    int64_t eager_bytes;   /* the smallest on the way; INT64_MAX if no class has one */
    int64_t rendezvous_ps; /* the largest on the way: what a message of more than eager_bytes waits for its start */
};
void pccl_topology_endpoints(const struct pccl_topology *topology, const uint32_t *links, uint32_t num_links,
                             struct pccl_endpoints *endpoints);

/* Time that `bytes` hold a link: ceil(bytes * ps_per_mib / 2^20), saturated at INT64_MAX / 4. */
int64_t pccl_transfer_ps(int64_t bytes, int64_t ps_per_mib);

#pragma GCC visibility pop

#endif
