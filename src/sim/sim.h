#pragma once

/* The simulator: API server, operators, workloads, rivals and faults in one process. Its clock only
 * advances when nothing is left to do at the present time, and one number decides every choice.
 *
 *   scenario ──> person, rivals ─┐
 *                                ▼
 *   operator ──> network ──> API server ──> checks
 *      ▲            │ (late, lost, twice, refused, cut, stale)
 *      └────────────┘
 *
 * The code under test is the shipped code: src/apiserver, src/engine, src/kinds, src/kube. Only the
 * wire, the clock, the effects (downloads, probes) and the workloads are simulated.
 * docs/simulation.md describes how to use and extend it. */

#include "apiserver/core/server.h"
#include "apiserver/store/store.h"
#include "base/json.h"
#include "base/timer.h"
#include "kube/transport.h"

#define SIM_OPERATORS_MAX 2
#define SIM_TOOLHIVE "toolhive.stacklok.dev"
#define SIM_WISHES 32 /* see the numbers of wishes below */
#define SIM_WISHES_ALL (((uint64_t)1 << SIM_WISHES) - 1)
/* Exists, but is not used while there are faults. */
#define SIM_SOURCE_HEALTHY "https://models.example/healthy.gguf"

struct call;
struct sim;
struct sim_operator;
struct sim_story;

/* Independent streams of choices: the inputs are the same with and without faults. */
enum sim_stream {
    SIM_INPUTS, /* what the person does */
    SIM_RIVALS,
    SIM_NETWORK,
    SIM_FAULTS,
    SIM_WORKLOADS,
    SIM_SERVER, /* uids, names */
    SIM_POISON,
    SIM_STREAM_COUNT,
};
uint64_t sim_random(struct sim *s, enum sim_stream stream);
/* Uniform in [0, below). */
uint32_t sim_below(struct sim *s, enum sim_stream stream, uint32_t below);
/* True with this probability, in 1/1000. */
bool sim_chance(struct sim *s, enum sim_stream stream, uint32_t of_1000);

/* The rate of each fault, in 1/1000. */
struct sim_rates {
    uint16_t request_lost;   /* never arrives */
    uint16_t answer_lost;    /* handled, but the client never receives the answer */
    uint16_t repeated;       /* arrives twice, as with a proxy that retries */
    uint16_t slow;           /* takes seconds instead of milliseconds */
    uint16_t busy;           /* 429 with Retry-After */
    uint16_t failing;        /* 500 or 503 */
    uint16_t forbidden;      /* permissions for a resource are withdrawn for a while: 403 */
    uint16_t stream_cut;     /* a watch ends, at each of its events */
    uint16_t stream_stall;   /* a watch falls silent */
    uint16_t stream_gone;    /* a watch starts with 410 */
    uint16_t crash;          /* of the operator, at each of its requests */
    uint16_t pause;          /* it stops for up to a minute, likewise */
    uint16_t clock_jump;     /* its wall clock is changed; each operator has its own */
    uint16_t effect_fails;   /* a download or probe, at each try */
    uint16_t pods_fail;      /* pods of a Deployment crash before they are ready */
    uint16_t disk_full;      /* a commit of the API server fails, and all for some seconds */
    uint16_t disk_slow;      /* a commit takes seconds; the server does nothing else meanwhile */
    uint16_t server_crash;   /* the API server dies at a request and restarts from its disk */
    uint16_t stream_twice;   /* an event of a watch is repeated */
    uint16_t stream_lag;     /* a watch is served from a cache that is up to a minute behind */
    uint16_t crd_gone;       /* one of our CRDs is removed and restored, every ten seconds or so */
    uint16_t crd_optional;   /* a CRD of another project appears or disappears, likewise */
    uint16_t namespace_gone; /* a namespace is deleted and created again, likewise */
    uint16_t stream_skip;    /* a watch loses events, and a bookmark skips them */
    uint16_t withheld;       /* writes to a resource are forbidden for good; the rate picks it */
    uint16_t astray;         /* a proxy that reloads answers every request with 404 */
};

/* The client behind a request, for checks and the history. */
struct sim_actor {
    const char *name;        /* "operator-0", "person", "mesh", "server", … */
    struct sim_operator *op; /* NULL: another client */
};

struct sim_request {
    struct sim_actor actor;
    const char *method, *path;
    struct str body;
    int64_t led_ms; /* when its sender became the leader */
};

/* What a request did to the store. */
struct sim_change {
    const struct sim_request *request;
    const struct store_event *event;
};

