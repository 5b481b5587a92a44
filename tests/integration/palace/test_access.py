"""Who gets in, and what every answer carries."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qs, urlsplit
from uuid import UUID, uuid4

import pytest
from django.test import Client

from memory.models import User
from memory.services.memories import get_memory
from tests.integration.palace.conftest import DIRECTIVES, HTMX, directives

PAGES = ["/", "/?q=lisbon", "/remember/", "/recent/", "/archive/"]
OF_A_MEMORY = ["/memories/{}/", "/memories/{}/edit/"]
CHANGES = ["/memories/{}/archive/", "/memories/{}/restore/", "/memories/{}/forget/"]


@pytest.mark.parametrize("path", [*PAGES, *OF_A_MEMORY])
def test_a_page_works_and_is_never_kept(palace: Client, store: Callable[..., UUID], path: str) -> None:
    answer = palace.get(path.format(store("We met in Lisbon.")))
    assert answer.status_code == 200
    assert "no-store" in answer["Cache-Control"]
    assert "private" in answer["Cache-Control"]


@pytest.mark.parametrize("path", [*PAGES, *OF_A_MEMORY])
def test_the_policy_lets_only_our_own_files_run(palace: Client, store: Callable[..., UUID], path: str) -> None:
    answer = palace.get(path.format(store("We met in Lisbon.")))
    assert directives(answer) == DIRECTIVES
    html = answer.content.decode()
    assert " style=" not in html
    assert "<style" not in html
    assert "hx-on" not in html
    assert html.count("<script") == html.count("<script src") + html.count('<script type="module" src')


@pytest.mark.parametrize("path", [*PAGES, *OF_A_MEMORY, *CHANGES])
def test_without_a_login_nothing_is_shown(db: None, path: str) -> None:
    path = path.format(uuid4())
    client = Client()
    answer = client.post(path) if "archive/" in path[5:] or "forget" in path or "restore" in path else client.get(path)
    if path == "/archive/":
        answer = client.get(path)
    assert answer.status_code == 302
    assert answer["Location"].startswith("/login/?next=/")
    assert "no-store" in answer["Cache-Control"]


def test_a_part_asked_for_without_a_login_leads_to_the_login_page(db: None) -> None:
    answer = Client().get("/?q=a", headers=HTMX)
    assert answer["HX-Redirect"] == "/login/?next=%2F%3Fq%3Da"


@pytest.mark.parametrize(
    ("path", "page"),
    [
        ("/settings/change/", "/settings/"),
        ("/memories/{}/forget/", "/memories/{}/"),
        ("/memories/{}/links/{}/remove/", "/memories/{}/"),
        ("/agents/{}/rename/?from=list", "/agents/{}/"),
        ("/consolidation/settings/decay/", "/consolidation/"),
        ("/profiles/default/keep/", "/"),
        ("/admin/owners/own/", "/admin/owners/"),
        ("/remember/?x=1", "/remember/?x=1"),
    ],
)
def test_where_only_forms_go_nobody_is_led_back_to(palace: Client, path: str, page: str) -> None:
    path, page = (one.replace("{}", str(UUID(int=7))) for one in (path, page))
    login = Client().post(path)
    assert (login.status_code, parse_qs(urlsplit(login["Location"]).query)["next"]) == (302, [page])
    part = Client().get("/news/", headers={**HTMX, "HX-Current-URL": f"http://testserver{path}"})
    assert parse_qs(urlsplit(part["HX-Redirect"]).query)["next"] == [page]
    chosen = palace.post("/language/", {"language": "de", "next": path})
    assert (chosen.status_code, chosen["Location"]) == (302, page)


@pytest.mark.parametrize("path", OF_A_MEMORY)
def test_a_stranger_sees_nothing_of_it(stranger: Client, store: Callable[..., UUID], path: str) -> None:
    answer = stranger.get(path.format(store("My secret plan")))
    nothing = stranger.get(path.format(uuid4()))
    assert answer.status_code == nothing.status_code == 404
    assert "My secret plan" not in answer.content.decode()
    refused, unknown = (replace(shown.context["problem"], request_id="") for shown in (answer, nothing))
    assert refused == unknown


@pytest.mark.parametrize("path", CHANGES)
def test_a_stranger_changes_nothing(stranger: Client, alice: Any, store: Callable[..., UUID], path: str) -> None:
    memory_id = store("My secret plan")
    assert stranger.post(path.format(memory_id)).status_code == 404
    assert get_memory(actor=alice, memory_id=memory_id).status == "live"


def test_a_stranger_edits_nothing(stranger: Client, alice: Any, store: Callable[..., UUID]) -> None:
    memory_id = store("My secret plan")
    assert stranger.post(f"/memories/{memory_id}/edit/", {"content": "mine", "version": 1}).status_code == 404
    assert get_memory(actor=alice, memory_id=memory_id).text == "My secret plan"


@pytest.mark.parametrize("path", ["/", "/recent/", "/archive/", "/memories/{}/"])
def test_reading_pages_take_no_post(palace: Client, store: Callable[..., UUID], path: str) -> None:
    assert palace.post(path.format(store("a fact"))).status_code == 405


@pytest.mark.parametrize("path", [*CHANGES, "/logout/", "/theme/"])
def test_changes_take_no_get(palace: Client, store: Callable[..., UUID], path: str) -> None:
    assert palace.get(path.format(store("a fact"))).status_code == 405


@pytest.mark.parametrize("path", [*CHANGES, "/remember/", "/memories/{}/edit/", "/logout/", "/theme/"])
def test_changes_need_the_forms_own_mark(alice: Any, store: Callable[..., UUID], path: str) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(User.objects.get())
    answer = client.post(path.format(store("a fact")), {"content": "forged"})
    assert answer.status_code == 403
    assert "Please send it again" in answer.content.decode()


@pytest.mark.parametrize("path", ["/memories/none/", "/memories/1/", "/nowhere/"])
def test_an_unknown_address_says_so(palace: Client, path: str, django_assert_num_queries: Any) -> None:
    # The session and its login, which the page names.
    with django_assert_num_queries(2):
        answer = palace.get(path)
    assert answer.status_code == 404
    assert "There is no page with this address" in answer.content.decode()


@pytest.mark.parametrize("staff", [False, True])
def test_a_login_without_an_owner_is_told_so(db: None, staff: bool) -> None:
    client = Client()
    client.force_login(User.objects.create_user("nobody", password="irrelevant here", is_staff=staff))
    answer = client.get("/")
    assert answer.status_code == 403
    html = answer.content.decode()
    assert "No owner is joined to this login" in html
    assert "Log out" in html


def test_memory_switched_off_is_said(palace: Client, settings: Any) -> None:
    settings.MEMORY_ENABLED = False
    answer = palace.get("/?q=lisbon")
    assert answer.status_code == 503
    assert "memory.disabled" in answer.content.decode()
