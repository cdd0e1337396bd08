#include "node/image_map.h"

#include <fnmatch.h>
#include <unistd.h>

#include "base/yaml.h"
#include "node/paths.h"

/* tags that select another program would need rows of their own, in front */
static const char shipped[] = "images:\n"
                              "- { image: ghcr.io/ggml-org/llama.cpp, program: [llama-server],"
                              " hostFlag: --host }\n"
                              "- { image: ghcr.io/ggerganov/llama.cpp, program: [llama-server],"
                              " hostFlag: --host }\n"
                              "- { image: vllm/vllm-openai, program: [vllm, serve],"
                              " hostFlag: --host }\n"
                              "- { image: ghcr.io/llm-d/llm-d-cuda, program: [vllm, serve],"
                              " hostFlag: --host }\n"
                              "- { image: lmsysorg/sglang, hostFlag: --host,"
                              " program: [python3, -m, sglang.launch_server] }\n"
                              "- { image: ghcr.io/huggingface/text-generation-inference,"
                              " program: [text-generation-launcher], hostFlag: --hostname }\n"
                              "- { image: curlimages/curl, program: [curl] }\n"
                              "- { image: busybox, program: [sh] }\n"
                              "- { image: alpine, program: [sh] }\n"
                              "- { image: debian, program: [sh] }\n"
                              "- { image: ubuntu, program: [sh] }\n";

struct image_map {
    struct arena arena;
    struct image_row *rows;
    size_t count;
};

/* With the registry that is meant when none is written, and whether there is a tag or digest. */
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
    const char *slash = strrchr(name, '/');
    size_t end = strcspn(name, "@");
    const char *colon = memchr(slash, ':', (size_t)(name + end - slash));
    return arena_strndup(a, name, colon ? (size_t)(colon - name) : end);
}

static bool row_read(struct arena *a, struct json row, struct image_row *ret, struct error *err)
{
    const char *image = json_get_text(row, "image");
    bool tagged;
    if (text_empty(image))
        return fail(err, ERR_INVALID, "image: required, such as ghcr.io/ggml-org/llama.cpp");
    struct json program = json_get(row, "program");
    bool good = json_is(program, JSON_LIST) && program.count > 0;
    json_each (word, program)
        good = good && json_is(*word, JSON_STR) && word->count > 0;
    if (!good)
        return fail(
            err, ERR_INVALID, "program of %s: write a list of words: [llama-server]", image);
    struct json env = json_get(row, "env");
    good = !json_present(env) || json_is(env, JSON_MAP);
    json_each_member (m, env)
        good = good && json_is(m->value, JSON_STR);
    if (!good)
        return fail(err, ERR_INVALID, "env of %s: write a map of texts", image);
    *ret = (struct image_row){ .image = full_name(a, arena_strdup(a, image), &tagged),
        .program = json_copy(a, program),
        .host_flag = arena_strdup(a, json_get_text(row, "hostFlag")),
        .env = json_copy(a, env) };
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
    bool ok = image_map_add(m, str_of(shipped), "shipped", &err);
    assert(ok);
    return m;
}

void image_map_free(struct image_map *m)
{
    if (m)
        arena_done(&m->arena);
    free(m);
}

const struct image_row *image_map_find(const struct image_map *m, const char *image)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    bool tagged;
    const char *name = full_name(&a, image, &tagged), *bare = without_tag(&a, name);
    for (size_t i = 0; i < m->count; i++) {
        const char *pattern = m->rows[i].image;
        const char *last = strrchr(pattern, '/');
        bool with_tag = strchr(last ? last : pattern, ':') || strchr(pattern, '@');
        if (fnmatch(pattern, with_tag ? name : bare, FNM_PATHNAME) == 0)
            return &m->rows[i];
    }
    return NULL;
}

/* NULL: it is not there. */
static const char *find_program(
    struct arena *a, const char *name, const struct image_request *request)
{
    if (strchr(name, '/')) {
        const char *real = paths_translate(a, name, request->mounts, request->mount_count);
        return access(real, X_OK) == 0 ? name : NULL;
    }
    struct str rest = str_of(request->path);
    while (rest.ptr) {
        struct str folder = str_cut(&rest, ':');
        const char *file = arena_printf(a, "%.*s/%s", (int)folder.len, folder.ptr, name);
        if (folder.len && access(file, X_OK) == 0)
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
    const char *first = json_text(json_item(request->command, 0));
    bool own_program = !first || text_eq(base_name(first), base_name(own));
    struct json_builder b;
    json_builder_init(&b, a);
    json_push_all(&b, first ? request->command : row->program);
    json_push_all(&b, request->args);
    struct json all = json_list_end(&b);
    if (row->host_flag && own_program && request->address)
        all = with_host(a, all, row->host_flag, request->address);
    const char *name = json_text(all.items[0]);
    const char *program = find_program(a, name, request);
    if (!program && first && own_program)
        program = find_program(a, own, request);
    if (!program)
        return fail(err,
            ERR_UNSUPPORTED,
            "install %s, in the PATH of leeboard, or name another program with --images FILE: it "
            "stands for image %s and is not on this machine",
            name,
            request->image);
    const char *const *words = words_of(a, all);
    ((const char **)(uintptr_t)words)[0] = program;
    *ret = words;
    return true;
}
