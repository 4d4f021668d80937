#include "call.h"

#include <stdio.h>
#include <string.h>

#define JUNK_ADDRESS ((void *)8)

bool recipe_plain;

static const char *const names[NUM_KINDS] = {EACH_KIND(KIND_NAME)};

const char *collective_name(enum kind collective)
{
    return names[collective];
}

bool collective_is_rooted(enum kind collective)
{
    return collective == BCAST || collective == GATHER || collective == GATHERV || collective == REDUCE ||
           collective == SCATTER || collective == SCATTERV;
}

bool collective_is_reduction(enum kind collective)
{
    return collective == ALLREDUCE || collective == REDUCE || collective == REDUCE_SCATTER ||
           collective == REDUCE_SCATTER_BLOCK || collective == SCAN || collective == EXSCAN;
}

bool collective_has_counts(enum kind collective)
{
    return collective == ALLGATHERV || collective == ALLTOALLV || collective == GATHERV || collective == SCATTERV ||
           collective == REDUCE_SCATTER;
}

int block_weight(enum weights weights, int index)
{
    switch (weights) {
    case WEIGHTS_ZEROS: return index % 2;
    case WEIGHTS_TRIANGLE: return index % 5;
    case WEIGHTS_ONE: return index == 1;
    case WEIGHTS_NONE: return 0;
    case WEIGHTS_NOISE: return (int)(random_mix(3, (uint64_t)index) % 3);
    default: return 1;
    }
}

/* --- sides -------------------------------------------------------------------------------------------------------- */

/* Units that go from one rank to another. */
static int units_between(const struct call *call, int source, int target)
{
    const struct recipe *recipe = call->recipe;
    switch (recipe->collective) {
    case ALLGATHERV:
    case GATHERV: return recipe->units * block_weight(recipe->weights, source);
    case SCATTERV: return recipe->units * block_weight(recipe->weights, target);
    case ALLTOALLV:
        return recipe->units * block_weight(recipe->weights, source + target); /* symmetric, as in place needs */
    default: return recipe->units;
    }
}

/* A variant that divides the units; every variant does if the units are a multiple of 12. */
static const struct variant *pick_variant(const struct call *call, int wanted, uint64_t salt)
{
    const struct family *family = &families[call->recipe->family];
    const struct variant *variant;
    if (recipe_plain && (wanted == EACH_ANOTHER || call->recipe->collective == ALLTOALL)) {
        wanted = 0;
    } else if (wanted == EACH_ANOTHER) {
        wanted = (int)(random_mix(call->recipe->seed + salt, (uint64_t)call->rank) % MAX_VARIANTS);
    }
    variant = &family->variants[wanted % family->num_variants];
    return call->recipe->units % variant->units == 0 ? variant : &family->variants[0];
}

static void lay_out(const struct call *call, struct side *side)
{
    const bool free_layout = collective_has_counts(call->recipe->collective) && side->num_blocks > 1;
    const enum layout layout = free_layout ? call->recipe->layout : LAYOUT_DENSE;
    int next = layout == LAYOUT_DENSE ? 0 : 2;
    for (int i = 0; i < side->num_blocks; i++) {
        int block = layout == LAYOUT_DESCENDING ? side->num_blocks - 1 - i : i;
        side->displacements[block] = next;
        next += side->counts[block] + (layout == LAYOUT_DENSE ? 0 : 1 + i % 3);
    }
}

