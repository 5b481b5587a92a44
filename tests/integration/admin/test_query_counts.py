"""No page of the admin asks the database more often because there are more rows, or because more hangs on a row."""

from __future__ import annotations

from typing import Any, Final

from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from memory.models import owner_scope
from memory.services.actors import Actor
from memory.services.drafts import Draft
from memory.services.graph.entities import EntityDraft, merge_entity
from memory.services.remember import remember
from memory.services.turns import ingest_turns
from tests.integration.admin.test_models import registered, turn
from tests.integration.purge.everything import fill_everything, one_more

MORE: Final = 12
MOST_OF_A_LIST: Final = 40


def asked(client: Client, address: str) -> int:
    with CaptureQueriesContext(connection) as caught:
        assert client.get(address).status_code == 200, address
    return len(caught)


def add_many(owner: Actor, agent: Actor) -> set[str]:
    """Add rows to every table that takes more; gives the models that have several now."""
    for number in range(MORE):
        remember(actor=agent, draft=Draft(text=f"Pebble {number} lies on beach {number}."))
        merge_entity(actor=owner, draft=EntityDraft(name=f"Person {number}", type="person"))
        ingest_turns(actor=agent, session=f"talk {number}", turns=[turn(f"Tell me about beach {number}.")])
    with owner_scope(owner.owner_id):
        # Twice, since some rows hang on those of tables that come later.
        for start in (1, 1 + MORE):
            for model, _admin in registered():
                for number in range(MORE):
                    one_more(model, owner.owner_id, start + number)
        return {model.__name__ for model, _admin in registered() if model._default_manager.count() > 1}


def test_no_page_asks_more_for_more_rows(staff: Client, boss: Actor, make_agent: Any) -> None:
    agent, _ = make_agent(boss, "scribe")
    fill_everything(boss, agent)
    # Of an agent's, too, so that the agents' names are read for every list from the beginning.
    ingest_turns(actor=agent, session="talk", turns=[turn("Tell me about beaches.")])
    pages = {"dashboard": reverse("admin:index")}
    with owner_scope(boss.owner_id):
        for model, _admin in registered():
            name = f"{model._meta.app_label}_{model._meta.model_name}"
            pages[f"list of {name}"] = reverse(f"admin:{name}_changelist")
            row = model._default_manager.order_by("pk").first()
            if row is not None:
                pages[f"row of {name}"] = reverse(f"admin:{name}_change", args=[row.pk])
    for address in pages.values():
        staff.get(address)
    few = {name: asked(staff, address) for name, address in pages.items()}

    more = add_many(boss, agent)

    assert {"Memory", "Entity", "Session", "AuditEvent"} <= more
    many = {name: asked(staff, address) for name, address in pages.items()}
    assert {name: (few[name], count) for name, count in many.items() if count > few[name]} == {}
    lists = {name: count for name, count in many.items() if name.startswith("list of ")}
    assert {name: count for name, count in lists.items() if count > MOST_OF_A_LIST} == {}
