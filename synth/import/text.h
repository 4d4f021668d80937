/* Text files of other programs, line by line; names and what they stand for; lists of hosts. */
#ifndef PCCL__IMPORT_TEXT_H
#define PCCL__IMPORT_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pccl/import.h"

#define PCCL__IMPORT_MAX_BYTES (INT64_C(256) << 20)
#define PCCL__IMPORT_MAX_VERTICES (1u << 20) /* hosts or switches of an imported fabric */
#define PCCL__IMPORT_MAX_NAME 256            /* bytes of a name, without the end */

/* A file on its way through an importer. */
struct pccl__text {
    const char *path;
    char *text;         /* all of it, owned */
    char *next;         /* the line to come */
    uint32_t line;      /* number of the current line, the first if several were joined */
    uint32_t num_lines; /* lines read so far */
    bool breaks_off;    /* the file ends in the current line, without a line's end */
    const struct pccl_import_options *options;
    uint32_t num_notes;
};

/* Reads the whole file; zero bytes are refused. */
int pccl__text_open(struct pccl__text *text, const char *path, const struct pccl_import_options *options,
                    struct pccl_error *error);
void pccl__text_close(struct pccl__text *text);
/* The next line without its end (\n or \r\n), NULL at the end of the file. join: a backslash at the end of a line goes
 * on with the next. The line may be changed. */
char *pccl__text_line(struct pccl__text *text, bool join);
/* "PATH:LINE: ..." with code PCCL_ERR_FORMAT; line 0: without a line. */
int pccl__text_fail(const struct pccl__text *text, uint32_t line, struct pccl_error *error, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* The same as a note. The first twenty of a file are passed on, and how many there were by pccl__text_close. */
void pccl__text_note(struct pccl__text *text, uint32_t line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Numbers by name. All zero: empty. */
struct pccl__names {
    char **names; /* [num_names] owned, by number */
    uint32_t num_names, capacity;
    uint32_t *slots; /* [num_slots] hash table of numbers */
    uint32_t num_slots;
};

/* The number of a name, PCCL_NONE if it is new. */
uint32_t pccl__names_find(const struct pccl__names *names, const char *name);
/* Adds a name that is new and gives it the next number; PCCL_NONE when out of memory. */
uint32_t pccl__names_add(struct pccl__names *names, const char *name);
void pccl__names_free(struct pccl__names *names);

/* Called with each name of a list; what it returns, if not 0, ends the expansion. */
typedef int pccl__hostlist_visit(void *context, const char *name);
/* Expands "n[001-032,040],login,rack[0-1]n[0-3]". Returns 0, what visit returned, or PCCL_ERR_FORMAT with *why; at most
 * PCCL__IMPORT_MAX_VERTICES names. */
int pccl__hostlist_expand(const char *list, pccl__hostlist_visit *visit, void *context, const char **why);

#endif