static void set_movement_sides(struct call *call)
{
    const struct recipe *recipe = call->recipe;
    const enum kind collective = recipe->collective;
    const bool at_root = call->rank == call->root;
    const bool gathers = collective == GATHER || collective == GATHERV;
    const bool scatters = collective == SCATTER || collective == SCATTERV;
    const bool all_to_all = collective == ALLTOALL || collective == ALLTOALLV;
    const struct variant *send = pick_variant(call, recipe->send_variant, 1);
    const struct variant *receive = pick_variant(call, recipe->receive_variant, 2);
    call->send.type = send->type;
    call->receive.type = receive->type;
    call->send.num_blocks = all_to_all            ? call->size
                            : scatters            ? (at_root ? call->size : 0)
                            : collective == BCAST ? 0
                                                  : 1;
    call->receive.num_blocks = gathers ? (at_root ? call->size : 0) : scatters || collective == BCAST ? 1 : call->size;
    for (int i = 0; i < call->send.num_blocks; i++) {
        call->send.counts[i] = units_between(call, call->rank, i) / send->units;
    }
    for (int i = 0; i < call->receive.num_blocks; i++) {
        bool from_peer = call->receive.num_blocks == call->size && !scatters && collective != BCAST;
        call->receive.counts[i] = units_between(call, from_peer ? i : call->root, call->rank) / receive->units;
    }
    if (call->in_place && scatters) {
        call->receive.num_blocks = 0;
    } else if (call->in_place) {
        call->send.num_blocks = 0;
    }
    lay_out(call, &call->send);
    lay_out(call, &call->receive);
}

static void set_reduction_sides(struct call *call)
{
    const struct recipe *recipe = call->recipe;
    int total = recipe->units, mine = recipe->units;
    if (recipe->collective == REDUCE_SCATTER_BLOCK) {
        total = recipe->units * call->size;
    } else if (recipe->collective == REDUCE_SCATTER) {
        total = 0;
        for (int i = 0; i < call->size; i++) {
            total += recipe->units * block_weight(recipe->weights, i);
        }
        mine = recipe->units * block_weight(recipe->weights, call->rank);
    }
    call->reduction = &reductions[recipe->reduction];
    call->send.type = call->receive.type = call->reduction->type;
    call->send.num_blocks = 1;
    call->send.counts[0] = total;
    bool absent = (recipe->collective == REDUCE && call->rank != call->root) ||
                  (recipe->collective == EXSCAN && call->rank == 0 && !call->in_place);
    call->receive.num_blocks = absent ? 0 : 1;
    call->receive.counts[0] = mine;
}

static void fill_operands(const struct call *call, const struct buffer *buffer, struct random *random)
{
    MPI_Aint lower, extent;
    MPI_Type_get_extent(call->reduction->type, &lower, &extent);
    for (int i = 0; i < call->send.counts[0]; i++) {
        call->reduction->fill((char *)buffer->address + i * extent, random_next(random));
    }
}

static void make_buffers(struct call *call)
{
    struct random random = {random_mix(call->recipe->seed, (uint64_t)call->rank)};
    struct side *send = &call->send, *receive = &call->receive;
    buffer_make(&send->buffer, send->type, send->num_blocks, send->counts, send->displacements, &random);
    if (collective_is_reduction(call->recipe->collective) && call->in_place) {
        buffer_make(&receive->buffer, receive->type, 1, send->counts, send->displacements, &random);
        fill_operands(call, &receive->buffer, &random);
        return;
    }
    buffer_make(&receive->buffer, receive->type, receive->num_blocks, receive->counts, receive->displacements, &random);
    if (collective_is_reduction(call->recipe->collective)) {
        fill_operands(call, &send->buffer, &random);
    }
}

/* --- the call ----------------------------------------------------------------------------------------------------- */

struct arguments {
    const void *send;
    void *receive;
    int send_count, receive_count;
    MPI_Datatype send_type, receive_type;
};

/* Insignificant arguments get rubbish when the recipe says so, harmless values otherwise. */
static struct arguments arguments_of(const struct call *call)
{
    const bool junk = call->recipe->junk;
    struct arguments arguments = {
        .send = call->send.buffer.address,
        .receive = call->receive.buffer.address,
        .send_count = call->send.counts[0],
        .receive_count = call->receive.counts[0],
        .send_type = call->send.type,
        .receive_type = call->receive.type,
    };
    const bool scatters = call->recipe->collective == SCATTER || call->recipe->collective == SCATTERV;
    if (call->send.num_blocks == 0 && junk) {
        arguments.send = JUNK_ADDRESS;
        arguments.send_count = -77;
        arguments.send_type = MPI_DATATYPE_NULL;
    }
    if (call->receive.num_blocks == 0 && junk) {
        arguments.receive = call->recipe->seed % 2 == 0 ? NULL : JUNK_ADDRESS;
        arguments.receive_count = -77;
        arguments.receive_type = MPI_DATATYPE_NULL;
    }
    if (call->in_place && scatters) {
        arguments.receive = MPI_IN_PLACE;
    } else if (call->in_place) {
        arguments.send = MPI_IN_PLACE;
    }
    return arguments;
}

