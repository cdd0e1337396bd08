/* A whole node on the built-in API server, with real processes. */

#include "node/node.h"

#include <unistd.h>

#include "kube/file.h"
#include "kube/pod_log.h"
#include "node/cgroup.h"
#include "node/image_map.h"
#include "node/process_runtime.h"
#include "base/tree.h"
#include "tests/node/place.h"

#define SLICES "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"

static int64_t restarts(struct place *p, const char *name)
{
    return json_get_int(pod_now(p, name), "status.containerStatuses.0.restartCount", -1);
}

/* The notes of all events with this reason. */
static const char *notes(struct place *p, const char *reason)
{
    struct json all = harbor_do(&p->harbor, "GET", "/api/v1/namespaces/default/events", NULL);
    const char *text = "";
    json_each (e, json_get(all, "items"))
        if (text_eq(json_get_text(*e, "reason"), reason))
            text = arena_printf(test_arena(), "%s%s\n", text, json_get_text(*e, "message"));
    return text;
}

/* Its probe goes on asking while new versions of the object come; it once looked at old ones. */
TEST(node_restarts_what_its_liveness_probe_finds_dead)
{
    struct place p;
    place_open(&p);
    run_pod(&p,
        "web",
        "trap exit\\\\ 9 TERM; while :; do sleep 0.05; done",
        ", 'ports': [{'name': 'web', 'containerPort': 80}], "
        "'livenessProbe': {'exec': {'command': ['sh', '-c', 'test ! -e $HOME/sick']}, "
        "'periodSeconds': 1, 'timeoutSeconds': 60, 'failureThreshold': 1}, "
        "'lifecycle': {'preStop': {'exec': {'command': ['sh', '-c', 'rm $HOME/sick']}}}");
    await(&p, is_ready(&p, "web"));
    struct json pod = pod_now(&p, "web");
    for (int i = 0; i < 3; i++)
        harbor_do(&p.harbor,
            "PATCH",
            PODS "/web",
            arena_printf(test_arena(), "{'metadata': {'labels': {'turn': '%d'}}}", i));
    const char *sick = arena_printf(test_arena(),
        "%s/pods/%s/containers/main/home/sick",
        p.harbor.dir,
        json_get_text(pod, "metadata.uid"));
    fclose(fopen(sick, "we"));
    await(&p, restarts(&p, "web") == 1 && is_ready(&p, "web"));
    await(&p, *notes(&p, "Killing"));
    check_text(notes(&p, "Killing"), "Container main failed liveness probe, will be restarted\n");
    check_text(
        notes(&p, "Unhealthy"), "Liveness probe failed: command terminated with exit code 1\n");
    place_close(&p);
}

struct reading {
    struct loop *loop;
    const struct pod_log_source *source;
    struct pod_log_stream *stream;
    struct buf text;
    int wakes;
    bool ended;
};

static void read_on(struct reading *r)
{
    char bytes[100];
    for (size_t count = 1; count && !r->ended;) {
        count = r->source->read(r->source->self, r->stream, bytes, sizeof(bytes), &r->ended);
        buf_add(&r->text, bytes, count);
    }
}

static void woken(void *ctx)
{
    struct reading *r = ctx;
    r->wakes++;
    read_on(r);
}

static void reading_open(struct reading *r, struct place *p, struct pod_log_request request)
{
    struct error err = { 0 };
    *r = (struct reading){
        .loop = p->loop, .source = node_logs(p->node), .text = BUF_INIT(1 << 20)
    };
    request.ns = "default";
    request.pod = "web";
    request.container = "main";
    r->stream = r->source->open(r->source->self, &request, woken, r, &err);
    if (!r->stream)
        test_fail(__FILE__, __LINE__, "%s", err.text);
    read_on(r);
}

static const char *reading_close(struct reading *r)
{
    const char *text = arena_strdup(test_arena(), buf_text(&r->text));
    r->source->close(r->source->self, r->stream);
    buf_done(&r->text);
    return text;
}

