/* pccl convert: schedules for other programs. */
#include <string.h>

#include "convert.h"
#include "pccl/verify.h"

static const struct cli_option options[] = {
    {"to", 0, "FORMAT", "msccl (XML for MSCCL's runtime on GPUs) or csv (one line per message); required"},
    {"output", 'o', "FILE", "file to write (default: the standard output)"},
    {"topology", 't', "TOPOLOGY", "topology of the schedule, where its file names none that can be found"},
    {NULL, 0, NULL, NULL},
};

static int convert(const struct cli_arguments *arguments, const struct pccl_topology *topology,
                   const struct pccl_schedule *schedule)
{
    struct pccl_error error = {""};
    struct cli_file file;
    int status = pccl_verify_schedule(topology, schedule, true, &error);
    if (status) {
        return cli_fail(status, &error, arguments->operand);
    }
    int code = cli_file_open(&file, cli_value(arguments, "output"));
    if (code) {
        return code;
    }
    if (strcmp(cli_value(arguments, "to"), "csv") == 0) {
        status = convert_csv(topology, schedule, file.stream, &error);
    } else {
        status = convert_msccl(schedule, file.stream, &error);
    }
    return cli_file_close(&file, status ? cli_fail(status, &error, arguments->operand) : CLI_OK);
}

static int run(const struct cli_arguments *arguments)
{
    const char *format = cli_value(arguments, "to");
    struct pccl_topology *topology;
    struct pccl_schedule *schedule;
    if (!format) {
        cli_error("convert: --to is missing; expected msccl or csv");
        return CLI_USAGE;
    }
    if (strcmp(format, "msccl") != 0 && strcmp(format, "csv") != 0) {
        cli_error("--to: '%s' is no format; expected msccl or csv", format);
        return CLI_USAGE;
    }
    int code = cli_output_check(cli_value(arguments, "output"), strcmp(format, "csv") == 0 ? "csv" : "xml", "");
    if (code == CLI_OK) {
        code = cli_schedule_load(arguments, "topology", &topology, &schedule);
    }
    if (code) {
        return code;
    }
    code = convert(arguments, topology, schedule);
    pccl_schedule_free(schedule);
    pccl_topology_free(topology);
    return code;
}

const struct cli_command cli_command_convert = {
    .name = "convert",
    .summary = "write a schedule as MSCCL XML or CSV",
    .operands = "FILE",
    .num_operands = 1,
    .options = options,
    .details = "MSCCL needs equal chunks, no relays outside the group and reductions in any\n"
               "order.\n"
               "Examples:\n"
               "  pccl convert gather.json --to=msccl -o gather.xml\n"
               "  pccl convert gather.json --to=csv | head\n",
    .run = run,
};
