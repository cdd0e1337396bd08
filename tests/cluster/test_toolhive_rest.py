"""Where nothing changes, nothing is written: every recorded case of ToolHive at once, the broken ones
too. Upstream's operator made 8,706 requests a minute then."""
import replay  # also finds golden
from lab import ApiError, wait_for
from promises import Operator, nothing_happens

import golden

LAB = {"controllers": "*"}
FAMILY, QUIET_S = "toolhive", 60
OURS = replay.FAMILIES[FAMILY]["ours"]
CHILDREN = ("deployments", "configmaps", "secrets", "roles", "rolebindings", "serviceaccounts")


def states(lab):
    """{uid: version} of everything of ours and of what it made."""
    return {o["metadata"]["uid"]: o["metadata"]["resourceVersion"]
            for plural in (*OURS, *CHILDREN) for o in lab.list(plural)}


def play_pods(lab, cases):
    for case in cases:
        try:
            lab.play_pods(case)
        except ApiError as e:
            if e.code != 404:  # replaced while it was looked at
                raise


def test_nothing_is_written_while_nothing_changes(lab):
    cases = {name: path for name, path in golden.cases(FAMILY).items()
             if not name.startswith(("bad-", "env-"))}
    with Operator(lab, *golden.TOOLHIVE_IMAGES) as op:
        for case, path in cases.items():
            lab.namespace(case)
            lab.kubectl("-n", case, "apply", "-f", path, check=False)
        wait_for(lambda: all(o.get("status") for p in OURS for o in lab.list(p)), 120,
                 "a status of every object")
        op.settle(120)
        play_pods(lab, cases)
        op.settle(120)
        play_pods(lab, cases)  # those that came since
        op.settle(120)
        objects = [o for plural in OURS for o in lab.list(plural)]
        assert len(objects) >= 200, len(objects)
        failed = [o for o in objects if o["status"].get("phase") == "Failed"]
        assert len(failed) >= 20, f"only {len(failed)} are broken"

        before, mark = states(lab), lab.mark()
        reconciles = op.count("controller_runtime_reconcile_total")
        written = nothing_happens(lab, QUIET_S, mark)
        assert not written, f"at rest it wrote {written}"
        again = op.count("controller_runtime_reconcile_total") - reconciles
        assert again <= len(objects), f"at rest it ran {again:.0f} times"

        mark = lab.mark()
        op.restart()
        op.settle(120)
        written = nothing_happens(lab, QUIET_S / 6, mark)
        tried = {verb: n for verb, n in written.items() if not verb.startswith("patch")}
        assert not tried, f"after a restart it wrote {written}"
        assert states(lab) == before, "something else wrote"
