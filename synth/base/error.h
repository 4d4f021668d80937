/* Reporting a failure: fill the caller's struct pccl_error and return the code in one statement. */
#ifndef PCCL__ERROR_H
#define PCCL__ERROR_H

#include "pccl/error.h"

/* Formats one sentence into *error (NULL: nowhere) and returns `code`. Control characters from untrusted input become
 * '?' so that the message stays one line. */
int pccl__fail(struct pccl_error *error, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* The same for the one failure that needs no explanation. */
int pccl__fail_memory(struct pccl_error *error);

#endif
