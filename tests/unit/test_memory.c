/* Memory that runs out, and another qsort. Each allocation of the library fails once (PCCL_TEST_EVERY=1), or each of so
 * many: the call says that it is out of memory and has lost nothing, or does what it does anyway. A plan that is only
 * different would be the worst end of all, since the ranks that have memory use another.
 * The functions of the C library are replaced by the linker (see local.mk). */
#define _XOPEN_SOURCE 700 /* mkdtemp */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/digest.h"
#include "pccl/bound.h"
#include "pccl/import.h"
#include "pccl/io.h"
#include "pccl/place.h"
#include "pccl/plan.h"
#include "pccl/store.h"
#include "pccl/synth.h"

#define TRIALS 40 /* failing allocations of each job, unless PCCL_TEST_EVERY is set */

/* --- the C library ------------------------------------------------------------------------------------------------ */

static struct {
    uint64_t fail_at; /* 0: never */
    bool for_good;    /* all later ones fail as well */
    uint64_t count;
    int64_t live;     /* allocations not freed */
    bool sorts_otherwise;
} memory;

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *old, size_t bytes);
void *__real_aligned_alloc(size_t alignment, size_t bytes);
char *__real_strdup(const char *text);
char *__real_realpath(const char *path, char *resolved);
void __real_free(void *old);
void __real_qsort(void *base, size_t count, size_t bytes, int (*compare)(const void *, const void *));
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *old, size_t bytes);
void *__wrap_aligned_alloc(size_t alignment, size_t bytes);
char *__wrap_strdup(const char *text);
char *__wrap_realpath(const char *path, char *resolved);
void __wrap_free(void *old);
void __wrap_qsort(void *base, size_t count, size_t bytes, int (*compare)(const void *, const void *));

static bool fails(void)
{
    memory.count++;
    bool is_out = memory.fail_at != 0 &&
                  (memory.count == memory.fail_at || (memory.for_good && memory.count > memory.fail_at));
    errno = is_out ? ENOMEM : errno;
    return is_out;
}

static void *note(void *made)
{
    memory.live += made != NULL;
    return made;
}

void *__wrap_malloc(size_t bytes)
{
    return fails() ? NULL : note(__real_malloc(bytes));
}

void *__wrap_calloc(size_t count, size_t bytes)
{
    return fails() ? NULL : note(__real_calloc(count, bytes));
}

void *__wrap_realloc(void *old, size_t bytes)
{
    if (fails()) {
        return NULL;
    }
    void *made = __real_realloc(old, bytes);
    return old == NULL ? note(made) : made;
}

void *__wrap_aligned_alloc(size_t alignment, size_t bytes)
{
    return fails() ? NULL : note(__real_aligned_alloc(alignment, bytes));
}

char *__wrap_strdup(const char *text)
{
    return fails() ? NULL : note(__real_strdup(text));
}

char *__wrap_realpath(const char *path, char *resolved)
{
    return resolved != NULL ? __real_realpath(path, resolved) : note(__real_realpath(path, NULL));
}

void __wrap_free(void *old)
{
    memory.live -= old != NULL;
    __real_free(old);
}

static void swap(char *a, char *b, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        char kept = a[i];
        a[i] = b[i];
        b[i] = kept;
    }
}

/* Heap sort: what compares equal ends in another order than in a merge sort. */
static void sort_by_heap(char *base, size_t count, size_t bytes, int (*compare)(const void *, const void *))
{
    for (size_t start = count / 2, end = count; end > 1;) {
        if (start > 0) {
            start--;
        } else {
            swap(base, base + --end * bytes, bytes);
        }
        for (size_t root = start, child; (child = 2 * root + 1) < end; root = child) {
            child += child + 1 < end && compare(base + child * bytes, base + (child + 1) * bytes) < 0;
            if (compare(base + root * bytes, base + child * bytes) >= 0) {
                break;
            }
            swap(base + root * bytes, base + child * bytes, bytes);
        }
    }
}

