"""ModelServices on a real kube-apiserver: what is deleted, what is named too long, whose API comes
and goes, what cannot be."""
import json

from lab import NO_PODS, ApiError, own_lab, wait_for
from otters import (EVERYTHING, FINALIZER, OTHERS, TWO_ROLES, artifact, children, model_service,
                    wait_children, with_others)
from promises import (Operator, condition, creations, nothing_happens, restart_program,
                      wait_condition)
from proxy import Proxy
from test_rbac import install, refused
from test_seeds import in_the_way

LAB = {"controllers": NO_PODS}
PART_OF = "app.kubernetes.io/part-of"


# Children that go

def test_each_child_deleted_between_our_read_and_our_write_comes_back_once(lab):
    ns = with_others(lab).namespace("deleted")
    lab.apply(ns, model_service(**EVERYTHING))
    with Operator(lab):
        wait_children(lab, children(ns))
    seen = set()
    for child in children(ns):
        if child[0] in seen:
            continue
        seen.add(child[0])
        check_return(lab, child)
    assert len(seen) == 14, seen


def check_return(lab, child):
    plural, _, name = child
    gone = []

    def act():
        gone.append(lab.get(*child)["metadata"]["uid"])
        lab.delete(*child)
        wait_for(lambda: lab.get(*child) is None, 10, f"the end of {plural}/{name}")

    def back():
        o = lab.get(*child)
        return o and o["metadata"]["uid"] not in gone
    hook = in_the_way(lab, f"/{plural}/{name}", act)
    with Proxy(lab, hook) as proxy, Operator(lab, kubeconfig=proxy.kubeconfig) as op:
        op.settle()
        assert not hook.done, hook.done
        mark = lab.mark()
        lab.patch(*child, {"metadata": {"labels": {PART_OF: "taken"}}})
        wait_for(lambda: gone, 10, f"a write of {plural}/{name} to get in the way of")
        wait_for(back, 10, f"{plural}/{name} to return")
        op.settle()
        made = creations(lab, mark)
        if plural == "serviceaccounts":  # Kubernetes deletes the tokens of an account with it
            made = [c for c in made if c[0] != "secrets"]
        assert made == [child], made
        assert lab.get(*child)["metadata"]["labels"][PART_OF] == "otterscale-system"


def test_what_others_wrote_on_children_stays(lab):
    ns = with_others(lab).namespace("kept")
    lab.apply(ns, model_service(**EVERYTHING))
    with Operator(lab) as op:
        wait_children(lab, children(ns))
        op.settle()
        mark = lab.mark()
        for child in children(ns):
            lab.patch(*child, {"metadata": {"labels": {"team": "x"}, "annotations": {"note": "y"}}})
        lab.patch("modelservices", ns, "owl", {"spec": {"engine": {"args": ["--x"]}}})
        op.settle()
        for child in children(ns):
            meta = lab.get(*child)["metadata"]
            assert meta["labels"]["team"] == "x" and meta["annotations"]["note"] == "y", child
        written = lab.writes(mark)
        assert written == {"patch deployments": 2, "patch modelservices/status": 1}, written


def test_owner_references_and_the_finalizer_come_back(lab):
    ns = with_others(lab).namespace("dropped")
    lab.apply(ns, model_service(**EVERYTHING))
    with Operator(lab) as op:
        wait_children(lab, children(ns))
        op.settle()
        mark = lab.mark()
        own = [c for c in children(ns) if c[1]]
        for child in own:
            lab.patch(*child, {"metadata": {"ownerReferences": None}})
        lab.patch("modelservices", ns, "owl", {"metadata": {"finalizers": None}})
        op.settle()
        for child in own:
            assert lab.get(*child)["metadata"].get("ownerReferences"), child
        service = lab.get("modelservices", ns, "owl")
        assert service["metadata"]["finalizers"] == [FINALIZER]
        assert condition(service, "Ready")["reason"] == "PodsStarting", service["status"]
        assert not [w for w in lab.writes(mark) if not w.startswith("patch")], lab.writes(mark)


# The finalizer

