#include "cli/input.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/str.h"
#include "base/yaml.h"
#include "base/yaml_place.h"

#define INPUT_BYTES_MAX ((size_t)16 << 20)

static bool read_all(FILE *f, const char *path, struct buf *to, struct error *err)
{
    char block[65536];
    for (size_t got; (got = fread(block, 1, sizeof(block), f)) > 0;)
        buf_add(to, block, got);
    if (ferror(f))
        return fail_errno(err, errno, "%s", path);
    if (buf_overflowed(to))
        return fail(err, ERR_TOO_LARGE, "%s is larger than %zu bytes", path, INPUT_BYTES_MAX);
    return true;
}

void inputs_init(struct inputs *in, struct arena *a)
{
    *in = (struct inputs){ .arena = a };
    json_builder_init(&in->objects, a);
}

struct json inputs_list(const struct inputs *in)
{
    struct json_builder objects = in->objects;
    return json_list_end(&objects);
}

const char *input_place(const struct inputs *in, size_t i, const char *path)
{
    assert(i < in->count);
    const struct input_origin *o = &in->origins[i];
    const char *dot = *o->path && *path ? "." : "";
    const char *whole = arena_printf(in->arena, "%s%s%s", o->path, dot, path);
    int line = yaml_line_of(o->text, o->document, whole);
    return line ? arena_printf(in->arena, "%s:%d", o->file, line) : o->file;
}

/* The absolute path of a source; NULL: it is not a path, or already absolute. An organisation and a
 * repository ("org/repo") look like a path but are not one. */
static const char *absolute(struct arena *a, const char *source, const char *file)
{
    const char *path = text_starts(source, "file://") ? source + strlen("file://") : source;
    const char *home = getenv("HOME");
    char here[PATH_MAX];
    if (text_starts(path, "~/") && home)
        return arena_printf(a, "%s%s", home, path + 1);
    bool dots = text_starts(path, "./") || text_starts(path, "../");
    if (!dots && (path == source || *path == '/' || !*path))
        return NULL;
    const char *slash = strrchr(file, '/');
    const char *folder = slash ? arena_printf(a, "%.*s", (int)(slash - file), file) : ".";
    return realpath(*folder ? folder : "/", here) ? arena_printf(a, "%s/%s", here, path) : NULL;
}

static struct json with_absolute_source(struct arena *a, struct json object, const char *file)
{
    const char *source = json_get_text(object, "spec.source");
    bool model = text_eq(json_get_text(object, "kind"), "Model") &&
                 text_starts(json_get_text(object, "apiVersion"), "inference.llmkube.dev/");
    const char *path = model && source ? absolute(a, source, file) : NULL;
    return path ? json_with(a, object, "spec.source", json_strf(a, "file://%s", path)) : object;
}

static void add_object(struct inputs *in, struct json object, const struct input_origin *origin)
{
    arena_room(in->arena, in->origins, in->count, in->size);
    in->origins[in->count++] = *origin;
    json_push(&in->objects, with_absolute_source(in->arena, object, origin->file));
}

static bool add_document(
    struct inputs *in, struct json document, const struct input_origin *origin, struct error *err)
{
    if (document.type == JSON_NULL)
        return true;
    if (document.type != JSON_MAP)
        return fail(err, ERR_INVALID, "%s: a document is not an object", origin->file);
    struct json items = json_get(document, "items");
    if (!text_ends(json_get_text(document, "kind"), "List") || !json_is(items, JSON_LIST)) {
        add_object(in, document, origin);
        return true;
    }
    for (uint32_t i = 0; i < items.count; i++) {
        struct input_origin item = *origin;
        const char *dot = *origin->path ? "." : "";
        item.path = arena_printf(in->arena, "%s%sitems[%u]", origin->path, dot, i);
        if (!add_document(in, items.items[i], &item, err))
            return false;
    }
    return true;
}

static bool read_file(struct inputs *in, const char *path, struct error *err)
{
    bool standard = text_eq(path, "-");
    FILE *f = standard ? stdin : fopen(path, "re");
    if (!f)
        return fail_errno(err, errno, "%s", path);
    cleanup(buf_done) struct buf text = BUF_INIT(INPUT_BYTES_MAX);
    const char *name = standard ? "standard input" : path;
    bool ok = read_all(f, name, &text, err);
    if (!standard)
        fclose(f);
    struct json documents;
    if (!ok || !yaml_parse_all(in->arena, buf_str(&text), name, &documents, err))
        return false;
    struct input_origin origin = {
        .file = arena_strdup(in->arena, name),
        .text = str_of(str_dup(in->arena, buf_str(&text))),
        .path = "",
    };
    for (; origin.document < documents.count; origin.document++)
        if (!add_document(in, documents.items[origin.document], &origin, err))
            return false;
    return true;
}

static int is_manifest(const struct dirent *entry)
{
    const char *name = entry->d_name;
    return text_ends(name, ".yaml") || text_ends(name, ".yml") || text_ends(name, ".json");
}

static bool read_directory(struct inputs *in, const char *path, struct error *err)
{
    struct dirent **entries;
    int count = scandir(path, &entries, is_manifest, alphasort);
    if (count < 0)
        return fail_errno(err, errno, "%s", path);
    bool ok = count > 0 || fail(err, ERR_NOT_FOUND, "%s has no .yaml, .yml or .json file", path);
    for (int i = 0; i < count; i++) {
        ok = ok && read_file(in, arena_printf(in->arena, "%s/%s", path, entries[i]->d_name), err);
        free(entries[i]);
    }
    free(entries);
    return ok;
}

bool input_read(struct inputs *in, const char *path, struct error *err)
{
    struct stat st;
    if (!text_eq(path, "-") && stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        return read_directory(in, path, err);
    return read_file(in, path, err);
}
