/* Progress: one line that redraws itself, for work that lasts longer than a second. */
#include <time.h>
#include <unistd.h>

#include "cli.h"

double cli_clock_seconds(bool cpu)
{
    struct timespec now;
    clock_gettime(cpu ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

void cli_progress_begin(struct cli_progress *progress)
{
    progress->shown = false;
    progress->begin_seconds = cli_clock_seconds(false);
    progress->next_seconds = progress->begin_seconds + 1;
}

void cli_progress_update(void *context, const char *stage, uint64_t done, uint64_t total)
{
    struct cli_progress *progress = context;
    double now = cli_clock_seconds(false);
    if (now < progress->next_seconds || !isatty(STDERR_FILENO)) {
        return;
    }
    progress->next_seconds = now + 0.2;
    progress->shown = true;
    fprintf(stderr, "\r\033[K%s", stage);
    if (total) {
        fprintf(stderr, ": %llu of %llu", (unsigned long long)done, (unsigned long long)total);
    }
    fprintf(stderr, " (%.0f s)", now - progress->begin_seconds);
    fflush(stderr);
}

void cli_progress_end(struct cli_progress *progress)
{
    if (progress->shown) {
        fprintf(stderr, "\r\033[K");
    }
}
