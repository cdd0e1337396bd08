#pragma once

/* The simulator: API server, operators, workloads, rivals and faults in one process, on a clock
 * that only moves when nothing is left to do at this time, and with one number deciding every
 * choice.
 *
 *   scenario ──> person, rivals ─┐
 *                                ▼
 *   operator ──> network ──> API server ──> checks
 *      ▲            │ (late, lost, twice, refused, cut, stale)
 *      └────────────┘
 *
 * What runs is the shipped code: src/apiserver, src/engine, src/kinds, src/kube. Only the wire, the
 * clock, the effects (downloads, probes) and the workloads are played. docs/simulation.md tells how
 * to use and extend it. */

#include "apiserver/core/server.h"
#include "apiserver/store/store.h"
#include "base/json.h"
#include "base/timer.h"
#include "kube/transport.h"

#define SIM_OPERATORS_MAX 2
#define SIM_TOOLHIVE "toolhive.stacklok.dev"
#define SIM_WISHES 32 /* numbers of wishes are below */
#define SIM_WISHES_ALL (((uint64_t)1 << SIM_WISHES) - 1)
/* Nobody asks for it while there are faults, and it is there. */
#define SIM_SOURCE_HEALTHY "https://models.example/healthy.gguf"

struct call;
struct sim;
struct sim_operator;
struct sim_story;

/* Streams of choices that do not disturb one another: the same inputs come with and without
 * faults. */
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
/* Evenly in [0, below). */
uint32_t sim_below(struct sim *s, enum sim_stream stream, uint32_t below);
/* With this chance of 1000. */
bool sim_chance(struct sim *s, enum sim_stream stream, uint32_t of_1000);

/* How often what goes wrong, of 1000 times. */
struct sim_rates {
    uint16_t request_lost;   /* never arrives */
    uint16_t answer_lost;    /* done, but the client never hears of it */
    uint16_t repeated;       /* arrives twice: a proxy that tries again */
    uint16_t slow;           /* takes seconds instead of milliseconds */
    uint16_t busy;           /* 429 with Retry-After */
    uint16_t failing;        /* 500 or 503 */
    uint16_t forbidden;      /* rights on a resource are withdrawn for a while: 403 */
    uint16_t stream_cut;     /* a watch ends, at each of its events */
    uint16_t stream_stall;   /* a watch falls silent */
    uint16_t stream_gone;    /* a watch begins with 410 */
    uint16_t crash;          /* of the operator, at each of its requests */
    uint16_t pause;          /* it stands still for up to a minute, likewise */
    uint16_t clock_jump;     /* its wall clock is set again; each operator has its own time */
    uint16_t effect_fails;   /* a download or probe, at each try */
    uint16_t pods_fail;      /* pods of a Deployment crash before they are ready */
    uint16_t disk_full;      /* a commit of the API server fails, and all for some seconds */
    uint16_t disk_slow;      /* a commit takes seconds, in which the server does nothing else */
    uint16_t server_crash;   /* the API server dies at a request and starts again from its disk */
    uint16_t stream_twice;   /* an event of a watch comes again */
    uint16_t stream_lag;     /* a watch is served from a cache that is up to a minute behind */
    uint16_t crd_gone;       /* a CRD of ours is removed and comes back, every ten seconds or so */
    uint16_t crd_optional;   /* a CRD of others comes or goes, likewise */
    uint16_t namespace_gone; /* a namespace is deleted and made again, likewise */
    uint16_t stream_skip;    /* a watch loses events, and a bookmark leads past them */
    uint16_t withheld;       /* rights to write some resource end for good; which one: the rate */
    uint16_t astray;         /* a proxy that reloads knows of nothing: 404 */
};

/* Who did something, for checks and the history. */
struct sim_actor {
    const char *name;        /* "operator-0", "person", "mesh", "server", … */
    struct sim_operator *op; /* NULL: another client */
};

struct sim_request {
    struct sim_actor actor;
    const char *method, *path;
    struct str body;
    int64_t led_ms; /* since when its sender led */
};

/* What a request did to the store. */
struct sim_change {
    const struct sim_request *request;
    const struct store_event *event;
};

