"""Rerankers: a cross-encoder in this process, one behind HTTP, and a language model as judge."""
