"""The page about health, in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from memory.services.findings import Finding, Status
from memory.services.health import state_of
from telemetry.services.score_card import ScoreCard

SENTENCES: Final[dict[Status, str]] = {
    "ok": "Everything works.",
    "degraded": "Loci works, with less than all of its parts.",
    "failing": "Something that requests need does not work.",
}
NOTICES: Final[dict[Status, str]] = {"ok": "success", "degraded": "warning", "failing": "error"}
WORDS: Final[dict[Status, str]] = {"ok": "works", "degraded": "works with less", "failing": "does not work"}


@dataclass(frozen=True, slots=True)
class CheckRow:
    """One check as the page shows it; `detail` and `remedy` are for those who run the server."""

    name: str
    status: Status
    word: str
    detail: str = ""
    remedy: str = ""


def installation_view(findings: Sequence[Finding], *, staff: bool) -> dict[str, Any]:
    """Say how the installation is; to people who do not run it without details and remedies.

    What is worst stands first, the rest in the order in which it was looked at.
    """
    state = state_of(findings)
    order: tuple[Status, ...] = ("failing", "degraded", "ok")
    rows = [
        CheckRow(
            found.name.capitalize(),
            found.status,
            WORDS[found.status],
            found.detail if staff else "",
            found.remedy if staff and found.status != "ok" else "",
        )
        for found in sorted(findings, key=lambda one: order.index(one.status))
    ]
    return {
        "state": state,
        "notice": NOTICES[state],
        "sentence": SENTENCES[state],
        "checks": rows,
        "well": sum(found.status == "ok" for found in findings),
        "remedies": any(row.remedy for row in rows),
    }


def score_view(card: ScoreCard) -> dict[str, Any]:
    """Say how healthy the memory is."""
    standing, backlog = card.standing, card.backlog
    return {
        "score": card.score,
        "empty": not standing.memories and not standing.entities,
        "deductions": card.deductions,
        "numbers": [
            ("Memories", f"{standing.memories:,}"),
            ("Active", f"{standing.active:,}"),
            ("Stale", f"{standing.stale:,}"),
            ("Left by time, on average", f"{standing.average_decay:.0%}"),
            ("Ever recalled", f"{standing.used:,}"),
            ("Entities", f"{standing.entities:,}"),
            ("Without a relation", f"{standing.unrelated_entities:,}"),
            ("Relations", f"{standing.relations:,}"),
        ],
        "backlog": [
            ("Reviews that wait for you", f"{backlog.reviews:,}", "Doubts of consolidation, for a person to decide."),
            ("Contradictions not decided", f"{backlog.contradictions:,}", "Two memories that cannot both hold."),
            ("Not drawn from yet", f"{backlog.unextracted:,}", "Consolidation takes them in its next runs."),
            (
                "Without a vector",
                f"{backlog.without_vector:,} ({backlog.without_vector_share:.0%})",
                "They are found by words only.",
            ),
            (
                "Of low confidence",
                f"{backlog.low_confidence:,} ({backlog.low_confidence_share:.0%})",
                "Loci is less than half sure of them.",
            ),
        ],
    }
