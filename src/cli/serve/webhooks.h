#pragma once

/* The admission webhooks over HTTPS: reads an AdmissionReview and answers with the verdict of the
 * kinds' family (kinds/llmkube/admission.h). If a verdict needs objects that are not loaded yet,
 * the answer is 500, and the webhook's failure policy decides. */

#include "base/error.h"
#include "base/str.h"

struct buf;
struct engines;
struct loop;
struct webhooks;

struct webhooks_options {
    struct loop *loop;
    struct engines *engines;
    uint16_t port;
};

/* Does not listen before there is a certificate. */
struct webhooks *webhooks_new(const struct webhooks_options *options);
void webhooks_free(struct webhooks *w); /* NULL is allowed */
/* PEM. For all later connections. */
bool webhooks_set_certificate(
    struct webhooks *w, struct str certificate, struct str key, struct error *err) must_check;
void webhooks_metrics_print(const struct webhooks *w, struct buf *to);
