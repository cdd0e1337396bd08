#pragma once

/* One pass over one Model: shared by its parts (model.c, model_local.c, model_drift.c, prefetch.c),
 * and included by no other file. */

#include "engine/plan.h"
#include "engine/view.h"
#include "kinds/llmkube/model.h"
#include "kinds/llmkube/settings.h"

struct model_pass {
    const struct view *in;
    struct plan *out;
    struct arena *arena;
    const struct llmkube_settings *settings;
    struct model m;
    struct json status; /* the present one */
    /* Collected on the way, decided at the end. */
    int64_t recheck_ms;      /* 0: not needed */
    const char *retry_cause; /* NULL: no temporary failure */
    struct model_progress {
        const char *reason; /* NULL: nothing to report */
        const char *message;
        bool under_way;
    } progress;
};

#define MODEL_PREFETCHED "The weights lie in the shared cache"
/* The reason for a file that is shorter than its header says. */
#define MODEL_CUT "FileTruncated"

/* ---- how a pass ends; each sets status, conditions and outcome ---- */

/* The status of a Ready Model besides phase and acceleratorReady. Empty values are left out. */
struct model_ready {
    const char *reason; /* of Available */
    const char *message;
    const char *cache_key;
    const char *path;
    const char *size;
    const char *sha256;
    struct json gguf;
    struct json staged_files;
    const char *etag; /* the baseline of drift */
    int64_t content_length;
    const char *revalidated; /* RFC 3339 */
    struct json drifted;     /* the SourceDrifted condition to keep, or absent */
};
void model_end_ready(struct model_pass *p, const struct model_ready *r);
/* Degraded; waits until a user changes something. cache_key may be NULL. */
void model_end_failed(
    struct model_pass *p, const char *reason, const char *cache_key, const char *message);
/* Progressing. Pending waits for others; Copying and Downloading are done by us. */
void model_end_progressing(struct model_pass *p, const char *phase, const char *reason,
    const char *cache_key, const char *message);
/* Keeps the status: an effect has started and its result is not known yet. */
void model_end_asking(struct model_pass *p);

/* ---- conditions ---- */

/* The present condition; absent if there is none. */
struct json model_condition(const struct model_pass *p, const char *type);
bool model_condition_is(const struct model_pass *p, const char *type, const char *reason);
void model_keep_condition(struct model_pass *p, struct json condition);

/* ---- parts ---- */

/* Devices claimed by name instead of counted (dynamic resource allocation). */
extern const struct resource MODEL_DEVICE_CLAIM;
extern const struct resource MODEL_DEVICE_CLAIM_TEMPLATE;

bool model_accelerator_ready(const struct model_pass *p);
void model_reconcile_local(struct model_pass *p);
void model_reconcile_in_place(struct model_pass *p);
/* Fills in the baseline of drift from the status. */
void model_baseline_before(const struct model_pass *p, struct model_ready *r);
/* Checks at intervals whether the source still matches the baseline in r, and updates r with a new
 * answer. Returns the new length of a source that has changed, else -1. */
int64_t model_revalidate(struct model_pass *p, const char *source, struct model_ready *r);
/* Sets the baseline and its condition, as seen at this wall time; schedules the next check. */
void model_baseline(struct model_pass *p, struct model_ready *r, const char *etag,
    int64_t content_length, int64_t at_ms);
/* True if the pass has ended: the cache is being filled, or filling it failed. */
bool model_prefetch(struct model_pass *p);
/* Whether a prefetch has put the weights into the shared cache. */
bool model_prefetched(const struct model_pass *p);

/* ---- facts ---- */

/* Whether an effect's error is temporary: a timeout, a failure of a server. */
bool model_error_is_transient(struct json error);
static inline bool model_fact_ended(struct json fact)
{
    return json_present(json_get(fact, "result")) || json_present(json_get(fact, "error"));
}
/* "672 B", "1.2 GiB". */
const char *model_size_text(struct arena *a, int64_t bytes);
