#include "apiserver/custom/crd_conversion.h"

#include <string.h>

#include "apiserver/rules/check.h"

struct checker {
    struct arena *arena;
    struct field_errors *errors;
};

/* ---- webhook ---- */

static struct json json_of(struct checker *c, struct str s)
{
    return json_strn(c->arena, s.ptr, s.len);
}

/* Splits the URL only as far as necessary. */
static void check_url(struct checker *c, const char *url, const char *path)
{
    static const char form[] = "desired format: https://host[/path]";
    struct str query = str_of(url), user, fragment, rest = str_cut(&query, '#');
    fragment = query;
    query = rest;
    rest = str_cut(&query, '?');
    struct str after = rest, scheme = str_cut(&after, ':');
    bool has_scheme = after.ptr && !memchr(scheme.ptr, '/', scheme.len);
    const char *name = check_lower(c->arena, has_scheme ? str_dup(c->arena, scheme) : "");
    struct str host = has_scheme ? after : rest;
    host = host.len > 1 && memcmp(host.ptr, "//", 2) == 0
               ? (struct str){ host.ptr + 2, host.len - 2 }
               : (struct str){ "", 0 };
    host = str_cut(&host, '/');
    const char *at = memrchr(host.ptr, '@', host.len);
    user = (struct str){ host.ptr, at ? (size_t)(at - host.ptr) : 0 };
    if (!text_eq(name, "https"))
        field_invalid(c->errors,
            path,
            json_str(name),
            arena_printf(c->arena, "'https' is the only allowed URL scheme; %s", form));
    if (host.len == user.len + (at ? 1 : 0))
        field_invalid(c->errors,
            path,
            json_str(""),
            arena_printf(c->arena, "host must be specified; %s", form));
    if (at)
        field_invalid(
            c->errors, path, json_of(c, user), "user information is not permitted in the URL");
    if (fragment.len)
        field_invalid(
            c->errors, path, json_of(c, fragment), "fragments are not permitted in the URL");
    if (query.len)
        field_invalid(
            c->errors, path, json_of(c, query), "query parameters are not permitted in the URL");
}

static void check_path(struct checker *c, struct json v, const char *path)
{
    const char *text = json_text(v);
    size_t i = 0;
    if (text_empty(text) || text_eq(text, "/"))
        return;
    if (text_eq(text, "//")) {
        field_invalid(c->errors, path, v, "segment[0] may not be empty");
        return;
    }
    if (*text != '/')
        field_invalid(c->errors, path, v, "must start with a '/'");
    struct str rest = str_of(text + 1);
    if (rest.len && rest.ptr[rest.len - 1] == '/')
        rest.len--;
    do {
        struct str step = str_cut(&rest, '/');
        struct error err;
        if (!step.len)
            field_invalid(
                c->errors, path, v, arena_printf(c->arena, "segment[%zu] may not be empty", i));
        else if (!name_check(NAME_DNS1123_SUBDOMAIN, str_dup(c->arena, step), &err))
            field_invalid(
                c->errors, path, v, arena_printf(c->arena, "segment[%zu]: %s", i, err.text));
        i++;
    } while (rest.ptr);
}

static void check_service(struct checker *c, struct json service, const char *at)
{
    /* Error paths swap the two names. */
    static const struct {
        const char *field, *told;
    } needed[] = { { "namespace", "name" }, { "name", "namespace" } };
    for (size_t i = 0; i < lengthof(needed); i++)
        if (check_is_empty(json_member(service, needed[i].field)))
            field_required(c->errors, field_child(c->arena, at, needed[i].told), "");
    struct json port = json_member(service, "port");
    if (port.integer < 1 || port.integer > 65535)
        field_invalid(c->errors,
            field_child(c->arena, at, "port"),
            port,
            "port is not valid: must be between 1 and 65535, inclusive");
    check_path(c, json_member(service, "path"), field_child(c->arena, at, "path"));
}

/* ---- conversionReviewVersions ---- */

static void check_reviews(struct checker *c, struct json versions, const char *at)
{
    bool known = false;
    if (!versions.count)
        field_required(c->errors, at, "");
    for (uint32_t i = 0; i < versions.count; i++) {
        struct json v = versions.items[i];
        const char *name = json_text(v), *path = field_index(c->arena, at, i);
        bool again = false;
        for (uint32_t j = 0; j < i; j++)
            again |= json_equal(v, versions.items[j]);
        if (again)
            field_invalid(c->errors, path, v, "duplicate version");
        else
            check_name(c->errors, v, path, NAME_DNS1035_LABEL);
        known |= text_eq(name, "v1") || text_eq(name, "v1beta1");
    }
    if (versions.count && !known)
        field_invalid(c->errors, at, versions, "must include at least one of v1, v1beta1");
}

static void check_webhook(struct checker *c, struct json client, struct json reviews)
{
    static const char at[] = "spec.conversion.webhookClientConfig";
    struct json url = json_member(client, "url"), service = json_member(client, "service");
    if (!json_present(client))
        field_required(c->errors, at, "required when strategy is set to Webhook");
    else if (json_present(url) == json_present(service))
        field_required(c->errors, at, "exactly one of url or service is required");
    else if (json_present(url))
        check_url(c, json_text(url), field_child(c->arena, at, "url"));
    else
        check_service(c, service, field_child(c->arena, at, "service"));
    check_reviews(c, reviews, "spec.conversion.conversionReviewVersions");
}

void crd_conversion_check(struct arena *a, struct json spec, struct field_errors *errors)
{
    static const char *const strategies[] = { "None", "Webhook", NULL };
    static const char unused[] = "should not be set when strategy is not set to Webhook";
    struct checker c = { a, errors };
    struct json conversion = json_member(spec, "conversion");
    struct json strategy = json_member(conversion, "strategy");
    struct json reviews = json_get(conversion, "webhook.conversionReviewVersions");
    struct json client = json_get(conversion, "webhook.clientConfig");
    if (!text_eq(json_text(strategy), "None") &&
        json_get_bool(spec, "preserveUnknownFields", false))
        field_invalid(errors,
            "spec.conversion.strategy",
            strategy,
            "must be None if spec.preserveUnknownFields is true");
    if (check_is_empty(strategy))
        field_required(errors, "spec.conversion.strategy", "");
    else
        check_enum(errors, strategy, "spec.conversion.strategy", strategies);
    if (text_eq(json_text(strategy), "Webhook")) {
        check_webhook(&c, client, reviews);
        return;
    }
    if (json_present(client))
        field_forbidden(errors, "spec.conversion.webhookClientConfig", unused);
    if (reviews.count)
        field_forbidden(errors, "spec.conversion.conversionReviewVersions", unused);
}
