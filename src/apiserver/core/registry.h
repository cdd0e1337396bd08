#pragma once

/* The kinds that an API server serves, and how each behaves.
 *
 * One struct api_kind is one served resource in one version. Built-in kinds come from a table
 * (builtin.c), custom kinds from their CustomResourceDefinitions (crd.c), and both behave through
 * the same few functions, struct api_behaviour. What all kinds share (metadata, names, uid,
 * versions, finalizers, owners, managedFields, dry-run, …) is the server's (rest_*.c) and not
 * repeated there.
 *
 * A write goes through these, in this order:
 *
 *   decode ─> prune (and unknown fields) ─> fill ─> prepare ─> validate ─> store
 *
 * and for an apply or a patch the merge stands between the live object and prune. */

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

/* Who asks. */
struct api_user {
    const char *name;
    const char *uid;           /* "" if none */
    const char *const *groups; /* NULL-terminated */
    struct json extra;         /* absent, or a map of lists of strings */
};

/* A write, as the behaviour of a kind sees it. */
struct api_write {
    struct apiserver *server;
    const struct api_kind *kind;
    const struct api_user *user;
    struct arena *arena;
    const char *subresource; /* "" for the object itself */
    struct json old;         /* absent: a create */
    const char *now;         /* RFC 3339 */
    bool dry_run;
    struct api_call *call; /* for call_warn(), call_fail(); NULL: the server itself writes */
};

enum api_name {
    API_NAME_SUBDOMAIN = 0,
    API_NAME_LABEL,      /* namespaces */
    API_NAME_LABEL_1035, /* services */
    API_NAME_PATH,       /* whatever can be in a path: roles and bindings */
    API_NAME_ADDRESS,    /* an IP address */
};

/* A column of `kubectl get`. */
struct api_column {
    const char *name;
    const char *type;   /* string, integer, number, boolean, date */
    const char *format; /* "" or name, int32, … */
    const char *description;
    const char *path; /* JSONPath of custom kinds (".spec.replicas"); NULL for built-in ones */
    int priority;     /* above 0: only with -o wide */
};

struct api_scale_paths { /* dotted, without a leading dot; NULL: no scale subresource */
    const char *spec_replicas;
    const char *status_replicas;
    const char *label_selector; /* NULL: none. A string or a LabelSelector is there */
};

/* NULL members do nothing. */
struct api_behaviour {
    /* The object without fields that the kind does not have; each such path goes into unknown (a
     * FIELD_INVALID error with the path; ignored unless the client asked for field validation). A
     * value of a wrong type is a FIELD_TYPE_INVALID error with the words of Go's decoder, `json:
     * cannot unmarshal …`, and ends the request with a 400. */
    struct json (*prune)(const struct api_kind *k, struct arena *a, struct json object,
        struct field_errors *unknown);
    /* Defaults. Also for objects that were stored before the default was there. */
    struct json (*fill)(const struct api_kind *k, struct arena *a, struct json object);
    /* An object of this kind in another apiVersion of it: from the stored one into the kind's, or
     * from the kind's into storage_version; what it lacks by its own schema is filled in (refill).
     * NULL: nothing but apiVersion differs. */
    struct json (*convert)(
        const struct api_kind *k, struct arena *a, struct json object, const char *api_version);
    /* What a client may not decide here: a create has no status, a write of the object keeps the
     * old status, a write of the status keeps all but status; allocations (cluster IPs); values
     * derived from others. Fails with a Status-worthy error. */
    bool (*prepare)(const struct api_write *w, struct json *object, struct error *err);
    /* metadata is validated already. */
    void (*validate)(const struct api_write *w, struct json object, struct field_errors *errors);
    /* What others than the kind itself refuse of an object that is valid. */
    bool (*admit)(const struct api_write *w, struct json object, struct error *err);
    /* What is valid and not good: call_warn(w->call, …). */
    void (*warn)(const struct api_write *w, struct json object);
    /* After it was written (object absent: deleted) and before the flush: follow-up work such as
     * giving an address back or (un)registering the kinds of a CRD. */
    void (*written)(
        struct apiserver *server, const struct api_kind *k, struct json old, struct json object);
    /* The cells of a table row, one for each column. NULL: by the columns' paths. */
    struct json (*cells)(
        const struct api_kind *k, struct arena *a, struct json object, int64_t wall_ms);
    /* The value of a field selector ("status.phase"); NULL: this field cannot be selected by.
     * metadata.name and metadata.namespace need no entry. */
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
    bool custom;         /* of a CRD */
    bool generation;     /* counts changes of everything but metadata (and status, if has_status) */
    bool unconditional;  /* a PUT may come without resourceVersion */
    bool creates_on_put; /* a PUT of an object that is not there creates it */
    /* The schema changed after objects were stored: whatever is read goes through prune and fill.
     */
    bool refill;
    bool free_base;          /* generateName has not the form of the name */
    bool any_finalizer;      /* also one without a domain; so it is of custom kinds */
    bool returns_deleted;    /* a DELETE answers with the object instead of a Status */
    enum api_name name_form; /* of metadata.name */
    const char *warning; /* a header for its callers: it is deprecated; NULL: none */
    struct api_scale_paths scale;
    const char *table;           /* in the store; one for all versions of the resource */
    const char *storage_version; /* of the stored text: "apps/v1" */
    const char *converter; /* the webhook that other versions need, and nobody calls; NULL: none */
    const struct schema *schema; /* of this version */
    const struct api_column *columns;
    size_t column_count;
    const struct api_behaviour *behaviour;
    void *ctx; /* the behaviour's own */
    /* For discovery: the order of groups and versions. Higher comes first; see discovery.c. */
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
/* The kind must stay valid until it is removed. False: the resource is there already. */
bool registry_add(struct registry *r, const struct api_kind *k) must_check;
void registry_remove(struct registry *r, const struct api_kind *k);
/* By what is in a path; NULL: not served. */
const struct api_kind *registry_find(
    const struct registry *r, const char *group, const char *version, const char *plural);
const struct api_kind *registry_find_kind(
    const struct registry *r, const char *group, const char *version, const char *kind);
/* Any version of it, the preferred one first; for owner references and tables of the store. */
const struct api_kind *registry_find_any(
    const struct registry *r, const char *group, const char *kind);
/* The preferred version of what is stored in this table. */
const struct api_kind *registry_find_table(const struct registry *r, const char *table);
/* All, sorted by group priority, group, version priority, version, plural: the order of discovery.
 * NULL after the last. */
const struct api_kind *registry_at(const struct registry *r, size_t index);
/* Grows with every change: for caches of documents. */
uint64_t registry_generation(const struct registry *r);
