#!/bin/sh
# Runs MPI tests over pccl under valgrind. An error or definite leak fails the test if a function of pccl is in its
# stack; Open MPI's own noise is not our business. See launch.sh for the environment.
set -eu
source=$(cd "$(dirname "$0")/../.." && pwd)
. "$source/tests/mpi/launch.sh"
here=$source/tests/mpi
command -v valgrind >/dev/null || {
    skip valgrind "valgrind is not installed"
    exit 0
}

# valgrind_launch NAME RANKS "OPTIONS" PROGRAM ARGUMENTS...
valgrind_launch() {
    name=$1
    ranks=$2
    options=$3
    shift 3
    rm -f "$logs/$name".valgrind.*
    # Whole source paths, so that static functions are known as pccl's too.
    # shellcheck disable=SC2086
    start "$name" 200 "$pccl_environment" -n "$ranks" $options valgrind --quiet --leak-check=full \
        --show-leak-kinds=definite --keep-debuginfo=yes --num-callers=40 --fullpath-after= \
        --log-file="$logs/$name.valgrind.%p" "$TEST_FOLDER/$@"
    # Reports are paragraphs: lines "==PID== text", and one without text between two of them.
    awk '
        function judge() {
            if (paragraph ~ /mca_coll_pccl|synth\//) {
                print paragraph
                ours++
            }
            paragraph = ""
        }
        {
            text = $0
            sub(/^==[0-9]+== ?/, "", text)
            if (text == "")
                judge()
            else
                paragraph = paragraph text "\n"
        }
        FNR == 1 { judge() }
        END {
            judge()
            exit ours > 0
        }' "$logs/$name".valgrind.* >"$logs/$name.errors" || {
        cat "$logs/$name.errors" >>"$logs/$name.log"
        fail "$name" "$(grep -c '^$' "$logs/$name.errors") errors with pccl in their stack"
        return
    }
    judge "$name" "$at_work"
}

start_command="the compiler"
if ! { compile collectives "$here/collectives.c" "$here/call.c" "$here/reference.c" "$here/datatypes.c" \
    "$here/communicators.c" "$here/reductions.c" "$here/check.c" &&
    compile reports "$source"/tests/regress/*.c "$here/check.c"; } >"$logs/build.log" 2>&1; then
    fail build "the test programs do not compile"
    exit 1
fi
valgrind_launch valgrind-collectives 3 "" collectives --random 100 roots types reductions random
valgrind_launch valgrind-torus 4 "--mca coll_pccl_topology torus:2x2 --mca coll_pccl_message_limit 500" \
    collectives --random 100 counts comms random
valgrind_launch valgrind-reports 3 "--mca coll_pccl_cache_plans 2" reports
count_up
