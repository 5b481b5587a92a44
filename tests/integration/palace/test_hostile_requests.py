"""Requests that no browser sends: each gets a 4xx or is passed over, and none an error of the server."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode
from uuid import UUID, uuid4

import pytest
from django.http import HttpResponse
from django.test import Client, RequestFactory

from config.middleware import sound_requests
from memory.models import Memory, User, owner_scope
from memory.services.actors import Actor
from memory.services.retirement import archive_memory
from tests.conftest import PASSWORD
from tests.integration.api.hostile import HOSTILE, RAW
from tests.integration.palace.conftest import HTMX

Store = Callable[..., UUID]

SESSIONS = [
    '"\\000aaaaaaaaaaaaaaaa"',
    '"' + "a" * 31 + '\\000"',
    "A" * 32,
    "a" * 31,
    "a" * 33,
    "a" * 5_000,
    "../../../../../../etc/passwd-----",
    '"\\303\\251aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"',
]


@pytest.mark.parametrize("session", SESSIONS)
def test_a_session_of_a_foreign_form_counts_as_none(db: None, session: str) -> None:
    client = Client(headers={"cookie": f"loci_session={session}"})
    answer = client.get("/")
    assert (answer.status_code, answer["Location"]) == (302, "/login/?next=/")
    refused = client.get("/api/v1/memories")
    assert (refused.status_code, refused.json()["code"]) == (401, "auth.required")


def test_a_session_of_a_foreign_form_does_not_reach_what_follows() -> None:
    seen: list[dict[str, str]] = []

    def follows(request: Any) -> HttpResponse:
        seen.append(request.COOKIES)
        return HttpResponse()

    factory = RequestFactory(headers={"cookie": 'loci_session="\\000aaaaaaaaaaaaaaaa"; loci_theme=dark'})
    sound_requests(follows)(factory.get("/"))
    assert seen == [{"loci_theme": "dark"}]


def test_a_login_makes_a_session_that_is_taken(alice: Actor) -> None:
    client = Client()
    assert client.post("/login/", {"username": "alice", "password": PASSWORD}).status_code == 302
    assert client.get("/").status_code == 200


@pytest.mark.parametrize("kind", ["application/x-www-form-urlencoded", "multipart/form-data; boundary=x"])
@pytest.mark.parametrize("charset", ["utf-7", "latin-1", "utf-16", "base64", "undefined", "nonsense", ""])
@pytest.mark.parametrize("path", ["/login/", "/theme/", "/logout/", "/remember/"])
def test_a_form_that_is_not_in_utf_8_is_refused(alice: Actor, path: str, charset: str, kind: str) -> None:
    client = Client(enforce_csrf_checks=True, raise_request_exception=False)
    client.force_login(User.objects.get())
    client.get("/remember/")
    mark = client.cookies["loci_csrf"].value
    answer = client.generic("POST", path, b"theme=dark", f"{kind}; charset={charset}", headers={"X-CSRFToken": mark})
    assert answer.status_code == 400
    assert "A request that cannot be used" in answer.content.decode()


@pytest.mark.parametrize("charset", ["utf-8", "UTF-8", '"utf-8"'])
def test_a_form_may_say_that_it_is_in_utf_8(db: None, charset: str) -> None:
    kind = f"application/x-www-form-urlencoded; charset={charset}"
    assert Client().post("/theme/", "theme=dark", kind).status_code == 302


@pytest.mark.parametrize("charset", ["utf-7", "utf-16", "base64"])
def test_the_interface_refuses_it_in_its_own_form(palace: Client, charset: str) -> None:
    kind = f"application/x-www-form-urlencoded; charset={charset}"
    answer = palace.generic("POST", "/api/v1/memories", b"text=x", kind)
    assert (answer.status_code, answer["Content-Type"]) == (400, "application/problem+json")
    assert answer.json()["code"] == "request.refused"


def test_a_form_of_too_many_fields_is_refused(alice: Actor) -> None:
    client = Client(enforce_csrf_checks=True, raise_request_exception=False)
    client.get("/login/")
    answer = client.post("/login/", "a=&" * 1_100, "application/x-www-form-urlencoded")
    assert answer.status_code == 400
    assert "A request that cannot be used" in answer.content.decode()


@pytest.mark.parametrize("address", ["http://[x", "http://[::1", "http://a]b/", "//[", "\x00", "http://a\u2100b/", ""])
def test_an_address_that_is_none_leads_to_the_first_page(db: None, address: str) -> None:
    answer = Client(raise_request_exception=False).get("/", headers={**HTMX, "HX-Current-URL": address})
    assert answer.status_code == 200
    assert answer["HX-Redirect"].startswith("/login/?next=%")


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("f=category:%00", "filter.invalid"),
        ("f=category:gossip", "filter.invalid"),
        ("f=category:general%00", "filter.invalid"),
        ("f=kind:%00", "filter.invalid"),
        ("f=kind:opinion", "filter.invalid"),
        ("profile=%00", "profile.unknown"),
        ("limit=%00", "limit.out_of_range"),
        ("threshold=%00", "threshold.out_of_range"),
    ],
)
def test_a_choice_that_there_is_not_is_said(palace: Client, store: Store, query: str, code: str) -> None:
    store("Tea is fine.")
    for headers in ({}, HTMX):
        answer = palace.get(f"/?q=tea&{query}", headers=headers)
        assert answer.status_code in (404, 422)
        assert code in answer.content.decode()


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("category=a%00b", "category.unknown"),
        ("category=gossip", "category.unknown"),
        ("kind=a%00b", "kind.invalid"),
        ("kind=opinion", "kind.invalid"),
    ],
)
def test_the_archive_says_likewise(palace: Client, query: str, code: str) -> None:
    answer = palace.get(f"/archive/?{query}")
    assert answer.status_code == 422
    assert code in answer.content.decode()
    assert palace.get("/archive/?category=general&kind=turn").status_code == 200


@pytest.mark.parametrize("kind", ["turn", "note", "preference"])
def test_every_kind_of_the_list_can_be_asked_for(palace: Client, store: Store, kind: str) -> None:
    store("Tea is fine.")
    assert palace.get(f"/?q=tea&f=kind:{kind}&f=category:general").status_code == 200


@pytest.mark.parametrize(
    "moment",
    [
        "0001-01-01T00:00:00+23:59",
        "0001-01-01T00:00:00+00:00",
        "9999-12-31T23:59:59-23:59",
        "9999-12-31T23:59:59.999999+00:00",
        "1899-12-31T23:59:59+00:00",
        "2200-01-01T00:00:00+00:00",
        "2026-01-01T00:00:00",
        "",
    ],
)
def test_a_place_out_of_range_is_no_page_of_the_archive(palace: Client, moment: str) -> None:
    for row in (str(uuid4()), "x", ""):
        answer = palace.get("/archive/", {"after": f"{moment}_{row}"})
        assert answer.status_code == 422
        assert "cursor.invalid" in answer.content.decode()


NEXT = (
    "foo",
    "login",
    "palace:recall",
    "?x",
    "#x",
    "./",
    "../",
    "javascript:alert(1)",
    "//x.example/",
    "/\\x.example",
    "\0",
)
FORMS_WITH_NEXT = (
    "/questions/save/",
    "/profiles/default/reset/",
    "/theme/",
    "/language/",
    "/embedding/seen/",
    "/embedding/embed/",
    "/memories/{}/restore/",
    "/login/",
)


@pytest.mark.parametrize("path", FORMS_WITH_NEXT)
def test_what_is_no_whole_address_is_no_next_page(palace: Client, alice: Actor, store: Store, path: str) -> None:
    memory_id = store("Tea is fine.")
    sent = {"question": "hi", "choices": "", "theme": "dark", "language": "de"}
    browser = Client() if path == "/login/" else palace
    for number, following in enumerate(NEXT):
        archive_memory(actor=alice, memory_id=memory_id)
        named = {"name": f"n{number}", "username": "alice", "password": PASSWORD, "next": following}
        answer = browser.post(path.format(memory_id), {**sent, **named})
        assert answer.status_code == 302, following
        assert answer["Location"] in ("/", f"/memories/{memory_id}/"), following


@pytest.mark.parametrize("following", [*NEXT, "/login/", "/login/?next=/login/"])
def test_who_is_logged_in_is_led_from_the_login_to_a_page(palace: Client, following: str) -> None:
    answer = palace.get("/login/", {"next": following}, follow=True)
    assert answer.status_code == 200
    assert [address for address, _status in answer.redirect_chain][-1] == "/"


READ = {
    "/": ("q", "profile", "limit", "threshold", "category", "kind", "go", "unheard"),
    "/recent/": ("recent",),
    "/archive/": ("after", "category", "kind", "back", "gone"),
    "/remember/": ("unheard",),
    "/login/": ("next",),
    "/memories/{}/": ("stored",),
}
QUERIES = [(path, name) for path, names in READ.items() for name in names]


@pytest.mark.parametrize(("path", "name"), QUERIES, ids=[f"{path}?{name}" for path, name in QUERIES])
def test_no_parameter_of_an_address_breaks_a_page(
    palace: Client, alice: Actor, store: Store, path: str, name: str
) -> None:
    memory_id = store("Tea is fine.")
    archive_memory(actor=alice, memory_id=store("Tea was fine."))
    asked = "q=tea&" if path == "/" and name != "q" else ""
    values = [urlencode({name: text}) for text in HOSTILE] + [f"{name}={raw}" for raw in RAW]
    for headers in ({}, HTMX):
        for value in values:
            answer = palace.get(f"{path.format(memory_id)}?{asked}{value}", headers=headers)
            assert answer.status_code < 500, value[:60]


OTHERS = {
    "/archive/growth/": ("unit", "by", "days"),
    "/archive/transfer/": ("format",),
    "/suggest/": ("q",),
    "/news/": ("known", "since"),
    "/review/": ("kind", "after", "back"),
    "/consolidation/concluded/": ("kind", "after"),
    "/consolidation/runs/": ("after",),
    "/files/": ("deleted", "for"),
    "/files/new/": ("template", "for"),
    "/agents/sees/": ("q", "agent", "profile", "format", "max_tokens", "window", "compare", "agent2"),
    "/agents/": ("after",),
    "/conversations/": ("after",),
    "/graph/": ("q", "true_on", "known_on", "entity", "depth"),
    "/graph/communities/": ("after",),
    "/privacy/access/": ("verb", "agent", "after"),
    "/privacy/outbound/": ("after",),
    "/privacy/purge/": ("subject", "source", "agent"),
    "/settings/": ("agent",),
    "/telemetry/coverage/": ("known", "state", "key", "days"),
    "/telemetry/costs/": ("days",),
    "/telemetry/recall/": ("days", "place", "experiment"),
}


@pytest.mark.parametrize("path", OTHERS)
def test_no_page_hands_a_nul_to_the_database(palace: Client, store: Store, path: str) -> None:
    store("Tea is fine.")
    assert palace.get(path).status_code != 404
    for name in OTHERS[path]:
        for value in ("%00", "a%00b", "source&source=a%00b"):
            assert palace.get(f"{path}?{name}={value}").status_code < 500, (name, value)


FIELDS = ("content", "category", "kind", "importance", "tags", "source", "valid_from")
FORMS = {
    "/remember/": (*FIELDS, "csrfmiddlewaretoken"),
    "/memories/{}/edit/": (*FIELDS, "valid_until", "expires_at", "version"),
    "/memories/{}/restore/": ("next",),
    "/theme/": ("theme", "next"),
    "/login/": ("username", "password", "next"),
}
SENT = [(path, name) for path, names in FORMS.items() for name in names]


@pytest.mark.parametrize(("path", "name"), SENT, ids=[f"{path} {name}" for path, name in SENT])
def test_no_field_of_a_form_breaks_a_page(alice: Actor, palace: Client, store: Store, path: str, name: str) -> None:
    memory_id = store("Tea is fine.")
    sound = {"content": "Milk is fine.", "category": "general", "kind": "note", "importance": "5", "version": "1"}
    sound |= {"username": "alice", "password": "wrong", "theme": "dark"}
    browser = Client() if path == "/login/" else palace
    rest = {field: value for field, value in sound.items() if field in FORMS[path] and field != name}
    for text in HOSTILE:
        for data in ({**rest, name: text}, {**rest, f"{name}{text[:20]}": "x"}):
            # Both forms in which browsers send: in parts, and as an address.
            assert browser.post(path.format(memory_id), data).status_code < 500, text[:60]
            written = urlencode(data)
            answer = browser.post(path.format(memory_id), written, "application/x-www-form-urlencoded")
            assert answer.status_code < 500, text[:60]
    for raw in RAW:
        written = f"{urlencode(rest)}&{name}={raw}"
        answer = browser.post(path.format(memory_id), written, "application/x-www-form-urlencoded")
        assert answer.status_code < 500, raw
    with owner_scope(alice.owner_id):
        assert not any("\x00" in row.text for row in Memory.objects.all())
