"""Every model has its pages in the admin, and they show rows of the chosen owner, masked."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import pytest
from django.apps import apps
from django.contrib.admin.models import LogEntry
from django.test import Client
from django.urls import reverse
from django.utils.translation import override

from memory.admin import columns
from memory.admin.field_names import NAMES
from memory.admin.lists import RowsList
from memory.admin.rows import RowsAdmin
from memory.admin.site import site
from memory.models import (
    Agent,
    AgentKey,
    AuditEvent,
    Memory,
    MemoryVersion,
    Status,
    owner_scope,
)
from memory.services.actors import Actor
from memory.services.changes import change_memory
from memory.services.clock import now
from memory.services.drafts import Draft
from memory.services.graph.entities import EntityDraft, merge_entity
from memory.services.remember import remember
from memory.services.retirement import archive_memory
from memory.services.turns import TurnDraft, ingest_turns
from telemetry.models import ModelUsage
from tests.integration.purge.everything import fill_everything

# A key of several columns: Django's admin cannot address such a row. Each is shown on the page of what it hangs on.
SHOWN_ELSEWHERE: Mapping[str, str] = {
    "memory.MemoryRead": "on the page of its memory",
    "memory.MemoryAccess": "on the page of its memory",
    "memory.ExtractionFailure": "on the page of its memory",
    "memory.MemoryVector": "on the page of its memory and of its space",
    "memory.LexPosting": "counted on the page of its memory",
    "memory.TokenVectors": "counted on the page of its memory",
    "memory.MentionedTime": "counted on the page of its memory",
    "memory.MemoryClaim": "counted on the page of its memory",
    "memory.EntityName": "finds people and things in their list",
    "memory.EntityMention": "on the page of its person or thing",
    "memory.EventParticipant": "on the page of its event",
    "memory.EntitiesApart": "on the page of its person or thing",
    "memory.SkillDependency": "on the page of its skill",
    "memory.GraphChange": "counted on the page of its projection",
    "memory.SpaceFill": "summed up on the page of its space",
}
OURS = ("memory", "telemetry")


def turn(text: str) -> TurnDraft:
    return TurnDraft(draft=Draft(text=text, kind="turn", role="user"))


def registered() -> list[tuple[type[Any], RowsAdmin]]:
    # The addresses are read with the first request, and with them come the pages.
    reverse("admin:index")
    return [(model, admin) for model, admin in site._registry.items() if isinstance(admin, RowsAdmin)]


def test_every_model_has_pages_or_a_reason_for_none() -> None:
    models = [model for app in OURS for model in apps.get_app_config(app).get_models()]
    missing = {model._meta.label for model in models} - {model._meta.label for model, _ in registered()}
    assert missing == set(SHOWN_ELSEWHERE)
    assert all(model._meta.is_composite_pk for model in models if model._meta.label in SHOWN_ELSEWHERE)


def test_nothing_is_added_changed_or_deleted_by_the_admin_itself(staff: Client, rf: Any) -> None:
    request = rf.get("/")
    for _, admin in registered():
        assert not admin.has_add_permission(request)
        assert not admin.has_change_permission(request)
        assert not admin.has_delete_permission(request)
        names = {str(one.name) for one in admin.get_urls()}
        assert {name.rsplit("_", 1)[1] for name in names} == {"changelist", "change", "history"}


def test_django_keeps_no_log_of_what_was_shown_or_done(staff: Client, boss: Actor) -> None:
    one = remember(actor=boss, draft=Draft(text="The tide turns at noon.")).memory_id
    address = reverse("admin:memory_memory_change", args=[one])
    assert staff.get(address).status_code == 200
    assert staff.post(address, {"action": "archive", "owner": str(boss.owner_id)}).status_code == 302
    assert LogEntry.objects.count() == 0
    with owner_scope(boss.owner_id):
        assert Memory.objects.get(pk=one).status == Status.ARCHIVED
    history = staff.get(reverse("admin:memory_memory_history", args=[one])).content.decode()
    assert "archive: memory" in history


def test_memories_are_filtered_by_every_category(staff: Client, boss: Actor) -> None:
    for category in ("goal", "technical"):
        remember(actor=boss, draft=Draft(text=f"A note of the category {category}.", category=category))
    address = reverse("admin:memory_memory_changelist")
    offered = staff.get(address).content.decode()
    assert all(f"?category={category}" in offered for category in ("general", "goal", "technical"))
    html = staff.get(address, {"category": "goal"}).content.decode()
    assert "the category goal" in html
    assert "the category technical" not in html
    assert "There is nothing here." in staff.get(address, {"category": "unheard of"}).content.decode()


def test_words_find_live_memories_only(staff: Client, boss: Actor) -> None:
    one = remember(actor=boss, draft=Draft(text="The tide turns at noon.")).memory_id
    address = reverse("admin:memory_memory_changelist")
    assert "The tide turns" in staff.get(address, {"q": "tide"}).content.decode()
    archive_memory(actor=boss, memory_id=one)
    html = staff.get(address, {"q": "tide"}).content.decode()
    assert "The tide turns" not in html
    assert "whole words of live memories" in html
    assert "The tide turns" in staff.get(address, {"q": str(one)}).content.decode()


def test_every_list_and_every_page_of_a_row_is_drawn(staff: Client, boss: Actor, make_agent: Any) -> None:
    agent, _ = make_agent(boss, "scribe")
    fill_everything(boss, agent)
    for model, admin in registered():
        name = f"admin:{model._meta.app_label}_{model._meta.model_name}"
        answer = staff.get(reverse(f"{name}_changelist"))
        assert answer.status_code == 200, name
        html = answer.content.decode()
        assert " style=" not in html, name
        assert "<style" not in html, name
        with owner_scope(boss.owner_id):
            row = model._default_manager.first()
        if row is None:
            assert "There is nothing here." in html, name
            continue
        assert "There is nothing here." not in html, name
        page = staff.get(reverse(f"{name}_change", args=[row.pk]))
        assert page.status_code == 200, name
        if admin.owned:
            assert staff.get(reverse(f"{name}_history", args=[row.pk])).status_code == 200, name
        assert staff.get(reverse(f"{name}_changelist"), {"q": str(row.pk)}).status_code == 200, name


def test_memories_are_found_by_id_hash_and_words(staff: Client, boss: Actor) -> None:
    one = remember(actor=boss, draft=Draft(text="The heron nests by the weir.")).memory_id
    remember(actor=boss, draft=Draft(text="The otter sleeps in the reeds."))
    with owner_scope(boss.owner_id):
        digest = bytes(Memory.objects.get(pk=one).content_hash).hex()
    for word in (str(one), digest, "herons", "weir heron"):
        html = staff.get(reverse("admin:memory_memory_changelist"), {"q": word}).content.decode()
        assert "heron nests" in html, word
        assert "otter" not in html, word
    html = staff.get(reverse("admin:memory_memory_changelist"), {"q": "zebra"}).content.decode()
    assert "There is nothing here." in html


def test_people_agents_and_conversations_are_found_by_their_whole_names(
    staff: Client, boss: Actor, make_agent: Any
) -> None:
    agent, _ = make_agent(boss, "Night Scribe")
    merge_entity(actor=boss, draft=EntityDraft(name="Ada Lovelace", type="person"))
    ingest_turns(actor=agent, session="tuesday talk", turns=[turn("Good morning to you.")])
    for name, word, shown in (
        ("agent", "night scribe", "Night Scribe"),
        ("entity", "ada lovelace", "Ada Lovelace"),
        ("session", "tuesday talk", "tuesday talk"),
    ):
        address = reverse(f"admin:memory_{name}_changelist")
        assert shown in staff.get(address, {"q": word}).content.decode()
        assert "There is nothing here." in staff.get(address, {"q": "nobody at all"}).content.decode()


def test_lists_and_pages_mask_personal_data_until_it_is_revealed(staff: Client, boss: Actor) -> None:
    one = remember(actor=boss, draft=Draft(text="Write to anna.silva@example.org for invoices.")).memory_id
    address = reverse("admin:memory_memory_change", args=[one])
    for path in (reverse("admin:memory_memory_changelist"), address):
        html = staff.get(path).content.decode()
        assert "anna.silva" not in html
        assert "[EMAIL]" in html
    html = staff.post(address, {"action": "reveal", "owner": str(boss.owner_id)}).content.decode()
    assert "anna.silva@example.org" in html
    with owner_scope(boss.owner_id):
        assert AuditEvent.objects.filter(verb="reveal", object_id=one).count() == 1


def test_what_is_personal_by_its_meaning_shows_in_no_earlier_version(staff: Client, boss: Actor) -> None:
    one = remember(actor=boss, draft=Draft(text="My knee was operated on in spring.")).memory_id
    change_memory(actor=boss, memory_id=one, changes={"text": "My knee was operated on in May."})
    with owner_scope(boss.owner_id):
        Memory.objects.filter(pk=one).update(pii_kinds=["health"], pii_tier=2)
        version = MemoryVersion.objects.get(memory_id=one)
    for name, key in (("memory", one), ("memoryversion", version.pk)):
        for path in (reverse(f"admin:memory_{name}_changelist"), reverse(f"admin:memory_{name}_change", args=[key])):
            html = staff.get(path).content.decode()
            assert "knee" not in html, path
            assert "Confidential: health" in html, path


def test_acts_on_ticked_rows_call_the_services(staff: Client, boss: Actor) -> None:
    ids = [remember(actor=boss, draft=Draft(text=f"Stone number {n} is blue.")).memory_id for n in range(3)]
    address = reverse("admin:memory_memory_changelist")
    form = {"owner": str(boss.owner_id), "_selected_action": [str(one) for one in ids]}
    assert "3 rows" in staff.post(address, {**form, "action": "archive"}, follow=True).content.decode()
    assert "3 rows" in staff.post(address, {**form, "action": "restore"}, follow=True).content.decode()
    asked = staff.post(address, {**form, "action": "forget"})
    assert "erased for good in ten seconds" in asked.content.decode()
    with owner_scope(boss.owner_id):
        assert Memory.objects.filter(status=Status.LIVE).count() == 3
    staff.post(address, {**form, "action": "forget", "confirmed": "yes"})
    with owner_scope(boss.owner_id):
        assert Memory.objects.filter(status=Status.ERASING).count() == 3


@pytest.mark.parametrize(
    ("form", "code"),
    [
        ({"action": "archive"}, "rows.none"),
        ({"action": "archive", "_selected_action": ["x"]}, "rows.invalid"),
        ({"action": "explode", "_selected_action": ["01890a5d-ac96-774b-bcce-b302099a8057"]}, "rows.no_action"),
        ({"action": "delete_selected", "_selected_action": ["01890a5d-ac96-774b-bcce-b302099a8057"]}, "rows.no_action"),
    ],
)
def test_what_cannot_be_done_says_so(staff: Client, boss: Actor, form: dict[str, Any], code: str) -> None:
    answer = staff.post(reverse("admin:memory_memory_changelist"), {**form, "owner": str(boss.owner_id)})
    assert answer.status_code == 422
    assert code in answer.content.decode()


def test_agents_are_paused_and_keys_revoked(staff: Client, boss: Actor, make_agent: Any) -> None:
    agent, _ = make_agent(boss, "scribe")
    form = {"owner": str(boss.owner_id)}
    staff.post(reverse("admin:memory_agent_change", args=[agent.agent_id]), {**form, "action": "pause"})
    address = reverse("admin:memory_agentkey_change", args=[agent.key_id])
    assert "for good" in staff.post(address, {**form, "action": "revoke"}).content.decode()
    staff.post(address, {**form, "action": "revoke", "confirmed": "yes"})
    with owner_scope(boss.owner_id):
        assert Agent.objects.get(pk=agent.agent_id).paused_at is not None
        key = AgentKey.objects.get(pk=agent.key_id)
        assert key.revoked_at is not None
        secret = bytes(key.digest).hex()
    assert secret not in staff.get(address).content.decode()


def test_a_row_of_another_owner_is_not_there(staff: Client, make_owner: Any) -> None:
    other = make_owner("other")
    one = remember(actor=other, draft=Draft(text="Not for the boss.")).memory_id
    for page in ("change", "history"):
        answer = staff.get(reverse(f"admin:memory_memory_{page}", args=[one]))
        assert "Not for the boss" not in answer.content.decode()
    assert staff.get(reverse("admin:memory_memory_change", args=[one])).status_code == 404


def test_every_column_is_named_in_plain_words() -> None:
    shown = {
        column.name
        for model, admin in registered()
        for column in model._meta.concrete_fields
        if column.name not in admin.hidden_fields
    }
    assert shown == set(NAMES)
    words = [str(name) for name in NAMES.values()]
    abbreviated = re.compile(r"_|\b(pii|llm|ndcg|ms|tf)\b", re.IGNORECASE)
    assert [one for one in words if abbreviated.search(one) or not one[0].isupper()] == []


def test_a_row_and_its_filters_are_told_in_the_language_that_was_chosen(staff: Client, boss: Actor) -> None:
    one = remember(actor=boss, draft=Draft(text="The tide turns at noon.")).memory_id
    page = reverse("admin:memory_memory_change", args=[one])
    assert "<dt>Personal data</dt>" in staff.get(page).content.decode()
    assert "Pii" not in staff.get(page).content.decode()
    german = staff.get(page, headers={"Accept-Language": "de"}).content.decode()
    assert "<dt>Persönliche Daten</dt>" in german
    runs = reverse("admin:memory_consolidationrun_changelist")
    assert "<h2>Class of risk</h2>" in staff.get(runs).content.decode()
    assert "<h2>Risikoklasse</h2>" in staff.get(runs, headers={"Accept-Language": "de"}).content.decode()


def test_amounts_are_written_as_people_write_them(staff: Client, boss: Actor) -> None:
    with owner_scope(boss.owner_id):
        row = ModelUsage.objects.create(
            hour=now(), kind="embedding", component="store", provider="ollama", model="nomic", calls=12345,
            cost=Decimal("0E-12"), currency="USD",
        )  # fmt: skip
        page = staff.get(reverse("admin:telemetry_modelusage_change", args=[row.pk])).content.decode()
        assert "0E-" not in page
        assert ">12,345<" in staff.get(reverse("admin:telemetry_modelusage_changelist")).content.decode()
    assert columns.plain(Decimal("1.250000000000")) == "1.25"
    assert columns.plain(Decimal("1200.000000000000")) == "1200"
    with override("de"):
        assert columns.plain(Decimal("1.250000000000")) == "1,25"
        assert columns.amount(12345) == "12.345"


def test_a_long_list_is_counted_with_separators(staff: Client, boss: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
    remember(actor=boss, draft=Draft(text="One."))
    monkeypatch.setattr(RowsList, "get_results", _as_if_many(RowsList.get_results))
    html = staff.get(reverse("admin:memory_memory_changelist")).content.decode()
    assert "1,300 rows" in html


def _as_if_many(real: Any) -> Any:
    def found(self: RowsList, request: Any) -> None:
        real(self, request)
        self.result_count = 1300

    return found
