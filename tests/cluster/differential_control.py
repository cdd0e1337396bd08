"""What the control plane does by itself: tokens in Secrets, who may approve certificates, definitions whose objects a webhook converts."""
import base64
import json

from differential import MERGE

SCRIPTS = []
# A request for a certificate of CN=x.
REQUEST = (
    "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlIR01HNENBUUF3RERFS01BZ0dBMVVFQXd3QmVEQlpNQk1HQnlxR1NNNDlBZ0"
    "VHQ0NxR1NNNDlBd0VIQTBJQQpCSFV4ckNJUUV4UlArbVl4b0doT1hleDkvRzlEMkNVQmZ2ZUhib0FueTQ4S05FUWRud0FLci9pQ05tSDN1d3Bp"
    "CjB0bGhORkgzeVZxelFnd1k5WFRrbGxtZ0FEQUtCZ2dxaGtqT1BRUURBZ05JQURCRkFpRUE4aE45SXRZcTNNU3AKRzdUMEEwdVVEeVl2REkrbn"
    "hENkhIWjkwR3k3RHpob0NJQUVKTThnZVdRQWxkZnR5Q09qMUtTYXV5ZkRRenFGUwpRSitUMmhudDVLSmQKLS0tLS1FTkQgQ0VSVElGSUNBVEUg"
    "UkVRVUVTVC0tLS0tCg==")


def script(function):
    SCRIPTS.append((function.__name__, function))
    return function


def token_secret(name, account, **annotations):
    return {"metadata": {"name": name, "annotations": {"kubernetes.io/service-account.name": account, **annotations}},
            "type": "kubernetes.io/service-account-token"}


def claims(token):
    body = token.split(".")[1]
    return json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))


def edit(s, path, body, **more):
    """A merge patch that is not recorded."""
    return s.ask("PATCH", path, body, type=MERGE, **more)


@script
def token_secrets(s):
    p = s.namespace()
    account = s.post(p + "/serviceaccounts", {"metadata": {"name": "robot"}})
    s.post(p + "/secrets", token_secret("filled", "robot"))
    s.until(lambda: s.ask("GET", p + "/secrets/filled")["data.token"], "the token")
    secret = s.ask("GET", p + "/secrets/filled").body
    token = base64.b64decode(secret["data"]["token"]).decode()
    s.record("claims", claims(token))
    s.record("secret", {**secret, "data": {k: "" if k != "namespace" else v for k, v in secret["data"].items()}})
    as_robot = {"Authorization": f"Bearer {token}"}
    s.post("/apis/authentication.k8s.io/v1/selfsubjectreviews", {}, headers=as_robot)
    s.post("/apis/authentication.k8s.io/v1/tokenreviews", {"spec": {"token": token}})
    s.post("/apis/authentication.k8s.io/v1/tokenreviews", {"spec": {"token": token, "audiences": ["other"]}})
    s.get(p + "/configmaps", headers=as_robot)
    s.post(p + "/secrets", token_secret("right-uid", "robot", **{"kubernetes.io/service-account.uid": account["metadata.uid"]}))
    s.until(lambda: s.ask("GET", p + "/secrets/right-uid")["data.token"], "the second token")
    for name, body in (("nobodys", token_secret("nobodys", "missing")),
                       ("others", token_secret("others", "robot", **{"kubernetes.io/service-account.uid": "1-2"}))):
        s.post(p + "/secrets", body)
        s.until(lambda: s.ask("GET", f"{p}/secrets/{name}").status == 404, "the end of a Secret of no account")
    labels = "metadata.labels"
    s.until(lambda: s.ask("GET", p + "/secrets/filled")[labels], "the day on which the token was used last")
    used = s.ask("GET", p + "/secrets/filled")
    s.record("used", {"labels": sorted(used[labels]), "day": [len(day) for day in used[labels].values()],
                      "managedFields": [{**o, "time": ""} for o in used["metadata.managedFields"]]})
    s.record("tracked", sorted(s.ask("GET", "/api/v1/namespaces/kube-system/configmaps/kube-apiserver-legacy-service-account-token-tracking")["data"]))
    edit(s, p + "/secrets/filled", {"data": {"token": None, "namespace": None, "ca.crt": None, "mine": "eA=="}})
    s.until(lambda: "ca.crt" in (s.ask("GET", p + "/secrets/filled")["data"] or {}), "what was removed to be back")
    s.record("keys", sorted(s.ask("GET", p + "/secrets/filled")["data"]))
    edit(s, p + "/secrets/filled", {"data": {"token": "eA=="}})
    s.until(lambda: s.ask("GET", p + "/configmaps", headers=as_robot).status == 401, "the token of before to be refused")
    s.delete(p + "/serviceaccounts/robot")
    for name in ("filled", "right-uid"):
        s.until(lambda: s.ask("GET", f"{p}/secrets/{name}").status == 404, "the Secrets of an account that is gone to go")