/* What goes wrong at one request of the first operator; campaigns try each. */
enum sim_point {
    SIM_CRASH_AT,  /* it crashes just after it */
    SIM_LOSE_AT,   /* its answer is lost */
    SIM_RIVAL_AT,  /* a rival acts just after it */
    SIM_STALE_AT,  /* it crashes there, and what it lists then is older than that */
    SIM_DELETE_AT, /* what it writes is deleted before it has the answer */
    SIM_END_AT,    /* its answer is late, and it ends in order before */
    SIM_POINT_COUNT,
};

struct sim_options {
    uint64_t seed;
    struct sim_rates rates;
    size_t operators; /* 0: one */
    bool poisoned;    /* with objects that cannot be served among the others */
    bool rivals;      /* with others who write */
    bool heals;       /* in the end the person asks for plain things only */
    bool tour;        /* the person has a plain wish of every kind, edits it, takes it back */
    bool hurry;       /* the person has another wish five times a second */
    bool direct;      /* there is no history: only what is wished for in the end */
    const struct sim_story *story; /* what the person does instead; NULL: anything */
    bool mishaps;                  /* what goes wrong in it does */
    int64_t faults_ms;             /* faults and inputs end then */
    uint64_t at[SIM_POINT_COUNT];  /* what goes wrong at its n-th request; 0: nothing */
    uint64_t only;                 /* the wishes that the person has, by number */
    bool trace;                    /* print the history as it happens */
    struct sim_coverage *coverage; /* of inputs; NULL: not counted */
    bool tell;                     /* the history says which fields changed */
};

struct sim {
    struct sim_options options;
    struct arena arena; /* of what lasts as long as the run */
    struct json crds;   /* of every kind that operators serve */
    uint64_t random[SIM_STREAM_COUNT];
    int64_t now_ms;
    struct timers timers; /* of the network, the server and everybody but operators */
    struct env env;
    struct sim_disk *disk;
    struct store *store;
    struct apiserver *server;
    int64_t server_wakes_ms; /* it answers nobody before */
    struct timer server_crash;
    struct store_watch watch;
    struct sim_request request; /* being served */
    size_t request_changes;     /* what it did so far */
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
    uint64_t requests;   /* of operators that arrived */
    uint64_t injected;   /* faults */
    struct call *adrift; /* whose sender is gone, on their way (network.c) */
    struct timer rival;  /* options.at[SIM_RIVAL_AT] */
    struct sim_stale *stale;
    struct sim_coverage *reached; /* in this run; NULL: nobody is in a hurry */
    const char *forbidden;        /* a plural; NULL: all is allowed */
    const char *forbidden_in;
    int64_t forbidden_until_ms;
    bool forbade;                  /* … or a write of a story was refused */
    const struct sim_step *mishap; /* of the story, still to come; NULL: none */
    bool quiet;                    /* no more faults */
    struct error failure;          /* the first check that failed; code ERR_NONE: none */
};

/* ---- options.c: what a seed decides before anything happens ---- */

struct sim_options sim_options_of(uint64_t seed);
void sim_options_calm(struct sim_options *o);     /* nothing goes wrong, and nobody meddles */
const char *sim_point_name(enum sim_point p);     /* "crash" */
const char *sim_point_campaign(enum sim_point p); /* "crashes" */
/* Without this fault, "rivals" or "standby"; false: it was off already. */
bool sim_options_drop(struct sim_options *o, const char *name);
const char *sim_options_name(size_t i);              /* of what can be dropped; NULL past the end */
bool sim_is_faultless(const struct sim_options *o);  /* nothing goes wrong by chance */
void sim_options_print(const struct sim_options *o); /* the line that replays it */

/* ---- trial.c: a run with faults, one without, and whether they come to the same ---- */

/* What a run came to; the texts are to be freed. */
struct sim_end {
    char *state;   /* sim_end_state() */
    char *deleted; /* sim_deletions_text() */
};

struct sim_trial {
    uint64_t steps;
    uint64_t sent;      /* requests of the first operator while there were faults */
    char *failure;      /* NULL: none; to be freed */
    struct sim_end end; /* of the run without faults; not played: empty */
};
/* plain: how the run without faults ends; NULL: it is played. */
struct sim_trial sim_try(const struct sim_options *options, const struct sim_end *plain, bool tell);
void sim_trial_done(struct sim_trial *t);
/* memory.c: whether many rounds in one world leave more behind than a few. */
struct sim_trial sim_try_memory(const struct sim_options *options);
/* A smaller world that fails alike. */
struct sim_options sim_shrink(const struct sim_options *from, const char *how, uint64_t *steps);

/* ---- world.c: the clock, the server, asking it ---- */

