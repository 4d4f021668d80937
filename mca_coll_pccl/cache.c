/* The plans of the process: a bounded table that forgets the plan not used for the longest time. One lock guards the
 * table, the reference counts and the idle executions; it is taken for real only if the application uses threads, and
 * never held while a plan is made or messages move. */
#include <stdlib.h>
#include <string.h>

#include "execute.h"
#include "plan.h"

#define NUM_BUCKETS 1024 /* power of two */

static opal_mutex_t lock = OPAL_MUTEX_STATIC_INIT;
static struct {
    struct coll_pccl_plan **places; /* [bound]; made at first use */
    uint32_t num_plans, bound;
    uint64_t clock;       /* calls so far */
    uint64_t generations; /* plans made so far */
    struct coll_pccl_plan *buckets[NUM_BUCKETS];
} cache;

static struct coll_pccl_plan **bucket_of(const struct coll_pccl_key *key)
{
    uint64_t hash =
        key->digest ^ ((uint64_t)key->root << 24 | (uint64_t)key->band << 8 | (uint64_t)key->collective << 2 |
                       (uint64_t)key->ordered << 1 | (uint64_t)key->direct);
    hash += key->frugal;
    hash *= UINT64_C(0x9e3779b97f4a7c15);
    return &cache.buckets[hash >> 32 & (NUM_BUCKETS - 1)];
}

static bool is_same(const struct coll_pccl_key *a, const struct coll_pccl_key *b)
{
    return a->digest == b->digest && a->collective == b->collective && a->band == b->band && a->root == b->root &&
           a->ordered == b->ordered && a->reproducible == b->reproducible && a->direct == b->direct &&
           a->frugal == b->frugal && a->num_ranks == b->num_ranks && a->rank == b->rank &&
           a->one_block == b->one_block &&
           coll_pccl_neighborhood_equal(a->neighborhood, b->neighborhood) &&
           (a->neighborhood || memcmp(a->devices, b->devices, a->num_ranks * sizeof *a->devices) == 0);
}

/* A plan that the ranks have agreed upon may come from anywhere; one that they have not must be the synthesizer's. */
static bool serves(const struct coll_pccl_plan *plan, const struct coll_pccl_key *key)
{
    return is_same(&plan->key, key) && (key->kept ? plan->digest == key->kept : plan->key.kept == 0);
}

/* Gives up one reference; true if it was the last. */
static bool drop(struct coll_pccl_plan *plan)
{
    return --plan->references == 0;
}

/* Takes the plan out of the table. Executions that use it keep it alive until they are done. */
static void evict(struct coll_pccl_plan *plan)
{
    struct coll_pccl_plan **link = bucket_of(&plan->key);
    while (*link != plan) {
        link = &(*link)->next;
    }
    *link = plan->next;
    cache.places[plan->place] = NULL;
    if (drop(plan)) {
        coll_pccl_plan_free(plan);
    }
}

/* A free place of the table. */
static uint32_t make_place(void)
{
    if (cache.num_plans < cache.bound) {
        return cache.num_plans++;
    }
    uint32_t oldest = 0;
    for (uint32_t i = 1; i < cache.bound; i++) {
        if (cache.places[i]->used < cache.places[oldest]->used) {
            oldest = i;
        }
    }
    evict(cache.places[oldest]);
    return oldest;
}

static int add(struct coll_pccl_plan *plan)
{
    if (!cache.places) {
        cache.places = calloc((size_t)coll_pccl_parameters.cache_plans, sizeof(struct coll_pccl_plan *));
        if (!cache.places) {
            return PCCL_ERR_MEMORY;
        }
        cache.bound = (uint32_t)coll_pccl_parameters.cache_plans;
    }
    plan->place = make_place();
    cache.places[plan->place] = plan;
    plan->references = 1;
    plan->generation = ++cache.generations;
    struct coll_pccl_plan **bucket = bucket_of(&plan->key);
    plan->next = *bucket;
    *bucket = plan;
    return PCCL_SUCCESS;
}

