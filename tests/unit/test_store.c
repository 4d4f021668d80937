/* A store on disk: what is kept comes back; whatever else lies under its names is refused; many processes at once and a
 * full disk damage nothing. */
#define _XOPEN_SOURCE 700 /* mkdtemp, mkfifo */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/random.h"
#include "pccl/store.h"
#include "samples.h"

#define NUM_RANKS 6
#define BYTES 4096
#define KEY "allgather, 4096 bytes"
#define HEAD "{\"format\": \"pccl-outcome\", \"version\": 1, \"made_by\": \"pccl 1.2.3\", \"key\": \"" KEY "\""
#define FILE_BYTES (1 << 16)

static char folder[] = "test_store.XXXXXX";
static struct pccl_store store = {folder, "pccl 1.2.3"};
static struct pccl_topology *topology;

static struct pccl_request request_of(enum pccl_collective collective)
{
    static uint32_t devices[NUM_RANKS];
    for (uint32_t i = 0; i < NUM_RANKS; i++) {
        devices[i] = NUM_RANKS - 1 - i; /* as in the samples */
    }
    return (struct pccl_request){
        .collective = collective, .num_ranks = NUM_RANKS, .devices = devices, .bytes = BYTES};
}

static struct pccl_schedule *make(enum sample_kind kind)
{
    struct pccl_schedule *schedule = sample_schedule(topology, kind, NUM_RANKS, 1, BYTES, false, false);
    assert_non_null(schedule);
    return schedule;
}

static void save(enum sample_kind kind)
{
    struct pccl_error error = {""};
    struct pccl_schedule *schedule = make(kind);
    assert_int_equal(pccl_store_save_schedule(&store, KEY, topology, schedule, &error), 0);
    pccl_schedule_free(schedule);
}

/* Loads what is kept under KEY; the reason if it is refused. */
static int load(const struct pccl_request *request, uint64_t *digest, struct pccl_error *error)
{
    struct pccl_schedule *schedule;
    int status = pccl_store_load_schedule(&store, KEY, topology, request, &schedule, error);
    *digest = schedule != NULL ? pccl_schedule_digest(schedule) : 0;
    assert_true(status == 0 || schedule == NULL);
    pccl_schedule_free(schedule);
    return status;
}

static void expect_refusal(const struct pccl_request *request, const char *reason)
{
    struct pccl_error error = {""};
    uint64_t digest;
    assert_int_equal(load(request, &digest, &error), PCCL_ERR_FORMAT);
    if (strstr(error.message, reason) == NULL) {
        fail_msg("\"%s\" does not say \"%s\"", error.message, reason);
    }
}

static uint32_t count_files(void)
{
    uint32_t count = 0;
    DIR *listing = opendir(folder);
    for (struct dirent *entry; (entry = readdir(listing)) != NULL;) {
        count += entry->d_name[0] != '.';
    }
    closedir(listing);
    return count;
}

/* The path of the only file. */
static void find_file(char path[512])
{
    DIR *listing = opendir(folder);
    for (struct dirent *entry; (entry = readdir(listing)) != NULL;) {
        if (entry->d_name[0] != '.') {
            snprintf(path, 512, "%s/%.400s", folder, entry->d_name);
        }
    }
    closedir(listing);
}

static size_t read_file(const char *path, char *text)
{
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    size_t length = fread(text, 1, FILE_BYTES, file);
    fclose(file);
    return length;
}

static void write_file(const char *path, const char *text, size_t length)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
}

static int make_folder(void **state)
{
    (void)state;
    strcpy(folder, "test_store.XXXXXX");
    topology = sample_topology(NUM_RANKS);
    return mkdtemp(folder) != NULL ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    char path[512];
    while (count_files() > 0) {
        find_file(path);
        if (unlink(path) != 0) {
            return -1;
        }
    }
    pccl_topology_free(topology);
    return rmdir(folder);
}

/* --- what is kept ------------------------------------------------------------------------------------------------- */

