#pragma once

/* The kinds that an API server serves, and how each behaves.
 *
 * One struct api_kind is one served resource in one version. Built-in kinds come from a table
 * (builtin.c), custom kinds from their CustomResourceDefinitions (crd.c), and both behave through
 * the same few functions, struct api_behaviour. The server handles what all kinds share (metadata,
 * names, uid, versions, finalizers, owners, managedFields, dry-run, …).
 *
 * A write goes through these steps:
 *
 *   decode ─> prune (and unknown fields) ─> fill ─> prepare ─> validate ─> store
 *
 * An apply or a patch is merged with the live object before prune. */

#include "apiserver/rules/field_errors.h"
#include "base/resource.h"
#include "merge/schema.h"

struct apiserver;
struct api_call;
struct api_kind;

enum api_verb {
    API_GET = 1 << 0,
    API_LIST = 1 << 1,
    API_WATCH = 1 << 2,
    API_CREATE = 1 << 3,
    API_UPDATE = 1 << 4,
    API_PATCH = 1 << 5,
    API_DELETE = 1 << 6,
    API_DELETE_COLLECTION = 1 << 7,
    API_ALL_VERBS = (1 << 8) - 1,
};

/* The user of a request. */
struct api_user {
    const char *name;
    const char *uid;           /* "" if none */
    const char *const *groups; /* NULL-terminated */
    struct json extra;         /* absent, or a map of lists of strings */
};

/* A write, as passed to the behaviour of a kind. */
struct api_write {
    struct apiserver *server;
    const struct api_kind *kind;
    const struct api_user *user;
    struct arena *arena;
    const char *subresource; /* "" for the object itself */
    struct json old;         /* absent: a create */
    const char *now;         /* RFC 3339 */
    bool dry_run;
    struct api_call *call; /* for call_warn(), call_fail(); NULL: a write by the server itself */
};

enum api_name {
    API_NAME_SUBDOMAIN = 0,
    API_NAME_LABEL,      /* namespaces */
    API_NAME_LABEL_1035, /* services */
    API_NAME_PATH,       /* anything allowed in a path: roles and bindings */
    API_NAME_ADDRESS,    /* an IP address */
};

/* A column of `kubectl get`. */
struct api_column {
    const char *name;
    const char *type;   /* string, integer, number, boolean, date */
    const char *format; /* "" or name, int32, … */
    const char *description;
    const char *path; /* JSONPath for custom kinds (".spec.replicas"); NULL for built-in ones */
    int priority;     /* above 0: only with -o wide */
};

struct api_scale_paths { /* dotted, without a leading dot; NULL: no scale subresource */
    const char *spec_replicas;
    const char *status_replicas;
    const char *label_selector; /* NULL: none. The value is a string or a LabelSelector */
};

/* NULL members do nothing. */
struct api_behaviour {
    /* Removes fields that the kind does not have. The path of each one is added to `unknown` (a
     * FIELD_INVALID error; ignored unless the client requested field validation). A value of a
     * wrong type is a FIELD_TYPE_INVALID error with Go's decoder error, `json: cannot unmarshal …`,
     * and ends the request with a 400. */
    struct json (*prune)(const struct api_kind *k, struct arena *a, struct json object,
        struct field_errors *unknown);
    /* Applies defaults. Also called for objects that were stored before the default existed. */
    struct json (*fill)(const struct api_kind *k, struct arena *a, struct json object);
    /* Converts an object to another apiVersion: from the stored version to the kind's, or from the
     * kind's to storage_version. Fields missing in the target schema are filled in (refill). NULL:
     * only apiVersion differs. */
    struct json (*convert)(
        const struct api_kind *k, struct arena *a, struct json object, const char *api_version);
    /* Enforces what a client may not decide: a create has no status; a write of the object keeps
     * the old status, and a write of the status keeps everything else; allocations (cluster IPs);
     * derived values. Fails with an error for a Status. */
    bool (*prepare)(const struct api_write *w, struct json *object, struct error *err);
    /* metadata is validated already. */
    void (*validate)(const struct api_write *w, struct json object, struct field_errors *errors);
    /* Checks a valid object against other objects of the cluster. */
    bool (*admit)(const struct api_write *w, struct json object, struct error *err);
    /* Warns about valid but inadvisable values: call_warn(w->call, …). */
    void (*warn)(const struct api_write *w, struct json object);
    /* Called after the write (object absent: deleted) and before the flush: follow-up work such as
     * releasing an address or (un)registering the kinds of a CRD. */
    void (*written)(
        struct apiserver *server, const struct api_kind *k, struct json old, struct json object);
    /* The cells of a table row, one for each column. NULL: by the paths of the columns. */
    struct json (*cells)(
        const struct api_kind *k, struct arena *a, struct json object, int64_t wall_ms);
    /* The value for a field selector ("status.phase"); NULL: the field is not selectable.
     * metadata.name and metadata.namespace are handled elsewhere. */
    const char *(*field)(
        const struct api_kind *k, struct arena *a, struct json object, const char *path);
};

