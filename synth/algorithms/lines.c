/* Lines: see lines.h. On a mesh of d dimensions the blocks are dealt into d classes; class k goes along dimension k
 * first, then k + 1 and so on round the dimensions, so that in each of d phases all links are used, a d-th of the
 * blocks moving along each dimension. Within a phase a line sees, for every pair of its places, the same number of
 * blocks. Their ways are intervals of the line, and intervals can be laid into as many slots as the most crowded link
 * carries: so slots are idle only on the lines of shorter dimensions, and the whole ends when the links across the
 * middle have carried what must cross it. Slots follow from a formula; nothing is searched. */
#include "algorithms/lines.h"

#include <stdlib.h>
#include <string.h>

#include "algorithms/meter.h"
#include "base/array.h"
#include "base/error.h"

#define MOST_PATH_LINKS (UINT64_C(1) << 25) /* of all straight paths together */

/* All pairs low < high of places on a line, laid into slots without overlap within a slot. */
struct packing {
    uint32_t num_slots;
    uint32_t *first; /* [num_slots + 1] into low and high */
    uint32_t *low, *high;
};

/* The lines along a dimension by number. Of the coordinates in the other dimensions some are already those of the
 * target; a free vector, numbered as the lines are, gives what the place on the way does not tell of source and target.
 */
struct bundle {
    uint32_t num_lines;
    uint32_t *moved;   /* [num_lines] share of the device number that is in dimensions already done */
    uint32_t *kept;    /* [num_lines] the rest */
    uint32_t *residue; /* [num_lines] sum of the coordinates modulo d */
    uint32_t *group;   /* [num_lines] vectors by residue */
    uint32_t first[PCCL_MAX_DIMENSIONS + 1]; /* into group */
    uint32_t largest;  /* of the groups */
};

struct lines {
    const struct pccl__problem *problem;
    struct pccl_schedule *schedule;
    uint32_t num_devices, num_dimensions;
    uint32_t extents[PCCL_MAX_DIMENSIONS], strides[PCCL_MAX_DIMENSIONS];
    uint32_t *rank;                             /* [num_devices] */
    uint32_t *paths[PCCL_MAX_DIMENSIONS];       /* [num_devices * extent] path from a device to a place on its line */
    struct packing packings[PCCL_MAX_DIMENSIONS];
    struct bundle bundles[PCCL_MAX_DIMENSIONS]; /* of the phase under way */
};

/* --- the mesh ----------------------------------------------------------------------------------------------------- */

static const char *find_refusal(const struct pccl__problem *problem)
{
    const struct pccl_topology *topology = problem->topology;
    uint64_t path_links = 0;
    if (topology->num_dimensions == 0 || topology->routing == PCCL_ROUTING_NONE) {
        return "needs a mesh that passes messages through";
    }
    for (uint32_t d = 0; d < topology->num_dimensions; d++) {
        if (topology->wraps[d]) {
            return "needs a mesh, no ring";
        }
        path_links += (uint64_t)topology->num_devices * topology->dimensions[d] * topology->dimensions[d] / 3;
    }
    if (path_links > MOST_PATH_LINKS) {
        return "the lines are too long";
    }
    return problem->num_ranks != topology->num_devices ? "needs all devices of the mesh" : NULL;
}

/* Dimensions of extent 1 do not count. */
static void list_dimensions(const struct pccl_topology *topology, struct lines *lines)
{
    uint32_t stride = 1;
    lines->num_devices = topology->num_devices;
    for (uint32_t d = topology->num_dimensions; d > 0; d--) {
        if (topology->dimensions[d - 1] > 1) {
            lines->extents[lines->num_dimensions] = topology->dimensions[d - 1];
            lines->strides[lines->num_dimensions++] = stride;
        }
        stride *= topology->dimensions[d - 1];
    }
}

static uint32_t coordinate(const struct lines *lines, uint32_t device, uint32_t dimension)
{
    return device / lines->strides[dimension] % lines->extents[dimension];
}

static uint32_t find_link(const struct pccl_topology *topology, uint32_t source, uint32_t target)
{
    for (uint32_t i = topology->first_out[source]; i < topology->first_out[source + 1]; i++) {
        if (topology->links[topology->out_links[i]].target == target) {
            return topology->out_links[i];
        }
    }
    return PCCL_NONE;
}

