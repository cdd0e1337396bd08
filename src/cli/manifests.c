/* leeboard manifests: everything for an installation, as YAML for kubectl. cli/rights.h has the
 * permissions of the role. */

#include <stdio.h>

#include "base/buf.h"
#include "base/resource.h"
#include "base/str.h"
#include "base/yaml.h"
#include "cli/cli.h"
#include "cli/embedded.h"
#include "cli/families.h"
#include "cli/rights.h"
#include "cli/serve/webhook_manifests.h"

#define NAME "leeboard"
#define WEBHOOK NAME "-webhook"

struct out {
    struct cli *cli;
    struct arena *a;
    struct buf text;
    const char *ns;      /* of the installation */
    struct json watched; /* names of the watched namespaces; absent: all */
    bool webhooks;
};

static void print(struct out *o, struct json object)
{
    buf_add_text(&o->text, "---\n");
    yaml_print(&o->text, object);
}

static struct json labels(struct arena *a)
{
    return json_map(a,
        { "app.kubernetes.io/name", json_str(NAME) },
        { "app.kubernetes.io/managed-by", json_str(NAME) });
}

static struct json head(
    struct out *o, const char *api_version, const char *kind, const char *name, const char *ns)
{
    return json_fields(o->a,
        { "apiVersion", json_str(api_version) },
        { "kind", json_str(kind) },
        { "metadata.name", json_str(name) },
        { "metadata.namespace", json_str(ns) },
        { "metadata.labels", labels(o->a) });
}

static struct json names_of(struct arena *a, const char *list)
{
    struct json_builder names;
    json_builder_init(&names, a);
    struct str rest = str_of(list);
    while (list && rest.ptr) {
        struct str name = str_trim(str_cut(&rest, ','));
        if (name.len)
            json_push(&names, json_str(str_dup(a, name)));
    }
    return json_or_absent(json_list_end(&names));
}

static void print_role(
    struct out *o, const char *kind, const char *name, const char *ns, struct json rules)
{
    struct json role = head(o, "rbac.authorization.k8s.io/v1", kind, name, ns);
    print(o, json_with_member(o->a, role, "rules", rules));
    const char *binding = text_eq(kind, "Role") ? "RoleBinding" : "ClusterRoleBinding";
    struct json bound = head(o, "rbac.authorization.k8s.io/v1", binding, name, ns);
    bound = json_with_member(o->a,
        bound,
        "roleRef",
        json_fields(o->a,
            { "apiGroup", json_str("rbac.authorization.k8s.io") },
            { "kind", json_str(kind) },
            { "name", json_str(name) }));
    bound = json_with_member(o->a,
        bound,
        "subjects",
        json_list(o->a,
            json_fields(o->a,
                { "kind", json_str("ServiceAccount") },
                { "name", json_str(NAME) },
                { "namespace", json_str(o->ns) })));
    print(o, bound);
}

static void print_roles(struct out *o, const struct families *f)
{
    struct arena *a = o->a;
    if (json_present(o->watched)) {
        json_each (ns, o->watched)
            print_role(o, "Role", NAME, json_text(*ns), rights_rules(o->a, f, false));
    } else {
        struct json_builder all;
        json_builder_init(&all, a);
        json_push_all(&all, rights_rules(o->a, f, false));
        json_push_all(&all, rights_rules(o->a, f, true));
        print_role(o, "ClusterRole", NAME, NULL, json_list_end(&all));
    }
    /* The API server authenticates and authorizes readers of /metrics. */
    struct json reviews = json_list(a,
        rights_rule(a, "authentication.k8s.io", "tokenreviews", "create"),
        rights_rule(a, "authorization.k8s.io", "subjectaccessreviews", "create"));
    print_role(o, "ClusterRole", NAME "-metrics-auth", NULL, reviews);
    struct json lease = rights_rule(a, "coordination.k8s.io", "leases", "get create update patch");
    print_role(o, "Role", NAME "-leader", o->ns, json_list(a, lease));
}

/* Kubernetes aggregates these rules into its own roles view, edit and admin. */
static void print_roles_of_people(struct out *o, const struct families *f)
{
    static const struct {
        const char *name, *verbs;
    } people[] = {
        { "view", "get list watch" },
        { "edit", "create update patch delete" },
    };
    for (size_t i = 0; i < lengthof(people); i++) {
        struct arena *a = o->a;
        const char *name = arena_printf(a, NAME "-%s", people[i].name);
        struct json role = head(o, "rbac.authorization.k8s.io/v1", "ClusterRole", name, NULL);
        struct json_builder more;
        json_builder_init(&more, a);
        json_put(&more,
            arena_printf(a, "rbac.authorization.k8s.io/aggregate-to-%s", people[i].name),
            json_str("true"));
        if (text_eq(people[i].name, "edit"))
            json_put(&more, "rbac.authorization.k8s.io/aggregate-to-admin", json_str("true"));
        role =
            json_with(a, role, "metadata.labels", json_overlay(a, labels(a), json_map_end(&more)));
        print(o, json_with_member(a, role, "rules", rights_of_people(a, f, people[i].verbs)));
    }
}

