/* Modules: one per communicator. Keeps what served the collectives before and puts pccl in its place. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agreement.h"
#include "neighborhood.h"
#include "select.h"
#include "world.h"

#include "pccl/topology.h"

/* Priorities of Open MPI's own components: tuned 30, sync 50. */
#define COLL_PCCL_ADVICE "a value above 30 (\"tuned\"), such as 100"

/* Room for the names of all functions. */
#define LIST_BYTES (COLL_PCCL_NUM_FORMS * COLL_PCCL_NUM_KINDS * 32)

typedef void (*function)(void);

static void construct(coll_pccl_module_t *module)
{
    memset(&module->previous, 0, sizeof module->previous);
    memset(module->installed, 0, sizeof module->installed);
    module->group = NULL;
    module->selection = coll_pccl_parameters_selection();
    module->conferring = false;
    module->choices = NULL;
    module->starved = false;
}

static mca_coll_base_module_t **previous_module(struct coll_pccl_module *module, const struct coll_pccl_function *row)
{
    return (mca_coll_base_module_t **)((char *)&module->previous + row->active_module);
}

/* Gives back what enable took; harmless when repeated. */
static void release_previous(struct coll_pccl_module *module)
{
    for (uint32_t form = 0; form < COLL_PCCL_NUM_FORMS; form++) {
        for (uint32_t kind = 0; kind < COLL_PCCL_NUM_KINDS; kind++) {
            if (module->installed[form] >> kind & 1) {
                OBJ_RELEASE(*previous_module(module, &coll_pccl_collectives[kind].functions[form]));
            }
        }
        module->installed[form] = 0;
    }
}

static void destruct(coll_pccl_module_t *module)
{
    release_previous(module);
    coll_pccl_choices_free(module->choices);
    module->choices = NULL;
    if (module->group) {
        free(module->group->devices);
        free(module->group->neighborhood);
        free(module->group->agreed);
        free(module->group);
        module->group = NULL;
    }
}

OBJ_CLASS_INSTANCE(coll_pccl_module_t, mca_coll_base_module_t, construct, destruct);

/* The module of communicators that there was no memory to make one for. Other ranks use pccl there, so this one must
 * not use the component below. Open MPI gives back what it gets, and this one is never freed. */
static coll_pccl_module_t *starved_module(void)
{
    static opal_mutex_t lock = OPAL_MUTEX_STATIC_INIT;
    static coll_pccl_module_t module;
    OPAL_THREAD_LOCK(&lock);
    if (!module.starved) {
        OBJ_CONSTRUCT(&module, coll_pccl_module_t);
        module.starved = true;
    }
    OBJ_RETAIN(&module);
    OPAL_THREAD_UNLOCK(&lock);
    return &module;
}

/* Saves the function below and sets our own, if there is one below to fall back to. */
static bool install_function(struct coll_pccl_module *module, struct ompi_communicator_t *comm,
                             const struct coll_pccl_function *row)
{
    const char *active = (const char *)comm->c_coll;
    function below;
    mca_coll_base_module_t *below_module;
    memcpy(&below, active + row->active_function, sizeof below);
    memcpy(&below_module, active + row->active_module, sizeof below_module);
    if (!below || !below_module) {
        return false;
    }
    memcpy((char *)&module->previous + row->active_function, &below, sizeof below);
    *previous_module(module, row) = below_module;
    OBJ_RETAIN(below_module);
    memcpy((char *)&module->super + row->place, &row->entry, sizeof row->entry);
    return true;
}

/* What pccl would serve on a communicator, a bit per kind. Whether it will have neighbours shows only later: a topology
 * is attached to a communicator after its modules. On one rank alone, which may have edges to itself, blocking calls
 * are copies that the component below makes as well; except that the alltoallw of Open MPI 4.1 takes displacements for
 * elements. Its persistent ones, on any number of ranks, use datatypes that the application may have freed. */
static uint32_t wanted_kinds(struct ompi_communicator_t *comm, uint32_t form)
{
    uint32_t alone = COLL_PCCL_NEIGHBOR_KINDS | UINT32_C(1) << COLL_PCCL_ALLTOALLW;
    bool some = form == COLL_PCCL_BLOCKING && ompi_comm_size(comm) == 1;
    return coll_pccl_parameters.served & (some ? alone : ~UINT32_C(0));
}

