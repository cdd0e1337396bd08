#include "fetch/fetch.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/timer.h"
#include "engine/facts.h"
#include "fetch/internal.h"
#include "tests/folder.h"
#include "tests/http/rig.h"

/* An effect that runs on the rig's loop, and what came of it. */
struct outcome {
    struct fetch *fetch;
    struct effect_run *run;
    struct json result;
    struct json progress; /* the first that was told */
    struct error err;
    bool ended;
};

static void on_progress(void *ctx, struct json progress)
{
    struct outcome *o = ctx;
    if (!json_present(o->progress))
        o->progress = json_copy(test_arena(), progress);
}

static void on_done(void *ctx, struct json result, const struct error *err)
{
    struct outcome *o = ctx;
    o->ended = true;
    o->result = json_copy(test_arena(), result);
    if (err)
        o->err = *err;
}

static void run_effect(struct rig *r, const char *allowed, const char *roots, const char *effect,
    const char *args, struct outcome *o)
{
    static const struct effect_sink sink = { on_progress, on_done };
    *o = (struct outcome){ 0 };
    o->fetch = fetch_new(&(struct fetch_options){
        .loop = r->loop,
        .http = r->client,
        .allowed_remote_hosts = test_json(allowed),
        .allowed_roots = test_json(roots),
        .progress_ms = 1,
    });
    const struct effect_runner *runner = fetch_runner(o->fetch);
    o->run = runner->start(runner->self, effect, test_json(args), &sink, o);
    await(r, o->ended);
    fetch_free(o->fetch);
}

static const char *url(struct rig *r, const char *path)
{
    return arena_printf(
        test_arena(), "{'source': 'http://127.0.0.1:%u%s'}", http_server_port(r->server), path);
}

TEST(an_address_that_is_not_public_is_refused_unless_its_host_is_allowed)
{
    struct rig r;
    rig_open(&r, RIG_H1);
    struct outcome o;
    run_effect(&r, "[]", "[]", "model.head", url(&r, "/hello"), &o);
    check_int(o.err.code, ERR_FORBIDDEN);
    check(strstr(o.err.text, "--allowed-remote-hosts"));
    check_int(r.requests, 0);
    run_effect(&r, "['127.0.0.1']", "[]", "model.head", url(&r, "/hello"), &o);
    check_int(o.err.code, ERR_NONE);
    check_int(r.requests, 1);
    run_effect(&r, "['127.0.0.1']", "[]", "model.head", url(&r, "/no-such-path"), &o);
    check_int(o.err.code, ERR_NOT_FOUND);
    run_effect(&r, "[]", "[]", "model.head", "{'source': 'ftp://x/y'}", &o);
    check_int(o.err.code, ERR_INVALID);
    rig_close(&r);
}

/* A redirect may go to a signed URL, and a source may name a password: neither is anybody's who can
 * read a status or a log. */
TEST(credentials_in_a_url_are_used_and_never_told)
{
    struct rig r;
    rig_open(&r, RIG_H1);
    struct outcome o;
    struct arena *a = test_arena();
    unsigned port = http_server_port(r.server);
#define SOURCE(user) arena_printf(a, "{'source': 'http://" user "@127.0.0.1:%u/guard?x=y'}", port)
    run_effect(&r, "['127.0.0.1']", "[]", "model.head", SOURCE("me:secret"), &o);
    check_int(o.err.code, ERR_NONE);
    run_effect(&r, "['127.0.0.1']", "[]", "model.head", SOURCE("me:wrong"), &o);
    check_text(o.err.text, arena_printf(a, "http://127.0.0.1:%u/guard answered 401", port));
    run_effect(
        &r, "['127.0.0.1']", "[]", "model.head", url(&r, "/redirect?/guard?signature=abc"), &o);
    check_text(o.err.text, arena_printf(a, "http://127.0.0.1:%u/guard answered 401", port));
    rig_close(&r);
}

TEST(a_redirect_leads_only_to_where_the_source_itself_may_be)
{
    struct rig r;
    rig_open(&r, RIG_H1);
    struct outcome o;
    unsigned port = http_server_port(r.server);
    struct arena *a = test_arena();
    const char *inside = url(&r, arena_printf(a, "/redirect?http://localhost:%u/hello", port));
    run_effect(&r, "['127.0.0.1']", "[]", "model.probe", inside, &o);
    check_int(o.err.code, ERR_FORBIDDEN);
    check(strstr(o.err.text, "localhost") && strstr(o.err.text, "--allowed-remote-hosts"));
    check_int(r.requests, 1);
    run_effect(&r, "['127.0.0.1', 'localhost']", "[]", "model.probe", inside, &o);
    check_int(o.err.code, ERR_NONE);
    check_int(r.requests, 3);
    run_effect(
        &r, "['127.0.0.1']", "[]", "model.probe", url(&r, "/redirect?file:///etc/passwd"), &o);
    check_fails(!o.err.code, o.err, "redirect to file, which is not http");
    run_effect(&r, "['127.0.0.1']", "[]", "model.probe", url(&r, "/redirect?/redirect?/hello"), &o);
    check_int(o.err.code, ERR_NONE);

    /* A pod is asked at its address; where it sends us is not a pod. */
    const char *pod = arena_printf(a,
        "{'addresses': ['127.0.0.1:%u'], 'kind': 'endpoint',"
        " 'target': '/redirect?http://localhost:%u/hello'}",
        port,
        port);
    r.requests = 0;
    run_effect(&r, "[]", "[]", "pods.idle", pod, &o);
    check_text(json_get_text(o.result, "reason"), "IdleCheckFailed");
    check_int(r.requests, 1);
    rig_close(&r);
}

