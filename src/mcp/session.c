#include "mcp/session.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/timer.h"
#include "mcp/middleware.h"

#define COUNT_MAX 100000
#define BYTES_MAX ((size_t)64 << 20)

struct sessions {
    struct sessions_options o;
    struct table table;
    struct mcp_session *oldest, *newest;
    size_t bytes;
};

static char *copy(struct str s)
{
    if (!s.ptr)
        return NULL;
    char *text = mem_new(s.len + 1);
    memcpy(text, s.ptr, s.len);
    return text;
}

static bool is_id(const struct table_node *n, const void *key)
{
    return str_eq(str_of(container_of(n, struct mcp_session, node)->id), *(const struct str *)key);
}

struct sessions *sessions_new(const struct sessions_options *options)
{
    struct sessions *s = mem_new_of(struct sessions);
    const struct env *env = options->env;
    s->o = *options;
    s->o.count_max = s->o.count_max ? s->o.count_max : COUNT_MAX;
    s->o.bytes_max = s->o.bytes_max ? s->o.bytes_max : BYTES_MAX;
    s->o.ttl_ms = s->o.ttl_ms ? s->o.ttl_ms : SESSION_TTL_MS;
    table_init(&s->table, env->random(env->ctx), env->random(env->ctx));
    return s;
}

static void unlink_session(struct sessions *s, struct mcp_session *x)
{
    *(x->older ? &x->older->newer : &s->oldest) = x->newer;
    *(x->newer ? &x->newer->older : &s->newest) = x->older;
    x->older = x->newer = NULL;
}

static void link_newest(struct sessions *s, struct mcp_session *x)
{
    x->older = s->newest;
    *(s->newest ? &s->newest->newer : &s->oldest) = x;
    s->newest = x;
    x->used_ms = env_mono_ms(s->o.env);
}

void session_remove(struct sessions *s, struct mcp_session *x)
{
    if (s->o.ended)
        s->o.ended(s->o.ctx, x);
    table_remove(&s->table, &x->node);
    unlink_session(s, x);
    s->bytes -= x->bytes;
    free(x->id);
    free(x->backend_id);
    free(x->subject);
    free(x->issuer);
    free(x->initialize);
    free(x);
}

void sessions_free(struct sessions *s)
{
    if (!s)
        return;
    while (s->oldest)
        session_remove(s, s->oldest);
    table_done(&s->table);
    free(s);
}

size_t sessions_count(const struct sessions *s)
{
    return s->table.count;
}

size_t sessions_bytes(const struct sessions *s)
{
    return s->bytes;
}

static bool is_due(const struct sessions *s)
{
    const struct mcp_session *x = s->oldest;
    if (!x)
        return false;
    if (env_mono_ms(s->o.env) - x->used_ms > s->o.ttl_ms)
        return true;
    return x != s->newest && (s->table.count > s->o.count_max || s->bytes > s->o.bytes_max);
}

static void expire(struct sessions *s)
{
    while (is_due(s))
        session_remove(s, s->oldest);
}

void session_charge(struct sessions *s, struct mcp_session *x, int64_t bytes)
{
    assert(bytes >= 0 || (size_t)-bytes <= x->bytes);
    x->bytes += (size_t)bytes;
    s->bytes += (size_t)bytes;
    unlink_session(s, x);
    link_newest(s, x);
    expire(s);
}

static struct mcp_session *lookup(struct sessions *s, struct str id)
{
    struct table_node *n = table_find(&s->table, table_hash(&s->table, id.ptr, id.len), is_id, &id);
    return n ? container_of(n, struct mcp_session, node) : NULL;
}

struct mcp_session *session_add(struct sessions *s, struct str id, struct str backend_id,
    const struct mcp_identity *owner, struct str initialize)
{
    struct mcp_session *old = lookup(s, id);
    if (old)
        session_remove(s, old);
    struct mcp_session *x = mem_new_of(struct mcp_session);
    x->id = copy(id);
    x->backend_id = copy(backend_id);
    x->subject = copy(str_of(owner->subject));
    x->issuer = copy(str_of(owner->issuer));
    if (initialize.len > SESSION_INITIALIZE_MAX)
        initialize = STR("");
    x->initialize = copy(initialize);
    x->initialize_bytes = initialize.len;
    table_add(&s->table, &x->node, table_hash(&s->table, id.ptr, id.len));
    link_newest(s, x);
    session_charge(s,
        x,
        (int64_t)(sizeof(*x) + id.len + backend_id.len + initialize.len +
                  str_of(owner->subject).len + str_of(owner->issuer).len));
    return x;
}

struct mcp_session *session_find(struct sessions *s, struct str id, const struct mcp_identity *who)
{
    expire(s);
    struct mcp_session *x = lookup(s, id);
    if (!x || !text_eq(x->subject, who->subject) || !text_eq(x->issuer, who->issuer))
        return NULL;
    unlink_session(s, x);
    link_newest(s, x);
    return x;
}

void session_set_backend_id(struct mcp_session *x, struct str id)
{
    free(x->backend_id);
    x->backend_id = copy(id);
}

void session_new_id(const struct env *env, char ret[37])
{
    uint64_t high = env->random(env->ctx), low = env->random(env->ctx);
    snprintf(ret,
        37,
        "%08x-%04x-4%03x-%04x-%012llx",
        (unsigned)(high >> 32),
        (unsigned)(high >> 16 & 0xffff),
        (unsigned)(high & 0xfff),
        (unsigned)(0x8000 | (low >> 48 & 0x3fff)),
        (unsigned long long)(low & 0xffffffffffffULL));
}
