/* Runs the reports: reports [--plain] [NAME...] */
#include "reports.h"

#include <string.h>

int world_rank, world_size;

static void run_all(const struct report *report, bool plain, int num_names, char **names)
{
    for (; report->name != NULL; report++) {
        bool chosen = num_names == 0;
        for (int i = 0; i < num_names; i++) {
            chosen = chosen || strcmp(names[i], report->name) == 0;
        }
        if (chosen && !(plain && report->breaks_plain)) {
            check_case("%s", report->name);
            report->test();
        }
    }
}

int main(int argc, char **argv)
{
    int first = 1;
    bool plain;
    check_init(&argc, &argv, "reports");
    plain = argc > 1 && strcmp(argv[1], "--plain") == 0;
    first += plain;
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world_size);
    run_all(type_reports, plain, argc - first, argv + first);
    run_all(buffer_reports, plain, argc - first, argv + first);
    run_all(comm_reports, plain, argc - first, argv + first);
    run_all(operator_reports, plain, argc - first, argv + first);
    run_all(form_reports, plain, argc - first, argv + first);
    run_all(tag_reports, plain, argc - first, argv + first);
    return check_finalize();
}
