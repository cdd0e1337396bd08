"""Real clients on `leeboard apiserver`: kubectl, Helm, the official Python client; and the process itself: its files,
its end, its backup."""
import atexit
import functools
import itertools
import json
import os
import signal
import ssl
import subprocess
import tempfile
import textwrap
import threading
import urllib.error
import urllib.request

import yaml
from differential import BUILD, Ours
from lab import ROOT, free_port, programs, tail

DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web}}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: main, image: IMAGE, ports: [{containerPort: 80}]}
      - {name: side, image: side:1}
"""
CRD = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: boats.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: boats, singular: boat, kind: Boat, shortNames: [bo]}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    additionalPrinterColumns: [{name: Masts, type: integer, jsonPath: .spec.masts}]
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties: {masts: {type: integer, description: How many masts it has.}}
          status: {type: object, x-kubernetes-preserve-unknown-fields: true}
"""


@functools.cache
def ours():
    server = Ours("--no-fsync")
    atexit.register(server.__exit__)
    server.start()
    return server


def kubectl(*args, input=None, code=0, env=None, server=None):
    """Standard output; with another code, both outputs."""
    server = server or ours()
    environment = {"PATH": os.environ["PATH"], "HOME": server.dir, "KUBECONFIG": server.kubeconfig, **(env or {})}
    done = subprocess.run([f"{programs()}/kubectl", *args], env=environment, input=input, text=True,
                          capture_output=True, timeout=60)
    assert done.returncode == code, f"kubectl {' '.join(args)} ended with {done.returncode}: {done.stderr}{done.stdout}"
    return done.stdout if code == 0 else done.stdout + done.stderr


def namespace(name):
    kubectl("create", "namespace", name)
    return name


def has(text, *parts):
    for part in parts:
        assert part in text, f"no {part!r} in:\n{text}"


def test_kubectl_applies_diffs_and_edits():
    n = ("-n", namespace("apply"))
    manifest = DEPLOYMENT.replace("IMAGE", "web:1")
    has(kubectl(*n, "apply", "-f", "-", input=manifest), "deployment.apps/web created")
    has(kubectl(*n, "apply", "-f", "-", input=manifest), "deployment.apps/web unchanged")
    newer = DEPLOYMENT.replace("IMAGE", "web:2").replace("      - {name: side, image: side:1}\n", "")
    has(kubectl(*n, "diff", "-f", "-", input=newer, code=1), "+      - image: web:2", "-      - image: side:1")
    has(kubectl(*n, "apply", "-f", "-", input=newer), "deployment.apps/web configured")
    image = "jsonpath={.spec.template.spec.containers[*].image}"
    assert kubectl(*n, "get", "deployment", "web", "-o", image) == "web:2"
    has(kubectl(*n, "apply", "--server-side", "-f", "-", input=newer), "serverside-applied")
    other = DEPLOYMENT.replace("IMAGE", "web:3")
    has(kubectl(*n, "apply", "--server-side", "--field-manager=other", "-f", "-", input=other, code=1),
        "conflict", ".spec.template.spec.containers[name=\"main\"].image")
    kubectl(*n, "apply", "--server-side", "--field-manager=other", "--force-conflicts", "-f", "-", input=other)
    kubectl(*n, "diff", "--server-side", "--field-manager=other", "-f", "-", input=other)
    kubectl(*n, "edit", "deployment", "web", env={"EDITOR": "sed -i s/web:3/web:4/"})
    has(kubectl(*n, "get", "deployment", "web", "-o", image), "web:4")
    has(kubectl(*n, "apply", "-f", "-", input=manifest.replace("replicas", "replikas"), code=1),
        "unknown field \"spec.replikas\"")


