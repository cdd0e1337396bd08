/* What pods of other users get, with real processes: for that the tests must run as root. */

#include <unistd.h>

#include "node/process_runtime.h"
#include "tests/node/place.h"
#include "tests/test.h"

static const char *last_word(struct place *p, const char *name)
{
    const char *path = "status.containerStatuses.0.state.terminated";
    await(p, json_present(json_get(pod_now(p, name), path)));
    return json_get_text(json_get(pod_now(p, name), path), "message");
}

static bool has_users(struct place *p)
{
    const struct node_runtime *r = process_runtime_node(p->runtime);
    return r->users && r->mounts;
}

TEST(a_pod_of_another_user_gets_its_own_group_and_a_home_of_its_own)
{
    struct place p;
    place_open(&p);
    if (has_users(&p)) {
        run_pod_with(&p,
            "web",
            "echo $(id -u) $(id -g) $(stat -c %u:%a $HOME) $(grep NoNewPrivs /proc/self/status) "
            ">/dev/termination-log",
            ", 'securityContext': {'allowPrivilegeEscalation': false}",
            ", 'securityContext': {'runAsUser': 65534}, 'restartPolicy': 'Never'");
        check_text(last_word(&p, "web"), "65534 65534 65534:700 NoNewPrivs: 1\n");
    }
    place_close(&p);
}

/* A token and a Secret can be read by the pod's user, and not by all. */
TEST(files_of_volumes_have_the_owner_and_mode_that_a_kubelet_gives_them)
{
    struct place p;
    place_open(&p);
    if (has_users(&p)) {
        harbor_do(&p.harbor,
            "POST",
            "/api/v1/namespaces/default/secrets",
            "{'metadata': {'name': 's'}, 'data': {'key': 'eA=='}}");
        run_pod_with(&p,
            "web",
            "echo $(stat -Lc %g:%a /s/key) $(cat /s/key) >/dev/termination-log",
            ", 'volumeMounts': [{'name': 's', 'mountPath': '/tmp/../s'}]",
            ", 'volumes': [{'name': 's', 'secret': {'secretName': 's', 'defaultMode': 256}}], "
            "'securityContext': {'runAsUser': 65534, 'fsGroup': 4242}, 'restartPolicy': 'Never'");
        check_text(last_word(&p, "web"), "4242:440 x\n");
        check(access("/s", F_OK) != 0);
    }
    place_close(&p);
}

/* Of an emptyDir: other users of the machine neither read nor write it, the pod's group does. */
TEST(a_volume_belongs_to_the_group_of_its_pod)
{
    struct place p;
    place_open(&p);
    if (has_users(&p)) {
        run_pod_with(&p,
            "web",
            "echo x >/v/new; echo $(stat -c %g /v) $(stat -c %g /v/new) >/dev/termination-log",
            ", 'volumeMounts': [{'name': 'v', 'mountPath': '/v'}]",
            ", 'volumes': [{'name': 'v', 'emptyDir': {}}], "
            "'securityContext': {'runAsUser': 65534, 'fsGroup': 4242}, 'restartPolicy': 'Never'");
        check_text(last_word(&p, "web"), "4242 4242\n");
    }
    place_close(&p);
}

/* The link is made by the first container and would be followed by root. */
TEST(a_sub_path_that_is_a_link_is_not_followed)
{
    struct place p;
    place_open(&p);
    if (has_users(&p)) {
        run_pod_with(&p,
            "web",
            "echo followed >/dev/termination-log",
            ", 'volumeMounts': [{'name': 'v', 'mountPath': '/v', 'subPath': 'link/made'}]",
            ", 'volumes': [{'name': 'v', 'emptyDir': {}}], 'restartPolicy': 'Never', "
            "'initContainers': [{'name': 'first', 'image': 'busybox', 'command': ['ln', '-s',"
            " '/tmp', '/v/link'], 'volumeMounts': [{'name': 'v', 'mountPath': '/v'}]}]");
        const char *path = "status.containerStatuses.0.state.waiting.message", *text;
        await(
            &p, (text = json_get_text(pod_now(&p, "web"), path)) && strstr(text, "symbolic link"));
        check(access("/tmp/made", F_OK) != 0);
    }
    place_close(&p);
}
