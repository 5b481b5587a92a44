"""What a snapshot brings back, to whom, and what it leaves as it has become since."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection

from memory.crypto.keyring import keyring
from memory.errors import KeysUnavailable, LociError
from memory.models import AuditEvent, Entity, Memory, Status, owner_scope
from memory.services.actors import Actor, Permission, person
from memory.services.archive import snapshot_format
from memory.services.archive.outcome import ArchiveImported
from memory.services.archive.snapshot import restore_snapshot, snapshot_stream
from memory.services.clock import now
from memory.services.drafts import Draft
from memory.services.erasing import erase_memories
from memory.services.graph.turn import take_turn
from memory.services.remember import remember
from memory.services.retirement import archive_memory
from tests.integration.archive.archives import archive_of
from tests.integration.archive.test_round_trip import named
from tests.integration.archive.worlds import world

pytestmark = pytest.mark.django_db(transaction=True)

MakeAgent = Callable[..., tuple[Actor, str]]
WORDS = "seven quiet herons"


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stretch passphrases with the least effort that is taken."""
    monkeypatch.setattr(snapshot_format, "LOG_N", snapshot_format.LEAST_LOG_N)


def snapshot(actor: Actor, passphrase: str | None = None) -> bytes:
    """Take a snapshot."""
    return b"".join(snapshot_stream(actor=actor, passphrase=passphrase))


def restored(actor: Actor, data: bytes, **options: Any) -> ArchiveImported:
    """Restore a snapshot."""
    return restore_snapshot(actor=actor, file=io.BytesIO(data), **options)


def texts(actor: Actor, status: str = Status.LIVE) -> set[str]:
    """Give what an owner's memories of a status say."""
    with owner_scope(actor.owner_id):
        return {row.text for row in Memory.objects.filter(status=status)}


def erase(actor: Actor, text: str) -> None:
    """Erase a memory for good."""
    with owner_scope(actor.owner_id):
        take_turn(at=now())
        gone = [row.pk for row in Memory.objects.all() if row.text == text]
        erase_memories(gone, at=now(), actor="person")


def refusal(actor: Actor, data: bytes, **options: Any) -> str:
    """Restore a snapshot and give the code with which it is refused."""
    with pytest.raises(LociError) as refused:
        restored(actor, data, **options)
    return refused.value.machine_code


def test_it_is_sealed_and_audited(alice: Actor) -> None:
    remember(actor=alice, draft=Draft(text="A plain word."))
    data = snapshot(alice)
    assert len(data) % snapshot_format.STEP == 0
    assert b"plain" not in data
    assert b"memories.jsonl" not in data
    with owner_scope(alice.owner_id):
        assert AuditEvent.objects.filter(verb="snapshot", actor="person").count() == 1


def test_what_was_erased_since_stays_so_unless_asked_for(alice: Actor) -> None:
    for text in ("Stays.", "Is archived.", "Is erased."):
        remember(actor=alice, draft=Draft(text=text))
    data = snapshot(alice)
    archive_memory(actor=alice, memory_id=remember(actor=alice, draft=Draft(text="Is archived.")).memory_id)
    erase(alice, "Is erased.")
    remember(actor=alice, draft=Draft(text="Came later."))
    result = restored(alice, data)
    assert result.memories == {"created": 0, "existing": 2, "restored": 0, "erased_since": 1, "erasing": 0}
    assert texts(alice) == {"Stays.", "Came later."}
    result = restored(alice, data, mode="all")
    assert result.memories == {"created": 1, "existing": 1, "restored": 1, "erased_since": 0, "erasing": 0}
    assert texts(alice) == {"Stays.", "Came later.", "Is archived.", "Is erased."}
    again = restored(alice, data, mode="all")
    assert again.memories["existing"] == 3


def test_a_database_that_has_lost_something_gets_it_back(alice: Actor, make_agent: MakeAgent) -> None:
    """As after a restore of an older backup: the database does not know that the snapshot was taken."""
    world(alice, make_agent(alice)[0])
    before = named(archive_of(alice))
    data = snapshot(alice)
    erase(alice, "Ann lives in Paris.")
    erase(alice, "An archived note.")
    forget_the_audit()
    result = restored(alice, data)
    assert result.errors == []
    assert result.memories["created"] >= 2
    after = named(archive_of(alice))
    for part in ("memories", "sources", "versions", "edges", "skills"):
        assert after[part] == before[part], part