void __wrap_qsort(void *base, size_t count, size_t bytes, int (*compare)(const void *, const void *))
{
    if (memory.sorts_otherwise) {
        sort_by_heap(base, count, bytes, compare);
    } else {
        __real_qsort(base, count, bytes, compare);
    }
}

/* --- what is tried ------------------------------------------------------------------------------------------------ */

/* A piece of work: gives a digest of what it has made, or an error, and leaves nothing behind. */
struct job {
    const char *name;
    int (*run)(const struct job *job, uint64_t *digest, struct pccl_error *error);
    const char *topology;
    enum pccl_collective collective;
    uint32_t num_ranks;
    int64_t bytes;
    bool ordered, reproducible, direct;
};

static char folder[] = "test_memory.XXXXXX";

static struct pccl_request request_of(const struct job *job, const uint32_t *devices)
{
    return (struct pccl_request){
        .collective = job->collective, .num_ranks = job->num_ranks, .devices = devices, .bytes = job->bytes,
        .ordered = job->ordered, .reproducible = job->reproducible, .direct = job->direct};
}

static uint64_t digest_program(uint64_t digest, const struct pccl_program *program)
{
    digest = pccl__digest_bytes(digest, program->operations, program->num_operations * sizeof *program->operations);
    digest = pccl__digest_bytes(digest, program->slots, program->num_slots * sizeof *program->slots);
    return pccl__digest_bytes(digest, program->successors, program->num_successors * sizeof *program->successors);
}

