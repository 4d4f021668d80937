/* Lines for people who ask what pccl does. */
#include "report.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static void print_time(char text[32], int64_t time_ps)
{
    if (time_ps < INT64_C(1000000000)) {
        snprintf(text, 32, "%" PRId64 ".%02d us", time_ps / 1000000, (int)(time_ps / 10000 % 100));
    } else {
        snprintf(text, 32, "%" PRId64 ".%02d ms", time_ps / 1000000000, (int)(time_ps / 10000000 % 100));
    }
}

static void print_bytes(char text[32], int64_t bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    int unit = 0;
    while (bytes >= 1024 && unit < 4) {
        bytes /= 1024;
        unit++;
    }
    snprintf(text, 32, "%" PRId64 " %s", bytes, units[unit]);
}

/* "allgather on MPI_COMM_WORLD (id 0, 16 ranks)"; other names than this come from the application, in quotes. */
static void print_subject(char text[160], struct ompi_communicator_t *comm, const char *collective)
{
    const char *quote = comm == MPI_COMM_WORLD || !comm->c_name[0] ? "" : "\"";
    snprintf(text, 160, "%s on %s%.64s%s (id %lu, %d ranks)", collective, quote,
             comm->c_name[0] ? comm->c_name : "a communicator", quote, COLL_PCCL_COMM_ID(comm), ompi_comm_size(comm));
}

const char *coll_pccl_report_name(enum pccl_collective collective)
{
    return collective == PCCL_BROADCAST ? "bcast" : pccl_collective_name(collective);
}

static const char *plural(uint32_t count)
{
    return count == 1 ? "" : "s";
}

/* ", 4 KiB to below 8 KiB"; nothing where one plan serves all sizes. */
static void print_sizes(char text[96], enum coll_pccl_kind kind, uint32_t band)
{
    char low[32], high[32];
    text[0] = '\0';
    if (band == 0) {
        snprintf(text, 96, ", 0 B");
    } else if (kind != COLL_PCCL_BARRIER) {
        print_bytes(low, band <= COLL_PCCL_SMALLEST_BAND ? 1 : coll_pccl_band_bytes(band));
        print_bytes(high, coll_pccl_band_bytes(band + 1));
        snprintf(text, 96, ", %s to below %s", low, high);
    }
}

void coll_pccl_report_use(struct ompi_communicator_t *comm, struct coll_pccl_group *group, enum coll_pccl_kind kind,
                          uint32_t band, const struct coll_pccl_plan *plan, const char *declined)
{
    uint64_t *reported = &group->reported[declined ? 1 : plan->key.frugal ? 2 : 0][kind];
    if (group->rank != 0 || *reported >> band & 1) {
        return;
    }
    *reported |= UINT64_C(1) << band;
    char subject[160], sizes[96] = "", time[32];
    print_subject(subject, comm, coll_pccl_collectives[kind].name);
    if (!coll_pccl_collectives[kind].sizes_private) {
        print_sizes(sizes, kind, band);
    }
    if (declined) {
        opal_output(coll_pccl_output, "%s%s: declined: %s", subject, sizes, declined);
        return;
    }
    print_time(time, plan->predicted_ps);
    bool is_predicted = plan->predicted_ps >= 0;
    uint32_t num_operations = plan->program->num_operations;
    opal_output(coll_pccl_output, "%s%s: plan %s%s, %u piece%s, %u operation%s here%s%s%s%s%s", subject, sizes,
                plan->method, plan->key.frugal ? " (frugal)" : "",
                plan->pieces, plural(plan->pieces), num_operations, plural(num_operations),
                is_predicted ? ", predicted " : "", is_predicted ? time : "",
                plan->assumes_switch ? ", as if on one switch: " : "", plan->assumes_switch ? plan->failure : "",
                plan->key.kept ? ", kept from before" : "");
}

void coll_pccl_report_choice(struct ompi_communicator_t *comm, const struct coll_pccl_subject *subject,
                             enum coll_pccl_server server, const uint64_t medians_ns[COLL_PCCL_NUM_SERVERS])
{
    char text[160], sizes[96], planned[32], frugal[32], previous[32], times[192] = "known from before";
    if (coll_pccl_parameters.verbose == 0 || subject->group->rank != 0) {
        return;
    }
    print_subject(text, comm, coll_pccl_collectives[subject->kind].name);
    print_sizes(sizes, subject->kind, subject->band);
    if (medians_ns) {
        print_time(planned, (int64_t)medians_ns[COLL_PCCL_PLANNED] * 1000);
        print_time(previous, (int64_t)medians_ns[COLL_PCCL_PREVIOUS] * 1000);
        print_time(frugal, (int64_t)medians_ns[COLL_PCCL_FRUGAL] * 1000);
        bool has_frugal = medians_ns[COLL_PCCL_FRUGAL] > 0;
        snprintf(times, sizeof times, "measured %s with pccl%s%s%s, %s with the component below", planned,
                 has_frugal ? ", " : "", has_frugal ? frugal : "", has_frugal ? " with its frugal plan" : "", previous);
    }
    opal_output(coll_pccl_output, "%s%s%s: from now on served by %s: %s", text, sizes,
                coll_pccl_collectives[subject->kind].sizes_private ? " at a rank" : "",
                server == COLL_PCCL_PLANNED  ? "pccl"
                : server == COLL_PCCL_FRUGAL ? "pccl's frugal plan"
                                             : "the component below",
                times);
}