static void test_schedules_come_back(void **state)
{
    (void)state;
    struct pccl_error error = {""};
    struct pccl_request request = request_of(PCCL_ALLGATHER);
    uint64_t digest;
    assert_int_equal(load(&request, &digest, &error), 0);
    assert_true(digest == 0);
    struct pccl_schedule *schedule = make(SAMPLE_RING_ALLGATHER);
    save(SAMPLE_BRUCK_ALLGATHER);
    save(SAMPLE_RING_ALLGATHER);
    assert_int_equal(load(&request, &digest, &error), 0);
    assert_true(digest == pccl_schedule_digest(schedule));
    assert_int_equal(count_files(), 1);
    pccl_schedule_free(schedule);
}

/* Written once, and the same when it is read. */
static void test_topologies_come_back(void **state)
{
    (void)state;
    char path[512];
    struct pccl_error error = {""};
    struct pccl_topology *again;
    struct stat first, second;
    assert_int_equal(pccl_store_save_topology(&store, topology, &error), 0);
    find_file(path);
    assert_int_equal(stat(path, &first), 0);
    assert_int_equal(pccl_topology_create(path, &again, &error), 0);
    assert_true(again->digest == topology->digest);
    assert_int_equal(pccl_store_save_topology(&store, topology, &error), 0);
    assert_int_equal(stat(path, &second), 0);
    assert_true(first.st_ino == second.st_ino);
    assert_int_equal(count_files(), 1);
    pccl_topology_free(again);
}

static void test_outcomes_come_back(void **state)
{
    (void)state;
    struct pccl_error error = {""};
    static const struct pccl_outcome outcomes[] = {{PCCL_WAY_PLAN, {1234567, -1, INT64_C(9876543210123456)}},
                                                   {PCCL_WAY_FRUGAL, {30, 10, 20}},
                                                   {PCCL_WAY_OTHER, {0, 0, 0}}};
    struct pccl_outcome again;
    bool found = true;
    assert_int_equal(pccl_store_load_outcome(&store, KEY, &found, &again, &error), 0);
    assert_false(found);
    for (size_t i = 0; i < sizeof outcomes / sizeof *outcomes; i++) {
        assert_int_equal(pccl_store_save_outcome(&store, KEY, &outcomes[i], &error), 0);
        assert_int_equal(pccl_store_load_outcome(&store, KEY, &found, &again, &error), 0);
        assert_true(found && again.fastest == outcomes[i].fastest);
        assert_memory_equal(again.time_ps, outcomes[i].time_ps, sizeof again.time_ps);
    }
    assert_int_equal(pccl_store_load_outcome(&store, KEY ", of others", &found, &again, &error), 0);
    assert_false(found);
}

/* --- what is refused ---------------------------------------------------------------------------------------------- */

static void test_other_makers(void **state)
{
    (void)state;
    struct pccl_request request = request_of(PCCL_ALLGATHER);
    save(SAMPLE_RING_ALLGATHER);
    store.maker = "pccl 1.2.4";
    expect_refusal(&request, "made_by: is \"pccl 1.2.3\"; expected \"pccl 1.2.4\"");
    store.maker = "pccl 1.2.3";
}

/* A file under the name of another key. */
static void test_other_keys(void **state)
{
    (void)state;
    char path[512], other[512];
    struct pccl_error error = {""};
    struct pccl_request request = request_of(PCCL_ALLGATHER);
    struct pccl_schedule *schedule = make(SAMPLE_RING_ALLGATHER);
    save(SAMPLE_RING_ALLGATHER);
    find_file(path);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(pccl_store_save_schedule(&store, "allgather, 8192 bytes", topology, schedule, &error), 0);
    find_file(other);
    assert_int_equal(rename(other, path), 0);
    expect_refusal(&request, "key: is \"allgather, 8192 bytes\"");
    pccl_schedule_free(schedule);
}

static void test_other_topologies(void **state)
{
    (void)state;
    struct pccl_request request = request_of(PCCL_ALLGATHER);
    struct pccl_topology *own = topology;
    save(SAMPLE_RING_ALLGATHER);
    topology = sample_topology(NUM_RANKS + 1);
    expect_refusal(&request, "the schedule was made for");
    pccl_topology_free(topology);
    topology = own;
}

