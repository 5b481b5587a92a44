"""Questions beside the search box: those that a person has saved, and shipped ones with a blank to fill in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final
from uuid import UUID

from django.http import QueryDict
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from memory.models import SavedSearch
from memory.palace.recall_filters import Term
from memory.palace.recall_state import RecallState, state_of
from memory.privacy.masking import masked_value
from memory.services.actors import Actor
from memory.services.legible import UNREADABLE, legible
from memory.services.saved_searches import list_saved_searches


@dataclass(frozen=True, slots=True)
class SavedQuestion:
    """A search that a person keeps, with personal data covered, as in every list."""

    id: UUID
    name: str
    question: str
    filters: int


@dataclass(frozen=True, slots=True)
class Template:
    """A question that comes with the palace: words before a blank, or a whole sentence where it has an address."""

    id: str
    words: str
    address: str
    terms: tuple[str, ...]


SHIPPED: Final[tuple[tuple[str, str | Promise, tuple[Term, ...], bool], ...]] = (
    ("changed", gettext_lazy("What changed this week"), (Term("created", "this-week"),), False),
    (
        "believed",
        gettext_lazy("What do we believe about"),
        (Term("kind", "turn", negated=True), Term("status", "holds")),
        True,
    ),
    ("told", gettext_lazy("Who told us about"), (Term("kind", "turn"),), True),
)
"""Name, words, filters, and whether there is a blank after the words, which becomes the question."""


def templates_of() -> list[Template]:
    """List the shipped questions in the language of the page."""
    return [
        Template(
            name,
            str(words),
            "" if blank else RecallState(terms=terms).address,
            tuple(term.written for term in terms),
        )
        for name, words, terms, blank in SHIPPED
    ]


def saved_questions(actor: Actor) -> list[SavedQuestion]:
    """List the searches that a person keeps; one that does not open is listed as such."""
    found = []
    for row in list_saved_searches(actor=actor):
        name, question = legible(row, "name"), legible(row, "question")
        choices = QueryDict(legible(row, "choices") or "")
        shown = _(UNREADABLE) if name is None else masked_value(name)
        found.append(SavedQuestion(row.pk, shown, masked_value(question or ""), len(choices.getlist("f"))))
    return found


def state_of_saved(row: SavedSearch) -> RecallState:
    """Give the search that was kept; what its choices hold beyond a search is passed over."""
    choices = QueryDict(row.choices, mutable=True)
    choices["q"] = row.question
    return state_of(choices)
