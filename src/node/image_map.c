#include "node/image_map.h"

#include <fcntl.h>
#include <fnmatch.h>
#include <sys/fsuid.h>
#include <unistd.h>

#include "base/embed.h"
#include "base/yaml.h"
#include "node/paths.h"

#define OURS "leeboard"

EMBED(image_map_shipped, "src/node/images.yaml");

struct image_map {
    struct arena arena;
    struct image_row *rows;
    size_t count;
};

/* npx://PACKAGE and the like: not an image of a registry. */
static bool is_scheme(const char *image)
{
    return strstr(image, "://");
}

/* Adds the default registry if none is written, and reports whether there is a tag or digest. */
static const char *full_name(struct arena *a, const char *image, bool *ret_tagged)
{
    const char *slash = strchr(image, '/'), *last = strrchr(image, '/');
    *ret_tagged = strchr(last ? last : image, ':') || strchr(image, '@');
    size_t first = slash ? (size_t)(slash - image) : 0;
    bool registry = slash && (memchr(image, '.', first) || memchr(image, ':', first) ||
                                 text_starts(image, "localhost/"));
    return registry ? image : arena_printf(a, "docker.io/%s%s", slash ? "" : "library/", image);
}

static const char *without_tag(struct arena *a, const char *name)
{
    size_t end = strcspn(name, "@"); /* a digest or tag may contain anything, even slashes */
    const char *slash = memrchr(name, '/', end);
    const char *colon = slash ? memchr(slash, ':', (size_t)(name + end - slash)) : NULL;
    return arena_strndup(a, name, colon ? (size_t)(colon - name) : end);
}

static bool are_texts(struct json list)
{
    bool good = json_is(list, JSON_LIST) && list.count > 0;
    json_each (word, list)
        good = good && json_is(*word, JSON_STR) && word->count > 0;
    return good;
}

static bool row_check(struct json row, struct error *err)
{
    static const char *const known[] = {
        "image", "program", "hostFlag", "hostEnv", "env", "entrypoint", "podAddress"
    };
    const char *image = json_get_text(row, "image");
    if (text_empty(image))
        return fail(err, ERR_INVALID, "image: required, such as ghcr.io/ggml-org/llama.cpp");
    if (!are_texts(json_get(row, "program")))
        return fail(
            err, ERR_INVALID, "program of %s: write a list of words: [llama-server]", image);
    struct json env = json_get(row, "env"), hosts = json_get(row, "hostEnv");
    bool good = !json_present(env) || json_is(env, JSON_MAP);
    json_each_member (m, env)
        good = good && json_is(m->value, JSON_STR);
    if (!good)
        return fail(err, ERR_INVALID, "env of %s: write a map of texts", image);
    if (json_present(hosts) && !are_texts(hosts))
        return fail(err, ERR_INVALID, "hostEnv of %s: write a list of names: [HOST]", image);
    json_each_member (m, row) {
        size_t i = 0;
        while (i < lengthof(known) && !text_eq(m->key, known[i]))
            i++;
        if (i == lengthof(known))
            return fail(err,
                ERR_INVALID,
                "%s of %s: there is no such field; there are image, program, hostFlag, hostEnv, "
                "podAddress, env and entrypoint",
                m->key,
                image);
    }
    return true;
}

static bool row_read(struct arena *a, struct json row, struct image_row *ret, struct error *err)
{
    bool tagged;
    if (!row_check(row, err))
        return false;
    const char *image = arena_strdup(a, json_get_text(row, "image"));
    *ret = (struct image_row){ .image = is_scheme(image) ? image : full_name(a, image, &tagged),
        .program = json_copy(a, json_get(row, "program")),
        .host_flag = arena_strdup(a, json_get_text(row, "hostFlag")),
        .host_env = json_copy(a, json_get(row, "hostEnv")),
        .env = json_copy(a, json_get(row, "env")),
        .own_address = json_get_bool(row, "podAddress", !json_present(json_get(row, "hostFlag"))),
        .no_entrypoint = !json_get_bool(row, "entrypoint", true) };
    return true;
}

bool image_map_add(struct image_map *m, struct str yaml, const char *file, struct error *err)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    struct json documents;
    if (!yaml_parse_all(&a, yaml, file, &documents, err))
        return false;
    json_each (document, documents) {
        struct json images = json_get(*document, "images");
        if (!json_is(images, JSON_LIST))
            return fail(err, ERR_INVALID, "%s: images: write a list", file);
        struct image_row *rows = arena_array(&m->arena, m->count + images.count, sizeof(*m->rows));
        for (uint32_t i = 0; i < images.count; i++)
            if (!row_read(&m->arena, images.items[i], &rows[i], err))
                return fail_in(err, "%s: images.%u", file, i);
        if (m->count)
            memcpy(rows + images.count, m->rows, m->count * sizeof(*rows));
        m->rows = rows;
        m->count += images.count;
    }
    return true;
}

struct image_map *image_map_new(void)
{
    struct error err;
    struct image_map *m = mem_new_of(struct image_map);
    arena_init(&m->arena, ARENA_LIMIT_DEFAULT);
    bool ok = image_map_add(m, str_of(image_map_shipped), "images.yaml", &err);
    assert(ok);
    return m;
}

void image_map_free(struct image_map *m)
{
    if (m)
        arena_done(&m->arena);
    free(m);
}

/* What a pattern's final star matches; NULL: no match. */
static const char *after_scheme(const char *pattern, const char *image)
{
    size_t length = strcspn(pattern, "*");
    bool open = pattern[length] == '*';
    bool match = strncmp(pattern, image, length) == 0 && (open || !image[length]);
    return match ? image + length : NULL;
}

