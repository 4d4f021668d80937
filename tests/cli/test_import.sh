# Fabrics of other programs: what comes out of realistic files, and what is said about broken ones.
. "$here/common.sh"
fabrics=$here/fabrics

# import NAME FORMAT FILE...: into fabric.json, described in out; notes are left in notes.
import()
{
    import_name=$1 format=$2
    shift 2
    check "$import_name" 0 "$PCCL" topology --import="$format" "$@" -o fabric.json || return 1
    mv err notes
    check "$import_name: read back" 0 "$PCCL" topology ./fabric.json
}

# --- Slurm, trees
import "slurm" slurm "$fabrics/topology.conf"
holds "slurm: hosts" out '^devices +16$'
holds "slurm: switches" out '^switches +8$'
holds "slurm: class of the racks" fabric.json '"hosts": .*"ps_per_mib": 83886080, .*"bandwidth": "declared"'
holds "slurm: faster rack" fabric.json '"hosts \(2\)": .*"ps_per_mib": 41943040,'
holds "slurm: uplinks" fabric.json '"level 1": .*"ps_per_mib": 41943040,'
holds "slurm: core" fabric.json '"level 2": .*"ps_per_mib": 20971520, .*"latency": "default"'
holds "slurm: padded names" fabric.json '"name": "n012"'
holds "slurm: several brackets" fabric.json '"name": "r1c0"'
holds "slurm: both cores" fabric.json '"source": "core1", "target": "pod1", "class": "level 2"'
holds "slurm: unknown key" notes '^pccl: note: .*topology.conf:12: "Colour" is not known'
holds "slurm: unit" notes ':2: LinkSpeed has no unit in Slurm; taken as Gbit/s'
holds "slurm: nothing else to note" notes .
[ "$(wc -l <notes)" -eq 2 ] && echo "PASS slurm: two notes" || echo "FAIL slurm: two notes: $(cat notes)"
check "slurm: usable" 0 "$PCCL" synth -t ./fabric.json -c allgather -s 64KiB -o gather.json
check "slurm: verified" 0 "$PCCL" verify -t ./fabric.json gather.json
check "slurm: drawn" 0 "$PCCL" topology --draw --import=slurm "$fabrics/topology.conf" -p n001,n005,login -o tree.svg
holds "slurm: rank drawn" tree.svg '<title>login, ranks 2</title>'
check "slurm: unit given" 0 "$PCCL" topology --import=slurm "$fabrics/topology.conf" --speed-unit=1GB/s -o fabric.json
holds "slurm: 100 GB/s" fabric.json '"hosts": .*"ps_per_mib": 10485760,'
sed 's/$/\r/' "$fabrics/topology.conf" >crlf.conf
cp fabric.json unix.json
check "slurm: CRLF" 0 "$PCCL" topology --import=slurm crlf.conf --speed-unit=1GB/s -o fabric.json
sed 's/crlf.conf/topology.conf/' fabric.json >dos.json
same "slurm: CRLF changes nothing" unix.json dos.json

# What the note about speeds says, done: a taper of 4:1 becomes none.
printf 'SwitchName=a Nodes=n[0-3]\nSwitchName=b Nodes=n[4-7]\nSwitchName=top Switches=a,b\n' >silent.conf
import "slurm: no speeds" slurm silent.conf
holds "slurm: no speeds, how to" notes 'put "bandwidth": "...GB/s" instead of ps_per_mib into "classes" .* "declared"'
holds "slurm: no speeds, hosts" notes 'silent.conf:1: no LinkSpeed: links of hosts count as 12.5 GB/s'
holds "slurm: no speeds, uplinks" notes 'silent.conf:3: no LinkSpeed here and below: .* one cable of 12.5 GB/s'
holds "slurm: no speeds, tapered" out '^links +20 x latency .* 12.5 GB/s$'
sed -i 's/\("level 1": .*\)"ps_per_mib": [0-9]*\(.*\)"origin": "default"/\1"bandwidth": "50GB\/s"\2"origin": "declared"/
    ' fabric.json
check "slurm: speed put in" 0 "$PCCL" topology ./fabric.json
holds "slurm: speed put in counts" out '^ +4 x latency .* 50 GB/s$'
holds "slurm: speed put in is declared" out '^costs +0 links measured, 4 declared, 16 default$'

