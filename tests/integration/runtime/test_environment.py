"""Making a real virtual environment, from a lock file without packages so that no network is needed."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from runtime.virtualenv import STAMP, VirtualEnvironment
from tests.integration.runtime.waiting import wait_for

PROJECT = Path(__file__).resolve().parents[3]
PROGRAM = """
import sys
from runtime import bootstrap
bootstrap.prepare(sys.argv)
print(sys.prefix, *sys.argv[1:])
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Copy what the bootstrap needs into a project of its own."""
    place = tmp_path / "project"
    (place / "requirements").mkdir(parents=True)
    shutil.copytree(PROJECT / "runtime", place / "runtime", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("run.txt", "develop.txt"):
        (place / "requirements" / name).write_text("# no packages\n")
    (place / "program.py").write_text(PROGRAM)
    return place


def environment(project: Path, **more: str) -> dict[str, str]:
    """Give an environment without uv, without a home and without this process's choices."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("LOCI_", "PYTHON", "UV_"))}
    kept.pop("HOME", None)
    empty = project.parent / "bin"
    empty.mkdir(exist_ok=True)
    return {**kept, "PATH": f"{empty}:/usr/bin:/bin", **more}


def command(project: Path, *arguments: str) -> list[str]:
    python = getattr(sys, "_base_executable", sys.executable)
    return [python, str(project / "program.py"), *arguments]


def run(project: Path, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(project, *arguments), capture_output=True, text=True, check=False, env=environment(project, **more)
    )


def test_the_first_command_makes_it_and_the_second_only_uses_it(project: Path) -> None:
    first = run(project, "up", "--quick", "a b")
    assert first.stdout.strip() == f"{project / '.venv'} up --quick a b", first.stderr
    assert "Making" in first.stderr
    again = run(project, "up", HOME="")
    assert again.stdout.strip() == f"{project / '.venv'} up"
    assert again.stderr == ""


def test_a_changed_lock_file_and_another_command_are_noticed(project: Path) -> None:
    run(project, "up")
    (project / "requirements" / "run.txt").write_text("# another\n")
    changed = run(project, "up")
    assert "requirements/run.txt" in changed.stderr
    assert "Making" not in changed.stderr
    assert run(project, "up").stderr == ""
    assert "requirements/develop.txt" in run(project, "test").stderr
    assert run(project, "test").stderr == run(project, "up").stderr == ""


def test_a_killed_preparation_is_repeated(project: Path) -> None:
    killed = subprocess.Popen(command(project, "up"), env=environment(project), stderr=subprocess.DEVNULL)
    wait_for(lambda: (project / ".venv" / "pyvenv.cfg").exists(), "the environment to be under way")
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    assert not (project / ".venv" / STAMP).exists()
    after = run(project, "up")
    assert after.stdout.strip() == f"{project / '.venv'} up", after.stderr


def test_a_broken_interpreter_is_replaced(project: Path) -> None:
    run(project, "up")
    for name in ("python", "python3"):
        (project / ".venv" / "bin" / name).unlink()
    after = run(project, "up")
    assert after.stdout.strip() == f"{project / '.venv'} up", after.stderr
    assert "making it anew" in after.stderr


def test_commands_at_once_make_it_once(project: Path) -> None:
    commands = [
        subprocess.Popen(
            command(project, "up"),
            env=environment(project),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(3)
    ]
    answers = [one.communicate() for one in commands]
    assert {out.strip() for out, _ in answers} == {f"{project / '.venv'} up"}
    assert sum("Making" in said for _, said in answers) == 1


def test_packages_without_the_right_checksum_are_refused_and_asked_for_again(project: Path) -> None:
    assert run(project, "up").returncode == 0
    lock = project / "requirements" / "run.txt"
    lock.write_text(f"six @ file://{project}/six-1.0-py3-none-any.whl --hash=sha256:{'0' * 64}\n")
    (project / "six-1.0-py3-none-any.whl").write_bytes(b"not what was locked")
    refused = run(project, "up")
    assert refused.returncode != 0
    assert "could not be installed" in refused.stderr
    assert not VirtualEnvironment(project / ".venv").installed()
    # The refused install may have changed something, so even the lock of before is installed again.
    lock.write_text("# no packages\n")
    again = run(project, "up")
    assert again.stdout.strip() == f"{project / '.venv'} up"
    assert "Installing" in again.stderr
