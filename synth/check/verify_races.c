/* Third pass over programs: within a rank, every two accesses to the same memory of which one writes are ordered by a
 * chain of dependencies. The lanes do not count: they order posting, not completion. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "check/programs.h"

/* What happened to a place of memory so far. */
struct place {
    uint32_t writer;       /* last operation that wrote it, or PCCL_NONE */
    uint32_t first_reader; /* reads since, in a list, or PCCL_NONE */
};

struct reader {
    uint32_t operation, operand, next; /* operand: index within the operation's lists */
};

struct history {
    const struct pccl__programs *programs;
    const struct pccl_program *program;
    bool in_place;
    struct pccl__layout layout;
    struct place *places;
    struct reader *readers;
    uint32_t num_readers;
    uint32_t *first_predecessor; /* [num_operations + 2] */
    uint32_t *predecessors;
    uint32_t *reached; /* [num_operations] the last operation found to come after this one, plus 1 */
    uint32_t *queue;   /* [num_operations] the operations found before the current one, in the order found */
    uint32_t num_queued, num_expanded;
};

static void list_predecessors(struct history *history)
{
    const struct pccl_program *program = history->program;
    uint32_t *first = history->first_predecessor, count = program->num_operations;
    memset(first, 0, ((size_t)count + 2) * sizeof *first);
    for (uint32_t i = 0; i < count; i++) {
        const struct pccl_operation *operation = &program->operations[i];
        for (uint32_t j = 0; j < operation->num_successors; j++) {
            first[program->successors[operation->first_successor + j] + 2]++;
        }
    }
    for (uint32_t i = 0; i <= count; i++) {
        first[i + 1] += first[i];
    }
    for (uint32_t i = 0; i < count; i++) {
        const struct pccl_operation *operation = &program->operations[i];
        for (uint32_t j = 0; j < operation->num_successors; j++) {
            history->predecessors[first[program->successors[operation->first_successor + j] + 1]++] = i;
        }
    }
}

static void queue_predecessors(struct history *history, uint32_t of, uint32_t current)
{
    for (uint32_t i = history->first_predecessor[of]; i < history->first_predecessor[of + 1]; i++) {
        uint32_t earlier = history->predecessors[i];
        if (history->reached[earlier] != current + 1) {
            history->reached[earlier] = current + 1;
            history->queue[history->num_queued++] = earlier;
        }
    }
}

/* Whether `current` waits for `earlier`, directly or through others. Breadth first, going on where the last question
 * about `current` ended, because the answer is nearly always among the nearest. */
static bool comes_after(struct history *history, uint32_t current, uint32_t earlier)
{
    while (history->reached[earlier] != current + 1) {
        if (history->num_expanded == history->num_queued) {
            return false;
        }
        queue_predecessors(history, history->queue[history->num_expanded++], current);
    }
    return true;
}

static int report(const struct history *history, uint32_t position, uint32_t earlier, uint32_t current,
                  const char *what)
{
    static const char *const areas[] = {"input", "output", "scratch", "unknown"};
    pccl_slot slot = history->program->slots[position];
    return pccl__fail(history->programs->error, PCCL_ERR_VERIFY,
                      "rank %u, operation %u %s operation %u at %s slot %u (%s)", history->program->rank, current, what,
                      earlier, areas[slot >> 30], PCCL_SLOT_INDEX(slot),
                      history->in_place ? "in place" : "not in place");
}

static int read_slot(struct history *history, uint32_t current, uint32_t position, uint32_t operand)
{
    pccl_slot slot = history->program->slots[position];
    struct place *place = &history->places[pccl__slot_place(&history->layout, slot)];
    if (place->writer != PCCL_NONE) {
        if (PCCL_SLOT_AREA(slot) == PCCL_INPUT) {
            return report(history, position, place->writer, current, "reads the input after it was overwritten by");
        }
        if (!comes_after(history, current, place->writer)) {
            return report(history, position, place->writer, current, "may read before it is written by");
        }
    }
    history->readers[history->num_readers] = (struct reader){current, operand, place->first_reader};
    place->first_reader = history->num_readers++;
    return 0;
}

/* A copy of a slot onto the very same memory changes nothing. */
static bool is_own_copy(const struct history *history, uint32_t current, uint32_t position, uint32_t place)
{
    const struct pccl_operation *operation = &history->program->operations[current];
    return operation->kind == PCCL_OP_COPY &&
           pccl__slot_place(&history->layout, history->program->slots[position - operation->num_slots]) == place;
}