# Only leaves tell a speed: links above are as fast as the fastest below each of them.
printf 'SwitchName=top Switches=p,q\nSwitchName=p Switches=a,b\nSwitchName=q Switches=c,d LinkSpeed=800
SwitchName=a Nodes=n[0-3] LinkSpeed=200\nSwitchName=b Nodes=n[4-7] LinkSpeed=400
SwitchName=c Nodes=n[8-9] LinkSpeed=200\nSwitchName=d Nodes=n[10-11]\n' >leaves.conf
import "slurm: speeds of leaves" slurm leaves.conf
holds "slurm: speeds of leaves, pod" fabric.json '"level 1": .*"ps_per_mib": 20971520, .*"default"'
holds "slurm: speeds of leaves, pod that tells" fabric.json '"level 1 \(2\)": .*"ps_per_mib": 10485760, .*"declared"'
holds "slurm: speeds of leaves, top" fabric.json '"level 2": .*"ps_per_mib": 10485760, .*"default"'
holds "slurm: speeds of leaves, said" notes \
    'leaves.conf:1: no LinkSpeed: two switches .* one cable, as fast as the fastest LinkSpeed further down'
holds "slurm: speeds of leaves, host" notes 'leaves.conf:7: no LinkSpeed: links of hosts count as 12.5 GB/s'
[ "$(grep -c 'no LinkSpeed' notes)" -eq 2 ] && echo "PASS slurm: two things said" || echo "FAIL slurm: $(cat notes)"

# --- Slurm, blocks
import "blocks" slurm "$fabrics/blocks.conf"
holds "blocks: hosts" out '^devices +54$'
holds "blocks: switches" out '^switches +4$'
holds "blocks: joined" notes 'blocks are joined by one switch'

# --- Slurm, unhappy
# broken NAME PATTERN TEXT: the importer refuses the text.
broken()
{
    printf "$3" >broken.conf
    refuses "slurm: $1" 3 "$2" "$PCCL" topology --import=slurm broken.conf
}
broken "empty" 'broken.conf: no SwitchName and no BlockName' ''
broken "only comments" 'no SwitchName' '# nothing\n\n'
broken "binary" 'byte 3 is zero' 'abc\000def'
broken "no name" ':1: Switches, Nodes or LinkSpeed without' 'Nodes=n[1-2]\n'
broken "name twice" ':2: SwitchName=a was given in line 1 already' 'SwitchName=a Nodes=n1\nSwitchName=a Nodes=n2\n'
broken "host twice" ':2: host "n2" is given already' 'SwitchName=a Nodes=n[1-3]\nSwitchName=b Nodes=n2\n'
broken "host called as a switch" ':2: host "a" is a switch' 'SwitchName=a Nodes=n1\nSwitchName=b Nodes=a\n'
broken "unknown switch" ':1: Switches names "c", which' 'SwitchName=a Switches=c\n'
broken "cycle" 'switch "a" is above itself' 'SwitchName=a Switches=b\nSwitchName=b Switches=c\nSwitchName=c Switches=a\n'
broken "itself" 'switch "a" is above itself' 'SwitchName=a Switches=a\n'
broken "range backwards" ':1: .*runs backwards' 'SwitchName=a Nodes=n[5-2]\n'
broken "cut short" 'a bracket is not closed' 'SwitchName=a Nodes=n[001-0'
broken "stray bracket" 'a bracket is not opened' 'SwitchName=a Nodes=n1]\n'
broken "no numbers" 'expected numbers' 'SwitchName=a Nodes=n[x-y]\n'
broken "empty name" 'a name is empty' 'SwitchName=a Nodes=n1,,n2\n'
broken "enormous" 'more than 1048576' 'SwitchName=a Nodes=n[0-999999999]\n'
broken "too many digits" 'at most 9 digits' 'SwitchName=a Nodes=n[0-99999999999]\n'
broken "speed" 'LinkSpeed is "fast"' 'SwitchName=a Nodes=n1 LinkSpeed=fast\n'
broken "key twice" 'Nodes is given twice' 'SwitchName=a Nodes=n1 Nodes=n2\n'
broken "both kinds" 'BlockName among lines of the other kind' 'SwitchName=a Nodes=n1\nBlockName=b Nodes=n2\n'
broken "include" ':1: Include is not followed' 'Include more.conf\n'
broken "empty list" 'a name is empty' 'SwitchName=a Switches=b\nSwitchName=b Switches=""\n'
printf 'SwitchName=a\n' >broken.conf
check "slurm: no hosts" 3 "$PCCL" topology --import=slurm broken.conf
holds "slurm: no hosts, said" err '^pccl: broken.conf: the topology has no devices$'
printf 'SwitchName=a Nodes=n[1-2]\nSwitchName=b Nodes=n[3-4]\nJunk\nSwitchName=c\n' >parts.conf
import "slurm: in parts" slurm parts.conf
holds "slurm: parts" notes \
    'in 2 parts, since no switch joins a,b; add a line such as SwitchName=top Switches=a,b, or their hosts cannot reach'
