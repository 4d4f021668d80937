#!/bin/sh
# Builds pccl in every way that is supported and runs every test. One line per test, then how long each stage took; the
# last line counts the tests; the exit status is 0 only if none failed.
# PCCL_BUILD_DIR=DIR builds in DIR instead of build/all. The whole output of every test is in its folder logs.
set -eu
source=$(cd "$(dirname "$0")/.." && pwd)
build=${PCCL_BUILD_DIR:-$source/build/all}
mkdir -p "$build/logs"
build=$(cd "$build" && pwd)
logs=$build/logs
. "$source/tests/common.sh"
stop_with_children

stage packages
"$source/tests/packages.sh" tests

# Another compiler and the sanitizers first. Nothing of clang's is run, so it need not optimise.
stage "builds"
rm -rf "$build/gcc" "$build/clang" "$build/sanitized"
run build-clang 600 "$source/tests/build.sh" "$build/clang" clang CFLAGS=-O0 || true
units=
if run build-sanitized 600 "$source/tests/build.sh" "$build/sanitized" gcc --enable-sanitizers; then
    units="sanitized=$build/sanitized"
fi
run build-gcc 600 "$source/tests/build.sh" "$build/gcc" gcc || {
    count_up
    exit 1
}
export PCCL_SOURCE="$source" PCCL_BUILD="$build/gcc"

stage "unit tests"
relay units 900 "$source/tests/unit/run.sh" "$logs" ${units:+"$units"} unit="$build/gcc"

stage "command line"
[ -z "$units" ] || relay_quietly sanitized-cli 600 env PCCL="$build/sanitized/pccl" "$source/tests/cli/run.sh"
relay_quietly cli 600 "$source/tests/cli/run.sh"

stage "checks"
for script in bench calibrate digests exports install layers readme; do
    run "check-$script" 600 env OTHER_BUILD="$build/clang" "$source/tests/check/$script.sh" || true
done

cd "$build/gcc"
run install 120 make -s install || true
stage "MPI"
relay mpi 1200 env TEST_FOLDER="$build/mpi" "$source/tests/mpi/run.sh"
stage "faults"
relay faults 600 env TEST_FOLDER="$build/faults" "$source/tests/mpi/faults.sh"
stage "cluster"
relay cluster 600 env TEST_FOLDER="$build/cluster" "$source/tests/cluster/run.sh"
stage "valgrind"
relay valgrind 600 env TEST_FOLDER="$build/valgrind" "$source/tests/mpi/valgrind.sh"
stage "thread sanitizer"
relay tsan 600 env TEST_FOLDER="$build/tsan" "$source/tests/mpi/tsan.sh"
stage "programs"
relay programs 600 env TEST_FOLDER="$build/programs" "$source/tests/programs/run.sh"

# All tests have been run above. This is about the archive: whether it is complete, and can be built, tested, installed
# and uninstalled where it was unpacked; with other optimisation, so that this is tried too.
stage "distcheck"
run distcheck 900 make -s -j"$(nproc)" distcheck DISTCHECK_CONFIGURE_FLAGS=CFLAGS=-O0 TESTS="tests/unit/test_schedule_io \
    tests/fuzz/replay tests/check/exports.sh tests/check/install.sh tests/check/layers.sh tests/check/readme.sh" || true
run check-archive 60 "$source/tests/check/archive.sh" || true
print_stages
count_up
