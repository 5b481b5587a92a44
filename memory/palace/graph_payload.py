"""What the graph page's script loads, once: ids once, numbers whole, names as places in lists."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from memory.palace.graph_words import kind_word, link_word
from memory.palace.presenters import HUES, tag
from memory.services.graph_view.joining import RELATION, Join
from memory.services.graph_view.things import Thing
from memory.services.graph_view.view import GraphView

VERSION: Final = 1
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
    kinds = _ordered(kind_word(one.kind) for one in view.things)
    categories = _ordered(one.category for one in view.things)
    numbers = _ordered(one.community for one in view.things if one.community is not None)
    words = _ordered(_word(link, view) for link in view.links)
    place = {one.id: number for number, one in enumerate(view.things)}
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
                kinds[kind_word(one.kind)],
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
            [place[one.source], place[one.target], words[_word(one, view)], round(one.weight * 100), int(one.inferred)]
            for one in view.links
        ],
    }


def flags(one: Thing) -> int:
    """Give the flags of a thing as one number."""
    said = (one.is_memory, one.inferred, one.contested, one.seed, one.masked)
    return sum(bit for bit, is_so in zip((MEMORY, INFERRED, CONTESTED, SEED, MASKED), said, strict=True) if is_so)


def _word(link: Join, view: GraphView) -> str:
    return view.labels.get(link.label, "") if link.kind == RELATION else link_word(link.kind)


def _ordered(values: Iterable[Any]) -> dict[Any, int]:
    """Number values in the order in which they come."""
    numbers: dict[Any, int] = {}
    for value in values:
        numbers.setdefault(value, len(numbers))
    return numbers
