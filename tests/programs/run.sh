#!/bin/sh
# Real programs that know nothing of pccl, at 4 ranks: hpcc, and Python programs with mpi4py. Each runs without and with
# pccl, and must give the same checked results. See ../mpi/launch.sh for the environment.
set -eu
source=$(cd "$(dirname "$0")/../.." && pwd)
. "$source/tests/mpi/launch.sh"
here=$source/tests/programs
ranks=4
python=${PYTHON:-/usr/bin/python3}
one_thread="OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1"

# both NAME SECONDS "OPTIONS" FILTER PROGRAM ARGUMENTS...: FILTER prints what must be equal, from the output on its
# input.
both() {
    name=$1
    limit=$2
    options=$3
    filter=$4
    shift 4
    start "$name-plain" "$limit" "$plain_environment $one_thread" -n "$ranks" "$@"
    "$filter" <"$logs/$name-plain.out" >"$logs/$name-plain.results"
    if [ -n "$(trouble)" ] || [ ! -s "$logs/$name-plain.results" ]; then
        skip "$name" "does not run without pccl ($(trouble)): $(tail -n 1 "$logs/$name-plain.log")"
        return
    fi
    # shellcheck disable=SC2086
    start "$name" "$limit" "$pccl_environment $one_thread" -n "$ranks" $options "$@"
    "$filter" <"$logs/$name.out" >"$logs/$name.results"
    if [ -z "$(trouble)" ] && ! diff "$logs/$name-plain.results" "$logs/$name.results" >"$logs/$name.diff"; then
        cat "$logs/$name.diff" >>"$logs/$name.log"
        fail "$name" "other results than without pccl"
    else
        judge "$name" "$at_work"
    fi
}

# The checked results of hpcc: residuals, counts of errors, verdicts. Times and rates are left out, and so are lines for
# CPU time, which are there only if it was long enough to be measured; one for wall time says the same.
hpcc_results() {
    grep -v '^CPU ' | grep -e PASSED -e FAILED -e 'completed and passed' -e 'completed and failed' -e _Errors \
        -e _residual= -e "^Success=" -e MPIFFT_maxErr -e HPL_N= -e HPL_RnormI= -e HPL_Xnorm1= -e HPL_XnormI= \
        -e HPL_Anorm1= |
        sed -E 's/^WALL .* (PASSED|FAILED) .*/WALL \1/'
}

hpcc_run() {
    command -v hpcc >/dev/null || {
        skip hpcc "hpcc is not installed (Debian: apt install hpcc)"
        return
    }
    mkdir -p "$TEST_FOLDER/hpcc"
    cp "$here/hpccinf.txt" "$TEST_FOLDER/hpcc/"
    for topology in "" torus:2x2; do
        both "hpcc${topology:+-torus}" 90 "${topology:+--mca coll_pccl_topology $topology}" hpcc_results \
            sh -c "cd '$TEST_FOLDER/hpcc' && if [ \"\$OMPI_COMM_WORLD_RANK\" = 0 ]; then rm -f hpccoutf.txt; fi; hpcc;
                if [ \"\$OMPI_COMM_WORLD_RANK\" = 0 ]; then cat hpccoutf.txt; fi"
    done
}

python_runs() {
    "$python" -c 'import mpi4py' 2>/dev/null || {
        skip mpi4py "$python has no mpi4py (Debian: apt install python3-mpi4py)"
        return
    }
    for program in collectives futures heat sort; do
        both "mpi4py-$program" 60 "" cat "$python" "$here/$program.py"
    done
    both mpi4py-collectives-mesh 60 "--mca coll_pccl_topology mesh:2x2" cat "$python" "$here/collectives.py"
}

hpcc_run
python_runs
count_up
