/* Base: exact quantities, known digests, bitsets against plain arrays, growth that refuses to overflow. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/array.h"
#include "base/bitset.h"
#include "base/digest.h"
#include "base/error.h"
#include "base/quantity.h"
#include "base/random.h"

static void test_digest_is_fnv(void **state)
{
    (void)state;
    /* Published values of FNV-1a, 64 bits. */
    assert_int_equal(PCCL__DIGEST_START, UINT64_C(0xcbf29ce484222325));
    assert_int_equal(pccl__digest_bytes(PCCL__DIGEST_START, "a", 1), UINT64_C(0xaf63dc4c8601ec8c));
    assert_int_equal(pccl__digest_bytes(PCCL__DIGEST_START, "foobar", 6), UINT64_C(0x85944171f73967e8));
    const unsigned char bytes[8] = {0x78, 0x56, 0x34, 0x12, 0xef, 0xcd, 0xab, 0x90};
    assert_int_equal(pccl__digest_u64(1, UINT64_C(0x90abcdef12345678)), pccl__digest_bytes(1, bytes, 8));
    assert_int_equal(pccl__digest_u32(1, 0x12345678), pccl__digest_bytes(1, bytes, 4));
}

static void test_times(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t time_ps;
    } good[] = {{"0", 0},          {"0.0", 0},     {"7ps", 7},          {"1.5us", 1500000},
                {"500ns", 500000}, {"0.001ns", 1}, {"2ms", 2000000000}, {"1s", 1000000000000},
                {"0us", 0}};
    static const char *const bad[] = {"",
                                      "1",
                                      "us",
                                      "1.2.3us",
                                      "-1us",
                                      "1e3us",
                                      "0.0001ns",
                                      " 1us",
                                      "1us ",
                                      "1.us",
                                      ".5us",
                                      "99999999999999999us",
                                      "999999999999999s",
                                      "1,5us"};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        int64_t time_ps = -1;
        assert_int_equal(pccl__quantity_time(good[i].text, "t", &time_ps, NULL), 0);
        assert_int_equal(time_ps, good[i].time_ps);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        int64_t time_ps;
        struct pccl_error error = {""};
        assert_int_equal(pccl__quantity_time(bad[i], "t", &time_ps, &error), PCCL_ERR_FORMAT);
        assert_true(strlen(error.message) > 0);
    }
}

static void test_rates(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t ps_per_mib;
    } good[] = {
        {"1MiB/s", INT64_C(1000000000000)}, {"12.5GB/s", 83886080}, {"100Gbit/s", 83886080}, {"1GB/s", 1048576000},
        {"3GB/s", 349525334} /* 349525333.3 rounded up */, {"1B/s", INT64_C(1048576000000000000)},
        {"12.5 GB/s", 83886080},
    };
    static const char *const bad[] = {"", "0GB/s", "12", "12GB", "-3GB/s", "1e9B/s", "0.5B/s", "GB/s", "12 5GB/s"};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        int64_t ps_per_mib = -1;
        assert_int_equal(pccl__quantity_rate(good[i].text, "r", &ps_per_mib, NULL), 0);
        assert_int_equal(ps_per_mib, good[i].ps_per_mib);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        int64_t ps_per_mib;
        assert_int_equal(pccl__quantity_rate(bad[i], "r", &ps_per_mib, NULL), PCCL_ERR_FORMAT);
    }
}

static void test_integers_and_ratios(void **state)
{
    (void)state;
    int64_t value, denominator;
    assert_int_equal(pccl__quantity_integer("9223372036854775807", "n", 0, INT64_MAX, &value, NULL), PCCL_ERR_FORMAT);
    assert_int_equal(pccl__quantity_integer("1048576000000000000", "n", 0, INT64_MAX, &value, NULL), 0);
    assert_int_equal(value, INT64_C(1048576000000000000));
    assert_int_equal(pccl__quantity_integer("99999999999999999999999", "n", 0, INT64_MAX, &value, NULL),
                     PCCL_ERR_FORMAT);
    assert_int_equal(pccl__quantity_integer("5", "n", 6, 9, &value, NULL), PCCL_ERR_FORMAT);
    assert_int_equal(pccl__quantity_integer("+5", "n", 0, 9, &value, NULL), PCCL_ERR_FORMAT);
    assert_int_equal(pccl__quantity_ratio("1.50", "x", &value, &denominator, NULL), 0);
    assert_int_equal(value * 2, denominator * 3);
    assert_int_equal(pccl__quantity_ratio("0", "x", &value, &denominator, NULL), PCCL_ERR_FORMAT);
    assert_int_equal(pccl__quantity_ratio("4x", "x", &value, &denominator, NULL), PCCL_ERR_FORMAT);
}

