/* Measures the synthesizer on the cases by which it is judged: a table on the terminal, required values beside
 * measured ones, and the same as comma-separated columns in a file. Every schedule is simulated and verified.
 *
 *     synth_bench [-o FILE] [-r FOLDER] [TEXT]
 *
 * -o: where the columns go; -r: reference figures, which are left out without it; TEXT: only cases whose section or
 * name contains it. Times mean something on a quiet machine only. The exit status is 1 if something required is
 * missed. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"

static bool is_wanted(const struct bench_case *which, const char *text)
{
    return text == NULL || strstr(which->section, text) != NULL || strstr(which->name, text) != NULL;
}

/* Cases that differ only in what they are compared with are measured once. */
static void run(const struct bench_list *list, struct bench_measure *measures, uint32_t number)
{
    const struct bench_case *which = &list->cases[number];
    for (uint32_t i = 0; i < number; i++) {
        if (measures[i].num_devices > 0 && bench_is_same(which, &list->cases[i]) && which->reference_us > 0) {
            measures[number] = measures[i];
            measures[number].reference_ps = (int64_t)(which->reference_us * 1e6 + 0.5);
            return;
        }
    }
    bench_run(which, &measures[number]);
}

static int run_all(const struct bench_list *list, struct bench_measure *measures, const char *text)
{
    const char *section = NULL;
    int num_missed = 0;
    for (uint32_t i = 0; i < list->num_cases; i++) {
        const struct bench_case *which = &list->cases[i];
        if (!is_wanted(which, text)) {
            continue;
        }
        if (section == NULL || strcmp(section, which->section) != 0) {
            section = which->section;
            bench_print_heading(which);
        }
        run(list, measures, i);
        num_missed += bench_print(which, &measures[i]);
        fflush(stdout);
    }
    num_missed += bench_print_summary(list, measures);
    printf("\n%d missed\n", num_missed);
    return num_missed;
}

int main(int argc, char **argv)
{
    const char *path = NULL, *folder = NULL;
    int option, result = EXIT_FAILURE;
    while ((option = getopt(argc, argv, "o:r:")) != -1) {
        if (option == 'o') {
            path = optarg;
        } else if (option == 'r') {
            folder = optarg;
        } else {
            fprintf(stderr, "usage: synth_bench [-o FILE] [-r FOLDER] [TEXT]\n");
            return 2;
        }
    }
    struct bench_list list = {0};
    struct bench_measure *measures = NULL;
    if (!bench_add_table(&list) || (folder != NULL && !bench_add_references(&list, folder))) {
        goto done;
    }
    measures = calloc(list.num_cases, sizeof *measures);
    if (measures == NULL) {
        goto done;
    }
    result = run_all(&list, measures, optind < argc ? argv[optind] : NULL) > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
    if (path != NULL && !bench_write_csv(path, &list, measures)) {
        fprintf(stderr, "synth_bench: %s: cannot be written\n", path);
        result = EXIT_FAILURE;
    }
done:
    free(measures);
    free(list.cases);
    return result;
}
