/* Time against links. Few links: every message is a bar. Many: a raster of how busy groups of links are. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plot.h"

#define MAX_BAR_ROWS 80
#define MAX_BARS 6000
#define MAX_BANDS 128
#define RASTER_COLUMNS 240
#define LABEL_WIDTH 128
#define SHARE_WIDTH 58
#define TOP 44     /* heading and the names of the marks */
#define BOTTOM 104 /* axis, its caption, legend */
#define LEGEND_CATEGORIES 10

struct chart {
    const struct plot *plot;
    struct plot_area field; /* inside the axes */
    double end_ps;          /* time at the right edge */
    uint32_t *row;          /* [num_links] row of each link, PCCL_NONE if idle */
    uint32_t *link_of_row;  /* [num_rows] */
    uint32_t num_rows;
    double row_height;
    double *busy; /* raster only: [bands * RASTER_COLUMNS] time held */
};

static uint32_t count_used(const struct plot *plot)
{
    bool *used = calloc((size_t)plot->topology->num_links + 1, sizeof(*used));
    uint32_t count = 0;
    if (!used) {
        return 0;
    }
    for (uint32_t m = 0; m < plot->schedule->num_messages; m++) {
        const struct pccl_path *path = &plot->schedule->paths[plot->schedule->messages[m].path];
        for (uint32_t i = 0; i < path->num_links; i++) {
            uint32_t link = plot->schedule->path_links[path->first_link + i];
            count += !used[link];
            used[link] = true;
        }
    }
    free(used);
    return count;
}

static uint64_t count_bars(const struct plot *plot)
{
    uint64_t count = 0;
    for (uint32_t m = 0; m < plot->schedule->num_messages; m++) {
        count += plot->schedule->paths[plot->schedule->messages[m].path].num_links;
    }
    return count;
}

static bool wants_bars(const struct plot *plot, uint32_t num_rows)
{
    return num_rows <= MAX_BAR_ROWS && count_bars(plot) <= MAX_BARS;
}

static double row_height(uint32_t num_rows)
{
    return fmin(fmax(560.0 / (num_rows ? num_rows : 1), 9), 26);
}

double plot_times_height(const struct plot *plot)
{
    uint32_t rows = count_used(plot);
    return TOP + BOTTOM + (wants_bars(plot, rows) ? rows * row_height(rows) : 560);
}

/* Rows in order of (source, target, link); only links that carry something. */
static int order_rows(struct chart *chart)
{
    const struct pccl_topology *topology = chart->plot->topology;
    chart->row = malloc((size_t)topology->num_links * sizeof(*chart->row) + 1);
    chart->link_of_row = malloc((size_t)topology->num_links * sizeof(*chart->link_of_row) + 1);
    if (!chart->row || !chart->link_of_row) {
        return PCCL_ERR_MEMORY;
    }
    memset(chart->row, 0, (size_t)topology->num_links * sizeof(*chart->row));
    for (uint32_t m = 0; m < chart->plot->schedule->num_messages; m++) {
        const struct pccl_path *path = &chart->plot->schedule->paths[chart->plot->schedule->messages[m].path];
        for (uint32_t i = 0; i < path->num_links; i++) {
            chart->row[chart->plot->schedule->path_links[path->first_link + i]] = 1;
        }
    }
    for (uint32_t v = 0; v < topology->num_vertices; v++) {
        for (uint32_t i = topology->first_out[v]; i < topology->first_out[v + 1]; i++) {
            uint32_t link = topology->out_links[i];
            if (chart->row[link]) {
                chart->link_of_row[chart->num_rows++] = link;
            }
        }
    }
    for (uint32_t l = 0; l < topology->num_links; l++) {
        chart->row[l] = PCCL_NONE;
    }
    for (uint32_t r = 0; r < chart->num_rows; r++) {
        chart->row[chart->link_of_row[r]] = r;
    }
    return PCCL_SUCCESS;
}