/* The CRDs that are installed. ToolHive's are there in stories of its kinds alone: with them, no
 * other kind would have its turn often enough. */
struct json sim_crds(struct arena *a, const struct sim_story *story);
struct sim *sim_new(const struct sim_options *options);
void sim_free(struct sim *s);
/* Lets everything happen until this time, or until a check fails. */
void sim_run_until(struct sim *s, int64_t at_ms);
/* What the server wrote by itself is committed, before others write. */
void sim_flush(struct sim *s);
/* A request that goes straight to the server, as somebody other than an operator; returns the HTTP
 * status. The answer, if it is an object, lives in the arena; NULL: not wanted. */
int sim_ask(struct sim *s, const char *who, const char *method, const char *path,
    const char *content_type, struct json body, struct arena *a, struct json *ret);
/* A check failed: the run is over. */
void sim_fail(struct sim *s, const char *format, ...) printf_like(2, 3);

/* ---- server.c, disk.c: the API server's process, and its disk ---- */

void sim_server_start(struct sim *s);
void sim_server_stop(struct sim *s);
void sim_server_crash(void *sim); /* and starts again; not from inside the server */

struct sim_disk *sim_disk_new(struct sim *s);
const struct store_disk *sim_disk_of(struct sim_disk *d);
void sim_disk_free(struct sim_disk *d);

/* ---- network.c ---- */

struct sim_network; /* of one operator */
struct sim_network *sim_network_new(struct sim_operator *o);
const struct kube_transport *sim_network_transport(struct sim_network *n);
/* The server is gone: its streams break. */
void sim_network_disconnect(struct sim_network *n);
/* The server has forgotten what was: its streams break, and must begin with a list. */
void sim_network_expire(struct sim_network *n);
/* Its watches whose paths have this part are served from a cache that is so old. */
void sim_network_lag(struct sim_network *n, const char *part, int64_t lag_ms);
/* The operator is gone: nothing reaches it any more; what it sent still arrives. */
void sim_network_free(struct sim_network *n);

/* The world ends: what is still on its way never arrives. */
void sim_network_end(struct sim *s);

/* ---- operator.c ---- */

struct sim_operator {
    struct sim *sim;
    char name[16];
    struct timers timers;
    struct env env;
    int64_t wakes_ms; /* stands still until then */
    int64_t skew_ms;  /* of its wall clock */
    uint64_t sent;    /* requests, over all its lives */
    int64_t lives;
    uint64_t random;
    struct sim_life *life;  /* NULL: crashed, waits for its restart */
    bool dying;             /* crashed in the middle of a turn */
    int64_t led_ms;         /* since when it leads, in this life */
    int64_t leased_ms;      /* when its lease was written last */
    uint64_t misled;        /* writes that did nothing, and it could not know it; in this life */
    int64_t stale_until_ms; /* what it lists is old */
    struct timer restart, death;
};

struct sim_operator *sim_operator_new(struct sim *s, size_t number);
void sim_operator_free(struct sim_operator *o);
void sim_operator_crash(struct sim_operator *o, int64_t restart_ms);
int64_t sim_operator_skew(struct sim *s); /* of a wall clock that was set again */
/* As by SIGTERM: everything is given back, then it starts again. */
void sim_operator_end(struct sim_operator *o, int64_t after_ms);
void sim_operator_pause(struct sim_operator *o, int64_t ms);
void sim_operator_disconnect(struct sim_operator *o); /* the server is gone */
void sim_operator_expire(struct sim_operator *o);     /* sim_network_expire() */
void sim_operator_lag(struct sim_operator *o, const char *part, int64_t lag_ms); /* likewise */
bool sim_operator_leads(const struct sim_operator *o);
void sim_operator_check(const struct sim_operator *o); /* what its engine counted */
/* How often the engine was told of new input, in this life. */
uint64_t sim_operator_wakes(const struct sim_operator *o);

/* ---- stale.c: lists as they were some time ago ---- */

struct sim_stale *sim_stale_new(struct sim *s);
void sim_stale_free(struct sim_stale *t);
/* Remembers what a list that begins with this path would say now. */
void sim_stale_take(struct sim_stale *t, const char *path);
/* The remembered list, which is then forgotten, and the path of a watch that goes on from it;
 * false: there is none. Both live in the arena. */
bool sim_stale_use(struct sim_stale *t, const char *path, struct arena *a, struct str *ret_list,
    const char **ret_path);

