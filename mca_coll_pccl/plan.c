/* Plans: which one a call needs, and how one is made. */
#include "plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "execute.h"
#include "archive.h"
#include "report.h"
#include "select.h"
#include "world.h"

#define FRUGAL_BAND 11     /* the largest with frugal plans: blocks to below 4 KiB */
#define FRUGAL_RANKS 1024  /* the largest group with frugal plans */
#define FRUGAL_RATIO 6     /* a frugal plan may be so many times slower in the model */
#define SMALLEST_BYTES 8   /* of a block in the smallest band, for frugal plans: one number, as most such calls have */

struct coll_pccl_key coll_pccl_plan_key(const struct coll_pccl_group *group, const struct coll_pccl_call *call)
{
    const struct coll_pccl_collective *row = &coll_pccl_collectives[call->kind];
    const struct coll_pccl_neighborhood *neighborhood = coll_pccl_is_among_neighbors(call->kind) ? group->neighborhood
                                                        : group->num_ranks == 1 ? &coll_pccl_neighborhood_of_one
                                                                                : NULL;
    return (struct coll_pccl_key){
        .collective = row->planned_as,
        .band = coll_pccl_band_of(call),
        .root = (uint32_t)call->root,
        .ordered = coll_pccl_is_ordered(call),
        .reproducible = call->op && coll_pccl_parameters.reproducible,
        .direct = row->sizes_private,
        .frugal = call->frugal,
        .num_ranks = group->num_ranks,
        .rank = group->rank,
        .devices = neighborhood ? NULL : group->devices,
        .digest = neighborhood ? neighborhood->digest : group->digest,
        .neighborhood = neighborhood,
        .one_block = coll_pccl_has_one_block(call->kind),
    };
}

/* Finds the plan among those of the process, or makes it; remembers it for the next call. */
static int look_up(struct coll_pccl_group *group, struct ompi_communicator_t *comm, const struct coll_pccl_call *call,
                   uint64_t packed, struct coll_pccl_plan **plan, struct coll_pccl_execution **idle)
{
    struct coll_pccl_key key = coll_pccl_plan_key(group, call);
    key.kept = coll_pccl_archive_agreed(group, call);
    int status = coll_pccl_cache_find(&key, comm, plan, idle);
    if (status != PCCL_SUCCESS) {
        return status == PCCL_ERR_MEMORY ? MPI_ERR_NO_MEM : OMPI_ERR_FILE_READ_FAILURE;
    }
    group->recent[call->kind] = (struct coll_pccl_recent){packed, (*plan)->generation, (*plan)->place, false};
    return OMPI_SUCCESS;
}

const char *coll_pccl_plan_refusal(const struct coll_pccl_group *group, enum coll_pccl_kind kind)
{
    return coll_pccl_is_among_neighbors(kind) && !group->has_strangers ? NULL : group->declined;
}

/* Why a plan is not used, or NULL. */
static const char *refusal(const struct coll_pccl_plan *plan, enum coll_pccl_selection selection,
                           const struct coll_pccl_call *call, const struct ompi_communicator_t *comm)
{
    if (!plan->program) {
        return plan->failure;
    }
    return selection == COLL_PCCL_MODEL && plan->textbook && !plan->key.reproducible &&
                   !coll_pccl_select_must_plan(call, comm)
               ? "the best plan in the model is an algorithm that the component below has too"
               : NULL;
}

int coll_pccl_plan_find(struct coll_pccl_module *module, struct ompi_communicator_t *comm,
                        const struct coll_pccl_call *call, struct coll_pccl_plan **plan,
                        struct coll_pccl_execution **idle)
{
    struct coll_pccl_group *group = module->group ? module->group : coll_pccl_module_group(module, comm);
    if (!group || (coll_pccl_is_among_neighbors(call->kind) && !coll_pccl_module_neighborhood(group, comm))) {
        return MPI_ERR_NO_MEM;
    }
    const char *declined = coll_pccl_plan_refusal(group, call->kind);
    const struct coll_pccl_recent *recent = &group->recent[call->kind];
    uint32_t band = coll_pccl_band_of(call);
    uint64_t packed = coll_pccl_plan_name(call);
    *plan = recent->key == packed ? coll_pccl_cache_recall(recent->place, recent->generation, idle) : NULL;
    if (!*plan && !declined) {
        int status = look_up(group, comm, call, packed, plan, idle);
        if (status != OMPI_SUCCESS) {
            return status;
        }
    }
    declined = declined ? declined : refusal(*plan, module->selection, call, comm);
    if (coll_pccl_parameters.verbose > 0) {
        coll_pccl_report_use(comm, group, call->kind, band, *plan, declined);
    }
    if (!declined) {
        return OMPI_SUCCESS;
    }
    if (*plan) {
        coll_pccl_plan_release(*plan, NULL);
        *plan = NULL;
    }
    return COLL_PCCL_DECLINED;
}

