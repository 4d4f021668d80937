#include "topology/nodes.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/digest.h"
#include "base/error.h"
#include "topology/placement.h"
#include "topology/private.h"

/* --- who is where ------------------------------------------------------------------------------------------------- */

/* A rank in the order of nodes and positions. */
struct seat {
    int64_t key[4]; /* host (or run of ranks), package, NUMA node, L3 */
    uint32_t rank;
};

static int compare_seats(const void *a, const void *b)
{
    const struct seat *x = a, *y = b;
    for (int i = 0; i < 4; i++) {
        if (x->key[i] != y->key[i]) {
            return x->key[i] < y->key[i] ? -1 : 1;
        }
    }
    return (x->rank > y->rank) - (x->rank < y->rank);
}

/* NULL if there are no hosts to sort by. */
static const struct pccl__placement *placement_of(const struct pccl_topology *topology)
{
    return pccl__topology_of(topology)->reversed ? NULL : pccl__topology_placement(topology);
}

/* The vertices from a device up to, but without, its host: at most PCCL__MAX_PLACE_DEPTH. */
static uint32_t climb(const struct pccl_topology *topology, const struct pccl__placement *placement, uint32_t device,
                      uint32_t *vertices)
{
    uint32_t length = 0;
    for (uint32_t v = device; placement->up_link[v] != PCCL_NONE;
         v = topology->links[placement->up_link[v]].target) {
        vertices[length++] = v;
    }
    return length;
}

static void take_seats(const struct pccl__placement *placement, const uint32_t *devices, uint32_t num_ranks,
                       bool in_rank_order, struct seat *seats)
{
    uint32_t run = 0;
    for (uint32_t r = 0; r < num_ranks; r++) {
        seats[r] = (struct seat){.key = {r}, .rank = r};
        if (placement == NULL) {
            continue;
        }
        const struct pccl_place *place = &placement->places[devices[r]];
        if (in_rank_order) {
            run += r > 0 && place->host != placement->places[devices[r - 1]].host;
            seats[r].key[0] = run;
        } else {
            seats[r] = (struct seat){{place->host, place->package, place->numa, place->l3}, r};
        }
    }
    qsort(seats, num_ranks, sizeof *seats, compare_seats);
}

static bool has_one_host(const struct seat *seats, uint32_t num_ranks)
{
    return seats[0].key[0] == seats[num_ranks - 1].key[0];
}

/* 1 + the first position of its node that is on the same processor as position p; 0 if p is alone on it. */
static uint32_t find_processor(const struct pccl__nodes *nodes, const struct pccl_topology *topology,
                               const uint32_t *devices, uint32_t node, uint32_t p)
{
    const uint32_t *members = nodes->members + nodes->first[node];
    uint32_t processor = topology->vertices[devices[members[p]]].processor, first = 0;
    if (processor == 0) {
        return 0;
    }
    while (topology->vertices[devices[members[first]]].processor != processor) {
        first++;
    }
    return first + 1;
}

/* What decides the costs inside a node: the ways up, and which parts of them and which processors are shared. */
static uint64_t digest_node(const struct pccl__nodes *nodes, const struct pccl_topology *topology,
                            const uint32_t *devices, uint32_t node)
{
    const struct pccl__placement *placement = placement_of(topology);
    uint32_t above[PCCL__MAX_PLACE_DEPTH], before[PCCL__MAX_PLACE_DEPTH], num_before = 0;
    uint64_t digest = pccl__digest_u32(PCCL__DIGEST_START, pccl__node_size(nodes, node));
    for (uint32_t i = nodes->first[node]; i < nodes->first[node + 1]; i++) {
        uint32_t device = devices[nodes->members[i]], length = climb(topology, placement, device, above);
        uint32_t shared = 0;
        while (shared < length && shared < num_before &&
               above[length - 1 - shared] == before[num_before - 1 - shared]) {
            shared++;
        }
        digest = pccl__digest_u32(pccl__digest_u32(digest, length), shared);
        digest = pccl__digest_u64(digest, (uint64_t)topology->vertices[device].send_overhead_ps);
        digest = pccl__digest_u64(digest, (uint64_t)topology->vertices[device].receive_overhead_ps);
        uint32_t processor = find_processor(nodes, topology, devices, node, i - nodes->first[node]);
        digest = processor != 0 ? pccl__digest_u32(digest, processor) : digest;
        for (uint32_t j = 0; j < length; j++) {
            const struct pccl_link *up = &topology->links[placement->up_link[above[j]]];
            const struct pccl_link *down = &topology->links[placement->down_link[above[j]]];
            digest = pccl__digest_u64(pccl__digest_u64(digest, (uint64_t)up->latency_ps), (uint64_t)up->ps_per_mib);
            digest = pccl__digest_u64(pccl__digest_u64(digest, (uint64_t)down->latency_ps), (uint64_t)down->ps_per_mib);
            digest = pccl__digest_u32(pccl__digest_u32(digest, up->link_class), down->link_class);
        }
        memcpy(before, above, sizeof before);
        num_before = length;
    }
    return digest;
}

