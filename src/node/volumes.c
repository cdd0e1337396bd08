#include "node/volumes.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/resource.h"
#include "base/tree.h"
#include "kube/objects.h"
#include "node/volumes_files.h"

#define FILES_MAX 4096

const struct resource NODE_PERSISTENT_VOLUME = {
    .group = "",
    .version = "v1",
    .kind = "PersistentVolume",
    .plural = "persistentvolumes",
    .cluster_scoped = true,
};

struct volume {
    struct arena *arena;
    const struct pod_view *view;
    const char *name, *directory; /* directory: its own directory below the pod's */
    uint32_t mode;                /* of files without their own */
    struct volumes_owner owner;
    struct volume_file *files;
    size_t count;
    const char *audience; /* of a token that is missing */
};

/* ---- ownership ---- */

static bool is_id(struct json v)
{
    return json_is(v, JSON_INT) && v.integer >= 0 && v.integer < UINT32_MAX;
}

/* The user that all containers have, by the kubelet's rule: none if one of them has another or
 * none. */
static bool same_user(struct json pod, uint32_t *ret)
{
    static const char *const lists[] = { "spec.initContainers", "spec.containers" };
    struct json of_pod = json_get(pod, "spec.securityContext.runAsUser");
    bool found = false;
    for (size_t i = 0; i < lengthof(lists); i++)
        json_each (container, json_get(pod, lists[i])) {
            struct json user = json_get(*container, "securityContext.runAsUser");
            user = json_present(user) ? user : of_pod;
            if (!is_id(user) || (found && *ret != (uint32_t)user.integer))
                return false;
            *ret = (uint32_t)user.integer;
            found = true;
        }
    return found;
}

struct volumes_owner volumes_owner(struct json pod)
{
    struct volumes_owner o = { 0 };
    struct json group = json_get(pod, "spec.securityContext.fsGroup");
    if (geteuid() != 0)
        return o; /* this process owns everything */
    o.has_user = same_user(pod, &o.user);
    o.has_group = is_id(group);
    o.group = o.has_group ? (uint32_t)group.integer : 0;
    return o;
}

/* ---- files from objects ---- */

static bool add_file(
    struct volume *v, const char *path, struct str data, int64_t mode, struct error *err)
{
    if (text_empty(path) || path[0] == '/' || strstr(path, ".."))
        return fail(err, ERR_INVALID, "volume %s: path %s", v->name, path ? path : "\"\"");
    if (v->count == FILES_MAX)
        return fail(err, ERR_TOO_LARGE, "volume %s: more than %d files", v->name, FILES_MAX);
    struct volume_file *f = &v->files[v->count++];
    *f = (struct volume_file){
        path, data, mode ? (uint32_t)mode : v->mode, VOLUME_FILE_OURS, VOLUME_FILE_OURS
    };
    if (v->owner.has_group) {
        f->group = v->owner.group;
        f->mode |= 0440;
    }
    return true;
}

static struct json value_of(struct json object, const char *key, bool *ret_encoded, bool secret)
{
    struct json value = json_member(json_get(object, "data"), key);
    *ret_encoded = secret || !json_present(value);
    return json_present(value) ? value : json_member(json_get(object, "binaryData"), key);
}

static bool add_value(struct volume *v, struct json object, bool secret, const char *key,
    const char *path, int64_t mode, struct error *err)
{
    bool encoded;
    struct json value = value_of(object, key, &encoded, secret);
    struct str bytes = str_of(json_text(value));
    if (encoded && !fields_secret_value(v->arena, value, &bytes))
        return fail(err, ERR_INVALID, "volume %s: key %s is not base64", v->name, key);
    return add_file(v, path, bytes, mode, err);
}

static bool add_object(struct volume *v, struct json source, const struct resource *kind,
    const char *name, struct error *err)
{
    bool secret = kind == &RESOURCE_SECRET, optional = json_get_bool(source, "optional", false);
    const char *ns = json_get_text(v->view->pod, "metadata.namespace");
    struct json object = objects_get(v->view->objects, kind, ns, name);
    const char *word = secret ? "secret" : "configmap";
    if (!json_present(object))
        return optional || fail(err,
                               ERR_NOT_FOUND,
                               "MountVolume.SetUp failed for volume \"%s\" : %s \"%s\" not found",
                               v->name,
                               word,
                               name ? name : "");
    struct json items = json_get(source, "items");
    json_each (item, items) {
        const char *key = json_get_text(*item, "key");
        bool encoded;
        if (!json_present(value_of(object, key, &encoded, secret))) {
            if (optional)
                continue;
            return fail(err,
                ERR_NOT_FOUND,
                "MountVolume.SetUp failed for volume \"%s\" : references non-existent %s key: %s",
                v->name,
                secret ? "secret" : "config",
                key);
        }
        if (!add_value(v,
                object,
                secret,
                key,
                json_get_text(*item, "path"),
                json_get_int(*item, "mode", 0),
                err))
            return false;
    }
    static const char *const maps[] = { "data", "binaryData" };
    for (size_t i = 0; i < lengthof(maps) && !json_present(items); i++)
        json_each_member (m, json_get(object, maps[i]))
            if (!add_value(v, object, secret, m->key, m->key, 0, err))
                return false;
    return true;
}

