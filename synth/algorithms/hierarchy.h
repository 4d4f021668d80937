/* Plans in levels for groups whose ranks share nodes: chooses how the data is split among rails, slices and steps, plans
 * each level with the portfolio, and forecasts the whole. See doc/hierarchy.md. */
#ifndef PCCL__HIERARCHY_H
#define PCCL__HIERARCHY_H

#include "algorithms/algorithm.h"
#include "schedule/levels.h"

/* What is asked, and the parts of it that all choices share. */
struct pccl__hierarchy {
    const struct pccl_topology *topology;
    const struct pccl_request *request;
    struct pccl_error *error;
    int64_t bytes; /* of the request; of a block, where blocks are unequal the mean */
    struct pccl__nodes nodes;
    uint32_t smallest_node;
    struct pccl_topology *between;  /* for the rails at hand; owned unless it is the topology */
    uint32_t *between_devices;      /* [num_nodes] */
    struct pccl_topology **inside;  /* [num_shapes], NULL for nodes of one member */
    /* The best so far. */
    struct pccl__levels levels;
    int64_t makespan_ps, weight_ps; /* forecast; the same with what the processes have to do; -1: none yet */
    char method[48];                /* of the level between nodes */
};

/* Finds the nodes. The request is one of the standard collectives. Close it in any case. */
int pccl__hierarchy_open(struct pccl__hierarchy *hierarchy, const struct pccl_topology *topology,
                         const struct pccl_request *request, struct pccl_error *error);
void pccl__hierarchy_close(struct pccl__hierarchy *hierarchy);
/* Fills the best levels. Not for all-to-all. overlaps: splits in which levels run at the same time are tried too; the
 * simulator, which lets links serve messages in order of steps, sees no gain in them. PCCL_ERR_UNSUPPORTED if some
 * level cannot be planned. */
int pccl__hierarchy_plan(struct pccl__hierarchy *hierarchy, bool overlaps);
/* The same with one split only, see struct pccl__levels. */
int pccl__hierarchy_plan_split(struct pccl__hierarchy *hierarchy, uint32_t rails, uint32_t slices, uint32_t window);

/* Makes the topology between nodes as `rails` members of each see it together. */
int pccl__hierarchy_open_between(struct pccl__hierarchy *hierarchy, uint32_t rails);

/* hierarchy_inside.c: plans both ways inside the nodes of every shape, for levels whose other fields are set. */
int pccl__hierarchy_plan_inside(struct pccl__hierarchy *hierarchy, struct pccl__levels *levels);
/* Whether the collective is planned in levels, and whether it can be split over several rails. */
bool pccl__hierarchy_serves(enum pccl_collective collective);
bool pccl__hierarchy_has_rails(enum pccl_collective collective);
/* Bytes of the whole that one slice of a vector, or of all blocks of `members` ranks, has. */
int64_t pccl__hierarchy_slice_bytes(const struct pccl__hierarchy *hierarchy, uint32_t slices, uint32_t members);

/* hierarchy_forecast.c: the time that the levels take, from the simulated times of each. */

/* When the messages between nodes begin and end, and how much later the next slice does. */
struct pccl__timing {
    int64_t *start_ps, *finish_ps; /* [num_messages], owned */
    int64_t makespan_ps, each_ps;
};
int pccl__hierarchy_time_between(const struct pccl__hierarchy *hierarchy, const struct pccl__level *between,
                                 struct pccl__timing *timing);
void pccl__timing_close(struct pccl__timing *timing);
/* Also numbers the steps of the whole. */
int pccl__hierarchy_forecast(const struct pccl__hierarchy *hierarchy, struct pccl__levels *levels,
                             const struct pccl__timing *between, int64_t *makespan_ps);
/* The same for the direct exchange of all ranks with all. */
int pccl__hierarchy_forecast_exchange(struct pccl__hierarchy *hierarchy, int64_t *makespan_ps);

/* levels_row.c: all messages of the levels as a schedule. */
int pccl__levels_write(const struct pccl__levels *levels, const struct pccl__problem *problem,
                       struct pccl_schedule **schedule, struct pccl_error *error);

/* hierarchy_work.c: how many operations, and operands of these, the longest program has, about. */
struct pccl__work {
    uint64_t operations, slots;
};
void pccl__hierarchy_work(const struct pccl__hierarchy *hierarchy, const struct pccl__levels *levels,
                          struct pccl__work *work);

#endif
