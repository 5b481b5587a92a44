"""`/purges`: who may have what erased, with which proof, and who reads the receipt."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest
from django.core.cache import caches
from pytest_django import Settings
from rest_framework.parsers import JSONParser
from rest_framework.request import Request
from rest_framework.test import APIRequestFactory

from memory.api.idempotency import _request_digest
from memory.models import Memory, Owner, Purge, User, owner_scope
from memory.services.actors import Actor, Permission
from memory.services.purge.receipts import verify_receipt
from memory.services.purge.runner import run_purge
from tests.conftest import PASSWORD
from tests.integration.api.conftest import Client, problem, remember

whole_owners = pytest.mark.django_db(transaction=True, databases=["default", "schema"])
EVERYTHING = {"owner": True, "password": PASSWORD, "confirm": "alice"}


def begun(client: Client, **body: Any) -> Any:
    response = client.json("post", "/purges", body)
    assert response.status_code == 202, response.content
    return response.json()


def receipt(client: Client, made: Any, token: str | None = None) -> Any:
    headers = {} if token == "" else {"X-Purge-Token": made["token"] if token is None else token}
    return client.json("get", f"/purges/{made['id']}/receipt", **headers)


def texts(owner: Actor) -> set[str]:
    with owner_scope(owner.owner_id):
        return {row.text for row in Memory.objects.all()}


class TestParts:
    def test_from_preview_to_receipt(self, agent: Client, anonymous: Client, alice: Actor) -> None:
        doomed = remember(agent, "Alice keeps the key under a stone.")
        remember(agent, "Alice drinks tea.")
        preview = agent.json("post", "/purges/preview", {"memories": [doomed]})
        assert preview.json() == {"subject": "memory", "counts": {"memories": 1}}
        made = begun(agent, memories=[doomed])
        assert (made["state"], made["subject"], made["expected"]) == ("waiting", "memory", {"memories": 1})
        problem(receipt(anonymous, made), 404, "receipt.not_yet")
        run_purge(purge_id=UUID(made["id"]))
        assert texts(alice) == {"Alice drinks tea."}
        state = agent.json("get", f"/purges/{made['id']}").json()
        assert (state["state"], state["erased"], state["error"]) == ("done", {"memories": 1}, "")
        assert state["held"] == []
        assert "token" not in state
        listed = agent.json("get", "/purges").json()["items"]
        assert [one["id"] for one in listed] == [made["id"]]
        found = receipt(anonymous, made)
        assert found.status_code == 200
        assert found["Cache-Control"] == "no-store"
        assert verify_receipt(found.json())
        problem(agent.json("get", f"/memories/{doomed}"), 404, "not_found")

    def test_many_wrong_tokens_of_one_address_are_refused_unread(
        self, agent: Client, anonymous: Client, settings: Settings
    ) -> None:
        settings.MOST_WRONG_KEYS = 3
        made, other = begun(agent, source="user:al"), begun(agent, source="user:bo")
        problem(receipt(anonymous, made), 404, "receipt.not_yet")
        for number in range(3):
            problem(receipt(anonymous, made, f"wrong{number}"), 404, "purge.unknown")
        refused = receipt(anonymous, other)
        problem(refused, 429, "rate.limited")
        assert int(refused["Retry-After"]) == 60
        page = anonymous.get(f"/purges/{other['id']}/{other['token']}/")
        assert (page.status_code, page["Retry-After"]) == (429, "60")
        problem(receipt(anonymous, made), 404, "receipt.not_yet")
        problem(agent.json("get", "/memories/x"), 404, "not_found")
        elsewhere = anonymous.get(f"/purges/{other['id']}/{other['token']}/", REMOTE_ADDR="203.0.113.7")
        assert elsewhere.status_code == 200

    def test_without_the_right_token_there_is_no_receipt(self, agent: Client, anonymous: Client, woman: Client) -> None:
        made = begun(agent, source="user:al")
        run_purge(purge_id=UUID(made["id"]))
        for client in (anonymous, agent, woman):
            for token in ("", "x", made["token"][:-1], made["token"] + "x", "x" * 5_000, made["id"]):
                problem(receipt(client, made, token), 404, "purge.unknown")
        other = begun(agent, source="user:bo")
        problem(receipt(anonymous, made, other["token"]), 404, "purge.unknown")
        unknown = anonymous.json(
            "get", "/purges/0190aaaa-0000-7000-8000-000000000000/receipt", **{"X-Purge-Token": made["token"]}
        )
        problem(unknown, 404, "purge.unknown")
        problem(anonymous.json("get", "/purges/x/receipt"), 404, "not_found")
        query = anonymous.json("get", f"/purges/{made['id']}/receipt?token={made['token']}")
        problem(query, 422, "query.unknown")

    def test_the_token_is_not_given_again(self, agent: Client) -> None:
        first = agent.json("post", "/purges", {"source": "user:al"}, **{"Idempotency-Key": "once"})
        again = agent.json("post", "/purges", {"source": "user:al"}, **{"Idempotency-Key": "once"})
        assert (first.status_code, again.status_code) == (202, 202)
        assert first.json()["token"]
        assert again.json() == {**first.json(), "token": None}
        assert Purge.objects.count() == 1

    def test_the_same_twice_at_once(self, agent: Client) -> None:
        begun(agent, source="user:al")
        problem(agent.json("post", "/purges", {"source": "user:al"}), 409, "purge.under_way")

    def test_the_answer_under_a_key_of_what_was_purged(self, agent: Client) -> None:
        key = {"Idempotency-Key": "stored"}
        made = agent.json("post", "/memories", {"text": "A secret."}, **key)
        assert made.status_code == 201
        run_purge(purge_id=UUID(begun(agent, memories=[made.json()["id"]])["id"]))
        again = agent.json("post", "/memories", {"text": "A secret."}, **key)
        problem(again, 410, "memory.erased")
        assert b"A secret" not in again.content
        assert texts(agent.actor) == set()

    def test_others_find_nothing(self, agent: Client, stranger: Client, colleague: Client, powerless: Client) -> None:
        shared = remember(agent, "Shared.")
        private = remember(agent, "Private.", scope="agent")
        made = begun(agent, source="user:al")
        problem(stranger.json("get", f"/purges/{made['id']}"), 404, "not_found")
        assert stranger.json("get", "/purges").json()["items"] == []
        for client, memory in ((stranger, shared), (colleague, private)):
            for path in ("/purges", "/purges/preview"):
                problem(client.json("post", path, {"memories": [memory]}), 404, "not_found")
                asked = {"agent": str(agent.actor.agent_id)}
                problem(client.json("post", path, asked), 404, "not_found")
        problem(powerless.json("post", "/purges", {"memories": [shared]}), 403, "auth.forbidden")

    @pytest.mark.parametrize(
        ("body", "code"),
        [
            ({}, "purge.empty"),
            ({"owner": False}, "purge.empty"),
            ({"source": "user:al", "memories": ["0190aaaa-0000-7000-8000-000000000000"]}, "purge.several"),
            ({"source": "user:al", "confirm": "alice"}, "purge.several"),
            ({"source": "user:al", "password": None}, "field.required"),
            ({"owner": True, "source": "user:al"}, "purge.several"),
            ({"memories": []}, "memories.too_few"),
            ({"memories": ["x"]}, "id.invalid"),
            ({"memories": "x"}, "field.type"),
            ({"agent": None}, "field.null"),
            ({"source": 5}, "field.type"),
            ({"source": "/"}, "provenance.invalid"),
            ({"source": ""}, "text.empty"),
            ({"source": "user:al", "seal": "yes"}, "field.type"),
            ({"everything": True}, "field.unknown"),
        ],
        ids=lambda value: value if isinstance(value, str) else "",
    )
    def test_unusable_bodies(self, woman: Client, body: dict[str, Any], code: str) -> None:
        sent = {"password": PASSWORD, **body}
        sent = {name: value for name, value in sent.items() if (name, value) != ("password", None)}
        response = woman.json("post", "/purges", sent)
        assert response.status_code == 422, response.content
        codes = {response.json()["code"], *(one["code"] for one in response.json().get("errors", []))}
        assert code in codes, response.content
        assert not Purge.objects.exists()


class TestWhoShowsWho:
    """Nothing is erased for a session alone, nor for a key that may not delete."""

    @pytest.fixture(autouse=True)
    def unlocked(self) -> None:
        caches["logins"].clear()

    @pytest.mark.parametrize("part", ["memories", "source", "agent"])
    def test_a_person_gives_the_password_for_a_part_too(self, woman: Client, agent: Client, part: str) -> None:
        memory = remember(agent, "Alice drinks tea.", source="user:al")
        body = {part: {"memories": [memory], "source": "user:al", "agent": str(agent.actor.agent_id)}[part]}
        problem(woman.json("post", "/purges", body), 422, "field.required")
        problem(woman.json("post", "/purges", {**body, "password": "wrong"}), 403, "auth.password_wrong")
        assert not Purge.objects.exists()
        assert woman.json("post", "/purges/preview", body).status_code == 200
        begun(woman, **body, password=PASSWORD)

    def test_under_an_idempotency_key_the_password_counts_each_time(self, woman: Client) -> None:
        body, key = {"source": "user:al", "password": PASSWORD}, {"Idempotency-Key": "once"}
        first = woman.json("post", "/purges", body, **key)
        assert first.status_code == 202
        problem(woman.json("post", "/purges", {**body, "password": "wrong"}, **key), 403, "auth.password_wrong")
        again = woman.json("post", "/purges", body, **key)
        assert again.json() == {**first.json(), "token": None}

    def test_the_password_is_no_part_of_what_is_kept(self, woman: Client, alice: Actor) -> None:
        """The digest of the request is the same as without one, so no password can be guessed from it."""
        request = APIRequestFactory().post("/", {"source": "user:al", "password": PASSWORD}, format="json")
        without = APIRequestFactory().post("/", {"source": "user:al"}, format="json")
        digests = {_request_digest(alice, Request(one, parsers=[JSONParser()])) for one in (request, without)}
        assert len(digests) == 1

    def test_a_key_needs_to_delete_besides(self, alice: Actor, make_client: Callable[..., Client]) -> None:
        client = make_client(alice, "clerk", scopes=[one for one in Permission if one != Permission.DELETE])
        refused = problem(client.json("post", "/purges", {"source": "user:al"}), 403, "auth.forbidden")
        assert refused["permission"] == "memory:delete"
        assert client.json("post", "/purges/preview", {"source": "user:al"}).status_code == 200
        assert not Purge.objects.exists()

    def test_a_key_has_no_password(self, agent: Client) -> None:
        problem(agent.json("post", "/purges", {"source": "user:al", "password": PASSWORD}), 403, "auth.person_only")


class TestHidden:
    def test_an_agent_sees_its_own_purges_only(self, agent: Client, colleague: Client, woman: Client) -> None:
        own = begun(agent, source="user:al")["id"]
        others = [begun(colleague, source="user:al")["id"], begun(woman, source="user:al", password=PASSWORD)["id"]]
        assert [one["id"] for one in agent.json("get", "/purges").json()["items"]] == [own]
        assert {one["id"] for one in woman.json("get", "/purges").json()["items"]} == {own, *others}
        assert agent.json("get", f"/purges/{own}").status_code == 200
        for one in others:
            problem(agent.json("get", f"/purges/{one}"), 404, "not_found")


class TestEverything:
    @pytest.fixture(autouse=True)
    def unlocked(self) -> None:
        caches["logins"].clear()

    @whole_owners
    def test_a_person_with_the_password(self, woman: Client, agent: Client, anonymous: Client, alice: Actor) -> None:
        remember(agent, "Alice drinks tea.")
        counts = woman.json("post", "/purges/preview", {"owner": True}).json()
        assert counts["subject"] == "owner"
        assert counts["counts"]["memories"] == 1
        made = begun(woman, **EVERYTHING)
        assert made["subject"] == "owner"
        assert woman.json("get", "/memories").status_code in (401, 403, 410)
        assert agent.json("get", "/memories").status_code in (401, 410)
        run_purge(purge_id=UUID(made["id"]))
        assert not Owner.objects.filter(pk=alice.owner_id).exists()
        assert not User.objects.filter(username="alice").exists()
        found = receipt(anonymous, made)
        assert found.status_code == 200
        assert verify_receipt(found.json())
        assert found.json()["erased"]["memories"] == 1
        assert str(alice.owner_id) not in found.content.decode()

    def test_wrong_words_change_nothing(self, woman: Client, alice: Actor) -> None:
        for change, status, code in (
            ({"password": "wrong"}, 403, "auth.password_wrong"),
            ({"password": ""}, 403, "auth.password_wrong"),
            ({"password": PASSWORD + "x" * 10_000}, 403, "auth.password_wrong"),
            ({"confirm": "Alice"}, 422, "confirm.mismatch"),
            ({"confirm": "mallory"}, 422, "confirm.mismatch"),
        ):
            problem(woman.json("post", "/purges", {**EVERYTHING, **change}), status, code)
            caches["logins"].clear()
        for name in ("password", "confirm"):
            body = {key: value for key, value in EVERYTHING.items() if key != name}
            problem(woman.json("post", "/purges", body), 422, "field.required")
        assert Owner.objects.get(pk=alice.owner_id).purging_at is None
        assert not Purge.objects.exists()

    def test_too_many_wrong_passwords_lock_the_right_one_out(self, woman: Client, settings: Settings) -> None:
        for _ in range(settings.AXES_FAILURE_LIMIT - 1):
            problem(woman.json("post", "/purges", {**EVERYTHING, "password": "no"}), 403, "auth.password_wrong")
        problem(woman.json("post", "/purges", {**EVERYTHING, "password": "no"}), 429, "auth.locked")
        problem(woman.json("post", "/purges", EVERYTHING), 429, "auth.locked")
        assert not Purge.objects.exists()

    def test_no_agent_has_everything_erased(self, agent: Client) -> None:
        problem(agent.json("post", "/purges", EVERYTHING), 403, "auth.person_only")
        problem(agent.json("post", "/purges/preview", {"owner": True}), 403, "auth.person_only")

    def test_the_password_is_kept_nowhere(self, woman: Client, alice: Actor, caplog: Any) -> None:
        """Not under an idempotency key either, as a digest that could be guessed."""
        body = {**EVERYTHING, "password": "a very wrong password"}
        problem(woman.json("post", "/purges", body, **{"Idempotency-Key": "once"}), 403, "auth.password_wrong")
        from memory.models import IdempotencyRecord

        with owner_scope(alice.owner_id):
            assert not IdempotencyRecord.objects.exists()
        assert "very wrong" not in caplog.text


def test_a_key_needs_the_permission(alice: Actor, make_client: Callable[..., Client]) -> None:
    client = make_client(alice, "clerk", scopes=[one for one in Permission if one != Permission.PRIVACY])
    for method, path, body in (
        ("get", "/purges", None),
        ("post", "/purges", {"source": "user:al"}),
        ("post", "/purges/preview", {"source": "user:al"}),
    ):
        problem(client.json(method, path, body), 403, "auth.forbidden")
