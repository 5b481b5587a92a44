"""A pytest plugin that gives the tests an environment of their own before the settings are read.

It is loaded through `-p tests.environment`, so that no test sees the data, keys or services of this user.
"""

from __future__ import annotations

import base64
import hashlib
import os
import tempfile
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parent.parent


def test_home() -> Path:
    """Give the directory of the tests' cluster, one for each checkout and user, short enough for a socket path."""
    user = os.geteuid() if hasattr(os, "geteuid") else 0
    digest = hashlib.sha256(str(PROJECT).encode()).hexdigest()[:8]
    return Path(tempfile.gettempdir()) / f"loci-test-{user}-{digest}"


HOME = test_home()
MODEL_CACHE = Path(os.environ.get("LOCI_TEST_CACHE_DIR") or HOME / "cache")

FOREIGN = (
    "DATABASE_URL",
    "DATABASE_SCHEMA_URL",
    "KEYS_DATABASE_URL",
    "LLM_BASE_URL",
    "EMBEDDING_BASE_URL",
    "EMBEDDING_SECOND_PROVIDER",
    "EMBEDDING_SECOND_MODEL",
    "EMBEDDING_SECOND_BASE_URL",
    "EMBEDDING_FILL_SHARE",
    "LOCI_MASTER_KEY_FILE",
    "LOCI_MASTER_KEY_SOURCE",
    "OUTBOUND_HOSTS",
    "OUTBOUND_PRIVATE_HOSTS",
    "OUTBOUND_CA_FILE",
    "OUTBOUND_PINS",
    "NEO4J_URI",
    "NEO4J_USER",
    "NEO4J_PASSWORD",
    "NEO4J_PASSWORD_FILE",
    "NEO4J_DATABASE",
    "NEO4J_TEXT",
    "GRAPH_READS",
    "OUTBOUND_PROXY",
    "OLLAMA_BASE_URL",
    "OLLAMA_START",
    "METRICS_TOKEN",
    "METRICS_TOKEN_FILE",
    "LOCI_METRICS_DIR",
    "PROMETHEUS_MULTIPROC_DIR",
    "TRACING",
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
    "OTEL_EXPORTER_OTLP_HEADERS",
    "REDIS_URL",
    "REDIS_URL_FILE",
    "REDIS_PASSWORD",
    "REDIS_PASSWORD_FILE",
    "REDIS_CA_FILE",
    "REDIS_TIMEOUT",
    "QUEUE_BROKER",
)
OWN = {
    "DJANGO_SETTINGS_MODULE": "config.settings",
    "LOCI_DATA_DIR": str(HOME / "data"),
    "LOCI_CONFIG_DIR": str(HOME / "config"),
    "LOCI_KEYS_DIR": str(HOME / "keys"),
    "LOCI_CACHE_DIR": str(MODEL_CACHE),
    "LOCI_MASTER_KEY": base64.b64encode(hashlib.sha256(b"a key for tests only").digest()).decode(),
    "LOCI_SECRET_KEY": "a secret for tests only, long enough to satisfy every check of it",
    "LOCI_QUEUE_KEY": "another secret for tests only",
    "EMBEDDING_PROVIDER": "stub",
    "MEMORY_ENABLED": "true",
    "LOCI_DEBUG": "false",
}

for name in FOREIGN:
    os.environ.pop(name, None)
os.environ.update(OWN)
# The server of static files warns when its directory is missing, and warnings are errors here.
(MODEL_CACHE / "static").mkdir(parents=True, exist_ok=True)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Declare the markers of the test kinds."""
    config.addinivalue_line("markers", "slow: takes more than a few seconds")