holds "slurm: junk" notes ':3: "Junk" is not known'
holds "slurm: nothing below" notes '"c" has neither Switches nor Nodes'
for i in 0 1 2 3 4 5 6 7 8; do
    printf "SwitchName=s$i Nodes=n$i\nSwitchName=t$i Switches=s$i\n"
done >rows.conf
import "slurm: many parts" slurm rows.conf
holds "slurm: their tops" notes 'in 9 parts, since no switch joins t0,t1,t2,t3,...; .* Switches=t0,t1,t2,t3,..., or'
printf 'BlockName=a Nodes=n[0-3] LinkSpeed=400\nBlockName=b Nodes=n[4-7]\n' >fast.conf
import "blocks: fast" slurm fast.conf
holds "blocks: fast, said" notes 'one cable each, as fast as the fastest LinkSpeed'
holds "blocks: as fast between them" fabric.json '"between blocks": .*"ps_per_mib": 20971520, .*"default"'
refuses "slurm: no file" 4 'absent.conf: cannot read' "$PCCL" topology --import=slurm absent.conf
refuses "slurm: a directory" 4 'cannot read' "$PCCL" topology --import=slurm .
awk 'BEGIN { for (i = 0; i < 1000; i++) printf "SwitchName=s%d Nodes=n[%d-%d]\n", i, 100 * i, 100 * i + 99
             print "SwitchName=top Switches=s[0-999]" }' >large.conf
check "slurm: 100000 hosts" 0 "$PCCL" topology --import=slurm large.conf -o large.json

# --- ibnetdiscover
import "ib" ibnetdiscover "$fabrics/ibnetdiscover.txt"
holds "ib: hosts, adapters of one counted once" out '^devices +5$'
holds "ib: switches" out '^switches +3$'
holds "ib: names" fabric.json '"name": "node03"'
holds "ib: names of switches" fabric.json '"name": "leaf01"'
holds "ib: full ports" fabric.json '"hosts 4xHDR": .*"ps_per_mib": 41943040, .*"bandwidth": "declared"'
holds "ib: split ports" fabric.json '"hosts 2xHDR": .*"ps_per_mib": 83886080,'
holds "ib: both rails" fabric.json '"source": "leaf02", "target": "node03", "class": "hosts 2xHDR"'
[ "$(grep -c '"source": "leaf01", "target": "spine01", "class": "switches 4xHDR"' fabric.json)" -eq 2 ] &&
    echo "PASS ib: parallel cables" || echo "FAIL ib: parallel cables: $(grep -c spine01 fabric.json) lines"
holds "ib: aggregation" notes 'Aggregation Node" is no host'
[ "$(wc -l <notes)" -eq 1 ] && echo "PASS ib: one note" || echo "FAIL ib: one note: $(cat notes)"
check "ib: usable" 0 "$PCCL" synth -t ./fabric.json -c allreduce -s 64KiB -o reduce.json
sed 's/$/\r/' "$fabrics/ibnetdiscover.txt" >ibnetdiscover.txt
cp fabric.json unix.json
import "ib: CRLF" ibnetdiscover ibnetdiscover.txt
same "ib: CRLF changes nothing" unix.json fabric.json

