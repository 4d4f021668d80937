/* A fabric as a picture: hosts with the ranks on them, switches, cables by speed. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plot.h"

#define MARGIN 24
#define HEADER 62
#define MIN_SPACING 21 /* of hosts on a line, so that numbers fit below them */
#define MAX_CELL 130   /* of neighbours in a grid */
#define MAX_WIDTH 16000
#define MAX_KINDS 12  /* in the legend */
#define MAX_STACK 6   /* lines of ranks below a host */
#define LINE 10       /* height of one */
#define MAX_NAMED 400 /* hosts; above, names hide everything */
#define MAX_CABLES 40000

/* Cables that cost the same. */
struct kind {
    uint16_t link_class;
    uint8_t latency_origin, bandwidth_origin;
    int64_t latency_ps, ps_per_mib;
    uint32_t num_links;
};

/* All cables of one kind between two vertices, both directions. */
struct bundle {
    uint32_t a, b, kind, num_links;
};

struct drawing {
    FILE *stream;
    const struct pccl_topology *topology;
    const struct cli_ranks *ranks;
    struct plot_layout layout;
    struct kind *kinds; /* fastest first */
    uint32_t num_kinds;
    struct bundle *bundles;
    uint32_t num_bundles;
    char **labels;       /* [num_devices] ranks in text, NULL where none sits */
    uint32_t most_lines; /* of ranks below a host */
    double x, y, scale, radius, width, height;
};

/* --- what there is ------------------------------------------------------------------------------------------------ */

static int compare_kinds(const void *left, const void *right)
{
    const struct kind *a = left, *b = right;
    const int64_t x[] = {a->ps_per_mib, a->latency_ps, a->link_class, a->bandwidth_origin, a->latency_origin};
    const int64_t y[] = {b->ps_per_mib, b->latency_ps, b->link_class, b->bandwidth_origin, b->latency_origin};
    for (int i = 0; i < 5; i++) {
        if (x[i] != y[i]) {
            return x[i] < y[i] ? -1 : 1;
        }
    }
    return 0;
}

static int compare_bundles(const void *left, const void *right)
{
    const struct bundle *a = left, *b = right;
    const uint32_t x[] = {a->a, a->b, a->kind}, y[] = {b->a, b->b, b->kind};
    for (int i = 0; i < 3; i++) {
        if (x[i] != y[i]) {
            return x[i] < y[i] ? -1 : 1;
        }
    }
    return 0;
}

static struct kind kind_of(const struct pccl_link *link)
{
    return (struct kind){link->link_class, link->latency_origin, link->bandwidth_origin,
                         link->latency_ps, link->ps_per_mib,     1};
}

static int find_kinds(struct drawing *drawing)
{
    const struct pccl_topology *topology = drawing->topology;
    drawing->kinds = malloc(((size_t)topology->num_links + 1) * sizeof(*drawing->kinds));
    if (!drawing->kinds) {
        return PCCL_ERR_MEMORY;
    }
    for (uint32_t l = 0; l < topology->num_links; l++) {
        drawing->kinds[l] = kind_of(&topology->links[l]);
    }
    qsort(drawing->kinds, topology->num_links, sizeof(*drawing->kinds), compare_kinds);
    for (uint32_t l = 0; l < topology->num_links; l++) {
        struct kind *last = drawing->num_kinds ? &drawing->kinds[drawing->num_kinds - 1] : NULL;
        if (last && compare_kinds(last, &drawing->kinds[l]) == 0) {
            last->num_links++;
        } else {
            drawing->kinds[drawing->num_kinds++] = drawing->kinds[l];
        }
    }
    return PCCL_SUCCESS;
}

