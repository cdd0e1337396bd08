#include "apiserver/builtin/pod/security.h"

#include "tests/apiserver/desk.h"

/* Words and order are compared with a real server: tests/cluster/differential_pod_security.py. */

#define LATEST POD_VERSION_LATEST
#define GOOD                                                                                       \
    "'allowPrivilegeEscalation':false,'capabilities':{'drop':['ALL']},'runAsNonRoot':true,"        \
    "'seccompProfile':{'type':'RuntimeDefault'}"
#define SPEC(spec, context)                                                                        \
    "{" spec "'containers':[{'name':'c','image':'i','securityContext':{" context "}}]}"

static const char *reasons(enum pod_level level, int64_t minor, const char *spec)
{
    struct pod_standard s = { level, minor };
    struct json meta =
        test_json("{'annotations':{'seccomp.security.alpha.kubernetes.io/pod':'x'}}");
    return pod_standard_judge(test_arena(), s, meta, test_json(spec)).reasons;
}

static const struct {
    const char *spec;
    const char *reason;  /* the only one, where it counts */
    bool restricted;     /* this level alone has it */
    int64_t since;       /* in this version it counts */
    int64_t until;       /* in this one no more; 0: for ever */
    const char *instead; /* what the restricted level says, if something else */
} cases[] = {
    { SPEC("", GOOD), NULL, true, 19, 0, NULL },
    { SPEC("", GOOD ",'appArmorProfile':{'type':'Unconfined'}"),
        "forbidden AppArmor profile",
        false,
        19,
        0,
        NULL },
    { SPEC("", GOOD ",'capabilities':{'drop':['ALL'],'add':['NET_RAW']}"),
        "non-default capabilities",
        false,
        22,
        0,
        "unrestricted capabilities" },
    { SPEC("", GOOD ",'capabilities':{'drop':['ALL'],'add':['CHOWN KILL']}"),
        "non-default capabilities",
        false,
        22,
        0,
        "unrestricted capabilities" },
    { SPEC("", GOOD ",'capabilities':{'drop':['KILL'],'add':['CHOWN']}"),
        "unrestricted capabilities",
        true,
        22,
        0,
        NULL },
    { SPEC("'hostIPC':true,", GOOD), "host namespaces", false, 19, 0, NULL },
    { SPEC("'volumes':[{'name':'v','hostPath':{'path':'/'}}],", GOOD),
        "hostPath volumes",
        false,
        19,
        0,
        "restricted volume types" },
    { SPEC("'volumes':[{'name':'v','nfs':{}}],", GOOD),
        "restricted volume types",
        true,
        19,
        0,
        NULL },
    { SPEC("'initContainers':[{'name':'i','ports':[{'hostPort':1}],'securityContext':{" GOOD "}}],",
          GOOD),
        "hostPort",
        false,
        19,
        0,
        NULL },
    { SPEC("'ephemeralContainers':[{'name':'i','lifecycle':{'preStop':{'tcpSocket':{'host':'h'}"
           "}},'securityContext':{" GOOD "}}],",
          GOOD),
        "probe or lifecycle host",
        false,
        34,
        0,
        NULL },
    { SPEC("", GOOD ",'privileged':true"), "privileged", false, 19, 0, NULL },
    { SPEC("", GOOD ",'procMount':'Unmasked'"), "procMount", false, 19, 0, NULL },
    { SPEC("", GOOD ",'seLinuxOptions':{'type':'container_engine_t'}"),
        "seLinuxOptions",
        false,
        19,
        31,
        NULL },
    { SPEC("", GOOD ",'seccompProfile':{'type':'Unconfined'}"),
        "seccompProfile",
        false,
        19,
        0,
        NULL },
    { SPEC("'securityContext':{'sysctls':[{'name':'net.ipv4.tcp_rmem'}]},", GOOD),
        "forbidden sysctls",
        false,
        19,
        32,
        NULL },
    { SPEC("'securityContext':{'windowsOptions':{'hostProcess':true}},", GOOD),
        "hostProcess",
        false,
        19,
        0,
        NULL },
    { SPEC("", GOOD ",'allowPrivilegeEscalation':true"),
        "allowPrivilegeEscalation != false",
        true,
        19,
        0,
        NULL },
    { SPEC("", GOOD ",'runAsNonRoot':false"), "runAsNonRoot != true", true, 19, 0, NULL },
    { SPEC("", GOOD ",'runAsUser':0"), "runAsUser=0", true, 23, 0, NULL },
};

TEST(every_pod_security_check_is_of_its_level_and_of_its_versions)
{
    for (size_t i = 0; i < lengthof(cases); i++) {
        const char *spec = cases[i].spec, *reason = cases[i].reason;
        check_text(reasons(POD_PRIVILEGED, LATEST, spec), NULL);
        for (int64_t minor = cases[i].since - (cases[i].since > 19); minor <= 36; minor++) {
            bool counts = minor >= cases[i].since && (!cases[i].until || minor < cases[i].until);
            const char *strict = cases[i].instead ? cases[i].instead : reason;
            if (!cases[i].instead || counts) {
                check_text(reasons(POD_RESTRICTED, minor, spec), counts ? strict : NULL);
                check_text(reasons(POD_BASELINE, minor, spec),
                    counts && !cases[i].restricted ? reason : NULL);
            }
        }
        check_text(reasons(POD_RESTRICTED, LATEST, spec), reasons(POD_RESTRICTED, 35, spec));
    }
}

