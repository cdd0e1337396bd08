/* CertificateSigningRequests and APIServices. Other programs act on them: this server does not sign
 * and does not forward requests. It records the user of a request, and checks who may approve or
 * sign it. */

#include "apiserver/access/auth.h"
#include "apiserver/builtin/rules.h"
#include "apiserver/core/call.h"
#include "apiserver/rules/fill.h"

/* ---- CertificateSigningRequest ---- */

static struct json user_groups(struct arena *a, const struct api_user *user)
{
    struct json_builder b;
    json_builder_init(&b, a);
    for (const char *const *g = user->groups; g && *g; g++)
        json_push(&b, json_str(*g));
    return json_or_absent(json_list_end(&b));
}

static struct json with_requestor(const struct api_write *w, struct json object)
{
    struct arena *a = w->arena;
    const struct api_user *u = w->user;
    struct json spec = json_member(object, "spec");
    if (!u)
        return object;
    spec = json_with_member(a, spec, "username", json_str(u->name));
    spec = json_with_member(a, spec, "uid", json_if(*u->uid, json_str(u->uid)));
    spec = json_with_member(a, spec, "groups", user_groups(a, u));
    spec = json_with_member(a, spec, "extra", json_or_absent(u->extra));
    return json_with_member(a, object, "spec", spec);
}

/* Missing times are set to now. */
static struct json with_conditions(const struct api_write *w, struct json object)
{
    struct arena *a = w->arena;
    struct json old = json_get(w->old, "status.conditions"), now = json_str(w->now);
    struct json_builder b;
    json_builder_init(&b, a);
    json_each (c, json_get(object, "status.conditions")) {
        struct json before = json_find(old, "type", json_get_text(*c, "type"));
        struct json same = json_equal(json_member(before, "status"), json_member(*c, "status"))
                               ? json_member(before, "lastTransitionTime")
                               : now;
        struct json made = fill_path(a, *c, "lastUpdateTime", now);
        json_push(&b, fill_path(a, made, "lastTransitionTime", json_present(same) ? same : now));
    }
    return json_with(a, object, "status.conditions", json_or_absent(json_list_end(&b)));
}

static bool prepare_request(const struct api_write *w, struct json *object, struct error *err)
{
    (void)err;
    if (!json_present(w->old)) {
        *object = with_requestor(w, *object);
        return true;
    }
    *object = json_with_member(w->arena, *object, "spec", json_member(w->old, "spec"));
    if (text_eq(w->subresource, "approval"))
        *object = json_with(
            w->arena, *object, "status.certificate", json_get(w->old, "status.certificate"));
    if (*w->subresource)
        *object = with_conditions(w, *object);
    return true;
}

/* By the signer's full name, or by its domain for all signers in it. */
static bool may_as_signer(const struct api_write *w, const char *verb, const char *signer)
{
    const char *slash = strchr(signer, '/');
    int domain = slash ? (int)(slash - signer) : 0;
    const char *const names[] = { signer, arena_printf(w->arena, "%.*s/*", domain, signer) };
    struct auth_request r = {
        .verb = verb,
        .group = "certificates.k8s.io",
        .version = "*",
        .resource = "signers",
        .subresource = "",
        .ns = "",
    };
    for (size_t i = 0; i < lengthof(names); i++) {
        r.name = names[i];
        if (auth_allows(apiserver_auth(w->server), w->arena, w->user, &r, NULL))
            return true;
    }
    return false;
}

/* Approving and signing also need a right for the signer. */
static bool admit_request(const struct api_write *w, struct json object, struct error *err)
{
    bool approves = text_eq(w->subresource, "approval"), signs = text_eq(w->subresource, "status");
    const char *signer = json_get_text(w->old, "spec.signerName");
    const char *verb = approves ? "approve" : "sign";
    if (signs)
        signs = !json_equal(json_get(w->old, "status.certificate"),
                    json_get(object, "status.certificate")) ||
                !json_equal(
                    json_get(w->old, "status.conditions"), json_get(object, "status.conditions"));
    if (!json_present(w->old) || (!approves && !signs) || !w->user ||
        may_as_signer(w, verb, signer))
        return true;
    return fail(err,
        ERR_FORBIDDEN,
        "certificatesigningrequests.certificates.k8s.io \"%s\" is forbidden: user not permitted to "
        "%s requests with signerName \"%s\"",
        json_get_text(w->old, "metadata.name"),
        verb,
        signer);
}

/* ---- APIService ---- */

/* Local ones are served here; others would be served by another server. */
static bool prepare_api_service(const struct api_write *w, struct json *object, struct error *err)
{
    (void)err;
    struct arena *a = w->arena;
    if (json_present(w->old))
        return true;
    bool local = !json_present(json_get(*object, "spec.service"));
    *object = json_with(a,
        *object,
        "status.conditions",
        json_list(a,
            json_map(a,
                { "type", json_str("Available") },
                { "status", json_str(local ? "True" : "False") },
                { "lastTransitionTime", json_str(w->now) },
                { "reason", json_str(local ? "Local" : "NotPassedOn") },
                { "message",
                    json_str(local ? "Local APIServices are always available"
                                   : "this API server passes no requests on to others") })));
    return true;
}

static void warn_api_service(const struct api_write *w, struct json o)
{
    if (w->call && !json_present(w->old) && json_present(json_get(o, "spec.service")))
        call_warn(w->call, "this server stores APIServices and passes no requests on to others");
}

static const char *const request_fields[] = { "spec.signerName", NULL };
const struct builtin_rules builtin_certificate_request = {
    .prepare = prepare_request,
    .admit = admit_request,
    .fields = request_fields,
};
const struct builtin_rules builtin_api_service = {
    .prepare = prepare_api_service,
    .warn = warn_api_service,
};
