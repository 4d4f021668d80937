/* Shapes of trees. Each shape says who the parent of a position is; the rest is common. */
#include "algorithms/tree.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"

/* A tree in the making: the later a rank's key, the earlier its parent serves it. */
struct growth {
    struct pccl__tree *tree;
    const struct pccl__problem *problem;
    uint32_t *key; /* [num_ranks], below num_ranks */
};

/* Binary tree over positions first .. end-1 in preorder: subtrees are intervals. */
static void grow_binary(uint32_t *parent, uint32_t first, uint32_t end)
{
    while (end - first > 1) {
        uint32_t second = first + 1 + (end - first) / 2;
        parent[first + 1] = first;
        if (second < end) {
            parent[second] = first;
            grow_binary(parent, second, end);
        }
        end = second < end ? second : end;
        first++;
    }
}

/* Parent of position v among 1 .. count-1 in a binary tree in symmetric order below position 0: odd positions are
 * leaves. The second twin is its mirror image, or it moved on by one, so that there the even ones are. */
static uint32_t twin_parent(uint32_t v, uint32_t count, bool second)
{
    uint32_t last = count - 1;
    bool mirrored = last % 2 == 0;
    if (second) {
        v = mirrored ? last + 1 - v : v % last + 1;
    }
    uint32_t bit = v & (~v + 1), up = (v ^ bit) | bit << 1;
    up = up > last ? v ^ bit : up;
    if (second && up > 0) {
        up = mirrored ? last + 1 - up : (up + last - 2) % last + 1;
    }
    return up;
}

/* parent[v] of positions 1 .. count-1. */
static void grow_positions(enum pccl__shape shape, uint32_t count, uint32_t *parent)
{
    for (uint32_t v = 1; v < count; v++) {
        parent[v] = shape == PCCL__FLAT ? 0 : shape == PCCL__BINOMIAL ? (v & (v - 1)) : v - 1;
    }
    if (shape == PCCL__BINARY) {
        grow_binary(parent, 0, count);
    }
    for (uint32_t v = 1; v < count && (shape == PCCL__TWINS || shape == PCCL__SECOND_TWIN); v++) {
        parent[v] = twin_parent(v, count, shape == PCCL__SECOND_TWIN);
    }
}

/* Lays a shape over the ranks that rank_at gives for positions 0 .. count-1. */
static void lay(struct growth *growth, enum pccl__shape shape, uint32_t count, const uint32_t *rank_at,
                uint32_t *scratch)
{
    grow_positions(shape, count, scratch);
    for (uint32_t v = 1; v < count; v++) {
        growth->tree->parent[rank_at[v]] = rank_at[scratch[v]];
        growth->key[rank_at[v]] = v;
    }
}

/* Left and right of the root separately, so that every subtree is an interval of ranks. */
static void lay_ordered(struct growth *growth, enum pccl__shape shape, uint32_t *rank_at, uint32_t *scratch)
{
    uint32_t root = growth->tree->root, n = growth->tree->num_ranks;
    for (uint32_t v = 0; v < n - root; v++) {
        rank_at[v] = root + v;
    }
    lay(growth, shape, n - root, rank_at, scratch);
    for (uint32_t v = 0; v <= root; v++) {
        rank_at[v] = root - v;
    }
    lay(growth, shape, root + 1, rank_at, scratch);
}

/* Links on the way from each position to the next. */
static void measure_gaps(const struct growth *growth, const uint32_t *rank_at, uint32_t *gaps)
{
    for (uint32_t v = 0; v + 1 < growth->tree->num_ranks; v++) {
        const struct pccl__route *route = pccl__route(growth->problem, rank_at[v], rank_at[v + 1]);
        gaps[v] = route != NULL ? route->num_links : PCCL_NONE;
    }
}

/* The widest gap between neighbours, or 0 if all are alike. */
static uint32_t find_widest(const uint32_t *gaps, uint32_t count)
{
    uint32_t widest = 0, narrowest = PCCL_NONE;
    for (uint32_t v = 0; v + 1 < count; v++) {
        widest = gaps[v] > widest ? gaps[v] : widest;
        narrowest = gaps[v] < narrowest ? gaps[v] : narrowest;
    }
    return narrowest < widest ? widest : 0;
}

/* The end of the run that begins at `first`: the next one is a widest gap away. */
static uint32_t end_of_run(const uint32_t *gaps, uint32_t count, uint32_t widest, uint32_t first)
{
    uint32_t end = first + 1;
    while (end < count && gaps[end - 1] < widest) {
        end++;
    }
    return end;
}

static void reverse(uint32_t *ranks, uint32_t count)
{
    for (uint32_t i = 0; i < count / 2; i++) {
        uint32_t rank = ranks[i];
        ranks[i] = ranks[count - 1 - i];
        ranks[count - 1 - i] = rank;
    }
}

/* Moves the first `turn` to the end. */
static void rotate(uint32_t *ranks, uint32_t count, uint32_t turn)
{
    reverse(ranks, turn);
    reverse(ranks + turn, count - turn);
    reverse(ranks, count);
}

