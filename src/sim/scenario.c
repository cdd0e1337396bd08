#include "sim/sim.h"

#include <stdio.h>
#include <stdlib.h>

#include "sim/coverage.h"
#include "sim/generate.h"
#include "sim/story.h"

/* A person who creates, edits, reverts and deletes objects of every kind that operators handle, and
 * rivals that interfere with the operators' children. */

/* After the last fault: a silent watch is given up after ten minutes, and a back-off takes up to
 * five. */
#define PATIENCE_MS (15 * 60 * 1000)
#define OBJECTS_PER_KIND 3
/* Follows the kind's letter; two of them are the same as names of Services. */
static const char *const names[OBJECTS_PER_KIND] = { "0", "-1", ".1" };
#define HEALS_AGAIN_MS (12 * 60 * 1000)
/* How often a rival reacts to a write of an operator, and how soon. */
#define STRANGERS_MAX 8
#define STRANGERS_OF_1000 60
#define REACTS_OF_1000 100
#define REACTS_MS_MAX 1000

struct wish { /* one of the person's objects */
    struct json crd;
    const char *ns;
    char name[64];
    struct arena arenas[2]; /* for the present wish, and for the previous one */
    struct json object, before;
    unsigned which;
};

struct sim_scenario {
    struct sim *sim;
    struct wish *wishes;
    size_t wish_count;
    uint64_t kept; /* at the end, by the wish's number */
    uint64_t turn; /* of the person */
    unsigned healed;
    struct timer person, rival, again;
    struct timer reaction; /* of a rival, to a write of an operator: */
    size_t reacts_to;      /* of children */
    char reacts_in[64], reacts_at[260];
    struct stranger {
        size_t child; /* of children */
        char ns[64], name[260];
    } strangers[STRANGERS_MAX];
    size_t stranger_count;
};

static const char *path_of(struct arena *a, const struct wish *w, bool named)
{
    return arena_printf(a,
        "/apis/%s/%s/namespaces/%s/%s%s%s",
        json_get_text(w->crd, "spec.group"),
        json_get_text(w->crd, "spec.versions.0.name"),
        w->ns,
        json_get_text(w->crd, "spec.names.plural"),
        named ? "/" : "",
        named ? w->name : "");
}

/* ---- rivals ---- */

static const struct business {
    const char *who, *type, *subresource;
    const char *body; /* of a PATCH; NULL: a DELETE */
} businesses[] = {
    { "person",
        "application/strategic-merge-patch+json",
        "",
        "{\"spec\":{\"template\":{\"metadata\":{\"annotations\":"
        "{\"kubectl.kubernetes.io/restartedAt\":\"2026-01-01T00:00:00Z\"}}}}}" },
    { "mesh",
        "application/merge-patch+json",
        "",
        "{\"metadata\":{\"annotations\":{\"mesh.example/injected\":\"true\"}}}" },
    { "gitops",
        "application/merge-patch+json",
        "",
        "{\"metadata\":{\"labels\":{\"gitops.example/tracked\":\"yes\"}}}" },
    { "person", "application/merge-patch+json", "", "{\"spec\":{\"replicas\":5}}" },
    { "injector",
        "application/strategic-merge-patch+json",
        "",
        "{\"spec\":{\"template\":{\"spec\":{\"containers\":"
        "[{\"name\":\"sidecar\",\"image\":\"example/proxy:1\"}]}}}}" },
    { "manager", /* an upstream operator */
        "application/merge-patch+json",
        "",
        "{\"metadata\":{\"annotations\":{\"upstream.example/seen\":\"true\"}}}" },
    { "autoscaler", "application/merge-patch+json", "/scale", "{\"spec\":{\"replicas\":4}}" },
    { "person", NULL, "", NULL },
};
static const struct {
    const char *table, *root;
} children[] = {
    { "apps/deployments", "/apis/apps/v1" },
    { "/services", "/api/v1" },
    { "/configmaps", "/api/v1" },
    { "/persistentvolumeclaims", "/api/v1" },
};

static bool is_meddled_with(const struct store_object *o)
{
    return !text_eq(o->name, "kube-root-ca.crt") && !sim_is_poison(o->name);
}

