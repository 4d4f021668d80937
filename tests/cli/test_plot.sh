# Pictures: well-formed, the same each time, with title, axis, unit and legend.
. "$here/common.sh"

for case in "ring:8 allgather" "torus:3x4 alltoall" "mesh:2x3x2 allreduce" "hypercube:4 reduce_scatter" "fattree:2x4 gather" \
            "boxes:2x4 allgather" "dragonfly:3x2x2 broadcast" "full:5 barrier" "star:6 scatter" "mesh:5 reduce" \
            "torus:8x8 allgather"; do
    topology=${case% *} collective=${case#* }
    check "synth $case" 0 "$PCCL" synth -t $topology -c $collective -s 64KiB --effort quick -o s.json || continue
    check "plot $case" 0 "$PCCL" plot s.json -o a.svg
    check "plot $case again" 0 "$PCCL" plot s.json -o b.svg
    same "plot $case: deterministic" a.svg b.svg
    holds "plot $case: title" a.svg "on $topology, "
    holds "plot $case: axis" a.svg ">time \((s|ms|us|ns|ps)\)<"
    holds "plot $case: legend" a.svg ">share of the time a link is held<"
    if grep -q 'nan\|inf[" ]' a.svg; then
        echo "FAIL plot $case: numbers: $(grep -m 1 'nan\|inf' a.svg)"
    fi
    if command -v xmllint >/dev/null; then
        check "plot $case: well-formed" 0 xmllint --noout a.svg
    fi
    check "plot $case: load only" 0 "$PCCL" plot --only=load s.json
    check "plot $case: time only" 0 "$PCCL" plot --only=time s.json
done
check "group with relays" 0 "$PCCL" synth -t mesh:3x3 -c allgather -g 0,2,6,8 --relays --effort quick -o s.json
check "plot relays" 0 "$PCCL" plot s.json -o a.svg
