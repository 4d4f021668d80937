#!/bin/sh
# Builds pccl and shows it at work: installs the packages it needs, builds and installs into build/demo of this source
# tree (nothing else on the system changes), and runs an MPI program over pccl and over Open MPI's default side by side, on
# this machine, and, as root where that is allowed, on a network of 16 hosts made of namespaces.
#   tests/demo.sh [RANKS]      default: one rank per core, at least 2 and at most 8
# PCCL_BUILD_DIR=DIR builds in DIR instead.
set -eu
source=$(cd "$(dirname "$0")/.." && pwd)
build=${PCCL_BUILD_DIR:-$source/build/demo}
cores=$(nproc)
ranks=${1:-$((cores < 2 ? 2 : cores > 8 ? 8 : cores))}
case $ranks in
*[!0-9]* | '' | 0 | 1)
    echo "usage: tests/demo.sh [RANKS], with at least 2 ranks" >&2
    exit 2
    ;;
esac
logs=
. "$source/tests/common.sh"

# step TEXT COMMAND...: runs a command silently; shows what it said only if it fails.
step() {
    printf '%s ... ' "$1"
    shift
    if "$@" >"$build/step.log" 2>&1; then
        echo done
    else
        echo FAILED
        tail -n 40 "$build/step.log"
        exit 1
    fi
}

configure() {
    [ -x "$source/configure" ] || "$source/autogen.sh"
    [ -e Makefile ] ||
        "$source/configure" --prefix="$prefix" --with-component-dir="$prefix/lib/openmpi"
}

# launch OPTIONS... PROGRAM ARGUMENTS...: what a user would type, plus what makes it work in any container.
launch() {
    more=
    [ "$ranks" -le "$cores" ] || more="--oversubscribe --mca mpi_yield_when_idle 1"
    timeout -k 10 300 mpirun -n "$ranks" $more --mca pml ob1 --mca btl vader,self "$@" </dev/null
}

mkdir -p "$build"
build=$(cd "$build" && pwd)
prefix=$build/installed
"$source/tests/packages.sh" demo
cd "$build"
step "Configuring in $build" configure
step "Building" make -j"$cores"
step "Installing into $prefix" make install
export OMPI_MCA_mca_base_component_path="$prefix/lib/openmpi:SYSTEM_DEFAULT"

printf '\n--- Open MPI sees the component (ompi_info)\n'
ompi_info | grep 'MCA coll: pccl'

printf '\n--- pccl says what it does (coll_pccl_verbose 1), here for an allreduce and a bcast on %s ranks\n' "$ranks"
launch --mca coll_pccl_priority 100 --mca coll_pccl_verbose 1 "$prefix/bin/pccl-bench" \
    -c allreduce,bcast -s 4K -r 1 -i 1 >"$build/verbose.log" 2>&1 || {
    cat "$build/verbose.log"
    exit 1
}
grep -v '^#' "$build/verbose.log" | grep pccl | grep -v 'default *pccl'

printf '\n--- Over pccl and over the default, in one launch, call by call in turn\n'
echo "Every call is planned. One machine has no network to plan for: there is hardly anything to gain here."
launch --mca coll_pccl_priority 100 "$prefix/bin/pccl-bench"

printf '\n--- On a network that is the bottleneck: 16 hosts in 4 racks with a slow uplink each, made on this machine\n'
echo "(links of 20 Mbit/s; doc/measurements.md compares with the best forced algorithms of the default too)"
PCCL_BUILD=$build "$source/tests/cluster/demo.sh" || [ $? -eq 77 ]

printf '\n--- Your own program, unchanged, and this benchmark again\n'
[ "$(id -u)" -ne 0 ] || echo "export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"
cat <<END
export OMPI_MCA_mca_base_component_path=$OMPI_MCA_mca_base_component_path
mpirun -n $ranks --mca coll_pccl_priority 100 --mca coll_pccl_verbose 1 ./your_program
mpirun -n $ranks --mca coll_pccl_priority 100 $prefix/bin/pccl-bench -c allreduce -s 1:1M
END
echo "In an application, calls for which Open MPI's default is measured to be faster stay with the default."

printf '\n--- The command pccl, which makes, explains and draws schedules, and its manual: pccl --help, man pccl\n'
printf 'export PATH=%s/bin:$PATH\n' "$prefix"
