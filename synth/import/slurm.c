/* Slurm's topology.conf: trees of switches with their hosts, or blocks. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/array.h"
#include "base/error.h"
#include "base/quantity.h"
#include "import/fabric.h"
#include "import/text.h"

#define UNIT_PS_PER_MIB INT64_C(8388608000) /* 1 Gbit/s */

/* A line with SwitchName or BlockName. The texts are part of the file's. */
struct entry {
    uint32_t line;
    const char *name, *switches, *nodes, *speed;
    int64_t ps_per_mib; /* 0: not said */
    int64_t below_ps;   /* the fastest that switches below it say; 0: none says any */
    uint32_t vertex;    /* number in the fabric */
    uint32_t height;    /* levels of switches below it; PCCL_NONE: not known yet */
    bool hangs;         /* below another switch */
    bool open;          /* being visited */
};

struct slurm {
    struct pccl__text text;
    struct pccl_error *error;
    const struct pccl_import_options *options;
    struct entry *entries;
    uint32_t num_entries, capacity;
    struct pccl__names names; /* of entries */
    struct pccl__fabric fabric;
    uint32_t num_blocks;
    bool unit_noted;
};

/* --- lines -------------------------------------------------------------------------------------------------------- */

/* Cuts a comment off: from a '#' on that no backslash stands before. */
static void cut_comment(char *line)
{
    for (char *c = line; (c = strchr(c, '#')) != NULL; c++) {
        if (c == line || c[-1] != '\\') {
            *c = '\0';
            return;
        }
    }
}

/* The next KEY=VALUE of a line, both ended; NULL at its end. The value may be in double quotes. */
static char *next_pair(char **rest, char **value)
{
    char *key = *rest + strspn(*rest, " \t");
    if (*key == '\0') {
        return NULL;
    }
    char *end = key + strcspn(key, "= \t");
    *value = NULL;
    if (*end != '=') {
        *rest = *end != '\0' ? end + 1 : end;
        *end = '\0';
        return key;
    }
    *end++ = '\0';
    bool quoted = *end == '"';
    *value = end + quoted;
    char *last = *value + strcspn(*value, quoted ? "\"" : " \t");
    *rest = *last != '\0' ? last + 1 : last;
    *last = '\0';
    return key;
}

/* LinkSpeed with a unit, or a number of units that Slurm leaves open. */
static int read_speed(struct slurm *slurm, struct entry *entry)
{
    if (entry->speed == NULL || pccl__quantity_rate(entry->speed, "LinkSpeed", &entry->ps_per_mib, NULL) == 0) {
        return 0;
    }
    int64_t units, divisor;
    if (pccl__quantity_ratio(entry->speed, "LinkSpeed", &units, &divisor, NULL) != 0) {
        return pccl__text_fail(&slurm->text, entry->line, slurm->error,
                               "LinkSpeed is \"%.40s\"; expected a number or a rate such as 100Gbit/s", entry->speed);
    }
    bool given = slurm->options != NULL && slurm->options->unit_ps_per_mib > 0;
    int64_t unit = given ? slurm->options->unit_ps_per_mib : UNIT_PS_PER_MIB;
    __int128 ps = ((__int128)unit * divisor + units - 1) / units;
    entry->ps_per_mib = ps > 0 ? (ps < INT64_C(1048576000000000000) ? (int64_t)ps : INT64_C(1048576000000000000)) : 1;
    if (!given && !slurm->unit_noted) {
        slurm->unit_noted = true;
        pccl__text_note(&slurm->text, entry->line,
                        "LinkSpeed has no unit in Slurm; taken as Gbit/s (--speed-unit says another)");
    }
    return 0;
}

static int add_entry(struct slurm *slurm, const struct entry *entry, bool is_block)
{
    const char *kind = is_block ? "BlockName" : "SwitchName";
    struct pccl__text *text = &slurm->text;
    if (entry->name[0] == '\0' || strlen(entry->name) > PCCL__IMPORT_MAX_NAME || strpbrk(entry->name, "[],") != NULL) {
        return pccl__text_fail(text, entry->line, slurm->error, "%s is \"%.60s\"; expected one name", kind,
                               entry->name);
    }
    uint32_t before = pccl__names_find(&slurm->names, entry->name);
    if (before != PCCL_NONE) {
        return pccl__text_fail(text, entry->line, slurm->error, "%s=%.60s was given in line %" PRIu32 " already", kind,
                               entry->name, slurm->entries[before].line);
    }
    if (slurm->num_entries > 0 && is_block != (slurm->num_blocks > 0)) {
        return pccl__text_fail(text, entry->line, slurm->error, "%s among lines of the other kind", kind);
    }
    if (is_block && entry->switches != NULL) {
        return pccl__text_fail(text, entry->line, slurm->error, "BlockName=%.60s has Switches; expected Nodes",
                               entry->name);
    }
    struct entry *grown =
        pccl__array_grow(slurm->entries, &slurm->capacity, (uint64_t)slurm->num_entries + 1, sizeof *grown);
    slurm->entries = grown != NULL ? grown : slurm->entries;
    if (grown == NULL || pccl__names_add(&slurm->names, entry->name) == PCCL_NONE) {
        return PCCL_ERR_MEMORY;
    }
    grown[slurm->num_entries] = *entry;
    slurm->num_blocks += is_block;
    return read_speed(slurm, &grown[slurm->num_entries++]);
}

