"""The chart with a real Helm: it renders what `leeboard manifests` prints, and installs on a real API server under its
own rights; removing it keeps CRDs and objects."""
import functools
import itertools
import subprocess

import lab as labs
import yaml
from lab import ROOT, own_lab, wait_for
from promises import Operator, model

CHART = f"{ROOT}/charts/leeboard"
HOME = "leeboard-system"
FAMILIES = ("llmkube", "otterscale", "toolhive")
ALL = ["--set", "prometheus.serviceMonitor.enabled=true,prometheus.inferencePodMonitor.enabled=true",
       "--set", "prometheus.routerPodMonitor.enabled=true,prometheus.prometheusRule.enabled=true",
       "--set", "grafana.dashboards.enabled=true,networkPolicies.enabled=true,podDisruptionBudget.enabled=true"]


@functools.cache
def program():
    """Helm; kubeVersion of the chart asks for a version that a Helm without one cannot know."""
    folder = subprocess.run([f"{ROOT}/tools/clients"], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    return f"{folder}/helm"


def helm(*args, lab=None):
    env = {"HOME": "/nonexistent", "KUBECONFIG": lab.kubeconfig if lab else "", "PATH": "/usr/bin:/bin"}
    if lab:
        env |= {f"HELM_{name}_HOME": f"{lab.dir}/helm" for name in ("CACHE", "CONFIG", "DATA")}
    done = subprocess.run([program(), "-n", HOME, *args], text=True, capture_output=True, timeout=120, env=env)
    assert done.returncode == 0, f"helm {' '.join(args)}: {done.stderr}"
    return done.stdout


def named(text):
    return {(o["kind"], o["metadata"].get("namespace"), o["metadata"]["name"]): o
            for o in yaml.safe_load_all(text) if o}


def rendered(*flags):
    return named(helm("template", "leeboard", CHART, "--kube-version", "1.36.4", *flags))


def printed(*flags):
    done = subprocess.run([labs.Operator.BINARY, "manifests", *flags], check=True, text=True, stdout=subprocess.PIPE)
    return {k: o for k, o in named(done.stdout).items() if k[0] != "Namespace"}


def check_equal(chart, ours):
    for o in chart.values():
        stays = o["kind"] in ("CustomResourceDefinition", "PriorityClass")
        kept = o["metadata"].pop("annotations", {}) if stays else {}
        if kept.pop("helm.sh/resource-policy", None) and kept:
            o["metadata"]["annotations"] = kept
    assert sorted(chart, key=str) == sorted(ours, key=str)
    for k, o in chart.items():
        assert o == ours[k], f"{k}:\nchart     {o}\nmanifests {ours[k]}"


def test_the_chart_renders_what_manifests_prints():
    check_equal(rendered(), printed())


def test_each_choice_of_families_renders_the_same():
    for n in (1, 2):
        for some in itertools.combinations(FAMILIES, n):
            check_equal(rendered("--set", f"families={{{','.join(some)}}}", "--set", "crds.install=false"),
                        printed("--no-crds", f"--families={','.join(some)}"))


def test_several_namespaces_render_the_same():
    chart = rendered("--set", "operator.rbac.scope=namespace,operator.rbac.allowedNamespaces={shop,yard}",
                     "--set", "crds.install=false,webhook.enabled=true")
    check_equal(chart, printed("--no-crds", "--namespace=shop,yard", "--enable-webhooks"))
    assert {("Role", ns, "leeboard") for ns in ("shop", "yard")} <= set(chart) and \
        ("ClusterRole", None, "leeboard") not in chart, sorted(chart, key=str)


def test_one_namespace_renders_the_same():
    check_equal(rendered("--set", "operator.rbac.scope=namespace,operator.rbac.allowedNamespaces={shop}",
                         "--set", "crds.install=false"), printed("--no-crds", "--namespace=shop"))


def test_webhooks_render_the_same():
    for more, flags in (((), ()), (("--set", "operator.rbac.scope=namespace,operator.rbac.allowedNamespaces={shop}"),
                                   ("--namespace=shop",))):
        check_equal(rendered("--set", "webhook.enabled=true,crds.install=false", *more),
                    printed("--no-crds", "--enable-webhooks", *flags))


def test_values_become_the_flags_and_variables_that_the_program_knows():
    pod = rendered("--set", "openshift=true,modelCache.mode=perService,controllerManager.caCertConfigMap=ca",
                   "--set", "runtimeImages.llamacpp=here/llama:1,operator.proxyHost=127.0.0.1",
                   "--set", "operator.defaultImagePullSecrets={pull}", "--set", "crds.install=false")[
        "Deployment", HOME, "leeboard"]["spec"]["template"]["spec"]
    container = pod["containers"][0]
    for flag in ("--default-fsgroup=0", "--model-cache-mode=perService", "--ca-cert-configmap=ca",
                 "--runtime-images=llamacpp=here/llama:1"):
        assert flag in container["args"], container["args"]
    done = subprocess.run([labs.Operator.BINARY, *container["args"], "--kubeconfig=/nonexistent/kubeconfig"],
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and "/nonexistent/kubeconfig" in done.stderr, done.stderr
    env = {e["name"]: e.get("value") for e in container["env"]}
    assert env["TOOLHIVE_PROXY_HOST"] == "127.0.0.1" and env["TOOLHIVE_DEFAULT_IMAGE_PULL_SECRETS"] == "pull", env
    assert "runAsUser" not in pod["securityContext"], pod["securityContext"]


def test_values_of_toolhives_chart_shape_the_pod():
    flags = ["--set", "operator.env[0].name=A,operator.env[0].value=b,operator.imagePullSecrets[0].name=pull",
             "--set", "operator.resources.limits.memory=64Mi,operator.podLabels.team=sea,operator.nodeSelector.disk=fast",
             "--set", "operator.replicaCount=2,crds.install=false"]
    deployment = rendered(*flags)["Deployment", HOME, "leeboard"]["spec"]
    pod = deployment["template"]["spec"]
    assert deployment["replicas"] == 2 and pod["imagePullSecrets"] == [{"name": "pull"}], deployment
    assert {"name": "A", "value": "b"} in pod["containers"][0]["env"] and pod["nodeSelector"] == {"disk": "fast"}, pod
    assert pod["containers"][0]["resources"]["limits"]["memory"] == "64Mi", pod
    assert deployment["template"]["metadata"]["labels"]["team"] == "sea", deployment


def test_monitoring_and_policies_are_complete_objects():
    extra = {k: o for k, o in rendered(*ALL, "--set", "crds.install=false").items()}
    kinds = [k[0] for k in extra]
    for kind in ("ServiceMonitor", "PodMonitor", "PrometheusRule", "NetworkPolicy", "PodDisruptionBudget"):
        assert kind in kinds, kinds
    rule = extra["PrometheusRule", HOME, "leeboard"]
    with open(f"{ROOT}/docs/runbooks.md") as file:
        book = file.read()
    for alert in rule["spec"]["groups"][0]["rules"]:
        assert f"\n## {alert['alert']}\n" in book, alert["alert"]


@own_lab(controllers=None, crds=False)
def test_helm_installs_it_upgrades_it_and_removing_keeps_crds_and_objects(lab):
    notes = helm("install", "leeboard", CHART, "--create-namespace",
                 "--set", "operator.image=upstream.test/o:1,multitenancy.enabled=true", lab=lab)
    assert "no effect here: operator.image, multitenancy." in notes, notes[-600:]
    token = lab.api("POST", lab.path("serviceaccounts", HOME, "leeboard/token"), {})
    config = lab.write_kubeconfig("chart.kubeconfig", token["status"]["token"])
    ns, mark = lab.namespace("chat"), lab.mark()
    with Operator(lab, kubeconfig=config):
        lab.list("models", ns)  # a new CRD's storage is made anew for a while: kubectl has less patience than this
        lab.apply(ns, model())
        wait_for(lambda: (lab.get("models", ns, model()["metadata"]["name"]) or {}).get("status"), 10, "a status")
        forbidden = [e["requestURI"] for e in lab.requests(mark) if e["responseStatus"]["code"] == 403]
        assert not forbidden, forbidden
    helm("upgrade", "leeboard", CHART, "--set", "controllerManager.replicaCount=2", lab=lab)
    assert lab.get("deployments", HOME, "leeboard")["spec"]["replicas"] == 2
    helm("uninstall", "leeboard", lab=lab)
    assert not lab.get("deployments", HOME, "leeboard")
    assert lab.get("models", ns, model()["metadata"]["name"]), "the Model went with the release"