const struct image_row *image_map_find(const struct image_map *m, const char *image)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    bool tagged, scheme = is_scheme(image);
    const char *name = scheme ? image : full_name(&a, image, &tagged);
    const char *bare = scheme ? image : without_tag(&a, name);
    for (size_t i = 0; i < m->count; i++) {
        const char *pattern = m->rows[i].image;
        const char *last = strrchr(pattern, '/');
        bool with_tag = strchr(last ? last : pattern, ':') || strchr(pattern, '@');
        if (scheme != is_scheme(pattern))
            continue;
        if (scheme ? after_scheme(pattern, image) != NULL
                   : fnmatch(pattern, with_tag ? name : bare, FNM_PATHNAME) == 0)
            return &m->rows[i];
    }
    return NULL;
}

bool image_row_is_ours(const struct image_row *row)
{
    return row && text_eq(json_text(row->program.items[0]), OURS);
}

/* Whether the container's user can run it: other users cannot reach files in a home directory. The
 * ids for file access are per thread, so only this thread changes them. */
static bool can_run(const struct image_request *request, const char *file)
{
    const struct runtime_user *u = request->user;
    if (!u)
        return access(file, X_OK) == 0;
    int user = setfsuid(u->user), group = setfsgid(u->group);
    bool ok = faccessat(AT_FDCWD, file, X_OK, AT_EACCESS) == 0;
    setfsgid((gid_t)group);
    setfsuid((uid_t)user);
    return ok;
}

/* NULL: not found. */
static const char *find_program(
    struct arena *a, const char *name, const struct image_request *request)
{
    if (request->leeboard && text_eq(name, OURS))
        return request->leeboard;
    if (strchr(name, '/')) {
        const char *real = paths_translate(a, name, request->mounts, request->mount_count);
        return can_run(request, real) ? name : NULL;
    }
    struct str rest = str_of(request->path);
    while (rest.ptr) {
        struct str folder = str_cut(&rest, ':');
        const char *file = arena_printf(a, "%.*s/%s", (int)folder.len, folder.ptr, name);
        if (folder.len && can_run(request, file))
            return file;
    }
    return NULL;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static struct json with_host(
    struct arena *a, struct json args, const char *flag, const char *address)
{
    struct json_builder b;
    json_builder_init(&b, a);
    bool told = false, value_next = false;
    size_t length = strlen(flag);
    json_each (arg, args) {
        const char *text = json_text(*arg);
        bool joined = strncmp(text, flag, length) == 0 && text[length] == '=';
        struct json out = value_next ? json_str(address)
                          : joined   ? json_strf(a, "%s=%s", flag, address)
                                     : *arg;
        value_next = !value_next && text_eq(text, flag);
        told = told || joined || value_next;
        json_push(&b, out);
    }
    if (!told)
        json_push(&b, json_str(flag));
    if (!told || value_next)
        json_push(&b, json_str(address));
    return json_list_end(&b);
}

static const char *const *words_of(struct arena *a, struct json list)
{
    const char **words = arena_array(a, list.count + 1, sizeof(*words));
    for (uint32_t i = 0; i < list.count; i++)
        words[i] = json_text(list.items[i]);
    return words;
}

/* The program that this process's user could run. */
static const char *without_user(
    struct arena *a, const char *name, const struct image_request *request)
{
    struct image_request ours = *request;
    ours.user = NULL;
    return find_program(a, name, &ours);
}

/* The command, before the program is looked for. */
static struct json command_of(
    struct arena *a, const struct image_row *row, const struct image_request *request)
{
    const char *word = json_text(json_item(request->args, 0));
    const char *rest = is_scheme(row->image) ? after_scheme(row->image, request->image) : NULL;
    bool named = request->command.count > 0;
    bool by_args = !named && row->no_entrypoint && !text_empty(word) && word[0] != '-' &&
                   find_program(a, word, request);
    struct json_builder b;
    json_builder_init(&b, a);
    if (named)
        json_push_all(&b, request->command);
    else if (!by_args)
        json_push_all(&b, row->program);
    if (!named && !text_empty(rest))
        json_push(&b, json_str(rest));
    json_push_all(&b, request->args);
    return json_list_end(&b);
}

bool image_map_argv(const struct image_map *m, struct arena *a, const struct image_request *request,
    const char *const **ret, struct error *err)
{
    const struct image_row *row = image_map_find(m, request->image);
    if (!row)
        return fail(err,
            ERR_UNSUPPORTED,
            "name a program with --images FILE: none is known for image %s (in FILE: images: "
            "[{image: "
            "%s, program: [PROGRAM]}])",
            request->image,
            request->image);
    const char *own = json_text(row->program.items[0]);
    struct json all = command_of(a, row, request);
    const char *first = json_text(json_item(request->command, 0));
    bool own_program = text_eq(base_name(json_text(all.items[0])), base_name(own));
    if (row->host_flag && own_program && request->address)
        all = with_host(a, all, row->host_flag, request->address);
    const char *name = json_text(all.items[0]);
    const char *program = find_program(a, name, request);
    if (!program && first && own_program)
        program = find_program(a, own, request);
    if (!program && request->user && without_user(a, name, request))
        return fail(err,
            ERR_UNSUPPORTED,
            "install %s where user %u can run it, such as in /usr/local/bin, or set runAsUser: it "
            "runs image %s, and that user cannot reach %s",
            name,
            request->user->user,
            request->image,
            without_user(a, name, request));
    if (!program)
        return fail(err,
            ERR_UNSUPPORTED,
            "install %s, in the PATH of leeboard, or name another program with --images FILE: it "
            "runs image %s and is not on this machine",
            name,
            request->image);
    const char *const *words = words_of(a, all);
    ((const char **)(uintptr_t)words)[0] = program;
    *ret = words;
    return true;
}
