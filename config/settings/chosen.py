"""The settings that the environment chooses; each is declared once, with its default and meaning."""

from __future__ import annotations

from pathlib import Path

from config.settings import database as _database
from config.settings.env import Environment, SettingError
from config.settings.logs import logging_configuration
from config.settings.projection import TEXTS, projection_address, reads_from
from config.settings.redis import check_broker, redis_parameters
from config.settings.secrets import kept_secret
from runtime import paths

BASE_DIR = Path(__file__).resolve().parent.parent.parent
VERSION = "0.1.0"

env = Environment()

env.section("General")
DEBUG = env.boolean("LOCI_DEBUG", False, meaning="Show error pages with details. Never on a server others can reach.")
MEMORY_ENABLED = env.boolean(
    "MEMORY_ENABLED",
    True,
    meaning="Switch for all memory endpoints; off, they answer 503 and the rest works.",
    prax="MEMORY_ENABLED",
)
LOCI_HOST = env.string("LOCI_HOST", "127.0.0.1", meaning="Address that the web server listens on.")
LOCI_PORT = env.integer("LOCI_PORT", 8420, meaning="Port that the web server listens on.", minimum=1, maximum=65535)
ALLOWED_HOSTS = env.words(
    "LOCI_ALLOWED_HOSTS", "localhost,127.0.0.1,[::1]", meaning="Host names that requests may carry."
)
CSRF_TRUSTED_ORIGINS = env.words(
    "LOCI_TRUSTED_ORIGINS", meaning="Origins behind a proxy, with scheme, that forms may be sent from."
)
LOCI_HTTPS = env.boolean(
    "LOCI_HTTPS", False, meaning="The server is reached over HTTPS: secure cookies, HSTS, trust in X-Forwarded-Proto."
)

env.section("Places")
DATA_DIRECTORY = env.path(
    "LOCI_DATA_DIR",
    paths.data_directory(),
    shown="the user's data directory, `/var/lib/loci` for root",
    meaning="Directory of the embedded database.",
)
CONFIG_DIRECTORY = env.path(
    "LOCI_CONFIG_DIR",
    paths.config_directory(),
    shown="the user's configuration directory, `/etc/loci` for root",
    meaning="Directory of generated secrets, the master key among them.",
)
KEYS_DIRECTORY = env.path(
    "LOCI_KEYS_DIR",
    paths.keys_directory(),
    shown="`loci-keys` beside the data directory",
    meaning="Directory of the key vault: the owners' root keys, wrapped by the master key.",
)
CACHE_DIRECTORY = env.path(
    "LOCI_CACHE_DIR",
    paths.cache_directory(),
    shown="the user's cache directory, `/var/cache/loci` for root",
    meaning="Directory of files that can be made again, such as the built embedding model.",
)

env.section("Secrets")
MASTER_KEY = env.string(
    "LOCI_MASTER_KEY",
    meaning="The key that wraps all owners' keys: 32 bytes as base64 or 64 hex digits. "
    "Generated once into the configuration directory when left out. Losing it loses every text.",
    secret=True,
    engram="OS keychain entry `openpawz`",
)
MASTER_KEY_SOURCE = env.choice(
    "LOCI_MASTER_KEY_SOURCE",
    "auto",
    ("auto", "env", "file", "keyring"),
    meaning="Where the master key is: `env` is LOCI_MASTER_KEY or LOCI_MASTER_KEY_FILE, `file` the generated one in "
    "the configuration directory, `auto` the first of these that there is, `keyring` the keyring of the system, which "
    "needs the packages of requirements/keyring.txt.",
    engram="OS keychain",
)
NEW_MASTER_KEY = env.string(
    "LOCI_NEW_MASTER_KEY",
    meaning="The master key that `keys rotate-master` puts in the place of LOCI_MASTER_KEY; nothing else reads it.",
    secret=True,
)
KEY_ROTATION_DAYS = env.integer(
    "KEY_ROTATION_DAYS",
    90,
    meaning="Days after which an owner's text key gets a new version, stored texts are sealed anew in the background "
    "and the former version is destroyed. Older backups of the database then need the vault of their time. 0: never.",
    maximum=3650,
    engram="90 days",
)
KEYS_DATABASE_URL = env.string(
    "KEYS_DATABASE_URL",
    meaning="A PostgreSQL database of its own for the key vault, instead of the directory. Never that of the memories.",
    secret=True,
)
SECRET_KEY = env.string(
    "LOCI_SECRET_KEY", meaning="Signs sessions and forms. Generated once when left out.", secret=True
) or kept_secret(CONFIG_DIRECTORY, "secret.key")
QUEUE_SIGNING_KEY = env.string(
    "LOCI_QUEUE_KEY",
    meaning="Signs queued jobs, apart from LOCI_SECRET_KEY. Generated once when left out.",
    secret=True,
) or kept_secret(CONFIG_DIRECTORY, "queue.key")
SIGNING_KEY = env.string(
    "LOCI_SIGNING_KEY",
    meaning="Signs receipts of purges, archives of a person's data and the audit. Generated once when left out; "
    "another one cannot vouch for what the former signed.",
    secret=True,
) or kept_secret(CONFIG_DIRECTORY, "signing.key")