/* The fault to inject at one request of the first operator; campaigns try each. */
enum sim_point {
    SIM_CRASH_AT,  /* it crashes right after the request */
    SIM_LOSE_AT,   /* its answer is lost */
    SIM_RIVAL_AT,  /* a rival acts right after the request */
    SIM_STALE_AT,  /* it crashes there, and afterwards gets a list older than the request */
    SIM_DELETE_AT, /* the written object is deleted before the answer arrives */
    SIM_END_AT,    /* the answer is late, and the operator shuts down cleanly before */
    SIM_POINT_COUNT,
};

struct sim_options {
    uint64_t seed;
    struct sim_rates rates;
    size_t operators; /* 0: one */
    bool poisoned;    /* some objects cannot be served */
    bool rivals;      /* with rival clients */
    bool heals;       /* at the end the person asks only for simple things */
    bool tour;        /* the person creates a simple object of every kind, edits it, reverts it */
    bool hurry;       /* the person makes five changes per second */
    bool direct;      /* skips the history: creates only the final wishes */
    const struct sim_story *story; /* replaces the random person; NULL: none */
    bool mishaps;                  /* its mishaps happen */
    int64_t faults_ms;             /* when faults and inputs end */
    uint64_t at[SIM_POINT_COUNT];  /* the fault is injected at its n-th request; 0: never */
    uint64_t only;                 /* bit mask of the person's wishes */
    bool trace;                    /* print the history as it happens */
    struct sim_coverage *coverage; /* of inputs; NULL: not counted */
    bool tell;                     /* the history includes the changed fields */
};

struct sim {
    struct sim_options options;
    struct arena arena; /* for data that lasts as long as the run */
    struct json crds;   /* of every kind that operators handle */
    uint64_t random[SIM_STREAM_COUNT];
    int64_t now_ms;
    struct timers timers; /* of the network, the server and everything else except operators */
    struct env env;
    struct sim_disk *disk;
    struct store *store;
    struct apiserver *server;
    int64_t server_wakes_ms; /* it answers no request before */
    struct timer server_crash;
    struct store_watch watch;
    struct sim_request request; /* being served */
    size_t request_changes;     /* its changes so far */
    int request_status;
    struct sim_operator *operators[SIM_OPERATORS_MAX];
    struct sim_checks *checks;
    struct sim_writes *writes;
    struct sim_wakes *wakes;
    struct sim_deletions *deletions;
    struct sim_causes *causes;
    struct sim_history *history;
    struct sim_cluster *cluster;
    struct sim_scenario *scenario;
    struct sim_rivals *rivals;
    struct sim_poison *poison;
    struct sim_workloads *workloads;
    uint64_t steps;      /* things that happened */
    uint64_t requests;   /* of operators, on arrival */
    uint64_t injected;   /* faults */
    struct call *adrift; /* the calls without a sender that are still in transit (network.c) */
    struct timer rival;  /* options.at[SIM_RIVAL_AT] */
    struct sim_stale *stale;
    struct sim_coverage *reached; /* in this run; NULL: not in a hurry */
    const char *forbidden;        /* a plural; NULL: everything is allowed */
    const char *forbidden_in;
    int64_t forbidden_until_ms;
    bool forbade;                  /* … or a write of a story was refused */
    const struct sim_step *mishap; /* the story's next one; NULL: none */
    bool quiet;                    /* no more faults */
    struct error failure;          /* the first check that failed; code ERR_NONE: none */
};

/* ---- options.c: what a seed decides before the run starts ---- */

struct sim_options sim_options_of(uint64_t seed);
void sim_options_calm(struct sim_options *o);     /* no faults, no rivals */
const char *sim_point_name(enum sim_point p);     /* "crash" */
const char *sim_point_campaign(enum sim_point p); /* "crashes" */
/* Disables this fault, "rivals" or "standby"; false: it was already off. */
bool sim_options_drop(struct sim_options *o, const char *name);
const char *sim_options_name(size_t i);              /* that can be dropped; NULL past the end */
bool sim_is_faultless(const struct sim_options *o);  /* no random faults */
void sim_options_print(const struct sim_options *o); /* the command line that replays it */

/* ---- trial.c: compares a run with faults to one without ---- */

/* The result of a run; the caller frees the texts. */
struct sim_end {
    char *state;   /* sim_end_state() */
    char *deleted; /* sim_deletions_text() */
};

