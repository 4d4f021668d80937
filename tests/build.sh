#!/bin/sh
# Builds everything, test programs included, with warnings as errors: tests/build.sh FOLDER CC CONFIGURE-FLAGS...
set -eu
source=$(cd "$(dirname "$0")/.." && pwd)
folder=$1
compiler=$2
shift 2

mkdir -p "$folder"
cd "$folder"
[ -x "$source/configure" ] || "$source/autogen.sh"
"$source/configure" -q CC="$compiler" --enable-werror --prefix="$folder/installed" \
    --with-component-dir="$folder/installed/lib/openmpi" "$@"
make -s -j"$(nproc)"
make -s -j"$(nproc)" check TESTS=
