/* Warnings about pod specs. */

#include "apiserver/builtin/warn.h"

#include "apiserver/core/call.h"
#include "apiserver/rules/check.h"

/* At most this many items of a list are compared with each other: enough for people, and cheap. */
#define COMPARED_MAX 256

static void say(const struct api_write *w, const char *path, const char *what)
{
    call_warn(w->call, arena_printf(w->arena, "%s: %s", path, what));
}

/* ---- names with newer replacements ---- */

static const struct {
    const char *key, *since, *instead;
} old_labels[] = {
    { "beta.kubernetes.io/arch", "v1.14", "kubernetes.io/arch" },
    { "beta.kubernetes.io/os", "v1.14", "kubernetes.io/os" },
    { "failure-domain.beta.kubernetes.io/region", "v1.17", "topology.kubernetes.io/region" },
    { "failure-domain.beta.kubernetes.io/zone", "v1.17", "topology.kubernetes.io/zone" },
    { "beta.kubernetes.io/instance-type", "v1.17", "node.kubernetes.io/instance-type" },
};

/* The warning for a label, or NULL; named: the label is not in the path. */
static const char *old_label(const struct api_write *w, const char *key, bool named)
{
    for (size_t i = 0; key && i < lengthof(old_labels); i++)
        if (text_eq(key, old_labels[i].key))
            return arena_printf(w->arena,
                "%s%sdeprecated since %s; use \"%s\" instead",
                named ? key : "",
                named ? " is " : "",
                old_labels[i].since,
                old_labels[i].instead);
    return NULL;
}

static void warn_key(
    const struct api_write *w, struct json holder, const char *field, const char *path)
{
    const char *words = old_label(w, json_get_text(holder, field), true);
    if (words)
        say(w, field_child(w->arena, path, field), words);
}

static void warn_label_value(const struct api_write *w, struct json value, const char *path)
{
    const char *text = json_text(value) ? json_text(value) : "";
    struct error why;
    if (value.count > NAME_LABEL_MAX)
        say(w, path, arena_printf(w->arena, "%s is invalid, must be no more than 63 bytes", text));
    if (!name_check(NAME_LABEL_VALUE, check_shortened(w->arena, text, NAME_LABEL_MAX), &why))
        say(w, path, arena_printf(w->arena, "%s is invalid, %s", text, why.text));
}

/* values: validated only here, for preferred terms. */
static void warn_node_term(
    const struct api_write *w, struct json term, const char *path, bool values)
{
    size_t i = 0;
    json_each (e, json_member(term, "matchExpressions")) {
        const char *here = check_item_path(w->arena, path, "matchExpressions", i++);
        struct json list = json_if(values, json_member(*e, "values"));
        warn_key(w, *e, "key", here);
        for (size_t j = 0; j < list.count; j++)
            warn_label_value(w, list.items[j], check_item_path(w->arena, here, "values", j));
    }
}

static void warn_selector(const struct api_write *w, struct json holder, const char *path)
{
    if (!check_is_set(json_member(holder, "labelSelector")))
        say(w,
            field_child(w->arena, path, "labelSelector"),
            "a null labelSelector results in matching no pod");
}

#define REQUIRED "requiredDuringSchedulingIgnoredDuringExecution"
#define PREFERRED "preferredDuringSchedulingIgnoredDuringExecution"

static void warn_affinity(const struct api_write *w, struct json affinity, const char *path)
{
    static const char *const sorts[] = { "podAffinity", "podAntiAffinity" };
    for (size_t s = 0; s < lengthof(sorts); s++) {
        const char *here = field_child(w->arena, path, sorts[s]);
        struct json terms = json_member(affinity, sorts[s]);
        size_t i = 0;
        json_each (t, json_member(terms, REQUIRED))
            warn_selector(w, *t, check_item_path(w->arena, here, REQUIRED, i++));
        i = 0;
        json_each (t, json_member(terms, PREFERRED))
            warn_selector(w,
                json_member(*t, "podAffinityTerm"),
                field_child(
                    w->arena, check_item_path(w->arena, here, PREFERRED, i++), "podAffinityTerm"));
    }
}

