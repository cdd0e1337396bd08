#pragma once

/* A pod and its containers, for the files of pod.h. */

#include "base/timer.h"
#include "node/action.h"
#include "node/fields.h"
#include "node/pod.h"
#include "node/probe.h"
#include "node/runtime.h"

enum container_kind { CONTAINER_INIT, CONTAINER_SIDECAR, CONTAINER_MAIN };
enum { PROBE_STARTUP, PROBE_LIVENESS, PROBE_READINESS, PROBE_COUNT };

struct container {
    struct pod *pod;
    const char *name;
    struct json spec;
    enum container_kind kind;

    /* The last run, or none. */
    int run; /* its number; -1: none */
    struct runtime_task *task;
    struct runtime_state state;
    bool running, ended;
    bool unresolved;         /* it was taken over, and what commands in it need is not known yet */
    const char *reason;      /* of the end, where it was not the program's own */
    char message[4096 + 1];  /* of the end */
    struct arena arena;      /* of the run: */
    const char *const *envp; /* … for commands in it */
    const char *cwd;
    const struct root_mount *mounts;
    size_t mount_count;
    const char *cgroup[2];           /* what it enters, ended by NULL */
    const struct runtime_user *user; /* NULL: ours */
    bool no_new_privs;               /* allowPrivilegeEscalation: false */
    /* Where the program may leave a last word: in this mount, at this path below it. NULL: in
     * container_message_file(). */
    const struct root_mount *message_mount;
    const char *message_below;

    /* Why it does not run. */
    const char *waiting; /* "CrashLoopBackOff"; NULL: nothing yet */
    char waiting_message[1024];

    struct arena last_arena;
    struct json last;    /* how the run before ended: a state */
    int64_t back_off_ms; /* to keep after the next end */
    struct probe *probes[PROBE_COUNT];
    bool started, ready;
    struct action *hook;
    bool stopping, hook_is_stop;
    struct timer kill;
};

struct pod {
    const struct pod_host *host;
    struct arena arena; /* of the object */
    struct json object;
    char *uid, *directory, *ip;
    struct arena gpu_arena;
    struct json gpus;
    struct container *containers; /* init containers first */
    size_t count;
    struct json places; /* volume to place */
    struct arena places_arena;
    struct arena token_arena;
    struct json tokens;
    bool names_known;   /* its hosts file is up to date */
    char blocked[640];  /* why no container can be made; "": none */
    int64_t blocked_ms; /* mono: since when; 0: there is an event of it already */
    bool initialized, stopping, stopped, finished;
    bool expired;       /* it took longer than spec.activeDeadlineSeconds */
    int64_t start_ms;   /* wall */
    int64_t stop_at_ms; /* mono: when what is left is killed */
    int64_t leave_ms;   /* mono: until when it may go on because Services lead to it */
    int64_t left_ms;    /* mono: when none did any more; 0: not yet */
    struct timer wake;
};

struct pod_view pod_view(const struct pod *p);
/* An event in the kubelet's words; c: about a container, or NULL. */
void pod_event(const struct pod *p, const struct container *c, bool warning, const char *reason,
    const char *format, ...) printf_like(5, 6);

/* ---- container.c ---- */

void container_init(struct container *c, struct pod *p, struct json spec, enum container_kind kind);
void container_done(struct container *c);
/* What an earlier process of ours left of it; old is its status in the API. */
void container_adopt(struct container *c, struct json old);
/* Its volumes are known: what was taken over can have its probes and hooks again. */
void container_resume(struct container *c);
/* Starts it, or says in `waiting` why not; false asks to try again after *ret_after_ms. */
bool container_start(struct container *c, int64_t *ret_after_ms);
/* why: for people, NULL: it is told to. */
void container_stop(struct container *c, int64_t grace_ms, const char *why);
/* For what its program reads; with stdinOnce, for the first caller alone. -1: err. */
int container_input(struct container *c, struct error *err) must_check;
bool container_input_is_taken(const struct container *c);
/* Where its probes, hooks and commands act; a: of the place's own texts. */
struct action_place container_place(struct arena *a, struct container *c);
/* Its state in the API: { running: … }, { waiting: … } or { terminated: … }. */
struct json container_terminated(struct arena *a, const struct container *c);
/* Its log of that run. */
const char *container_log(struct arena *a, const struct container *c, int run);
/* What a run is called in the API: process://UID/NAME/N. */
const char *container_id(struct arena *a, const struct container *c);

/* Where its last word is, unless the program's path for it lies in a volume. */
const char *container_message_file(struct arena *a, const struct container *c);
/* Its HOME, and where it starts unless it says otherwise: as the machine sees it, and as the
 * container does. */
const char *container_home(struct arena *a, const struct container *c);
const char *container_home_inside(struct arena *a, const struct container *c);

/* ---- container_command.c ---- */

/* Resolves what a run needs into c->arena. False: `waiting` says why not, unless it runs. */
bool container_resolve(struct container *c, const char *const **ret_argv);
/* Whether it runs a program of Leeboard itself. */
bool container_is_ours(const struct container *c);
const char *container_translate(void *ctx, struct arena *a, const char *word);

/* ---- container_user.c ---- */

/* Whose rights it has by its securityContext and the pod's; NULL: it does not say. The group of a
 * user without runAsGroup is the user's own on this machine: there is no image that would say. */
const struct runtime_user *container_user(struct arena *a, const struct container *c);
/* Whether its program may not gain rights, by set-user-ID files for example. */
bool container_no_new_privs(const struct container *c);
/* Why it may not run as whom it would: in the kubelet's words if it must not be root's; or because
 * another user cannot reach its files. NULL: it may. */
const char *container_user_refusal(struct arena *a, const struct container *c);

/* ---- pod_limits.c ---- */

/* What this node cannot do of what the pod asks for, in one sentence; NULL: nothing. */
const char *pod_limits(struct arena *a, const struct pod *p);
