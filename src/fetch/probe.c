/* model.probe and model.head: the properties of a remote source. */

#include "base/base64.h"
#include "base/resource.h"
#include "base/str.h"
#include "fetch/gguf.h"
#include "fetch/internal.h"
#include "http/client.h"
#include "kube/client.h"

/* As upstream: the time limit for metadata. */
#define PROBE_TOTAL_MS 30000

struct probe {
    struct effect_run run;
    struct remote remote;
    struct kube_op *secret_op;
    bool head_only;
    int status;
    int64_t size; /* -1: unknown */
    int64_t read;
    const char *etag;
    struct gguf_reader gguf;
    bool reading;
};

static struct probe *probe_of(struct effect_run *run)
{
    return container_of(run, struct probe, run);
}

static void stop(struct effect_run *run)
{
    struct probe *p = probe_of(run);
    remote_stop(&p->remote);
    if (p->secret_op)
        kube_op_cancel(run->fetch->options.kube, p->secret_op);
    if (p->reading)
        gguf_done(&p->gguf);
}

static int64_t whole_size(const struct http_response *response)
{
    struct str range = http_header_find(response->headers, "content-range");
    int64_t size;
    if (range.ptr) {
        str_cut(&range, '/');
        return range.ptr && str_to_int(range, &size) ? size : -1;
    }
    return response->status == 206 ? -1 : response->body_bytes;
}

static bool on_head(struct remote *r, const struct http_response *response)
{
    struct probe *p = r->ctx;
    p->status = response->status;
    struct str etag = http_header_find(response->headers, "etag");
    p->etag = etag.ptr ? str_dup(&p->run.arena, etag) : NULL;
    p->size = whole_size(response);
    if (p->head_only) {
        struct str length = http_header_find(response->headers, "content-length");
        if (p->size < 0 && length.ptr && !str_to_int(length, &p->size))
            p->size = -1;
        return false;
    }
    return p->status < 300;
}

static bool on_data(struct remote *r, struct str bytes)
{
    struct probe *p = r->ctx;
    p->read += (int64_t)bytes.len;
    return gguf_feed(&p->gguf, bytes) == GGUF_READING && p->read < GGUF_HEAD_BYTES_MAX;
}

/* A server that asks to retry later is not unreachable: the request will be retried. */
static enum error_code code_of(int status)
{
    if (status < 400)
        return ERR_INVALID;
    return status == 503 ? ERR_BUSY : error_code_of_http(status);
}

static void on_end(struct remote *r, const struct error *err)
{
    struct probe *p = r->ctx;
    struct arena *a = &p->run.arena;
    struct error why;
    if (!err && p->status >= 300) {
        fail(&why, code_of(p->status), "%s answered %d", r->where, p->status);
        err = &why;
    }
    struct json gguf = { 0 }, cut = { 0 };
    if (p->reading) {
        if (p->gguf.described)
            err = NULL; /* what is already known is enough without the rest of the head */
        if (!err) {
            gguf_end(&p->gguf);
            gguf = gguf_json(a, &p->gguf);
            const char *else_is = gguf_what_else(&p->gguf, NULL);
            if (p->size >= 0 && !gguf_check_size(&p->gguf, p->size, &why))
                cut = json_strf(a, "%s %s", r->where, why.text);
            else if (else_is)
                cut = json_strf(a, "%s %s", r->where, else_is);
        }
        gguf_done(&p->gguf);
        p->reading = false;
    }
    struct json size = json_if(p->size >= 0, json_int(p->size));
    struct json result = json_fields(a,
        { "size", size },
        { "contentLength", size },
        { "etag", json_str(p->etag) },
        { "gguf", gguf },
        { "cut", cut });
    run_end(&p->run, result, err);
}

static void ask(struct probe *p, const char *url, struct json headers)
{
    if (!p->head_only)
        headers = json_with_member(&p->run.arena,
            headers,
            "range",
            json_strf(&p->run.arena, "bytes=0-%lld", (long long)GGUF_HEAD_BYTES_MAX - 1));
    p->remote = (struct remote){
        .run = &p->run,
        .method = p->head_only ? "HEAD" : "GET",
        .url = url,
        .headers = headers,
        .total_ms = PROBE_TOTAL_MS,
        .head = on_head,
        .data = on_data,
        .end = on_end,
        .ctx = p,
    };
    remote_start(&p->remote);
}