/* ---- effects.c: downloads and probes, played ---- */

struct effect_runner;
struct sim_effects;
struct sim_effects *sim_effects_new(struct sim_operator *o);
const struct effect_runner *sim_effects_runner(struct sim_effects *e);
void sim_effects_free(struct sim_effects *e);

/* ---- workloads.c: who makes Deployments ready and binds claims ---- */

struct sim_workloads *sim_workloads_new(struct sim *s);
void sim_workloads_changed(struct sim_workloads *w, const struct store_event *event);
void sim_workloads_free(struct sim_workloads *w);

/* ---- check_rolls.c ---- */

/* Whether the pods of this object of ToolHive are of its configuration. */
void sim_check_rolls(struct sim *s, struct json object);

/* ---- cluster.c: CRDs and namespaces, which come and go ---- */

static const char *const sim_namespaces[] = { "sim-a", "sim-b" };
struct sim_cluster *sim_cluster_new(struct sim *s);
void sim_cluster_free(struct sim_cluster *c);

/* ---- rivals.c: those with a plan of their own ---- */

struct plan;
struct view;
struct sim_rivals *sim_rivals_new(struct sim *s);
void sim_rivals_free(struct sim_rivals *r);
/* Somebody takes a field of this Deployment back, each time, as soon as it is there. */
void sim_rivals_take(struct sim_rivals *r, const char *name);
void sim_rivals_changed(struct sim_rivals *r, const struct store_event *event); /* by an operator */
/* A pass of an operator over an object. */
void sim_rivals_planned(struct sim_rivals *r, const struct view *in, const struct plan *p);

/* ---- poison.c: objects that cannot be served ---- */

struct sim_poison *sim_poison_new(struct sim *s);
void sim_poison_free(struct sim_poison *p);
bool sim_is_poison(const char *name); /* one of them, or made for one */

/* ---- scenario.c: what people and rivals do ---- */

struct sim_scenario *sim_scenario_new(struct sim *s);
void sim_scenario_free(struct sim_scenario *c);
void sim_scenario_begin(struct sim_scenario *c); /* people and rivals go on */
void sim_scenario_clear(struct sim_scenario *c); /* all that people wished for goes */
void sim_scenario_rival(struct sim_scenario *c); /* one acts right now */
void sim_scenario_end(struct sim_scenario *c);   /* what everybody would write is served */
/* An operator wrote something: a rival may answer to that. */
void sim_scenario_changed(struct sim_scenario *c, const struct store_event *event);

/* ---- mishap.c: what goes wrong in a story ---- */

struct sim_step;
enum sim_mishap {
    SIM_MISHAP_NONE,
    SIM_MISHAP_LOST, /* the answer */
    SIM_MISHAP_LATE, /* it arrives when its sender has given it up */
    SIM_MISHAP_FORBIDDEN,
    SIM_MISHAP_DELETED, /* what it wrote, before the answer comes */
    SIM_MISHAP_END,     /* the operator ends in order before the answer comes */
};
bool sim_step_is_mishap(const struct sim_step *step);
void sim_mishap_begin(struct sim *s, const struct sim_step *step);
/* A request of an operator arrives. */
enum sim_mishap sim_mishap_at(struct sim *s, const struct sim_request *request);

/* ---- check.c ---- */

struct sim_checks *sim_checks_new(struct sim *s);
void sim_checks_free(struct sim_checks *c);
/* At each change of the store; after each request; when a request leaves an operator. */
void sim_check_change(struct sim_checks *c, const struct sim_change *change);
/* Somebody deleted a child of this object. */
void sim_check_reason(struct sim_checks *c, const char *table, struct json owner);
/* True: the write did nothing, or made nothing, and its sender could not know it. */
bool sim_check_request(
    struct sim_checks *c, const struct sim_request *request, int status, size_t changes);
void sim_check_sent(
    struct sim_checks *c, struct sim_operator *o, const char *method, const char *path);
/* The world is at rest from now on: whatever an operator writes is too much. */
void sim_check_rest(struct sim_checks *c, bool rest);
/* Nothing is left whose owner is gone; nobody grew without bound. */
void sim_check_end(struct sim_checks *c);
/* What the operators made of it all, as lines that two runs can be compared by; or, to the letter,
 * what the same world came to at two times. */
const char *sim_end_state(struct sim *s, struct arena *a, bool same_world);

