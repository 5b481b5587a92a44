"""The whole plan: where tables go, what is prepared, and what Citus is told, in order."""

from __future__ import annotations

from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from typing import Any, Final

from memory.services.distribution.catalogue import Catalogue, Table
from memory.services.distribution.places import OWNERS, Place, column_of, place_of
from memory.services.distribution.preparing import Step, preparation, quoted, within_walls

DEFAULT_SHARDS: Final = 64
FEWEST_SHARDS: Final = 1
# More make every look-up over all owners slower than it is worth; Citus's own limit is far above.
MOST_SHARDS: Final = 4096
PROJECTS: Final = (
    "NEO4J_URI: changes of graphs are noted by triggers that ask tables of the coordinator, so graphs that are spread "
    "cannot be projected; run `python3 manage.py graph forget --all` while NEO4J_URI is set, then leave it out"
)
# Session settings that every connection to the coordinator needs, each with the reason.
SETTINGS: Final = {
    "citus.propagate_set_commands": ("local", "the owner of a transaction must be known on the owner's server"),
    "citus.enable_unsafe_triggers": ("on", "the guards of the audit and of owners look at rows of the same owner only"),
    "citus.allow_nested_distributed_execution": ("on", "these guards ask tables, all on the owner's own server"),
}


@dataclass(frozen=True, slots=True)
class Placed:
    """Where one table goes."""

    table: str
    place: Place
    column: str
    why: str
    rows: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Plan:
    """All of it. `problems` keep it from being carried out."""

    database: str
    shards: int
    has_citus: bool
    tables: tuple[Placed, ...]
    prepare: tuple[Step, ...]
    spread: tuple[Step, ...]
    problems: tuple[str, ...]

    def statements(self) -> list[str]:
        """List all statements, in order."""
        return [text for step in (*self.prepare, *self.spread) for text in step.statements]

    def summary(self) -> dict[str, Any]:
        """Give the plan as what JSON can hold, without its statements."""
        return {
            "database": self.database,
            "shards": self.shards,
            "citus": self.has_citus,
            "tables": {
                one.table: {
                    "place": str(one.place), "column": one.column, "why": one.why, "rows": one.rows, "bytes": one.bytes,
                }
                for one in self.tables
            },
            "changes": [
                {"kind": step.kind, "table": step.table, "subject": step.subject, "why": step.why,
                 "by_hand": step.by_hand}
                for step in self.prepare
            ],
            "problems": list(self.problems),
        }  # fmt: skip


def make_plan(catalogue: Catalogue, *, shards: int = DEFAULT_SHARDS, projects: bool = False) -> Plan:
    """Plan the distribution of a database.

    Args:
        catalogue: as `read_catalogue` gives it.
        shards: of each table, 1 to 4096; a power of two several times the number of servers leaves room to grow.
        projects: whether this installation projects graphs to Neo4j or has some there, which keeps it from being
            spread.

    Raises:
        ValueError: `shards` is out of its range.
    """
    if not FEWEST_SHARDS <= shards <= MOST_SHARDS:
        raise ValueError(f"shards must be {FEWEST_SHARDS} to {MOST_SHARDS}")
    placed = tuple(_placed(table) for _, table in sorted(catalogue.tables.items()))
    prepare = tuple(preparation(catalogue))
    problems = [f"{one.table}: {one.why}" for one in placed if one.place == Place.UNPLANNED]
    problems += [f"{step.table}.{step.subject}: {step.why}" for step in prepare if step.by_hand]
    problems += _wall_problems(catalogue, placed)
    if projects:
        problems.append(PROJECTS)
    return Plan(
        catalogue.database, shards, catalogue.has_citus, placed, prepare,
        tuple(_spread(catalogue, placed, shards)), tuple(problems),
    )  # fmt: skip


def _placed(table: Table) -> Placed:
    place, why = place_of(table.name, frozenset(table.columns))
    column = column_of(table.name) if place == Place.DISTRIBUTED else ""
    return Placed(table.name, place, column, why, table.rows, table.bytes)


def _wall_problems(catalogue: Catalogue, placed: tuple[Placed, ...]) -> list[str]:
    return [
        f"{one.table}: no row-level security; every shard would show it to every owner"
        for one in placed
        if one.place == Place.DISTRIBUTED and one.table != OWNERS and not catalogue.tables[one.table].has_row_security
    ]


def _spread(catalogue: Catalogue, placed: tuple[Placed, ...], shards: int) -> list[Step]:
    settings = [
        Step(
            "setting", "", name, why,
            (f"ALTER DATABASE {quoted(catalogue.database)} SET {name} = '{value}'", f"SET {name} = '{value}'"),
        )
        for name, (value, why) in SETTINGS.items()
    ]  # fmt: skip
    steps = []
    for one in placed:
        if one.place == Place.REFERENCE:
            steps.append(
                Step(
                    "reference table", one.table, one.table, one.why, (f"SELECT create_reference_table('{one.table}')",)
                )
            )
    names = [one.table for one in placed if one.place == Place.DISTRIBUTED]
    for name in _targets_first(catalogue, names):
        where = f"shard_count => {shards}" if name == OWNERS else f"colocate_with => '{OWNERS}'"
        call = f"SELECT create_distributed_table('{name}', '{column_of(name)}', {where})"
        steps.append(Step("distributed table", name, name, "rows of one owner lie together", (call,)))
    return settings + within_walls(catalogue, steps)


def _targets_first(catalogue: Catalogue, names: list[str]) -> list[str]:
    """Order tables so that what others refer to comes before them, owners first of all.

    Raises:
        ValueError: tables refer to each other in a circle, which has to be taken apart by hand.
    """
    sorter: TopologicalSorter[str] = TopologicalSorter()
    for name in names:
        targets = {one.target for one in catalogue.tables[name].references} & set(names)
        sorter.add(name, *sorted((targets | {OWNERS} & set(names)) - {name}))
    try:
        return list(sorter.static_order())
    except CycleError as error:
        raise ValueError(f"these tables refer to each other in a circle: {', '.join(error.args[1])}") from error
