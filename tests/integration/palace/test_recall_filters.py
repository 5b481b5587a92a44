"""Filters in the address, times, and what a search shows beside its hits."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit
from uuid import UUID

import pytest
from django.contrib.staticfiles import finders
from django.test import Client

from memory.services.actors import Actor, person
from memory.services.agents import create_group, set_membership
from memory.services.drafts import Draft
from memory.services.memories import get_memory
from memory.services.remember import remember
from memory.services.saved_searches import save_search
from memory.services.settings import change_settings
from tests.integration.palace.conftest import HTMX

Store = Callable[..., UUID]
LARGEST_SCRIPTS = 150_000
"""Bytes of all scripts of the first page, as they are sent without compression."""


def page(client: Client, query: str, **headers: str) -> str:
    return client.get(f"/?{query}", headers=headers).content.decode()


def shown(client: Client, query: str) -> str:
    """Give what a search shows, without what stands round it."""
    return page(client, query).split('id="results"')[1].split("<aside")[0]


def hits(html: str) -> int:
    return html.count('class="hit"')


@pytest.fixture
def stored(store: Store) -> dict[str, UUID]:
    """Memories about Lisbon that differ in what filters look at."""
    return {
        "fact": store("Lisbon has seven hills.", kind="fact", category="fact", importance=0.9, tags=["hills"]),
        "note": store("The Lisbon trip was long.", kind="note", category="project", importance=0.3, source="chat/one"),
        "old": store(
            "We met in Lisbon.",
            kind="note",
            category="person",
            importance=0.5,
            occurred_at="2021-03-04T10:00:00Z",
            source="mail/two",
        ),
    }


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        (["kind:fact"], 1),
        (["-kind:fact"], 2),
        (["~kind:fact"], 3),
        (["~-kind:fact"], 3),
        (["kind:fact", "kind:note"], 3),
        (["kind:note", "category:person"], 1),
        (["category:goal"], 0),
        (["tag:hills"], 1),
        (["-tag:hills"], 2),
        (["source:chat"], 1),
        (["source:chat", "source:mail"], 2),
        (["importance:9"], 1),
        (["importance:..5"], 2),
        (["importance:5.."], 2),
        (["-importance:5..10"], 1),
        (["confidence:0..100"], 3),
        (["occurred:2021-03-04"], 1),
        (["occurred:2021-01-01..2021-12-31"], 1),
        (["occurred:..2021-03-03"], 0),
        (["-occurred:2021-01-01..2021-12-31"], 2),
        (["created:today"], 3),
        (["created:last-year"], 0),
        (["status:holds"], 3),
        (["status:ended"], 0),
        (["scope:owner"], 3),
        (['json:{"or": [{"tag": "hills"}, {"source": "mail"}]}'], 2),
    ],
)
@pytest.mark.usefixtures("stored")
def test_filters_narrow_a_search(palace: Client, filters: list[str], found: int) -> None:
    query = "&".join(f"f={quote(one)}" for one in filters)
    assert hits(page(palace, f"q=lisbon&{query}")) == found
    assert hits(page(palace, query)) == (0 if all(one.startswith("~") for one in filters) else found), "listed"


@pytest.mark.parametrize(
    "written",
    [
        "kind:best", "kind:", "category:none", "agent:me", "nothing:here", "plain", "confidence:101", "confidence:9..1",
        "importance:0", "importance:..", "importance:a..b", "occurred:soon", "occurred:2026-02-30",
        "occurred:2026-02-02..2026-02-01", "status:best", "json:[]", "json:{", 'json:{"best": 1}', "json:" + "[" * 1900,
        "scope:everything", "-scope:owner", "tag:" + "x" * 2001,
    ],
)  # fmt: skip
def test_a_filter_that_cannot_be_is_refused(palace: Client, stored: dict[str, UUID], written: str) -> None:
    for query in (f"q=lisbon&f={quote(written)}", f"f={quote(written)}"):
        for headers in ({}, HTMX):
            answer = palace.get(f"/?{query}", headers=headers)
            assert answer.status_code == 422
            html = answer.content.decode()
            assert "filter.invalid" in html or "scope.invalid" in html
            assert ">id <code>" in html or "id <code>" in html, "the log can be searched for it"
            assert "Take away" in html, "and it can be taken away"


def many(number: int) -> str:
    return "&".join(f"f=tag:t{one}" for one in range(number))


@pytest.mark.parametrize("asked", ["q=a&", "", "q=a&go=1&", "q=a&base=&threshold=20&"])
def test_too_many_filters_are_not_drawn(palace: Client, stored: dict[str, UUID], asked: str) -> None:
    for headers in ({}, HTMX):
        assert "pill-20-remove" in palace.get(f"/?{asked}{many(20)}&f=tag:t3", headers=headers).content.decode()
        for number in (21, 900):
            answer = palace.get(f"/?{asked}{many(number)}", headers=headers)
            html = answer.content.decode()
            assert answer.status_code == 422
            assert "filter.invalid" in html
            assert "A search has at most 20 filters." in html
            assert "pill-" not in html
            assert 'value="tag:' not in html
            assert "tag%3At" not in html
    assert 'value="a"' in palace.get(f"/?q=a&{many(900)}").content.decode(), "the form keeps the question"


def test_a_filter_too_many_from_the_form_leaves_those_there_were(palace: Client, stored: dict[str, UUID]) -> None:
    for headers in ({}, HTMX):
        answer = palace.get(f"/?q=a&{many(20)}&add_kind=fact&add=1", headers=headers)
        html = answer.content.decode()
        assert answer.status_code == 422
        assert "A search has at most 20 filters." in html
        assert "pill-20-remove" in html
        assert "kind:fact" not in html


def test_a_saved_question_of_too_many_filters_is_refused(palace: Client, alice: Actor) -> None:
    row = save_search(actor=alice, name="many", question="a", choices=many(21))
    assert palace.get(f"/questions/{row.pk}/").status_code == 422


def addresses(html: str, pill: str) -> dict[str, list[str]]:
    found = re.search(rf'id="{pill}" href="([^"]+)"', html)
    assert found, pill
    return parse_qs(urlsplit(found[1].replace("&amp;", "&")).query)


def test_a_pill_switches_off_turns_round_and_goes_away(palace: Client, stored: dict[str, UUID]) -> None:
    html = page(palace, "q=lisbon&f=kind:fact&f=-tag:hills&limit=7")
    assert addresses(html, "pill-1-switch")["f"] == ["~kind:fact", "-tag:hills"]
    assert addresses(html, "pill-1-turn")["f"] == ["-kind:fact", "-tag:hills"]
    assert addresses(html, "pill-2-turn")["f"] == ["kind:fact", "tag:hills"]
    kept = addresses(html, "pill-1-remove")
    assert kept == {"q": ["lisbon"], "f": ["-tag:hills"], "limit": ["7"]}
    assert '<input type="hidden" name="f" value="kind:fact" form="recall">' in html
    off = page(palace, "q=lisbon&f=~kind:fact")
    assert addresses(off, "pill-1-switch")["f"] == ["kind:fact"]
    assert hits(off) == 3


def test_a_click_on_a_pill_changes_the_history(palace: Client, stored: dict[str, UUID]) -> None:
    answer = palace.get("/?q=lisbon&f=kind:fact&keep=1", headers=HTMX)
    assert answer["HX-Push-Url"] == "/?q=lisbon&f=kind%3Afact"


def test_the_form_adds_filters_to_the_address(palace: Client, alice: Actor, stored: dict[str, UUID]) -> None:
    form = {
        "q": "lisbon", "f": "tag:hills", "add_kind": "fact", "add_category": "", "add_source": " chat ",
        "add_importance_least": "5", "add_confidence_most": "90", "add_occurred_from": "2021-01-01",
        "add_created": "this-week", "add_status": "holds", "add": "1",
    }  # fmt: skip
    answer = palace.get("/", form)
    assert answer.status_code == 302
    found = parse_qs(urlsplit(answer["Location"]).query)
    assert found["f"] == [
        "tag:hills", "kind:fact", "source:chat", "status:holds", "confidence:..90", "importance:5..",
        "occurred:2021-01-01..", "created:this-week",
    ]  # fmt: skip
    assert set(found) == {"q", "f"}
    pushed = palace.get("/", form, headers=HTMX)["HX-Push-Url"]
    assert pushed == answer["Location"]
    typed = palace.get("/", {name: value for name, value in form.items() if name != "add"}, headers=HTMX)
    assert typed["HX-Replace-Url"] == "/?q=lisbon&f=tag%3Ahills", "typing takes nothing over"


def test_a_hit_leads_to_its_category_agent_and_source(
    palace: Client, alice: Actor, make_agent: Callable[..., Any], store: Store
) -> None:
    agent, _ = make_agent(alice, "scribe")
    remember(actor=agent, draft=Draft(text="Lisbon is sunny.", category="fact", source="chat/one"))
    store("Lisbon is bright.", source="mail of anna.silva@example.org")
    html = page(palace, "q=lisbon&limit=5")
    assert f'href="/?q=lisbon&amp;f=agent%3A{agent.agent_id}&amp;limit=5"' in html
    assert ">scribe<" in html
    assert 'href="/?q=lisbon&amp;f=category%3Afact&amp;limit=5"' in html
    assert 'href="/?q=lisbon&amp;f=source%3Achat%2Fone&amp;limit=5"' in html
    assert "anna.silva" not in html, "what is covered leads nowhere"
    assert hits(page(palace, f"q=lisbon&f=agent:{agent.agent_id}")) == 1
    assert "Agent" in page(palace, f"q=lisbon&f=agent:{agent.agent_id}")


def test_a_project_is_a_filter(palace: Client, alice: Actor, make_agent: Callable[..., Any], store: Store) -> None:
    agent, _ = make_agent(alice, "scribe")
    group = create_group(actor=alice, kind="project", name="Moon")
    set_membership(actor=alice, group_id=group.pk, agent_id=agent.agent_id, member=True)
    remember(actor=person(alice.owner_id), draft=Draft(text="Lisbon is far."), scope=f"project:{group.pk}")
    store("Lisbon is near.")
    html = page(palace, f"q=lisbon&f=scope:project:{group.pk}")
    assert hits(html) == 1
    assert "Moon" in html
    assert "far" in html


def test_without_a_question_the_filters_list(palace: Client, store: Store) -> None:
    for number in range(5):
        store(f"Lisbon trip number {number}.", tags=["trip"])
    assert "2 memories listed" in page(palace, "f=tag:trip&limit=2")
    html = shown(palace, "f=tag:trip&limit=2")
    assert hits(html) == 2
    assert "number 4" in html
    assert "number 3" in html
    further = re.search(r'href="([^"]+after[^"]+)"', html)
    assert further
    older = shown(palace, further[1].replace("&amp;", "&").removeprefix("/?"))
    assert "number 2" in older
    assert "number 4" not in older
    assert palace.get("/?f=tag:trip&after=nowhere").status_code == 422


def test_the_times_of_the_hits_are_bars_and_a_table(palace: Client, store: Store) -> None:
    for place, month in enumerate(("01", "01", "02", "05")):
        store(f"Lisbon, walk number {place}.", occurred_at=f"2024-{month}-10T10:00:00Z")
    html = page(palace, "q=lisbon&f=occurred:2024-01-01..2024-12-31")
    assert "by month" in html
    assert 'aria-label="January 2024: 2 memories"' in html
    assert html.count("f=occurred%3A2024-02-01..2024-02-29") == 2, "the bar and its twin in the table"
    assert html.count("<tr><th") >= 3
    assert 'class="times"' not in page(palace, "q=lisbon&f=occurred:2024-02-01..2024-02-29")


def test_looking_back_is_written_out(palace: Client, alice: Actor, store: Store) -> None:
    store("Alice lives in Porto.", valid_from="2020-01-01", valid_until="2022-01-01")
    store("Alice lives in Lisbon.", valid_from="2022-01-01")
    then = shown(palace, "q=where+does+alice+live&true_on=2021-06-01")
    assert "Porto" in then
    assert "Lisbon" not in then
    assert "What was true on 1 June 2021, as I know it now." in then
    now = shown(palace, "q=where+does+alice+live&true_on=2023-06-01")
    assert "Lisbon" in now
    assert "Porto" not in now
    known = shown(palace, "q=where+does+alice+live&known_on=2021-06-01")
    assert hits(known) == 0, "nothing was known yet"
    assert "As I knew it on 1 June 2021, and what was true then." in known
    today = f"{datetime.now(UTC):%Y-%m-%d}"
    both = shown(palace, f"q=where+does+alice+live&true_on=2021-06-01&known_on={today}")
    assert "Porto" in both
    assert "what was true on 1 June 2021." in both
    for wrong in ("true_on=soon", "known_on=2021-02-30", "true_on=1800-01-01"):
        assert palace.get(f"/?q=alice&{wrong}").status_code == 422


def test_the_settings_decide_what_the_address_leaves_open(palace: Client, alice: Actor, store: Store) -> None:
    for number in range(4):
        store(f"Lisbon trip number {number}")
    assert hits(page(palace, "q=lisbon+trip")) == 4
    change_settings(actor=alice, changes={"recall_limit": 2})
    assert hits(page(palace, "q=lisbon+trip")) == 2
    assert hits(page(palace, "q=lisbon+trip&limit=3")) == 3
    assert hits(page(palace, "q=lisbon+trip&profile=default")) == 4, "a profile that is named has its own"
    change_settings(actor=alice, changes={"recall_threshold": 1.0})
    html = page(palace, "q=lisbon+trip")
    assert hits(html) == 0
    assert 'name="threshold" min="0" max="100" step="1" value="100"' in html


def test_the_page_does_not_ask_more_for_more_hits(
    palace: Client, alice: Actor, store: Store, django_assert_max_num_queries: Any
) -> None:
    for number in range(12):
        store(f"Lisbon trip number {number}", source=f"chat/{number}")
    page(palace, "q=lisbon+trip&limit=2")
    with django_assert_max_num_queries(300) as few:
        page(palace, "q=lisbon+trip&limit=2")
    with django_assert_max_num_queries(len(few)) as many:
        assert hits(page(palace, "q=lisbon+trip&limit=12")) == 12
    assert len(many) == len(few)


def test_the_first_page_loads_little(palace: Client) -> None:
    loaded = modules_of(palace.get("/").content.decode())
    size = sum(len(found_file(name).read_bytes()) for name in loaded)
    assert "palace/keys.js" in loaded, "imports are followed"
    assert "palace/recall.js" in loaded
    assert size <= LARGEST_SCRIPTS, f"{size} bytes of scripts"


def found_file(name: str) -> Path:
    path = finders.find(name)
    assert isinstance(path, str), name
    return Path(path)


def modules_of(html: str) -> set[str]:
    """List every script that a page loads, those that its modules import included."""
    waiting = [one.split("/static/")[1] for one in re.findall(r'<script[^>]+src="([^"]+)"', html)]
    found: set[str] = set()
    while waiting:
        name = re.sub(r"\.[0-9a-f]{12}(?=\.\w+$)", "", waiting.pop())
        if name not in found:
            found.add(name)
            imports = re.findall(r'(?:from|import)\s*"\./([^"]+)"', found_file(name).read_text())
            waiting += [str(PurePosixPath(name).parent / one) for one in imports]
    return found


def test_masked_hits_stay_masked(palace: Client, alice: Actor, store: Store) -> None:
    memory_id = store("Caroline's card is 4111 1111 1111 1111, valid in Lisbon.", tags=["card"])
    html = page(palace, "f=tag:card")
    assert "4111" not in html
    assert "personal data masked" in html
    assert get_memory(actor=alice, memory_id=memory_id).pii_kinds