bool coll_pccl_plan_may_be_frugal(const struct coll_pccl_group *group, const struct coll_pccl_call *call)
{
    return !coll_pccl_collectives[call->kind].sizes_private && !coll_pccl_is_among_neighbors(call->kind) &&
           group->num_ranks > 2 && group->num_ranks <= FRUGAL_RANKS &&
           group->num_ranks <= (uint32_t)coll_pccl_parameters.search_ranks && coll_pccl_band_of(call) <= FRUGAL_BAND;
}

/* Both plans for a call, as far as there are any and this rank has memory for them. */
static int find_both(struct coll_pccl_module *module, struct ompi_communicator_t *comm,
                     const struct coll_pccl_call *call, struct coll_pccl_plan *plans[2],
                     struct coll_pccl_execution *idle[2])
{
    struct coll_pccl_call either = *call;
    int status = OMPI_SUCCESS;
    for (int frugal = 0; frugal < 2 && status == OMPI_SUCCESS; frugal++) {
        either.frugal = frugal;
        status = coll_pccl_archive_agree(module, comm, &either);
        if (status == OMPI_SUCCESS) {
            coll_pccl_plan_find(module, comm, &either, &plans[frugal], &idle[frugal]); /* else it stays NULL */
        }
    }
    return status;
}

int coll_pccl_plan_compare(struct coll_pccl_module *module, struct ompi_communicator_t *comm,
                           const struct coll_pccl_call *call, bool *is_worth_trying)
{
    struct coll_pccl_plan *plans[2] = {NULL};
    struct coll_pccl_execution *idle[2] = {NULL};
    uint64_t is_useless = 1;
    int status = find_both(module, comm, call, plans, idle);
    if (plans[0] && plans[1]) {
        bool same = strcmp(plans[0]->method, plans[1]->method) == 0 && plans[0]->pieces == plans[1]->pieces;
        is_useless = same || plans[1]->predicted_ps / FRUGAL_RATIO > plans[0]->predicted_ps;
    }
    for (int frugal = 0; frugal < 2; frugal++) {
        if (plans[frugal]) {
            coll_pccl_plan_release(plans[frugal], idle[frugal]);
        }
    }
    /* A rank that had no memory to compare keeps the frugal plan out at all ranks, instead of falling out of step. */
    status = status == OMPI_SUCCESS ? coll_pccl_confer(module, comm, &is_useless, 1) : status;
    *is_worth_trying = status == OMPI_SUCCESS && !is_useless;
    return status;
}

/* The programs of all ranks, verified together; all but this rank's are freed. */
static int make_program(struct coll_pccl_plan *plan, const struct pccl_schedule *schedule, struct pccl_error *error)
{
    uint32_t num_ranks = plan->key.num_ranks;
    struct pccl_program **programs = calloc(num_ranks, sizeof *programs);
    if (!programs) {
        return PCCL_ERR_MEMORY;
    }
    int status = pccl_programs_create(schedule, programs, error);
    if (status == PCCL_SUCCESS) {
        status = pccl_verify_programs(schedule->demand, (const struct pccl_program *const *)programs, error);
    }
    if (status == PCCL_SUCCESS) {
        plan->program = programs[plan->key.rank];
        programs[plan->key.rank] = NULL;
    }
    for (uint32_t rank = 0; rank < num_ranks; rank++) {
        pccl_program_free(programs[rank]);
    }
    free(programs);
    return status;
}

/* How many operands an operation with n slots has for each. */
static uint32_t operands_per_slot(uint32_t kind)
{
    return kind == PCCL_OP_REDUCE ? 3 : kind == PCCL_OP_COPY ? 2 : 1;
}

/* Slots and chunks are numbered block * pieces + piece in every area and collective that is served (demand.h). */
static void resolve_slots(struct coll_pccl_plan *plan)
{
    const struct pccl_program *program = plan->program;
    for (uint32_t j = 0; j < program->num_slots; j++) {
        enum pccl_area area = PCCL_SLOT_AREA(program->slots[j]);
        uint32_t index = PCCL_SLOT_INDEX(program->slots[j]);
        plan->slots[j] = (struct coll_pccl_slot){
            .area = area,
            .index = area == PCCL_SCRATCH ? index : index / plan->pieces,
            .block = program->slot_chunk[j] / plan->pieces,
            .piece = program->slot_chunk[j] % plan->pieces,
        };
    }
}