static bool add_config_map(struct volume *v, struct json source, struct error *err)
{
    return add_object(v, source, &RESOURCE_CONFIG_MAP, json_get_text(source, "name"), err);
}

/* A volume names its secret by secretName, a projected source by name. */
static bool add_secret(struct volume *v, struct json source, struct error *err)
{
    const char *name = json_get_text(source, "secretName");
    return add_object(
        v, source, &RESOURCE_SECRET, name ? name : json_get_text(source, "name"), err);
}

static bool add_downward(struct volume *v, struct json source, struct error *err)
{
    json_each (item, json_get(source, "items")) {
        const char *text;
        struct json field = json_get(*item, "fieldRef");
        bool ok = json_present(field)
                      ? fields_get(v->arena, v->view, json_get_text(field, "fieldPath"), &text, err)
                      : fields_resource(v->arena,
                            v->view,
                            json_get(*item, "resourceFieldRef"),
                            json_none,
                            &text,
                            err);
        if (!ok ||
            !add_file(
                v, json_get_text(*item, "path"), str_of(text), json_get_int(*item, "mode", 0), err))
            return false;
    }
    return true;
}

static bool add_token(struct volume *v, struct json source, struct error *err)
{
    const char *audience = json_get_text(source, "audience");
    struct json token = json_member(v->view->tokens, audience ? audience : "");
    if (!json_present(token)) {
        v->audience = audience ? audience : "";
        return fail(err, ERR_BUSY, "waiting for a token of the service account");
    }
    /* Only its user may read a token, if the pod sets one, as the kubelet does it. */
    bool own = v->owner.has_user || v->owner.has_group;
    if (!add_file(v, json_get_text(source, "path"), str_of(json_text(token)), own ? 0600 : 0, err))
        return false;
    if (v->owner.has_user)
        v->files[v->count - 1].user = v->owner.user;
    return true;
}

static bool add_projected(struct volume *v, struct json source, struct error *err)
{
    static const struct {
        const char *field;
        bool (*add)(struct volume *v, struct json source, struct error *err);
    } kinds[] = { { "configMap", add_config_map },
        { "secret", add_secret },
        { "downwardAPI", add_downward },
        { "serviceAccountToken", add_token } };
    json_each (part, json_get(source, "sources")) {
        bool known = false;
        for (size_t i = 0; i < lengthof(kinds); i++) {
            struct json inner = json_get(*part, kinds[i].field);
            known = known || json_present(inner);
            if (json_present(inner) && !kinds[i].add(v, inner, err))
                return false;
        }
        if (!known)
            return fail(err,
                ERR_UNSUPPORTED,
                "volume %s: a projected source that this node does not know",
                v->name);
    }
    return true;
}

/* ---- places ---- */

static bool make_directory(const char *path, uint32_t mode, struct error *err)
{
    struct stat st;
    if (stat(path, &st) == 0)
        return S_ISDIR(st.st_mode) || fail(err, ERR_INVALID, "%s is not a directory", path);
    cleanup(arena_done) struct arena a = ARENA_INIT;
    char *copy = arena_strdup(&a, path), *slash = strrchr(copy, '/');
    if (slash && slash != copy) {
        *slash = 0;
        if (!make_directory(copy, 0755, err))
            return false;
    }
    return (mkdir(path, 0700) == 0 && chmod(path, mode) == 0) ||
           fail_errno(err, errno, "make %s", path);
}

/* Applies the pod's fsGroup. */
static bool give_group(struct volume *v, const char *path, struct error *err)
{
    return !v->owner.has_group || tree_give_group(path, v->owner.group, err);
}

/* A directory that this node provisions belongs to the user of the first pod that mounts it. Other
 * users may write to it only with fsGroup. */
