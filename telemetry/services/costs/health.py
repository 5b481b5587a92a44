"""What budgets say to the health of the installation: how many are reached, and never whose."""

from __future__ import annotations

from typing import Final

from memory.services.findings import Finding
from telemetry.services.costs.spending import reached

NAME: Final = "budgets"


def budgets_finding() -> Finding:
    """Tell how many owners have reached a limit, of those for whom this process has asked models that cost."""
    counts = reached()
    if counts["hard"]:
        return Finding(
            NAME,
            "degraded",
            f"The budget for models is used up for {_owners(counts['hard'])}; no model that costs is asked for them.",
            "They can raise it under Telemetry, Costs, or wait until its day or month is over.",
        )
    if counts["soft"]:
        return Finding(NAME, "ok", f"The soft limit for models is reached for {_owners(counts['soft'])}; work goes on.")
    return Finding(NAME, "ok", "No budget for models is known to be reached.")


def _owners(count: int) -> str:
    return "one owner" if count == 1 else f"{count} owners"
