#pragma once

/* Access to /metrics: the API server decides, by TokenReview and SubjectAccessReview, as for every
 * controller-runtime operator. Decisions are cached for a minute. */

#include "base/str.h"

struct access;
struct env;
struct kube_client;

struct access *access_new(struct kube_client *client, const struct env *env);
void access_free(struct access *a);

/* Called once, later: 200, 401 or 403, or 503 if the API server cannot be reached. */
typedef void access_answer(void *ctx, int status);
/* token: the text after Bearer. path: "/metrics". The returned question may be cancelled until its
 * answer arrives. */
struct access_question;
struct access_question *access_ask(
    struct access *a, struct str token, const char *path, access_answer *answer, void *ctx);
void access_cancel(struct access_question *q);
