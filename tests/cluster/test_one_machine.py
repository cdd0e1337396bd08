"""The recorded cases of LLMKube without any Kubernetes: on our API server, with our controllers and pods that
the test plays, each ends as it did on a cluster with LLMKube's operator."""
import base64
import functools
import json
import os
import subprocess
import time

import replay  # also finds golden
import yaml
from controllers import is_ready, play_pod
from lab import PATIENCE_S, Failure, Lab, Operator, free_port, spawn, wait_for

import golden

# Every so many-th case, or all of them if this is set.
EVERY = 1 if os.environ.get("LEEBOARD_ALL_CASES") else 4
CASE = "one_machine_"
# What the software of the GPU's vendor installs.
NVIDIA = {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "nvidia"}, "handler": "nvidia"}


class Machine(Lab):
    """`leeboard apiserver` in the place of a control plane."""

    def _start(self):
        os.mkdir(f"{self.dir}/certs")
        self.port = free_port()
        self._write("tokens.csv", 'admin-token,admin,admin,"system:masters"\n')
        data, log = f"{self.dir}/data", f"{self.dir}/apiserver.log"
        self.processes.append(("leeboard", spawn([
            Operator.BINARY, "apiserver", f"--data={data}", f"--listen=127.0.0.1:{self.port}", "--no-fsync",
            f"--token-file={self.dir}/tokens.csv"], log)))
        wait_for(lambda: os.path.exists(f"{data}/kubeconfig"), 60, "leeboard apiserver to be ready")
        with open(f"{data}/kubeconfig") as f:
            cluster = yaml.safe_load(f)["clusters"][0]["cluster"]
        self._write("certs/apiserver.crt", base64.b64decode(cluster["certificate-authority-data"]).decode())
        self.write_kubeconfig("kubeconfig", "admin-token")
        wait_for(self._answers, 60, "leeboard apiserver to be ready")
        manifests = subprocess.run([Operator.BINARY, "manifests"], check=True, text=True, stdout=subprocess.PIPE)
        self.apply("default", [d for d in yaml.safe_load_all(manifests.stdout)
                               if d and d["kind"] == "PriorityClass"] + [NVIDIA])

    def apply(self, namespace, manifest, check=True):
        """A document an object: for a List kubectl asks for a description of the API in protobuf."""
        if not isinstance(manifest, str):
            items = manifest if isinstance(manifest, list) else [manifest]
            manifest = "\n---\n".join(json.dumps(item) for item in items)
        return super().apply(namespace, manifest, check)


class Stillness:
    """Knows from the versions of its objects when something in a namespace last changed."""

    def __init__(self, run):
        self.run = run

    def _versions(self, namespace):
        return {(plural, o["metadata"]["name"]): o["metadata"]["resourceVersion"]
                for base, plural, _, _ in self.run.resources
                for o in self.run.lab.api("GET", f"{base}/namespaces/{namespace}/{plural}")["items"]}

    def reached(self, namespace, start):
        last, since = self._versions(namespace), time.monotonic()
        while time.monotonic() - since < replay.QUIET_S:
            if time.monotonic() - start > PATIENCE_S:
                return False
            time.sleep(0.3)
            now = self._versions(namespace)
            if now != last:
                last, since = now, time.monotonic()
        return True

    def stop(self):
        pass


class OneMachine(replay.Replay):
    def __init__(self, family, flags, operator=True):
        self.played = set()
        super().__init__(family, (*flags, "--workloads"), operator)

    def _new_lab(self):
        return Machine()

    def _new_stillness(self):
        return Stillness(self)

    def _objects(self, namespace):
        for o in super()._objects(namespace):
            # A claim that names no volume gets a directory of this machine.
            if o["kind"] == "PersistentVolumeClaim" and o["spec"].get("volumeName", "").startswith("pvc-"):
                del o["spec"]["volumeName"]
                notes = o["metadata"].pop("annotations")
                notes = {k: v for k, v in notes.items() if not k.startswith("pv.kubernetes.io/")}
                o["metadata"].update({"annotations": notes} if notes else {})
            yield o

    def _picture(self, namespace, brought, start):
        """What was played ready once stays so: on a cluster its status was written by the test, here a
        Deployment that is recreated has new pods."""
        if namespace in self.played and any(o["spec"]["strategy"]["type"] == "Recreate"
                                            for o in self.lab.list("deployments", namespace)):
            self._play_pods(namespace)
        return super()._picture(namespace, brought, start)

    def _play_pods(self, namespace):
        for pod in self.lab.list("pods", namespace):
            if not is_ready(pod):
                play_pod(self.lab, namespace, pod)

    def _play_ready(self, namespace):
        def played():
            self._play_pods(namespace)
            return all(
                o["status"].get("observedGeneration") == o["metadata"]["generation"] and
                o["status"].get("updatedReplicas", 0) == o["status"].get("availableReplicas", 0) ==
                o["status"].get("replicas", 0) == o["spec"]["replicas"]
                for plural in ("deployments", "statefulsets") for o in self.lab.list(plural, namespace))
        wait_for(played, PATIENCE_S, f"the pods of {namespace}")
        self.played.add(namespace)


def check(case, future, accepted):
    differences = golden.compare(golden.recorded("llmkube", case), future.result())
    unexplained = [d for d in differences if not accepted.explains(d)]
    if unexplained:
        raise Failure("\n".join(f"  {d}" for d in unexplained))


def tests(wanted):
    accepted, every = golden.Accepted("llmkube", "cluster"), golden.cases("llmkube")
    chosen = {name: path for i, (name, path) in enumerate(sorted(every.items()))
              if i % EVERY == 0 and wanted(CASE + name)}
    if chosen:
        for case, future in replay.replay("llmkube", chosen, on=OneMachine):
            yield CASE + case, functools.partial(check, case, future, accepted)