static int find_bundles(struct drawing *drawing)
{
    const struct pccl_topology *topology = drawing->topology;
    struct bundle *bundles = malloc(((size_t)topology->num_links + 1) * sizeof(*bundles));
    drawing->bundles = bundles;
    if (!bundles) {
        return PCCL_ERR_MEMORY;
    }
    for (uint32_t l = 0; l < topology->num_links; l++) {
        const struct pccl_link *link = &topology->links[l];
        struct kind wanted = kind_of(link);
        const struct kind *kind = bsearch(&wanted, drawing->kinds, drawing->num_kinds, sizeof(wanted), compare_kinds);
        bool straight = link->source < link->target;
        bundles[l] = (struct bundle){straight ? link->source : link->target, straight ? link->target : link->source,
                                     (uint32_t)(kind - drawing->kinds), 1};
    }
    qsort(bundles, topology->num_links, sizeof(*bundles), compare_bundles);
    for (uint32_t l = 0; l < topology->num_links; l++) {
        struct bundle *last = drawing->num_bundles ? &bundles[drawing->num_bundles - 1] : NULL;
        if (last && compare_bundles(last, &bundles[l]) == 0) {
            last->num_links++;
        } else {
            bundles[drawing->num_bundles++] = bundles[l];
        }
    }
    return PCCL_SUCCESS;
}

/* Appends rank `first` to `last` to a host's label, runs of ranks each a line. */
static bool append_run(char **label, uint32_t first, uint32_t last)
{
    char run[32];
    if (first == last) {
        snprintf(run, sizeof(run), "%u", first);
    } else {
        snprintf(run, sizeof(run), "%u-%u", first, last);
    }
    size_t used = *label ? strlen(*label) : 0;
    char *grown = realloc(*label, used + strlen(run) + 2);
    if (!grown) {
        return false;
    }
    *label = grown;
    snprintf(grown + used, strlen(run) + 2, "%s%s", used ? "\n" : "", run);
    return true;
}

/* Ranks of each host as text: runs of ranks that follow each other, a line each. */
static int find_labels(struct drawing *drawing)
{
    const struct cli_ranks *ranks = drawing->ranks;
    const uint32_t num_devices = drawing->topology->num_devices;
    uint32_t *first = malloc(2 * (size_t)num_devices * sizeof(*first)), *last = first ? first + num_devices : NULL;
    drawing->labels = calloc(num_devices, sizeof(*drawing->labels));
    bool complete = first && drawing->labels;
    for (uint32_t d = 0; d < num_devices && complete; d++) {
        first[d] = PCCL_NONE;
    }
    for (uint32_t r = 0; r < ranks->num_ranks && complete; r++) {
        uint32_t d = ranks->devices[r];
        if (first[d] == PCCL_NONE || last[d] + 1 != r) {
            complete = first[d] == PCCL_NONE || append_run(&drawing->labels[d], first[d], last[d]);
            first[d] = r;
        }
        last[d] = r;
    }
    for (uint32_t d = 0; d < num_devices && complete; d++) {
        complete = first[d] == PCCL_NONE || append_run(&drawing->labels[d], first[d], last[d]);
        uint32_t lines = drawing->labels[d] ? 1 : 0;
        for (const char *c = drawing->labels[d]; c && *c; c++) {
            lines += *c == '\n';
        }
        drawing->most_lines = lines > drawing->most_lines ? lines : drawing->most_lines;
    }
    drawing->most_lines = drawing->most_lines > MAX_STACK ? MAX_STACK : drawing->most_lines;
    free(first);
    return complete ? PCCL_SUCCESS : PCCL_ERR_MEMORY;
}

/* --- cables ------------------------------------------------------------------------------------------------------- */

static void find_place(const struct drawing *drawing, uint32_t vertex, double place[2])
{
    place[0] = drawing->x + drawing->layout.x[vertex] * drawing->scale;
    place[1] = drawing->y + drawing->layout.y[vertex] * drawing->scale;
}

/* Faster is thicker, by how many times the slowest it is. */
static double line_width(const struct drawing *drawing, uint32_t kind)
{
    double slowest = (double)drawing->kinds[drawing->num_kinds - 1].ps_per_mib;
    double own = fmax((double)drawing->kinds[kind].ps_per_mib, 1);
    double width = 1.1 + 0.9 * log2(fmax(slowest / own, 1));
    return fmin(width, fmax(0.3 * drawing->layout.spacing * drawing->scale, 1.1));
}

