"""Vectors as text, the way the database reads them."""

from __future__ import annotations

from memory.ports import Vectors


def vector_text(vector: Vectors) -> str:
    """Write one vector; five digits are more than half precision keeps."""
    return "[" + ",".join([f"{value:.5g}" for value in vector.tolist()]) + "]"
