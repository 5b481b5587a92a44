"""What a language model is asked about a text, and how its answer is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from memory.privacy.meaning.kinds import KINDS, kind_of, kinds_in

LEAST_CONFIDENCE: Final = 0.7
"""Below it an answer changes nothing."""
MOST_PHRASES: Final = 20
LONGEST_PHRASE: Final = 300

INSTRUCTION: Final = """\
The list holds one stored text, or parts of it in order. Say whether it tells something personal about an identifiable \
person: about health, biometric or genetic traits or money matters (health, biometric, genetic, financial); who or \
where somebody is and how to reach them (name, residence, contact, identity); religious or philosophical belief, \
political opinion, racial or ethnic origin, sexual life or orientation, membership of a trade union, offences and \
convictions (belief, politics, origin, sexual_life, union, criminal); or anything else of that sort (other). Words in \
square brackets such as [EMAIL_1] stand for personal data that is known already; they alone are no reason to say yes. \
Public figures in their public roles, companies, products and technical terms are not personal. Give in "phrases" the \
shortest exact words of the text that tell it, copied letter by letter, and in "confidence" how sure you are, from 0 \
to 1."""

SCHEMA: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {
        "has_pii": {"type": "boolean"},
        "types": {"type": "array", "items": {"type": "string", "enum": list(KINDS)}},
        "confidence": {"type": "number", "minimum": 0, "maximum": 1},
        "phrases": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["has_pii", "types", "confidence", "phrases"],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a model said of a text: kinds by meaning (none where it is not personal), how sure, and in which words."""

    kinds: tuple[str, ...] = ()
    confidence: float = 0.0
    phrases: tuple[str, ...] = ()

    @property
    def counts(self) -> bool:
        """Tell whether the verdict is one to act on."""
        return bool(self.kinds) and self.confidence >= LEAST_CONFIDENCE


def read(value: Any) -> Verdict:
    """Read an answer.

    Raises:
        ValueError: it is not of the agreed shape; the message is for the model and repeats nothing of the text.
    """
    if not isinstance(value, Mapping):
        raise ValueError("an object with has_pii, types, confidence and phrases is expected.")
    if not isinstance(value.get("has_pii"), bool):
        raise ValueError("has_pii has to be true or false.")
    confidence = value.get("confidence")
    if isinstance(confidence, bool) or not isinstance(confidence, int | float) or not 0 <= confidence <= 1:
        raise ValueError("confidence has to be a number from 0 to 1.")
    types = value.get("types")
    if not isinstance(types, Sequence) or isinstance(types, str) or not all(isinstance(one, str) for one in types):
        raise ValueError("types has to be a list of words.")
    if not value["has_pii"]:
        return Verdict(confidence=float(confidence))
    if not types:
        raise ValueError("types has to name at least one kind where has_pii is true.")
    return Verdict(kinds_in({kind_of(one) for one in types}), float(confidence), _phrases(value.get("phrases")))


def _phrases(value: Any) -> tuple[str, ...]:
    """Keep the phrases that can be looked for; a model that gives none, or something else, has only said its kinds."""
    if not isinstance(value, Sequence) or isinstance(value, str):
        return ()
    usable = (one.strip() for one in value if isinstance(one, str))
    return tuple(dict.fromkeys(one for one in usable if 2 <= len(one) <= LONGEST_PHRASE))[:MOST_PHRASES]
