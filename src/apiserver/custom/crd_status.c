#include "apiserver/custom/crd_status.h"

#include <string.h>

#include "base/str.h"

bool crd_status_is(struct json crd, const char *condition)
{
    struct json c = json_find(json_get(crd, "status.conditions"), "type", condition);
    return text_eq(json_get_text(c, "status"), "True");
}

struct json crd_status_with(struct arena *a, struct json crd, const char *condition, bool value,
    const char *reason, const char *message, const char *now)
{
    struct json old = json_get(crd, "status.conditions");
    struct json before = json_find(old, "type", condition);
    const char *status = value ? "True" : "False";
    bool same = text_eq(json_get_text(before, "status"), status);
    struct json made = json_map(a,
        { "type", json_str(condition) },
        { "status", json_str(status) },
        { "reason", json_str(reason) },
        { "message", json_str(message) },
        { "lastTransitionTime", same ? json_member(before, "lastTransitionTime") : json_str(now) });
    struct json_builder b;
    json_builder_init(&b, a);
    json_each (c, old)
        json_push(&b, text_eq(json_get_text(*c, "type"), condition) ? made : *c);
    if (!json_present(before))
        json_push(&b, made);
    return json_with(a, crd, "status.conditions", json_list_end(&b));
}

/* ---- names ---- */

static bool is_used(struct json others, const char *const *fields, const char *name)
{
    json_each (crd, others) {
        struct json names = json_get(*crd, "status.acceptedNames");
        for (size_t i = 0; fields[i]; i++) {
            struct json v = json_member(names, fields[i]);
            if (text_eq(json_text(v), name) || json_list_has(v, name))
                return true;
        }
    }
    return false;
}

struct naming {
    struct arena *arena;
    struct json others;
    struct json asked, accepted;
    const char *reason, *message; /* of the last conflict */
};

static const char *const resource_fields[] = { "plural", "singular", "shortNames", NULL };
static const char *const kind_fields[] = { "kind", "listKind", NULL };

static bool is_free(struct naming *n, const char *name, struct json had, const char *const *fields)
{
    if (text_eq(json_text(had), name) || json_list_has(had, name) ||
        !is_used(n->others, fields, name))
        return true;
    n->message = arena_printf(n->arena, "\"%s\" is already in use", name);
    return false;
}

static void accept_one(
    struct naming *n, const char *field, const char *const *fields, const char *reason)
{
    struct json asked = json_member(n->asked, field), had = json_member(n->accepted, field);
    bool all = true;
    if (json_is(asked, JSON_STR))
        all = is_free(n, asked.string, had, fields);
    json_each (name, asked)
        all &= is_free(n, json_text(*name) ? name->string : "", had, fields);
    if (all)
        n->accepted = json_with_member(n->arena, n->accepted, field, asked);
    else
        n->reason = reason;
}

struct json crd_status_accept(struct arena *a, struct json crd, struct json others, const char *now)
{
    struct naming n = {
        .arena = a,
        .others = others,
        .asked = json_get(crd, "spec.names"),
        .accepted = json_get(crd, "status.acceptedNames"),
    };
    accept_one(&n, "plural", resource_fields, "PluralConflict");
    accept_one(&n, "singular", resource_fields, "SingularConflict");
    accept_one(&n, "shortNames", resource_fields, "ShortNamesConflict");
    accept_one(&n, "kind", kind_fields, "KindConflict");
    accept_one(&n, "listKind", kind_fields, "ListKindConflict");
    n.accepted = json_with_member(a, n.accepted, "categories", json_member(n.asked, "categories"));
    crd = json_with(a, crd, "status.acceptedNames", n.accepted);
    crd = crd_status_with(a,
        crd,
        "NamesAccepted",
        !n.reason,
        n.reason ? n.reason : "NoConflicts",
        n.reason ? n.message : "no conflicts found",
        now);
    if (crd_status_is(crd, "Established"))
        return crd;
    return crd_status_with(a,
        crd,
        "Established",
        false,
        n.reason ? "NotAccepted" : "Installing",
        n.reason ? "not all names are accepted" : "the initial names have been accepted",
        now);
}

struct json crd_status_establish(struct arena *a, struct json crd, const char *now)
{
    if (!crd_status_is(crd, "NamesAccepted") || crd_status_is(crd, "Established"))
        return crd;
    return crd_status_with(a,
        crd,
        "Established",
        true,
        "InitialNamesAccepted",
        "the initial names have been accepted",
        now);
}

/* ---- approval ---- */

bool crd_status_is_protected(const char *group)
{
    static const char *const owned[] = { "k8s.io", "kubernetes.io" };
    for (size_t i = 0; i < lengthof(owned); i++)
        if (text_eq(group, owned[i]) ||
            (text_ends(group, owned[i]) && group[strlen(group) - strlen(owned[i]) - 1] == '.'))
            return true;
    return false;
}

struct json crd_status_approve(struct arena *a, struct json crd, const char *now)
{
    struct json annotations = json_get(crd, "metadata.annotations");
    const char *text = json_text(json_member(annotations, "api-approved.kubernetes.io"));
    if (!crd_status_is_protected(json_get_text(crd, "spec.group")) || text_empty(text))
        return crd;
    bool approved = !text_starts(text, "unapproved");
    return crd_status_with(a,
        crd,
        "KubernetesAPIApprovalPolicyConformant",
        approved,
        approved ? "ApprovedAnnotation" : "UnapprovedAnnotation",
        arena_printf(a, approved ? "approved in %s" : "not approved: \"%s\"", text),
        now);
}
