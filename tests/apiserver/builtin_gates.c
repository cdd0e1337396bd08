#include "apiserver/builtin_rules.h"

#include "tests/test.h"

TEST(a_field_of_a_feature_that_is_off_stays_only_where_it_was)
{
    struct api_kind set = { .resource = { .group = "apps", .kind = "StatefulSet" } };
    struct api_write w = { .kind = &set, .arena = test_arena() };
    struct json with =
        test_json("{'spec':{'updateStrategy':{'rollingUpdate':{'maxUnavailable':2,'partition':1}},'"
                  "template':{"
                  "'spec':{'containers':[{'name':'c','lifecycle':{'stopSignal':'SIGUSR1'}}],"
                  "'volumes':[{'projected':{'sources':[{'podCertificate':{}}]}}]}}}}");
    struct json got = builtin_drop_gated(&w, with);
    check(!json_present(json_get(got, "spec.updateStrategy.rollingUpdate.maxUnavailable")));
    check_int(json_get_int(got, "spec.updateStrategy.rollingUpdate.partition", 0), 1);
    check(!json_present(json_get(got, "spec.template.spec.containers.0.lifecycle")));
    check_int(json_get(got, "spec.template.spec.volumes.0.projected.sources.0").count, 0);
    w.old = with;
    check(json_equal(builtin_drop_gated(&w, with), with));
}
