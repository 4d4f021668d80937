#!/bin/sh
# Builds pccl in every way that is supported and runs every test. One line per test; the last line counts them; the exit
# status is 0 only if none failed.
# PCCL_BUILD_DIR=DIR builds in DIR instead of build/all. The whole output of every test is in its folder logs.
set -eu
source=$(cd "$(dirname "$0")/.." && pwd)
build=${PCCL_BUILD_DIR:-$source/build/all}
mkdir -p "$build/logs"
build=$(cd "$build" && pwd)
logs=$build/logs
. "$source/tests/common.sh"
stop_with_children
"$source/tests/packages.sh" tests

# run_units FOLDER PREFIX: every test program of a build that needs no MPI.
run_units() {
    for program in "$build/$1"/tests/unit/test_* "$build/$1/tests/fuzz/replay"; do
        case $program in
        *.o | *.log | *.trs | *'*') ;;
        *)
            name=${program##*/}
            run "$2-${name#test_}" 300 "$program" || true
            ;;
        esac
    done
}

# Other compilers and sanitizers first: they only need to build.
rm -rf "$build/gcc" "$build/clang" "$build/sanitized"
run build-clang 600 "$source/tests/build.sh" "$build/clang" clang || true
if run build-sanitized 600 "$source/tests/build.sh" "$build/sanitized" gcc --enable-sanitizers; then
    run_units sanitized sanitized
    relay_quietly sanitized-cli 600 env PCCL="$build/sanitized/pccl" "$source/tests/cli/run.sh"
fi

run build-gcc 600 "$source/tests/build.sh" "$build/gcc" gcc || {
    count_up
    exit 1
}
export PCCL_SOURCE="$source" PCCL_BUILD="$build/gcc"
run_units gcc unit
# bench.sh and digests.sh take longer and run in distcheck below.
for script in calibrate exports install layers readme; do
    run "check-$script" 120 "$source/tests/check/$script.sh" || true
done

relay cli 600 "$source/tests/cli/run.sh"

cd "$build/gcc"
run install 120 make -s install || true
relay mpi 900 env TEST_FOLDER="$build/mpi" "$source/tests/mpi/run.sh"
relay faults 600 env TEST_FOLDER="$build/faults" "$source/tests/mpi/faults.sh"
relay cluster 600 env TEST_FOLDER="$build/cluster" "$source/tests/cluster/run.sh"
relay valgrind 600 env TEST_FOLDER="$build/valgrind" "$source/tests/mpi/valgrind.sh"
relay tsan 600 env TEST_FOLDER="$build/tsan" "$source/tests/mpi/tsan.sh"
relay programs 600 env TEST_FOLDER="$build/programs" "$source/tests/programs/run.sh"
run distcheck 900 make -s -j"$(nproc)" distcheck || true
count_up
