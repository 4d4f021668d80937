/* All-gather dimension by dimension on grids: along the lines of one dimension in both directions, then along those of
 * the next with all that has come together, and so on. Few large messages between neighbours, so that no link is
 * shared; what it costs are the links of the other dimensions, which idle meanwhile. Split, every block has a part for
 * each dimension that begins with it, and all links work all the time (Sack and Gropp, 2012). */
#include <stdlib.h>
#include <string.h>

#include "algorithms/meter.h"
#include "algorithms/portfolio.h"
#include "base/array.h"
#include "base/error.h"

#define MOST_CARRIED (1u << 24) /* chunks that all messages together may carry */

/* The ranks as a box of their own: what the group uses of the topology's grid. */
struct box {
    uint32_t num_ranks, num_dimensions;
    uint32_t extents[PCCL_MAX_DIMENSIONS], strides[PCCL_MAX_DIMENSIONS]; /* the smallest stride first */
    bool wraps[PCCL_MAX_DIMENSIONS];
    uint32_t *rank_at; /* [num_ranks] by position, the sum of coordinates times strides */
};

/* One part of every block on its way through the dimensions. */
struct part {
    uint32_t number, first_dimension;
    uint32_t phase, step;  /* what comes next; phase = num_dimensions: done */
    uint32_t num_gathered; /* blocks that have come together before this phase: what a message carries */
    int64_t time_ps;       /* roughly when it comes */
};

/* --- the box ------------------------------------------------------------------------------------------------------ */

static uint32_t find_coordinate(const struct pccl_topology *topology, uint32_t device, uint32_t dimension)
{
    for (uint32_t d = topology->num_dimensions - 1; d > dimension; d--) {
        device /= topology->dimensions[d];
    }
    return device % topology->dimensions[dimension];
}

/* Adds a dimension, the members' coordinates in it numbered without gaps; positions[rank] grows by its share. */
static void add_dimension(const struct pccl__problem *problem, uint32_t dimension, struct box *box, uint32_t *index,
                          uint32_t *positions)
{
    const struct pccl_topology *topology = problem->topology;
    uint32_t extent = topology->dimensions[dimension], used = 0;
    memset(index, 0, extent * sizeof *index);
    for (uint32_t rank = 0; rank < problem->num_ranks; rank++) {
        index[find_coordinate(topology, problem->request->devices[rank], dimension)] = 1;
    }
    for (uint32_t i = 0; i < extent; i++) {
        uint32_t is_used = index[i];
        index[i] = used;
        used += is_used;
    }
    if (used < 2) {
        return;
    }
    uint32_t stride = 1;
    for (uint32_t d = 0; d < box->num_dimensions; d++) {
        stride *= box->extents[d];
    }
    box->extents[box->num_dimensions] = used;
    box->strides[box->num_dimensions] = stride;
    box->wraps[box->num_dimensions++] = topology->wraps[dimension] && used == extent && used > 2;
    for (uint32_t rank = 0; rank < problem->num_ranks; rank++) {
        positions[rank] += stride * index[find_coordinate(topology, problem->request->devices[rank], dimension)];
    }
}

/* Returns PCCL_ERR_UNSUPPORTED if the group does not fill a box. */
static int open_box(const struct pccl__problem *problem, struct box *box)
{
    const struct pccl_topology *topology = problem->topology;
    uint32_t n = problem->num_ranks;
    *box = (struct box){.num_ranks = n};
    if (topology->num_dimensions == 0 || n < 2) {
        return PCCL_ERR_UNSUPPORTED;
    }
    uint32_t *positions = pccl__array_new((size_t)n + topology->num_devices, sizeof *positions);
    box->rank_at = pccl__array_new(n, sizeof *box->rank_at);
    int status = positions != NULL && box->rank_at != NULL ? 0 : PCCL_ERR_MEMORY;
    uint64_t volume = 1;
    for (uint32_t d = topology->num_dimensions; d > 0 && status == 0; d--) {
        uint32_t before = box->num_dimensions;
        add_dimension(problem, d - 1, box, positions + n, positions);
        volume *= box->num_dimensions > before ? box->extents[before] : 1;
        status = volume <= n ? 0 : PCCL_ERR_UNSUPPORTED;
    }
    status = status == 0 && volume != n ? PCCL_ERR_UNSUPPORTED : status;
    for (uint32_t rank = 0; rank < n && status == 0; rank++) {
        box->rank_at[positions[rank]] = rank;
    }
    free(positions);
    return status;
}

