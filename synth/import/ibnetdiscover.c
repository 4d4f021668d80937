/* What ibnetdiscover prints: nodes of an InfiniBand fabric with the cable at each of their ports. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "import/fabric.h"
#include "import/text.h"

enum kind { SWITCH, ADAPTER, ROUTER, PASSED_OVER };

struct node {
    uint32_t line;
    enum kind kind;
    uint32_t vertex; /* in the fabric; adapters of one host share it */
};

/* One end of a cable as the node at that end tells it. */
struct end {
    uint32_t line;
    uint32_t node, port;           /* where it is told */
    uint32_t peer, peer_port;      /* node at the other end, among ids */
    uint32_t width, kbit_per_lane; /* 0: not told */
};

struct discovery {
    struct pccl__text text;
    struct pccl_error *error;
    struct pccl__names ids; /* of all nodes that are named anywhere */
    struct node *nodes;     /* [ids.num_names]; line 0: not described */
    uint32_t node_capacity;
    struct end *ends;
    uint32_t num_ends, end_capacity;
    uint32_t current; /* node whose ports are read, PCCL_NONE before the first */
    struct pccl__fabric fabric;
};

/* --- pieces of lines ---------------------------------------------------------------------------------------------- */

/* The text between the next two quotes, ended there; *rest is what follows. NULL if there is none. */
static char *cut_quoted(char *text, char **rest)
{
    char *open = strchr(text, '"'), *close = open != NULL ? strchr(open + 1, '"') : NULL;
    if (close == NULL) {
        return NULL;
    }
    *close = '\0';
    *rest = close + 1;
    return open + 1;
}

/* A number in brackets at the beginning of the text; what follows, or NULL. */
static char *read_port(char *text, uint32_t *port)
{
    char *c = text + 1;
    for (*port = 0; *text == '[' && *c >= '0' && *c <= '9' && c - text < 6; c++) {
        *port = 10 * *port + (uint32_t)(*c - '0');
    }
    return *text == '[' && c > text + 1 && *c == ']' ? c + 1 : NULL;
}

/* Data of one lane in kbit/s: signalling rate without the encoding's overhead. */
static uint32_t lane_rate(const char *name, size_t length)
{
    static const struct {
        const char *name;
        uint32_t kbit;
    } rates[] = {{"SDR", 2000000},  {"DDR", 4000000},  {"QDR", 8000000},   {"FDR10", 10000000}, {"FDR", 13636364},
                 {"EDR", 25000000}, {"HDR", 50000000}, {"NDR", 100000000}, {"XDR", 200000000}};
    for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++) {
        if (strlen(rates[i].name) == length && strncmp(name, rates[i].name, length) == 0) {
            return rates[i].kbit;
        }
    }
    return 0;
}

/* The last word such as 4xHDR of a comment. */
static void read_speed(const char *comment, struct end *end)
{
    for (const char *word = comment + strspn(comment, " \t"); *word != '\0'; word += strspn(word, " \t")) {
        size_t length = strcspn(word, " \t"), digits = strspn(word, "0123456789");
        if (digits > 0 && digits < 3 && word[digits] == 'x') {
            uint32_t kbit = lane_rate(word + digits + 1, length - digits - 1);
            end->width = kbit > 0 ? (uint32_t)strtoul(word, NULL, 10) : end->width;
            end->kbit_per_lane = kbit > 0 ? kbit : end->kbit_per_lane;
        }
        word += length;
    }
}

/* Whether a description in quotes is there. Descriptions may hold quotes of their own, so their number says nothing. */
static bool has_description(const char *comment)
{
    const char *open = strchr(comment, '"');
    return open != NULL && strchr(open + 1, '"') != NULL;
}

static int fail_broken(struct discovery *discovery, const char *what)
{
    return pccl__text_fail(&discovery->text, discovery->text.line, discovery->error,
                           "%s; expected the whole output of ibnetdiscover", what);
}

