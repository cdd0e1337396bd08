#pragma once

/* A world in memory for tests of kinds: the objects of engine/file_view.h, and besides who owns
 * which of their fields, what stood in the way, and facts. One pass of a kind over one of the
 * objects, or as many as it needs, and questions about what it planned.
 *
 *   struct stage s;
 *   stage_init(&s, &settings);
 *   stage_add(&s, "{'kind': 'Model', 'metadata': {'name': 'base'}, …}");
 *   stage_run(&s, &llmkube_inference_service_kind, "svc");
 *   check_text(stage_condition(&s, "Available"), "True InferenceReady");
 *
 * An object lies in namespace "ns" if it does not say another, has the uid KIND/NAME, and needs no
 * apiVersion if the kind is one of those in stage.c. A CRD gives its objects their defaults. */

#include "engine/file_view.h"
#include "engine/kind.h"
#include "engine/plan.h"

#define STAGE_NOTES_MAX 64

struct stage_note {
    const char *kind, *name; /* name NULL: any; for a fact kind is the effect */
    struct json value;
    struct view_trouble trouble;
};

struct stage {
    struct file_view world; /* its objects may be changed in place, and its now_ms */
    const void *settings;   /* of the kinds' family */
    struct stage_note owned[STAGE_NOTES_MAX];
    struct stage_note facts[STAGE_NOTES_MAX];
    struct stage_note troubles[STAGE_NOTES_MAX];
    bool not_served; /* no optional CRD is installed */
    struct plan plan;
    const struct view_source *files; /* of the world */
};

/* ---- filling it ---- */

void stage_init(struct stage *s, const void *settings);
/* JSON text with single quotes allowed, of an object or a list of them; an object of that kind and
 * name is replaced. */
void stage_add(struct stage *s, const char *text);
void stage_add_json(struct stage *s, struct json object);
void stage_add_all(struct stage *s, struct json list);
/* Adds it as a child that the InferenceService `owner` controls. */
void stage_add_child(struct stage *s, const char *owner, struct json object);
/* Changes one field, as a user would: the generation goes up. NULL removes it. */
void stage_edit(struct stage *s, const struct resource *r, const char *name, const char *path,
    const char *text);
void stage_owned(struct stage *s, const char *kind, const char *name, struct json value);
void stage_trouble(struct stage *s, const char *kind, enum trouble what, const char *message);
/* What an effect found: "pods.idle" for any arguments, "model.probe https://x" for those whose
 * source or path it is. Without `at` it is of now; NULL: nothing yet. */
void stage_fact(struct stage *s, const char *effect, const char *text);
/* Forgets all facts, as a restart does. */
void stage_restart(struct stage *s);

/* ---- going on; an object is the first of its name ---- */

/* One pass. */
void stage_run(struct stage *s, const struct kind *k, const char *name);
/* The planned children become what is there, and ours. */
void stage_apply(struct stage *s, const char *owner);
/* Status and conditions of the plan become the object's. */
void stage_apply_status(struct stage *s, const struct kind *k, const char *name);
/* One pass, and everything planned becomes what is there. */
const struct plan *stage_step(struct stage *s, const struct kind *k, const char *name);
/* Such passes until nothing changes any more, and checks that this comes soon. The last plan. */
const struct plan *stage_settle(struct stage *s, const struct kind *k, const char *name);

/* ---- asking ---- */

/* A planned child; absent if there is none. */
struct json stage_child(const struct stage *s, const char *kind);
struct json stage_child_named(const struct stage *s, const char *kind, const char *name);
/* A planned condition: "True Reason", or NULL. */
const char *stage_condition(const struct stage *s, const char *type);
const char *stage_message(const struct stage *s, const char *type);
bool stage_has_event(const struct stage *s, const char *reason);
bool stage_has_effect(const struct stage *s, const char *effect);
struct json stage_status(struct stage *s, const struct resource *r, const char *name);
/* "True Reason: message" of a condition that it has, or "". */
const char *stage_told(
    struct stage *s, const struct resource *r, const char *name, const char *type);

/* Whole file, from the test's arena; every document of a YAML file as a list. */
struct str stage_read(const char *path);
struct json stage_yaml(const char *path);
