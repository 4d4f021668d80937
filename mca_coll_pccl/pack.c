/* Packing with Open MPI's convertor. */
#include <sys/uio.h>

#include "pack.h"

/* Part of the stream handed to the convertor at once: well within every integer that it uses. */
#define STRIDE_BYTES ((size_t)1 << 30)

/* Drives a prepared convertor through the whole stream. It returns 1 when the datatype is finished, 0 before. */
static int convert(opal_convertor_t *convertor, char *packed, size_t bytes,
                   int32_t (*step)(opal_convertor_t *, struct iovec *, uint32_t *, size_t *))
{
    size_t done = 0;
    while (done < bytes) {
        struct iovec part = {.iov_base = packed + done};
        part.iov_len = bytes - done < STRIDE_BYTES ? bytes - done : STRIDE_BYTES;
        uint32_t num_parts = 1;
        size_t moved = part.iov_len;
        if (step(convertor, &part, &num_parts, &moved) < 0 || moved == 0) {
            return OMPI_ERROR;
        }
        done += moved;
    }
    return OMPI_SUCCESS;
}

int coll_pccl_pack(const struct ompi_datatype_t *type, size_t count, const char *elements, char *packed)
{
    opal_convertor_t convertor;
    OBJ_CONSTRUCT(&convertor, opal_convertor_t);
    int status = opal_convertor_copy_and_prepare_for_send(ompi_mpi_local_convertor, &type->super, count, elements, 0,
                                                          &convertor);
    if (status == OPAL_SUCCESS) {
        status = convert(&convertor, packed, count * type->super.size, opal_convertor_pack);
    }
    OBJ_DESTRUCT(&convertor);
    return status;
}

int coll_pccl_unpack(const struct ompi_datatype_t *type, size_t count, char *elements, const char *packed)
{
    opal_convertor_t convertor;
    OBJ_CONSTRUCT(&convertor, opal_convertor_t);
    int status = opal_convertor_copy_and_prepare_for_recv(ompi_mpi_local_convertor, &type->super, count, elements, 0,
                                                          &convertor);
    if (status == OPAL_SUCCESS) {
        status = convert(&convertor, (char *)packed, count * type->super.size, opal_convertor_unpack);
    }
    OBJ_DESTRUCT(&convertor);
    return status;
}

int coll_pccl_copy_elements(const struct ompi_datatype_t *type, size_t count, char *target, const char *source)
{
    return ompi_datatype_copy_content_same_ddt(type, count, target, (char *)source) ? OMPI_ERROR : OMPI_SUCCESS;
}
