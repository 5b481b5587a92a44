"""What the page of what an agent sees shows, as plain values: lines in order, with what became of each and why."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from memory.models import Memory
from memory.palace.presenters import HitView, hit_view
from memory.privacy import meaning
from memory.privacy.masking import masked, masked_value, values_of
from memory.recall.gate import Verdict
from memory.services.agent_look import Fate, Look, Seen
from memory.services.context import block_of
from memory.services.recall import Recalled

MISSING: Final[Mapping[str, str | Promise]] = {
    "auto_recall.off": gettext_lazy("Auto-recall is switched off for this agent: it gets an empty block."),
    "embedder.unavailable": gettext_lazy("Search by meaning is unavailable, so that only words were searched."),
    "embedder.unfamiliar": gettext_lazy("The model does not know these words, so that only words were searched."),
    "budget.exceeded": gettext_lazy("The budget for models is used up, so that only words were searched."),
    "llm.unavailable": gettext_lazy("The language model did not answer, so that it added nothing."),
    "reranker.unavailable": gettext_lazy("The reranker did not answer, so that memories keep their former order."),
}


@dataclass(frozen=True, slots=True)
class SeenLine:
    """A memory that was found: its line as it is shown, its tokens, and what became of it."""

    view: HitView
    text: str
    tokens: str
    fate: str
    why: str
    notes: tuple[str, ...]
    covered: bool


@dataclass(frozen=True, slots=True)
class Side:
    """What one agent would get; `share` is the part of the budget that is used, in percent."""

    key: str
    agent: str
    profile: str
    block: str
    covered: bool
    lines: list[SeenLine]
    further: list[SeenLine]
    tokens: str
    budget: str
    share: str
    announcement: str
    empty: str
    notices: list[str]


def side(look: Look, *, key: str, agent: str, revealed: bool, now: datetime) -> Side:
    """Describe a look for the page, with personal data covered unless it is to be revealed."""
    lines = [_line(one, place, look, revealed, now) for place, one in enumerate(look.seen, 1)]
    written = [line for line in lines if line.fate == Fate.WRITTEN]
    found = [line for line in lines if line.text]
    count = len(written)
    return Side(
        key=key,
        agent=agent,
        profile=look.block.recalled.profile,
        block=block_of(look.block.shape, [line.text for line in written]),
        covered=any(line.covered for line in lines),
        lines=found,
        further=[line for line in lines if not line.text],
        tokens=str(look.block.tokens),
        budget=str(look.budget),
        share=str(min(100, round(100 * look.block.tokens / look.budget))),
        announcement=ngettext(
            "%(count)d memory, %(tokens)d of %(budget)d tokens",
            "%(count)d memories, %(tokens)d of %(budget)d tokens",
            count,
        )
        % {"count": count, "tokens": look.block.tokens, "budget": look.budget},
        empty="" if count else _nothing(look),
        notices=_notices(look),
    )


def revealed_ids(look: Look) -> list[UUID]:
    """List the memories of which a page hides something."""
    return [one.hit.memory.pk for one in look.seen if _covered(one.text, one.hit.memory) != one.text]


def command(address: str, asked: Mapping[str, Any]) -> str:
    """Write the request that an agent makes for the same block."""
    body = json.dumps({name: value for name, value in asked.items() if value not in (None, "")}, ensure_ascii=False)
    return (
        f'curl -X POST {shlex.quote(address)} -H "Authorization: Bearer $LOCI_KEY"'
        f' -H "Content-Type: application/json" -d {shlex.quote(body)}'
    )


def _line(one: Seen, place: int, look: Look, revealed: bool, now: datetime) -> SeenLine:
    shown = one.text if revealed else _covered(one.text, one.hit.memory)
    covered = shown != one.text
    notes = []
    if one.cleaned:
        notes.append(_("phrases that give orders were replaced"))
    if one.shortened:
        notes.append(_("cut to 600 characters"))
    if one.hit.also:
        said = ngettext("says the same as %d other memory", "says the same as %d other memories", len(one.hit.also))
        notes.append(said % len(one.hit.also))
    if covered:
        notes.append(_("personal data is covered here; the agent gets it whole"))
    return SeenLine(
        view=hit_view(one.hit, place, now),
        text=shown,
        tokens=str(one.tokens),
        fate=str(one.fate),
        why=_why(one, look),
        notes=tuple(notes),
        covered=covered,
    )


def _covered(line: str, row: Memory) -> str:
    """Cover what lists mask, in the line of a memory; what has no line is shown as other lists show it."""
    if not line:
        return ""
    if meaning.kinds_in(row.pii_kinds):
        return masked(line, row.pii_kinds, row.pii_tier).text
    return str(masked_value(line, known=values_of(row.text, row.pii_tier)))


def _why(one: Seen, look: Look) -> str:
    """Say why a memory does not stand in the block; nothing where it does."""
    shape = look.block.shape
    percent, least = round(one.hit.relevance * 100), round(shape.threshold * 100)
    if one.fate == Fate.BUDGET:
        return _("no room: the budget of %(budget)d tokens is used up") % {"budget": look.budget}
    if one.fate == Fate.THRESHOLD:
        return _("below the threshold: %(percent)d %% relevant, %(least)d %% are asked for") % {
            "percent": percent,
            "least": least,
        }
    if one.fate == Fate.LIMIT:
        return _("beyond the limit of %(limit)d memories") % {"limit": shape.limit}
    return ""


def _nothing(look: Look) -> str:
    if look.seen and any(one.fate == Fate.BUDGET for one in look.seen):
        return _("Not even the first memory fits the budget, so the block is empty. Allow more tokens.")
    if look.block.recalled.gate == Verdict.SKIP:
        return _("This prompt needs no memory, such as a greeting or a yes. The agent gets an empty block.")
    if look.block.recalled.gate == Verdict.UNCLEAR:
        return _("This prompt points at nothing by itself, such as “fix it”. The agent gets an empty block.")
    return _("No memory that this agent may read fits the prompt. The agent gets an empty block.")


def _notices(look: Look) -> list[str]:
    said = []
    if look.paused:
        said.append(_("This agent is paused: its keys are refused, and it gets nothing until you resume it."))
    answer: Recalled = look.block.recalled
    for code in answer.degraded:
        kind = code.partition(":")[0]
        said.append(
            str(MISSING[kind])
            if kind in MISSING
            else _("A part of the search did not answer in time and was left out.")
        )
    if answer.fallback:
        said.append(_("No word matched, so the letters of the prompt were looked for in the newest memories."))
    return list(dict.fromkeys(said))
