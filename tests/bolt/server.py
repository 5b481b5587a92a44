"""The Bolt server of the tests as a process: started, killed, and started again on the same port and data."""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from pathlib import Path
from typing import Final

USER: Final = "neo4j"
# Ends to waiting, not measurements.
START_SECONDS: Final = 180.0
STOP_SECONDS: Final = 60.0
JAVA: Final = (
    "java",
    "-Xms128m",
    "-Xmx512m",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-XX:-UsePerfData",
    "-Djava.awt.headless=true",
    "--add-opens=java.base/java.nio=ALL-UNNAMED",
    "--add-opens=java.base/java.io=ALL-UNNAMED",
    "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED",
    "--add-opens=java.base/java.util.concurrent=ALL-UNNAMED",
)


class BoltServer:
    """Neo4j Community on a loopback port, with data of its own that goes with it.

    Attributes:
        port: taken at the first start and kept from then on.
        password: of the user `neo4j`.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home = Path(tempfile.mkdtemp(prefix="loci-bolt-"))
        self.password = secrets.token_urlsafe(12)
        self.port = 0
        self.process: subprocess.Popen[str] | None = None

    @property
    def uri(self) -> str:
        """Give the address for a driver."""
        return f"bolt://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start the server, or start it again on the same port and data, and wait until it answers."""
        assert self.process is None, "the server is running"
        with (self.home / "errors.txt").open("a") as errors:
            self.process = subprocess.Popen(
                [*JAVA, "-cp", f"{self.folder}:{self.folder}/jars/*", "Serve", str(self.home), str(self.port)],
                env={**os.environ, "BOLT_PASSWORD": self.password},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                cwd=self.home,
            )
        impatient = threading.Timer(START_SECONDS, self.process.kill)
        impatient.start()
        assert self.process.stdout is not None
        ready = next((line for line in self.process.stdout if line.startswith("READY ")), None)
        impatient.cancel()
        if ready is None:
            self.process.kill()
            said = (self.home / "errors.txt").read_text()[-2000:]
            self._forget()
            raise RuntimeError(f"the Bolt server did not start: {said}")
        self.port = int(ready.split()[1])
        # What it says later is read so that it never waits for a reader.
        threading.Thread(target=self.process.stdout.read, daemon=True).start()

    @property
    def running(self) -> bool:
        """Tell whether the process lives."""
        return self.process is not None and self.process.poll() is None

    def kill(self) -> None:
        """End the server as a crash would, in the middle of whatever it does."""
        if self.process is not None:
            self.process.kill()
            self._forget()

    def pause(self) -> None:
        """Stop the process without ending it: connections stay open and nothing answers."""
        assert self.process is not None
        self.process.send_signal(signal.SIGSTOP)
        # A thread that has not stopped yet still answers.
        threads = Path(f"/proc/{self.process.pid}/task")
        while any(_state(thread) != "T" for thread in threads.iterdir()):
            time.sleep(0.01)

    def resume(self) -> None:
        """Let a paused process go on."""
        assert self.process is not None
        self.process.send_signal(signal.SIGCONT)

    def again(self) -> None:
        """Start a killed server again; nothing happens to one that runs."""
        if not self.running:
            self._forget()
            self.start()

    def stop(self) -> None:
        """End the server and delete its data."""
        # The data are deleted: an orderly end would only cost time.
        self.kill()
        shutil.rmtree(self.home, ignore_errors=True)

    def _forget(self) -> None:
        if self.process is None:
            return
        self.process.wait(STOP_SECONDS)
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                stream.close()
        self.process = None


def _state(thread: Path) -> str:
    """Give the letter by which the kernel tells what a thread does; behind its name, which may hold anything."""
    return (thread / "stat").read_text().rpartition(")")[2].split()[0]
