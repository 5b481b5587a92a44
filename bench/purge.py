"""Time of purging a whole owner, from the request to the signed receipt, and what is left of it."""

from __future__ import annotations

import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from django.test.utils import override_settings

from bench.synthetic import Generator, build_index, open_space, populate
from memory.errors import InvalidInput
from memory.models import Owner, PurgeState
from memory.services.purge.receipts import verify_receipt
from memory.services.purge.registry import Subject, Traces
from memory.services.purge.requests import begin_purge
from memory.services.purge.runner import run_purge
from memory.services.purge.verification import Look, look_through

MOST: Final = 1_000_000
OF_ONE_OTHER: Final = 5_000


def measure(*, memories: int, others: int, tell: Callable[[str], None]) -> dict[str, Any]:
    """Store generated memories of an owner and of others, purge the owner, and look through the database once more.

    Args:
        memories: of the owner who is purged.
        others: memories of other owners, 5,000 each, spread over all partitions.
        tell: told of progress.

    Returns:
        Rows erased, seconds from the request to the receipt, rows left by a second look, seconds by stage.

    Raises:
        InvalidInput: a number out of range.
    """
    if not (1 <= memories <= MOST and 0 <= others <= MOST):
        raise InvalidInput(f"memories is a number from 1 to {MOST}, others one from 0.", code="bench.range")
    generator = Generator()
    space = open_space()
    actor = populate(generator, space, memories).actor
    tell(f"{memories} memories stored")
    for start in range(0, others, OF_ONE_OTHER):
        populate(generator, space, min(OF_ONE_OTHER, others - start))
    build_index(space)
    tell(f"{others} memories of others stored, index built")
    stages: dict[str, float] = defaultdict(float)
    # A ledger of its own: the installation's must not name owners of a bench.
    with (
        tempfile.TemporaryDirectory(prefix="loci-bench-ledger-") as folder,
        override_settings(KEYS_DIRECTORY=Path(folder), KEYS_DATABASE_URL=""),
    ):
        pseudonym = Owner.objects.values_list("pseudonym", flat=True).get(pk=actor.owner_id)
        begun = last = time.perf_counter()
        made = begin_purge(actor=actor)
        stages["request"] = time.perf_counter() - begun

        def note(step: str) -> None:
            nonlocal last
            moment = time.perf_counter()
            stages[step] += moment - last
            last = moment

        last = time.perf_counter()
        purge = run_purge(purge_id=made.purge.pk, after_step=note)
        seconds = time.perf_counter() - begun
    receipt = purge.receipt or {}
    if purge.state != PurgeState.DONE or not verify_receipt(receipt):
        raise InvalidInput("The purge did not come to its end.", code="bench.failed")
    look = Look()
    look_through(Subject(actor.owner_id, pseudonym), Traces(), look=look, tell=lambda: None)
    slowest = sorted(stages.items(), key=lambda entry: entry[1], reverse=True)[:8]
    return {
        "rows": sum(purge.erased.values()),
        "seconds": round(seconds, 2),
        "left": sum(look.left.values()),
        "memories": memories,
        "others": others,
        "slowest_steps": {name: round(spent, 2) for name, spent in slowest},
        "looked_at": receipt["verification"]["looked_at"],
    }