/* Whether a send stands in the program behind a receive that it need not wait for. counts: [num_operations], zeros: how
 * many receives must have been finished before each operation, as far as its predecessors tell. */
static bool find_early_sends(const struct pccl_program *program, uint32_t *counts)
{
    uint32_t num_receives = 0;
    for (uint32_t i = 0; i < program->num_operations; i++) {
        const struct pccl_operation *operation = &program->operations[i];
        if (operation->kind == PCCL_OP_SEND && counts[i] < num_receives) {
            return true;
        }
        if (operation->next_in_lane != PCCL_NONE && counts[operation->next_in_lane] < counts[i]) {
            counts[operation->next_in_lane] = counts[i];
        }
        uint32_t behind = operation->kind == PCCL_OP_RECEIVE ? ++num_receives : counts[i];
        for (uint32_t j = 0; j < operation->num_successors; j++) {
            uint32_t successor = program->successors[operation->first_successor + j];
            counts[successor] = counts[successor] < behind ? behind : counts[successor];
        }
    }
    return false;
}

static int index_operations(struct coll_pccl_plan *plan)
{
    const struct pccl_program *program = plan->program;
    plan->slots = malloc((program->num_slots + 1) * sizeof *plan->slots);
    plan->position = malloc((program->num_operations + 1) * sizeof *plan->position);
    for (int kind = PCCL_OP_SEND; kind <= PCCL_OP_RECEIVE; kind++) {
        plan->sequence[kind].operations = malloc((program->num_operations + 1) * sizeof(uint32_t));
    }
    if (!plan->slots || !plan->position || !plan->sequence[PCCL_OP_SEND].operations ||
        !plan->sequence[PCCL_OP_RECEIVE].operations) {
        return PCCL_ERR_MEMORY;
    }
    uint32_t *counts = calloc(program->num_operations + 1, sizeof *counts);
    if (!counts) {
        return PCCL_ERR_MEMORY;
    }
    plan->sends_early = find_early_sends(program, counts);
    free(counts);
    resolve_slots(plan);
    for (uint32_t i = 0; i < program->num_operations; i++) {
        const struct pccl_operation *operation = &program->operations[i];
        if (operands_per_slot(operation->kind) > 1) {
            plan->num_local++;
            continue;
        }
        struct coll_pccl_sequence *sequence = &plan->sequence[operation->kind];
        plan->last_message = i;
        plan->position[i] = sequence->count;
        sequence->operations[sequence->count++] = i;
        plan->has_lists |= operation->num_slots > 1;
    }
    return PCCL_SUCCESS;
}

/* A plan as if all ranks were on one switch. */
static int synthesize_on_switch(const struct pccl_request *request, const struct pccl_options *options,
                                struct pccl_result **result, struct pccl_error *error)
{
    char name[32];
    struct pccl_request own = *request;
    struct pccl_topology *topology = NULL;
    uint32_t *devices = malloc(request->num_ranks * sizeof *devices);
    if (!devices) {
        return PCCL_ERR_MEMORY;
    }
    for (uint32_t rank = 0; rank < request->num_ranks; rank++) {
        devices[rank] = rank;
    }
    own.devices = devices;
    snprintf(name, sizeof name, "star:%u", request->num_ranks);
    int status = pccl_topology_create(name, &topology, error);
    if (status == PCCL_SUCCESS) {
        status = pccl_synthesize(topology, &own, options, result, error);
    }
    pccl_topology_free(topology);
    free(devices);
    return status;
}

/* The plan of a rank among its neighbours. */
static int plan_exchange(struct coll_pccl_plan *plan, struct pccl_error *error)
{
    plan->pieces = 1;
    plan->predicted_ps = -1;
    snprintf(plan->method, sizeof plan->method, "exchange");
    return coll_pccl_neighborhood_plan(plan->key.neighborhood, plan->key.rank, plan->key.one_block, &plan->program,
                                       error);
}

/* Textbook algorithms in the order of the ranks, as Open MPI has them. */
static bool is_textbook(const char *method)
{
    static const char *const methods[] = {
        "spread",  "spread:outward", "pairwise",          "flat",     "flat:twice", "doubling:vector", "doubling",
        "doubling:folded", "bruck",  "bruck:alltoall",    "doubling:alltoall", "binomial", "ring:rank", "chain:rank",
        "binary",  "doubling:scan",  "chain:scan",        "spread:scan",
    };
    size_t i = 0;
    while (i < sizeof methods / sizeof *methods && strcmp(method, methods[i]) != 0) {
        i++;
    }
    return i < sizeof methods / sizeof *methods;
}