def pod(**spec):
    return {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}], **spec}


@script
def suspended_jobs(s):
    """Queues (Kueue and others) choose where the pods of a suspended Job go, then resume it."""
    jobs = "/apis/batch/v1" + s.namespace().removeprefix("/api/v1") + "/jobs"
    asks = {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}]}
    near = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
        {"matchExpressions": [{"key": "zone", "operator": "Exists"}]}]}}}
    apart = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
        {"topologyKey": "zone", "labelSelector": {"matchLabels": {"a": "b"}}}]}}

    def change(name, template, **spec):
        """What is said of a template that may not change shows the real server's own form of it."""
        got = edit(s, f"{jobs}/{name}", {"spec": {"template": template, **spec}})
        shown = got["spec.template"] if got.status == 200 else [c["field"] for c in got["details.causes"] or []]
        if isinstance(shown, dict):
            for label in ("controller-uid", "batch.kubernetes.io/controller-uid"):
                shown["metadata"]["labels"].pop(label, None)
        s.record(f"{name} {json.dumps(template)} {spec}", {"status": got.status, "body": shown})

    s.post(jobs, {"metadata": {"name": "rests"}, "spec": {"suspend": True, "template": {"spec": pod()}}})
    s.post(jobs, {"metadata": {"name": "apart"}, "spec": {"suspend": True, "template": {"spec": pod(affinity=apart)}}})
    s.post(jobs, {"metadata": {"name": "runs"}, "spec": {"parallelism": 0, "template": {"spec": pod()}}})
    for name in ("rests", "apart", "runs"):
        change(name, {"metadata": {"labels": {"a": "b"}, "annotations": {"c": "d"}}})
        change(name, {"spec": {"nodeSelector": {"zone": "a"}}})
        change(name, {"spec": {"tolerations": [{"operator": "Exists"}]}})
        change(name, {"spec": {"schedulingGates": [{"name": "x.example/y"}]}})
        change(name, {"spec": {"affinity": near}})
        change(name, {"spec": {"affinity": {"nodeAffinity": None, **apart}}})
        change(name, {"spec": {"affinity": None}})
        change(name, {"spec": asks})
        change(name, {"spec": {"containers": [{"name": "c", "image": "other"}]}})
        change(name, {"spec": {"containers": [{"name": "d", "image": "i"}]}})
        change(name, {"spec": {"terminationGracePeriodSeconds": 7}})
    change("rests", {"spec": {"nodeSelector": {"zone": "b"}}}, suspend=False)
    change("rests", {"spec": {"nodeSelector": {"zone": "c"}}}, suspend=True)
    s.patch(jobs + "/apart/status", {"status": {"startTime": "2026-01-02T03:04:05Z"}})
    change("apart", {"spec": {"nodeSelector": {"zone": "b"}}})


def versions(*of):
    """Two versions of a kind; each is given by its name, whether it is stored, and its fields of type string."""
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "spec": {
        "scope": "Namespaced", "versions": [{
            "name": name, "served": True, "storage": stored, "subresources": {"status": {}},
            "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                part: {"type": "object", "properties": {f: {"type": "string", **more} for f, more in fields.items()}}
                for part in ("spec", "status")}}}} for name, stored, fields in of]}}


