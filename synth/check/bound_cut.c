#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "check/bounding.h"
#include "topology/placement.h"

#define RATE_BITS 60

void pccl__rate_add(struct pccl__rate *rate, int64_t ps_per_mib)
{
    rate->count++;
    if (ps_per_mib == 0) {
        rate->infinite = true;
        return;
    }
    rate->mixed = rate->mixed || (rate->ps_per_mib >= 0 && rate->ps_per_mib != ps_per_mib);
    rate->ps_per_mib = ps_per_mib;
    rate->sum += ((UINT64_C(1) << RATE_BITS) + (uint64_t)ps_per_mib - 1) / (uint64_t)ps_per_mib;
}

void pccl__rate_join(struct pccl__rate *rate, const struct pccl__rate *other)
{
    rate->mixed = rate->mixed || other->mixed ||
                  (rate->ps_per_mib >= 0 && other->ps_per_mib >= 0 && rate->ps_per_mib != other->ps_per_mib);
    rate->ps_per_mib = other->ps_per_mib >= 0 ? other->ps_per_mib : rate->ps_per_mib;
    rate->infinite = rate->infinite || other->infinite;
    rate->count += other->count;
    rate->sum += other->sum;
    rate->min_latency_ps = other->min_latency_ps < rate->min_latency_ps ? other->min_latency_ps : rate->min_latency_ps;
}

int64_t pccl__rate_time(const struct pccl__rate *rate, unsigned __int128 amount)
{
    if (amount == 0 || rate->infinite) {
        return 0;
    }
    if (rate->count == 0) {
        return PCCL__BOUND_MAX_PS;
    }
    /* Both ways divide by 2^20, the bytes of a MiB; amounts that would overflow are cut down, which is safe. */
    const unsigned __int128 limit = (unsigned __int128)1 << 86;
    amount = amount < limit ? amount : limit;
    unsigned __int128 dividend = amount << (RATE_BITS - 20), divisor = rate->sum;
    if (!rate->mixed && rate->ps_per_mib < INT64_C(1) << 40) {
        dividend = amount * (uint64_t)rate->ps_per_mib;
        divisor = (unsigned __int128)rate->count << 20;
    }
    unsigned __int128 time = dividend / divisor + (dividend % divisor != 0);
    return time < PCCL__BOUND_MAX_PS ? (int64_t)time : PCCL__BOUND_MAX_PS;
}

/* One part: what leaves and enters it, and what can. */
struct part {
    struct pccl__side side;
    struct pccl__rate out, in;
    uint32_t out_stamp, in_stamp;          /* capacity being added, plus 1 */
    int64_t out_ps_per_mib, in_ps_per_mib; /* fastest link of that capacity */
    uint32_t num_sources, num_targets;     /* of one chunk of a custom pattern */
};

/* Notes that a capacity has a link across the edge of a part; it counts once, with its fastest such link. */
static void cross(struct pccl__rate *rate, uint32_t *stamp, int64_t *fastest, uint32_t capacity,
                  const struct pccl_link *link)
{
    if (*stamp != capacity + 1) {
        *stamp = capacity + 1;
        *fastest = link->ps_per_mib;
    } else if (link->ps_per_mib < *fastest) {
        *fastest = link->ps_per_mib;
    }
    if (link->latency_ps < rate->min_latency_ps) {
        rate->min_latency_ps = link->latency_ps;
    }
}

static void sum_rates(const struct pccl__bounding *bounding, const uint32_t *part_of, struct part *parts)
{
    const struct pccl_link *links = bounding->topology->links;
    for (uint32_t c = 0; c < bounding->topology->num_capacities; c++) {
        const uint32_t first = bounding->first_of_capacity[c], end = bounding->first_of_capacity[c + 1];
        for (uint32_t i = first; i < end; i++) {
            const struct pccl_link *link = &links[bounding->capacity_links[i]];
            uint32_t from = part_of[link->source], to = part_of[link->target];
            if (from != to && from != PCCL_NONE) {
                cross(&parts[from].out, &parts[from].out_stamp, &parts[from].out_ps_per_mib, c, link);
            }
            if (from != to && to != PCCL_NONE) {
                cross(&parts[to].in, &parts[to].in_stamp, &parts[to].in_ps_per_mib, c, link);
            }
        }
        for (uint32_t i = first; i < end; i++) {
            const struct pccl_link *link = &links[bounding->capacity_links[i]];
            struct part *from = part_of[link->source] != PCCL_NONE ? &parts[part_of[link->source]] : NULL;
            struct part *to = part_of[link->target] != PCCL_NONE ? &parts[part_of[link->target]] : NULL;
            if (from != NULL && from->out_stamp == c + 1) {
                pccl__rate_add(&from->out, from->out_ps_per_mib);
                from->out_stamp = 0;
            }
            if (to != NULL && to->in_stamp == c + 1) {
                pccl__rate_add(&to->in, to->in_ps_per_mib);
                to->in_stamp = 0;
            }
        }
    }
}