static const struct store_object *any_child(struct sim *s, size_t which)
{
    struct store_table *t = store_table(s->store, children[which].table);
    size_t count = 0, n = 0;
    for (int pass = 0; pass < 2; pass++) {
        struct store_cursor at = { 0 };
        for (const struct store_object *o; (o = store_next(t, &at));)
            if (text_starts(o->ns, "sim-") && is_meddled_with(o) && pass == 0)
                count++;
            else if (text_starts(o->ns, "sim-") && is_meddled_with(o) && n-- == 0)
                return o;
        if (!count)
            return NULL;
        n = sim_below(s, SIM_RIVALS, (uint32_t)count);
    }
    return NULL;
}

static const char *child_path(struct arena *a, size_t which, const char *ns, const char *name)
{
    return arena_printf(a,
        "%s/namespaces/%s/%s%s%s",
        children[which].root,
        ns,
        strchr(children[which].table, '/') + 1,
        *name ? "/" : "",
        name);
}

/* Takes the name of a child: an object of the same name that has no owner. */
static void intrude(struct sim_scenario *c, size_t which, const struct store_object *o)
{
    struct sim *s = c->sim;
    cleanup(arena_done) struct arena a = ARENA_INIT;
    struct json object;
    struct error err;
    if (c->stranger_count == STRANGERS_MAX || !json_parse(&a, o->text, &object, &err))
        return;
    struct stranger *stranger = &c->strangers[c->stranger_count];
    stranger->child = which;
    snprintf(stranger->ns, sizeof(stranger->ns), "%s", o->ns);
    snprintf(stranger->name, sizeof(stranger->name), "%s", o->name);
    struct json_builder labels;
    json_builder_init(&labels, &a);
    json_each_member (label, json_get(object, "metadata.labels"))
        json_put(&labels, label->key, json_str("stranger"));
    struct json metadata =
        json_fields(&a, { "name", json_str(stranger->name) }, { "labels", json_map_end(&labels) });
    object = json_with_member(&a, object, "metadata", metadata);
    object = json_with_member(&a, object, "status", json_none);
    object = json_with(&a, object, "spec.clusterIP", json_none);
    object = json_with(&a, object, "spec.clusterIPs", json_none);
    object = json_with(&a, object, "spec.volumeName", json_none);
    const char *at = child_path(&a, which, stranger->ns, stranger->name);
    const char *in = child_path(&a, which, stranger->ns, "");
    sim_ask(s, "stranger", "DELETE", at, NULL, json_none, NULL, NULL);
    if (sim_ask(s, "stranger", "POST", in, "application/json", object, NULL, NULL) == 201)
        c->stranger_count++;
}

/* Deletes the strangers, so that the owners get the names. */
static void withdraw(struct sim_scenario *c)
{
    while (c->stranger_count) {
        const struct stranger *stranger = &c->strangers[--c->stranger_count];
        cleanup(arena_done) struct arena a = ARENA_INIT;
        const char *path = child_path(&a, stranger->child, stranger->ns, stranger->name);
        sim_ask(c->sim, "stranger", "DELETE", path, NULL, json_none, NULL, NULL);
    }
}

static void meddle(struct sim_scenario *c, size_t which, const struct store_object *o)
{
    struct sim *s = c->sim;
    cleanup(arena_done) struct arena a = ARENA_INIT;
    if (o && sim_chance(s, SIM_RIVALS, STRANGERS_OF_1000)) {
        intrude(c, which, o);
        return;
    }
    const struct business *b = &businesses[sim_below(s, SIM_RIVALS, lengthof(businesses))];
    bool workload = which == 0 || !b->body || strstr(b->body, "\"metadata\":{") == b->body + 1;
    struct json body = { 0 };
    struct error err;
    if (o && workload) {
        if (b->body && !json_parse(&a, str_of(b->body), &body, &err))
            sim_fail(s, "%s", err.text);
        const char *path = arena_printf(&a,
            "%s%s%s",
            child_path(&a, which, o->ns, o->name),
            b->subresource,
            b->body ? arena_printf(&a, "?fieldManager=%s", b->who) : "");
        sim_ask(s, b->who, b->body ? "PATCH" : "DELETE", path, b->type, body, NULL, NULL);
    }
}

void sim_scenario_rival(struct sim_scenario *c)
{
    size_t which = sim_below(c->sim, SIM_RIVALS, lengthof(children));
    meddle(c, which, any_child(c->sim, which));
}