struct pccl_request coll_pccl_plan_request(const struct coll_pccl_key *key)
{
    return (struct pccl_request){
        .collective = key->collective,
        .num_ranks = key->num_ranks,
        .devices = key->devices,
        .root = key->root,
        .bytes = key->collective == PCCL_BARRIER                         ? 0
                 : key->frugal && key->band == COLL_PCCL_SMALLEST_BAND ? SMALLEST_BYTES
                                                                       : coll_pccl_band_bytes(key->band),
        .ordered = key->ordered,
        .reproducible = key->reproducible,
        .direct = key->direct,
    };
}

/* Takes a schedule over into the plan. */
static int adopt(struct coll_pccl_plan *plan, const struct pccl_schedule *schedule, int64_t predicted_ps,
                 struct pccl_error *error)
{
    plan->pieces = schedule->demand->pieces;
    plan->predicted_ps = predicted_ps;
    plan->textbook = is_textbook(schedule->method);
    plan->digest = coll_pccl_archive_digest(schedule);
    snprintf(plan->method, sizeof plan->method, "%s", schedule->method);
    return make_program(plan, schedule, error);
}

/* Why there is no plan on the topology: often devices of the group are not joined. Else what the synthesizer says last.
 */
static void explain_failure(struct coll_pccl_plan *plan, int status, const struct pccl_error *error)
{
    const struct pccl_topology *topology = coll_pccl_world.topology;
    const uint32_t *devices = plan->key.devices;
    uint32_t max_links = pccl_topology_route_limit(topology);
    uint32_t *links = malloc(((size_t)max_links + 1) * sizeof *links);
    snprintf(plan->failure, sizeof plan->failure, "%s: %.120s", pccl_status_text(status), error->message);
    for (uint32_t i = 0; links && i < plan->key.num_ranks; i++) {
        for (uint32_t j = 0; j < plan->key.num_ranks; j++) {
            if (i != j && pccl_topology_route(topology, devices[i], devices[j], links, max_links) < 0) {
                snprintf(plan->failure, sizeof plan->failure,
                         "the topology has no route from %.28s (rank %u) to %.28s (rank %u), and no plan does without",
                         topology->vertices[devices[i]].name, i, topology->vertices[devices[j]].name, j);
                free(links);
                return;
            }
        }
    }
    free(links);
}

/* A large group: this rank's part only, made without the schedule of all. The library verifies it. */
static int plan_part(struct coll_pccl_plan *plan, const struct pccl_request *request, struct pccl_error *error)
{
    struct pccl_plan *part = NULL;
    int status = pccl_plan_create(coll_pccl_world.topology, request, plan->key.rank, &part, error);
    if (status != PCCL_SUCCESS) {
        return status;
    }
    plan->program = part->program;
    part->program = NULL;
    plan->pieces = part->pieces;
    plan->predicted_ps = part->makespan_ps;
    snprintf(plan->method, sizeof plan->method, "%s", part->method);
    pccl_plan_free(part);
    return PCCL_SUCCESS;
}

static int synthesize(struct coll_pccl_plan *plan, struct ompi_communicator_t *comm, struct pccl_error *error)
{
    const struct coll_pccl_key *key = &plan->key;
    struct pccl_request request = coll_pccl_plan_request(key);
    if (key->num_ranks > (uint32_t)coll_pccl_parameters.search_ranks) {
        return plan_part(plan, &request, error);
    }
    struct pccl_options options = {.effort = PCCL_EFFORT_FIRST_USE, .frugal = key->frugal};
    struct pccl_result *result = NULL;
    int status = pccl_synthesize(coll_pccl_world.topology, &request, &options, &result, error);
    if (status != PCCL_SUCCESS && status != PCCL_ERR_MEMORY && status != PCCL_ERR_VERIFY) {
        /* MPI reaches every rank whatever the topology says; and the previous component may not do what pccl does: it
         * would combine in another order, or has defects. */
        explain_failure(plan, status, error);
        status = synthesize_on_switch(&request, &options, &result, error);
        plan->assumes_switch = status == PCCL_SUCCESS;
    }
    if (status != PCCL_SUCCESS) {
        return status;
    }
    if (coll_pccl_parameters.verbose >= 5) {
        coll_pccl_report_candidates(comm, key, result);
    }
    status = adopt(plan, result->schedule, result->makespan_ps, error);
    if (status == PCCL_SUCCESS) {
        coll_pccl_archive_save(key, result->schedule);
    }
    pccl_result_free(result);
    return status;
}

