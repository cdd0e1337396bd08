#include "base/setting.h"

#include "base/str.h"

bool setting_refuse(
    struct error *err, const struct setting *flag, const char *value, const char *remedy)
{
    return fail(err, ERR_INVALID, "--%s=%s: write %s", flag->name, value, remedy);
}

bool setting_text(
    struct arena *a, const struct setting *flag, const char *value, void *to, struct error *err)
{
    (void)flag, (void)err;
    *(const char **)to = *value ? arena_strdup(a, value) : NULL;
    return true;
}

bool setting_switch(
    struct arena *a, const struct setting *flag, const char *value, void *to, struct error *err)
{
    (void)a;
    static const char *const words[][2] = { { "false", "true" },
        { "0", "1" },
        { "f", "t" },
        { "F", "T" },
        { "FALSE", "TRUE" },
        { "False", "True" } };
    for (size_t i = 0; i < lengthof(words); i++)
        for (int meaning = 0; meaning < 2; meaning++)
            if (text_eq(value, words[i][meaning])) {
                *(bool *)to = meaning;
                return true;
            }
    return setting_refuse(err, flag, value, "true or false");
}

bool setting_int(
    struct arena *a, const struct setting *flag, const char *value, void *to, struct error *err)
{
    (void)a;
    return str_to_int(str_of(value), to) || setting_refuse(err, flag, value, "a whole number");
}

bool setting_set(struct arena *a, const struct setting *table, void *into, const char *name,
    const char *value, struct error *err)
{
    for (const struct setting *f = table; f->name; f++) {
        if (!text_eq(f->name, name))
            continue;
        if (!value && f->value)
            return fail(err, ERR_INVALID, "--%s: write --%s=%s", name, name, f->value);
        return f->read(a, f, value ? value : "true", (char *)into + f->offset, err);
    }
    return fail(err, ERR_NOT_FOUND, "--%s: there is no such flag", name);
}
