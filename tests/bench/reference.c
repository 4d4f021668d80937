/* Cases from the files of reference/. */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

#define MAX_COLUMNS 24
#define SCCL_LATENCY_US 0.7
#define SCCL_US_PER_BYTE (1 / 25e3) /* one NVLink */

/* A file of lines with commas between the columns and names of these in the first line. */
struct table {
    FILE *stream;
    char names[1024], line[1024];
    char *columns[MAX_COLUMNS], *values[MAX_COLUMNS];
    int num_columns;
};

static int split(char *line, char **columns)
{
    int count = 0;
    line[strcspn(line, "\r\n")] = '\0';
    while (line != NULL && count < MAX_COLUMNS) {
        char *comma = strchr(line, ',');
        columns[count++] = line;
        line = comma != NULL ? comma + 1 : NULL;
        if (comma != NULL) {
            *comma = '\0';
        }
    }
    return count;
}

static bool table_open(struct table *table, const char *folder, const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    table->stream = fopen(path, "r");
    if (table->stream == NULL || fgets(table->names, sizeof table->names, table->stream) == NULL) {
        fprintf(stderr, "synth_bench: %s: cannot be read; expected a file of reference figures\n", path);
        return false;
    }
    table->num_columns = split(table->names, table->columns);
    return true;
}

static void table_close(struct table *table)
{
    if (table->stream != NULL) {
        fclose(table->stream);
    }
}

static bool table_next(struct table *table)
{
    if (fgets(table->line, sizeof table->line, table->stream) == NULL) {
        return false;
    }
    int count = split(table->line, table->values);
    return count == table->num_columns;
}

static const char *get(const struct table *table, const char *name)
{
    for (int i = 0; i < table->num_columns; i++) {
        if (strcmp(table->columns[i], name) == 0) {
            return table->values[i];
        }
    }
    return "";
}

static double get_number(const struct table *table, const char *name)
{
    return strtod(get(table, name), NULL);
}

/* Files of links lie beside the figures. */
static void set_links(struct bench_case *which, const char *folder, const char *name)
{
    snprintf(which->csv, sizeof which->csv, "%s/%s", folder, name);
}

static bool add_teccl(struct bench_list *list, const char *folder)
{
    struct table table = {0};
    bool added = table_open(&table, folder, "teccl_cases.csv");
    while (added && table_next(&table)) {
        const char *topology = get(&table, "topology");
        struct bench_case which = {.section = "TE-CCL", .relays = true, .method = BENCH_THOROUGH, .ratio = 1};
        if (pccl_collective_parse(get(&table, "collective"), &which.collective, NULL) != 0) {
            continue;
        }
        which.bytes = (int64_t)ceil(get_number(&table, "chunk_bytes"));
        which.multicast = strcmp(topology, "DGX2") == 0;
        which.reference_us = get_number(&table, "finish_us");
        which.replay_us = get_number(&table, "resim_asap_us");
        set_links(&which, folder, "teccl_links.csv");
        snprintf(which.topology, sizeof which.topology, "topology=%.8s,chassis=%.4s", topology, get(&table, "chassis"));
        snprintf(which.name, sizeof which.name, "%.8s %.10s %.8s %.16s", topology, get(&table, "collective"),
                 get(&table, "size_label"), get(&table, "solver_variant"));
        added = bench_add(list, &which);
    }
    table_close(&table);
    return added;
}

static bool add_forestcoll(struct bench_list *list, const char *folder)
{
    struct table table = {0};
    bool added = table_open(&table, folder, "forestcoll_opt.csv");
    while (added && table_next(&table)) {
        struct bench_case which = {.section = "ForestColl",
                                   .collective = PCCL_ALLGATHER,
                                   .relays = true,
                                   .bytes = INT64_C(1) << 30,
                                   .method = BENCH_THOROUGH,
                                   .ratio = 0.99};
        double gathered_bytes = (double)which.bytes * get_number(&table, "gpus");
        which.reference_us = gathered_bytes / get_number(&table, "opt_allgather_algbw_GBps") / 1e3;
        set_links(&which, folder, "forestcoll_links.csv");
        snprintf(which.topology, sizeof which.topology, "topology=%.8s,boxes=%.4s", get(&table, "topology"),
                 get(&table, "boxes"));
        snprintf(which.name, sizeof which.name, "%.4s boxes of 8 A100", get(&table, "boxes"));
        added = bench_add(list, &which);
    }
    table_close(&table);
    return added;
}

/* "mesh2d", "16x32x1" -> "mesh:16x32:unit". */
static bool add_tacos(struct bench_list *list, const char *folder)
{
    struct table table = {0};
    bool added = table_open(&table, folder, "tacos_times.csv");
    while (added && table_next(&table)) {
        const char *topology = get(&table, "topology"), *dims = get(&table, "dims");
        int kind = (int)strcspn(topology, "23"), extents = (int)strlen(dims);
        if (extents > 2 && strcmp(dims + extents - 2, "x1") == 0) {
            extents -= 2;
        }
        struct bench_case which = {.section = "TACOS",
                                   .collective = PCCL_ALLGATHER,
                                   .bytes = BENCH_MIB,
                                   .method = "matching",
                                   .pieces = 1,
                                   .reference_slots = get_number(&table, "steps"),
                                   .ratio = 1};
        snprintf(which.topology, sizeof which.topology, "%.*s:%.*s:unit", kind, topology, extents, dims);
        snprintf(which.name, sizeof which.name, "%.*s %.*s", kind, topology, extents, dims);
        added = bench_add(list, &which);
    }
    table_close(&table);
    return added;
}

/* The quickest of SCCL's algorithms for a size. */
static double find_sccl_us(struct table *table, int64_t bytes)
{
    double best_us = INFINITY;
    while (table_next(table)) {
        double rounds = get_number(table, "rounds"), chunks = get_number(table, "chunks");
        if (strcmp(get(table, "status"), "sat") != 0 || rounds == 0) {
            continue;
        }
        double us = get_number(table, "steps") * SCCL_LATENCY_US + rounds / chunks * (double)bytes * SCCL_US_PER_BYTE;
        best_us = us < best_us ? us : best_us;
    }
    return best_us;
}

static bool add_sccl(struct bench_list *list, const char *folder)
{
    static const struct {
        int64_t bytes;
        const char *name;
    } sizes[] = {{1024, "1 KiB"}, {65536, "64 KiB"}, {INT64_C(1) << 24, "16 MiB"}};
    bool added = true;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0] && added; i++) {
        struct table table = {0};
        struct bench_case which = {.section = "SCCL",
                                   .collective = PCCL_ALLGATHER,
                                   .bytes = sizes[i].bytes,
                                   .method = BENCH_THOROUGH,
                                   .ratio = 1};
        added = table_open(&table, folder, "sccl_refs.csv");
        which.reference_us = added ? find_sccl_us(&table, which.bytes) : 0;
        set_links(&which, folder, "dgx1_links.csv");
        snprintf(which.name, sizeof which.name, "DGX-1 allgather %s", sizes[i].name);
        added = added && bench_add(list, &which);
        table_close(&table);
    }
    return added;
}

bool bench_add_references(struct bench_list *list, const char *folder)
{
    return add_teccl(list, folder) && add_forestcoll(list, folder) && add_tacos(list, folder) &&
           add_sccl(list, folder);
}