static void close_box(struct box *box)
{
    free(box->rank_at);
}

static uint32_t count_parts(const struct pccl__problem *problem, const struct box *box)
{
    return problem->variant == PCCL__SPLIT ? box->num_dimensions : 1;
}

static const char *find_refusal(const struct pccl__problem *problem, const struct box *box)
{
    uint64_t carried = (uint64_t)box->num_ranks * box->num_ranks * count_parts(problem, box);
    if (problem->variant == PCCL__SPLIT && box->num_dimensions < 2) {
        return "needs two dimensions";
    }
    return carried > MOST_CARRIED ? "too many chunks in all messages" : NULL;
}

/* --- the course of a part ----------------------------------------------------------------------------------------- */

static uint32_t part_dimension(const struct box *box, const struct part *part, uint32_t phase)
{
    return (part->first_dimension + phase) % box->num_dimensions;
}

static uint32_t count_steps(const struct box *box, uint32_t dimension)
{
    return box->wraps[dimension] ? box->extents[dimension] / 2 : box->extents[dimension] - 1;
}

/* Whether what arrives in this step comes half from either side: see send_along. */
static bool is_halved(const struct box *box, const struct part *part)
{
    uint32_t dimension = part_dimension(box, part, part->phase), extent = box->extents[dimension];
    return box->wraps[dimension] && extent % 2 == 0 && part->step + 1 == extent / 2;
}

/* Time without bytes, and the transfer, of a message of the part's next step. */
struct cost {
    int64_t fixed_ps, transfer_ps;
};

static struct cost find_cost(const struct pccl__problem *problem, const struct box *box, const struct part *part,
                             uint32_t num_parts)
{
    uint32_t from = box->rank_at[0], to = box->rank_at[box->strides[part_dimension(box, part, part->phase)]];
    int64_t bytes = pccl__times_ps(pccl__meter_block(problem) / num_parts + 1, part->num_gathered);
    bytes = is_halved(box, part) && part->num_gathered > 1 ? bytes / 2 : bytes;
    int64_t fixed_ps = pccl__message_ps(problem, from, to, 0);
    return (struct cost){fixed_ps, pccl__message_ps(problem, from, to, bytes) - fixed_ps};
}

/* Messages that a CPU sends, and receives, in a step. (Along a line, the two directions together make about one.) */
static uint32_t count_messages(const struct box *box, const struct part *part)
{
    return box->wraps[part_dimension(box, part, part->phase)] ? 2 : 1;
}

/* A long message goes as two, so that the receiver passes on the first half while the second still arrives. */
static bool is_cut(const struct pccl__problem *problem, const struct box *box, const struct part *part,
                   uint32_t num_parts, const struct cost *cost)
{
    int64_t busy_ps = 2 * num_parts * count_messages(box, part) * pccl__overheads_ps(problem);
    return part->num_gathered > 1 && cost->transfer_ps > cost->fixed_ps && cost->transfer_ps > busy_ps;
}

static int64_t step_ps(const struct cost *cost, bool cut)
{
    int64_t half_ps = cost->fixed_ps + cost->transfer_ps / 2;
    return !cut                        ? pccl__add_ps(cost->fixed_ps, cost->transfer_ps)
           : cost->transfer_ps > half_ps ? cost->transfer_ps
                                       : half_ps;
}

/* To the next step. */
static void advance(const struct pccl__problem *problem, const struct box *box, struct part *part, uint32_t num_parts)
{
    uint32_t dimension = part_dimension(box, part, part->phase);
    struct cost cost = find_cost(problem, box, part, num_parts);
    part->time_ps = pccl__add_ps(part->time_ps, step_ps(&cost, is_cut(problem, box, part, num_parts, &cost)));
    if (++part->step == count_steps(box, dimension)) {
        part->num_gathered *= box->extents[dimension];
        part->phase++;
        part->step = 0;
    }
}