/* The paths from a device up or down its line: each is the one before and a link more. */
static int find_paths(struct lines *lines, uint32_t dimension, uint32_t device, bool up, uint32_t *route)
{
    const struct pccl_topology *topology = lines->problem->topology;
    uint32_t extent = lines->extents[dimension], at = coordinate(lines, device, dimension), length = 0;
    uint32_t here = device, *paths = lines->paths[dimension] + (size_t)device * extent;
    while (up ? at + 1 < extent : at > 0) {
        uint32_t next = up ? here + lines->strides[dimension] : here - lines->strides[dimension];
        route[length] = find_link(topology, here, next);
        if (route[length] == PCCL_NONE) {
            return PCCL_ERR_UNREACHABLE;
        }
        at = up ? at + 1 : at - 1;
        paths[at] = pccl_schedule_path(lines->schedule, topology, route, ++length);
        if (paths[at] == PCCL_NONE) {
            return PCCL_ERR_MEMORY;
        }
        here = next;
    }
    return 0;
}

static int find_all_paths(struct lines *lines, uint32_t dimension)
{
    uint32_t extent = lines->extents[dimension];
    uint32_t *route = pccl__array_new(extent, sizeof *route);
    lines->paths[dimension] = pccl__array_new((size_t)lines->num_devices * extent, sizeof *lines->paths[dimension]);
    int status = route != NULL && lines->paths[dimension] != NULL ? 0 : PCCL_ERR_MEMORY;
    for (uint32_t device = 0; device < lines->num_devices && status == 0; device++) {
        status = find_paths(lines, dimension, device, true, route);
        status = status == 0 ? find_paths(lines, dimension, device, false, route) : status;
    }
    free(route);
    return status;
}

/* --- slots of a line ---------------------------------------------------------------------------------------------- */

/* As many intervals as this lie over the middle link. */
static uint32_t count_slots(uint32_t extent)
{
    return (extent / 2) * (extent - extent / 2);
}

/* From left to right: an interval takes a slot that is free where it begins. free_slots: room for all slots. */
static void assign_slots(uint32_t extent, uint32_t *slot_of, uint32_t *free_slots)
{
    uint32_t num_free = 0;
    for (uint32_t slot = count_slots(extent); slot > 0; slot--) {
        free_slots[num_free++] = slot - 1;
    }
    for (uint32_t place = 0; place < extent; place++) {
        for (uint32_t low = 0; low < place; low++) {
            free_slots[num_free++] = slot_of[low * extent + place];
        }
        for (uint32_t high = extent - 1; high > place; high--) {
            slot_of[place * extent + high] = free_slots[--num_free];
        }
    }
}

static int pack(uint32_t extent, struct packing *packing)
{
    uint32_t num_pairs = extent * (extent - 1) / 2;
    packing->num_slots = count_slots(extent);
    packing->first = pccl__array_new((size_t)packing->num_slots + 1, sizeof *packing->first);
    packing->low = pccl__array_new(num_pairs, sizeof *packing->low);
    packing->high = pccl__array_new(num_pairs, sizeof *packing->high);
    uint32_t *slot_of = pccl__array_new((size_t)extent * extent, sizeof *slot_of);
    uint32_t *free_slots = pccl__array_new((size_t)packing->num_slots, sizeof *free_slots);
    int status = PCCL_ERR_MEMORY;
    if (packing->first != NULL && packing->low != NULL && packing->high != NULL && slot_of != NULL &&
        free_slots != NULL) {
        assign_slots(extent, slot_of, free_slots);
        for (uint32_t pass = 0; pass < 2; pass++) {
            for (uint32_t low = extent; low-- > 0;) {
                for (uint32_t high = extent; --high > low;) {
                    uint32_t *first = &packing->first[slot_of[low * extent + high]];
                    if (pass == 0) {
                        ++*first;
                    } else {
                        packing->low[--*first] = low;
                        packing->high[*first] = high;
                    }
                }
            }
            for (uint32_t slot = 0; pass == 0 && slot < packing->num_slots; slot++) {
                packing->first[slot + 1] += packing->first[slot];
            }
        }
        status = 0;
    }
    free(slot_of);
    free(free_slots);
    return status;
}

/* --- phases ------------------------------------------------------------------------------------------------------- */

