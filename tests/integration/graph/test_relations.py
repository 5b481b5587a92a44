"""Relations in two times: superseded with their history, strengthened, never opened again."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any
from uuid import UUID

import pytest

from memory.errors import Conflict, InvalidInput, InvalidScope, NotFound
from memory.services.actors import Actor
from memory.services.graph.relations import (
    get_relation,
    relations_of,
    retract_relation,
    supersede_relation,
)
from tests.integration.graph.conftest import entity, memory, relate
from tests.integration.graph.moments import FixedClock, day


@pytest.fixture
def al(alice: Actor, time: FixedClock) -> UUID:
    for name in ("Whitefield", "Electronic City", "Tea", "Coffee"):
        entity(alice, name, "topic")
    return entity(alice, "Al")


def held(actor: Actor, of: UUID, **options: Any) -> list[tuple[str, str, datetime | None]]:
    rows = relations_of(actor=actor, entity_id=of, **options)
    return [(row.label, row.target.name, row.valid_until) for row in rows]


def test_moving_closes_the_old_home_and_keeps_it(alice: Actor, al: UUID, time: FixedClock) -> None:
    old = relate(alice, "Al", "lives in", "Whitefield", valid_from="2020-01-01")
    time.moment = day("2026-04-01")
    new = relate(alice, al, "LIVES_IN", "Electronic City", valid_from="2026-02-01")
    assert (old.created, new.created, new.superseded) == (True, True, (old.relation.pk,))
    assert held(alice, al) == [("lives_in", "Electronic City", None)]
    assert held(alice, al, superseded=True) == [
        ("lives_in", "Electronic City", None),
        ("lives_in", "Whitefield", day("2026-02-01")),
    ]
    # What held in January, as it is known today and as it was believed in March.
    assert held(alice, al, valid_at="2026-01-15") == [("lives_in", "Whitefield", day("2026-02-01"))]
    assert held(alice, al, valid_at="2026-02-15", known_at="2026-03-15") == [("lives_in", "Whitefield", None)]
    assert held(alice, al, known_at="2026-03-15") == [("lives_in", "Whitefield", None)]
    assert held(alice, al, valid_at="2026-02-15") == [("lives_in", "Electronic City", None)]
    assert held(alice, al, known_at="2026-02-01", superseded=True) == []
    assert held(alice, al, valid_at="2019-01-01") == []


def test_a_closed_relation_is_never_opened_again(alice: Actor, al: UUID) -> None:
    first = relate(alice, al, "lives_in", "Whitefield", valid_from="2020-01-01")
    relate(alice, al, "lives_in", "Electronic City", valid_from="2024-01-01")
    back = relate(alice, al, "lives_in", "Whitefield", valid_from="2026-01-01")
    assert back.created
    assert back.relation.pk != first.relation.pk
    assert get_relation(actor=alice, relation_id=first.relation.pk)[0].valid_until == day("2024-01-01")
    assert [until for _, _, until in held(alice, al, superseded=True, label="lives in")] == [
        None, day("2026-01-01"), day("2024-01-01"),
    ]  # fmt: skip


def test_what_is_told_late_becomes_history(alice: Actor, al: UUID) -> None:
    relate(alice, al, "lives_in", "Electronic City", valid_from="2024-01-01")
    late = relate(alice, al, "lives_in", "Whitefield", valid_from="2020-01-01")
    assert (late.created, late.superseded, late.relation.valid_until) == (True, (), day("2024-01-01"))
    assert held(alice, al) == [("lives_in", "Electronic City", None)]


def test_what_is_told_late_ends_where_the_next_began(alice: Actor, al: UUID) -> None:
    relate(alice, al, "lives_in", "Electronic City", valid_from="2022-01-01")
    relate(alice, al, "lives_in", "Tea", valid_from="2024-01-01")
    late = relate(alice, al, "lives_in", "Whitefield", valid_from="2020-01-01")
    assert (late.superseded, late.relation.valid_until) == ((), day("2022-01-01"))
    again = relate(alice, al, "lives_in", "Whitefield", valid_from="2021-01-01")
    assert (again.created, again.relation.pk) == (False, late.relation.pk)
    end = relate(alice, al, "lives_in", "Electronic City", valid_until="2024-01-01")
    assert not end.created
    assert {target: until for _, target, until in held(alice, al, superseded=True)} == {
        "Tea": None, "Electronic City": day("2024-01-01"), "Whitefield": day("2022-01-01"),
    }  # fmt: skip
    assert len(held(alice, al, superseded=True)) == 3


def test_what_is_told_last_finds_its_place_between(alice: Actor, al: UUID) -> None:
    relate(alice, al, "lives_in", "Tea", valid_from="2024-01-01")
    first = relate(alice, al, "lives_in", "Whitefield", valid_from="2020-01-01")
    told = relate(alice, al, "lives_in", "Coffee", valid_from="2010-01-01", valid_until="2023-01-01")
    relate(alice, al, "lives_in", "Electronic City", valid_from="2022-01-01")
    assert {target: until for _, target, until in held(alice, al, superseded=True)} == {
        "Tea": None, "Electronic City": day("2024-01-01"), "Whitefield": day("2022-01-01"), "Coffee": day("2023-01-01"),
    }  # fmt: skip
    assert get_relation(actor=alice, relation_id=first.relation.pk)[0].closed_at == first.relation.closed_at
    assert get_relation(actor=alice, relation_id=told.relation.pk)[0].valid_until == day("2023-01-01")


def test_what_is_told_late_does_not_hold_where_a_later_one_has_ended(alice: Actor, al: UUID) -> None:
    home = relate(alice, al, "lives_in", "Electronic City", valid_from="2022-01-01")
    supersede_relation(actor=alice, relation_id=home.relation.pk, valid_until="2024-01-01")
    late = relate(alice, al, "lives_in", "Whitefield", valid_from="2020-01-01")
    assert late.relation.valid_until == day("2022-01-01")


def test_labels_that_deny_each_other_end_each_other(alice: Actor, al: UUID) -> None:
    first = relate(alice, al, "likes", "Tea", valid_from="2020-01-01")
    relate(alice, al, "likes", "Coffee", valid_from="2020-01-01")
    no = relate(alice, al, "dislikes", "Tea", valid_from="2022-01-01")
    assert no.superseded == (first.relation.pk,)
    assert sorted(held(alice, al)) == [("dislikes", "Tea", None), ("likes", "Coffee", None)]
    late = relate(alice, al, "likes", "Tea", valid_from="2021-01-01")
    assert (late.created, late.relation.pk) == (False, first.relation.pk)
    yes = relate(alice, al, "likes", "Tea", valid_from="2024-01-01")
    assert yes.superseded == (no.relation.pk,)
    assert sorted(held(alice, al)) == [("likes", "Coffee", None), ("likes", "Tea", None)]
    both = relate(alice, al, "dislikes", "Coffee", valid_from="2024-01-01", supersede=False)
    assert (both.superseded, len(held(alice, al))) == ((), 3)


@pytest.mark.parametrize(
    "label", ["likes", "works_on", "interested_in", "prefers", "related_to", "part_of", "caused_by"]
)
def test_other_labels_have_several_targets(alice: Actor, al: UUID, label: str) -> None:
    relate(alice, al, label, "Tea")
    assert relate(alice, al, label, "Coffee").superseded == ()
    assert {target for _, target, _ in held(alice, al)} == {"Tea", "Coffee"}


@pytest.mark.parametrize(
    "label",
    ["lives_in", "based_in", "works_at", "employed_by", "married_to", "reports_to", "named", "default_for"],
)
def test_single_valued_labels_have_one(alice: Actor, al: UUID, label: str) -> None:
    relate(alice, al, label, "Tea")
    relate(alice, al, label, "Coffee")
    assert [target for _, target, _ in held(alice, al)] == ["Coffee"]


def test_saying_it_again_strengthens_and_keeps_twenty_reasons(alice: Actor, al: UUID) -> None:
    said = [memory(alice, f"Al drinks tea, number {number}.") for number in range(25)]
    for one in [*said, said[-1], said[-1]]:
        added = relate(alice, al, "drinks", "Tea", memory_id=one, evidence="drinks tea", weight=0.5, confidence=0.7)
    row, evidence = get_relation(actor=alice, relation_id=added.relation.pk)
    assert row.weight == pytest.approx(1.0)
    assert row.confidence == 0.7
    assert [one.memory_id for one in evidence] == list(reversed(said))[:20]
    assert evidence[0].text == "drinks tea"
    twice = relate(alice, al, "likes", "Tea", memory_id=said[0])
    again = relate(alice, al, "likes", "Tea", memory_id=said[0])
    assert (twice.created, again.created, again.relation.weight) == (True, False, 0.5)
    assert relate(alice, al, "likes", "Tea", memory_id=said[1], weight=0.6).relation.weight == pytest.approx(0.65)


def test_ending_and_taking_back(alice: Actor, al: UUID, time: FixedClock) -> None:
    tea = relate(alice, al, "likes", "Tea", valid_from="2025-01-01").relation.pk
    with pytest.raises(InvalidInput) as early:
        supersede_relation(actor=alice, relation_id=tea, valid_until="2024-01-01")
    assert early.value.machine_code == "date.order"
    assert supersede_relation(actor=alice, relation_id=tea, valid_until="2026-01-01").valid_until == day("2026-01-01")
    with pytest.raises(Conflict) as again:
        supersede_relation(actor=alice, relation_id=tea)
    assert again.value.machine_code == "relation.closed"
    coffee = relate(alice, al, "likes", "Coffee", valid_from="2025-01-01").relation.pk
    time.moment = day("2026-05-01")
    retract_relation(actor=alice, relation_id=coffee)
    assert held(alice, al, superseded=True) == [("likes", "Tea", day("2026-01-01"))]
    assert [target for _, target, _ in held(alice, al, known_at="2026-04-01")] == ["Coffee"]
    assert relate(alice, al, "likes", "Coffee").created


def test_an_end_that_is_told_closes_what_is_open(alice: Actor, al: UUID) -> None:
    open_ = relate(alice, al, "works_at", "Tea", valid_from="2020-01-01")
    told = relate(alice, al, "works_at", "Tea", valid_until="2023-01-01")
    assert (told.created, told.relation.pk, told.relation.valid_until) == (False, open_.relation.pk, day("2023-01-01"))
    past = relate(alice, al, "works_at", "Coffee", valid_from="2010-01-01", valid_until="2012-01-01")
    same = relate(alice, al, "works_at", "Coffee", valid_from="2010-01-01", valid_until="2012-01-01")
    assert (past.created, same.created, same.relation.pk) == (True, False, past.relation.pk)


def test_a_relation_to_itself_or_to_nobody_is_refused(alice: Actor, al: UUID, mallory: Actor) -> None:
    with pytest.raises(InvalidInput) as itself:
        relate(alice, al, "likes", "Al")
    assert itself.value.machine_code == "relation.self"
    for target in ("Nobody", entity(mallory, "Eve")):
        with pytest.raises(NotFound) as unknown:
            relate(alice, al, "likes", target)
        assert unknown.value.machine_code == "entity.unknown"
    for label, code in (("", "text.empty"), ("--", "label.invalid"), ("x" * 65, "label.too_long"), (7, "field.type")):
        with pytest.raises(InvalidInput) as caught:
            relate(alice, al, label, "Tea")  # type: ignore[arg-type]
        assert caught.value.machine_code == code
    assert held(alice, al, superseded=True) == []


def test_what_is_drawn_from_a_private_memory_is_private(
    alice: Actor, al: UUID, make_agent: Callable[..., tuple[Actor, str]]
) -> None:
    agent, _ = make_agent(alice, "assistant")
    colleague, _ = make_agent(alice, "colleague")
    diary = memory(agent, "Al likes tea, secretly.", scope="agent")
    private = relate(agent, al, "likes", "Tea", memory_id=diary, evidence="secretly").relation
    assert private.scope == agent.agent_id
    assert held(colleague, al) == []
    with pytest.raises(NotFound):
        get_relation(actor=colleague, relation_id=private.pk)
    with pytest.raises(NotFound):
        retract_relation(actor=colleague, relation_id=private.pk)
    assert [target for _, target, _ in held(agent, al)] == ["Tea"]
    # Said for all, the reason stays with those who may read the memory.
    shared = relate(agent, al, "enjoys", "Tea", memory_id=diary, evidence="secretly", scope="owner").relation
    assert get_relation(actor=colleague, relation_id=shared.pk)[1] == []
    assert [one.text for one in get_relation(actor=alice, relation_id=shared.pk)[1]] == ["secretly"]
    hidden = entity(agent, "Hidden", "topic", scope="agent")
    with pytest.raises(InvalidScope):
        relate(agent, al, "likes", hidden, scope="owner")
    assert relate(agent, al, "likes", hidden, scope="agent").created


def test_another_owner_sees_and_changes_nothing(alice: Actor, al: UUID, mallory: Actor) -> None:
    row = relate(alice, al, "likes", "Tea").relation
    for attempt in (get_relation, retract_relation, supersede_relation):
        with pytest.raises(NotFound):
            attempt(actor=mallory, relation_id=row.pk)
    with pytest.raises(NotFound):
        relations_of(actor=mallory, entity_id=al)