struct sim_trial {
    uint64_t steps;
    uint64_t sent;      /* requests of the first operator while there were faults */
    char *failure;      /* NULL: none; the caller frees it */
    struct sim_end end; /* of the run without faults; empty if it was not run */
};
/* plain: the end of the run without faults; NULL: run it. */
struct sim_trial sim_try(const struct sim_options *options, const struct sim_end *plain, bool tell);
void sim_trial_done(struct sim_trial *t);
/* memory.c: whether many rounds in one world leak memory. */
struct sim_trial sim_try_memory(const struct sim_options *options);
/* A smaller world with the same failure. */
struct sim_options sim_shrink(const struct sim_options *from, const char *how, uint64_t *steps);

/* ---- world.c: the clock, the server, direct requests ---- */

/* The installed CRDs. Those of ToolHive are installed only in stories of its kinds: otherwise the
 * other kinds would be tested too rarely. */
struct json sim_crds(struct arena *a, const struct sim_story *story);
struct sim *sim_new(const struct sim_options *options);
void sim_free(struct sim *s);
/* Runs everything until this time, or until a check fails. */
void sim_run_until(struct sim *s, int64_t at_ms);
/* Commits the server's own writes before another client writes. */
void sim_flush(struct sim *s);
/* A request directly to the server, not from an operator; returns the HTTP status. The answer, if
 * it is an object, lives in the arena; NULL: not wanted. */
int sim_ask(struct sim *s, const char *who, const char *method, const char *path,
    const char *content_type, struct json body, struct arena *a, struct json *ret);
/* A check failed: ends the run. */
void sim_fail(struct sim *s, const char *format, ...) printf_like(2, 3);

/* ---- server.c, disk.c: the API server's process, and its disk ---- */

void sim_server_start(struct sim *s);
void sim_server_stop(struct sim *s);
void sim_server_crash(void *sim); /* and restarts it; not from inside the server */

struct sim_disk *sim_disk_new(struct sim *s);
const struct store_disk *sim_disk_of(struct sim_disk *d);
void sim_disk_free(struct sim_disk *d);

/* ---- network.c ---- */

struct sim_network; /* of one operator */
struct sim_network *sim_network_new(struct sim_operator *o);
const struct kube_transport *sim_network_transport(struct sim_network *n);
/* The server is down: breaks its streams. */
void sim_network_disconnect(struct sim_network *n);
/* The server has lost its history: breaks its streams, which must start with a list. */
void sim_network_expire(struct sim_network *n);
/* Serves its watches whose paths contain this part from a cache of this age. */
void sim_network_lag(struct sim_network *n, const char *part, int64_t lag_ms);
/* The operator is gone: it receives nothing more, but requests that it sent still arrive. */
void sim_network_free(struct sim_network *n);

/* The world ends: anything still in transit is dropped. */
void sim_network_end(struct sim *s);

/* ---- operator.c ---- */

struct sim_operator {
    struct sim *sim;
    char name[16];
    struct timers timers;
    struct env env;
    int64_t wakes_ms; /* paused until then */
    int64_t skew_ms;  /* of its wall clock */
    uint64_t sent;    /* requests, in all its lives */
    int64_t lives;
    uint64_t random;
    struct sim_life *life;  /* NULL: crashed, waits to be restarted */
    bool dying;             /* crashed in the middle of a turn */
    int64_t led_ms;         /* when it became the leader, in this life */
    int64_t leased_ms;      /* when its lease was written last */
    uint64_t misled;        /* writes without effect that it could not have avoided; in this life */
    int64_t stale_until_ms; /* its lists are old until then */
    struct timer restart, death;
};

struct sim_operator *sim_operator_new(struct sim *s, size_t number);
void sim_operator_free(struct sim_operator *o);
void sim_operator_crash(struct sim_operator *o, int64_t restart_ms);
int64_t sim_operator_skew(struct sim *s); /* for a wall clock that was set to another time */
/* As by SIGTERM: releases everything, then it restarts. */
void sim_operator_end(struct sim_operator *o, int64_t after_ms);
void sim_operator_pause(struct sim_operator *o, int64_t ms);
void sim_operator_disconnect(struct sim_operator *o); /* the server is down */
void sim_operator_expire(struct sim_operator *o);     /* sim_network_expire() */
void sim_operator_lag(struct sim_operator *o, const char *part, int64_t lag_ms); /* likewise */
bool sim_operator_leads(const struct sim_operator *o);
void sim_operator_check(const struct sim_operator *o); /* the counters of its engine */
/* How often the engine was notified of new input, in this life. */
uint64_t sim_operator_wakes(const struct sim_operator *o);

/* ---- stale.c: old lists ---- */

