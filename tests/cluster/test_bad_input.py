"""Absurd sizes, hostile values, CRDs of another version: they work or end in a sentence that names the
path, nothing crashes, nobody else is harmed, and no program runs what a user wrote."""
import http.server
import json
import os
import subprocess
import tempfile
import threading

import lab as labs
from lab import ApiError, own_lab, wait_for
from promises import (Operator, condition, model, nothing_happens, service, wait_children,
                      wait_condition)

LAB = {"controllers": None}


def bystander(lab, name):
    """An ordinary service, made now, in a namespace of its own, converges."""
    ns = lab.namespace(name)
    lab.apply(ns, [model(), service()])
    wait_children(lab, ns)


def degraded(lab, ns, name, *parts, plural="inferenceservices", timeout=15):
    """It says that it cannot be served, and why, in these words."""
    found = wait_condition(lab, plural, ns, name, "Degraded", timeout=timeout)
    assert all(part in found["message"] for part in parts), found
    return found


def server(lab, ns, name):
    """The container that serves, of a Deployment."""
    d = lab.get("deployments", ns, name)
    return d and d["spec"]["template"]["spec"]["containers"][0]


# Configuration

KUBECONFIGS = {
    # Name: (text, what the complaint must name besides the file)
    "no-yaml": ("clusters: [", ""),
    "empty": ("", ""),
    "list": ("- a\n- b\n", ""),
    "no-context": ("current-context: nowhere\n", "nowhere"),
    "no-cluster": ("current-context: a\ncontexts: [{name: a, context: {cluster: gone}}]\n", "gone"),
    "no-server": ("current-context: a\ncontexts: [{name: a, context: {cluster: c}}]\n"
                  "clusters: [{name: c, cluster: {}}]\n", "server"),
    "no-url": ("current-context: a\ncontexts: [{name: a, context: {cluster: c}}]\n"
               "clusters: [{name: c, cluster: {server: 'not a url'}}]\n", "server"),
    "wrong-type": ("current-context: a\ncontexts: 7\n", "contexts"),
    "no-base64": ("current-context: a\ncontexts: [{name: a, context: {cluster: c}}]\n"
                  "clusters: [{name: c, cluster: {server: 'https://127.0.0.1:1', "
                  "certificate-authority-data: '!!'}}]\n", "certificate-authority-data"),
    "no-user": ("current-context: a\ncontexts: [{name: a, context: {cluster: c, user: nobody}}]\n"
                "clusters: [{name: c, cluster: {server: 'https://127.0.0.1:1'}}]\n", "nobody"),
}


def test_a_kubeconfig_that_cannot_be_used_is_named_with_its_fault():
    with tempfile.TemporaryDirectory() as folder:
        for name, (text, part) in {**KUBECONFIGS, "not-there": (None, "")}.items():
            path = f"{folder}/{name}"
            if text is not None:
                with open(path, "w") as f:
                    f.write(text)
            done = subprocess.run([labs.Operator.BINARY, "operator", f"--kubeconfig={path}"],
                                  env={"HOME": folder, "PATH": os.environ["PATH"]}, text=True,
                                  capture_output=True, timeout=labs.PATIENCE_S)
            assert done.returncode in (1, 2), (name, done)
            assert path in done.stderr and part in done.stderr, (name, done.stderr)


# Sizes

def test_ten_thousand_variables_and_a_mebibyte_of_arguments_work_or_are_refused_clearly(lab):
    ns = lab.namespace("absurd")
    many = [{"name": f"V{i}", "value": str(i)} for i in range(10000)]
    long = [f"--note={'x' * 1000}-{i}" for i in range(1000)]
    with Operator(lab) as op:
        lab.apply(ns, model())
        for name, spec in (("many", {"env": many}), ("long", {"extraArgs": long}),
                           ("huge", {"extraArgs": ["y" * (1 << 20)]})):
            lab.create("inferenceservices", ns, service(name, **spec))
        made = wait_for(lambda: server(lab, ns, "many"), 30, "the Deployment with many variables")
        assert [e for e in made["env"] if e["name"].startswith("V")] == many
        made = wait_for(lambda: server(lab, ns, "long"), 30, "the Deployment with long arguments")
        assert [a for a in made["args"] if a.startswith("--note")] == long

        def decided():
            return server(lab, ns, "huge") or condition(
                lab.get("inferenceservices", ns, "huge"), "Degraded")
        wait_for(decided, 30, "a Deployment or a reason")
        bystander(lab, "absurd-bystander")
        op.settle()
        written = nothing_happens(lab, 2)
        assert not written, written
        op.restart()
        op.settle()
        written = nothing_happens(lab, 2)
        assert not written, f"after a restart: {written}"


