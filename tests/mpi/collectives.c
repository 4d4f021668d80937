/* Every collective against the reference: lists that walk through one dimension at a time (roots, datatypes,
 * communicators, operators, v-forms), then random combinations of all.
 *
 * collectives [--plain] [--random N] [--seed S] [GROUP...]     groups: roots types comms reductions counts random */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "call.h"

static uint64_t next_seed = 1;

static struct recipe recipe_new(enum kind collective)
{
    struct recipe recipe = {.collective = collective, .units = 17, .seed = next_seed++};
    recipe.reference_first = recipe.seed % 4 == 0;
    return recipe;
}

/* Runs a recipe as it is, and in place where the collective has that. */
static void run_both(struct recipe recipe)
{
    recipe_run(&recipe);
    if (recipe.collective != BCAST && recipe.collective != BARRIER) {
        recipe.in_place = true;
        recipe.junk = !recipe.junk;
        recipe.seed = next_seed++;
        recipe_run(&recipe);
    }
}

static void test_roots(void)
{
    static const int units[] = {1, 0, 17, 1000, 9000};
    int size;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (enum kind collective = 0; collective < NUM_COLLECTIVES; collective++) {
        for (int root = 0; collective_is_rooted(collective) && root < size; root++) {
            struct recipe recipe = recipe_new(collective);
            recipe.root = root;
            recipe.units = units[root % 5];
            recipe.junk = root % 2 == 0;
            run_both(recipe);
            recipe = recipe_new(collective);
            recipe.root = root;
            run_both(recipe);
        }
    }
}

/* Every variant of every family against its own kind and against the mixture of all. */
static void test_types(void)
{
    for (enum kind collective = 0; collective < NUM_COLLECTIVES; collective++) {
        for (int family = 0; family < NUM_FAMILIES; family++) {
            for (int variant = EACH_ANOTHER; variant < families[family].num_variants; variant++) {
                struct recipe recipe = recipe_new(collective);
                if (collective_is_reduction(collective) || collective == BARRIER) {
                    continue;
                }
                recipe.family = family;
                recipe.send_variant = variant;
                recipe.receive_variant = variant % 2 == 0 ? variant : EACH_ANOTHER;
                recipe.units = variant % 2 == 0 ? 12 : 156;
                recipe.root = variant + 1;
                recipe.weights = (enum weights)((variant + 1) % NUM_WEIGHTS);
                recipe.layout = (enum layout)((variant + 1) % NUM_LAYOUTS);
                run_both(recipe);
            }
        }
    }
}

static void test_comms(void)
{
    for (int comm = 0; comm < num_comms; comm++) {
        for (enum kind collective = 0; collective < NUM_COLLECTIVES; collective++) {
            for (int units = 1; units < 2000; units *= 11) {
                struct recipe recipe = recipe_new(collective);
                recipe.comm = comm;
                recipe.units = units;
                recipe.root = units + comm;
                recipe.weights = (enum weights)(comm % NUM_WEIGHTS);
                recipe.layout = (enum layout)(comm % NUM_LAYOUTS);
                recipe.reduction = (comm * 7 + units) % num_reductions;
                run_both(recipe);
            }
        }
    }
}

static void test_reductions(void)
{
    static const int units[] = {1, 3, 40, 0, 777, 2500};
    static const enum kind collectives[] = {ALLREDUCE, REDUCE, REDUCE_SCATTER, REDUCE_SCATTER_BLOCK,
                                                  SCAN, EXSCAN};
    for (int reduction = 0; reduction < num_reductions; reduction++) {
        for (int i = 0; i < 6; i++) {
            for (int j = 0; j < (reduction < first_user_reduction ? 2 : 4); j++) {
                struct recipe recipe = recipe_new(collectives[i]);
                recipe.reduction = reduction;
                recipe.units = units[(reduction + i + j) % 6];
                recipe.weights = (enum weights)((reduction + i + j) % NUM_WEIGHTS);
                recipe.root = reduction + j;
                run_both(recipe);
            }
        }
    }
}

