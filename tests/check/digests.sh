#!/bin/sh
# The same inputs give the same schedules, byte for byte: whatever the compiler and its optimisation, from run to run,
# and whatever lies in memory. Compares the digests of many schedules over the library as the build in PCCL_BUILD has
# it, as clang has built it in OTHER_BUILD, and compiled anew; what is not built is compiled.
set -eu
source=${PCCL_SOURCE:-$(cd "$(dirname "$0")/../.." && pwd)}
if ! libraries=$(pkg-config --cflags --libs hwloc libcjson); then
    echo "pkg-config does not know hwloc and libcjson"
    exit 77
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failures=0

# link NAME COMPILER FLAG OBJECTS...: the program that prints digests.
link() {
    program=$folder/$1/digests
    linker="$2 $3"
    shift 3
    # shellcheck disable=SC2086 # the flags are words
    $linker -std=gnu11 -I"$source/synth/include" "$source/tests/check/digests.c" "$@" $libraries -lm -o "$program"
}

# compile NAME COMPILER FLAG: the library and the program. Objects are named after paths, as two files may have one
# name.
compile() {
    find "$source/synth" -name '*.c' ! -path '*/cli/*' | while read -r file; do
        echo "$file $folder/$1/$(echo "${file#"$source"/}" | tr / -).o"
    done >"$folder/$1/files"
    # shellcheck disable=SC2086 # the flags are words
    xargs -P "$(nproc)" -n 2 sh -c "$2 $3 -std=gnu11 -I$source/synth -I$source/synth/include \
        $(pkg-config --cflags hwloc libcjson) -c \"\$0\" -o \"\$1\"" <"$folder/$1/files" &&
        link "$1" "$2" "$3" "$folder/$1"/*.o
}

# build NAME COMPILER FLAG BUILD: over the library of a build that needs no further flags, or anew.
build() {
    mkdir "$folder/$1"
    link "$1" "$2" "$3" "$4/.libs/libpcclsynth.a" 2>/dev/null || compile "$1" "$2" "$3"
}

# print_digests NAME BUILD NUMBER: in the background. All memory that is allocated and freed is filled with the number.
print_digests() {
    MALLOC_PERTURB_=$3 "$folder/$2/digests" >"$folder/$1.out" || echo "exit status $?" >>"$folder/$1.out" &
}

# compare NAME: its output with that of the first build.
compare() {
    if ! cmp -s "$folder/anew.out" "$folder/$1.out"; then
        echo "anew (gcc -O3) and $1 do not make the same schedules:"
        diff "$folder/anew.out" "$folder/$1.out" | head -n 10
        failures=$((failures + 1))
    fi
}

for compiler in gcc clang; do
    if ! command -v "$compiler" >/dev/null; then
        echo "$compiler is not installed"
        exit 77
    fi
done
build built gcc -O0 "${PCCL_BUILD:-.}"
print_digests built built 85
build other clang -O1 "${OTHER_BUILD:-/nowhere}"
print_digests other other 13
build anew gcc -O3 /nowhere
print_digests anew anew 7
print_digests again anew 170
wait
for name in built other again; do
    compare "$name"
done
number=$(grep -c ': [0-9a-f]\{16\} ' "$folder/anew.out")
echo "$number schedules, $failures failures"
[ "$failures" -eq 0 ] && [ "$number" -ge 100 ] && ! grep -q 'exit status' "$folder/anew.out"
