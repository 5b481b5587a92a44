"""Archives that somebody made to do harm, signed as anybody can: what is bad is refused and the rest is stored."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from memory.api.serializers.memories import CountedMemorySerializer
from memory.errors import LociError
from memory.ids import new_id
from memory.models import EdgeKind, Memory, MemoryEdge, MemoryVersion, owner_scope
from memory.services.actors import Actor, Permission
from memory.services.agents import create_group, list_agents, list_groups, set_membership
from memory.services.archive import limits
from memory.services.clock import now
from memory.services.drafts import Draft
from memory.services.memories import ListRequest, history, list_memories
from memory.services.remember import remember
from tests.integration.archive.archives import archive_of, files_of, lines_of, packed, resigned, taken, with_lines
from tests.integration.archive.worlds import world

pytestmark = pytest.mark.django_db(transaction=True)

MakeAgent = Callable[..., tuple[Actor, str]]
PARTS = (
    "agents", "groups", "memberships", "sessions", "memories", "sources", "versions", "uses", "claims", "entities",
    "mentions", "relations", "relation_evidence", "events", "event_evidence", "participants", "causes",
    "cause_evidence", "edges", "skills", "skill_dependencies", "settings", "profile_overrides",
)  # fmt: skip
HOSTILE: tuple[Any, ...] = (
    None, True, 0, -1, 2**63, 2**200, 1.5, 1e308, "", " ", "x", "\0", "\u202e" * 5, "x" * 300_000,
    "2026-13-01", "9999-12-31T23:59:59+23:59", "1899-01-01", "owner", "*", [], [[]], [None],
    ["x"] * 2_000, {}, {"x": {"y": []}}, "00000000-0000-7000-8000-000000000000", "archived", "agent", "<script>",
)  # fmt: skip


def texts(actor: Actor) -> set[str]:
    """Give what an owner's memories say."""
    with owner_scope(actor.owner_id):
        return {row.text for row in Memory.objects.all()}


@pytest.mark.parametrize("seed", range(4))
def test_no_value_breaks_an_import(alice: Actor, mallory: Actor, make_agent: MakeAgent, seed: int) -> None:
    """Every kind of value in every column: what cannot be used is refused or left, and nothing else happens."""
    world(alice, make_agent(alice)[0])
    chosen = random.Random(seed)  # noqa: S311 - the same in every run
    sent = archive_of(alice)
    files = files_of(sent)
    for part in PARTS:
        lines = lines_of(sent, part)
        for line in lines:
            for column in chosen.sample(sorted(line), k=min(3, len(line))):
                line[column] = chosen.choice(HOSTILE)
            if chosen.random() < 0.1:
                line.pop(chosen.choice(sorted(line)))
        files = with_lines(files, part, lines)
    result = taken(mallory, resigned(files), settings=True)
    assert result.errors or result.left
    archive_of(mallory)


@pytest.mark.parametrize(
    "column", ["id", "scope", "visibility", "session_id", "agent_id", "position", "status", "kind"]
)
@pytest.mark.parametrize("value", [[], {}, 7, True, "x"], ids=["list", "object", "number", "truth", "text"])
def test_what_a_memory_hangs_on_is_checked(alice: Actor, mallory: Actor, column: str, value: Any) -> None:
    remember(actor=alice, draft=Draft(text="Good."))
    sent = archive_of(alice)
    good = lines_of(sent, "memories")[0]
    bad = {**good, "text": "Bad.", "id": str(new_id()), column: value}
    taken(mallory, resigned(with_lines(files_of(sent), "memories", [bad, good])))
    assert "Good." in texts(mallory)


def test_one_bad_memory_does_not_keep_the_others_out(alice: Actor, mallory: Actor) -> None:
    for number in range(5):
        remember(actor=alice, draft=Draft(text=f"Memory {number}."))
    sent = archive_of(alice)
    lines = lines_of(sent, "memories")
    lines[2]["importance"] = 7
    lines[3]["text"] = "x" * 300_000
    result = taken(mallory, resigned(with_lines(files_of(sent), "memories", lines)))
    assert {(error["index"], error["code"]) for error in result.errors} == {
        (2, "importance.out_of_range"),
        (3, "text.too_large"),
    }
    assert len(texts(mallory)) == 3


def test_lines_in_another_order_are_left(alice: Actor, mallory: Actor) -> None:
    for number in range(3):
        remember(actor=alice, draft=Draft(text=f"Memory {number}."))
    sent = archive_of(alice)
    backwards = with_lines(files_of(sent), "sources", lines_of(sent, "sources")[::-1])
    result = taken(mallory, resigned(backwards))
    assert result.memories["created"] == 3
    assert result.left["sources"] == 2