def forget_the_audit() -> None:
    """Empty the audit, as it stands in a backup from before it began; only the tests' role may do that."""
    with connection.cursor() as cursor:
        cursor.execute("TRUNCATE memory_auditevent")


def test_the_graph_stays_as_it_has_become(alice: Actor, make_agent: MakeAgent) -> None:
    world(alice, make_agent(alice)[0])
    data = snapshot(alice)
    with owner_scope(alice.owner_id):
        Entity.objects.filter(type="person").delete()
        left = Entity.objects.count()
    assert restored(alice, data).graph == {}
    with owner_scope(alice.owner_id):
        assert Entity.objects.count() == left
    assert restored(alice, data, mode="all").graph["entities"]["created"] > 0


def test_with_a_passphrase_another_owner_takes_it_over(alice: Actor, mallory: Actor, make_agent: MakeAgent) -> None:
    world(alice, make_agent(alice)[0])
    data = snapshot(alice, WORDS)
    assert refusal(mallory, data) == "passphrase.required"
    assert refusal(mallory, data, passphrase="another passphrase") == "snapshot.passphrase"
    assert restored(mallory, data, passphrase=WORDS).errors == []
    assert named(archive_of(mallory)) == named(archive_of(alice))


def test_without_one_only_its_owner_opens_it(alice: Actor, mallory: Actor) -> None:
    remember(actor=alice, draft=Draft(text="Mine."))
    data = snapshot(alice)
    assert refusal(mallory, data) == "snapshot.key"
    assert texts(mallory) == set()


def test_destroyed_keys_take_their_snapshots_with_them(alice: Actor, make_owner: Callable[..., Actor]) -> None:
    remember(actor=alice, draft=Draft(text="Mine."))
    sealed, portable = snapshot(alice), snapshot(alice, WORDS)
    keyring().destroy(alice.owner_id)
    with pytest.raises(KeysUnavailable):
        restored(person(alice.owner_id), sealed)
    bob = make_owner("bob")
    assert refusal(bob, sealed) == "snapshot.key"
    restored(bob, portable, passphrase=WORDS)
    assert texts(bob) == {"Mine."}


@pytest.mark.parametrize("place", [100, -40, -1])
def test_a_changed_one_stores_nothing(alice: Actor, place: int) -> None:
    remember(actor=alice, draft=Draft(text="Mine."))
    data = bytearray(snapshot(alice))
    data[place] ^= 1
    erase(alice, "Mine.")
    assert refusal(alice, bytes(data), mode="all") == "snapshot.damaged"
    assert texts(alice) == set()


def test_a_short_passphrase_makes_none(alice: Actor) -> None:
    with pytest.raises(LociError) as refused:
        snapshot_stream(actor=alice, passphrase="short")
    assert refused.value.machine_code == "passphrase.invalid"
    with owner_scope(alice.owner_id):
        assert not AuditEvent.objects.filter(verb="snapshot").exists()


def test_an_agent_opens_none_but_its_own(alice: Actor, make_agent: MakeAgent) -> None:
    """Else a person's snapshot would show an agent what others keep from it."""
    victim, _ = make_agent(alice, "victim")
    spy, _ = make_agent(alice, "spy", scopes=[Permission.READ, Permission.WRITE, Permission.PRIVACY])
    partner, _ = make_agent(alice, "partner", scopes=[Permission.READ, Permission.PRIVACY])
    remember(actor=victim, draft=Draft(text="Private to the victim."), scope="agent")
    remember(actor=spy, draft=Draft(text="Private to the spy."), scope="agent")
    for data in (snapshot(alice), snapshot(partner)):
        assert refusal(spy, data, scope="agent", mode="all") == "snapshot.maker"
    assert refusal(spy, snapshot(alice, WORDS), passphrase=WORDS, scope="agent", mode="all") == "snapshot.maker"
    own = snapshot(spy)
    assert restored(spy, own, scope="agent", mode="all").memories["existing"] == 1
    assert restored(alice, own, mode="all").errors == []
    with owner_scope(alice.owner_id):
        assert Memory.objects.filter(scope=spy.agent_id).count() == 1