/* Right maker, key and topology, but it answers another question. */
static void test_other_demands(void **state)
{
    (void)state;
    struct pccl_error error = {""};
    struct pccl_request request = request_of(PCCL_ALLTOALL);
    uint64_t digest;
    save(SAMPLE_RING_ALLGATHER);
    expect_refusal(&request, "demand: is not that of the key");
    save(SAMPLE_RING_ALLTOALL);
    assert_int_equal(load(&request, &digest, &error), 0);
    request.direct = true;
    expect_refusal(&request, "not direct");
    save(SAMPLE_DIRECT_ALLTOALL);
    assert_int_equal(load(&request, &digest, &error), 0);
    request.bytes /= 2;
    expect_refusal(&request, "demand: is not that of the key");
}

static void test_truncated_files(void **state)
{
    (void)state;
    static char text[FILE_BYTES];
    char path[512];
    struct pccl_request request = request_of(PCCL_ALLGATHER);
    save(SAMPLE_RING_ALLGATHER);
    find_file(path);
    size_t length = read_file(path, text);
    for (size_t kept = 0; kept < length - 2; kept += 1 + kept / 8) {
        write_file(path, text, kept);
        expect_refusal(&request, "");
    }
}

/* A changed byte is refused, or does not matter. */
static void test_damaged_files(void **state)
{
    (void)state;
    static char text[FILE_BYTES], damaged[FILE_BYTES];
    char path[512];
    struct pccl_error error = {""};
    struct pccl_request request = request_of(PCCL_ALLGATHER);
    struct pccl__random random = {5};
    uint64_t right, digest;
    save(SAMPLE_BRUCK_ALLGATHER);
    assert_int_equal(load(&request, &right, &error), 0);
    find_file(path);
    size_t length = read_file(path, text);
    for (uint32_t i = 0; i < 2000; i++) {
        memcpy(damaged, text, length);
        damaged[pccl__random_below(&random, (uint32_t)length)] ^= (char)(1u << pccl__random_below(&random, 8));
        write_file(path, damaged, length);
        if (load(&request, &digest, &error) == 0 && digest != right) {
            write_file("test_store.damaged", damaged, length);
            fail_msg("seed 5, file %u: a damaged schedule is read; see test_store.damaged", i);
        }
    }
}

static void test_damaged_outcomes(void **state)
{
    (void)state;
    static const char *const texts[] = {"",
                                        "{",
                                        "[]",
                                        "{}",
                                        "{\"format\": \"pccl-outcome\"}",
                                        "7",
                                        HEAD "}",
                                        HEAD ", \"fastest\": \"other\", \"plan_ps\": 1}",
                                        HEAD ", \"fastest\": \"frugal\", \"plan_ps\": 1, \"other_ps\": 1}",
                                        HEAD ", \"fastest\": \"slow\", \"plan_ps\": 1, \"other_ps\": 1}",
                                        HEAD ", \"fastest\": 1, \"plan_ps\": 1, \"other_ps\": 1}"};
    char path[512];
    struct pccl_error error = {""};
    struct pccl_outcome outcome = {PCCL_WAY_OTHER, {1, -1, 2}};
    bool found;
    assert_int_equal(pccl_store_save_outcome(&store, KEY, &outcome, &error), 0);
    find_file(path);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        write_file(path, texts[i], strlen(texts[i]));
        assert_int_equal(pccl_store_load_outcome(&store, KEY, &found, &outcome, &error), PCCL_ERR_FORMAT);
        assert_false(found);
    }
}

/* Nothing that lies there makes a reader wait. */
static void test_pipes(void **state)
{
    (void)state;
    char path[512];
    struct pccl_request request = request_of(PCCL_ALLGATHER);
    save(SAMPLE_RING_ALLGATHER);
    find_file(path);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0);
    expect_refusal(&request, "is not a regular file");
}

/* --- trouble ------------------------------------------------------------------------------------------------------ */

static void check_unusable_directory(const char *directory, const char *reason)
{
    struct pccl_error error = {""};
    struct pccl_request request = request_of(PCCL_ALLGATHER);
    struct pccl_outcome outcome = {PCCL_WAY_OTHER, {1, -1, 2}};
    struct pccl_schedule *schedule = make(SAMPLE_RING_ALLGATHER);
    uint64_t digest;
    store.directory = directory;
    assert_int_equal(load(&request, &digest, &error), 0);
    assert_true(digest == 0);
    assert_int_equal(pccl_store_save_schedule(&store, KEY, topology, schedule, &error), PCCL_ERR_IO);
    assert_int_equal(strncmp(error.message, reason, strlen(reason)), 0);
    assert_int_equal(pccl_store_save_topology(&store, topology, &error), PCCL_ERR_IO);
    assert_int_equal(strncmp(error.message, reason, strlen(reason)), 0);
    assert_int_equal(pccl_store_save_outcome(&store, KEY, &outcome, &error), PCCL_ERR_IO);
    assert_int_equal(strncmp(error.message, reason, strlen(reason)), 0);
    store.directory = folder;
    pccl_schedule_free(schedule);
}

