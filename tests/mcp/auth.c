/* Who asks: tokens of an issuer, keys that rotate, introspection, metadata. */

#include "tests/jose/vectors.h"
#include "tests/mcp/quay.h"

#define OIDC(more)                                                                                 \
    "{'transport': 'streamable-http', 'middleware_configs': [{'type': 'auth', 'parameters': "      \
    "{'oidc_config': {'Issuer': 'i', 'Audience': 'b', 'JWKSURL': '@SERVICE@/jwks', "               \
    "'AllowPrivateIP': true, 'ResourceURL': 'http://r.test/mcp', 'Scopes': ['mcp']" more "}}}]}"
#define PING "{'jsonrpc': '2.0', 'id': 1, 'method': 'ping'}"

static const struct quay_service issuer[] = { { "/jwks", 200, vector_keys }, { 0 } };

static const char *with(const char *token)
{
    return arena_printf(test_arena(), "authorization: Bearer %s", token);
}

static int ask(struct quay *q, const char *headers)
{
    int status;
    quay_ask(q, headers, PING, &status);
    return status;
}

TEST(mcp_tokens_of_the_issuer_are_taken_and_keys_are_fetched_once)
{
    cleanup(quay_close) struct quay q;
    quay_open(&q, OIDC(""));
    q.services = issuer;
    for (size_t i = 0; i < lengthof(vectors); i++)
        for (int twice = 0; twice < 2; twice++)
            check_int(ask(&q, with(vectors[i].token)), 200);
    check_int((int64_t)q.asked_count, 1);
    check_int((int64_t)q.seen_count, 2 * lengthof(vectors));
}

TEST(mcp_requests_without_a_good_token_are_refused)
{
    static const struct {
        const char *headers, *part;
    } cases[] = {
        { "", "authorization header required" },
        { "authorization: Basic YTpi", "expected 'Bearer <token>'" },
        { "authorization: Bearer abc", "no introspection endpoint" },
        { "authorization: Bearer eyJhbGciOiJub25lIn0.e30.", "unexpected signing method: none" },
        { "authorization: Bearer eyJhbGciOiJSUzI1NiIsImtpZCI6Im4ifQ.e30.", "key ID n not found" },
        { "authorization: Bearer eyJhbGciOiJSUzI1NiIsImtpZCI6InJzYSJ9.e30.", "signature" },
    };
    cleanup(quay_close) struct quay q;
    quay_open(&q, OIDC(""));
    q.services = issuer;
    for (size_t i = 0; i < lengthof(cases); i++) {
        int status;
        check(strstr(quay_ask(&q, cases[i].headers, PING, &status), cases[i].part));
        check_int(status, 401);
    }
    check_int((int64_t)q.seen_count, 0);
    /* Invented key names cause one fetch more: keys may be new. */
    for (int i = 0; i < 5; i++)
        ask(&q, "authorization: Bearer eyJhbGciOiJSUzI1NiIsImtpZCI6Im4ifQ.e30.");
    check_int((int64_t)q.asked_count, 2);
}

TEST(mcp_issuer_and_audience_of_a_token_count)
{
    static const char *const configs[] = { OIDC(", 'Audience': 'c'"), OIDC(", 'Issuer': 'j'") };
    for (size_t i = 0; i < lengthof(configs); i++) {
        cleanup(quay_close) struct quay q;
        quay_open(&q, configs[i]);
        q.services = issuer;
        check_int(ask(&q, with(vectors[0].token)), 401);
    }
}

TEST(mcp_keys_that_cannot_be_fetched_are_not_the_clients_fault)
{
    static const struct quay_service broken[] = { { "/jwks", 500, "" }, { 0 } };
    cleanup(quay_close) struct quay q;
    quay_open(&q, OIDC(""));
    q.services = broken;
    check_int(ask(&q, with(vectors[0].token)), 503);
    q.services = issuer;
    int status = 503;
    while (status == 503)
        status = ask(&q, with(vectors[0].token));
    check_int(status, 200);
}

TEST(mcp_a_client_that_leaves_while_keys_are_fetched_is_forgotten)
{
    static const struct quay_service silent[] = { { "/jwks", 200, NULL }, { 0 } };
    cleanup(quay_close) struct quay q;
    quay_open(&q, OIDC(""));
    q.services = silent;
    struct seen first = { 0 }, second = { 0 };
    quay_post(&q, with(vectors[0].token), PING, &first);
    quay_post(&q, with(vectors[0].token), PING, &second);
    await(&q, q.asked_count == 1);
    http_call_cancel(first.call);
    rig_turn_for(q.loop, 50);
    http_call_cancel(second.call);
    rig_turn_for(q.loop, 50);
    check_int((int64_t)q.asked_count, 1);
}

