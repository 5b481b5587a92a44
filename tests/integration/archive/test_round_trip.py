"""An archive holds everything and comes back the same under other keys and ids."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest

from memory.crypto.signing import signer
from memory.models import Agent, AgentKey, AuditEvent, Memory, MemoryRead, MemorySource, Session, Status, owner_scope
from memory.services.actors import Actor, Permission
from memory.services.archive.registry import left_out, parts
from memory.services.archive.snapshot import snapshot_stream
from memory.services.audit import readers
from memory.services.drafts import Draft
from memory.services.exporting import export_stream
from memory.services.profiles import get_profile
from memory.services.questions import RecallRequest
from memory.services.recall import recall
from memory.services.remember import remember
from memory.services.retirement import archive_memory, delete_memory
from memory.services.settings import get_settings
from tests.apps import ours
from tests.integration.archive.archives import (
    OTHER,
    archive_of,
    files_of,
    lines_of,
    manifest_of,
    resigned,
    taken,
    with_lines,
)
from tests.integration.archive.worlds import world
from tests.integration.bus.conftest import say
from tests.integration.services.looking import called, judging, kinds, looked, stands_for, state, verdict, wish

pytestmark = pytest.mark.django_db(transaction=True)

MakeAgent = Callable[..., tuple[Actor, str]]
COMPARED = (
    "agents", "groups", "memberships", "sessions", "memories", "sources", "versions", "uses", "entities", "mentions",
    "relations", "relation_evidence", "events", "event_evidence", "participants", "causes", "cause_evidence", "edges",
    "skills", "skill_dependencies", "files", "file_versions",
)  # fmt: skip
# What the import itself decides: when it was done, and what follows from the present.
DECIDED_HERE = {
    "agents": {"created_at"},
    "groups": {"created_at"},
    "memberships": {"created_at"},
    "relation_evidence": {"created_at"},
    "event_evidence": {"created_at"},
    "cause_evidence": {"created_at"},
    "skills": {"updated_at", "version", "redundancy", "trust"},
}


def named(data: bytes) -> dict[str, list[str]]:
    """Give the lines of an archive with every id replaced by what it stands for, sorted."""
    names = {manifest_of(data)["owner"]: "owner"}
    for part, columns in (
        ("agents", ["name"]),
        ("groups", ["kind", "name"]),
        ("sessions", ["label"]),
        ("memories", ["text", "status", "position", "created_at"]),
        ("entities", ["type", "name", "visibility"]),
        ("relations", ["label", "valid_from", "valid_until"]),
        ("events", ["text", "occurred_at"]),
        ("causes", ["cause", "effect"]),
        ("skills", ["name"]),
        ("files", ["path"]),
    ):
        for line in lines_of(data, part):
            names[line["id"]] = f"{part}: {[line[column] for column in columns]}"

    def said(value: Any) -> Any:
        if isinstance(value, str):
            for prefix in ("", "agent:", "project:", "squad:"):
                if value.startswith(prefix) and value[len(prefix) :] in names:
                    return prefix + names[value[len(prefix) :]]
        if isinstance(value, dict):
            return {name: said(one) for name, one in value.items()}
        return [said(one) for one in value] if isinstance(value, list) else value

    return {
        part: sorted(
            json.dumps(
                {
                    name: said(value)
                    for name, value in line.items()
                    if name not in DECIDED_HERE.get(part, set()) and (name != "id" or value in names)
                },
                sort_keys=True,
            )
            for line in lines_of(data, part)
        )
        for part in COMPARED
    }


def test_every_table_is_in_the_archive_or_left_out_with_a_reason() -> None:
    models = set(ours())
    held = {part.model for part in parts()}
    assert held | set(left_out()) == models
    assert held.isdisjoint(left_out())
    assert all(len(reason) > 10 for reason in left_out().values())


def test_an_archive_comes_back_the_same_for_another_owner(alice: Actor, mallory: Actor, make_agent: MakeAgent) -> None:
    agent, _ = make_agent(alice)
    world(alice, agent)
    sent = archive_of(alice)
    result = taken(mallory, sent)
    assert result.errors == []
    assert result.signed_here
    assert result.memories["created"] == len(lines_of(sent, "memories"))
    back, came = named(archive_of(mallory)), named(sent)
    for part in COMPARED:
        assert came[part], part
        assert back[part] == came[part], part
    with owner_scope(mallory.owner_id):
        assert AgentKey.objects.count() == 0


def test_what_is_personal_by_meaning_stays_so(alice: Actor, mallory: Actor) -> None:
    text = "Since spring I take salbutamol for my asthma."
    memory_id = state(alice, text)
    state(alice, "The kettle is new.")
    wish(mallory, "flagged")
    with judging({"asthma": verdict("health", phrases=("salbutamol for my asthma",))}) as chat:
        looked(alice, chat)
        sent = archive_of(alice)
        taken(mallory, with_kinds(sent, text, ["health", 7, "no kind"]))
        with owner_scope(mallory.owner_id):
            rows = {row.text: row for row in Memory.objects.all()}
        came = rows[text]
        assert came.pk != memory_id
        assert kinds(mallory, came.pk) == (["health"], 2, False)
        assert kinds(mallory, rows["The kettle is new."].pk) == ([], 0, True)
        assert called(mallory)
        looked(mallory, chat, rest=False)
    assert stands_for(mallory, came.pk, "Since spring I take [HEALTH].")


def with_kinds(sent: bytes, text: str, values: list[Any]) -> bytes:
    lines = [{**line, "pii_kinds": values} if line["text"] == text else line for line in lines_of(sent, "memories")]
    return resigned(with_lines(files_of(sent), "memories", lines))


def test_what_came_is_found(alice: Actor, mallory: Actor, make_agent: MakeAgent) -> None:
    world(alice, make_agent(alice)[0])
    taken(mallory, archive_of(alice))
    found = recall(actor=mallory, request=RecallRequest(query="Where does Ann live?", limit=5))
    assert found.hits[0].memory.text == "Ann lives in Paris."
    texts = {hit.memory.text for hit in found.hits}
    assert not texts & {"Ann lives in Oslo.", "An archived note."}
    assert not found.degraded


def test_importing_twice_adds_nothing(alice: Actor, mallory: Actor, make_agent: MakeAgent) -> None:
    world(alice, make_agent(alice)[0])
    sent = archive_of(alice)
    taken(mallory, sent)
    once = named(archive_of(mallory))
    again = taken(mallory, sent)
    assert again.memories["created"] == again.agents["created"] == again.sessions["created"] == 0
    assert again.memories["existing"] == len(lines_of(sent, "memories"))
    assert all(counts.get("created", 0) == 0 for counts in again.graph.values())
    assert named(archive_of(mallory)) == once


def test_an_interrupted_import_is_finished_by_another_one(
    alice: Actor, mallory: Actor, make_agent: MakeAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    world(alice, make_agent(alice)[0])
    sent = archive_of(alice)
    monkeypatch.setattr("memory.services.archive.restoring_memories.PAGE", 3)

    class Killed(Exception):
        """The process dies here."""

    def dying(part: str, done: int, total: int) -> None:
        if part == "memories" and done >= 6:
            raise Killed

    with pytest.raises(Killed):
        taken(mallory, sent, progress=dying)
    with owner_scope(mallory.owner_id):
        assert 0 < Memory.objects.count() < len(lines_of(sent, "memories"))
    taken(mallory, sent)
    assert named(archive_of(mallory)) == named(sent)


def test_what_stays_behind_is_counted(alice: Actor, mallory: Actor, make_agent: MakeAgent) -> None:
    world(alice, make_agent(alice)[0])
    sent = archive_of(alice)
    result = taken(mallory, sent)
    counts = manifest_of(sent)["counts"]
    for part in ("keys", "access_log", "settings", "profile_overrides"):
        assert result.left[part] == counts[part] > 0
    assert result.settings is None
    assert get_settings(actor=mallory)["values"]["recall_limit"] != 7


def test_settings_come_when_asked_for(alice: Actor, mallory: Actor, make_agent: MakeAgent) -> None:
    world(alice, make_agent(alice)[0])
    result = taken(mallory, archive_of(alice), settings=True)
    assert result.settings == 2
    assert get_settings(actor=mallory)["values"]["recall_limit"] == 7
    assert get_profile(actor=mallory, name="default")["limit"] == 9
    assert "settings" not in result.left


def test_it_says_who_signed(alice: Actor, mallory: Actor) -> None:
    remember(actor=alice, draft=Draft(text="A thing."))
    sent = archive_of(alice)
    manifest = manifest_of(sent)
    assert manifest["public_key"] == signer().public_key.hex()
    ours, theirs = taken(mallory, sent), taken(mallory, resigned(files_of(sent)))
    assert ours.signed_here
    assert not theirs.signed_here
    assert theirs.fingerprint != ours.fingerprint
    assert resigned(files_of(sent), OTHER) != sent


def test_the_archive_is_audited_and_holds_its_own_entry(alice: Actor) -> None:
    sent = archive_of(alice)
    with owner_scope(alice.owner_id):
        event = AuditEvent.objects.get(verb="export")
    assert str(event.object_id) == manifest_of(sent)["id"]
    assert event.actor == "person"
    assert str(event.pk) in {line["id"] for line in lines_of(sent, "access_log")}


def test_no_secret_is_in_it(alice: Actor, make_agent: MakeAgent) -> None:
    _, secret = make_agent(alice)
    sent = archive_of(alice)
    with owner_scope(alice.owner_id):
        key = AgentKey.objects.get()
    text = b"".join(files_of(sent).values())
    for hidden in (secret.encode(), key.prefix.encode(), bytes(key.digest).hex().encode(), b"md5$"):
        assert hidden not in text
    assert b'"username":"alice"' in text


def test_an_agent_gets_what_it_may_read(alice: Actor, make_agent: MakeAgent) -> None:
    agent, _ = make_agent(alice, scopes=list(Permission))
    other, _ = make_agent(alice, "colleague", scopes=list(Permission))
    world(alice, other)
    remember(actor=agent, draft=Draft(text="My own secret."), scope="agent")
    sent = archive_of(agent)
    text = b"".join(files_of(sent).values()).decode()
    assert manifest_of(sent)["complete"] is False
    assert "My own secret." in text
    assert "Ann lives in Paris." in text
    for hidden in ("The agent's own note.", "Only for the moon project.", "Zorro", "colleague", "kitchen", "alice"):
        assert hidden not in text, hidden
    assert manifest_of(sent)["counts"]["access_log"] == 0


def test_what_an_agent_gets_is_counted_as_read(alice: Actor, make_agent: MakeAgent) -> None:
    reader, _ = make_agent(alice, "reader", scopes=[Permission.PRIVACY, Permission.READ, Permission.TRANSFER])
    seen = remember(actor=alice, draft=Draft(text="For everybody.")).memory_id
    hidden = remember(actor=make_agent(alice, "other")[0], draft=Draft(text="Private."), scope="agent").memory_id

    def reads() -> dict[UUID, tuple[UUID, int]]:
        readers.flush()
        with owner_scope(alice.owner_id):
            return {row.memory_id: (row.reader, row.reads) for row in MemoryRead.objects.all()}

    archive_of(alice)
    assert reads() == {}
    archive_of(reader)
    assert reads() == {seen: (reader.agent_id, 1)}
    b"".join(snapshot_stream(actor=reader))
    "".join(export_stream(actor=reader))
    assert reads() == {seen: (reader.agent_id, 3)}
    assert hidden not in reads()


def test_messages_of_the_bus_are_for_persons(alice: Actor, make_agent: MakeAgent) -> None:
    """An agent reads them with a token; the permission for an archive is none."""
    sender, _ = make_agent(alice, "sender", scopes=list(Permission))
    reader, _ = make_agent(alice, "reader", scopes=[Permission.PRIVACY, Permission.READ])
    say(sender, "The deploy word is xylophone.")
    assert [line["text"] for line in lines_of(archive_of(alice), "bus")] == ["The deploy word is xylophone."]
    for agent in (reader, sender):
        assert lines_of(archive_of(agent), "bus") == []


def test_an_agents_import_goes_into_one_scope(alice: Actor, mallory: Actor, make_agent: MakeAgent) -> None:
    world(alice, make_agent(alice)[0])
    spy, _ = make_agent(mallory, "spy", scopes=list(Permission))
    result = taken(spy, archive_of(alice), scope="agent")
    assert result.errors == []
    with owner_scope(mallory.owner_id):
        assert set(Memory.objects.values_list("scope", "agent_id")) == {(spy.agent_id, spy.agent_id)}
        assert Agent.objects.count() == 1
    assert result.left["agents"] == 1


def test_turns_keep_their_places_and_answers(alice: Actor, mallory: Actor, make_agent: MakeAgent) -> None:
    world(alice, make_agent(alice)[0])
    taken(mallory, archive_of(alice))
    with owner_scope(mallory.owner_id):
        session = next(row for row in Session.objects.all() if row.label == "kitchen")
        turns = list(Memory.objects.filter(session=session.pk).order_by("position"))
        assert [turn.text for turn in turns] == ["Shall we cook?", "Yes, soup.", "ok", "ok"]
        assert [turn.reply_to_id for turn in turns] == [None, turns[0].pk, None, turns[1].pk]
        assert (session.turn_count, session.next_position) == (4, 4)


def test_sources_lead_to_turns_that_came_later(alice: Actor, mallory: Actor) -> None:
    statement = remember(actor=alice, draft=Draft(text="Drawn.")).memory_id
    later = remember(actor=alice, draft=Draft(text="The later one.")).memory_id
    with owner_scope(alice.owner_id):
        MemorySource.objects.filter(memory_id=statement).update(turn_id=later)
    taken(mallory, archive_of(alice))
    with owner_scope(mallory.owner_id):
        rows = {row.text: row.pk for row in Memory.objects.all()}
        assert MemorySource.objects.get(memory_id=rows["Drawn."]).turn_id == rows["The later one."]


def test_what_was_about_to_be_erased_is_not_taken_over(alice: Actor, mallory: Actor) -> None:
    gone = remember(actor=alice, draft=Draft(text="Forget this.")).memory_id
    delete_memory(actor=alice, memory_id=gone)
    sent = archive_of(alice)
    assert [line["status"] for line in lines_of(sent, "memories")] == [Status.ERASING]
    assert taken(mallory, sent).memories["erasing"] == 1
    with owner_scope(mallory.owner_id):
        assert not Memory.objects.exists()


def test_an_archive_shows_one_moment(alice: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is stored while it is written is not in it, wherever the writing is."""
    from memory.services.archive import exporting

    for number in range(3):
        remember(actor=alice, draft=Draft(text=f"Before, {number}."))
    pieces = exporting.archive_stream(actor=alice)
    monkeypatch.setattr("memory.services.archive.writing.PIECE", 1)
    data = next(pieces)
    remember(actor=alice, draft=Draft(text="Meanwhile."))
    archived = remember(actor=alice, draft=Draft(text="Before, 0.")).memory_id
    archive_memory(actor=alice, memory_id=archived)
    data += b"".join(pieces)
    lines = lines_of(data, "memories")
    assert {(line["text"], line["status"]) for line in lines} == {(f"Before, {n}.", Status.LIVE) for n in range(3)}
    assert manifest_of(data)["counts"]["sources"] == 3