static void react(void *ctx)
{
    struct sim_scenario *c = ctx;
    struct store_table *t = store_table(c->sim->store, children[c->reacts_to].table);
    meddle(c, c->reacts_to, store_get(t, c->reacts_in, c->reacts_at));
}

/* Injectors and people act on new objects, often before the operator has received the result of its
 * own write. */
void sim_scenario_changed(struct sim_scenario *c, const struct store_event *event)
{
    struct sim *s = c->sim;
    const struct store_object *o = event->object;
    bool free = s->options.rivals && !s->quiet && !event->gone && !timer_is_set(&c->reaction);
    for (size_t i = 0; free && i < lengthof(children); i++)
        if (text_eq(store_table_name(o->table), children[i].table) &&
            sim_chance(s, SIM_RIVALS, REACTS_OF_1000)) {
            c->reacts_to = i;
            snprintf(c->reacts_in, sizeof(c->reacts_in), "%s", o->ns);
            snprintf(c->reacts_at, sizeof(c->reacts_at), "%s", o->name);
            timer_set(&s->env, &c->reaction, sim_below(s, SIM_RIVALS, REACTS_MS_MAX));
            return;
        }
}

static void rival(void *ctx)
{
    struct sim_scenario *c = ctx;
    struct sim *s = c->sim;
    sim_scenario_rival(c);
    int64_t next = 500 + sim_below(s, SIM_RIVALS, 15000);
    if (s->now_ms + next < s->options.faults_ms)
        timer_set(&s->env, &c->rival, next);
}

/* ---- the person ---- */

static bool has_wish(const struct sim_scenario *c, size_t wish)
{
    return c->sim->options.only >> wish & 1;
}

static void wish_set(struct wish *w, struct json object)
{
    w->which ^= 1;
    arena_reset(&w->arenas[w->which]);
    w->before = w->object;
    w->object = json_copy(&w->arenas[w->which], object);
}

static bool apply(struct sim_scenario *c, struct wish *w, struct json object)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    const char *path = arena_printf(&a, "%s?fieldManager=person&force=true", path_of(&a, w, true));
    struct json answer;
    int status = sim_ask(
        c->sim, "person", "PATCH", path, "application/apply-patch+yaml", object, &a, &answer);
    if (status < 300) {
        sim_coverage_add(c->sim->options.coverage, object);
        sim_coverage_add(c->sim->reached, object);
    }
    if (status < 300)
        wish_set(w, object); /* otherwise it was refused, and the person gives up */
    else if (status >= 500 && !strstr(json_to_text(&a, answer), "typed patch object"))
        sim_fail(c->sim, "PATCH %s is answered %d: %s", path, status, json_to_text(&a, answer));
    return status < 300;
}

static bool remove_object(struct sim_scenario *c, struct wish *w)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    int status =
        sim_ask(c->sim, "person", "DELETE", path_of(&a, w, true), NULL, json_none, NULL, NULL);
    wish_set(w, json_none);
    return status < 300 || status == 404;
}

/* An object that can be served and that was not used before. */
static struct json healthy(struct sim_scenario *c, struct arena *a, const struct wish *w)
{
    struct json plain = sim_plainest(c->sim, a, w->crd, w->ns, w->name);
    if (json_is(json_get(plain, "spec.source"), JSON_STR))
        plain = json_with(a, plain, "spec.source", json_str(SIM_SOURCE_HEALTHY));
    if (json_present(json_get(plain, "spec.modelRef")))
        plain = json_with(a, plain, "spec.modelRef", json_strf(a, "m%s", w->name + 1));
    if (json_present(json_get(plain, "spec.backends")))
        plain = json_with(a,
            plain,
            "spec.backends",
            json_list(a,
                json_fields(a,
                    { "name", json_str("b") },
                    { "external.provider", json_str("anthropic") },
                    { "external.model", json_str("m") })));
    if (json_present(json_get(plain, "spec.target")))
        /* A Job may have failed between the first time and the last fault, which is final. */
        plain = json_with(
            a, plain, "spec.target.tag", json_str(c->healed > 1 ? "healthier" : "healthy"));
    return plain;
}

/* An apply keeps fields without an owner: an empty list of named items, and the server's defaults
 * in it. This removes them. */
