"""What a stage of consolidation is: a function of a context that gives reports and can be repeated without effect."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from memory.ports import Extractor, LanguageModel, Usage
from memory.services.actors import Actor

DONE: Final = "done"
SKIPPED: Final = "skipped"
FAILED: Final = "failed"


@dataclass(slots=True)
class StageReport:
    """What one stage did: counts by name, codes of what it noticed, and why it did nothing where it did not.

    Reports are kept, shown and logged, so they hold numbers and codes only, nothing of what was read.
    """

    name: str
    state: str = DONE
    counts: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    skipped_reason: str = ""

    def count(self, name: str, by: int = 1) -> None:
        """Add to a count."""
        self.counts[name] = self.counts.get(name, 0) + by


@dataclass(slots=True)
class Totals:
    """What a run has read and what it leaves; the stage that selects keeps these."""

    batches: int = 0
    rows_seen: int = 0
    bytes_seen: int = 0
    bytes_skipped: int = 0
    backlog_rows: int = 0
    backlog_bytes: int = 0
    failed_writes: int = 0


@dataclass(slots=True)
class StageContext:
    """What a stage gets.

    Attributes:
        actor: the system, for one owner.
        run_id: the run's row.
        moment: the moment that counts as now, for the whole run.
        settings: the owner's settings by name, with defaults.
        extractor: what draws from texts.
        model: the language model, None where none is configured or the owner does not let consolidation use it.
        local: whether the model's prompts stay on this machine; where not, personal data is replaced first.
        by_hand: whether somebody asked for the run, so that a stage's own cadence does not count.
        beat: say that the run is alive; call it between units of work and never inside a transaction. Raises RunStopped
            when the run has to end here: its lease is lost, its time is up, or users' work waits.
    """

    actor: Actor
    run_id: UUID
    moment: datetime
    settings: Mapping[str, Any]
    extractor: Extractor
    model: LanguageModel | None = None
    local: bool = True
    by_hand: bool = False
    beat: Callable[[], None] = lambda: None
    usage: Usage = field(default_factory=Usage)
    totals: Totals = field(default_factory=Totals)

    def spend(self, usage: Usage) -> None:
        """Add what a model was used for."""
        self.usage = self.usage + usage


class RunStopped(Exception):
    """The run ends here and the rest is left to a later one; what is committed stays."""

    def __init__(self, reason: str) -> None:
        """Build it; `reason` is a code: `lease.lost`, `time.up` or `work.waiting`."""
        self.reason = reason
        super().__init__(reason)


Stage = Callable[[StageContext], Sequence[StageReport]]
"""Commits on its own, keeps its errors to itself unless they are bugs, and calls models outside transactions."""