static struct plot_colour line_colour(const struct drawing *drawing, uint32_t kind)
{
    return plot_category(kind, drawing->num_kinds);
}

static void describe_kind(const struct drawing *drawing, const struct kind *kind, char *text, size_t room)
{
    static const char *const origins[] = {"default", "declared", "measured"};
    char name[80] = "";
    if (kind->link_class != PCCL_NO_CLASS) {
        plot_shorten(drawing->topology->classes[kind->link_class].name, 30, name, sizeof(name) - 4);
        strcat(name, ": ");
    }
    snprintf(text, room, "%s%s (%s), %s (%s)", name, cli_rate_text(kind->ps_per_mib).text,
             origins[kind->bandwidth_origin], cli_time_text(kind->latency_ps).text, origins[kind->latency_origin]);
}

static void draw_bundle(const struct drawing *drawing, const struct bundle *bundle, bool labelled)
{
    double from[2], to[2], bow = plot_layout_bow(&drawing->layout, drawing->topology, bundle->a, bundle->b);
    find_place(drawing, bundle->a, from);
    find_place(drawing, bundle->b, to);
    double dx = to[0] - from[0], dy = to[1] - from[1];
    double pull[2] = {(from[0] + to[0]) / 2 - dy * bow, (from[1] + to[1]) / 2 + dx * bow};
    struct plot_style style = {.colour = line_colour(drawing, bundle->kind), .size = line_width(drawing, bundle->kind)};
    if (bow == 0) {
        plot_line(drawing->stream, from[0], from[1], to[0], to[1], style);
    } else {
        plot_bow(drawing->stream, from, pull, to, style);
    }
    char label[64] = "";
    uint32_t cables = (bundle->num_links + 1) / 2;
    if (labelled) {
        snprintf(label, sizeof(label), "%s", cli_rate_text(drawing->kinds[bundle->kind].ps_per_mib).text);
    }
    if (cables > 1 && (labelled || drawing->num_bundles <= 60)) {
        size_t used = strlen(label);
        snprintf(label + used, sizeof(label) - used, "%s%u\xc3\x97", used ? ", " : "", cables);
    }
    if (label[0]) {
        double x = (from[0] + 2 * pull[0] + to[0]) / 4, y = (from[1] + 2 * pull[1] + to[1]) / 4;
        double size = 10, half = 0.31 * size * (double)strlen(label);
        plot_rectangle(drawing->stream, x - half, y - size * 0.75, 2 * half, size * 1.3, plot_white,
                       (struct plot_style){.opacity = 0.85});
        plot_text(drawing->stream, x, y + size * 0.3, PLOT_MIDDLE,
                  (struct plot_style){.colour = style.colour, .size = size, .bold = true}, label);
    }
}

/* One cable of each kind carries its speed: the middle one, which is likely to have room. */
static void draw_bundles(const struct drawing *drawing)
{
    for (uint32_t pass = 0; pass < 2; pass++) { /* labels last, over all lines */
        for (uint32_t k = drawing->num_kinds; k-- > 0;) {
            uint32_t count = 0, seen = 0;
            for (uint32_t i = 0; i < drawing->num_bundles; i++) {
                count += drawing->bundles[i].kind == k;
            }
            for (uint32_t i = 0; i < drawing->num_bundles; i++) {
                const struct bundle *bundle = &drawing->bundles[i];
                bool labelled = bundle->kind == k && seen++ == count / 2 && k < MAX_KINDS;
                if (bundle->kind != k || (pass == 1 && !labelled && bundle->num_links < 3)) {
                    continue;
                }
                char title[400], kind[200];
                describe_kind(drawing, &drawing->kinds[k], kind, sizeof(kind));
                snprintf(title, sizeof(title), "%.60s - %.60s, %u cable%s: %s",
                         drawing->topology->vertices[bundle->a].name, drawing->topology->vertices[bundle->b].name,
                         (bundle->num_links + 1) / 2, bundle->num_links > 2 ? "s" : "", kind);
                plot_group_begin(drawing->stream, title);
                draw_bundle(drawing, bundle, labelled && pass == 1);
                plot_group_end(drawing->stream);
            }
        }
    }
}

