# What is built, with which compiler flags, and the summary at the end of configure.

# PCCL_ARG_BUILD: the switches of configure that are not about finding something.
AC_DEFUN([PCCL_ARG_BUILD], [
    AC_ARG_ENABLE([component],
        [AS_HELP_STRING([--disable-component],
            [build only the synthesizer library and the command line; needs no MPI])],
        [], [enable_component=yes])
    AC_ARG_ENABLE([werror],
        [AS_HELP_STRING([--enable-werror], [turn compiler warnings into errors])],
        [], [enable_werror=no])
    AC_ARG_ENABLE([sanitizers],
        [AS_HELP_STRING([--enable-sanitizers],
            [build library, command line and unit tests with AddressSanitizer and UndefinedBehaviorSanitizer;
             implies --disable-component])],
        [], [enable_sanitizers=no])
    # Open MPI's own processes would have to be built with the sanitizers too.
    AS_IF([test "x$enable_sanitizers" = xyes], [enable_component=no])
    AM_CONDITIONAL([BUILD_COMPONENT], [test "x$enable_component" = xyes])
    AM_CONDITIONAL([SANITIZERS], [test "x$enable_sanitizers" = xyes])
])

# PCCL_ADD_FLAG(VARIABLE, FLAG): appends FLAG to VARIABLE if the compiler and linker take it without a warning.
AC_DEFUN([PCCL_ADD_FLAG], [
    AC_MSG_CHECKING([whether $CC accepts $2])
    pccl_saved_CFLAGS=$CFLAGS
    CFLAGS="$CFLAGS $2 -Werror"
    AC_LINK_IFELSE([AC_LANG_PROGRAM([], [])],
        [AC_MSG_RESULT([yes])
         $1="$$1 $2"],
        [AC_MSG_RESULT([no])])
    CFLAGS=$pccl_saved_CFLAGS
])

# PCCL_COMPILER_FLAGS: sets PCCL_CFLAGS and PCCL_LDFLAGS, used by everything that is compiled here.
AC_DEFUN([PCCL_COMPILER_FLAGS], [
    PCCL_CFLAGS="-std=gnu11"
    PCCL_LDFLAGS=
    for pccl_flag in -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -fvisibility=hidden; do
        PCCL_ADD_FLAG([PCCL_CFLAGS], [$pccl_flag])
    done
    AS_IF([test "x$enable_werror" = xyes], [PCCL_CFLAGS="$PCCL_CFLAGS -Werror"])
    AS_IF([test "x$enable_sanitizers" = xyes], [
        pccl_sanitize="-fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer"
        PCCL_SANITIZE=
        PCCL_ADD_FLAG([PCCL_SANITIZE], [$pccl_sanitize])
        AS_IF([test -z "$PCCL_SANITIZE"],
            [AC_MSG_ERROR([--enable-sanitizers was given, but $CC cannot link a program with $pccl_sanitize.
    On Debian: apt-get install gcc libasan8 libubsan1, or for clang: apt-get install libclang-rt-14-dev])])
        PCCL_CFLAGS="$PCCL_CFLAGS $PCCL_SANITIZE"
        PCCL_LDFLAGS="$PCCL_SANITIZE"
    ], [
        # Every symbol must come from a library that is named: a component with a hole fails only when it is loaded.
        PCCL_LDFLAGS="-Wl,-z,defs"
    ])
    AC_SUBST([PCCL_CFLAGS])
    AC_SUBST([PCCL_LDFLAGS])
])

# PCCL_SUMMARY: what will be built, from what, and where it goes.
AC_DEFUN([PCCL_SUMMARY], [
    AS_IF([test "x$enable_component" = xyes],
        [pccl_openmpi="$pccl_ompi_version in $pccl_ompi_where"
         pccl_component=$component_dir
         pccl_programs="pccl, pccl-bench"],
        [pccl_openmpi="not used"
         pccl_component="not built"
         pccl_programs=pccl])
    AS_IF([test "x$enable_werror" = xyes], [pccl_warnings="are errors"], [pccl_warnings="are shown"])
    AS_IF([test "x$have_cmocka" = xyes], [pccl_unit_tests="cmocka $pccl_cmocka_version"],
        [pccl_unit_tests="left out: cmocka was not found (on Debian: apt-get install libcmocka-dev)"])
    # bindir is written in terms of exec_prefix, and that in terms of prefix.
    eval "pccl_bindir=$bindir"
    eval "pccl_bindir=$pccl_bindir"
    AC_MSG_NOTICE([

  pccl $PACKAGE_VERSION
    compiler     $CC $CFLAGS (warnings $pccl_warnings, sanitizers: $enable_sanitizers)
    libraries    hwloc $pccl_hwloc_version, cJSON $pccl_cjson_version
    Open MPI     $pccl_openmpi
    component    $pccl_component
    programs     $pccl_programs in $pccl_bindir
    unit tests   $pccl_unit_tests

  Next: make, make check, make install
])
])
