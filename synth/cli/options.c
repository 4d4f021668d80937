/* Options: one table per subcommand gives its parser and its help. */
#include <ctype.h>
#include <getopt.h>
#include <string.h>

#include "cli.h"

#define LONG_BASE 256 /* getopt's value of an option is its place in the table, above every letter */

static uint32_t count_options(const struct cli_command *command)
{
    uint32_t count = 0;
    while (command->options[count].name) {
        count++;
    }
    return count;
}

static void print_option(const struct cli_option *option)
{
    char left[64];
    snprintf(left, sizeof(left), "--%s%s%s", option->name, option->argument ? "=" : "",
             option->argument ? option->argument : "");
    if (option->letter) {
        printf("  -%c, %-22s %s\n", option->letter, left, option->help);
    } else {
        printf("      %-22s %s\n", left, option->help);
    }
}

static void print_help(const struct cli_command *command)
{
    printf("Usage: pccl %s [OPTIONS]%s%s\n%c%s.\n\nOptions:\n", command->name, command->num_operands ? " " : "",
           command->operands, toupper((unsigned char)command->summary[0]), command->summary + 1);
    for (const struct cli_option *option = command->options; option->name; option++) {
        print_option(option);
    }
    print_option(&(struct cli_option){"help", 'h', NULL, "this text"});
    printf("\n%s", command->details);
}

/* Fills getopt's two descriptions of the options. */
static void describe(const struct cli_command *command, struct option *longs, char *shorts)
{
    uint32_t count = count_options(command);
    *shorts++ = ':'; /* a missing value is told apart from an unknown option */
    *shorts++ = 'h';
    for (uint32_t i = 0; i < count; i++) {
        const struct cli_option *option = &command->options[i];
        longs[i] = (struct option){option->name, option->argument ? required_argument : no_argument, NULL,
                                   (int)(LONG_BASE + i)};
        if (option->letter) {
            *shorts++ = option->letter;
            if (option->argument) {
                *shorts++ = ':';
            }
        }
    }
    longs[count] = (struct option){"help", no_argument, NULL, 'h'};
    longs[count + 1] = (struct option){NULL, 0, NULL, 0};
    *shorts = '\0';
}

/* Place of what getopt returned in the command's table, or -1. */
static int find_option(const struct cli_command *command, int value)
{
    if (value >= LONG_BASE) {
        return value - LONG_BASE;
    }
    for (int i = 0; command->options[i].name; i++) {
        if (command->options[i].letter == (char)value) {
            return i;
        }
    }
    return -1;
}

static int report_option(const struct cli_command *command, int value, char **argv)
{
    const char *what = value == ':' ? "needs a value" : "is unknown or ambiguous, or takes no value";
    if (optopt > 0 && optopt < LONG_BASE) {
        cli_error("option '-%c' %s (see 'pccl %s --help')", optopt, what, command->name);
    } else {
        cli_error("option '%s' %s (see 'pccl %s --help')", argv[optind - 1], what, command->name);
    }
    return CLI_USAGE;
}

static int take_operands(struct cli_arguments *arguments, int argc, char **argv)
{
    const struct cli_command *command = arguments->command;
    uint32_t given = (uint32_t)(argc - optind);
    uint32_t most = command->max_operands > 0 ? command->max_operands : command->num_operands;
    if (given < command->num_operands) {
        cli_error("%s: expected %s (see 'pccl %s --help')", command->name, command->operands, command->name);
    } else if (given > most) {
        cli_error("%s: unexpected '%s'%s (see 'pccl %s --help')", command->name, argv[optind + (int)most],
                  most == 0 ? "; everything is given with options here, such as -t TOPOLOGY" : "", command->name);
    } else if (given > 0) {
        arguments->operand = argv[optind];
        arguments->operands = (const char *const *)&argv[optind];
        arguments->num_operands = given;
    }
    return given >= command->num_operands && given <= most ? CLI_OK : CLI_USAGE;
}

int cli_command_run(const struct cli_command *command, int argc, char **argv)
{
    struct option longs[CLI_MAX_OPTIONS + 2];
    char shorts[2 * CLI_MAX_OPTIONS + 4];
    struct cli_arguments arguments = {.command = command};
    describe(command, longs, shorts);
    opterr = 0;
    for (int value; (value = getopt_long(argc, argv, shorts, longs, NULL)) != -1;) {
        if (value == 'h') {
            print_help(command);
            return CLI_OK;
        }
        int place = value == '?' || value == ':' ? -1 : find_option(command, value);
        if (place < 0) {
            return report_option(command, value, argv);
        }
        arguments.values[place] = optarg ? optarg : "";
    }
    int code = take_operands(&arguments, argc, argv);
    return code == CLI_OK ? command->run(&arguments) : code;
}

const char *cli_value(const struct cli_arguments *arguments, const char *name)
{
    for (uint32_t i = 0; arguments->command->options[i].name; i++) {
        if (strcmp(arguments->command->options[i].name, name) == 0) {
            return arguments->values[i];
        }
    }
    return NULL;
}
