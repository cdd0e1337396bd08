#include "sim/sim.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/table.h"

/* 4: what a write is based on. An operator that received the result of its last write to an object,
 * or that read the object, must not use an older state of it. A forced write or a deletion names
 * the uid that was seen: a later object of the same name belongs to another client. */

struct heard { /* the last version that an operator received in an answer */
    struct table_node node;
    uint64_t version;
    char path[];
};

struct sim_writes {
    struct table heard;
};

struct sim_writes *sim_writes_new(void)
{
    struct sim_writes *w = mem_new_of(struct sim_writes);
    table_init(&w->heard, 3, 4);
    return w;
}

void sim_writes_free(struct sim_writes *w)
{
    for (struct table_cursor at = table_first(&w->heard); at.node; table_next(&at)) {
        struct heard *h = container_of(at.node, struct heard, node);
        table_remove(&w->heard, at.node);
        free(h);
    }
    table_done(&w->heard);
    free(w);
}

static bool is_path(const struct table_node *n, const void *key)
{
    return text_eq(container_of(n, struct heard, node)->path, key);
}

/* The object's path, for this life of the operator. */
static const char *path_of(struct arena *a, const struct sim_operator *o, const char *path)
{
    size_t length = strcspn(path, "?");
    if (length > 7 && strncmp(path + length - 7, "/status", 7) == 0)
        length -= 7;
    return arena_printf(a, "%s.%lld %.*s", o->name, (long long)o->lives, (int)length, path);
}

uint64_t sim_version_of(struct json object)
{
    int64_t version = 0;
    const char *text = json_get_text(object, "metadata.resourceVersion");
    return text && str_to_int(str_of(text), &version) ? (uint64_t)version : 0;
}

uint64_t sim_version_in(struct str text)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    struct json object;
    struct error err;
    return json_parse(&a, text, &object, &err) ? sim_version_of(object) : 0;
}

bool sim_is_create(const struct sim_request *request)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    struct json body;
    struct error err;
    return text_eq(request->method, "PATCH") && json_parse(&a, request->body, &body, &err) &&
           json_present(json_get(body, "apiVersion")) &&
           !json_present(json_get(body, "metadata.uid"));
}

static bool is_of_interest(const char *method, const char *path)
{
    return (text_eq(method, "PATCH") || text_eq(method, "GET")) && !strstr(path, "/leases/") &&
           !strstr(path, "/events/");
}

void sim_check_heard(struct sim_writes *w, const struct sim_operator *o, const char *method,
    const char *path, uint64_t version)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    if (!is_of_interest(method, path) || !version)
        return;
    const char *name = path_of(&a, o, path);
    uint64_t hash = table_hash(&w->heard, name, strlen(name));
    struct table_node *n = table_find(&w->heard, hash, is_path, name);
    struct heard *h = n ? container_of(n, struct heard, node) : NULL;
    if (!h) {
        h = mem_new(sizeof(*h) + strlen(name) + 1);
        memcpy(h->path, name, strlen(name) + 1);
        table_add(&w->heard, &h->node, hash);
    }
    if (version > h->version)
        h->version = version;
}

void sim_check_based(
    struct sim_writes *w, struct sim_operator *o, const struct sim_request *request)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    struct json body = { 0 };
    struct error err;
    bool parsed = json_parse(&a, request->body, &body, &err);
    if (text_eq(request->method, "DELETE") && !strstr(request->path, "/leases/") &&
        !(parsed && json_present(json_get(body, "preconditions.uid"))))
        sim_fail(o->sim, "promise 4, uid: %s deletes %s, whoever it is", o->name, request->path);
    if (!is_of_interest(request->method, request->path) || !parsed)
        return;
    if (sim_is_create(request))
        sim_wakes_creates(o->sim->wakes, o, request->path, body);
    if (strstr(request->path, "force=true") && !json_present(json_get(body, "metadata.uid")))
        sim_fail(o->sim, "promise 4, uid: %s changes %s, whoever it is", o->name, request->path);
    const char *name = path_of(&a, o, request->path);
    uint64_t hash = table_hash(&w->heard, name, strlen(name)), based = sim_version_of(body);
    struct table_node *n = table_find(&w->heard, hash, is_path, name);
    uint64_t heard = n ? container_of(n, struct heard, node)->version : 0;
    if (based && based < heard)
        sim_fail(o->sim,
            "promise 4, stale: %s writes %s on version %llu, though it was told of %llu",
            o->name,
            request->path,
            (unsigned long long)based,
            (unsigned long long)heard);
}
