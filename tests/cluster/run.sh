#!/bin/bash
# Runs pccl on real networks of 16 hosts with a host name each, made on this machine from network namespaces: compares
# every byte with a reference, and what the most loaded link carries with what it must carry, which no noise disturbs.
# Prints PASS, FAIL or SKIP per network. Needs root; see network.sh for the rest. PCCL_BUILD or PCCL_COMPONENT_DIR
# tell where the component is, as in tests/mpi/launch.sh.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
source=$(cd "$here/../.." && pwd)
export CLUSTER_RATE_MBIT=${CLUSTER_RATE_MBIT:-200} # data and bytes are what is tested, not time
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

# Headers and acknowledgements: 1514 bytes on the wire for 1448, and 66 back for every second packet.
LIMIT=$(awk 'BEGIN { print 1.10 * (1514 + 66 / 2) / 1448 }')

# check_links NAME KIND RANKS-PER-HOST CASES...: how many bytes the most loaded link carries.
check_links() {
    local name=$1 kind=$2 per_host=$3 heaviest
    shift 3
    # Planned for slow links, where bytes are what counts.
    CLUSTER_RATE_MBIT=10 cluster_fabric >"$CLUSTER_DIR/fabric.json"
    rm -f "$CLUSTER_DIR/meeting"
    start "$name" 120 "$pccl_environment" -n $((CLUSTER_HOSTS * per_host)) -x LD_PRELOAD="$TEST_FOLDER/idle.so" \
        --mca coll_pccl_topology "$CLUSTER_DIR/fabric.json" "$TEST_FOLDER/compare" -x -n 1 -l "$kind,natural,all" \
        -k "$CLUSTER_DIR/counters" -m "$CLUSTER_DIR/meeting" "$@"
    judge_trouble=$(trouble)
    heaviest=$(awk -F, -v r="$per_host" -v limit="$LIMIT" -f "$here/bounds.awk" -f <(cat <<'AWK'
        {
            bytes = bound_bytes($1, $3, $4, $5, r)
            load = bytes > 0 ? $12 / bytes : 99
            if (load > limit || $14 > 0)
                printf "%s of %d bytes: %d bytes on link %s, at least %d needed, %d wrong elements; ",
                    $4, $5, $12, $11, bytes, $14
        }
        END { if (NR == 0) print "nothing was measured" }
AWK
    ) "$logs/$name.out")
    if [ -n "$judge_trouble$heaviest" ]; then
        fail "$name" "$judge_trouble $heaviest"
    elif [ "$(cluster_drops)" -ne 0 ]; then
        fail "$name" "shaping has thrown away packets"
    else
        judge "$name" "$at_work"
    fi
}

# check_calibration NAME RANKS: the rates that pccl-calibrate finds are those of the links, to 15 %, in one of three
# attempts: a machine that does other work meanwhile makes links look slower.
check_calibration() {
    local program=${PCCL_BUILD:-.}/installed/bin/pccl-calibrate attempt
    [ -e "$program" ] || program=${PCCL_BUILD:-.}/pccl-calibrate
    for attempt in 1 2 3; do
        cluster_fabric >"$CLUSTER_DIR/fabric.json"
        start "$1" 60 "$plain_environment" -n "$2" -x LD_PRELOAD="$TEST_FOLDER/idle.so" \
            "$program" -t "$CLUSTER_DIR/fabric.json"
        judge_trouble=$(trouble)
        wrong=$(wrong_rates)
        [ -n "$judge_trouble$wrong" ] || break
    done
    if [ -n "$judge_trouble$wrong" ]; then fail "$1" "$judge_trouble $wrong"; else pass "$1" "$start_seconds s"; fi
}

# The classes in fabric.json whose rate is not that of the links.
wrong_rates() {
    awk -v mbit="$CLUSTER_RATE_MBIT" '
        /"classes"/, /}$/ {
            if (match($0, /"ps_per_mib": [0-9]+/)) {
                rate = 1048576 / substr($0, RSTART + 14, RLENGTH - 14) * 1e12 / (mbit * 125000 * 1448 / 1514)
                seen += /"origin": "measured"/
                if (rate < 0.85 || rate > 1.15) print rate " times the rate of the links: " $0
            }
        }
        END { if (!seen) print "nothing is measured" }' "$CLUSTER_DIR/fabric.json"
}

# on_network KIND COMMAND...: the network is taken down whatever the commands say.
on_network() {
    if ! (set -e && cluster_up "$1" && declare -p CLUSTER_LINKS CLUSTER_KIND >"$CLUSTER_DIR/state") \
        >"$logs/network-$1.log" 2>&1; then
        failed=$((failed + 1))
        echo "FAIL cluster-$1: the network could not be made: $(tail -n 1 "$logs/network-$1.log")"
    else
        . "$CLUSTER_DIR/state"
        write_mpirun
        "${@:2}"
    fi
    cluster_down
}

# compare KIND TOPOLOGY: one rank on each host.
compare() {
    launch "cluster-$1" 16 120 "--mca coll_pccl_topology $2 -x LD_PRELOAD=$TEST_FOLDER/idle.so" collectives roots
    check_links "links-$1" "$1" 1 allgather:64K allreduce:512K bcast:512K alltoall:64K
}

# Four ranks on each host.
compare_many() {
    check_calibration "calibrate-$1-4" 64
    check_links "links-$1-4" "$1" 4 allgather:16K allreduce:512K bcast:512K
}

obstacle=$(cluster_obstacle)
if [ -n "$obstacle" ]; then
    skip cluster "$obstacle"
else
    "$mpicc" -shared -fPIC -O2 -Wall -Wextra -o "$TEST_FOLDER/idle.so" "$here/idle.c" -ldl
    compile collectives "$source"/tests/mpi/{collectives,call,reference,datatypes,communicators,reductions,check}.c
    compile compare -I "$source/mca_coll_pccl/benchmark" "$here"/{compare,variants,meeting}.c \
        "$source/mca_coll_pccl/benchmark/collectives.c"
    on_network star compare star star:16
    on_network tree compare tree fattree:4x4:taper=4
    on_network tree compare_many tree
    on_network torus compare torus torus:4x4
    on_network mesh compare mesh mesh:4x4
fi
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
