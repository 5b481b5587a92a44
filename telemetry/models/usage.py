"""What models were asked for and what that cost, and how much it may cost."""

from __future__ import annotations

from django.db import models

from memory.models.tenancy import TenantForeignKey, TenantModel


class ModelUsage(TenantModel):
    """Calls of one sort within one hour, summed up."""

    hour = models.DateTimeField()
    agent = TenantForeignKey("memory.Agent", null=True, blank=True, when_deleted="CASCADE")
    # `embedding`, `llm` or `rerank`.
    kind = models.CharField(max_length=16)
    # The part of Loci that asked: a stage of consolidation, `recall`, `store` …
    component = models.CharField(max_length=32)
    provider = models.CharField(max_length=32, blank=True, default="")
    model = models.CharField(max_length=200, blank=True, default="")
    # Of `cost`, as PRICE_CURRENCY was when the calls were counted.
    currency = models.CharField(max_length=3)
    calls = models.PositiveBigIntegerField(default=0)
    failures = models.PositiveBigIntegerField(default=0)
    input_tokens = models.PositiveBigIntegerField(default=0)
    output_tokens = models.PositiveBigIntegerField(default=0)
    duration_us = models.PositiveBigIntegerField(default=0)
    # Exactly: a token may cost less than a millionth of the currency.
    cost = models.DecimalField(max_digits=30, decimal_places=12, default=0)
    # Calls of models that have no price, and calls whose tokens nobody has counted.
    unpriced_calls = models.PositiveBigIntegerField(default=0)
    estimated_calls = models.PositiveBigIntegerField(default=0)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["owner", "hour", "agent", "kind", "component", "provider", "model", "currency"],
                name="usage_once",
                nulls_distinct=False,
            )
        ]


class BudgetPeriod(models.TextChoices):
    """For how long a budget is."""

    DAY = "day", "day"
    MONTH = "month", "month"


class Budget(TenantModel):
    """How much models may cost an owner, or one agent, within a day or a month (UTC)."""

    agent = TenantForeignKey("memory.Agent", null=True, blank=True, when_deleted="CASCADE")
    period = models.CharField(max_length=5, choices=BudgetPeriod.choices)
    # Above the soft one is warned, above the hard one no model is asked that costs; null where there is none.
    soft = models.DecimalField(max_digits=18, decimal_places=6, null=True, blank=True)
    hard = models.DecimalField(max_digits=18, decimal_places=6, null=True, blank=True)
    version = models.PositiveIntegerField(default=1)
    updated_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["owner", "agent", "period"], name="budget_once", nulls_distinct=False)
        ]