struct shape_key {
    uint64_t digest;
    uint32_t node;
};

static int compare_keys(const void *a, const void *b)
{
    const struct shape_key *x = a, *y = b;
    if (x->digest != y->digest) {
        return x->digest < y->digest ? -1 : 1;
    }
    return (x->node > y->node) - (x->node < y->node);
}

static int find_shapes(struct pccl__nodes *nodes, const struct pccl_topology *topology, const uint32_t *devices,
                       uint32_t apart)
{
    struct shape_key *keys = pccl__array_new(nodes->num_nodes, sizeof *keys);
    if (keys == NULL) {
        return PCCL_ERR_MEMORY;
    }
    for (uint32_t node = 0; node < nodes->num_nodes; node++) {
        uint64_t digest = nodes->shared ? digest_node(nodes, topology, devices, node) : 0;
        bool alone = nodes->shared && apart != PCCL_NONE && nodes->node[apart] == node;
        keys[node] = (struct shape_key){pccl__digest_u32(digest, alone), node};
    }
    qsort(keys, nodes->num_nodes, sizeof *keys, compare_keys);
    for (uint32_t i = 0; i < nodes->num_nodes; i++) {
        const struct shape_key *key = &keys[i];
        if (i == 0 || key->digest != key[-1].digest ||
            pccl__node_size(nodes, key->node) != pccl__node_size(nodes, key[-1].node)) {
            nodes->example[nodes->num_shapes++] = key->node;
        }
        nodes->shape[key->node] = nodes->num_shapes - 1;
    }
    free(keys);
    return 0;
}

/* Fills nodes and positions from seats in order. */
static void seat_members(struct pccl__nodes *nodes, const struct seat *seats)
{
    for (uint32_t i = 0; i < nodes->num_ranks; i++) {
        bool next = i == 0 || seats[i].key[0] != seats[i - 1].key[0];
        if (next) {
            nodes->first[nodes->num_nodes++] = i;
        }
        nodes->shared |= !next;
        nodes->members[i] = seats[i].rank;
        nodes->node[seats[i].rank] = nodes->num_nodes - 1;
        nodes->position[seats[i].rank] = i - nodes->first[nodes->num_nodes - 1];
    }
    nodes->first[nodes->num_nodes] = nodes->num_ranks;
}

int pccl__nodes_find(struct pccl__nodes *nodes, const struct pccl_topology *topology, const uint32_t *devices,
                     uint32_t num_ranks, bool in_rank_order, uint32_t apart)
{
    *nodes = (struct pccl__nodes){.num_ranks = num_ranks};
    uint32_t *all = pccl__array_new(6 * (size_t)num_ranks + 1, sizeof *all);
    struct seat *seats = pccl__array_new(num_ranks, sizeof *seats);
    if (all == NULL || seats == NULL) {
        free(seats);
        free(all);
        return PCCL_ERR_MEMORY;
    }
    nodes->members = all;
    nodes->node = all + num_ranks;
    nodes->position = all + 2 * (size_t)num_ranks;
    nodes->shape = all + 3 * (size_t)num_ranks;
    nodes->example = all + 4 * (size_t)num_ranks;
    nodes->first = all + 5 * (size_t)num_ranks;
    take_seats(placement_of(topology), devices, num_ranks, in_rank_order, seats);
    if (has_one_host(seats, num_ranks)) {
        take_seats(NULL, devices, num_ranks, in_rank_order, seats);
    }
    seat_members(nodes, seats);
    free(seats);
    return find_shapes(nodes, topology, devices, apart);
}

void pccl__nodes_free(struct pccl__nodes *nodes)
{
    free(nodes->members);
    nodes->members = NULL;
}

/* --- between nodes ------------------------------------------------------------------------------------------------ */

