#include "sim/sim.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/table.h"
#include "engine/plan.h"

/* 5: operators delete only what they should. With faults they delete the same objects as
 * without, and no more often: a wanted child that is deleted would be created again, and the end
 * state would not show it.
 *
 * Cluster-scoped children of an object are deleted before its finalizer is removed, because no
 * garbage collector deletes them. With faults they may be deleted later, which the end state
 * shows. */

struct deleted {
    struct table_node node;
    unsigned count;
    char path[];
};

struct sim_deletions {
    struct table table;
};

struct sim_deletions *sim_deletions_new(void)
{
    struct sim_deletions *d = mem_new_of(struct sim_deletions);
    table_init(&d->table, 7, 8);
    return d;
}

void sim_deletions_free(struct sim_deletions *d)
{
    for (struct table_cursor at = table_first(&d->table); at.node; table_next(&at)) {
        struct deleted *one = container_of(at.node, struct deleted, node);
        table_remove(&d->table, at.node);
        free(one);
    }
    table_done(&d->table);
    free(d);
}

static bool is_path(const struct table_node *n, const void *key)
{
    return text_eq(container_of(n, struct deleted, node)->path, key);
}

/* A ModelArtifact's Job and claim are replaced whenever the packed content changes, and the number
 * of changes that one pass sees depends on its timing. */
static bool is_replaced_on_purpose(const char *path)
{
    return strstr(path, "/jobs/") || str_ends(str_of(path), STR("-workspace"));
}

void sim_deletions_add(struct sim_deletions *d, const char *path)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    path = arena_strndup(&a, path, strcspn(path, "?"));
    if (is_replaced_on_purpose(path))
        return;
    uint64_t hash = table_hash(&d->table, path, strlen(path));
    struct table_node *n = table_find(&d->table, hash, is_path, path);
    struct deleted *one = n ? container_of(n, struct deleted, node) : NULL;
    if (!one) {
        one = mem_new(sizeof(*one) + strlen(path) + 1);
        memcpy(one->path, path, strlen(path) + 1);
        table_add(&d->table, &one->node, hash);
    }
    one->count++;
}

char *sim_deletions_text(const struct sim_deletions *d)
{
    struct buf lines = BUF_INIT(1 << 20);
    struct table_cursor at = table_first((struct table *)&d->table);
    for (; at.node; table_next(&at)) {
        const struct deleted *one = container_of(at.node, struct deleted, node);
        buf_printf(&lines, "%s %u\n", one->path, one->count);
    }
    char *text = mem_strdup(buf_text(&lines));
    buf_done(&lines);
    return text;
}

/* How often this line's path occurs in a text. */
static long count_in(const char *text, const char *line, size_t path)
{
    for (; *text; text += strcspn(text, "\n") + 1)
        if (strncmp(text, line, path) == 0)
            return strtol(text + path, NULL, 10);
    return 0;
}

const char *sim_deletions_more(struct arena *a, const char *text, const char *there)
{
    for (; *text; text += strcspn(text, "\n") + 1) {
        size_t path = strcspn(text, " ") + 1;
        if (strtol(text + path, NULL, 10) > count_in(there, text, path))
            return arena_strndup(a, text, strcspn(text, "\n"));
    }
    return NULL;
}

void sim_check_let_go(struct sim *s, struct json object)
{
    static const char *const tables[] = {
        "rbac.authorization.k8s.io/clusterroles",
        "rbac.authorization.k8s.io/clusterrolebindings",
    };
    cleanup(arena_done) struct arena a = ARENA_INIT;
    const char *kind = json_get_text(object, "kind");
    const char *id = plan_owner_id(&a, json_get_text(object, "apiVersion"), kind, object);
    const char *mark = arena_printf(&a, "\"%s\":\"%s\"", PLAN_OWNER_ANNOTATION, id);
    bool excused = s->forbade || !sim_is_faultless(&s->options);
    for (size_t i = 0; i < lengthof(tables) && !excused; i++) {
        struct store_cursor at = { 0 };
        for (const struct store_object *o; (o = store_next(store_table(s->store, tables[i]), &at));)
            if (memmem(o->text.ptr, o->text.len, mark, strlen(mark)))
                sim_fail(s,
                    "promise 5, owner: %s %s is left of %s, which was let go",
                    tables[i],
                    o->name,
                    id);
    }
}
