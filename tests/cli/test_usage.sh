# Help, manual page, mistakes on the command line.
. "$here/common.sh"
commands="synth verify simulate explain plot convert topology"

check "help" 0 "$PCCL" --help
for command in $commands; do
    holds "help lists $command" out "^  $command +[a-z]"
done
# The examples of the help must work as they stand.
sed -n 's/^  pccl /pccl /p' out >examples
[ "$(wc -l <examples)" -eq 4 ] && echo "PASS help has four examples" || echo "FAIL help has four examples: $(cat examples)"
while read -r line; do
    check "example: $line" 0 sh -c "PATH=$(dirname "$PCCL"):\$PATH; $line"
done <examples

# Every option and every exit code is in the manual page (which writes - as \-).
sed 's/\\-/-/g' "$MANUAL" >manual
# .B would put a space between an option and its value.
holds "manual: values set in .BR" manual "^\.BR --import =.fIFORMAT"
grep -q '^\.B -.* =' manual && echo "FAIL manual: an option is set with .B: $(grep '^\.B -.* =' manual)" ||
    echo "PASS manual: no option with a value is set with .B"
for command in $commands; do
    check "help of $command" 0 "$PCCL" "$command" --help
    grep -oE '^ +(-[a-z], )?--[a-z-]+' out | grep -oE -- '--[a-z-]+' >options
    awk -v section="pccl $command" '/^\.S[SH] /{inside = ($0 == ".SS " section)} inside' manual >section
    while read -r option; do
        [ "$option" = --help ] && continue
        holds "manual: $command $option" section "^\.B.*[ \"]?$option([ =\"]|$)"
    done <options
    # Examples with files that do not exist are left out.
    grep -E '^  pccl (synth|topology) ' out | grep -v -e '|' -e --import | sed 's/^ *//' >examples
    while read -r line; do
        check "example: $line" 0 sh -c "PATH=$(dirname "$PCCL"):\$PATH; $line"
    done <examples
done
check "version" 0 "$PCCL" --version
holds "version" out "^pccl [0-9a-z]"

refuses "no such command" 2 "unknown command 'sinth'.*synth" "$PCCL" sinth
refuses "no such option" 2 "'--topologie=ring:4'" "$PCCL" synth --topologie=ring:4
refuses "missing value" 2 "needs a value" "$PCCL" synth -c allgather -t
refuses "missing topology" 2 "topology is missing" "$PCCL" synth -c allgather
refuses "missing collective" 2 "collective is missing" "$PCCL" synth -t ring:4
refuses "unknown collective" 2 "allgaffer.*allgather" "$PCCL" synth -t ring:4 -c allgaffer
refuses "missing file" 2 "expected FILE" "$PCCL" verify
refuses "a topology without its option" 2 "unexpected 'ring:4'; everything is given with options here, such as -t" \
    "$PCCL" synth ring:4
refuses "two files" 2 "unexpected 'b'" "$PCCL" verify a b
refuses "bad size" 2 "size '1XB': expected" "$PCCL" synth -t ring:4 -c allgather -s 1XB
refuses "negative size" 2 "size '-1': expected" "$PCCL" synth -t ring:4 -c allgather -s -1
refuses "huge size" 2 "size '99999999999999999999'" "$PCCL" synth -t ring:4 -c allgather -s 99999999999999999999
refuses "size overflows" 2 "size '9999999TiB'" "$PCCL" synth -t ring:4 -c allgather -s 9999999TiB
refuses "root of rootless" 2 "has no root" "$PCCL" synth -t ring:4 -c allgather -r 1
refuses "root out of range" 2 "expected 0 to 3" "$PCCL" synth -t ring:4 -c broadcast -r 4
refuses "bad effort" 2 "expected quick or thorough" "$PCCL" synth -t ring:4 -c allgather --effort=lazy
refuses "bad seed" 2 "seed" "$PCCL" synth -t ring:4 -c allgather --seed=x
refuses "ordered allgather" 2 "does not reduce" "$PCCL" synth -t ring:4 -c allgather --ordered
refuses "reproducible allgather" 2 "does not reduce" "$PCCL" synth -t ring:4 -c allgather --reproducible
refuses "bad format" 2 "expected msccl or csv" "$PCCL" convert --to=xml x.json
refuses "bad panel" 2 "expected load or time" "$PCCL" plot --only=links x.json
refuses "bad generator" 2 "torus:4y4" "$PCCL" topology torus:4y4
refuses "unknown generator" 2 "tours:4x4.*expected" "$PCCL" topology tours:4x4
refuses "bits are no size" 2 "size '1Mb': expected.*no bits" "$PCCL" synth -t ring:4 -c allgather -s 1Mb
refuses "no format" 2 "^pccl: convert: --to is missing; expected msccl or csv$" "$PCCL" convert x.json

# Spellings.
check "a space before the unit" 0 "$PCCL" topology "ring:4:bandwidth=25 GB/s:latency=1 us"
holds "a space before the unit: read" out "8 x latency 1.000 us, 25 GB/s"
for pair in allgatherv=allgather alltoallv=alltoall reduce_scatter_block=reduce_scatter bcast=broadcast Gatherv=gather; do
    check "synonym ${pair%=*}" 0 "$PCCL" synth -t ring:4 -c "${pair%=*}" -s 1kB
    holds "synonym ${pair%=*} is ${pair#*=}" out "^${pair#*=} of "
done
