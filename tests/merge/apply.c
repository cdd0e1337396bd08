#include "merge/apply.h"
#include "merge/typed.h"
#include "tests/test.h"

static const struct schema *config_maps(void)
{
    static struct schemas *kinds;
    if (!kinds)
        kinds = schemas_new();
    return schema_of(kinds, "", "v1", "ConfigMap");
}

static struct apply_request request(const char *manager, bool force)
{
    return (struct apply_request){
        .schema = config_maps(),
        .api_version = "v1",
        .manager = manager,
        .subresource = "",
        .now = "2026-01-01T00:00:00Z",
        .force = force,
    };
}

static struct json config(const char *data)
{
    return json_fields(test_arena(),
        { "apiVersion", json_str("v1") },
        { "kind", json_str("ConfigMap") },
        { "metadata.name", json_str("x") },
        { "data", test_json(data) });
}

static struct json apply(struct json live, const char *manager, bool force, const char *data)
{
    struct apply_request r = request(manager, force);
    struct apply_result result;
    struct error err;
    check(apply_config(test_arena(), &r, live, config(data), &result, &err));
    return result.object;
}

static struct json update(struct json live, const char *manager, struct json object)
{
    struct apply_request r = request(manager, false);
    struct error err;
    check(apply_update(test_arena(), &r, live, object, &object, &err));
    return object;
}

/* "a:.data.x .data.y|b:…" with a star for updates. */
static const char *owners(struct json object)
{
    struct managers m;
    struct error err;
    struct arena *a = test_arena();
    check(managers_decode(a, json_get(object, "metadata.managedFields"), &m, &err));
    const char *text = "";
    for (size_t i = 0; i < m.count; i++) {
        size_t count;
        const struct field_path *paths = fieldset_paths(a, m.entries[i].set, &count);
        text = arena_printf(a,
            "%s%s%s%s:",
            text,
            i ? "|" : "",
            m.entries[i].manager,
            m.entries[i].applies ? "" : "*");
        for (size_t j = 0; j < count; j++)
            text = arena_printf(a, "%s%s%s", text, j ? " " : "", field_path_text(a, &paths[j]));
    }
    return text;
}

TEST(applies_share_equal_values_and_conflict_over_others)
{
    struct json v = apply(json_none, "a", false, "{'x': '1', 'y': '1'}");
    v = apply(v, "b", false, "{'x': '1', 'z': '1'}");
    check_json(json_member(v, "data"), "{'x': '1', 'y': '1', 'z': '1'}");
    check_text(owners(v), "a:.data.x .data.y|b:.data.x .data.z");
    struct apply_request r = request("c", false);
    struct apply_result result;
    struct error err;
    check_fails(apply_config(test_arena(), &r, v, config("{'x': '2', 'y': '1'}"), &result, &err),
        err,
        "Apply failed with 2 conflicts: conflicts with \"a\":\n- .data.x\nconflicts with "
        "\"b\":\n- .data.x");
    check_int(err.code, ERR_CONFLICT);
    check_int((int64_t)result.conflict_count, 2);
    check_fails(apply_config(test_arena(), &r, v, config("{'z': '2'}"), &result, &err),
        err,
        "Apply failed with 1 conflict: conflict with \"b\": .data.z");
    v = apply(v, "c", true, "{'x': '2'}");
    check_text(owners(v), "a:.data.y|b:.data.z|c:.data.x");
    check_json(json_member(v, "data"), "{'x': '2', 'y': '1', 'z': '1'}");
}

TEST(what_is_no_longer_applied_goes_unless_another_has_it)
{
    struct json v = apply(json_none, "a", false, "{'x': '1', 'y': '1'}");
    v = apply(v, "b", false, "{'x': '1'}");
    v = apply(v, "a", false, "{'z': '1'}");
    check_json(json_member(v, "data"), "{'x': '1', 'z': '1'}");
    check_text(owners(v), "b:.data.x|a:.data.z"); /* b changed nothing and has no time */
    v = apply(v, "b", false, "{}");
    check_json(json_member(v, "data"), "{'z': '1'}");
}

TEST(updates_take_what_they_change_and_remove_from_all)
{
    struct json v = apply(json_none, "a", false, "{'x': '1', 'y': '1', 'w': '1'}");
    struct json changed = json_with(test_arena(), v, "data.x", json_str("2"));
    changed = json_with(test_arena(), changed, "data.y", json_none);
    changed = json_with(test_arena(), changed, "data.z", json_str("1"));
    v = update(v, "u", changed);
    check_text(owners(v), "a:.data.w|u*:.data.x .data.z");
    /* A client that drops managedFields deletes nothing; one that sends an empty list does. */
    struct json bare = json_with(test_arena(), v, "metadata.managedFields", json_none);
    check_text(owners(update(v, "u", bare)), "a:.data.w|u*:.data.x .data.z");
    v = json_with(test_arena(), v, "metadata.uid", json_str("u"));
    struct json reset = json_with(test_arena(), v, "metadata.managedFields", json_empty_list());
    v = update(v, "u", reset);
    check_text(owners(v), "");
    /* From then on nobody is tracked, until somebody applies. */
    v = update(v, "u", json_with(test_arena(), v, "data.x", json_str("3")));
    check_text(owners(v), "");
    v = apply(v, "b", true, "{'w': '1'}");
    check_text(owners(v), "b:.data.w|before-first-apply*:.data .data.w .data.x .data.z");
}

