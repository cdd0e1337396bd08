"""LLMKube's admission webhooks on a real API server: verdicts as recorded, and a certificate that the operator issues,
shares between replicas and renews without a gap."""
import base64
import contextlib
import ssl
import subprocess
import tempfile

import lab as labs
import yaml
from lab import ROOT, ApiError, Operator, free_port, wait_for

REGISTRATION = "/apis/admissionregistration.k8s.io/v1"
CONFIGURATIONS = ("validatingwebhookconfigurations", "mutatingwebhookconfigurations")
HOME = "home"


def manifests():
    """The configurations of `leeboard manifests`, which name a Service."""
    done = subprocess.run([labs.Operator.BINARY, "manifests", "--no-crds", "--enable-webhooks"], check=True, text=True,
                          stdout=subprocess.PIPE)
    return [o for o in yaml.safe_load_all(done.stdout) if o and o["kind"].endswith("WebhookConfiguration")]


def register(lab, port, bundle=None):
    """There is no Service without pods here, so the API server is told the address."""
    for o in manifests():
        for webhook in o["webhooks"]:
            where = webhook["clientConfig"].pop("service")
            webhook["clientConfig"]["url"] = f"https://127.0.0.1:{port}{where['path']}"
            if bundle:
                webhook["clientConfig"]["caBundle"] = base64.b64encode(bundle).decode()
        lab.api("POST", f"{REGISTRATION}/{o['kind'].lower()}s", o)


def unregister(lab):
    for plural in CONFIGURATIONS:
        with contextlib.suppress(ApiError):
            lab.api("DELETE", f"{REGISTRATION}/{plural}/leeboard")


def bundles(lab):
    found = [w["clientConfig"].get("caBundle", "") for plural in CONFIGURATIONS
             for w in lab.api("GET", f"{REGISTRATION}/{plural}/leeboard")["webhooks"]]
    return set(found)


def secret(lab):
    found = lab.get("secrets", HOME, "leeboard-webhook")
    return {k: base64.b64decode(v) for k, v in found["data"].items()} if found else None


def served(port, authority):
    """The certificate on a port, if it is one of the authority; else None."""
    try:
        context = ssl.create_default_context(cadata=authority.decode())
        with contextlib.closing(labs.socket.create_connection(("127.0.0.1", port), timeout=20)) as plain:
            with context.wrap_socket(plain, server_hostname="localhost") as s:
                return ssl.DER_cert_to_PEM_cert(s.getpeercert(True)).strip()
    except OSError:
        return None


def is_served(lab, port):
    now = secret(lab)
    return now and served(port, now["ca.crt"]) == now["tls.crt"].decode().strip()


@contextlib.contextmanager
def operator(lab, *more):
    """One with webhooks that the API server uses."""
    port = free_port()
    if not lab.get("namespaces", None, HOME):
        lab.namespace(HOME)
    register(lab, port)
    try:
        with Operator(lab, "--enable-webhooks", f"--webhook-port={port}", f"--leader-election-namespace={HOME}",
                      *more) as op:
            op.webhook_port = port
            wait_for(lambda: is_served(lab, port) and bundles(lab) == {
                base64.b64encode(secret(lab)["ca.crt"]).decode()}, 30, "the webhooks")
            yield op
    finally:
        unregister(lab)


# What upstream made of the recorded cases: the objects that it stored, and parts of what it said of the others.
RECORDED = {
    "hook-isvc-invalid": (["Model/base"], ['gpuSharing mode "partitioned" requires exactly 1 GPU, got 2',
                                           "vllmConfig.tensorParallelSize 4 exceeds the 2 GPU(s) this pod requests"]),
    "hook-model-accelerator": (["Model/kept", "Model/off", "Model/rc", "Model/vk"], []),
    "hook-quota-count": (["GPUQuota/quota", "InferenceService/fits", "Model/base"], [
        'admission webhook "vinferenceservicequota.inference.llmkube.dev" denied the request: '
        'GPUQuota "quota" denied: would exceed gpuCount 3 (current 2 + requested 4)'] * 2),
    "hook-quota-vram": (["GPUQuota/quota", "InferenceService/mig", "Model/base"], [
        "vramBytes", 'GPUQuota "quota" denied: would exceed vramBytes 25769803776 '
        "(current 12884901888 + requested 85899345920)"]),
    "hook-quota-zero": (["GPUQuota/quota", "InferenceService/nogpu", "InferenceService/stopped", "Model/base",
                         "Model/cpu"],
                        ['GPUQuota "quota" denied: would exceed gpuCount 0 (current 0 + requested 1)']),
    "hook-router-invalid": (["InferenceService/svc", "Model/base", "ModelRouter/fine"], [
        'admission webhook "vmodelrouter.inference.llmkube.dev" denied the request: ModelRouter.inference.llmkube.dev '
        '"ghost" is invalid: spec.defaultRoute: Invalid value: null: references undefined backend "phantom"',
        'ModelRouter.inference.llmkube.dev "pii" is invalid: spec.rules[0].route.backends: Invalid value: null: '
        'sensitive-data rule cannot route to cloud-tier backend "a" (matched classifications: [pii])']),
}
ACCELERATORS = {"kept": "cuda", "off": "cpu", "rc": "rocm", "vk": "vulkan"}
KINDS = {"models": "Model", "inferenceservices": "InferenceService", "modelrouters": "ModelRouter",
         "gpuquotas": "GPUQuota"}


