/* The MCA parameters: what `ompi_info --param coll pccl --level 9` prints, and the check of their values. */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "component.h"

#define DEFAULT_CACHE_PLANS 1024
#define DEFAULT_WINDOW 64
#define DEFAULT_MAX_RANKS (1 << 16)
#define DEFAULT_SEARCH_RANKS 128
#define DEFAULT_AGREEMENT_TIMEOUT 10
#define DEFAULT_MESSAGE_LIMIT (1 << 30)
#define DEFAULT_KEEP_MIB 64

struct coll_pccl_parameters coll_pccl_parameters = {
    .cache_plans = DEFAULT_CACHE_PLANS,
    .window = DEFAULT_WINDOW,
    .max_ranks = DEFAULT_MAX_RANKS,
    .search_ranks = DEFAULT_SEARCH_RANKS,
    .agreement_timeout = DEFAULT_AGREEMENT_TIMEOUT,
    .message_limit = DEFAULT_MESSAGE_LIMIT,
    .keep_mib = DEFAULT_KEEP_MIB,
};

/* One row per parameter. Integers have a range and a default to fall back to; strings are checked by who uses them. */
struct parameter {
    const char *name;
    int *number;
    char **text;
    int minimum, maximum, preset;
    mca_base_var_info_lvl_t level;
    mca_base_var_scope_t scope;
    const char *help;
};