def test_cluster_scoped_children_go_with_their_service_and_hold_up_nothing(lab):
    ns = with_others(lab).namespace("going")
    cluster = [c for c in children(ns) if c[1] is None]
    with Operator(lab) as op:
        lab.apply(ns, model_service(**EVERYTHING))
        wait_children(lab, children(ns))
        op.settle()
        live = lab.get("modelservices", ns, "owl")
        assert live["metadata"]["finalizers"] == [FINALIZER]
        assert live["metadata"]["generation"] == 1, "the user's spec was rewritten"
        mark = lab.mark()
        lab.delete("modelservices", ns, "owl")
        wait_for(lambda: not lab.get("modelservices", ns, "owl"), 15, "the service to go")
        wait_for(lambda: not any(lab.get(*c) for c in cluster), 15, "the ClusterRole to go")
        written = lab.writes(mark)
        assert written == {"delete clusterroles": 1, "delete clusterrolebindings": 1,
                           "patch modelservices": 1}, [
            (e["verb"], e["requestURI"], e["responseStatus"]) for e in lab.requests(mark)]


def test_a_namespace_ends_even_if_we_may_not_delete_what_is_of_the_cluster(lab):
    ns = with_others(lab).namespace("ending")
    rules = [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]},
             {"nonResourceURLs": ["*"], "verbs": ["*"]}]
    with Operator(lab, kubeconfig=lab.user("almighty", rules)) as op:
        lab.apply(ns, model_service(**EVERYTHING))
        wait_children(lab, children(ns))
        op.settle()
        weaker = [{"apiGroups": ["rbac.authorization.k8s.io"], "verbs": ["get", "list", "watch"],
                   "resources": ["clusterroles", "clusterrolebindings"]},
                  {"apiGroups": ["model.otterscale.io"], "resources": ["*"], "verbs": ["*"]},
                  {"apiGroups": ["", "apps", "batch"], "resources": ["*"],
                   "verbs": ["get", "list", "watch", "create", "patch", "delete"]}]
        lab.patch("clusterroles", None, "almighty", {"rules": weaker})
        mark = lab.mark()
        lab.delete("namespaces", None, ns)
        wait_for(lambda: not lab.get("namespaces", None, ns), 60, "the namespace to end")
        refused = [e["objectRef"]["resource"] for e in lab.requests(mark, verbs=("delete",))
                   if e["responseStatus"]["code"] == 403]
        assert sorted(refused) == ["clusterrolebindings", "clusterroles"], refused


# Names

def long_name(length):
    return ("lark-" + "abcdefghij" * 26)[:length - 1] + "z"


def test_names_of_any_length_and_beginning_have_all_their_children(lab):
    ns = with_others(lab).namespace("long")
    names = [long_name(n) for n in (59, 60, 61, 62, 63, 64, 200)] + [
        "0.6b", "7-up", "1" * 57, "2" * 63, "a.b.c"]
    with Operator(lab) as op:
        lab.apply(ns, [model_service(name, **EVERYTHING) for name in names])
        for name in names:
            wait_condition(lab, "modelservices", ns, name, "Ready", "False", 30)
        op.settle(60)
        counts = {plural: len(lab.list(plural, ns)) for plural in (
            "services", "roles", "rolebindings", "inferencepools", "httproutes", "destinationrules",
            "servicemonitors")}
        assert set(counts.values()) == {len(names)}, counts
        assert len(lab.list("deployments", ns)) == 3 * len(names)
        for service in lab.list("services", ns):
            assert len(service["metadata"]["name"]) <= 63 and \
                service["metadata"]["name"][0].isalpha(), service["metadata"]["name"]
        for o in lab.list("modelservices", ns):
            assert condition(o, "Ready")["reason"] == "PodsStarting", o["status"]
        assert lab.get("services", ns, "m-0-6b-epp") and lab.get("services", ns, "a-b-c-epp")


