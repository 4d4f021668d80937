#include "pccl/place.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "topology/placement.h"
#include "topology/private.h"

/* Levels of a host's tree, from the host down. */
enum level { LEVEL_HOST, LEVEL_PACKAGE, LEVEL_NUMA, LEVEL_L3, LEVEL_RANK };

/* Declared default costs, documented in doc/topologies.md. Two ranks whose ways meet at a level are twice that far
 * apart; a vertex of a level shares the level's time per MiB among the ranks below it. */
static const struct {
    const char *name;
    int64_t latency_ps;
    int64_t ps_per_mib;
} costs[] = {
    [LEVEL_HOST] = {"", 250000, 0},
    [LEVEL_PACKAGE] = {"package", 150000, 26214400}, /* 40 GB/s */
    [LEVEL_NUMA] = {"numa", 100000, 20971520},       /* 50 GB/s */
    [LEVEL_L3] = {"l3-", 50000, 20971520},           /* 50 GB/s */
    [LEVEL_RANK] = {"rank", 0, 52428800},            /* 20 GB/s */
};

/* --- finding a place --------------------------------------------------------------------------------------------- */

/* The first object of the type that holds the whole set. Objects without processors never do. */
static int32_t find_object(hwloc_topology_t topology, hwloc_obj_type_t type, hwloc_const_cpuset_t cpuset)
{
    hwloc_obj_t object = NULL;
    while ((object = hwloc_get_next_obj_by_type(topology, type, object)) != NULL) {
        if (object->cpuset != NULL && hwloc_bitmap_isincluded(cpuset, object->cpuset)) {
            return (int32_t)object->logical_index;
        }
    }
    return -1;
}

void pccl_place_find(hwloc_topology_t topology, hwloc_const_cpuset_t cpuset, struct pccl_place *place)
{
    place->package = place->numa = place->l3 = place->core = -1;
    hwloc_bitmap_t usable = hwloc_bitmap_dup(hwloc_topology_get_allowed_cpuset(topology));
    if (usable == NULL) {
        return;
    }
    if (cpuset != NULL && hwloc_bitmap_intersects(usable, cpuset)) {
        hwloc_bitmap_and(usable, usable, cpuset);
    }
    if (!hwloc_bitmap_iszero(usable)) {
        place->package = find_object(topology, HWLOC_OBJ_PACKAGE, usable);
        place->numa = find_object(topology, HWLOC_OBJ_NUMANODE, usable);
        place->l3 = find_object(topology, HWLOC_OBJ_L3CACHE, usable);
        place->core = find_object(topology, HWLOC_OBJ_CORE, usable);
    }
    hwloc_bitmap_free(usable);
}

/* --- joining fabric and places ----------------------------------------------------------------------------------- */

/* A rank in the order of the trees: by host, package, NUMA node, L3, rank. */
struct seat {
    int64_t key[LEVEL_RANK]; /* index at each level */
    uint32_t rank;
};

struct tree_builder {
    struct pccl_topology_builder *builder;
    struct pccl__placement *placement;
    uint32_t num_vertices, num_links; /* added so far */
};

static int compare_seats(const void *a, const void *b)
{
    const struct seat *x = a, *y = b;
    for (int level = LEVEL_HOST; level < LEVEL_RANK; level++) {
        if (x->key[level] != y->key[level]) {
            return x->key[level] < y->key[level] ? -1 : 1;
        }
    }
    return (x->rank > y->rank) - (x->rank < y->rank);
}

/* Hangs a vertex below another, each at its level. A rank alone on its host costs nothing beyond the fabric. */
static void hang(struct tree_builder *tree, uint32_t vertex, enum level level, uint32_t above, enum level above_level,
                 bool alone)
{
    int64_t latency_ps = alone ? 0 : costs[above_level].latency_ps - costs[level].latency_ps;
    int64_t ps_per_mib = alone ? 0 : costs[level].ps_per_mib;
    pccl__topology_add_cable(tree->builder, vertex, above, latency_ps, ps_per_mib);
    tree->placement->up_link[vertex] = tree->num_links++;
    tree->placement->down_link[vertex] = tree->num_links++;
}

