#define _POSIX_C_SOURCE 200809L /* mkstemp */
/* Demands and schedules in files: written and read back the same; broken files are refused, never read past. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pccl/io.h"
#include "pccl/simulate.h"
#include "pccl/verify.h"
#include "samples.h"

static char file_path[] = "test_schedule_io.XXXXXX";

static int open_file(void **state)
{
    (void)state;
    int descriptor = mkstemp(file_path);
    return descriptor < 0 ? -1 : close(descriptor);
}

static int remove_file(void **state)
{
    (void)state;
    return unlink(file_path);
}

static void put_file(const char *text, size_t length)
{
    FILE *file = fopen(file_path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
}

static char *get_file(size_t *length)
{
    FILE *file = fopen(file_path, "r");
    assert_non_null(file);
    char *text = malloc(1 << 20);
    *length = fread(text, 1, (1 << 20) - 1, file);
    text[*length] = '\0';
    fclose(file);
    return text;
}

/* --- round trip --------------------------------------------------------------------------------------------------- */

static void check_same_demand(const struct pccl_demand *a, const struct pccl_demand *b)
{
    assert_int_equal(a->collective, b->collective);
    assert_int_equal(a->num_ranks, b->num_ranks);
    assert_int_equal(a->root, b->root);
    assert_int_equal(a->pieces, b->pieces);
    assert_int_equal(a->reduces, b->reduces);
    assert_int_equal(a->ordered, b->ordered);
    assert_int_equal(a->num_chunks, b->num_chunks);
    assert_int_equal(a->num_holders, b->num_holders);
    assert_memory_equal(a->devices, b->devices, a->num_ranks * sizeof *a->devices);
    assert_memory_equal(a->chunks, b->chunks, a->num_chunks * sizeof *a->chunks);
    assert_memory_equal(a->holders, b->holders, a->num_holders * sizeof *a->holders);
}

/* Lists may be numbered differently. */
static void check_same_messages(const struct pccl_schedule *a, const struct pccl_schedule *b)
{
    for (uint32_t i = 0; i < a->num_messages; i++) {
        const struct pccl_message *x = &a->messages[i], *y = &b->messages[i];
        uint32_t x_count, y_count;
        const uint32_t *x_chunks = pccl_message_chunks(a, x, &x_count), *y_chunks = pccl_message_chunks(b, y, &y_count);
        assert_int_equal(x->step, y->step);
        assert_int_equal(x->path, y->path);
        assert_int_equal(x->reduce, y->reduce);
        assert_int_equal(x_count, y_count);
        assert_memory_equal(x_chunks, y_chunks, x_count * sizeof *x_chunks);
    }
}

static void check_round_trip(const struct pccl_topology *topology, struct pccl_schedule *schedule)
{
    struct pccl_error error = {""};
    struct pccl_schedule *again;
    assert_int_equal(pccl_schedule_write(schedule, topology, file_path, &error), 0);
    if (pccl_schedule_read(file_path, topology, &again, &error) != 0) {
        fail_msg("%s: %s", schedule->method, error.message);
    }
    check_same_demand(schedule->demand, again->demand);
    assert_string_equal(schedule->method, again->method);
    assert_true(schedule->topology_digest == again->topology_digest);
    assert_int_equal(schedule->num_paths, again->num_paths);
    assert_int_equal(schedule->num_path_links, again->num_path_links);
    assert_int_equal(schedule->num_messages, again->num_messages);
    assert_int_equal(schedule->num_list_chunks, again->num_list_chunks);
    check_same_messages(schedule, again);
    assert_memory_equal(schedule->paths, again->paths, schedule->num_paths * sizeof *schedule->paths);
    assert_true(pccl_schedule_digest(schedule) == pccl_schedule_digest(again));
    pccl_schedule_free(schedule);
    pccl_schedule_free(again);
}

static void test_round_trip(void **state)
{
    (void)state;
    for (uint32_t num_ranks = 2; num_ranks < 10; num_ranks += 3) {
        struct pccl_topology *topology = sample_topology(num_ranks);
        for (uint32_t kind = 0; kind < SAMPLE_NUM_KINDS; kind++) {
            for (uint32_t variant = 0; variant < 4; variant++) {
                struct pccl_schedule *schedule =
                    sample_schedule(topology, (enum sample_kind)kind, num_ranks, 1 + variant,
                                    INT64_C(1) << (20 * variant / 2), variant == 1, variant == 2);
                if (schedule != NULL) {
                    check_round_trip(topology, schedule);
                }
            }
        }
        for (uint64_t seed = 0; seed < 50; seed++) {
            struct pccl__random random = {.state = seed};
            bool reduces = seed % 2 == 1;
            struct pccl_demand *demand = sample_custom_demand(num_ranks, reduces, reduces && seed % 3 == 0, &random);
            check_round_trip(topology, sample_random(topology, demand, &random));
        }
        pccl_topology_free(topology);
    }
}