static int number_node(struct discovery *discovery, const char *id, uint32_t *number)
{
    *number = pccl__names_find(&discovery->ids, id);
    if (*number != PCCL_NONE) {
        return 0;
    }
    if (discovery->ids.num_names == PCCL__IMPORT_MAX_VERTICES) {
        return PCCL_ERR_OVERFLOW;
    }
    struct node *grown = pccl__array_grow(discovery->nodes, &discovery->node_capacity,
                                          (uint64_t)discovery->ids.num_names + 1, sizeof *grown);
    discovery->nodes = grown != NULL ? grown : discovery->nodes;
    *number = grown != NULL ? pccl__names_add(&discovery->ids, id) : PCCL_NONE;
    if (*number == PCCL_NONE) {
        return PCCL_ERR_MEMORY;
    }
    grown[*number] = (struct node){.line = 0, .vertex = PCCL_NONE};
    return 0;
}

/* --- nodes -------------------------------------------------------------------------------------------------------- */

/* What makers write where nobody has given a name. */
static bool is_generic(const char *description)
{
    return strstr(description, "Mellanox Technologies") != NULL || strstr(description, "Infiniscale") != NULL ||
           strncmp(description, "MT", 2) == 0 || strstr(description, "InfiniHost") != NULL || description[0] == '\0';
}

/* The first word, without quotes or a colon: "node01 HCA-1", "node01:mlx5_0". False if no host is named. */
static bool find_host_name(const char *description, char *name, size_t room)
{
    description += strspn(description, " '");
    size_t length = strcspn(description, " \t':");
    if (is_generic(description) || length == 0 || length >= room) {
        return false;
    }
    memcpy(name, description, length);
    name[length] = '\0';
    return true;
}

/* "MF0;leaf01:MQM8700/U1" is leaf01; chips of a chassis ("MF0;core:CS7500/L01/U1") are core/L01/U1. */
static bool find_switch_name(const char *description, char *name, size_t room)
{
    const char *begin = strchr(description, ';');
    begin = begin != NULL ? begin + 1 : description;
    size_t length = strcspn(begin, ":");
    if (is_generic(description) || length == 0 || strlen(begin) >= room) {
        return false;
    }
    memcpy(name, begin, length);
    const char *chip = strchr(begin + length, '/');
    bool several = chip != NULL && strchr(chip + 1, '/') != NULL;
    snprintf(name + length, room - length, "%s", several ? chip : "");
    return true;
}

/* Gives the node a vertex: its own, or that of the host that another adapter of it has made. */
static int add_vertex(struct discovery *discovery, struct node *node, const char *id, const char *description)
{
    char name[PCCL__IMPORT_MAX_NAME + 1];
    bool is_host = node->kind == ADAPTER;
    bool named = is_host ? find_host_name(description, name, 128) : find_switch_name(description, name, 128);
    if (!named) {
        snprintf(name, sizeof name, "%.200s", id);
    }
    if (!named && is_host) {
        pccl__text_note(&discovery->text, node->line, "\"%.60s\" names no host; the adapter is called %.40s",
                        description, id);
    }
    uint32_t known = pccl__names_find(&discovery->fabric.names, name);
    if (known != PCCL_NONE && is_host && !discovery->fabric.is_switch[known]) {
        node->vertex = known;
        return 0;
    }
    if (known != PCCL_NONE) {
        size_t length = strlen(name);
        snprintf(name + length, sizeof name - length, " (%.100s)", id);
    }
    if (pccl__names_find(&discovery->fabric.names, name) != PCCL_NONE) {
        return pccl__text_fail(&discovery->text, node->line, discovery->error, "two nodes are called \"%.100s\"", name);
    }
    return pccl__fabric_add(&discovery->fabric, name, !is_host, &node->vertex);
}

