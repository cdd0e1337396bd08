"""The router against the recorded wire cases of LLMKube's router-proxy."""
import os
import subprocess
import sys
import tempfile

from lab import ROOT, Failure

GOLDEN = f"{ROOT}/tests/golden/router"


def test_router_wire_cases():
    program = f"{ROOT}/build/{os.environ.get('V', 'release')}/leeboard"
    command = f"{program} router --config {{config}} --listen {{listen}} --metrics-bind-address {{metrics}} {{flags}}"
    with tempfile.TemporaryDirectory(prefix="leeboard-router-") as out:
        subprocess.run([sys.executable, f"{GOLDEN}/replay.py", "--command", command, "--out", out, "--jobs", "4",
                        "--cases", f"{GOLDEN}/cases"], check=True, timeout=600, stdout=subprocess.DEVNULL)
        sys.path.insert(0, GOLDEN)
        import compare  # pylint: disable=import-outside-toplevel
        strange = list(compare.compare(out))
    if strange:
        raise Failure("\n".join(strange))
