/* Runs every target on the files kept for it in corpus/NAME: seeds, and inputs that once broke something. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "targets.h"

#ifndef PCCL_FUZZ_CORPUS
#define PCCL_FUZZ_CORPUS "corpus"
#endif
#define MAX_BYTES (1 << 22)

static const struct {
    const char *name;
    int (*run)(const uint8_t *data, size_t size);
} targets[] = {
    {"topology", fuzz_topology}, {"csv", fuzz_csv},       {"generator", fuzz_generator},
    {"group", fuzz_group},       {"demand", fuzz_demand}, {"schedule", fuzz_schedule},
    {"slurm", fuzz_slurm},       {"ibnetdiscover", fuzz_ibnetdiscover},
    {"hwloc", fuzz_hwloc},
};

static void run_file(size_t target, const char *path)
{
    uint8_t *data = malloc(MAX_BYTES);
    FILE *stream = fopen(path, "r");
    if (!data || !stream) {
        fprintf(stderr, "cannot read %s\n", path);
        exit(1);
    }
    size_t size = fread(data, 1, MAX_BYTES, stream);
    uint8_t *exact = malloc(size ? size : 1); /* so that a sanitizer sees reads past the end */
    memcpy(exact, data, size);
    targets[target].run(exact, size);
    free(exact);
    fclose(stream);
    free(data);
}

int main(int argc, char **argv)
{
    const char *corpus = argc > 1 ? argv[1] : PCCL_FUZZ_CORPUS;
    for (size_t t = 0; t < sizeof(targets) / sizeof(targets[0]); t++) {
        char path[1024];
        unsigned count = 0;
        snprintf(path, sizeof(path), "%s/%s", corpus, targets[t].name);
        DIR *directory = opendir(path);
        if (!directory) {
            printf("FAIL fuzz_%s: cannot open %s\n", targets[t].name, path);
            return 1;
        }
        for (struct dirent *entry; (entry = readdir(directory));) {
            if (entry->d_name[0] == '.') {
                continue;
            }
            snprintf(path, sizeof(path), "%s/%s/%.255s", corpus, targets[t].name, entry->d_name);
            run_file(t, path);
            count++;
        }
        closedir(directory);
        printf("PASS fuzz_%s: %u inputs\n", targets[t].name, count);
    }
    return 0;
}