static double time_x(const struct chart *chart, double time_ps)
{
    return chart->field.x + chart->field.width * time_ps / chart->end_ps;
}

/* --- axis ------------------------------------------------------------------------------------------------ */

/* 1, 2 or 5 times a power of ten: the largest that gives at least five steps. */
static double choose_step(double range)
{
    double power = pow(10, floor(log10(range / 5)));
    double ratio = range / 5 / power;
    return power * (ratio >= 5 ? 5 : ratio >= 2 ? 2 : 1);
}

static void draw_axis(const struct chart *chart)
{
    static const struct {
        const char *name;
        double factor;
    } units[] = {{"s", 1e12}, {"ms", 1e9}, {"us", 1e6}, {"ns", 1e3}, {"ps", 1}};
    FILE *stream = chart->plot->stream;
    const struct plot_style font = {.colour = plot_black, .size = 11};
    double bottom = chart->field.y + chart->field.height;
    uint32_t unit = 0;
    while (unit < 4 && chart->end_ps < units[unit].factor) {
        unit++;
    }
    double range = chart->end_ps / units[unit].factor, step = choose_step(range);
    for (double value = 0; value <= range * 1.0001; value += step) {
        double x = time_x(chart, value * units[unit].factor);
        char text[32];
        snprintf(text, sizeof(text), "%.6g", fabs(value) < step / 1e6 ? 0 : value);
        plot_line(stream, x, chart->field.y, x, bottom, (struct plot_style){.colour = plot_light_grey, .size = 0.6});
        plot_line(stream, x, bottom, x, bottom + 5, (struct plot_style){.colour = plot_black, .size = 1});
        plot_text(stream, x, bottom + 18, PLOT_MIDDLE, font, text);
    }
    char caption[32];
    snprintf(caption, sizeof(caption), "time (%s)", units[unit].name);
    plot_text(stream, chart->field.x + chart->field.width / 2, bottom + 36, PLOT_MIDDLE,
              (struct plot_style){.colour = plot_black, .size = 12}, caption);
}

static void draw_mark(const struct chart *chart, int64_t time_ps, const char *name, double y, bool dashed,
                      enum plot_anchor anchor)
{
    char text[80];
    double x = time_x(chart, (double)time_ps);
    struct plot_style style = {.colour = plot_black, .size = 1.2, .dashed = dashed};
    const struct plot_style halo = {.colour = plot_white, .size = 3, .opacity = 0.7}; /* stands out from dark rasters */
    plot_line(chart->plot->stream, x, chart->field.y, x, chart->field.y + chart->field.height, halo);
    plot_line(chart->plot->stream, x, chart->field.y - 3, x, chart->field.y + chart->field.height, style);
    snprintf(text, sizeof(text), "%s %s", name, cli_time_text(time_ps).text);
    plot_text(chart->plot->stream, anchor == PLOT_END ? x + 3 : x, y, anchor,
              (struct plot_style){.colour = plot_black, .size = 11, .bold = !dashed}, text);
}

static void draw_marks(const struct chart *chart)
{
    if (chart->plot->bound.bound_ps > 0) {
        draw_mark(chart, chart->plot->bound.bound_ps, "lower bound", chart->field.y - 17, true, PLOT_END);
    }
    draw_mark(chart, chart->plot->simulation.makespan_ps, "finish", chart->field.y - 4, false, PLOT_END);
}

/* --- bars ------------------------------------------------------------------------------------------------ */

