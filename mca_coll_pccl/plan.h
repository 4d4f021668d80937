/* Plans: how one rank takes part in a collective of a group of devices, for one octave of sizes. Made at first use and
 * shared by all communicators of the process whose ranks sit on the same devices in the same order. */
#ifndef COLL_PCCL_PLAN_H
#define COLL_PCCL_PLAN_H

#include "component.h"
#include "neighborhood.h"

#include "pccl/plan.h"
#include "pccl/synth.h"

/* What a plan depends on: equal keys give equal plans on every rank. The topology is one for the whole process. */
struct coll_pccl_key {
    enum pccl_collective collective;
    uint32_t band; /* octave of the block's bytes: 2^band .. 2^(band+1)-1; smaller sizes share the first band */
    uint32_t root;
    bool ordered;
    bool reproducible; /* reductions by the fixed tree of demand.h */
    bool direct;
    bool frugal; /* the plan with the fewest messages, not the fastest one */
    uint32_t num_ranks, rank;
    const uint32_t *devices; /* [num_ranks]; NULL among neighbours */
    uint64_t digest;         /* of devices, or of the neighbourhood */
    uint64_t kept;           /* coll_pccl_archive_digest of a plan from coll_pccl_plan_dir that the ranks of a
                                communicator have agreed to use; 0: the one that the synthesizer makes */
    const struct coll_pccl_neighborhood *neighborhood; /* of this rank, else NULL: the plan is this rank's own affair */
    bool one_block;                                    /* among neighbours: all edges out carry the same block */
};

/* An operand of an operation, resolved as far as it goes without buffers and sizes. */
struct coll_pccl_slot {
    uint32_t area;  /* enum pccl_area */
    uint32_t index; /* input, output: block of the buffer; scratch: slot */
    uint32_t block; /* that the chunk in it is part of: gives its size */
    uint32_t piece; /* of the block */
};

/* The sends, or the receives, of a program in its order. */
struct coll_pccl_sequence {
    uint32_t count;
    uint32_t *operations; /* [count] index in the program */
};

/* What a small call reads comes first, see struct coll_pccl_execution. */
struct coll_pccl_plan {
    struct pccl_program *program;     /* of this rank; NULL if planning failed */
    struct coll_pccl_execution *idle; /* executions that may be used again; guarded by the cache's lock */
    uint64_t generation;              /* unique in the process */
    uint64_t used;                    /* when it was last asked for, counted in calls */
    uint32_t references;              /* executions under way, and one while it is in the cache */
    uint32_t last_message;            /* the last operation that is neither a copy nor a reduction */
    struct coll_pccl_key key;         /* devices, neighborhood: own copies */
    uint32_t pieces;                  /* per block */
    char method[48];
    int64_t predicted_ps;                  /* for blocks of 2^band bytes; -1: unknown */
    uint64_t digest;                       /* of the schedule and its method; 0 if there is none */
    bool textbook;                         /* an algorithm that Open MPI's own components have too */
    char failure[160];                     /* why there is no program, or none that follows the topology */
    bool assumes_switch;                   /* the program is made as if all ranks were on one switch */
    struct coll_pccl_slot *slots;          /* [program->num_slots] */
    struct coll_pccl_sequence sequence[2]; /* by PCCL_OP_SEND, PCCL_OP_RECEIVE */
    uint32_t *position;                    /* [program->num_operations] in its sequence; unused for local operations */
    uint32_t num_local;                    /* copies and reductions */
    bool has_lists;                        /* some message carries several slots */
    bool sends_early;                      /* some send stands behind a receive that it need not wait for */
    uint32_t place;                        /* in the cache */
    struct coll_pccl_plan *next;           /* in its hash bucket */
};

/* plan.c */

#define COLL_PCCL_SMALLEST_BAND 6 /* up to 127 bytes a message costs the same */
#define COLL_PCCL_LARGEST_BAND 40 /* a plan does not change any more */

/* The plan for a call, and an execution of it that may be used again, if there is one; the caller returns both with
 * coll_pccl_plan_release. COLL_PCCL_DECLINED if the ranks of the communicator leave the call to the previous component,
 * an MPI error code if this rank is out of memory, or can neither read nor make a plan that the others use. */
int coll_pccl_plan_find(struct coll_pccl_module *module, struct ompi_communicator_t *comm,
                        const struct coll_pccl_call *call, struct coll_pccl_plan **plan,
                        struct coll_pccl_execution **idle);

static inline bool coll_pccl_is_ordered(const struct coll_pccl_call *call)
{
    return call->op && !ompi_op_is_commute(call->op);
}