/* Turns positions so that the one at `place` comes first. Runs of near neighbours (below one switch, in one row of a
 * torus) stay whole: they change places, and each is turned inside as far as that of `place`. So a network that looks
 * alike from everywhere does so from position 0 on whichever root is there. gaps: [count - 1] between positions. */
static void turn(uint32_t *rank_at, const uint32_t *gaps, uint32_t count, uint32_t place)
{
    uint32_t widest = find_widest(gaps, count), first = 0, end;
    if (widest == 0) {
        rotate(rank_at, count, place);
        return;
    }
    while ((end = end_of_run(gaps, count, widest, first)) <= place) {
        first = end;
    }
    for (uint32_t start = 0; start < count; start = end) {
        end = end_of_run(gaps, count, widest, start);
        turn(rank_at + start, gaps + start, end - start, (place - first) % (end - start));
    }
    rotate(rank_at, count, first);
}

/* Positions in the given order, but the root first. scratch: [num_ranks], zero before and after. */
static void place_from_root(const struct growth *growth, const uint32_t *order, uint32_t *rank_at, uint32_t *scratch)
{
    uint32_t n = growth->tree->num_ranks, place = 0;
    for (uint32_t v = 0; v < n; v++) {
        rank_at[v] = order != NULL ? order[v] : v;
        place = rank_at[v] == growth->tree->root ? v : place;
    }
    if (place > 0) {
        measure_gaps(growth, rank_at, scratch);
        turn(rank_at, scratch, n, place);
        memset(scratch, 0, n * sizeof *scratch);
    }
}

/* In round i every holder reaches the one at signed distance 1 - 2 + 4 - ... (K - i terms) away. */
static int lay_bine(struct growth *growth, const uint32_t *rank_at, uint32_t *position_round, struct pccl_error *error)
{
    uint32_t n = growth->tree->num_ranks, rounds = 0, reached = 1;
    while ((UINT32_C(1) << rounds) < n && rounds < 31) {
        rounds++;
    }
    position_round[0] = 1;
    for (uint32_t round = 0; round < rounds; round++) {
        int64_t distance = pccl__signed_distance(rounds - 1 - round);
        for (uint32_t v = 0; v < n; v++) {
            if (position_round[v] == 0 || position_round[v] > round + 1) {
                continue;
            }
            int64_t signed_peer = (int64_t)v + (v % 2 == 0 ? distance : -distance);
            uint32_t peer = (uint32_t)(((signed_peer % n) + n) % n);
            if (position_round[peer] == 0) {
                position_round[peer] = round + 2;
                growth->tree->parent[rank_at[peer]] = rank_at[v];
                growth->key[rank_at[peer]] = rounds - round < n ? rounds - round : n - 1;
                reached++;
            }
        }
    }
    return reached == n ? 0 : pccl__reject(error, "signed distances do not reach every rank of a group this large");
}

/* Binomial by the fixed tree of demand.h: one of each pair of ranks that come first stands for both, and these are
 * numbered relative to the root's by exclusive or, so that every interval has its result where the tree needs it. */
static void lay_fixed(struct growth *growth)
{
    struct pccl__tree *tree = growth->tree;
    uint32_t n = tree->num_ranks, power = 1;
    while (power <= n / 2) {
        power *= 2;
    }
    uint32_t pairs = n - power, root = tree->root, root_leaf = root < 2 * pairs ? root / 2 : root - pairs;
    for (uint32_t v = 0; v < power; v++) {
        uint32_t leaf = v ^ root_leaf, parent_leaf = (v & (v - 1)) ^ root_leaf;
        uint32_t rank = leaf >= pairs ? leaf + pairs : v == 0 ? root : 2 * leaf;
        if (v > 0) {
            uint32_t parent = parent_leaf >= pairs ? parent_leaf + pairs : 2 * parent_leaf;
            tree->parent[rank] = parent_leaf == root_leaf ? root : parent;
            growth->key[rank] = v;
        }
        if (leaf < pairs) {
            tree->parent[rank ^ 1] = rank;
        }
    }
}

/* Nearest pairs first (Prim): fewest links, then least deep, then smallest rank. */
static int lay_spanning(struct growth *growth, uint32_t *depth, uint32_t *links, struct pccl_error *error)
{
    struct pccl__tree *tree = growth->tree;
    uint32_t n = tree->num_ranks, newest = tree->root;
    for (uint32_t rank = 0; rank < n; rank++) {
        links[rank] = PCCL_NONE;
    }
    for (uint32_t count = 1; count < n; count++) {
        uint32_t best = PCCL_NONE;
        for (uint32_t rank = 0; rank < n; rank++) {
            if (rank == tree->root || growth->key[rank] != 0) {
                continue;
            }
            const struct pccl__route *route = pccl__route(growth->problem, newest, rank);
            if (route != NULL && (route->num_links < links[rank] ||
                                  (route->num_links == links[rank] && depth[newest] + 1 < depth[rank]))) {
                links[rank] = route->num_links;
                depth[rank] = depth[newest] + 1;
                tree->parent[rank] = newest;
            }
            if (links[rank] != PCCL_NONE && (best == PCCL_NONE || links[rank] < links[best] ||
                                             (links[rank] == links[best] && depth[rank] < depth[best]))) {
                best = rank;
            }
        }
        if (best == PCCL_NONE) {
            return pccl__reject(error, "the ranks are not connected by routes");
        }
        growth->key[best] = n - count;
        newest = best;
    }
    return 0;
}

