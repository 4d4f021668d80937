/* Agreement in MPI_Init. In two steps: a handshake that cannot hang, then an all-gather that may rely on everybody.
 *
 * The handshake. A rank where pccl is off or missing takes no part, and nobody can know that beforehand. So ranks
 * register with rank 0, which waits a bounded time. No rank goes on alone:
 *
 *     rank k                        rank 0
 *     HELLO          ------------>
 *                    <------------  WELCOME
 *                                   all ranks said hello within the time?
 *                    <------------  OFFER (yes), or DECLINE to those that did (no)
 *     ACCEPT         ------------>  all accept?
 *                    <------------  COMMIT or DECLINE
 *
 * A rank that is not welcomed within the time (rank 0 takes no part, or is too late) sends WITHDRAW and declines; rank
 * 0 then answers the others with DECLINE. After WELCOME a rank waits without limit, but rank 0, which it has heard,
 * waits for a bounded time, or for ranks that it has heard from and that answer in bounded time. So time decides
 * whether ranks agree, never whether they decide the same: only rank 0 says COMMIT, and only when every rank has
 * accepted and none can withdraw.
 *
 * MPI_Init has a barrier of the runtime just before, so even many processes on few cores arrive close together.
 *
 * Messages that nobody receives can stay behind (hello to a rank 0 without pccl, welcome and offer to a rank that
 * withdrew): at most two of four bytes per rank, under a tag that nothing else uses (compat.h). They can only be sends
 * of a few bytes, and no rank waits for their completion. */
#include "agreement.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "report.h"

enum word { HELLO = 1, WELCOME, OFFER, ACCEPT, WITHDRAW, COMMIT, DECLINE };

/* Sent from here, since a request that is given up may still be under way. */
static const int words[] = {0, HELLO, WELCOME, OFFER, ACCEPT, WITHDRAW, COMMIT, DECLINE};

static double now_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void say(struct ompi_communicator_t *world, int peer, enum word word)
{
    ompi_request_t *request = NULL;
    if (MCA_PML_CALL(isend(&words[word], 1, &ompi_mpi_int.dt, peer, COLL_PCCL_AGREEMENT_TAG, MCA_PML_BASE_SEND_STANDARD,
                           world, &request)) == OMPI_SUCCESS) {
        ompi_request_free(&request);
    }
}

/* Waits for a word from `peer` (or anybody), not beyond the deadline if that is not 0. 0 if none came. */
static int hear(struct ompi_communicator_t *world, int *peer, double deadline)
{
    int matched = 0, word = 0;
    ompi_status_public_t status;
    while (!matched) {
        if (MCA_PML_CALL(iprobe(*peer, COLL_PCCL_AGREEMENT_TAG, world, &matched, &status)) != OMPI_SUCCESS) {
            return 0;
        }
        if (!matched) {
            opal_progress();
            if (deadline > 0 && now_seconds() > deadline) {
                return 0;
            }
        }
    }
    *peer = status.MPI_SOURCE;
    if (MCA_PML_CALL(recv(&word, 1, &ompi_mpi_int.dt, *peer, COLL_PCCL_AGREEMENT_TAG, world, MPI_STATUS_IGNORE)) !=
        OMPI_SUCCESS) {
        return 0;
    }
    return word;
}

/* --- telling the user ---------------------------------------------------------------------------------------- */

/* "0-3,7,9 and 12 more" from flags. */
static void list_ranks(const bool *flags, uint32_t num_ranks, char *text, size_t size)
{
    size_t length = 0;
    uint32_t left_out = 0;
    text[0] = '\0';
    for (uint32_t i = 0, end; i < num_ranks; i = end) {
        end = i + 1;
        if (!flags[i]) {
            continue;
        }
        while (end < num_ranks && flags[end]) {
            end++;
        }
        if (length + 40 > size) {
            left_out += end - i;
            continue;
        }
        length += (size_t)snprintf(text + length, size - length, "%s%u", length ? "," : "", i);
        if (end - i > 1) {
            length += (size_t)snprintf(text + length, size - length, "-%u", end - 1);
        }
    }
    if (left_out > 0) {
        snprintf(text + length, size - length, " and %u more", left_out);
    }
}

