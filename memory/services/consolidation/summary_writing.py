"""Writing one summary: by the model where there is one, else from the sentences that say most."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from typing import Final
from uuid import UUID

from memory.consolidation.summarising import Passage, Sentence, choose
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
    supersede,
    write,
)
from memory.services.consolidation.outdated import Outdated, open_outdated, outdated_turns
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
OVER_TIME: Final = (
    " Say when things were. What a part named no_longer_true says has changed: leave it out, or tell it as past."
)

HOPS: Final = {SummaryLevel.WEEKLY: 1, SummaryLevel.GLOBAL: 2}
"""How many steps lead from what a summary of more than a day is made from to the turns."""

MOST_STATED: Final = 8
"""Sentences of a summary of everything that are statements which hold; weeks share what these leave."""

_DATED: Final = re.compile(r"\[(\d{4}-\d{2}-\d{2})\] ")


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


def fingerprint(context: StageContext, rows: Sequence[tuple[UUID, int]], outdated: Sequence[UUID] = ()) -> str:
    """Hash the ids and versions of what a summary is made from, so that an unchanged batch is told without opening.

    Args:
        context: of the run.
        rows: ids and versions.
        outdated: the turns under them that say nothing that holds any longer.
    """
    ring = keyring().of(context.actor.owner_id)
    parts = [f"{memory_id}:{version}" for memory_id, version in rows] + [f"outdated:{one}" for one in outdated]
    return ring.digest("\n".join(parts)).hex()[:32]


def write_summary(
    context: StageContext,
    report: StageReport,
    subject: Subject,
    rows: Sequence[tuple[UUID, int]],
) -> Written:
    """Make or renew a summary; without effect when it was made from the same rows before.

    A summary of more than a day leaves out what rests on turns whose statements were all contradicted since.

    Args:
        context: of the run.
        report: counts what was written, found unchanged or left empty.
        subject: what is summed up.
        rows: ids and versions of the memories to sum up, in their order; the newest 2,000 count.

    Returns:
        The summary; without a memory when nothing says anything, or when a source was erased meanwhile.
    """
    hops = HOPS.get(subject.level, 0)
    turns = outdated_turns(context, [one for one, _ in rows], subject.target, hops=hops) if hops else []
    mark = fingerprint(context, rows, turns)
    with owner_scope(context.actor.owner_id):
        before = made_about(context.actor, subject.about, kind=Kind.SUMMARY, scope=subject.target.scope)
        same = [row for row in before if (row.metadata or {}).get(READ) == mark]
        if same:
            report.count("unchanged")
            return Written(same[-1].pk, False)
    outdated = open_outdated(context, turns, subject.target)
    passages = _passages(context, [memory_id for memory_id, _ in rows][-MOST_TURNS:], outdated)
    made = _by_model(context, report, subject, passages, outdated) or _by_rules(subject, passages)
    if made is None:
        report.count("empty")
        return Written(None, bool(turns) and _retired(context, subject))
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


def _retired(context: StageContext, subject: Subject) -> bool:
    """Take a summary out of use of which nothing holds any longer; tells whether there was one."""
    with change_graph(context.actor, now=context.moment):
        current = live_about(context.actor, subject.about, kind=Kind.SUMMARY, scope=subject.target.scope)
        if current is not None:
            supersede(current, moment=context.moment)
        return current is not None


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
    context: StageContext,
    report: StageReport,
    subject: Subject,
    passages: Sequence[Passage[UUID]],
    outdated: Outdated,
) -> tuple[str, list[UUID]] | None:
    measure = MEASURES[subject.level]
    told, sources = _told(passages)
    if not told:
        return None
    system = SYSTEM.format(what=measure.what, sentences=f"three to {measure.sentences}")
    if subject.level in HOPS:
        system += OVER_TIME
    told += [{"no_longer_true": text} for text in outdated.statements]
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
    chosen = _chosen(subject.level, passages)
    if not chosen:
        return None
    sources = list(dict.fromkeys(one.passage.key for one in chosen))
    return "\n".join([subject.heading, *(_line(one, dated=subject.level in HOPS) for one in chosen)]), sources


def _chosen(level: SummaryLevel, passages: Sequence[Passage[UUID]]) -> list[Sentence[UUID]]:
    """Choose sentences; of everything there is to know, first statements that hold, then what they do not tell."""
    measure = MEASURES[level]
    stated = [one for one in passages if not one.retold] if level == SummaryLevel.GLOBAL else []
    if not stated:
        return choose(passages, most=measure.sentences, characters=measure.characters)
    first = choose(stated, most=MOST_STATED, characters=measure.characters * 2 // 3)
    texts = [one.text for one in first]
    return first + choose(
        [one for one in passages if one.retold],
        most=measure.sentences - len(first),
        characters=measure.characters - sum(map(len, texts)),
        told=texts,
    )


def _line(sentence: Sentence[UUID], *, dated: bool) -> str:
    passage = sentence.passage
    day = f"[{passage.occurred_at.astimezone(UTC):%Y-%m-%d}] " if dated else ""
    return f"- {day}{passage.speaker}: {sentence.text}" if passage.speaker else f"- {day}{sentence.text}"


def _passages(context: StageContext, ids: Sequence[UUID], outdated: Outdated) -> list[Passage[UUID]]:
    """Open the texts of memories part by part, so that no long transaction is open while they are decrypted."""
    found: list[Passage[UUID]] = []
    for start in range(0, len(ids), ROWS_AT_ONCE):
        part = ids[start : start + ROWS_AT_ONCE]
        with owner_scope(context.actor.owner_id):
            rows = {row.pk: row for row in opened(list(Memory.objects.filter(pk__in=part, status=Status.LIVE)))}
        for memory_id in part:
            row = rows.get(memory_id)
            if row is not None and not row.tool_name:
                found += _lines(row, outdated) if row.kind == Kind.SUMMARY else [_passage(row)]
    return found


def _passage(row: Memory) -> Passage[UUID]:
    return Passage(key=row.pk, text=str(row.text), speaker=_who(row), occurred_at=row.occurred_at)


def _lines(row: Memory, outdated: Outdated) -> list[Passage[UUID]]:
    """Give what a summary says that holds, line by line: without heading and bullets, each with its day if it has one.

    A line without a day tells of the summary's, where that is of one day; else its day is not known.
    """
    found: list[Passage[UUID]] = []
    own = row.occurred_at.astimezone(UTC).date() if row.summary_level == SummaryLevel.DAILY else None
    for line in str(row.text).split("\n")[1:] or [str(row.text)]:
        text = line.removeprefix("- ")
        dated = _DATED.match(text)
        text = text[dated.end() :] if dated else text
        day = date.fromisoformat(dated[1]) if dated else own
        if not outdated.quoted(text, day):
            at = datetime.combine(day, time(), tzinfo=UTC) if day and dated else row.occurred_at
            found.append(Passage(key=row.pk, text=text, speaker="", occurred_at=at, retold=True))
    return found


def _who(row: Memory) -> str:
    if row.kind != Kind.TURN:
        return ""
    return row.speaker or ("Assistant" if row.role == Role.ASSISTANT else "User")
