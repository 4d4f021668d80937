# shellcheck shell=bash
# A cluster on one machine: every host is a network namespace with a host name of its own, every network link a pair of
# virtual interfaces whose two ends are shaped to the same rate. Sourced, not run. Needs root, iproute2 and ethtool.
#
#   cluster_up KIND     star | tree | torus | mesh, 16 hosts h0..h15
#   cluster_down        removes all of it; safe to call twice and after a partial cluster_up
#   cluster_fabric      the network as a topology file for pccl
#   cluster_counters    one line per shaped link end: "name bytes"
#   cluster_drops       number of packets that shaping threw away (must be 0 for a measurement to count)
#   cluster_mpirun ...  mpirun with the hosts as its nodes
#
# Nothing leaves the machine: the namespaces are joined to each other only.

CLUSTER_NAME=${CLUSTER_NAME:-pccl$$}
CLUSTER_RATE_MBIT=${CLUSTER_RATE_MBIT:-10}
CLUSTER_HOSTS=${CLUSTER_HOSTS:-16} # another number on a star only
CLUSTER_LATENCY=${CLUSTER_LATENCY:-50us} CLUSTER_OVERHEAD=${CLUSTER_OVERHEAD:-60us}
CLUSTER_DIR=${CLUSTER_DIR:-${TMPDIR:-/tmp}/$CLUSTER_NAME}
CLUSTER_BURST=${CLUSTER_BURST:-4096} # bytes at least; a packet and little more is nearest to a real link
CLUSTER_PATIENCE=2s # of senders, until they take a packet for lost
CLUSTER_LINKS=() # "namespace interface name" of every shaped link end

# Why clusters cannot be made here; empty if they can.
cluster_obstacle()
{
    [ "$(id -u)" -eq 0 ] || { echo "needs root"; return; }
    local tool
    for tool in ip tc ethtool nsenter unshare; do
        command -v "$tool" >/dev/null || { echo "needs the program $tool"; return; }
    done
    ip netns add "${CLUSTER_NAME}_probe" 2>/dev/null || { echo "network namespaces are not allowed here"; return; }
    ip link add "${CLUSTER_NAME}p" netns "${CLUSTER_NAME}_probe" type bridge 2>/dev/null ||
        echo "bridges are not allowed here"
    ip netns delete "${CLUSTER_NAME}_probe"
}

in_netns() { nsenter --net="/run/netns/${CLUSTER_NAME}_$1" "${@:2}"; }

add_netns()
{
    ip netns add "${CLUSTER_NAME}_$1"
    in_netns "$1" ip link set lo up
}

add_bridge()
{
    in_netns "$1" ip link add "$2" type bridge
    in_netns "$1" ip link set "$2" up
}

# pair NAMESPACE INTERFACE NAMESPACE INTERFACE
add_pair()
{
    ip link add "$2" netns "${CLUSTER_NAME}_$1" type veth peer name "$4" netns "${CLUSTER_NAME}_$3"
    in_netns "$1" ip link set "$2" up
    in_netns "$3" ip link set "$4" up
}

# Shapes what leaves INTERFACE of NAMESPACE and remembers it under NAME for the counters. After a pause a burst passes
# at once.
shape()
{
    local burst=$((CLUSTER_RATE_MBIT * 1000000 / 8 / 2000)) # half a millisecond
    [ $burst -ge "$CLUSTER_BURST" ] || burst=$CLUSTER_BURST
    in_netns "$1" ethtool -K "$2" tso off gso off gro off >/dev/null 2>&1
    in_netns "$1" tc qdisc add dev "$2" root tbf rate "${CLUSTER_RATE_MBIT}mbit" burst $burst limit 65536kb
    CLUSTER_LINKS+=("$1 $2 $3")
}

add_host()
{
    local host=h$1
    add_netns "$host"
    : >"$CLUSTER_DIR/uts_$host"
    unshare --uts="$CLUSTER_DIR/uts_$host" hostname "$host"
    add_pair "$host" manage head "m$1"
    in_netns head ip link set "m$1" master manage
    in_netns "$host" ip address add "10.200.0.$(($1 + 1))/24" dev manage
    # Reno fills a link however late its acknowledgements come. BBR, which a machine may have as its default, takes
    # those that queue behind data the other way for a slower path, and lets the link stand still until they come. No
    # packet is ever lost here, so what is sent again because an acknowledgement is late (probes, and after a timeout)
    # only takes room on the links.
    in_netns "$host" sysctl -qw net.ipv4.ip_forward=1 net.ipv4.tcp_slow_start_after_idle=0 \
        net.ipv4.tcp_congestion_control=reno net.ipv4.tcp_early_retrans=0 \
        net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.default.rp_filter=0
}

