#pragma once

/* Flags that fill a struct: a table beside the struct says which flag fills which member. From the
 * same table come `--help`, completion and the man page. */

#include "base/arena.h"
#include "base/base.h"
#include "base/error.h"

struct setting {
    const char *name;     /* without dashes */
    const char *value;    /* what to write behind it, in one word; NULL: a switch */
    const char *standard; /* what holds without the flag, as text; "" if nothing */
    const char *help;     /* one line */
    /* How the value is read, and where it goes. */
    bool (*read)(struct arena *a, const struct setting *flag, const char *value, void *to,
        struct error *err);
    size_t offset;
};

/* Sets what `--name=value` means; a switch takes a NULL value as true. The table is ended by a row
 * without a name. Fails with ERR_NOT_FOUND for a name that is not in it, and with ERR_INVALID for a
 * value that cannot be: the message names the flag and says what to write. Everything is copied
 * into the arena. */
bool setting_set(struct arena *a, const struct setting *table, void *into, const char *name,
    const char *value, struct error *err) must_check;

/* ---- readers: one for each kind of value ---- */

#define SETTING_READER(name)                                                                       \
    static bool name(struct arena *a,                                                              \
        const struct setting *flag,                                                                \
        const char *value,                                                                         \
        void *to,                                                                                  \
        struct error *err)

/* To a const char *, as it is; nothing means NULL. */
bool setting_text(
    struct arena *a, const struct setting *flag, const char *value, void *to, struct error *err);
/* To a bool, in the words that Go's flag package takes. */
bool setting_switch(
    struct arena *a, const struct setting *flag, const char *value, void *to, struct error *err);
/* To an int64_t. */
bool setting_int(
    struct arena *a, const struct setting *flag, const char *value, void *to, struct error *err);
/* Fails: `--name=value: write REMEDY`. */
bool setting_refuse(
    struct error *err, const struct setting *flag, const char *value, const char *remedy);