static void warn_placement(const struct api_write *w, struct json spec, const char *path)
{
    struct arena *a = w->arena;
    json_each_member (m, json_member(spec, "nodeSelector")) {
        const char *words = old_label(w, m->key, false);
        if (words)
            say(w, field_key(a, field_child(a, path, "nodeSelector"), m->key), words);
    }
    struct json node = json_get(spec, "affinity.nodeAffinity");
    const char *node_path = field_child(a, path, "affinity.nodeAffinity");
    size_t i = 0;
    json_each (t, json_get(node, REQUIRED ".nodeSelectorTerms"))
        warn_node_term(w,
            *t,
            check_item_path(a, field_child(a, node_path, REQUIRED), "nodeSelectorTerms", i++),
            false);
    i = 0;
    json_each (t, json_member(node, PREFERRED))
        warn_node_term(w,
            json_member(*t, "preference"),
            field_child(a, check_item_path(a, node_path, PREFERRED, i++), "preference"),
            true);
    i = 0;
    json_each (t, json_member(spec, "topologySpreadConstraints")) {
        const char *here = check_item_path(a, path, "topologySpreadConstraints", i++);
        warn_key(w, *t, "topologyKey", here);
        warn_selector(w, *t, here);
    }
}

/* ---- secrets ---- */

/* Duplicates are reported before empty names. */
static void warn_pull_secrets(const struct api_write *w, struct json spec, const char *path)
{
    struct json secrets = json_member(spec, "imagePullSecrets");
    for (int empty = 0; empty < 2; empty++)
        for (size_t i = 0; i < secrets.count; i++) {
            const char *name = json_get_text(secrets.items[i], "name");
            bool taken = false;
            for (size_t j = 0; j < i && j < COMPARED_MAX; j++)
                taken = taken || text_eq(json_get_text(secrets.items[j], "name"), name);
            const char *here = field_child(
                w->arena, check_item_path(w->arena, path, "imagePullSecrets", i), "name");
            if (empty && text_empty(name))
                say(w, here, "invalid empty name \"\"");
            else if (!empty && taken && !text_empty(name))
                say(w, here, arena_printf(w->arena, "duplicate name \"%s\"", name));
        }
}

/* ---- containers ---- */

static void warn_resources(const struct api_write *w, struct json c, const char *path)
{
    static const char *const names[] = { "memory", "ephemeral-storage" };
    static const char *const lists[] = { "limits", "requests" };
    const char *here = field_child(w->arena, path, "resources");
    for (size_t n = 0; n < lengthof(names); n++)
        for (size_t l = 0; l < lengthof(lists); l++)
            warn_fraction(w,
                json_member(json_member(c, "resources"), lists[l]),
                field_child(w->arena, here, lists[l]),
                names[n]);
}

static void warn_env(const struct api_write *w, struct json c, const char *path)
{
    struct json env = json_member(c, "env");
    for (size_t i = 0; i < env.count; i++) {
        const char *name = json_get_text(env.items[i], "name"),
                   *value = json_get_text(env.items[i], "value");
        bool taken = false;
        for (size_t j = 0; j < i && j < COMPARED_MAX; j++)
            taken = taken || text_eq(json_get_text(env.items[j], "name"), name);
        /* A variable whose value contains its earlier value is intentional. */
        if (taken && !(value && strstr(value, arena_printf(w->arena, "$(%s)", name))))
            say(w,
                check_item_path(w->arena, path, "env", i),
                arena_printf(w->arena,
                    "hides previous definition of \"%s\", which may be dropped when using apply",
                    name));
    }
}

struct seen_port {
    struct json port;
    const char *path;
    bool named; /* its name is compared */
};

static const char *overlap(struct json a, struct json b)
{
    const char *ip = json_get_text(a, "hostIP"), *other_ip = json_get_text(b, "hostIP");
    int64_t host = json_get_int(a, "hostPort", 0), other = json_get_int(b, "hostPort", 0);
    if (json_get_int(a, "containerPort", 0) != json_get_int(b, "containerPort", 0) ||
        !json_equal(json_member(a, "protocol"), json_member(b, "protocol")))
        return NULL;
    if (host == other && text_eq(ip ? ip : "", other_ip ? other_ip : ""))
        return "duplicate";
    if (!host || !other)
        return "overlapping";
    return host == other && text_empty(ip) != text_empty(other_ip) ? "dangerously ambiguous" : NULL;
}

