/* What the files of the component share: parameters, the state of the process, the module of a communicator. */
#ifndef COLL_PCCL_COMPONENT_H
#define COLL_PCCL_COMPONENT_H

#include "compat.h"

#include "collective.h"

/* Returned instead of an MPI error code when pccl leaves a call to the previous component; all ranks of the
 * communicator return it together. Open MPI's codes are all above. */
#define COLL_PCCL_DECLINED (-10000)

/* How it is chosen who serves a call, coll_pccl_select. */
enum coll_pccl_selection {
    COLL_PCCL_MEASURE, /* whoever is measured to be faster */
    COLL_PCCL_MODEL,   /* pccl where its plan is predicted to be faster than textbook algorithms */
    COLL_PCCL_ALWAYS   /* pccl whenever it can */
};

/* Values of the MCA parameters (parameters.c says what they mean). Strings belong to the MCA. */
struct coll_pccl_parameters {
    int priority;
    int verbose;
    char *topology;
    char *placement;
    char *collectives;
    char *select;
    char *plan_dir;
    int cache_plans;
    int window;
    int max_ranks;
    int search_ranks;
    int processors;
    int agreement_timeout; /* seconds */
    int message_limit;     /* bytes */
    int network_message;   /* bytes; 0: see network.c */
    int keep_mib;          /* MiB */
    int reproducible;      /* reductions by the fixed tree of pccl/demand.h */
    int check;             /* compare the arguments of blocking calls over the ranks */
    bool unusable;         /* switched off, since `collectives` is not understood */
    uint32_t served;       /* the collectives that `collectives` names, a bit per enum coll_pccl_kind */
};
extern struct coll_pccl_parameters coll_pccl_parameters;

/* Calls that this process has served by a schedule of pccl, behind MPI's tool interface as coll_pccl_served_calls.
 * Threads that call at the same time may lose counts. */
extern unsigned long coll_pccl_served_calls;

/* Stream of opal_output for everything that coll_pccl_verbose asks for. */
extern int coll_pccl_output;

#define COLL_PCCL_HELP_FILE "help-mpi-coll-pccl.txt"

/* The component, as the framework sees it. */
extern const mca_coll_base_component_t mca_coll_pccl_component;

/* What pccl knows about the ranks of one communicator; made by its first collective, freed with it. */
struct coll_pccl_group {
    uint32_t num_ranks, rank;
    uint32_t *devices;    /* [num_ranks] device of each rank; NULL if pccl declines this communicator */
    uint64_t digest;      /* of devices */
    const char *declined; /* why (static text), else NULL */
    bool has_strangers;   /* that is because pccl may be off in some ranks */
    struct coll_pccl_neighborhood *neighborhood; /* NULL until the first collective among neighbours */
    uint32_t calls;       /* rooted calls so far: see COLL_PCCL_FLOW_CALLS */
    uint32_t left_calls;  /* the same of those left to the component below: see COLL_PCCL_LEFT_CALLS */
    struct coll_pccl_recent {
        uint64_t key; /* packed by plan.c; 0 = empty */
        uint64_t generation;
        uint32_t place; /* in the cache of plans */
        bool settled;   /* the last blocking call was served by it: what has been decided for that holds for another
                           call with this key */
    } recent[COLL_PCCL_NUM_KINDS]; /* the last plan of each collective */
    struct coll_pccl_agreed {
        uint64_t name;   /* coll_pccl_plan_name; 0 = empty */
        uint64_t digest; /* see coll_pccl_archive_agreed */
    } *agreed; /* [agreed_room] plans that its ranks have talked about, hashed; see archive.h */
    uint32_t num_agreed, agreed_room;
    /* A bit per size band that coll_pccl_verbose has told about: [0] served, [1] declined, [2] served by a frugal plan.
     * The forms of a collective may differ in that. */
    uint64_t reported[3][COLL_PCCL_NUM_KINDS];
};

/* The module of one communicator. */
struct coll_pccl_module {
    mca_coll_base_module_t super;
    mca_coll_base_comm_coll_t previous; /* of the functions installed: what served them before, and its module */
    uint32_t installed[COLL_PCCL_NUM_FORMS]; /* a bit per enum coll_pccl_kind */
    struct coll_pccl_group *group;           /* NULL until the first collective */
    enum coll_pccl_selection selection;      /* as coll_pccl_select was when the communicator was made */
    bool conferring; /* in an exchange by the allreduce of the component below: what that makes of other collectives is
                        left to it */
    struct coll_pccl_choices *choices;       /* select.h; NULL until there is something to choose */
    bool starved; /* stands for one that there was no memory for: every call is an error */
};
typedef struct coll_pccl_module coll_pccl_module_t; /* Open MPI's object macros need a one-word name */
OBJ_CLASS_DECLARATION(coll_pccl_module_t);

/* parameters.c */
int coll_pccl_parameters_register(void);
/* Replaces values that cannot be used and tells the user so. */
void coll_pccl_parameters_check(void);
/* The value of coll_pccl_select; COLL_PCCL_MEASURE for a text that is none. */
enum coll_pccl_selection coll_pccl_parameters_selection(void);

/* module.c: the framework asks for a module for `comm`; NULL = not interested. */
mca_coll_base_module_t *coll_pccl_module_query(struct ompi_communicator_t *comm, int *priority);
/* The group of a module, made when it is first asked for; NULL when out of memory. */
struct coll_pccl_group *coll_pccl_module_group(struct coll_pccl_module *module, struct ompi_communicator_t *comm);
/* The neighbourhood of this rank in a communicator with a topology, made when it is first asked for; NULL when out of
 * memory. */
const struct coll_pccl_neighborhood *coll_pccl_module_neighborhood(struct coll_pccl_group *group,
                                                                   struct ompi_communicator_t *comm);

#endif
