#include "cli/input.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/str.h"
#include "base/yaml.h"

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

static bool add_document(
    struct json document, const char *path, struct json_builder *to, struct error *err)
{
    if (document.type == JSON_NULL)
        return true;
    if (document.type != JSON_MAP)
        return fail(err, ERR_INVALID, "%s: a document is not an object", path);
    if (text_ends(json_get_text(document, "kind"), "List") &&
        json_is(json_get(document, "items"), JSON_LIST)) {
        json_each (item, json_get(document, "items"))
            if (!add_document(*item, path, to, err))
                return false;
        return true;
    }
    json_push(to, document);
    return true;
}

static bool read_file(struct arena *a, const char *path, struct json_builder *to, struct error *err)
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
    if (!ok || !yaml_parse_all(a, buf_str(&text), name, &documents, err))
        return false;
    json_each (document, documents)
        if (!add_document(*document, name, to, err))
            return false;
    return true;
}

static int is_manifest(const struct dirent *entry)
{
    const char *name = entry->d_name;
    return text_ends(name, ".yaml") || text_ends(name, ".yml") || text_ends(name, ".json");
}

static bool read_directory(
    struct arena *a, const char *path, struct json_builder *to, struct error *err)
{
    struct dirent **entries;
    int count = scandir(path, &entries, is_manifest, alphasort);
    if (count < 0)
        return fail_errno(err, errno, "%s", path);
    bool ok = count > 0 || fail(err, ERR_NOT_FOUND, "%s has no .yaml, .yml or .json file", path);
    for (int i = 0; i < count; i++) {
        ok = ok && read_file(a, arena_printf(a, "%s/%s", path, entries[i]->d_name), to, err);
        free(entries[i]);
    }
    free(entries);
    return ok;
}

bool input_read(struct arena *a, const char *path, struct json_builder *to, struct error *err)
{
    struct stat st;
    if (!text_eq(path, "-") && stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        return read_directory(a, path, to, err);
    return read_file(a, path, to, err);
}
