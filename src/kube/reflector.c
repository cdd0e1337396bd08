#include "kube/reflector.h"

#include <stdlib.h>

#include "base/resource.h"
#include "base/timer.h"
#include "base/url.h"
#include "kube/status.h"
#include "kube/stream.h"
#include "kube/transport.h"

/* An API server stores no objects larger than 3 MiB; with formatting and managed fields they are
 * somewhat larger. */
#define OBJECT_BYTES_MAX ((size_t)8 << 20)
#define ERROR_BYTES_MAX ((size_t)64 << 10)
#define PAGE_ITEMS 500
#define PAGE_TIMEOUT_MS 65000
/* Bookmarks come every minute; if three are missing the stream is dead, whatever TCP says. */
#define WATCH_IDLE_MS 190000
/* If a streamed list pauses this long, the server will not send the final bookmark. */
#define STREAM_IDLE_MS 30000
/* As in client-go: a watch that ends sooner counts as a failure, even without an error. */
#define WATCH_SHORT_MS 1000
#define BACKOFF_MIN_MS 800
#define BACKOFF_MAX_MS 30000
#define BACKOFF_RESET_MS 120000
/* Retry for an API that is not installed, or for a missing permission. */
#define SLOW_MIN_MS 10000
#define SLOW_MAX_MS 60000

/* A server that does not support the first type sends whole objects. */
#define ACCEPT_METADATA                                                                            \
    "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"

enum phase {
    PHASE_STOPPED,
    PHASE_WAITING,   /* until the timer fires */
    PHASE_STREAMING, /* a watch that starts with the list */
    PHASE_PAGING,
    PHASE_WATCHING,
};

struct reflector {
    const struct kube_transport *transport;
    const struct env *env;
    const struct reflector_sink *sink;
    void *ctx;
    struct arena own; /* for the options' strings */
    struct reflector_options options;
    const char *api_version;

    enum reflector_state state;
    enum phase phase;
    bool synced;
    bool no_streaming;   /* the server does not support it; found out once */
    bool page_this_time; /* streaming was refused; paging may work, or give a better error */
    bool unpaged;        /* the continue token expired: the next list is not paged */
    unsigned half_streams, stream_refusals;
    unsigned empty_watches;
    unsigned not_found; /* 404s in a row */
    unsigned failures, slow_tries;
    int64_t failed_at_ms;

    char version[128];    /* to resume from; "" means list first */
    char *continue_token; /* of the next page; NULL: first page */
    struct timer timer;
    struct kube_call *call; /* NULL: none is open */
    uint64_t epoch;         /* changes with every call, and when a call is cut */
    int64_t opened_at_ms;
    uint64_t received; /* events and bookmarks in this call */
    int status;
    int64_t retry_after_ms;
    char content_type[80];
    struct buf error_body;
    struct stream_lines lines;
    struct stream_items items;
    struct arena arena; /* for the current event or item */
    struct reflector_stats stats;
};

static void begin(struct reflector *r);
static void open_watch(struct reflector *r, bool with_list);
static void open_page(struct reflector *r);

int kube_version_compare(const char *a, const char *b)
{
    size_t length_a = strlen(a), length_b = strlen(b);
    bool numbers = length_a && length_b && strspn(a, "0123456789") == length_a &&
                   strspn(b, "0123456789") == length_b && *a != '0' && *b != '0';
    if (!numbers)
        return 0;
    if (length_a != length_b)
        return length_a < length_b ? -1 : 1;
    int order = strcmp(a, b);
    return (order > 0) - (order < 0);
}

/* ---- result of an attempt ---- */

static void set_state(struct reflector *r, enum reflector_state state, const struct error *err)
{
    bool same = r->state == state && state != REFLECTOR_TROUBLED;
    r->state = state;
    if (!same)
        r->sink->state(r->ctx, state, err);
}

static void end_call(struct reflector *r)
{
    r->epoch++;
    if (r->call)
        kube_cancel(r->transport, take(r->call));
    timer_stop(r->env, &r->timer);
    stream_lines_reset(&r->lines);
    stream_items_reset(&r->items);
    buf_reset(&r->error_body);
}

