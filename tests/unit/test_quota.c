/* Limits of processor time, read from trees of files made here, and what they do to the ranks of a host. */
#define _XOPEN_SOURCE 700 /* mkdtemp */
#define _DEFAULT_SOURCE   /* seteuid */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mca_coll_pccl/quota.h"

#define MOUNT_2 "31 23 0:28 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup rw,nsdelegate\n"
#define MOUNT_1 "40 31 0:36 / /sys/fs/cgroup/memory rw shared:10 - cgroup cgroup rw,memory\n" \
                "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"

static char root[] = "/tmp/test_quota.XXXXXX";

/* A file below the root, with all folders above it. */
static void put(const char *path, const char *text)
{
    char whole[512];
    snprintf(whole, sizeof whole, "%s%s", root, path);
    for (char *slash = strchr(whole + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(whole, 0755);
        *slash = '/';
    }
    FILE *file = fopen(whole, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static int remove_entry(const char *path, const struct stat *about, int kind, struct FTW *walk)
{
    (void)about;
    (void)kind;
    return walk->level > 0 ? remove(path) : 0;
}

static int clear(void **state)
{
    (void)state;
    return nftw(root, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

static int make_root(void **state)
{
    (void)state;
    return mkdtemp(root) != NULL && chmod(root, 0755) == 0 ? 0 : -1;
}

static int remove_root(void **state)
{
    return clear(state) == 0 ? rmdir(root) : -1;
}

static void put_process(const char *cgroups, const char *mounts)
{
    put("/proc/self/cgroup", cgroups);
    put("/proc/self/mountinfo", mounts);
}

static struct coll_pccl_quota find(void)
{
    struct coll_pccl_quota quota;
    coll_pccl_quota_find(root, &quota);
    return quota;
}

/* The limit is that of the cgroup at this path. */
static void expect(uint32_t processors, const char *path)
{
    struct coll_pccl_quota quota = find();
    char whole[512];
    struct stat about;
    snprintf(whole, sizeof whole, "%s%s", root, path);
    assert_string_equal(quota.problem, "");
    assert_int_equal(quota.processors, processors);
    assert_int_equal(stat(whole, &about), 0);
    assert_string_equal(quota.path, whole);
    assert_int_equal(quota.group, about.st_ino);
}

static void expect_none(void)
{
    struct coll_pccl_quota quota = find();
    assert_string_equal(quota.problem, "");
    assert_int_equal(quota.processors, 0);
}

static void test_version_2(void **state)
{
    (void)state;
    put_process("0::/jobs/job 7/step\n", MOUNT_2);
    expect_none();
    put("/sys/fs/cgroup/jobs/job 7/step/cpu.max", "max 100000\n");
    expect_none();
    put("/sys/fs/cgroup/jobs/job 7/step/cpu.max", "250000 100000\n");
    expect(3, "/sys/fs/cgroup/jobs/job 7/step");
    put("/sys/fs/cgroup/jobs/cpu.max", "1600000 100000\n");
    expect(3, "/sys/fs/cgroup/jobs/job 7/step");
    put("/sys/fs/cgroup/jobs/job 7/cpu.max", "150000 50000\n");
    expect(3, "/sys/fs/cgroup/jobs/job 7"); /* as much: all below it share it */
    put("/sys/fs/cgroup/jobs/cpu.max", "1000 100000\n");
    expect(1, "/sys/fs/cgroup/jobs");
    put("/sys/fs/cgroup/cpu.max", "1 1000000\n");
    expect(1, "/sys/fs/cgroup");
}

static void test_version_1(void **state)
{
    (void)state;
    put_process("9:cpuset:/set\n4:cpu,cpuacct:/a/b\n3:memory:/elsewhere\n1:name=systemd:/x\n", MOUNT_1);
    put("/sys/fs/cgroup/cpu,cpuacct/a/b/cpu.cfs_quota_us", "-1\n");
    put("/sys/fs/cgroup/cpu,cpuacct/a/b/cpu.cfs_period_us", "100000\n");
    expect_none();
    put("/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us", "200000\n");
    expect_none();
    put("/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us", "100000\n");
    expect(2, "/sys/fs/cgroup/cpu,cpuacct/a");
    put("/sys/fs/cgroup/memory/elsewhere/cpu.cfs_quota_us", "100000\n");
    put("/sys/fs/cgroup/memory/elsewhere/cpu.cfs_period_us", "100000\n");
    expect(2, "/sys/fs/cgroup/cpu,cpuacct/a");
}

static void test_both_versions(void **state)
{
    (void)state;
    put_process("4:cpu:/a\n0::/b\n",
                "32 31 0:29 / /cpu rw - cgroup none rw,cpu\n33 31 0:30 / /two rw - cgroup2 none rw\n");
    put("/cpu/a/cpu.cfs_quota_us", "400000\n");
    put("/cpu/a/cpu.cfs_period_us", "100000\n");
    expect(4, "/cpu/a");
    put("/two/b/cpu.max", "300000 100000\n");
    expect(3, "/two/b");
}

/* What a container sees: its own cgroup mounted, by its name outside, and names that lead out of what is mounted. */
static void test_containers(void **state)
{
    (void)state;
    put_process("4:cpu:/docker/c1/task\n", "32 31 0:29 /docker/c1 /mnt/my\\040cpu ro - cgroup cgroup rw,cpu\n");
    put("/mnt/my cpu/cpu.cfs_quota_us", "500000\n");
    put("/mnt/my cpu/cpu.cfs_period_us", "100000\n");
    expect(5, "/mnt/my cpu");
    put("/mnt/my cpu/task/cpu.cfs_quota_us", "400000\n");
    put("/mnt/my cpu/task/cpu.cfs_period_us", "100000\n");
    expect(4, "/mnt/my cpu/task");
    put("/proc/self/cgroup", "4:cpu:/docker/c10/task\n");
    expect(5, "/mnt/my cpu");
    put_process("0::/../other\n", MOUNT_2);
    put("/sys/fs/cgroup/cpu.max", "600000 100000\n");
    expect(6, "/sys/fs/cgroup");
    put("/proc/self/cgroup", "0::/\n");
    expect(6, "/sys/fs/cgroup");
}

static void test_garbage(void **state)
{
    (void)state;
    static const char *const limits[] = {
        "", "\n", "max", "200000", "200000 ", "x 100000", "200000 x", "200000x 100000", "-200000 100000", "0 100000",
        "200000 0", "200000 -1", "99999999999999999999 1", "9223372036854775807 1", "200000 100000 100000",
    };
    static const char *const cgroups[] = {"", "\n", "0::\n", "0:/a\n", "0\n", ":::::\n", "x", "0::a\n", "0:cpu\n"};
    static const char *const mounts[] = {
        "", "\n", " - ", "1 2 - cgroup2 x rw\n", "1 2 0:1 / /sys/fs/cgroup rw - cgroup2\n",
        "1 2 0:1 / - cgroup2 cgroup rw\n",
    };
    put_process("0::/a\n", MOUNT_2);
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        put("/sys/fs/cgroup/a/cpu.max", limits[i]);
        expect_none();
    }
    put("/sys/fs/cgroup/a/cpu.max", "200000 100000");
    expect(2, "/sys/fs/cgroup/a");
    for (size_t i = 0; i < sizeof cgroups / sizeof cgroups[0]; i++) {
        put("/proc/self/cgroup", cgroups[i]);
        expect_none();
    }
    put("/proc/self/cgroup", "0::/a\n");
    for (size_t i = 0; i < sizeof mounts / sizeof mounts[0]; i++) {
        put("/proc/self/mountinfo", mounts[i]);
        expect_none();
    }
}

/* No limit, and why. */
static void test_unreadable(void **state)
{
    (void)state;
    struct coll_pccl_quota quota = find();
    assert_int_equal(quota.processors, 0);
    assert_non_null(strstr(quota.problem, "/proc/self/cgroup: No such file"));
    put_process("0::/a\n", MOUNT_2);
    put("/sys/fs/cgroup/a/cpu.max", "200000 100000\n");
    put("/sys/fs/cgroup/cpu.max", "300000 100000\n");
    char whole[512];
    snprintf(whole, sizeof whole, "%s/sys/fs/cgroup/a/cpu.max", root);
    assert_int_equal(chmod(whole, 0), 0);
    uid_t user = geteuid();
    if (user == 0 && seteuid(65534) != 0) {
        skip(); /* whoever may read everything sees no refusal */
    }
    quota = find();
    assert_int_equal(seteuid(user), 0);
    assert_int_equal(quota.processors, 3); /* what can be read counts */
    assert_non_null(strstr(quota.problem, "/a/cpu.max: Permission denied"));
}

static void test_squeeze(void **state)
{
    (void)state;
    static const struct {
        uint32_t quota, count, processors[8], squeezed[8];
    } cases[] = {
        {0, 4, {1, 2, 3, 4}, {1, 2, 3, 4}},
        {4, 4, {1, 2, 3, 4}, {1, 2, 3, 4}},
        {9, 4, {1, 2, 3, 4}, {1, 2, 3, 4}},
        {1, 4, {1, 2, 3, 4}, {1, 1, 1, 1}},
        {2, 4, {1, 2, 3, 4}, {1, 1, 3, 3}},
        {2, 6, {1, 1, 2, 2, 3, 3}, {1, 1, 1, 2, 2, 2}},
        {2, 8, {5, 5, 5, 5, 5, 5, 7, 9}, {5, 5, 5, 5, 7, 7, 7, 7}},
        {3, 8, {1, 2, 3, 4, 5, 6, 7, 8}, {1, 1, 1, 3, 3, 3, 6, 6}},
        {1, 0, {0}, {0}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint32_t squeezed[8] = {0};
        coll_pccl_quota_squeeze(cases[i].processors, cases[i].count, cases[i].quota, squeezed);
        assert_memory_equal(squeezed, cases[i].squeezed, cases[i].count * sizeof squeezed[0]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_version_2, clear),  cmocka_unit_test_teardown(test_version_1, clear),
        cmocka_unit_test_teardown(test_both_versions, clear), cmocka_unit_test_teardown(test_containers, clear),
        cmocka_unit_test_teardown(test_garbage, clear),    cmocka_unit_test_teardown(test_unreadable, clear),
        cmocka_unit_test(test_squeeze),
    };
    return cmocka_run_group_tests(tests, make_root, remove_root);
}
