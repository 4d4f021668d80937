# Files that cannot be read or written: one message, the right exit code, nothing half-written.
. "$here/common.sh"

check "make" 0 "$PCCL" synth -t ring:4 -c allgather -s 4KiB -o good.json
refuses "no such file" 4 "absent.json" "$PCCL" verify absent.json
refuses "no such topology file" 4 "absent.json" "$PCCL" topology ./absent.json
refuses "a directory" 4 "\./" "$PCCL" verify ./
refuses "synth into nowhere" 4 "no/such/dir" "$PCCL" synth -t ring:4 -c allgather -o no/such/dir/x.json
refuses "plot into nowhere" 4 "no/such/dir" "$PCCL" plot good.json -o no/such/dir/x.svg
refuses "convert into nowhere" 4 "no/such/dir" "$PCCL" convert --to=csv good.json -o no/such/dir/x.csv
refuses "topology into nowhere" 4 "no/such/dir" "$PCCL" topology ring:4 -o no/such/dir/x.json

# The device that is always full; for root a node of its own, which a mistake may replace.
full=/dev/full
if [ "$(id -u)" -eq 0 ]; then
    mknod full c 1 7 2>/dev/null
    full=none
    [ -c full ] && dd if=/dev/null of=full 2>/dev/null && full=full
fi
if [ -c "$full" ]; then
    refuses "full disk: synth" 4 "No space left" "$PCCL" synth -t ring:4 -c allgather -o $full
    refuses "full disk: plot" 4 "No space left" "$PCCL" plot good.json -o $full
    refuses "full disk: convert" 4 "No space left" "$PCCL" convert --to=msccl good.json -o $full
    refuses "full disk: topology" 4 "No space left" "$PCCL" topology ring:4 -o $full
    for command in "--help" "topology ring:4" "topology --dot ring:4" "synth -t ring:4 -c allgather --json" "plot good.json" \
                   "convert --to=csv good.json" "explain good.json" "verify good.json"; do
        refuses "full disk: standard output of $command" 4 "No space left" sh -c "\"$PCCL\" $command >$full"
    done
    [ -c "$full" ] && echo "PASS full disk: still a device" || echo "FAIL full disk: still a device: replaced"
fi

# A closed pipe: the writer must notice, say so once and not die by a signal.
for command in "topology --dot torus:16x16" "plot good.json" "convert --to=csv good.json"; do
    { sleep 0.3; "$PCCL" $command 2>err; echo $? >code; } | true
    if [ "$(cat code)" = 4 ] && [ "$(wc -l <err)" -eq 1 ] && grep -q '^pccl: .*roken pipe' err; then
        echo "PASS closed pipe: $command"
    else
        echo "FAIL closed pipe: $command: exit code $(cat code), $(head -c 200 err)"
    fi
done

# An output that exists is replaced as a whole or not at all; a symbolic link stays one.
echo old >keep.json
refuses "failed synth keeps the old file" 2 "." "$PCCL" synth -t ring:4 -c nothing -o keep.json
[ "$(cat keep.json)" = old ] && echo "PASS old file kept" || echo "FAIL old file kept: changed"
check "replace" 0 "$PCCL" synth -t ring:4 -c allgather -s 4KiB -o keep.json
same "replaced" keep.json good.json
ln -s real.svg link.svg
check "through a link" 0 "$PCCL" plot good.json -o link.svg
: >real.svg
check "through a link to a file" 0 "$PCCL" plot good.json -o link.svg
[ "$(ls -A | grep -c '\.[A-Za-z0-9]\{6\}$')" -eq 0 ] && echo "PASS no temporary files left" ||
    echo "FAIL no temporary files left: $(ls -A)"

# Topologies: written and read back the same.
for topology in torus:3x4 fattree:2x3 boxes:2x4 dragonfly:3x2x2 mesh:2x2x2; do
    check "write $topology" 0 "$PCCL" topology $topology -o t.json
    check "read $topology" 0 "$PCCL" topology ./t.json
    cp out read.txt
    check "describe $topology" 0 "$PCCL" topology $topology
    same "$topology as before" out read.txt
done

# A schedule on a topology from a file needs that file again.
check "synth on a file" 0 "$PCCL" synth -t ./t.json -c allgather -o f.json
check "verify with -t" 0 "$PCCL" verify -t ./t.json f.json
refuses "verify with another topology" 3 "." "$PCCL" verify -t ring:8 f.json

