#pragma once

/* One request on its way through the router; for the files of this folder.
 *
 *   dispatch.c   the request: hold, scan, route, send
 *   signed.c     signatures and tokens, if the back end needs them
 *   wait.c       waiting for a ModelPool's member; comments keep a stream alive meanwhile
 *   spend.c      budgets: reserve before, settle after
 *   answer.c     the answer: pass on, map the model back, count tokens
 *   report.c     metrics and the audit line, once, at the end */

#include "base/buf.h"
#include "http/client.h"
#include "http/loop.h"
#include "http/sse.h"
#include "router/activate.h"
#include "router/auth.h"
#include "router/form_scan.h"
#include "router/json_scan.h"
#include "router/ledger.h"
#include "router/route.h"
#include "router/router.h"
#include "router/target.h"

#define DISPATCH_EDITS_MAX 8
#define DISPATCH_AUDIT_BODY ((size_t)16 << 10)
#define DISPATCH_ARENA_MAX ((size_t)4 << 20)
#define DISPATCH_WHOLE_BYTES ((size_t)64 << 10) /* limit for rewriting with a length */
#define DISPATCH_EVENT_BYTES ((size_t)1 << 20)

/* A config and its back ends at run time. */
struct generation {
    size_t refs;
    struct router_config *config;
    struct target *targets; /* indexed by back end */
};

struct router {
    struct router_options o;
    const struct env *env;
    struct http_client *client;
    struct tls_context *tls;
    struct google_accounts *google;
    struct generation *now;
    size_t open;
    struct dispatch *dispatches;
    size_t held; /* bytes of their bodies, see router_options.hold_all_bytes */
    struct shadow *shadows;
    size_t shadow_count;
    bool draining;
    struct metrics metrics;
    struct json_scan event_scan; /* of the current event, which is scanned at once */
    struct ledger ledger;
    struct pools *pools;         /* NULL: members are not started */
    struct auth_keys *keys;      /* of the issuer; NULL: no authentication */
    struct health_check *checks; /* of `now` */
    size_t check_count;
    struct metric requests, duration, fail_closed, active, health, first_token, budget, tokens,
        no_copy, over_budget;
};

void router_generation_unref(struct generation *g);
/* For https; created on first use. */
struct tls_context *router_tls(struct router *r);

enum answer_mode { ANSWER_RAW, ANSWER_JSON, ANSWER_WHOLE, ANSWER_EVENTS };

struct dispatch {
    struct router *router;
    struct dispatch *next_open, **back; /* of the router */
    struct generation *gen;
    struct http_exchange *x;
    struct arena arena;
    /* the request */
    struct str path, query;
    struct http_headers headers;
    int64_t announced; /* Content-Length; -1: unknown */
    struct route_features features;
    bool is_text; /* the body is not multipart */
    bool is_json; /* the body is scanned */
    bool stream;  /* the client requested a stream */
    bool has_model;
    int64_t max_tokens;
    struct form_scan *form; /* NULL: not a multipart request */
    struct json_scan *scan; /* of the request, then of the answer; NULL: none */
    struct buf hold;        /* the body from offset `base` */
    size_t held;            /* its share of router.held */
    int64_t base, came;     /* came: bytes of the body so far */
    int64_t model_at;       /* offset of the last value of `model` */
    int64_t sent;           /* offset in the body up to which the call has it */
    struct edit {
        int64_t start, end; /* of the body */
        const char *text;   /* replacement */
    } edits[DISPATCH_EDITS_MAX];
    size_t place_count;           /* number of values of `model` in the body: the first edits */
    size_t edit_count, edit_next; /* for the attempt */
    bool awaits_body;             /* it must be signed */
    bool body_ended, routed, paused, keeps_copy, copy_lost;
    const char *team;            /* of the token; "" without authentication */
    struct ledger_claim *claims; /* one per budget; NULL: none reserved */
    struct buf body;             /* the beginning of the body, for the audit line */
    /* the attempt */
    struct route route;
    size_t next; /* index in route.backends */
    struct target *target;
    struct http_call *call;
    bool can_write, streamed, call_paused, repeated_stale;
    struct hold turn; /* for target, if it is in a pool */
    struct timer keep_alive;
    bool early;        /* the response head of a stream was sent before the back end's */
    bool held_in_vain; /* the last attempt ended while it was held */
    bool answering;    /* the back end's response head was received */
    bool probe_anyway; /* all back ends are out: try them anyway */
    int64_t begun_ms, attempt_ms, head_ms, first_ms, last_ms;
    struct timer clock, later, token_look;
    int64_t timeout_ms, between_ms, total_ms;
    bool timed_out;
    const char *failure; /* of the last attempt; may be shown to the client */
    int failure_status;  /* 502, 504, or the back end's */
    struct buf tried;    /* names of back ends that failed */
    /* the answer */
    bool responded, finished, cut, map_model;
    enum answer_mode mode;
    int status;
    const char *outcome;
    struct buf whole;
    struct sse_reader events;
    bool in_model; /* the bytes of the model's value are dropped */
    int64_t answer_bytes, event_count;
    int64_t prompt_tokens, completion_tokens; /* -1: not reported */
};

