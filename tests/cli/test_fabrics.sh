# The example fabrics of the documentation are used as they stand, and drawn with jobs on them.
. "$here/common.sh"
examples=$here/../../doc/examples

count=0
for file in "$examples"/*.json; do
    name=$(basename "$file" .json)
    count=$((count + 1))
    check "$name: described" 0 "$PCCL" topology "$file"
    ! grep -q '^note ' out && echo "PASS $name: all reach all" || echo "FAIL $name: all reach all: $(grep '^note ' out)"
    grep '^digest' out >digest
    check "$name: written" 0 "$PCCL" topology "$file" -o again.json
    check "$name: read again" 0 "$PCCL" topology ./again.json
    grep '^digest' out | cmp -s - digest && echo "PASS $name: the same" || echo "FAIL $name: the same: $(cat out)"
    for collective in allgather allreduce alltoall broadcast; do
        check "$name: $collective" 0 "$PCCL" synth -t "$file" -c $collective -s 16KiB --effort=quick -o schedule.json
        check "$name: $collective verified" 0 "$PCCL" verify -t "$file" schedule.json
    done
    check "$name: drawn" 0 "$PCCL" topology --draw "$file" -o "$name.svg"
    grep -q "examples/$name.json" "$here/../../doc/topologies.md" && echo "PASS $name: documented" ||
        echo "FAIL $name: documented: not in doc/topologies.md"
done
[ $count -ge 6 ] && echo "PASS examples: $count" || echo "FAIL examples: only $count in $examples"

# --- pictures: a line for each cable, a title for each host, numbers of ranks
tree=$examples/tree.json
check "draw: tree with ranks" 0 "$PCCL" topology --draw "$tree" --placement=0-15 -o tree.svg
holds "draw: rank 15" tree.svg '<title>node16, ranks 15</title>'
holds "draw: classes" tree.svg 'uplinks: 12.5 GB/s \(declared\), 1.000 us \(default\): 4 cables'
[ "$(grep -c '<title>.* 1 cable: ' tree.svg)" -ge 20 ] && echo "PASS draw: 20 cables" || echo "FAIL draw: 20 cables"
check "draw: two ranks a host" 0 "$PCCL" topology --draw "$tree" -p node01,node02,node01,NODE02,node03.example.org -o two.svg
holds "draw: apart" two.svg '<title>node01, ranks 0 2</title>'
holds "draw: full name and capitals" two.svg '<title>node03, ranks 4</title>'
check "draw: parallel cables" 0 "$PCCL" topology --draw "$examples/table.json" -o table.svg
holds "draw: counted" table.svg '<title>left - right, 2 cables: between: '
check "draw: wraps" 0 "$PCCL" topology --draw "$examples/torus.json" -o torus.svg
[ "$(grep -c '<path d="M[^"]*Q' torus.svg)" -ge 8 ] && echo "PASS draw: wraps are bows" || echo "FAIL draw: wraps are bows"
check "draw: nothing but hosts" 0 "$PCCL" topology --draw full:1 -o one.svg
check "draw: 512 hosts" 0 "$PCCL" topology --draw fattree:8x8x8 -p 0-511 -o large.svg
for shape in mesh:2x3x4 ring:9 boxes:4x4 hypercube:5 full:5; do
    check "draw: $shape" 0 "$PCCL" topology --draw "$shape" -p 0,1 -o shape.svg
done
if command -v xmllint >/dev/null; then
    check "draw: well-formed" 0 xmllint --noout tree.svg two.svg table.svg torus.svg one.svg large.svg shape.svg
fi
printf '# a job\nnode01 slots=2 max_slots=4\r\nnode02.cluster.org slots=1\nNode03\n' >hosts
check "draw: host file" 0 "$PCCL" topology --draw "$tree" --hostfile=hosts -o hosts.svg
holds "draw: slots" hosts.svg '<title>node01, ranks 0-1</title>'
holds "draw: last slot" hosts.svg '<title>node03, ranks 3</title>'
printf 'rank 0=node04 slot=0\nrank 1=node02 slot=1:0-1\n' >ranks
check "draw: rank file" 0 "$PCCL" topology --draw "$tree" --hostfile=ranks -o ranks.svg
holds "draw: rank file read" ranks.svg '<title>node02, ranks 1</title>'
echo 'node01 slots=many' >hosts
refuses "draw: slots that are no number" 3 "hosts:1: 'slots=many'" "$PCCL" topology --draw "$tree" --hostfile=hosts
echo 'node99' >hosts
refuses "draw: unknown host" 3 "hosts:1: 'node99' is no device of" "$PCCL" topology --draw "$tree" --hostfile=hosts
printf 'rank 1=node01\n' >hosts
refuses "draw: ranks out of order" 3 "hosts:1: rank '1'; expected 0" "$PCCL" topology --draw "$tree" --hostfile=hosts
refuses "draw: no host file" 4 "absent: cannot read" "$PCCL" topology --draw "$tree" --hostfile=absent
refuses "draw: no device" 2 "'16' is no device" "$PCCL" topology --draw "$tree" -p 16
refuses "draw: placement without" 2 "go with --draw" "$PCCL" topology "$tree" -p 0
refuses "draw: two formats" 2 "different formats" "$PCCL" topology --draw --json "$tree"
refuses "draw: too large" 1 "at most 40000 can be drawn" "$PCCL" topology --draw full:300
printf '{"devices": ["a.x", "a.y", "b"], "switches": 1}' >short.json
refuses "draw: ambiguous" 2 "'a' fits several devices" "$PCCL" topology --draw ./short.json -p a
check "draw: short names" 0 "$PCCL" topology --draw ./short.json -p A.X,b.any.where
