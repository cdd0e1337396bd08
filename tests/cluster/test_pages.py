"""The pages of docs/ that are scripts: each block of docs/install.md, as it is written, on a real API server."""
import os
import re
import subprocess

import lab as labs
from lab import ROOT, own_lab, wait_for
from otters import model_service
from promises import Operator, model
from test_chart import program

HOME = "leeboard-system"


def blocks():
    with open(f"{ROOT}/docs/install.md") as file:
        return dict(re.findall(r"^```sh ([\w-]+)\n(.*?)^```$", file.read(), re.M | re.S))


def play(lab, name, image="registry.test/leeboard", **more):
    """Runs a block with helm, kubectl and leeboard in the PATH; more: its environment."""
    folder = f"{lab.dir}/bin"
    os.makedirs(folder, exist_ok=True)
    for link, target in (("helm", program()), ("leeboard", os.path.abspath(labs.Operator.BINARY))):
        if not os.path.lexists(f"{folder}/{link}"):
            os.symlink(target, f"{folder}/{link}")
    env = {"PATH": f"{folder}:{lab.bin}:{os.environ['PATH']}", "HOME": lab.dir, "KUBECONFIG": lab.kubeconfig,
           "CHART": f"{ROOT}/charts/leeboard", "IMAGE": image, **more}
    done = subprocess.run(["bash", "-euo", "pipefail", "-c", blocks()[name]], env=env, text=True, timeout=180,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert done.returncode == 0, f"{name}:\n{done.stdout}"
    return done.stdout


def upstream(lab, namespace, name):
    """Upstream's Deployment; its pods do not run here."""
    lab.namespace(namespace)
    labels = {"app": name}
    lab.apply(namespace, {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": {
        "replicas": 1, "selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": {
            "containers": [{"name": "manager", "image": "upstream.test/manager:1"}]}}}})


def replicas(lab, namespace, name):
    return lab.get("deployments", namespace, name)["spec"]["replicas"]


@own_lab(controllers=None, crds=False)
def test_install_upgrade_and_remove(lab):
    play(lab, "install")
    image = lab.get("deployments", HOME, "leeboard")["spec"]["template"]["spec"]["containers"][0]["image"]
    assert image.startswith("registry.test/leeboard:"), image
    ns = lab.namespace("models")
    with Operator(lab):
        lab.apply(ns, model())
        wait_for(lambda: (lab.get("models", ns, model()["metadata"]["name"]) or {}).get("status"), 10, "a status")
    play(lab, "upgrade")
    play(lab, "remove")
    assert not lab.get("deployments", HOME, "leeboard")
    assert lab.get("models", ns, model()["metadata"]["name"]), "the Model is gone"
    lab.delete("models", ns, model()["metadata"]["name"])
    wait_for(lambda: not lab.get("models", ns, model()["metadata"]["name"]), 10, "the Model to go without an operator")


@own_lab(controllers=None, crds=False)
def test_install_without_helm(lab):
    play(lab, "install-manifests")
    assert lab.get("deployments", HOME, "leeboard")


@own_lab(controllers=None)
def test_switch_and_go_back(lab):
    for family, namespace, name in (("llmkube", "llmkube-system", "llmkube-controller-manager"),
                                    ("toolhive", "toolhive-system", "toolhive-operator"),
                                    ("otterscale", "otterscale-system", "model-operator-controller-manager")):
        upstream(lab, namespace, name)
        play(lab, f"switch-{family}")
        assert replicas(lab, namespace, name) == 0 and lab.get("deployments", HOME, "leeboard"), family
        if family == "llmkube":
            play(lab, "go-back")
            assert replicas(lab, namespace, name) == 1 and replicas(lab, HOME, "leeboard") == 0
        subprocess.run([program(), "uninstall", "leeboard", "-n", HOME], check=True, stdout=subprocess.PIPE,
                       env={"KUBECONFIG": lab.kubeconfig, "HOME": lab.dir, "PATH": os.environ["PATH"]})


@own_lab(controllers=None)
def test_release_takes_off_the_finalizers_of_objects_that_wait_to_go(lab):
    """A ModelService has one; without an operator it would hang for ever."""
    ns = lab.namespace("hangs")
    owl = model_service()
    owl["metadata"]["finalizers"] = ["model.otterscale.io/epp-cluster-rbac", "others.test/stay"]
    lab.apply(ns, owl)
    done = subprocess.run([labs.Operator.BINARY, "release", "--kubeconfig", lab.kubeconfig], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60)
    assert done.returncode == 0 and f"modelservices {ns}/owl released" in done.stdout, done.stdout
    left = lab.get("modelservices", ns, "owl")["metadata"].get("finalizers")
    assert left == ["others.test/stay"], left
