#include "tests/apiserver/desk.h"

/* What a real server says about objects that are wrong in one place: its fields and its words. */

#define DEFAULT "/namespaces/default/"

struct refusal {
    const char *path, *object, *field, *message;
};

static void check_refusals(const struct refusal *table)
{
    struct desk d;
    desk_init_builtin(&d, (struct apiserver_options){ 0 });
    for (; table->path; table++) {
        struct desk_answer got = desk_ask(&d, "POST", table->path, table->object);
        bool found = false;
        json_each (cause, json_get(got.body, "details.causes"))
            found = found || (text_eq(json_get_text(*cause, "field"), table->field) &&
                                 text_eq(json_get_text(*cause, "message"), table->message));
        if (!found)
            test_fail(__FILE__, __LINE__, "%s: %s", table->object, got.text);
    }
    desk_done(&d);
}

#define SERVICE(spec)                                                                              \
    "/api/v1" DEFAULT "services",                                                                  \
        "{'metadata':{'name':'x'},'spec':{'ports':[{'port':80}]," spec "}}"

TEST(a_service_is_refused_in_the_words_of_the_real_server)
{
    static const struct refusal table[] = {
        { SERVICE("'clusterIP':'None','clusterIPs':['None','None']"),
            "spec.clusterIPs",
            "Invalid value: [\"None\",\"None\"]: 'None' must be the first and only value" },
        { SERVICE("'clusterIP':'10.96.0.7','clusterIPs':['10.96.0.7','10.96.0.7']"),
            "spec.clusterIPs",
            "Invalid value: [\"10.96.0.7\",\"10.96.0.7\"]: may specify no more than one IP for "
            "each IP family" },
        { SERVICE("'ipFamilies':['IPv4','IPv4']"),
            "spec.ipFamilies[1]",
            "Duplicate value: \"IPv4\"" },
        { SERVICE("'ipFamilies':['x']"),
            "spec.ipFamilies[0]",
            "Unsupported value: \"x\": supported values: \"IPv4\", \"IPv6\"" },
        { SERVICE("'internalTrafficPolicy':''"),
            "spec.internalTrafficPolicy",
            "Unsupported value: \"\": supported values: \"Cluster\", \"Local\"" },
        { SERVICE("'ipFamilyPolicy':''"),
            "spec.ipFamilyPolicy",
            "Unsupported value: \"\": supported values: \"PreferDualStack\", "
            "\"RequireDualStack\", \"SingleStack\"" },
        { SERVICE("'type':'LoadBalancer','loadBalancerClass':''"),
            "spec.loadBalancerClass",
            "Invalid value: \"\": name part must be non-empty" },
        { SERVICE("'loadBalancerSourceRanges':['10.0.0.0/8']"),
            "spec.LoadBalancerSourceRanges",
            "Forbidden: may only be used when `type` is 'LoadBalancer'" },
        { SERVICE("'type':'LoadBalancer','healthCheckNodePort':31000"),
            "spec.healthCheckNodePort",
            "Invalid value: 31000: may only be set when `type` is 'LoadBalancer' and "
            "`externalTrafficPolicy` is 'Local'" },
        { 0 },
    };
    check_refusals(table);
}

#define JOB(spec)                                                                                  \
    "/apis/batch/v1" DEFAULT "jobs",                                                               \
        "{'metadata':{'name':'x'},'spec':{" spec                                                   \
        ",'template':{'spec':{'restartPolicy':'Never','containers':[{'name':'c','image':'i'}]}}}}"
#define INDEXED(success)                                                                           \
    JOB("'completionMode':'Indexed','completions':3,'successPolicy':{'rules':[" success "]}")
#define ON_FAILURE(rule) JOB("'podFailurePolicy':{'rules':[" rule "]}")
#define INDEXES "spec.successPolicy.rules[0].succeededIndexes"
#define CODES "spec.podFailurePolicy.rules[0].onExitCodes"

