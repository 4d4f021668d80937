#!/bin/bash
# Compares pccl with Open MPI's default, and with -f with all its forced algorithms, on a cluster of 16 hosts made on
# this machine. Appends rows to a CSV file: network, order of ranks, group, and what compare.c prints. What pccl says,
# its predicted times too, goes to stderr.
#   compare.sh [-f|-x] [-c] [-m CALLS] [-o ORDER] [-g NAME=COLORS] [-n CALLS] [-p MCA-OPTIONS] KIND FILE.csv
#              COLLECTIVE:SIZE,...
# -f: the forced algorithms too; -x: pccl alone; -c: the fabric is calibrated first, else its costs are rough guesses.
# -m: as users get it, with coll_pccl_select measure, timed after so many calls (it decides within 99); else pccl
# serves every call.
# KIND: star, tree, torus or mesh. ORDER: natural, or a seed: hosts in random order. NAME=COLORS: see -g of compare.c.
# PCCL_BUILD: a build of pccl. CLUSTER_RATE_MBIT: of each link, default 10. CLUSTER_LIMIT_S: after which a call has
# failed, default 60.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
source=$(cd "$here/../.." && pwd)
. "$here/network.sh"
order=natural group=all=0 calls=5 forced="" calibrated="" more="" select=always before=1
while getopts fxcm:o:g:n:p: option; do
    case $option in
    f | x) forced=-$option ;;
    c) calibrated=yes ;;
    m) select=measure before=$OPTARG ;;
    o) order=$OPTARG ;;
    g) group=$OPTARG ;;
    n) calls=$OPTARG ;;
    p) more=$OPTARG ;;
    *) exit 2 ;;
    esac
done
shift $((OPTIND - 1))
kind=$1 csv=$2
shift 2
component=${PCCL_COMPONENT_DIR:-$PCCL_BUILD/installed/lib/openmpi}
[ -e "$component/mca_coll_pccl.so" ] || component=$PCCL_BUILD/.libs

obstacle=$(cluster_obstacle)
[ -z "$obstacle" ] || { echo "compare.sh: $obstacle" >&2; exit 77; }
trap cluster_down EXIT
trap 'exit 143' TERM INT
cluster_up "$kind" >&2
mpicc -std=gnu11 -D_GNU_SOURCE -O2 -I "$source/mca_coll_pccl/benchmark" "$here"/{compare,variants,meeting}.c \
    "$source/mca_coll_pccl/benchmark/collectives.c" -o "$CLUSTER_DIR/compare"
mpicc -shared -fPIC -O2 "$here/idle.c" -o "$CLUSTER_DIR/idle.so" -ldl
cluster_fabric >"$CLUSTER_DIR/fabric.json"
if [ "$order" != natural ]; then
    shuf --random-source=<(yes "$order") "$CLUSTER_DIR/hosts" -o "$CLUSTER_DIR/hosts"
fi
colors=${group#*=}
if [ "$colors" = 0 ]; then colors=$(yes 0 | head -n $CLUSTER_HOSTS | paste -sd,); fi

if [ -n "$calibrated" ]; then
    program=$PCCL_BUILD/installed/bin/pccl-calibrate
    [ -e "$program" ] || program=$PCCL_BUILD/pccl-calibrate
    cluster_mpirun -n $CLUSTER_HOSTS -x LD_PRELOAD="$CLUSTER_DIR/idle.so" "$program" -t "$CLUSTER_DIR/fabric.json" \
        >"$CLUSTER_DIR/calibrated" 2>&1 || { cat "$CLUSTER_DIR/calibrated" >&2; exit 1; }
    grep -A 6 '^class' "$CLUSTER_DIR/calibrated" | sed '/^$/,$d' >&2
fi

status=0
# shellcheck disable=SC2086
cluster_mpirun -n $CLUSTER_HOSTS -x LD_PRELOAD="$CLUSTER_DIR/idle.so" \
    --mca mca_base_component_path "$component:SYSTEM_DEFAULT" \
    --mca coll_pccl_priority 100 --mca coll_pccl_select $select --mca coll_pccl_verbose "${CLUSTER_VERBOSE:-1}" \
    --mca coll_pccl_topology "$CLUSTER_DIR/fabric.json" --mca coll_tuned_use_dynamic_rules 1 $more \
    "$CLUSTER_DIR/compare" $forced -n "$calls" -w "$before" -l "$kind,$order,${group%%=*}" -g "$colors" \
    -k "$CLUSTER_DIR/counters" -m "$CLUSTER_DIR/meeting" -t "${CLUSTER_LIMIT_S:-60}" \
    "$@" >"$CLUSTER_DIR/out" 2>"$CLUSTER_DIR/err" </dev/null || status=$?
cat "$CLUSTER_DIR/out" >>"$csv"
grep 'coll:pccl\|compare:' "$CLUSTER_DIR/err" >&2 || cat "$CLUSTER_DIR/err" >&2
drops=$(cluster_drops)
[ "$drops" -eq 0 ] || { echo "compare.sh: shaping has thrown away $drops packets: the times do not count" >&2; exit 1; }
exit $status
