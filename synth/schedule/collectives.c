/* Names and kinds of collectives. */
#include "pccl/demand.h"

#include <string.h>

#include "base/error.h"

static const char *const collective_names[PCCL_NUM_COLLECTIVES] = {
    "allgather", "allreduce", "alltoall",       "barrier", "broadcast",
    "gather",    "reduce",    "reduce_scatter", "scatter", "scan",      "exscan", "custom",
};

/* MPI's other names; how sizes differ is not part of a collective. */
static const struct {
    const char *name;
    enum pccl_collective collective;
} synonyms[] = {
    {"allgatherv", PCCL_ALLGATHER},          {"alltoallv", PCCL_ALLTOALL}, {"alltoallw", PCCL_ALLTOALL},
    {"bcast", PCCL_BROADCAST},               {"gatherv", PCCL_GATHER},     {"scatterv", PCCL_SCATTER},
    {"reduce_scatter_block", PCCL_REDUCE_SCATTER},
};

const char *pccl_collective_name(enum pccl_collective collective)
{
    return (unsigned)collective < PCCL_NUM_COLLECTIVES ? collective_names[collective] : "unknown";
}

/* Equal but for case and for '-', '_' and ' ' between words. */
static bool names_agree(const char *text, const char *name)
{
    for (;;) {
        text += strspn(text, "-_ ");
        name += strspn(name, "_");
        char letter = *text >= 'A' && *text <= 'Z' ? (char)(*text - 'A' + 'a') : *text;
        if (letter != *name) {
            return false;
        }
        if (letter == '\0') {
            return true;
        }
        text++;
        name++;
    }
}

int pccl_collective_parse(const char *text, enum pccl_collective *collective, struct pccl_error *error)
{
    for (int i = 0; i < PCCL_NUM_COLLECTIVES; i++) {
        if (names_agree(text, collective_names[i])) {
            *collective = (enum pccl_collective)i;
            return 0;
        }
    }
    for (size_t i = 0; i < sizeof synonyms / sizeof synonyms[0]; i++) {
        if (names_agree(text, synonyms[i].name)) {
            *collective = synonyms[i].collective;
            return 0;
        }
    }
    return pccl__fail(error, PCCL_ERR_FORMAT,
                      "\"%.40s\" is no collective; known are allgather, allreduce, alltoall, "
                      "barrier, broadcast, gather, reduce, reduce_scatter, scatter, scan, exscan and custom",
                      text);
}

bool pccl_collective_is_rooted(enum pccl_collective collective)
{
    return collective == PCCL_BROADCAST || collective == PCCL_GATHER || collective == PCCL_REDUCE ||
           collective == PCCL_SCATTER;
}

bool pccl_collective_is_reduction(enum pccl_collective collective)
{
    return collective == PCCL_ALLREDUCE || collective == PCCL_REDUCE || collective == PCCL_REDUCE_SCATTER ||
           pccl_collective_is_prefix(collective);
}

bool pccl_collective_is_prefix(enum pccl_collective collective)
{
    return collective == PCCL_SCAN || collective == PCCL_EXSCAN;
}