def refusals(lab, namespace, documents):
    done = [lab.apply(namespace, d, check=False) for d in documents]
    return [d.stderr.strip() for d in done if d.returncode]


def seen(op, lab, namespace, *plurals):
    """The operator knows what is there: a verdict rests on its cache, which a watch fills."""
    wait_for(lambda: all(o.get("status") for plural in plurals for o in lab.list(plural, namespace)), 20, "a status")


def play(op, lab, name):
    """Applies a recorded case one object after the other, as upstream's was."""
    with open(f"{ROOT}/tests/golden/llmkube/hooks/{name}.yaml") as f:
        documents = [d for d in yaml.safe_load_all(f) if d]
    lab.namespace(name)
    first = [d for d in documents if d["kind"] in ("Model", "GPUQuota")]
    said = refusals(lab, name, first)
    seen(op, lab, name, "models")
    for d in documents:
        if d not in first:
            said += refusals(lab, name, [d])
            seen(op, lab, name, "inferenceservices")
    return said


def test_the_recorded_verdicts(lab):
    """What was recorded of upstream with its webhooks, with the flags that it had then."""
    with operator(lab, "--model-cache-path=/nonexistent", "--allowed-remote-hosts=127.0.0.1") as op:
        for name, (stored, parts) in RECORDED.items():
            said = play(op, lab, name)
            there = sorted(f"{kind}/{o['metadata']['name']}" for plural, kind in KINDS.items()
                           for o in lab.list(plural, name))
            assert there == stored, (name, there, said)
            assert len(said) == len(parts) and all(map(str.__contains__, said, parts)), (name, said)
        for o in lab.list("models", "hook-model-accelerator"):
            assert o["spec"]["hardware"]["accelerator"] == ACCELERATORS[o["metadata"]["name"]], o
        counts = op.metrics()
        assert counts['leeboard_admission_reviews_total{webhook="vmodelrouter.inference.llmkube.dev",'
                      'outcome="denied"}'] == 2, counts
        check_edits(op, lab)
        check_stored_before(op, lab)


def check_edits(op, lab):
    """A service over its quota can be made smaller and labelled, and not be made larger."""
    ns = "hook-quota-count"
    quota = {"apiVersion": "inference.llmkube.dev/v1alpha1", "kind": "GPUQuota", "metadata": {"name": "quota"},
             "spec": {"namespaceRef": ns, "gpuCount": 1}}
    lab.apply(ns, quota)

    def denied():
        try:
            lab.patch("inferenceservices", ns, "fits", {"spec": {"replicas": 2}})
        except ApiError as e:
            return e.code == 403 and "would exceed gpuCount 1 (current 0 + requested 4)" in str(e)
        lab.patch("inferenceservices", ns, "fits", {"spec": {"replicas": 1}})
        return False
    wait_for(denied, 20, "the smaller quota to be known")
    lab.patch("inferenceservices", ns, "fits", {"metadata": {"labels": {"a": "b"}}})
    lab.patch("inferenceservices", ns, "fits", {"spec": {"replicas": 0}})


def check_stored_before(op, lab):
    """A router that was stored without webhooks may be labelled, and loses its finalizers; its spec must become right."""
    ns, bad = lab.namespace("before"), {"backends": [{"name": "a", "inferenceServiceRef": {"name": "s"}}],
                                        "defaultRoute": "ghost"}
    body = {"apiVersion": "inference.llmkube.dev/v1alpha1", "kind": "ModelRouter",
            "metadata": {"name": "old", "finalizers": ["example.org/hold"]}, "spec": bad}
    unregister(lab)
    wait_for(lambda: not refusals(lab, ns, [body]), 20, "the API server to forget the webhooks")
    register(lab, op.webhook_port, secret(lab)["ca.crt"])
    wait_for(lambda: refusals(lab, ns, [{**body, "metadata": {"name": "new"}}]), 20, "the webhooks to be asked again")
    lab.patch("modelrouters", ns, "old", {"metadata": {"labels": {"a": "b"}}})
    try:
        lab.patch("modelrouters", ns, "old", {"spec": {"defaultRoute": "phantom"}})
        raise AssertionError("a wrong spec was replaced by another wrong one")
    except ApiError as e:
        assert e.code == 422 and "phantom" in str(e), e
    lab.delete("modelrouters", ns, "old")
    lab.patch("modelrouters", ns, "old", {"metadata": {"finalizers": None}})
    wait_for(lambda: not lab.get("modelrouters", ns, "old"), 20, "the router to go")


