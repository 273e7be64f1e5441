"""Small install trees and wheels for the tests of `felloe package` and `felloe index`."""

from __future__ import annotations

import os
import pathlib
import shutil
import socket
import subprocess
import sys
import time

EPOCH = "1700000000"


def make_tree(folder: pathlib.Path, files: dict[str, str | bytes]) -> pathlib.Path:
    """Write `files` (path -> content) under `folder`."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


def make_wheel(
    felloe, folder: pathlib.Path, name: str, version: str, text: str = ""
) -> pathlib.Path:
    """Pack a one-module package with `felloe package`; `text` tells builds apart."""
    module = name.lower().replace("-", "_").replace(".", "_")
    tree = make_tree(
        folder / f"tree-{name}-{version}",
        {f"{module}/__init__.py": f"version = {version!r}\ntext = {text!r}\n"},
    )
    result = felloe(
        *("package", tree, "--name", name, "--version", version),
        *("--epoch", EPOCH, "--out", folder / "wheels", "--json"),
    )
    return pathlib.Path(result.json()["data"]["wheel"])


def tool(name: str) -> str:
    """A program of the tests' own environment, else of PATH."""
    beside = pathlib.Path(sys.executable).parent / name
    found = str(beside) if beside.exists() else shutil.which(name)
    assert found, f"{name} is needed by this test; ci/setup installs it"
    return found


def run(*argv, check=True, **options) -> subprocess.CompletedProcess:
    """Run a program; on failure show what it printed."""
    options = {"capture_output": True, "text": True, "timeout": 120, **options}
    done = subprocess.run([str(a) for a in argv], check=False, **options)
    if check:
        assert done.returncode == 0, f"{argv}\n{done.stdout}\n{done.stderr}"
    return done


class Nginx:
    """A real nginx on a free loopback port, with the configuration of docs/index.md."""

    def __init__(self, root: pathlib.Path, work: pathlib.Path, page: pathlib.Path):
        block = page.read_text().split("```nginx\n")[1].split("```")[0]
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        assert "listen 80;" in block and "root /srv/index;" in block
        block = block.replace("listen 80;", f"listen 127.0.0.1:{self.port};")
        block = block.replace("root /srv/index;", f"root {root};")
        self.log = work / "access.log"
        self.url = f"http://127.0.0.1:{self.port}/simple/"
        work.mkdir(parents=True, exist_ok=True)
        kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        temp = "\n".join(f"{kind}_temp_path {work}/{kind};" for kind in kinds)
        config = work / "nginx.conf"
        user = "user root;" if os.geteuid() == 0 else ""
        config.write_text(
            f"daemon off; master_process off; pid {work}/pid; {user}\n"
            f"error_log {work}/error.log;\nevents {{ }}\n"
            f"http {{\n{temp}\naccess_log {self.log};\n{block}\n}}\n"
        )
        program = shutil.which("nginx") or "/usr/sbin/nginx"
        self.process = subprocess.Popen(
            [program, "-c", str(config), "-e", str(work / "error.log")],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        for _ in range(100):
            if self.process.poll() is not None:
                raise AssertionError(self.process.stderr.read().decode())
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
                return
            except OSError:
                time.sleep(0.05)
        raise AssertionError("nginx does not answer")

    def requests(self) -> str:
        """The access log so far."""
        return self.log.read_text()

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(timeout=10)
