#include "tests/apiserver/desk.h"

#define CRDS "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
#define BOATS "/apis/sea.example.com/v1/namespaces/default/boats"

/* A definition of boats; more goes into its only version, schema is of spec. */
static const char *boats(const char *more, const char *spec)
{
    return arena_printf(test_arena(),
        "{'apiVersion':'apiextensions.k8s.io/v1','kind':'CustomResourceDefinition','metadata':"
        "{'name':'boats.sea.example.com'},'spec':{'group':'sea.example.com','scope':'Namespaced',"
        "'names':{'plural':'boats','kind':'Boat','shortNames':['bo']},'versions':[{'name':'v1',"
        "'served':true,'storage':true%s,'schema':{'openAPIV3Schema':{'type':'object','properties':"
        "{'spec':%s,'status':{'type':'object','x-kubernetes-preserve-unknown-fields':true}}}}}]}}",
        more,
        spec);
}

static const char spec[] = "{'type':'object','properties':{'crew':{'type':'integer','default':2,"
                           "'minimum':1},'name':{'type':'string'},'n':{'type':'integer'}}}";

static const char *condition(struct json crd, const char *type, const char *field)
{
    return json_get_text(json_find(json_get(crd, "status.conditions"), "type", type), field);
}

/* PUTs the object that is there with something changed. */
static struct json change(
    struct desk *r, const char *object, const char *subresource, const struct json_field *fields)
{
    struct json v = desk_do(r, "GET", object, NULL);
    for (; fields->path; fields++)
        v = json_with(test_arena(), v, fields->path, fields->value);
    const char *target = arena_printf(test_arena(), "%s%s", object, subresource);
    return desk_do(r, "PUT", target, json_to_text(test_arena(), v));
}

TEST(crd_is_established_and_its_kind_is_served)
{
    struct desk r;
    desk_init(&r);
    struct desk_stream *w = desk_watch(&r, CRDS "?watch=1");
    struct desk_answer got = desk_ask(&r, "POST", CRDS, boats("", spec));
    check_int(got.status, 201);
    check_json(json_get(got.body, "status"),
        "{'acceptedNames':{'kind':'','plural':''},'conditions':null,'storedVersions':['v1']}");
    check_text(json_get_text(got.body, "spec.names.singular"), "boat");
    check_text(json_get_text(got.body, "spec.conversion.strategy"), "None");
    check_text(desk_event(w, NULL), "ADDED boats.sea.example.com");
    check_text(desk_event(w, NULL), "MODIFIED boats.sea.example.com");
    struct json crd;
    check_text(desk_event(w, &crd), "MODIFIED boats.sea.example.com");
    check_text(desk_event(w, NULL), "");
    check_text(condition(crd, "NamesAccepted", "reason"), "NoConflicts");
    check_text(condition(crd, "Established", "status"), "True");
    check_text(json_get_text(crd, "status.acceptedNames.listKind"), "BoatList");
    check_text(json_get_text(crd, "metadata.managedFields.0.manager"), "kube-apiserver");

    struct json boat = desk_do(&r,
        "POST",
        BOATS,
        "{'apiVersion':'sea.example.com/v1','kind':'Boat','metadata':{'name':'a'},"
        "'spec':{'name':'x','foreign':1}}");
    check_json(json_get(boat, "spec"), "{'crew':2,'name':'x'}");
    check_int(json_get_int(boat, "metadata.generation", 0), 1);
    struct json list = desk_do(&r, "GET", BOATS, NULL);
    check_text(json_get_text(list, "kind"), "BoatList");
    desk_done(&r);
}

