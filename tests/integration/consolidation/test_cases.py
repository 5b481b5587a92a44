"""What must hold from end to end: told over REST, drawn by the rules in a real run, looked at over REST."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta

import pytest
from django.test import override_settings

from memory.providers.composition import language_model
from memory.providers.language_model import ChatLanguageModel
from memory.services.actors import Actor
from memory.services.drafts import Draft
from memory.services.remember import remember_many
from tests.contract.providers.loopback_server import Received
from tests.integration.api.conftest import Client, agent, make_client, remember, stranger, woman  # noqa: F401
from tests.integration.consolidation.stage import Stopped
from tests.integration.consolidation.told import (
    MAY,
    as_of,
    entities,
    fact_texts,
    facts,
    relations,
    run,
    sources,
    tell,
)
from tests.unit.consolidation.chat import Chat, Says, chatting

pytestmark = pytest.mark.django_db

JUNE = MAY + timedelta(days=30)
WAYS = {
    "sister": [
        "My sister lives in Lisbon.",
        "My sister's been living in Lisbon for years.",
        "Yeah, my sister is based in Lisbon!",
        "By the way, my sister still lives in Lisbon, you know.",
        "I'm visiting family soon. My sister's living in Lisbon now.",
    ],
    "food": [
        "I love Chinese food",
        "I'm a big fan of Chinese food!",
        "Chinese food is my favourite.",
        "Honestly, I really enjoy Chinese food a lot.",
        "What can I say, I adore Chinese cuisine. I adore Chinese food.",
    ],
    "allergy": [
        "I'm allergic to peanuts.",
        "Careful, I have a peanut allergy",
        "I've got a severe peanut allergy.",
        "I am allergic to peanuts!",
        "I've got an allergy to peanuts, by the way.",
    ],
    "employer": [
        "I work at Acme Corp.",
        "I'm employed by Acme Corp",
        "I've been working for Acme Corp.",
        "I'm working at Acme Corp these days",
        "Well, I work for Acme Corp.",
    ],
    "dog": [
        "My dog is called Rex.",
        "I have a dog named Rex.",
        "I've got a dog named Rex",
        "We have a dog called Rex.",
        "Our dog Rex is asleep again.",
    ],
}  # fmt: skip


@pytest.mark.parametrize("together", [True, False], ids=["one run", "five runs"])
@pytest.mark.parametrize("told", sorted(WAYS), ids=str)
def test_one_fact_told_five_times_is_one_memory_with_five_sources(agent: Client, told: str, together: bool) -> None:  # noqa: F811
    turns = []
    for day, text in enumerate(WAYS[told]):
        turns += tell(agent, f"session {day}", text, at=MAY + timedelta(days=day))
        if not together:
            run(agent)
    if together:
        run(agent)
    shared = [(one, drawn) for one in facts(agent) if len(drawn := sources(agent, one["memory"]["id"])) > 1]
    assert [sorted(filter(None, drawn)) for _, drawn in shared] == [sorted(turns)], fact_texts(agent)


def test_what_only_sounds_alike_is_several_facts(agent: Client) -> None:  # noqa: F811
    said = [
        "My sister lives in Lisbon.", "My brother lives in Lisbon.", "My cousin lives in Porto.",
        "I love Chinese food.", "I love Chinese music.", "My sister loves Chinese food.", "I hate Japanese food.",
        "I'm allergic to peanuts.", "I'm allergic to peas.", "I have a dog named Rex.", "My cat is called Rex.",
        "My birthday is on the 3rd of May.", "My anniversary is on the 3rd of May.",
    ]  # fmt: skip
    tell(agent, "talk", *said, at=MAY)
    run(agent)
    found = facts(agent)
    assert len(found) == len(said)
    assert {len(sources(agent, one["memory"]["id"])) for one in found} == {1}


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ("I love Chinese food.", "I hate Chinese food.",
         ("The user loves Chinese food.", "The user hates Chinese food.")),
        ("Loves cheese pizza", "Dislikes cheese pizza",
         ("The user loves cheese pizza.", "The user dislikes cheese pizza.")),
    ],
    ids=["food", "pizza"],
)  # fmt: skip
def test_love_then_hate(agent: Client, before: str, after: str, told: tuple[str, str]) -> None:  # noqa: F811
    tell(agent, "one", before, at=MAY)
    run(agent)
    assert fact_texts(agent) == [told[0]]
    tell(agent, "two", after, at=JUNE)
    run(agent)
    (now,) = facts(agent)
    (then,) = facts(agent, as_of(JUNE - timedelta(days=1)))
    assert (then["memory"]["text"], now["memory"]["text"]) == told
    assert (then["superseded_by"], now["supersedes"]) == ([now["memory"]["id"]], [then["memory"]["id"]])
    assert fact_texts(agent, "&superseded=true") == sorted(told)
    history = agent.json("get", f"/memories/{then['memory']['id']}/history").json()["items"]
    assert [version["reason"] for version in history] == ["contradicted"]


@pytest.mark.parametrize("stored", ["turn", "statement"])
def test_pizza_as_two_statements(agent: Client, stored: str) -> None:  # noqa: F811
    for text, at in (("Loves cheese pizza", MAY), ("Dislikes cheese pizza", JUNE)):
        if stored == "turn":
            tell(agent, text, text, at=at)
        else:
            remember(agent, text, kind="preference", occurred_at=at.isoformat())
        run(agent)
    assert [text.split()[-3] for text in fact_texts(agent)] in (["dislikes"], ["Dislikes"])


def test_moving_house_closes_the_old_home_in_the_graph_and_as_a_fact(agent: Client) -> None:  # noqa: F811
    tell(agent, "one", "I live in Whitefield.", at=MAY)
    run(agent)
    tell(agent, "two", "I moved from Whitefield to Electronic City.", at=JUNE)
    run(agent)
    user = entities(agent)["user"]["id"]
    moment = "2026-06-03T09:00:00Z"
    assert [row for row in relations(agent, user) if row[0] == "lives_in"] == [("lives_in", "Electronic City", None)]
    homes = [row for row in relations(agent, user, "&superseded=true") if row[0] == "lives_in"]
    assert sorted(homes) == [("lives_in", "Electronic City", None), ("lives_in", "Whitefield", moment)]
    back_then = relations(agent, user, "&valid_at=2026-05-20")
    assert [row[1] for row in back_then if row[0] == "lives_in"] == ["Whitefield"]
    assert fact_texts(agent) == ["The user moved from Whitefield to Electronic City."]
    (old,) = facts(agent, as_of(MAY + timedelta(days=3)))
    assert (old["memory"]["text"], old["memory"]["valid_until"]) == ("The user lives in Whitefield.", moment)
    answer = agent.json("post", "/graph/query", {"question": "Where does the user live now, Electronic City?"}).json()
    assert "user lives in Electronic City (since 2026-06-03)" in answer["lines"]
    assert not any("Whitefield" in line and "lives in" in line for line in answer["lines"])


def test_mentioning_somebody_retires_nothing(agent: Client) -> None:  # noqa: F811
    tell(agent, "one", "My sister Jule lives in Lisbon.", at=MAY)
    tell(agent, "two", "I called Jule. I told Jule about Porto. Jule and I went to Porto.", at=JUNE)
    run(agent)
    assert "The user's sister Jule lives in Lisbon." in fact_texts(agent)
    assert not [one for one in facts(agent, "&superseded=true") if one["superseded_by"]]


@pytest.mark.parametrize(
    ("told_at", "read_at", "wanted"),
    [
        (MAY, JUNE, "2026-05-03T00:00:00Z"),
        # Without a time of its own a turn was said when it came in, whenever it is read.
        (None, MAY + timedelta(days=2), "2026-05-03T00:00:00Z"),
    ],
    ids=["with a reference time", "without"],
)
def test_yesterday_the_sensor_failed(
    agent: Client,  # noqa: F811
    time: Stopped,
    told_at: datetime | None,
    read_at: datetime,
    wanted: str,
) -> None:
    time.at = told_at or MAY
    tell(agent, "lab", "Yesterday the sensor failed.", at=told_at)
    time.at = read_at
    run(agent)
    (event,) = agent.json("get", "/graph/events").json()["items"]
    assert (event["text"], event["occurred_at"]) == ("Yesterday the sensor failed.", wanted)


APART = [
    ("Room 101", "Room 102"),
    ("2023 tax return", "2024 tax return"),
    ("UA123", "UA124"),
    ("Dr John Richardson", "Dr Jane Richardson"),
    ("Q3 revenue report", "Q4 revenue report"),
]
ASKED = [("Wren 🐦", "Wren 🌸", "emoji"), ("Merrivale", "Merryvale", "near")]


@pytest.mark.parametrize("pair", APART, ids=lambda pair: pair[0])
def test_what_differs_stays_apart(agent: Client, woman: Client, pair: tuple[str, str]) -> None:  # noqa: F811
    ids = [remember(agent, f"{name} is booked for Alice.", kind="fact", category="context") for name in pair]
    for name in pair:
        tell(agent, name, f"Please look at {name} before you go.", at=MAY)
        assert agent.json("post", "/graph/entities", {"name": name}).status_code in (200, 201)
    run(agent)
    assert set(pair) <= set(entities(agent))
    assert agent.json("get", "/graph/duplicates").json()["items"] == []
    assert woman.json("get", "/reviews?kind=merge").json()["items"] == []
    assert len({*ids}) == 2
    assert [agent.json("get", f"/memories/{one}").json()["status"] for one in ids] == ["live", "live"]


@pytest.mark.parametrize(("one", "other", "rule"), ASKED, ids=["Wren", "Merrivale"])
def test_what_may_be_one_is_asked_with_the_rule(
    agent: Client,  # noqa: F811
    woman: Client,  # noqa: F811
    one: str,
    other: str,
    rule: str,
) -> None:
    assert agent.json("post", "/graph/entities", {"name": one}).status_code == 201
    assert agent.json("post", "/graph/entities", {"name": other}).status_code == 201
    (shown,) = agent.json("get", "/graph/duplicates").json()["items"]
    assert ({shown["first"]["name"], shown["second"]["name"]}, shown["rule"], shown["verdict"]) == (
        {one, other},
        rule,
        "ask",
    )
    assert {one, other} <= set(entities(agent))


def test_a_name_in_a_text_that_may_be_a_known_one_waits_for_a_person(agent: Client, woman: Client) -> None:  # noqa: F811
    tell(agent, "one", "My sister lives in Merrivale.", at=MAY)
    run(agent)
    tell(agent, "two", "My brother lives in Merryvale.", at=JUNE)
    run(agent)
    items = woman.json("get", "/reviews?kind=merge").json()["items"]
    assert [sorted(one["payload"]["names"]) for one in items] == [["Merrivale", "Merryvale"]]
    (item,) = items
    assert (set(item["payload"]["names"]), item["payload"]["rule"]) == ({"Merrivale", "Merryvale"}, "near")
    assert {"Merrivale", "Merryvale"} <= set(entities(agent))
    assert woman.json("post", f"/reviews/{item['id']}/approve", {}).status_code == 200
    assert len({"Merrivale", "Merryvale"} & set(entities(agent))) == 1
    assert woman.json("post", f"/reviews/{item['id']}/undo", {}).status_code == 200
    assert {"Merrivale", "Merryvale"} <= set(entities(agent))


def test_30_facts_beside_3000_of_another_owner(agent: Client, mallory: Actor, stranger: Client) -> None:  # noqa: F811
    things = [f"{first} {second}" for first in ("red", "green", "blue", "old", "new", "wild")
              for second in ("apples", "boats", "clocks", "drums", "kites")]  # fmt: skip
    many = [f"The user loves {thing} number {number}." for thing in things for number in range(100)]
    for start in range(0, len(many), 500):
        drafts = [Draft(text=text, kind="preference") for text in many[start : start + 500]]
        remember_many(actor=mallory, drafts=drafts, scope="owner")
    for start in range(0, 30, 10):
        tell(agent, f"first {start}", *[f"I love {thing}." for thing in things[start : start + 10]], at=MAY)
    run(agent)
    assert fact_texts(agent) == sorted(f"The user loves {thing}." for thing in things)
    for start in range(0, 30, 10):
        tell(agent, f"again {start}", *[f"I'm a big fan of {one}!" for one in things[start : start + 10]], at=JUNE)
    run(agent)
    found = facts(agent)
    assert len(found) == 30
    assert {len(sources(agent, one["memory"]["id"])) for one in found} == {2}
    assert stranger.json("get", "/stats").json()["by_kind"] == {"preference": 3000}


def test_a_text_of_500_repeated_entities(agent: Client, woman: Client) -> None:  # noqa: F811
    names = ["Lisbon", "Porto", "Acme Corp", "Jule Richter", "Tom Becker"]
    text = " ".join(f"We met {name}." for name in names * 100)
    tell(agent, "long", text, at=MAY)
    body = run(woman)
    found = entities(agent)
    assert set(names) <= set(found)
    assert {found[name]["mention_count"] for name in names} == {1}
    assert body["rows_seen"] == 1


def test_a_turn_of_200_kb_is_read_to_its_end(agent: Client, woman: Client) -> None:  # noqa: F811
    filler = "It was a long day and nothing of note came up in the morning. "
    text = "I live in Porto. " + filler * (200 * 1024 // len(filler)) + "My sister lives in Lisbon."
    assert len(text) > 200 * 1024
    (turn,) = tell(agent, "long", text, at=MAY)
    body = run(woman)
    assert fact_texts(agent) == ["The user lives in Porto.", "The user's sister lives in Lisbon."]
    assert {tuple(sources(agent, one["memory"]["id"])) for one in facts(agent)} == {(turn,)}
    assert body["bytes_seen"] == len(text.encode())
    assert (body["backlog_rows"], body["bytes_skipped"]) == (0, 0)


def test_50_idle_cycles_lose_nothing_and_change_no_ranking(agent: Client, woman: Client, time: Stopped) -> None:  # noqa: F811
    for day, (name, said) in enumerate(sorted(WAYS.items())):
        tell(agent, name, *said[:2], at=MAY + timedelta(days=day))
    time.at = JUNE
    woman.json("patch", "/settings", {"sleep": "rules"})
    every = ("knowledge", "sleep", "summaries", "forgetting", "communities")
    run(woman, *every)
    questions = ["Where does my sister live?", "What food do I like?", "Who employs me?", "peanuts", "Rex"]

    def ranking() -> list[list[str]]:
        bodies = [agent.json("post", "/recall", {"query": asked, "limit": 10}).json() for asked in questions]
        return [[hit["memory"]["id"] for hit in body["hits"]] for body in bodies]

    run(woman, *every)
    told, ranked = fact_texts(agent), ranking()
    stats = agent.json("get", "/graph/stats").json()
    for _ in range(50):
        run(woman, *every)
    assert fact_texts(agent) == told
    assert ranking() == ranked
    assert agent.json("get", "/graph/stats").json() == stats


@contextmanager
def asked_from(answer: Callable[[Received], Says]) -> Iterator[Chat]:
    """Let a chat server be the installation's language model."""
    with chatting(answer) as chat, override_settings(LLM_BASE_URL=chat.server.address, LLM_MODEL="m"):
        model = language_model()
        assert isinstance(model, ChatLanguageModel)
        try:
            yield chat
        finally:
            model.close()


def test_no_model_is_asked_before_the_owner_says_so_and_no_restart_is_needed(agent: Client, woman: Client) -> None:  # noqa: F811
    def answer(received: Received) -> Says:
        return {"entities": [], "relations": [], "facts": [], "events": [], "causes": []}

    every = ("knowledge", "sleep", "summaries", "forgetting", "communities")
    with asked_from(answer) as chat:
        tell(agent, "one", *WAYS["food"], at=MAY)
        body = run(woman, *every)
        assert (chat.asked, body["risk_class"], body["extractor"]) == ([], "none", "rules")
        changed = woman.json("patch", "/settings", {"consolidation_extractor": "llm"})
        assert changed.status_code == 200, changed.content
        tell(agent, "two", *WAYS["sister"], at=JUNE)
        body = run(woman)
        assert (len(chat.asked) > 0, body["risk_class"], body["extractor"]) == (True, "read", "llm")
        assert body["llm_calls"] == len(chat.asked)
        asked = len(chat.asked)
        woman.json("patch", "/settings", {"consolidation_extractor": "rules"})
        tell(agent, "three", *WAYS["dog"], at=JUNE)
        assert run(woman)["risk_class"] == "none"
        assert len(chat.asked) == asked
