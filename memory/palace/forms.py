"""Forms for remembering and correcting: they read fields and leave judging the values to the services."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from django import forms
from django.utils.translation import gettext_lazy as _

from memory.models import Kind, Memory
from memory.palace.dates import for_input
from memory.palace.presenters import CATEGORY_CHOICES, KIND_CHOICES, ten
from memory.services.drafts import Draft

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

IMPORTANCE_LEAST: Final = 1
IMPORTANCE_MOST: Final = 10
VERSION_MISSING: Final = _("The form does not say which version it was made from. Load the page again.")


class PlainText(forms.Field):
    """Text as it was typed, with the line ends that forms add brought back to plain ones.

    Not a CharField, which would strip it and answer for some characters in its own words.
    """

    def to_python(self, value: Any) -> str:
        """Give the text."""
        return str(value or "").replace("\r\n", "\n")


class PlainLine(PlainText):
    """A line of text; None when it was left empty."""

    def clean(self, value: Any) -> str | None:
        """Give the line without blanks around it."""
        return super().clean(value).strip() or None


class WordList(PlainText):
    """Words between commas."""

    def clean(self, value: Any) -> list[str]:
        """Give the words, without blanks and empty ones."""
        return [word for part in super().clean(value).split(",") if (word := part.strip())]


def _moment_field(name: StrOrPromise, help_text: StrOrPromise) -> PlainLine:
    widget = forms.DateTimeInput(attrs={"type": "datetime-local"}, format="%Y-%m-%dT%H:%M")
    return PlainLine(label=name, required=False, widget=widget, help_text=help_text)


class StatementForm(forms.Form):
    """What remembering and correcting have in common."""

    content = PlainText(
        label=_("What shall I remember?"),
        required=False,
        widget=forms.Textarea(attrs={"rows": 6, "spellcheck": "true", "required": True, "dir": "auto"}),
        help_text=_("One statement is found best. It is kept word for word, and encrypted."),
    )
    category = PlainLine(
        label=_("Category"),
        required=False,
        widget=forms.Select(choices=CATEGORY_CHOICES),
        help_text=_("What it is about."),
    )
    kind = PlainLine(
        label=_("Kind"),
        required=False,
        widget=forms.Select(choices=KIND_CHOICES),
        help_text=_("What sort of statement it is."),
    )
    importance = forms.IntegerField(
        label=_("Importance"),
        min_value=IMPORTANCE_LEAST,
        max_value=IMPORTANCE_MOST,
        widget=forms.NumberInput(attrs={"data-slider": True}),
        error_messages={
            "required": _("Choose a number from 1 to 10."),
            "invalid": _("Choose a whole number from 1 to 10."),
        },
        help_text=_("1 is trivial, 10 must never be lost."),
    )
    tags = WordList(
        label=_("Tags"),
        required=False,
        widget=forms.TextInput(attrs={"dir": "auto"}),
        help_text=_("Words between commas, such as: travel, lisbon."),
    )
    source = PlainLine(
        label=_("Source"),
        required=False,
        widget=forms.TextInput(attrs={"dir": "auto"}),
        help_text=_("Where it comes from, such as letter/2026-01."),
    )
    valid_from = _moment_field(_("Holds from"), _("In UTC; leave empty when it always held."))


class RememberForm(StatementForm):
    """A new statement."""

    occurred_at = _moment_field(_("Happened"), _("In UTC; leave empty for now."))

    def draft(self) -> Draft:
        """Make the draft of what was typed."""
        values = self.cleaned_data
        return Draft(
            text=values["content"],
            kind=values["kind"] or Kind.NOTE,
            category=values["category"],
            importance=values["importance"] / 10,
            tags=values["tags"],
            source=values["source"],
            valid_from=values["valid_from"],
            occurred_at=values["occurred_at"],
        )


class CorrectForm(StatementForm):
    """A change of a stored statement; only what differs from the stored row is changed."""

    valid_until = _moment_field(_("Holds until"), _("In UTC; leave empty while it still holds."))
    expires_at = _moment_field(_("Expires"), _("In UTC; after this moment it is archived."))
    version = forms.IntegerField(
        widget=forms.HiddenInput,
        min_value=1,
        error_messages={"required": VERSION_MISSING, "invalid": VERSION_MISSING, "min_value": VERSION_MISSING},
    )

    def __init__(self, row: Memory, data: Any = None, *, place: str = "page") -> None:
        """Build the form from a stored row; a turn keeps its kind. `place` sets its ids apart from other forms'."""
        super().__init__(data, initial=stored_values(row), auto_id="id_%s" if place == "page" else f"{place}_%s")
        self.fields["content"].label = _("What it says")
        if row.kind == Kind.TURN:
            del self.fields["kind"]

    def changes(self) -> dict[str, Any]:
        """Give the new values of the fields that were changed, as the service takes them."""
        changed: dict[str, Any] = {}
        for name in self.changed_data:
            if name == "content":
                changed["text"] = self.cleaned_data[name]
            elif name == "importance":
                changed[name] = self.cleaned_data[name] / 10
            elif name != "version":
                changed[name] = self.cleaned_data[name]
        return changed


def stored_values(row: Memory) -> dict[str, Any]:
    """Give a row's values as the form's fields show them."""
    return {
        "content": row.text,
        "category": row.category,
        "kind": row.kind,
        "importance": ten(row.importance),
        "tags": ", ".join(row.tags or ()),
        "source": row.source or "",
        "valid_from": for_input(row.valid_from),
        "valid_until": for_input(row.valid_until),
        "expires_at": for_input(row.expires_at),
        "version": row.version,
    }
