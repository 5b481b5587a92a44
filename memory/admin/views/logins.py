"""Owners and their logins: made, raised, shut out, and given passwords for once."""

from __future__ import annotations

from typing import Any, Final

from django import forms
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from memory.admin import columns
from memory.admin.access import OWN, staff_page
from memory.admin.owner_choice import pseudonym_of, require_chooser
from memory.admin.views.frame import PasswordForm, page, tried
from memory.models import Owner, User
from memory.palace.forms import PlainText
from memory.services.accounts import create_owner
from memory.services.actors import STAFF, Actor
from memory.services.logins import (
    StaffLevel,
    level_of,
    login_name,
    made_password,
    one_time_password,
    set_active,
    set_staff,
)

MOST: Final = 50
LEVELS: Final = (
    (StaffLevel.NONE.value, gettext_lazy("no staff")),
    (StaffLevel.OWN.value, gettext_lazy("staff, own owner only")),
    (StaffLevel.ALL.value, gettext_lazy("staff, looks after everything")),
)
ACTS: Final = (
    ("password", gettext_lazy("give a password for once, which ends its sessions")),
    ("shut", gettext_lazy("shut out")),
    ("open", gettext_lazy("let in again")),
    *((f"level-{value}", label) for value, label in LEVELS),
)


class CreateForm(PasswordForm):
    """A new login with an owner of its own."""

    username = PlainText(
        label=gettext_lazy("Name of the login"), widget=forms.TextInput(attrs={"autocomplete": "off", "maxlength": 150})
    )
    level = forms.ChoiceField(label=gettext_lazy("In the admin"), choices=LEVELS)
    field_order = ("username", "level", "password")


class ChangeForm(PasswordForm):
    """What is done to a login."""

    username = PlainText(
        label=gettext_lazy("Name of the login"), widget=forms.TextInput(attrs={"autocomplete": "off", "maxlength": 150})
    )
    act = forms.ChoiceField(label=gettext_lazy("What to do"), choices=ACTS)
    field_order = ("username", "act", "password")


@staff_page("GET", "HEAD", "POST")
def logins(request: HttpRequest, actor: Actor) -> HttpResponse:
    """List logins, make one with an owner, or change one."""
    require_chooser(request)
    wanted = request.POST.get("form", "") if request.method == "POST" else ""
    creating = CreateForm(request.POST if wanted == "create" else None, auto_id="create_%s")
    changing = ChangeForm(request.POST if wanted == "change" else None, auto_id="change_%s")
    status: Any = 200
    if wanted == "create":
        status = tried(creating, lambda: _create(request, creating))
    elif wanted == "change":
        status = tried(changing, lambda: _change(request, changing))
    if isinstance(status, HttpResponse):
        return status
    return _page(request, creating, changing, status)


def _create(request: HttpRequest, form: CreateForm) -> HttpResponse:
    form.confirm(request)
    made = made_password()
    name, level = login_name(form.cleaned_data["username"]), StaffLevel(form.cleaned_data["level"])
    create_owner(username=name, password=made, level=level, by=_by(request))
    told = {"name": name, "word": made, "sentence": _("The login was made. Its password, shown once:")}
    return _page(request, CreateForm(auto_id="create_%s"), ChangeForm(auto_id="change_%s"), 200, told)


def _change(request: HttpRequest, form: ChangeForm) -> HttpResponse:
    form.confirm(request)
    name, act, by = login_name(form.cleaned_data["username"]), form.cleaned_data["act"], _by(request)
    told = {"name": name, "sentence": _("It is done.")}
    if act == "password":
        told |= {
            "word": one_time_password(username=name, by=by),
            "sentence": _("Its sessions have ended. Its password, shown once:"),
        }
    elif act in ("shut", "open"):
        set_active(username=name, active=act == "open", by=by)
    else:
        set_staff(username=name, level=StaffLevel(act.removeprefix("level-")), by=by)
    return _page(request, CreateForm(auto_id="create_%s"), ChangeForm(auto_id="change_%s"), 200, told)


def _page(
    request: HttpRequest, creating: CreateForm, changing: ChangeForm, status: int, told: Any = None
) -> HttpResponse:
    query = login_name(request.GET.get("q", "").replace("\0", "")[:150])
    rows = list(User.objects.filter(username__istartswith=query).order_by("date_joined", "pk")[: MOST + 1])
    owners = dict(Owner.objects.filter(user__in=rows).values_list("user_id", "pk"))
    lines = [
        {
            "name": row.username,
            "owner": str(owners.get(row.pk, columns.NOTHING)),
            "level": dict(LEVELS)[level_of(row).value],
            "active": row.is_active,
            "last": columns.when(row.last_login),
        }
        for row in rows[:MOST]
    ]
    context = {
        "query": query,
        "lines": lines,
        "more": len(rows) > MOST,
        "creating": creating,
        "changing": changing,
        "told": told,
    }
    return page(request, "logins", _("Owners and logins"), context, status)


def _by(request: HttpRequest) -> str:
    return f"{STAFF}:{pseudonym_of(getattr(request, OWN))}"
