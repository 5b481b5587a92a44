"""What the language model is asked to draw from texts, and the shape of its answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from memory.consolidation.extraction.llm_pieces import Piece
from memory.models import EntityType
from memory.ports import Passage

USER: Final = "user"
ASSISTANT: Final = "assistant"

INSTRUCTION: Final = """\
You read what was said in conversations and give what is worth remembering about the person who owns these notes. Each \
item of the list is one text with its number, when it was said, by whom, and what was said just before it, which is \
for understanding only: draw nothing from `before`.

Draw only what a text says itself. Guess nothing, add nothing that you know from elsewhere, and give empty lists where \
there is nothing. Greetings, questions and small talk give nothing.

- entities: people, topics, projects, tools, web addresses, concepts and organisations that the text names. Give the \
name as it is written. The speaker is an entity too when something is said about him: use the name in `by`.
- relations: how one entity stands to another, with a short label such as works_on, prefers, lives_in, part_of, \
reports_to, uses. `ended` is true where the text says that it no longer holds.
- facts: statements that can be understood without the text, one sentence each, at most 280 characters, in the \
language of the text, with names instead of pronouns. `importance` is 0.8-1.0 for core preferences and decisions, \
0.4-0.7 for useful context, 0.1-0.3 for what is minor. `confidence` is how sure you are that the text says so. Where \
the fact claims one thing of somebody, give `claim`: whose, which attribute (likes, lives_in, birthday), which value, \
and whether it is denied ("hates" denies likes).
- events: what happened or will happen at a time.
- causes: what led to what, where the text says so.

`from` is the number of the text. Times are ISO 8601 and resolved: "yesterday" counts from when the text was said. \
Give null where no time is told."""

_TEXT: Final = {"type": "string"}
_MAYBE: Final = {"type": ["string", "null"]}
_SHARE: Final = {"type": "number"}
_TEXTS: Final = {"type": "array", "items": _TEXT}
_FROM: Final = {"type": "integer"}


def _object(**properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _list(**properties: Any) -> dict[str, Any]:
    return {"type": "array", "items": _object(**properties)}


SCHEMA: Final[Mapping[str, Any]] = _object(
    entities=_list(
        name=_TEXT,
        type={"type": "string", "enum": list(EntityType.values)},
        aliases=_TEXTS,
        importance=_SHARE,
        confidence=_SHARE,
        **{"from": {"type": "array", "items": _FROM}},
    ),
    relations=_list(
        source=_TEXT,
        label=_TEXT,
        target=_TEXT,
        weight=_SHARE,
        confidence=_SHARE,
        valid_from=_MAYBE,
        valid_until=_MAYBE,
        ended={"type": "boolean"},
        **{"from": _FROM},
    ),
    facts=_list(
        text=_TEXT,
        kind={"type": "string", "enum": ["fact", "preference", "decision", "instruction"]},
        category=_TEXT,
        importance=_SHARE,
        confidence=_SHARE,
        entities=_TEXTS,
        topics=_TEXTS,
        occurred_at=_MAYBE,
        valid_from=_MAYBE,
        valid_until=_MAYBE,
        claim={
            **_object(subject=_TEXT, attribute=_TEXT, value=_TEXT, denied={"type": "boolean"}),
            "type": ["object", "null"],
        },
        **{"from": _FROM},
    ),
    events=_list(text=_TEXT, occurred_at=_MAYBE, participants=_TEXTS, confidence=_SHARE, **{"from": _FROM}),
    causes=_list(
        cause=_TEXT,
        effect=_TEXT,
        cause_entity=_MAYBE,
        effect_entity=_MAYBE,
        confidence=_SHARE,
        **{"from": _FROM},
    ),
)


def speaker_of(passage: Passage) -> str:
    """Name who speaks, as an entity is named after him."""
    return passage.speaker or (ASSISTANT if passage.role == ASSISTANT else USER)


def parts_of(group: Sequence[Piece]) -> list[dict[str, Any]]:
    """Write the pieces of one prompt, numbered from 1."""
    return [
        {
            "number": number,
            "said_at": f"{piece.passage.occurred_at:%A %Y-%m-%d %H:%M %Z}",
            "by": speaker_of(piece.passage),
            "before": piece.before,
            "text": piece.text,
        }
        for number, piece in enumerate(group, start=1)
    ]
