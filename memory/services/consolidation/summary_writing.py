"""Writing one summary: by the model where there is one, else from the sentences that say most."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from memory.consolidation.summarising import Passage, choose
from memory.crypto.keyring import keyring
from memory.models import EdgeKind, Kind, Memory, Role, Status, SummaryLevel, owner_scope
from memory.services.actors import Target
from memory.services.consolidation.asked import ask_text
from memory.services.consolidation.derived import (
    ABOUT,
    ORIGIN,
    Derivation,
    live_about,
    made_about,
    made_here,
    prepare,
    write,
)
from memory.services.consolidation.stages import StageContext, StageReport
from memory.services.drafts import Draft
from memory.services.graph.writing import change_graph
from memory.services.opening import opened

SOURCE: Final = f"{ORIGIN}/summaries"
READ: Final = "read"

PROMPT_CHARACTERS: Final = 12_000
PROMPT_SENTENCES: Final = 200
MOST_TURNS: Final = 2_000
ROWS_AT_ONCE: Final = 200

SYSTEM: Final = (
    "Sum up these {what} of one person's memory in {sentences} sentences. Keep what will matter later: people, "
    "decisions, plans, facts, numbers, dates and open questions, and who said or wants what. Write whole sentences in "
    "the language of the texts, in the third person. Add nothing that the texts do not say. Write the summary alone."
)


@dataclass(frozen=True, slots=True)
class Measure:
    """How long a summary of a level may be, and what its texts are called."""

    sentences: int
    characters: int
    what: str
    importance: float


MEASURES: Final = {
    SummaryLevel.SESSION: Measure(5, 900, "turns of a conversation", 0.6),
    SummaryLevel.DAILY: Measure(5, 1_000, "turns of one day", 0.7),
    SummaryLevel.WEEKLY: Measure(8, 1_600, "summaries of days", 0.7),
    SummaryLevel.GLOBAL: Measure(12, 2_400, "summaries of weeks and statements", 0.8),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What a summary is of.

    Attributes:
        about: its key, for example `day:2026-03-01`; there is one live summary for each in a scope.
        level: of the summary.
        heading: the first line of the text.
        target: who may read it, and all that it is made from.
        occurred_at: when what it tells of happened last.
        tags: of the summary.
        link: as in a derivation.
    """

    about: str
    level: SummaryLevel
    heading: str
    target: Target
    occurred_at: datetime
    tags: Sequence[str] = ()
    link: EdgeKind = EdgeKind.DERIVED_FROM


@dataclass(frozen=True, slots=True)
class Written:
    """What became of a summary: the live one if there is one, and whether this run wrote it."""

    memory_id: UUID | None
    changed: bool


def fingerprint(context: StageContext, rows: Sequence[tuple[UUID, int]]) -> str:
    """Hash the ids and versions of what a summary is made from, so that an unchanged batch is told without opening."""
    ring = keyring().of(context.actor.owner_id)
    return ring.digest("\n".join(f"{memory_id}:{version}" for memory_id, version in rows)).hex()[:32]


def write_summary(
    context: StageContext,
    report: StageReport,
    subject: Subject,
    rows: Sequence[tuple[UUID, int]],
) -> Written:
    """Make or renew a summary; without effect when it was made from the same rows before.

    Args:
        context: of the run.
        report: counts what was written, found unchanged or left empty.
        subject: what is summed up.
        rows: ids and versions of the memories to sum up, in their order; the newest 2,000 count.

    Returns:
        The summary; without a memory when nothing says anything, or when a source was erased meanwhile.
    """
    mark = fingerprint(context, rows)
    with owner_scope(context.actor.owner_id):
        before = made_about(context.actor, subject.about, kind=Kind.SUMMARY, scope=subject.target.scope)
        same = [row for row in before if (row.metadata or {}).get(READ) == mark]
        if same:
            report.count("unchanged")
            return Written(same[-1].pk, False)
    passages = _passages(context, [memory_id for memory_id, _ in rows][-MOST_TURNS:])
    made = _by_model(context, report, subject, passages) or _by_rules(subject, passages)
    if made is None:
        report.count("empty")
        return Written(None, False)
    text, sources = made
    prepared = prepare(
        context.actor,
        Derivation(draft=_draft(subject, text, mark), target=subject.target, sources=sources, link=subject.link),
    )
    with change_graph(context.actor, now=context.moment):
        # Looked up again in the owner's turn, so that a second run cannot make a second one.
        current = live_about(context.actor, subject.about, kind=Kind.SUMMARY, scope=subject.target.scope)
        row = write(context.actor, prepared, replaces=current, moment=context.moment)
        if row is None:
            report.count("sources_gone")
            return Written(None, False)
        if made_here(row) and (row.metadata or {}).get(READ) != mark:
            row.metadata = {**(row.metadata or {}), READ: mark}
            row.save(update_fields=["metadata"])
    report.count(str(subject.level))
    return Written(row.pk, True)