env.section("Database")
_database_url = env.string(
    "DATABASE_URL",
    meaning="PostgreSQL of your own, as the application role: postgresql://loci_app:…@host/loci. "
    "Without it the embedded server is used.",
    secret=True,
    prax="QDRANT_URL",
)
_schema_url = env.string(
    "DATABASE_SCHEMA_URL",
    meaning="The same database as the role that owns the tables; used by migrations only.",
    secret=True,
)
DATABASE_DISTRIBUTED = env.boolean(
    "DATABASE_DISTRIBUTED",
    False,
    meaning="Owners are spread over several servers by Citus: tell each transaction's owner to the owner's server too. "
    "Not together with NEO4J_URI.",
)
LOCI_PG_BIN = env.string("LOCI_PG_BIN", meaning="Directory of the PostgreSQL programs, instead of the packaged ones.")
LOCI_PG_USER = env.string(
    "LOCI_PG_USER", meaning="System user that runs the embedded server when Loci runs as root; else uid 65534."
)
SUPERUSER_URL = env.string(
    "LOCI_SUPERUSER_URL",
    meaning="A role that may make roles, databases and extensions on that server; `db provision` alone reads it.",
    secret=True,
)
LOCI_DB_POOL_MAX = env.integer(
    "LOCI_DB_POOL_MAX", 12, meaning="Most database connections of the web process.", minimum=1
)
_pool = {
    "min_size": env.integer("LOCI_DB_POOL_MIN", 1, meaning="Database connections the web process keeps open."),
    "max_size": LOCI_DB_POOL_MAX,
    "timeout": env.number("LOCI_DB_POOL_TIMEOUT", 10, meaning="Seconds to wait for a free connection."),
}
USE_POOL = env.boolean(
    "LOCI_DB_POOL", False, meaning="Use a connection pool; `manage.py up` sets it for the web process only."
)
EMBEDDED_DATABASE = not _database_url
if _schema_url and not _database_url:
    raise SettingError("DATABASE_SCHEMA_URL is set without DATABASE_URL. Set both, or neither.")
_socket = paths.socket_directory(DATA_DIRECTORY)
_app = _database.from_url(_database_url) if _database_url else _database.embedded(_socket, user="loci_app")
_schema = (
    _database.from_url(_schema_url or _database_url)
    if _database_url
    else _database.embedded(_socket, user="loci_owner")
)
DATABASES = {
    "default": _database.connection(_app, pool=_pool if USE_POOL else None),
    "schema": _database.connection(_schema, pool=None),
}
_live_url = env.string(
    "LIVE_DATABASE_URL",
    meaning="The same database without a pooler in between, as the application role, for hearing of changes (LISTEN). "
    "Needed only where DATABASE_URL leads to PgBouncer in transaction mode.",
    secret=True,
)
LIVE_DATABASE = _database.from_url(_live_url) if _live_url else None
_replica_url = env.string(
    "DATABASE_REPLICA_URL",
    meaning="A streaming replica of the database of DATABASE_URL, as the application role. Recall searches there while "
    "it has what was stored before the question, else in the database itself.",
    secret=True,
)
if _replica_url and not _database_url:
    raise SettingError("DATABASE_REPLICA_URL is set without DATABASE_URL. The embedded server has no replica.")
if _replica_url:
    DATABASES["replica"] = _database.replica(_database.from_url(_replica_url), pool=_pool if USE_POOL else None)
