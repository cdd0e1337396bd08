"""What the operator may do, and what it does when it may not: with the rights of `leeboard manifests`
and nothing more, with rights missing, in one namespace only, before its CRDs are there."""
import signal
import subprocess
import urllib.error
import urllib.request

import lab as labs
import yaml
from lab import PATIENCE_S, Lab, own_lab, wait_for
from promises import (CHILDREN, Operator, condition, model, restart_program, service, wait_children,
                      wait_condition)

LAB = {"controllers": None}
HOME = "leeboard-system"
# Every kind of child that needs no CRD of others.
FULL = {"autoscaling": {"minReplicas": 1, "maxReplicas": 2,
                        "metrics": [{"type": "Resource", "name": "cpu", "targetAverageUtilization": 80}]}}


def manifests(*flags):
    text = subprocess.run([labs.Operator.BINARY, "manifests", *flags], check=True, text=True,
                          stdout=subprocess.PIPE).stdout
    return [d for d in yaml.safe_load_all(text) if d]


def install(lab, *flags, but=lambda d: d):
    """The account that `leeboard manifests` describes; returns the path of its kubeconfig."""
    for d in manifests("--no-crds", *flags):
        if d["kind"] != "Deployment":
            lab.kubectl("apply", "-f", "-", input=yaml.dump(but(d)))
    token = lab.api("POST", lab.path("serviceaccounts", HOME, "leeboard/token"), {})
    return lab.write_kubeconfig("installed.kubeconfig", token["status"]["token"])


def readiness(op):
    """(status, text) of /readyz"""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{op.health}/readyz", timeout=5) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as e:
        return e.code, e.read().decode()
    except OSError as e:
        return 0, str(e)


def refused(lab, since):
    """What the API server forbade us."""
    return [e["requestURI"] for e in lab.requests(since) if e["responseStatus"]["code"] == 403]


def check_owner(o, owner):
    references = o["metadata"].get("ownerReferences") or []
    assert [(r["kind"], r["uid"], r.get("controller"), r.get("blockOwnerDeletion"))
            for r in references] == [
        (owner["kind"], owner["metadata"]["uid"], True, False)], references


@own_lab(controllers="*", apiserver=[
    "--enable-admission-plugins=OwnerReferencesPermissionEnforcement"])
def test_owners_are_set_without_rights_on_finalizers_and_take_their_children_along(lab):
    """Broken by blockOwnerDeletion true: "waited 15 s in vain for the children of owned/svc"; the log
    says "cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set
    finalizers on"."""
    config = install(lab)
    assert not any("finalizers" in r for d in manifests("--no-crds") for rule in d.get("rules", ())
                   for r in rule.get("resources", ()))
    ns, mark = lab.namespace("owned"), lab.mark()
    # The garbage collector learns of new CRDs twice a minute; started now, it knows them.
    restart_program(lab, "kube-controller-manager")
    with Operator(lab, "--model-cache-mode=perService", kubeconfig=config) as op:
        lab.apply(ns, [model(source="http://127.0.0.1:9/none.gguf", prefetch=True),
                       service(skipModelInit=False, **FULL)])
        wait_children(lab, ns)
        op.settle()
        owner = {**lab.get("inferenceservices", ns, "svc"), "kind": "InferenceService"}
        made = {p: lab.list(p, ns) for p in CHILDREN}
        for plural in ("deployments", "services", "horizontalpodautoscalers",
                       "persistentvolumeclaims"):
            assert made[plural], f"no {plural}"
            for o in made[plural]:
                check_owner(o, owner)
        assert not refused(lab, mark), refused(lab, mark)
        lab.delete("inferenceservices", ns, "svc")
        lab.delete("models", ns, "base")
        wait_for(lambda: not any(lab.list(p, ns) for p in CHILDREN), 60,
                 "the children to follow their owner")
        op.settle()


class InAPod(Operator):
    """As its Deployment starts it: it knows the name of its pod, which events can be about."""

    def start(self, wait=True):
        self.environment |= {"POD_NAME": "leeboard-0", "POD_NAMESPACE": HOME}
        super().start(wait)


def notes(lab, ns):
    return [e["note"] for e in
            lab.api("GET", f"/apis/events.k8s.io/v1/namespaces/{ns}/events")["items"]]


