#include "algorithms/tournament.h"

#include <stdlib.h>

#include "algorithms/meter.h"
#include "base/array.h"
#include "base/error.h"

/* `from` hands its state of the chunk over to `to`. */
struct game {
    uint32_t step, from, to, chunk;
};

/* Who has won an interval of the tree, whose games are still to be planned. */
struct winner {
    uint32_t rank;
    uint32_t level; /* the interval is 2^level leaves, each a rank or a pair of them */
};

struct tournament {
    const struct pccl__problem *problem;
    bool one_block; /* a reduce, to its root; else every rank gets the result of one block */
    uint32_t num_pairs, rounds; /* leaves 0 .. num_pairs-1 are pairs; there are 2^rounds leaves */
    uint32_t num_chunks, pieces, num_games, num_steps;
    struct game *games, *sorted; /* [num_chunks * (num_ranks - 1)] */
    struct winner *queue;        /* [num_ranks] */
    int64_t *load;               /* [num_capacities] ps for a MiB in each message so far */
    int64_t most_load, most_fixed_ps;
};

static void close_tournament(struct tournament *tournament)
{
    free(tournament->games);
    free(tournament->sorted);
    free(tournament->queue);
    free(tournament->load);
}

/* false when out of memory, or if there are too many games. */
static bool open_tournament(struct tournament *tournament, const struct pccl__problem *problem, bool one_block,
                            uint32_t pieces)
{
    uint32_t n = problem->num_ranks;
    *tournament = (struct tournament){.problem = problem, .one_block = one_block, .pieces = pieces};
    while (n >> (tournament->rounds + 1) != 0) {
        tournament->rounds++;
    }
    tournament->num_pairs = n - (1u << tournament->rounds);
    tournament->num_steps = tournament->rounds + pieces;
    uint64_t num_chunks = (one_block ? 1 : (uint64_t)n) * pieces, num_games = num_chunks * (n - 1);
    if (num_games > UINT32_MAX / 4) {
        return false;
    }
    tournament->num_chunks = (uint32_t)num_chunks;
    tournament->games = pccl__array_new((size_t)num_games, sizeof *tournament->games);
    tournament->sorted = pccl__array_new((size_t)num_games, sizeof *tournament->sorted);
    tournament->queue = pccl__array_new(n, sizeof *tournament->queue);
    tournament->load = pccl__array_new(problem->topology->num_capacities, sizeof *tournament->load);
    return tournament->games != NULL && tournament->sorted != NULL && tournament->queue != NULL &&
           tournament->load != NULL;
}

/* --- planning ----------------------------------------------------------------------------------------------------- */

static uint32_t leaf_of(const struct tournament *tournament, uint32_t rank)
{
    return rank < 2 * tournament->num_pairs ? rank / 2 : rank - tournament->num_pairs;
}

/* What a message from `from` to `to` would meet on its links; INT64_MAX if it has no route. */
static int64_t cost_of(const struct tournament *tournament, uint32_t from, uint32_t to)
{
    const struct pccl__route *route = pccl__route(tournament->problem, from, to);
    if (route == NULL) {
        return INT64_MAX;
    }
    const uint32_t *links = pccl__route_links(tournament->problem, route);
    int64_t cost = 0;
    for (uint32_t i = 0; i < route->num_links; i++) {
        const struct pccl_link *link = &tournament->problem->topology->links[links[i]];
        cost = pccl__add_ps(cost, pccl__add_ps(tournament->load[link->capacity], link->ps_per_mib + 1));
    }
    return cost;
}

/* The cheapest opponent for `rank` among 2^level neighbouring leaves. Those at the same place of their interval come
 * first: where all cost the same, this is recursive halving, whose messages carry many chunks. PCCL_NONE: no route. */
