"""The arms of a recall, asked one after the other, each in a savepoint with a time-out of its own."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeVar
from uuid import UUID

from django.db import DatabaseError, connection, transaction

from memory.recall import dense, lexical
from memory.recall.lexical import LexicalModel, WordScore
from memory.recall.profiles import RecallProfile
from memory.recall.query import Query
from memory.recall.statistics import owner_statistics

logger = logging.getLogger(__name__)

T = TypeVar("T")

ARM_TIMEOUT_MS: Final = 3_000


@dataclass(slots=True)
class Found:
    """What the arms found.

    `asked` holds the rows that each arm gave, best first; `complete` adds the exact scores of the other candidates.
    `model` are the weights of the query's words, and `words` which of them stand in a row. `failed` says of each arm
    that did not answer, why. `rows` is how many memories the owner has.
    """

    asked: dict[str, dict[UUID, float]] = field(default_factory=dict)
    complete: dict[str, dict[UUID, float]] = field(default_factory=dict)
    model: LexicalModel | None = None
    words: dict[UUID, int] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    rows: int = 0

    @property
    def candidates(self) -> set[UUID]:
        """Give every row that some arm found."""
        return set().union(*self.asked.values())

    def coverage(self, memory_id: UUID) -> float | None:
        """Give a row's lexical score as a share of the best possible one; None where no word is shared."""
        score = self.complete.get("lexical", {}).get(memory_id)
        if score is None or self.model is None or not self.model.best_possible:
            return None
        return score / self.model.best_possible


def ask(query: Query, profile: RecallProfile, *, limit: int) -> Found:
    """Ask every arm that the profile names and this version computes for its best rows."""
    found = Found()
    asked = profile.asked_of_arm(limit)
    with connection.cursor() as cursor:
        cursor.execute(f"SET LOCAL statement_timeout = {ARM_TIMEOUT_MS}")
    owner = owner_statistics(query.owner_id)
    found.rows = owner.rows
    if "dense" in profile.arms:
        if query.vector is None:
            found.failed["dense"] = "embedder.unavailable"
        else:
            exact, width = dense.choose_exact(owner), dense.breadth(owner)
            near = guarded("dense", found, lambda: dense.search(query, asked, exact=exact, breadth=width))
            if near is not None:
                found.asked["dense"] = near
    if "lexical" in profile.arms and query.terms:

        def words() -> tuple[LexicalModel | None, dict[UUID, WordScore]]:
            built = lexical.build_model(query, profile, owner)
            return built, lexical.search(query, built, asked) if built else {}

        answer = guarded("lexical", found, words)
        if answer is not None:
            found.model = answer[0]
            found.asked["lexical"] = _scores(found, answer[1])
    return found


def _scores(found: Found, scored: Mapping[UUID, WordScore]) -> dict[UUID, float]:
    """Note which words stand in scored rows, and give the bare scores."""
    found.words.update((memory_id, one.words) for memory_id, one in scored.items())
    return {memory_id: one.score for memory_id, one in scored.items()}


def complete(query: Query, found: Found, further: Collection[UUID] = ()) -> None:
    """Add the exact scores that every candidate, and every further row, has in the arms that did not give it."""
    model = found.model
    every = found.candidates.union(further)
    found.complete = {name: dict(scores) for name, scores in found.asked.items()}

    def add(name: str, score: Callable[[list[UUID]], Mapping[UUID, float]]) -> None:
        unknown = sorted(every - set(found.asked[name]))
        if unknown:
            found.complete[name].update(guarded(name, found, lambda: score(unknown)) or {})

    if "dense" in found.asked:
        add("dense", lambda unknown: dense.complete(query, unknown))
    if "lexical" in found.asked and model is not None:
        add("lexical", lambda unknown: _scores(found, lexical.complete(query, model, unknown)))


def guarded(name: str, found: Found, run: Callable[[], T]) -> T | None:
    """Run a part of a recall in a savepoint of its own; a failing one is reported and left out."""
    try:
        with transaction.atomic():
            return run()
    except DatabaseError as error:
        logger.warning("recall arm %s failed: %s", name, type(error).__name__)
        found.failed[name] = "arm.failed"
        return None
