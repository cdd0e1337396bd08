#include "cedar/cedar.h"
#include "kinds/toolhive/toolhive.h"

const char *toolhive_policy_fault(struct arena *a, struct json policies, const char *path)
{
    uint32_t i = 0;
    json_each (p, policies) {
        struct error err;
        const char *text = json_text(*p);
        if (!text)
            return arena_printf(a, "%s[%u]: expected string, got %s", path, i, json_type_name(*p));
        if (!cedar_parse(a, str_of(text), &err))
            return arena_printf(
                a, "%s[%u]: the proxy cannot parse this Cedar policy: %s", path, i, err.text);
        i++;
    }
    return NULL;
}
