/* One file of a test program: what topologies are read from and written to. */
#ifndef PCCL_TEST_TEXT_FILE_H
#define PCCL_TEST_TEXT_FILE_H

#include <stddef.h>

#include "pccl/topology.h"

extern char file_path[64];

/* For cmocka_run_group_tests. */
int make_file(void **state);
int remove_file(void **state);

void write_file(const char *text, size_t length);
/* The topology that the text describes, or the test fails. */
struct pccl_topology *read_text(const char *text);
/* The text is no topology, and the message says why in these words among others. */
void refuse_text(const char *text, const char *words);
/* Both send every message the same way. */
void check_routes(const struct pccl_topology *topology, const struct pccl_topology *again);
/* What is written reads back to the same digest and routes. */
void check_file(const struct pccl_topology *topology);

#endif