/* How many gates use the link above the j-th vertex of the way up of gate `rail`. */
static uint32_t count_sharers(const struct pccl__nodes *nodes, const struct pccl_topology *topology,
                              const uint32_t *devices, uint32_t node, uint32_t rails, uint32_t vertex)
{
    const struct pccl__placement *placement = placement_of(topology);
    uint32_t size = pccl__node_size(nodes, node), count = 0;
    for (uint32_t rail = 0; rail < rails; rail++) {
        uint32_t above[PCCL__MAX_PLACE_DEPTH];
        uint32_t member = nodes->members[nodes->first[node] + pccl__rail_start(rail, rails, size)];
        uint32_t length = climb(topology, placement, devices[member], above);
        for (uint32_t i = 0; i < length; i++) {
            count += above[i] == vertex;
        }
    }
    return count;
}

/* The ways from a node to its host and back, as if its gates were one device. Each gate carries an equal share; the
 * busiest link of the first gate's way counts. */
static void attach(const struct pccl__nodes *nodes, const struct pccl_topology *topology, const uint32_t *devices,
                   uint32_t node, uint32_t rails, struct pccl_link ways[2])
{
    const struct pccl__placement *placement = placement_of(topology);
    uint32_t above[PCCL__MAX_PLACE_DEPTH], device = devices[nodes->members[nodes->first[node]]];
    uint32_t length = climb(topology, placement, device, above);
    for (int down = 0; down < 2; down++) {
        const uint32_t *numbers = down ? placement->down_link : placement->up_link;
        ways[down] = topology->links[numbers[device]];
        ways[down].latency_ps = ways[down].ps_per_mib = 0;
        for (uint32_t i = 0; i < length; i++) {
            uint32_t sharers = rails == 1 ? 1 : count_sharers(nodes, topology, devices, node, rails, above[i]);
            const struct pccl_link *link = &topology->links[numbers[above[i]]];
            int64_t shared_ps = (int64_t)((unsigned __int128)link->ps_per_mib * sharers / rails);
            ways[down].latency_ps += link->latency_ps;
            ways[down].ps_per_mib = shared_ps > ways[down].ps_per_mib ? shared_ps : ways[down].ps_per_mib;
        }
    }
}

/* Their names do not matter here and may not be different in a placed topology. */
static void copy_classes(struct pccl_topology_builder *builder, const struct pccl_topology *topology)
{
    for (uint32_t c = 0; c < topology->num_classes; c++) {
        struct pccl_class copy = topology->classes[c];
        char name[32];
        snprintf(name, sizeof name, "class%" PRIu32, c);
        copy.name = name;
        pccl_topology_add_class(builder, &copy);
    }
}

/* A link between other vertices, at the same cost. */
static void copy_link(struct pccl_topology_builder *builder, const struct pccl_link *link, uint32_t source,
                      uint32_t target, uint32_t capacity)
{
    struct pccl_link copy = *link;
    copy.source = source;
    copy.target = target;
    copy.capacity = capacity;
    pccl__topology_add(builder, &copy);
}

/* The vertices and links of a fabric, as switches behind `num_devices` devices. links: those of the fabric, or those
 * that they have become in the topology with `before` devices. */
static void copy_fabric(struct pccl_topology_builder *builder, const struct pccl_topology *fabric,
                        const struct pccl_link *links, uint32_t before, uint32_t num_devices)
{
    for (uint32_t v = 0; v < fabric->num_vertices; v++) {
        pccl_topology_add_switch(builder, fabric->vertices[v].name, fabric->vertices[v].multicast);
    }
    for (uint32_t l = 0; l < fabric->num_links; l++) {
        copy_link(builder, &links[l], links[l].source - before + num_devices, links[l].target - before + num_devices,
                  links[l].capacity);
    }
}

static void add_nodes(struct pccl_topology_builder *builder, const struct pccl__nodes *nodes,
                      const struct pccl_topology *topology, const uint32_t *devices)
{
    for (uint32_t node = 0; node < nodes->num_nodes; node++) {
        const struct pccl_vertex *device = &topology->vertices[devices[nodes->members[nodes->first[node]]]];
        char name[32];
        snprintf(name, sizeof name, "/node%" PRIu32, node); /* no host's name begins so */
        pccl_topology_add_device(builder, name);
        pccl_topology_set_overheads(builder, node, device->send_overhead_ps, device->receive_overhead_ps);
    }
}

