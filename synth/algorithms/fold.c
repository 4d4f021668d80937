/* Folding: see pccl__circuits_fold. Devices at one switch are alike, and so may be the switches with their devices:
 * turning the devices' numbers round by a whole number of switches then maps the topology onto itself. Only blocks from
 * the first switches, as far as they are different, to all switches are packed into rounds, p at once from and to a
 * switch of p devices. A round lasts p * p slots: in slot x * p + y of it devices x further send to devices y further,
 * and all that is sent at the first switches is also sent, turned round, at all others. */
#include "algorithms/circuits.h"

#include <stdlib.h>
#include <string.h>

#include "algorithms/packing.h"
#include "algorithms/turning.h"
#include "base/array.h"

#define MOST_ITEMS (UINT32_C(1) << 16)
#define MOST_TURNED_LINKS (UINT32_C(1) << 24)
#define SWEEPS 4
#define LEAVING 8   /* price of a link that leaves a group, others being 1 */
#define OVERLOAD 16 /* added for each item more than fair */
#define LEAST_WORK (UINT64_C(1) << 20)
#define WORK_PER_CIRCUIT 60 /* the search then takes about as long as writing and checking the schedule */

struct fold {
    struct pccl__circuits *all;
    struct pccl__turning turning;
    uint64_t *base_price; /* [num_links] by class */
    uint32_t num_items;   /* shift * num_leaves */
    uint32_t *way;        /* [num_items] number of the way chosen, PCCL_NONE if it cannot be sent with its images */
    uint32_t num_odd;     /* items without a way */
    uint32_t *first_link; /* [num_items + 1] of each item's links between switches, in `links` */
    uint32_t *links;
    uint32_t link_room;
    uint32_t *turned;     /* [num_turns * num_links] */
    uint32_t *labels[2];  /* [num_items] which device, before turning, sends and receives in a round */
    struct pccl__packing packing;
};

/* Rounds that the items from a leaf take: their links should not take more. */
static uint64_t count_fair_rounds(const struct fold *fold)
{
    return (fold->turning.num_leaves + fold->turning.width - 1) / fold->turning.width;
}

/* --- ways --------------------------------------------------------------------------------------------------------- */

/* An item is a block from one of the first leaves, as far as they are different, to any leaf. */
static uint32_t item_source(const struct fold *fold, uint32_t item)
{
    return item / fold->turning.num_leaves;
}

static uint32_t item_target(const struct fold *fold, uint32_t item)
{
    return item % fold->turning.num_leaves;
}

static int find_ways(const struct fold *fold, uint32_t item)
{
    uint32_t from = item_source(fold, item), to = item_target(fold, item);
    if (from == to && fold->turning.width == 1) {
        fold->all->ways.num_ways = 0;
        return 0;
    }
    return pccl__ways_find(&fold->all->ways, from * fold->turning.width, to * fold->turning.width + (from == to));
}

/* What an item occupies on a way: a place at the sending and one at the receiving leaf, and classes of links; as many
 * as the way has links. Returns false if the way and its images use a link several times: they then collide. */
static bool list_uses(const struct fold *fold, uint32_t item, uint32_t number, uint32_t *uses)
{
    const uint32_t *links = pccl__way(&fold->all->ways, number);
    uses[0] = item_source(fold, item);
    uses[1] = fold->turning.shift + item_target(fold, item) % fold->turning.shift;
    for (uint32_t i = 1; i + 1 < fold->all->ways.counts[number]; i++) {
        uint32_t class = fold->turning.class[links[i]];
        uses[i + 1] = 2 * fold->turning.shift + class;
        for (uint32_t k = 2; k <= i; k++) {
            if (uses[k] == uses[i + 1]) {
                return false;
            }
        }
        if (fold->turning.class_size[class] != fold->turning.num_turns) {
            return false;
        }
    }
    return true;
}

/* What one item more costs on a link of the class: beyond a fair load as much as any way that is not too busy. */
static uint64_t price_next(const struct fold *fold, uint32_t class)
{
    const struct pccl__circuits *all = fold->all;
    uint64_t load = all->load[class];
    return fold->base_price[class] + (load < all->par ? 0 : (load + 1 - all->par) * OVERLOAD);
}