static uint32_t choose_opponent(const struct tournament *tournament, uint32_t rank, uint32_t level)
{
    uint32_t opposite = leaf_of(tournament, rank) ^ 1u << level, best = PCCL_NONE;
    int64_t best_cost = INT64_MAX;
    for (uint32_t i = 0; i < 1u << level; i++) {
        uint32_t leaf = opposite ^ i, pair = leaf < tournament->num_pairs;
        for (uint32_t k = 0; k <= pair; k++) {
            uint32_t opponent = pair ? 2 * leaf + k : leaf + tournament->num_pairs;
            int64_t cost = cost_of(tournament, opponent, rank);
            if (cost < best_cost) {
                best_cost = cost;
                best = opponent;
            }
        }
    }
    return best;
}

static void add_game(struct tournament *tournament, uint32_t step, uint32_t from, uint32_t to, uint32_t chunk)
{
    const struct pccl__route *route = pccl__route(tournament->problem, from, to);
    const uint32_t *links = pccl__route_links(tournament->problem, route);
    for (uint32_t i = 0; i < route->num_links; i++) {
        const struct pccl_link *link = &tournament->problem->topology->links[links[i]];
        int64_t *load = &tournament->load[link->capacity];
        *load = pccl__add_ps(*load, link->ps_per_mib + 1);
        tournament->most_load = *load > tournament->most_load ? *load : tournament->most_load;
    }
    int64_t fixed_ps = pccl__message_ps(tournament->problem, from, to, 0);
    tournament->most_fixed_ps = fixed_ps > tournament->most_fixed_ps ? fixed_ps : tournament->most_fixed_ps;
    tournament->games[tournament->num_games++] =
        (struct game){step + chunk % tournament->pieces, from, to, chunk};
}

/* From the final, which `champion` wins, down to the pairs. false if some interval cannot reach its opponent. */
static bool plan_chunk(struct tournament *tournament, uint32_t chunk, uint32_t champion)
{
    struct winner *queue = tournament->queue;
    uint32_t count = 1;
    queue[0] = (struct winner){champion, tournament->rounds};
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t level = queue[i].level; level-- > 0;) {
            uint32_t opponent = choose_opponent(tournament, queue[i].rank, level);
            if (opponent == PCCL_NONE) {
                return false;
            }
            add_game(tournament, level + 1, opponent, queue[i].rank, chunk);
            queue[count++] = (struct winner){opponent, level};
        }
        if (queue[i].rank < 2 * tournament->num_pairs) {
            uint32_t partner = queue[i].rank ^ 1;
            if (pccl__route(tournament->problem, partner, queue[i].rank) == NULL) {
                return false;
            }
            add_game(tournament, 0, partner, queue[i].rank, chunk);
        }
    }
    return true;
}

static bool plan_chunks(struct tournament *tournament)
{
    bool complete = true;
    for (uint32_t chunk = 0; chunk < tournament->num_chunks && complete; chunk++) {
        complete = plan_chunk(tournament, chunk,
                              tournament->one_block ? tournament->problem->root : chunk / tournament->pieces);
    }
    return complete;
}

/* --- writing ------------------------------------------------------------------------------------------------------ */

static uint32_t sender_key(const struct tournament *tournament, const struct game *game)
{
    (void)tournament;
    return game->from;
}

/* The step and, within one, the distance: what then stands together goes to different ranks. */
static uint32_t distance_key(const struct tournament *tournament, const struct game *game)
{
    return (game->step << (tournament->rounds + 1)) + (game->from ^ game->to);
}

/* Stable, from games to sorted, which then change their names. */
static bool sort_games(struct tournament *tournament, uint32_t num_keys,
                       uint32_t (*key_of)(const struct tournament *, const struct game *))
{
    uint32_t *next = pccl__array_new((size_t)num_keys + 1, sizeof *next);
    if (next == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < tournament->num_games; i++) {
        next[key_of(tournament, &tournament->games[i]) + 1]++;
    }
    for (uint32_t key = 0; key < num_keys; key++) {
        next[key + 1] += next[key];
    }
    for (uint32_t i = 0; i < tournament->num_games; i++) {
        tournament->sorted[next[key_of(tournament, &tournament->games[i])]++] = tournament->games[i];
    }
    struct game *games = tournament->sorted;
    tournament->sorted = tournament->games;
    tournament->games = games;
    free(next);
    return true;
}

/* All games, those of one step between the same two ranks in one message; back: from winners to losers, what has been
 * combined. */