TEST(node_logs_are_followed_to_the_end_of_their_run)
{
    struct place p;
    place_open(&p);
    run_pod(&p,
        "web",
        "i=0; while [ $i -lt 100 ]; do echo line $i; i=$((i+1)); done; "
        "until [ -e $HOME/go ]; do sleep 0.05; done; echo last; sleep 0.1",
        "");
    await(&p, is_ready(&p, "web"));
    struct reading r;
    reading_open(
        &r, &p, (struct pod_log_request){ .follow = true, .tail_lines = -1, .limit_bytes = -1 });
    await(&r, strstr(buf_text(&r.text), "line 99\n"));
    check(text_starts(buf_text(&r.text), "line 0\nline 1\n"));
    check(!r.ended);
    const char *go = arena_printf(test_arena(),
        "%s/pods/%s/containers/main/home/go",
        p.harbor.dir,
        json_get_text(pod_now(&p, "web"), "metadata.uid"));
    fclose(fopen(go, "we"));
    await(&r, r.ended);
    check(r.wakes > 0);
    check(text_ends(reading_close(&r), "line 99\nlast\n"));

    await(&p, restarts(&p, "web") >= 1);
    reading_open(&r,
        &p,
        (struct pod_log_request){
            .previous = true, .follow = true, .tail_lines = 2, .limit_bytes = 12 });
    check(r.ended);
    check_text(reading_close(&r), "line 99\nlast");
    place_close(&p);
}

TEST(node_logs_that_are_not_there_say_why)
{
    struct place p;
    place_open(&p);
    run_pod(&p, "web", "sleep 1000", ", 'envFrom': [{'secretRef': {'name': 'none'}}]");
    await(&p,
        text_eq(
            json_get_text(pod_now(&p, "web"), "status.containerStatuses.0.state.waiting.reason"),
            "CreateContainerConfigError"));
    const struct pod_log_source *logs = node_logs(p.node);
    static const struct {
        struct pod_log_request request;
        enum error_code code;
        const char *text;
    } cases[] = {
        { { .pod = "none", .container = "main" }, ERR_NOT_FOUND, "pod none is not on this node" },
        { { .pod = "web", .container = "x" }, ERR_INVALID, "container x is not valid for pod web" },
        { { .pod = "web", .container = "main" },
            ERR_NOT_FOUND,
            "container \"main\" in pod \"web\" is waiting to start: CreateContainerConfigError" },
        { { .pod = "web", .container = "main", .previous = true },
            ERR_NOT_FOUND,
            "previous terminated container \"main\" in pod \"web\" not found" },
    };
    for (size_t i = 0; i < lengthof(cases); i++) {
        struct error err;
        struct pod_log_request request = cases[i].request;
        request.ns = "default";
        check(!logs->open(logs->self, &request, woken, NULL, &err));
        check_int(err.code, cases[i].code);
        check_text(err.text, cases[i].text);
    }
    place_close(&p);
}

TEST(node_stops_a_pod_after_it_has_left_its_services_and_has_answered)
{
    struct place p;
    place_open(&p);
    run_pod(&p,
        "web",
        "asked() { touch $HOME/asked; exit 0; }; trap asked TERM; while :; do sleep 0.05; done",
        "");
    await(&p, is_ready(&p, "web"));
    struct json pod = pod_now(&p, "web");
    const char *uid = json_get_text(pod, "metadata.uid");
    static const char slice[] =
        "{'metadata': {'name': 'web', 'labels': {'kubernetes.io/service-name': 'web'}}, "
        "'addressType': 'IPv4', 'endpoints': [{'addresses': ['%s'], 'conditions': {'ready': %s}, "
        "'targetRef': {'kind': 'Pod', 'name': 'web', 'uid': '%s'}}]}";
    const char *ip = json_get_text(pod, "status.podIP");
    harbor_do(&p.harbor, "POST", SLICES, arena_printf(test_arena(), slice, ip, "true", uid));
    p.in_use = true;
    harbor_do(&p.harbor, "DELETE", PODS "/web?gracePeriodSeconds=600", NULL);
    rig_turn_for(p.loop, 300);
    harbor_do(&p.harbor, "PUT", SLICES "/web", arena_printf(test_arena(), slice, ip, "false", uid));
    rig_turn_for(p.loop, 300);
    const char *asked =
        arena_printf(test_arena(), "%s/pods/%s/containers/main/home/asked", p.harbor.dir, uid);
    check(is_ready(&p, "web") && access(asked, F_OK) != 0);
    p.in_use = false;
    int status = 200;
    await(&p, (harbor_ask(&p.harbor, "GET", PODS "/web", NULL, &status), status == 404));
    place_close(&p);
}