/* Children in serving order: by falling key, then rising rank. */
static void collect_children(const struct growth *growth, uint32_t *by_key, uint32_t *fill)
{
    struct pccl__tree *tree = growth->tree;
    uint32_t n = tree->num_ranks;
    for (uint32_t rank = 0; rank < n; rank++) {
        fill[n - 1 - growth->key[rank]]++;
    }
    for (uint32_t i = 0, sum = 0; i < n; i++) {
        uint32_t count = fill[i];
        fill[i] = sum;
        sum += count;
    }
    for (uint32_t rank = 0; rank < n; rank++) {
        by_key[fill[n - 1 - growth->key[rank]]++] = rank;
        if (rank != tree->root) {
            tree->first_child[tree->parent[rank] + 1]++;
        }
    }
    for (uint32_t rank = 0; rank < n; rank++) {
        tree->first_child[rank + 1] += tree->first_child[rank];
        fill[rank] = tree->first_child[rank];
    }
    for (uint32_t i = 0; i < n; i++) {
        if (by_key[i] != tree->root) {
            tree->children[fill[tree->parent[by_key[i]]]++] = by_key[i];
        }
    }
}

/* Preorder that visits the child served last first: in most shapes this is the order of positions. */
static void collect_preorder(struct pccl__tree *tree, uint32_t *stack)
{
    uint32_t depth = 0, count = 0;
    stack[depth++] = tree->root;
    while (depth > 0) {
        uint32_t rank = stack[--depth];
        tree->preorder[count++] = rank;
        for (uint32_t c = tree->first_child[rank]; c < tree->first_child[rank + 1]; c++) {
            stack[depth++] = tree->children[c];
        }
    }
    while (count-- > 0) {
        uint32_t rank = tree->preorder[count];
        tree->size[rank]++;
        if (rank != tree->root) {
            tree->size[tree->parent[rank]] += tree->size[rank];
        }
    }
}

static int grow(struct growth *growth, enum pccl__shape shape, const uint32_t *order, uint32_t *scratch,
                struct pccl_error *error)
{
    struct pccl__tree *tree = growth->tree;
    uint32_t *rank_at = scratch, *rest = scratch + tree->num_ranks;
    if (growth->problem->ordered && shape >= PCCL__SPANNING) {
        return pccl__reject(error, "its subtrees are not intervals of ranks, as the operator needs");
    }
    if (shape == PCCL__SPANNING || shape == PCCL__BINE) {
        if (shape == PCCL__SPANNING) {
            return lay_spanning(growth, rank_at, rest, error);
        }
        place_from_root(growth, order, rank_at, rest);
        return lay_bine(growth, rank_at, rest, error);
    }
    if (growth->problem->reproducible && shape == PCCL__BINOMIAL) {
        lay_fixed(growth);
    } else if (growth->problem->ordered) {
        lay_ordered(growth, shape, rank_at, rest);
    } else {
        place_from_root(growth, order, rank_at, rest);
        lay(growth, shape, tree->num_ranks, rank_at, rest);
    }
    return 0;
}

int pccl__tree_make(struct pccl__tree *tree, const struct pccl__problem *problem, enum pccl__shape shape, uint32_t root,
                    const uint32_t *order, struct pccl_error *error)
{
    uint32_t n = problem->num_ranks;
    *tree = (struct pccl__tree){.num_ranks = n, .root = root};
    uint32_t *all = pccl__array_new(8 * (size_t)n + 1, sizeof *all);
    if (all == NULL) {
        pccl__problem_starve(problem);
        return pccl__fail_memory(error);
    }
    tree->parent = all;
    tree->children = all + n;
    tree->preorder = all + 2 * (size_t)n;
    tree->size = all + 3 * (size_t)n;
    tree->first_child = all + 4 * (size_t)n;
    struct growth growth = {.tree = tree, .problem = problem, .key = all + 5 * (size_t)n + 1};
    uint32_t *scratch = all + 6 * (size_t)n + 1;
    int status = grow(&growth, shape, order, scratch, error);
    if (status == PCCL_ERR_MEMORY) {
        pccl__problem_starve(problem);
    }
    if (status != 0) {
        return status;
    }
    tree->parent[root] = PCCL_NONE;
    for (uint32_t i = 0; i < 2 * n; i++) {
        scratch[i] = 0;
    }
    collect_children(&growth, scratch, scratch + n);
    collect_preorder(tree, scratch);
    return 0;
}

void pccl__tree_free(struct pccl__tree *tree)
{
    free(tree->parent);
    tree->parent = NULL;
}
