#include "pccl/io.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/quantity.h"
#include "topology/private.h"

#define MAX_COLUMNS 32
#define MAX_LINE_BYTES 1024
#define MAX_FILTERS 8
#define MAX_NUMBER (INT64_C(1) << 31) /* of a vertex */

struct row {
    uint32_t source, target; /* numbers as in the file */
    bool source_is_switch, target_is_switch;
    int64_t latency_ps, ps_per_mib;
};

/* A vertex with its number in the file; the builder's id once it is added. */
struct node {
    uint32_t number;
    bool is_switch;
    uint32_t id;
};

struct filter {
    uint32_t column;
    const char *value;
};

struct table {
    const char *path;
    uint32_t line;
    char header[MAX_LINE_BYTES];
    char *names[MAX_COLUMNS];
    uint32_t num_columns;
    uint32_t source, target, bandwidth, latency; /* columns; latency may be PCCL_NONE */
    uint32_t source_kind, target_kind;           /* PCCL_NONE: all are devices */
    bool one_means_switch;                       /* else 1 means device */
    char filter_text[MAX_LINE_BYTES];
    struct filter filters[MAX_FILTERS];
    uint32_t num_filters;
    struct row *rows;
    uint32_t num_rows, row_capacity;
};

static int complain(const struct table *table, struct pccl_error *error, const char *what, const char *text)
{
    return pccl__fail(error, PCCL_ERR_FORMAT, "%.200s:%" PRIu32 ": %s%.60s%s", table->path, table->line, what,
                      text != NULL ? text : "", text != NULL ? "\"" : "");
}

/* Cuts a line at its commas, in place. */
static uint32_t split(char *line, char **fields)
{
    uint32_t count = 0;
    for (char *next = line; next != NULL && count < MAX_COLUMNS;) {
        fields[count++] = next;
        next = strchr(next, ',');
        if (next != NULL) {
            *next++ = '\0';
        }
    }
    return count;
}

static uint32_t find_column(const struct table *table, const char *name)
{
    for (uint32_t i = 0; i < table->num_columns; i++) {
        if (strcmp(table->names[i], name) == 0) {
            return i;
        }
    }
    return PCCL_NONE;
}

static int find_columns(struct table *table, struct pccl_error *error)
{
    table->source = find_column(table, "src");
    table->target = find_column(table, "dst");
    table->bandwidth = find_column(table, "GBps");
    table->latency = find_column(table, "alpha_us");
    table->source_kind = find_column(table, "src_is_switch");
    table->target_kind = find_column(table, "dst_is_switch");
    table->one_means_switch = table->source_kind != PCCL_NONE;
    if (!table->one_means_switch) {
        table->source_kind = find_column(table, "src_is_gpu");
        table->target_kind = find_column(table, "dst_is_gpu");
    }
    if (table->source == PCCL_NONE || table->target == PCCL_NONE || table->bandwidth == PCCL_NONE) {
        return complain(table, error, "the first line must name the columns src, dst and GBps", NULL);
    }
    if ((table->source_kind == PCCL_NONE) != (table->target_kind == PCCL_NONE)) {
        return complain(table, error, "only one of the columns of src and dst says whether it is a switch", NULL);
    }
    return 0;
}

static int parse_filter(struct table *table, const char *filter, struct pccl_error *error)
{
    if (filter == NULL || *filter == '\0') {
        return 0;
    }
    if (strlen(filter) >= sizeof table->filter_text) {
        return complain(table, error, "the filter is too long", NULL);
    }
    strcpy(table->filter_text, filter);
    char *parts[MAX_COLUMNS];
    uint32_t num_parts = split(table->filter_text, parts);
    for (uint32_t i = 0; i < num_parts; i++) {
        char *value = strchr(parts[i], '=');
        if (value == NULL || i == MAX_FILTERS) {
            return complain(table, error, "the filter must be up to 8 of COLUMN=VALUE with commas between; met \"",
                            parts[i]);
        }
        *value++ = '\0';
        table->filters[i] = (struct filter){find_column(table, parts[i]), value};
        if (table->filters[i].column == PCCL_NONE) {
            return complain(table, error, "there is no column for the filter \"", parts[i]);
        }
        table->num_filters++;
    }
    return 0;
}

