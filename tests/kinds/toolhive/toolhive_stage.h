#pragma once

/* The stage for kinds of ToolHive. */

#include "kinds/toolhive/toolhive.h"
#include "tests/kinds/stage.h"

/* With default settings and no object. */
static inline void toolhive_stage_init(struct stage *s)
{
    stage_init(s, &toolhive_settings_default);
}

/* An object of the stored version: its spec in JSON with single quotes. */
static inline void toolhive_stage_add(
    struct stage *s, const char *kind, const char *name, const char *spec)
{
    stage_add(s,
        arena_printf(s->world.arena,
            "{'apiVersion': '" TOOLHIVE_GROUP "/v1beta1', 'kind': '%s', 'metadata': {'name': "
            "'%s', 'generation': 1}, 'spec': %s}",
            kind,
            name,
            spec));
}
