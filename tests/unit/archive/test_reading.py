"""Nothing of an archive is used that was changed, cut off, or made to do harm."""

from __future__ import annotations

import io
import json
import struct
import zipfile
from collections.abc import Callable
from typing import Any

import pytest

from memory.crypto.signing import signer
from memory.errors import InvalidInput, LociError, TooLarge
from memory.ids import new_id
from memory.services.archive import limits, reading
from memory.services.archive.manifest import FORMAT
from memory.services.archive.reading import checked_archive
from tests.integration.archive.archives import OTHER, files_of, packed, resigned, with_lines

Files = dict[str, bytes]
Change = Callable[[Files], bytes]
MEMORIES = [{"id": str(new_id()), "text": f"Memory {number}."} for number in range(3)]
MEMBERS: dict[str, Any] = {
    "format": FORMAT,
    "id": str(new_id()),
    "created_at": "2026-01-02T03:04:05Z",
    "version": "0.1.0",
    "owner": str(new_id()),
    "pseudonym": str(new_id()),
    "complete": True,
    "unreadable": 0,
    "left_out": {"LexPosting": "An index."},
    "files": [],
}


def plain(**members: Any) -> Files:
    """Make the files of a sound archive."""
    files = with_lines({"README.txt": b"Hello.\n"}, "memories", MEMORIES)
    return files_of(resigned({**files, "manifest.json": json.dumps({**MEMBERS, **members}).encode()}))


def code_of(data: bytes) -> str:
    """Read an archive and give the code with which it is refused."""
    with pytest.raises(LociError) as refused:
        checked_archive(io.BytesIO(data))
    return refused.value.machine_code


def test_a_sound_archive_is_read() -> None:
    archive = checked_archive(io.BytesIO(packed(plain())))
    assert list(archive.lines("memories")) == MEMORIES
    assert list(archive.lines("entities")) == []
    assert archive.manifest.rows("memories") == 3
    assert not archive.manifest.signed_here
    here = checked_archive(io.BytesIO(resigned(plain(), signer())))
    assert here.manifest.signed_here


def _changed(name: str, old: bytes, new: bytes) -> Change:
    return lambda files: packed({**files, name: files[name].replace(old, new, 1)})


def _without(name: str) -> Change:
    return lambda files: packed({key: value for key, value in files.items() if key != name})


def _signed_for_something_else(files: Files) -> bytes:
    signature = OTHER.sign(files["manifest.json"], purpose="receipt").hex().encode()
    return packed({**files, "signature": signature})


def _with_key_of_another(files: Files) -> bytes:
    manifest = json.loads(files["manifest.json"])
    text = json.dumps({**manifest, "public_key": signer().public_key.hex()}).encode()
    return packed({**files, "manifest.json": text})


