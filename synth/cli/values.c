/* Values: sizes, times and rates as people write and read them. */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "cli.h"

struct unit {
    const char *name;
    int64_t factor;
};

static const struct unit byte_units[] = {
    {"", 1},
    {"B", 1},
    {"K", INT64_C(1) << 10},
    {"KiB", INT64_C(1) << 10},
    {"M", INT64_C(1) << 20},
    {"MiB", INT64_C(1) << 20},
    {"G", INT64_C(1) << 30},
    {"GiB", INT64_C(1) << 30},
    {"T", INT64_C(1) << 40},
    {"TiB", INT64_C(1) << 40},
    {"kB", 1000},
    {"MB", 1000000},
    {"GB", 1000000000},
    {"TB", INT64_C(1000000000000)},
};

/* Digits at *text, which moves behind them. False: none, or more than maximum. */
static bool take_number(const char **text, uint64_t maximum, uint64_t *value)
{
    const char *digits = *text;
    *value = 0;
    while (isdigit((unsigned char)**text)) {
        uint64_t digit = (uint64_t)(*(*text)++ - '0');
        if (*value > (maximum - digit) / 10 || digit > maximum) {
            return false;
        }
        *value = *value * 10 + digit;
    }
    return *text != digits;
}

int cli_number_parse(const char *text, uint64_t maximum, uint64_t *value)
{
    return take_number(&text, maximum, value) && *text == '\0' ? PCCL_SUCCESS : PCCL_ERR_INVALID;
}

/* "Mb" and "gb" may mean bits: no guess is made. */
static bool may_mean_bits(const char *unit)
{
    size_t length = strlen(unit);
    return length >= 2 && unit[length - 1] == 'b';
}

int cli_bytes_parse(const char *text, int64_t *bytes, struct pccl_error *error)
{
    const char *rest = text;
    uint64_t number;
    if (take_number(&rest, INT64_MAX, &number)) {
        while (*rest == ' ') {
            rest++;
        }
        for (size_t i = 0; i < sizeof(byte_units) / sizeof(byte_units[0]); i++) {
            bool fits = number <= (uint64_t)(INT64_MAX / byte_units[i].factor);
            if (strcasecmp(rest, byte_units[i].name) == 0 && !may_mean_bits(rest) && fits) {
                *bytes = (int64_t)number * byte_units[i].factor;
                return PCCL_SUCCESS;
            }
        }
    }
    snprintf(error->message, sizeof(error->message),
             "size '%.60s': expected a whole number of bytes below 2^63, with B, KiB, MiB, GiB, TiB, kB, MB, GB or TB "
             "(no bits)",
             text);
    return PCCL_ERR_INVALID;
}

struct cli_text cli_time_text(int64_t time_ps)
{
    static const struct unit units[] = {
        {"s", INT64_C(1000000000000)}, {"ms", 1000000000}, {"us", 1000000}, {"ns", 1000}};
    struct cli_text result;
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (time_ps < units[i].factor) {
            continue;
        }
        double value = (double)time_ps / (double)units[i].factor;
        snprintf(result.text, sizeof(result.text), "%.*f %s",
                 value < 10    ? 3
                 : value < 100 ? 2
                               : 1,
                 value, units[i].name);
        return result;
    }
    snprintf(result.text, sizeof(result.text), "%lld ps", (long long)time_ps);
    return result;
}

struct cli_text cli_bytes_text(int64_t bytes)
{
    static const struct unit units[] = {
        {"TiB", INT64_C(1) << 40}, {"GiB", INT64_C(1) << 30}, {"MiB", INT64_C(1) << 20}, {"KiB", INT64_C(1) << 10}};
    struct cli_text result;
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (bytes < units[i].factor) {
            continue;
        }
        double value = (double)bytes / (double)units[i].factor;
        snprintf(result.text, sizeof(result.text), "%.*f %s", bytes % units[i].factor ? 2 : 0, value, units[i].name);
        return result;
    }
    snprintf(result.text, sizeof(result.text), "%lld B", (long long)bytes);
    return result;
}

struct cli_text cli_rate_text(int64_t ps_per_mib)
{
    struct cli_text result;
    if (ps_per_mib <= 0) {
        snprintf(result.text, sizeof(result.text), "unlimited");
        return result;
    }
    double rate = 1048576.0 * 1e12 / (double)ps_per_mib;
    if (rate >= 1e9) {
        snprintf(result.text, sizeof(result.text), "%.4g GB/s", rate / 1e9);
    } else {
        snprintf(result.text, sizeof(result.text), "%.4g MB/s", rate / 1e6);
    }
    return result;
}

struct cli_text cli_gap_text(int64_t makespan_ps, int64_t bound_ps)
{
    struct cli_text result = {"-"};
    if (bound_ps > 0) {
        snprintf(result.text, sizeof(result.text), "%.4f", (double)makespan_ps / (double)bound_ps);
    }
    return result;
}
