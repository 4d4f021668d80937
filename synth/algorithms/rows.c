/* The table of all methods. */
#include <stddef.h>

#include "algorithms/circuits.h"
#include "algorithms/lines.h"
#include "algorithms/matching.h"
#include "algorithms/multicast.h"
#include "algorithms/parts.h"
#include "algorithms/portfolio.h"
#include "algorithms/symmetry.h"
#include "algorithms/tournament.h"
#include "algorithms/tree.h"
#include "algorithms/unicast.h"

#define AG (1u << PCCL_ALLGATHER)
#define AR (1u << PCCL_ALLREDUCE)
#define A2A (1u << PCCL_ALLTOALL)
#define BAR (1u << PCCL_BARRIER)
#define BC (1u << PCCL_BROADCAST)
#define GA (1u << PCCL_GATHER)
#define RED (1u << PCCL_REDUCE)
#define RS (1u << PCCL_REDUCE_SCATTER)
#define SC (1u << PCCL_SCATTER)
#define PRE (1u << PCCL_SCAN | 1u << PCCL_EXSCAN)
#define CUS (1u << PCCL_CUSTOM)
#define GATHERS (AG | RS | AR | BC | RED) /* whatever an all-gather can be made into, the barrier apart */
#define ALL (GATHERS | A2A | BAR | GA | SC)

#define ORDERED PCCL__SERVES_ORDERED
#define DIRECT PCCL__SERVES_DIRECT
#define DENSE PCCL__DENSE
#define UNROOTED PCCL__DENSE_UNROOTED
#define PLANNED PCCL__PLANNED
#define TREED (PCCL__KEEPS_TREE | PCCL__SERVES_ORDERED)
#define APART PCCL__GATHERS_APART
#define WHOLE PCCL__WHOLE
#define HALVES PCCL__HALVES
#define REFINED PCCL__REFINED
#define SLICED PCCL__SLICED
#define PIPELINED PCCL__PIPELINED

/* Families: the algorithm and its forecast. */
#define SPREAD pccl__spread_algorithm, pccl__estimate_spread
#define TREE pccl__tree_algorithm, pccl__estimate_tree
#define VECTOR pccl__vector_algorithm, pccl__estimate_vector
#define EXCHANGE pccl__exchange_algorithm, pccl__estimate_exchange
#define FOLD pccl__fold_algorithm, pccl__estimate_fold
#define TRANSPOSE pccl__transpose_algorithm, pccl__estimate_transpose
#define RING pccl__ring_algorithm, pccl__estimate_ring
#define PREFIX pccl__prefix_algorithm, pccl__estimate_prefix
#define DIMENSIONS pccl__dimensions_algorithm, pccl__estimate_dimensions
#define GREEDY pccl__greedy_algorithm, pccl__estimate_greedy
#define GREEDY_TREE pccl__greedy_tree_algorithm, pccl__estimate_tree
#define MATCHING pccl__matching_algorithm, pccl__estimate_matching

#define LEVELS pccl__levels_algorithm, pccl__estimate_levels
#define LINES pccl__lines_algorithm, pccl__estimate_lines
#define UNICAST pccl__unicast_algorithm, pccl__estimate_unicast
#define SYMMETRY pccl__symmetry_algorithm, pccl__estimate_symmetry
#define CIRCUITS pccl__circuits_algorithm, pccl__estimate_circuits
#define ROUNDS pccl__rounds_algorithm, pccl__estimate_rounds

#define TOURNAMENT pccl__tournament_algorithm, pccl__estimate_tournament

#define PARTS pccl__parts_algorithm, pccl__estimate_parts
#define MULTICAST pccl__multicast_algorithm, pccl__estimate_multicast

#define RANK(kind) PCCL__VARIANT(kind, PCCL__BY_RANK)
#define PLACE(kind) PCCL__VARIANT(kind, PCCL__BY_PLACE)