def openssl(*args):
    return subprocess.run(["openssl", *args], check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout


def reissue(days, authority, authority_key, folder):
    """A certificate of an authority that is valid for so many days; its PEM and that of its key."""
    paths = {name: f"{folder}/{name}" for name in ("ca", "ca.key", "key", "csr", "ext", "crt")}
    for name, content in (("ca", authority), ("ca.key", authority_key), (
            "ext", b"subjectAltName=DNS:leeboard-webhook.home.svc,DNS:leeboard-webhook.home.svc.cluster.local,"
                   b"DNS:leeboard-webhook,DNS:localhost,IP:127.0.0.1")):
        with open(paths[name], "wb") as f:
            f.write(content)
    openssl("req", "-newkey", "rsa:2048", "-nodes", "-keyout", paths["key"], "-subj", "/CN=x", "-out", paths["csr"])
    openssl("x509", "-req", "-in", paths["csr"], "-CA", paths["ca"], "-CAkey", paths["ca.key"], "-days", str(days),
            "-extfile", paths["ext"], "-set_serial", "7", "-out", paths["crt"])
    with open(paths["crt"], "rb") as crt, open(paths["key"], "rb") as key:
        return crt.read(), key.read()


def authority_of(days, folder):
    openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", f"{folder}/old.key", "-subj", "/CN=old",
            "-days", str(days), "-out", f"{folder}/old.crt")
    with open(f"{folder}/old.crt", "rb") as crt, open(f"{folder}/old.key", "rb") as key:
        return crt.read(), key.read()


def put_secret(lab, **data):
    data = {k.replace("_", "."): base64.b64encode(v).decode() for k, v in data.items()}
    lab.patch("secrets", HOME, "leeboard-webhook", {"data": data})


def asked_and_answered(lab):
    """The API server asks a webhook and trusts it: a wrong router is refused by the verdict, not by its failure."""
    ns = lab.get("namespaces", None, "asked") and "asked" or lab.namespace("asked")
    body = {"apiVersion": "inference.llmkube.dev/v1alpha1", "kind": "ModelRouter", "metadata": {"name": "wrong"},
            "spec": {"backends": [{"name": "a", "inferenceServiceRef": {"name": "s"}}], "defaultRoute": "ghost"}}
    said = refusals(lab, ns, [body])
    return said and "undefined backend" in said[0]


def test_certificates_are_shared_and_renewed(lab):
    """Two replicas have one certificate. One that ends soon is replaced by one of the same authority, an authority that ends
    soon by a new one beside which the old one is still trusted; a caBundle that somebody removed comes back."""
    with operator(lab, "--leader-elect") as op, tempfile.TemporaryDirectory() as folder:
        wait_for(lambda: asked_and_answered(lab), 20, "a verdict")
        port = free_port()
        with Operator(lab, "--enable-webhooks", f"--webhook-port={port}", f"--leader-election-namespace={HOME}",
                      "--leader-elect", wait=False):
            wait_for(lambda: is_served(lab, port), 20, "the standby to serve it")
        first = secret(lab)
        op.stop()
        crt, key = reissue(20, first["ca.crt"], first["ca.key"], folder)
        put_secret(lab, tls_crt=crt, tls_key=key)
        op.start()
        wait_for(lambda: secret(lab)["tls.crt"] != crt and is_served(lab, op.webhook_port), 20, "a renewal")
        assert secret(lab)["ca.crt"] == first["ca.crt"]
        op.stop()
        ca, ca_key = authority_of(300, folder)
        crt, key = reissue(80, ca, ca_key, folder)
        put_secret(lab, ca_crt=ca, ca_key=ca_key, tls_crt=crt, tls_key=key)
        op.start()
        wait_for(lambda: secret(lab)["ca.crt"] != ca and is_served(lab, op.webhook_port), 20, "a new authority")
        bundle = secret(lab)["ca.crt"]
        assert bundle.count(b"BEGIN CERTIFICATE") == 2 and bundle.strip().endswith(ca.strip()), bundle
        wait_for(lambda: bundles(lab) == {base64.b64encode(bundle).decode()} and asked_and_answered(lab), 20, "trust")
        op.stop()
        unregister(lab)
        register(lab, op.webhook_port)
        op.start()
        wait_for(lambda: bundles(lab) == {base64.b64encode(bundle).decode()} and asked_and_answered(lab), 20, "trust")


def test_certificates_of_others_are_read_from_files(lab):
    """As upstream's manager takes them, from cert-manager for example."""
    with tempfile.TemporaryDirectory() as folder:
        ca, ca_key = authority_of(300, folder)
        crt, key = reissue(80, ca, ca_key, folder)
        for name, content in (("tls.crt", crt), ("tls.key", key)):
            with open(f"{folder}/{name}", "wb") as f:
                f.write(content)
        port = free_port()
        with Operator(lab, f"--webhook-cert-path={folder}", f"--webhook-port={port}"):
            assert served(port, ca) == crt.decode().strip()
