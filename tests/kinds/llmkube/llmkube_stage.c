#include "tests/kinds/llmkube/llmkube_stage.h"
#include "tests/test.h"

void llmkube_stage_init(struct stage *s)
{
    struct llmkube_settings *settings = arena_new(test_arena(), struct llmkube_settings);
    *settings = llmkube_settings_default;
    stage_init(s, settings);
}

void llmkube_stage_flags(struct stage *s, const char *flags)
{
    for (struct str rest = str_of(flags); rest.ptr;) {
        struct str value = str_cut(&rest, ' ');
        struct str name = str_cut(&value, '=');
        check(str_starts(name, STR("--")));
        struct error err;
        const char *plain = str_dup(test_arena(), name) + 2;
        const char *text = value.ptr ? str_dup(test_arena(), value) : NULL;
        if (!setting_set(test_arena(), llmkube_flags, llmkube_stage_settings(s), plain, text, &err))
            test_fail(__FILE__, __LINE__, "%s", err.text);
    }
}
