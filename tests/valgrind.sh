#!/bin/sh
# Runs an MPI program over pccl under valgrind and reports every error and every definite leak that has a function of
# pccl in its stack. What Open MPI does by itself is not our business.
set -eu
. "$(dirname "$0")/common.sh"
build=${PCCL_BUILD:-.}
command -v valgrind >/dev/null || {
    echo "valgrind is not installed"
    exit 77
}
reports=$(mktemp -d)
trap 'rm -rf "$reports"' EXIT
export OMPI_MCA_mca_base_component_path="$(cd "$build/.libs" && pwd):SYSTEM_DEFAULT"

timeout -k 10 280 "${MPIRUN:-mpirun}" -n 3 $mpi_test_options --mca btl_vader_single_copy_mechanism none \
    --mca coll_pccl_priority 100 \
    valgrind --quiet --leak-check=full --show-leak-kinds=definite --keep-debuginfo=yes --num-callers=30 \
    --log-file="$reports/%p" \
    "$build/pccl-bench" -s 8,5000 -r 1 -i 2 --root 1 </dev/null

# Reports are paragraphs: lines "==PID== text", one without text between two of them.
awk '
    function judge() {
        if (paragraph ~ /(coll_pccl_|pccl_)[a-z_]+ \(/) {
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
    FNR == 1 { files++ }
    END {
        judge()
        printf "%d errors of pccl in %d reports\n", ours, files
        exit ours > 0
    }' "$reports"/*
