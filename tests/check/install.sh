#!/bin/sh
# make install puts every file where it belongs, a program of somebody else builds on the library, Open MPI finds the
# component and documents each parameter, and make uninstall leaves nothing behind.
set -eu
build=${PCCL_BUILD:-.}
ompi_info=${OMPI_INFO:-ompi_info}
[ -e "$build/.libs/mca_coll_pccl.so" ] || {
    echo "the component was not built"
    exit 77
}
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
failures=0

fail() {
    echo "$1"
    failures=$((failures + 1))
}

# Leaves out everything a surrounding make would hand down.
make_in_build() {
    env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -s -C "$build" DESTDIR="$stage" "$@"
}

make_in_build install >/dev/null
for wanted in bin/pccl bin/pccl-bench bin/pccl-calibrate share/pccl/help-mpi-coll-pccl.txt share/man/man1/pccl.1 \
    share/doc/pccl/topologies.md share/doc/pccl/files.md share/doc/pccl/examples/tree.json \
    mca_coll_pccl.so; do
    [ -n "$(find "$stage" -type f -path "*/$wanted")" ] || fail "make install did not install $wanted"
done

# What pkg-config says holds for the final place, not for the stage: the stage goes before it.
config=$(find "$stage" -name pccl.pc)
libraries=$(dirname "$(dirname "$config")")
PKG_CONFIG_LIBDIR=$(dirname "$config"):$(pkg-config --variable pc_path pkg-config)
export PKG_CONFIG_LIBDIR
# shellcheck disable=SC2046 # options, one word each
if ${CC:-cc} -Wall -Wextra -Werror -o "$stage/library" "$(dirname "$0")/library.c" \
    $(PKG_CONFIG_SYSROOT_DIR=$stage pkg-config --cflags --libs pccl); then
    LD_LIBRARY_PATH=$libraries "$stage/library" || fail "a program over the installed library fails"
    rm "$stage/library"
else
    fail "a program over the installed headers and library does not build"
fi

component=$(find "$stage" -name mca_coll_pccl.so)
OMPI_MCA_mca_base_component_path=$(dirname "$component"):SYSTEM_DEFAULT
export OMPI_MCA_mca_base_component_path
"$ompi_info" --param coll pccl --level 9 --parsable >"$stage/parameters"
awk -F: '
    $1 == "mca" && $2 == "coll" && $3 == "pccl" && $4 == "param" && $6 == "value" { seen[$5] = 1; count++ }
    $1 == "mca" && $2 == "coll" && $3 == "pccl" && $4 == "param" && $6 == "help" && length($7) > 10 { helped[$5] = 1 }
    END {
        for (name in seen)
            if (!(name in helped)) {
                print "ompi_info has no help for " name
                bad = 1
            }
        print count + 0 " parameters"
        exit bad || count == 0
    }' "$stage/parameters" || fail "ompi_info does not document every parameter of the component"
rm "$stage/parameters"

make_in_build uninstall >/dev/null
left=$(find "$stage" -type f)
[ -z "$left" ] || fail "make uninstall left behind: $left"
echo "$failures failures"
[ "$failures" -eq 0 ]
