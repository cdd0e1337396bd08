#!/usr/bin/python3
"""Replays recorded cases through our operator on a real kube-apiserver, compares what came of them.

    tests/cluster/replay.py [--family NAME] [--show N] [--save DIR] [--no-operator] [CASE...]

CASE may have wildcards. Prints every difference that differences.yaml does not explain, then the
differing paths by count. ../golden/README.md tells what is compared.
"""
import argparse
import ast
import collections
import concurrent.futures
import fnmatch
import os
import sys
import threading
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, f"{os.path.dirname(HERE)}/golden"]
import golden  # noqa: E402
import source  # noqa: E402
import yaml  # noqa: E402
from lab import (MUTATING, NO_PODS, NO_WORKLOADS, PATIENCE_S, ApiError, Lab,  # noqa: E402
                 Operator, exit_on_signals, wait_for)

AT_ONCE = 8  # namespaces; nearly all of their time is waiting for quiet
# A picture is taken after so long a quiet, and again, up to a limit, until it is what was recorded.
QUIET_S, LIMIT_S = 1.5, PATIENCE_S

# The operator sees a folder of ours as /srv, where the cases have local models, and one as /models,
# where a manager that is told of no cache keeps its copies.
LOCAL_MODELS = ("tiny", "served", "plain", "checked")

# What a control plane runs, which kinds are the family's own, and which of a case come before them.
FAMILIES = {
    "llmkube": {"controllers": NO_WORKLOADS, "ours": ("models", "inferenceservices")},
    "otterscale": {"controllers": NO_PODS, "ours": ("modelservices", "modelartifacts")},
    # Kubernetes makes the pods: their owners look at them.
    "toolhive": {"controllers": "*", "ours": (
        "mcpservers", "mcpremoteproxies", "mcpgroups", "mcpserverentries", "mcptoolconfigs",
        "mcpexternalauthconfigs", "mcpoidcconfigs", "mcpauthzconfigs", "mcptelemetryconfigs",
        "mcpwebhookconfigs", "virtualmcpservers", "virtualmcpcompositetooldefinitions",
        "embeddingservers", "mcpregistries")},
}

# Made by Kubernetes itself, or not part of a state.
SKIPPED = {"events", "endpoints", "endpointslices", "replicasets", "pods", "controllerrevisions",
           "leases", "bindings", "localsubjectaccessreviews", "podtemplates"}
BY_KUBERNETES = {"ConfigMap/kube-root-ca.crt", "ServiceAccount/default"}


class Stillness:
    """Knows from the audit log when something in a namespace last changed."""

    def __init__(self, lab):
        self.lab, self.last, self.stopped = lab, {}, threading.Event()
        self.thread = threading.Thread(target=self._follow, daemon=True)
        self.thread.start()

    def _follow(self):
        offset = 0
        while not self.stopped.wait(0.1):
            end = self.lab.mark()
            for event in self.lab.requests(offset, agent="", verbs=MUTATING):
                what = event.get("objectRef", {})
                if event.get("responseStatus", {}).get("code", 500) < 300 and \
                        what.get("resource") not in ("events", "leases"):
                    self.last[what.get("namespace")] = time.monotonic()
            offset = end

    def reached(self, namespace, start):
        """Waits until nothing has changed for a while since start; False if that never came."""
        while True:
            now = time.monotonic()
            still_for = now - max(start, self.last.get(namespace, 0))
            if still_for >= QUIET_S:
                return True
            if now - start > LIMIT_S:
                return False
            time.sleep(min(QUIET_S - still_for, 0.2) + 0.01)

    def stop(self):
        self.stopped.set()
        self.thread.join()


