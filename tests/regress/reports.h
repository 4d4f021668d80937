/* What users of other collective libraries ran into, as tests of our own. Each function is one kind of report with its
 * neighbours; it names its cases itself. All of them must pass on any number of ranks from 2. */
#ifndef TEST_REPORTS_H
#define TEST_REPORTS_H

#include "../mpi/check.h"

struct report {
    const char *name;
    void (*test)(void);
    bool breaks_plain; /* known to fail on plain Open MPI 4.1 */
};

extern int world_rank, world_size;
extern const struct report type_reports[], buffer_reports[], comm_reports[], operator_reports[],
    form_reports[], tag_reports[]; /* end: no name */

#endif
