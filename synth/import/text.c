#define _XOPEN_SOURCE 700 /* strdup */

#include "import/text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/digest.h"
#include "base/error.h"

#define MOST_NOTES 20

static int read_all(FILE *stream, struct pccl__text *text, size_t *length, struct pccl_error *error)
{
    size_t capacity = 1 << 16;
    for (*length = 0;; capacity *= 2) {
        char *grown = realloc(text->text, capacity);
        if (grown == NULL) {
            return pccl__fail_memory(error);
        }
        text->text = grown;
        *length += fread(grown + *length, 1, capacity - *length - 1, stream);
        if (ferror(stream)) {
            return pccl__fail(error, PCCL_ERR_IO, "%.200s: cannot read: %s", text->path, strerror(errno));
        }
        if (*length < capacity - 1) {
            grown[*length] = '\0';
            return 0;
        }
        if (capacity >= PCCL__IMPORT_MAX_BYTES) {
            return pccl__text_fail(text, 0, error, "larger than %" PRId64 " MiB", PCCL__IMPORT_MAX_BYTES >> 20);
        }
    }
}

int pccl__text_open(struct pccl__text *text, const char *path, const struct pccl_import_options *options,
                    struct pccl_error *error)
{
    *text = (struct pccl__text){.path = path, .options = options};
    FILE *stream = fopen(path, "rb");
    if (stream == NULL) {
        return pccl__fail(error, PCCL_ERR_IO, "%.200s: cannot read: %s", path, strerror(errno));
    }
    size_t length;
    int status = read_all(stream, text, &length, error);
    fclose(stream);
    if (status == 0 && strlen(text->text) != length) {
        status = pccl__text_fail(text, 0, error, "byte %zu is zero; expected text", strlen(text->text));
    }
    text->next = text->text;
    return status;
}

void pccl__text_close(struct pccl__text *text)
{
    if (text->num_notes > MOST_NOTES && text->options != NULL && text->options->note != NULL) {
        char line[64];
        snprintf(line, sizeof line, "and %" PRIu32 " more such notes", text->num_notes - MOST_NOTES);
        text->options->note(text->options->context, line);
    }
    free(text->text);
    text->text = NULL;
}

/* Ends the line at its end and moves on. */
static char *cut_line(struct pccl__text *text)
{
    char *line = text->next;
    if (*line == '\0') {
        return NULL;
    }
    size_t length = strcspn(line, "\n");
    text->breaks_off = line[length] == '\0';
    text->next = text->breaks_off ? line + length : line + length + 1;
    text->num_lines++;
    line[length] = '\0';
    if (length > 0 && line[length - 1] == '\r') {
        line[length - 1] = '\0';
    }
    return line;
}

char *pccl__text_line(struct pccl__text *text, bool join)
{
    char *line = cut_line(text);
    text->line = text->num_lines;
    if (line == NULL || !join) {
        return line;
    }
    /* What is joined is moved up behind what was there. */
    for (size_t length = strlen(line); length > 0 && line[length - 1] == '\\';) {
        char *more = cut_line(text);
        line[length - 1] = ' ';
        if (more == NULL) {
            break;
        }
        size_t more_length = strlen(more);
        memmove(line + length, more, more_length + 1);
        length += more_length;
    }
    return line;
}

int pccl__text_fail(const struct pccl__text *text, uint32_t line, struct pccl_error *error, const char *format, ...)
{
    char message[320], where[16] = "";
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    if (line > 0) {
        snprintf(where, sizeof where, ":%" PRIu32, line);
    }
    return pccl__fail(error, PCCL_ERR_FORMAT, "%.120s%s: %s", text->path, where, message);
}

void pccl__text_note(struct pccl__text *text, uint32_t line, const char *format, ...)
{
    char message[480], where[16] = "";
    if (text->options == NULL || text->options->note == NULL || text->num_notes++ >= MOST_NOTES) {
        return;
    }
    if (line > 0) {
        snprintf(where, sizeof where, ":%" PRIu32, line);
    }
    int used = snprintf(message, sizeof message, "%.120s%s: ", text->path, where);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message + used, sizeof message - (size_t)used, format, arguments);
    va_end(arguments);
    text->options->note(text->options->context, message);
}

/* --- names -------------------------------------------------------------------------------------------------------- */

static uint32_t find_slot(const struct pccl__names *names, const char *name)
{
    uint32_t slot = (uint32_t)pccl__digest_bytes(PCCL__DIGEST_START, name, strlen(name)) & (names->num_slots - 1);
    while (names->slots[slot] != PCCL_NONE && strcmp(names->names[names->slots[slot]], name) != 0) {
        slot = (slot + 1) & (names->num_slots - 1);
    }
    return slot;
}

uint32_t pccl__names_find(const struct pccl__names *names, const char *name)
{
    return names->num_slots > 0 ? names->slots[find_slot(names, name)] : PCCL_NONE;
}

/* Twice as many slots as names at least. */
static bool make_room(struct pccl__names *names)
{
    if (2 * (names->num_names + 1) <= names->num_slots) {
        return true;
    }
    uint32_t num_slots = names->num_slots > 0 ? 2 * names->num_slots : 64;
    uint32_t *slots = pccl__array_new(num_slots, sizeof *slots);
    if (slots == NULL) {
        return false;
    }
    memset(slots, 0xff, num_slots * sizeof *slots);
    free(names->slots);
    names->slots = slots;
    names->num_slots = num_slots;
    for (uint32_t i = 0; i < names->num_names; i++) {
        slots[find_slot(names, names->names[i])] = i;
    }
    return true;
}

uint32_t pccl__names_add(struct pccl__names *names, const char *name)
{
    char *copy = strdup(name);
    char **grown = pccl__array_grow(names->names, &names->capacity, (uint64_t)names->num_names + 1, sizeof *grown);
    names->names = grown != NULL ? grown : names->names;
    if (copy == NULL || grown == NULL || !make_room(names)) {
        free(copy);
        return PCCL_NONE;
    }
    names->slots[find_slot(names, name)] = names->num_names;
    names->names[names->num_names] = copy;
    return names->num_names++;
}

void pccl__names_free(struct pccl__names *names)
{
    for (uint32_t i = 0; i < names->num_names; i++) {
        free(names->names[i]);
    }
    free(names->names);
    free(names->slots);
}