/* --- hosts and switches ------------------------------------------------------------------------------------------- */

/* The lines of a label from (x, y) downwards. */
static void draw_stack(const struct drawing *drawing, const char *label, double x, double y, enum plot_anchor anchor)
{
    for (uint32_t line = 0; *label && line < MAX_STACK; line++) {
        size_t length = strcspn(label, "\n");
        char text[40];
        bool rest = line + 1 == MAX_STACK && label[length];
        snprintf(text, sizeof(text), "%.*s", rest ? 3 : (int)(length < 30 ? length : 30), rest ? "..." : label);
        plot_text(drawing->stream, x, y + line * LINE, anchor,
                  (struct plot_style){.colour = plot_blue, .size = 9, .bold = true}, text);
        label += length + (label[length] != '\0');
    }
}

/* Below a line of hosts: ranks, then the name, upright where names are longer than the hosts are apart. */
static void write_below(const struct drawing *drawing, const char *name, const char *label, double x, double y)
{
    double spacing = drawing->layout.spacing * drawing->scale, below = y + drawing->radius + 11;
    struct plot_style font = {.colour = plot_black, .size = 9};
    if (label) {
        draw_stack(drawing, label, x, below, PLOT_MIDDLE);
    }
    below += drawing->most_lines * LINE;
    if (drawing->topology->num_devices > MAX_NAMED) {
        return;
    }
    if (5.6 * (double)strlen(name) < spacing) {
        plot_text(drawing->stream, x, below, PLOT_MIDDLE, font, name);
    } else {
        plot_text_upright(drawing->stream, x + 3, below - 6 + 2.8 * (double)strlen(name), font, name);
    }
}

/* Outside of a circle of hosts. */
static void write_outside(const struct drawing *drawing, const char *name, const char *label, double x, double y)
{
    double dx = x - (drawing->x + drawing->scale), dy = y - (drawing->y + drawing->scale);
    double length = sqrt(dx * dx + dy * dy) + 1e-9, reach = drawing->radius + 5;
    enum plot_anchor anchor = dx > 0.2 * length ? PLOT_START : dx < -0.2 * length ? PLOT_END : PLOT_MIDDLE;
    double at_x = x + dx / length * reach, at_y = y + dy / length * (reach + 5) + 3;
    if (drawing->topology->num_devices <= MAX_NAMED) {
        plot_text(drawing->stream, at_x, at_y, anchor, (struct plot_style){.colour = plot_black, .size = 9}, name);
    }
    if (label) {
        draw_stack(drawing, label, at_x, at_y + (dy < -0.5 * length ? -LINE * drawing->most_lines : LINE), anchor);
    }
}

static void draw_host(const struct drawing *drawing, uint32_t device, double x, double y)
{
    const char *full = drawing->topology->vertices[device].name, *label = drawing->labels[device];
    char name[40];
    double radius = drawing->radius;
    double size = label ? fmin(10, 3.0 * radius / (double)strlen(label)) : 0;
    bool inside = label && !strchr(label, '\n') && size >= 7;
    plot_circle(drawing->stream, x, y, radius, label ? plot_blue : plot_white,
                (struct plot_style){.colour = plot_blue, .size = 1.2});
    if (inside) {
        plot_text(drawing->stream, x, y + 3.4, PLOT_MIDDLE,
                  (struct plot_style){.colour = plot_white, .size = size, .bold = true}, label);
    }
    plot_shorten(full, 14, name, sizeof(name));
    if (drawing->layout.shape == PLOT_CIRCLE) {
        write_outside(drawing, name, inside ? NULL : label, x, y);
    } else if (drawing->layout.shape == PLOT_TIERS) {
        write_below(drawing, name, inside ? NULL : label, x, y);
    } else if (drawing->layout.spacing * drawing->scale > 30) {
        plot_text(drawing->stream, x + radius * 0.8, y + radius + 8, PLOT_START,
                  (struct plot_style){.colour = plot_black, .size = 9}, name);
        if (label && !inside) {
            draw_stack(drawing, label, x + radius * 0.8, y + radius + 8 + LINE, PLOT_START);
        }
    }
}

