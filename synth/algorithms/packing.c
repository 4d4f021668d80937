/* Packing: see packing.h. A complete packing gives up its last slots; the items from there push others out of the
 * slots that remain, always as few as possible, and those may not return at once, until all have a place (after
 * Blöchliger and Zufferey, A graph coloring heuristic using partial solutions and a reactive tabu scheme, 2008). */
#include "algorithms/packing.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/bitset.h"
#include "base/random.h"
#include "pccl/topology.h"

#define LEVELS 5 /* so many full resources of an item are told apart; where all slots have more, any will do */
#define MOST_SEATS (UINT64_C(1) << 25)

struct packer {
    struct pccl__packing *packing;
    struct pccl__random random;
    uint32_t floor;       /* no packing has fewer slots */
    uint32_t width;       /* slots at the beginning */
    uint32_t limit;       /* slots to be used */
    size_t words;         /* of a set of slots */
    uint64_t *full;       /* [num_resources * words] slots in which it serves all it can */
    uint32_t *taken;      /* [num_resources * width] items that it serves */
    uint32_t *first_seat; /* [num_resources] */
    uint32_t *seats;      /* first_seat[r] + slot * capacity: the items */
    uint32_t *queue;      /* items without a slot */
    uint32_t num_queued;
    uint32_t *barred_slot; /* [num_items] slot to which it may not return yet */
    uint64_t *barred_until; /* [num_items] turn */
    uint64_t turn;
    uint64_t work;        /* left */
};

/* --- making one --------------------------------------------------------------------------------------------------- */

int pccl__packing_create(struct pccl__packing *packing, uint32_t num_resources)
{
    *packing = (struct pccl__packing){.num_resources = num_resources};
    packing->capacity = pccl__array_new(num_resources, sizeof *packing->capacity);
    packing->first_use = pccl__array_grow(NULL, &packing->item_room, 1, sizeof *packing->first_use);
    if (packing->capacity == NULL || packing->first_use == NULL) {
        return PCCL_ERR_MEMORY;
    }
    packing->first_use[0] = 0;
    return 0;
}

void pccl__packing_free(struct pccl__packing *packing)
{
    free(packing->capacity);
    free(packing->first_use);
    free(packing->uses);
    free(packing->slot);
    *packing = (struct pccl__packing){0};
}

int pccl__packing_add_item(struct pccl__packing *packing, const uint32_t *uses, uint32_t num_uses)
{
    uint32_t *items =
        pccl__array_grow(packing->first_use, &packing->item_room, (uint64_t)packing->num_items + 2, sizeof *items);
    packing->first_use = items != NULL ? items : packing->first_use;
    uint32_t *pool =
        pccl__array_grow(packing->uses, &packing->use_room, (uint64_t)packing->num_uses + num_uses + 1, sizeof *pool);
    packing->uses = pool != NULL ? pool : packing->uses;
    if (items == NULL || pool == NULL) {
        return PCCL_ERR_MEMORY;
    }
    memcpy(pool + packing->num_uses, uses, num_uses * sizeof *uses);
    packing->num_uses += num_uses;
    items[++packing->num_items] = packing->num_uses;
    return 0;
}

/* --- seats -------------------------------------------------------------------------------------------------------- */

static uint32_t *seats_in(const struct packer *packer, uint32_t resource, uint32_t slot)
{
    return packer->seats + packer->first_seat[resource] + (size_t)slot * packer->packing->capacity[resource];
}

static void seat(struct packer *packer, uint32_t item, uint32_t slot)
{
    struct pccl__packing *packing = packer->packing;
    packing->slot[item] = slot;
    for (uint32_t u = packing->first_use[item]; u < packing->first_use[item + 1]; u++) {
        uint32_t resource = packing->uses[u], *taken = &packer->taken[(size_t)resource * packer->width + slot];
        seats_in(packer, resource, slot)[(*taken)++] = item;
        if (*taken == packing->capacity[resource]) {
            pccl__bitset_set(packer->full + resource * packer->words, slot);
        }
    }
}

static void unseat(struct packer *packer, uint32_t item)
{
    struct pccl__packing *packing = packer->packing;
    uint32_t slot = packing->slot[item];
    for (uint32_t u = packing->first_use[item]; u < packing->first_use[item + 1]; u++) {
        uint32_t resource = packing->uses[u], *taken = &packer->taken[(size_t)resource * packer->width + slot];
        uint32_t *seats = seats_in(packer, resource, slot), i = 0;
        while (seats[i] != item) {
            i++;
        }
        seats[i] = seats[--*taken];
        pccl__bitset_clear(packer->full + resource * packer->words, slot);
    }
    packing->slot[item] = PCCL_NONE;
    packer->queue[packer->num_queued++] = item;
}

