"""Taking memories along and bringing them here, by the page."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from memory.models import Memory, Status, owner_scope
from memory.services.actors import Actor
from memory.services.archive.exporting import archive_stream
from memory.services.archive.snapshot import snapshot_stream
from memory.services.clock import now

PASSPHRASE = "a kettle of tea for everybody"


def upload(client: Client, content: bytes, name: str = "loci.json", **fields: str) -> Any:
    return client.post("/archive/transfer/", {"file": SimpleUploadedFile(name, content), **fields})


def count(actor: Actor) -> int:
    with owner_scope(actor.owner_id):
        return int(Memory.objects.count())


@pytest.fixture
def exported(palace: Client, store: Callable[..., UUID]) -> bytes:
    store("I like green tea.")
    store("We met in Lisbon.")
    return bytes(palace.get("/api/v1/export?form=loci").getvalue())


def test_every_way_out_is_offered(palace: Client) -> None:
    html = palace.get("/archive/transfer/").content.decode()
    for address in ("/api/v1/export?form=loci", "/api/v1/export?form=engram", "/api/v1/archive"):
        assert f'href="{address}" download' in html
    assert 'enctype="multipart/form-data"' in html
    answer = palace.get("/api/v1/export?form=loci")
    assert f'filename="loci-memories-{now():%Y-%m-%d}.json"' in answer["Content-Disposition"]
    words = palace.get("/api/v1/export?form=engram")
    assert f'filename="loci-words-{now():%Y-%m-%d}.json"' in words["Content-Disposition"]


def test_an_export_comes_in_and_a_second_time_adds_nothing(stranger: Client, mallory: Actor, exported: bytes) -> None:
    html = upload(stranger, exported).content.decode()
    assert "What became of the export" in html
    assert "new here" in html
    assert count(mallory) == 2
    again = upload(stranger, exported).content.decode()
    assert "known already" in again
    assert "new here" not in again.split("<aside")[0]
    assert count(mallory) == 2


def test_the_form_of_engram_comes_in_and_what_is_wrong_is_listed(stranger: Client, mallory: Actor) -> None:
    document = {
        "source": "Paw Desktop — Memory Export",
        "memories": [
            {"id": "1", "content": "User prefers dark mode", "category": "preference", "importance": 7},
            {"id": "2", "content": "   ", "category": "preference", "importance": 7},
            {"id": "3", "content": "Too important", "importance": 70},
        ],
    }
    html = upload(stranger, json.dumps(document).encode()).content.decode()
    assert count(mallory) == 1
    assert "Not taken over" in html
    assert "<code>text.empty</code>" in html
    assert "<code>importance.out_of_range</code>" in html
    assert '<td class="number">3</td>' in html


@pytest.mark.django_db(transaction=True)
def test_an_archive_and_a_snapshot_come_in(palace: Client, alice: Actor, exported: bytes) -> None:
    archive = b"".join(archive_stream(actor=alice))
    snapshot = b"".join(snapshot_stream(actor=alice, passphrase=PASSPHRASE))
    assert "What became of the archive" in upload(palace, archive, "loci.zip").content.decode()
    locked = upload(palace, snapshot, "loci.snapshot")
    assert locked.status_code == 422
    assert "passphrase" in locked.content.decode()
    for wrong in ("tea", "another kettle of tea", "t" * 2000):
        refused = upload(palace, snapshot, "loci.snapshot", passphrase=wrong)
        assert refused.status_code == 422
        assert "The passphrase is another one" in refused.content.decode()
        assert "This cannot be kept as it stands" not in refused.content.decode()
    opened = upload(palace, snapshot, "loci.snapshot", passphrase=PASSPHRASE).content.decode()
    assert "What became of the snapshot" in opened
    assert "known already" in opened
    assert count(alice) == 2


@pytest.mark.django_db(transaction=True)
def test_what_was_archived_since_comes_back_where_that_is_asked(palace: Client, alice: Actor, exported: bytes) -> None:
    archive = b"".join(archive_stream(actor=alice))
    with owner_scope(alice.owner_id):
        Memory.objects.update(status=Status.ARCHIVED, archived_at=now())
    upload(palace, archive, mode="missing")
    with owner_scope(alice.owner_id):
        assert not Memory.objects.filter(status=Status.LIVE).exists()
    html = upload(palace, archive, mode="all").content.decode()
    assert "back from the archive" in html
    with owner_scope(alice.owner_id):
        assert Memory.objects.filter(status=Status.LIVE).count() == 2


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "The file is empty."),
        (b"not json", "not valid JSON"),
        (b"[]", "has to be a JSON object"),
        (b'{"a": 1, "a": 2}', "stands twice"),
        (b'{"a": NaN}', "no number of JSON"),
        (b"\xff\xfe", "not valid UTF-8"),
        (b'{"memories": 5}', "has no list"),
        (b'{"format": "other/9", "memories": []}', "format is not known"),
        (b"PK\x03\x04 no zip", "archive"),
        (b"LOCISNAP no snapshot", "snapshot"),
        (b'{"memories":' + b"[" * 40 + b"]" * 40 + b"}", "levels deep"),
    ],
)
def test_what_is_no_such_file_is_refused_and_nothing_stored(
    palace: Client, alice: Actor, content: bytes, words: str
) -> None:
    answer = upload(palace, content)
    assert 400 <= answer.status_code < 500
    assert words in answer.content.decode()
    assert count(alice) == 0


def test_without_a_file_nothing_happens(palace: Client) -> None:
    answer = palace.post("/archive/transfer/", {})
    assert answer.status_code == 422
    assert "Choose a file." in answer.content.decode()


def test_hostile_names_and_texts_stay_text(palace: Client, alice: Actor) -> None:
    document = {"memories": [{"content": "<script>alert(1)</script>"}, {"content": 5}]}
    html = upload(palace, json.dumps(document).encode(), "<script>x</script>.json").content.decode()
    assert "<script>alert" not in html
    assert "<script>x" not in html


def test_uploads_have_no_name_on_disk(palace: Client, settings: Any, tmp_path: Any) -> None:
    settings.FILE_UPLOAD_TEMP_DIR = str(tmp_path)
    upload(palace, b" " * (3 * 1024 * 1024) + b"{}")
    assert list(tmp_path.iterdir()) == []
    assert settings.FILE_UPLOAD_HANDLERS == ["config.uploads.NamelessUploads"]
