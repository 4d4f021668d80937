#include "topology/processors.h"

#include <stdlib.h>

#include "base/array.h"

struct occupant {
    uint32_t host, processor, rank;
};

static int compare_occupants(const void *left, const void *right)
{
    const struct occupant *a = left, *b = right;
    if (a->host != b->host) {
        return a->host < b->host ? -1 : 1;
    }
    if (a->processor != b->processor) {
        return a->processor < b->processor ? -1 : 1;
    }
    return (a->rank > b->rank) - (a->rank < b->rank);
}

static bool is_together(const struct occupant *a, const struct occupant *b)
{
    return a->processor != 0 && a->host == b->host && a->processor == b->processor;
}

int pccl__processors_find(struct pccl__processors *processors, const struct pccl_place *places, uint32_t num_ranks)
{
    *processors = (struct pccl__processors){0};
    struct occupant *occupants = pccl__array_new(num_ranks, sizeof *occupants);
    processors->number = pccl__array_new(num_ranks, sizeof *processors->number);
    processors->sharers = pccl__array_new(num_ranks, sizeof *processors->sharers);
    if (occupants == NULL || processors->number == NULL || processors->sharers == NULL) {
        free(occupants);
        return PCCL_ERR_MEMORY;
    }
    for (uint32_t r = 0; r < num_ranks; r++) {
        occupants[r] = (struct occupant){places[r].host, places[r].processor, r};
    }
    qsort(occupants, num_ranks, sizeof *occupants, compare_occupants);
    for (uint32_t i = 0, end; i < num_ranks; i = end) {
        for (end = i + 1; end < num_ranks && is_together(&occupants[i], &occupants[end]); end++) {
        }
        processors->shared |= end - i > 1;
        for (uint32_t j = i; j < end; j++) {
            processors->number[occupants[j].rank] = end - i > 1 ? occupants[i].rank + 1 : 0;
            processors->sharers[occupants[j].rank] = end - i;
        }
    }
    free(occupants);
    return 0;
}

void pccl__processors_free(struct pccl__processors *processors)
{
    free(processors->number);
    free(processors->sharers);
    *processors = (struct pccl__processors){0};
}
