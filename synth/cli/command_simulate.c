/* pccl simulate: how long a schedule takes, on its own topology or on another. */
#include <stdlib.h>

#include "cli.h"
#include "pccl/simulate.h"
#include "pccl/verify.h"

static const struct cli_option options[] = {
    {"topology", 't', "TOPOLOGY", "what if: the same messages on this topology"},
    {"from", 0, "TOPOLOGY", "topology of the schedule, where its file names none that can be found"},
    {"json", 0, NULL, "print one JSON object"},
    {NULL, 0, NULL, NULL},
};

struct outcome {
    int64_t own_ps, other_ps; /* other: -1 without -t */
    uint32_t num_rerouted, num_paths;
};

static int simulate_other(const char *text, const struct pccl_topology *topology, const struct pccl_schedule *schedule,
                          struct outcome *outcome)
{
    struct pccl_topology *other;
    struct pccl_schedule *rerouted = NULL;
    struct pccl_simulation simulation = {0};
    struct cli_reroute summary;
    struct pccl_error error = {""};
    int code = cli_topology_load(text, &other);
    if (code) {
        return code;
    }
    int status = cli_schedule_reroute(schedule, topology, other, &rerouted, &summary, &error);
    if (!status) {
        status = pccl_verify_schedule(other, rerouted, true, &error);
    }
    if (!status) {
        status = pccl_simulate(other, rerouted, &simulation, &error);
    }
    outcome->other_ps = simulation.makespan_ps;
    outcome->num_rerouted = summary.num_rerouted;
    outcome->num_paths = schedule->num_paths;
    pccl_schedule_free(rerouted);
    pccl_topology_free(other);
    return status ? cli_fail(status, &error, NULL) : CLI_OK;
}

static void print_table(const struct outcome *outcome, const struct pccl_topology *topology, const char *other)
{
    printf("on %s: %s\n", topology->name, cli_time_text(outcome->own_ps).text);
    if (!other) {
        return;
    }
    printf("on %s: %s", other, cli_time_text(outcome->other_ps).text);
    if (outcome->own_ps > 0) {
        printf(" (%.3f times as long)", (double)outcome->other_ps / (double)outcome->own_ps);
    }
    if (outcome->num_rerouted) {
        printf(", %u of %u ways had to change", outcome->num_rerouted, outcome->num_paths);
    }
    printf("\n");
}

static void print_json(const struct outcome *outcome, const struct pccl_topology *topology, const char *other)
{
    printf("{");
    cli_json_string(stdout, "topology", topology->name, true);
    cli_json_integer(stdout, "makespan_ps", outcome->own_ps, false);
    if (other) {
        cli_json_string(stdout, "other_topology", other, false);
        cli_json_integer(stdout, "other_makespan_ps", outcome->other_ps, false);
        cli_json_integer(stdout, "paths", outcome->num_paths, false);
        cli_json_integer(stdout, "rerouted_paths", outcome->num_rerouted, false);
    }
    printf("}\n");
}

static int simulate(const struct cli_arguments *arguments, const struct pccl_topology *topology,
                    const struct pccl_schedule *schedule)
{
    const char *other = cli_value(arguments, "topology");
    struct pccl_simulation simulation = {0};
    struct pccl_error error = {""};
    struct outcome outcome = {.other_ps = -1};
    int status = pccl_verify_schedule(topology, schedule, true, &error);
    if (!status) {
        status = pccl_simulate(topology, schedule, &simulation, &error);
    }
    if (status) {
        return cli_fail(status, &error, arguments->operand);
    }
    outcome.own_ps = simulation.makespan_ps;
    int code = other ? simulate_other(other, topology, schedule, &outcome) : CLI_OK;
    if (code == CLI_OK && cli_value(arguments, "json")) {
        print_json(&outcome, topology, other);
    } else if (code == CLI_OK) {
        print_table(&outcome, topology, other);
    }
    return code;
}

static int run(const struct cli_arguments *arguments)
{
    struct pccl_topology *topology;
    struct pccl_schedule *schedule;
    int code = cli_schedule_load(arguments, "from", &topology, &schedule);
    if (code) {
        return code;
    }
    code = simulate(arguments, topology, schedule);
    pccl_schedule_free(schedule);
    pccl_topology_free(topology);
    return code;
}

const struct cli_command cli_command_simulate = {
    .name = "simulate",
    .summary = "predict the time of a schedule, also on another or damaged topology",
    .operands = "FILE",
    .num_operands = 1,
    .options = options,
    .details = "With -t, vertices are matched by name. A message keeps its way where the links\n"
               "exist; elsewhere it takes the way the other network would choose, or, where a\n"
               "link of that is missing and devices forward, the shortest way round. If there\n"
               "is none, the schedule cannot run there (exit code 1).\n"
               "Examples:\n"
               "  pccl simulate gather.json\n"
               "  pccl simulate gather.json -t damaged.json\n",
    .run = run,
};
