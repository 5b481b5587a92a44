"""How much personal data the rules find: against a labelled set, beside Presidio where that is installed."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from memory.errors import InvalidInput
from memory.privacy.pii import KINDS, scan

TEXTS: Final = Path(__file__).parent / "pii_texts.jsonl"
READER: Final = Path(__file__).parent / "presidio_reader.py"
HALVES: Final = ("tune", "test", "all")
OPEN: Final = "open"
"""Label of what may be found or left: a name or a place that no kind asks for."""

TIMED_LENGTH: Final = 200
TIMED_ROUNDS: Final = 5
OVERLAP: Final = 0.5
READER_SECONDS: Final = 600

# A number with a country code is one kind and without it another, an address is a place: who finds it under the
# neighbouring name has found it.
FAMILIES: Final[Mapping[str, str]] = {
    "phone_us": "phone",
    "phone_international": "phone",
    "ssn": "ssn",
    "ssn_digits": "ssn",
    "location": "place",
    "address": "place",
    "api_key": "secret",
    "credential": "secret",
}
PRESIDIO: Final[Mapping[str, str]] = {
    "EMAIL_ADDRESS": "email",
    "US_SSN": "ssn",
    "CREDIT_CARD": "credit_card",
    "IBAN_CODE": "iban",
    "PHONE_NUMBER": "phone",
    "IP_ADDRESS": "ip_address",
    "PERSON": "person_name",
    "LOCATION": "place",
}
"""Families by the names of Presidio's entities; what has no family here is left out of the comparison.

