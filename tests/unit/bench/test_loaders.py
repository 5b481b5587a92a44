"""Reading data: what the files hold comes through, and what is not in its form is refused with a clear error."""

from __future__ import annotations

import copy
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from bench import locomo, personas, sources
from memory.errors import InvalidInput

CONVERSATION: dict[str, Any] = {
    "sample_id": "made-1",
    "conversation": {
        "speaker_a": "Ada",
        "session_10_date_time": "9:05 am on 2 May, 2023",
        "session_10": [{"dia_id": "D10:1", "speaker": "Ada", "text": "The boat is sold."}],
        "session_2_date_time": "1:56 pm on 8 May, 2022",
        "session_2": [
            {"dia_id": "D2:1", "speaker": "Ada", "text": "Look at this.", "blip_caption": "a green boat"},
            {"dia_id": "D2:2", "speaker": "Ben", "text": "Lovely!"},
        ],
    },
    "qa": [
        {"question": "Which boat?", "evidence": ["D2:1; D10:1"], "category": 4},
        {"question": "Where is it?", "evidence": ["D7:1"], "category": 1},
        {"question": "Why?", "category": 5},
    ],
}
PERSONA: dict[str, Any] = {
    "name": "someone",
    "about": "Someone who is made up.",
    "sessions": [
        {
            "id": "s01",
            "at": "2025-03-04T09:12:00+01:00",
            "turns": [{"id": "s01.01", "speaker": "Ada", "role": "user", "text": "The kiln is at 1200 degrees."}],
        }
    ],
    "facts": [{"id": "f01", "kind": "fact", "at": "2025-03-05T09:00:00+01:00", "text": "Ada fires on Mondays."}],
    "questions": [
        {"id": "q1", "text": "How hot?", "category": "number", "evidence": ["s01.01"], "facts": []},
        {"id": "q2", "text": "When does Ada fire?", "category": "time", "evidence": [], "facts": ["f01"]},
        {"id": "q3", "text": "What about Ada?", "category": "multi", "evidence": ["s01.01"], "facts": ["f01"]},
    ],
}


def written(folder: Path, name: str, content: Any) -> Path:
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def test_a_conversation_is_read_in_order(tmp_path: Path) -> None:
    (store,) = locomo.load(written(tmp_path, "a.json", [CONVERSATION]))
    assert [item.id for item in store.items] == ["D2:1", "D2:2", "D10:1"]
    assert store.items[0].text == "Look at this. [image: a green boat]"
    assert store.items[0].at == datetime(2022, 5, 8, 13, 56, tzinfo=UTC)
    assert [(one.session, one.speaker) for one in store.items][1:] == [("session_2", "Ben"), ("session_10", "Ada")]


def test_questions_without_known_evidence_are_not_asked(tmp_path: Path) -> None:
    (store,) = locomo.load(written(tmp_path, "a.json", [CONVERSATION]))
    assert [(one.text, one.category) for one in store.questions] == [("Which boat?", "4")]
    assert store.questions[0].evidence == {"D2:1", "D10:1"}


@pytest.mark.parametrize(
    "content",
    ["{", '{"a": 1}', "[1]", "[{}]", '[{"sample_id": "a", "conversation": {"session_1": []}, "qa": []}]'],
    ids=["json", "object", "number", "keys", "date"],
)
def test_other_files_are_refused(tmp_path: Path, content: str) -> None:
    with pytest.raises(ValueError, match="a.json is not a LoCoMo file"):
        locomo.load(written(tmp_path, "a.json", content))


def test_a_persona_is_stored_with_and_without_statements(tmp_path: Path) -> None:
    path = written(tmp_path, "someone.json", PERSONA)
    turns, both = personas.read(path, mixed=False), personas.read(path, mixed=True)
    assert [item.id for item in turns.items] == ["s01.01"]
    assert [(one.text, set(one.evidence)) for one in turns.questions] == [
        ("How hot?", {"s01.01"}),
        ("What about Ada?", {"s01.01"}),
    ]
    assert [(item.id, item.session, item.kind) for item in both.items][1] == ("f01", None, "fact")
    assert [set(one.evidence) for one in both.questions] == [{"s01.01"}, {"f01"}, {"s01.01", "f01"}]


def broken(*path: Any, value: Any) -> dict[str, Any]:
    persona = copy.deepcopy(PERSONA)
    place: Any = persona
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    return persona


@pytest.mark.parametrize(
    "persona",
    [
        "{",
        [],
        {"name": "someone"},
        broken("sessions", 0, "at", value="yesterday"),
        broken("sessions", 0, "turns", 0, value={"id": "s01.01"}),
        broken("questions", 0, "evidence", value=["s09.01"]),
        broken("facts", value=None),
    ],
    ids=["json", "list", "keys", "date", "turn", "evidence", "facts"],
)
def test_other_personas_are_refused(tmp_path: Path, persona: Any) -> None:
    path = written(tmp_path, "someone.json", persona)
    with pytest.raises(ValueError, match="someone.json is not a persona"):
        personas.read(path, mixed=True)


def test_sources_are_named_after_what_they_hold(tmp_path: Path) -> None:
    path = written(tmp_path, "made-up.json", [CONVERSATION])
    assert [one.name for one in sources.chosen([path], own=True, mixed=False)] == ["made-up", "own"]
    assert [one.name for one in sources.chosen([path], own=True, mixed=True)] == ["made-up", "own-mixed"]
    assert [one.name for one in sources.chosen([], own=True, mixed=True, both=True)] == ["own", "own-mixed"]


def test_the_hardest_questions_are_asked_when_wanted() -> None:
    plain, hard = personas.load(), personas.load(stretch=True)
    for few, every in zip(plain, hard, strict=True):
        assert len(few.items) == len(every.items)
        left_out = {one.category for one in every.questions} - {one.category for one in few.questions}
        assert left_out == personas.STRETCH
    assert sum(len(store.questions) for store in plain) >= 300


@pytest.mark.parametrize(
    ("own", "mixed", "twice", "message"),
    [
        (False, False, False, "Name what to ask"),
        (False, True, False, "belong to --own"),
        (True, False, True, "called made-1"),
    ],
    ids=["nothing", "mixed", "twice"],
)
def test_sources_that_cannot_be_used(tmp_path: Path, own: bool, mixed: bool, twice: bool, message: str) -> None:
    path = written(tmp_path, "a.json", [CONVERSATION])
    with pytest.raises(InvalidInput, match=message):
        sources.chosen([path, path] if twice else [], own=own, mixed=mixed)
