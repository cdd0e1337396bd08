#include "kinds/otterscale/otterscale.h"

#include "base/names.h"
#include "tests/test.h"

static bool set(
    struct otterscale_settings *s, const char *name, const char *value, struct error *err)
{
    return setting_set(test_arena(), otterscale_flags, s, name, value, err);
}

TEST(flags_of_otterscales_manager_are_read)
{
    struct otterscale_settings s = otterscale_settings_default;
    struct error err;
    check(set(&s, "default-engine-image", "e:1", &err) && text_eq(s.engine_image, "e:1"));
    check(set(&s, "kit-image", "", &err) && !s.kit_image);
    check(set(&s, "default-gateway-name", "", &err) && !s.gateway);
    check(set(&s, "metrics-endpoint-auth", "false", &err) && !s.metrics_auth);
    check(set(&s, "tracing-enabled", NULL, &err) && s.tracing);
    check(set(&s, "provider", "gke", &err) && text_eq(s.provider, "gke"));
    check_fails(set(&s, "provider", "nginx", &err), err, "write istio, gke or none");
    check_fails(set(&s, "default-gateway-namespace", "A_b", &err), err, "name of a namespace");
}

TEST(the_flags_help_tells_the_default_that_holds)
{
    for (const struct setting *f = otterscale_flags; f->name; f++) {
        struct otterscale_settings s = otterscale_settings_default;
        struct error err;
        check(f->help && f->help[strlen(f->help) - 1] == '.');
        check(set(&s, f->name, f->standard, &err));
        check(memcmp(&s.metrics_auth, &otterscale_settings_default.metrics_auth, 3) == 0);
        const char *const *now = (const char *const *)&s;
        const char *const *standard = (const char *const *)&otterscale_settings_default;
        for (size_t i = 0; i < offsetof(struct otterscale_settings, metrics_auth) / sizeof(*now);
             i++)
            check_text(now[i], standard[i]);
    }
}

TEST(names_are_sanitised_as_upstream_does)
{
    static const char *const rows[][2] = {
        { "qwen3-0.6b-fp8-dynamic", "qwen3-0-6b-fp8-dynamic" },
        { "MyModel_1.0", "mymodel-1-0" },
        { "0.6b", "m-0-6b" },
        { "a--b", "a-b" },
        { "a.-_b", "a-b" },
        { "a/b", "ab" },
        { "---", "modelservice" },
        { "größe", "gre" },
        { "-x-", "x" },
        { "9", "m-9" },
    };
    for (size_t i = 0; i < lengthof(rows); i++)
        check_text(otterscale_sanitized(test_arena(), rows[i][0]), rows[i][1]);
}

TEST(hashed_names_fit_and_differ)
{
    struct arena *a = test_arena();
    char name[254];
    for (size_t length = 1; length < sizeof(name); length++) {
        memset(name, length % 3 ? 'a' : '7', length);
        name[length] = '\0';
        check(name_is_dns1035(otterscale_hashed(a, name, "-epp")));
        check(name_is_label_value(otterscale_base(a, name)));
        if (length <= NAME_LABEL_MAX)
            check_text(otterscale_base(a, name), name);
    }
    check(
        !text_eq(otterscale_hashed(a, "owl-1.5", "-epp"), otterscale_hashed(a, "owl-1-5", "-epp")));
}

TEST(quantities_become_text_and_empty_lists_go)
{
    check_json(otterscale_resources(test_arena(),
                   test_json("{'limits': {'cpu': 2, 'x': 0.1, 'm': '1Gi'}, 'requests': {}}")),
        "{'limits': {'cpu': '2', 'm': '1Gi', 'x': '0.1'}}");
    check_json(otterscale_resources(test_arena(), json_none), "{}");
}
