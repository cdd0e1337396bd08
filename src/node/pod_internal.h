#pragma once

/* A pod and its containers, shared by the files that implement pod.h. */

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

    /* The current or last run, if any. */
    int run; /* its number; -1: none */
    struct runtime_task *task;
    struct runtime_state state;
    bool running, ended;
    bool unresolved;         /* adopted, and the environment of its commands is not known yet */
    const char *reason;      /* of the end, unless the program ended by itself */
    char message[4096 + 1];  /* of the end */
    struct arena arena;      /* for the run: */
    const char *const *envp; /* … and for commands in it */
    const char *cwd;
    const struct root_mount *mounts;
    size_t mount_count;
    const char *cgroup[2];           /* groups to enter, ended by NULL */
    const struct runtime_user *user; /* NULL: this process's user */
    bool no_new_privs;               /* allowPrivilegeEscalation: false */
    /* Where the program may leave a termination message: in this mount, at this path below it.
     * NULL: in container_message_file(). */
    const struct root_mount *message_mount;
    const char *message_below;

    /* Why it does not run. */
    const char *waiting; /* "CrashLoopBackOff"; NULL: nothing yet */
    char waiting_message[1024];

    struct arena last_arena;
    struct json last;    /* how the previous run ended: a state */
    int64_t back_off_ms; /* delay after the next end */
    struct probe *probes[PROBE_COUNT];
    bool started, ready;
    struct action *hook;
    bool stopping, hook_is_stop;
    struct timer kill;
};

struct pod {
    const struct pod_host *host;
    struct arena arena; /* for the object */
    struct json object;
    char *uid, *directory, *ip;
    struct arena gpu_arena;
    struct json gpus;
    struct container *containers; /* init containers first */
    size_t count;
    struct json places; /* map of volume to path */
    struct arena places_arena;
    struct arena token_arena;
    struct json tokens;
    bool names_known;   /* its hosts file is up to date */
    char blocked[640];  /* why containers cannot be created; "": they can */
    int64_t blocked_ms; /* mono: since when; 0: an event was already recorded */
    bool initialized, stopping, stopped, finished;
    bool expired;       /* exceeded spec.activeDeadlineSeconds */
    int64_t start_ms;   /* wall */
    int64_t stop_at_ms; /* mono: when remaining processes are killed */
    int64_t leave_ms; /* mono: how long it may keep running because it is an endpoint of Services */
    int64_t left_ms;  /* mono: when it stopped being one; 0: not yet */
    struct timer wake;
};

struct pod_view pod_view(const struct pod *p);
/* Records an event with the kubelet's message; c: the container that it is about, or NULL. */
void pod_event(const struct pod *p, const struct container *c, bool warning, const char *reason,
    const char *format, ...) printf_like(5, 6);

/* ---- container.c ---- */

void container_init(struct container *c, struct pod *p, struct json spec, enum container_kind kind);
void container_done(struct container *c);
/* Adopts a run that an earlier process started; old is its status in the API. */
void container_adopt(struct container *c, struct json old);
/* Its volumes are known, so an adopted run can have its probes and hooks again. */
void container_resume(struct container *c);
/* Starts it, or sets `waiting` to the reason. False: try again after *ret_after_ms. */
bool container_start(struct container *c, int64_t *ret_after_ms);
/* why: for people; NULL if the stop was requested. */
void container_stop(struct container *c, int64_t grace_ms, const char *why);
/* A descriptor for its standard input; with stdinOnce only for the first caller. -1: err. */
int container_input(struct container *c, struct error *err) must_check;
bool container_input_is_taken(const struct container *c);
/* Where its probes, hooks and commands run; a: for the strings of the place. */
struct action_place container_place(struct arena *a, struct container *c);
/* Its state as in the API: { running: … }, { waiting: … } or { terminated: … }. */
struct json container_terminated(struct arena *a, const struct container *c);
/* The log of that run. */
const char *container_log(struct arena *a, const struct container *c, int run);
/* The ID of a run in the API: process://UID/NAME/N. */
const char *container_id(struct arena *a, const struct container *c);

/* The termination message's file, unless the program's path for it is in a volume. */
const char *container_message_file(struct arena *a, const struct container *c);
/* Its HOME, which is also its default working directory: as the machine sees it, and as the
 * container does. */
const char *container_home(struct arena *a, const struct container *c);
const char *container_home_inside(struct arena *a, const struct container *c);

/* ---- container_command.c ---- */

/* Resolves what a run needs into c->arena. False: `waiting` has the reason, unless it already
 * runs. */
bool container_resolve(struct container *c, const char *const **ret_argv);
/* Whether it runs a program of Leeboard. */
bool container_is_ours(const struct container *c);
const char *container_translate(void *ctx, struct arena *a, const char *word);

/* ---- container_user.c ---- */

/* The user by its securityContext and the pod's; NULL: unset. Without runAsGroup the group is the
 * user's own group on this machine, because there is no image that could set it. */
const struct runtime_user *container_user(struct arena *a, const struct container *c);
/* Whether allowPrivilegeEscalation is false, so set-user-ID files have no effect. */
bool container_no_new_privs(const struct container *c);
/* Why it may not run as its user: the kubelet's message if it must not run as root, or that another
 * user cannot reach its files. NULL: it may. */
const char *container_user_refusal(struct arena *a, const struct container *c);

/* ---- pod_limits.c ---- */

/* What the pod requests that this node does not support, as one sentence; NULL: nothing. */
const char *pod_limits(struct arena *a, const struct pod *p);
