# Conversions: CSV has a line per message; MSCCL XML, replayed by an interpreter of its own, does what the collective says.
. "$here/common.sh"

for case in "ring:4 allgather" "torus:2x3 allgather" "mesh:2x3 alltoall" "ring:5 allreduce" "star:4 reduce_scatter" \
            "full:4 allreduce" "hypercube:3 alltoall" "ring:6 broadcast" "mesh:2x2 reduce" "mesh:5 gather" "star:5 scatter"; do
    topology=${case% *} collective=${case#* }
    check "synth $case" 0 "$PCCL" synth -t $topology -c $collective -s 240KiB -o s.json --json || continue
    messages=$(sed -n 's/.*"messages": \([0-9]*\).*/\1/p' out)
    check "csv $case" 0 "$PCCL" convert --to=csv s.json -o s.csv
    [ "$(wc -l <s.csv)" -eq $((messages + 1)) ] && echo "PASS csv $case: lines" || echo "FAIL csv $case: lines"
    check "msccl $case" 0 "$PCCL" convert --to=msccl s.json -o s.xml
    if command -v python3 >/dev/null; then
        check "msccl $case: replayed" 0 python3 "$here/msccl_replay.py" s.xml $collective
    fi
done
check "synth barrier" 0 "$PCCL" synth -t ring:4 -c barrier -o s.json
refuses "msccl barrier" 1 "barrier" "$PCCL" convert --to=msccl s.json -o refused.xml
[ ! -e refused.xml ] && echo "PASS nothing written" || echo "FAIL nothing written: refused.xml exists"
check "synth ordered" 0 "$PCCL" synth -t ring:4 -c allreduce --ordered -o s.json
refuses "msccl ordered" 1 "order" "$PCCL" convert --to=msccl s.json
check "synth reproducible" 0 "$PCCL" synth -t ring:5 -c allreduce --reproducible -o s.json
check "verify reproducible" 0 "$PCCL" verify s.json
refuses "msccl reproducible" 1 "order" "$PCCL" convert --to=msccl s.json
"$PCCL" synth -t ring:5 -c allreduce --method=ring -s 5MiB -o ring.json >/dev/null
sed '/"digest"/d; s/"ordered": false/"ordered": false, "reproducible": true/' ring.json >claims.json
refuses "verify a false claim" 1 "fixed tree" "$PCCL" verify claims.json
check "synth odd size" 0 "$PCCL" synth -t ring:4 -c allgather -s 1000001 --method matching -o s.json
"$PCCL" convert --to=msccl s.json >out 2>err
[ $? -le 1 ] && echo "PASS msccl odd size" || echo "FAIL msccl odd size: $(cat err)"
