"""How many requests a load takes. Speed and memory are bench/run's."""
import concurrent.futures

import source
from lab import LLMKUBE, NO_WORKLOADS, Operator, free_port, wait_for

LAB = {"controllers": NO_WORKLOADS}
N = 60


def weights(address):
    return {"apiVersion": LLMKUBE.removeprefix("/apis/"), "kind": "Model",
            "metadata": {"name": "weights"}, "spec": {"source": address}}


def service(i):
    return {"apiVersion": LLMKUBE.removeprefix("/apis/"), "kind": "InferenceService",
            "metadata": {"name": f"service-{i}"}, "spec": {"modelRef": "weights"}}


def phases(lab, ns, phase):
    return sum(o.get("status", {}).get("phase") == phase
               for o in lab.list("inferenceservices", ns))


def test_services_that_share_a_model_take_two_children_and_a_status_each(lab):
    ns, files = lab.namespace("load"), source.serve(free_port())
    lab.create("models", ns, weights(f"http://127.0.0.1:{files.server_port}/tiny.gguf"))
    flags = ("--allowed-remote-hosts=127.0.0.1", f"--model-cache-path={lab.dir}")
    with Operator(lab, *flags) as operator:
        wait_for(lambda: lab.get("models", ns, "weights").get("status"), 20, "the Model's status")
        operator.stop()
        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            list(pool.map(lambda i: lab.create("inferenceservices", ns, service(i)), range(N)))
        mark = lab.mark()
        operator.start()
        wait_for(lambda: phases(lab, ns, "Creating") == N, 60, "all to be in work")
        lab.play_ready(ns)
        wait_for(lambda: phases(lab, ns, "Ready") == N, 60, "all to be ready")
        operator.stop()
        files.shutdown()
        # The claim is shared by all: whoever comes first creates it, the others wait for that.
        assert lab.writes(mark) == {
            "patch deployments": N, "patch services": N, "create persistentvolumeclaims": 1,
            "patch inferenceservices/status": 2 * N}, lab.writes(mark)