static void sum_members(const struct pccl__bounding *bounding, const uint32_t *part_of, struct part *parts)
{
    const struct pccl_request *request = bounding->request;
    bool by_pair = request->collective == PCCL_ALLTOALL;
    for (uint32_t r = 0; r < request->num_ranks; r++) {
        uint32_t p = part_of[request->devices[r]];
        if (p != PCCL_NONE) {
            struct pccl__side *side = &parts[p].side;
            side->lowest = side->num_members == 0 ? r : side->lowest;
            side->highest = r;
            side->num_members++;
            side->bytes += by_pair ? 0 : pccl__bound_block_bytes(request, r);
            side->has_root = side->has_root || r == request->root;
        }
        for (uint32_t t = 0; by_pair && request->block_bytes != NULL && t < request->num_ranks; t++) {
            uint32_t q = part_of[request->devices[t]];
            int64_t bytes = p != q ? pccl__bound_pair_bytes(request, r, t) : 0;
            if (p != PCCL_NONE) {
                parts[p].side.out_bytes += (uint64_t)bytes;
            }
            if (q != PCCL_NONE) {
                parts[q].side.in_bytes += (uint64_t)bytes;
            }
        }
    }
}

/* Adds the bytes of a chunk to a part whose holders are counted, and forgets the count: contributions cross where one
 * is on the other side; other chunks come in only if nobody inside has them, and go out only if nobody outside has. */
static void settle_chunk(struct part *part, const struct pccl_chunk *chunk, bool reduces)
{
    const uint32_t sources = part->num_sources, targets = part->num_targets;
    bool leaves = targets < chunk->num_targets && (reduces ? sources > 0 : sources == chunk->num_sources);
    bool enters = targets > 0 && (reduces ? sources < chunk->num_sources : sources == 0);
    part->side.out_bytes += leaves ? (uint64_t)chunk->bytes : 0;
    part->side.in_bytes += enters ? (uint64_t)chunk->bytes : 0;
    part->num_sources = part->num_targets = 0;
}

/* Returns the bytes of the messages between parts that reductions need at least, see bound_reductions. */
static unsigned __int128 sum_chunks(const struct pccl__bounding *bounding, const uint32_t *part_of, struct part *parts)
{
    unsigned __int128 moved = 0;
    const struct pccl_demand *custom = bounding->request->custom;
    const uint32_t *devices = bounding->request->devices;
    for (uint32_t c = 0; c < custom->num_chunks; c++) {
        const struct pccl_chunk *chunk = &custom->chunks[c];
        const uint32_t *sources = custom->holders + chunk->first_source,
                       *targets = custom->holders + chunk->first_target;
        for (uint32_t i = 0; i < chunk->num_sources; i++) {
            uint32_t p = part_of[devices[sources[i]]];
            if (p != PCCL_NONE) {
                parts[p].num_sources++;
            }
        }
        for (uint32_t i = 0; i < chunk->num_targets; i++) {
            uint32_t p = part_of[devices[targets[i]]];
            if (p != PCCL_NONE) {
                parts[p].num_targets++;
            }
        }
        uint64_t num_ends = 0;
        for (uint32_t i = 0; i < chunk->num_sources + chunk->num_targets; i++) {
            uint32_t p = part_of[devices[i < chunk->num_sources ? sources[i] : targets[i - chunk->num_sources]]];
            if (p != PCCL_NONE && parts[p].num_sources + parts[p].num_targets > 0) {
                num_ends += (parts[p].num_sources > 0) + (uint64_t)(parts[p].num_targets > 0);
                settle_chunk(&parts[p], chunk, custom->reduces);
            }
        }
        moved += num_ends > 2 ? (unsigned __int128)(num_ends - 2) * (uint64_t)chunk->bytes : 0;
    }
    return moved;
}

