/* Programs of ranks that know only their own edges: made, accepted, and refused after any change. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/random.h"
#include "pccl/verify.h"

enum { MOST_EDGES = 40, EXCHANGING_RANK = 3 };

struct exchange {
    struct pccl_edge sends[MOST_EDGES], receives[MOST_EDGES];
    uint32_t num_sends, num_receives;
    struct pccl_program *program;
};

/* Few peers, so that there are several edges with one; as many edges from the rank itself as to itself. */
static void make_exchange(struct exchange *exchange, uint64_t seed)
{
    struct pccl__random random = {.state = seed};
    struct pccl_error error = {""};
    uint32_t num_own = pccl__random_below(&random, 3), num_peers = 1 + pccl__random_below(&random, 8);
    exchange->num_sends = num_own + pccl__random_below(&random, MOST_EDGES - 3);
    exchange->num_receives = num_own + pccl__random_below(&random, MOST_EDGES - 3);
    for (uint32_t i = 0; i < MOST_EDGES; i++) {
        uint32_t sends_to = pccl__random_below(&random, num_peers), hears = pccl__random_below(&random, num_peers);
        exchange->sends[i].peer = i < num_own ? EXCHANGING_RANK : sends_to + (sends_to >= EXCHANGING_RANK);
        exchange->receives[i].peer = i < num_own ? EXCHANGING_RANK : hears + (hears >= EXCHANGING_RANK);
        exchange->sends[i].block = seed % 2 == 0 ? 0 : i;
        exchange->receives[i].block = MOST_EDGES - i;
    }
    int status = pccl_program_exchange(EXCHANGING_RANK, exchange->sends, exchange->num_sends, exchange->receives,
                                       exchange->num_receives, &exchange->program, &error);
    if (status != 0) {
        fail_msg("seed %llu: %s", (unsigned long long)seed, error.message);
    }
}

static int verify_exchange(const struct exchange *exchange)
{
    struct pccl_error error = {""};
    return pccl_verify_exchange(exchange->program, exchange->sends, exchange->num_sends, exchange->receives,
                                exchange->num_receives, &error);
}

/* Every change of a slot, a peer, a lane or a wait is noticed. */
static void break_exchange(struct exchange *exchange, uint32_t number)
{
    struct pccl_program *program = exchange->program;
    struct pccl_operation *operation = &program->operations[number], kept = *operation;
    pccl_slot *slot = &program->slots[operation->first_slot + (operation->kind == PCCL_OP_COPY)];
    *slot += MOST_EDGES + 1;
    assert_int_equal(verify_exchange(exchange), PCCL_ERR_VERIFY);
    *slot -= MOST_EDGES + 1;
    operation->num_waits ^= 1;
    assert_int_equal(verify_exchange(exchange), PCCL_ERR_VERIFY);
    *operation = kept;
    operation->next_in_lane = operation->next_in_lane == PCCL_NONE ? program->num_operations - 1 : PCCL_NONE;
    assert_int_equal(verify_exchange(exchange), PCCL_ERR_VERIFY);
    *operation = kept;
    operation->peer = operation->kind == PCCL_OP_COPY ? 0 : EXCHANGING_RANK;
    operation->kind = PCCL_OP_SEND;
    assert_int_equal(verify_exchange(exchange), PCCL_ERR_VERIFY);
    *operation = kept;
    assert_int_equal(verify_exchange(exchange), 0);
}

static void test_exchanges(void **state)
{
    (void)state;
    struct exchange exchange;
    for (uint64_t seed = 0; seed < 300; seed++) {
        make_exchange(&exchange, seed);
        assert_int_equal(verify_exchange(&exchange), 0);
        for (uint32_t i = 0; i < exchange.program->num_operations; i++) {
            break_exchange(&exchange, i);
        }
        if (exchange.program->num_operations > 0) {
            exchange.program->num_operations--;
            assert_int_equal(verify_exchange(&exchange), PCCL_ERR_VERIFY);
        }
        pccl_program_free(exchange.program);
    }
    exchange.receives[0].peer = EXCHANGING_RANK;
    assert_int_equal(pccl_program_exchange(EXCHANGING_RANK, NULL, 0, exchange.receives, 1, &exchange.program, NULL),
                     PCCL_ERR_INVALID);
    assert_null(exchange.program);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_exchanges)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