static bool give_claim(struct volume *v, const char *path, struct error *err)
{
    bool ok = chmod(path, 0755) == 0 &&
              (!v->owner.has_user || chown(path, v->owner.user, (gid_t)-1) == 0);
    return ok || fail_errno(err, errno, "%s", path);
}

static bool place_empty(struct volume *v, struct json source, const char **ret, struct error *err)
{
    (void)source;
    *ret = v->directory;
    return make_directory(v->directory, 0777, err) && give_group(v, v->directory, err);
}

static bool place_host_path(
    struct volume *v, struct json source, const char **ret, struct error *err)
{
    static const struct {
        const char *type, *word;
        mode_t is;
    } types[] = { { "Directory", "a directory", S_IFDIR },
        { "DirectoryOrCreate", "a directory", S_IFDIR },
        { "File", "a file", S_IFREG },
        { "FileOrCreate", "a file", S_IFREG },
        { "Socket", "a socket", S_IFSOCK },
        { "CharDevice", "a character device", S_IFCHR },
        { "BlockDevice", "a block device", S_IFBLK } };
    const char *path = json_get_text(source, "path"), *type = json_get_text(source, "type");
    struct stat st;
    if (text_empty(path) || path[0] != '/')
        return fail(err, ERR_INVALID, "volume %s: hostPath needs an absolute path", v->name);
    *ret = path;
    if (text_eq(type, "DirectoryOrCreate") && !make_directory(path, 0755, err))
        return false;
    if (text_eq(type, "FileOrCreate")) {
        int fd = open(path, O_CREAT | O_RDONLY | O_CLOEXEC, 0644);
        if (fd >= 0)
            close(fd);
    }
    if (stat(path, &st))
        return fail_errno(err, errno, "volume %s: hostPath %s", v->name, path);
    for (size_t i = 0; i < lengthof(types); i++)
        if (text_eq(type, types[i].type) && (st.st_mode & S_IFMT) != types[i].is)
            return fail(
                err, ERR_INVALID, "hostPath type check failed: %s is not %s", path, types[i].word);
    return true;
}

static bool place_claim(struct volume *v, struct json source, const char **ret, struct error *err)
{
    const char *name = json_get_text(source, "claimName");
    const struct objects *all = v->view->objects;
    struct json claim =
        objects_get(all, &RESOURCE_PVC, json_get_text(v->view->pod, "metadata.namespace"), name);
    if (!json_present(claim))
        return fail(err, ERR_NOT_FOUND, "persistentvolumeclaim \"%s\" not found", name);
    const char *volume = json_get_text(claim, "spec.volumeName");
    struct json pv = objects_get(all, &NODE_PERSISTENT_VOLUME, NULL, volume);
    if (text_empty(volume) || !json_present(pv))
        return fail(err, ERR_NOT_FOUND, "pod has unbound immediate PersistentVolumeClaims");
    const char *path = json_get_text(pv, "spec.hostPath.path");
    path = path ? path : json_get_text(pv, "spec.local.path");
    if (text_empty(path))
        return fail(err,
            ERR_UNSUPPORTED,
            "persistentvolume %s is no directory of this machine: give it spec.hostPath.path or "
            "spec.local.path",
            volume);
    *ret = path;
    bool provisioned =
        text_eq(volume, arena_printf(v->arena, "pvc-%s", json_get_text(claim, "metadata.uid")));
    bool local = json_present(json_get(pv, "spec.local"));
    struct stat st;
    bool there = stat(path, &st) == 0;
    return make_directory(path, 0755, err) &&
           (!provisioned || (there && !(st.st_mode & S_IWOTH)) || give_claim(v, path, err)) &&
           (!(provisioned || local) || give_group(v, path, err));
}

static bool place_files(struct volume *v, struct json source, const char **ret, struct error *err,
    bool (*add)(struct volume *v, struct json source, struct error *err))
{
    *ret = v->directory;
    v->mode = (uint32_t)json_get_int(source, "defaultMode", 0644);
    v->files = arena_array(v->arena, FILES_MAX, sizeof(*v->files));
    return add(v, source, err) && make_directory(v->directory, 0755, err) &&
           volumes_files_write(v->directory, v->files, v->count, err);
}

