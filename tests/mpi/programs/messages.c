/* Messages of the program itself, which must not meet those of collectives. */
#include <stdlib.h>

#include "requests.h"

struct message {
    bool incoming;
    uint64_t seed;
    int length;
    unsigned char bytes[];
};

static unsigned char byte_at(uint64_t seed, int i)
{
    return (unsigned char)random_mix(seed, (uint64_t)i);
}

static struct message *make(bool incoming, uint64_t seed, int length)
{
    struct message *message = malloc(sizeof(*message) + (size_t)length + 1);
    message->incoming = incoming;
    message->seed = seed;
    message->length = length;
    for (int i = 0; i <= length; i++) {
        message->bytes[i] = (unsigned char)(byte_at(seed, i) ^ (incoming ? 0xff : 0));
    }
    return message;
}

/* Both sides have the same tag, or the receiver takes any: several messages between two ranks come in order. */
void message_exchange(struct requests *requests, const struct communicator *communicator, uint64_t seed,
                      struct random *own)
{
    struct random shared = {seed};
    const MPI_Comm comm = communicator->comm;
    const int rank = communicator->rank, size = communicator->size;
    const int distance = (int)random_below(&shared, (uint32_t)size), tag = (int)random_below(&shared, 3);
    const int length = (int)random_below(&shared, random_below(&shared, 6) == 0 ? 9000 : 100);
    const int source = (rank + size - distance) % size, target = (rank + distance) % size;
    const int accepted = random_below(own, 3) == 0 ? MPI_ANY_TAG : tag;
    struct message *in = make(true, random_mix(seed, (uint64_t)source), length);
    struct message *out = make(false, random_mix(seed, (uint64_t)rank), length);
    struct operation receive = {.message = in, .active = true}, send = {.message = out, .active = true};
    MPI_Irecv(in->bytes, length, MPI_BYTE, source, accepted, comm, &receive.request);
    MPI_Isend(out->bytes, length, MPI_BYTE, target, tag, comm, &send.request);
    requests_add(requests, receive, own);
    requests_add(requests, send, own);
}

void message_check(const struct message *message)
{
    int i = 0;
    while (i < message->length && message->bytes[i] == byte_at(message->seed, i)) {
        i++;
    }
    check_that(i == message->length, "byte %d of %d is wrong in a message %s", i, message->length,
               message->incoming ? "received" : "sent");
    if (message->incoming) {
        check_that(message->bytes[message->length] == (byte_at(message->seed, message->length) ^ 0xff),
                   "written behind a message");
    }
}

void message_free(struct message *message)
{
    free(message);
}