/* Rank 0 knows whom it misses and speaks alone. Where it is rank 0 that is missing (absent = NULL), all others know
 * only that, for they wait for nobody else, and mpirun makes one text of theirs. */
static void show_absent(const bool *absent, uint32_t num_ranks)
{
    int timeout = coll_pccl_parameters.agreement_timeout;
    char list[256];
    if (absent) {
        list_ranks(absent, num_ranks, list, sizeof list);
        coll_pccl_report_help("ranks absent", timeout, list);
    } else {
        opal_show_help(COLL_PCCL_HELP_FILE, "ranks absent", true, timeout, "0, perhaps others");
    }
    if (coll_pccl_parameters.verbose > 0) {
        opal_output(coll_pccl_output,
                    "off in all ranks of MPI_COMM_WORLD: it is off or not installed in some (see the help text)");
    }
}

/* --- the handshake ------------------------------------------------------------------------------------------- */

/* Rank 0: hears `expected` or a withdrawal from every other rank, and welcomes each. present[i]: rank i is in at the
 * end. */
static bool hear_all(struct ompi_communicator_t *world, enum word expected, double deadline, bool *present)
{
    int num_ranks = ompi_comm_size(world), missing = num_ranks - 1;
    bool withdrawn = false;
    memset(present, 0, (size_t)num_ranks * sizeof *present);
    present[0] = true;
    while (missing > 0) {
        int peer = OMPI_ANY_SOURCE;
        int word = hear(world, &peer, deadline);
        if (word == 0) {
            return false;
        }
        if (word == HELLO) {
            say(world, peer, WELCOME);
        }
        present[peer] = word != WITHDRAW;
        withdrawn |= word == WITHDRAW;
        /* A withdrawal answers an offer, it does not replace a hello. */
        missing -= word != WITHDRAW || expected == ACCEPT;
    }
    return !withdrawn;
}

static bool lead(struct ompi_communicator_t *world, bool *present)
{
    int num_ranks = ompi_comm_size(world);
    bool agreed = hear_all(world, HELLO, now_seconds() + coll_pccl_parameters.agreement_timeout, present);
    if (agreed) {
        for (int i = 1; i < num_ranks; i++) {
            say(world, i, OFFER);
        }
        agreed = hear_all(world, ACCEPT, 0, present);
    }
    for (int i = 1; i < num_ranks; i++) {
        if (present[i]) {
            say(world, i, agreed ? COMMIT : DECLINE);
        }
    }
    for (int i = 0; i < num_ranks; i++) {
        present[i] = !present[i];
    }
    if (!agreed) {
        show_absent(present, (uint32_t)num_ranks);
    }
    return agreed;
}

static bool follow(struct ompi_communicator_t *world)
{
    int rank_0 = 0;
    say(world, 0, HELLO);
    if (hear(world, &rank_0, now_seconds() + coll_pccl_parameters.agreement_timeout) != WELCOME) {
        say(world, 0, WITHDRAW);
        show_absent(NULL, 0);
        return false;
    }
    if (hear(world, &rank_0, 0) != OFFER) {
        return false;
    }
    say(world, 0, ACCEPT);
    return hear(world, &rank_0, 0) == COMMIT;
}

/* --- the records --------------------------------------------------------------------------------------------- */

/* What must be equal everywhere, and how to name it. */
static const struct {
    size_t offset, bytes;
    const char *name;
} compared[] = {
#define FIELD(field, name)                                                                            \
    {                                                                                                 \
        offsetof(struct coll_pccl_record, field), sizeof(((struct coll_pccl_record *)0)->field), name \
    }
    FIELD(magic, "the build of pccl"),
    FIELD(version, "the version of Open MPI or pccl"),
    FIELD(architecture, "the architecture"),
    FIELD(priority, "coll_pccl_priority"),
    FIELD(topology, "coll_pccl_topology"),
    FIELD(placement, "coll_pccl_placement"),
    FIELD(collectives, "coll_pccl_collectives, or what the default components serve,"),
    FIELD(max_ranks, "coll_pccl_max_ranks"),
    FIELD(search_ranks, "coll_pccl_search_ranks"),
    FIELD(message_limit, "coll_pccl_message_limit"),
    FIELD(network_message, "coll_pccl_network_message"),
    FIELD(reproducible, "coll_pccl_reproducible"),
    FIELD(check, "coll_pccl_check"),
    FIELD(selection, "coll_pccl_select, or whether coll_pccl_plan_dir is set,"),
    FIELD(fabric, "the contents of the topology file"),
#undef FIELD
};

