/* Warnings about the volumes of a pod spec. */

#include "apiserver/builtin/warn.h"

#include "apiserver/core/call.h"
#include "apiserver/rules/check.h"

/* At most this many files of a volume are compared with each other. */
#define COMPARED_MAX 256

static void warn_source(const struct api_write *w, struct json v, const char *path)
{
    static const char requests[] = "ephemeral.volumeClaimTemplate.spec.resources.requests";
    warn_fraction(w, json_get(v, requests), field_child(w->arena, path, requests), "storage");
}

/* ---- files that hide others ---- */

struct file {
    const char *path, *source; /* source: "" if all files have the same source */
};

/* The files of one volume so far. */
struct files {
    const struct api_write *write;
    const char *volume, *sort;
    struct file items[COMPARED_MAX];
    size_t count;
};

static const char *file_text(struct arena *a, struct file f)
{
    return *f.source ? arena_printf(a, "\"%s\" (%s)", f.path, f.source)
                     : arena_printf(a, "\"%s\"", f.path);
}

/* The paths are equal, or one is in the other's directory. */
static bool is_above(const char *folder, const char *path)
{
    size_t length = strlen(folder);
    return strncmp(path, folder, length) == 0 && (!path[length] || path[length] == '/');
}

static void add_file(struct files *files, const char *path, const char *source)
{
    struct arena *a = files->write->arena;
    size_t length = path ? strlen(path) : 0;
    while (length && path[length - 1] == '/')
        length--;
    if (!length || files->count == COMPARED_MAX)
        return;
    struct file fresh = { arena_strndup(a, path, length), source };
    for (size_t i = 0; i < files->count; i++)
        if (is_above(files->items[i].path, fresh.path) ||
            is_above(fresh.path, files->items[i].path))
            call_warn(files->write->call,
                arena_printf(a,
                    "volume \"%s\" (%s): overlapping paths: %s with %s",
                    files->volume,
                    files->sort,
                    file_text(a, fresh),
                    file_text(a, files->items[i])));
    files->items[files->count++] = fresh;
}

static void add_items(struct files *files, struct json source, const char *name)
{
    json_each (item, json_member(source, "items"))
        add_file(files, json_get_text(*item, "path"), name);
}

/* The text for a source: ConfigMap "name". */
static const char *source_name(
    struct arena *a, const char *sort, struct json source, const char *field)
{
    const char *name = json_get_text(source, field);
    return arena_printf(a, "%s \"%s\"", sort, name ? name : "");
}

static void add_projection(struct files *files, struct json source)
{
    struct arena *a = files->write->arena;
    struct json map = json_member(source, "configMap"), secret = json_member(source, "secret"),
                bundle = json_member(source, "clusterTrustBundle");
    if (!source.count)
        call_warn(files->write->call,
            arena_printf(a, "volume \"%s\" (Projected) has no sources provided", files->volume));
    add_items(files, map, source_name(a, "ConfigMap", map, "name"));
    add_items(files, secret, source_name(a, "Secret", secret, "name"));
    add_items(files, json_member(source, "downwardAPI"), "DownwardAPI");
    add_file(files, json_get_text(source, "serviceAccountToken.path"), "ServiceAccountToken");
    bool named = json_present(json_member(bundle, "name"));
    add_file(files,
        json_get_text(bundle, "path"),
        source_name(a, "ClusterTrustBundle", bundle, named ? "name" : "signerName"));
}

static void warn_files(const struct api_write *w, struct json v)
{
    struct json map = json_member(v, "configMap"), secret = json_member(v, "secret");
    const char *name = json_get_text(v, "name");
    struct files files = { w, name ? name : "" };
    files.sort = source_name(w->arena, "ConfigMap", map, "name");
    add_items(&files, map, "");
    files.sort = source_name(w->arena, "Secret", secret, "secretName");
    add_items(&files, secret, "");
    files.sort = "DownwardAPI";
    add_items(&files, json_member(v, "downwardAPI"), "");
    files.sort = "Projected";
    json_each (source, json_get(v, "projected.sources"))
        add_projection(&files, *source);
}

void warn_volumes(const struct api_write *w, struct json volumes, const char *path)
{
    for (size_t i = 0; i < volumes.count; i++)
        warn_source(w, volumes.items[i], field_index(w->arena, path, i));
    json_each (v, volumes)
        warn_files(w, *v);
}
