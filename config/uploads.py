"""Files that forms send: kept on disk without a name, so that nobody else can open them and no rest is left."""

from __future__ import annotations

import tempfile
from typing import IO, Any

from django.core.files.uploadedfile import UploadedFile
from django.core.files.uploadhandler import FileUploadHandler


class NamelessUploads(FileUploadHandler):
    """Write each file to a temporary one without a name; it is gone when the request is over, or its process ends."""

    received: IO[bytes] | None = None

    def new_file(self, *args: Any, **kwargs: Any) -> None:
        """Begin a file."""
        super().new_file(*args, **kwargs)
        # Handed on open; the request closes it with its other files.
        self.received = tempfile.TemporaryFile()  # noqa: SIM115

    def receive_data_chunk(self, raw_data: bytes, start: int) -> None:
        """Take a piece of the file."""
        assert self.received is not None
        self.received.write(raw_data)

    def file_complete(self, file_size: int) -> UploadedFile[Any]:
        """Give the whole file."""
        assert self.received is not None
        self.received.seek(0)
        return UploadedFile(
            file=self.received,
            name=self.file_name,
            content_type=self.content_type,
            size=file_size,
            charset=self.charset,
            content_type_extra=self.content_type_extra,
        )

    def upload_interrupted(self) -> None:
        """Let go of what came."""
        if self.received is not None:
            self.received.close()
