"""What the graph page holds for its script, once: ids once, numbers whole, names as places in lists."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Final

from django.utils.safestring import SafeString

from memory.palace.graph_words import kind_word, link_word
from memory.palace.presenters import HUES, tag
from memory.services.graph_view.joining import RELATION
from memory.services.graph_view.things import Thing
from memory.services.graph_view.view import GraphView

VERSION: Final = 1
# What would end the element that the payload stands in, or begin another.
_SAFE: Final = str.maketrans({"<": "\\u003C", ">": "\\u003E", "&": "\\u0026"})
MEMORY: Final = 1
INFERRED: Final = 2
CONTESTED: Final = 4
SEED: Final = 8
MASKED: Final = 16


def payload(view: GraphView) -> dict[str, Any]:
    """Write a view as the script reads it.

    Returns:
        `v`; lists of words `kinds`, `categories` (word and hue), `communities` (number, title and hue), `joins`;
        `nodes`: id, label, flags (1 memory, 2 concluded, 4 in doubt, 8 start, 16 masked), kind, category, community
        (-1 for none), importance and confidence in percent, support, links not shown, x and y in hundredths;
        `links`: both ends, word, weight in percent, 1 where concluded.
    """
    said = {one: kind_word(one) for one in {thing.kind for thing in view.things}}
    kinds = _ordered(said[one.kind] for one in view.things)
    categories = _ordered(one.category for one in view.things)
    numbers = _ordered(one.community for one in view.things if one.community is not None)
    names = {one: _word(*one, view) for one in {(link.kind, link.label) for link in view.links}}
    words = _ordered(names[link.kind, link.label] for link in view.links)
    return {
        "v": VERSION,
        "kinds": list(kinds),
        "categories": [[tag(one).name, tag(one).hue] for one in categories],
        "communities": [[one, view.communities.get(one, ""), one % HUES] for one in numbers],
        "joins": list(words),
        "nodes": [
            [
                str(one.id),
                one.label,
                flags(one),
                kinds[said[one.kind]],
                categories[one.category],
                -1 if one.community is None else numbers[one.community],
                round(one.importance * 100),
                round(one.confidence * 100),
                one.support,
                one.more,
                round(x * 100),
                round(y * 100),
            ]
            for one, (x, y) in zip(view.things, view.places, strict=True)
        ],
        "links": [
            [source, target, words[names[one.kind, one.label]], round(one.weight * 100), int(one.inferred)]
            for one, (source, target) in zip(view.links, view.ends, strict=True)
        ],
    }


def payload_text(view: GraphView) -> SafeString:
    """Write the payload as it stands in the page, in an element that holds data."""
    written = json.dumps(payload(view), ensure_ascii=False, separators=(",", ":")).translate(_SAFE)
    return SafeString(written)


def flags(one: Thing) -> int:
    """Give the flags of a thing as one number."""
    said = (one.is_memory, one.inferred, one.contested, one.seed, one.masked)
    return sum(bit for bit, is_so in zip((MEMORY, INFERRED, CONTESTED, SEED, MASKED), said, strict=True) if is_so)


def _word(kind: str, label: int, view: GraphView) -> str:
    return view.labels.get(label, "") if kind == RELATION else link_word(kind)


def _ordered(values: Iterable[Any]) -> dict[Any, int]:
    """Number values in the order in which they come."""
    numbers: dict[Any, int] = {}
    for value in values:
        numbers.setdefault(value, len(numbers))
    return numbers
