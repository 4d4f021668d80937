# Wrong files: one clear line that names the file, exit code 3, no crash.
. "$here/common.sh"

bad()
{
    printf '%s' "$2" >bad.json
    refuses "topology: $1" 3 "bad\.json" "$PCCL" topology ./bad.json
    refuses "schedule: $1" 3 "bad\.json" "$PCCL" verify -t ring:4 bad.json
}
bad "empty" ""
bad "no JSON" "hello"
bad "no object" "[1, 2, 3]"
bad "cut off" '{"devices": [{"name": "a"'
bad "wrong keys" '{"colour": "red"}'
bad "deep nesting" "$(printf '%02000d' 0 | tr 0 '[')"
bad "binary" "$(printf '\001\377\376')"
head -c 3000000 /dev/zero | tr '\0' '[' >bad.json
refuses "topology: three million brackets" 3 "bad\.json" "$PCCL" topology ./bad.json
refuses "schedule: three million brackets" 3 "bad\.json" "$PCCL" verify -t ring:4 bad.json

# Damage to a good schedule: changed numbers must be noticed, whatever they are.
check "make" 0 "$PCCL" synth -t ring:4 -c allgather -s 4KiB --effort quick -o good.json
check "good" 0 "$PCCL" verify good.json
refuses "schedule of another topology" 3 "good\.json" "$PCCL" verify -t mesh:2x2 good.json
size=$(wc -c <good.json)
for part in 1 2 3 4 5 6 7 8 9; do
    head -c $((size * part / 10)) good.json >cut.json
    refuses "schedule cut at $part/10" 3 "cut\.json" "$PCCL" verify -t ring:4 cut.json
done
i=0
for change in 's/[0-9]/9/' 's/[0-9]/-1/' 's/\([0-9]\)/\1\199999999999/' 's/\[/{/' 's/"[a-z_]*":/"x":/' 's/[0-9]/1e300/' 's/[0-9]/0.5/'; do
    for place in 1 2 3 5 8 13 21 34; do
        i=$((i + 1))
        sed "$change$place" good.json >damaged.json
        cmp -s good.json damaged.json && continue
        "$PCCL" verify -t ring:4 damaged.json >out 2>err
        code=$?
        [ $code -le 4 ] && echo "PASS damage $i" || echo "FAIL damage $i: exit code $code for $change$place"
    done
done

# Distances from each of very many devices would take for ever, however few links there are.
echo '{"devices": 100000, "links": [{"source": "d0", "target": "d5"}]}' >sparse.json
check "sparse: ends" 0 timeout 60 "$PCCL" topology ./sparse.json
holds "sparse: distances from some" out 'measured from some devices'