static void test_other_topology(void **state)
{
    (void)state;
    struct pccl_topology *topology = sample_topology(4), *other = sample_topology(5);
    struct pccl_schedule *schedule = sample_schedule(topology, SAMPLE_RING_ALLGATHER, 4, 1, 8, false, false), *again;
    struct pccl_error error = {""};
    assert_int_equal(pccl_schedule_write(schedule, other, file_path, &error), PCCL_ERR_INVALID);
    assert_int_equal(pccl_schedule_write(schedule, topology, file_path, &error), 0);
    assert_int_equal(pccl_schedule_read(file_path, other, &again, &error), PCCL_ERR_FORMAT);
    assert_null(again);
    assert_non_null(strstr(error.message, "topology_digest"));
    pccl_schedule_free(schedule);
    pccl_topology_free(topology);
    pccl_topology_free(other);
}

/* --- by hand ------------------------------------------------------------------------------------------------------ */

static void test_demand_by_hand(void **state)
{
    (void)state;
    static const char text[] =
        "{\"format\": \"pccl-demand\", \"version\": 1, \"devices\": [\"d3\", 1, \"d0\"], \"chunks\": ["
        "{\"bytes\": 65536, \"sources\": [0], \"targets\": [2, 1]},"
        "{\"bytes\": \"9007199254740993\", \"sources\": [1, 2], \"targets\": [0]}]}";
    struct pccl_topology *topology = sample_topology(4);
    struct pccl_demand *demand;
    put_file(text, sizeof text - 1);
    assert_int_equal(pccl_demand_read(file_path, topology, &demand, NULL), 0);
    assert_int_equal(demand->collective, PCCL_CUSTOM);
    assert_int_equal(demand->num_ranks, 3);
    assert_int_equal(demand->devices[0], 3);
    assert_int_equal(demand->devices[1], 1);
    assert_int_equal(demand->devices[2], 0);
    assert_int_equal(demand->num_chunks, 2);
    assert_int_equal(demand->chunks[1].bytes, INT64_C(9007199254740993));
    assert_int_equal(demand->chunks[0].num_targets, 2);
    assert_int_equal(demand->holders[demand->chunks[0].first_target], 1);
    assert_int_equal(demand->holders[demand->chunks[0].first_target + 1], 2);
    pccl_demand_free(demand);
    static const char short_text[] = "{\"collective\": \"all-to-all\", \"bytes\": 7, \"pieces\": 2}";
    put_file(short_text, sizeof short_text - 1);
    assert_int_equal(pccl_demand_read(file_path, topology, &demand, NULL), 0);
    assert_int_equal(demand->collective, PCCL_ALLTOALL);
    assert_int_equal(demand->num_ranks, 4);
    assert_int_equal(demand->num_chunks, 32);
    pccl_demand_free(demand);
    pccl_topology_free(topology);
}

#define HEAD "{\"demand\": {\"collective\": \"broadcast\", \"devices\": [0, 1, 2], \"bytes\": 8, \"pieces\": 4}, "

static void test_schedule_by_hand(void **state)
{
    (void)state;
    /* Links of four devices: 0 is from 0 to 1, 4 from 1 to 2. */
    static const char text[] =
        HEAD "\"paths\": [\"0\", \"4\"], \"steps\": [{\"step\": 3, \"messages\": \"0:0,2-3 0:1\"},"
             "{\"step\": 7, \"messages\": \"1:0-3\"}]}";
    struct pccl_topology *topology = sample_topology(4);
    struct pccl_schedule *schedule;
    put_file(text, sizeof text - 1);
    assert_int_equal(pccl_schedule_read(file_path, topology, &schedule, NULL), 0);
    assert_int_equal(schedule->num_messages, 3);
    assert_int_equal(pccl_verify_schedule(topology, schedule, false, NULL), 0);
    struct pccl_simulation simulation = {0};
    assert_int_equal(pccl_simulate(topology, schedule, &simulation, NULL), 0);
    pccl_schedule_free(schedule);
    pccl_topology_free(topology);
}

