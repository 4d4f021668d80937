/* pccl explain: why a schedule is as it is, and what every rank does. */
#include <stdlib.h>
#include <string.h>

#include "explain.h"
#include "pccl/bound.h"
#include "pccl/program.h"
#include "pccl/verify.h"

#define DEFAULT_ROWS 16
#define MAX_OPERATIONS 24 /* shown of a rank that was not asked for */

static const struct cli_option options[] = {
    {"candidates", 0, NULL, "only the methods that were compared, with every number of pieces"},
    {"links", 0, NULL, "only the load per link, all links"},
    {"rank", 0, "RANK", "only the operations of this rank, or of all ranks: all"},
    {"topology", 't', "TOPOLOGY", "topology of the schedule, where its file names none that can be found"},
    {NULL, 0, NULL, NULL},
};

struct range {
    uint64_t first, last;
};

static void print_header(const struct explained *subject, const struct pccl_bound *bound)
{
    const struct pccl_schedule *schedule = subject->schedule;
    printf("%s among %u ranks on %s by %s\n", pccl_collective_name(schedule->demand->collective),
           schedule->demand->num_ranks, subject->topology->name, schedule->method);
    if (schedule->pace > 0) {
        printf("in step: a message waits until its sender has received those of the step %u before\n", schedule->pace);
    }
    printf("finish %s, bound %s (%s), gap %s\n\n", cli_time_text(subject->simulation.makespan_ps).text,
           cli_time_text(bound->bound_ps).text, bound->argument ? bound->argument : "-",
           cli_gap_text(subject->simulation.makespan_ps, bound->bound_ps).text);
}

/* --- links ----------------------------------------------------------------------------------------------- */

struct load {
    int64_t held_ps, bytes;
    uint32_t link;
};

static int compare_loads(const void *a, const void *b)
{
    const struct load *left = a, *right = b;
    if (left->held_ps != right->held_ps) {
        return left->held_ps > right->held_ps ? -1 : 1;
    }
    return left->link < right->link ? -1 : left->link > right->link;
}

/* As many characters as the longest name of the first rows needs, and 10 at least. */
static int width_of_names(const struct pccl_topology *topology, const struct load *loads, uint32_t rows)
{
    size_t width = 10;
    for (uint32_t i = 0; i < rows; i++) {
        const struct pccl_link *link = &topology->links[loads[i].link];
        size_t source = strlen(topology->vertices[link->source].name);
        size_t target = strlen(topology->vertices[link->target].name);
        width = source > width ? source : width;
        width = target > width ? target : width;
    }
    return (int)width;
}

static void print_loads(const struct explained *subject, const struct load *loads, uint32_t rows)
{
    const struct pccl_topology *topology = subject->topology;
    int64_t makespan_ps = subject->simulation.makespan_ps;
    uint32_t idle = 0;
    double sum = 0;
    for (uint32_t l = 0; l < topology->num_links; l++) {
        idle += loads[l].bytes == 0;
        sum += makespan_ps > 0 ? (double)loads[l].held_ps / (double)makespan_ps : 0;
    }
    printf("Load per link (%u links, %u idle; held %.1f %% of the time on average)\n", topology->num_links, idle,
           100 * sum / (topology->num_links ? topology->num_links : 1));
    int width = width_of_names(topology, loads, rows);
    printf("  %-*s    %-*s  %12s  %10s  %6s\n", width, "from", width, "to", "bytes", "held", "share");
    for (uint32_t i = 0; i < rows; i++) {
        const struct pccl_link *link = &topology->links[loads[i].link];
        printf("  %-*s -> %-*s  %12s  %10s  %5.1f%%\n", width, topology->vertices[link->source].name, width,
               topology->vertices[link->target].name, cli_bytes_text(loads[i].bytes).text,
               cli_time_text(loads[i].held_ps).text,
               makespan_ps > 0 ? 100 * (double)loads[i].held_ps / (double)makespan_ps : 0);
    }
    if (rows < topology->num_links) {
        printf("  ... and %u more (--links shows all)\n", topology->num_links - rows);
    }
    printf("\n");
}

static int explain_links(const struct explained *subject, bool all)
{
    uint32_t count = subject->topology->num_links;
    struct load *loads = malloc((size_t)count * sizeof(*loads) + 1);
    if (!loads) {
        return cli_fail(PCCL_ERR_MEMORY, NULL, NULL);
    }
    for (uint32_t l = 0; l < count; l++) {
        int64_t bytes = subject->simulation.link_bytes[l];
        loads[l] = (struct load){pccl_transfer_ps(bytes, subject->topology->links[l].ps_per_mib), bytes, l};
    }
    qsort(loads, count, sizeof(*loads), compare_loads);
    print_loads(subject, loads, all || count < DEFAULT_ROWS ? count : DEFAULT_ROWS);
    free(loads);
    return CLI_OK;
}