/* How the last run of `main` ended, once it has. */
static const char *last_word(struct place *p, const char *name)
{
    const char *path = "status.containerStatuses.0.state.terminated";
    await(p, json_present(json_get(pod_now(p, name), path)));
    return json_get_text(json_get(pod_now(p, name), path), "message");
}

static void run_once(
    struct place *p, const char *name, const char *script, const char *of_container)
{
    run_pod_with(p, name, script, of_container, ", 'restartPolicy': 'Never'");
}

TEST(node_hands_on_the_last_word_of_a_container)
{
    static const struct {
        const char *name, *script, *rest, *want;
    } cases[] = {
        { "plain", "printf last >/dev/termination-log", "", "last" },
        { "path",
            "mkdir -p $HOME/x; printf other >/tmp/leeboard-test-word; exit 1",
            ", 'terminationMessagePath': '/tmp/leeboard-test-word'",
            "other" },
        { "bytes", "printf a\\\\\\\\377b >/dev/termination-log", "", "a?b" },
        { "quiet", "echo from the log; exit 3", "", NULL },
        { "log",
            "echo from the log; exit 3",
            ", 'terminationMessagePolicy': 'FallbackToLogsOnError'",
            "from the log\n" },
        { "both",
            "echo from the log; printf word >/dev/termination-log; exit 3",
            ", 'terminationMessagePolicy': 'FallbackToLogsOnError'",
            "word" },
    };
    struct place p;
    place_open(&p);
    for (size_t i = 0; i < lengthof(cases); i++)
        run_once(&p, cases[i].name, cases[i].script, cases[i].rest);
    for (size_t i = 0; i < lengthof(cases); i++)
        check_text(last_word(&p, cases[i].name), cases[i].want);
    check(access("/tmp/leeboard-test-word", F_OK) != 0);
    place_close(&p);
}

TEST(node_lets_pods_resolve_services_that_come_later)
{
    struct place p;
    place_open(&p);
    if (!process_runtime_node(p.runtime)->mounts) { /* not root: a condition says so */
        place_close(&p);
        return;
    }
    run_once(&p,
        "web",
        "until getent hosts db.default.svc.cluster.local; do sleep 0.05; done; "
        "getent hosts db >/dev/termination-log; getent hosts web >>/dev/termination-log",
        "");
    await(&p, is_ready(&p, "web"));
    struct json service = harbor_do(&p.harbor,
        "POST",
        "/api/v1/namespaces/default/services",
        "{'metadata': {'name': 'db'}, 'spec': {'ports': [{'port': 80}]}}");
    const char *word = last_word(&p, "web");
    check(text_starts(word, json_get_text(service, "spec.clusterIP")));
    check(strstr(word, "db.default.svc.cluster.local"));
    check(strstr(word, json_get_text(pod_now(&p, "web"), "status.podIP")));
    place_close(&p);
}

TEST(node_gives_the_address_of_the_machine_to_who_asks_for_its_network)
{
    struct place p;
    place_open(&p);
    run_pod_with(&p,
        "web",
        "echo $HOSTNAME $IP >/dev/termination-log",
        ", 'env': [{'name': 'IP', 'valueFrom': {'fieldRef': {'fieldPath': 'status.podIP'}}}]",
        ", 'hostNetwork': true, 'restartPolicy': 'Never'");
    check_text(last_word(&p, "web"), "here 127.0.0.1\n");
    check_text(json_get_text(pod_now(&p, "web"), "status.podIP"), "127.0.0.1");
    place_close(&p);
}

