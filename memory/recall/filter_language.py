"""The language of filters: a JSON expression of conditions with and, or and not, made into SQL.

`{"and": [{"tag": "work"}, {"or": [{"kind": "fact"}, {"source": "user:al"}]}, {"not": {"metadata": {"team": "x"}}}]}`

All members of one object have to hold, and of several values of one condition any will do. The SQL holds nothing that
came in but as a parameter, and what is encrypted is compared by keyed hashes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, NoReturn
from uuid import UUID

from memory.crypto.keyring import OwnerRing
from memory.errors import InvalidInput, LociError
from memory.models import Kind, LabelKind, Tier
from memory.recall import metadata
from memory.text import limits

MAX_DEPTH: Final = 5
MAX_VALUES: Final = 50
MAX_LABEL_BYTES: Final = 800
HIGHEST_PII_TIER: Final = 2
HIGHEST_COMMUNITY: Final = 2**31 - 1

LABELS: Final[Mapping[str, LabelKind]] = {
    "tag": LabelKind.TAG,
    "topic": LabelKind.TOPIC,
    "source": LabelKind.SOURCE,
    "speaker": LabelKind.SPEAKER,
}
WORDS: Final[Mapping[str, tuple[str, ...]]] = {
    "kind": tuple(Kind.values),
    "tier": tuple(tier for tier in Tier.values if tier != Tier.WORKING),
}
IDS: Final[Mapping[str, str]] = {"agent": "agent_id", "session": "session_id"}
SPANS: Final[Mapping[str, str]] = {"occurred": "occurred_at", "created": "created_at"}
NUMBERS: Final = ("importance", "salience", "confidence")
COMBINED: Final = ("and", "or", "not")
MEMBERS: Final = (
    *COMBINED, *LABELS, *WORDS, "category", *IDS, "metadata", *SPANS, *NUMBERS, "pii_tier", "community", "valid",
)  # fmt: skip

# What may stand in an error: a name as programs write them, and nothing that a person wrote.
_NAME: Final = re.compile(r"[a-z0-9_.-]{1,40}", re.IGNORECASE | re.ASCII)
_ID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE | re.ASCII)


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition on the memory table under the alias `m`, and its named parameters."""

    sql: str
    parameters: Mapping[str, Any]


def compile_filter(expression: Any, *, ring: OwnerRing, at: datetime) -> Condition:
    """Check a filter expression and make it into SQL.

    Args:
        expression: what came in, at most five objects deep and with at most fifty values.
        ring: the keys of the owner whose memories are filtered.
        at: the moment at which `valid` is meant.

    Raises:
        InvalidInput: `filter.invalid`; `path` says which part is wrong.
    """
    compiler = _Compiler(ring, at)
    sql = compiler.node(expression, "filter", 1)
    return Condition(sql, compiler.parameters)


def valid_at(parameter: str) -> str:
    """Give the SQL that tells whether a memory holds at the moment of a named parameter."""
    return (
        f"((m.valid_from IS NULL OR m.valid_from <= %({parameter})s) "
        f"AND (m.valid_until IS NULL OR m.valid_until > %({parameter})s))"
    )


def labelled(kind: int, parameter: str) -> str:
    """Give the SQL that tells whether a memory has a label of a kind among the hashes of a named parameter."""
    return (
        "EXISTS (SELECT FROM memory_memorylabel l WHERE l.owner_id = m.owner_id "
        f"AND l.kind = {int(kind)} AND l.label = ANY(%({parameter})s) AND l.memory_id = m.id)"
    )


