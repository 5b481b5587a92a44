"""Archives in memory: made, opened, changed and signed anew as an attacker would."""

from __future__ import annotations

import io
import json
import zipfile
from hashlib import sha256
from typing import Any

from memory.crypto.signing import Signer, canonical
from memory.services.actors import Actor
from memory.services.archive.exporting import archive_stream
from memory.services.archive.importing import import_archive
from memory.services.archive.outcome import ArchiveImported

OTHER = Signer("another installation's secret of more than thirty-two characters")


def archive_of(actor: Actor) -> bytes:
    """Export an owner."""
    return b"".join(archive_stream(actor=actor))


def taken(actor: Actor, data: bytes, **options: Any) -> ArchiveImported:
    """Import an archive."""
    return import_archive(actor=actor, file=io.BytesIO(data), **options)


def files_of(data: bytes) -> dict[str, bytes]:
    """Unpack an archive."""
    with zipfile.ZipFile(io.BytesIO(data)) as packed:
        return {info.filename: packed.read(info) for info in packed.infolist()}


def manifest_of(data: bytes) -> dict[str, Any]:
    """Give the manifest of an archive."""
    manifest: dict[str, Any] = json.loads(files_of(data)["manifest.json"])
    return manifest


def lines_of(data: bytes, part: str) -> list[dict[str, Any]]:
    """Give the lines of one file."""
    return [json.loads(line) for line in files_of(data)[f"{part}.jsonl"].splitlines()]


def packed(files: dict[str, bytes], **options: Any) -> bytes:
    """Pack files as they are."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", options.get("compression", zipfile.ZIP_DEFLATED)) as file:
        for name, content in files.items():
            file.writestr(name, content)
    return target.getvalue()


def resigned(files: dict[str, bytes], signer: Signer = OTHER, **members: Any) -> bytes:
    """Pack changed files with a manifest and a signature that fit them, as another installation could make them."""
    manifest = json.loads(files["manifest.json"])
    content = {name: text for name, text in files.items() if name not in ("manifest.json", "signature")}
    manifest["files"] = [
        {
            "name": name,
            "rows": text.count(b"\n") if name.endswith(".jsonl") else 0,
            "bytes": len(text),
            "sha256": sha256(text).hexdigest(),
        }
        for name, text in content.items()
    ]
    manifest.update({"public_key": signer.public_key.hex(), **members})
    text = canonical(manifest)
    signature = signer.sign(text, purpose="archive").hex().encode()
    return packed({**content, "manifest.json": text, "signature": signature})


def with_lines(files: dict[str, bytes], part: str, lines: list[Any]) -> dict[str, bytes]:
    """Replace the lines of one file."""
    text = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    return {**files, f"{part}.jsonl": text}