/* ---- check_write.c: what writes are based on ---- */

bool sim_is_create(const struct sim_request *request);

struct sim_writes *sim_writes_new(void);
void sim_writes_free(struct sim_writes *w);
/* An answer with an object reached the operator; a request leaves it. */
void sim_check_heard(struct sim_writes *w, const struct sim_operator *o, const char *method,
    const char *path, uint64_t version);
uint64_t sim_version_in(struct str text); /* of an object; 0: it is none */
uint64_t sim_version_of(struct json object);
void sim_check_based(
    struct sim_writes *w, struct sim_operator *o, const struct sim_request *request);

/* ---- check_delete.c: what operators deleted ---- */

struct sim_deletions *sim_deletions_new(void);
void sim_deletions_free(struct sim_deletions *d);
void sim_deletions_add(struct sim_deletions *d, const char *path);
/* As a text, to be freed. */
char *sim_deletions_text(const struct sim_deletions *d);
/* What was deleted more often than there; NULL: nothing. Lives in the arena. */
const char *sim_deletions_more(struct arena *a, const char *text, const char *there);
/* An operator took its finalizer off. */
void sim_check_let_go(struct sim *s, struct json object);

/* ---- check_cause.c: whether people are told why something is not there ---- */

struct sim_causes *sim_causes_new(struct sim *s);
void sim_causes_free(struct sim_causes *c);
/* A write was answered, and its sender heard it. */
void sim_causes_heard(
    struct sim_causes *c, const struct sim_request *request, int status, struct str answer);
/* The end: whatever is still refused is named by a condition of its owner. */
void sim_causes_check(struct sim_causes *c);

/* ---- check_missing.c: whether people are told what is not there ---- */

void sim_check_missing(struct sim *s, struct json object); /* in the end */
/* Some condition of this object says this. */
void sim_check_tells(struct sim *s, const char *path, const char *what);

/* ---- check_wake.c: what operators know, what may wake them, and how often ---- */

struct kind;
struct sim_wakes *sim_wakes_new(struct sim *s);
void sim_wakes_free(struct sim_wakes *w);
void sim_wakes_begin(struct sim_wakes *w, const struct sim_operator *o); /* a life */
/* An answer with an object reached the operator. */
void sim_wakes_told(
    struct sim_wakes *w, const struct sim_operator *o, const char *path, struct str answer);
/* An answer reached it, whatever it says; a list begins to. */
void sim_wakes_answered(struct sim_wakes *w, const struct sim_operator *o, const char *path,
    int status, struct str answer);
void sim_wakes_list(struct sim_wakes *w, const struct sim_operator *o, const char *path);
/* The request to create something leaves it. */
void sim_wakes_creates(
    struct sim_wakes *w, const struct sim_operator *o, const char *path, struct json object);
/* Lines of a watch are about to reach it; true: they say something that it has not been told. */
bool sim_wakes_news(
    struct sim_wakes *w, const struct sim_operator *o, const char *path, struct str lines);
/* Whether it may list what it watches, and so can know of what is at a path. */
void sim_wakes_forbid(
    struct sim_wakes *w, const struct sim_operator *o, const char *path, bool forbidden);
bool sim_wakes_is_blind(struct sim_wakes *w, const struct sim_operator *o, const char *path);
/* It will forget what this watch told it. */
void sim_wakes_forget(struct sim_wakes *w, const struct sim_operator *o, const char *path);
/* Somebody gives reason for another pass over an object. */
void sim_wakes_reason(struct sim_wakes *w, const char *kind, const char *ns, const char *name);
/* It begins a pass over an object. */
void sim_wakes_pass(struct sim_wakes *w, const struct sim_operator *o, const struct kind *kind,
    const char *ns, const char *name);

/* ---- history.c ---- */

struct sim_history *sim_history_new(struct sim *s);
void sim_history_free(struct sim_history *h);
void sim_history_add(struct sim_history *h, const char *actor, const char *format, ...)
    printf_like(3, 4);
/* The paths of the first few fields in which two objects differ; lives in the arena. */
const char *sim_history_fields(struct arena *a, struct json before, struct json after);
/* Leases are renewed all the time; who leads is told anyway. */
bool sim_history_skips(const char *path);
/* The last lines about an object of this name (""; about all), as a table: time, who, what, what
 * came of it. */
void sim_history_print(const struct sim_history *h, const char *about, size_t lines);