static void wait_for(struct reflector *r, int64_t wait_ms)
{
    end_call(r);
    r->phase = PHASE_WAITING;
    timer_set(r->env, &r->timer, wait_ms);
}

static void forget_version(struct reflector *r)
{
    r->version[0] = '\0';
}

/* Retries after a delay: watches if there still is a version, else lists. */
static void fail_for_now(struct reflector *r, const struct error *err)
{
    int64_t now_ms = env_mono_ms(r->env);
    if (r->failures && now_ms - r->failed_at_ms > BACKOFF_RESET_MS)
        r->failures = 0;
    int64_t wait_ms = env_backoff_ms(r->env, BACKOFF_MIN_MS, BACKOFF_MAX_MS, r->failures);
    if (wait_ms < err->retry_after_ms)
        wait_ms = err->retry_after_ms;
    r->failures++;
    r->failed_at_ms = now_ms;
    r->stats.failures++;
    wait_for(r, wait_ms);
    set_state(r, REFLECTOR_TROUBLED, err);
}

static void fail_for_long(struct reflector *r, enum reflector_state state, const struct error *err)
{
    forget_version(r);
    r->page_this_time = false;
    r->stats.failures++;
    wait_for(r, env_backoff_ms(r->env, SLOW_MIN_MS, SLOW_MAX_MS, r->slow_tries++));
    set_state(r, state, err);
}

static const char *verb(const struct reflector *r)
{
    return r->phase == PHASE_PAGING ? "list" : "watch";
}

/* "cannot list deployments in apps at cluster scope" */
static void forbidden(struct reflector *r)
{
    const struct resource *what = r->options.resource;
    const char *ns = r->options.ns;
    struct error err;
    fail(&err,
        ERR_FORBIDDEN,
        "cannot %s %s%s%s %s%s",
        verb(r),
        what->plural,
        *what->group ? " in " : "",
        what->group,
        ns ? "in namespace " : "at cluster scope",
        ns ? ns : "");
    fail_for_long(r, REFLECTOR_FORBIDDEN, &err);
}

/* The server refused, with an HTTP status or an ERROR event. */
static void refused(struct reflector *r, const struct kube_status *s)
{
    struct error err = s->error;
    enum phase phase = r->phase;
    fail_in(&err, "%s %s", verb(r), r->options.resource->plural);
    bool expired = err.code == ERR_GONE || kube_status_version_too_large(s);
    bool final = !error_is_transient(err.code) && err.code != ERR_UNAUTHORIZED;
    if (expired) {
        r->unpaged = phase == PHASE_PAGING && r->continue_token;
        forget_version(r);
        fail_for_now(r, &err);
    } else if (err.code == ERR_NOT_FOUND && r->synced && ++r->not_found < 2) {
        /* The resource was served a moment ago. It counts as gone only after a second 404, because
         * a proxy that reloads also returns 404. */
        forget_version(r);
        fail_for_now(r, &err);
    } else if (err.code == ERR_NOT_FOUND) {
        fail_for_long(r, REFLECTOR_NOT_INSTALLED, &err);
    } else if (phase == PHASE_STREAMING && final) {
        /* Streaming needs only the watch right. The error of a list is easier to understand. */
        r->page_this_time = err.code == ERR_FORBIDDEN;
        r->no_streaming |= !r->page_this_time;
        begin(r);
    } else if (err.code == ERR_FORBIDDEN) {
        forbidden(r);
    } else {
        if (final)
            forget_version(r);
        /* A server that cannot stream should return a 4xx. If it keeps failing, try a plain
         * list. */
        if (phase == PHASE_STREAMING && err.code != ERR_BUSY)
            r->page_this_time = ++r->stream_refusals >= 3;
        fail_for_now(r, &err);
    }
}

static void loaded(struct reflector *r, const char *version)
{
    assert(strlen(version) < sizeof(r->version));
    snprintf(r->version, sizeof(r->version), "%s", version);
    r->synced = true;
    r->half_streams = r->stream_refusals = 0;
    r->page_this_time = r->unpaged = false;
    free(take(r->continue_token));
    r->sink->replace_end(r->ctx, r->version);
}

