/* Sanitizers look at memory, for which some of what a test varies hardly matters, and take several times as long: tests
 * that say so try a part of it then. */
#ifndef PCCL_TEST_SANITIZED_H
#define PCCL_TEST_SANITIZED_H

#include <stdbool.h>

#ifdef __SANITIZE_ADDRESS__
static const bool is_sanitized = true;
#else
static const bool is_sanitized = false;
#endif

#endif
