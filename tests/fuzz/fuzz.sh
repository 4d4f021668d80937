#!/bin/sh
# Fuzzes the readers with clang's libFuzzer, AddressSanitizer and UndefinedBehaviorSanitizer.
# Usage: fuzz.sh [SECONDS [TARGET...]]; new inputs collect in $FUZZ_DIR (default: a directory of TMPDIR), finds as well.
# The target hwloc is left out unless named: hwloc's own reader trusts its input, and crashes first.
# Keep what breaks something as tests/fuzz/corpus/TARGET/NAME.
here=$(cd "$(dirname "$0")" && pwd)
root=$here/../..
seconds=${1:-60}
[ $# -gt 0 ] && shift
work=${FUZZ_DIR:-${TMPDIR:-/tmp}/pccl-fuzz}
mkdir -p "$work" && cd "$work" || exit 1
library=$(find "$root/synth" -name '*.c' ! -path '*/cli/*')
command_line="$root/synth/cli/group.c $root/synth/cli/values.c"
status=0
for target in ${*:-topology csv generator group demand schedule slurm ibnetdiscover}; do
    clang -std=gnu11 -g -O1 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer \
        -DFUZZ_TARGET=fuzz_$target -I"$root/synth/include" -I"$root/synth" -o fuzz_$target "$here/entry.c" "$here/files.c" \
        "$here/import.c" \
        "$here"/target_$target.c $library $command_line -lcjson -lhwloc -lm || exit 1
    mkdir -p new_$target
    case $target in topology | demand | schedule) dictionary=-dict=$here/json.dict ;; *) dictionary= ;; esac
    nice -n 10 ./fuzz_$target $dictionary -max_total_time="$seconds" -timeout=1200 -rss_limit_mb=2048 -max_len=8192 \
        -print_final_stats=1 new_$target "$here/corpus/$target" 2>fuzz_$target.log || status=1
    grep -E '^(SUMMARY|stat::number_of_executed_units|artifact_prefix)' fuzz_$target.log | sed "s/^/fuzz_$target: /"
done
exit $status