static const struct parameter parameters[] = {
    {"priority", &coll_pccl_parameters.priority, NULL, 0, INT_MAX, 0, OPAL_INFO_LVL_1, MCA_BASE_VAR_SCOPE_ALL,
     "Priority of pccl among the components for collectives. 0 (default): off. To serve anything it must be above 30, "
     "the priority of \"tuned\" (above 50 where \"sync\" is in use); 100 is recommended. It must be the same "
     "on all ranks. Being on is agreed upon in MPI_Init; after that the value may be changed through its MPI_T control "
     "variable (on all ranks alike): communicators made while it is 0 use the default components."},
    {"verbose", &coll_pccl_parameters.verbose, NULL, 0, INT_MAX, 0, OPAL_INFO_LVL_3, MCA_BASE_VAR_SCOPE_LOCAL,
     "How much rank 0 of each communicator tells. 0 (default): nothing; 1: a line for each collective and octave of "
     "sizes "
     "at its first use: which plan, its predicted time, or why pccl declines; 5: also the candidates of each new plan "
     "with their predicted times; 9: also each operation as it starts."},
    {"topology", NULL, &coll_pccl_parameters.topology, 0, 0, 0, OPAL_INFO_LVL_2, MCA_BASE_VAR_SCOPE_READONLY,
     "Network to plan for: a generator such as star:16, mesh:4x4, torus:4x4x4, hypercube:4, fattree:4x8, or the path "
     "of a "
     "topology file (it contains '/' or ends in .json). Empty (default): the hosts of the job on one switch. The ranks "
     "of one host are arranged by hwloc in either case."},
    {"placement", NULL, &coll_pccl_parameters.placement, 0, 0, 0, OPAL_INFO_LVL_2, MCA_BASE_VAR_SCOPE_READONLY,
     "Device of coll_pccl_topology that each rank of MPI_COMM_WORLD sits on, in rank order, separated by commas or "
     "spaces: numbers, ranges and names of devices (\"0-15\", \"7 4 12 0\", \"15-0\", \"node3,node7\"). More entries "
     "than ranks "
     "are allowed. Empty (default): hosts are found by name in the topology. If they are not all there, the topology "
     "is not used and a message says so; but if its devices have no names of their own (as those of generators), rank "
     "i sits on device i."},
    {"processors", &coll_pccl_parameters.processors, NULL, 0, 1024, 0, OPAL_INFO_LVL_5, MCA_BASE_VAR_SCOPE_READONLY,
     "Processors that the ranks of a host have together, which matters where there are more ranks: they take turns "
     "then, and plans with few messages are best. 0 (default): those that each rank may run on, as hwloc tells, and no "
     "more than the cgroups of the ranks leave them time for."},
    {"collectives", NULL, &coll_pccl_parameters.collectives, 0, 0, 0, OPAL_INFO_LVL_3, MCA_BASE_VAR_SCOPE_READONLY,
     "Which collectives pccl serves: \"all\" (default), a list such as \"allreduce,bcast\", or all but those of a "
     "list, \"^alltoall,alltoallv\"."},
    {"select", NULL, &coll_pccl_parameters.select, 0, 0, 0, OPAL_INFO_LVL_3, MCA_BASE_VAR_SCOPE_ALL,
     "Who serves a collective. \"measure\" (default): on each communicator the first calls of a collective in an "
     "octave of sizes alternate between pccl and the component below, then the faster of them serves. \"model\": pccl "
     "serves unless the best plan in the model is an algorithm that the component below has too. \"always\": pccl "
     "serves whatever it can. Must be the same on all ranks. A change through its MPI_T control variable (on all ranks "
     "alike) holds for the communicators made afterwards."},
    {"plan_dir", NULL, &coll_pccl_parameters.plan_dir, 0, 0, 0, OPAL_INFO_LVL_4, MCA_BASE_VAR_SCOPE_READONLY,
     "Directory that keeps plans and what was measured from run to run; it must exist. Empty (default): nothing is "
     "kept. It must be set on all ranks or on none."},
    {"cache_plans", &coll_pccl_parameters.cache_plans, NULL, 1, 1 << 20, DEFAULT_CACHE_PLANS, OPAL_INFO_LVL_6,
     MCA_BASE_VAR_SCOPE_READONLY,
     "How many plans a process keeps for all its communicators (default 1024). When it is full, the plan that has not "
     "been used for the longest time is dropped, and made again when it is needed."},
    {"max_ranks", &coll_pccl_parameters.max_ranks, NULL, 2, 1 << 16, DEFAULT_MAX_RANKS, OPAL_INFO_LVL_5,
     MCA_BASE_VAR_SCOPE_READONLY,
     "Largest communicator that pccl serves (default 65536). Larger ones use the default components. Collectives among "
     "neighbours are served in any."},
    {"search_ranks", &coll_pccl_parameters.search_ranks, NULL, 1, 1 << 12, DEFAULT_SEARCH_RANKS, OPAL_INFO_LVL_6,
     MCA_BASE_VAR_SCOPE_READONLY,
     "Largest communicator whose plans are searched among all methods and verified for all ranks together (default "
     "128). In larger ones each rank plans its own part only, between hosts and inside them; scans and reproducible "
     "reductions then are left to the default components."},
    {"window", &coll_pccl_parameters.window, NULL, 1, 1 << 16, DEFAULT_WINDOW, OPAL_INFO_LVL_6,
     MCA_BASE_VAR_SCOPE_READONLY,
     "How far the sends, and likewise the receives, of a collective may run ahead of the oldest one that is not "
     "finished (default 64)."},
    {"message_limit", &coll_pccl_parameters.message_limit, NULL, 1, 1 << 30, DEFAULT_MESSAGE_LIMIT, OPAL_INFO_LVL_9,
     MCA_BASE_VAR_SCOPE_READONLY,
     "Largest message in bytes given to the point-to-point layer; longer ones are split (default 1 GiB). Must be the "
     "same on all ranks."},
    {"network_message", &coll_pccl_parameters.network_message, NULL, 0, 1 << 30, 0, OPAL_INFO_LVL_6,
     MCA_BASE_VAR_SCOPE_READONLY,
     "Largest message in bytes between hosts; longer ones are sent in parts, each a message of its own. 0 (default): "
     "over TCP, among more than two ranks, what it sends without a handshake (btl_tcp_eager_limit), since on a busy "
     "network handshakes wait behind data; else no limit but coll_pccl_message_limit. Must be the same on all ranks."},
    {"keep_mib", &coll_pccl_parameters.keep_mib, NULL, 0, 1 << 20, DEFAULT_KEEP_MIB, OPAL_INFO_LVL_6,
     MCA_BASE_VAR_SCOPE_LOCAL,
     "MiB of temporary buffers that a process keeps from call to call (default 64). What goes beyond is allocated and "
     "freed in each call. Buffers of up to 64 KiB are not counted; they have a bound of 16 MiB of their own."},
    {"reproducible", &coll_pccl_parameters.reproducible, NULL, 0, 1, 0, OPAL_INFO_LVL_4, MCA_BASE_VAR_SCOPE_READONLY,
     "With 1, reductions combine their operands in an order that depends on nothing but the number of ranks, so that "
     "sums of floating-point numbers are the same, bit by bit, whatever the placement, topology, root and size. They "
     "may take longer. 0 (default): in the order that is fastest. Must be the same on all ranks."},
    {"check", &coll_pccl_parameters.check, NULL, 0, 1, 0, OPAL_INFO_LVL_4, MCA_BASE_VAR_SCOPE_READONLY,
     "With 1, before each blocking collective its ranks compare collective, root, size, counts, operator and datatype. "
     "Where they differ, which would be a hang or wrong data, the call returns an error on all ranks, and a line names "
     "two ranks and what they have. For finding faults: every call costs one or two more. 0 (default): nothing is "
     "compared. Must be the same on all ranks."},
    {"agreement_timeout", &coll_pccl_parameters.agreement_timeout, NULL, 1, 3600, DEFAULT_AGREEMENT_TIMEOUT,
     OPAL_INFO_LVL_6, MCA_BASE_VAR_SCOPE_READONLY,
     "Seconds that MPI_Init waits for ranks in which pccl is off or missing before all ranks decline (default 10)."},
};
#define NUM_PARAMETERS (sizeof parameters / sizeof parameters[0])