TEST(crd_refuses_objects_in_the_words_of_the_api_server)
{
    struct desk r;
    desk_init(&r);
    desk_do(&r, "POST", CRDS, boats("", spec));
    struct desk_answer got = desk_ask(&r,
        "POST",
        BOATS,
        "{'apiVersion':'sea.example.com/v1','kind':'Boat','metadata':{'name':'a'},"
        "'spec':{'crew':0,'name':5}}");
    check_int(got.status, 422);
    check_text(json_get_text(got.body, "message"),
        "Boat.sea.example.com \"a\" is invalid: [spec.crew: Invalid value: 0: spec.crew in body "
        "should be greater than or equal to 1, spec.name: Invalid value: \"integer\": spec.name in "
        "body must be of type string: \"integer\"]");
    check_text(json_get_text(got.body, "details.causes.1.reason"), "FieldValueTypeInvalid");
    got = desk_ask(&r,
        "POST",
        BOATS "?fieldValidation=Strict",
        "{'apiVersion':'sea.example.com/v1','kind':'Boat','metadata':{'name':'a'},"
        "'spec':{'foreign':1}}");
    check_int(got.status, 400);
    test_check_part(json_get_text(got.body, "message"),
        "unknown field \"spec.foreign\"",
        "message",
        __FILE__,
        __LINE__);
    desk_done(&r);
}

TEST(crd_that_is_wrong_is_refused)
{
    struct desk r;
    desk_init(&r);
    struct desk_answer got = desk_ask(&r, "POST", CRDS, boats("", "{'properties':{'a':{}}}"));
    check_int(got.status, 422);
    check_int(json_get(got.body, "details.causes").count, 2);
    check_text(json_get_text(got.body, "details.causes.0.field"),
        "spec.validation.openAPIV3Schema.properties[spec].properties[a].type");
    check_text(json_get_text(got.body, "details.causes.1.field"),
        "spec.validation.openAPIV3Schema.properties[spec].type");
    got = desk_ask(&r, "POST", CRDS, boats("", "{'type':'object','maxLength':'x'}"));
    check_int(got.status, 400);
    desk_done(&r);
}

/* The paths below the schema of spec, one a line. */
static const char *faults(struct desk *r, const char *schema)
{
    static const char at[] = "spec.validation.openAPIV3Schema.properties[spec]";
    struct desk_answer got = desk_ask(r, "POST", CRDS, boats("", schema));
    const char *text = "";
    json_each (cause, json_get(got.body, "details.causes")) {
        const char *path = json_get_text(*cause, "field");
        path += text_starts(path, at) ? sizeof(at) - 1 : 0;
        text = arena_printf(test_arena(), "%s%s\n", text, path);
    }
    return text;
}

TEST(crd_faults_of_one_step_silence_those_of_the_next)
{
#define RULES "'x-kubernetes-validations':[{'rule':'self.nope'}]"
#define BAD_DEFAULT "'d':{'type':'integer','default':'x'}"
#define BAD_WORD "'w':{'type':'integer','x-kubernetes-list-type':'set'}"
#define GOOD_WITH_RULE "'r':{'type':'integer'," RULES "}"
    static const struct {
        const char *schema, *paths;
    } cases[] = {
        /* A form that is wrong: neither defaults nor expressions are looked at. */
        { "{'properties':{'a':{}," BAD_DEFAULT "," BAD_WORD "," GOOD_WITH_RULE "}}",
            ".properties[a].type\n.type\n.properties[w].type\n" },
        /* A default: no expressions. */
        { "{'type':'object','properties':{" BAD_DEFAULT "," BAD_WORD "," GOOD_WITH_RULE "}}",
            ".properties[d].default\n.properties[w].type\n" },
        /* A word: no expressions there and above. */
        { "{'type':'object'," RULES ",'properties':{" BAD_WORD "," GOOD_WITH_RULE "}}",
            ".properties[w].type\n.properties[r].x-kubernetes-validations[0].rule\n" },
        { "{'type':'object'," RULES ",'properties':{" GOOD_WITH_RULE "}}",
            ".properties[r].x-kubernetes-validations[0].rule\n"
            ".x-kubernetes-validations[0].rule\n" },
        /* What cannot be structural: not the form either; fields of rules always. */
        { "{'$ref':'x','properties':{'a':{'x-kubernetes-validations':[{'rule':''}]}," BAD_DEFAULT
          "}}",
            ".$ref\n.properties[a].x-kubernetes-validations[0].rule\n" },
    };
    struct desk r;
    desk_init(&r);
    for (size_t i = 0; i < lengthof(cases); i++)
        check_text(faults(&r, cases[i].schema), cases[i].paths);
    desk_done(&r);
}