def test_names_that_sanitise_alike_have_a_picker_each_and_nobody_fights(lab):
    ns = with_others(lab).namespace("alike")
    names = ("owl-1.5", "owl-1-5", "owl.1.5", "owl.1-5")
    with Operator(lab) as op:
        lab.apply(ns, [model_service(name, **EVERYTHING) for name in names])
        for name in names:
            wait_condition(lab, "modelservices", ns, name, "Ready", "False")
        op.settle(30)
        pickers = {o["metadata"]["name"]: o["spec"]["endpointPickerRef"]["name"]
                   for o in lab.list("inferencepools", ns)}
        assert set(pickers) == set(names) and len(set(pickers.values())) == len(names), pickers
        for name, picker in pickers.items():
            wait_children(lab, children(ns, name, picker))
        assert lab.get("services", ns, "owl-1-5-epp")
        written = nothing_happens(lab, 10)
        assert not written, written
        phases = {o["metadata"]["name"]: o["status"]["phase"] for o in lab.list("modelservices", ns)}
        assert set(phases.values()) == {"Running"}, phases
        # whoever stays keeps its name
        first = next(n for n, p in pickers.items() if p == "owl-1-5-epp")
        lab.delete("modelservices", ns, first)
        restart_program(lab, "kube-controller-manager")  # it learns of our CRDs twice a minute
        wait_for(lambda: not lab.get("services", ns, "owl-1-5-epp"), 60, "the first one's end")
        wait_for(lambda: not lab.get("inferencepools", ns, first), 60, "its pool's end")
        op.settle()
        after = {o["metadata"]["name"]: o["spec"]["endpointPickerRef"]["name"]
                 for o in lab.list("inferencepools", ns)}
        assert after == {n: p for n, p in pickers.items() if n != first}, after


def test_cluster_names_of_two_namespaces_do_not_meet(lab):
    with_others(lab)
    a, b = lab.namespace("at"), lab.namespace("at-the")
    with Operator(lab) as op:
        lab.apply(a, model_service("the-owl", **EVERYTHING))
        wait_children(lab, children(a, "the-owl", "the-owl-epp"))
        lab.apply(b, model_service("owl", **EVERYTHING))
        wait_children(lab, [c for c in children(b) if c[1]])
        op.settle()
        bound = {}
        for o in lab.list("clusterrolebindings"):
            if o["metadata"]["name"].startswith("at-the-owl-epp"):
                bound[o["metadata"]["name"]] = o["subjects"][0]["namespace"]
        assert sorted(bound.values()) == [a, b], bound
        lab.delete("modelservices", b, "owl")
        wait_for(lambda: not lab.get("modelservices", b, "owl"), 15, "the second one's end")
        op.settle()
        assert lab.get("clusterroles", None, "at-the-owl-epp")


# APIs of others

@own_lab(controllers=NO_PODS)
def test_apis_of_others_come_and_go(lab):
    ns = lab.namespace("apis")
    crds = {"inferencepools": "inference.networking.k8s.io", "httproutes":
            "gateway.networking.k8s.io", "destinationrules": "networking.istio.io",
            "podmonitors": "monitoring.coreos.com", "servicemonitors": "monitoring.coreos.com"}
    with Operator(lab) as op:
        lab.apply(ns, model_service(**EVERYTHING))
        told = wait_condition(lab, "modelservices", ns, "owl", "Complete", "False")
        assert told["reason"] == "APINotInstalled", told
        for plural, group in crds.items():
            assert f"{plural}.{group}" in told["message"], (plural, told)
        wait_children(lab, [c for c in children(ns) if c[0] not in crds])
        assert condition(lab.get("modelservices", ns, "owl"), "Ready")["reason"] == "PodsStarting"
        op.settle()
        lab.install_crds(OTHERS)
        wait_children(lab, children(ns), 60)
        op.settle()
        told = condition(lab.get("modelservices", ns, "owl"), "Complete")
        assert "CRD" not in (told or {}).get("message", ""), told
        lab.delete("customresourcedefinitions", None, "httproutes.gateway.networking.k8s.io")

        def told_again():
            told = condition(lab.get("modelservices", ns, "owl"), "Complete")
            return told and "httproutes.gateway.networking.k8s.io" in told["message"]
        wait_for(told_again, 60, "the CRD to be missed")
        op.settle()
        written = nothing_happens(lab, 5)
        assert not written, written
        wait_for(lambda: not lab.get("customresourcedefinitions", None,
                                     "httproutes.gateway.networking.k8s.io"), 30, "its end")
        for crd in crds_of_routes():
            lab.create("customresourcedefinitions", None, crd)
        wait_for(lambda: routes(lab, ns), 60, "the route to come back")


def crds_of_routes():
    import yaml
    with open(f"{OTHERS}/gateway-api.yaml") as f:
        return [d for d in yaml.safe_load_all(f) if d and "httproutes" in d["metadata"]["name"]]


def routes(lab, ns):
    try:
        return lab.list("httproutes", ns)
    except ApiError as e:
        if e.code != 404:
            raise
        return None


