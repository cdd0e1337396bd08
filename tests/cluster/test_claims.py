"""Claims and their directories."""
import os

from controllers import IMAGE, OURS_OFF, status
from lab import own_lab, wait_for
from promises import Operator


def claim(name, **spec):
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name},
            "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}},
                     **spec}}


@own_lab(controllers=OURS_OFF)
def test_a_claim_gets_a_directory_that_goes_with_it(lab):
    ns = lab.namespace("claims")
    data = f"{lab.dir}/state/volumes/{ns}/data"
    os.makedirs(f"{data}/deep")
    with Operator(lab, "--workloads", bind={"/var/lib/leeboard": f"{lab.dir}/state"}):
        lab.apply(ns, [claim("data"), claim("other", storageClassName="")])
        lab.kubectl("-n", ns, "wait", "--for=jsonpath={.status.phase}=Bound", "pvc/data",
                    "--timeout=60s")
        o = lab.get("persistentvolumeclaims", ns, "data")
        name = f"pvc-{o['metadata']['uid']}"
        assert o["spec"]["volumeName"] == name, o
        assert o["status"]["capacity"] == {"storage": "1Gi"}, o
        assert o["status"]["conditions"][0]["type"] == "leeboard.dev/SizeNotEnforced", o
        wait_for(lambda: (lab.get("persistentvolumes", None, name).get("status") or {}).get(
            "phase") == "Bound", 30, "the volume to be bound")
        volume = lab.get("persistentvolumes", None, name)
        assert volume["spec"]["hostPath"]["path"].endswith("/claims/data"), volume
        assert status(lab, ns, "persistentvolumeclaims", "other")["phase"] == "Pending"
        # Whoever uses it keeps it.
        lab.create("pods", ns, {"metadata": {"name": "user"}, "spec": {
            "containers": [{"name": "main", "image": IMAGE}], "volumes": [
                {"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]}})
        lab.kubectl("-n", ns, "delete", "pvc", "data", "--wait=false")
        lab.apply(ns, claim("later"))
        lab.kubectl("-n", ns, "wait", "--for=jsonpath={.status.phase}=Bound", "pvc/later",
                    "--timeout=60s")
        assert lab.get("persistentvolumes", None, name)["status"]["phase"] == "Bound"
        assert os.path.exists(data)
        lab.delete("pods", ns, "user")
        wait_for(lambda: not lab.get("persistentvolumeclaims", ns, "data"), 30, "the claim to go")
        assert not os.path.exists(data)
        wait_for(lambda: not lab.get("persistentvolumes", None, name), 30, "the volume to go")


@own_lab(controllers=OURS_OFF)
def test_a_claim_that_names_a_volume_gets_it(lab):
    ns = lab.namespace("named")

    def phase(plural, where, name):
        return ((lab.get(plural, where, name) or {}).get("status") or {}).get("phase")
    with Operator(lab, "--workloads"):
        lab.apply(ns, claim("mine", volumeName="disk", storageClassName=""))
        wait_for(lambda: phase("persistentvolumeclaims", ns, "mine") == "Pending", 30, "a first look")
        lab.create("persistentvolumes", None, {"metadata": {"name": "disk"}, "spec": {
            "accessModes": ["ReadWriteOnce"], "capacity": {"storage": "5Gi"},
            "persistentVolumeReclaimPolicy": "Retain", "hostPath": {"path": "/srv/disk"}}})
        wait_for(lambda: phase("persistentvolumeclaims", ns, "mine") == "Bound", 30, "the claim")
        wait_for(lambda: phase("persistentvolumes", None, "disk") == "Bound", 30, "the volume")
        o = lab.get("persistentvolumeclaims", ns, "mine")
        assert o["status"]["capacity"] == {"storage": "5Gi"} and not o["status"].get("conditions"), o
        lab.delete("persistentvolumeclaims", ns, "mine")
        wait_for(lambda: phase("persistentvolumes", None, "disk") == "Released", 30, "its release")
