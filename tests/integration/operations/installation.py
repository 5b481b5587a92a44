"""A whole installation in a directory of its own, run by real processes as an operator runs it."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import psutil

from runtime.postgres.cluster import Cluster
from tests.environment import PROJECT
from tests.ports import reserved_port

# An end to waiting, not a measurement: the machine may be slow and busy.
PATIENCE = 150.0
POLL = 0.1
KEPT = ("PATH", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "TMPDIR")


class Installation:
    """One set of directories and one port; `up` can be started on it again and again."""

    def __init__(self, home: Path, *, user: int | None = None, python: str = sys.executable) -> None:
        self.home = home
        self.user = user
        self.python = python
        self.port = reserved_port()
        self.log = home / "up.log"
        self.process: subprocess.Popen[bytes] | None = None
        self.environment = {
            **{name: os.environ[name] for name in KEPT if name in os.environ},
            "HOME": str(home),
            "LOCI_DATA_DIR": str(home / "data"),
            "LOCI_CONFIG_DIR": str(home / "config"),
            "LOCI_KEYS_DIR": str(home / "keys"),
            "LOCI_CACHE_DIR": str(home / "cache"),
            "LOCI_PORT": str(self.port),
            "LOCI_NO_BOOTSTRAP": "1",
            "EMBEDDING_PROVIDER": "stub",
            "PYTHONDONTWRITEBYTECODE": "1",
        }

    @property
    def cluster(self) -> Cluster:
        return Cluster(self.home / "data")

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def run(self, *arguments: str, environment: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        """Run a command to its end."""
        return subprocess.run(
            [self.python, "manage.py", *arguments],
            cwd=PROJECT,
            env={**self.environment, **(environment or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            user=self.user,
            group=self.user,
            extra_groups=None if self.user is None else [],
        )

    def start(self, *arguments: str) -> str:
        """Start `up`, wait until it says that it is ready, and give what it has said."""
        begun = self.log.stat().st_size if self.log.exists() else 0
        with self.log.open("ab") as output:
            self.process = subprocess.Popen(
                [self.python, "manage.py", "up", *arguments],
                cwd=PROJECT,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                user=self.user,
                group=self.user,
                extra_groups=None if self.user is None else [],
            )
        process = self.process

        def said() -> str:
            with self.log.open("rb") as log:
                log.seek(begun)
                return log.read().decode()

        def ready() -> bool:
            assert process.poll() is None, said()
            return "Loci is ready at" in said()

        self.wait_for(ready, "up being ready", said)
        return said()

    def stop(self) -> int:
        """Ask `up` to stop; give its exit code."""
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(timeout=PATIENCE)
        self.process = None
        return code

    def end(self) -> None:
        """Leave nothing of this installation running, whatever the test did."""
        if self.process is not None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(timeout=PATIENCE)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        for process in self.processes():
            process.kill()
        self.cluster.stop()

    def wait_for(self, happened: Any, what: str, explain: Any = lambda: "") -> None:
        """Return as soon as it happened; fail after the patience has run out."""
        deadline = time.monotonic() + PATIENCE
        while not happened():
            assert time.monotonic() < deadline, f"waited for {what}: {explain()}"
            time.sleep(POLL)

    def processes(self, containing: str = "") -> list[psutil.Process]:
        """List this installation's own processes, found by their environment, without the database server's."""
        found = []
        mark = str(self.home / "data")
        for process in psutil.process_iter():
            try:
                ours = process.environ().get("LOCI_DATA_DIR") == mark
                if ours and containing in " ".join(process.cmdline()):
                    found.append(process)
            except psutil.Error:
                continue
        return found

    def web(self) -> psutil.Process:
        """Give the web process."""
        return next(iter(self.processes("uvicorn")))

    def ask(self, path: str, body: Any = None, *, key: str = "") -> tuple[int, Any]:
        """Send a request to the API; give status and body."""
        headers = {"Accept": "application/json"}
        if key:
            headers["Authorization"] = f"Bearer {key}"
        data = None
        if body is not None:
            headers["Content-Type"] = "application/json"
            data = json.dumps(body).encode()
        request = urllib.request.Request(f"{self.address}/api/v1/{path}", data=data, headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return answer.status, json.loads(answer.read())
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read() or b"null")

    def answers(self) -> bool:
        """Tell whether the health endpoint answers."""
        try:
            status, body = self.ask("health")
        except OSError:
            return False
        return status == 200 and body["status"] in ("ok", "degraded")

    def health(self) -> dict[str, str]:
        """Give the status of every check by its name."""
        _, body = self.ask("health")
        return {check["name"]: check["status"] for check in body["checks"]}


def printed_key(output: str) -> str:
    """Find the agent key that a first start printed."""
    found = re.search(r"Agent key\s+(loci_\S+)", output)
    assert found is not None, output
    return found[1]


def printed_password(output: str) -> str:
    """Find the password that a first start printed."""
    found = re.search(r"Password\s+(\S+)", output)
    assert found is not None, output
    return found[1]