/* Gives an effect up in the turn in which its dial was begun: its name is being looked up, on a
 * thread, and what comes of it is heard in a later phase of the loop. */
struct quitter {
    struct rig *rig;
    const struct effect_runner *runner;
    struct effect_run *run;
    struct timer timer;
    bool gave_up;
};

static void give_up(void *ctx)
{
    struct quitter *q = ctx;
    check_int(http_client_stats(q->rig->client).dialling, 1);
    q->runner->cancel(q->runner->self, q->run);
    q->gave_up = true;
}

TEST(an_effect_may_be_given_up_while_its_host_is_looked_up)
{
    static const struct effect_sink sink = { on_progress, on_done };
    struct rig r;
    rig_open(&r, RIG_H1);
    struct outcome o = { 0 };
    struct fetch *fetch = fetch_new(&(struct fetch_options){ .loop = r.loop, .http = r.client });
    struct json args = test_json("{'source': 'http://localhost:9/m.gguf'}");
    struct quitter q = { .rig = &r, .runner = fetch_runner(fetch) };
    timer_init(&q.timer, give_up, &q);
    q.run = q.runner->start(q.runner->self, "model.head", args, &sink, &o);
    timer_set(loop_env(r.loop), &q.timer, 0);
    await(&r, q.gave_up && http_client_stats(r.client).dialling == 0);
    check(!o.ended);
    fetch_free(fetch);
    rig_close(&r);
}

TEST(what_is_not_gguf_is_probed_for_its_size_alone)
{
    struct rig r;
    rig_open(&r, RIG_H1);
    struct outcome o;
    run_effect(&r, "['127.0.0.1']", "[]", "model.probe", url(&r, "/hello"), &o);
    check_int(o.err.code, ERR_NONE);
    check(json_get_int(o.result, "size", -1) > 0);
    check(!json_present(json_get(o.result, "gguf")) && !json_present(json_get(o.result, "cut")));
    run_effect(&r, "['127.0.0.1']", "[]", "model.probe", url(&r, "/big?0"), &o);
    check_text(json_get_text(o.result, "cut"),
        arena_printf(test_arena(),
            "http://127.0.0.1:%u/big is cut short: it is empty",
            http_server_port(r.server)));
    rig_close(&r);
}

static const char *write_file(const char *directory, const char *name, const char *text)
{
    const char *path = arena_printf(test_arena(), "%s/%s", directory, name);
    FILE *f = fopen(path, "we");
    check(f && fputs(text, f) >= 0 && fclose(f) == 0);
    return path;
}

static struct json args_of(const char *path, const char *into, const char *sha256)
{
    return json_fields(test_arena(),
        { "path", json_str(path) },
        { "directory", json_str(into) },
        { "sha256", json_str(sha256) },
        { "name", json_str("my model") });
}

/* Copies of local files, from a folder of the test's own into its cache. */
struct copying {
    struct rig rig;
    const char *directory, *into;
};

static void copying_open(struct copying *c, const char *into)
{
    rig_open(&c->rig, RIG_H1);
    c->directory = folder_new();
    c->into = arena_printf(test_arena(), "%s/%s", c->directory, into);
}

static struct outcome copying_run(struct copying *c, const char *source, const char *sha256)
{
    struct arena *a = test_arena();
    struct outcome o;
    run_effect(&c->rig,
        "[]",
        arena_printf(a, "['%s']", c->directory),
        "model.copy",
        json_to_text(a, args_of(source, c->into, sha256)),
        &o);
    return o;
}

static void copying_close(struct copying *c)
{
    folder_remove(c->directory);
    rig_close(&c->rig);
}