TEST(the_policies_of_a_job_are_refused_in_the_words_of_the_real_server)
{
    static const struct refusal table[] = {
        { INDEXED(""),
            "spec.successPolicy.rules",
            "Required value: at least one rules must be specified when the successPolicy is "
            "specified" },
        { INDEXED("{'succeededIndexes':'1,0'}"),
            INDEXES,
            "Invalid value: \"1,0\": error parsing succeededIndexes: non-increasing order, "
            "previous: 1, current: 0" },
        { INDEXED("{'succeededIndexes':'0-9'}"),
            INDEXES,
            "Invalid value: \"0-9\": error parsing succeededIndexes: too large index: \"9\"" },
        { INDEXED("{'succeededIndexes':'0-'}"),
            INDEXES,
            "Invalid value: \"0-\": error parsing succeededIndexes: cannot convert string to "
            "integer for index: \"\"" },
        { INDEXED("{'succeededIndexes':'0-1-2'}"),
            INDEXES,
            "Invalid value: \"0-1-2\": error parsing succeededIndexes: the fragment \"0-1-2\" "
            "violates the requirement that an index interval can have at most two parts separated "
            "by '-'" },
        { INDEXED("{'succeededIndexes':'0-1','succeededCount':3}"),
            "spec.successPolicy.rules[0].succeededCount",
            "Invalid value: 3: must be less than or equal to 2 (the number of indexes in the "
            "specified succeededIndexes field)" },
        { JOB("'successPolicy':{'rules':[{'succeededCount':1}]}"),
            "spec.successPolicy",
            "Invalid value: {\"rules\":[{\"succeededCount\":1}]}: requires indexed completion "
            "mode" },
        { JOB("'completionMode':'Indexed','completions':3,'maxFailedIndexes':4"),
            "spec.maxFailedIndexes",
            "Invalid value: 4: must be less than or equal to completions" },
        { JOB("'completionMode':'Indexed','completions':200000,'backoffLimitPerIndex':1"),
            "spec.maxFailedIndexes",
            "Required value: must be specified when completions is above 100000" },
        { JOB("'backoffLimitPerIndex':1"),
            "spec.backoffLimitPerIndex",
            "Invalid value: 1: requires indexed completion mode" },
        { ON_FAILURE("{'action':'FailJob','onExitCodes':{'operator':'In','values':[2,1]}}"),
            CODES ".values",
            "Invalid value: [2,1]: must be ordered" },
        { ON_FAILURE("{'action':'FailJob','onExitCodes':{'operator':'In','values':[0]}}"),
            CODES ".values[0]",
            "Invalid value: 0: must not be 0 for the In operator" },
        { ON_FAILURE("{'action':'FailJob','onExitCodes':{'containerName':'d','operator':'In',"
                     "'values':[1]}}"),
            CODES ".containerName",
            "Invalid value: \"d\": must be one of the container or initContainer names in the pod "
            "template" },
        { ON_FAILURE("{'onPodConditions':[{'type':'a'}]}"),
            "spec.podFailurePolicy.rules[0].action",
            "Required value: valid values: [\"Count\" \"FailIndex\" \"FailJob\" \"Ignore\"]" },
        { ON_FAILURE("{'action':'FailIndex','onPodConditions':[{'type':'a'}]}"),
            "spec.podFailurePolicy.rules[0].action",
            "Invalid value: \"FailIndex\": requires the backoffLimitPerIndex to be set" },
        { JOB("'managedBy':'a/b/c d'"),
            "spec.managedBy",
            "Invalid value: \"b/c d\": Invalid path (regex used for validation is "
            "'[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+')" },
        { 0 },
    };
    check_refusals(table);
}

TEST(what_is_on_the_network_is_refused_in_the_words_of_the_real_server)
{
    static const struct refusal table[] = {
        { "/apis/discovery.k8s.io/v1" DEFAULT "endpointslices",
            "{'metadata':{'name':'x'},'addressType':'IPv4','endpoints':[{'addresses':['1.2.3.4'],"
            "'hints':{'forNodes':[{'name':'n'},{'name':'n'}]}}],'ports':[]}",
            "endpoints[0].hints.forNodes[1].name",
            "Duplicate value: \"n\"" },
        { "/api/v1" DEFAULT "endpoints",
            "{'metadata':{'name':'x'},'subsets':[{'addresses':[{'ip':'1.2.3.4'}],'ports':[{'port':"
            "80},{'name':'a','port':81}]}]}",
            "subsets[0].ports[0].name",
            "Required value" },
        { 0 },
    };
    check_refusals(table);
}

#define CLAIM(spec)                                                                                \
    "/api/v1" DEFAULT "persistentvolumeclaims",                                                    \
        "{'metadata':{'name':'x'},'spec':{'resources':{'requests':{'storage':'1Gi'}}," spec "}}"
#define STATEFUL(spec)                                                                             \
    "/apis/apps/v1" DEFAULT "statefulsets",                                                        \
        "{'metadata':{'name':'x'},'spec':{'selector':{'matchLabels':{'a':'b'}},'template':{"       \
        "'metadata':{'labels':{'a':'b'}},'spec':{'containers':[{'name':'c','image':'i'}]}}," spec  \
        "}}"

