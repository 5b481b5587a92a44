"""Facts in both times: what held then, and what was known then."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest

from memory.errors import InvalidInput, NotFound
from memory.models import Entity, owner_scope
from memory.ports import ExtractedEntity
from memory.services.actors import Actor, Permission
from memory.services.drafts import Draft
from memory.services.facts import Fact, facts
from memory.services.remember import remember
from memory.services.retirement import archive_memory
from tests.integration.consolidation.scripted import MAY, Scripted, consolidate, home, preference
from tests.integration.consolidation.stage import Stopped, say

pytestmark = pytest.mark.django_db

JUNE = MAY + timedelta(days=30)
TOLD = MAY + timedelta(days=60)
"""When the second home is told of, a month after the move."""


def texts(found: list[Fact]) -> list[str]:
    return [one.memory.text for one in found]


@pytest.fixture
def moved(alice: Actor, time: Stopped) -> Actor:
    """An owner who lived in Whitefield from May on, moved in June, and told of it in July."""
    script: dict[str, list[Any]] = {
        "whitefield": [
            ExtractedEntity(name="Whitefield", type="topic"),
            home("User lives in Whitefield.", "Whitefield", entities=("Whitefield",)),
        ],
        "city": [home("User lives in Electronic City.", "Electronic City")],
        "tea": [preference("User loves tea.", "tea")],
    }
    for text, said, at in (("whitefield", MAY, MAY), ("tea", MAY, MAY), ("city", JUNE, TOLD)):
        time.at = at
        say(alice, text, ("user", text), at=said)
        consolidate(alice, Scripted(script), at=at)
    time.at = TOLD + timedelta(days=1)
    return alice


def test_what_holds_now(moved: Actor) -> None:
    assert texts(facts(actor=moved)) == ["User lives in Electronic City.", "User loves tea."]


@pytest.mark.parametrize(
    ("as_of", "known_at", "wanted"),
    [
        (MAY - timedelta(days=1), None, []),
        (MAY, None, ["User loves tea.", "User lives in Whitefield."]),
        (JUNE - timedelta(seconds=1), None, ["User loves tea.", "User lives in Whitefield."]),
        (JUNE, None, ["User lives in Electronic City.", "User loves tea."]),
        # In between it was over, but nobody had told so.
        (None, JUNE + timedelta(days=1), ["User loves tea.", "User lives in Whitefield."]),
        (JUNE + timedelta(days=1), JUNE + timedelta(days=1), ["User loves tea.", "User lives in Whitefield."]),
        (JUNE + timedelta(days=1), TOLD, ["User lives in Electronic City.", "User loves tea."]),
        (None, MAY - timedelta(days=1), []),
    ],
    ids=range(8),
)
def test_both_times(moved: Actor, as_of: datetime | None, known_at: datetime | None, wanted: list[str]) -> None:
    found = facts(actor=moved, as_of=as_of, known_at=known_at)
    assert texts(found) == wanted


def test_a_home_as_it_was_known_then_has_no_end(moved: Actor) -> None:
    (_, then) = facts(actor=moved, known_at=JUNE + timedelta(days=1))
    assert (then.memory.valid_until, then.memory.retracted_at, then.memory.status) == (None, None, "live")
    assert then.superseded_by == ()


def test_history_shows_both_sides_and_what_took_whose_place(moved: Actor) -> None:
    new, *_, old = facts(actor=moved, superseded=True)
    assert (new.memory.text, old.memory.text) == ("User lives in Electronic City.", "User lives in Whitefield.")
    assert (old.superseded_by, new.supersedes) == ((new.memory.pk,), (old.memory.pk,))
    assert (old.begins, old.memory.valid_until, old.memory.status) == (MAY, JUNE, "superseded")


def test_about_an_entity_by_kind_and_in_pages(moved: Actor) -> None:
    with owner_scope(moved.owner_id):
        entity = Entity.objects.get().pk
    assert texts(facts(actor=moved, about=entity, superseded=True)) == ["User lives in Whitefield."]
    assert texts(facts(actor=moved, about=entity)) == []
    assert texts(facts(actor=moved, kinds=["preference"])) == ["User loves tea."]
    seen: list[str] = []
    after = None
    for _ in range(4):
        page = facts(actor=moved, superseded=True, after=after, size=1)
        seen += texts(page)
        after = (page[-1].begins, page[-1].memory.pk) if page else after
    assert seen == texts(facts(actor=moved, superseded=True))
    assert len(seen) == 3


def test_what_was_archived_since_was_known_then(moved: Actor, time: Stopped) -> None:
    (tea,) = facts(actor=moved, kinds=["preference"])
    archive_memory(actor=moved, memory_id=tea.memory.pk)
    assert facts(actor=moved, kinds=["preference"]) == []
    assert texts(facts(actor=moved, kinds=["preference"], known_at=TOLD)) == ["User loves tea."]


def test_hidden_statements_are_hidden(moved: Actor, mallory: Actor, make_agent: Any) -> None:
    agent, _ = make_agent(moved)
    other, _ = make_agent(moved, "colleague")
    remember(actor=agent, draft=Draft(text="A private fact", kind="fact"), scope="agent")
    assert "A private fact" in texts(facts(actor=agent))
    assert "A private fact" not in texts(facts(actor=other))
    assert texts(facts(actor=agent, scope="agent")) == ["A private fact"]
    assert facts(actor=mallory) == []
    with owner_scope(moved.owner_id):
        entity = Entity.objects.get().pk
    with pytest.raises(NotFound):
        facts(actor=mallory, about=entity)


def test_bad_requests(alice: Actor) -> None:
    for wrong, code in (
        ({"kinds": ["turn"]}, "kind.invalid"),
        ({"as_of": "yesterday"}, "date.invalid"),
        ({"as_of": MAY, "superseded": True}, "as_of.with_superseded"),
    ):
        with pytest.raises(InvalidInput) as error:
            facts(actor=alice, **wrong)
        assert error.value.machine_code == code
    with pytest.raises(NotFound):
        facts(actor=alice, about=uuid4())
    assert Permission.READ in alice.permissions