TEST(pods_for_windows_and_pods_with_own_users_are_spared_what_does_not_concern_them)
{
    static const char windows[] =
        "{'os':{'name':'windows'},'securityContext':{'runAsNonRoot':true},'containers':[{'name':"
        "'c'}]}";
    check_text(reasons(POD_RESTRICTED, 25, windows), NULL);
    check_text(reasons(POD_RESTRICTED, 24, windows),
        "allowPrivilegeEscalation != false, unrestricted capabilities, seccompProfile");
    static const char users[] = SPEC(
        "'hostUsers':false,", GOOD ",'runAsNonRoot':false,'runAsUser':0,'procMount':'Unmasked'");
    check_text(reasons(POD_BASELINE, 35, users), NULL);
    check_text(reasons(POD_RESTRICTED, 35, users), "procMount");
    check_text(reasons(POD_RESTRICTED, 34, users), "procMount, runAsNonRoot != true, runAsUser=0");
    check_text(reasons(POD_RESTRICTED, 18, "{'containers':[{'name':'c'}]}"),
        "seccompProfile, allowPrivilegeEscalation != false, runAsNonRoot != true");
}

static struct pod_policy policy(const char *labels, size_t errors)
{
    struct field_errors e;
    field_errors_init(&e, test_arena());
    struct pod_policy p = pod_policy_read(test_json(labels), &e);
    check_int(e.count, errors);
    return p;
}

#define L "'pod-security.kubernetes.io/"

static const char *text(struct pod_standard s)
{
    return pod_standard_text(test_arena(), s);
}

TEST(labels_of_a_namespace_say_what_is_enforced_and_warned_of)
{
    struct pod_policy p = policy("{}", 0);
    check_text(text(p.enforce), "privileged:latest");
    p = policy("{" L "enforce':'baseline'," L "enforce-version':'v1.20'}", 0);
    check_text(text(p.enforce), "baseline:v1.20");
    check_text(text(p.warn), "baseline:v1.20");
    p = policy("{" L "enforce':'restricted'," L "warn':'privileged'," L "warn-version':'v1.0'}", 0);
    check_text(text(p.enforce), "restricted:latest");
    check_text(text(p.warn), "privileged:v1.0");
    p = policy("{" L "enforce':'x'," L "warn':'x'," L "audit-version':'v1.01'}", 3);
    check_text(text(p.enforce), "restricted:latest");
    check_text(text(p.warn), "privileged:latest");
    policy("{" L "warn-version':'v1.9223372036854775807'}", 0);
    policy("{" L "warn-version':'v1.9223372036854775808'}", 1);
    policy("{" L "warn-version':'v1.'}", 1);
    policy("{" L "warn-version':'v1.+1'}", 1);
}

TEST(a_pod_that_its_namespace_does_not_allow_is_refused_and_a_template_warned_of)
{
    static const char loose[] =
        "{'metadata':{'name':'p','labels':{'a':'b'}},'spec':{'hostPID':true,"
        "'containers':[{'name':'c','image':'i'}]}}";
    struct desk d;
    desk_init_builtin(&d, (struct apiserver_options){ .allow_all = true });
    desk_do(&d, "POST", "/api/v1/namespaces", "{'metadata':{'name':'n'}}");
    struct desk_answer got = desk_ask(&d, "POST", "/api/v1/namespaces/n/pods", loose);
    check(got.status == 201 && !got.warnings[0]);
    got = desk_ask_as(&d,
        "PATCH",
        "/api/v1/namespaces/n",
        "application/merge-patch+json",
        NULL,
        "{'metadata':{'labels':{" L "enforce':'baseline'}}}");
    check(got.status == 200 && got.warnings[0] && got.warnings[1] && !got.warnings[2]);
    check_text(got.warnings[1], "299 - \"p: host namespaces\"");
    got = desk_ask(&d, "POST", "/api/v1/namespaces/n/pods", loose);
    check_int(got.status, 403);
    check_text(json_get_text(got.body, "message"),
        "pods \"p\" is forbidden: violates PodSecurity \"baseline:latest\": host namespaces "
        "(hostPID=true)");
    got = desk_ask(&d,
        "POST",
        "/api/v1/namespaces/n/podtemplates",
        arena_printf(test_arena(), "{'metadata':{'name':'t'},'template':%s}", loose));
    check(got.status == 201 && got.warnings[0]);
    got = desk_ask(
        &d, "POST", "/api/v1/namespaces", "{'metadata':{'name':'m','labels':{" L "warn':'x'}}}");
    check_int(got.status, 422);
    desk_done(&d);
}
