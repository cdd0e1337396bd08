/* Ingresses and Leases. Nothing here acts on Ingresses, so their specs are not validated. */

#include "apiserver/builtin/defaults.h"
#include "apiserver/builtin/rules.h"
#include "apiserver/builtin/warn.h"
#include "apiserver/rules/check.h"

/* A new Ingress without a class, in the field or the annotation, gets the default class. */
static bool prepare_ingress(const struct api_write *w, struct json *object, struct error *err)
{
    static const char *const marks[] = { "ingressclass.kubernetes.io/is-default-class", NULL };
    struct json noted = json_get(*object, "metadata.annotations");
    (void)err;
    if (json_present(w->old) || *w->subresource ||
        json_present(json_member(noted, "kubernetes.io/ingress.class")) ||
        check_is_set(json_get(*object, "spec.ingressClassName")))
        return true;
    const char *class_name = defaults_class(w, "networking.k8s.io", "ingressclasses", marks);
    if (class_name)
        *object = json_with(w->arena, *object, "spec.ingressClassName", json_str(class_name));
    return true;
}

static void check_lease(const struct api_write *w, struct json o, struct field_errors *e)
{
    (void)w;
    struct json duration = json_get(o, "spec.leaseDurationSeconds"),
                moves = json_get(o, "spec.leaseTransitions");
    if (duration.type == JSON_INT && duration.integer <= 0)
        field_invalid(e, "spec.leaseDurationSeconds", duration, "must be greater than 0");
    if (moves.type == JSON_INT && moves.integer < 0)
        field_invalid(e, "spec.leaseTransitions", moves, "must be greater than or equal to 0");
}

const struct builtin_rules builtin_ingress = {
    .prepare = prepare_ingress,
    .warn = warn_ingress,
};
const struct builtin_rules builtin_lease = { .validate = check_lease };
