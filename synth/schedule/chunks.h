/* What a message carries, for loops over all messages: pccl_message_chunks without a call. */
#ifndef PCCL__CHUNKS_H
#define PCCL__CHUNKS_H

#include "pccl/schedule.h"

static inline const uint32_t *pccl__message_chunks(const struct pccl_schedule *schedule,
                                                   const struct pccl_message *message, uint32_t *count)
{
    if (!message->list) {
        *count = 1;
        return &message->payload;
    }
    const struct pccl_chunk_list *list = &schedule->lists[message->payload];
    *count = list->count;
    return schedule->list_chunks + list->first;
}

#endif