# attach HOST BRIDGE: a shaped link from a host to a bridge of the fabric
attach()
{
    add_pair "h$1" data fabric "d$1"
    in_netns fabric ip link set "d$1" master "$2"
    in_netns "h$1" ip address add "10.201.0.$(($1 + 1))/24" dev data
    in_netns "h$1" ip route change 10.201.0.0/24 dev data src "10.201.0.$(($1 + 1))" rto_min "$CLUSTER_PATIENCE"
    shape "h$1" data "h$1->$2"
    shape fabric "d$1" "$2->h$1"
}

make_star()
{
    add_netns fabric
    add_bridge fabric core
    local i
    for ((i = 0; i < CLUSTER_HOSTS; i++)); do attach $i core; done
}

# Four racks of four hosts; each rack's uplink is as fast as one host's link: a 4:1 taper.
make_tree()
{
    add_netns fabric
    add_bridge fabric core
    local rack i
    for rack in 0 1 2 3; do
        add_bridge fabric rack$rack
        add_pair fabric up$rack fabric down$rack
        in_netns fabric ip link set up$rack master rack$rack
        in_netns fabric ip link set down$rack master core
        shape fabric up$rack "rack$rack->core"
        shape fabric down$rack "core->rack$rack"
        for i in 0 1 2 3; do attach $((rack * 4 + i)) rack$rack; done
    done
}

# make_grid wrap|edge: 4x4, host = 4 * row + column; packets go along dimension 0 (rows) first, the shorter way round,
# ties to the increasing side: the rule that pccl assumes for grids.
make_grid()
{
    local i
    for ((i = 0; i < CLUSTER_HOSTS; i++)); do
        add_bridge h$i self
        in_netns h$i ip address add "10.201.0.$((i + 1))/32" dev self
    done
    local row column
    for ((i = 0; i < CLUSTER_HOSTS; i++)); do
        row=$((i / 4)) column=$((i % 4))
        if [ "$1" = wrap ] || [ $row -lt 3 ]; then join_hosts $i $(((row + 1) % 4 * 4 + column)) 0; fi
        if [ "$1" = wrap ] || [ $column -lt 3 ]; then join_hosts $i $((row * 4 + (column + 1) % 4)) 1; fi
    done
    local from to
    for ((from = 0; from < CLUSTER_HOSTS; from++)); do
        for ((to = 0; to < CLUSTER_HOSTS; to++)); do
            [ $from -eq $to ] || add_route "$1" $from $to
        done
    done
}

# join_hosts A B DIMENSION: a link from A's increasing side to B's decreasing side.
join_hosts()
{
    local subnet="10.202.$(($3 * 16 + $1))"
    add_pair "h$1" "plus$3" "h$2" "minus$3"
    in_netns "h$1" ip address add "$subnet.1/30" dev "plus$3"
    in_netns "h$2" ip address add "$subnet.2/30" dev "minus$3"
    shape "h$1" "plus$3" "h$1->h$2"
    shape "h$2" "minus$3" "h$2->h$1"
}

add_route()
{
    local dimension=0 here=$(($2 / 4)) there=$(($3 / 4))
    if [ $here -eq $there ]; then dimension=1 here=$(($2 % 4)) there=$(($3 % 4)); fi
    local side=plus
    if [ "$1" = wrap ]; then
        [ $(((there - here + 4) % 4)) -le 2 ] || side=minus
    else
        [ $there -gt $here ] || side=minus
    fi
    local gateway
    if [ $side = plus ]; then
        gateway="10.202.$((dimension * 16 + $2)).2"
    else
        local below=$((dimension == 0 ? ((here + 3) % 4) * 4 + $2 % 4 : $2 / 4 * 4 + (here + 3) % 4))
        gateway="10.202.$((dimension * 16 + below)).1"
    fi
    in_netns "h$2" ip route add "10.201.0.$(($3 + 1))/32" via "$gateway" dev "$side$dimension" \
        src "10.201.0.$(($2 + 1))" rto_min "$CLUSTER_PATIENCE"
}

# cluster_fabric: the network as a topology file for pccl. A link's rate is what is left for data by the headers of
# Ethernet, IP and TCP (1448 of 1514 bytes); latency and overhead are rough values for a machine that plays all hosts.
cluster_fabric()
{
    printf '%s\n' "${CLUSTER_LINKS[@]}" |
        awk -v kind="$CLUSTER_KIND" -v hosts="$CLUSTER_HOSTS" -v mbit="$CLUSTER_RATE_MBIT" \
            -v latency="$CLUSTER_LATENCY" -v overhead="$CLUSTER_OVERHEAD" '
        function quote(text) { return "\"" text "\"" }
        {
            split($3, end, "->")
            for (i = 1; i <= 2; i++)
                if (end[i] !~ /^h[0-9]/ && !(end[i] in seen)) {
                    seen[end[i]]
                    switches = switches (switches ? ", " : "") quote(end[i])
                }
            links = links (links ? ",\n" : "") "  {" quote("source") ": " quote(end[1]) ", " quote("target") ": " \
                quote(end[2]) ", " quote("latency") ": " quote(latency) ", " quote("bandwidth") ": " \
                quote(int(mbit * 125000 * 1448 / 1514) "B/s") "}"
        }
        END {
            for (i = 0; i < hosts; i++) devices = devices (i ? ", " : "") quote("h" i)
            print "{" quote("name") ": " quote(kind " of " hosts " hosts") ", "
            print " " quote("overhead") ": " quote(overhead) ","
            print " " quote("devices") ": [" devices "], " quote("switches") ": [" switches "],"
            if (kind == "torus" || kind == "mesh")
                print " " quote("dimensions") ": [4, 4], " quote("wraps") ": " \
                    (kind == "torus" ? "true" : "false") ", " quote("routing") ": " quote("dimension-order") ","
            print " " quote("links") ": [\n" links "\n ]}"
        }'
}

