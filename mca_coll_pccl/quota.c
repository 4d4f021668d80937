/* Reads limits of processor time from the files of Linux, see cgroups(7), proc(5) and the kernel's cgroup-v2.rst. */
#define _POSIX_C_SOURCE 200809L
#include "quota.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define PATH_BYTES 4096 /* of any file here; Linux allows no longer paths */

struct search {
    const char *root;
    struct coll_pccl_quota *quota;
};

static FILE *open_file(struct search *search, const char *path, bool expected)
{
    FILE *file = fopen(path, "re");
    if (file == NULL && (expected || errno != ENOENT) && search->quota->problem[0] == '\0') {
        snprintf(search->quota->problem, sizeof search->quota->problem, "%.180s: %s", path, strerror(errno));
    }
    return file;
}

/* --- which cgroup ------------------------------------------------------------------------------------------------- */

static bool has_item(const char *list, const char *item)
{
    size_t length = strlen(item);
    for (const char *at = list; at != NULL; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, item, length) == 0 && (at[length] == ',' || at[length] == '\0')) {
            return true;
        }
    }
    return false;
}

/* Cuts the next word off. NULL at the end. */
static char *next_word(char **rest, const char *delimiters)
{
    char *word = *rest;
    if (word != NULL) {
        size_t length = strcspn(word, delimiters);
        *rest = word[length] != '\0' ? word + length + 1 : NULL;
        word[length] = '\0';
    }
    return word;
}

/* The path of this process in a hierarchy, from lines "number:controllers:path". */
static bool find_own_path(struct search *search, bool unified, char *own)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s/proc/self/cgroup", search->root);
    FILE *file = open_file(search, path, true);
    char *line = NULL;
    size_t room = 0;
    bool found = false;
    while (file != NULL && !found && getline(&line, &room, file) > 0) {
        char *rest = line, *number = next_word(&rest, ":"), *controllers = next_word(&rest, ":");
        char *name = next_word(&rest, "\n");
        found = name != NULL && name[0] == '/' && strlen(name) < PATH_BYTES &&
                (unified ? strcmp(number, "0") == 0 && controllers[0] == '\0' : has_item(controllers, "cpu"));
        if (found) {
            strcpy(own, name);
        }
    }
    free(line);
    if (file != NULL) {
        fclose(file);
    }
    return found;
}

/* mountinfo writes blanks and the like as a backslash and three octal digits. */
static void unescape(char *text)
{
    char *to = text;
    for (const char *from = text; *from != '\0'; to++) {
        bool escaped = from[0] == '\\' && from[1] >= '0' && from[1] <= '3' && from[2] >= '0' && from[2] <= '7' &&
                       from[3] >= '0' && from[3] <= '7';
        *to = escaped ? (char)((from[1] - '0') * 64 + (from[2] - '0') * 8 + (from[3] - '0')) : *from;
        from += escaped ? 4 : 1;
    }
    *to = '\0';
}

/* A line "number number device root point options ... - type source options" of the hierarchy, or not. */
static bool parse_mount(char *line, bool unified, char **root, char **point)
{
    char *type = strstr(line, " - "), *rest = line;
    if (type == NULL) {
        return false;
    }
    *type = '\0';
    type += 3;
    next_word(&rest, " ");
    next_word(&rest, " ");
    next_word(&rest, " ");
    *root = next_word(&rest, " ");
    *point = next_word(&rest, " ");
    rest = type;
    type = next_word(&rest, " ");
    next_word(&rest, " ");
    char *options = next_word(&rest, " \n");
    if (*point == NULL || options == NULL) {
        return false;
    }
    unescape(*root);
    unescape(*point);
    return unified ? strcmp(type, "cgroup2") == 0 : strcmp(type, "cgroup") == 0 && has_item(options, "cpu");
}

/* What of the path lies below the root of a mount, or NULL if it lies elsewhere. */
static const char *path_below(const char *path, const char *root)
{
    size_t length = strcmp(root, "/") == 0 ? 0 : strlen(root);
    bool inside = strncmp(path, root, length) == 0 && (path[length] == '/' || path[length] == '\0');
    return !inside || strstr(path, "/..") != NULL ? NULL : strcmp(path + length, "/") == 0 ? "" : path + length;
}

/* Where the files of the cgroup `own` are. top: the length of the beginning of that path above which there is nothing
 * to see. A cgroup outside of what is mounted, as from inside a container, is taken for the uppermost one there. */
