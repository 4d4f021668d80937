#!/bin/sh
# The release archive that `make dist` has left in the build directory has every file of the repository, but for those
# that only concern the repository itself.
set -eu
source=${PCCL_SOURCE:-$(cd "$(dirname "$0")/../.." && pwd)}
build=${PCCL_BUILD:-.}
archive=$(ls "$build"/pccl-*.tar.* 2>/dev/null | head -n 1)
[ -n "$archive" ] || {
    echo "there is no archive in $build"
    exit 77
}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
git -c safe.directory='*' -C "$source" ls-files >"$folder/files" 2>"$folder/git" || {
    echo "this is not a checkout: $(cat "$folder/git")"
    exit 77
}
[ -s "$folder/files" ] || {
    echo "the repository has no files"
    exit 77
}
grep -vE '^\.|/\.' "$folder/files" | LC_ALL=C sort >"$folder/wanted"
tar -tf "$archive" | sed 's|^[^/]*/||' | LC_ALL=C sort >"$folder/archived"
missing=$(LC_ALL=C comm -23 "$folder/wanted" "$folder/archived")
[ -z "$missing" ] || {
    echo "files of the repository that $archive does not have:"
    echo "$missing"
    exit 1
}
echo "$(wc -l <"$folder/wanted") files"
