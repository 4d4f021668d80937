/* A fabric on its way from an importer to a topology: hosts, switches, cables of some class. */
#ifndef PCCL__IMPORT_FABRIC_H
#define PCCL__IMPORT_FABRIC_H

#include "import/text.h"

/* All zero: empty. */
struct pccl__fabric {
    struct pccl__names names; /* of hosts and switches */
    bool *is_switch;          /* [names.num_names] */
    uint32_t vertex_capacity;
    struct pccl__cable {
        uint32_t a, b, link_class;
    } * cables; /* both directions */
    uint32_t num_cables, cable_capacity;
    struct pccl_class *classes; /* names are those of class_names */
    struct pccl__names class_names;
    uint32_t class_capacity;
};

/* Costs of a link of this speed, which was declared; 0: nobody said any. */
struct pccl_class pccl__fabric_costs(int64_t ps_per_mib);

/* Each returns 0, PCCL_ERR_MEMORY or, at its limit, PCCL_ERR_OVERFLOW. The name must be new. */
int pccl__fabric_add(struct pccl__fabric *fabric, const char *name, bool is_switch, uint32_t *vertex);
/* The class of this kind and these costs. One kind with several speeds makes classes such as "hosts 25 GB/s". */
int pccl__fabric_class(struct pccl__fabric *fabric, const char *kind, const struct pccl_class *costs,
                       uint32_t *link_class);
int pccl__fabric_join(struct pccl__fabric *fabric, uint32_t a, uint32_t b, uint32_t link_class);

/* Which hosts and switches are joined: part[v] is the same for all that are, [names.num_names]. num_parts counts those
 * with a host. Returns 0 or PCCL_ERR_MEMORY. */
int pccl__fabric_parts(const struct pccl__fabric *fabric, uint32_t *part, uint32_t *num_parts);
/* Notes a host of the first part of the network and one that it cannot reach. Returns 0 or PCCL_ERR_MEMORY. */
int pccl__fabric_note_parts(const struct pccl__fabric *fabric, struct pccl__text *text);
/* Makes the topology. */
int pccl__fabric_finish(const struct pccl__fabric *fabric, const char *path, struct pccl_topology **topology,
                        struct pccl_error *error);
/* The status of an import as its caller sees it, with the message that was met or, where a limit of this file was, one
 * about that. */
int pccl__fabric_fail(const struct pccl__text *text, int status, const struct pccl_error *met,
                      struct pccl_error *error);
void pccl__fabric_free(struct pccl__fabric *fabric);

#endif