def test_a_missing_right_is_named_in_log_event_and_readiness_and_taken_up_when_given(lab):
    def without_services(d):
        if d["kind"] == "ClusterRole":
            d["rules"] = [r for r in d["rules"] if "services" not in r.get("resources", ())]
        return d
    config, ns = install(lab, but=without_services), lab.namespace("rights")
    text = "cannot list services at cluster scope"
    with InAPod(lab, kubeconfig=config, wait=False) as op:
        wait_for(lambda: (r := readiness(op))[0] == 503 and text in r[1], 10,
                 f"/readyz to say {text!r}")
        wait_for(lambda: text in op.log(), 5, "the log to say so, too")
        wait_for(lambda: any(text in note for note in notes(lab, HOME)), 5, "an event, too")
        lab.apply(ns, [model(), service()])
        wait_condition(lab, "models", ns, "base", "Available")  # needs no Services
        install(lab)
        op.wait_ready(90)
        wait_children(lab, ns)


def test_one_namespace_is_all_that_is_read_and_written(lab):
    """The account has a Role there and nothing else, and nothing is refused."""
    ns, other = lab.namespace("only-here"), lab.namespace("not-here")
    lab.kubectl("delete", "clusterrole,clusterrolebinding", "leeboard", "--ignore-not-found")
    config, mark = install(lab, f"--namespace={ns}"), lab.mark()
    with Operator(lab, f"--namespace={ns}", kubeconfig=config) as op:
        for place in (other, ns):
            lab.apply(place, [model(), service()])
        wait_children(lab, ns)
        op.settle()
        assert not lab.list("deployments", other)
        assert not lab.get("models", other, "base").get("status")
    # Every account may ask which APIs there are: that of OpenShift says what pods may have.
    discovery = ("/openapi/", "/apis/route.openshift.io/v1")
    asked = [e["requestURI"] for e in lab.requests(mark)]
    outside = [uri for uri in asked
               if f"/namespaces/{ns}/" not in uri and not uri.startswith(discovery)]
    assert not outside, f"asked outside of {ns}: {outside}"
    assert not refused(lab, mark), refused(lab, mark)


def test_kinds_that_nothing_serves_are_named_in_the_log_and_by_verbose_readiness(lab):
    with Operator(lab, "--families=llmkube") as op:
        def lines():
            with urllib.request.urlopen(f"http://127.0.0.1:{op.health}/readyz?verbose", timeout=5) as answer:
                return answer.read().decode().splitlines()
        unserved = "mcpservers.toolhive.stacklok.dev"
        wait_for(lambda: f"[ ]{unserved} not served: see --families" in lines(), 20, "an unserved kind to be named")
        assert "[+]models.inference.llmkube.dev ok" in lines(), lines()
        assert lines()[-1] == "readyz check passed", lines()
        assert not any("models.inference" in line and "not served" in line for line in lines()), lines()
        assert f"the CRD {unserved} is installed, and nothing here serves its objects" in op.log(), op.log(20)


def test_several_namespaces_are_all_that_is_read_and_written(lab):
    inside, outside = [lab.namespace(f"berth-{n}") for n in range(6)], lab.namespace("berth-away")
    names = ",".join(inside)
    config, mark = install(lab, f"--namespace={names}"), lab.mark()
    with Operator(lab, f"--namespace={names}", kubeconfig=config) as op:
        for ns in (outside, *inside):
            lab.apply(ns, [model(), service()])
        for ns in inside:
            wait_children(lab, ns, "svc")
        op.settle()
        assert not lab.get("deployments", outside, "svc"), "it works elsewhere"
        requests = lab.requests(mark)
        assert not [e["requestURI"] for e in requests if e["responseStatus"]["code"] == 403 and "leases" not in e["requestURI"]]
        away = [e["requestURI"] for e in requests if f"/namespaces/{outside}/" in e["requestURI"]]
        assert not away, away
        metrics = op.metrics()
        writes = sum(v for k, v in metrics.items() if k.startswith("controller_runtime_reconcile_total"))
        assert writes >= 2 * len(inside), metrics
        told = [k for k in metrics if k.startswith("controller_runtime_active_workers{")]
        assert len(told) == len(set(told)), told
        with urllib.request.urlopen(f"http://127.0.0.1:{op.health}/readyz?verbose", timeout=PATIENCE_S) as answer:
            text = answer.read().decode()
        assert all(f"namespace {ns}:" in text for ns in inside), text
        print(f"     {len(inside)} namespaces: {op.rss_kib()} KiB")