static bool replace(struct sim_scenario *c, struct wish *w, struct json object)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    const char *path = path_of(&a, w, true);
    struct json there;
    if (sim_ask(c->sim, "person", "GET", path, NULL, json_none, &a, &there) != 200)
        return false;
    struct json whole = json_with_member(&a, there, "spec", json_get(object, "spec"));
    path = arena_printf(&a, "%s?fieldManager=person", path);
    return sim_ask(c->sim, "person", "PUT", path, "application/json", whole, NULL, NULL) < 300;
}

/* An object that cannot be served keeps its earlier children, and these depend on timing. So at the
 * end the person asks only for simple things that were not used before: a new source, an existing
 * Model. Of two objects whose names clash, the first one keeps the name for good: both are deleted,
 * and one is created again afterwards. */
static void heal(void *ctx)
{
    struct sim_scenario *c = ctx;
    withdraw(c);
    c->healed++;
    for (size_t i = 0; i < c->wish_count; i++) {
        cleanup(arena_done) struct arena a = ARENA_INIT;
        struct wish *w = &c->wishes[i];
        struct json plain = healthy(c, &a, w);
        bool is_model = text_eq(json_get_text(plain, "kind"), "Model");
        bool clashes =
            !is_model && w->name[1] != names[0][0] && !(w->name[1] == '-' && c->healed > 1);
        /* An object with immutable fields is deleted. */
        bool wanted = (is_model || c->kept >> i & 1) && has_wish(c, i) && !clashes;
        if (wanted ? !apply(c, w, plain) || !replace(c, w, plain) : json_present(w->object))
            remove_object(c, w);
    }
}

/* Two of each kind at a time: created, edited, and finally reverted, or deleted and recreated. */
static void tour(void *ctx)
{
    struct sim_scenario *c = ctx;
    struct sim *s = c->sim;
    cleanup(arena_done) struct arena a = ARENA_INIT;
    size_t kinds = s->crds.count, at = c->turn % kinds, round = c->turn / kinds;
    s->random[SIM_INPUTS] = s->options.seed * 1000003 + ++c->turn;
    for (size_t i = 0; i < 2; i++) {
        struct wish *w = &c->wishes[at * OBJECTS_PER_KIND + i];
        if (round == 0)
            apply(c, w, healthy(c, &a, w));
        else if (round == 1)
            apply(c, w, sim_mutate(s, &a, w->crd, w->object));
        else if (at % 2) {
            remove_object(c, w);
            apply(c, w, healthy(c, &a, w));
        } else if (json_present(w->before))
            apply(c, w, json_copy(&a, w->before));
    }
    int64_t next = s->options.faults_ms / (int64_t)(3 * kinds + 1);
    if (c->turn < 3 * kinds)
        timer_set(&s->env, &c->person, next);
    else if (s->options.heals)
        heal(c);
}

/* ---- stories ---- */

/* A terminating object takes no new wish. */
static bool is_going(struct sim_scenario *c, const struct wish *w)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    struct json object;
    int status =
        sim_ask(c->sim, "person", "GET", path_of(&a, w, true), NULL, json_none, &a, &object);
    return status == 200 && json_present(json_get(object, "metadata.deletionTimestamp"));
}

/* A step's wish: common values, plus the members that the step names. */
static bool take_step(struct sim_scenario *c, const struct sim_step *step)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    struct wish *w = c->wishes;
    if (sim_step_is_mishap(step)) {
        if (c->sim->options.mishaps)
            sim_mishap_begin(c->sim, step);
        return true;
    }
    while (!text_eq(w->name, step->name) ||
           !text_eq(json_get_text(w->crd, "spec.names.kind"), step->kind))
        w++;
    if (step->told && sim_is_faultless(&c->sim->options) && !c->sim->options.direct)
        sim_check_tells(c->sim, path_of(&a, w, true), step->told);
    if (!step->spec)
        return remove_object(c, w);
    if (is_going(c, w))
        return false;
    struct json object = healthy(c, &a, w), spec;
    struct error err;
    if (!json_parse(&a, str_of(step->spec), &spec, &err))
        sim_fail(c->sim, "the story's %s: %s", step->name, err.text);
    json_each_member (m, spec)
        object = json_with(&a, object, arena_printf(&a, "spec.%s", m->key), m->value);
    return apply(c, w, object);
}

/* Without its history: only the last wish for each object. */
static bool is_last(const struct sim_step *step)
{
    for (const struct sim_step *later = step + 1; later->kind; later++)
        if (text_eq(later->kind, step->kind) && text_eq(later->name, step->name))
            return false;
    return true;
}