@script
def stored_versions(s):
    """What counts as a change is what would be stored."""
    p, group = s.namespace(), s.ns + ".example"
    crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    crd = versions(("v1", True, {"a": {}}), ("v2", False, {"a": {}, "b": {}}))
    crd["metadata"] = {"name": f"things.{group}"}
    crd["spec"] |= {"group": group, "names": {"kind": "Thing", "plural": "things"}}
    s.ask("POST", crds, crd)
    things = {v: f"/apis/{group}/{v}" + p.removeprefix("/api/v1") + "/things" for v in ("v1", "v2")}
    s.until(lambda: all(s.ask("GET", path).status == 200 for path in things.values()), "the kind")
    thing = s.post(things["v2"], {"apiVersion": f"{group}/v2", "kind": "Thing", "metadata": {"name": "t"}, "spec": {"a": "1", "b": "2"}})
    for _ in range(2):
        s.patch(things["v2"] + "/t/status", {"status": {"a": "x", "b": "y"}})
        s.patch(things["v2"] + "/t", {"spec": {"b": "3"}})
    s.get(things["v1"] + "/t")
    s.put(things["v2"] + "/t", {**thing.body, "metadata": {"name": "t"}, "spec": {"a": "1", "b": "4"}})
    # Another version is stored from now on: the next write of each object moves it there, whatever it says.
    crd = versions(("v1", False, {"a": {}}), ("v2", True, {"a": {}, "b": {}, "c": {"default": "new"}}))["spec"]
    edit(s, f"{crds}/things.{group}", {"spec": {"versions": crd["versions"]}})
    s.until(lambda: "v2" in (s.ask("GET", f"{crds}/things.{group}")["status.storedVersions"] or []), "the version to be stored")
    s.until(lambda: s.ask("POST", things["v2"] + "?dryRun=All", {**thing.body, "metadata": {"name": "probe"}})["spec.c"] == "new",
            "the definition to be served")
    s.get(things["v2"] + "/t")
    for _ in range(2):
        s.patch(things["v2"] + "/t", {})
    s.record("v1", edit(s, things["v1"] + "/t", {"spec": {"a": "2"}})["spec"])
    s.ask("DELETE", f"{crds}/things.{group}")


@script
def certificate_signers(s):
    """Who approves or signs a request needs the right to do that for its signer."""
    rbac, base = "/apis/rbac.authorization.k8s.io/v1", "/apis/certificates.k8s.io/v1/certificatesigningrequests"
    name, group = s.ns, "certificates.k8s.io"
    s.ask("POST", base, {"metadata": {"name": name}, "spec": {"signerName": "x.example/one", "usages": ["client auth"], "request": REQUEST}})
    rules = [{"apiGroups": [group], "resources": [f"certificatesigningrequests{sub}"], "verbs": ["get", "update", "patch"]}
             for sub in ("", "/approval", "/status")]
    as_bob = {"Impersonate-User": "bob-" + name}

    def allow(number, *more):
        s.ask("POST", rbac + "/clusterroles", {"metadata": {"name": f"{name}-{number}"}, "rules": [*more]})
        s.ask("POST", rbac + "/clusterrolebindings", {
            "metadata": {"name": f"{name}-{number}"}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": f"{name}-{number}"},
            "subjects": [{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "bob-" + name}]})

    def may(verb, signer):
        return s.ask("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", {"spec": {"user": "bob-" + name, "resourceAttributes": {
            "group": group, "resource": "signers", "name": signer, "verb": verb}}})["status.allowed"]

    approved = {"status": {"conditions": [{"type": "Approved", "status": "True", "reason": "R", "message": "m"}]}}
    failed = {"status": {"conditions": [*approved["status"]["conditions"], {"type": "Failed", "status": "True"}]}}
    allow("requests", *rules)
    s.until(lambda: s.ask("GET", f"{base}/{name}", headers=as_bob).status == 200, "the right to read")
    for path, body in (("approval", approved), ("status", {"status": {}})):
        s.patch(f"{base}/{name}/{path}", body, headers=as_bob)
    allow("approves", {"apiGroups": [group], "resources": ["signers"], "resourceNames": ["x.example/*"], "verbs": ["approve"]})
    s.until(lambda: may("approve", "x.example/*"), "the right to approve")
    s.record("approved", edit(s, f"{base}/{name}/approval", approved, headers=as_bob).status)
    s.patch(f"{base}/{name}/status", failed, headers=as_bob)
    allow("signs", {"apiGroups": [group], "resources": ["signers"], "resourceNames": ["x.example/one"], "verbs": ["sign"]})
    s.until(lambda: may("sign", "x.example/one"), "the right to sign")
    s.record("signed", edit(s, f"{base}/{name}/status", failed, headers=as_bob).status)


