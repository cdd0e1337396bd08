/* Devices that drivers offer and pods claim (resource.k8s.io). A scheduler and the drivers act on
 * them; selectors are compiled here, and evaluated by the scheduler. */

#include "apiserver/builtin/rules.h"
#include "apiserver/core/server.h"
#include "apiserver/rules/check.h"
#include "apiserver/rules/fill.h"
#include "cel/selector.h"

#define NO_REQUEST                                                                                 \
    "must be the name of a request in the claim or the name of a request and a subrequest "        \
    "separated by '/'"

#define ADMIN_LABEL "resource.kubernetes.io/admin-access"

/* ---- defaults ---- */

static struct json fill_toleration(struct arena *a, struct json t)
{
    return fill_path(a, t, "operator", json_str("Equal"));
}

static struct json fill_request(struct arena *a, struct json r)
{
    r = fill_path(a, r, "allocationMode", json_str("ExactCount"));
    if (text_eq(json_get_text(r, "allocationMode"), "ExactCount") && !json_get_int(r, "count", 0))
        r = json_with_member(a, r, "count", json_int(1));
    return fill_each(a, r, "tolerations.*", fill_toleration);
}

static struct json fill_claim(struct arena *a, struct json o)
{
    o = fill_each(a, o, "spec.devices.requests.*.exactly", fill_request);
    return fill_each(a, o, "spec.devices.requests.*.firstAvailable.*", fill_request);
}

static struct json fill_claim_template(struct arena *a, struct json o)
{
    o = fill_each(a, o, "spec.spec.devices.requests.*.exactly", fill_request);
    return fill_each(a, o, "spec.spec.devices.requests.*.firstAvailable.*", fill_request);
}

/* ---- selectors ---- */

#define SELECTORS_MAX 32

static void check_expression(struct field_errors *e, struct json expression, const char *path)
{
    uint64_t cost;
    const char *text = json_text(expression), *trouble;
    if (expression.count > CEL_SELECTOR_BYTES_MAX)
        field_error_add(
            e, FIELD_TOO_LONG, path, (struct json){ 0 }, "may not be more than 10240 bytes");
    else if ((trouble = cel_selector_compile(e->arena, text ? text : "", &cost)))
        field_invalid(e, path, json_str(text ? text : ""), trouble);
    else if (cost > CEL_SELECTOR_COST_MAX)
        field_forbidden(e, path, "too complex, exceeds cost limit");
}

static void check_selectors(struct field_errors *e, struct json parent, const char *path)
{
    struct json selectors = json_member(parent, "selectors");
    if (selectors.count > SELECTORS_MAX)
        field_error_add(e,
            FIELD_TOO_MANY,
            field_child(e->arena, path, "selectors"),
            json_int(selectors.count),
            "must have at most 32 items");
    for (size_t i = 0; i < selectors.count; i++) {
        struct json cel = json_member(selectors.items[i], "cel");
        const char *at =
            field_child(e->arena, check_item_path(e->arena, path, "selectors", i), "cel");
        if (!json_present(cel))
            field_required(e, at, NULL);
        else
            check_expression(
                e, json_member(cel, "expression"), field_child(e->arena, at, "expression"));
    }
}

/* ---- what is wrong with a claim ---- */

static void check_exact(struct field_errors *e, struct json r, const char *path)
{
    static const char *const modes[] = { "All", "ExactCount", NULL };
    struct arena *a = e->arena;
    struct json class = json_member(r, "deviceClassName"), mode = json_member(r, "allocationMode"),
                count = json_member(r, "count");
    if (check_is_empty(class))
        field_required(e, field_child(a, path, "deviceClassName"), NULL);
    else
        check_name(e, class, field_child(a, path, "deviceClassName"), NAME_DNS1123_SUBDOMAIN);
    check_selectors(e, r, path);
    check_enum(e, mode, field_child(a, path, "allocationMode"), modes);
    if (text_eq(json_text(mode), "All") && count.type == JSON_INT && count.integer)
        field_invalid(e,
            field_child(a, path, "count"),
            count,
            "must not be specified when allocationMode is 'All'");
    else if (text_eq(json_text(mode), "ExactCount") && count.integer <= 0)
        field_invalid(e, field_child(a, path, "count"), count, "must be greater than zero");
}

