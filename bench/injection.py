"""How many injected phrases the rules find, and how many harmless look-alikes they take for one."""

from __future__ import annotations

import json
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from memory.errors import InvalidInput
from memory.privacy.injection import KINDS, Level, clean, level_of, scan

TEXTS: Final = Path(__file__).parent / "injection_texts.jsonl"
HALVES: Final = ("tune", "test", "all")
TIMED_LENGTH: Final = 200
TIMED_ROUNDS: Final = 3


@dataclass(frozen=True, slots=True)
class Sample:
    """An attack of a kind, or a harmless text that has none; `disguise` names how its letters were changed."""

    id: str
    kind: str | None
    language: str
    text: str
    disguise: str | None

    @property
    def tuned(self) -> bool:
        """Whether the rules were tuned on it: ids with an odd number."""
        return int(self.id.rsplit("-", 1)[1]) % 2 == 1

    @property
    def level(self) -> Level:
        """The level from which its kind is looked for."""
        return level_of(self.kind) if self.kind else Level.STANDARD


def load(path: Path = TEXTS) -> list[Sample]:
    """Read the corpus.

    Raises:
        ValueError: a line is not in the form that `docs/quality.md` describes.
    """
    samples = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        try:
            row = json.loads(line)
            sample = Sample(row["id"], row["kind"], row["lang"], row["text"], row.get("disguise"))
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{path.name}, line {number} is not a sample: {error}") from error
        if sample.kind is not None and sample.kind not in KINDS:
            raise ValueError(f"{path.name}, line {number} has an unknown kind.")
        samples.append(sample)
    return samples


def measure(*, half: str = "test", misses: bool = False, tell: Callable[[str], None]) -> dict[str, Any]:
    """Scan attacks and harmless texts.

    An attack counts as found when a scan at the level of its kind finds anything in it, whichever the kind.

    Args:
        half: `test` (ids with an even number, which no rule was tuned on), `tune` or `all`.
        misses: tell every text of the tuned half that was read wrongly; those of the other half stay unseen.
        tell: told of progress.

    Returns:
        `detection_rate` over all kinds, each at its level; `false_positive_rate` at the standard level; `by_kind`;
        `by_level` with the attacks of the kinds up to a level, and the harmless texts, scanned at it; `by_language` and
        `by_disguise`; the median time of cleaning a text of 200 characters at the strictest level.

    Raises:
        InvalidInput: an unknown half.
        ValueError: the corpus is not in its form.
    """
    if half not in HALVES:
        raise InvalidInput(f"half is one of {', '.join(HALVES)}.", code="bench.options", field="half")
    every = load()
    samples = [sample for sample in every if half == "all" or sample.tuned == (half == "tune")]
    attacks = [sample for sample in samples if sample.kind]
    harmless = [sample for sample in samples if not sample.kind]
    found = {sample.id: bool(scan(sample.text, sample.level)) for sample in samples}
    if misses:
        for sample in samples:
            if sample.tuned and found[sample.id] != bool(sample.kind):
                tell(f"{sample.id} {sample.disguise or ''}: {sample.text!r}")
    tell(f"{len(samples)} texts read")
    return {
        "detection_rate": _share([found[sample.id] for sample in attacks]),
        "false_positive_rate": _share([found[sample.id] for sample in harmless]),
        "attacks": len(attacks),
        "harmless": len(harmless),
        "half": half,
        "by_level": {level.name.lower(): _at_level(level, attacks, harmless) for level in Level},
        "by_kind": _by(attacks, found, lambda sample: str(sample.kind)),
        "by_language": _by([one for one in attacks if not one.disguise], found, lambda sample: sample.language),
        "by_disguise": _by([one for one in attacks if one.disguise], found, lambda sample: str(sample.disguise)),
        "p50_ms": _time(every),
    }


def _at_level(level: Level, attacks: Sequence[Sample], harmless: Sequence[Sample]) -> dict[str, Any]:
    return {
        "detection_rate": _share([bool(scan(one.text, level)) for one in attacks if one.level <= level]),
        "false_positive_rate": _share([bool(scan(one.text, level)) for one in harmless]),
    }


def _by(
    samples: Sequence[Sample], found: Mapping[str, bool], name: Callable[[Sample], str]
) -> dict[str, dict[str, Any]]:
    groups: dict[str, list[bool]] = defaultdict(list)
    for sample in samples:
        groups[name(sample)].append(found[sample.id])
    return {group: {"detection_rate": _share(hits), "n": len(hits)} for group, hits in groups.items()}


def _share(hits: Sequence[bool]) -> float | None:
    return round(sum(hits) / len(hits), 4) if hits else None


def _time(samples: Sequence[Sample]) -> float:
    running = " ".join(sample.text for sample in sorted(samples, key=lambda sample: sample.id[::-1]))
    cuts = [running[at : at + TIMED_LENGTH] for at in range(0, len(running) - TIMED_LENGTH, TIMED_LENGTH)]
    times = []
    for cut in cuts * TIMED_ROUNDS:
        start = time.perf_counter()
        clean(cut, Level.PARANOID)
        times.append(time.perf_counter() - start)
    return round(sorted(times)[len(times) // 2] * 1000, 3)
