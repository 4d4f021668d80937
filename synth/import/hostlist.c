/* Lists of hosts as Slurm writes them: names with ranges in brackets. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "import/text.h"

#define MAX_DIGITS 9

struct expansion {
    pccl__hostlist_visit *visit;
    void *context;
    const char **why;
    uint32_t count;
    char name[PCCL__IMPORT_MAX_NAME + 1];
};

static int refuse(struct expansion *expansion, const char *why)
{
    *expansion->why = why;
    return PCCL_ERR_FORMAT;
}

/* Digits with their leading zeros; *width: how many. Returns what follows, NULL if there are none or too many. */
static const char *read_number(const char *text, uint32_t *number, int *width)
{
    *number = 0;
    for (*width = 0; text[*width] >= '0' && text[*width] <= '9'; (*width)++) {
        if (*width == MAX_DIGITS) {
            return NULL;
        }
        *number = *number * 10 + (uint32_t)(text[*width] - '0');
    }
    return *width > 0 ? text + *width : NULL;
}

static int expand(struct expansion *expansion, const char *rest, const char *end, size_t length);

/* Goes on with each number of "001-032,040", the inside of a bracket that ends at `close`. */
static int expand_ranges(struct expansion *expansion, const char *ranges, const char *close, const char *end,
                         size_t length)
{
    while (true) {
        uint32_t first, last;
        int width, last_width;
        ranges = read_number(ranges, &first, &width);
        last = first;
        if (ranges != NULL && *ranges == '-') {
            ranges = read_number(ranges + 1, &last, &last_width);
        }
        if (ranges == NULL || (*ranges != ',' && ranges != close)) {
            return refuse(expansion,
                          "expected numbers of at most 9 digits and ranges in brackets, such as [001-032,040]");
        }
        if (last < first) {
            return refuse(expansion, "a range in brackets runs backwards");
        }
        for (uint32_t number = first; number <= last; number++) {
            char digits[16];
            int count = snprintf(digits, sizeof digits, "%0*u", width, (unsigned)number);
            if (length + (size_t)count > PCCL__IMPORT_MAX_NAME) {
                return refuse(expansion, "a name is longer than 256 bytes");
            }
            memcpy(expansion->name + length, digits, (size_t)count);
            int status = expand(expansion, close + 1, end, length + (size_t)count);
            if (status != 0) {
                return status;
            }
        }
        if (ranges == close) {
            return 0;
        }
        ranges++;
    }
}

/* Goes on with what is left of one word after the first `length` bytes of the name are fixed. */
static int expand(struct expansion *expansion, const char *rest, const char *end, size_t length)
{
    const char *open = memchr(rest, '[', (size_t)(end - rest));
    size_t plain = (size_t)((open != NULL ? open : end) - rest);
    if (length + plain > PCCL__IMPORT_MAX_NAME) {
        return refuse(expansion, "a name is longer than 256 bytes");
    }
    memcpy(expansion->name + length, rest, plain);
    length += plain;
    if (open != NULL) {
        const char *close = memchr(open, ']', (size_t)(end - open));
        return close != NULL ? expand_ranges(expansion, open + 1, close, end, length)
                             : refuse(expansion, "a bracket is not closed");
    }
    expansion->name[length] = '\0';
    if (length == 0 || strpbrk(expansion->name, "]") != NULL) {
        return refuse(expansion, length == 0 ? "a name is empty" : "a bracket is not opened");
    }
    if (expansion->count++ == PCCL__IMPORT_MAX_VERTICES) {
        return refuse(expansion, "more than 1048576 names");
    }
    return expansion->visit(expansion->context, expansion->name);
}

int pccl__hostlist_expand(const char *list, pccl__hostlist_visit *visit, void *context, const char **why)
{
    struct expansion expansion = {.visit = visit, .context = context, .why = why};
    while (true) {
        /* Up to a comma outside of brackets. */
        const char *end = list;
        for (bool inside = false; *end != '\0' && (*end != ',' || inside); end++) {
            inside = *end == '[' || (inside && *end != ']');
        }
        int status = expand(&expansion, list, end, 0);
        if (status != 0 || *end == '\0') {
            return status;
        }
        list = end + 1;
    }
}