static const uint32_t own_devices[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

static int lower(const struct pccl_schedule *schedule, uint64_t *digest, struct pccl_error *error)
{
    struct pccl_program *programs[16] = {NULL};
    uint32_t num_ranks = schedule->demand->num_ranks;
    int status = pccl_programs_create(schedule, programs, error);
    if (status == 0) {
        status = pccl_verify_programs(schedule->demand, (const struct pccl_program *const *)programs, error);
    }
    for (uint32_t rank = 0; rank < num_ranks; rank++) {
        assert_true(status != 0 || programs[rank] != NULL);
        if (status == 0) {
            *digest = digest_program(*digest, programs[rank]);
        }
        pccl_program_free(programs[rank]);
    }
    return status;
}

/* From the name of a topology to the programs of all ranks. */
static int synthesize(const struct job *job, uint64_t *digest, struct pccl_error *error)
{
    struct pccl_topology *topology = NULL;
    struct pccl_result *result = NULL;
    struct pccl_request request = request_of(job, own_devices);
    struct pccl_options options = {.effort = PCCL_EFFORT_FIRST_USE};
    int status = pccl_topology_create(job->topology, &topology, error);
    status = status != 0 ? status : pccl_synthesize(topology, &request, &options, &result, error);
    if (status == 0) {
        *digest = pccl_schedule_digest(result->schedule) ^ (uint64_t)result->makespan_ps;
        status = lower(result->schedule, digest, error);
        pccl_result_free(result);
    }
    pccl_topology_free(topology);
    return status;
}

/* A rank's own part, with four ranks on each host. */
static int plan_levels(const struct job *job, uint64_t *digest, struct pccl_error *error)
{
    struct pccl_topology *fabric = NULL, *topology = NULL;
    struct pccl_place places[16];
    uint32_t *devices = NULL;
    struct pccl_plan *plan = NULL;
    for (uint32_t rank = 0; rank < job->num_ranks; rank++) {
        places[rank] = (struct pccl_place){rank / 4, (int32_t)(rank / 2 % 2), (int32_t)(rank / 2 % 2), -1, -1, 0};
    }
    int status = pccl_topology_create(job->topology, &fabric, error);
    status = status != 0 ? status
                         : pccl_topology_place(fabric, places, job->num_ranks, &topology, &devices, error);
    if (status == 0) {
        struct pccl_request request = request_of(job, devices);
        status = pccl_plan_create(topology, &request, 5, &plan, error);
        free(devices);
    }
    if (status == 0) {
        *digest = digest_program((uint64_t)plan->makespan_ps, plan->program);
        pccl_plan_free(plan);
    }
    pccl_topology_free(topology);
    pccl_topology_free(fabric);
    return status;
}

static int compute_bound(const struct job *job, uint64_t *digest, struct pccl_error *error)
{
    struct pccl_topology *topology = NULL;
    struct pccl_request request = request_of(job, own_devices);
    struct pccl_bound bound;
    int status = pccl_topology_create(job->topology, &topology, error);
    status = status != 0 ? status : pccl_bound_compute(topology, &request, &bound, error);
    *digest = status == 0 ? (uint64_t)bound.bound_ps : 0;
    pccl_topology_free(topology);
    return status;
}

/* A schedule that is kept and read again. */
static int keep(const struct job *job, uint64_t *digest, struct pccl_error *error)
{
    struct pccl_store store = {folder, "test"};
    struct pccl_topology *topology = NULL;
    struct pccl_schedule *schedule = NULL;
    struct pccl_result *result = NULL;
    struct pccl_request request = request_of(job, own_devices);
    int status = pccl_topology_create(job->topology, &topology, error);
    status = status != 0 ? status : pccl_synthesize(topology, &request, NULL, &result, error);
    if (status == 0) {
        status = pccl_store_save_schedule(&store, job->name, topology, result->schedule, error);
        pccl_result_free(result);
    }
    status = status != 0 ? status
                         : pccl_store_load_schedule(&store, job->name, topology, &request, &schedule, error);
    if (status == 0) {
        assert_non_null(schedule);
        *digest = pccl_schedule_digest(schedule);
        pccl_schedule_free(schedule);
    }
    pccl_topology_free(topology);
    return status;
}

/* A topology that is written, read, classified and turned round. */
static int convert(const struct job *job, uint64_t *digest, struct pccl_error *error)
{
    char path[64];
    struct pccl_topology *topology = NULL, *again = NULL, *classified = NULL, *reversed = NULL;
    snprintf(path, sizeof path, "%s/topology.json", folder);
    int status = pccl_topology_create(job->topology, &topology, error);
    status = status != 0 ? status : pccl_topology_write(topology, path, error);
    status = status != 0 ? status : pccl_topology_read(path, &again, error);
    status = status != 0 ? status : pccl_topology_classify(again, &classified, error);
    status = status != 0 ? status : pccl_topology_reverse(classified, &reversed, error);
    *digest = status == 0 ? reversed->digest : 0;
    pccl_topology_free(topology);
    pccl_topology_free(again);
    pccl_topology_free(classified);
    pccl_topology_free(reversed);
    return status;
}

static void write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static int import(const struct job *job, uint64_t *digest, struct pccl_error *error)
{
    char path[64];
    struct pccl_topology *topology = NULL;
    snprintf(path, sizeof path, "%s/import", folder);
    write_text(path, job->topology);
    int status = (job->bytes == 0 ? pccl_import_slurm : pccl_import_ibnetdiscover)(path, NULL, &topology, error);
    *digest = status == 0 ? topology->digest : 0;
    pccl_topology_free(topology);
    return status;
}

static int exchange(const struct job *job, uint64_t *digest, struct pccl_error *error)
{
    struct pccl_edge sends[] = {{1, 0}, {0, 1}, {3, 2}, {1, 3}}, receives[] = {{0, 0}, {2, 1}, {1, 2}};
    struct pccl_program *program = NULL;
    (void)job;
    int status = pccl_program_exchange(0, sends, 4, receives, 3, &program, error);
    status = status != 0 ? status : pccl_verify_exchange(program, sends, 4, receives, 3, error);
    *digest = status == 0 ? digest_program(0, program) : 0;
    pccl_program_free(program);
    return status;
}

#define SLURM "SwitchName=s0 Nodes=n[00-03],m1\nSwitchName=s1 Nodes=x[7-9,12]\nSwitchName=top Switches=s[0-1]\n"
#define FABRIC                                                                                                   \
    "Switch 4 \"S-1\" # \"leaf\" base port 0 lid 1 lmc 0\n[1] \"H-1\"[1](a) # \"n1 HCA-1\" lid 2 4xEDR\n"          \
    "[2] \"H-2\"[1](b) # \"n2 HCA-1\" lid 3 4xEDR\n\nCa 1 \"H-1\" # \"n1 HCA-1\"\n[1](a) \"S-1\"[1] # lid 2 4xEDR\n\n" \
    "Ca 1 \"H-2\" # \"n2 HCA-1\"\n[1](b) \"S-1\"[2] # lid 3 4xEDR\n"

static const struct job jobs[] = {
    {"allgather on a star", synthesize, "star:5", PCCL_ALLGATHER, 5, 4096, false, false, false},
    {"allreduce on a ring", synthesize, "ring:6", PCCL_ALLREDUCE, 6, 1 << 20, false, false, false},
    {"allreduce in rank order", synthesize, "mesh:2x3", PCCL_ALLREDUCE, 6, 65536, true, false, false},
    {"reproducible allreduce", synthesize, "hypercube:3", PCCL_ALLREDUCE, 7, 4096, false, true, false},
    {"all-to-all on a torus", synthesize, "torus:3x3", PCCL_ALLTOALL, 9, 16384, false, false, false},
    {"direct all-to-all", synthesize, "fattree:2x3:taper=2", PCCL_ALLTOALL, 6, 4096, false, false, true},
    {"all-to-all in rounds", synthesize, "fattree:2x3:spines=1:unit", PCCL_ALLTOALL, 6, 65536, false, false, false},
    {"barrier", synthesize, "mesh:3x3", PCCL_BARRIER, 9, 0, false, false, false},
    {"broadcast", synthesize, "torus:3x3", PCCL_BROADCAST, 9, 1 << 20, false, false, false},
    {"gather", synthesize, "fattree:3x3", PCCL_GATHER, 8, 1024, false, false, false},
    {"reduce", synthesize, "ring:7", PCCL_REDUCE, 7, 1 << 20, false, false, false},
    {"reduce-scatter", synthesize, "hypercube:3", PCCL_REDUCE_SCATTER, 8, 65536, false, false, false},
    {"scatter", synthesize, "mesh:2x4", PCCL_SCATTER, 8, 8, false, false, false},
    {"scan", synthesize, "star:6", PCCL_SCAN, 6, 1 << 20, false, false, false},
    {"exscan", synthesize, "ring:5", PCCL_EXSCAN, 5, 64, true, false, false},
    {"allgather among boxes", synthesize, "boxes:2x4", PCCL_ALLGATHER, 8, 1 << 20, false, false, false},
    {"allreduce in levels", plan_levels, "star:4", PCCL_ALLREDUCE, 16, 65536, false, false, false},
    {"allgather in levels", plan_levels, "fattree:2x2:taper=2", PCCL_ALLGATHER, 15, 4096, false, false, false},
    {"all-to-all in levels", plan_levels, "star:4", PCCL_ALLTOALL, 16, 8, false, false, false},
    {"direct all-to-all of many", plan_levels, "star:4", PCCL_ALLTOALL, 14, 4096, false, false, true},
    {"direct gather of many", plan_levels, "star:4", PCCL_GATHER, 14, 4096, false, false, true},
    {"broadcast in levels", plan_levels, "ring:4", PCCL_BROADCAST, 16, 1 << 20, false, false, false},
    {"reduce-scatter in levels", plan_levels, "star:3", PCCL_REDUCE_SCATTER, 12, 4096, false, false, false},
    {"scatter in levels", plan_levels, "star:3", PCCL_SCATTER, 11, 4096, false, false, false},
    {"barrier in levels", plan_levels, "mesh:2x2", PCCL_BARRIER, 16, 0, false, false, false},
    {"bound on a torus", compute_bound, "torus:3x3", PCCL_ALLREDUCE, 9, 65536, false, false, false},
    {"bound on a tree", compute_bound, "fattree:3x3:taper=3", PCCL_ALLTOALL, 9, 65536, false, false, false},
    {"store", keep, "mesh:2x2", PCCL_ALLGATHER, 4, 4096, false, false, false},
    {"files of a torus", convert, "torus:2x3", PCCL_BARRIER, 0, 0, false, false, false},
    {"files of a tree", convert, "fattree:2x2", PCCL_BARRIER, 0, 0, false, false, false},
    {"import of Slurm's", import, SLURM, PCCL_BARRIER, 0, 0, false, false, false},
    {"import of ibnetdiscover's", import, FABRIC, PCCL_BARRIER, 0, 1, false, false, false},
    {"exchange", exchange, "", PCCL_BARRIER, 0, 0, false, false, false},
};
#define NUM_JOBS (sizeof jobs / sizeof jobs[0])

/* --- trials ------------------------------------------------------------------------------------------------------- */

static int run(const struct job *job, uint64_t fail_at, bool for_good, uint64_t *digest, struct pccl_error *error)
{
    *error = (struct pccl_error){""};
    *digest = 0;
    memory.live = 0;
    memory.count = 0;
    memory.for_good = for_good;
    memory.fail_at = fail_at;
    int status = job->run(job, digest, error);
    memory.fail_at = 0;
    if (memory.live != 0) {
        fail_msg("%s, allocation %llu fails%s: %lld not freed", job->name, (unsigned long long)fail_at,
                 for_good ? " and all later ones" : "", (long long)memory.live);
    }
    return status;
}

static uint64_t expect_success(const struct job *job, uint64_t *num_allocations)
{
    struct pccl_error error;
    uint64_t digest;
    if (run(job, 0, false, &digest, &error) != 0) {
        fail_msg("%s: %s", job->name, error.message);
    }
    *num_allocations = memory.count;
    return digest;
}

static void test_each_fails(void **state)
{
    (void)state;
    for (size_t i = 0; i < NUM_JOBS; i++) {
        const struct job *job = &jobs[i];
        uint64_t count, digest, expected = expect_success(job, &count);
        uint64_t stride = getenv("PCCL_TEST_EVERY") != NULL ? 1 : count / TRIALS + 1;
        for (uint64_t at = 1; at <= 2 * count; at += stride) {
            struct pccl_error error;
            uint64_t which = (at - 1) % count + 1;
            int status = run(job, which, at > count, &digest, &error);
            bool is_right = status == 0 ? digest == expected : status == PCCL_ERR_MEMORY && error.message[0] != '\0';
            if (!is_right) {
                fail_msg("%s, allocation %llu of %llu fails%s: %s (%s)%s", job->name, (unsigned long long)which,
                         (unsigned long long)count, at > count ? " and all later ones" : "", pccl_status_text(status),
                         error.message, status == 0 ? ", but something else is made" : "");
            }
        }
    }
}

static void test_other_sort(void **state)
{
    (void)state;
    for (size_t i = 0; i < NUM_JOBS; i++) {
        uint64_t count, expected = expect_success(&jobs[i], &count);
        memory.sorts_otherwise = true;
        uint64_t digest = expect_success(&jobs[i], &count);
        memory.sorts_otherwise = false;
        if (digest != expected) {
            fail_msg("%s depends on how qsort orders what compares equal", jobs[i].name);
        }
    }
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) != NULL ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    char command[64];
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_fails),
        cmocka_unit_test(test_other_sort),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