static void draw_switch(const struct drawing *drawing, uint32_t vertex, double x, double y, uint32_t beside)
{
    char name[40];
    plot_shorten(drawing->topology->vertices[vertex].name, 12, name, sizeof(name));
    double room = drawing->layout.shape == PLOT_TIERS ? drawing->width / (beside + 1) : 60;
    bool named = 5.8 * (double)strlen(name) + 6 < room;
    double width = named ? 5.8 * (double)strlen(name) + 8 : fmin(12, room * 0.7), height = named ? 15 : 9;
    plot_rectangle(drawing->stream, x - width / 2, y - height / 2, width, height, plot_light_grey,
                   (struct plot_style){.colour = plot_black, .size = 0.8});
    if (named) {
        plot_text(drawing->stream, x, y + 3.4, PLOT_MIDDLE, (struct plot_style){.colour = plot_black, .size = 9.5},
                  name);
    }
}

static void draw_vertex(const struct drawing *drawing, uint32_t vertex)
{
    const struct pccl_topology *topology = drawing->topology;
    double place[2];
    char title[700];
    uint32_t beside = 0;
    find_place(drawing, vertex, place);
    bool is_host = vertex < topology->num_devices;
    const char *label = is_host ? drawing->labels[vertex] : NULL;
    snprintf(title, sizeof(title), "%.200s%s%.400s", topology->vertices[vertex].name, label ? ", ranks " : "",
             label ? label : "");
    for (char *c = title; *c; c++) {
        *c = *c == '\n' ? ' ' : *c;
    }
    for (uint32_t v = topology->num_devices; v < topology->num_vertices && !is_host; v++) {
        beside += fabs(drawing->layout.y[v] - drawing->layout.y[vertex]) < 1e-9;
    }
    plot_group_begin(drawing->stream, title);
    if (is_host) {
        draw_host(drawing, vertex, place[0], place[1]);
    } else {
        draw_switch(drawing, vertex, place[0], place[1], beside);
    }
    plot_group_end(drawing->stream);
}

/* --- the page ----------------------------------------------------------------------------------------------------- */

static uint32_t legend_lines(const struct drawing *drawing)
{
    return drawing->num_kinds > MAX_KINDS ? MAX_KINDS + 1 : drawing->num_kinds;
}

static void arrange(struct drawing *drawing)
{
    const struct plot_layout *layout = &drawing->layout;
    double below = 0, side = 60, legend = 16.0 * legend_lines(drawing) + 40;
    if (layout->shape == PLOT_TIERS) {
        drawing->scale = fmin(fmax(1272 / layout->width, MIN_SPACING), 120);
        drawing->scale = fmin(drawing->scale, MAX_WIDTH / layout->width);
        below = drawing->most_lines * LINE + 80;
    } else if (layout->shape == PLOT_CIRCLE) {
        drawing->scale = fmin(fmax(150, 34 / fmax(layout->spacing, 1e-3)), 4000);
        side = 130;
    } else {
        drawing->scale = fmin(fmax(900 / fmax(fmax(layout->width, layout->height), 1), 22), MAX_CELL);
        below = 30;
    }
    double rise = layout->height * drawing->scale;
    drawing->radius = fmin(fmax(layout->spacing * drawing->scale * 0.3, 3), 15);
    drawing->width = fmax(layout->width * drawing->scale + 2 * side, 640);
    drawing->x = (drawing->width - layout->width * drawing->scale) / 2;
    drawing->y = HEADER + 50;
    drawing->height = drawing->y + rise + 50 + below + legend;
}

