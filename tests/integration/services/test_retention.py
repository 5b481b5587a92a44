"""What is kept for a while only goes when its time has come, and nothing else does."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from memory.models import AuditEvent, IdempotencyRecord, Memory, RecallRecord, current_owner, owner_scope
from memory.ports.removers import add_remover, removers
from memory.services.actors import Actor
from memory.services.drafts import Draft
from memory.services.jobs import REMOVE_OUTDATED, ensure_schedules
from memory.services.questions import RecallRequest
from memory.services.recall import recall
from memory.services.remember import remember
from memory.services.retention import remove_outdated
from memory.services.retirement import archive_memory
from memory.services.settings import change_settings

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


def test_answers_and_explanations(alice: Actor, mallory: Actor) -> None:
    for owner in (alice, mallory):
        recall(actor=owner, request=RecallRequest(query="tea"))
        recall(actor=owner, request=RecallRequest(query="coffee"))
        with owner_scope(owner.owner_id):
            old = RecallRecord.objects.order_by("pk").first()
            RecallRecord.objects.filter(pk=old.pk).update(created_at=NOW - timedelta(days=8))
            RecallRecord.objects.exclude(pk=old.pk).update(created_at=NOW - timedelta(days=6))
            for hours in (20, 30):
                IdempotencyRecord.objects.create(
                    caller=owner.owner_id,
                    key_digest=bytes([hours]),
                    request_digest=b"x",
                    created_at=NOW - timedelta(hours=hours),
                )
    nothing = dict.fromkeys(("answers", "explanations", "runs", "archived", "reads", "messages", *removers()), 0)
    assert remove_outdated(at=NOW) == nothing | {"answers": 2, "explanations": 2}
    assert remove_outdated(at=NOW) == nothing
    with owner_scope(alice.owner_id):
        assert RecallRecord.objects.count() == 1
        assert IdempotencyRecord.objects.count() == 1


def test_archives_go_only_where_the_owner_says_so(alice: Actor, mallory: Actor) -> None:
    change_settings(actor=alice, changes={"archive_retention_days": 30})
    for owner in (alice, mallory):
        for text, days in (("old", 40), ("recent", 20)):
            memory_id = remember(actor=owner, draft=Draft(text=text)).memory_id
            archive_memory(actor=owner, memory_id=memory_id)
            with owner_scope(owner.owner_id):
                Memory.objects.filter(pk=memory_id).update(archived_at=NOW - timedelta(days=days))
        remember(actor=owner, draft=Draft(text="live"))
    assert remove_outdated(at=NOW)["archived"] == 1
    with owner_scope(alice.owner_id):
        assert sorted(row.text for row in Memory.objects.all()) == ["live", "recent"]
        assert AuditEvent.objects.filter(verb="erase", reason="retention", count=1).exists()
    with owner_scope(mallory.owner_id):
        assert Memory.objects.count() == 3


def test_apps_remove_what_they_keep(alice: Actor, mallory: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memory.ports.removers._removers", {})
    asked: list[tuple[UUID, datetime]] = []

    def remove(at: datetime) -> int:
        asked.append((current_owner(), at))
        return 3

    add_remover("events", remove)
    assert remove_outdated(at=NOW)["events"] == 6
    assert sorted(asked) == sorted((owner.owner_id, NOW) for owner in (alice, mallory))


def test_it_is_planned(db: None) -> None:
    from django_q.models import Schedule

    ensure_schedules()
    assert Schedule.objects.filter(func=REMOVE_OUTDATED).count() == 1
