"""What a search page shows is decided by its address alone: this reads the address and writes it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, fields
from typing import Final
from urllib.parse import urlencode

from django.http import QueryDict
from django.urls import reverse

from memory.errors import InvalidInput
from memory.models import Kind
from memory.palace.presenters import label
from memory.recall.profiles import SHIPPED
from memory.services.questions import RecallRequest
from memory.services.recall import MAX_LIMIT
from memory.text.limits import CATEGORIES

PROFILE_MEANINGS: Final = {
    "default": "the best measured",
    "prax": "ranks and freshness",
    "praxis": "words, weight and use",
    "cortex": "words and meaning, fading",
    "engram": "ranks, spread over topics",
}
PROFILE_CHOICES: Final = [("", "my own choice"), *((name, f"{name}: {PROFILE_MEANINGS[name]}") for name in SHIPPED)]


@dataclass(frozen=True, slots=True)
class Pill:
    """One limit of a search, which its address takes away."""

    name: str
    address: str


@dataclass(frozen=True, slots=True)
class RecallState:
    """A search as the address holds it, all of it text as typed; blank means the profile's own value."""

    q: str = ""
    profile: str = ""
    limit: str = ""
    threshold: str = ""
    category: str = ""
    kind: str = ""

    @property
    def tuned(self) -> bool:
        """Tell whether anything but the query was chosen."""
        return any((self.profile, self.limit, self.threshold, self.category, self.kind))

    @property
    def address(self) -> str:
        """Give the page's address, with what was chosen and nothing else."""
        return self.without()

    def without(self, *names: str) -> str:
        """Give the address without some of the choices."""
        chosen = {
            field.name: value
            for field in fields(self)
            if field.name not in names and (value := getattr(self, field.name))
        }
        page = reverse("palace:recall")
        return f"{page}?{urlencode(chosen)}" if chosen else page

    @property
    def untuned(self) -> str:
        """Give the address of the same question with nothing else chosen."""
        return RecallState(q=self.q).address

    @property
    def pills(self) -> list[Pill]:
        """List what the search is limited to, each with the address of the search without it."""
        names = {"category": "about {}", "kind": "{} only", "threshold": "relevant from {} %"}
        return [
            Pill(words.format(label(value)), self.without(name))
            for name, words in names.items()
            if (value := getattr(self, name))
        ]

    def request(self, *, counts: bool) -> RecallRequest:
        """Make the request of a search.

        Args:
            counts: a search that was meant, and not one while typing: it reinforces what it finds and is kept.

        Raises:
            InvalidInput: limit or threshold is no number in its range, or category or kind is none that there is.
        """
        _check_choice(self.category, CATEGORIES, "category.unknown", "There is no such category.")
        _check_choice(self.kind, Kind.values, "kind.invalid", "There is no such kind of statement.")
        percent = _number(self.threshold, "threshold", "The least relevance is a number of percent from 0 to 100.", 100)
        return RecallRequest(
            query=self.q,
            profile=self.profile or None,
            limit=_number(self.limit, "limit", f"The number of memories lies between 1 and {MAX_LIMIT}.", MAX_LIMIT),
            threshold=None if percent is None else percent / 100,
            categories=(self.category,) if self.category else (),
            kinds=(self.kind,) if self.kind else (),
            reinforce=counts,
            record=counts,
        )


def state_of(query: QueryDict) -> RecallState:
    """Read a search from an address; unknown parameters are passed over."""
    return RecallState(**{field.name: query.get(field.name, "").strip() for field in fields(RecallState)})


def _check_choice(value: str, choices: Collection[str], code: str, sentence: str) -> None:
    if value and value not in choices:
        raise InvalidInput(sentence, code=code, field=code.partition(".")[0])


def _number(value: str, name: str, sentence: str, most: int) -> int | None:
    if not value:
        return None
    if not (value.isascii() and value.isdigit()) or len(value) > 3 or int(value) > most:
        raise InvalidInput(sentence, code=f"{name}.out_of_range", field=name)
    return int(value)
