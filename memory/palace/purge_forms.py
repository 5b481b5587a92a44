"""The forms that ask once more before something is erased for good, for a snapshot, and for a new key of the texts."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy

from memory.palace.forms import PlainText

PASSWORD = {"autocomplete": "current-password"}


class EraseForm(forms.Form):
    """A password, and for a whole owner the name of the login, typed."""

    password = PlainText(
        label=lazy("Your password"),
        error_messages={"required": lazy("Type your password. Nothing was erased.")},
        widget=forms.PasswordInput(attrs=PASSWORD),
        help_text=lazy("So that nobody else can erase this at an unlocked screen."),
    )
    confirm = PlainText(
        label=lazy("Your login name"),
        required=False,
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
        help_text=lazy("Type it to say that you mean everything."),
    )
    seal = forms.BooleanField(
        label=lazy("Make remains unreadable at once"),
        required=False,
        help_text=lazy(
            "Gives everything else a new key, in the background. Without it that happens with the next rotation."
        ),
    )

    def __init__(self, data: Any = None, *, whole: bool) -> None:
        """Build the form.

        Args:
            data: what was typed.
            whole: whether everything of the owner is to be erased.
        """
        super().__init__(data)
        if whole:
            del self.fields["seal"]
        else:
            del self.fields["confirm"]


class RenewForm(forms.Form):
    """A password, before the texts get a new key."""

    password = PlainText(
        label=lazy("Your password"),
        error_messages={"required": lazy("Type your password. Nothing was changed.")},
        widget=forms.PasswordInput(attrs={**PASSWORD, "id": "id_renew_password"}),
    )


class SnapshotForm(forms.Form):
    """A passphrase, typed twice, or none."""

    passphrase = PlainText(
        label=lazy("Passphrase"),
        required=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
        help_text=lazy(
            "With it the file can be read anywhere. Without it only this installation can, for as long as your keys "
            "exist."
        ),
    )
    again = PlainText(
        label=lazy("Passphrase once more"),
        required=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
    )

    def clean(self) -> dict[str, Any]:
        """Check that both are the same."""
        values: dict[str, Any] = super().clean() or {}
        if values.get("passphrase", "") != values.get("again", ""):
            self.add_error("again", _("This is another passphrase than the first one."))
        return values
