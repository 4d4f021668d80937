/* The component: what the framework calls when it loads, opens, registers and asks pccl. */
#include <stdio.h>
#include <string.h>

#include "component.h"
#include "request.h"
#include "world.h"

#include "opal/mca/base/mca_base_pvar.h"

int coll_pccl_output = -1;
unsigned long coll_pccl_served_calls;

/* Nothing in the framework keeps a component that was built for another Open MPI from being used. */
static bool runs_with_its_version(void)
{
    char library[MPI_MAX_LIBRARY_VERSION_STRING];
    int length, major = 0, minor = 0;
    MPI_Get_library_version(library, &length);
    if (sscanf(library, "Open MPI v%d.%d", &major, &minor) == 2 && major == OMPI_MAJOR_VERSION &&
        minor == OMPI_MINOR_VERSION) {
        return true;
    }
    char *comma = strchr(library, ',');
    if (comma) {
        *comma = '\0';
    }
    opal_show_help(COLL_PCCL_HELP_FILE, "wrong version", true, OMPI_MAJOR_VERSION, OMPI_MINOR_VERSION, library);
    return false;
}

/* Open MPI shows a counter from the moment on at which a handle is made: it takes away the value that it reads then,
 * once, right after telling that the handle is made. People want the calls of the process, so that value is 0. MPI_T's
 * functions hold a lock. */
static bool counts_from_0;

static int note_handle(mca_base_pvar_t *variable, mca_base_pvar_event_t event, void *object, int *count)
{
    (void)variable;
    (void)object;
    if (event == MCA_BASE_PVAR_HANDLE_BIND) {
        counts_from_0 = true;
        *count = 1;
    }
    return OPAL_SUCCESS;
}

static int read_served_calls(const mca_base_pvar_t *variable, void *value, void *object)
{
    (void)variable;
    (void)object;
    *(unsigned long *)value = counts_from_0 ? 0 : __atomic_load_n(&coll_pccl_served_calls, __ATOMIC_RELAXED);
    counts_from_0 = false;
    return OPAL_SUCCESS;
}

static int register_component(void)
{
    int status = mca_base_component_pvar_register(
        &mca_coll_pccl_component.collm_version, "served_calls",
        "How many calls of collectives this process has served by schedules of pccl.", OPAL_INFO_LVL_3,
        MCA_BASE_PVAR_CLASS_COUNTER, MCA_BASE_VAR_TYPE_UNSIGNED_LONG, NULL, MCA_BASE_VAR_BIND_NO_OBJECT,
        MCA_BASE_PVAR_FLAG_READONLY | MCA_BASE_PVAR_FLAG_CONTINUOUS, read_served_calls, NULL, note_handle, NULL);
    return status < 0 ? status : coll_pccl_parameters_register();
}

static int open_component(void)
{
    opal_show_help_add_dir(PCCL_HELP_DIR);
    opal_output_stream_t stream;
    OBJ_CONSTRUCT(&stream, opal_output_stream_t);
    stream.lds_prefix = "coll:pccl: ";
    stream.lds_want_stderr = true;
    coll_pccl_output = opal_output_open(&stream);
    stream.lds_prefix = NULL; /* not ours to free */
    OBJ_DESTRUCT(&stream);
    if (coll_pccl_parameters.priority != 0 && !runs_with_its_version()) {
        return OMPI_ERR_NOT_AVAILABLE;
    }
    return OMPI_SUCCESS;
}

static int close_component(void)
{
    coll_pccl_requests_close();
    coll_pccl_cache_free();
    coll_pccl_world_free();
    if (coll_pccl_output >= 0) {
        opal_output_close(coll_pccl_output);
        coll_pccl_output = -1;
    }
    return OMPI_SUCCESS;
}

static int query_process(bool enable_progress_threads, bool enable_mpi_threads)
{
    (void)enable_progress_threads;
    (void)enable_mpi_threads;
    coll_pccl_parameters_check();
    return OMPI_SUCCESS;
}

OPAL_MODULE_DECLSPEC const mca_coll_base_component_t mca_coll_pccl_component = {
    .collm_version =
        {
            COLL_PCCL_API_VERSION,
            .mca_component_name = "pccl",
            MCA_BASE_MAKE_VERSION(component, OMPI_MAJOR_VERSION, OMPI_MINOR_VERSION, OMPI_RELEASE_VERSION),
            .mca_open_component = open_component,
            .mca_close_component = close_component,
            .mca_register_component_params = register_component,
        },
    .collm_data = {.param_field = MCA_BASE_METADATA_PARAM_NONE},
    .collm_init_query = query_process,
    .collm_comm_query = coll_pccl_module_query,
};
