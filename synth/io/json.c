#define _XOPEN_SOURCE 700 /* mkstemp, fdopen, fchmod, realpath */

#include "io/json.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/quantity.h"

#define MAX_EXACT (INT64_C(1) << 53)  /* beyond it a double skips integers */
#define MAX_VALUES (INT64_C(1) << 24) /* cJSON needs 64 bytes and more for each */

/* --- reading ------------------------------------------------------------------------------------------------------- */

static int read_stream(FILE *stream, const char *path, char **text, size_t *length, struct pccl_error *error)
{
    size_t capacity = 1 << 16, used = 0;
    char *buffer = malloc(capacity);
    while (buffer != NULL) {
        used += fread(buffer + used, 1, capacity - used - 1, stream);
        if (ferror(stream)) {
            free(buffer);
            return pccl__fail(error, PCCL_ERR_IO, "%.200s: cannot read: %s", path, strerror(errno));
        }
        if (used < capacity - 1) {
            buffer[used] = '\0';
            *text = buffer;
            *length = used;
            return 0;
        }
        if (capacity >= PCCL__JSON_MAX_BYTES) {
            free(buffer);
            return pccl__fail(error, PCCL_ERR_FORMAT, "%.200s: larger than %" PRId64 " MiB", path, PCCL__JSON_MAX_BYTES >> 20);
        }
        capacity *= 2;
        char *grown = realloc(buffer, capacity);
        if (grown == NULL) {
            free(buffer);
        }
        buffer = grown;
    }
    return pccl__fail_memory(error);
}

static int read_file(const char *path, char **text, size_t *length, struct pccl_error *error)
{
    FILE *stream = fopen(path, "rb");
    if (stream == NULL) {
        return pccl__fail(error, PCCL_ERR_IO, "%.200s: cannot read: %s", path, strerror(errno));
    }
    int status = read_stream(stream, path, text, length, error);
    fclose(stream);
    return status;
}

/* Bounds what cJSON will allocate. Counts too much where a string holds the characters, which does no harm. */
static int64_t count_values(const char *text)
{
    int64_t count = 0;
    for (; *text != '\0'; text++) {
        count += *text == ',' || *text == '[' || *text == '{';
    }
    return count;
}

int pccl__json_read(const char *path, cJSON **root, struct pccl_error *error)
{
    char *text = NULL;
    size_t length = 0;
    int status = read_file(path, &text, &length, error);
    if (status != 0) {
        return status;
    }
    const char *end = NULL;
    *root = NULL;
    if (strlen(text) != length) {
        status = pccl__fail(error, PCCL_ERR_FORMAT, "%.200s: byte %zu is zero; expected text", path, strlen(text));
    } else if (count_values(text) > MAX_VALUES) {
        status = pccl__fail(error, PCCL_ERR_FORMAT, "%.200s: more than %" PRId64 " values", path, MAX_VALUES);
    } else if ((*root = cJSON_ParseWithOpts(text, &end, true)) == NULL) {
        int line = 1;
        for (const char *c = text; end != NULL && c < end; c++) {
            line += *c == '\n';
        }
        bool ended = end == NULL || *end == '\0';
        status = pccl__fail(error, PCCL_ERR_FORMAT, "%.200s:%d: not JSON: %s%.20s%s", path, line,
                            ended ? "the file ends too early" : "unexpected text at \"", ended ? "" : end, ended ? "" : "\"");
    }
    free(text);
    return status;
}

int pccl__json_fail(const struct pccl__json_place *place, const char *key, struct pccl_error *error, const char *format, ...)
{
    char text[320], where[160] = "";
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (place->member != NULL) {
        snprintf(where, sizeof where, "%.40s.%.80s%s", place->array, place->member, key != NULL ? "." : "");
    } else if (place->array != NULL) {
        snprintf(where, sizeof where, "%.40s[%" PRIu32 "]%s", place->array, place->index, key != NULL ? "." : "");
    }
    const char *separator = place->array != NULL || key != NULL ? ": " : "";
    return pccl__fail(error, PCCL_ERR_FORMAT, "%.120s: %s%.60s%s%s", place->path, where, key != NULL ? key : "", separator, text);
}

int pccl__json_object(const struct pccl__json_place *place, const cJSON *item, const char *const *keys, uint32_t num_keys,
                      struct pccl_error *error)
{
    if (!cJSON_IsObject(item)) {
        return pccl__json_fail(place, NULL, error, "expected an object { ... }");
    }
    uint64_t seen = 0;
    const cJSON *child;
    cJSON_ArrayForEach(child, item) {
        uint32_t k = 0;
        while (k < num_keys && strcmp(child->string, keys[k]) != 0) {
            k++;
        }
        if (k == num_keys) {
            char known[240] = "";
            for (uint32_t i = 0, used = 0; i < num_keys && used < sizeof known; i++) {
                used += (uint32_t)snprintf(known + used, sizeof known - used, "%s%s", i > 0 ? ", " : "", keys[i]);
            }
            return pccl__json_fail(place, NULL, error, "unknown key \"%.40s\"; expected one of %s", child->string, known);
        }
        if (seen >> k & 1) {
            return pccl__json_fail(place, keys[k], error, "given twice");
        }
        seen |= UINT64_C(1) << k;
    }
    return 0;
}

