#include "apiserver/builtin/pod/security.h"

#include <string.h>

#include "base/buf.h"

/* ---- helpers of the checks ---- */

struct subject {
    struct arena *arena;
    struct json meta, spec;
    int64_t minor;
    const char *reason; /* of the current check, which may change it to the plural */
};

enum { FINE = 0, BAD = 1, LACKS = 2 };

struct findings {
    struct json_builder values; /* a set: the invalid values */
    struct json bad, lacking;   /* names of containers */
    int pod;                    /* the result for the pod itself */
    bool user, role;            /* fields set in seLinuxOptions */
};

/* owner: the pod's spec or a container. */
typedef int rule(const struct subject *s, struct json owner, struct findings *f);

static void add_value(struct findings *f, const char *value)
{
    json_put(&f->values, value ? value : "", json_bool(true));
}

static struct findings look(const struct subject *s, rule *is)
{
    static const char *const lists[] = { "initContainers", "containers", "ephemeralContainers" };
    struct findings f = { 0 };
    struct json_builder bad, lacking;
    json_builder_init(&f.values, s->arena);
    json_builder_init(&bad, s->arena);
    json_builder_init(&lacking, s->arena);
    f.pod = is(s, s->spec, &f);
    for (size_t i = 0; i < lengthof(lists); i++)
        json_each (c, json_member(s->spec, lists[i])) {
            int what = is(s, *c, &f);
            if (what & BAD)
                json_push(&bad, json_member(*c, "name"));
            if (what & LACKS)
                json_push(&lacking, json_member(*c, "name"));
        }
    f.bad = json_list_end(&bad);
    f.lacking = json_list_end(&lacking);
    return f;
}

static struct json keys_of(struct arena *a, struct json_builder *set)
{
    struct json_builder b;
    json_builder_init(&b, a);
    json_each_member (m, json_map_end(set))
        json_push(&b, json_str(m->key));
    return json_list_end(&b);
}

static const char *join(struct arena *a, struct json texts, const char *quote, const char *between)
{
    cleanup(buf_done) struct buf b = BUF_INIT((size_t)8 << 20);
    json_each (t, texts)
        buf_printf(&b, "%s%s%s%s", b.len ? between : "", quote, json_text(*t), quote);
    return arena_strdup(a, buf_text(&b));
}

static const char *quoted(struct arena *a, struct json texts)
{
    return join(a, texts, "\"", ", ");
}

static const char *plural(struct json of)
{
    return of.count == 1 ? "" : "s";
}

/* containers "a", "b" */
static const char *named(struct arena *a, const char *what, struct json names)
{
    return arena_printf(a, "%s%s %s", what, plural(names), quoted(a, names));
}

/* `pod and container "a"`; NULL: neither is invalid. */
static const char *setters(struct arena *a, const struct findings *f)
{
    bool pod = f->pod & BAD;
    if (!f->bad.count)
        return pod ? "pod" : NULL;
    return arena_printf(a, "%s%s", pod ? "pod and " : "", named(a, "container", f->bad));
}

/* Whether a text is one of the words in another text. */
static bool is_in(const char *words, const char *text)
{
    size_t length = text ? strlen(text) : 0;
    if (!length || strchr(text, ' '))
        return false;
    for (const char *at = words; (at = strstr(at, text)); at++)
        if ((at == words || at[-1] == ' ') && (!at[length] || at[length] == ' '))
            return true;
    return false;
}

/* The message of a check: the violators, with the invalid values and the text after them. */
static const char *told(struct subject *s, rule *is, const char *what, const char *behind)
{
    struct findings f = look(s, is);
    const char *who = setters(s->arena, &f);
    if (!who)
        return NULL;
    return arena_printf(
        s->arena, "%s %s%s%s", who, what, quoted(s->arena, keys_of(s->arena, &f.values)), behind);
}

static const char *setting(struct json owner, const char *path)
{
    return json_get_text(json_member(owner, "securityContext"), path);
}

/* ---- baseline: each check returns the violation, or NULL ---- */

static int profile_rule(struct json owner, const char *name, struct findings *f)
{
    struct json profile = json_member(json_member(owner, "securityContext"), name);
    const char *type = json_get_text(profile, "type");
    if (!json_present(profile))
        return LACKS;
    if (text_eq(type, "RuntimeDefault") || text_eq(type, "Localhost"))
        return FINE;
    add_value(f, type);
    return BAD;
}

static int app_armor_rule(const struct subject *s, struct json owner, struct findings *f)
{
    (void)s;
    return profile_rule(owner, "appArmorProfile", f);
}