# The format asked for goes where -o says.
check "Graphviz to the standard output" 0 "$PCCL" topology mesh:2x3 --dot
cp out direct
check "Graphviz to a file" 0 "$PCCL" topology mesh:2x3 --dot -o t.dot
same "Graphviz to a file: contents" t.dot direct
check "JSON to the standard output" 0 "$PCCL" topology mesh:2x3 --json
cp out direct
check "JSON to a file" 0 "$PCCL" topology mesh:2x3 --json -o description.json
same "JSON to a file: contents" description.json direct
refuses "two formats" 2 "expected one of them" "$PCCL" topology mesh:2x3 --json --dot

# A name that promises another format than the one written is refused before anything is made.
refuses "plot as PNG" 2 "'a.png' names a file of PNG, but .* SVG; expected a name that ends in .svg$" \
    "$PCCL" plot good.json -o a.png
refuses "plot as PDF, in capitals" 2 "sub.dir/A.PDF' names a file of PDF" "$PCCL" plot good.json -o sub.dir/A.PDF
refuses "topology as a picture" 2 "'t.svg' .* JSON; .* ends in .json, or --draw for a picture" \
    "$PCCL" topology ring:4 -o t.svg
refuses "topology drawn as JSON" 2 "ends in .svg$" "$PCCL" topology ring:4 --draw -o drawn.json
refuses "topology for Graphviz as SVG" 2 "ends in .dot$" "$PCCL" topology ring:4 --dot -o drawn.svg
refuses "schedule as a picture" 2 "'pccl plot' draws" "$PCCL" synth -t ring:4 -c allgather -o s.svg
refuses "MSCCL as CSV" 2 "ends in .xml$" "$PCCL" convert --to=msccl good.json -o s.csv
for name in a.png A.PDF t.svg drawn.json drawn.svg s.svg s.csv; do
    [ -e $name ] && echo "FAIL nothing written as $name: there" || echo "PASS nothing written as $name"
done
check "plot without an ending" 0 "$PCCL" plot good.json -o picture
check "plot with an ending of nobody" 0 "$PCCL" plot good.json -o picture.svg.new
check "Graphviz by its other ending" 0 "$PCCL" topology ring:4 --dot -o t.gv

# Where the costs come from.
check "default costs" 0 "$PCCL" topology ring:4
holds "default costs counted" out "^costs +0 links measured, 0 declared, 8 default$"
check "declared costs" 0 "$PCCL" topology ring:4:latency=1us
holds "declared costs counted" out "^costs +0 links measured, 8 declared, 0 default$"
grep -q '^inside' out && echo "FAIL nothing inside hosts: $(cat out)" || echo "PASS nothing inside hosts"
cat >inside.json <<'END'
{"devices": ["a"], "switches": ["s"], "links": [{"source": "a", "target": "s", "duplex": true}],
 "inside": {"l3": {"latency": "90ns", "bandwidth": "30GB/s", "origin": "measured"}, "rank": {"bandwidth": "9GB/s"},
            "host": {"latency": "700ns", "bandwidth": "20GB/s", "origin": {"latency": "measured"}}}}
END
check "costs inside hosts" 0 "$PCCL" topology ./inside.json
holds "costs inside hosts counted" out "^inside +2 levels measured, 1 declared, 2 default$"
holds "costs inside hosts: cache" out "^ +l3: latency 90.00 ns \(measured\), 30 GB/s \(measured\)$"
holds "costs inside hosts: host" out "^ +host: latency 700.0 ns \(measured\), 20 GB/s \(declared\)$"
holds "costs inside hosts: rank" out "^ +rank: 9 GB/s \(declared\)$"
grep -q '^bisection' out && echo "FAIL one device, no bisection: $(cat out)" || echo "PASS one device, no bisection"

# A link fails: whatever used it goes the shortest way round, though the rule of the network has none.
check "to be damaged" 0 "$PCCL" topology torus:4x4 -o damaged.json
sed -i '/"d0.0", "target": "d0.1"/d; /"d0.1", "target": "d0.0"/d' damaged.json
check "schedule before the damage" 0 "$PCCL" synth -t torus:4x4 -c allgather --method ring -o ring.json
check "simulate the damage" 0 "$PCCL" simulate ring.json -t damaged.json
holds "ways that changed" out "[1-9][0-9]* of [0-9]+ ways had to change"
sed -i 's/"routing": "[a-z-]*"/"routing": "none"/' damaged.json
refuses "no forwarding, no way round" 1 "no way between" "$PCCL" simulate ring.json -t damaged.json

