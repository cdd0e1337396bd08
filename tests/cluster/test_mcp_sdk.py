"""The Python SDK of MCP on both sides of the proxy, with an issuer of tokens and a real Redis."""
import os
import subprocess

from lab import ROOT, Failure


def test_mcp_serves_the_python_sdk():
    done = subprocess.run([f"{ROOT}/tests/mcp/real/run", f"build/{os.environ.get('V', 'release')}"], text=True, capture_output=True)
    if done.returncode:
        raise Failure(done.stdout[-4000:] + done.stderr[-2000:])
