"""Bodies that are a file: received on disk, piece by piece, in a file without a name."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from hashlib import sha256
from typing import IO, Any, Final
from urllib.parse import unquote

from rest_framework.parsers import BaseParser
from rest_framework.request import Request

from memory.api.actions import MIB, action_of
from memory.errors import MalformedBodyError, TooLarge

PIECE: Final = 64 * 1024
OCTETS: Final = "application/octet-stream"
ZIP: Final = "application/zip"
PASSPHRASE_HEADER: Final = "X-Loci-Passphrase"  # noqa: S105
MOST_HEADER: Final = 16 * 1024


class ReceivedFile(dict[str, Any]):
    """A received body, known by its digest and size, so that a request can be told from another one.

    The file is gone once it is closed, or its process ends in whatever way; nobody else can open it.
    """

    def __init__(self, file: IO[bytes], digest: str, size: int) -> None:
        """Take a file that was written."""
        super().__init__(sha256=digest, bytes=size)
        self.file = file


class FileParser(BaseParser):
    """Receive any bytes, of at most as many as the endpoint's action says."""

    media_type = OCTETS

    def parse(
        self, stream: IO[Any], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> ReceivedFile:
        """Write a body to a temporary file.

        Raises:
            TooLarge: `body.too_large`, more bytes than the limit; nothing is kept then.
        """
        view = (parser_context or {}).get("view")
        action = action_of(view, view.request.method) if view is not None else None
        most = MIB if action is None else action.most_bytes
        # Handed on open; the view closes it, whatever becomes of the request.
        file = tempfile.TemporaryFile()  # noqa: SIM115
        digest, size = sha256(), 0
        try:
            while piece := stream.read(PIECE):
                size += len(piece)
                if size > most:
                    raise TooLarge(
                        f"The body has more than {most} bytes. Larger files are taken by the command line.",
                        code="body.too_large",
                        limit=most,
                    )
                digest.update(piece)
                file.write(piece)
        except BaseException:
            file.close()
            raise
        file.seek(0)
        received = ReceivedFile(file, digest.hexdigest(), size)
        if view is not None:
            view.received = received
        return received


class ZipParser(FileParser):
    """Receive a zip file."""

    media_type = ZIP


def received_file(request: Request) -> IO[bytes]:
    """Give the file that is a request's body; raises MalformedBodyError where the body is empty."""
    if not isinstance(request.data, ReceivedFile):
        raise MalformedBodyError("The body is empty. Send the file as the body.", code="body.empty")
    return request.data.file


def passphrase_of(request: Request) -> str | None:
    """Give the passphrase of a request's header, percent-encoded UTF-8; None where the header is missing.

    It stands in a header and not in the address, which is written to logs.
    """
    value = request.headers.get(PASSPHRASE_HEADER)
    if value is None:
        return None
    try:
        return unquote(value[:MOST_HEADER], errors="strict")
    except UnicodeDecodeError as error:
        raise MalformedBodyError(
            f"{PASSPHRASE_HEADER} is not percent-encoded UTF-8.", code="passphrase.encoding"
        ) from error
