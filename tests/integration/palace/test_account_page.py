"""The person's own login: browsers that are logged in, ending them, and another password."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from django.contrib.sessions.models import Session
from django.test import Client
from django.urls import reverse

from memory.errors import PermissionRefused
from memory.models import AuditEvent, Owner, User, owner_scope
from memory.services import clock
from memory.services.actors import Actor
from memory.services.browser_sessions import list_sessions
from tests.integration.graph.moments import FixedClock, day

pytestmark = pytest.mark.django_db

PASSWORD = "correct horse battery staple"
NEW = "another stable for another horse"
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
EDGE = "Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0 Safari/537.36 Edg/140.0"


def with_password(owner: Actor) -> User:
    user = Owner.objects.get(pk=owner.owner_id).user
    assert user is not None
    user.set_password(PASSWORD)
    user.save()
    return user


def browser(user: User, agent: str = FIREFOX, password: str = PASSWORD) -> Client:
    """Log in as a browser does, through the form."""
    client = Client(headers={"User-Agent": agent})
    answer = client.post(reverse("palace:login"), {"username": user.username, "password": password})
    assert answer.status_code == 302
    return client


def page(client: Client) -> str:
    answer = client.get(reverse("palace:account"))
    assert answer.status_code == 200
    return answer.content.decode()


def is_in(client: Client) -> bool:
    return client.get(reverse("palace:settings")).status_code == 200


def change(client: Client, password: str = PASSWORD, new: str = NEW, again: str = NEW) -> int:
    typed = {"password": password, "new": new, "again": again}
    return client.post(reverse("palace:password"), typed).status_code


def test_the_browsers_of_this_person_are_listed_and_no_others(alice: Actor, mallory: Actor) -> None:
    hers = with_password(alice)
    first = browser(hers)
    browser(hers, EDGE)
    browser(with_password(mallory), "Mozilla/5.0 (iPhone) Safari/605")
    html = page(first)
    assert re.search(r"Firefox, Linux <span[^>]*>this one", html)
    assert "Edge, Windows" in html
    assert "iPhone" not in html
    keys = Session.objects.values_list("session_key", flat=True)
    assert not any(key in html for key in keys)


def test_the_browsers_are_listed_on_the_29th_of_february_too(alice: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
    user = with_password(alice)
    first = browser(user)
    browser(user, EDGE)
    time = FixedClock()
    time.moment = day("2024-02-29")
    monkeypatch.setattr(clock, "_clock", time)
    html = page(first)
    assert re.search(r"Firefox, Linux <span[^>]*>this one", html)
    assert "Edge, Windows" in html


def test_another_browser_is_logged_out_and_this_one_stays(alice: Actor) -> None:
    user = with_password(alice)
    first, second, third = browser(user), browser(user, EDGE), browser(user, EDGE)
    chosen = re.findall(r'name="session" value="(\w+)"', page(first))
    assert len(chosen) == 2
    first.post(reverse("palace:end-sessions"), {"session": chosen[0]})
    assert [is_in(first), sorted([is_in(second), is_in(third)])] == [True, [False, True]]
    first.post(reverse("palace:end-sessions"))
    assert [is_in(first), is_in(second), is_in(third)] == [True, False, False]


def test_nobody_ends_a_browser_of_another_person(alice: Actor, mallory: Actor) -> None:
    user = with_password(alice)
    first, _second = browser(user), browser(user, EDGE)
    stranger = browser(with_password(mallory))
    (chosen,) = re.findall(r'name="session" value="(\w+)"', page(first))
    assert stranger.post(reverse("palace:end-sessions"), {"session": chosen}).status_code == 404
    stranger.post(reverse("palace:end-sessions"))
    assert Session.objects.count() == 3


def test_a_new_password_logs_all_other_browsers_out(alice: Actor) -> None:
    user = with_password(alice)
    first, second = browser(user), browser(user, EDGE)
    assert change(first) == 302
    assert [is_in(first), is_in(second)] == [True, False]
    browser(user, password=NEW)
    with owner_scope(alice.owner_id):
        assert AuditEvent.objects.filter(verb="password", actor="person").count() == 1


@pytest.mark.parametrize(
    ("typed", "status", "said"),
    [
        ({"password": "a wrong one"}, 403, "The password is wrong."),
        ({"new": "short", "again": "short"}, 422, "too short"),
        ({"again": "something else entirely"}, 422, "This is another password than the first one."),
        ({"password": ""}, 422, "Type your password."),
    ],
)
def test_a_password_that_cannot_be_changed_stays(alice: Actor, typed: dict[str, str], status: int, said: str) -> None:
    user = with_password(alice)
    client = browser(user)
    answer = client.post(reverse("palace:password"), {"password": PASSWORD, "new": NEW, "again": NEW, **typed})
    assert answer.status_code == status
    assert said in answer.content.decode()
    user.refresh_from_db()
    assert user.check_password(PASSWORD)


def test_an_agent_sees_no_browsers(alice: Actor, make_agent: Callable[..., tuple[Actor, str]]) -> None:
    agent, _ = make_agent(alice)
    with pytest.raises(PermissionRefused):
        list_sessions(actor=agent, request=Client().get("/login/").wsgi_request)