/* A request that is refused because of a fault is retried; so is one that waits for a predecessor
 * to be deleted, which takes a leader. */
static void tell(void *ctx)
{
    struct sim_scenario *c = ctx;
    struct sim *s = c->sim;
    const struct sim_step *step = &s->options.story->steps[c->turn];
    int64_t wait_ms = s->options.direct ? 0 : step->at_s * 1000 - s->now_ms;
    if (!step->kind)
        return;
    if (wait_ms <= 0) {
        bool wanted = !s->options.direct || (is_last(step) && step->spec);
        bool done = !wanted || take_step(c, step);
        c->turn += done;
        wait_ms = done ? 1 : 1000;
        if (!done && s->now_ms > s->options.faults_ms + PATIENCE_MS)
            sim_fail(s, "the story's %s %s is refused", step->kind, step->name);
    }
    timer_set(&s->env, &c->person, wait_ms);
}

static void person(void *ctx)
{
    struct sim_scenario *c = ctx;
    struct sim *s = c->sim;
    cleanup(arena_done) struct arena a = ARENA_INIT;
    if (s->options.direct) {
        heal(c);
        return;
    }
    /* Drawn again at each turn: an object that is refused in only one of the worlds does not affect
     * the next one. */
    s->random[SIM_INPUTS] = s->options.seed * 1000003 + ++c->turn;
    struct wish *w = &c->wishes[sim_below(s, SIM_INPUTS, (uint32_t)c->wish_count)];
    uint32_t action = sim_below(s, SIM_INPUTS, 10);
    int64_t next = s->options.hurry ? 100 + sim_below(s, SIM_INPUTS, 200)
                                    : 200 + sim_below(s, SIM_INPUTS, 8000);
    if (!has_wish(c, (size_t)(w - c->wishes))) {
        /* not in this run */
    } else if (!json_present(w->object)) {
        apply(c, w, sim_generate(s, &a, w->crd, w->ns, w->name));
    } else if (action == 0) {
        remove_object(c, w);
    } else if (action == 1 && json_present(w->before)) {
        apply(c, w, json_copy(&a, w->before));
    } else {
        apply(c, w, sim_mutate(s, &a, w->crd, w->object));
    }
    if (s->now_ms + next < s->options.faults_ms)
        timer_set(&s->env, &c->person, next);
    else if (s->options.heals)
        heal(c);
}

/* ---- the whole ---- */

static void add_wish(struct sim_scenario *c, struct json crd, const char *ns, const char *name)
{
    assert(c->wish_count < SIM_WISHES);
    struct wish *w = &c->wishes[c->wish_count++];
    *w = (struct wish){ .crd = crd, .ns = ns };
    arena_init(&w->arenas[0], 1 << 20);
    arena_init(&w->arenas[1], 1 << 20);
    snprintf(w->name, sizeof(w->name), "%s", name);
}

/* Three of each kind; two of their names are the same as names of Services. */
static void add_wishes(struct sim_scenario *c)
{
    struct sim *s = c->sim;
    uint64_t sides = sim_random(s, SIM_INPUTS); /* a Model is in its service's namespace */
    for (size_t i = 0; i < s->crds.count * OBJECTS_PER_KIND; i++) {
        cleanup(arena_done) struct arena a = ARENA_INIT;
        struct json crd = json_item(s->crds, i / OBJECTS_PER_KIND);
        const char *kind = json_get_text(crd, "spec.names.singular");
        add_wish(c,
            crd,
            sim_namespaces[s->options.tour ? 0 : sides >> i % OBJECTS_PER_KIND & 1],
            arena_printf(&a, "%c%s", kind[0], names[i % OBJECTS_PER_KIND]));
    }
    c->kept = sim_random(s, SIM_INPUTS);
    for (size_t i = 0; s->options.tour && i < c->wish_count; i++)
        c->kept = i % OBJECTS_PER_KIND ? c->kept & ~((uint64_t)1 << i) : c->kept | (uint64_t)1 << i;
}

static void add_story(struct sim_scenario *c, const struct sim_story *story)
{
    for (const struct sim_step *step = story->steps; step->kind; step++)
        json_each (crd, c->sim->crds)
            if (is_last(step) && text_eq(json_get_text(*crd, "spec.names.kind"), step->kind))
                add_wish(c, *crd, sim_namespaces[0], step->name);
}

