/* Kinds of the control plane's own machinery: certificate requests, API services, flow control, and
 * the objects that hold the addresses of Services. They are kept for those who act on them; this
 * server itself signs nothing, passes no request on and has no queues. */

#include "apiserver/access/auth.h"
#include "apiserver/access/certificate_request.h"
#include "apiserver/builtin/rules.h"
#include "apiserver/core/call.h"
#include "apiserver/rules/check.h"
#include "apiserver/rules/fill.h"
#include "base/base64.h"

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
    spec = json_with_member(a, spec, "uid", *u->uid ? json_str(u->uid) : (struct json){ 0 });
    spec = json_with_member(a, spec, "groups", user_groups(a, u));
    spec = json_with_member(a, spec, "extra", json_or_absent(u->extra));
    return json_with_member(a, object, "spec", spec);
}

/* Times that were left out are now. */
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

static void check_certificate(const struct api_write *w, struct json o, struct field_errors *e)
{
    static const char begin[] = "-----BEGIN CERTIFICATE-----";
    struct json old = json_get(w->old, "status.certificate"),
                new = json_get(o, "status.certificate");
    struct str pem;
    if (json_equal(old, new) || check_is_empty(new))
        return;
    if (!base64_decode(e->arena, str_of(new.string), &pem) ||
        !memmem(pem.ptr, pem.len, begin, sizeof(begin) - 1))
        field_invalid(e,
            "status.certificate",
            json_str("<certificate data>"),
            "must contain at least one CERTIFICATE PEM block");
    if (!check_is_empty(old))
        field_forbidden(
            e, "status.certificate", "updates may not modify existing certificate content");
}

/* Who may approve is another than who may sign. A verdict stays. */
void builtin_request_status_check(
    const struct api_write *w, struct json object, struct field_errors *e)
{
    static const char *const verdicts[] = { "Approved", "Denied", "Failed" };
    struct json olds = json_get(w->old, "status.conditions"),
                news = json_get(object, "status.conditions");
    check_certificate(w, object, e);
    for (size_t i = 0; i < lengthof(verdicts); i++) {
        struct json old = json_find(olds, "type", verdicts[i]),
                    new = json_find(news, "type", verdicts[i]);
        bool adds = text_eq(verdicts[i], "Failed") || text_eq(w->subresource, "approval");
        const char *what = json_present(old) && !json_present(new)   ? "remove"
                           : !json_present(old) && json_present(new) ? (adds ? NULL : "add")
                           : !json_equal(old, new)                   ? "modify"
                                                                     : NULL;
        if (what)
            field_forbidden(e,
                "status.conditions",
                arena_printf(
                    e->arena, "updates may not %s a condition of type \"%s\"", what, verdicts[i]));
    }
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

static void check_labels_of(struct field_errors *e, struct json domain, const char *path)
{
    struct str rest = str_of(domain.string);
    while (rest.ptr) {
        const char *label = str_dup(e->arena, str_cut(&rest, '.'));
        struct error err;
        if (!name_check(NAME_DNS1123_LABEL, label, &err))
            field_invalid(e,
                path,
                domain,
                arena_printf(e->arena, "validating label \"%s\": %s", label, err.text));
    }
}

static void check_signer(struct field_errors *e, struct json signer)
{
    static const char form[] =
        "must be a fully qualified domain and path of the form 'example.com/signer-name'";
    const char *path = "spec.signerName";
    if (check_is_empty(signer)) {
        field_required(e, path, NULL);
        return;
    }
    struct str rest = str_of(signer.string), domain = str_cut(&rest, '/');
    if (!rest.ptr || memchr(rest.ptr, '/', rest.len) || !rest.len || !domain.len) {
        field_invalid(e, path, signer, form);
        return;
    }
    struct json name = json_strn(e->arena, domain.ptr, domain.len);
    check_labels_of(e, name, path);
    if (!strchr(name.string, '.'))
        field_invalid(
            e, path, name, "should be a domain with at least two segments separated by dots");
    if (text_eq(signer.string, "kubernetes.io/legacy-unknown"))
        field_invalid(e, path, signer, "the legacy signerName is not allowed via this API version");
}

static bool is_request_pem(struct arena *a, struct json request)
{
    struct str pem;
    return request.type == JSON_STR && base64_decode(a, str_of(request.string), &pem) &&
           memmem(pem.ptr, pem.len, STR("-----BEGIN CERTIFICATE REQUEST-----").ptr, 35);
}

static void check_request(const struct api_write *w, struct json o, struct field_errors *e)
{
    /* clang-format off */
    static const char *const usages[] = { "any", "cert sign", "client auth", "code signing",
        "content commitment", "crl sign", "data encipherment", "decipher only",
        "digital signature", "email protection", "encipher only", "ipsec end system",
        "ipsec tunnel", "ipsec user", "key agreement", "key encipherment", "microsoft sgc",
        "netscape sgc", "ocsp signing", "s/mime", "server auth", "signing", "timestamping", NULL };
    /* clang-format on */
    struct json spec = json_member(o, "spec"), request = json_member(spec, "request"),
                expiry = json_member(spec, "expirationSeconds");
    size_t i = 0;
    if (*w->subresource)
        builtin_request_status_check(w, o, e);
    if (json_present(w->old))
        return;
    if (!is_request_pem(e->arena, request))
        field_invalid(e,
            "spec.request",
            check_is_empty(request) ? json_null() : request,
            "PEM block type must be CERTIFICATE REQUEST");
    if (!json_member(spec, "usages").count)
        field_required(e, "spec.usages", NULL);
    json_each (u, json_member(spec, "usages")) {
        const char *here = check_item_path(e->arena, "spec", "usages", i);
        struct json before = {
            JSON_LIST, (uint32_t)i++, .items = json_member(spec, "usages").items
        };
        if (json_list_has(before, json_text(*u)))
            field_duplicate(e, here, *u);
        check_enum(e, *u, here, usages);
    }
    check_signer(e, json_member(spec, "signerName"));
    if (expiry.type == JSON_INT && expiry.integer < 600)
        field_invalid(e,
            "spec.expirationSeconds",
            expiry,
            "may not specify a duration less than 600 seconds (10 minutes)");
}

/* By the signer's whole name, or by its domain for all signers there. */
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
        .namespace = "",
    };
    for (size_t i = 0; i < lengthof(names); i++) {
        r.name = names[i];
        if (auth_allows(apiserver_auth(w->server), w->arena, w->user, &r, NULL))
            return true;
    }
    return false;
}

