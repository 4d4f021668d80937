#!/bin/sh
# Builds the component with ThreadSanitizer and runs threads on communicators of their own over it, in all forms of
# calls. Any report fails the test; tsan.supp has the ones about Open MPI itself, and why. See launch.sh for the
# environment.
set -eu
source=$(cd "$(dirname "$0")/../.." && pwd)
. "$source/tests/mpi/launch.sh"
here=$source/tests/mpi

# Random addresses are switched off, since ThreadSanitizer has fixed places for its own memory.
if ! setarch -R true 2>"$logs/setarch.log"; then
    skip tsan "no right to switch off random addresses"
    exit 0
fi

build() {
    flags="-O1 -g -fsanitize=thread -Wno-tsan"
    mkdir -p "$TEST_FOLDER/tsan" && cd "$TEST_FOLDER/tsan" &&
        "$source/configure" -q CC=gcc CFLAGS="$flags" --prefix="$TEST_FOLDER/tsan/installed" \
            --with-component-dir="$TEST_FOLDER/tsan/installed" &&
        make -s -j"$(nproc)" mca_coll_pccl.la &&
        TEST_CFLAGS="-fsanitize=thread" compile threads "$here/threads.c" "$here/check.c"
}

start_command="the compiler"
if ! (build) >"$logs/build.log" 2>&1; then
    print_log "$logs/build.log"
    fail build "the component does not compile with ThreadSanitizer"
    exit 1
fi

# reports NAME: what ThreadSanitizer found that can be held against tsan.supp. The suppressions name functions, so they
# miss a report of which it has forgotten one of the two stacks; such a report is left out.
reports() {
    cat "$logs/$1".tsan.* 2>/dev/null |
        awk 'BEGIN { RS = "==================\n" } /WARNING/ && !/failed to restore the stack/'
}

# tsan_launch NAME RANKS "OPTIONS": Open MPI's own misuse of locks is not reported.
tsan_launch() {
    rm -f "$logs/$1".tsan.*
    options="suppressions=$here/tsan.supp:log_path=$logs/$1.tsan:exitcode=0"
    options="$options:report_mutex_bugs=0:report_destroy_locked=0:history_size=7"
    # shellcheck disable=SC2086
    start "$1" 200 "$pccl_environment TSAN_OPTIONS=$options \
OMPI_MCA_mca_base_component_path=$TEST_FOLDER/tsan/.libs:SYSTEM_DEFAULT" \
        -n "$2" $3 setarch -R "$TEST_FOLDER/threads" 12
    reports "$1" >"$logs/$1.reports"
    if [ -s "$logs/$1.reports" ]; then
        fail "$1" "$(grep -c WARNING "$logs/$1.reports") reports, the first of them:"
        head -n 40 "$logs/$1.reports" | sed 's/^/    | /'
        return
    fi
    judge "$1" "$at_work"
}

tsan_launch tsan-2 2 ""
tsan_launch tsan-eviction-3 3 "--mca coll_pccl_cache_plans 1 --mca coll_pccl_keep_mib 0"
count_up
