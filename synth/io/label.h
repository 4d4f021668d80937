/* Labels: who wrote a file of a store, and for which key. */
#ifndef PCCL__LABEL_H
#define PCCL__LABEL_H

#include "io/json.h"
#include "pccl/schedule.h"

struct pccl__label {
    const char *maker;
    const char *key;
};

/* The keys "made_by" and "key" of an object, each on a line of its own. */
void pccl__label_put(FILE *stream, const struct pccl__label *label);
/* PCCL_ERR_FORMAT if the object has another label than this. */
int pccl__label_check(const struct pccl__json_place *top, const cJSON *root, const struct pccl__label *label,
                      struct pccl_error *error);

/* As the functions of pccl/io.h; label NULL: none is written, any is read. */
int pccl__schedule_read(const char *path, const struct pccl_topology *topology, const struct pccl__label *label,
                        struct pccl_schedule **schedule, struct pccl_error *error);
int pccl__schedule_write(const struct pccl_schedule *schedule, const struct pccl_topology *topology,
                         const struct pccl__label *label, const char *path, struct pccl_error *error);

#endif