static void test_errors_stay_one_line(void **state)
{
    (void)state;
    struct pccl_error error;
    char text[2000];
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';
    text[3] = '\n';
    assert_int_equal(pccl__fail(&error, PCCL_ERR_IO, "%s", text), PCCL_ERR_IO);
    assert_int_equal(strlen(error.message), sizeof error.message - 1);
    assert_null(strchr(error.message, '\n'));
    assert_int_equal(pccl__fail(NULL, PCCL_ERR_MEMORY, "%d", 1), PCCL_ERR_MEMORY);
    for (int code = 2; code > -12; code--) {
        assert_true(strlen(pccl_status_text(code)) > 0);
    }
}

static void test_bitset_matches_array(void **state)
{
    (void)state;
    enum { SIZE = 200 };
    uint64_t words[4] = {0};
    bool model[SIZE] = {false};
    struct pccl__random random = {42};
    assert_int_equal(pccl__bitset_words(SIZE), 4);
    for (int i = 0; i < 2000; i++) {
        uint32_t bit = pccl__random_below(&random, SIZE);
        model[bit] = pccl__random_below(&random, 2) == 1;
        (model[bit] ? pccl__bitset_set : pccl__bitset_clear)(words, bit);
        uint32_t from = pccl__random_below(&random, SIZE), next = from, count = 0;
        while (next < SIZE && !model[next]) {
            next++;
        }
        for (uint32_t b = 0; b < SIZE; b++) {
            count += model[b];
            assert_int_equal(pccl__bitset_test(words, b), model[b]);
        }
        assert_int_equal(pccl__bitset_count(words, 4), count);
        assert_int_equal(pccl__bitset_next(words, 4, from), next < SIZE ? next : UINT32_MAX);
    }
    assert_int_equal(pccl__bitset_next(words, 4, 256), UINT32_MAX);
}

static void test_arrays_refuse_overflow(void **state)
{
    (void)state;
    uint32_t capacity = 0;
    assert_null(pccl__array_new(SIZE_MAX / 2, 4));
    int *array = pccl__array_grow(NULL, &capacity, 1, sizeof *array);
    assert_non_null(array);
    assert_true(capacity >= 1);
    uint32_t before = capacity;
    assert_null(pccl__array_grow(array, &capacity, UINT64_C(1) << 33, sizeof *array));
    assert_null(pccl__array_grow(array, &capacity, 1u << 31, SIZE_MAX / 4));
    assert_int_equal(capacity, before);
    free(array);
    struct pccl__arena arena = {0};
    assert_null(pccl__arena_new(&arena, SIZE_MAX / 2, 4));
    for (size_t i = 1; i < 3000; i++) {
        unsigned char *block = pccl__arena_new(&arena, i, 1);
        assert_non_null(block);
        assert_int_equal((uintptr_t)block % _Alignof(max_align_t), 0);
        assert_int_equal(block[0] | block[i - 1], 0);
        memset(block, 0xee, i);
    }
    assert_string_equal(pccl__arena_text(&arena, "text"), "text");
    pccl__arena_free(&arena);
    assert_null(arena.newest);
}

static void test_random_is_splitmix(void **state)
{
    (void)state;
    /* The first outputs of splitmix64 for the seed 1234567, as published with its reference implementation. */
    struct pccl__random random = {1234567};
    assert_int_equal(pccl__random_next(&random), UINT64_C(6457827717110365317));
    assert_int_equal(pccl__random_next(&random), UINT64_C(3203168211198807973));
    uint32_t values[50], seen[50] = {0};
    for (uint32_t i = 0; i < 50; i++) {
        values[i] = i;
    }
    pccl__random_shuffle(&random, values, 50);
    for (uint32_t i = 0; i < 50; i++) {
        seen[values[i]]++;
        assert_true(pccl__random_below(&random, 7) < 7);
    }
    for (uint32_t i = 0; i < 50; i++) {
        assert_int_equal(seen[i], 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_digest_is_fnv),          cmocka_unit_test(test_times),
        cmocka_unit_test(test_rates),                  cmocka_unit_test(test_integers_and_ratios),
        cmocka_unit_test(test_errors_stay_one_line),   cmocka_unit_test(test_bitset_matches_array),
        cmocka_unit_test(test_arrays_refuse_overflow), cmocka_unit_test(test_random_is_splitmix),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
