"""What must change before tables can be spread, as plain PostgreSQL: keys, references, partitions, triggers, functions.

Everything here works on a single server too, and the application runs on the result as before.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from memory.models.tenant_tables import row_security_sql
from memory.services.distribution.catalogue import Catalogue, Index, Reference, Table
from memory.services.distribution.places import Place, column_of, place_of

APPLICATION: Final = "loci_app"
# Sorts before the checks of references, which the server calls by names that begin with "RI_".
BEFORE_CHECKS: Final = "A_forget"
# Functions of triggers whose work is done without where owners are spread, each with the reason.
GIVEN_UP: Final[Mapping[str, str]] = {
    "loci_note_graph_change": "notes what is to be projected to Neo4j on the coordinator; nothing is projected then"
}


@dataclass(frozen=True, slots=True)
class Step:
    """One change: what it is about, why, and its statements. `by_hand` is one that cannot be written by itself."""

    kind: str
    table: str
    subject: str
    why: str
    statements: tuple[str, ...]
    by_hand: bool = False


def quoted(name: str) -> str:
    """Write a name as an identifier."""
    return '"' + name.replace('"', '""') + '"'


def _list(names: tuple[str, ...]) -> str:
    return ", ".join(quoted(name) for name in names)


def preparation(catalogue: Catalogue) -> list[Step]:
    """List all that must change first, in the order in which it is to be done."""
    places = {name: place_of(name, frozenset(table.columns))[0] for name, table in catalogue.tables.items()}
    tables = [table for _, table in sorted(catalogue.tables.items())]
    steps = [step for table in tables for step in _partitions(table)]
    steps += [step for table in tables for step in _references(table, places)]
    steps += [step for table in tables if places[table.name] == Place.DISTRIBUTED for step in _keys(table, catalogue)]
    steps += [step for table in tables if places[table.name] == Place.REFERENCE for step in _triggers(table)]
    steps += _out_of_reach(catalogue, places)
    steps += _functions(catalogue)
    return within_walls(catalogue, steps)


def within_walls(catalogue: Catalogue, steps: list[Step]) -> list[Step]:
    """Let the owning role look over the walls of owners while the steps are done; the application's role never does.

    Without it that role would copy nothing, and find nothing that a new reference may lead to.
    """
    walled = [name for name, table in sorted(catalogue.tables.items()) if table.has_row_security]
    if not steps or not walled:
        return steps
    down, up = (
        tuple(f"ALTER TABLE {quoted(name)} {word}FORCE ROW LEVEL SECURITY" for name in walled) for word in ("NO ", "")
    )
    first = Step("walls", "", "down", "the owning role must see what it copies and checks", down)
    return [first, *steps, Step("walls", "", "up", "the owning role is under the walls again", up)]


def _keys(table: Table, catalogue: Catalogue) -> Iterator[Step]:
    """Widen every unique key that lacks the column by which the table is spread."""
    column = column_of(table.name)
    for index in table.indexes:
        if not index.unique or column in index.columns:
            continue
        why = "a key without the distribution column cannot be kept over several servers"
        if index.has_expressions or _is_referred_to(table, index, catalogue):
            yield Step("key", table.name, index.name, f"{why}; write it anew by hand", (), by_hand=True)
            continue
        yield Step("key", table.name, index.name, why, tuple(_widened(table.name, index, column)))


def _is_referred_to(table: Table, index: Index, catalogue: Catalogue) -> bool:
    return any(
        reference.target == table.name and set(reference.target_columns) == set(index.columns)
        for other in catalogue.tables.values()
        for reference in other.references
    )


def _widened(table: str, index: Index, column: str) -> Iterator[str]:
    wide = _list((column, *index.columns))
    where = f" WHERE {index.predicate}" if index.predicate else ""
    if index.constraint:
        kind = "PRIMARY KEY" if index.primary else "UNIQUE"
        yield f"ALTER TABLE {quoted(table)} DROP CONSTRAINT {quoted(index.constraint)}"
        yield f"ALTER TABLE {quoted(table)} ADD CONSTRAINT {quoted(index.constraint)} {kind} ({wide})"
    else:
        yield f"DROP INDEX {quoted(index.name)}"
        yield f"CREATE UNIQUE INDEX {quoted(index.name)} ON {quoted(table)} ({wide}){where}"
    # What is found by the narrow key is still found, on each server.
    yield f"CREATE INDEX {quoted(index.name[:56] + '_lookup')} ON {quoted(table)} ({_list(index.columns)}){where}"


def _references(table: Table, places: dict[str, Place]) -> Iterator[Step]:
    mine = places[table.name]
    for one in table.references:
        theirs = places.get(one.target, Place.UNPLANNED)
        drop = f"ALTER TABLE {quoted(table.name)} DROP CONSTRAINT {quoted(one.name)}"
        if mine == Place.REFERENCE and theirs != Place.REFERENCE:
            yield Step("reference", table.name, one.name, "a reference table refers to reference tables only", (drop,))
        elif Place.DISTRIBUTED in (mine, theirs) and Place.LOCAL in (mine, theirs):
            yield Step(
                "reference", table.name, one.name, "a reference cannot lead from a server to the coordinator", (drop,)
            )
        elif (mine, theirs) == (Place.DISTRIBUTED, Place.DISTRIBUTED):
            yield from _among_owners(table, one, drop)


def _among_owners(table: Table, one: Reference, drop: str) -> Iterator[Step]:
    pairs = dict(zip(one.columns, one.target_columns, strict=True))
    if pairs.get(column_of(table.name)) != column_of(one.target):
        why = "a reference between owners' tables must lead from owner to owner; widen it by hand"
        yield Step("reference", table.name, one.name, why, (), by_hand=True)
    elif one.sets_null:
        why = "ON DELETE SET NULL is refused where the key holds the distribution column; a trigger does it"
        yield Step("reference", table.name, one.name, why, (drop, *_emptied_by_trigger(table, one, pairs)))


def _emptied_by_trigger(table: Table, one: Reference, pairs: dict[str, str]) -> Iterator[str]:
    """Keep the reference and have a trigger of the other table empty what referred to a deleted row."""
    emptied = one.nulled or tuple(name for name in one.columns if name != column_of(table.name))
    function = quoted(f"loci_forget_{table.name}_{'_'.join(emptied)}"[:63])
    setting = ", ".join(f"{quoted(name)} = NULL" for name in emptied)
    condition = " AND ".join(f"{quoted(mine)} = OLD.{quoted(theirs)}" for mine, theirs in pairs.items())
    body = f"BEGIN UPDATE public.{quoted(table.name)} SET {setting} WHERE {condition}; RETURN NULL; END"
    kept = re.sub(r" ON DELETE SET (?:NULL|DEFAULT)(?: \([^)]*\))?", "", one.definition)
    yield f"ALTER TABLE {quoted(table.name)} ADD CONSTRAINT {quoted(one.name)} {kept}"
    yield f"CREATE FUNCTION {function}() RETURNS trigger LANGUAGE plpgsql AS $$ {body} $$"
    name = quoted(f"{BEFORE_CHECKS}_{table.name}_{'_'.join(emptied)}"[:63])
    yield f"CREATE TRIGGER {name} AFTER DELETE ON {quoted(one.target)} FOR EACH ROW EXECUTE FUNCTION {function}()"


def _partitions(table: Table) -> Iterator[Step]:
    """Make one table of a partitioned one: its shards take the place of the partitions."""
    if not table.is_partitioned:
        return
    name, whole = quoted(table.name), quoted(f"{table.name}_whole")
    statements = [
        f"CREATE TABLE {whole} (LIKE {name} INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING STORAGE)",
        f"INSERT INTO {whole} SELECT * FROM {name}",
        f"DROP TABLE {name}",
        f"ALTER TABLE {whole} RENAME TO {name}",
    ]
    for index in table.indexes:
        if index.constraint:
            text = index.constraint_definition
            statements.append(f"ALTER TABLE {name} ADD CONSTRAINT {quoted(index.constraint)} {text}")
        else:
            statements.append(index.definition.replace(" ON ONLY ", " ON ", 1))
    for one in table.references:
        statements.append(f"ALTER TABLE {name} ADD CONSTRAINT {quoted(one.name)} {one.definition}")
    if table.partition_options:
        statements.append(f"ALTER TABLE {name} SET ({table.partition_options})")
    if table.has_row_security:
        statements += row_security_sql(table.name)
    why = f"its {len(table.partitions)} partitions would be {len(table.partitions)} tables on every shard"
    yield Step("partitions", table.name, table.name, why, tuple(statements))


def _triggers(table: Table) -> Iterator[Step]:
    for trigger in table.triggers:
        why = "reference tables have no triggers; what it guards is kept by privileges"
        statements = (
            f"DROP TRIGGER {quoted(trigger.name)} ON {quoted(table.name)}",
            f"REVOKE UPDATE, DELETE, TRUNCATE ON {quoted(table.name)} FROM {APPLICATION}",
        )
        yield Step("trigger", table.name, trigger.name, why, statements)


def _out_of_reach(catalogue: Catalogue, places: dict[str, Place]) -> Iterator[Step]:
    """Drop triggers that would look on an owner's server for tables of the coordinator; an unknown one is a problem."""
    local = {name for name, place in places.items() if place == Place.LOCAL}
    asked = {one.name: sorted(local & _words(one.source)) for one in catalogue.functions}
    for table in (one for name, one in sorted(catalogue.tables.items()) if places[name] == Place.DISTRIBUTED):
        for trigger in table.triggers:
            if trigger.function in GIVEN_UP:
                drop = f"DROP TRIGGER {quoted(trigger.name)} ON {quoted(table.name)}"
                yield Step("trigger", table.name, trigger.name, GIVEN_UP[trigger.function], (drop,))
            elif tables := asked.get(trigger.function):
                why = f"its function asks {', '.join(tables)} on the coordinator; write it anew by hand"
                yield Step("trigger", table.name, trigger.name, why, (), by_hand=True)


# What is quoted comes first: two dashes in it begin no comment.
_QUOTED_OR_COMMENT = re.compile(r"""('[^']*'|"[^"]*")|--[^\n]*|/\*.*?\*/""", re.DOTALL)


def _words(source: str) -> set[str]:
    """Give the words of a function, without those of its comments."""
    return set(re.findall(r"\w+", _QUOTED_OR_COMMENT.sub(r"\1 ", source)))


_SETS = re.compile(r"PERFORM set_config\('(?P<name>[\w.]+)', (?P<value>.+?), true\);")


def _functions(catalogue: Catalogue) -> Iterator[Step]:
    """Have functions say their settings by SET LOCAL, which reaches the other servers; `set_config` does not."""
    for function in catalogue.functions:
        if not _SETS.search(function.source):
            continue
        changed = _SETS.sub(r"EXECUTE format('SET LOCAL \g<name> = %L', \g<value>);", function.definition)
        why = "set_config() stays on the coordinator, SET LOCAL goes along to the owner's server"
        yield Step("function", "", function.name, why, (changed,))
