"""Keys and sessions that are forged, cut, outdated or somebody else's, in every place where one could be put."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.sessions.models import Session
from django.db import connection
from django.urls import reverse

from memory.models import AgentKey, User, owner_scope
from memory.palace.urls import urlpatterns
from memory.services.actors import Actor, Permission
from memory.services.agents import _digest, create_group, create_key, pause_agent, revoke_key, set_membership
from memory.services.clock import now
from tests.integration.api.conftest import API, Client, client_of, problem, remember

SECRET = "marmalade"


@pytest.fixture
def made(alice: Actor, make_agent: Callable[..., tuple[Actor, str]]) -> tuple[Actor, str]:
    """An agent of Alice with a memory of its own, and its key."""
    actor, secret = make_agent(alice, "assistant", scopes=list(Permission))
    remember(client_of(secret), f"The vault opens with {SECRET}.", scope="agent")
    return actor, secret


def forgeries(secret: str) -> Iterator[tuple[str, str]]:
    """Give keys that are nearly right, and others that have broken servers."""
    _, prefix, rest = secret.split("_", 2)
    yield from (
        ("empty", ""),
        ("a blank", " "),
        ("the prefix alone", "loci_"),
        ("without its secret", f"loci_{prefix}_"),
        ("without its prefix", rest),
        ("one character short", secret[:-1]),
        ("one character more", f"{secret}A"),
        ("another last character", secret[:-1] + ("A" if secret[-1] != "A" else "B")),
        ("another first character", f"loci_{prefix}_{'A' if rest[0] != 'A' else 'B'}{rest[1:]}"),
        ("in capitals", secret.upper()),
        ("another prefix", f"loci_{secrets.token_hex(4)}_{rest}"),
        ("a random secret", f"loci_{prefix}_{secrets.token_urlsafe(32)}"),
        ("twice", secret + secret),
        ("two keys", f"{secret}, {secret}"),
        ("two words", f"{secret} {secret}"),
        ("its digest", f"loci_{prefix}_{_digest(secret).hex()}"),
        ("a wildcard", "loci_%"),
        ("SQL", f"{secret}' OR '1'='1"),
        ("a look-alike", secret.replace("loci", "l\N{CYRILLIC SMALL LETTER O}ci")),
        ("full-width", secret.replace("l", "\N{FULLWIDTH LATIN SMALL LETTER L}", 1)),
        ("a zero-width space", f"{secret}\N{ZERO WIDTH SPACE}"),
        ("a NUL", f"{secret}\0"),
        ("a line end", f"{secret}\r\nX-Other: 1"),
        ("very long", f"loci_{prefix}_" + "x" * 100_000),
    )


def refused(response: Any, *codes: str) -> None:
    """Check that a request was refused, and that nothing was told."""
    assert response.status_code == 401, response.content
    assert response.json()["code"] in codes
    assert SECRET not in response.content.decode()


def test_no_forged_key_opens_anything(made: tuple[Actor, str], anonymous: Client) -> None:
    for name, key in forgeries(made[1]):
        for headers in ({"Authorization": f"Bearer {key}"}, {"X-Api-Key": key}):
            response = anonymous.json("get", "/memories", **headers)
            assert response.status_code == 401, (name, headers)
            refused(response, "auth.invalid", "auth.required")


def test_all_refusals_are_alike(alice: Actor, made: tuple[Actor, str], anonymous: Client) -> None:
    """Unknown, expired, revoked and paused keys cannot be told apart."""
    actor, _ = made
    assert actor.agent_id is not None
    expired = create_key(actor=alice, agent_id=actor.agent_id, label="old", expires_at=now() - timedelta(seconds=1))
    revoked = create_key(actor=alice, agent_id=actor.agent_id, label="gone")
    revoke_key(actor=alice, key_id=revoked.key_id)
    paused = create_key(actor=alice, agent_id=actor.agent_id, label="paused")
    answers = [client_of(key).json("get", "/memories") for key in (expired.secret, revoked.secret, "loci_a_b")]
    pause_agent(actor=alice, agent_id=actor.agent_id, paused=True)
    answers.append(client_of(paused.secret).json("get", "/memories"))
    for answer in answers:
        # Drawn for each request.
        del answer["X-Request-ID"]
    assert len({(answer.status_code, answer.content, str(sorted(answer.items()))) for answer in answers}) == 1
    refused(answers[0], "auth.invalid")


def test_a_key_works_nowhere_but_in_its_headers(made: tuple[Actor, str], anonymous: Client) -> None:
    _, secret = made
    for query in (f"?key={secret}", f"?api_key={secret}", f"?token={secret}", f"?Authorization=Bearer+{secret}"):
        refused(anonymous.json("get", f"/memories{query}"), "auth.required")
    refused(anonymous.json("post", "/recall", {"query": SECRET, "key": secret}), "auth.required")
    for headers in (
        {"Cookie": f"loci_session={secret}; Authorization={secret}"},
        {"Proxy-Authorization": f"Bearer {secret}"},
        {"X-Authorization": f"Bearer {secret}"},
        {"X-Forwarded-User": "alice"},
        {"Remote-User": "alice"},
        {"Authorization": f"Basic {secret}"},
        {"Authorization": f"Token {secret}"},
        {"Authorization": secret},
    ):
        refused(anonymous.json("get", "/memories", **headers), "auth.required")
    assert anonymous.get(f"{API}/memories", {}, HTTP_X_HTTP_METHOD_OVERRIDE="DELETE").status_code == 401


def test_two_keys_are_judged_by_the_first_header_alone(
    made: tuple[Actor, str], mallory: Actor, make_client: Callable[..., Client], anonymous: Client
) -> None:
    _, secret = made
    spy = make_client(mallory, "spy")
    theirs = spy._credentials["HTTP_AUTHORIZATION"].removeprefix("Bearer ")  # type: ignore[attr-defined]
    wrong = anonymous.json("get", "/memories", Authorization="Bearer loci_x_y", **{"X-Api-Key": secret})
    refused(wrong, "auth.invalid")
    for pair in (f"Bearer {theirs}, Bearer {secret}", f"Bearer {theirs},Bearer {secret}"):
        refused(anonymous.json("get", "/memories", Authorization=pair), "auth.invalid")
    mixed = anonymous.json("get", "/memories", Authorization=f"Bearer {theirs}", **{"X-Api-Key": secret})
    assert mixed.json() == {"items": [], "next": None}


GRANTS = {
    "more permissions": "scopes = ARRAY['memory:read', 'privacy:manage', 'agents:manage']",
    "no end": "expires_at = NULL",
    "a later end": "expires_at = expires_at + interval '100 years'",
    "another scope": "default_visibility = 'agent'",
    "another digest": r"digest = '\x" + _digest("loci_mine_mine").hex() + "'",
    "another agent": "agent_id = (SELECT id FROM memory_agent WHERE id <> agent_id LIMIT 1)",
}


@pytest.mark.parametrize("change", GRANTS.values(), ids=GRANTS)
def test_a_key_changed_in_the_database_opens_nothing(
    alice: Actor, make_agent: Callable[..., tuple[Actor, str]], change: str
) -> None:
    make_agent(alice, "another")
    actor, secret = make_agent(alice, "limited", scopes=[Permission.READ], expires_at=now() + timedelta(days=1))
    assert client_of(secret).json("get", "/memories").status_code == 200
    with owner_scope(alice.owner_id), connection.cursor() as cursor:
        cursor.execute(f"UPDATE memory_agentkey SET {change} WHERE id = %s", [actor.key_id])
        assert cursor.rowcount == 1
    for key in (secret, "loci_mine_mine"):
        refused(client_of(key).json("get", "/memories"), "auth.invalid")


def test_a_row_of_a_key_copied_to_another_owner_opens_nothing(
    alice: Actor, mallory: Actor, make_agent: Callable[..., tuple[Actor, str]]
) -> None:
    """A writer of the database gives a stolen key's row to an agent of Alice; the proof is her owner's."""
    theirs, secret = make_agent(mallory, "spy", scopes=list(Permission))
    target, _ = make_agent(alice, "assistant")
    with owner_scope(mallory.owner_id):
        key = AgentKey.objects.get(pk=theirs.key_id)
        digest, proof, scopes = bytes(key.digest), bytes(key.proof), key.scopes
        key.delete()
    with owner_scope(alice.owner_id), connection.cursor() as cursor:
        cursor.execute(
            "UPDATE memory_agentkey SET digest = %s, proof = %s, scopes = %s WHERE id = %s",
            [digest, proof, scopes, target.key_id],
        )
    refused(client_of(secret).json("get", "/memories"), "auth.invalid")


def test_a_key_made_with_a_key_never_has_more(
    alice: Actor, make_client: Callable[..., Client], made: tuple[Actor, str]
) -> None:
    end = now() + timedelta(hours=1)
    manager = make_client(alice, "manager", scopes=[Permission.AGENTS, Permission.READ], expires_at=end)
    path = f"/agents/{made[0].agent_id}/keys"
    for scopes in (["memory:write"], ["privacy:manage"], ["memory:read", "transfer"]):
        problem(manager.json("post", path, {"label": "x", "scopes": scopes}), 403, "auth.forbidden")
    later = {"label": "x", "scopes": ["memory:read"], "expires_at": "2150-01-01"}
    key = manager.json("post", path, later).json()
    with owner_scope(alice.owner_id):
        assert AgentKey.objects.get(pk=key["id"]).expires_at == end


def test_leaving_a_group_ends_reading_at_once(
    alice: Actor, make_agent: Callable[..., tuple[Actor, str]], woman: Client
) -> None:
    actor, secret = make_agent(alice, "assistant")
    assert actor.agent_id is not None
    group = create_group(actor=alice, kind="project", name="moon").pk
    memory = remember(woman, f"The {SECRET} is in the larder.", scope=f"project:{group}")
    client = client_of(secret)
    for member, status in ((False, 404), (True, 200), (False, 404)):
        set_membership(actor=alice, group_id=group, agent_id=actor.agent_id, member=member)
        response = client.json("get", f"/memories/{memory}")
        assert response.status_code == status
        assert (SECRET in response.content.decode()) is member


class TestSessions:
    def login(self, actor: Actor) -> Client:
        client = Client()
        client.force_login(User.objects.get(owner__id=actor.owner_id))
        return client

    def test_a_session_ends_with_its_password(self, alice: Actor) -> None:
        client = self.login(alice)
        assert client.json("get", "/memories").status_code == 200
        user = User.objects.get(owner__id=alice.owner_id)
        user.set_password("another horse battery")
        user.save()
        refused(client.json("get", "/memories"), "auth.required")
        assert client.get("/recent/").status_code == 302

    def test_a_session_ends_when_it_is_removed_expires_or_its_login_is_closed(self, alice: Actor) -> None:
        flushed, late, closed = (self.login(alice) for _ in range(3))
        flushed.session.flush()
        refused(flushed.json("get", "/memories"), "auth.required")
        key = late.cookies["loci_session"].value
        Session.objects.filter(session_key=key).update(expire_date=now() - timedelta(seconds=1))
        refused(late.json("get", "/memories"), "auth.required")
        User.objects.filter(owner__id=alice.owner_id).update(is_active=False)
        refused(closed.json("get", "/memories"), "auth.required")

    def test_a_forged_cookie_is_nobody(self, alice: Actor) -> None:
        real = self.login(alice).cookies["loci_session"].value
        for forged in (real[:-1], real + "a", real.upper(), "", "0", "a" * 32, "../" + real, real[::-1], "%00"):
            client = Client()
            client.cookies["loci_session"] = forged
            refused(client.json("get", "/memories"), "auth.required")

    def test_another_login_in_the_same_session_takes_its_own_owner(self, alice: Actor, mallory: Actor) -> None:
        client = self.login(alice)
        remember(client, f"The {SECRET}.")
        before = client.cookies["loci_session"].value
        client.force_login(User.objects.get(owner__id=mallory.owner_id))
        assert client.cookies["loci_session"].value != before
        assert client.json("get", "/memories").json() == {"items": [], "next": None}

    def test_data_of_a_session_written_by_hand_is_nobody(self, alice: Actor) -> None:
        """A writer of the database without the secret key puts a login into a session's row."""
        client = self.login(alice)
        key = client.cookies["loci_session"].value
        row = Session.objects.get(session_key=key)
        data, _, signature = row.session_data.rpartition(":")
        for forged in (f"{data}A:{signature}", data, "e30:1x:x", ""):
            Session.objects.filter(session_key=key).update(session_data=forged)
            refused(client.json("get", "/memories"), "auth.required")


def test_every_form_of_the_palace_needs_its_token(woman: Client) -> None:
    memory = remember(woman, f"The {SECRET}.")
    strict = Client(enforce_csrf_checks=True)
    strict.cookies = woman.cookies
    for pattern in urlpatterns:
        kwargs = {"memory_id": memory} if "memory_id" in str(pattern.pattern) else {}
        if set(pattern.pattern.converters) - set(kwargs):
            continue
        for headers in ({}, {"Origin": "https://evil.example"}, {"Referer": "https://evil.example/"}):
            response = strict.post(
                reverse(f"palace:{pattern.name}", kwargs=kwargs), {"csrfmiddlewaretoken": "a" * 32}, headers=headers
            )
            assert response.status_code in (403, 405), (pattern.name, response.status_code)
    assert woman.json("get", f"/memories/{memory}").json()["status"] == "live"