/* The parts of a key that the plan keeps copies of; false when out of memory. */
static bool copy_key(const struct coll_pccl_key *key, struct coll_pccl_key *copy)
{
    *copy = *key;
    copy->devices = NULL;
    copy->neighborhood = NULL;
    if (key->neighborhood) {
        copy->neighborhood = coll_pccl_neighborhood_copy(key->neighborhood);
        return copy->neighborhood != NULL;
    }
    uint32_t *devices = malloc(key->num_ranks * sizeof *devices);
    copy->devices = devices;
    return devices && memcpy(devices, key->devices, key->num_ranks * sizeof *devices);
}

/* A plan with its own copy of the key, and nothing else. */
static struct coll_pccl_plan *new_plan(const struct coll_pccl_key *key)
{
    struct coll_pccl_plan *plan = calloc(1, sizeof *plan);
    if (!plan || !copy_key(key, &plan->key)) {
        free(plan);
        return NULL;
    }
    return plan;
}

int coll_pccl_plan_load(const struct coll_pccl_key *key, struct coll_pccl_plan **loaded)
{
    struct pccl_schedule *schedule = NULL;
    struct pccl_simulation simulation = {0};
    struct pccl_error error = {""};
    *loaded = NULL;
    struct coll_pccl_plan *plan = new_plan(key);
    if (!plan) {
        return PCCL_ERR_MEMORY;
    }
    int status = coll_pccl_archive_load(key, &schedule, &error);
    if (schedule) {
        status = pccl_simulate(coll_pccl_world.topology, schedule, &simulation, &error);
        status = status == PCCL_SUCCESS ? adopt(plan, schedule, simulation.makespan_ps, &error) : status;
        status = status == PCCL_SUCCESS ? index_operations(plan) : status;
    }
    if (status != PCCL_SUCCESS && status != PCCL_ERR_MEMORY) {
        coll_pccl_report_refused(key->rank, &error);
    }
    if (status == PCCL_SUCCESS && schedule) {
        plan->key.kept = plan->digest;
        *loaded = plan;
    } else {
        coll_pccl_plan_free(plan);
    }
    pccl_schedule_free(schedule);
    return status == PCCL_ERR_MEMORY ? status : PCCL_SUCCESS;
}

/* The plan that the ranks have agreed upon, if it is still in the directory. */
static int load_again(const struct coll_pccl_key *key, struct coll_pccl_plan **made)
{
    int status = coll_pccl_plan_load(key, made);
    if (*made && (*made)->digest != key->kept) {
        coll_pccl_plan_free(*made);
        *made = NULL;
    }
    return status;
}

int coll_pccl_plan_create(const struct coll_pccl_key *key, struct ompi_communicator_t *comm,
                          struct coll_pccl_plan **made)
{
    int status = PCCL_SUCCESS;
    *made = NULL;
    if (key->kept && ((status = load_again(key, made)) != PCCL_SUCCESS || *made)) {
        return status;
    }
    struct coll_pccl_plan *plan = new_plan(key);
    if (!plan) {
        return PCCL_ERR_MEMORY;
    }
    struct pccl_error error = {""};
    status = key->neighborhood ? plan_exchange(plan, &error) : synthesize(plan, comm, &error);
    if (status == PCCL_SUCCESS) {
        status = index_operations(plan);
    } else if (status != PCCL_ERR_MEMORY) {
        snprintf(plan->failure, sizeof plan->failure, "%s: %.120s", pccl_status_text(status), error.message);
        status = PCCL_SUCCESS;
    }
    if (status == PCCL_SUCCESS && key->kept && plan->digest != key->kept) {
        status = PCCL_ERR_IO;
    }
    if (status != PCCL_SUCCESS) {
        coll_pccl_plan_free(plan);
        return status;
    }
    *made = plan;
    return PCCL_SUCCESS;
}

void coll_pccl_plan_free(struct coll_pccl_plan *plan)
{
    while (plan->idle) {
        struct coll_pccl_execution *execution = plan->idle;
        plan->idle = execution->next_idle;
        coll_pccl_execution_free(execution);
    }
    free(plan->position);
    free(plan->sequence[PCCL_OP_SEND].operations);
    free(plan->sequence[PCCL_OP_RECEIVE].operations);
    free(plan->slots);
    pccl_program_free(plan->program);
    free((uint32_t *)plan->key.devices);
    free((struct coll_pccl_neighborhood *)plan->key.neighborhood);
    free(plan);
}
