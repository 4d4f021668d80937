/* pccl topology: what a topology is like. */
#include <string.h>

#include "cli.h"
#include "metrics.h"
#include "pccl/io.h"

static const struct cli_option options[] = {
    {"json", 0, NULL, "print one JSON object"},
    {"dot", 0, NULL, "print the graph for Graphviz (links that go both ways alike are drawn once)"},
    {"import", 0, "FORMAT", "FILE is another program's: slurm (topology.conf), ibnetdiscover, hwloc (XML of lstopo)"},
    {"fabric", 0, "TOPOLOGY", "with --import=hwloc: put the costs inside hosts into this fabric"},
    {"speed-unit", 0, "RATE", "with --import=slurm: what LinkSpeed=1 means (default: 1Gbit/s)"},
    {"draw", 0, NULL, "draw the network as SVG"},
    {"placement", 'p', "LIST", "with --draw: device of each rank of a job, such as 0-15 or n1,n1,n2"},
    {"hostfile", 0, "FILE", "with --draw: the same from a host file or rank file of mpirun"},
    {"output", 'o', "FILE", "write a topology file for -t; with --json, --dot or --draw: what those print"},
    {NULL, 0, NULL, NULL},
};

static void print_grid(const struct pccl_topology *topology)
{
    printf("grid        ");
    for (uint32_t i = 0; i < topology->num_dimensions; i++) {
        printf("%s%u%s", i ? " x " : "", topology->dimensions[i], topology->wraps[i] ? " (ring)" : "");
    }
    printf("\n");
}

static void print_classes(const struct metrics *metrics)
{
    for (uint32_t i = 0; i < metrics->num_classes && i < METRICS_MAX_CLASSES; i++) {
        printf("%-12s%llu x latency %s, %s\n", i ? "" : "links", (unsigned long long)metrics->classes[i].count,
               cli_time_text(metrics->classes[i].latency_ps).text, cli_rate_text(metrics->classes[i].ps_per_mib).text);
    }
    if (metrics->num_classes > METRICS_MAX_CLASSES) {
        printf("            and others\n");
    }
}

/* Where the numbers of the links come from. */
static void print_origins(const struct pccl_topology *topology)
{
    uint32_t latency[3] = {0}, bandwidth[3] = {0};
    for (uint32_t l = 0; l < topology->num_links; l++) {
        latency[topology->links[l].latency_origin]++;
        bandwidth[topology->links[l].bandwidth_origin]++;
    }
    if (memcmp(latency, bandwidth, sizeof latency) == 0) {
        printf("costs       %u links measured, %u declared, %u default\n", latency[PCCL_ORIGIN_MEASURED],
               latency[PCCL_ORIGIN_DECLARED], latency[PCCL_ORIGIN_DEFAULT]);
        return;
    }
    printf("latency     of %u links measured, %u declared, %u default\n", latency[PCCL_ORIGIN_MEASURED],
           latency[PCCL_ORIGIN_DECLARED], latency[PCCL_ORIGIN_DEFAULT]);
    printf("bandwidth   of %u links measured, %u declared, %u default\n", bandwidth[PCCL_ORIGIN_MEASURED],
           bandwidth[PCCL_ORIGIN_DECLARED], bandwidth[PCCL_ORIGIN_DEFAULT]);
}

/* The best origin of any number of a level. */
static enum pccl_origin level_origin(const struct pccl_class *costs)
{
    const enum pccl_origin origins[] = {costs->latency_origin, costs->bandwidth_origin, costs->overhead_origin,
                                        costs->eager_origin};
    enum pccl_origin best = PCCL_ORIGIN_DEFAULT;
    for (int i = 0; i < 4; i++) {
        best = origins[i] > best ? origins[i] : best;
    }
    return best;
}

