"""Many objects of one kind on a real kube-apiserver, without pods and without controllers: what the
scripts for the families of OtterScale and ToolHive share."""
import argparse
import json
import os
import time

import measure
from lab import BASE, Operator, exit_on_signals, wait_for

NAMESPACE = "load"
KEPT = ("default", "kube-root-ca.crt")


class World(measure.World):
    """family: title, plural, api_version, kind, spec, prefix, children (plurals), children_of_one,
    writes_of_one, goal_mb, goal_cpu, elsewhere {n, idle_mb, …}, variable and name of the peer."""

    def __init__(self, family):
        super().__init__()
        self.family = family
        self.lab.install_crds("tests/golden/crds")

    def create(self, n):
        f = self.family
        self._each(lambda i: self.lab.create(f.plural, NAMESPACE, {
            "apiVersion": f.api_version, "kind": f.kind,
            "metadata": {"name": f"{f.prefix}-{i}"}, "spec": f.spec}), range(n))

    def wipe(self, n):
        for i in range(n):
            self.lab.patch(self.family.plural, NAMESPACE, f"{self.family.prefix}-{i}",
                           {"metadata": {"finalizers": None}})
        for plural in (self.family.plural, *self.family.children):
            assert plural in BASE
            path = self.lab.path(plural, NAMESPACE)
            self.lab.api("DELETE", f"{path}?limit=500")
            wait_for(lambda: not [o for o in self.lab.list(plural, NAMESPACE)
                                  if o["metadata"]["name"] not in KEPT]
                     or self.lab.api("DELETE", f"{path}?limit=500") is None, 120, f"{plural} to go")


def run(world, process, options):
    family = world.family
    out = {"n": options.n, "ready_ms": measure.starts(process, 3)}
    time.sleep(3)
    out["idle_mb"], _ = process.memory()
    audit, cpu = measure.Audit(world.lab, process.agent, family.children), process.cpu()
    begun = time.time()
    world.create(options.n)
    audit.wait_made(family.children_of_one * options.n)
    out["children_s"] = max(audit.made) - begun
    out["rests"], out["cpu_s"] = audit.wait_quiet(), process.cpu() - cpu
    out["loaded_mb"], out["peak_mb"] = process.memory()
    out["writes"] = audit.count
    out["per_object"] = sum(audit.count.values()) / options.n
    audit, cpu = measure.Audit(world.lab, process.agent, family.children), process.cpu()
    time.sleep(options.rest)
    audit.look()
    out["rest_writes"], out["rest_cpu_s"] = sum(audit.count.values()), process.cpu() - cpu
    process.stop()
    out["restart_ms"] = process.start()
    time.sleep(3)
    out["restart_mb"], _ = process.memory()
    process.stop()
    return out


def rows(f):
    return (("memory, idle", "idle_mb", "MB", ""), ("memory, loaded", "loaded_mb", "MB", f.goal_mb),
            ("  at most so far", "peak_mb", "MB", ""), ("  after a restart", "restart_mb", "MB", ""),
            ("CPU to converge", "cpu_s", "s", f.goal_cpu),
            ("all children there after", "children_s", "s", ""),
            ("writes an object", "per_object", "", f.writes_of_one),
            ("writes at rest", "rest_writes", "", "0"), ("CPU at rest", "rest_cpu_s", "s", ""),
            ("start to ready, idle", "ready_ms", "ms", ""),
            ("start to ready, loaded", "restart_ms", "ms", ""))


def main(family, doc):
    parser = argparse.ArgumentParser(description=doc.split("\n")[0])
    parser.add_argument("--n", type=int, default=500, help=f"{family.kind}s")
    parser.add_argument("--rest", type=float, default=30, help="seconds to watch it at rest")
    parser.add_argument("--json", metavar="FILE", help="write everything that was measured there")
    options = parser.parse_args()
    exit_on_signals()
    world, binary = World(family), os.environ.get(family.variable)
    if binary:
        peer = measure.Process(world, family.plural, f"{os.path.basename(binary)}/",
                               [binary, *family.peer_flags], llmkube=False)
        measure.prove(peer)
    runs = {"Leeboard": run(world, measure.Process(
        world, "leeboard", "leeboard/", [Operator.BINARY, "operator"], llmkube=False), options)}
    if binary:
        world.wipe(options.n)
        runs[family.title] = run(world, peer, options)
    load = os.getloadavg()[0]
    world.stop()
    title = family.title if binary else f"{family.title} (elsewhere)"
    other = runs.get(family.title) or (
        family.elsewhere if options.n == family.elsewhere["n"] else {})
    print(f"{f'{options.n:,} {family.kind}s':34}{'Leeboard':>14}{title:>26}{'goal':>8}")
    for name, key, unit, goal in rows(family):
        values = [f"{r[key]:,.2f} {unit}" if key in r else "-" for r in (runs["Leeboard"], other)]
        print(f"{name:34}{values[0]:>14}{values[1]:>26}{goal:>8}")
    writes = runs["Leeboard"]["writes"]
    print("  writes: " + ", ".join(f"{count} {what}" for what, count in sorted(writes.items())))
    print(f"\n{os.cpu_count()} cores, load average at the end {load:.1f}; times are worth what the "
          "machine was idle")
    if options.json:
        with open(options.json, "w") as f:
            json.dump(runs, f, indent=1)
