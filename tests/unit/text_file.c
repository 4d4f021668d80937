#include "text_file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "pccl/io.h"

char file_path[64];

int make_file(void **state)
{
    (void)state;
    snprintf(file_path, sizeof file_path, "./test_file-%ld.json", (long)getpid());
    return 0;
}

int remove_file(void **state)
{
    (void)state;
    unlink(file_path);
    return 0;
}

void write_file(const char *text, size_t length)
{
    FILE *stream = fopen(file_path, "w");
    assert_non_null(stream);
    assert_int_equal(fwrite(text, 1, length, stream), length);
    assert_int_equal(fclose(stream), 0);
}

struct pccl_topology *read_text(const char *text)
{
    struct pccl_topology *topology = NULL;
    struct pccl_error error = {""};
    write_file(text, strlen(text));
    if (pccl_topology_read(file_path, &topology, &error) != 0) {
        fail_msg("%s", error.message);
    }
    return topology;
}

void refuse_text(const char *text, const char *words)
{
    struct pccl_topology *topology = NULL;
    struct pccl_error error = {""};
    write_file(text, strlen(text));
    assert_true(pccl_topology_read(file_path, &topology, &error) < 0);
    if (strstr(error.message, words) == NULL) {
        fail_msg("%s: \"%s\" does not contain \"%s\"", text, error.message, words);
    }
    assert_null(topology);
}

void check_routes(const struct pccl_topology *topology, const struct pccl_topology *again)
{
    for (uint32_t a = 0; a < topology->num_devices; a++) {
        for (uint32_t b = 0; b < topology->num_devices; b++) {
            uint32_t there[64], here[64];
            int length = pccl_topology_route(topology, a, b, there, 64);
            assert_int_equal(pccl_topology_route(again, a, b, here, 64), length);
            assert_memory_equal(there, here, length > 0 ? (size_t)length * sizeof *there : 0);
        }
    }
}

void check_file(const struct pccl_topology *topology)
{
    struct pccl_topology *again = NULL;
    struct pccl_error error = {""};
    if (pccl_topology_write(topology, file_path, &error) != 0 || pccl_topology_read(file_path, &again, &error) != 0) {
        fail_msg("%s: %s", topology->name, error.message);
    }
    assert_int_equal(again->digest, topology->digest);
    assert_int_equal(again->num_capacities, topology->num_capacities);
    check_routes(topology, again);
    pccl_topology_free(again);
}
