"""A snapshot opens with its key and is refused once a bit of it is another one."""

from __future__ import annotations

import io
import os
from uuid import UUID

import pytest

from memory.errors import InvalidInput, LociError, RateLimited
from memory.services.archive import snapshot_format as form
from memory.services.archive.snapshot_format import Passphrase, RootKey, Sealing, Secret, open_snapshot, read_header

ROOT = RootKey(bytes(range(32)))
WORDS = "seven quiet herons"


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stretch passphrases with the least effort that is taken."""
    monkeypatch.setattr(form, "LOG_N", form.LEAST_LOG_N)


def sealed(content: bytes, secret: Secret = ROOT) -> bytes:
    """Seal content in pieces of odd sizes."""
    target = io.BytesIO()
    sealing = Sealing(target, secret)
    for start in range(0, len(content), 70_001):
        sealing.write(content[start : start + 70_001])
    sealing.finish()
    return target.getvalue()


def opened(data: bytes, secret: Secret = ROOT) -> bytes:
    """Open a snapshot."""
    file, target = io.BytesIO(data), io.BytesIO()
    open_snapshot(file, read_header(file), secret, target)
    return target.getvalue()


def code_of(data: bytes, secret: Secret = ROOT) -> str:
    """Give the code with which a snapshot is refused; nothing may have been written then."""
    file, target = io.BytesIO(data), io.BytesIO()
    with pytest.raises(LociError) as refused:
        open_snapshot(file, read_header(file), secret, target)
    assert target.getvalue() == b""
    return refused.value.machine_code


FULL = 7 * form.PLAIN + form.LAST_PLAIN
SIZES = [0, 1, form.PLAIN - 1, form.PLAIN, 7 * form.PLAIN - 1, 7 * form.PLAIN, FULL - 2, FULL - 1, FULL, FULL + 1,
         8 * form.PLAIN, FULL + form.PLAIN, 2 * form.STEP, 3 * form.STEP + 5]  # fmt: skip


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("fill", [b"\0", b"\x80", b"x"], ids=["zeros", "marks", "letters"])
def test_every_length_comes_back_in_whole_steps(size: int, fill: bytes) -> None:
    content = fill * size
    data = sealed(content)
    assert len(data) % form.STEP == 0
    assert len(data) - size < 2 * form.STEP
    assert opened(data) == content


def test_lengths_within_a_step_look_alike() -> None:
    assert len({len(sealed(b"x" * size)) for size in (0, 100, 100_000, 500_000)}) == 1


def test_two_snapshots_of_the_same_have_nothing_in_common() -> None:
    first, second = sealed(b"a" * 1000), sealed(b"a" * 1000)
    assert first[:12] == second[:12]
    assert first[16:48] != second[16:48]
    assert first[form.HEADER : 200] != second[form.HEADER : 200]
    assert b"aaaa" not in first


def test_a_passphrase_opens_what_it_sealed() -> None:
    data = sealed(b"content", Passphrase(WORDS))
    assert opened(data, Passphrase(WORDS)) == b"content"
    assert code_of(data, Passphrase(WORDS + "!")) == "snapshot.passphrase"


def test_a_passphrase_is_the_same_however_it_is_composed() -> None:
    data = sealed(b"content", Passphrase("caf\u00e9 caf\u00e9 caf\u00e9"))
    assert opened(data, Passphrase("cafe\u0301 cafe\u0301 cafe\u0301")) == b"content"


def test_another_owners_key_is_told_from_damage() -> None:
    assert code_of(sealed(b"content"), RootKey(bytes(32))) == "snapshot.key"


@pytest.mark.parametrize("text", ["", "short words", "x" * 1025, "a\nline and more", "nul\0nul\0nul\0nul"])
def test_a_passphrase_has_its_bounds(text: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        Passphrase(text)
    assert refused.value.machine_code == "passphrase.invalid"


def test_every_part_is_covered_by_the_code() -> None:
    data = sealed(os.urandom(600_000))
    for place in (form.HEADER, 65_000, 70_000, form.STEP - 40, len(data) - 33, len(data) - 32, len(data) - 1):
        changed = bytearray(data)
        changed[place] ^= 1
        assert code_of(bytes(changed)) == "snapshot.damaged", place


def test_a_changed_salt_is_another_key() -> None:
    changed = bytearray(sealed(b"content"))
    changed[20] ^= 1
    assert code_of(bytes(changed)) == "snapshot.key"


def test_the_maker_is_bound_to_it() -> None:
    target = io.BytesIO()
    maker = UUID(int=7)
    Sealing(target, ROOT, maker).finish()
    assert read_header(target).maker == maker
    assert read_header(io.BytesIO(sealed(b"content"))).maker is None
    forged = bytearray(target.getvalue())
    forged[48:64] = UUID(int=8).bytes
    assert read_header(io.BytesIO(bytes(forged))).maker == UUID(int=8)
    assert code_of(bytes(forged)) == "snapshot.key"


def test_an_attempt_does_not_wait_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(form, "PATIENCE_SECONDS", 0.01)
    with form._one_at_a_time, pytest.raises(RateLimited) as refused:
        sealed(b"content", Passphrase(WORDS))
    assert refused.value.machine_code == "snapshot.busy"
    assert refused.value.details["retry_after"] == 60
    assert opened(sealed(b"content", Passphrase(WORDS)), Passphrase(WORDS)) == b"content"


def test_a_snapshot_without_its_code_is_refused() -> None:
    data = sealed(b"content")
    assert code_of(data[: -form.MAC]) == "snapshot.unauthenticated"
    assert code_of(data[: -form.MAC] + bytes(form.MAC)) == "snapshot.damaged"


@pytest.mark.parametrize("cut", [1, 31, 33, form.CHUNK, form.STEP])
def test_a_snapshot_that_was_cut_is_refused(cut: int) -> None:
    assert code_of(sealed(b"x" * 600_000)[:-cut]) == "snapshot.damaged"


def test_chunks_cannot_change_places() -> None:
    data = sealed(os.urandom(600_000))
    start, size = form.HEADER, form.CHUNK
    first, second = data[start : start + size], data[start + size : start + 2 * size]
    assert code_of(data[:start] + second + first + data[start + 2 * size :]) == "snapshot.damaged"


@pytest.mark.parametrize(
    ("place", "value"),
    [(0, 0), (8, 2), (9, 3), (9, 0), (10, 1), (13, 1)],
    ids=["magic", "format", "kind", "no kind", "numbers without a passphrase", "zeros"],
)
def test_a_strange_header_is_refused(place: int, value: int) -> None:
    changed = bytearray(sealed(b"content"))
    changed[place] = value
    assert code_of(bytes(changed)) == "snapshot.format"


@pytest.mark.parametrize(("place", "value"), [(10, 13), (10, 18), (10, 63), (11, 7), (11, 255), (12, 0), (12, 2)])
def test_parameters_that_would_exhaust_the_machine_are_refused(place: int, value: int) -> None:
    changed = bytearray(sealed(b"content", Passphrase(WORDS)))
    changed[place] = value
    assert code_of(bytes(changed), Passphrase(WORDS)) == "snapshot.format"


@pytest.mark.parametrize("data", [b"", b"LOCISNAP", b"PK\3\4" + bytes(form.STEP), bytes(form.STEP)])
def test_what_is_no_snapshot_is_refused(data: bytes) -> None:
    assert code_of(data) == "snapshot.format"


def test_a_snapshot_beyond_the_bound_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(form, "MOST_FILE_BYTES", form.STEP - 1)
    assert code_of(sealed(b"content")) == "snapshot.too_large"