/* Bytes that must leave and enter a side. A chunk that has holders inside and receivers outside leaves at least once;
 * of a reduction, at least one partial result does. */
static void sum_demand(const struct pccl_request *request, const struct pccl__side *side, unsigned __int128 total,
                       unsigned __int128 *out, unsigned __int128 *in)
{
    const uint64_t inside = side->num_members, outside = request->num_ranks - inside;
    const uint64_t all = (uint64_t)request->bytes, own = (uint64_t)side->bytes;
    const unsigned __int128 others = total - own;
    *out = *in = 0;
    if (request->collective == PCCL_CUSTOM) {
        *out = side->out_bytes;
        *in = side->in_bytes;
    }
    if (inside == 0 || outside == 0) {
        return;
    }
    switch (request->collective) {
    case PCCL_ALLGATHER:
        *out = own;
        *in = others;
        break;
    case PCCL_REDUCE_SCATTER:
        *out = others;
        *in = own;
        break;
    case PCCL_ALLREDUCE:
        *out = *in = all;
        break;
    case PCCL_BROADCAST:
        *out = side->has_root ? all : 0;
        *in = side->has_root ? 0 : all;
        break;
    case PCCL_REDUCE:
        *out = side->has_root ? 0 : all;
        *in = side->has_root ? all : 0;
        break;
    case PCCL_SCAN:
    case PCCL_EXSCAN: /* unless its members are the last, or the first, of all ranks */
        *out = inside < request->num_ranks - side->lowest ? all : 0;
        *in = inside < (uint64_t)side->highest + 1 ? all : 0;
        break;
    case PCCL_GATHER:
        *out = side->has_root ? 0 : own;
        *in = side->has_root ? others : 0;
        break;
    case PCCL_SCATTER:
        *out = side->has_root ? others : 0;
        *in = side->has_root ? 0 : own;
        break;
    case PCCL_ALLTOALL:
        *out = request->block_bytes != NULL ? side->out_bytes : (unsigned __int128)inside * outside * all;
        *in = request->block_bytes != NULL ? side->in_bytes : *out;
        break;
    default:
        break;
    }
}

/* The first byte crosses after the least overhead, and the last has a latency and an overhead still to go. */
static void raise_cut(struct pccl__bounding *bounding, const struct pccl__rate *rate, unsigned __int128 amount,
                      const char *argument)
{
    if (amount > 0) {
        int64_t time = pccl__rate_time(rate, amount);
        int64_t fixed = bounding->min_send_ps + bounding->min_receive_ps + (rate->count > 0 ? rate->min_latency_ps : 0);
        pccl__bound_raise(bounding, time + fixed, argument);
    }
}

unsigned __int128 pccl__bound_total(const struct pccl_request *request)
{
    unsigned __int128 total = 0;
    const bool by_rank = request->collective != PCCL_ALLTOALL && request->collective != PCCL_CUSTOM;
    for (uint32_t r = 0; r < request->num_ranks && by_rank; r++) {
        total += (uint64_t)pccl__bound_block_bytes(request, r);
    }
    return total;
}

void pccl__bound_side(struct pccl__bounding *bounding, const struct pccl__side *side, unsigned __int128 total,
                      const struct pccl__rate *out, const struct pccl__rate *in, const char *argument)
{
    unsigned __int128 out_bytes, in_bytes;
    sum_demand(bounding->request, side, total, &out_bytes, &in_bytes);
    raise_cut(bounding, out, out_bytes, argument);
    raise_cut(bounding, in, in_bytes, argument);
}

/* All-reduce: contract each part to one rank. For every byte, some part is the first to know the result; by then each
 * other part has sent, and afterwards each other part has yet to receive: 2(p - 1) messages, each of which leaves the
 * part it starts in. Needs every device that may hold something in a part with a member, and switches that hold
 * nothing. */
