/* Methods: what the portfolio tries on the request of a schedule, compared with the schedule itself. */
#include <stdlib.h>
#include <string.h>

#include "explain.h"
#include "pccl/synth.h"

#define MAX_COMPARED_RANKS 128 /* above, methods that the portfolio leaves out take too long to make for comparison */

struct row {
    struct pccl_candidate candidate;
    bool own; /* this schedule */
};

struct table {
    struct row *rows; /* [num_rows] */
    uint32_t num_rows;
    int64_t own_ps; /* finish of this schedule */
};

/* --- making ---------------------------------------------------------------------------------------------- */

/* A method that the portfolio left out by its forecast is made after all, alone, so that the gain over it is known. */
static void make_after_all(const struct explained *subject, struct pccl_candidate *candidate,
                           struct pccl_options chosen)
{
    struct pccl_result *result = NULL;
    chosen.method = candidate->method;
    if (pccl_synthesize(subject->topology, &subject->recovered.request, &chosen, &result, NULL) != PCCL_SUCCESS) {
        return;
    }
    for (uint32_t i = 0; i < result->num_candidates; i++) {
        const struct pccl_candidate *made = &result->candidates[i];
        if (strcmp(made->method, candidate->method) != 0 || made->pieces != candidate->pieces) {
            continue;
        }
        candidate->makespan_ps = made->makespan_ps;
        snprintf(candidate->rejection, sizeof(candidate->rejection), "%s",
                 made->makespan_ps >= 0 ? "slower by its forecast, made to compare" : made->rejection);
    }
    pccl_result_free(result);
}

static bool is_made(const struct pccl_result *result, const char *method)
{
    for (uint32_t i = 0; i < result->num_candidates; i++) {
        if (result->candidates[i].makespan_ps >= 0 && strcmp(result->candidates[i].method, method) == 0) {
            return true;
        }
    }
    return false;
}

static void make_missing(const struct explained *subject, struct pccl_result *result,
                         const struct pccl_options *chosen)
{
    for (uint32_t i = 0; i < result->num_candidates; i++) {
        struct pccl_candidate *candidate = &result->candidates[i];
        if (subject->recovered.request.num_ranks <= MAX_COMPARED_RANKS && !is_made(result, candidate->method)) {
            make_after_all(subject, candidate, *chosen);
        }
    }
}

static int make_all(const struct explained *subject, struct pccl_result **result, struct pccl_error *error)
{
    struct cli_progress progress;
    struct pccl_options chosen = {
        .effort = PCCL_EFFORT_THOROUGH, .progress = cli_progress_update, .progress_context = &progress};
    cli_progress_begin(&progress);
    int status = cli_synthesize(subject->topology, &subject->recovered.request, &chosen, result, error);
    if (!status) {
        make_missing(subject, *result, &chosen);
    }
    cli_progress_end(&progress);
    return status;
}

/* --- ordering -------------------------------------------------------------------------------------------- */

/* By finish, this schedule before others as fast; those that were not made come last. */
static int compare_rows(const void *a, const void *b)
{
    const struct row *left = a, *right = b;
    uint64_t left_ps = (uint64_t)left->candidate.makespan_ps, right_ps = (uint64_t)right->candidate.makespan_ps;
    if (left_ps != right_ps) {
        return left_ps < right_ps ? -1 : 1;
    }
    if (left->own != right->own) {
        return left->own ? -1 : 1;
    }
    int order = strcmp(left->candidate.method, right->candidate.method);
    uint32_t left_pieces = left->candidate.pieces, right_pieces = right->candidate.pieces;
    return order ? order : left_pieces < right_pieces ? -1 : left_pieces > right_pieces;
}

/* The row that this schedule is: of those of its method with its time the one with as many pieces, or else the first.
 * Where the portfolio did not make it now, it becomes a row of its own. */