static void draw_header(const struct drawing *drawing)
{
    const struct pccl_topology *topology = drawing->topology;
    static const char *const rules[] = {"switches forward", "shortest ways",
                                        "dimension order",  "shortest ways through switches",
                                        "up, then down",    "by a table"};
    char text[240], name[100];
    plot_shorten(topology->name, 60, name, sizeof(name));
    plot_text(drawing->stream, MARGIN, 32, PLOT_START, (struct plot_style){plot_black, 20, 0, true, false}, name);
    int used = snprintf(text, sizeof(text), "%u host%s, %u switch%s; routing: %s", topology->num_devices,
                        topology->num_devices == 1 ? "" : "s", topology->num_vertices - topology->num_devices,
                        topology->num_vertices - topology->num_devices == 1 ? "" : "es", rules[topology->routing]);
    if (drawing->ranks->num_ranks) {
        snprintf(text + used, sizeof(text) - (size_t)used, "; %u ranks, their numbers in blue or on blue",
                 drawing->ranks->num_ranks);
    }
    plot_text(drawing->stream, MARGIN, 53, PLOT_START, (struct plot_style){.colour = plot_black, .size = 13}, text);
}

static void draw_legend(const struct drawing *drawing)
{
    double y = drawing->height - 16.0 * legend_lines(drawing) - 14;
    const struct plot_style font = {.colour = plot_black, .size = 12};
    for (uint32_t k = 0; k < drawing->num_kinds && k < MAX_KINDS; k++, y += 16) {
        char text[300], kind[200];
        describe_kind(drawing, &drawing->kinds[k], kind, sizeof(kind));
        snprintf(text, sizeof(text), "%s: %u cables", kind, (drawing->kinds[k].num_links + 1) / 2);
        plot_line(drawing->stream, MARGIN, y, MARGIN + 40, y,
                  (struct plot_style){.colour = line_colour(drawing, k), .size = fmax(line_width(drawing, k), 2)});
        plot_text(drawing->stream, MARGIN + 50, y + 4, PLOT_START, font, text);
    }
    if (drawing->num_kinds > MAX_KINDS) {
        plot_text(drawing->stream, MARGIN + 50, y + 4, PLOT_START, font, "and others");
    }
}

static void free_drawing(struct drawing *drawing)
{
    for (uint32_t d = 0; drawing->labels && d < drawing->topology->num_devices; d++) {
        free(drawing->labels[d]);
    }
    free(drawing->labels);
    free(drawing->bundles);
    free(drawing->kinds);
    plot_layout_free(&drawing->layout);
}

int cli_draw(FILE *stream, const struct pccl_topology *topology, const struct cli_ranks *ranks)
{
    struct drawing drawing = {.stream = stream, .topology = topology, .ranks = ranks};
    if (topology->num_links > MAX_CABLES) {
        cli_error("%.100s has %u links; at most %u can be drawn", topology->name, topology->num_links, MAX_CABLES);
        return CLI_FAILED;
    }
    int status = plot_layout_create(topology, &drawing.layout);
    status = status ? status : find_kinds(&drawing);
    status = status ? status : find_bundles(&drawing);
    status = status ? status : find_labels(&drawing);
    if (!status) {
        arrange(&drawing);
        plot_begin(stream, drawing.width, drawing.height, topology->name);
        draw_header(&drawing);
        draw_bundles(&drawing);
        for (uint32_t v = topology->num_vertices; v-- > 0;) {
            draw_vertex(&drawing, v);
        }
        draw_legend(&drawing);
        plot_end(stream);
    }
    free_drawing(&drawing);
    return status ? cli_fail(status, NULL, NULL) : CLI_OK;
}
