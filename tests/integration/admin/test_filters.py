"""The lists of the admin are narrowed by what their filters offer and by nothing else, whatever is asked for."""

from __future__ import annotations

import html
import re
from typing import Any
from urllib.parse import parse_qs

import pytest
from django.test import Client
from django.urls import reverse

from memory.services.actors import Actor
from tests.integration.admin.test_models import registered
from tests.integration.purge.everything import fill_everything

LOOKUPS = ("startswith", "regex", "range", "year", "date__year", "unaccent", "trigram_similar")
CREDENTIALS = "agent__owner__user__password__startswith"
# What filters take of a moment, and how much of it neither Python nor the database takes.
MOMENTS = (
    "garbage",
    "9999999-01-01",
    "0001-01-01T00:00+23:59",
    "9999-12-31T23:59:59-23:59",
    "\0",
)
ODD: tuple[dict[str, str], ...] = (
    {"q": "x" * 2000},
    {"q": "\0"},
    {"p": "99999"},
    {"p": "9" * 400},
    {"p": "9" * 5000},
    {"p": "-1"},
    {"p": "x"},
    {"agent": "nobody"},
    {"status__exact": "\0"},
    {"status__isnull": "perhaps"},
    {"created_at__gte": "yesterday"},
    {"o": "1.2"},
    {"all": ""},
    {"e": "1"},
    {"_facets": "True"},
)


def lists() -> list[tuple[str, Any]]:
    return [
        (reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist"), admin)
        for model, admin in registered()
    ]


def offered(page: str) -> set[str]:
    """Give the parameters that the links of a list's filters carry."""
    return {name for query in re.findall(r'href="\?([^"]*)"', page) for name in parse_qs(html.unescape(query))}


@pytest.fixture
def filled(boss: Actor, make_agent: Any) -> None:
    """A row of everything."""
    agent, _ = make_agent(boss, "scribe")
    fill_everything(boss, agent)


def test_every_list_refuses_what_its_filters_do_not_ask(staff: Client, filled: None) -> None:
    for address, admin in lists():
        unknown = staff.get(address, {"nothing_of_the_kind": "x"})
        assert unknown.status_code == 400, address
        filtered = [one[0] if isinstance(one, tuple) else one for one in admin.list_filter]
        names = [one if isinstance(one, str) else one.parameter_name for one in filtered]
        asked = [f"{name}__{lookup}" for name in names[:1] for lookup in ("range", "year")]
        for name in ("owner__user__username", CREDENTIALS, *asked):
            answer = staff.get(address, {name: "99999999999999999999"})
            assert answer.status_code == 400, (address, name)
            assert answer.content == unknown.content, (address, name)


def test_no_column_is_compared_in_another_way(rf: Any) -> None:
    request = rf.get("/")
    for address, admin in lists():
        for column in admin.opts.concrete_fields:
            for lookup in (*LOOKUPS, "id", "pk__startswith"):
                assert not admin.lookup_allowed(f"{column.name}__{lookup}", "a", request), (address, column.name)


def test_relations_of_what_is_filtered_by_are_not_asked_either(staff: Client, filled: None) -> None:
    address = reverse("admin:memory_agentkey_changelist")
    for name in (CREDENTIALS, "agent__id", "agent__owner__user__username", "agent__name__isnull", "agent__isnull"):
        assert staff.get(address, {name: "pbkdf2"}).status_code == 400, name


def test_every_choice_of_every_filter_is_answered(staff: Client, filled: None) -> None:
    followed = 0
    for address, admin in lists():
        page = staff.get(address).content.decode()
        for query in set(re.findall(r'href="(\?[^"]+)"', page)):
            assert staff.get(f"{address}{html.unescape(query)}").status_code == 200, (address, query)
            followed += 1
        assert bool(offered(page)) >= any(isinstance(one, type) for one in admin.list_filter), address
    assert followed > 150


def test_no_value_of_a_filter_fails(staff: Client, filled: None) -> None:
    for address, _admin in lists():
        for name in offered(staff.get(address).content.decode()):
            values = MOMENTS if name.endswith(("__gte", "__lt")) else ("\0", "9" * 400, "perhaps")
            for value in values:
                assert staff.get(address, {name: value}).status_code in (200, 302), (address, name, value)
            repeated = staff.get(address, {name: ["1", "0", values[0]]})
            assert repeated.status_code in (200, 302), (address, name)
    # Where such a question is led to.
    assert staff.get(lists()[0][0], {"e": "1"}).status_code == 200


@pytest.mark.parametrize("query", ODD)
def test_odd_questions_to_a_list_are_answered(staff: Client, query: dict[str, str]) -> None:
    assert staff.get(reverse("admin:memory_memory_changelist"), query).status_code in (200, 302)


@pytest.mark.parametrize("query", [{"text__startswith": "A"}, {"owner": "x"}, {"session__label": "x"}])
def test_a_list_is_filtered_by_what_it_offers_only(staff: Client, query: dict[str, str]) -> None:
    assert staff.get(reverse("admin:memory_memory_changelist"), query).status_code == 400
