/* Errors: every fallible function returns 0 or one of the negative codes below and, where the caller passes one, fills
 * a struct pccl_error with a single sentence for people. */
#ifndef PCCL_ERROR_H
#define PCCL_ERROR_H

#pragma GCC visibility push(default) /* what the shared library shows */

enum pccl_status {
    PCCL_SUCCESS = 0,
    PCCL_ERR_INVALID = -1,     /* an argument or a description breaks a documented rule */
    PCCL_ERR_MEMORY = -2,      /* out of memory */
    PCCL_ERR_UNSUPPORTED = -3, /* valid, but no method here serves it */
    PCCL_ERR_UNREACHABLE = -4, /* a holder cannot reach a receiver over the links allowed */
    PCCL_ERR_OVERFLOW = -5,    /* a size or a time does not fit its integer */
    PCCL_ERR_FORMAT = -6,      /* a file or string does not parse; the message names line or key */
    PCCL_ERR_VERIFY = -7,      /* a schedule or program does not do what its demand says */
    PCCL_ERR_IO = -8           /* the operating system refused to read or write */
};

/* Details of a failure. Optional everywhere: NULL means that the code is enough. */
struct pccl_error {
    char message[480]; /* one line, no newline; names the value met and what was expected */
};

/* Short English name of a status code ("invalid argument"); never NULL. */
const char *pccl_status_text(int status);

#pragma GCC visibility pop

#endif