/* The part whose next step comes first, or NULL when all are done. */
static struct part *find_next(const struct box *box, struct part *parts, uint32_t num_parts)
{
    struct part *next = NULL;
    for (uint32_t i = 0; i < num_parts; i++) {
        if (parts[i].phase < box->num_dimensions && (next == NULL || parts[i].time_ps < next->time_ps)) {
            next = &parts[i];
        }
    }
    return next;
}

static void begin_parts(struct part *parts, uint32_t num_parts)
{
    for (uint32_t i = 0; i < num_parts; i++) {
        parts[i] = (struct part){.number = i, .first_dimension = i, .num_gathered = 1};
    }
}

/* --- messages ----------------------------------------------------------------------------------------------------- */

struct course {
    struct box box;
    uint32_t num_parts;
};

struct lists {
    uint32_t *offsets; /* [num_ranks] what has been gathered, see list_gathered */
    uint32_t *chunks;  /* [num_ranks] of the message at hand */
};

/* Whether the part has gone along the dimension before this phase. */
static bool is_gathered(const struct box *box, const struct part *part, uint32_t dimension)
{
    uint32_t phase = dimension + box->num_dimensions - part->first_dimension;
    return phase % box->num_dimensions < part->phase;
}

/* What each position had gathered before this phase: positions relative to the one whose coordinates in the gathered
 * dimensions are zero, ascending. */
static void list_gathered(const struct box *box, const struct part *part, uint32_t *offsets)
{
    uint32_t count = 1;
    offsets[0] = 0;
    for (uint32_t d = 0; d < box->num_dimensions; d++) {
        uint32_t base = is_gathered(box, part, d) ? count : 0;
        for (uint32_t i = 1; i < box->extents[d]; i++) {
            for (uint32_t k = 0; k < base; k++) {
                offsets[count++] = offsets[k] + i * box->strides[d];
            }
        }
    }
}

static uint32_t find_base(const struct box *box, const struct part *part, uint32_t position)
{
    for (uint32_t phase = 0; phase < part->phase; phase++) {
        uint32_t dimension = part_dimension(box, part, phase);
        position -= position / box->strides[dimension] % box->extents[dimension] * box->strides[dimension];
    }
    return position;
}

/* From `position` one step up or down the dimension: what the position `part->step` behind it had before this phase. On
 * a ring of even length what comes to the opposite position comes half from either side. Of that again one of num_cuts
 * shares. */
static void send_along(struct pccl__writer *writer, const struct box *box, const struct part *part, uint32_t position,
                       bool up, uint32_t step, uint32_t cut, uint32_t num_cuts, const struct lists *lists)
{
    uint32_t dimension = part_dimension(box, part, part->phase), extent = box->extents[dimension];
    uint32_t stride = box->strides[dimension], at = position / stride % extent, base = position - at * stride;
    bool wraps = box->wraps[dimension];
    if (!wraps && (up ? at < part->step || at + 1 == extent : at + part->step >= extent || at == 0)) {
        return;
    }
    uint32_t origin = (up ? at + extent - part->step : at + part->step) % extent;
    uint32_t next = (up ? at + 1 : at + extent - 1) % extent, first = 0, last = part->num_gathered;
    if (is_halved(box, part)) {
        uint32_t half = (part->num_gathered + origin % 2) / 2;
        first = up ? half : 0;
        last = up ? last : half;
    }
    uint32_t origin_base = find_base(box, part, base + origin * stride), count = 0;
    uint32_t length = last - first, end = first + length * (cut + 1) / num_cuts;
    for (uint32_t i = first + length * cut / num_cuts; i < end; i++) {
        lists->chunks[count++] = box->rank_at[origin_base + lists->offsets[i]] * writer->pieces + part->number;
    }
    pccl__writer_send(writer, step, box->rank_at[position], box->rank_at[base + next * stride], lists->chunks,
                      count);
}

