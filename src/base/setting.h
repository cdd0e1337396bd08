#pragma once

/* Flags that fill a struct: a table beside the struct says which flag fills which member. `--help`,
 * completion and the man page are generated from the same table. */

#include "base/arena.h"
#include "base/base.h"
#include "base/error.h"

struct setting {
    const char *name;     /* without dashes */
    const char *value;    /* placeholder for the value, one word; NULL: a switch */
    const char *standard; /* the default, as text; "" if none */
    const char *help;     /* one line */
    /* Parses the value and stores it. */
    bool (*read)(struct arena *a, const struct setting *flag, const char *value, void *to,
        struct error *err);
    size_t offset;
};

/* Sets the member for `--name=value`; a switch treats a NULL value as true. The table ends with a
 * row without a name. Fails with ERR_NOT_FOUND for an unknown name, and with ERR_INVALID for an
 * invalid value: the message names the flag and says what to write. Everything is copied into the
 * arena. */
bool setting_set(struct arena *a, const struct setting *table, void *into, const char *name,
    const char *value, struct error *err) must_check;

/* ---- readers: one for each type of value ---- */

#define SETTING_READER(name)                                                                       \
    static bool name(struct arena *a,                                                              \
        const struct setting *flag,                                                                \
        const char *value,                                                                         \
        void *to,                                                                                  \
        struct error *err)

/* To a const char *, unchanged; an empty value becomes NULL. */
bool setting_text(
    struct arena *a, const struct setting *flag, const char *value, void *to, struct error *err);
/* To a bool, with the words that Go's flag package accepts. */
bool setting_switch(
    struct arena *a, const struct setting *flag, const char *value, void *to, struct error *err);
/* To an int64_t. */
bool setting_int(
    struct arena *a, const struct setting *flag, const char *value, void *to, struct error *err);
/* Fails with `--name=value: write REMEDY`. */
bool setting_refuse(
    struct error *err, const struct setting *flag, const char *value, const char *remedy);
