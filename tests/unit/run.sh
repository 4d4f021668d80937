#!/bin/sh
# Runs the test programs that need no MPI, of one build or of several, as many at a time as there are processors:
# run.sh LOGS PREFIX=BUILD-FOLDER...  Prints a line for each, under the name PREFIX-NOUN, and keeps its output in LOGS.
set -eu
tests=$(cd "$(dirname "$0")/.." && pwd)
logs=$1
shift

# Those that take longest come first, so that no processor waits for one of them at the end.
longest=' hierarchy portfolio multicast classical parts program bound '

# list WHICH PREFIX=BUILD-FOLDER...: the longest or the other programs, two lines each: its name in the output, and its
# path.
list() {
    which=$1
    shift
    for build in "$@"; do
        for program in "${build#*=}"/tests/unit/test_* "${build#*=}/tests/fuzz/replay"; do
            name=${program##*/}
            name=${name#test_}
            case $longest in
            *" $name "*) kind=longest ;;
            *) kind=other ;;
            esac
            case $program in
            *.o | *.log | *.trs | *'*') ;;
            *) [ "$kind" != "$which" ] || printf '%s\n' "${build%%=*}-$name" "$program" ;;
            esac
        done
    done
}

programs() {
    list longest "$@"
    list other "$@"
}

# What belongs to one program is printed at once, so that the lines of two do not mix.
programs "$@" | xargs -d '\n' -n 2 -P "$(nproc)" sh -c '
    logs=$2
    . "$1/common.sh"
    text=$(run "$3" 600 "$4" || true)
    printf "%s\n" "$text"' unit "$tests" "$logs"
