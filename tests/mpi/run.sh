#!/bin/sh
# Runs the MPI tests over pccl: one line per test, PASS, FAIL (with the command to repeat it) or SKIP. See launch.sh for
# the environment. tests/mpi/run.sh [GROUP...]: groups are matrix programs settings agreement large; default: all.
set -eu
source=$(cd "$(dirname "$0")/../.." && pwd)
. "$source/tests/mpi/launch.sh"
here=$source/tests/mpi
groups=${*:-matrix programs settings agreement large}

chosen() {
    case " $groups " in
    *" $1 "*) return 0 ;;
    esac
    return 1
}

build() {
    compile collectives "$here/collectives.c" "$here/call.c" "$here/reference.c" "$here/datatypes.c" \
        "$here/communicators.c" "$here/reductions.c" "$here/check.c"
    compile reports "$source"/tests/regress/*.c "$here/check.c"
    for program in order stress communicators_many threads spawn large allocations lowering; do
        compile "$program" "$here/$program.c" "$here/check.c"
    done
}

topology() {
    echo "--mca coll_pccl_topology $1${2:+ --mca coll_pccl_placement $2}"
}

# Every number of ranks, and every kind of topology with several numbers of ranks; other windows, message sizes and cache
# sizes on the way, because each of them takes other ways through the executor.
matrix() {
    launch host-2 2 60 "" collectives
    launch host-3 3 60 "" collectives
    launch star-4 4 60 "$(topology star:4)" collectives
    launch mesh-4 4 60 "$(topology mesh:2x2)" collectives
    launch ring-5 5 60 "$(topology ring:5) --mca coll_pccl_window 1" collectives
    launch mesh-6 6 60 "$(topology mesh:2x3)" collectives
    launch uneven-7 7 60 "$(topology star:2 0,0,0,1,1,1,1)" collectives
    launch hypercube-8 8 60 "$(topology hypercube:3) --mca coll_pccl_cache_plans 3" collectives
    launch tree-8 8 60 "$(topology fattree:2x4)" collectives
    launch torus-9 9 60 "$(topology torus:3x3)" collectives
    launch uneven-9 9 60 "$(topology fattree:2x2 0,1,1,2,2,2,3,3,3)" collectives
    launch tree-12 12 90 "$(topology fattree:3x4:taper=2)" collectives
    launch scattered-12 12 90 "$(topology mesh:4x4 3,15,0,12,7,8,1,14,5,10,2,9)" collectives types random
    launch boxes-12 12 90 "$(topology boxes:3x4) --mca coll_pccl_message_limit 1000" collectives roots types counts
    launch torus-16 16 120 "$(topology torus:4x4)" collectives --random 600
    launch star-16 16 120 "$(topology star:16)" collectives comms reductions random
    launch mesh-16 16 120 "$(topology mesh:4x4 15-0)" collectives roots types random
    launch uneven-15 15 120 "$(topology star:2 0,0,0,0,0,0,0,1,1,1,1,1,1,1,1)" collectives roots comms random
}

programs() {
    for ranks in 2 3 5; do
        launch "reports-$ranks" "$ranks" 60 "" reports
    done
    launch reports-torus-8 8 60 "$(topology torus:2x4)" reports
    launch reports-tree-12 12 90 "$(topology fattree:3x4)" reports
    launch stress-2 2 60 "" stress
    launch stress-mesh-6 6 60 "$(topology mesh:2x3)" stress
    launch stress-torus-9 9 90 "$(topology torus:3x3) --mca coll_pccl_window 1" stress
    launch threads-4 4 60 "" threads
    launch spawn 2 60 "--mca btl vader,self,tcp" spawn
    launch allocations-2 2 60 "" allocations
    launch allocations-torus-6 6 60 "$(topology torus:2x3)" allocations
    test_many
    test_order 4 star:4
    test_order 9 torus:3x3
    test_lowering
}

# 10,000 communicators. Quiet but for the one line that shows that pccl is at work.
test_many() {
    launch communicators-many-2 2 90 "" communicators_many 10000
    launch communicators-many-5 5 90 "$(topology ring:5)" communicators_many 3000
}

# Two runs must give the same bits.
test_order() {
    launch "order-$1" "$1" 60 "$(topology "$2")" order
    digest=$(grep '^digest' "$logs/order-$1.log" || true)
    launch "order-again-$1" "$1" 60 "$(topology "$2")" order
    if [ "$digest" = "$(grep '^digest' "$logs/order-again-$1.log" || true)" ] && [ -n "$digest" ]; then
        pass "order-same-$1"
    else
        fail "order-again-$1" "other bits than in the run before, which had \"$digest\""
    fi
}

between() {
    sed -n "/^MARK $2\$/,/^MARK $3\$/p" "$logs/$1.log"
}

test_lowering() {
    launch lowering 3 30 "" lowering
    if between lowering plain again | grep -q "$at_work"; then
        fail lowering "pccl serves a communicator made while its priority was 0"
    elif ! between lowering again end | grep -q "$at_work"; then
        fail lowering "pccl does not serve a communicator made after its priority was raised again"
    else
        pass lowering-chosen
    fi
}

# expect NAME RANKS "OPTIONS" PATTERN [FORBIDDEN]: right results, and the given line.
expect() {
    # shellcheck disable=SC2086
    start "$1" 60 -n "$2" $plain_options $pccl_options $3 "$TEST_FOLDER/collectives" --plain roots reductions
    judge "$1" "$4" "${5:-}"
}

# Values that are wrong or unusual: said in words, right results in every case.
settings() {
    expect default-off 3 "--mca coll_pccl_priority 0" "0 failures" "pccl"
    expect wrong-topology 3 "$(topology torus:banana)" "coll_pccl_topology" "$at_work"
    expect unknown-topology 3 "$(topology donut:4)" "coll_pccl_topology" "$at_work"
    expect missing-file 3 "$(topology /nowhere/topology.json)" "coll_pccl_topology" "$at_work"
    expect small-topology 5 "$(topology star:3)" "coll_pccl_topology" "$at_work"
    expect wrong-placement 3 "$(topology star:4 0,1,9)" "coll_pccl_placement" "$at_work"
    expect short-placement 3 "$(topology star:4 0,1)" "coll_pccl_placement" "$at_work"
    expect wrong-collectives 3 "--mca coll_pccl_collectives bcast,frobnicate" "frobnicate" "$at_work"
    expect wrong-window 3 "--mca coll_pccl_window -3" "coll_pccl_window"
    expect wrong-number 3 "--mca coll_pccl_cache_plans 0" "coll_pccl_cache_plans"
    expect negative-priority 3 "--mca coll_pccl_priority -1" "0 failures" "$at_work"
    expect some-collectives 4 "--mca coll_pccl_collectives allreduce,bcast" "allreduce on .*$at_work" "^[^ ]* reduce on .*$at_work"
    expect all-but-some 4 "--mca coll_pccl_collectives ^allreduce" "reduce on .*$at_work" "allreduce on .*$at_work"
    expect too-many-ranks 4 "--mca coll_pccl_max_ranks 3" "$declines" "MPI_COMM_WORLD.*$at_work"
    launch message-limit 4 60 "--mca coll_pccl_message_limit 7 --mca coll_pccl_window 2" collectives roots types reductions
    launch keep-nothing 5 60 "--mca coll_pccl_keep_mib 0 --mca coll_pccl_cache_plans 1" collectives
}

# differ NAME "OPTIONS OF ONE RANK" PATTERN: one rank of four is started in another way. No hang, right results, pccl off
# everywhere, and a line that says why.
differ() {
    differ_program="$TEST_FOLDER/collectives --plain roots reductions"
    # shellcheck disable=SC2086
    start "$1-last" 60 $plain_options -n 3 $pccl_options $differ_program : -n 1 $2 $differ_program
    judge "$1-last" "$3" "$at_work"
    # shellcheck disable=SC2086
    start "$1-first" 60 $plain_options -n 1 $2 $differ_program : -n 3 $pccl_options $differ_program
    judge "$1-first" "$3" "$at_work"
}

agreement() {
    differ off-in-one "$load_options --mca coll_pccl_priority 0" "off or not installed|pccl"
    differ missing-in-one "" "off or not installed|pccl"
    differ other-topology "$pccl_options --mca coll_pccl_topology star:7" "pccl"
    differ other-collectives "$pccl_options --mca coll_pccl_collectives bcast" "pccl"
    differ other-message-limit "$pccl_options --mca coll_pccl_message_limit 4096" "pccl"
    differ wrong-in-one "$pccl_options --mca coll_pccl_topology donut:4" "pccl"
}

large() {
    available_mib=$(awk '/^MemAvailable/ { print int($2 / 1024) }' /proc/meminfo)
    if [ "$available_mib" -lt 12000 ]; then
        skip large "needs 12000 MiB of memory, $available_mib MiB are available"
    else
        launch large 2 90 "" large
    fi
}

start_command="the compiler"
if ! build >"$logs/build.log" 2>&1; then
    fail build "the test programs do not compile"
    exit 1
fi
for group in matrix programs settings agreement large; do
    if chosen "$group"; then
        "$group"
    fi
done
count_up
