#include "cli/serve/storage_versions.h"

#include <stdlib.h>

#include "base/log.h"
#include "base/resource.h"
#include "base/timer.h"
#include "kube/client.h"

/* Startup has more urgent work. */
#define FIRST_MS 2000
#define AGAIN_MS 3600000
#define AGAIN_AFTER_TROUBLE_MS 60000
#define PAGE_ITEMS 200

struct storage_versions {
    struct storage_versions_options options;
    struct timer timer;
    struct kube_op *op;
    size_t place;        /* index of the current resource */
    struct arena crd;    /* for the current CRD */
    const char *version; /* storage version */
    const char *read_at; /* the CRD's resourceVersion when it was read */
    struct arena page;
    struct json items; /* of the current page */
    uint32_t item;     /* index of the next item */
    const char *more;  /* token of the next page; NULL: this is the last one */
    size_t written;
    bool trouble;     /* an error with this CRD */
    bool any_trouble; /* an error in this round */
};

static void next_crd(struct storage_versions *s);

static const struct resource *resource_of(const struct storage_versions *s)
{
    return s->options.resources[s->place];
}

static const char *crd_name(struct storage_versions *s)
{
    return arena_printf(&s->crd, "%s.%s", resource_of(s)->plural, resource_of(s)->group);
}

static void leave_crd(struct storage_versions *s)
{
    s->place++;
    next_crd(s);
}

static void give_up(struct storage_versions *s, const char *what, const char *why)
{
    log_warn("storage version of %s: %s: %s", resource_of(s)->plural, what, why);
    s->any_trouble = true;
    leave_crd(s);
}

/* ---- finishing a CRD ---- */

static void told(void *ctx, const struct kube_reply *reply)
{
    struct storage_versions *s = ctx;
    s->op = NULL;
    if (reply->error.code != ERR_NONE) {
        give_up(s, "its CRD cannot be told", reply->error.text);
        return;
    }
    log_info("all %s are stored as %s now (%zu rewritten)",
        resource_of(s)->plural,
        s->version,
        s->written);
    leave_crd(s);
}

static void tell_crd(struct storage_versions *s)
{
    struct arena *a = &s->crd;
    if (s->trouble) {
        give_up(s, "not all objects could be rewritten", "tried again later");
        return;
    }
    s->op = kube_patch(s->options.client,
        (struct kube_target){ &RESOURCE_CRD, NULL, crd_name(s), "status" },
        KUBE_PATCH_MERGE,
        json_fields(a,
            { "metadata.resourceVersion", json_str(s->read_at) },
            { "status.storedVersions", json_list(a, json_str(s->version)) }),
        (struct kube_write){ .field_manager = s->options.manager },
        (struct kube_then){ told, s });
}

/* ---- objects ---- */

static void next_page(struct storage_versions *s);
static void next_object(struct storage_versions *s);

static void written(void *ctx, const struct kube_reply *reply)
{
    struct storage_versions *s = ctx;
    enum error_code code = reply->error.code;
    s->op = NULL;
    s->written += code == ERR_NONE;
    if (code != ERR_NONE && code != ERR_NOT_FOUND) {
        s->trouble = true;
        log_debug("storage version of %s: %s", resource_of(s)->plural, reply->error.text);
    }
    next_object(s);
}

/* A newer object of the same name is already stored in the current version: it has another uid, and
 * the conflict makes us read it again. */
static void next_object(struct storage_versions *s)
{
    if (s->item == s->items.count && s->more) {
        next_page(s);
        return;
    }
    if (s->item == s->items.count) {
        tell_crd(s);
        return;
    }
    if (!s->options.may_write(s->options.ctx)) {
        give_up(s, "not finished", "somebody else leads");
        return;
    }
    struct json object = json_item(s->items, s->item++);
    s->op = kube_patch(s->options.client,
        (struct kube_target){ resource_of(s),
            json_get_text(object, "metadata.namespace"),
            json_get_text(object, "metadata.name"),
            NULL },
        KUBE_PATCH_MERGE,
        json_fields(&s->page, { "metadata.uid", json_get(object, "metadata.uid") }),
        (struct kube_write){ .field_manager = s->options.manager },
        (struct kube_then){ written, s });
}

