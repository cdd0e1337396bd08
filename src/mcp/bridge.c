#include "mcp/bridge.h"

#include <stdlib.h>

#include "base/hash.h"
#include "base/timer.h"
#include "mcp/exchange.h"
#include "mcp/hub.h"
#include "mcp/hub_internal.h"
#include "mcp/wire.h"

#define HUBS_MAX 1000
#define IDLE_MS ((int64_t)15 * 60 * 1000)
#define SWEEP_MS 60000

struct span {
    struct span *next;
    struct mcp_backend *hub;
    uint8_t key[SHA256_BYTES];
    int64_t used_ms;
};

struct bridge {
    struct bridge_options o;
    struct span *spans; /* the last used one first */
    size_t count;
    struct timer sweep;
};

/* Identifies a session at the server: the user, the forwarded token, and the client's
 * capabilities. */
static void key_of(const struct mcp_exchange *x, const char *path, uint8_t ret[SHA256_BYTES])
{
    struct sha256 h;
    struct json meta = json_member(x->request.params, "_meta");
    unsigned can = hub_read_capabilities(json_member(meta, RPC_META_CAPABILITIES));
    struct str token = http_header_find(x->headers, "authorization");
    const char *parts[] = { x->request.modern ? "modern" : "legacy", path, NULL, NULL };
    size_t count = 2;
    if (x->request.modern) {
        parts[count++] = x->identity.subject;
        parts[count++] = x->identity.issuer;
    }
    sha256_init(&h);
    for (size_t i = 0; i < count; i++)
        sha256_add(&h, parts[i] ? parts[i] : "", parts[i] ? strlen(parts[i]) + 1 : 1);
    if (x->request.modern) {
        sha256_add(&h, &can, sizeof(can));
        sha256_add(&h, token.ptr ? token.ptr : "", token.len);
    }
    sha256_end(&h, ret);
}

static void drop_idle(struct bridge *b, int64_t older_ms)
{
    int64_t now = env_mono_ms(b->o.env);
    for (struct span **s = &b->spans; *s;) {
        struct span *old = *s;
        if (now - old->used_ms < older_ms || !hub_is_idle(old->hub)) {
            s = &old->next;
            continue;
        }
        *s = old->next;
        b->count--;
        old->hub->ops->free(old->hub);
        free(old);
    }
}

static void on_sweep(void *ctx)
{
    struct bridge *b = ctx;
    drop_idle(b, IDLE_MS);
    if (b->count)
        timer_set(b->o.env, &b->sweep, SWEEP_MS);
}

static struct span *span_new(struct bridge *b, struct mcp_exchange *x, const char *path)
{
    struct span *s = mem_new_of(struct span);
    struct json meta = json_member(x->request.params, "_meta");
    s->hub = hub_new(&(struct hub_options){
        .env = b->o.env,
        .sessions = b->o.sessions,
        .wire = wire_http_new(&(struct wire_http_options){
            .env = b->o.env,
            .http = b->o.http,
            .origin = b->o.origin,
            .path = path,
            .authority = b->o.authority,
            .headers = mcp_backend_headers(x),
        }),
        .any_path = true,
        .can = x->request.modern ? hub_read_capabilities(json_member(meta, RPC_META_CAPABILITIES))
                                 : CAN_ROOTS | CAN_SAMPLING | CAN_ELICIT,
    });
    if (!timer_is_set(&b->sweep))
        timer_set(b->o.env, &b->sweep, SWEEP_MS);
    b->count++;
    return s;
}

void bridge_send(struct bridge *b, struct mcp_exchange *x, const char *path)
{
    uint8_t key[SHA256_BYTES];
    key_of(x, path, key);
    struct span **at = &b->spans, *s;
    while (*at && memcmp((*at)->key, key, sizeof(key)))
        at = &(*at)->next;
    s = *at;
    if (s) {
        *at = s->next;
    } else {
        if (b->count >= HUBS_MAX)
            drop_idle(b, 0);
        if (b->count >= HUBS_MAX) {
            mcp_answer_header(x, "retry-after", "1");
            hub_refuse(x, 429, RPC_INTERNAL_CODE, "Too many users at once; try again later");
            return;
        }
        s = span_new(b, x, path);
        memcpy(s->key, key, sizeof(key));
    }
    s->next = b->spans;
    b->spans = s;
    s->used_ms = env_mono_ms(b->o.env);
    x->backend = s->hub;
    s->hub->ops->send(s->hub, x);
}

void bridge_session_ended(struct bridge *b, struct mcp_session *session)
{
    if (b->spans)
        b->spans->hub->ops->session_ended(b->spans->hub, session);
}

struct bridge *bridge_new(const struct bridge_options *options)
{
    struct bridge *b = mem_new_of(struct bridge);
    b->o = *options;
    timer_init(&b->sweep, on_sweep, b);
    return b;
}

void bridge_free(struct bridge *b)
{
    if (!b)
        return;
    timer_stop(b->o.env, &b->sweep);
    while (b->spans) {
        struct span *s = b->spans;
        b->spans = s->next;
        s->hub->ops->free(s->hub);
        free(s);
    }
    free(b);
}
