# Groups: each way to write one, and each way to write it wrongly.
. "$here/common.sh"

# ranks NAME NUMBER TOPOLOGY GROUP
ranks()
{
    if check "group $4 on $3" 0 "$PCCL" synth -t "$3" -c broadcast -s 64 --relays --effort quick -g "$4" --json; then
        holds "group $4 on $3 has $2 ranks" out "\"ranks\": $2,"
    fi
}
ranks list 3 mesh:4x4 0,5,10
ranks range 5 mesh:4x4 3-7
ranks stride 4 mesh:4x4 0-15:4
ranks mixed 6 mesh:4x4 9,0-3,12
ranks row 4 mesh:4x4 row:1
ranks rows 8 mesh:4x4 row:1-2
ranks column 4 mesh:4x4 column:3
ranks dimension 9 mesh:3x3x3 dim1:2
ranks names 2 star:5 d1,d4
ranks name-range 3 star:5 d1-d3
ranks all 5 star:5 all

# Several groups at once.
ranks rows-at-once 8 mesh:4x4 row:0+row:2
ranks each-row 16 mesh:4x4 each:row
ranks each-plane 8 mesh:2x2x2 each:dim1
check "each row, few messages" 0 "$PCCL" synth -t torus:4x4 -c reduce_scatter -g each:row -s 1MiB --effort quick --frugal --json
holds "as few as any method needs" out '"messages": 48,'
check "each row, all-gather" 0 "$PCCL" synth -t mesh:3x4 -c allgather -g each:row -s 4KiB --relays --json -o rows.json
holds "three groups" out '"groups": 3,'
method=$(sed 's/.*"method": "\([^"]*\)".*/\1/' out)
pieces=$(sed 's/.*"pieces": \([0-9]*\).*/\1/' out)
check "verify three groups" 0 "$PCCL" verify rows.json
check "explain three groups" 0 "$PCCL" explain rows.json
holds "three groups compared as they were made" out "^  $method +$pieces +[0-9.]+ [a-z]+ +1\.000x  this schedule, the best$"
check "three groups again, many pieces" 0 "$PCCL" synth -t mesh:4x4 -c allgather -g each:row -o rows4.json --json
check "explain groups in pieces" 0 "$PCCL" explain --candidates rows4.json
holds "groups in pieces are made of collectives still" out "^  parts +1 +[0-9.]+ [a-z]+ +1\.000x  this schedule, the best$"
check "plot three groups" 0 "$PCCL" plot rows.json -o rows.svg
check "each column, all-reduce" 0 "$PCCL" synth -t torus:3x4 -c allreduce -g each:column -s 4KiB -o columns.json
check "verify four groups" 0 "$PCCL" verify columns.json

# Rows that keep out of each other's way finish together, when one alone would.
for collective in allgather allreduce alltoall broadcast reduce_scatter; do
    check "$collective in each row" 0 "$PCCL" synth -t torus:4x6:unit -c $collective -g each:row -s 1MiB --json
    holds "no link of a row stands idle in $collective" out '"gap": 1\.0'
done

wrong()
{
    refuses "group '$1'" 2 "$2" "$PCCL" synth -t mesh:4x4 -c allgather -g "$1"
}
wrong "" "no such device"
wrong "0" "one device only"
wrong "0,0" "already in the group"
wrong "0-3,2" "already in the group"
wrong "0-16" "no such device.*0-15"
wrong "16" "no such device"
wrong "0-3+2" "already in the group"
wrong "0-3+" "no such device"
wrong "0-3+9" "one device only"
wrong "each:" "each:row"
wrong "each:dim7" "each:row"
wrong "5-2" "must not come after"
wrong "0-4:0" "step"
wrong "0-4:x" "step"
wrong "-1" "no such device"
wrong "0," "no such device"
wrong "row:4" "0-3"
wrong "row:" "0-3"
wrong "row:2-1" "0-3"
wrong "dim2:0" "no such dimension"
wrong "99999999999999999999" "no such device"
refuses "row of a star" 2 "grids only" "$PCCL" synth -t star:5 -c allgather -g row:0
long=$(printf '%0200d' 0)
wrong "$long,1" "too long"
