#include "kinds/llmkube/storage.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/hash.h"
#include "tests/kinds/llmkube/llmkube_stage.h"
#include "tests/test.h"

/* sha256 of the content that the test server gives. */
#define DIGEST "47b5263f2085b207334ee326ee63343bed8b5954dce07202ad8e56ba4410fa72"

static struct model model_of(const char *json)
{
    struct model m;
    struct error err;
    if (!model_read(test_arena(), test_json(json), &m, &err))
        test_fail(__FILE__, __LINE__, "%s", err.text);
    return m;
}

static struct llmkube_settings settings(void)
{
    struct llmkube_settings s = llmkube_settings_default;
    s.allowed_host_path_roots = json_list(test_arena(), json_str("/srv/models"));
    return s;
}

static const struct storage_options shared = { .ns = "ns", .claim = STORAGE_SHARED_CLAIM };

/* ---- programs, for tests/scripts/check to run ---- */

static bool has_prefix(struct json scenario, const char *prefix)
{
    return text_starts(json_get_text(scenario, "name"), prefix);
}

static struct json downloader_of(struct json scenario)
{
    struct arena *a = test_arena();
    struct llmkube_settings s = settings();
    s.ca_cert_configmap = has_prefix(scenario, "trusting") ? "corp-ca" : NULL;
    struct json spec = json_get(scenario, "spec");
    if (json_present(json_get(spec, "sha256")))
        spec = json_with(a, spec, "sha256", json_str(DIGEST));
    struct json object = json_fields(a,
        { "metadata.name", json_get(scenario, "name") },
        { "metadata.namespace", json_str("ns") },
        { "spec", spec },
        { "status.cacheKey", json_str(source_cache_key(a, json_get_text(spec, "source"))) });
    struct model m;
    struct error err;
    if (!model_read(a, object, &m, &err))
        test_fail(__FILE__, __LINE__, "%s", err.text);
    struct storage_options o = shared;
    if (has_prefix(scenario, "uncached"))
        o.claim = NULL;
    struct storage st = storage_of(a, &s, &m, &o);
    return json_find(st.init_containers, "name", "model-downloader");
}

TEST(programs_hold_nothing_that_users_wrote)
{
    struct arena *a = test_arena();
    struct json scenarios = json_item(stage_yaml("tests/scripts/scenarios.yaml"), 0);
    check(scenarios.count > 20);
    struct json_builder b;
    json_builder_init(&b, a);
    json_each (scenario, scenarios) {
        struct json container = downloader_of(*scenario);
        const char *program = json_get_text(container, "command.2");
        check(program && !strstr(program, "HACKED") && !strstr(program, "PORT"));
        check(!strstr(program, "acme") && !strstr(program, "shelf"));
        json_put(&b, json_get_text(*scenario, "name"), container);
    }
    const char *to = getenv("LEEBOARD_PROGRAMS");
    FILE *file = fopen(to ? to : "/dev/null", "w");
    check(file);
    fputs(json_to_text(a, json_map_end(&b)), file);
    check(fclose(file) == 0);
}

TEST(a_program_is_short_and_has_only_what_its_model_needs)
{
    struct llmkube_settings s = settings();
    struct model m = model_of("{'metadata': {'name': 'm', 'namespace': 'ns'},"
                              " 'spec': {'source': 'https://x.test/a.gguf'}}");
    struct storage st = storage_of(test_arena(), &s, &m, &shared);
    const char *program = json_get_text(st.init_containers, "0.command.2");
    check(strlen(program) < 3000);
    check(!strstr(program, "sigv4") && !strstr(program, "sha256") &&
          !strstr(program, "custom-certs"));
    check(!strstr(program, "#+") && !strstr(program, "\n  "));
}

/* ---- volumes ---- */

TEST(the_group_of_the_cache_is_the_services_or_the_operators)
{
    struct llmkube_settings s = settings();
    struct model m =
        model_of("{'metadata': {'name': 'm', 'namespace': 'ns'}, 'spec': {'source':"
                 " 'https://x.test/a.gguf'}, 'status': {'cacheKey': '58cfc6e7ad92d4a3'}}");
    m.cache_key = m.key;
    struct storage_options o = shared;
    struct storage st = storage_of(test_arena(), &s, &m, &o);
    check(
        text_starts(json_get_text(st.init_containers, "0.command.2"), "owner=0:102\nmode=g+rwX\n"));
    o.pod_security = test_json("{'fsGroup': 2000}");
    st = storage_of(test_arena(), &s, &m, &o);
    check(text_starts(json_get_text(st.init_containers, "0.command.2"), "owner=0:2000\n"));
    s.default_fsgroup = 0;
    st = storage_of(test_arena(), &s, &m, &shared);
    check(
        text_starts(json_get_text(st.init_containers, "0.command.2"), "owner=100:100\nmode=770\n"));
}

