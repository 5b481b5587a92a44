"""Filters of a search as its address writes them: `kind:fact`, `-` before one that is turned round, `~` before one off.

They are made into an expression of the filter language, which REST takes too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final
from uuid import UUID

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from memory.errors import InvalidInput
from memory.models import Kind
from memory.palace.dates import day_words
from memory.palace.presenters import label
from memory.palace.spans import QUICK, quick_span
from memory.text.limits import CATEGORIES

MOST_TERMS: Final = 20
MOST_CHARACTERS: Final = 2_000
IMPORTANCES: Final = 10
JSON: Final = "json"
SCOPE: Final = "scope"

_WHOLE: Final = re.compile(r"[0-9]{1,3}", re.ASCII)
_DAY: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", re.ASCII)

Expression = dict[str, Any]
Names = Mapping[str, str]
"""What ids of agents and of groups are called, for people."""


@dataclass(frozen=True, slots=True)
class Term:
    """One filter: what it looks at and which value; `negated` keeps what does not fit, `off` lets everything pass."""

    field: str
    value: str
    negated: bool = False
    off: bool = False

    @property
    def written(self) -> str:
        """Write it as it stands in an address."""
        return f"{'~' if self.off else ''}{'-' if self.negated else ''}{self.field}:{self.value}"


def term_of(text: str) -> Term:
    """Read a filter from an address; whether there is such a field is checked when it is used."""
    off = text.startswith("~")
    negated = text[off:].startswith("-")
    field, _colon, value = text[off + negated :].partition(":")
    return Term(field.strip(), value.strip(), negated, off)


def with_term(terms: Sequence[Term], added: Term) -> tuple[Term, ...]:
    """Add a filter, in the place of the same one in another state."""
    same = [place for place, one in enumerate(terms) if (one.field, one.value) == (added.field, added.value)]
    if not same:
        return (*terms, added)
    return tuple(added if place == same[0] else one for place, one in enumerate(terms))


def switched(term: Term) -> Term:
    """Turn a filter off, or on again."""
    return replace(term, off=not term.off)


def turned(term: Term) -> Term:
    """Turn a filter round."""
    return replace(term, negated=not term.negated)


@dataclass(frozen=True, slots=True)
class Field:
    """What a filter can look at.

    `expression` makes a value into an expression of the filter language and raises ValueError for a value that cannot
    be; `words` says a value to people.
    """

    label: str | Promise
    expression: Callable[[str, datetime], Expression]
    words: Callable[[str, Names], str]
    can_be_turned: bool = True


def _plain(member: str) -> Callable[[str, datetime], Expression]:
    return lambda value, at: {member: value}


def _one_of(member: str, words: Collection[str]) -> Callable[[str, datetime], Expression]:
    def expression(value: str, at: datetime) -> Expression:
        if value not in words:
            raise ValueError(value)
        return {member: value}

    return expression


def _id(member: str) -> Callable[[str, datetime], Expression]:
    return lambda value, at: {member: str(UUID(value))}


def _numbers(member: str, least: int, most: int, bounds: Callable[[int, int], Expression]) -> Callable[..., Expression]:
    def expression(value: str, at: datetime) -> Expression:
        first, last = _ends(value)
        low, high = _number(first, least, least, most), _number(last, most, least, most)
        if high < low:
            raise ValueError(value)
        return {member: bounds(low, high)}

    return expression


def _number(text: str, default: int, least: int, most: int) -> int:
    if not text:
        return default
    if not _WHOLE.fullmatch(text) or not least <= int(text) <= most:
        raise ValueError(text)
    return int(text)


def _ends(value: str) -> tuple[str, str]:
    """Split `5..8`, `5..`, `..8` and `5`; raises ValueError where nothing is named."""
    first, dots, last = value.partition("..")
    if not first and not last:
        raise ValueError(value)
    return first, last if dots else first


def _importances(low: int, high: int) -> Expression:
    # People see tenths rounded, so that 8 stands for what lies between 0.75 and 0.85.
    return {
        "least": 0 if low == 1 else (low - 0.5) / IMPORTANCES,
        "most": 1 if high == IMPORTANCES else (high + 0.499) / IMPORTANCES,
    }


def _percents(low: int, high: int) -> Expression:
    return {"least": low / 100, "most": high / 100}


def _span(member: str) -> Callable[[str, datetime], Expression]:
    def expression(value: str, at: datetime) -> Expression:
        start, end = span_of(value, at)
        ends = {"from": start, "until": end}
        return {member: {name: day.isoformat() for name, day in ends.items() if day is not None}}

    return expression


def span_of(value: str, at: datetime) -> tuple[date | None, date | None]:
    """Give the first day of a span and the day after its last, None for an open end.

    Args:
        value: one of the quick choices, a day, or two days with `..` between them, of which one may be left out.
        at: the present, from which quick choices are counted.

    Raises:
        ValueError: it is none of these, or ends before it begins.
    """
    if value in QUICK:
        return quick_span(value, at.astimezone(UTC).date())
    first, last = (_day(end) if end else None for end in _ends(value))
    if first and last and last < first:
        raise ValueError(value)
    return first, last + timedelta(days=1) if last else None


def _day(text: str) -> date:
    if not _DAY.fullmatch(text):
        raise ValueError(text)
    return date.fromisoformat(text)


def _said_span(value: str, names: Names) -> str:
    if value in QUICK:
        return str(QUICK[value])
    try:
        first, last = (_day(end) if end else None for end in _ends(value))
    except ValueError:
        return value
    if first and first == last:
        return said_day(first)
    if first and last:
        return _("%(first)s to %(last)s") % {"first": said_day(first), "last": said_day(last)}
    if first:
        return _("since %(day)s") % {"day": said_day(first)}
    return _("until %(day)s") % {"day": said_day(last or date.min)}


def said_day(day: date) -> str:
    """Write a day out in words."""
    return day_words(day)


def _said_numbers(unit: str) -> Callable[[str, Names], str]:
    def words(value: str, names: Names) -> str:
        first, dots, last = value.partition("..")
        if not dots or first == last:
            return f"{first}{unit}"
        if first and last:
            return f"{first}–{last}{unit}"
        return (
            _("%(number)s or more") % {"number": f"{first}{unit}"}
            if first
            else _("%(number)s or less") % {"number": f"{last}{unit}"}
        )

    return words


def _status(value: str, at: datetime) -> Expression:
    return {"valid": {"holds": True, "ended": False}[value]}


def _said_status(value: str, names: Names) -> str:
    words = {"holds": _("holds now"), "ended": _("no longer holds")}
    return words.get(value, value)


def _json(value: str, at: datetime) -> Expression:
    try:
        found = json.loads(value)
    except RecursionError:
        raise ValueError(value) from None
    if not isinstance(found, dict) or not found:
        raise ValueError(value)
    return found


def _said(value: str, names: Names) -> str:
    return value


def _said_label(value: str, names: Names) -> str:
    return label(value)


def _said_name(value: str, names: Names) -> str:
    return names.get(value, value)


def _no_expression(value: str, at: datetime) -> Expression:
    raise ValueError(value)


FIELDS: Final[Mapping[str, Field]] = {
    "kind": Field(gettext_lazy("Kind"), _one_of("kind", Kind.values), _said_label),
    "category": Field(gettext_lazy("Category"), _one_of("category", CATEGORIES), _said_label),
    "agent": Field(gettext_lazy("Agent"), _id("agent"), _said_name),
    "source": Field(gettext_lazy("Source"), _plain("source"), _said),
    "tag": Field(pgettext_lazy("a label of a memory", "Tag"), _plain("tag"), _said),
    SCOPE: Field(gettext_lazy("Project or squad"), _no_expression, _said_name, can_be_turned=False),
    "confidence": Field(gettext_lazy("Confidence"), _numbers("confidence", 0, 100, _percents), _said_numbers(" %")),
    "importance": Field(
        gettext_lazy("Importance"), _numbers("importance", 1, IMPORTANCES, _importances), _said_numbers("")
    ),
    "occurred": Field(gettext_lazy("Happened"), _span("occurred"), _said_span),
    "created": Field(gettext_lazy("Stored"), _span("created"), _said_span),
    "status": Field(gettext_lazy("Status"), _status, _said_status),
    JSON: Field(gettext_lazy("Filter"), _json, _said),
}


def expression_of(terms: Sequence[Term], at: datetime) -> Expression | None:
    """Make filters into one expression: of the values of one field any will do, and all fields have to hold.

    Args:
        terms: the filters; those that are off, and scopes, say nothing here.
        at: the present.

    Raises:
        InvalidInput: `filter.invalid`, for an unknown field, a value that cannot be, or too many filters.
    """
    _check(terms)
    wanted: dict[str, list[Expression]] = {}
    refused: list[Expression] = []
    for term in terms:
        if term.off or term.field == SCOPE:
            continue
        try:
            made = FIELDS[term.field].expression(term.value, at)
        except (ValueError, KeyError, OverflowError):
            raise _invalid(term) from None
        if term.negated:
            refused.append({"not": made})
        else:
            wanted.setdefault(term.field, []).append(made)
    parts = [one[0] if len(one) == 1 else {"or": one} for one in wanted.values()] + refused
    return {"and": parts} if parts else None


def scopes_of(terms: Sequence[Term]) -> list[str]:
    """List the scopes that filters limit a search to, as REST writes them."""
    return [term.value for term in terms if term.field == SCOPE and not term.off]


def require_few(terms: Collection[object]) -> None:
    """Refuse more filters than a search can have.

    Raises:
        InvalidInput: `filter.invalid`.
    """
    if len(terms) > MOST_TERMS:
        raise InvalidInput(
            _("A search has at most %(most)s filters.") % {"most": MOST_TERMS}, code="filter.invalid", field="filter"
        )


def _check(terms: Sequence[Term]) -> None:
    require_few(terms)
    for term in terms:
        if term.field not in FIELDS or len(term.value) > MOST_CHARACTERS or not term.value:
            raise _invalid(term)
        if term.negated and not FIELDS[term.field].can_be_turned:
            raise _invalid(term)


def _invalid(term: Term) -> InvalidInput:
    known = FIELDS.get(term.field)
    if known is None:
        return InvalidInput(_("There is no such filter."), code="filter.invalid", field="filter")
    message = _("The filter “%(name)s” cannot have this value.") % {"name": known.label}
    return InvalidInput(message, code="filter.invalid", field="filter")
