/* Load on the topology: the graph, each direction of each link in the colour of how long it is held. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plot.h"

#define MAX_ARROWS 600 /* links; above, heads would hide the lines */
#define LEGEND_HEIGHT 78
#define MAX_CELL 150        /* distance of neighbours in a grid */
#define MAX_NAMES 80        /* switches; above, nothing fits */
#define MAX_LINE_NAMES 30   /* switches on a line; above, only numbers fit */
#define MAX_CIRCLE_NAMES 20 /* the same on a circle */

struct canvas {
    const struct plot *plot;
    const struct plot_layout *layout;
    double x, y, scale; /* of layout coordinates */
    double radius;      /* of a device */
    double offset;      /* of a direction from the middle of its pair */
};

double plot_busy_share(const struct plot *plot, uint32_t link)
{
    int64_t held_ps = pccl_transfer_ps(plot->simulation.link_bytes[link], plot->topology->links[link].ps_per_mib);
    return plot->simulation.makespan_ps > 0 ? (double)held_ps / (double)plot->simulation.makespan_ps : 0;
}

static struct canvas place_canvas(const struct plot *plot, const struct plot_layout *layout, struct plot_area area)
{
    double margin = layout->shape == PLOT_CIRCLE ? 26 : 48;
    double width = area.width - 2 * margin, height = area.height - 2 * margin;
    struct canvas canvas = {.plot = plot, .layout = layout};
    canvas.scale = fmin(width / fmax(layout->width, 1e-9), height / fmax(layout->height, 1e-9));
    if (layout->shape != PLOT_CIRCLE) {
        canvas.scale = fmin(canvas.scale, MAX_CELL);
    }
    canvas.x = area.x + (area.width - layout->width * canvas.scale) / 2;
    canvas.y = area.y + (area.height - layout->height * canvas.scale) / 2;
    double spacing = layout->spacing * canvas.scale;
    bool roomy = spacing > 26; /* labels fit; else the load has the say */
    canvas.radius = fmin(fmax(spacing * (roomy ? 0.24 : 0.15), 1.2), 17);
    canvas.offset = fmin(spacing * (roomy ? 0.055 : 0.08), 4);
    return canvas;
}

/* The end of a line at a vertex: on its rim, on the right-hand side of the pair. */
static void find_end(const struct canvas *canvas, const double centre[2], const double towards[2], double side,
                     double end[2])
{
    double dx = towards[0] - centre[0], dy = towards[1] - centre[1], length = sqrt(dx * dx + dy * dy);
    double reach = fmin(canvas->radius, length / 3);
    length = length > 0 ? length : 1;
    end[0] = centre[0] + dx / length * reach - dy / length * side;
    end[1] = centre[1] + dy / length * reach + dx / length * side;
}

static void draw_link(const struct canvas *canvas, uint32_t link, double share, double width)
{
    const struct plot *plot = canvas->plot;
    const struct pccl_link *link_ends = &plot->topology->links[link];
    uint32_t a = link_ends->source, b = link_ends->target;
    double source[2] = {canvas->x + canvas->layout->x[a] * canvas->scale,
                        canvas->y + canvas->layout->y[a] * canvas->scale};
    double target[2] = {canvas->x + canvas->layout->x[b] * canvas->scale,
                        canvas->y + canvas->layout->y[b] * canvas->scale};
    double bow = plot_layout_bow(canvas->layout, plot->topology, a, b) * (a < b ? 1 : -1);
    double dx = target[0] - source[0], dy = target[1] - source[1], length = sqrt(dx * dx + dy * dy) + 1e-9;
    double side = canvas->offset;
    double pull[2] = {(source[0] + target[0]) / 2 - dy * bow - dy / length * side,
                      (source[1] + target[1]) / 2 + dx * bow + dx / length * side};
    double from[2], to[2];
    find_end(canvas, source, bow == 0 ? target : pull, side, from);
    find_end(canvas, target, bow == 0 ? source : pull, -side, to);
    struct plot_style style = {
        .colour = share > 0 ? plot_heat(share) : plot_light_grey, .size = width, .dashed = share <= 0};
    if (bow == 0) {
        plot_line(plot->stream, from[0], from[1], to[0], to[1], style);
    } else {
        plot_bow(plot->stream, from, pull, to, style);
    }
    if (plot->topology->num_links > MAX_ARROWS || canvas->scale * canvas->layout->spacing < 18 || share <= 0) {
        return;
    }
    double middle[2] = {(from[0] + 2 * pull[0] + to[0]) / 4, (from[1] + 2 * pull[1] + to[1]) / 4};
    plot_arrow(plot->stream, middle[0], middle[1], to[0] - from[0], to[1] - from[1], width * 1.1 + 1.6, plot_black);
}

static void draw_links(const struct canvas *canvas)
{
    const struct plot *plot = canvas->plot;
    double spacing = canvas->layout->spacing * canvas->scale;
    double width = fmin(fmax(spacing * (spacing > 26 ? 0.05 : 0.1), 0.5), 3.2);
    for (uint32_t pass = 0; pass < 2; pass++) { /* idle links first, so that they hide nothing */
        for (uint32_t l = 0; l < plot->topology->num_links; l++) {
            const struct pccl_link *link = &plot->topology->links[l];
            double share = plot_busy_share(plot, l);
            bool used = plot->simulation.link_bytes[l] > 0;
            if (used != (pass == 1)) {
                continue;
            }
            char title[240];
            snprintf(title, sizeof(title), "%.60s to %.60s: %s, held %.1f %% of the time",
                     plot->topology->vertices[link->source].name, plot->topology->vertices[link->target].name,
                     cli_bytes_text(plot->simulation.link_bytes[l]).text, 100 * share);
            plot_group_begin(plot->stream, title);
            draw_link(canvas, l, used ? fmax(share, 1e-6) : 0, used ? width : fmin(width, 1));
            plot_group_end(plot->stream);
        }
    }
}