static void mark_own(const struct explained *subject, struct table *table)
{
    const struct pccl_schedule *schedule = subject->schedule;
    struct row *own = NULL;
    for (uint32_t i = 0; i < table->num_rows; i++) {
        struct row *row = &table->rows[i];
        bool alike = strcmp(row->candidate.method, schedule->method) == 0;
        if (alike && row->candidate.makespan_ps == table->own_ps &&
            (!own || row->candidate.pieces == schedule->demand->pieces)) {
            own = row;
        }
    }
    if (!own) {
        own = &table->rows[table->num_rows++];
        own->candidate = (struct pccl_candidate){.pieces = schedule->demand->pieces, .makespan_ps = table->own_ps};
        snprintf(own->candidate.method, sizeof(own->candidate.method), "%s", schedule->method);
    }
    own->own = true;
}

static int fill_table(const struct explained *subject, const struct pccl_result *result, struct table *table)
{
    table->own_ps = subject->simulation.makespan_ps;
    table->num_rows = result->num_candidates;
    table->rows = calloc((size_t)result->num_candidates + 1, sizeof(*table->rows));
    if (!table->rows) {
        return PCCL_ERR_MEMORY;
    }
    for (uint32_t i = 0; i < table->num_rows; i++) {
        table->rows[i].candidate = result->candidates[i];
    }
    mark_own(subject, table);
    qsort(table->rows, table->num_rows, sizeof(*table->rows), compare_rows);
    return PCCL_SUCCESS;
}

/* --- printing -------------------------------------------------------------------------------------------- */

static const char *find_verdict(const struct table *table, const struct row *row)
{
    int64_t makespan_ps = row->candidate.makespan_ps, least_ps = table->rows[0].candidate.makespan_ps;
    if (row->own) {
        return makespan_ps == least_ps ? "this schedule, the best" : "this schedule";
    }
    if (makespan_ps >= 0 && makespan_ps <= table->own_ps) {
        return makespan_ps == table->own_ps ? "as fast in the model" : "faster in the model";
    }
    return row->candidate.rejection[0] ? row->candidate.rejection : "slower in the model";
}

static void print_row(const struct table *table, const struct row *row)
{
    const struct pccl_candidate *candidate = &row->candidate;
    printf("  %-28s %6u  ", candidate->method, candidate->pieces);
    if (candidate->makespan_ps < 0) {
        printf("%10s  %9s", "-", "-");
    } else if (table->own_ps > 0) {
        printf("%10s  %8.3fx", cli_time_text(candidate->makespan_ps).text,
               (double)candidate->makespan_ps / (double)table->own_ps);
    } else {
        printf("%10s  %9s", cli_time_text(candidate->makespan_ps).text, "-");
    }
    printf("  %s\n", find_verdict(table, row));
}

/* Whether a row of the same method stands before this one: better, with another number of pieces. */
static bool has_better(const struct row *rows, uint32_t index)
{
    for (uint32_t i = 0; i < index; i++) {
        if (strcmp(rows[i].candidate.method, rows[index].candidate.method) == 0) {
            return true;
        }
    }
    return false;
}

static void print_table(const struct table *table, bool all)
{
    uint32_t hidden = 0;
    printf("Methods compared (finish, and how many times as long as this schedule)\n");
    printf("  %-28s %6s  %10s  %9s  %s\n", "method", "pieces", "finish", "ratio", "verdict");
    for (uint32_t i = 0; i < table->num_rows; i++) {
        if (!all && !table->rows[i].own && has_better(table->rows, i)) {
            hidden++;
        } else {
            print_row(table, &table->rows[i]);
        }
    }
    if (hidden) {
        printf("  ... and %u more with other numbers of pieces (--candidates shows all)\n", hidden);
    }
    printf("\n");
}

int cli_explain_methods(const struct explained *subject, bool all)
{
    struct pccl_error error = {""};
    struct pccl_result *result = NULL;
    struct table table;
    int status = make_all(subject, &result, &error);
    if (status) {
        return cli_fail(status, &error, NULL);
    }
    status = fill_table(subject, result, &table);
    pccl_result_free(result);
    if (status) {
        return cli_fail(status, NULL, NULL);
    }
    print_table(&table, all);
    free(table.rows);
    return CLI_OK;
}
