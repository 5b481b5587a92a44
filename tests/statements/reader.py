"""Reads one statement and tells which tables of owners it touches without naming the owner.

A table is narrowed where its `owner_id` is compared for equality with a value, with a list of values, or with the
`owner_id` of something that is narrowed itself: in WHERE, in ON, by USING, or by its place in a row. Every query within
a statement is read by itself, so a subquery, a CTE or a branch of a UNION needs the owner of its own.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import reduce
from typing import TypeVar

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

COLUMN = "owner_id"
# What stands for a value or for something that is judged elsewhere: a parameter, an outer query, a subquery's column.
VALUE = ""
Queries = (exp.Select, exp.Update, exp.Delete, exp.Insert, exp.Merge)
_READ = frozenset(
    {"SELECT", "WITH", "INSERT", "UPDATE", "DELETE", "MERGE", "COPY", "DECLARE", "EXPLAIN", "VALUES", "("}
)
_WHOLE = frozenset({"TRUNCATE", "LOCK"})
_PARAMETER = re.compile(r"%(?:\((\w+)\))?([sbt])")
_ARRAY_CASTS = re.compile(r"(?<=\$1)(?:::\w+\[\])+")
_COPY = re.compile(r"^COPY\s*\((?P<query>.*)\)\s*TO\s+STDOUT.*$", re.IGNORECASE | re.DOTALL)
_COPY_TABLE = re.compile(r"^COPY\s+\"?(?P<table>\w+)\"?", re.IGNORECASE)
_BEFORE_QUERY = re.compile(r"^(?:EXPLAIN\s*(?:\([^)]*\))?|DECLARE\s+.*?\s+FOR)\s+", re.IGNORECASE | re.DOTALL)

Node = TypeVar("Node", bound=exp.Expr)
# (what is narrowed, by what): the second is VALUE or another table's alias.
Rule = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Finding:
    """A table of owners in a query that names no owner for it."""

    table: str
    alias: str
    reason: str

    def __str__(self) -> str:
        called = f" ({self.alias})" if self.alias not in ("", self.table) else ""
        return f"{self.table}{called}: {self.reason}"


class Unreadable(ValueError):
    """A statement that touches tables and cannot be read."""


def findings(sql: str, owned: Collection[str]) -> list[Finding]:
    """List what a statement touches without its owner.

    Args:
        sql: with parameters as the driver takes them (`%s`, `%(name)s`) or as the server does (`$1`).
        owned: names of the tables that have an `owner_id`.

    Raises:
        Unreadable: the statement cannot be parsed, and names a table of owners.
    """
    text = sql.strip().rstrip(";").strip()
    first = (re.match(r"\(|\w+", text) or [""])[0].upper()
    if first in _WHOLE:
        return [Finding(name, "", f"{first} has no owner") for name in _named(text, owned)]
    if first == "DO":
        return [Finding(name, "", "a block of PL/pgSQL, whose statements are not read") for name in _named(text, owned)]
    if first not in _READ or not _named(text, owned):
        return []
    if first == "COPY":
        inner = _COPY.match(text)
        if inner is None:
            table = _COPY_TABLE.match(text)
            return [Finding(table["table"] if table else "", "", "COPY of a whole table")]
        text = inner["query"]
    text = _BEFORE_QUERY.sub("", text)
    return sorted(
        {one for query in _parsed(text).find_all(*Queries) for one in _of_query(query, owned)},
        key=lambda one: (one.table, one.alias, one.reason),
    )


def _named(text: str, owned: Collection[str]) -> list[str]:
    words = set(re.findall(r"\w+", text))
    return sorted(name for name in owned if name in words)


def _parsed(text: str) -> exp.Expr:
    # One cast after another with brackets is not parsed; what a value is cast to tells nothing here.
    plain = _ARRAY_CASTS.sub("", _PARAMETER.sub("$1", text).replace("%%", "%"))
    try:
        return sqlglot.parse_one(plain, dialect="postgres")
    except SqlglotError as error:
        raise Unreadable(f"{error}\n{text}") from error


def _of_query(query: exp.Expr, owned: Collection[str]) -> Iterator[Finding]:
    if isinstance(query, exp.Merge):
        raise Unreadable(f"MERGE is not read yet: {query.sql(dialect='postgres')}")
    if isinstance(query, exp.Insert):
        yield from _of_insert(query, owned)
        return
    tables = {_alias(table): table.name for table in _own(query, exp.Table) if _is_owned(table, owned)}
    if not tables:
        return
    narrowed = _narrowed(_rules(query, tables))
    for alias, table in tables.items():
        if alias not in narrowed:
            yield Finding(table, alias, "no owner_id in WHERE or ON")


def _of_insert(query: exp.Insert, owned: Collection[str]) -> Iterator[Finding]:
    into = query.this
    table = into.this if isinstance(into, exp.Schema) else into
    if not isinstance(table, exp.Table) or table.name not in owned:
        return
    columns = [one.name for one in into.expressions] if isinstance(into, exp.Schema) else []
    if COLUMN not in columns:
        yield Finding(table.name, "", "no owner_id among the columns of INSERT")
    conflict = query.args.get("conflict")
    keys = conflict.args.get("conflict_keys") if conflict is not None else None
    if keys and COLUMN not in {column.name for key in keys for column in key.find_all(exp.Column, exp.Identifier)}:
        yield Finding(table.name, "", "no owner_id in ON CONFLICT")


def _is_owned(table: exp.Table, owned: Collection[str]) -> bool:
    return table.name in owned and table.name not in _visible_names(table)


def _visible_names(node: exp.Expr) -> set[str]:
    """Collect the names that WITH gives in the queries round a node."""
    names: set[str] = set()
    above: exp.Expr | None = node
    while above is not None:
        with_ = above.args.get("with_")
        if with_ is not None:
            names |= {cte.alias for cte in with_.expressions}
        above = above.parent
    return names


def _own(query: exp.Expr, *kinds: type[Node]) -> Iterator[Node]:
    """Give the nodes of a query that belong to no query within it, nor to its locks."""
    for node in query.find_all(*kinds):
        above: exp.Expr | None = node.parent
        while above is not None and not isinstance(above, (*Queries, exp.Lock)):
            above = above.parent
        if above is query:
            yield node


def _alias(table: exp.Expr) -> str:
    return table.alias_or_name


def _rules(query: exp.Expr, tables: dict[str, str]) -> set[Rule]:
    """Collect what each condition of a query narrows."""
    inner = _inner_sources(query)
    rules: set[Rule] = set()
    where = query.args.get("where")
    if where is not None:
        rules |= _of_condition(where.this, tables, inner)
    for join in _own(query, exp.Join):
        found = _of_join(join, tables, inner)
        joined, side = _alias(join.this), (join.side or "").upper()
        # What an outer join asks says nothing about the rows of the side that is kept whole.
        if side == "LEFT":
            found = {rule for rule in found if rule[0] == joined}
        elif side == "RIGHT":
            found = {rule for rule in found if rule[0] != joined}
        elif side == "FULL":
            found = set()
        rules |= found
    return rules


def _inner_sources(query: exp.Expr) -> set[str]:
    """Name the subqueries, functions and CTEs that a query reads from."""
    kinds = (exp.Subquery, exp.Lateral, exp.Unnest, exp.Values, exp.Table)
    return {_alias(one) for one in _own(query, *kinds) if isinstance(one.parent, exp.From | exp.Join)}


def _of_join(join: exp.Join, tables: dict[str, str], inner: set[str]) -> set[Rule]:
    rules: set[Rule] = set()
    if (on := join.args.get("on")) is not None:
        rules |= _of_condition(on, tables, inner)
    if COLUMN in {one.name for one in join.args.get("using") or ()}:
        joined = _alias(join.this)
        others = (set(tables) | inner) - {joined}
        rules |= {(joined, other if other in tables else VALUE) for other in others}
        rules |= {(other, joined if joined in tables else VALUE) for other in others if len(others) == 1}
    return rules


def _of_condition(condition: exp.Expr, tables: dict[str, str], inner: set[str]) -> set[Rule]:
    if isinstance(condition, exp.Paren):
        return _of_condition(condition.this, tables, inner)
    if isinstance(condition, exp.And):
        return _of_condition(condition.left, tables, inner) | _of_condition(condition.right, tables, inner)
    if isinstance(condition, exp.Or):
        # Either may hold, so only what both narrow is narrowed.
        sides = [_of_condition(one, tables, inner) for one in (condition.left, condition.right)]
        return reduce(set.__and__, sides)
    if isinstance(condition, exp.EQ):
        return {
            rule
            for left, right in _pairs(condition.left, condition.right)
            for rule in _equal(left, right, tables, inner)
        }
    if isinstance(condition, exp.In):
        columns = condition.this.expressions if isinstance(condition.this, exp.Tuple) else [condition.this]
        return {(alias, VALUE) for column in columns if (alias := _owner_of(column, tables, inner))}
    return set()


def _pairs(left: exp.Expr, right: exp.Expr) -> list[tuple[exp.Expr, exp.Expr]]:
    if isinstance(left, exp.Tuple) and isinstance(right, exp.Tuple):
        return list(zip(left.expressions, right.expressions, strict=False))
    if isinstance(left, exp.Tuple):
        return [(one, right) for one in left.expressions]
    return [(left, right)]


def _equal(left: exp.Expr, right: exp.Expr, tables: dict[str, str], inner: set[str]) -> Iterator[Rule]:
    for mine, other in ((left, right), (right, left)):
        alias = _owner_of(mine, tables, inner)
        if not alias:
            continue
        partner = _owner_of(other, tables, inner)
        if partner == alias:
            continue
        if partner:
            yield alias, partner
        elif not _is_other_column(other, tables, inner):
            yield alias, VALUE


def _is_other_column(node: exp.Expr, tables: dict[str, str], inner: set[str]) -> bool:
    """Tell whether a node is a column of a table of this query that is no owner."""
    bare = node.unnest()
    return isinstance(bare, exp.Column) and bare.name != COLUMN and (bare.table in tables or not bare.table)


def _owner_of(node: exp.Expr, tables: dict[str, str], inner: set[str]) -> str:
    """Give the alias of the owned table whose `owner_id` a node is; '' for anything else."""
    bare = node.unnest()
    if not isinstance(bare, exp.Column) or bare.name != COLUMN:
        return ""
    if bare.table:
        return bare.table if bare.table in tables else ""
    # Without a table's name it can only be that of the one table that has it.
    return next(iter(tables)) if len(tables) == 1 else ""


def _narrowed(rules: set[Rule]) -> set[str]:
    known = {VALUE}
    while more := {target for target, by in rules if by in known} - known:
        known |= more
    return known
