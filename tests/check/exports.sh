#!/bin/sh
# What the built objects show and use: the component exports one symbol and leaves none open; the library's names begin
# with pccl_, it has no writable global data, and it neither prints nor asks a clock nor ends the process.
set -eu
build=${PCCL_BUILD:-.}
failures=0

fail() {
    echo "$1"
    failures=$((failures + 1))
}

check_component() {
    exported=$(nm -D --defined-only "$1" | awk '{ print $3 }')
    [ "$exported" = mca_coll_pccl_component ] ||
        fail "$1 must export mca_coll_pccl_component only; it exports: $(echo "$exported" | tr '\n' ' ')"
    open=$(ldd -r "$1" 2>&1 | grep 'undefined symbol' || true)
    [ -z "$open" ] || fail "$1 has symbols that no library it names defines: $open"
}

check_library() {
    foreign=$(nm -A --defined-only --extern-only "$1" | awk '$NF !~ /^pccl_/ && $NF !~ /^__(a|ub|t)san/ { print $NF }')
    [ -z "$foreign" ] || fail "global names in the library that do not begin with pccl_: $foreign"
    # Not .data.rel.ro: constant tables of pointers are read-only once the program is loaded.
    writable=$(objdump -t "$1" | awk '$2 ~ /^[lg]/ && / O \.(data|bss|tdata|tbss)(\.(local|rel))?[ \t]/ { print $NF }')
    [ -z "$writable" ] || fail "writable global data in the library: $writable"
    used=$(nm -A --undefined-only "$1" | awk '
        $NF ~ /^(v?printf|__v?printf_chk|puts|putchar|perror|stdout|stderr|exit|abort|getenv)$/ ||
        $NF ~ /^(time|clock|clock_gettime|gettimeofday|rand|random|srand)$/ { print $1, $NF }')
    [ -z "$used" ] || fail "the library must not use: $used"
}

[ -e "$build/.libs/libpcclsynth.a" ] || {
    echo "there is no build in $build"
    exit 77
}
check_library "$build/.libs/libpcclsynth.a"
if [ -e "$build/.libs/mca_coll_pccl.so" ]; then
    check_component "$build/.libs/mca_coll_pccl.so"
fi
echo "$failures failures"
[ "$failures" -eq 0 ]
