/* The options of requests, in the query or, for deletes, in the body. */

#include "apiserver/core/options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

#define MANAGER_BYTES_MAX 128

static bool refuse(struct api_call *c, const char *kind, const struct field_errors *errors)
{
    return call_fail(c, status_invalid(&c->arena, "meta.k8s.io", kind, "", errors));
}

/* All values of dryRun; the list is for a message. */
static struct json dry_run_values(struct api_call *c)
{
    struct json_builder b;
    json_builder_init(&b, &c->arena);
    for (size_t i = 0; i < c->param_count; i++)
        if (strcmp(c->params[i].key, "dryRun") == 0)
            json_push(&b, json_str(c->params[i].value));
    return json_list_end(&b);
}

void options_check_dry_run(struct field_errors *errors, struct json values)
{
    json_each (v, values)
        if (!text_eq(json_text(*v), "All")) {
            field_error_add(
                errors, FIELD_NOT_SUPPORTED, "dryRun", values, "supported values: \"All\"");
            return;
        }
}

static bool is_printable(uint32_t c)
{
    return c >= 0x20 && c != 0x7f && !(c >= 0x80 && c < 0xa1) && c != 0xad;
}

void options_check_manager(struct field_errors *errors, const char *path, const char *manager)
{
    struct json value = json_str(manager);
    if (value.count > MANAGER_BYTES_MAX)
        field_error_add(errors, FIELD_TOO_LONG, path, value, "may not be more than 128 bytes");
    struct str rest = str_of(manager);
    for (size_t at = 0; at < rest.len;) {
        uint32_t character = 0;
        size_t bytes = utf8_first((struct str){ rest.ptr + at, rest.len - at }, &character);
        if (!is_printable(character))
            field_invalid(errors,
                path,
                value,
                arena_printf(
                    errors->arena, "invalid character U+%04X (at position %zu)", character, at));
        at += bytes ? bytes : 1;
    }
}

/* The part before the slash, as in `kubectl/v1.36`; "" if the client has no name. */
static const char *manager_of_agent(struct arena *a, const char *agent)
{
    struct str rest = str_of(agent ? agent : ""), name = str_cut(&rest, '/');
    size_t bytes = name.len < MANAGER_BYTES_MAX ? name.len : MANAGER_BYTES_MAX;
    char *text = arena_strndup(a, name.ptr, bytes), *to = text;
    for (const char *from = text; *from; from++)
        if ((unsigned char)*from >= 0x20 && *from != 0x7f)
            *to++ = *from;
    *to = '\0';
    return text;
}

bool options_read_write(struct api_call *c, const char *kind, bool apply)
{
    static const char *const validations[] = { "Ignore", "Warn", "Strict" };
    struct field_errors errors;
    field_errors_init(&errors, &c->arena);
    const char *manager = call_param(c, "fieldManager");
    const char *validation = call_param(c, "fieldValidation");
    struct json dry_run = dry_run_values(c);
    if (apply && text_empty(manager))
        field_required(&errors, "fieldManager", "is required for apply patch");
    if (!apply && text_eq(kind, "PatchOptions") && call_param(c, "force"))
        field_forbidden(&errors, "force", "may not be specified for non-apply patch");
    options_check_manager(&errors, "fieldManager", manager ? manager : "");
    options_check_dry_run(&errors, dry_run);
    c->validation = VALIDATION_WARN;
    bool known = text_empty(validation);
    for (size_t i = 0; i < lengthof(validations); i++)
        if (text_eq(validation, validations[i])) {
            c->validation = (enum field_validation)i;
            known = true;
        }
    if (!known)
        field_error_add(&errors,
            FIELD_NOT_SUPPORTED,
            "fieldValidation",
            json_str(validation),
            "supported values: \"\", \"Ignore\", \"Strict\", \"Warn\"");
    if (errors.count)
        return refuse(c, kind, &errors);
    c->dry_run = dry_run.count > 0;
    c->manager =
        text_empty(manager) ? manager_of_agent(&c->arena, c->request->user_agent) : manager;
    return true;
}

/* Parses like strconv.ParseInt. */
bool options_read_int(struct api_call *c, const char *key, int64_t *ret)
{
    const char *text = call_param(c, key);
    *ret = 0;
    if (!text)
        return true;
    struct str digits = str_of(text);
    if (str_starts(digits, STR("+")))
        digits = (struct str){ digits.ptr + 1, digits.len - 1 };
    if (str_to_int(digits, ret))
        return true;
    bool number = digits.len > 0 && strspn(text, "+-0123456789") == strlen(text);
    return call_fail_bad(c,
        "strconv.ParseInt: parsing %s: %s",
        json_to_text(&c->arena, json_str(text)),
        number ? "value out of range" : "invalid syntax");
}

bool options_parse_version(const char *text, uint64_t *ret)
{
    char *end;
    if (text_empty(text))
        return true;
    errno = 0;
    *ret = strtoull(text, &end, 10);
    return *text >= '0' && *text <= '9' && !*end && !errno;
}

