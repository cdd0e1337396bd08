#pragma once

/* The step `authorization`: whether an identity may do what a message requests.
 *
 * authorization.c derives questions from the message, and an authorizer answers them: Cedar
 * policies (authorize_cedar.c) or an HTTP policy decision point (authorize_pdp.c). Lists of tools,
 * prompts and resources are filtered by one question per item. */

#include "mcp/middleware.h"

struct authz_check;

/* tool call, prompt get, resource read */
struct authz_question {
    const char *feature, *operation;
    const char *id;          /* name or URI */
    struct json arguments;   /* absent in lists */
    struct json annotations; /* hints of the tool; absent if none are known */
};

enum authz_answer { AUTHZ_DENY, AUTHZ_ALLOW, AUTHZ_LATER };

struct authorizer {
    const char *type; /* as in config_data.type */
    void *(*open)(const struct mcp_open *o, struct json config, struct error *err);
    void (*close)(void *state); /* NULL: nothing to free */
    /* AUTHZ_LATER: authz_answered() follows once, unless cancel() is called first. *call is for the
     * authorizer's own state. */
    enum authz_answer (*ask)(void *state, struct mcp_exchange *x, const struct authz_question *q,
        struct authz_check *check, void **call);
    void (*cancel)(void *state, void *call); /* NULL: it never returns AUTHZ_LATER */
};

void authz_answered(struct authz_check *check, bool allowed);

extern const struct authorizer authorizer_cedar, authorizer_pdp;
extern const struct mcp_step mcp_step_authorization;