static void write_games(struct pccl__writer *writer, const struct tournament *tournament, bool back)
{
    const struct game *games = tournament->games;
    uint32_t *chunks = pccl__array_new(tournament->num_chunks, sizeof *chunks);
    if (chunks == NULL) {
        pccl__writer_fail(writer, PCCL_ERR_MEMORY, "out of memory");
        return;
    }
    for (uint32_t i = 0; i < tournament->num_games;) {
        const struct game *first = &games[i];
        uint32_t count = 0;
        for (; i < tournament->num_games && games[i].step == first->step && games[i].from == first->from &&
               games[i].to == first->to;
             i++) {
            chunks[count++] = games[i].chunk;
        }
        if (back) {
            pccl__writer_send(writer, first->step, first->from, first->to, chunks, count);
        } else {
            pccl__writer_reduce(writer, first->step, first->from, first->to, chunks, count);
        }
    }
    free(chunks);
}

static void play(struct pccl__writer *writer, bool one_block, bool and_back)
{
    struct tournament tournament;
    uint32_t n = writer->problem->num_ranks;
    if (!open_tournament(&tournament, writer->problem, one_block, writer->pieces)) {
        pccl__writer_fail(writer, PCCL_ERR_MEMORY, "out of memory");
    } else if (!plan_chunks(&tournament)) {
        pccl__writer_fail(writer, PCCL_ERR_UNSUPPORTED, "parts of the fixed tree have no route to each other");
    } else if (!sort_games(&tournament, n, sender_key) ||
               !sort_games(&tournament, (tournament.num_steps + 1) << (tournament.rounds + 1), distance_key)) {
        pccl__writer_fail(writer, PCCL_ERR_MEMORY, "out of memory");
    } else {
        write_games(writer, &tournament, false);
        if (and_back) {
            pccl__writer_phase(writer, PCCL__MIRRORED_COPY);
            write_games(writer, &tournament, true);
        }
    }
    close_tournament(&tournament);
}

void pccl__tournament_write(struct pccl__writer *writer)
{
    play(writer, false, false);
}

int pccl__tournament_algorithm(const struct pccl__problem *problem, uint32_t pieces, struct pccl_schedule **schedule,
                               struct pccl_error *error)
{
    struct pccl__writer writer;
    bool allreduce = problem->collective == PCCL_ALLREDUCE, reduce = problem->collective == PCCL_REDUCE;
    bool scattered = reduce && problem->variant == PCCL__SCATTERED, shares = allreduce || scattered;
    if (!problem->ordered) {
        return pccl__reject(error, "is for operands whose order is prescribed");
    }
    if (shares && pieces > UINT32_MAX / 4 / problem->num_ranks) {
        return pccl__reject(error, "too many pieces");
    }
    pccl__writer_open(&writer, problem, pieces, shares ? problem->num_ranks * pieces : pieces, error);
    play(&writer, reduce && !scattered, allreduce);
    if (scattered) {
        pccl__gather_to_root(&writer);
    }
    return pccl__writer_close(&writer, schedule);
}

int64_t pccl__estimate_tournament(const struct pccl__problem *problem, uint32_t pieces)
{
    struct tournament tournament;
    bool scattered = problem->variant == PCCL__SCATTERED;
    bool one_block = problem->collective == PCCL_REDUCE && !scattered;
    int64_t total = -1;
    if (!problem->ordered) {
        return -1;
    }
    if (open_tournament(&tournament, problem, one_block, pieces) &&
        plan_chunks(&tournament)) {
        int64_t bytes = (one_block ? problem->block_bytes : pccl__meter_block(problem)) / pieces + 1;
        int64_t work = pccl_transfer_ps(bytes, tournament.most_load);
        int64_t steps = pccl__times_ps(tournament.most_fixed_ps, tournament.rounds + (pieces - 1) / 2 + 1);
        total = pccl__add_ps(work, steps);
    }
    close_tournament(&tournament);
    return scattered || problem->collective == PCCL_ALLREDUCE ? pccl__meter_gather(problem, total) : total;
}
