"""`spaces`: its actions, what they refuse and what they say."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection, connections
from django.test import Client
from django.urls import reverse

from memory.errors import EmbedderUnavailable
from memory.models import DueWork, EmbeddingSpace, MemoryVector, SpaceFill, SpaceState, TokenVectors, User, owner_scope
from memory.providers.composition import embedder, forget_providers
from memory.services.actors import Actor
from memory.services.clock import now
from memory.services.health import health_findings
from memory.services.health.work import waiting_work
from memory.services.questions import RecallRequest
from memory.services.recall import recall
from memory.services.spaces import moving
from telemetry.models import RequestVector
from tests.integration.spaces.looking import (
    NEW,
    OLD,
    active,
    found,
    indexes,
    live,
    space_of,
    states,
    stored,
    with_vector,
    work,
)
from tests.ports import reserved_port

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "schema"])


def typed(*arguments: str) -> str:
    out = io.StringIO()
    call_command("spaces", *arguments, stdout=out)
    return out.getvalue()


def answered(*arguments: str) -> Any:
    return json.loads(typed(*arguments, "--json"))


def refused(*arguments: str) -> str:
    with pytest.raises(CommandError) as error:
        typed(*arguments)
    return str(error.value)


@contextmanager
def as_role(role: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let the schema connection be of another role."""
    connections["schema"].close()
    with monkeypatch.context() as changed:
        changed.setitem(connections["schema"].settings_dict, "USER", role)
        yield
        connections["schema"].close()


def told_by_health() -> tuple[str, float | None]:
    """Give what health says of the space beside the one in use, and its share."""
    (told,) = [one.detail for one in health_findings() if one.name == "second space"]
    beside = waiting_work().beside
    return told, beside.share if beside is not None else -1.0


@pytest.fixture
def filled(alice: Actor) -> Actor:
    """Alice with two memories, whose vectors stand in both spaces."""
    stored(alice, "The ferry leaves at nine.", "The kettle sings.")
    typed("open")
    work()
    return alice


def test_the_whole_way(alice: Actor) -> None:
    assert "the first one opens the space" in typed("status")
    stored(alice, "The ferry leaves at nine.", "The kettle sings.")
    opened = answered("open")["space"]
    assert (opened["model"], opened["dimension"], opened["state"]) == (NEW, 768, "filling")
    assert opened["indexes"] == {"count": 16, "bytes": opened["indexes"]["bytes"], "valid": True}
    assert (opened["progress"]["owners_waiting"], opened["progress"]["percent"]) == (1, None)
    assert "not counted yet, 1 waiting" in typed("status")
    assert told_by_health() == (
        f"The space of stub/{NEW} is being filled: not counted yet. Recall goes on in the one in use.",
        None,
    )
    said = typed("fill")
    assert "owners: 1 of 1" in said
    assert "2 of 2 memories (100 %), 1 owner whole" in said
    switched = answered("switch")
    assert (switched["active"]["model"], switched["standby"]["model"], switched["missing"]) == (NEW, OLD, 0)
    assert switched["standby"]["progress"]["percent"] is None
    work()
    assert told_by_health() == (f"The space of stub/{OLD} stands by: 2 of 2 memories.", 1.0)
    assert found(alice, "The kettle sings.")[0] == "The kettle sings."
    told = {space["model"]: space for space in answered("status")["spaces"]}
    assert (told[NEW]["state"], told[NEW]["progress"], told[OLD]["state"]) == ("active", None, "standby")
    assert told[NEW]["switched_at"]
    retired = answered("retire")["space"]
    assert (retired["model"], retired["state"], retired["indexes"]["count"]) == (OLD, "retired", 0)
    assert with_vector(alice, OLD) == set()
    assert with_vector(alice, NEW) == live(alice)


def test_a_switch_says_what_to_set(filled: Actor) -> None:
    said = typed("switch")
    assert "none has to be restarted" in said
    assert "EMBEDDING_PROVIDER, EMBEDDING_MODEL" in said
    assert "EMBEDDING_SECOND_" in said


def test_after_the_settings_have_changed_places_it_goes_on(filled: Actor, settings: Any) -> None:
    typed("switch")
    settings.EMBEDDING_MODEL, settings.EMBEDDING_SECOND_MODEL = NEW, OLD
    forget_providers()
    assert found(filled, "The kettle sings.")[0] == "The kettle sings."
    work()
    assert answered("switch")["active"]["model"] == OLD


