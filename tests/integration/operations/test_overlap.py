"""An upgrade as it happens: the last release serves on while the next migrates and after, and answers no errors."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest

from runtime.postgres.provision import superuser_conninfo
from tests.integration.operations.installation import Installation
from tests.integration.operations.releases import ask, drive, last_release, next_release, run, web_process

pytestmark = pytest.mark.slow

ROUNDS = 8


@dataclass(slots=True)
class Upgrade:
    """An installation that the last release has made, with a web process of it running, and the next release beside."""

    installation: Installation
    old: str
    new_tree: Path
    key: str
    log: Path


@pytest.fixture
def upgrade(installation: Installation) -> Iterator[Upgrade]:
    """Set up with the last release and start its web process."""
    trees = installation.home / "trees"
    trees.mkdir()
    old_tree, new_tree = last_release(trees / "old"), next_release(trees / "new")
    installation.cluster.start()
    log = installation.home / "web.log"
    provisioned = run(old_tree, installation, "db", "start")
    assert provisioned.returncode == 0, provisioned.stderr
    migrated = run(old_tree, installation, "migrate", "--verbosity", "0")
    assert migrated.returncode == 0, migrated.stderr
    made = run(old_tree, installation, "owner", "create", "ada")
    assert made.returncode == 0, made.stderr
    keyed = run(old_tree, installation, "agent", "create", "walker")
    assert keyed.returncode == 0, keyed.stderr
    key = next(word for word in keyed.stdout.split() if word.startswith("loci_"))
    with web_process(old_tree, installation, log) as old:
        yield Upgrade(installation, old, new_tree, key, log)


def test_old_and_new_work_side_by_side_without_an_error(upgrade: Upgrade) -> None:
    wrong: list[str] = drive(upgrade.old, upgrade.key, "before")
    migrated = threading.Event()

    def keep_asking() -> None:
        number = 0
        while not migrated.is_set() or number < 2:
            number += 1
            wrong.extend(drive(upgrade.old, upgrade.key, f"meanwhile {number}"))

    asking = threading.Thread(target=keep_asking)
    asking.start()
    try:
        checked = run(upgrade.new_tree, upgrade.installation, "upgrade_check")
        done = run(upgrade.new_tree, upgrade.installation, "migrate", "--verbosity", "1")
    finally:
        migrated.set()
        asking.join()
    assert checked.returncode == 0, checked.stdout
    assert done.returncode == 0, done.stderr
    assert "9999_later" in done.stdout
    with web_process(upgrade.new_tree, upgrade.installation, upgrade.log) as new:
        threads = [
            threading.Thread(target=lambda at=at, name=name: wrong.extend(both(at, upgrade.key, name)))
            for at, name in ((upgrade.old, "old"), (new, "new"))
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        wrong += told_to_each_other(upgrade.old, new, upgrade.key)
    assert wrong == []
    assert "Traceback" not in upgrade.log.read_text()
    # The walk would see what breaks: here is what the check refuses, done behind its back.
    with psycopg.connect(superuser_conninfo(upgrade.installation.cluster.socket_directory, "loci")) as connection:
        connection.execute("ALTER TABLE memory_memory RENAME COLUMN importance TO weight")
    assert drive(upgrade.old, upgrade.key, "after") != []


def both(address: str, key: str, name: str) -> list[str]:
    """Drive one process for some rounds."""
    return [line for number in range(ROUNDS) for line in drive(address, key, f"{name} {number}")]


def told_to_each_other(old: str, new: str, key: str) -> list[str]:
    """See that each process finds what the other has stored."""
    wrong = []
    for writer, reader in ((old, new), (new, old)):
        status, body = ask(writer, "memories", {"text": f"A teapot stored by {writer}."}, key=key)
        if status != 201 or ask(reader, f"memories/{body['id']}", key=key)[0] != 200:
            wrong.append(f"{reader} does not find what {writer} stored")
    return wrong
