"""Every route of the server, found from Django's resolver, and requests to it made from what it says of itself."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.urls import URLPattern, URLResolver, get_resolver
from rest_framework import serializers

from memory.api.actions import Action
from memory.api.serializers.fields import Identifier, Moment, ReadScope, Switch, Whole, Word, WriteScope
from memory.api.serializers.skills import Steps
from memory.api.views.base import LociView
from tests.integration.leaks.world import LURE, Rows

METHODS = ("get", "head", "post", "put", "patch", "delete", "options", "trace")
_PARAMETER = re.compile(r"<(?:\w+:)?(\w+)>")

# Which planted row a parameter of a path names.
IN_PATHS: Mapping[str, str] = {
    "memory_id": "memory", "edge_id": "edge", "entity_id": "entity", "merge_id": "merge", "relation_id": "relation",
    "run_id": "run", "summary_id": "summary", "skill_id": "skill", "needs_id": "tool", "item_id": "review",
    "session_id": "session", "recall_id": "recall", "agent_id": "agent", "key_id": "key", "group_id": "group",
    "number": "number", "name": "profile", "message_id": "message",
    "purge_id": "purge", "experiment_id": "experiment", "change_id": "change", "period": "period",
    "cluster_key": "cluster", "search_id": "saved", "file_id": "file",
}  # fmt: skip
# What is no id: everybody may say it, and it means the caller's own.
NO_IDS = ("number", "profile", "period")
# Which planted row an id in a body or a query names.
IN_FIELDS: Mapping[str, str] = {
    "session": "session", "session_id": "session", "agent": "agent", "agent_id": "agent", "memory": "memory",
    "target": "summary", "insight": "other", "other": "third", "entity": "entity", "about": "entity", "needs": "spare",
    "ids": "memory", "run": "run", "after": "memory",
    "memories": "memory", "object": "memory", "agents": "agent",
}  # fmt: skip
# Where an action means another row than its path's parameter says.
INSTEAD: Mapping[str, Mapping[str, str]] = {
    "undo_review": {"item_id": "decided"},
    "decide_reviews": {"ids": "review"},
    "merge_entities": {"entity_id": "second"},
    "keep_apart": {"entity_id": "second"},
}
# Bodies that cannot be made from their serializers; `{name}` is a planted row.
BODIES: Mapping[str, Any] = {
    "remember_batch": {"items": [{"text": f"A {LURE}."}]},
    "ingest_turns": {"session": "talk", "turns": [{"text": f"A {LURE}."}]},
    "import_memories": {"memories": [{"content": f"A {LURE}."}]},
    "change_memory": {"importance": 0.7},
    "change_skill": {"risk": 0.7},
    "change_entity": {"importance": 0.7},
    "snooze_review": {"until": "2150-01-01"},
    "decide_reviews": {"ids": ["{review}"], "decision": "reject"},
    "restore_memories": {"ids": ["{memory}"]},
    "purge_memories": {"expired": True},
    "begin_purge": {"memories": ["{memory}"]},
    "preview_purge": {"memories": ["{memory}"]},
    "take_snapshot": {"passphrase": "a kettle of tea for everybody"},
    "publish_on_bus": {"text": f"A {LURE}.", "target": "owner"},
    "change_settings": {"recall_limit": 7},
    "change_agent_settings": {"recall_limit": 7},
    "change_key": {"label": f"A {LURE}"},
    "change_profile": {"limit": 7},
    "link_memories": {"target": "{summary}"},
    "add_relation": {"source": "{entity}", "label": "likes", "target": "{second}"},
    "set_budget": {"hard": "900"},
    "set_agent_budget": {"soft": 5, "hard": "900"},
    "start_experiment": {"label": f"A {LURE}", "control": "default", "variant": "prax"},
    "save_search": {"name": f"A {LURE}", "question": LURE},
    "record_turn_events": {"request": f"A {LURE}."},
    "create_file": {"path": f"{LURE}.md", "content": f"A {LURE}."},
    "rename_file": {"path": f"other {LURE}.md"},
}
# Headers without which an action is not done.
HEADERS: Mapping[str, Mapping[str, str]] = {"write_file": {"If-Match": "*"}}
# Actions that take a whole file: here they are sent none, and must refuse it; `tests/integration/archive` sends some.
TAKES_FILE = frozenset({"import_archive", "restore_snapshot"})
# What a key with `privacy:manage` is told of its whole owner: ids of what was read and changed, and no word of it.
TELLS_IDS = frozenset({"get_access_log"})
# Fields of text that take an id too.
TEXTS_WITH_IDS: Mapping[str, Mapping[str, str]] = {
    "add_relation": {"source": "entity", "target": "second"},
    "merge_temporal_event": {"participants": "entity"},
    "add_causal_link": {"cause_entity": "entity", "effect_entity": "second"},
    "decide_reviews": {"ids": "review"},
}


class CannotExercise(AssertionError):
    """A route or field that the walk does not know how to fill: say it in the tables of this file."""


@dataclass(frozen=True, slots=True)
class Route:
    """One method of one address; `action` is None where the address does not take the method."""

    pattern: str
    method: str
    action: Action | None

    @property
    def id(self) -> str:
        """Name it."""
        return self.action.id if self.action else f"{self.method} {self.pattern}"

    @property
    def parameters(self) -> list[str]:
        """List the parameters of the path."""
        return _PARAMETER.findall(self.pattern)

    def row_of(self, name: str) -> str:
        """Say which planted row a parameter or field names; raises CannotExercise for an unknown one."""
        special = {**INSTEAD.get(self.id, {}), **TEXTS_WITH_IDS.get(self.id, {})}
        row = special.get(name) or IN_PATHS.get(name) or IN_FIELDS.get(name)
        if row is None:
            raise CannotExercise(f"{self.id}: which planted row does {name!r} name?")
        return row

    @property
    def names_a_row(self) -> bool:
        """Tell whether the path holds an id."""
        return any(self.row_of(name) not in NO_IDS for name in self.parameters)

    def path(self, rows: Rows) -> str:
        """Fill the path with rows."""
        known = {"profile": "default", "period": "day", **rows}
        return "/" + _PARAMETER.sub(lambda found: known[self.row_of(found[1])], self.pattern)

    def body(self, rows: Rows) -> Any:
        """Make a body that the action takes."""
        if self.action is None or self.action.body is None:
            return None
        if self.action.id in BODIES:
            return _filled(BODIES[self.action.id], rows)
        fields: Any = self.action.body().fields  # type: ignore[attr-defined]
        return {name: self.value(name, field, rows) for name, field in fields.items() if field.required}

    def value(self, name: str, field: Any, rows: Rows) -> Any:
        """Make a value that a field takes."""
        if isinstance(field, Identifier | serializers.UUIDField):
            return rows[self.row_of(name)]
        if isinstance(field, Word | serializers.ChoiceField):
            return next(iter(field.choices))
        if isinstance(field, Switch | serializers.BooleanField):
            return True
        if isinstance(field, Moment | serializers.DateTimeField):
            return "2026-01-01"
        if isinstance(field, Whole | serializers.IntegerField):
            return field.min_value or 1
        if isinstance(field, serializers.FloatField):
            return field.min_value or 0.5
        if isinstance(field, Steps):
            return [f"Fill the {LURE}."]
        if isinstance(field, serializers.ListField):
            return [self.value(name, field.child, rows)]
        if isinstance(field, serializers.DictField):
            return {}
        if isinstance(field, serializers.CharField):
            return f"{LURE} {name}"
        raise CannotExercise(f"{self.id}: no value is known for {name!r}, a {type(field).__name__}")

    def places_of_ids(self) -> Iterator[tuple[str, str]]:
        """Give every field of the body and the query that takes an id, as (`body` or `query`, name)."""
        for place, serializer in self._serializers():
            for name, field in serializer().fields.items():
                inner = getattr(field, "child", field)
                if isinstance(inner, Identifier | serializers.UUIDField) or name in TEXTS_WITH_IDS.get(self.id, {}):
                    yield place, name

    def places_of_scopes(self) -> Iterator[tuple[str, str]]:
        """Give every field that takes a scope, as (`body` or `query`, name)."""
        for place, serializer in self._serializers():
            for name, field in serializer().fields.items():
                if isinstance(field, ReadScope | WriteScope):
                    yield place, name

    def _serializers(self) -> Iterator[tuple[str, Any]]:
        if self.action is not None and self.action.body is not None:
            yield "body", self.action.body
        if self.action is not None and self.action.query is not None:
            yield "query", self.action.query


def _filled(body: Any, rows: Rows) -> Any:
    if isinstance(body, dict):
        return {name: _filled(value, rows) for name, value in body.items()}
    if isinstance(body, list):
        return [_filled(value, rows) for value in body]
    return body.format(**rows) if isinstance(body, str) else body


def endpoints() -> list[tuple[str, Any]]:
    """List every address of the server with its callable, whoever has put it there."""
    return list(_walk(get_resolver().url_patterns, ""))


def _walk(patterns: Any, before: str) -> Iterator[tuple[str, Any]]:
    for pattern in patterns:
        written = before + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from _walk(pattern.url_patterns, written)
        else:
            assert isinstance(pattern, URLPattern)
            yield written, pattern.callback


API = "api/v1/"
ADMIN = "admin/"
METRICS = "metrics"


def is_api(pattern: str, view: Any) -> bool:
    """Tell whether an address is an endpoint of the interface with a table of actions."""
    cls = getattr(view, "cls", None)
    return pattern.startswith(API) and cls is not None and issubclass(cls, LociView) and bool(cls.actions)


def routes() -> list[Route]:
    """List every method that an endpoint of the interface takes."""
    return [
        Route(pattern.removeprefix(API), method.lower(), action)
        for pattern, view in endpoints()
        if is_api(pattern, view)
        for method, action in view.cls.actions.items()
    ]


def wrong_methods() -> list[Route]:
    """List every method that an endpoint of the interface does not take."""
    return [
        Route(pattern.removeprefix(API), method, None)
        for pattern, view in endpoints()
        if is_api(pattern, view)
        for method in METHODS
        if method.upper() not in view.cls.actions and not (method == "head" and "GET" in view.cls.actions)
    ]


def others() -> list[tuple[str, Any]]:
    """List the addresses that are no endpoints with actions: pages, descriptions, the answer to unknown ones.

    Those of the admin have a walk of their own, in `test_admin.py`, and so have the metrics, in `test_scraped.py`.
    """
    return [one for one in endpoints() if not is_api(*one) and not one[0].startswith(ADMIN) and one[0] != METRICS]


def foreign_scopes(rows: Rows) -> Iterator[str]:
    """Give scopes that name something of another: a group under both kinds, and ids alone."""
    for name in ("group", "squad"):
        if name in rows:
            yield from (f"{kind}:{rows[name]}" for kind in ("project", "squad"))
    yield from (rows["agent"], f"agent:{rows['agent']}", f"owner:{rows['agent']}")


UNUSABLE_SCOPES: tuple[Any, ...] = (
    "",
    None,
    "*",
    [],
    ["*"],
    [None],
    [""],
    {},
    0,
    True,
    "all",
    "owner:",
    ["owner", "*"],
)