/* Ties go to the row above. */
const struct pccl__row pccl__rows[] = {
    {"spread", AG | A2A | BAR | RS | AR, DIRECT | DENSE, WHOLE, SPREAD, RANK(PCCL__ROTATED)},
    {"spread:outward", RS | AR, ORDERED | DIRECT | DENSE, WHOLE, SPREAD, RANK(PCCL__OUTWARD)},
    {"pairwise", AG | A2A | RS | AR, DIRECT | DENSE, WHOLE, SPREAD, RANK(PCCL__XOR)},
    {"flat", BC | RED | GA | SC, ORDERED | DIRECT, WHOLE, TREE, RANK(PCCL__FLAT)},
    {"flat:twice", AG | AR | BAR | RS, ORDERED, WHOLE, TREE, RANK(PCCL__FLAT)},
    {"doubling:vector", AR, TREED, WHOLE, VECTOR, RANK(PCCL__DOUBLING)},
    {"doubling", GATHERS | BAR, TREED, WHOLE, EXCHANGE, RANK(PCCL__DOUBLING)},
    {"doubling:folded", RS | AR, TREED, WHOLE, FOLD, RANK(PCCL__DOUBLING)},
    {"bruck", GATHERS | BAR, APART, WHOLE, EXCHANGE, RANK(PCCL__BRUCK)},
    {"bruck:place", GATHERS | BAR, APART, WHOLE, EXCHANGE, PLACE(PCCL__BRUCK)},
    {"swing", GATHERS | BAR, APART, WHOLE, EXCHANGE, RANK(PCCL__SWING)},
    {"swing:place", GATHERS | BAR, APART, WHOLE, EXCHANGE, PLACE(PCCL__SWING)},
    {"bruck:alltoall", A2A, 0, WHOLE, TRANSPOSE, RANK(PCCL__BRUCK)},
    {"doubling:alltoall", A2A, 0, WHOLE, TRANSPOSE, RANK(PCCL__DOUBLING)},
    {"binomial", BC | RED | GA | SC | AG | AR | RS | BAR, TREED, WHOLE, TREE, RANK(PCCL__BINOMIAL)},
    {"binomial:place", BC | RED | GA | SC | AR, 0, WHOLE, TREE, PLACE(PCCL__BINOMIAL)},
    {"bine", BC | RED | GA | SC | AR, 0, WHOLE, TREE, RANK(PCCL__BINE)},
    {"bine:place", BC | RED | GA | SC | AR, 0, WHOLE, TREE, PLACE(PCCL__BINE)},
    {"tournament", RED | RS | AR, TREED | DENSE | UNROOTED, PIPELINED, TOURNAMENT, PCCL__WHOLE_BLOCKS},
    {"tournament:scattered", RED, TREED | DENSE, PIPELINED, TOURNAMENT, PCCL__SCATTERED},
    {"dimensions", GATHERS, APART, WHOLE, DIMENSIONS, PCCL__TOGETHER},
    {"dimensions:split", GATHERS, UNROOTED | APART, WHOLE, DIMENSIONS, PCCL__SPLIT},
    {"doubling:scan", PRE, TREED, WHOLE, PREFIX, PCCL__PREFIX_DOUBLING},
    {"chain:scan", PRE, ORDERED, PIPELINED, PREFIX, PCCL__PREFIX_CHAIN},
    {"spread:scan", PRE, ORDERED | DENSE, WHOLE, PREFIX, PCCL__PREFIX_SPREAD},
    {"greedy", AG | RS | AR | BAR, 0, WHOLE, GREEDY, RANK(PCCL__BRUCK)},
    {"greedy:tree", BC | RED | AR, 0, WHOLE, GREEDY_TREE, RANK(PCCL__BINOMIAL)},
    {"ring:rank", GATHERS, DENSE | APART, PIPELINED, RING, RANK(PCCL__ONE_WAY)},
    {"ring:place", GATHERS, DENSE | APART, PIPELINED, RING, PLACE(PCCL__ONE_WAY)},
    {"ring:both-ways", GATHERS, DENSE | APART, HALVES, RING, PLACE(PCCL__BOTH_WAYS)},
    {"chain:rank", BC | RED | AR, ORDERED, PIPELINED, TREE, RANK(PCCL__CHAIN)},
    {"chain:place", BC | RED | AR, 0, PIPELINED, TREE, PLACE(PCCL__CHAIN)},
    {"binary", BC | RED | AR, ORDERED, PIPELINED, TREE, RANK(PCCL__BINARY)},
    {"binary:place", BC | RED | AR, 0, PIPELINED, TREE, PLACE(PCCL__BINARY)},
    {"twins", BC | RED | AR, 0, HALVES, TREE, RANK(PCCL__TWINS)},
    {"twins:place", BC | RED | AR, 0, HALVES, TREE, PLACE(PCCL__TWINS)},
    {"levels", GATHERS | BAR | GA | SC, ORDERED, WHOLE, LEVELS, 0},
    {"matching", GATHERS | BAR, UNROOTED | PLANNED | APART, PIPELINED, MATCHING, PCCL__CLUSTERED},
    {"matching:filling", GATHERS | BAR, UNROOTED | PLANNED | APART, PIPELINED, MATCHING, PCCL__FILLING},
    {"matching:eager", GATHERS | BAR, UNROOTED | PLANNED | APART, PIPELINED, MATCHING, PCCL__EAGER},
    {"lines", A2A, UNROOTED, WHOLE, LINES, 0},
    {"symmetry", A2A, UNROOTED, WHOLE, SYMMETRY, 0},
    {"circuits:folded", A2A, DIRECT | UNROOTED | PLANNED, WHOLE, CIRCUITS, PCCL__CIRCUITS_FOLDED},
    {"circuits:rotated", A2A | GA | SC | CUS, DIRECT | UNROOTED | PLANNED, WHOLE, CIRCUITS, PCCL__CIRCUITS_ROTATED},
    {"circuits:longest", A2A | GA | SC | CUS, DIRECT | UNROOTED | PLANNED, WHOLE, CIRCUITS, PCCL__CIRCUITS_LONGEST},
    {"rounds", A2A, DIRECT | UNROOTED | PCCL__PACED, SLICED, ROUNDS, 0},
    {"unicast:farthest", A2A | GA | SC | CUS, UNROOTED | PLANNED, REFINED, UNICAST, PCCL__FARTHEST},
    {"unicast:shuffled", A2A | GA | SC | CUS, UNROOTED | PLANNED, REFINED, UNICAST, PCCL__SHUFFLED},
    {"unicast:farthest-detours", A2A | GA | SC | CUS, UNROOTED | PLANNED, REFINED, UNICAST, PCCL__FARTHEST_DETOURS},
    {"unicast:shuffled-detours", A2A | GA | SC | CUS, UNROOTED | PLANNED, REFINED, UNICAST, PCCL__SHUFFLED_DETOURS},
    {"parts", CUS, ORDERED | DIRECT, WHOLE, PARTS, 0},
    {"multicast", GATHERS | BAR | CUS, UNROOTED | PLANNED, PIPELINED, MULTICAST, PCCL__EARLIEST},
    {"multicast:priced", GATHERS | CUS, UNROOTED | PLANNED, PIPELINED, MULTICAST, PCCL__PRICED},
    {"spanning", ALL, PCCL__FALLBACK, WHOLE, TREE, RANK(PCCL__SPANNING)},
};