DATABASE_REPLICA_WAIT = env.integer(
    "DATABASE_REPLICA_WAIT",
    100,
    meaning="Milliseconds that a recall waits for the replica to have what was stored before it; then it searches in "
    "the database of DATABASE_URL.",
    maximum=5_000,
)
DATABASE_STATEMENT_TIMEOUT = env.number(
    "DATABASE_STATEMENT_TIMEOUT",
    30,
    meaning="Seconds after which a statement of a request is cut off; the request then gets `database.timeout`. Parts "
    "of a recall have shorter ones of their own. 0: as the database's role has it.",
    maximum=3_600,
)
DATABASE_JOB_STATEMENT_TIMEOUT = env.number(
    "DATABASE_JOB_STATEMENT_TIMEOUT",
    540,
    meaning="Seconds after which a statement of background work is cut off; the work is tried again. 0: as the "
    "database's role has it.",
    # The queue ends a worker that is at one task for 600 seconds, which would be first otherwise.
    maximum=590,
)
DATABASE_ROUTERS = ["config.routers.SchemaRouter", "config.routers.ReadingRouter"]
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

env.section("Redis")
_redis_url = env.string(
    "REDIS_URL",
    meaning="Redis that all processes share: redis://host:6379/0, rediss://… with TLS, or unix:///path/of/the/socket. "
    "Set, limits of requests, failed logins and wrong keys are counted there, and open pages hear of changes through "
    "it. Needs the package of requirements/redis.txt. Without it PostgreSQL and the processes themselves do that.",
    secret=True,
)
REDIS = redis_parameters(
    _redis_url,
    password=env.string("REDIS_PASSWORD", meaning="Password of Redis, where REDIS_URL has none.", secret=True),
    ca_file=env.string(
        "REDIS_CA_FILE",
        meaning="File of certificates in PEM that Redis is trusted by, with rediss://. Left out: those of the system.",
    ),
    timeout=env.number(
        "REDIS_TIMEOUT",
        1.0,
        meaning="Seconds that Redis may take to connect and to answer, before Loci goes on without it.",
        minimum=0.05,
        maximum=30,
    ),
)
QUEUE_BROKER = check_broker(
    env.choice(
        "QUEUE_BROKER",
        "orm",
        ("orm", "redis"),
        meaning="Where the calls of workers wait: `orm` is a table of PostgreSQL, `redis` a list in Redis. What is to "
        "be done stands in PostgreSQL in any case.",
    ),
    url=_redis_url,
)

env.section("Embedding")
EMBEDDING_PROVIDER = env.choice(
    "EMBEDDING_PROVIDER",
    "local",
    ("local", "openai", "ollama", "fastembed", "stub", "none"),
    meaning="Who turns texts into vectors. `local` runs in this process and downloads nothing; `none` is words only.",
    prax="EMBEDDING_PROVIDER",
    cortex="OllamaEmbedder, OpenAIEmbedder, StubEmbedder",
)
EMBEDDING_MODEL = env.string(
    "EMBEDDING_MODEL",
    meaning="Model name for the provider; each provider has its own default.",
    prax="EMBEDDING_MODEL",
    engram="Embedding model",
)
EMBEDDING_BASE_URL = env.string(
    "EMBEDDING_BASE_URL",
    meaning="Address of an OpenAI-compatible server, up to and without `/v1/embeddings`.",
    prax="EMBEDDING_BASE_URL",
    engram="Embedding base URL",
)
OLLAMA_BASE_URL = env.string(
    "OLLAMA_BASE_URL",
    "http://localhost:11434",
    meaning="Address of Ollama, for an embedder that has none of its own.",
    prax="OLLAMA_BASE_URL",
)
OLLAMA_START = env.boolean(
    "OLLAMA_START",
    False,
    meaning="Have `up` run Ollama where it is installed on this machine, its address is one of loopback and nothing "
    "answers there.",
)
EMBEDDING_API_KEY = env.string(
    "EMBEDDING_API_KEY", meaning="Key for the embedding provider.", secret=True, prax="OPENAI_KEY"
)
EMBEDDING_TIMEOUT = env.number("EMBEDDING_TIMEOUT", 30, meaning="Seconds an embedding request may take.", minimum=0.1)
EMBEDDING_MODEL_PATH = env.string(
    "EMBEDDING_MODEL_PATH", meaning="Folder with the model files, for `fastembed` where no hub is reachable."
)
EMBEDDING_THREADS = env.integer(
    "EMBEDDING_THREADS", 0, meaning="Threads of the local model; 0 lets it choose.", maximum=64
)
EMBEDDING_SECOND_PROVIDER = env.choice(
    "EMBEDDING_SECOND_PROVIDER",
    "none",
    ("local", "openai", "ollama", "fastembed", "stub", "none"),
    meaning="The embedder that this installation is to move to, or has come from: `manage.py spaces` fills its vectors "
    "beside those in use, and switches. Whichever of the two made the vectors in use is asked.",
)
EMBEDDING_SECOND_MODEL = env.string("EMBEDDING_SECOND_MODEL", meaning="Model name of the second embedder.")
EMBEDDING_SECOND_BASE_URL = env.string(
    "EMBEDDING_SECOND_BASE_URL", meaning="Address of the second embedder's server, as `EMBEDDING_BASE_URL`."
)
EMBEDDING_SECOND_API_KEY = env.string(
    "EMBEDDING_SECOND_API_KEY", meaning="Key for the second embedding provider.", secret=True
)
EMBEDDING_SECOND_MODEL_PATH = env.string(
    "EMBEDDING_SECOND_MODEL_PATH", meaning="Folder with the second embedder's model files, for `fastembed`."
)
EMBEDDING_FILL_SHARE = env.number(
    "EMBEDDING_FILL_SHARE",
    0.5,
    meaning="Share of its time that a worker spends on vectors of the second embedder while it makes them; the rest of "
    "it is rest, so that searching and storing stay quick.",
    minimum=0.01,
    maximum=1.0,
)

