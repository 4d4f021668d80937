/* Errors: one line on the standard error, and the exit code that goes with it. */
#include <stdarg.h>
#include <string.h>

#include "cli.h"

void cli_error(const char *format, ...)
{
    va_list values;
    va_start(values, format);
    fprintf(stderr, "pccl: ");
    vfprintf(stderr, format, values);
    fprintf(stderr, "\n");
    va_end(values);
}

/* A text is the name of a file where it looks like one, as for pccl_topology_create. */
static bool names_file(const char *text)
{
    size_t length = strlen(text);
    return strchr(text, '/') || strstr(text, ".csv") || (length > 5 && strcmp(text + length - 5, ".json") == 0);
}

static int exit_code(int status, const char *subject)
{
    switch (status) {
    case PCCL_SUCCESS:
        return CLI_OK;
    case PCCL_ERR_UNREACHABLE:
    case PCCL_ERR_UNSUPPORTED:
    case PCCL_ERR_VERIFY:
        return CLI_FAILED;
    case PCCL_ERR_IO:
    case PCCL_ERR_MEMORY:
        return CLI_SYSTEM;
    default:
        return subject && names_file(subject) ? CLI_INPUT : CLI_USAGE;
    }
}

int cli_fail(int status, const struct pccl_error *error, const char *subject)
{
    const char *message = error && error->message[0] ? error->message : pccl_status_text(status);
    if (!subject || strstr(message, subject)) {
        cli_error("%s", message);
    } else {
        cli_error("%s: %s", subject, message);
    }
    return exit_code(status, subject);
}
