"""Nobody keeps another owner's purge waiting, by many purges or by purges that fail."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest

from memory.errors import KeysUnavailable
from memory.models import Purge, PurgeState
from memory.services.actors import Actor
from memory.services.clock import now
from memory.services.purge import runner
from memory.services.purge.lease import SILENCE
from memory.services.purge.requests import begin_purge, request_purge
from memory.services.purge.runner import purge_is_due, run_due

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "schema"])

MANY = 130


def part(owner: Actor, number: int, at: datetime) -> Purge:
    target: dict[str, Any] = {"memories": [], "within": None, "seal": False, "number": number}
    return request_purge(
        owner_id=owner.owner_id,
        subject="memory",
        target=target,
        requested_by="person",
        expected={},
        at=at,
        call=lambda: None,
    ).purge


@pytest.fixture
def turns(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Note which purges have their turn, without working on them."""
    noted: list[Any] = []

    def note(*, purge_id: Any, **rest: Any) -> Purge:
        noted.append(purge_id)
        return Purge.objects.get(pk=purge_id)

    monkeypatch.setattr(runner, "run_purge", note)
    return noted


def test_owners_have_their_turns_one_after_the_other(
    alice: Actor, mallory: Actor, make_owner: Callable[..., Actor], turns: list[Any]
) -> None:
    moment = now()
    many = [part(mallory, number, moment + timedelta(seconds=number)).pk for number in range(4)]
    few = [part(alice, number, moment + timedelta(minutes=1 + number)).pk for number in range(2)]
    whole = begin_purge(actor=make_owner("carol"), at=moment + timedelta(minutes=9)).purge.pk

    run_due(at=moment + timedelta(hours=1))

    assert turns == [whole, many[0], few[0], many[1], few[1], many[2], many[3]]


def test_who_was_served_last_waits_longest(alice: Actor, mallory: Actor, turns: list[Any]) -> None:
    moment = now()
    first, second = part(mallory, 0, moment).pk, part(alice, 0, moment + timedelta(seconds=1)).pk
    Purge.objects.filter(pk=first).update(heartbeat_at=moment)

    run_due(at=moment)

    assert turns == [second, first]


def test_many_that_pause_hide_none_that_is_due(alice: Actor, mallory: Actor) -> None:
    moment = now()
    pausing = part(mallory, 0, moment)
    Purge.objects.bulk_create(
        Purge(
            of_owner=mallory.owner_id,
            pseudonym=pausing.pseudonym,
            subject="memory",
            requested_by="person",
            requested_at=moment,
            token_digest=number.to_bytes(32, "big"),
        )
        for number in range(MANY)
    )
    Purge.objects.update(not_before=moment + timedelta(hours=1))
    assert not purge_is_due(at=moment)
    assert run_due(at=moment) == 0

    made = begin_purge(actor=alice).purge

    assert purge_is_due(at=moment)
    assert run_due(at=moment) == 1
    assert Purge.objects.get(pk=made.pk).state == PurgeState.DONE
    assert Purge.objects.filter(state=PurgeState.WAITING).count() == MANY + 1


def test_a_pause_ends(alice: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
    moment = now()
    row = part(alice, 0, moment)

    def refuse(**_: Any) -> None:
        raise KeysUnavailable("Not now.")

    monkeypatch.setattr(runner, "run_partial", refuse)
    with pytest.raises(KeysUnavailable):
        run_due(at=moment)
    row.refresh_from_db()
    assert row.not_before == moment + timedelta(seconds=5)
    assert not purge_is_due(at=moment + timedelta(seconds=4))
    assert purge_is_due(at=moment + timedelta(seconds=5))
    monkeypatch.undo()
    assert run_due(at=moment + timedelta(seconds=5)) == 1
    row.refresh_from_db()
    assert row.not_before is None


@pytest.mark.parametrize(("silent", "is_due"), [(None, True), (1, True), (-1, False)], ids=["never", "long", "not"])
def test_a_worker_that_is_silent_is_replaced(alice: Actor, silent: int | None, is_due: bool) -> None:
    moment = now()
    row = part(alice, 0, moment)
    heard = None if silent is None else moment - SILENCE - timedelta(seconds=silent)
    Purge.objects.filter(pk=row.pk).update(state=PurgeState.RUNNING, heartbeat_at=heard)
    assert purge_is_due(at=moment) is is_due
    if heard is not None:
        Purge.objects.filter(pk=row.pk).update(heartbeat_at=moment + (moment - heard))
        assert purge_is_due(at=moment) is is_due, "a clock that was wrong holds nothing for ever"
