/* pccl plot: pictures of a schedule. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plot.h"
#include "pccl/verify.h"

#define MAX_DRAWN_LINKS 40000 /* more make a picture that no viewer opens */
#define MARGIN 24
#define HEADER 68
#define WIDTH 1320
#define LOAD_SIDE 560 /* width of the load panel beside the other */

static const struct cli_option options[] = {
    {"output", 'o', "FILE", "SVG file to write (default: the standard output)"},
    {"only", 0, "PANEL", "load or time: one of the two panels (default: both)"},
    {"topology", 't', "TOPOLOGY", "topology of the schedule, where its file names none that can be found"},
    {NULL, 0, NULL, NULL},
};

struct page {
    bool load, time;
    struct plot_area load_area, time_area;
    double width, height;
};

static void arrange(struct page *page, const struct plot *plot, const struct plot_layout *layout)
{
    double aspect = layout->width / fmax(layout->height, layout->width / 6 + 1e-9);
    bool beside = page->load && page->time && aspect < 1.7;
    double time_height = page->time ? plot_times_height(plot) : 0;
    double load_width = beside ? LOAD_SIDE : WIDTH - 2 * MARGIN;
    double load_height = page->load ? fmin(load_width / aspect, beside ? time_height - 60 : 620) + 170 : 0;
    load_height = beside ? fmax(load_height, fmin(time_height, 520)) : load_height;
    page->load_area = (struct plot_area){MARGIN, HEADER, load_width, load_height};
    page->time_area =
        (struct plot_area){MARGIN, HEADER + load_height + (page->load ? MARGIN : 0), WIDTH - 2 * MARGIN, time_height};
    if (beside) {
        page->time_area =
            (struct plot_area){2 * MARGIN + LOAD_SIDE, HEADER, WIDTH - LOAD_SIDE - 3 * MARGIN, time_height};
    }
    page->width = WIDTH;
    page->height =
        MARGIN + fmax(page->load ? HEADER + load_height : 0, page->time ? page->time_area.y + time_height : 0);
}

/* "Allgather of 1 MiB on torus:4x4, 16 ranks", "Pattern of 64 blocks on torus:8x8, 64 ranks". */
static void print_title(const struct plot *plot, char *text, size_t room)
{
    const struct pccl_demand *demand = plot->schedule->demand;
    char name[100], size[60] = "";
    plot_shorten(plot->topology->name, 60, name, sizeof(name));
    bool custom = demand->collective == PCCL_CUSTOM;
    if (custom) {
        snprintf(size, sizeof(size), " of %u blocks", demand->num_chunks / demand->pieces);
    } else if (demand->collective != PCCL_BARRIER) {
        snprintf(size, sizeof(size), " of %s",
                 plot->block_bytes < 0 ? "unequal blocks" : cli_bytes_text(plot->block_bytes).text);
    }
    snprintf(text, room, "%s%s on %s, %u ranks", custom ? "pattern" : pccl_collective_name(demand->collective), size,
             name, demand->num_ranks);
    text[0] = (char)(text[0] >= 'a' && text[0] <= 'z' ? text[0] - 'a' + 'A' : text[0]);
}

static void draw_header(const struct plot *plot, const char *title)
{
    char text[400];
    plot_text(plot->stream, MARGIN, 32, PLOT_START, (struct plot_style){plot_black, 20, 0, true, false}, title);
    snprintf(text, sizeof(text),
             "Finishes in %s (simulated). No schedule can finish before %s, so it is %s times the optimum at "
             "most. Method: %s.",
             cli_time_text(plot->simulation.makespan_ps).text, cli_time_text(plot->bound.bound_ps).text,
             cli_gap_text(plot->simulation.makespan_ps, plot->bound.bound_ps).text, plot->schedule->method);
    plot_text(plot->stream, MARGIN, 53, PLOT_START, (struct plot_style){.colour = plot_black, .size = 13}, text);
}

static int draw(struct plot *plot, struct page *page)
{
    struct plot_layout layout;
    char title[250];
    int status = plot_layout_create(plot->topology, &layout);
    if (status) {
        return status;
    }
    arrange(page, plot, &layout);
    print_title(plot, title, sizeof(title));
    plot_begin(plot->stream, page->width, page->height, title);
    draw_header(plot, title);
    if (page->load) {
        plot_load(plot, &layout, page->load_area);
    }
    if (page->time) {
        status = plot_times(plot, page->time_area);
    }
    plot_end(plot->stream);
    plot_layout_free(&layout);
    return status;
}

