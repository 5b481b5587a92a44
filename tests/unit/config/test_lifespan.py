"""The end of the web process, as a real server goes through it."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

APPLICATION = """
import sys
from pathlib import Path
from config.lifespan import Lifespan
lifespan = Lifespan(at_end=lambda: Path(__file__).with_name("ended").write_text("ended"))
async def application(scope, receive, send):
    if scope["type"] == "lifespan":
        return await lifespan(scope, receive, send)
    await send({"type": "http.response.start", "status": 204, "headers": []})
    await send({"type": "http.response.body", "body": b""})
"""


def test_the_function_runs_once_when_the_server_is_told_to_stop(tmp_path: Path) -> None:
    """By a signal, which ends the process without Python's own exit."""
    (tmp_path / "ending.py").write_text(APPLICATION)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "uvicorn", "ending:application", "--port", str(port), "--lifespan", "on"]
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}:{Path(__file__).resolve().parents[3]}"}
    with subprocess.Popen([*command, "--log-level", "warning"], env=environment) as process:
        for _ in range(300):
            with socket.socket() as trial:
                if trial.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        assert not (tmp_path / "ended").exists()
        process.send_signal(signal.SIGTERM)
        process.wait(20)
    assert (tmp_path / "ended").read_text() == "ended"
