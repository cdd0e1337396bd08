/* A Model's spec and the part of its status that decisions depend on. */

#include "kinds/llmkube/model.h"

#include "base/json_bind.h"
#include "base/names.h"
#include "kinds/llmkube/settings.h"

static const struct json_bind model_spec_bind[] = {
    BIND(struct model, source.text, "source", .required = true),
    BIND(struct model, format, "format"),
    BIND(struct model, refresh_policy, "refreshPolicy"),
    BIND(struct model, sha256, "sha256"),
    BIND(struct model, secret_name, "sourceSecretRef.name"),
    BIND(struct model, mmproj, "mmproj"),
    BIND(struct model, files, "files"),
    BIND(struct model, prefetch, "prefetch"),
    BIND(struct model, accelerator, "hardware.accelerator"),
    BIND(struct model, gpu, "hardware.gpu"),
    { 0 },
};

/* A field below a value that is not an object would read as absent. */
static bool read_objects(struct json spec, struct error *err)
{
    static const char *const paths[] = { "hardware", "hardware.gpu", "sourceSecretRef" };
    for (size_t i = 0; i < lengthof(paths); i++) {
        struct json v = json_get(spec, paths[i]);
        if (json_present(v) && !json_is(v, JSON_MAP) && !json_is(v, JSON_NULL))
            return fail(
                err, ERR_INVALID, "spec.%s: expected object, got %s", paths[i], json_type_name(v));
    }
    return true;
}

static bool read_files(const struct model *m, struct error *err)
{
    if (json_present(m->files) && !json_is(m->files, JSON_LIST))
        return fail(
            err, ERR_INVALID, "spec.files: expected list, got %s", json_type_name(m->files));
    for (uint32_t i = 0; i < m->files.count; i++)
        if (!json_text(m->files.items[i]))
            return fail(err,
                ERR_INVALID,
                "spec.files[%u]: expected string, got %s",
                i,
                json_type_name(m->files.items[i]));
    return true;
}

/* It is copied into the text of a program, so only digits are accepted. */
static bool read_sha256(struct arena *a, struct model *m, struct error *err)
{
    if (text_empty(m->sha256)) {
        m->sha256 = NULL;
        return true;
    }
    char *digits = arena_strdup(a, m->sha256);
    size_t count = strspn(digits, "0123456789abcdefABCDEF");
    if (count != 64 || digits[count])
        return fail(err, ERR_INVALID, "spec.sha256: must be 64 hexadecimal digits");
    for (char *c = digits; *c; c++)
        *c = *c >= 'A' && *c <= 'F' ? (char)(*c - 'A' + 'a') : *c;
    m->sha256 = digits;
    return true;
}

/* Whether a Ready Model with this source has its key in the status. A repository is resolved by the
 * runtime and has one only after a prefetch; a local file of a Metal node never has one. */
static bool has_key(const struct model *m)
{
    if (m->source.origin == SOURCE_LOCAL)
        return !model_is_metal(m);
    return m->source.origin != SOURCE_HF_REPO;
}

static void read_status(struct model *m)
{
    struct json status = json_get(m->object, "status");
    const char *phase = json_get_text(status, "phase");
    const char *stored = json_get_text(status, "cacheKey");
    const char *path = json_get_text(status, "path");
    const char *name = json_get_text(status, "gguf.modelName");
    const char *etag = json_get_text(status, "sourceETag");
    bool current = text_empty(stored) ? !has_key(m) : text_eq(stored, m->key);
    bool outdated = !current && text_eq(phase, "Ready");
    m->phase = phase && !outdated ? phase : "";
    m->path = path && current ? path : "";
    m->gguf_name = name && current ? name : "";
    m->etag = etag && current ? etag : "";
    m->cache_key = stored && current ? stored : "";
    if (!*m->cache_key && model_has_files(m) && !model_is_metal(m))
        m->cache_key = m->key;
}

bool model_read(struct arena *a, struct json object, struct model *ret, struct error *err)
{
    struct model m = {
        .object = object,
        .name = json_get_text(object, "metadata.name"),
        .ns = json_get_text(object, "metadata.namespace"),
        .format = "gguf",
        .refresh_policy = "IfNotPresent",
        .accelerator = "cpu",
    };
    struct json spec = json_get(object, "spec");
    if (!json_bind(a, spec, "spec", model_spec_bind, &m, err) || !read_objects(spec, err) ||
        !read_files(&m, err) || !read_sha256(a, &m, err))
        return false;
    m.source = source_read(a, m.source.text);
    m.key = source_cache_key(a, m.source.text);
    m.mmproj = text_empty(m.mmproj) ? NULL : m.mmproj;
    m.secret_name = text_empty(m.secret_name) ? NULL : m.secret_name;
    read_status(&m);
    *ret = m;
    return true;
}

bool model_is_in_place(const struct llmkube_settings *s, const struct model *m)
{
    return s->one_machine && m->source.origin == SOURCE_LOCAL && !model_is_metal(m);
}

const char *model_file_name(struct arena *a, const struct model *m)
{
    const char *slash = strrchr(m->path, '/');
    if (slash && slash[1])
        return slash + 1;
    const char *name = name_of_file(a, m->gguf_name);
    if (!*name)
        name = name_of_file(a, m->name);
    return arena_printf(a, "%s.gguf", *name ? name : "model");
}

/* ---- several files ---- */

struct json model_files(struct arena *a, const struct model *m)
{
    struct json_builder b;
    json_builder_init(&b, a);
    for (uint32_t i = 0; i < m->files.count; i++)
        if (!json_list_has(json_list_end(&b), m->files.items[i].string))
            json_push(&b, m->files.items[i]);
    if (m->mmproj && !json_list_has(json_list_end(&b), m->mmproj))
        json_push(&b, json_str(m->mmproj));
    return json_list_end(&b);
}

/* The downloader gets one name per line, so a line break would make two names. */
static const char *name_problem(struct arena *a, const char *name)
{
    bool bad = !*name || *name == '/' || strstr(name, "..");
    for (const char *c = name; *c; c++)
        bad = bad || (unsigned char)*c < ' ' || *c == 0x7f;
    if (bad)
        return arena_printf(a, "invalid repo-relative path %s", source_quote(a, name));
    if (strpbrk(name, "*?["))
        return arena_printf(a,
            "glob pattern %s requires repository file listing, which is unavailable in production:"
            " use explicit file paths",
            source_quote(a, name));
    return NULL;
}

const char *model_files_problem(struct arena *a, const struct model *m)
{
    if (!model_has_files(m))
        return NULL;
    if (m->source.origin != SOURCE_HF_REPO && m->source.origin != SOURCE_S3)
        return arena_printf(a,
            "spec.files and spec.mmproj need a Hugging Face repository or an s3:// source, not %s",
            m->source.text);
    if (!m->files.count)
        return "spec.files must include a primary model file when spec.mmproj is set";
    for (uint32_t i = 0; i < m->files.count; i++) {
        const char *name = m->files.items[i].string;
        const char *problem = name_problem(a, name);
        if (problem)
            return arena_printf(
                a, "resolve %sfile %s: %s", i ? "" : "primary ", source_quote(a, name), problem);
    }
    const char *problem = m->mmproj ? name_problem(a, m->mmproj) : NULL;
    return problem ? arena_printf(a, "spec.mmproj: %s", problem) : NULL;
}