void coll_pccl_report_mute(struct ompi_communicator_t *comm)
{
    char text[160];
    if (coll_pccl_parameters.verbose > 0 && ompi_comm_rank(comm) == 0) {
        print_subject(text, comm, "nothing measured");
        opal_output(coll_pccl_output, "%s: no component below serves allreduce; pccl serves whatever it can", text);
    }
}

void coll_pccl_report_help(const char *topic, ...)
{
    va_list values;
    va_start(values, topic);
    char *text = opal_show_help_vstring(COLL_PCCL_HELP_FILE, topic, false, values);
    va_end(values);
    if (text) {
        opal_output(coll_pccl_output, "%s", text);
    }
    free(text);
}

void coll_pccl_report_refused(uint32_t rank, const struct pccl_error *error)
{
    if (rank == 0) {
        opal_output(coll_pccl_output, "coll_pccl_plan_dir: not used: %s", error->message);
    }
}

void coll_pccl_report_unkept(const struct pccl_error *error)
{
    static bool told;
    if (!told) {
        opal_output(coll_pccl_output, "coll_pccl_plan_dir: nothing is kept: %s", error->message);
    }
    told = true;
}

/* Why a candidate is not the plan. One may be as fast: then fewer pieces or its place in the table decide. */
static const char *verdict(const struct pccl_candidate *candidate, const struct coll_pccl_key *key, int64_t best_ps)
{
    if (!candidate->rejection[0]) {
        return "chosen";
    }
    return candidate->makespan_ps == best_ps && !key->frugal ? "as fast in the model" : candidate->rejection;
}

static int compare_candidates(const void *left, const void *right)
{
    const struct pccl_candidate *a = *(const struct pccl_candidate *const *)left;
    const struct pccl_candidate *b = *(const struct pccl_candidate *const *)right;
    bool a_chosen = !a->rejection[0], b_chosen = !b->rejection[0];
    if (a->makespan_ps != b->makespan_ps) {
        return a->makespan_ps < b->makespan_ps ? -1 : 1;
    }
    return a_chosen != b_chosen ? b_chosen - a_chosen : (a > b) - (a < b);
}

/* Those that were made, the fastest first; of the others how many there are. */
void coll_pccl_report_candidates(struct ompi_communicator_t *comm, const struct coll_pccl_key *key,
                                 const struct pccl_result *result)
{
    char subject[160], size[32], root[32] = "", time[32];
    uint32_t num_made = 0;
    const struct pccl_candidate **made = calloc(result->num_candidates + 1, sizeof(const struct pccl_candidate *));
    if (key->rank != 0 || !made) {
        free(made);
        return;
    }
    for (uint32_t i = 0; i < result->num_candidates; i++) {
        if (result->candidates[i].makespan_ps >= 0) {
            made[num_made++] = &result->candidates[i];
        }
    }
    qsort(made, num_made, sizeof made[0], compare_candidates);
    print_subject(subject, comm, coll_pccl_report_name(key->collective));
    print_bytes(size, key->collective == PCCL_BARRIER ? 0 : coll_pccl_band_bytes(key->band));
    if (pccl_collective_is_rooted(key->collective)) {
        snprintf(root, sizeof root, ", root %u", key->root);
    }
    opal_output(coll_pccl_output, "%s: %u candidate%s for a size of %s%s%s, %u made", subject, result->num_candidates,
                plural(result->num_candidates), size, root,
                key->frugal ? ", frugal, times as if processors were never busy" : "", num_made);
    for (uint32_t i = 0; i < num_made; i++) {
        print_time(time, made[i]->makespan_ps);
        opal_output(coll_pccl_output, "id %lu: %s, %s%s: %-24s %3u piece%s  %12s  %s", COLL_PCCL_COMM_ID(comm),
                    coll_pccl_report_name(key->collective), size, root, made[i]->method, made[i]->pieces,
                    made[i]->pieces == 1 ? " " : "s", time, verdict(made[i], key, result->makespan_ps));
    }
    free(made);
}

void coll_pccl_report_message(const struct coll_pccl_execution *execution, uint32_t index)
{
    const struct pccl_operation *operation = &execution->plan->program->operations[index];
    if (execution->plan->key.rank != 0) {
        return;
    }
    bool is_send = operation->kind == PCCL_OP_SEND;
    opal_output(coll_pccl_output, "id %lu: %s: operation %u, %s rank %u, %zu bytes in %u slot%s%s",
                COLL_PCCL_COMM_ID(execution->comm), coll_pccl_report_name(execution->plan->key.collective), index,
                is_send ? "send to" : "receive from", operation->peer,
                execution->messages[index].units * execution->unit_bytes, operation->num_slots,
                plural(operation->num_slots),
                execution->messages[index].staged ? ", staged" : "");
}

void coll_pccl_report_mismatch(struct ompi_communicator_t *comm, const char *collective, const char *difference)
{
    char subject[160];
    print_subject(subject, comm, collective);
    opal_output(coll_pccl_output, "%s: the ranks do not agree (coll_pccl_check): %s; the call returns an error on all "
                "ranks", subject, difference);
}