TEST(mcp_keys_are_found_by_discovery)
{
    struct quay_service found[] = {
        { "/.well-known/openid-configuration", 200, "" }, { "/keys", 200, vector_keys }, { 0 }
    };
    cleanup(quay_close) struct quay q;
    quay_open(&q,
        "{'transport': 'streamable-http', 'middleware_configs': [{'type': 'auth', 'parameters': "
        "{'oidc_config': {'Issuer': '@SERVICE@', 'AllowPrivateIP': true}}}]}");
    found[0].body = arena_printf(
        test_arena(), "{\"jwks_uri\":\"http://127.0.0.1:%u/keys\"}", http_server_port(q.service));
    q.services = found;
    int status;
    /* The token is proved, and of another issuer. */
    check(strstr(quay_ask(&q, with(vectors[0].token), PING, &status), "invalid issuer"));
    check_int((int64_t)q.asked_count, 2);
}

TEST(mcp_opaque_tokens_are_introspected)
{
    struct quay_service server[] = { { "/introspect", 200, "{\"active\":false}" }, { 0 } };
    cleanup(quay_close) struct quay q;
    quay_open(&q, OIDC(", 'IntrospectionURL': '@SERVICE@/introspect', 'ClientID': 'me'"));
    q.services = server;
    check_int(ask(&q, with("opaque")), 401);
    check_text(q.asked[0].body, "token=opaque&token_type_hint=access_token");
    check_text(q.asked[0].authorization, "Basic bWU6aHVzaA==");
    server[0].body =
        "{\"active\":true,\"sub\":\"ann\",\"iss\":\"i\",\"aud\":\"b\",\"exp\":4102444800}";
    check_int(ask(&q, with("opaque")), 200);
    server[0].status = 500;
    check_int(ask(&q, with("opaque")), 503);
}

TEST(mcp_tokens_of_google_and_github_are_checked_their_way)
{
    static const struct {
        const char *path, *config, *good, *bad, *issuer, *audience, *method, *asked, *body;
        int refused;
    } cases[] = {
        { "/oauth2.googleapis.com/tokeninfo",
            "/oauth2.googleapis.com/tokeninfo",
            "{\"sub\":\"7\",\"aud\":\"b\",\"exp\":\"4102444800\",\"email\":\"a@b\"}",
            "{\"sub\":\"7\",\"aud\":\"b\",\"exp\":\"1\"}",
            "https://accounts.google.com",
            "b",
            "GET",
            "/oauth2.googleapis.com/tokeninfo?access_token=ya29.%2Fx",
            "",
            400 },
        { "/api.github.com/applications/me/token",
            "/api.github.com/applications/me/token",
            "{\"user\":{\"id\":42,\"login\":\"ann\"},\"scopes\":[\"repo\",\"user\"],"
            "\"created_at\":\"2026-01-02T03:04:05Z\"}",
            "{\"user\":{\"login\":\"ann\"}}",
            "https://github.com",
            "https://github.com",
            "POST",
            "/api.github.com/applications/me/token",
            "{\"access_token\":\"ya29./x\"}",
            404 },
    };
    for (size_t i = 0; i < lengthof(cases); i++) {
        struct quay_service server[] = { { cases[i].path, 200, cases[i].bad }, { 0 } };
        cleanup(quay_close) struct quay q;
        quay_open(&q,
            arena_printf(test_arena(),
                OIDC(", 'Issuer': '%s', 'Audience': '%s', 'ClientID': 'me', 'IntrospectionURL': "
                     "'@SERVICE@%s'"),
                cases[i].issuer,
                cases[i].audience,
                cases[i].config));
        q.services = server;
        check_int(ask(&q, with("ya29./x")), 401);
        check_text(q.asked[0].method, cases[i].method);
        check_text(q.asked[0].path, cases[i].asked);
        check_text(q.asked[0].body, cases[i].body);
        server[0].status = cases[i].refused;
        check_int(ask(&q, with("ya29./x")), 401);
        server[0].status = 500;
        check_int(ask(&q, with("ya29./x")), 503);
        server[0] = (struct quay_service){ cases[i].path, 200, cases[i].good };
        check_int(ask(&q, with("ya29./x")), 200);
        /* Used again: they count requests. */
        check_int(ask(&q, with("ya29./x")), 200);
        check_int((int64_t)q.asked_count, 4);
    }
}

