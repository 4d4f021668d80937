#include "archive.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "report.h"
#include "world.h"

#define NUM_OUTCOMES 1024 /* power of two; a newer one takes the place of an older one */
#define KEY_BYTES 400

static opal_mutex_t lock = OPAL_MUTEX_STATIC_INIT;
static struct {
    uint64_t subject; /* digest; 0 = empty */
    enum coll_pccl_server server;
} outcomes[NUM_OUTCOMES];

extern char **environ;

static uint64_t mix(uint64_t digest, uint64_t value)
{
    digest = (digest ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    return digest ^ digest >> 32;
}

/* Each rank knows its own neighbours only. */
static bool is_own_affair(const struct coll_pccl_subject *subject)
{
    return coll_pccl_is_among_neighbors(subject->kind);
}

static uint64_t digest_of(const struct coll_pccl_subject *subject)
{
    const struct coll_pccl_group *group = subject->group;
    uint64_t digest = mix(is_own_affair(subject) ? group->neighborhood->digest : group->digest, group->num_ranks);
    return mix(digest, (uint64_t)subject->kind << 16 | (uint64_t)subject->ordered << 8 | subject->band) | 1;
}

/* --- the directory --------------------------------------------------------------------------------------------- */

/* Parameters that decide how messages travel, and which of its algorithms the component below takes. */
static uint64_t digest_settings(void)
{
    static const char *const prefixes[] = {"OMPI_MCA_pml", "OMPI_MCA_btl", "OMPI_MCA_mtl", "OMPI_MCA_coll=",
                                           "OMPI_MCA_coll_tuned", "OMPI_MCA_coll_han"};
    uint64_t sum = 0; /* the order of the environment does not matter */
    for (char **variable = environ; *variable; variable++) {
        for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
            if (strncmp(*variable, prefixes[i], strlen(prefixes[i])) == 0) {
                uint64_t digest = 0;
                for (const char *c = *variable; *c; c++) {
                    digest = mix(digest, (unsigned char)*c);
                }
                sum += digest;
            }
        }
    }
    return sum;
}

static void name_outcome(const struct coll_pccl_subject *subject, char key[KEY_BYTES])
{
    char size[32] = "";
    if (subject->kind != COLL_PCCL_BARRIER) {
        snprintf(size, sizeof size, ", %" PRId64 " bytes", coll_pccl_band_bytes(subject->band));
    }
    snprintf(key, KEY_BYTES,
             "%s%s%s, %" PRIu32 " ranks on %016" PRIx64 " of %016" PRIx64
             ", Open MPI %d.%d.%d, settings %016" PRIx64,
             coll_pccl_collectives[subject->kind].name, size, subject->ordered ? ", in rank order" : "",
             subject->group->num_ranks, subject->group->digest, coll_pccl_world.topology->digest, OMPI_MAJOR_VERSION,
             OMPI_MINOR_VERSION, OMPI_RELEASE_VERSION, digest_settings());
}

/* Ways are numbered as servers are. */
_Static_assert((int)PCCL_WAY_PLAN == COLL_PCCL_PLANNED && (int)PCCL_WAY_FRUGAL == COLL_PCCL_FRUGAL &&
                   (int)PCCL_WAY_OTHER == COLL_PCCL_PREVIOUS && (int)PCCL_NUM_WAYS == COLL_PCCL_NUM_SERVERS,
               "a way for each server");

static enum coll_pccl_server load_outcome(const struct coll_pccl_subject *subject)
{
    struct pccl_store store;
    struct pccl_outcome outcome;
    struct pccl_error error = {""};
    char key[KEY_BYTES];
    bool found = false;
    if (is_own_affair(subject) || !coll_pccl_archive_open(&store)) {
        return COLL_PCCL_UNDECIDED;
    }
    name_outcome(subject, key);
    if (pccl_store_load_outcome(&store, key, &found, &outcome, &error) != PCCL_SUCCESS) {
        coll_pccl_report_refused(subject->group->rank, &error);
    }
    return found ? (enum coll_pccl_server)outcome.fastest : COLL_PCCL_UNDECIDED;
}

static void save_outcome(const struct coll_pccl_subject *subject, enum coll_pccl_server server,
                         const uint64_t medians_ns[COLL_PCCL_NUM_SERVERS])
{
    struct pccl_store store;
    struct pccl_error error = {""};
    char key[KEY_BYTES];
    struct pccl_outcome outcome = {.fastest = (enum pccl_way)server};
    for (int way = 0; way < PCCL_NUM_WAYS; way++) {
        bool was_tried = way != PCCL_WAY_FRUGAL || medians_ns[way] > 0;
        outcome.time_ps[way] = was_tried ? (int64_t)medians_ns[way] * 1000 : -1;
    }
    if (subject->group->rank != 0 || is_own_affair(subject) || !coll_pccl_archive_open(&store)) {
        return;
    }
    name_outcome(subject, key);
    if (pccl_store_save_outcome(&store, key, &outcome, &error) != PCCL_SUCCESS) {
        coll_pccl_report_unkept(&error);
    }
}

/* --- outcomes -------------------------------------------------------------------------------------------------- */

enum coll_pccl_server coll_pccl_archive_recall(const struct coll_pccl_subject *subject)
{
    uint64_t digest = digest_of(subject), place = digest >> 40 & (NUM_OUTCOMES - 1);
    enum coll_pccl_server server = COLL_PCCL_UNDECIDED;
    OPAL_THREAD_LOCK(&lock);
    if (outcomes[place].subject == digest) {
        server = outcomes[place].server;
    }
    OPAL_THREAD_UNLOCK(&lock);
    return server != COLL_PCCL_UNDECIDED ? server : load_outcome(subject);
}

void coll_pccl_archive_remember(const struct coll_pccl_subject *subject, enum coll_pccl_server server,
                             const uint64_t medians_ns[COLL_PCCL_NUM_SERVERS])
{
    uint64_t digest = digest_of(subject), place = digest >> 40 & (NUM_OUTCOMES - 1);
    OPAL_THREAD_LOCK(&lock);
    outcomes[place].subject = digest;
    outcomes[place].server = server;
    OPAL_THREAD_UNLOCK(&lock);
    save_outcome(subject, server, medians_ns);
}