static uint32_t add_tree_vertex(struct tree_builder *tree, const struct seat *seat, enum level deepest)
{
    char name[640];
    const char *host = tree->placement->fabric->vertices[seat->key[LEVEL_HOST]].name;
    int length = snprintf(name, sizeof name, "%.512s", host);
    for (int level = LEVEL_PACKAGE; level <= (int)deepest; level++) {
        if (seat->key[level] >= 0) {
            length += snprintf(name + length, sizeof name - (size_t)length, "/%s%" PRId64, costs[level].name,
                               seat->key[level]);
        }
    }
    pccl_topology_add_switch(tree->builder, name, false);
    return tree->num_vertices++;
}

/* Hangs the ranks of seats[0..count) below `above`. Levels that tell none of them apart share a vertex, the deepest. */
static void hang_group(struct tree_builder *tree, const struct seat *seats, uint32_t count, int level, uint32_t above,
                       enum level above_level)
{
    int deepest = LEVEL_HOST;
    for (; level < LEVEL_RANK && seats[0].key[level] == seats[count - 1].key[level]; level++) {
        deepest = seats[0].key[level] >= 0 ? level : deepest;
    }
    if (deepest != LEVEL_HOST && count > 1) {
        uint32_t vertex = add_tree_vertex(tree, &seats[0], (enum level)deepest);
        hang(tree, vertex, (enum level)deepest, above, above_level, false);
        above = vertex;
        above_level = (enum level)deepest;
    }
    if (level == LEVEL_RANK) {
        for (uint32_t i = 0; i < count; i++) {
            hang(tree, seats[i].rank, LEVEL_RANK, above, above_level, false);
        }
        return;
    }
    for (uint32_t i = 0, end; i < count; i = end) {
        for (end = i + 1; end < count && seats[end].key[level] == seats[i].key[level]; end++) {
        }
        hang_group(tree, &seats[i], end - i, level, above, above_level);
    }
}

/* Ranks become devices, the vertices of the fabric become switches, and its links keep their numbers. */
static void add_fabric(struct tree_builder *tree, uint32_t num_ranks)
{
    const struct pccl_topology *fabric = tree->placement->fabric;
    for (uint32_t r = 0; r < num_ranks; r++) {
        const struct pccl_vertex *host = &fabric->vertices[tree->placement->places[r].host];
        char name[640];
        snprintf(name, sizeof name, "%.512s/rank%" PRIu32, host->name, r);
        pccl_topology_add_device(tree->builder, name);
        pccl_topology_set_overheads(tree->builder, r, host->send_overhead_ps, host->receive_overhead_ps);
    }
    for (uint32_t v = 0; v < fabric->num_vertices; v++) {
        pccl_topology_add_switch(tree->builder, fabric->vertices[v].name, fabric->vertices[v].multicast);
    }
    for (uint32_t l = 0; l < fabric->num_links; l++) {
        const struct pccl_link *link = &fabric->links[l];
        pccl_topology_set_origin(tree->builder, (enum pccl_origin)link->origin);
        pccl_topology_add_link(tree->builder, num_ranks + link->source, num_ranks + link->target, link->latency_ps,
                               link->ps_per_mib, link->capacity);
    }
    pccl_topology_set_origin(tree->builder, PCCL_ORIGIN_DEFAULT);
    tree->num_vertices = num_ranks + fabric->num_vertices;
    tree->num_links = fabric->num_links;
}

static void add_trees(struct tree_builder *tree, const struct seat *seats, uint32_t num_ranks)
{
    for (uint32_t i = 0, end; i < num_ranks; i = end) {
        for (end = i + 1; end < num_ranks && seats[end].key[LEVEL_HOST] == seats[i].key[LEVEL_HOST]; end++) {
        }
        uint32_t host = num_ranks + (uint32_t)seats[i].key[LEVEL_HOST];
        if (end - i == 1) {
            hang(tree, seats[i].rank, LEVEL_RANK, host, LEVEL_HOST, true);
        } else {
            hang_group(tree, &seats[i], end - i, LEVEL_PACKAGE, host, LEVEL_HOST);
        }
    }
}

