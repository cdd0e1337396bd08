"""What the tests of our promises share: manifests, an operator that is held to its own counters, and
the questions that several tests ask."""
import json
import time

import lab as labs
from lab import BASE, LLMKUBE, ApiError, wait_for

API = LLMKUBE.removeprefix("/apis/")
OURS = {"models": "Model", "inferenceservices": "InferenceService"}
CHILDREN = {"deployments": "Deployment", "services": "Service", "jobs": "Job",
            "persistentvolumeclaims": "PersistentVolumeClaim",
            "horizontalpodautoscalers": "HorizontalPodAutoscaler"}
KINDS = {**OURS, **CHILDREN}
WATCHED = (*KINDS, "pods")
# Of these it watches only those with a label.
SELECTED = {"jobs": "app.kubernetes.io/component=model-prefetch",
            "pods": "inference.llmkube.dev/service"}

# What must be 0 whatever happened: the promises that the engine checks by itself.
ALWAYS_ZERO = ("leeboard_writes_without_effect_total", "leeboard_self_check_mismatches_total",
               "leeboard_created_twice_total")


class Operator(labs.Operator):
    """One that must have kept its promises whenever a test stops it."""

    def check_promises(self):
        metrics = self.metrics()
        broken = {name: metrics.get(name) for name in ALWAYS_ZERO if metrics.get(name) != 0}
        assert not broken, f"broken promises: {broken}"

    def stop(self, timeout=labs.PATIENCE_S):
        if self.running():
            self.resume()
            self.check_promises()
        return super().stop(timeout)

    def __exit__(self, kind, *_):
        if kind is None:
            code = self.stop()
            assert code == 0, f"the operator ended with code {code}"
        else:
            self.kill()

    def count(self, name, **labels):
        """The sum of the series of a metric that carry these labels."""
        wanted = [f'{key}="{value}"' for key, value in labels.items()]
        return sum(value for series, value in self.metrics().items()
                   if series.split("{")[0] == name and all(w in series for w in wanted))

    def reconciles(self, controller):
        return self.count("controller_runtime_reconcile_total", controller=controller)

    def newest(self):
        """{metric: version} of the newest object of each resource that it watches."""
        namespace = next((a.split("=")[1] for a in self.command if a.startswith("--namespace=")), None)
        found = {}
        for plural in WATCHED:
            group = BASE[plural].split("/")[2] if BASE[plural].startswith("/apis") else ""
            selector = SELECTED.get(plural, "")
            path = self.lab.path(plural, namespace) + f"?labelSelector={selector}"
            try:
                items = self.lab.api("GET", path)["items"]
            except ApiError as e:
                if e.code != 404:  # a CRD that is not there has no objects
                    raise
                continue
            versions = [int(o["metadata"]["resourceVersion"]) for o in items]
            metric = f'leeboard_watched_resource_version{{group="{group}",resource="{plural}",selector="{selector}"}}'
            found[metric] = max(versions, default=0)
        return found

    def settle(self, timeout=60):
        """Waits until it has seen everything that is there and has nothing left to do for now."""
        seen = []

        def still():
            newest, m = self.newest(), self.metrics()
            busy = [self.count("workqueue_depth"), self.count("controller_runtime_active_workers"),
                    m["leeboard_effects_running"], m["leeboard_events_pending"]]
            behind = [metric for metric, version in newest.items() if m.get(metric, 0) < version]
            seen.append((newest, self.count("controller_runtime_reconcile_total")))
            return not behind and not any(busy) and seen[-3:] == seen[-1:] * 3
        wait_for(still, timeout, "the operator to have nothing left to do")


def model(name="base", **spec):
    """Weights that nobody has to fetch, unless the spec says otherwise."""
    return {"apiVersion": API, "kind": "Model", "metadata": {"name": name},
            "spec": {"source": "acme/tiny", **spec}}


def service(name="svc", **spec):
    return {"apiVersion": API, "kind": "InferenceService", "metadata": {"name": name},
            "spec": {"modelRef": "base", "skipModelInit": True, **spec}}


def condition(o, kind):
    """A condition of an object (which may be None), or None."""
    conditions = ((o or {}).get("status") or {}).get("conditions") or ()
    return next((c for c in conditions if c["type"] == kind), None)


def wait_condition(lab, plural, namespace, name, kind, status="True", timeout=15):
    def holds():
        seen = lab.get(plural, namespace, name)
        found = condition(seen, kind)
        last[:] = [(seen or {}).get("status")]
        return found if found and found["status"] == status else None
    last = []
    try:
        return wait_for(holds, timeout, f"{kind}={status} of {plural}/{name}")
    except AssertionError as e:
        raise AssertionError(f"{e}; its status: {json.dumps(last)}") from None


def wait_children(lab, namespace, name="svc", timeout=15):
    """The Deployment of a service, once its Service is there as well."""
    def there():
        return lab.get("services", namespace, name) and lab.get("deployments", namespace, name)
    return wait_for(there, timeout, f"the children of {namespace}/{name}")


def creations(lab, since=0):
    """[(resource, namespace, name), ...]: every object that our operators created, events aside."""
    made = []
    for event in lab.requests(since, verbs=("create", "patch", "update")):
        what = event["objectRef"]
        if event["responseStatus"]["code"] == 201 and what["resource"] not in ("events", "leases"):
            made.append((what["resource"], what.get("namespace"), what.get("name")))
    return made


def restart_program(lab, program):
    """kube-apiserver or kube-controller-manager, killed and started anew, with the same data."""
    at = next(i for i, (name, _) in enumerate(lab.processes) if name == program)
    old = lab.processes[at][1]
    old.kill()
    old.wait()
    new = labs.spawn(old.args, f"{lab.dir}/{program}.log", cwd=lab.dir)
    lab.processes[at] = (program, new)
    if program == "kube-apiserver":
        wait_for(lab._answers, 60, "kube-apiserver to be ready again")


def nothing_happens(lab, seconds, since=None, **options):
    """Watches for a while that we write nothing; returns how often what was written anyway."""
    since = lab.mark() if since is None else since
    time.sleep(seconds)  # the length of an observation, not a wait for something
    return lab.writes(since, events=True, **options)
