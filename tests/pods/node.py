"""A whole node beside the control plane of tests/cluster/lab.py: containerd, kubelet, kube-proxy and a DNS server.

Everything lives in namespaces of its own (tests/pods/run makes them): its network, its mounts, its processes. Nothing of
it is seen outside, and nothing is left when the first process ends, but control groups, which `run` removes.
"""
import glob
import ipaddress
import json
import os
import shutil
import socket
import struct
import subprocess
import sys
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "cluster"))
import lab as labs  # noqa: E402
import yaml  # noqa: E402
from lab import ROOT, free_port, spawn, tail, wait_for  # noqa: E402

NODE_IP, PODS, DOMAIN = "10.88.0.1", "10.244.0.0/16", "cluster.local"
CRI = "io.containerd.grpc.v1.cri"


def run(*command, **options):
    done = subprocess.run(command, text=True, capture_output=True, **options)
    assert done.returncode == 0, f"{' '.join(command)}: {done.stderr.strip() or done.stdout.strip()}"
    return done.stdout


def prepare_namespaces():
    """Folders that these programs insist on are empty here, and the network has one machine in it."""
    for folder in ("/run", "/var/lib/cni", "/var/log", "/etc/cni"):
        os.makedirs(folder, exist_ok=True)
        run("mount", "-t", "tmpfs", "none", folder)
    run("ip", "link", "set", "lo", "up")
    run("ip", "link", "add", "machine", "type", "bridge")
    run("ip", "address", "add", f"{NODE_IP}/24", "dev", "machine")
    run("ip", "link", "set", "machine", "up")
    run("ip", "route", "add", "default", "via", "10.88.0.254", "dev", "machine")
    for name in ("net/ipv4/ip_forward", "net/bridge/bridge-nf-call-iptables"):
        with open(f"/proc/sys/{name}", "w") as file:
            file.write("1")