static int invoke_movement(const struct call *call, const struct arguments *a)
{
    const struct side *send = &call->send, *receive = &call->receive;
    switch (call->recipe->collective) {
    case ALLGATHER:
        return MPI_Allgather(a->send, a->send_count, a->send_type, a->receive, a->receive_count, a->receive_type,
                             call->comm);
    case ALLGATHERV:
        return MPI_Allgatherv(a->send, a->send_count, a->send_type, a->receive, receive->counts, receive->displacements,
                              a->receive_type, call->comm);
    case ALLTOALL:
        return MPI_Alltoall(a->send, a->send_count, a->send_type, a->receive, a->receive_count, a->receive_type,
                            call->comm);
    case ALLTOALLV:
        return MPI_Alltoallv(a->send, send->counts, send->displacements, a->send_type, a->receive, receive->counts,
                             receive->displacements, a->receive_type, call->comm);
    case BCAST: return MPI_Bcast(a->receive, a->receive_count, a->receive_type, call->root, call->comm);
    case GATHER:
        return MPI_Gather(a->send, a->send_count, a->send_type, a->receive, a->receive_count, a->receive_type,
                          call->root, call->comm);
    case GATHERV:
        return MPI_Gatherv(a->send, a->send_count, a->send_type, a->receive, receive->counts, receive->displacements,
                           a->receive_type, call->root, call->comm);
    case SCATTER:
        return MPI_Scatter(a->send, a->send_count, a->send_type, a->receive, a->receive_count, a->receive_type,
                           call->root, call->comm);
    default:
        return MPI_Scatterv(a->send, send->counts, send->displacements, a->send_type, a->receive, a->receive_count,
                            a->receive_type, call->root, call->comm);
    }
}

static int invoke_reduction(const struct call *call, const struct arguments *a)
{
    const MPI_Datatype type = call->reduction->type;
    const MPI_Op op = call->reduction->op;
    int counts[MAX_RANKS];
    switch (call->recipe->collective) {
    case ALLREDUCE: return MPI_Allreduce(a->send, a->receive, call->send.counts[0], type, op, call->comm);
    case EXSCAN: return MPI_Exscan(a->send, a->receive, call->send.counts[0], type, op, call->comm);
    case SCAN: return MPI_Scan(a->send, a->receive, call->send.counts[0], type, op, call->comm);
    case REDUCE: return MPI_Reduce(a->send, a->receive, call->send.counts[0], type, op, call->root, call->comm);
    case REDUCE_SCATTER:
        for (int i = 0; i < call->size; i++) {
            counts[i] = call->recipe->units * block_weight(call->recipe->weights, i);
        }
        return MPI_Reduce_scatter(a->send, a->receive, counts, type, op, call->comm);
    default: return MPI_Reduce_scatter_block(a->send, a->receive, call->receive.counts[0], type, op, call->comm);
    }
}

/* --- comparing ---------------------------------------------------------------------------------------------------- */

static void copy_bytes(const struct buffer *from, struct buffer *to, ptrdiff_t offset, size_t bytes)
{
    memcpy((char *)to->address + offset, (char *)from->address + offset, bytes);
}

/* Bytes that MPI leaves open take the value found: padding that C leaves undefined, and the operands behind the
 * result of an in-place reduce-scatter. */
static void accept_undefined(const struct call *call, struct buffer *expected)
{
    const struct reduction *reduction = call->reduction;
    const struct buffer *found = &call->receive.buffer;
    MPI_Aint lower, extent, true_lower, true_extent;
    const int count = call->receive.num_blocks > 0 ? call->receive.counts[0] : 0;
    MPI_Type_get_extent(reduction->type, &lower, &extent);
    MPI_Type_get_true_extent(reduction->type, &true_lower, &true_extent);
    for (int i = 0; i < count; i++) {
        copy_bytes(found, expected, i * extent + reduction->pad_offset, (size_t)reduction->pad_bytes);
        copy_bytes(found, expected, i * extent + reduction->pad2_offset, (size_t)reduction->pad2_bytes);
    }
    for (int i = count; call->in_place && i < call->send.counts[0]; i++) {
        copy_bytes(found, expected, i * extent + true_lower, (size_t)true_extent);
    }
}

