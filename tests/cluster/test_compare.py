"""The comparison of recordings: it sees what differs, and only that."""
import os
import tempfile

import replay  # noqa: F401 - finds golden

import golden


def recording():
    return golden.recorded(golden.FAMILY, "upd-isvc-endpoint")


def deployment(recorded):
    return next(o for o in recorded["ready"]["children"] if o["kind"] == "Deployment")


def found(change):
    theirs, ours = recording(), recording()
    change(ours)
    return [(d.picture, d.object, d.path, d.theirs, d.ours) for d in golden.compare(theirs, ours)]


def test_every_recording_equals_itself_and_survives_a_file():
    with tempfile.TemporaryDirectory() as folder:
        for case in golden.cases(golden.FAMILY):
            recorded, path = golden.recorded(golden.FAMILY, case), os.path.join(folder, case)
            golden.dump(recorded, path)
            assert golden.load(path) == recorded, case
            assert not list(golden.compare(recorded, golden.load(path))), case


def test_a_changed_leaf_is_one_difference_with_both_values():
    def change(ours):
        deployment(ours)["spec"]["revisionHistoryLimit"] = 11
    assert found(change) == [("ready", "Deployment/svc", "spec.revisionHistoryLimit", 10, 11)]


def test_an_inserted_argument_is_shown_alone():
    def change(ours):
        deployment(ours)["spec"]["template"]["spec"]["containers"][0]["args"].insert(2, "--new")
    path = "spec.template.spec.containers[llama-server].args"
    assert found(change) == [("ready", "Deployment/svc", path, [], ["--new"])]


def test_an_object_too_few_and_one_too_many_are_differences():
    def change(ours):
        deployment(ours)["metadata"]["name"] = "other"
    assert found(change) == [("ready", "Deployment/other", "<exists>", False, True),
                             ("ready", "Deployment/svc", "<exists>", True, False)]


def test_the_order_of_named_things_counts_but_not_that_of_conditions():
    def change(ours):
        deployment(ours)["spec"]["template"]["spec"]["initContainers"].reverse()
        for o in ours["ready"]["inputs"]:
            o["status"]["conditions"].reverse()
    paths = [difference[2] for difference in found(change)]
    assert paths == ["spec.template.spec.initContainers<order>"], paths


def test_quantities_are_compared_as_numbers():
    assert golden.same("x.resources.limits.memory", "1Gi", "1024Mi")
    assert golden.same("x.resources.limits.cpu", "0.5", "500m")
    assert golden.same("x.resources.requests.storage", "1e3", 1000)
    assert not golden.same("x.resources.limits.memory", "1Gi", "1G")
    assert not golden.same("spec.image", "1Gi", "1024Mi")


def test_refusals_are_compared_by_object_and_path():
    line = 'Error: Model.inference.llmkube.dev "a" is invalid: spec.gpu: Invalid value: {}'
    assert golden.refusals([line.format("one sentence")]) == {"a": ["spec.gpu"]}
    two = 'The Model "b" is invalid: [spec.x: Required value, <nil>: Invalid value: null: more]'
    assert golden.refusals([two]) == {"b": ["spec.x"]}


def test_an_accepted_difference_explains_what_it_names_and_nothing_else():
    accepted = golden.Accepted(golden.FAMILY, "cluster")
    accepted.entries = [{"case": "upd-*", "object": "Job/*", "path": "spec.*", "reason": "x"}]
    accepted.used = [0]
    assert accepted.explains(golden.Difference("upd-a", "ready", "Job/j", "spec.a[b].c", 1, 2))
    assert not accepted.explains(golden.Difference("isvc-a", "ready", "Job/j", "spec.a", 1, 2))
    assert not accepted.explains(golden.Difference("upd-a", "ready", "Job/j", "status.a", 1, 2))
    assert accepted.used == [1] and not accepted.unused()
