"""Taking over from ToolHive's operator, and back: no pod template changes.

The objects are those of the recordings, written as upstream wrote them: by plain requests, under its
field manager's name. The gateway's part of a status is under the gateway's.
"""
import copy

import replay  # noqa: F401  also finds golden

import golden
from lab import ApiError, wait_for
from promises import Operator
from test_takeover import managers, plain

LAB = {"controllers": "*"}
FAMILY = "toolhive"
UPSTREAM = "thv-operator"
# Upstream's images are what runs; the operator has its own defaults.
RUNNER, GATEWAY = "toolhive/proxyrunner:v0.44.0", "toolhive/vmcp:v0.44.0"
# Not here: what has nothing that runs, and what differs from upstream on purpose.
LEFT_OUT = ("bad-*", "mcps-collision-*", "mcps-name*", "mcps-overrides-conflict", "env-*",
            "vmcp-composite-ref*", "vmcp-poison", "mcps-resources-bad", "mcps-v1alpha1",
            "mcps-perm-configmap", "emb-*", "reg-*", "rp-*")
WITH_STATUS = "/apis/toolhive.stacklok.dev/"


def bases(lab):
    """{kind: (base path, plural)} of every kind that a case may hold."""
    found = {}
    for base in ("/api/v1", "/apis/apps/v1", "/apis/rbac.authorization.k8s.io/v1",
                 "/apis/toolhive.stacklok.dev/v1beta1", "/apis/toolhive.stacklok.dev/v1alpha1"):
        for r in lab.api("GET", base)["resources"]:
            if "/" not in r["name"]:
                found.setdefault(r["kind"], (base, r["name"]))
    return found


class Writer:
    def __init__(self, lab):
        self.lab, self.bases = lab, bases(lab)

    def write(self, namespace, o, uids):
        base, plural = self.bases[o["kind"]]
        path, status = f"{base}/namespaces/{namespace}/{plural}", o.pop("status", None)
        for owner in o["metadata"].get("ownerReferences", ()):
            owner["uid"] = uids[owner["uid"]]
        if o["kind"] == "Secret" and "hmac-secret" in o.get("data", {}):
            o["data"]["hmac-secret"] = "eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHg="
        by = f"?fieldManager={UPSTREAM}"
        brought = not o["metadata"].get("ownerReferences")
        made = self.lab.api("POST", path + ("?fieldManager=kubectl" if brought else by), o)
        if status and base.startswith(WITH_STATUS):
            for c in status.get("conditions", ()):
                c.setdefault("observedGeneration", 1)
            self.lab.api("PUT", f"{path}/{o['metadata']['name']}/status{by}",
                         {**made, "status": status})
        uids[golden.object_key(o)] = made["metadata"]["uid"]

    def write_case(self, case):
        picture, uids = golden.recorded(FAMILY, case)["ready"], {}
        self.lab.namespace(case)
        wait_for(lambda: self.lab.get("serviceaccounts", case, "default"), 30, "the account")
        for part in ("inputs", "children"):
            for o in picture[part]:
                try:
                    self.write(case, plain(o), uids)
                except ApiError as e:
                    raise AssertionError(f"{case}: {golden.object_key(o)}: {e}") from e


def cases():
    return [case for case in golden.cases(FAMILY)
            if not any(golden.pattern(p).fullmatch(case) for p in LEFT_OUT)
            and any(o["kind"] == "Deployment"
                    for o in golden.recorded(FAMILY, case).get("ready", {"children": []})["children"])]


def templates(lab):
    return {(d["metadata"]["namespace"], d["metadata"]["name"]): d for d in lab.list("deployments")}


def images(template):
    return {c["image"] for c in template["spec"]["containers"]}


def test_what_upstream_made_is_taken_over_and_given_back_without_a_restart(lab):
    """Seen to fail with proxy_image() always taking ours: "pods were replaced in ['grp-members/alpha',
    ...]"."""
    written, writer = cases(), Writer(lab)
    assert len(written) >= 70, len(written)
    for case in written:
        writer.write_case(case)
    def made():
        return all(d["status"].get("observedGeneration") == d["metadata"]["generation"]
                   for d in lab.list("deployments"))
    wait_for(made, 60, "the deployment controller")
    for case in written:
        lab.play_pods(case)
    before = copy.deepcopy(templates(lab))
    with Operator(lab) as op:
        def ours():
            return [d["metadata"]["namespace"] for d in lab.list("deployments")
                    if UPSTREAM in managers(d)] == []
        wait_for(ours, 120, "all Deployments to be taken over")
        op.settle(120)
        after = templates(lab)
        rolled = sorted(f"{key[0]}/{key[1]}" for key, d in after.items()
                        if d["spec"]["template"] != before[key]["spec"]["template"])
        assert not rolled, f"pods were replaced in {rolled}"
        assert {i for d in after.values() for i in images(d["spec"]["template"])} >= \
            {RUNNER, GATEWAY}
        for plural, kind in (("mcpservers", "ProxyImageCurrent"),
                             ("virtualmcpservers", "GatewayImageCurrent")):
            kept = [o for o in lab.list(plural) for c in o["status"].get("conditions", ())
                    if c["type"] == kind and c["reason"] == "ImageKept"]
            assert len(kept) > 20, (plural, len(kept))
        # A change of the object brings our image.
        lab.api("PATCH", lab.path("virtualmcpservers", "vmcp-minimal", "hub"),
                {"spec": {"replicas": 1}}, "application/merge-patch+json")
        wait_for(lambda: GATEWAY not in images(
            templates(lab)[("vmcp-minimal", "hub")]["spec"]["template"]), 30, "our image")
        op.settle(60)
        mark = lab.mark()
        op.restart()
        op.settle(60)
        assert not lab.writes(mark), lab.writes(mark)

    # Back: upstream replaces what differs from what it wants. It would find nothing.
    for (namespace, name), d in before.items():
        if (namespace, name) == ("vmcp-minimal", "hub"):
            continue
        live = lab.get("deployments", namespace, name)
        version = live["metadata"]["generation"]
        live["spec"]["template"] = d["spec"]["template"]
        path = lab.path("deployments", namespace, name) + f"?fieldManager={UPSTREAM}"
        assert lab.api("PUT", path, live)["metadata"]["generation"] == version, (namespace, name)