static int read_flag(const struct table *table, char *const *fields, uint32_t column, bool *is_switch,
                     struct pccl_error *error)
{
    *is_switch = false;
    if (column == PCCL_NONE) {
        return 0;
    }
    const char *text = fields[column];
    if (strcmp(text, "0") != 0 && strcmp(text, "1") != 0) {
        return complain(table, error, "expected 0 or 1, not \"", text);
    }
    *is_switch = (*text == '1') == table->one_means_switch;
    return 0;
}

static int read_row(const struct table *table, char *const *fields, struct row *row, struct pccl_error *error)
{
    char text[64];
    struct pccl_error inner;
    int64_t source = 0, target = 0;
    int status = pccl__quantity_integer(fields[table->source], "src", 0, MAX_NUMBER, &source, &inner);
    if (status == 0) {
        status = pccl__quantity_integer(fields[table->target], "dst", 0, MAX_NUMBER, &target, &inner);
    }
    if (status == 0) {
        snprintf(text, sizeof text, "%.40sGB/s", fields[table->bandwidth]);
        status = pccl__quantity_rate(text, "GBps", &row->ps_per_mib, &inner);
    }
    row->latency_ps = 0;
    if (status == 0 && table->latency != PCCL_NONE) {
        snprintf(text, sizeof text, "%.40sus", fields[table->latency]);
        status = pccl__quantity_time(text, "alpha_us", &row->latency_ps, &inner);
    }
    if (status != 0) {
        return complain(table, error, inner.message, NULL);
    }
    row->source = (uint32_t)source;
    row->target = (uint32_t)target;
    status = read_flag(table, fields, table->source_kind, &row->source_is_switch, error);
    return status != 0 ? status : read_flag(table, fields, table->target_kind, &row->target_is_switch, error);
}

static bool is_wanted(const struct table *table, char *const *fields)
{
    for (uint32_t i = 0; i < table->num_filters; i++) {
        if (strcmp(fields[table->filters[i].column], table->filters[i].value) != 0) {
            return false;
        }
    }
    return true;
}

/* Reads one line without its end into line[MAX_LINE_BYTES]; 1 at the end of the file. */
static int read_line(struct table *table, FILE *stream, char *line, struct pccl_error *error)
{
    table->line++;
    if (fgets(line, MAX_LINE_BYTES, stream) == NULL) {
        return ferror(stream) ? pccl__fail(error, PCCL_ERR_IO, "%.200s: cannot read: %s", table->path, strerror(errno))
                              : 1;
    }
    size_t length = strcspn(line, "\r\n");
    if (line[length] == '\0' && length == MAX_LINE_BYTES - 1) {
        return complain(table, error, "the line is too long", NULL);
    }
    line[length] = '\0';
    return 0;
}

static int read_rows(struct table *table, FILE *stream, struct pccl_error *error)
{
    char line[MAX_LINE_BYTES], *fields[MAX_COLUMNS];
    int status;
    while ((status = read_line(table, stream, line, error)) == 0) {
        if (line[0] == '\0') {
            continue;
        }
        if (split(line, fields) != table->num_columns) {
            return complain(table, error, "expected as many columns as in the first line", NULL);
        }
        if (!is_wanted(table, fields)) {
            continue;
        }
        struct row *grown = table->num_rows < PCCL__MAX_LINKS
                                ? pccl__array_grow(table->rows, &table->row_capacity, (uint64_t)table->num_rows + 1,
                                                   sizeof *grown)
                                : NULL;
        if (grown == NULL) {
            return pccl__fail_memory(error);
        }
        table->rows = grown;
        status = read_row(table, fields, &grown[table->num_rows++], error);
        if (status != 0) {
            return status;
        }
    }
    return status < 0 ? status : 0;
}

