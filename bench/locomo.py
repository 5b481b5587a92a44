"""The LoCoMo protocol: conversations, questions and the turns that answer them (Maharana et al., ACL 2024)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn: its id in the data, the session it stands in, who speaks, what, and when."""

    dia_id: str
    session: str
    speaker: str
    text: str
    spoken_at: datetime


@dataclass(frozen=True, slots=True)
class Question:
    """One question with the ids of its evidence and its category number."""

    text: str
    evidence: frozenset[str]
    category: int


@dataclass(frozen=True, slots=True)
class Conversation:
    """One conversation with its turns in order and the questions that have evidence."""

    sample_id: str
    turns: list[Turn]
    questions: list[Question]


def load(path: Path) -> list[Conversation]:
    """Read a data file.

    Raises:
        ValueError: the file is not in the published form.
    """
    try:
        samples = json.loads(path.read_text(encoding="utf-8"))
        return [_conversation(sample) for sample in samples]
    except (KeyError, TypeError, json.JSONDecodeError) as error:
        raise ValueError(f"{path.name} is not a LoCoMo file: {error}") from error


def _conversation(sample: dict[str, Any]) -> Conversation:
    turns = list(_turns(sample["conversation"]))
    known = {turn.dia_id for turn in turns}
    questions = []
    for item in sample["qa"]:
        evidence = frozenset(_ids(item.get("evidence") or ())) & known
        if evidence:
            questions.append(Question(str(item["question"]), evidence, int(item["category"])))
    return Conversation(str(sample["sample_id"]), turns, questions)


def _turns(conversation: dict[str, Any]) -> Iterator[Turn]:
    numbers = sorted(int(match[1]) for name in conversation if (match := re.fullmatch(r"session_(\d+)", name)))
    for number in numbers:
        session = f"session_{number}"
        spoken_at = _moment(conversation[f"{session}_date_time"])
        for turn in conversation[session]:
            text = str(turn.get("text", ""))
            caption = turn.get("blip_caption")
            if caption:
                text = f"{text} [image: {caption}]"
            yield Turn(str(turn["dia_id"]), session, str(turn["speaker"]), text, spoken_at)


def _ids(evidence: Any) -> Iterator[str]:
    for entry in evidence:
        yield from (part for part in re.split(r"[;,\s]+", str(entry)) if part)


def _moment(text: str) -> datetime:
    return datetime.strptime(text, "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)
