"""What budgets say to the health of the installation: how many owners have reached one, and never who."""

from __future__ import annotations

from typing import Final

from memory.services.amounts import owners
from memory.services.findings import Finding
from telemetry.services.costs.reached import HARD, SOFT, owners_reached

NAME: Final = "budgets"


def budgets_finding() -> Finding:
    """Tell how many owners have reached a limit, whichever process has noticed it; one query."""
    counts = owners_reached()
    if counts[HARD]:
        return Finding(
            NAME,
            "degraded",
            f"The budget for models is used up for {owners(counts[HARD])}; no model that costs is asked for them.",
            "They can raise it under Telemetry, Costs, or wait until its day or month is over.",
        )
    if counts[SOFT]:
        return Finding(NAME, "ok", f"The soft limit for models is reached for {owners(counts[SOFT])}; work goes on.")
    return Finding(NAME, "ok", "No budget for models is reached.")
