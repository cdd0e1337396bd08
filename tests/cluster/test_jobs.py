"""Jobs under the real controller and under ours."""
import json

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
    for pod in found["pods"]:
        pod["metadata"].pop("finalizers", None)
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


def test_jobs_end_as_under_kubernetes():
    compare(a_job_ends, a_job_fails, a_job_rests_and_goes)