static void install(struct coll_pccl_module *module, struct ompi_communicator_t *comm)
{
    for (uint32_t form = 0; form < COLL_PCCL_NUM_FORMS; form++) {
        uint32_t wanted = wanted_kinds(comm, form);
        for (uint32_t kind = 0; kind < COLL_PCCL_NUM_KINDS; kind++) {
            const struct coll_pccl_function *row = &coll_pccl_collectives[kind].functions[form];
            bool is_wanted = wanted >> kind & 1;
            if (is_wanted && module->starved) {
                memcpy((char *)&module->super + row->place, &row->entry, sizeof row->entry);
            } else if (is_wanted && install_function(module, comm, row)) {
                module->installed[form] |= UINT32_C(1) << kind;
            }
        }
    }
}

/* One number for all that is installed, to compare it between ranks. */
static uint64_t digest_installed(const struct coll_pccl_module *module)
{
    uint64_t digest = 0;
    for (uint32_t form = 0; form < COLL_PCCL_NUM_FORMS; form++) {
        digest = digest * UINT64_C(0x9e3779b97f4a7c15) + module->installed[form];
    }
    return digest;
}

static bool tells(struct ompi_communicator_t *comm)
{
    return coll_pccl_parameters.verbose > 0 && ompi_comm_rank(comm) == 0;
}

/* "allreduce, bcast" of a bit per kind; false if there is nothing to list. */
static bool list_functions(const uint32_t kinds[COLL_PCCL_NUM_FORMS], char text[LIST_BYTES])
{
    size_t length = 0;
    text[0] = '\0';
    for (uint32_t form = 0; form < COLL_PCCL_NUM_FORMS; form++) {
        for (uint32_t kind = 0; kind < COLL_PCCL_NUM_KINDS; kind++) {
            if (kinds[form] >> kind & 1 && length < LIST_BYTES) {
                const char *name = coll_pccl_collectives[kind].functions[form].name;
                length += (size_t)snprintf(text + length, LIST_BYTES - length, "%s%s", length ? ", " : "", name);
            }
        }
    }
    return length > 0;
}

/* Without a component below there is nobody to leave a call to. */
static void report_missing(const struct coll_pccl_module *module, struct ompi_communicator_t *comm)
{
    uint32_t missing[COLL_PCCL_NUM_FORMS];
    bool any = false;
    char list[LIST_BYTES];
    for (uint32_t form = 0; form < COLL_PCCL_NUM_FORMS; form++) {
        missing[form] = wanted_kinds(comm, form) & ~module->installed[form] & ~COLL_PCCL_NEIGHBOR_KINDS;
        any |= module->installed[form] != 0;
    }
    if (!any) {
        opal_output(coll_pccl_output, "off: coll_pccl_priority %d is not above that of any component for collectives; "
                    "use " COLL_PCCL_ADVICE, coll_pccl_parameters.priority);
    } else if (list_functions(missing, list)) {
        opal_output(coll_pccl_output, "not served, since no component below pccl's priority does: %s", list);
    }
}

/* What pccl has installed in MPI_COMM_WORLD, which others may have replaced since. */
static uint32_t installed_in_world[COLL_PCCL_NUM_FORMS];

/* Components of the same or a higher priority are enabled after pccl, so what they have taken shows when the next
 * communicator is made, which happens in MPI_Init. */
static void report_taken(struct ompi_communicator_t *comm)
{
    uint32_t taken[COLL_PCCL_NUM_FORMS] = {0};
    bool is_any_ours = false;
    char list[LIST_BYTES];
    for (uint32_t form = 0; form < COLL_PCCL_NUM_FORMS; form++) {
        for (uint32_t kind = 0; kind < COLL_PCCL_NUM_KINDS; kind++) {
            const struct coll_pccl_function *row = &coll_pccl_collectives[kind].functions[form];
            function active;
            memcpy(&active, (const char *)comm->c_coll + row->active_function, sizeof active);
            taken[form] |= (uint32_t)(active != row->entry) << kind;
        }
        taken[form] &= installed_in_world[form];
        is_any_ours |= taken[form] != installed_in_world[form];
        taken[form] &= ~COLL_PCCL_NEIGHBOR_KINDS;
    }
    if (!is_any_ours) {
        opal_output(coll_pccl_output, "on, but serves nothing: coll_pccl_priority %d is not above that of another "
                    "component, which takes all calls; use " COLL_PCCL_ADVICE, coll_pccl_parameters.priority);
    } else if (list_functions(taken, list)) {
        opal_output(coll_pccl_output, "not reached, since a component of the same or a higher priority comes first: %s",
                    list);
    }
}

