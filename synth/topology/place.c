#include "pccl/place.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "topology/placement.h"
#include "topology/private.h"
#include "topology/processors.h"

/* In the names of vertices. */
static const char *const level_names[PCCL_NUM_LEVELS] = {"", "package", "numa", "l3-", "rank"};

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
    int64_t key[PCCL_LEVEL_RANK]; /* index at each level */
    uint32_t rank;
};

struct tree_builder {
    struct pccl_topology_builder *builder;
    struct pccl__placement *placement;
    struct pccl__processors processors;
    uint32_t num_vertices, num_links; /* added so far */
    bool inside_overheads; /* some level inside hosts says them */
    struct pccl_class inside[PCCL_NUM_LEVELS]; /* the fabric's, gaps filled */
    uint32_t inside_class; /* number of the first of PCCL_NUM_LEVELS classes for the inside of hosts */
};

static int compare_seats(const void *a, const void *b)
{
    const struct seat *x = a, *y = b;
    for (int level = PCCL_LEVEL_HOST; level < PCCL_LEVEL_RANK; level++) {
        if (x->key[level] != y->key[level]) {
            return x->key[level] < y->key[level] ? -1 : 1;
        }
    }
    return (x->rank > y->rank) - (x->rank < y->rank);
}

/* Hangs a vertex below another, each at its level. Two ranks that meet at the upper level are its latency apart, half
 * of it on the way up; the rest of that half is spent below. A rank alone on its host costs nothing beyond the
 * fabric. One that shares its processor takes in a message when the others there have given way, and its own end has
 * a speed in that direction only: who receives copies, and any number may copy at once. */
static void hang(struct tree_builder *tree, uint32_t vertex, enum pccl_level level, uint32_t above,
                 enum pccl_level above_level, bool alone)
{
    const struct pccl_class *inside = tree->inside, *costs = &inside[above_level];
    int64_t latency_ps = costs->latency_ps, below_ps = level == PCCL_LEVEL_RANK ? 0 : inside[level].latency_ps;
    bool own_end = level == PCCL_LEVEL_RANK && inside[level].ps_per_mib > costs->ps_per_mib;
    bool turns = level == PCCL_LEVEL_RANK && tree->processors.number[vertex] != 0;
    struct pccl_link up = {.source = vertex,
                           .target = above,
                           .latency_ps = alone ? 0 : (latency_ps + 1) / 2 - (below_ps + 1) / 2,
                           .ps_per_mib = alone ? 0 : own_end ? inside[level].ps_per_mib : costs->ps_per_mib,
                           .capacity = PCCL_NONE,
                           .link_class = alone ? PCCL_NO_CLASS : (uint16_t)(tree->inside_class + above_level),
                           .latency_origin = (uint8_t)costs->latency_origin,
                           .bandwidth_origin = (uint8_t)costs->bandwidth_origin};
    struct pccl_link down = up;
    down.source = above;
    down.target = vertex;
    down.latency_ps = alone ? 0 : latency_ps / 2 - below_ps / 2;
    if (turns) {
        int64_t wait_ps = (int64_t)(tree->processors.sharers[vertex] - 1) * PCCL__TURN_PS;
        down.latency_ps += wait_ps < PCCL__MAX_LATENCY_PS / 2 ? wait_ps : PCCL__MAX_LATENCY_PS / 2;
        up.ps_per_mib = 0;
    }
    pccl__topology_add(tree->builder, &up);
    pccl__topology_add(tree->builder, &down);
    tree->placement->up_link[vertex] = tree->num_links++;
    tree->placement->down_link[vertex] = tree->num_links++;
}

static uint32_t add_tree_vertex(struct tree_builder *tree, const struct seat *seat, enum pccl_level deepest)
{
    char name[640];
    const char *host = tree->placement->fabric->vertices[seat->key[PCCL_LEVEL_HOST]].name;
    int length = snprintf(name, sizeof name, "%.512s", host);
    for (int level = PCCL_LEVEL_PACKAGE; level <= (int)deepest; level++) {
        if (seat->key[level] >= 0) {
            length += snprintf(name + length, sizeof name - (size_t)length, "/%s%" PRId64, level_names[level],
                               seat->key[level]);
        }
    }
    pccl_topology_add_switch(tree->builder, name, false);
    return tree->num_vertices++;
}

