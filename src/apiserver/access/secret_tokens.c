#include "apiserver/access/secret_tokens.h"

#include <stdlib.h>

#include "apiserver/access/auth.h"
#include "apiserver/core/internal.h"
#include "apiserver/core/meta.h"
#include "base/base64.h"

#define TYPE "kubernetes.io/service-account-token"
#define LAST_USED "kubernetes.io/legacy-token-last-used"
#define TRACKING "kube-apiserver-legacy-service-account-token-tracking"
#define USED_MAX 16 /* between two flushes; the next use records the others */
#define ACCOUNT_NAME "kubernetes.io/service-account.name"
#define ACCOUNT_UID "kubernetes.io/service-account.uid"

struct secret_tokens {
    struct apiserver *server;
    const struct api_kind *secrets, *accounts; /* NULL: not served, or no key to sign with */
    struct store_watch secrets_watch, accounts_watch;
    bool due;
    struct used { /* their labels are not written yet */
        char *ns, *name;
    } used[USED_MAX];
    size_t used_count;
};

/* Cheap: most other Secrets do not contain the word in their text. */
static bool holds_token(const struct store_object *o)
{
    return memmem(o->text.ptr, o->text.len, "\"" TYPE "\"", sizeof(TYPE) + 1) != NULL;
}

static void on_secret(void *ctx, const struct store_event *event)
{
    struct secret_tokens *t = ctx;
    t->due = t->due || (!event->gone && holds_token(event->object));
}

static void on_account(void *ctx, const struct store_event *event)
{
    struct secret_tokens *t = ctx;
    t->due = t->due || event->gone;
}

static void used_forget(struct used *u)
{
    free(u->ns);
    free(u->name);
}

void secret_tokens_free(struct secret_tokens *t)
{
    if (!t)
        return;
    store_watch_stop(&t->secrets_watch);
    store_watch_stop(&t->accounts_watch);
    while (t->used_count)
        used_forget(&t->used[--t->used_count]);
    free(t);
}

void secret_tokens_doubt(struct secret_tokens *t)
{
    t->due = t->secrets && t->accounts;
}

static bool is_pending(const void *ctx)
{
    const struct secret_tokens *t = ctx;
    return t->due || t->used_count;
}

static struct json today(const struct secret_tokens *t, struct arena *a)
{
    return json_strn(a, meta_now(t->server->env, a), sizeof("2006-01-02") - 1);
}

void secret_tokens_used(struct secret_tokens *t, struct json secret)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    const char *ns = json_get_text(secret, "metadata.namespace"),
               *name = json_get_text(secret, "metadata.name");
    struct json last = json_member(json_get(secret, "metadata.labels"), LAST_USED);
    bool known = json_equal(last, today(t, &a)) || t->used_count == USED_MAX;
    for (size_t i = 0; i < t->used_count; i++)
        known |= text_eq(t->used[i].ns, ns) && text_eq(t->used[i].name, name);
    if (!known)
        t->used[t->used_count++] = (struct used){ mem_strdup(ns), mem_strdup(name) };
}

static void label_used(struct secret_tokens *t, struct arena *a)
{
    struct json labels = json_map(a, { LAST_USED, today(t, a) });
    const char *body = json_to_text(a, json_fields(a, { "metadata.labels", labels }));
    while (t->used_count) {
        struct used *u = &t->used[--t->used_count];
        server_ask(t->server,
            &(struct api_request){
                .method = "PATCH",
                .path = str_of(resource_path(a, &t->secrets->resource, u->ns, u->name, NULL)),
                .content_type = "application/merge-patch+json",
                .user_agent = "kube-apiserver",
                .body = str_of(body),
            });
        used_forget(u);
    }
}

void secret_tokens_start(struct secret_tokens *t)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    if (t->secrets && t->accounts)
        server_create(t->server,
            json_fields(&a,
                { "apiVersion", json_str("v1") },
                { "kind", json_str("ConfigMap") },
                { "metadata.name", json_str(TRACKING) },
                { "metadata.namespace", json_str("kube-system") },
                { "data.since", today(t, &a) }));
}

