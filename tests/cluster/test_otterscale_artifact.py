"""ModelArtifacts on a real kube-apiserver with its Job controller: edited while running, finished or
failed there is one outcome; what a pod said last is told; what is somebody else's is left alone."""
import replay  # noqa: F401  also finds golden
from lab import NO_PODS, wait_for
from otters import artifact, with_others
from promises import Operator, condition, creations, nothing_happens

LAB = {"controllers": NO_PODS}
DIGESTS = {tag: f"sha256:{i:064x}" for i, tag in enumerate(("v1", "v2", "v3"))}
LONG = "größer " * 300  # 2400 bytes, and a cut at 1021 would halve a letter


def status(lab, ns, name="owl"):
    return lab.get("modelartifacts", ns, name).get("status") or {}


def pods_of(lab, ns):
    return [p for p in lab.list("pods", ns) if not p["metadata"].get("deletionTimestamp")]


def play(lab, ns, message, exit_code=0):
    """The pod of the one Job ends with this as its last word."""
    pod, = wait_for(lambda: pods_of(lab, ns), 20, "a pod")
    end = {"exitCode": exit_code, "startedAt": "2026-01-01T00:00:00Z",
           "finishedAt": "2026-01-01T00:01:00Z", "message": message}
    lab.patch("pods", ns, f"{pod['metadata']['name']}/status", {"status": {
        "phase": "Failed" if exit_code else "Succeeded", "containerStatuses": [{
            "name": "kit", "image": "x", "imageID": "x", "ready": False, "restartCount": 0,
            "state": {"terminated": end}}]}})


def wait_phase(lab, ns, phase, name="owl"):
    wait_for(lambda: status(lab, ns, name).get("phase") == phase, 20,
             f"{phase} instead of {status(lab, ns, name)}")
    return status(lab, ns, name)


def target_of(job):
    env = job["spec"]["template"]["spec"]["containers"][0]["env"]
    return next(e["value"] for e in env if e["name"] == "OCI_TARGET")


def edit(lab, ns, tag):
    lab.patch("modelartifacts", ns, "owl", {"spec": {"target": {"tag": tag}}})


def check_packed_anew(lab, ns, op, tag, old):
    """After an edit: one Job, of the new spec, and its claim; in the end its digest."""
    def new_job():
        jobs = lab.list("jobs", ns)
        return len(jobs) == 1 and jobs[0]["metadata"]["uid"] not in old and \
            target_of(jobs[0]).endswith(f":{tag}")
    wait_for(new_job, 20, f"the one Job of {tag} instead of {status(lab, ns)}")
    claim = wait_for(lambda: lab.get("persistentvolumeclaims", ns, "owl-workspace"), 10, "a claim")
    assert claim["metadata"]["uid"] not in old and not claim["metadata"].get("deletionTimestamp")
    told = wait_phase(lab, ns, "Running")
    assert "digest" not in told and "reference" not in told, told
    op.settle()
    play(lab, ns, DIGESTS[tag])
    told = wait_phase(lab, ns, "Succeeded")
    assert told["digest"] == DIGESTS[tag] and told["reference"].endswith(f":{tag}"), told
    wait_for(lambda: not lab.list("persistentvolumeclaims", ns), 10, "the claim to go")


def uids(lab, ns):
    return {o["metadata"]["uid"] for plural in ("jobs", "persistentvolumeclaims")
            for o in lab.list(plural, ns)}


def begin(lab, ns, tag="v1"):
    lab.apply(ns, artifact(target={"registry": "r", "repository": "zoo/owl", "tag": tag}))
    wait_phase(lab, ns, "Running")


def test_an_artifact_edited_while_it_runs_is_packed_anew(lab):
    for i in range(4):
        ns = with_others(lab).namespace(f"running-{i}")
        with Operator(lab) as op:
            begin(lab, ns)
            old = uids(lab, ns)
            edit(lab, ns, "v2")
            check_packed_anew(lab, ns, op, "v2", old)


def test_an_artifact_edited_after_its_end_is_packed_anew(lab):
    ns = with_others(lab).namespace("finished")
    with Operator(lab) as op:
        begin(lab, ns)
        play(lab, ns, DIGESTS["v1"])
        wait_phase(lab, ns, "Succeeded")
        op.settle()
        old = uids(lab, ns)
        edit(lab, ns, "v2")
        check_packed_anew(lab, ns, op, "v2", old)


def test_an_artifact_edited_after_a_failure_is_packed_anew(lab):
    ns = with_others(lab).namespace("failed")
    with Operator(lab) as op:
        begin(lab, ns)
        play(lab, ns, "no such model: 100%s größer", 1)
        told = wait_phase(lab, ns, "Failed")
        assert condition({"status": told}, "Ready")["message"] == "no such model: 100%s größer"
        op.settle()
        old = uids(lab, ns)
        edit(lab, ns, "v3")
        check_packed_anew(lab, ns, op, "v3", old)


