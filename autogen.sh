#!/bin/sh
# Makes ./configure from configure.ac. Needs autoconf >= 2.71, automake >= 1.16, libtool and pkg-config (for pkg.m4).
set -eu
cd "$(dirname "$0")"

for tool in autoreconf automake libtoolize pkg-config; do
    command -v "$tool" >/dev/null || {
        echo "autogen.sh: $tool was not found. On Debian: apt-get install autoconf automake libtool pkg-config" >&2
        exit 1
    }
done

autoreconf --install --warnings=all "$@"
echo "Now run ./configure, or a configure in another directory: mkdir build && cd build && ../configure"
