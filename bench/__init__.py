"""The bench: measures recall quality and latency, in a database of its own."""
