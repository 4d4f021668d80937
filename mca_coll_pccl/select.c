#include "select.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "archive.h"
#include "plan.h"
#include "report.h"
#include "view.h"

/* Where ranks do not know each other's sizes, they exchange those of every so many calls: at least of one in
 * LONGEST_INTERVAL, else so rarely that it takes no more than a hundredth of the time. */
#define LONGEST_INTERVAL 256
#define EXCHANGE_SHARE 100

struct coll_pccl_trial {
    enum coll_pccl_kind kind;
    uint32_t band;
    bool ordered;
    uint64_t start_ns; /* of the call under way */
    uint32_t octave;   /* of its size */
    struct coll_pccl_contest contest;
    struct coll_pccl_trial *next;
};

/* --- small things ---------------------------------------------------------------------------------------------- */

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

int coll_pccl_confer(struct coll_pccl_module *module, struct ompi_communicator_t *comm, uint64_t *values, size_t count)
{
    const mca_coll_base_comm_coll_t *below = module->previous.coll_allreduce ? &module->previous : comm->c_coll;
    module->conferring = true;
    int status = below->coll_allreduce(MPI_IN_PLACE, values, (int)count, MPI_UINT64_T, MPI_MAX, comm,
                                       below->coll_allreduce_module);
    module->conferring = false;
    return status;
}

bool coll_pccl_can_confer(const struct coll_pccl_module *module, const struct ompi_communicator_t *comm)
{
    return module->previous.coll_allreduce || comm->c_coll->coll_allreduce;
}

/* --- the size of calls ----------------------------------------------------------------------------------------- */

static size_t bytes_of(const struct coll_pccl_side *side)
{
    size_t bytes = 0;
    for (uint32_t i = 0; i < side->blocks; i++) {
        size_t count = side->counts ? (size_t)side->counts[i] : side->count;
        if (count > 0 && (!side->peers || side->peers[i] != MPI_PROC_NULL)) { /* else the datatype may be anything */
            bytes += count * (side->types ? side->types[i] : side->type)->super.size;
        }
    }
    return bytes;
}

/* The octave of what this rank sends and receives in a call whose blocks have sizes of their own; 0 for nothing. */
static uint32_t own_octave(const struct coll_pccl_module *module, const struct coll_pccl_call *call)
{
    const struct coll_pccl_group *group = module->group;
    struct coll_pccl_view view;
    coll_pccl_view_make(call, group->rank, group->num_ranks,
                        coll_pccl_is_among_neighbors(call->kind) ? group->neighborhood : NULL, &view);
    size_t bytes = bytes_of(&view.input) + bytes_of(&view.output);
    return bytes ? coll_pccl_octave_band(bytes) : 0;
}

/* The size of this call becomes that of those to come. */
static int exchange_octave(struct coll_pccl_module *module, struct ompi_communicator_t *comm,
                           struct coll_pccl_choice *choice, uint32_t octave)
{
    uint64_t start_ns = now_ns(), interval = 1;
    if (choice->exchanged_ns) {
        uint64_t per_call_ns = (start_ns - choice->exchanged_ns) / choice->interval;
        interval = EXCHANGE_SHARE * choice->exchange_ns / (per_call_ns + 1) + 1;
    }
    uint64_t values[] = {octave, interval < LONGEST_INTERVAL ? interval : LONGEST_INTERVAL};
    int status = coll_pccl_confer(module, comm, values, 2);
    choice->octave = (uint32_t)values[0];
    choice->interval = choice->calls = (uint32_t)values[1];
    choice->exchanged_ns = now_ns();
    choice->exchange_ns = choice->exchanged_ns - start_ns;
    return status;
}

static int find_band(struct coll_pccl_module *module, struct ompi_communicator_t *comm,
                     const struct coll_pccl_call *call, uint32_t *band)
{
    *band = coll_pccl_band_of(call);
    if (!coll_pccl_collectives[call->kind].sizes_private) {
        return OMPI_SUCCESS;
    }
    int status = OMPI_SUCCESS;
    struct coll_pccl_choice *choice = &module->choices->of[call->kind];
    if (choice->calls == 0) {
        status = exchange_octave(module, comm, choice, own_octave(module, call));
    }
    choice->calls--;
    *band = choice->octave;
    return status;
}