/* What colours tell: whose data (or for whom) a chunk is, or which piece of the one block. */
static uint32_t chunk_category(const struct pccl_demand *demand, uint32_t chunk, uint32_t *count, const char **meaning)
{
    switch (demand->collective) {
    case PCCL_ALLGATHER:
    case PCCL_GATHER:
    case PCCL_BARRIER:
        *count = demand->num_ranks;
        *meaning = "colour: rank that the data comes from";
        return demand->collective == PCCL_BARRIER ? chunk : chunk / demand->pieces;
    case PCCL_ALLTOALL:
        *count = demand->num_ranks;
        *meaning = "colour: rank that the data comes from";
        return chunk / demand->pieces / demand->num_ranks;
    case PCCL_SCATTER:
    case PCCL_REDUCE_SCATTER:
        *count = demand->num_ranks;
        *meaning = "colour: rank that the data goes to";
        return chunk / demand->pieces;
    default:
        *count = demand->num_chunks;
        *meaning = demand->collective == PCCL_CUSTOM ? "colour: chunk" : "colour: piece of the buffer";
        return chunk;
    }
}

/* Colour of a message; grey if it carries several categories. */
static struct plot_colour message_colour(const struct pccl_schedule *schedule, const struct pccl_message *message)
{
    uint32_t count, categories;
    const char *meaning;
    const uint32_t *chunks = pccl_message_chunks(schedule, message, &count);
    if (count == 0) {
        return plot_grey;
    }
    uint32_t first = chunk_category(schedule->demand, chunks[0], &categories, &meaning);
    for (uint32_t i = 1; i < count; i++) {
        if (chunk_category(schedule->demand, chunks[i], &categories, &meaning) != first) {
            return plot_grey;
        }
    }
    return plot_category(first, categories);
}

static void begin_message_group(const struct chart *chart, uint32_t index)
{
    const struct pccl_schedule *schedule = chart->plot->schedule;
    const struct pccl_message *message = &schedule->messages[index];
    const struct pccl_path *path = &schedule->paths[message->path];
    uint32_t count;
    char title[320];
    pccl_message_chunks(schedule, message, &count);
    snprintf(title, sizeof(title), "message %u, step %u: %.50s to %.50s, %u chunk%s, %s, %s to %s%s", index,
             message->step, chart->plot->topology->vertices[path->source].name,
             chart->plot->topology->vertices[path->target].name, count, count == 1 ? "" : "s",
             cli_bytes_text(cli_message_bytes(schedule, message)).text,
             cli_time_text(chart->plot->simulation.start_ps[index]).text,
             cli_time_text(chart->plot->simulation.finish_ps[index]).text, message->reduce ? ", combined" : "");
    plot_group_begin(chart->plot->stream, title);
}

static void draw_bars(const struct chart *chart)
{
    const struct plot *plot = chart->plot;
    double height = chart->row_height * 0.78;
    for (uint32_t m = 0; m < plot->schedule->num_messages; m++) {
        const struct pccl_message *message = &plot->schedule->messages[m];
        const struct pccl_path *path = &plot->schedule->paths[message->path];
        int64_t bytes = cli_message_bytes(plot->schedule, message), start_ps = plot->simulation.start_ps[m];
        struct plot_colour colour = message_colour(plot->schedule, message);
        begin_message_group(chart, m);
        for (uint32_t i = 0; i < path->num_links; i++) {
            uint32_t number = plot->schedule->path_links[path->first_link + i];
            const struct pccl_link *link = &plot->topology->links[number];
            int64_t held_ps = pccl_transfer_ps(bytes, link->ps_per_mib);
            double x = time_x(chart, (double)start_ps);
            double y = chart->field.y + chart->row_height * chart->row[number] + (chart->row_height - height) / 2;
            double width = chart->field.width * (double)held_ps / chart->end_ps;
            double flight = chart->field.width * (double)link->latency_ps / chart->end_ps;
            if (flight > 0.3) {
                plot_rectangle(plot->stream, x + width, y + height * 0.3, flight, height * 0.4, colour,
                               (struct plot_style){.opacity = 0.3});
            }
            plot_rectangle(plot->stream, x, y, fmax(width, 1.2), height, colour,
                           (struct plot_style){.colour = plot_white, .size = width > 3 ? 0.6 : 0});
            if (message->reduce) {
                fprintf(plot->stream,
                        "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" fill=\"url(#hatch)\"/>\n", x, y,
                        fmax(width, 1.2), height);
            }
            start_ps += link->latency_ps;
        }
        plot_group_end(plot->stream);
    }
}