/* The dimension along which a class moves in a phase is (class + phase) % d; those from the class on came before. */
static bool is_moved(const struct lines *lines, uint32_t dimension, uint32_t phase, uint32_t which)
{
    uint32_t d = lines->num_dimensions, first = (dimension + d - phase) % d;
    return (which + d - first) % d < phase;
}

static void sort_bundle(struct lines *lines, uint32_t dimension, uint32_t phase)
{
    struct bundle *bundle = &lines->bundles[dimension];
    uint32_t d = lines->num_dimensions, line = 0, next[PCCL_MAX_DIMENSIONS] = {0};
    memset(bundle->first, 0, sizeof bundle->first);
    for (uint32_t device = 0; device < lines->num_devices; device++) {
        if (coordinate(lines, device, dimension) != 0) {
            continue;
        }
        uint32_t sum = 0, moved = 0;
        for (uint32_t other = 0; other < d; other++) {
            uint32_t at = coordinate(lines, device, other);
            sum += at;
            moved += is_moved(lines, dimension, phase, other) ? at * lines->strides[other] : 0;
        }
        bundle->moved[line] = moved;
        bundle->kept[line] = device - moved;
        bundle->residue[line++] = sum % d;
        bundle->first[sum % d + 1]++;
    }
    bundle->largest = 0;
    for (uint32_t r = 0; r < d; r++) {
        bundle->largest = bundle->first[r + 1] > bundle->largest ? bundle->first[r + 1] : bundle->largest;
        bundle->first[r + 1] += bundle->first[r];
        next[r] = bundle->first[r];
    }
    for (line = 0; line < bundle->num_lines; line++) {
        bundle->group[next[bundle->residue[line]]++] = line;
    }
}

/* On every line a block from one place to another: number `turn` of those in the class at hand. */
static int send_along(struct lines *lines, uint32_t dimension, uint32_t class, uint32_t turn, uint32_t from,
                      uint32_t to, uint32_t step)
{
    const struct bundle *bundle = &lines->bundles[dimension];
    uint32_t d = lines->num_dimensions, extent = lines->extents[dimension], stride = lines->strides[dimension];
    int status = 0;
    for (uint32_t line = 0; line < bundle->num_lines && status == 0; line++) {
        uint32_t wanted = (class + 2 * d - bundle->residue[line] - (from + to) % d) % d;
        if (turn >= bundle->first[wanted + 1] - bundle->first[wanted]) {
            continue;
        }
        uint32_t rest = bundle->group[bundle->first[wanted] + turn];
        uint32_t source = from * stride + bundle->moved[rest] + bundle->kept[line];
        uint32_t target = to * stride + bundle->moved[line] + bundle->kept[rest];
        uint32_t here = from * stride + bundle->moved[line] + bundle->kept[line];
        uint32_t chunk = lines->rank[source] * lines->num_devices + lines->rank[target];
        uint32_t path = lines->paths[dimension][(size_t)here * extent + to];
        status = pccl_schedule_add(lines->schedule, step, path, false, &chunk, 1);
    }
    return status;
}

/* Everything of a phase in one of its slots. *more: some dimension has slots left. */
static int write_slot(struct lines *lines, uint32_t phase, uint32_t slot, uint32_t step, bool *more)
{
    uint32_t d = lines->num_dimensions;
    int status = 0;
    *more = false;
    for (uint32_t dimension = 0; dimension < d; dimension++) {
        const struct packing *packing = &lines->packings[dimension];
        uint32_t turn = slot / packing->num_slots, within = slot % packing->num_slots;
        uint32_t class = (dimension + d - phase) % d;
        if (turn >= lines->bundles[dimension].largest) {
            continue;
        }
        *more = true;
        for (uint32_t i = packing->first[within]; i < packing->first[within + 1] && status == 0; i++) {
            status = send_along(lines, dimension, class, turn, packing->low[i], packing->high[i], step);
            status = status == 0 ? send_along(lines, dimension, class, turn, packing->high[i], packing->low[i], step)
                                 : status;
        }
    }
    return status;
}

static int write_all(struct lines *lines)
{
    uint32_t step = 0;
    int status = 0;
    for (uint32_t phase = 0; phase < lines->num_dimensions && status == 0; phase++) {
        for (uint32_t dimension = 0; dimension < lines->num_dimensions; dimension++) {
            sort_bundle(lines, dimension, phase);
        }
        bool more = true;
        for (uint32_t slot = 0; more && status == 0; slot++, step++) {
            status = write_slot(lines, phase, slot, step, &more);
        }
    }
    return status == 0 ? pccl_schedule_seal(lines->schedule) : status;
}

