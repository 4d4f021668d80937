/* Importers: fabrics from what other programs know of a cluster. Each makes a topology whose devices are hosts and
 * whose links have classes; what the source does not tell is a default and says so. */
#ifndef PCCL_IMPORT_H
#define PCCL_IMPORT_H

#include "pccl/topology.h"

/* What a reader of the result should know: what was passed over, assumed or found odd. One line, no newline. */
typedef void pccl_import_note(void *context, const char *text);

struct pccl_import_options {
    pccl_import_note *note; /* NULL: nobody is interested */
    void *context;
    int64_t unit_ps_per_mib; /* of a Slurm LinkSpeed without a unit; 0: 1 Gbit/s */
};

/* Slurm's topology.conf, of the tree plugin (SwitchName lines) or the block plugin (BlockName lines). */
int pccl_import_slurm(const char *path, const struct pccl_import_options *options, struct pccl_topology **topology,
                      struct pccl_error *error);
/* What ibnetdiscover prints. Channel adapters whose descriptions begin with the same host name are one device. */
int pccl_import_ibnetdiscover(const char *path, const struct pccl_import_options *options,
                              struct pccl_topology **topology, struct pccl_error *error);
/* XML files of hwloc (lstopo), one for each host; costs inside hosts follow from them. fabric: gets those costs, its
 * hosts may be any; NULL: the hosts of the files on one switch. */
int pccl_import_hwloc(const char *const *paths, uint32_t num_paths, const struct pccl_topology *fabric,
                      const struct pccl_import_options *options, struct pccl_topology **topology,
                      struct pccl_error *error);

#endif
