#!/bin/sh
# Tests of the command line: runs every test_*.sh beside this file, each in a directory of its own, as many at a time as
# there are processors.
# PCCL: path of the program (default: the one of the build directory). Prints "PASS name" or "FAIL name: why" for each
# check; the exit code is 1 if one failed.
here=$(cd "$(dirname "$0")" && pwd)
PCCL=${PCCL:-${PCCL_BUILD:-.}/pccl}
PCCL=$(cd "$(dirname "$PCCL")" && pwd)/$(basename "$PCCL")
MANUAL=$here/../../doc/pccl.1
[ -x "$PCCL" ] || { echo "FAIL run.sh: no program at $PCCL"; exit 1; }
export PCCL MANUAL here
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
# What one file says is printed when it has ended, so that the lines of two do not mix.
printf '%s\n' "$here"/${1:-test_*.sh} | xargs -d '\n' -n 1 -P "$(nproc)" sh -c '
    work=$1/$(basename "$2")
    mkdir "$work" && cd "$work" && sh "$2" >"$work.out" 2>&1
    cat "$work.out"' file "$scratch" | tee "$scratch/log"
! grep -q '^FAIL' "$scratch/log" && grep -q '^PASS' "$scratch/log"
