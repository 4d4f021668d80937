#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>

const char *pccl_status_text(int status)
{
    switch (status) {
    case PCCL_SUCCESS:
        return "success";
    case PCCL_ERR_INVALID:
        return "invalid argument";
    case PCCL_ERR_MEMORY:
        return "out of memory";
    case PCCL_ERR_UNSUPPORTED:
        return "unsupported";
    case PCCL_ERR_UNREACHABLE:
        return "unreachable";
    case PCCL_ERR_OVERFLOW:
        return "overflow";
    case PCCL_ERR_FORMAT:
        return "malformed input";
    case PCCL_ERR_VERIFY:
        return "verification failed";
    case PCCL_ERR_IO:
        return "input/output error";
    default:
        return "unknown status";
    }
}

int pccl__fail(struct pccl_error *error, int code, const char *format, ...)
{
    if (error == NULL) {
        return code;
    }
    va_list arguments;
    va_start(arguments, format);
    if (vsnprintf(error->message, sizeof error->message, format, arguments) < 0) {
        error->message[0] = '\0';
    }
    va_end(arguments);
    for (char *c = error->message; *c != '\0'; c++) {
        if ((unsigned char)*c < 0x20 || *c == 0x7f) {
            *c = '?';
        }
    }
    return code;
}

int pccl__fail_memory(struct pccl_error *error)
{
    return pccl__fail(error, PCCL_ERR_MEMORY, "out of memory");
}
