/* GET for one object. */

#include "apiserver/core/internal.h"
#include "apiserver/core/object.h"
#include "apiserver/core/options.h"

void rest_get(struct api_call *c)
{
    uint64_t version;
    struct apiserver *s = c->server;
    static const struct {
        const char *subresource;
        void (*handle)(struct api_call *c);
    } streams[] = {
        { "attach", rest_session },
        { "exec", rest_session },
        { "log", rest_get_log },
        { "portforward", rest_session },
    };
    for (size_t i = 0; i < lengthof(streams); i++)
        if (text_eq(c->subresource, streams[i].subresource)) {
            streams[i].handle(c);
            return;
        }
    if (!options_read_get(c, &version))
        return;
    if (version > store_version(s->store)) {
        call_fail(c, status_too_large_version(&c->arena, version, store_version(s->store)));
        return;
    }
    const struct store_object *o = store_get(store_table(s->store, c->kind->table), c->ns, c->name);
    if (!o)
        call_fail(c, status_not_found(&c->arena, c->kind, c->name));
    else if (!call_check_version(c, o, false))
        return;
    else if (text_eq(c->subresource, "scale"))
        rest_get_scale(c, o);
    else
        call_object(c, 200, o);
}