/* Nobody becomes an administrator by a certificate for clients of this server. */
static bool admit_subject(const struct api_write *w, struct json object, struct error *err)
{
    static const char client[] = "kubernetes.io/kube-apiserver-client";
    struct str pem;
    bool readable = false, masters = false;
    if (!text_eq(json_get_text(object, "spec.signerName"), client))
        return true;
    if (base64_decode(w->arena, str_of(json_get_text(object, "spec.request")), &pem))
        masters = certificate_request_has_group(pem, "system:masters", &readable);
    if (readable && !masters)
        return true;
    return fail(err,
        ERR_FORBIDDEN,
        "certificatesigningrequests.certificates.k8s.io \"%s\" is forbidden: %s%s%s",
        json_get_text(object, "metadata.name"),
        readable ? "use of " : "failed to parse CSR",
        readable ? client : "",
        readable ? " signer with system:masters group is not allowed" : "");
}

/* Whoever approves or signs must be allowed to for the signer, too. */
static bool admit_request(const struct api_write *w, struct json object, struct error *err)
{
    bool approves = text_eq(w->subresource, "approval"), signs = text_eq(w->subresource, "status");
    const char *signer = json_get_text(w->old, "spec.signerName");
    const char *verb = approves ? "approve" : "sign";
    if (!json_present(w->old))
        return admit_subject(w, object, err);
    if (signs)
        signs = !json_equal(json_get(w->old, "status.certificate"),
                    json_get(object, "status.certificate")) ||
                !json_equal(
                    json_get(w->old, "status.conditions"), json_get(object, "status.conditions"));
    if ((!approves && !signs) || !w->user || may_as_signer(w, verb, signer))
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

/* Local ones are served here; others would be by a server that requests are passed on to. */
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

static void check_range(struct field_errors *e, struct json spec, const char *name, int64_t below)
{
    int64_t n = json_get_int(spec, name, 0);
    if (n <= 0 || n > below)
        field_invalid(e,
            field_child(e->arena, "spec", name),
            json_int(n),
            arena_printf(e->arena, "must be positive and less than %lld", (long long)below));
}

static void check_backend_service(struct field_errors *e, struct json spec)
{
    static const struct check rules[] = {
        { "service.namespace", CHECK_REQUIRED },
        { "service.name", CHECK_REQUIRED },
        { 0 },
    };
    struct json port = json_get(spec, "service.port"),
                insecure = json_member(spec, "insecureSkipTLSVerify");
    bool skips = insecure.type == JSON_BOOL && insecure.boolean;
    check_table(e, spec, "spec", rules);
    if (port.type == JSON_INT && (port.integer < 1 || port.integer > 65535))
        field_invalid(e,
            "spec.service.port",
            port,
            "port is not valid: must be between 1 and 65535, inclusive");
    if (skips && !json_present(json_member(spec, "service")))
        field_invalid(e,
            "spec.insecureSkipTLSVerify",
            insecure,
            "local APIServices may not have insecureSkipTLSVerify");
    else if (skips && !check_is_empty(json_member(spec, "caBundle")))
        field_invalid(
            e, "spec.insecureSkipTLSVerify", insecure, "may not be true if caBundle is present");
}

static void check_api_service(const struct api_write *w, struct json o, struct field_errors *e)
{
    (void)w;
    static const char *const names[] = { "metadata.generateName", "metadata.name" };
    struct json spec = json_member(o, "spec"), group = json_member(spec, "group"),
                version = json_member(spec, "version");
    const char *v = json_text(version) ? json_text(version) : "",
               *g = json_text(group) ? json_text(group) : "";
    const char *wanted = arena_printf(e->arena, "%s.%s", v, g);
    for (size_t i = 0; i < lengthof(names); i++) {
        struct json name = json_get(o, names[i]);
        const char *text = json_text(name);
        bool segment = text && !strpbrk(text, "/%") && !text_eq(text, ".") && !text_eq(text, "..");
        if (segment && !text_eq(text, wanted))
            field_invalid(e,
                names[i],
                name,
                arena_printf(e->arena, "must be `spec.version+\".\"+spec.group`: \"%s\"", wanted));
    }
    if (*g)
        check_name(e, group, "spec.group", NAME_DNS1123_SUBDOMAIN);
    else if (!text_eq(v, "v1"))
        field_required(
            e, "spec.group", "only v1 may have an empty group and it better be legacy kube");
    check_name(e, json_str(v), "spec.version", NAME_DNS1035_LABEL);
    check_range(e, spec, "groupPriorityMinimum", 20000);
    check_range(e, spec, "versionPriority", 1000);
    check_backend_service(e, spec);
}

static struct json fill_api_service(struct arena *a, struct json o)
{
    return fill_path(a, o, "spec.service.port", json_int(443));
}

/* ---- addresses of Services ---- */

static void check_address(const struct api_write *w, struct json o, struct field_errors *e)
{
    static const struct check rules[] = {
        { "spec.parentRef.group", CHECK_SUBDOMAIN },
        { "spec.parentRef.resource", CHECK_REQUIRED },
        { "spec.parentRef.resource", CHECK_SEGMENT },
        { "spec.parentRef.name", CHECK_REQUIRED },
        { "spec.parentRef.name", CHECK_SEGMENT },
        { "spec.parentRef.namespace", CHECK_SEGMENT },
        { 0 },
    };
    (void)w;
    if (!json_present(json_get(o, "spec.parentRef")))
        field_required(e, "spec.parentRef", NULL);
    check_table(e, o, "", rules);
}

static void check_address_change(const struct api_write *w, struct json o, struct field_errors *e)
{
    check_immutable(
        e, json_get(w->old, "spec.parentRef"), json_get(o, "spec.parentRef"), "spec.parentRef");
}

/* A range stays; one of the other family may be added. */
static void check_service_cidr(const struct api_write *w, struct json o, struct field_errors *e)
{
    struct json cidrs = json_get(o, "spec.cidrs"), old = json_get(w->old, "spec.cidrs");
    if (json_present(w->old) && (!cidrs.count || cidrs.count > 2))
        field_invalid(e, "spec.cidrs", cidrs.count ? cidrs : json_null(), "field is immutable");
    else if (!cidrs.count)
        field_required(e, "spec.cidrs", "at least one CIDR required");
    else if (cidrs.count > 2)
        check_invalid_text(e,
            FIELD_INVALID,
            "spec.cidrs",
            arena_printf(e->arena, "{\"CIDRs\":%s}", json_to_text(e->arena, cidrs)),
            "may only hold up to 2 values");
    if (!cidrs.count || cidrs.count > 2)
        return;
    for (size_t i = 0; i < cidrs.count; i++) {
        const char *path = check_item_path(e->arena, "spec", "cidrs", i);
        if (i < old.count)
            check_immutable(e, old.items[i], cidrs.items[i], path);
        else if (!check_is_cidr(json_text(cidrs.items[i])))
            field_invalid(e,
                path,
                cidrs.items[i],
                "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)");
    }
    if (cidrs.count == 2 &&
        !strchr(json_text(cidrs.items[0]), ':') == !strchr(json_text(cidrs.items[1]), ':'))
        field_invalid(e,
            "spec.cidrs",
            cidrs,
            "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and "
            "2001:db8::/64");
}

/* clang-format off */
static const char *const request_fields[] = { "spec.signerName", NULL };
const struct builtin_rules builtin_certificate_request = {
    .prepare = prepare_request, .validate = check_request, .admit = admit_request,
    .fields = request_fields,
};
const struct builtin_rules builtin_api_service = {
    .fill = fill_api_service, .prepare = prepare_api_service, .validate = check_api_service,
    .warn = warn_api_service,
};
const struct builtin_rules builtin_ip_address = {
    .validate = check_address, .validate_change = check_address_change,
};
const struct builtin_rules builtin_service_cidr = {
    .validate = check_service_cidr,
};
/* clang-format on */