/* --- beginning and end -------------------------------------------------------------------------------------------- */

static int open_bundle(const struct lines *lines, uint32_t dimension, struct bundle *bundle)
{
    bundle->num_lines = lines->num_devices / lines->extents[dimension];
    bundle->moved = pccl__array_new(bundle->num_lines, sizeof *bundle->moved);
    bundle->kept = pccl__array_new(bundle->num_lines, sizeof *bundle->kept);
    bundle->residue = pccl__array_new(bundle->num_lines, sizeof *bundle->residue);
    bundle->group = pccl__array_new(bundle->num_lines, sizeof *bundle->group);
    bool complete = bundle->moved != NULL && bundle->kept != NULL && bundle->residue != NULL && bundle->group != NULL;
    return complete ? 0 : PCCL_ERR_MEMORY;
}

static int open_lines(struct lines *lines)
{
    list_dimensions(lines->problem->topology, lines);
    lines->rank = pccl__array_new(lines->num_devices, sizeof *lines->rank);
    int status = lines->rank != NULL ? 0 : PCCL_ERR_MEMORY;
    for (uint32_t rank = 0; rank < lines->num_devices && status == 0; rank++) {
        lines->rank[lines->problem->request->devices[rank]] = rank;
    }
    for (uint32_t dimension = 0; dimension < lines->num_dimensions && status == 0; dimension++) {
        status = pack(lines->extents[dimension], &lines->packings[dimension]);
        status = status == 0 ? open_bundle(lines, dimension, &lines->bundles[dimension]) : status;
        status = status == 0 ? find_all_paths(lines, dimension) : status;
    }
    return status;
}

static void close_lines(struct lines *lines)
{
    free(lines->rank);
    for (uint32_t dimension = 0; dimension < lines->num_dimensions; dimension++) {
        free(lines->paths[dimension]);
        free(lines->packings[dimension].first);
        free(lines->packings[dimension].low);
        free(lines->packings[dimension].high);
        free(lines->bundles[dimension].moved);
        free(lines->bundles[dimension].kept);
        free(lines->bundles[dimension].residue);
        free(lines->bundles[dimension].group);
    }
}

int pccl__lines_algorithm(const struct pccl__problem *problem, uint32_t pieces, struct pccl_schedule **schedule,
                          struct pccl_error *error)
{
    struct lines lines = {.problem = problem};
    const char *refusal = find_refusal(problem);
    if (refusal != NULL) {
        return pccl__reject(error, refusal);
    }
    int status = pccl__schedule_begin(problem, pieces, &lines.schedule, error);
    if (status != 0) {
        return status;
    }
    status = open_lines(&lines);
    status = status == 0 ? write_all(&lines) : status;
    if (status == PCCL_ERR_UNREACHABLE) {
        status = pccl__reject(error, "needs every link of the mesh");
    } else if (status == PCCL_ERR_MEMORY) {
        pccl__fail_memory(error);
    }
    close_lines(&lines);
    if (status != 0) {
        pccl_schedule_free(lines.schedule);
        return status;
    }
    *schedule = lines.schedule;
    return 0;
}

int64_t pccl__lines_load_ps(const struct pccl__problem *problem)
{
    struct lines lines = {.problem = problem};
    int64_t longest_ps = 0;
    if (find_refusal(problem) != NULL) {
        return -1;
    }
    list_dimensions(problem->topology, &lines);
    for (uint32_t dimension = 0; dimension < lines.num_dimensions; dimension++) {
        uint32_t link = find_link(problem->topology, 0, lines.strides[dimension]);
        if (link == PCCL_NONE) {
            return -1;
        }
        int64_t transfer_ps = pccl_transfer_ps(problem->block_bytes, problem->topology->links[link].ps_per_mib);
        uint32_t num_lines = lines.num_devices / lines.extents[dimension];
        int64_t blocks = (int64_t)count_slots(lines.extents[dimension]) * num_lines;
        int64_t load_ps = pccl__times_ps(transfer_ps, blocks);
        longest_ps = load_ps > longest_ps ? load_ps : longest_ps;
    }
    return longest_ps;
}
