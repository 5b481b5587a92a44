"""Costs and budgets: what comes in, what goes out."""

from __future__ import annotations

import re
from typing import Any, Final

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from config.settings.prices import HIGHEST, PLACES
from memory.api.serializers.base import Query, Strict
from memory.api.serializers.fields import Moment, Word
from telemetry.api.csv_answers import form_field
from telemetry.models import BudgetPeriod
from telemetry.services.costs.breakdown import GROUPS
from telemetry.services.costs.budgets import BudgetUse
from telemetry.services.costs.prices import shown
from telemetry.services.costs.report import DAYS, MOST_DAYS, MOST_HOURLY_DAYS

WRITTEN: Final = re.compile(r"[0-9]{1,10}(\.[0-9]{1,6})?", re.ASCII)


@extend_schema_field(
    {
        "oneOf": [
            {"type": "number", "minimum": 0, "maximum": int(HIGHEST)},
            {"type": "string", "pattern": f"^{WRITTEN.pattern}$"},
        ],
        "nullable": True,
    }
)
class Amount(serializers.Field[Any, Any, Any, Any]):
    """An amount of money, as a number or as its decimal digits; the services read it exactly."""

    default_error_messages = {
        "invalid": "This has to be a number, or its decimal digits as a text.",
        "budget.amount_invalid": f"This is an amount from 0 to {HIGHEST} with at most {PLACES} decimal places.",
    }

    def to_internal_value(self, data: Any) -> Any:
        """Take a number that is not a truth value, or digits."""
        if isinstance(data, bool) or not isinstance(data, int | float | str):
            self.fail("invalid")
        if isinstance(data, str) and not WRITTEN.fullmatch(data):
            self.fail("budget.amount_invalid")
        return data


class SetBudgetSerializer(Strict):
    """A budget; a limit that is left out or null is none."""

    soft = Amount(required=False, allow_null=True, help_text="From here on it is warned.")
    hard = Amount(required=False, allow_null=True, help_text="From here on no model is asked that costs.")


class BudgetSerializer(serializers.Serializer[Any]):
    """A budget and how much of it is spent; amounts are decimal digits in `currency`."""

    agent_id = serializers.UUIDField(allow_null=True, help_text="null is the owner with all agents.")
    period = serializers.ChoiceField(BudgetPeriod.values)
    soft = serializers.SerializerMethodField()
    hard = serializers.SerializerMethodField()
    spent = serializers.SerializerMethodField(help_text="In this period so far.")
    currency = serializers.CharField()
    state = serializers.ChoiceField(["ok", "soft", "hard"], help_text="The limit that is reached.")
    begins = serializers.DateTimeField(help_text="Of the period, in UTC.")
    ends = serializers.DateTimeField()
    own = serializers.BooleanField(help_text="false for the installation's default.")
    version = serializers.IntegerField(help_text="Also the ETag; 0 of the default.")

    def to_representation(self, budget: BudgetUse) -> dict[str, Any]:
        """Write a budget."""
        period = budget.period
        moment = serializers.DateTimeField()
        return {
            "agent_id": str(budget.agent_id) if budget.agent_id else None,
            "period": period.sort.value,
            "soft": self.get_soft(budget),
            "hard": self.get_hard(budget),
            "spent": self.get_spent(budget),
            "currency": budget.currency,
            "state": budget.state,
            "begins": moment.to_representation(period.begins),
            "ends": moment.to_representation(period.ends),
            "own": budget.own,
            "version": budget.version,
        }

    def get_soft(self, budget: BudgetUse) -> str | None:
        """Write the soft limit."""
        return None if budget.soft is None else shown(budget.soft)

    def get_hard(self, budget: BudgetUse) -> str | None:
        """Write the hard limit."""
        return None if budget.hard is None else shown(budget.hard)

    def get_spent(self, budget: BudgetUse) -> str:
        """Write what is spent."""
        return shown(budget.spent)


class BudgetsSerializer(serializers.Serializer[Any]):
    """All budgets, the owner's before those of agents."""

    items = BudgetSerializer(many=True)


class UsageQuery(Query):
    """Which calls to add up, and by what."""

    days = serializers.IntegerField(
        required=False,
        min_value=1,
        max_value=MOST_DAYS,
        help_text=f"The last days (UTC); {DAYS} when left out.",
    )
    until = Moment(required=False, help_text="Before this moment, whose hour counts whole; now when left out.")
    by = Word(GROUPS, required=False, help_text=f"`day` when left out; by `hour` at most {MOST_HOURLY_DAYS} days.")
    format = form_field()

    def get_fields(self) -> dict[str, Any]:
        """Add the parameter whose name is a word of the language."""
        begins = Moment(required=False, help_text="From this moment's hour on, instead of days.")
        return {"from": begins, **super().get_fields()}


class UsageSumSerializer(serializers.Serializer[Any]):
    """Calls of models, added up."""

    calls = serializers.IntegerField()
    failures = serializers.IntegerField(help_text="Of them, those without a usable answer.")
    input_tokens = serializers.IntegerField()
    output_tokens = serializers.IntegerField()
    estimated_calls = serializers.IntegerField(
        help_text="Of them, those whose tokens nobody has counted, so that four characters count as one."
    )
    seconds = serializers.FloatField()
    cost = serializers.SerializerMethodField(help_text="Decimal digits, exact.")
    unpriced_calls = serializers.IntegerField(
        help_text="Of them, those of models elsewhere without a price; `cost` knows nothing of them."
    )

    def get_cost(self, line: Any) -> str:
        """Write what it cost."""
        return shown(line.cost)


class UsageLineSerializer(UsageSumSerializer):
    """Calls of one group."""

    key = serializers.CharField(allow_blank=True, help_text="The day, hour, agent's id, part, model or kind.")
    label = serializers.CharField(help_text="The same for people.")  # type: ignore[assignment]


class UsageSerializer(serializers.Serializer[Any]):
    """What models were asked for and what that cost."""

    since = serializers.DateTimeField()
    until = serializers.DateTimeField()
    by = serializers.ChoiceField(list(GROUPS))
    currency = serializers.CharField(help_text="Of all amounts but those of `other_costs`.")
    lines = UsageLineSerializer(many=True, help_text="Days and hours in their order, others the dearest first.")
    total = UsageSumSerializer()
    unpriced = serializers.ListField(
        child=serializers.CharField(), help_text="Models elsewhere that have no price, as `provider/model`."
    )
    other_costs = serializers.SerializerMethodField(
        help_text="By currency, what was counted while prices had another one; it stands in no other amount."
    )
    budgets = BudgetSerializer(many=True)
    spent_today = serializers.SerializerMethodField(help_text="In UTC, whatever window was asked for.")
    spent_this_month = serializers.SerializerMethodField()

    @extend_schema_field({"type": "object", "additionalProperties": {"type": "string"}})
    def get_other_costs(self, report: Any) -> dict[str, str]:
        """Write what was counted under other currencies."""
        return {currency: shown(cost) for currency, cost in report.other_costs.items()}

    def get_spent_today(self, report: Any) -> str:
        """Write what was spent today."""
        return shown(report.spent_today)

    def get_spent_this_month(self, report: Any) -> str:
        """Write what was spent this month."""
        return shown(report.spent_this_month)
