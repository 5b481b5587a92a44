"""The one place that builds the ports from the settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

from django.conf import settings
from django.core.signals import setting_changed
from django.db import connection

from memory.crypto import keyring as ring
from memory.crypto import signing
from memory.crypto.derivation import KEY_BYTES
from memory.crypto.keyring import Keyring
from memory.errors import KeysUnavailable, ProjectionOff
from memory.models import Owner
from memory.ports import Embedder, KeyVault, LanguageModel, Reranker
from memory.ports.ledger import PurgeLedger
from memory.providers.embedder_choices import EmbedderChoice, first_choice, second_choice
from memory.providers.fastembed_embedder import DEFAULT_MODEL, FastembedEmbedder
from memory.providers.guarded_embedder import GuardedEmbedder, guarded
from memory.providers.json_over_http import Limits
from memory.providers.language_model import ChatLanguageModel
from memory.providers.ledger_database import DatabaseLedger
from memory.providers.ledger_directory import DirectoryLedger
from memory.providers.llm_routes import Routes
from memory.providers.master_key import master_key, refuse_given
from memory.providers.minilm.embedder import MiniLmEmbedder
from memory.providers.misconfigured import ProviderMisconfigured
from memory.providers.neo4j_client import Neo4jClient
from memory.providers.ollama_embedder import OllamaEmbedder
from memory.providers.ollama_server import OllamaServer
from memory.providers.openai_embedder import OpenAiEmbedder
from memory.providers.outbound.policy import OutboundPolicy
from memory.providers.rerankers.absent import NoReranker
from memory.providers.rerankers.cross_encoder_onnx import OnnxCrossEncoder
from memory.providers.rerankers.fastembed import FastembedCrossEncoder
from memory.providers.rerankers.guarded import GuardedReranker
from memory.providers.rerankers.http import LARGEST_ANSWER_BYTES, HttpReranker
from memory.providers.rerankers.llm_judge import COMPONENT as RERANKING
from memory.providers.rerankers.llm_judge import LlmJudge
from memory.providers.stub_embedder import StubEmbedder
from memory.providers.system_keyring import kept_master_key, wipe
from memory.providers.unavailable import NoEmbedder, NoLanguageModel
from memory.providers.vault import WrappedVault
from memory.providers.vault_database import DatabaseVault
from memory.providers.vault_directory import DirectoryVault

OPENAI_URL: Final = "https://api.openai.com"
OPENAI_MODEL: Final = "text-embedding-3-small"
EXPANSION: Final = "recall_expand"
KEYRING: Final = "keyring"
"""The source of the master key that is the system's keyring."""
# A recall waits for it, so it gets less time than other components.
EXPANSION_SECONDS: Final = 3.0
# What background work asks for (Prax's temperature); its answers are lists, which may be long.
CONSOLIDATION: Final[Mapping[str, Mapping[str, Any]]] = {
    component: {"tier": "low", "temperature": 0.2, "max_tokens": 4096}
    for component in (
        "memory_consolidation",
        "memory_sleep",
        "memory_summaries",
        "memory_reflection",
        "memory_skills",
    )
}

PRIVACY: Final = "memory_privacy"
"""What reads texts for personal data by meaning, and is to say the same each time."""
PRIVACY_DEFAULTS: Final[Mapping[str, Any]] = {"tier": "low", "temperature": 0.0, "max_tokens": 4096}


def open_vault() -> KeyVault:
    """Open and check the key vault that the settings name.

    Raises:
        KeysUnavailable: the master key is missing, unusable or not the one this vault was made with, or the vault is
            empty although the database has owners.
    """
    if not vault_used_before() and _owners_exist():
        # An empty directory, for example where a disk is not mounted: new keys must not be made for old data.
        raise KeysUnavailable("The key vault is empty, but there are owners. Nothing was made. Restore the key vault.")
    key = present_master_key()
    vault = vault_of(key)
    wipe(key)
    vault.verify()
    return vault


def present_master_key() -> bytearray:
    """Give the master key from where LOCI_MASTER_KEY_SOURCE says, making it for a vault that was never used.

    The caller overwrites it after use.

    Raises:
        KeysUnavailable: missing, unusable, or its place cannot be read.
    """
    if settings.MASTER_KEY_SOURCE == KEYRING:
        refuse_given(settings.MASTER_KEY, source=KEYRING)
        return kept_master_key(vault_of(bytes(KEY_BYTES)), opened_with=vault_of)
    return master_key(
        settings.MASTER_KEY,
        config_directory=settings.CONFIG_DIRECTORY,
        used_before=vault_used_before,
        source=settings.MASTER_KEY_SOURCE,
    )


