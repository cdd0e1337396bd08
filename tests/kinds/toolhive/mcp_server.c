#include "kinds/toolhive/mcp_server.h"

#include "tests/kinds/toolhive/toolhive_stage.h"
#include "tests/test.h"

static void add_pod(
    struct stage *s, const char *name, const char *app, const char *ready, const char *state)
{
    stage_add(s,
        arena_printf(s->world.arena,
            "{'apiVersion': 'v1', 'kind': 'Pod', 'metadata': {'name': '%s', 'labels': {'app': "
            "'%s', 'toolhive': 'true', 'toolhive-name': 'weather'}}, 'status': {'phase': "
            "'Running', "
            "'conditions': [{'type': 'Ready', 'status': '%s'}], 'containerStatuses': [{'name': "
            "'c', "
            "'ready': %s, 'state': %s}]}}",
            name,
            app,
            ready,
            text_eq(ready, "True") ? "true" : "false",
            state));
}

/* The proxy answers all the same, but no call succeeds. */
TEST(a_server_whose_pods_all_crash_has_failed_though_its_proxy_runs)
{
    static const char crash[] = "{'waiting': {'reason': 'CrashLoopBackOff'}}";
    struct stage s;
    toolhive_stage_init(&s);
    toolhive_stage_add(&s, "MCPServer", "weather", "{'image': 'i.test/w:1'}");
    add_pod(&s, "proxy", "mcpserver", "True", "{'running': {}}");
    stage_run(&s, &toolhive_server_kind, "weather");
    check_text(json_get_text(s.plan.status, "phase"), "Ready");
    add_pod(&s, "weather-0", "weather", "False", crash);
    stage_run(&s, &toolhive_server_kind, "weather");
    check_text(json_get_text(s.plan.status, "phase"), "Failed");
    check(strstr(json_get_text(s.plan.status, "message"), "ends again and again"));
    check_text(stage_condition(&s, "Ready"), "False NotReady");
    add_pod(&s, "weather-1", "weather", "True", "{'running': {}}");
    stage_run(&s, &toolhive_server_kind, "weather");
    check_text(json_get_text(s.plan.status, "phase"), "Ready");
    check_text(stage_condition(&s, "PodsHealthy"), "False CrashLoopBackOff");
}
