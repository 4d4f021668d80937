/* What a schedule stands to lose where links pass from one sender to the next, see pccl__handover_ps. */
#include <stdlib.h>

#include "algorithms/meter.h"
#include "algorithms/portfolio.h"
#include "base/array.h"
#include "base/error.h"
#include "schedule/chunks.h"

struct turn {
    int64_t taken_over_ps; /* time of all messages that did not follow one of the same sender */
    uint32_t sender;       /* of the last message, plus 1 */
};

static int64_t message_bytes(const struct pccl_schedule *schedule, const struct pccl_message *message)
{
    uint32_t count;
    int64_t bytes = 0;
    const uint32_t *chunks = pccl__message_chunks(schedule, message, &count);
    for (uint32_t i = 0; i < count; i++) {
        bytes = pccl__add_ps(bytes, schedule->demand->chunks[chunks[i]].bytes);
    }
    return bytes;
}

int pccl__schedule_handovers(const struct pccl_topology *topology, const struct pccl_schedule *schedule,
                             int64_t *lost_ps, struct pccl_error *error)
{
    struct turn *turns = pccl__array_new(topology->num_capacities, sizeof *turns);
    if (turns == NULL) {
        return pccl__fail_memory(error);
    }
    *lost_ps = 0;
    for (uint32_t m = 0; m < schedule->num_messages; m++) {
        const struct pccl_path *path = &schedule->paths[schedule->messages[m].path];
        int64_t bytes = message_bytes(schedule, &schedule->messages[m]);
        for (uint32_t i = 0; i < path->num_links; i++) {
            const struct pccl_link *link = &topology->links[schedule->path_links[path->first_link + i]];
            if (topology->vertices[link->target].processor != 0) {
                continue; /* no link but a processor, which the ranks that it serves keep busy */
            }
            struct turn *turn = &turns[link->capacity];
            if (turn->sender != 0 && turn->sender != path->source + 1) {
                turn->taken_over_ps = pccl__add_ps(turn->taken_over_ps, pccl_transfer_ps(bytes, link->ps_per_mib));
            }
            turn->sender = path->source + 1;
            int64_t loss = pccl__handover_ps(true, turn->taken_over_ps);
            *lost_ps = loss > *lost_ps ? loss : *lost_ps;
        }
    }
    free(turns);
    return 0;
}