static void change_load(const struct fold *fold, uint32_t item, uint32_t number, bool more)
{
    struct pccl__circuits *all = fold->all;
    uint32_t uses[PCCL__MAX_WAY_LINKS];
    list_uses(fold, item, number, uses);
    for (uint32_t i = 2; i < all->ways.counts[number]; i++) {
        uint32_t class = uses[i] - 2 * fold->turning.shift;
        all->load[class] = more ? all->load[class] + 1 : all->load[class] - 1;
        all->price[class] = price_next(fold, class);
    }
}

/* Moves an item to its cheapest way, if there is any that it can take. */
static int choose_way(struct fold *fold, uint32_t item)
{
    const struct pccl__circuits *all = fold->all;
    uint32_t uses[PCCL__MAX_WAY_LINKS];
    uint64_t least = UINT64_MAX;
    int status = find_ways(fold, item);
    if (status == 0 && fold->way[item] != PCCL_NONE) {
        change_load(fold, item, fold->way[item], false);
    }
    for (uint32_t k = 0; k < all->ways.num_ways && status == 0; k++) {
        uint64_t price = 0;
        if (!list_uses(fold, item, k, uses)) {
            continue;
        }
        for (uint32_t i = 2; i < all->ways.counts[k]; i++) {
            price += all->price[uses[i] - 2 * fold->turning.shift];
        }
        if (price < least) {
            least = price;
            fold->way[item] = k;
        }
    }
    if (status == 0 && fold->way[item] != PCCL_NONE) {
        change_load(fold, item, fold->way[item], true);
    }
    return status;
}

/* Chooses ways for all items, again and again, and counts the items without one. */
static int sweep(struct fold *fold)
{
    int status = 0;
    for (uint32_t i = 0; i < fold->num_items * SWEEPS && status == 0; i++) {
        status = choose_way(fold, i % fold->num_items);
    }
    fold->num_odd = 0;
    for (uint32_t i = 0; i < fold->num_items; i++) {
        fold->num_odd += fold->way[i] == PCCL_NONE;
    }
    return status;
}

/* Links that leave one group of switches whose images the others are, such as the cables between groups of a dragonfly,
 * cost more than links within a group: a way should use few of them, even if it becomes longer. */
static void price_links(struct fold *fold)
{
    struct pccl__circuits *all = fold->all;
    const struct pccl_topology *topology = all->topology;
    all->par = count_fair_rounds(fold);
    for (uint32_t l = 0; l < topology->num_links; l++) {
        uint32_t from = fold->turning.leaf[topology->links[l].source];
        uint32_t to = fold->turning.leaf[topology->links[l].target];
        bool leaves = from != PCCL_NONE && to != PCCL_NONE && from / fold->turning.shift != to / fold->turning.shift;
        fold->base_price[fold->turning.class[l]] = leaves ? LEAVING : 1;
    }
    for (uint32_t l = 0; l < topology->num_links; l++) {
        all->load[l] = 0;
        all->price[l] = price_next(fold, l);
    }
}

/* Chooses a way for each item so that no class of links gets more than a fair load, if possible. */
static int choose_ways(struct fold *fold)
{
    struct pccl__ways *ways = &fold->all->ways;
    memset(fold->way, 0xff, fold->num_items * sizeof *fold->way);
    pccl__ways_allow(ways, ways->longest);
    price_links(fold);
    int status = sweep(fold);
    if (fold->num_odd > 0 && status == 0) {
        pccl__ways_allow(ways, ways->longest + 1);
        status = sweep(fold);
    }
    return status;
}

/* Turns as little as possible, so that as few items as possible are to be packed, but leaves few out. */
static int choose_shift(struct fold *fold)
{
    for (uint32_t shift = 1; shift <= fold->turning.num_leaves; shift++) {
        if (fold->turning.num_leaves % shift != 0 || !pccl__turning_turn(&fold->turning, shift)) {
            continue;
        }
        fold->num_items = shift * fold->turning.num_leaves;
        if (fold->num_items > MOST_ITEMS ||
            fold->turning.num_turns > MOST_TURNED_LINKS / fold->all->topology->num_links) {
            return PCCL_ERR_UNSUPPORTED;
        }
        free(fold->way);
        fold->way = pccl__array_new(fold->num_items, sizeof *fold->way);
        int status = fold->way == NULL ? PCCL_ERR_MEMORY : choose_ways(fold);
        if (status != 0 || fold->num_odd <= fold->num_items / 16) {
            return status;
        }
    }
    return PCCL_ERR_UNSUPPORTED;
}