/* --- trials ---------------------------------------------------------------------------------------------------- */

static struct coll_pccl_subject subject_of(const struct coll_pccl_module *module, const struct coll_pccl_trial *trial)
{
    return (struct coll_pccl_subject){module->group, trial->kind, trial->ordered, trial->band};
}

/* The end of a trial. */
static void settle(struct coll_pccl_module *module, struct coll_pccl_trial *trial, enum coll_pccl_server server)
{
    struct coll_pccl_choice *choice = &module->choices->of[trial->kind];
    uint64_t band = UINT64_C(1) << trial->band;
    if (server != COLL_PCCL_PREVIOUS) {
        choice->served[trial->ordered] |= band;
        choice->frugal[trial->ordered] |= server == COLL_PCCL_FRUGAL ? band : 0;
    } else {
        choice->left[trial->ordered] |= band;
        bool is_told = !coll_pccl_collectives[trial->kind].sizes_private && !coll_pccl_parameters.check;
        choice->skipped[trial->ordered] |= is_told ? band : 0;
    }
    struct coll_pccl_trial **link = &module->choices->trials;
    while (*link != trial) {
        link = &(*link)->next;
    }
    *link = trial->next;
    free(trial);
}

/* Asks all ranks what they know from other communicators and from files; UNDECIDED if they do not know the same. */
static int ask(struct coll_pccl_module *module, struct ompi_communicator_t *comm,
               const struct coll_pccl_subject *subject, enum coll_pccl_server *known)
{
    *known = coll_pccl_archive_recall(subject);
    uint64_t values[] = {(uint64_t)*known, ~(uint64_t)*known};
    int status = coll_pccl_confer(module, comm, values, 2);
    if (status != OMPI_SUCCESS || values[0] != ~values[1]) {
        *known = COLL_PCCL_UNDECIDED;
    }
    return status;
}

static struct coll_pccl_trial *find_trial(struct coll_pccl_choices *choices, const struct coll_pccl_call *call,
                                          uint32_t band)
{
    struct coll_pccl_trial *trial = choices->trials;
    bool ordered = coll_pccl_is_ordered(call);
    while (trial && (trial->kind != call->kind || trial->band != band || trial->ordered != ordered)) {
        trial = trial->next;
    }
    return trial;
}

/* In the first call of its kind on this communicator: *made is NULL if all ranks know who serves, which is settled. */
static int make_trial(struct coll_pccl_module *module, struct ompi_communicator_t *comm,
                      const struct coll_pccl_call *call, uint32_t band, struct coll_pccl_trial **made)
{
    enum coll_pccl_server known;
    struct coll_pccl_trial *trial = calloc(1, sizeof *trial);
    if (!trial) {
        return MPI_ERR_NO_MEM;
    }
    trial->kind = call->kind;
    trial->band = band;
    coll_pccl_contest_begin(&trial->contest, band);
    trial->ordered = coll_pccl_is_ordered(call);
    trial->next = module->choices->trials;
    module->choices->trials = trial;
    struct coll_pccl_subject subject = subject_of(module, trial);
    int status = ask(module, comm, &subject, &known);
    *made = trial;
    if (status == OMPI_SUCCESS && known != COLL_PCCL_UNDECIDED) {
        coll_pccl_report_choice(comm, &subject, known, NULL);
        settle(module, trial, known);
        *made = NULL;
    }
    return status;
}

/* A call that counts begins on all ranks at about the same time, so that what is measured is not their skew. */
static int take_turn(struct coll_pccl_module *module, struct ompi_communicator_t *comm,
                     const struct coll_pccl_call *call, struct coll_pccl_trial *trial)
{
    int status = OMPI_SUCCESS;
    if (coll_pccl_contest_counts(&trial->contest)) {
        uint64_t nothing = 0;
        status = coll_pccl_confer(module, comm, &nothing, 1);
    }
    bool is_private = coll_pccl_collectives[call->kind].sizes_private;
    trial->octave = is_private ? own_octave(module, call) : trial->band;
    trial->start_ns = now_ns();
    return status;
}

