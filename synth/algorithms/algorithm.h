/* Inside the portfolio: what every algorithm is given, and the tools they share. An algorithm is one function that
 * turns a problem into a sealed schedule; the table in rows.c says what it serves and when it is worth trying.
 * It need not know any other algorithm, nor whether it wins: the portfolio verifies, simulates and compares. */
#ifndef PCCL__ALGORITHM_H
#define PCCL__ALGORITHM_H

#include "pccl/synth.h"

/* How a message gets from one rank to another: the links of pccl_topology_route and what they cost. */
struct pccl__route {
    uint32_t first_link;            /* in the pool of the problem */
    uint32_t num_links : 20;        /* 0: the pair has no route */
    uint32_t endpoints : 12;        /* number of what messages cost at the ends, see pccl__route_endpoints */
    int64_t latency_ps;             /* sum over the links */
    int64_t ps_per_mib;             /* of the slowest link */
    uint32_t writer, path;          /* path number in the schedule that writer number `writer` makes */
};

/* What is asked, once for all algorithms. Filled by pccl__problem_open; the algorithms do not change it. */
struct pccl__problem {
    const struct pccl_topology *topology;
    const struct pccl_request *request;
    struct pccl_options options;  /* defaults filled in */
    uint32_t num_ranks;           /* of the request, as are the next three */
    enum pccl_collective collective;
    uint32_t root;
    int64_t block_bytes;          /* largest block: what one chunk holds if it is not cut */
    bool ordered;                 /* operands combine in rank order, because the operator does not commute or because of
                                     the next (neither is ever set unless the collective reduces) */
    bool reproducible;            /* they combine by the fixed tree of demand.h */
    bool apart;                   /* reproducible all-reduce: tournament.h combines, as the row being tried cannot */
    const char *method;           /* name of the row of the portfolio that is being tried; a schedule carries it */
    uint32_t variant;             /* what that row asks of its algorithm */
    struct pccl__routes *routes;  /* cache behind pccl__route, filled when a pair is first asked for */
};

/* An algorithm. *schedule gets a sealed schedule, owned by the caller. Returns PCCL_ERR_UNSUPPORTED with a short reason
 * in *error (it ends up in struct pccl_candidate) if it does not apply; any other error stops the synthesis. */
typedef int pccl__algorithm(const struct pccl__problem *problem, uint32_t pieces, struct pccl_schedule **schedule,
                            struct pccl_error *error);

/* --- problem ------------------------------------------------------------------------------------------------------ */

/* Checks the request against the topology. options may be NULL. Close it also after an error. */
int pccl__problem_open(struct pccl__problem *problem, const struct pccl_topology *topology,
                       const struct pccl_request *request, const struct pccl_options *options,
                       struct pccl_error *error);
void pccl__problem_close(struct pccl__problem *problem);

/* Route between two different ranks, found once and kept. NULL if there is none or memory ran out; valid until the next
 * call for a pair not asked for before. */
struct pccl__route *pccl__route(const struct pccl__problem *problem, uint32_t from, uint32_t to);
const uint32_t *pccl__route_links(const struct pccl__problem *problem, const struct pccl__route *route);
/* What a message over the route costs its ends. Good until the next call of pccl__route. */
const struct pccl_endpoints *pccl__route_endpoints(const struct pccl__problem *problem,
                                                   const struct pccl__route *route);

/* Model time of one message of `bytes` between two ranks on an idle network, overheads included; INT64_MAX / 4 if there
 * is no route. */
int64_t pccl__message_ps(const struct pccl__problem *problem, uint32_t from, uint32_t to, int64_t bytes);

/* A number for a new writer, see struct pccl__route. */
uint32_t pccl__problem_next_writer(const struct pccl__problem *problem);
/* For what cannot say itself that memory ran out, such as a forecast: the search ends with PCCL_ERR_MEMORY, as what it
 * would find now is not what others find. */
void pccl__problem_starve(const struct pccl__problem *problem);
bool pccl__problem_is_starved(const struct pccl__problem *problem);
/* Where the tour of PCCL__BY_PLACE is kept once it has been found (malloc; freed with the problem). */
uint32_t **pccl__problem_place(const struct pccl__problem *problem);

/* --- writing a schedule ------------------------------------------------------------------------------------------- */

/* An empty schedule for the problem's request, each block in `pieces`, under the name of the method being tried. */
int pccl__schedule_begin(const struct pccl__problem *problem, uint32_t pieces, struct pccl_schedule **schedule,
                         struct pccl_error *error);

/* How the messages of a phase are written down. Mirrored: turned round in time and direction, so that whoever can write
 * an all-gather can write a reduce-scatter, whoever can write a scatter a gather, a broadcast a reduce. */
enum pccl__phase {
    PCCL__FORWARD,
    PCCL__MIRRORED_COPY,  /* scatter -> gather */
    PCCL__MIRRORED_REDUCE /* all-gather -> reduce-scatter, broadcast -> reduce */
};