def test_an_artifact_edited_twice_at_once_ends_as_it_was_edited_last(lab):
    ns = with_others(lab).namespace("twice")
    with Operator(lab) as op:
        begin(lab, ns)
        old = uids(lab, ns)
        op.pause()
        edit(lab, ns, "v2")
        op.resume()
        edit(lab, ns, "v3")
        check_packed_anew(lab, ns, op, "v3", old)


def test_edited_while_nobody_looks_it_is_packed_anew(lab):
    ns = with_others(lab).namespace("asleep")
    with Operator(lab) as op:
        begin(lab, ns)
        play(lab, ns, DIGESTS["v1"])
        wait_phase(lab, ns, "Succeeded")
        op.settle()
    old = uids(lab, ns)
    edit(lab, ns, "v2")
    with Operator(lab) as op:
        check_packed_anew(lab, ns, op, "v2", old)
        mark = lab.mark()
        op.restart()
        op.settle()
        assert not lab.writes(mark), lab.writes(mark)


def test_a_long_last_word_is_cut_between_characters(lab):
    ns = with_others(lab).namespace("words")
    with Operator(lab) as op:
        begin(lab, ns)
        play(lab, ns, LONG, 1)
        message = condition({"status": wait_phase(lab, ns, "Failed")}, "Ready")["message"]
        assert len(message.encode()) <= 1024 and message.endswith("...") and \
            LONG.startswith(message[:-3]) and "\ufffd" not in message, message
        op.settle()

        def noted():
            return [e["note"] for e in lab.api(
                "GET", f"/apis/events.k8s.io/v1/namespaces/{ns}/events")["items"]
                if e["reason"] == "Failed"]
        note, = wait_for(noted, 10, "the event")
        assert note.startswith("Artifact pipeline failed: größer"), note
        # its Job gone, the cause stays told and nothing is begun again
        mark = lab.mark()
        lab.delete("jobs", ns, status(lab, ns)["jobRef"]["name"])
        op.settle()
        assert condition({"status": status(lab, ns)}, "Ready")["message"] == message
        assert not creations(lab, mark), creations(lab, mark)


def test_a_job_deleted_while_it_runs_is_made_once_more(lab):
    ns = with_others(lab).namespace("deleted")
    with Operator(lab) as op:
        begin(lab, ns)
        op.settle()
        job, = lab.list("jobs", ns)
        mark = lab.mark()
        lab.delete("jobs", ns, job["metadata"]["name"])

        def back():
            jobs = lab.list("jobs", ns)
            return len(jobs) == 1 and jobs[0]["metadata"]["uid"] != job["metadata"]["uid"]
        wait_for(back, 20, "another Job")
        op.settle()
        made = [plural for plural, _, _ in creations(lab, mark)]
        assert made == ["jobs"], made


def test_somebody_elses_claim_is_left_alone_and_named(lab):
    ns = with_others(lab).namespace("foreign")
    lab.create("persistentvolumeclaims", ns, {"metadata": {"name": "owl-workspace"}, "spec": {
        "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}})
    before = lab.get("persistentvolumeclaims", ns, "owl-workspace")
    with Operator(lab) as op:
        lab.apply(ns, artifact())
        told = wait_for(lambda: condition({"status": status(lab, ns)}, "Ready"), 10, "a condition")
        op.settle()
        told = condition({"status": status(lab, ns)}, "Ready")
        assert told["reason"] == "ReconcileError" and \
            "PersistentVolumeClaim owl-workspace exists" in told["message"], told
        assert not lab.list("jobs", ns)
        assert lab.get("persistentvolumeclaims", ns, "owl-workspace") == before
        written = nothing_happens(lab, 5)
        assert not written, written
        lab.delete("persistentvolumeclaims", ns, "owl-workspace")
        wait_phase(lab, ns, "Running")


def test_a_secret_that_is_not_there_is_named(lab):
    ns = with_others(lab).namespace("secret")
    with Operator(lab):
        lab.apply(ns, artifact(source={"huggingFace": {"model": "a/b",
                                                       "tokenSecretRef": {"name": "hub"}}}))
        wait_phase(lab, ns, "Running")
        told = condition({"status": status(lab, ns)}, "Complete")
        assert "spec.source.huggingFace.tokenSecretRef: Secret hub is not in" in told["message"]
        lab.create("secrets", ns, {"metadata": {"name": "hub"}})
        wait_for(lambda: not condition({"status": status(lab, ns)}, "Complete"), 10, "it to be seen")
