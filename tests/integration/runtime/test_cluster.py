"""Starting, stopping and recovering a server."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path

import psutil
import psycopg
import pytest

from runtime.errors import ServerFault
from runtime.locks import FileLock
from runtime.paths import socket_directory
from runtime.postgres.account import NOBODY
from runtime.postgres.cluster import Cluster
from runtime.postgres.keep import keep
from runtime.postgres.provision import superuser_conninfo
from tests.integration.runtime.conftest import FAST, temporary_directory
from tests.integration.runtime.waiting import wait_for

START = """
import sys
from pathlib import Path
from runtime.postgres.cluster import Cluster
print(Cluster(Path(sys.argv[1]), {"fsync": "off", "shared_buffers": "32MB"}).start().status)
"""
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


def start_elsewhere(place: Path) -> subprocess.Popen[str]:
    """Start the server from another process."""
    return subprocess.Popen([sys.executable, "-c", START, str(place)], stdout=subprocess.PIPE, text=True)


def superuser(cluster: Cluster) -> psycopg.Connection:
    return psycopg.connect(superuser_conninfo(cluster.socket_directory), autocommit=True)


def show(cluster: Cluster, setting: str) -> str:
    with superuser(cluster) as connection:
        row = connection.execute("SELECT current_setting(%s)", [setting]).fetchone()
    assert row is not None
    return str(row[0])


def server_pid(cluster: Cluster) -> int:
    pid = cluster.status().pid
    assert pid is not None
    return pid


def makes_files_in(process: psutil.Process, place: Path) -> bool:
    try:
        command = process.cmdline()
    except psutil.Error:
        return False
    return command[:1] != [] and Path(command[0]).name == "initdb" and any(str(place) in part for part in command)


def kill_server(cluster: Cluster) -> None:
    process = psutil.Process(server_pid(cluster))
    process.kill()
    wait_for(lambda: not cluster.alive(), "the server's end")


def test_a_server_is_started_once_and_attached_to_afterwards(place: Path) -> None:
    cluster = Cluster(place, FAST)
    assert not cluster.status().running
    assert list(place.iterdir()) == []
    assert cluster.start().status == "started"
    first = cluster.status()
    assert first.running
    assert cluster.start().status == "attached"
    assert Cluster(place).start().status == "attached"
    assert Cluster(place).status().pid == first.pid
    assert cluster.stop() is True
    assert cluster.stop() is False
    assert not cluster.status().running
    assert cluster.start().status == "started"


def test_four_starts_at_once_give_one_server(place: Path) -> None:
    starts = [start_elsewhere(place) for _ in range(4)]
    answers = sorted(start.communicate()[0].strip() for start in starts)
    assert answers == ["attached", "attached", "attached", "started"]
    assert Cluster(place).status().running


def test_a_killed_server_recovers_what_was_committed(place: Path) -> None:
    cluster = Cluster(place, {"shared_buffers": "32MB"})
    cluster.start()
    with superuser(cluster) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 42 AS answer")
    kill_server(cluster)
    assert not cluster.status().running
    assert cluster.start().status == "started"
    with superuser(cluster) as connection:
        assert connection.execute("SELECT answer FROM kept").fetchall() == [(42,)]


def test_a_process_number_that_another_program_got_is_no_obstacle(place: Path) -> None:
    cluster = Cluster(place, FAST)
    cluster.start()
    pid_file, socket = cluster.directory / "postmaster.pid", cluster.socket_directory
    content, lock = pid_file.read_text(), (socket / ".s.PGSQL.5432.lock").read_text()
    old = server_pid(cluster)
    kill_server(cluster)
    owner = cluster.directory.stat()
    # PostgreSQL itself refuses to start only when the other program has its own user.
    switch = {"user": owner.st_uid, "group": owner.st_gid, "extra_groups": []} if os.geteuid() == 0 else {}
    stranger = subprocess.Popen(["sleep", "600"], **switch)  # type: ignore[call-overload]
    try:
        for path, text in ((pid_file, content), (socket / ".s.PGSQL.5432.lock", lock)):
            path.write_text(text.replace(f"{old}\n", f"{stranger.pid}\n", 1))
            os.chown(path, owner.st_uid, owner.st_gid)
        assert not cluster.alive()
        assert cluster.stop() is False
        assert cluster.start().status == "started"
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()


def test_a_server_of_another_directory_is_never_touched(place: Path, server: Cluster) -> None:
    cluster = Cluster(place, FAST)
    cluster.start()
    cluster.stop()
    foreign = server_pid(server)
    (cluster.directory / "postmaster.pid").write_text(f"{foreign}\n{server.directory}\n")
    assert not cluster.alive()
    assert cluster.stop() is False
    assert cluster.start().status == "started"
    assert server.status().running
    assert server_pid(server) == foreign


def test_a_killed_initdb_leaves_nothing_half(place: Path) -> None:
    first = start_elsewhere(place)
    wait_for(lambda: any(place.glob("pg*.new-*/base")), "initdb to be under way")
    # The argument names the half-made directory, so this is no other initdb.
    (orphan,) = (process for process in psutil.process_iter() if makes_files_in(process, place))
    first.send_signal(signal.SIGKILL)
    first.communicate()
    held = FileLock(place / "start.lock").held_elsewhere()
    assert held or not orphan.is_running()
    cluster = Cluster(place, FAST)
    assert not (cluster.directory / "PG_VERSION").exists()
    assert cluster.start().status == "started"
    assert list(place.glob("*.new-*")) == []
    assert show(cluster, "data_checksums") == "on"


def test_a_start_that_was_cut_short_is_taken_up(place: Path) -> None:
    Cluster(place, FAST).start()
    kill_server(Cluster(place))
    first = start_elsewhere(place)
    wait_for(lambda: Cluster(place).alive(), "the server to come up")
    first.send_signal(signal.SIGKILL)
    first.communicate()
    assert Cluster(place).start().status == "attached"
    assert Cluster(place).status().running


def test_only_the_socket_is_open_and_only_to_its_user(server: Cluster) -> None:
    assert show(server, "listen_addresses") == ""
    directory = server.socket_directory.stat()
    assert stat.S_IMODE(directory.st_mode) == 0o700
    assert directory.st_uid == server.directory.stat().st_uid
    assert stat.S_IMODE((server.socket_directory / ".s.PGSQL.5432").stat().st_mode) == 0o700
    connections = psutil.Process(server_pid(server)).net_connections(kind="inet")
    assert connections == []


def test_settings_are_in_force(server: Cluster) -> None:
    assert show(server, "jit") == "off"
    assert show(server, "random_page_cost") == "1.1"
    assert show(server, "work_mem") == "32MB"
    assert show(server, "shared_buffers") == FAST["shared_buffers"]
    assert show(server, "timezone") == "UTC"


def test_a_setting_that_the_server_refuses_is_shown_with_its_reason(place: Path) -> None:
    with pytest.raises(ServerFault, match="shared_buffers") as caught:
        Cluster(place, {**FAST, "shared_buffers": "nonsense"}).start()
    assert "did not start" in caught.value.message
    assert Cluster(place, FAST).start().status == "started"


def test_what_somebody_said_does_not_reach_the_log(server: Cluster) -> None:
    with superuser(server) as connection:
        connection.execute("CREATE TABLE said (words text UNIQUE)")
        connection.execute("INSERT INTO said VALUES ('planted words')")
        for statement in ("INSERT INTO said VALUES ('planted words')", "SELECT 'planted words'::int"):
            with pytest.raises(psycopg.Error):
                connection.execute(statement)
    log = server.log.read_text()
    assert "duplicate key value violates unique constraint" in log
    assert "INSERT INTO" not in log
    assert "Key (words)" not in log


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_the_server_holds_no_secret_of_its_starter(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCI_MASTER_KEY", "planted-secret")
    cluster = Cluster(place, FAST)
    cluster.start()
    assert b"planted-secret" not in Path(f"/proc/{server_pid(cluster)}/environ").read_bytes()


def test_the_files_of_another_major_version_are_left_alone(place: Path) -> None:
    (place / "pg14").mkdir()
    (place / "pg14" / "PG_VERSION").write_text("14\n")
    with pytest.raises(ServerFault, match="made by PostgreSQL 14"):
        Cluster(place, FAST).start()
    assert not Cluster(place).directory.exists()


def test_files_without_a_database_are_left_alone(place: Path) -> None:
    directory = Cluster(place).directory
    directory.mkdir()
    (directory / "letters").write_text("kept")
    with pytest.raises(ServerFault, match="holds files but no database"):
        Cluster(place, FAST).start()
    assert (directory / "letters").read_text() == "kept"


def test_a_long_path_works_and_somebody_elses_socket_directory_is_refused(place: Path) -> None:
    long = place / ("d" * 90)
    if os.geteuid() == 0:
        place.chmod(0o711)
    cluster = Cluster(long, FAST)
    short = socket_directory(long)
    assert short.parent == Path("/tmp")
    short.symlink_to(place)
    try:
        with pytest.raises(ServerFault, match="not the server's own"):
            cluster.start()
    finally:
        short.unlink()
    try:
        assert cluster.start().status == "started"
        assert show(cluster, "unix_socket_directories") == str(short)
    finally:
        cluster.stop()
        shutil.rmtree(short)


def test_a_path_with_spaces_and_letters_of_all_kinds_works(place: Path) -> None:
    if os.geteuid() == 0:
        place.chmod(0o711)
    cluster = Cluster(place / "données (1) & co; ok", FAST)
    try:
        assert cluster.start().status == "started"
        assert show(cluster, "jit") == "off"
    finally:
        cluster.stop()


def test_the_keeper_starts_a_killed_server_again(place: Path) -> None:
    cluster, stop = Cluster(place, FAST), threading.Event()
    cluster.start()
    first = server_pid(cluster)
    keeper = threading.Thread(target=keep, args=(cluster, stop), kwargs={"interval": 0.05})
    keeper.start()
    try:
        psutil.Process(first).kill()
        wait_for(lambda: cluster.status().pid not in {None, first} and cluster.status().running, "the second start")
    finally:
        stop.set()
        keeper.join()
    assert cluster.status().running


@as_root
def test_as_root_the_server_is_an_unprivileged_user_with_programs_it_cannot_change(place: Path) -> None:
    cluster = Cluster(place, FAST)
    (place / "server" / "17.0-older").mkdir(parents=True)
    (place / "server" / ".part-broken").mkdir()
    cluster.start()
    process = psutil.Process(server_pid(cluster))
    nobody = pwd.getpwnam("nobody").pw_uid
    assert process.uids().effective == nobody
    assert process.uids().real == nobody
    assert [entry.name[0:3] for entry in (place / "server").iterdir()] == [cluster.binaries.version[0:3]]
    for path in (place / "server").rglob("*"):
        found = path.lstat()
        assert found.st_uid == 0
        assert stat.S_ISLNK(found.st_mode) or not found.st_mode & 0o022
    assert place.stat().st_uid == 0


@as_root
def test_as_root_the_owner_of_the_data_directory_runs_the_server(place: Path) -> None:
    entry = next(entry for entry in pwd.getpwall() if entry.pw_uid not in {0, NOBODY})
    os.chown(place, entry.pw_uid, entry.pw_gid)
    cluster = Cluster(place, FAST)
    cluster.start()
    assert psutil.Process(server_pid(cluster)).uids().effective == entry.pw_uid
    assert (place / "start.lock").stat().st_uid == entry.pw_uid


@as_root
def test_as_root_an_owner_whom_initdb_cannot_name_is_explained(place: Path) -> None:
    os.chown(place, 54321, 54321)
    with pytest.raises(ServerFault, match="no entry in the user database"):
        Cluster(place, FAST).start()


@as_root
def test_as_root_a_place_that_the_user_cannot_reach_is_explained_and_parents_stay_closed(place: Path) -> None:
    closed = place / "closed"
    closed.mkdir(mode=0o700)
    place.chmod(0o711)
    with pytest.raises(ServerFault, match="cannot reach"):
        Cluster(closed / "data", FAST).start()
    assert stat.S_IMODE(closed.stat().st_mode) == 0o700


@as_root
def test_a_user_without_permission_is_told_whose_server_it_is() -> None:
    path = temporary_directory()
    try:
        path.chmod(0o700)
        program = START.replace("import sys", "import os, sys; os.setgid(54321); os.setuid(54321)", 1)
        program = program.replace("print(", "try: print(").rstrip() + "\nexcept Exception as error: print(error)\n"
        # The modules must be read before the user changes, since they may lie where that user cannot go.
        program = "import runtime.postgres.cluster\n" + program
        answer = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=False)
        assert "belongs to another user" in answer.stdout
        assert list(path.iterdir()) == []
    finally:
        shutil.rmtree(path)
