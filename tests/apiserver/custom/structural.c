#include "apiserver/custom/structural.h"

#include "tests/test.h"

static const struct structural *compile(const char *schema)
{
    return structural_compile(test_arena(), test_json(schema));
}

/* What is wrong with a value, in one text. */
static const char *faults(const char *schema, const char *value, const char *old)
{
    struct field_errors errors;
    field_errors_init(&errors, test_arena());
    structural_check(compile(schema),
        test_arena(),
        test_json(value),
        json_if(old, test_json(old)),
        false,
        &errors);
    return field_errors_text(&errors);
}

static struct json pruned(const char *schema, const char *value, const char **ret_unknown)
{
    struct field_errors unknown;
    field_errors_init(&unknown, test_arena());
    struct json v = structural_prune(compile(schema), test_arena(), test_json(value), &unknown);
    const char *paths = "";
    for (size_t i = 0; i < unknown.count; i++)
        paths = arena_printf(test_arena(), "%s%s%s", paths, i ? " " : "", unknown.items[i].path);
    *ret_unknown = paths;
    return v;
}

#define SPEC(inner) "{'type':'object','properties':{'spec':" inner "}}"

TEST(structural_prunes_what_the_schema_does_not_have)
{
    static const char schema[] = SPEC(
        "{'type':'object','properties':{'a':{'type':'string'},'l':{'type':'array','items':{'type':"
        "'object','properties':{'b':{'type':'string'}}}},'m':{'type':'object',"
        "'additionalProperties':{'type':'object','properties':{'c':{'type':'string'}}}},'p':{"
        "'type':'object','x-kubernetes-preserve-unknown-fields':true,'properties':{'q':{'type':"
        "'object','properties':{'r':{'type':'string'}}}}},'t':{'type':'object',"
        "'additionalProperties':true}}}");
    const char *unknown;
    struct json v = pruned(schema,
        "{'apiVersion':'v1','kind':'K','metadata':{'name':'n'},'z':1,'spec':{'a':'x','y':1,'l':["
        "{'b':'x'},{'b':'y','w':1}],'m':{'k/1':{'c':'x','v':1}},'p':{'any':{'thing':1},'q':{'r':"
        "'s','u':1}},'t':{'deep':{'gone':1},'flat':1}}}",
        &unknown);
    check_json(v,
        "{'apiVersion':'v1','kind':'K','metadata':{'name':'n'},'spec':{'a':'x','l':[{'b':'x'},"
        "{'b':'y'}],'m':{'k/1':{'c':'x'}},'p':{'any':{'thing':1},'q':{'r':'s'}},'t':{'deep':{},"
        "'flat':1}}}");
    check_text(unknown, "spec.l[1].w spec.m.k/1.v spec.p.q.u spec.t.deep.gone spec.y z");
}

TEST(structural_shares_what_it_does_not_prune)
{
    const char *unknown;
    struct json v = test_json("{'spec':{'a':[1,2]}}");
    struct json same = structural_prune(
        compile(SPEC("{'type':'object','x-kubernetes-preserve-unknown-fields':true}")),
        test_arena(),
        v,
        NULL);
    check(same.members == v.members);
    check_json(pruned("{'type':'object'}", "{'spec':{}}", &unknown), "{}");
}

TEST(structural_drops_nulls_that_stand_for_nothing)
{
    const char *unknown;
    check_json(pruned(SPEC("{'type':'object','properties':{'a':{'type':'string'},'n':{'type':"
                           "'string','nullable':true},'d':{'type':'string','default':'x'}}}"),
                   "{'spec':{'a':null,'n':null,'d':null}}",
                   &unknown),
        "{'spec':{'d':null,'n':null}}");
    check_text(unknown, "");
}

TEST(structural_fills_defaults_in_maps_and_lists)
{
    static const char schema[] =
        SPEC("{'type':'object','default':{},'properties':{'a':{'type':'integer','default':5},'l':{"
             "'type':'array','items':{'type':'object','properties':{'b':{'type':'boolean',"
             "'default':true}}}},'m':{'type':'object','additionalProperties':{'type':'string',"
             "'default':'v'}},'o':{'type':'object','properties':{'c':{'type':'string','default':"
             "'d'}}}}}");
    struct arena *a = test_arena();
    const struct structural *s = compile(schema);
    check_json(structural_fill(s, a, test_json("{}")), "{'spec':{'a':5}}");
    check_json(
        structural_fill(
            s, a, test_json("{'spec':{'a':null,'l':[{},{'b':false}],'m':{'k':null},'o':{}}}")),
        "{'spec':{'a':5,'l':[{'b':true},{'b':false}],'m':{'k':'v'},'o':{'c':'d'}}}");
}

