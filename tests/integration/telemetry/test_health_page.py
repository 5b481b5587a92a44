"""The page about health, for people with and without the server in their hands."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils.html import escape

from memory.models import Memory, User, owner_scope
from memory.services.actors import Actor
from memory.services.added_checks import add_check, remove_check
from memory.services.clock import now
from memory.services.drafts import Draft
from memory.services.findings import Finding
from memory.services.health import forget_health
from memory.services.remember import remember

DETAIL, REMEDY = "The part's file system is gone.", "Mount it again."


@pytest.fixture
def page(make_owner: Callable[..., Actor]) -> Callable[..., str]:
    """Give a function that gives the page as a person sees it."""

    def see(name: str, *, staff: bool = False) -> str:
        if not User.objects.filter(username=name).exists():
            make_owner(name, staff=staff)
        client = Client()
        client.force_login(User.objects.get(username=name))
        answer = client.get(reverse("telemetry:health"))
        assert answer.status_code == 200
        return " ".join(answer.content.decode().split())

    return see


@pytest.fixture
def broken() -> Iterator[None]:
    """Have a part of the installation not work."""
    add_check("part", lambda: Finding("part", "failing", DETAIL, REMEDY))
    forget_health()
    yield
    remove_check("part")


def test_staff_sees_what_is_so_and_what_to_do(page: Callable[..., str], broken: None) -> None:
    said = page("root", staff=True)
    assert "Something that requests need does not work." in said
    assert escape(DETAIL) in said
    assert REMEDY in said
    assert said.index(">Part<") < said.index(">Database<")


def test_others_see_states_only(page: Callable[..., str], broken: None) -> None:
    said = page("alice")
    assert "Something that requests need does not work." in said
    assert "<strong>does not work</strong>" in said
    assert escape(DETAIL) not in said
    assert REMEDY not in said
    assert "Whoever runs this server sees what to do about it." in said


def test_what_is_not_set_up_does_not_work_either(page: Callable[..., str]) -> None:
    for said in (page("alice"), page("root", staff=True)):
        for name in ("Language model", "Reranker"):
            assert (
                said.split(f">{name}</th>")[1].split("</td>")[0].split('"told">')[1].strip().startswith("none is set")
            )


def test_others_are_told_why_where_no_worker_runs(page: Callable[..., str]) -> None:
    forget_health()
    said = page("alice")
    assert "works with less</strong>: Work in the background waits: consolidation, forgetting and erasing." in said
    assert "manage.py" not in said.split("<main")[1]


def test_an_empty_memory_says_what_to_do(page: Callable[..., str]) -> None:
    said = page("alice")
    assert "Nothing to judge yet" in said
    assert f'href="{reverse("palace:remember")}"' in said


def test_what_was_taken_off_and_why(page: Callable[..., str], alice: Actor) -> None:
    remember(actor=alice, draft=Draft(text="An old statement."))
    with owner_scope(alice.owner_id):
        Memory.objects.update(created_at=now() - timedelta(days=400))
    said = page("alice")
    assert "75 of 100." in said
    assert "Every memory has faded" in said
    assert "−25" in said
    assert "An old statement" not in said.split("<main")[1].split("What waits")[0]


def test_a_stranger_does_not_change_it(page: Callable[..., str], alice: Actor, mallory: Actor) -> None:
    remember(actor=mallory, draft=Draft(text="Mallory's own."))
    assert "Nothing to judge yet" in page("alice")


def test_it_stands_among_the_tabs(page: Callable[..., str]) -> None:
    here = reverse("telemetry:health")
    assert f'<a href="{here}" aria-current="page">Health</a>' in page("alice")


@pytest.mark.django_db
def test_nobody_else_sees_it() -> None:
    answer: Any = Client().get(reverse("telemetry:health"))
    assert answer.status_code == 302
    assert answer["Location"].startswith(reverse("palace:login"))