struct api_kind {
    struct resource resource;
    const char *singular;
    const char *list_kind;
    const char *const *short_names; /* NULL, or NULL-terminated */
    const char *const *categories;
    unsigned verbs; /* of enum api_verb */
    bool has_status;
    bool custom;         /* from a CRD */
    bool generation;     /* counts changes outside of metadata (and status, if has_status) */
    bool unconditional;  /* a PUT may omit resourceVersion */
    bool creates_on_put; /* a PUT of a missing object creates it */
    /* The schema changed after objects were stored: prune and fill are applied when they are
     * read. */
    bool refill;
    bool free_base;     /* generateName need not have the form of a name */
    bool any_finalizer; /* including finalizers without a domain; always allowed for custom kinds */
    bool returns_deleted;    /* a DELETE returns the object instead of a Status */
    enum api_name name_form; /* of metadata.name */
    const char *warning;     /* a Warning header for clients: it is deprecated; NULL: none */
    struct api_scale_paths scale;
    const char *table;           /* in the store; the same for all versions of the resource */
    const char *storage_version; /* of the stored text: "apps/v1" */
    const char *converter;       /* a webhook that versions need, which is not called; NULL: none */
    const struct schema *schema; /* of this version */
    const struct api_column *columns;
    size_t column_count;
    const struct api_behaviour *behaviour;
    void *ctx; /* private data of the behaviour */
    /* For the order of groups and versions in discovery. Higher comes first; see discovery.c. */
    int group_priority, version_priority;
};

/* Whether this is a kind of the core group, in any version. */
static inline bool api_kind_is_core(const struct api_kind *k, const char *kind)
{
    return !*k->resource.group && strcmp(k->resource.kind, kind) == 0;
}

struct registry;

struct registry *registry_new(void);
void registry_free(struct registry *r);
/* The kind must stay valid until it is removed. False: the resource exists already. */
bool registry_add(struct registry *r, const struct api_kind *k) must_check;
void registry_remove(struct registry *r, const struct api_kind *k);
/* By group, version and plural of a path; NULL: not served. */
const struct api_kind *registry_find(
    const struct registry *r, const char *group, const char *version, const char *plural);
const struct api_kind *registry_find_kind(
    const struct registry *r, const char *group, const char *version, const char *kind);
/* Any version of it, the preferred one first; for owner references and store tables. */
const struct api_kind *registry_find_any(
    const struct registry *r, const char *group, const char *kind);
/* The preferred version of the kind stored in this table. */
const struct api_kind *registry_find_table(const struct registry *r, const char *table);
/* All kinds, sorted by group priority, group, version priority, version, plural: the order of
 * discovery. NULL after the last. */
const struct api_kind *registry_at(const struct registry *r, size_t index);
/* Incremented by every change; for caches of documents. */
uint64_t registry_generation(const struct registry *r);