/* ---- the Deployment ---- */

static struct json probe(struct arena *a, const char *path, int64_t period)
{
    return json_fields(a,
        { "httpGet.path", json_str(path) },
        { "httpGet.port", json_str("health") },
        { "periodSeconds", json_int(period) },
        { "timeoutSeconds", json_int(2) });
}

static struct json from_field(struct arena *a, const char *name, const char *path)
{
    return json_fields(a,
        { "name", json_str(name) },
        { "valueFrom.fieldRef.apiVersion", json_str("v1") },
        { "valueFrom.fieldRef.fieldPath", json_str(path) });
}

static struct json port(struct arena *a, const char *name, int64_t number)
{
    return json_fields(a, { "name", json_str(name) }, { "containerPort", json_int(number) });
}

static struct json arguments(struct out *o)
{
    struct json_builder list;
    json_builder_init(&list, o->a);
    json_push(&list, json_str("operator"));
    json_push(&list, json_str("--leader-elect"));
    json_push(&list, json_str("--log-format=json"));
    json_push(&list, json_str("--metrics-bind-address=:8443"));
    if (cli_given(o->cli, "families"))
        json_push(&list, json_strf(o->a, "--families=%s", cli_text(o->cli, "families")));
    if (json_present(o->watched))
        json_push(&list, json_strf(o->a, "--namespace=%s", cli_text(o->cli, "namespace")));
    if (o->webhooks)
        json_push(&list, json_str("--enable-webhooks"));
    const struct setting *f;
    for (size_t i = 0; i < o->cli->count; i++)
        for (size_t s = 0; (f = families_setting(s)); s++)
            if (text_eq(f->name, o->cli->names[i]))
                json_push(&list, json_strf(o->a, "--%s=%s", f->name, o->cli->values[i]));
    return json_list_end(&list);
}

static struct json ports(struct out *o)
{
    struct json_builder list;
    json_builder_init(&list, o->a);
    json_push(&list, port(o->a, "metrics", 8443));
    if (o->webhooks)
        json_push(&list, port(o->a, "webhook", 9443));
    json_push(&list, port(o->a, "health", 8081));
    return json_list_end(&list);
}

static struct json container(struct out *o, const char *image)
{
    struct arena *a = o->a;
    return json_fields(a,
        { "name", json_str("operator") },
        { "image", json_str(image) },
        { "args", arguments(o) },
        { "env",
            json_list(a,
                from_field(a, "POD_NAME", "metadata.name"),
                from_field(a, "POD_NAMESPACE", "metadata.namespace"),
                json_map(a, { "name", json_str(FAMILIES_IMAGE) }, { "value", json_str(image) })) },
        { "ports", ports(o) },
        { "livenessProbe", probe(a, "/healthz", 20) },
        { "readinessProbe", probe(a, "/readyz", 5) },
        { "resources",
            json_fields(a,
                { "requests.cpu", json_str("10m") },
                { "requests.memory", json_str("24Mi") },
                { "limits.memory", json_str("128Mi") }) },
        { "securityContext",
            json_fields(a,
                { "allowPrivilegeEscalation", json_bool(false) },
                { "readOnlyRootFilesystem", json_bool(true) },
                { "capabilities.drop", json_list(a, json_str("ALL")) }) });
}

/* classes: the priority classes of serving pods exist. Without one of them, a full node would evict
 * the operator first in favour of such a pod. */
static void print_deployment(struct out *o, const char *image, bool classes)
{
    struct arena *a = o->a;
    struct json selector = json_map(a, { "app.kubernetes.io/name", json_str(NAME) });
    struct json spec = json_fields(a,
        { "replicas", json_int(1) },
        { "selector.matchLabels", selector },
        { "template.metadata.labels", labels(a) },
        { "template.spec.serviceAccountName", json_str(NAME) },
        { "template.spec.terminationGracePeriodSeconds", json_int(10) },
        { "template.spec.priorityClassName",
            json_str_or_absent(classes ? "llmkube-critical" : NULL) },
        { "template.spec.securityContext",
            json_fields(a,
                { "runAsNonRoot", json_bool(true) },
                { "runAsUser", json_int(65532) },
                { "seccompProfile.type", json_str("RuntimeDefault") }) },
        { "template.spec.containers", json_list(a, container(o, image)) });
    struct json object = head(o, "apps/v1", "Deployment", NAME, o->ns);
    print(o, json_with_member(a, object, "spec", spec));
}

static void print_service(
    struct out *o, const char *name, int64_t port_number, const char *target_port)
{
    struct arena *a = o->a;
    struct json object = head(o, "v1", "Service", name, o->ns);
    struct json spec = json_fields(a,
        { "selector", json_map(a, { "app.kubernetes.io/name", json_str(NAME) }) },
        { "ports",
            json_list(a,
                json_fields(a,
                    { "name", json_str(target_port) },
                    { "port", json_int(port_number) },
                    { "targetPort", json_str(target_port) })) });
    print(o, json_with_member(a, object, "spec", spec));
}

