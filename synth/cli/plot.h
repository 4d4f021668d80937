/* Pictures of a schedule as SVG: load on the topology as a graph, time against links. All lengths are pixels. */
#ifndef PCCL_CLI_PLOT_H
#define PCCL_CLI_PLOT_H

#include "cli.h"
#include "pccl/bound.h"
#include "pccl/simulate.h"

struct plot {
    FILE *stream;
    const struct pccl_topology *topology;
    const struct pccl_schedule *schedule;
    struct pccl_simulation simulation; /* all arrays filled */
    struct pccl_bound bound;
    int64_t block_bytes; /* of the request; -1: unequal */
    bool *member;        /* [num_devices] device is in the group */
};

struct plot_area {
    double x, y, width, height;
};

/* --- plot_svg.c: shapes and text ------------------------------------------------------------------------- */

enum plot_anchor { PLOT_START, PLOT_MIDDLE, PLOT_END };

struct plot_colour {
    uint8_t red, green, blue;
};

struct plot_style {
    struct plot_colour colour;
    double size;    /* of a font, width of a line */
    double opacity; /* 0 means 1 */
    bool bold, dashed;
};

void plot_begin(FILE *stream, double width, double height, const char *title);
void plot_end(FILE *stream);
void plot_text(FILE *stream, double x, double y, enum plot_anchor anchor, struct plot_style style, const char *text);
/* Reads upwards. */
void plot_text_upright(FILE *stream, double x, double y, struct plot_style style, const char *text);
void plot_rectangle(FILE *stream, double x, double y, double width, double height, struct plot_colour fill,
                    struct plot_style border);
void plot_circle(FILE *stream, double x, double y, double radius, struct plot_colour fill, struct plot_style border);
void plot_line(FILE *stream, double x1, double y1, double x2, double y2, struct plot_style style);
/* A bow from one point to the other, pulled towards a third. */
void plot_bow(FILE *stream, const double from[2], const double pull[2], const double to[2], struct plot_style style);
/* A small arrow head at (x, y) that points along (dx, dy). */
void plot_arrow(FILE *stream, double x, double y, double dx, double dy, double size, struct plot_colour colour);
/* The hover text of everything until plot_group_end. */
void plot_group_begin(FILE *stream, const char *title);
void plot_group_end(FILE *stream);
/* `text` into at most `room` bytes, shortened with dots to `letters` characters. */
void plot_shorten(const char *text, uint32_t letters, char *buffer, size_t room);

/* --- plot_colour.c --------------------------------------------------------------------------------------- */

extern const struct plot_colour plot_black, plot_white, plot_grey, plot_light_grey, plot_blue;

/* A share from 0 (pale) to 1 (dark red). */
struct plot_colour plot_heat(double share);
/* Colour `index` of `count` that are told apart as well as can be. */
struct plot_colour plot_category(uint32_t index, uint32_t count);
/* The scale of plot_heat, 0 % to 100 %, with a caption. */
void plot_heat_legend(FILE *stream, double x, double y, double width, const char *caption);

/* --- plot_layout.c: places of vertices ------------------------------------------------------------------- */

enum plot_shape { PLOT_GRID, PLOT_CIRCLE, PLOT_TIERS };

struct plot_layout {
    enum plot_shape shape;
    double *x, *y;        /* [num_vertices] */
    double width, height; /* x is within 0 .. width, y within 0 .. height */
    double spacing;       /* smallest distance of two neighbours on the plane */
};

int plot_layout_create(const struct pccl_topology *topology, struct plot_layout *layout);
void plot_layout_free(struct plot_layout *layout);
/* How far the line between two vertices bows out, as a share of its length, so that it passes what lies between. */
double plot_layout_bow(const struct plot_layout *layout, const struct pccl_topology *topology, uint32_t a, uint32_t b);

/* --- the two panels -------------------------------------------------------------------------------------- */

void plot_load(const struct plot *plot, const struct plot_layout *layout, struct plot_area area);
/* Height that the panel wants. */
double plot_times_height(const struct plot *plot);
int plot_times(const struct plot *plot, struct plot_area area);

/* Share of the makespan in which a link is held. */
double plot_busy_share(const struct plot *plot, uint32_t link);

#endif
