/* Which pairs of ranks are measured: for each kind of way a few that do not
 * meet anywhere, and for each class of links, as far as the job allows, many
 * that meet in one link only. */
#include <stdlib.h>
#include <string.h>

#include "calibrate.h"

#define MAX_HOSTS                                                                                                      \
    96                   /* that are looked at in pairs: half of them neighbours, the rest from                        \
                            all over the fabric */
#define WAYS_PER_CLASS 2 /* kinds of ways with it: the shortest */
#define MAX_KINDS 64

struct survey {
    const struct pccl_topology *fabric;
    const struct calibrate_rank *ranks;
    int num_ranks;
    int *hosts; /* one rank on each of the hosts looked at */
    int num_hosts;
    uint32_t *links; /* room for a route */
    uint32_t max_links;
    uint32_t *used; /* [num_capacities]: by how many pairs of those chosen so far */
    uint8_t *busy;  /* [num_ranks]: member of a pair chosen so far */
};

/* --- hosts
 * ------------------------------------------------------------------------------------------------------------
 */

static int find_hosts(struct survey *survey)
{
    const struct pccl_topology *fabric = survey->fabric;
    int *rank_on = malloc(fabric->num_devices * sizeof *rank_on), num_all = 0;
    int *all = malloc((size_t)survey->num_ranks * sizeof *all);
    if (!rank_on || !all) {
        free(all);
        free(rank_on);
        return PCCL_ERR_MEMORY;
    }
    memset(rank_on, 0xff, fabric->num_devices * sizeof *rank_on);
    for (int i = survey->num_ranks; i-- > 0;) {
        rank_on[survey->ranks[i].place.host] = i;
    }
    for (uint32_t device = 0; device < fabric->num_devices; device++) {
        if (rank_on[device] >= 0) {
            all[num_all++] = rank_on[device];
        }
    }
    free(rank_on);
    int near = num_all > MAX_HOSTS ? MAX_HOSTS / 2 : num_all, far = num_all > MAX_HOSTS ? MAX_HOSTS / 2 : 0;
    for (int i = 0; i < far; i++) { /* those from all over lie behind the first
                                       ones, and are moved down to them */
        all[near + i] = all[near + (int)((int64_t)i * (num_all - near) / far)];
    }
    survey->hosts = all;
    survey->num_hosts = near + far;
    return PCCL_SUCCESS;
}

/* --- ways
 * ---------------------------------------------------------------------------------------------------------------
 */

static int find_route(const struct survey *survey, int first, int second)
{
    const struct calibrate_rank *ranks = survey->ranks;
    return pccl_topology_route(survey->fabric, ranks[first].place.host, ranks[second].place.host, survey->links,
                               survey->max_links);
}

/* How many links of each class the route in survey->links has. */
static void count_classes(const struct survey *survey, int num_links, uint32_t *crossed)
{
    memset(crossed, 0, survey->fabric->num_classes * sizeof *crossed);
    for (int i = 0; i < num_links; i++) {
        crossed[survey->fabric->links[survey->links[i]].link_class]++;
    }
}

/* Marks or unmarks what a pair uses, in both directions. */
static void use(struct survey *survey, struct calibrate_pair pair, int change)
{
    for (int turn = 0; turn < 2; turn++) {
        int num_links =
            turn == 0 ? find_route(survey, pair.first, pair.second) : find_route(survey, pair.second, pair.first);
        for (int i = 0; i < num_links; i++) {
            survey->used[survey->fabric->links[survey->links[i]].capacity] += (uint32_t)change;
        }
    }
    survey->busy[pair.first] = survey->busy[pair.second] = change > 0;
}

/* Whether a pair meets those chosen so far anywhere but at `shared` (a capacity
 * or PCCL_NONE). */