static struct json condition(struct place *p, const char *pod, const char *type)
{
    return json_find(json_get(pod_now(p, pod), "status.conditions"), "type", type);
}

/* A pod that nobody has given to a node yet. */
static void post_with_host_port(struct place *p, const char *name, uint16_t port)
{
    harbor_do(&p->harbor,
        "POST",
        PODS,
        arena_printf(test_arena(),
            "{'metadata': {'name': '%s'}, 'spec': {'automountServiceAccountToken': false, "
            "'terminationGracePeriodSeconds': 0, 'containers': [{'name': 'main', 'image': "
            "'busybox', 'command': ['sh', '-c', 'while :; do sleep 0.05; done'], 'ports': "
            "[{'containerPort': 80, 'hostPort': %u}]}]}}",
            name,
            port));
}

static bool waits_for_port(struct place *p, const char *pod, const char *why)
{
    const char *text = json_get_text(condition(p, pod, "PodScheduled"), "message");
    return text &&
           text_starts(text,
               "0/1 nodes are available: 1 node(s) didn't have free ports for the "
               "requested pod ports (") &&
           strstr(text, why);
}

TEST(node_takes_no_pod_whose_host_port_is_not_free)
{
    struct place p;
    uint16_t port;
    int taken = raw_listen(&port);
    place_open(&p);
    post_with_host_port(&p, "one", port);
    await(&p, waits_for_port(&p, "one", "Address already in use; name another hostPort"));
    close(taken);
    await(&p, is_ready(&p, "one"));
    check(!json_present(condition(&p, "one", "leeboard.dev/Limited")) ||
          !strstr(
              json_get_text(condition(&p, "one", "leeboard.dev/Limited"), "message"), "hostPort"));
    post_with_host_port(&p, "two", port);
    await(&p,
        waits_for_port(
            &p, "two", arena_printf(test_arena(), "(pod default/one has port %u", port)));
    harbor_do(&p.harbor, "DELETE", PODS "/one", NULL);
    await(&p, is_ready(&p, "two"));
    place_close(&p);
}

TEST(node_runs_nothing_as_root_that_must_not_be)
{
    struct place p;
    if (geteuid() != 0)
        return; /* who is not root runs nothing as root */
    place_open(&p);
    run_pod_with(&p, "web", "true", "", ", 'securityContext': {'runAsNonRoot': true}");
    await(&p,
        text_eq(
            json_get_text(pod_now(&p, "web"), "status.containerStatuses.0.state.waiting.reason"),
            "CreateContainerConfigError"));
    place_close(&p);
}

