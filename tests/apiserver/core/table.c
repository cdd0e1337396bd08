#include "apiserver/core/table.h"

#include "base/time.h"
#include "tests/test.h"

TEST(an_age_is_written_as_kubectl_writes_it)
{
    static const struct {
        int64_t seconds;
        const char *text;
    } cases[] = {
        { -60, "<invalid>" },
        { -1, "0s" },
        { 0, "0s" },
        { 119, "119s" },
        { 120, "2m" },
        { 185, "3m5s" },
        { 601, "10m" },
        { 3 * 3600 - 1, "179m" },
        { 3 * 3600 + 300, "3h5m" },
        { 30 * 3600, "30h" },
        { 50 * 3600, "2d2h" },
        { 9 * 86400, "9d" },
        { 730 * 86400, "2y" },
        { 800 * 86400, "2y70d" },
        { 9 * 365 * 86400, "9y" },
    };
    cleanup(arena_done) struct arena a = ARENA_INIT;
    int64_t now_ms = (int64_t)1800000000 * 1000;
    for (size_t i = 0; i < lengthof(cases); i++)
        check_text(table_age(&a, time_format(&a, now_ms - cases[i].seconds * 1000), now_ms),
            cases[i].text);
    check_text(table_age(&a, NULL, now_ms), "<unknown>");
    check_text(table_age(&a, "yesterday", now_ms), "<invalid>");
}

static const struct api_column columns[] = {
    { "Replicas", "integer", "", "", ".spec.replicas", 0 },
    { "Tags", "string", "", "", ".spec.tags", 1 },
    { "Ready", "string", "", "", ".status.conditions[?(@.type==\"Ready\")].status", 0 },
    { "On", "boolean", "", "", ".spec.on", 0 },
    { "Age", "date", "", "", ".metadata.creationTimestamp", 0 },
};
static const struct api_kind widget = {
    .resource = { "example.com", "v1", "Widget", "widgets", false },
    .custom = true,
    .columns = columns,
    .column_count = lengthof(columns),
};
static const struct accept v1 = { .api_version = "meta.k8s.io/v1" };

TEST(a_custom_kind_has_its_name_in_front_of_its_columns)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    static const char object[] =
        "{\"metadata\":{\"name\":\"a\",\"creationTimestamp\":\"2026-01-01T00:00:00Z\","
        "\"resourceVersion\":\"7\"},\"spec\":{\"replicas\":2,\"tags\":[\"x\",\"y z\"]}}";
    struct json v;
    struct error err;
    int64_t now_ms;
    check(json_parse(&a, str_of(object), &v, &err));
    check(time_parse("2026-01-01T01:00:00Z", &now_ms));
    struct json table = table_of_object(&a, &widget, &v1, TABLE_NONE, v, true, now_ms);
    check_text(json_to_text(&a, json_get(table, "rows.0.cells")),
        "[\"a\",2,\"[\\\"x\\\",\\\"y z\\\"]\",null,null,\"60m\"]");
    check(json_is(json_get(table, "rows.0.object"), JSON_NULL));
    check_text(json_get_text(table, "metadata.resourceVersion"), "7");
    check_text(json_get_text(table, "columnDefinitions.0.name"), "Name");
    check(json_get(table, "columnDefinitions").count == lengthof(columns) + 1);
}

TEST(beside_the_cells_stands_what_was_asked_for)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    struct json object = json_fields(&a,
        { "apiVersion", json_str("example.com/v1") },
        { "kind", json_str("Widget") },
        { "metadata.name", json_str("a") },
        { "spec.replicas", json_int(1) });
    struct json row = table_row(&a, &widget, &v1, TABLE_METADATA, object, 0);
    check_text(json_get_text(row, "object.kind"), "PartialObjectMetadata");
    check(!json_present(json_get(row, "object.spec")));
    row = table_row(&a, &widget, &v1, TABLE_OBJECT, object, 0);
    check(json_equal(json_member(row, "object"), object));
    enum table_include include;
    struct error err;
    check(table_include_parse("Object", &include, &err) && include == TABLE_OBJECT);
    check(!table_include_parse("Bad", &include, &err));
}
