# Bytes that the most loaded link has to carry in any case, by counting what must cross a cut; by hand, apart from
# pccl's own bounds. 16 hosts with r ranks each; 0: not counted out for this case. Sizes as in compare.c.
function bound_bytes(kind, group, collective, m, r,    n, links, all) {
    if (r == 0) r = 1
    n = 16
    links = 1                               # that lead into a host, at the host that has fewest
    if (kind == "torus") links = 4
    if (kind == "mesh") links = 2
    if (group == "row" || group == "rows" || group == "column") { n = 4; links = kind == "torus" ? 2 : 1 }
    else if (group == "perrack") n = 4      # on the tree, one host of each rack
    else if (group == "scattered" && kind != "torus" && kind != "mesh") n = 6
    else if (group != "all") return 0
    all = n * r
    if (collective == "allgather") return (all - r) * m / links
    if (collective == "allreduce") return 2 * (n - 1) / n * m / links
    if (collective == "reduce_scatter_block") return (n - 1) * r * m / links
    if (collective == "bcast" || collective == "reduce") return m / links
    if (collective == "gather" || collective == "scatter") return (all - r) * m / links
    if (collective == "alltoall" && group == "all") {
        if (kind == "star") return r * (all - r) * m
        if (kind == "tree") return 4 * r * 12 * r * m   # out of a rack
        if (kind == "torus") return 8 * r * r * m       # 32 links on the ways from one host, 64 links in all
        if (kind == "mesh") return 16 * r * r * m       # 64 pairs each way over the 4 links across the middle
    }
    return 0
}
