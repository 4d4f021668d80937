/* The parts of reading a topology from JSON, shared by the files graph*.c. */
#ifndef PCCL__GRAPH_READING_H
#define PCCL__GRAPH_READING_H

#include "io/json.h"
#include "pccl/topology.h"

/* A name and what stands for it: the builder's id of a vertex, a class, or the link that a capacity belongs to. */
struct pccl__named {
    const char *name;
    uint32_t number;
};

/* A topology on its way from JSON to a builder. */
struct pccl__graph_reading {
    const char *path;
    struct pccl_topology_builder *builder;
    int64_t overhead_ps; /* of devices that do not say */
    uint32_t num_devices, num_vertices;
    struct pccl__named *vertices; /* sorted by name once all are added; names live in the JSON or in own_names */
    const char **device_names;    /* [num_devices] */
    char *own_names;              /* [num_own_names][16] */
    uint32_t num_classes;
    struct pccl__named *classes; /* sorted by name */
    uint32_t *capacities;        /* [links of the file] number of the shared capacity or PCCL_NONE */
    uint32_t num_links;          /* directed ones, added so far */
    struct pccl__link_ends {
        uint32_t source, target;
    } * ends; /* [num_links] */
    uint32_t ends_capacity;
    uint32_t *first_out, *out_links; /* for the routing table: links that leave each vertex */
    uint32_t num_routes;             /* entries of the table so far */
};

extern const char *const pccl__graph_origins_known[]; /* [enum pccl_origin] as "origin" spells them */
extern const char *const pccl__graph_rules[];         /* [enum pccl_routing] as "routing" spells them */

int pccl__named_compare(const void *a, const void *b);
/* The number of a name in a sorted list, PCCL_NONE if it is not there. */
uint32_t pccl__named_find(const struct pccl__named *list, uint32_t count, const char *name);

/* A quantity as text with its unit under `key`, or as an integer under `exact_key`; not both. */
typedef int pccl__quantity_reader(const char *text, const char *what, int64_t *value, struct pccl_error *error);
int pccl__graph_quantity(const struct pccl__json_place *place, const cJSON *object, const char *key,
                         const char *exact_key, pccl__quantity_reader *read, int64_t maximum, int64_t *value,
                         struct pccl_error *error);
int pccl__graph_overheads(const struct pccl__json_place *place, const cJSON *object, int64_t *send_ps,
                          int64_t *receive_ps, struct pccl_error *error);
/* latency_ps and ps_per_mib stay as they are where the object does not give them. */
int pccl__graph_costs(const struct pccl__json_place *place, const cJSON *object, int64_t *latency_ps,
                      int64_t *ps_per_mib, struct pccl_error *error);
/* "origin": one word for all of origins[], or an object with a word for each of keys[]. What is not said stays. */
int pccl__graph_origins(const struct pccl__json_place *place, const cJSON *object, const char *const *keys,
                        uint32_t num_keys, enum pccl_origin *origins, struct pccl_error *error);

/* Each reads its part of the outermost object into the builder, in this order. */
int pccl__graph_read_classes(struct pccl__graph_reading *reading, const cJSON *root, struct pccl_error *error);
int pccl__graph_read_links(struct pccl__graph_reading *reading, const struct pccl__json_place *top, const cJSON *root,
                           struct pccl_error *error);
int pccl__graph_read_routing(struct pccl__graph_reading *reading, const struct pccl__json_place *top, const cJSON *root,
                             struct pccl_error *error);

#endif
