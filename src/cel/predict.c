#include "cel/predict.h"

/* A way through the network. */
struct config {
    int state, alt;
    struct cel_return *stack;
    bool is_outside; /* it has left the rule of the decision, to wherever that may be called */
    int same_state;  /* the one before it in the list that is at the same state; -1: none */
};

struct configs {
    struct config *at;
    uint32_t count, size;
    int *of_state; /* the last one */
};

struct predictor {
    const struct cel_prediction *of;
    struct arena *arena;
    struct cel_return bottom;
    bool full; /* with regard to the callers */
};

static struct cel_return *push(struct predictor *p, struct cel_return *outer, int state)
{
    for (struct cel_return *r = outer->inner; r; r = r->sibling)
        if (r->state == state)
            return r;
    struct cel_return *r = arena_new(p->arena, struct cel_return);
    *r = (struct cel_return){ .outer = outer, .state = state, .sibling = outer->inner };
    return outer->inner = r;
}

static void add(struct predictor *p, struct configs *cs, struct config c)
{
    for (int i = cs->of_state[c.state]; i >= 0; i = cs->at[i].same_state)
        if (cs->at[i].alt == c.alt && cs->at[i].stack == c.stack)
            return;
    if (cs->count == cs->size) {
        struct config *old = cs->at;
        cs->size = cs->size * 2 + 64;
        cs->at = arena_array(p->arena, cs->size, sizeof(*cs->at));
        if (cs->count)
            memcpy(cs->at, old, cs->count * sizeof(*old));
    }
    c.same_state = cs->of_state[c.state];
    cs->of_state[c.state] = (int)cs->count;
    cs->at[cs->count++] = c;
}

static void clear(const struct predictor *p, struct configs *cs)
{
    cs->count = 0;
    for (int i = 0; i < p->of->grammar->count; i++)
        cs->of_state[i] = -1;
}

/* Adds what can be reached without a token. */
static void close_over(struct predictor *p, struct configs *cs)
{
    const struct cel_grammar *g = p->of->grammar;
    for (uint32_t i = 0; i < cs->count; i++) {
        struct config c = cs->at[i];
        const struct cel_state *s = &g->states[c.state];
        if (s->set)
            continue;
        if (s->kind == CEL_STATE_STOP && c.stack != &p->bottom) {
            c.state = c.stack->state;
            c.stack = (struct cel_return *)c.stack->outer;
            add(p, cs, c);
        } else if (s->kind == CEL_STATE_STOP && !p->full) {
            for (int from = 0; from < g->count; from++)
                if (g->states[from].call == s->rule)
                    add(p, cs, (struct config){ g->states[from].targets[0], c.alt, c.stack, true });
        } else if (s->call >= 0) {
            c.stack = push(p, c.stack, s->targets[0]);
            c.state = g->rules[s->call].start;
            add(p, cs, c);
        } else {
            for (int t = 0; t < s->count; t++) {
                c.state = s->targets[t];
                add(p, cs, c);
            }
        }
    }
}

static bool is_kept(const struct predictor *p, const struct config *c)
{
    const struct cel_state *s = &p->of->grammar->states[c->state];
    return s->set || (s->kind == CEL_STATE_STOP && c->stack == &p->bottom && p->full) ||
           (s->kind == CEL_STATE_STOP && s->rule == CEL_RULE_START);
}

static bool reach(struct predictor *p, const struct configs *from, int symbol, struct configs *to)
{
    clear(p, to);
    for (uint32_t i = 0; i < from->count; i++) {
        const struct cel_state *s = &p->of->grammar->states[from->at[i].state];
        if (s->set & CEL_BIT(symbol)) {
            struct config c = from->at[i];
            c.state = s->targets[0];
            add(p, to, c);
        }
    }
    close_over(p, to);
    return to->count > 0;
}

/* The one alternative that is left, or -1. */
static int only_alt(const struct predictor *p, const struct configs *cs)
{
    int alt = -1;
    for (uint32_t i = 0; i < cs->count; i++) {
        if (!is_kept(p, &cs->at[i]))
            continue;
        if (alt >= 0 && alt != cs->at[i].alt)
            return -1;
        alt = cs->at[i].alt;
    }
    return alt;
}

/* The first alternative with which the rule could end here. */
static int ended_alt(const struct predictor *p, const struct configs *cs)
{
    int alt = -1;
    for (uint32_t i = 0; i < cs->count; i++) {
        const struct config *c = &cs->at[i];
        bool ended = c->is_outside || (p->of->grammar->states[c->state].kind == CEL_STATE_STOP &&
                                          c->stack == &p->bottom);
        if (ended && (alt < 0 || c->alt < alt))
            alt = c->alt;
    }
    return alt;
}

/* Without callers, what ends at the bottom may go on anywhere: it takes in all longer ways. */
static bool takes_in(const struct predictor *p, const struct cel_return *a, struct cel_return *b)
{
    const struct cel_return *longer = b;
    if (p->full)
        return a == b;
    while (a != &p->bottom && longer != &p->bottom && a->state == longer->state) {
        a = a->outer;
        longer = longer->outer;
    }
    return a == &p->bottom;
}

