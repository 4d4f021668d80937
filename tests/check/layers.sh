#!/bin/sh
# The include lines of every source file respect the layers of doc/design.md. Prints each line that does not.
set -eu
cd "${PCCL_SOURCE:-$(dirname "$0")/../..}"

find synth mca_coll_pccl -name '*.[ch]' -print | LC_ALL=C sort | xargs awk '
    BEGIN {
        split("base topology import schedule check algorithms io cli", order, " ")
        for (i = 1; i in order; i++)
            rank[order[i]] = i
        # The layer each public header belongs to.
        split("error:base topology:topology place:topology import:import demand:schedule schedule:schedule program:schedule " \
              "verify:check simulate:check bound:check synth:algorithms plan:algorithms io:io " \
              "store:io", pairs, " ")
        for (i in pairs) {
            split(pairs[i], pair, ":")
            public[pair[1]] = pair[2]
        }
    }

    function bad(why) {
        printf "%s:%d: %s: %s\n", FILENAME, FNR, $0, why
        failures++
    }

    # Which layer a file of the library is in; "" outside the library.
    function layer_of(file, parts) {
        split(file, parts, "/")
        if (parts[1] != "synth")
            return ""
        if (parts[2] != "include")
            return parts[2]
        sub(/\.h$/, "", parts[4])
        return (parts[4] in public) ? public[parts[4]] : "unknown"
    }

    FNR == 1 {
        files++
        layer = layer_of(FILENAME)
        component = FILENAME ~ /^mca_coll_pccl\// && FILENAME !~ /^mca_coll_pccl\/benchmark\//
        benchmark = FILENAME ~ /^mca_coll_pccl\/benchmark\//
        if (layer != "" && !(layer in rank)) {
            printf "%s: is in no layer of doc/design.md\n", FILENAME
            failures++
        }
    }

    /^[ \t]*#[ \t]*include/ {
        target = $0
        sub(/^[^"<]*["<]/, "", target)
        sub(/[">].*$/, "", target)
        folder = (index(target, "/") ? substr(target, 1, index(target, "/") - 1) : "")
        needs = (folder in rank) ? folder : ""
        if (folder == "pccl") {
            header = substr(target, 6)
            sub(/\.h$/, "", header)
            needs = (header in public) ? public[header] : ""
            if (needs == "")
                bad("no public header of the library has this name")
        }

        if (layer in rank && needs != "" && rank[needs] > rank[layer])
            bad("layer " layer " must not use layer " needs ", which is above it")
        if ((component || layer == "cli") && (folder in rank) && folder != layer)
            bad("only the public headers pccl/*.h are for use outside the library")
        if (!component && folder ~ /^(ompi|opal|orte|prte|pmix)$/)
            bad("only mca_coll_pccl/ may use the inside of Open MPI")
        if (layer != "" && target ~ /^mpi.*\.h$/)
            bad("the library does not know MPI")
        if (benchmark && folder == "pccl")
            bad("the benchmark is an ordinary MPI program")
        if (target ~ /cJSON\.h$/ && layer != "io" && layer != "cli")
            bad("only layer io uses cJSON")
        if (target == "hwloc.h" && FILENAME !~ /place[a-z_]*\.[ch]$/ && layer != "import" && !component)
            bad("only placement and importers use hwloc")
    }

    END {
        printf "%d files, %d lines against the layers\n", files, failures
        exit files == 0 || failures > 0
    }'
