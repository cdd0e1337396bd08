#pragma once

/* A copy of one collection of the API server, kept true: list, then watch, for ever.
 *
 *             ┌────── no support ─────┐
 *   start ──> stream the list ──┐     └──> list by pages ──┐
 *             ^                 └──────────────────────────┴──> watch ─┐
 *             │   410, went back, closed at once, refused              │ ended, lost: again
 *             └──<──────────────── back-off ────────────────<──────────┘
 *
 * The copy itself belongs to the sink; the reflector keeps one version and one line of text.
 *
 *   replace_begin … put* … replace_end     the whole collection: what was not put is gone. Between
 *                                          the two nothing may be shown. replace_begin may come
 *                                          again before replace_end: forget what was put since.
 *                                          remove may come in between, too.
 *   put, remove, bookmark                  afterwards, in the server's order
 *
 * An object that cannot be read (not JSON, too large, too deep) goes to bad() and harms no other.
 * With its name known it counts as put: it is there, keep what you had of it, unless bad() brings
 * what could be read. */

#include "base/json.h"

struct env;
struct kube_transport;
struct reflector;
struct resource;
struct stream_identity;

enum reflector_state {
    REFLECTOR_LOADING,       /* nothing complete yet */
    REFLECTOR_WATCHING,      /* complete and fresh */
    REFLECTOR_TROUBLED,      /* failed, trying again; what was loaded stays */
    REFLECTOR_NOT_INSTALLED, /* 404: the server does not know the resource; looks again slowly */
    REFLECTOR_FORBIDDEN,     /* 403: "cannot list deployments in apps at cluster scope" */
};

struct reflector_bad {
    const char *ns, *name, *uid, *version; /* NULL where even that could not be read */
    struct json object; /* with {} and [] for what lies too deep; absent: not readable even so */
    bool initial;       /* as for put() */
    const struct error *err;
};

/* Objects always carry apiVersion, kind and metadata.name, and live only during the call. A sink
 * may stop the reflector from inside a call, but not free it. */
struct reflector_sink {
    void (*replace_begin)(void *ctx);
    void (*put)(void *ctx, struct json object, bool initial);
    void (*remove)(void *ctx, struct json last);
    void (*replace_end)(void *ctx, const char *version);
    /* Everything up to this version has been handed over. */
    void (*bookmark)(void *ctx, const char *version);
    void (*bad)(void *ctx, const struct reflector_bad *bad);
    /* err is NULL unless troubled, not installed or forbidden. */
    void (*state)(void *ctx, enum reflector_state state, const struct error *err);
    /* Optional, asked before an event is read as a whole: true if a put would say nothing new. It
     * counts as put then. */
    bool (*known)(void *ctx, const struct stream_identity *id);
};

struct reflector_options {
    const struct resource *resource;
    const char *ns; /* NULL: all */
    const char *label_selector, *field_selector;
    bool paged;         /* never stream the list */
    bool metadata_only; /* objects need carry nothing else, and may be PartialObjectMetadata */
    int64_t page_items; /* 0: 500 */
};

struct reflector_stats {
    uint64_t lists, watches, events, bookmarks, bad, failures;
};

/* All but the options' strings outlives the reflector. */
struct reflector *reflector_new(const struct kube_transport *transport, const struct env *env,
    const struct reflector_options *options, const struct reflector_sink *sink, void *ctx);
void reflector_free(struct reflector *r);
void reflector_start(struct reflector *r);
void reflector_stop(struct reflector *r);
/* Lists again, whatever it was doing. */
void reflector_reload(struct reflector *r);
/* Looks again now if it waits because the resource was not there or was forbidden (a CRD has just
 * come, a role has just changed). */
void reflector_poke(struct reflector *r);
enum reflector_state reflector_state(const struct reflector *r);
/* The collection has been loaded completely at least once. */
bool reflector_synced(const struct reflector *r);
/* Where a watch would resume; "" before the first load. */
const char *reflector_version(const struct reflector *r);
struct reflector_stats reflector_stats(const struct reflector *r);

/* Versions of one resource are whole numbers in decimal and compare as such (KEP-5504): below 0, 0
 * or above 0. Text that is none compares equal to everything, so that no decision rests on it. */
int kube_version_compare(const char *a, const char *b);