static void draw_row_labels(const struct chart *chart)
{
    const struct plot *plot = chart->plot;
    double size = fmin(chart->row_height * 0.8, 11);
    for (uint32_t r = 0; r < chart->num_rows; r++) {
        const struct pccl_link *link = &plot->topology->links[chart->link_of_row[r]];
        double y = chart->field.y + chart->row_height * r, middle = y + chart->row_height / 2 + size * 0.36;
        char source[64], target[64], text[160];
        plot_shorten(plot->topology->vertices[link->source].name, 9, source, sizeof(source));
        plot_shorten(plot->topology->vertices[link->target].name, 9, target, sizeof(target));
        snprintf(text, sizeof(text), "%s \xe2\x86\x92 %s", source, target);
        bool starts = r == 0 || plot->topology->links[chart->link_of_row[r - 1]].source != link->source;
        if (starts) {
            plot_line(plot->stream, chart->field.x - LABEL_WIDTH + 24, y, chart->field.x + chart->field.width, y,
                      (struct plot_style){.colour = plot_light_grey, .size = 1});
        }
        plot_text(plot->stream, chart->field.x - 6, middle, PLOT_END,
                  (struct plot_style){.colour = plot_black, .size = size}, text);
        snprintf(text, sizeof(text), "%.0f %%", 100 * plot_busy_share(plot, chart->link_of_row[r]));
        plot_text(plot->stream, chart->field.x + chart->field.width + SHARE_WIDTH - 8, middle, PLOT_END,
                  (struct plot_style){.colour = plot_grey, .size = size}, text);
    }
}

static void draw_categories(const struct chart *chart, double y)
{
    const struct pccl_demand *demand = chart->plot->schedule->demand;
    const struct plot_style font = {.colour = plot_black, .size = 11};
    FILE *stream = chart->plot->stream;
    uint32_t count = 0;
    const char *meaning = "";
    double x = chart->field.x;
    chunk_category(demand, 0, &count, &meaning);
    uint32_t boxes = count <= LEGEND_CATEGORIES ? count : 40;
    double width = count <= LEGEND_CATEGORIES ? 22 : 5.5;
    for (uint32_t i = 0; i < boxes; i++) {
        char text[16];
        plot_rectangle(stream, x + i * width, y, count <= LEGEND_CATEGORIES ? width - 4 : width + 0.4, 11,
                       plot_category(count <= LEGEND_CATEGORIES ? i : i * (count - 1) / (boxes - 1), count),
                       (struct plot_style){0});
        snprintf(text, sizeof(text), "%u", count <= LEGEND_CATEGORIES ? i : i ? count - 1 : 0);
        if (count <= LEGEND_CATEGORIES || i == 0 || i == boxes - 1) {
            plot_text(stream, x + i * width + width / 2 - 2, y + 23, PLOT_MIDDLE, font, text);
        }
    }
    plot_text(stream, x + boxes * width + 10, y + 10, PLOT_START, font, meaning);
}

