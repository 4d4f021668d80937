/* How large a message between hosts had better be. Over TCP a large one waits for a handshake, whose two small messages
 * stand behind all the data that is on the same ways: where many ranks send at once that costs more than the data, and
 * links run dry. What is sent in parts that need no handshake goes at the speed of the network. */
#include <string.h>

#include "world.h"

#define HEADER_BYTES 128 /* more than the point-to-point layer puts before the data of a message */

static bool is_named(const char *name, const char *const *names)
{
    while (*names && strcmp(*names, name) != 0) {
        names++;
    }
    return *names != NULL;
}

uint64_t coll_pccl_network_eager(void)
{
    static const char *const inside_hosts[] = {"self", "sm", "smcuda", "vader", NULL};
    mca_btl_base_selected_module_t *selected;
    size_t least = 0;
    if (strcmp(mca_pml_base_selected_component.pmlm_version.mca_component_name, "ob1") != 0) {
        return 0;
    }
    OPAL_LIST_FOREACH (selected, &mca_btl_base_modules_initialized, mca_btl_base_selected_module_t) {
        const char *name = selected->btl_component->btl_version.mca_component_name;
        size_t eager = selected->btl_module->btl_eager_limit;
        if (is_named(name, inside_hosts)) {
            continue;
        }
        if (strcmp(name, "tcp") != 0) {
            return 0; /* it moves large messages by itself once they are announced */
        }
        least = least == 0 || eager < least ? eager : least;
    }
    return least > 2 * HEADER_BYTES ? least - HEADER_BYTES : 0;
}

size_t coll_pccl_network_message(const struct coll_pccl_record *records, uint32_t num_ranks)
{
    if (coll_pccl_parameters.network_message > 0) {
        return (size_t)coll_pccl_parameters.network_message;
    }
    uint64_t least = num_ranks > 2 ? records[0].eager_bytes : 0; /* two ranks alone do not wait behind others' data */
    for (uint32_t i = 1; i < num_ranks; i++) {
        least = records[i].eager_bytes < least ? records[i].eager_bytes : least;
    }
    return least > 0 ? (size_t)least : SIZE_MAX;
}
