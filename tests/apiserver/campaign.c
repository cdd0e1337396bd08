/* Every kind of input that grows, through every verb, patch type and encoding, with n and with 2n
 * entries. LEEBOARD_GROWTH=8 multiplies n by 8 and prints the figures, LEEBOARD_GROWTH_ONLY=pull
 * leaves out those without this in their name. */

#include <stdlib.h>

#include "tests/apiserver/growing.h"

struct input {
    const char *name;
    const char *target; /* the list; objects are called x */
    const char *head, *item, *tail;
    size_t n;
    const char *setup_target, *setup_body;
};

#define META(kind_, version_)                                                                      \
    "{'apiVersion':'" version_ "','kind':'" kind_ "','metadata':{'name':'x'"
#define V1 "/api/v1/namespaces/default/"
#define APPS "/apis/apps/v1/namespaces/default/"
#define RBAC "/apis/rbac.authorization.k8s.io/v1/"
#define NETWORK "/apis/networking.k8s.io/v1/namespaces/default/"
#define RBAC_V1 "rbac.authorization.k8s.io/v1"
#define MAP META("ConfigMap", "v1")
#define POD META("Pod", "v1") "},'spec':{"
#define C "'containers':[{'name':'c','image':'i'}]"
#define TEMPLATE "'template':{'metadata':{'labels':{'a':'b'}},'spec':{"
#define CRD META("CustomResourceDefinition", "apiextensions.k8s.io/v1")
#define CRD_SPEC                                                                                   \
    "'group':'t.io','scope':'Namespaced','names':{'plural':'xs','kind':'X'},"                      \
    "'versions':[{'name':'v1','served':true,'storage':true,'schema':{'openAPIV3Schema':"
#define CRDS "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
#define OWN_CRD                                                                                    \
    "{'apiVersion':'apiextensions.k8s.io/v1','kind':'CustomResourceDefinition',"                   \
    "'metadata':{'name':'xs.t.io'},'spec':{" CRD_SPEC "{'type':'object','properties':{"            \
    "'map':{'type':'object','additionalProperties':{'type':'string'}},"                            \
    "'list':{'type':'array','x-kubernetes-list-type':'map','x-kubernetes-list-map-keys':['k'],"    \
    "'items':{'type':'object','required':['k'],'properties':{'k':{'type':'string'},"               \
    "'v':{'type':'integer','default':1}}}},"                                                       \
    "'set':{'type':'array','x-kubernetes-list-type':'set','items':{'type':'string'}}}}}}]}}"
#define OWN META("X", "t.io/v1") "}"
#define OWNS "/apis/t.io/v1/namespaces/default/xs"

