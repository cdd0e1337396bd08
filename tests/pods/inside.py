"""What tests/pods/run starts in namespaces of its own: the tests of this folder, one after the other, on one node."""
import inspect
import sys
import time
import traceback

import node
import test_pods
import test_switch


def in_file_order(module):
    found = [f for name, f in inspect.getmembers(module, inspect.isfunction)
             if name.startswith("test_") and f.__module__ == module.__name__]
    return sorted(found, key=lambda f: f.__code__.co_firstlineno)


def main(parts):
    passed = failed = 0
    node.prepare_namespaces()
    with node.PodLab() as lab:
        test_pods.prepare(lab)
        for test in in_file_order(test_pods) + in_file_order(test_switch):
            if parts and not any(part in test.__name__ for part in parts):
                continue
            start = time.monotonic()
            try:
                test(lab)
                passed += 1
                print(f"ok   {test.__name__} {time.monotonic() - start:.1f} s", flush=True)
            except Exception:  # noqa: BLE001 - whatever a test throws
                traceback.print_exc(file=sys.stdout)
                failed += 1
                print(f"FAIL {test.__name__}", flush=True)
                print(lab.kubectl("get", "pods", "-A", "-o", "wide", check=False).stdout, flush=True)
                print(lab.kubectl("get", "events", "-A", check=False).stdout[-3000:], flush=True)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


sys.exit(main(sys.argv[1:]))
