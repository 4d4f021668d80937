#!/bin/sh
# Installs the Debian packages that pccl needs, if they are not there yet.
#   tests/packages.sh build    to build and use pccl
#   tests/packages.sh demo     for tests/demo.sh
#   tests/packages.sh tests    to run all tests as well
# Needs root or sudo only if something is missing, and then the network.
set -eu

packages="autoconf automake libtool make gcc libc6-dev pkg-config libopenmpi-dev openmpi-bin libhwloc-dev libcjson-dev"
case ${1:-} in
build) ;;
demo) packages="$packages iproute2 ethtool" ;;
tests) packages="$packages libcmocka-dev clang valgrind binutils xz-utils hpcc python3-mpi4py iproute2 ethtool procps" ;;
*)
    echo "usage: tests/packages.sh build|demo|tests" >&2
    exit 2
    ;;
esac

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    echo "packages.sh: this is not Debian; please see to it that the likes of these are installed: $packages" >&2
    exit 0
fi

missing=
for package in $packages; do
    status=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
    [ "$status" = installed ] || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

as_root=
if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || {
        echo "packages.sh: run this as root, or install sudo; it has to install:$missing" >&2
        exit 1
    }
    as_root=sudo
fi
echo "Installing:$missing"
$as_root apt-get -qq update
DEBIAN_FRONTEND=noninteractive $as_root apt-get -qq -y --no-install-recommends install $missing >/dev/null