const uint32_t pccl__num_rows = sizeof pccl__rows / sizeof pccl__rows[0];

/* A row whose all-gather serves, while another algorithm has to combine. */
static bool needs_apart(const struct pccl__problem *problem, uint32_t row)
{
    return problem->reproducible && problem->collective == PCCL_ALLREDUCE && !problem->request->direct &&
           (pccl__rows[row].flags & APART) != 0;
}

const char *pccl__row_refusal(const struct pccl__problem *problem, uint32_t row)
{
    if ((pccl__rows[row].collectives >> problem->collective & 1) == 0) {
        return "serves other collectives";
    }
    if (needs_apart(problem, row)) {
        return NULL;
    }
    if (problem->reproducible && (pccl__rows[row].flags & PCCL__KEEPS_TREE) == 0) {
        return "does not combine by the fixed tree of reproducible reductions";
    }
    if (problem->ordered && (pccl__rows[row].flags & ORDERED) == 0) {
        return "does not combine in rank order, as the operator needs";
    }
    if (problem->request->direct && (pccl__rows[row].flags & DIRECT) == 0) {
        return "passes chunks on, and only direct messages are allowed";
    }
    return NULL;
}

int pccl__row_make(struct pccl__problem *problem, uint32_t row, uint32_t pieces, struct pccl_schedule **schedule,
                   struct pccl_error *error)
{
    const char *refusal = pccl__row_refusal(problem, row);
    *schedule = NULL;
    if (refusal != NULL) {
        return pccl__reject(error, refusal);
    }
    problem->method = pccl__rows[row].method;
    problem->variant = pccl__rows[row].variant;
    problem->apart = needs_apart(problem, row);
    return pccl__rows[row].run(problem, pieces, schedule, error);
}

int64_t pccl__row_estimate(struct pccl__problem *problem, uint32_t row, uint32_t pieces)
{
    problem->variant = pccl__rows[row].variant;
    return pccl__rows[row].estimate(problem, pieces);
}
