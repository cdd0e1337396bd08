"""leeboard apply, get and delete on a real kube-apiserver, beside kubectl."""
import os
import re
import subprocess

from lab import ROOT, Failure

LAB = {}
LEEBOARD = f"{os.environ.get('LEEBOARD_BUILD', ROOT + '/build/release')}/leeboard"
MANIFEST = """
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {a: "1"}
---
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: Service
  metadata: {name: web}
  spec: {ports: [{port: 80}], selector: {app: web}}
- apiVersion: inference.llmkube.dev/v1alpha1
  kind: Model
  metadata: {name: tiny}
  spec: {source: "https://models.example/tiny.gguf"}
"""


def run(lab, *args, namespace, input=None, code=0):
    done = subprocess.run([LEEBOARD, *args, "--kubeconfig", lab.kubeconfig, "--namespace", namespace], input=input,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120)
    if done.returncode != code:
        raise Failure(f"leeboard {' '.join(args)} ended with {done.returncode}, not {code}:\n{done.stdout}{done.stderr}")
    return done.stdout if code == 0 else done.stderr


def cells(text):
    return [line.split() for line in text.strip().splitlines()]


def without_age(rows):
    """The age grows between two calls."""
    return [[re.sub(r"^(\d+[dhms])+$", "AGE", cell) for cell in row] for row in rows]


def test_applying_tells_what_came_of_it(lab):
    ns = lab.namespace("cli-apply")
    said = run(lab, "apply", "-f", "-", namespace=ns, input=MANIFEST)
    assert said == "configmaps/settings created\nservices/web created\nmodels/tiny created\n", said
    said = run(lab, "apply", "-f", "-", namespace=ns, input=MANIFEST.replace('"1"', '"2"'))
    assert said == "configmaps/settings changed\nservices/web unchanged\nmodels/tiny unchanged\n", said
    assert lab.get("configmaps", ns, "settings")["data"] == {"a": "2"}


def test_tables_are_those_of_kubectl(lab):
    ns = lab.namespace("cli-get")
    run(lab, "apply", "-f", "-", namespace=ns, input=MANIFEST)
    for words in (["services"], ["svc", "web"], ["configmaps", "settings"], ["model"], ["namespaces"], ["services", "-o", "wide"]):
        ours = without_age(cells(run(lab, "get", *words, namespace=ns)))
        theirs = without_age(cells(lab.kubectl("get", *words, "-n", ns).stdout))
        assert ours == theirs, (words, ours, theirs)
    ours = cells(run(lab, "get", "services", "-A", namespace=ns))
    assert ours[0][0] == "NAMESPACE" and [ns, "web"] in [row[:2] for row in ours], ours
    shown = run(lab, "get", "configmap", "settings", "-o", "yaml", namespace=ns)
    assert "kind: ConfigMap" in shown and "a: \"1\"" in shown, shown


def test_deleting_what_is_there_and_what_is_not(lab):
    ns = lab.namespace("cli-delete")
    run(lab, "apply", "-f", "-", namespace=ns, input=MANIFEST)
    assert "services/web deleted" in run(lab, "delete", "-f", "-", namespace=ns, input=MANIFEST)
    assert "services/web was not there" in run(lab, "delete", "-f", "-", namespace=ns, input=MANIFEST)
    assert lab.get("services", ns, "web") is None


def test_one_bad_object_keeps_all_from_being_applied(lab):
    ns = lab.namespace("cli-bad")
    good = "{apiVersion: v1, kind: ConfigMap, metadata: {name: good}}"
    bad = f"""{good}
---
apiVersion: v1
kind: ConfigMap
metadata: {{name: Not_A_Name}}
---
apiVersion: inference.llmkube.dev/v1alpha1
kind: InferenceService
metadata: {{name: chat}}
spec:
  modelRef: tiny
  contxtSize: 512
"""
    said = run(lab, "apply", "-f", "-", namespace=ns, input=bad, code=1)
    assert "standard input:3: ConfigMap/Not_A_Name" in said and "RFC 1123" in said, said
    assert "standard input:12: InferenceService/chat: spec.contxtSize: unknown field; did you mean contextSize?" in said
    assert "nothing was applied" in said and not lab.get("configmaps", ns, "good"), said
    run(lab, "apply", "-f", "-", namespace=ns, input=good)
    assert lab.get("configmaps", ns, "good")
    said = run(lab, "apply", "-f", "-", namespace=ns, input=good.replace("ConfigMap", "ConfgMap"), code=1)
    assert "did you mean ConfigMap?" in said, said
    said = run(lab, "get", "nonsense", namespace=ns, code=1)
    assert "no resource called nonsense" in said, said
    assert "-f FILE" in run(lab, "apply", namespace=ns, code=2)


def test_a_namespace_among_the_manifests_is_no_mistake(lab):
    name = lab.namespace("cli-brought") + "-new"
    run(lab, "apply", "-f", "-", namespace="default", input=f"""
{{apiVersion: v1, kind: Namespace, metadata: {{name: {name}}}}}
---
{{apiVersion: v1, kind: ConfigMap, metadata: {{name: good, namespace: {name}}}}}
""")
    assert lab.get("configmaps", name, "good")
