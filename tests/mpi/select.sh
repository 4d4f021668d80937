# Sourced by run.sh: who serves is measured, the outcome is the same on all ranks, and what is kept from run to run.

measuring="$load_environment OMPI_MCA_coll_pccl_priority=90 OMPI_MCA_coll_pccl_verbose=1"
known='from now on served by .*: known from before'

# measured NAME RANKS "OPTIONS" PATTERN FORBIDDEN PROGRAM ARGUMENTS...: coll_pccl_select as it is by default.
measured() {
    measured_name=$1
    measured_ranks=$2
    measured_options=$3
    measured_pattern=$4
    measured_forbidden=$5
    shift 5
    # shellcheck disable=SC2086 # the options are words
    start "$measured_name" 100 "$measuring" -n "$measured_ranks" $measured_options "$TEST_FOLDER/$@"
    judge "$measured_name" "$measured_pattern" "$measured_forbidden"
}

# Right data whoever serves, with ranks that come late, threads, and a component below that makes one collective of
# others, through pccl.
test_measuring() {
    measured select-2 2 "" "from now on served by" "" select
    measured select-torus-6 6 "$(topology torus:2x3)" "from now on served by" "" select
    measured select-nested 3 "--mca coll_tuned_use_dynamic_rules 1 --mca coll_tuned_allreduce_algorithm 2" \
        "from now on served by" "" select
    measured select-threads 4 "" "" "" threads
    # Few calls of each kind: where they are short no contest ends, and what counts is right data while sides take turns.
    measured select-collectives 4 "$(topology mesh:2x2)" "coll:pccl: on for 4 ranks" "" \
        collectives --plain roots types reductions
    measured select-programs 3 "" "" "" programs --number 100 --plain
    measured select-neighbors 4 "" "neighbor_alltoallv on .*$at_work" "" neighbors
    for words in "declined: blocking calls are left to the component below" "plan "; do # of both forms
        said "neighbor_alltoall on .*: $words" || fail select-neighbors "no line of neighbor_alltoall with \"$words\""
    done
    measured select-bcast-only 3 "--mca coll_pccl_collectives bcast" "bcast on .*from now on served by" \
        "allreduce on .*from now on" select --one-thread
    measured select-reproducible 3 "--mca coll_pccl_reproducible 1" "bcast on .*from now on served by" \
        "reduce on .*from now on" select --one-thread
}

# Plans whose messages are cut into crumbs, and, the other way round, a component below that waits for everybody before
# and after each call.
test_handicaps() {
    measured select-bad-plan 2 "--mca coll_pccl_message_limit 16" \
        "bcast on MPI_COMM_WORLD .* 64 KiB to below 128 KiB: from now on served by the component below" "" \
        select --one-thread
    measured select-bad-default 2 "--mca coll_sync_priority 50 --mca coll_sync_barrier_before 1 \
        --mca coll_sync_barrier_after 1" \
        "reduce on MPI_COMM_WORLD .* 1 KiB to below 2 KiB: from now on served by pccl" "" select --one-thread
}

test_model() {
    measured select-model 4 "--mca coll_pccl_select model" "barrier on .*declined: the best plan in the model" \
        "from now on" select --calls 5
    measured select-model-torus 9 "--mca coll_pccl_select model $(topology torus:3x3)" "$at_work" "from now on" \
        select --calls 5
    # Among its calls are non-blocking all-to-alls in place, in which those of Open MPI never end.
    measured select-model-neighbors 4 "--mca coll_pccl_select model" "declined: the best plan in the model" "" neighbors
    measured select-model-empty 4 "--mca coll_pccl_select model" "" "" reports "empty types with counts"
    repeatedly expect select-unknown 3 "--mca coll_pccl_select sometimes" "coll_pccl_select has the value"
}

# spoil FILES...: each in another way.
spoil() {
    spoiled=0
    for file in "$@"; do
        case $((spoiled % 4)) in
        0) truncate -s 100 "$file" ;;
        1) sed -i 's/"made_by": "[^"]*"/"made_by": "pccl 0.0.0"/' "$file" ;;
        2) sed -i 's/"key": "[^"]*"/"key": "another"/' "$file" ;;
        *) head -c 300 /dev/urandom >"$file" ;;
        esac
        spoiled=$((spoiled + 1))
    done
}

