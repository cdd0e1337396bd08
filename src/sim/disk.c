#include "sim/sim.h"

#include <stdlib.h>

#include "base/table.h"

/* The disk of the API server's store: the last committed state of every object. If the seed says
 * so, it is full or slow for writes by operators and by the server itself. Writes by people are
 * exempt, because they would only retry. */

struct row {
    struct table_node node;
    struct row *next; /* of the transaction */
    bool gone;
    uint64_t version;
    size_t length;
    const char *table, *ns, *name; /* memory after the text */
    char text[];
};

struct sim_disk {
    struct sim *sim;
    struct store_disk disk;
    struct table rows;
    struct row *open, **last; /* of the transaction */
    uint64_t version;         /* last committed */
    int64_t full_until_ms;
};

static const char *copy_behind(char **at, const char *text)
{
    size_t bytes = strlen(text) + 1;
    char *copy = memcpy(*at, text, bytes);
    *at += bytes;
    return copy;
}

static struct row *row_new(const struct store_row *from)
{
    size_t names = strlen(from->table) + strlen(from->ns) + strlen(from->name) + 3;
    struct row *r = mem_new(sizeof(*r) + from->text.len + names);
    r->gone = from->gone;
    r->version = from->version;
    r->length = from->text.len;
    if (r->length)
        memcpy(r->text, from->text.ptr, r->length);
    char *at = r->text + r->length;
    r->table = copy_behind(&at, from->table);
    r->ns = copy_behind(&at, from->ns);
    r->name = copy_behind(&at, from->name);
    return r;
}

static bool is_same(const struct table_node *n, const void *key)
{
    const struct row *r = container_of(n, struct row, node), *other = key;
    return text_eq(r->name, other->name) && text_eq(r->ns, other->ns) &&
           text_eq(r->table, other->table);
}

static uint64_t hash_of(const struct sim_disk *d, const struct row *r)
{
    return table_hash(&d->rows, r->name, strlen(r->name)) * 31 +
           table_hash(&d->rows, r->table, strlen(r->table)) +
           table_hash(&d->rows, r->ns, strlen(r->ns)) * 17;
}

static bool is_spared(const struct sim *s)
{
    return s->quiet || !(s->request.actor.op || text_eq(s->request.actor.name, "server"));
}

static bool disk_write(void *self, const struct store_row *row, struct error *err)
{
    struct sim_disk *d = self;
    struct sim *s = d->sim;
    if (!is_spared(s) && s->now_ms < d->full_until_ms)
        return fail(err, ERR_UNAVAILABLE, "the disk is full; free some space");
    *d->last = row_new(row);
    d->last = &(*d->last)->next;
    return true;
}

static void disk_rollback(void *self)
{
    struct sim_disk *d = self;
    for (struct row *r = d->open, *next; r; r = next) {
        next = r->next;
        free(r);
    }
    d->open = NULL;
    d->last = &d->open;
}

/* Fails in the middle of a transaction: the rows written before are lost, too. */
static bool is_refused(struct sim_disk *d, struct error *err)
{
    struct sim *s = d->sim;
    const struct sim_rates *r = &s->options.rates;
    if (is_spared(s))
        return false;
    if (sim_chance(s, SIM_FAULTS, r->disk_slow)) {
        s->injected++;
        s->server_wakes_ms = s->now_ms + sim_below(s, SIM_FAULTS, 10000);
        sim_history_add(s->history, "disk", "~ is slow");
    }
    if (!sim_chance(s, SIM_FAULTS, r->disk_full))
        return false;
    s->injected++;
    d->full_until_ms = s->now_ms + sim_below(s, SIM_FAULTS, 20000);
    sim_history_add(s->history, "disk", "~ is full");
    return !fail(err, ERR_UNAVAILABLE, "the disk is full; free some space");
}

static bool disk_commit(void *self, struct error *err)
{
    struct sim_disk *d = self;
    if (is_refused(d, err))
        return false;
    while (d->open) {
        struct row *r = d->open;
        d->open = r->next;
        d->version = r->version;
        uint64_t hash = hash_of(d, r);
        struct table_node *before = table_find(&d->rows, hash, is_same, r);
        if (before) {
            table_remove(&d->rows, before);
            free(container_of(before, struct row, node));
        }
        if (r->gone)
            free(r);
        else
            table_add(&d->rows, &r->node, hash);
    }
    d->last = &d->open;
    return true;
}

static int by_version(const void *a, const void *b)
{
    const struct row *const *x = a, *const *y = b;
    return (*x)->version < (*y)->version ? -1 : (*x)->version > (*y)->version;
}

/* Keeps no history: a client that watches must start again. */
static bool disk_load(void *self, void (*row)(void *ctx, const struct store_row *row), void *ctx,
    uint64_t *since, uint64_t *last, struct error *err)
{
    (void)err;
    struct sim_disk *d = self;
    struct row **all = mem_resize(NULL, d->rows.count + 1, sizeof(struct row *));
    size_t count = 0;
    for (struct table_cursor at = table_first(&d->rows); at.node; table_next(&at))
        all[count++] = container_of(at.node, struct row, node);
    qsort(all, count, sizeof(struct row *), by_version);
    *since = *last = d->version ? d->version : 1;
    for (size_t i = 0; i < count; i++)
        row(ctx,
            &(struct store_row){ all[i]->table,
                all[i]->ns,
                all[i]->name,
                all[i]->version,
                false,
                { all[i]->text, all[i]->length } });
    free(all);
    return true;
}

static bool disk_compact(void *self, uint64_t up_to, struct error *err)
{
    (void)self, (void)up_to, (void)err;
    return true;
}

struct sim_disk *sim_disk_new(struct sim *s)
{
    struct sim_disk *d = mem_new_of(struct sim_disk);
    d->sim = s;
    d->last = &d->open;
    table_init(&d->rows, 1, 2);
    d->disk = (struct store_disk){
        .load = disk_load,
        .write = disk_write,
        .commit = disk_commit,
        .rollback = disk_rollback,
        .compact = disk_compact,
        .self = d,
    };
    return d;
}

const struct store_disk *sim_disk_of(struct sim_disk *d)
{
    return &d->disk;
}

void sim_disk_free(struct sim_disk *d)
{
    disk_rollback(d);
    for (struct table_cursor at = table_first(&d->rows); at.node; table_next(&at)) {
        struct row *r = container_of(at.node, struct row, node);
        table_remove(&d->rows, at.node);
        free(r);
    }
    table_done(&d->rows);
    free(d);
}