static void send(struct secret_tokens *t, struct arena *a, struct json secret, const char *method,
    struct json body)
{
    const char *ns = json_get_text(secret, "metadata.namespace");
    const char *name = json_get_text(secret, "metadata.name");
    bool patch = text_eq(method, "PATCH");
    server_ask(t->server,
        &(struct api_request){
            .method = method,
            .path = str_of(resource_path(a, &t->secrets->resource, ns, name, NULL)),
            .content_type = patch ? "application/merge-patch+json" : "application/json",
            .user_agent = "kube-controller-manager",
            .body = str_of(json_to_text(a, body)),
        });
}

static void put_missing(struct json_builder *b, struct json data, const char *key, struct str bytes)
{
    if (!json_member(data, key).count)
        json_put(b, key, json_str(base64_encode(b->arena, bytes)));
}

static void fill(struct secret_tokens *t, struct arena *a, struct json secret, struct json account)
{
    struct apiserver *s = t->server;
    const char *ns = json_get_text(secret, "metadata.namespace");
    const char *name = json_get_text(secret, "metadata.name");
    const char *token = auth_secret_token(s->auth, a, ns, name, account);
    struct json data = json_member(secret, "data"), uid = json_get(account, "metadata.uid");
    struct str ca = s->options.root_ca;
    struct json_builder b;
    json_builder_init(&b, a);
    const char *pem = ca.len ? base64_encode(a, ca) : NULL;
    if (pem && !text_eq(json_text(json_member(data, "ca.crt")), pem))
        json_put(&b, "ca.crt", json_str(pem));
    put_missing(&b, data, "namespace", str_of(ns));
    put_missing(&b, data, "token", str_of(token));
    struct json added = json_map_end(&b);
    if (added.count)
        send(t,
            a,
            secret,
            "PATCH",
            json_map(a,
                { "data", added },
                { "metadata", json_map(a, { "annotations", json_map(a, { ACCOUNT_UID, uid }) }) }));
}

static void look_at(struct secret_tokens *t, struct arena *a, struct json secret)
{
    struct json notes = json_get(secret, "metadata.annotations");
    const char *uid = json_text(json_member(notes, ACCOUNT_UID));
    const char *name = json_text(json_member(notes, ACCOUNT_NAME));
    if (!text_eq(json_get_text(secret, "type"), TYPE) || text_empty(name) ||
        json_present(json_get(secret, "metadata.deletionTimestamp")))
        return;
    struct json account = apiserver_read(
        t->server, a, t->accounts, json_get_text(secret, "metadata.namespace"), name);
    if (json_present(account) &&
        (text_empty(uid) || text_eq(uid, json_get_text(account, "metadata.uid"))))
        fill(t, a, secret, account);
    else
        send(t,
            a,
            secret,
            "DELETE",
            json_fields(a, { "preconditions.uid", json_get(secret, "metadata.uid") }));
}

static void run(void *ctx)
{
    struct secret_tokens *t = ctx;
    if (!is_pending(t))
        return;
    cleanup(arena_done) struct arena a = ARENA_INIT;
    label_used(t, &a);
    if (!t->due)
        return;
    t->due = false;
    struct store_table *table = store_table(t->server->store, t->secrets->table);
    struct store_cursor c = { 0 };
    struct json_builder found;
    json_builder_init(&found, &a);
    for (const struct store_object *o; (o = store_next(table, &c));)
        if (holds_token(o))
            json_push(&found, apiserver_read(t->server, &a, t->secrets, o->ns, o->name));
    json_each (secret, json_list_end(&found))
        look_at(t, &a, *secret);
}

struct secret_tokens *secret_tokens_new(struct apiserver *s)
{
    struct secret_tokens *t = mem_new_of(struct secret_tokens);
    t->server = s;
    t->secrets_watch = (struct store_watch){ .event = on_secret, .ctx = t };
    t->accounts_watch = (struct store_watch){ .event = on_account, .ctx = t };
    if (s->options.token_key.len) {
        t->secrets = registry_find(s->registry, "", "v1", "secrets");
        t->accounts = registry_find(s->registry, "", "v1", "serviceaccounts");
    }
    if (t->secrets && t->accounts) {
        store_watch_start(store_table(s->store, t->secrets->table), &t->secrets_watch);
        store_watch_start(store_table(s->store, t->accounts->table), &t->accounts_watch);
    }
    secret_tokens_doubt(t);
    server_add_hook(s, &(struct server_hook){ t, is_pending, .before_flush = run });
    return t;
}