#define APPARMOR "container.apparmor.security.beta.kubernetes.io/"

static const char *app_armor(struct subject *s)
{
    struct arena *a = s->arena;
    struct findings f = look(s, app_armor_rule);
    struct json_builder all;
    json_builder_init(&all, a);
    json_push_all(&all, keys_of(a, &f.values));
    uint32_t fields = all.count;
    json_each_member (m, json_member(s->meta, "annotations")) {
        const char *value = json_text(m->value);
        if (text_starts(m->key, APPARMOR) && !text_empty(value) &&
            !text_eq(value, "runtime/default") && !text_starts(value, "localhost/"))
            json_push(&all, json_strf(a, "%s=%s", m->key, json_to_text(a, json_str(value))));
    }
    const char *who = setters(a, &f);
    uint32_t annotations = all.count - fields;
    struct json values = json_list_end(&all);
    if (!values.count)
        return NULL;
    s->reason = arena_printf(a, "%s%s", s->reason, plural(values));
    return arena_printf(a,
        "%s%s%s must not set AppArmor profile type to %s",
        who ? who : "",
        who && annotations ? " and " : "",
        !annotations       ? ""
        : annotations == 1 ? "annotation"
                           : "annotations",
        quoted(a, values));
}

static int adds_other(struct json owner, const char *allowed, struct findings *f)
{
    int what = FINE;
    json_each (c, json_get(owner, "securityContext.capabilities.add"))
        if (!is_in(allowed, json_text(*c))) {
            add_value(f, json_text(*c));
            what = BAD;
        }
    return what;
}

static int capabilities_rule(const struct subject *s, struct json owner, struct findings *f)
{
    static const char allowed[] = "AUDIT_WRITE CHOWN DAC_OVERRIDE FOWNER FSETID KILL MKNOD "
                                  "NET_BIND_SERVICE SETFCAP SETGID SETPCAP SETUID SYS_CHROOT";
    (void)s;
    return adds_other(owner, allowed, f);
}

#define MUST_NOT_ADD "must not include ", " in securityContext.capabilities.add"

static const char *capabilities(struct subject *s)
{
    return told(s, capabilities_rule, MUST_NOT_ADD);
}

static const char *host_namespaces(struct subject *s)
{
    static const char *const fields[] = { "hostNetwork", "hostPID", "hostIPC" };
    struct json_builder b;
    json_builder_init(&b, s->arena);
    for (size_t i = 0; i < lengthof(fields); i++)
        if (json_get_bool(s->spec, fields[i], false))
            json_push(&b, json_strf(s->arena, "%s=true", fields[i]));
    return b.count ? join(s->arena, json_list_end(&b), "", ", ") : NULL;
}

static const char *host_paths(struct subject *s)
{
    struct json_builder b;
    json_builder_init(&b, s->arena);
    json_each (v, json_member(s->spec, "volumes"))
        if (json_present(json_member(*v, "hostPath")))
            json_push(&b, json_member(*v, "name"));
    return b.count ? named(s->arena, "volume", json_list_end(&b)) : NULL;
}

static int host_ports_rule(const struct subject *s, struct json owner, struct findings *f)
{
    int what = FINE;
    json_each (p, json_member(owner, "ports")) {
        int64_t port = json_get_int(*p, "hostPort", 0);
        if (!port)
            continue;
        add_value(f, arena_printf(s->arena, "%lld", (long long)port));
        what = BAD;
    }
    return what;
}

static const char *host_ports(struct subject *s)
{
    struct arena *a = s->arena;
    struct findings f = look(s, host_ports_rule);
    if (!f.bad.count)
        return NULL;
    struct json ports = keys_of(a, &f.values);
    return arena_printf(a,
        "%s %s hostPort%s %s",
        named(a, "container", f.bad),
        f.bad.count == 1 ? "uses" : "use",
        plural(ports),
        join(a, ports, "", ", "));
}

static int host_probes_rule(const struct subject *s, struct json owner, struct findings *f)
{
    static const char *const handlers[] = { "livenessProbe",
        "readinessProbe",
        "startupProbe",
        "lifecycle.postStart",
        "lifecycle.preStop" };
    (void)s;
    int what = FINE;
    for (size_t i = 0; i < 2 * lengthof(handlers); i++) {
        struct json handler = json_get(owner, handlers[i / 2]);
        const char *host = json_get_text(handler, i % 2 ? "tcpSocket.host" : "httpGet.host");
        if (text_empty(host))
            continue;
        add_value(f, host);
        what = BAD;
    }
    return what;
}