class Replay:
    """One control plane with an operator of one command line."""

    def __init__(self, family, flags, operator=True):
        self.family, self.accepted = family, golden.Accepted(family, "cluster")
        self.lab = self._new_lab()
        self.lab.install_crds("api", "tests/golden/crds")
        self.resources = self._namespaced_resources()
        self.stillness = self._new_stillness()
        folders = {path: f"{self.lab.dir}{path}" for path in ("/srv", "/models")}
        for folder in (*folders.values(), f"{folders['/srv']}/models", f"{folders['/srv']}/cache"):
            os.mkdir(folder)
        for name in LOCAL_MODELS:
            with open(f"{folders['/srv']}/models/{name}.gguf", "wb") as f:
                f.write(source.TINY)
        self.generated = {}  # by namespace: objects whose names may be in later pictures too
        self.operator = Operator(self.lab, *flags, bind=folders) if operator else None

    def _new_lab(self):
        return Lab(controllers=FAMILIES[self.family]["controllers"])

    def _new_stillness(self):
        return Stillness(self.lab)

    def _play_ready(self, namespace):
        if self.family == "toolhive":
            self._play_pods(namespace)
        else:
            self.lab.play_ready(namespace)

    def _play_pods(self, namespace):
        """Until every Deployment and StatefulSet whose pods can be made has as many as it wants."""
        def wanted(o):
            fails = any(c["type"] == "ReplicaFailure" and c["status"] == "True"
                        for c in o.get("status", {}).get("conditions", ()))
            # No pod of a StatefulSet can have the label with its revision then.
            fails = fails or ("serviceName" in o["spec"] and len(o["metadata"]["name"]) > 52)
            return 0 if fails else o["spec"].get("replicas", 1)

        def all_there():
            count = sum(wanted(o) for plural in ("deployments", "statefulsets")
                        for o in self.lab.list(plural, namespace))
            self.lab.play_pods(namespace)  # a StatefulSet makes the next one after that
            pods = self.lab.list("pods", namespace)
            return len(pods) >= count and all(p["status"]["phase"] == "Running" for p in pods)
        wait_for(all_there, PATIENCE_S, "pods")

    def stop(self):
        self.stillness.stop()
        if self.operator and not self.operator.running():
            print(f"the operator ended with code {self.operator.process.returncode}:\n"
                  + self.operator.log(200))
        self.lab.stop()

    def _namespaced_resources(self):
        found, seen, groups = [], set(), self.lab.api("GET", "/apis")["groups"]
        preferred = [g["preferredVersion"]["groupVersion"] for g in groups]
        others = [v["groupVersion"] for g in groups for v in g["versions"]]  # for kinds of theirs
        for group in dict.fromkeys(("v1", *preferred, *others)):
            base = "/api/v1" if group == "v1" else f"/apis/{group}"
            # A group is announced a moment before it answers.
            listed = wait_for(lambda: self._resources_of(base), 20, f"{base} to be served")
            for r in listed:
                what = group.rpartition("/")[0], r["name"]
                if r["namespaced"] and "list" in r["verbs"] and r["name"] not in SKIPPED \
                        and "/" not in r["name"] and what not in seen:
                    seen.add(what)
                    found.append((base, r["name"], group, r["kind"]))
        return found

    def _resources_of(self, base):
        try:
            return self.lab.api("GET", base)["resources"]
        except ApiError as e:
            if e.code != 404:
                raise
            return None

    def _objects(self, namespace):
        for base, plural, group, kind in self.resources:
            for o in self.lab.api("GET", f"{base}/namespaces/{namespace}/{plural}")["items"]:
                o["apiVersion"], o["kind"] = group, kind
                if golden.object_key(o) not in BY_KUBERNETES:
                    yield o

    def _cluster_objects(self, namespace, accounts):
        """Those that are named after a namespace and an account in it."""
        for plural, kind in (("clusterroles", "ClusterRole"),
                             ("clusterrolebindings", "ClusterRoleBinding")):
            for account in accounts:
                o = self.lab.get(plural, None, f"{namespace}-{account}")
                if o:
                    yield {**o, "apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind}

    def _as_recorded(self, case, name, picture):
        theirs = golden.recorded(self.family, case)
        if name not in theirs:
            return True
        pair = ({"case": case, name: p} for p in (theirs[name], picture))
        return all(self.accepted.explains(d) for d in golden.compare(*pair))

    def _await_picture(self, case, name, brought, start):
        """Once it is quiet; on a busy machine that may be before our operator had its turn."""
        deadline = time.monotonic() + LIMIT_S
        while True:
            picture = self._picture(case, brought, start)
            late = time.monotonic() > deadline or not self.operator
            if late or self._as_recorded(case, name, picture):
                return picture
            time.sleep(QUIET_S / 3)

    def _picture(self, namespace, brought, start):
        quiet = self.stillness.reached(namespace, start)
        objects = list(self._objects(namespace))
        accounts = [o["metadata"]["name"] for o in objects if o["kind"] == "ServiceAccount"]
        objects += self._cluster_objects(namespace, accounts)
        names = {o["metadata"]["uid"]: golden.object_key(o) for o in objects}
        picture = {"quiet": quiet, "inputs": [], "children": []}
        for o in sorted(objects, key=lambda o: (o["kind"], o["metadata"]["name"])):
            if self.family == "toolhive":  # its recorder left this out
                golden.drop_last_applied(o)
            part = "inputs" if golden.object_key(o) in brought else "children"
            picture[part].append(golden.normal(o, names))
        self.generated.setdefault(namespace, []).extend(objects)
        return golden.without_generated_names(picture, self.generated[namespace])

    def _ours(self, namespace):
        return [o for plural in FAMILIES[self.family]["ours"]
                for o in self.lab.list(plural, namespace)]

    def _await_status(self, namespace):
        """A first status may need a look at a far source."""
        def all_have_one():
            return all(o.get("status") for o in self._ours(namespace))
        if self.operator:
            wait_for(all_have_one, 60, "a status")

    def _stage(self, namespace, documents, kinds):
        """Applies a part first: races between kinds in upstream are no part of the comparison."""
        part = [d for d in documents if d["kind"] in kinds]
        if part and len(part) < len(documents):
            self.lab.apply(namespace, part, check=False)
        return part

    def _reserve_volumes(self, documents):
        """Each volume is for the claim that names it: else a claim of another case may be given it."""
        for d in documents:
            name = d["spec"].get("volumeName") if d["kind"] == "PersistentVolumeClaim" else None
            for volume in documents:
                if name and volume["kind"] == "PersistentVolume" and volume["metadata"]["name"] == name:
                    claim = {"namespace": d["metadata"]["namespace"], "name": d["metadata"]["name"]}
                    self.lab.api("POST", "/api/v1/persistentvolumes",
                                 {**volume, "spec": {**volume["spec"], "claimRef": claim}})

    def _play_jobs(self, namespace, how):
        """The part of the pods of Jobs: `succeed WORD`, `fail WORD`, or `no-digest`."""
        how, _, word = how.partition(" ")
        if word.startswith("!"):  # too long to be written out: "x" * 2000
            text, _, times = word[1:].rpartition("*")
            word = ast.literal_eval(text.strip()) * int(times)
        for pod in self.lab.list("pods", namespace):
            if "batch.kubernetes.io/job-name" not in pod["metadata"].get("labels", {}):
                continue
            end = {"exitCode": int(how == "fail"), "startedAt": "2026-01-01T00:00:00Z",
                   "finishedAt": "2026-01-01T00:01:00Z", **({"message": word} if word else {})}
            statuses = [{"name": c["name"], "image": c["image"], "imageID": "x", "ready": False,
                         "restartCount": 0, "state": {"terminated": end}}
                        for c in pod["spec"]["containers"]]
            self.lab.patch("pods", namespace, f"{pod['metadata']['name']}/status", {"status": {
                "phase": "Failed" if how == "fail" else "Succeeded",
                "containerStatuses": statuses}})

    def _steps(self, case, path, brought, recording):
        """Further steps of a case: kubectl commands, a part to play, a picture after each."""
        steps = path.replace("/cases/", "/steps/")
        if not os.path.exists(steps):
            return
        with open(steps) as f:
            steps = yaml.safe_load(f)
        for step in steps:
            start = time.monotonic()
            for command in step.get("kubectl", ()):
                self.lab.kubectl("-n", case, *command, check=False)
            if step.get("play") == "pods":
                self._play_ready(case)
            elif step.get("play"):
                self._play_jobs(case, step["play"])
            name = f"step {step['name']}"
            recording[name] = self._await_picture(case, name, brought, start)

    def record(self, case, path):
        lab, start = self.lab, time.monotonic()
        with open(path) as f:
            text = f.read()
        documents = [d for d in yaml.safe_load_all(text) if d]
        plays = [line[len("# play: "):].strip() for line in text.splitlines()
                 if line.startswith("# play: ")]
        brought = {golden.object_key(d) for d in documents}
        lab.namespace(case)
        self._reserve_volumes(documents)
        claims = self._stage(case, documents, (
            "PersistentVolume", "PersistentVolumeClaim", "Secret", "EndpointSlice", "Deployment",
            "Service"))
        if any(d["kind"] == "PersistentVolumeClaim" for d in claims):
            wait_for(lambda: all(c["status"].get("phase") == "Bound"
                                 for c in lab.list("persistentvolumeclaims", case)
                                 if c["spec"].get("volumeName")), 20, "the claims to be bound")
        if self._stage(case, documents, ("Model",)):
            self._await_status(case)
        done = lab.kubectl("-n", case, "apply", "-f", path, check=False)
        recording = {"case": case}
        if done.returncode:
            recording["rejected"] = done.stderr.strip().splitlines()
        self._await_status(case)
        recording["applied"] = self._await_picture(case, "applied", brought, start)
        start = time.monotonic() if lab.list("deployments", case) or plays else start
        self._play_ready(case)
        for how in plays:
            self._play_jobs(case, how)
        recording["ready"] = self._await_picture(case, "ready", brought, start)
        update = path.replace("/cases/", "/updates/")
        if os.path.exists(update):
            start = time.monotonic()
            done = lab.kubectl("-n", case, "apply", "-f", update, check=False)
            if done.returncode:
                recording["updateRejected"] = done.stderr.strip().splitlines()
            recording["updated"] = self._await_picture(case, "updated", brought, start)
        self._steps(case, path, brought, recording)
        if case.startswith("zz-"):  # these were recorded one at a time, each gone before the next
            lab.delete("namespaces", None, case)
        return recording


def replay(family, cases, operator=True, on=Replay):
    """Yields (case, future of its recording) as they come. cases: {name: path}; on: what runs them."""
    server = source.serve() if family == "llmkube" else None
    try:
        left = dict(cases)
        for pattern, flags in golden.FAMILIES[family].items():
            group = {name: left.pop(name) for name in list(left) if fnmatch.fnmatch(name, pattern)}
            if not group:
                continue
            run = on(family, flags, operator)
            try:
                harmful = {name: group.pop(name) for name in list(group) if name.startswith("zz-")}
                for part, width in ((group, AT_ONCE), (harmful, 1)):
                    with concurrent.futures.ThreadPoolExecutor(width) as pool:
                        futures = {pool.submit(run.record, *item): item[0] for item in part.items()}
                        for future in concurrent.futures.as_completed(futures):
                            yield futures[future], future
            finally:
                run.stop()
    finally:
        if server:
            server.shutdown()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--family", choices=golden.FAMILIES, default=golden.FAMILY)
    parser.add_argument("--show", type=int, default=25, help="so many paths in the summary")
    parser.add_argument("--save", metavar="DIR", help="keep our recordings, to look at")
    parser.add_argument("--no-operator", action="store_true", help="what if nothing answered?")
    parser.add_argument("cases", nargs="*", metavar="CASE")
    options = parser.parse_args()
    exit_on_signals()
    family = options.family
    accepted, cases = golden.Accepted(family, "cluster"), golden.cases(family, options.cases)
    if not cases:
        parser.error(f"no case is called {' or '.join(options.cases)}")
    if options.save:
        os.makedirs(options.save, exist_ok=True)
    paths, example = collections.Counter(), {}
    equal = explained = 0
    for case, future in replay(family, cases, not options.no_operator):
        ours = future.result()
        if options.save:
            golden.dump(ours, f"{options.save}/{case}.json")
        differences = list(golden.compare(golden.recorded(family, case), ours))
        open_ones = [d for d in differences if not accepted.explains(d)]
        explained += len(differences) - len(open_ones)
        equal += not open_ones
        for d in open_ones:
            print(f"{case} {d}", flush=True)
            where = f"{d.object.split('/')[0]} {d.path}"
            paths[where] += 1
            example.setdefault(where, f"{case}: {golden.shortened(d.theirs)} -> "
                                      f"{golden.shortened(d.ours)}")
    print()
    for where, count in paths.most_common(options.show):
        print(f"{count:5} {where}   {example[where]}")
    unused = [] if options.cases else accepted.unused()
    for entry in unused:
        print(f"differences.yaml: nothing differs like this any more: {entry}")
    print(f"{equal} of {len(cases)} cases as recorded, {sum(paths.values())} differences "
          f"unexplained, {explained} explained")
    return 1 if paths or unused else 0


if __name__ == "__main__":
    sys.exit(main())