/* ---- objects ---- */

static bool advance(struct reflector *r, const char *version)
{
    bool fits = !text_empty(version) && strlen(version) < sizeof(r->version);
    if (fits && r->phase == PHASE_WATCHING)
        snprintf(r->version, sizeof(r->version), "%s", version);
    return fits;
}

static void report(
    struct reflector *r, struct stream_identity id, struct json object, const struct error *err)
{
    struct reflector_bad bad = {
        .ns = id.ns,
        .name = id.name,
        .uid = id.uid,
        .version = id.version,
        .object = object,
        .initial = r->phase != PHASE_WATCHING,
        .err = err,
    };
    r->stats.bad++;
    r->sink->bad(r->ctx, &bad);
}

static void report_bad(struct reflector *r, struct stream_identity id, const struct error *err)
{
    report(r, id, json_none, err);
}

/* False for an object without a name, or of another type: a proxy's Table, an HTML page. */
static bool fits(struct reflector *r, struct json object, struct error *err)
{
    const char *kind = json_get_text(object, "kind");
    const char *api_version = json_get_text(object, "apiVersion");
    bool right = text_eq(kind, r->options.resource->kind) && text_eq(api_version, r->api_version);
    if (!right && !(r->options.metadata_only && text_eq(kind, "PartialObjectMetadata")))
        return fail(err,
            ERR_INVALID,
            "expected %s %s, got %s %s",
            r->api_version,
            r->options.resource->kind,
            api_version ? api_version : "no apiVersion",
            kind ? kind : "and no kind");
    if (text_empty(json_get_text(object, "metadata.name")))
        return fail(err, ERR_INVALID, "metadata.name: required");
    return true;
}

/* The same text with U+FFFD for each U+0000, which JSON allows and our strings do not. */
static struct str without_nul(struct arena *a, struct str text)
{
    char *copy = str_dup(a, text);
    for (size_t i = 0; i + 5 < text.len; i++) {
        if (copy[i] != '\\')
            continue;
        if (memcmp(copy + i, "\\u0000", 6) == 0)
            memcpy(copy + i, "\\ufffd", 6);
        i++;
    }
    return (struct str){ copy, text.len };
}

static bool parse(
    struct reflector *r, struct str text, bool cut, struct json *ret, struct error *err)
{
    if (cut)
        return fail(err, ERR_TOO_LARGE, "larger than %zu bytes", OBJECT_BYTES_MAX);
    if (json_parse(&r->arena, text, ret, err))
        return true;
    return memmem(text.ptr, text.len, "\\u0000", 6) &&
           json_parse(&r->arena, without_nul(&r->arena, text), ret, err);
}

static struct json stub(struct reflector *r, struct stream_identity id)
{
    return json_fields(&r->arena,
        { "apiVersion", json_str(r->api_version) },
        { "kind", json_str(r->options.resource->kind) },
        { "metadata.name", json_str(id.name) },
        { "metadata.namespace", json_str_or_absent(id.ns) },
        { "metadata.uid", json_str_or_absent(id.uid) },
        { "metadata.resourceVersion", json_str_or_absent(id.version) });
}

/* The object without values nested too deep, if this was the only error. */
static struct json flattened(struct reflector *r, struct str text, bool is_event)
{
    struct json object;
    struct error err;
    struct str flat = stream_flatten(&r->arena, text, JSON_DEPTH_MAX / 2);
    if (!json_parse(&r->arena, flat, &object, &err))
        return json_none;
    object = is_event ? json_get(object, "object") : object;
    return json_if(fits(r, object, &err), object);
}

static void unreadable(struct reflector *r, struct str text, bool is_event, const struct error *err)
{
    struct stream_identity id = stream_identify(&r->arena, text, is_event);
    bool gone = is_event && text_eq(id.event, "DELETED");
    if (gone && !text_empty(id.name))
        r->sink->remove(r->ctx, stub(r, id));
    report(r, id, gone ? json_none : flattened(r, text, is_event), err);
    if (is_event)
        advance(r, id.version);
}