/* Hangs the ranks of seats[0..count) below `above`. Levels that tell none of them apart share a vertex, the deepest. */
static void hang_group(struct tree_builder *tree, const struct seat *seats, uint32_t count, int level, uint32_t above,
                       enum pccl_level above_level)
{
    int deepest = PCCL_LEVEL_HOST;
    for (; level < PCCL_LEVEL_RANK && seats[0].key[level] == seats[count - 1].key[level]; level++) {
        deepest = seats[0].key[level] >= 0 ? level : deepest;
    }
    if (deepest != PCCL_LEVEL_HOST && count > 1) {
        uint32_t vertex = add_tree_vertex(tree, &seats[0], (enum pccl_level)deepest);
        hang(tree, vertex, (enum pccl_level)deepest, above, above_level, false);
        above = vertex;
        above_level = (enum pccl_level)deepest;
    }
    if (level == PCCL_LEVEL_RANK) {
        for (uint32_t i = 0; i < count; i++) {
            hang(tree, seats[i].rank, PCCL_LEVEL_RANK, above, above_level, false);
        }
        return;
    }
    for (uint32_t i = 0, end; i < count; i = end) {
        for (end = i + 1; end < count && seats[end].key[level] == seats[i].key[level]; end++) {
        }
        hang_group(tree, &seats[i], end - i, level, above, above_level);
    }
}

/* A class of the fabric (or none) with the overheads of a host. */
struct end_class {
    uint16_t of, number;
    int64_t send_ps, receive_ps;
};

/* Where messages inside hosts cost ranks less, or more, than the network's, links of hosts have to say what those cost:
 * a host's overheads as its device has them become part of the class of its links. */
static uint16_t find_end_class(struct tree_builder *tree, const struct pccl_link *link, struct end_class **known,
                               uint32_t *num_known, uint32_t *capacity)
{
    const struct pccl_topology *fabric = tree->placement->fabric;
    bool leaves = link->source < fabric->num_devices, enters = link->target < fabric->num_devices;
    if ((!leaves && !enters) || !tree->inside_overheads) {
        return link->link_class;
    }
    struct end_class wanted = {.of = link->link_class, .send_ps = -1, .receive_ps = -1};
    struct pccl_class costs = {.name = "host", .send_overhead_ps = -1, .receive_overhead_ps = -1, .eager_bytes = -1};
    if (link->link_class != PCCL_NO_CLASS) {
        costs = fabric->classes[link->link_class];
    }
    wanted.send_ps = leaves ? fabric->vertices[link->source].send_overhead_ps : -1;
    wanted.receive_ps = enters ? fabric->vertices[link->target].receive_overhead_ps : -1;
    if (costs.send_overhead_ps >= wanted.send_ps && costs.receive_overhead_ps >= wanted.receive_ps) {
        return link->link_class;
    }
    for (uint32_t i = 0; i < *num_known; i++) {
        const struct end_class *end = &(*known)[i];
        if (end->of == wanted.of && end->send_ps == wanted.send_ps && end->receive_ps == wanted.receive_ps) {
            return end->number;
        }
    }
    costs.send_overhead_ps = costs.send_overhead_ps > wanted.send_ps ? costs.send_overhead_ps : wanted.send_ps;
    costs.receive_overhead_ps =
        costs.receive_overhead_ps > wanted.receive_ps ? costs.receive_overhead_ps : wanted.receive_ps;
    wanted.number = (uint16_t)pccl_topology_add_class(tree->builder, &costs);
    struct end_class *grown = pccl__array_grow(*known, capacity, (uint64_t)*num_known + 1, sizeof *grown);
    if (grown != NULL) {
        *known = grown;
        grown[(*num_known)++] = wanted;
    }
    return wanted.number;
}

/* The overhead of a level inside hosts; one that says none takes that of the next level within, else of the next level
 * around it, that does. -1 if none does. */
static int64_t find_overhead(const struct pccl_topology *fabric, int level, bool sends)
{
    for (int step = 1; step >= -1; step -= 2) {
        for (int l = level; l >= 0 && l < PCCL_LEVEL_RANK; l += step) {
            const struct pccl_class *costs = &fabric->inside[l];
            int64_t overhead_ps = sends ? costs->send_overhead_ps : costs->receive_overhead_ps;
            if (overhead_ps >= 0) {
                return overhead_ps;
            }
        }
    }
    return -1;
}

