"""The look for personal data by meaning, in what neither pattern nor length has brought to a look before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from memory.services.classifying import ALL, OFF, Looked, look
from memory.services.consolidation.groups import MORE
from memory.services.consolidation.stages import SKIPPED, StageContext, StageReport

NAME: Final = "privacy"
ABORTED: Final = "aborted"
"""The note by which the report says that too many answers did not come or could not be used."""
SWITCHED_OFF: Final = "switched off"
NO_MODEL: Final = "no language model"


def classify_rest(context: StageContext) -> Sequence[StageReport]:
    """Let the language model read live texts that none has read; see `memory.services.classifying`.

    At most 40 of them in a run; the others are left to the next one, which follows at once. After three answers that
    did not come or could not be used the stage ends, says so, and is due again a while later.
    """
    report = StageReport(NAME)
    wished = context.settings["privacy_model"]
    if wished == OFF or context.model is None:
        report.state, report.skipped_reason = SKIPPED, SWITCHED_OFF if wished == OFF else NO_MODEL
        return [report]
    found = look(
        owner_id=context.actor.owner_id,
        model=context.model,
        at=context.moment,
        rest=wished == ALL,
        beat=context.beat,
    )
    context.spend(found.usage)
    _tell(report, found)
    return [report]


def _tell(report: StageReport, found: Looked) -> None:
    report.counts |= {
        "looked": found.looked,
        "raised": found.raised,
        "reembedded": found.reembedded,
        "changed_meanwhile": found.changed,
        "unreadable": found.unreadable,
        "llm_failures": found.errors,
        "given_up": found.given_up,
    }
    report.notes.extend(found.codes)
    if found.aborted:
        report.notes.append(ABORTED)
    elif found.more:
        report.notes.append(MORE)