# --- ibnetdiscover, unhappy
# trouble NAME PATTERN TEXT: the importer refuses the text.
trouble()
{
    printf "$3" >trouble.txt
    refuses "ib: $1" 3 "$2" "$PCCL" topology --import=ibnetdiscover trouble.txt
}
trouble "empty" 'no Switch and no Ca' ''
trouble "another file" 'no Switch and no Ca' '# nothing\n'
trouble "binary" 'byte 6 is zero' 'Switch\000'
trouble "port first" ':1: a port before any' '[1]\t"H-1"[1]\t# "n1 HCA-1" 4xHDR\n'
trouble "node twice" ':2: node "S-1" was given in line 1' 'Switch 36 "S-1"\nSwitch 36 "S-1"\n'
trouble "port twice" ':3: port 1 of "S-1" was given in line 2' 'Switch 36 "S-1"\n[1] "H-1"[1]\n[1] "H-2"[1]\n'
trouble "port cut short" ':2: expected a port such as' 'Switch 36 "S-1"\n[1] "H-1"[\n'
trouble "port too large" ':2: expected a port such as' 'Switch 36 "S-1"\n[12345678] "H-1"[1]\n'
trouble "no id" ':1: expected the id of a node' 'Switch 36 S-1\n'
trouble "no hosts" 'no devices' 'Switch 36 "S-1"\n'
trouble "no end of the description" ':1: this line breaks off' 'Ca 1 "H-1"\t# "\nCa 1 "H-2"\t# "n2 HCA-1"\n'
trouble "no description after all" ':1: this line breaks off' 'Ca 1 "H-1"\t#\n'
trouble "no end of a port" ':2: this line breaks off' 'Switch 36 "S-1"\n[1] "H-1"[1](1)\t# "n1 HC\n'
trouble "nothing about a port" ':2: this line breaks off' 'Switch 36 "S-1"\n[1] "H-1"[1](1)\t# lid\n'
trouble "not described" ':2: a cable leads to "H-2", which is not described' \
    'Switch 36 "S-1"\n[2] "H-2"[1]\n[3] "H-3"[1]\n[1] "H-1"[1]\nCa 1 "H-1" # "n1 HCA-1"\n[1](1) "S-1"[1]\n'
# Wherever it is cut, it is refused, and nothing is written. Between two lines of the last host nothing is missing.
sed 's/Mellanox Technologies Aggregation Node/node06 HCA-1/' "$fabrics/ibnetdiscover.txt" >whole.txt
whole=$(wc -c <whole.txt)
for size in 600 1000 2222 $((whole / 2)) $((whole - 200)) $((whole - 100)) $((whole - 30)) $((whole - 1)); do
    head -c $size whole.txt >cut.txt
    refuses "ib: cut at $size" 3 '^pccl: cut.txt:[0-9]+: ' "$PCCL" topology --import=ibnetdiscover cut.txt -o cut.json
done
head -n 45 whole.txt >cut.txt
refuses "ib: cut between lines" 3 'cut.txt:1[2-6]: a cable leads to "H-.*", which is not described; is the file cut' \
    "$PCCL" topology --import=ibnetdiscover cut.txt -o cut.json
[ -e cut.json ] && echo "FAIL ib: cut: something is written" || echo "PASS ib: cut: nothing is written"
# One end without a speed.
sed '/"node04 HCA-1" lid/s/ 4xHDR//' "$fabrics/ibnetdiscover.txt" >silent.txt
import "ib: one end without a speed" ibnetdiscover silent.txt
holds "ib: one end without a speed, said" notes \
    'silent.txt:23: this end of a cable tells no known speed; that of its other end \(line 72\) counts'
[ "$(wc -l <notes)" -eq 2 ] && echo "PASS ib: nothing else to say" || echo "FAIL ib: nothing else to say: $(cat notes)"
sed 's/silent.txt/ibnetdiscover.txt/' fabric.json >silent.json
same "ib: one end is enough" unix.json silent.json
# What is odd, but may be.
head -n 28 "$fabrics/ibnetdiscover.txt" | sed -E '/^\[.*"(H-.*(000[2-58]|0013)|S-.*ff0000)"/d' >odd.txt
cat >>odd.txt <<'END'
[9]	"H-b8599f0300aa0009"[1](b8599f0300aa0009) 		# "MT4123 ConnectX6   Mellanox Technologies" lid 19 4x???
[40]	"R-b8599f0300bb0000"[1](b8599f0300bb0000) 		# "router" lid 20 4xHDR
Ca	1 "H-b8599f0300aa0001"		# "node01 HCA-1"
[1](b8599f0300aa0001) 	"S-b8599f0300ee0000"[1]		# lid 11 lmc 0 "MF0;leaf01:MQM8700/U1" lid 5 4xEDR
Ca	1 "H-b8599f0300aa0009"		# "MT4123 ConnectX6   Mellanox Technologies"
[1](b8599f0300aa0009) 	"S-b8599f0300ee1000"[9]		# lid 19 lmc 0 "MF0;leaf02:MQM8700/U1" lid 8 4xQXR
Something else
Ca	1 "H-b8599f0300aa0010"		# "node10 HCA-1"
[1](b8599f0300aa0010) 	"S-b8599f0300ee1000"[10]		# lid 21 lmc 0 "MF0;leaf02:MQM8700/U1" lid 8 4xHDR
END
import "ib: odd" ibnetdiscover odd.txt
holds "ib: router that is not there" notes '"R-b8599f0300bb0000" is not described; the cable to it is left out'
holds "ib: speeds that differ" notes 'the two ends of a cable tell different speeds'
holds "ib: no host name" notes '"MT4123 ConnectX6   Mellanox Technologies" names no host'
holds "ib: unknown speed" notes 'the speed is missing or not known'
holds "ib: one end" notes 'the other end of this cable is not told'
holds "ib: unknown line" notes '"Something else" is not known'
holds "ib: parts" notes 'the network is in 2 parts'
holds "ib: slower end" fabric.json '"hosts 4xEDR"'