/* Counts a use and a reference, and hands out an idle execution if there is one. */
static struct coll_pccl_plan *take(struct coll_pccl_plan *plan, struct coll_pccl_execution **idle)
{
    plan->used = ++cache.clock;
    plan->references++;
    *idle = plan->idle;
    if (*idle) {
        plan->idle = (*idle)->next_idle;
    }
    return plan;
}

static struct coll_pccl_plan *look_up(const struct coll_pccl_key *key)
{
    struct coll_pccl_plan *plan = *bucket_of(key);
    while (plan && !serves(plan, key)) {
        plan = plan->next;
    }
    return plan;
}

/* Puts a new plan into the table, unless another thread has made the same one meanwhile: then that is used. */
static int add_or_find(struct coll_pccl_plan *made, struct coll_pccl_plan **found, struct coll_pccl_execution **idle)
{
    int status = PCCL_SUCCESS;
    OPAL_THREAD_LOCK(&lock);
    struct coll_pccl_plan *plan = look_up(&made->key);
    if (!plan) {
        plan = made;
        status = add(plan);
    }
    if (status == PCCL_SUCCESS) {
        *found = take(plan, idle);
    }
    OPAL_THREAD_UNLOCK(&lock);
    if (plan != made || status != PCCL_SUCCESS) {
        coll_pccl_plan_free(made);
    }
    return status;
}

int coll_pccl_cache_find(const struct coll_pccl_key *key, struct ompi_communicator_t *comm,
                         struct coll_pccl_plan **found, struct coll_pccl_execution **idle)
{
    OPAL_THREAD_LOCK(&lock);
    struct coll_pccl_plan *plan = look_up(key);
    if (plan) {
        *found = take(plan, idle);
    }
    OPAL_THREAD_UNLOCK(&lock);
    if (plan) {
        return PCCL_SUCCESS;
    }
    int status = coll_pccl_plan_create(key, comm, &plan);
    return status == PCCL_SUCCESS ? add_or_find(plan, found, idle) : status;
}

/* The digest of any plan for a key; 0 if there is none. */
static uint64_t find_digest(const struct coll_pccl_key *key)
{
    OPAL_THREAD_LOCK(&lock);
    struct coll_pccl_plan *plan = *bucket_of(key);
    while (plan && !is_same(&plan->key, key)) {
        plan = plan->next;
    }
    uint64_t digest = plan ? plan->digest : 0;
    OPAL_THREAD_UNLOCK(&lock);
    return digest;
}

uint64_t coll_pccl_cache_offer(const struct coll_pccl_key *key, bool *is_from_file)
{
    struct coll_pccl_execution *idle = NULL;
    struct coll_pccl_plan *plan = NULL;
    uint64_t digest = find_digest(key);
    *is_from_file = false;
    if (digest || coll_pccl_plan_load(key, &plan) != PCCL_SUCCESS || !plan) {
        return digest;
    }
    /* It goes into the table, so that it need not be read again once it is agreed upon. */
    if (add_or_find(plan, &plan, &idle) != PCCL_SUCCESS) {
        return 0;
    }
    digest = plan->digest;
    *is_from_file = plan->key.kept != 0;
    coll_pccl_plan_release(plan, idle);
    return digest;
}

struct coll_pccl_plan *coll_pccl_cache_recall(uint32_t place, uint64_t generation, struct coll_pccl_execution **idle)
{
    OPAL_THREAD_LOCK(&lock);
    struct coll_pccl_plan *plan = cache.places[place];
    plan = plan->generation == generation ? take(plan, idle) : NULL;
    OPAL_THREAD_UNLOCK(&lock);
    return plan;
}

void coll_pccl_plan_release(struct coll_pccl_plan *plan, struct coll_pccl_execution *idle)
{
    OPAL_THREAD_LOCK(&lock);
    if (idle) {
        idle->next_idle = plan->idle;
        plan->idle = idle;
    }
    bool last = drop(plan);
    OPAL_THREAD_UNLOCK(&lock);
    if (last) {
        coll_pccl_plan_free(plan);
    }
}

void coll_pccl_cache_free(void)
{
    for (uint32_t i = 0; i < cache.num_plans; i++) {
        evict(cache.places[i]);
    }
    free(cache.places);
    memset(&cache, 0, sizeof cache);
}