const char *options_number_error(struct arena *a, const char *text)
{
    bool number = strspn(text, "0123456789") == strlen(text);
    return arena_printf(a,
        "strconv.ParseUint: parsing %s: %s",
        json_to_text(a, json_str(text)),
        number ? "value out of range" : "invalid syntax");
}

const char *options_version_error(struct arena *a, const char *text)
{
    return arena_printf(a,
        "resourceVersion: Invalid value: %s: %s",
        json_to_text(a, json_str(text)),
        options_number_error(a, text));
}

/* A watch without a version, or with version 0, implicitly requests initial events. */
static bool begins_anywhere(const struct list_options *o)
{
    return !o->initial_given && text_empty(o->match) &&
           (text_empty(o->version_text) || text_eq(o->version_text, "0"));
}

/* Checks combinations of list options. */
static void check_list(struct field_errors *errors, const struct list_options *o, bool watch)
{
    const char *match = o->match;
    if (watch) {
        if (!text_empty(match) && !o->initial_given)
            field_forbidden(errors,
                "resourceVersionMatch",
                "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided");
        if (o->initial_given && !text_eq(match, "NotOlderThan"))
            field_forbidden(errors,
                "resourceVersionMatch",
                "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan");
        if (!text_empty(match) && !text_eq(match, "NotOlderThan"))
            field_error_add(errors,
                FIELD_NOT_SUPPORTED,
                "resourceVersionMatch",
                json_str(match),
                "supported values: \"NotOlderThan\"");
        if ((!text_empty(match) || begins_anywhere(o)) && !text_empty(o->cont))
            field_forbidden(errors,
                "resourceVersionMatch",
                "resourceVersionMatch is forbidden when continue is provided");
        return;
    }
    if (o->initial_given)
        field_forbidden(errors, "sendInitialEvents", "sendInitialEvents is forbidden for list");
    if (text_empty(match))
        return;
    if (text_empty(o->version_text))
        field_forbidden(errors,
            "resourceVersionMatch",
            "resourceVersionMatch is forbidden unless resourceVersion is provided");
    if (!text_empty(o->cont))
        field_forbidden(errors,
            "resourceVersionMatch",
            "resourceVersionMatch is forbidden when continue is provided");
    if (!text_eq(match, "Exact") && !text_eq(match, "NotOlderThan"))
        field_error_add(errors,
            FIELD_NOT_SUPPORTED,
            "resourceVersionMatch",
            json_str(match),
            "supported values: \"Exact\", \"NotOlderThan\", \"\"");
    if (text_eq(match, "Exact") && text_eq(o->version_text, "0"))
        field_forbidden(errors,
            "resourceVersionMatch",
            "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"");
}

static bool read_selectors(struct api_call *c, struct list_options *o)
{
    struct error err;
    struct arena *a = &c->arena;
    const char *labels = call_param(c, "labelSelector"), *fields = call_param(c, "fieldSelector");
    if (text_eq(fields, "=") || text_eq(fields, "=="))
        fields = NULL; /* an empty selector counts as missing */
    if (!selector_parse(a, labels, &o->labels, &err))
        return call_fail_bad(c, "%s", err.text);
    if (!selector_parse_fields(a, fields, &o->fields, &err))
        return call_fail_bad(c, "%s", err.text);
    return true;
}

bool options_read_list(struct api_call *c, bool watch, struct list_options *ret)
{
    struct list_options o = {
        .version_text = call_param(c, "resourceVersion"),
        .match = call_param(c, "resourceVersionMatch"),
        .cont = call_param(c, "continue"),
        .bookmarks = call_param_bool(c, "allowWatchBookmarks"),
        .initial = call_param_bool(c, "sendInitialEvents"),
        .initial_given = call_param(c, "sendInitialEvents") != NULL,
    };
    if (!options_read_int(c, "limit", &o.limit) ||
        !options_read_int(c, "timeoutSeconds", &o.timeout_s) || !read_selectors(c, &o))
        return false;
    struct field_errors errors;
    field_errors_init(&errors, &c->arena);
    check_list(&errors, &o, watch || call_param_bool(c, "watch"));
    o.initial |= watch && begins_anywhere(&o);
    if (errors.count)
        return refuse(c, "ListOptions", &errors);
    *ret = o;
    return true;
}

bool options_read_version(struct api_call *c, bool watch, struct list_options *o)
{
    if (options_parse_version(o->version_text, &o->version))
        return true;
    const char *why = options_version_error(&c->arena, o->version_text);
    return watch ? call_fail(c, (struct api_status){ 500, "", why, .details = { 0 } })
                 : call_fail_bad(c, "invalid resource version: %s", why);
}

bool options_read_get(struct api_call *c, uint64_t *ret_version)
{
    const char *text = call_param(c, "resourceVersion");
    *ret_version = 0;
    if (options_parse_version(text, ret_version))
        return true;
    return call_fail(c,
        (struct api_status){ 500, "", options_version_error(&c->arena, text), .details = { 0 } });
}
