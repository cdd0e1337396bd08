#pragma once

/* The stage for kinds of LLMKube, with settings that a test may change. */

#include "kinds/llmkube/inference_service.h"
#include "kinds/llmkube/model.h"
#include "kinds/llmkube/settings.h"
#include "tests/kinds/stage.h"

/* With default settings and no object. */
void llmkube_stage_init(struct stage *s);
/* Flags in one text: "--a=b --c". */
void llmkube_stage_flags(struct stage *s, const char *flags);

static inline struct llmkube_settings *llmkube_stage_settings(struct stage *s)
{
    return (struct llmkube_settings *)(uintptr_t)s->settings;
}