static void name_case(const struct recipe *recipe)
{
    const struct family *family = &families[recipe->family];
    if (collective_is_reduction(recipe->collective)) {
        check_case("%s on %s, root %d, %s, count %d, weights %d%s%s, seed %#llx", names[recipe->collective],
                   comms[recipe->comm].name, recipe->root, reductions[recipe->reduction].name, recipe->units,
                   (int)recipe->weights, recipe->in_place ? ", in place" : "", recipe->junk ? ", junk" : "",
                   (unsigned long long)recipe->seed);
        return;
    }
    check_case("%s on %s, root %d, %s types %d/%d, units %d, weights %d, layout %d%s%s, seed %#llx",
               names[recipe->collective], comms[recipe->comm].name, recipe->root, family->name, recipe->send_variant,
               recipe->receive_variant, recipe->units, (int)recipe->weights, (int)recipe->layout,
               recipe->in_place ? ", in place" : "", recipe->junk ? ", junk" : "", (unsigned long long)recipe->seed);
}

static void find_reference(const struct call *call, const struct buffer *before, struct buffer *expected)
{
    if (call->reduction != NULL) {
        reference_reduction(call, before, expected);
    } else {
        reference_movement(call, before, expected);
    }
}

static void run_call(struct call *call)
{
    struct buffer before, expected, send_before;
    struct arguments arguments;
    int status;
    make_buffers(call);
    arguments = arguments_of(call);
    buffer_copy(&before, &call->receive.buffer);
    buffer_copy(&expected, &call->receive.buffer);
    buffer_copy(&send_before, &call->send.buffer);
    if (call->recipe->reference_first) {
        find_reference(call, &before, &expected);
    }
    status = call->reduction != NULL ? invoke_reduction(call, &arguments) : invoke_movement(call, &arguments);
    check_that(status == MPI_SUCCESS, "returned error %d", status);
    if (!call->recipe->reference_first) {
        find_reference(call, &before, &expected);
    }
    if (call->reduction != NULL) {
        accept_undefined(call, &expected);
    }
    buffer_equal(&call->receive.buffer, &expected, "receive buffer");
    buffer_equal(&call->send.buffer, &send_before, "send buffer");
    buffer_free(&before);
    buffer_free(&expected);
    buffer_free(&send_before);
    buffer_free(&call->send.buffer);
    buffer_free(&call->receive.buffer);
}

static bool has_negative_lower_bound(const struct recipe *recipe)
{
    MPI_Aint lower, extent;
    MPI_Type_get_true_extent(reductions[recipe->reduction].type, &lower, &extent);
    return lower < 0;
}

void recipe_run(const struct recipe *recipe)
{
    const enum kind collective = recipe->collective;
    struct call call = {.recipe = recipe, .comm = comms[recipe->comm].comm};
    name_case(recipe);
    bool hangs = collective == SCATTERV && recipe->family == FAMILY_EMPTY;
    if (call.comm == MPI_COMM_NULL || (recipe_plain && hangs) ||
        (recipe_plain && collective_is_reduction(collective) && has_negative_lower_bound(recipe))) {
        return;
    }
    MPI_Comm_rank(call.comm, &call.rank);
    MPI_Comm_size(call.comm, &call.size);
    call.root = recipe->root % call.size;
    call.in_place =
        recipe->in_place && collective != BCAST && (call.rank == call.root || !collective_is_rooted(collective));
    if (collective == BARRIER) {
        check_that(MPI_Barrier(call.comm) == MPI_SUCCESS, "returned an error");
        return;
    }
    if (collective_is_reduction(collective)) {
        set_reduction_sides(&call);
    } else {
        set_movement_sides(&call);
    }
    run_call(&call);
}
