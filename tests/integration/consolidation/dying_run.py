"""A run in a process of its own, of stages that work slowly and say where they are, so that it can be killed there.

Call it with the owner's id and the directory in which stages leave a file when they have done their first row.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from uuid import UUID

SECONDS_A_ROW = 0.3


def steps(folder: Path, *, slow: bool = True) -> tuple[object, ...]:
    """Give one stage for each group that does the same: a note for each row, and a mark on the row, together."""
    from memory.models import Memory, owner_scope
    from memory.services.consolidation.order import Group, Step
    from memory.services.consolidation.stages import StageContext, StageReport
    from memory.services.drafts import Draft
    from memory.services.remember import remember

    def stage(mark: str, name: str) -> Step:
        def work(context: StageContext) -> Sequence[StageReport]:
            report = StageReport(name)
            while True:
                with owner_scope(context.actor.owner_id):
                    rows = Memory.objects.select_for_update().filter(**{mark: None}, kind="decision")
                    row = rows.order_by("created_at", "pk").first()
                    if row is None:
                        return [report]
                    Memory.objects.filter(pk=row.pk).update(**{mark: context.moment})
                    remember(actor=context.actor, draft=Draft(text=f"{name} has done {row.text}", kind="fact"))
                report.count("rows")
                (folder / name).touch()
                context.beat()
                if slow:
                    time.sleep(SECONDS_A_ROW)

        return Step(name, Group(name), work)

    return stage("extracted_at", "knowledge"), stage("slept_at", "sleep"), stage("valid_until", "summaries")


def main() -> None:
    import django

    django.setup()
    from memory.models import RunTrigger
    from memory.services.consolidation.order import Group
    from memory.services.consolidation.runner import run_consolidation

    run_consolidation(
        owner_id=UUID(sys.argv[1]),
        trigger=RunTrigger.SCHEDULE,
        groups=[Group.KNOWLEDGE, Group.SLEEP, Group.SUMMARIES],
        steps=steps(Path(sys.argv[2])),  # type: ignore[arg-type]
    )


if __name__ == "__main__":
    main()