/* Sizes around the borders where algorithms change, and large ones. */
static void test_counts(void)
{
    static const int units[] = {0, 1, 2, 5, 7, 63, 65, 1023, 4097, 20001, 100003};
    int size;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (enum kind collective = 0; collective < NUM_COLLECTIVES; collective++) {
        for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
            struct recipe recipe = recipe_new(collective);
            bool vector = collective == BCAST || collective == REDUCE || collective == ALLREDUCE ||
                          collective == SCAN || collective == EXSCAN;
            if (!vector && units[i] * size > 400000) {
                continue;
            }
            recipe.units = units[i];
            recipe.family = i % 2 == 0 ? FAMILY_CHAR : FAMILY_INT;
            recipe.weights = (enum weights)(i % NUM_WEIGHTS);
            recipe.root = (int)i;
            run_both(recipe);
        }
    }
}

static struct recipe recipe_random(struct random *random)
{
    static const int units[] = {0, 1, 2, 3, 5, 12, 17, 36, 100, 333, 1000, 1200, 4096};
    struct recipe recipe = {.seed = random_next(random)};
    recipe.collective = (enum kind)random_below(random, NUM_COLLECTIVES);
    recipe.comm = (int)random_below(random, (uint32_t)num_comms);
    recipe.root = (int)random_below(random, MAX_RANKS);
    recipe.family = (int)random_below(random, NUM_FAMILIES);
    recipe.send_variant = (int)random_below(random, MAX_VARIANTS + 1) - 1;
    recipe.receive_variant = (int)random_below(random, MAX_VARIANTS + 1) - 1;
    recipe.units = units[random_below(random, sizeof(units) / sizeof(*units))];
    recipe.weights = (enum weights)random_below(random, NUM_WEIGHTS);
    recipe.layout = (enum layout)random_below(random, NUM_LAYOUTS);
    recipe.reduction = (int)random_below(random, (uint32_t)num_reductions);
    recipe.in_place = random_below(random, 2) == 0;
    recipe.junk = random_below(random, 2) == 0;
    recipe.reference_first = random_below(random, 4) == 0;
    return recipe;
}

static void test_random(uint64_t seed, long rounds)
{
    struct random random = {seed};
    for (long i = 0; i < rounds; i++) {
        struct recipe recipe = recipe_random(&random);
        recipe_run(&recipe);
    }
}

int main(int argc, char **argv)
{
    static const char *const groups[] = {"roots", "types", "comms", "reductions", "counts", "random"};
    unsigned chosen = 0;
    uint64_t seed = 20240601;
    long rounds = 300;
    int rank;
    check_init(&argc, &argv, "collectives");
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--random") == 0 && i + 1 < argc) {
            rounds = atol(argv[++i]);
        } else if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc) {
            seed = strtoull(argv[++i], NULL, 0);
        }
        recipe_plain = recipe_plain || strcmp(argv[i], "--plain") == 0;
        for (unsigned j = 0; j < 6; j++) {
            chosen |= strcmp(argv[i], groups[j]) == 0 ? 1u << j : 0;
        }
    }
    chosen = chosen == 0 ? ~0u : chosen;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0 && (chosen & 32) != 0) {
        printf("random: seed %llu, %ld rounds\n", (unsigned long long)seed, rounds);
    }
    families_make();
    reductions_make();
    comms_make();
    for (int i = 0; i < 5; i++) {
        static void (*const tests[])(void) = {test_roots, test_types, test_comms, test_reductions, test_counts};
        if ((chosen & 1u << i) != 0) {
            tests[i]();
        }
    }
    if ((chosen & 32) != 0) {
        test_random(seed, rounds);
    }
    comms_free();
    reductions_free();
    families_free();
    return check_finalize();
}
