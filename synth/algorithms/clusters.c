/* Finding clusters: see clusters.h. */
#include "algorithms/clusters.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/bitset.h"

static int compare_costs(const void *a, const void *b)
{
    int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
    return left < right ? -1 : left > right;
}

/* Time that a chunk takes from all that the arc occupies together: what sending over it denies to others. */
static int64_t arc_cost(const struct pccl__arcs *arcs, const struct pccl__arc *arc, int64_t bytes)
{
    int64_t cost = arc->latency_ps;
    for (uint32_t i = 0; i < arc->num_uses; i++) {
        const struct pccl__use *use = &arcs->uses[arc->first_use + i];
        cost += use->ps_per_mib == PCCL__FIXED ? 0 : pccl_transfer_ps(bytes, use->ps_per_mib);
    }
    return cost;
}

/* Writes the lowest cost of each class; costs within a quarter of each other are of one class. */
static uint32_t split_classes(const int64_t *sorted, uint32_t count, int64_t *lowest)
{
    uint32_t num_classes = 0;
    for (uint32_t i = 0; i < count && num_classes < PCCL__MAX_CLASSES; i++) {
        if (i == 0 || sorted[i] / 5 * 4 > lowest[num_classes - 1]) {
            lowest[num_classes++] = sorted[i];
        }
    }
    return num_classes;
}

static uint32_t find_head(uint32_t *parent, uint32_t device)
{
    while (parent[device] != device) {
        parent[device] = parent[parent[device]];
        device = parent[device];
    }
    return device;
}

/* Joins devices over arcs below class `limit` and numbers the sets. Returns how many there are. */
static uint32_t join_devices(const struct pccl__arcs *arcs, const uint8_t *arc_class, uint32_t limit, uint32_t *parent,
                             uint32_t *cluster, uint32_t num_devices)
{
    for (uint32_t d = 0; d < num_devices; d++) {
        parent[d] = d;
    }
    for (uint32_t a = 0; a < arcs->num_arcs; a++) {
        if (arc_class[a] < limit) {
            uint32_t source = find_head(parent, arcs->arcs[a].source), target = find_head(parent, arcs->arcs[a].target);
            if (source < target) {
                parent[target] = source;
            } else {
                parent[source] = target;
            }
        }
    }
    uint32_t count = 0;
    for (uint32_t d = 0; d < num_devices; d++) {
        uint32_t head = find_head(parent, d);
        cluster[d] = head == d ? count++ : cluster[head];
    }
    return count;
}

static int build_classes(struct pccl__clusters *clusters, uint32_t num_devices, uint8_t *arc_class, uint32_t *parent)
{
    for (uint32_t i = 1; i < clusters->num_classes; i++) {
        clusters->cluster[i] = pccl__array_new(num_devices, sizeof *clusters->cluster[i]);
        if (clusters->cluster[i] == NULL) {
            return PCCL_ERR_MEMORY;
        }
        uint32_t count = join_devices(clusters->arcs, arc_class, i, parent, clusters->cluster[i], num_devices);
        clusters->owned[i] = pccl__array_new(count * clusters->words, sizeof *clusters->owned[i]);
        if (clusters->owned[i] == NULL) {
            return PCCL_ERR_MEMORY;
        }
        for (uint32_t a = 0; a < clusters->arcs->num_arcs; a++) {
            const struct pccl__arc *arc = &clusters->arcs->arcs[a];
            if (arc_class[a] == i && clusters->cluster[i][arc->source] != clusters->cluster[i][arc->target]) {
                clusters->arc_class[a] = (uint8_t)i;
            }
        }
    }
    return 0;
}

/* Finds arcs inside a cluster, though not of the cheapest, that occupy what arcs across need: a NIC, say. */
static int mark_redundant(struct pccl__clusters *clusters, const uint8_t *arc_class)
{
    const struct pccl__arcs *arcs = clusters->arcs;
    bool *crossed = pccl__array_new(arcs->num_resources, sizeof *crossed);
    if (crossed == NULL) {
        return PCCL_ERR_MEMORY;
    }
    for (uint32_t pass = 0; pass < 2; pass++) {
        for (uint32_t a = 0; a < arcs->num_arcs; a++) {
            const struct pccl__arc *arc = &arcs->arcs[a];
            for (uint32_t u = arc->first_use; u < arc->first_use + arc->num_uses; u++) {
                if (arcs->uses[u].ps_per_mib == PCCL__FIXED) {
                    continue;
                }
                if (pass == 0 && clusters->arc_class[a] > 0) {
                    crossed[arcs->uses[u].resource] = true;
                } else if (pass == 1 && clusters->arc_class[a] == 0 && arc_class[a] > 0 &&
                           crossed[arcs->uses[u].resource]) {
                    clusters->arc_class[a] = PCCL__REDUNDANT;
                }
            }
        }
    }
    free(crossed);
    return 0;
}

int pccl__clusters_create(const struct pccl_topology *topology, const struct pccl__arcs *arcs, int64_t bytes,
                          uint32_t num_chunks, struct pccl__clusters *clusters)
{
    *clusters = (struct pccl__clusters){.arcs = arcs, .words = pccl__bitset_words(num_chunks)};
    int64_t *costs = pccl__array_new(2 * (size_t)arcs->num_arcs, sizeof *costs);
    uint8_t *arc_class = pccl__array_new(arcs->num_arcs, sizeof *arc_class);
    uint32_t *parent = pccl__array_new(topology->num_devices, sizeof *parent);
    clusters->arc_class = pccl__array_new(arcs->num_arcs, sizeof *clusters->arc_class);
    int status = PCCL_ERR_MEMORY;
    if (costs != NULL && arc_class != NULL && parent != NULL && clusters->arc_class != NULL) {
        int64_t lowest[PCCL__MAX_CLASSES] = {0}, *sorted = costs + arcs->num_arcs;
        for (uint32_t a = 0; a < arcs->num_arcs; a++) {
            costs[a] = sorted[a] = arc_cost(arcs, &arcs->arcs[a], bytes);
        }
        qsort(sorted, arcs->num_arcs, sizeof *sorted, compare_costs);
        clusters->num_classes = split_classes(sorted, arcs->num_arcs, lowest);
        for (uint32_t a = 0; a < arcs->num_arcs; a++) {
            while (arc_class[a] + 1u < clusters->num_classes && costs[a] >= lowest[arc_class[a] + 1]) {
                arc_class[a]++;
            }
        }
        status = build_classes(clusters, topology->num_devices, arc_class, parent);
        status = status == 0 ? mark_redundant(clusters, arc_class) : status;
    }
    free(parent);
    free(arc_class);
    free(costs);
    return status;
}

void pccl__clusters_free(struct pccl__clusters *clusters)
{
    for (uint32_t i = 0; i < PCCL__MAX_CLASSES; i++) {
        free(clusters->cluster[i]);
        free(clusters->owned[i]);
    }
    free(clusters->arc_class);
    *clusters = (struct pccl__clusters){0};
}
