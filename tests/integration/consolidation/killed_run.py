"""A run of the product's own stages in a process of its own, which kills itself before a chosen write of a stage.

Call it with the owner's id, the moment, and where wished a stage and the number of the write. It prints how many
writes each stage made.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

WRITES = ("INSERT", "UPDATE", "DELETE", "WITH")


class At:
    """A clock that stands still."""

    def __init__(self, moment: datetime) -> None:
        self.moment = moment

    def now(self) -> datetime:
        return self.moment


class Counter:
    """Counts the writes of one stage, and ends the process before the one that is chosen."""

    def __init__(self, fatal: int) -> None:
        self.fatal = fatal
        self.count = 0

    def __call__(self, execute: Callable[..., Any], sql: Any, params: Any, many: bool, context: Any) -> Any:
        text = str(sql).lstrip().upper()
        if text.startswith(WRITES) and any(word in text for word in WRITES[:3]):
            self.count += 1
            if self.count == self.fatal:
                os.kill(os.getpid(), signal.SIGKILL)
        return execute(sql, params, many, context)


def main(owner: str, moment: str, stage: str = "", write: str = "0") -> None:
    import django

    django.setup()
    from django.db import connection

    from memory.models import RunTrigger
    from memory.services import clock
    from memory.services.consolidation.groups import Group
    from memory.services.consolidation.order import STEPS, Step
    from memory.services.consolidation.runner import run_consolidation
    from memory.services.consolidation.stages import Stage, StageContext, StageReport

    clock.set_clock(At(datetime.fromisoformat(moment)))
    counted: dict[str, int] = {}

    def counting(step: Step) -> Step:
        work: Stage = step.stage

        def counted_stage(context: StageContext) -> Sequence[StageReport]:
            counter = Counter(int(write) if step.name == stage else 0)
            with connection.execute_wrapper(counter):
                reports = work(context)
            counted[step.name] = counter.count
            return reports

        return Step(step.name, step.group, counted_stage)

    run = run_consolidation(
        owner_id=UUID(owner), trigger=RunTrigger.HAND, groups=list(Group), steps=[counting(step) for step in STEPS]
    )
    assert run is not None
    json.dump({"writes": counted, "state": run.state, "stages": run.stages}, sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])