static void print_webhooks(struct out *o)
{
    struct arena *a = o->a;
    print_role(o, "Role", WEBHOOK, o->ns, webhook_manifests_secret_rules(a, WEBHOOK));
    print_role(o, "ClusterRole", WEBHOOK, NULL, webhook_manifests_rules(a, NAME));
    print_service(o, WEBHOOK, 443, "webhook");
    for (int mutating = 0; mutating < 2; mutating++) {
        const char *kind =
            mutating ? "MutatingWebhookConfiguration" : "ValidatingWebhookConfiguration";
        struct json list = webhook_manifests_list(a, mutating, o->ns, WEBHOOK, o->watched);
        struct json object = head(o, "admissionregistration.k8s.io/v1", kind, NAME, NULL);
        print(o, json_with_member(a, object, "webhooks", list));
    }
}

static void print_rest(struct out *o, const struct families *f, const char *image)
{
    struct arena *a = o->a;
    struct json ns = head(o, "v1", "Namespace", o->ns, NULL);
    ns = json_with(a,
        ns,
        "metadata.labels",
        json_overlay(a,
            labels(a),
            json_map(a, { "pod-security.kubernetes.io/enforce", json_str("restricted") })));
    print(o, ns);
    bool classes =
        families_have_group(f, "inference.llmkube.dev") && !cli_on(o->cli, "beside-upstream");
    if (classes)
        json_each (one, embedded_priority_classes(a))
            print(o, *one);
    print(o, head(o, "v1", "ServiceAccount", NAME, o->ns));
    print_roles(o, f);
    print_roles_of_people(o, f);
    print_deployment(o, image, classes);
    print_service(o, NAME "-metrics", 8443, "metrics");
    if (o->webhooks)
        print_webhooks(o);
}

/* The files of the repository, with their comments. */
static void print_crds(struct out *o, const struct families *f)
{
    for (size_t i = 0; embedded_crd_texts[i]; i++) {
        struct json documents;
        struct error err;
        struct str text = str_of(embedded_crd_texts[i]);
        bool ok = yaml_parse_all(o->a, text, "api", &documents, &err);
        assert(ok); /* tests/crds/check also parses them */
        if (!families_have_group(f, json_get_text(json_item(documents, 0), "spec.group")))
            continue;
        if (!text_starts(text.ptr, "---"))
            buf_add_text(&o->text, "---\n");
        buf_add_text(&o->text, text.ptr);
    }
}

static int run(struct cli *cli)
{
    struct error err;
    struct families families;
    if (!families_read(cli, &families, &err) ||
        !families_select(&families, cli_text(cli, "families"), &err))
        return cli_usage(cli, "%s", err.text);
    struct out o = {
        .cli = cli,
        .a = &cli->arena,
        .text = BUF_INIT((size_t)16 << 20),
        .ns = cli_text(cli, "install-namespace"),
        .watched = names_of(&cli->arena, cli_text(cli, "namespace")),
        .webhooks = cli_on(cli, "enable-webhooks") &&
                    families_have_group(&families, "inference.llmkube.dev"),
    };
    if (!cli_on(cli, "no-crds") && !cli_on(cli, "beside-upstream"))
        print_crds(&o, &families);
    if (!cli_on(cli, "crds-only"))
        print_rest(&o, &families, cli_text(cli, "image"));
    bool ok = fwrite(o.text.ptr, 1, o.text.len, stdout) == o.text.len && fflush(stdout) == 0;
    buf_done(&o.text);
    return ok ? CLI_OK : CLI_FAILED;
}

static const struct cli_flag flags[] = {
    { "install-namespace", 0, "NAME", "leeboard-system", "Namespace of the operator itself." },
    { "namespace",
        'n',
        "NAME,...",
        NULL,
        "Work in these namespaces only: a Role in each instead of a ClusterRole." },
    { "families",
        0,
        "NAME,...",
        FAMILIES_ALL,
        "Families of kinds to serve: CRDs, rights and watches for these only." },
    { "image", 0, "IMAGE", "leeboard:" LEEBOARD_VERSION, "Image of the operator." },
    { "enable-webhooks", 0, NULL, "false", "With LLMKube's admission webhooks." },
    { "crds-only", 0, NULL, NULL, "Only the CRDs." },
    { "no-crds", 0, NULL, NULL, "Everything but the CRDs." },
    { "beside-upstream",
        0,
        NULL,
        NULL,
        "Without the CRDs and priority classes that upstream's charts have installed." },
    { 0 },
};

const struct cli_command cli_manifests = {
    .name = "manifests",
    .summary = "Print the manifests of an installation: CRDs, RBAC, Deployment.",
    .text =
        "  leeboard manifests | kubectl apply --server-side -f -\n\n"
        "Flags that shape what is made go into the Deployment's arguments, and its role has the\n"
        "rights that they need.\n",
    .flags = (const struct cli_flag *const[]){ flags, NULL },
    .shaping = true,
    .run = run,
};
