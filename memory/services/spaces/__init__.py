"""Embedding spaces: which is in use, filling another beside it, switching to that, and giving one up."""
