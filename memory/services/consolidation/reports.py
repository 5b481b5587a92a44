"""The reports of a run's stages as its row keeps them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from memory.services.consolidation.groups import Group
from memory.services.consolidation.stages import StageReport

if TYPE_CHECKING:
    # The stages themselves may need these shapes.
    from memory.services.consolidation.order import Step

WAITING: Final = "waiting"
STOPPED: Final = "stopped"

Kept = dict[str, Any]
"""A report in JSON: name, group, state, counts, notes and skipped_reason."""


def kept(report: StageReport, group: Group) -> Kept:
    """Give a report the form in which it is kept."""
    return {
        "name": report.name,
        "group": str(group),
        "state": report.state,
        "counts": dict(report.counts),
        "notes": list(report.notes),
        "skipped_reason": report.skipped_reason,
    }


def waiting(steps: Iterable[Step]) -> list[Kept]:
    """Give the entries of stages that have not begun, so that a run's row says what it is to do."""
    return [kept(StageReport(step.name, state=WAITING), step.group) for step in steps]


def groups_to_do(reports: Sequence[Mapping[str, Any]]) -> tuple[Group, ...]:
    """Give the groups whose stages have not all ended, in the order of a run."""
    undone = {report["group"] for report in reports if report["state"] in (WAITING, STOPPED)}
    return tuple(group for group in Group if group in undone)