static void on_bookmark(struct reflector *r, struct json object)
{
    const char *version = json_get_text(object, "metadata.resourceVersion");
    struct json notes = json_get(object, "metadata.annotations");
    bool end_of_list = text_eq(json_text(json_member(notes, "k8s.io/initial-events-end")), "true");
    r->stats.bookmarks++;
    if (text_empty(version) || strlen(version) >= sizeof(r->version))
        return;
    if (r->phase == PHASE_STREAMING) {
        if (!end_of_list)
            return;
        timer_stop(r->env, &r->timer);
        r->phase = PHASE_WATCHING;
        loaded(r, version);
        if (r->phase == PHASE_WATCHING)
            set_state(r, REFLECTOR_WATCHING, NULL);
        return;
    }
    if (kube_version_compare(version, r->version) < 0) {
        struct error err;
        fail(&err,
            ERR_GONE,
            "watch %s: the server went back from version %s to %s",
            r->options.resource->plural,
            r->version,
            version);
        forget_version(r);
        fail_for_now(r, &err);
        return;
    }
    advance(r, version);
    r->sink->bookmark(r->ctx, r->version);
}

static void on_object(struct reflector *r, const char *type, struct json object)
{
    struct error err;
    const char *version = json_get_text(object, "metadata.resourceVersion");
    r->stats.events++;
    /* First, so that a sink that queries the version gets the one of this object. */
    advance(r, version);
    if (!fits(r, object, &err)) {
        struct stream_identity id = { .version = version };
        report_bad(r, id, &err);
    } else if (text_eq(type, "DELETED")) {
        r->sink->remove(r->ctx, object);
    } else {
        r->sink->put(r->ctx, object, r->phase == PHASE_STREAMING);
    }
}

/* While the sink writes, most events are echoes of its own writes. */
static bool is_known(struct reflector *r, struct str line)
{
    if (r->phase != PHASE_WATCHING || !r->sink->known)
        return false;
    struct stream_identity id = stream_identify(&r->arena, line, true);
    if (!(text_eq(id.event, "ADDED") || text_eq(id.event, "MODIFIED")) || text_empty(id.name) ||
        text_empty(id.version) || !r->sink->known(r->ctx, &id))
        return false;
    r->stats.events++;
    advance(r, id.version);
    return true;
}

static bool on_line(void *ctx, struct str line, bool cut)
{
    struct reflector *r = ctx;
    uint64_t epoch = r->epoch;
    struct json event;
    struct error err;
    arena_reset(&r->arena);
    r->received++;
    if (is_known(r, line))
        return true;
    if (!parse(r, line, cut, &event, &err)) {
        unreadable(r, line, true, &err);
        return r->epoch == epoch;
    }
    const char *type = json_get_text(event, "type");
    struct json object = json_get(event, "object");
    if (text_eq(type, "BOOKMARK")) {
        on_bookmark(r, object);
    } else if (text_eq(type, "ERROR")) {
        struct kube_status s = kube_status_of_object(object);
        refused(r, &s);
    } else if (text_eq(type, "ADDED") || text_eq(type, "MODIFIED") || text_eq(type, "DELETED")) {
        on_object(r, type, object);
    } else {
        fail(&err, ERR_INVALID, "a watch event of type %s", type ? type : "(none)");
        report_bad(r, (struct stream_identity){ 0 }, &err);
    }
    return r->epoch == epoch;
}

static bool on_item(void *ctx, struct str text, bool cut)
{
    struct reflector *r = ctx;
    uint64_t epoch = r->epoch;
    struct json item;
    struct error err;
    arena_reset(&r->arena);
    r->received++;
    if (!parse(r, text, cut, &item, &err)) {
        unreadable(r, text, false, &err);
        return r->epoch == epoch;
    }
    /* Items of built-in kinds have no kind; take it from the list. */
    if (!json_present(json_member(item, "kind")) && json_is(item, JSON_MAP)) {
        const char *kind = r->options.resource->kind;
        item = json_with_member(&r->arena, item, "kind", json_str(kind));
        item = json_with_member(&r->arena, item, "apiVersion", json_str(r->api_version));
    }
    if (fits(r, item, &err))
        r->sink->put(r->ctx, item, true);
    else
        report_bad(r, (struct stream_identity){ 0 }, &err);
    return r->epoch == epoch;
}

