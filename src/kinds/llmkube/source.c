#include "kinds/llmkube/source.h"

#include "base/hash.h"
#include "kinds/llmkube/settings.h"

#define HUB "huggingface.co"

/* The part after a scheme, which is case-insensitive; NULL if the text has another scheme. */
static const char *after_scheme(const char *text, const char *scheme)
{
    size_t length = strlen(scheme);
    struct str head = { text, strnlen(text, length) };
    return str_eq_nocase(head, str_of(scheme)) ? text + length : NULL;
}

static struct source invalid(struct arena *a, struct source s, const char *format, ...)
    printf_like(3, 4);
static struct source invalid(struct arena *a, struct source s, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    s.origin = SOURCE_INVALID;
    s.problem = arena_vprintf(a, format, args);
    va_end(args);
    return s;
}

static bool has_dot_dot(const char *path)
{
    for (struct str rest = str_of(path); rest.ptr;)
        if (str_eq(str_cut(&rest, '/'), STR("..")))
            return true;
    return false;
}

/* ---- the classes ---- */

static struct source read_local(struct arena *a, struct source s, const char *path)
{
    s.origin = SOURCE_LOCAL;
    s.path = *path == '/' ? source_clean_path(a, path) : "";
    return s;
}

static struct source read_pvc(struct arena *a, struct source s, const char *rest)
{
    const char *slash = strchr(rest, '/');
    if (!*rest)
        return invalid(a,
            s,
            "%s names neither claim nor file: write pvc://claim-name/path/to/model.gguf",
            s.text);
    if (!slash)
        return invalid(a,
            s,
            "PVC source must include a file path: %s (expected "
            "pvc://claim-name/path/to/model.gguf)",
            s.text);
    if (slash == rest)
        return invalid(
            a, s, "%s names no claim: write pvc://claim-name/path/to/model.gguf", s.text);
    if (!slash[1])
        return invalid(a,
            s,
            "%s names no file in the claim: write pvc://claim-name/path/to/model.gguf",
            s.text);
    if (has_dot_dot(slash + 1))
        return invalid(
            a, s, "%s leaves its claim with ..: write the path within the claim", s.text);
    s.origin = SOURCE_PVC;
    s.host = arena_strndup(a, rest, (size_t)(slash - rest));
    s.path = slash + 1;
    return s;
}

static struct source read_s3(struct arena *a, struct source s, const char *rest)
{
    size_t bucket = strcspn(rest, "/");
    if (!bucket)
        return invalid(a, s, "S3 source has no bucket: %s (expected s3://bucket/key)", s.text);
    s.origin = SOURCE_S3;
    s.host = arena_strndup(a, rest, bucket);
    s.path = rest[bucket] ? rest + bucket + 1 : "";
    return s;
}

/* Letters, digits and `-_./@`, beginning with a letter or digit: the hub's rule for
 * repositories. */
static bool is_repo_text(const char *text)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    size_t first = strspn(text, plain);
    return first > 0 &&
           text[first +
                strspn(text + first,
                    "-_./@abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")] == '\0';
}

/* org/repo[/file][@rev], with or without hf:// in front. */
static struct source read_repo(struct arena *a, struct source s, const char *text)
{
    struct str revision = str_of(text);
    struct str path = str_cut(&revision, '@');
    struct str file = path;
    struct str org = str_cut(&file, '/');
    struct str repo = file.ptr ? str_cut(&file, '/') : (struct str){ 0 };
    if (!is_repo_text(text) || !org.len || !repo.len || (revision.ptr && !revision.len))
        return invalid(a,
            s,
            "%s names no source: write org/repo or hf://org/repo for a Hugging Face repository,"
            " or an https://, s3://, pvc:// or file:// URL, or an absolute path",
            source_quote(a, s.text));
    s.origin = SOURCE_HF_REPO;
    s.hub = true;
    s.repo = arena_printf(a, "%.*s/%.*s", (int)org.len, org.ptr, (int)repo.len, repo.ptr);
    s.file = file.len ? str_dup(a, file) : NULL;
    s.revision = revision.ptr ? str_dup(a, revision) : NULL;
    return s;
}

#define HUB_PARTS_MAX 5

/* A page of the hub: a file if it has at least five parts, otherwise a repository if the parts
 * allow it. */
static struct source read_hub_page(struct arena *a, struct source s, struct str path)
{
    struct str parts[HUB_PARTS_MAX] = { 0 };
    size_t count = 0;
    while (path.ptr && count < HUB_PARTS_MAX) {
        struct str part = str_cut(&path, '/');
        if (part.len)
            parts[count++] = part;
    }
    bool model =
        count >= 2 && !str_eq(parts[0], STR("datasets")) && !str_eq(parts[0], STR("spaces"));
    bool file = str_eq(parts[2], STR("resolve")) || str_eq(parts[2], STR("blob"));
    bool tree = str_eq(parts[2], STR("tree"));
    s.hub = true;
    if (model && file && count >= 5) {
        s.origin = SOURCE_HTTP;
        s.page = str_eq(parts[2], STR("blob"));
        return s;
    }
    if (!model || (count > 2 && !file && !tree) || (count == 3 && (file || tree)))
        return invalid(a,
            s,
            "%s is a page of huggingface.co that holds no model: write"
            " https://huggingface.co/org/repo/resolve/main/FILE for one file, or org/repo",
            source_quote(a, s.text));
    s.origin = SOURCE_HF_REPO;
    s.repo = arena_printf(a, "%s/%s", str_dup(a, parts[0]), str_dup(a, parts[1]));
    s.revision = count > 3 ? str_dup(a, parts[3]) : NULL;
    return s;
}

