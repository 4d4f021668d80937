/* Ejection chains: see pccl__circuits_improve. A message takes a slot where a single other is in its way, which
 * looks for another slot in its turn. */
#include "algorithms/circuits.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/random.h"

#define NOBODY UINT32_MAX
#define CHAIN_LENGTH 96 /* ejections allowed for each message that is to move, on average */

/* Moves messages that begin at or after `limit` before it. */
struct mover {
    struct pccl__circuits *all;
    struct pccl__random random;
    uint32_t limit;
    uint32_t *holder; /* [num_capacities * num_slots] circuit that holds the capacity then, or NOBODY */
    uint32_t width;   /* num_slots when holder was made */
    uint32_t *queue;  /* [num_circuits] circuits without a slot */
    uint32_t num_queued;
};

static void seat(struct mover *mover, uint32_t number, uint32_t slot)
{
    struct pccl__circuits *all = mover->all;
    struct pccl__circuit *circuit = &all->circuits[number];
    circuit->slot = slot;
    for (uint32_t i = 0; i < circuit->count; i++) {
        uint32_t capacity = all->topology->links[all->pool[circuit->first + i]].capacity;
        all->slots.words[capacity * all->slots.stride + slot / 64] |= UINT64_C(1) << (slot % 64);
        mover->holder[(size_t)capacity * mover->width + slot] = number;
    }
}

static void unseat(struct mover *mover, uint32_t number)
{
    struct pccl__circuits *all = mover->all;
    const struct pccl__circuit *circuit = &all->circuits[number];
    for (uint32_t i = 0; i < circuit->count; i++) {
        uint32_t capacity = all->topology->links[all->pool[circuit->first + i]].capacity;
        pccl__slots_release(&all->slots, capacity, circuit->slot);
        mover->holder[(size_t)capacity * mover->width + circuit->slot] = NOBODY;
    }
    mover->queue[mover->num_queued++] = number;
}

/* Among the slots of a word before the limit: those free on all links of the circuit, and those taken on just one. */
static void compare_word(const struct mover *mover, const struct pccl__circuit *circuit, size_t word, uint64_t *free,
                         uint64_t *one)
{
    const struct pccl__circuits *all = mover->all;
    uint64_t once = 0, more = 0, valid = UINT64_MAX;
    for (uint32_t i = 0; i < circuit->count; i++) {
        uint64_t taken =
            all->slots.words[all->topology->links[all->pool[circuit->first + i]].capacity * all->slots.stride + word];
        more |= once & taken;
        once |= taken;
    }
    if (mover->limit < word * 64 + 64) {
        valid = (UINT64_C(1) << (mover->limit % 64)) - 1;
    }
    *free = ~once & valid;
    *one = once & ~more & valid;
}

/* The circuits that hold `number`'s links in a slot, made to leave. */
static void eject(struct mover *mover, uint32_t number, uint32_t slot)
{
    const struct pccl__circuits *all = mover->all;
    const struct pccl__circuit *circuit = &all->circuits[number];
    for (uint32_t i = 0; i < circuit->count; i++) {
        uint32_t capacity = all->topology->links[all->pool[circuit->first + i]].capacity;
        uint32_t other = mover->holder[(size_t)capacity * mover->width + slot];
        if (other != NOBODY) {
            unseat(mover, other);
        }
    }
}

/* Gives a circuit a free slot, or one where a single other must leave, or any; beginning anywhere, lest chains go in
 * circles. */
static void find_seat(struct mover *mover, uint32_t number)
{
    size_t words = (mover->limit + 63) / 64, w = pccl__random_below(&mover->random, (uint32_t)words);
    uint32_t candidate = NOBODY;
    for (size_t k = 0; k < words; k++, w = w + 1 < words ? w + 1 : 0) {
        uint64_t free, one;
        compare_word(mover, &mover->all->circuits[number], w, &free, &one);
        if (free != 0) {
            seat(mover, number, (uint32_t)(w * 64) + (uint32_t)__builtin_ctzll(free));
            return;
        }
        if (one != 0 && candidate == NOBODY) {
            uint32_t turn = pccl__random_below(&mover->random, 64);
            uint64_t above = one >> turn << turn;
            candidate = (uint32_t)(w * 64) + (uint32_t)__builtin_ctzll(above != 0 ? above : one);
        }
    }
    candidate = candidate == NOBODY ? pccl__random_below(&mover->random, mover->limit) : candidate;
    eject(mover, number, candidate);
    seat(mover, number, candidate);
}

