#include "node/volumes.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/tree.h"
#include "kube/file.h"
#include "tests/node/shelf.h"

static const char *new_folder(void)
{
    char name[] = "/tmp/leeboard-volumes-XXXXXX";
    check(mkdtemp(name));
    return arena_strdup(test_arena(), name);
}

static const char *contents(const char *folder, const char *file)
{
    struct str text;
    struct error err;
    const char *path = arena_printf(test_arena(), "%s/%s", folder, file);
    return file_read(test_arena(), path, 1 << 20, &text, &err) ? text.ptr : NULL;
}

static bool prepare(
    struct shelf *s, const char *folder, const char *volumes, struct json *ret, struct error *err)
{
    const char *audience;
    struct pod_view v = { .pod = json_with(test_arena(),
                              test_json("{'metadata': {'name': 'web', 'namespace': 'ns'}}"),
                              "spec.volumes",
                              test_json(volumes)),
        .objects = s->objects,
        .tokens = test_json("{'': 'tok'}") };
    return volumes_prepare(test_arena(), &v, folder, ret, &audience, err);
}

TEST(volumes_of_objects_are_files_that_change_all_at_once)
{
    struct shelf s;
    shelf_open(&s);
    struct error err;
    struct json places;
    const char *
        folder = new_folder(),
       *volumes =
           "[{'name': 'c', 'configMap': {'name': 'cm'}}, {'name': 'p', 'projected': {'defaultMode':"
           " 256, 'sources': [{'secret': {'name': 'sec', 'items': [{'key': 'T', 'path': 'd/t'}]}},"
           " {'downwardAPI': {'items': [{'path': 'name', 'fieldRef': {'fieldPath':"
           " 'metadata.name'}}]}}, {'serviceAccountToken': {'path': 'token'}}]}}]";
    shelf_put(&s, "ConfigMap", "cm", "{'data': {'a': '1', 'b': '2'}, 'binaryData': {'z': 'AP8='}}");
    shelf_put(&s, "Secret", "sec", "{'data': {'T': 'aHVzaA==', 'U': 'eA=='}}");
    check(prepare(&s, folder, volumes, &places, &err));
    const char *c = json_get_text(places, "c"), *p = json_get_text(places, "p");
    check_text(contents(c, "a"), "1");
    check_text(contents(c, "b"), "2");
    check_text(contents(p, "d/t"), "hush");
    check_text(contents(p, "name"), "web");
    check_text(contents(p, "token"), "tok");
    struct stat st;
    check(stat(arena_printf(test_arena(), "%s/d/t", p), &st) == 0);
    check_int(st.st_mode & 0777, 0400);
    check(access(arena_printf(test_arena(), "%s/U", p), F_OK) != 0);

    char before[128] = "", same[128] = "";
    const char *data = arena_printf(test_arena(), "%s/..data", c);
    check(readlink(data, before, sizeof(before) - 1) > 0);
    check(prepare(&s, folder, volumes, &places, &err));
    check(readlink(data, same, sizeof(same) - 1) > 0);
    check_text(same, before);
    shelf_put(&s, "ConfigMap", "cm", "{'data': {'a': 'new', 'd': '4'}}");
    check(prepare(&s, folder, volumes, &places, &err));
    check_text(contents(c, "a"), "new");
    check_text(contents(c, "d"), "4");
    check(access(arena_printf(test_arena(), "%s/b", c), F_OK) != 0);
    check(access(arena_printf(test_arena(), "%s/%s", c, before), F_OK) != 0);
    check(tree_remove(folder, NULL));
    check(access(folder, F_OK) != 0);
    shelf_close(&s);
}

/* Also one that was open to all users, as earlier releases left it. */
TEST(a_provisioned_claim_is_written_by_its_owner_only)
{
    struct shelf s;
    shelf_open(&s);
    struct error err;
    struct json places;
    struct stat st;
    const char *folder = new_folder();
    const char *path = arena_printf(test_arena(), "%s/claim", folder);
    shelf_put(&s,
        "PersistentVolumeClaim",
        "data",
        "{'metadata': {'uid': 'u7'}, 'spec': {'volumeName': 'pvc-u7'}}");
    shelf_put(&s,
        "PersistentVolume",
        "pvc-u7",
        arena_printf(test_arena(), "{'spec': {'hostPath': {'path': '%s'}}}", path));
    for (int round = 0; round < 2; round++) {
        check(prepare(&s,
            folder,
            "[{'name': 'd', 'persistentVolumeClaim': {'claimName': 'data'}}]",
            &places,
            &err));
        check(stat(path, &st) == 0);
        check_int(st.st_mode & 0777, 0755);
        check(chmod(path, 0777) == 0);
    }
    check(tree_remove(folder, NULL));
    shelf_close(&s);
}