/* The band of a size in bytes. */
static inline uint32_t coll_pccl_octave_band(size_t bytes)
{
    uint32_t octave = 63 - (uint32_t)__builtin_clzll((unsigned long long)bytes | 1);
    return octave < COLL_PCCL_SMALLEST_BAND ? COLL_PCCL_SMALLEST_BAND
           : octave > COLL_PCCL_LARGEST_BAND ? COLL_PCCL_LARGEST_BAND
                                             : octave;
}

/* Where ranks do not know each other's sizes, all must still pick one plan. */
#define COLL_PCCL_PRIVATE_SIZES_BAND 12

/* The octave that a call's size is in; one for all calls whose sizes the ranks do not share. */
static inline uint32_t coll_pccl_band_of(const struct coll_pccl_call *call)
{
    return coll_pccl_collectives[call->kind].sizes_private ? COLL_PCCL_PRIVATE_SIZES_BAND
                                                           : coll_pccl_octave_band(call->block_bytes);
}

/* Why all members leave a collective to others, or NULL. Among neighbours only ranks without pccl are a reason: nobody
 * needs to know more than his own neighbours. */
const char *coll_pccl_plan_refusal(const struct coll_pccl_group *group, enum coll_pccl_kind kind);
/* What plans are told apart by on a communicator: kind, band, root, order, and which of the two. Never 0. */
#define COLL_PCCL_FRUGAL_NAME (UINT64_C(1) << 8)
static inline uint64_t coll_pccl_plan_name(const struct coll_pccl_call *call)
{
    return (uint64_t)(uint32_t)call->root << 32 | (uint64_t)call->kind << 16 |
           (call->frugal ? COLL_PCCL_FRUGAL_NAME : 0) | coll_pccl_band_of(call) << 2 |
           (uint32_t)coll_pccl_is_ordered(call) << 1 | 1;
}
/* Whether a call may be served by a frugal plan, of any that there is: among many ranks, or for large blocks, few
 * messages do not pay. */
bool coll_pccl_plan_may_be_frugal(const struct coll_pccl_group *group, const struct coll_pccl_call *call);
/* Whether the frugal plan for a call is another than the plan, and not hopelessly slow. Both are made if they are
 * missing. The ranks confer, so that it is the same on all of them, also if one runs out of memory; an MPI error code.
 */
int coll_pccl_plan_compare(struct coll_pccl_module *module, struct ompi_communicator_t *comm,
                           const struct coll_pccl_call *call, bool *is_worth_trying);
/* key->kept is 0. */
struct coll_pccl_key coll_pccl_plan_key(const struct coll_pccl_group *group, const struct coll_pccl_call *call);
/* What the synthesizer is asked for a key; it refers to the key's devices. */
struct pccl_request coll_pccl_plan_request(const struct coll_pccl_key *key);

/* Makes the plan of a key. Where the synthesizer refuses, the plan has no program (all ranks see the same). Returns 0,
 * PCCL_ERR_MEMORY, or PCCL_ERR_IO if the plan agreed upon cannot be had any more. comm is only for what
 * coll_pccl_verbose prints. */
int coll_pccl_plan_create(const struct coll_pccl_key *key, struct ompi_communicator_t *comm,
                          struct coll_pccl_plan **plan);
/* The plan that coll_pccl_plan_dir has for a key with kept = 0: verified, and its key with kept = digest. NULL if there
 * is none to be used. */
int coll_pccl_plan_load(const struct coll_pccl_key *key, struct coll_pccl_plan **plan);
void coll_pccl_plan_free(struct coll_pccl_plan *plan);

/* Bytes of a block that a plan of this band is made for. */
static inline int64_t coll_pccl_band_bytes(uint32_t band)
{
    return INT64_C(1) << band;
}

/* cache.c: guards and finds the plans. */

/* The plan of a key, made if it is missing, with a reference. */
int coll_pccl_cache_find(const struct coll_pccl_key *key, struct ompi_communicator_t *comm,
                         struct coll_pccl_plan **plan, struct coll_pccl_execution **idle);
/* The digest of the plan that this process has for a key with kept = 0, or finds in coll_pccl_plan_dir; 0 if none. */
uint64_t coll_pccl_cache_offer(const struct coll_pccl_key *key, bool *is_from_file);
/* The plan at a place of the cache, with a reference, if it is still the one of that generation; else NULL. */
struct coll_pccl_plan *coll_pccl_cache_recall(uint32_t place, uint64_t generation, struct coll_pccl_execution **idle);
/* Gives up a reference. idle: an execution that may be used again, or NULL. */
void coll_pccl_plan_release(struct coll_pccl_plan *plan, struct coll_pccl_execution *idle);
void coll_pccl_cache_free(void);

#endif
