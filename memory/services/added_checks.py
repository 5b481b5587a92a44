"""Checks that parts of the product hang into the installation's health, so that health knows none of them."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from memory.services.findings import Finding

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Check:
    """A check: its name, what looks, and whether that asks the database."""

    name: str
    look: Callable[[], Finding]
    asks_database: bool


_checks: Final[list[Check]] = []


def add_check(name: str, look: Callable[[], Finding], *, asks_database: bool = False) -> None:
    """Have a check run with the others; for `AppConfig.ready`. A second one of the same name takes the first's place.

    Args:
        name: a word or two, which operators see; that of the findings, too.
        look: tells what is so within a few milliseconds: it asks no server but the database, and Redis where that is
            used, opens no text, and says nothing secret or personal. It fails only when requests cannot be served.
        asks_database: whether it is passed over while the database does not answer.
    """
    _checks[:] = [one for one in _checks if one.name != name]
    _checks.append(Check(name, look, asks_database))


def remove_check(name: str) -> None:
    """Take a check out again."""
    _checks[:] = [one for one in _checks if one.name != name]


def added_findings(*, database: bool) -> list[Finding]:
    """Run the checks that were added; one that breaks is itself a finding.

    Args:
        database: whether the database answers.
    """
    return [_run(check) for check in _checks if database or not check.asks_database]


def _run(check: Check) -> Finding:
    try:
        return check.look()
    except Exception as error:
        logger.exception("a check of health broke and is passed over")
        return Finding(check.name, "degraded", f"This could not be looked at ({type(error).__name__}).")