/* ---- end of a call ---- */

static bool read_envelope(struct reflector *r, struct json *ret, struct error *err)
{
    char kind[128];
    snprintf(kind, sizeof(kind), "%sList", r->options.resource->kind);
    if (!json_parse(&r->arena, buf_str(&r->items.envelope), ret, err))
        return false;
    const char *got = json_get_text(*ret, "kind");
    bool partial = r->options.metadata_only && text_eq(got, "PartialObjectMetadataList");
    if (!text_eq(got, kind) && !partial)
        return fail(err, ERR_INTERNAL, "expected a %s, got %s", kind, got ? got : "no kind");
    const char *version = json_get_text(*ret, "metadata.resourceVersion");
    if (text_empty(version) || strlen(version) >= sizeof(r->version))
        return fail(err, ERR_INTERNAL, "metadata.resourceVersion of the list: required");
    return true;
}

static void page_ended(struct reflector *r)
{
    struct json envelope;
    struct error err;
    arena_reset(&r->arena);
    if (!read_envelope(r, &envelope, &err)) {
        fail_in(&err, "list %s", r->options.resource->plural);
        fail_for_now(r, &err);
        return;
    }
    const char *token = json_get_text(envelope, "metadata.continue");
    if (!text_empty(token)) {
        free(r->continue_token);
        r->continue_token = mem_strdup(token);
        open_page(r);
        return;
    }
    r->phase = PHASE_WAITING;
    loaded(r, json_get_text(envelope, "metadata.resourceVersion"));
    if (r->phase == PHASE_WAITING)
        begin(r);
}

static void half_stream(struct reflector *r, struct error *err)
{
    /* After two lists without the final bookmark, the server does not support streaming. */
    r->no_streaming |= ++r->half_streams >= 2;
    fail_for_now(r, err);
}

static void watch_ended(struct reflector *r)
{
    struct error err;
    bool empty = !r->received;
    if (env_mono_ms(r->env) - r->opened_at_ms >= WATCH_SHORT_MS) {
        r->empty_watches = 0;
        begin(r);
        return;
    }
    fail(&err,
        ERR_UNAVAILABLE,
        "watch %s: the stream closed at once%s",
        r->options.resource->plural,
        empty ? " without an event" : "");
    /* Some servers close the watch instead of returning 410 (kubernetes/kubernetes#137089). */
    r->empty_watches = empty ? r->empty_watches + 1 : 0;
    if (r->empty_watches >= 2)
        forget_version(r);
    fail_for_now(r, &err);
}

static void lost(struct reflector *r, const struct error *why)
{
    struct error err = *why;
    bool silent = r->status == 200 && err.code == ERR_TIMEOUT;
    fail_in(&err, "%s %s", verb(r), r->options.resource->plural);
    if (r->phase == PHASE_WATCHING && silent)
        begin(r);
    else if (r->phase == PHASE_STREAMING && r->status == 200)
        half_stream(r, &err);
    else
        fail_for_now(r, &err);
}

static void on_end(void *ctx, const struct error *err, bool sent)
{
    struct reflector *r = ctx;
    (void)sent;
    r->call = NULL;
    arena_reset(&r->arena);
    if (err) {
        lost(r, err);
    } else if (r->status != 200) {
        struct json body = { 0 };
        struct error ignored;
        struct str text = buf_str(&r->error_body);
        if (strstr(r->content_type, "json") && !json_parse(&r->arena, text, &body, &ignored))
            body = json_none;
        struct kube_status s = kube_status_of_answer(r->status, r->retry_after_ms, body, text);
        refused(r, &s);
    } else if (r->phase == PHASE_PAGING) {
        page_ended(r);
    } else if (r->phase == PHASE_STREAMING) {
        struct error half;
        fail(&half,
            ERR_UNAVAILABLE,
            "watch %s: the stream ended before the list did",
            r->options.resource->plural);
        half_stream(r, &half);
    } else {
        watch_ended(r);
    }
}