ROUTES = "/apis/aigateway.envoyproxy.io/v1beta1/namespaces/late/aigatewayroutes"


def test_crds_that_come_later_are_picked_up_without_a_restart():
    """For CRDs of others their schema has to be asked for anew: without it we would not know our
    own fields (the self-check counter said 3) and write them again and again."""
    with Lab(controllers=None) as lab, Operator(lab, wait=False) as op:
        text = "the CRD models.inference.llmkube.dev is not installed"
        wait_for(lambda: text in readiness(op)[1], 10, f"/readyz to say {text!r}")
        wait_for(lambda: text in op.log(), 5, "the log to say so, too")
        lab.install_crds("api", "tests/golden/crds")
        op.wait_ready(60)
        ns = lab.namespace("late")
        lab.apply(ns, [model(), service(endpoint={"gateway": {
            "enabled": True, "gatewayRef": {"name": "edge"}}})])
        wait_children(lab, ns)
        made = wait_for(lambda: lab.api("GET", ROUTES)["items"], 60, "the route")
        check_owner(made[0], {**lab.get("inferenceservices", ns, "svc"),
                              "kind": "InferenceService"})
        op.settle()
        mark = lab.mark()
        lab.patch("inferenceservices", ns, "svc", {"spec": {"replicas": 2}})
        wait_for(lambda: lab.get("deployments", ns, "svc")["spec"]["replicas"] == 2, 10,
                 "a change of another child")
        op.settle()
        assert {w.split(" ")[1] for w in lab.writes(mark)} == {
            "deployments", "inferenceservices/status"}, lab.writes(mark)

        # And again: gone with all their objects, then back.
        uid = lab.get("deployments", ns, "svc")["metadata"]["uid"]
        for crd in lab.list("customresourcedefinitions"):
            if crd["spec"]["group"] in (
                    "inference.llmkube.dev", "federation.llmkube.dev", "model.otterscale.io", "toolhive.stacklok.dev"):
                lab.delete("customresourcedefinitions", None, crd["metadata"]["name"])
        wait_for(lambda: "is not installed" in readiness(op)[1], 60, "the end of the CRDs")
        lab.install_crds("api")
        op.wait_ready(60)
        fresh = lab.namespace("later")
        lab.apply(fresh, [model(), service()])
        wait_children(lab, fresh)
        # Nobody collected what the first owner left: it is not ours to delete or to change.
        assert lab.get("deployments", ns, "svc")["metadata"]["uid"] == uid


def test_sigterm_ends_within_five_seconds_and_gives_the_lease_back(lab):
    ns, config = lab.namespace("ending"), install(lab)
    op = Operator(lab, "--leader-elect", f"--leader-election-namespace={HOME}", kubeconfig=config)
    name = "882d6afe.llmkube.dev"
    wait_for(lambda: op.count("leader_election_master_status") == 1, 20, "leadership")
    assert lab.get("leases", HOME, name)["spec"]["holderIdentity"]
    lab.apply(ns, [model(), *(service(f"svc-{i}") for i in range(40))])
    wait_for(lambda: lab.list("deployments", ns), 10, "the first of many Deployments")
    op.check_promises()
    op.process.send_signal(signal.SIGTERM)
    code = op.process.wait(PATIENCE_S)
    assert code == 0, f"code {code}: {op.log(5)}"
    assert "is still in flight" not in op.log(), op.log(5)
    assert not lab.get("leases", HOME, name)["spec"].get("holderIdentity"), "the lease is still held"
    # The next one need not wait for the lease to run out, and ends what was begun.
    with Operator(lab, "--leader-elect", f"--leader-election-namespace={HOME}",
                  kubeconfig=config) as op:
        wait_for(lambda: len(lab.list("services", ns)) == 40, 20, "all children")
        wait_for(lambda: all(condition(o, "Progressing") for o in
                             lab.list("inferenceservices", ns)), 10, "all statuses")
