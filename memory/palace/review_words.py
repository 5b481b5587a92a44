"""What the review queue says: the kinds of doubts, why one waits, and what deciding it does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy

from memory.models import ReviewKind, ReviewState

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

KINDS: Final[Mapping[str, StrOrPromise]] = {
    ReviewKind.FACT: lazy("Fact"),
    ReviewKind.ENTITY: lazy("Name"),
    ReviewKind.RELATION: lazy("Relation"),
    ReviewKind.EVENT: lazy("Event"),
    ReviewKind.CAUSE: lazy("Cause"),
    ReviewKind.MERGE: lazy("Same or not"),
    ReviewKind.CONTRADICTION: lazy("Contradiction"),
    "dispute": lazy("Dispute"),
}
QUESTIONS: Final[Mapping[str, StrOrPromise]] = {
    ReviewKind.FACT: lazy("Shall I remember this?"),
    ReviewKind.ENTITY: lazy("Is this somebody or something to know by name?"),
    ReviewKind.RELATION: lazy("Is this how they stand to each other?"),
    ReviewKind.EVENT: lazy("Did this happen?"),
    ReviewKind.CAUSE: lazy("Did one lead to the other?"),
    ReviewKind.MERGE: lazy("Are these two the same?"),
    ReviewKind.CONTRADICTION: lazy("Both cannot hold. Does the newer one take the place of the older?"),
    "dispute": lazy("Somebody says that this is wrong. Shall it go into the archive?"),
}
APPROVING: Final[Mapping[str, StrOrPromise]] = {
    ReviewKind.FACT: lazy("it becomes a memory, with what was said as its source."),
    ReviewKind.ENTITY: lazy("the name is known from then on."),
    ReviewKind.RELATION: lazy("the relation is kept, with names that are not known yet."),
    ReviewKind.EVENT: lazy("the event is kept, with those who took part."),
    ReviewKind.CAUSE: lazy("cause and effect are kept."),
    ReviewKind.MERGE: lazy("the two become one, which keeps the name that is spoken of more."),
    ReviewKind.CONTRADICTION: lazy("the newer statement stands; the older one stays in the history."),
    "dispute": lazy("the memory goes into the archive, from which it can be restored."),
}
REJECTING: Final[Mapping[str, StrOrPromise]] = {
    ReviewKind.MERGE: lazy("the two are kept apart, and I do not ask again."),
    ReviewKind.CONTRADICTION: lazy("both stay as they are, and I do not ask again."),
    "dispute": lazy("the memory stays, and the same dispute is not asked about again."),
}
NOTHING_HAPPENS: Final = lazy("nothing is kept, and I do not ask again.")
STATES: Final[Mapping[str, StrOrPromise]] = {
    ReviewState.OPEN: lazy("Waiting"),
    ReviewState.SNOOZED: lazy("Snoozed"),
    ReviewState.APPROVED: lazy("Approved"),
    ReviewState.REJECTED: lazy("Rejected"),
}
ORDERS: Final[Mapping[str, StrOrPromise]] = {
    "oldest": lazy("Oldest first"),
    "newest": lazy("Newest first"),
    "doubtful": lazy("Least sure first"),
    "surest": lazy("Surest first"),
}
RULES: Final[Mapping[str, StrOrPromise]] = {
    "near": lazy("The two names differ by another spelling of a word; both may be names."),
    "joined": lazy("The two names differ by how their words are joined."),
    "emoji": lazy("One name has a sign that the other lacks; who writes one may tell two by it."),
    "order": lazy("The same words stand in another order."),
    "middle": lazy("One name has a middle name that the other lacks."),
    "initial": lazy("One name has an initial where the other has a name."),
    "title_of_surname": lazy("One name is a title and a surname that the other bears too."),
    "nickname": lazy("One name may be a short form of the other."),
    "plural": lazy("One name is the plural of the other."),
    "kind_word": lazy("One name has a word such as project or team that the other lacks."),
    "filler": lazy("One name has a small word that the other lacks."),
    "filler_of_word": lazy("One name has a small word that the other lacks."),
    "acronym": lazy("One name may be the initials of the other."),
    "order_of_numbers": lazy("The same words and numbers stand in another order."),
    "part": lazy("One name is a part of the other."),
}
REASONS: Final[Mapping[str, StrOrPromise]] = {
    "confidence.low": lazy("I am not sure that I understood this rightly."),
    "contested": lazy("A weighty statement, or one of yours, stands against one that was only read out of a text."),
    "bus.contested": lazy("An agent accepted what another one told it, and it stands against what was known."),
    "partly": lazy("Only a part of what the older statement says is contradicted."),
    "disputed": lazy("You or one of your agents disputes a memory."),
}
UNKNOWN_REASON: Final = lazy("It waits for your judgement.")


def reason(code: str, names: list[str]) -> str:
    """Say why an item waits: by the rule that compared two names, or by what makes it doubtful."""
    if code.startswith("merge."):
        said = str(RULES.get(code.removeprefix("merge."), _("The two names are much alike.")))
        if len(names) > 1:
            both = _("“%(first)s” and “%(second)s” may mean the same.") % {"first": names[0], "second": names[1]}
            return f"{both} {said}"
        return said
    return str(REASONS.get(code, UNKNOWN_REASON))


def sureness(confidence: float) -> str:
    """Say in words how sure an item is."""
    if confidence < 0.35:
        return _("a guess")
    if confidence < 0.6:
        return _("doubtful")
    return _("likely") if confidence < 0.85 else _("almost sure")


def you(*, own: bool) -> str:
    """Name the owner to a reader, who may be the owner."""
    return _("you") if own else _("the owner")


def readers(visibility: str, agent: str | None, *, own: bool) -> str:
    """Say who may read what an item would make.

    Args:
        visibility: of the item.
        agent: the name of the agent whose scope it is, None where it is another scope.
        own: whether the reader is the owner.
    """
    if visibility == "agent":
        name = {"agent": agent or _("one agent")}
        return (_("you and %(agent)s") if own else _("the owner and %(agent)s")) % name
    if visibility == "owner":
        return _("you and all your agents") if own else _("the owner and all agents")
    if visibility == "squad":
        return _("you and the agents of one squad") if own else _("the owner and the agents of one squad")
    return _("you and the agents of one project") if own else _("the owner and the agents of one project")


def type_word(value: Any) -> str:
    """Name the type of an entity."""
    words = {
        "person": _("person"),
        "topic": _("topic"),
        "project": _("project"),
        "tool": _("tool"),
        "url": _("address"),
        "concept": _("thing"),
        "organization": _("organisation"),
    }
    return words.get(str(value or "concept"), str(value))
