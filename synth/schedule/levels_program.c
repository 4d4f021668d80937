/* One rank's program from a schedule in levels: its messages in order of steps, as a schedule of its own, lowered. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "schedule/levels.h"
#include "schedule/lower.h"

/* The messages of one rank. */
struct extract {
    struct pccl_schedule schedule; /* messages and lists only; a message's path is its number in order of listing */
    uint32_t message_room, list_room, chunk_room, lowest_room, end_room[2];
    uint32_t *lowest;  /* like list_chunks */
    uint32_t *ends[2]; /* sender and receiver of each message, in order of listing */
};

/* Makes room in all arrays for one more message of `count` chunks. */
static bool make_room(struct extract *extract, uint32_t count)
{
    struct pccl_schedule *schedule = &extract->schedule;
    uint64_t messages = (uint64_t)schedule->num_messages + 1, chunks = (uint64_t)schedule->num_list_chunks + count;
    struct {
        void **array;
        uint32_t *room;
        uint64_t needed;
        size_t bytes;
    } arrays[] = {
        {(void **)&schedule->messages, &extract->message_room, messages, sizeof *schedule->messages},
        {(void **)&schedule->lists, &extract->list_room, messages, sizeof *schedule->lists},
        {(void **)&schedule->list_chunks, &extract->chunk_room, chunks, sizeof *schedule->list_chunks},
        {(void **)&extract->lowest, &extract->lowest_room, chunks, sizeof *extract->lowest},
        {(void **)&extract->ends[0], &extract->end_room[0], messages, sizeof *extract->ends[0]},
        {(void **)&extract->ends[1], &extract->end_room[1], messages, sizeof *extract->ends[1]},
    };
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++) {
        void *grown = pccl__array_grow(*arrays[i].array, arrays[i].room, arrays[i].needed, arrays[i].bytes);
        if (grown == NULL) {
            return false;
        }
        *arrays[i].array = grown;
    }
    return true;
}

static int receive(void *context, const struct pccl__levels_message *message)
{
    struct extract *extract = context;
    struct pccl_schedule *schedule = &extract->schedule;
    if (!make_room(extract, message->count)) {
        return PCCL_ERR_MEMORY;
    }
    uint32_t number = schedule->num_messages++;
    schedule->messages[number] = (struct pccl_message){
        .step = message->step, .path = number, .reduce = message->reduce, .list = true, .payload = number};
    schedule->lists[schedule->num_lists++] = (struct pccl_chunk_list){schedule->num_list_chunks, message->count};
    memcpy(schedule->list_chunks + schedule->num_list_chunks, message->chunks, message->count * sizeof(uint32_t));
    memcpy(extract->lowest + schedule->num_list_chunks, message->lowest, message->count * sizeof(uint32_t));
    schedule->num_list_chunks += message->count;
    extract->ends[0][number] = message->from;
    extract->ends[1][number] = message->to;
    return 0;
}

static int compare_messages(const void *left, const void *right)
{
    const struct pccl_message *a = left, *b = right;
    if (a->step != b->step) {
        return a->step < b->step ? -1 : 1;
    }
    return (a->path > b->path) - (a->path < b->path);
}

/* Fills what lowering needs of the rank; lowest contributors go by message in order of steps. */
static int prepare(struct pccl__lowering *lowering, struct extract *extract, const struct pccl__levels *levels,
                   uint32_t rank)
{
    struct pccl_schedule *schedule = &extract->schedule;
    uint32_t count = schedule->num_messages;
    if (count > 0) {
        qsort(schedule->messages, count, sizeof *schedule->messages, compare_messages);
    }
    lowering->first_send = pccl__array_new((size_t)rank + 2, sizeof *lowering->first_send);
    lowering->first_receive = pccl__array_new((size_t)rank + 2, sizeof *lowering->first_receive);
    lowering->sends = pccl__array_new(count, sizeof *lowering->sends);
    lowering->receives = pccl__array_new(count, sizeof *lowering->receives);
    lowering->first_lowest = pccl__array_new(count, sizeof *lowering->first_lowest);
    if (levels->demand.collective != PCCL_BARRIER) {
        lowering->chunks = pccl__array_new(levels->demand.num_chunks, sizeof *lowering->chunks);
    }
    if (lowering->first_send == NULL || lowering->first_receive == NULL || lowering->sends == NULL ||
        lowering->receives == NULL || lowering->first_lowest == NULL ||
        (lowering->chunks == NULL && levels->demand.collective != PCCL_BARRIER)) {
        return PCCL_ERR_MEMORY;
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t number = schedule->messages[i].path;
        bool sends = extract->ends[0][number] == rank;
        uint32_t *list = sends ? lowering->sends : lowering->receives;
        list[sends ? lowering->first_send[rank + 1]++ : lowering->first_receive[rank + 1]++] = i;
        lowering->first_lowest[i] = schedule->lists[number].first;
    }
    const struct pccl__nodes *nodes = levels->nodes;
    lowering->own_number = nodes->first[nodes->node[rank]] + nodes->position[rank];
    return 0;
}

int pccl__levels_program(const struct pccl__levels *levels, uint32_t rank, struct pccl_program **program,
                         struct pccl_error *error)
{
    struct extract extract = {0};
    struct pccl_demand demand = levels->demand;
    struct pccl__lowering lowering = {.schedule = &extract.schedule, .error = error};
    *program = NULL;
    extract.schedule.demand = &demand;
    int status = pccl__levels_list(levels, rank, demand.collective == PCCL_BARRIER, receive, &extract);
    status = status == 0 ? prepare(&lowering, &extract, levels, rank) : status;
    if (status == 0) {
        lowering.path_source = extract.ends[0];
        lowering.path_target = extract.ends[1];
        lowering.lowest = demand.reduces ? extract.lowest : NULL;
        status = pccl__lower(&lowering, rank, program);
        lowering.path_source = lowering.path_target = lowering.lowest = NULL;
    } else {
        pccl__fail_memory(error);
    }
    pccl__lowering_close(&lowering);
    free(extract.schedule.messages);
    free(extract.schedule.lists);
    free(extract.schedule.list_chunks);
    free(extract.lowest);
    free(extract.ends[0]);
    free(extract.ends[1]);
    return status;
}