@script
def conversion_webhooks(s):
    """Nobody converts: what is not stored in the version that is asked for cannot be read, nor written in it."""
    p, group = s.namespace(), s.ns + ".example"
    crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    crd = versions(("v1", True, {"a": {}}), ("v2", False, {"a": {}, "b": {}}))
    crd["metadata"] = {"name": f"things.{group}"}
    crd["spec"] |= {"group": group, "names": {"kind": "Thing", "plural": "things"}, "conversion": {"strategy": "Webhook", "webhook": {
        "conversionReviewVersions": ["v1"], "clientConfig": {"service": {"namespace": s.ns, "name": "converter", "path": "/convert"}}}}}
    s.post(crds, crd)
    things = {v: f"/apis/{group}/{v}" + p.removeprefix("/api/v1") + "/things" for v in ("v1", "v2")}
    s.until(lambda: all(s.ask("GET", path).status == 200 for path in things.values()), "the kind")
    thing = {"kind": "Thing", "metadata": {"name": "t"}, "spec": {"a": "1"}}
    s.get(things["v2"])
    s.get(things["v2"] + "/t")
    s.post(things["v2"], {"apiVersion": f"{group}/v2", **thing})
    made = s.post(things["v1"], {"apiVersion": f"{group}/v1", **thing})
    for path in ("/t", "", "/t/status"):
        s.get(things["v2"] + path)
    s.get(things["v2"] + "/missing")
    s.patch(things["v2"] + "/t", {"spec": {"a": "2"}})
    s.put(things["v2"] + "/t", {"apiVersion": f"{group}/v2", **thing})
    s.apply(things["v2"] + "/t", {"apiVersion": f"{group}/v2", **thing})
    s.apply(things["v2"] + "/u", {"apiVersion": f"{group}/v2", "kind": "Thing", "metadata": {"name": "u"}})
    s.delete(things["v2"] + "/t")
    s.get(things["v1"])
    s.patch(things["v1"] + "/t", {"spec": {"a": "2"}})
    s.delete(things["v1"] + "/t")
    s.record("uid", made["metadata.uid"])
    s.ask("DELETE", f"{crds}/things.{group}")


@script
def names_of_events(s):
    """client-go makes one of the object's name and a number: of an object without a name, too."""
    p = s.namespace()
    about = {"involvedObject": {"kind": "Composition", "apiVersion": "a.b/v1", "namespace": s.ns}, "reason": "Gone", "type": "Warning"}
    for name in (".18e8845fa91fbf64", "UPPER", "a b", "-", "a%b", ".", None):
        s.post(f"{p}/events", {**about, "metadata": {"name": name}})
    s.patch(f"{p}/events/.18e8845fa91fbf64", {"count": 2})
    new = {"reason": "Gone", "type": "Warning", "action": "Look", "reportingController": "a.b/c", "reportingInstance": "c",
           "eventTime": "2020-01-01T00:00:00.000000Z", "regarding": {"kind": "Composition", "namespace": s.ns}}
    for name in (".18e8845fa91fbf65", "UPPER-2"):
        s.post(p.replace("/api/v1", "/apis/events.k8s.io/v1") + "/events", {**new, "metadata": {"name": name}})


@script
def owners_in_a_circle(s):
    """Each waits for the next one: a foreground deletion ends all the same."""
    p = s.namespace() + "/configmaps"
    uids = [s.ask("POST", p, {"metadata": {"name": f"c{i}"}})["metadata.uid"] for i in range(3)]
    for i in range(3):
        owner = (i + 2) % 3
        edit(s, f"{p}/c{i}", {"metadata": {"ownerReferences": [{
            "apiVersion": "v1", "kind": "ConfigMap", "name": f"c{owner}", "uid": uids[owner], "blockOwnerDeletion": True}]}})
    s.ask("DELETE", p + "/c0", {"propagationPolicy": "Foreground"})
    for i in range(3):
        s.until(lambda: s.ask("GET", f"{p}/c{i}").status == 404, "an object of the circle to go")
