"""What a server is given when it starts."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtime.errors import ServerFault
from runtime.postgres.cluster import Cluster
from runtime.postgres.surroundings import effective_settings, server_environment


def test_the_callers_settings_win() -> None:
    settings = effective_settings({"work_mem": "4MB", "fsync": "off"})
    assert settings["work_mem"] == "4MB"
    assert settings["fsync"] == "off"
    assert settings["listen_addresses"] == ""
    assert settings["dynamic_shared_memory_type"] in {"posix", "mmap"}


def test_little_shared_memory_is_noticed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("runtime.postgres.surroundings.LEAST_SHARED_MEMORY", 1 << 62)
    monkeypatch.setattr("runtime.postgres.surroundings.SHARED_MEMORY", tmp_path)
    assert effective_settings({})["dynamic_shared_memory_type"] == "mmap"
    monkeypatch.setattr("runtime.postgres.surroundings.SHARED_MEMORY", tmp_path / "missing")
    assert effective_settings({})["dynamic_shared_memory_type"] == "posix"


@pytest.mark.parametrize(
    ("name", "value"), [("work mem", "4MB"), ("-c", "x"), ("", "x"), ("work_mem", "4MB\nfsync=off"), ("a;b", "1")]
)
def test_what_is_no_setting_is_refused(name: str, value: str) -> None:
    with pytest.raises(ServerFault):
        effective_settings({name: value})


@pytest.mark.parametrize("path", ["/srv/a$b", '/srv/a"b', "/srv/a'b", "/srv/a`b", "/srv/a,b", "/srv/a\\b", "/srv/a\nb"])
def test_a_path_that_the_server_cannot_take_is_refused(path: str) -> None:
    with pytest.raises(ServerFault, match="plainer"):
        Cluster(Path(path))


def test_the_servers_environment_holds_no_secret_and_no_other_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCI_MASTER_KEY", "planted")
    monkeypatch.setenv("PGHOST", "elsewhere")
    environment = server_environment()
    assert set(environment) <= {"PATH", "LC_ALL", "TERM", "LD_LIBRARY_PATH"} | {
        name for name in environment if name.startswith("DYLD_")
    }