static int begin_node(struct discovery *discovery, char *line, enum kind kind)
{
    struct pccl__text *text = &discovery->text;
    char *rest, *id = cut_quoted(line, &rest), *description = NULL;
    if (id == NULL || id[0] == '\0' || strlen(id) > 100) {
        return pccl__text_fail(text, text->line, discovery->error,
                               "expected the id of a node in quotes, such as \"S-0002c9...\"");
    }
    char *comment = strchr(rest, '#');
    if (comment != NULL && !has_description(comment)) {
        return fail_broken(discovery, "this line breaks off before the end of a description");
    }
    description = cut_quoted(rest, &rest);
    description = description != NULL ? description : line + strlen(line);
    int status = number_node(discovery, id, &discovery->current);
    if (status != 0) {
        return status;
    }
    struct node *node = &discovery->nodes[discovery->current];
    if (node->line != 0) {
        return pccl__text_fail(text, text->line, discovery->error,
                               "node \"%.60s\" was given in line %" PRIu32 " already", id, node->line);
    }
    bool aggregates = kind == ADAPTER && strstr(description, "Aggregation Node") != NULL;
    *node = (struct node){text->line, aggregates ? PASSED_OVER : kind, PCCL_NONE};
    if (aggregates) {
        pccl__text_note(text, text->line, "\"%.60s\" is no host and passed over", description);
    }
    if (kind == ROUTER) {
        pccl__text_note(text, text->line, "router \"%.60s\" counts as a switch", id);
    }
    return aggregates ? 0 : add_vertex(discovery, node, id, description);
}

/* --- ports -------------------------------------------------------------------------------------------------------- */

static int read_end(struct discovery *discovery, char *line)
{
    struct pccl__text *text = &discovery->text;
    struct end end = {.line = text->line, .node = discovery->current};
    char *rest = read_port(line, &end.port), *id = rest != NULL ? cut_quoted(rest, &rest) : NULL;
    rest = id != NULL ? read_port(rest, &end.peer_port) : NULL;
    if (rest == NULL) {
        return pccl__text_fail(text, text->line, discovery->error,
                               "expected a port such as [1] \"H-0002c9...\"[1] # ... 4xHDR");
    }
    if (discovery->current == PCCL_NONE) {
        return pccl__text_fail(text, text->line, discovery->error, "a port before any Switch, Ca or Rt");
    }
    char *comment = strchr(rest, '#');
    if (comment != NULL) {
        read_speed(comment + 1, &end);
    }
    if (comment != NULL && !has_description(comment) && (strchr(comment, '"') != NULL || end.width == 0)) {
        return fail_broken(discovery, "this line breaks off before the end of a description or a speed");
    }
    int status = number_node(discovery, id, &end.peer);
    struct end *grown = status == 0 ? pccl__array_grow(discovery->ends, &discovery->end_capacity,
                                                       (uint64_t)discovery->num_ends + 1, sizeof *grown)
                                    : NULL;
    if (grown == NULL) {
        return status != 0 ? status : PCCL_ERR_MEMORY;
    }
    discovery->ends = grown;
    grown[discovery->num_ends++] = end;
    return 0;
}

static int read_line(struct discovery *discovery, char *line)
{
    static const struct {
        const char *word;
        enum kind kind;
    } kinds[] = {{"Switch", SWITCH}, {"Ca", ADAPTER}, {"Rt", ROUTER}};
    static const char *const passed[] = {
        "vendid=", "devid=", "sysimgguid=", "switchguid=", "caguid=", "rtguid=", "Chassis", "DR path", "chassis"};
    line += strspn(line, " \t");
    if (*line != '\0' && discovery->text.breaks_off) {
        return fail_broken(discovery, "the file ends in the middle of this line");
    }
    if (*line == '\0' || *line == '#') {
        return 0;
    }
    if (*line == '[') {
        return read_end(discovery, line);
    }
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        size_t length = strlen(kinds[i].word);
        if (strncmp(line, kinds[i].word, length) == 0 && (line[length] == ' ' || line[length] == '\t')) {
            return begin_node(discovery, line, kinds[i].kind);
        }
    }
    for (size_t i = 0; i < sizeof passed / sizeof passed[0]; i++) {
        if (strncmp(line, passed[i], strlen(passed[i])) == 0) {
            return 0;
        }
    }
    pccl__text_note(&discovery->text, discovery->text.line, "\"%.40s\" is not known and passed over", line);
    return 0;
}

/* --- cables ------------------------------------------------------------------------------------------------------- */