static const struct input inputs[] = {
    { "unknown fields", V1 "configmaps", MAP "}", "'u%zu':1", "}", 1000 },
    { "keys", V1 "configmaps", MAP "},'data':{'a':'b'", "'k%zu':'v'", "}}", 1000 },
    { "bad keys", V1 "configmaps", MAP "},'data':{'a':'b'", "'?%zu':'v'", "}}", 1000 },
    { "labels", V1 "configmaps", MAP ",'labels':{'a':'b'", "'k%zu':''", "}}}", 1000 },
    { "annotations", V1 "configmaps", MAP ",'annotations':{'a':'b'", "'k%zu':''", "}}}", 1000 },
    { "finalizers", V1 "configmaps", MAP ",'finalizers':['a.b/c'", "'a.b/f%zu'", "]}}", 500 },
    { "owner references",
        V1 "configmaps",
        MAP ",'ownerReferences':[{'apiVersion':'v1','kind':'Pod','name':'a','uid':'a'}",
        "{'apiVersion':'v1','kind':'Pod','name':'o%zu','uid':'u%zu'}",
        "]}}",
        500 },
    { "managed fields",
        V1 "configmaps",
        MAP "},'data':{'a':'b'},'metadata':{'name':'x','managedFields':[{'manager':'m',"
            "'operation':'Update','apiVersion':'v1','time':'2020-01-01T00:00:00Z',"
            "'fieldsType':'FieldsV1','fieldsV1':{'f:data':{'f:a':{}}}}",
        "{'manager':'m%zu','operation':'Update','apiVersion':'v1','time':'2020-01-01T00:00:00Z',"
        "'fieldsType':'FieldsV1','fieldsV1':{'f:data':{'f:a':{}}}}",
        "]}}",
        400 },
    { "fields of one manager",
        V1 "configmaps",
        MAP ",'managedFields':[{'manager':'m',"
            "'operation':'Update','apiVersion':'v1','time':'2020-01-01T00:00:00Z',"
            "'fieldsType':'FieldsV1','fieldsV1':{'f:data':{'f:a':{}",
        "'f:k%zu':{}",
        "}}}]}}",
        1000 },
    { "depth of unknown fields", V1 "configmaps", MAP "},'u':[1", "[[[[%zu]]]]", "]}", 500 },
    { "secret", V1 "secrets", META("Secret", "v1") "},'data':{'a':''", "'k%zu':''", "}}", 1000 },
    { "empty containers",
        V1 "pods",
        POD "'containers':[{'name':'c','image':'i'}",
        "{}",
        "]}}",
        200 },
    { "containers",
        V1 "pods",
        POD "'containers':[{'name':'c','image':'i'}",
        "{'name':'c%zu','image':'i'}",
        "]}}",
        200 },
    { "environment",
        V1 "pods",
        POD "'containers':[{'name':'c','image':'i','env':[{'name':'A'}",
        "{'name':'E%zu','value':'$(E%zu)'}",
        "]}]}}",
        500 },
    { "container ports",
        V1 "pods",
        POD "'containers':[{'name':'c','image':'i','ports':[{'containerPort':1}",
        "{'containerPort':2,'name':'p%zu','hostPort':2}",
        "]}]}}",
        500 },
    { "volumes",
        V1 "pods",
        POD C ",'volumes':[{'name':'v','emptyDir':{}}",
        "{'name':'v%zu','emptyDir':{}}",
        "]}}",
        500 },
    { "projected volumes",
        V1 "pods",
        POD C ",'volumes':[{'name':'v','projected':{'sources':[{'configMap':{'name':'a'}}",
        "{'configMap':{'name':'a','items':[{'key':'k%zu','path':'p%zu'}]}}",
        "]}}]}}",
        500 },
    { "mounts",
        V1 "pods",
        POD "'volumes':[{'name':'v','emptyDir':{}}],"
            "'containers':[{'name':'c','image':'i','volumeMounts':[{'name':'v','mountPath':'/a'}",
        "{'name':'v','mountPath':'/m%zu'}",
        "]}]}}",
        500 },
    { "tolerations",
        V1 "pods",
        POD C ",'tolerations':[{'operator':'Exists'}",
        "{'key':'k%zu','operator':'Exists'}",
        "]}}",
        500 },
    { "host aliases",
        V1 "pods",
        POD C ",'hostAliases':[{'ip':'1.2.3.4'}",
        "{'ip':'1.2.3.4','hostnames':['h%zu']}",
        "]}}",
        500 },
    { "pull secrets",
        V1 "pods",
        POD C ",'imagePullSecrets':[{'name':'a'}",
        "{'name':'s%zu'}",
        "]}}",
        500 },
    { "scheduling gates",
        V1 "pods",
        POD C ",'schedulingGates':[{'name':'a'}",
        "{'name':'s%zu'}",
        "]}}",
        500 },
    { "spread constraints",
        V1 "pods",
        POD C ",'topologySpreadConstraints':[{'maxSkew':1,'topologyKey':'a','whenUnsatisfiable':"
              "'DoNotSchedule'}",
        "{'maxSkew':1,'topologyKey':'k%zu','whenUnsatisfiable':'DoNotSchedule'}",
        "]}}",
        500 },
    { "node terms",
        V1 "pods",
        POD C ",'affinity':{'nodeAffinity':{'requiredDuringSchedulingIgnoredDuringExecution':"
              "{'nodeSelectorTerms':[{'matchExpressions':[{'key':'a','operator':'Exists'}]}",
        "{'matchExpressions':[{'key':'k%zu','operator':'Exists'}]}",
        "]}}}}}",
        500 },
    { "rules",
        RBAC "namespaces/default/roles",
        META("Role", RBAC_V1) "},'rules':[{'verbs':['get'],'apiGroups':[''],'resources':['a']}",
        "{'verbs':['get'],'apiGroups':[''],'resources':['r%zu']}",
        "]}",
        500 },
    { "resources of a rule",
        RBAC "clusterroles",
        META(
            "ClusterRole", RBAC_V1) "},'rules':[{'verbs':['get'],'apiGroups':[''],'resources':['a'",
        "'r%zu'",
        "]}]}",
        500 },
    { "selectors of a role",
        RBAC "clusterroles",
        META("ClusterRole", RBAC_V1) "},'aggregationRule':{'clusterRoleSelectors':[{}",
        "{'matchLabels':{'a%zu':'b'}}",
        "]}}",
        200 },
    { "subjects",
        RBAC "namespaces/default/rolebindings",
        META("RoleBinding", RBAC_V1) "},'roleRef':{'apiGroup':'rbac.authorization.k8s.io','kind':"
                                     "'Role','name':'x'},'subjects':[{'kind':'User','name':'a'}",
        "{'kind':'User','name':'u%zu'}",
        "]}",
        500 },
    { "service ports",
        V1 "services",
        META("Service", "v1") "},'spec':{'ports':[{'port':80,'name':'a'}",
        "{'name':'p%zu','port':81,'protocol':'UDP'}",
        "]}}",
        500 },
    { "external addresses",
        V1 "services",
        META("Service", "v1") "},'spec':{'ports':[{'port':80}],'externalIPs':['1.2.3.4'",
        "'1.2.3.4'",
        "]}}",
        500 },
    { "a template",
        APPS "deployments",
        META("Deployment", "apps/v1") "},'spec':{'selector':{'matchLabels':{'a':'b'}}," TEMPLATE
                                      "'containers':[{'name':'c','image':'i','env':[{'name':'A'}",
        "{'name':'E%zu'}",
        "]}]}}}}",
        500 },
    { "claim templates",
        APPS "statefulsets",
        META("StatefulSet", "apps/v1") "},'spec':{'serviceName':'s','selector':{'matchLabels':"
                                       "{'a':'b'}}," TEMPLATE C "}},'volumeClaimTemplates':["
                                       "{'metadata':{'name':'a'},'spec':{'accessModes':"
                                       "['ReadWriteOnce'],'resources':{'requests':{'storage':1}}}}",
        "{'metadata':{'name':'c%zu'},'spec':{'accessModes':['ReadWriteOnce'],'resources':"
        "{'requests':{'storage':1}}}}",
        "]}}",
        200 },
    { "addresses",
        "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices",
        META("EndpointSlice", "discovery.k8s.io/v1") "},'addressType':'IPv4','endpoints':["
                                                     "{'addresses':['1.2.3.4']}",
        "{'addresses':['10.0.0.1'],'hostname':'h%zu'}",
        "]}",
        500 },
    { "peers",
        NETWORK "networkpolicies",
        META("NetworkPolicy", "networking.k8s.io/v1") "},'spec':{'podSelector':{},'ingress':"
                                                      "[{'from':[{'podSelector':{}}",
        "{'podSelector':{'matchLabels':{'k%zu':'v'}}}",
        "]}]}}",
        500 },
    { "paths of an ingress",
        NETWORK "ingresses",
        META("Ingress", "networking.k8s.io/v1") "},'spec':{'rules':[{'host':'a.b','http':{'paths':["
                                                "{'path':'/','pathType':'Prefix','backend':"
                                                "{'service':{'name':'a','port':{'number':1}}}}",
        "{'path':'/p%zu','pathType':'Prefix','backend':{'service':{'name':'a','port':"
        "{'number':1}}}}",
        "]}}]}}",
        300 },
    { "limits",
        V1 "limitranges",
        META("LimitRange", "v1") "},'spec':{'limits':[{'type':'Pod'}",
        "{'type':'t.io/t%zu','max':{'cpu':1}}",
        "]}}",
        300 },
    { "hard limits",
        V1 "resourcequotas",
        META("ResourceQuota", "v1") "},'spec':{'hard':{'cpu':1",
        "'count/r%zu.t.io':1",
        "}}}",
        300 },
    { "properties of a schema",
        CRDS,
        CRD "},'spec':{" CRD_SPEC "{'type':'object','properties':{'a':{'type':'string'}",
        "'p%zu':{'type':'string'}",
        "}}}}]}}",
        200 },
    { "values of an enum",
        CRDS,
        CRD "},'spec':{" CRD_SPEC "{'type':'object','properties':{'a':{'type':'string','enum':['a'",
        "'p%zu'",
        "]}}}}}]}}",
        500 },
    { "required fields",
        CRDS,
        CRD "},'spec':{" CRD_SPEC "{'type':'object','required':['a'",
        "'p%zu'",
        "]}}}]}}",
        500 },
    { "map of a custom resource",
        OWNS,
        OWN ",'map':{'a':'b'",
        "'k%zu':'v'",
        "}}",
        500,
        CRDS,
        OWN_CRD },
    { "list of a custom resource",
        OWNS,
        OWN ",'list':[{'k':'a'}",
        "{'k':'k%zu'}",
        "]}",
        500,
        CRDS,
        OWN_CRD },
    { "set of a custom resource", OWNS, OWN ",'set':['a'", "'k%zu'", "]}", 500, CRDS, OWN_CRD },
    { "unknown fields of a custom resource", OWNS, OWN, "'u%zu':1", "}", 500, CRDS, OWN_CRD },
    { "bad values of a custom resource",
        OWNS,
        OWN ",'map':{'a':'b'",
        "'k%zu':1",
        "}}",
        500,
        CRDS,
        OWN_CRD },
    { "bad entries of a custom resource",
        OWNS,
        OWN ",'list':[{'k':'a'}",
        "{'v':%zu}",
        "]}",
        500,
        CRDS,
        OWN_CRD },
};

