/* Open MPI's ompi/op/op.h includes a header of this name that no release installs. Of its contents op.h needs one macro,
 * and only to call operators that were written in Fortran. */
#ifndef PCCL_SHIM_FINT_2_INT_H
#define PCCL_SHIM_FINT_2_INT_H

#define OMPI_INT_2_FINT(a) ((MPI_Fint)(a))

#endif
