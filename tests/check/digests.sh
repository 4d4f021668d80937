#!/bin/sh
# The same inputs give the same schedules, byte for byte: whatever the compiler and its optimisation, from run to run, and
# whatever lies in memory. Compiles the library anew in several ways and compares the digests of many schedules.
set -eu
source=${PCCL_SOURCE:-$(cd "$(dirname "$0")/../.." && pwd)}
if ! libraries=$(pkg-config --cflags --libs hwloc libcjson); then
    echo "pkg-config does not know hwloc and libcjson"
    exit 77
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failures=0

# build NAME COMPILER FLAG: objects are named after paths, as two files may have one name.
build() {
    mkdir "$folder/$1"
    find "$source/synth" -name '*.c' ! -path '*/cli/*' | while read -r file; do
        echo "$file $folder/$1/$(echo "${file#"$source"/}" | tr / -).o"
    done >"$folder/$1/files"
    # shellcheck disable=SC2086 # the flags are words
    xargs -P "$(nproc)" -n 2 sh -c "$2 $3 -std=gnu11 -I$source/synth -I$source/synth/include \
        $(pkg-config --cflags hwloc libcjson) -c \"\$0\" -o \"\$1\"" <"$folder/$1/files" &&
        $2 $3 -std=gnu11 -I"$source/synth/include" "$source/tests/check/digests.c" "$folder/$1"/*.o $libraries -lm \
            -o "$folder/$1/digests"
}

# print_digests NAME BUILD NUMBER: in the background. All memory that is allocated and freed is filled with the number.
print_digests() {
    MALLOC_PERTURB_=$3 "$folder/$2/digests" >"$folder/$1.out" || echo "exit status $?" >>"$folder/$1.out" &
}

# compare NAME: its output with that of the first build.
compare() {
    if ! cmp -s "$folder/gcc-O0.out" "$folder/$1.out"; then
        echo "gcc -O0 and $1 do not make the same schedules:"
        diff "$folder/gcc-O0.out" "$folder/$1.out" | head -n 10
        failures=$((failures + 1))
    fi
}

for way in "gcc -O0" "gcc -O3" "clang -O1"; do
    compiler=${way% *}
    if ! command -v "$compiler" >/dev/null; then
        echo "$compiler is not installed"
        exit 77
    fi
    name=$compiler${way#* }
    build "$name" "$compiler" "${way#* }"
    print_digests "$name" "$name" ${#name}
done
print_digests again gcc-O3 170
wait
for name in gcc-O3 clang-O1 again; do
    compare "$name"
done
number=$(grep -c ': [0-9a-f]\{16\} ' "$folder/gcc-O0.out")
echo "$number schedules, $failures failures"
[ "$failures" -eq 0 ] && [ "$number" -ge 100 ] && ! grep -q 'exit status' "$folder/gcc-O0.out"
