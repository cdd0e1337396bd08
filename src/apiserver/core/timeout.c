#include "apiserver/core/timeout.h"

#include "base/time.h"

/* Decided by a word in the path. An object with that name also matches, which only refuses less. */
static bool lasts(const struct api_call *c)
{
    static const char *const words[] = { "attach", "exec", "log", "portforward", "proxy", "watch" };
    struct str rest = c->request->path;
    while (rest.ptr) {
        struct str part = str_cut(&rest, '/');
        for (size_t i = 0; i < lengthof(words); i++)
            if (str_eq(part, str_of(words[i])))
                return true;
    }
    return call_param_bool(c, "watch");
}

bool timeout_check(struct api_call *c)
{
    const char *text = call_param(c, "timeout");
    if (text_empty(text) || lasts(c))
        return true;
    const char *why = time_duration_error(&c->arena, text);
    return !why || call_fail_bad(c, "invalid timeout specified in the request URL - time: %s", why);
}
