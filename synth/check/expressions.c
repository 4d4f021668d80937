#include "check/expressions.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/bitset.h"

void pccl__expressions_free(struct pccl__expressions *expressions)
{
    free(expressions->nodes);
    free(expressions->words);
    free(expressions->table);
}

void pccl__expressions_reset(struct pccl__expressions *expressions, uint32_t kept)
{
    if (expressions->num_combined > 0) {
        memset(expressions->table, 0xff, expressions->table_size * sizeof *expressions->table);
    }
    expressions->num_nodes = kept;
    expressions->num_words = expressions->num_combined = 0;
}

static uint32_t add_node(struct pccl__expressions *expressions, struct pccl__expression node)
{
    struct pccl__expression *nodes = pccl__array_grow(expressions->nodes, &expressions->node_room,
                                                      (uint64_t)expressions->num_nodes + 1, sizeof *nodes);
    if (nodes == NULL || expressions->num_nodes == PCCL_NONE - 1) {
        return PCCL_NONE;
    }
    expressions->nodes = nodes;
    nodes[expressions->num_nodes] = node;
    return expressions->num_nodes++;
}

uint32_t pccl__expressions_leaf(struct pccl__expressions *expressions, uint32_t chunk, uint32_t position)
{
    return add_node(expressions, (struct pccl__expression){.chunk = chunk,
                                                           .left = PCCL_NONE,
                                                           .right = PCCL_NONE,
                                                           .low = position,
                                                           .high = position,
                                                           .count = 1,
                                                           .set = PCCL_NONE,
                                                           .bits = UINT64_C(1) << (position % 64)});
}

/* Word number `word` of an expression's set. */
static uint64_t set_word(const struct pccl__expressions *expressions, const struct pccl__expression *node,
                         uint32_t word)
{
    uint32_t first = node->low / 64, last = node->high / 64;
    if (word < first || word > last) {
        return 0;
    }
    if (first == last) {
        return node->bits;
    }
    if (node->set != PCCL_NONE) {
        return expressions->words[node->set + word - first];
    }
    uint64_t bits = UINT64_MAX;
    bits = word == first ? bits >> (node->low % 64) << (node->low % 64) : bits;
    return word == last ? bits << (63 - node->high % 64) >> (63 - node->high % 64) : bits;
}

uint32_t pccl__expressions_overlap_sets(const struct pccl__expressions *expressions, uint32_t a, uint32_t b)
{
    const struct pccl__expression *x = &expressions->nodes[a], *y = &expressions->nodes[b];
    uint32_t low = x->low > y->low ? x->low : y->low, high = x->high < y->high ? x->high : y->high;
    if ((x->low ^ y->high) < 64 && (y->low ^ x->high) < 64 && ((x->bits & y->bits) == 0)) {
        return PCCL_NONE; /* both lie in one word */
    }
    for (uint32_t word = low / 64; word <= high / 64; word++) {
        uint64_t common = set_word(expressions, x, word) & set_word(expressions, y, word);
        if (common != 0) {
            return word * 64 + (uint32_t)__builtin_ctzll(common);
        }
    }
    return PCCL_NONE;
}

bool pccl__expressions_is_prefix(const struct pccl__expressions *expressions, uint32_t number, uint32_t count)
{
    const struct pccl__expression *node = &expressions->nodes[number];
    return node->count == count && node->low == 0 && node->high + 1 == count;
}

/* Stores the union of two sets and gives node->set its place; false when out of memory. */
static bool store_union(struct pccl__expressions *expressions, struct pccl__expression *node,
                        const struct pccl__expression *x, const struct pccl__expression *y)
{
    uint32_t first = node->low / 64, count = node->high / 64 - first + 1;
    uint64_t *words = pccl__array_grow(expressions->words, &expressions->word_room,
                                       (uint64_t)expressions->num_words + count, sizeof *words);
    if (words == NULL) {
        return false;
    }
    expressions->words = words;
    node->set = expressions->num_words;
    for (uint32_t i = 0; i < count; i++) {
        words[node->set + i] = set_word(expressions, x, first + i) | set_word(expressions, y, first + i);
    }
    expressions->num_words += count;
    return true;
}

/* Where the combination is in the table, or the free place where it belongs. */
static uint32_t find_place(const struct pccl__expressions *expressions, uint32_t left, uint32_t right)
{
    uint64_t key = ((uint64_t)left << 32 | right) * UINT64_C(0x9e3779b97f4a7c15);
    uint32_t mask = expressions->table_size - 1, place = (uint32_t)(key >> 32) & mask;
    for (;; place = (place + 1) & mask) {
        uint32_t number = expressions->table[place];
        if (number == PCCL_NONE ||
            (expressions->nodes[number].left == left && expressions->nodes[number].right == right)) {
            return place;
        }
    }
}

/* Keeps the table at most half full. */
static bool grow_table(struct pccl__expressions *expressions)
{
    uint32_t old_size = expressions->table_size, size = old_size > 0 ? 2 * old_size : 64;
    if (expressions->num_combined < old_size / 2) {
        return true;
    }
    uint32_t *table = pccl__array_new(size, sizeof *table), *old = expressions->table;
    if (table == NULL) {
        return false;
    }
    memset(table, 0xff, size * sizeof *table);
    expressions->table = table;
    expressions->table_size = size;
    for (uint32_t i = 0; i < old_size; i++) {
        if (old[i] != PCCL_NONE) {
            const struct pccl__expression *node = &expressions->nodes[old[i]];
            table[find_place(expressions, node->left, node->right)] = old[i];
        }
    }
    free(old);
    return true;
}

uint32_t pccl__expressions_combine(struct pccl__expressions *expressions, uint32_t left, uint32_t right)
{
    if (!grow_table(expressions)) {
        return PCCL_NONE;
    }
    uint32_t place = find_place(expressions, left, right);
    if (expressions->table[place] != PCCL_NONE) {
        return expressions->table[place];
    }
    const struct pccl__expression *x = &expressions->nodes[left], *y = &expressions->nodes[right];
    struct pccl__expression node = {
        .chunk = x->chunk,
        .left = left,
        .right = right,
        .low = x->low < y->low ? x->low : y->low,
        .high = x->high > y->high ? x->high : y->high,
        .count = x->count + y->count,
        .set = PCCL_NONE,
    };
    if (node.low / 64 == node.high / 64) {
        node.bits = x->bits | y->bits;
    } else if (node.high - node.low + 1 != node.count && !store_union(expressions, &node, x, y)) {
        return PCCL_NONE;
    }
    uint32_t number = add_node(expressions, node);
    if (number != PCCL_NONE) {
        expressions->table[place] = number;
        expressions->num_combined++;
    }
    return number;
}
