"""Whether the models that this installation may use can be used: embedder, language model, reranker.

Nothing is asked of them: what is told is their settings and how their last use in this process went.
"""

from __future__ import annotations

from collections.abc import Sequence

from django.conf import settings

from memory.errors import LociError
from memory.models import EmbeddingSpace, SpaceState
from memory.providers.composition import language_model_failure, reranker
from memory.providers.ollama_server import tagged
from memory.services.findings import Finding
from memory.services.health.work import Beside
from memory.services.model_fetch import ENDED, present_fetch
from memory.services.spaces.in_use import BESIDE, configured


def embedder_finding() -> Finding:
    """Tell whether search by meaning works in this process: ok, degraded to words, or failing by its settings.

    One query, and another one while a model is missing. The state of the embedder is known from its last use; nothing
    is asked of it.
    """
    rows = {row.state: row for row in EmbeddingSpace.objects.filter(state__in=(SpaceState.ACTIVE, *BESIDE))}
    active = rows.pop(SpaceState.ACTIVE, None)
    space = None if active is None else (active.provider, active.model, active.dimension)
    return of_embedder(space, next(iter(rows.values()), None))


def of_embedder(space: Sequence[str | int] | None, beside: Beside | EmbeddingSpace | None) -> Finding:
    """Judge the embedder by the space (provider, model, width) that stored vectors belong to, and the one beside it."""
    name = "embedder"
    if settings.EMBEDDING_PROVIDER == "none" and settings.EMBEDDING_SECOND_PROVIDER == "none":
        return Finding(name, "ok", "No embedder is configured: recall works by words alone.", there=False)
    try:
        known = list(configured())
    except LociError as error:
        return Finding(name, "failing", error.message, "Correct the EMBEDDING_ settings and restart.")
    model = next((one for one in known if space is None or (space[0], space[1]) == (one.provider, one.model)), None)
    if model is None:
        assert space is not None
        this = f"{known[0].provider}/{known[0].model}"
        return Finding(
            name,
            "degraded",
            f"The stored vectors belong to {space[0]}/{space[1]}, but {this} is configured: recall works by words.",
            "Set EMBEDDING_PROVIDER and EMBEDDING_MODEL as they were. To move to the new embedder, name it by "
            "EMBEDDING_SECOND_PROVIDER and EMBEDDING_SECOND_MODEL: python3 manage.py spaces open",
        )
    this = f"{model.provider}/{model.model}"
    state = model.state()
    if state.status == "failing":
        reason = state.reason or "no reason given"
        remedy = "Check the embedder; it is tried again."
        if model.provider == "ollama":
            remedy = _ollama_remedy(model.model, lacks_model=model.lacks_model)
        other, detail = stand_in(beside), f"{this} fails: {reason} Recall works by words."
        if other:
            detail = f"{this} fails: {reason} Recall goes on with {other}, and by words where its vectors are missing."
        return Finding(name, "degraded", detail, remedy)
    width = f", {space[2]} dimensions" if space is not None else ", not used yet"
    return Finding(name, "ok", f"{this}{width}.")


def stand_in(beside: Beside | EmbeddingSpace | None) -> str | None:
    """Name the embedder of the space beside the one in use, where recall can go on with it: one that does not fail."""
    if beside is None or beside.pause:
        return None
    wanted = (beside.provider, beside.model)
    model = next((one for one in configured() if (one.provider, one.model) == wanted), None)
    return None if model is None or model.state().status == "failing" else f"{model.provider}/{model.model}"


def _ollama_remedy(model: str, *, lacks_model: bool) -> str:
    if not lacks_model:
        return "Check the embedder; it is tried again. `python3 manage.py ollama` says which step fails."
    order = present_fetch()
    if order is None or tagged(order.model) != tagged(model) or order.state in ENDED:
        return "python3 manage.py ollama --fetch"
    return f"Nothing: a worker has it fetched, {order.progress.percent or 0} % so far."


def language_model_finding() -> Finding:
    """Tell whether the language model's settings can work, and how its last use went."""
    name = "language model"
    if not settings.LLM_BASE_URL:
        return Finding(name, "ok", "No language model is configured: rules do its work.", there=False)
    try:
        failure = language_model_failure()
    except LociError as error:
        return Finding(name, "failing", error.message, "Correct the LLM_ and OUTBOUND_ settings and restart.")
    if failure is not None:
        detail = f"It fails: {failure} What rules can do goes on."
        return Finding(name, "degraded", detail, "Check the language model's server; it is asked again when needed.")
    return Finding(name, "ok", "A language model is configured.")


def reranker_finding() -> Finding:
    """Tell whether the reranker's settings can work, and how its last use went."""
    name = "reranker"
    if settings.RERANKER_PROVIDER == "none":
        return Finding(name, "ok", "No reranker is configured: hits keep the order of their profile.", there=False)
    try:
        model = reranker()
    except LociError as error:
        return Finding(name, "failing", error.message, "Correct the RERANKER_ settings and restart.")
    this = f"{model.provider}/{model.model}" if model.model else model.provider
    if settings.RERANKER_PROVIDER == "llm" and not settings.LLM_BASE_URL:
        detail = "The language model is to rerank, but none is configured: hits keep the order of their profile."
        return Finding(name, "degraded", detail, "Set LLM_BASE_URL and LLM_MODEL.")
    state = model.state()
    if state.status == "failing":
        detail = f"{this} fails: {state.reason or 'no reason given'} Hits keep the order of their profile."
        return Finding(name, "degraded", detail, "Check the reranker; it is tried again.")
    return Finding(name, "ok", f"{this} is configured.")