/* The link towards a host and the one from it, for every node; shapes are looked at once. */
static void add_attachments(struct pccl_topology_builder *builder, const struct pccl__nodes *nodes,
                            const struct pccl_topology *topology, const uint32_t *devices, uint32_t rails,
                            struct pccl_link (*shapes)[2], struct pccl__placement *made)
{
    const struct pccl__placement *placement = placement_of(topology);
    for (uint32_t s = 0; s < nodes->num_shapes; s++) {
        attach(nodes, topology, devices, nodes->example[s], rails, shapes[s]);
    }
    uint32_t next = placement->fabric->num_links;
    for (uint32_t node = 0; node < nodes->num_nodes; node++) {
        const struct pccl_link *ways = shapes[nodes->shape[node]];
        uint32_t host = placement->places[devices[nodes->members[nodes->first[node]]]].host;
        made->places[node] = (struct pccl_place){host, -1, -1, -1, -1, 0};
        made->up_link[node] = next++;
        made->down_link[node] = next++;
        copy_link(builder, &ways[0], node, nodes->num_nodes + host, PCCL_NONE);
        copy_link(builder, &ways[1], nodes->num_nodes + host, node, PCCL_NONE);
    }
}

static struct pccl__placement *new_placement(const struct pccl_topology *fabric, uint32_t num_nodes)
{
    struct pccl__placement *made = pccl__array_new(1, sizeof *made);
    if (made == NULL) {
        return NULL;
    }
    size_t num_vertices = (size_t)num_nodes + fabric->num_vertices;
    made->depth = 1;
    made->places = pccl__array_new(num_nodes, sizeof *made->places);
    made->up_link = pccl__array_new(num_vertices, sizeof *made->up_link);
    made->down_link = pccl__array_new(num_vertices, sizeof *made->down_link);
    if (made->places == NULL || made->up_link == NULL || made->down_link == NULL ||
        pccl__topology_copy(fabric, &made->fabric) != 0) {
        pccl__placement_free(made);
        return NULL;
    }
    memset(made->up_link, 0xff, num_vertices * sizeof *made->up_link);
    memset(made->down_link, 0xff, num_vertices * sizeof *made->down_link);
    return made;
}

int pccl__nodes_between(const struct pccl__nodes *nodes, const struct pccl_topology *topology, const uint32_t *devices,
                        uint32_t rails, struct pccl_topology **between, struct pccl_error *error)
{
    const struct pccl_topology *fabric = placement_of(topology)->fabric;
    struct pccl_link(*shapes)[2] = pccl__array_new(nodes->num_shapes, sizeof *shapes);
    struct pccl__placement *made = new_placement(fabric, nodes->num_nodes);
    if (shapes == NULL || made == NULL) {
        free(shapes);
        pccl__placement_free(made);
        return pccl__fail_memory(error);
    }
    struct pccl_topology_builder *builder = pccl_topology_builder_new(fabric->name);
    copy_classes(builder, topology);
    add_nodes(builder, nodes, topology, devices);
    copy_fabric(builder, fabric, topology->links, topology->num_devices, nodes->num_nodes);
    add_attachments(builder, nodes, topology, devices, rails, shapes, made);
    free(shapes);
    return pccl__topology_finish_placed(builder, made, between, error);
}

/* --- inside a node ------------------------------------------------------------------------------------------------ */

/* The tree of a node: its vertices from the host on, each after the one above it, without the members. */
struct tree {
    uint32_t num_vertices;
    uint32_t *vertex, *above; /* [num_vertices] in the whole topology; index of the one above */
    bool *bears;              /* [num_vertices] a member hangs right below */
    uint32_t *number;         /* [num_vertices] in the copy */
    uint32_t *parent;         /* [members] index of the vertex above each */
};

static bool open_tree(struct tree *tree, uint32_t size)
{
    size_t most = (size_t)PCCL__MAX_PLACE_DEPTH * size + 1;
    tree->vertex = pccl__array_new(3 * most + size, sizeof *tree->vertex);
    tree->bears = pccl__array_new(most, sizeof *tree->bears);
    if (tree->vertex == NULL || tree->bears == NULL) {
        return false;
    }
    tree->above = tree->vertex + most;
    tree->number = tree->vertex + 2 * most;
    tree->parent = tree->vertex + 3 * most;
    return true;
}

static void close_tree(struct tree *tree)
{
    free(tree->vertex);
    free(tree->bears);
}

/* Members in the order of positions go up; what a way shares with the one before is there already. */
static void grow_tree(struct tree *tree, const struct pccl__nodes *nodes, const struct pccl_topology *topology,
                      const uint32_t *devices, uint32_t node)
{
    uint32_t before[PCCL__MAX_PLACE_DEPTH], num_before = 0; /* from the host down */
    tree->num_vertices = 1;
    tree->vertex[0] = PCCL_NONE;
    for (uint32_t p = 0; p < pccl__node_size(nodes, node); p++) {
        uint32_t above[PCCL__MAX_PLACE_DEPTH], parent = 0, depth = 0;
        uint32_t length =
            climb(topology, placement_of(topology), devices[nodes->members[nodes->first[node] + p]], above);
        for (; depth + 1 < length && depth < num_before &&
               tree->vertex[before[depth]] == above[length - 1 - depth];
             depth++) {
            parent = before[depth];
        }
        for (; depth + 1 < length; depth++) {
            uint32_t added = tree->num_vertices++;
            tree->vertex[added] = above[length - 1 - depth];
            tree->above[added] = parent;
            before[depth] = parent = added;
        }
        num_before = depth;
        tree->bears[parent] = true;
        tree->parent[p] = parent;
    }
}