class TestRefusals:
    def test_open_without_another_embedder(self, alice: Actor, settings: Any) -> None:
        assert "space.none_in_use" in refused("open")
        stored(alice, "One.")
        settings.EMBEDDING_SECOND_PROVIDER = "none"
        forget_providers()
        assert "space.not_configured" in refused("open")
        settings.EMBEDDING_SECOND_PROVIDER, settings.EMBEDDING_SECOND_MODEL = "stub", OLD
        forget_providers()
        assert "space.not_configured" in refused("open")
        assert states() == {OLD: "active"}

    def test_open_where_the_new_embedder_does_not_answer(self, alice: Actor, settings: Any) -> None:
        stored(alice, "One.")
        address = f"127.0.0.1:{reserved_port()}"
        settings.EMBEDDING_SECOND_PROVIDER, settings.EMBEDDING_SECOND_MODEL = "openai", "large"
        settings.EMBEDDING_SECOND_BASE_URL = f"http://{address}/v1"
        forget_providers()
        said = refused("open")
        assert f"EMBEDDING_SECOND_PROVIDER (openai/large at {address}, EMBEDDING_SECOND_BASE_URL)" in said
        assert states() == {OLD: "active"}

    def test_open_with_settings_that_cannot_work(self, alice: Actor, settings: Any) -> None:
        stored(alice, "One.")
        settings.EMBEDDING_SECOND_MODEL = "nobody"
        forget_providers()
        assert "provider.misconfigured" in refused("open")
        # What is in use goes on.
        assert found(alice, "One.") == ["One."]
        stored(alice, "Two.")

    def test_settings_that_cannot_work_do_not_hide_how_the_first_one_fails(
        self, filled: Actor, settings: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        settings.EMBEDDING_MODEL, settings.EMBEDDING_SECOND_MODEL = NEW, "nobody"
        forget_providers()

        def away(texts: Any) -> Any:
            raise EmbedderUnavailable("It is away.")

        monkeypatch.setattr(embedder().inner, "embed", away)
        said = refused("switch")
        assert f"It is away. It is the embedder of EMBEDDING_PROVIDER (stub/{NEW})." in said

    def test_open_while_another_one_is_there(self, filled: Actor, settings: Any) -> None:
        settings.EMBEDDING_SECOND_MODEL = "characters-100"
        forget_providers()
        assert "space.beside" in refused("open")
        assert states() == {OLD: "active", NEW: "filling"}

    def test_open_with_too_many_dimensions(self, alice: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
        stored(alice, "One.")
        monkeypatch.setattr(moving, "WIDEST", 500)
        assert "space.too_wide" in refused("open")
        assert states() == {OLD: "active"}

    def test_a_role_that_owns_no_table_opens_and_retires_nothing(
        self, alice: Actor, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with as_role("loci_app", monkeypatch):
            # Neither is it told how things stand.
            assert "space.no_privilege" in refused("open")
            assert "space.no_privilege" in refused("retire", "9999")
            stored(alice, "One.")
            assert "DATABASE_SCHEMA_URL" in refused("open")
        assert states() == {OLD: "active"}
        typed("open")
        assert len(indexes(space_of(NEW).pk)) == 16
        work()
        with as_role("loci_app", monkeypatch):
            assert "space.no_privilege" in refused("retire")
        assert states() == {OLD: "active", NEW: "filling"}
        assert with_vector(alice, NEW) == live(alice)

    def test_what_is_about_the_space_beside_without_one(self, alice: Actor) -> None:
        stored(alice, "One.")
        for action in ("fill", "switch", "retire"):
            assert "space.none_beside" in refused(action)

    def test_switch_while_vectors_are_missing(self, alice: Actor, make_owner: Callable[..., Actor]) -> None:
        other = make_owner("mallory")
        stored(alice, "One.", "Two.")
        stored(other, "Three.")
        typed("open")
        said = refused("switch")
        assert "3 memories of 2 owners" in said
        assert "space.incomplete" in said
        assert active().model == OLD
        forced = answered("switch", "--force")
        assert forced["missing"] == 3
        # Words find them until the workers have made what is missing.
        assert recalled_by_words(alice) == "One."
        work()
        for owner in (alice, other):
            assert with_vector(owner, NEW) == live(owner)

    def test_one_is_one(self, alice: Actor) -> None:
        stored(alice, "One.")
        typed("open")
        assert "It lacks the vectors of 1 memory of 1 owner, or" in refused("switch")

    def test_switch_makes_little_that_is_missing_itself(self, filled: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
        DueWork.objects.create(owner_id=filled.owner_id, job=DueWork.SPACES, due_at=now())
        assert answered("switch")["active"]["model"] == NEW

    def test_retire_the_one_in_use_or_none(self, filled: Actor) -> None:
        assert "space.in_use" in refused("retire", str(active().pk))
        assert "space.unknown" in refused("retire", "9999")
        assert active().model == OLD

    def test_status_ends_with_three_while_something_is_wrong(self, filled: Actor, settings: Any) -> None:
        typed("status")
        EmbeddingSpace.objects.filter(model=NEW).update(pause="embedder.unavailable")
        with pytest.raises(SystemExit) as ended:
            typed("status")
        assert ended.value.code == 3
        EmbeddingSpace.objects.filter(model=NEW).update(pause="")
        settings.EMBEDDING_MODEL = "characters-100"
        forget_providers()
        with pytest.raises(SystemExit):
            typed("status", "--json")


def recalled_by_words(owner: Actor) -> str:
    answer = recall(actor=owner, request=RecallRequest(query="One.", record=False))
    return str(answer.hits[0].memory.text)


class TestRetiring:
    def test_everything_of_it_goes_and_nothing_else(self, filled: Actor) -> None:
        old, new = space_of(OLD), space_of(NEW)
        with owner_scope(filled.owner_id):
            memory_id = MemoryVector.objects.filter(space_id=new.pk).values_list("memory_id", flat=True)[0]
            for space in (old, new):
                TokenVectors.objects.create(memory_id=memory_id, space_id=space.pk, sealed=b"sealed")
                RequestVector.objects.create(request_hash=7, space_id=space.pk, vec=[1.0] * space.dimension)
        typed("retire")
        with owner_scope(filled.owner_id):
            for model in (MemoryVector, TokenVectors, RequestVector):
                assert set(model.objects.values_list("space_id", flat=True)) == {old.pk}
        assert not SpaceFill.objects.exists()
        assert indexes(new.pk) == []
        assert len(indexes(old.pk)) == 16
        # Nothing is written into it any more, by a process neither that knew it before.
        (one,) = stored(filled, "Afterwards.")
        assert one not in with_vector(filled, NEW)

    def test_what_an_interruption_has_left_is_removed_by_its_id(
        self, filled: Actor, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        new = space_of(NEW)
        with monkeypatch.context() as broken:
            broken.setattr(moving, "empty_space", lambda *args, **options: None)
            typed("retire")
        assert states()[NEW] == SpaceState.RETIRED
        assert len(with_vector(filled, NEW)) == 2
        typed("retire", str(new.pk))
        assert with_vector(filled, NEW) == set()

    def test_one_that_was_given_up_is_opened_anew_and_empty(
        self, filled: Actor, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with monkeypatch.context() as broken:
            broken.setattr(moving, "empty_space", lambda *args, **options: None)
            typed("retire")
        opened = answered("open")["space"]
        assert (opened["id"], opened["state"]) == (space_of(NEW).pk, "filling")
        assert with_vector(filled, NEW) == set()
        work()
        assert with_vector(filled, NEW) == live(filled)


def test_indexes_that_an_interruption_has_left_unusable_are_made_anew(filled: Actor) -> None:
    new = space_of(NEW)
    name, _ = indexes(new.pk)[3]
    with connections["schema"].cursor() as cursor:
        cursor.execute(f'DROP INDEX "{name}"')
    assert len(indexes(new.pk)) == 15
    typed("open")
    assert len(indexes(new.pk)) == 16
    assert all(valid for _, valid in indexes(new.pk))


def test_an_owner_who_is_being_erased_holds_nothing_up(filled: Actor, make_owner: Callable[..., Actor]) -> None:
    closed = make_owner("mallory")
    stored(closed, "Three.")
    with connection.cursor() as cursor:
        cursor.execute("UPDATE memory_owner SET purging_at = now() WHERE id = %s", [closed.owner_id])
    assert answered("switch")["active"]["model"] == NEW
    assert answered("retire")["space"]["model"] == OLD


class TestPages:
    def test_the_admin_shows_how_far_it_is(
        self, client: Client, alice: Actor, make_owner: Callable[..., Actor]
    ) -> None:
        make_owner("boss", staff=True)
        stored(alice, "One.", "Two.")
        typed("open")
        client.force_login(User.objects.get(username="boss"))
        assert "not counted yet" in client.get(reverse("loci-admin:spaces")).content.decode()
        work()
        html = client.get(reverse("loci-admin:spaces")).content.decode()
        assert "2 of 2 memories (100%)" in html
        page = reverse("loci-admin:space", args=[space_of(NEW).pk])
        assert "2 of 2 memories (100%)" in client.get(page).content.decode()
        EmbeddingSpace.objects.filter(model=NEW).update(pause="embedder.unavailable")
        assert "paused: embedder.unavailable" in client.get(page).content.decode()

    def test_the_palace_tells_a_person_of_their_own(self, client: Client, filled: Actor) -> None:
        client.force_login(User.objects.get(username="alice"))
        html = client.get("/").content.decode()
        assert "2 of 2 memories are read by the model that comes next." in html
        typed("switch")
        work()
        assert "the model that comes next" not in client.get("/").content.decode()


def test_a_space_without_any_memory_is_whole_at_once(alice: Actor) -> None:
    EmbeddingSpace.objects.create(provider="stub", model=OLD, dimension=384, state=SpaceState.ACTIVE)
    typed("open")
    assert answered("switch")["missing"] == 0