static int read_line(struct slurm *slurm, char *line)
{
    struct entry entry = {.line = slurm->text.line, .height = PCCL_NONE};
    bool is_block = false;
    char *key, *value;
    cut_comment(line);
    while ((key = next_pair(&line, &value)) != NULL) {
        struct {
            const char *key;
            const char **value;
        } const known[] = {{"SwitchName", &entry.name},
                           {"BlockName", &entry.name},
                           {"Switches", &entry.switches},
                           {"Nodes", &entry.nodes},
                           {"LinkSpeed", &entry.speed}};
        uint32_t k = 0;
        while (k < 5 && strcasecmp(key, known[k].key) != 0) {
            k++;
        }
        if (strcasecmp(key, "Include") == 0) {
            return pccl__text_fail(&slurm->text, slurm->text.line, slurm->error,
                                   "Include is not followed; put the files together first");
        }
        if (strcasecmp(key, "BlockSizes") == 0) {
            continue; /* how jobs are allocated, not how hosts are joined */
        }
        if (k == 5 || value == NULL) {
            pccl__text_note(&slurm->text, slurm->text.line, "\"%.60s\" is not known and passed over", key);
            continue;
        }
        if (*known[k].value != NULL) {
            return pccl__text_fail(&slurm->text, slurm->text.line, slurm->error, "%s is given twice", known[k].key);
        }
        *known[k].value = value;
        is_block = is_block || k == 1;
    }
    if (entry.name != NULL) {
        return add_entry(slurm, &entry, is_block);
    }
    bool stray = entry.switches != NULL || entry.nodes != NULL || entry.speed != NULL;
    return stray ? pccl__text_fail(&slurm->text, entry.line, slurm->error,
                                   "Switches, Nodes or LinkSpeed without SwitchName or BlockName")
                 : 0;
}

/* --- the tree ----------------------------------------------------------------------------------------------------- */

/* Where the names of a list are linked to. */
struct children {
    struct slurm *slurm;
    struct entry *parent;
    uint32_t link_class;
};

static int hang_switch(void *context, const char *name)
{
    struct children *children = context;
    struct slurm *slurm = children->slurm;
    uint32_t child = pccl__names_find(&slurm->names, name);
    if (child == PCCL_NONE) {
        return pccl__text_fail(&slurm->text, children->parent->line, slurm->error,
                               "Switches names \"%.60s\", which no SwitchName describes", name);
    }
    slurm->entries[child].hangs = true;
    return pccl__fabric_join(&slurm->fabric, slurm->entries[child].vertex, children->parent->vertex,
                             children->link_class);
}

static int hang_host(void *context, const char *name)
{
    struct children *children = context;
    struct slurm *slurm = children->slurm;
    uint32_t host = pccl__names_find(&slurm->fabric.names, name);
    if (host != PCCL_NONE) {
        const char *what = slurm->fabric.is_switch[host] ? "is a switch" : "is given already";
        return pccl__text_fail(&slurm->text, children->parent->line, slurm->error, "host \"%.60s\" %s", name, what);
    }
    int status = pccl__fabric_add(&slurm->fabric, name, false, &host);
    return status != 0 ? status
                       : pccl__fabric_join(&slurm->fabric, host, children->parent->vertex, children->link_class);
}

static int expand(struct slurm *slurm, const struct entry *entry, const char *list, pccl__hostlist_visit *visit,
                  void *context)
{
    const char *why = NULL;
    int status = pccl__hostlist_expand(list, visit, context, &why);
    if (why != NULL) {
        return pccl__text_fail(&slurm->text, entry->line, slurm->error, "\"%.60s%s\": %s", list,
                               strlen(list) > 60 ? "..." : "", why);
    }
    return status;
}

/* Visits the switches below an entry, so that all of their heights and speeds are known before its own. */
struct descent {
    struct slurm *slurm;
    uint32_t height, depth;
    int64_t fastest_ps;
};

/* The faster of two speeds, where 0 is none. */
static int64_t faster(int64_t a_ps, int64_t b_ps)
{
    return a_ps == 0 || (b_ps > 0 && b_ps < a_ps) ? b_ps : a_ps;
}

static int find_height(struct slurm *slurm, struct entry *entry, uint32_t depth);

