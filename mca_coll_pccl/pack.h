/* Between the application's datatypes and the packed stream of bytes. */
#ifndef COLL_PCCL_PACK_H
#define COLL_PCCL_PACK_H

#include "compat.h"

/* `count` elements at `elements` to and from `packed`; gaps between and inside elements are not touched. MPI error
 * codes. All three reach memory of an accelerator where Open MPI does. */
int coll_pccl_pack(const struct ompi_datatype_t *type, size_t count, const char *elements, char *packed);
int coll_pccl_unpack(const struct ompi_datatype_t *type, size_t count, char *elements, const char *packed);
/* `count` elements, as they are, between places that do not overlap. */
int coll_pccl_copy_elements(const struct ompi_datatype_t *type, size_t count, char *target, const char *source);

#endif
