#include "engine/pass.h"

#include "engine/kind.h"
#include "engine/plan.h"
#include "engine/summary.h"
#include "engine/view.h"
#include "merge/typed.h"

static bool is_readable(const struct schema *schema, const struct view *in, struct error *err)
{
    if (in->unreadable)
        return fail(err, ERR_INVALID, "spec: %s", in->unreadable);
    struct json spec = json_fields(in->arena, { "spec", json_get(in->object, "spec") });
    if (typed_fits(schema, spec, err))
        return true;
    /* ".spec.image: expected string, got boolean" */
    if (err->text[0] == '.')
        memmove(err->text, err->text + 1, strlen(err->text));
    return false;
}

bool pass_plan(
    const struct kind *kind, const struct schema *schema, const struct view *in, struct plan *out)
{
    struct error err;
    bool readable = !kind->unreadable || is_readable(schema, in, &err);
    if (readable)
        kind->reconcile(in, out);
    else
        kind->unreadable(in, out, &err);
    assert(out->outcome != OUTCOME_NONE);
    summary_add(kind, schema, in, out);
    return readable;
}
