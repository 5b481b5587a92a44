"""`up` as an operator meets it: real processes, real signals, one machine."""

from __future__ import annotations

import json
import os
import pwd
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.environment import PROJECT
from tests.integration.operations.conftest import make_home
from tests.integration.operations.installation import Installation, printed_key, printed_password
from tests.ports import reserved_port

pytestmark = pytest.mark.slow

TEXT = "Ada keeps the lighthouse key under the blue stone."
QUESTION = {"query": "Where is the lighthouse key?"}


def remember(installation: Installation, key: str, text: str = TEXT) -> None:
    status, body = installation.ask("memories", {"text": text}, key=key)
    assert status == 201, body


def recalled(installation: Installation, key: str) -> list[str]:
    status, body = installation.ask("recall", QUESTION, key=key)
    assert status == 200, body
    return [hit["memory"]["text"] if "memory" in hit else hit["text"] for hit in body["hits"]]


def test_a_first_start_serves_and_a_second_one_keeps_everything(installation: Installation) -> None:
    first = installation.start()
    key = printed_key(first)
    assert printed_password(first)
    assert str(installation.home / "config" / "master.key") in first
    remember(installation, key)
    assert TEXT in recalled(installation, key)
    assert installation.stop() == 0
    assert installation.processes() == []
    assert not installation.cluster.status().running

    second = installation.start()
    assert "Password" not in second.replace("owner password", "")
    assert "loci_" not in second
    assert "agent key NAME" in second
    assert TEXT in recalled(installation, key)
    assert installation.stop() == 0


def test_what_is_killed_comes_back(installation: Installation) -> None:
    key = printed_key(installation.start())
    remember(installation, key)

    web = installation.web()
    web.kill()
    installation.wait_for(lambda: not web.is_running() or web.status() == psutil.STATUS_ZOMBIE, "the web process's end")
    installation.wait_for(installation.answers, "the web process")
    assert TEXT in recalled(installation, key)

    installation.wait_for(lambda: installation.health()["worker"] == "ok", "the worker's first sign of life")
    workers = installation.processes("manage.py worker")
    leader = min(workers, key=lambda process: process.create_time())
    leader.kill()
    installation.wait_for(
        lambda: any(process.pid != leader.pid for process in installation.processes("manage.py worker")), "a worker"
    )

    server = installation.cluster.status().pid
    assert server is not None
    os.kill(server, signal.SIGKILL)
    installation.wait_for(lambda: installation.cluster.status().pid not in (None, server), "another database server")
    installation.wait_for(installation.answers, "the database")
    assert TEXT in recalled(installation, key)
    assert installation.stop() == 0
    assert not installation.cluster.status().running


def test_a_killed_up_leaves_nothing_that_hinders_the_next(installation: Installation) -> None:
    key = printed_key(installation.start())
    remember(installation, key)
    assert installation.process is not None
    installation.process.kill()
    installation.process.wait()
    installation.wait_for(lambda: not installation.processes(), "the end of all processes")

    installation.start()
    assert TEXT in recalled(installation, key)
    assert installation.stop() == 0
    # The server that the killed one had started is not left over.
    assert not installation.cluster.status().running


def test_the_conversation_of_the_readme_works(running: Installation) -> None:
    if shutil.which("curl") is None or shutil.which("bash") is None:
        pytest.skip("the conversation is written for curl and a shell")
    readme = (PROJECT / "README.md").read_text(encoding="utf-8")
    block = next(found for found in re.findall(r"```\n(.*?)```", readme, re.DOTALL) if "curl" in found)
    script = re.sub(r"export KEY=\S+", f"export KEY={printed_key(running.log.read_text())}", block)
    script = re.sub(r"export API=\S+", f"export API={running.address}/api/v1", script)
    done = subprocess.run(["bash", "-euc", script], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    remembered, asked, context = _documents(done.stdout)
    assert remembered["id"] == asked["hits"][0]["memory"]["id"]
    assert "tea" in context["text"]


def _documents(text: str) -> list[Any]:
    """Read JSON documents that stand one after the other."""
    decoder, place, found = json.JSONDecoder(), 0, []
    while place < len(text):
        document, place = decoder.raw_decode(text, place)
        found.append(document)
    return found


def test_a_second_up_says_that_one_is_running(running: Installation) -> None:
    assert running.process is not None
    refused = running.run("up")
    assert refused.returncode == 1
    assert f"process {running.process.pid}" in refused.stderr
    assert running.answers()


def test_a_taken_port_is_told_before_anything_else(installation: Installation) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        refused = installation.run("up", "--port", str(port))
    assert refused.returncode == 1
    assert f"Port {port}" in refused.stderr
    assert "in use" in refused.stderr
    assert not (installation.home / "data").exists()


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("LOCI_PORT", "abc", "LOCI_PORT cannot be used: not a whole number."),
        ("LOCI_PORT", "0", "LOCI_PORT cannot be used: not between 1 and 65535."),
        ("LOCI_DATA_DIR", "~nobody-of-this-name/x", "LOCI_DATA_DIR cannot be used"),
        ("LOCI_CONFIG_DIR", str(PROJECT / "manage.py"), "configuration directory cannot be used"),
    ],
)
def test_a_setting_that_cannot_be_used_is_named(installation: Installation, name: str, value: str, said: str) -> None:
    refused = installation.run("up", environment={name: value})
    assert refused.returncode == 1
    assert said in refused.stderr
    assert len(refused.stderr.splitlines()) == 1
    assert not (installation.home / "data").exists()