TEST(structural_checks_types_and_limits)
{
    static const struct {
        const char *schema, *value, *faults;
    } rows[] = {
        { "{'type':'string'}",
            "5",
            "spec: Invalid value: \"integer\": spec in body must be of type "
            "string: \"integer\"" },
        { "{'type':'integer'}", "5.0", "" },
        { "{'type':'number'}", "5", "" },
        { "{'x-kubernetes-int-or-string':true}", "'80%'", "" },
        { "{'x-kubernetes-int-or-string':true}",
            "true",
            "spec: Invalid value: \"boolean\": spec in body must be of type integer,string: "
            "\"boolean\"" },
        { "{'type':'string','maxLength':2}",
            "'abc'",
            "spec: Too long: may not be more than 2 bytes" },
        { "{'type':'string','minLength':2}",
            "'\xc3\xa4'",
            "spec: Invalid value: \"\xc3\xa4\": spec in body should be at least 2 chars long" },
        { "{'type':'string','enum':['b','a']}",
            "'<c>'",
            "spec: Unsupported value: \"<c>\": supported values: \"b\", \"a\"" },
        { "{'enum':['a']}", "97", "spec: Unsupported value: 97: supported values: \"a\"" },
        { "{'type':'integer','minimum':2,'exclusiveMinimum':true}",
            "2",
            "spec: Invalid value: 2: spec in body should be greater than 2" },
        { "{'type':'integer','multipleOf':3}",
            "7",
            "spec: Invalid value: 7: spec in body should be a multiple of 3" },
        { "{'type':'number','maximum':1000000}",
            "10000000.5",
            "spec: Invalid value: 1.00000005e+07: spec in body should be less than or equal to "
            "1e+06" },
        { "{'type':'array','items':{'type':'string'},'maxItems':1}",
            "['a','b']",
            "spec: Too many: 2: must have at most 1 item" },
        { "{'type':'array','items':{'type':'string'},'x-kubernetes-list-type':'set'}",
            "['a','b','a','a']",
            "spec[2]: Duplicate value: \"a\"" },
        { "{'type':'string','format':'date-time'}",
            "'now'",
            "spec: Invalid value: \"now\": spec in body must be of type date-time: \"now\"" },
        { "{'type':'object','required':['a','b']}", "{'b':1}", "spec.a: Required value" },
        { "{'type':'string','not':{'maxLength':1}}",
            "'a'",
            "<nil>: Invalid value: \"\": \"spec\" must not validate the schema (not)" },
    };
    for (size_t i = 0; i < lengthof(rows); i++) {
        const char *schema = arena_printf(test_arena(), SPEC("%s"), rows[i].schema);
        const char *value = arena_printf(test_arena(), "{'spec':%s}", rows[i].value);
        check_text(faults(schema, value, NULL), rows[i].faults);
    }
}

TEST(structural_takes_errors_from_the_branch_that_fits_best)
{
    static const char schema[] =
        SPEC("{'type':'object','properties':{'a':{'type':'string'},'b':{'type':'integer'}},"
             "'oneOf':[{'required':['a']},{'required':['b'],'properties':{'b':{'minimum':5}}}]}");
    check_text(faults(schema, "{'spec':{'b':1}}", NULL),
        "[<nil>: Invalid value: \"\": \"spec\" must validate one and only one schema (oneOf). "
        "Found "
        "none valid, spec.b: Invalid value: 1: spec.b in body should be greater than or equal to "
        "5]");
    check_text(faults(schema, "{'spec':{'a':'x','b':7}}", NULL),
        "<nil>: Invalid value: \"\": \"spec\" must validate one and only one schema (oneOf). Found "
        "2 valid alternatives");
}

TEST(structural_lets_stay_wrong_what_did_not_change)
{
    static const char schema[] = SPEC(
        "{'type':'object','properties':{'a':{'type':'string','maxLength':1},'b':{'type':'integer'},"
        "'m':{'type':'array','x-kubernetes-list-type':'map','x-kubernetes-list-map-keys':['k'],"
        "'items':{'type':'object','properties':{'k':{'type':'string'},'v':{'type':'integer',"
        "'maximum':3}}}}}}");
    static const char old[] = "{'spec':{'a':'long','b':1,'m':[{'k':'x','v':9},{'k':'y','v':8}]}}";
    check_text(
        faults(schema, "{'spec':{'a':'long','b':2,'m':[{'k':'y','v':8},{'k':'x','v':9}]}}", old),
        "");
    check_text(faults(schema, "{'spec':{'a':'other','b':1,'m':[{'k':'x','v':7}]}}", old),
        "[spec.a: Too long: may not be more than 1 byte, spec.m[0].v: Invalid value: 7: "
        "spec.m[0].v in body should be less than or equal to 3]");
}

