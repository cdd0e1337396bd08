"""What an object gets that names nothing: the class that the cluster has for such, and the place of its node.

The real server reads classes and nodes from copies that lag; a request without effect tells when it has seen them."""
from differential import MERGE

SCRIPTS = []
STORAGE, INGRESS = "/apis/storage.k8s.io/v1/storageclasses", "/apis/networking.k8s.io/v1/ingressclasses"
PRIORITY = "/apis/scheduling.k8s.io/v1/priorityclasses"


def script(function):
    SCRIPTS.append((f"defaults_{function.__name__}", function))
    return function


def storage_class(name, value="true", mark="storageclass.kubernetes.io/is-default-class"):
    return {"metadata": {"name": name, "annotations": {mark: value}}, "provisioner": "example.com/none",
            "volumeBindingMode": "WaitForFirstConsumer"}


def ingress_class(name, value="true"):
    return {"metadata": {"name": name, "annotations": {"ingressclass.kubernetes.io/is-default-class": value}},
            "spec": {"controller": "example.com/none"}}


def claim(name, annotations=None, **spec):
    return {"metadata": {"name": name, "annotations": annotations}, "spec": {
        "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, **spec}}


def ingress(name, annotations=None, **spec):
    return {"metadata": {"name": name, "annotations": annotations}, "spec": {
        "defaultBackend": {"service": {"name": "a", "port": {"number": 80}}}, **spec}}


def pod(name, **spec):
    return {"metadata": {"name": name, "labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}], **spec}}


def seen(s, path, body, where, value):
    """Waits until an object would get this value."""
    s.until(lambda: s.ask("POST", path + "?dryRun=All", body)[where] == value, f"{where} to be {value}")


def make(s, made, path, body):
    """A class; of those of one second the first by its name is taken, so each has its second."""
    second = lambda: s.ask("GET", f"{path}/{made[-1][1]}")["metadata.creationTimestamp"]
    dry = lambda: s.ask("POST", path + "?dryRun=All", body)["metadata.creationTimestamp"]
    if made:
        s.until(lambda: dry() != second(), "the next second")
    s.post(path, body)
    made.append((path, body["metadata"]["name"]))


def unmake(s, made):
    for path, name in made:
        s.ask("DELETE", f"{path}/{name}")


def choose(s, path, classes, thing, plural, field, others):
    """Classes of a kind, and things that get one."""
    p, made = s.namespace().replace("/api/v1", plural[0]) + "/" + plural[1], []
    try:
        for body in classes:
            make(s, made, path, body)
        seen(s, p, thing("probe"), field, "newer")
        s.post(p, thing("silent"))
        version = plural[0].removeprefix("/apis/").removeprefix("/api/")
        s.apply(p + "/applied", {"apiVersion": version, "kind": plural[2], **thing("applied")})
        for i, body in enumerate(others):
            s.post(p, {**body, "metadata": {**body["metadata"], "name": f"other{i}"}})
        s.ask("DELETE", f"{path}/newer")
        seen(s, p, thing("probe"), field, "older")
        s.patch(p + "/silent", {"metadata": {"labels": {"a": "b"}}})
        s.ask("PATCH", f"{path}/older", {"metadata": {"annotations": None}}, type=MERGE)
        seen(s, p, thing("probe"), field, None)
        s.post(p, thing("none"))
        s.post(path + "?dryRun=All", {**classes[0], "metadata": {**classes[0]["metadata"], "name": "third"}})
    finally:
        unmake(s, made)
        s.until(lambda: not any(s.ask("GET", "/".join(m)).status == 200 for m in made), "the classes to be gone")


@script
def storage(s):
    beta = "storageclass.beta.kubernetes.io/is-default-class"
    choose(s, STORAGE, [storage_class("older", mark=beta), storage_class("newer"), storage_class("never", "yes")], claim,
           ("/api/v1", "persistentvolumeclaims", "PersistentVolumeClaim"), "spec.storageClassName",
           [claim("x", storageClassName=""), claim("x", storageClassName="mine"),
            claim("x", {"volume.beta.kubernetes.io/storage-class": "noted"})])


@script
def ingresses(s):
    choose(s, INGRESS, [ingress_class("older"), ingress_class("newer"), ingress_class("never", "false")], ingress,
           ("/apis/networking.k8s.io/v1", "ingresses", "Ingress"), "spec.ingressClassName",
           [ingress("x", ingressClassName="mine"), ingress("x", {"kubernetes.io/ingress.class": "noted"}),
            ingress("x", {"kubernetes.io/ingress.class": ""})])


@script
def priorities(s):
    p, made = s.namespace() + "/pods", []
    usual = {"metadata": {"name": "usual"}, "value": 70, "globalDefault": True, "preemptionPolicy": "Never"}
    try:
        make(s, made, PRIORITY, usual)
        seen(s, p, pod("probe"), "spec.priority", 70)
        s.post(p, pod("silent"))
        s.post(p, pod("same", priority=70))
        s.post(p, pod("higher", priority=71))
        s.post(p, pod("keen", preemptionPolicy="PreemptLowerPriority"))
        s.post(p, pod("critical", priorityClassName="system-node-critical"))
        second = {**usual, "metadata": {"name": "second"}}
        s.post(PRIORITY, second)
        s.post(PRIORITY, {**second, "globalDefault": False})
        made.append((PRIORITY, "second"))
        s.patch(PRIORITY + "/second", {"globalDefault": True})
        s.patch(PRIORITY + "/usual", {"description": "still"})
        s.patch(PRIORITY + "/usual", {"globalDefault": False})
        seen(s, p, pod("probe"), "spec.priority", 0)
        s.post(p, pod("none"))
    finally:
        unmake(s, made)


@script
def places(s):
    p, node = s.namespace(), "defaults-node"
    labels = {"topology.kubernetes.io/zone": "z", "topology.kubernetes.io/region": "r", "topology.kubernetes.io/rack": "k"}
    zone = "metadata.labels"
    try:
        s.ask("POST", "/api/v1/nodes", {"metadata": {"name": node, "labels": labels}})
        seen(s, p + "/pods", pod("probe", nodeName=node), zone, {"a": "b", **{k: v for k, v in labels.items() if "rack" not in k}})
        s.post(p + "/pods", pod("set", nodeName=node))
        s.post(p + "/pods", pod("bound"))
        s.post(p + "/pods", pod("elsewhere", nodeName="no-such-node"))
        other = pod("labelled")
        s.post(p + "/pods", {**other, "metadata": {**other["metadata"], "labels": {"topology.kubernetes.io/zone": "mine"}}})
        for name in ("bound", "labelled"):
            s.post(f"{p}/pods/{name}/binding", {"metadata": {"name": name, "labels": {"by": "binding"}}, "target": {"kind": "Node", "name": node}})
            s.get(f"{p}/pods/{name}")
    finally:
        s.ask("DELETE", f"/api/v1/nodes/{node}")
