#!/bin/sh
# One group of the MPI tests that needs no installed component and has all collectives in all forms. tests/mpi/run.sh
# runs all groups.
set -eu
[ -e "${PCCL_BUILD:-.}/.libs/mca_coll_pccl.so" ] || {
    echo "the component was not built"
    exit 77
}
exec "${PCCL_SOURCE:-$(dirname "$0")/../..}/tests/mpi/run.sh" requests