/* Both links between a vertex and the one above it, with the costs they have in the whole. */
static void copy_cable(struct pccl_topology_builder *builder, const struct pccl_topology *topology, uint32_t vertex,
                       uint32_t below, uint32_t above)
{
    const struct pccl__placement *placement = placement_of(topology);
    copy_link(builder, &topology->links[placement->up_link[vertex]], below, above, PCCL_NONE);
    copy_link(builder, &topology->links[placement->down_link[vertex]], above, below, PCCL_NONE);
}

/* The tree without its members as a fabric of its own: what bears members are its hosts. */
static int make_fabric(struct tree *tree, const struct pccl_topology *topology, struct pccl_topology **fabric,
                       struct pccl_error *error)
{
    struct pccl_topology_builder *builder = pccl_topology_builder_new("node");
    copy_classes(builder, topology);
    for (int hosts = 1; hosts >= 0; hosts--) {
        for (uint32_t v = 0; v < tree->num_vertices; v++) {
            char name[32];
            snprintf(name, sizeof name, "vertex%" PRIu32, v);
            if (tree->bears[v] == (hosts != 0)) {
                tree->number[v] = hosts ? pccl_topology_add_device(builder, name)
                                        : pccl_topology_add_switch(builder, name, false);
            }
        }
    }
    for (uint32_t v = 1; v < tree->num_vertices; v++) {
        copy_cable(builder, topology, tree->vertex[v], tree->number[v], tree->number[tree->above[v]]);
    }
    pccl_topology_set_routing(builder, PCCL_ROUTING_SHORTEST);
    return pccl_topology_finish(builder, fabric, error);
}

/* Members below the fabric that their node is. */
static int place_members(const struct tree *tree, const struct pccl__nodes *nodes, const struct pccl_topology *topology,
                         const uint32_t *devices, uint32_t node, const struct pccl_topology *fabric,
                         struct pccl_topology **inside, struct pccl_error *error)
{
    uint32_t size = pccl__node_size(nodes, node), next = fabric->num_links;
    struct pccl__placement *made = new_placement(fabric, size);
    if (made == NULL) {
        return pccl__fail_memory(error);
    }
    struct pccl_topology_builder *builder = pccl_topology_builder_new("node");
    copy_classes(builder, topology);
    for (uint32_t p = 0; p < size; p++) {
        const struct pccl_vertex *vertex = &topology->vertices[devices[nodes->members[nodes->first[node] + p]]];
        char name[32];
        snprintf(name, sizeof name, "position%" PRIu32, p);
        pccl_topology_add_device(builder, name);
        pccl_topology_set_overheads(builder, p, vertex->send_overhead_ps, vertex->receive_overhead_ps);
        pccl__topology_set_processor(builder, p, find_processor(nodes, topology, devices, node, p));
    }
    copy_fabric(builder, fabric, fabric->links, 0, size);
    for (uint32_t p = 0; p < size; p++) {
        uint32_t host = tree->number[tree->parent[p]];
        made->places[p] = (struct pccl_place){host, -1, -1, -1, -1, 0};
        made->up_link[p] = next++;
        made->down_link[p] = next++;
        copy_cable(builder, topology, devices[nodes->members[nodes->first[node] + p]], p, size + host);
    }
    return pccl__topology_finish_placed(builder, made, inside, error);
}

int pccl__nodes_inside(const struct pccl__nodes *nodes, const struct pccl_topology *topology, const uint32_t *devices,
                       uint32_t node, struct pccl_topology **inside, struct pccl_error *error)
{
    struct tree tree = {0};
    struct pccl_topology *fabric = NULL;
    int status;
    if (!open_tree(&tree, pccl__node_size(nodes, node))) {
        status = pccl__fail_memory(error);
    } else {
        grow_tree(&tree, nodes, topology, devices, node);
        status = make_fabric(&tree, topology, &fabric, error);
    }
    if (status == 0) {
        status = place_members(&tree, nodes, topology, devices, node, fabric, inside, error);
        pccl_topology_free(fabric);
    }
    close_tree(&tree);
    return status;
}