static bool is_apart(struct survey *survey, struct calibrate_pair pair, uint32_t shared)
{
    if (survey->busy[pair.first] || survey->busy[pair.second]) {
        return false;
    }
    for (int turn = 0; turn < 2; turn++) {
        int num_links =
            turn == 0 ? find_route(survey, pair.first, pair.second) : find_route(survey, pair.second, pair.first);
        for (int i = 0; i < num_links; i++) {
            uint32_t capacity = survey->fabric->links[survey->links[i]].capacity;
            bool back = turn == 1; /* only the way there carries much */
            if (survey->used[capacity] > 0 && capacity != shared && !(back && shared != PCCL_NONE)) {
                return false;
            }
        }
    }
    return true;
}

static void release(struct survey *survey, const struct calibrate_pair *pairs, int num_pairs)
{
    for (int i = 0; i < num_pairs; i++) {
        use(survey, pairs[i], -1);
    }
}

/* --- kinds between hosts
 * -------------------------------------------------------------------------------------------------
 */

static struct calibrate_kind *find_kind(struct calibrate_plan *plan, const uint32_t *crossed, uint32_t num_classes)
{
    for (int i = 0; i < plan->num_kinds; i++) {
        if (plan->kinds[i].across && memcmp(plan->kinds[i].crossed, crossed, num_classes * sizeof *crossed) == 0) {
            return &plan->kinds[i];
        }
    }
    return NULL;
}

static int add_kind(struct calibrate_plan *plan, uint32_t **crossed, uint32_t num_links, uint32_t num_classes)
{
    if (find_kind(plan, *crossed, num_classes) || plan->num_kinds == MAX_KINDS) {
        return PCCL_SUCCESS;
    }
    plan->kinds[plan->num_kinds++] =
        (struct calibrate_kind){.across = true, .crossed = *crossed, .num_links = num_links};
    *crossed = malloc(num_classes * sizeof **crossed);
    return *crossed ? PCCL_SUCCESS : PCCL_ERR_MEMORY;
}

static int collect_kinds(struct survey *survey, struct calibrate_plan *plan)
{
    uint32_t num_classes = survey->fabric->num_classes, *crossed = malloc((num_classes + 1) * sizeof *crossed);
    int status = crossed ? PCCL_SUCCESS : PCCL_ERR_MEMORY;
    for (int i = 0; i < survey->num_hosts; i++) {
        for (int j = 0; j < survey->num_hosts && status == PCCL_SUCCESS; j++) {
            int num_links = i != j ? find_route(survey, survey->hosts[i], survey->hosts[j]) : -1;
            if (num_links > 0) {
                count_classes(survey, num_links, crossed);
                status = add_kind(plan, &crossed, (uint32_t)num_links, num_classes);
            }
        }
    }
    free(crossed);
    return status;
}

static int compare_kinds(const void *left, const void *right)
{
    const struct calibrate_kind *a = left, *b = right;
    return (a->num_links > b->num_links) - (a->num_links < b->num_links);
}

/* Keeps the shortest ways with each class. */
static void drop_kinds(struct calibrate_plan *plan, uint32_t num_classes)
{
    bool keep[MAX_KINDS] = {false};
    int num_kept = 0;
    qsort(plan->kinds, (size_t)plan->num_kinds, sizeof *plan->kinds, compare_kinds);
    for (uint32_t c = 0; c < num_classes; c++) {
        for (int i = 0, found = 0; i < plan->num_kinds && found < WAYS_PER_CLASS; i++) {
            found += plan->kinds[i].crossed[c] > 0;
            keep[i] |= plan->kinds[i].crossed[c] > 0;
        }
    }
    for (int i = 0; i < plan->num_kinds; i++) {
        if (keep[i]) {
            plan->kinds[num_kept++] = plan->kinds[i];
        } else {
            free(plan->kinds[i].crossed);
        }
    }
    plan->num_kinds = num_kept;
}