TAMPERED: dict[str, tuple[Change, str]] = {
    "a changed text": (_changed("memories.jsonl", b"Memory 1", b"Memory 9"), "archive.damaged"),
    "a line more": (_changed("memories.jsonl", b"{", b"{}\n{"), "archive.damaged"),
    "a line less": (lambda f: packed(with_lines(f, "memories", MEMORIES[:2])), "archive.damaged"),
    "a changed readme": (_changed("README.txt", b"Hello", b"Hallo"), "archive.damaged"),
    "a changed manifest": (_changed("manifest.json", b'"complete":true', b'"complete":false'), "archive.signature"),
    "another owner": (
        _changed("manifest.json", MEMBERS["owner"].encode(), str(new_id()).encode()),
        "archive.signature",
    ),
    "another key": (_with_key_of_another, "archive.signature"),
    "another purpose": (_signed_for_something_else, "archive.signature"),
    "a signature that is none": (lambda f: packed({**f, "signature": b"\xff\xfe"}), "archive.signature"),
    "an empty signature": (lambda f: packed({**f, "signature": b""}), "archive.signature"),
    "no signature": (_without("signature"), "archive.unsigned"),
    "no manifest": (_without("manifest.json"), "archive.format"),
    "a file less": (_without("memories.jsonl"), "archive.files"),
    "a file more": (lambda f: packed({**f, "turns.jsonl": b"{}\n"}), "archive.files"),
    "cut off": (lambda f: packed(f)[:-40], "archive.damaged"),
    "cut in half": (lambda f: packed(f)[: len(packed(f)) // 2], "archive.damaged"),
    "bytes after it": (lambda f: packed(f) + b"x" * 30, "archive.damaged"),
    "no bytes": (lambda f: b"", "archive.damaged"),
    "no zip": (lambda f: b"x" * 5000, "archive.damaged"),
    "a flipped bit": (lambda f: _flipped(packed(f, compression=zipfile.ZIP_STORED)), "archive.damaged"),
    "another format": (lambda f: resigned(f, format="loci-archive/2"), "archive.format"),
    "a list": (lambda f: packed({**f, "manifest.json": b"[1]"}), "archive.format"),
    "no json": (lambda f: packed({**f, "manifest.json": b"{"}), "archive.format"),
    "nested json": (lambda f: packed({**f, "manifest.json": b"[" * 100_000}), "archive.format"),
    "no id": (lambda f: resigned(f, id="x"), "archive.format"),
    "no moment": (lambda f: resigned(f, created_at="2026-01-02T03:04:05"), "archive.format"),
}


def _flipped(data: bytes) -> bytes:
    place = data.index(b"Memory 1")
    return data[:place] + b"N" + data[place + 1 :]


@pytest.mark.parametrize("name", sorted(TAMPERED))
def test_a_tampered_archive_is_refused(name: str) -> None:
    change, code = TAMPERED[name]
    assert code_of(change(plain())) == code


@pytest.mark.parametrize(
    "name",
    ["../memories.jsonl", "/etc/passwd", "a/b.jsonl", "..\\x.jsonl", "memories.jsonl/", "MEMORIES.jsonl", "x.exe",
     "C:x.jsonl", "\N{SNOWMAN}.jsonl"],
)  # fmt: skip
def test_a_name_that_no_archive_has_is_refused(name: str) -> None:
    files = plain()
    assert code_of(packed({**files, name: b"x"})) == "archive.files"


def test_a_name_with_a_nul_in_it_is_refused() -> None:
    data = packed({**plain(), "notes.jsonlX.txt": b"x"}).replace(b"notes.jsonlX.txt", b"notes.jsonl\0.txt")
    assert code_of(data) == "archive.files"


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_one_name_twice_is_refused() -> None:
    files = plain()
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as file:
        for name, content in [*files.items(), ("memories.jsonl", b"{}\n")]:
            file.writestr(name, content)
    assert code_of(target.getvalue()) == "archive.files"


def test_too_many_files_are_refused() -> None:
    more = {f"p{chr(97 + n // 26)}{chr(97 + n % 26)}.jsonl": b"" for n in range(limits.MOST_FILES)}
    assert code_of(packed({**plain(), **more})) == "archive.too_large"


def test_a_table_of_contents_that_claims_to_be_large_is_refused_before_it_is_read() -> None:
    data = bytearray(packed(plain()))
    struct.pack_into("<L", data, len(data) - 10, limits.MOST_DIRECTORY_BYTES + 1)
    assert code_of(bytes(data)) == "archive.too_large"


def test_zeros_packed_small_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "FREE_BYTES", 1024)
    assert code_of(resigned({**plain(), "bomb.jsonl": b"\0" * 1_000_000})) == "archive.too_large"


@pytest.mark.parametrize("bound", ["MOST_MEMBER_BYTES", "MOST_TOTAL_BYTES", "MOST_FILE_BYTES", "MOST_MANIFEST_BYTES"])
def test_every_bound_is_kept(monkeypatch: pytest.MonkeyPatch, bound: str) -> None:
    monkeypatch.setattr(limits, bound, 100)
    assert code_of(packed(plain())) == "archive.too_large"


def test_a_file_that_is_longer_than_it_says_is_refused() -> None:
    """The manifest and the zip say different lengths; what is read never goes beyond the shorter one."""
    files = plain()
    manifest = json.loads(files["manifest.json"])
    for entry in manifest["files"]:
        entry["bytes"] = min(entry["bytes"], 10)
    text = json.dumps(manifest, sort_keys=True, separators=(",", ":")).encode()
    signature = OTHER.sign(text, purpose="archive").hex().encode()
    assert code_of(packed({**files, "manifest.json": text, "signature": signature})) == "archive.damaged"


@pytest.mark.parametrize(
    "compression", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA], ids=["bzip2", "lzma"]
)  # fmt: skip
def test_other_ways_of_packing_are_refused(compression: int) -> None:
    assert code_of(packed(plain(), compression=compression)) == "archive.format"