/* The end that comes first, by node and port. */
static void sort_key(const struct end *end, uint32_t key[4])
{
    bool straight = end->node < end->peer || (end->node == end->peer && end->port <= end->peer_port);
    key[0] = straight ? end->node : end->peer;
    key[1] = straight ? end->port : end->peer_port;
    key[2] = straight ? end->peer : end->node;
    key[3] = straight ? end->peer_port : end->port;
}

static int compare_ends(const void *a, const void *b)
{
    uint32_t x[4], y[4];
    const struct end *left = a, *right = b;
    sort_key(left, x);
    sort_key(right, y);
    for (int i = 0; i < 4; i++) {
        if (x[i] != y[i]) {
            return x[i] < y[i] ? -1 : 1;
        }
    }
    return (left->line > right->line) - (left->line < right->line);
}

static int compare_places(const void *a, const void *b)
{
    const struct end *x = a, *y = b;
    if (x->node != y->node) {
        return x->node < y->node ? -1 : 1;
    }
    if (x->port != y->port) {
        return x->port < y->port ? -1 : 1;
    }
    return (x->line > y->line) - (x->line < y->line);
}

/* Whatever a cable leads to is described in a whole output, since all that was found is printed. The exception are
 * routers inside a chassis, which --grouping passes over. */
static int check_peers(const struct discovery *discovery)
{
    const struct end *first = NULL;
    for (uint32_t i = 0; i < discovery->num_ends; i++) {
        const struct end *end = &discovery->ends[i];
        bool missing = discovery->nodes[end->peer].line == 0 && discovery->ids.names[end->peer][0] != 'R';
        first = missing && (first == NULL || end->line < first->line) ? end : first;
    }
    return first == NULL ? 0
                         : pccl__text_fail(&discovery->text, first->line, discovery->error,
                                           "a cable leads to \"%.60s\", which is not described; is the file cut short?",
                                           discovery->ids.names[first->peer]);
}

/* No port holds two cables. */
static int check_ports(struct discovery *discovery)
{
    qsort(discovery->ends, discovery->num_ends, sizeof *discovery->ends, compare_places);
    for (uint32_t i = 1; i < discovery->num_ends; i++) {
        const struct end *before = &discovery->ends[i - 1], *end = &discovery->ends[i];
        if (before->node == end->node && before->port == end->port) {
            return pccl__text_fail(&discovery->text, end->line, discovery->error,
                                   "port %" PRIu32 " of \"%.60s\" was given in line %" PRIu32 " already", end->port,
                                   discovery->ids.names[end->node], before->line);
        }
    }
    return 0;
}

static int64_t ps_per_mib(const struct end *end)
{
    uint64_t kbit = (uint64_t)end->width * end->kbit_per_lane;
    return kbit > 0 ? (int64_t)((UINT64_C(8388608000000000) + kbit - 1) / kbit) : 0;
}

static const char *lane_name(uint32_t kbit)
{
    static const char *const names[] = {"SDR", "DDR", "QDR", "FDR10", "FDR", "EDR", "HDR", "NDR", "XDR"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (lane_rate(names[i], strlen(names[i])) == kbit) {
            return names[i];
        }
    }
    return "?";
}

static int add_cable(struct discovery *discovery, const struct end *end)
{
    const struct node *a = &discovery->nodes[end->node], *b = &discovery->nodes[end->peer];
    const char *what = a->kind == ADAPTER && b->kind == ADAPTER   ? "direct"
                       : a->kind == ADAPTER || b->kind == ADAPTER ? "hosts"
                                                                  : "switches";
    struct pccl_class costs = pccl__fabric_costs(ps_per_mib(end));
    char kind[48];
    uint32_t link_class;
    if (ps_per_mib(end) > 0) {
        snprintf(kind, sizeof kind, "%s %" PRIu32 "x%s", what, end->width, lane_name(end->kbit_per_lane));
    } else {
        snprintf(kind, sizeof kind, "%s", what);
        pccl__text_note(&discovery->text, end->line, "the speed is missing or not known; 12.5 GB/s stand in");
    }
    int status = pccl__fabric_class(&discovery->fabric, kind, &costs, &link_class);
    return status != 0 ? status : pccl__fabric_join(&discovery->fabric, a->vertex, b->vertex, link_class);
}

