"""Pod security: what the labels of namespaces refuse and warn of, in every check, level and version. See differential.py.

A label that changes is seen by the real server a little later, a new namespace at once: so there is one for each case."""
import copy

from differential import JSON_PATCH, MERGE, STRATEGIC

SCRIPTS = []
PREFIX = "pod-security.kubernetes.io/"


def script(function):
    SCRIPTS.append((f"pod_security_{function.__name__}", function))
    return function


def labels(**modes):
    return {PREFIX + mode.replace("_", "-"): value for mode, value in modes.items()}


def namespace(s, suffix, **modes):
    s.post("/api/v1/namespaces", {"metadata": {"name": s.ns + suffix, "labels": labels(**modes)}})
    return s.namespace(suffix)


def container(name="a", *without, **more):
    """One that the restricted level has nothing against; more goes into its securityContext."""
    context = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}, "runAsNonRoot": True,
               "seccompProfile": {"type": "RuntimeDefault"}, **more}
    return {"name": name, "image": "i", "securityContext": {k: v for k, v in context.items() if k not in without}}


def pod(*containers, name="p", annotations=None, **spec):
    return {"metadata": {"name": name, **({"annotations": annotations} if annotations else {})},
            "spec": {"containers": list(containers) or [container()], **spec}}


def context(**more):
    return {"securityContext": more}


def volumes(*sources):
    return pod(volumes=[{"name": f"v{i}", **source} for i, source in enumerate(sources)])