TEST(a_create_owns_what_it_brings)
{
    check_text(owners(update(json_none, "", config("{'x': '1'}"))), "unknown*:.data .data.x");
}

TEST(the_eleventh_updater_folds_the_oldest)
{
    struct json v = apply(json_none, "a", false, "{'x': '1'}");
    for (int i = 0; i < 12; i++) {
        struct apply_request r = request(arena_printf(test_arena(), "u%02d", i), false);
        r.now = arena_printf(test_arena(), "2026-01-01T00:00:%02dZ", i);
        const char *path = arena_printf(test_arena(), "data.k%02d", i);
        struct error err;
        struct json next = json_with(test_arena(), v, path, json_str("1"));
        check(apply_update(test_arena(), &r, v, next, &v, &err));
    }
    struct managers m;
    struct error err;
    check(managers_decode(test_arena(), json_get(v, "metadata.managedFields"), &m, &err));
    check_int((int64_t)m.count, 11);
    check_text(m.entries[1].manager, "ancient-changes");
    check_text(m.entries[1].time, "2026-01-01T00:00:02Z");
    check_int((int64_t)fieldset_size(m.entries[1].set), 3);
    check_text(m.entries[10].manager, "u11");
}

TEST(times_stay_when_nothing_changed)
{
    struct json v = apply(json_none, "a", false, "{'x': '1'}");
    struct apply_request r = request("a", false);
    struct apply_result result;
    struct error err;
    r.now = "2027-01-01T00:00:00Z";
    check(apply_config(test_arena(), &r, v, config("{'x': '1'}"), &result, &err));
    check(json_equal(managers_keep_times(test_arena(), v, result.object), v));
    check(apply_config(test_arena(), &r, v, config("{'x': '2'}"), &result, &err));
    struct json kept = managers_keep_times(test_arena(), v, result.object);
    check_text(json_get_text(kept, "metadata.managedFields.0.time"), "2027-01-01T00:00:00Z");
}

TEST(a_configuration_that_cannot_be_applied_is_refused)
{
    struct apply_request r = request("a", false);
    struct apply_result result;
    struct error err;
    struct arena *a = test_arena();
    struct json none = { 0 }, good = config("{}");
    check_fails(
        apply_config(a, &r, none, json_with(a, good, "apiVersion", json_str("v2")), &result, &err),
        err,
        "Specified patch version: v2, expected: v1");
    check_fails(apply_config(a,
                    &r,
                    none,
                    json_with(a, good, "metadata.managedFields", json_empty_list()),
                    &result,
                    &err),
        err,
        "metadata.managedFields must be nil");
    check_fails(apply_config(a, &r, none, json_with(a, good, "data.x", json_int(1)), &result, &err),
        err,
        ".data.x: expected string, got &value.valueUnstructured{Value:1}");
    struct json broken =
        json_with(a, good, "metadata.managedFields", test_json("[{'operation': 'Steal'}]"));
    check_fails(apply_config(a, &r, broken, good, &result, &err), err, "`Apply` or `Update`");
}

TEST(endpoints_ignore_what_the_server_ignores_there)
{
    struct arena *a = test_arena();
    struct field_path path;
    struct error err;
    check(field_path_parse(a, ".metadata.labels", &path, &err));
    check(fieldset_has(apply_reset_fields(a, "apps", "Deployment", "status", false), &path));
    check(!fieldset_has(apply_reset_fields(a, "apps", "StatefulSet", "status", false), &path));
    check(apply_reset_fields(a, "apps", "Deployment", "scale", false) == NULL);
    check(field_path_parse(a, ".metadata", &path, &err));
    check(fieldset_has(apply_reset_fields(a, "x.dev", "Y", "status", true), &path));
    check(field_path_parse(a, ".status", &path, &err));
    check(fieldset_has(apply_reset_fields(a, "x.dev", "Y", "", true), &path));
}

static const struct schema *only_v1(void *ctx, const char *api_version)
{
    return text_eq(api_version, "v1") ? ctx : NULL;
}

TEST(owners_of_versions_that_are_gone_are_forgotten)
{
    struct json v = apply(json_none, "a", false, "{'x': '1'}");
    struct json entry = json_item(json_get(v, "metadata.managedFields"), 0);
    struct json old = json_overlay(test_arena(),
        entry,
        json_map(test_arena(), { "apiVersion", json_str("v0") }, { "manager", json_str("old") }));
    v = json_with(test_arena(), v, "metadata.managedFields", json_list(test_arena(), entry, old));
    struct apply_versions versions = { .schema_of = only_v1, .ctx = (void *)config_maps() };
    struct apply_request r = request("b", true);
    struct apply_result result;
    struct error err;
    r.versions = &versions;
    check(apply_config(test_arena(), &r, v, config("{'y': '1'}"), &result, &err));
    check_text(owners(result.object), "a:.data.x|b:.data.y");
}