static void check_device_request(struct field_errors *e, struct json r, const char *path)
{
    static const char one_of[] = "exactly one of `exactly` or `firstAvailable` is required";
    struct arena *a = e->arena;
    struct json name = json_member(r, "name"), exact = json_member(r, "exactly"),
                list = json_member(r, "firstAvailable");
    check_name(e,
        check_is_set(name) ? name : json_str(""),
        field_child(a, path, "name"),
        NAME_DNS1123_LABEL);
    if (!json_present(exact) && !list.count)
        field_required(e, path, one_of);
    else if (json_present(exact) && list.count)
        field_invalid(
            e, path, json_null(), arena_printf(a, "%s, but multiple fields are set", one_of));
    else if (json_present(exact))
        check_exact(e, exact, field_child(a, path, "exactly"));
    else
        for (size_t i = 0; i < list.count; i++)
            check_exact(e, list.items[i], check_item_path(a, path, "firstAvailable", i));
}

/* "request", or "request/subrequest". */
static bool is_request(struct arena *a, struct json requests, const char *name)
{
    struct str rest = str_of(name), first = str_cut(&rest, '/');
    struct json request = json_find(requests, "name", str_dup(a, first));
    if (!rest.ptr)
        return json_present(request);
    return json_present(
        json_find(json_member(request, "firstAvailable"), "name", str_dup(a, rest)));
}

static void check_refs(
    struct field_errors *e, struct json requests, struct json refs, const char *path)
{
    for (size_t i = 0; i < refs.count; i++)
        if (!is_request(e->arena, requests, json_text(refs.items[i])))
            field_invalid(
                e, check_item_path(e->arena, path, "requests", i), refs.items[i], NO_REQUEST);
}

static void check_config(struct field_errors *e, struct json config, const char *path)
{
    static const struct check rules[] = {
        { "driver", CHECK_REQUIRED },
        { "parameters", CHECK_REQUIRED },
        { 0 },
    };
    struct json opaque = json_member(config, "opaque");
    path = field_child(e->arena, path, "opaque");
    if (json_present(opaque))
        check_table(e, opaque, path, rules);
    else
        field_required(e, path, NULL);
}

static void check_devices(struct field_errors *e, struct json devices, const char *path)
{
    struct arena *a = e->arena;
    struct json requests = json_member(devices, "requests"),
                constraints = json_member(devices, "constraints"),
                configs = json_member(devices, "config");
    for (size_t i = 0; i < requests.count; i++) {
        const char *here = check_item_path(a, path, "requests", i);
        struct json name = json_member(requests.items[i], "name");
        check_device_request(e, requests.items[i], here);
        for (size_t j = 0; j < i; j++)
            if (json_equal(json_member(requests.items[j], "name"), name)) {
                field_duplicate(e, here, name);
                break;
            }
    }
    for (size_t i = 0; i < constraints.count; i++) {
        const char *here = check_item_path(a, path, "constraints", i);
        check_refs(e, requests, json_member(constraints.items[i], "requests"), here);
        if (!json_present(json_member(constraints.items[i], "matchAttribute")) &&
            !json_present(json_member(constraints.items[i], "distinctAttribute")))
            field_required(e,
                here,
                "exactly one of \"matchAttribute\" or \"distinctAttribute\" is required, but "
                "multiple fields are set");
    }
    for (size_t i = 0; i < configs.count; i++) {
        const char *here = check_item_path(a, path, "config", i);
        check_refs(e, requests, json_member(configs.items[i], "requests"), here);
        check_config(e, configs.items[i], here);
    }
}