# What cannot be

def message(lab, ns, name, kind="Ready"):
    return (condition(lab.get("modelservices", ns, name), kind) or {}).get("message", "")


def test_bad_input_ends_in_a_condition_of_its_own_object(lab):
    ns = with_others(lab).namespace("bad")
    pool = {"endpointPicker": {"port": 9090}}
    bad = {  # spec, condition, what its message must say
        "port-metrics": ({"inferencePool": pool}, "Ready", "spec.inferencePool.endpointPicker.port"),
        "port-health": ({"inferencePool": {"endpointPicker": {"port": 9003}}}, "Ready", "9003"),
        "port-proxy": ({"routingProxy": {"targetPort": 8000}}, "Complete",
                       "spec.routingProxy.targetPort"),
        "gateway": ({"httpRoute": {"gatewayRef": {"name": "nowhere"}}}, "Complete",
                    "spec.httpRoute.gatewayRef: Gateway nowhere is not in namespace bad"),
        "secret": ({"model": {"name": "a", "image": "b", "imagePullSecrets": [{"name": "none"}]}},
                   "Complete", "spec.model.imagePullSecrets: Secret none is not in namespace bad"),
        "unnamed": ({"model": {"name": "a", "image": "b", "imagePullSecrets": [{}]}}, "Ready",
                    "spec.model.imagePullSecrets"),
        "selector": ({"decode": {"nodeSelector": {"a": "not a label"}}}, "Ready", "nodeSelector"),
        "percent": ({"decode": {"annotations": {"100%s%n": "x"}}}, "Ready", "100%s%n"),
        "letters": ({"decode": {"nodeSelector": {"größe": "ü"}}}, "Ready", "größe"),
        "quantity": ({"decode": {"resources": {"requests": {"cpu": "4"}, "limits": {"cpu": "2"}}}},
                     "Ready", "cpu limit"),
        "mount": ({"model": {"name": "a", "image": "b", "mountPath": "/tmp/model-oci"}}, "Ready",
                  "spec.model.mountPath"),
        "prefill": ({"prefill": {}}, "Complete", "spec.routingProxy"),
    }
    with Operator(lab) as op:
        lab.apply(ns, model_service("bystander"))
        wait_condition(lab, "modelservices", ns, "bystander", "Ready", "False")
        op.settle()
        before = json.dumps([o["metadata"]["resourceVersion"] for o in lab.list("deployments", ns)])
        mark = lab.mark()
        lab.apply(ns, [model_service(name, **spec) for name, (spec, _, _) in bad.items()])
        for name, (_, kind, text) in bad.items():
            wait_for(lambda: text in message(lab, ns, name, kind), 15,
                     f"{name}: {text!r} in {lab.get('modelservices', ns, name).get('status')}")
        op.settle(30)
        touched = [e["requestURI"] for e in lab.requests(mark, verbs=("patch", "delete", "create"))
                   if "bystander" in e["requestURI"]]
        assert not touched, touched
        now = [lab.get("deployments", ns, f"bystander-{part}") for part in ("decode", "epp")]
        assert json.dumps([o["metadata"]["resourceVersion"] for o in now]) == before
        written = nothing_happens(lab, 15)
        assert not written, written
        # and when it is mended
        lab.create("secrets", ns, {"metadata": {"name": "none"}})
        wait_for(lambda: "Secret" not in message(lab, ns, "secret", "Complete"), 10, "its Secret")
        lab.patch("modelservices", ns, "port-metrics",
                  {"spec": {"inferencePool": {"endpointPicker": {"port": 9002}}}})
        wait_for(lambda: lab.get("services", ns, "port-metrics-epp"), 10, "the picker's Service")


