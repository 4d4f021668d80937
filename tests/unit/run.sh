#!/bin/sh
# Runs the test programs that need no MPI, of one build or of several, as many at a time as there are processors:
# run.sh LOGS PREFIX=BUILD-FOLDER...  Prints a line for each, under the name PREFIX-NOUN, and keeps its output in LOGS.
set -eu
tests=$(cd "$(dirname "$0")/.." && pwd)
logs=$1
shift

# Two lines per program: its name in the output, and its path.
programs() {
    for build in "$@"; do
        for program in "${build#*=}"/tests/unit/test_* "${build#*=}/tests/fuzz/replay"; do
            case $program in
            *.o | *.log | *.trs | *'*') ;;
            *)
                name=${program##*/}
                printf '%s\n' "${build%%=*}-${name#test_}" "$program"
                ;;
            esac
        done
    done
}

# What belongs to one program is printed at once, so that the lines of two do not mix.
programs "$@" | xargs -d '\n' -n 2 -P "$(nproc)" sh -c '
    logs=$2
    . "$1/common.sh"
    text=$(run "$3" 600 "$4" || true)
    printf "%s\n" "$text"' unit "$tests" "$logs"
