/* What is wrong with a pod spec. */

#include <stdlib.h>

#include "apiserver/builtin_pod.h"
#include "apiserver/check.h"
#include "base/quantity.h"

static const char *const protocols[] = { "SCTP", "TCP", "UDP", NULL };
static const char *const pull_policies[] = { "Always", "IfNotPresent", "Never", NULL };
static const char *const message_policies[] = { "File", "FallbackToLogsOnError", NULL };
static const char *const schemes[] = { "HTTP", "HTTPS", NULL };

/* ---- ports ---- */

static void check_ports(struct field_errors *e, struct json c, const char *path)
{
    static const struct check rules[] = {
        { "hostPort", CHECK_PORT },
        { "protocol", CHECK_ENUM, protocols },
        { 0 },
    };
    struct json ports = json_member(c, "ports");
    for (size_t i = 0; i < ports.count; i++) {
        const char *here = check_item_path(e->arena, path, "ports", i);
        struct json port = ports.items[i], name = json_member(port, "name");
        const char *name_path = field_child(e->arena, here, "name");
        if (!check_is_empty(name)) {
            size_t before = e->count;
            check_value(e, name, name_path, &(struct check){ "", CHECK_PORT_NAME });
            for (size_t j = 0; j < i && e->count == before; j++)
                if (json_equal(json_member(ports.items[j], "name"), name))
                    field_duplicate(e, name_path, name);
        }
        if (!json_get_int(port, "containerPort", 0))
            field_required(e, field_child(e->arena, here, "containerPort"), NULL);
        else
            check_table(
                e, port, here, (const struct check[]){ { "containerPort", CHECK_PORT }, { 0 } });
        check_table(e, port, here, rules);
    }
}

/* Two containers cannot have the same port of the node. */
static void check_host_ports(struct field_errors *e, struct json containers, const char *path)
{
    struct json_builder seen;
    json_builder_init(&seen, e->arena);
    size_t i = 0;
    json_each (c, containers) {
        const char *here = check_item_path(e->arena, path, "containers", i++);
        size_t j = 0;
        json_each (port, json_member(*c, "ports")) {
            const char *at = check_item_path(e->arena, here, "ports", j++);
            int64_t number = json_get_int(*port, "hostPort", 0);
            const char *ip = json_get_text(*port, "hostIP");
            const char *text = arena_printf(e->arena,
                "%s/%s/%lld",
                json_get_text(*port, "protocol"),
                ip ? ip : "",
                (long long)number);
            if (!number)
                continue;
            if (json_list_has(json_list_end(&seen), text))
                field_duplicate(e, field_child(e->arena, at, "hostPort"), json_str(text));
            json_push(&seen, json_str(text));
        }
    }
}

/* ---- resources ---- */

static bool is_native(const char *name)
{
    return !strchr(name, '/') || text_starts(name, "kubernetes.io/");
}

static bool is_standard(const char *name)
{
    return text_eq(name, "cpu") || text_eq(name, "memory") || text_eq(name, "ephemeral-storage") ||
           text_starts(name, "hugepages-") || text_eq(name, "storage");
}

static void check_resource(struct field_errors *e, const struct json_member *m, const char *path)
{
    const char *here = field_key(e->arena, path, m->key);
    if (!strchr(m->key, '/') && !is_standard(m->key)) {
        field_invalid(
            e, here, json_str(m->key), "must be a standard resource type or fully qualified");
        field_invalid(e, here, json_str(m->key), "must be a standard resource for containers");
    }
    struct quantity q;
    check_quantity(e, m->value, here);
    if (!is_native(m->key) && quantity_parse(str_of(json_text(m->value)), &q, NULL) &&
        quantity_milli_value(q) % 1000)
        field_invalid(e, here, m->value, "must be an integer");
}