def test_what_somebody_else_made_is_left_alone_and_named(lab):
    ns = with_others(lab).namespace("foreign")
    pods = {"metadata": {"labels": {"a": "b"}},
            "spec": {"containers": [{"name": "c", "image": "d"}]}}
    foreign = {
        "deployments": {"metadata": {"name": "owl-decode"}, "spec": {
            "selector": {"matchLabels": {"a": "b"}}, "template": pods}},
        "serviceaccounts": {"metadata": {"name": "owl-epp"}},
        "configmaps": {"metadata": {"name": "owl-epp-config"}, "data": {"mine": "yes"}},
        "services": {"metadata": {"name": "owl-epp"}, "spec": {"ports": [{"port": 80}]}},
        "roles": {"metadata": {"name": "owl-epp"}},
    }
    for plural, o in foreign.items():
        lab.create(plural, ns, o)
    lab.create("deployments", ns, {**foreign["deployments"], "metadata": {"name": "owl-prefill"}})
    before = {p: lab.get(p, ns, o["metadata"]["name"]) for p, o in foreign.items()}
    with Operator(lab) as op:
        lab.apply(ns, model_service())
        told = wait_for(lambda: message(lab, ns, "owl"), 15, "a message")
        op.settle()
        assert "Deployment owl-decode exists" in told, told
        for plural, o in before.items():
            assert lab.get(plural, ns, o["metadata"]["name"]) == o, plural
        assert lab.get("deployments", ns, "owl-prefill"), "not even wanted, and deleted"
        lab.delete("deployments", ns, "owl-decode")
        for plural in ("serviceaccounts", "configmaps", "services", "roles"):
            lab.delete(plural, ns, before[plural]["metadata"]["name"])
        wait_for(lambda: condition(lab.get("modelservices", ns, "owl"), "Ready")["reason"] ==
                 "PodsStarting", 15, "all to be well")


def test_a_service_becomes_ready_part_by_part(lab):
    ns = with_others(lab).namespace("ready")
    with Operator(lab) as op:
        lab.apply(ns, model_service(**{**TWO_ROLES, "decode": {"replicas": 2}}))
        wait_condition(lab, "modelservices", ns, "owl", "Ready", "False")

        def play(name, ready):
            lab.patch("deployments", ns, f"{name}/status", {"status": {
                "replicas": 2, "readyReplicas": ready}})
            op.settle()
            return condition(lab.get("modelservices", ns, "owl"), "Ready")["message"]
        assert play("owl-decode", 1) == "1/3 replicas ready"
        assert play("owl-prefill", 2) == "2/3 replicas ready"
        assert play("owl-decode", 2) == "All 4 replicas are ready"  # one more than was asked for
        assert lab.get("modelservices", ns, "owl")["status"]["phase"] == "Ready"
        notes = [(e["reason"], e["note"]) for e in lab.api(
            "GET", f"/apis/events.k8s.io/v1/namespaces/{ns}/events")["items"]]
        assert ("Ready", "All serving replicas are ready") in notes, notes


# Rights

@own_lab(controllers=NO_PODS)
def test_the_rights_of_our_manifests_are_enough_and_no_more(lab):
    config = install(with_others(lab))
    ns, mark = lab.namespace("rights"), lab.mark()
    with Operator(lab, kubeconfig=config) as op:
        lab.apply(ns, [model_service(**{**EVERYTHING, "inferencePool": {
            "endpointPicker": {"replicas": 2}}}), artifact()])
        wait_children(lab, children(ns))
        wait_for(lambda: lab.list("jobs", ns), 10, "the Job")
        lab.patch("modelservices", ns, "owl", {"spec": {"prefill": None, "inferencePool": None}})
        wait_for(lambda: not lab.get("deployments", ns, "owl-prefill"), 10, "the prefill pods to go")
        wait_for(lambda: not lab.get("clusterroles", None, f"{ns}-owl-epp"), 10, "the role to go")
        lab.delete("modelservices", ns, "owl")
        wait_for(lambda: not lab.get("modelservices", ns, "owl"), 10, "the service to go")
        op.settle()
        assert not refused(lab, mark), refused(lab, mark)


@own_lab(controllers=NO_PODS)
def test_in_one_namespace_everything_but_cluster_roles_is_made(lab):
    ns = with_others(lab).namespace("mine")
    config = install(lab, f"--namespace={ns}")
    with Operator(lab, f"--namespace={ns}", kubeconfig=config):
        lab.apply(ns, model_service(**EVERYTHING))
        wait_children(lab, [c for c in children(ns) if c[1]])
        told = wait_condition(lab, "modelservices", ns, "owl", "Complete", "False")
        assert f"ClusterRole {ns}-owl-epp is not made by an operator of one namespace" in \
            told["message"], told
        lab.delete("modelservices", ns, "owl")
        wait_for(lambda: not lab.get("modelservices", ns, "owl"), 10, "the service to go")