/* --- packing ------------------------------------------------------------------------------------------------------ */

/* Writes down the links of an item's way and what it occupies. */
static int add_item(struct fold *fold, uint32_t item)
{
    uint32_t uses[PCCL__MAX_WAY_LINKS], number = fold->way[item], end = fold->first_link[item];
    int status = find_ways(fold, item);
    if (status == 0 && number == PCCL_NONE) {
        status = pccl__packing_add_item(&fold->packing, uses, 0);
    } else if (status == 0) {
        uint32_t count = fold->all->ways.counts[number] - 2;
        uint32_t *grown = pccl__array_grow(fold->links, &fold->link_room, (uint64_t)end + count + 1, sizeof *grown);
        if (grown == NULL) {
            return PCCL_ERR_MEMORY;
        }
        fold->links = grown;
        memcpy(grown + end, pccl__way(&fold->all->ways, number) + 1, count * sizeof *grown);
        end += count;
        list_uses(fold, item, number, uses);
        status = pccl__packing_add_item(&fold->packing, uses, count + 2);
    }
    fold->first_link[item + 1] = end;
    return status;
}

static int pack_items(struct fold *fold)
{
    const struct pccl__circuits *all = fold->all;
    int status = pccl__packing_create(&fold->packing, 2 * fold->turning.shift + all->topology->num_links);
    fold->first_link = pccl__array_new((size_t)fold->num_items + 1, sizeof *fold->first_link);
    if (status != 0 || fold->first_link == NULL) {
        return PCCL_ERR_MEMORY;
    }
    for (uint32_t r = 0; r < fold->packing.num_resources; r++) {
        fold->packing.capacity[r] = r < 2 * fold->turning.shift ? fold->turning.width : 1;
    }
    for (uint32_t i = 0; i < fold->num_items && status == 0; i++) {
        status = add_item(fold, i);
    }
    uint64_t work = LEAST_WORK + (uint64_t)all->num_circuits * WORK_PER_CIRCUIT;
    return status == 0 ? pccl__packing_solve(&fold->packing, all->problem->options.seed, work) : status;
}

/* --- unfolding ---------------------------------------------------------------------------------------------------- */

static int turn_all(struct fold *fold)
{
    uint32_t num_links = fold->all->topology->num_links;
    fold->turned = pccl__array_new((size_t)fold->turning.num_turns * num_links, sizeof *fold->turned);
    if (fold->turned == NULL) {
        return PCCL_ERR_MEMORY;
    }
    for (uint32_t l = 0; l < num_links; l++) {
        fold->turned[l] = l;
        for (uint32_t t = 1; t < fold->turning.num_turns; t++) {
            uint32_t before = fold->turned[(size_t)(t - 1) * num_links + l];
            fold->turned[(size_t)t * num_links + l] = fold->turning.image[before];
        }
    }
    return 0;
}

/* Items that share a round and a leaf get different labels there. */
static int label_items(struct fold *fold)
{
    const struct pccl__packing *packing = &fold->packing;
    for (int end = 0; end < 2; end++) {
        fold->labels[end] = pccl__array_new(fold->num_items, sizeof *fold->labels[end]);
        uint32_t *next = pccl__array_new((size_t)packing->num_slots * fold->turning.shift, sizeof *next);
        if (fold->labels[end] == NULL || next == NULL) {
            free(next);
            return PCCL_ERR_MEMORY;
        }
        for (uint32_t i = 0; i < fold->num_items; i++) {
            uint32_t leaf = end == 0 ? item_source(fold, i) : item_target(fold, i) % fold->turning.shift;
            if (packing->slot[i] != PCCL_NONE) {
                fold->labels[end][i] = next[packing->slot[i] * fold->turning.shift + leaf]++;
            }
        }
        free(next);
    }
    return 0;
}

/* The longest of the ways that a circuit may take. */
static int count_longest(struct pccl__circuits *all, uint32_t chunk, uint32_t *count)
{
    int status = pccl__circuits_find_ways(all, chunk);
    *count = 0;
    for (uint32_t k = 0; k < all->ways.num_ways; k++) {
        *count = all->ways.counts[k] > *count ? all->ways.counts[k] : *count;
    }
    return status;
}

