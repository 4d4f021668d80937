#!/bin/sh
# Makes a table of what compare.sh has measured, and a plot (SVG, by gnuplot) of time against size for each network,
# order of ranks and collective with at least three sizes.
#   report.sh FILE.csv [FOLDER-FOR-PLOTS [MBIT-PER-SECOND]]     default: no plots, 10 Mbit/s
# Times in ms. best: the fastest of the default's forced algorithms, and its number. gain: the faster of default and
# best, over pccl. bound: bytes that must cross the busiest link, over the rate that headers leave. bytes: what pccl
# put on the busiest link, headers and acknowledgements included, over the bytes of the bound.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
csv=$1
folder=${2:-}
mbit=${3:-10}

# Columns: network, order, group, collective, bytes, variant, calls, median, least, most, busiest link, its bytes, ...
summarize() {
    awk -F, -v mbit="$mbit" -v OFS="$1" -f "$here/bounds.awk" -f /dev/fd/3 "$csv" 3<<'AWK'
    # Whoever came into the final has more calls than any other (MAX_CALLS in compare.c).
    function is_ahead(calls, time) {
        return calls == "" || ($7 > 41) > (calls > 41) || (($7 > 41) == (calls > 41) && $8 + 0 < time + 0)
    }
    function show(value, format) { return value > 0 ? sprintf(format, value) : "-" }
    {
        case_name = $1 OFS $2 OFS $3 OFS $4 OFS $5
        if (!(case_name in known)) { known[case_name]; cases[++num_cases] = case_name }
        if ($6 == "pccl") { pccl[case_name] = $8; bytes[case_name] = $12 }
        else {
            if ($6 == "default") other[case_name] = $8
            else if (is_ahead(forced_calls[case_name], best[case_name])) {
                forced_calls[case_name] = $7
                best[case_name] = $8
                which[case_name] = substr($6, 8)
            }
            if (is_ahead(rival_calls[case_name], rival[case_name])) {
                rival_calls[case_name] = $7
                rival[case_name] = $8
            }
        }
        bound[case_name] = bound_bytes($1, $3, $4, $5)
    }
    END {
        print "network", "order", "group", "collective", "size", "default", "best", "no.", "pccl", "gain", "bound",
            "bound/pccl", "bytes"
        for (i = 1; i <= num_cases; i++) {
            c = cases[i]
            if (pccl[c] == 0) continue
            limit = bound[c] / (mbit * 125000 * 1448 / 1514) * 1e6
            load = bound[c] > 0 ? bytes[c] / bound[c] : 0
            number = c in which ? which[c] : "-"
            print c, show(other[c] / 1e3, "%.2f"), show(best[c] / 1e3, "%.2f"), number, show(pccl[c] / 1e3, "%.2f"),
                show(rival[c] / pccl[c], "%.2f"), show(limit / 1e3, "%.2f"), show(limit / pccl[c], "%.2f"),
                show(load, "%.2f")
        }
    }
AWK
}

# plot NETWORK ORDER COLLECTIVE: from the rows of the table in $folder/table.
plot() {
    name=$1-$2-$3
    awk -v n="$1" -v o="$2" -v c="$3" '
        $1 == n && $2 == o && $3 == "all" && $4 == c && $5 > 0 { gsub("-", "nan"); print }' "$folder/table" |
        sort -n -k 5 >"$folder/$name.data"
    if [ "$(wc -l <"$folder/$name.data")" -ge 3 ]; then
        gnuplot <<PLOT
set terminal svg size 720,480 background "white"
set output "$folder/$name.svg"
set title "$3 on 16 hosts, $1, order of ranks: $2"
set logscale xy
set xlabel "bytes"
set ylabel "ms"
set key left top
set grid
plot "$folder/$name.data" using 5:6 with linespoints title "default", \
    "" using 5:7 with linespoints title "best forced", \
    "" using 5:9 with linespoints linewidth 2 title "pccl", "" using 5:11 with lines dashtype 2 title "bound"
PLOT
        echo "$folder/$name.svg"
    fi
    rm "$folder/$name.data"
}

summarize "	" | awk -F '	' '
    { for (i = 1; i <= NF; i++) { cell[NR, i] = $i; if (length($i) > width[i]) width[i] = length($i) } columns = NF }
    END {
        for (row = 1; row <= NR; row++)
            for (i = 1; i <= columns; i++)
                printf i < 5 ? "%-" width[i] "s%s" : "%" width[i] "s%s", cell[row, i], i < columns ? "  " : "\n"
    }'
[ -n "$folder" ] || exit 0
command -v gnuplot >/dev/null || {
    echo "report.sh: no plots: the program gnuplot is not installed" >&2
    exit 1
}
mkdir -p "$folder"
summarize " " >"$folder/table"
awk 'NR > 1 && $3 == "all" { print $1, $2, $4 }' "$folder/table" | sort -u | while read -r network order collective; do
    plot "$network" "$order" "$collective"
done
rm "$folder/table"