static void draw_bar_legend(const struct chart *chart)
{
    const struct pccl_schedule *schedule = chart->plot->schedule;
    const struct plot_style font = {.colour = plot_black, .size = 11};
    FILE *stream = chart->plot->stream;
    bool mixed = false, reduces = false;
    double x = chart->field.x, y = chart->field.y + chart->field.height + 50;
    for (uint32_t m = 0; m < schedule->num_messages; m++) {
        struct plot_colour colour = message_colour(schedule, &schedule->messages[m]);
        mixed = mixed || memcmp(&colour, &plot_grey, sizeof(colour)) == 0;
        reduces = reduces || schedule->messages[m].reduce;
    }
    draw_categories(chart, y);
    y += 34;
    plot_rectangle(stream, x, y + 3.5, 18, 4, plot_grey, (struct plot_style){.opacity = 0.4});
    plot_text(stream, x + 24, y + 10, PLOT_START, font, "pale: on its way (latency)");
    x += 195;
    if (mixed) {
        plot_rectangle(stream, x, y, 18, 11, plot_grey, (struct plot_style){0});
        plot_text(stream, x + 24, y + 10, PLOT_START, font, "grey: of several");
        x += 135;
    }
    if (reduces) {
        plot_rectangle(stream, x, y, 18, 11, plot_category(0, 10), (struct plot_style){0});
        fprintf(stream, "<rect x=\"%.1f\" y=\"%.1f\" width=\"18\" height=\"11\" fill=\"url(#hatch)\"/>\n", x, y);
        plot_text(stream, x + 24, y + 10, PLOT_START, font, "striped: combined at arrival");
    }
}

/* --- raster ---------------------------------------------------------------------------------------------- */

static uint32_t count_bands(const struct chart *chart)
{
    return chart->num_rows < MAX_BANDS ? chart->num_rows : MAX_BANDS;
}

static uint32_t band_of_row(const struct chart *chart, uint32_t row)
{
    return (uint32_t)((uint64_t)row * count_bands(chart) / chart->num_rows);
}

/* Adds the interval to the columns it covers. */
static void add_interval(const struct chart *chart, double *band, double begin_ps, double end_ps)
{
    double column_ps = chart->end_ps / RASTER_COLUMNS;
    for (uint32_t c = (uint32_t)fmin(begin_ps / column_ps, RASTER_COLUMNS - 1); c < RASTER_COLUMNS; c++) {
        double left = fmax(begin_ps, c * column_ps), right = fmin(end_ps, (c + 1) * column_ps);
        if (left >= right) {
            break;
        }
        band[c] += right - left;
    }
}

static void fill_raster(const struct chart *chart)
{
    const struct plot *plot = chart->plot;
    for (uint32_t m = 0; m < plot->schedule->num_messages; m++) {
        const struct pccl_message *message = &plot->schedule->messages[m];
        const struct pccl_path *path = &plot->schedule->paths[message->path];
        int64_t bytes = cli_message_bytes(plot->schedule, message), start_ps = plot->simulation.start_ps[m];
        for (uint32_t i = 0; i < path->num_links; i++) {
            uint32_t number = plot->schedule->path_links[path->first_link + i];
            const struct pccl_link *link = &plot->topology->links[number];
            double *band = chart->busy + (size_t)band_of_row(chart, chart->row[number]) * RASTER_COLUMNS;
            add_interval(chart, band, (double)start_ps, (double)(start_ps + pccl_transfer_ps(bytes, link->ps_per_mib)));
            start_ps += link->latency_ps;
        }
    }
}

static void draw_band(const struct chart *chart, uint32_t band, uint32_t links, double y, double height)
{
    double column_ps = chart->end_ps / RASTER_COLUMNS, width = chart->field.width / RASTER_COLUMNS;
    const double *busy = chart->busy + (size_t)band * RASTER_COLUMNS;
    for (uint32_t c = 0; c < RASTER_COLUMNS;) {
        uint32_t level = (uint32_t)lround(fmin(busy[c] / column_ps / links, 1) * 50), run = c + 1;
        while (run < RASTER_COLUMNS && (uint32_t)lround(fmin(busy[run] / column_ps / links, 1) * 50) == level) {
            run++;
        }
        if (level > 0) {
            plot_rectangle(chart->plot->stream, chart->field.x + c * width, y, (run - c) * width + 0.3, height + 0.3,
                           plot_heat(level / 50.0), (struct plot_style){0});
        }
        c = run;
    }
}

