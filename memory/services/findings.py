"""What a check found: the vocabulary that `health` and `doctor` share."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal

Status = Literal["ok", "degraded", "failing"]

SEVERITY: Final[tuple[Status, ...]] = ("ok", "degraded", "failing")


@dataclass(frozen=True, slots=True)
class Finding:
    """One check's result: `detail` says what is so, `remedy` what to type or do, empty when nothing.

    `there` is False where what was looked at is not set up, by choice.
    """

    name: str
    status: Status
    detail: str
    remedy: str = ""
    there: bool = True


def worst(findings: Iterable[Finding]) -> Status:
    """Give the worst status among findings, `ok` when there are none."""
    return max((finding.status for finding in findings), key=SEVERITY.index, default="ok")