static void bound_allreduce(struct pccl__bounding *bounding, const struct part *parts, uint32_t num_parts,
                            const char *argument)
{
    struct pccl__rate out = PCCL__RATE_NONE;
    uint32_t num_occupied = 0;
    for (uint32_t p = 0; p < num_parts; p++) {
        if (parts[p].side.num_members > 0) {
            num_occupied++;
            pccl__rate_join(&out, &parts[p].out);
        } else if (bounding->request->relays && (parts[p].out.count > 0 || parts[p].in.count > 0)) {
            return;
        }
    }
    if (num_occupied >= 2 && !bounding->multicasts) {
        unsigned __int128 messages = 2 * (unsigned __int128)(num_occupied - 1);
        raise_cut(bounding, &out, messages * (uint64_t)bounding->request->bytes, argument);
    }
}

/* The same for each chunk of a custom reduction: of s parts with contributions and t parts with targets, the first to
 * know the result is at most one of either. All parts count as senders, whoever is in them. */
static void bound_reductions(struct pccl__bounding *bounding, const struct part *parts, uint32_t num_parts,
                             unsigned __int128 moved, const char *argument)
{
    struct pccl__rate out = PCCL__RATE_NONE;
    for (uint32_t p = 0; p < num_parts; p++) {
        pccl__rate_join(&out, &parts[p].out);
    }
    if (!bounding->multicasts) {
        raise_cut(bounding, &out, moved, argument);
    }
}

int pccl__bound_partition(struct pccl__bounding *bounding, const uint32_t *part_of, uint32_t num_parts, bool whole,
                          const char *argument)
{
    const struct pccl_request *request = bounding->request;
    struct part *parts = pccl__array_new(num_parts, sizeof *parts);
    if (parts == NULL) {
        return PCCL_ERR_MEMORY;
    }
    for (uint32_t p = 0; p < num_parts; p++) {
        parts[p].out = parts[p].in = PCCL__RATE_NONE;
    }
    unsigned __int128 moved = 0;
    sum_rates(bounding, part_of, parts);
    if (request->collective == PCCL_CUSTOM) {
        moved = sum_chunks(bounding, part_of, parts);
    } else {
        sum_members(bounding, part_of, parts);
    }
    const unsigned __int128 total = pccl__bound_total(request);
    for (uint32_t p = 0; p < num_parts; p++) {
        pccl__bound_side(bounding, &parts[p].side, total, &parts[p].out, &parts[p].in, argument);
    }
    if (request->collective == PCCL_ALLREDUCE && whole) {
        bound_allreduce(bounding, parts, num_parts, argument);
    }
    if (request->collective == PCCL_CUSTOM && request->custom->reduces && whole) {
        bound_reductions(bounding, parts, num_parts, moved, argument);
    }
    free(parts);
    return 0;
}

/* --- partitions -------------------------------------------------------------------------------------------------- */

/* Puts each switch into the part that more than half of its cables lead to, for as long as that changes something. */
static void draw_in_switches(const struct pccl_topology *topology, uint32_t *part_of, uint32_t *votes)
{
    bool changed = true;
    for (int round = 0; changed && round < 4; round++) {
        changed = false;
        for (uint32_t v = topology->num_devices; v < topology->num_vertices; v++) {
            const uint32_t first = topology->first_out[v], end = topology->first_out[v + 1];
            uint32_t winner = PCCL_NONE;
            for (uint32_t i = first; i < end && winner == PCCL_NONE; i++) {
                uint32_t part = part_of[topology->links[topology->out_links[i]].target];
                if (part != PCCL_NONE && ++votes[part] > (end - first) / 2) {
                    winner = part;
                }
            }
            for (uint32_t i = first; i < end; i++) {
                uint32_t part = part_of[topology->links[topology->out_links[i]].target];
                if (part != PCCL_NONE) {
                    votes[part] = 0;
                }
            }
            changed = changed || (winner != PCCL_NONE && part_of[v] != winner);
            part_of[v] = winner != PCCL_NONE ? winner : part_of[v];
        }
    }
}

/* Blocks of consecutive devices, of every size that divides their number. */
static int bound_blocks(struct pccl__bounding *bounding, uint32_t *part_of, uint32_t *votes)
{
    const struct pccl_topology *topology = bounding->topology;
    for (uint32_t size = 2; size <= topology->num_devices / 2; size++) {
        if (topology->num_devices % size != 0) {
            continue;
        }
        for (uint32_t v = 0; v < topology->num_vertices; v++) {
            part_of[v] = v < topology->num_devices ? v / size : PCCL_NONE;
        }
        draw_in_switches(topology, part_of, votes);
        int status = pccl__bound_partition(bounding, part_of, topology->num_devices / size, true,
                                           "cut around consecutive devices");
        if (status != 0) {
            return status;
        }
    }
    return 0;
}

