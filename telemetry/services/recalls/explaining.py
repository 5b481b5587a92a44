"""Why a recall takes as long as it does: its statements once more, with the plans that the database has for them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Final
from uuid import UUID

from django.db import connection

from memory.errors import NotFound
from memory.models import RecallRecord, owner_scope
from memory.recall.profiles import RecallProfile
from memory.recall.query import Query
from memory.recall.stopwatch import current_stage, timed
from memory.services.actors import Actor, Permission
from memory.services.clock import now
from memory.services.features import require_memory
from memory.services.profiles import effective_profile
from memory.services.questions import RecallRequest, ask, without_vector
from memory.services.recall import search
from memory.services.retention import EXPLANATIONS_KEPT

Execute = Callable[[str, Any, bool, dict[str, Any]], Any]

_READS: Final = re.compile(r"\s*(?:SELECT|WITH)\b", re.IGNORECASE)
# A text in quotes, over several lines where it has some; what it was cast to may stay.
_QUOTED: Final = re.compile(r"'(?:[^']|'')*'")
_NUMBER: Final = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?\b")
# Lines whose numbers are measurements; in all others they are values of the question.
_MEASURED: Final = re.compile(
    r"\((?:cost|actual|never)|^\s*(?:Buffers|Planning|Execution|Rows Removed|Heap Fetches|Heap Blocks|Sort Method"
    r"|Batches|Workers?|Index Searches|I/O Timings|Memory|Cache|Hits|JIT|Functions|Timing)\b"
)


@dataclass(frozen=True, slots=True)
class StatementPlan:
    """One statement: in which stage it was sent, how long it took with its plan, and the plan's lines."""

    stage: str
    milliseconds: float
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ExplainedRecall:
    """A recall that was done once more, and its statements in their order."""

    recall_id: UUID
    profile: str
    milliseconds: float
    statements: tuple[StatementPlan, ...]


class _Done(Exception):
    """Ends a transaction that is to leave nothing."""


def explain_recall(*, actor: Actor, recall_id: UUID) -> ExplainedRecall:
    """Do a recall once more and give the plans of its statements, without the values in them.

    The question is that of the stored explanation, with the profile that answered, as it stands now, and without the
    filters that the recall may have had. It runs as the one who asks now. Every statement is sent twice, in a
    transaction that is rolled back; uses are not counted and nothing is kept.

    Args:
        actor: who asks; whoever made the recall, or a person.
        recall_id: a recall of the last seven days.

    Raises:
        PermissionRefused: the actor may not read telemetry, or memories.
        NotFound: no such recall that this one may see.
    """
    require_memory()
    actor.require(Permission.TELEMETRY_READ)
    actor.require(Permission.READ)
    with owner_scope(actor.owner_id):
        records = RecallRecord.objects.filter(pk=recall_id, created_at__gt=now() - EXPLANATIONS_KEPT)
        record = (records if actor.human else records.filter(caller=actor.caller_id)).first()
        if record is None:
            raise NotFound("There is no such recall of yours, or its explanation has expired.")
        text, profile = record.explanation["query"], effective_profile(record.explanation["profile"])
    request = RecallRequest(query=text, reinforce=False, record=False)
    asked = ask(actor, without_vector(actor, text, request), request, profile)
    began = perf_counter()
    plans: list[StatementPlan] = []
    for query in asked.queries:
        plans += _plans(actor, query, profile, request, recall_id)
    return ExplainedRecall(recall_id, profile.name, _milliseconds(began), tuple(plans))


def without_values(lines: list[str]) -> tuple[str, ...]:
    """Take the values out of a plan's lines: texts in quotes, and numbers that are no measurements."""
    cut = _QUOTED.sub("?", "\n".join(lines)).split("\n")
    return tuple(line if _MEASURED.search(line) else _NUMBER.sub("?", line) for line in cut)


def _plans(
    actor: Actor, query: Query, profile: RecallProfile, request: RecallRequest, recall_id: UUID
) -> list[StatementPlan]:
    plans: list[StatementPlan] = []

    def explained(execute: Execute, sql: str, parameters: Any, many: bool, context: dict[str, Any]) -> Any:
        if current_stage() and not many and _READS.match(sql):
            began = perf_counter()
            execute(f"EXPLAIN (ANALYZE, BUFFERS) {sql}", parameters, many, context)
            lines = [str(row[0]) for row in context["cursor"].fetchall()]
            plans.append(StatementPlan(current_stage(), _milliseconds(began), without_values(lines)))
        return execute(sql, parameters, many, context)

    try:
        with owner_scope(actor.owner_id), timed():
            with connection.execute_wrapper(explained):
                search(query, profile, request, recall_id)
            raise _Done
    except _Done:
        return plans


def _milliseconds(began: float) -> float:
    return round((perf_counter() - began) * 1000, 3)
