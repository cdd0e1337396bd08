/* Webhooks, their patches and signatures. */

#include "base/hash.h"
#include "mcp/middleware/patch.h"
#include "tests/mcp/quay.h"

#define HOOK(type, policy)                                                                         \
    "{'transport': 'streamable-http', 'middleware_configs': [{'type': 'auth'}, {'type': '" type    \
    "-webhook', 'parameters': {'server_name': 's', 'transport': 'streamable-http', 'webhooks': [{" \
    "'name': 'w', 'url': '@SERVICE@/hook', 'failure_policy': '" policy                             \
    "', 'timeout': 2000000000, 'hmac_secret_ref': 'KEY,target=x', 'tls_config': "                  \
    "{'insecure_skip_verify': true}}]}}]}"
#define CALL "{'jsonrpc': '2.0', 'id': 1, 'method': 'tools/call', 'params': {'name': 'old'}}"

static int ask(struct quay *q, int status, const char *answer)
{
    struct quay_service services[] = { { "/hook", status, answer }, { 0 } };
    q->services = services;
    int got;
    quay_ask(q, "", CALL, &got);
    return got;
}

TEST(mcp_validating_webhooks_refuse)
{
    cleanup(quay_close) struct quay q;
    quay_open(&q, HOOK("validating", "fail"));
    check_int(ask(&q, 200, "{\"allowed\":true}"), 200);
    check_int(ask(&q, 200, "{\"allowed\":false}"), 403);
    check_int(ask(&q, 200, "no json"), 403);
    check_int(ask(&q, 500, "{\"allowed\":true}"), 403);
    check_int(ask(&q, 422, ""), 403);
    check_int((int64_t)q.seen_count, 1);
    struct json question = test_json(q.asked[0].body);
    check_text(json_get_text(question, "version"), "v0.1.0");
    check_text(json_get_text(question, "mcp_request.params.name"), "old");
    check_text(json_get_text(question, "context.server_name"), "s");
    check(json_get_text(question, "principal.sub"));
}

TEST(mcp_webhooks_that_fail_count_as_their_policy_says)
{
    cleanup(quay_close) struct quay q;
    quay_open(&q, HOOK("validating", "ignore"));
    check_int(ask(&q, 500, ""), 200);
    check_int(ask(&q, 422, ""), 403);
    check_int(ask(&q, 200, "{\"allowed\":false}"), 403);
}

TEST(mcp_mutating_webhooks_patch_what_goes_on)
{
    cleanup(quay_close) struct quay q;
    quay_open(&q, HOOK("mutating", "fail"));
    check_int(ask(&q,
                  200,
                  "{\"allowed\":true,\"patch_type\":\"json_patch\",\"patch\":[{\"op\":\"replace\","
                  "\"path\":\"/mcp_request/params/name\",\"value\":\"new\"}]}"),
        200);
    check(strstr(q.seen[0].body, "\"name\":\"new\""));
    static const char *const bad[] = {
        "[{\"op\":\"replace\",\"path\":\"/principal/sub\",\"value\":\"root\"}]",
        "[{\"op\":\"remove\",\"path\":\"/mcp_request/method\"}]",
        "[{\"op\":\"remove\",\"path\":\"/mcp_request/nothing\"}]",
        "[{\"op\":\"grow\",\"path\":\"/mcp_request/id\"}]",
        "7",
    };
    for (size_t i = 0; i < lengthof(bad); i++)
        check_int(ask(&q,
                      200,
                      arena_printf(test_arena(),
                          "{\"allowed\":true,\"patch_type\":\"json_patch\",\"patch\":%s}",
                          bad[i])),
            500);
    check_int(ask(&q, 422, ""), 422);
    check_int((int64_t)q.seen_count, 1);
}

TEST(mcp_webhooks_are_signed)
{
    /* The signature of a fixed text, as openssl dgst -hmac makes it. */
    uint8_t digest[SHA256_BYTES];
    hmac_sha256(STR("hush"), STR("17.{\"a\":1}"), digest);
    check_text(hex_encode(test_arena(), (struct str){ (const char *)digest, sizeof(digest) }),
        "1d726ec59c01e35ff249b20435414175159328c566869f649134ef59b43bf32e");
    cleanup(quay_close) struct quay q;
    quay_open(&q, HOOK("validating", "fail"));
    ask(&q, 200, "{\"allowed\":true}");
    const struct quay_request *r = &q.asked[0];
    const char *text = arena_printf(test_arena(), "%s.%s", r->timestamp, r->body);
    hmac_sha256(STR("hush"), str_of(text), digest);
    check_text(r->signature,
        arena_printf(test_arena(),
            "sha256=%s",
            hex_encode(test_arena(), (struct str){ (const char *)digest, sizeof(digest) })));
}

TEST(mcp_patches_follow_rfc_6902)
{
    static const struct {
        const char *document, *patch, *want; /* want NULL: it fails */
    } cases[] = {
        { "{'a': [1, 2]}", "[{'op': 'add', 'path': '/a/1', 'value': 9}]", "{\"a\":[1,9,2]}" },
        { "{'a': [1]}", "[{'op': 'add', 'path': '/a/-', 'value': 9}]", "{\"a\":[1,9]}" },
        { "{'a': [1]}", "[{'op': 'add', 'path': '/a/2', 'value': 9}]", NULL },
        { "{'a': [1, 2]}", "[{'op': 'remove', 'path': '/a/0'}]", "{\"a\":[2]}" },
        { "{'a': [1, 2]}", "[{'op': 'replace', 'path': '/a/1', 'value': 3}]", "{\"a\":[1,3]}" },
        { "{'a': 1}", "[{'op': 'move', 'from': '/a', 'path': '/b'}]", "{\"b\":1}" },
        { "{'a': 1}", "[{'op': 'copy', 'from': '/a', 'path': '/b'}]", "{\"a\":1,\"b\":1}" },
        { "{'a': 1}", "[{'op': 'test', 'path': '/a', 'value': 1}]", "{\"a\":1}" },
        { "{'a': 1}", "[{'op': 'test', 'path': '/a', 'value': 2}]", NULL },
        { "{'a/b': {'~': 1}}", "[{'op': 'remove', 'path': '/a~1b/~0'}]", "{\"a/b\":{}}" },
        { "{'a': 1}", "[{'op': 'add', 'path': '/b/c', 'value': 1}]", NULL },
        { "{'a': {'b': {}}}",
            "[{'op': 'add', 'path': '/a/b/c', 'value': null}]",
            "{\"a\":{\"b\":{\"c\":null}}}" },
        { "{'a': 1}", "[{'op': 'replace', 'path': '/b', 'value': 1}]", NULL },
        { "{'a': 1}", "[{'op': 'add', 'path': '/b'}]", NULL },
        { "{'a': 1}", "[{'op': 'add'}]", NULL },
        { "{'a': 1}", "[7]", NULL },
    };
    for (size_t i = 0; i < lengthof(cases); i++) {
        struct json got;
        bool ok = patch_apply(
            test_arena(), test_json(cases[i].document), test_json(cases[i].patch), "/", &got, NULL);
        check_int(ok, cases[i].want != NULL);
        if (ok)
            check_text(json_to_text(test_arena(), got), cases[i].want);
    }
}
