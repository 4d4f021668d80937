/* coll_pccl_placement: which device each rank of MPI_COMM_WORLD sits on. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "world.h"

#define SEPARATORS ", \t\n"

struct list {
    const struct pccl_topology *fabric;
    uint32_t *devices; /* [capacity] */
    uint32_t count, capacity;
    struct pccl_error *error;
};

/* A number from digits only, up to the end of the text or '-'. *end is where it ended; false if there is none. */
static bool parse_number(const char *text, uint32_t *number, const char **end)
{
    uint64_t value = 0;
    for (*end = text; isdigit((unsigned char)**end); (*end)++) {
        value = value * 10 + (uint64_t)(**end - '0');
        if (value >= PCCL_NONE) {
            return false;
        }
    }
    *number = (uint32_t)value;
    return *end != text;
}

static int add_device(struct list *list, uint32_t device)
{
    if (device >= list->fabric->num_devices) {
        snprintf(list->error->message, sizeof list->error->message,
                 "device %u in coll_pccl_placement, but topology %s has devices 0 to %u", device, list->fabric->name,
                 list->fabric->num_devices - 1);
        return PCCL_ERR_INVALID;
    }
    if (list->count < list->capacity) { /* entries beyond the last rank only have to be right */
        list->devices[list->count++] = device;
    }
    return PCCL_SUCCESS;
}

/* A device's name, a number, or a range in either direction. */
static int add_word(struct list *list, const char *word)
{
    uint32_t device = pccl_topology_find(list->fabric, word), first, last;
    const char *end;
    if (device != PCCL_NONE) {
        return add_device(list, device);
    }
    if (!parse_number(word, &first, &end) || (*end != '\0' && *end != '-') ||
        (*end == '-' && (!parse_number(end + 1, &last, &end) || *end != '\0'))) {
        snprintf(
            list->error->message, sizeof list->error->message,
            "\"%.100s\" in coll_pccl_placement is no device of topology %s; expected a number, a range such as 0-15 "
            "or the name of a device",
            word, list->fabric->name);
        return PCCL_ERR_FORMAT;
    }
    bool is_range = strchr(word, '-') != NULL;
    last = is_range ? last : first;
    int status = add_device(list, first);
    while (first != last && status == PCCL_SUCCESS) {
        first += first < last ? 1 : UINT32_MAX;
        status = add_device(list, first);
    }
    return status;
}

int coll_pccl_placement_parse(const char *text, const struct pccl_topology *fabric, uint32_t num_ranks,
                              uint32_t *devices, struct pccl_error *error)
{
    struct list list = {.fabric = fabric, .devices = devices, .capacity = num_ranks, .error = error};
    char *words = strdup(text), *rest = NULL;
    if (!words) {
        return PCCL_ERR_MEMORY;
    }
    int status = PCCL_SUCCESS;
    for (char *word = strtok_r(words, SEPARATORS, &rest); word && status == PCCL_SUCCESS;
         word = strtok_r(NULL, SEPARATORS, &rest)) {
        status = add_word(&list, word);
    }
    free(words);
    if (status == PCCL_SUCCESS && list.count < num_ranks) {
        snprintf(error->message, sizeof error->message,
                 "coll_pccl_placement places %u ranks, but MPI_COMM_WORLD has %u", list.count, num_ranks);
        status = PCCL_ERR_INVALID;
    }
    return status;
}