static bool is_for_admins(const struct api_write *w, struct json object)
{
    if (!w->server)
        return true;
    const struct api_kind *k = registry_find(apiserver_registry(w->server), "", "v1", "namespaces");
    const char *namespace = json_get_text(object, "metadata.namespace");
    struct json found = apiserver_read(w->server, w->arena, k, "", namespace);
    struct json labels = json_get(found, "metadata.labels");
    return text_eq(json_text(json_member(labels, ADMIN_LABEL)), "true");
}

/* Devices that others use are seen from marked namespaces alone; the first who wants to is told. */
static void check_admin_access(const struct api_write *w, struct json object, struct json list,
    const char *inside, const char *path, struct field_errors *e)
{
    for (size_t i = 0; i < list.count; i++) {
        struct json item = *inside ? json_member(list.items[i], inside) : list.items[i];
        if (!json_get_bool(item, "adminAccess", false))
            continue;
        if (!is_for_admins(w, object))
            field_forbidden(e,
                arena_printf(e->arena, "%s[%zu].adminAccess", path, i),
                "admin access to devices requires the `" ADMIN_LABEL
                ": true` label on the containing namespace");
        return;
    }
}

/* A template names the place as a claim does. */
static void check_admin_request(
    const struct api_write *w, struct json o, struct json requests, struct field_errors *e)
{
    if (!json_present(w->old))
        check_admin_access(w, o, requests, "exactly", "spec.devices.requests", e);
}

void builtin_device_status_check(const struct api_write *w, struct json o, struct field_errors *e)
{
    static const char path[] = "status.allocation.devices.results";
    json_each (result, json_get(w->old, path))
        if (json_get_bool(*result, "adminAccess", false))
            return; /* granted before, and it cannot be changed */
    check_admin_access(w, o, json_get(o, path), "", path, e);
}

static void check_claim(const struct api_write *w, struct json o, struct field_errors *e)
{
    check_admin_request(w, o, json_get(o, "spec.devices.requests"), e);
    if (!json_present(w->old))
        check_devices(e, json_get(o, "spec.devices"), "spec.devices");
}

static void check_claim_template(const struct api_write *w, struct json o, struct field_errors *e)
{
    check_admin_request(w, o, json_get(o, "spec.spec.devices.requests"), e);
    check_devices(e, json_get(o, "spec.spec.devices"), "spec.spec.devices");
}

static void check_spec_change(const struct api_write *w, struct json o, struct field_errors *e)
{
    check_immutable(e, json_member(w->old, "spec"), json_member(o, "spec"), "spec");
}

/* ---- DeviceClass ---- */

static void check_class(const struct api_write *w, struct json o, struct field_errors *e)
{
    struct json configs = json_get(o, "spec.config");
    if (!json_equal(json_get(w->old, "spec.selectors"), json_get(o, "spec.selectors")))
        check_selectors(e, json_member(o, "spec"), "spec");
    for (size_t i = 0; i < configs.count; i++)
        check_config(e, configs.items[i], check_item_path(e->arena, "spec", "config", i));
}

/* ---- ResourceSlice ---- */

static struct json with_time(struct arena *a, struct json device, const char *now)
{
    return fill_path(a, device, "taints.*.timeAdded", json_str(now));
}

static bool prepare_slice(const struct api_write *w, struct json *object, struct error *err)
{
    (void)err;
    struct json_builder b;
    json_builder_init(&b, w->arena);
    json_each (d, json_get(*object, "spec.devices"))
        json_push(&b, with_time(w->arena, *d, w->now));
    struct json devices = json_list_end(&b);
    if (devices.count)
        *object = json_with(w->arena, *object, "spec.devices", devices);
    return true;
}