struct sim_stale *sim_stale_new(struct sim *s);
void sim_stale_free(struct sim_stale *t);
/* Saves the present content of a list that begins with this path. */
void sim_stale_take(struct sim_stale *t, const char *path);
/* Returns the saved list and drops it, and the path of a watch that continues from it; false: there
 * is none. Both live in the arena. */
bool sim_stale_use(struct sim_stale *t, const char *path, struct arena *a, struct str *ret_list,
    const char **ret_path);

/* ---- effects.c: simulated downloads and probes ---- */

struct effect_runner;
struct sim_effects;
struct sim_effects *sim_effects_new(struct sim_operator *o);
const struct effect_runner *sim_effects_runner(struct sim_effects *e);
void sim_effects_free(struct sim_effects *e);

/* ---- workloads.c: makes Deployments ready and binds claims ---- */

struct sim_workloads *sim_workloads_new(struct sim *s);
void sim_workloads_changed(struct sim_workloads *w, const struct store_event *event);
void sim_workloads_free(struct sim_workloads *w);

/* ---- check_rolls.c ---- */

/* Whether the pods of this ToolHive object have its present configuration. */
void sim_check_rolls(struct sim *s, struct json object);

/* ---- cluster.c: CRDs and namespaces that appear and disappear ---- */

static const char *const sim_namespaces[] = { "sim-a", "sim-b" };
struct sim_cluster *sim_cluster_new(struct sim *s);
void sim_cluster_free(struct sim_cluster *c);

/* ---- rivals.c: rivals that act by a plan ---- */

struct plan;
struct view;
struct sim_rivals *sim_rivals_new(struct sim *s);
void sim_rivals_free(struct sim_rivals *r);
/* A rival takes a field of this Deployment back each time, as soon as it is written. */
void sim_rivals_take(struct sim_rivals *r, const char *name);
void sim_rivals_changed(struct sim_rivals *r, const struct store_event *event); /* by an operator */
/* An operator finished a pass over an object. */
void sim_rivals_planned(struct sim_rivals *r, const struct view *in, const struct plan *p);

/* ---- poison.c: objects that cannot be served ---- */

struct sim_poison *sim_poison_new(struct sim *s);
void sim_poison_free(struct sim_poison *p);
bool sim_is_poison(const char *name); /* such an object, or a child of one */

/* ---- scenario.c: what people and rivals do ---- */

struct sim_scenario *sim_scenario_new(struct sim *s);
void sim_scenario_free(struct sim_scenario *c);
void sim_scenario_begin(struct sim_scenario *c); /* starts people and rivals */
void sim_scenario_clear(struct sim_scenario *c); /* deletes everything that people created */
void sim_scenario_rival(struct sim_scenario *c); /* one acts immediately */
void sim_scenario_end(struct sim_scenario *c);   /* checks that the person's objects are served */
/* An operator wrote something; a rival may react. */
void sim_scenario_changed(struct sim_scenario *c, const struct store_event *event);

/* ---- mishap.c: what goes wrong in a story ---- */

struct sim_step;
enum sim_mishap {
    SIM_MISHAP_NONE,
    SIM_MISHAP_LOST, /* the answer */
    SIM_MISHAP_LATE, /* it arrives after its sender has timed out */
    SIM_MISHAP_FORBIDDEN,
    SIM_MISHAP_DELETED, /* the written object, before the answer arrives */
    SIM_MISHAP_END,     /* the operator shuts down cleanly before the answer arrives */
};
bool sim_step_is_mishap(const struct sim_step *step);
void sim_mishap_begin(struct sim *s, const struct sim_step *step);
/* Called when a request of an operator arrives. */
enum sim_mishap sim_mishap_at(struct sim *s, const struct sim_request *request);

/* ---- check.c ---- */

struct sim_checks *sim_checks_new(struct sim *s);
void sim_checks_free(struct sim_checks *c);
/* Called at each change of the store; after each request; when an operator sends a request. */
void sim_check_change(struct sim_checks *c, const struct sim_change *change);
/* Another client deleted a child of this object. */
void sim_check_reason(struct sim_checks *c, const char *table, struct json owner);
/* True: the write had no effect, or created nothing, and its sender could not know that. */
bool sim_check_request(
    struct sim_checks *c, const struct sim_request *request, int status, size_t changes);
void sim_check_sent(
    struct sim_checks *c, struct sim_operator *o, const char *method, const char *path);
/* From now on the world is at rest: operators must not write anything. */
void sim_check_rest(struct sim_checks *c, bool rest);
/* Checks that no object is left whose owner is gone, and that nothing grew without bound. */
void sim_check_end(struct sim_checks *c);
/* The end state as lines, to compare two runs; or with all details, to compare the same world at
 * two times. */
