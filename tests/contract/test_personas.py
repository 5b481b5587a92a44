"""The personas that quality is measured on: their form, that evidence is there, and that nothing stands twice."""

from __future__ import annotations

import json
from collections import Counter
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from bench.personas import FOLDER, load
from memory.models import Kind, Role

CATEGORIES = {
    "single",
    "multi",
    "time",
    "change",
    "number",
    "identifier",
    "paraphrase",
    "preference",
    "german",
    "spanish",
    "chinese",
    "cross",
}
FILES = sorted(FOLDER.glob("*.json"))


def read(path: Path) -> dict[str, Any]:
    persona: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return persona


@pytest.fixture(params=FILES, ids=[path.stem for path in FILES])
def persona(request: pytest.FixtureRequest) -> dict[str, Any]:
    return read(request.param)


def turns(persona: dict[str, Any]) -> list[dict[str, Any]]:
    return [turn for session in persona["sessions"] for turn in session["turns"]]


def test_there_are_enough() -> None:
    assert len(FILES) >= 3
    assert sum(len(read(path)["questions"]) for path in FILES) >= 300
    assert {question["category"] for path in FILES for question in read(path)["questions"]} == CATEGORIES
    assert [store.name for store in load()] == [path.stem for path in FILES]


def test_ids_stand_once_and_in_order(persona: dict[str, Any]) -> None:
    for session in persona["sessions"]:
        assert [turn["id"] for turn in session["turns"]] == [
            f"{session['id']}.{number:02d}" for number in range(1, len(session["turns"]) + 1)
        ]
    ids = [one["id"] for part in ("sessions", "facts", "questions") for one in persona[part]]
    assert [name for name, count in Counter(ids).items() if count > 1] == []
    assert [question["id"] for question in persona["questions"]] == sorted(
        question["id"] for question in persona["questions"]
    )


def test_every_part_has_its_fields(persona: dict[str, Any]) -> None:
    assert set(persona) == {"name", "about", "sessions", "facts", "questions"}
    assert {frozenset(session) for session in persona["sessions"]} == {frozenset({"id", "at", "turns"})}
    assert {frozenset(turn) for turn in turns(persona)} == {frozenset({"id", "speaker", "role", "text"})}
    assert {frozenset(fact) for fact in persona["facts"]} == {frozenset({"id", "kind", "at", "text"})}
    assert {frozenset(one) for one in persona["questions"]} == {
        frozenset({"id", "text", "category", "evidence", "facts"})
    }
    assert {turn["role"] for turn in turns(persona)} <= set(Role.values)
    assert {fact["kind"] for fact in persona["facts"]} <= set(Kind.values) - {Kind.TURN}
    assert {question["category"] for question in persona["questions"]} <= CATEGORIES
    assert all(one["text"].strip() == one["text"] != "" for one in [*turns(persona), *persona["facts"]])


def test_moments_have_a_zone_and_go_forward(persona: dict[str, Any]) -> None:
    moments = [datetime.fromisoformat(session["at"]) for session in persona["sessions"]]
    assert moments == sorted(moments)
    stated = [datetime.fromisoformat(fact["at"]) for fact in persona["facts"]]
    assert all(moment.utcoffset() is not None for moment in (*moments, *stated))


def test_evidence_is_known_and_every_question_has_some(persona: dict[str, Any]) -> None:
    spoken, stated = {turn["id"] for turn in turns(persona)}, {fact["id"] for fact in persona["facts"]}
    for question in persona["questions"]:
        assert question["evidence"] or question["facts"], question["id"]
        assert set(question["evidence"]) <= spoken, question["id"]
        assert set(question["facts"]) <= stated, question["id"]
        assert len(set(question["evidence"])) == len(question["evidence"]), question["id"]


def test_no_question_stands_twice(persona: dict[str, Any]) -> None:
    asked = Counter(question["text"].casefold() for question in persona["questions"])
    assert [text for text, count in asked.items() if count > 1] == []