/* Which nodes reach the devices is said in exactly one way. */
static void check_nodes(struct field_errors *e, struct json spec)
{
    static const char *const ways[] = {
        "nodeName", "nodeSelector", "allNodes", "perDeviceNodeSelection"
    };
    static const char one_of[] = "exactly one of `nodeName`, `nodeSelector`, `allNodes`, "
                                 "`perDeviceNodeSelection` is required";
    struct arena *a = e->arena;
    const char *set = "";
    size_t count = 0;
    for (size_t i = 0; i < lengthof(ways); i++) {
        struct json v = json_member(spec, ways[i]);
        if (check_is_empty(v) || (v.type == JSON_BOOL && !v.boolean))
            continue;
        set = arena_printf(a, "%s%s`%s`", set, count++ ? ", " : "", ways[i]);
    }
    struct json node = json_member(spec, "nodeName");
    if (json_text(node) && !node.count)
        field_invalid(
            e, "spec.nodeName", node, "must be either unset or set to a non-empty string");
    else if (json_text(node))
        check_name(e, node, "spec.nodeName", NAME_DNS1123_SUBDOMAIN);
    if (!count)
        field_required(e, "spec", one_of);
    else if (count > 1)
        field_invalid(e,
            "spec",
            json_strf(a, "{%s}", set),
            arena_printf(a, "%s, but multiple fields are set", one_of));
}

/* One or more subdomains between slashes. */
static void check_pool_name(struct field_errors *e, struct json name)
{
    if (check_is_empty(name)) {
        field_required(e, "spec.pool.name", NULL);
        return;
    }
    if (name.count > NAME_SUBDOMAIN_MAX)
        field_error_add(e,
            FIELD_TOO_LONG,
            "spec.pool.name",
            (struct json){ 0 },
            "may not be more than 253 bytes");
    for (struct str rest = { name.string, name.count }; rest.ptr;) {
        const char *part = str_dup(e->arena, str_cut(&rest, '/'));
        check_name(e, json_str(part), "spec.pool.name", NAME_DNS1123_SUBDOMAIN);
    }
}

static void check_slice(const struct api_write *w, struct json o, struct field_errors *e)
{
    (void)w;
    struct arena *a = e->arena;
    struct json spec = json_member(o, "spec"), driver = json_member(spec, "driver"),
                slices = json_get(spec, "pool.resourceSliceCount"),
                generation = json_get(spec, "pool.generation"),
                devices = json_member(spec, "devices");
    if (check_is_empty(driver))
        field_required(e, "spec.driver", NULL);
    else
        check_name(e, driver, "spec.driver", NAME_DNS1123_SUBDOMAIN);
    if (driver.count > NAME_LABEL_MAX)
        field_error_add(
            e, FIELD_TOO_LONG, "spec.driver", (struct json){ 0 }, "may not be more than 63 bytes");
    check_pool_name(e, json_get(spec, "pool.name"));
    if (slices.integer <= 0)
        field_invalid(e,
            "spec.pool.resourceSliceCount",
            json_int(slices.integer),
            "must be greater than zero");
    if (generation.integer < 0)
        field_invalid(
            e, "spec.pool.generation", generation, "must be greater than or equal to zero");
    check_nodes(e, spec);
    for (size_t i = 0; i < devices.count; i++) {
        struct json name = json_member(devices.items[i], "name");
        check_name(e,
            check_is_set(name) ? name : json_str(""),
            field_child(a, check_item_path(a, "spec", "devices", i), "name"),
            NAME_DNS1123_LABEL);
    }
}

static void check_slice_change(const struct api_write *w, struct json o, struct field_errors *e)
{
    static const char *const fixed[] = { "spec.pool.name", "spec.driver", "spec.nodeName" };
    for (size_t i = 0; i < lengthof(fixed); i++)
        check_immutable(e, json_get(w->old, fixed[i]), json_get(o, fixed[i]), fixed[i]);
}

static const char *const slice_fields[] = { "spec.nodeName", "spec.driver", NULL };

const struct builtin_rules builtin_resource_claim = {
    .fill = fill_claim,
    .validate = check_claim,
    .validate_change = check_spec_change,
};
const struct builtin_rules builtin_resource_claim_template = {
    .fill = fill_claim_template,
    .validate = check_claim_template,
    .validate_change = check_spec_change,
};
const struct builtin_rules builtin_device_class = { .validate = check_class };
const struct builtin_rules builtin_resource_slice = {
    .prepare = prepare_slice,
    .validate = check_slice,
    .validate_change = check_slice_change,
    .fields = slice_fields,
};
