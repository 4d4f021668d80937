#include "pccl/io.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "io/graph.h"
#include "pccl/place.h"
#include "topology/generators.h"

#define COUNT(array) (uint32_t)(sizeof(array) / sizeof((array)[0]))

static int read_place(const struct pccl__json_place *place, const cJSON *item, const struct pccl_topology *fabric,
                      struct pccl_place *result, struct pccl_error *error)
{
    static const char *const keys[] = {"host", "package", "numa", "l3", "core", "processor"};
    const char *host = NULL;
    int64_t levels[4] = {-1, -1, -1, -1}, processor = 0;
    int status = pccl__json_object(place, item, keys, COUNT(keys), error);
    if (status == 0) {
        status = pccl__json_text(place, item, "host", &host, error);
    }
    if (status == 0 && (host == NULL || pccl_topology_find(fabric, host) >= fabric->num_devices)) {
        status = pccl__json_fail(place, "host", error, host == NULL ? "missing" : "is no device of the fabric");
    }
    for (uint32_t i = 0; i < 4 && status == 0; i++) {
        status = pccl__json_integer(place, item, keys[i + 1], -1, INT32_MAX, &levels[i], error);
    }
    if (status == 0) {
        status = pccl__json_integer(place, item, "processor", 0, INT32_MAX, &processor, error);
    }
    if (status == 0) {
        *result = (struct pccl_place){.host = pccl_topology_find(fabric, host),
                                      .package = (int32_t)levels[0],
                                      .numa = (int32_t)levels[1],
                                      .l3 = (int32_t)levels[2],
                                      .core = (int32_t)levels[3],
                                      .processor = (uint32_t)processor};
    }
    return status;
}

/* A topology that is given as a fabric and the places of ranks on it. */
static int read_placed(const char *path, const cJSON *root, struct pccl_topology **topology, struct pccl_error *error)
{
    static const char *const keys[] = {"format", "version", "name", "fabric", "places"};
    const struct pccl__json_place top = {path, NULL, 0, NULL};
    const cJSON *fabric_item = cJSON_GetObjectItemCaseSensitive(root, "fabric"), *list, *item;
    struct pccl_topology *fabric = NULL;
    struct pccl_place *places = NULL;
    uint32_t num_ranks = 0, *rank_device = NULL;
    int status = pccl__json_object(&top, root, keys, COUNT(keys), error);
    if (status == 0) {
        status = pccl__graph_check_format(&top, root, error);
    }
    if (status == 0) {
        status = pccl__json_array(&top, root, "places", &list, &num_ranks, error);
    }
    if (status == 0) {
        status = cJSON_IsString(fabric_item) ? pccl__topology_generate(fabric_item->valuestring, &fabric, error)
                                             : pccl__graph_read(path, fabric_item, &fabric, error);
    }
    if (status != 0) {
        goto out;
    }
    if ((places = pccl__array_new(num_ranks, sizeof *places)) == NULL) {
        status = pccl__fail_memory(error);
        goto out;
    }
    struct pccl__json_place place = {path, "places", 0, NULL};
    cJSON_ArrayForEach(item, list) {
        status = read_place(&place, item, fabric, &places[place.index], error);
        if (status != 0) {
            goto out;
        }
        place.index++;
    }
    status = pccl_topology_place(fabric, places, num_ranks, topology, &rank_device, error);

out:
    free(rank_device);
    free(places);
    pccl_topology_free(fabric);
    return status;
}

static int read_any(const char *path, const cJSON *root, struct pccl_topology **topology, struct pccl_error *error)
{
    bool placed = cJSON_GetObjectItemCaseSensitive(root, "fabric") != NULL;
    return placed ? read_placed(path, root, topology, error) : pccl__graph_read(path, root, topology, error);
}

/* A topology that is given as the reverse of another. */
static int read_reversed(const char *path, const cJSON *root, struct pccl_topology **topology, struct pccl_error *error)
{
    static const char *const keys[] = {"format", "version", "reverse_of"};
    const struct pccl__json_place top = {path, NULL, 0, NULL};
    struct pccl_topology *original = NULL;
    int status = pccl__json_object(&top, root, keys, COUNT(keys), error);
    if (status == 0) {
        status = pccl__graph_check_format(&top, root, error);
    }
    if (status == 0) {
        status = read_any(path, cJSON_GetObjectItemCaseSensitive(root, "reverse_of"), &original, error);
    }
    if (status == 0) {
        status = pccl_topology_reverse(original, topology, error);
    }
    pccl_topology_free(original);
    return status;
}

int pccl_topology_read(const char *path, struct pccl_topology **topology, struct pccl_error *error)
{
    cJSON *root;
    int status = pccl__json_read(path, &root, error);
    if (status != 0) {
        return status;
    }
    bool reversed = cJSON_GetObjectItemCaseSensitive(root, "reverse_of") != NULL;
    status = reversed ? read_reversed(path, root, topology, error) : read_any(path, root, topology, error);
    cJSON_Delete(root);
    return status;
}

int pccl_topology_create(const char *text, struct pccl_topology **topology, struct pccl_error *error)
{
    const size_t length = strlen(text);
    bool is_path = strchr(text, '/') != NULL || (length > 5 && strcmp(text + length - 5, ".json") == 0);
    return is_path && !pccl__topology_is_generator(text) ? pccl_topology_read(text, topology, error)
                                                         : pccl__topology_generate(text, topology, error);
}
