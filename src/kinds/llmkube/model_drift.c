/* Whether a source has changed. Its ETag and length when the Model became Ready are the baseline;
 * the source is checked once per interval. A source that cannot be reached changes nothing. The
 * time of the last check is in the status, but is only updated when the check found a change: the
 * passage of time alone is no reason to write. */

#include "kinds/llmkube/model_pass.h"

#include "base/time.h"

static struct json drift_condition(const struct model_pass *p, bool drifted)
{
    struct arena *a = p->arena;
    bool acts = drifted && text_eq(p->m.refresh_policy, "OnChange");
    const char *then = !acts ? "; spec.refreshPolicy OnChange would follow it"
                       : p->m.source.origin == SOURCE_LOCAL
                           ? "; it is being copied again"
                           : "; pods fetch it when they start next";
    return json_fields(a,
        { "type", json_str("SourceDrifted") },
        { "status", json_str(drifted ? "True" : "False") },
        { "reason", json_str(drifted ? "UpstreamChanged" : "InSync") },
        { "message",
            drifted ? json_strf(a,
                          "%s is no longer what it was when the Model became Ready%s",
                          source_quote(a, p->m.source.text),
                          then)
                    : json_str("Cached model matches the upstream source") });
}

void model_baseline(struct model_pass *p, struct model_ready *r, const char *etag,
    int64_t content_length, int64_t at_ms)
{
    r->etag = etag;
    r->content_length = content_length;
    r->revalidated = time_format(p->arena, at_ms);
    r->drifted = drift_condition(p, false);
    p->recheck_ms = p->settings->model_revalidate_interval_ms;
}

void model_baseline_before(const struct model_pass *p, struct model_ready *r)
{
    r->etag = json_get_text(p->status, "sourceETag");
    r->content_length = json_get_int(p->status, "sourceContentLength", 0);
    r->revalidated = json_get_text(p->status, "lastRevalidated");
    r->drifted = model_condition(p, "SourceDrifted");
}

static struct json head_args(const struct model_pass *p, const char *source)
{
    return json_fields(p->arena,
        { "source", json_str(source) },
        { "secret", json_str(p->m.secret_name) },
        { "namespace", json_str(p->m.ns) });
}

/* Compares the ETags if both sides have one. */
static bool same(const struct model_ready *r, const char *etag, int64_t length)
{
    if (!text_empty(r->etag) && !text_empty(etag))
        return text_eq(r->etag, etag);
    return r->content_length == length;
}

/* Time until the next check; 0: now. */
static int64_t rest_ms(const struct model_pass *p, const struct model_ready *r)
{
    int64_t last_ms;
    if (!r->revalidated || !time_parse(r->revalidated, &last_ms))
        return 0;
    int64_t interval_ms = p->settings->model_revalidate_interval_ms;
    int64_t left_ms = last_ms + interval_ms - p->in->now_ms;
    /* More than an interval: a clock was ahead. */
    return left_ms > 0 && left_ms <= interval_ms ? left_ms : 0;
}

/* A changed local source is being copied: the result of the check is needed until then. */
static bool is_followed(const struct model_pass *p, const struct model_ready *r)
{
    return p->m.source.origin == SOURCE_LOCAL && text_eq(p->m.refresh_policy, "OnChange") &&
           text_eq(json_get_text(r->drifted, "status"), "True");
}

int64_t model_revalidate(struct model_pass *p, const char *source, struct model_ready *r)
{
    int64_t left_ms = rest_ms(p, r), interval_ms = p->settings->model_revalidate_interval_ms;
    p->recheck_ms = left_ms > 0 ? left_ms : interval_ms;
    if (left_ms > 0 && !is_followed(p, r))
        return -1;
    struct json args = head_args(p, source);
    struct json fact = view_fact(p->in, "model.head", args);
    if (model_error_is_transient(json_get(fact, "error")))
        p->retry_cause = json_get_text(fact, "error.message");
    /* A permanent error may still be fixed by a user, for whom an hour would be long. */
    if (json_present(json_get(fact, "error")) && interval_ms > PLAN_WAIT_RECHECK_MS)
        p->recheck_ms = interval_ms = PLAN_WAIT_RECHECK_MS;
    /* Slightly less than the interval of rechecks, or the fact would always be just too young. */
    plan_effect(p->out, "model.head", args, interval_ms - interval_ms / 8);
    struct json result = json_get(fact, "result");
    const char *etag = json_get_text(result, "etag");
    int64_t length = json_get_int(result, "contentLength", 0);
    if (text_empty(etag) && length <= 0)
        return -1;
    int64_t at_ms = json_get_int(fact, "at", p->in->now_ms);
    bool known = !text_empty(r->etag) || r->content_length > 0;
    bool drifted = known && !same(r, etag, length);
    bool was_drifted = text_eq(json_get_text(r->drifted, "status"), "True");
    if (!known)
        model_baseline(p, r, etag, length, at_ms);
    else if (!json_present(r->drifted) || drifted != was_drifted) {
        r->revalidated = time_format(p->arena, at_ms);
        r->drifted = drift_condition(p, drifted);
    }
    return drifted ? length : -1;
}