/* --- operations ------------------------------------------------------------------------------------------ */

/* "output[4-7,9]": runs of slots of one area. */
static void print_slots(const pccl_slot *slots, uint32_t count)
{
    static const char *const areas[] = {"input", "output", "scratch", "?"};
    for (uint32_t i = 0; i < count;) {
        uint32_t area = PCCL_SLOT_AREA(slots[i]), run = i;
        printf("%s%s[", i ? " " : "", areas[area]);
        for (const char *comma = ""; run < count && (uint32_t)PCCL_SLOT_AREA(slots[run]) == area; comma = ",") {
            uint32_t first = run++;
            while (run < count && slots[run] == slots[run - 1] + 1) {
                run++;
            }
            printf("%s%u", comma, PCCL_SLOT_INDEX(slots[first]));
            if (run - first > 1) {
                printf("-%u", PCCL_SLOT_INDEX(slots[run - 1]));
            }
        }
        printf("]");
        i = run;
    }
}

static void print_operation(const struct pccl_program *program, uint32_t index)
{
    const struct pccl_operation *operation = &program->operations[index];
    const pccl_slot *slots = program->slots + operation->first_slot;
    uint32_t count = operation->num_slots;
    printf("  %5u  ", index);
    switch ((enum pccl_operation_kind)operation->kind) {
    case PCCL_OP_SEND:
        printf("send to %u: ", operation->peer);
        print_slots(slots, count);
        break;
    case PCCL_OP_RECEIVE:
        printf("receive from %u: ", operation->peer);
        print_slots(slots, count);
        break;
    case PCCL_OP_COPY:
        printf("copy ");
        print_slots(slots, count);
        printf(" to ");
        print_slots(slots + count, count);
        break;
    case PCCL_OP_REDUCE:
        printf("combine ");
        print_slots(slots, count);
        printf(" with ");
        print_slots(slots + count, count);
        printf(" into ");
        print_slots(slots + 2 * (size_t)count, count);
        break;
    }
    if (operation->num_successors) {
        printf("  (before");
    }
    for (uint32_t i = 0; i < operation->num_successors; i++) {
        printf("%s %u", i ? "," : "", program->successors[operation->first_successor + i]);
    }
    printf("%s\n", operation->num_successors ? ")" : "");
}

/* Where the program form does not exist (relays): the first messages of the rank's device. Returns how many follow. */
static uint32_t print_messages(const struct explained *subject, uint32_t rank, uint32_t most)
{
    uint32_t met = 0;
    const struct pccl_schedule *schedule = subject->schedule;
    uint32_t device = schedule->demand->devices[rank];
    for (uint32_t m = 0; m < schedule->num_messages; m++) {
        const struct pccl_message *message = &schedule->messages[m];
        const struct pccl_path *path = &schedule->paths[message->path];
        uint32_t count;
        const uint32_t *chunks = pccl_message_chunks(schedule, message, &count);
        if ((path->source != device && path->target != device) || met++ >= most) {
            continue;
        }
        bool sends = path->source == device;
        printf("  step %4u, %10s  %s %s: chunk%s", message->step, cli_time_text(subject->simulation.start_ps[m]).text,
               sends             ? "send to"
               : message->reduce ? "combine from"
                                 : "receive from",
               subject->topology->vertices[sends ? path->target : path->source].name, count == 1 ? "" : "s");
        for (uint32_t i = 0; i < count; i++) {
            printf("%s%u", i ? "," : " ", chunks[i]);
        }
        printf("\n");
    }
    return met > most ? met - most : 0;
}

static void print_hidden(uint32_t hidden, uint32_t rank)
{
    if (hidden) {
        printf("  ... and %u more (--rank=%u shows all)\n", hidden, rank);
    }
    printf("\n");
}

static int explain_rank(const struct explained *subject, uint32_t rank, bool all)
{
    struct pccl_error error = {""};
    struct pccl_program *program;
    printf("Operations of rank %u (device %s)\n", rank,
           subject->topology->vertices[subject->schedule->demand->devices[rank]].name);
    int status = pccl_program_create(subject->schedule, rank, &program, &error);
    if (status == PCCL_ERR_UNSUPPORTED) {
        print_hidden(print_messages(subject, rank, all ? UINT32_MAX : MAX_OPERATIONS), rank);
        return CLI_OK;
    }
    if (status) {
        return cli_fail(status, &error, NULL);
    }
    uint32_t count = all || program->num_operations < MAX_OPERATIONS ? program->num_operations : MAX_OPERATIONS;
    for (uint32_t i = 0; i < count; i++) {
        print_operation(program, i);
    }
    print_hidden(program->num_operations - count, rank);
    pccl_program_free(program);
    return CLI_OK;
}

