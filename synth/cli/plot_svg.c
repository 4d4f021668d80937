/* SVG: the few shapes that the pictures need. */
#include <math.h>
#include <string.h>

#include "plot.h"

static void print_escaped(FILE *stream, const char *text)
{
    for (; *text; text++) {
        switch (*text) {
        case '&':
            fputs("&amp;", stream);
            break;
        case '<':
            fputs("&lt;", stream);
            break;
        case '>':
            fputs("&gt;", stream);
            break;
        default:
            fputc((unsigned char)*text < 0x20 ? '?' : *text, stream);
        }
    }
}

static void print_colour(FILE *stream, const char *attribute, struct plot_colour colour)
{
    fprintf(stream, " %s=\"#%02x%02x%02x\"", attribute, colour.red, colour.green, colour.blue);
}

static void print_stroke(FILE *stream, struct plot_style style)
{
    if (style.size <= 0) {
        return;
    }
    print_colour(stream, "stroke", style.colour);
    fprintf(stream, " stroke-width=\"%.2f\"", style.size);
    if (style.dashed) {
        fprintf(stream, " stroke-dasharray=\"5,4\"");
    }
    if (style.opacity > 0) {
        fprintf(stream, " stroke-opacity=\"%.2f\"", style.opacity);
    }
}

void plot_begin(FILE *stream, double width, double height, const char *title)
{
    fprintf(stream,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" "
            "height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\" font-family=\"DejaVu Sans, Verdana, Helvetica, Arial, "
            "sans-serif\">\n"
            "<title>",
            width, height, width, height);
    print_escaped(stream, title);
    fprintf(stream, "</title>\n<defs><pattern id=\"hatch\" width=\"5\" height=\"5\" patternUnits=\"userSpaceOnUse\" "
                    "patternTransform=\"rotate(45)\"><rect width=\"1.6\" height=\"5\" "
                    "fill=\"#ffffff\"/></pattern></defs>\n"
                    "<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n");
}

void plot_end(FILE *stream)
{
    fprintf(stream, "</svg>\n");
}

static void print_font(FILE *stream, struct plot_style style)
{
    print_colour(stream, "fill", style.colour);
    fprintf(stream, " font-size=\"%.1f\"%s>", style.size, style.bold ? " font-weight=\"bold\"" : "");
}

void plot_text(FILE *stream, double x, double y, enum plot_anchor anchor, struct plot_style style, const char *text)
{
    static const char *const anchors[] = {"", " text-anchor=\"middle\"", " text-anchor=\"end\""};
    fprintf(stream, "<text x=\"%.1f\" y=\"%.1f\"%s", x, y, anchors[anchor]);
    print_font(stream, style);
    print_escaped(stream, text);
    fprintf(stream, "</text>\n");
}

void plot_text_upright(FILE *stream, double x, double y, struct plot_style style, const char *text)
{
    fprintf(stream, "<text transform=\"translate(%.1f,%.1f) rotate(-90)\" text-anchor=\"middle\"", x, y);
    print_font(stream, style);
    print_escaped(stream, text);
    fprintf(stream, "</text>\n");
}

void plot_rectangle(FILE *stream, double x, double y, double width, double height, struct plot_colour fill,
                    struct plot_style border)
{
    fprintf(stream, "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\"", x, y, width, height);
    print_colour(stream, "fill", fill);
    if (border.size <= 0 && border.opacity > 0) {
        fprintf(stream, " fill-opacity=\"%.2f\"", border.opacity);
    }
    print_stroke(stream, border);
    fprintf(stream, "/>\n");
}

void plot_circle(FILE *stream, double x, double y, double radius, struct plot_colour fill, struct plot_style border)
{
    fprintf(stream, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\"", x, y, radius);
    print_colour(stream, "fill", fill);
    print_stroke(stream, border);
    fprintf(stream, "/>\n");
}

void plot_line(FILE *stream, double x1, double y1, double x2, double y2, struct plot_style style)
{
    fprintf(stream, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"", x1, y1, x2, y2);
    print_stroke(stream, style);
    fprintf(stream, "/>\n");
}

void plot_bow(FILE *stream, const double from[2], const double pull[2], const double to[2], struct plot_style style)
{
    fprintf(stream, "<path d=\"M%.1f %.1fQ%.1f %.1f %.1f %.1f\" fill=\"none\"", from[0], from[1], pull[0], pull[1],
            to[0], to[1]);
    print_stroke(stream, style);
    fprintf(stream, "/>\n");
}

void plot_arrow(FILE *stream, double x, double y, double dx, double dy, double size, struct plot_colour colour)
{
    double length = sqrt(dx * dx + dy * dy);
    if (length <= 0) {
        return;
    }
    double ux = dx / length * size, uy = dy / length * size;
    fprintf(stream, "<path d=\"M%.1f %.1fL%.1f %.1fL%.1f %.1fZ\"", x + ux, y + uy, x - ux * 0.6 - uy * 0.6,
            y - uy * 0.6 + ux * 0.6, x - ux * 0.6 + uy * 0.6, y - uy * 0.6 - ux * 0.6);
    print_colour(stream, "fill", colour);
    fprintf(stream, "/>\n");
}

void plot_group_begin(FILE *stream, const char *title)
{
    fprintf(stream, "<g><title>");
    print_escaped(stream, title);
    fprintf(stream, "</title>\n");
}

void plot_group_end(FILE *stream)
{
    fprintf(stream, "</g>\n");
}

void plot_shorten(const char *text, uint32_t letters, char *buffer, size_t room)
{
    uint32_t count = 0;
    size_t i = 0;
    for (; text[i]; i++) {
        bool starts = ((unsigned char)text[i] & 0xc0) != 0x80; /* of a UTF-8 character */
        if (i + 4 > room || (starts && count == letters)) {
            break;
        }
        count += starts;
        buffer[i] = text[i];
    }
    if (text[i]) {
        while (i > 0 && ((unsigned char)text[i] & 0xc0) == 0x80) {
            i--;
        }
        memcpy(buffer + i, "\xe2\x80\xa6", 3);
        i += 3;
    }
    buffer[i] = '\0';
}