static void choose_pairs(struct survey *survey, struct calibrate_kind *kind, uint32_t *crossed)
{
    uint32_t num_classes = survey->fabric->num_classes;
    for (int i = 0; i < survey->num_hosts; i++) {
        for (int turn = 1; turn < survey->num_hosts && kind->num_pairs < CALIBRATE_MAX_PAIRS; turn++) {
            struct calibrate_pair pair = {survey->hosts[i], survey->hosts[(i + turn) % survey->num_hosts]};
            int num_links = survey->busy[pair.first] ? -1 : find_route(survey, pair.first, pair.second);
            if (num_links != (int)kind->num_links) {
                continue;
            }
            count_classes(survey, num_links, crossed);
            if (memcmp(crossed, kind->crossed, num_classes * sizeof *crossed) == 0 &&
                is_apart(survey, pair, PCCL_NONE)) {
                use(survey, pair, 1);
                kind->pairs[kind->num_pairs++] = pair;
            }
        }
    }
    release(survey, kind->pairs, kind->num_pairs);
}

/* --- bundles
 * ----------------------------------------------------------------------------------------------------------------
 */

static bool crosses(const struct survey *survey, int num_links, uint32_t link)
{
    for (int i = 0; i < num_links; i++) {
        if (survey->links[i] == link) {
            return true;
        }
    }
    return false;
}

/* As many pairs through one link as there are that meet nowhere else. */
static void fill_bundle(struct survey *survey, uint32_t link, struct calibrate_bundle *bundle)
{
    uint32_t capacity = survey->fabric->links[link].capacity;
    for (int i = 0; i < survey->num_hosts; i++) {
        for (int turn = 1; turn < survey->num_hosts && bundle->num_pairs < CALIBRATE_MAX_PAIRS; turn++) {
            struct calibrate_pair pair = {survey->hosts[i], survey->hosts[(i + turn) % survey->num_hosts]};
            int num_links = survey->busy[pair.first] ? -1 : find_route(survey, pair.first, pair.second);
            if (num_links > 0 && crosses(survey, num_links, link) && is_apart(survey, pair, capacity)) {
                use(survey, pair, 1);
                bundle->pairs[bundle->num_pairs++] = pair;
            }
        }
    }
    release(survey, bundle->pairs, bundle->num_pairs);
}

/* Links that devices end at are shared by nobody: two pairs would need the same
 * host. */
static bool joins_switches(const struct survey *survey, uint32_t link)
{
    const struct pccl_link *l = &survey->fabric->links[link];
    return l->source >= survey->fabric->num_devices && l->target >= survey->fabric->num_devices;
}

static struct calibrate_bundle best_bundle(struct survey *survey, uint32_t link_class)
{
    struct calibrate_bundle best = {.across = true, .which = link_class};
    int tried = 0;
    for (uint32_t link = 0; link < survey->fabric->num_links && tried < 4; link++) {
        struct calibrate_bundle bundle = {.across = true, .which = link_class};
        if (survey->fabric->links[link].link_class != link_class || !joins_switches(survey, link)) {
            continue;
        }
        fill_bundle(survey, link, &bundle);
        tried += bundle.num_pairs > 0;
        best = bundle.num_pairs > best.num_pairs ? bundle : best;
    }
    return best;
}

/* --- inside hosts
 * ------------------------------------------------------------------------------------------------------------
 */

/* Pairs of ranks that meet at the level; per_host: how many of one host, at
 * most. */
static int pairs_inside(struct survey *survey, enum pccl_level level, int per_host, struct calibrate_pair *pairs)
{
    int num_pairs = 0;
    const struct calibrate_rank *ranks = survey->ranks;
    for (int i = 0; i < survey->num_ranks && num_pairs < CALIBRATE_MAX_PAIRS; i++) {
        int on_host = 0;
        for (int k = 0; k < num_pairs; k++) {
            on_host += ranks[pairs[k].first].place.host == ranks[i].place.host;
        }
        for (int j = i + 1; j < survey->num_ranks && on_host < per_host && !survey->busy[i]; j++) {
            if (ranks[j].place.host == ranks[i].place.host && !survey->busy[j] &&
                calibrate_meeting_level(&ranks[i].place, &ranks[j].place) == level) {
                survey->busy[i] = survey->busy[j] = 1;
                pairs[num_pairs++] = (struct calibrate_pair){i, j};
                break;
            }
        }
    }
    memset(survey->busy, 0, (size_t)survey->num_ranks);
    return num_pairs;
}

