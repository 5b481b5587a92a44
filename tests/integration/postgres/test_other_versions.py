"""Every other PostgreSQL that is at hand takes the migrations, and remembers and recalls.

Looked for are the system's servers with pgvector 0.8 or newer, and the directories of programs that
LOCI_TEST_PG_BINS names, separated by colons.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from runtime.postgres.binaries import OLDEST_MAJOR, SYSTEM_ROOT, Binaries
from tests.integration.operations.conftest import make_home
from tests.integration.operations.installation import Installation, printed_key
from tests.integration.postgres.servers import OwnServer, shown_passwords

pytestmark = pytest.mark.slow

VECTOR: Final = re.compile(r"default_version = '(\d+)\.(\d+)")


def at_hand() -> list[Path]:
    named = [Path(one) for one in os.environ.get("LOCI_TEST_PG_BINS", "").split(":") if one]
    return [*named, *(one for one in sorted(SYSTEM_ROOT.glob("*/bin")) if _is_fit(one))]


def _is_fit(directory: Path) -> bool:
    major = directory.parent.name
    control = Path("/usr/share/postgresql") / major / "extension" / "vector.control"
    if not major.isdigit() or int(major) < OLDEST_MAJOR or not control.exists():
        return False
    version = VECTOR.search(control.read_text())
    return version is not None and (int(version[1]), int(version[2])) >= (0, 8)


# Something has to stand there for the test to say why it is left out.
FOUND: Final[list[Path | None]] = [*at_hand()] or [None]


@pytest.fixture(params=FOUND, ids=str)
def server(request: pytest.FixtureRequest) -> Iterator[OwnServer]:
    if request.param is None:
        pytest.skip(
            "no other PostgreSQL with pgvector 0.8 is on this machine (Debian: apt install postgresql-17-pgvector of "
            "apt.postgresql.org, or LOCI_TEST_PG_BINS with the directories of their programs)"
        )
    home = make_home()
    made = OwnServer(home, Binaries(request.param, "", "system"))
    made.start()
    yield made
    made.stop()
    shutil.rmtree(home)


@pytest.fixture
def installation() -> Iterator[Installation]:
    made = Installation(make_home())
    yield made
    made.end()
    shutil.rmtree(made.home)


def test_it_takes_the_migrations_and_remembers(server: OwnServer, installation: Installation) -> None:
    done = installation.run("db", "provision", "--passwords", environment={"LOCI_SUPERUSER_URL": server.url()})
    assert done.returncode == 0, done.stderr
    passwords = shown_passwords(done.stdout)
    for name, role in (("DATABASE_URL", "loci_app"), ("DATABASE_SCHEMA_URL", "loci_owner")):
        installation.environment[name] = server.url(role, passwords[role], database="loci")
    key = printed_key(installation.start())
    status, body = installation.ask("memories", {"text": "The kettle whistles at six."}, key=key)
    assert status == 201, body
    status, body = installation.ask("recall", {"query": "Which kettle whistles?"}, key=key)
    assert status == 200
    assert [hit["memory"]["text"] for hit in body["hits"]] == ["The kettle whistles at six."]
    assert body["degraded"] == []
    purged = installation.run("purge", "run", "--owner", "owner", "--yes", "--wait", "--json")
    assert purged.returncode == 0, purged.stderr
    failing = [name for name, status in installation.health().items() if status == "failing"]
    assert failing == []
