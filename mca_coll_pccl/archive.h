/* Archive: what was measured outlives the communicator, and with coll_pccl_plan_dir the process, as do the plans. What
 * this process knows or reads need not be what another one does, so nothing of it may be acted upon before the ranks of
 * a communicator have told each other: see select.h, and coll_pccl_archive_agree. */
#ifndef COLL_PCCL_ARCHIVE_H
#define COLL_PCCL_ARCHIVE_H

#include "contest.h"
#include "plan.h"

#include "pccl/store.h"

/* False if coll_pccl_plan_dir is not set. */
bool coll_pccl_archive_open(struct pccl_store *store);

/* --- archive_outcome.c -------------------------------------------------------------------------------------------- */

/* What an outcome is about. */
struct coll_pccl_subject {
    const struct coll_pccl_group *group;
    enum coll_pccl_kind kind;
    bool ordered;
    uint32_t band;
};

/* Who was found to serve it faster; COLL_PCCL_UNDECIDED: not known here. */
enum coll_pccl_server coll_pccl_archive_recall(const struct coll_pccl_subject *subject);
/* Called by all ranks of the communicator; one of them writes. */
void coll_pccl_archive_remember(const struct coll_pccl_subject *subject, enum coll_pccl_server server,
                             const uint64_t medians_ns[COLL_PCCL_NUM_SERVERS]);

/* --- archive_plan.c ----------------------------------------------------------------------------------------------- */

/* In the first blocking call of its name on the communicator the ranks find out whether all of them have the same plan
 * already; then they use it, else all make one. Returns an MPI error code. */
int coll_pccl_archive_agree(struct coll_pccl_module *module, struct ompi_communicator_t *comm,
                         const struct coll_pccl_call *call);
/* What they have agreed to use for such calls: the digest of a plan, or 0: what the synthesizer makes. */
uint64_t coll_pccl_archive_agreed(const struct coll_pccl_group *group, const struct coll_pccl_call *call);
/* Of all that a rank's part in the schedule, and the choice for or against it, depend on. Never 0. */
uint64_t coll_pccl_archive_digest(const struct pccl_schedule *schedule);
/* The schedule in the directory for a key; *schedule = NULL if there is none. */
int coll_pccl_archive_load(const struct coll_pccl_key *key, struct pccl_schedule **schedule, struct pccl_error *error);
/* Called by all ranks of the group; one of them writes. */
void coll_pccl_archive_save(const struct coll_pccl_key *key, const struct pccl_schedule *schedule);

#endif