TEST(claims_and_their_templates_are_refused_in_the_words_of_the_real_server)
{
    static const struct refusal table[] = {
        { CLAIM("'accessModes':['ReadWriteOncePod','ReadWriteOnce']"),
            "spec.accessModes",
            "Forbidden: may not use ReadWriteOncePod with other access modes" },
        { CLAIM("'accessModes':['ReadWriteOnce'],'dataSourceRef':{'kind':'K','name':'n'}"),
            "spec.dataSourceRef",
            "Invalid value: \"K\": must be 'PersistentVolumeClaim' when referencing the default "
            "apiGroup" },
        { CLAIM("'accessModes':['ReadWriteOnce'],'dataSource':{'kind':'PersistentVolumeClaim',"
                "'name':'a'},'dataSourceRef':{'kind':'PersistentVolumeClaim','name':'b'}"),
            "spec",
            "Invalid value: {}: must match dataSourceRef" },
        { STATEFUL("'volumeClaimTemplates':[{'metadata':{'name':'v'},'spec':{}}]"),
            "spec.volumeClaimTemplates[0].spec.resources[storage]",
            "Required value" },
        { STATEFUL("'volumeClaimTemplates':[{'spec':{}}]"),
            "spec.template.spec.volumes[0].persistentVolumeClaim.claimName",
            "Required value" },
        { STATEFUL("'updateStrategy':{'type':'x','rollingUpdate':{'partition':1}}"),
            "spec.updateStrategy",
            "Invalid value: {\"rollingUpdate\":{\"partition\":1},\"type\":\"x\"}: must be "
            "'RollingUpdate' or 'OnDelete'" },
        { "/apis/apps/v1" DEFAULT "deployments",
            "{'metadata':{'name':'x'},'spec':{'selector':{'matchLabels':{'a':'b'},"
            "'matchExpressions':[{'key':'a','operator':'x'}]}}}",
            "spec.selector",
            "Invalid value: {\"matchLabels\":{\"a\":\"b\"},\"matchExpressions\":[{\"key\":\"a\","
            "\"operator\":\"x\"}]}: invalid label selector" },
        { 0 },
    };
    check_refusals(table);
}

#define VOLUME(source)                                                                             \
    "/api/v1/persistentvolumes",                                                                   \
        "{'metadata':{'name':'x'},'spec':{'capacity':{'storage':'1Gi'},'accessModes':["            \
        "'ReadWriteOnce']," source "}}"
#define STORAGE "/apis/storage.k8s.io/v1/"

TEST(storage_is_refused_in_the_words_of_the_real_server)
{
    static const struct refusal table[] = {
        { VOLUME("'hostPath':{'path':'/p','type':'x'}"),
            "spec.hostPath.type",
            "Unsupported value: \"x\": supported values: \"\", \"BlockDevice\", \"CharDevice\", "
            "\"Directory\", \"DirectoryOrCreate\", \"File\", \"FileOrCreate\", \"Socket\"" },
        { VOLUME("'nfs':{'server':'s','path':'p'}"),
            "spec.nfs.path",
            "Invalid value: \"p\": must be an absolute path" },
        { STORAGE "storageclasses",
            "{'metadata':{'name':'x'},'provisioner':'a','allowedTopologies':[{"
            "'matchLabelExpressions':[{'key':'k','values':['a','a']}]}]}",
            "allowedTopologies[0].matchLabelExpressions[0].values[1]",
            "Duplicate value: \"a\"" },
        { STORAGE "storageclasses",
            "{'metadata':{'name':'x'},'provisioner':'a','volumeBindingMode':''}",
            "volumeBindingMode",
            "Unsupported value: \"\": supported values: \"Immediate\", \"WaitForFirstConsumer\"" },
        { 0 },
    };
    check_refusals(table);
}

TEST(roles_nodes_and_autoscalers_are_refused_in_the_words_of_the_real_server)
{
    static const struct refusal table[] = {
        { "/apis/rbac.authorization.k8s.io/v1/clusterroles",
            "{'metadata':{'name':'x'},'aggregationRule':{'clusterRoleSelectors':[{"
            "'matchExpressions':[{'key':'a','operator':'x'}]}]}}",
            "aggregationRule.clusterRoleSelectors[0]",
            "Invalid value: null: invalid label selector." },
        { "/api/v1/nodes",
            "{'metadata':{'name':'x'},'spec':{'taints':[{'key':'a'}]}}",
            "metadata.taints[0].effect",
            "Required value" },
        { "/apis/autoscaling/v2" DEFAULT "horizontalpodautoscalers",
            "{'metadata':{'name':'x'},'spec':{'scaleTargetRef':{'kind':'K','name':'n'},"
            "'maxReplicas':2,'metrics':[{'type':'ContainerResource','containerResource':{"
            "'name':'x','container':'c','target':{'type':'AverageValue','averageValue':'1'}}}]}}",
            "spec.metrics[0].containerResource.name",
            "Invalid value: \"x\": must be a standard resource for containers" },
        { 0 },
    };
    check_refusals(table);
}
