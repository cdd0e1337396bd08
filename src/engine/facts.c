#include "engine/facts.h"

#include <stdlib.h>

#include "base/timer.h"
#include "engine/plan.h"

struct fact {
    struct table_node node;
    struct facts *facts;
    char *identity; /* effect, space, arguments */
    char *effect;
    struct arena args_arena;
    struct json args;
    struct arena arena; /* of the members below */
    struct json result; /* or */
    struct json error;  /* { code, message } */
    struct arena progress_arena;
    struct json progress;
    bool transient; /* the error is */
    bool known;     /* ended at least once */
    int64_t at_wall_ms;
    int64_t at_mono_ms;
    struct effect_run *run; /* while it runs */
    void **owners;
    size_t owner_count;
};

void facts_init(struct facts *f, const struct env *env, const struct effect_runner *runner,
    void (*changed)(void *ctx, void *owner), void *ctx)
{
    *f = (struct facts){ .env = env, .runner = runner, .changed = changed, .ctx = ctx };
    table_init(&f->table, 0, 0);
}

void facts_done(struct facts *f)
{
    assert(f->table.count == 0);
    table_done(&f->table);
}

static bool has_identity(const struct table_node *n, const void *key)
{
    return strcmp(container_of(n, struct fact, node)->identity, key) == 0;
}

static const char *identity_of(struct arena *a, const char *effect, struct json args)
{
    return arena_printf(a, "%s %s", effect, json_to_text(a, args));
}

static struct fact *find(const struct facts *f, const char *identity)
{
    uint64_t hash = table_hash(&f->table, identity, strlen(identity));
    struct table_node *n = table_find(&f->table, hash, has_identity, identity);
    return n ? container_of(n, struct fact, node) : NULL;
}

static struct fact *add(struct facts *f, const char *identity, const char *effect, struct json args)
{
    struct fact *fact = mem_new_of(struct fact);
    fact->facts = f;
    fact->identity = mem_strdup(identity);
    fact->effect = mem_strdup(effect);
    arena_init(&fact->args_arena, ARENA_LIMIT_DEFAULT);
    arena_init(&fact->arena, ARENA_LIMIT_DEFAULT);
    arena_init(&fact->progress_arena, ARENA_LIMIT_DEFAULT);
    fact->args = json_copy(&fact->args_arena, args);
    table_add(&f->table, &fact->node, table_hash(&f->table, identity, strlen(identity)));
    return fact;
}

static void drop(struct fact *fact)
{
    struct facts *f = fact->facts;
    if (fact->run) {
        f->runner->cancel(f->runner->self, fact->run);
        f->running--;
    }
    table_remove(&f->table, &fact->node);
    arena_done(&fact->args_arena);
    arena_done(&fact->arena);
    arena_done(&fact->progress_arena);
    free(fact->identity);
    free(fact->effect);
    free(fact->owners);
    free(fact);
}

static void tell_owners(struct fact *fact)
{
    /* changed() may end an owner's interest, so the list is walked from its end. */
    for (size_t i = fact->owner_count; i-- > 0;)
        fact->facts->changed(fact->facts->ctx, fact->owners[i]);
}

static void on_progress(void *ctx, struct json progress)
{
    struct fact *fact = ctx;
    if (json_equal(fact->progress, progress))
        return;
    arena_reset(&fact->progress_arena);
    fact->progress = json_copy(&fact->progress_arena, progress);
    tell_owners(fact);
}

static void on_done(void *ctx, struct json result, const struct error *err)
{
    struct fact *fact = ctx;
    struct facts *f = fact->facts;
    struct arena arena;
    arena_init(&arena, ARENA_LIMIT_DEFAULT);
    struct json error = { 0 };
    if (err)
        error = json_fields(&arena,
            { "code", json_str(error_code_name(err->code)) },
            { "message", json_strn(&arena, err->text, strlen(err->text)) });
    result = err ? json_none : json_copy(&arena, result);
    bool same = fact->known && json_equal(result, fact->result) && json_equal(error, fact->error);
    arena_done(&fact->arena);
    arena_reset(&fact->progress_arena);
    fact->arena = arena;
    fact->result = result;
    fact->error = error;
    fact->progress = json_none;
    fact->transient = err && error_is_transient(err->code);
    fact->known = true;
    fact->at_wall_ms = env_wall_ms(f->env);
    fact->at_mono_ms = env_mono_ms(f->env);
    fact->run = NULL;
    f->running--;
    if (!same)
        tell_owners(fact);
}

static void start_if_due(struct fact *fact, int64_t every_ms)
{
    static const struct effect_sink sink = { .progress = on_progress, .done = on_done };
    struct facts *f = fact->facts;
    if (fact->run)
        return;
    int64_t age_ms = env_mono_ms(f->env) - fact->at_mono_ms;
    bool due = !fact->known || (every_ms > 0 && age_ms >= every_ms) ||
               (fact->transient && age_ms >= FACTS_TRANSIENT_MS);
    if (!due)
        return;
    f->running++;
    fact->run = f->runner->start(f->runner->self, fact->effect, fact->args, &sink, fact);
    assert(fact->run);
}

struct json facts_read(const struct facts *f, struct arena *a, const char *effect, struct json args)
{
    struct fact *fact = find(f, identity_of(a, effect, args));
    if (!fact)
        return json_none;
    return json_or_absent(json_fields(a,
        { "at", json_if(fact->known, json_int(fact->at_wall_ms)) },
        { "result", json_copy(a, fact->result) },
        { "error", json_copy(a, fact->error) },
        { "progress", json_copy(a, fact->progress) }));
}

static void add_owner(struct fact *fact, void *owner)
{
    fact->owners = mem_resize(fact->owners, fact->owner_count + 1, sizeof(*fact->owners));
    fact->owners[fact->owner_count++] = owner;
}

static void remove_owner(struct fact *fact, void *owner)
{
    size_t at = 0;
    while (at < fact->owner_count && fact->owners[at] != owner)
        at++;
    assert(at < fact->owner_count);
    fact->owners[at] = fact->owners[--fact->owner_count];
    if (fact->owner_count == 0)
        drop(fact);
}

void facts_replace(struct facts *f, struct fact_set *set, void *owner,
    const struct plan_effect *effects, size_t count)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    struct fact_set before = *set;
    *set = (struct fact_set){ 0 };
    if (count)
        set->facts = mem_resize(NULL, count, sizeof(*set->facts));
    for (size_t i = 0; i < count; i++) {
        const char *identity = identity_of(&a, effects[i].effect, effects[i].args);
        struct fact *fact = find(f, identity);
        if (!fact)
            fact = add(f, identity, effects[i].effect, effects[i].args);
        add_owner(fact, owner);
        set->facts[set->count++] = fact;
        start_if_due(fact, effects[i].every_ms);
    }
    /* Only now, so that a fact that is requested again is not dropped in between. */
    for (size_t i = 0; i < before.count; i++)
        remove_owner(before.facts[i], owner);
    free(before.facts);
}

void facts_clear(struct facts *f, struct fact_set *set, void *owner)
{
    facts_replace(f, set, owner, NULL, 0);
}
