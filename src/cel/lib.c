#include "cel/lib.h"

#include "base/buf.h"

static const struct cel_function *const tables[] = { cel_lib_operators,
    cel_lib_core,
    cel_lib_strings,
    cel_lib_lists,
    cel_lib_times,
    cel_lib_optionals,
    cel_lib_net,
    cel_lib_url,
    cel_lib_kube };

const struct cel_function *cel_function_next(struct str name, const struct cel_function *previous)
{
    size_t table = 0;
    const struct cel_function *f = tables[0];
    if (previous) {
        f = previous + 1;
        for (;; table++) { /* the table that contains it */
            const struct cel_function *end = tables[table];
            while (end->name && end != previous)
                end++;
            if (end == previous)
                break;
        }
    }
    for (;; f++) {
        while (!f->name) {
            if (++table == lengthof(tables))
                return NULL;
            f = tables[table];
        }
        if (str_eq(name, str_of(f->name)))
            return f;
    }
}

/* ---- signatures ---- */

static const struct {
    const char *name;
    enum cel_kind kind;
} words[] = {
    { "bool", CEL_BOOL },
    { "int", CEL_INT },
    { "uint", CEL_UINT },
    { "double", CEL_DOUBLE },
    { "string", CEL_STRING },
    { "bytes", CEL_BYTES },
    { "timestamp", CEL_TIMESTAMP },
    { "duration", CEL_DURATION },
    { "list", CEL_LIST },
    { "map", CEL_MAP },
    { "dyn", CEL_DYN },
    { "type", CEL_TYPE },
    { "optional", CEL_OPTIONAL },
    { "quantity", CEL_QUANTITY },
    { "url", CEL_URL },
    { "ip", CEL_IP },
    { "cidr", CEL_CIDR },
    { "format", CEL_FORMAT },
    { "semver", CEL_SEMVER },
};

struct reader {
    struct arena *arena;
    const char *at;
    unsigned first_param, params;
};

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static enum cel_kind read_kind(const char **at)
{
    size_t n = 0;
    while (is_letter((*at)[n]))
        n++;
    struct str word = { *at, n };
    *at += n;
    if (n == 1)
        return CEL_PARAM;
    for (size_t i = 0; i < lengthof(words); i++)
        if (str_eq(word, str_of(words[i].name)))
            return words[i].kind;
    assert(!"a type that lib.c does not know");
    return CEL_DYN;
}

static const struct cel_type *read_type(struct reader *r)
{
    char letter = *r->at;
    enum cel_kind kind = read_kind(&r->at);
    if (kind == CEL_PARAM) {
        struct cel_type *t = arena_new(r->arena, struct cel_type);
        unsigned n = (unsigned)(letter - 'A');
        *t = (struct cel_type){ .kind = CEL_PARAM, .param = r->first_param + n };
        if (n + 1 > r->params)
            r->params = n + 1;
        return t;
    }
    if (*r->at != '(')
        return cel_type_of(kind);
    r->at++;
    const struct cel_type *first = read_type(r), *second = NULL;
    if (*r->at == ',') {
        r->at += 2;
        second = read_type(r);
    }
    r->at++; /* ) */
    return cel_type_new(r->arena, kind, first, second);
}

void cel_signature_read(struct arena *a, const struct cel_function *f, unsigned first_param,
    struct cel_signature *ret, unsigned *ret_params)
{
    struct reader r = { .arena = a, .at = f->signature, .first_param = first_param };
    *ret = (struct cel_signature){ .is_member = *r.at != '(' };
    if (ret->is_member) {
        ret->args[ret->count++] = read_type(&r);
        r.at++; /* . */
    }
    r.at++; /* ( */
    while (*r.at != ')') {
        assert(ret->count < CEL_ARGS_MAX);
        ret->args[ret->count++] = read_type(&r);
        if (*r.at == ',')
            r.at += 2;
    }
    r.at += 2; /* ") " */
    ret->result = read_type(&r);
    *ret_params = r.params;
}

/* Skips one type and returns its kind. */
static enum cel_kind pass_type(const char **at)
{
    enum cel_kind kind = read_kind(at);
    int depth = 0;
    if (**at == '(')
        do {
            depth += (**at == '(') - (**at == ')');
            (*at)++;
        } while (depth);
    return kind;
}

static bool kind_fits(const char **at, struct cel_value v)
{
    enum cel_kind kind = pass_type(at);
    return kind == CEL_PARAM || kind == CEL_DYN || kind == v.kind;
}

bool cel_signature_fits(
    const struct cel_function *f, const struct cel_value *args, size_t count, bool is_member)
{
    const char *at = f->signature;
    size_t n = 0;
    if ((*at != '(') != is_member)
        return false;
    if (is_member) {
        if (n == count || !kind_fits(&at, args[n++]))
            return false;
        at++;
    }
    for (at++; *at != ')'; at += *at == ',' ? 2 : 0)
        if (n == count || !kind_fits(&at, args[n++]))
            return false;
    return n == count;
}

/* ---- shared ---- */

struct cel_value cel_no_overload(struct cel_eval *e)
{
    return cel_error(e, "no such overload");
}

struct cel_value cel_string_of(struct cel_eval *e, const char *bytes, size_t count)
{
    char *copy = arena_alloc(e->arena, count + 1);
    if (count)
        memcpy(copy, bytes, count);
    return cel_string((struct str){ copy, count });
}

struct cel_value cel_string_of_buf(struct cel_eval *e, struct buf *b)
{
    struct cel_value v = buf_overflowed(b) ? cel_error(e, "a text of more than %zu bytes", b->limit)
                                           : cel_string_of(e, b->ptr, b->len);
    buf_done(b);
    return v;
}

struct cel_value cel_list_contains(struct cel_eval *e, struct cel_value list, struct cel_value item)
{
    struct cel_value trouble = cel_bool(false);
    for (size_t i = 0; i < list.list->count; i++) {
        struct cel_value it = cel_list_get(e, list, i), same;
        if (it.kind == CEL_QUANTITY && cel_quantity_is_sum(it))
            continue;
        same = cel_equal(e, it, item);
        if (cel_is_true(same))
            return same;
        if (same.kind == CEL_ERROR && trouble.kind != CEL_ERROR)
            trouble = same;
    }
    return trouble;
}
