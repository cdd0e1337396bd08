#include "base/pack.h"
#include "tests/test.h"

static struct json again(struct strings *pool, struct json v)
{
    struct pack *p = pack_new(pool, v);
    struct json copy = json_copy(test_arena(), pack_read(test_arena(), p));
    pack_free(pool, p);
    return copy;
}

TEST(a_packed_value_reads_back_the_same)
{
    static const char *const rows[] = { "null",
        "true",
        "false",
        "0",
        "-1",
        "1",
        "63",
        "-64",
        "9223372036854775807",
        "-9223372036854775807",
        "0.5",
        "-1e300",
        "''",
        "'text'",
        "[]",
        "{}",
        "[1, [2, [3, {}]]]",
        "{'a': {'b': [null, true, 'x', 'x', 'x']}, 'c': 'x', 'x': 'a'}" };
    struct strings pool;
    strings_init(&pool, 1, 2);
    for (size_t i = 0; i < lengthof(rows); i++)
        for (int times = 0; times < 3; times++)
            check_json(again(&pool, test_json(rows[i])), rows[i]);
    static const int64_t edges[] = { INT64_MIN,
        INT64_MIN + 1,
        -((int64_t)1 << 59) - 1,
        -((int64_t)1 << 59),
        ((int64_t)1 << 59) - 1,
        (int64_t)1 << 59,
        INT64_MAX };
    for (size_t i = 0; i < lengthof(edges); i++)
        check_int(again(&pool, json_int(edges[i])).integer, edges[i]);
    check(!json_present(again(&pool, json_none)));
    check_int((int64_t)strings_count(&pool), 0);
    strings_done(&pool);
}

#define SCRIPT                                                                                     \
    "a text of more than sixty-four bytes, as programs are that every Deployment of a kind has"

TEST(texts_are_shared_when_many_have_them)
{
    struct strings pool;
    strings_init(&pool, 1, 2);
    struct json v = test_json("{'name': 'some-longer-name', 'label': 'some-longer-name', "
                              "'uid': 'unique', 'script': '" SCRIPT "'}");
    struct pack *packs[20];
    for (size_t i = 0; i < lengthof(packs); i++) {
        packs[i] = pack_new(&pool, v);
        /* all keys are one; a long text is shared at once */
        check_int((int64_t)strings_count(&pool), i < 1 ? 1 : i < 15 ? 2 : 4);
    }
    check(pack_bytes(packs[0]) > pack_bytes(packs[1]));
    check(pack_bytes(packs[1]) > pack_bytes(packs[15]));
    struct json one = pack_read(test_arena(), packs[18]), two = pack_read(test_arena(), packs[19]);
    check(json_get_text(one, "name") == json_get_text(two, "name"));
    check(json_equal(pack_read(test_arena(), packs[0]), v));
    for (size_t i = 0; i < lengthof(packs); i++) {
        check(json_equal(pack_read(test_arena(), packs[i]), v));
        pack_free(&pool, packs[i]);
    }
    check_int((int64_t)strings_count(&pool), 0);
    check_int((int64_t)pool.bytes, 0);
    strings_done(&pool);
}

TEST(packs_are_equal_when_their_values_are)
{
    struct strings pool;
    strings_init(&pool, 1, 2);
    struct json v = test_json("{'a': '" SCRIPT "', 'b': [1, 2]}");
    struct pack *one = pack_new(&pool, v), *two = pack_new(&pool, v);
    struct pack *other = pack_new(&pool, test_json("{'a': '" SCRIPT "', 'b': [1, 3]}"));
    /* The first has the text in itself, the second in the pool. */
    check(pack_bytes(one) != pack_bytes(two));
    check(pack_equal(one, two) && pack_equal(one, one));
    check(!pack_equal(two, other));
    pack_free(&pool, one);
    pack_free(&pool, two);
    pack_free(&pool, other);
    strings_done(&pool);
}