def open_spec(lab, *plurals):
    """As a CRD may be edited: everything below spec is admitted."""
    for name in plurals:
        path = lab.path("customresourcedefinitions", None, f"{name}.inference.llmkube.dev")
        crd = lab.api("GET", path)
        for version in crd["spec"]["versions"]:
            version["schema"]["openAPIV3Schema"]["properties"]["spec"] = {
                "type": "object", "x-kubernetes-preserve-unknown-fields": True}
        lab.api("PUT", path, crd)


@own_lab(controllers=None)
def test_what_is_nested_too_deep_is_told_and_left_alone(lab):
    open_spec(lab, "inferenceservices")
    ns = lab.namespace("deep")
    with Operator(lab) as op:
        lab.apply(ns, model())

        def create(levels):
            text = json.dumps(service(f"deep-{levels}", affinity="DEEP"))
            text = text.replace('"DEEP"', '{"a":' * levels + "1" + "}" * levels)
            done = lab.kubectl("-n", ns, "create", "--validate=false", "-f", "-", input=text,
                               check=False)
            return done.returncode == 0
        for levels in (100, 1000, 5000):
            wait_for(lambda: create(levels), 20, "the edited CRD")
        bystander(lab, "deep-bystander")

        def field(levels, path):  # they are too deep for Python, too
            return lab.kubectl("-n", ns, "get", "inferenceservice", f"deep-{levels}",
                               "-o", f"jsonpath={{{path}}}").stdout
        for levels in (1000, 5000):
            wait_for(lambda: "spec: nested deeper than 200 levels" in
                     field(levels, ".status.conditions[?(@.type=='Degraded')].message"), 15,
                     f"deep-{levels} to be told")
        before = [field(levels, ".metadata.resourceVersion") for levels in (1000, 5000)]
        # The API server knows no such affinity; what it says of it is what the user reads.
        degraded(lab, ns, "deep-100", "affinity")
        op.restart()
        bystander(lab, "deep-bystander-2")
        assert before == [field(levels, ".metadata.resourceVersion") for levels in (1000, 5000)]


# Values that try to be programs

CANARY = "$(touch CANARY)`touch CANARY`;touch CANARY;'\"\n touch CANARY\n"


def hostile(folder):
    return CANARY.replace("CANARY", f"{folder}/canary")


def run_init_containers(lab, ns, name, folder):
    """Runs the programs of a pod as a kubelet would, with a curl that does nothing."""
    pod = lab.get("deployments", ns, name)["spec"]["template"]["spec"]
    tools = f"{folder}/bin"
    os.makedirs(tools, exist_ok=True)
    for tool in ("curl", "chown", "chmod"):
        with open(f"{tools}/{tool}", "w") as f:
            f.write("#!/bin/sh\nexit 6\n" if tool == "curl" else "#!/bin/sh\n")
        os.chmod(f"{tools}/{tool}", 0o755)
    os.makedirs(f"{folder}/models", exist_ok=True)
    for c in pod.get("initContainers", ()):
        environment = {e["name"]: e.get("value", "") for e in c.get("env", ())}
        command = [*c["command"], *c.get("args", ())]
        subprocess.run(
            [f"{labs.HERE}/with-folders", tempfile.mkdtemp(dir=folder),
             f"/models={folder}/models", "--", "timeout", "1", *command],
            env={**environment, "PATH": f"{tools}:/usr/bin:/bin"}, capture_output=True)
    return len(pod.get("initContainers", ()))