Official documents are left out although Presidio has recognisers for some: of its defaults most belong to countries
that the set does not ask for, and their false alarms would count against it."""

Place = tuple[int, int, str]


@dataclass(frozen=True, slots=True)
class Labelled:
    """A text of the set with its labelled places."""

    id: str
    language: str
    text: str
    places: tuple[Place, ...]

    @property
    def tuned(self) -> bool:
        """Whether the rules were tuned on it: ids with an odd number."""
        return int(self.id.rsplit("-", 1)[1]) % 2 == 1


@dataclass(slots=True)
class Count:
    """Labelled places, those of them that were found, and finds that match no label."""

    labelled: int = 0
    found: int = 0
    false: int = 0

    def figures(self) -> dict[str, Any]:
        """Give recall and precision; none where there is nothing to divide by."""
        claimed = self.found + self.false
        return {
            "recall": round(self.found / self.labelled, 4) if self.labelled else None,
            "precision": round(self.found / claimed, 4) if claimed else None,
            "n": self.labelled,
        }


def load(path: Path = TEXTS) -> list[Labelled]:
    """Read the labelled set.

    Raises:
        ValueError: a line is not in the form that `docs/quality.md` describes.
    """
    texts = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        try:
            row = json.loads(line)
            places = tuple((int(start), int(end), str(kind)) for start, end, kind in row["spans"])
            texts.append(Labelled(row["id"], row["lang"], row["text"], places))
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{path.name}, line {number} is not a labelled text: {error}") from error
        if any(kind not in KINDS and kind != OPEN for _, _, kind in places):
            raise ValueError(f"{path.name}, line {number} has an unknown kind.")
    return texts


def measure(
    *, half: str = "test", presidio: str | None = None, misses: bool = False, tell: Callable[[str], None]
) -> dict[str, Any]:
    """Compare what the rules find with the labels.

    Args:
        half: `test` (ids with an even number, which no rule was tuned on), `tune` or `all`.
        presidio: a Python interpreter that has presidio-analyzer and an English model of spaCy; this one when it has
            them and no other is named. Without any, Presidio's figures stay empty.
        misses: tell every text of the tuned half that was read wrongly; those of the other half stay unseen.
        tell: told of progress.

    Returns:
        `recall` and `precision` over all kinds and languages; the same for English texts and the kinds that both know,
        for Presidio (`presidio_…`) and for the rules (`shared_…`); the median time for a text of 200 characters;
        `by_kind`.

    Raises:
        InvalidInput: an unknown half, or an interpreter without Presidio.
        ValueError: the set is not in its form.
    """
    if half not in HALVES:
        raise InvalidInput(f"half is one of {', '.join(HALVES)}.", code="bench.options", field="half")
    every = load()
    texts = [text for text in every if half == "all" or text.tuned == (half == "tune")]
    own = {text.id: [(match.start, match.end, match.kind) for match in scan(text.text).matches] for text in texts}
    counts = _count(texts, own, KINDS)
    if misses:
        for line in _misses([text for text in texts if text.tuned], own):
            tell(line)
    if presidio is None and find_spec("presidio_analyzer"):
        presidio = sys.executable
    english = [text for text in texts if text.language == "en"]
    known = set(PRESIDIO.values())
    shared = _sum(_count(english, own, known).values()).figures()
    tell(f"{len(texts)} texts read")
    return {
        **_named("", _sum(counts.values()).figures()),
        **_presidio(english, presidio, known),
        **_named("shared_", shared),
        "p50_ms": _time(every),
        "texts": len(texts),
        "without_data": sum(all(kind == OPEN for _, _, kind in text.places) for text in texts),
        "half": half,
        "by_kind": {kind: counts[kind].figures() for kind in KINDS},
    }


def _named(prefix: str, figures: Mapping[str, Any]) -> dict[str, Any]:
    return {f"{prefix}recall": figures["recall"], f"{prefix}precision": figures["precision"]}


def _family(kind: str) -> str:
    return FAMILIES.get(kind, kind)


def _count(texts: Iterable[Labelled], found: Mapping[str, Sequence[Place]], kinds: Iterable[str]) -> dict[str, Count]:
    """Count by kind, only such as are, or whose family is, among the kinds asked for."""
    asked = set(kinds)
    counts: dict[str, Count] = defaultdict(Count)
    for text in texts:
        labels = [place for place in text.places if place[2] in asked or _family(place[2]) in asked]
        free = [place for place in text.places if place not in labels]
        used = set()
        for label in labels:
            hits = {at for at, place in enumerate(found[text.id]) if _same(label, place)}
            used |= hits
            counts[label[2]].labelled += 1
            counts[label[2]].found += bool(hits)
        for at, place in enumerate(found[text.id]):
            known = place[2] in asked or _family(place[2]) in asked
            if known and at not in used and not any(_touch(place, other) for other in free):
                counts[place[2]].false += 1
    return counts


def _same(label: Place, place: Place) -> bool:
    """Tell whether a find is the labelled place: of its family, and they share half of what they cover together."""
    if _family(label[2]) != _family(place[2]):
        return False
    common = min(label[1], place[1]) - max(label[0], place[0])
    return common / (max(label[1], place[1]) - min(label[0], place[0])) >= OVERLAP


def _touch(one: Place, other: Place) -> bool:
    return one[0] < other[1] and other[0] < one[1]


def _sum(counts: Iterable[Count]) -> Count:
    total = Count()
    for count in counts:
        total.labelled += count.labelled
        total.found += count.found
        total.false += count.false
    return total


def _misses(texts: Iterable[Labelled], found: Mapping[str, Sequence[Place]]) -> list[str]:
    lines = []
    for text in texts:
        labels = [place for place in text.places if place[2] != OPEN]
        missed = [label for label in labels if not any(_same(label, place) for place in found[text.id])]
        extra = [
            place
            for place in found[text.id]
            if not any(_same(label, place) for label in labels) and not any(_touch(place, one) for one in text.places)
        ]
        wrong = [f"-{kind} {text.text[start:end]!r}" for start, end, kind in missed]
        wrong += [f"+{kind} {text.text[start:end]!r}" for start, end, kind in extra]
        if wrong:
            lines.append(f"{text.id}: {text.text!r} {'; '.join(wrong)}")
    return lines


def _time(texts: Sequence[Labelled]) -> float:
    """Give the median time of a scan in milliseconds, of texts that hold personal data as often as the set does."""
    running = " ".join(text.text for text in sorted(texts, key=lambda text: text.id[::-1]))
    cuts = [running[at : at + TIMED_LENGTH] for at in range(0, len(running) - TIMED_LENGTH, TIMED_LENGTH)]
    times = []
    for cut in cuts * TIMED_ROUNDS:
        start = time.perf_counter()
        scan(cut)
        times.append(time.perf_counter() - start)
    return round(sorted(times)[len(times) // 2] * 1000, 3)


def _presidio(texts: Sequence[Labelled], interpreter: str | None, known: set[str]) -> dict[str, Any]:
    """Give Presidio's figures, with its default threshold and with the one of its scores that serves it best."""
    if interpreter is None:
        return {**_named("presidio_", Count().figures()), "presidio_best": None, "presidio_p50_ms": None}
    answer = _ask(interpreter, [{"id": text.id, "text": text.text} for text in texts])
    by_threshold = {}
    for threshold in (0.0, 0.3, 0.4, 0.5, 0.7):
        found = {
            one: [
                (start, end, PRESIDIO[name])
                for start, end, name, score in places
                if name in PRESIDIO and score >= threshold
            ]
            for one, places in answer["found"].items()
        }
        by_threshold[threshold] = _sum(_count(texts, found, known).values()).figures()
    best = max(by_threshold, key=lambda one: _harmonic(by_threshold[one]))
    return {
        **_named("presidio_", by_threshold[0.0]),
        "presidio_best": {"threshold": best, **by_threshold[best]},
        "presidio_p50_ms": answer["p50_ms"],
    }


def _harmonic(figures: Mapping[str, Any]) -> float:
    recall, precision = figures["recall"] or 0.0, figures["precision"] or 0.0
    return float(2 * recall * precision / (recall + precision)) if recall + precision else 0.0


def _ask(interpreter: str, texts: Sequence[Mapping[str, str]]) -> dict[str, Any]:
    """Let the other interpreter read the texts; it has packages of its own, so that Loci needs none of them."""
    try:
        done = subprocess.run(
            [interpreter, "-I", str(READER)],
            input=json.dumps(texts),
            capture_output=True,
            text=True,
            timeout=READER_SECONDS,
            check=True,
        )
    except (OSError, subprocess.SubprocessError) as error:
        said = str(getattr(error, "stderr", "") or error).strip().splitlines()
        raise InvalidInput(
            f"Presidio could not be asked: {said[-1] if said else type(error).__name__}", code="bench.presidio"
        ) from error
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer
