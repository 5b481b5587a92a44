"""The arms of a recall, asked one after the other, each in a savepoint with a limit and a time-out of its own."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Final, TypeVar
from uuid import UUID

from django.db import DatabaseError
from psycopg.errors import QueryCanceled

from memory.ports.reading import reading as connection
from memory.ports.statement_limits import within_limit_ms
from memory.recall import dense, fusion, graph_arm, lexical, time_window
from memory.recall.budgets import OTHERS, TotalBudget, budget_of
from memory.recall.graph_arm import Answer
from memory.recall.lexical import LexicalModel, WordScore
from memory.recall.profiles import RecallProfile
from memory.recall.query import Query
from memory.recall.statistics import owner_statistics
from memory.recall.stopwatch import part, stage

logger = logging.getLogger(__name__)

T = TypeVar("T")

# Up to so many memories the words' scores of all are fetched at once, which saves asking again for some.
ALL_WORDS_ROWS: Final = 2_000
# How many of the best rows of the other arms a walk over the graph begins from.
WALKED_FROM: Final = 10


@dataclass(slots=True)
class Found:
    """What the arms found.

    `asked` holds the rows that each arm gave, best first; `complete` adds the exact scores of the other candidates.
    `model` are the weights of the query's words, and `words` which of them stand in a row. `failed` says of each part
    that did not answer, why: `arm.timeout`, `arm.failed`, `arm.skipped` when no time was left, or the code of what it
    needs. `rows` is how many memories the owner has. `scored` is what the lexical search gave; with `all_words` no
    other memory holds a word of the query. `graph` is what the graph arm found, with the walk it took. `total` is the
    time of the whole recall, which has begun.
    """

    asked: dict[str, dict[UUID, float]] = field(default_factory=dict)
    complete: dict[str, dict[UUID, float]] = field(default_factory=dict)
    model: LexicalModel | None = None
    words: dict[UUID, int] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    rows: int = 0
    scored: Mapping[UUID, WordScore] = field(default_factory=dict)
    all_words: bool = False
    graph: Answer | None = None
    total: TotalBudget = field(default_factory=TotalBudget)

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
    asked = {arm: min(profile.asked_of_arm(limit), budget_of(arm).rows) for arm in profile.arms}
    with connection.cursor() as cursor:
        cursor.execute(f"SET LOCAL statement_timeout = {within_limit_ms(OTHERS.timeout_ms)}")
    owner = owner_statistics(query.owner_id, at=query.now)
    found.rows = owner.rows
    if owner.expired:
        # They would fill an arm's list, only to be left out of the answer.
        query = replace(query, filters=replace(query.filters, unexpired_at=query.now))
    if "dense" in profile.arms:
        if query.vector is None:
            found.failed["dense"] = query.no_vector
        else:
            wanted = asked["dense"]
            exact = dense.scan_choices.exact(query.owner_id, owner, limit=wanted)
            width = dense.breadth(owner, limit=wanted)
            near = guarded("dense", found, lambda: dense.search(query, wanted, exact=exact, breadth=width))
            if near is not None:
                found.asked["dense"] = near
    if "lexical" in profile.arms and query.terms:

        def words() -> tuple[LexicalModel | None, dict[UUID, WordScore]]:
            built = lexical.build_model(query, profile, owner)
            if built is None:
                return None, {}
            found.all_words = owner.rows <= ALL_WORDS_ROWS and not built.skipped
            return built, lexical.search(query, built, ALL_WORDS_ROWS if found.all_words else asked["lexical"])

        answer = guarded("lexical", found, words)
        if answer is not None:
            found.model = answer[0]
            found.scored = answer[1]
            found.asked["lexical"] = _scores(found, dict(islice(found.scored.items(), asked["lexical"])))
    if "time" in profile.arms and query.windows:
        # The order within a time looks at vectors, which must not fail this arm as well.
        readable = replace(query, vector=None) if "dense" in found.failed else query
        timely = guarded("time", found, lambda: time_window.search(readable, query.windows, asked["time"]))
        if timely is not None:
            found.asked["time"] = timely
    if "graph" in profile.arms and graph_arm.concerned(query, profile.graph):
        _ask_graph(query, profile, found, limit)
    return found


def _ask_graph(query: Query, profile: RecallProfile, found: Found, limit: int) -> None:
    """Ask the graph arm, which comes last since it starts from what the others found too."""
    most = min(profile.asked_of_graph(limit), budget_of("graph").rows)
    hits = leading(fusion.zscore_sum(found.asked, profile.weights)) if profile.graph == "walk" else {}
    answer = guarded("graph", found, lambda: graph_arm.search(query, profile.graph, hits, limit=most, rows=found.rows))
    if answer is not None:
        found.graph = answer
        found.asked["graph"] = answer.rows


def leading(scores: Mapping[UUID, float]) -> dict[UUID, float]:
    """Give the best rows with the share of a walk that begins at each: the softmax of half their scores."""
    best = fusion.ranking(scores)[:WALKED_FROM]
    if not best:
        return {}
    highest = scores[best[0]]
    return {one: math.exp((scores[one] - highest) / 2) for one in best}


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
        unknown = list(every - set(found.asked[name]))
        if unknown:
            found.complete[name].update(guarded(name, found, lambda: score(unknown)) or {})

    if "dense" in found.asked:
        add("dense", lambda unknown: dense.complete(query, unknown))
    if "lexical" in found.asked and model is not None:
        if found.all_words:
            known = {one: found.scored[one] for one in every if one in found.scored}
            found.complete["lexical"] = _scores(found, known)
        else:
            add("lexical", lambda unknown: _scores(found, lexical.complete(query, model, unknown)))
    if found.graph is not None and "graph" in found.asked:
        add("graph", found.graph.of)
    if "time" in found.asked:
        add("time", lambda unknown: time_window.complete(query, query.windows, unknown))


def guarded(name: str, found: Found, run: Callable[[], T]) -> T | None:
    """Run a part of a recall, which only reads, within its budget; one that fails is reported and left out."""
    timeout = found.total.timeout_ms(name)
    if not timeout:
        found.failed[name] = "arm.skipped"
        return None
    try:
        with stage(part(name)), _bounded(timeout):
            return run()
    except DatabaseError as error:
        logger.warning("recall arm %s failed: %s", name, type(error).__name__)
        found.failed[name] = "arm.timeout" if isinstance(error.__cause__, QueryCanceled) else "arm.failed"
        return None


@contextmanager
def _bounded(timeout_ms: int) -> Iterator[None]:
    """Run a block in a savepoint that is rolled back whatever happens, which restores all settings of the block."""
    with connection.cursor() as cursor:
        cursor.execute(f"SAVEPOINT recall_part; SET LOCAL statement_timeout = {within_limit_ms(timeout_ms)}")
        try:
            yield
        finally:
            cursor.execute("ROLLBACK TO SAVEPOINT recall_part; RELEASE SAVEPOINT recall_part")