def test_a_locked_file_is_refused() -> None:
    data = bytearray(packed(plain()))
    place = data.index(b"PK\1\2")
    data[place + 8] |= 1
    assert code_of(bytes(data)) == "archive.format"


@pytest.mark.parametrize(
    "line", [b"[1]", b"{", b'"x"', b"\xff", b"{}{}", b'{"a":' + b"[" * 40 + b"]" * 40 + b"}", b"[" * 19_000],
    ids=["list", "open", "text", "bytes", "two", "deep", "very deep"],
)  # fmt: skip
def test_a_line_that_is_no_object_is_refused_when_it_is_reached(line: bytes) -> None:
    data = resigned({**plain(), "memories.jsonl": b'{"id":1}\n' + line + b"\n"})
    lines = checked_archive(io.BytesIO(data)).lines("memories")
    assert next(lines) == {"id": 1}
    with pytest.raises(InvalidInput) as refused:
        next(lines)
    assert refused.value.machine_code == "archive.line"


def test_a_line_beyond_the_bound_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MOST_LINE_BYTES", 60)
    data = resigned({**plain(), "memories.jsonl": b'{"id":"' + b"x" * 80 + b'"}\n'})
    with pytest.raises(TooLarge):
        list(checked_archive(io.BytesIO(data)).lines("memories"))


def _lines(line: bytes) -> list[Any]:
    data = resigned({**plain(), "memories.jsonl": line + b"\n"})
    return list(checked_archive(io.BytesIO(data)).sized_lines("memories"))


@pytest.mark.parametrize("value", [b"[]", b"{}", b"0", b'""'])
def test_many_values_in_a_line_are_refused_before_it_is_parsed(monkeypatch: pytest.MonkeyPatch, value: bytes) -> None:
    def parsed(*_: object) -> None:
        raise AssertionError("It was parsed.")

    monkeypatch.setattr(reading, "_object", parsed)
    with pytest.raises(TooLarge) as refused:
        _lines(b'{"x":[' + b",".join([value] * (limits.MOST_VALUES + 1)) + b"]}")
    assert refused.value.machine_code == "archive.too_large"


def test_a_text_is_one_value_whatever_stands_in_it() -> None:
    text = '[{,"\\' * limits.MOST_VALUES
    line = json.dumps({"x": text, "y": [0]}).encode()
    assert _lines(line) == [({"x": text, "y": [0]}, len(line) + 1)]


@pytest.mark.parametrize("line", [b'"' * 400_000, b'"' + b'\\"' * 400_000, b'{"x":"' + b"," * 400_000 + b"\\"])
def test_texts_that_never_end_are_looked_at_once(line: bytes) -> None:
    with pytest.raises((InvalidInput, TooLarge)):
        _lines(line)


def test_many_values_weigh_more_than_their_bytes() -> None:
    [(_, size)] = _lines(b'{"x":[' + b",".join([b"[]"] * 5_000) + b"]}")
    assert size >= 5_000 * limits.VALUE_BYTES


def test_halves_of_a_character_belong_together() -> None:
    assert _lines(b'{"x":"\\ud83d\\ude42"}')[0][0] == {"x": "\U0001f642"}
    for half in (b'{"x":["\\ud83d"]}', b'{"\\uDE42":1}', b'{"x":"\\ude42\\ud83d"}'):
        with pytest.raises(InvalidInput) as refused:
            _lines(half)
        assert refused.value.machine_code == "archive.line"