def test_kubectl_applies_lists_of_objects():
    """What kubectl checks itself, by OpenAPI version 2 in its binary form."""
    n = ("-n", namespace("lists"))
    items = [yaml.safe_load(DEPLOYMENT.replace("IMAGE", "web:1")),
             {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"a": "b"}},
             {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"},
              "spec": {"selector": {"app": "web"}, "ports": [{"port": 80, "targetPort": "http"}]}}]
    good = yaml.dump({"apiVersion": "v1", "kind": "List", "items": items})
    has(kubectl(*n, "apply", "-f", "-", input=good), "deployment.apps/web created", "configmap/c created", "service/web created")
    has(kubectl(*n, "apply", "-f", "-", input=good), "deployment.apps/web unchanged", "configmap/c unchanged")
    has(kubectl(*n, "diff", "-f", "-", input=good.replace("replicas: 2", "replicas: 3"), code=1), "-  replicas: 2", "+  replicas: 3")
    has(kubectl(*n, "apply", "--server-side", "-f", "-", input=good), "deployment.apps/web serverside-applied")
    bad = good.replace("replicas: 2", "replicas: many").replace("- apiVersion: v1\n  data:", "- apiVersion: v1\n  dates:")
    has(kubectl(*n, "apply", "-f", "-", input=bad, code=1), 'unknown field "dates" in io.k8s.api.core.v1.ConfigMap',
        'DeploymentSpec.replicas: got "string", expected "integer"')
    has(kubectl("explain", "--output=plaintext-openapiv2", "service.spec.ports"), "targetPort", "<string>")


def test_kubectl_shows_and_changes_objects():
    n = ("-n", namespace("show"))
    kubectl(*n, "create", "deployment", "web", "--image=web:1", "--replicas=2")
    has(kubectl(*n, "get", "deployments", "-o", "wide"), "NAME", "READY", "0/2", "IMAGES", "web:1")
    assert yaml.safe_load(kubectl(*n, "get", "deployment", "web", "-o", "yaml"))["spec"]["replicas"] == 2
    has(kubectl(*n, "describe", "deployment", "web"), "Selector:", "2 desired")
    has(kubectl("explain", "deployment.spec.template.spec.containers.ports"), "containerPort", "<integer>")
    kubectl(*n, "label", "deployment", "web", "tier=front")
    kubectl(*n, "annotate", "deployment", "web", "note=x")
    kubectl(*n, "patch", "deployment", "web", "-p", '{"spec":{"paused":true}}')
    kubectl(*n, "patch", "deployment", "web", "--type=json", "-p", '[{"op":"remove","path":"/spec/paused"}]')
    kubectl(*n, "scale", "deployment", "web", "--replicas=3")
    kubectl(*n, "wait", "--for=jsonpath={.spec.replicas}=3", "deployment/web", "--timeout=20s")
    has(kubectl(*n, "get", "deployments", "-l", "tier=front", "-o", "name"), "deployment.apps/web")
    kubectl(*n, "create", "configmap", "c", "--from-literal=a=b")
    assert kubectl(*n, "get", "configmap", "c", "-o", "jsonpath={.data.a}") == "b"
    kubectl(*n, "run", "p", "--image=x")
    has(kubectl(*n, "get", "pods"), "p", "0/1", "Pending")
    has(kubectl("api-resources"), "deployments", "customresourcedefinitions", "selfsubjectaccessreviews")
    has(kubectl("version"), "Server Version: v1.36.4+leeboard")


def test_kubectl_follows_a_rollout():
    n = ("-n", namespace("rollout"))
    kubectl(*n, "create", "deployment", "web", "--image=web:1")
    kubectl(*n, "rollout", "restart", "deployment", "web")
    has(kubectl(*n, "rollout", "history", "deployment", "web"), "deployment.apps/web")
    deployment = json.loads(kubectl(*n, "get", "deployment", "web", "-o", "json"))
    status = {"observedGeneration": deployment["metadata"]["generation"], "replicas": 1, "updatedReplicas": 1,
              "readyReplicas": 1, "availableReplicas": 1}
    kubectl(*n, "patch", "deployment", "web", "--subresource=status", "--type=merge", "-p",
            json.dumps({"status": status}))
    has(kubectl(*n, "rollout", "status", "deployment", "web", "--timeout=20s"), "successfully rolled out")