/* Those of one host and one object. */
static void keep_first_object(const struct survey *survey, enum pccl_level level, struct calibrate_bundle *bundle)
{
    int num_kept = 0;
    for (int i = 0; i < bundle->num_pairs; i++) {
        const struct pccl_place *own = &survey->ranks[bundle->pairs[i].first].place;
        const struct pccl_place *first = &survey->ranks[bundle->pairs[0].first].place;
        if (own->host == first->host &&
            (level == PCCL_LEVEL_HOST || calibrate_meeting_level(own, first) >= level || own == first)) {
            bundle->pairs[num_kept++] = bundle->pairs[i];
        }
    }
    bundle->num_pairs = num_kept;
}

static void add_inside(struct survey *survey, struct calibrate_plan *plan)
{
    for (int level = PCCL_LEVEL_HOST; level < PCCL_LEVEL_RANK; level++) {
        struct calibrate_kind kind = {.level = (enum pccl_level)level};
        kind.num_pairs = pairs_inside(survey, kind.level, 1, kind.pairs);
        if (kind.num_pairs > 0) {
            plan->kinds[plan->num_kinds++] = kind;
            struct calibrate_bundle bundle = {.which = (uint32_t)level};
            bundle.num_pairs = pairs_inside(survey, kind.level, CALIBRATE_MAX_PAIRS, bundle.pairs);
            keep_first_object(survey, kind.level, &bundle);
            plan->bundles[plan->num_bundles++] = bundle;
        }
    }
}

/* --- the plan
 * ------------------------------------------------------------------------------------------------------------------
 */

static int make(struct survey *survey, struct calibrate_plan *plan)
{
    uint32_t num_classes = survey->fabric->num_classes, *crossed = malloc((num_classes + 1) * sizeof *crossed);
    int status = crossed ? find_hosts(survey) : PCCL_ERR_MEMORY;
    if (status == PCCL_SUCCESS) {
        status = collect_kinds(survey, plan);
    }
    if (status == PCCL_SUCCESS) {
        drop_kinds(plan, num_classes);
        for (int i = 0; i < plan->num_kinds; i++) {
            choose_pairs(survey, &plan->kinds[i], crossed);
        }
        for (uint32_t c = 0; c < num_classes; c++) {
            plan->bundles[plan->num_bundles++] = best_bundle(survey, c);
        }
        add_inside(survey, plan);
    }
    free(crossed);
    return status;
}

int calibrate_plan_make(struct calibrate_plan *plan, const struct pccl_topology *fabric,
                        const struct calibrate_rank *ranks, int num_ranks, struct pccl_error *error)
{
    (void)error;
    struct survey survey = {.fabric = fabric, .ranks = ranks, .num_ranks = num_ranks};
    survey.max_links = pccl_topology_route_limit(fabric);
    survey.links = malloc(((size_t)survey.max_links + 1) * sizeof *survey.links);
    survey.used = calloc((size_t)fabric->num_capacities + 1, sizeof *survey.used);
    survey.busy = calloc((size_t)num_ranks, 1);
    plan->kinds = calloc(MAX_KINDS + PCCL_NUM_LEVELS, sizeof *plan->kinds);
    plan->bundles = calloc((size_t)fabric->num_classes + PCCL_NUM_LEVELS, sizeof *plan->bundles);
    int status =
        survey.links && survey.used && survey.busy && plan->kinds && plan->bundles ? PCCL_SUCCESS : PCCL_ERR_MEMORY;
    if (status == PCCL_SUCCESS) {
        status = make(&survey, plan);
    }
    free(survey.hosts);
    free(survey.busy);
    free(survey.used);
    free(survey.links);
    return status;
}

void calibrate_plan_free(struct calibrate_plan *plan)
{
    for (int i = 0; i < plan->num_kinds; i++) {
        free(plan->kinds[i].crossed);
    }
    free(plan->bundles);
    free(plan->kinds);
}