static void unseat_all(struct packer *packer)
{
    const struct pccl__packing *packing = packer->packing;
    memset(packer->full, 0, packing->num_resources * packer->words * sizeof *packer->full);
    memset(packer->taken, 0, (size_t)packing->num_resources * packer->width * sizeof *packer->taken);
    packer->num_queued = 0;
}

/* --- choosing ----------------------------------------------------------------------------------------------------- */

/* The slots of a word in which at most 0, 1, 2 ... of the item's resources are full. */
static void compare_word(const struct packer *packer, uint32_t item, size_t word, uint64_t slots[LEVELS])
{
    const struct pccl__packing *packing = packer->packing;
    uint64_t over[LEVELS] = {0}, allowed = UINT64_MAX;
    for (uint32_t u = packing->first_use[item]; u < packing->first_use[item + 1]; u++) {
        uint64_t full = packer->full[packing->uses[u] * packer->words + word];
        for (uint32_t level = LEVELS - 1; level > 0; level--) {
            over[level] |= over[level - 1] & full;
        }
        over[0] |= full;
    }
    if (packer->limit < word * 64 + 64) {
        allowed = (UINT64_C(1) << (packer->limit % 64)) - 1;
    }
    if (packer->barred_slot[item] / 64 == word && packer->barred_until[item] > packer->turn) {
        allowed &= ~(UINT64_C(1) << (packer->barred_slot[item] % 64));
    }
    for (uint32_t level = 0; level < LEVELS; level++) {
        slots[level] = allowed & ~over[level];
    }
}

/* A slot with the fewest full resources, looked for from anywhere on. */
static uint32_t choose(struct packer *packer, uint32_t item)
{
    uint32_t start = pccl__random_below(&packer->random, packer->limit), chosen = start, fewest = LEVELS;
    size_t words = (packer->limit + 63) / 64, w = start / 64;
    uint64_t cost = words * (packer->packing->first_use[item + 1] - packer->packing->first_use[item]);
    packer->work -= cost < packer->work ? cost : packer->work;
    for (size_t k = 0; k <= words && fewest > 0; k++, w = w + 1 < words ? w + 1 : 0) {
        uint64_t slots[LEVELS];
        compare_word(packer, item, w, slots);
        for (uint32_t level = 0; level < fewest; level++) {
            uint64_t rest = k == 0 ? slots[level] >> (start % 64) << (start % 64) : slots[level];
            if (rest != 0) {
                chosen = (uint32_t)(w * 64) + (uint32_t)__builtin_ctzll(rest);
                fewest = level;
            }
        }
    }
    return chosen;
}

/* Gives an item a slot; who must leave for it may not return for about as long as the queue takes. */
static void place(struct packer *packer, uint32_t item)
{
    const struct pccl__packing *packing = packer->packing;
    uint32_t slot = choose(packer, item);
    for (uint32_t u = packing->first_use[item]; u < packing->first_use[item + 1]; u++) {
        uint32_t resource = packing->uses[u];
        if (!pccl__bitset_test(packer->full + resource * packer->words, slot)) {
            continue;
        }
        uint32_t turn = pccl__random_below(&packer->random, packing->capacity[resource]);
        uint32_t other = seats_in(packer, resource, slot)[turn];
        unseat(packer, other);
        packer->barred_slot[other] = slot;
        packer->barred_until[other] = packer->turn + packer->num_queued / 2 + pccl__random_below(&packer->random, 10);
    }
    seat(packer, item, slot);
}

/* Returns whether all have a place; until then `work` may be spent. */
static bool place_all(struct packer *packer, uint64_t work)
{
    uint64_t kept = packer->work - work;
    while (packer->num_queued > 0 && packer->work > kept) {
        uint32_t *drawn = &packer->queue[pccl__random_below(&packer->random, packer->num_queued)], item = *drawn;
        *drawn = packer->queue[--packer->num_queued];
        place(packer, item);
        packer->turn++;
    }
    return packer->num_queued == 0;
}

/* --- fewer and fewer slots ---------------------------------------------------------------------------------------- */

