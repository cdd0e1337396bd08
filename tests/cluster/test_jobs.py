"""Jobs under the real controller and under ours."""
import json
import time

from controllers import IMAGE, compare, play_pod, pods, snapshot, status, told
from lab import wait_for


def job(name, **spec):
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": {
        "template": {"spec": {"restartPolicy": "Never", "containers": [
            {"name": "main", "image": IMAGE}]}}, **spec}}


def jobs(lab, ns):
    found = snapshot(lab, ns, ("jobs", "pods"))
    uids = {o["metadata"]["uid"]: o["metadata"]["name"] for o in lab.list("jobs", ns)}
    text = json.dumps(found)
    for uid, name in uids.items():
        text = text.replace(uid, f"UID-{name}")
    found = json.loads(text)
    for o in found["jobs"]:  # of pods without a node: one that is told to go is gone
        o["status"].pop("terminating", None)
    for pod in found["pods"]:  # how it is known that one was counted is each controller's own
        pod["metadata"].pop("finalizers", None)
        notes = pod["metadata"].get("annotations", {})
        notes.pop("leeboard.dev/counted", None)
        if not notes:
            pod["metadata"].pop("annotations", None)
    return {kind: sorted(items, key=lambda o: json.dumps(o, sort_keys=True))
            for kind, items in found.items()}


def of_job(lab, ns, name):
    return [p for p in pods(lab, ns) if p["metadata"]["labels"].get("job-name") == name]


def play_job(lab, ns, name, phase, count=1):
    """So many pods of it end like that."""
    wait_for(lambda: sum(p["status"]["phase"] == "Pending" for p in of_job(lab, ns, name)) >= count,
             30, f"{count} pods of {name}")
    waiting = [p for p in of_job(lab, ns, name) if p["status"]["phase"] == "Pending"]
    for pod in waiting[:count]:
        play_pod(lab, ns, pod, phase=phase, ready=False)


def ended(lab, ns, name, how):
    wait_for(lambda: (told(lab, ns, how, "jobs", name) or "").startswith("True"), 30,
             f"{name} to be {how}")


def a_job_ends(world, lab, ns):
    lab.apply(ns, job("once"))
    wait_for(lambda: status(lab, ns, "jobs", "once").get("active") == 1, 30, "a pod")
    world.look(ns, jobs)
    play_job(lab, ns, "once", "Succeeded")
    ended(lab, ns, "once", "Complete")
    lab.kubectl("-n", ns, "wait", "--for=condition=complete", "job/once", "--timeout=60s")
    world.look(ns, jobs)
    lab.apply(ns, job("many", completions=3, parallelism=2))
    play_job(lab, ns, "many", "Succeeded", 2)
    wait_for(lambda: status(lab, ns, "jobs", "many").get("succeeded") == 2 and
             status(lab, ns, "jobs", "many").get("active") == 1, 30, "two of three")
    world.look(ns, jobs)
    play_job(lab, ns, "many", "Succeeded")
    ended(lab, ns, "many", "Complete")
    world.look(ns, jobs)


def a_job_fails(world, lab, ns):
    lab.apply(ns, [job("fails", backoffLimit=0, completions=2, parallelism=2),
                   job("late", activeDeadlineSeconds=2)])
    wait_for(lambda: len(of_job(lab, ns, "fails")) == 2, 30, "two pods")
    play_job(lab, ns, "fails", "Failed")
    ended(lab, ns, "fails", "Failed")
    ended(lab, ns, "late", "Failed")
    wait_for(lambda: len(pods(lab, ns)) == 1, 30, "the others to go")
    for o in world.look(ns, jobs)["jobs"]:
        assert "active" not in o["status"], o


def a_job_rests_and_goes(world, lab, ns):
    lab.apply(ns, job("rests", suspend=True))
    wait_for(lambda: told(lab, ns, "Suspended", "jobs", "rests") == "True JobSuspended", 30, "rest")
    world.look(ns, jobs)
    lab.patch("jobs", ns, "rests", {"spec": {"suspend": False}})
    wait_for(lambda: status(lab, ns, "jobs", "rests").get("active") == 1, 30, "a pod")
    world.look(ns, jobs)
    lab.patch("jobs", ns, "rests", {"spec": {"suspend": True}})
    wait_for(lambda: not pods(lab, ns), 30, "no pod")
    wait_for(lambda: not status(lab, ns, "jobs", "rests").get("active"), 30, "rest")
    lab.patch("jobs", ns, "rests", {"spec": {"suspend": False, "ttlSecondsAfterFinished": 1}})
    play_job(lab, ns, "rests", "Succeeded")
    wait_for(lambda: not lab.get("jobs", ns, "rests"), 30, "the end of the Job")


def play_index(lab, ns, name, index, code, conditions=()):
    """The pod of an index ends with this code."""
    def waiting():
        return [p for p in of_job(lab, ns, name) if p["status"]["phase"] == "Pending" and
                p["metadata"]["annotations"]["batch.kubernetes.io/job-completion-index"] == str(index)]
    end_pod(lab, ns, wait_for(waiting, 30, f"a pod of index {index}")[0], code, conditions)


def end_pod(lab, ns, pod, code, conditions=()):
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    lab.patch("pods", ns, f"{pod['metadata']['name']}/status", {"status": {
        "phase": "Failed" if code else "Succeeded", "conditions": list(conditions),
        "containerStatuses": [{
            "name": "main", "image": IMAGE, "imageID": "x", "ready": False, "restartCount": 0,
            "state": {"terminated": {"exitCode": code, "startedAt": now, "finishedAt": now}}}]}})


