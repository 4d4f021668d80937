/* What putting messages together, taking them apart and combining them costs ranks that share a processor. */
#include "check/copying.h"

#include "schedule/chunks.h"

uint32_t pccl__count_scattered(const struct pccl_schedule *schedule, const struct pccl_message *message)
{
    uint32_t count;
    const uint32_t *chunks = pccl__message_chunks(schedule, message, &count);
    for (uint32_t i = 1; i < count; i++) {
        if (chunks[i] != chunks[i - 1] + 1) {
            return count;
        }
    }
    return 0;
}

/* How often the receiver goes through the bytes of a message: once as they come, and to take them apart or to combine
 * them, which reads and writes; in a scan both with its own result and with what it passes on. */
static int64_t count_passes(const struct pccl_schedule *schedule, const struct pccl_message *message, bool scattered)
{
    enum pccl_collective collective = schedule->demand->collective;
    if (message->reduce) {
        return collective == PCCL_SCAN || collective == PCCL_EXSCAN ? 5 : 3;
    }
    return scattered ? 2 : 1;
}

/* Half an overhead for each chunk, and copying. */
int64_t pccl__count_gathering(const struct pccl_endpoints *endpoints, int64_t source_copy, uint32_t scattered,
                              int64_t bytes)
{
    if (source_copy == 0 || scattered == 0) {
        return 0;
    }
    int64_t chunks_ps = pccl_transfer_ps((int64_t)scattered << 19, endpoints->send_overhead_ps);
    return pccl__add_limited(chunks_ps, pccl_transfer_ps(bytes, source_copy));
}

/* A handshake is two small messages more. */
struct pccl__copying pccl__count_copying(const struct pccl_schedule *schedule, const struct pccl_message *message,
                                         const struct pccl_endpoints *endpoints, int64_t target_copy,
                                         uint32_t scattered, int64_t bytes)
{
    if (target_copy == 0) {
        return (struct pccl__copying){0};
    }
    int64_t passes = count_passes(schedule, message, scattered > 0);
    int64_t once_ps = pccl_transfer_ps(bytes, target_copy);
    int64_t all_ps = once_ps < PCCL__LATEST_PS / passes ? passes * once_ps : PCCL__LATEST_PS;
    if (bytes > endpoints->eager_bytes) {
        all_ps = pccl__add_limited(all_ps, endpoints->send_overhead_ps + endpoints->receive_overhead_ps);
    }
    all_ps = pccl__add_limited(all_ps, pccl_transfer_ps((int64_t)scattered << 19, endpoints->receive_overhead_ps));
    return (struct pccl__copying){once_ps, all_ps};
}
