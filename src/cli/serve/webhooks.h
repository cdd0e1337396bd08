#pragma once

/* The admission webhooks over HTTPS: an AdmissionReview comes in, the verdict of the kinds' family
 * goes out (kinds/llmkube/admission.h). Where a verdict needs what is not loaded yet, the answer is
 * 500, and the webhook's failure policy decides. */

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

/* Nothing listens before there is a certificate. */
struct webhooks *webhooks_new(const struct webhooks_options *options);
void webhooks_free(struct webhooks *w); /* takes NULL */
/* PEM. Connections from now on get this one. */
bool webhooks_set_certificate(
    struct webhooks *w, struct str certificate, struct str key, struct error *err) must_check;
void webhooks_metrics_print(const struct webhooks *w, struct buf *to);
