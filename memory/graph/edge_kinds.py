"""The eight kinds of links between memories, and what the names of other systems become."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from memory.errors import InvalidInput
from memory.graph.labels import snake_case
from memory.models import EdgeKind

MAX_NAME_CHARACTERS: Final = 64


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a name means here: one of our kinds, and whether it is said from the other end."""

    kind: EdgeKind
    reverse: bool = False
    foreign: bool = True


FOREIGN: Final[Mapping[str, Meaning]] = {
    "supported_by": Meaning(EdgeKind.SUPPORTS, reverse=True),
    "supersedes": Meaning(EdgeKind.FOLLOWED_BY, reverse=True),
    "temporally_adjacent": Meaning(EdgeKind.FOLLOWED_BY),
    "inferred_from": Meaning(EdgeKind.DERIVED_FROM),
    "learned_from": Meaning(EdgeKind.DERIVED_FROM),
    "consolidated_into": Meaning(EdgeKind.DERIVED_FROM, reverse=True),
    "example_of": Meaning(EdgeKind.SUPPORTS),
    "elaborates": Meaning(EdgeKind.SUPPORTS),
    "generalizes": Meaning(EdgeKind.RELATED_TO),
    "specializes": Meaning(EdgeKind.RELATED_TO),
}
"""Names of Engram's tools and code that are none of its published eight."""


def meaning_of(name: object) -> Meaning:
    """Give what the name of a kind means, in any spelling of case: `SimilarTo`, `similar-to`, `similar_to`.

    Raises:
        InvalidInput: `kind.invalid`, no such name.
    """
    spelled = snake_case(name) if isinstance(name, str) and len(name) <= MAX_NAME_CHARACTERS else ""
    if spelled in EdgeKind.values:
        return Meaning(EdgeKind(spelled), foreign=False)
    found = FOREIGN.get(spelled)
    if found is None:
        known = ", ".join(EdgeKind.values)
        raise InvalidInput(
            f"This is one of {known}, or a name of another system for one of them.", code="kind.invalid", field="kind"
        )
    return found
