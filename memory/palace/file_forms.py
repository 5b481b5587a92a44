"""Forms of files: they read fields and leave judging the values to the services."""

from __future__ import annotations

from typing import Any, Final

from django import forms
from django.utils.translation import gettext_lazy as _

from memory.errors import InvalidInput
from memory.palace.forms import PlainLine, PlainText
from memory.text.limits import MAX_CONTENT_BYTES

VERSION_MISSING: Final = _("The form does not say which version it was made from. Load the page again.")


def _content_field() -> PlainText:
    return PlainText(
        label=_("What it says"),
        required=False,
        widget=forms.Textarea(
            attrs={"rows": 22, "spellcheck": "true", "dir": "auto", "data-editor": True, "autocapitalize": "off"}
        ),
    )


class NewFileForm(forms.Form):
    """A file to create, typed here or taken from the person's computer."""

    scope = forms.ChoiceField(label=_("For"), widget=forms.Select({"dir": "auto"}))
    path = PlainLine(
        label=_("Name"),
        required=False,
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false", "maxlength": "200"}),
        help_text=_("Such as IDENTITY.md or notes/today.md."),
    )
    content = _content_field()
    upload = forms.FileField(
        label=_("Or take a text file from your computer"),
        required=False,
        allow_empty_file=True,
        help_text=_("It replaces what stands above; at most 256 KiB of text."),
    )

    def __init__(self, choices: list[tuple[str, str]], data: Any = None, files: Any = None, **values: Any) -> None:
        """Build the form; `choices` are whose files there can be."""
        super().__init__(data, files, **values)
        self.fields["scope"].choices = choices  # type: ignore[attr-defined]

    def draft(self) -> dict[str, Any]:
        """Give what is to be created; raises InvalidInput where the taken file is no text."""
        values = self.cleaned_data
        taken = values["upload"]
        if taken is None:
            return {"path": values["path"] or "", "content": values["content"], "scope": values["scope"]}
        return {"path": values["path"] or taken.name, "content": text_of(taken), "scope": values["scope"]}


class EditForm(forms.Form):
    """A change of a file: its text, the version it was made from, and the base where two changes are put together."""

    content = _content_field()
    upload = forms.FileField(
        label=_("Replace it by a text file from your computer"), required=False, allow_empty_file=True
    )
    version = forms.IntegerField(
        widget=forms.HiddenInput,
        min_value=1,
        error_messages={"required": VERSION_MISSING, "invalid": VERSION_MISSING, "min_value": VERSION_MISSING},
    )
    base = forms.IntegerField(widget=forms.HiddenInput, min_value=1, required=False)

    def text(self) -> str:
        """Give what is to be kept; raises InvalidInput where the taken file is no text."""
        taken = self.cleaned_data["upload"]
        return str(self.cleaned_data["content"]) if taken is None else text_of(taken)


def text_of(taken: Any) -> str:
    """Read a file that came with a form; raises InvalidInput where it is no text in UTF-8, or is too large."""
    raw: bytes = taken.read(MAX_CONTENT_BYTES + 1)
    try:
        # The whole character may lie beyond the limit, which the service then tells.
        return raw.decode("utf-8-sig", "strict" if len(raw) <= MAX_CONTENT_BYTES else "ignore")
    except UnicodeDecodeError as error:
        raise InvalidInput(
            "This file is no text in UTF-8. Nothing was stored.", code="file.not_text", field="upload"
        ) from error