/* Costs inside hosts, of the levels that are not all default. */
static void print_inside(const struct pccl_topology *topology)
{
    static const char *const names[] = {"default", "declared", "measured"};
    uint32_t count[3] = {0};
    for (int level = 0; level < PCCL_NUM_LEVELS; level++) {
        count[level_origin(&topology->inside[level])]++;
    }
    if (count[PCCL_ORIGIN_DEFAULT] == PCCL_NUM_LEVELS) {
        return;
    }
    printf("inside      %u levels measured, %u declared, %u default\n", count[PCCL_ORIGIN_MEASURED],
           count[PCCL_ORIGIN_DECLARED], count[PCCL_ORIGIN_DEFAULT]);
    for (int level = 0; level < PCCL_NUM_LEVELS; level++) {
        const struct pccl_class *costs = &topology->inside[level];
        if (level_origin(costs) == PCCL_ORIGIN_DEFAULT) {
            continue;
        }
        printf("            %s: ", pccl_level_name((enum pccl_level)level));
        if (level != PCCL_LEVEL_RANK) {
            printf("latency %s (%s), ", cli_time_text(costs->latency_ps).text, names[costs->latency_origin]);
        }
        printf("%s (%s)\n", cli_rate_text(costs->ps_per_mib).text, names[costs->bandwidth_origin]);
    }
}

static void print_bandwidth(FILE *stream, double bytes_per_second)
{
    if (bytes_per_second < 0) {
        fprintf(stream, "unlimited");
    } else if (bytes_per_second >= 1e9) {
        fprintf(stream, "%.6g GB/s", bytes_per_second / 1e9);
    } else {
        fprintf(stream, "%.6g MB/s", bytes_per_second / 1e6);
    }
}

static void print_table(const struct pccl_topology *topology, const struct metrics *metrics)
{
    static const char *const routings[] = {"devices relay, switches forward", "the network's shortest ways",
                                           "dimension order",
                                           "shortest ways through switches", "up, then down", "a table"};
    printf("topology    %s\n", topology->name);
    printf("devices     %u\n", topology->num_devices);
    printf("switches    %u\n", topology->num_vertices - topology->num_devices);
    if (topology->num_dimensions) {
        print_grid(topology);
    }
    print_classes(metrics);
    print_origins(topology);
    print_inside(topology);
    if (metrics->num_shared) {
        printf("shared      %u links share a capacity with others\n", metrics->num_shared);
    }
    if (metrics->min_degree == metrics->max_degree) {
        printf("degree      %u\n", metrics->max_degree);
    } else {
        printf("degree      %u to %u\n", metrics->min_degree, metrics->max_degree);
    }
    printf("diameter    %u hops, latency %s%s\n", metrics->diameter_hops, cli_time_text(metrics->diameter_ps).text,
           metrics->sampled ? " (at least: measured from some devices)" : "");
    printf("distance    %.3f hops on average\n", metrics->mean_hops);
    if (topology->num_devices > 1) {
        printf("bisection   at most ");
        print_bandwidth(stdout, metrics->bisection_bytes_per_second);
        printf(" each way (%s)\n", metrics->bisection_cut);
    }
    if (metrics->num_kinds == 1) {
        printf("symmetry    all devices are alike by their surroundings\n");
    } else {
        printf("symmetry    %u kinds of device by their surroundings\n", metrics->num_kinds);
    }
    printf("routing     %s\n", routings[topology->routing]);
    printf("digest      %016llx\n", (unsigned long long)topology->digest);
    if (metrics->unreachable) {
        printf("note        %llu ordered pairs of devices have no way between them\n",
               (unsigned long long)metrics->unreachable);
    }
}

