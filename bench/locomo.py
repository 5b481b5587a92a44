"""The LoCoMo protocol: conversations, questions and the turns that answer them (Maharana et al., ACL 2024)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.dataset import Item, Question, Store


def load(path: Path) -> list[Store]:
    """Read a data file.

    Raises:
        ValueError: the file is not in the published form.
    """
    try:
        samples = json.loads(path.read_text(encoding="utf-8"))
        return [_store(sample) for sample in samples]
    except (KeyError, TypeError, json.JSONDecodeError) as error:
        raise ValueError(f"{path.name} is not a LoCoMo file: {error}") from error


def _store(sample: dict[str, Any]) -> Store:
    turns = list(_turns(sample["conversation"]))
    known = {turn.id for turn in turns}
    questions = []
    for item in sample["qa"]:
        evidence = frozenset(_ids(item.get("evidence") or ())) & known
        if evidence:
            questions.append(Question(str(item["question"]), evidence, str(item["category"])))
    return Store(str(sample["sample_id"]), turns, questions)


def _turns(conversation: dict[str, Any]) -> Iterator[Item]:
    numbers = sorted(int(match[1]) for name in conversation if (match := re.fullmatch(r"session_(\d+)", name)))
    for number in numbers:
        session = f"session_{number}"
        spoken_at = _moment(conversation[f"{session}_date_time"])
        for turn in conversation[session]:
            text = str(turn.get("text", ""))
            caption = turn.get("blip_caption")
            if caption:
                text = f"{text} [image: {caption}]"
            yield Item(str(turn["dia_id"]), text, spoken_at, session, str(turn["speaker"]))


def _ids(evidence: Any) -> Iterator[str]:
    for entry in evidence:
        yield from (part for part in re.split(r"[;,\s]+", str(entry)) if part)


def _moment(text: str) -> datetime:
    return datetime.strptime(text, "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)
