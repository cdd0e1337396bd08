/* Validates the containers of a pod spec. */

#include "apiserver/builtin/pod/pod.h"
#include "apiserver/rules/check.h"
#include "base/json_index.h"

static const char *const protocols[] = { "SCTP", "TCP", "UDP", NULL };
static const char *const pull_policies[] = { "Always", "IfNotPresent", "Never", NULL };
static const char *const message_policies[] = { "File", "FallbackToLogsOnError", NULL };

/* ---- ports ---- */

static void check_ports(struct field_errors *e, struct json c, const char *path)
{
    static const struct check rules[] = {
        { "hostPort", CHECK_PORT },
        { "protocol", CHECK_ENUM, protocols },
        { 0 },
    };
    struct json ports = json_member(c, "ports");
    struct json_index names = json_index_of(e->arena, ports, "name");
    for (size_t i = 0; i < ports.count; i++) {
        const char *here = check_item_path(e->arena, path, "ports", i);
        struct json port = ports.items[i], name = json_member(port, "name");
        const char *name_path = field_child(e->arena, here, "name");
        if (!check_is_empty(name)) {
            size_t before = e->count;
            check_value(e, name, name_path, &(struct check){ "", CHECK_PORT_NAME });
            if (e->count == before && json_index_again(&names, (uint32_t)i))
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

/* Containers that run at the same time cannot use the same host port; path is that of the list. */
static void check_host_ports(
    struct field_errors *e, const struct json *containers, size_t count, const char *path)
{
    struct json_seen seen = { .arena = e->arena };
    for (size_t i = 0; i < count; i++) {
        const char *here = field_index(e->arena, path, i);
        size_t j = 0;
        json_each (port, json_member(containers[i], "ports")) {
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
            if (json_seen_add(&seen, json_str(text)))
                field_duplicate(e, field_child(e->arena, at, "hostPort"), json_str(text));
        }
    }
}

/* ---- restart rules ---- */

#define RULES_MAX 20
#define EXIT_CODES_MAX 255

static void check_restart_rule(struct field_errors *e, struct json rule, const char *path)
{
    static const char *const actions[] = { "Restart", "RestartAllContainers", NULL };
    static const char *const operators[] = { "In", "NotIn", NULL };
    struct json action = json_member(rule, "action"), codes = json_member(rule, "exitCodes"),
                op = json_member(codes, "operator");
    const char *here = field_child(e->arena, path, "exitCodes");
    check_enum(e,
        check_is_set(action) ? action : json_str(""),
        field_child(e->arena, path, "action"),
        actions);
    if (!check_is_set(codes)) {
        field_required(e, here, "must be specified");
        return;
    }
    check_enum(e,
        check_is_set(op) ? op : json_str(""),
        field_child(e->arena, here, "operator"),
        operators);
    check_at_most(
        e, json_member(codes, "values"), field_child(e->arena, here, "values"), EXIT_CODES_MAX);
}

static void check_restarts(struct field_errors *e, struct json c, const char *path)
{
    static const char *const policies[] = { "Always", "Never", "OnFailure", NULL };
    static const struct check policy[] = { { "restartPolicy", CHECK_ENUM, policies }, { 0 } };
    struct json rules = json_member(c, "restartPolicyRules");
    check_table(e, c, path, policy);
    if (rules.count && !check_is_set(json_member(c, "restartPolicy")))
        field_required(e,
            field_child(e->arena, path, "restartPolicy"),
            "must specify restartPolicy when restart rules are used");
    check_at_most(e, rules, field_child(e->arena, path, "restartPolicyRules"), RULES_MAX);
    for (size_t i = 0; i < rules.count && rules.count <= RULES_MAX; i++)
        check_restart_rule(
            e, rules.items[i], check_item_path(e->arena, path, "restartPolicyRules", i));
}

/* ---- containers ---- */

/* The common part of all container types. */
static void check_container(
    struct field_errors *e, struct json c, struct json spec, struct json volumes, const char *path)
{
    static const struct check message_rules[] = {
        { "terminationMessagePolicy", CHECK_ENUM, message_policies },
        { 0 },
    };
    static const struct check pull_rules[] = {
        { "imagePullPolicy", CHECK_ENUM, pull_policies },
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
    else if (!strstr(path, "emplate.") && /* some templates use " " as a placeholder */
             (image.string[0] == ' ' || image.string[image.count - 1] == ' '))
        field_invalid(e, image_path, image, "must not have leading or trailing whitespace");
    check_table(e, c, path, message_rules);
    check_ports(e, c, path);
    pod_env_check(e, c, volumes, path);
    pod_mounts_check(e, c, volumes, path);
    check_table(e, c, path, pull_rules);
    pod_resources_check(e, json_member(c, "resources"), field_child(e->arena, path, "resources"));
    pod_container_resources_check(e, c, spec, path);
    pod_container_security_check(e, c, spec, path);
}

void pod_containers_check(
    struct field_errors *e, struct json spec, struct json volumes, const char *path)
{
    struct json main = json_member(spec, "containers"), init = json_member(spec, "initContainers");
    const char *main_path = field_child(e->arena, path, "containers"),
               *init_path = field_child(e->arena, path, "initContainers");
    int64_t grace = json_get_int(spec, "terminationGracePeriodSeconds", 0);
    struct json_index main_names = json_index_of(e->arena, main, "name");
    struct json_index init_names = json_index_of(e->arena, init, "name");
    if (!main.count)
        field_required(e, main_path, NULL);
    for (size_t i = 0; i < main.count; i++) {
        const char *here = field_index(e->arena, main_path, i);
        struct json name = json_member(main.items[i], "name");
        check_container(e, main.items[i], spec, volumes, here);
        if (json_index_again(&main_names, (uint32_t)i))
            field_duplicate(e, field_child(e->arena, here, "name"), name);
        pod_probes_check(e, main.items[i], here, grace);
        check_restarts(e, main.items[i], here);
    }
    check_host_ports(e, main.items, main.count, main_path);
    for (size_t i = 0; i < init.count; i++) {
        const char *here = field_index(e->arena, init_path, i);
        struct json c = init.items[i], name = json_member(c, "name");
        check_container(e, c, spec, volumes, here);
        check_restarts(e, c, here);
        if (json_index_find(&main_names, name) >= 0 ||
            (!check_is_empty(name) && json_index_again(&init_names, (uint32_t)i)))
            field_duplicate(e, field_child(e->arena, here, "name"), name);
        check_host_ports(e, &init.items[i], 1, init_path); /* one by one, each as [0] */
        if (text_eq(json_get_text(c, "restartPolicy"), "Always"))
            pod_probes_check(e, c, here, grace);
        else
            pod_probes_forbid(e, c, here);
    }
}