static const struct way {
    const char *name, *method;
    enum growing_form form;
    bool before; /* the object is there, with the same entries in another order */
    bool whole;  /* the object is the value of one operation of a patch */
} ways[] = {
    { "POST", "POST", OBJECT },
    { "POST of YAML", "POST", YAML },
    { "PUT", "PUT", OBJECT, .before = true },
    { "PUT of YAML", "PUT", YAML, .before = true },
    { "merge patch", "PATCH", MERGE_PATCH, .before = true },
    { "strategic merge patch", "PATCH", STRATEGIC_PATCH, .before = true },
    { "JSON patch", "PATCH", JSON_PATCH, .before = true, .whole = true },
    { "apply", "PATCH", APPLY_PATCH },
    { "apply to what is there", "PATCH", APPLY_PATCH, .before = true },
};

static struct growing cross(const struct input *in, const struct way *w)
{
    struct arena *a = test_arena();
    bool named = w->before || text_eq(w->method, "PATCH");
    bool apply = w->form == APPLY_PATCH;
    const char *name = text_eq(in->target, CRDS) ? "/xs.t.io" : "/x";
    struct growing g = {
        .name = arena_printf(a, "%s: %s", in->name, w->name),
        .method = w->method,
        .target = arena_printf(
            a, "%s%s%s", in->target, named ? name : "", apply ? "?fieldManager=y&force=true" : ""),
        .form = w->form,
        .head = in->head,
        .item = in->item,
        .tail = in->tail,
        .setup_target = in->setup_target,
        .setup_body = in->setup_body,
    };
    if (text_eq(in->target, CRDS))
        g.head = arena_printf(a,
            "{'apiVersion':'apiextensions.k8s.io/v1','kind':'CustomResourceDefinition',"
            "'metadata':{'name':'xs.t.io'%s",
            in->head + strlen(CRD));
    if (w->before) {
        g.before_target = in->target;
        g.before_head = g.head;
        g.before_item = in->item;
        g.before_tail = in->tail;
    }
    if (w->whole) {
        g.head = arena_printf(a, "[{'op':'replace','path':'','value':%s", g.head);
        g.tail = arena_printf(a, "%s}]", in->tail);
    }
    return g;
}

