#include "sim/sim.h"

#include <stdlib.h>

#include "base/buf.h"

/* Time travel: an operator that restarts gets lists from before its last writes, and learns their
 * results only later. Our client requests up-to-date lists, so this simulates a server that does
 * not comply. */

#define LIST_BYTES_MAX ((size_t)64 << 20)

struct list {
    struct list *next;
    char *path;
    char *version;
    struct buf bytes; /* of the stream, including its initial events */
    bool ended;
};

struct sim_stale {
    struct sim *sim;
    struct list *lists;
};

struct sim_stale *sim_stale_new(struct sim *s)
{
    struct sim_stale *t = mem_new_of(struct sim_stale);
    t->sim = s;
    return t;
}

static void list_free(struct list *l)
{
    free(l->path);
    free(l->version);
    buf_done(&l->bytes);
    free(l);
}

void sim_stale_free(struct sim_stale *t)
{
    for (struct list *l = t->lists, *next; l; l = next) {
        next = l->next;
        list_free(l);
    }
    free(t);
}

/* Each watch request has a different timeout. */
static bool same_watch(const char *a, const char *b)
{
    static const char timeout[] = "timeoutSeconds=";
    const char *at = strstr(a, timeout), *bt = strstr(b, timeout);
    if (!at || !bt || at - a != bt - b || strncmp(a, b, (size_t)(at - a)) != 0)
        return false;
    at += strlen(timeout);
    bt += strlen(timeout);
    return text_eq(at + strspn(at, "0123456789"), bt + strspn(bt, "0123456789"));
}

static struct list **find(struct sim_stale *t, const char *path)
{
    struct list **at = &t->lists;
    while (*at && !same_watch((*at)->path, path))
        at = &(*at)->next;
    return at;
}

static void on_head(void *ctx, const struct api_head *head)
{
    (void)ctx, (void)head;
}

static bool on_data(void *ctx, struct str bytes)
{
    buf_add(&((struct list *)ctx)->bytes, bytes.ptr, bytes.len);
    return true;
}

static void on_end(void *ctx)
{
    ((struct list *)ctx)->ended = true;
}

static const struct api_handlers handlers = { on_head, on_data, on_end };
static const struct api_user user = {
    .name = "admin",
    .uid = "",
    .groups = (const char *const[]){ "system:masters", "system:authenticated", NULL },
};

/* The version of the list: its last line is a bookmark. */
static char *version_of(const struct buf *bytes)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    struct str text = buf_str(bytes);
    while (text.len && text.ptr[text.len - 1] == '\n')
        text.len--;
    const char *newline = memrchr(text.ptr, '\n', text.len);
    size_t from = newline ? (size_t)(newline + 1 - text.ptr) : 0;
    struct json last;
    struct error err;
    if (!json_parse(&a, (struct str){ text.ptr + from, text.len - from }, &last, &err) ||
        !text_eq(json_get_text(last, "type"), "BOOKMARK"))
        return NULL;
    return mem_strdup(json_get_text(last, "object.metadata.resourceVersion"));
}

void sim_stale_take(struct sim_stale *t, const char *path)
{
    struct list *l = mem_new_of(struct list);
    l->bytes = (struct buf)BUF_INIT(LIST_BYTES_MAX);
    l->path = mem_strdup(path);
    struct str target = str_of(l->path), plain = str_cut(&target, '?');
    struct api_call *call = apiserver_open(t->sim->server,
        &(struct api_request){
            .method = "GET",
            .path = plain,
            .query = target,
            .accept = "application/json",
            .user_agent = "sim",
            .user = &user,
        },
        &handlers,
        l);
    apiserver_flush(t->sim->server);
    if (!l->ended)
        apiserver_cancel(t->sim->server, call);
    l->version = version_of(&l->bytes);
    struct list **old = find(t, path);
    if (*old) {
        struct list *gone = *old;
        *old = gone->next;
        list_free(gone);
    }
    if (!l->version) {
        list_free(l);
        return;
    }
    l->next = t->lists;
    t->lists = l;
}

bool sim_stale_use(struct sim_stale *t, const char *path, struct arena *a, struct str *ret_list,
    const char **ret_path)
{
    struct list **at = find(t, path), *l = *at;
    if (!l)
        return false;
    *at = l->next;
    struct str bytes = buf_str(&l->bytes);
    *ret_list = (struct str){ arena_strndup(a, bytes.ptr, bytes.len), bytes.len };
    /* At the end of the path; a watch from a version has neither. */
    const char *initial = strstr(path, "&sendInitialEvents=");
    const char *kept = arena_strndup(a, path, initial ? (size_t)(initial - path) : strlen(path));
    const char *more = initial ? strchr(initial + 1, '&') : NULL;
    more = more && text_starts(more, "&resourceVersionMatch=") ? strchr(more + 1, '&') : more;
    *ret_path = arena_printf(a, "%s&resourceVersion=%s%s", kept, l->version, more ? more : "");
    list_free(l);
    return true;
}
