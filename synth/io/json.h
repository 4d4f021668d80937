/* JSON for the readers and writers of files: every complaint names the file and the key; every file is written whole or
 * not at all. */
#ifndef PCCL__JSON_H
#define PCCL__JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <cjson/cJSON.h>

#include "pccl/error.h"

#define PCCL__JSON_MAX_BYTES (INT64_C(256) << 20)
#define PCCL__JSON_MAX_NAME 512 /* bytes of a name, without the end */

/* Where an object stands, for errors: PATH: ARRAY[INDEX] or PATH: ARRAY.MEMBER. */
struct pccl__json_place {
    const char *path;
    const char *array; /* NULL: the outermost object */
    uint32_t index;
    const char *member; /* instead of the index; NULL where the array is one */
};

/* Reads and parses a file; a complaint gives the line. The caller frees *root with cJSON_Delete. */
int pccl__json_read(const char *path, cJSON **root, struct pccl_error *error);

/* "PATH: links[3].latency: <text>" with code PCCL_ERR_FORMAT; key may be NULL. */
int pccl__json_fail(const struct pccl__json_place *place, const char *key, struct pccl_error *error, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Checks that the item is an object whose keys are all among keys[] and all different. */
int pccl__json_object(const struct pccl__json_place *place, const cJSON *item, const char *const *keys, uint32_t num_keys,
                      struct pccl_error *error);

/* Each looks up a key of an object. If it is absent *value stays as it is; otherwise it must have the type and range. */
int pccl__json_integer(const struct pccl__json_place *place, const cJSON *object, const char *key, int64_t minimum,
                       int64_t maximum, int64_t *value, struct pccl_error *error); /* a number or a string of digits */
/* The same of an element of the array `key`. */
int pccl__json_element(const struct pccl__json_place *place, const cJSON *item, const char *key, int64_t minimum,
                       int64_t maximum, int64_t *value, struct pccl_error *error);
int pccl__json_text(const struct pccl__json_place *place, const cJSON *object, const char *key, const char **value,
                    struct pccl_error *error); /* 1 .. PCCL__JSON_MAX_NAME bytes; lives as long as the object */
int pccl__json_bool(const struct pccl__json_place *place, const cJSON *object, const char *key, bool *value,
                    struct pccl_error *error);
/* An array, NULL if absent; its number of elements in *count. */
int pccl__json_array(const struct pccl__json_place *place, const cJSON *object, const char *key, const cJSON **value,
                     uint32_t *count, struct pccl_error *error);

/* A file that appears under its name only when it is complete: written beside it, then renamed. */
struct pccl__json_file {
    FILE *stream;
    char *target;    /* the path, symbolic links followed */
    char *temporary; /* NULL for a device or pipe, which is written to as it is */
};

int pccl__json_open(struct pccl__json_file *file, const char *path, struct pccl_error *error);
/* Closes and renames, or, if status is not 0, closes and removes. Returns status or a failure to write. */
int pccl__json_close(struct pccl__json_file *file, int status, struct pccl_error *error);
/* A string in quotes. */
void pccl__json_put_text(FILE *stream, const char *text);
/* A number; in quotes if it is too large for the double that other programs read. */
void pccl__json_put_integer(FILE *stream, int64_t value);

#endif