int coll_pccl_parameters_register(void)
{
    static char all[] = "all", measure[] = "measure";
    coll_pccl_parameters.collectives = all;
    coll_pccl_parameters.select = measure;
    for (size_t i = 0; i < NUM_PARAMETERS; i++) {
        const struct parameter *row = &parameters[i];
        int index = mca_base_component_var_register(
            &mca_coll_pccl_component.collm_version, row->name, row->help,
            row->number ? MCA_BASE_VAR_TYPE_INT : MCA_BASE_VAR_TYPE_STRING, NULL, 0,
            row->scope == MCA_BASE_VAR_SCOPE_READONLY ? (mca_base_var_flag_t)0 : MCA_BASE_VAR_FLAG_SETTABLE, row->level,
            row->scope, row->number ? (void *)row->number : (void *)row->text);
        if (index < 0) {
            return index;
        }
    }
    return OMPI_SUCCESS;
}

/* MPI's names, and "broadcast". */
static bool is_name_of(const char *word, uint32_t kind)
{
    return strcmp(word, coll_pccl_collectives[kind].name) == 0 ||
           (kind == COLL_PCCL_BCAST && strcmp(word, "broadcast") == 0);
}

/* Marks the collectives named in `list`; returns the first word that is no name, or NULL. The word is cut off in place.
 */
static char *mark_named(char *list, uint32_t *named)
{
    char *rest = NULL;
    for (char *word = strtok_r(list, ", ", &rest); word; word = strtok_r(NULL, ", ", &rest)) {
        uint32_t kind = 0;
        while (kind < COLL_PCCL_NUM_KINDS && !is_name_of(word, kind)) {
            kind++;
        }
        if (kind == COLL_PCCL_NUM_KINDS) {
            return word;
        }
        *named |= UINT32_C(1) << kind;
    }
    return NULL;
}

static void check_collectives(void)
{
    const uint32_t all = (UINT32_C(1) << COLL_PCCL_NUM_KINDS) - 1;
    const char *text = coll_pccl_parameters.collectives;
    coll_pccl_parameters.served = all;
    if (!text || text[0] == '\0' || strcmp(text, "all") == 0) {
        return;
    }
    uint32_t named = 0;
    char *list = strdup(text[0] == '^' ? text + 1 : text);
    char *wrong = list ? mark_named(list, &named) : NULL;
    if (!list || wrong || named == 0) {
        opal_show_help(COLL_PCCL_HELP_FILE, "unknown collective", true, text, wrong ? wrong : "");
        coll_pccl_parameters.priority = 0;
        coll_pccl_parameters.unusable = true;
    }
    coll_pccl_parameters.served = text[0] == '^' ? all & ~named : named;
    free(list);
}

static const char *const selections[] = {
    [COLL_PCCL_MEASURE] = "measure",
    [COLL_PCCL_MODEL] = "model",
    [COLL_PCCL_ALWAYS] = "always",
};
#define NUM_SELECTIONS (sizeof selections / sizeof *selections)

/* Index of the value of coll_pccl_select, NUM_SELECTIONS if it is none of them. */
static size_t find_selection(void)
{
    const char *text = coll_pccl_parameters.select;
    size_t i = 0;
    while (text && text[0] && i < NUM_SELECTIONS && strcmp(text, selections[i]) != 0) {
        i++;
    }
    return i;
}

enum coll_pccl_selection coll_pccl_parameters_selection(void)
{
    size_t found = find_selection();
    return found < NUM_SELECTIONS ? (enum coll_pccl_selection)found : COLL_PCCL_MEASURE;
}

void coll_pccl_parameters_check(void)
{
    for (size_t i = 0; i < NUM_PARAMETERS; i++) {
        const struct parameter *row = &parameters[i];
        if (row->number && (*row->number < row->minimum || *row->number > row->maximum)) {
            opal_show_help(COLL_PCCL_HELP_FILE, "number out of range", true, row->name, *row->number, row->minimum,
                           row->maximum, row->preset);
            *row->number = row->preset;
        }
    }
    check_collectives();
    if (find_selection() == NUM_SELECTIONS) {
        opal_show_help(COLL_PCCL_HELP_FILE, "unknown selection", true, coll_pccl_parameters.select);
    }
}