static int new_placement(const struct pccl_topology *fabric, const struct pccl_place *places, uint32_t num_ranks,
                         struct pccl__placement **placement)
{
    struct pccl__placement *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return PCCL_ERR_MEMORY;
    }
    const size_t max_vertices = 2 * (size_t)num_ranks + fabric->num_vertices; /* every tree vertex has two children */
    made->depth = PCCL__MAX_PLACE_DEPTH;
    made->places = pccl__array_new(num_ranks, sizeof *made->places);
    made->up_link = pccl__array_new(max_vertices, sizeof *made->up_link);
    made->down_link = pccl__array_new(max_vertices, sizeof *made->down_link);
    if (made->places == NULL || made->up_link == NULL || made->down_link == NULL ||
        pccl__topology_copy(fabric, &made->fabric) != 0) {
        pccl__placement_free(made);
        return PCCL_ERR_MEMORY;
    }
    memcpy(made->places, places, num_ranks * sizeof *places);
    memset(made->up_link, 0xff, max_vertices * sizeof *made->up_link);
    *placement = made;
    return 0;
}

static int place_shared(const struct pccl_topology *fabric, const struct pccl_place *places, uint32_t num_ranks,
                        const struct seat *seats, struct pccl_topology **topology, struct pccl_error *error)
{
    struct tree_builder tree = {0};
    if (new_placement(fabric, places, num_ranks, &tree.placement) != 0) {
        return pccl__fail_memory(error);
    }
    char name[640];
    snprintf(name, sizeof name, "%" PRIu32 " ranks on %.512s", num_ranks, fabric->name);
    tree.builder = pccl_topology_builder_new(name);
    add_fabric(&tree, num_ranks);
    add_trees(&tree, seats, num_ranks);
    return pccl__topology_finish_placed(tree.builder, tree.placement, topology, error);
}

static int check_places(const struct pccl_topology *fabric, const struct pccl_place *places, uint32_t num_ranks,
                        struct pccl_error *error)
{
    if (pccl__topology_placement(fabric) != NULL || pccl__topology_of(fabric)->reversed) {
        return pccl__fail(error, PCCL_ERR_UNSUPPORTED, "the fabric is %s; expected one whose devices are hosts",
                          pccl__topology_of(fabric)->reversed ? "reversed" : "itself made by placing ranks");
    }
    if (num_ranks == 0 || num_ranks > PCCL__MAX_VERTICES / 4) {
        return pccl__fail(error, PCCL_ERR_INVALID, "%" PRIu32 " ranks to place; expected 1 to %u", num_ranks,
                          PCCL__MAX_VERTICES / 4);
    }
    for (uint32_t r = 0; r < num_ranks; r++) {
        if (places[r].host >= fabric->num_devices) {
            return pccl__fail(error, PCCL_ERR_INVALID,
                              "rank %" PRIu32 " is on host %" PRIu32 ", but the fabric %.100s has %" PRIu32 " devices",
                              r, places[r].host, fabric->name, fabric->num_devices);
        }
    }
    return 0;
}

int pccl_topology_place(const struct pccl_topology *fabric, const struct pccl_place *places, uint32_t num_ranks,
                        struct pccl_topology **topology, uint32_t **rank_device, struct pccl_error *error)
{
    int status = check_places(fabric, places, num_ranks, error);
    if (status != 0) {
        return status;
    }
    struct seat *seats = pccl__array_new(num_ranks, sizeof *seats);
    uint32_t *devices = pccl__array_new(num_ranks, sizeof *devices);
    if (seats == NULL || devices == NULL) {
        status = pccl__fail_memory(error);
        goto out;
    }
    for (uint32_t r = 0; r < num_ranks; r++) {
        seats[r] = (struct seat){{places[r].host, places[r].package, places[r].numa, places[r].l3}, r};
    }
    qsort(seats, num_ranks, sizeof *seats, compare_seats);
    bool shared = false;
    for (uint32_t i = 1; i < num_ranks; i++) {
        shared = shared || seats[i].key[LEVEL_HOST] == seats[i - 1].key[LEVEL_HOST];
    }
    for (uint32_t r = 0; r < num_ranks; r++) {
        devices[r] = shared ? r : places[r].host;
    }
    if (shared) {
        status = place_shared(fabric, places, num_ranks, seats, topology, error);
    } else if (pccl__topology_copy(fabric, topology) != 0) {
        status = pccl__fail_memory(error);
    }

out:
    free(seats);
    if (status != 0) {
        free(devices);
    } else {
        *rank_device = devices;
    }
    return status;
}
