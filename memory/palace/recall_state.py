"""What a search page shows is decided by its address alone: this reads the address and writes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final
from urllib.parse import urlencode

from django.http import QueryDict
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from memory.errors import InvalidInput
from memory.palace.recall_filters import (
    FIELDS,
    Names,
    Term,
    expression_of,
    require_few,
    said_day,
    scopes_of,
    switched,
    term_of,
    turned,
    with_term,
)
from memory.palace.recall_tuning import NAMES
from memory.recall.profiles import SHIPPED
from memory.services.questions import RecallRequest
from memory.services.recall import MAX_LIMIT

PROFILE_MEANINGS: Final[Mapping[str, str | Promise]] = {
    "default": gettext_lazy("the best measured"),
    "prax": gettext_lazy("ranks and freshness"),
    "praxis": gettext_lazy("words, weight and use"),
    "cortex": gettext_lazy("words and meaning, fading"),
    "engram": gettext_lazy("ranks, spread over topics"),
}
DAYS: Final = ("true_on", "known_on")
TEXTS: Final = ("profile", "limit", "threshold", "words", "meaning", "half_life", "mmr", *DAYS)


def profile_choices() -> list[tuple[str, str]]:
    """List the profiles that can be chosen, with what they are, in the language of the page."""
    named = [(name, f"{name}: {PROFILE_MEANINGS[name]}") for name in SHIPPED]
    return [("", _("my own choice")), *named]


@dataclass(frozen=True, slots=True)
class RecallState:
    """A search as the address holds it, all of it text as typed; blank means the profile's own value.

    `true_on` and `known_on` are days: what held on it, and what was known by its end.
    """

    q: str = ""
    terms: tuple[Term, ...] = ()
    profile: str = ""
    limit: str = ""
    threshold: str = ""
    words: str = ""
    meaning: str = ""
    half_life: str = ""
    mmr: str = ""
    true_on: str = ""
    known_on: str = ""

    @property
    def sliders(self) -> dict[str, str]:
        """Give what was chosen with the sliders, by their names."""
        return {name: getattr(self, name) for name in NAMES}

    @property
    def tuned(self) -> bool:
        """Tell whether anything about the order or the number was chosen."""
        return any((self.profile, self.limit, *self.sliders.values()))

    @property
    def narrowed(self) -> bool:
        """Tell whether anything limits what may be found."""
        return any(not term.off for term in self.terms) or any(getattr(self, name) for name in DAYS)

    @property
    def chosen(self) -> bool:
        """Tell whether anything but the question was chosen."""
        return self.tuned or bool(self.terms) or self.narrowed

    @property
    def choices(self) -> str:
        """Write everything but the question as an address holds it."""
        texts = [(name, value) for name in TEXTS if (value := getattr(self, name))]
        return urlencode([*(("f", term.written) for term in self.terms), *texts])

    @property
    def address(self) -> str:
        """Give the page's address, with what was chosen and nothing else."""
        query = "&".join(part for part in (urlencode({"q": self.q}) if self.q else "", self.choices) if part)
        page = reverse("palace:recall")
        return f"{page}?{query}" if query else page

    def without(self, *names: str) -> RecallState:
        """Give the same search without some of the choices."""
        blank: dict[str, Any] = dict.fromkeys(names, "")
        return replace(self, **blank)

    @property
    def untuned(self) -> str:
        """Give the address of the same question with nothing else chosen."""
        return RecallState(q=self.q).address

    def with_filter(self, field: str, value: str) -> RecallState:
        """Give the same search with one filter more."""
        return replace(self, terms=with_term(self.terms, Term(field, value)))

    def without_filter(self, term: Term) -> RecallState:
        """Give the same search with one filter less."""
        return replace(self, terms=tuple(one for one in self.terms if one != term))

    def with_filter_as(self, term: Term, other: Term) -> RecallState:
        """Give the same search with one filter in another state."""
        return replace(self, terms=tuple(other if one == term else one for one in self.terms))

    def narrowing(self, at: datetime) -> dict[str, Any]:
        """Give what limits a search or a list, as their requests take it.

        Args:
            at: the present.

        Raises:
            InvalidInput: a filter or a day cannot be used.
        """
        found: dict[str, Any] = {"filter": expression_of(self.terms, at)}
        scopes = scopes_of(self.terms)
        if scopes:
            found["scope"] = scopes
        if self.true_on:
            found["true_on"] = _end_of(self.true_on, "true_on", at)
        if self.known_on:
            found["as_of"] = _end_of(self.known_on, "known_on", at)
        return found

    def request(
        self, *, counts: bool, at: datetime, overrides: Mapping[str, Any], profile: str = "", limit: int | None = None
    ) -> RecallRequest:
        """Make the request of a search.

        Args:
            counts: a search that was meant, and not one while typing: it reinforces what it finds and is kept.
            at: the present.
            overrides: other values of the profile's fields.
            profile: the profile that these belong to, where the address names none.
            limit: most hits where the address names no number; the profile's own when left out.

        Raises:
            InvalidInput: the limit is no number in its range, or a filter or day cannot be used.
        """
        return RecallRequest(
            query=self.q,
            profile=self.profile or profile or None,
            limit=self.most or limit,
            overrides=overrides or None,
            reinforce=counts,
            record=counts,
            **self.narrowing(at),
        )

    @property
    def most(self) -> int | None:
        """Give how many memories are wanted at most, None where nothing was chosen.

        Raises:
            InvalidInput: `limit.out_of_range`.
        """
        if not self.limit:
            return None
        if not (self.limit.isascii() and self.limit.isdigit()) or len(self.limit) > 3 or not _fits(int(self.limit)):
            raise InvalidInput(
                _("The number of memories lies between 1 and %(most)s.") % {"most": MAX_LIMIT},
                code="limit.out_of_range",
                field="limit",
            )
        return int(self.limit)

    def looking_back(self) -> list[str]:
        """Write out in words which days the search looks from; days that are none are shown as they were typed."""
        known, held = _said(self.known_on), _said(self.true_on)
        if known and held:
            return [_("As I knew it on %(known)s: what was true on %(held)s.") % {"known": known, "held": held}]
        if known:
            return [_("As I knew it on %(day)s, and what was true then.") % {"day": known}]
        return [_("What was true on %(day)s, as I know it now.") % {"day": held}] if held else []


