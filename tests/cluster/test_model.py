"""The life of a Model on a real API server: copies, headers, drift, prefetch, restarts."""
import contextlib
import datetime
import http.server
import json
import os
import tempfile
import threading

import source
from lab import wait_for
from promises import Operator


class Weights(http.server.BaseHTTPRequestHandler):
    """Gives content under any name, with a length and an ETag."""
    content, etag, status, asked = source.TINY, '"one"', 200, 0

    def log_message(self, *_):
        pass

    def do_GET(self):
        Weights.asked += 1
        self.send_response(Weights.status)
        self.send_header("ETag", Weights.etag)
        self.send_header("Content-Length", str(len(Weights.content)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(Weights.content)

    do_HEAD = do_GET


def serve():
    Weights.content, Weights.etag, Weights.status, Weights.asked = source.TINY, '"one"', 200, 0
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Weights)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_address[1]}"


@contextlib.contextmanager
def model(lab, ns, **spec):
    lab.create("models", ns, {"apiVersion": "inference.llmkube.dev/v1alpha1", "kind": "Model",
                              "metadata": {"name": "m"}, "spec": spec})
    try:
        yield
    finally:
        lab.delete("models", ns, "m")


def edit(lab, ns, **spec):
    lab.patch("models", ns, "m", {"spec": spec})


def status(lab, ns):
    return lab.get("models", ns, "m").get("status", {})


def condition(lab, ns, kind):
    for c in status(lab, ns).get("conditions", []):
        if c["type"] == kind:
            return f"{c['status']} {c['reason']}"
    return ""


def reaches(lab, ns, phase):
    wait_for(lambda: status(lab, ns).get("phase") == phase, 15, f"phase {phase}")
    return status(lab, ns)


def drifts(lab, ns, wanted):
    wait_for(lambda: condition(lab, ns, "SourceDrifted") == wanted, 30, "SourceDrifted " + wanted)


def folders():
    top = tempfile.mkdtemp()
    for name in ("models", "cache"):
        os.mkdir(f"{top}/{name}")
    return top


def write(path, content):
    with open(path, "wb") as f:
        f.write(content)


def local(lab, top, *flags):
    return Operator(lab, f"--allowed-host-path-roots={top}/models",
                    f"--model-cache-path={top}/cache", *flags)


def test_a_local_file_is_copied_missed_and_found(lab):
    ns, top = lab.namespace("model-local"), folders()
    write(f"{top}/models/a.gguf", source.TINY)
    with local(lab, top) as op:
        with model(lab, ns, source=f"file://{top}/models/a.gguf"):
            seen = reaches(lab, ns, "Ready")
            assert seen["path"].endswith("/Tiny-Chat-0.1B-test.gguf"), seen
            with open(seen["path"], "rb") as f:
                assert f.read() == source.TINY
            edit(lab, ns, source=f"{top}/models/none.gguf")
            seen = reaches(lab, ns, "Failed")
            assert "path" not in seen and "gguf" not in seen, seen
            assert condition(lab, ns, "Degraded") == "True CopyFailed"
            assert condition(lab, ns, "Available") == "False CopyFailed"
            op.settle()
            mark = lab.mark()
            op.restart()
            op.settle()
            assert not lab.writes(mark), lab.writes(mark)
            edit(lab, ns, source=f"{top}/models/a.gguf")
            reaches(lab, ns, "Ready")
            assert condition(lab, ns, "Degraded") == "False Superseded"


def test_a_local_file_that_changes_is_copied_again(lab):
    ns, top = lab.namespace("model-again"), folders()
    write(f"{top}/models/a.gguf", source.TINY)
    with local(lab, top, "--model-revalidate-interval=1s"):
        with model(lab, ns, source=f"{top}/models/a.gguf", refreshPolicy="OnChange"):
            first = reaches(lab, ns, "Ready")["sha256"]
            write(f"{top}/models/a.gguf", source.TINY + bytes(32))
            wait_for(lambda: status(lab, ns).get("sha256") != first, 15, "another digest")
            seen = status(lab, ns)
            assert seen["sourceContentLength"] == len(source.TINY) + 32, seen
            drifts(lab, ns, "False InSync")
            assert os.path.getsize(seen["path"]) == len(source.TINY) + 32