TEST(a_local_file_is_copied_checked_and_kept_within_its_roots)
{
    struct arena *a = test_arena();
    struct copying c;
    copying_open(&c, "cache/key");
    const char *source = write_file(c.directory, "weights.gguf", "not\1really weights\n");
    struct outcome o = copying_run(&c, source, NULL);
    check_text(o.err.text, "");
    check_text(json_get_text(o.result, "path"), arena_printf(a, "%s/my-model.gguf", c.into));
    check_int(json_get_int(o.result, "size", 0), 19);
    check(!json_get_bool(o.result, "cached", false));
    o = copying_run(&c, source, json_get_text(o.result, "sha256"));
    check(json_get_bool(o.result, "cached", false));
    char wrong[65];
    memset(wrong, '0', 64);
    wrong[64] = '\0';
    check_int(copying_run(&c, source, wrong).err.code, ERR_INVALID);

    const char *missing = arena_printf(a, "%s/nothing", c.directory);
    check_int(copying_run(&c, missing, NULL).err.code, ERR_NOT_FOUND);
    const char *link = arena_printf(a, "%s/link.gguf", c.directory);
    check(symlink("/etc/hostname", link) == 0);
    check_int(copying_run(&c, link, NULL).err.code, ERR_FORBIDDEN);
    check(system(arena_printf(a, "ls -A %s | grep -c tmp >/dev/null", c.into)) != 0);
    copying_close(&c);
}

TEST(what_is_no_model_is_named)
{
    static const struct {
        const char *file, *text, *what;
    } cases[] = {
        { "a.gguf", " \n<!DOCTYPE html><html>", "is a web page, not a model" },
        { "b.gguf", "version https://git-lfs.github.com/spec/v1\n", "is a pointer of Git LFS" },
        { "c.safetensors",
            "version https://git-lfs.github.com/spec/v1\n",
            "is a pointer of Git LFS" },
        { "d.gguf", "{\"error\": \"not here\"}", "is text, not a model" },
        { "e.json", "{\"a\": 1}", NULL },
    };
    struct copying c;
    copying_open(&c, "cache/key");
    for (size_t i = 0; i < lengthof(cases); i++) {
        const char *source = write_file(c.directory, cases[i].file, cases[i].text);
        struct outcome o = copying_run(&c, source, NULL);
        check_text(cases[i].what ? strstr(o.err.text, cases[i].what) ? "told" : o.err.text : "told",
            "told");
        check_int(o.err.code, cases[i].what ? ERR_INVALID : ERR_NONE);
    }
    copying_close(&c);
}

/* A whole head, of one tensor of 64 numbers, and what is there of it. */
static const char head[] = "GGUF\3\0\0\0"
                           "\1\0\0\0\0\0\0\0"
                           "\0\0\0\0\0\0\0\0"
                           "\1\0\0\0\0\0\0\0w"
                           "\1\0\0\0"
                           "\100\0\0\0\0\0\0\0"
                           "\0\0\0\0"
                           "\0\0\0\0\0\0\0\0";

static const char *write_weights(const char *directory, int64_t size)
{
    const char *path = arena_printf(test_arena(), "%s/weights.gguf", directory);
    FILE *f = fopen(path, "we");
    check(f && fwrite(head, sizeof(head) - 1, 1, f) == 1 && fclose(f) == 0);
    check(truncate(path, size) == 0);
    return path;
}

TEST(a_local_file_that_is_cut_short_is_not_copied)
{
    struct copying c;
    copying_open(&c, "cache");
    const char *source = write_weights(c.directory, 64 + 256 - 1);
    struct outcome o = copying_run(&c, source, NULL);
    check_int(o.err.code, ERR_INVALID);
    check_text(o.err.text,
        arena_printf(test_arena(),
            "%s is cut short: it has 319 of the 320 bytes that its header tells; put the whole "
            "file there",
            source));
    check(access(c.into, F_OK) != 0);
    write_weights(c.directory, 64 + 256);
    o = copying_run(&c, source, NULL);
    check_text(o.err.text, "");
    check_int(json_get_int(o.result, "size", 0), 320);
    copying_close(&c);
}

/* A file of nothing but holes; where it is copied before anybody looked, a larger one. */
TEST(a_copy_tells_how_far_it_is)
{
    struct copying c;
    copying_open(&c, "cache");
    const char *source = write_file(c.directory, "weights.gguf", "");
    struct outcome o = { 0 };
    int64_t size = 8 << 20;
    for (; !json_present(o.progress) && size < 1 << 30; size *= 2) {
        check(truncate(source, size * 2) == 0);
        o = copying_run(&c, source, NULL);
        check_text(o.err.text, "");
        check(system(arena_printf(test_arena(), "rm -r %s", c.into)) == 0);
    }
    int64_t bytes = json_get_int(o.progress, "bytes", 0);
    check(bytes > 0 && bytes <= size);
    check_int(json_get_int(o.progress, "total", 0), size);
    copying_close(&c);
}