/* Joins each part with the first switch next to it, and with the other parts that do the same. Parts are named by a
 * vertex of theirs. Returns the number of parts that hold devices. */
static uint32_t climb(const struct pccl_topology *topology, uint32_t *part_of, uint32_t *up)
{
    memset(up, 0xff, topology->num_vertices * sizeof *up);
    for (uint32_t l = 0; l < topology->num_links; l++) {
        uint32_t part = part_of[topology->links[l].source], to = topology->links[l].target;
        if (part != PCCL_NONE && to >= topology->num_devices && part_of[to] != part && to < up[part]) {
            up[part] = to;
        }
    }
    for (uint32_t v = 0; v < topology->num_vertices; v++) {
        if (part_of[v] != PCCL_NONE && up[part_of[v]] != PCCL_NONE) {
            part_of[v] = up[part_of[v]];
        }
    }
    memset(up, 0, topology->num_vertices * sizeof *up);
    uint32_t num_parts = 0;
    for (uint32_t d = 0; d < topology->num_devices; d++) {
        uint32_t part = part_of[d];
        part_of[part] = part;
        num_parts += up[part]++ == 0;
    }
    memset(up, 0, topology->num_vertices * sizeof *up);
    return num_parts;
}

/* The devices around each switch, then the switches around each of those, and so on: leaves, pods, ... */
static int bound_switches(struct pccl__bounding *bounding, uint32_t *part_of, uint32_t *votes)
{
    const struct pccl_topology *topology = bounding->topology;
    for (uint32_t v = 0; v < topology->num_vertices; v++) {
        part_of[v] = v < topology->num_devices ? v : PCCL_NONE;
    }
    uint32_t num_parts = topology->num_devices;
    for (int level = 0; level < 6 && num_parts > 1; level++) {
        uint32_t before = num_parts;
        num_parts = climb(topology, part_of, votes);
        if (level > 0 && num_parts == before) {
            break;
        }
        draw_in_switches(topology, part_of, votes);
        int status = pccl__bound_partition(bounding, part_of, topology->num_vertices, true, "cut around a switch");
        if (status != 0) {
            return status;
        }
    }
    return 0;
}

/* Hosts of a topology that was made by placing ranks. */
static int bound_hosts(struct pccl__bounding *bounding, uint32_t *part_of, uint32_t *votes)
{
    const struct pccl_topology *topology = bounding->topology;
    const struct pccl__placement *placement = pccl__topology_placement(topology);
    const uint32_t num_hosts = placement->fabric->num_devices;
    for (uint32_t v = 0; v < topology->num_vertices; v++) {
        uint32_t host = v < topology->num_devices ? placement->places[v].host : v - topology->num_devices;
        part_of[v] = host < num_hosts ? host : PCCL_NONE;
    }
    draw_in_switches(topology, part_of, votes);
    return pccl__bound_partition(bounding, part_of, num_hosts, true, "cut around a host");
}

int pccl__bound_cuts(struct pccl__bounding *bounding)
{
    const struct pccl_topology *topology = bounding->topology;
    uint32_t *part_of = pccl__array_new(topology->num_vertices, sizeof *part_of);
    uint32_t *votes = pccl__array_new(topology->num_vertices, sizeof *votes);
    int status = part_of == NULL || votes == NULL ? PCCL_ERR_MEMORY : 0;
    if (status == 0) {
        for (uint32_t v = 0; v < topology->num_vertices; v++) {
            part_of[v] = v < topology->num_devices ? v : PCCL_NONE;
        }
        status = pccl__bound_partition(bounding, part_of, topology->num_devices, true, "node bandwidth");
    }
    if (status == 0 && topology->num_vertices > topology->num_devices) {
        status = bound_switches(bounding, part_of, votes);
    }
    if (status == 0 && pccl__topology_placement(topology) != NULL) {
        status = bound_hosts(bounding, part_of, votes);
    }
    if (status == 0) {
        status = bound_blocks(bounding, part_of, votes);
    }
    free(votes);
    free(part_of);
    return status;
}
