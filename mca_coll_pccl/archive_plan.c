#include "archive.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report.h"
#include "select.h"
#include "world.h"

#define KEY_BYTES 400

/* --- files ----------------------------------------------------------------------------------------------------- */

bool coll_pccl_archive_open(struct pccl_store *store)
{
    static const char maker[] = "pccl " PCCL_VERSION;
    *store = (struct pccl_store){coll_pccl_parameters.plan_dir, maker};
    return store->directory && store->directory[0];
}

/* Users search for these: MPI's names, and only what applies. */
static void name_plan(const struct coll_pccl_key *key, char text[KEY_BYTES])
{
    char size[32] = "", root[32] = "";
    if (key->collective != PCCL_BARRIER && !key->direct) {
        snprintf(size, sizeof size, ", %" PRId64 " bytes", coll_pccl_band_bytes(key->band));
    }
    if (pccl_collective_is_rooted(key->collective)) {
        snprintf(root, sizeof root, ", root %" PRIu32, key->root);
    }
    snprintf(text, KEY_BYTES, "%s%s%s%s%s%s%s, %" PRIu32 " ranks on %016" PRIx64 " of %016" PRIx64,
             coll_pccl_report_name(key->collective), size, root, key->ordered ? ", in rank order" : "",
             key->reproducible ? ", reproducible" : "", key->direct ? ", direct" : "", key->frugal ? ", frugal" : "",
             key->num_ranks, key->digest, coll_pccl_world.topology->digest);
}

int coll_pccl_archive_load(const struct coll_pccl_key *key, struct pccl_schedule **schedule, struct pccl_error *error)
{
    struct pccl_store store;
    struct pccl_request request = coll_pccl_plan_request(key);
    char text[KEY_BYTES];
    *schedule = NULL;
    if (!coll_pccl_archive_open(&store)) {
        return PCCL_SUCCESS;
    }
    name_plan(key, text);
    return pccl_store_load_schedule(&store, text, coll_pccl_world.topology, &request, schedule, error);
}

void coll_pccl_archive_save(const struct coll_pccl_key *key, const struct pccl_schedule *schedule)
{
    struct pccl_store store;
    struct pccl_error error = {""};
    char text[KEY_BYTES];
    bool is_for_others = schedule->topology_digest != coll_pccl_world.topology->digest; /* made as if on a switch */
    if (key->rank != 0 || is_for_others || !coll_pccl_archive_open(&store)) {
        return;
    }
    name_plan(key, text);
    if (pccl_store_save_topology(&store, coll_pccl_world.topology, &error) != PCCL_SUCCESS ||
        pccl_store_save_schedule(&store, text, coll_pccl_world.topology, schedule, &error) != PCCL_SUCCESS) {
        coll_pccl_report_unkept(&error);
    }
}

uint64_t coll_pccl_archive_digest(const struct pccl_schedule *schedule)
{
    uint64_t digest = pccl_schedule_digest(schedule);
    for (const char *c = schedule->method; *c; c++) {
        digest = (digest ^ (unsigned char)*c) * UINT64_C(0x100000001b3);
    }
    return digest | 1;
}

/* --- agreements: a hash table of the communicator -------------------------------------------------------------- */

/* The entry of a name, or the free one where it belongs. */
static struct coll_pccl_agreed *find_entry(const struct coll_pccl_agreed *table, uint32_t room, uint64_t name)
{
    uint32_t place = (uint32_t)(name * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (room - 1);
    while (table[place].name && table[place].name != name) {
        place = (place + 1) & (room - 1);
    }
    return (struct coll_pccl_agreed *)&table[place];
}

/* At least half of the table stays free, or one place where there is no memory for more: a rank that gave up here would
 * be missed when the others talk about a plan. */
static int make_room(struct coll_pccl_group *group)
{
    if (2 * (group->num_agreed + 1) <= group->agreed_room) {
        return OMPI_SUCCESS;
    }
    uint32_t room = group->agreed_room ? 2 * group->agreed_room : 16;
    struct coll_pccl_agreed *table = calloc(room, sizeof *table);
    if (!table) {
        return group->num_agreed + 1 < group->agreed_room ? OMPI_SUCCESS : MPI_ERR_NO_MEM;
    }
    for (uint32_t i = 0; i < group->agreed_room; i++) {
        if (group->agreed[i].name) {
            *find_entry(table, room, group->agreed[i].name) = group->agreed[i];
        }
    }
    free(group->agreed);
    group->agreed = table;
    group->agreed_room = room;
    return OMPI_SUCCESS;
}

uint64_t coll_pccl_archive_agreed(const struct coll_pccl_group *group, const struct coll_pccl_call *call)
{
    if (!group->agreed_room) {
        return 0;
    }
    return find_entry(group->agreed, group->agreed_room, coll_pccl_plan_name(call))->digest;
}

/* Asks all ranks which plan they have. */
static int ask(struct coll_pccl_module *module, struct ompi_communicator_t *comm, const struct coll_pccl_call *call,
               uint64_t name)
{
    struct coll_pccl_group *group = module->group;
    struct coll_pccl_key key = coll_pccl_plan_key(group, call);
    bool is_from_file;
    uint64_t own = coll_pccl_cache_offer(&key, &is_from_file), values[] = {own, ~own};
    int status = coll_pccl_confer(module, comm, values, 2);
    if (status != OMPI_SUCCESS) {
        return status;
    }
    bool same = values[0] == ~values[1];
    if (is_from_file && !same) {
        struct pccl_error error;
        snprintf(error.message, sizeof error.message, "the ranks do not all have the same plan for %s",
                 coll_pccl_collectives[call->kind].name);
        coll_pccl_report_refused(group->rank, &error);
    }
    *find_entry(group->agreed, group->agreed_room, name) = (struct coll_pccl_agreed){name, same ? own : 0};
    group->num_agreed++;
    return OMPI_SUCCESS;
}

int coll_pccl_archive_agree(struct coll_pccl_module *module, struct ompi_communicator_t *comm,
                         const struct coll_pccl_call *call)
{
    struct pccl_store store;
    struct coll_pccl_group *group = module->group;
    uint64_t name = coll_pccl_plan_name(call);
    bool is_own_affair = group->num_ranks == 1 || coll_pccl_is_among_neighbors(call->kind);
    if (!coll_pccl_archive_open(&store) || is_own_affair || group->declined || group->recent[call->kind].key == name ||
        !coll_pccl_can_confer(module, comm)) {
        return OMPI_SUCCESS;
    }
    int status = make_room(group);
    if (status != OMPI_SUCCESS || find_entry(group->agreed, group->agreed_room, name)->name) {
        return status;
    }
    return ask(module, comm, call, name);
}