/* The fewest slots in which every resource could serve all its items. */
static uint32_t count_least_slots(const struct pccl__packing *packing, uint32_t *load)
{
    uint32_t most = 1;
    for (uint32_t u = 0; u < packing->num_uses; u++) {
        uint32_t resource = packing->uses[u];
        uint32_t slots = load[resource]++ / packing->capacity[resource] + 1;
        most = slots > most ? slots : most;
    }
    return most;
}

static int open_packer(struct packer *packer)
{
    struct pccl__packing *packing = packer->packing;
    uint64_t num_seats = 0;
    uint32_t *load = pccl__array_new(packing->num_resources, sizeof *load);
    packer->first_seat = pccl__array_new(packing->num_resources, sizeof *packer->first_seat);
    if (load == NULL || packer->first_seat == NULL) {
        free(load);
        return PCCL_ERR_MEMORY;
    }
    packer->floor = count_least_slots(packing, load);
    packer->width = packer->floor + packer->floor / 2 + 8;
    packer->words = pccl__bitset_words(packer->width);
    free(load);
    for (uint32_t r = 0; r < packing->num_resources; r++) {
        packer->first_seat[r] = (uint32_t)num_seats;
        num_seats += (uint64_t)packer->width * packing->capacity[r];
        if (num_seats > MOST_SEATS) {
            return PCCL_ERR_UNSUPPORTED;
        }
    }
    packer->full = pccl__array_new(packing->num_resources * packer->words, sizeof *packer->full);
    packer->taken = pccl__array_new((size_t)packing->num_resources * packer->width, sizeof *packer->taken);
    packer->seats = pccl__array_new(num_seats, sizeof *packer->seats);
    packer->queue = pccl__array_new(packing->num_items, sizeof *packer->queue);
    packer->barred_slot = pccl__array_new(packing->num_items, sizeof *packer->barred_slot);
    packer->barred_until = pccl__array_new(packing->num_items, sizeof *packer->barred_until);
    packing->slot = pccl__array_new(packing->num_items, sizeof *packing->slot);
    bool made = packer->full != NULL && packer->taken != NULL && packer->seats != NULL && packer->queue != NULL &&
                packer->barred_slot != NULL && packer->barred_until != NULL && packing->slot != NULL;
    return made ? 0 : PCCL_ERR_MEMORY;
}

static void close_packer(struct packer *packer)
{
    free(packer->full);
    free(packer->taken);
    free(packer->first_seat);
    free(packer->seats);
    free(packer->queue);
    free(packer->barred_slot);
    free(packer->barred_until);
}

/* Steps down while it succeeds, by half as many slots when it does not. kept: [num_items]. */
static void descend(struct packer *packer, uint32_t *kept)
{
    struct pccl__packing *packing = packer->packing;
    uint32_t n = packing->num_items;
    for (uint32_t part = 4; packer->work > 0 && packing->num_slots > packer->floor;) {
        uint32_t step = (packing->num_slots - packer->floor + part - 1) / part;
        memcpy(kept, packing->slot, n * sizeof *kept);
        packer->limit = packing->num_slots - step;
        for (uint32_t i = 0; i < n; i++) {
            if (packing->slot[i] != PCCL_NONE && packing->slot[i] >= packer->limit) {
                unseat(packer, i);
            }
        }
        if (place_all(packer, step > 1 ? packer->work / 4 : packer->work)) {
            packing->num_slots = packer->limit;
            continue;
        }
        unseat_all(packer);
        for (uint32_t i = 0; i < n; i++) {
            packing->slot[i] = PCCL_NONE;
            if (kept[i] != PCCL_NONE) {
                seat(packer, i, kept[i]);
            }
        }
        part *= 2;
    }
}

int pccl__packing_solve(struct pccl__packing *packing, uint64_t seed, uint64_t work)
{
    struct packer packer = {.packing = packing, .random = {seed}, .work = work};
    uint32_t *kept = pccl__array_new(packing->num_items, sizeof *kept);
    int status = kept == NULL ? PCCL_ERR_MEMORY : open_packer(&packer);
    if (status == 0) {
        for (uint32_t i = 0; i < packing->num_items; i++) {
            packing->slot[i] = PCCL_NONE;
            if (packing->first_use[i + 1] > packing->first_use[i]) {
                packer.queue[packer.num_queued++] = i;
            }
        }
        packer.limit = packing->num_slots = packer.width;
        if (place_all(&packer, work)) {
            descend(&packer, kept);
        } else {
            status = PCCL_ERR_UNSUPPORTED;
        }
    }
    close_packer(&packer);
    free(kept);
    return status;
}