# --- hwloc
import "hwloc" hwloc "$fabrics/node01.xml"
holds "hwloc: one host" out '^devices +1$'
holds "hwloc: named" fabric.json '"name": "node01"'
holds "hwloc: 3.2 times as far" fabric.json '"host": \{"latency_ps": 640000, .*"latency": "declared"'
sed 's/node01/node02/; s/10 32 32 10/10 21 21 10/' "$fabrics/node01.xml" >node02.xml
import "hwloc: several" hwloc "$fabrics/node01.xml" node02.xml
holds "hwloc: two hosts" out '^devices +2$'
holds "hwloc: that differ" notes 'node02 differs from node01'
check "hwloc: into a fabric" 0 "$PCCL" topology --import=hwloc --fabric=torus:4x4 "$fabrics/node01.xml" -o torus.json
holds "hwloc: grid kept" torus.json '"dimensions": \[4, 4\]'
holds "hwloc: costs added" torus.json '"host": \{"latency_ps": 640000'
sed '/distances2/,/distances2/d; /HostName/d' "$fabrics/node01.xml" >plain.xml
import "hwloc: without distances" hwloc plain.xml
holds "hwloc: defaults" notes 'tells no distances between NUMA nodes'
holds "hwloc: named by the file" fabric.json '"name": "plain"'
refuses "hwloc: host twice" 3 'host "node01" was given before' "$PCCL" topology --import=hwloc "$fabrics/node01.xml" "$fabrics/node01.xml"
refuses "hwloc: no file" 4 'absent.xml: cannot read' "$PCCL" topology --import=hwloc absent.xml
refuses "hwloc: a directory" 4 'cannot read' "$PCCL" topology --import=hwloc .
sed 's/\(cpuset="0x00000004"\) complete_cpuset/\1 complete_cpusev/' "$fabrics/node01.xml" >damaged.xml
refuses "hwloc: crashes in it" 3 'damaged.xml: hwloc crashes' "$PCCL" topology --import=hwloc damaged.xml
: >empty.xml
refuses "hwloc: empty" 3 'empty.xml: empty' "$PCCL" topology --import=hwloc empty.xml
for size in 60 400 2000; do
    head -c $size "$fabrics/node01.xml" >cut.xml
    "$PCCL" topology --import=hwloc cut.xml >out 2>err
    code=$?
    if [ $code -eq 3 ] && grep -q '^pccl: cut.xml: hwloc cannot read it' err; then
        echo "PASS hwloc: cut at $size"
    else
        echo "FAIL hwloc: cut at $size: exit code $code, $(head -c 200 err)"
    fi
done

# --- usage
refuses "unknown format" 2 "expected slurm, ibnetdiscover or hwloc" "$PCCL" topology --import=pbs x
refuses "fabric without an import" 2 "fabric is for imports" "$PCCL" topology --fabric=ring:4 ring:4
refuses "fabric with slurm" 2 "fabric does not go with" "$PCCL" topology --import=slurm --fabric=ring:4 x
refuses "unit with hwloc" 2 "speed-unit does not go with" "$PCCL" topology --import=hwloc --speed-unit=1GB/s x
refuses "wrong unit" 2 'bandwidth is "fast"' "$PCCL" topology --import=slurm --speed-unit=fast "$fabrics/topology.conf"
refuses "two files" 2 "takes one file" "$PCCL" topology --import=slurm a b
refuses "two topologies" 2 "unexpected 'ring:5'" "$PCCL" topology ring:4 ring:5