TEST(node_names_what_it_does_not_do)
{
    struct place p;
    place_open(&p);
    run_pod_with(&p,
        "web",
        "while :; do sleep 0.05; done",
        ", 'tty': true, 'stdin': false, 'ports': [{'name': 'web', 'containerPort': 80, 'hostPort':"
        " 8080, 'protocol': 'UDP'}], 'securityContext': {'allowPrivilegeEscalation': true, "
        "'runAsNonRoot': false},"
        " 'resources': {'limits': {'memory': '1Gi'}}, 'volumeMounts': [{'name': 'v', 'mountPath':"
        " '/leeboard-test'}]",
        ", 'nodeSelector': {'disk': 'ssd'}, 'volumes': [{'name': 'v', 'emptyDir': {'sizeLimit':"
        " '1Gi'}}], 'readinessGates': [{'conditionType': 'example.com/open'}]");
    await(&p, json_present(condition(&p, "web", "leeboard.dev/Limited")));
    const char *text = json_get_text(condition(&p, "web", "leeboard.dev/Limited"), "message");
    static const char want[] =
        "Containers run as local processes; not in effect: spec.nodeSelector, "
        "spec.volumes[v].emptyDir.sizeLimit, spec.containers[main].resources.limits.memory, "
        "spec.containers[main].tty, spec.containers[main].ports[web].hostPort. Limits need "
        "control groups: there are no control groups of version 2 at /no/cgroups/here.";
    check(text_starts(text, want));
    bool mounts = process_runtime_node(p.runtime)->mounts;
    check((strstr(text, "names of Services do not resolve") == NULL) == mounts);

    await(&p, is_ready(&p, "web")); /* the container; the pod waits for its gate */
    struct json ready = condition(&p, "web", "Ready");
    check_text(json_get_text(ready, "status"), "False");
    check_text(json_get_text(ready, "reason"), "ReadinessGatesNotReady");
    check_text(json_get_text(ready, "message"),
        "corresponding condition of pod readiness gate \"example.com/open\" does not exist.");
    struct json all = json_get(pod_now(&p, "web"), "status.conditions");
    struct json_builder b;
    json_builder_init(&b, test_arena());
    json_push_all(&b, all);
    json_push(&b, test_json("{'type': 'example.com/open', 'status': 'True'}"));
    harbor_do(&p.harbor,
        "PATCH",
        PODS "/web/status",
        json_to_text(
            test_arena(), json_fields(test_arena(), { "status.conditions", json_list_end(&b) })));
    await(&p, text_eq(json_get_text(condition(&p, "web", "Ready"), "status"), "True"));
    place_close(&p);
}

TEST(node_ends_a_pod_that_is_active_for_too_long)
{
    struct place p;
    place_open(&p);
    run_pod_with(&p, "web", "sleep 1000", "", ", 'activeDeadlineSeconds': 1");
    await(&p, text_eq(json_get_text(pod_now(&p, "web"), "status.phase"), "Failed"));
    check_text(json_get_text(pod_now(&p, "web"), "status.reason"), "DeadlineExceeded");
    place_close(&p);
}

TEST(node_puts_programs_into_control_groups)
{
    char root[] = "/tmp/leeboard-cgroup-XXXXXX";
    struct place p;
    check(mkdtemp(root));
    FILE *f = fopen(arena_printf(test_arena(), "%s/cgroup.controllers", root), "we");
    check(f && fputs("cpu memory\n", f) >= 0 && fclose(f) == 0);
    place_open_with(&p, root);
    run_pod(&p, "web", "sleep 1000", ", 'resources': {'limits': {'memory': '1Gi'}}");
    /* The kernel would have made the file that a program enters its group by. */
    await(&p,
        strstr(json_get_text(
                   pod_now(&p, "web"), "status.containerStatuses.0.lastState.terminated.message")
                   ?: "",
            "/main/cgroup.procs"));
    struct str limit;
    struct error err;
    const char *uid = json_get_text(pod_now(&p, "web"), "metadata.uid");
    check(file_read(test_arena(),
        arena_printf(test_arena(), "%s/leeboard-here/%s/main/memory.max", root, uid),
        100,
        &limit,
        &err));
    check_text(limit.ptr, "1073741824");
    place_close(&p);
    check(tree_remove(root, NULL));
}

/* What the kernel has in a file of a pod's group. */
static const char *limit_of(struct place *p, const char *pod, const char *file)
{
    char text[200] = "";
    const char *path = arena_printf(test_arena(),
        "/sys/fs/cgroup/leeboard-here/%s/main/%s",
        json_get_text(pod_now(p, pod), "metadata.uid"),
        file);
    FILE *f = fopen(path, "re");
    check(f && fgets(text, sizeof(text), f) && fclose(f) == 0);
    return str_dup(test_arena(), str_trim(str_of(text)));
}

