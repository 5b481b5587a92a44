"""What tells that stored texts have lost their keys, as after a restore of a backup from before a rotation."""

from __future__ import annotations

import io
from datetime import timedelta
from uuid import UUID

import pytest
from django.core.management import load_command_class
from django.db import connection

from memory.management.commands.db import Command
from memory.models import owner_scope
from memory.services.actors import Actor
from memory.services.drafts import Draft
from memory.services.keys import rotation
from memory.services.keys.lost_texts import lost_texts_finding
from memory.services.keys.rotation import seal_now
from memory.services.remember import remember

pytestmark = pytest.mark.django_db(transaction=True)


def raw_texts(actor: Actor) -> list[tuple[UUID, str]]:
    with owner_scope(actor.owner_id), connection.cursor() as cursor:
        cursor.execute("SELECT id, text FROM memory_memory ORDER BY id")
        return list(cursor.fetchall())


@pytest.mark.parametrize(("restored", "status"), [(0, "ok"), (1, "degraded"), (2, "failing")])
def test_texts_from_before_a_rotation(
    alice: Actor, mallory: Actor, monkeypatch: pytest.MonkeyPatch, restored: int, status: str
) -> None:
    """Texts as a backup has them come back after their version was destroyed."""
    monkeypatch.setattr(rotation, "SETTLING", timedelta(0))
    for text in ("Tea.", "Coffee."):
        remember(actor=alice, draft=Draft(text=text))
    remember(actor=mallory, draft=Draft(text="Milk."))
    former = raw_texts(alice)
    assert lost_texts_finding().status == "ok"
    seal_now(owner_id=alice.owner_id, wait=lambda seconds: None)
    with owner_scope(alice.owner_id), connection.cursor() as cursor:
        for pk, text in former[:restored]:
            cursor.execute("UPDATE memory_memory SET text = %s WHERE id = %s", [text, pk])
    found = lost_texts_finding()
    assert found.status == status
    assert ("Texts of 1 owner (" in found.detail) == (restored > 0)
    command = load_command_class("memory", "db")
    assert isinstance(command, Command)
    command.stderr = said = io.StringIO()  # type: ignore[assignment]
    if restored:
        with pytest.raises(SystemExit) as ended:
            command._tell_lost_texts()
        assert ended.value.code == 3
        assert "Restore a copy of the key vault" in said.getvalue()
    else:
        command._tell_lost_texts()
        assert said.getvalue() == ""