TEST(crd_keys_twice_in_a_json_patch_are_told_where_they_end_up)
{
    struct desk r;
    desk_init(&r);
    desk_do(&r,
        "POST",
        CRDS,
        boats("", "{'type':'object','x-kubernetes-preserve-unknown-fields':true}"));
    desk_do(&r,
        "POST",
        BOATS,
        "{'apiVersion':'sea.example.com/v1','kind':'Boat','metadata':{'name':'a'},'spec':{}}");
    struct desk_answer got = desk_ask_as(&r,
        "PATCH",
        BOATS "/a",
        "application/json-patch+json",
        NULL,
        "[{'op':'add','path':'/spec/x','value':{'b':{'c':1,'c':2},'a':1,'a':2}},"
        "{'op':'add','path':'/spec/x/b/d','value':1},{'op':'move','from':'/spec/x','path':'/spec/y'"
        "},{'op':'add','path':'/spec/z','value':{'a':1,'a':2},'why':1}]");
    check_int(got.status, 200);
    check_text(got.warnings[0], "299 - \"json patch duplicate field \\\"[0].value.b.c\\\"\"");
    check_text(got.warnings[1], "299 - \"json patch duplicate field \\\"[0].value.a\\\"\"");
    check_text(got.warnings[2], "299 - \"json patch duplicate field \\\"[3].value.a\\\"\"");
    check_text(got.warnings[3], "299 - \"json patch unknown field \\\"[3].why\\\"\"");
    check_text(got.warnings[4], "299 - \"duplicate field \\\"spec.z.a\\\"\"");
    check(!got.warnings[5]);
    desk_done(&r);
}

TEST(crd_keeps_status_and_generation_apart)
{
    struct desk r;
    desk_init(&r);
    desk_do(&r, "POST", CRDS, boats(",'subresources':{'status':{}}", spec));
    struct json boat = desk_do(&r,
        "POST",
        BOATS,
        "{'apiVersion':'sea.example.com/v1','kind':'Boat','metadata':{'name':'a'},"
        "'status':{'x':1}}");
    check(!json_present(json_get(boat, "status")));
    struct json_field changes[] = {
        { "status", test_json("{'at':'sea'}") }, { "spec.crew", json_int(9) }, { 0 }
    };
    boat = change(&r, BOATS "/a", "/status", changes);
    check_json(json_get(boat, "status"), "{'at':'sea'}");
    check(!json_present(json_get(boat, "spec")));
    check_int(json_get_int(boat, "metadata.generation", 0), 1);
    changes[0].value = test_json("{'at':'land'}");
    boat = change(&r, BOATS "/a", "", changes);
    check_text(json_get_text(boat, "status.at"), "sea");
    check_int(json_get_int(boat, "metadata.generation", 0), 2);
    desk_done(&r);
}

TEST(crd_goes_with_its_objects)
{
    struct desk r;
    desk_init(&r);
    desk_do(&r, "POST", CRDS, boats("", spec));
    desk_do(&r,
        "POST",
        BOATS,
        "{'apiVersion':'sea.example.com/v1','kind':'Boat','metadata':{'name':'a'}}");
    desk_do(&r,
        "POST",
        BOATS,
        "{'apiVersion':'sea.example.com/v1','kind':'Boat','metadata':{'name':'b',"
        "'finalizers':['sea.example.com/rope']}}");
    struct desk_stream *w = desk_watch(&r, BOATS "?watch=1");
    check_text(desk_event(w, NULL), "ADDED a");
    check_text(desk_event(w, NULL), "ADDED b");
    struct json crd = desk_do(&r, "DELETE", CRDS "/boats.sea.example.com", NULL);
    check_text(
        json_get_text(crd, "metadata.finalizers.0"), "customresourcecleanup.apiextensions.k8s.io");
    check_text(condition(crd, "Terminating", "reason"), "InstanceDeletionPending");
    check_text(desk_event(w, NULL), "DELETED a");
    check_text(desk_event(w, NULL), "MODIFIED b");
    check_text(desk_event(w, NULL), "");
    crd = desk_do(&r, "GET", CRDS "/boats.sea.example.com", NULL);
    check_text(condition(crd, "Terminating", "reason"), "InstanceDeletionInProgress");
    struct desk_answer got = desk_ask(&r,
        "POST",
        BOATS,
        "{'apiVersion':'sea.example.com/v1','kind':'Boat','metadata':{'name':'c'}}");
    check_int(got.status, 403);
    check_text(json_get_text(got.body, "message"),
        "boats.sea.example.com \"c\" is forbidden: create not allowed while custom resource "
        "definition is terminating");
    const struct json_field let_go[] = { { "metadata.finalizers", { 0 } }, { 0 } };
    change(&r, BOATS "/b", "", let_go);
    check_text(desk_event(w, NULL), "DELETED b");
    check_text(desk_event(w, NULL), "end");
    check_int(desk_ask(&r, "GET", CRDS "/boats.sea.example.com", NULL).status, 404);
    check_int(desk_ask(&r, "GET", BOATS, NULL).status, 404);
    /* The same again is a new one. */
    desk_do(&r, "POST", CRDS, boats("", spec));
    check_int(json_get(desk_do(&r, "GET", BOATS, NULL), "items").count, 0);
    desk_done(&r);
}