TEST(node_holds_programs_to_their_limits_by_the_kernels_control_groups)
{
    struct place p;
    struct error err;
    struct cgroups *probe = cgroups_new("/sys/fs/cgroup", "leeboard-probe", &err);
    if (!probe) {
        printf("     skipped: %s\n", err.text);
        return;
    }
    cgroups_free(probe);
    place_open_with(&p, "/sys/fs/cgroup");
    run_pod(&p,
        "modest",
        "while :; do sleep 0.05; done",
        ", 'resources': {'limits': {'cpu': '500m', 'memory': '64Mi'}}");
    await(&p, is_ready(&p, "modest"));
    check_text(limit_of(&p, "modest", "cpu.max"), "50000 100000");
    check_text(limit_of(&p, "modest", "memory.max"), "67108864");
    check(*limit_of(&p, "modest", "cgroup.procs"));
    run_pod(&p, "greedy", "tail /dev/zero", ", 'resources': {'limits': {'memory': '16Mi'}}");
    await(&p,
        text_eq(json_get_text(pod_now(&p, "greedy"),
                    "status.containerStatuses.0.lastState.terminated.reason"),
            "OOMKilled"));
    check(is_ready(&p, "modest"));
    place_close(&p);
    struct cgroups *left = cgroups_new("/sys/fs/cgroup", "leeboard-here", &err);
    check(left);
    cgroups_remove(left, NULL);
    cgroups_free(left);
    check(access("/sys/fs/cgroup/leeboard-here", F_OK) != 0);
}

/* The first line of a file that a probe writes; "": there is none yet. */
static const char *first_line(const char *path)
{
    char line[100] = "";
    FILE *f = fopen(path, "re");
    if (f && !fgets(line, sizeof(line), f))
        line[0] = 0;
    if (f)
        fclose(f);
    return arena_strdup(test_arena(), line);
}

/* A pod of this much is taken over by another node; what its probe writes then is word. */
static void take_over(const char *of_container, const char *of_pod, bool forget, const char *word)
{
    struct place p;
    place_open(&p);
    harbor_do(&p.harbor,
        "POST",
        "/api/v1/namespaces/default/configmaps",
        "{'metadata': {'name': 'words'}, 'data': {'k': 'ahoy'}}");
    const char *probed = arena_printf(test_arena(), "%s/probed", p.harbor.dir);
    run_pod_with(&p,
        "web",
        "while :; do sleep 0.05; done",
        arena_printf(test_arena(),
            ", 'env': [{'name': 'WORD', 'valueFrom': {'configMapKeyRef': {'name': 'words', 'key': "
            "'k'}}}], 'readinessProbe': {'periodSeconds': 1, 'exec': {'command': ['sh', '-c', "
            "'echo x$WORD >> %s']}}%s",
            probed,
            of_container),
        of_pod);
    await(&p, is_ready(&p, "web"));
    node_free(p.node);
    process_runtime_free(p.runtime);
    check(unlink(probed) == 0);
    if (forget)
        harbor_do(&p.harbor, "DELETE", "/api/v1/namespaces/default/configmaps/words", NULL);
    place_start_node(&p, "/no/cgroups/here");
    await(&p, *first_line(probed));
    check_text(first_line(probed), word);
    check_text(notes(&p, "Failed"), "");
    place_stop(&p);
    struct json state = json_get(pod_now(&p, "web"), "status.containerStatuses.0.state");
    check(json_present(json_get(state, "terminated")));
    place_close(&p);
}

/* Its volumes are not there at once: a token must be asked for first. */
TEST(node_that_took_over_runs_probes_with_what_the_container_has)
{
    take_over(", 'volumeMounts': [{'name': 't', 'mountPath': '/leeboard-test'}]",
        ", 'volumes': [{'name': 't', 'projected': {'sources': [{'serviceAccountToken': {'path': "
        "'token'}}]}}]",
        false,
        "xahoy\n");
}

TEST(node_that_took_over_does_not_ask_what_runs_for_what_it_needs_to_start)
{
    take_over("", "", true, "x\n");
}

TEST(node_that_stops_leaves_a_true_status)
{
    struct place p;
    place_open(&p);
    run_pod(&p, "web", "while :; do sleep 0.05; done", "");
    await(&p, is_ready(&p, "web"));
    place_stop(&p);
    check(!is_ready(&p, "web"));
    check_text(json_get_text(condition(&p, "web", "Ready"), "status"), "False");
    place_close(&p);
}
