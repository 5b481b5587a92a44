"""The coverage report: its rows and vectors, its parts, and what is kept of it."""
