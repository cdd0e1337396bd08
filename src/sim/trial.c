#include "sim/sim.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "sim/story.h"

/* After the last fault everything must settle within this time: the longest back-off is five
 * minutes, and a silent watch is given up after ten. The hourly check of Models is not included. */
#define SETTLE_MS (35 * 60 * 1000)
#define REST_MS (10 * 60 * 1000)
/* An operator that restarts has reconciled everything by then. */
#define FRESH_MS (6 * 60 * 1000)
#define DIFFERENCES_MAX 4
#define CONTEXT_BYTES 60
#define HISTORY_LINES 60

struct outcome {
    uint64_t steps, sent;
    struct error failure;
    struct sim_end end;
    char *differences;           /* from a fresh operator's result; the caller frees it */
    struct sim_history *history; /* the caller frees it */
};

static void end_free(struct sim_end *end)
{
    free(end->state);
    free(end->deleted);
}

static void outcome_done(struct outcome *o)
{
    end_free(&o->end);
    free(o->differences);
    if (o->history)
        sim_history_free(o->history);
}

/* The history of the first object that a failure names. */
static void print_history(const struct outcome *o, const char *failure)
{
    char name[256] = "";
    for (size_t i = 0; !*name && i < lengthof(sim_namespaces); i++) {
        const char *at = strstr(failure, sim_namespaces[i]);
        if (at && at[strlen(sim_namespaces[i])] == '/')
            snprintf(name, sizeof(name), "%s", at + strlen(sim_namespaces[i]) + 1);
    }
    name[strcspn(name, " ,:?\n")] = '\0';
    if (text_eq(name, "GENERATED"))
        *name = '\0';
    sim_history_print(o->history, name, HISTORY_LINES);
}

static void print_around(
    struct buf *b, const char *name, const char *line, size_t length, size_t at)
{
    size_t from = at > CONTEXT_BYTES ? at - CONTEXT_BYTES : 0;
    size_t shown = length - from < 5 * CONTEXT_BYTES ? length - from : (size_t)5 * CONTEXT_BYTES;
    buf_printf(
        b, "\n  %-8s %.*s… %.*s", name, (int)strcspn(line, "{\n"), line, (int)shown, line + from);
}

/* The lines in which two end states differ: the object, and the text around the difference. */
static void print_differences(struct buf *b, const char *name_with, const char *with,
    const char *name_without, const char *without)
{
    for (size_t told = 0; told < DIFFERENCES_MAX && (*with || *without);) {
        size_t length = strcspn(with, "\n"), other = strcspn(without, "\n"), at = 0;
        size_t name = strcspn(with, "{\n"), other_name = strcspn(without, "{\n");
        while (at < length && at < other && with[at] == without[at])
            at++;
        int order = !*with      ? 1
                    : !*without ? -1
                                : strncmp(with, without, name < other_name ? name : other_name);
        if (at < length || at < other) {
            told++;
            if (order <= 0)
                print_around(b, name_with, with, length, at < length ? at : length);
            if (order >= 0)
                print_around(b, name_without, without, other, at < other ? at : other);
        }
        if (order <= 0)
            with += length + (with[length] == '\n');
        if (order >= 0)
            without += other + (without[other] == '\n');
    }
}

/* Operators without any knowledge of the past must reach the same state: otherwise the old ones
 * missed something, or waited for something that has already happened. */
static void start_fresh(struct sim *s, struct buf *differences)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    const char *end = sim_end_state(s, &a, true);
    sim_check_rest(s->checks, false);
    for (size_t i = 0; i < s->options.operators; i++)
        sim_operator_crash(s->operators[i], 0);
    sim_run_until(s, s->now_ms + FRESH_MS);
    const char *fresh = sim_end_state(s, &a, true);
    if (s->failure.code != ERR_NONE || strcmp(end, fresh) == 0)
        return;
    print_differences(differences, "before", end, "after", fresh);
    sim_fail(s, "promise 6, fresh: a fresh operator comes to another end");
}

/* Whether the end state depends only on the final wishes. */
static bool compares(const struct sim_options *o)
{
    return o->heals || (o->story && !o->story->race);
}

static struct outcome play(const struct sim_options *options, bool tell)
{
    struct sim *s = sim_new(options);
    s->options.tell = tell || options->trace;
    sim_run_until(s, options->faults_ms);
    s->quiet = true;
    /* Lost events cannot be noticed before the next list. */
    for (size_t i = 0; options->rates.stream_skip && i < s->options.operators; i++)
        sim_operator_expire(s->operators[i]);
    uint64_t sent = s->operators[0]->sent;
    sim_run_until(s, options->faults_ms + SETTLE_MS);
    sim_check_rest(s->checks, true);
    sim_run_until(s, options->faults_ms + SETTLE_MS + REST_MS);
    sim_check_end(s->checks);
    if (options->heals || options->story)
        sim_scenario_end(s->scenario);
    cleanup(arena_done) struct arena a = ARENA_INIT;
    const char *end = sim_end_state(s, &a, false);
    struct buf differences = BUF_INIT(1 << 16);
    if (s->failure.code == ERR_NONE && !options->direct)
        start_fresh(s, &differences);
    struct outcome outcome = {
        .steps = s->steps,
        .sent = sent,
        .failure = s->failure,
        .end = { mem_strdup(end), sim_deletions_text(s->deletions) },
        .differences = mem_strdup(buf_text(&differences)),
    };
    buf_done(&differences);
    outcome.history = take(s->history);
    sim_free(s);
    return outcome;
}

