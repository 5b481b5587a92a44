"""What `manage.py` decides before anything is installed."""

from __future__ import annotations

import ast
import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from runtime import bootstrap
from runtime.errors import EnvironmentFault
from runtime.virtualenv import STAMP, VirtualEnvironment, checksum

PROJECT = Path(__file__).resolve().parents[3]
VERSION = f"{sys.version_info[0]}.{sys.version_info[1]}"


def stamped(path: Path, locks: dict[str, str], version: str = VERSION) -> VirtualEnvironment:
    """Make a directory that looks like a complete environment of a version."""
    (path / "bin").mkdir(parents=True)
    (path / "bin" / "python").symlink_to(sys.executable)
    (path / STAMP).write_text(f'{{"python": "{version}", "locks": {str(locks).replace(chr(39), chr(34))}}}')
    return VirtualEnvironment(path)


@pytest.fixture
def lock(tmp_path: Path) -> Path:
    """Give a lock file."""
    path = tmp_path / "run.txt"
    path.write_text("one==1\n")
    return path


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["manage.py"], ""),
        (["manage.py", "up"], "up"),
        (["manage.py", "test", "tests/unit", "-q"], "test"),
        (["manage.py", "--traceback", "db", "start"], "db"),
    ],
)
def test_the_command_of_a_command_line(arguments: list[str], expected: str) -> None:
    assert bootstrap.command(arguments) == expected


def test_only_developers_commands_install_the_developers_packages(tmp_path: Path) -> None:
    bare = VirtualEnvironment(tmp_path / "none")
    assert bootstrap.wanted_locks("up", bare) == ["run.txt"]
    assert bootstrap.wanted_locks("test", bare) == ["run.txt", "develop.txt"]
    developed = stamped(tmp_path / "developed", {"develop.txt": "x"})
    assert bootstrap.wanted_locks("up", developed) == ["run.txt", "develop.txt"]


def test_a_complete_environment_is_left_alone(tmp_path: Path, lock: Path) -> None:
    assert stamped(tmp_path / "venv", {"run.txt": checksum(lock)}).is_complete([lock])


def test_a_changed_lock_file_asks_for_another_install(tmp_path: Path, lock: Path) -> None:
    environment = stamped(tmp_path / "venv", {"run.txt": checksum(lock)})
    lock.write_text("one==2\n")
    assert not environment.is_complete([lock])


def test_one_of_two_lock_files_is_not_enough(tmp_path: Path, lock: Path) -> None:
    other = tmp_path / "develop.txt"
    other.write_text("two==2\n")
    assert not stamped(tmp_path / "venv", {"run.txt": checksum(lock)}).is_complete([lock, other])


def test_another_pythons_packages_do_not_count(tmp_path: Path, lock: Path) -> None:
    assert not stamped(tmp_path / "venv", {"run.txt": checksum(lock)}, version="3.1").is_complete([lock])


def test_a_broken_interpreter_does_not_count(tmp_path: Path, lock: Path) -> None:
    environment = stamped(tmp_path / "venv", {"run.txt": checksum(lock)})
    environment.python.unlink()
    assert not environment.is_complete([lock])
    environment.python.symlink_to("/nonexistent/python")
    assert not environment.is_complete([lock])
    environment.python.unlink()
    environment.python.write_text("#!/bin/sh\nexit 1\n")
    environment.python.chmod(0o755)
    assert not environment.is_complete([lock])


@pytest.mark.parametrize("content", ["", "{", "[]", '{"locks": 3}', "\x00"])
def test_a_damaged_stamp_counts_as_unfinished(content: str, tmp_path: Path, lock: Path) -> None:
    environment = stamped(tmp_path / "venv", {})
    (environment.path / STAMP).write_text(content)
    assert environment.installed() == {}
    assert not environment.is_complete([lock])


@pytest.mark.parametrize("missing", ["venv", "ensurepip"])
def test_a_python_without_venv_is_told_what_to_install(
    missing: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, lock: Path
) -> None:
    real = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == missing else real(name))
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(EnvironmentFault, match=r"apt install python3-venv.*uv"):
        VirtualEnvironment(tmp_path / "venv").build([lock], holding=0)
    assert not (tmp_path / "venv").exists()


def test_something_else_in_its_place_is_not_removed(tmp_path: Path, lock: Path) -> None:
    place = tmp_path / "venv"
    place.mkdir()
    (place / "letters.txt").write_text("kept")
    with pytest.raises(EnvironmentFault, match="not a virtual environment"):
        VirtualEnvironment(place).build([lock], holding=0)
    assert (place / "letters.txt").read_text() == "kept"


def test_a_place_that_cannot_be_is_explained(tmp_path: Path, lock: Path) -> None:
    with pytest.raises(EnvironmentFault, match="not a directory"):
        VirtualEnvironment(tmp_path / "no" / "venv").build([lock], holding=0)


@pytest.mark.parametrize("there", [True, False])
def test_a_place_that_cannot_be_written_is_explained(
    there: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, lock: Path
) -> None:
    place = tmp_path / "venv"
    if there:
        place.mkdir()
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(EnvironmentFault, match="LOCI_VENV"):
        VirtualEnvironment(place).build([lock], holding=0)


def test_nothing_is_touched_when_told_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("LOCI_NO_BOOTSTRAP", "1")
    monkeypatch.setenv("LOCI_VENV", str(tmp_path / "venv"))
    bootstrap.prepare(["manage.py", "up"])
    assert not (tmp_path / "venv").exists()


def test_told_so_without_packages_it_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCI_NO_BOOTSTRAP", "1")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(EnvironmentFault, match="LOCI_NO_BOOTSTRAP"):
        bootstrap.prepare(["manage.py", "up"])


def test_an_environment_that_starts_another_python_does_not_go_round_for_ever(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    locks = {name: checksum(PROJECT / "requirements" / name) for name in ("run.txt", "develop.txt")}
    environment = stamped(tmp_path / "venv", locks)
    monkeypatch.delenv("LOCI_NO_BOOTSTRAP", raising=False)
    monkeypatch.setenv("LOCI_VENV", str(environment.path))
    monkeypatch.setenv("LOCI_BOOTSTRAPPED", str(environment.path))
    with pytest.raises(EnvironmentFault, match="does not start its own Python"):
        bootstrap.prepare(["manage.py", "up"])


def test_an_empty_home_counts_as_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCI_NO_BOOTSTRAP", "1")
    monkeypatch.setenv("HOME", "")
    bootstrap.prepare(["manage.py", "up"])
    assert "HOME" not in os.environ


def test_before_the_packages_are_there_only_the_standard_library_is_imported() -> None:
    program = "import sys; sys.path.insert(0, '.'); import runtime.bootstrap; print(*sys.modules)"
    # -S leaves site-packages out, so any import from there fails.
    answer = subprocess.run(
        [sys.executable, "-I", "-S", "-c", program], capture_output=True, text=True, check=True, cwd=PROJECT
    )
    ours = {name for name in answer.stdout.split() if name.split(".")[0] not in sys.stdlib_module_names}
    assert {name for name in ours if not name.startswith(("runtime", "__"))} <= {"_virtualenv"}


def test_manage_py_can_be_read_by_old_pythons() -> None:
    ast.parse((PROJECT / "manage.py").read_text(), feature_version=(3, 0))