static int read_ranks(const struct explained *subject, const char *text, struct range *ranks)
{
    uint32_t num_ranks = subject->schedule->demand->num_ranks;
    *ranks = (struct range){0, 0};
    if (text && strcmp(text, "all") == 0) {
        ranks->last = num_ranks - 1;
    } else if (text && cli_number_parse(text, num_ranks - 1, &ranks->first)) {
        cli_error("--rank: '%s' is no rank of the schedule; expected 0 to %u, or all", text, num_ranks - 1);
        return CLI_USAGE;
    } else if (text) {
        ranks->last = ranks->first;
    }
    return CLI_OK;
}

static int explain_ranks(const struct explained *subject, const struct range *ranks, bool all)
{
    int code = CLI_OK;
    for (uint64_t rank = ranks->first; code == CLI_OK && rank <= ranks->last; rank++) {
        code = explain_rank(subject, (uint32_t)rank, all);
    }
    if (!all) {
        printf("(--rank=all shows all ranks)\n");
    }
    return code;
}

/* --- command --------------------------------------------------------------------------------------------- */

static int prepare(struct explained *subject, struct pccl_bound *bound, struct pccl_error *error)
{
    size_t messages = (size_t)subject->schedule->num_messages + 1;
    subject->simulation.start_ps = calloc(messages, sizeof(int64_t));
    subject->simulation.link_bytes = calloc((size_t)subject->topology->num_links + 1, sizeof(int64_t));
    if (!subject->simulation.start_ps || !subject->simulation.link_bytes) {
        return PCCL_ERR_MEMORY;
    }
    int status = pccl_verify_schedule(subject->topology, subject->schedule, true, error);
    if (!status) {
        status = pccl_simulate(subject->topology, subject->schedule, &subject->simulation, error);
    }
    if (!status) {
        status = cli_request_recover(subject->topology, subject->schedule, &subject->recovered);
    }
    if (!status) {
        status = pccl_bound_compute(subject->topology, &subject->recovered.request, bound, error);
    }
    return status;
}

static int explain(const struct cli_arguments *arguments, struct explained *subject)
{
    struct pccl_error error = {""};
    struct pccl_bound bound;
    const char *rank = cli_value(arguments, "rank");
    bool candidates = cli_value(arguments, "candidates") != NULL, links = cli_value(arguments, "links") != NULL;
    bool everything = !candidates && !links && !rank;
    struct range ranks;
    int code = read_ranks(subject, rank, &ranks);
    if (code) {
        return code;
    }
    int status = prepare(subject, &bound, &error);
    if (status) {
        return cli_fail(status, &error, arguments->operand);
    }
    print_header(subject, &bound);
    if (everything || candidates) {
        code = cli_explain_methods(subject, candidates);
    }
    if (code == CLI_OK && (everything || links)) {
        code = explain_links(subject, links);
    }
    if (code == CLI_OK && (everything || rank)) {
        code = explain_ranks(subject, &ranks, rank != NULL);
    }
    return code;
}

static int run(const struct cli_arguments *arguments)
{
    struct pccl_topology *topology;
    struct pccl_schedule *schedule;
    int code = cli_schedule_load(arguments, "topology", &topology, &schedule);
    if (code) {
        return code;
    }
    struct explained subject = {.topology = topology, .schedule = schedule};
    code = explain(arguments, &subject);
    cli_request_free(&subject.recovered);
    free(subject.simulation.link_bytes);
    free(subject.simulation.start_ps);
    pccl_schedule_free(schedule);
    pccl_topology_free(topology);
    return code;
}

const struct cli_command cli_command_explain = {
    .name = "explain",
    .summary = "tell why a schedule won, how loaded links are, what ranks do",
    .operands = "FILE",
    .num_operands = 1,
    .options = options,
    .details = "Methods are compared anew, so this can take as long as 'pccl synth'. A ratio\n"
               "of 1.5 means that the method takes 1.5 times as long as this schedule: that is\n"
               "what the schedule gains over it. Operations: numbers in brackets are slots of\n"
               "a rank's input, output or scratch area, one chunk each; 'before' names the\n"
               "operations that wait for this one.\n"
               "Examples:\n"
               "  pccl explain gather.json\n"
               "  pccl explain gather.json --rank=3\n",
    .run = run,
};