TEST(mcp_metadata_of_the_resource_needs_no_token)
{
    cleanup(quay_close) struct quay q;
    quay_open(&q, OIDC(""));
    struct seen got = { 0 };
    quay_send(&q, "GET", "/.well-known/oauth-protected-resource/mcp", "", "", &got);
    await(&q, got.ended);
    check_int(got.status, 200);
    struct json body = test_json(buf_text(&got.body));
    check_text(json_get_text(body, "resource"), "http://r.test/mcp");
    check_text(json_get_text(body, "authorization_servers.0"), "i");
    seen_done(&got);
}

TEST(mcp_issuers_must_be_reached_over_https)
{
    struct error err;
    struct json list = test_json("[{'type': 'auth', 'parameters': {'oidc_config': {'Issuer': "
                                 "'http://issuer.test'}}}]");
    struct arena a;
    arena_init(&a, ARENA_LIMIT_DEFAULT);
    struct loop *loop = loop_new();
    struct runconfig config = { .middleware = list, .document = test_json("{}") };
    check_fails(
        mcp_proxy_new(
            &(struct mcp_proxy_options){ .loop = loop, .arena = &a, .config = &config }, &err),
        err,
        "must be an https URL");
    loop_run(loop);
    loop_free(loop);
    arena_done(&a);
}

/* ---- what goes to the server behind ---- */

#define BEHIND(step)                                                                               \
    "{'transport': 'streamable-http', 'middleware_configs': [{'type': 'auth', 'parameters': "      \
    "{'oidc_config': {'Issuer': 'i', 'JWKSURL': '@SERVICE@/jwks', 'AllowPrivateIP': "              \
    "true}}}, " step "]}"
#define EXCHANGE(more)                                                                             \
    BEHIND("{'type': 'tokenexchange', 'parameters': {'token_exchange_config': {'token_url': "      \
           "'@SERVICE@/token', 'client_id': 'me', 'audience': 'b e', 'scopes': ['x', 'y'], "       \
           "'subject_token_type': 'jwt'" more "}}}")

TEST(mcp_tokens_are_exchanged_once_for_the_server_behind)
{
    static const struct quay_service server[] = { { "/jwks", 200, vector_keys },
        { "/token", 200, "{\"access_token\":\"new\",\"expires_in\":3600}" },
        { 0 } };
    cleanup(quay_close) struct quay q;
    quay_open(&q, EXCHANGE(""));
    q.services = server;
    check_int(ask(&q, with(vectors[6].token)), 200);
    check_int(ask(&q, with(vectors[6].token)), 200);
    check_text(q.seen[0].authorization, "Bearer new");
    check_text(q.seen[1].authorization, "Bearer new");
    check_int((int64_t)q.asked_count, 2);
    check_text(q.asked[1].authorization, "Basic bWU6aHVzaA==");
    check(strstr(q.asked[1].body, "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Atoken-"));
    check(strstr(q.asked[1].body, "&audience=b%20e&scope=x%20y&subject_token="));
    check(strstr(q.asked[1].body, vectors[6].token));
}

TEST(mcp_a_token_that_is_not_exchanged_goes_nowhere)
{
    struct quay_service server[] = {
        { "/jwks", 200, vector_keys }, { "/token", 400, "{\"error\":\"invalid_grant\"}" }, { 0 }
    };
    cleanup(quay_close) struct quay q;
    quay_open(
        &q, EXCHANGE(", 'header_strategy': 'custom', 'external_token_header_name': 'X-Custom'"));
    q.services = server;
    check_int(ask(&q, with(vectors[6].token)), 401);
    server[1].status = 500;
    check_int(ask(&q, with(vectors[6].token)), 503);
    check_int((int64_t)q.seen_count, 0);
    server[1] = (struct quay_service){ "/token", 200, "{\"access_token\":\"new\"}" };
    check_int(ask(&q, with(vectors[6].token)), 200);
    check_text(q.seen[0].custom, "Bearer new");
}

TEST(mcp_the_clients_token_can_be_kept_from_the_server)
{
    cleanup(quay_close) struct quay q;
    quay_open(&q, BEHIND("{'type': 'strip-auth'}"));
    q.services = issuer;
    check_int(ask(&q, with(vectors[6].token)), 200);
    check_text(q.seen[0].authorization, "");
}