/* Gives a circuit a place in the pool and, if its item has them, its way and slot. */
static int unfold(struct fold *fold, struct pccl__circuit *circuit)
{
    struct pccl__circuits *all = fold->all;
    const struct pccl_topology *topology = all->topology;
    uint32_t source = all->demand->devices[pccl__circuit_source(all, circuit->chunk)];
    uint32_t target = all->demand->devices[pccl__circuit_target(all, circuit->chunk)];
    uint32_t p = fold->turning.width, turn = source / p / fold->turning.shift;
    uint32_t to = (target / p + fold->turning.num_leaves - turn * fold->turning.shift) % fold->turning.num_leaves;
    uint32_t item = source / p % fold->turning.shift * fold->turning.num_leaves + to;
    uint32_t num_inner = fold->first_link[item + 1] - fold->first_link[item];
    bool packed = fold->packing.slot[item] != PCCL_NONE;
    int status = 0;
    circuit->first = all->pool_size;
    circuit->count = num_inner + 2;
    if (!packed) {
        status = count_longest(all, circuit->chunk, &circuit->count);
    }
    uint32_t *grown =
        pccl__array_grow(all->pool, &all->pool_room, (uint64_t)all->pool_size + circuit->count, sizeof *grown);
    if (status != 0 || grown == NULL) {
        return status != 0 ? status : PCCL_ERR_MEMORY;
    }
    all->pool = grown;
    all->pool_size += circuit->count;
    circuit->slot = UINT32_MAX;
    if (packed) {
        uint32_t *way = grown + circuit->first;
        way[0] = topology->out_links[topology->first_out[source]];
        for (uint32_t i = 0; i < num_inner; i++) {
            uint32_t link = fold->links[fold->first_link[item] + i];
            way[i + 1] = fold->turned[(size_t)turn * topology->num_links + link];
        }
        way[num_inner + 1] = topology->in_links[topology->first_in[target]];
        uint32_t x = (source % p + p - fold->labels[0][item]) % p, y = (target % p + p - fold->labels[1][item]) % p;
        circuit->slot = (fold->packing.slot[item] * p + x) * p + y;
    }
    return status;
}

/* --- all of it ---------------------------------------------------------------------------------------------------- */

/* Only where every device sends as much to every other, over links that are alike and not shared. */
static bool suits(const struct pccl__circuits *all)
{
    const struct pccl_topology *topology = all->topology;
    uint64_t pairs = (uint64_t)topology->num_devices * (topology->num_devices - 1);
    return all->unit && !all->ways.routed && topology->num_capacities == topology->num_links &&
           all->problem->collective == PCCL_ALLTOALL && all->demand->num_ranks == topology->num_devices &&
           all->num_circuits == pairs;
}

static void close_fold(struct fold *fold)
{
    free(fold->base_price);
    for (int end = 0; end < 2; end++) {
        free(fold->labels[end]);
    }
    free(fold->way);
    free(fold->first_link);
    free(fold->links);
    free(fold->turned);
    pccl__packing_free(&fold->packing);
    pccl__turning_free(&fold->turning);
}

int pccl__circuits_fold(struct pccl__circuits *all)
{
    struct fold fold = {.all = all};
    if (!suits(all)) {
        return PCCL_ERR_UNSUPPORTED;
    }
    uint32_t n = all->topology->num_devices;
    int status = pccl__turning_create(all->topology, &fold.turning);
    fold.base_price = pccl__array_new(all->topology->num_links, sizeof *fold.base_price);
    if (status == 0) {
        uint64_t devices = fold.turning.width;
        bool full = count_fair_rounds(&fold) * devices * devices <= n + n / 8;
        status = fold.base_price == NULL ? PCCL_ERR_MEMORY : full ? 0 : PCCL_ERR_UNSUPPORTED;
    }
    status = status == 0 ? choose_shift(&fold) : status;
    status = status == 0 ? pack_items(&fold) : status;
    status = status == 0 ? turn_all(&fold) : status;
    status = status == 0 ? label_items(&fold) : status;
    for (uint32_t i = 0; i < all->num_circuits && status == 0; i++) {
        status = unfold(&fold, &all->circuits[i]);
    }
    close_fold(&fold);
    return status;
}
