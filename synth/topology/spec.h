/* The text of a generator, taken apart: "NAME:EXTENTxEXTENT:KEY=VALUE,VALUE:KEY". */
#ifndef PCCL__SPEC_H
#define PCCL__SPEC_H

#include "topology/private.h"

#define PCCL__MAX_SPEC_BYTES 512
#define PCCL__MAX_SPEC_OPTIONS 16

struct pccl__spec_option {
    const char *key, *value; /* value: "" if there is no '=' */
    bool used;
};

struct pccl__spec {
    const char *text; /* as given */
    const char *name;
    uint32_t num_extents;
    uint32_t extents[PCCL_MAX_DIMENSIONS]; /* their product is at most PCCL__MAX_VERTICES */
    uint32_t num_options;
    struct pccl__spec_option options[PCCL__MAX_SPEC_OPTIONS];
    int64_t overhead_ps; /* option overhead; common to all generators */
    bool multicast;      /* option multicast */
    bool declared;       /* some cost was given */
    char asked[200];     /* the options that the generator understands, for errors */
    char copy[PCCL__MAX_SPEC_BYTES];
};

/* Costs of a class of links. */
struct pccl__cost {
    int64_t latency_ps, ps_per_mib;
};

int pccl__spec_parse(const char *text, struct pccl__spec *spec, struct pccl_error *error);

/* The value of an option, NULL if it is not given; either way the generator understands it. */
const char *pccl__spec_option(struct pccl__spec *spec, const char *key);
/* A whole number; *value stays if the option is not given. */
int pccl__spec_integer(struct pccl__spec *spec, const char *key, uint32_t minimum, uint32_t maximum, uint32_t *value,
                       struct pccl_error *error);
/* The options latency, bandwidth, ps_per_mib and unit: one value for all classes of links or one for each. `defaults`
 * are kept where nothing is given. */
int pccl__spec_costs(struct pccl__spec *spec, uint32_t num_classes, struct pccl__cost *costs, struct pccl_error *error);
/* The option routing; *routing stays if it is not given. */
int pccl__spec_routing(struct pccl__spec *spec, bool grid, enum pccl_routing *routing, struct pccl_error *error);
/* To be called when all options are read and nothing is allocated yet. Fails if an option was given that nobody asked
 * for, or if the topology would be too large. */
int pccl__spec_finish(struct pccl__spec *spec, uint64_t num_vertices, uint64_t num_links, struct pccl_error *error);

/* A builder named by the text. */
struct pccl_topology_builder *pccl__spec_builder(const struct pccl__spec *spec);
/* A device with the overheads of the spec; devices are to be added before switches, so that ids are device numbers. */
void pccl__spec_add_device(const struct pccl__spec *spec, struct pccl_topology_builder *builder, const char *name);
/* Devices "d0", "d1" ... */
void pccl__spec_add_devices(const struct pccl__spec *spec, struct pccl_topology_builder *builder, uint32_t count);
/* A switch "PREFIX0", "PREFIX1" ..., without multicast unless the spec says so. */
uint32_t pccl__spec_add_switch(const struct pccl__spec *spec, struct pccl_topology_builder *builder, const char *prefix,
                               uint32_t number);

#endif