def test_kubectl_deletes_with_each_cascade():
    n = ("-n", namespace("cascade"))
    for cascade, left in (("background", False), ("foreground", False), ("orphan", True)):
        kubectl(*n, "create", "configmap", "owner")
        uid = kubectl(*n, "get", "configmap", "owner", "-o", "jsonpath={.metadata.uid}")
        kubectl(*n, "apply", "-f", "-", input=yaml.dump({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "owned", "ownerReferences": [
                {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": uid}]}}))
        kubectl(*n, "delete", "configmap", "owner", f"--cascade={cascade}")
        if not left:
            kubectl(*n, "wait", "--for=delete", "configmap/owned", "--timeout=20s")
        assert kubectl(*n, "get", "configmap", "owned", "--ignore-not-found", "-o", "name") == (
            "configmap/owned\n" if left else "")
        kubectl(*n, "delete", "configmap", "owned", "--ignore-not-found")
    kubectl("delete", "namespace", "cascade")
    assert kubectl("get", "namespace", "cascade", "--ignore-not-found") == ""


def test_kubectl_watches():
    n = ("-n", namespace("watch"))
    environment = {"PATH": os.environ["PATH"], "HOME": ours().dir, "KUBECONFIG": ours().kubeconfig}
    watch = subprocess.Popen([f"{programs()}/kubectl", *n, "get", "configmaps", "--watch-only", "--output-watch-events"],
                             env=environment, text=True, stdout=subprocess.PIPE)
    try:
        # The watch begins somewhere; from then on everything is seen.
        kubectl(*n, "create", "configmap", "first")
        lines, reader = [], threading.Thread(target=lambda: lines.extend(iter(watch.stdout.readline, "")), daemon=True)
        reader.start()
        for number in itertools.count():
            assert number < 100, lines
            kubectl(*n, "create", "configmap", f"c{number}")
            kubectl(*n, "delete", "configmap", f"c{number}")
            if any("DELETED" in line for line in lines):
                break
        has("".join(lines), "EVENT", "DATA", "AGE")
    finally:
        watch.kill()
        watch.wait()


def test_kubectl_knows_who_may_what():
    has(kubectl("auth", "whoami"), "leeboard-admin", "system:masters")
    assert kubectl("auth", "can-i", "delete", "nodes").strip() == "yes"
    has(kubectl("auth", "can-i", "list", "pods", "--as=bob", code=1), "no")
    has(kubectl("get", "pods", "--as=bob", code=1), 'pods is forbidden: User "bob" cannot list resource "pods" in API '
                                                    'group "" in the namespace "default"')
    n = ("-n", namespace("rights"))
    kubectl(*n, "create", "serviceaccount", "reader")
    kubectl(*n, "create", "role", "reader", "--verb=get,list", "--resource=configmaps")
    kubectl(*n, "create", "rolebinding", "reader", "--role=reader", "--serviceaccount=rights:reader")
    token = kubectl(*n, "create", "token", "reader").strip()
    config = yaml.safe_load(open(ours().kubeconfig, encoding="utf8"))
    config["users"][0]["user"] = {"token": token}
    with tempfile.NamedTemporaryFile("w", dir=ours().dir) as f:
        yaml.dump(config, f)
        f.flush()
        as_reader = {"KUBECONFIG": f.name}
        has(kubectl("auth", "whoami", env=as_reader), "system:serviceaccount:rights:reader")
        has(kubectl(*n, "get", "configmaps", env=as_reader), "kube-root-ca.crt")
        has(kubectl(*n, "get", "secrets", env=as_reader, code=1), "is forbidden")
        has(kubectl(*n, "create", "role", "more", "--verb=get", "--resource=secrets", env=as_reader, code=1), "forbidden")
        kubectl(*n, "delete", "serviceaccount", "reader")
        has(kubectl(*n, "get", "configmaps", env=as_reader, code=1), "must be logged in")


def test_kubectl_installs_and_uses_a_crd():
    n = ("-n", namespace("boats"))
    kubectl("apply", "-f", "-", input=CRD)
    kubectl("wait", "--for=condition=Established", "crd/boats.example.com", "--timeout=20s")
    boat = "apiVersion: example.com/v1\nkind: Boat\nmetadata: {name: b}\nspec: {masts: 2}\n"
    kubectl(*n, "apply", "-f", "-", input=boat)
    kubectl(*n, "apply", "-f", "-", input=boat.replace("2", "3"))
    has(kubectl(*n, "get", "bo"), "MASTS", "3")
    has(kubectl("explain", "boat.spec"), "How many masts it has.")
    has(kubectl("explain", "boat"), "APIVersion defines", "Standard object's metadata")
    has(kubectl("explain", "boat.metadata"), "Standard object's metadata", "CreationTimestamp is a timestamp")
    has(kubectl(*n, "apply", "-f", "-", input=boat.replace("masts: 2", "sails: 2"), code=1), "unknown field")
    kubectl("delete", "crd", "boats.example.com")
    has(kubectl("get", "--raw", "/apis/example.com/v1/boats", code=1), "NotFound")


@functools.cache
def clients():
    return subprocess.run([f"{ROOT}/tools/clients"], check=True, text=True, stdout=subprocess.PIPE).stdout.strip()


def test_the_python_client_lists_watches_and_applies():
    program = textwrap.dedent("""
        from kubernetes import client, config, dynamic, watch
        config.load_kube_config()
        core, space = client.CoreV1Api(), "python"
        core.create_namespace({"metadata": {"name": space}})
        for i in range(3):
            core.create_namespaced_config_map(space, {"metadata": {"name": f"c{i}"}, "data": {"i": str(i)}})
        listed = core.list_namespaced_config_map(space)
        assert {"c0", "c1", "c2"} <= {o.metadata.name for o in listed.items}, listed
        core.delete_namespaced_config_map("c1", space)
        seen = []
        for event in watch.Watch().stream(core.list_namespaced_config_map, space, timeout_seconds=20,
                                          resource_version=listed.metadata.resource_version):
            seen.append((event["type"], event["object"].metadata.name))
            if event["type"] == "DELETED":
                break
        assert seen[-1] == ("DELETED", "c1"), seen
        api = dynamic.DynamicClient(client.ApiClient())
        maps = api.resources.get(api_version="v1", kind="ConfigMap")
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c0"}, "data": {"i": "9"}}
        maps.server_side_apply(body=body, name="c0", namespace=space, field_manager="python", force_conflicts=True)
        assert core.read_namespaced_config_map("c0", space).data == {"i": "9"}
        deployment = {"metadata": {"name": "web"}, "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": {
            "metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "x"}]}}}}
        apps = client.AppsV1Api()
        apps.create_namespaced_deployment(space, deployment)
        apps.patch_namespaced_deployment("web", space, {"spec": {"replicas": 4}})
        assert apps.read_namespaced_deployment("web", space).spec.replicas == 4
        print("done")
    """)
    done = subprocess.run([f"{clients()}/venv/bin/python", "-c", program], text=True, capture_output=True, timeout=120,
                          env={"KUBECONFIG": ours().kubeconfig, "HOME": ours().dir, "PATH": os.environ["PATH"]})
    assert done.stdout.strip() == "done", done.stderr


def write_chart(folder, version):
    files = {
        "Chart.yaml": f"apiVersion: v2\nname: sea\nversion: {version}\n",
        "values.yaml": "image: web:1\n",
        "crds/boats.yaml": CRD.replace("boats.example.com", "ships.example.com").replace("boat", "ship").replace(
            "Boat", "Ship").replace("[bo]", "[sh]"),
        "templates/deployment.yaml": DEPLOYMENT.replace("IMAGE", '"{{ .Values.image }}"'),
        "templates/ship.yaml": "apiVersion: example.com/v1\nkind: Ship\nmetadata: {name: s}\nspec: {masts: 1}\n",
    }
    for name, text in files.items():
        os.makedirs(os.path.dirname(f"{folder}/{name}"), exist_ok=True)
        with open(f"{folder}/{name}", "w", encoding="utf8") as f:
            f.write(text)


def test_helm_installs_upgrades_rolls_back_and_uninstalls():
    chart, n = f"{ours().dir}/sea", ("-n", namespace("helm"))
    write_chart(chart, "1.0.0")

    def helm(*args):
        done = subprocess.run([f"{clients()}/helm", *n, *args], text=True, capture_output=True, timeout=120, env={
            "KUBECONFIG": ours().kubeconfig, "HOME": ours().dir, "PATH": os.environ["PATH"]})
        assert done.returncode == 0, f"helm {' '.join(args)}: {done.stderr}"
        return done.stdout

    image = (*n, "get", "deployment", "web", "-o", "jsonpath={.spec.template.spec.containers[0].image}")
    has(helm("install", "sea", chart), "STATUS: deployed")
    assert kubectl(*image) == "web:1"
    helm("upgrade", "sea", chart, "--set", "image=web:2")
    assert kubectl(*image) == "web:2"
    helm("rollback", "sea", "1")
    assert kubectl(*image) == "web:1"
    has(helm("history", "sea"), "Rollback to 1")
    has(helm("list"), "sea-1.0.0")
    helm("uninstall", "sea")
    assert kubectl(*n, "get", "deployments,ships") == ""


# The process

def ask(server, path, headers=None):
    """(status, text) over a connection of its own, without a certificate."""
    context = ssl.create_default_context(cafile=f"{server.dir}/data/ca.crt")
    request = urllib.request.Request(f"https://127.0.0.1:{server.port}{path}", headers=headers or {})
    try:
        with urllib.request.urlopen(request, context=context, timeout=20) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as e:
        return e.code, e.read().decode()


def test_anonymous_gets_health_and_version_only():
    for path, status in (("/healthz", 200), ("/readyz?verbose", 200), ("/livez", 200), ("/livez/ping", 403), ("/version", 200),
                         ("/api", 403), ("/apis/apps/v1", 403), ("/api/v1/namespaces", 403), ("/metrics", 403),
                         ("/openapi/v3", 403)):
        assert ask(ours(), path)[0] == status, path
    assert ask(ours(), "/version", {"Authorization": "Bearer nonsense"})[0] == 401
    assert json.loads(ask(ours(), "/api")[1])["message"] == 'forbidden: User "system:anonymous" cannot get path "/api"'


def test_private_files_are_private_and_a_second_start_is_refused():
    data = f"{ours().dir}/data"
    for name in ("ca.key", "token.key", "kubeconfig", "leeboard.db"):
        assert os.stat(f"{data}/{name}").st_mode & 0o777 == 0o600, name
    second = subprocess.run([f"{BUILD}/leeboard", "apiserver", "--data", data, "--listen", f"127.0.0.1:{free_port()}"],
                            text=True, capture_output=True, timeout=20)
    assert second.returncode == 1
    has(second.stderr, str(ours().process.pid))


def test_a_backup_is_the_state_and_a_restart_keeps_it():
    kubectl("create", "configmap", "kept", "--from-literal=a=b")
    with Ours() as other:
        uid = kubectl("get", "namespace", "default", "-o", "jsonpath={.metadata.uid}", server=other)
        other.stop()
        assert other.process.returncode == 0, tail(other.log, 20)
        other.start()
        assert kubectl("get", "namespace", "default", "-o", "jsonpath={.metadata.uid}", server=other) == uid
        other.stop()
        os.remove(f"{other.dir}/data/leeboard.db")
        for more in ("-wal", "-shm"):
            if os.path.exists(f"{other.dir}/data/leeboard.db{more}"):
                os.remove(f"{other.dir}/data/leeboard.db{more}")
        subprocess.run([f"{BUILD}/leeboard", "apiserver", "--data", f"{ours().dir}/data", "backup",
                        f"{other.dir}/data/leeboard.db"], check=True, timeout=60)
        other.start()
        assert kubectl("get", "configmap", "kept", "-o", "jsonpath={.data.a}", server=other) == "b"


def test_a_signal_ends_watches_and_the_process():
    with Ours("--no-fsync") as other:
        watch = subprocess.Popen(
            [f"{programs()}/kubectl", "get", "--raw", "/api/v1/namespaces?watch=1"], text=True, stdout=subprocess.PIPE,
            env={"PATH": os.environ["PATH"], "HOME": other.dir, "KUBECONFIG": other.kubeconfig})
        has(watch.stdout.readline(), "ADDED")
        other.process.send_signal(signal.SIGTERM)
        assert other.process.wait(20) == 0, tail(other.log, 20)
        watch.stdout.read()
        assert watch.wait(20) == 0