/* Returns whether all have found a place before the limit. */
static bool move_all(struct mover *mover)
{
    struct pccl__circuits *all = mover->all;
    mover->num_queued = 0;
    for (uint32_t i = 0; i < all->num_circuits; i++) {
        if (all->circuits[i].slot >= mover->limit) {
            unseat(mover, i);
        }
    }
    uint64_t left = (uint64_t)mover->num_queued * CHAIN_LENGTH;
    for (; mover->num_queued > 0 && left > 0; left--) {
        find_seat(mover, mover->queue[--mover->num_queued]);
    }
    return mover->num_queued == 0;
}

/* The most messages that one capacity carries: no fewer slots will do. */
static int count_least_slots(const struct pccl__circuits *all, uint32_t *least)
{
    uint32_t *count = pccl__array_new(all->topology->num_capacities, sizeof *count);
    if (count == NULL) {
        return PCCL_ERR_MEMORY;
    }
    *least = 0;
    for (uint32_t i = 0; i < all->num_circuits; i++) {
        for (uint32_t k = 0; k < all->circuits[i].count; k++) {
            uint32_t capacity = all->topology->links[all->pool[all->circuits[i].first + k]].capacity;
            *least = ++count[capacity] > *least ? count[capacity] : *least;
        }
    }
    free(count);
    return 0;
}

/* Gives every circuit the slot listed, whatever slots they have now. */
static void seat_all(struct mover *mover, const uint32_t *slots)
{
    struct pccl__circuits *all = mover->all;
    memset(mover->holder, 0xff, (size_t)all->topology->num_capacities * mover->width * sizeof *mover->holder);
    memset(all->slots.words, 0, all->slots.num_timelines * all->slots.stride * sizeof *all->slots.words);
    memset(all->slots.first_free, 0, all->slots.num_timelines * sizeof *all->slots.first_free);
    for (uint32_t i = 0; i < all->num_circuits; i++) {
        seat(mover, i, slots[i]);
    }
}

static int open_mover(struct mover *mover, uint32_t **kept)
{
    const struct pccl__circuits *all = mover->all;
    size_t cells = (size_t)all->topology->num_capacities * all->num_slots;
    mover->random.state = all->problem->options.seed;
    mover->width = all->num_slots;
    mover->holder = malloc(cells * sizeof *mover->holder);
    mover->queue = pccl__array_new(all->num_circuits, sizeof *mover->queue);
    *kept = pccl__array_new(all->num_circuits, sizeof **kept);
    if (mover->holder == NULL || mover->queue == NULL || *kept == NULL) {
        return PCCL_ERR_MEMORY;
    }
    for (uint32_t i = 0; i < all->num_circuits; i++) {
        (*kept)[i] = all->circuits[i].slot;
    }
    seat_all(mover, *kept);
    return 0;
}

/* Lowers the number of slots by a part of what may be possible, again and again, by smaller parts when one was too
 * much. */
int pccl__circuits_improve(struct pccl__circuits *all)
{
    struct mover mover = {.all = all};
    uint32_t *kept = NULL, least;
    int status = count_least_slots(all, &least);
    if (status != 0 || all->num_slots <= least) {
        return status;
    }
    status = open_mover(&mover, &kept);
    for (uint32_t part = 8; status == 0 && part <= 32 && all->num_slots > least;) {
        for (uint32_t i = 0; i < all->num_circuits; i++) {
            kept[i] = all->circuits[i].slot;
        }
        mover.limit = all->num_slots - (all->num_slots - least + part - 1) / part;
        bool moved = move_all(&mover);
        all->num_slots = moved ? mover.limit : all->num_slots;
        if (!moved) {
            seat_all(&mover, kept);
            part *= 2;
        }
    }
    free(mover.holder);
    free(mover.queue);
    free(kept);
    return status;
}
