"""`containers/secrets` makes each secret once, closed to others, in forms that its readers take."""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
from pathlib import Path

import pytest

from memory.providers.vault import parse_master_key
from tests.containers import compose
from tests.environment import PROJECT


def made(folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([PROJECT / "containers" / "secrets", folder], capture_output=True, text=True, timeout=60)


def contents(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir()}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    assert made(tmp_path / "secrets").returncode == 0
    return tmp_path / "secrets"


def test_all_that_compose_wants_is_made_and_no_more(folder: Path) -> None:
    assert set(contents(folder)) == set(compose.document()["secrets"])
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o444}


def test_no_two_are_alike_and_those_that_belong_together_fit(folder: Path) -> None:
    found = contents(folder)
    random = re.findall(r"[0-9a-f]{64}", "\n".join(found.values()))
    # The superuser's password, that of Neo4j and that of Redis stand in two files each.
    assert len(random) == len(found)
    assert len(set(random)) == len(found) - 3
    assert found["superuser_url"] == f"postgresql://postgres:{found['postgres_password']}@postgres:5432/postgres"
    assert found["neo4j_auth"] == f"neo4j/{found['neo4j_password']}"
    assert found["redis_conf"] == f"requirepass {found['redis_password']}"
    assert len(parse_master_key(found["master_key"])) == 32


def test_they_are_made_once(folder: Path) -> None:
    before = contents(folder)
    again = made(folder)
    assert again.returncode == 0
    assert "made " not in again.stdout
    assert contents(folder) == before


def test_a_lost_one_is_made_anew_and_the_others_stay(folder: Path) -> None:
    before = contents(folder)
    (folder / "neo4j_auth").unlink()
    (folder / "grafana_password").unlink()
    assert made(folder).returncode == 0
    after = contents(folder)
    assert after["neo4j_auth"] == before["neo4j_auth"]
    assert {name for name in before if before[name] != after[name]} == {"grafana_password"}


def test_one_that_another_was_made_of_is_not_replaced(folder: Path) -> None:
    (folder / "postgres_password").unlink()
    refused = made(folder)
    assert refused.returncode == 1
    assert "Restore postgres_password" in refused.stderr
    assert not (folder / "postgres_password").exists()


def test_none_is_printed(tmp_path: Path) -> None:
    done = made(tmp_path / "secrets")
    assert not [value for value in contents(tmp_path / "secrets").values() if value in done.stdout + done.stderr]


@pytest.mark.skipif(shutil.which("redis-server") is None, reason="no Redis on this machine")
def test_redis_takes_its_file(folder: Path, tmp_path: Path) -> None:
    command = compose.services()["redis"]["command"]
    place = tmp_path / "redis"
    place.mkdir()
    replaced = {"/run/secrets/redis_conf": str(folder / "redis_conf"), "/data": str(place)}
    socket = place / "s"
    server = subprocess.Popen(
        [*(replaced.get(word, word) for word in command), "--port", "0", "--unixsocket", str(socket)],
        stdout=subprocess.DEVNULL,
    )
    try:
        kind, check = compose.services()["redis"]["healthcheck"]["test"]
        assert kind == "CMD-SHELL"
        script = check.replace("$$", "$").replace("/run/secrets", str(folder))
        script = script.replace("redis-cli", f"redis-cli -s {socket}")
        line = f"for i in $(seq 300); do {script} && exit 0; sleep 0.1; done; exit 1"
        assert subprocess.run(["sh", "-c", line], capture_output=True, timeout=60).returncode == 0
        without = subprocess.run(["redis-cli", "-s", str(socket), "ping"], capture_output=True, text=True, timeout=60)
        assert "NOAUTH" in without.stdout
    finally:
        server.terminate()
        server.wait()
    assert os.listdir(place)