static int enable(mca_coll_base_module_t *base, struct ompi_communicator_t *comm)
{
    struct coll_pccl_module *module = (struct coll_pccl_module *)base;
    install(module, comm);
    if (comm == MPI_COMM_WORLD && tells(comm)) {
        report_missing(module, comm);
    }
    if (comm == MPI_COMM_WORLD && !coll_pccl_agreement_reach(comm, digest_installed(module))) {
        release_previous(module);
        return OMPI_ERR_NOT_AVAILABLE;
    }
    if (comm == MPI_COMM_WORLD) {
        memcpy(installed_in_world, module->installed, sizeof installed_in_world);
    }
    return OMPI_SUCCESS;
}

/* The framework may call this once per function that is installed. What was saved stays until the module goes, since a
 * call may still be under way. */
static int disable(mca_coll_base_module_t *base, struct ompi_communicator_t *comm)
{
    (void)base;
    (void)comm;
    return OMPI_SUCCESS;
}

mca_coll_base_module_t *coll_pccl_module_query(struct ompi_communicator_t *comm, int *priority)
{
    if (comm == MPI_COMM_SELF && coll_pccl_world.agreed && tells(MPI_COMM_WORLD)) {
        report_taken(MPI_COMM_WORLD);
    }
    if (comm == MPI_COMM_WORLD && coll_pccl_parameters.unusable && tells(comm)) {
        opal_output(coll_pccl_output, "off in all ranks of MPI_COMM_WORLD: coll_pccl_collectives is not understood "
                    "(see the help text)");
    }
    bool may_serve = comm == MPI_COMM_WORLD || coll_pccl_world.agreed;
    bool off = coll_pccl_parameters.priority <= 0 || coll_pccl_parameters.served == 0;
    if (off || OMPI_COMM_IS_INTER(comm) || !may_serve) {
        return NULL;
    }
    struct coll_pccl_module *module = OBJ_NEW(coll_pccl_module_t);
    if (!module && comm == MPI_COMM_WORLD) {
        return NULL; /* the others find out when they agree */
    }
    module = module ? module : starved_module();
    module->super.coll_module_enable = enable;
    module->super.coll_module_disable = disable;
    *priority = coll_pccl_parameters.priority;
    return &module->super;
}

/* Devices of the communicator's ranks, NULL with a reason if pccl cannot serve it. All members come to the same. */
static uint32_t *find_devices(struct coll_pccl_group *group, struct ompi_communicator_t *comm)
{
    opal_process_name_t own = ompi_proc_local()->super.proc_name;
    for (uint32_t i = 0; i < group->num_ranks; i++) {
        opal_process_name_t name = ompi_group_get_proc_name(comm->c_local_group, (int)i);
        if (name.jobid != own.jobid || name.vpid >= coll_pccl_world.num_ranks) {
            group->declined = "some of its ranks are not in this MPI_COMM_WORLD";
            group->has_strangers = true;
            return NULL;
        }
    }
    if (group->num_ranks > (uint32_t)coll_pccl_parameters.max_ranks) {
        group->declined = "more ranks than coll_pccl_max_ranks";
        return NULL;
    }
    uint32_t *devices = malloc(group->num_ranks * sizeof *devices);
    for (uint32_t i = 0; devices && i < group->num_ranks; i++) {
        opal_process_name_t name = ompi_group_get_proc_name(comm->c_local_group, (int)i);
        devices[i] = coll_pccl_world.devices[name.vpid];
    }
    return devices;
}

/* FNV-1a. */
static uint64_t digest_of(const uint32_t *devices, uint32_t count)
{
    uint64_t digest = UINT64_C(0xcbf29ce484222325);
    for (uint32_t i = 0; i < count; i++) {
        for (int shift = 0; shift < 32; shift += 8) {
            digest = (digest ^ (devices[i] >> shift & 0xff)) * UINT64_C(0x100000001b3);
        }
    }
    return digest;
}

struct coll_pccl_group *coll_pccl_module_group(struct coll_pccl_module *module, struct ompi_communicator_t *comm)
{
    if (module->group || module->starved) {
        return module->group;
    }
    struct coll_pccl_group *group = calloc(1, sizeof *group);
    if (!group) {
        return NULL;
    }
    group->num_ranks = (uint32_t)ompi_comm_size(comm);
    group->rank = (uint32_t)ompi_comm_rank(comm);
    group->devices = find_devices(group, comm);
    if (!group->devices && !group->declined) {
        free(group);
        return NULL;
    }
    group->digest = group->devices ? digest_of(group->devices, group->num_ranks) : 0;
    module->group = group;
    return group;
}

const struct coll_pccl_neighborhood *coll_pccl_module_neighborhood(struct coll_pccl_group *group,
                                                                   struct ompi_communicator_t *comm)
{
    if (!group->neighborhood) {
        group->neighborhood = coll_pccl_neighborhood_create(comm);
    }
    return group->neighborhood;
}
