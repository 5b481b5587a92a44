"""The settings of reranking make the reranker that they name, or say what is wrong."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memory.errors import RerankerUnavailable
from memory.providers import composition
from memory.providers.misconfigured import ProviderMisconfigured
from memory.providers.rerankers.cross_encoder_onnx import OnnxCrossEncoder
from memory.providers.rerankers.http import HttpReranker
from memory.providers.rerankers.llm_judge import LlmJudge
from memory.services.health.providers import reranker_finding
from tests.contract.providers import cross_encoder_folder


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    composition.forget_providers()
    yield
    composition.forget_providers()


def choose(settings: Any, **values: Any) -> None:
    for name, value in values.items():
        setattr(settings, name, value)


def test_none_is_the_default_and_no_trouble(settings: Any) -> None:
    with pytest.raises(RerankerUnavailable, match="RERANKER_PROVIDER=none"):
        composition.reranker().rerank("q", ["a", "b"])
    assert reranker_finding().status == "ok"


def test_a_folder_makes_a_cross_encoder(settings: Any, tmp_path: Path) -> None:
    folder = cross_encoder_folder.build(tmp_path / "words")
    choose(settings, RERANKER_PROVIDER="onnx", RERANKER_PATH=str(folder))
    made = composition.reranker()
    assert isinstance(made.inner, OnnxCrossEncoder)
    assert made.rerank("lake", ["tom", "the lake"]).tolist() == [0, 1]
    assert (reranker_finding().status, reranker_finding().detail) == ("ok", "onnx/words is configured.")


@pytest.mark.parametrize("provider", ["onnx", "fastembed"])
def test_without_a_folder_it_says_what_is_missing(settings: Any, provider: str) -> None:
    choose(settings, RERANKER_PROVIDER=provider)
    with pytest.raises(ProviderMisconfigured, match="needs RERANKER_PATH"):
        composition.reranker()
    assert reranker_finding().status == "failing"


def test_a_server_gets_its_settings_and_shows_its_state(settings: Any) -> None:
    choose(settings, RERANKER_PROVIDER="http", RERANKER_URL="http://127.0.0.1:9", RERANKER_TIMEOUT=0.2)
    made = composition.reranker()
    assert isinstance(made.inner, HttpReranker)
    assert made.local
    assert reranker_finding().status == "ok"
    with pytest.raises(RerankerUnavailable):
        made.rerank("q", ["a", "b"])
    finding = reranker_finding()
    assert finding.status == "degraded"
    assert "cannot be reached" in finding.detail


def test_the_language_model_as_judge_needs_one(settings: Any) -> None:
    choose(settings, RERANKER_PROVIDER="llm")
    assert reranker_finding().status == "degraded"
    choose(settings, LLM_BASE_URL="https://llm.example.com", LLM_MODEL="m", RERANKER_TIMEOUT=2.0)
    made = composition.reranker()
    assert isinstance(made.inner, LlmJudge)
    assert not made.local
    assert made.prompts
    assert reranker_finding().detail == "llm/m is configured."


def test_a_judge_of_this_machine_is_shown_plain_text(settings: Any) -> None:
    choose(settings, LLM_BASE_URL="https://llm.example.com", LLM_MODEL="m")
    assert not composition.llm_judge().local
    settings.LLM_ROUTES = {"recall_rerank": {"base_url": "http://localhost:8000"}}
    assert composition.llm_judge().local


def test_components_of_ours_have_routes_that_an_installation_can_change(settings: Any) -> None:
    choose(settings, LLM_BASE_URL="http://localhost:1", LLM_MODEL="m", RERANKER_TIMEOUT=2.0)
    settings.LLM_ROUTES = {"recall_expand": {"timeout": 1.0, "model": "small"}}
    routes = composition.language_model()._routes  # type: ignore[attr-defined]
    assert (routes.route("recall_rerank").timeout, routes.route("recall_rerank").temperature) == (2.0, 0.0)
    expand = routes.route("recall_expand")
    assert (expand.timeout, expand.model, expand.temperature) == (1.0, "small", 0.2)