void pod_resources_check(struct field_errors *e, struct json resources, const char *path)
{
    struct json limits = json_member(resources, "limits"),
                requests = json_member(resources, "requests");
    const char *limits_path = field_child(e->arena, path, "limits");
    const char *requests_path = field_child(e->arena, path, "requests");
    bool has_cpu_or_memory = false, has_huge_pages = false;
    json_each_member (m, limits) {
        check_resource(e, m, limits_path);
        has_huge_pages |= text_starts(m->key, "hugepages-");
        has_cpu_or_memory |= text_eq(m->key, "cpu") || text_eq(m->key, "memory");
    }
    json_each_member (m, requests) {
        check_resource(e, m, requests_path);
        has_huge_pages |= text_starts(m->key, "hugepages-");
        has_cpu_or_memory |= text_eq(m->key, "cpu") || text_eq(m->key, "memory");
        struct json limit = json_member(limits, m->key);
        struct quantity q, l;
        if (!json_present(limit)) {
            if (!is_native(m->key) || text_starts(m->key, "hugepages-"))
                field_required(
                    e, limits_path, "Limit must be set for non overcommitable resources");
            continue;
        }
        if (!quantity_parse(str_of(json_text(m->value)), &q, NULL) ||
            !quantity_parse(str_of(json_text(limit)), &l, NULL))
            continue;
        bool exact = !is_native(m->key) || text_starts(m->key, "hugepages-");
        if (exact && quantity_compare(q, l) != 0)
            field_invalid(e,
                requests_path,
                m->value,
                arena_printf(
                    e->arena, "must be equal to %s limit of %s", m->key, json_text(limit)));
        else if (!exact && quantity_compare(q, l) > 0)
            field_invalid(e,
                requests_path,
                m->value,
                arena_printf(e->arena,
                    "must be less than or equal to %s limit of %s",
                    m->key,
                    json_text(limit)));
    }
    if (has_huge_pages && !has_cpu_or_memory)
        field_forbidden(e, path, "HugePages require cpu or memory");
}

/* ---- probes and hooks ---- */

static void check_handler(
    struct field_errors *e, struct json h, const char *path, const char *const *kinds)
{
    static const struct check rules[] = {
        { "exec.command", CHECK_REQUIRED },
        { "httpGet.path", CHECK_REQUIRED },
        { "httpGet.port", CHECK_PORT_OR_NAME },
        { "httpGet.scheme", CHECK_ENUM, schemes },
        { "tcpSocket.port", CHECK_PORT_OR_NAME },
        { "grpc.port", CHECK_PORT },
        { 0 },
    };
    size_t count = 0;
    for (const char *const *k = kinds; *k; k++) {
        if (!json_present(json_member(h, *k)))
            continue;
        if (count++ == 1)
            field_forbidden(
                e, field_child(e->arena, path, *k), "may not specify more than 1 handler type");
    }
    check_table(e, h, path, rules);
    if (!count)
        field_required(e, path, "must specify a handler type");
}

static void check_probe(
    struct field_errors *e, struct json c, const char *path, const char *name, bool once)
{
    static const char *const kinds[] = { "exec", "httpGet", "tcpSocket", "grpc", NULL };
    static const struct check rules[] = {
        { "initialDelaySeconds", CHECK_MIN },
        { "timeoutSeconds", CHECK_MIN },
        { "periodSeconds", CHECK_MIN },
        { "successThreshold", CHECK_MIN },
        { "failureThreshold", CHECK_MIN },
        { 0 },
    };
    struct json probe = json_member(c, name);
    const char *here = field_child(e->arena, path, name);
    if (!json_present(probe))
        return;
    check_handler(e, probe, here, kinds);
    check_table(e, probe, here, rules);
    if (once && json_get_int(probe, "successThreshold", 1) != 1)
        field_invalid(e,
            field_child(e->arena, here, "successThreshold"),
            json_member(probe, "successThreshold"),
            "must be 1");
    if (!once && json_present(json_member(probe, "terminationGracePeriodSeconds")))
        field_invalid(e,
            field_child(e->arena, here, "terminationGracePeriodSeconds"),
            json_member(probe, "terminationGracePeriodSeconds"),
            "must not be set for readinessProbes");
}

static void check_hooks(struct field_errors *e, struct json c, const char *path)
{
    static const char *const kinds[] = { "exec", "httpGet", "tcpSocket", "sleep", NULL };
    static const char *const hooks[] = { "postStart", "preStop" };
    for (size_t i = 0; i < lengthof(hooks); i++) {
        struct json hook = json_member(json_member(c, "lifecycle"), hooks[i]);
        if (json_present(hook))
            check_handler(e,
                hook,
                field_child(e->arena, field_child(e->arena, path, "lifecycle"), hooks[i]),
                kinds);
    }
}