static int visit_below(void *context, const char *name)
{
    struct descent *descent = context;
    struct slurm *slurm = descent->slurm;
    uint32_t child = pccl__names_find(&slurm->names, name);
    if (child == PCCL_NONE) {
        return 0;
    }
    struct entry *entry = &slurm->entries[child];
    int status = find_height(slurm, entry, descent->depth + 1);
    descent->height = status == 0 && entry->height >= descent->height ? entry->height + 1 : descent->height;
    descent->fastest_ps = faster(descent->fastest_ps, faster(entry->ps_per_mib, entry->below_ps));
    return status;
}

#define MAX_DEPTH 64

static int find_height(struct slurm *slurm, struct entry *entry, uint32_t depth)
{
    if (entry->height != PCCL_NONE) {
        return 0;
    }
    if (entry->open || depth > MAX_DEPTH) {
        return pccl__text_fail(&slurm->text, entry->line, slurm->error,
                               entry->open ? "switch \"%.60s\" is above itself"
                                           : "switch \"%.60s\" is more than 64 levels down",
                               entry->name);
    }
    entry->open = true;
    struct descent descent = {slurm, 0, depth, 0};
    int status = entry->switches != NULL ? expand(slurm, entry, entry->switches, visit_below, &descent) : 0;
    entry->open = false;
    entry->height = descent.height;
    entry->below_ps = descent.fastest_ps;
    return status;
}

/* What a cable costs whose speed nobody says; it is a guess, not declared. 0: there is none. */
static struct pccl_class guess_costs(int64_t ps_per_mib)
{
    struct pccl_class costs = pccl__fabric_costs(0);
    costs.ps_per_mib = ps_per_mib > 0 ? ps_per_mib : costs.ps_per_mib;
    return costs;
}

/* The class of the links below a switch: by its height and their speed. Where that is not said, an uplink is as fast as
 * the fastest of the links that are led up by it, since networks rarely get slower per cable towards the top. */
static int find_class(struct slurm *slurm, const struct entry *entry, bool hosts, uint32_t *link_class)
{
    struct pccl_class costs = entry->ps_per_mib > 0 ? pccl__fabric_costs(entry->ps_per_mib)
                                                    : guess_costs(hosts ? 0 : entry->below_ps);
    char kind[32] = "hosts";
    if (!hosts) {
        snprintf(kind, sizeof kind, "level %" PRIu32, entry->height);
    }
    return pccl__fabric_class(&slurm->fabric, kind, &costs, link_class);
}

static int hang_below(struct slurm *slurm, struct entry *entry)
{
    struct children children = {slurm, entry, 0};
    int status = 0;
    if (entry->switches == NULL && entry->nodes == NULL) {
        pccl__text_note(&slurm->text, entry->line, "\"%.60s\" has neither Switches nor Nodes", entry->name);
    }
    if (entry->nodes != NULL && (status = find_class(slurm, entry, true, &children.link_class)) == 0) {
        status = expand(slurm, entry, entry->nodes, hang_host, &children);
    }
    if (status == 0 && entry->switches != NULL &&
        (status = find_class(slurm, entry, false, &children.link_class)) == 0) {
        status = expand(slurm, entry, entry->switches, hang_switch, &children);
    }
    return status;
}

/* Blocks are joined by one switch that the file does not name. */
static int join_blocks(struct slurm *slurm)
{
    uint32_t core, link_class;
    int64_t fastest_ps = 0;
    for (uint32_t i = 0; i < slurm->num_entries; i++) {
        fastest_ps = faster(fastest_ps, slurm->entries[i].ps_per_mib);
    }
    struct pccl_class costs = guess_costs(fastest_ps);
    int status = pccl__fabric_add(&slurm->fabric, "between-blocks", true, &core);
    if (status == 0) {
        status = pccl__fabric_class(&slurm->fabric, "between blocks", &costs, &link_class);
    }
    for (uint32_t i = 0; i < slurm->num_entries && status == 0; i++) {
        status = pccl__fabric_join(&slurm->fabric, slurm->entries[i].vertex, core, link_class);
    }
    pccl__text_note(&slurm->text, 0, "blocks are joined by one switch, with one cable each%s",
                    fastest_ps > 0 ? ", as fast as the fastest LinkSpeed" : " of 12.5 GB/s");
    return status;
}

/* --- what is assumed ---------------------------------------------------------------------------------------------- */

