#include <stdlib.h>

#include "mcp/hub_internal.h"

#define SUBSCRIPTIONS_MAX 1000
#define BEHIND_BYTES_MAX ((size_t)1 << 20)

/* ---- clients ---- */

struct peer *peer_new(struct hub *hub, struct mcp_session *session, unsigned can)
{
    struct peer *p = mem_new_of(struct peer);
    *p = (struct peer){ .hub = hub, .session = session, .can = can, .level = -1 };
    session->peer = p;
    session_charge(hub->o.sessions, session, sizeof(*p));
    return p;
}

static void charge(struct peer *p, int64_t bytes)
{
    session_charge(p->hub->o.sessions, p->session, bytes);
}

void peer_set_hello(struct peer *p, const char *text)
{
    int64_t more = (int64_t)strlen(text) - (p->hello ? (int64_t)strlen(p->hello) : 0);
    free(p->hello);
    p->hello = mem_strdup(text);
    charge(p, more);
}

void peer_free(struct peer *p)
{
    if (p->stream) {
        p->stream->is_session = false;
        outlet_close(p->stream);
    }
    while (p->subscriptions) {
        struct subscription *s = p->subscriptions;
        p->subscriptions = s->next;
        free(s);
    }
    free(p->hello);
    free(p);
}

bool peer_is_subscribed(const struct peer *p, const char *uri)
{
    for (const struct subscription *s = p->subscriptions; s; s = s->next)
        if (text_eq(s->uri, uri))
            return true;
    return false;
}

bool peer_subscribe(struct peer *p, const char *uri)
{
    if (peer_is_subscribed(p, uri))
        return true;
    if (p->subscription_count >= SUBSCRIPTIONS_MAX)
        return false;
    size_t length = strlen(uri) + 1;
    struct subscription *s = mem_new(sizeof(*s) + length);
    memcpy(s->uri, uri, length);
    s->next = p->subscriptions;
    p->subscriptions = s;
    p->subscription_count++;
    charge(p, (int64_t)(sizeof(*s) + length));
    return true;
}

void peer_unsubscribe(struct peer *p, const char *uri)
{
    for (struct subscription **s = &p->subscriptions; *s; s = &(*s)->next)
        if (text_eq((*s)->uri, uri)) {
            struct subscription *gone = *s;
            *s = gone->next;
            p->subscription_count--;
            charge(p, -(int64_t)(sizeof(*gone) + strlen(gone->uri) + 1));
            free(gone);
            return;
        }
}

static bool listens_to(const struct outlet *s, const char *uri)
{
    return s->peer ? peer_is_subscribed(s->peer, uri)
                   : json_list_has(json_member(s->filter, "resourceSubscriptions"), uri);
}

bool hub_anyone_subscribed(struct hub *hub, const char *uri)
{
    for (const struct outlet *s = hub->streams; s; s = s->next)
        if (listens_to(s, uri))
            return true;
    return false;
}

/* ---- streams ---- */

struct outlet *outlet_new(struct hub *hub, struct mcp_exchange *x, struct peer *peer)
{
    struct outlet *s = mem_new_of(struct outlet);
    *s = (struct outlet){
        .hub = hub, .next = hub->streams, .link = &hub->streams, .x = x, .peer = peer
    };
    arena_init(&s->arena, ARENA_LIMIT_DEFAULT);
    if (s->next)
        s->next->link = &s->next;
    hub->streams = s;
    x->stream = s;
    return s;
}

/* A client has one stream: a second one replaces the first. */
void outlet_open(struct hub *hub, struct mcp_exchange *x, struct peer *peer)
{
    if (peer->stream)
        outlet_close(peer->stream);
    peer->stream = outlet_new(hub, x, peer);
    answer_begin_events(x);
    legacy_listen(&hub->line);
}

void outlet_open_sse(struct hub *hub, struct mcp_exchange *x)
{
    char id[37];
    session_new_id(hub->o.env, id);
    x->session = session_add(hub->o.sessions, str_of(id), (struct str){ 0 }, &x->identity, STR(""));
    x->session->users++;
    outlet_open(hub, x, peer_new(hub, x->session, 0));
    x->stream->is_session = true;
    const char *prefix = hub->o.endpoint_prefix ? hub->o.endpoint_prefix : "";
    answer_event(x, "endpoint", arena_printf(&x->arena, "%s/messages?sessionId=%s", prefix, id));
}

void outlet_close(struct outlet *s)
{
    struct mcp_exchange *x = s->x;
    struct hub *hub = s->hub;
    struct mcp_session *session = s->is_session && s->peer ? s->peer->session : NULL;
    *s->link = s->next;
    if (s->next)
        s->next->link = s->link;
    if (s->peer)
        s->peer->stream = NULL;
    for (struct hub_call *c = s->peer ? s->peer->calls : NULL; c; c = c->peer_next)
        if (c->x && c->x->sink == x)
            c->x->sink = NULL;
    arena_done(&s->arena);
    free(s);
    x->stream = NULL;
    x->backend = NULL;
    answer_end(x, NULL);
    if (session)
        session_remove(hub->o.sessions, session);
}

void outlet_write(struct outlet *s, struct str raw)
{
    struct mcp_exchange *x = s->x;
    if (x->behind) {
        x->behind_bytes += raw.len;
        if (x->behind_bytes > BEHIND_BYTES_MAX) {
            answer_cut(x);
            return;
        }
    }
    answer_message(x, raw, false);
}

/* ---- broadcasts ---- */

static const char *filter_of(const char *method)
{
    static const struct {
        const char *method, *filter;
    } table[] = {
        { "notifications/tools/list_changed", "toolsListChanged" },
        { "notifications/prompts/list_changed", "promptsListChanged" },
        { "notifications/resources/list_changed", "resourcesListChanged" },
    };
    for (size_t i = 0; i < lengthof(table); i++)
        if (text_eq(method, table[i].method))
            return table[i].filter;
    return NULL;
}

static bool is_wanted(const struct outlet *s, const struct mcp_message *m)
{
    const char *filter = filter_of(m->method);
    if (text_eq(m->method, "notifications/resources/updated")) {
        const char *uri = json_get_text(m->params, "uri");
        return uri && listens_to(s, uri);
    }
    if (text_eq(m->method, "notifications/subscriptions/acknowledged"))
        return false;
    return s->peer ? true : filter && json_get_bool(s->filter, filter, false);
}

/* On a modern client's stream each notification has the subscription's id. */
static struct str tagged(const struct outlet *s, const struct mcp_message *m, struct arena *a)
{
    struct json id, meta = json_member(m->params, "_meta");
    struct error err;
    struct str raw = m->raw;
    if (s->peer || !json_parse(a, s->listen_id, &id, &err))
        return raw;
    meta = json_with_member(
        a, json_is(meta, JSON_MAP) ? meta : json_empty_map(), RPC_META_SUBSCRIPTION, id);
    struct json params = json_with_member(
        a, json_is(m->params, JSON_MAP) ? m->params : json_empty_map(), "_meta", meta);
    struct json all = json_map(
        a, { "jsonrpc", json_str("2.0") }, { "method", json_str(m->method) }, { "params", params });
    return str_of(json_to_text(a, all));
}

void outlets_broadcast(struct hub *hub, const struct mcp_message *m, struct arena *a)
{
    struct outlet *next;
    for (struct outlet *s = hub->streams; s; s = next) {
        next = s->next;
        if (is_wanted(s, m))
            outlet_write(s, tagged(s, m, a));
    }
}
