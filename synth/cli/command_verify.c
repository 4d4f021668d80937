/* pccl verify: does a schedule do what it says? */
#include <stdlib.h>

#include "cli.h"
#include "pccl/verify.h"

static const struct cli_option options[] = {
    {"topology", 't', "TOPOLOGY", "topology of the schedule, where its file names none that can be found"},
    {"no-relays", 0, NULL, "fail if a device outside the group passes data on"},
    {NULL, 0, NULL, NULL},
};

/* The programs of all ranks, as they would run, against each other. */
static int verify_programs(const struct pccl_schedule *schedule, struct pccl_error *error)
{
    uint32_t num_ranks = schedule->demand->num_ranks, made = 0;
    struct pccl_program **programs = calloc(num_ranks, sizeof(struct pccl_program *));
    int status = programs ? PCCL_SUCCESS : PCCL_ERR_MEMORY;
    while (!status && made < num_ranks) {
        status = pccl_program_create(schedule, made, &programs[made], error);
        made += !status;
    }
    if (!status) {
        status = pccl_verify_programs(schedule->demand, (const struct pccl_program *const *)programs, error);
    }
    while (made-- > 0) {
        pccl_program_free(programs[made]);
    }
    free(programs);
    return status;
}

static int verify(const struct cli_arguments *arguments, const struct pccl_topology *topology,
                  const struct pccl_schedule *schedule)
{
    struct pccl_error error = {""};
    uint32_t relays;
    int status = cli_relays_count(topology, schedule, &relays);
    if (!status) {
        status = pccl_verify_schedule(topology, schedule, !cli_value(arguments, "no-relays"), &error);
    }
    if (!status && relays == 0) {
        status = verify_programs(schedule, &error);
    }
    if (status) {
        return cli_fail(status, &error, arguments->operand);
    }
    printf("%s: correct: %s among %u ranks on %s, %u messages, every rank ends with what it must have\n",
           arguments->operand, pccl_collective_name(schedule->demand->collective), schedule->demand->num_ranks,
           topology->name, schedule->num_messages);
    if (relays) {
        printf("%s: %u device%s outside the group pass%s data on\n", arguments->operand, relays, relays == 1 ? "" : "s",
               relays == 1 ? "es" : "");
    }
    return CLI_OK;
}

static int run(const struct cli_arguments *arguments)
{
    struct pccl_topology *topology;
    struct pccl_schedule *schedule;
    int code = cli_schedule_load(arguments, "topology", &topology, &schedule);
    if (code) {
        return code;
    }
    code = verify(arguments, topology, schedule);
    pccl_schedule_free(schedule);
    pccl_topology_free(topology);
    return code;
}

const struct cli_command cli_command_verify = {
    .name = "verify",
    .summary = "check that a schedule is correct, without trusting who made it",
    .operands = "FILE",
    .num_operands = 1,
    .options = options,
    .details = "Every message is replayed: links must exist, senders must hold what they send,\n"
               "every rank must end with its data, and a reduction must take in each\n"
               "contribution once. Then the programs of all ranks are run against each other:\n"
               "no races, no deadlock.\n"
               "Example:\n"
               "  pccl verify gather.json\n",
    .run = run,
};
