#include "cli/serve/access.h"

#include <stdlib.h>

#include "base/hash.h"
#include "base/json.h"
#include "base/resource.h"
#include "base/timer.h"
#include "kube/client.h"

#define ACCESS_KEPT_MS 60000
#define ACCESS_KEPT_MAX 64

static const struct resource TOKEN_REVIEW = {
    .group = "authentication.k8s.io",
    .version = "v1",
    .kind = "TokenReview",
    .plural = "tokenreviews",
    .cluster_scoped = true,
};
static const struct resource ACCESS_REVIEW = {
    .group = "authorization.k8s.io",
    .version = "v1",
    .kind = "SubjectAccessReview",
    .plural = "subjectaccessreviews",
    .cluster_scoped = true,
};

struct kept {
    uint8_t digest[SHA256_BYTES]; /* of the token, which is not kept */
    int64_t until_ms;
    int status;
};

struct access {
    struct kube_client *client;
    const struct env *env;
    struct access_question *questions;
    struct kept kept[ACCESS_KEPT_MAX];
    size_t next; /* the next entry to overwrite */
};

struct access_question {
    struct access *access;
    struct arena arena;
    uint8_t digest[SHA256_BYTES];
    const char *path;
    access_answer *answer;
    void *ctx;
    struct kube_op *op;
    struct timer later;
    int status; /* the result, until it is delivered */
    struct access_question *next, **back;
};

struct access *access_new(struct kube_client *client, const struct env *env)
{
    struct access *a = mem_new_of(struct access);
    a->client = client;
    a->env = env;
    return a;
}

void access_free(struct access *a)
{
    if (!a)
        return;
    while (a->questions)
        access_cancel(a->questions);
    free(a);
}

static void question_free(struct access_question *q)
{
    timer_stop(q->access->env, &q->later);
    *q->back = q->next;
    if (q->next)
        q->next->back = q->back;
    arena_done(&q->arena);
    free(q);
}

void access_cancel(struct access_question *q)
{
    if (q->op)
        kube_op_cancel(q->access->client, q->op);
    question_free(q);
}

static void answer(struct access_question *q, int status)
{
    struct access *a = q->access;
    if (status != 503) {
        struct kept *k = &a->kept[a->next++ % ACCESS_KEPT_MAX];
        memcpy(k->digest, q->digest, sizeof(k->digest));
        k->until_ms = env_mono_ms(a->env) + ACCESS_KEPT_MS;
        k->status = status;
    }
    access_answer *call = q->answer;
    void *ctx = q->ctx;
    question_free(q);
    call(ctx, status);
}

static void reviewed(void *ctx, const struct kube_reply *reply)
{
    struct access_question *q = ctx;
    q->op = NULL;
    if (reply->error.code)
        answer(q, 503);
    else
        answer(q, json_get_bool(reply->body, "status.allowed", false) ? 200 : 403);
}

static void authenticated(void *ctx, const struct kube_reply *reply)
{
    struct access_question *q = ctx;
    struct arena *a = &q->arena;
    struct json user = json_get(reply->body, "status.user");
    q->op = NULL;
    if (reply->error.code || !json_get_bool(reply->body, "status.authenticated", false)) {
        answer(q, reply->error.code ? 503 : 401);
        return;
    }
    struct json review = json_fields(a,
        { "apiVersion", json_str("authorization.k8s.io/v1") },
        { "kind", json_str("SubjectAccessReview") },
        { "spec.user", json_get(user, "username") },
        { "spec.uid", json_get(user, "uid") },
        { "spec.groups", json_get(user, "groups") },
        { "spec.extra", json_get(user, "extra") },
        { "spec.nonResourceAttributes.path", json_str(q->path) },
        { "spec.nonResourceAttributes.verb", json_str("get") });
    q->op = kube_create(q->access->client,
        (struct kube_target){ .resource = &ACCESS_REVIEW },
        review,
        (struct kube_write){ 0 },
        (struct kube_then){ reviewed, q });
}

static void answer_later(void *ctx)
{
    struct access_question *q = ctx;
    access_answer *call = q->answer;
    void *of = q->ctx;
    int status = q->status;
    question_free(q);
    call(of, status);
}

struct access_question *access_ask(
    struct access *a, struct str token, const char *path, access_answer *call, void *ctx)
{
    struct access_question *q = mem_new_of(struct access_question);
    *q = (struct access_question){ .access = a, .answer = call, .ctx = ctx };
    arena_init(&q->arena, (size_t)1 << 20);
    q->path = arena_strdup(&q->arena, path);
    timer_init(&q->later, answer_later, q);
    q->next = a->questions;
    q->back = &a->questions;
    if (a->questions)
        a->questions->back = &q->next;
    a->questions = q;
    sha256_of(token, q->digest);
    q->status = token.len ? 0 : 401;
    for (size_t i = 0; i < ACCESS_KEPT_MAX; i++)
        if (a->kept[i].until_ms > env_mono_ms(a->env) &&
            memcmp(a->kept[i].digest, q->digest, sizeof(q->digest)) == 0)
            q->status = a->kept[i].status;
    if (q->status) {
        timer_set(a->env, &q->later, 0);
        return q;
    }
    struct json review = json_fields(&q->arena,
        { "apiVersion", json_str("authentication.k8s.io/v1") },
        { "kind", json_str("TokenReview") },
        { "spec.token", json_strn(&q->arena, token.ptr, token.len) });
    q->op = kube_create(a->client,
        (struct kube_target){ .resource = &TOKEN_REVIEW },
        review,
        (struct kube_write){ 0 },
        (struct kube_then){ authenticated, q });
    return q;
}
