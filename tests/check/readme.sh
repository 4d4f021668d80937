#!/bin/sh
# The documentation names only what exists: scripts, files, and parameters of the component.
set -eu
source=${PCCL_SOURCE:-$(dirname "$0")/../..}
build=${PCCL_BUILD:-.}
ompi_info=${OMPI_INFO:-ompi_info}
failures=0

fail() {
    echo "$1"
    failures=$((failures + 1))
}

cd "$source"
project_file='(tests|doc|synth|mca_coll_pccl|config)/[A-Za-z0-9_./-]*[A-Za-z0-9_]\.(sh|md|[ch]|m4|mk|json)'
for document in README.md doc/*.md; do
    for path in $(grep -oE "$project_file" "$document" | sort -u); do
        [ -e "$path" ] || fail "$document names $path, which does not exist"
    done
    for path in $(grep -oE '\]\([^)#]+' "$document" | cut -c3- | grep -v '^https*:' | sort -u); do
        [ -e "$(dirname "$document")/$path" ] || fail "$document links to $path, which does not exist"
    done
done
for command in $(grep -oE '^ *(sh +)?tests/[a-z_/]+\.sh' README.md | sed 's/^ *//; s/^sh *//' | sort -u); do
    [ -x "$command" ] || fail "README.md tells to run $command, which cannot be executed"
done
cd - >/dev/null

if [ -e "$build/.libs/mca_coll_pccl.so" ]; then
    # Parameters, and variables of MPI's tool interface.
    known=$(OMPI_MCA_mca_base_component_path=$(cd "$build/.libs" && pwd):SYSTEM_DEFAULT \
        "$ompi_info" --param coll pccl --level 9 --parsable |
        sed -n 's/^mca:coll:pccl:p[a-z]*:\([a-z_]*\):[a-z-]*:.*/\1/p')
    named=$(cd "$source" && cat README.md doc/*.md | grep -oE '\bcoll_pccl_[a-z_]*[a-z]\b' | sort -u)
    for name in $named; do
        echo "$known" | grep -qx "$name" || fail "the documentation names $name, which the component does not have"
    done
fi
echo "$failures failures"
[ "$failures" -eq 0 ]
