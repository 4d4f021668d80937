# The libraries pccl is built on, apart from Open MPI.

# PCCL_CHECK_LIBRARIES: hwloc and cJSON must be there; cmocka only decides whether there are unit tests.
AC_DEFUN([PCCL_CHECK_LIBRARIES], [
    PKG_CHECK_MODULES([HWLOC], [hwloc >= 2.0], [],
        [AC_MSG_ERROR([hwloc 2.0 or newer, with headers, was not found: $HWLOC_PKG_ERRORS
    On Debian: apt-get install libhwloc-dev
    If it lies elsewhere, name the directory of its hwloc.pc in PKG_CONFIG_PATH.])])
    PKG_CHECK_MODULES([CJSON], [libcjson >= 1.7], [],
        [AC_MSG_ERROR([cJSON 1.7 or newer, with headers, was not found: $CJSON_PKG_ERRORS
    On Debian: apt-get install libcjson-dev
    If it lies elsewhere, name the directory of its libcjson.pc in PKG_CONFIG_PATH.])])
    PKG_CHECK_MODULES([CMOCKA], [cmocka >= 1.1], [have_cmocka=yes], [have_cmocka=no])
    AM_CONDITIONAL([HAVE_CMOCKA], [test "x$have_cmocka" = xyes])

    pccl_hwloc_version=$($PKG_CONFIG --modversion hwloc)
    pccl_cjson_version=$($PKG_CONFIG --modversion libcjson)
    AS_IF([test "x$have_cmocka" = xyes], [pccl_cmocka_version=$($PKG_CONFIG --modversion cmocka)])
])