struct sim_scenario *sim_scenario_new(struct sim *s)
{
    struct sim_scenario *c = mem_new_of(struct sim_scenario);
    c->sim = s;
    c->wishes = mem_resize(NULL, SIM_WISHES, sizeof(*c->wishes));
    if (s->options.story)
        add_story(c, s->options.story);
    else
        add_wishes(c);
    if (s->options.hurry)
        s->reached = sim_coverage_new(s->crds);
    timer_init(&c->person, s->options.story ? tell : s->options.tour ? tour : person, c);
    timer_init(&c->rival, rival, c);
    timer_init(&c->again, heal, c);
    timer_init(&c->reaction, react, c);
    /* A terminating object took no new wish. */
    if (s->options.heals)
        timer_set(&s->env, &c->again, s->options.faults_ms + HEALS_AGAIN_MS);
    sim_scenario_begin(c);
    return c;
}

void sim_scenario_begin(struct sim_scenario *c)
{
    timer_set(&c->sim->env, &c->person, 100);
    if (c->sim->options.rivals)
        timer_set(&c->sim->env, &c->rival, 5000);
}

/* Kinds that need something that is not simulated: pods that run or answer, members with GPUs,
 * rules that name back ends. They must report a status; a GPUQuota without any usage has none. */
static bool says_how_it_is(struct json object)
{
    static const struct {
        const char *kind, *status;
    } needs[] = {
        { "GPUQuota", NULL },
        { "LoRAAdapter", "conditions" },
        { "ModelPool", "conditions" },
        { "ModelRouter", "conditions" },
        { "MCPServer", "conditions" },
        { "MCPRemoteProxy", "conditions" },
        { "VirtualMCPServer", "conditions" },
        { "EmbeddingServer", "conditions" },
    };
    for (size_t i = 0; i < lengthof(needs); i++)
        if (text_eq(json_get_text(object, "kind"), needs[i].kind))
            return !needs[i].status ||
                   json_present(json_get(json_get(object, "status"), needs[i].status));
    return false;
}

/* NULL: it is Ready, Available or the like; otherwise its explanation. */
static const char *why_not_served(struct arena *a, struct json object)
{
    const char *why = "nothing is said about it";
    if (says_how_it_is(object))
        return NULL;
    json_each (condition, json_get(object, "status.conditions")) {
        const char *type = json_get_text(*condition, "type");
        bool served = text_eq(json_get_text(*condition, "status"), "True");
        bool good = text_eq(type, "Ready") || text_eq(type, "Available");
        if (good && served)
            return NULL;
        if (good || (served && text_eq(type, "Degraded")))
            why = arena_printf(a, "%s: %s", type, json_get_text(*condition, "message"));
    }
    return why;
}

void sim_scenario_end(struct sim_scenario *c)
{
    for (size_t i = 0; i < c->wish_count; i++) {
        const struct wish *w = &c->wishes[i];
        cleanup(arena_done) struct arena a = ARENA_INIT;
        struct json object;
        if (!json_present(w->object) ||
            sim_ask(c->sim, "person", "GET", path_of(&a, w, true), NULL, json_none, &a, &object) !=
                200)
            continue;
        const char *why = why_not_served(&a, object);
        if (why)
            sim_fail(c->sim,
                "promise 5, served: %s %s/%s can be served, and is not. %s",
                json_get_text(object, "kind"),
                w->ns,
                w->name,
                why);
        sim_check_rolls(c->sim, object);
    }
}

void sim_scenario_clear(struct sim_scenario *c)
{
    withdraw(c);
    for (size_t i = 0; i < c->wish_count; i++)
        remove_object(c, &c->wishes[i]);
}

void sim_scenario_free(struct sim_scenario *c)
{
    timer_stop(&c->sim->env, &c->person);
    timer_stop(&c->sim->env, &c->rival);
    timer_stop(&c->sim->env, &c->again);
    timer_stop(&c->sim->env, &c->reaction);
    for (size_t i = 0; i < c->wish_count; i++)
        for (size_t j = 0; j < 2; j++)
            arena_done(&c->wishes[i].arenas[j]);
    if (c->sim->reached)
        sim_coverage_free(c->sim->reached);
    free(c->wishes);
    free(c);
}
