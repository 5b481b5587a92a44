"""Every address that is no endpoint: the palace's pages, the descriptions, and whatever else the server answers to."""

from __future__ import annotations

from typing import Any

import pytest
from django.urls import reverse

from memory.api.views.documentation import Described
from memory.api.views.system import UnknownAddressView
from tests.apps import PALACE, TELEMETRY
from tests.integration.leaks.asking import Answer, answer_of, leaks, shape
from tests.integration.leaks.routes import API, METHODS, others
from tests.integration.leaks.world import LURE, SCOPES, STEM, Reader, Rows, World, undone

NOTHING = "0190aaaa-0000-7000-8000-000000000000"
FORM = {"content": f"A {LURE}.", "category": "general", "kind": "note", "importance": "5", "tags": "", "source": ""}
# Pages of the palace by their names, those of other apps with their namespace. How each is asked: parameters of its
# address for a GET, and the form for a POST; None where it takes none.
PAGES: dict[str, tuple[list[dict[str, str]] | None, dict[str, Any] | None]] = {
    "recall": (
        [
            {},
            {"q": LURE},
            {"q": LURE, "go": ""},
            {"q": STEM, "profile": "praxis"},
            {"f": "created:this-year"},
            {"q": LURE, "f": "agent:{agent}"},
        ],
        None,
    ),
    "save-search": (None, {"name": f"A {LURE}", "question": LURE}),
    "saved-search": ([{}], None),
    "rename-search": (None, {"name": f"A {LURE}"}),
    "delete-search": (None, {}),
    "keep-values": (None, {"threshold": "20"}),
    "reset-values": (None, {}),
    "restore-values": (None, {"version": "0"}),
    "suggest": ([{"q": STEM}, {"q": LURE[:3]}, {"q": f"the {STEM}"}], None),
    "remember": ([{}], FORM),
    "preview": ([{}], FORM),
    "recent": ([{}, {"recent": STEM}], None),
    "sees": ([{}, {"q": LURE, "agent": "{agent}", "rest": "1"}, {"q": STEM, "compare": "1", "agent2": "{agent}"}], {}),
    "files": ([{}], None),
    "new-file": ([{}, {"template": "soul"}], {"scope": "owner", "path": f"{LURE}.md", "content": f"A {LURE}."}),
    "file": ([{}], {"content": f"A {LURE}.", "version": "2"}),
    "file-history": ([{}, {"from": "1", "to": "2"}], None),
    "rename-file": (None, {"path": f"other {LURE}.md"}),
    "delete-file": (None, {}),
    "restore-file": (None, {"number": "1"}),
    "erase-file": (None, {}),
    "download-file": ([{}], None),
    "archive": ([{}, {"category": "general", "kind": "note"}], None),
    "archive-many": (None, {"do": "restore"}),
    "growth": ([{}], None),
    "transfer": ([{}], {"mode": "missing"}),
    "embedding": ([{}], None),
    "embed-all": (None, {}),
    "fetch-model": (None, {}),
    "embedder-seen": (None, {}),
    "memory": ([{}, {"stored": ""}], None),
    "edit": ([{}], {**FORM, "version": "1"}),
    "reveal": (None, {}),
    "archive-memory": (None, {}),
    "restore-memory": (None, {}),
    "forget-memory": (None, {}),
    "dispute": ([{}], {"reason": f"It was no {LURE}."}),
    "link": ([{}, {"q": STEM}, {"q": LURE}], {"target": "{memory}", "kind": "supports"}),
    "unlink": (None, {}),
    "note-name": (None, {}),
    "go-back": (None, {}),
    "decide-doubt": (None, {"decision": "reject"}),
    "conversations": ([{}], None),
    "conversation": ([{}, {"from": "1"}, {"turn": "{turn}"}], None),
    "news": ([{}], None),
    "settings": ([{}], None),
    "change-settings": (None, {"part": "recall", "recall_limit": "7"}),
    "agents": ([{}], {"agent-name": LURE}),
    "agent-groups": (None, {"group-kind": "squad", "group-name": LURE}),
    "agent": ([{}], None),
    "pause-agent": (None, {"paused": "yes"}),
    "rename-agent": (None, {"name-name": LURE}),
    "trust-agent": (None, {"trust-trust": "0.5"}),
    "agent-in-groups": (None, {}),
    "agent-settings": (None, {"settings-recall_limit": "7"}),
    "new-key": (None, {"label": LURE, "scopes": ["memory:read"]}),
    "agent-key": ([{}], {"label": LURE, "scopes": ["memory:read"], "expires": "keep"}),
    "revoke-key": (None, {}),
    "agent-token": (None, {"hours": "24", "max_scope": "owner"}),
    "end-tokens": (None, {}),
    "account": ([{}], None),
    "password": (None, {"password": LURE, "new": LURE, "again": LURE}),
    "end-sessions": (None, {}),
    "review": ([{}, {"item": "{review}"}, {"order": "newest"}, {"source": STEM}, {"agent": "{agent}"}], None),
    "review-batch": ([{}, {"after": "{review}"}], {"ids": NOTHING, "decision": "approve"}),
    "review-undo": (None, {"ids": NOTHING}),
    "review-item": ([{}], None),
    "review-decide": (None, {"version": "1", "decision": "reject"}),
    "review-edit": ([{}], {"version": "1", "content": LURE, "kind": "fact", "category": "general", "importance": "5"}),
    "review-reveal": (None, {}),
    "consolidation": ([{}], None),
    "concluded": ([{}, {"kind": "summary"}], None),
    "consolidation-ask": (None, {"groups": "communities"}),
    "consolidation-switch": (None, {"on": "true"}),
    "consolidation-settings": (None, {"reset": "yes"}),
    "consolidation-runs": ([{}], None),
    "consolidation-run": ([{}], None),
    "extraction-failures": ([{}], None),
    "retry-extraction": (None, {}),
    "privacy": ([{}], None),
    "access-log": ([{}], None),
    "outbound": ([{}], None),
    "renew-key": (None, {"password": LURE}),
    "snapshot": (None, {"passphrase": "a kettle of tea for everybody", "again": "a kettle of tea for everybody"}),
    "purge": (
        [{"subject": "owner"}, {"subject": "source", "source": STEM}, {"subject": "agent", "agent": "{agent}"}],
        {},
    ),
    "own-receipt": ([{}], None),
    "purge-state": ([{}], None),
    "purge-receipt": ([{}], None),
    "telemetry:index": ([{}], None),
    "telemetry:coverage": ([{}, {"days": "7"}, {"agent": "{agent}"}, {"stream": "test"}], None),
    "telemetry:requests": ([{"key": "{cluster}"}, {"key": "{cluster}", "agent": "{agent}"}], None),
    "telemetry:costs": ([{}, {"days": "365"}], None),
    "telemetry:save-budget": ([{}], {"period": "day", "hard": "5"}),
    "telemetry:remove-budget": ([{}], {"period": "day"}),
    "telemetry:health": ([{}], None),
    "telemetry:test-mode": ([{}], {"enabled": "true"}),
    "telemetry:recall": ([{}, {"days": "30"}, {"agent": "{agent}"}], None),
    "telemetry:explain-recall": ([{}], {}),
    "telemetry:start-experiment": ([{}], {"label": LURE, "control": "default", "variant": "prax", "share": "50"}),
    "telemetry:end-experiment": ([{}], {}),
    "telemetry:switch-tuner": ([{}], {"enabled": "true"}),
    "telemetry:undo-tuner": ([{}], {}),
    "telemetry:feedback": ([{}], {"helpful": "yes"}),
    "graph": (
        [
            {},
            {"q": LURE},
            {"memory": "{memory}"},
            {"memory": "{memory}", "depth": "3"},
            {"entity": "{entity}"},
            {"community": "1"},
        ],
        None,
    ),
    "communities": ([{}], None),
    "divide-graph": (None, {}),
    "rename-community": (None, {"name": LURE}),
    "entity": ([{}, {"same": STEM}], None),
    "change-entity": (None, {"name": f"{LURE} and more", "type": "person"}),
    "add-alias": (None, {"alias": LURE}),
    "merge-entity": (None, {"other": "{second}"}),
    "keep-apart": (None, {"other": "{second}"}),
    "forget-entity": (None, {"sure": "yes"}),
    "unmerge": (None, {}),
    "end-relation": (None, {}),
    "retract-relation": (None, {}),
    "theme": (None, {"theme": "dark"}),
    "language": (None, {"language": "de"}),
    "login": ([{}], {"username": "first", "password": LURE}),
    "logout": (None, {}),
}
# Pages that somebody without a login may see.
OPEN = ("login", "logout", "theme", "language", "purge-state", "purge-receipt")
PATHS = {
    "memory_id": "memory", "purge_id": "purge", "token": "token", "recall_id": "asked", "experiment_id": "experiment",
    "change_id": "change", "file_id": "file", "entity_id": "entity", "merge_id": "merge", "relation_id": "relation",
    "number": "community", "search_id": "saved", "name": "profile",
    "agent_id": "agent", "key_id": "key", "edge_id": "edge", "item_id": "review", "session_id": "session",
    "run_id": "run", "group": "settings_group",
}  # fmt: skip