TEST(volumes_of_the_machine_are_places)
{
    struct shelf s;
    shelf_open(&s);
    struct error err;
    struct json places;
    const char *folder = new_folder();
    shelf_put(&s, "PersistentVolumeClaim", "data", "{'spec': {'volumeName': 'pv1'}}");
    shelf_put(&s,
        "PersistentVolume",
        "pv1",
        arena_printf(test_arena(), "{'spec': {'hostPath': {'path': '%s/deep/pv'}}}", folder));
    check(prepare(&s,
        folder,
        "[{'name': 'e', 'emptyDir': {}}, {'name': 'h', 'hostPath': {'path': '/tmp', 'type':"
        " 'Directory'}}, {'name': 'd', 'persistentVolumeClaim': {'claimName': 'data'}}]",
        &places,
        &err));
    check_text(json_get_text(places, "h"), "/tmp");
    check_text(json_get_text(places, "d"), arena_printf(test_arena(), "%s/deep/pv", folder));
    struct stat st;
    check(stat(json_get_text(places, "e"), &st) == 0 && (st.st_mode & 0777) == 0777);

    const struct root_mount *mounts;
    size_t count;
    check(volumes_mounts(test_arena(),
        test_json("{'volumeMounts': [{'name': 'e', 'mountPath': '/m/x/'}, {'name': 'd',"
                  " 'mountPath': '/m', 'readOnly': true, 'subPathExpr': 'of-$(POD)'}]}"),
        places,
        test_json("{'POD': 'web'}"),
        (const struct root_mount[]){
            { "/own", "/dev/own", false }, { "/own", "/m/own", false }, { 0 } },
        &mounts,
        &count,
        &err));
    check_int((int64_t)count, 3); /* /m/own lies in a volume */
    check_text(mounts[0].to, "/dev/own");
    mounts++;
    check_text(mounts[0].to, "/m");
    check(mounts[0].read_only && text_ends(mounts[0].from, "/deep/pv"));
    check_text(mounts[0].below, "of-web");
    check(access(arena_printf(test_arena(), "%s/of-web", mounts[0].from), F_OK) == 0);
    check_text(mounts[1].to, "/m/x");
    check(tree_remove(folder, NULL));
    shelf_close(&s);
}

TEST(volumes_say_what_is_missing)
{
    struct shelf s;
    shelf_open(&s);
    shelf_put(&s, "ConfigMap", "cm", "{'data': {}}");
    shelf_put(&s, "PersistentVolumeClaim", "data", "{'spec': {}}");
    static const char *const rows[][2] = {
        { "[{'name': 'v', 'configMap': {'name': 'no'}}]", "configmap \"no\" not found" },
        { "[{'name': 'v', 'secret': {'secretName': 'no'}}]", "secret \"no\" not found" },
        { "[{'name': 'v', 'configMap': {'name': 'cm', 'items': [{'key': 'k', 'path': 'k'}]}}]",
            "references non-existent config key: k" },
        { "[{'name': 'v', 'hostPath': {'path': '/no/such'}}]", "hostPath /no/such" },
        { "[{'name': 'v', 'hostPath': {'path': '/tmp', 'type': 'File'}}]",
            "hostPath type check failed: /tmp is not a file" },
        { "[{'name': 'v', 'persistentVolumeClaim': {'claimName': 'no'}}]",
            "persistentvolumeclaim \"no\" not found" },
        { "[{'name': 'v', 'persistentVolumeClaim': {'claimName': 'data'}}]", "unbound" },
        { "[{'name': 'v', 'nfs': {}}]", "volume v: a kind that this node does not have" },
        { "[{'name': 'v', 'projected': {'sources': [{'serviceAccountToken': {'path': 't',"
          " 'audience': 'x'}}]}}]",
            "waiting for a token" },
    };
    const char *folder = new_folder();
    for (size_t i = 0; i < lengthof(rows); i++) {
        struct error err;
        struct json places;
        check_fails(prepare(&s, folder, rows[i][0], &places, &err), err, rows[i][1]);
    }
    check(tree_remove(folder, NULL));
    shelf_close(&s);
}
