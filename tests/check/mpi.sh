#!/bin/sh
# The shorter MPI tests, those that need no installed component. tests/mpi/run.sh runs all.
set -eu
[ -e "${PCCL_BUILD:-.}/.libs/mca_coll_pccl.so" ] || {
    echo "the component was not built"
    exit 77
}
exec "${PCCL_SOURCE:-$(dirname "$0")/../..}/tests/mpi/run.sh" programs
