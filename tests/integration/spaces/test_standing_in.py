"""An outage of the embedder in use: the space beside it answers, also for what is stored while it lasts."""

from __future__ import annotations

from typing import Any

import pytest

from memory.errors import EmbedderUnavailable
from memory.models import DueWork, EmbeddingSpace, SpaceState
from memory.providers.composition import embedder, forget_providers
from memory.providers.ollama_embedder import OllamaEmbedder
from memory.services.actors import Actor
from memory.services.changes import change_memory
from memory.services.questions import RecallRequest
from memory.services.recall import recall
from memory.services.spaces.moving import open_space
from tests.integration.spaces.looking import NEW, OLD, live, quiet, stored, with_vector, work
from tests.ollama_like import OllamaLike

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "schema"])


def degraded(actor: Actor, query: str) -> tuple[list[str], str]:
    """Give what a recall did with less, and its first text."""
    answer = recall(actor=actor, request=RecallRequest(query=query, record=False))
    return answer.degraded, answer.hits[0].memory.text


def away(texts: Any) -> Any:
    raise EmbedderUnavailable


def hang_up() -> None:
    """Close the connections of the embedder in use."""
    inner = embedder().inner
    assert isinstance(inner, OllamaEmbedder)
    inner.close()


def test_what_is_stored_while_the_one_in_use_is_paused_stands_in_the_other_space(
    alice: Actor, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored(alice, "The ferry leaves at nine.")
    open_space(tell=quiet)
    work()
    # A process that has begun anew and has not asked for the width yet.
    forget_providers()
    with monkeypatch.context() as gone:
        gone.setattr(embedder().inner, "embed", away)
        for _ in range(3):
            with pytest.raises(EmbedderUnavailable):
                embedder().embed(["Are you there?"])
        assert embedder().state().paused_until is not None
        stored(alice, "The kettle sings.")
        assert degraded(alice, "The kettle sings.") == (["embedder.standby"], "The kettle sings.")
        assert with_vector(alice, NEW) == live(alice)


def test_storing_in_an_outage_takes_nobody_the_space_that_stands_in(
    alice: Actor, monkeypatch: pytest.MonkeyPatch
) -> None:
    (first,) = stored(alice, "The ferry leaves at nine.")
    open_space(tell=quiet)
    work()
    with monkeypatch.context() as gone:
        gone.setattr(embedder(), "embed", away)
        stored(alice, "The kettle sings.")
        assert degraded(alice, "The kettle sings.") == (["embedder.standby"], "The kettle sings.")
        change_memory(actor=alice, memory_id=first, changes={"text": "The ferry leaves at ten."})
        assert degraded(alice, "The ferry leaves at ten.") == (["embedder.standby"], "The ferry leaves at ten.")
        # Nor does the work that looks for the embedder in vain.
        work()
        assert degraded(alice, "The kettle sings.")[0] == ["embedder.standby"]
        assert with_vector(alice, NEW) == live(alice)
        assert with_vector(alice, OLD) < live(alice)
        assert not DueWork.objects.filter(job=DueWork.SPACES).exists()


def test_a_process_that_starts_in_an_outage_stores_into_the_space_beside_it(alice: Actor, settings: Any) -> None:
    settings.EMBEDDING_PROVIDER, settings.EMBEDDING_MODEL = "ollama", "tiny"
    with OllamaLike("tiny:latest") as server:
        settings.OLLAMA_BASE_URL = server.address
        forget_providers()
        stored(alice, "The ferry leaves at nine.")
        open_space(tell=quiet)
        work()
        hang_up()
    # It has never been told how wide the vectors in use are.
    forget_providers()
    (late,) = stored(alice, "The kettle sings.")
    assert late in with_vector(alice, NEW)
    assert EmbeddingSpace.objects.get(state=SpaceState.ACTIVE).provider == "ollama"
    assert degraded(alice, "The kettle sings.") == (["embedder.standby"], "The kettle sings.")
    hang_up()
