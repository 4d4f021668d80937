# Sourced by the scripts in tests/. Runs commands with a time limit, one line per test, and counts.

passed=0
failed=0
skipped=0

# The stage that is under way, and a line "NAME:SECONDS" for each that has ended.
stage_name=
stages=

# Open MPI refuses to start as root unless told twice, which is right on a desktop and in the way in a container.
if [ "$(id -u)" -eq 0 ]; then
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi

# More ranks than cores, nothing but shared memory, no binding: what every mpirun of the tests is started with.
mpi_test_options="--oversubscribe --bind-to none --mca mpi_yield_when_idle 1 --mca pml ob1 --mca btl vader,self"

# Which lines relay shows.
relay_all='^(PASS|FAIL|SKIP|   ) '
relay_shown=$relay_all

# print_log FILE: the end of a log, indented.
print_log() {
    tail -n 40 "$1" | sed 's/^/    | /'
}

# stop_with_children: a script that is told to stop also stops the command it waits for, with all that this has started.
# A shell attends to signals between commands only, or while it waits for one in the background, as `run` and `relay` do.
stop_with_children() {
    trap 'trap - TERM INT; kill -s TERM $(descendants $$) 2>/dev/null; exit 143' TERM INT
}

# descendants PROCESS: the numbers of all processes below it.
descendants() {
    ps -e -o pid= -o ppid= | awk -v top="$1" '
        { parent[$1] = $2 }
        END {
            for (process in parent) {
                for (p = process; p in parent && p != top; p = parent[p]) { }
                if (p == top && process != top) { print process }
            }
        }'
}

# run NAME SECONDS COMMAND...: PASS if the command succeeds in time, SKIP if it exits with 77, else FAIL and the end of
# its output. The whole output is kept in $logs/NAME.log.
run() {
    run_name=$1
    run_limit=$2
    shift 2
    run_start=$(date +%s)
    run_status=0
    timeout -k 10 "$run_limit" "$@" >"$logs/$run_name.log" 2>&1 </dev/null &
    wait $! || run_status=$?
    run_seconds=$(($(date +%s) - run_start))
    case $run_status in
    0)
        passed=$((passed + 1))
        echo "PASS $run_name ($run_seconds s)"
        return 0
        ;;
    77)
        skipped=$((skipped + 1))
        echo "SKIP $run_name: $(tail -n 1 "$logs/$run_name.log")"
        return 0
        ;;
    124 | 137) echo "FAIL $run_name: no end after $run_limit s" ;;
    *) echo "FAIL $run_name: exit status $run_status after $run_seconds s" ;;
    esac
    failed=$((failed + 1))
    print_log "$logs/$run_name.log"
    return 1
}

# relay NAME SECONDS COMMAND...: for commands that print lines "PASS name", "FAIL name: why", "SKIP name: why"
# themselves, and details indented by four blanks: shows and counts those. A command that fails without a FAIL line, or
# says nothing, is one failure.
relay() {
    relay_name=$1
    relay_limit=$2
    shift 2
    relay_log=$logs/$relay_name.log
    {
        relay_status=0
        timeout -k 10 "$relay_limit" "$@" 2>&1 </dev/null || relay_status=$?
        echo "exit status $relay_status (124: no end after $relay_limit s)"
    } | tee "$relay_log" | grep --line-buffered -E "$relay_shown" &
    wait $! || true
    passed=$((passed + $(grep -c '^PASS ' "$relay_log" || true)))
    skipped=$((skipped + $(grep -c '^SKIP ' "$relay_log" || true)))
    relay_failed=$(grep -c '^FAIL ' "$relay_log" || true)
    failed=$((failed + relay_failed))
    [ "$relay_failed" -eq 0 ] || return 0
    if ! tail -n 1 "$relay_log" | grep -q '^exit status 0 ' || ! grep -qE '^(PASS|SKIP) ' "$relay_log"; then
        failed=$((failed + 1))
        echo "FAIL $relay_name: $(tail -n 1 "$relay_log")"
        print_log "$relay_log"
    fi
}

# relay_quietly: the same for commands that make very many small checks: those that pass are only counted.
relay_quietly() {
    relay_shown='^(FAIL|SKIP|   ) '
    relay_passed=$passed
    relay "$@"
    relay_shown=$relay_all
    echo "PASS $1: $((passed - relay_passed)) checks"
}

# stage NAME: what follows, until the next stage, is timed under this name.
stage() {
    end_stage
    stage_name=$1
    stage_start=$(date +%s)
}

end_stage() {
    [ -z "$stage_name" ] || stages="$stages$stage_name:$(($(date +%s) - stage_start))
"
    stage_name=
}

# print_stages: how long each stage took.
print_stages() {
    end_stage
    printf '%s' "$stages" | awk -F: '
        { printf "%-20s %5d s\n", $1, $2; all += $2 }
        END { printf "%-20s %5d s\n", "all stages", all }'
}

# count_up: the last line of a test script; its status is that of the script.
count_up() {
    echo "$passed passed, $failed failed, $skipped skipped"
    [ "$failed" -eq 0 ]
}