LATE_INTERACTION = env.boolean(
    "LATE_INTERACTION",
    True,
    meaning="Keep a small encrypted vector for each token, and compare questions with texts token by token. Only the "
    "`local` embedder gives such vectors. Off, none are made or used; those that are there stay.",
)

env.section("Language model")
LLM_BASE_URL = env.string(
    "LLM_BASE_URL", meaning="Address of an OpenAI-compatible chat server. Without it Loci works without an LLM."
)
LLM_API_KEY = env.string("LLM_API_KEY", meaning="Key for the chat server.", secret=True, prax="OPENAI_KEY")
LLM_MODEL = env.string("LLM_MODEL", meaning="Model name when a route names none.")
LLM_TIMEOUT = env.number("LLM_TIMEOUT", 60, meaning="Seconds a chat request may take.", minimum=0.1)
LLM_ROUTES = env.mapping(
    "LLM_ROUTES",
    meaning="Per component of Loci: model, temperature, max_tokens, timeout, base_url. Components: `recall_rerank`, "
    "`recall_expand`, `memory_consolidation`, `memory_sleep`, `memory_summaries`, `memory_reflection`, "
    "`memory_skills`, `memory_privacy`.",
    prax="llm_routing.yaml",
)

env.section("Reranking")
RERANKER_PROVIDER = env.choice(
    "RERANKER_PROVIDER",
    "none",
    ("none", "onnx", "fastembed", "http", "llm"),
    meaning="Who scores hits again for profiles whose reranker is `cross_encoder`: a model in this process, a server, "
    "or the language model.",
    prax="RETRIEVAL_RERANK",
)
RERANKER_PATH = env.string(
    "RERANKER_PATH",
    meaning="Folder with the model, for `onnx` (`model.onnx`, `tokenizer.json`) and `fastembed`. Nothing is fetched.",
)
RERANKER_URL = env.string(
    "RERANKER_URL", meaning="Address of the reranking server, for `http`; `/rerank` is added where it is missing."
)
RERANKER_MODEL = env.string("RERANKER_MODEL", meaning="Model name for the reranking server, or for `fastembed`.")
RERANKER_API_KEY = env.string("RERANKER_API_KEY", meaning="Key for the reranking server.", secret=True)
RERANKER_TIMEOUT = env.number(
    "RERANKER_TIMEOUT",
    5,
    meaning="Seconds that reranking may add to a recall; after them hits keep the order that they had.",
    minimum=0.1,
)

