#include "check/nearest.h"

#include <stdlib.h>

#include "base/array.h"

void pccl__heap_push(struct pccl__heap *heap, int64_t key, uint32_t value)
{
    uint32_t i = heap->size++;
    for (; i > 0 && heap->entries[(i - 1) / 2].key > key; i = (i - 1) / 2) {
        heap->entries[i] = heap->entries[(i - 1) / 2];
    }
    heap->entries[i] = (struct pccl__heap_entry){key, value};
}

struct pccl__heap_entry pccl__heap_pop(struct pccl__heap *heap)
{
    struct pccl__heap_entry top = heap->entries[0], last = heap->entries[--heap->size];
    uint32_t i = 0;
    for (uint32_t child; (child = 2 * i + 1) < heap->size; i = child) {
        child += child + 1 < heap->size && heap->entries[child + 1].key < heap->entries[child].key;
        if (heap->entries[child].key >= last.key) {
            break;
        }
        heap->entries[i] = heap->entries[child];
    }
    heap->entries[i] = last;
    return top;
}

int pccl__nearest_init(struct pccl__nearest *ways, const struct pccl__bounding *bounding, const int64_t *length)
{
    const struct pccl_topology *topology = bounding->topology;
    int64_t first = -1;
    *ways = (struct pccl__nearest){.bounding = bounding, .length = length, .equal = true};
    for (uint32_t l = 0; l < topology->num_links; l++) {
        if (bounding->usable[l]) {
            first = first < 0 ? length[l] : first;
            ways->equal = ways->equal && length[l] == first && first > 0;
        }
    }
    ways->distance = pccl__array_new(topology->num_vertices, sizeof *ways->distance);
    ways->last_link = pccl__array_new(topology->num_vertices, sizeof *ways->last_link);
    ways->order = pccl__array_new(topology->num_vertices, sizeof *ways->order);
    ways->heap.entries = pccl__array_new((size_t)topology->num_links + 1, sizeof *ways->heap.entries);
    bool complete = ways->distance != NULL && ways->last_link != NULL && ways->order != NULL &&
                    ways->heap.entries != NULL;
    return complete ? 0 : PCCL_ERR_MEMORY;
}

void pccl__nearest_free(struct pccl__nearest *ways)
{
    free(ways->heap.entries);
    free(ways->order);
    free(ways->last_link);
    free(ways->distance);
}

/* Looks along the links of a vertex whose distance is final. */
static void expand(struct pccl__nearest *ways, uint32_t vertex)
{
    const struct pccl_topology *topology = ways->bounding->topology;
    const uint32_t *first = ways->backwards ? topology->first_in : topology->first_out;
    const uint32_t *list = ways->backwards ? topology->in_links : topology->out_links;
    for (uint32_t i = first[vertex]; i < first[vertex + 1]; i++) {
        uint32_t link = list[i], next = ways->backwards ? topology->links[link].source : topology->links[link].target;
        int64_t distance = ways->distance[vertex] + ways->length[link];
        if (distance >= ways->distance[next] || !ways->bounding->usable[link]) {
            continue;
        }
        ways->distance[next] = distance;
        ways->last_link[next] = link;
        if (ways->equal) {
            ways->order[ways->num_reached++] = next; /* breadth first: in order already */
        } else {
            pccl__heap_push(&ways->heap, distance, next);
        }
    }
}

void pccl__nearest_run(struct pccl__nearest *ways, uint32_t start)
{
    for (uint32_t v = 0; v < ways->bounding->topology->num_vertices; v++) {
        ways->distance[v] = PCCL__FAR;
    }
    ways->distance[start] = 0;
    ways->order[0] = start;
    ways->num_reached = 1;
    ways->heap.size = 0;
    expand(ways, start);
    for (uint32_t i = 1; ways->equal && i < ways->num_reached; i++) {
        expand(ways, ways->order[i]);
    }
    while (ways->heap.size > 0) {
        struct pccl__heap_entry entry = pccl__heap_pop(&ways->heap);
        if (entry.key == ways->distance[entry.value]) { /* else a shorter way was found since */
            ways->order[ways->num_reached++] = entry.value;
            expand(ways, entry.value);
        }
    }
}
