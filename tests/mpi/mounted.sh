#!/bin/sh
# mpirun in a namespace of its own where an empty file system is mounted at MOUNT_POINT with MOUNT_OPTIONS.
exec unshare --mount sh -c 'mount -t tmpfs -o "$MOUNT_OPTIONS" tmpfs "$MOUNT_POINT" && exec "${MPIRUN:-mpirun}" "$@"' \
    mounted "$@"