def test_it_stops_a_database_that_somebody_else_started(installation: Installation) -> None:
    assert installation.run("db", "start").returncode == 0
    other = reserved_port()
    installation.start("--no-worker", "--port", str(other))
    # Started with another port than the settings say, and still found.
    checks = {check["name"]: check for check in json.loads(installation.run("doctor", "--json").stdout)["checks"]}
    # It answers, and says of itself that no worker runs.
    assert checks["server"]["status"] == "degraded", checks["server"]
    assert f":{other}" in checks["server"]["detail"]
    assert installation.stop() == 0
    assert not installation.cluster.status().running


def test_an_address_of_another_machine_is_refused(installation: Installation) -> None:
    refused = installation.run("up", "--host", "192.0.2.1")
    assert refused.returncode == 1
    assert "cannot listen on 192.0.2.1" in refused.stderr


def test_a_stop_before_it_is_ready_leaves_nothing(installation: Installation) -> None:
    with installation.log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "manage.py", "up"],
            cwd=PROJECT,
            env=installation.environment,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    # The database files are the first thing that takes a while.
    installation.wait_for((installation.home / "data").exists, "the beginning")
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=120) == 0
    assert not installation.cluster.status().running
    assert installation.processes() == []


class TestKeys:
    """A start is refused rather than ciphertext shown or new keys made for old data."""

    @pytest.fixture(scope="class")
    def stopped(self) -> Iterator[Installation]:
        made = Installation(make_home())
        made.start("--no-worker")
        assert made.stop() == 0
        yield made
        made.end()
        shutil.rmtree(made.home)

    def test_a_wrong_master_key(self, stopped: Installation) -> None:
        refused = stopped.run("up", environment={"LOCI_MASTER_KEY": "0" * 64})
        assert refused.returncode == 1
        assert "The master key is not the one that this key vault was made with" in refused.stderr
        assert not stopped.cluster.status().running

    def test_a_missing_master_key(self, stopped: Installation) -> None:
        path = stopped.home / "config" / "master.key"
        kept = path.read_bytes()
        path.unlink()
        try:
            refused = stopped.run("up")
            assert not path.exists()
        finally:
            path.write_bytes(kept)
            path.chmod(0o600)
        assert refused.returncode == 1
        assert "The master key is missing" in refused.stderr

    def test_a_missing_vault(self, stopped: Installation) -> None:
        vault, aside = stopped.home / "keys", stopped.home / "aside"
        vault.rename(aside)
        try:
            refused = stopped.run("up")
            assert not vault.exists()
            assert not stopped.cluster.status().running
            assert stopped.run("db", "start").returncode == 0
            doctor = stopped.run("doctor", "--json")
            assert not vault.exists()
        finally:
            shutil.rmtree(vault, ignore_errors=True)
            aside.rename(vault)
            stopped.run("db", "stop")
        assert refused.returncode == 1
        assert "their key vault is gone" in refused.stderr
        keys = next(check for check in json.loads(doctor.stdout)["checks"] if check["name"] == "keys")
        assert keys["status"] == "failing"
        assert keys["remedy"].startswith("Restore the vault")

    def test_a_vault_of_others(self, stopped: Installation) -> None:
        owners, aside = stopped.home / "keys" / "owners", stopped.home / "aside"
        owners.rename(aside)
        try:
            refused = stopped.run("up")
        finally:
            shutil.rmtree(owners, ignore_errors=True)
            aside.rename(owners)
        assert refused.returncode == 1
        assert "no keys for 1 owner " in refused.stderr
        assert not stopped.cluster.status().running

    def test_a_master_key_inside_the_data_is_warned_of(self, stopped: Installation) -> None:
        inside = stopped.home / "data" / "master.key"
        shutil.copy(stopped.home / "config" / "master.key", inside)
        stopped.environment["LOCI_MASTER_KEY_FILE"] = str(inside)
        try:
            said = stopped.start("--no-worker")
            assert stopped.stop() == 0
        finally:
            del stopped.environment["LOCI_MASTER_KEY_FILE"]
            inside.unlink()
        assert "lies inside the data directory" in said


def test_another_user_than_root_can_run_it() -> None:
    if os.geteuid() != 0:
        pytest.skip("the tests themselves run as a normal user")
    nobody = pwd.getpwnam("nobody").pw_uid
    probe = [sys.executable, "-c", "import django"]
    try:
        readable = subprocess.run(probe, cwd=PROJECT, user=nobody, group=nobody, extra_groups=[], capture_output=True)
    except PermissionError:
        pytest.skip("another user may not run this Python")
    if readable.returncode != 0:
        pytest.skip("another user may not read this environment")
    home = make_home()
    os.chown(home, nobody, nobody)
    made = Installation(home, user=nobody)
    try:
        key = printed_key(made.start())
        remember(made, key)
        assert made.stop() == 0
        assert "Loci is ready" in made.start()
        assert TEXT in recalled(made, key)
        assert made.stop() == 0
    finally:
        made.end()
        shutil.rmtree(home)


def test_files_of_secrets_are_closed_to_others(running: Installation) -> None:
    for directory in ("config", "keys"):
        for path in Path(running.home / directory).rglob("*"):
            assert not path.stat().st_mode & 0o077, path
