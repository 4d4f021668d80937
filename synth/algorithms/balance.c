/* Balancing of loads: see pccl__circuits_settle. */
#include "algorithms/circuits.h"

#include <string.h>

#include "base/array.h"

#define PRICE_BITS 20
#define SWEEPS 3
#define EVEN 4096 /* unit of an even share of the load */

/* (load / par)^32, at most 2^32, with PRICE_BITS bits after the point: so steep that the sum over a way tells of
 * its busiest links and, where these are alike, of how many there are (after Aspnes et al., On-line routing of
 * virtual circuits, 1997). */
static uint64_t price_of(uint64_t load, uint64_t par)
{
    uint64_t price = load < par * 2 ? (load << PRICE_BITS) / par : UINT64_C(2) << PRICE_BITS;
    for (int i = 0; i < 5; i++) {
        price = (uint64_t)((unsigned __int128)price * price >> PRICE_BITS);
    }
    return price + 1;
}

static void change_load(struct pccl__circuits *all, const struct pccl__circuit *circuit, bool more)
{
    for (uint32_t i = 0; i < circuit->count; i++) {
        uint32_t link = all->pool[circuit->first + i];
        uint64_t hold = all->hold_slots[all->link_speed[link]];
        all->load[link] = more ? all->load[link] + hold : all->load[link] - hold;
        all->price[link] = price_of(all->load[link], all->par);
    }
}

static uint64_t price_way(const struct pccl__circuits *all, const uint32_t *links, uint32_t count)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < count; i++) {
        sum += all->price[links[i]];
    }
    return sum;
}

/* Gives every chunk its first way and room for any, or measures the load that chunks make if each is spread evenly over
 * its ways. */
static int load_evenly(struct pccl__circuits *all)
{
    memset(all->load, 0, all->topology->num_links * sizeof *all->load);
    for (uint32_t i = 0; i < all->num_circuits; i++) {
        struct pccl__circuit *circuit = &all->circuits[i];
        int status = pccl__circuits_find_ways(all, circuit->chunk);
        if (status != 0) {
            return status;
        }
        uint32_t longest = 0;
        pccl__circuits_set_bytes(all, all->demand->chunks[circuit->chunk].bytes);
        for (uint32_t k = 0; k < all->ways.num_ways; k++) {
            const uint32_t *links = pccl__way(&all->ways, k);
            longest = all->ways.counts[k] > longest ? all->ways.counts[k] : longest;
            for (uint32_t j = 0; j < all->ways.counts[k]; j++) {
                all->load[links[j]] += (uint64_t)all->hold_slots[all->link_speed[links[j]]] * EVEN / all->ways.num_ways;
            }
        }
        uint32_t *grown =
            pccl__array_grow(all->pool, &all->pool_room, (uint64_t)all->pool_size + longest, sizeof *grown);
        if (grown == NULL) {
            return PCCL_ERR_MEMORY;
        }
        all->pool = grown;
        circuit->first = all->pool_size;
        all->pool_size += longest;
        pccl__circuits_set_way(all, circuit, 0);
    }
    return 0;
}

/* Finds par; returns whether no other link is busier by more than a little. */
static bool set_par(struct pccl__circuits *all)
{
    const struct pccl_topology *topology = all->topology;
    uint64_t busiest = 0;
    all->par = 1;
    for (uint32_t l = 0; l < topology->num_links; l++) {
        bool outer =
            topology->links[l].source < topology->num_devices || topology->links[l].target < topology->num_devices;
        all->par = outer && all->load[l] > all->par ? all->load[l] : all->par;
        busiest = all->load[l] > busiest ? all->load[l] : busiest;
    }
    bool even = busiest <= all->par + all->par / 64;
    all->par = all->par / EVEN + (all->par % EVEN != 0);
    return even;
}

/* Moves each chunk to its cheapest way in turn. */
static int balance_ways(struct pccl__circuits *all)
{
    for (uint32_t i = 0; i < all->num_circuits; i++) {
        struct pccl__circuit *circuit = &all->circuits[i];
        int status = pccl__circuits_find_ways(all, circuit->chunk);
        if (status != 0) {
            return status;
        }
        pccl__circuits_set_bytes(all, all->demand->chunks[circuit->chunk].bytes);
        change_load(all, circuit, false);
        uint64_t least = UINT64_MAX;
        uint32_t best = 0;
        for (uint32_t k = 0; k < all->ways.num_ways; k++) {
            uint64_t price = price_way(all, pccl__way(&all->ways, k), all->ways.counts[k]);
            if (price < least) {
                least = price;
                best = k;
            }
        }
        pccl__circuits_set_way(all, circuit, best);
        change_load(all, circuit, true);
    }
    return 0;
}

/* If shortest ways overload links within the network, looks at longer ones too and settles on ways by load. */
int pccl__circuits_settle(struct pccl__circuits *all)
{
    int status = load_evenly(all);
    if (status != 0 || all->ways.routed || set_par(all)) {
        return status;
    }
    all->settled = true;
    all->pool_size = 0;
    pccl__ways_allow(&all->ways, all->ways.longest);
    status = load_evenly(all);
    memset(all->load, 0, all->topology->num_links * sizeof *all->load);
    for (uint32_t i = 0; i < all->num_circuits && status == 0; i++) {
        pccl__circuits_set_bytes(all, all->demand->chunks[all->circuits[i].chunk].bytes);
        change_load(all, &all->circuits[i], true);
    }
    for (int sweep = 0; sweep < SWEEPS && status == 0; sweep++) {
        status = balance_ways(all);
    }
    return status;
}
