#include "import/fabric.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "topology/private.h"

struct pccl_class pccl__fabric_costs(int64_t ps_per_mib)
{
    return (struct pccl_class){.latency_ps = PCCL__DEFAULT_LATENCY_PS,
                               .ps_per_mib = ps_per_mib > 0 ? ps_per_mib : PCCL__DEFAULT_PS_PER_MIB,
                               .send_overhead_ps = -1,
                               .receive_overhead_ps = -1,
                               .eager_bytes = -1,
                               .bandwidth_origin = ps_per_mib > 0 ? PCCL_ORIGIN_DECLARED : PCCL_ORIGIN_DEFAULT};
}

int pccl__fabric_add(struct pccl__fabric *fabric, const char *name, bool is_switch, uint32_t *vertex)
{
    if (fabric->names.num_names == PCCL__IMPORT_MAX_VERTICES) {
        return PCCL_ERR_OVERFLOW;
    }
    bool *grown = pccl__array_grow(fabric->is_switch, &fabric->vertex_capacity, (uint64_t)fabric->names.num_names + 1,
                                   sizeof *grown);
    fabric->is_switch = grown != NULL ? grown : fabric->is_switch;
    *vertex = grown != NULL ? pccl__names_add(&fabric->names, name) : PCCL_NONE;
    if (*vertex == PCCL_NONE) {
        return PCCL_ERR_MEMORY;
    }
    grown[*vertex] = is_switch;
    return 0;
}

static bool same_speed(const struct pccl_class *a, const struct pccl_class *b)
{
    return a->ps_per_mib == b->ps_per_mib && a->bandwidth_origin == b->bandwidth_origin;
}

int pccl__fabric_class(struct pccl__fabric *fabric, const char *kind, const struct pccl_class *costs,
                       uint32_t *link_class)
{
    char name[96];
    for (uint32_t number = 1;; number++) {
        snprintf(name, sizeof name, number > 1 ? "%s (%" PRIu32 ")" : "%s", kind, number);
        *link_class = pccl__names_find(&fabric->class_names, name);
        if (*link_class == PCCL_NONE || same_speed(&fabric->classes[*link_class], costs)) {
            break;
        }
    }
    if (*link_class != PCCL_NONE) {
        return 0;
    }
    if (fabric->class_names.num_names == PCCL_MAX_CLASSES) {
        return PCCL_ERR_OVERFLOW;
    }
    struct pccl_class *grown = pccl__array_grow(fabric->classes, &fabric->class_capacity,
                                                (uint64_t)fabric->class_names.num_names + 1, sizeof *grown);
    fabric->classes = grown != NULL ? grown : fabric->classes;
    *link_class = grown != NULL ? pccl__names_add(&fabric->class_names, name) : PCCL_NONE;
    if (*link_class == PCCL_NONE) {
        return PCCL_ERR_MEMORY;
    }
    grown[*link_class] = *costs;
    return 0;
}

int pccl__fabric_join(struct pccl__fabric *fabric, uint32_t a, uint32_t b, uint32_t link_class)
{
    if (fabric->num_cables == PCCL__MAX_LINKS / 2) {
        return PCCL_ERR_OVERFLOW;
    }
    struct pccl__cable *grown =
        pccl__array_grow(fabric->cables, &fabric->cable_capacity, (uint64_t)fabric->num_cables + 1, sizeof *grown);
    if (grown == NULL) {
        return PCCL_ERR_MEMORY;
    }
    fabric->cables = grown;
    grown[fabric->num_cables++] = (struct pccl__cable){a, b, link_class};
    return 0;
}

/* The vertex that stands for all that are joined with v. */
static uint32_t find_root(uint32_t *above, uint32_t v)
{
    while (above[v] != v) {
        above[v] = above[above[v]];
        v = above[v];
    }
    return v;
}