cluster_up()
{
    CLUSTER_KIND=$1
    mkdir -p "$CLUSTER_DIR"
    add_netns head
    add_bridge head manage
    in_netns head ip address add 10.200.0.254/24 dev manage
    local i
    for ((i = 0; i < CLUSTER_HOSTS; i++)); do add_host $i; done
    case $1 in
        star) make_star ;;
        tree) make_tree ;;
        torus) make_grid wrap ;;
        mesh) make_grid edge ;;
        *) echo "cluster_up: unknown kind '$1', expected star, tree, torus or mesh" >&2; return 1 ;;
    esac
    write_agent
    write_counters
}

cluster_down()
{
    local i name
    for ((i = 0; i < CLUSTER_HOSTS; i++)); do umount "$CLUSTER_DIR/uts_h$i" 2>/dev/null || true; done
    for name in $(ip netns list 2>/dev/null | awk -v p="${CLUSTER_NAME}_" 'index($1, p) == 1 { print $1 }'); do
        ip netns delete "$name"
    done
    rm -rf "$CLUSTER_DIR"
    CLUSTER_LINKS=()
}

# The launch agent that mpirun uses in the place of ssh: AGENT HOST COMMAND...
write_agent()
{
    cat >"$CLUSTER_DIR/agent" <<AGENT
#!/bin/sh
host=\$1
shift
exec nice -n -15 nsenter --net=/run/netns/${CLUSTER_NAME}_\$host --uts=$CLUSTER_DIR/uts_\$host sh -c "\$*"
AGENT
    chmod +x "$CLUSTER_DIR/agent"
    local i
    for ((i = 0; i < CLUSTER_HOSTS; i++)); do echo "h$i slots=64"; done >"$CLUSTER_DIR/hosts"
}

# Makes $CLUSTER_DIR/counters, which prints "LINK BYTES DROPPED" for every shaped link end. A program of its own,
# because the ranks of a measurement call it too.
write_counters()
{
    {
        echo '#!/bin/sh'
        printf '%s\n' "${CLUSTER_LINKS[@]}" | awk '{ print $1 }' | sort -u | while read -r namespace; do
            echo "nsenter --net=/run/netns/${CLUSTER_NAME}_$namespace tc -s qdisc show | sed 's/^/$namespace /'"
        done
    } >"$CLUSTER_DIR/queues"
    printf '%s\n' "${CLUSTER_LINKS[@]}" >"$CLUSTER_DIR/links"
    cat >"$CLUSTER_DIR/counters" <<COUNTERS
#!/bin/sh
sh $CLUSTER_DIR/queues | awk '
    FNR == NR { name[\$1, \$2] = \$3; next }
    \$2 == "qdisc" { link = \$3 == "tbf" ? name[\$1, \$6] : "" }
    \$2 == "Sent" && link != "" { sub(",", "", \$8); print link, \$3, \$8 }' $CLUSTER_DIR/links -
COUNTERS
    chmod +x "$CLUSTER_DIR/counters"
}

cluster_counters() { "$CLUSTER_DIR/counters" | cut -d ' ' -f 1,2; }

cluster_drops() { "$CLUSTER_DIR/counters" | awk '{ n += $3 } END { print n + 0 }'; }

# mpirun of Open MPI 4.1 on the hosts. Launching goes over the management network, messages only over the shaped one;
# both sides of every comparison get the same transport settings.
cluster_mpirun()
{
    in_netns head mpirun --allow-run-as-root --hostfile "${CLUSTER_HOSTFILE:-$CLUSTER_DIR/hosts}" \
        --mca plm rsh --mca plm_rsh_agent "$CLUSTER_DIR/agent" --mca plm_rsh_no_tree_spawn 1 --mca routed direct \
        --mca oob_tcp_if_include 10.200.0.0/24 --mca pml ob1 --mca btl tcp,self --mca btl_tcp_if_include 10.201.0.0/24 \
        --mca btl_tcp_eager_limit 1048576 --mca btl_tcp_rndv_eager_limit 1048576 --mca btl_tcp_max_send_size 1048576 \
        --mca mpi_yield_when_idle 1 --mca opal_event_include epoll --bind-to none --map-by node "$@"
}