TEST(a_draft_that_clashes_moves_aside)
{
    struct llmkube_settings s = settings();
    struct model main = model_of("{'metadata': {'name': 'm', 'namespace': 'ns'},"
                                 " 'spec': {'source': 'pvc://one/a.gguf'}}");
    struct model draft = model_of("{'metadata': {'name': 'd', 'namespace': 'ns'},"
                                  " 'spec': {'source': 'pvc://two/b.gguf'}}");
    struct storage x = storage_of(test_arena(), &s, &main, &shared);
    struct storage y = storage_of(test_arena(), &s, &draft, &shared);
    const char *path;
    struct storage both = storage_join_draft(test_arena(), &x, &y, &path);
    check_text(path, "/draft/model-source/b.gguf");
    check_json(both.volumes,
        "[{'name': 'model-source', 'persistentVolumeClaim': {'claimName': 'one', 'readOnly': "
        "true}},"
        " {'name': 'draft-model-source', 'persistentVolumeClaim': {'claimName': 'two', 'readOnly':"
        " true}}]");
    check_json(both.mounts,
        "[{'name': 'model-source', 'mountPath': '/model-source', 'readOnly': true},"
        " {'name': 'draft-model-source', 'mountPath': '/draft/model-source', 'readOnly': true}]");
    both = storage_join_draft(test_arena(), &x, &x, &path);
    check_text(path, "/model-source/a.gguf");
    check_int(both.volumes.count, 1);
    check_int(both.mounts.count, 1);
}

TEST(two_local_models_bring_two_host_files)
{
    struct llmkube_settings s = settings();
    struct model main = model_of("{'metadata': {'name': 'm', 'namespace': 'ns'},"
                                 " 'spec': {'source': '/srv/models/a.gguf'}}");
    struct model draft = model_of("{'metadata': {'name': 'd', 'namespace': 'ns'},"
                                  " 'spec': {'source': '/srv/models/b.gguf'}}");
    main.cache_key = main.key;
    draft.cache_key = draft.key;
    struct storage x = storage_of(test_arena(), &s, &main, &shared);
    struct storage y = storage_of(test_arena(), &s, &draft, &shared);
    const char *path;
    struct storage both = storage_join_draft(test_arena(), &x, &y, &path);
    check_int(both.volumes.count, 3);
    check_text(json_get_text(both.volumes, "2.name"), "draft-host-model");
    check_text(json_get_text(both.volumes, "2.hostPath.path"), "/srv/models/b.gguf");
    check_int(both.init_containers.count, 3);
    check_text(json_get_text(both.init_containers, "2.name"), "draft-model-downloader");
    check_text(json_get_text(both.init_containers, "2.volumeMounts.1.name"), "draft-host-model");
}

TEST(certificates_are_mounted_whatever_the_source_is)
{
    static const char *const sources[] = { "https://x.test/a.gguf", "/srv/models/a.gguf" };
    struct llmkube_settings s = settings();
    s.ca_cert_configmap = "corp-ca";
    for (size_t i = 0; i < lengthof(sources); i++) {
        struct model m = model_of(arena_printf(test_arena(),
            "{'metadata': {'name': 'm', 'namespace': 'ns'}, 'spec': {'source': '%s'}}",
            sources[i]));
        m.cache_key = m.key;
        struct storage st = storage_of(test_arena(), &s, &m, &shared);
        check(json_present(json_find(st.volumes, "name", "custom-ca-cert")));
        struct json mounts = json_get(st.init_containers, "1.volumeMounts");
        check(json_present(json_find(mounts, "name", "custom-ca-cert")));
    }
}

TEST(one_of_several_files_has_a_plain_path)
{
    struct llmkube_settings s = settings();
    struct model m = model_of("{'metadata': {'name': 'm', 'namespace': 'ns'}, 'spec': {'source':"
                              " 'acme/chat', 'files': ['./a//b.gguf'], 'mmproj': './mm.gguf'}}");
    struct storage st = storage_of(test_arena(), &s, &m, &shared);
    check_text(st.model_path, arena_printf(test_arena(), "/models/%s/a/b.gguf", m.key));
    check_text(st.mmproj_path, arena_printf(test_arena(), "/models/%s/mm.gguf", m.key));
}

TEST(claims_have_the_operators_size_class_and_mode)
{
    struct llmkube_settings s = settings();
    s.model_cache_access_mode = "ReadWriteMany";
    s.model_cache_storage_class = "fast";
    check_json(json_get(storage_shared_claim(test_arena(), &s), "spec"),
        "{'accessModes': ['ReadWriteMany'], 'storageClassName': 'fast',"
        " 'resources': {'requests': {'storage': '100Gi'}}}");
    struct json own = storage_service_claim(test_arena(), &s, "svc");
    check_text(json_get_text(own, "metadata.name"), "svc-model-cache");
    check_text(json_get_text(own, "spec.accessModes.0"), "ReadWriteOnce");
}
