"""What a thief finds in the database's own files, tables and write-ahead log, with every key that is left in hand.

An erased text stands there for a while, in dead rows and in the log. It opens until the text key that sealed it has
been destroyed, and no longer. Values are decrypted without checking where they belong, as a thief would do it.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from uuid import UUID

import psycopg
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CTR
from django.db import connection

from memory.crypto.derivation import text_key
from memory.crypto.keyring import keyring
from memory.crypto.sealing import NONCE_BYTES, TAG_BYTES
from memory.models import Agent, DueWork, Memory, owner_scope
from memory.services.actors import Actor
from memory.services.changes import change_memory
from memory.services.clock import now
from memory.services.drafts import Draft
from memory.services.due_work import JOBS
from memory.services.keys import rotation
from memory.services.keys.rotation import seal_now
from memory.services.purge.requests import begin_purge
from memory.services.purge.runner import run_purge
from memory.services.remember import remember
from memory.services.retirement import delete_memory
from runtime.postgres.cluster import Cluster
from tests.integration.graph.conftest import entity

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "schema"])

SEALED = re.compile(rb"enc:v([1-9][0-9]{0,8}):([A-Za-z0-9+/]{36,}={0,2})")
MARK = "quetzal"
ERASED, KEPT, FOREIGN = f"{MARK}erased", f"{MARK}kept", f"{MARK}foreign"


@pytest.fixture(autouse=True)
def _settles_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a rotation end in this process, which knows of the new version at once; others are given a minute."""
    monkeypatch.setattr(rotation, "SETTLING", timedelta(0))


@dataclass(frozen=True, slots=True)
class Files:
    """The files of this test's database, and of the log since the test began."""

    cluster: Cluster
    first_segment: str

    def contents(self) -> Iterator[bytes]:
        """Read everything, after a checkpoint."""
        with psycopg.connect(
            f"host={self.cluster.socket_directory} user=postgres dbname=postgres", autocommit=True
        ) as one:
            one.execute("CHECKPOINT")
        with connection.cursor() as cursor:
            cursor.execute("SELECT oid FROM pg_database WHERE datname = current_database()")
            oid = cursor.fetchone()[0]
        data = Path(self.cluster.directory)
        found = [*(data / "base" / str(oid)).iterdir(), *(data / "global").iterdir()]
        found += [one for one in (data / "pg_wal").iterdir() if one.is_file() and one.name >= self.first_segment]
        assert len(found) > 100
        for path in found:
            if path.is_file():
                yield path.read_bytes()

    def opened(self, *owners: Actor) -> str:
        """Decrypt every sealed value in the files with every key that the vault still has of some owners.

        Of what comes out, what bears a mark is given: with a key that is not its own a value gives noise.
        """
        keys = list(keys_left(owners))
        values = {match.groups() for content in self.contents() for match in SEALED.finditer(content)}
        opened = (decrypted(body, key) for _, body in values for key in keys)
        return "\n".join(plain for plain in opened if MARK in plain)


def keys_left(owners: tuple[Actor, ...]) -> Iterator[bytes]:
    """Derive every text key of some owners and their agents, of all versions that the vault has."""
    # The vault is shared by all tests of this machine, and other owners' keys open none of these values.
    for owner_id in keyring().vault.owners() & {owner.owner_id for owner in owners}:
        keys = keyring().vault.load(owner_id)
        with owner_scope(owner_id):
            agents: list[UUID | None] = [None, *Agent.objects.values_list("pk", flat=True)]
        for version, seed in keys.text_seeds.items():
            for agent_id in agents:
                yield text_key(keys.root, seed, version=version, agent_id=agent_id)


def decrypted(body: bytes, key: bytes) -> str:
    """Decrypt a value without its tag, whatever place it belongs to; empty where no text comes out."""
    whole = body.rstrip(b"=")[: len(body.rstrip(b"=")) // 4 * 4]
    raw = base64.b64decode(whole)
    cipher = Cipher(AES(key), CTR(raw[:NONCE_BYTES] + b"\0\0\0\2")).decryptor()
    return cipher.update(raw[NONCE_BYTES:]).decode("utf-8", "ignore") if len(raw) > NONCE_BYTES + TAG_BYTES else ""


@pytest.fixture
def files(cluster: Cluster, db: None) -> Files:
    """Give the files as they are from now on."""
    with psycopg.connect(f"host={cluster.socket_directory} user=postgres dbname=postgres") as one:
        row = one.execute("SELECT pg_walfile_name(pg_current_wal_lsn())").fetchone()
    assert row is not None
    return Files(cluster, str(row[0]))


def stored(owner: Actor, agent: Actor, mark: str) -> list[UUID]:
    """Store a mark for everybody and for an agent alone, in a text, tags, a source, a history and the graph."""
    draft = Draft(text=f"First {mark}.", tags=[f"{mark}tag"], source=f"user:{mark}source")
    shared = remember(actor=owner, draft=draft).memory_id
    change_memory(actor=owner, memory_id=shared, changes={"text": f"Second {mark}changed."})
    entity(owner, f"{mark}entity", memory_id=shared)
    return [shared, remember(actor=agent, draft=Draft(text=f"My own {mark}."), scope="agent").memory_id]


def erase(owner: Actor, ids: list[UUID]) -> None:
    """Erase memories as a person does, past the moment until which it can be undone."""
    for memory_id in ids:
        delete_memory(actor=owner, memory_id=memory_id)
    count, _ = JOBS[DueWork.ERASE](owner_id=owner.owner_id, at=now() + timedelta(minutes=1))
    assert count == len(ids)
    with owner_scope(owner.owner_id):
        assert not Memory.objects.filter(pk__in=ids).exists()


def test_an_erased_text_opens_no_more_after_the_next_rotation(
    alice: Actor, make_agent: Callable[..., tuple[Actor, str]], files: Files
) -> None:
    agent, _ = make_agent(alice)
    erased, _ = stored(alice, agent, ERASED), stored(alice, agent, KEPT)
    erase(alice, erased)

    before = files.opened(alice)
    for mark in (
        f"First {ERASED}.",
        f"Second {ERASED}changed.",
        f"My own {ERASED}.",
        f"{ERASED}tag",
        f"{ERASED}entity",
    ):
        assert mark in before, "or the search would be blind"

    seal_now(owner_id=alice.owner_id)
    after = files.opened(alice)
    assert ERASED not in after
    for mark in (f"First {KEPT}.", f"Second {KEPT}changed.", f"My own {KEPT}.", f"{KEPT}entity"):
        assert mark in after


def test_nothing_of_a_purged_owner_opens_with_any_key_that_is_left(
    alice: Actor, mallory: Actor, make_agent: Callable[..., tuple[Actor, str]], files: Files
) -> None:
    stored(alice, make_agent(alice)[0], ERASED)
    stored(mallory, make_agent(mallory, "other")[0], FOREIGN)
    assert {mark for mark in (ERASED, FOREIGN) if mark not in files.opened(alice, mallory)} == set()

    run_purge(purge_id=begin_purge(actor=alice).purge.pk)
    assert alice.owner_id not in keyring().vault.owners()
    after = files.opened(alice, mallory)
    assert ERASED not in after
    assert f"First {FOREIGN}." in after
    assert f"My own {FOREIGN}." in after
