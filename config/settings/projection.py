"""What has to be chosen before the graph is projected to Neo4j: an address, a password, and what leaves in clear."""

from __future__ import annotations

from urllib.parse import urlsplit

from config.settings.env import SettingError

SCHEMES = ("bolt", "bolt+s", "bolt+ssc", "neo4j", "neo4j+s", "neo4j+ssc")
TEXTS = ("", "names", "all", "hashed")


def projection_address(uri: str, *, text: str, password: str, distributed: bool = False) -> str:
    """Give the address of Neo4j; empty where the graph is not projected.

    Args:
        uri: NEO4J_URI.
        text: NEO4J_TEXT.
        password: NEO4J_PASSWORD.
        distributed: DATABASE_DISTRIBUTED.

    Raises:
        SettingError: the address is none of Bolt or holds a login, what may leave in clear was not chosen, or owners
            are spread over servers, where nothing notes what changes.
    """
    if not uri:
        return ""
    try:
        parts = urlsplit(uri)
        usable = parts.scheme in SCHEMES and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        usable = False
    if not usable:
        raise SettingError(
            "NEO4J_URI cannot be used: not an address such as bolt://localhost:7687 or neo4j+s://graph.example.org."
        )
    if parts.username is not None or parts.password is not None:
        raise SettingError("NEO4J_URI holds a login. It belongs into NEO4J_USER and NEO4J_PASSWORD.")
    if not text:
        raise SettingError(
            "NEO4J_URI is set without NEO4J_TEXT. Choose what of the graph stands in Neo4j in clear, outside of the "
            "encryption: `names` (names of entities and relations), `all` (every text of the graph), or `hashed` "
            "(keyed hashes only). Nothing was started."
        )
    if not password:
        raise SettingError("NEO4J_URI is set without NEO4J_PASSWORD or NEO4J_PASSWORD_FILE. Nothing was started.")
    if distributed:
        raise SettingError(
            "NEO4J_URI and DATABASE_DISTRIBUTED are both set. Where owners are spread over servers nothing notes what "
            "changes in a graph, so Neo4j would stay behind. Leave one of them out. Nothing was started."
        )
    return uri


def reads_from(reads: str, *, uri: str) -> str:
    """Give where graph questions are answered from.

    Raises:
        SettingError: GRAPH_READS=neo4j without a Neo4j.
    """
    if reads == "neo4j" and not uri:
        raise SettingError("GRAPH_READS=neo4j needs the address of Neo4j in NEO4J_URI.")
    return reads
