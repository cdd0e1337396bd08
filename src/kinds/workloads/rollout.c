#include "kinds/workloads/rollout.h"

#include <stdlib.h>

#include "base/intorstr.h"

/* An update alternates between scaling up and down; with constant availability it settles soon. */
#define TURNS_MAX 16

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t sum_wanted(const struct rollout *r)
{
    int64_t sum = 0;
    for (size_t i = 0; i < r->count; i++)
        sum += r->sets[i].replicas;
    return sum;
}

static void resize(struct rollout_set *s, int64_t replicas)
{
    s->scaled |= s->replicas != replicas;
    s->replicas = replicas;
}

void rollout_bounds(struct rollout *r, struct json strategy)
{
    struct error err;
    struct json surge = json_get(strategy, "rollingUpdate.maxSurge");
    struct json unavailable = json_get(strategy, "rollingUpdate.maxUnavailable");
    bool rolling = !text_eq(json_get_text(strategy, "type"), "Recreate");
    r->surge = r->unavailable = 0;
    if (!rolling)
        return;
    if (json_present(surge) && !intorstr_scaled(surge, r->replicas, true, &r->surge, &err))
        r->surge = 0;
    if (json_present(unavailable) &&
        !intorstr_scaled(unavailable, r->replicas, false, &r->unavailable, &err))
        r->unavailable = 0;
    if (r->surge == 0 && r->unavailable == 0)
        r->unavailable = 1;
    r->unavailable = least(r->unavailable, r->replicas);
}

/* ---- scaling ---- */

/* The only set with pods, or the latest if none has any; NULL: there are several. */
static struct rollout_set *active_or_latest(struct rollout *r)
{
    struct rollout_set *active = NULL;
    size_t count = 0;
    for (size_t i = 0; i < r->count; i++)
        if (r->sets[i].replicas > 0) {
            active = &r->sets[i];
            count++;
        }
    if (count > 0)
        return count == 1 ? active : NULL;
    return r->latest ? r->latest : r->count ? &r->sets[r->count - 1] : NULL;
}

static int by_size_newer(const void *left, const void *right)
{
    const struct rollout_set *a = *(struct rollout_set *const *)left;
    const struct rollout_set *b = *(struct rollout_set *const *)right;
    if (a->replicas != b->replicas)
        return a->replicas > b->replicas ? -1 : 1;
    return a > b ? -1 : a < b;
}

static int by_size_older(const void *left, const void *right)
{
    const struct rollout_set *a = *(struct rollout_set *const *)left;
    const struct rollout_set *b = *(struct rollout_set *const *)right;
    if (a->replicas != b->replicas)
        return a->replicas > b->replicas ? -1 : 1;
    return a < b ? -1 : a > b;
}

static int64_t divide_rounded(int64_t a, int64_t b)
{
    return (2 * a + b) / (2 * b);
}

static int64_t share_of(
    const struct rollout *r, const struct rollout_set *s, int64_t to_add, int64_t added)
{
    if (to_add == added)
        return 0;
    int64_t before = s->most ? s->most : r->told;
    int64_t share = -s->replicas;
    if (r->replicas > 0)
        share = before > 0
                    ? divide_rounded(s->replicas * (r->replicas + r->surge), before) - s->replicas
                    : 0;
    int64_t allowed = to_add - added;
    return to_add > 0 ? least(share, allowed) : share > allowed ? share : allowed;
}

static void spread(struct rollout *r)
{
    struct rollout_set *active[64];
    size_t count = 0;
    int64_t total = 0, added = 0;
    for (size_t i = 0; i < r->count && count < lengthof(active); i++)
        if (r->sets[i].replicas > 0) {
            active[count++] = &r->sets[i];
            total += r->sets[i].replicas;
        }
    int64_t to_add = (r->replicas > 0 ? r->replicas + r->surge : 0) - total;
    qsort(active, count, sizeof(*active), to_add > 0 ? by_size_newer : by_size_older);
    int64_t sizes[lengthof(active)];
    for (size_t i = 0; i < count; i++) {
        int64_t share = to_add ? share_of(r, active[i], to_add, added) : 0;
        sizes[i] = active[i]->replicas + share;
        added += share;
    }
    for (size_t i = 0; i < count; i++) {
        int64_t size = i == 0 && to_add ? sizes[0] + to_add - added : sizes[i];
        resize(active[i], size > 0 ? size : 0);
        active[i]->scaled = true;
    }
}

void rollout_scale(struct rollout *r)
{
    struct rollout_set *only = active_or_latest(r);
    if (only) {
        resize(only, r->replicas);
        only->scaled = true;
        return;
    }
    if (r->latest && r->latest->replicas == r->replicas && r->latest->available == r->replicas)
        rollout_stop_old(r);
    else
        spread(r);
}

/* ---- a rolling update ---- */

static void scale_latest(struct rollout *r)
{
    struct rollout_set *s = r->latest;
    int64_t room = r->replicas + r->surge - sum_wanted(r);
    if (s->replicas > r->replicas)
        resize(s, r->replicas);
    else if (s->replicas < r->replicas && room > 0)
        resize(s, s->replicas + least(room, r->replicas - s->replicas));
}

/* Pods that are not ready are removed first: they serve no requests. */
static int64_t clean_unhealthy(struct rollout *r, int64_t most)
{
    int64_t down = 0;
    for (size_t i = 0; i < r->count && down < most; i++) {
        struct rollout_set *s = &r->sets[i];
        if (s == r->latest || s->replicas <= s->available)
            continue;
        int64_t step = least(most - down, s->replicas - s->available);
        resize(s, s->replicas - step);
        down += step;
    }
    return down;
}

static void scale_old(struct rollout *r)
{
    int64_t needed = r->replicas - r->unavailable, available = 0, old = 0;
    for (size_t i = 0; i < r->count; i++) {
        available += r->sets[i].available;
        old += &r->sets[i] != r->latest ? r->sets[i].replicas : 0;
    }
    int64_t most = sum_wanted(r) - needed - (r->latest->replicas - r->latest->available);
    if (old == 0 || most <= 0)
        return;
    clean_unhealthy(r, most);
    int64_t left = available - needed;
    for (size_t i = 0; i < r->count && left > 0; i++) {
        struct rollout_set *s = &r->sets[i];
        if (s == r->latest || s->replicas == 0)
            continue;
        int64_t step = least(s->replicas, left);
        resize(s, s->replicas - step);
        left -= step;
    }
}

void rollout_advance(struct rollout *r)
{
    for (int turn = 0; turn < TURNS_MAX; turn++) {
        int64_t before = sum_wanted(r), of_latest = r->latest->replicas;
        scale_latest(r);
        scale_old(r);
        if (sum_wanted(r) == before && r->latest->replicas == of_latest)
            return;
    }
}

void rollout_stop_old(struct rollout *r)
{
    for (size_t i = 0; i < r->count; i++)
        if (&r->sets[i] != r->latest && r->sets[i].replicas > 0)
            resize(&r->sets[i], 0);
}
