"""The settings of telemetry that the environment chooses: turn events, metrics, traces, prices and budgets."""

from __future__ import annotations

from config.settings import prices
from config.settings.chosen import CACHE_DIRECTORY, CONFIG_DIRECTORY, env
from config.settings.env import SettingError
from config.settings.secrets import kept_secret
from config.settings.tracing import traces_address

env.section("Telemetry")
TELEMETRY_ENABLED = env.boolean(
    "TELEMETRY_ENABLED",
    True,
    meaning="Keep turn events and how recalls went. Off, events are taken and dropped, and reports say so.",
    prax="HEALTH_MONITOR_ENABLED",
)
TELEMETRY_RETENTION_DAYS = env.integer(
    "TELEMETRY_RETENTION_DAYS", 30, meaning="Days that turn events are kept.", minimum=1, maximum=3650
)
TELEMETRY_MOST_EVENTS = env.integer(
    "TELEMETRY_MOST_EVENTS",
    100_000,
    meaning="Turn events kept of each owner; the oldest make room. The test stream keeps 5,000 at most.",
    minimum=100,
    maximum=2_000_000,
)

METRICS_TOKEN = env.string(
    "METRICS_TOKEN",
    meaning="Token that `/metrics` is read with, at least 16 characters. Generated once into the configuration "
    "directory (`metrics.token`) when left out.",
    secret=True,
) or kept_secret(CONFIG_DIRECTORY, "metrics.token")
if len(METRICS_TOKEN) < 16:
    raise SettingError("METRICS_TOKEN cannot be used: shorter than 16 characters.")
METRICS_DIRECTORY = env.path(
    "LOCI_METRICS_DIR",
    CACHE_DIRECTORY / "metrics",
    shown="`metrics` in the cache directory",
    meaning="Directory in which the processes of an installation share what they count for `/metrics`, each "
    "installation in a directory of its own there; `up` empties it. On this machine, where containers may share it.",
)
TRACING = env.choice(
    "TRACING",
    "off",
    ("off", "otlp"),
    meaning="Send spans of requests, recalls, calls of models and jobs to a collector, without content. `otlp` needs "
    "the packages of requirements/tracing.txt.",
)
_collector = env.string(
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    meaning="Address of a collector that takes OTLP over HTTP, up to and without `/v1/traces`.",
)
_traces = env.string(
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", meaning="Whole address for traces, instead of the one above."
)
TRACES_HEADERS = env.string(
    "OTEL_EXPORTER_OTLP_HEADERS",
    meaning="Headers for the collector, such as a key of it: `name=value`, separated by commas.",
    secret=True,
)
TRACES_ADDRESS = traces_address(_collector, _traces) if TRACING == "otlp" else ""

MODEL_PRICES = prices.model_prices(
    env.mapping(
        "MODEL_PRICES",
        meaning="What models cost: per model, or per `provider/model`, an object with `input` and `output` per million "
        "tokens and `call` for each call, in the currency of PRICE_CURRENCY, at most six decimal places. A model "
        "elsewhere that is missing here is shown as unpriced, and no budget stops it.",
    )
)
PRICE_CURRENCY = prices.currency(
    env.string("PRICE_CURRENCY", "USD", meaning="Currency of MODEL_PRICES and of all budgets, three capital letters.")
)
BUDGET_SOFT, BUDGET_HARD = prices.default_budget(
    soft=env.string(
        "BUDGET_SOFT",
        "0",
        meaning="What models may cost an owner within a month (UTC) before that is warned of, for owners without a "
        "budget of the month of their own. 0: none.",
    ),
    hard=env.string(
        "BUDGET_HARD",
        "0",
        meaning="What models may cost an owner within a month (UTC), for owners without a budget of the month of their "
        "own; from then on no model is asked that costs. 0: none.",
    ),
)