static const char *host_probes(struct subject *s)
{
    struct arena *a = s->arena;
    struct findings f = look(s, host_probes_rule);
    struct json_builder b;
    if (!f.bad.count)
        return NULL;
    json_builder_init(&b, a);
    json_each (name, f.bad)
        json_put(&b, json_text(*name), json_bool(true));
    struct json names = keys_of(a, &b), hosts = keys_of(a, &f.values);
    return arena_printf(a,
        "%s %s %s%s %s",
        named(a, "container", names),
        names.count == 1 ? "uses" : "use",
        s->reason,
        plural(hosts),
        quoted(a, hosts));
}

static int privileged_rule(const struct subject *s, struct json owner, struct findings *f)
{
    (void)s, (void)f;
    return json_get_bool(owner, "securityContext.privileged", false) ? BAD : FINE;
}

static const char *privileged(struct subject *s)
{
    return told(s, privileged_rule, "must not set securityContext.privileged=true", "");
}

static int proc_mount_rule(const struct subject *s, struct json owner, struct findings *f)
{
    (void)s;
    const char *type = setting(owner, "procMount");
    if (!type || text_eq(type, "Default"))
        return FINE;
    add_value(f, type);
    return BAD;
}

static const char *proc_mount(struct subject *s)
{
    return told(s, proc_mount_rule, "must not set securityContext.procMount to ", "");
}

static int selinux_rule(const struct subject *s, struct json owner, struct findings *f)
{
    static const char types[] = "container_t container_init_t container_kvm_t";
    const char *type = setting(owner, "seLinuxOptions.type");
    bool user = !text_empty(setting(owner, "seLinuxOptions.user")),
         role = !text_empty(setting(owner, "seLinuxOptions.role")),
         other = !text_empty(type) && !is_in(types, type) &&
                 (s->minor < 31 || !text_eq(type, "container_engine_t"));
    f->user = f->user || user;
    f->role = f->role || role;
    if (other)
        add_value(f, type);
    return user || role || other ? BAD : FINE;
}

static const char *selinux(struct subject *s)
{
    struct arena *a = s->arena;
    struct findings f = look(s, selinux_rule);
    const char *who = setters(a, &f);
    struct json_builder b;
    if (!who)
        return NULL;
    struct json types = keys_of(a, &f.values);
    json_builder_init(&b, a);
    if (types.count)
        json_push(&b, json_str(named(a, "type", types)));
    if (f.user)
        json_push(&b, json_str("user may not be set"));
    if (f.role)
        json_push(&b, json_str("role may not be set"));
    return arena_printf(a,
        "%s set forbidden securityContext.seLinuxOptions: %s",
        who,
        join(a, json_list_end(&b), "", "; "));
}

static int seccomp_rule(const struct subject *s, struct json owner, struct findings *f)
{
    (void)s;
    return profile_rule(owner, "seccompProfile", f);
}

static const char *seccomp_set(struct subject *s)
{
    return told(s, seccomp_rule, "must not set securityContext.seccompProfile.type to ", "");
}

#define SECCOMP "seccomp.security.alpha.kubernetes.io/pod"
#define SECCOMP_OF "container.seccomp.security.alpha.kubernetes.io/"

/* The annotations that preceded the field. */
static int old_seccomp_rule(const struct subject *s, struct json owner, struct findings *f)
{
    const char *name = json_get_text(owner, "name");
    const char *key = name ? arena_printf(s->arena, SECCOMP_OF "%s", name) : SECCOMP;
    const char *value = json_text(json_member(json_member(s->meta, "annotations"), key));
    if (!value || text_eq(value, "runtime/default") || text_eq(value, "docker/default") ||
        text_starts(value, "localhost/"))
        return FINE;
    add_value(f, arena_printf(s->arena, "%s=%s", key, json_to_text(s->arena, json_str(value))));
    return BAD;
}

static const char *seccomp(struct subject *s)
{
    if (s->minor >= 19)
        return seccomp_set(s);
    struct findings f = look(s, old_seccomp_rule);
    struct json found = keys_of(s->arena, &f.values);
    if (!found.count)
        return NULL;
    return arena_printf(
        s->arena, "forbidden annotation%s %s", plural(found), join(s->arena, found, "", ", "));
}

