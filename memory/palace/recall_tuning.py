"""The five sliders of a search: which values a profile has, and what moving one changes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil
from typing import Any, Final

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from memory.errors import InvalidInput
from memory.models import Tier
from memory.palace.numbers import local
from memory.recall.profiles import RecallProfile
from memory.recall.reranking import DIVERSE

NEVER: Final = 366
"""Where the slider of the half-life stands for memories that do not fade."""
TIERS: Final = (Tier.EPISODIC.value, Tier.SEMANTIC.value, Tier.PROCEDURAL.value, Tier.REFLECTION.value)
NAMES: Final = ("words", "meaning", "half_life", "mmr", "threshold")

_LABELS: Final[Mapping[str, tuple[str | Promise, str | Promise]]] = {
    "words": (gettext_lazy("Words"), gettext_lazy("How much the same words count (BM25).")),
    "meaning": (gettext_lazy("Meaning"), gettext_lazy("How much a like meaning counts.")),
    "half_life": (gettext_lazy("Fading"), gettext_lazy("Days after which a memory counts half.")),
    "mmr": (gettext_lazy("Alike or varied"), gettext_lazy("1 gives the closest, 0 the most varied (MMR).")),
    "threshold": (gettext_lazy("Relevant from"), gettext_lazy("Memories less relevant than this are left out.")),
}


@dataclass(frozen=True, slots=True)
class Slider:
    """One slider; its numbers are written as inputs take them, whatever the language."""

    name: str
    label: str
    help: str
    least: str
    most: str
    step: str
    value: str
    said: str
    moved: bool


def standing(profile: RecallProfile, threshold: float | None = None) -> dict[str, float]:
    """Give where the sliders stand for a profile.

    Args:
        profile: as it stands for the owner.
        threshold: the owner's own least relevance, which goes before the profile's; 0 to 1.
    """
    weights = {arm: profile.weights.get(arm, 1.0) if arm in profile.arms else 0.0 for arm in ("lexical", "dense")}
    days = max(profile.half_life_days.values(), default=float(NEVER))
    return {
        "words": round(weights["lexical"], 2),
        "meaning": round(weights["dense"], 2),
        "half_life": min(max(round(days), 1), NEVER),
        "mmr": round(profile.mmr_lambda, 2) if profile.reranker in DIVERSE else 1.0,
        "threshold": round((profile.threshold if threshold is None else threshold) * 100),
    }


def sliders(stands: Mapping[str, float], moved: Mapping[str, float]) -> list[Slider]:
    """Describe the sliders: where a profile puts them, and where a person has moved them."""
    found = []
    for name in NAMES:
        least, most, step = _range(name, stands[name])
        value = moved.get(name, stands[name])
        title, help_text = _LABELS[name]
        found.append(
            Slider(
                name=name,
                label=str(title),
                help=str(help_text),
                least=f"{least:g}",
                most=f"{most:g}",
                step=f"{step:g}",
                value=f"{value:g}",
                said=said(name, value),
                moved=name in moved,
            )
        )
    return found


def said(name: str, value: float) -> str:
    """Write a slider's value for people."""
    if name == "half_life":
        if value >= NEVER:
            return _("never")
        return ngettext("%(days)s day", "%(days)s days", int(value)) % {"days": int(value)}
    return local(f"{value:g} %") if name == "threshold" else local(f"{value:.2f}")


def label_of(name: str) -> str:
    """Name a slider for people."""
    return str(_LABELS[name][0])


def _range(name: str, stands: float) -> tuple[float, float, float]:
    if name == "half_life":
        return 1, NEVER, 1
    if name == "threshold":
        return 0, 100, 1
    # Weights are relative, so twice a weight of one says enough; an owner's larger one widens the slider.
    return 0, 1.0 if name == "mmr" else max(2, ceil(stands)), 0.01


def moved_by(stands: Mapping[str, float], chosen: Mapping[str, str]) -> dict[str, float]:
    """Give those sliders that stand elsewhere than the profile puts them.

    Args:
        stands: where the profile puts them.
        chosen: values as an address has them; blank ones were not chosen.

    Raises:
        InvalidInput: `profile.invalid` or, for the least relevance, `threshold.out_of_range`.
    """
    moved = {}
    for name in NAMES:
        text = chosen.get(name, "")
        if text:
            value = _number(name, text, stands[name])
            if value != stands[name]:
                moved[name] = value
    return moved


def _number(name: str, text: str, stands: float) -> float:
    least, most, step = _range(name, stands)
    try:
        value = float(text) if text.isascii() and len(text) <= 12 else None
    except ValueError:
        value = None
    if value is None or not least <= value <= most:
        if name == "threshold":
            message = _("The least relevance is a number of percent from 0 to 100.")
            raise InvalidInput(message, code="threshold.out_of_range", field="threshold")
        message = _("“%(name)s” is a number from %(least)s to %(most)s.") % {
            "name": label_of(name), "least": local(f"{least:g}"), "most": local(f"{most:g}"),
        }  # fmt: skip
        raise InvalidInput(message, code="profile.invalid", field=name)
    return round(value, 2) if step < 1 else round(value)


def overrides(profile: RecallProfile, moved: Mapping[str, float]) -> dict[str, Any]:
    """Give the changes of a profile that moved sliders mean.

    A profile that orders by evidence does not weigh its arms, so own weights take that order off; and an arm that it
    does not have is asked when its slider is raised.
    """
    changes: dict[str, Any] = {}
    weights = {arm: moved[name] for name, arm in (("words", "lexical"), ("meaning", "dense")) if name in moved}
    if weights:
        changes["weights"] = {**profile.weights, **weights}
        changes["evidence"] = False
        raised = [arm for arm, weight in weights.items() if weight > 0 and arm not in profile.arms]
        if raised:
            changes["arms"] = [*profile.arms, *raised]
    if "half_life" in moved:
        never = moved["half_life"] >= NEVER
        changes["half_life_days"] = {} if never else dict.fromkeys(TIERS, float(moved["half_life"]))
    if "mmr" in moved:
        changes["mmr_lambda"] = moved["mmr"]
        if profile.reranker not in DIVERSE:
            changes["reranker"] = "mmr"
    if "threshold" in moved:
        changes["threshold"] = moved["threshold"] / 100
    return changes