const char *sim_end_state(struct sim *s, struct arena *a, bool same_world);

/* ---- check_write.c: the state that writes are based on ---- */

bool sim_is_create(const struct sim_request *request);

struct sim_writes *sim_writes_new(void);
void sim_writes_free(struct sim_writes *w);
/* An operator received an answer with an object; an operator sends a request. */
void sim_check_heard(struct sim_writes *w, const struct sim_operator *o, const char *method,
    const char *path, uint64_t version);
uint64_t sim_version_in(struct str text); /* of an object; 0: not an object */
uint64_t sim_version_of(struct json object);
void sim_check_based(
    struct sim_writes *w, struct sim_operator *o, const struct sim_request *request);

/* ---- check_delete.c: what operators deleted ---- */

struct sim_deletions *sim_deletions_new(void);
void sim_deletions_free(struct sim_deletions *d);
void sim_deletions_add(struct sim_deletions *d, const char *path);
/* As a text, which the caller frees. */
char *sim_deletions_text(const struct sim_deletions *d);
/* What text deletes more often than the other list; NULL: nothing. Lives in the arena. */
const char *sim_deletions_more(struct arena *a, const char *text, const char *there);
/* An operator removed its finalizer. */
void sim_check_let_go(struct sim *s, struct json object);

/* ---- check_cause.c: whether conditions explain why a child is missing ---- */

struct sim_causes *sim_causes_new(struct sim *s);
void sim_causes_free(struct sim_causes *c);
/* The sender received the answer to a write. */
void sim_causes_heard(
    struct sim_causes *c, const struct sim_request *request, int status, struct str answer);
/* At the end: every write that is still refused must be named in a condition of its owner. */
void sim_causes_check(struct sim_causes *c);

/* ---- check_missing.c: whether conditions name missing objects ---- */

void sim_check_missing(struct sim *s, struct json object); /* at the end */
/* Checks that a condition of this object contains this text. */
void sim_check_tells(struct sim *s, const char *path, const char *what);

/* ---- check_wake.c: what operators know, what may wake them, and how often ---- */

struct kind;
struct sim_wakes *sim_wakes_new(struct sim *s);
void sim_wakes_free(struct sim_wakes *w);
void sim_wakes_begin(struct sim_wakes *w, const struct sim_operator *o); /* a life */
/* An operator received an answer with an object. */
void sim_wakes_told(
    struct sim_wakes *w, const struct sim_operator *o, const char *path, struct str answer);
/* An operator received any answer; for a list, its beginning. */
void sim_wakes_answered(struct sim_wakes *w, const struct sim_operator *o, const char *path,
    int status, struct str answer);
void sim_wakes_list(struct sim_wakes *w, const struct sim_operator *o, const char *path);
/* An operator sends a request to create an object. */
void sim_wakes_creates(
    struct sim_wakes *w, const struct sim_operator *o, const char *path, struct json object);
/* Lines of a watch are about to be delivered; true: they contain news for the operator. */
bool sim_wakes_news(
    struct sim_wakes *w, const struct sim_operator *o, const char *path, struct str lines);
/* Whether it may list what it watches, and so can know the object at a path. */
void sim_wakes_forbid(
    struct sim_wakes *w, const struct sim_operator *o, const char *path, bool forbidden);
bool sim_wakes_is_blind(struct sim_wakes *w, const struct sim_operator *o, const char *path);
/* It will forget what it learned from this watch. */
void sim_wakes_forget(struct sim_wakes *w, const struct sim_operator *o, const char *path);
/* Another client caused one more pass over an object. */
void sim_wakes_reason(struct sim_wakes *w, const char *kind, const char *ns, const char *name);
/* It starts a pass over an object. */
void sim_wakes_pass(struct sim_wakes *w, const struct sim_operator *o, const struct kind *kind,
    const char *ns, const char *name);

/* ---- history.c ---- */

struct sim_history *sim_history_new(struct sim *s);
void sim_history_free(struct sim_history *h);
void sim_history_add(struct sim_history *h, const char *actor, const char *format, ...)
    printf_like(3, 4);
/* The paths of the first few fields in which two objects differ; lives in the arena. */
const char *sim_history_fields(struct arena *a, struct json before, struct json after);
/* Lease renewals are left out, but a change of the leader is printed anyway. */
bool sim_history_skips(const char *path);
/* The last lines about objects of this name (""; all), as a table: time, client, action, result. */
void sim_history_print(const struct sim_history *h, const char *about, size_t lines);