void sim_trial_done(struct sim_trial *t)
{
    free(t->failure);
    end_free(&t->end);
}

static struct sim_options without_faults(const struct sim_options *options)
{
    struct sim_options plain = *options;
    plain.rates = (struct sim_rates){ 0 };
    plain.mishaps = false;
    plain.poisoned = false; /* 7: the end state of other objects is as if these had never existed */
    memset(plain.at, 0, sizeof(plain.at));
    return plain;
}

/* Whether both runs want the same objects: rivals and random faults change that, and which of two
 * objects gets a name that both want. */
static bool wants_alike(const struct sim_options *o)
{
    return (o->tour && !o->at[SIM_RIVAL_AT] && !o->rivals) || (o->story && sim_is_faultless(o));
}

/* False: text says where they differ. */
static bool is_alike(struct buf *text, const struct sim_options *options,
    const struct sim_end *with, const struct sim_end *without)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    const char *more =
        wants_alike(options) ? sim_deletions_more(&a, with->deleted, without->deleted) : NULL;
    if (strcmp(with->state, without->state) != 0) {
        buf_add_text(text, "promise 5, end: the end is not the same as without faults");
        print_differences(text, "with", with->state, "without", without->state);
    } else if (more) {
        buf_printf(text, "promise 5, wanted: deleted more often than without faults: %s", more);
    }
    return text->len == 0;
}

/* 5: the end state follows from the present wishes, not from earlier ones. */
static struct outcome play_direct(const struct sim_options *options, bool tell)
{
    struct sim_options o = without_faults(options);
    sim_options_calm(&o);
    o.direct = true;
    return play(&o, tell);
}

static bool failed(const struct outcome *o, struct buf *text)
{
    if (o->failure.code == ERR_NONE)
        return false;
    buf_add_text(text, o->failure.text);
    buf_add_text(text, o->differences);
    return true;
}

/* plain NULL: as below. Returns the outcome whose history explains the failure in the text. */
static const struct outcome *judge(const struct sim_options *options, const struct sim_end *plain,
    bool tell, struct outcome all[3], struct buf *text)
{
    all[0] = play(options, tell);
    if (failed(&all[0], text))
        return &all[0];
    if (!plain) {
        struct sim_options calm = without_faults(options);
        all[1] = play(&calm, tell);
        if (failed(&all[1], text))
            return &all[1];
    }
    if (!compares(options))
        return NULL;
    if (!is_alike(text, options, &all[0].end, plain ? plain : &all[1].end))
        return &all[0];
    if (plain)
        return NULL;
    all[2] = play_direct(options, tell);
    if (failed(&all[2], text))
        return &all[2];
    if (strcmp(all[1].end.state, all[2].end.state) != 0) {
        buf_add_text(text, "promise 5, history: the end depends on what was wished for before");
        print_differences(text, "after all", all[1].end.state, "at once", all[2].end.state);
        return &all[1];
    }
    return NULL;
}

struct sim_trial sim_try(const struct sim_options *options, const struct sim_end *plain, bool tell)
{
    struct outcome all[3] = { 0 };
    struct buf text = BUF_INIT(1 << 16);
    const struct outcome *culprit = judge(options, plain, tell, all, &text);
    struct sim_trial trial = {
        .steps = all[0].steps + all[1].steps + all[2].steps,
        .sent = all[0].sent,
        .failure = culprit ? mem_strdup(buf_text(&text)) : NULL,
        .end = all[1].end,
    };
    if (culprit && tell)
        print_history(culprit, trial.failure);
    all[1].end = (struct sim_end){ 0 };
    buf_done(&text);
    for (size_t i = 0; i < lengthof(all); i++)
        outcome_done(&all[i]);
    return trial;
}

/* Fails in the same way: by the same check. */
static bool fails_alike(const struct sim_options *o, const char *how, uint64_t *steps)
{
    struct sim_trial t = sim_try(o, NULL, false);
    bool alike = t.failure && strncmp(t.failure, how, strcspn(how, ":")) == 0;
    *steps += t.steps;
    sim_trial_done(&t);
    return alike;
}

struct sim_options sim_shrink(const struct sim_options *from, const char *how, uint64_t *steps)
{
    struct sim_options best = *from, next;
    const char *name;
    for (size_t i = 0; (name = sim_options_name(i)); i++) {
        next = best;
        if (sim_options_drop(&next, name) && fails_alike(&next, how, steps))
            best = next;
    }
    if (best.story)
        return best;
    for (next = best; next.faults_ms > 10000 && (next.faults_ms /= 2, true);)
        if (fails_alike(&next, how, steps))
            best = next;
    for (size_t i = 0; i < SIM_WISHES; i++) {
        next = best;
        next.only &= ~((uint64_t)1 << i);
        if (fails_alike(&next, how, steps))
            best = next;
    }
    return best;
}
