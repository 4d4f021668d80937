/* pccl: the command line of the synthesizer. One table of subcommands. */
#include <signal.h>
#include <string.h>

#include "cli.h"

static const struct cli_command *const commands[] = {
    &cli_command_synth, &cli_command_verify,  &cli_command_simulate, &cli_command_explain,
    &cli_command_plot,  &cli_command_convert, &cli_command_topology,
};
#define NUM_COMMANDS (sizeof(commands) / sizeof(commands[0]))

static void print_help(void)
{
    printf("Usage: pccl COMMAND [OPTIONS] [FILE]\n"
           "Makes schedules for collective communication that fit the network they run on.\n\n"
           "Commands:\n");
    for (size_t i = 0; i < NUM_COMMANDS; i++) {
        printf("  %-9s %s\n", commands[i]->name, commands[i]->summary);
    }
    printf("\nTry this: a network, a schedule for it, how close to the optimum it is and why.\n"
           "  pccl topology torus:4x4 --draw -o torus.svg\n"
           "  pccl synth -t torus:4x4 -c allgather -s 1MiB -o gather.json\n"
           "  pccl explain gather.json\n"
           "  pccl plot gather.json -o gather.svg\n"
           "A browser opens the pictures.\n\n"
           "'pccl COMMAND --help' explains a command, 'pccl --version' tells the version,\n"
           "'man pccl' has the whole story: topologies, groups, exit codes, more examples.\n");
}

static int run(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "--help";
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0) {
        print_help();
        return argc > 1 ? CLI_OK : CLI_USAGE;
    }
    if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0) {
        printf("pccl %s\n", PCCL_VERSION);
        return CLI_OK;
    }
    for (size_t i = 0; i < NUM_COMMANDS; i++) {
        if (strcmp(name, commands[i]->name) == 0) {
            return cli_command_run(commands[i], argc - 1, argv + 1);
        }
    }
    cli_error("unknown command '%s'; expected synth, verify, simulate, explain, plot, convert or topology "
              "(see 'pccl --help')",
              name);
    return CLI_USAGE;
}

int main(int argc, char **argv)
{
    signal(SIGPIPE, SIG_IGN); /* a closed pipe is reported where it is written to */
    return cli_stdout_finish(run(argc, argv));
}