def test_moments_ahead_become_the_present(alice: Actor, mallory: Actor) -> None:
    remember(actor=alice, draft=Draft(text="Good."))
    sent = archive_of(alice)
    line = {**lines_of(sent, "memories")[0], "created_at": "2150-01-01T00:00:00Z", "recorded_at": "2150-01-01"}
    taken(mallory, resigned(with_lines(files_of(sent), "memories", [line])))
    with owner_scope(mallory.owner_id):
        row = Memory.objects.get()
        assert row.created_at.year < 2150
        assert row.recorded_at.year < 2150


def test_an_agent_reaches_nothing_that_is_hidden_from_it(alice: Actor, make_agent: MakeAgent) -> None:
    """An archive may name ids of rows of this owner; that makes nobody see or link them."""
    spy, _ = make_agent(alice, "spy", scopes=list(Permission))
    other, _ = make_agent(alice, "other")
    hidden = remember(actor=other, draft=Draft(text="Hidden."), scope="agent").memory_id
    seen = remember(actor=spy, draft=Draft(text="Seen.")).memory_id
    sent = archive_of(spy)
    lines = lines_of(sent, "memories")
    lines.append({**lines[0], "id": str(hidden), "text": "Hidden."})
    lines.sort(key=lambda line: line["id"])
    edge = {
        "id": str(new_id()), "source_id": str(seen), "target_id": str(hidden), "kind": EdgeKind.SUPPORTS,
        "weight": 0.5, "insight_id": str(hidden), "scope": str(alice.owner_id),
    }  # fmt: skip
    files = with_lines(with_lines(files_of(sent), "memories", lines), "edges", [edge])
    result = taken(spy, resigned(files))
    with owner_scope(alice.owner_id):
        assert not MemoryEdge.objects.filter(target_id=hidden).exists()
        assert not MemoryEdge.objects.filter(insight_id=hidden).exists()
        assert Memory.objects.get(pk=hidden).version == 1
    assert result.memories["restored"] == 0


def test_an_archive_lets_no_agent_of_ours_into_a_group_of_ours(
    alice: Actor, mallory: Actor, make_agent: MakeAgent
) -> None:
    def members(owner: Actor) -> dict[str, set[str]]:
        names = {agent.pk: agent.name for agent in list_agents(actor=owner)}
        return {group.name: {names[one] for one in inside} for group, inside in list_groups(actor=owner)}

    spy, _ = make_agent(alice, "spy")
    board = create_group(actor=alice, kind="project", name="board")
    forged, _ = make_agent(mallory, "spy")
    other, _ = make_agent(mallory, "clerk")
    named = create_group(actor=mallory, kind="project", name="board")
    fresh = create_group(actor=mallory, kind="squad", name="crew")
    for group, agent in ((named, forged), (named, other), (fresh, forged)):
        set_membership(actor=mallory, group_id=group.pk, agent_id=agent.caller_id, member=True)
    data = resigned(files_of(archive_of(mallory)))
    result = taken(alice, data)
    assert result.left["memberships"] == 1
    assert members(alice) == {"board": {"clerk"}, "crew": {"spy"}}
    assert taken(alice, data).left["memberships"] == 1
    set_membership(actor=alice, group_id=board.pk, agent_id=spy.caller_id, member=True)
    assert "memberships" not in taken(alice, data).left


def test_a_stranger_can_name_no_row_of_ours(alice: Actor, mallory: Actor) -> None:
    ours = remember(actor=alice, draft=Draft(text="Ours.")).memory_id
    sent = archive_of(alice)
    result = taken(mallory, sent)
    assert result.memories["created"] == 1
    with owner_scope(mallory.owner_id):
        assert Memory.objects.get().pk != ours


@pytest.mark.parametrize(("bound", "most"), [("MOST_ROWS_OF_ONE", 5), ("MOST_BYTES_OF_ONE", 5 * 600)])
def test_more_on_one_memory_than_is_taken_is_left(
    alice: Actor, mallory: Actor, monkeypatch: pytest.MonkeyPatch, bound: str, most: int
) -> None:
    monkeypatch.setattr(limits, bound, most)
    monkeypatch.setattr(limits, "VALUE_BYTES", 60)
    remember(actor=alice, draft=Draft(text="Good."))
    sent = archive_of(alice)
    source = lines_of(sent, "sources")[0]
    padded = {**source, "x": [0] * (8 - len(source))}
    assert len(padded) == len(source) + 1
    result = taken(mallory, resigned(with_lines(files_of(sent), "sources", [padded] * 60)))
    assert texts(mallory) == {"Good."}
    assert 60 > result.left["sources"] >= 50
    assert result.history["sources"] == 60 - result.left["sources"] > 0