# Communities are numbered from 1 for each owner, and profiles have the same names for all.
SAME_FOR_ALL = {"community": "1", "profile": "default", "settings_group": "sleep"}
# What these need is not there: a file that was deleted before, the right password, and the rights of staff.
REFUSED = {"erase-file": 409, "password": 403, "renew-key": 403, "fetch-model": 403}


def pages() -> dict[str, str]:
    """Give the palace's addresses by name, and check that everything else is known too."""
    found, unknown = {}, []
    for pattern, view in others():
        cls = getattr(view, "cls", None)
        if not pattern.startswith(API):
            found[pattern] = view
        elif cls is None or not issubclass(cls, Described | UnknownAddressView):
            unknown.append(pattern)
    assert not unknown, f"the walk does not know how to ask these: {unknown}"
    return found


def address(name: str, rows: Rows, pattern: str) -> str:
    """Fill the address of a page."""
    names = [part.split(":")[-1].rstrip(">") for part in pattern.split("/") if part.startswith("<")]
    view_name = name if ":" in name else f"palace:{name}"
    known = {**SAME_FOR_ALL, **rows}
    return reverse(view_name, kwargs={one: known[PATHS[one]] for one in names})


def named() -> dict[str, str]:
    """Give the pattern of every page by its name."""
    palace = {str(pattern.name): str(pattern.pattern) for pattern in PALACE}
    return palace | {f"telemetry:{pattern.name}": f"telemetry/{pattern.pattern}" for pattern in TELEMETRY}


