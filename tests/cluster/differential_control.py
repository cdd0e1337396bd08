"""What the control plane does by itself: tokens in Secrets, who may approve certificates, the objects of flow control, expressions that
choose devices, definitions whose objects a webhook converts."""
import base64
import json

SCRIPTS = []


def script(function):
    SCRIPTS.append((function.__name__, function))
    return function


def token_secret(name, account, **annotations):
    return {"metadata": {"name": name, "annotations": {"kubernetes.io/service-account.name": account, **annotations}},
            "type": "kubernetes.io/service-account-token"}


def claims(token):
    body = token.split(".")[1]
    return json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))


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
    s.patch(p + "/secrets/filled", {"data": {"token": None, "namespace": None, "ca.crt": None, "mine": "eA=="}})
    s.until(lambda: "ca.crt" in (s.ask("GET", p + "/secrets/filled")["data"] or {}), "what was removed to be back")
    s.record("keys", sorted(s.ask("GET", p + "/secrets/filled")["data"]))
    s.patch(p + "/secrets/filled", {"data": {"token": "eA=="}})
    s.until(lambda: s.ask("GET", p + "/configmaps", headers=as_robot).status == 401, "the token of before to be refused")
    s.delete(p + "/serviceaccounts/robot")
    for name in ("filled", "right-uid"):
        s.until(lambda: s.ask("GET", f"{p}/secrets/{name}").status == 404, "the Secrets of an account that is gone to go")