static void print_json(FILE *stream, const struct pccl_topology *topology, const struct metrics *metrics)
{
    char digest[20];
    snprintf(digest, sizeof(digest), "%016llx", (unsigned long long)topology->digest);
    fprintf(stream, "{");
    cli_json_string(stream, "name", topology->name, true);
    cli_json_integer(stream, "devices", topology->num_devices, false);
    cli_json_integer(stream, "switches", topology->num_vertices - topology->num_devices, false);
    cli_json_integer(stream, "links", topology->num_links, false);
    cli_json_integer(stream, "links_sharing_capacity", metrics->num_shared, false);
    cli_json_integer(stream, "degree_min", metrics->min_degree, false);
    cli_json_integer(stream, "degree_max", metrics->max_degree, false);
    cli_json_integer(stream, "diameter_hops", metrics->diameter_hops, false);
    cli_json_integer(stream, "diameter_ps", metrics->diameter_ps, false);
    fprintf(stream, ", \"mean_hops\": %.6f, \"distances_sampled\": %s", metrics->mean_hops,
            metrics->sampled ? "true" : "false");
    cli_json_integer(stream, "unreachable_pairs", (int64_t)metrics->unreachable, false);
    if (metrics->bisection_bytes_per_second < 0) {
        fprintf(stream, ", \"bisection_bytes_per_second\": null");
    } else {
        fprintf(stream, ", \"bisection_bytes_per_second\": %.0f", metrics->bisection_bytes_per_second);
    }
    cli_json_integer(stream, "device_kinds", metrics->num_kinds, false);
    fprintf(stream, ", \"dimensions\": [");
    for (uint32_t i = 0; i < topology->num_dimensions; i++) {
        fprintf(stream, "%s%u", i ? ", " : "", topology->dimensions[i]);
    }
    fprintf(stream, "]");
    cli_json_string(stream, "digest", digest, false);
    fprintf(stream, "}\n");
}

/* Whether the same link exists the other way round; then the pair is drawn once, at its lower end. */
static bool has_twin(const struct pccl_topology *topology, const struct pccl_link *link)
{
    for (uint32_t i = topology->first_out[link->target]; i < topology->first_out[link->target + 1]; i++) {
        const struct pccl_link *other = &topology->links[topology->out_links[i]];
        if (other->target == link->source && other->latency_ps == link->latency_ps &&
            other->ps_per_mib == link->ps_per_mib) {
            return true;
        }
    }
    return false;
}

static void print_dot(FILE *stream, const struct pccl_topology *topology)
{
    fprintf(stream, "digraph ");
    cli_json_quote(stream, topology->name);
    fprintf(stream, " {\n    node [shape=circle];\n");
    for (uint32_t v = 0; v < topology->num_vertices; v++) {
        fprintf(stream, "    v%u [label=", v);
        cli_json_quote(stream, topology->vertices[v].name);
        fprintf(stream, "%s];\n", topology->vertices[v].kind == PCCL_SWITCH ? ", shape=box" : "");
    }
    for (uint32_t l = 0; l < topology->num_links; l++) {
        const struct pccl_link *link = &topology->links[l];
        bool twin = has_twin(topology, link);
        if (twin && link->source > link->target) {
            continue;
        }
        fprintf(stream, "    v%u -> v%u [label=\"%s, %s\"%s];\n", link->source, link->target,
               cli_time_text(link->latency_ps).text, cli_rate_text(link->ps_per_mib).text, twin ? ", dir=both" : "");
    }
    fprintf(stream, "}\n");
}

static int draw(const struct cli_arguments *arguments, const struct pccl_topology *topology, FILE *stream)
{
    const char *placement = cli_value(arguments, "placement"), *hostfile = cli_value(arguments, "hostfile");
    struct cli_ranks ranks = {0};
    struct pccl_error error = {""};
    int status = PCCL_SUCCESS;
    if (placement) {
        status = cli_ranks_parse(topology, placement, &ranks, &error);
    } else if (hostfile) {
        status = cli_ranks_read(topology, hostfile, &ranks, &error);
    }
    if (status) {
        int code = cli_fail(status, &error, placement ? "--placement" : hostfile);
        return code != CLI_USAGE && code != CLI_INPUT ? code : placement ? CLI_USAGE : CLI_INPUT;
    }
    int code = cli_draw(stream, topology, &ranks);
    cli_ranks_free(&ranks);
    return code;
}

/* What the options ask for, to a stream. */
static int print(const struct cli_arguments *arguments, const struct pccl_topology *topology, FILE *stream)
{
    struct metrics metrics;
    if (cli_value(arguments, "dot")) {
        print_dot(stream, topology);
        return CLI_OK;
    }
    if (cli_value(arguments, "draw")) {
        return draw(arguments, topology, stream);
    }
    int status = metrics_compute(topology, &metrics);
    if (status) {
        return cli_fail(status, NULL, NULL);
    }
    if (cli_value(arguments, "json")) {
        print_json(stream, topology, &metrics);
    } else {
        print_table(topology, &metrics);
    }
    return CLI_OK;
}