static void on_head(void *ctx, const struct kube_head *head)
{
    struct reflector *r = ctx;
    r->status = head->status;
    r->retry_after_ms = head->retry_after_ms;
    snprintf(r->content_type, sizeof(r->content_type), "%s", head->content_type);
    if (r->status != 200)
        return;
    if (!strstr(r->content_type, "json")) {
        struct error err;
        fail(&err,
            ERR_INTERNAL,
            "%s %s: the answer is %s, not JSON; is this a Kubernetes API server?",
            verb(r),
            r->options.resource->plural,
            *r->content_type ? r->content_type : "of no type");
        fail_for_now(r, &err);
        return;
    }
    r->slow_tries = r->not_found = 0;
    if (r->phase == PHASE_WATCHING)
        set_state(r, REFLECTOR_WATCHING, NULL);
    else if (r->phase == PHASE_STREAMING || !r->continue_token)
        r->sink->replace_begin(r->ctx);
}

static void on_data(void *ctx, struct str bytes)
{
    struct reflector *r = ctx;
    if (r->status != 200) {
        size_t room = ERROR_BYTES_MAX - r->error_body.len;
        buf_add(&r->error_body, bytes.ptr, bytes.len < room ? bytes.len : room);
        return;
    }
    if (r->phase == PHASE_PAGING) {
        stream_items_feed(&r->items, bytes, (struct stream_target){ on_item, r });
        return;
    }
    if (r->phase == PHASE_STREAMING)
        timer_set(r->env, &r->timer, STREAM_IDLE_MS);
    stream_lines_feed(&r->lines, bytes, (struct stream_target){ on_line, r });
}

/* ---- start of a call ---- */

static void open_call(struct reflector *r, struct buf *path, int64_t timeout_ms, int64_t idle_ms)
{
    static const struct kube_handlers handlers = { on_head, on_data, on_end };
    url_add_query(path, "labelSelector", r->options.label_selector);
    url_add_query(path, "fieldSelector", r->options.field_selector);
    assert(!buf_overflowed(path) && !r->call);
    r->status = 0;
    r->received = 0;
    r->opened_at_ms = env_mono_ms(r->env);
    struct kube_request request = {
        .method = "GET",
        .path = buf_text(path),
        .accept = r->options.metadata_only ? ACCEPT_METADATA : NULL,
        .timeout_ms = timeout_ms,
        .idle_ms = idle_ms,
    };
    r->call = kube_open(r->transport, &request, &handlers, r);
}

static void add_path(struct reflector *r, struct buf *b)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    buf_add_text(b, resource_path(&a, r->options.resource, r->options.ns, NULL, NULL));
}

/* Far longer than any selector and continue token. */
#define PATH_BYTES_MAX ((size_t)64 << 10)

static void open_watch(struct reflector *r, bool with_list)
{
    cleanup(buf_done) struct buf path = BUF_INIT(PATH_BYTES_MAX);
    char seconds[24];
    snprintf(seconds, sizeof(seconds), "%d", 300 + (int)env_random_below(r->env, 301));
    end_call(r);
    r->phase = with_list ? PHASE_STREAMING : PHASE_WATCHING;
    r->stats.lists += with_list;
    r->stats.watches += !with_list;
    add_path(r, &path);
    url_add_query(&path, "watch", "true");
    url_add_query(&path, "allowWatchBookmarks", "true");
    url_add_query(&path, "timeoutSeconds", seconds);
    /* A list without a version is a consistent read: the view never goes back, even if a restarted
     * process reaches a server that is behind. */
    url_add_query(&path, "sendInitialEvents", with_list ? "true" : NULL);
    url_add_query(&path, "resourceVersionMatch", with_list ? "NotOlderThan" : NULL);
    url_add_query(&path, "resourceVersion", with_list ? NULL : r->version);
    open_call(r, &path, 0, WATCH_IDLE_MS);
    if (with_list)
        timer_set(r->env, &r->timer, STREAM_IDLE_MS);
}