static void test_broken_schedules(void **state)
{
    (void)state;
    static const struct {
        const char *text, *complaint;
    } cases[] = {
        {"", "not JSON"},
        {"[]", "object"},
        {"{}", "demand"},
        {"{\"format\": \"pccl-topology\"}", "pccl-schedule"},
        {"{\"version\": 2}", "version"},
        {"{\"steps\": [], \"steps\": []}", "twice"},
        {"{\"color\": 1}", "unknown key"},
        {"{\"topology_digest\": \"12\"}", "hexadecimal"},
        {"{\"topology_digest\": \"0123456789abcdef\"}", "was made for"},
        {"{\"demand\": 3}", "object"},
        {"{\"demand\": {\"collective\": \"broadcast\", \"devices\": [0, 9]}}", "devices"},
        {"{\"demand\": {\"collective\": \"broadcast\", \"devices\": [0]}}", "at least 2"},
        {"{\"demand\": {\"collective\": \"broadcast\", \"devices\": [0, 0]}}", "twice"},
        {"{\"demand\": {\"collective\": \"broadcast\", \"root\": 4}}", "root"},
        {"{\"demand\": {\"collective\": \"gossip\"}}", "no collective"},
        {"{\"demand\": {\"collective\": \"alltoall\", \"pieces\": 65536000}}", "pieces"},
        {"{\"demand\": {\"collective\": \"alltoall\", \"bytes\": -1}}", "bytes"},
        {"{\"demand\": {\"collective\": \"alltoall\", \"block_bytes\": [1]}}", "block_bytes"},
        {"{\"demand\": {\"collective\": \"alltoall\", \"chunks\": []}}", "chunks"},
        {"{\"demand\": {\"collective\": \"custom\"}}", "chunks"},
        {"{\"demand\": {\"chunks\": []}}", "at least one chunk"},
        {"{\"demand\": {\"chunks\": [{\"bytes\": 1, \"sources\": [0], \"targets\": []}]}}", "targets"},
        {"{\"demand\": {\"chunks\": [{\"bytes\": 1, \"sources\": [0, 0], \"targets\": [1]}]}}", "twice"},
        {"{\"demand\": {\"chunks\": [{\"bytes\": 1, \"sources\": [4], \"targets\": [1]}]}}", "sources"},
        {"{\"demand\": {\"chunks\": [{\"sources\": [0], \"targets\": [1]}]}}", "bytes"},
        {HEAD "\"paths\": \"0\"}", "array"},
        {HEAD "\"paths\": [0]}", "string of link numbers"},
        {HEAD "\"paths\": [\"\"]}", "link numbers below 12"},
        {HEAD "\"paths\": [\"12\"]}", "link numbers below 12"},
        {HEAD "\"paths\": [\"99999999999999999999999\"]}", "link numbers below 12"},
        {HEAD "\"paths\": [\"0 \"]}", "link numbers below 12"},
        {HEAD "\"paths\": [\"0  4\"]}", "link numbers below 12"},
        {HEAD "\"paths\": [\"0\", \"0\"]}", "same as path 0"},
        {HEAD "\"steps\": [{\"step\": 0, \"messages\": \"0:0\"}]}", "path below 0"},
        {HEAD "\"paths\": [\"0\"], \"steps\": [{\"step\": 0, \"messages\": \"\"}]}", "PATH:CHUNKS"},
        {HEAD "\"paths\": [\"0\"], \"steps\": [{\"step\": 0, \"messages\": \"0\"}]}", "PATH:CHUNKS"},
        {HEAD "\"paths\": [\"0\"], \"steps\": [{\"step\": 0, \"messages\": \"0:\"}]}", "chunk numbers below 4"},
        {HEAD "\"paths\": [\"0\"], \"steps\": [{\"step\": 0, \"messages\": \"0:4\"}]}", "chunk numbers below 4"},
        {HEAD "\"paths\": [\"0\"], \"steps\": [{\"step\": 0, \"messages\": \"0:2-2\"}]}", "chunk numbers below 4"},
        {HEAD "\"paths\": [\"0\"], \"steps\": [{\"step\": 0, \"messages\": \"0:1-4000000000\"}]}",
         "chunk numbers below 4"},
        {HEAD "\"paths\": [\"0\"], \"steps\": [{\"step\": 0, \"messages\": \"0:1,1\"}]}", "twice"},
        {HEAD "\"paths\": [\"0\"], \"steps\": [{\"step\": 0, \"messages\": \"0:1 \"}]}", "a space and another message"},
        {HEAD "\"paths\": [\"0\"], \"steps\": [{\"step\": 0, \"messages\": \"0:1;0:2\"}]}",
         "a space and another message"},
        {HEAD "\"paths\": [\"0\"], \"steps\": [{\"messages\": \"0:1\"}]}", "step: missing"},
        {HEAD
         "\"paths\": [\"0\"], \"steps\": [{\"step\": 1, \"messages\": \"0:1\"}, {\"step\": 1, \"messages\": \"0:2\"}]}",
         "step"},
        {HEAD "\"paths\": [\"0\"], \"steps\": [{\"step\": 0, \"messages\": 5}]}", "string"},
        {HEAD "\"digest\": \"0123456789abcdef\"}", "of the contents"},
    };
    struct pccl_topology *topology = sample_topology(4);
    for (uint32_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct pccl_schedule *schedule;
        struct pccl_error error = {""};
        put_file(cases[i].text, strlen(cases[i].text));
        int status = pccl_schedule_read(file_path, topology, &schedule, &error);
        if (status != PCCL_ERR_FORMAT || strstr(error.message, cases[i].complaint) == NULL || schedule != NULL) {
            fail_msg("%s\n\"%s\" expected, got %d: \"%s\"", cases[i].text, cases[i].complaint, status, error.message);
        }
    }
    struct pccl_schedule *schedule;
    assert_int_equal(pccl_schedule_read("no such file", topology, &schedule, NULL), PCCL_ERR_IO);
    pccl_topology_free(topology);
}