def _with_versions(sent: bytes, *changes: Any) -> bytes:
    line = lines_of(sent, "memories")[0]
    version = {name: line[name] for name in ("scope", "created_at")}
    version |= {"memory_id": line["id"], "sealed_for": None, "text": "Before.", "actor": "person", "reason": "changed"}
    lines = [{**version, "id": str(new_id()), "number": n, "changes": one} for n, one in enumerate(changes, 1)]
    return resigned(with_lines(files_of(sent), "versions", lines))


def test_a_version_keeps_what_a_change_can_have_changed(alice: Actor, mallory: Actor) -> None:
    remember(actor=alice, draft=Draft(text="Good."))
    known = {"category": "goal", "metadata": {"x": ["y" * 8_000, "\U0001f642"]}, "pii_kinds": ["email"]}
    large = {"metadata": {"x": "y" * 70_000}}
    result = taken(mallory, _with_versions(archive_of(alice), {**known, "text": "x", "x": [[]] * 1_000}, large))
    assert result.left["versions"] == 1
    with owner_scope(mallory.owner_id):
        assert [row.changes for row in MemoryVersion.objects.all()] == [known]


HOSTILE_CHANGES = [
    {name: value}
    for name in ("valid_from", "expires_at", "importance", "tags", "metadata", "source", "kind", "scope", "pii_kinds")
    for value in (7, "x", True, [None], {"x": "y"}, "2026-13-01")
]


def test_no_former_value_keeps_anybody_from_looking_back(alice: Actor, mallory: Actor) -> None:
    """What a version says of the past is shown: on the page of the memory, and by whoever asks what was so then."""
    then = now() - timedelta(hours=1)
    remember(actor=alice, draft=Draft(text="The first."))
    sent = archive_of(alice)
    (memory,) = lines_of(sent, "memories")
    moment = (now() - timedelta(minutes=1)).isoformat()
    lines = [
        {
            "id": str(new_id()), "memory_id": memory["id"], "number": number, "text": "Before.", "changes": changes,
            "actor": "person", "sealed_for": None, "scope": memory["scope"], "reason": "changed",
            "created_at": moment,
        }
        for number, changes in enumerate(HOSTILE_CHANGES, start=1)
    ]  # fmt: skip
    memory |= {"version": len(lines) + 1, "recorded_at": then.isoformat(), "occurred_at": then.isoformat()}
    files = with_lines(
        with_lines(files_of(sent), "versions", sorted(lines, key=lambda one: one["id"])), "memories", [memory]
    )
    taken(mallory, resigned(files))
    request = ListRequest(as_of=then + timedelta(minutes=1))
    (row,) = list_memories(actor=mallory, request=request, after=None, size=9)
    assert row.text == "Before."
    assert CountedMemorySerializer(row, context={"uses": {}, "at": then}).data["metadata"] in (None, {"x": "y"})
    assert len(history(actor=mallory, memory_id=row.pk)) == len(lines)


def test_half_a_character_is_told_as_a_bad_line(alice: Actor, mallory: Actor) -> None:
    remember(actor=alice, draft=Draft(text="Good."))
    bad: tuple[dict[str, Any], ...] = ({"x": "\ud800"}, {"category": "\ud800"}, {"metadata": {"\udfff": []}})
    for changes in bad:
        with pytest.raises(LociError) as refused:
            taken(mallory, _with_versions(archive_of(alice), changes))
        assert refused.value.machine_code == "archive.line"
    assert texts(mallory) == set()


def test_small_pages_take_the_same(
    alice: Actor, mallory: Actor, make_agent: MakeAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    world(alice, make_agent(alice)[0])
    monkeypatch.setattr(limits, "MOST_PAGE_BYTES", 1)
    sent = archive_of(alice)
    result = taken(mallory, sent)
    assert result.errors == []
    assert result.memories["created"] == len(lines_of(sent, "memories"))
    assert len(lines_of(archive_of(mallory), "sources")) == len(lines_of(sent, "sources"))


def test_nothing_is_stored_of_what_was_tampered_with(alice: Actor, mallory: Actor) -> None:
    remember(actor=alice, draft=Draft(text="Good."))
    data = archive_of(alice)
    for cut in (1, 100, len(data) // 2):
        with pytest.raises(LociError):
            taken(mallory, data[:-cut])
    files = files_of(data)
    files["memories.jsonl"] = files["memories.jsonl"].replace(b"Good", b"Evil")
    with pytest.raises(LociError) as refused:
        taken(mallory, packed(files))
    assert refused.value.machine_code == "archive.damaged"
    assert texts(mallory) == set()
