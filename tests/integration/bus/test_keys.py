"""Rotation of the text key: messages move, those for one agent with that agent's own key, and tokens go on."""

from __future__ import annotations

import pytest

from memory.crypto.keyring import keyring
from memory.errors import KeysUnavailable
from memory.models import BusMessage, owner_scope
from memory.services.actors import Actor
from memory.services.keys.rotation import seal_now
from tests.integration.bus.conftest import hear, say, texts, token_for


def test_messages_move_with_a_rotation_and_tokens_go_on(alice: Actor, sender: Actor, reader: Actor) -> None:
    token = token_for(reader)
    say(sender, "For all.", topics=["ops"])
    say(sender, "For one.", target=f"agent:{reader.agent_id}")
    with owner_scope(alice.owner_id):
        before = [
            (message._meta.get_field("text").place(message), message.sealing_agent_id, message.__dict__["text"])
            for message in BusMessage.objects.order_by("published_at")
        ]
    assert [agent_id for _, agent_id, _ in before] == [None, reader.agent_id]
    seal_now(owner_id=alice.owner_id)
    with owner_scope(alice.owner_id):
        assert {message.__dict__["text"].version for message in BusMessage.objects.all()} == {2}
    assert texts(hear(reader, token=token)) == ["For all.", "For one."]
    assert texts(hear(reader, token=token, topics=["ops"])) == ["For all."]
    ring = keyring().of(alice.owner_id)
    for place, agent_id, sealed in before:
        with pytest.raises(KeysUnavailable):
            ring.unseal(sealed, place=place, agent_id=agent_id)
