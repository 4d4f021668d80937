#define _GNU_SOURCE /* asprintf */
#include "bench.h"

#include <argp.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *argp_program_version = "pccl-bench " PCCL_VERSION;

static const char doc[] =
    "Times MPI collectives over pccl and over Open MPI's default, in one launch, call by call in turn, and checks "
    "the data."
    "\v"
    "A size is a number of bytes with an optional K, M or G (1K = 1024): what one rank gives to or gets from another; "
    "for allreduce, bcast and reduce the whole buffer. SIZES is a list as in 8,64K,1M or a range as in 1:1M, which "
    "doubles.\n\n"
    "Example: mpirun -n 4 --mca coll_pccl_priority 100 pccl-bench -c allgather,allreduce -s 8,1K,64K,1M";

enum { OPTION_BUDGET = 256, OPTION_SELECT, OPTION_MEMORY, OPTION_CSV, OPTION_ROOT, OPTION_OUTSTANDING };

static const struct argp_option descriptions[] = {
    {"collectives", 'c', "LIST", 0, "comma-separated names as in allgather,bcast (default: all)", 0},
    {"sizes", 's', "SIZES", 0, "sizes to time (default: 8,512,4K,64K,1M)", 0},
    {"form", 'f', "FORM", 0, "blocking, nonblocking or persistent calls (default: blocking)", 0},
    {"outstanding", OPTION_OUTSTANDING, "N", 0,
     "operations that are started together and waited for together, unless blocking (default: 1)", 0},
    {"root", OPTION_ROOT, "RANK", 0, "root of bcast, gather, reduce, scatter (default: 0)", 0},
    {"rounds", 'r', "N", 0, "rounds of which the median is printed (default: 9)", 0},
    {"iterations", 'i', "N", 0, "calls per round and side (default: as many as fit into the round)", 0},
    {"round-time", OPTION_BUDGET, "MS", 0, "how long a round should last, in milliseconds (default: 10)", 0},
    {"max-memory", OPTION_MEMORY, "SIZE", 0, "leave out cases that need more buffer space per rank (default: 256M)", 0},
    {"select", OPTION_SELECT, "HOW", 0,
     "who serves on pccl's side: always (default) pccl, or as coll_pccl_select says: measure, model", 0},
    {"csv", OPTION_CSV, "FILE", 0, "also write the results to FILE", 0},
    {"verbose", 'v', NULL, 0, "also print the number of calls and the spread of the ratio over the rounds", 0},
    {"help", '?', NULL, 0, "print this text", -1},
    {"version", 'V', NULL, 0, "print the version", -1},
    {0}};

/* A whole number in min .. max, with an optional suffix if max allows more than an int. Returns 0 or -1. */
static int parse_number(const char *text, size_t min, size_t max, size_t *number)
{
    char *end;
    unsigned long long value;
    int shift = 0;

    errno = 0;
    value = strtoull(text, &end, 10);
    if (end == text || text[0] < '0' || text[0] > '9' || errno)
        return -1;
    if (*end == 'K' || *end == 'k')
        shift = 10;
    else if (*end == 'M' || *end == 'm')
        shift = 20;
    else if (*end == 'G' || *end == 'g')
        shift = 30;
    if (end[shift > 0] || value > max >> shift || value << shift < min)
        return -1;
    *number = (size_t)value << shift;
    return 0;
}

static int parse_int(struct argp_state *state, const char *option, const char *text, int min, int *number)
{
    size_t value;

    if (parse_number(text, (size_t)min, INT_MAX, &value)) {
        argp_error(state, "%s is '%s'; expected a whole number of at least %d", option, text, min);
        return EINVAL;
    }
    *number = (int)value;
    return 0;
}

static int add_size(struct argp_state *state, struct bench_options *options, size_t bytes)
{
    if (options->num_sizes == BENCH_MAX_SIZES) {
        argp_error(state, "more than %d sizes were given", BENCH_MAX_SIZES);
        return EINVAL;
    }
    options->sizes[options->num_sizes++] = bytes;
    return 0;
}

static int add_range(struct argp_state *state, struct bench_options *options, char *range)
{
    char *colon = strchr(range, ':');
    size_t first, last;

    *colon = '\0';
    if (parse_number(range, 1, INT_MAX, &first) || parse_number(colon + 1, first, INT_MAX, &last)) {
        argp_error(state, "the range of sizes '%s:%s' does not go from a size above 0 to one as large or larger", range,
                   colon + 1);
        return EINVAL;
    }
    for (size_t bytes = first; bytes <= last; bytes *= 2)
        if (add_size(state, options, bytes))
            return EINVAL;
    return 0;
}

static int parse_sizes(struct argp_state *state, struct bench_options *options, char *text)
{
    char *rest = text;
    size_t bytes;

    options->num_sizes = 0;
    for (char *word = strsep(&rest, ","); word; word = strsep(&rest, ",")) {
        if (strchr(word, ':')) {
            if (add_range(state, options, word))
                return EINVAL;
        } else if (parse_number(word, 0, INT_MAX, &bytes)) {
            argp_error(state, "the size '%s' is not a number of bytes below 2G, as in 64K", word);
            return EINVAL;
        } else if (add_size(state, options, bytes)) {
            return EINVAL;
        }
    }
    return 0;
}