@dataclass(slots=True)
class _Compiler:
    ring: OwnerRing
    at: datetime
    parameters: dict[str, Any] = field(default_factory=dict)
    values: int = 0

    def node(self, node: Any, path: str, depth: int) -> str:
        if not isinstance(node, Mapping) or not node:
            _wrong(path, "This is an object with at least one condition.")
        if depth > MAX_DEPTH:
            _wrong(path, f"A filter is at most {MAX_DEPTH} objects deep.")
        return _joined("AND", [self._member(name, value, path, depth) for name, value in node.items()])

    def _member(self, name: Any, value: Any, path: str, depth: int) -> str:
        inner = f"{path}.{name if isinstance(name, str) and _NAME.fullmatch(name) else '?'}"
        if name == "not":
            return f"(NOT {self.node(value, inner, depth + 1)})"
        if name in ("and", "or"):
            if not isinstance(value, list) or not value:
                _wrong(inner, "This is a list of at least one object.")
            parts = [self.node(one, f"{inner}[{place}]", depth + 1) for place, one in enumerate(value)]
            return _joined(name.upper(), parts)
        return self._leaf(name, value, inner)

    def _leaf(self, name: Any, value: Any, path: str) -> str:
        if name in LABELS:
            hashes = [self.ring.name(word.casefold()) for word in self._each(value, path, _line)]
            return labelled(LABELS[name], self._bound(hashes))
        if name in WORDS:
            return f"m.{name} = ANY(%({self._bound(self._each(value, path, _one_of(WORDS[name])))})s)"
        if name == "category":
            return f"m.category = ANY(%({self._bound(self._each(value, path, _category))})s)"
        if name in IDS:
            # A row without an agent or session is none of those named, which must stay true under a not.
            ids = self._bound(self._each(value, path, _identifier))
            return f"coalesce(m.{IDS[name]} = ANY(%({ids})s::uuid[]), false)"
        if name == "metadata":
            return self._metadata(value, path)
        if name == "community":
            # A row of no community is in none of those named, which must stay true under a not.
            numbers = self._bound(self._each(value, path, _community))
            return f"coalesce(m.community = ANY(%({numbers})s::int[]), false)"
        if name in SPANS:
            return self._span(SPANS[name], value, path)
        if name in NUMBERS or name == "pii_tier":
            return self._bounds(name, value, path)
        if name != "valid":
            _wrong(path, f"There is no such condition. There are {', '.join(MEMBERS)}.")
        return self._valid(value, path)

    def _each(self, value: Any, path: str, check: Callable[[Any, str], Any]) -> list[Any]:
        """Check one value or a list of them."""
        if not isinstance(value, list):
            self._count(path)
            return [check(value, path)]
        if not value:
            _wrong(path, "This list names nothing.")
        found = []
        for place, one in enumerate(value):
            self._count(path)
            found.append(check(one, f"{path}[{place}]"))
        return found

    def _metadata(self, value: Any, path: str) -> str:
        if not isinstance(value, Mapping) or not value:
            _wrong(path, "This is an object of names and the values that they have.")
        parts = []
        for name, wanted in value.items():
            written = self._each(wanted, path, _entry_of(name))
            parts.append(labelled(LabelKind.METADATA, self._bound([self.ring.name(one) for one in written])))
        return _joined("AND", parts)

    def _span(self, column: str, value: Any, path: str) -> str:
        ends = self._ends(value, path, ("from", "until"), _moment)
        start, end = ends.get("from"), ends.get("until")
        if start is not None and end is not None and end <= start:
            _wrong(path, "until does not lie after from.")
        signs = {"from": ">=", "until": "<"}
        return _joined("AND", [f"m.{column} {signs[name]} %({self._bound(one)})s" for name, one in ends.items()])

    def _bounds(self, name: str, value: Any, path: str) -> str:
        bounds = self._ends(value, path, ("least", "most"), _tier if name == "pii_tier" else _unit)
        if "least" in bounds and "most" in bounds and bounds["most"] < bounds["least"]:
            _wrong(path, "most is smaller than least.")
        signs = {"least": ">=", "most": "<="}
        return _joined("AND", [f"m.{name} {signs[end]} %({self._bound(one)})s" for end, one in bounds.items()])

    def _ends(self, value: Any, path: str, names: Sequence[str], check: Callable[[Any, str], Any]) -> dict[str, Any]:
        if not isinstance(value, Mapping) or not value or not set(value) <= set(names):
            _wrong(path, f"This is an object with {' or '.join(names)}, or both.")
        self._count(path)
        return {name: check(value[name], f"{path}.{name}") for name in names if name in value}

    def _valid(self, value: Any, path: str) -> str:
        if not isinstance(value, bool):
            _wrong(path, "This is true or false.")
        self._count(path)
        holds = valid_at(self._bound(self.at))
        return holds if value else f"(NOT {holds})"

    def _count(self, path: str) -> None:
        self.values += 1
        if self.values > MAX_VALUES:
            _wrong(path, f"A filter has at most {MAX_VALUES} values.")

    def _bound(self, value: Any) -> str:
        name = f"where_{len(self.parameters)}"
        self.parameters[name] = value
        return name


def _joined(word: str, parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"({f' {word} '.join(parts)})"


def _wrong(path: str, reason: str) -> NoReturn:
    raise InvalidInput(f"{path}: {reason}", code="filter.invalid", field="filter", path=path)


def _line(value: Any, path: str) -> str:
    try:
        return limits.checked_text(value, field=path, max_bytes=MAX_LABEL_BYTES)
    except LociError as error:
        _wrong(path, error.message)


def _one_of(words: Sequence[str]) -> Callable[[Any, str], str]:
    def check(value: Any, path: str) -> str:
        if not isinstance(value, str) or value not in words:
            _wrong(path, f"This is one of {', '.join(words)}.")
        return value

    return check


def _category(value: Any, path: str) -> str:
    try:
        name, known = limits.normalise_category(_line(value, path))
    except LociError as error:
        _wrong(path, error.message)
    if not known:
        _wrong(path, "There is no such category.")
    return name


def _identifier(value: Any, path: str) -> UUID:
    if isinstance(value, UUID):
        return value
    if not isinstance(value, str) or not _ID.fullmatch(value):
        _wrong(path, "This has to be an id.")
    return UUID(value)


def _entry_of(name: Any) -> Callable[[Any, str], str]:
    def check(value: Any, path: str) -> str:
        for text in (name, value):
            if isinstance(text, str) and text:
                _line(text, path)
        written = metadata.entry(name, value) if isinstance(name, str) else None
        if written is None:
            _wrong(
                path,
                "A name is text, a value is text, a number, true or false; "
                f"text has at most {metadata.MAX_CHARACTERS} characters.",
            )
        return written

    return check


def _moment(value: Any, path: str) -> datetime:
    try:
        return limits.checked_moment(value, field=path)
    except InvalidInput as error:
        _wrong(path, error.message)


def _unit(value: Any, path: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        _wrong(path, "This is a number from 0 to 1.")
    return float(value)


def _tier(value: Any, path: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= HIGHEST_PII_TIER:
        _wrong(path, f"This is a whole number from 0 to {HIGHEST_PII_TIER}.")
    return value


def _community(value: Any, path: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= HIGHEST_COMMUNITY:
        _wrong(path, "This is the number of a community, 1 or higher.")
    return value
