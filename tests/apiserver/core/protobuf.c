#include "apiserver/core/protobuf.h"

#include "base/buf.h"
#include "tests/test.h"

static bool decode(struct str body, struct json *ret, struct error *err)
{
    return protobuf_decode(test_arena(), body, NULL, ret, err);
}

/* An envelope of {apiVersion: v1, kind: ConfigMap}; its raw part follows. */
#define CONFIG_MAP                                                                                 \
    "k8s\0\x0a\x0f\x0a\x02v1\x12\x09"                                                              \
    "ConfigMap"

TEST(protobuf_reads_a_config_map)
{
    struct json v;
    struct error err;
    check(decode(
        STR(CONFIG_MAP "\x12\x11\x0a\x07\x0a\x01n\x12\x00\x1a\x00\x12\x06\x0a\x01k\x12\x01v"),
        &v,
        &err));
    check_json(v,
        "{'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'name': 'n'},"
        " 'data': {'k': 'v'}}");
}

/* What is one of two things in JSON, raw JSON, and numbers that are whole. */
TEST(protobuf_reads_the_schema_of_a_definition)
{
    struct json v;
    struct error err;
    check(
        decode(STR("k8s\0\x0a\x33\x0a\x17"
                   "apiextensions.k8s.io/v1\x12\x18"
                   "CustomResourceDefinition\x12_\x12]:[\x22Y\x0aW*\x06objectB\x0a\x0a\x08[1,null]"
                   "I\0\0\0\0\0\0\x14@\x99\x01\0\0\0\0\0\0\xe0\x3f\xc2\x01\x0a\x0a\x08*\x06string"
                   "\xf2\x01\x0d\x08\x01\x12\x09*\x07integer\x8a\x02\x02\x08\x01"
                   "\x82\x02\x0b\x0a\x01k\x12\x06\x12\x01\x61\x12\x01\x62"),
            &v,
            &err));
    check_json(json_get(v, "spec.versions.0.schema.openAPIV3Schema"),
        "{'type': 'object', 'default': [1, null], 'maximum': 5, 'multipleOf': 0.5,"
        " 'items': {'type': 'string'}, 'additionalProperties': {'type': 'integer'},"
        " 'additionalItems': true, 'dependencies': {'k': ['a', 'b']}}");
}

TEST(protobuf_skips_fields_that_it_does_not_know)
{
    struct json v;
    struct error err;
    check(decode(STR(CONFIG_MAP "\x12\x06\xa0\x3f\x05\xaa\x3f\x00"), &v, &err));
    check_json(v, "{'apiVersion': 'v1', 'kind': 'ConfigMap'}");
}

TEST(protobuf_refuses_what_is_none)
{
    struct json v;
    struct error err;
    check_fails(decode(STR("{}"), &v, &err), err, "expected prefix [107 56 115 0]");
    check_fails(decode(STR("k8s\0\x0a\x7f"), &v, &err), err, "unexpected EOF");
    check_fails(decode(STR("k8s\0\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"), &v, &err),
        err,
        "unexpected EOF");
    check_fails(decode(STR(CONFIG_MAP "\x12\x02\x10\x01"), &v, &err), /* data: 1 */
        err,
        "proto: wrong wireType = 0 for field Data");
    check_fails(decode(STR(CONFIG_MAP "\x12\x02\x02\x00"), &v, &err), err, "illegal tag 0");
    check_fails(decode(STR(""), &v, &err), err, "empty data");
    check_fails(decode(STR("k8s\0"), &v, &err), err, "empty body");
    check_fails(decode(STR(CONFIG_MAP "\x12\x05\x0a\x03\x0a\x01\xff"), &v, &err), err, "not UTF-8");
    check_fails(decode(STR("k8s\0\x0a\x06\x0a\x01v\x12\x01X"), &v, &err),
        err,
        "no kind \"X\" is registered for version \"v\" in scheme \"pkg/runtime/scheme.go:111\"");
    check(err.code == ERR_UNSUPPORTED);
}

TEST(protobuf_takes_its_type_from_its_place_if_it_does_not_say_it)
{
    struct json v;
    struct error err;
    static const struct protobuf_type usual = { "v1", "ConfigMap" };
    check(protobuf_decode(test_arena(), STR("k8s\0\x12\x00"), &usual, &v, &err));
    check_json(v, "{'apiVersion': 'v1', 'kind': 'ConfigMap'}");
    check(!protobuf_decode(test_arena(), STR("k8s\0\x0a\x04\x0a\x02v9\x12\x00"), &usual, &v, &err));
    check_json(v, "{'apiVersion': 'v9', 'kind': 'ConfigMap'}");
}

TEST(protobuf_stays_within_its_arena)
{
    struct arena small;
    arena_init(&small, 4096);
    struct json v;
    struct error err;
    struct buf b = BUF_INIT(1 << 20);
    buf_add(&b, CONFIG_MAP "\x12\xd0\x8c\x01", sizeof(CONFIG_MAP "\x12\xd0\x8c\x01") - 1);
    for (int i = 0; i < 2250; i++) /* 2250 entries of the same key, 8 bytes each: 18000 */
        buf_add(&b, "\x12\x06\x0a\x01k\x12\x01v", 8);
    check(protobuf_decode(&small, buf_str(&b), NULL, &v, &err));
    check(arena_overflowed(&small));
    arena_done(&small);
    check(decode(buf_str(&b), &v, &err));
    check_json(json_member(v, "data"), "{'k': 'v'}");
    buf_done(&b);
}
