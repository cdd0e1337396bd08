#pragma once

/* A view in memory for tests of kinds: objects, who owns which of their fields, what stood in the
 * way, facts. One pass of a kind over one of the objects, and questions about its plan.
 *
 *   struct stage s;
 *   stage_init(&s);
 *   stage_add(&s, "{'kind': 'Model', 'metadata': {'name': 'base'}, …}");
 *   stage_run(&s, &llmkube_inference_service_kind, "svc");
 *   check_text(stage_condition(&s, "Available"), "True InferenceReady");
 *
 * Every object lies in namespace "ns" if it does not say another, and has the uid KIND/NAME. */

#include "engine/kind.h"
#include "engine/plan.h"
#include "engine/view.h"
#include "kinds/llmkube/settings.h"

#define STAGE_MAX 64

struct stage_note {
    const char *kind, *name; /* name NULL: any; for a fact kind is the effect */
    struct json value;
    struct view_trouble trouble;
};

struct stage {
    struct llmkube_settings settings;
    int64_t now_ms;
    struct json objects[STAGE_MAX];
    struct stage_note owned[STAGE_MAX];
    struct stage_note facts[STAGE_MAX];
    struct stage_note troubles[STAGE_MAX];
    bool not_served; /* no optional CRD is installed */
    struct plan plan;
};

void stage_init(struct stage *s);
/* JSON text with single quotes allowed; an object of that kind and name is replaced. */
void stage_add(struct stage *s, const char *text);
void stage_add_json(struct stage *s, struct json object);
/* Adds it as a child that the InferenceService `owner` controls. */
void stage_add_child(struct stage *s, const char *owner, struct json object);
void stage_owned(struct stage *s, const char *kind, const char *name, struct json value);
void stage_trouble(struct stage *s, const char *kind, enum trouble what, const char *message);
void stage_fact(struct stage *s, const char *effect, const char *text);

void stage_run(struct stage *s, const struct kind *k, const char *name);

/* A planned child; absent if there is none. */
struct json stage_child(const struct stage *s, const char *kind);
struct json stage_child_named(const struct stage *s, const char *kind, const char *name);
/* "True Reason", or NULL. */
const char *stage_condition(const struct stage *s, const char *type);
const char *stage_message(const struct stage *s, const char *type);
bool stage_has_event(const struct stage *s, const char *reason);
bool stage_has_effect(const struct stage *s, const char *effect);
/* The planned children become what is there, and ours. */
void stage_apply(struct stage *s, const char *owner);
/* status and conditions of the plan become the object's. */
void stage_apply_status(struct stage *s, const char *kind, const char *name);