static void listed(void *ctx, const struct kube_reply *reply)
{
    struct storage_versions *s = ctx;
    struct json_builder list;
    s->op = NULL;
    if (reply->error.code != ERR_NONE) {
        give_up(s, "its objects cannot be listed", reply->error.text);
        return;
    }
    arena_reset(&s->page);
    json_builder_init(&list, &s->page);
    json_each (object, json_get(reply->body, "items"))
        json_push(&list,
            json_copy(&s->page,
                json_fields(reply->arena,
                    { "metadata.namespace", json_get(*object, "metadata.namespace") },
                    { "metadata.name", json_get(*object, "metadata.name") },
                    { "metadata.uid", json_get(*object, "metadata.uid") })));
    const char *more = json_get_text(reply->body, "metadata.continue");
    s->items = json_list_end(&list);
    s->item = 0;
    s->more = text_empty(more) ? NULL : arena_strdup(&s->page, more);
    next_object(s);
}

static void next_page(struct storage_versions *s)
{
    s->op = kube_list(s->options.client,
        &(struct kube_list){
            .what = { .resource = resource_of(s) },
            .limit = PAGE_ITEMS,
            .continue_token = s->more,
        },
        (struct kube_then){ listed, s });
}

/* ---- CRDs ---- */

static const char *storage_version(struct json crd)
{
    json_each (version, json_get(crd, "spec.versions"))
        if (json_get_bool(*version, "storage", false))
            return json_get_text(*version, "name");
    return NULL;
}

static void got_crd(void *ctx, const struct kube_reply *reply)
{
    struct storage_versions *s = ctx;
    struct json crd = reply->body, labels = json_get(crd, "metadata.labels");
    struct json stored = json_get(crd, "status.storedVersions");
    const char *version = storage_version(crd);
    s->op = NULL;
    if (reply->error.code != ERR_NONE && reply->error.code != ERR_NOT_FOUND) {
        give_up(s, "its CRD cannot be read", reply->error.text);
        return;
    }
    bool opted = text_eq(json_text(json_member(labels, s->options.label)), "true");
    bool current = stored.count == 1 && json_list_has(stored, version);
    if (!opted || !version || current) {
        leave_crd(s);
        return;
    }
    s->version = arena_strdup(&s->crd, version);
    s->read_at = arena_strdup(&s->crd, json_get_text(crd, "metadata.resourceVersion"));
    log_info("rewriting %s, which may be stored in an older version than %s",
        resource_of(s)->plural,
        version);
    next_page(s);
}

static void next_crd(struct storage_versions *s)
{
    arena_reset(&s->crd);
    arena_reset(&s->page);
    s->more = NULL;
    s->written = 0;
    s->trouble = false;
    if (!resource_of(s)) {
        timer_set(s->options.env, &s->timer, s->any_trouble ? AGAIN_AFTER_TROUBLE_MS : AGAIN_MS);
        return;
    }
    s->op = kube_get(s->options.client,
        (struct kube_target){ &RESOURCE_CRD, NULL, crd_name(s), NULL },
        (struct kube_then){ got_crd, s });
}

static void begin(void *ctx)
{
    struct storage_versions *s = ctx;
    if (!s->options.may_write(s->options.ctx)) {
        timer_set(s->options.env, &s->timer, FIRST_MS);
        return;
    }
    s->place = 0;
    s->any_trouble = false;
    next_crd(s);
}

/* ---- life ---- */

struct storage_versions *storage_versions_new(const struct storage_versions_options *options)
{
    struct storage_versions *s = mem_new_of(struct storage_versions);
    *s = (struct storage_versions){ .options = *options, .crd = ARENA_INIT, .page = ARENA_INIT };
    timer_init(&s->timer, begin, s);
    timer_set(options->env, &s->timer, FIRST_MS);
    return s;
}

void storage_versions_free(struct storage_versions *s)
{
    if (!s)
        return;
    timer_stop(s->options.env, &s->timer);
    if (s->op)
        kube_op_cancel(s->options.client, s->op);
    arena_done(&s->crd);
    arena_done(&s->page);
    free(s);
}
