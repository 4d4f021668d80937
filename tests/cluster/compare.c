/* Times collectives over pccl, Open MPI's default, and the default's algorithms forced one by one, call by call in
 * turn, in one launch on a cluster of network.sh; checks the data; reads how many bytes crossed each link. Prints CSV,
 * a row per collective, size and variant:
 *   LABEL,collective,bytes,variant,calls,median_us,min_us,max_us,busiest_link,busiest_bytes,total_bytes,wrong
 * A time is that from the first rank's start to the last one's end. A forced algorithm that is far behind the best so
 * far is not called again: its row has few calls.
 *
 *   compare [-f] [-n CALLS] [-l LABEL] [-g COLORS] [-k COMMAND] -m FILE COLLECTIVE:SIZE,SIZE... ...
 *
 * -f  the forced algorithms too; -x: pccl only
 * -n  how many timed calls of each variant, at least (default 5)
 * -l  what each row begins with
 * -g  colour of each rank, with commas between; equal ones form a group, and all groups call at once; x: the rank takes
 *     no part
 * -k  prints "LINK BYTES" for all links
 * -m  a file that no launch has used, for the meetings
 * -w  calls before the timed ones (default 1)
 * -t  seconds after which a single call has failed (default 60) */
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"
#include "meeting.h"
#include "variants.h"

#define MAX_CALLS 41
#define ENOUGH_NS 300000000 /* short calls are repeated until they have taken this long, or MAX_CALLS times */
#define MAX_LINKS 4096
#define FAR_BEHIND 1.3
#define FIRST_CALLS 3 /* after which it is told who is far behind, by the shortest; one if that takes long */
#define LONG_NS 100000000
#define FINAL_CALLS 81 /* of pccl and its strongest rival, more than any other variant has */
#define ACKNOWLEDGED_US 60000 /* hosts acknowledge what nothing answers after 40 ms at the latest */

static struct {
    enum variants_wanted wanted;
    int calls, warm_up, limit_s;
    const char *label, *counters, *meeting;
    char *colors;
} options = {.wanted = VARIANTS_DEFAULT, .calls = 5, .warm_up = 1, .limit_s = 60, .label = ""};

static struct meeting *meeting;
static int rank, num_ranks, color;

struct times {
    int count;
    int64_t ns[FINAL_CALLS];
    char busiest[64];
    long long busiest_bytes, total_bytes;
    int64_t wrong;
};

struct counters {
    int count;
    struct {
        char name[64];
        long long bytes;
    } links[MAX_LINKS];
};

static void fatal(const char *what, const char *which)
{
    fprintf(stderr, "compare: %s: %s\n", what, which);
    MPI_Abort(MPI_COMM_WORLD, 2);
}

static bool takes_part(void)
{
    return color >= 0;
}

/* --- one call ----------------------------------------------------------------------------------------------------- */

static int64_t all_wrong(const struct variant *variant, struct bench_case *c)
{
    int64_t sum = 0;
    const struct bench_sides sides = {.comm = {variant->comm}};
    meeting->wrong[rank] = takes_part() ? (int64_t)bench_case_check(c, &sides, 0) : 0;
    meeting_wait(meeting, num_ranks);
    for (int i = 0; i < num_ranks; i++) {
        sum += meeting->wrong[i];
    }
    meeting_wait(meeting, num_ranks);
    return sum;
}

/* The time is right on rank 0. */
static int64_t time_call(const struct variant *variant, const struct bench_case *c)
{
    int64_t start = INT64_MAX, end = 0;
    alarm((unsigned)options.limit_s);
    meeting_start(meeting, num_ranks);
    meeting->start_ns[rank] = meeting->end_ns[rank] = 0;
    if (takes_part()) {
        const struct bench_sides sides = {.comm = {variant->comm}};
        meeting->start_ns[rank] = meeting_now_ns();
        bench_case_call(c, &sides, 0);
        meeting->end_ns[rank] = meeting_now_ns();
    }
    meeting_wait(meeting, num_ranks);
    for (int i = 0; i < num_ranks; i++) {
        if (meeting->start_ns[i] != 0) {
            start = meeting->start_ns[i] < start ? meeting->start_ns[i] : start;
            end = meeting->end_ns[i] > end ? meeting->end_ns[i] : end;
        }
    }
    return end - start;
}

/* --- bytes on links ----------------------------------------------------------------------------------------------- */

static void read_counters(struct counters *counters)
{
    FILE *stream = popen(options.counters, "r");
    counters->count = 0;
    while (stream && counters->count < MAX_LINKS &&
           fscanf(stream, "%63s %lld%*[^\n]", counters->links[counters->count].name,
                  &counters->links[counters->count].bytes) == 2) {
        counters->count++;
    }
    if (!stream || pclose(stream) != 0 || counters->count == 0) {
        fatal("this does not print counters", options.counters);
    }
}