static const char *sysctls(struct subject *s)
{
    static const struct {
        int64_t since;
        const char *names;
    } safe[] = {
        { 0,
            "kernel.shm_rmid_forced net.ipv4.ip_local_port_range net.ipv4.tcp_syncookies "
            "net.ipv4.ping_group_range net.ipv4.ip_unprivileged_port_start" },
        { 27, "net.ipv4.ip_local_reserved_ports" },
        { 29,
            "net.ipv4.tcp_keepalive_time net.ipv4.tcp_fin_timeout net.ipv4.tcp_keepalive_intvl "
            "net.ipv4.tcp_keepalive_probes" },
        { 32, "net.ipv4.tcp_rmem net.ipv4.tcp_wmem" },
    };
    struct json_builder b;
    json_builder_init(&b, s->arena);
    json_each (c, json_get(s->spec, "securityContext.sysctls")) {
        bool is_safe = false;
        for (size_t i = 0; i < lengthof(safe); i++)
            is_safe = is_safe || (s->minor >= safe[i].since &&
                                     is_in(safe[i].names, json_get_text(*c, "name")));
        if (!is_safe)
            json_push(&b, json_member(*c, "name"));
    }
    return b.count ? join(s->arena, json_list_end(&b), "", ", ") : NULL;
}

static int host_process_rule(const struct subject *s, struct json owner, struct findings *f)
{
    (void)s, (void)f;
    return json_get_bool(owner, "securityContext.windowsOptions.hostProcess", false) ? BAD : FINE;
}

static const char *host_process(struct subject *s)
{
    return told(
        s, host_process_rule, "must not set securityContext.windowsOptions.hostProcess=true", "");
}

/* ---- restricted ---- */

static int escalation_rule(const struct subject *s, struct json owner, struct findings *f)
{
    (void)s, (void)f;
    bool container = json_present(json_member(owner, "name"));
    return container && json_get_bool(owner, "securityContext.allowPrivilegeEscalation", true);
}

static const char *escalation(struct subject *s)
{
    return told(s, escalation_rule, "must set securityContext.allowPrivilegeEscalation=false", "");
}

static int must_drop_rule(const struct subject *s, struct json owner, struct findings *f)
{
    (void)s;
    bool drops = json_list_has(json_get(owner, "securityContext.capabilities.drop"), "ALL");
    return adds_other(owner, "NET_BIND_SERVICE", f) | (drops ? FINE : LACKS);
}

static const char *must_drop(struct subject *s)
{
    struct arena *a = s->arena;
    struct findings f = look(s, must_drop_rule);
    const char *adds = told(s, must_drop_rule, MUST_NOT_ADD);
    if (!f.lacking.count)
        return adds;
    return arena_printf(a,
        "%s must set securityContext.capabilities.drop=[\"ALL\"]%s%s",
        named(a, "container", f.lacking),
        adds ? "; " : "",
        adds ? adds : "");
}

static const char *volumes(struct subject *s)
{
    static const char allowed[] = "name configMap csi downwardAPI emptyDir ephemeral image "
                                  "persistentVolumeClaim projected secret";
    struct arena *a = s->arena;
    struct json_builder names, types;
    json_builder_init(&names, a);
    json_builder_init(&types, a);
    json_each (v, json_member(s->spec, "volumes"))
        json_each_member (m, *v) { /* the name and the only source */
            if (is_in(allowed, m->key))
                continue;
            json_push(&names, json_member(*v, "name"));
            json_put(&types, m->key, json_bool(true));
        }
    if (!names.count)
        return NULL;
    struct json bad = json_list_end(&names), of = keys_of(a, &types);
    return arena_printf(a,
        "%s %s restricted volume type%s %s",
        named(a, "volume", bad),
        bad.count == 1 ? "uses" : "use",
        plural(of),
        quoted(a, of));
}

/* Containers without the setting, in a pod without it. */
static const char *unsaid(struct arena *a, const struct findings *f, const char *what)
{
    if (f->pod == FINE || !f->lacking.count)
        return NULL;
    return arena_printf(a, "pod or %s must set %s", named(a, "container", f->lacking), what);
}

static int non_root_rule(const struct subject *s, struct json owner, struct findings *f)
{
    (void)s, (void)f;
    struct json set = json_get(owner, "securityContext.runAsNonRoot");
    return !json_present(set) ? LACKS : set.boolean ? FINE : BAD;
}

static const char *non_root(struct subject *s)
{
    struct findings f = look(s, non_root_rule);
    const char *set = told(s, non_root_rule, "must not set securityContext.runAsNonRoot=false", "");
    return set ? set : unsaid(s->arena, &f, "securityContext.runAsNonRoot=true");
}

static int user_rule(const struct subject *s, struct json owner, struct findings *f)
{
    (void)s, (void)f;
    return json_get_int(owner, "securityContext.runAsUser", 1) == 0 ? BAD : FINE;
}

static const char *user(struct subject *s)
{
    return told(s, user_rule, "must not set runAsUser=0", "");
}

