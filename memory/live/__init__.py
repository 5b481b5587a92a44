"""Live pages: a channel layer over notices of PostgreSQL or Redis, and the websocket on which pages hear of changes."""
