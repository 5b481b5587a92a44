"""Loci's own dataset: invented people with their conversations, statements and questions, in several languages."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from bench.dataset import Item, Question, Store

# Categories that a model of one language cannot be expected to answer: the evidence is in another language, or shares
# no word with the question on purpose. They show what a stronger embedder or reranker is worth.
STRETCH: Final = frozenset({"cross", "paraphrase"})
FOLDER: Final = Path(__file__).parent / "personas"


def load(folder: Path = FOLDER, *, mixed: bool = False, stretch: bool = False) -> list[Store]:
    """Read the personas.

    Args:
        folder: the folder of their files.
        mixed: store the statements beside the turns; they are evidence too then, and questions that only a statement
            answers are asked as well.
        stretch: ask the questions of `STRETCH` too.

    Raises:
        ValueError: a file is not in the form that `docs/quality.md` describes.
    """
    return [read(path, mixed=mixed, stretch=stretch) for path in sorted(folder.glob("*.json"))]


def read(path: Path, *, mixed: bool, stretch: bool = False) -> Store:
    """Read one persona, see `load`."""
    try:
        persona = json.loads(path.read_text(encoding="utf-8"))
        return _store(persona, mixed=mixed, stretch=stretch)
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path.name} is not a persona: {error}") from error


def _store(persona: Mapping[str, Any], *, mixed: bool, stretch: bool) -> Store:
    items = [
        Item(
            id=turn["id"],
            text=turn["text"],
            at=datetime.fromisoformat(session["at"]),
            session=session["id"],
            speaker=turn["speaker"],
            role=turn["role"],
        )
        for session in persona["sessions"]
        for turn in session["turns"]
    ]
    if mixed:
        items += [
            Item(id=fact["id"], text=fact["text"], at=datetime.fromisoformat(fact["at"]), kind=fact["kind"])
            for fact in persona["facts"]
        ]
    known = {item.id for item in items}
    questions = []
    for question in persona["questions"]:
        if question["category"] in STRETCH and not stretch:
            continue
        wanted = [*question["evidence"], *(question.get("facts", ()) if mixed else ())]
        if unknown := set(wanted) - known:
            raise ValueError(f"{question['id']} names {', '.join(sorted(unknown))}")
        if wanted:
            questions.append(Question(question["text"], frozenset(wanted), question["category"]))
    return Store(persona["name"], items, questions)
