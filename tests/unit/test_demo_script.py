"""The texts of the demonstration: there is enough of them, and their days fall into the past."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

import pytest

from memory.models import Kind
from memory.services.agent_files.paths import checked_path
from memory.services.demo import files, script
from memory.services.demo.replay import AGENTS
from memory.text.limits import CATEGORIES

PRESENT = datetime(2026, 3, 31, 12, 0, tzinfo=UTC)


def test_it_is_half_a_year_of_conversations_in_order() -> None:
    said = script.conversations(PRESENT)
    assert sum(len(one.lines) for one in said) >= 300
    assert (PRESENT - said[0].at).days > 170
    assert (PRESENT - said[-1].at).days < 3
    assert all(before.at <= after.at for before, after in pairwise(said))
    assert {one.agent for one in said} == {*AGENTS, script.PERSON}
    assert len({(one.title, one.at) for one in said if one.lines}) == len([one for one in said if one.lines])


def test_every_statement_is_of_a_kind_and_a_category_that_there_are() -> None:
    statements = [one for conversation in script.conversations(PRESENT) for one in conversation.statements]
    assert len(statements) > 10
    for one in statements:
        assert one.kind in Kind.values
        assert one.category in CATEGORIES
        assert 1 <= one.importance <= 10


def test_days_are_written_out_from_the_day_of_the_conversation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "one.txt").write_text(
        "@ 30 08:05 assistant A talk\nU: On {date +6}, a {weekday +6}, in {month -31}.\n? Which one?\n"
        "@ 2 21:00 person Notes\n+ fact person 7 | Born on {date +0}.\n"
    )
    monkeypatch.setattr(script, "TEXTS", tmp_path)
    talk, notes = script.conversations(PRESENT)
    assert talk.at == datetime(2026, 3, 1, 8, 5, tzinfo=UTC)
    assert talk.lines == [script.Line("user", "On 7 March 2026, a Saturday, in January.")]
    assert talk.questions == ["Which one?"]
    assert notes.statements == [script.Statement("fact", "person", 7, "Born on 29 March 2026.")]


@pytest.mark.parametrize("line", ["X: what is this", "U what is this", "U: said before anything begins"])
def test_what_is_no_line_is_refused(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begin = "" if line.startswith("U: ") else "@ 3 08:00 assistant A talk\n"
    (tmp_path / "one.txt").write_text(f"{begin}{line}\n")
    monkeypatch.setattr(script, "TEXTS", tmp_path)
    with pytest.raises(ValueError, match="A "):
        script.conversations(PRESENT)


def test_every_agent_has_files_with_a_history() -> None:
    versions = files.file_versions(PRESENT)
    assert all(before.at <= after.at for before, after in pairwise(versions))
    said: dict[tuple[str, str], list[str]] = {}
    for one in versions:
        assert checked_path(one.path) == one.path
        assert {one.whose, one.writer} <= {*AGENTS, files.ALL, script.PERSON}
        assert one.content.startswith("# ")
        said.setdefault((one.whose, one.path), []).append(one.content)
    for agent in AGENTS:
        own = {path for whose, path in said if whose == agent}
        assert {"IDENTITY.md", "SOUL.md"} < own
        assert any("/" in path for path in own)
    # Each says something else than before, two or three times.
    assert all(len(set(one)) == len(one) in (2, 3) for one in said.values())


def test_a_file_begins_with_whose_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "files.md").write_text(
        "@ 9 08:00 coder person a/b.md\n# One\n\n- two\n@ 2 08:00 all coder c.md\n# Three\n"
    )
    monkeypatch.setattr(files, "FILES", tmp_path / "files.md")
    first, second = files.file_versions(PRESENT)
    assert (first.whose, first.writer, first.path, first.content) == ("coder", "person", "a/b.md", "# One\n\n- two\n")
    assert (second.at, second.whose) == (datetime(2026, 3, 29, 8, 0, tzinfo=UTC), files.ALL)
    (tmp_path / "files.md").write_text("# One\n")
    with pytest.raises(ValueError, match="no beginning"):
        files.file_versions(PRESENT)