/* What one call puts on each link. */
static void count_bytes(const struct variant *variant, const struct bench_case *c, struct times *times)
{
    static struct counters before, after;
    if (rank == 0) {
        usleep(ACKNOWLEDGED_US);
        read_counters(&before);
    }
    time_call(variant, c);
    if (rank == 0) {
        usleep(ACKNOWLEDGED_US); /* the last acknowledgements are part of it */
        read_counters(&after);
    }
    meeting_wait(meeting, num_ranks);
    for (int i = 0; rank == 0 && i < after.count; i++) {
        long long bytes = after.links[i].bytes - before.links[i].bytes;
        times->total_bytes += bytes;
        if (bytes > times->busiest_bytes) {
            times->busiest_bytes = bytes;
            snprintf(times->busiest, sizeof times->busiest, "%s", after.links[i].name);
        }
    }
}

/* --- one collective and size -------------------------------------------------------------------------------------- */

static int compare_times(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

static double median_us(const struct times *times)
{
    int64_t sorted[FINAL_CALLS];
    memcpy(sorted, times->ns, sizeof sorted);
    qsort(sorted, (size_t)times->count, sizeof sorted[0], compare_times);
    return (double)(sorted[(times->count - 1) / 2] + sorted[times->count / 2]) / 2e3;
}

static int64_t shortest(const struct times *times)
{
    int64_t least = times->ns[0];
    for (int i = 1; i < times->count; i++) {
        least = times->ns[i] < least ? times->ns[i] : least;
    }
    return least;
}

static void print_row(const char *collective, size_t bytes, const struct variant *variant, const struct times *times)
{
    int64_t most = 0;
    for (int i = 0; i < times->count; i++) {
        most = times->ns[i] > most ? times->ns[i] : most;
    }
    printf("%s%s%s,%zu,%s,%d,%.1f,%.1f,%.1f,%s,%lld,%lld,%lld\n", options.label, *options.label ? "," : "", collective,
           bytes, variant->name, times->count, median_us(times), (double)shortest(times) / 1e3, (double)most / 1e3,
           times->busiest, times->busiest_bytes, times->total_bytes, (long long)times->wrong);
    fflush(stdout);
}

/* Which variants are called again after the first calls of each, as bits, and how often. pccl and the default always
 * are. */
static int64_t choose(const struct times *times, int count, int *calls)
{
    int64_t best = INT64_MAX, going_on = 0;
    for (int i = 0; i < count; i++) {
        best = shortest(&times[i]) < best ? shortest(&times[i]) : best;
    }
    for (int i = 0; i < count; i++) {
        if (i < 2 || (double)shortest(&times[i]) <= FAR_BEHIND * (double)best + 1e6) {
            going_on |= INT64_C(1) << i;
        }
    }
    int64_t fitting = ENOUGH_NS / (best + 1);
    *calls = fitting > MAX_CALLS ? MAX_CALLS : fitting > options.calls ? (int)fitting : options.calls;
    return going_on;
}

/* The next number after `step`, round the end, by which one comes by all of `count` variants. */
static int next_step(int step, int count)
{
    int a, b;
    do {
        step = step % count + 1;
        for (a = count, b = step; b != 0;) {
            int rest = a % b;
            a = b;
            b = rest;
        }
    } while (a != 1);
    return step;
}

/* One more call of each variant that is among `chosen`, beginning with another one each time, and in another order:
 * what the one before leaves behind on links and processors is not always the same one's. */
static void call_in_turn(const struct variant *variants, int count, const struct bench_case *c, struct times *times,
                         int64_t chosen, int call)
{
    static int step;
    step = next_step(step, count);
    for (int turn = 0; turn < count; turn++) {
        int i = (turn * step + call) % count;
        if (chosen >> i & 1) {
            times[i].ns[times[i].count++] = time_call(&variants[i], c);
        }
    }
}

/* The variant that is fastest so far, pccl apart. */
static int find_rival(const struct times *times, int count)
{
    int rival = 1;
    for (int i = 2; i < count; i++) {
        rival = median_us(&times[i]) < median_us(&times[rival]) ? i : rival;
    }
    return rival;
}

/* The fastest of many that are alike is the luckiest: its short calls are timed anew, in turn with pccl's. */
static void run_final(const struct variant *variants, int count, const struct bench_case *c, struct times *times)
{
    int rival = (int)meeting_tell(meeting, num_ranks, rank, find_rival(times, count));
    times[0].count = times[rival].count = 0;
    for (int call = 0; call < FINAL_CALLS; call++) {
        call_in_turn(variants, count, c, times, INT64_C(1) << rival | 1, call);
    }
}

static void time_all(const struct variant *variants, int count, const struct bench_case *c, struct times *times)
{
    int calls = 0, call = 0;
    int64_t going_on = (INT64_C(1) << count) - 1;
    do {
        call_in_turn(variants, count, c, times, going_on, call++);
    } while (call < FIRST_CALLS && meeting_tell(meeting, num_ranks, rank, times[0].ns[0] < LONG_NS));
    going_on = meeting_tell(meeting, num_ranks, rank, choose(times, count, &calls));
    calls = (int)meeting_tell(meeting, num_ranks, rank, calls);
    while (call < calls) {
        call_in_turn(variants, count, c, times, going_on, call++);
    }
    if (count > 2 && calls == MAX_CALLS) {
        run_final(variants, count, c, times);
    }
    for (int i = 0; i < count && options.counters; i++) {
        if (going_on >> i & 1) {
            count_bytes(&variants[i], c, &times[i]);
        }
    }
}

static int run_case(const struct bench_collective *collective, size_t bytes, const struct variant *variants, int count)
{
    static struct times times[VARIANTS_MAX];
    const struct bench_options call_options = {.form = BENCH_BLOCKING, .outstanding = 1};
    struct bench_case c = {.collective = collective};
    memset(times, 0, sizeof times);
    if (takes_part() && bench_case_create(&c, &call_options, collective, bytes, variants[0].comm) != 0) {
        fatal("out of memory", collective->name);
    }
    for (int i = 0; i < count; i++) {
        for (int call = 0; call < (i == 0 ? options.warm_up : 1); call++) {
            alarm((unsigned)options.limit_s);
            meeting_start(meeting, num_ranks); /* links are as rested as before timed calls */
            times[i].wrong += all_wrong(&variants[i], &c);
        }
    }
    time_all(variants, count, &c, times);
    int failures = 0;
    for (int i = 0; i < count; i++) {
        failures += i == 0 && times[i].wrong != 0;
        if (rank == 0) {
            print_row(collective->name, bytes, &variants[i], &times[i]);
        }
    }
    if (takes_part()) {
        bench_case_free(&c);
    }
    return failures;
}

/* --- the command line --------------------------------------------------------------------------------------------- */

static const struct bench_collective *find_collective(const char *name)
{
    for (int i = 0; i < bench_num_collectives; i++) {
        if (strcmp(bench_collectives[i].name, name) == 0) {
            return &bench_collectives[i];
        }
    }
    fatal("no such collective", name);
    return NULL;
}

static size_t parse_size(const char *text)
{
    char *end;
    size_t bytes = strtoul(text, &end, 10);
    return *end == 'K' ? bytes << 10 : *end == 'M' ? bytes << 20 : bytes;
}

/* "allgather:8,64K" */
static int run_argument(char *argument)
{
    struct variant variants[VARIANTS_MAX];
    char *sizes = strchr(argument, ':');
    int failures = 0;
    if (sizes) {
        *sizes++ = '\0';
    }
    const struct bench_collective *collective = find_collective(argument);
    int count = variants_create(variants, argument, options.wanted, color);
    if (count < 0) {
        fatal("cannot switch between variants for", argument);
    }
    for (char *size = strtok(sizes, ","); size; size = strtok(NULL, ",")) {
        failures += run_case(collective, bench_collective_bytes(collective, parse_size(size)), variants, count);
    }
    variants_free(variants, count);
    return failures;
}

static int color_of(int which)
{
    int i = 0;
    for (char *word = options.colors ? strtok(strdup(options.colors), ",") : NULL; word; word = strtok(NULL, ",")) {
        if (i++ == which) {
            return *word == 'x' ? -1 : atoi(word);
        }
    }
    return options.colors ? -1 : 0;
}

static void parse_options(int argc, char **argv)
{
    for (int option; (option = getopt(argc, argv, "fxn:w:l:g:k:m:t:")) != -1;) {
        switch (option) {
        case 'f': options.wanted = VARIANTS_FORCED; break;
        case 'x': options.wanted = VARIANTS_PCCL; break;
        case 'n': options.calls = atoi(optarg); break;
        case 'w': options.warm_up = atoi(optarg); break;
        case 'l': options.label = optarg; break;
        case 'g': options.colors = optarg; break;
        case 'k': options.counters = optarg; break;
        case 'm': options.meeting = optarg; break;
        case 't': options.limit_s = atoi(optarg); break;
        default: fatal("unknown option", argv[optind - 1]);
        }
    }
    if (!options.meeting || options.calls < 1 || options.calls > MAX_CALLS || num_ranks > MEETING_MAX_RANKS) {
        fatal("wrong options", "see the head of compare.c");
    }
}

int main(int argc, char **argv)
{
    int failures = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &num_ranks);
    parse_options(argc, argv);
    color = color_of(rank);
    meeting = meeting_join(options.meeting);
    if (!meeting) {
        fatal("cannot be mapped", options.meeting);
    }
    for (int i = optind; i < argc; i++) {
        failures += run_argument(argv[i]);
    }
    alarm(0);
    MPI_Finalize();
    return failures ? EXIT_FAILURE : EXIT_SUCCESS;
}