def _fits(number: int) -> bool:
    return 1 <= number <= MAX_LIMIT


def _end_of(text: str, name: str, at: datetime) -> datetime:
    """Give the last moment of a day, and the present for today and later days."""
    try:
        day = date.fromisoformat(text) if len(text) == len("2026-01-31") else None
    except ValueError:
        day = None
    if day is None or day.year > at.year + 100:
        raise InvalidInput(_("“%(text)s” is not a day.") % {"text": text[:20]}, code="date.invalid", field=name)
    if day >= at.astimezone(UTC).date() and name == "known_on":
        return at
    return datetime(day.year, day.month, day.day, tzinfo=UTC) + timedelta(days=1, microseconds=-1)


def _said(text: str) -> str:
    try:
        return said_day(date.fromisoformat(text)) if text else ""
    except ValueError:
        return text


def state_of(query: QueryDict, *, added: Sequence[Term] = ()) -> RecallState:
    """Read a search from an address; unknown parameters are passed over.

    Args:
        query: the address's parameters.
        added: filters that a form adds.

    Raises:
        InvalidInput: `filter.invalid`, for more filters than a search can have. They are not even read into a state,
            since each is drawn with addresses that hold all of them.
    """
    written = (term_of(text) for text in query.getlist("f") if text.strip())
    # The same filter in another state takes the place of the one before.
    terms = {(term.field, term.value): term for term in (*written, *added)}
    require_few(terms)
    texts = {name: query.get(name, "").strip() for name in TEXTS}
    return RecallState(q=query.get("q", "").strip(), terms=tuple(terms.values()), **texts)


@dataclass(frozen=True, slots=True)
class Pill:
    """One limit of a search: what it says, its place among the inputs, and the addresses that change it."""

    id: str
    label: str
    value: str
    written: str
    negated: bool
    off: bool
    switch: str
    turn: str
    remove: str


def pills_of(state: RecallState, names: Names) -> list[Pill]:
    """List what a search is limited to, each with the addresses of the search without it, off and turned round."""
    found = []
    for place, term in enumerate(state.terms, start=1):
        field = FIELDS.get(term.field)
        found.append(
            Pill(
                id=f"pill-{place}",
                label=str(field.label) if field else term.field,
                value=field.words(term.value, names) if field else term.value,
                written=term.written,
                negated=term.negated,
                off=term.off,
                switch=state.with_filter_as(term, switched(term)).address,
                turn=state.with_filter_as(term, turned(term)).address if field and field.can_be_turned else "",
                remove=state.without_filter(term).address,
            )
        )
    return found