TEST(a_directory_is_removed_with_all_that_is_in_it_and_nothing_else)
{
    struct rig r;
    rig_open(&r, RIG_H1);
    char within[] = "/tmp/leeboard-test-XXXXXX";
    check(mkdtemp(within));
    struct arena *a = test_arena();
    check(system(arena_printf(a,
              "mkdir -p %s/ns/c/deep %s/ns/d && touch %s/ns/c/deep/f %s/ns/d/kept &&"
              " ln -s ../d %s/ns/c/link",
              within,
              within,
              within,
              within,
              within)) == 0);
    struct outcome o;
    static const struct {
        const char *path;
        enum error_code code;
    } cases[] = {
        { "/ns/c", ERR_NONE },
        { "/ns/c", ERR_NONE },
        { "", ERR_INVALID },
        { "/", ERR_INVALID },
        { "/ns/../../x", ERR_INVALID },
        { "/ns/..", ERR_INVALID },
        { "-beside/x", ERR_INVALID },
    };
    for (size_t i = 0; i < lengthof(cases); i++) {
        const char *args =
            arena_printf(a, "{'path': '%s%s', 'within': '%s'}", within, cases[i].path, within);
        run_effect(&r, "[]", "[]", "volume.remove", args, &o);
        check_int(o.err.code, cases[i].code);
    }
    check(access(arena_printf(a, "%s/ns/c", within), F_OK) != 0);
    check(access(arena_printf(a, "%s/ns/d/kept", within), F_OK) == 0);
    check(system(arena_printf(a, "rm -r %s", within)) == 0);
    rig_close(&r);
}

TEST(a_server_is_told_of_an_adapter_once_and_what_it_says_is_passed_on)
{
    struct rig r;
    rig_open(&r, RIG_H1);
    struct outcome o;
    static const struct {
        const char *path, *result, *error;
    } rows[] = {
        { "/echo", "{'already': false}", NULL },
        { "/guard", NULL, "/guard answered 401" },
    };
    for (size_t i = 0; i < lengthof(rows); i++) {
        const char *args = arena_printf(test_arena(),
            "{'address': '127.0.0.1:%u', 'path': '%s', 'body': {'lora_name': 'z'}}",
            http_server_port(r.server),
            rows[i].path);
        run_effect(&r, "[]", "[]", "lora.call", args, &o);
        if (rows[i].result)
            check_json(o.result, rows[i].result);
        else
            check(strstr(o.err.text, rows[i].error));
        check(strstr(r.seen_head, "POST ") == r.seen_head && strstr(r.seen_head, "body=17"));
    }
    rig_close(&r);
}

TEST(nobody_to_ask_is_idle_and_somebody_who_does_not_answer_is_not)
{
    struct rig r;
    rig_open(&r, RIG_H1);
    struct outcome o;
    run_effect(
        &r, "[]", "[]", "pods.idle", "{'addresses': [], 'kind': 'slots', 'target': '/slots'}", &o);
    check_json(o.result, "{'idle': true}");
    const char *args = arena_printf(test_arena(),
        "{'addresses': ['127.0.0.1:%u'], 'kind': 'slots', 'target': '/hello'}",
        http_server_port(r.server));
    run_effect(&r, "[]", "[]", "pods.idle", args, &o);
    check_text(json_get_text(o.result, "reason"), "IdleCheckFailed");
    args = arena_printf(test_arena(),
        "{'addresses': ['127.0.0.1:%u'], 'kind': 'endpoint', 'target': '/hello'}",
        http_server_port(r.server));
    run_effect(&r, "[]", "[]", "pods.idle", args, &o);
    check_json(o.result, "{'idle': true}");
    rig_close(&r);
}

/* Computed by another implementation (Python's hmac) from the documents of AWS. */
TEST(an_s3_request_is_signed_as_aws_wants_it)
{
    struct arena *a = test_arena();
    struct s3_credentials c = {
        .key_id = "AKIDEXAMPLE",
        .secret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
        .region = "eu-west-1",
        .endpoint = "http://127.0.0.1:21010",
    };
    const char *where = s3_url(a, &c, "s3://shelf/a dir/tiny.gguf");
    check_text(where, "http://127.0.0.1:21010/shelf/a%20dir/tiny.gguf");
    struct json headers = s3_sign(a, &c, "GET", where, 1767225600000);
    check_text(json_text(json_member(headers, "authorization")),
        "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20260101/eu-west-1/s3/aws4_request, "
        "SignedHeaders=host;x-amz-content-sha256;x-amz-date, "
        "Signature=80c82cda11812435e4ce535df5eb5952a5b393725648666df74759fb5015d1e5");
    c.session = "TOKEN";
    headers = s3_sign(a, &c, "GET", where, 1767225600000);
    check(strstr(json_text(json_member(headers, "authorization")),
        "f72a2193709978ed61102a0a87256e71b95ae8e22e93e41b98ce6ffb23dd6f31"));
}
