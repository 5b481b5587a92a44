"""What a new file may begin with: the two files that say who an agent is and how it behaves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _


@dataclass(frozen=True, slots=True)
class FileTemplate:
    """A text to begin with."""

    name: str
    path: str
    about: str | Promise
    content: str | Promise


TEMPLATES: Final = (
    FileTemplate(
        "identity",
        "IDENTITY.md",
        _("Who the agent is: its name, what it is for, and whom it works for."),
        _("""# Identity

- Name:
- Works for:
- Is there to:

## What it knows well

-

## What it leaves to others

-
"""),
    ),
    FileTemplate(
        "soul",
        "SOUL.md",
        _("How the agent behaves: its manner, what it values, and where it stops."),
        _("""# Soul

## Manner

- Speaks plainly and briefly.
- Says what it does not know.

## Values

- The person decides; the agent asks before anything that cannot be undone.

## Limits

- Never passes on what was told in confidence.
"""),
    ),
    FileTemplate(
        "user",
        "USER.md",
        _("Whom the agent talks with: how to address this person, and what this person prefers."),
        _("""# User

- Is called:
- Prefers:
- Does not want:
"""),
    ),
)


def template_of(name: str) -> FileTemplate | None:
    """Give a template by its name; None for another name."""
    return next((one for one in TEMPLATES if one.name == name), None)