def visits(reader: Reader, name: str, rows: Rows) -> list[Answer]:
    """Ask for one page in every way."""
    gets, form = PAGES[name]
    path = address(name, rows, named()[name])
    known = {"agent": NOTHING, "cluster": "r-0000000000000000", **rows}
    tries: list[tuple[str, dict[str, Any]]] = [
        ("get", {key: value.format(**known) for key, value in query.items()}) for query in gets or []
    ]
    tries += [("post", form)] if form is not None else []
    tries += [(method, {}) for method in METHODS if method not in ("get", "post", "trace")]
    answers = []
    for method, data in tries:
        for headers in ({}, {"HX-Request": "true", "HX-Current-URL": f"http://testserver/?q={STEM}"}):
            with undone():
                data = {} if method not in ("get", "post", "head") else data
                cookies = dict(reader.client.cookies.items())
                response = ask(reader, method, path, data, headers)
                answers.append(answer_of(response, f"{reader.name}: {method} {path} {data}", f"{path} {data}"))
            # A logout or a new login is undone in the browser too.
            reader.client.cookies.clear()
            reader.client.cookies.update(cookies)
    return answers


def ask(reader: Reader, method: str, path: str, data: dict[str, Any], headers: dict[str, str]) -> Any:
    """Send one request of a browser."""
    if method == "get":
        return reader.client.get(path, data, headers=headers)
    if method == "post":
        return reader.client.post(path, data, format="multipart", headers=headers)
    return getattr(reader.client, method)(path, headers=headers)


def test_the_walk_knows_every_page() -> None:
    assert set(pages()) == set(named().values())
    assert set(named()) == set(PAGES), "say in PAGES how these pages are asked"


def test_the_person_sees_what_is_planted(world: World) -> None:
    person = world.readers["person"]
    refused: dict[str, int] = {}
    for name in PAGES:
        if name in OPEN:
            continue
        answers = visits(person, name, world.rows["owner"])
        statuses = {answer.status for answer in answers}
        if not statuses & {200, 302}:
            refused[name] = min(statuses - {405})
    assert refused == REFUSED
    shown = ("recall", "memory", "recent", "suggest")
    text = " ".join(answer.text for name in shown for answer in visits(person, name, world.rows["agent"]))
    for word in ("xqagenttext", "xqagenttag", "xqagentsource", "xqownertext"):
        assert word in text


@pytest.mark.parametrize("name", ["foreign person", "foreign agent", "outsider", "anonymous"])
def test_no_page_tells_what_is_hidden(world: World, name: str) -> None:
    reader = world.readers[name]
    if name in ("foreign agent", "outsider"):
        # A key opens no page, not even of its own owner.
        reader = Reader(name, reader.client, frozenset({*SCOPES, "admin", "foreign"}))
    found: list[str] = []
    for page in PAGES:
        for rows in world.rows.values():
            answers = visits(reader, page, rows)
            for answer in answers:
                found += leaks(world, reader, answer)
                assert answer.status < 500, answer
                if name != "foreign person" and page not in OPEN:
                    assert answer.status in (302, 405, 204, 200), answer
            if not address(page, rows, named()[page]).count(rows["memory"]):
                break
    assert not found, "\n".join(found)


def test_a_hidden_memory_is_like_one_that_nobody_has(world: World) -> None:
    reader = world.readers["foreign person"]
    nobody = {**dict.fromkeys({"turn", *PATHS.values()} - SAME_FOR_ALL.keys(), NOTHING), "token": "none"}
    for page, pattern in named().items():
        if "<" not in pattern or page in OPEN:
            continue
        for scope in SCOPES:
            pairs = zip(visits(reader, page, world.rows[scope]), visits(reader, page, nobody), strict=True)
            for answer, expected in pairs:
                assert answer.status in (302, 404, 405), answer
                assert strip(answer) == strip(expected)


def strip(answer: Answer) -> tuple[Any, ...]:
    """Give an answer without what differs from one request to the next."""
    return answer.status, len(shape(answer)[1].split("<id>")), answer.headers.get("Content-Type")


def test_descriptions_tell_nothing(world: World) -> None:
    reader = world.readers["anonymous"]
    for path in ("schema", "docs", "health", "no/such/thing", f"memories/{world.rows['owner']['memory']}/nothing"):
        for method in METHODS[:-1]:
            with undone():
                response = getattr(reader.client, method)(f"/{API}{path}")
                assert leaks(world, reader, answer_of(response, path, path)) == []
