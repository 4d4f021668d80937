/* Fuzz targets of everything that reads what strangers write. Each takes bytes, must neither crash nor leak nor hang,
 * and returns 0. replay.c runs them on the files of corpus/ in every `make check`; fuzz.sh runs them with libFuzzer. */
#ifndef PCCL_TEST_FUZZ_TARGETS_H
#define PCCL_TEST_FUZZ_TARGETS_H

#include <stddef.h>
#include <stdint.h>

#include "pccl/import.h"

int fuzz_topology(const uint8_t *data, size_t size);  /* topology as JSON */
int fuzz_csv(const uint8_t *data, size_t size);       /* topology as a list of links; first line: the filter */
int fuzz_generator(const uint8_t *data, size_t size); /* topology as the text of a generator */
int fuzz_group(const uint8_t *data, size_t size);     /* process group and size of the command line */
int fuzz_demand(const uint8_t *data, size_t size);    /* demand as JSON */
int fuzz_schedule(const uint8_t *data, size_t size);  /* schedule as JSON */

int fuzz_slurm(const uint8_t *data, size_t size);     /* topology.conf */
int fuzz_ibnetdiscover(const uint8_t *data, size_t size);
int fuzz_hwloc(const uint8_t *data, size_t size); /* one host as XML */

/* What the importers share (import.c). */
typedef int fuzz_importer(const char *path, const struct pccl_import_options *options, struct pccl_topology **topology,
                          struct pccl_error *error);
int fuzz_import(fuzz_importer *import, const uint8_t *data, size_t size);

/* A file in memory with these bytes: *path is its name until fuzz_file_close. Aborts where the system refuses. */
struct fuzz_file {
    int descriptor;
    char path[40];
};
void fuzz_file_open(struct fuzz_file *file, const uint8_t *data, size_t size);
void fuzz_file_close(struct fuzz_file *file);

#endif