/* Nothing to read there; who writes is told. */
static void test_unusable_directories(void **state)
{
    (void)state;
    check_unusable_directory("nowhere/at/all", "nowhere/at/all: no such directory");
    check_unusable_directory("/dev/null", "/dev/null/"); /* a file */
}

/* A file that cannot be written to its end leaves the one before, and nothing else. */
static void test_full_disk(void **state)
{
    (void)state;
    struct pccl_error error = {""};
    struct pccl_request request = request_of(PCCL_ALLGATHER);
    struct pccl_schedule *schedule = make(SAMPLE_RING_ALLGATHER);
    struct rlimit limit, small;
    uint64_t before, after;
    save(SAMPLE_BRUCK_ALLGATHER);
    assert_int_equal(load(&request, &before, &error), 0);
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    small = limit;
    small.rlim_cur = 300;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    int status = pccl_store_save_schedule(&store, KEY, topology, schedule, &error);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    assert_int_equal(status, PCCL_ERR_IO);
    assert_int_equal(count_files(), 1);
    assert_int_equal(load(&request, &after, &error), 0);
    assert_true(before == after);
    pccl_schedule_free(schedule);
}

/* What one of many processes does; returns how many times something was wrong. */
static int read_and_write(uint32_t process)
{
    int wrong = 0;
    struct pccl_error error = {""};
    struct pccl_request request = request_of(PCCL_ALLGATHER);
    struct pccl_schedule *schedules[2] = {make(SAMPLE_RING_ALLGATHER), make(SAMPLE_BRUCK_ALLGATHER)};
    for (uint32_t round = 0; round < 20; round++) {
        struct pccl_outcome outcome = {(enum pccl_way)((process + round) % PCCL_NUM_WAYS), {process, process, process}};
        bool found;
        uint64_t digest;
        wrong += pccl_store_save_schedule(&store, KEY, topology, schedules[(process + round) % 2], &error) != 0;
        wrong += load(&request, &digest, &error) != 0;
        wrong += digest != pccl_schedule_digest(schedules[0]) && digest != pccl_schedule_digest(schedules[1]);
        wrong += pccl_store_save_outcome(&store, KEY, &outcome, &error) != 0;
        wrong += pccl_store_load_outcome(&store, KEY, &found, &outcome, &error) != 0 || !found ||
                 outcome.time_ps[PCCL_WAY_PLAN] != outcome.time_ps[PCCL_WAY_OTHER];
    }
    return wrong;
}

static void test_many_processes(void **state)
{
    (void)state;
    enum { PROCESSES = 50 };
    pid_t children[PROCESSES];
    int wrong = 0, status;
    for (uint32_t i = 0; i < PROCESSES; i++) {
        children[i] = fork();
        assert_true(children[i] >= 0);
        if (children[i] == 0) {
            _exit(read_and_write(i) == 0 ? 0 : 1);
        }
    }
    for (uint32_t i = 0; i < PROCESSES; i++) {
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        wrong += status != 0;
    }
    assert_int_equal(wrong, 0);
    assert_int_equal(count_files(), 2);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(test_schedules_come_back), IN_FOLDER(test_topologies_come_back), IN_FOLDER(test_outcomes_come_back),
        IN_FOLDER(test_other_makers),        IN_FOLDER(test_other_keys),           IN_FOLDER(test_other_topologies),
        IN_FOLDER(test_other_demands),       IN_FOLDER(test_truncated_files),      IN_FOLDER(test_damaged_files),
        IN_FOLDER(test_damaged_outcomes),    IN_FOLDER(test_pipes),                IN_FOLDER(test_unusable_directories),
        IN_FOLDER(test_full_disk),           IN_FOLDER(test_many_processes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
