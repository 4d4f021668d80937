#!/bin/bash
# Shows in half a minute what a plan gains where the network is the bottleneck: 16 hosts made of network namespaces on
# this machine, four racks of four, whose uplinks are as fast as one host's link; ranks scattered over them, as batch
# systems often leave them. PCCL_BUILD: a build of pccl. Exits with 77, and has said why, where namespaces are not
# allowed.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
export CLUSTER_RATE_MBIT=20
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

status=0
"$here/compare.sh" -o 1 -n 3 tree "$folder/csv" allgather:16K allreduce:128K bcast:128K >"$folder/log" 2>&1 || status=$?
if [ $status -eq 77 ]; then
    sed 's/^compare.sh: /not shown: /' "$folder/log"
    exit 77
elif [ $status -ne 0 ]; then
    tail -n 20 "$folder/log"
    exit 1
fi
"$here/report.sh" "$folder/csv" "" $CLUSTER_RATE_MBIT | awk '
    NR == 1 { printf "%-12s %9s %13s %10s %8s %18s\n", "collective", "bytes", "default ms", "pccl ms",
        "faster", "least possible ms" }
    NR > 1 { printf "%-12s %9d %13.1f %10.1f %7.1fx %18.1f\n", $4, $5, $6, $9, $6 / $9, $11 }'
awk -F, '
    $6 == "pccl" { pccl = $12 }
    $6 == "default" && !done { done = 1
        printf "In the first, the busiest link carries %.2f MB over the default, %.2f MB over pccl (%s).\n",
            $12 / 1e6, pccl / 1e6, "counted by the links themselves" }' "$folder/csv"
