#!/bin/bash
# Runs pccl on real networks of 16 hosts with a host name each, made on this machine from network namespaces, and compares
# every byte with a reference. Prints PASS, FAIL or SKIP per network. Needs root; see network.sh for the rest.
# PCCL_BUILD or PCCL_COMPONENT_DIR tell where the component is, as in tests/mpi/launch.sh.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
source=$(cd "$here/../.." && pwd)
export CLUSTER_RATE_MBIT=${CLUSTER_RATE_MBIT:-1000} # data are what is tested, not time
. "$here/network.sh"
MPIRUN="$CLUSTER_DIR/mpirun"
. "$source/tests/mpi/launch.sh"
trap 'cluster_down; rm -rf "$TEST_FOLDER"' EXIT

# write_mpirun: the program that `launch` starts as mpirun.
write_mpirun() {
    {
        echo '#!/bin/bash'
        declare -f in_netns cluster_mpirun
        echo "CLUSTER_NAME=$CLUSTER_NAME CLUSTER_DIR=$CLUSTER_DIR"
        echo 'cluster_mpirun "$@"'
    } >"$CLUSTER_DIR/mpirun"
    chmod +x "$CLUSTER_DIR/mpirun"
}

# compare KIND RANKS TOPOLOGY: the network is taken down whatever the test says.
compare() {
    if ! (set -e && cluster_up "$1") >"$logs/network-$1.log" 2>&1; then
        failed=$((failed + 1))
        echo "FAIL cluster-$1: the network could not be made: $(tail -n 1 "$logs/network-$1.log")"
    else
        write_mpirun
        launch "cluster-$1" "$2" 120 "--mca coll_pccl_topology $3 -x LD_PRELOAD=$TEST_FOLDER/idle.so" collectives roots
    fi
    cluster_down
}

obstacle=$(cluster_obstacle)
if [ -n "$obstacle" ]; then
    skip cluster "$obstacle"
else
    "$mpicc" -shared -fPIC -O2 -Wall -Wextra -o "$TEST_FOLDER/idle.so" "$here/idle.c" -ldl
    compile collectives "$source"/tests/mpi/{collectives,call,reference,datatypes,communicators,reductions,check}.c
    compare star 16 star:16
    compare tree 16 fattree:4x4:taper=4
    compare torus 16 torus:4x4
    compare mesh 16 mesh:4x4
fi
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