/* Notes what links cost whose LinkSpeed is not said, with the first line of each kind. */
static void note_speeds(struct slurm *slurm)
{
    const struct entry *hosts = NULL, *guessed = NULL, *unknown = NULL;
    for (uint32_t i = slurm->num_entries; i-- > 0;) {
        const struct entry *entry = &slurm->entries[i];
        bool silent = entry->ps_per_mib == 0, above = silent && entry->switches != NULL;
        hosts = silent && entry->nodes != NULL ? entry : hosts;
        guessed = above && entry->below_ps > 0 ? entry : guessed;
        unknown = above && entry->below_ps == 0 ? entry : unknown;
    }
    if (hosts != NULL) {
        pccl__text_note(&slurm->text, hosts->line, "no LinkSpeed: links of hosts count as 12.5 GB/s");
    }
    if (guessed != NULL) {
        pccl__text_note(&slurm->text, guessed->line,
                        "no LinkSpeed: two switches count as joined by one cable, as fast as the fastest LinkSpeed "
                        "further down");
    }
    if (unknown != NULL) {
        pccl__text_note(&slurm->text, unknown->line,
                        "no LinkSpeed here and below: two switches count as joined by one cable of 12.5 GB/s");
    }
    if (hosts != NULL || guessed != NULL || unknown != NULL) {
        pccl__text_note(&slurm->text, 0,
                        "where that is wrong, put \"bandwidth\": \"...GB/s\" instead of ps_per_mib into \"classes\" of "
                        "the topology file and \"declared\" as its \"origin\" (or none), or measure");
    }
}

#define MOST_NAMES 4

/* Notes the switches at the top of each part of the network, which nothing joins. */
static int note_parts(struct slurm *slurm)
{
    const uint32_t n = slurm->fabric.names.num_names;
    uint32_t *part = pccl__array_new(n, sizeof *part), num_parts = 0, named = 0;
    bool *has_hosts = pccl__array_new(n, sizeof *has_hosts);
    char names[MOST_NAMES * 32] = "";
    int status = part != NULL && has_hosts != NULL ? pccl__fabric_parts(&slurm->fabric, part, &num_parts)
                                                   : PCCL_ERR_MEMORY;
    for (uint32_t v = 0; v < n && num_parts > 1; v++) {
        has_hosts[part[v]] = has_hosts[part[v]] || !slurm->fabric.is_switch[v];
    }
    for (uint32_t i = 0; i < slurm->num_entries && num_parts > 1 && named < MOST_NAMES; i++) {
        const struct entry *entry = &slurm->entries[i];
        if (!entry->hangs && has_hosts[part[entry->vertex]]) {
            has_hosts[part[entry->vertex]] = false;
            size_t length = strlen(names);
            snprintf(names + length, sizeof names - length, "%s%.30s", named++ > 0 ? "," : "", entry->name);
        }
    }
    if (num_parts > 1) {
        pccl__text_note(&slurm->text, 0,
                        "the network is in %" PRIu32 " parts, since no switch joins %s%s; add a line such as "
                        "SwitchName=top Switches=%s%s, or their hosts cannot reach each other",
                        num_parts, names, num_parts > named ? ",..." : "", names, num_parts > named ? ",..." : "");
    }
    free(has_hosts);
    free(part);
    return status;
}

static int build(struct slurm *slurm)
{
    int status = slurm->num_entries > 0 ? 0
                                        : pccl__text_fail(&slurm->text, 0, slurm->error,
                                                          "no SwitchName and no BlockName; expected Slurm's "
                                                          "topology.conf");
    for (uint32_t i = 0; i < slurm->num_entries && status == 0; i++) {
        struct entry *entry = &slurm->entries[i];
        status = pccl__fabric_add(&slurm->fabric, entry->name, true, &entry->vertex);
    }
    for (uint32_t i = 0; i < slurm->num_entries && status == 0; i++) {
        status = find_height(slurm, &slurm->entries[i], 0);
    }
    for (uint32_t i = 0; i < slurm->num_entries && status == 0; i++) {
        status = hang_below(slurm, &slurm->entries[i]);
    }
    if (status == 0 && slurm->num_blocks > 1) {
        status = join_blocks(slurm);
    }
    if (status == 0) {
        note_speeds(slurm);
        status = note_parts(slurm);
    }
    return status;
}

int pccl_import_slurm(const char *path, const struct pccl_import_options *options, struct pccl_topology **topology,
                      struct pccl_error *error)
{
    struct pccl_error met = {""};
    struct slurm slurm = {.error = &met, .options = options};
    int status = pccl__text_open(&slurm.text, path, options, &met);
    for (char *line; status == 0 && (line = pccl__text_line(&slurm.text, true)) != NULL;) {
        status = read_line(&slurm, line);
    }
    if (status == 0) {
        status = build(&slurm);
    }
    if (status == 0) {
        status = pccl__fabric_finish(&slurm.fabric, path, topology, &met);
    }
    status = pccl__fabric_fail(&slurm.text, status, &met, error);
    pccl__fabric_free(&slurm.fabric);
    pccl__names_free(&slurm.names);
    free(slurm.entries);
    pccl__text_close(&slurm.text);
    return status;
}