TEST(structural_wants_kinds_of_embedded_resources)
{
    static const char schema[] = SPEC("{'type':'object','x-kubernetes-embedded-resource':true,"
                                      "'x-kubernetes-preserve-unknown-fields':true}");
    check_text(faults(schema, "{'spec':{'kind':'No_'}}", NULL),
        "[spec.apiVersion: Required value, spec.kind: Invalid value: \"No_\": may have mixed case, "
        "but should otherwise match: a DNS-1035 label must consist of lower case alphanumeric "
        "characters or '-', start with an alphabetic character, and end with an alphanumeric "
        "character (e.g. 'my-name',  or 'abc-123', regex used for validation is "
        "'[a-z]([-a-z0-9]*[a-z0-9])?')]");
}

TEST(structural_reads_metadata_of_embedded_resources_as_all_metadata)
{
    static const char schema[] =
        SPEC("{'type':'object','properties':{'list':{'type':'array','items':{'type':'object',"
             "'x-kubernetes-embedded-resource':true,'x-kubernetes-preserve-unknown-fields':true}},"
             "'map':{'type':'object','additionalProperties':{'type':'object','properties':{},"
             "'x-kubernetes-embedded-resource':true}}}}");
    const char *unknown;
    struct json v = pruned(schema,
        "{'spec':{'list':[{'apiVersion':'v1','kind':'K','other':{'metadata':{'bad':1}},'metadata':{"
        "'name':'n','labels':{'a':null},'annotations':{},'creationTimestamp':null,'bad':1,"
        "'generation':2.0,'deletionTimestamp':'2026-01-02T03:04:05.6+01:00'}}],'map':{'k':{"
        "'metadata':null,'gone':1},'l':{'metadata':{'ownerReferences':[{'name':'o','bad':1}]}}}}}",
        &unknown);
    check_json(v,
        "{'spec':{'list':[{'apiVersion':'v1','kind':'K','other':{'metadata':{'bad':1}},'metadata':{"
        "'name':'n','labels':{'a':''},'generation':2,'deletionTimestamp':'2026-01-02T02:04:05Z'}}],"
        "'map':{'k':{'metadata':{}},'l':{'metadata':{'ownerReferences':[{'apiVersion':'','kind':"
        "'','name':'o','uid':''}]}}}}}");
    check_text(unknown,
        "spec.map.k.gone spec.list[0].metadata.bad "
        "spec.map[l].metadata.ownerReferences[0].bad");
}

TEST(structural_leaves_out_what_embedded_metadata_cannot_hold)
{
    static const char schema[] =
        SPEC("{'type':'object','x-kubernetes-embedded-resource':true,'properties':{}}");
    const char *unknown;
    check_json(pruned(schema,
                   "{'spec':{'kind':1,'metadata':{'name':1,'uid':'u','labels':{'a':[]}}}}",
                   &unknown),
        "{'spec':{'metadata':{'uid':'u'}}}");
    check_text(unknown, "spec.kind spec.metadata");
    check_json(pruned(schema, "{'spec':{'metadata':[]}}", &unknown), "{'spec':{'metadata':[]}}");
    check_text(unknown, "spec.metadata");
}

TEST(structural_checks_metadata_of_embedded_resources)
{
    static const char schema[] =
        SPEC("{'type':'array','items':{'type':'object','x-kubernetes-embedded-resource':true,"
             "'x-kubernetes-preserve-unknown-fields':true}}");
    check_text(faults(schema, "{'spec':[{'apiVersion':'v1','kind':'K','metadata':{}}]}", NULL), "");
    check_text(faults(schema,
                   "{'spec':[{'apiVersion':'v1','kind':'K','metadata':{'name':'a/b','generateName':"
                   "'.','namespace':'n','generation':-1,'managedFields':[{'operation':'X'}]}}]}",
                   NULL),
        "[spec[0].metadata.name: Invalid value: \"a/b\": may not contain '/', "
        "spec[0].metadata.generation: Invalid value: -1: must be greater than or equal to 0, "
        "spec[0].metadata.managedFields[0].operation: Invalid value: \"X\": must be `Apply` or "
        "`Update`]");
}

TEST(structural_defaults_hold_metadata_as_it_is_read)
{
    static const char schema[] =
        SPEC("{'type':'object','properties':{'e':{'type':'object','properties':{},"
             "'x-kubernetes-embedded-resource':true,'default':{'apiVersion':'v1','kind':'K',"
             "'metadata':{'name':'n','labels':{},'bad':1}}}}}");
    check_json(structural_fill(compile(schema), test_arena(), test_json("{'spec':{}}")),
        "{'spec':{'e':{'apiVersion':'v1','kind':'K','metadata':{'name':'n'}}}}");
}
