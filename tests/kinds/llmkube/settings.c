#include "kinds/llmkube/settings.h"

#include "tests/test.h"

static bool set(struct llmkube_settings *s, const char *name, const char *value, struct error *err)
{
    return setting_set(test_arena(), llmkube_flags, s, name, value, err);
}

TEST(flags_of_the_manager_are_read)
{
    struct llmkube_settings s = llmkube_settings_default;
    struct error err;
    check(set(&s, "model-cache-path", "", &err) && text_eq(s.model_cache_path, ""));
    check(set(&s, "model-cache-path", "/srv/cache/", &err));
    check_text(s.model_cache_path, "/srv/cache");
    check(set(&s, "model-cache-size", "7Gi", &err) && text_eq(s.model_cache_size, "7Gi"));
    check(set(&s, "model-cache-storage-class", "fast", &err));
    check_text(s.model_cache_storage_class, "fast");
    check(set(&s, "model-cache-storage-class", "", &err) && !s.model_cache_storage_class);
    check(set(&s, "model-cache-mode", "perService", &err));
    check(s.model_cache_mode == CACHE_PER_SERVICE);
    check(set(&s, "model-cache-access-mode", "ReadWriteMany", &err));
    check_text(s.model_cache_access_mode, "ReadWriteMany");
    check(set(&s, "runtime-images", "llamacpp=r.test/l:5, vllm=r.test/v@sha256:ab=", &err));
    check_json(s.runtime_images, "{'llamacpp': 'r.test/l:5', 'vllm': 'r.test/v@sha256:ab='}");
    check(set(&s, "runtime-images", "", &err) && !json_present(s.runtime_images));
    check(set(&s, "gpu-sharing-shared-pool-selector", "pool=shared,tier=b", &err));
    check_json(s.gpu_sharing_shared_pool_selector, "{'pool': 'shared', 'tier': 'b'}");
    check(set(&s, "allowed-remote-hosts", "a.test, 127.0.0.1,", &err));
    check_json(s.allowed_remote_hosts, "['a.test', '127.0.0.1']");
    check(set(&s, "emit-scrape-annotations", NULL, &err) && s.emit_scrape_annotations);
    check(set(&s, "emit-scrape-annotations", "F", &err) && !s.emit_scrape_annotations);
    check(set(&s, "default-fsgroup", "-1", &err) && s.default_fsgroup == -1);
    check(set(&s, "model-revalidate-interval", "1h30m", &err));
    check_int(s.model_revalidate_interval_ms, 5400000);
    check(set(&s, "grafana-dashboard-source", "ns/dash.board", &err));
    check_text(s.grafana_dashboard_source, "ns/dash.board");
}

TEST(bad_flags_name_themselves_and_the_remedy)
{
    static const struct {
        const char *name;
        const char *value;
        const char *says;
    } rows[] = {
        { "runtime-images",
            "ollama=x",
            "--runtime-images=ollama=x: write only the keys llamacpp," },
        { "runtime-images", "vllm=", "--runtime-images=vllm=: write RUNTIME=IMAGE" },
        { "model-cache-size", "big", "write a size above zero, such as 100Gi" },
        { "model-cache-size", "0", "write a size above zero" },
        { "model-cache-path", "cache", "write an absolute path, or nothing" },
        { "model-cache-mode", "both", "write shared or perService" },
        { "model-cache-access-mode", "RWX", "write ReadWriteOnce or ReadWriteMany" },
        { "allowed-host-path-roots", "/a,b", "write absolute paths" },
        { "emit-scrape-annotations", "yes", "write true or false" },
        { "model-revalidate-interval", "soon", "such as 30m or 1h" },
        { "model-revalidate-interval", "1ms", "at least a second" },
        { "dri-render-gid", "x", "write a whole number" },
        { "init-container-image", "", "an image that has sh and curl" },
        { "grafana-dashboard-source", "dash", "write NAMESPACE/NAME" },
        { "model-cache-size", NULL, "--model-cache-size: write --model-cache-size=QUANTITY" },
        { "no-such-flag", "x", "there is no such flag" },
    };
    for (size_t i = 0; i < lengthof(rows); i++) {
        struct llmkube_settings s = llmkube_settings_default;
        struct error err;
        check_fails(set(&s, rows[i].name, rows[i].value, &err), err, rows[i].says);
    }
}

/* Every flag, set to what --help says holds without it, changes nothing that code can see. */
TEST(help_tells_the_true_defaults)
{
    struct llmkube_settings s = llmkube_settings_default;
    const struct llmkube_settings *d = &llmkube_settings_default;
    struct error err;
    for (const struct setting *f = llmkube_flags; f->name; f++) {
        check(!text_empty(f->help) && f->standard);
        if (!set(&s, f->name, f->standard, &err))
            test_fail(__FILE__, __LINE__, "%s", err.text);
    }
    check_text(s.model_cache_path, d->model_cache_path);
    check_text(s.model_cache_size, d->model_cache_size);
    check_text(s.model_cache_access_mode, d->model_cache_access_mode);
    check_text(s.init_container_image, d->init_container_image);
    check_text(s.ca_cert_configmap, d->ca_cert_configmap);
    check_int(s.model_revalidate_interval_ms, d->model_revalidate_interval_ms);
    check_int(s.default_fsgroup, d->default_fsgroup);
    check_int(s.dri_render_gid, d->dri_render_gid);
    check_int(s.model_cache_mode, d->model_cache_mode);
    check(!s.emit_scrape_annotations && !s.enable_pyrra_slo && !json_present(s.runtime_images));
}