static void write_step(struct pccl__writer *writer, const struct course *course, const struct part *part, uint32_t step,
                       struct lists *lists)
{
    const struct box *box = &course->box;
    struct cost cost = find_cost(writer->problem, box, part, course->num_parts);
    uint32_t num_cuts = is_cut(writer->problem, box, part, course->num_parts, &cost) ? 2 : 1;
    list_gathered(box, part, lists->offsets);
    for (uint32_t cut = 0; cut < num_cuts; cut++) {
        for (uint32_t position = 0; position < box->num_ranks; position++) {
            send_along(writer, box, part, position, true, step, cut, num_cuts, lists);
            send_along(writer, box, part, position, false, step, cut, num_cuts, lists);
        }
    }
}

static void gather(struct pccl__writer *writer, void *context)
{
    const struct course *course = context;
    const struct box *box = &course->box;
    struct part parts[PCCL_MAX_DIMENSIONS], *next;
    uint32_t *offsets = pccl__array_new(2 * (size_t)box->num_ranks, sizeof *offsets), step = 0;
    struct lists lists = {offsets, offsets != NULL ? offsets + box->num_ranks : NULL};
    int64_t time_ps = 0;
    if (offsets == NULL) {
        pccl__writer_fail(writer, PCCL_ERR_MEMORY, "out of memory");
        return;
    }
    begin_parts(parts, course->num_parts);
    while ((next = find_next(box, parts, course->num_parts)) != NULL && writer->status == 0) {
        step += next->time_ps > time_ps;
        time_ps = next->time_ps;
        write_step(writer, course, next, step, &lists);
        advance(writer->problem, box, next, course->num_parts);
    }
    free(offsets);
}

int pccl__dimensions_algorithm(const struct pccl__problem *problem, uint32_t pieces, struct pccl_schedule **schedule,
                               struct pccl_error *error)
{
    struct course course;
    (void)pieces;
    int status = open_box(problem, &course.box);
    const char *refusal = status == 0 ? find_refusal(problem, &course.box) : "needs a group that is a box of a grid";
    if (status == PCCL_ERR_MEMORY) {
        pccl__fail_memory(error);
    } else if (refusal != NULL) {
        status = pccl__reject(error, refusal);
    } else {
        course.num_parts = count_parts(problem, &course.box);
        status = pccl__gatherer_serve(problem, course.num_parts, gather, &course, schedule, error);
    }
    close_box(&course.box);
    return status;
}

/* --- forecast ----------------------------------------------------------------------------------------------------- */

/* The parts one beside the other, or what the links of a dimension or a CPU have to do in all. */
int64_t pccl__estimate_dimensions(const struct pccl__problem *problem, uint32_t pieces)
{
    struct box box;
    struct part parts[PCCL_MAX_DIMENSIONS], *next;
    int64_t longest_ps = -1;
    (void)pieces;
    if (open_box(problem, &box) == 0 && find_refusal(problem, &box) == NULL) {
        uint32_t num_parts = count_parts(problem, &box);
        int64_t load_ps[PCCL_MAX_DIMENSIONS] = {0}, busy_ps = 0;
        begin_parts(parts, num_parts);
        while ((next = find_next(&box, parts, num_parts)) != NULL) {
            uint32_t dimension = part_dimension(&box, next, next->phase);
            struct cost cost = find_cost(problem, &box, next, num_parts);
            int64_t messages = count_messages(&box, next) * (is_cut(problem, &box, next, num_parts, &cost) ? 2 : 1);
            load_ps[dimension] = pccl__add_ps(load_ps[dimension], cost.transfer_ps);
            busy_ps += messages * pccl__overheads_ps(problem);
            advance(problem, &box, next, num_parts);
            longest_ps = next->time_ps > longest_ps ? next->time_ps : longest_ps;
            longest_ps = load_ps[dimension] > longest_ps ? load_ps[dimension] : longest_ps;
        }
        longest_ps = busy_ps > longest_ps ? busy_ps : longest_ps;
    }
    close_box(&box);
    return pccl__meter_gather(problem, longest_ps);
}
