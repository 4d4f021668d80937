#!/bin/sh
# Runs the MPI tests over pccl: one line per test, PASS, FAIL (with the command to repeat it) or SKIP. See launch.sh for
# the environment. tests/mpi/run.sh [GROUP...]: groups are matrix levels programs requests hosts
# settings select agreement exhaustion large; default: all.
set -eu
source=$(cd "$(dirname "$0")/../.." && pwd)
. "$source/tests/mpi/launch.sh"
here=$source/tests/mpi
. "$here/select.sh"
groups=${*:-matrix levels programs requests hosts settings select agreement exhaustion large}

chosen() {
    case " $groups " in
    *" $1 "*) return 0 ;;
    esac
    return 1
}

build() {
    compile collectives "$here/collectives.c" "$here/call.c" "$here/reference.c" "$here/datatypes.c" \
        "$here/communicators.c" "$here/reductions.c" "$here/check.c" &&
        compile reports "$source"/tests/regress/*.c "$here/check.c" || return 1
    compile programs "$here"/programs/*.c "$here/reductions.c" "$here/check.c" || return 1
    for program in nonblocking persistent flow; do
        compile "$program" "$here/$program.c" "$here/operations.c" "$here/check.c" || return 1
    done
    compile mixture "$here/mixture.c" "$here/operations.c" "$here/check.c" || return 1
    for program in allocations exhaustion; do
        compile "$program" "$here/$program.c" "$here/heap.c" "$here/operations.c" "$here/check.c" || return 1
    done
    compile neighbors "$here/neighbors.c" "$here/exchange.c" "$here/datatypes.c" "$here/communicators.c" \
        "$here/check.c" || return 1
    for program in order repeated reproducible select stress communicators_many threads spawn large lowering mismatch; do
        compile "$program" "$here/$program.c" "$here/check.c" || return 1
    done
}

forms=

topology() {
    echo "--mca coll_pccl_topology $1${2:+ --mca coll_pccl_placement $2}"
}

# Every number of ranks, and every kind of topology with several numbers of ranks; other windows, message sizes and
# cache sizes on the way, because each of them takes other ways through the executor.
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
    launch uneven-9 9 120 "$(topology fattree:2x2 0,1,1,2,2,2,3,3,3)" collectives
    launch tree-12 12 180 "$(topology fattree:3x4:taper=2)" collectives
    launch scattered-12 12 180 "$(topology mesh:4x4 3,15,0,12,7,8,1,14,5,10,2,9)" collectives types random
    launch boxes-12 12 180 "$(topology boxes:3x4) --mca coll_pccl_message_limit 1000" collectives roots types counts
    launch torus-16 16 240 "$(topology torus:4x4)" collectives --random 300
    launch star-16 16 240 "$(topology star:16)" collectives comms reductions random
    launch mesh-16 16 240 "$(topology mesh:4x4 15-0)" collectives roots types random
    launch uneven-15 15 240 "$(topology star:2 0,0,0,0,0,0,0,1,1,1,1,1,1,1,1)" collectives roots comms random
}

# As in large groups: every rank plans its own part, between hosts and inside. Equal and unequal hosts, ranks by slot, by
# node and at random, hosts alone. Scans are left to others there.
levels() {
    part="--mca coll_pccl_search_ranks 1"
    launch levels-mesh-6 6 90 "$(topology mesh:2x3) $part --mca coll_pccl_window 1" collectives roots counts
    launch levels-star-8 8 90 "$(topology star:2 0,0,0,0,1,1,1,1) $part" collectives roots reductions
    launch levels-uneven-9 9 120 "$(topology fattree:2x2 0,1,1,2,2,2,3,3,3) $part" collectives roots counts comms
    launch levels-by-node-12 12 180 "$(topology torus:2x2 0,1,2,3,0,1,2,3,0,1,2,3) $part --mca coll_pccl_window 1" \
        collectives counts --random 100 random
    launch levels-random-16 16 240 "$(topology star:4 2,0,1,3,3,2,0,0,1,2,3,1,0,1,2,2) $part" collectives counts
}

programs() {
    for ranks in 2 3 5; do
        launch "reports-$ranks" "$ranks" 60 "" reports
    done
    launch reports-torus-8 8 60 "$(topology torus:2x4)" reports
    launch reports-tree-12 12 180 "$(topology fattree:3x4)" reports
    launch stress-2 2 60 "" stress
    launch stress-mesh-6 6 60 "$(topology mesh:2x3)" stress
    launch stress-torus-9 9 90 "$(topology torus:3x3) --mca coll_pccl_window 1" stress
    random_programs
    launch threads-4 4 60 "" threads
    launch threads-eviction-3 3 60 "--mca coll_pccl_cache_plans 1 --mca coll_pccl_keep_mib 0" threads
    launch spawn 2 60 "--mca btl vader,self,tcp" spawn
    launch allocations-2 2 60 "" allocations
    launch allocations-torus-6 6 60 "$(topology torus:2x3)" allocations
    launch neighbors-2 2 60 "" neighbors $forms
    launch neighbors-torus-6 6 60 "$(topology torus:2x3) --mca btl_vader_eager_limit 200" neighbors $forms
    launch neighbors-ring-5 5 60 "$(topology ring:5) --mca coll_pccl_window 1 --mca coll_pccl_cache_plans 2" \
        neighbors $forms --seed 1000
    launch neighbors-many-8 8 90 "--mca coll_pccl_max_ranks 3" neighbors $forms --seed 2000
    launch neighbors-null-types 4 60 "--mca mpi_param_check 0" neighbors $forms --null-types
    launch repeated-2 2 60 "" repeated
    launch repeated-3 3 60 "--mca coll_pccl_cache_plans 2" repeated
    test_many
    test_order 4 star:4
    test_order 9 torus:3x3
    test_reproducible 8 "" "torus:2x4 3,7,1,0,2,6,4,5" "fattree:2x2 0,3,3,1,1,1,2,0" "mesh:8 7-0"
    test_reproducible 7 "" "ring:7 0,3,6,2,5,1,4" "boxes:2x4 7,0,6,1,5,2,4"
    test_lowering
    test_check
}

# Several thousand random programs, with every kind of topology and ways through the executor that other tests do not
# take. programs/main.c says how to repeat one alone.
random_programs() {
    launch programs-2 2 60 "" programs --number 600
    launch programs-3 3 60 "--mca coll_pccl_cache_plans 2" programs --seed 1000 --number 400
    launch programs-mesh-4 4 60 "$(topology mesh:2x2) --mca coll_pccl_message_limit 100" \
        programs --seed 2000 --number 300
    launch programs-ring-5 5 90 "$(topology ring:5) --mca coll_pccl_window 1 --mca btl_vader_eager_limit 200" \
        programs --seed 3000 --number 300
    launch programs-mesh-6 6 90 "$(topology mesh:2x3)" programs --seed 4000 --number 200
    launch programs-uneven-7 7 90 "$(topology star:3 0,2,2,1,0,1,1) --mca coll_pccl_keep_mib 0" \
        programs --seed 5000 --number 150
    launch programs-torus-8 8 90 "$(topology torus:2x4) --mca coll_pccl_cache_plans 2" \
        programs --seed 6000 --number 100
    launch programs-tree-9 9 90 "$(topology fattree:3x3)" programs --seed 7000 --number 100
    launch programs-check-4 4 60 "--mca coll_pccl_check 1" programs --seed 9050 --number 100
    launch programs-levels-3 3 60 "--mca coll_pccl_search_ranks 1" programs --seed 83344 --number 300
    start programs-default 60 "$plain_environment" -n 3 "$TEST_FOLDER/programs" --number 100 --plain
    judge programs-default "0 failures"
}

test_many() {
    launch communicators-many-2 2 90 "" communicators_many 10000
    launch communicators-many-5 5 90 "$(topology ring:5)" communicators_many 3000
}

# Non-blocking and persistent calls; where pccl declines, it guards the requests of the component below.
requests() {
    launch nonblocking-2 2 60 "" nonblocking
    launch nonblocking-5 5 60 "$(topology ring:5) --mca coll_pccl_window 1" nonblocking
    launch nonblocking-8 8 60 "$(topology torus:2x4) --mca coll_pccl_cache_plans 3" nonblocking 6
    launch persistent-3 3 60 "" persistent
    launch persistent-8 8 60 "$(topology torus:2x4) --mca coll_pccl_message_limit 1000" persistent 100
    launch mixture-3 3 60 "" mixture
    launch mixture-5 5 60 "$(topology ring:5) --mca coll_pccl_window 1 --mca coll_pccl_keep_mib 0" mixture 2
    launch mixture-threads-4 4 60 "--mca coll_pccl_cache_plans 2" mixture 2 3
    launch flow-2 2 60 "" flow
    launch flow-3 3 60 "" flow
    # Left to the component below, which holds nobody back.
    start flow-left-3 60 "$pccl_environment" -n 3 --mca coll_pccl_select model "$TEST_FOLDER/flow" 512
    judge flow-left-3 "declined: the best plan in the model"
    start nonblocking-declined-4 60 "$pccl_environment" -n 4 --mca coll_pccl_max_ranks 2 "$TEST_FOLDER/nonblocking"
    judge nonblocking-declined-4 "$declines"
    start persistent-declined-4 60 "$pccl_environment" -n 4 --mca coll_pccl_max_ranks 2 \
        "$TEST_FOLDER/persistent" 300 declined
    judge persistent-declined-4 "$declines"
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

# test_reproducible RANKS "TOPOLOGY [PLACEMENT]"...: all must give the bits that the program itself computes, and the
# same bits where only the processor decides.
test_reproducible() {
    reproducible_ranks=$1
    shift
    reproducible_digest=
    reproducible_number=0
    for place in "$@"; do
        reproducible_number=$((reproducible_number + 1))
        name=reproducible-$reproducible_ranks-$reproducible_number
        # shellcheck disable=SC2086 # topology and placement are two words
        launch "$name" "$reproducible_ranks" 60 \
            "--mca coll_pccl_reproducible 1 ${place:+$(topology $place)}" reproducible
        digest=$(grep '^digest' "$logs/$name.log" || true)
        reproducible_digest=${reproducible_digest:-$digest}
        if [ "$digest" != "$reproducible_digest" ] || [ -z "$digest" ]; then
            fail "$name" "other bits than on the first topology, which had \"$reproducible_digest\""
        fi
    done
}

between() {
    sed -n "/^MARK $2\$/,/^MARK $3\$/p" "$logs/$1.log"
}

# Faults of programs become errors on all ranks, and a line says what they are; what is right goes on as ever.
test_check() {
    check="--mca coll_pccl_check 1"
    for ranks in 2 5; do
        launch "mismatch-$ranks" "$ranks" 60 "$check" mismatch
        for words in 'bcast on .*rank 0 is in bcast, rank [0-9] is in barrier' 'the root is 0 at rank 0 and' \
            'the size is 800 bytes at rank 0 and 400 bytes at rank' 'the operator is MPI_SUM at rank 0 and MPI_MAX at' \
            'the datatype is MPI_DOUBLE at rank 0 and MPI_LONG at' 'arrays of counts at rank 0 and rank' \
            'sends 24 bytes to rank [0-9], which expects 40'; do
            grep -q "$words" "$logs/mismatch-$ranks.log" || fail "mismatch-$ranks" "no line with \"$words\""
        done
    done
    launch check-torus-6 6 60 "$check $(topology torus:2x3)" collectives roots types comms reductions
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

# said PATTERN: did the last start say this?
said() {
    grep -qE "$1" "$logs/$start_name.log"
}

# repeatedly COMMAND...: for help texts that many ranks have, so that mpirun makes one of them: that of Open MPI 4.1.4
# loses every fourth, its own too, with or without "ORTE_ERROR_LOG: Out of resource in file .../show_help.c".
attempts=1
repeatedly() {
    attempts=6
    "$@"
    attempts=1
}

# expect NAME RANKS "OPTIONS" PATTERN [FORBIDDEN]: right results, and the given line.
expect() {
    for attempt in $(seq "$attempts"); do
        # shellcheck disable=SC2086
        start "$1" 60 "$pccl_environment" -n "$2" $3 "$TEST_FOLDER/collectives" --plain roots reductions
        if said "$4" || [ -n "$(trouble)" ]; then
            break
        fi
    done
    judge "$1" "$4" "${5:-}"
}

# A fabric file: these devices, in quotes, on one switch.
fabric_of() {
    echo "{\"devices\": [$1"
    for device in "$@"; do
        [ "$device" = "$1" ] || echo ", $device"
    done
    echo '], "switches": ["hub"], "links": ['
    for device in "$@"; do
        echo "{\"source\": $device, \"target\": \"hub\", \"duplex\": true}$([ "$device" = "${3:-$2}" ] || echo ,)"
    done
    echo '], "routing": "min-hop"}'
}

# Ranks on several hosts, unevenly, as Open MPI itself sees it: only the names are made up, all run here.
hosts() {
    if ! unshare --uts true 2>"$logs/unshare.log"; then
        skip hosts "no right to make UTS namespaces"
        return
    fi
    several="--mca plm rsh --mca plm_rsh_agent $here/agent.sh --mca plm_rsh_no_tree_spawn 1 --mca btl vader,self,tcp"
    launch hosts-3+4 7 90 "$several --host alpha:3,beta:4" collectives roots comms counts
    launch hosts-1+3+2 6 90 "$several --host alpha:1,beta:3,gamma:2 --map-by node" collectives types reductions random
    # Messages between hosts in parts: as TCP sends without a handshake, and of a few bytes.
    launch hosts-parts 7 90 "$several --host alpha:3,beta:4 --mca btl_tcp_eager_limit 2128" collectives roots counts
    said "on for 7 ranks .*, messages between hosts of up to 2000 bytes" || fail hosts-parts "no line about the parts"
    launch hosts-crumbs 6 90 "$several --host alpha:1,beta:3,gamma:2 --mca coll_pccl_network_message 100" \
        collectives types reductions random
    launch hosts-parts-pending 4 60 "$several --host alpha:2,beta:2 --mca coll_pccl_network_message 100" nonblocking 20
    launch hosts-repeated 3 60 "$several --host alpha:2,beta:1 --mca coll_pccl_network_message 100" repeated
    launch hosts-in-file 4 60 "$several --host d2:2,d0:1,d3:1 $(topology ring:4)" collectives roots random
    # Names in full and in short, on either side, in any case. Fewer devices than ranks: only names can match them.
    full="$several --mca orte_keep_fqdn_hostnames 1"
    fabric_of '"alpha"' '"beta.cluster.org"' '"GAMMA"' >"$TEST_FOLDER/named.json"
    launch hosts-named 4 60 "$full --host alpha.cluster.org:1,beta:2,gamma:1 $(topology "$TEST_FOLDER/named.json")" \
        collectives roots
    fabric_of '"alpha.a"' '"alpha.b"' '"beta"' >"$TEST_FOLDER/twins.json"
    expect hosts-ambiguous 3 "$several --host alpha:2,beta:1 $(topology "$TEST_FOLDER/twins.json")" \
        "the host alpha fits several of them" "$at_work"
    fabric_of '"alpha"' '"beta"' '"delta"' >"$TEST_FOLDER/strange.json"
    expect hosts-some-elsewhere 3 "$several --host alpha:1,beta:1,gamma:1 $(topology "$TEST_FOLDER/strange.json")" \
        "does not name host gamma \(of rank 2\)"
    once hosts-some-elsewhere "does not name"
    said "on for 3 ranks .* topology star:3 with 3 devices" || fail hosts-some-elsewhere "not the hosts on one switch"
    fabric_of '"alpha"' '"beta"' >"$TEST_FOLDER/without.json"
    expect hosts-missing 3 "$several --host alpha:1,beta:1,gamma:1 $(topology "$TEST_FOLDER/without.json")" \
        "does not name host gamma \(of rank 2\)"
    said "on for 3 ranks .* topology star:3 with 3 devices" || fail hosts-missing "not the hosts on one switch"
}

# Makes $cgroup, with the time of one processor, where that is allowed.
make_cgroup() {
    for folder in /sys/fs/cgroup/cpu /sys/fs/cgroup/cpu,cpuacct /sys/fs/cgroup; do
        cgroup=$folder/pccl-test.$$
        mkdir "$cgroup" 2>/dev/null || continue
        if [ -w "$cgroup/cpu.cfs_quota_us" ] && echo 100000 2>/dev/null >"$cgroup/cpu.cfs_quota_us"; then
            return 0
        elif [ -w "$cgroup/cpu.max" ] && echo "100000 100000" 2>/dev/null >"$cgroup/cpu.max"; then
            return 0
        fi
        rmdir "$cgroup"
    done
    return 1
}

# start_two NAME "OPTIONS" [COMMAND...]: two ranks, which the command may put somewhere.
start_two() {
    two_name=$1
    two_options=$2
    shift 2
    # shellcheck disable=SC2086 # the options are words
    start "$two_name" 60 "$pccl_environment" -n 2 --output-filename "$logs/$two_name" \
        --mca coll_pccl_verbose 5 $two_options "$@" "$TEST_FOLDER/collectives" --plain roots
}

# What rank 0 of the last start, whose output is apart from that of others, says of its plans.
list_plans() {
    grep -hE ' on MPI_COMM_WORLD.*: plan ' "$logs/$start_name/1/rank.0/stderr"
}

# Two ranks plan as if on one processor where a cgroup leaves them the time of one, unless a parameter says otherwise.
limited_time() {
    if ! make_cgroup; then
        skip limited-time "no cgroup with a limit of processor time may be made here"
        return
    fi
    inside='echo $$ >"$0/cgroup.procs" && exec "$@"'
    start_two one-processor "--mca coll_pccl_processors 1"
    expected=$(list_plans)
    start_two limited-time "" sh -c "$inside" "$cgroup"
    judge limited-time "/pccl-test[.0-9]* leaves the ranks on .* the time of 1 processor$"
    found=$(list_plans)
    if [ -z "$expected" ] || [ "$found" != "$expected" ]; then
        fail limited-time "other plans than on one processor"
    fi
    start_two limited-time-overruled "--mca coll_pccl_processors 2" sh -c "$inside" "$cgroup"
    judge limited-time-overruled "$at_work" "leaves the ranks on"
    if [ "$(list_plans)" = "$expected" ]; then
        fail limited-time-overruled "the same plans as on one processor"
    fi
    rmdir "$cgroup"
}

# A fabric that does not name this host is as good as none: the ranks share one host and its processor.
as_without_topology() {
    start_two without-topology "--mca coll_pccl_processors 1"
    expected=$(list_plans)
    start_two hosts-elsewhere-planned "--mca coll_pccl_processors 1 $(topology "$TEST_FOLDER/elsewhere.json")"
    judge hosts-elsewhere-planned "on for 2 ranks of MPI_COMM_WORLD, topology 2 ranks on star:1 "
    if [ -z "$expected" ] || [ "$(list_plans)" != "$expected" ]; then
        fail hosts-elsewhere-planned "other plans than without a topology"
    fi
}

# Values that are wrong or unusual: said in words, right results in every case.
settings() {
    expect default-off 3 "--mca coll_pccl_priority 0" "0 failures" "pccl"
    expect wrong-topology 3 "$(topology torus:banana)" "coll_pccl_topology" "$at_work"
    once wrong-topology "What happens now"
    expect unknown-topology 3 "$(topology donut:4)" "coll_pccl_topology" "$at_work"
    expect missing-file 3 "$(topology /nowhere/topology.json)" "coll_pccl_topology" "$at_work"
    expect small-topology 5 "$(topology star:3)" "coll_pccl_topology" "$at_work"
    elsewhere='does not name host .* \(of rank 0\)'
    fabric_of '"nowhere1"' '"nowhere2"' '"nowhere3"' >"$TEST_FOLDER/elsewhere.json"
    expect hosts-elsewhere 3 "--mca coll_pccl_verbose 0 $(topology "$TEST_FOLDER/elsewhere.json")" "$elsewhere"
    once hosts-elsewhere "$elsewhere"
    as_without_topology
    expect hosts-placed 3 "$(topology "$TEST_FOLDER/elsewhere.json" nowhere3,1,0)" "$at_work" "does not name"
    fabric_of '"d0"' '"d1.0"' '"2"' >"$TEST_FOLDER/numbered.json"
    expect hosts-numbered 3 "$(topology "$TEST_FOLDER/numbered.json")" "$at_work" "does not name"
    expect hosts-generated 4 "$(topology torus:2x2)" "$at_work" "does not name"
    expect wrong-placement 3 "$(topology star:4 0,1,9)" "coll_pccl_placement" "$at_work"
    expect short-placement 3 "$(topology star:4 0,1)" "coll_pccl_placement" "$at_work"
    repeatedly expect wrong-collectives 3 "--mca coll_pccl_collectives bcast,frobnicate" "frobnicate" "$at_work"
    repeatedly expect wrong-window 3 "--mca coll_pccl_window -3" "coll_pccl_window"
    repeatedly expect wrong-number 3 "--mca coll_pccl_cache_plans 0" "coll_pccl_cache_plans"
    expect negative-priority 3 "--mca coll_pccl_priority -1" "0 failures" "$at_work"
    expect some-collectives 4 "--mca coll_pccl_collectives allreduce,bcast" \
        "allreduce on .*$at_work" "^[^ ]* reduce on .*$at_work"
    expect all-but-some 4 "--mca coll_pccl_collectives ^allreduce" "reduce on .*$at_work" "allreduce on .*$at_work"
    expect other-name 4 "--mca coll_pccl_collectives broadcast" "bcast on .*$at_work" "reduce on .*$at_work"
    expect low-priority 3 "--mca coll_pccl_priority 20" "not reached, since .* comes first: allgather, "
    expect lowest-priority 3 "--mca coll_pccl_priority 5" "off: coll_pccl_priority 5 is not above" "$at_work"
    start alone 60 "$pccl_environment" -n 1 "$TEST_FOLDER/programs" --number 5 --plain
    judge alone "on for 1 rank of MPI_COMM_WORLD" "not served|not reached"
    expect unjoined 6 "$(topology boxes:4x4 0,5,10,15,1,4)" "plan .*as if on one switch: .*no route from d0" "$declines"
    expect too-many-ranks 4 "--mca coll_pccl_max_ranks 3" "$declines" "MPI_COMM_WORLD.*$at_work"
    expect roomy-host 4 "--mca coll_pccl_processors 4" "allgather on .*plan doubling" "allgather on .*plan flat:twice"
    expect crowded-host 4 "--mca coll_pccl_processors 1" "allgather on .*plan flat:twice" "allgather on .*plan doubling"
    # Where each rank may run all ranks know, and plan alike.
    start unlike-processors 60 "$pccl_environment" \
        -n 3 env OMPI_MCA_coll_pccl_processors=2 "$TEST_FOLDER/collectives" --plain roots reductions : \
        -n 5 env OMPI_MCA_coll_pccl_processors=3 "$TEST_FOLDER/collectives" --plain roots reductions
    judge unlike-processors "allgather on .*, 8 ranks.*plan flat:twice" "allgather on .*, 8 ranks.*plan doubling"
    limited_time
    launch message-limit 4 60 "--mca coll_pccl_message_limit 7 --mca coll_pccl_window 2" \
        collectives roots types reductions
    launch keep-nothing 5 60 "--mca coll_pccl_keep_mib 0 --mca coll_pccl_cache_plans 1" collectives
}

# differ NAME PATTERN ENVIRONMENT...: one rank of four, the first or the last, has another environment. No hang, right
# results, pccl off everywhere, and a line that says why. (mpirun gives one rank's --mca to all, so it is done by env.)
differ() {
    differ_name=$1
    differ_pattern=$2
    shift 2
    set -- "$@" "$TEST_FOLDER/collectives" --plain roots reductions
    for place in first last; do
        for attempt in $(seq "$attempts"); do
            if [ "$place" = first ]; then
                start "$differ_name-$place" 60 "$pccl_environment" -n 1 env "$@" : \
                    -n 3 "$TEST_FOLDER/collectives" --plain roots reductions
            else
                start "$differ_name-$place" 60 "$pccl_environment" \
                    -n 3 "$TEST_FOLDER/collectives" --plain roots reductions : -n 1 env "$@"
            fi
            if said "$differ_pattern" || [ -n "$(trouble)" ]; then
                break
            fi
        done
        judge "$differ_name-$place" "$differ_pattern" "$at_work"
    done
}

# Where rank 0 is missing the others wait for it once, not for those that it would wait for as well.
off_in_first_two() {
    set -- "$TEST_FOLDER/collectives" --plain roots
    for attempt in $(seq "$attempts"); do
        start off-in-first-two 60 "$pccl_environment OMPI_MCA_coll_pccl_agreement_timeout=6" \
            -n 2 env OMPI_MCA_coll_pccl_priority=0 "$@" : -n 2 "$@"
        if said "Ranks: *0, perhaps others" || [ -n "$(trouble)" ]; then
            break
        fi
    done
    judge off-in-first-two "Ranks: *0, perhaps others" "$at_work"
    if [ "$start_seconds" -ge 12 ]; then
        fail off-in-first-two "took $start_seconds s, twice the time or more"
    fi
}

agreement() {
    pccl_environment="$pccl_environment OMPI_MCA_coll_pccl_agreement_timeout=2"
    repeatedly off_in_first_two
    repeatedly differ off-in-one 'What happens now: pccl is off' OMPI_MCA_coll_pccl_priority=0
    repeatedly differ missing-in-one 'What happens now: pccl is off' OMPI_MCA_coll=^pccl
    differ other-topology 'What happens now: pccl is off' OMPI_MCA_coll_pccl_topology=star:7
    differ other-collectives 'What happens now: pccl is off' OMPI_MCA_coll_pccl_collectives=bcast
    differ other-order 'What happens now: pccl is off' OMPI_MCA_coll_pccl_reproducible=1
    differ other-check 'What happens now: pccl is off' OMPI_MCA_coll_pccl_check=1
    differ other-select 'What happens now: pccl is off' OMPI_MCA_coll_pccl_select=model
    differ other-plan-dir 'What happens now: pccl is off' OMPI_MCA_coll_pccl_plan_dir=/tmp
    differ other-network-message 'What happens now: pccl is off' OMPI_MCA_coll_pccl_network_message=4096
    differ other-message-limit 'What happens now: pccl is off' OMPI_MCA_coll_pccl_message_limit=4096
    differ wrong-in-one 'What happens now: *pccl is off' OMPI_MCA_coll_pccl_topology=donut:4
}

# A job in which memory runs out ends: well, or with an error.
exhaust() {
    start "exhaustion-$1-$2" 20 "$pccl_environment OMPI_MCA_coll_pccl_agreement_timeout=1" -n 3 $3 \
        "$TEST_FOLDER/exhaustion" "$1" "$2"
    exhaust_trouble=$(trouble)
    if [ "$start_status" -ge 124 ] || grep -qE '^(TIMEOUT|WRONG)' "$logs/$start_name.log"; then
        fail "$start_name" "$exhaust_trouble"
    else
        pass "$start_name" "${exhaust_trouble:-no error}"
    fi
}

exhaustion() {
    launch exhaustion-3 3 60 "--mca coll_pccl_cache_plans 1" exhaustion 2
    launch exhaustion-contests 4 60 "--mca coll_pccl_select measure --mca coll_pccl_cache_plans 1 $(topology mesh:2x2)" \
        exhaustion contests
    for number in 3 30; do
        exhaust init "$number" ""
    done
    for number in 2 700 5000; do
        exhaust blocking "$number" "--mca coll_pccl_select measure --mca coll_pccl_check 1"
    done
}

large() {
    available_mib=$(awk '/^MemAvailable/ { print int($2 / 1024) }' /proc/meminfo)
    if [ "$available_mib" -lt 12000 ]; then
        skip large "needs 12000 MiB of memory, $available_mib MiB are available"
    else
        launch large 2 200 "" large
    fi
}

start_command="the compiler"
if ! build >"$logs/build.log" 2>&1; then
    fail build "the test programs do not compile"
    exit 1
fi
for group in matrix levels programs requests hosts settings select_tests agreement exhaustion large; do
    if chosen "${group%_tests}"; then
        stage "${group%_tests}"
        "$group"
    fi
done
print_stages | sed 's/^/    /'
count_up