static void open_page(struct reflector *r)
{
    cleanup(buf_done) struct buf path = BUF_INIT(PATH_BYTES_MAX);
    char limit[24];
    snprintf(limit, sizeof(limit), "%lld", (long long)r->options.page_items);
    end_call(r);
    r->phase = PHASE_PAGING;
    r->stats.lists += !r->continue_token;
    add_path(r, &path);
    url_add_query(&path, "limit", r->unpaged ? NULL : limit);
    url_add_query(&path, "continue", r->continue_token);
    open_call(r, &path, PAGE_TIMEOUT_MS, 0);
}

static void begin(struct reflector *r)
{
    free(take(r->continue_token));
    if (r->version[0])
        open_watch(r, false);
    else if (r->no_streaming || r->page_this_time)
        open_page(r);
    else
        open_watch(r, true);
}

static void on_timer(void *ctx)
{
    struct reflector *r = ctx;
    if (r->phase == PHASE_WAITING) {
        begin(r);
        return;
    }
    assert(r->phase == PHASE_STREAMING);
    /* The list does not end: switch to a paged list at once. */
    r->no_streaming = true;
    begin(r);
}

/* ---- interface ---- */

struct reflector *reflector_new(const struct kube_transport *transport, const struct env *env,
    const struct reflector_options *options, const struct reflector_sink *sink, void *ctx)
{
    struct reflector *r = mem_new_of(struct reflector);
    r->transport = transport;
    r->env = env;
    r->sink = sink;
    r->ctx = ctx;
    arena_init(&r->own, ARENA_LIMIT_DEFAULT);
    arena_init(&r->arena, OBJECT_BYTES_MAX * 16);
    r->options = *options;
    r->options.ns = arena_strdup(&r->own, options->ns);
    r->options.label_selector = arena_strdup(&r->own, options->label_selector);
    r->options.field_selector = arena_strdup(&r->own, options->field_selector);
    r->options.page_items = options->page_items > 0 ? options->page_items : PAGE_ITEMS;
    r->no_streaming = options->paged;
    r->api_version = resource_api_version(&r->own, options->resource);
    buf_init(&r->error_body, ERROR_BYTES_MAX);
    stream_lines_init(&r->lines, OBJECT_BYTES_MAX);
    stream_items_init(&r->items, OBJECT_BYTES_MAX);
    timer_init(&r->timer, on_timer, r);
    return r;
}

void reflector_free(struct reflector *r)
{
    if (!r)
        return;
    reflector_stop(r);
    stream_lines_done(&r->lines);
    stream_items_done(&r->items);
    buf_done(&r->error_body);
    free(r->continue_token);
    arena_done(&r->arena);
    arena_done(&r->own);
    free(r);
}

void reflector_start(struct reflector *r)
{
    if (r->phase == PHASE_STOPPED)
        begin(r);
}

void reflector_stop(struct reflector *r)
{
    end_call(r);
    r->phase = PHASE_STOPPED;
}

void reflector_reload(struct reflector *r)
{
    assert(r->phase != PHASE_STOPPED);
    end_call(r);
    r->version[0] = '\0';
    begin(r);
}

void reflector_poke(struct reflector *r)
{
    bool slow = r->state == REFLECTOR_NOT_INSTALLED || r->state == REFLECTOR_FORBIDDEN;
    r->slow_tries = 0;
    if (r->phase == PHASE_WAITING && slow)
        timer_set(r->env, &r->timer, 0);
}

enum reflector_state reflector_state(const struct reflector *r)
{
    return r->state;
}

bool reflector_synced(const struct reflector *r)
{
    return r->synced;
}

const char *reflector_version(const struct reflector *r)
{
    return r->version;
}

struct reflector_stats reflector_stats(const struct reflector *r)
{
    return r->stats;
}
