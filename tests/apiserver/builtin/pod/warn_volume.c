#include "tests/apiserver/desk.h"

TEST(volumes_with_files_in_one_place_are_warned_about)
{
    static const struct {
        const char *source, *first, *second; /* of the warnings, after the volume */
    } rows[] = {
        { "'configMap':{'name':'c','items':[{'key':'a','path':'x'},{'key':'b','path':'x/y//'}]}",
            "(ConfigMap \\\"c\\\"): overlapping paths: \\\"x/y\\\" with \\\"x\\\"" },
        { "'secret':{'secretName':'c','items':[{'key':'a','path':'x'},{'key':'b','path':'xy'}]}" },
        { "'projected':{'sources':[{'secret':{'name':'s','items':[{'key':'a','path':'x/y'}]}},"
          "{'serviceAccountToken':{'path':'x'}}]}",
            "(Projected): overlapping paths: \\\"x\\\" (ServiceAccountToken) with \\\"x/y\\\" "
            "(Secret \\\"s\\\")" },
    };
    struct desk d;
    desk_init_builtin(&d, (struct apiserver_options){ 0 });
    for (size_t i = 0; i < lengthof(rows); i++) {
        struct desk_answer got = desk_ask(&d,
            "POST",
            "/apis/apps/v1/namespaces/default/deployments",
            arena_printf(test_arena(),
                "{'metadata':{'name':'d%zu'},'spec':{'selector':{'matchLabels':{'a':'b'}},"
                "'template':{'metadata':{'labels':{'a':'b'}},'spec':{'containers':[{'name':'c',"
                "'image':'i'}],'volumes':[{'name':'v',%s}]}}}}",
                i,
                rows[i].source));
        const char *want[] = { rows[i].first, rows[i].second };
        check_int(got.status, 201);
        for (size_t j = 0; j < lengthof(want); j++)
            check_text(got.warnings[j],
                want[j] ? arena_printf(test_arena(), "299 - \"volume \\\"v\\\" %s\"", want[j])
                        : NULL);
    }
    desk_done(&d);
}
