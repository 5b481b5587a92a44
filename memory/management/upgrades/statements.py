"""Judges SQL of migrations, statement by statement.

What is known to be harmless passes, and everything else is told: a new kind of statement is looked at once by a person.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

import sqlparse

from memory.management.upgrades.finding import Finding

_NAME = r'(?:"?public"?\.)?"?(?P<{0}>\w+)"?'
_TABLE = _NAME.format("table")
_LATER = "Leave it until the release after the next, when no process uses it any more."
_NOT_VALID = "Add it NOT VALID, and validate it in a later migration."
_CONCURRENTLY = "Build it with CREATE INDEX CONCURRENTLY in a migration that is not atomic."
_DECLARE = "Say in the migration's `overlap` why processes of the last release survive it."

# How a statement begins, what kind it is, and what its subject is called in the pattern.
_CREATE_TABLE = re.compile(rf"CREATE TABLE (?:IF NOT EXISTS )?{_TABLE}(?P<rest>.*)", re.IGNORECASE)
_PARTITION_OF = re.compile(rf"^\s*PARTITION OF {_NAME.format('parent')}", re.IGNORECASE)
_CREATE_INDEX = re.compile(
    r"CREATE (?P<unique>UNIQUE )?INDEX (?P<quietly>CONCURRENTLY )?(?:IF NOT EXISTS )?"
    rf"(?:\"?(?P<index>\w+)\"? )?ON (?:ONLY )?{_TABLE}",
    re.IGNORECASE,
)
_ALTER_TABLE = re.compile(rf"ALTER TABLE (?:IF EXISTS )?(?:ONLY )?{_TABLE} (?P<rest>.*)", re.IGNORECASE)
_ON_TABLE = re.compile(
    rf"CREATE (?:OR REPLACE )?(?P<kind>(?:CONSTRAINT )?TRIGGER|POLICY) .*? ON {_TABLE}", re.IGNORECASE
)
_FUNCTION = re.compile(rf"CREATE (?P<replace>OR REPLACE )?FUNCTION {_NAME.format('name')}", re.IGNORECASE)
_DROP = re.compile(r"DROP (?P<kind>\w+(?: CONCURRENTLY)?) (?:IF EXISTS )?\"?(?P<name>\w+)\"?", re.IGNORECASE)
_DATA = re.compile(rf"(?P<kind>INSERT INTO|UPDATE|DELETE FROM|TRUNCATE)(?: TABLE| ONLY)? {_TABLE}", re.IGNORECASE)
_HARMLESS = re.compile(
    r"(COMMENT ON|GRANT|CREATE SEQUENCE|CREATE TYPE|CREATE STATISTICS|ANALYZE|DROP INDEX CONCURRENTLY"
    r"|SET LOCAL (?:lock|statement)_timeout)\b",
    re.IGNORECASE,
)
_HARMLESS_ACTIONS = re.compile(
    r"(ADD CONSTRAINT .* NOT VALID$|VALIDATE CONSTRAINT |SET \(|RESET \("
    r"|ALTER (COLUMN )?\S+ SET (DEFAULT|STATISTICS|STORAGE) )",
    re.IGNORECASE,
)
_ADD_COLUMN = re.compile(
    r"ADD (?:COLUMN |(?!CONSTRAINT|PRIMARY|UNIQUE|FOREIGN|CHECK|EXCLUDE))(?:IF NOT EXISTS )?\"?\w+", re.IGNORECASE
)


def judge(sql: str, new_tables: set[str]) -> Iterator[Finding]:
    """Judge statements, and note the tables that they create.

    Args:
        sql: one or several.
        new_tables: names of tables that the last release does not know; added to.
    """
    for statement in split(sql):
        yield from _judge_one(statement, new_tables)


def split(sql: str) -> list[str]:
    """Split SQL into statements without comments, each on one line."""
    bare = sqlparse.format(sql, strip_comments=True)
    return [text for one in sqlparse.split(bare) if (text := " ".join(one.split()).rstrip("; "))]


def _judge_one(statement: str, new: set[str]) -> Iterator[Finding]:
    if _HARMLESS.match(statement):
        return
    for pattern, judged in _JUDGES:
        if found := pattern.match(statement):
            yield from judged(found, new)
            return
    words = " ".join(statement.split()[:2]).upper()
    yield Finding(f"RunSQL {words}", "it is not known what this does to processes of the last release", _DECLARE)


def _create_table(found: re.Match[str], new: set[str]) -> Iterator[Finding]:
    parent = _PARTITION_OF.match(found["rest"])
    if parent and parent["parent"] not in new:
        key = f"RunSQL CREATE TABLE {found['table']}"
        yield Finding(key, f"a new partition locks {parent['parent']} against everybody", _DECLARE)
    new.add(found["table"])


def _create_index(found: re.Match[str], new: set[str]) -> Iterator[Finding]:
    if found["table"] in new:
        return
    key = f"RunSQL CREATE INDEX {found['index'] or found['table']}"
    if found["unique"]:
        yield Finding(
            key, f"processes of the last release may be refused what they write into {found['table']}", _DECLARE
        )
    elif not found["quietly"]:
        yield Finding(key, f"nothing can be written into {found['table']} while it is built", _CONCURRENTLY)


def _alter_table(found: re.Match[str], new: set[str]) -> Iterator[Finding]:
    if found["table"] in new:
        return
    for action in _actions(found["rest"]):
        if _HARMLESS_ACTIONS.match(action):
            continue
        words = " ".join(action.split()[:2]).upper()
        key = f"RunSQL ALTER TABLE {found['table']} {words}"
        if _ADD_COLUMN.match(action):
            yield from _add_column(key, action)
        elif re.match(r"ADD\b", action, re.IGNORECASE):
            yield Finding(
                key,
                "all rows are read while nobody can write",
                _NOT_VALID,
            )
        elif re.match(r"(DROP|RENAME)\b", action, re.IGNORECASE):
            yield Finding(key, "processes of the last release still use it", _LATER)
        else:
            yield Finding(key, "the table is locked, or rows that were written so far are refused", _DECLARE)


def _add_column(key: str, action: str) -> Iterator[Finding]:
    if re.search(r"\b(UNIQUE|PRIMARY KEY|REFERENCES|CHECK|GENERATED)\b", action, re.IGNORECASE):
        yield Finding(key, "a key or check on a new column locks the table while it is made", _DECLARE)
    elif re.search(r"\bNOT NULL\b", action, re.IGNORECASE) and not re.search(r"\bDEFAULT\b", action, re.IGNORECASE):
        yield Finding(key, "processes of the last release write rows without it", "Give it a default in the database.")
    elif re.search(r"\bDEFAULT\b[^,]*\(", action, re.IGNORECASE):
        yield Finding(key, "a default that is computed for each row rewrites the table", _DECLARE)


def _actions(rest: str) -> list[str]:
    """Split the actions of ALTER TABLE at commas outside of brackets and strings."""
    parts, depth, inside, begun = [], 0, False, 0
    for place, sign in enumerate(rest):
        if sign == "'":
            inside = not inside
        elif not inside and sign in "()":
            depth += 1 if sign == "(" else -1
        elif not inside and sign == "," and depth == 0:
            parts.append(rest[begun:place].strip())
            begun = place + 1
    return [*parts, rest[begun:].strip()]


def _on_table(found: re.Match[str], new: set[str]) -> Iterator[Finding]:
    if found["table"] not in new:
        kind = found["kind"].upper()
        key = f"RunSQL CREATE {kind} {found['table']}"
        yield Finding(key, f"it judges what processes of the last release write into {found['table']}", _DECLARE)


def _function(found: re.Match[str], new: set[str]) -> Iterator[Finding]:
    if found["replace"]:
        key = f"RunSQL CREATE OR REPLACE FUNCTION {found['name']}"
        yield Finding(key, "processes of the last release may call it and expect what it did", _DECLARE)


def _drop(found: re.Match[str], new: set[str]) -> Iterator[Finding]:
    if found["name"] not in new:
        key = f"RunSQL DROP {found['kind'].upper()} {found['name']}"
        yield Finding(key, "processes of the last release still use it", _LATER)


def _data(found: re.Match[str], new: set[str]) -> Iterator[Finding]:
    if found["table"] not in new:
        key = f"RunSQL {found['kind'].upper()} {found['table']}"
        yield Finding(key, "rows are changed under processes of the last release, which go on writing theirs", _DECLARE)


_JUDGES: Final[tuple[tuple[re.Pattern[str], Callable[[re.Match[str], set[str]], Iterator[Finding]]], ...]] = (
    (_CREATE_TABLE, _create_table),
    (_CREATE_INDEX, _create_index),
    (_ALTER_TABLE, _alter_table),
    (_ON_TABLE, _on_table),
    (_FUNCTION, _function),
    (_DROP, _drop),
    (_DATA, _data),
)