static void draw_device(const struct canvas *canvas, uint32_t device, double x, double y)
{
    const struct plot *plot = canvas->plot;
    bool member = plot->member[device];
    double radius = canvas->radius;
    char label[32];
    plot_circle(plot->stream, x, y, radius, member ? plot_blue : plot_white,
                (struct plot_style){.colour = plot_blue, .size = fmin(radius / 4, 1.2)});
    if (radius < 6) {
        return;
    }
    snprintf(label, sizeof(label), "%.8s", plot->topology->vertices[device].name);
    if (strlen(plot->topology->vertices[device].name) > 5) {
        snprintf(label, sizeof(label), "%u", device);
    }
    double size = fmin(11, fmin(radius, 2.9 * radius / (double)strlen(label)));
    plot_text(plot->stream, x, y + size * 0.36, PLOT_MIDDLE,
              (struct plot_style){.colour = member ? plot_white : plot_black, .size = size}, label);
}

static void draw_switch(const struct canvas *canvas, uint32_t vertex, double x, double y)
{
    const struct plot *plot = canvas->plot;
    uint32_t num_switches = plot->topology->num_vertices - plot->topology->num_devices;
    double width = 2 * canvas->radius, height = 1.6 * canvas->radius;
    const char *name = plot->topology->vertices[vertex].name;
    char label[32];
    if (num_switches > (canvas->layout->shape == PLOT_CIRCLE ? MAX_CIRCLE_NAMES : MAX_LINE_NAMES)) {
        name += strcspn(name, "0123456789"); /* the number alone has room */
    }
    plot_shorten(name, 10, label, sizeof(label));
    bool named = num_switches <= MAX_NAMES;
    if (named) {
        width = fmax(width, 6.2 * (double)strlen(label) + 4);
        height = fmax(height, 14);
    }
    plot_rectangle(plot->stream, x - width / 2, y - height / 2, width, height, plot_light_grey,
                   (struct plot_style){.colour = plot_black, .size = fmin(canvas->radius / 4, 1)});
    if (named) {
        plot_text(plot->stream, x, y + 3.6, PLOT_MIDDLE, (struct plot_style){.colour = plot_black, .size = 10}, label);
    }
}

static void draw_vertex(const struct canvas *canvas, uint32_t vertex)
{
    const struct plot *plot = canvas->plot;
    double x = canvas->x + canvas->layout->x[vertex] * canvas->scale;
    double y = canvas->y + canvas->layout->y[vertex] * canvas->scale;
    plot_group_begin(plot->stream, plot->topology->vertices[vertex].name);
    if (vertex < plot->topology->num_devices) {
        draw_device(canvas, vertex, x, y);
    } else {
        draw_switch(canvas, vertex, x, y);
    }
    plot_group_end(plot->stream);
}

static void draw_legend(const struct plot *plot, struct plot_area area)
{
    const struct plot_style font = {.colour = plot_black, .size = 11}, line = {.colour = plot_blue, .size = 1.2};
    double y = area.y + area.height - LEGEND_HEIGHT + 22, x = area.x + area.width / 2 - 235;
    uint32_t idle = 0;
    for (uint32_t l = 0; l < plot->topology->num_links; l++) {
        idle += plot->simulation.link_bytes[l] == 0;
    }
    plot_heat_legend(plot->stream, x, y, 200, "share of the time a link is held");
    x += 245;
    plot_circle(plot->stream, x, y, 6, plot_blue, line);
    plot_text(plot->stream, x + 12, y + 4, PLOT_START, font, "rank of the group");
    plot_circle(plot->stream, x + 135, y, 6, plot_white, line);
    plot_text(plot->stream, x + 147, y + 4, PLOT_START, font, "other device");
    plot_rectangle(plot->stream, x - 6, y + 14, 12, 10, plot_light_grey,
                   (struct plot_style){.colour = plot_black, .size = 1});
    plot_text(plot->stream, x + 12, y + 23, PLOT_START, font, "switch");
    plot_line(plot->stream, x + 125, y + 19, x + 142, y + 19, (struct plot_style){plot_grey, 1, 0, false, true});
    char text[64];
    snprintf(text, sizeof(text), "idle link (%u of %u)", idle, plot->topology->num_links);
    plot_text(plot->stream, x + 147, y + 23, PLOT_START, font, text);
    plot_text(plot->stream, x - 6, y + 42, PLOT_START, font, "one line per direction, traffic keeps right");
}

void plot_load(const struct plot *plot, const struct plot_layout *layout, struct plot_area area)
{
    struct plot_area inner = {area.x, area.y + 26, area.width, area.height - 26 - LEGEND_HEIGHT};
    struct canvas canvas = place_canvas(plot, layout, inner);
    plot_text(plot->stream, area.x, area.y + 14, PLOT_START, (struct plot_style){plot_black, 15, 0, true, false},
              "Load on the topology");
    draw_links(&canvas);
    for (uint32_t v = 0; v < plot->topology->num_vertices; v++) {
        draw_vertex(&canvas, v);
    }
    draw_legend(plot, area);
}
