/* A local source on one machine: pods use the file or directory in place, so nothing is copied, and
 * they always get its present content. The effect model.file watches it. Its previous state is in
 * the status (sourceETag), and in the pod template (deployment.c): a change rolls the pods. */

#include "kinds/llmkube/model_pass.h"

#include "base/time.h"

static const char *path_of(const struct model_pass *p)
{
    return p->m.source.path;
}

/* ---- what is reported about the source ---- */

static struct json drifted(
    const struct model_pass *p, bool yes, const char *reason, const char *message)
{
    return json_fields(p->arena,
        { "type", json_str("SourceDrifted") },
        { "status", json_str(yes ? "True" : "False") },
        { "reason", json_str(reason) },
        { "message", json_str(message) });
}

/* Reads the previous status; false: it is not about this file. */
static bool read_before(const struct model_pass *p, struct model_ready *ret)
{
    *ret = (struct model_ready){
        .reason = "ModelReady",
        .message = "Pods use the file where it is",
        .cache_key = p->m.key,
        .path = path_of(p),
    };
    bool known = text_eq(p->m.phase, "Ready") && text_eq(p->m.path, path_of(p));
    if (!known)
        return false;
    ret->size = json_get_text(p->status, "size");
    ret->sha256 = json_get_text(p->status, "sha256");
    ret->gguf = json_get(p->status, "gguf");
    model_baseline_before(p, ret);
    return true;
}

/* ---- the digest ---- */

static const char *reading_text(const struct model_pass *p, struct json progress)
{
    int64_t bytes = json_get_int(progress, "bytes", 0), total = json_get_int(progress, "total", 0);
    if (bytes <= 0 || total <= 0 || bytes > total)
        return "All of the file is read for spec.sha256";
    return arena_printf(p->arena, /* in steps of ten percent: each is a write */
        "All of the file is read for spec.sha256: %d%% of %s",
        (int)((double)bytes / (double)total * 10) * 10,
        model_size_text(p->arena, total));
}

/* False: the digest is not known yet, or is wrong, and the pass has ended. */
static bool check_digest(struct model_pass *p, struct json file, struct model_ready *r)
{
    const char *etag = json_get_text(file, "etag");
    if (!p->m.sha256 || (text_eq(r->sha256, p->m.sha256) && text_eq(r->etag, etag)))
        return true;
    struct json args = json_map(p->arena,
        { "path", json_str(path_of(p)) },
        { "etag", json_str(etag) }); /* a changed file is a different question */
    struct json fact = view_fact(p->in, "model.digest", args);
    plan_effect(p->out, "model.digest", args, 0);
    const char *found = json_get_text(fact, "result.sha256");
    const char *error = json_get_text(fact, "error.message");
    if (error) {
        model_end_failed(p, "FileUnusable", p->m.key, error);
    } else if (!found) {
        model_end_progressing(
            p, "Pending", "DigestUnknown", p->m.key, reading_text(p, json_get(fact, "progress")));
    } else if (!text_eq(found, p->m.sha256)) {
        model_end_failed(p,
            "IntegrityCheckFailed",
            p->m.key,
            arena_printf(p->arena,
                "spec.sha256 is %s, but the file has %s: correct the one or replace the other",
                p->m.sha256,
                found));
    }
    r->sha256 = found;
    return found && text_eq(found, p->m.sha256);
}

/* ---- the present file ---- */

static void end_with_problem(struct model_pass *p, struct json problem, struct model_ready *before)
{
    const char *message = json_get_text(problem, "message");
    if (before) {
        before->drifted = drifted(p,
            true,
            "SourceUnusable",
            arena_printf(p->arena,
                "%s; servers that run keep what they have opened, others cannot start",
                message));
        model_end_ready(p, before);
        return;
    }
    bool cut = strstr(message, " is cut short: ");
    model_end_failed(p, cut ? MODEL_CUT : "FileUnusable", p->m.key, message);
}

static void end_with_change(struct model_pass *p, struct model_ready *before)
{
    if (before) {
        before->drifted = drifted(p,
            true,
            "UpstreamChanged",
            arena_printf(p->arena,
                "%s has changed; services roll to it as soon as it stays the same",
                path_of(p)));
        model_end_ready(p, before);
        return;
    }
    model_end_progressing(p,
        "Pending",
        "SourceChanging",
        p->m.key,
        arena_printf(p->arena, "%s is still being written", path_of(p)));
}

static void end_with_file(struct model_pass *p, struct json file, struct model_ready *r)
{
    const char *etag = json_get_text(file, "etag");
    int64_t size = json_get_int(file, "size", 0);
    bool another = !text_empty(r->etag) && !text_eq(r->etag, etag);
    if (!check_digest(p, file, r))
        return;
    if (another)
        plan_event(p->out,
            false,
            "SourceChanged",
            "%s has changed; services that use it roll to what it is now",
            path_of(p));
    if (!text_eq(r->etag, etag))
        r->revalidated = time_format(p->arena, p->in->now_ms);
    r->sha256 = another && !p->m.sha256 ? NULL : r->sha256;
    r->etag = etag;
    r->content_length = size;
    r->size = model_size_text(p->arena, size);
    r->gguf = json_get(file, "gguf");
    r->drifted = drifted(
        p, false, "InSync", "Pods use the file where it is; a change of it rolls its services");
    model_end_ready(p, r);
}

void model_reconcile_in_place(struct model_pass *p)
{
    struct json args = json_map(p->arena, { "path", json_str(path_of(p)) });
    struct json fact = json_get(view_fact(p->in, "model.file", args), "progress");
    struct json problem = json_get(fact, "problem");
    struct model_ready r;
    bool known = read_before(p, &r);
    plan_effect(p->out, "model.file", args, 0);
    if (json_present(problem))
        end_with_problem(p, problem, known ? &r : NULL);
    else if (json_get_bool(fact, "changing", false))
        end_with_change(p, known ? &r : NULL);
    else if (json_present(json_get(fact, "etag")))
        end_with_file(p, fact, &r);
    else
        model_end_asking(p);
}
