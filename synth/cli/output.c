/* Output: files that appear whole or not at all, and JSON for programs. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"

static int report(const char *path, const char *what)
{
    cli_error("%s: %s: %s", path, what, strerror(errno));
    return CLI_SYSTEM;
}

struct format {
    const char *ending, *name;
};

/* Formats that programs of this field read or that pictures have; NULL: it has no such ending. */
static const struct format *find_format(const char *path)
{
    static const struct format formats[] = {
        {"svg", "SVG"},   {"json", "JSON"}, {"dot", "Graphviz"}, {"gv", "Graphviz"}, {"xml", "XML"},  {"csv", "CSV"},
        {"png", "PNG"},   {"jpg", "JPEG"},  {"jpeg", "JPEG"},    {"gif", "GIF"},     {"pdf", "PDF"},  {"eps", "EPS"},
        {"ps", "PostScript"}};
    const char *slash = strrchr(path, '/'), *dot = strrchr(slash ? slash : path, '.');
    for (size_t i = 0; dot && i < sizeof(formats) / sizeof(formats[0]); i++) {
        if (strcasecmp(dot + 1, formats[i].ending) == 0) {
            return &formats[i];
        }
    }
    return NULL;
}

int cli_output_check(const char *path, const char *ending, const char *hint)
{
    char written[16];
    snprintf(written, sizeof(written), ".%s", ending);
    const struct format *named = path ? find_format(path) : NULL, *format = find_format(written);
    if (!named || strcmp(named->name, format->name) == 0) {
        return CLI_OK;
    }
    cli_error("--output: '%s' names a file of %s, but what is written is %s; expected a name that ends in %s%s", path,
              named->name, format->name, written, hint);
    return CLI_USAGE;
}

/* A new file beside file->path, with the permissions that a plain open would give. */
static FILE *open_temporary(struct cli_file *file)
{
    size_t length = strlen(file->path) + sizeof(".XXXXXX");
    file->temporary = malloc(length);
    if (!file->temporary) {
        return NULL;
    }
    snprintf(file->temporary, length, "%s.XXXXXX", file->path);
    int descriptor = mkstemp(file->temporary);
    if (descriptor < 0) {
        free(file->temporary);
        file->temporary = NULL;
        return NULL;
    }
    mode_t mask = umask(0);
    umask(mask);
    FILE *stream = fchmod(descriptor, 0666 & ~mask) == 0 ? fdopen(descriptor, "w") : NULL;
    if (!stream) {
        close(descriptor);
        unlink(file->temporary);
    }
    return stream;
}

int cli_file_open(struct cli_file *file, const char *path)
{
    struct stat status;
    *file = (struct cli_file){.stream = stdout};
    if (!path || strcmp(path, "-") == 0) {
        return CLI_OK;
    }
    bool exists = stat(path, &status) == 0;
    file->path = exists ? realpath(path, NULL) : strdup(path); /* a symbolic link stays one */
    if (!file->path) {
        return report(path, "cannot write");
    }
    /* A device or pipe is written to; renaming would replace it. */
    file->stream = exists && !S_ISREG(status.st_mode) ? fopen(file->path, "w") : open_temporary(file);
    if (file->stream) {
        return CLI_OK;
    }
    int code = report(path, "cannot write");
    free(file->temporary);
    free(file->path);
    return code;
}

int cli_file_close(struct cli_file *file, int code)
{
    if (!file->path) {
        return code;
    }
    bool failed = fflush(file->stream) != 0 || ferror(file->stream);
    failed = fclose(file->stream) != 0 || failed;
    if (!failed && code == CLI_OK && file->temporary) {
        failed = rename(file->temporary, file->path) != 0;
    }
    if (failed && code == CLI_OK) {
        code = report(file->path, "cannot write");
    }
    if (code != CLI_OK && file->temporary) {
        unlink(file->temporary);
    }
    free(file->temporary);
    free(file->path);
    return code;
}

int cli_stdout_finish(int code)
{
    bool failed = ferror(stdout) != 0;
    failed = fclose(stdout) != 0 || failed;
    return failed ? report("standard output", "cannot write") : code;
}

void cli_json_quote(FILE *stream, const char *text)
{
    fputc('"', stream);
    for (; *text; text++) {
        unsigned char byte = (unsigned char)*text;
        if (byte == '"' || byte == '\\') {
            fprintf(stream, "\\%c", byte);
        } else if (byte < 0x20) {
            fprintf(stream, "\\u%04x", byte);
        } else {
            fputc(byte, stream);
        }
    }
    fputc('"', stream);
}

void cli_json_string(FILE *stream, const char *key, const char *value, bool first)
{
    fprintf(stream, "%s\"%s\": ", first ? "" : ", ", key);
    cli_json_quote(stream, value);
}

void cli_json_integer(FILE *stream, const char *key, int64_t value, bool first)
{
    fprintf(stream, "%s\"%s\": %lld", first ? "" : ", ", key, (long long)value);
}