def says(lab, ns, name, **wanted):
    wait_for(lambda: all(status(lab, ns, "jobs", name).get(k) == v for k, v in wanted.items()), 30,
             f"{name} to say {wanted}")


def a_job_has_indexes(world, lab, ns):
    lab.apply(ns, job("all", completionMode="Indexed", completions=5, parallelism=4))
    says(lab, ns, "all", active=4)
    world.look(ns, jobs)
    for index in (0, 3, 2):
        play_index(lab, ns, "all", index, 0)
    says(lab, ns, "all", completedIndexes="0,2,3", active=2)
    world.look(ns, jobs)
    for index in (1, 4):
        play_index(lab, ns, "all", index, 0)
    ended(lab, ns, "all", "Complete")
    world.look(ns, jobs)
    lab.apply(ns, job("enough", completionMode="Indexed", completions=4, parallelism=4, successPolicy={
        "rules": [{"succeededIndexes": "0-1,3", "succeededCount": 2}]}))
    for index in (2, 0):
        play_index(lab, ns, "enough", index, 0)
    says(lab, ns, "enough", completedIndexes="0,2", active=2)
    play_index(lab, ns, "enough", 3, 0)
    ended(lab, ns, "enough", "Complete")
    world.look(ns, jobs)


def a_job_loses_indexes(world, lab, ns):
    rules = [{"action": "FailIndex", "onExitCodes": {"operator": "In", "values": [42]}},
             {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}]
    lab.apply(ns, job("some", completionMode="Indexed", completions=4, parallelism=4,
                      backoffLimitPerIndex=1, podFailurePolicy={"rules": rules}))
    says(lab, ns, "some", active=4)
    play_index(lab, ns, "some", 1, 42)
    play_index(lab, ns, "some", 2, 0)
    play_index(lab, ns, "some", 0, 1)
    play_index(lab, ns, "some", 3, 1, [{"type": "DisruptionTarget", "status": "True"}])
    says(lab, ns, "some", failedIndexes="1", completedIndexes="2", failed=1, active=None)
    world.look(ns, jobs)
    # After ten seconds those that may try once more do.
    says(lab, ns, "some", active=2, failed=2)
    world.look(ns, jobs)
    play_index(lab, ns, "some", 0, 1)
    says(lab, ns, "some", failedIndexes="0,1", active=1)
    play_index(lab, ns, "some", 3, 0)
    ended(lab, ns, "some", "Failed")
    world.look(ns, jobs)
    lab.apply(ns, job("many", completionMode="Indexed", completions=2, parallelism=2,
                      backoffLimitPerIndex=0, maxFailedIndexes=1))
    for index in (0, 1):
        play_index(lab, ns, "many", index, 3)
    ended(lab, ns, "many", "Failed")
    world.look(ns, jobs)


def a_job_has_a_policy_for_failures(world, lab, ns):
    rules = [{"action": "Ignore", "onExitCodes": {"operator": "In", "values": [41]}},
             {"action": "Count", "onExitCodes": {"containerName": "main", "operator": "In", "values": [42]}},
             {"action": "FailJob", "onExitCodes": {"operator": "NotIn", "values": [40]}}]
    lab.apply(ns, job("picky", completions=4, parallelism=4, podFailurePolicy={"rules": rules}))
    says(lab, ns, "picky", active=4)
    one, two, three, four = of_job(lab, ns, "picky")
    end_pod(lab, ns, one, 41)
    end_pod(lab, ns, two, 42)
    says(lab, ns, "picky", failed=1, active=2)
    world.look(ns, jobs)
    end_pod(lab, ns, three, 43)
    ended(lab, ns, "picky", "Failed")
    why = status(lab, ns, "jobs", "picky")["conditions"][0]["message"]
    name = three["metadata"]["name"]
    assert why == (f"Container main for pod {ns}/{name} failed with exit code 43 "
                   "matching FailJob rule at index 2"), why


def a_job_replaces_pods(world, lab, ns):
    """Of a node, so that one that is told to go is there until somebody lets it go."""
    lab.create("nodes", None, {"metadata": {"name": "machine"}})
    for name, policy in (("soon", "TerminatingOrFailed"), ("late", "Failed")):
        o = job(name, podReplacementPolicy=policy)
        o["spec"]["template"]["spec"]["nodeName"] = "machine"
        lab.apply(ns, o)
        says(lab, ns, name, active=1)
        lab.delete("pods", ns, of_job(lab, ns, name)[0]["metadata"]["name"])
        says(lab, ns, name, terminating=1, failed=1 if name == "soon" else None)
    says(lab, ns, "soon", active=1, failed=1)  # after a while, as after any failure
    says(lab, ns, "late", active=None, failed=None)
    assert not of_job(lab, ns, "late")
    lab.apply(ns, job("theirs", managedBy="example.org/other"))
    lab.apply(ns, job("shrinks", parallelism=3, completions=9))
    says(lab, ns, "shrinks", active=3)
    lab.patch("jobs", ns, "shrinks", {"spec": {"parallelism": 1}})
    says(lab, ns, "shrinks", active=1)
    wait_for(lambda: len(of_job(lab, ns, "shrinks")) == 1, 30, "two pods to go")
    assert not status(lab, ns, "jobs", "theirs") and not of_job(lab, ns, "theirs")


def test_jobs_end_as_under_kubernetes():
    compare(a_job_ends, a_job_fails, a_job_rests_and_goes, a_job_replaces_pods)


def test_jobs_have_indexes_and_policies_as_under_kubernetes():
    compare(a_job_has_indexes, a_job_loses_indexes, a_job_has_a_policy_for_failures)