TEST(no_input_costs_more_than_its_size_through_any_verb_patch_or_encoding)
{
    const char *flag = getenv("LEEBOARD_GROWTH"), *only = getenv("LEEBOARD_GROWTH_ONLY");
    int64_t times = 1;
    int failed = 0;
    check(!flag || str_to_int(str_of(flag), &times));
    for (size_t i = 0; i < lengthof(inputs); i++)
        for (size_t j = 0; j < lengthof(ways); j++) {
            struct growing g = cross(&inputs[i], &ways[j]);
            if (only && !strstr(g.name, only))
                continue;
            failed += !growing_is_fair(&g, inputs[i].n * (size_t)times, flag != NULL);
        }
    check_int(failed, 0);
}

/* Only built-in kinds have a binary form. */
TEST(no_binary_input_costs_more_than_its_size)
{
    const char *flag = getenv("LEEBOARD_GROWTH");
    int failed = 0;
    for (size_t i = 0; i < 3; i++) {
        bool pod = i == 1, update = i == 2;
        struct growing g = { .name =
                                 pod ? "pairs that a Pod does not have" : "pairs in binary form",
            .method = update ? "PUT" : "POST",
            .target = pod      ? V1 "pods"
                      : update ? V1 "configmaps/x"
                               : V1 "configmaps",
            .form = PROTOBUF,
            .before_target = update ? V1 "configmaps" : NULL,
            .before_head = MAP "},'data':{'a':'b'",
            .before_item = "'b%zu':'v'",
            .before_tail = "}}",
            .head = pod ? META("Pod", "v1") "},'data':{'a':'b'" : MAP "},'data':{'a':'b'",
            .item = "'k%zu':'v'",
            .tail = "}}" };
        failed += !growing_is_fair(&g, 2000, flag != NULL);
    }
    check_int(failed, 0);
}

