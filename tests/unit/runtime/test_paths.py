"""Where things live, from the environment alone."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from runtime import paths
from runtime.errors import RuntimeFault

Function = Callable[[], Path]
CHOICES = [
    (paths.data_directory, "LOCI_DATA_DIR", "/var/lib/loci"),
    (paths.config_directory, "LOCI_CONFIG_DIR", "/etc/loci"),
    (paths.keys_directory, "LOCI_KEYS_DIR", "/var/lib/loci-keys"),
    (paths.cache_directory, "LOCI_CACHE_DIR", "/var/cache/loci"),
]


@pytest.fixture(autouse=True)
def _no_choices(monkeypatch: pytest.MonkeyPatch) -> None:
    for _, variable, _ in CHOICES:
        monkeypatch.delenv(variable, raising=False)
    for variable in [name for name in os.environ if name.startswith("XDG_")]:
        monkeypatch.delenv(variable)


@pytest.mark.parametrize(("function", "variable", "system"), CHOICES)
def test_the_variable_wins(
    function: Function, variable: str, system: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(variable, str(tmp_path / "chosen"))
    assert function() == tmp_path / "chosen"


@pytest.mark.parametrize(("function", "variable", "system"), CHOICES)
def test_root_uses_the_systems_directories(
    function: Function, variable: str, system: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert function() == Path(system)


@pytest.mark.parametrize(("function", "variable", "system"), CHOICES)
def test_others_use_their_home(
    function: Function, variable: str, system: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert tmp_path in function().parents


def test_the_four_places_do_not_contain_one_another(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for uid in (0, 1000):
        monkeypatch.setattr(os, "geteuid", lambda uid=uid: uid)
        places = [function() for function, _, _ in CHOICES]
        assert not any(one in other.parents or one is not other and one == other for one in places for other in places)


def test_a_user_without_a_home_is_told_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    with pytest.raises(RuntimeFault, match="LOCI_DATA_DIR"):
        paths.data_directory()
    monkeypatch.setenv("LOCI_DATA_DIR", "/srv/loci")
    assert paths.data_directory() == Path("/srv/loci")


def test_a_short_data_directory_holds_the_socket(tmp_path: Path) -> None:
    assert paths.socket_directory(Path("/srv/loci")) == Path("/srv/loci/run")


def test_a_long_path_gets_a_short_socket_directory_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    long, other = Path("/srv") / ("d" * 100), Path("/srv") / ("e" * 100)
    first = paths.socket_directory(long)
    monkeypatch.setenv("TMPDIR", "/var/tmp")
    assert paths.socket_directory(long) == first
    assert first != paths.socket_directory(other)
    assert len(str(first)) < paths.LONGEST_SOCKET_DIRECTORY