static int admit_frugal(struct coll_pccl_module *module, struct ompi_communicator_t *comm,
                        const struct coll_pccl_call *call, struct coll_pccl_contest *contest)
{
    bool is_worth_trying = false;
    int status = OMPI_SUCCESS;
    if (coll_pccl_plan_may_be_frugal(module->group, call)) {
        status = coll_pccl_plan_compare(module, comm, call, &is_worth_trying);
    }
    if (is_worth_trying) {
        coll_pccl_contest_admit(contest);
    }
    return status;
}

/* A call whose server is not decided yet; *measured is NULL if it is now. */
static int measure(struct coll_pccl_module *module, struct ompi_communicator_t *comm, const struct coll_pccl_call *call,
                   uint32_t band, struct coll_pccl_trial **measured)
{
    int status = OMPI_SUCCESS;
    *measured = find_trial(module->choices, call, band);
    if (!*measured) {
        status = make_trial(module, comm, call, band, measured);
    }
    if (status == OMPI_SUCCESS && *measured && (*measured)->contest.calls == 1) {
        status = admit_frugal(module, comm, call, &(*measured)->contest);
    }
    return status == OMPI_SUCCESS && *measured ? take_turn(module, comm, call, *measured) : status;
}

/* --- for the entries ------------------------------------------------------------------------------------------- */

/* Open MPI's MPI_Ialltoallw reads as many datatypes as there are neighbours, and who serves that follows from the
 * blocking calls. */
static bool has_defective_default(enum coll_pccl_kind kind, const struct ompi_communicator_t *comm)
{
    return coll_pccl_is_never_left(kind) || (kind == COLL_PCCL_ALLTOALLW && OMPI_COMM_IS_TOPO(comm));
}

/* Open MPI's non-blocking all-to-alls do not work in place, which a call is on all ranks or on none. */
static bool is_exchange_in_place(const struct coll_pccl_call *call)
{
    return call->send == MPI_IN_PLACE && (call->kind == COLL_PCCL_ALLTOALL || call->kind == COLL_PCCL_ALLTOALLV ||
                                          call->kind == COLL_PCCL_ALLTOALLW);
}

bool coll_pccl_select_must_plan(const struct coll_pccl_call *call, const struct ompi_communicator_t *comm)
{
    return has_defective_default(call->kind, comm) || is_exchange_in_place(call);
}

/* Whether there is something to choose here. False on all ranks or on none. */
static bool may_choose(struct coll_pccl_module *module, struct ompi_communicator_t *comm,
                       const struct coll_pccl_call *call)
{
    if (coll_pccl_plan_refusal(module->group, call->kind) || module->group->num_ranks == 1 ||
        has_defective_default(call->kind, comm)) {
        return false;
    }
    if (!coll_pccl_can_confer(module, comm)) {
        module->selection = COLL_PCCL_ALWAYS;
        coll_pccl_report_mute(comm);
        return false;
    }
    return !(coll_pccl_parameters.reproducible && call->op);
}