int pccl__json_element(const struct pccl__json_place *place, const cJSON *item, const char *key, int64_t minimum,
                       int64_t maximum, int64_t *value, struct pccl_error *error)
{
    int64_t number = 0;
    bool valid = false;
    char met[48] = "another type";
    if (cJSON_IsNumber(item)) {
        snprintf(met, sizeof met, "%.17g", item->valuedouble);
        valid = item->valuedouble >= (double)-MAX_EXACT && item->valuedouble <= (double)MAX_EXACT;
        number = valid ? (int64_t)item->valuedouble : 0;
        valid = valid && (double)number == item->valuedouble;
    } else if (cJSON_IsString(item)) {
        snprintf(met, sizeof met, "\"%.40s\"", item->valuestring);
        valid = pccl__quantity_integer(item->valuestring, key, 0, INT64_MAX, &number, NULL) == 0;
    }
    if (!valid || number < minimum || number > maximum) {
        return pccl__json_fail(place, key, error, "is %s; expected a whole number from %" PRId64 " to %" PRId64, met, minimum,
                               maximum);
    }
    *value = number;
    return 0;
}

int pccl__json_integer(const struct pccl__json_place *place, const cJSON *object, const char *key, int64_t minimum,
                       int64_t maximum, int64_t *value, struct pccl_error *error)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    return item != NULL ? pccl__json_element(place, item, key, minimum, maximum, value, error) : 0;
}

int pccl__json_text(const struct pccl__json_place *place, const cJSON *object, const char *key, const char **value,
                    struct pccl_error *error)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    if (item == NULL) {
        return 0;
    }
    if (!cJSON_IsString(item)) {
        return pccl__json_fail(place, key, error, "expected a string");
    }
    size_t length = strlen(item->valuestring);
    if (length == 0 || length > PCCL__JSON_MAX_NAME) {
        return pccl__json_fail(place, key, error, "is \"%.40s%s\"; expected 1 to %d bytes", item->valuestring,
                               length > 40 ? "..." : "", PCCL__JSON_MAX_NAME);
    }
    *value = item->valuestring;
    return 0;
}

int pccl__json_bool(const struct pccl__json_place *place, const cJSON *object, const char *key, bool *value,
                    struct pccl_error *error)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    if (item != NULL && !cJSON_IsBool(item)) {
        return pccl__json_fail(place, key, error, "expected true or false");
    }
    *value = item != NULL ? cJSON_IsTrue(item) : *value;
    return 0;
}

int pccl__json_array(const struct pccl__json_place *place, const cJSON *object, const char *key, const cJSON **value,
                     uint32_t *count, struct pccl_error *error)
{
    *value = cJSON_GetObjectItemCaseSensitive(object, key);
    *count = 0;
    if (*value != NULL && !cJSON_IsArray(*value)) {
        return pccl__json_fail(place, key, error, "expected an array [ ... ]");
    }
    *count = *value != NULL ? (uint32_t)cJSON_GetArraySize(*value) : 0;
    return 0;
}

/* --- writing ------------------------------------------------------------------------------------------------------- */

/* A new file beside file->target. */
static FILE *open_temporary(struct pccl__json_file *file)
{
    size_t bytes = strlen(file->target) + sizeof ".XXXXXX";
    file->temporary = malloc(bytes);
    if (file->temporary == NULL) {
        return NULL;
    }
    snprintf(file->temporary, bytes, "%s.XXXXXX", file->target);
    int descriptor = mkstemp(file->temporary);
    FILE *stream = NULL;
    if (descriptor >= 0) {
        (void)fchmod(descriptor, S_IRUSR | S_IWUSR | S_IRGRP | S_IROTH); /* mkstemp lets only the owner read */
        stream = fdopen(descriptor, "w");
    }
    if (stream == NULL && descriptor >= 0) {
        close(descriptor);
        unlink(file->temporary);
    }
    return stream;
}

int pccl__json_open(struct pccl__json_file *file, const char *path, struct pccl_error *error)
{
    struct stat found;
    bool exists = stat(path, &found) == 0;
    errno = 0;
    *file = (struct pccl__json_file){.target = exists ? realpath(path, NULL) : strdup(path)}; /* a symbolic link stays */
    if (file->target != NULL) {
        /* A device or a pipe is written to: renaming would put a file in its place. */
        file->stream = exists && !S_ISREG(found.st_mode) ? fopen(file->target, "w") : open_temporary(file);
    }
    if (file->stream == NULL) {
        int status = errno == ENOMEM
                         ? pccl__fail_memory(error)
                         : pccl__fail(error, PCCL_ERR_IO, "%.200s: cannot write: %s", path, strerror(errno));
        free(file->temporary);
        free(file->target);
        return status;
    }
    return 0;
}

int pccl__json_close(struct pccl__json_file *file, int status, struct pccl_error *error)
{
    bool failed = fflush(file->stream) != 0 || ferror(file->stream);
    if (failed && status == 0) {
        status = pccl__fail(error, PCCL_ERR_IO, "%.200s: cannot write: %s", file->target, strerror(errno));
    }
    failed = fclose(file->stream) != 0;
    if (status == 0 && !failed && file->temporary != NULL) {
        failed = rename(file->temporary, file->target) != 0;
    }
    if (status == 0 && failed) {
        status = pccl__fail(error, PCCL_ERR_IO, "%.200s: cannot write: %s", file->target, strerror(errno));
    }
    if (status != 0 && file->temporary != NULL) {
        unlink(file->temporary);
    }
    free(file->temporary);
    free(file->target);
    return status;
}

void pccl__json_put_text(FILE *stream, const char *text)
{
    putc('"', stream);
    for (; *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\') {
            fprintf(stream, "\\%c", c);
        } else if (c < 0x20) {
            fprintf(stream, "\\u%04x", c);
        } else {
            putc(c, stream);
        }
    }
    putc('"', stream);
}

void pccl__json_put_integer(FILE *stream, int64_t value)
{
    bool exact = value <= MAX_EXACT && value >= -MAX_EXACT;
    fprintf(stream, exact ? "%" PRId64 : "\"%" PRId64 "\"", value);
}