def every_pod():
    yield pod()
    # AppArmor
    for kind in ("RuntimeDefault", "Unconfined"):
        yield pod(**context(appArmorProfile={"type": kind}))
        yield pod(container(appArmorProfile={"type": kind}), container("b", appArmorProfile={"type": "Unconfined"}))
    yield pod(**context(appArmorProfile={"type": "Localhost", "localhostProfile": "x"}))
    yield pod(container(appArmorProfile={"type": "Unconfined"}), **context(appArmorProfile={"type": "Unconfined"}))
    # capabilities
    for add in ([], ["NET_BIND_SERVICE"], ["CHOWN"], ["NET_RAW", "SYS_ADMIN", "NET_RAW", "KILL"], ["CHOWN KILL"], ["ALL"], ["CAP_CHOWN"], ["chown"], [""]):
        yield pod(container(capabilities={"drop": ["ALL"], "add": add}))
    for caps in ({"drop": ["all"]}, {"drop": ["KILL"]}, {"drop": []}, {}, {"add": ["NET_RAW"]}, {"drop": ["KILL", "ALL"], "add": ["NET_BIND_SERVICE", "SYS_TIME"]}):
        yield pod(container(capabilities=caps), container("b", capabilities={"add": ["AUDIT_CONTROL"]}))
    yield pod(container("a", "capabilities"), container("b"), initContainers=[container("c", "capabilities")])
    # the host
    for field in ("hostNetwork", "hostPID", "hostIPC"):
        yield pod(**{field: True})
        yield pod(**{field: False})
    yield pod(hostNetwork=True, hostPID=True, hostIPC=True)
    yield pod({**container(), "ports": [{"containerPort": 80}, {"containerPort": 81, "protocol": "UDP"}]}, hostNetwork=True)
    yield pod({**container(), "ports": [{"containerPort": 80}]})
    yield pod({**container(), "ports": [{"containerPort": 80, "hostPort": 0}]})
    yield pod({**container(), "ports": [{"containerPort": 80, "hostPort": 8080}, {"containerPort": 81, "hostPort": 900}]}, container("b"))
    yield pod({**container(), "ports": [{"containerPort": 80, "hostPort": 80}]}, {**container("b"), "ports": [{"containerPort": 80, "hostPort": 81}]})
    yield pod({**container(), "ports": [{"containerPort": 80, "hostPort": 80}]}, {**container("b"), "ports": [{"containerPort": 80, "hostPort": 80, "protocol": "UDP"}]})
    get, connect = {"httpGet": {"port": 80, "host": "h.example"}}, {"tcpSocket": {"port": 80, "host": "127.0.0.1"}}
    for field in ("livenessProbe", "readinessProbe", "startupProbe"):
        for handler in (get, connect, {"httpGet": {"port": 80}}, {"tcpSocket": {"port": 80}}):
            yield pod({**container("z"), field: handler}, container("b"))
    yield pod({**container("z"), "lifecycle": {"postStart": get, "preStop": connect}}, {**container("b"), "livenessProbe": get})
    yield pod({**container("z"), "lifecycle": {"preStop": {"httpGet": {"port": 80}}}})
    # what a container says of itself
    for value in (True, False):
        yield pod(container("a", "allowPrivilegeEscalation", privileged=value))
        yield pod(container(allowPrivilegeEscalation=value))
        yield pod(container(), container("b", "allowPrivilegeEscalation"), container("c", allowPrivilegeEscalation=value))
        yield pod(container(windowsOptions={"hostProcess": value}), hostNetwork=True)
        yield pod(container(runAsNonRoot=value), container("b"))
        yield pod(container("a", "runAsNonRoot"), container("b"), **context(runAsNonRoot=value))
        yield pod(container(runAsNonRoot=value), container("b", runAsNonRoot=False), **context(runAsNonRoot=value))
    yield pod(container("a", "runAsNonRoot"), container("b", "runAsNonRoot"))
    yield pod(container("a", "runAsNonRoot"), container("b", runAsNonRoot=False))
    for kind in ("Default", "Unmasked"):
        yield pod(container(procMount=kind), hostUsers=False)
        yield pod(container(procMount=kind))
    for user in (0, 1000):
        for users in ({}, {"hostUsers": True}, {"hostUsers": False}):
            yield pod(container(runAsUser=user), container("b"), **users)
            yield pod(container("a", "runAsNonRoot"), **context(runAsUser=user), **users)
        yield pod(container(runAsUser=0), container("b", runAsUser=user), **context(runAsUser=user))
    # SELinux, seccomp, sysctls
    for kind in ("container_t", "container_init_t", "container_kvm_t", "container_engine_t", "spc_t", "container_t container_init_t", ""):
        yield pod(container(seLinuxOptions={"type": kind}))
        yield pod(container(seLinuxOptions={"type": "other"}), **context(seLinuxOptions={"type": kind, "level": "s0:c1"}))
    yield pod(container(seLinuxOptions={"user": "u"}))
    yield pod(container(seLinuxOptions={"role": "r", "type": "x"}), container("b", seLinuxOptions={"user": "u"}), **context(seLinuxOptions={"type": "y"}))
    for kind in ("RuntimeDefault", "Unconfined"):
        yield pod(container("a", "seccompProfile"), **context(seccompProfile={"type": kind}))
        yield pod(container(seccompProfile={"type": kind}), container("b", "seccompProfile"), container("c", seccompProfile={"type": "Unconfined"}))
        yield pod(container(seccompProfile={"type": kind}), **context(seccompProfile={"type": "Unconfined"}))
    yield pod(container(seccompProfile={"type": "Localhost", "localhostProfile": "x"}))
    yield pod(container("a", "seccompProfile"), container("b", "seccompProfile"))
    safe = ("kernel.shm_rmid_forced", "net.ipv4.ip_local_port_range", "net.ipv4.tcp_syncookies", "net.ipv4.ping_group_range",
            "net.ipv4.ip_unprivileged_port_start", "net.ipv4.ip_local_reserved_ports", "net.ipv4.tcp_keepalive_time", "net.ipv4.tcp_fin_timeout",
            "net.ipv4.tcp_keepalive_intvl", "net.ipv4.tcp_keepalive_probes", "net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem")
    yield pod(**context(sysctls=[{"name": name, "value": "1"} for name in safe]))
    yield pod(**context(sysctls=[{"name": name, "value": "1"} for name in ("kernel.msgmax", *safe[:2], "kernel/shmmax", "fs.mqueue.x")]))
    # Windows
    windows = {"name": "a", "image": "i"}
    yield pod(windows, os={"name": "windows"}, **context(runAsNonRoot=True))
    yield pod(windows, os={"name": "linux"})
    yield pod(windows, os={"name": "windows"}, hostNetwork=True, **context(windowsOptions={"hostProcess": True}))
    yield pod({**windows, **context(windowsOptions={"hostProcess": True})}, {**windows, "name": "b", **context(windowsOptions={"hostProcess": True})},
              os={"name": "windows"}, hostNetwork=True, **context(windowsOptions={"hostProcess": True}))
    # volumes
    good = ({"configMap": {"name": "x"}}, {"csi": {"driver": "x"}}, {"downwardAPI": {}}, {"emptyDir": {}}, {"image": {"reference": "x"}},
            {"ephemeral": {"volumeClaimTemplate": {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1"}}}}}},
            {"persistentVolumeClaim": {"claimName": "x"}}, {"projected": {"sources": [{"secret": {"name": "x"}}]}}, {"secret": {"secretName": "x"}})
    bad = ({"hostPath": {"path": "/x"}}, {"gcePersistentDisk": {"pdName": "x"}}, {"awsElasticBlockStore": {"volumeID": "x"}},
           {"azureFile": {"secretName": "x", "shareName": "x"}}, {"nfs": {"server": "x", "path": "/x"}}, {"flexVolume": {"driver": "a/x"}},
           {"cinder": {"volumeID": "x"}}, {"fc": {"targetWWNs": ["x"], "lun": 1}}, {"vsphereVolume": {"volumePath": "x"}})
    yield volumes(*good)
    yield volumes(*good, *bad)
    for source in bad:
        yield volumes(source, {"emptyDir": {}})
    yield volumes(bad[0], bad[0], bad[4])
    # much at once, and containers of all sorts
    yield pod({"name": "a", "image": "i"})
    yield pod({"name": "a", "image": "i"}, {"name": "b", "image": "i"}, initContainers=[{"name": "c", "image": "i"}, {"name": "d", "image": "i", "restartPolicy": "Always"}])
    yield worst()


def worst():
    everything = {"appArmorProfile": {"type": "Unconfined"}, "capabilities": {"add": ["SYS_ADMIN"]}, "privileged": True, "runAsNonRoot": False,
                  "runAsUser": 0, "seccompProfile": {"type": "Unconfined"}, "seLinuxOptions": {"type": "x", "user": "u", "role": "r"}}
    bad = {"name": "a", "image": "i", "ports": [{"containerPort": 80, "hostPort": 80}], "securityContext": everything,
           "livenessProbe": {"httpGet": {"port": 1, "host": "h"}}, "env": [{"name": "x", "value": "1"}, {"name": "x", "value": "2"}]}
    return pod(bad, {**bad, "name": "b", "ports": []}, hostPID=True, volumes=[{"name": "v", "hostPath": {"path": "/x"}}, {"name": "w", "nfs": {"server": "x", "path": "/x"}}],
               securityContext={"sysctls": [{"name": "kernel.msgmax", "value": "1"}], "runAsUser": 0, "seLinuxOptions": {"role": "r"}})


def standard(level):
    def play(s):
        p = namespace(s, "", enforce=level)
        for given in every_pod():
            s.post(p + "/pods?dryRun=All", given)
        s.post(p + "/pods", {**worst(), "metadata": {"generateName": "gen-p-"}})
        s.post(p + "/pods", {**worst(), "metadata": {}})
        s.post(p + "/pods", pod())
        s.post(p + "/pods", pod({"name": "a", "image": "i"}))
        s.get(p + "/pods/p")
    return play


for each in ("privileged", "baseline", "restricted"):
    SCRIPTS.append((f"pod_security_{each}", standard(each)))


@script
def versions(s):
    """The checks as they were: what came later is not looked at, what was relaxed later is."""
    some = [p for i, p in enumerate(every_pod()) if any(word in str(p) for word in (
        "hostUsers", "windows", "sysctls", "container_engine_t", "livenessProbe", "NET_RAW", "nfs", "drop': ['all']"))]
    some += [pod({"name": "a", "image": "i"}), worst(), pod(container(runAsUser=0)), pod(container(seccompProfile={"type": "Unconfined"}))]
    for minor in (0, 7, 8, 18, 19, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 40, 2**63 - 1):
        p = namespace(s, f"-{minor}", enforce="restricted", enforce_version=f"v1.{minor}")
        for given in some if minor < 36 else some[-4:]:
            s.post(p + "/pods?dryRun=All", given)
    for minor in (0, 18, 19, 30, 34):
        p = namespace(s, f"-b{minor}", enforce="baseline", enforce_version=f"v1.{minor}")
        for given in some:
            s.post(p + "/pods?dryRun=All", given)


@script
def modes(s):
    for i, of in enumerate(({"warn": "restricted"}, {"warn": "baseline", "warn_version": "v1.20"}, {"enforce": "baseline", "warn": "restricted"},
                            {"enforce": "restricted", "warn": "baseline"}, {"enforce": "baseline", "warn_version": "v1.20"},
                            {"enforce": "restricted", "enforce_version": "v1.7", "warn_version": "latest"}, {"enforce_version": "v1.20"},
                            {"enforce": "baseline", "warn": "privileged"}, {"audit": "restricted", "audit_version": "v1.30"},
                            {"enforce": "privileged", "enforce_version": "v1.20", "warn": "restricted", "warn_version": "v1.22"})):
        p = namespace(s, f"-{i}", **of)
        for given in (pod(), pod({"name": "a", "image": "i"}), worst(), pod(hostPID=True)):
            s.post(p + "/pods?dryRun=All", given)
            s.post(p + "/podtemplates?dryRun=All", {"metadata": {"name": "t"}, "template": given})


@script
def annotations(s):
    """Profiles in annotations, which the two servers do not warn of alike for other reasons."""
    app_armor, seccomp = "container.apparmor.security.beta.kubernetes.io/", "container.seccomp.security.alpha.kubernetes.io/"
    for i, of in enumerate(({"warn": "baseline"}, {"warn": "restricted"}, {"warn": "baseline", "warn_version": "v1.18"}, {"warn": "restricted", "warn_version": "v1.18"})):
        p = namespace(s, f"-{i}", **of)
        for value in ("runtime/default", "docker/default", "localhost/x", "unconfined"):
            profiles = [{seccomp + "a": value, seccomp + "other": "unconfined"}, {"seccomp.security.alpha.kubernetes.io/pod": value, seccomp + "a": value, seccomp + "b": "unconfined"}]
            if not value.startswith("docker"):
                profiles += [{app_armor + "a": value}, {app_armor + "a": value, app_armor + "b": "unconfined"}]
            for given in profiles:
                for more in ({}, {"appArmorProfile": {"type": "Unconfined"}})[:2 if value == "unconfined" else 1]:
                    body = pod(container("a", "seccompProfile", **more), container("b", "seccompProfile"), annotations=given, **context(**more))
                    answer = s.ask("POST", p + "/podtemplates?dryRun=All", {"metadata": {"name": "t"}, "template": body})
                    s.record(f"{of} {given} {more}", {"status": answer.status, "warnings": [w for w in answer.warnings if "PodSecurity" in w]})


@script
def updates(s):
    """Only images and ephemeral containers are looked at, then all of the pod is."""
    some = {"resources": {"requests": {"cpu": "1"}}}
    loose = {"name": "a", "image": "i", **some}
    for level in ("warn", "enforce"):
        p = namespace(s, "-" + level) + "/pods"
        s.post(p, pod(loose, name="loose", initContainers=[{"name": "i", "image": "i"}]))
        s.post(p, pod({**container(), **some}, name="good"))
        s.ask("PATCH", p.removesuffix("/pods"), {"metadata": {"labels": labels(**{level: "restricted"})}}, type=MERGE)
        seen = lambda: "violate" in str((a := s.ask("POST", p + "?dryRun=All", pod(loose))).warnings) + a.text
        s.until(seen, "the labels to count")
        for name in ("loose", "good"):
            at = f"{p}/{name}"
            s.patch(at, {"metadata": {"labels": {"a": "b"}}})
            s.patch(at, {"spec": {"activeDeadlineSeconds": 99}})
            s.patch(at, {"spec": {"containers": [{"name": "a", "image": "j"}]}}, type=STRATEGIC)
            s.patch(at + "?dryRun=All", {"spec": {"containers": [{"name": "a", "image": "k"}]}}, type=STRATEGIC)
            s.patch(at, {"spec": {"initContainers": [{"name": "i", "image": "j"}]}}, type=STRATEGIC)
            s.patch(at + "/status", {"status": {"reason": "x"}})
            s.patch(at + "/resize", {"spec": {"containers": [{"name": "a", "resources": {"requests": {"cpu": "2"}}}]}}, type=STRATEGIC)
            s.patch(at + "/ephemeralcontainers", {"spec": {"ephemeralContainers": [{"name": "e", "image": "i"}]}}, type=STRATEGIC)
            s.patch(at + "/ephemeralcontainers", {"spec": {"ephemeralContainers": [container("f")]}}, type=STRATEGIC)
            s.patch(at + "/ephemeralcontainers", {"spec": {"ephemeralContainers": [container("g", runAsUser=0)]}}, type=STRATEGIC)
            live = s.ask("GET", at)
            s.put(at, live.body)
            changed = copy.deepcopy(live.body)
            changed["spec"]["containers"][0]["image"] = "put"
            s.put(at, changed)
            s.patch(at, [{"op": "replace", "path": "/spec/containers/0/image", "value": "patched"}], type=JSON_PATCH)
            s.apply(at, {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"containers": [{"name": "a", "image": "applied"}]}}, force=True)
            s.get(at)
            s.delete(at, {"gracePeriodSeconds": 0})


def workloads(template):
    """(group, plural, object) of every kind with a template."""
    labelled = {**template, "metadata": {**{k: v for k, v in template["metadata"].items() if k != "name"}, "labels": {"a": "b"}}}
    once = {**labelled, "spec": {**template["spec"], "restartPolicy": "Never"}}
    selector, meta = {"matchLabels": {"a": "b"}}, {"metadata": {"name": "w"}}
    yield "apps/v1", "deployments", {**meta, "spec": {"replicas": 0, "selector": selector, "template": labelled}}
    yield "apps/v1", "replicasets", {**meta, "spec": {"replicas": 0, "selector": selector, "template": labelled}}
    yield "apps/v1", "statefulsets", {**meta, "spec": {"replicas": 0, "selector": selector, "serviceName": "x", "template": labelled}}
    yield "apps/v1", "daemonsets", {**meta, "spec": {"selector": selector, "template": labelled}}
    yield "batch/v1", "jobs", {**meta, "spec": {"template": once, "completionMode": "Indexed", "completions": 100001, "parallelism": 10001}}
    yield "batch/v1", "cronjobs", {**meta, "spec": {"schedule": "1 1 1 1 1", "jobTemplate": {"spec": {"template": once}}}}
    yield None, "replicationcontrollers", {**meta, "spec": {"replicas": 0, "template": labelled}}
    yield None, "podtemplates", {**meta, "template": labelled}


@script
def templates(s):
    for level in ("baseline", "restricted"):
        p = namespace(s, "-" + level, enforce=level)
        for given in (pod(), pod({"name": "a", "image": "i"}), worst(), pod({"name": "a", "image": "i", "ports": [{"containerPort": 80}]}, hostNetwork=True)):
            for group, plural, body in workloads(given):
                s.post((f"/apis/{group}{p.removeprefix('/api/v1')}" if group else p) + f"/{plural}?dryRun=All", body)
    for group, plural, body in workloads(pod({"name": "a", "image": "i"})):
        path = (f"/apis/{group}{p.removeprefix('/api/v1')}" if group else p) + f"/{plural}"
        s.post(path, body)
        s.post(path, body)
        # Controllers of the real server write to some of them.
        for part, patch in (("", {"metadata": {"labels": {"x": "y"}}}), ("/status", {"status": {}}), ("/scale", {"spec": {"replicas": 0}})):
            answer = s.ask("PATCH", f"{path}/w{part}", patch, type=MERGE)
            s.record(f"PATCH {plural}{part}", {"status": answer.status, "warnings": answer.warnings})
        s.ask("DELETE", path + "/w", {"propagationPolicy": "Background"})
        s.post(path, {**body, "metadata": {"name": "Wrong"}})


@script
def labelling(s):
    """What the labels may say, and who is told when they change."""
    spaces = "/api/v1/namespaces"
    for i, value in enumerate(("privileged", "baseline", "restricted", "Restricted", "", "none")):
        for mode in ("enforce", "warn", "audit"):
            s.post(spaces + "?dryRun=All", {"metadata": {"name": f"{s.ns}-l", "labels": labels(**{mode: value})}})
    for value in ("latest", "v1.0", "v1.36", "v1.99", "v1.01", "v1.", "v1", "1.30", "v2.0", "v1.9223372036854775807", "v1.9223372036854775808", "v1.-1", "v1.3a", ""):
        for mode in ("enforce_version", "warn_version", "audit_version"):
            s.post(spaces + "?dryRun=All", {"metadata": {"name": f"{s.ns}-v", "labels": labels(**{mode: value})}})
    bad = {m: "x" for m in ("enforce", "enforce_version", "warn", "warn_version", "audit", "audit_version", "other")}
    s.post(spaces, {"metadata": {"name": f"{s.ns}-bad", "labels": labels(**bad)}})
    s.post(spaces, {"metadata": {"generateName": "gen-bad-", "labels": labels(**bad)}})
    s.post(spaces, {"metadata": {"name": f"{s.ns}-bad", "labels": {**labels(**bad), "-": "-"}}})
    p = s.namespace()
    s.patch(p, {"metadata": {"labels": labels(enforce="x")}})
    s.apply(p, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": s.ns, "labels": labels(warn="x")}})
    loose = {"name": "a", "image": "i"}
    for name, given in (("m", pod(loose)), ("c", pod(loose)), ("x", pod(loose)), ("good", pod()), ("host", pod(container(), hostPID=True)), ("all", worst()),
                        ("port-1", pod({**loose, "ports": [{"containerPort": 80, "hostPort": 80}]})), ("port-2", pod({**loose, "ports": [{"containerPort": 80, "hostPort": 81}]}))):
        s.post(p + "/pods", {**given, "metadata": {**given["metadata"], "name": name}})
    last = lambda: "(and 1 other pod)" in str(s.ask("PATCH", p + "?dryRun=All", {"metadata": {"labels": labels(enforce="baseline")}}, type=MERGE).warnings)
    s.until(last, "all pods to be seen")
    steps = ({"enforce": "baseline"}, {"enforce": "restricted"}, {"other": "x"}, {"enforce_version": "v1.20"}, {"enforce_version": "v1.0"}, {"enforce": "baseline"}, {"enforce_version": None},
             {"enforce": "privileged"}, {"warn": "restricted"}, {"enforce": "restricted"}, {"enforce": "bad"}, {"enforce": None})
    for of in steps:
        s.patch(p + "?dryRun=All", {"metadata": {"labels": labels(**of)}})
        s.patch(p, {"metadata": {"labels": labels(**of)}})
    s.patch(p + "/status", {"metadata": {"labels": labels(enforce="x", warn="x")}})  # nobody looks there
    s.until(lambda: s.ask("POST", p + "/pods?dryRun=All", pod(loose)).status == 403, "the labels to count")
    s.post(p + "/pods?dryRun=All", pod(loose))
    for of in ({"other": "y"}, {"audit": "x"}, {"warn": None}, {"enforce": "baseline"}, {"enforce": None}):
        s.patch(p, {"metadata": {"labels": labels(**of)}})
    for name in ("m", "c", "x", "good", "host", "all", "port-1", "port-2"):
        s.ask("DELETE", f"{p}/pods/{name}", {"gracePeriodSeconds": 0})


@script
def refused_by_others(s):
    """What others refuse first, and what is warned of all the same."""
    p = namespace(s, "", enforce="baseline", warn="restricted")
    s.post(p + "/limitranges", {"metadata": {"name": "l"}, "spec": {"limits": [{"type": "Container", "max": {"cpu": "1"}}]}})
    twice = [{"name": "x", "value": "1"}, {"name": "x", "value": "2"}]
    for given in (pod({"name": "a", "image": "i", "env": twice}), pod({**container(), "env": twice}, hostPID=True)):
        many = copy.deepcopy(given)
        many["spec"]["containers"][0]["resources"] = {"limits": {"cpu": "2"}}
        s.until(lambda: s.ask("POST", p + "/pods?dryRun=All", many).status == 403, "limits")
        s.until(lambda: "maximum cpu" in s.ask("POST", p + "/pods?dryRun=All", many).text, "limits")
        s.post(p + "/pods?dryRun=All", many)
        s.post(p + "/pods?dryRun=All", given)
        s.post(p + "/pods?dryRun=All", {**given, "spec": {**given["spec"], "restartPolicy": "x"}})
        s.post(p + "/pods?dryRun=All", {**given, "spec": {**given["spec"], "priorityClassName": "none"}})
        s.post(p + "/pods?dryRun=All", {**given, "spec": {**given["spec"], "serviceAccountName": "none"}})
        s.post(p + "/pods?dryRun=All", {**given, "spec": {**given["spec"], "runtimeClassName": "none"}})