int pccl__fabric_parts(const struct pccl__fabric *fabric, uint32_t *part, uint32_t *num_parts)
{
    const uint32_t n = fabric->names.num_names;
    bool *counted = pccl__array_new(n, sizeof *counted);
    if (counted == NULL) {
        return PCCL_ERR_MEMORY;
    }
    for (uint32_t v = 0; v < n; v++) {
        part[v] = v;
    }
    for (uint32_t c = 0; c < fabric->num_cables; c++) {
        part[find_root(part, fabric->cables[c].a)] = find_root(part, fabric->cables[c].b);
    }
    *num_parts = 0;
    for (uint32_t v = 0; v < n; v++) {
        part[v] = find_root(part, v);
        *num_parts += !fabric->is_switch[v] && !counted[part[v]];
        counted[part[v]] = counted[part[v]] || !fabric->is_switch[v];
    }
    free(counted);
    return 0;
}

int pccl__fabric_note_parts(const struct pccl__fabric *fabric, struct pccl__text *text)
{
    const uint32_t n = fabric->names.num_names;
    uint32_t *part = pccl__array_new(n, sizeof *part), first = 0, other, parts;
    int status = part != NULL ? pccl__fabric_parts(fabric, part, &parts) : PCCL_ERR_MEMORY;
    if (status == 0 && parts > 1) {
        while (fabric->is_switch[first]) {
            first++;
        }
        for (other = first; fabric->is_switch[other] || part[other] == part[first];) {
            other++;
        }
        pccl__text_note(text, 0, "the network is in %" PRIu32 " parts: %.60s cannot reach %.60s", parts,
                        fabric->names.names[first], fabric->names.names[other]);
    }
    free(part);
    return status;
}

int pccl__fabric_finish(const struct pccl__fabric *fabric, const char *path, struct pccl_topology **topology,
                        struct pccl_error *error)
{
    const char *slash = strrchr(path, '/');
    struct pccl_topology_builder *builder =
        pccl_topology_builder_new(slash != NULL && slash[1] != '\0' ? slash + 1 : path);
    struct pccl_error inner = {""};
    for (uint32_t v = 0; v < fabric->names.num_names; v++) {
        if (fabric->is_switch[v]) {
            pccl_topology_add_switch(builder, fabric->names.names[v], false);
        } else {
            uint32_t device = pccl_topology_add_device(builder, fabric->names.names[v]);
            pccl_topology_set_overheads(builder, device, PCCL__DEFAULT_OVERHEAD_PS, PCCL__DEFAULT_OVERHEAD_PS);
        }
    }
    for (uint32_t c = 0; c < fabric->class_names.num_names; c++) {
        struct pccl_class costs = fabric->classes[c];
        costs.name = fabric->class_names.names[c];
        pccl_topology_add_class(builder, &costs);
    }
    for (uint32_t c = 0; c < fabric->num_cables; c++) {
        const struct pccl__cable *cable = &fabric->cables[c];
        pccl_topology_add_class_link(builder, cable->a, cable->b, cable->link_class, PCCL_NONE);
        pccl_topology_add_class_link(builder, cable->b, cable->a, cable->link_class, PCCL_NONE);
    }
    pccl_topology_set_routing(builder, PCCL_ROUTING_MIN_HOP);
    int status = pccl_topology_finish(builder, topology, &inner);
    return status == 0 ? 0 : pccl__fail(error, status, "%.120s: %s", path, inner.message);
}

int pccl__fabric_fail(const struct pccl__text *text, int status, const struct pccl_error *met, struct pccl_error *error)
{
    if (status == 0) {
        return 0;
    }
    if (met->message[0] != '\0') {
        return pccl__fail(error, status, "%s", met->message);
    }
    return status == PCCL_ERR_OVERFLOW
               ? pccl__fail(error, status, "%.120s: more than %u hosts and switches, %d classes or %u cables",
                            text->path, PCCL__IMPORT_MAX_VERTICES, PCCL_MAX_CLASSES, PCCL__MAX_LINKS / 2)
               : pccl__fail_memory(error);
}

void pccl__fabric_free(struct pccl__fabric *fabric)
{
    pccl__names_free(&fabric->class_names);
    free(fabric->classes);
    free(fabric->cables);
    free(fabric->is_switch);
    pccl__names_free(&fabric->names);
}