static uint64_t digest_of(const char *text)
{
    uint64_t digest = UINT64_C(0xcbf29ce484222325);
    for (; text && *text; text++) {
        digest = (digest ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    }
    return digest;
}

static void fill_record(struct coll_pccl_record *record, uint64_t installed, const struct pccl_topology *fabric)
{
    memset(record, 0, sizeof *record); /* padding is sent too */
    record->magic = UINT64_C(0x7063636c0000) << 16 | sizeof *record;
    snprintf(record->version, sizeof record->version, "%d.%d.%d, pccl %s", OMPI_MAJOR_VERSION, OMPI_MINOR_VERSION,
             OMPI_RELEASE_VERSION, PCCL_VERSION);
    record->architecture = ompi_proc_local()->super.proc_arch;
    record->priority = (uint64_t)coll_pccl_parameters.priority;
    record->topology = digest_of(coll_pccl_parameters.topology);
    record->placement = digest_of(coll_pccl_parameters.placement);
    record->collectives = installed;
    record->max_ranks = (uint64_t)coll_pccl_parameters.max_ranks;
    record->search_ranks = (uint64_t)coll_pccl_parameters.search_ranks;
    record->message_limit = (uint64_t)coll_pccl_parameters.message_limit;
    record->network_message = (uint64_t)coll_pccl_parameters.network_message;
    record->eager_bytes = coll_pccl_network_eager();
    record->reproducible = (uint64_t)coll_pccl_parameters.reproducible;
    record->check = (uint64_t)coll_pccl_parameters.check;
    const char *plan_dir = coll_pccl_parameters.plan_dir;
    record->selection = (uint64_t)coll_pccl_parameters_selection() << 1 | (plan_dir && plan_dir[0]);
    record->fabric = fabric ? fabric->digest : 0;
    coll_pccl_place_find(record);
}

/* True if all records agree; else rank 0 tells what differs where. */
static bool compare_records(const struct coll_pccl_record *records, uint32_t num_ranks, bool tell)
{
    for (size_t f = 0; f < sizeof compared / sizeof compared[0]; f++) {
        const char *first = (const char *)&records[0] + compared[f].offset;
        uint32_t different = 0;
        for (uint32_t i = 1; i < num_ranks && different == 0; i++) {
            if (memcmp(first, (const char *)&records[i] + compared[f].offset, compared[f].bytes) != 0) {
                different = i;
            }
        }
        if (different == 0) {
            continue;
        }
        if (tell) {
            coll_pccl_report_help("ranks differ", compared[f].name, records[0].host, different,
                                  records[different].host);
        }
        if (tell && coll_pccl_parameters.verbose > 0) {
            opal_output(coll_pccl_output, "off in all ranks of MPI_COMM_WORLD: they differ (see the help text)");
        }
        return false;
    }
    return true;
}

static void show_topology_error(int status, const struct pccl_error *error)
{
    const char *text = coll_pccl_parameters.topology, *placement = coll_pccl_parameters.placement;
    coll_pccl_report_help("topology unusable", text && text[0] ? text : "(not set)",
                          placement && placement[0] ? placement : "(not set)",
                          error->message[0] ? error->message : pccl_status_text(status));
    if (coll_pccl_parameters.verbose > 0) {
        opal_output(coll_pccl_output, "off in all ranks of MPI_COMM_WORLD: no usable topology (see the help text)");
    }
}

/* All ranks learn each other's status; the first that failed tells why. True if none did. */
static bool all_succeed(struct ompi_communicator_t *world, int status, const struct pccl_error *error, int *statuses)
{
    mca_coll_base_comm_coll_t *below = world->c_coll;
    if (below->coll_allgather(&status, 1, &ompi_mpi_int.dt, statuses, 1, &ompi_mpi_int.dt, world,
                              below->coll_allgather_module) != OMPI_SUCCESS) {
        return false;
    }
    for (int i = 0; i < ompi_comm_size(world); i++) {
        if (statuses[i] != PCCL_SUCCESS) {
            if (i == ompi_comm_rank(world)) {
                show_topology_error(status, error);
            }
            return false;
        }
    }
    return true;
}

/* Exchanges records through the component below and sets up the world. */
static bool exchange(struct ompi_communicator_t *world, uint64_t installed, struct coll_pccl_record *records,
                     int *statuses)
{
    uint32_t num_ranks = (uint32_t)ompi_comm_size(world);
    mca_coll_base_comm_coll_t *below = world->c_coll;
    struct pccl_error error = {""};
    struct pccl_topology *fabric;
    int status = coll_pccl_fabric_create(&fabric, &error);
    struct coll_pccl_record own;
    fill_record(&own, installed, fabric);
    bool agreed = below->coll_allgather(&own, sizeof own, &ompi_mpi_byte.dt, records, sizeof own, &ompi_mpi_byte.dt,
                                        world, below->coll_allgather_module) == OMPI_SUCCESS &&
                  compare_records(records, num_ranks, ompi_comm_rank(world) == 0) &&
                  all_succeed(world, status, &error, statuses);
    uint32_t unplaced = PCCL_NONE;
    if (agreed) {
        status = coll_pccl_world_create(fabric, records, num_ranks, &unplaced, &error);
        agreed = all_succeed(world, status, &error, statuses);
    }
    if (agreed && unplaced != PCCL_NONE && ompi_comm_rank(world) == 0) {
        coll_pccl_report_help("host not in topology", coll_pccl_parameters.topology, records[unplaced].host, unplaced);
    }
    pccl_topology_free(fabric);
    return agreed;
}

/* How the job stands, told by rank 0. */
static void report_start(const struct coll_pccl_record *records)
{
    char parts[64] = "";
    bool has_hosts = false;
    for (uint32_t i = 1; i < coll_pccl_world.num_ranks; i++) {
        has_hosts |= strcmp(records[i].host, records[0].host) != 0;
    }
    if (has_hosts && coll_pccl_world.network_message < SIZE_MAX) {
        snprintf(parts, sizeof parts, ", messages between hosts of up to %zu bytes", coll_pccl_world.network_message);
    }
    uint32_t num_ranks = coll_pccl_world.num_ranks, num_devices = coll_pccl_world.topology->num_devices;
    opal_output(coll_pccl_output, "on for %u rank%s of MPI_COMM_WORLD, topology %s with %u device%s%s", num_ranks,
                num_ranks == 1 ? "" : "s", coll_pccl_world.topology->name, num_devices, num_devices == 1 ? "" : "s",
                parts);
}

bool coll_pccl_agreement_reach(struct ompi_communicator_t *world, uint64_t installed)
{
    size_t num_ranks = (size_t)ompi_comm_size(world);
    bool *present = malloc(num_ranks * sizeof *present);
    int *statuses = malloc(num_ranks * sizeof *statuses);
    struct coll_pccl_record *records = malloc(num_ranks * sizeof *records);
    /* A rank that lacks something takes no part: to the others it is absent. With a priority below all components that
     * serve an allgather that is every rank. */
    if (present && statuses && records && world->c_coll->coll_allgather &&
        (ompi_comm_rank(world) == 0 ? lead(world, present) : follow(world))) {
        coll_pccl_world.agreed = exchange(world, installed, records, statuses);
        if (!coll_pccl_world.agreed) {
            coll_pccl_world_free();
        }
    }
    if (coll_pccl_world.agreed && coll_pccl_parameters.verbose > 0 && ompi_comm_rank(world) == 0) {
        report_start(records);
    }
    free(records);
    free(statuses);
    free(present);
    return coll_pccl_world.agreed;
}