static int read_table(struct table *table, const char *filter, struct pccl_error *error)
{
    FILE *stream = fopen(table->path, "r");
    if (stream == NULL) {
        return pccl__fail(error, PCCL_ERR_IO, "%.200s: cannot read: %s", table->path, strerror(errno));
    }
    int status = read_line(table, stream, table->header, error);
    if (status == 1) {
        status = complain(table, error, "the file is empty", NULL);
    }
    if (status == 0) {
        table->num_columns = split(table->header, table->names);
        status = find_columns(table, error);
    }
    if (status == 0) {
        status = parse_filter(table, filter, error);
    }
    if (status == 0) {
        status = read_rows(table, stream, error);
    }
    if (status == 0 && table->num_rows == 0) {
        status = complain(table, error, "no row passes the filter", NULL);
    }
    fclose(stream);
    return status;
}

static int compare_nodes(const void *a, const void *b)
{
    const struct node *x = a, *y = b;
    return (x->number > y->number) - (x->number < y->number);
}

static uint32_t find_node(const struct node *nodes, uint32_t num_nodes, uint32_t number)
{
    struct node wanted = {number, false, 0};
    const struct node *found = bsearch(&wanted, nodes, num_nodes, sizeof *nodes, compare_nodes);
    return found->id;
}

/* The vertices of all rows, each once, by number. */
static int list_nodes(const struct table *table, struct node *nodes, uint32_t *num_nodes, struct pccl_error *error)
{
    for (uint32_t i = 0; i < table->num_rows; i++) {
        nodes[2 * i] = (struct node){table->rows[i].source, table->rows[i].source_is_switch, 0};
        nodes[2 * i + 1] = (struct node){table->rows[i].target, table->rows[i].target_is_switch, 0};
    }
    qsort(nodes, 2 * (size_t)table->num_rows, sizeof *nodes, compare_nodes);
    *num_nodes = 0;
    for (uint32_t i = 0; i < 2 * table->num_rows; i++) {
        if (i > 0 && nodes[i].number == nodes[*num_nodes - 1].number) {
            if (nodes[i].is_switch != nodes[*num_nodes - 1].is_switch) {
                return pccl__fail(error, PCCL_ERR_FORMAT,
                                  "%.200s: vertex %" PRIu32 " is a device in one row, a switch in another", table->path,
                                  nodes[i].number);
            }
            continue;
        }
        nodes[(*num_nodes)++] = nodes[i];
    }
    return 0;
}

static int build(const struct table *table, const char *filter, bool multicast, struct pccl_topology **topology,
                 struct pccl_error *error)
{
    uint32_t num_nodes = 0;
    struct node *nodes = pccl__array_new(2 * (size_t)table->num_rows, sizeof *nodes);
    if (nodes == NULL) {
        return pccl__fail_memory(error);
    }
    int status = list_nodes(table, nodes, &num_nodes, error);
    if (status == 0) {
        struct pccl_topology_builder *builder = pccl_topology_builder_new(filter != NULL && *filter != '\0' ? filter
                                                                                                            : "csv");
        for (uint32_t i = 0; i < num_nodes; i++) {
            char name[16];
            snprintf(name, sizeof name, "n%" PRIu32, nodes[i].number);
            nodes[i].id = nodes[i].is_switch ? pccl_topology_add_switch(builder, name, multicast)
                                             : pccl_topology_add_device(builder, name);
        }
        for (uint32_t i = 0; i < table->num_rows; i++) {
            const struct row *row = &table->rows[i];
            pccl_topology_add_link(builder, find_node(nodes, num_nodes, row->source),
                                   find_node(nodes, num_nodes, row->target), row->latency_ps, row->ps_per_mib,
                                   PCCL_NONE);
        }
        struct pccl_error inner;
        status = pccl_topology_finish(builder, topology, &inner);
        if (status != 0) {
            pccl__fail(error, status, "%.200s: %s", table->path, inner.message);
        }
    }
    free(nodes);
    return status;
}

int pccl_topology_read_csv(const char *path, const char *filter, bool multicast, struct pccl_topology **topology,
                           struct pccl_error *error)
{
    struct table *table = calloc(1, sizeof *table);
    if (table == NULL) {
        return pccl__fail_memory(error);
    }
    table->path = path;
    int status = read_table(table, filter, error);
    if (status == 0) {
        status = build(table, filter, multicast, topology, error);
    }
    free(table->rows);
    free(table);
    return status;
}