def test_a_header_is_read_once_and_a_restart_writes_nothing(lab):
    ns, url = lab.namespace("model-header"), serve()
    with Operator(lab, "--allowed-remote-hosts=127.0.0.1") as op:
        mark = lab.mark()
        with model(lab, ns, source=f"{url}/a.gguf"):
            seen = reaches(lab, ns, "Ready")
            assert seen["gguf"]["modelName"] == "Tiny Chat 0.1B (test)", seen
            assert seen["sourceETag"] == '"one"', seen
            op.settle()
            assert lab.writes(mark) == {"patch models/status": 1}, lab.writes(mark)
            mark, asked = lab.mark(), Weights.asked
            op.restart()
            op.settle()
            assert not lab.writes(mark) and Weights.asked == asked, (lab.writes(mark), Weights.asked)


def test_a_server_that_is_busy_is_asked_again_before_the_model_is_ready(lab):
    """The name in the file's header decides where the file lies: it is worth waiting for."""
    ns, url = lab.namespace("model-503"), serve()
    Weights.status = 503
    with Operator(lab, "--allowed-remote-hosts=127.0.0.1"):
        with model(lab, ns, source=f"{url}/a.gguf"):
            reaches(lab, ns, "Pending")
            wait_for(lambda: Weights.asked >= 3, 20, "more than one try")
            Weights.status = 200
            assert "gguf" in reaches(lab, ns, "Ready")
            drifts(lab, ns, "False InSync")


def test_drift_is_told_when_it_comes_and_goes(lab):
    ns, url = lab.namespace("model-drift"), serve()
    with Operator(lab, "--allowed-remote-hosts=127.0.0.1",
                  "--model-revalidate-interval=1s") as op:
        with model(lab, ns, source=f"{url}/a.gguf"):
            reaches(lab, ns, "Ready")
            op.settle()
            asked, mark = Weights.asked, lab.mark()
            wait_for(lambda: Weights.asked >= asked + 3, 15, "three looks")
            assert not lab.writes(mark), lab.writes(mark)
            Weights.etag = '"two"'
            drifts(lab, ns, "True UpstreamChanged")
            Weights.etag = '"one"'
            drifts(lab, ns, "False InSync")


def finish(lab, ns, kind):
    """The Job's end, as its controller would write it."""
    when = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    conditions = [{"type": t, "status": "True", "lastTransitionTime": when} for t in kind]
    body = {"status": {"startTime": when, "conditions": conditions}}
    if "Complete" in kind:
        body["status"].update(completionTime=when, succeeded=1)
    lab.kubectl("-n", ns, "patch", "job", "m-prefetch", "--subresource=status", "--type=merge",
                "-p", json.dumps(body))


def test_a_prefetch_runs_once_for_each_source(lab):
    ns = lab.namespace("model-prefetch")
    with Operator(lab) as op:
        with model(lab, ns, source="https://weights.test/a.gguf", prefetch=True):
            reaches(lab, ns, "Downloading")
            wait_for(lambda: lab.get("jobs", ns, "m-prefetch"), 10, "the Job")
            assert lab.get("persistentvolumeclaims", ns, "llmkube-model-cache")
            finish(lab, ns, ["SuccessCriteriaMet", "Complete"])
            reaches(lab, ns, "Ready")
            assert condition(lab, ns, "Available") == "True ModelPrefetched"
            op.settle()
            lab.delete("jobs", ns, "m-prefetch")  # as its time to live would
            mark = lab.mark()
            op.restart()
            op.settle()
            assert not lab.writes(mark) and not lab.get("jobs", ns, "m-prefetch")
            edit(lab, ns, source="https://weights.test/b.gguf")
            wait_for(lambda: lab.get("jobs", ns, "m-prefetch"), 10, "a Job for the new source")
            finish(lab, ns, ["FailureTarget", "Failed"])
            reaches(lab, ns, "Failed")
            first = lab.get("jobs", ns, "m-prefetch")["metadata"]["uid"]
            edit(lab, ns, source="https://weights.test/c.gguf")
            wait_for(lambda: (lab.get("jobs", ns, "m-prefetch") or {}).get("metadata", {}).get(
                "uid", first) != first, 20, "another Job")
            reaches(lab, ns, "Downloading")


def test_a_claim_is_noticed_when_it_appears_and_goes(lab):
    ns = lab.namespace("model-claim")
    with Operator(lab):
        with model(lab, ns, source="pvc://weights/a.gguf"):
            reaches(lab, ns, "Failed")
            lab.create("persistentvolumeclaims", ns, {
                "metadata": {"name": "weights"},
                "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "",
                         "resources": {"requests": {"storage": "1Gi"}}}})
            reaches(lab, ns, "Pending")
            assert condition(lab, ns, "Degraded") == "False Superseded"
