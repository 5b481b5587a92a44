"""Locks that a killed holder does not leave behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from runtime.errors import AlreadyRunning
from runtime.instance import only_instance, running_address, running_instance
from runtime.locks import FileLock

HOLD = """
import sys, time
from pathlib import Path
from runtime.instance import only_instance
with only_instance(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(600)
"""


def test_a_lock_is_held_by_one(tmp_path: Path) -> None:
    first, second = FileLock(tmp_path / "lock"), FileLock(tmp_path / "lock")
    assert first.acquire(blocking=False)
    assert not second.acquire(blocking=False)
    assert second.holder() == os.getpid()
    assert second.held_elsewhere()
    first.release()
    assert not second.held_elsewhere()
    assert second.acquire(blocking=False)
    second.release()
    second.release()


def test_links_and_special_files_are_not_followed(tmp_path: Path) -> None:
    target = tmp_path / "precious"
    target.write_text("kept")
    (tmp_path / "symbolic").symlink_to(target)
    (tmp_path / "hard").hardlink_to(target)
    for name in ("symbolic", "hard"):
        with pytest.raises(OSError):
            FileLock(tmp_path / name).acquire()
    assert target.read_text() == "kept"


def test_asking_leaves_no_file(tmp_path: Path) -> None:
    lock = FileLock(tmp_path / "lock")
    assert not lock.held_elsewhere()
    assert lock.holder() is None
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ValueError, match="not held"):
        _ = lock.descriptor


def test_the_product_runs_once_on_a_data_directory_and_a_kill_frees_it(tmp_path: Path) -> None:
    data = tmp_path / "new" / "data"
    holder = subprocess.Popen([sys.executable, "-c", HOLD, str(data)], stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None
    try:
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(AlreadyRunning, match=str(holder.pid)) as caught, only_instance(data):
            pass
        assert caught.value.pid == holder.pid
        assert running_instance(data) == holder.pid
    finally:
        holder.send_signal(signal.SIGKILL)
        holder.wait()
        holder.stdout.close()
    assert running_instance(data) is None
    with only_instance(data):
        assert running_instance(data) == os.getpid()


def test_where_the_product_listens_is_known_while_it_runs(tmp_path: Path) -> None:
    assert running_address(tmp_path) is None
    with only_instance(tmp_path, listening=("::1", 8421)):
        assert running_address(tmp_path) == ("::1", 8421)
        assert running_instance(tmp_path) == os.getpid()
    assert running_address(tmp_path) is None
    with only_instance(tmp_path):
        assert running_address(tmp_path) is None
        assert running_instance(tmp_path) == os.getpid()


@pytest.mark.parametrize("line", ["two\nlines", "x" * 401])
def test_a_note_is_one_short_line(tmp_path: Path, line: str) -> None:
    with FileLock(tmp_path / "lock") as lock:
        with pytest.raises(ValueError, match="one short line"):
            lock.note(line)
        assert lock.holder() == os.getpid()
        assert lock.noted() == ""
