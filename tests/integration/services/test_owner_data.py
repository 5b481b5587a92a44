"""Settings, profiles, statistics, and the way of an owner's memories out and in again."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

from memory.crypto.keyring import keyring
from memory.errors import Conflict, InvalidInput, NotAuthenticated, NotFound, PermissionRefused
from memory.models import Owner, ProfileOverride, User, owner_scope
from memory.services.accounts import create_first_owner, create_owner, owner_of, owners_without_keys
from memory.services.actors import Actor, person
from memory.services.agents import authenticate, create_agent, create_key, list_keys, pause_agent, revoke_key
from memory.services.drafts import Draft
from memory.services.exporting import export_stream, file_name, from_ten, to_ten
from memory.services.importing import import_document
from memory.services.logins import owner_named, set_password
from memory.services.memories import ListRequest, list_memories
from memory.services.profiles import change_profile, get_profile, list_profiles, reset_profile
from memory.services.questions import RecallRequest
from memory.services.recall import recall
from memory.services.remember import remember, remember_many
from memory.services.retirement import archive_memory
from memory.services.settings import change_settings, get_settings
from memory.services.settings_table import OWNER_SETTINGS
from memory.services.stats import statistics
from memory.services.turns import TurnDraft, ingest_turns


class TestSettings:
    def test_defaults_changes_and_back(self, alice: Actor) -> None:
        assert get_settings(actor=alice)["values"] == {name: one.default for name, one in OWNER_SETTINGS.items()}
        changed = change_settings(actor=alice, changes={"recall_limit": 9, "recall_profile": "prax"})
        assert (changed["values"]["recall_limit"], changed["version"]) == (9, 1)
        assert recall(actor=alice, request=RecallRequest(query="anything")).profile == "prax"
        back = change_settings(actor=alice, changes={"recall_limit": None}, version=1)
        assert back["values"]["recall_limit"] == 5
        with pytest.raises(Conflict):
            change_settings(actor=alice, changes={"recall_limit": 3}, version=1)

    @pytest.mark.parametrize(
        "changes", [{"no_such": 1}, {"recall_limit": 0}, {"recall_limit": "5"}, {"recall_profile": "mem0"}]
    )
    def test_unusable_values_change_nothing(self, alice: Actor, changes: dict[str, Any]) -> None:
        with pytest.raises(InvalidInput):
            change_settings(actor=alice, changes={"context_tokens": 100, **changes})
        assert get_settings(actor=alice)["version"] == 0

    def test_owners_have_their_own(self, alice: Actor, mallory: Actor) -> None:
        change_settings(actor=alice, changes={"recall_limit": 9})
        assert get_settings(actor=mallory)["values"]["recall_limit"] == 5

    def test_an_agent_needs_the_permission(self, alice: Actor, make_agent: Callable[..., Any]) -> None:
        agent, _ = make_agent(alice)
        assert get_settings(actor=agent)["version"] == 0
        with pytest.raises(PermissionRefused):
            change_settings(actor=agent, changes={"recall_limit": 9})


class TestProfiles:
    def test_changes_are_versions_and_reset_is_one_too(self, alice: Actor) -> None:
        assert get_profile(actor=alice, name="engram")["version"] == 0
        change_profile(actor=alice, name="engram", changes={"threshold": 0.1})
        changed = change_profile(actor=alice, name="engram", changes={"mmr_lambda": 0.5})
        assert (changed["threshold"], changed["mmr_lambda"], changed["version"]) == (0.1, 0.5, 2)
        reset = reset_profile(actor=alice, name="engram")
        assert (reset["threshold"], reset["version"]) == (0.3, 3)
        assert reset_profile(actor=alice, name="engram")["version"] == 3
        with owner_scope(alice.owner_id):
            assert ProfileOverride.objects.count() == 3
        assert [one["name"] for one in list_profiles(actor=alice)] == ["default", "prax", "praxis", "cortex", "engram"]

    def test_they_change_recall(self, alice: Actor, mallory: Actor) -> None:
        for owner in (alice, mallory):
            remember_many(actor=owner, drafts=[Draft(text=f"tea number {number}") for number in range(4)])
        change_profile(actor=alice, name="default", changes={"limit": 2})
        assert len(recall(actor=alice, request=RecallRequest(query="tea")).hits) == 2
        assert len(recall(actor=mallory, request=RecallRequest(query="tea")).hits) == 4

    def test_bad_changes(self, alice: Actor) -> None:
        for changes in ({}, {"limit": 0}, {"name": "x"}):
            with pytest.raises(InvalidInput):
                change_profile(actor=alice, name="default", changes=changes)
        with pytest.raises(NotFound):
            change_profile(actor=alice, name="mem0", changes={"limit": 2})


def test_statistics(alice: Actor, make_agent: Callable[..., Any]) -> None:
    one, _ = make_agent(alice, "one")
    two, _ = make_agent(alice, "two")
    remember(actor=one, draft=Draft(text="a", kind="fact", category="project", source="wiki/ops/deploys"))
    remember(actor=one, draft=Draft(text="b", kind="fact", source="wiki/ops"))
    remember(actor=one, draft=Draft(text="c", source="private"), scope="agent")
    archive_memory(actor=one, memory_id=remember(actor=one, draft=Draft(text="d")).memory_id)
    ingest_turns(actor=one, session="s", turns=[TurnDraft(draft=Draft(text="e", role="user"))])
    counted = statistics(actor=two)
    assert (counted["total"], counted["archived"], counted["vectors_pending"]) == (3, 1, 0)
    assert counted["by_kind"] == {"fact": 2, "turn": 1}
    assert counted["by_tier"] == {"semantic": 2, "episodic": 1}
    assert counted["by_category"] == {"general": 2, "project": 1}
    assert counted["by_source"] == {"wiki": 2, "wiki/ops": 2, "wiki/ops/deploys": 1}
    assert statistics(actor=alice)["turns_since_consolidation"] == 1
    assert statistics(actor=alice)["by_source"]["private"] == 1


class TestTransfer:
    def exported(self, actor: Actor, form: str = "loci") -> Any:
        return json.loads("".join(export_stream(actor=actor, form=form)))

    def filled(self, actor: Actor) -> None:
        day = datetime(2026, 2, 20, 12, tzinfo=UTC)
        remember(
            actor=actor,
            draft=Draft(text="Prefers dark mode", category="preference", importance=0.7, tags=["ui"], occurred_at=day),
        )
        ingest_turns(
            actor=actor,
            session="chat",
            turns=[
                TurnDraft(draft=Draft(text="ok", role="user", speaker="Al")),
                TurnDraft(draft=Draft(text="ok", role="user", speaker="Al"), reply_to=0),
            ],
        )
        archive_memory(actor=actor, memory_id=remember(actor=actor, draft=Draft(text="old")).memory_id)

    def test_round_trip(self, alice: Actor, mallory: Actor) -> None:
        self.filled(alice)
        document = self.exported(alice)
        assert (document["totalMemories"], document["format"]) == (4, "loci-export/2")
        result = import_document(actor=mallory, document=document)
        assert (result.created, result.existing, result.skipped, result.errors) == (4, 0, 0, [])
        again = import_document(actor=mallory, document=document)
        assert (again.created, again.existing, again.errors) == (0, 4, [])
        archived = list_memories(actor=mallory, request=ListRequest(statuses=["archived"]), after=None, size=9)
        assert {row.text for row in archived} == {"old"}
        rows = list_memories(actor=mallory, request=ListRequest(), after=None, size=9)
        assert sorted((row.text, row.speaker, row.position) for row in rows if row.session_id) == [
            ("ok", "Al", 0),
            ("ok", "Al", 1),
        ]
        first, second = sorted((row for row in rows if row.session_id), key=lambda row: row.position or 0)
        assert second.reply_to_id == first.pk
        (fact,) = [row for row in rows if not row.session_id]
        assert (fact.text, fact.category, fact.importance, fact.tags) == (
            "Prefers dark mode",
            "preference",
            0.7,
            ["ui"],
        )
        assert fact.occurred_at == datetime(2026, 2, 20, 12, tzinfo=UTC)
        assert str(fact.pk) not in {item["id"] for item in document["memories"]}, "ids are never taken over"

    def test_the_form_of_engram(self, alice: Actor, mallory: Actor) -> None:
        self.filled(alice)
        document = self.exported(alice, "engram")
        assert set(document) == {"exportedAt", "source", "totalMemories", "memories"}
        assert set(document["memories"][0]) == {"id", "content", "category", "importance", "created_at"}
        published = {
            "exportedAt": "2026-02-20T12:00:00.000Z",
            "source": "Paw Desktop — Memory Export",
            "totalMemories": 1,
            "memories": [
                {
                    "id": "x",
                    "content": "User prefers dark mode",
                    "category": "preference",
                    "importance": 7,
                    "created_at": "2026-02-19T08:00:00Z",
                }
            ],
        }
        assert import_document(actor=mallory, document=published).created == 1
        (row,) = list_memories(actor=mallory, request=ListRequest(), after=None, size=9)
        assert (row.text, row.importance, row.category) == ("User prefers dark mode", 0.7, "preference")

    def test_only_what_the_agent_may_read(self, alice: Actor, make_agent: Callable[..., Any]) -> None:
        one, _ = make_agent(alice, "one")
        two, _ = make_agent(alice, "two", scopes=["memory:read", "transfer"])
        remember(actor=one, draft=Draft(text="mine"), scope="agent")
        remember(actor=one, draft=Draft(text="ours"))
        assert [item["content"] for item in self.exported(two)["memories"]] == ["ours"]
        with pytest.raises(PermissionRefused):
            self.exported(one)

    def test_what_was_archived_because_it_expired_comes_along(self, mallory: Actor) -> None:
        past, coming = "2020-01-01T00:00:00Z", "2199-01-01T00:00:00Z"
        turn = {"kind": "turn", "session": "s", "position": 0}
        items = [
            {"content": "parked", "status": "archived", "expires_at": past},
            {"content": "a pass", "status": "archived", "expires_at": coming},
            {"content": "said then", "status": "archived", "expires_at": past, **turn},
            {"content": "unreadable", "status": "archived", "expires_at": "soon"},
            {"content": "over", "status": "live", "expires_at": past},
        ]
        document = {"format": "loci-export/2", "memories": items}
        result = import_document(actor=mallory, document=document)
        assert result.created == 3
        assert [(error["index"], error["code"]) for error in result.errors] == [(3, "date.invalid"), (4, "date.past")]
        archived = list_memories(actor=mallory, request=ListRequest(statuses=["archived"]), after=None, size=9)
        ends = {row.text: row.expires_at and row.expires_at.year for row in archived}
        assert ends == {"parked": None, "a pass": 2199, "said then": None}
        assert import_document(actor=mallory, document=document).existing == 3

    def test_a_bad_item_keeps_nobody_else_out(self, alice: Actor) -> None:
        items = [{"content": "one"}, {"content": ""}, 7, {"content": "two", "importance": 99}, {"content": "three"}]
        result = import_document(actor=alice, document={"memories": items})
        assert result.created == 2
        assert [(error["index"], error["code"]) for error in result.errors] == [
            (1, "text.empty"),
            (2, "import.item"),
            (3, "importance.out_of_range"),
        ]

    @pytest.mark.parametrize("document", [None, [], {}, {"memories": {}}, {"memories": [], "format": "other/1"}])
    def test_other_documents(self, alice: Actor, document: Any) -> None:
        with pytest.raises(InvalidInput):
            import_document(actor=alice, document=document)

    def test_scale_and_name(self) -> None:
        assert [to_ten(value) for value in (0, 0.04, 0.5, 0.96, 1)] == [1, 1, 5, 10, 10]
        assert [from_ten(value) for value in (0, 1, 7, 10)] == [0, 0.1, 0.7, 1]
        assert file_name(datetime(2026, 2, 20, tzinfo=UTC)) == "loci-memories-2026-02-20.json"
        assert file_name(datetime(2026, 2, 20, tzinfo=UTC), form="engram") == "loci-words-2026-02-20.json"


@pytest.mark.django_db
class TestAccounts:
    def test_the_first_owner_is_made_once(self) -> None:
        first = create_first_owner()
        assert first is not None
        assert create_first_owner() is None
        actor = authenticate(first.key.secret)
        assert remember(actor=actor, draft=Draft(text="hello there")).created
        assert owners_without_keys() == set()

    def test_a_first_owner_whose_key_cannot_be_made_is_none(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Nobody has seen its password, and the next start would not make another one."""

        made: list[UUID] = []

        def fail(*, actor: Actor, **values: object) -> None:
            made.append(actor.owner_id)
            assert actor.owner_id in keyring().vault.owners()
            raise OSError

        with monkeypatch.context() as broken:
            broken.setattr("memory.services.accounts.create_key", fail)
            with pytest.raises(OSError):
                create_first_owner()
        assert (User.objects.count(), Owner.objects.count()) == (0, 0)
        # Other processes of the tests give owners keys in the same vault meanwhile.
        assert keyring().vault.owners().isdisjoint(made)
        assert create_first_owner() is not None

    def test_names_and_passwords(self) -> None:
        owner = create_owner(username="al", password="correct horse battery")
        assert owner.user is not None
        assert owner_of(owner.user) == owner
        with pytest.raises(Conflict):
            create_owner(username="al", password="correct horse battery")
        for username in ("AL", "\uff41\uff4c", "\uff21\uff2c"):
            with pytest.raises(Conflict) as taken:
                create_owner(username=username, password="correct horse battery")
            assert taken.value.machine_code == "account.taken"
        assert owner_named("\uff41\uff4c") == owner.pk
        set_password(username="\uff41\uff4c", password="another horse battery")
        for username in ("a\0l", "\ud800"):
            with pytest.raises(NotFound):
                owner_named(username)
            with pytest.raises(NotFound):
                set_password(username=username, password="another horse battery")
        for username, password in (("bo", "short"), ("bad name!", "correct horse battery"), ("", "correct horse")):
            with pytest.raises(InvalidInput):
                create_owner(username=username, password=password)

    def test_keys_can_expire_be_revoked_and_paused(self) -> None:
        actor = person(create_owner(username="al", password="correct horse battery").pk)
        agent = create_agent(actor=actor, name="helper")
        expired = create_key(actor=actor, agent_id=agent.pk, label="x", expires_at=datetime(2020, 1, 1, tzinfo=UTC))
        good = create_key(actor=actor, agent_id=agent.pk, label="y")
        assert authenticate(good.secret).agent_id == agent.pk
        with pytest.raises(NotAuthenticated):
            authenticate(expired.secret)
        pause_agent(actor=actor, agent_id=agent.pk, paused=True)
        with pytest.raises(NotAuthenticated):
            authenticate(good.secret)
        pause_agent(actor=actor, agent_id=agent.pk, paused=False)
        assert authenticate(good.secret).key_id == good.key_id
        revoke_key(actor=actor, key_id=good.key_id)
        for secret in (good.secret, good.secret[:-1], "loci_", "", "loci_ü", "x" * 300):
            with pytest.raises(NotAuthenticated):
                authenticate(secret)
        assert good.secret not in str([key.__dict__ for key in list_keys(actor=actor, agent_id=agent.pk)])

    def test_a_key_writes_where_it_is_told_to(self) -> None:
        actor = person(create_owner(username="al", password="correct horse battery").pk)
        agent = create_agent(actor=actor, name="helper")
        bearer = authenticate(create_key(actor=actor, agent_id=agent.pk, label="x", default_scope="agent").secret)
        remember(actor=bearer, draft=Draft(text="a"))
        (row,) = list_memories(actor=actor, request=ListRequest(), after=None, size=9)
        assert row.visibility == "agent"
        for scopes in ([], ["all"], ["memory:read", "*"]):
            with pytest.raises(InvalidInput):
                create_key(actor=actor, agent_id=agent.pk, label="x", scopes=scopes)
        with pytest.raises(Conflict):
            create_agent(actor=actor, name="HELPER ")