def _draft(subject: Subject, text: str, mark: str) -> Draft:
    return Draft(
        text=text,
        kind=Kind.SUMMARY,
        category="summary",
        summary_level=subject.level,
        importance=MEASURES[subject.level].importance,
        tags=subject.tags,
        source=SOURCE,
        metadata={ABOUT: subject.about, READ: mark},
        occurred_at=subject.occurred_at,
    )


def _by_model(
    context: StageContext, report: StageReport, subject: Subject, passages: Sequence[Passage[UUID]]
) -> tuple[str, list[UUID]] | None:
    measure = MEASURES[subject.level]
    told, sources = _told(passages)
    if not told:
        return None
    system = SYSTEM.format(what=measure.what, sentences=f"three to {measure.sentences}")
    answer = ask_text(context, report, system, told, max_tokens=1_024)
    if answer is None:
        return None
    body = answer.strip()
    if len(body) > 2 * measure.characters:
        body = f"{body[: 2 * measure.characters - 1].rstrip()}…"
    return f"{subject.heading}\n{body}", sources


def _told(passages: Sequence[Passage[UUID]]) -> tuple[list[dict[str, str]], list[UUID]]:
    """Give what is told to the model: everything, or the sentences that say most where that is too much."""
    if sum(len(one.text) for one in passages) <= PROMPT_CHARACTERS:
        kept = [(one, one.text) for one in passages]
    else:
        chosen = choose(passages, most=PROMPT_SENTENCES, characters=PROMPT_CHARACTERS)
        kept = [(one.passage, one.text) for one in chosen]
    told = [{"when": f"{one.occurred_at:%Y-%m-%d %H:%M}", "who": one.speaker, "text": text} for one, text in kept]
    return told, list(dict.fromkeys(one.key for one, _ in kept))


def _by_rules(subject: Subject, passages: Sequence[Passage[UUID]]) -> tuple[str, list[UUID]] | None:
    measure = MEASURES[subject.level]
    chosen = choose(passages, most=measure.sentences, characters=measure.characters)
    if not chosen:
        return None
    lines = [f"- {one.passage.speaker}: {one.text}" if one.passage.speaker else f"- {one.text}" for one in chosen]
    sources = list(dict.fromkeys(one.passage.key for one in chosen))
    return "\n".join([subject.heading, *lines]), sources


def _passages(context: StageContext, ids: Sequence[UUID]) -> list[Passage[UUID]]:
    """Open the texts of memories part by part, so that no long transaction is open while they are decrypted."""
    found: list[Passage[UUID]] = []
    for start in range(0, len(ids), ROWS_AT_ONCE):
        part = ids[start : start + ROWS_AT_ONCE]
        with owner_scope(context.actor.owner_id):
            rows = {row.pk: row for row in opened(list(Memory.objects.filter(pk__in=part, status=Status.LIVE)))}
        found += [
            Passage(key=row.pk, text=_said(row), speaker=_who(row), occurred_at=row.occurred_at)
            for memory_id in part
            if (row := rows.get(memory_id)) is not None and not row.tool_name
        ]
    return found


def _said(row: Memory) -> str:
    """Give what a memory says; of a summary its sentences, without heading and bullets."""
    if row.kind != Kind.SUMMARY:
        return str(row.text)
    lines = str(row.text).split("\n")[1:] or [str(row.text)]
    return "\n".join(line.removeprefix("- ") for line in lines)


def _who(row: Memory) -> str:
    if row.kind != Kind.TURN:
        return ""
    return row.speaker or ("Assistant" if row.role == Role.ASSISTANT else "User")
