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


def check_dashboards(lab, ns, operator):
    """LLMKube's metrics are there under its names, and go with their objects."""
    def series(name, *labels):
        return [v for k, v in operator.metrics().items()
                if k.split("{")[0] == name and all(label in k for label in labels)]
    here, ready = f'namespace="{ns}"', 'phase="Ready"'
    assert series("llmkube_inferenceservice_phase", here, ready) == [1] * N
    assert series("llmkube_inferenceservice_replicas", here, 'state="ready"') == [1] * N
    assert series("llmkube_inferenceservice_ready_duration_seconds_count", here) == [1] * N
    assert series("llmkube_gpu_queue_depth", here) == [0]
    assert series("llmkube_model_status", here, 'model="weights"', ready) == [1]
    assert series("llmkube_reconcile_total", 'controller="inferenceservice"',
                  'result="success"')[0] >= N
    assert series("llmkube_reconcile_duration_seconds_count", 'controller="model"')[0] >= 1
    queue = 'controller="inferenceservice",name="inferenceservice"'
    assert series("workqueue_adds_total", queue)[0] >= N
    assert series("controller_runtime_reconcile_total", 'controller="inferenceservice"', 'result="success"')[0] >= N
    assert series("process_resident_memory_bytes")[0] > 1 << 20 and series("leeboard_build_info") == [1]
    lab.delete("inferenceservices", ns, "service-0")
    wait_for(lambda: len(series("llmkube_inferenceservice_phase", here)) == N - 1, 60,
             "the series of a service that is gone to go")


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
        check_dashboards(lab, ns, operator)
        operator.stop()
        files.shutdown()
        # The claim is shared by all: whoever comes first creates it, the others wait for that.
        assert lab.writes(mark) == {
            "patch deployments": N, "patch services": N, "create persistentvolumeclaims": 1,
            "patch inferenceservices/status": 2 * N}, lab.writes(mark)