def _owners_exist() -> bool:
    """Tell whether the database has owners; a new one does not even have the table."""
    return Owner._meta.db_table in connection.introspection.table_names() and Owner.objects.exists()


def vault_used_before() -> bool:
    """Tell whether the key vault was set up, without the master key and without setting it up."""
    return vault_of(bytes(KEY_BYTES)).used_before()


def vault_of(key: bytes | bytearray) -> WrappedVault:
    """Give the vault that the settings name, with a master key of 32 bytes that was not compared with it yet."""
    if settings.KEYS_DATABASE_URL:
        return DatabaseVault(settings.KEYS_DATABASE_URL, key)
    return DirectoryVault(settings.KEYS_DIRECTORY, key)


def purge_ledger() -> PurgeLedger:
    """Give the ledger of purges, which stands where the key vault stands; needs no master key."""
    if settings.KEYS_DATABASE_URL:
        return DatabaseLedger(settings.KEYS_DATABASE_URL)
    return DirectoryLedger(settings.KEYS_DIRECTORY)


def install_keyring() -> None:
    """Give this process its keyring, whose vault is opened at the first use, and its signer."""
    ring.install(Keyring(open_vault))
    signing.install(signing.Signer(settings.SIGNING_KEY))


@cache
def embedder() -> GuardedEmbedder:
    """Give this process's first embedder, behind its guard; nothing is loaded or connected before its first use.

    Which embedder is asked depends on the space in use: `memory.services.spaces.in_use` tells.

    Raises:
        ProviderMisconfigured: the settings of the provider cannot work.
    """
    choice = first_choice()
    return guarded(_EMBEDDERS[choice.provider](choice))


@cache
def second_embedder() -> GuardedEmbedder | None:
    """Give the embedder that the installation moves to or came from, as `embedder` does; None where none is named.

    Raises:
        ProviderMisconfigured: the settings of the provider cannot work.
    """
    choice = second_choice()
    return None if choice.provider == "none" else guarded(_EMBEDDERS[choice.provider](choice))


@cache
def language_model() -> LanguageModel:
    """Give this process's language model; one that always refuses where none is configured.

    Raises:
        ProviderMisconfigured: the address or a route cannot work.
    """
    if not settings.LLM_BASE_URL:
        return NoLanguageModel()
    routes = Routes(
        settings.LLM_ROUTES,
        model=settings.LLM_MODEL,
        base_url=settings.LLM_BASE_URL,
        timeout=settings.LLM_TIMEOUT,
        components={
            RERANKING: {"tier": "low", "temperature": 0.0, "timeout": settings.RERANKER_TIMEOUT},
            EXPANSION: {"tier": "low", "temperature": 0.2, "timeout": EXPANSION_SECONDS},
            **CONSOLIDATION,
            PRIVACY: PRIVACY_DEFAULTS,
        },
    )
    return ChatLanguageModel(
        routes, base_url=settings.LLM_BASE_URL, api_key=settings.LLM_API_KEY, policy=outbound_policy()
    )


def stays_here(model: LanguageModel, component: str) -> bool:
    """Tell whether a component's prompts stay on this machine; False where that is not known."""
    return isinstance(model, ChatLanguageModel) and model.loopback(component)


def language_model_failure() -> str | None:
    """Say why the language model's last use in this process failed; None where it answered, or was not used yet.

    Raises:
        ProviderMisconfigured: the address or a route cannot work.
    """
    model = language_model()
    return model.failure() if isinstance(model, ChatLanguageModel) else None


@cache
def reranker() -> GuardedReranker:
    """Give this process's reranker, behind its guard; nothing is loaded or connected before its first use.

    Raises:
        ProviderMisconfigured: the settings of the provider cannot work.
    """
    return GuardedReranker(_RERANKERS[settings.RERANKER_PROVIDER]())


@cache
def llm_judge() -> GuardedReranker:
    """Give the language model as reranker, behind a guard of its own.

    Raises:
        ProviderMisconfigured: the settings of the language model cannot work.
    """
    return GuardedReranker(_judge())


@cache
def neo4j_client() -> Neo4jClient:
    """Give the way to Neo4j; nothing is opened before its first use.

    Raises:
        ProjectionOff: NEO4J_URI is not set.
    """
    if not settings.NEO4J_URI:
        raise ProjectionOff
    return Neo4jClient(
        settings.NEO4J_URI,
        user=settings.NEO4J_USER,
        password=settings.NEO4J_PASSWORD,
        database=settings.NEO4J_DATABASE,
        write_seconds=settings.NEO4J_TIMEOUT,
        read_seconds=settings.NEO4J_READ_TIMEOUT,
    )


