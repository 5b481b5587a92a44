"""The extractor by rules keeps what every extractor promises."""

from __future__ import annotations

import pytest

from memory.consolidation.extraction import rules_extractor
from memory.ports import Extractor
from tests.contract.extraction import ExtractorContract


class TestRules(ExtractorContract):
    @pytest.fixture
    def extractor(self) -> Extractor:
        return rules_extractor()