env.section("Neo4j")
NEO4J_USER = env.string("NEO4J_USER", "neo4j", meaning="Login at Neo4j.", prax="NEO4J_USER")
NEO4J_PASSWORD = env.string("NEO4J_PASSWORD", meaning="Password at Neo4j.", secret=True, prax="NEO4J_PASSWORD")
NEO4J_DATABASE = env.string("NEO4J_DATABASE", meaning="Name of the database in Neo4j; left out, the login's own.")
NEO4J_TEXT = env.choice(
    "NEO4J_TEXT",
    "",
    TEXTS,
    meaning="What stands in Neo4j in clear: `names` of entities and relations, `all` texts of the graph, or `hashed`: "
    "keyed hashes only. It must be chosen where NEO4J_URI is set, since Neo4j's files and backups are outside of the "
    "encryption.",
)
NEO4J_URI = projection_address(
    env.string(
        "NEO4J_URI",
        meaning="Address of a Neo4j 5 that the graph is projected to: bolt://, neo4j://, or with TLS bolt+s://, "
        "neo4j+s://. Without it nothing is noted for a projection.",
        prax="NEO4J_URI",
    ),
    text=NEO4J_TEXT,
    password=NEO4J_PASSWORD,
    distributed=DATABASE_DISTRIBUTED,
)
NEO4J_TIMEOUT = env.number(
    "NEO4J_TIMEOUT", 30, meaning="Seconds that one write to Neo4j may take.", minimum=0.1, maximum=300
)
NEO4J_READ_TIMEOUT = env.number(
    "NEO4J_READ_TIMEOUT",
    2,
    meaning="Seconds that one read from Neo4j may take, its connection included; after them PostgreSQL answers.",
    minimum=0.05,
    maximum=60,
)
GRAPH_READS = reads_from(
    env.choice(
        "GRAPH_READS",
        "postgres",
        ("postgres", "neo4j"),
        meaning="Where steps over the graph are taken. `neo4j` falls back to PostgreSQL while Neo4j is away, slow or "
        "behind.",
    ),
    uri=NEO4J_URI,
)

env.section("What leaves this machine")
OUTBOUND_HOSTS = env.words(
    "OUTBOUND_HOSTS",
    meaning="Hosts that may be configured as embedder, language model or reranker; another one is refused. "
    "Left out: any that is configured, and no other.",
)
OUTBOUND_PRIVATE_HOSTS = env.words(
    "OUTBOUND_PRIVATE_HOSTS",
    meaning="Hosts with public names that may lead to private addresses. Not needed for addresses, `localhost`, "
    "names of one word and names under `.local`, `.internal` and `.home.arpa`.",
)
OUTBOUND_CA_FILE = env.string(
    "OUTBOUND_CA_FILE",
    meaning="File of certificates in PEM whose authorities are trusted for providers, beside the bundled ones. "
    "The system's own are not.",
)
OUTBOUND_PINS = env.mapping(
    "OUTBOUND_PINS",
    meaning="Per host: the SHA-256 of its server's public key in base64, or a list of them. A server that shows "
    "another key is sent nothing.",
)

OUTBOUND_PROXY = env.string(
    "OUTBOUND_PROXY",
    meaning="Proxy for providers beyond this network, such as `http://proxy.example:3128`; `none` uses no proxy. Left "
    "out: what `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY` of the environment say. Loopback never has one.",
    secret=True,
)

env.section("Jobs and limits")
LOCI_WORKERS = env.integer("LOCI_WORKERS", 1, meaning="Job processes.", minimum=1, maximum=32)
RATE_WRITE = env.string("LOCI_RATE_WRITE", "600/min", meaning="Write requests per agent key.")
RATE_RECALL = env.string("LOCI_RATE_RECALL", "1200/min", meaning="Recall and context requests per agent key.")
RATE_READ = env.string("LOCI_RATE_READ", "1200/min", meaning="Other read requests per agent key.")
MOST_WRONG_KEYS = env.integer(
    "LOCI_WRONG_KEYS",
    100,
    meaning="Wrong agent keys from one address within a minute, after which it is refused with keys not seen lately.",
    minimum=1,
)
MOST_FAILED_LOGINS = env.integer(
    "LOCI_LOGIN_FAILURES_NETWORK",
    30,
    meaning="Failed logins from one address within a minute, over all names, after which only names that were logged "
    "in to from there within a week are let in.",
    minimum=1,
)
RATE_LOGIN_FAILURES = env.integer(
    "LOCI_LOGIN_FAILURES", 10, meaning="Failed logins after which a name is locked for a while.", minimum=1
)

env.section("Logging")
LOG_LEVEL = env.choice("LOCI_LOG_LEVEL", "INFO", ("DEBUG", "INFO", "WARNING", "ERROR"), meaning="Least level logged.")
LOG_FORMAT = env.choice("LOCI_LOG_FORMAT", "text", ("text", "json"), meaning="Form of log lines.")
ACCESS_LOG = env.boolean(
    "LOCI_ACCESS_LOG",
    False,
    meaning="Log a line for each request: method, pattern of the address, status, milliseconds, bytes, and the ids of "
    "request and agent. Never addresses, queries, names or bodies.",
)
LOGGING = logging_configuration(level=LOG_LEVEL, form=LOG_FORMAT)