static bool find_folder(struct search *search, bool unified, const char *own, char *folder, size_t *top)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s/proc/self/mountinfo", search->root);
    FILE *file = open_file(search, path, true);
    char *line = NULL, *root, *point;
    size_t room = 0;
    bool found = false, exact = false;
    while (file != NULL && !exact && getline(&line, &room, file) > 0) {
        if (!parse_mount(line, unified, &root, &point)) {
            continue;
        }
        const char *below = path_below(own, root);
        exact = below != NULL;
        if (exact || !found) {
            *top = strlen(search->root) + strlen(point);
            int length = snprintf(folder, PATH_BYTES, "%s%s%s", search->root, point, exact ? below : "");
            found = length > 0 && length < PATH_BYTES;
        }
    }
    free(line);
    if (file != NULL) {
        fclose(file);
    }
    return found;
}

/* --- its limit ---------------------------------------------------------------------------------------------------- */

/* The first line of a file of a cgroup; not every cgroup has every file. */
static bool read_line(struct search *search, const char *folder, const char *name, char *text, int bytes)
{
    char path[PATH_BYTES + 32];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = open_file(search, path, false);
    bool read = file != NULL && fgets(text, bytes, file) != NULL;
    if (file != NULL) {
        fclose(file);
    }
    return read;
}

/* A number of microseconds above 0, or 0 for anything else ("max", -1). */
static int64_t parse_us(const char *text)
{
    char *end;
    errno = 0;
    long long number = text != NULL ? strtoll(text, &end, 10) : 0;
    return number > 0 && errno == 0 && end != text && strspn(end, " \n") == strlen(end) ? number : 0;
}

/* quota / period of one cgroup in whole processors, 0 if it has no limit. */
static uint32_t read_limit(struct search *search, bool unified, const char *folder)
{
    char text[64], period[64], *rest = text;
    int64_t quota_us = 0, period_us = 0;
    if (unified && read_line(search, folder, "cpu.max", text, sizeof text)) {
        quota_us = parse_us(next_word(&rest, " "));
        period_us = parse_us(rest);
    } else if (!unified && read_line(search, folder, "cpu.cfs_quota_us", text, sizeof text) &&
               read_line(search, folder, "cpu.cfs_period_us", period, sizeof period)) {
        quota_us = parse_us(text);
        period_us = parse_us(period);
    }
    if (quota_us == 0 || period_us == 0) {
        return 0;
    }
    int64_t processors = quota_us / period_us + (quota_us % period_us != 0);
    return processors < UINT32_MAX ? (uint32_t)processors : 0;
}

static void note_limit(struct search *search, const char *folder, uint32_t processors)
{
    struct coll_pccl_quota *quota = search->quota;
    struct stat about;
    if (processors == 0 || (quota->processors != 0 && processors > quota->processors)) {
        return;
    }
    quota->processors = processors;
    quota->group = stat(folder, &about) == 0 ? (uint64_t)about.st_ino : 0;
    snprintf(quota->path, sizeof quota->path, "%.255s", folder);
}

/* The cgroup and all above it. */
static void climb(struct search *search, bool unified, char *folder, size_t top)
{
    for (bool more = true; more;) {
        note_limit(search, folder, read_limit(search, unified, folder));
        char *last = strrchr(folder, '/');
        more = last != NULL && strlen(folder) > top && (size_t)(last - folder) >= top;
        if (more) {
            *last = '\0';
        }
    }
}

void coll_pccl_quota_find(const char *root, struct coll_pccl_quota *quota)
{
    struct search search = {.root = root, .quota = quota};
    char own[PATH_BYTES], folder[PATH_BYTES];
    size_t top;
    memset(quota, 0, sizeof *quota);
    for (int version = 1; version <= 2; version++) {
        bool unified = version == 2;
        if (find_own_path(&search, unified, own) && find_folder(&search, unified, own, folder, &top)) {
            climb(&search, unified, folder, top);
        }
    }
}

/* --- its effect --------------------------------------------------------------------------------------------------- */

void coll_pccl_quota_squeeze(const uint32_t *processors, uint32_t count, uint32_t quota, uint32_t *squeezed)
{
    uint32_t num_processors = 0, at = 0, passed = 0;
    for (uint32_t i = 0; i < count; i++) {
        num_processors += i == 0 || processors[i] != processors[i - 1];
        squeezed[i] = processors[i];
    }
    for (uint32_t i = 0; i < count && quota > 0 && num_processors > quota; i++) {
        uint64_t part = (uint64_t)i * quota / count;
        while (passed < part * num_processors / quota) {
            at++;
            passed += processors[at] != processors[at - 1];
        }
        squeezed[i] = processors[at];
    }
}