def test_no_value_of_a_user_is_run_as_a_program(lab):
    ns, folder = lab.namespace("hostile"), tempfile.mkdtemp(dir=lab.dir)
    evil = hostile(folder)
    line = evil.replace("\n", "")
    models = [
        model("url", source=f"https://weights.test/{line}/m.gguf"),
        model("files", source="acme/tiny", files=[f"a{line}.gguf"]),
        model("bucket", source=f"s3://bucket/{line}"),
        model("name", source="https://weights.test/ok.gguf"),
    ]
    with Operator(lab) as op:
        for m in models:
            try:
                lab.create("models", ns, m)
            except ApiError as e:
                assert e.code == 422, e  # the CRD's pattern knows better
                continue
            lab.create("inferenceservices", ns, service(
                m["metadata"]["name"], modelRef=m["metadata"]["name"], skipModelInit=False,
                extraArgs=[evil], env=[{"name": "EVIL", "value": evil}],
                endpoint={"path": f"/{line}"}, podAnnotations={"evil": evil}))
        op.settle(60)
        ran = 0
        for d in lab.list("deployments", ns):
            name = d["metadata"]["name"]
            container = server(lab, ns, name)
            assert evil in container["args"], container["args"]
            assert {"name": "EVIL", "value": evil} in container["env"], container["env"]
            ran += run_init_containers(lab, ns, name, folder)
        assert ran >= 2, "nothing was put to the test"
        assert not os.path.exists(f"{folder}/canary"), "a user's text was run"
        for o in lab.list("inferenceservices", ns):
            assert o["status"]["phase"] in ("Creating", "Pending", "Failed"), o["status"]
        bystander(lab, "hostile-bystander")


def test_paths_that_leave_their_place_are_refused(lab):
    ns, roots = lab.namespace("dots"), tempfile.mkdtemp(dir=lab.dir)
    secret = f"{lab.dir}/secret.gguf"
    with open(secret, "w") as f:
        f.write("not for you")
    os.symlink(secret, f"{roots}/link.gguf")
    bad = {
        "climbs": ({"source": f"file://{roots}/../secret.gguf"}, "allowed"),
        "outside": ({"source": "/etc/passwd"}, "allowed"),
        "claim": ({"source": "pvc://claim/../../etc/passwd"}, ".."),
        "file-set": ({"source": "acme/tiny", "files": ["../../etc/passwd"]}, ".."),
    }
    with Operator(lab, f"--allowed-host-path-roots={roots}",
                  f"--model-cache-path={lab.dir}/dots-cache") as op:
        for name, (spec, part) in bad.items():
            lab.create("models", ns, model(name, **spec))
            degraded(lab, ns, name, part, plural="models")
        lab.create("models", ns, model("link", source=f"{roots}/link.gguf"))
        op.settle()
        copies = [f for _, _, files in os.walk(f"{lab.dir}/dots-cache") for f in files]
        assert not copies, f"copied what a link led to: {copies}"


def test_addresses_within_are_not_asked(lab):
    """From the operator's own network a URL may reach what its author may not."""
    asked, ns = [], lab.namespace("inside")

    class Listener(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_):
            pass
    listener = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Listener)
    threading.Thread(target=listener.serve_forever, daemon=True).start()
    port = listener.server_port
    hosts = (f"127.0.0.1:{port}", f"localhost:{port}", f"2130706433:{port}", f"[::1]:{port}",
             f"[::ffff:127.0.0.1]:{port}", "169.254.169.254")
    with Operator(lab) as op:
        for i, host in enumerate(hosts):
            lab.create("models", ns, model(f"m{i}", source=f"http://{host}/m.gguf"))
        wait_for(lambda: all((o.get("status") or {}).get("phase") for o in lab.list("models", ns)),
                 30, "a phase of each")
        op.settle()
    listener.shutdown()
    assert not asked, f"asked: {asked}"


