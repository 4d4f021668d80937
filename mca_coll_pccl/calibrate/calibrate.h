/* pccl-calibrate: measures what messages cost on each class of links and inside
 * hosts, with MPI's own point-to-point calls, and writes it into a fabric file.
 * All MPI ranks take part; rank 0 decides what is measured and does the
 * arithmetic. The numbers only ever get into a file, so floating point is fine
 * here. */
#ifndef PCCL_CALIBRATE_H
#define PCCL_CALIBRATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mpi.h>

#include "pccl/place.h"
#include "pccl/topology.h"

#define CALIBRATE_NAME_BYTES 256
#define CALIBRATE_MAX_PAIRS 32 /* that are measured at once */
#define CALIBRATE_MAX_SIZES 24

/* --- survey.c: who runs where
 * --------------------------------------------------------------------------------------
 */

struct calibrate_rank {
    char host[CALIBRATE_NAME_BYTES];
    struct pccl_place place; /* host: device of the fabric */
    int processors;          /* of its host that it may run on; 0: not known */
};

/* The records of all ranks, on rank 0; NULL elsewhere. place.host is not yet
 * filled in. */
struct calibrate_rank *calibrate_survey(void);
/* Finds each rank's host among the devices, in full or up to the first dot.
 * PCCL_ERR_FORMAT if one is not there. */
int calibrate_find_hosts(struct calibrate_rank *ranks, int num_ranks, const struct pccl_topology *fabric,
                         struct pccl_error *error);
/* One line to stderr if a host has more ranks than processors. */
void calibrate_warn_crowded(const struct calibrate_rank *ranks, int num_ranks);
/* The fabric for a job that has none: its hosts on one switch. */
int calibrate_make_star(const struct calibrate_rank *ranks, int num_ranks, struct pccl_topology **fabric,
                        struct pccl_error *error);
/* The level at which two ranks of a host meet. */
enum pccl_level calibrate_meeting_level(const struct pccl_place *a, const struct pccl_place *b);

/* --- pairs.c: which pairs of ranks stand for a kind of way
 * ---------------------------------------------------------- */

struct calibrate_pair {
    int first, second; /* ranks */
};

/* A way through the network or inside a host, by what it crosses, and pairs of
 * ranks that have it and do not disturb each other. */
struct calibrate_kind {
    enum pccl_level level; /* where the two meet inside a host; unless across */
    bool across;           /* between hosts */
    uint32_t *crossed;     /* [num_classes of the fabric]: how many links of each
                              class; NULL unless across */
    uint32_t num_links;
    struct calibrate_pair pairs[CALIBRATE_MAX_PAIRS];
    int num_pairs;
};

/* Pairs whose ways share links of one class and nothing else, so that together
 * they load what one of them may not. */
struct calibrate_bundle {
    bool across;
    uint32_t which; /* class, or level inside hosts */
    struct calibrate_pair pairs[CALIBRATE_MAX_PAIRS];
    int num_pairs; /* fewer than 2: there is nothing to learn */
};

struct calibrate_plan {
    struct calibrate_kind *kinds;
    int num_kinds;
    struct calibrate_bundle *bundles;
    int num_bundles;
};

/* fabric: every link has a class. The caller frees the plan in every case. */
int calibrate_plan_make(struct calibrate_plan *plan, const struct pccl_topology *fabric,
                        const struct calibrate_rank *ranks, int num_ranks, struct pccl_error *error);
void calibrate_plan_free(struct calibrate_plan *plan);

/* --- probe.c: measuring
 * ---------------------------------------------------------------------------------------------
 */

/* What the pairs do, all at once. Times are in seconds. Rank 0 calls these; the
 * others are in calibrate_serve. */
struct calibrate_probe {
    const struct calibrate_pair *pairs;
    int num_pairs;
    size_t bytes; /* of a message */
    int count;    /* how often (at least 5), or how many messages (at most 64) */
    bool spread;  /* bursts: to all members of pairs, not to the partner alone */
};

/* Both partners of a pair send to each other and receive: the mean time, that
 * of the median pair. */
double calibrate_exchange(const struct calibrate_probe *probe);
/* Everybody sends `count` messages of a byte and gets as many: the second
 * lowest of a few times, that of the median pair. */
double calibrate_burst(const struct calibrate_probe *probe);
/* `count` messages, from the first of a pair to the second: until the slowest
 * pair is done. */
double calibrate_stream(const struct calibrate_probe *probe);
/* All ranks but 0, until rank 0 calls calibrate_stop. */
void calibrate_serve(void);
void calibrate_stop(void);

/* --- measure.c: from times to costs
 * ----------------------------------------------------------------------------------
 */

/* Times of exchanges over one kind of way and what follows from them, in
 * seconds and bytes. */
struct calibrate_result {
    int num_sizes;
    size_t sizes[CALIBRATE_MAX_SIZES];
    double times[CALIBRATE_MAX_SIZES];
    double send, receive;    /* CPU time per message */
    double latency;          /* what is left of an empty message */
    double seconds_per_byte; /* of large messages */
    size_t eager_bytes;      /* largest message without a handshake; 0: no such step
                                was seen */
    double rendezvous;       /* how long the handshake takes */
};

void calibrate_measure(const struct calibrate_kind *kind, struct calibrate_result *result);
/* Seconds per byte of what the pairs share; -1 if there is nothing to learn. */
double calibrate_share(const struct calibrate_bundle *bundle, double seconds_per_byte);

/* --- fit.c: costs of classes
 * ------------------------------------------------------------------------------------------
 */

/* Replaces the costs of all classes that were crossed and all levels at which
 * ranks met. classes: [num_classes of the fabric], inside: [PCCL_NUM_LEVELS],
 * copies of the fabric's to begin with. */
void calibrate_fit(const struct calibrate_plan *plan, const struct calibrate_result *results, uint32_t num_classes,
                   struct pccl_class *classes, struct pccl_class *inside);

/* --- report.c
 * ---------------------------------------------------------------------------------------------------------
 */

/* Costs of classes and levels, and predicted beside measured times for each
 * kind of way. */
void calibrate_report(const struct calibrate_plan *plan, const struct calibrate_result *results,
                      const struct pccl_topology *fabric, const struct calibrate_rank *ranks);
/* One line to stderr if predicted and measured times of a way differ much: where they do most. Such a fabric file makes
 * bad plans. */
void calibrate_warn(const struct calibrate_plan *plan, const struct calibrate_result *results,
                    const struct pccl_topology *fabric);

#endif