/* ---- s3: credentials from the Secret of the Model ---- */

static const char *secret_value(struct arena *a, struct json secret, const char *key)
{
    const char *text = json_text(json_member(json_get(secret, "data"), key));
    struct str bytes;
    return text && base64_decode(a, str_of(text), &bytes) ? str_dup(a, str_trim(bytes)) : NULL;
}

static void secret_came(void *ctx, const struct kube_reply *reply)
{
    struct probe *p = ctx;
    struct arena *a = &p->run.arena;
    p->secret_op = NULL;
    if (reply->error.code != ERR_NONE) {
        struct error err = reply->error;
        fail_in(&err, "secret %s", json_get_text(p->run.args, "secret"));
        run_end(&p->run, json_none, &err);
        return;
    }
    struct s3_credentials c = {
        .key_id = secret_value(a, reply->body, "AWS_ACCESS_KEY_ID"),
        .secret = secret_value(a, reply->body, "AWS_SECRET_ACCESS_KEY"),
        .session = secret_value(a, reply->body, "AWS_SESSION_TOKEN"),
        .region = secret_value(a, reply->body, "AWS_REGION"),
        .endpoint = secret_value(a, reply->body, "AWS_ENDPOINT_URL"),
    };
    c.region = text_empty(c.region) ? "us-east-1" : c.region;
    if (!c.key_id || !c.secret) {
        struct error err;
        fail(&err,
            ERR_INVALID,
            "secret %s lacks AWS_ACCESS_KEY_ID or AWS_SECRET_ACCESS_KEY",
            json_get_text(p->run.args, "secret"));
        run_end(&p->run, json_none, &err);
        return;
    }
    const char *url = s3_url(a, &c, json_get_text(p->run.args, "source"));
    const char *method = p->head_only ? "HEAD" : "GET";
    ask(p, url, s3_sign(a, &c, method, url, env_wall_ms(fetch_env(p->run.fetch))));
}

static void start_remote(struct probe *p, const char *source)
{
    struct effect_run *run = &p->run;
    if (strncasecmp(source, "s3://", 5) != 0) {
        ask(p, source, json_empty_map());
        return;
    }
    const char *secret = json_get_text(run->args, "secret");
    if (!secret) {
        fail(&run->why,
            ERR_INVALID,
            "an s3 source needs spec.sourceSecretRef with AWS_ACCESS_KEY_ID and "
            "AWS_SECRET_ACCESS_KEY");
        run_fail_later(run);
        return;
    }
    p->secret_op = kube_get(run->fetch->options.kube,
        (struct kube_target){
            .resource = &RESOURCE_SECRET,
            .ns = json_get_text(run->args, "namespace"),
            .name = secret,
        },
        (struct kube_then){ secret_came, p });
}

static void start_probe(struct effect_run *run)
{
    struct probe *p = probe_of(run);
    run->stop = stop;
    p->size = -1;
    gguf_init(&p->gguf, &run->arena);
    p->reading = true;
    start_remote(p, json_get_text(run->args, "source"));
}

static void start_head(struct effect_run *run)
{
    const char *source = json_get_text(run->args, "source");
    const char *path = strncasecmp(source, "file://", 7) == 0 ? source + 7 : source;
    if (*path == '/') {
        local_start(run, path, LOCAL_LOOK);
        return;
    }
    struct probe *p = probe_of(run);
    run->stop = stop;
    p->size = -1;
    p->head_only = true;
    start_remote(p, source);
}

const struct effect_type effect_probe = { "model.probe", sizeof(struct probe), start_probe };
_Static_assert(sizeof(struct probe) >= FETCH_LOCAL_BYTES, "start_head() may make it a local one");
const struct effect_type effect_head = { "model.head", sizeof(struct probe), start_head };