TEST(crd_waits_for_a_name_that_another_has)
{
    struct desk r;
    desk_init(&r);
    desk_do(&r, "POST", CRDS, boats("", spec));
    desk_do(&r,
        "POST",
        CRDS,
        "{'apiVersion':'apiextensions.k8s.io/v1','kind':'CustomResourceDefinition','metadata':"
        "{'name':'ships.sea.example.com'},'spec':{'group':'sea.example.com','scope':'Namespaced',"
        "'names':{'plural':'ships','kind':'Ship','shortNames':['bo']},'versions':[{'name':'v1',"
        "'served':true,'storage':true,'schema':{'openAPIV3Schema':{'type':'object'}}}]}}");
    struct json crd = desk_do(&r, "GET", CRDS "/ships.sea.example.com", NULL);
    check_text(condition(crd, "NamesAccepted", "reason"), "ShortNamesConflict");
    check_text(condition(crd, "NamesAccepted", "message"), "\"bo\" is already in use");
    check_text(condition(crd, "Established", "reason"), "NotAccepted");
    check_int(desk_ask(&r, "GET", "/apis/sea.example.com/v1/ships", NULL).status, 404);
    desk_do(&r, "DELETE", CRDS "/boats.sea.example.com", NULL);
    check_int(desk_ask(&r, "GET", "/apis/sea.example.com/v1/ships", NULL).status, 200);
    desk_done(&r);
}

TEST(crd_serves_several_versions_of_one_object)
{
    struct desk r;
    desk_init(&r);
    static const char versions[] =
        "{'apiVersion':'apiextensions.k8s.io/v1','kind':'CustomResourceDefinition','metadata':"
        "{'name':'boats.sea.example.com'%s},'spec':{'group':'sea.example.com','scope':'Cluster',"
        "'names':{'plural':'boats','kind':'Boat'},'versions':[{'name':'v1alpha1','served':true,"
        "'storage':%s,'deprecated':true,'schema':{'openAPIV3Schema':{'type':'object','properties':"
        "{'a':{'type':'string'},'b':{'type':'string'}}}}},{'name':'v1','served':true,'storage':%s,"
        "'schema':{'openAPIV3Schema':{'type':'object','properties':{'a':{'type':'string'}}}}}]}}";
    desk_do(&r, "POST", CRDS, arena_printf(test_arena(), versions, "", "true", "false"));
    struct desk_answer got = desk_ask(&r,
        "POST",
        "/apis/sea.example.com/v1alpha1/boats",
        "{'apiVersion':'sea.example.com/v1alpha1','kind':'Boat','metadata':{'name':'x'},'a':'1',"
        "'b':'2'}");
    check_int(got.status, 201);
    check_text(got.warnings[0],
        "299 - \"sea.example.com/v1alpha1 Boat is deprecated; use "
        "sea.example.com/v1 Boat\"");
    struct json boat = desk_do(&r, "GET", "/apis/sea.example.com/v1/boats/x", NULL);
    check_text(json_get_text(boat, "apiVersion"), "sea.example.com/v1");
    check_text(json_get_text(boat, "a"), "1");
    check(!json_present(json_get(boat, "b")));
    struct json crd = desk_do(&r, "GET", CRDS "/boats.sea.example.com", NULL);
    const char *version = arena_printf(
        test_arena(), ",'resourceVersion':'%s'", json_get_text(crd, "metadata.resourceVersion"));
    crd = desk_do(&r,
        "PUT",
        CRDS "/boats.sea.example.com",
        arena_printf(test_arena(), versions, version, "false", "true"));
    check_json(json_get(crd, "status.storedVersions"), "['v1alpha1','v1']");
    boat = desk_do(&r, "GET", "/apis/sea.example.com/v1alpha1/boats/x", NULL);
    check_text(json_get_text(boat, "b"), "2");
    desk_done(&r);
}