/* --- random damage ------------------------------------------------------------------------------------------------ */

static void damage(char *text, size_t *length, struct pccl__random *random)
{
    static const char tokens[] = "0123456789-+:, \"[]{}";
    size_t i = pccl__random_below(random, (uint32_t)*length);
    switch (pccl__random_below(random, 4)) {
    case 0:
        text[i] = tokens[pccl__random_below(random, sizeof tokens - 1)];
        break;
    case 1:
        memmove(text + i, text + i + 1, --*length - i);
        break;
    case 2:
        memmove(text + i + 1, text + i, (*length)++ - i);
        text[i] = tokens[pccl__random_below(random, sizeof tokens - 1)];
        break;
    default: /* one number in place of another */
        if (text[i] >= '0' && text[i] <= '9') {
            text[i] = (char)('0' + pccl__random_below(random, 10));
        }
    }
}

/* Whatever can be read can be verified, simulated and written again without harm. */
static void test_damaged(void **state)
{
    (void)state;
    struct pccl_topology *topology = sample_topology(4);
    uint32_t num_read = 0;
    for (uint64_t seed = 0; seed < 1000; seed++) {
        struct pccl__random random = {.state = seed};
        enum sample_kind kind = (enum sample_kind)pccl__random_below(&random, SAMPLE_NUM_KINDS);
        struct pccl_schedule *schedule =
            seed % 3 == 0 ? sample_random(topology, sample_custom_demand(4, seed % 2 == 1, false, &random), &random)
                          : sample_schedule(topology, kind, 4, 2, 64, false, seed % 2 == 1);
        assert_int_equal(pccl_schedule_write(schedule, topology, file_path, NULL), 0);
        pccl_schedule_free(schedule);
        size_t length;
        char *text = get_file(&length);
        char *digest = strstr(text, " \"digest\""); /* else any damage would be noticed at once */
        memset(digest, ' ', strcspn(digest, "\n"));
        for (uint32_t i = 0; i < 1 + pccl__random_below(&random, 3); i++) {
            damage(text, &length, &random);
        }
        put_file(text, length);
        free(text);
        if (pccl_schedule_read(file_path, topology, &schedule, NULL) == 0) {
            struct pccl_simulation simulation = {0};
            num_read++;
            (void)pccl_verify_schedule(topology, schedule, true, NULL);
            (void)pccl_simulate(topology, schedule, &simulation, NULL);
            check_round_trip(topology, schedule);
        }
    }
    assert_in_range(num_read, 30, 970);
    pccl_topology_free(topology);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),       cmocka_unit_test(test_other_topology),
        cmocka_unit_test(test_demand_by_hand),   cmocka_unit_test(test_schedule_by_hand),
        cmocka_unit_test(test_broken_schedules), cmocka_unit_test(test_damaged),
    };
    return cmocka_run_group_tests(tests, open_file, remove_file);
}
