"""One insight from the memories of a window and their links."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from memory.consolidation.extraction import llm_values as values
from memory.models import Kind, Memory, Status, Tier
from memory.privacy import injection
from memory.services.actors import Actor, Target
from memory.services.consolidation import derived
from memory.services.consolidation.asleep import Sleeper
from memory.services.consolidation.connections import Connection
from memory.services.consolidation.derived import Derivation, Prepared
from memory.services.consolidation.stages import StageReport
from memory.services.consolidation.window import Window
from memory.services.drafts import Draft

SHORTEST: Final = 10
ANSWER_TOKENS: Final = 4_096
"""Room for models that think aloud; the insight itself is a sentence."""

SALIENCE: Final = 0.8
# It is a model's guess from several memories, so it weighs less than what somebody said.
CONFIDENCE: Final = 0.7

INSTRUCTION: Final = """\
Each item of the list is a stored memory with its id, or under `connections` what was found to link some of them. \
Write one insight that follows from several of these memories together and that none of them says alone: a pattern, a \
tension, a cause or a need. One or two sentences, at most 280 characters, in the language of most of the memories, \
with names instead of ids. Claim nothing that the memories do not support. Answer with the insight alone; when \
nothing follows from them, answer NONE."""


def find(sleeper: Sleeper, window: Window, connections: Sequence[Connection], report: StageReport) -> str:
    """Ask for an insight; an empty text where none came, which the report says.

    What reads like instructions to a model is none: it would be repeated whenever it is recalled.
    """
    if not sleeper.awake:
        return ""
    said = sleeper.text("insight", INSTRUCTION, _parts(window, connections), max_tokens=ANSWER_TOKENS)
    if said is None:
        return ""
    text = values.line(said)
    if len(text) < SHORTEST:
        report.notes.append("insight.none")
        return ""
    if injection.scan(text, injection.Level.STANDARD):
        report.notes.append("insight.injection")
        return ""
    return text


def prepare(actor: Actor, text: str, window: Window, target: Target, run_id: UUID) -> Prepared:
    """Make an insight ready to be stored; never call it inside a transaction."""
    origin = f"{derived.ORIGIN}/{run_id}"
    draft = Draft(
        text=text,
        kind=Kind.INSIGHT,
        tier=Tier.SEMANTIC,
        category="insight",
        confidence=CONFIDENCE,
        source=origin,
        metadata={derived.ABOUT: f"insight/{run_id}"},
        occurred_at=max(row.occurred_at for row in window.rows),
    )
    return derived.prepare(actor, Derivation(draft=draft, target=target, sources=[row.pk for row in window.rows]))


def store(actor: Actor, prepared: Prepared, *, moment: datetime) -> UUID | None:
    """Store an insight; call it within `change_graph`.

    None where a memory that it stands on is gone meanwhile, or where somebody has said the very same already.
    """
    said = Memory.objects.filter(
        scope=prepared.derivation.target.scope,
        content_hash=prepared.ready.content_hash,
        status=Status.LIVE,
        session=None,
    )
    if said.exclude(kind=Kind.INSIGHT).exists():
        return None
    row = derived.write(actor, prepared, moment=moment)
    if row is None:
        return None
    Memory.objects.filter(pk=row.pk, slept_at=None).update(salience=SALIENCE, slept_at=moment)
    return row.pk


def _parts(window: Window, connections: Sequence[Connection]) -> list[Any]:
    numbers = {row.pk: number for number, row in enumerate(window.rows, start=1)}
    told = [
        {"from": numbers[one.source], "to": numbers[one.target], "kind": one.kind, "relationship": one.relationship}
        for one in connections
    ]
    return [*window.parts(), {"connections": told}] if told else window.parts()
