"""Looking back on a week: patterns with their numbers, reinforced by new evidence alone, and drawn together."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from memory.models import EdgeKind, Memory, OwnerActivity, Reflection, Status, owner_scope
from memory.services.actors import Actor
from memory.services.consolidation.reflection import reflect
from memory.services.drafts import Draft
from memory.services.questions import RecallRequest
from memory.services.recall import recall
from tests.integration.consolidation.stage import MONDAY, Stopped, edges_from, everything, made, run, say, sources_of
from tests.unit.consolidation.chat import chatting

SUNDAY = datetime(2026, 3, 8, 3, tzinfo=UTC)
ASKED = "Please tell me the weather forecast of Lisbon for tomorrow morning, {}."
TOPIC = "Keeps coming back to Lisbon"


def numbers(owner: Actor, row: Memory) -> Reflection:
    with owner_scope(owner.owner_id):
        found: Reflection = Reflection.objects.get(memory_id=row.pk)
        assert found.sessions is not None
        return found


def week(owner: Actor) -> None:
    """Speak of Lisbon in the mornings of three days."""
    for day in range(3):
        at = MONDAY + timedelta(days=day)
        say(owner, f"day {day}", ("user", ASKED.format(day)), at=at)


def tool(name: str, at: datetime) -> Draft:
    return Draft(text=f"called {name}", role="assistant", tool_name=name, occurred_at=at)


def test_a_week_is_looked_back_on_on_sunday(alice: Actor, time: Stopped) -> None:
    week(alice)
    assert run(reflect, alice, SUNDAY - timedelta(days=1)).skipped_reason == "not.due"
    report = run(reflect, alice, SUNDAY)
    assert (report.state, report.counts["patterns"], report.notes) == ("done", 2, ["way:rules"])
    topic, request = sorted(made(alice, kind="reflection"), key=lambda row: str(row.text))
    assert topic.text == f"{TOPIC}, mostly in the morning."
    assert request.text.startswith("Says again and again: “Please tell me the weather forecast")
    assert (topic.tier, topic.category, topic.tags, topic.source) == (
        "reflection", "observation", ["reflection", "topic"], "consolidation/reflection",
    )  # fmt: skip
    found = numbers(alice, topic)
    assert (found.supporting_events, found.confidence, len(found.sessions), found.last_reinforced_at) == (
        3, 0.6, 3, SUNDAY,
    )  # fmt: skip
    assert edges_from(alice, topic.pk, EdgeKind.DERIVED_FROM) == sources_of(alice, topic)


def test_who_speaks_is_no_topic(alice: Actor, time: Stopped) -> None:
    for day in range(3):
        at = MONDAY + timedelta(days=day)
        said = f"Ana here, {day} days later, with news of Lisbon."
        say(alice, f"day {day}", Draft(text=said, role="user", speaker="Ana", occurred_at=at), at=at)
    run(reflect, alice, SUNDAY)
    topics = [str(row.text) for row in made(alice, kind="reflection") if "topic" in row.tags]
    assert topics == [f"{TOPIC}, mostly in the morning."]


def test_repeating_changes_nothing_and_new_evidence_reinforces(alice: Actor, time: Stopped) -> None:
    week(alice)
    run(reflect, alice, SUNDAY)
    before = everything(alice)
    report = run(reflect, alice, SUNDAY + timedelta(hours=1), by_hand=True)
    assert report.counts == {"turns": 3, "unchanged": 2}
    assert everything(alice) == before
    next_week = time.pass_(days=7)
    for evening in range(2):
        say(alice, f"evening {evening}", ("user", "Tickets to Lisbon are cheap."),
            at=MONDAY + timedelta(days=7 + evening, hours=10))  # fmt: skip
    report = run(reflect, alice, next_week + timedelta(hours=1), by_hand=True)
    assert report.counts["reinforced"] == 1
    topic = next(row for row in made(alice, kind="reflection") if str(row.text).startswith(TOPIC))
    found = numbers(alice, topic)
    # Three events at 0.6 and two at 0.5.
    assert (found.supporting_events, len(found.sessions)) == (5, 5)
    assert found.confidence == topic.confidence == pytest.approx((3 * 0.6 + 2 * 0.5) / 5)
    assert topic.text == f"{TOPIC}."
    assert topic.version == 2


def test_a_run_that_was_missed_is_made_up_for(alice: Actor, time: Stopped) -> None:
    week(alice)
    with owner_scope(alice.owner_id):
        OwnerActivity.objects.update(last_reflected_at=MONDAY - timedelta(days=1))
    assert run(reflect, alice, SUNDAY + timedelta(days=9)).counts["patterns"] == 2


def test_off_and_nothing_said(alice: Actor, time: Stopped) -> None:
    assert run(reflect, alice, SUNDAY).skipped_reason == "turns.none"
    week(alice)
    assert run(reflect, alice, SUNDAY, reflection=False).skipped_reason == "reflection.off"
    assert made(alice, kind="reflection") == []


def test_patterns_are_drawn_together(alice: Actor, time: Stopped) -> None:
    for day in range(2):
        at = MONDAY + timedelta(days=day)
        say(alice, f"day {day}", ("user", f"Lisbon or Porto? {day}"), tool("search", at), tool("fetch", at), at=at)
    report = run(reflect, alice, SUNDAY)
    rows = {row.text: row for row in made(alice, kind="reflection")}
    topics = "Topics that recur: Keeps coming back to Lisbon. Keeps coming back to Porto."
    assert set(rows) == {
        "Keeps coming back to Lisbon.",
        "Keeps coming back to Porto.",
        "Uses search, then fetch, one after the other.",
        topics,
    }
    assert report.counts["patterns"] == 4
    assert (rows[topics].confidence, rows[topics].tags) == (0.8, ["reflection", "meta"])
    assert sources_of(alice, rows[topics]) == {
        rows["Keeps coming back to Lisbon."].pk, rows["Keeps coming back to Porto."].pk,
    }  # fmt: skip
    before = everything(alice)
    run(reflect, alice, SUNDAY, by_hand=True)
    assert everything(alice) == before
    hits = recall(actor=alice, request=RecallRequest(query="Which tools are used one after the other?", limit=3)).hits
    assert rows["Uses search, then fetch, one after the other."].pk in [hit.memory.pk for hit in hits]


def test_scopes_and_owners_stay_apart(
    alice: Actor, mallory: Actor, make_agent: Callable[..., tuple[Actor, str]], time: Stopped
) -> None:
    diarist, _ = make_agent(alice, "diarist")
    say(diarist, "one", ("user", "I miss Renée."), at=MONDAY, scope="agent")
    say(diarist, "two", ("user", "Renée was here."), at=MONDAY, scope="owner")
    say(mallory, "three", ("user", "Renée owes me money."), at=MONDAY)
    assert run(reflect, alice, SUNDAY).counts == {"turns": 2}
    say(diarist, "four", ("user", "Where is Renée now, I wonder?"), at=MONDAY, scope="agent")
    run(reflect, alice, SUNDAY, by_hand=True)
    (row,) = made(alice, kind="reflection")
    assert (row.text, row.scope, row.sealing_agent_id) == (
        "Keeps coming back to Renee.", diarist.agent_id, diarist.agent_id,
    )  # fmt: skip
    assert numbers(alice, row).scope == diarist.agent_id
    assert made(mallory, kind="reflection") == []


def test_a_faded_pattern_comes_back_and_an_archived_one_does_not(alice: Actor, time: Stopped) -> None:
    week(alice)
    run(reflect, alice, SUNDAY)
    with owner_scope(alice.owner_id):
        for row in Memory.objects.filter(kind="reflection"):
            row.status = Status.ARCHIVED
            row.archive_reason = "decay" if str(row.text).startswith(TOPIC) else "archived"
            row.save()
    time.pass_(days=2)
    for number in range(2):
        say(alice, f"more {number}", ("user", ASKED.format(number)), at=SUNDAY)
    report = run(reflect, alice, SUNDAY + timedelta(days=3), by_hand=True)
    assert (report.counts["reinforced"], report.counts["archived"]) == (1, 1)
    assert [str(row.text)[: len(TOPIC)] for row in made(alice, kind="reflection")] == [TOPIC]


def test_a_model_names_patterns_by_turns(alice: Actor, time: Stopped) -> None:
    week(alice)
    answer = {
        "patterns": [
            {"pattern": "Asks about travel before work.", "turns": [1, 2, 2, 99], "confidence": 0.7},
            {"pattern": "Happened once.", "turns": [3], "confidence": 0.9},
            {"pattern": "short", "turns": [1, 2], "confidence": 1},
            "nonsense",
        ]
    }
    with chatting([answer]) as chat:
        report = run(reflect, alice, SUNDAY, model=chat.model)
    assert report.notes == ["way:llm"]
    (row,) = made(alice, kind="reflection")
    assert (row.text, row.confidence, numbers(alice, row).supporting_events) == (
        "Asks about travel before work.", 0.7, 2,
    )  # fmt: skip
    with chatting(["no JSON at all"]) as chat:
        report = run(reflect, alice, SUNDAY + timedelta(hours=1), by_hand=True, model=chat.model)
    assert report.notes[:2] == ["llm.unusable", "way:rules"]
    assert report.counts["llm_failures"] >= 1
    assert len(made(alice, kind="reflection")) == 3