TEST(numbers_of_texts_are_used_again)
{
    struct strings pool;
    strings_init(&pool, 1, 2);
    struct pack *kept = pack_new(&pool, test_json("{'keep': 1}"));
    for (int i = 0; i < 5000; i++) {
        struct json v =
            json_map(test_arena(), { arena_printf(test_arena(), "key%d", i), json_int(i) });
        struct pack *p = pack_new(&pool, v);
        check(json_equal(pack_read(test_arena(), p), v));
        pack_free(&pool, p);
    }
    check_int(pool.count, 2);
    check_json(pack_read(test_arena(), kept), "{'keep': 1}");
    pack_free(&pool, kept);
    pack_free(&pool, NULL);
    strings_done(&pool);
}

TEST(a_map_may_have_many_keys)
{
    struct strings pool;
    strings_init(&pool, 1, 2);
    struct json_builder b;
    json_builder_init(&b, test_arena());
    for (int i = 0; i < 1000; i++)
        json_put(&b, arena_printf(test_arena(), "key%03d", i), json_int(i));
    struct json v = json_map_end(&b);
    struct pack *p = pack_new(&pool, v);
    check(json_equal(pack_read(test_arena(), p), v));
    pack_free(&pool, p);
    strings_done(&pool);
}

static struct json deployment(int number)
{
    struct arena *a = test_arena();
    const char *name = arena_printf(a, "llama-%d", number);
    struct json labels = json_map(a,
        { "app", json_str(name) },
        { "inference.llmkube.dev/service", json_str(name) },
        { "inference.llmkube.dev/model", json_str("llama") });
    struct json probe = json_fields(a,
        { "httpGet.path", json_str("/health") },
        { "httpGet.port", json_int(8080) },
        { "httpGet.scheme", json_str("HTTP") },
        { "periodSeconds", json_int(10) },
        { "failureThreshold", json_int(3) });
    return json_fields(a,
        { "apiVersion", json_str("apps/v1") },
        { "kind", json_str("Deployment") },
        { "metadata.name", json_str(name) },
        { "metadata.namespace", json_str("default") },
        { "metadata.uid", json_strf(a, "d5a0e9c2-7f6b-4a86-9f0e-%012d", number) },
        { "metadata.resourceVersion", json_strf(a, "%d", 100000 + number) },
        { "metadata.labels", labels },
        { "spec.replicas", json_int(1) },
        { "spec.selector.matchLabels", labels },
        { "spec.template.metadata.labels", labels },
        { "spec.template.spec.containers",
            json_list(a,
                json_fields(a,
                    { "name", json_str("llama-server") },
                    { "image", json_str("ghcr.io/ggml-org/llama.cpp:server") },
                    { "args",
                        json_list(a,
                            json_str("--host"),
                            json_str("0.0.0.0"),
                            json_str("--port"),
                            json_str("8080"),
                            json_str("--ctx-size"),
                            json_str("2048")) },
                    { "livenessProbe", probe },
                    { "readinessProbe", probe },
                    { "startupProbe", probe })) });
}

static size_t leaves(struct json v)
{
    size_t count = 0;
    if (!json_is(v, JSON_LIST) && !json_is(v, JSON_MAP))
        return 1;
    json_each (item, v)
        count += leaves(*item);
    json_each_member (m, v)
        count += leaves(m->value);
    return count;
}

TEST(a_thousand_alike_deployments_take_six_bytes_a_leaf)
{
    enum { COUNT = 1000 };
    static struct pack *packs[COUNT];
    struct strings pool;
    strings_init(&pool, 1, 2);
    size_t bytes = 0, leaf_count = 0;
    for (int i = 0; i < COUNT; i++) {
        struct json v = deployment(i);
        packs[i] = pack_new(&pool, v);
        bytes += pack_bytes(packs[i]);
        leaf_count += leaves(v);
    }
    bytes += pool.bytes;
    if (bytes > leaf_count * 6)
        test_fail(__FILE__, __LINE__, "%zu bytes for %zu leaves", bytes, leaf_count);
    for (int i = 0; i < COUNT; i++) {
        check(json_equal(pack_read(test_arena(), packs[i]), deployment(i)));
        pack_free(&pool, packs[i]);
    }
    strings_done(&pool);
}
