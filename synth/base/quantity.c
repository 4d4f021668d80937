#include "base/quantity.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define MAX_DIGITS 15 /* of a number; with the largest unit the product stays within 128 bits */

struct unit {
    const char *name;
    int64_t factor, divisor;
};

static const struct unit time_units[] = {
    {"ps", 1, 1}, {"ns", 1000, 1}, {"us", 1000000, 1}, {"ms", 1000000000, 1}, {"s", 1000000000000, 1}, {NULL, 0, 0},
};

/* To bytes per second. */
static const struct unit rate_units[] = {
    {"B/s", 1, 1},
    {"kB/s", 1000, 1},
    {"MB/s", 1000000, 1},
    {"GB/s", 1000000000, 1},
    {"TB/s", 1000000000000, 1},
    {"KiB/s", INT64_C(1) << 10, 1},
    {"MiB/s", INT64_C(1) << 20, 1},
    {"GiB/s", INT64_C(1) << 30, 1},
    {"kbit/s", 1000, 8},
    {"Mbit/s", 1000000, 8},
    {"Gbit/s", 1000000000, 8},
    {"Tbit/s", 1000000000000, 8},
    {NULL, 0, 0},
};

/* Reads digits with at most one point; the value is *digits / *scale. Returns what follows, NULL if it is no number. */
static const char *read_decimal(const char *text, int64_t *digits, int64_t *scale)
{
    int num_digits = 0, num_points = 0;
    *digits = 0;
    *scale = 1;
    for (; (*text >= '0' && *text <= '9') || *text == '.'; text++) {
        if (*text == '.') {
            num_points++;
            continue;
        }
        *digits = *digits * 10 + (*text - '0');
        *scale *= num_points > 0 ? 10 : 1;
        num_digits += *digits > 0 || num_points > 0;
        if (num_digits > MAX_DIGITS) {
            return NULL;
        }
    }
    bool has_digit = text[-1] >= '0' && text[-1] <= '9';
    return has_digit && num_points <= 1 ? text : NULL;
}

static const struct unit *find_unit(const struct unit *units, const char *name)
{
    name += strspn(name, " ");
    for (; units->name != NULL; units++) {
        if (strcmp(units->name, name) == 0) {
            return units;
        }
    }
    return NULL;
}

int pccl__quantity_time(const char *text, const char *what, int64_t *time_ps, struct pccl_error *error)
{
    int64_t digits, scale;
    const char *rest = *text >= '0' && *text <= '9' ? read_decimal(text, &digits, &scale) : NULL;
    const struct unit *unit = rest != NULL && digits == 0 && *rest == '\0' ? time_units : NULL;
    if (rest != NULL && unit == NULL) {
        unit = find_unit(time_units, rest);
    }
    if (unit == NULL) {
        return pccl__fail(error, PCCL_ERR_FORMAT,
                          "%s is \"%.40s\"; expected a time such as 500ns or 1.5us (ps, ns, us, ms, s)", what, text);
    }
    __int128 scaled = (__int128)digits * unit->factor;
    if (scaled % scale != 0 || scaled / scale > INT64_MAX) {
        return pccl__fail(error, PCCL_ERR_FORMAT, "%s is \"%.40s\", which is no whole 64-bit number of picoseconds",
                          what, text);
    }
    *time_ps = (int64_t)(scaled / scale);
    return 0;
}

int pccl__quantity_rate(const char *text, const char *what, int64_t *ps_per_mib, struct pccl_error *error)
{
    int64_t digits, scale;
    const char *rest = *text >= '0' && *text <= '9' ? read_decimal(text, &digits, &scale) : NULL;
    const struct unit *unit = rest != NULL && digits > 0 ? find_unit(rate_units, rest) : NULL;
    if (unit == NULL) {
        return pccl__fail(error, PCCL_ERR_FORMAT,
                          "%s is \"%.40s\"; expected a rate above 0 such as 12.5GB/s or 100Gbit/s "
                          "(B/s with k, M, G, T, Ki, Mi, Gi; bit/s with k, M, G, T)",
                          what, text);
    }
    const unsigned __int128 ps_bytes = ((unsigned __int128)1 << 20) * 1000000000000u; /* one MiB, one second */
    unsigned __int128 dividend = ps_bytes * (uint64_t)scale,
                      divisor = (unsigned __int128)digits * (uint64_t)unit->factor;
    dividend *= (uint64_t)unit->divisor;
    unsigned __int128 time = (dividend + divisor - 1) / divisor;
    if (time > ps_bytes) {
        return pccl__fail(error, PCCL_ERR_FORMAT, "%s is \"%.40s\"; rates below 1 B/s are not supported", what, text);
    }
    *ps_per_mib = (int64_t)time;
    return 0;
}

int pccl__quantity_integer(const char *text, const char *what, int64_t minimum, int64_t maximum, int64_t *value,
                           struct pccl_error *error)
{
    int64_t number = 0;
    const char *c = text;
    for (; *c >= '0' && *c <= '9' && number <= (INT64_MAX - 9) / 10; c++) {
        number = number * 10 + (*c - '0');
    }
    if (c == text || *c != '\0' || number < minimum || number > maximum) {
        return pccl__fail(error, PCCL_ERR_FORMAT,
                          "%s is \"%.40s\"; expected a whole number from %" PRId64 " to %" PRId64, what, text, minimum,
                          maximum);
    }
    *value = number;
    return 0;
}

int pccl__quantity_ratio(const char *text, const char *what, int64_t *numerator, int64_t *denominator,
                         struct pccl_error *error)
{
    const char *rest = *text >= '0' && *text <= '9' ? read_decimal(text, numerator, denominator) : NULL;
    if (rest == NULL || *rest != '\0' || *numerator == 0 || *numerator > 1000000000 || *denominator > 1000000000) {
        return pccl__fail(error, PCCL_ERR_FORMAT, "%s is \"%.40s\"; expected a number above 0 such as 4 or 1.5", what,
                          text);
    }
    return 0;
}