TEST(crd_objects_with_new_finalizers_that_name_no_domain_are_warned_about)
{
#define PREFER "prefer a domain-qualified finalizer name"
#define AVOID " to avoid accidental conflicts with other finalizer writers"
    struct desk r;
    desk_init(&r);
    desk_do(&r, "POST", CRDS, boats("", spec));
    struct desk_answer got = desk_ask(&r,
        "POST",
        BOATS,
        "{'apiVersion':'sea.example.com/v1','kind':'Boat','metadata':{'name':'x','finalizers':["
        "'mine.example.com','mine','example.com/mine','orphan']}}");
    check_text(got.warnings[0], "299 - \"metadata.finalizers: \\\"mine\\\": " PREFER AVOID "\"");
    check_text(got.warnings[1],
        "299 - \"metadata.finalizers: \\\"mine.example.com\\\": " PREFER
        " including a path (/)" AVOID "\"");
    check(!got.warnings[2]);
    got = desk_ask_as(&r,
        "PATCH",
        BOATS "/x",
        "application/merge-patch+json",
        NULL,
        "{'metadata':{'labels':{'a':'b'}}}");
    check_int(got.status, 200);
    check(!got.warnings[0]);
    desk_done(&r);
}

/* Two versions of boats, of which v1 is stored and v2 has one field more. */
static const char *two_versions(const char *more)
{
    return arena_printf(test_arena(),
        "{'apiVersion':'apiextensions.k8s.io/v1','kind':'CustomResourceDefinition','metadata':"
        "{'name':'boats.sea.example.com'},'spec':{'group':'sea.example.com','scope':'Namespaced',"
        "'names':{'plural':'boats','kind':'Boat'},%s'versions':[{'name':'v1','served':true,"
        "'storage':true,'schema':{'openAPIV3Schema':{'type':'object','properties':"
        "{'a':{'type':'string'}}}}},{'name':'v2','served':true,'storage':false,"
        "'schema':{'openAPIV3Schema':{'type':'object','properties':{'a':{'type':'string'},"
        "'b':{'type':'string'}}}}}]}}",
        more);
}

#define BOATS2 "/apis/sea.example.com/v2/namespaces/default/boats"

TEST(crd_with_a_webhook_serves_the_stored_version_alone)
{
    static const char boat[] =
        "{'apiVersion':'sea.example.com/%s','kind':'Boat','metadata':{'name':'x'}}";
    struct desk r;
    desk_init(&r);
    struct desk_answer got = desk_ask(&r,
        "POST",
        CRDS,
        two_versions("'conversion':{'strategy':'Webhook','webhook':{'conversionReviewVersions':"
                     "['v1'],'clientConfig':{'service':{'namespace':'n','name':'s'}}}},"));
    check(got.warnings[0] && strstr(got.warnings[0], "calls no webhooks"));
    check_int(desk_ask(&r, "GET", BOATS2, NULL).status, 200);
    check_int(desk_ask(&r, "POST", BOATS2, arena_printf(test_arena(), boat, "v2")).status, 500);
    desk_do(&r, "POST", BOATS, arena_printf(test_arena(), boat, "v1"));
    got = desk_ask(&r, "GET", BOATS2 "/x", NULL);
    check_int(got.status, 500);
    check_text(json_get_text(got.body, "message"),
        "conversion webhook for sea.example.com/v1, Kind=Boat failed: Post "
        "\"https://s.n.svc:443/?timeout=30s\": this server calls no webhooks");
    check_int(desk_ask(&r, "GET", BOATS2, NULL).status, 500);
    check_int(desk_ask(&r, "DELETE", BOATS2 "/x", NULL).status, 500);
    check_int(desk_ask(&r, "DELETE", BOATS "/x", NULL).status, 200);
    desk_done(&r);
}

