"""Telling the server's process from another one with its number."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from runtime.postgres.pidfile import remove_leftovers, server_process


@pytest.fixture
def stranger() -> Iterator[subprocess.Popen[bytes]]:
    """Run some other program."""
    process = subprocess.Popen(["sleep", "600"])
    yield process
    process.kill()
    process.wait()


@pytest.mark.parametrize("content", ["", "\n", "not a number\n", "-12\n", "0\n", "99999999999999\n", "\x00\x01"])
def test_a_damaged_pid_file_names_nobody(content: str, tmp_path: Path) -> None:
    (tmp_path / "postmaster.pid").write_text(content)
    assert server_process(tmp_path) is None


def test_no_pid_file_names_nobody(tmp_path: Path) -> None:
    assert server_process(tmp_path) is None


def test_another_program_with_the_number_is_not_the_server(tmp_path: Path, stranger: subprocess.Popen[bytes]) -> None:
    (tmp_path / "postmaster.pid").write_text(f"{stranger.pid}\n")
    assert server_process(tmp_path) is None


@pytest.mark.parametrize(("named", "found"), [(True, True), (False, False)])
def test_only_a_server_of_this_directory_counts(named: bool, found: bool, tmp_path: Path) -> None:
    directory = tmp_path / "mine"
    directory.mkdir()
    served = directory if named else tmp_path / "other"
    process = subprocess.Popen(["postgres", "-c", "sleep 600; :", "-D", str(served)], executable="/bin/sh")
    try:
        # The kernel lets the parent go on a moment before the new program's arguments can be read.
        while not psutil.Process(process.pid).cmdline():
            time.sleep(0.01)
        (directory / "postmaster.pid").write_text(f"{process.pid}\n/elsewhere\n")
        assert (server_process(directory) is not None) is found
    finally:
        process.kill()
        process.wait()


def test_an_ended_process_that_nobody_reaped_is_not_the_server(tmp_path: Path) -> None:
    process = subprocess.Popen(["true"])
    (tmp_path / "postmaster.pid").write_text(f"{process.pid}\n")
    try:
        assert server_process(tmp_path) is None
    finally:
        process.wait()


def test_leftovers_are_removed_and_nothing_else(tmp_path: Path) -> None:
    for name in ("postmaster.pid", ".s.PGSQL.5432", ".s.PGSQL.5432.lock", "kept"):
        (tmp_path / name).touch()
    remove_leftovers(tmp_path, tmp_path)
    remove_leftovers(tmp_path, tmp_path / "missing")
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]
