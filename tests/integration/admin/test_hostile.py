"""Whatever a text holds, the lists and pages of the admin show it as text, in its own direction."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

from django.test import Client
from django.urls import reverse

from memory.models import owner_scope
from memory.models.encrypted import EncryptedField
from memory.services.actors import Actor
from tests.integration.admin.test_models import registered
from tests.integration.purge.everything import fill_everything, one_more

TURNED = "\u202e"
HOSTILE = f"<script>alert(1)</script> javascript:alert(2) {TURNED}gnihtemos " + "x" * 200
TEXTS = [HOSTILE, *(f"tag{number}" for number in range(100))]
VOID = frozenset({"area", "base", "br", "col", "hr", "img", "input", "link", "meta", "source", "wbr"})


class Reading(HTMLParser):
    """Read a page: which texts turn the direction of others, what runs, and where links lead."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.within: list[tuple[str, bool]] = []
        self.loose: list[str] = []
        self.hostile = 0
        self.unsafe: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag not in VOID:
            self.within.append((tag, tag == "bdi" or given.get("dir") == "auto"))
        self.unsafe += [name for name, _value in attrs if name.startswith("on") or name == "style"]
        self.unsafe += [str(value) for value in given.values() if str(value).lstrip().lower().startswith("javascript:")]

    def handle_endtag(self, tag: str) -> None:
        while self.within and self.within.pop()[0] != tag:
            pass

    def handle_data(self, data: str) -> None:
        self.hostile += "<script>alert(1)</script>" in data
        if TURNED in data and not any(own for _tag, own in self.within):
            self.loose.append(data)
        if self.within and self.within[-1][0] == "script" and data.strip():
            self.unsafe.append(data)


def test_hostile_texts_stay_texts_in_every_list_and_on_every_page(staff: Client, boss: Actor, make_agent: Any) -> None:
    agent, _ = make_agent(boss, "scribe")
    fill_everything(boss, agent)
    holding = [
        (model, admin)
        for model, admin in registered()
        if any(
            isinstance(field, EncryptedField) and field.name not in admin.hidden_fields
            for field in model._meta.concrete_fields
        )
    ]
    shown: set[str] = set()
    for model, _admin in holding:
        name = f"admin:{model._meta.app_label}_{model._meta.model_name}"
        with owner_scope(boss.owner_id):
            row = one_more(model, boss.owner_id, 500, TEXTS)
        if row is None:
            continue
        for address in (reverse(f"{name}_changelist"), reverse(f"{name}_change", args=[row.pk])):
            answer = staff.get(address)
            assert answer.status_code == 200, address
            read = Reading(answer.content.decode())
            assert read.unsafe == [], address
            assert read.loose == [], address
            if read.hostile:
                shown.add(model.__name__)
    assert {"Memory", "Entity", "Agent", "Session"} <= shown
