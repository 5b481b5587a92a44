"""The page about health, in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from memory.palace.health_words import check_name
from memory.palace.numbers import local, whole
from memory.palace.sentences import said
from memory.services.findings import Finding, Status
from memory.services.health import state_of
from telemetry.services.score_card import ScoreCard

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

SENTENCES: Final[dict[Status, StrOrPromise]] = {
    "ok": gettext_lazy("Everything works."),
    "degraded": gettext_lazy("Loci works, with less than all of its parts."),
    "failing": gettext_lazy("Something that requests need does not work."),
}
NOTICES: Final[dict[Status, str]] = {"ok": "success", "degraded": "warning", "failing": "error"}
WORDS: Final[dict[Status, StrOrPromise]] = {
    "ok": gettext_lazy("works"),
    "degraded": gettext_lazy("works with less"),
    "failing": gettext_lazy("does not work"),
}
NOT_SET_UP: Final = gettext_lazy("none is set up")
REASONS: Final[dict[str, StrOrPromise]] = {
    "budgets": gettext_lazy("The budget of a model is used up, or nearly so."),
    "consolidation": gettext_lazy("A run failed or is late; it is tried again."),
    "disk": gettext_lazy("There is little room left."),
    "embedder": gettext_lazy("I search by words until it answers."),
    "language model": gettext_lazy("What rules can do goes on."),
    "memory": gettext_lazy("It is switched off."),
    "planner": gettext_lazy("Searches may be slow."),
    "queue": gettext_lazy("Work waits longer than it should."),
    "reranker": gettext_lazy("What is found keeps the order that it had."),
    "replica": gettext_lazy("The same is found, in the database itself."),
    "vectors": gettext_lazy("Some memories are found by words only until they are read for meaning."),
    "worker": gettext_lazy("Work in the background waits: consolidation, forgetting and erasing."),
}
"""What those who do not run the server are told of a check that is not well, where it means something to them."""


@dataclass(frozen=True, slots=True)
class CheckRow:
    """One check as the page shows it; `remedy` is for those who run the server, and so is the exact `detail`."""

    name: str
    status: Status
    word: str
    detail: str = ""
    remedy: str = ""


def installation_view(findings: Sequence[Finding], *, staff: bool) -> dict[str, Any]:
    """Say how the installation is; to people who do not run it with plain reasons and without remedies.

    What is worst stands first, the rest in the order in which it was looked at.
    """
    state = state_of(findings)
    order: tuple[Status, ...] = ("failing", "degraded", "ok")
    rows = [
        CheckRow(
            check_name(found.name),
            found.status,
            str(WORDS[found.status] if found.there else NOT_SET_UP),
            said(found.detail) if staff else _reason(found),
            said(found.remedy) if staff and found.status != "ok" else "",
        )
        for found in sorted(findings, key=lambda one: order.index(one.status))
    ]
    return {
        "state": state,
        "notice": NOTICES[state],
        "sentence": str(SENTENCES[state]),
        "checks": rows,
        "well": sum(found.status == "ok" for found in findings),
        "remedies": any(row.remedy for row in rows),
    }


def _reason(found: Finding) -> str:
    return "" if found.status == "ok" else str(REASONS.get(found.name, ""))


def score_view(card: ScoreCard) -> dict[str, Any]:
    """Say how healthy the memory is."""
    standing, backlog = card.standing, card.backlog
    return {
        "score": card.score,
        "empty": not standing.memories and not standing.entities,
        "deductions": [replace(one, meaning=_(one.meaning), remedy=_(one.remedy)) for one in card.deductions],
        "numbers": [
            (_("Memories"), whole(standing.memories)),
            (_("Active"), whole(standing.active)),
            (_("Stale"), whole(standing.stale)),
            (_("Left by time, on average"), local(f"{standing.average_decay:.0%}")),
            (_("Ever recalled"), whole(standing.used)),
            (_("Entities"), whole(standing.entities)),
            (_("Without a relation"), whole(standing.unrelated_entities)),
            (_("Relations"), whole(standing.relations)),
        ],
        "backlog": [
            (
                _("Reviews that wait for you"),
                whole(backlog.reviews),
                _("Doubts of consolidation, for a person to decide."),
            ),
            (
                _("Contradictions not decided"),
                whole(backlog.contradictions),
                _("Two memories that cannot both hold."),
            ),
            (
                _("Not drawn from yet"),
                whole(backlog.unextracted),
                _("Consolidation takes them in its next runs."),
            ),
            (
                _("Without a vector"),
                local(f"{backlog.without_vector:,} ({backlog.without_vector_share:.0%})"),
                _("They are found by words only."),
            ),
            (
                _("Of low confidence"),
                local(f"{backlog.low_confidence:,} ({backlog.low_confidence_share:.0%})"),
                _("Loci is less than half sure of them."),
            ),
        ],
    }