static int write_slot(struct history *history, uint32_t current, uint32_t position, uint32_t operand)
{
    uint32_t number = pccl__slot_place(&history->layout, history->program->slots[position]);
    struct place *place = &history->places[number];
    if (is_own_copy(history, current, position, number)) {
        return 0;
    }
    for (uint32_t i = place->first_reader; i != PCCL_NONE; i = history->readers[i].next) {
        const struct reader *reader = &history->readers[i];
        if (reader->operation == current && reader->operand != operand) {
            return report(history, position, current, current, "writes what it also reads as another operand:");
        }
        if (reader->operation != current && !comes_after(history, current, reader->operation)) {
            return report(history, position, reader->operation, current, "may overwrite before it is read by");
        }
    }
    if (place->writer == current) {
        return report(history, position, current, current, "writes twice:");
    }
    if (place->writer != PCCL_NONE && !comes_after(history, current, place->writer)) {
        return report(history, position, place->writer, current, "may write before");
    }
    place->writer = current;
    place->first_reader = PCCL_NONE;
    return 0;
}

static int check_operation(struct history *history, uint32_t current)
{
    const struct pccl_operation *operation = &history->program->operations[current];
    history->num_queued = history->num_expanded = 0;
    queue_predecessors(history, current, current);
    int status = 0;
    for (uint32_t list = 0; list < pccl__operand_lists(operation->kind); list++) {
        bool written = pccl__operand_written(operation->kind, list);
        for (uint32_t i = 0; i < operation->num_slots && status == 0; i++) {
            uint32_t position = operation->first_slot + list * operation->num_slots + i;
            status = written ? write_slot(history, current, position, i) : read_slot(history, current, position, i);
        }
    }
    return status;
}

static int check_rank(struct history *history, size_t num_places)
{
    const struct pccl_program *program = history->program;
    memset(history->places, 0xff, num_places * sizeof *history->places);
    memset(history->reached, 0, program->num_operations * sizeof *history->reached);
    history->num_readers = 0;
    int status = 0;
    for (uint32_t i = 0; i < program->num_operations && status == 0; i++) {
        status = check_operation(history, i);
    }
    return status;
}

int pccl__program_check_races(const struct pccl__programs *programs, const struct pccl_program *program)
{
    uint32_t rank = program->rank;
    struct history history = {.programs = programs, .program = program};
    size_t num_places = (size_t)pccl_demand_num_input_slots(programs->demand, rank) +
                        pccl_demand_num_output_slots(programs->demand, rank) + program->num_scratch_slots;
    history.places = pccl__array_new(num_places, sizeof *history.places);
    history.readers = pccl__array_new(program->num_slots, sizeof *history.readers);
    history.first_predecessor = pccl__array_new((size_t)program->num_operations + 2, sizeof *history.first_predecessor);
    history.predecessors = pccl__array_new(program->num_successors, sizeof *history.predecessors);
    history.reached = pccl__array_new(program->num_operations, sizeof *history.reached);
    history.queue = pccl__array_new(program->num_operations, sizeof *history.queue);
    int status;
    if (history.places == NULL || history.readers == NULL || history.first_predecessor == NULL ||
        history.predecessors == NULL || history.reached == NULL || history.queue == NULL) {
        status = pccl__fail_memory(programs->error);
    } else {
        list_predecessors(&history);
        history.layout = pccl__layout_find(programs->demand, rank, false);
        uint32_t num_aliases = history.layout.num_aliases;
        status = check_rank(&history, num_places);
        history.in_place = true;
        history.layout = pccl__layout_find(programs->demand, rank, true);
        if (status == 0 && history.layout.num_aliases != num_aliases) {
            status = check_rank(&history, num_places);
        }
    }
    free(history.places);
    free(history.readers);
    free(history.first_predecessor);
    free(history.predecessors);
    free(history.reached);
    free(history.queue);
    return status;
}

int pccl__programs_check_races(const struct pccl__programs *programs)
{
    int status = 0;
    for (uint32_t rank = 0; rank < programs->demand->num_ranks && status == 0; rank++) {
        status = pccl__program_check_races(programs, programs->programs[rank]);
    }
    return status;
}
