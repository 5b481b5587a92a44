"""Every word of a vocabulary that people see can be translated."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from django.utils import translation

from memory import models
from memory.palace.presenters import label, reason_words
from memory.palace.vocabulary import WORDS
from memory.privacy import injection
from memory.privacy.meaning.kinds import KINDS as MEANT
from memory.privacy.pii.kinds import KINDS as FOUND
from memory.services.audit.vocabulary import KINDS, VERBS
from memory.services.context import LEVELS
from memory.text.limits import CATEGORIES
from telemetry.models import BudgetPeriod, Outcome, Stream


@pytest.mark.parametrize(
    "values",
    [
        models.Kind,
        CATEGORIES,
        models.Tier,
        models.Status,
        models.Visibility,
        models.Role,
        models.EdgeKind,
        models.EntityType,
        models.GroupKind,
        models.ReviewKind,
        models.ReviewState,
        models.RunState,
        models.RunTrigger,
        models.RiskClass,
        models.SkillOrigin,
        models.SkillState,
        models.SummaryLevel,
        models.PurgeState,
        models.PurgeSubject,
        models.FileChange,
        models.SpaceState,
        Outcome,
        Stream,
        BudgetPeriod,
        VERBS,
        KINDS,
        FOUND,
        MEANT,
        injection.KINDS,
        LEVELS,
    ],
    ids=lambda values: getattr(values, "__name__", None),
)
def test_whole_vocabularies_can_be_translated(values: Iterable[str]) -> None:
    assert {str(value).lower().replace("_", " ") for value in values} <= WORDS


def test_labels_are_the_words_in_english() -> None:
    with translation.override("en"):
        assert label("related_to") == "related to"
        assert label("not_of_a_vocabulary") == "not of a vocabulary"


def test_reasons_that_nobody_listed_stay_as_they_were_written() -> None:
    with translation.override("en"):
        assert reason_words("archived by person") == "archived by person"
        assert reason_words("as_somebody_wrote") == "as_somebody_wrote"