/* dispatch.c */
void router_dispatch_new(
    struct router *r, struct http_exchange *x, const struct http_request_head *head);
/* Ends it with an error of the router; extra may be NULL. */
void router_dispatch_refuse(struct dispatch *d, int status, const char *outcome,
    const char *message, const struct http_header *extra);
/* The attempt failed before any answer: starts the next one, or ends the request. */
void router_dispatch_next(struct dispatch *d);
/* Tries the same back end again, or starts the first attempt after waiting for a member. */
void router_dispatch_again(struct dispatch *d);
/* Sets the timer for the earliest deadline. It need not be set again for each token: when it fires,
 * all deadlines are checked. */
void router_dispatch_look_at_clocks(struct dispatch *d);
void router_dispatch_attempt_failed(struct dispatch *d, enum target_failure how, bool counts,
    int status, const char *format, ...) printf_like(5, 6);

/* The size of `hold` has changed. */
void router_dispatch_count(struct dispatch *d);
/* The body is not needed any more. */
void router_dispatch_forget_body(struct dispatch *d);

/* answer.c */
extern const struct http_call_handlers router_answer_handlers;
void router_answer_drained(struct dispatch *d);
/* The answer cannot be completed: the client gets an error event and a broken connection. */
void router_answer_cut(struct dispatch *d, const char *outcome, const char *message);
void router_answer_done(struct dispatch *d);
void router_dispatch_more(void *ctx); /* the call accepts more of the body */

/* signed.c */
/* The client's headers, without those of its connection and its secrets; then more. */
struct http_headers router_dispatch_headers(
    struct dispatch *d, const struct http_header *more, size_t more_count);
/* The attempt cannot start yet: it waits for the complete body or for a token. */
bool router_signed_early(struct dispatch *d) must_check;
void router_signed_call(struct dispatch *d, struct http_request *request);

/* wait.c */
void router_wait_init(struct dispatch *d);
/* True: continue at once; false: the request continues when the member runs. */
bool router_wait_turn(struct dispatch *d) must_check;
/* The target is not used any more. */
void router_wait_end(struct dispatch *d);

/* spend.c: false: it was refused. */
bool router_spend_reserve(struct dispatch *d) must_check;
/* Called once, when the outcome is known. */
void router_spend_settle(struct dispatch *d);

/* health.c: checks of the back ends of the current config. */
void router_health_start(struct router *r);
void router_health_stop(struct router *r);

/* shadow.c: copies of a request for the other back ends of its route. Their answers are discarded,
 * and they may outlive the request. */
void router_shadow_send(struct dispatch *d);
void router_shadow_stop(struct router *r);

/* report.c */
void router_report_link(struct router *r);
void router_report_write(struct dispatch *d);
void router_report_refresh(struct router *r);