/* Writes a schedule in one or several phases; the steps of a phase begin at 0 and lie after those of the phase before.
 * The first failure is kept and makes the later calls do nothing, so that only pccl__writer_close needs checking. */
struct pccl__writer {
    const struct pccl__problem *problem;
    struct pccl_schedule *schedule;
    struct pccl_error *error;
    uint32_t number; /* see struct pccl__route */
    uint32_t pieces; /* chunks of one block: block i is chunks i * pieces and on */
    int status;
    enum pccl__phase phase;
    uint32_t first_message, first_step, num_steps; /* of the current phase */
};

/* The schedule's method is problem->method. demand_pieces: what pccl_demand_create is given (an all-reduce by blocks
 * has num_ranks * pieces of them). */
void pccl__writer_open(struct pccl__writer *writer, const struct pccl__problem *problem, uint32_t pieces,
                       uint32_t demand_pieces, struct pccl_error *error);
/* Begins the next phase; the first is PCCL__FORWARD if nothing else is asked for. */
void pccl__writer_phase(struct pccl__writer *writer, enum pccl__phase phase);
/* A message over the pair's route. No chunks: nothing is sent (a block that does not exist needs no special case).
 * In a mirrored phase `from` is who receives. */
void pccl__writer_send(struct pccl__writer *writer, uint32_t step, uint32_t from, uint32_t to, const uint32_t *chunks,
                       uint32_t num_chunks);
/* The same, combining at the receiver (forward phases only). */
void pccl__writer_reduce(struct pccl__writer *writer, uint32_t step, uint32_t from, uint32_t to, const uint32_t *chunks,
                         uint32_t num_chunks);
/* Seals and hands over the schedule, or frees it and returns the first error. */
int pccl__writer_close(struct pccl__writer *writer, struct pccl_schedule **schedule);
/* Remembers an error that the algorithm itself met. */
void pccl__writer_fail(struct pccl__writer *writer, int status, const char *why);

/* PCCL_ERR_UNSUPPORTED with this reason: `return pccl__reject(error, "needs a power of two of ranks");` */
int pccl__reject(struct pccl_error *error, const char *why);

/* --- building blocks of the classical algorithms ------------------------------------------------------------------ */

/* In which order an algorithm lays the ranks along its pattern. */
enum pccl__order {
    PCCL__BY_RANK,    /* 0, 1, 2 ... */
    PCCL__BY_PLACE    /* a short closed tour through the topology, see order.c */
};

/* Fills order[num_ranks]. Never fails for lack of a good tour: it then is merely long. */
int pccl__order_make(const struct pccl__problem *problem, enum pccl__order kind, uint32_t *order,
                     struct pccl_error *error);

/* 1 - 2 + 4 - ... with k + 1 terms: 1, -1, 3, -5, 11 (Swing, De Sensi et al., 2024; Bine trees, 2025). */
int64_t pccl__signed_distance(uint32_t k);

/* Writes an all-gather: rank i begins with block i, that is chunks i * writer->pieces and on, and all end with all. */
typedef void pccl__gatherer(struct pccl__writer *writer, void *context);

/* Makes of an all-gather whatever is asked: all-gather, barrier (zero bytes), reduce-scatter (mirrored), all-reduce
 * (both, Rabenseifner), broadcast (scatter before it, van de Geijn), reduce (the mirror of that). */
int pccl__gatherer_serve(const struct pccl__problem *problem, uint32_t pieces, pccl__gatherer *gather, void *context,
                         struct pccl_schedule **schedule, struct pccl_error *error);

/* A phase in which the root gets block i of each rank i, for a reduce by blocks. */
void pccl__gather_to_root(struct pccl__writer *writer);

/* --- joining and reversing (reverse.c) ---------------------------------------------------------------------------- */

/* The same messages mirrored in time and direction, reductions becoming copies and the other way round, for `demand`
 * (taken over): broadcast <-> reduce, all-gather <-> reduce-scatter, scatter <-> gather. Each message takes the route
 * of the problem from its new sender to its new receiver if the links cannot be reversed one by one. */
int pccl__schedule_reverse(const struct pccl__problem *problem, const struct pccl_schedule *schedule,
                           struct pccl_demand *demand, const char *method, struct pccl_schedule **reversed,
                           struct pccl_error *error);

/* `first` and then `second`, chunk by chunk without a barrier between them, as one schedule for `demand` (taken over).
 * Chunk c of either is chunk c of the demand (all-reduce = reduce-scatter + all-gather: pieces = ranks * pieces). */
int pccl__schedule_join(const struct pccl__problem *problem, const struct pccl_schedule *first,
                        const struct pccl_schedule *second, struct pccl_demand *demand, const char *method,
                        struct pccl_schedule **joined, struct pccl_error *error);

#endif
