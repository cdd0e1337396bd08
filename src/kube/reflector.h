#pragma once

/* A copy of one collection of the API server, kept up to date: list, then watch, for ever.
 *
 *             ┌────── no support ─────┐
 *   start ──> stream the list ──┐     └──> list by pages ──┐
 *             ^                 └──────────────────────────┴──> watch ─┐
 *             │   410, went back, closed at once, refused              │ ended, lost: again
 *             └──<──────────────── back-off ────────────────<──────────┘
 *
 * The sink owns the copy; the reflector stores only one version and one line of text.
 *
 *   replace_begin … put* … replace_end     the whole collection: objects without a put are gone.
 *                                          The sink must not show the new copy before replace_end.
 *                                          If replace_begin is repeated before replace_end, forget
 *                                          the puts since. remove is possible in between, too.
 *   put, remove, bookmark                  afterwards, in the server's order
 *
 * An unreadable object (not JSON, too large, too deep) is passed to bad() and does not affect
 * others. If its name is known it counts as put: it exists, so keep its last known state, unless
 * bad() provides the readable part. */

#include "base/json.h"

struct env;
struct kube_transport;
struct reflector;
struct resource;
struct stream_identity;

enum reflector_state {
    REFLECTOR_LOADING,       /* not loaded completely yet */
    REFLECTOR_WATCHING,      /* loaded and up to date */
    REFLECTOR_TROUBLED,      /* failed, retrying; loaded objects stay */
    REFLECTOR_NOT_INSTALLED, /* 404: the server does not know the resource; retries slowly */
    REFLECTOR_FORBIDDEN,     /* 403: "cannot list deployments in apps at cluster scope" */
};

struct reflector_bad {
    const char *ns, *name, *uid, *version; /* NULL if unreadable */
    struct json object; /* with {} and [] for values nested too deep; absent: unreadable */
    bool initial;       /* as for put() */
    const struct error *err;
};

/* Objects always have apiVersion, kind and metadata.name, and are valid only during the call. A
 * sink may stop the reflector from inside a call, but not free it. */
struct reflector_sink {
    void (*replace_begin)(void *ctx);
    void (*put)(void *ctx, struct json object, bool initial);
    void (*remove)(void *ctx, struct json last);
    void (*replace_end)(void *ctx, const char *version);
    /* All events up to this version have been delivered. */
    void (*bookmark)(void *ctx, const char *version);
    void (*bad)(void *ctx, const struct reflector_bad *bad);
    /* err is NULL unless troubled, not installed or forbidden. */
    void (*state)(void *ctx, enum reflector_state state, const struct error *err);
    /* Optional. Called before an event is parsed completely; returns true if a put would change
     * nothing. The event counts as put then. */
    bool (*known)(void *ctx, const struct stream_identity *id);
};

struct reflector_options {
    const struct resource *resource;
    const char *ns; /* NULL: all */
    const char *label_selector, *field_selector;
    bool paged;         /* never stream the list */
    bool metadata_only; /* objects need only metadata, and may be PartialObjectMetadata */
    int64_t page_items; /* per page; 0: 500 */
};

struct reflector_stats {
    uint64_t lists, watches, events, bookmarks, bad, failures;
};

/* All but the options' strings must outlive the reflector. */
struct reflector *reflector_new(const struct kube_transport *transport, const struct env *env,
    const struct reflector_options *options, const struct reflector_sink *sink, void *ctx);
void reflector_free(struct reflector *r);
void reflector_start(struct reflector *r);
void reflector_stop(struct reflector *r);
/* Lists again, in any state. */
void reflector_reload(struct reflector *r);
/* Retries now if it waits because the resource was not found or forbidden (a CRD was just created,
 * a Role just changed). */
void reflector_poke(struct reflector *r);
enum reflector_state reflector_state(const struct reflector *r);
/* The collection has been loaded completely at least once. */
bool reflector_synced(const struct reflector *r);
/* The version from which a watch would resume; "" before the first load. */
const char *reflector_version(const struct reflector *r);
struct reflector_stats reflector_stats(const struct reflector *r);

/* Versions of one resource are decimal integers and are compared as such (KEP-5504): returns below
 * 0, 0 or above 0. Text that is not an integer compares equal to everything, so that no decision is
 * based on it. */
int kube_version_compare(const char *a, const char *b);
