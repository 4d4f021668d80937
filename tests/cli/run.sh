#!/bin/sh
# Tests of the command line: runs every test_*.sh beside this file, each in a directory of its own.
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
for file in "$here"/${1:-test_*.sh}; do
    mkdir "$scratch/work" && cd "$scratch/work" || exit 1
    sh "$file" 2>&1
    cd "$scratch" && rm -rf "$scratch/work"
done | tee "$scratch/log"
! grep -q '^FAIL' "$scratch/log" && grep -q '^PASS' "$scratch/log"