int coll_pccl_select_begin(struct coll_pccl_module *module, struct ompi_communicator_t *comm,
                           struct coll_pccl_call *call, struct coll_pccl_trial **trial)
{
    *trial = NULL;
    if (!module->group && !coll_pccl_module_group(module, comm)) {
        return MPI_ERR_NO_MEM;
    }
    if (coll_pccl_is_among_neighbors(call->kind) && !coll_pccl_module_neighborhood(module->group, comm)) {
        return MPI_ERR_NO_MEM;
    }
    if (module->selection != COLL_PCCL_MEASURE) {
        return OMPI_SUCCESS;
    }
    if (!may_choose(module, comm, call)) {
        return OMPI_SUCCESS;
    }
    if (coll_pccl_is_partly_heard(call->kind)) { /* a plan is hardly different from what the component below does */
        if (coll_pccl_parameters.verbose > 0) {
            coll_pccl_report_use(comm, module->group, call->kind, coll_pccl_band_of(call), NULL,
                                 "blocking calls are left to the component below, since the ranks cannot confer to "
                                 "measure them; with coll_pccl_select always, pccl serves them");
        }
        return COLL_PCCL_DECLINED;
    }
    struct coll_pccl_choices *choices = module->choices;
    if (!choices && !(choices = module->choices = calloc(1, sizeof *choices))) {
        return MPI_ERR_NO_MEM;
    }
    uint32_t band;
    int status = find_band(module, comm, call, &band);
    struct coll_pccl_choice *choice = &choices->of[call->kind];
    bool ordered = coll_pccl_is_ordered(call);
    if (status == OMPI_SUCCESS && !((choice->served[ordered] | choice->left[ordered]) >> band & 1)) {
        status = measure(module, comm, call, band, trial);
    }
    enum coll_pccl_server server = status == OMPI_SUCCESS && *trial ? coll_pccl_contest_turn(&(*trial)->contest)
                                   : choice->frugal[ordered] >> band & 1 ? COLL_PCCL_FRUGAL
                                   : choice->served[ordered] >> band & 1 ? COLL_PCCL_PLANNED
                                                                         : COLL_PCCL_PREVIOUS;
    call->frugal = server == COLL_PCCL_FRUGAL;
    if (status != OMPI_SUCCESS || server != COLL_PCCL_PREVIOUS) {
        return status;
    }
    if (!*trial && !coll_pccl_parameters.check) {
        choice->grace = choice->calls;
        choice->calls = 0;
    }
    return COLL_PCCL_DECLINED;
}

int coll_pccl_select_end(struct coll_pccl_module *module, struct ompi_communicator_t *comm,
                         struct coll_pccl_trial *trial, int status)
{
    uint64_t time_ns = now_ns() - trial->start_ns, medians_ns[COLL_PCCL_NUM_SERVERS];
    struct coll_pccl_contest *contest = &trial->contest;
    if (status == COLL_PCCL_DECLINED) {
        settle(module, trial, COLL_PCCL_PREVIOUS);
        return status;
    }
    if (!coll_pccl_contest_note(contest, time_ns, trial->octave)) {
        return status;
    }
    uint32_t open = coll_pccl_contest_num_samples(contest) - contest->conferred;
    int conferred = coll_pccl_confer(module, comm, (uint64_t *)&contest->samples[contest->conferred], 2 * (size_t)open);
    if (conferred != OMPI_SUCCESS) {
        return status != OMPI_SUCCESS ? status : conferred;
    }
    enum coll_pccl_server server = coll_pccl_contest_judge(contest, medians_ns);
    if (server != COLL_PCCL_UNDECIDED) {
        struct coll_pccl_subject subject = subject_of(module, trial);
        coll_pccl_archive_remember(&subject, server, medians_ns);
        coll_pccl_report_choice(comm, &subject, server, medians_ns);
        settle(module, trial, server);
    }
    return status;
}

bool coll_pccl_select_is_frugal(const struct coll_pccl_module *module, const struct coll_pccl_call *call)
{
    return module->choices &&
           module->choices->of[call->kind].frugal[coll_pccl_is_ordered(call)] >> coll_pccl_band_of(call) & 1;
}

bool coll_pccl_select_leaves(const struct coll_pccl_module *module, const struct coll_pccl_call *call)
{
    if (!module->choices || coll_pccl_is_among_neighbors(call->kind) || is_exchange_in_place(call)) {
        return false;
    }
    const struct coll_pccl_choice *choice = &module->choices->of[call->kind];
    bool is_private = coll_pccl_collectives[call->kind].sizes_private;
    uint32_t band = is_private ? choice->octave : coll_pccl_band_of(call);
    return choice->left[coll_pccl_is_ordered(call)] >> band & 1;
}

void coll_pccl_choices_free(struct coll_pccl_choices *choices)
{
    while (choices && choices->trials) {
        struct coll_pccl_trial *trial = choices->trials;
        choices->trials = trial->next;
        free(trial);
    }
    free(choices);
}
