#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "targets.h"

void fuzz_file_open(struct fuzz_file *file, const uint8_t *data, size_t size)
{
    file->descriptor = memfd_create("fuzz", MFD_CLOEXEC);
    while (file->descriptor >= 0 && size > 0) {
        ssize_t written = write(file->descriptor, data, size);
        if (written <= 0) {
            abort();
        }
        data += written;
        size -= (size_t)written;
    }
    if (file->descriptor < 0) {
        abort();
    }
    snprintf(file->path, sizeof(file->path), "/proc/self/fd/%d", file->descriptor);
}

void fuzz_file_close(struct fuzz_file *file)
{
    close(file->descriptor);
}
