"""What is over ends in the graph too, and nobody has two managers."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.integration.api.conftest import Client, agent, make_client, woman  # noqa: F401
from tests.integration.consolidation.told import MAY, entities, fact_texts, relations, run, tell

pytestmark = pytest.mark.django_db

JUNE = MAY + timedelta(days=30)


def open_relations(client: Client) -> list[tuple[str, str]]:
    rows = relations(client, entities(client)["user"]["id"])
    return sorted((label, name) for label, name, until in rows if label != "mentioned_with" and until is None)


@pytest.mark.parametrize(
    ("before", "after", "left"),
    [
        ("I play tennis.", "I don't play tennis any more.", []),
        ("I play tennis.", "I don't play tennis.", []),
        ("I play the cello.", "I stopped playing the cello.", []),
        ("I work at Acme Corp.", "I quit my job at Acme Corp.", []),
        ("My girlfriend is Nina.", "Nina and I broke up.", []),
        ("I report to Bob Smith.", "My manager is Alice Johnson.", [("reports_to", "Alice Johnson")]),
        ("My manager is Alice Johnson.", "Bob Smith is my boss now.", [("reports_to", "Bob Smith")]),
    ],
    ids=str,
)
@pytest.mark.parametrize("together", [True, False], ids=["one run", "two runs"])
def test_what_is_over_ends(
    agent: Client,  # noqa: F811
    before: str,
    after: str,
    left: list[tuple[str, str]],
    together: bool,
) -> None:
    tell(agent, "one", before, at=MAY)
    if not together:
        run(agent)
        assert len(open_relations(agent)) == 1
    tell(agent, "two", after, at=JUNE)
    run(agent)
    assert open_relations(agent) == left
    assert len(fact_texts(agent)) == (2 if "broke" in after else 1)


def test_what_never_stood_is_not_written(agent: Client) -> None:  # noqa: F811
    tell(agent, "one", "I don't play tennis.", "I broke up with Nina.", at=MAY)
    run(agent)
    rows = relations(agent, entities(agent)["user"]["id"], "&superseded=true")
    assert {label for label, *_ in rows} <= {"mentioned_with"}