static bool place_volume(struct volume *v, struct json volume, const char **ret, struct error *err)
{
    static const struct {
        const char *field;
        bool (*place)(struct volume *v, struct json source, const char **ret, struct error *err);
        bool (*add)(struct volume *v, struct json source, struct error *err);
    } kinds[] = {
        { "emptyDir", place_empty, NULL },
        { "hostPath", place_host_path, NULL },
        { "persistentVolumeClaim", place_claim, NULL },
        { "configMap", NULL, add_config_map },
        { "secret", NULL, add_secret },
        { "downwardAPI", NULL, add_downward },
        { "projected", NULL, add_projected },
    };
    for (size_t i = 0; i < lengthof(kinds); i++) {
        struct json source = json_get(volume, kinds[i].field);
        if (json_present(source))
            return kinds[i].place ? kinds[i].place(v, source, ret, err)
                                  : place_files(v, source, ret, err, kinds[i].add);
    }
    return fail(err,
        ERR_UNSUPPORTED,
        "volume %s: a kind that this node does not have; it has emptyDir, hostPath, configMap, "
        "secret, projected, downwardAPI and persistentVolumeClaim",
        v->name);
}

bool volumes_prepare(struct arena *a, const struct pod_view *view, const char *pod_directory,
    struct json *ret, const char **ret_audience, struct error *err)
{
    struct json_builder places;
    json_builder_init(&places, a);
    *ret_audience = NULL;
    json_each (volume, json_get(view->pod, "spec.volumes")) {
        const char *name = json_get_text(*volume, "name"), *place;
        struct volume v = { .arena = a,
            .view = view,
            .name = name,
            .owner = volumes_owner(view->pod),
            .directory = arena_printf(a, "%s/volumes/%s", pod_directory, name) };
        if (!place_volume(&v, *volume, &place, err)) {
            *ret_audience = v.audience;
            return false;
        }
        json_put(&places, name, json_str(place));
    }
    *ret = json_map_end(&places);
    return true;
}

static int compare_mounts(const void *a, const void *b)
{
    return strcmp(((const struct root_mount *)a)->to, ((const struct root_mount *)b)->to);
}

static bool lies_in(const char *path, const struct root_mount *mounts, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t length = strlen(mounts[i].to);
        if (strncmp(path, mounts[i].to, length) == 0 && (path[length] == '/' || !path[length]))
            return true;
    }
    return false;
}

/* Creates directories that a subPath names. A link in the volume may not lead out of it. */
static bool check_sub_path(const char *from, const char *sub, struct error *err)
{
    int root = open(from, O_PATH | O_CLOEXEC);
    if (root < 0)
        return fail_errno(err, errno, "%s", from);
    int fd = tree_open_below(root, sub, true, err);
    close(root);
    if (fd < 0)
        return fail_in(err, "subPath %s must stay inside the volume", sub);
    close(fd);
    return true;
}

static bool mount_of(struct arena *a, struct json m, struct json places, struct json env,
    struct root_mount *ret, struct error *err)
{
    const char *name = json_get_text(m, "name"), *path = json_get_text(m, "mountPath");
    const char *expr = json_get_text(m, "subPathExpr");
    const char *sub = expr ? fields_expand(a, expr, env) : json_get_text(m, "subPath");
    *ret = (struct root_mount){ .from = json_text(json_member(places, name)),
        .to = tree_path_clean(a, path ? path : ""),
        .read_only = json_get_bool(m, "readOnly", false) };
    if (!ret->from)
        return fail(err, ERR_NOT_FOUND, "volume %s is not in spec.volumes", name);
    if (text_eq(ret->to, "/"))
        return fail(err,
            ERR_INVALID,
            "mountPath %s of volume %s is the root of the file system: mount it on a directory",
            path ? path : "\"\"",
            name);
    if (text_empty(sub))
        return true;
    if (sub[0] == '/')
        return fail(err, ERR_INVALID, "subPath %s: must be relative to the volume", sub);
    ret->below = sub;
    return check_sub_path(ret->from, sub, err);
}

bool volumes_mounts(struct arena *a, struct json container, struct json places, struct json env,
    const struct root_mount *more, const struct root_mount **ret, size_t *ret_count,
    struct error *err)
{
    struct json list = json_get(container, "volumeMounts");
    size_t count = 0;
    while (more[count].to)
        count++;
    struct root_mount *mounts = arena_array(a, list.count + count + 1, sizeof(*mounts));
    count = 0;
    json_each (m, list)
        if (!mount_of(a, *m, places, env, &mounts[count++], err))
            return false;
    for (size_t volumes = count; more->to; more++)
        if (!lies_in(more->to, mounts, volumes))
            mounts[count++] = *more;
    qsort(mounts, count, sizeof(*mounts), compare_mounts);
    *ret = mounts;
    *ret_count = count;
    return true;
}
