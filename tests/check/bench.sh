#!/bin/sh
# pccl-bench: times both sides where pccl is on, says why where it is not, writes CSV, finds wrong data, rejects bad
# options.
set -eu
tests=${PCCL_SOURCE:-$(dirname "$0")/../..}/tests
build=${PCCL_BUILD:-.}
. "$tests/common.sh"
[ -x "$build/pccl-bench" ] || {
    echo "pccl-bench was not built"
    exit 77
}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failures=0

fail() {
    echo "$1"
    [ ! -e "$folder/out" ] || cat "$folder/out"
    failures=$((failures + 1))
}

# bench RANKS OPTIONS...: its output is in $folder/out, its status is returned.
bench() {
    ranks=$1
    shift
    timeout -k 10 120 "${MPIRUN:-mpirun}" -n "$ranks" $mpi_test_options "$@" >"$folder/out" 2>&1 </dev/null
}

says() {
    grep -q "$1" "$folder/out"
}

program=$build/pccl-bench
quick="-r 3 -i 2"
on="--mca coll_pccl_priority 100"

# Not even if it is installed on this machine.
bench 3 --mca coll ^pccl "$program" $quick -s 0,7,4K --root 2 || fail "without the component it must still run"
says "ONLY THE DEFAULT IS TIMED: pccl is not loaded" || fail "it does not say that pccl is not loaded"
says "all data were right" || fail "it does not say that the data were right"

export OMPI_MCA_mca_base_component_path="$(cd "$build/.libs" && pwd):SYSTEM_DEFAULT"
bench 2 "$program" $quick -c barrier || fail "with pccl off it must still run"
says "pccl is loaded but off: coll_pccl_priority is 0" || fail "it does not say that pccl is off"

bench 3 $on "$program" $quick -s 8,5000 --csv "$folder/csv" || fail "a run over both sides failed"
says "ONLY THE DEFAULT" && fail "pccl was on, but only the default was timed"
# A header, two sizes of 21 collectives, and the barrier; pccl's column filled in, no wrong elements.
awk -F, 'NR > 1 && ($5 <= 0 || $6 <= 0 || $11 != 0) { bad = 1 } END { exit bad || NR != 44 }' "$folder/csv" ||
    fail "the CSV file is not what it should be: $(cat "$folder/csv")"

for form in nonblocking persistent; do
    bench 3 $on "$program" $quick -s 8,5000 --form $form --outstanding 3 --csv "$folder/csv" ||
        fail "a run of $form calls failed"
    awk -F, -v form=$form 'NR > 1 && ($5 <= 0 || $11 != 0 || $12 != 0 || $13 != form || $14 != 3) { bad = 1 }
        END { exit bad || NR != 44 }' "$folder/csv" || fail "the CSV file of $form calls: $(cat "$folder/csv")"
done

bench 2 $on --mca coll_pccl_collectives bcast "$program" $quick -c bcast,gather -s 8 ||
    fail "a run over one collective failed"
[ "$(grep -c 'pccl declined: both are the default' "$folder/out")" -eq 1 ] ||
    fail "it must say that gather was declined, and only that"

bench 2 $on "$program" -c allreduce -s 8 --select measure || fail "a run with measuring failed"
says "(--select): measure" || fail "it does not say who serves on pccl's side"

for wrong in "-s 12x" "-s 4:2" "-c allsort" "-r 0" "--root 2" "--csv /nowhere/file" "--max-memory none" "--unknown" \
    "--select sometimes" "--form twice" "--outstanding 2" \
    "extra"; do
    if bench 2 "$program" $wrong; then
        fail "'$wrong' was accepted"
    fi
    says "pccl-bench: " || fail "'$wrong' was rejected without a message"
done

# A library between program and MPI that spoils the last byte of every allgather's result.
cat >"$folder/spoil.c" <<'END'
#include <mpi.h>
int MPI_Allgather(const void *in, int n, MPI_Datatype s, void *out, int m, MPI_Datatype r, MPI_Comm comm)
{
    int size, status = PMPI_Allgather(in, n, s, out, m, r, comm);
    PMPI_Comm_size(comm, &size);
    ((unsigned char *)out)[size * m - 1] ^= 1;
    return status;
}
END
"${MPICC:-mpicc}" -shared -fPIC -o "$folder/spoil.so" "$folder/spoil.c"
if bench 2 -x LD_PRELOAD="$folder/spoil.so" "$program" $quick -c allgather -s 8; then
    fail "wrong data went unnoticed"
fi
says "WRONG DATA over the default" || fail "it does not say that data were wrong"
echo "$failures failures"
[ "$failures" -eq 0 ]
