"""Carrying a plan out."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from django.db import connections, transaction

from memory.services.distribution.preparing import Step


def carry_out(steps: Sequence[Step], *, using: str, tell: Callable[[Step], None] = lambda step: None) -> None:
    """Run the statements of some steps in one transaction; all of them or none.

    Args:
        steps: in order.
        using: alias of a connection as the role that owns the tables.
        tell: called before each step.

    Raises:
        django.db.DatabaseError: a statement was refused; nothing was changed.
    """
    with transaction.atomic(using=using), connections[using].cursor() as cursor:
        for step in steps:
            tell(step)
            for statement in step.statements:
                cursor.execute(statement)
