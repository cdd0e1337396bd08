#pragma once

/* A conversation with a model over an OpenAI-compatible endpoint: earlier messages are sent with
 * each question, and answers arrive in pieces.
 *
 *   talk_ask ─> piece … ─> ended          talk_stop ends an answer early; its text so far is kept
 */

#include "base/error.h"
#include "base/str.h"

struct http_client;
struct talk;

struct talk_options {
    struct http_client *http;
    const char *url;    /* "http://127.0.0.1:11435/v1" */
    const char *key;    /* NULL: none is needed */
    const char *model;  /* its name at the endpoint */
    const char *system; /* the system message; NULL: none */
    int64_t tokens_max; /* of an answer; 0: the server's default */
    void (*piece)(void *ctx, const char *text, bool thought);
    /* Called once for each question, unless it was stopped. err: why there is no answer, or no
     * complete one. cut: the answer reached its token limit. */
    void (*ended)(void *ctx, const struct error *err, bool cut);
    void *ctx;
};

/* Everything that options points to must outlive it. */
struct talk *talk_new(const struct talk_options *options) must_check;
/* NULL is allowed. */
void talk_free(struct talk *t);
/* Only one question at a time. */
void talk_ask(struct talk *t, const char *question);
void talk_stop(struct talk *t);
bool talk_is_busy(const struct talk *t);
/* Forgets the whole conversation. */
void talk_forget(struct talk *t);
