"""Where nothing changes, nothing is written: every recorded case of OtterScale at once, the broken
ones and those whose names sanitise alike too."""
import replay  # also finds golden
from lab import NO_PODS, wait_for
from promises import Operator, nothing_happens

import golden

LAB = {"controllers": NO_PODS}
FAMILY, QUIET_S = "otterscale", 60
OURS = replay.FAMILIES[FAMILY]["ours"]


def states(lab):
    """{uid: version} of everything of ours, and of Deployments, Jobs and claims."""
    return {o["metadata"]["uid"]: o["metadata"]["resourceVersion"]
            for plural in (*OURS, "deployments", "jobs", "persistentvolumeclaims", "secrets",
                           "httproutes", "destinationrules", "podmonitors")
            for o in lab.list(plural)}


def test_nothing_is_written_while_nothing_changes(lab):
    lab.install_crds("tests/golden/crds")
    cases = {name: path for name, path in golden.cases(FAMILY).items()
             if not name.startswith(("alt-", "gke-", "rej-"))}
    with Operator(lab) as op:
        for case, path in cases.items():
            lab.namespace(case)
            lab.kubectl("-n", case, "apply", "-f", path)
        wait_for(lambda: all(o.get("status") for p in OURS for o in lab.list(p)), 60,
                 "a status of every object")
        op.settle(60)
        for case in cases:
            lab.play_ready(case)
        op.settle(60)
        objects = [o for plural in OURS for o in lab.list(plural)]
        assert len(objects) >= 75, len(objects)
        failed = [o for o in objects if o["status"].get("phase") == "Failed"]
        assert len(failed) >= 10, f"only {len(failed)} are broken"

        before, mark = states(lab), lab.mark()
        reconciles = op.count("controller_runtime_reconcile_total")
        written = nothing_happens(lab, QUIET_S, mark)
        assert not written, f"at rest it wrote {written}"
        again = op.count("controller_runtime_reconcile_total") - reconciles
        assert again <= len(objects), f"at rest it ran {again:.0f} times"

        mark = lab.mark()
        op.restart()
        op.settle(60)
        written = nothing_happens(lab, QUIET_S / 6, mark)
        tried = {verb: n for verb, n in written.items() if not verb.startswith("patch")}
        assert not tried, f"after a restart it wrote {written}"
        assert states(lab) == before, "something else wrote"
