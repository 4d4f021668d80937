/* Colours that differ in brightness too, so that they work in print and for most eyes. */
#include "plot.h"

#include <math.h>

const struct plot_colour plot_black = {33, 33, 33}, plot_white = {255, 255, 255}, plot_grey = {120, 120, 120},
                         plot_light_grey = {222, 222, 222}, plot_blue = {31, 78, 121};

static struct plot_colour blend(struct plot_colour a, struct plot_colour b, double share)
{
    return (struct plot_colour){(uint8_t)lround(a.red + (b.red - a.red) * share),
                                (uint8_t)lround(a.green + (b.green - a.green) * share),
                                (uint8_t)lround(a.blue + (b.blue - a.blue) * share)};
}

/* Colour at `share` of a row of `count` colours at equal distances. */
static struct plot_colour interpolate(const struct plot_colour *stops, uint32_t count, double share)
{
    double place = (share < 0 ? 0 : share > 1 ? 1 : share) * (count - 1);
    uint32_t left = place >= count - 1 ? count - 2 : (uint32_t)place;
    return blend(stops[left], stops[left + 1], place - left);
}

struct plot_colour plot_heat(double share)
{
    static const struct plot_colour stops[] = {
        {222, 220, 200}, {248, 206, 98}, {247, 150, 60}, {214, 52, 39}, {103, 0, 31}};
    return interpolate(stops, 5, share);
}

struct plot_colour plot_category(uint32_t index, uint32_t count)
{
    static const struct plot_colour few[] = {{53, 110, 175}, {237, 137, 54}, {72, 156, 88},   {200, 62, 60},
                                             {136, 97, 172}, {125, 85, 72},  {222, 131, 184}, {140, 140, 60},
                                             {64, 178, 190}, {90, 90, 90}};
    static const struct plot_colour many[] = {{48, 18, 59},   {70, 107, 227}, {40, 187, 236},
                                              {49, 242, 153}, {162, 252, 60}, {237, 208, 58},
                                              {251, 128, 34}, {210, 49, 5},   {122, 4, 3}};
    if (count <= 10) {
        return few[index % 10];
    }
    return interpolate(many, 9, (double)index / (double)(count - 1));
}

void plot_heat_legend(FILE *stream, double x, double y, double width, const char *caption)
{
    const struct plot_style font = {.colour = plot_black, .size = 11};
    for (uint32_t i = 0; i < 50; i++) {
        plot_rectangle(stream, x + width * i / 50, y, width / 50 + 0.5, 12, plot_heat((i + 0.5) / 50),
                       (struct plot_style){0});
    }
    for (uint32_t i = 0; i <= 4; i++) {
        char text[8];
        snprintf(text, sizeof(text), "%u %%", i * 25);
        plot_text(stream, x + width * i / 4, y + 25, PLOT_MIDDLE, font, text);
    }
    plot_text(stream, x + width / 2, y + 42, PLOT_MIDDLE, font, caption);
}
