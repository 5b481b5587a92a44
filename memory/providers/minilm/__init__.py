"""The local default embedder: all-MiniLM-L6-v2 on onnxruntime, built once from the installed weight files."""

from memory.providers.minilm.embedder import MiniLmEmbedder

__all__ = ["MiniLmEmbedder"]
