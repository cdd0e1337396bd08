/* Validates the probes and lifecycle hooks of a container. */

#include "apiserver/builtin/pod/pod.h"
#include "apiserver/rules/check.h"

static void check_port(struct field_errors *e, struct json action, const char *path)
{
    static const struct check rule = { "port", CHECK_PORT_OR_NAME };
    struct json port = json_member(action, "port");
    check_value(
        e, check_is_set(port) ? port : json_int(0), field_child(e->arena, path, "port"), &rule);
}

static void check_exec(struct field_errors *e, struct json exec, const char *path, int64_t grace)
{
    (void)grace;
    if (!json_member(exec, "command").count)
        field_required(e, field_child(e->arena, path, "command"), NULL);
}

static void check_http_get(struct field_errors *e, struct json get, const char *path, int64_t grace)
{
    static const char *const schemes[] = { "HTTP", "HTTPS", NULL };
    static const struct check path_rule[] = { { "path", CHECK_REQUIRED }, { 0 } };
    static const struct check scheme_rule[] = { { "scheme", CHECK_ENUM, schemes }, { 0 } };
    (void)grace;
    check_table(e, get, path, path_rule);
    check_port(e, get, path);
    check_table(e, get, path, scheme_rule);
    json_each (header, json_member(get, "httpHeaders")) {
        const char *name = json_get_text(*header, "name");
        bool odd = text_empty(name);
        for (const char *c = name; c && *c; c++)
            odd = odd || !((*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') ||
                             (*c >= '0' && *c <= '9') || *c == '-');
        if (odd)
            field_invalid(e,
                field_child(e->arena, path, "httpHeaders"),
                json_str(name ? name : ""),
                "a valid HTTP header must consist of alphanumeric characters or '-' (e.g. "
                "'X-Header-Name', regex used for validation is '[-A-Za-z0-9]+')");
    }
}

static void check_socket(
    struct field_errors *e, struct json socket, const char *path, int64_t grace)
{
    (void)grace;
    check_port(e, socket, path);
}

static void check_sleep(struct field_errors *e, struct json sleep, const char *path, int64_t grace)
{
    int64_t seconds = json_get_int(sleep, "seconds", 0);
    if (seconds < 0 || seconds > grace)
        field_invalid(e,
            path,
            json_int(seconds),
            arena_printf(e->arena,
                "must be non-negative and less than terminationGracePeriodSeconds (%lld)",
                (long long)grace));
}

struct action {
    const char *name;
    void (*check)(struct field_errors *e, struct json action, const char *path, int64_t grace);
};

static const struct action probe_actions[] = {
    { "exec", check_exec },
    { "httpGet", check_http_get },
    { "tcpSocket", check_socket },
    { "grpc", check_socket },
    { 0 },
};

static const struct action hook_actions[] = {
    { "exec", check_exec },
    { "httpGet", check_http_get },
    { "tcpSocket", check_socket },
    { "sleep", check_sleep },
    { 0 },
};

/* Only the first action is validated; more than one is an error. */
static void check_handler(struct field_errors *e, struct json h, const char *path,
    const struct action *actions, int64_t grace)
{
    size_t count = 0;
    for (const struct action *a = actions; a->name; a++) {
        struct json action = json_member(h, a->name);
        const char *here = field_child(e->arena, path, a->name);
        if (!check_is_set(action))
            continue;
        if (count++)
            field_forbidden(e, here, "may not specify more than 1 handler type");
        else
            a->check(e, action, here, grace);
    }
    if (!count)
        field_required(e, path, "must specify a handler type");
}

static void check_probe(
    struct field_errors *e, struct json c, const char *path, const char *name, int64_t grace)
{
    static const struct check rules[] = {
        { "initialDelaySeconds", CHECK_MIN },
        { "timeoutSeconds", CHECK_MIN },
        { "periodSeconds", CHECK_MIN },
        { "successThreshold", CHECK_MIN },
        { "failureThreshold", CHECK_MIN },
        { "terminationGracePeriodSeconds", CHECK_POSITIVE },
        { 0 },
    };
    struct json probe = json_member(c, name);
    const char *here = field_child(e->arena, path, name);
    bool restarts = !text_eq(name, "readinessProbe");
    if (!json_present(probe))
        return;
    check_handler(e, probe, here, probe_actions, grace);
    check_table(e, probe, here, rules);
    if (restarts && json_get_int(probe, "successThreshold", 1) != 1)
        field_invalid(e,
            field_child(e->arena, here, "successThreshold"),
            json_member(probe, "successThreshold"),
            "must be 1");
    if (!restarts && json_present(json_member(probe, "terminationGracePeriodSeconds")))
        field_invalid(e,
            field_child(e->arena, here, "terminationGracePeriodSeconds"),
            json_member(probe, "terminationGracePeriodSeconds"),
            "must not be set for readinessProbes");
}

void pod_probes_check(struct field_errors *e, struct json c, const char *path, int64_t grace)
{
    static const char *const hooks[] = { "postStart", "preStop" };
    static const char *const probes[] = { "livenessProbe", "readinessProbe", "startupProbe" };
    const char *lifecycle = field_child(e->arena, path, "lifecycle");
    for (size_t i = 0; i < lengthof(hooks); i++) {
        struct json hook = json_member(json_member(c, "lifecycle"), hooks[i]);
        if (json_present(hook))
            check_handler(e, hook, field_child(e->arena, lifecycle, hooks[i]), hook_actions, grace);
    }
    for (size_t i = 0; i < lengthof(probes); i++)
        check_probe(e, c, path, probes[i], grace);
}

void pod_probes_forbid(struct field_errors *e, struct json c, const char *path)
{
    static const char *const not_once[] = {
        "lifecycle", "livenessProbe", "readinessProbe", "startupProbe"
    };
    for (size_t i = 0; i < lengthof(not_once); i++)
        if (json_present(json_member(c, not_once[i])))
            field_forbidden(e,
                field_child(e->arena, path, not_once[i]),
                "may not be set for init containers without restartPolicy=Always");
}
