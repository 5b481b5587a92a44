"""Every metric, declared once: its name, kind, labels and meaning.

Names begin with `loci_` and end with their unit. Labels have few values, all of them words of the product or names from
the configuration: never an owner, an agent, an id, a path or a text. None is named `job` or `instance`, which are what
Prometheus itself gives to what it scrapes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal

from telemetry.bounds import LATENCY_SECONDS, STAGE_SECONDS

Kind = Literal["counter", "gauge", "histogram"]
Across = Literal["", "livesum", "max"]

REQUEST_SECONDS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
CALL_SECONDS: Final = (0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
JOB_SECONDS: Final = (0.05, 0.1, 0.5, 1.0, 5.0, 15.0, 60.0, 300.0, 600.0)
HITS: Final = (0.0, 1.0, 2.0, 3.0, 5.0, 8.0, 13.0, 20.0, 50.0, 100.0)

PLAIN: Final = re.compile(r"[!-~]{1,160}")
"""What a value of a label, and a word on a span, looks like: nobody's sentence, and no line of its own."""


@dataclass(frozen=True, slots=True)
class Definition:
    """One metric.

    Attributes:
        name: as it is scraped; a histogram's gets `_bucket`, `_sum` and `_count`.
        kind: what may be asked of it: `rate` of counters and histograms, the value itself of gauges.
        says: what it tells, one sentence.
        labels: their names.
        group: under which heading it is documented.
        buckets: upper bounds of a histogram.
        across: how a gauge's values of several processes become one: the sum over those that live, or the highest;
            empty for one that is read from where it stands when somebody asks.
        begins: values of the only label that stand at 0 from the start, so that the first count is seen as growth.
    """

    name: str
    kind: Kind
    says: str
    labels: tuple[str, ...]
    group: str
    buckets: tuple[float, ...] = ()
    across: Across = ""
    begins: tuple[str, ...] = ()

    @property
    def is_counted(self) -> bool:
        """Tell whether processes count it themselves; the others are read from where they stand at each scrape."""
        return self.kind != "gauge" or bool(self.across)


ALL: Final[dict[str, Definition]] = {}
_group = ""


def _counter(name: str, says: str, *labels: str, begins: tuple[str, ...] = ()) -> Definition:
    return _declared(Definition(name, "counter", says, labels, _group, begins=begins))


def _histogram(name: str, says: str, *labels: str, buckets: tuple[float, ...]) -> Definition:
    return _declared(Definition(name, "histogram", says, labels, _group, buckets=buckets))


def _gauge(name: str, says: str, *labels: str, across: Across = "") -> Definition:
    return _declared(Definition(name, "gauge", says, labels, _group, across=across))


def _declared(definition: Definition) -> Definition:
    if definition.name in ALL:
        raise ValueError(f"{definition.name} is declared twice")
    ALL[definition.name] = definition
    return definition


_group = "The installation"
UP = _gauge("loci_up", "1 while the database answers within the time of a scrape, else 0.")
BUILD_INFO = _gauge("loci_build_info", "Always 1; the version of Loci and of Python.", "version", "python")
OWNERS = _gauge("loci_owners", "Owners of this installation.")
HEALTH_CHECK = _gauge(
    "loci_health_check",
    "What a check of health found, as the page of health shows it: 0 ok, 1 degraded, 2 failing.",
    "check",
)
DISK_FREE = _gauge("loci_disk_free_bytes", "Free space where the embedded database lies.")
PROVIDER_UP = _gauge(
    "loci_provider_up",
    "1 while the embedder, the second one, the reranker or language model that is configured answered its last call of "
    "the web process, else 0.",
    "kind",
)
REDIS_UP = _gauge(
    "loci_redis_up",
    "1 while Redis answers the web process, else 0: limits are counted in each process then. Only with REDIS_URL.",
)

SPACE_FILL = _gauge(
    "loci_embedding_space_filled_ratio",
    "Share of the memories that have a vector in the embedding space beside the one in use, by its state (`filling`, "
    "`standby`); absent where there is none, and before anything was counted in it.",
    "state",
)
SPACE_PAUSED = _gauge(
    "loci_embedding_space_paused",
    "1 while no vectors are made for the embedding space beside the one in use, since its embedder fails or is not "
    "configured; absent where there is none.",
    "state",
)

_group = "Requests"
HTTP_REQUESTS = _counter(
    "loci_http_requests_total",
    "Requests by pattern of the address, method, and class of the status such as `2xx`.",
    "route",
    "method",
    "status",
)
HTTP_SECONDS = _histogram(
    "loci_http_request_duration_seconds",
    "From the request to the head of its answer, by pattern of the address.",
    "route",
    buckets=REQUEST_SECONDS,
)
LIVE_SOCKETS = _gauge("loci_live_sockets", "Open connections of live pages.", across="livesum")

