"""The registry of what a purge goes over: every app and every outside store says here what it keeps of an owner."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Final, Protocol
from uuid import UUID


@dataclass(frozen=True, slots=True)
class Subject:
    """Whose everything is erased: the owner, the login that is joined to it, and the purge itself.

    `key_ids` are of agents' keys whose rows may be gone already; stores elsewhere name something after them.
    """

    owner_id: UUID
    pseudonym: UUID
    purge_id: UUID | None = None
    user_id: UUID | None = None
    key_ids: Sequence[UUID] = ()

    @property
    def ids(self) -> tuple[UUID, ...]:
        """Give the ids that must not stand anywhere afterwards."""
        return (self.owner_id,) if self.user_id is None else (self.owner_id, self.user_id)


@dataclass(frozen=True, slots=True)
class Traces:
    """What the verification looks for beside ids: beginnings of sealed values by table and column, and vectors.

    A vector stands beside the id of its memory.
    """

    sealed: Mapping[str, Mapping[str, Sequence[str]]] = field(default_factory=dict)
    vectors: Sequence[tuple[str, str]] = ()


class Phase(IntEnum):
    """When a target has its turn."""

    # Nobody comes in any more.
    DOORS = 1
    # Queue, caches and stores elsewhere, which are told by rows that are still there.
    STORES = 2
    # Tables of apps that are built on this one, and refer to its rows.
    APPS = 3
    ROWS = 4
    # What is kept of the audit is moved when nothing is recorded any more.
    AUDIT = 5
    # After everything, so that a purge that is interrupted can still say what it found.
    KEYS = 6


class PurgeTarget(Protocol):
    """Something that keeps data of owners. Everything can be repeated, and goes on where it was interrupted."""

    @property
    def name(self) -> str:
        """Name it in previews and receipts."""

    @property
    def tables(self) -> Sequence[str]:
        """List the tables of the database that it answers for."""

    @property
    def outside(self) -> bool:
        """Tell whether it is no part of the database, and is called outside transactions."""

    def count(self, subject: Subject) -> int:
        """Count what there is; 0 for what cannot be counted, such as caches."""

    def erase(self, subject: Subject, most: int) -> int:
        """Erase some of it.

        A target of the database is called in a transaction within the owner's scope, which commits after each step.

        Args:
            subject: whose.
            most: rows of one step, about.

        Returns:
            How many; 0 when nothing is left.
        """

    def remains(self, subject: Subject, traces: Traces) -> int:
        """Count what is left, for the verification."""


# Tables without data of an owner, or whose rows stay; each with the reason.
EXEMPT: Final[Mapping[str, str]] = {
    "memory_owner": "the row goes last, when no other row refers to it any more",
    "memory_embeddingspace": "names models and no person",
    "memory_retiredauditevent": "the audit stays under a pseudonym that names nobody",
    "memory_retiredauditseal": "the audit stays under a pseudonym that names nobody",
    "auth_group": "names groups of permissions",
    "auth_group_permissions": "names permissions of groups",
    "auth_permission": "names permissions",
    "django_content_type": "names models",
    "django_migrations": "names migrations",
    "django_q_schedule": "names jobs that run again and again, without arguments",
}

# Targets whose rows are needed to erase another one: while that one is held up, they stay.
NEEDED_BY: Final[Mapping[str, str]] = {"graph_projections": "neo4j"}

_targets: dict[str, tuple[Phase, PurgeTarget]] = {}
_announced: list[Callable[[], None]] = []


def announce(load: Callable[[], None]) -> None:
    """Have an app's targets registered when somebody first asks for them; for `AppConfig.ready`.

    Targets import much that most processes never need.

    Args:
        load: imports the targets and registers them.
    """
    _announced.append(load)


def load_announced() -> None:
    """Have everything registered that was announced."""
    while _announced:
        _announced.pop(0)()


def register(target: PurgeTarget, *, phase: Phase) -> None:
    """Add a target; within a phase they have their turns in the order in which they were added.

    Raises:
        ValueError: another target has this name.
    """
    known = _targets.get(target.name)
    if known is not None and type(known[1]) is not type(target):
        raise ValueError(f"A purge has a target {target.name!r} already.")
    _targets[target.name] = (phase, target)


def targets(*phases: Phase) -> list[PurgeTarget]:
    """List the targets in the order of their turns, those of some phases or all."""
    load_announced()
    ordered = sorted(_targets.values(), key=lambda entry: entry[0])
    return [target for phase, target in ordered if not phases or phase in phases]
