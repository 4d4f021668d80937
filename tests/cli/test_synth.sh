# Every collective on several topologies: made, verified again from its file, simulated to the same time.
. "$here/common.sh"

for topology in ring:5 star:6 torus:3x4 mesh:2x3 hypercube:3 fattree:2x3 full:4; do
    for collective in allgather allreduce alltoall barrier broadcast gather reduce reduce_scatter scatter scan \
                      exscan; do
        name="$collective on $topology"
        check "synth $name" 0 "$PCCL" synth -t $topology -c $collective -s 24KiB --effort quick --json -o s.json || continue
        promised=$(sed -n 's/.*"makespan_ps": \([0-9]*\).*/\1/p' out)
        bound=$(sed -n 's/.*"bound_ps": \([0-9]*\).*/\1/p' out)
        [ "$bound" -le "$promised" ] && echo "PASS bound of $name" || echo "FAIL bound of $name: $bound above $promised"
        check "verify $name" 0 "$PCCL" verify s.json
        check "simulate $name" 0 "$PCCL" simulate --json s.json
        holds "same time, $name" out "\"makespan_ps\": $promised[,}]"
    done
done

check "json" 0 "$PCCL" synth -t ring:4 -c allgather --json
for key in topology collective ranks bytes makespan_ps bound_ps bound_argument gap synthesis_seconds operations messages steps \
           pieces peak_memory_bytes method digest; do
    holds "json has $key" out "\"$key\": "
done
if command -v python3 >/dev/null; then
    cp out result.json
    check "json parses" 0 python3 -c 'import json; json.load(open("result.json"))'
fi

# The same inputs give the same bytes; other inputs do not.
for i in 1 2; do
    check "run $i" 0 "$PCCL" synth -t torus:4x4 -c alltoall -s 4KiB -o run$i.json
done
same "deterministic" run1.json run2.json
check "other size" 0 "$PCCL" synth -t torus:4x4 -c alltoall -s 5KiB -o run3.json
cmp -s run1.json run3.json && echo "FAIL other size, other file: equal" || echo "PASS other size, other file"

# Relays: forbidden in verify on demand.
check "relays" 0 "$PCCL" synth -t mesh:3x3:routing=none -c alltoall -g 0,8 --relays -o relays.json
check "verify relays" 0 "$PCCL" verify relays.json
holds "verify names relays" out "outside the group"
refuses "verify --no-relays" 1 "relays.json" "$PCCL" verify --no-relays relays.json
refuses "unreachable without relays" 1 "." "$PCCL" synth -t mesh:3x3:routing=none -c alltoall -g 0,8
check "explain relays" 0 "$PCCL" explain --rank=all relays.json

# What if.
check "what if: twice as slow" 0 "$PCCL" synth -t torus:4x4:bandwidth=2GB/s:latency=0:overhead=0 -c allgather -s 1MiB -o fast.json
check "what if: slower" 0 "$PCCL" simulate fast.json -t torus:4x4:bandwidth=1GB/s:latency=0:overhead=0
holds "what if: ratio" out "\(2\.000 times as long\)"
refuses "what if: too small" 1 "no device named" "$PCCL" simulate fast.json -t torus:3x3

check "explain" 0 "$PCCL" explain run1.json
holds "explain: candidates" out "^  pairwise"
holds "explain: gain over each" out "^  bruck:alltoall .*[0-9]x"
holds "explain: links" out "held .* on average"
holds "explain: operations" out "send to [0-9]+: "
check "explain one rank" 0 "$PCCL" explain --rank=3 run1.json
holds "explain one rank" out "^Operations of rank 3 "
refuses "explain: no such rank" 2 "expected 0 to 15" "$PCCL" explain --rank=16 run1.json

# One row is this schedule, whatever others do; where times are equal nobody is called slower.
for request in "star:8 -c allgather -s 1MiB --effort quick" "star:8 -c alltoall -s 8 --method bruck" \
               "star:2 -c alltoall -s 8"; do
    check "to be explained: $request" 0 "$PCCL" synth -t $request --json -o marked.json
    method=$(sed 's/.*"method": "\([^"]*\)".*/\1/' out)
    for name in "$method" mine; do
        sed "s/\"method\": \"[^\"]*\"/\"method\": \"$name\"/" marked.json >named.json
        check "marks this schedule: $request, $name" 0 "$PCCL" explain --candidates named.json
        [ "$(grep -c 'this schedule\(, the best\)\?$' out)" -eq 1 ] && grep -q "^  $name .* 1.000x  this schedule" out &&
            echo "PASS one row is this schedule: $request, $name" ||
            echo "FAIL one row is this schedule: $request, $name: $(grep 1.000x out | head -3)"
        holds "others as fast: $request, $name" out "1\.000x  as fast in the model$"
    done
done
check "a schedule that another beats" 0 "$PCCL" synth -t star:8 -c alltoall -s 8 --method bruck -o beaten.json
check "explain what is beaten" 0 "$PCCL" explain --candidates beaten.json
holds "faster ones are named so" out " 0\.[0-9]*x  faster in the model$"
holds "this one is not called the best" out "1\.000x  this schedule$"

# A pattern of one's own: rank 0 sends 100 bytes to 1 and 2, ranks 1 and 2 each other 7 bytes.
cat >pattern.json <<'END'
{"format": "pccl-demand", "version": 1, "collective": "custom", "devices": [0, 5, 10],
 "chunks": [{"bytes": 100, "sources": [0], "targets": [1, 2]}, {"bytes": 7, "sources": [1], "targets": [2]},
            {"bytes": 7, "sources": [2], "targets": [1]}]}
END
check "pattern" 0 "$PCCL" synth -t mesh:4x4:routing=none -c pattern.json --relays -o own.json
check "verify pattern" 0 "$PCCL" verify own.json
check "explain pattern" 0 "$PCCL" explain own.json
check "plot pattern" 0 "$PCCL" plot own.json -o own.svg
check "what if, pattern" 0 "$PCCL" simulate own.json -t torus:4x4:routing=none
refuses "pattern and size" 2 "the file 'pattern.json' tells that itself" "$PCCL" synth -t mesh:4x4 -c pattern.json -s 8
refuses "pattern for too few devices" 3 "pattern.json.*devices" "$PCCL" synth -t ring:4 -c pattern.json
refuses "no such pattern" 4 "absent.json" "$PCCL" synth -t ring:4 -c absent.json
sed 's/"targets": \[1\]/"targets": [3]/' pattern.json >wrong.json
refuses "wrong pattern" 3 "wrong.json.*chunks" "$PCCL" synth -t mesh:4x4 -c wrong.json
printf '{"collective": "scatter", "devices": ["d0.0", "d3.3"], "root": 1, "bytes": 4096}' >scatter.json
check "scatter from a file" 0 "$PCCL" synth -t mesh:4x4 -c scatter.json --json
holds "scatter from a file" out '"collective": "scatter".*"bytes": 4096'