static struct source read_http(struct arena *a, struct source s, const char *rest)
{
    size_t length = strcspn(rest, "/?#");
    struct str host = { rest, length };
    if (!length)
        return invalid(a, s, "%s has no host", source_quote(a, s.text));
    if (str_eq_nocase(host, STR(HUB)) || str_eq_nocase(host, STR("www." HUB)))
        return read_hub_page(a, s, (struct str){ rest + length, strcspn(rest + length, "?#") });
    s.origin = SOURCE_HTTP;
    return s;
}

struct source source_read(struct arena *a, const char *text)
{
    static const struct {
        const char *scheme;
        struct source (*read)(struct arena *a, struct source s, const char *rest);
    } schemes[] = {
        { "file://", read_local },
        { "s3://", read_s3 },
        { "hf://", read_repo },
        { "https://", read_http },
        { "http://", read_http },
    };
    struct source s = { .text = text };
    for (const char *c = text; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            return invalid(a,
                s,
                "%s has a control character in it: write the source in one line",
                source_quote(a, text));
    if (*text == '/')
        return read_local(a, s, text);
    if (text_starts(text, "pvc://"))
        return read_pvc(a, s, text + strlen("pvc://"));
    for (size_t i = 0; i < lengthof(schemes); i++) {
        const char *rest = after_scheme(text, schemes[i].scheme);
        if (rest)
            return schemes[i].read(a, s, rest);
    }
    return read_repo(a, s, text);
}

/* ---- derived values ---- */

const char *source_cache_key(struct arena *a, const char *text)
{
    return arena_strndup(a, sha256_hex(a, str_of(text)), 16);
}

static bool lies_below(const char *path, const char *root)
{
    size_t length = strlen(root);
    return text_eq(root, "/") ||
           (text_starts(path, root) && (!path[length] || path[length] == '/'));
}

bool source_allowed(const struct llmkube_settings *s, const struct source *src)
{
    if (src->origin != SOURCE_LOCAL)
        return true;
    struct json roots = s->allowed_host_path_roots;
    for (uint32_t i = 0; json_is(roots, JSON_LIST) && i < roots.count; i++)
        if (*src->path && lies_below(src->path, roots.items[i].string))
            return true;
    return false;
}

const char *source_refusal(
    struct arena *a, const struct llmkube_settings *s, const struct source *src)
{
    const char *source = source_quote(a, src->text);
    if (!*src->path)
        return arena_printf(
            a, "%s is no absolute path: write file:///directory/model.gguf", source);
    struct json roots = s->allowed_host_path_roots;
    const char *list = "";
    for (uint32_t i = 0; json_is(roots, JSON_LIST) && i < roots.count; i++)
        list = arena_printf(a, "%s%s%s", list, *list ? " " : "", roots.items[i].string);
    /* Users search for the advisory's number. */
    if (!*list)
        return arena_printf(a,
            "%s is a local file, and none may be read: name its directory in"
            " --allowed-host-path-roots (GHSA-jw3m-8q7m-f35r)",
            source);
    return arena_printf(a,
        "local model source %s is not within any allowed root [%s] (GHSA-jw3m-8q7m-f35r)",
        source,
        list);
}

const char *source_serve_argument(struct arena *a, const struct source *src)
{
    if (src->origin != SOURCE_HF_REPO)
        return src->text;
    return arena_printf(a,
        "%s%s%s%s%s",
        src->repo,
        src->file ? "/" : "",
        src->file ? src->file : "",
        src->revision ? "@" : "",
        src->revision ? src->revision : "");
}

const char *source_repo_base(struct arena *a, const struct source *src)
{
    assert(src->origin == SOURCE_HF_REPO);
    const char *revision = src->revision ? src->revision : "main";
    return arena_printf(a, "https://" HUB "/%s/resolve/%s/", src->repo, revision);
}

const char *source_clean_path(struct arena *a, const char *path)
{
    assert(*path == '/');
    char *out = arena_alloc(a, strlen(path) + 2);
    size_t length = 0;
    for (struct str rest = str_of(path); rest.ptr;) {
        struct str part = str_cut(&rest, '/');
        if (str_eq(part, STR(".."))) {
            while (length && out[--length] != '/')
                continue;
        } else if (part.len && !str_eq(part, STR("."))) {
            out[length++] = '/';
            memcpy(out + length, part.ptr, part.len);
            length += part.len;
        }
    }
    if (!length)
        out[length++] = '/';
    out[length] = '\0';
    return out;
}

const char *source_quote(struct arena *a, const char *text)
{
    return json_to_text(a, json_str(text));
}
