#!/bin/sh
# pccl-calibrate on this machine: it writes a fabric file whose numbers pccl reads as measured, keeps and names what it
# cannot measure, and rejects what makes no sense, with a message.
set -eu
source=${PCCL_SOURCE:-$(cd "$(dirname "$0")/../.." && pwd)}
build=${PCCL_BUILD:-.}
. "$source/tests/common.sh"
[ -x "$build/pccl-calibrate" ] || {
    echo "pccl-calibrate was not built"
    exit 77
}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

fail() {
    echo "FAIL $1"
    cat "$folder/out"
    exit 1
}

# calibrate RANKS OPTIONS...: output is in $folder/out, the status is returned.
calibrate() {
    ranks=$1
    shift
    # shellcheck disable=SC2086 # the options are words
    timeout -k 5 60 mpirun $mpi_test_options -n "$ranks" "$build/pccl-calibrate" "$@" >"$folder/out" 2>&1 </dev/null
}

calibrate 2 -o "$folder/star.json" || fail "without a fabric, one switch is assumed"
grep -q '"l3"\|"numa"\|"package"\|"host"' "$folder/star.json" || fail "nothing inside the host was measured"
grep -q '"origin": "measured"' "$folder/star.json" || fail "nothing is marked as measured"
"$build/pccl" topology "$folder/star.json" >"$folder/out" 2>&1 || fail "pccl cannot read what was written"
grep -q '^inside  *[1-9][0-9]* levels measured' "$folder/out" || fail "pccl must count what was measured"

host=$(hostname)
cat >"$folder/pair.json" <<END
{"devices": ["${host%%.*}", "elsewhere"], "classes": {"cable": {"latency": "7us", "bandwidth": "3GB/s"}},
 "links": [{"source": "${host%%.*}", "target": "elsewhere", "class": "cable", "duplex": true}]}
END
calibrate 3 -t "$folder/pair.json" -o "$folder/pair2.json" || fail "a fabric with another host"
grep -q '"latency_ps": 7000000' "$folder/pair2.json" || fail "what cannot be measured must stay"
grep -q '^cable .*as before' "$folder/out" && grep -q 'of class "cable"' "$folder/out" ||
    fail "it must say what was not measured"
grep -q 'predicted us' "$folder/out" || fail "measured and predicted must stand side by side"
calibrate 2 -t "$folder/pair.json" -q || fail "the file itself is replaced"
grep -q measured "$folder/pair.json" || fail "the file itself was to be replaced"

# Messages of some sizes are held up, as on a busy machine, by more than any handshake takes.
cat >"$folder/busy.c" <<'END'
#include <mpi.h>
#include <unistd.h>

int MPI_Sendrecv(const void *sent, int num_sent, MPI_Datatype sent_type, int target, int sent_tag, void *received,
                 int num_received, MPI_Datatype received_type, int source, int received_tag, MPI_Comm comm,
                 MPI_Status *status)
{
    if (num_sent > 20000 && num_sent < 40000) {
        usleep(20000);
    }
    return PMPI_Sendrecv(sent, num_sent, sent_type, target, sent_tag, received, num_received, received_type, source,
                         received_tag, comm, status);
}
END
"${MPICC:-mpicc}" -shared -fPIC -o "$folder/busy.so" "$folder/busy.c"
# shellcheck disable=SC2086 # the options are words
timeout -k 5 60 mpirun $mpi_test_options -n 2 -x LD_PRELOAD="$folder/busy.so" "$build/pccl-calibrate" -q \
    -o "$folder/busy.json" >"$folder/out" 2>&1 </dev/null || fail "a busy machine must not be an error"
[ "$(grep -c 'pccl-calibrate: warning: the numbers' "$folder/out")" -eq 1 ] &&
    grep -q 'inside: .*: 32768 bytes took .*again' "$folder/out" ||
    fail "one line must warn of numbers that do not explain what was measured"
[ -e "$folder/busy.json" ] || fail "the file must be written nevertheless"

calibrate $(($(nproc) + 1)) -o "$folder/crowded.json" -q || fail "more ranks than processors"
grep -q "warning: $(($(nproc) + 1)) ranks on host .* take turns on $(nproc) processor" "$folder/out" ||
    fail "no warning of ranks that take turns"
calibrate 1 -o "$folder/alone.json" && fail "one rank has nothing to measure"
grep -q 'nothing to measure: 1 rank;' "$folder/out" || fail "no message for one rank"
[ ! -e "$folder/alone.json" ] || fail "a file was written without numbers"

calibrate 2 -t star:4 -o "$folder/no.json" && fail "a fabric without this host was accepted"
grep -q "$host.*no device" "$folder/out" || fail "no message names the host"
calibrate 2 "$folder/pair.json" && fail "an argument without an option was accepted"
grep -q 'the fabric is given with -t' "$folder/out" || fail "no hint at -t"
calibrate 2 -t star:4 && fail "no file to write to, and no complaint"
calibrate 2 -t "$folder/none.json" && fail "a file that is not there was accepted"
calibrate 2 -o "$folder/none/x.json" && fail "a folder that is not there was accepted"
grep -q 'pccl-calibrate: ' "$folder/out" || fail "no message"
