#include "apiserver/builtin/rules.h"

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

TEST(a_lease_and_a_node_lose_what_the_server_has_no_use_for)
{
    struct api_kind lease = { .resource = { .group = "coordination.k8s.io", .kind = "Lease" } },
                    node = { .resource = { .group = "", .kind = "Node" } };
    struct api_write w = { .kind = &lease, .arena = test_arena() };
    struct json got = builtin_drop_gated(
        &w, test_json("{'spec':{'strategy':'s','preferredHolder':'p','holderIdentity':'h'}}"));
    check(json_equal(got, test_json("{'spec':{'holderIdentity':'h'}}")));
    w.kind = &node;
    got = builtin_drop_gated(&w, test_json("{'spec':{'configSource':{},'providerID':'p'}}"));
    check(json_equal(got, test_json("{'spec':{'providerID':'p'}}")));
}