class PodLab(labs.Lab):
    """A control plane whose pods run. Its folder is as the kubelet's: pods see it by mounts."""

    HOST = NODE_IP

    def __init__(self):
        super().__init__(controllers="*", apiserver=("--kubelet-preferred-address-types=InternalIP",))

    def _start(self):
        super()._start()
        self.node_bin = run(f"{ROOT}/tools/kube", "--node").strip()
        self._start_dns()
        self._start_containerd()
        self._start_node()
        wait_for(self.node_ready, 120, "the node to be ready")
        # Its controller would take it off in a while.
        self.kubectl("taint", "nodes", "--all", "node.kubernetes.io/not-ready-", check=False)

    def _background(self, *command):
        log = f"{self.dir}/{os.path.basename(command[0])}.log"
        self.processes.append((os.path.basename(command[0]), spawn(command, log, cwd=self.dir)))

    def node_ready(self):
        for name, process in self.processes:
            assert process.poll() is None, f"{name} ended:\n{tail(f'{self.dir}/{name}.log', 20)}"
        nodes = self.list("nodes")
        return nodes and any(c["type"] == "Ready" and c["status"] == "True"
                             for c in nodes[0].get("status", {}).get("conditions", []))

    def _start_containerd(self):
        d = self.dir
        os.makedirs(f"{d}/cni")
        self._write("cni/10-bridge.conflist", json.dumps({
            "cniVersion": "0.4.0", "name": "pods", "plugins": [
                {"type": "bridge", "bridge": "pods0", "isGateway": True, "ipMasq": True, "hairpinMode": True,
                 "ipam": {"type": "host-local", "ranges": [[{"subnet": PODS}]], "routes": [{"dst": "0.0.0.0/0"}]}},
                {"type": "portmap", "capabilities": {"portMappings": True}}]}))
        self._write("containerd.toml", f"""
version = 2
root = "{d}/containerd"
state = "/run/containerd"
[grpc]
  address = "/run/containerd/containerd.sock"
[plugins."{CRI}"]
  restrict_oom_score_adj = true
  sandbox_image = "docker.io/library/pause:test"
  [plugins."{CRI}".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "{d}/cni"
""")
        self._background("containerd", "--config", f"{d}/containerd.toml")
        wait_for(lambda: subprocess.run(["ctr", "version"], capture_output=True).returncode == 0, 60, "containerd")

    def load(self, archive):
        """Images of an OCI archive."""
        return run("ctr", "-n", "k8s.io", "images", "import", "--no-unpack=false", archive)

    def _start_node(self):
        d = self.dir
        self._write("kubelet.yaml", yaml.dump({
            "apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration",
            "authentication": {"anonymous": {"enabled": True}, "webhook": {"enabled": False}},
            "authorization": {"mode": "AlwaysAllow"},  # nobody else is in this network
            "address": NODE_IP, "cgroupDriver": "cgroupfs", "failCgroupV1": False, "failSwapOn": False,
            "cgroupRoot": "/" + os.environ["LEEBOARD_CGROUP"], "cgroupsPerQOS": True, "enforceNodeAllocatable": ["pods"],
            "containerRuntimeEndpoint": "unix:///run/containerd/containerd.sock", "clusterDNS": [NODE_IP],
            "clusterDomain": DOMAIN, "resolvConf": f"{d}/resolv.conf", "podLogsDir": "/var/log/pods",
            "syncFrequency": "5s", "fileCheckFrequency": "0s", "httpCheckFrequency": "0s", "nodeStatusUpdateFrequency": "5s",
            "evictionHard": {"nodefs.available": "1Mi", "memory.available": "1Mi", "imagefs.available": "1Mi"},
            "imageGCHighThresholdPercent": 100, "localStorageCapacityIsolation": False}))
        self._write("resolv.conf", "")
        self._background(f"{self.node_bin}/kube-scheduler", f"--kubeconfig={self.kubeconfig}", "--leader-elect=false",
                         f"--authentication-kubeconfig={self.kubeconfig}",
                         f"--authorization-kubeconfig={self.kubeconfig}", f"--secure-port={free_port()}")
        self._background(f"{self.node_bin}/kubelet", f"--config={d}/kubelet.yaml", f"--kubeconfig={self.kubeconfig}",
                         f"--root-dir={d}/kubelet", f"--node-ip={NODE_IP}", "--hostname-override=machine", "--v=2")
        self._write("kube-proxy.yaml", yaml.dump({
            "apiVersion": "kubeproxy.config.k8s.io/v1alpha1", "kind": "KubeProxyConfiguration", "mode": "nftables",
            "clientConnection": {"kubeconfig": self.kubeconfig}, "clusterCIDR": PODS, "hostnameOverride": "machine",
            # What belongs to the machine outside is not ours to set.
            "conntrack": {"maxPerCore": 0, "min": 0, "tcpCloseWaitTimeout": "0s", "tcpEstablishedTimeout": "0s"}}))
        self._background(f"{self.node_bin}/kube-proxy", f"--config={d}/kube-proxy.yaml")

    # Names of Services, by the API

    def _start_dns(self):
        server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        server.bind((NODE_IP, 53))
        threading.Thread(target=self._serve_dns, args=(server,), daemon=True).start()

    def _serve_dns(self, server):
        while True:
            packet, peer = server.recvfrom(4096)
            try:
                server.sendto(self._resolve(packet), peer)
            except Exception as error:  # noqa: BLE001 - one bad question ends no service
                print(f"dns: {error!r}", file=sys.stderr)

    def _addresses(self, name):
        """None: there is no such name."""
        parts = name.lower().rstrip(".").split(".")
        if parts[-3:] != ["svc", *DOMAIN.split(".")] or len(parts) < 5:
            return None
        service = self.get("services", parts[-4], parts[-5])
        if not service:
            return None
        if service["spec"].get("clusterIP") not in (None, "", "None"):
            return [service["spec"]["clusterIP"]]
        slices = [s for s in self.list("endpointslices", parts[-4])
                  if s["metadata"]["labels"].get("kubernetes.io/service-name") == parts[-5]]
        return [a for s in slices for e in s["endpoints"] for a in e["addresses"]
                if len(parts) == 5 or e.get("hostname") == parts[0]]

    def _resolve(self, packet):
        id, at, labels = packet[:2], 12, []
        while packet[at]:
            labels.append(packet[at + 1:at + 1 + packet[at]].decode())
            at += 1 + packet[at]
        question, kind = packet[12:at + 5], struct.unpack(">H", packet[at + 1:at + 3])[0]
        found = self._addresses(".".join(labels))
        answers = [ipaddress.ip_address(a).packed for a in found or []] if kind == 1 else []
        head = struct.pack(">HHHHH", 0x8580 | (3 if found is None else 0), 1, len(answers), 0, 0)
        return id + head + question + b"".join(b"\xc0\x0c\x00\x01\x00\x01\x00\x00\x00\x01\x00\x04" + a for a in answers)

    def stop(self):
        if os.environ.get("LOGS"):  # where the logs of all programs go, for whoever looks for a cause
            for file in glob.glob(f"{self.dir}/*.log"):
                shutil.copy(file, os.environ["LOGS"])
        for _, process in reversed(self.processes):
            process.kill()
            process.wait()
        self.processes.clear()
        shutil.rmtree(self.dir, ignore_errors=True)