static void warn_port(const struct api_write *w, const struct seen_port *seen, size_t index)
{
    for (size_t i = 0; i < index && i < COMPARED_MAX; i++) {
        const char *how = overlap(seen[index].port, seen[i].port);
        if (how)
            say(w,
                seen[index].path,
                arena_printf(w->arena, "%s port definition with %s", how, seen[i].path));
    }
}

static void warn_port_name(const struct api_write *w, const struct seen_port *seen, size_t index)
{
    const char *name = seen[index].named ? json_get_text(seen[index].port, "name") : NULL;
    for (size_t i = 0; !text_empty(name) && i < index && i < COMPARED_MAX; i++)
        if (seen[i].named && text_eq(json_get_text(seen[i].port, "name"), name)) {
            say(w,
                seen[index].path,
                arena_printf(w->arena,
                    "duplicate port name \"%s\" with %s, services and probes that select ports by "
                    "name will use %s",
                    name,
                    seen[i].path,
                    seen[i].path));
            return;
        }
}

static const char *const container_lists[] = { "initContainers", "containers" };

static void warn_host_ip(const struct api_write *w, struct json port, const char *path)
{
    const char *ip = json_get_text(port, "hostIP"), *name = json_get_text(port, "name");
    if (!text_empty(ip) && !json_get_int(port, "hostPort", 0))
        say(w,
            path,
            arena_printf(w->arena,
                "hostIP set without hostPort: {Name:%s HostPort:0 ContainerPort:%lld Protocol:%s "
                "HostIP:%s}",
                name ? name : "",
                (long long)json_get_int(port, "containerPort", 0),
                json_get_text(port, "protocol"),
                ip));
}

static void warn_ports(const struct api_write *w, struct json spec, const char *path)
{
    size_t count = 0, total = 0;
    for (size_t l = 0; l < lengthof(container_lists); l++)
        json_each (c, json_member(spec, container_lists[l]))
            total += json_member(*c, "ports").count;
    struct seen_port *seen = arena_array(w->arena, total + 1, sizeof(*seen));
    for (size_t l = 0; l < lengthof(container_lists); l++) {
        size_t i = 0;
        json_each (c, json_member(spec, container_lists[l])) {
            const char *here = check_item_path(w->arena, path, container_lists[l], i++);
            bool stays = l == 1 || text_eq(json_get_text(*c, "restartPolicy"), "Always");
            size_t j = 0;
            json_each (p, json_member(*c, "ports")) {
                seen[count] =
                    (struct seen_port){ *p, check_item_path(w->arena, here, "ports", j++), stays };
                warn_host_ip(w, *p, seen[count].path);
                warn_port(w, seen, count++);
            }
        }
    }
    for (size_t i = 0; i < count; i++)
        warn_port_name(w, seen, i);
}

static void warn_aliases(const struct api_write *w, struct json spec, const char *path)
{
    struct json aliases = json_member(spec, "hostAliases");
    for (size_t i = 0; i < aliases.count; i++) {
        const char *ip = json_get_text(aliases.items[i], "ip");
        bool taken = false;
        for (size_t j = 0; j < i && j < COMPARED_MAX; j++)
            taken = taken || text_eq(json_get_text(aliases.items[j], "ip"), ip);
        if (taken && !text_empty(ip))
            say(w,
                field_child(w->arena, check_item_path(w->arena, path, "hostAliases", i), "ip"),
                arena_printf(w->arena, "duplicate ip \"%s\"", ip));
    }
}

void warn_pod_spec(const struct api_write *w, struct json spec, const char *path)
{
    warn_placement(w, spec, path);
    warn_volumes(w, json_member(spec, "volumes"), field_child(w->arena, path, "volumes"));
    warn_aliases(w, spec, path);
    warn_pull_secrets(w, spec, path);
    for (size_t l = 0; l < lengthof(container_lists); l++) {
        size_t i = 0;
        json_each (c, json_member(spec, container_lists[l])) {
            const char *here = check_item_path(w->arena, path, container_lists[l], i++);
            warn_resources(w, *c, here);
            warn_env(w, *c, here);
        }
    }
    warn_ports(w, spec, path);
    if (json_get_int(spec, "terminationGracePeriodSeconds", 0) < 0)
        call_warn(w->call,
            arena_printf(w->arena,
                "%s.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and "
                "will be treated as 1",
                path));
    warn_affinity(w, json_member(spec, "affinity"), field_child(w->arena, path, "affinity"));
}