#define ONE_MAP                                                                                    \
    .before_target = V1 "configmaps", .before_head = MAP ",'labels':{'a':'b'",                     \
    .before_tail = "}}}", .before_item = "'k%zu':'v'"
#define MANY_MAPS                                                                                  \
    .crowd_target = V1 "configmaps", .crowd = "{'metadata':{'name':'c%zu','labels':{'a':'b'}}}"
#define PATCH_OF(operation)                                                                        \
    .form = JSON_PATCH, .head = "[{'op':'test','path':'/kind','value':'ConfigMap'}",               \
    .item = operation, .tail = "]"
#define ONE_POD                                                                                    \
    .before_target = V1 "pods", .before_head = POD C, .before_item = "'x%zu':1", .before_tail = "}}"

/* What the other ways leave out: verbs that read and delete, operations of a patch one by one,
 * and requests below an object. */
static const struct growing others[] = {
    { "list",
        "GET",
        V1 "configmaps",
        .n = 300,
        .in_target = true,
        .head = "?a=b",
        .item = "",
        MANY_MAPS },
    { "pages",
        "GET",
        V1 "configmaps",
        .n = 300,
        .in_target = true,
        .head = "?limit=10&a=b",
        .item = "",
        MANY_MAPS },
    { "watch",
        "GET",
        V1 "configmaps",
        .n = 300,
        .in_target = true,
        .head = "?watch=1&resourceVersion=0&timeoutSeconds=1&a=b",
        .item = "",
        MANY_MAPS },
    { "delete of a collection",
        "DELETE",
        V1 "configmaps",
        .n = 200,
        .in_target = true,
        .head = "?a=b",
        .item = "",
        MANY_MAPS },
    { "label selector",
        "GET",
        V1 "configmaps",
        .n = 25,
        .in_target = true,
        .head = "?labelSelector=a",
        .item = "k%zu",
        ONE_MAP },
    { "values of a label selector",
        "GET",
        V1 "configmaps",
        .n = 400,
        .in_target = true,
        .head = "?labelSelector=a+in+(b",
        .item = "v%zu",
        .tail = ")",
        ONE_MAP },
    { "field selector",
        "GET",
        V1 "configmaps",
        .n = 25,
        .in_target = true,
        .head = "?fieldSelector=metadata.name=x",
        .item = "metadata.name!=x%zu",
        ONE_MAP },
    { "selector of a watch",
        "GET",
        V1 "configmaps",
        .n = 25,
        .in_target = true,
        .head = "?watch=1&timeoutSeconds=1&labelSelector=a",
        .item = "k%zu",
        ONE_MAP },
    { "selector of a delete",
        "DELETE",
        V1 "configmaps",
        .n = 25,
        .in_target = true,
        .head = "?labelSelector=a",
        .item = "k%zu",
        ONE_MAP },
    { "options of a delete",
        "DELETE",
        V1 "configmaps/x",
        .n = 1000,
        .head = "{'kind':'DeleteOptions',"
                "'apiVersion':'v1'",
        .item = "'u%zu':1",
        .tail = "}",
        ONE_MAP },
    { "dry runs of a delete",
        "DELETE",
        V1 "configmaps/x",
        .n = 500,
        .head = "{'kind':'DeleteOptions',"
                "'apiVersion':'v1','dryRun':['All'",
        .item = "'All'",
        .tail = "]}",
        ONE_MAP },
    { "add operations",
        "PATCH",
        V1 "configmaps/x",
        .n = 100,
        PATCH_OF("{'op':'add','path':'/metadata/labels/l%zu','value':''}"),
        ONE_MAP },
    { "replace operations",
        "PATCH",
        V1 "configmaps/x",
        .n = 100,
        PATCH_OF("{'op':'replace','path':'/metadata/labels/k%zu','value':''}"),
        ONE_MAP },
    { "remove operations",
        "PATCH",
        V1 "configmaps/x",
        .n = 100,
        PATCH_OF("{'op':'remove','path':'/metadata/labels/k%zu'}"),
        ONE_MAP },
    { "test operations",
        "PATCH",
        V1 "configmaps/x",
        .n = 100,
        PATCH_OF("{'op':'test','path':'/metadata/labels/k%zu','value':'v'}"),
        ONE_MAP },
    { "copy operations",
        "PATCH",
        V1 "configmaps/x",
        .n = 100,
        PATCH_OF("{'op':'copy','from':'/metadata/labels/a','path':'/metadata/labels/l%zu'}"),
        ONE_MAP },
    { "move operations",
        "PATCH",
        V1 "configmaps/x",
        .n = 100,
        PATCH_OF("{'op':'move','from':'/metadata/labels/k%zu','path':'/metadata/labels/l%zu'}"),
        ONE_MAP },
    { "conditions of a status",
        "PATCH",
        V1 "pods/x/status",
        .n = 300,
        .form = MERGE_PATCH,
        .head = "{'status':{'conditions':[{'type':'a','status':'True'}",
        .item = "{'type':'c%zu','status':'True'}",
        .tail = "]}}",
        ONE_POD },
    { "a scale",
        "PUT",
        APPS "deployments/x/scale",
        .n = 1000,
        .head = "{'kind':'Scale','apiVersion':'autoscaling/v1','metadata':{'name':'x'}",
        .item = "'u%zu':1",
        .tail = "}",
        .before_target = APPS "deployments",
        .before_head = META("Deployment",
            "apps/v1") "},'spec':{'selector':{'matchLabels':{'a':'b'}}," TEMPLATE C "}}",
        .before_item = "'x%zu':1",
        .before_tail = "}}" },
    { "a binding",
        "POST",
        V1 "pods/x/binding",
        .n = 1000,
        .head = "{'metadata':{'name':'x'},'target':{'kind':'Node','name':'n'}",
        .item = "'u%zu':1",
        .tail = "}",
        ONE_POD },
    { "an eviction",
        "POST",
        V1 "pods/x/eviction",
        .n = 1000,
        .head = "{'metadata':{'name':'x'}",
        .item = "'u%zu':1",
        .tail = "}",
        ONE_POD },
    { "audiences of a token",
        "POST",
        V1 "serviceaccounts/default/token",
        .n = 500,
        .head = "{'spec':{'audiences':['a'",
        .item = "'a%zu'",
        .tail = "]}}" },
    { "groups of a review",
        "POST",
        "/apis/authorization.k8s.io/v1/subjectaccessreviews",
        .n = 500,
        .head = "{'spec':{'user':'u','resourceAttributes':{'verb':'get','resource':'pods'},'groups'"
                ":['a'",
        .item = "'g%zu'",
        .tail = "]}}" },
};

TEST(no_verb_and_no_part_of_an_object_costs_more_than_its_size)
{
    const char *flag = getenv("LEEBOARD_GROWTH"), *only = getenv("LEEBOARD_GROWTH_ONLY");
    int64_t times = 1;
    int failed = 0;
    check(!flag || str_to_int(str_of(flag), &times));
    for (size_t i = 0; i < lengthof(others); i++)
        if (!only || strstr(others[i].name, only))
            failed += !growing_is_fair(&others[i], others[i].n * (size_t)times, flag != NULL);
    check_int(failed, 0);
}