/* Gives the end of a cable the speed that counts: the slower of both ends, or the only one. */
static void agree(struct discovery *discovery, struct end *a, const struct end *b)
{
    int64_t speed = ps_per_mib(a), other = ps_per_mib(b);
    if (speed > 0 && other > 0 && speed != other) {
        pccl__text_note(&discovery->text, a->line,
                        "the two ends of a cable tell different speeds; the slower one counts");
    } else if (speed != other) {
        pccl__text_note(&discovery->text, speed > 0 ? b->line : a->line,
                        "this end of a cable tells no known speed; that of its other end (line %" PRIu32 ") counts",
                        speed > 0 ? a->line : b->line);
    }
    a->width = other > speed ? b->width : a->width;
    a->kbit_per_lane = other > speed ? b->kbit_per_lane : a->kbit_per_lane;
}

/* Each cable is told at both of its ends, where both are told at all. */
static int add_cables(struct discovery *discovery)
{
    struct pccl__text *text = &discovery->text;
    int status = 0;
    qsort(discovery->ends, discovery->num_ends, sizeof *discovery->ends, compare_ends);
    for (uint32_t i = 0, next; i < discovery->num_ends && status == 0; i = next) {
        struct end end = discovery->ends[i];
        const struct node *node = &discovery->nodes[end.node], *peer = &discovery->nodes[end.peer];
        uint32_t key[4], other[4];
        sort_key(&end, key);
        for (next = i + 1; next < discovery->num_ends; next++) {
            sort_key(&discovery->ends[next], other);
            if (memcmp(key, other, sizeof key) != 0) {
                break;
            }
            agree(discovery, &end, &discovery->ends[next]);
        }
        if (node->kind == PASSED_OVER || (peer->line != 0 && peer->kind == PASSED_OVER)) {
            continue;
        }
        if (peer->line == 0) {
            pccl__text_note(text, end.line, "\"%.60s\" is not described; the cable to it is left out",
                            discovery->ids.names[end.peer]);
        } else if (node->vertex == peer->vertex) {
            pccl__text_note(text, end.line, "a cable from \"%.60s\" to itself is left out",
                            discovery->ids.names[end.node]);
        } else {
            if (next == i + 1) {
                pccl__text_note(text, end.line, "the other end of this cable is not told");
            }
            status = add_cable(discovery, &end);
        }
    }
    return status;
}

static int finish(struct discovery *discovery, struct pccl_topology **topology)
{
    bool described = false;
    for (uint32_t i = 0; i < discovery->ids.num_names; i++) {
        described = described || discovery->nodes[i].line != 0;
    }
    if (!described) {
        return pccl__text_fail(&discovery->text, 0, discovery->error,
                               "no Switch and no Ca; expected the output of ibnetdiscover");
    }
    int status = discovery->num_ends > 0 ? check_ports(discovery) : 0;
    status = status != 0 ? status : check_peers(discovery);
    status = status != 0 || discovery->num_ends == 0 ? status : add_cables(discovery);
    status = status != 0 ? status : pccl__fabric_note_parts(&discovery->fabric, &discovery->text);
    return status != 0 ? status
                       : pccl__fabric_finish(&discovery->fabric, discovery->text.path, topology, discovery->error);
}

int pccl_import_ibnetdiscover(const char *path, const struct pccl_import_options *options,
                              struct pccl_topology **topology, struct pccl_error *error)
{
    struct pccl_error met = {""};
    struct discovery discovery = {.error = &met, .current = PCCL_NONE};
    int status = pccl__text_open(&discovery.text, path, options, &met);
    for (char *line; status == 0 && (line = pccl__text_line(&discovery.text, false)) != NULL;) {
        status = read_line(&discovery, line);
    }
    if (status == 0) {
        status = finish(&discovery, topology);
    }
    status = pccl__fabric_fail(&discovery.text, status, &met, error);
    pccl__fabric_free(&discovery.fabric);
    pccl__names_free(&discovery.ids);
    free(discovery.ends);
    free(discovery.nodes);
    pccl__text_close(&discovery.text);
    return status;
}
