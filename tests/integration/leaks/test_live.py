"""What a websocket tells to whom: nothing to strangers, and to nobody more than that something has changed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed

from memory.ids import new_id
from memory.live.sorts import SORTS
from memory.ports.live import announce_change
from memory.services.actors import AGENT_DEFAULT, ALL_PERMISSIONS, Actor, Permission
from memory.services.agents import create_agent, create_group, create_key, set_membership
from tests.live_server import Listener, as_agent, as_person, listening, place

__all__ = ["place"]

SQUAD = "squad"
WITHOUT = ALL_PERMISSIONS - {Permission.TELEMETRY_READ}


@pytest.fixture(autouse=True)
def committed(transactional_db: None) -> None:
    """Let the server's threads see what a test stores."""


def key_of(owner: Actor, name: str, permissions: frozenset[Permission], **more: Any) -> str:
    """Make an agent of an owner and give its key."""
    agent = create_agent(actor=owner, name=name)
    if "group" in more:
        set_membership(actor=owner, group_id=more["group"], agent_id=agent.pk, member=True)
    return create_key(actor=owner, agent_id=agent.pk, label=name, scopes=sorted(permissions)).secret


@pytest.fixture
def readers(place: str, alice: Actor, mallory: Actor) -> Iterator[dict[str, Listener]]:
    """Open a socket for everybody who might listen."""
    squad = create_group(actor=alice, kind=SQUAD, name="inside").pk
    with ExitStack() as stack:
        enter = stack.enter_context
        yield {
            "owner": enter(as_person(place, alice)),
            "inside": enter(as_agent(place, key_of(alice, "insider", ALL_PERMISSIONS, group=squad))),
            "outside": enter(as_agent(place, key_of(alice, "outsider", ALL_PERMISSIONS))),
            "plain": enter(as_agent(place, key_of(alice, "plain", AGENT_DEFAULT))),
            "all but reports": enter(as_agent(place, key_of(alice, "writer", WITHOUT))),
            "foreign person": enter(as_person(place, mallory)),
            "foreign agent": enter(as_agent(place, key_of(mallory, "spy", ALL_PERMISSIONS))),
            "anonymous": enter(listening(place, {})),
        }


def everything(opened: Listener) -> list[Any]:
    """Ask a socket for all sorts that there are, and give all that it says until an answer to a last question."""
    said = []
    try:
        opened.connection.send(json.dumps({"watch": ["access"]}))
        while True:
            said.append(json.loads(opened.connection.recv(30)))
            if said[-1].get("refused") == [{"sort": "access", "code": "sort.unknown"}]:
                return said
    except ConnectionClosed:
        return said


ALL = sorted(SORTS)


def hearable(reader: str) -> list[str]:
    """List the sorts that a reader may hear of by the permissions of its key."""
    permissions = {"plain": AGENT_DEFAULT, "all but reports": WITHOUT}.get(reader, ALL_PERMISSIONS)
    return [sort for sort in ALL if SORTS[sort] in permissions]


def test_everybody_hears_of_what_is_theirs_and_of_nothing_else(
    readers: dict[str, Listener], alice: Actor, mallory: Actor
) -> None:
    for name, reader in readers.items():
        if name != "anonymous":
            assert reader.watch(*ALL)["watching"] == hearable(name), name
    hers, his = str(new_id()), str(new_id())
    for sort in ALL:
        announce_change(alice.owner_id, sort, hers, 1)
        announce_change(mallory.owner_id, sort, his, 1)
    for name in readers:
        if name == "anonymous":
            continue
        own, other = (his, hers) if name.startswith("foreign") else (hers, his)
        last = {"sort": hearable(name)[-1], "version": 1}
        heard = [readers[name].hear()]
        while {key: heard[-1][key] for key in last} != last:
            heard.append(readers[name].hear())
        heard += everything(readers[name])[:-1]
        assert {one["id"] for one in heard} == {own}, name
        assert {one["sort"] for one in heard} == set(hearable(name)), name
        assert other not in json.dumps(heard)
        assert all(one.keys() == {"sort", "id", "version"} for one in heard)
    assert everything(readers["anonymous"]) == []


def test_a_stranger_cannot_tell_whether_somebody_is_there(place: str, alice: Actor) -> None:
    """A wrong key of an agent that there is and of one that there is not are refused alike."""
    key = key_of(alice, "somebody", ALL_PERMISSIONS)
    closings = []
    for wrong in (f"{key[:-1]}{'a' if key[-1] != 'a' else 'b'}", "loci_aaaaaaaa_" + "b" * 43):
        with as_agent(place, wrong) as opened:
            closings.append((everything(opened), opened.closed_with()))
    assert closings == [([], 4401)] * 2
