#pragma once

/* A Job's pass, in parts. */

#include "base/json.h"

struct view;

#define JOB_INDEX "batch.kubernetes.io/job-completion-index"
#define JOB_INDEX_FAILURES "batch.kubernetes.io/job-index-failure-count"
#define JOB_INDEX_IGNORED "batch.kubernetes.io/job-index-ignored-failure-count"

/* ---- sets of completion indexes, in the format of the status: 0,2-5,8 ---- */

struct job_range {
    int64_t first, last;
};

struct job_indexes {
    struct arena *arena;
    struct job_range *items; /* sorted, with gaps between them */
    size_t count, size;
};

/* The indexes below a limit; unreadable parts are skipped. NULL: none. */
struct job_indexes job_indexes_parse(struct arena *a, const char *text, int64_t below);
void job_indexes_add(struct job_indexes *set, int64_t index);
bool job_indexes_has(const struct job_indexes *set, int64_t index);
int64_t job_indexes_total(const struct job_indexes *set);
/* The first index, starting with this one, that is not in the set. */
int64_t job_indexes_next_free(const struct job_indexes *set, int64_t index);
const char *job_indexes_text(const struct job_indexes *set);

/* ---- policies ---- */

enum job_verdict {
    JOB_COUNT, /* counts towards the limits, as without a policy */
    JOB_IGNORE,
    JOB_FAIL_INDEX,
    JOB_FAIL,
};

/* The action of spec.podFailurePolicy for a failed pod; for JOB_FAIL *ret_message is the reason. */
enum job_verdict job_verdict_of(const struct view *in, struct json pod, const char **ret_message);
/* The rule of spec.successPolicy that these indexes fulfil; NULL: none. */
const char *job_success_of(const struct view *in, const struct job_indexes *done);
