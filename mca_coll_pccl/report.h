/* What coll_pccl_verbose prints. Rank 0 of a communicator speaks for all. */
#ifndef COLL_PCCL_REPORT_H
#define COLL_PCCL_REPORT_H

#include "execute.h"
#include "archive.h"

/* What MPI calls that which a plan is for. */
const char *coll_pccl_report_name(enum pccl_collective collective);

/* Level 1: how a collective is served from now on for a size band; once per communicator, collective and band, and once
 * more where some calls are served and others declined. plan may be NULL if declined is not. */
void coll_pccl_report_use(struct ompi_communicator_t *comm, struct coll_pccl_group *group, enum coll_pccl_kind kind,
                          uint32_t band, const struct coll_pccl_plan *plan, const char *declined);
/* Level 1: who serves from now on; times of a call with pccl's plan and in the component below, NULL: known from
 * before. */
void coll_pccl_report_choice(struct ompi_communicator_t *comm, const struct coll_pccl_subject *subject,
                             enum coll_pccl_server server, const uint64_t medians_ns[COLL_PCCL_NUM_SERVERS]);
/* Level 1: nothing can be measured, since the ranks have no allreduce to confer by. */
void coll_pccl_report_mute(struct ompi_communicator_t *comm);
/* At every level: a file of coll_pccl_plan_dir that is not used, told by rank 0 of the communicator. */
void coll_pccl_report_refused(uint32_t rank, const struct pccl_error *error);
/* At every level, once per process: nothing can be kept in coll_pccl_plan_dir. */
void coll_pccl_report_unkept(const struct pccl_error *error);
/* At any level: a topic of the help file, from a rank that speaks for all. Directly, since mpirun, to which Open MPI
 * hands help texts so that equal ones of many ranks are shown once, loses some of them. */
void coll_pccl_report_help(const char *topic, ...);
/* Level 5: what the synthesizer considered for a plan. */
void coll_pccl_report_candidates(struct ompi_communicator_t *comm, const struct coll_pccl_key *key,
                                 const struct pccl_result *result);
/* Level 9: a message that is about to be posted. */
void coll_pccl_report_message(const struct coll_pccl_execution *execution, uint32_t operation);
/* At any level: what coll_pccl_check has found; the call fails on all ranks. */
void coll_pccl_report_mismatch(struct ompi_communicator_t *comm, const char *collective, const char *difference);

#endif