_group = "Recall"
RECALLS = _counter(
    "loci_recalls_total",
    "Recalls by profile and outcome: `hit`, `no_hit`, or `not_needed` where the question called for none.",
    "profile",
    "outcome",
)
RECALL_SECONDS = _histogram(
    "loci_recall_duration_seconds", "From the question to its answer.", "profile", buckets=LATENCY_SECONDS
)
RECALL_STAGES = _histogram(
    "loci_recall_stage_duration_seconds", "Parts of a recall, by stage.", "stage", buckets=STAGE_SECONDS
)
RECALL_HITS = _histogram("loci_recall_hits", "Memories shown for a recall.", "profile", buckets=HITS)
RECALL_FALLBACKS = _counter("loci_recall_fallbacks_total", "Recalls answered by the scan of texts.")
RECALL_DEGRADED = _counter(
    "loci_recall_degraded_total", "What recalls could not do, by code such as `embedder.unavailable`.", "code"
)
RECALL_PLACES = _counter(
    "loci_recall_places_total",
    "Where a replica is configured: recalls that searched there (`replica`), or in the database since the replica was "
    "`behind`, `failed`, is `refused` (another database's, or a role above the walls), or `paused` after one of the "
    "latter two.",
    "place",
    begins=("replica", "behind", "failed", "refused", "paused"),
)

GRAPH_READS = _counter(
    "loci_graph_reads_total",
    "Questions about the graph where GRAPH_READS is `neo4j`, by the store that answered (`neo4j`, `postgres`) and "
    "outcome: `ok`, or the code of why it was not Neo4j.",
    "store",
    "outcome",
)

_group = "Memories"
MEMORIES_STORED = _counter("loci_memories_stored_total", "Memories written, by kind.", "kind")

_group = "Models"
MODEL_CALLS = _counter(
    "loci_model_calls_total",
    "Calls of models by kind (`embedding`, `llm`, `rerank`), the part of Loci that asked, model, and outcome (`ok`, "
    "`failed`).",
    "kind",
    "component",
    "model",
    "outcome",
)
MODEL_SECONDS = _histogram(
    "loci_model_call_duration_seconds", "How long models took.", "kind", "model", buckets=CALL_SECONDS
)
MODEL_TOKENS = _counter(
    "loci_model_tokens_total",
    "Tokens sent (`input`) and received (`output`); estimated where a provider counts none.",
    "kind",
    "component",
    "model",
    "direction",
)
MODEL_COST = _counter(
    "loci_model_cost_total",
    "What calls cost by the price table, in its currency; calls of models without a price add nothing.",
    "kind",
    "component",
    "model",
)
BUDGET_REFUSALS = _counter(
    "loci_budget_refusals_total",
    "Calls of models that were not made because a budget is used up, by kind.",
    "kind",
    begins=("embedding", "llm", "rerank"),
)

_group = "Background work"
JOB_RUNS = _counter("loci_job_runs_total", "Runs of background jobs by outcome (`ok`, `failed`).", "task", "outcome")
JOB_SECONDS_TAKEN = _histogram(
    "loci_job_duration_seconds", "How long background jobs took.", "task", buckets=JOB_SECONDS
)
JOB_ROWS = _counter("loci_job_rows_total", "Rows that background jobs have done, by kind of work.", "task", "kind")
JOB_LAST_SUCCESS = _gauge(
    "loci_job_last_success_timestamp_seconds", "When a job last ended well since the start.", "task", across="max"
)
WORKER_SEEN = _gauge(
    "loci_worker_last_seen_timestamp_seconds",
    "When a worker last finished looking for due work or consolidation, on any machine.",
)
QUEUE_TASKS = _gauge(
    "loci_queue_tasks",
    "Tasks in the queue, those under way included; with the queue in Redis those that wait, while it answers.",
)
QUEUE_LAG = _gauge("loci_queue_lag_seconds", "How long the oldest task that nobody has taken has been waiting.")
DUE_WORK = _gauge("loci_due_work", "Owners whose work of a kind is due now.", "kind")
DUE_SECONDS = _gauge("loci_due_work_oldest_seconds", "How long the oldest due work of a kind has been due.", "kind")
PROJECTION_LAG = _gauge(
    "loci_projection_lag_seconds", "How long the oldest change of a graph has been waiting to stand in Neo4j."
)
PROJECTION_WAITING = _gauge(
    "loci_projection_changes_waiting", "Changes of graphs that wait for Neo4j, as counted when each was last tried."
)
PROJECTION_OWNERS = _gauge(
    "loci_projection_owners",
    "Owners by how their projection to Neo4j stands (`following`, `building`, `failing`).",
    "state",
)
PURGES = _gauge("loci_purges", "Purges that are not done, by state (`waiting`, `running`, `failed`).", "state")

_group = "Telemetry"
EVENTS_RECORDED = _counter("loci_turn_events_recorded_total", "Turn events written.")
EVENTS_DROPPED = _counter(
    "loci_turn_events_dropped_total",
    "Turn events that were taken and not kept, by reason.",
    "reason",
    begins=("full", "invalid", "forbidden", "gone", "failed", "off"),
)
EVENTS_WAITING = _gauge(
    "loci_turn_events_waiting", "Turn events that wait in processes to be written.", across="livesum"
)

_group = "Database"
DATABASE_CONNECTIONS = _gauge(
    "loci_database_connections", "Connections to the database by state (`active`, `idle`, `in_transaction`).", "state"
)
DATABASE_SIZE = _gauge("loci_database_size_bytes", "Size of the database on disk.")
POOL_CONNECTIONS = _gauge(
    "loci_database_pool_connections", "Connections of the web process's pool by state (`used`, `free`).", "state"
)
POOL_WAITING = _gauge("loci_database_pool_waiting", "Requests that wait for a connection of the pool.")
