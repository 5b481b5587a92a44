"""What a skill says, checked, and how it is written as the text of a memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from memory.consolidation.skills import usable_name
from memory.errors import InvalidInput, TooLarge
from memory.models import Kind
from memory.services.drafts import Draft
from memory.text import limits

MOST_STEPS: Final = 50
MAX_STEP_CHARACTERS: Final = 500
MAX_DESCRIPTION_CHARACTERS: Final = 2_000
DESCRIPTION: Final = "description"


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillDraft:
    """A skill as it came in.

    Attributes:
        name: 5 to 120 characters, none that says nothing and none of a trial (`test_…`, `debug_…`, `temp_…`, `tmp_…`).
        steps: 1 to 50 lines in order, of at most 500 characters.
        description: what it is for, at most 2,000 characters.
        risk: how much harm it can do, 0 to 1.
        tags: of its memory.
        source: of its memory.
    """

    name: Any
    steps: Any
    description: Any = None
    risk: float = 0.0
    tags: Sequence[str] = ()
    source: str | None = None


def check_draft(draft: SkillDraft) -> SkillDraft:
    """Check a skill and give it with its texts trimmed; raises InvalidInput or TooLarge."""
    return SkillDraft(
        name=checked_name(draft.name),
        steps=checked_steps(draft.steps),
        description=checked_description(draft.description),
        risk=checked_risk(draft.risk),
        tags=draft.tags,
        source=draft.source,
    )


def checked_name(value: Any) -> str:
    """Check the name of a skill; raises InvalidInput with `name.invalid` for one that no skill may bear."""
    name = " ".join(limits.checked_text(value, field="name", max_bytes=1024).split())
    if not usable_name(name):
        raise InvalidInput(
            "A skill's name has 5 to 120 characters, says what it does, and is none of a trial.",
            code="name.invalid",
            field="name",
        )
    return name


def checked_steps(value: Any) -> list[str]:
    """Check the steps of a skill; raises InvalidInput or TooLarge."""
    if isinstance(value, str) or not isinstance(value, Sequence) or not 1 <= len(value) <= MOST_STEPS:
        raise InvalidInput(f"A skill has between 1 and {MOST_STEPS} steps.", code="steps.invalid", field="steps")
    steps = [" ".join(limits.checked_text(one, field="steps", max_bytes=4096).split()) for one in value]
    if any(len(step) > MAX_STEP_CHARACTERS for step in steps):
        raise TooLarge(f"A step may have {MAX_STEP_CHARACTERS} characters.", code="steps.too_long", field="steps")
    return steps


def checked_description(value: Any) -> str | None:
    """Check what a skill is for; None for a blank one."""
    if value is None or value == "":
        return None
    text = limits.checked_text(value, field="description", max_bytes=4 * MAX_DESCRIPTION_CHARACTERS).strip()
    if len(text) > MAX_DESCRIPTION_CHARACTERS:
        raise TooLarge(
            f"A description may have {MAX_DESCRIPTION_CHARACTERS} characters.",
            code="description.too_long",
            field="description",
        )
    return text


def checked_risk(value: Any) -> float:
    """Check a risk; raises InvalidInput unless it is a number from 0 to 1."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise InvalidInput("risk is a number from 0 to 1.", code="risk.out_of_range", field="risk")
    return float(value)


def skill_text(name: str, steps: Sequence[str], description: str | None) -> str:
    """Write a skill as the text of its memory."""
    numbered = [f"{number}. {step}" for number, step in enumerate(steps, start=1)]
    return "\n".join([f"How to: {name}", *([description] if description else []), *numbered])


def memory_draft(draft: SkillDraft) -> Draft:
    """Make the memory of a checked skill."""
    return Draft(
        text=skill_text(draft.name, draft.steps, draft.description),
        kind=Kind.SKILL,
        category="skill",
        importance=0.6,
        tags=draft.tags,
        source=draft.source,
        metadata={DESCRIPTION: draft.description} if draft.description else None,
    )
