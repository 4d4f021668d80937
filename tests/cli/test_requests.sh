# What is asked for and cannot be had, and what only may be used.
. "$here/common.sh"

# Relays never make a schedule worse.
cat >pattern.json <<'EOF'
{"collective": "custom", "devices": [0, 5, 10],
 "chunks": [{"bytes": 100, "sources": [0], "targets": [1, 2]},
            {"bytes": 7, "sources": [2], "targets": [1]}]}
EOF
finish()
{
    sed 's/.*"makespan_ps": \([0-9]*\).*/\1/' "$1"
}
for request in "-c ./pattern.json" "-c allgather -g 0,5,10" "-c alltoall -g 0-3 -s 64"; do
    check "without relays: $request" 0 "$PCCL" synth -t torus:4x4 $request --json
    cp out without
    check "with relays: $request" 0 "$PCCL" synth -t torus:4x4 $request --relays --json
    [ "$(finish out)" -le "$(finish without)" ] && echo "PASS relays are no loss: $request" ||
        echo "FAIL relays are no loss: $request: $(finish out) ps instead of $(finish without) ps"
done
check "only relays make it possible" 0 "$PCCL" synth -t mesh:4x4:routing=none -c alltoall -g 0,10 --relays

# Networks and groups that fall apart.
printf 'src,dst,GBps\n0,1,10\n1,0,10\n2,3,10\n3,2,10\n' >islands.csv
refuses "two islands" 1 "no way from 'n0' to 'n2'" "$PCCL" synth -t islands.csv -c allgather
printf 'src,dst,GBps\n0,1,10\n1,2,10\n2,1,10\n' >oneway.csv
refuses "a one-way street" 1 "no way from 'n1' to 'n0'" "$PCCL" synth -t oneway.csv -c allgather
refuses "a group that falls apart" 1 "'d0.0' to 'd2.2' within the group.*--relays" \
    "$PCCL" synth -t mesh:4x4:routing=none -c alltoall -g 0,10

refuses "scans in several groups at once" 1 "no pattern of chunks" "$PCCL" synth -t mesh:4x4 -c scan -g each:row

# Methods by name.
for collective in allgather allreduce alltoall barrier broadcast gather reduce reduce_scatter scatter scan exscan \
                  ./pattern.json; do
    refuses "unknown method: $collective" 2 "begins with 'nix'; known are [a-z]+, [a-z]+" \
        "$PCCL" synth -t torus:4x4 -c $collective --method nix
done
check "a method by the begin of its name" 0 "$PCCL" synth -t torus:4x4 -c allgather --method match
holds "a method by the begin of its name: used" out "^method +matching"

# One way of counting pieces, and no size where there is none.
check "pieces of an all-reduce" 0 "$PCCL" synth -t torus:4x4 -c allreduce -o reduce.json --json
pieces=$(sed 's/.*"pieces": \([0-9]*\).*/\1/' out)
check "pieces of an all-reduce explained" 0 "$PCCL" explain reduce.json --candidates
holds "pieces of an all-reduce agree" out "^  [a-z:]+ +$pieces .* this schedule, the best$"
check "barrier" 0 "$PCCL" synth -t ring:4 -c barrier
holds "barrier without a size" out "^barrier among 4 ranks"