static bool has_stack(
    const struct predictor *p, const struct configs *cs, int first, int alt, struct cel_return *of)
{
    for (int i = first; i >= 0; i = cs->at[i].same_state)
        if (cs->at[i].alt == alt && takes_in(p, cs->at[i].stack, of))
            return true;
    return false;
}

static bool same_stacks(
    const struct predictor *p, const struct configs *cs, int first, int alt, int other)
{
    for (int i = first; i >= 0; i = cs->at[i].same_state)
        if ((cs->at[i].alt == alt && !has_stack(p, cs, first, other, cs->at[i].stack)) ||
            (cs->at[i].alt == other && !has_stack(p, cs, first, alt, cs->at[i].stack)))
            return false;
    return true;
}

static unsigned alts_at(const struct predictor *p, const struct configs *cs, int first)
{
    unsigned alts = 0;
    for (int i = first; i >= 0; i = cs->at[i].same_state)
        if (is_kept(p, &cs->at[i]))
            alts |= 1U << cs->at[i].alt;
    return alts;
}

/* The alternatives that go on exactly as `alt` does from this state. */
static unsigned alts_like(
    const struct predictor *p, const struct configs *cs, int first, unsigned alts, int alt)
{
    unsigned like = 1U << alt;
    for (int other = 0; other < CEL_ALTS_MAX; other++)
        if (other != alt && (alts & 1U << other) && same_stacks(p, cs, first, alt, other))
            like |= 1U << other;
    return like;
}

/* Two go on alike, and nowhere is one alone: more tokens would not tell. */
static bool is_conflict(const struct predictor *p, const struct configs *cs)
{
    bool conflict = false;
    for (int s = 0; s < p->of->grammar->count; s++) {
        unsigned alts = alts_at(p, cs, cs->of_state[s]);
        if (alts && (alts & (alts - 1)) == 0)
            return false;
        for (int alt = 0; alt < CEL_ALTS_MAX; alt++)
            if (alts & 1U << alt) {
                unsigned like = alts_like(p, cs, cs->of_state[s], alts, alt);
                conflict = conflict || (like & (like - 1)) != 0;
            }
    }
    return conflict;
}

/* The first of all that go on alike, if it is the same everywhere; else -1. */
static int first_of_all(const struct predictor *p, const struct configs *cs)
{
    unsigned viable = 0;
    for (int s = 0; s < p->of->grammar->count; s++) {
        unsigned alts = alts_at(p, cs, cs->of_state[s]);
        for (int alt = 0; alt < CEL_ALTS_MAX; alt++)
            if (alts & 1U << alt)
                viable |= 1U << __builtin_ctz(alts_like(p, cs, cs->of_state[s], alts, alt));
    }
    return viable && (viable & (viable - 1)) == 0 ? __builtin_ctz(viable) : -1;
}

static struct configs new_configs(struct predictor *p)
{
    size_t states = (size_t)p->of->grammar->count;
    struct configs cs = { .of_state = arena_array(p->arena, states, sizeof(int)) };
    clear(p, &cs);
    return cs;
}

/* -2: look again with regard to the callers. */
static int simulate(struct predictor *p, size_t *ret_bad)
{
    const struct cel_state *s = &p->of->grammar->states[p->of->decision];
    struct cel_return *stack = &p->bottom;
    if (p->full) {
        const struct cel_return *callers[CEL_DEPTH_MAX * CEL_RULES];
        size_t count = 0;
        for (const struct cel_return *r = p->of->callers; r && count < lengthof(callers);
             r = r->outer)
            callers[count++] = r;
        while (count-- > 0)
            stack = push(p, stack, callers[count]->state);
    }
    struct configs now = new_configs(p), then = new_configs(p);
    for (int i = 0; i < s->count; i++)
        add(p, &now, (struct config){ s->targets[i], i, stack, false });
    close_over(p, &now);
    for (size_t at = p->of->at;; at++) {
        if (!reach(p, &now, p->of->symbols[at], &then)) {
            *ret_bad = at;
            return ended_alt(p, &now);
        }
        int alt = only_alt(p, &then);
        if (alt < 0 && p->full)
            alt = first_of_all(p, &then);
        else if (alt < 0 && is_conflict(p, &then))
            return -2;
        if (alt >= 0)
            return alt;
        if (p->of->symbols[at] == CEL_SYMBOL_EOF) {
            *ret_bad = at;
            return ended_alt(p, &then);
        }
        struct configs swap = now;
        now = then;
        then = swap;
    }
}

int cel_predict(const struct cel_prediction *of, size_t *ret_bad)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    struct predictor p = { .of = of, .arena = &a };
    int alt = simulate(&p, ret_bad);
    if (alt == -2) {
        p.full = true;
        p.bottom.inner = NULL;
        alt = simulate(&p, ret_bad);
    }
    return alt;
}