/* What the levels inside hosts cost where some say no overhead, or a lower latency than a level within them. Where
 * ranks share processors the time of a processor is what counts, and no message is without overhead. */
static void fill_inside(struct tree_builder *tree)
{
    const struct pccl_topology *fabric = tree->placement->fabric;
    int64_t least_ps = 0, preset_ps = tree->processors.shared ? PCCL__SHARED_OVERHEAD_PS : -1;
    for (int level = PCCL_LEVEL_RANK - 1; level >= 0; level--) {
        struct pccl_class *costs = &tree->inside[level];
        *costs = fabric->inside[level];
        least_ps = costs->latency_ps > least_ps ? costs->latency_ps : least_ps;
        costs->latency_ps = least_ps;
        int64_t send_ps = find_overhead(fabric, level, true), receive_ps = find_overhead(fabric, level, false);
        costs->send_overhead_ps = send_ps >= 0 ? send_ps : preset_ps;
        costs->receive_overhead_ps = receive_ps >= 0 ? receive_ps : preset_ps;
        tree->inside_overheads =
            tree->inside_overheads || costs->send_overhead_ps >= 0 || costs->receive_overhead_ps >= 0;
    }
    tree->inside[PCCL_LEVEL_RANK] = fabric->inside[PCCL_LEVEL_RANK];
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
        pccl__topology_set_processor(tree->builder, r, tree->processors.number[r]);
    }
    for (uint32_t v = 0; v < fabric->num_vertices; v++) {
        pccl_topology_add_switch(tree->builder, fabric->vertices[v].name, fabric->vertices[v].multicast);
    }
    for (uint32_t c = 0; c < fabric->num_classes; c++) {
        pccl_topology_add_class(tree->builder, &fabric->classes[c]);
    }
    tree->inside_class = fabric->num_classes;
    for (int level = 0; level < PCCL_NUM_LEVELS; level++) {
        pccl_topology_add_class(tree->builder, &tree->inside[level]);
    }
    struct end_class *known = NULL;
    uint32_t num_known = 0, capacity = 0;
    for (uint32_t l = 0; l < fabric->num_links; l++) {
        struct pccl_link link = fabric->links[l];
        link.link_class = find_end_class(tree, &link, &known, &num_known, &capacity);
        link.source += num_ranks;
        link.target += num_ranks;
        pccl__topology_add(tree->builder, &link);
    }
    free(known);
    tree->num_vertices = num_ranks + fabric->num_vertices;
    tree->num_links = fabric->num_links;
}

static void add_trees(struct tree_builder *tree, const struct seat *seats, uint32_t num_ranks)
{
    for (uint32_t i = 0, end; i < num_ranks; i = end) {
        for (end = i + 1; end < num_ranks && seats[end].key[PCCL_LEVEL_HOST] == seats[i].key[PCCL_LEVEL_HOST]; end++) {
        }
        uint32_t host = num_ranks + (uint32_t)seats[i].key[PCCL_LEVEL_HOST];
        if (end - i == 1) {
            hang(tree, seats[i].rank, PCCL_LEVEL_RANK, host, PCCL_LEVEL_HOST, true);
        } else {
            hang_group(tree, &seats[i], end - i, PCCL_LEVEL_PACKAGE, host, PCCL_LEVEL_HOST);
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
    if (pccl__processors_find(&tree.processors, places, num_ranks) != 0 ||
        new_placement(fabric, places, num_ranks, &tree.placement) != 0) {
        pccl__processors_free(&tree.processors);
        return pccl__fail_memory(error);
    }
    char name[640];
    snprintf(name, sizeof name, "%" PRIu32 " ranks on %.512s", num_ranks, fabric->name);
    tree.builder = pccl_topology_builder_new(name);
    fill_inside(&tree);
    add_fabric(&tree, num_ranks);
    add_trees(&tree, seats, num_ranks);
    pccl__processors_free(&tree.processors);
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
        shared = shared || seats[i].key[PCCL_LEVEL_HOST] == seats[i - 1].key[PCCL_LEVEL_HOST];
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