/* Names the first link of every eighth of the rows. */
static void draw_band_labels(const struct chart *chart)
{
    const struct pccl_topology *topology = chart->plot->topology;
    uint32_t before = PCCL_NONE;
    for (uint32_t i = 0; i < 16; i++) {
        uint32_t row = (uint32_t)((uint64_t)i * chart->num_rows / 16);
        const struct pccl_link *link = &topology->links[chart->link_of_row[row]];
        char source[64], text[96];
        if (link->source == before) {
            continue;
        }
        before = link->source;
        plot_shorten(topology->vertices[link->source].name, 10, source, sizeof(source));
        snprintf(text, sizeof(text), "%s \xe2\x86\x92", source);
        plot_text(chart->plot->stream, chart->field.x - 6,
                  chart->field.y + chart->field.height * row / chart->num_rows + 9, PLOT_END,
                  (struct plot_style){.colour = plot_black, .size = 11}, text);
    }
}

static int draw_raster(struct chart *chart)
{
    uint32_t num_bands = count_bands(chart);
    chart->busy = calloc((size_t)num_bands * RASTER_COLUMNS + 1, sizeof(*chart->busy));
    if (!chart->busy) {
        return PCCL_ERR_MEMORY;
    }
    fill_raster(chart);
    double height = chart->field.height / (num_bands ? num_bands : 1);
    fprintf(chart->plot->stream, "<g shape-rendering=\"crispEdges\">\n"); /* no seams between rows */
    plot_rectangle(chart->plot->stream, chart->field.x, chart->field.y, chart->field.width, chart->field.height,
                   plot_heat(0), (struct plot_style){0});
    for (uint32_t band = 0, row = 0; band < num_bands; band++) {
        uint32_t links = 0;
        for (; row < chart->num_rows && band_of_row(chart, row) == band; row++) {
            links++;
        }
        draw_band(chart, band, links, chart->field.y + band * height, height);
    }
    plot_group_end(chart->plot->stream);
    if (chart->num_rows) {
        draw_band_labels(chart);
    }
    char caption[120];
    snprintf(caption, sizeof(caption), "share of the time in which a link is held (%u links in %u rows)",
             chart->num_rows, num_bands);
    plot_heat_legend(chart->plot->stream, chart->field.x + chart->field.width / 2 - 150,
                     chart->field.y + chart->field.height + 50, 300, caption);
    return PCCL_SUCCESS;
}

int plot_times(const struct plot *plot, struct plot_area area)
{
    struct chart chart = {.plot = plot};
    int status = order_rows(&chart);
    if (!status) {
        bool bars = wants_bars(plot, chart.num_rows);
        int64_t last_ps =
            plot->simulation.makespan_ps > plot->bound.bound_ps ? plot->simulation.makespan_ps : plot->bound.bound_ps;
        chart.field = (struct plot_area){area.x + LABEL_WIDTH, area.y + TOP, area.width - LABEL_WIDTH - SHARE_WIDTH,
                                         area.height - TOP - BOTTOM};
        chart.end_ps = fmax((double)last_ps, 1);
        chart.row_height = chart.num_rows ? chart.field.height / chart.num_rows : chart.field.height;
        plot_text(plot->stream, area.x, area.y + 14, PLOT_START, (struct plot_style){plot_black, 15, 0, true, false},
                  "Time against links");
        plot_text_upright(plot->stream, area.x + 10, chart.field.y + chart.field.height / 2,
                          (struct plot_style){.colour = plot_black, .size = 12}, "link");
        draw_axis(&chart);
        if (bars) {
            plot_text(plot->stream, area.x + area.width - 8, chart.field.y - 4, PLOT_END,
                      (struct plot_style){.colour = plot_grey, .size = 11}, "held");
            draw_row_labels(&chart);
            draw_bars(&chart);
            draw_bar_legend(&chart);
        } else {
            status = draw_raster(&chart);
        }
        draw_marks(&chart);
    }
    free(chart.busy);
    free(chart.link_of_row);
    free(chart.row);
    return status;
}
