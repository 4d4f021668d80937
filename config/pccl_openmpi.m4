# Finding an installed Open MPI that a component can be built against.

# PCCL_OMPI_INFO(VARIABLE, KEY): the first value that `ompi_info --all --parsable` prints for KEY.
AC_DEFUN([PCCL_OMPI_INFO], [$1=$($OMPI_INFO --all --parsable 2>/dev/null | $SED -n 's/^$2://p' | $SED 1q)])

# PCCL_CHECK_OPENMPI: sets OMPI_CPPFLAGS, OMPI_LIBS, component_dir, MPICC, MPIRUN, OMPI_INFO.
AC_DEFUN([PCCL_CHECK_OPENMPI], [
    AC_ARG_WITH([component-dir],
        [AS_HELP_STRING([--with-component-dir=DIR],
            [install the component into DIR (default: where this Open MPI keeps its own components)])],
        [AS_CASE([$with_component_dir],
            [yes|no|''],
            [AC_MSG_ERROR([--with-component-dir needs a directory, as in --with-component-dir=/opt/pccl/lib])],
            [component_dir=$with_component_dir])],
        [component_dir=])
    AS_IF([test "x$enable_component" = xyes], [
        PCCL_OPENMPI_FIND
        PCCL_OPENMPI_FLAGS
        PCCL_OPENMPI_HEADERS
        AS_IF([test -z "$component_dir"], [PCCL_OMPI_INFO([component_dir], [path:pkglibdir])])
        AS_IF([test -z "$component_dir"],
            [AC_MSG_ERROR([Open MPI's component directory is unknown: $OMPI_INFO does not name it.
    Name a directory: --with-component-dir=DIR])])
    ])
    AC_SUBST([component_dir])
])

# PCCL_OPENMPI_PROGRAM(VARIABLE, NAME, OPTION): sets VARIABLE to the program NAME in PATH, which must be of the Open MPI
# that pkg-config has found; with OPTION it prints its version.
AC_DEFUN([PCCL_OPENMPI_PROGRAM], [
    AC_PATH_PROG([$1], [$2])
    AS_IF([test -z "$$1"],
        [AC_MSG_ERROR([Open MPI's program $2 was not found in PATH.
    On Debian 12: apt-get install libopenmpi-dev openmpi-bin])])
    pccl_program_version=$($$1 $3 2>&1 | $SED 1q)
    AS_CASE([$pccl_program_version],
        [*"Open MPI"*"$pccl_ompi_version"*], [],
        [AC_MSG_ERROR([$$1 belongs to '$pccl_program_version', but pkg-config finds Open MPI $pccl_ompi_version.
    Put the bin directory of the one to use first in PATH,
    and the directory of its ompi-c.pc first in PKG_CONFIG_PATH.])])
])

# The library by pkg-config, the programs by PATH; both must be of one and the same installation.
AC_DEFUN([PCCL_OPENMPI_FIND], [
    PKG_CHECK_MODULES([OMPI], [ompi-c >= 4.1 ompi-c < 5], [],
        [AC_MSG_ERROR([Open MPI 4.1 with headers was not found: $OMPI_PKG_ERRORS
    On Debian 12: apt-get install libopenmpi-dev openmpi-bin
    If it lies elsewhere, name the directory of its ompi-c.pc in PKG_CONFIG_PATH,
    and put its bin directory first in PATH.
    To build only the synthesizer, without MPI: --disable-component])])
    pccl_ompi_version=$($PKG_CONFIG --modversion ompi-c)
    pccl_ompi_where=$($PKG_CONFIG --variable=prefix ompi-c)
    PCCL_OPENMPI_PROGRAM([OMPI_INFO], [ompi_info], [--version])
    PCCL_OPENMPI_PROGRAM([MPICC], [mpicc], [--showme:version])
    PCCL_OPENMPI_PROGRAM([MPIRUN], [mpirun], [--version])
    AC_MSG_CHECKING([whether Open MPI uses the system's hwloc])
    AS_IF([$OMPI_INFO --parsable 2>/dev/null | grep '^mca:hwloc:external:' >/dev/null], [AC_MSG_RESULT([yes])],
        [AC_MSG_RESULT([no])
         AC_MSG_ERROR([this Open MPI carries an hwloc of its own; the component would mix it with the system's.
    Use an Open MPI that was configured with --with-hwloc=external, as Debian's is.])])
])

# Open MPI's headers are system headers here: our warnings are about our code. Its inline atomics need the instruction
# set that it was built with.
AC_DEFUN([PCCL_OPENMPI_FLAGS], [
    OMPI_CPPFLAGS=$(AS_ECHO(["$OMPI_CFLAGS"]) | $SED 's/-I */-isystem /g')
    PCCL_OMPI_INFO([pccl_ompi_cflags], [option:build:cflags])
    COMPONENT_CFLAGS=-fno-strict-aliasing
    AS_CASE([" $pccl_ompi_cflags "], [*" -mcx16 "*], [PCCL_ADD_FLAG([COMPONENT_CFLAGS], [-mcx16])])
    AC_SUBST([OMPI_CPPFLAGS])
    AC_SUBST([COMPONENT_CFLAGS])
])

AC_DEFUN([PCCL_OPENMPI_HEADERS], [
    AC_MSG_CHECKING([for the internal headers of Open MPI])
    pccl_saved_CPPFLAGS=$CPPFLAGS
    pccl_saved_CFLAGS=$CFLAGS
    CPPFLAGS="$OMPI_CPPFLAGS -idirafter $srcdir/mca_coll_pccl/shim $HWLOC_CFLAGS $CPPFLAGS"
    CFLAGS="$CFLAGS $COMPONENT_CFLAGS"
    AC_COMPILE_IFELSE([AC_LANG_SOURCE([[
#include "ompi_config.h"
#include "ompi/mca/coll/coll.h"
#include "ompi/mca/coll/base/coll_base_functions.h"
#include "ompi/mca/pml/pml.h"
#include "ompi/op/op.h"
]])],
        [AC_MSG_RESULT([yes])],
        [AC_MSG_RESULT([no])
         AC_MSG_ERROR([Open MPI $pccl_ompi_version is there, but not its internal headers, such as ompi/mca/coll/coll.h
    (or they do not compile; see config.log).
    On Debian 12: apt-get install libopenmpi-dev
    An Open MPI of your own must be configured with --with-devel-headers.])])
    CPPFLAGS=$pccl_saved_CPPFLAGS
    CFLAGS=$pccl_saved_CFLAGS
])