# keyed PATTERN [FORBIDDEN]: what users search the directory for.
keyed() {
    keys=$(grep -h '"key"' "$plans"/*.json)
    echo "$keys" | grep -qE "\"key\": \"$1" || fail "$start_name" "no key in $plans with \"$1\""
    [ -z "${2:-}" ] || ! echo "$keys" | grep -qE "\"key\": \"$2" || fail "$start_name" "a key in $plans with \"$2\""
}

# What one run has found out, and planned, the next one knows; files that are not what they should be are told about,
# not used, and replaced.
test_plan_dir() {
    plans=$TEST_FOLDER/plans
    rm -rf "$plans"
    mkdir "$plans"
    kept="--mca coll_pccl_plan_dir $plans"
    measured kept-first 3 "$kept" "allreduce on .*measured" "not used: /" select
    measured kept-second 3 "$kept" "allreduce on MPI_COMM_WORLD .*$known" "allreduce on .*measured|not used: /" select
    measured kept-elsewhere 2 "$kept" "allreduce on .*measured" "not used: /" select
    always="$kept --mca coll_pccl_select always"
    measured kept-plans 3 "$always" "" "not used: /" select --calls 5
    keyed "bcast, 2048 bytes, root 0, 3 ranks on [0-9a-f]{16} of" "broadcast"
    keyed "allreduce, 2048 bytes, 3 ranks on [0-9a-f]{16} of" "allreduce[^\"]* root"
    keyed "barrier, 3 ranks on [0-9a-f]{16} of" "barrier[^\"]* bytes"
    measured kept-plans-again 3 "$always" "allreduce on .*kept from before" "not used: /" select --calls 5
    spoil "$plans"/plan-*.json "$plans"/outcome-*.json
    measured kept-spoiled 3 "$always" "coll_pccl_plan_dir: not used: /.*plan-" "allreduce on .*kept from before" \
        select --calls 5
    measured kept-replaced 3 "$always" "allreduce on .*kept from before" "not used: /" select --calls 5
    measured kept-outcomes 3 "$kept" "coll_pccl_plan_dir: not used: /.*outcome-" "" select
}

# Where a frugal plan was the fastest, or so a file says, it serves in all forms.
test_frugal() {
    tried=$TEST_FOLDER/frugal-plans
    rm -rf "$tried"
    mkdir "$tried"
    kept="--mca coll_pccl_plan_dir $tried $(topology torus:2x3)"
    measured frugal-tried 6 "$kept" "plan .*\(frugal\)" "" select
    grep -l frugal_ps "$tried"/outcome-*.json | xargs sed -i 's/"fastest": "[a-z]*"/"fastest": "frugal"/'
    measured frugal-known 6 "$kept" "from now on served by pccl's frugal plan: known from before" "not used: /" select
}

# A rank that reads other files than the rest: all make their plans and measure for themselves.
test_plan_dir_of_one() {
    mkdir -p "$TEST_FOLDER/other-plans"
    start kept-by-some 60 "$measuring OMPI_MCA_coll_pccl_select=always" \
        -n 2 --mca coll_pccl_plan_dir "$plans" "$TEST_FOLDER/select" --calls 5 : \
        -n 1 env OMPI_MCA_coll_pccl_plan_dir="$TEST_FOLDER/other-plans" "$TEST_FOLDER/select" --calls 5
    judge kept-by-some "do not all have the same plan"
}

# once NAME PATTERN: the last start has said it exactly once.
once() {
    if [ "$(grep -cE "$2" "$logs/$start_name.log" || true)" -eq 1 ]; then
        pass "$1-once"
    else
        fail "$start_name" "not exactly one line with \"$2\""
    fi
}

# A directory that is missing, a file, full, or cannot be written to: everything goes on, and one line says so.
test_plan_dir_trouble() {
    measured kept-nowhere 3 "--mca coll_pccl_plan_dir /nowhere/at/all" \
        "nothing is kept: /nowhere/at/all: no such directory; it has to be made" "" select --one-thread
    once kept-nowhere "nothing is kept"
    : >"$TEST_FOLDER/plan-file"
    measured kept-in-file 3 "--mca coll_pccl_plan_dir $TEST_FOLDER/plan-file" "nothing is kept: .*plan-file" "" \
        select --calls 110
    once kept-in-file "coll_pccl_plan_dir"
    small=$TEST_FOLDER/small
    mkdir -p "$small"
    for trouble in "size=4k" "ro"; do
        name=kept-${trouble%%=*}
        if ! unshare --mount mount -t tmpfs -o "$trouble" tmpfs "$small" 2>"$logs/unshare.log"; then
            skip "$name" "no right to mount in a namespace"
            continue
        fi
        real_mpirun=$mpirun
        mpirun=$here/mounted.sh
        start "$name" 60 "$measuring MOUNT_OPTIONS=$trouble MOUNT_POINT=$small MPIRUN=$real_mpirun" -n 3 \
            --mca coll_pccl_plan_dir "$small" "$TEST_FOLDER/select" --one-thread
        mpirun=$real_mpirun
        judge "$name" "nothing is kept: $small" "measured .*$known"
        once "$name" "nothing is kept"
    done
}

select_tests() {
    test_measuring
    test_handicaps
    test_model
    test_plan_dir
    test_frugal
    test_plan_dir_of_one
    test_plan_dir_trouble
}