static int num_formats(const struct cli_arguments *arguments)
{
    return (cli_value(arguments, "json") != NULL) + (cli_value(arguments, "dot") != NULL) +
           (cli_value(arguments, "draw") != NULL);
}

static int check_output(const struct cli_arguments *arguments)
{
    const char *output = cli_value(arguments, "output");
    if (cli_value(arguments, "dot")) {
        return cli_output_check(output, "dot", "");
    }
    return cli_value(arguments, "draw") ? cli_output_check(output, "svg", "")
                                        : cli_output_check(output, "json", ", or --draw for a picture as SVG");
}

static int write_topology(const struct cli_arguments *arguments, const struct pccl_topology *topology)
{
    const char *output = cli_value(arguments, "output");
    struct pccl_error error = {""};
    struct cli_file file;
    if (output && !num_formats(arguments)) {
        int status = pccl_topology_write(topology, output, &error);
        return status ? cli_fail(status, &error, output) : CLI_OK;
    }
    int code = cli_file_open(&file, output);
    return code ? code : cli_file_close(&file, print(arguments, topology, file.stream));
}

static int load(const struct cli_arguments *arguments, struct pccl_topology **topology)
{
    const char *format = cli_value(arguments, "import"), *fabric = cli_value(arguments, "fabric"),
               *speed_unit = cli_value(arguments, "speed-unit");
    if (format) {
        return cli_import(format, arguments->operands, arguments->num_operands, fabric, speed_unit, topology);
    }
    if (fabric || speed_unit) {
        cli_error("topology: --%s is for imports; expected --import too", fabric ? "fabric" : "speed-unit");
        return CLI_USAGE;
    }
    if (arguments->num_operands > 1) {
        cli_error("topology: unexpected '%s' (see 'pccl topology --help')", arguments->operands[1]);
        return CLI_USAGE;
    }
    return cli_topology_load(arguments->operand, topology);
}

static int run(const struct cli_arguments *arguments)
{
    struct pccl_topology *topology;
    if (num_formats(arguments) > 1) {
        cli_error("topology: --json, --dot and --draw are different formats; expected one of them");
        return CLI_USAGE;
    }
    if ((cli_value(arguments, "placement") || cli_value(arguments, "hostfile")) &&
        (!cli_value(arguments, "draw") || (cli_value(arguments, "placement") && cli_value(arguments, "hostfile")))) {
        cli_error("topology: --placement or --hostfile, not both, go with --draw");
        return CLI_USAGE;
    }
    int code = check_output(arguments);
    if (code == CLI_OK) {
        code = load(arguments, &topology);
    }
    if (code) {
        return code;
    }
    code = write_topology(arguments, topology);
    pccl_topology_free(topology);
    return code;
}

const struct cli_command cli_command_topology = {
    .name = "topology",
    .summary = "describe, draw, write or import a topology",
    .operands = "TOPOLOGY | --import=FORMAT FILE...",
    .num_operands = 1,
    .max_operands = 1 << 16,
    .options = options,
    .details = "TOPOLOGY is a generator such as torus:4x4, or a JSON or CSV file. With --import,\n"
               "FILE is what another program knows of the network: the result can be described,\n"
               "drawn and written in the same way.\n"
               "Examples:\n"
               "  pccl topology torus:8x8x8\n"
               "  pccl topology fattree:4x8 -o fabric.json\n"
               "  pccl topology --import=slurm /etc/slurm/topology.conf -o fabric.json\n"
               "  pccl topology --import=hwloc node01.xml --fabric=./fabric.json -o fabric.json\n"
               "  pccl topology torus:4x4 --draw --placement=0-15 -o torus.svg\n"
               "  pccl topology mesh:4x4 --dot | dot -Tsvg > mesh.svg\n",
    .run = run,
};