def forget_providers() -> None:
    """Build the providers anew at their next use, after the settings have changed."""
    if neo4j_client.cache_info().currsize:
        neo4j_client().close()
    for made in (embedder, second_embedder, language_model, reranker, llm_judge, neo4j_client):
        made.cache_clear()


def outbound_policy() -> OutboundPolicy:
    """Read where requests to providers may go; raises ProviderMisconfigured for what cannot be used."""
    return OutboundPolicy.of(
        hosts=settings.OUTBOUND_HOSTS,
        private_hosts=settings.OUTBOUND_PRIVATE_HOSTS,
        pins=settings.OUTBOUND_PINS,
        ca_file=settings.OUTBOUND_CA_FILE,
        proxy=settings.OUTBOUND_PROXY,
    )


def _limits() -> Limits:
    return Limits(read_seconds=settings.EMBEDDING_TIMEOUT, total_seconds=settings.EMBEDDING_TIMEOUT)


def ollama_server(choice: EmbedderChoice) -> OllamaServer:
    """Give the server of a choice that is Ollama's; the caller closes it.

    Raises:
        ProviderMisconfigured: its settings cannot work.
    """
    return OllamaServer(base_url=choice.base_url, api_key=choice.api_key, policy=outbound_policy())


def ollama_embedder(choice: EmbedderChoice) -> OllamaEmbedder:
    """Give the embedder of a choice that is Ollama's, without a guard; the caller closes it.

    Raises:
        ProviderMisconfigured: its settings cannot work.
    """
    return OllamaEmbedder(
        base_url=choice.base_url,
        model=choice.model,
        api_key=choice.api_key,
        limits=_limits(),
        policy=outbound_policy(),
    )


def _openai(choice: EmbedderChoice) -> Embedder:
    return OpenAiEmbedder(
        base_url=choice.base_url or OPENAI_URL,
        model=choice.model or OPENAI_MODEL,
        api_key=choice.api_key,
        limits=_limits(),
        policy=outbound_policy(),
    )


def _fastembed(choice: EmbedderChoice) -> Embedder:
    return FastembedEmbedder(
        model=choice.model or DEFAULT_MODEL,
        folder=Path(choice.model_path) if choice.model_path else None,
        threads=settings.EMBEDDING_THREADS,
    )


def _stub(choice: EmbedderChoice) -> Embedder:
    return StubEmbedder.named(choice.model)


_EMBEDDERS: Final[Mapping[str, Callable[[EmbedderChoice], Embedder]]] = {
    "local": lambda _: MiniLmEmbedder(threads=settings.EMBEDDING_THREADS),
    "openai": _openai,
    "ollama": ollama_embedder,
    "fastembed": _fastembed,
    "stub": _stub,
    "none": lambda _: NoEmbedder(),
}


def _judge() -> Reranker:
    model = language_model()
    return LlmJudge(model, local=stays_here(model, RERANKING), model=settings.LLM_MODEL)


def _http_reranker() -> Reranker:
    seconds = settings.RERANKER_TIMEOUT
    return HttpReranker(
        url=settings.RERANKER_URL,
        model=settings.RERANKER_MODEL,
        api_key=settings.RERANKER_API_KEY,
        limits=Limits(read_seconds=seconds, total_seconds=seconds, response_bytes=LARGEST_ANSWER_BYTES),
        policy=outbound_policy(),
    )


def _cross_encoder(kind: type[OnnxCrossEncoder] | type[FastembedCrossEncoder]) -> Reranker:
    if not settings.RERANKER_PATH:
        raise ProviderMisconfigured(f"RERANKER_PROVIDER={settings.RERANKER_PROVIDER} needs RERANKER_PATH.")
    return kind(
        folder=Path(settings.RERANKER_PATH),
        model=settings.RERANKER_MODEL,
        threads=settings.EMBEDDING_THREADS,
        seconds=settings.RERANKER_TIMEOUT,
    )


_RERANKERS: Final[Mapping[str, Callable[[], Reranker]]] = {
    "onnx": lambda: _cross_encoder(OnnxCrossEncoder),
    "fastembed": lambda: _cross_encoder(FastembedCrossEncoder),
    "http": _http_reranker,
    "llm": _judge,
    "none": NoReranker,
}


def _on_setting_changed(*, setting: str, **_: object) -> None:
    if setting.startswith(("EMBEDDING_", "OLLAMA_", "LLM_", "NEO4J_", "RERANKER_", "OUTBOUND_")):
        forget_providers()


setting_changed.connect(_on_setting_changed)
