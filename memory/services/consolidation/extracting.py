"""Drawing from a batch, outside any transaction, and what becomes of the rows from which nothing could be drawn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, time, timedelta
from typing import Final
from uuid import UUID

from django.db import connection

from memory.errors import BudgetExceeded
from memory.models import DueWork, ExtractionFailure, current_owner
from memory.ports import Extract, Passage
from memory.services.consolidation.selection import Batch
from memory.services.consolidation.stages import StageContext, StageReport
from memory.services.writing import call_for_work

MOST_ATTEMPTS: Final = 5
FIRST_WAIT_SECONDS: Final = 300
# What is said of a text, and not of the model being away: only these use up a row's attempts.
OUTAGE: Final = ("llm.", "provider.", "budget.")
UNUSABLE: Final = "llm.unusable"
NOT_ASKED: Final = BudgetExceeded.code
"""What is said of a row about which the model must not be asked before the budget's next day or month."""

LONGEST_PART: Final = 16_000
"""Characters of a text that are read at once by what does not work by prompts."""
PART: Final = "/"
UNREAD: Final = ("extraction.characters", "extraction.bytes")
"""Codes under which extractors count what they did not read."""

UPSERT: Final = """
    INSERT INTO memory_extractionfailure (owner_id, memory_id, code, attempts, failed_at, next_at)
    SELECT %(owner)s, f.memory_id, f.code, (f.code <> %(not_asked)s)::int, %(at)s::timestamptz,
        CASE f.code WHEN %(not_asked)s THEN %(next_day)s::timestamptz
            ELSE %(at)s::timestamptz + make_interval(secs => %(wait)s) END
    FROM unnest(%(ids)s::uuid[], %(codes)s::text[]) AS f (memory_id, code)
    JOIN memory_memory m ON m.owner_id = %(owner)s AND m.id = f.memory_id ORDER BY f.memory_id
    ON CONFLICT (owner_id, memory_id) DO UPDATE SET
        code = excluded.code, failed_at = excluded.failed_at,
        attempts = least(memory_extractionfailure.attempts + excluded.attempts, 1000),
        next_at = CASE WHEN excluded.code = %(not_asked)s THEN excluded.next_at
            WHEN memory_extractionfailure.attempts + 1 < %(most)s OR excluded.code = ANY(%(outages)s::text[])
            THEN excluded.failed_at + make_interval(
                secs => %(wait)s * power(2, least(memory_extractionfailure.attempts, %(most)s - 1))) END
"""


def extract(context: StageContext, batch: Batch, report: StageReport) -> Extract:
    """Ask the extractor for what a batch holds, and count it.

    What works by prompts divides long texts itself, since a prompt has room for other texts too; for the others a long
    text is read in parts, so that nothing of it is left out.
    """
    passages = batch.passages
    if not context.extractor.prompts:
        passages = [part for passage in passages for part in parts_of(passage)]
    drawn = _whole(context.extractor.extract(passages))
    context.spend(drawn.usage)
    for name in ("entities", "relations", "facts", "events", "causes"):
        report.count(name, len(getattr(drawn, name)))
    report.count("failed", len(drawn.failed))
    if NOT_ASKED in drawn.failed.values() and NOT_ASKED not in report.notes:
        report.notes.append(NOT_ASKED)
    for code, count in sorted(drawn.left_out.items()):
        report.count(f"left_out.{code}", count)
    context.totals.bytes_skipped += sum(drawn.left_out.get(code, 0) for code in UNREAD)
    return drawn


def parts_of(passage: Passage) -> list[Passage]:
    """Divide a long passage at the ends of lines or sentences, or between words; one that is not long stays whole."""
    text = passage.text
    if len(text) <= LONGEST_PART:
        return [passage]
    parts: list[Passage] = []
    begin = 0
    while begin < len(text):
        end = begin + LONGEST_PART
        if end < len(text):
            room = text[begin:end]
            ends = max(room.rfind("\n"), room.rfind(". "), room.rfind("。"))
            end = begin + 1 + (ends if ends > LONGEST_PART // 2 else max(room.rfind(" "), 0) or LONGEST_PART - 1)
        parts.append(replace(passage, key=f"{passage.key}{PART}{len(parts)}", text=text[begin:end]))
        begin = end
    return parts


def _whole(drawn: Extract) -> Extract:
    """Let what was drawn from parts cite the passages that they are parts of."""
    return replace(
        drawn,
        entities=[replace(one, passages=tuple(dict.fromkeys(map(_key, one.passages)))) for one in drawn.entities],
        relations=[replace(one, passage=_key(one.passage)) for one in drawn.relations],
        facts=[replace(one, passage=_key(one.passage)) for one in drawn.facts],
        events=[replace(one, passage=_key(one.passage)) for one in drawn.events],
        causes=[replace(one, passage=_key(one.passage)) for one in drawn.causes],
        failed={_key(key): code for key, code in drawn.failed.items()},
    )


def _key(key: str) -> str:
    return key.split(PART, 1)[0]


def is_outage(code: str) -> bool:
    """Tell whether a failure says nothing of the text: what it was to be asked of was away."""
    return code.startswith(OUTAGE) and code != UNUSABLE


def note_failures(failed: Mapping[UUID, str], moment: datetime) -> None:
    """Keep and list rows from which nothing could be drawn; within the owner's scope.

    They are tried again after 5 minutes and twice as long each time, five times, and only listed from then on; what
    failed because the model was away goes on being tried. What the budget forbade counts as no attempt and is tried
    when the next day begins (UTC), on which a budget may begin anew.

    Args:
        failed: codes by memory; memories that are gone are passed over.
        moment: now.
    """
    if not failed:
        return
    ids = sorted(failed)
    with connection.cursor() as cursor:
        cursor.execute(
            UPSERT,
            {
                "owner": current_owner(),
                "ids": ids,
                "codes": [failed[memory_id][:64] for memory_id in ids],
                "at": moment,
                "wait": FIRST_WAIT_SECONDS,
                "most": MOST_ATTEMPTS,
                "not_asked": NOT_ASKED,
                "next_day": next_day(moment),
                "outages": sorted({code for code in failed.values() if is_outage(code)}),
            },
        )


def next_day(moment: datetime) -> datetime:
    """Give the beginning of the UTC day after a moment's."""
    return datetime.combine(moment.astimezone(UTC).date() + timedelta(days=1), time(), UTC)


def try_what_was_not_asked(*, at: datetime, due_at: datetime) -> int:
    """Let the next run try what the budget forbade, since the budget has changed; within the owner's scope.

    Args:
        at: now; a run by hand tries it from then on.
        due_at: when workers are to try it, who may know of the change a few seconds later.

    Returns:
        How many rows.
    """
    changed: int = ExtractionFailure.objects.filter(code=NOT_ASKED, next_at__gt=at).update(next_at=at)
    if changed:
        call_for_work(DueWork.CONSOLIDATE, due_at=due_at)
    return changed


def forget_failures(memory_ids: list[UUID]) -> None:
    """Drop what is listed of rows that have been drawn from after all."""
    ExtractionFailure.objects.filter(memory_id__in=memory_ids).delete()