/* Everything that the panels show. */
static int prepare(struct plot *plot, struct pccl_error *error)
{
    const struct pccl_schedule *schedule = plot->schedule;
    struct cli_request recovered = {.block_bytes = NULL};
    plot->simulation.start_ps = calloc((size_t)schedule->num_messages + 1, sizeof(int64_t));
    plot->simulation.finish_ps = calloc((size_t)schedule->num_messages + 1, sizeof(int64_t));
    plot->simulation.link_bytes = calloc((size_t)plot->topology->num_links + 1, sizeof(int64_t));
    plot->member = calloc(plot->topology->num_devices, sizeof(*plot->member));
    if (!plot->simulation.start_ps || !plot->simulation.finish_ps || !plot->simulation.link_bytes || !plot->member) {
        return PCCL_ERR_MEMORY;
    }
    for (uint32_t rank = 0; rank < schedule->demand->num_ranks; rank++) {
        plot->member[schedule->demand->devices[rank]] = true;
    }
    int status = pccl_verify_schedule(plot->topology, schedule, true, error);
    if (!status) {
        status = pccl_simulate(plot->topology, schedule, &plot->simulation, error);
    }
    if (!status) {
        status = cli_request_recover(plot->topology, schedule, &recovered);
    }
    if (!status) {
        status = pccl_bound_compute(plot->topology, &recovered.request, &plot->bound, error);
    }
    bool unequal = recovered.request.block_bytes || recovered.request.collective == PCCL_CUSTOM;
    plot->block_bytes = unequal ? -1 : recovered.request.bytes;
    cli_request_free(&recovered);
    return status;
}

static int write_plot(const struct cli_arguments *arguments, struct plot *plot, struct page *page)
{
    struct pccl_error error = {""};
    struct cli_file file;
    int status = prepare(plot, &error);
    if (status) {
        return cli_fail(status, &error, arguments->operand);
    }
    int code = cli_file_open(&file, cli_value(arguments, "output"));
    if (code) {
        return code;
    }
    plot->stream = file.stream;
    status = draw(plot, page);
    return cli_file_close(&file, status ? cli_fail(status, NULL, NULL) : CLI_OK);
}

static int run(const struct cli_arguments *arguments)
{
    const char *only = cli_value(arguments, "only");
    struct page page = {.load = !only || strcmp(only, "load") == 0, .time = !only || strcmp(only, "time") == 0};
    struct pccl_topology *topology;
    struct pccl_schedule *schedule;
    if (!page.load && !page.time) {
        cli_error("--only: '%s' is unknown; expected load or time", only);
        return CLI_USAGE;
    }
    int code = cli_output_check(cli_value(arguments, "output"), "svg", "");
    if (code == CLI_OK) {
        code = cli_schedule_load(arguments, "topology", &topology, &schedule);
    }
    if (code) {
        return code;
    }
    struct plot plot = {.topology = topology, .schedule = schedule};
    if (topology->num_links > MAX_DRAWN_LINKS && page.load) {
        cli_error("%s: its topology has %u links; at most %u can be drawn (--only=time draws what happens when)",
                  arguments->operand, topology->num_links, MAX_DRAWN_LINKS);
        code = CLI_FAILED;
    } else {
        code = write_plot(arguments, &plot, &page);
    }
    free(plot.member);
    free(plot.simulation.link_bytes);
    free(plot.simulation.finish_ps);
    free(plot.simulation.start_ps);
    pccl_schedule_free(schedule);
    pccl_topology_free(topology);
    return code;
}

const struct cli_command cli_command_plot = {
    .name = "plot",
    .summary = "draw a schedule: load on the topology, time against links",
    .operands = "FILE",
    .num_operands = 1,
    .options = options,
    .details = "The picture has two panels. Left or above: the network, each direction of each\n"
               "link coloured by the share of the time in which it is held. Right or below:\n"
               "which link is held when. In a browser, pointing at a bar or a link tells the\n"
               "details.\n"
               "Example:\n"
               "  pccl plot gather.json -o gather.svg\n",
    .run = run,
};