static const char *must_seccomp(struct subject *s)
{
    static const char types[] =
        "securityContext.seccompProfile.type to \"RuntimeDefault\" or \"Localhost\"";
    struct findings f = look(s, seccomp_rule);
    const char *set = seccomp_set(s);
    return set ? set : unsaid(s->arena, &f, types);
}

/* ---- the table ---- */

#define VERSION_NEWEST 35 /* later versions are treated like this one */
#define NONE INT64_MAX

static const struct {
    const char *reason;
    const char *(*wrong)(struct subject *s);
    enum pod_level level;
    int64_t since;     /* from this minor version on; likewise the members below */
    int64_t replaced;  /* the restricted level has its own check */
    int64_t windows;   /* pods for Windows are exempt */
    int64_t own_users; /* pods with their own user namespace (hostUsers: false) are exempt */
} checks[] = {
    /* In the order in which they are reported. */
    /* clang-format off */
    { "forbidden AppArmor profile",        app_armor,       POD_BASELINE,    0, NONE, NONE, NONE },
    { "non-default capabilities",          capabilities,    POD_BASELINE,    0,   22, NONE, NONE },
    { "host namespaces",                   host_namespaces, POD_BASELINE,    0, NONE, NONE, NONE },
    { "hostPath volumes",                  host_paths,      POD_BASELINE,    0,    0, NONE, NONE },
    { "hostPort",                          host_ports,      POD_BASELINE,    0, NONE, NONE, NONE },
    { "probe or lifecycle host",           host_probes,     POD_BASELINE,   34, NONE, NONE, NONE },
    { "privileged",                        privileged,      POD_BASELINE,    0, NONE, NONE, NONE },
    { "procMount",                         proc_mount,      POD_BASELINE,    0,   35, NONE,   35 },
    { "seLinuxOptions",                    selinux,         POD_BASELINE,    0, NONE, NONE, NONE },
    { "seccompProfile",                    seccomp,         POD_BASELINE,    0,   19, NONE, NONE },
    { "forbidden sysctls",                 sysctls,         POD_BASELINE,    0, NONE, NONE, NONE },
    { "hostProcess",                       host_process,    POD_BASELINE,    0, NONE, NONE, NONE },
    { "allowPrivilegeEscalation != false", escalation,      POD_RESTRICTED,  8, NONE,   25, NONE },
    { "unrestricted capabilities",         must_drop,       POD_RESTRICTED, 22, NONE,   25, NONE },
    { "procMount",                         proc_mount,      POD_RESTRICTED, 35, NONE, NONE, NONE },
    { "restricted volume types",           volumes,         POD_RESTRICTED,  0, NONE, NONE, NONE },
    { "runAsNonRoot != true",              non_root,        POD_RESTRICTED,  0, NONE, NONE,   35 },
    { "runAsUser=0",                       user,            POD_RESTRICTED, 23, NONE, NONE,   35 },
    { "seccompProfile",                    must_seccomp,    POD_RESTRICTED, 19, NONE,   25, NONE },
    /* clang-format on */
};

struct pod_verdict pod_standard_judge(
    struct arena *a, struct pod_standard s, struct json meta, struct json spec)
{
    cleanup(buf_done) struct buf reasons = BUF_INIT((size_t)64 << 10);
    cleanup(buf_done) struct buf details = BUF_INIT((size_t)16 << 20);
    bool latest = s.minor == POD_VERSION_LATEST || s.minor > VERSION_NEWEST;
    struct subject pod = { a, meta, spec, latest ? VERSION_NEWEST : s.minor, NULL };
    bool windows = text_eq(json_get_text(spec, "os.name"), "windows"),
         own_users = !json_get_bool(spec, "hostUsers", true);
    for (size_t i = 0; i < lengthof(checks); i++) {
        pod.reason = checks[i].reason;
        if (s.level < checks[i].level || pod.minor < checks[i].since ||
            (s.level == POD_RESTRICTED && pod.minor >= checks[i].replaced) ||
            (windows && pod.minor >= checks[i].windows) ||
            (own_users && pod.minor >= checks[i].own_users))
            continue;
        const char *wrong = checks[i].wrong(&pod);
        if (!wrong)
            continue;
        buf_printf(&details, "%s%s (%s)", reasons.len ? ", " : "", pod.reason, wrong);
        buf_printf(&reasons, "%s%s", reasons.len ? ", " : "", pod.reason);
    }
    if (!reasons.len)
        return (struct pod_verdict){ NULL, NULL };
    return (struct pod_verdict){
        arena_strdup(a, buf_text(&reasons)),
        arena_strdup(a, buf_text(&details)),
    };
}
