/* Files: topologies, demands and schedules as JSON (formats documented in doc/files.md), read and written back the same. */
#ifndef PCCL_IO_H
#define PCCL_IO_H

#include "pccl/schedule.h"

#pragma GCC visibility push(default) /* what the shared library shows */

int pccl_topology_read(const char *path, struct pccl_topology **topology, struct pccl_error *error);
int pccl_topology_write(const struct pccl_topology *topology, const char *path, struct pccl_error *error);
/* A list of directed links in comma-separated columns: src, dst (vertex numbers), GBps, and optionally alpha_us,
 * src_is_switch and dst_is_switch, or src_is_gpu and dst_is_gpu (0 or 1). Other columns may select rows: filter is NULL or
 * "COLUMN=VALUE,COLUMN=VALUE". Vertices are named "n" and their number; devices in order of their numbers; no overheads.
 * multicast: of all switches. */
int pccl_topology_read_csv(const char *path, const char *filter, bool multicast, struct pccl_topology **topology,
                           struct pccl_error *error);
/* What is to be done, as a demand: a standard collective or any list of chunks. PCCL_ERR_FORMAT if it does not fit the
 * topology. The caller frees *demand. */
int pccl_demand_read(const char *path, const struct pccl_topology *topology, struct pccl_demand **demand,
                     struct pccl_error *error);
/* A schedule that was made for this very topology, sealed. All that is read is checked as far as needed to stay within
 * its arrays; whether it does what it should is for pccl_verify_schedule to say. The caller frees *schedule. */
int pccl_schedule_read(const char *path, const struct pccl_topology *topology, struct pccl_schedule **schedule,
                       struct pccl_error *error);
/* Written to a temporary file in the same directory and renamed: readers see all of it or nothing. */
int pccl_schedule_write(const struct pccl_schedule *schedule, const struct pccl_topology *topology, const char *path,
                        struct pccl_error *error);

#pragma GCC visibility pop

#endif
