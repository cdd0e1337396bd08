#pragma once

/* A conversation with a model over an OpenAI-compatible endpoint: what was said before goes with
 * each question, and answers come in pieces.
 *
 *   talk_ask ─> piece … ─> ended          talk_stop ends an answer early; what came of it is kept
 */

#include "base/error.h"
#include "base/str.h"

struct http_client;
struct talk;

struct talk_options {
    struct http_client *http;
    const char *url;    /* "http://127.0.0.1:11435/v1" */
    const char *key;    /* NULL: none is needed */
    const char *model;  /* its name there */
    const char *system; /* the first message; NULL: none */
    int64_t tokens_max; /* of an answer; 0: as the server has it */
    void (*piece)(void *ctx, const char *text, bool thought);
    /* Once for each question, unless it was stopped. err: why there is no answer, or no whole one.
     * cut: it has as many tokens as it may have. */
    void (*ended)(void *ctx, const struct error *err, bool cut);
    void *ctx;
};

/* What the options point to outlives it. */
struct talk *talk_new(const struct talk_options *options) must_check;
/* NULL is fine. */
void talk_free(struct talk *t);
/* One at a time. */
void talk_ask(struct talk *t, const char *question);
void talk_stop(struct talk *t);
bool talk_is_busy(const struct talk *t);
/* Nothing was said, as at the beginning. */
void talk_forget(struct talk *t);
