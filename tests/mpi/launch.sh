# Sourced by the test scripts that start MPI programs. The caller has set $source (the source tree).
#   PCCL_COMPONENT_DIR   folder that holds mca_coll_pccl.so; default: that of the build in PCCL_BUILD
#   TEST_FOLDER          where programs are built and logs are kept; default: a temporary folder, removed at the end
#   MPICC, MPIRUN        default: those in PATH
. "$source/tests/common.sh"

mpicc=${MPICC:-mpicc}
mpirun=${MPIRUN:-mpirun}
if [ -z "${TEST_FOLDER:-}" ]; then
    TEST_FOLDER=$(mktemp -d)
    trap 'rm -rf "$TEST_FOLDER"' EXIT
fi
mkdir -p "$TEST_FOLDER/logs"
TEST_FOLDER=$(cd "$TEST_FOLDER" && pwd)
logs=$TEST_FOLDER/logs
export TMPDIR="${TMPDIR:-/tmp}"

component=${PCCL_COMPONENT_DIR:-}
for folder in "${PCCL_BUILD:-.}/installed/lib/openmpi" "${PCCL_BUILD:-.}/.libs"; do
    if [ -z "$component" ] && [ -e "$folder/mca_coll_pccl.so" ]; then
        component=$(cd "$folder" && pwd)
    fi
done
if [ ! -e "$component/mca_coll_pccl.so" ]; then
    echo "FAIL launch: no mca_coll_pccl.so; set PCCL_COMPONENT_DIR to its folder, or PCCL_BUILD to a build folder"
    exit 1
fi

# What pccl says, with coll_pccl_verbose 1, when it serves a call and when it does not.
at_work=': plan '
declines=': declined: '

# MCA parameters go through the environment, so that a test can override each of them with --mca.
plain_environment="OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_pml=ob1 OMPI_MCA_btl=vader,self \
OMPI_MCA_btl_vader_single_copy_mechanism=none"
load_environment="$plain_environment OMPI_MCA_mca_base_component_path=$component:SYSTEM_DEFAULT"
# pccl serves whatever it can, so that it is what is tested.
pccl_environment="$load_environment OMPI_MCA_coll_pccl_priority=90 OMPI_MCA_coll_pccl_verbose=1 \
OMPI_MCA_coll_pccl_select=always"

# compile NAME SOURCES...: an MPI program, into $TEST_FOLDER.
compile() {
    compile_name=$1
    shift
    "$mpicc" -std=gnu11 -D_GNU_SOURCE -O2 -g -Wall -Wextra -Wshadow -Wstrict-prototypes ${TEST_CFLAGS:-} "$@" \
        -o "$TEST_FOLDER/$compile_name" -lm -lpthread -ldl
}

# fail NAME WHY: with the command that shows it again, what was wrong where, and the end of the log.
fail() {
    failed=$((failed + 1))
    echo "FAIL $1: $2"
    echo "    to repeat: $start_command"
    grep -E '^(WRONG|TIMEOUT)' "$logs/$1.log" | head -n 12 | sed 's/^/    | /' || true
    grep -vE "^(WRONG|TIMEOUT)|$at_work" "$logs/$1.log" | tail -n 15 | sed 's/^/    | /' || true
}

pass() {
    passed=$((passed + 1))
    echo "PASS $1${2:+ ($2)}"
}

skip() {
    skipped=$((skipped + 1))
    echo "SKIP $1: $2"
}

# start NAME SECONDS "ENVIRONMENT" MPIRUN-ARGUMENTS...: runs; sets $start_status and $start_seconds. The program's own
# output is in $logs/NAME.out, what goes to stderr (pccl's lines too) in NAME.err, both in NAME.log.
start() {
    start_name=$1
    start_limit=$2
    start_environment=$3
    shift 3
    start_command="env $start_environment $mpirun --oversubscribe --bind-to none $*"
    start_began=$(date +%s)
    start_status=0
    # shellcheck disable=SC2086 # the environment is words
    TEST_SECONDS=$start_limit timeout -k 5 $((start_limit + 5)) \
        env $start_environment "$mpirun" --oversubscribe --bind-to none "$@" \
        >"$logs/$start_name.out" 2>"$logs/$start_name.err" </dev/null || start_status=$?
    cat "$logs/$start_name.err" "$logs/$start_name.out" >"$logs/$start_name.log"
    start_seconds=$(($(date +%s) - start_began))
}

# Why the last start has failed; nothing if it has not.
trouble() {
    if grep -q '^TIMEOUT' "$logs/$start_name.log"; then
        echo "no end after $start_limit s"
    elif [ "$start_status" -eq 124 ] || [ "$start_status" -eq 137 ]; then
        echo "no end after $((start_limit + 5)) s"
    elif [ "$start_status" -ne 0 ]; then
        echo "exit status $start_status"
    fi
}

# judge NAME [REQUIRED-PATTERN [FORBIDDEN-PATTERN]]: PASS or FAIL for the last start.
judge() {
    judge_trouble=$(trouble)
    if [ -n "$judge_trouble" ]; then
        fail "$1" "$judge_trouble"
    elif [ -n "${2:-}" ] && ! grep -qE "$2" "$logs/$start_name.log"; then
        fail "$1" "the output has no line with \"$2\""
    elif [ -n "${3:-}" ] && grep -qE "$3" "$logs/$start_name.log"; then
        fail "$1" "the output has a line with \"$3\""
    else
        pass "$1" "$start_seconds s"
    fi
}

# launch NAME RANKS SECONDS "OPTIONS" PROGRAM ARGUMENTS...: a program over pccl; fails too if pccl was not at work.
launch() {
    launch_name=$1
    launch_ranks=$2
    launch_limit=$3
    launch_options=$4
    shift 4
    # shellcheck disable=SC2086 # the options are words
    start "$launch_name" "$launch_limit" "$pccl_environment" -n "$launch_ranks" $launch_options "$TEST_FOLDER/$@"
    judge "$launch_name" "$at_work"
}