TEST(crd_selects_by_its_fields_and_shows_its_columns)
{
    struct desk r;
    desk_init(&r);
    desk_do(&r,
        "POST",
        CRDS,
        boats(",'selectableFields':[{'jsonPath':'.spec.name'}],'additionalPrinterColumns':["
              "{'name':'Crew','type':'integer','jsonPath':'.spec.crew'}]",
            spec));
    static const char boat[] = "{'apiVersion':'sea.example.com/v1','kind':'Boat','metadata':"
                               "{'name':'%s'},'spec':{'name':'%s'}}";
    desk_do(&r, "POST", BOATS, arena_printf(test_arena(), boat, "a", "red"));
    desk_do(&r, "POST", BOATS, arena_printf(test_arena(), boat, "b", "blue"));
    struct json list = desk_do(&r, "GET", BOATS "?fieldSelector=spec.name%3Dblue", NULL);
    check_int(json_get(list, "items").count, 1);
    check_text(json_get_text(list, "items.0.metadata.name"), "b");
    check_int(desk_ask(&r, "GET", BOATS "?fieldSelector=spec.crew%3D2", NULL).status, 400);
    struct json table =
        desk_ask_as(&r, "GET", BOATS, NULL, "application/json;as=Table;v=v1;g=meta.k8s.io", NULL)
            .body;
    check_json(json_get(table, "rows.0.cells"), "['a',2]");
    desk_done(&r);
}

TEST(crd_is_served_again_after_a_restart_with_its_new_defaults)
{
    struct desk r;
    desk_init(&r);
    desk_do(&r, "POST", CRDS, boats("", "{'type':'object','properties':{'a':{'type':'string'}}}"));
    desk_do(&r,
        "POST",
        BOATS,
        "{'apiVersion':'sea.example.com/v1','kind':'Boat','metadata':{'name':'a'},"
        "'spec':{'a':'x'}}");
    struct json crd = test_json(boats("", spec));
    const struct json_field changes[] = { { "spec", json_get(crd, "spec") }, { 0 } };
    change(&r, CRDS "/boats.sea.example.com", "", changes);
    check_json(json_get(desk_do(&r, "GET", BOATS "/a", NULL), "spec"), "{'crew':2}");
    apiserver_free(r.server);
    struct error err;
    r.server = apiserver_new(
        &(struct apiserver_options){ .env = &r.env, .store = r.store, .allow_all = true }, &err);
    check(r.server);
    desk_settle(&r);
    check_json(json_get(desk_do(&r, "GET", BOATS "/a", NULL), "spec"), "{'crew':2}");
    desk_done(&r);
}

/* The generated objects of tests/cluster showed both. */
TEST(crd_objects_have_nulls_that_are_applied_and_not_those_of_a_merge_patch)
{
    struct desk r;
    desk_init(&r);
    const char *any = "{'type':'object','properties':{'name':{'type':'string'},'any':"
                      "{'type':'object','x-kubernetes-preserve-unknown-fields':true}}}";
    desk_do(&r, "POST", CRDS, boats("", any));
    const char *boat = "{'apiVersion':'sea.example.com/v1','kind':'Boat','metadata':{'name':'a'},"
                       "'spec':{'name':null}}";
    struct desk_answer got = desk_ask_as(
        &r, "PATCH", BOATS "/a?fieldManager=m", "application/apply-patch+yaml", NULL, boat);
    check_int(got.status, 422);
    check_text(json_get_text(got.body, "details.causes.0.message"),
        "Invalid value: \"null\": spec.name in body must be of type string: \"null\"");

    desk_do(&r, "POST", BOATS, boat);
    got = desk_ask_as(&r,
        "PATCH",
        BOATS "/a",
        "application/merge-patch+json",
        NULL,
        "{'spec':{'any':{'a':null,'b':[{'c':null},null]}}}");
    check_json(json_get(got.body, "spec"), "{'any':{'b':[{},null]}}");
    desk_done(&r);
}
