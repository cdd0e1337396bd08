#include "sim/sim.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"

/* Objects that cannot be served, among all the others: they were stored under an earlier CRD, or by
 * a newer server. So they are written directly into the store, without any check. */

#define EVERY_MS 15000
#define NESTED 2000

static const struct poison {
    const char *what;
    const char *text; /* members besides metadata; NULL: nested too deeply to be parsed */
    const char *metadata;
} poisons[] = {
    { "a spec that is a text", "\"spec\":\"poison\"", "" },
    { "a spec that is a list", "\"spec\":[{\"poison\":1}]", "" },
    { "a spec that is null", "\"spec\":null", "" },
    { "no spec", "\"status\":{}", "" },
    { "fields of other types",
        "\"spec\":{\"source\":{\"url\":1},\"modelRef\":[1],\"replicas\":\"many\",\"format\":7,"
        "\"image\":{},\"model\":3,\"decode\":\"x\",\"engine\":[],\"resources\":[1],"
        "\"template\":[],\"containers\":{\"a\":1},\"ports\":\"http\",\"selector\":4}",
        "" },
    { "a status that is a text", "\"spec\":{},\"status\":\"poison\"", "" },
    { "conditions that are no list", "\"spec\":{},\"status\":{\"conditions\":\"poison\"}", "" },
    { "labels that are a list", "\"spec\":{}", ",\"labels\":[\"poison\"]" },
    { "annotations with numbers", "\"spec\":{}", ",\"annotations\":{\"poison\":{\"a\":1}}" },
    { "managedFields that are a text", "\"spec\":{}", ",\"managedFields\":\"poison\"" },
    { "owners that are a map", "\"spec\":{}", ",\"ownerReferences\":{\"uid\":1}" },
    { "too many levels", NULL, "" },
};

/* In addition to the kinds that operators handle: their children and inputs. */
static const struct {
    const char *table, *version, *kind;
} others[] = {
    { "apps/deployments", "apps/v1", "Deployment" },
    { "/services", "v1", "Service" },
    { "/configmaps", "v1", "ConfigMap" },
    { "/secrets", "v1", "Secret" },
    { "/persistentvolumeclaims", "v1", "PersistentVolumeClaim" },
    { "/pods", "v1", "Pod" },
    { "batch/jobs", "batch/v1", "Job" },
};

struct sim_poison {
    struct sim *sim;
    struct timer timer;
};

bool sim_is_poison(const char *name)
{
    return strstr(name, "poison") != NULL;
}

static void add_members(struct buf *b, const struct poison *p)
{
    if (p->text) {
        buf_add_text(b, p->text);
        return;
    }
    buf_add_text(b, "\"spec\":");
    for (int i = 0; i < NESTED; i++)
        buf_add_text(b, "{\"a\":");
    buf_add_text(b, "1");
    for (int i = 0; i < NESTED; i++)
        buf_add_char(b, '}');
}

static void put(struct sim *s, const char *table, const char *version, const char *kind,
    const char *ns, uint32_t number)
{
    const struct poison *p = &poisons[number % lengthof(poisons)];
    struct store_table *t = store_table(s->store, table);
    char name[32];
    snprintf(name, sizeof(name), "poison-%u", number);
    if (store_get(t, ns, name))
        return;
    struct buf text = BUF_INIT((size_t)1 << 20);
    unsigned long long now = store_next_version(s->store); /* makes each uid different */
    buf_printf(&text,
        "{\"apiVersion\":\"%s\",\"kind\":\"%s\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"%s\","
        "\"uid\":\"00000000-0000-4000-8000-%012llu\",\"resourceVersion\":\"%llu\",\"generation\":1,"
        "\"creationTimestamp\":\"2026-01-01T00:00:00Z\"%s},",
        version,
        kind,
        name,
        ns,
        now,
        now,
        p->metadata);
    add_members(&text, p);
    buf_add_char(&text, '}');
    struct error err;
    sim_flush(s);
    s->request = (struct sim_request){ .actor.name = "poison" };
    if (!store_write(s->store, t, ns, name, buf_str(&text), false, &err))
        sim_fail(s, "%s", err.text);
    apiserver_flush(s->server);
    sim_history_add(s->history, "poison", "%s %s/%s: %s", table, ns, name, p->what);
    s->request = (struct sim_request){ .actor.name = "server" };
    buf_done(&text);
}

/* A missing kind or namespace would not delete its poison when it ends. */
static bool is_there(struct sim *s, const char *table, const char *name)
{
    const struct store_object *o = store_get(store_table(s->store, table), "", name);
    return o && !memmem(o->text.ptr, o->text.len, "\"deletionTimestamp\"", 19);
}

static void spread(void *ctx)
{
    struct sim_poison *p = ctx;
    struct sim *s = p->sim;
    cleanup(arena_done) struct arena a = ARENA_INIT;
    for (size_t i = 0; i < lengthof(sim_namespaces); i++) {
        if (!is_there(s, "/namespaces", sim_namespaces[i]))
            continue;
        json_each (crd, s->crds) {
            const char *group = json_get_text(*crd, "spec.group");
            if (is_there(s,
                    "apiextensions.k8s.io/customresourcedefinitions",
                    json_get_text(*crd, "metadata.name")))
                put(s,
                    arena_printf(&a, "%s/%s", group, json_get_text(*crd, "spec.names.plural")),
                    arena_printf(&a, "%s/%s", group, json_get_text(*crd, "spec.versions.0.name")),
                    json_get_text(*crd, "spec.names.kind"),
                    sim_namespaces[i],
                    sim_below(s, SIM_POISON, lengthof(poisons)));
        }
        size_t other = sim_below(s, SIM_POISON, lengthof(others));
        put(s,
            others[other].table,
            others[other].version,
            others[other].kind,
            sim_namespaces[i],
            sim_below(s, SIM_POISON, lengthof(poisons)));
    }
    if (s->now_ms + EVERY_MS < s->options.faults_ms)
        timer_set(&s->env, &p->timer, EVERY_MS);
}

struct sim_poison *sim_poison_new(struct sim *s)
{
    struct sim_poison *p = mem_new_of(struct sim_poison);
    p->sim = s;
    timer_init(&p->timer, spread, p);
    if (s->options.poisoned)
        timer_set(&s->env, &p->timer, 50);
    return p;
}

void sim_poison_free(struct sim_poison *p)
{
    timer_stop(&p->sim->env, &p->timer);
    free(p);
}
