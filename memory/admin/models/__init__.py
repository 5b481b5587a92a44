"""The pages of the models of the memory, by area; importing it registers them."""

from __future__ import annotations

from memory.admin.models import accounts, agents, files, graph, index, knowledge, memories, privacy, work

__all__ = ["accounts", "agents", "files", "graph", "index", "knowledge", "memories", "privacy", "work"]
