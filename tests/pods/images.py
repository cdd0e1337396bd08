"""The images that pods run here, made from programs of this machine: one layer with a shell, curl, Python, llama-server and
the MCP servers of tests/mcp, and an image of it for each name and entry point."""
import glob
import importlib.machinery
import importlib.util
import io
import os
import platform
import re
import subprocess
import tarfile

from node import ROOT, run

# Answers every GET, whatever its arguments: in the place of a program that is not here.
STAND_IN = """#!/usr/bin/python3
import http.server, threading
class Fine(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
for port in (8000, 8080):
    server = http.server.ThreadingHTTPServer(("", port), Fine)
    threading.Thread(target=server.serve_forever).start()
"""
PAUSE = "#include <signal.h>\n#include <unistd.h>\nint main(void){signal(SIGTERM, _exit); for(;;) pause();}\n"


def tool(name):
    """A program of tools/ as a module."""
    loader = importlib.machinery.SourceFileLoader(name, f"{ROOT}/tools/{name}")
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    loader.exec_module(module)
    return module


oci = tool("image")


class Files:
    """{path in the image: file of this machine, or bytes, or a link's target}"""

    def __init__(self):
        self.files, self.texts, self.links = {}, {}, {}

    def program(self, file, path=None):
        """With the libraries that it needs, where its loader looks for them."""
        self.files[path or file.lstrip("/")] = os.path.realpath(file)
        self.files.update(oci.libraries(file))

    def tree(self, folder, path, skip=r"/__pycache__|/test/|/dist-packages"):
        for file in glob.glob(f"{folder}/**/*", recursive=True):
            if not os.path.isdir(file) and not re.search(skip, file):
                self.files[path + file[len(folder):]] = os.path.realpath(file)

    def tar(self):
        raw = io.BytesIO()
        with tarfile.open(fileobj=raw, mode="w", format=tarfile.GNU_FORMAT) as tar:
            tar.addfile(oci.entry("tmp", type=tarfile.DIRTYPE, mode=0o1777))
            for path, file in sorted(self.files.items()):
                with open(file, "rb") as data:
                    size = os.fstat(data.fileno()).st_size
                    tar.addfile(oci.entry(path, size=size, mode=os.stat(file).st_mode & 0o777 | 0o444), data)
            for path, text in sorted(self.texts.items()):
                tar.addfile(oci.entry(path, size=len(text), mode=0o755), io.BytesIO(text.encode()))
            for path, target in sorted(self.links.items()):
                tar.addfile(oci.entry(path, type=tarfile.SYMTYPE, linkname=target))
        return raw.getvalue()


def llama(files):
    folder = run(f"{ROOT}/tools/llama").strip()
    with open(f"{folder}/llama-server", "rb") as file:
        head = file.read(2)
    if head == b"#!":  # what tools/llama fetched: a script that names loader and libraries
        cache = os.path.dirname(folder)
        files.tree(f"{cache}/usr", "llama/usr", "^$")
        with open(f"{folder}/llama-server") as file:
            files.texts["app/llama-server"] = file.read().replace(cache, "/llama")
    else:
        files.program(f"{folder}/llama-server", "app/llama-server")


def tools():
    files = Files()
    files.program("/bin/busybox", "bin/busybox")
    for applet in subprocess.check_output(["busybox", "--list"], text=True).split():
        if applet != "busybox":
            files.links[f"bin/{applet}"] = "busybox"
    files.program("/usr/bin/curl")
    python = os.path.realpath("/usr/bin/python3")
    files.program(python)
    files.links["usr/bin/python3"] = os.path.basename(python)
    library = f"/usr/lib/{os.path.basename(python)}"
    files.tree(library, library.lstrip("/"))
    for module in glob.glob(f"{library}/lib-dynload/*.so"):
        files.files.update(oci.libraries(module))
    files.tree(f"{ROOT}/tests/mcp", "srv")
    files.files["etc/ssl/certs/ca-certificates.crt"] = oci.CERTIFICATES
    files.texts["app/stand-in"] = files.texts["app/vllm"] = STAND_IN
    llama(files)
    return files


def pause(folder):
    with open(f"{folder}/pause.c", "w") as file:
        file.write(PAUSE)
    run("gcc", "-O2", "-static", "-o", f"{folder}/pause", f"{folder}/pause.c")
    files = Files()
    files.files["pause"] = f"{folder}/pause"
    return files


def full_name(name):
    """As containerd writes a reference: with a registry and a tag."""
    first = name.split("/")[0]
    name = name if "/" in name and re.search(r"[.:]|^localhost$", first) else \
        "docker.io/" + (name if "/" in name else f"library/{name}")
    return name if ":" in name.rsplit("/", 1)[-1] else f"{name}:latest"


def write(path, files, images):
    """images: {name: (entry point, user)}"""
    archive, tar = oci.Archive(), files.tar()
    blob = archive.add(tar, "application/vnd.oci.image.layer.v1.tar")
    rows = []
    for name, (words, user) in images.items():
        config = archive.add_json({
            "architecture": oci.ARCHITECTURES[platform.machine()], "os": "linux",
            "config": {"Entrypoint": words, "User": user, "WorkingDir": "/", "Env": ["PATH=/app:/usr/bin:/bin"]},
            "rootfs": {"type": "layers", "diff_ids": [blob["digest"]]}},
            "application/vnd.oci.image.config.v1+json")
        row = archive.add_json({"schemaVersion": 2, "config": config, "layers": [blob],
                                "mediaType": "application/vnd.oci.image.manifest.v1+json"},
                               "application/vnd.oci.image.manifest.v1+json")
        rows.append({**row, "annotations": {"io.containerd.image.name": full_name(name),
                                            "org.opencontainers.image.ref.name": name.rsplit(":", 1)[-1]}})
    archive.write(path, {"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": rows})
    return path


