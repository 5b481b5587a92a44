"""The form for taking a file over: an export, an archive or a snapshot."""

from __future__ import annotations

from typing import Any, Final

from django import forms
from django.utils.translation import gettext_lazy as _

from memory.palace.forms import PlainText
from memory.services.archive.outcome import Mode

MIB: Final = 1024 * 1024
MOST_BYTES: Final = 32 * MIB


class ImportForm(forms.Form):
    """A file, and how it is taken over; which sort of file it is, its first bytes tell."""

    file = forms.FileField(
        label=_("File"),
        allow_empty_file=True,
        widget=forms.FileInput(attrs={"accept": ".json,.zip,.snapshot,application/json,application/zip"}),
        error_messages=dict.fromkeys(("required", "missing", "invalid"), _("Choose a file.")),
        help_text=_("An export (.json), an archive (.zip) or a snapshot, of at most 32 MiB."),
    )
    passphrase = PlainText(
        label=_("Passphrase"),
        required=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "off"}),
        help_text=_("Only for a snapshot that was sealed with one."),
    )
    mode = forms.ChoiceField(
        label=_("What was archived or erased here since"),
        choices=[(Mode.MISSING.value, _("stays as it is")), (Mode.ALL.value, _("comes back too"))],
        initial=Mode.MISSING.value,
        required=False,
        help_text=_("For archives and snapshots."),
    )
    settings = forms.BooleanField(
        label=_("Settings and profiles too"), required=False, help_text=_("For archives and snapshots.")
    )

    def clean_file(self) -> Any:
        """Check the size of the file."""
        file = self.cleaned_data["file"]
        if file.size > MOST_BYTES:
            raise forms.ValidationError(
                _("The file has more than 32 MiB. The command line of the server takes larger archives and snapshots."),
                code="body.too_large",
            )
        if not file.size:
            raise forms.ValidationError(_("The file is empty."), code="body.empty")
        return file

    def clean_mode(self) -> str:
        """Give the mode; what is missing stays missing where none was chosen."""
        return str(self.cleaned_data["mode"] or Mode.MISSING.value)
