"""Asking the model of a run, and going on without it: what it cost and why it gave nothing stand in the report."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeVar

from memory.consolidation.asking import Answer, Asking, Unanswered
from memory.privacy import injection
from memory.services.consolidation.stages import StageContext, StageReport

T = TypeVar("T")

COMPONENTS: Final[Mapping[str, str]] = {
    "summaries": "memory_summaries",
    "reflection": "memory_reflection",
    "skills": "memory_skills",
    "patterns": "memory_sleep",
}
"""The part of Loci as which each stage asks, by the name of its report; keys of `LLM_ROUTES`."""
BY_MODEL: Final = "way:llm"
BY_RULES: Final = "way:rules"
INJECTION: Final = "llm.injection"


def ask_text(
    context: StageContext, report: StageReport, system: str, parts: Sequence[Any], *, max_tokens: int | None = None
) -> str | None:
    """Ask for a text; None where there is no model or it gave nothing usable, which the report says.

    What reads like instructions to a model is not usable: it would be repeated whenever it is recalled.
    """
    text = _asked(context, report, lambda asking: asking.text(system, parts, max_tokens=max_tokens))
    if text is not None and injection.scan(text):
        note_way(report, INJECTION)
        note_way(report, BY_RULES)
        return None
    return text


def ask_json(
    context: StageContext,
    report: StageReport,
    system: str,
    parts: Sequence[Any],
    *,
    schema: Mapping[str, Any],
    check: Callable[[Any], T],
    max_tokens: int | None = None,
) -> T | None:
    """Ask for JSON; None as `ask_text`."""
    return _asked(
        context,
        report,
        lambda asking: asking.json(system, parts, schema=schema, check=check, max_tokens=max_tokens),
    )


def note_way(report: StageReport, way: str) -> None:
    """Note once how a stage did its work."""
    if way not in report.notes:
        report.notes.append(way)


def _asked(context: StageContext, report: StageReport, ask: Callable[[Asking], Answer[T]]) -> T | None:
    if context.model is None:
        note_way(report, BY_RULES)
        return None
    try:
        answer = ask(Asking(context.model, component=COMPONENTS[report.name], local=context.local))
    except Unanswered as error:
        context.spend(error.usage)
        report.count("llm_failures")
        note_way(report, error.machine_code)
        note_way(report, BY_RULES)
        return None
    context.spend(answer.usage)
    note_way(report, BY_MODEL)
    return answer.value
