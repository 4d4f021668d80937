/* What importers have in common: their notes are lines, and what they make can be written and read. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pccl/io.h"
#include "targets.h"

static void take_note(void *context, const char *text)
{
    uint32_t *count = context;
    if (++*count > 100 || strchr(text, '\n') != NULL || text[0] == '\0') {
        abort();
    }
}

int fuzz_import(fuzz_importer *import, const uint8_t *data, size_t size)
{
    struct fuzz_file file;
    struct pccl_topology *topology = NULL, *again = NULL;
    struct pccl_error error = {""};
    uint32_t count = 0;
    struct pccl_import_options options = {.note = take_note, .context = &count};
    fuzz_file_open(&file, data, size);
    int status = import(file.path, &options, &topology, &error);
    if ((status == PCCL_SUCCESS) != (topology != NULL) || (status != PCCL_SUCCESS && error.message[0] == '\0')) {
        abort();
    }
    if (topology != NULL && topology->num_vertices < 2000) {
        char path[64];
        const char *directory = getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp";
        snprintf(path, sizeof(path), "%.30s/pccl-import-%d.json", directory, (int)getpid());
        if (pccl_topology_write(topology, path, &error) || pccl_topology_read(path, &again, &error) ||
            again->digest != topology->digest) {
            abort();
        }
        pccl_topology_free(again);
        unlink(path);
    }
    pccl_topology_free(topology);
    fuzz_file_close(&file);
    return 0;
}
