"""Goes over the migrations that came after the release line and compares what they break with what they declare."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.contrib.postgres.operations import AddConstraintNotValid, ValidateConstraint
from django.db.migrations import Migration
from django.db.migrations.loader import MigrationLoader

from memory.management.upgrades.finding import Finding
from memory.management.upgrades.operations import Step, judge_operation


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is wrong with one migration."""

    migration: str
    findings: tuple[Finding, ...]
    unneeded: tuple[str, ...]
    without_reason: tuple[str, ...]
    accepted: tuple[str, ...]

    @property
    def passes(self) -> bool:
        """Tell whether processes of the last release survive it."""
        return not (self.findings or self.unneeded or self.without_reason)

    def lines(self) -> Iterator[str]:
        """Say what is wrong, a sentence each."""
        for one in self.findings:
            yield f"{self.migration}: {one.key}: {one.why}. {one.instead}"
        for name in self.unneeded:
            yield f"{self.migration}: `overlap` names {name!r}, and no operation needs it. Take it out."
        for name in self.without_reason:
            yield f"{self.migration}: `overlap` gives no reason for {name!r}."


class UnknownLine(ValueError):
    """The release line names a migration that is not there."""


def check_migrations(released: Mapping[str, str]) -> list[Verdict]:
    """Judge every migration after the release line; reads files only.

    Args:
        released: the last released migration of each app; apps that are not named are not looked at.

    Raises:
        UnknownLine: it names a migration that does not exist.
    """
    loader = MigrationLoader(None, ignore_no_migrations=True)
    for key in released.items():
        if key not in loader.graph.nodes:
            raise UnknownLine(f"{'.'.join(key)} is no migration")
    known = {key for line in released.items() for key in loader.graph.forwards_plan(line)}
    new_tables: set[str] = set()
    verdicts = []
    for key in _in_order(loader):
        if key[0] not in released or key in known:
            continue
        migration = loader.graph.nodes[key]
        verdicts.append(judge_migration(migration, loader.project_state(key, at_end=False), new_tables))
    return verdicts


def _in_order(loader: MigrationLoader) -> list[tuple[str, str]]:
    ordered: list[tuple[str, str]] = []
    for leaf in sorted(loader.graph.leaf_nodes()):
        ordered += [key for key in loader.graph.forwards_plan(leaf) if key not in ordered]
    return ordered


def judge_migration(migration: Migration, state: Any, new_tables: set[str]) -> Verdict:
    """Judge one migration.

    Args:
        migration: any.
        state: the models before it.
        new_tables: tables that the last release does not know; added to.
    """
    findings: list[Finding] = []
    state = state.clone()
    for operation in migration.operations:
        before = state.clone()
        operation.state_forwards(migration.app_label, state)
        findings += judge_operation(Step(operation, migration.app_label, before, state, new_tables))
    findings += _validated_at_once(migration)
    declared: Mapping[str, str] = getattr(migration, "overlap", {})
    used = {name for name in declared for one in findings if one.is_named_by(name)}
    return Verdict(
        f"{migration.app_label}.{migration.name}",
        tuple(one for one in findings if not any(one.is_named_by(name) for name in declared)),
        tuple(sorted(set(declared) - used)),
        tuple(sorted(name for name, reason in declared.items() if not str(reason).strip())),
        tuple(sorted(used)),
    )


def _validated_at_once(migration: Migration) -> Iterator[Finding]:
    """Find constraints that are validated under the lock that adding them has taken."""
    added = {one.constraint.name for one in migration.operations if isinstance(one, AddConstraintNotValid)}
    for one in migration.operations:
        if isinstance(one, ValidateConstraint) and one.name in added:
            why = "all rows are read under the lock of its making"
            yield Finding(f"ValidateConstraint {one.model_name}.{one.name}", why, "Validate it in a later migration.")
