#include "sim/sim.h"

#include <stdlib.h>

#include "base/table.h"

/* 6: a write that the server refuses for good is retried every few minutes, and as long as that
 * happens, a condition of the owner explains why. */

/* Within this time it was retried, or is no longer wanted. */
#define TRIED_MS (7 * 60 * 1000)
#define CAUSE_BYTES 60 /* of the server's message, which may be truncated */

struct refusal {
    struct table_node node;
    int64_t at_ms;
    char *owner, *cause; /* a uid; the server's message */
    char path[];
};

struct sim_causes {
    struct sim *sim;
    struct table refusals; /* by path; the last answer counts */
};

struct sim_causes *sim_causes_new(struct sim *s)
{
    struct sim_causes *c = mem_new_of(struct sim_causes);
    c->sim = s;
    table_init(&c->refusals, 9, 10);
    return c;
}

static void refusal_free(struct sim_causes *c, struct refusal *r)
{
    table_remove(&c->refusals, &r->node);
    free(r->owner);
    free(r->cause);
    free(r);
}

void sim_causes_free(struct sim_causes *c)
{
    for (struct table_cursor at = table_first(&c->refusals); at.node; table_next(&at))
        refusal_free(c, container_of(at.node, struct refusal, node));
    table_done(&c->refusals);
    free(c);
}

static bool is_path(const struct table_node *n, const void *key)
{
    return text_eq(container_of(n, struct refusal, node)->path, key);
}

/* Neither a temporary failure nor a conflict. */
static bool is_final(int status)
{
    return status == 400 || status == 403 || status == 405 || status == 413 || status == 422;
}

/* The uid of the first owner of the object that a request writes or deletes; NULL: none. */
static const char *owner_in(
    struct sim_causes *c, struct arena *a, const char *path, struct json body)
{
    const char *uid = json_get_text(body, "preconditions.uid");
    struct error err;
    for (struct store_table *t = NULL; uid && (t = store_table_next(c->sim->store, t));) {
        struct store_cursor at = { 0 };
        for (const struct store_object *o; (o = store_next(t, &at));)
            if (text_ends(path, o->name) && memmem(o->text.ptr, o->text.len, uid, strlen(uid)) &&
                !json_parse(a, o->text, &body, &err))
                return NULL;
    }
    return json_get_text(json_item(json_get(body, "metadata.ownerReferences"), 0), "uid");
}

void sim_causes_heard(
    struct sim_causes *c, const struct sim_request *request, int status, struct str answer)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    const char *path = arena_strndup(&a, request->path, strcspn(request->path, "?"));
    uint64_t hash = table_hash(&c->refusals, path, strlen(path));
    struct table_node *n = table_find(&c->refusals, hash, is_path, path);
    struct json body, said;
    struct error err;
    if (n)
        refusal_free(c, container_of(n, struct refusal, node));
    bool writes = text_eq(request->method, "PATCH") || text_eq(request->method, "DELETE");
    if (!is_final(status) || !writes || !json_parse(&a, request->body, &body, &err) ||
        !json_parse(&a, answer, &said, &err))
        return;
    const char *owner = owner_in(c, &a, path, body);
    const char *message = json_get_text(said, "message");
    if (!owner || !message)
        return;
    struct refusal *r = mem_new(sizeof(*r) + strlen(path) + 1);
    memcpy(r->path, path, strlen(path) + 1);
    r->at_ms = c->sim->now_ms;
    r->owner = mem_strdup(owner);
    r->cause = mem_strdup(arena_printf(&a, "%.*s", CAUSE_BYTES, message));
    table_add(&c->refusals, &r->node, hash);
}

static bool is_recent(const struct sim_causes *c, const struct refusal *r)
{
    return r->at_ms + TRIED_MS >= c->sim->now_ms;
}

/* A condition says that it is not Ready, or Complete, because of a value in the spec:
 * "spec.engine.port: …". */
static bool is_told_of_value(struct arena *a, struct json object, struct json condition)
{
    const char *message = json_get_text(condition, "message");
    const char *path = arena_strndup(a, message, strcspn(message, ": "));
    const char *type = json_get_text(condition, "type");
    return (text_eq(type, "Ready") || text_eq(type, "Complete")) &&
           text_eq(json_get_text(condition, "status"), "False") && text_starts(path, "spec.") &&
           message[strlen(path)] == ':' && json_present(json_get(object, path));
}

/* Its conditions name a refused child, or another client's object with a child's name, or an
 * invalid value in the spec. One is enough: the next is reported when this one is fixed. */
static bool is_told(struct sim_causes *c, struct json object, const char **ret_path)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    bool refused = false;
    const char *uid = json_get_text(object, "metadata.uid");
    for (struct table_cursor at = table_first(&c->refusals); at.node; table_next(&at)) {
        const struct refusal *r = container_of(at.node, struct refusal, node);
        if (!is_recent(c, r) || !text_eq(r->owner, uid))
            continue;
        refused = true;
        *ret_path = r->path;
        json_each (condition, json_get(object, "status.conditions")) {
            const char *message = json_get_text(*condition, "message");
            if (message && (strstr(message, r->cause) || strstr(message, "is not controlled by") ||
                               is_told_of_value(&a, object, *condition)))
                return true;
        }
    }
    return !refused;
}

void sim_causes_check(struct sim_causes *c)
{
    struct sim *s = c->sim;
    if (!c->refusals.count)
        return;
    for (struct store_table *t = NULL; (t = store_table_next(s->store, t));) {
        struct store_cursor at = { 0 };
        for (const struct store_object *o; (o = store_next(t, &at));) {
            cleanup(arena_done) struct arena a = ARENA_INIT;
            struct json object;
            struct error err;
            const char *path = "";
            if (sim_is_poison(o->name) || !json_parse(&a, o->text, &object, &err) ||
                json_present(json_get(object, "metadata.deletionTimestamp")))
                continue;
            if (!is_told(c, object, &path))
                sim_fail(s,
                    "promise 6, cause: %s %s/%s does not tell why %s is refused: %s",
                    store_table_name(t),
                    o->ns,
                    o->name,
                    path,
                    json_to_text(&a, json_get(object, "status.conditions")));
        }
    }
}
