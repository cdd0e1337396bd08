"""Somebody who keeps taking a field: we stop, and say who and which.

Seen to fail with is_fight() always false: "waited 30 s in vain for Contested=True".
"""
import threading

from lab import NO_WORKLOADS, wait_for
from promises import (Operator, condition, model, nothing_happens, service, wait_children,
                      wait_condition)

LAB = {"controllers": NO_WORKLOADS}


class Rival:
    """Sets a field back, by force, as soon as we have set it."""

    def __init__(self, lab, namespace, name, value):
        self.lab, self.ended, self.rounds = lab, threading.Event(), 0
        self.path = lab.path("deployments", namespace, name)
        self.wanted = {"apiVersion": "apps/v1", "kind": "Deployment",
                       "metadata": {"name": name}, "spec": {"replicas": value}}
        self.thread = threading.Thread(target=self._fight, daemon=True)
        self.thread.start()

    def _fight(self):
        while not self.ended.wait(0.05):
            if self.lab.api("GET", self.path)["spec"]["replicas"] != self.wanted["spec"]["replicas"]:
                self.lab.api("PATCH", f"{self.path}?fieldManager=rival&force=true", self.wanted,
                             "application/apply-patch+yaml")
                self.rounds += 1

    def stop(self):
        self.ended.set()
        self.thread.join()


def test_a_rival_is_named_and_left_alone(lab):
    ns = lab.namespace("fight")
    with Operator(lab) as operator:
        lab.apply(ns, [model(), service()])
        wait_children(lab, ns)
        since, rival = lab.mark(), Rival(lab, ns, "svc", 5)
        try:
            contested = wait_condition(lab, "inferenceservices", ns, "svc", "Contested", timeout=30)
            assert "rival" in contested["message"] and ".spec.replicas" in contested["message"], contested
            assert rival.rounds <= 8, f"{rival.rounds} rounds before we gave up"
            taken_back = lab.writes(since)["patch deployments"]
            assert 3 <= taken_back <= 8, f"the Deployment was written {taken_back} times"
            operator.settle()
            written = nothing_happens(lab, 5)
            assert not written, f"written after it was given up: {dict(written)}"
        finally:
            rival.stop()
        # A bystander is none the worse, and a new wish of the user is a new beginning.
        lab.apply(ns, service("other"))
        wait_children(lab, ns, "other")
        lab.patch("inferenceservices", ns, "svc", {"spec": {"replicas": 2}})
        wait_for(lambda: lab.get("deployments", ns, "svc")["spec"]["replicas"] == 2, 15,
                 "the user's new number of replicas")
        wait_for(lambda: not condition(lab.get("inferenceservices", ns, "svc"), "Contested"), 15,
                 "Contested to go away")
        assert operator.metrics()["leeboard_contested_total"] == 1