def test_values_that_the_api_server_refuses_end_in_its_words(lab):
    ns = lab.namespace("refused")
    bad = {
        "env-name": ({"env": [{"name": "A=B C\n", "value": "x"}]}, "env"),
        "node-port": ({"endpoint": {"type": "NodePort", "nodePort": 31000}}, None),
        "node-port-too": ({"endpoint": {"type": "NodePort", "nodePort": 31000}}, "31000"),
        "label": ({"podLabels": {"not a label!": "x"}}, "not a label!"),
        "mount": ({"extraVolumeMounts": [{"name": "nowhere", "mountPath": "/x"}]}, "nowhere"),
    }
    with Operator(lab) as op:
        lab.apply(ns, model())
        for name, (spec, part) in bad.items():
            lab.create("inferenceservices", ns, service(name, **spec))
            op.settle()
            if part:
                degraded(lab, ns, name, part)
        mark = lab.mark()
        written = nothing_happens(lab, 5, mark)
        assert not written, f"refused and sent again: {written}"
        lab.patch("inferenceservices", ns, "mount", {"spec": {"extraVolumeMounts": None}})
        wait_children(lab, ns, "mount")
        wait_condition(lab, "inferenceservices", ns, "mount", "Progressing")


# CRDs of another version

def edit_crds(lab, edit):
    for name in ("models", "inferenceservices"):
        path = lab.path("customresourcedefinitions", None, f"{name}.inference.llmkube.dev")
        crd = lab.api("GET", path)
        for version in crd["spec"]["versions"]:
            edit(version["schema"]["openAPIV3Schema"]["properties"])
        lab.api("PUT", path, crd)


@own_lab(controllers=None)
def test_older_and_newer_crds_are_lived_with(lab):
    """An older one lacks fields of our status, a newer one has fields that we do not know."""
    def older(properties):
        for name in ("effectivePriority", "endpoint", "mode", "cacheKey", "size"):
            properties["status"]["properties"].pop(name, None)
    edit_crds(lab, older)
    ns = lab.namespace("older")
    with Operator(lab) as op:
        def known():
            crd = lab.get("customresourcedefinitions", None,
                          "inferenceservices.inference.llmkube.dev")
            return crd["status"]["conditions"] and op.ready()
        wait_for(known, 10, "the operator")
        lab.apply(ns, [model(), service()])
        wait_children(lab, ns)
        wait_for(lambda: (lab.get("inferenceservices", ns, "svc").get("status") or {}).get("phase"),
                 20, "a phase in spite of the missing fields")
        op.settle()
        written = nothing_happens(lab, 5)
        assert not written, f"older: {written}"
        told = condition(lab.get("inferenceservices", ns, "svc"), "CRDOutdated")
        assert told and "status.effectivePriority, status.endpoint, status.mode" in told["message"], told
        assert "is older than this program and lacks status.effectivePriority" in op.log(), op.log(20)

        def newer(properties):
            properties["spec"]["properties"]["fromTheFuture"] = {"type": "string"}
            properties["status"]["properties"]["alsoNew"] = {"type": "string"}
        edit_crds(lab, newer)

        def create():
            o = lab.create("inferenceservices", ns, service("new", fromTheFuture="x"))
            if "fromTheFuture" in o["spec"]:
                return o
            lab.delete("inferenceservices", ns, "new")
            return None
        wait_for(create, 20, "the newer CRD")
        path = lab.path("inferenceservices", ns, "new")
        lab.api("PATCH", f"{path}/status?fieldManager=future", {"status": {"alsoNew": "y"}},
                "application/merge-patch+json")
        wait_children(lab, ns, "new")
        wait_for(lambda: (lab.get("inferenceservices", ns, "new").get("status") or {}).get("phase"),
                 20, "its phase")
        op.settle()
        o = lab.get("inferenceservices", ns, "new")
        assert o["status"]["alsoNew"] == "y" and o["spec"]["fromTheFuture"] == "x", o
        written = nothing_happens(lab, 3)
        assert not written, f"newer: {written}"

        lab.kubectl("apply", "--server-side", "--force-conflicts", "-f", "api")
        whole = lab.path("inferenceservices", ns, "svc")
        status = wait_for(lambda: lab.api("GET", whole)["status"].get("endpoint")
                          and lab.api("GET", whole), 30, "the field that the CRD has now")
        wait_for(lambda: not condition(lab.api("GET", whole), "CRDOutdated"), 10,
                 f"no more word of the old CRD in {status['status']}")