/* ---- containers ---- */

static void check_security(struct field_errors *e, struct json context, const char *path)
{
    static const char *const mounts[] = { "Default", "Unmasked", NULL };
    static const struct check rules[] = {
        { "runAsUser", CHECK_USER_ID },
        { "runAsGroup", CHECK_USER_ID },
        { "procMount", CHECK_ENUM, mounts },
        { 0 },
    };
    if (!json_present(context))
        return;
    check_table(e, context, path, rules);
    bool escalates = json_get_bool(context, "allowPrivilegeEscalation", true);
    if (!escalates && json_get_bool(context, "privileged", false))
        field_invalid(e,
            path,
            context,
            "cannot set `allowPrivilegeEscalation` to false and `privileged` to true");
}

static void check_container(
    struct field_errors *e, struct json c, struct json volumes, const char *path)
{
    static const struct check rules[] = {
        { "terminationMessagePolicy", CHECK_ENUM, message_policies },
        { 0 },
    };
    struct json name = json_member(c, "name"), image = json_member(c, "image");
    const char *name_path = field_child(e->arena, path, "name");
    if (check_is_empty(name))
        field_required(e, name_path, NULL);
    else
        check_name(e, name, name_path, NAME_DNS1123_LABEL);
    const char *image_path = field_child(e->arena, path, "image");
    if (check_is_empty(image))
        field_required(e, image_path, NULL);
    else if (!strstr(path, "emplate.") && /* " " is a token in some people's templates */
             (image.string[0] == ' ' || image.string[image.count - 1] == ' '))
        field_invalid(e, image_path, image, "must not have leading or trailing whitespace");
    check_table(e, c, path, rules);
    check_ports(e, c, path);
    pod_env_check(e, c, volumes, path);
    pod_mounts_check(e, c, volumes, path);
    check_table(e,
        c,
        path,
        (const struct check[]){ { "imagePullPolicy", CHECK_ENUM, pull_policies }, { 0 } });
    pod_resources_check(e, json_member(c, "resources"), field_child(e->arena, path, "resources"));
    check_security(
        e, json_member(c, "securityContext"), field_child(e->arena, path, "securityContext"));
    check_hooks(e, c, path);
    check_probe(e, c, path, "livenessProbe", true);
    check_probe(e, c, path, "startupProbe", true);
    check_probe(e, c, path, "readinessProbe", false);
}

static bool name_is_taken(struct json list, size_t before, struct json name)
{
    for (size_t i = 0; i < before && i < list.count; i++)
        if (json_equal(json_member(list.items[i], "name"), name))
            return true;
    return false;
}

static void check_init_container(struct field_errors *e, struct json c, const char *path)
{
    static const char *const not_once[] = {
        "lifecycle", "livenessProbe", "readinessProbe", "startupProbe"
    };
    struct json policy = json_member(c, "restartPolicy");
    if (text_eq(json_text(policy), "Always"))
        return;
    for (size_t i = 0; i < lengthof(not_once); i++)
        if (json_present(json_member(c, not_once[i])))
            field_forbidden(e,
                field_child(e->arena, path, not_once[i]),
                "may not be set for init containers without restartPolicy=Always");
}

void pod_containers_check(
    struct field_errors *e, struct json spec, struct json volumes, const char *path)
{
    struct json main = json_member(spec, "containers"), init = json_member(spec, "initContainers");
    const char *main_path = field_child(e->arena, path, "containers");
    if (!main.count)
        field_required(e, main_path, NULL);
    for (size_t i = 0; i < main.count; i++) {
        const char *here = field_index(e->arena, main_path, i);
        struct json name = json_member(main.items[i], "name");
        check_container(e, main.items[i], volumes, here);
        if (name_is_taken(main, i, name))
            field_duplicate(e, field_child(e->arena, here, "name"), name);
    }
    for (size_t i = 0; i < init.count; i++) {
        const char *here = check_item_path(e->arena, path, "initContainers", i);
        struct json name = json_member(init.items[i], "name");
        check_container(e, init.items[i], volumes, here);
        check_init_container(e, init.items[i], here);
        if (name_is_taken(init, i, name) || name_is_taken(main, main.count, name))
            field_duplicate(e, field_child(e->arena, here, "name"), name);
    }
    check_host_ports(e, main, path);
}