# The wrong kind of file, or a file that is not there.
check "a topology" 0 "$PCCL" topology ring:4 -o hand.json
for command in verify plot explain simulate "convert --to=csv"; do
    refuses "$command a topology" 3 "hand.json: is a topology, not a schedule" "$PCCL" $command hand.json
done
sed 's/"name": "ring:4"/"name": "mine"/' hand.json >mine.json
check "synth on a topology of its own" 0 "$PCCL" synth -t ./mine.json -c allgather -o own.json
refuses "the topology must be given" 3 "topology 'mine', .*the topology file that pccl wrote .*'-t FILE'" \
    "$PCCL" verify own.json
refuses "the topology must be given: simulate" 3 "topology 'mine'.*'--from FILE'" "$PCCL" simulate own.json
for command in "verify absent.json" "verify -t ring:4 absent.json" "topology absent.csv" "topology ./absent.json" \
               "synth -t ring:4 -c ./absent.json" "synth -t ./absent.json -c allgather" "simulate absent.json"; do
    refuses "not there: $command" 4 "absent.(json|csv): cannot read: No such file" "$PCCL" $command
done

sed -i 's/"routing": "[a-z-]*"/"routing": "shortest"/' damaged.json
check "synth on the damage" 0 "$PCCL" synth -t damaged.json -c allgather --effort quick -o ondamage.json
for command in verify plot explain "convert --to=csv"; do
    refuses "$command: a name for two topologies" 3 "made for \"torus:4x4\".*; give its file with -t FILE$" \
        "$PCCL" $command ondamage.json
    check "$command: with its file" 0 "$PCCL" $command ondamage.json -t damaged.json
done
refuses "simulate: a name for two topologies" 3 "give its file with --from FILE$" "$PCCL" simulate ondamage.json
refuses "a topology given wrongly needs no hint" 3 "digest [0-9a-f]{16}\)$" "$PCCL" verify ondamage.json -t torus:4x4

# Explanations: short unless asked for, and nothing before a mistake.
check "long schedule" 0 "$PCCL" synth -t torus:4x4 -c allgather -o long.json
check "explain it" 0 "$PCCL" explain long.json
holds "operations are cut" out "and [0-9]+ more \(--rank=0 shows all\)"
check "explain a rank" 0 "$PCCL" explain long.json --rank=0
[ "$(grep -c '^ ' out)" -gt 24 ] && ! grep -q 'more (--rank' out && echo "PASS all operations of a rank" ||
    echo "FAIL all operations of a rank: $(grep -c '^ ' out) lines"
refuses "explain a rank that is none" 2 "'99' is no rank" "$PCCL" explain long.json --rank=99
[ -s out ] && echo "FAIL nothing before the mistake: $(head -c 100 out)" || echo "PASS nothing before the mistake"
check "plot it" 0 "$PCCL" plot long.json -o long.svg
holds "title of the picture" long.svg "^<title>Allgather of 1 MiB on torus:4x4, 16 ranks</title>"

# A topology beside the schedule, named after its digest, as where plans are kept; another one there is refused.
check "a topology of its own" 0 "$PCCL" topology star:4 -o own.json
check "a schedule on it" 0 "$PCCL" synth -t ./own.json -c allgather -s 4KiB -o kept.json
sed -i 's/"topology": "[^"]*"/"topology": "nobody knows"/' kept.json
refuses "its topology is nowhere" 3 "give the topology file" "$PCCL" verify kept.json
beside=topology-$(sed -n 's/.*"topology_digest": "\([0-9a-f]*\)".*/\1/p' kept.json).json
cp own.json "$beside"
check "topology beside the schedule" 0 "$PCCL" verify kept.json
mkdir elsewhere && mv kept.json "$beside" elsewhere
check "topology beside the schedule elsewhere" 0 "$PCCL" explain elsewhere/kept.json
check "another topology" 0 "$PCCL" topology star:5 -o "elsewhere/$beside"
refuses "another topology under its name" 3 "the schedule was made for" "$PCCL" verify elsewhere/kept.json

# Files of other programs where a topology is expected.
echo "SwitchName=s Nodes=n[1-4]" >topology.conf
refuses "no topology of ours" 2 "'topology.conf' is no generator.*--import=FORMAT topology.conf" \
    "$PCCL" synth -t topology.conf -c allgather
