/* Decisions of src/cedar on a line each, for tests/cluster/test_cedar.py: {"policies": TEXT,
 * "principal": UID, "action": UID, "resource": UID, "context": …, "entities": [ {"uid": {"type",
 * "id"}, "attrs": …, "parents": [ … ]} ]} in; {"allowed", "reasons", "errors"} or {"refused"} out.
 */

#include <stdio.h>
#include <stdlib.h>

#include "cedar/cedar.h"

static struct cedar_uid uid_of(struct json v)
{
    return (struct cedar_uid){ str_of(json_get_text(v, "type")), str_of(json_get_text(v, "id")) };
}

static struct json texts(struct arena *a, const char *const *list, size_t count)
{
    struct json_builder b;
    json_builder_init(&b, a);
    for (size_t i = 0; i < count; i++)
        json_push(&b, json_str(list[i]));
    return json_list_end(&b);
}

static bool read_request(
    struct arena *a, struct json v, struct cedar_request *ret, struct error *err)
{
    struct json list = json_member(v, "entities");
    struct cedar_entity *entities = arena_array(a, list.count, sizeof *entities);
    *ret = (struct cedar_request){ .context = json_member(v, "context"), .entities = entities };
    json_each (item, list) {
        struct json parents = json_member(*item, "parents");
        struct cedar_uid *uids = arena_array(a, parents.count, sizeof *uids);
        struct cedar_entity *e = &entities[ret->entity_count++];
        *e = (struct cedar_entity){
            uid_of(json_member(*item, "uid")), json_member(*item, "attrs"), uids, 0
        };
        json_each (parent, parents)
            uids[e->parent_count++] = uid_of(*parent);
    }
    return cedar_uid_parse(a, str_of(json_get_text(v, "principal")), &ret->principal, err) &&
           cedar_uid_parse(a, str_of(json_get_text(v, "action")), &ret->action, err) &&
           cedar_uid_parse(a, str_of(json_get_text(v, "resource")), &ret->resource, err);
}

static struct json answer(struct arena *a, struct json v)
{
    struct error err;
    struct cedar_request request;
    struct cedar_policies *p = cedar_parse(a, str_of(json_get_text(v, "policies")), &err);
    if (!p || !read_request(a, v, &request, &err))
        return json_map(a, { "refused", json_str(err.text) });
    struct cedar_answer got = cedar_authorize(a, p, &request);
    return json_map(a,
        { "allowed", json_bool(got.allowed) },
        { "reasons", texts(a, got.reasons, got.reason_count) },
        { "errors", texts(a, got.errors, got.error_count) });
}

int main(void)
{
    char *line = NULL;
    size_t size = 0;
    ssize_t length;
    while ((length = getline(&line, &size, stdin)) > 0) {
        cleanup(arena_done) struct arena a = ARENA_INIT;
        struct json request;
        struct error err;
        if (!json_parse(&a, (struct str){ line, (size_t)length }, &request, &err)) {
            fprintf(stderr, "%s\n", err.text);
            return 1;
        }
        puts(json_to_text(&a, answer(&a, request)));
        fflush(stdout);
    }
    free(line);
    return 0;
}
