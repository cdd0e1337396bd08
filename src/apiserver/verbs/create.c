/* POST on a collection. */

#include "apiserver/core/body.h"
#include "apiserver/core/internal.h"
#include "apiserver/core/meta.h"
#include "apiserver/core/options.h"
#include "apiserver/verbs/write.h"

bool create_check_namespace(struct api_call *c, struct json object)
{
    const char *given = json_get_text(object, "metadata.namespace");
    if (text_empty(given) || c->kind->resource.cluster_scoped || text_eq(given, c->ns))
        return true;
    return call_fail_bad(
        c, "the namespace of the provided object does not match the namespace sent on the request");
}

/* Also used for a PUT or an apply of an object that does not exist. */
bool create_object(struct write *w, struct json object, bool applied)
{
    const struct api_behaviour *b = w->kind->behaviour;
    const struct store_object *stored;
    if (!write_check_namespace(w) || !call_check_version(w->call, NULL, true))
        return false;
    object = meta_without_system(w->arena, object);
    if (b && b->fill)
        object = b->fill(w->kind, w->arena, object);
    if (!write_fill_owners(w, &object, applied) || !write_check_create(w, &object) ||
        !write_store(w, object, false, &stored))
        return false;
    write_answer(w, 201, object, stored);
    return true;
}

void rest_create(struct api_call *c)
{
    struct json object;
    if (!body_check_media(c) || !options_read_write(c, "CreateOptions", false) ||
        !body_decode(c, &object) || !create_check_namespace(c, object))
        return;
    struct write w = write_of_call(c);
    w.name = json_get_text(object, "metadata.name");
    create_object(&w, object, false);
}
