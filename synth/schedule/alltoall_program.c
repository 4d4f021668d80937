/* One rank's program in a direct all-to-all, without the schedule of all ranks. */
#include <stdlib.h>

#include "base/array.h"
#include "base/error.h"
#include "schedule/levels.h"
#include "schedule/operations.h"

/* Round (d, k): every node talks to the d-th after it, and there position p to the k-th after its own. A receive has
 * the round in which its sender sends it, so that both ends agree on the order. */
struct exchange {
    const struct pccl__nodes *nodes;
    const struct pccl_demand *demand;
    struct pccl__operations operations;
    uint32_t rank;
    uint32_t num_sends;         /* to the node at hand: one for each k from 0 on */
    uint32_t *sends, *receives; /* [largest node] peers by k */
    uint32_t *bucket;           /* [own node + 1] where the receives of round k end: one, several or none */
};

static uint32_t largest_node(const struct pccl__nodes *nodes)
{
    uint32_t largest = 0;
    for (uint32_t node = 0; node < nodes->num_nodes; node++) {
        uint32_t size = pccl__node_size(nodes, node);
        largest = size > largest ? size : largest;
    }
    return largest;
}

/* Where in a node of `to` members the partners of position p of a node of `from` members begin. */
static uint32_t partner_start(uint32_t position, uint32_t from, uint32_t to)
{
    return (uint32_t)((uint64_t)position * to / from);
}

/* The round k in which position `source` of a node of `from` members sends to position `target` of one of `to`. */
static uint32_t round_of(uint32_t source, uint32_t from, uint32_t target, uint32_t to)
{
    return (target + to - partner_start(source, from, to)) % to;
}

static void find_sends(struct exchange *exchange, uint32_t node)
{
    const struct pccl__nodes *nodes = exchange->nodes;
    uint32_t own = nodes->node[exchange->rank], size = pccl__node_size(nodes, node);
    uint32_t start = partner_start(nodes->position[exchange->rank], pccl__node_size(nodes, own), size);
    exchange->num_sends = size;
    for (uint32_t k = 0; k < size; k++) {
        exchange->sends[k] = nodes->members[nodes->first[node] + (start + k) % size];
    }
}

/* Counting sort of the node's members by the round in which they send. */
static void find_receives(struct exchange *exchange, uint32_t node)
{
    const struct pccl__nodes *nodes = exchange->nodes;
    uint32_t own = nodes->node[exchange->rank], size = pccl__node_size(nodes, node);
    uint32_t own_size = pccl__node_size(nodes, own), position = nodes->position[exchange->rank];
    for (uint32_t k = 0; k <= own_size; k++) {
        exchange->bucket[k] = 0;
    }
    for (uint32_t p = 0; p < size; p++) {
        exchange->bucket[round_of(p, size, position, own_size) + 1]++;
    }
    for (uint32_t k = 0; k < own_size; k++) {
        exchange->bucket[k + 1] += exchange->bucket[k];
    }
    for (uint32_t p = 0; p < size; p++) {
        uint32_t at = exchange->bucket[round_of(p, size, position, own_size)]++;
        exchange->receives[at] = nodes->members[nodes->first[node] + p];
    }
}

static void move_blocks(struct exchange *exchange, uint32_t kind, uint32_t peer, uint32_t step)
{
    const struct pccl_demand *demand = exchange->demand;
    uint32_t n = demand->num_ranks, pieces = demand->pieces, rank = exchange->rank;
    bool sends = kind == PCCL_OP_SEND;
    uint32_t first = (sends ? rank * n + peer : peer * n + rank) * pieces;
    pccl__operations_add(&exchange->operations, kind, peer, step, pieces);
    for (uint32_t p = 0; p < pieces; p++) {
        if (sends) {
            pccl__operations_read(&exchange->operations, PCCL_SLOT(PCCL_INPUT, peer * pieces + p), first + p);
        } else {
            pccl__operations_write(&exchange->operations, PCCL_SLOT(PCCL_OUTPUT, peer * pieces + p), first + p);
        }
    }
    pccl__operations_close(&exchange->operations);
}

static void keep_own(struct exchange *exchange)
{
    const struct pccl_demand *demand = exchange->demand;
    uint32_t pieces = demand->pieces, rank = exchange->rank, first = (rank * demand->num_ranks + rank) * pieces;
    pccl__operations_add(&exchange->operations, PCCL_OP_COPY, PCCL_NONE, 0, pieces);
    for (uint32_t p = 0; p < pieces; p++) {
        pccl__operations_read(&exchange->operations, PCCL_SLOT(PCCL_INPUT, rank * pieces + p), first + p);
    }
    for (uint32_t p = 0; p < pieces; p++) {
        pccl__operations_write(&exchange->operations, PCCL_SLOT(PCCL_OUTPUT, rank * pieces + p), first + p);
    }
    pccl__operations_close(&exchange->operations);
}

/* The node `distance` further, and the one as far back; in each round sends come first, as in every program. Within the
 * own node, the rank itself is no peer. */
static void exchange_at(struct exchange *exchange, uint32_t distance)
{
    const struct pccl__nodes *nodes = exchange->nodes;
    uint32_t own = nodes->node[exchange->rank], count = nodes->num_nodes, own_size = pccl__node_size(nodes, own);
    find_sends(exchange, (own + distance) % count);
    find_receives(exchange, (own + count - distance) % count);
    for (uint32_t k = 0, i = 0; k < exchange->num_sends || k < own_size; k++) {
        if (k < exchange->num_sends && exchange->sends[k] != exchange->rank) {
            move_blocks(exchange, PCCL_OP_SEND, exchange->sends[k], distance);
        }
        for (; k < own_size && i < exchange->bucket[k]; i++) {
            if (exchange->receives[i] != exchange->rank) {
                move_blocks(exchange, PCCL_OP_RECEIVE, exchange->receives[i], distance);
            }
        }
    }
}

int pccl__alltoall_program(const struct pccl__nodes *nodes, const struct pccl_demand *demand, uint32_t rank,
                           struct pccl_program **program, struct pccl_error *error)
{
    struct exchange exchange = {.nodes = nodes, .demand = demand, .rank = rank};
    uint32_t largest = largest_node(nodes);
    *program = NULL;
    exchange.sends = pccl__array_new(3 * (size_t)largest + 1, sizeof *exchange.sends);
    if (exchange.sends != NULL) {
        exchange.receives = exchange.sends + largest;
        exchange.bucket = exchange.receives + largest;
        pccl__operations_begin(&exchange.operations, demand, rank);
        keep_own(&exchange);
        for (uint32_t distance = 0; distance < nodes->num_nodes; distance++) {
            exchange_at(&exchange, distance);
        }
        *program = pccl__operations_pack(&exchange.operations, 0);
    }
    pccl__operations_free(&exchange.operations);
    free(exchange.sends);
    return *program != NULL ? 0 : pccl__fail_memory(error);
}