static int parse_collectives(struct argp_state *state, struct bench_options *options, char *text)
{
    char *rest = text;

    memset(options->selected, 0, sizeof(options->selected));
    for (char *word = strsep(&rest, ","); word; word = strsep(&rest, ",")) {
        int i = 0;

        while (i < bench_num_collectives && strcmp(word, bench_collectives[i].name) != 0)
            i++;
        if (i == bench_num_collectives) {
            argp_error(state, "'%s' is not a collective of this benchmark; `pccl-bench --help` has the names", word);
            return EINVAL;
        }
        options->selected[i] = true;
    }
    return 0;
}

static int parse_form(struct argp_state *state, struct bench_options *options, const char *text)
{
    for (int form = 0; form < BENCH_NUM_FORMS; form++)
        if (strcmp(text, bench_form_names[form]) == 0) {
            options->form = (enum bench_form)form;
            return 0;
        }
    argp_error(state, "--form is '%s'; expected blocking, nonblocking or persistent", text);
    return EINVAL;
}

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    struct bench_options *options = state->input;

    switch (key) {
    case 'c':
        return parse_collectives(state, options, argument);
    case 's':
        return parse_sizes(state, options, argument);
    case 'f':
        return parse_form(state, options, argument);
    case OPTION_OUTSTANDING:
        return parse_int(state, "--outstanding", argument, 1, &options->outstanding);
    case 'r':
        return parse_int(state, "--rounds", argument, 1, &options->rounds);
    case 'i':
        return parse_int(state, "--iterations", argument, 1, &options->calls);
    case OPTION_ROOT:
        return parse_int(state, "--root", argument, 0, &options->root);
    case OPTION_BUDGET:
        return parse_int(state, "--round-time", argument, 1, &options->budget_ms);
    case OPTION_MEMORY:
        if (parse_number(argument, 1, SIZE_MAX, &options->max_memory) == 0)
            return 0;
        argp_error(state, "--max-memory is '%s'; expected a size as in 256M", argument);
        return EINVAL;
    case OPTION_SELECT:
        if (strcmp(argument, "always") != 0 && strcmp(argument, "measure") != 0 && strcmp(argument, "model") != 0) {
            argp_error(state, "--select is '%s'; expected always, measure or model", argument);
            return EINVAL;
        }
        options->select = argument;
        return 0;
    case OPTION_CSV:
        options->csv = argument;
        return 0;
    case 'v':
        options->verbose = true;
        return 0;
    case '?':
    case 'V':
        options->help = true;
        if (!(state->flags & ARGP_NO_ERRS) && key == '?')
            argp_state_help(state, stdout, ARGP_HELP_LONG | ARGP_HELP_USAGE | ARGP_HELP_DOC);
        else if (!(state->flags & ARGP_NO_ERRS))
            puts(argp_program_version);
        return 0;
    case ARGP_KEY_END:
        if (options->form != BENCH_BLOCKING || options->outstanding == 1)
            return 0;
        argp_error(state, "--outstanding is %d; with --form blocking there is one operation at a time",
                   options->outstanding);
        return EINVAL;
    case ARGP_KEY_ARG:
        argp_error(state, "unexpected argument '%s'", argument);
        return EINVAL;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* argp's hook for the text after the options: the names that --collectives takes come from the table itself. */
static char *extend_help(int key, const char *text, void *input)
{
    char *extended = NULL, *names = NULL;
    size_t size;
    FILE *stream;

    (void)input;
    if (key != ARGP_KEY_HELP_POST_DOC || !(stream = open_memstream(&names, &size)))
        return (char *)text;
    fputs("Collectives:", stream);
    for (int i = 0; i < bench_num_collectives; i++)
        fprintf(stream, " %s%s", bench_collectives[i].name, i + 1 < bench_num_collectives ? "," : ".");
    if (fclose(stream) || asprintf(&extended, "%s\n\n%s", names, text) < 0)
        extended = (char *)text;
    free(names);
    return extended;
}

int bench_options_parse(struct bench_options *options, int argc, char **argv, int rank)
{
    static const struct argp argp = {descriptions, parse_option, NULL, doc, NULL, extend_help, NULL};
    unsigned flags = ARGP_NO_EXIT | ARGP_NO_HELP | (rank == 0 ? 0 : ARGP_NO_ERRS);

    *options = (struct bench_options){.sizes = {8, 512, 4096, 65536, 1 << 20},
                                      .num_sizes = 5,
                                      .select = "always",
                                      .rounds = 9,
                                      .budget_ms = 10,
                                      .outstanding = 1,
                                      .max_memory = (size_t)256 << 20};
    for (int i = 0; i < bench_num_collectives; i++)
        options->selected[i] = true;
    return argp_parse(&argp, argc, argv, flags, NULL, options) == 0 ? 0 : -1;
}
